//! What the name of a file says about its format.

use std::path::Path;

use super::images::ENDINGS;
use super::source::Packing;
use crate::args::Format;
use crate::failure::{InputError, Result};

/// A format, and whether it is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedFormat {
    pub(super) format: Format,
    pub(super) packing: Packing,
}

/// What to do about a name that says nothing, where a flag can say the format.
const SAY_IT: &str = "say it by --format: csv, tsv, parquet, arrow, npy, npz, idx, libsvm or images";
/// And where none can.
const NAME_IT: &str = "let it end in .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx or .libsvm";

/// Refuses a file that no flag says the format of, and its name does not, either.
pub(crate) fn check_name(path: &Path) -> Result<()> {
    // A folder is one of images.
    if path.is_dir() { Ok(()) } else { named(path, None, NAME_IT).map(drop) }
}

/// The format that was asked for, or else the one that the name of the file says.
pub(crate) fn format_of(path: &Path, asked: Option<Format>) -> Result<Format> {
    of(path, asked).map(|found| found.format)
}

/// A format as messages name it.
pub(super) fn name(format: Format) -> &'static str {
    match format {
        Format::Csv => "CSV",
        Format::Tsv => "TSV",
        Format::Parquet => "Parquet",
        Format::Arrow => "Arrow IPC",
        Format::Npy => "a .npy array",
        Format::Npz => "an .npz file",
        Format::Idx => "IDX",
        Format::Libsvm => "libsvm",
        Format::Images => "images",
    }
}

/// Format and packing: what was asked for, or else what the name of the file says.
pub(super) fn of(path: &Path, asked: Option<Format>) -> Result<NamedFormat> {
    named(path, asked, SAY_IT)
}

/// The same; if there is neither, `hint` is what to do.
fn named(path: &Path, asked: Option<Format>, hint: &str) -> Result<NamedFormat> {
    let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let (stem, packing) = match file.strip_suffix(".gz") {
        Some(stem) => (stem, Packing::Gzip),
        None => (file.as_str(), Packing::None),
    };
    let packing_of = |format| {
        let can_be_packed = matches!(format, Format::Csv | Format::Tsv | Format::Idx | Format::Libsvm | Format::Npy);
        if can_be_packed { packing } else { Packing::None }
    };
    match asked.or_else(|| by_name(stem)) {
        Some(format) if packing == Packing::Gzip && packing_of(format) == Packing::None => {
            let problem = format!("{} is not read from a .gz file", name(format));
            Err(InputError::new(&path.display().to_string(), problem).hint("unpack it with gunzip first").into())
        }
        Some(format) => Ok(NamedFormat { format, packing: packing_of(format) }),
        None if stem.ends_with(".mercer") => {
            let problem = "this is a model, not data";
            let hint = "`mercer info` shows it; transform, reconstruct and score take it before the data";
            Err(InputError::new(&path.display().to_string(), problem).hint(hint).into())
        }
        None if ENDINGS.iter().any(|ending| stem.strip_suffix(ending).is_some_and(|name| name.ends_with('.'))) => {
            let hint = "give a folder of images, or a .list of their names";
            Err(InputError::new(&path.display().to_string(), "one image is a single point").hint(hint).into())
        }
        None => {
            let problem = "the name does not say what the format is";
            Err(InputError::new(&path.display().to_string(), problem).hint(hint).into())
        }
    }
}

fn by_name(file: &str) -> Option<Format> {
    let extension = file.rsplit_once('.').map_or("", |(_, extension)| extension);
    Some(match extension {
        "csv" | "txt" => Format::Csv,
        "tsv" | "tab" => Format::Tsv,
        "parquet" | "pq" => Format::Parquet,
        "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
        "npy" => Format::Npy,
        "npz" => Format::Npz,
        "idx" => Format::Idx,
        "libsvm" | "svm" | "svmlight" => Format::Libsvm,
        "list" | "lst" => Format::Images,
        _ if is_idx(file) => Format::Idx,
        _ => return None,
    })
}

/// Names such as `train-images-idx3-ubyte` and `t10k-labels.idx1-ubyte`.
fn is_idx(file: &str) -> bool {
    let Some((_, after)) = file.rsplit_once("idx") else { return false };
    let mut bytes = after.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_digit()) && bytes.next() == Some(b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str) -> (Format, Packing) {
        let found = of(Path::new(name), None).unwrap();
        (found.format, found.packing)
    }

    #[test]
    fn the_name_says_the_format_unless_a_flag_does() {
        for (name, format) in [
            ("a.CSV", Format::Csv),
            ("a.b.npy", Format::Npy),
            ("a.npz", Format::Npz),
            ("a.feather", Format::Arrow),
            ("a.parquet", Format::Parquet),
            ("train-images-idx3-ubyte", Format::Idx),
            ("t10k-labels.idx1-ubyte", Format::Idx),
            ("a.svm", Format::Libsvm),
            ("a.lst", Format::Images),
        ] {
            assert_eq!(found(name), (format, Packing::None), "{name}");
        }
        assert_eq!(of(Path::new("a.npy"), Some(Format::Tsv)).unwrap().format, Format::Tsv);
    }

    #[test]
    fn text_and_idx_may_be_packed_by_gzip() {
        assert_eq!(found("a.csv.gz"), (Format::Csv, Packing::Gzip));
        assert_eq!(found("train-images-idx3-ubyte.gz"), (Format::Idx, Packing::Gzip));
        let failure = of(Path::new("a.parquet.gz"), None).unwrap_err();
        assert_eq!(failure.to_string(), "a.parquet.gz: Parquet is not read from a .gz file");
    }

    #[test]
    fn a_name_that_says_nothing_is_refused() {
        let failure = of(Path::new("points.dat"), None).unwrap_err();
        assert_eq!(failure.to_string(), "points.dat: the name does not say what the format is");
        let hint = "say it by --format: csv, tsv, parquet, arrow, npy, npz, idx, libsvm or images";
        assert_eq!(failure.hint(), Some(hint));
        // Where that flag is about another file, it would not help.
        let failure = check_name(Path::new("points.dat")).unwrap_err();
        assert_eq!(failure.to_string(), "points.dat: the name does not say what the format is");
        let hint = "let it end in .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx or .libsvm";
        assert_eq!(failure.hint(), Some(hint));
        assert!(check_name(Path::new("points.csv")).is_ok());
        let failure = of(Path::new("cat.PNG"), None).unwrap_err();
        assert_eq!(failure.to_string(), "cat.PNG: one image is a single point");
        assert_eq!(failure.hint(), Some("give a folder of images, or a .list of their names"));
        assert!(of(Path::new("png"), None).unwrap_err().to_string().ends_with("what the format is"));
    }
}
