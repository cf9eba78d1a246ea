//! Where the rows of some points stand in their file, as people count there.
//!
//! Lines are not counted while a text is read. Whoever has to name one reads the file again up to there.

use std::path::{Path, PathBuf};

use mercer::Points;

use super::format::{self, NamedFormat};
use super::source::{self, Bytes};
use super::{ReadOptions, STANDARD_INPUT, advice, csv, libsvm};
use crate::args::Format;
use crate::failure::{Failure, InputError, Place};

/// Where rows come from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The file, as messages name it.
    name: String,
    format: Option<Format>,
    counted: Counted,
    /// Rows of the file before the first of these.
    before: usize,
    /// Which of those that follow they are, if not all.
    sampled: Option<Vec<usize>>,
}

/// How rows are counted.
#[derive(Clone, Debug)]
enum Counted {
    /// By the lines of a text, which can be read again.
    Lines(PathBuf, NamedFormat, Box<ReadOptions>),
    /// Those of a text that cannot.
    Rows,
    /// As indices of an array.
    Indices,
}

impl Origin {
    /// Rows of a file from its first on.
    pub(super) fn new(path: &Path, options: &ReadOptions) -> Self {
        let named = format::of(path, options.format).ok();
        let format = if path.is_dir() { Some(Format::Images) } else { named.map(|named| named.format) };
        let counted = match named {
            _ if path == Path::new("-") => Counted::Rows,
            // A pipe has no second time.
            Some(found) if matches!(found.format, Format::Csv | Format::Tsv | Format::Libsvm) => {
                let lines = || Counted::Lines(path.to_owned(), found, Box::new(options.clone()));
                if path.is_file() { lines() } else { Counted::Rows }
            }
            _ => Counted::Indices,
        };
        let name = if path == Path::new("-") { STANDARD_INPUT.to_owned() } else { path.display().to_string() };
        Self { name, format, counted, before: 0, sampled: None }
    }

    /// Rows of a text that is no file.
    pub(super) fn of_text(name: &str) -> Self {
        Self { name: name.to_owned(), format: None, counted: Counted::Rows, before: 0, sampled: None }
    }

    /// What messages call the file.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The same file, without so many rows.
    pub(super) fn after(mut self, rows: usize) -> Self {
        self.before += rows;
        self
    }

    /// Only these of the rows, if that is said.
    pub(super) fn sampled(mut self, rows: Option<Vec<usize>>) -> Self {
        self.sampled = rows;
        self
    }

    /// The place of a row among all of the file, counted from zero.
    pub(super) fn row_in_file(&self, row: usize) -> usize {
        self.before + self.sampled.as_ref().and_then(|rows| rows.get(row)).copied().unwrap_or(row)
    }

    /// The failure that an error of the library about one of these rows is; columns are called by their `names`, if they have any.
    pub(super) fn refusal(&self, mut error: mercer::Error, first: usize, names: Option<&[String]>) -> Failure {
        let Some(place) = row_of(&mut error) else { return self.refusal_of_all(error) };
        let row = *place;
        let in_file = self.row_in_file(first + row);
        if matches!(self.counted, Counted::Indices) {
            *place = in_file;
            return Failure::in_data(&self.name)(error);
        }
        let line = self.line(in_file);
        let subject = match line {
            Some(_) => "the row".to_owned(),
            None => format!("data row {} (counted from 1, without a header)", in_file + 1),
        };
        let told = match &error {
            mercer::Error::NotFinite { column, .. } => {
                let name = names.and_then(|names| names.get(*column)).map(|name| advice::quoted(name.as_bytes()));
                let name = name.unwrap_or_else(|| (column + 1).to_string());
                let place = format!("row {row}, column {column} ");
                error.to_string().replacen(&place, &format!("column {name} of {subject} "), 1)
            }
            mercer::Error::LandmarkTooLarge { .. } | mercer::Error::LandmarkOverflow { .. } => {
                error.to_string().replacen(&format!("landmark {row} "), &format!("{subject} "), 1)
            }
            _ => error.to_string().replacen(&format!("row {row} "), &format!("{subject} "), 1),
        };
        let complaint = InputError::new(&self.name, told);
        match line {
            Some(line) => complaint.at(Place { line, ..Place::default() }).into(),
            None => complaint.into(),
        }
    }

    /// The failure that an error about no single row is.
    fn refusal_of_all(&self, error: mercer::Error) -> Failure {
        let hint = match (&error, self.format) {
            (mercer::Error::FeatureMismatch { .. }, Some(format)) => advice::for_other_columns(format),
            _ => None,
        };
        let failure = Failure::in_data(&self.name)(error);
        match hint {
            Some(hint) => failure.advised(hint),
            None => failure,
        }
    }

    /// The line of a row, as an editor counts, if the file is still there and is a text.
    fn line(&self, row: usize) -> Option<u64> {
        let Counted::Lines(path, NamedFormat { format, packing }, options) = &self.counted else { return None };
        match format {
            Format::Libsvm => libsvm::line_of_row(&Bytes::open(path, &self.name, *packing).ok()?, row),
            text => csv::line_of_row(source::stream(path, *packing).ok()?, &options.for_text(*text), row),
        }
    }
}

/// The row that an error calls too large, if it is about such a one.
pub(super) fn too_large(error: &mut mercer::Error) -> Option<&mut usize> {
    match error {
        mercer::Error::TooLarge { row, .. } | mercer::Error::KernelOverflow { row, .. } => Some(row),
        _ => None,
    }
}

/// The row that is farthest from zero, and how far.
pub(super) fn largest_row(points: &Points) -> Option<(usize, f64)> {
    let length = |row: usize| points.row(row).into_iter().fold(0.0, f64::hypot);
    (0..points.n_samples()).map(|row| (row, length(row))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The row that an error is about, if it is about one.
fn row_of(error: &mut mercer::Error) -> Option<&mut usize> {
    use mercer::Error as E;
    match error {
        E::NotFinite { row, .. }
        | E::TooLarge { row, .. }
        | E::LandmarkTooLarge { row, .. }
        | E::LandmarkOverflow { row, .. }
        | E::TooFarApart { row, .. }
        | E::CodeOverflow { row }
        | E::KernelOverflow { row, .. }
        | E::ZeroDegree { row, .. } => Some(row),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::DataArgs;

    fn written(name: &str, text: &str) -> (tempfile::TempDir, Origin) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        let origin = Origin::new(&path, &ReadOptions::from(&DataArgs::default()));
        (directory, origin)
    }

    fn told(origin: &Origin, first: usize, row: usize) -> String {
        let error = mercer::Error::ZeroDegree { row, degree: 0.0 };
        let text = origin.refusal(error, first, None).to_string();
        text.rsplit_once('/').map_or(text.as_str(), |(_, text)| text).split(':').take(2).collect::<Vec<_>>().join(":")
    }

    #[test]
    fn a_row_of_a_text_is_told_by_its_line() {
        // A header, empty lines, and a line break between quotes.
        let text = "x,\"y\nz\"\n\n1,2\n\r\n3,4\n5,6\n";
        let (_directory, origin) = written("x.csv", text);
        let lines = [0, 1, 2].map(|row| told(&origin, 0, row));
        assert_eq!(lines, [4, 6, 7].map(|line| format!("x.csv, line {line}: the row has degree 0")));
        assert_eq!(told(&origin, 1, 1), "x.csv, line 7: the row has degree 0");
        let part = origin.clone().after(1);
        assert_eq!(told(&part, 0, 1), "x.csv, line 7: the row has degree 0");
        let sampled = origin.after(1).sampled(Some(vec![1]));
        assert_eq!(told(&sampled, 0, 0), "x.csv, line 7: the row has degree 0");
    }

    #[test]
    fn a_row_of_sparse_text_is_told_by_its_line() {
        let (_directory, origin) = written("x.libsvm", "# comment\n1 1:2\n\n0 1:3\n");
        assert_eq!(told(&origin, 0, 1), "x.libsvm, line 4: the row has degree 0");
    }

    #[test]
    fn a_row_of_a_text_that_is_gone_is_counted_in_words() {
        let (directory, origin) = written("x.csv", "x\n1\n");
        drop(directory);
        let expected = "x.csv: data row 2 (counted from 1, without a header) has degree 0";
        assert_eq!(told(&origin, 0, 1), expected);
        let pipe = Origin::new(Path::new("-"), &ReadOptions::from(&DataArgs::default()));
        assert_eq!(told(&pipe, 0, 1), expected.replace("x.csv", "standard input"));
    }

    #[test]
    fn a_row_of_an_array_is_told_by_its_index() {
        let (_directory, origin) = written("x.npy", "");
        assert_eq!(told(&origin.after(5), 2, 1), "x.npy: row 8 has degree 0");
    }

    #[test]
    fn a_landmark_is_told_by_its_place_and_with_what_would_help() {
        use mercer::Error as E;
        let too_large = || E::LandmarkTooLarge { row: 1, precision: mercer::Precision::F64 };
        let overflow = || {
            let (kernel, value, precision) = ("polynomial".to_owned(), f64::INFINITY, mercer::Precision::F64);
            E::LandmarkOverflow { kernel, row: 1, value, precision }
        };
        let (_text, lines) = written("x.csv", "x\n1\n2\n");
        for (error, start) in [
            (too_large(), "x.csv, line 3: the row is too large for the kernel's width: "),
            (
                overflow(),
                "x.csv, line 3: the polynomial kernel of the row with itself is inf, which overflows f64; leave it out, ",
            ),
        ] {
            let told = lines.refusal(error, 0, None).to_string();
            assert!(told.contains(start) && told.contains("; leave it out, "), "{told}");
        }
        let (_array, indices) = written("x.npy", "");
        for error in [too_large(), overflow()] {
            let told = indices.clone().after(4).refusal(error, 0, None).to_string();
            assert!(told.contains("x.npy: ") && told.contains("landmark 5 "), "{told}");
        }
    }

    #[test]
    fn the_largest_row_is_found_where_squares_overflow() {
        let points = Points::from_f64(vec![3.0, 4.0, -1e200, 1e200, 1e200, 0.0], 3, 2).unwrap();
        assert_eq!(largest_row(&points).unwrap().0, 1);
        assert_eq!(largest_row(&points.slice(0..1)), Some((0, 5.0)));
    }

    #[test]
    fn a_column_is_told_by_its_name_if_it_has_one() {
        let (_directory, origin) = written("x.csv", "x,y\n1,2\n");
        let error = || mercer::Error::NotFinite { row: 0, column: 1, value: f64::INFINITY };
        let names = ["x", "y"].map(str::to_owned);
        let text = origin.refusal(error(), 0, Some(&names)).to_string();
        let expected = "x.csv, line 2: column \"y\" of the row is inf; kernels need finite numbers";
        assert!(text.ends_with(expected), "{text}");
        let text = origin.refusal(error(), 0, None).to_string();
        assert!(text.ends_with("x.csv, line 2: column 2 of the row is inf; kernels need finite numbers"), "{text}");
    }
}
