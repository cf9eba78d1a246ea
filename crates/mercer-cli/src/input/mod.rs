//! Data files: what they hold, and complaints that help.

mod advice;
mod csv;
mod mapped;
mod npy;
mod npy_header;
mod numbered_lines;

use std::fs::File;
use std::path::Path;

use mercer::Points;

use crate::args::{ColumnName, DataArgs, Delimiter, Format};
use crate::failure::{Failure, InputError, Result};

/// The contents of a data file.
#[derive(Debug)]
pub(crate) struct Data {
    /// The file, as messages name it.
    pub(crate) name: String,
    /// The points, one per row.
    pub(crate) points: Points,
    /// The column that was taken out as label.
    pub(crate) labels: Option<Labels>,
}

/// A label for each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    /// Name of the column.
    pub(crate) name: String,
    /// One label for each row.
    pub(crate) values: Vec<String>,
}

/// The name of a label column in a file without names.
const UNNAMED_LABEL: &str = "label";

/// Whether the first row of a text file is a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Header {
    /// It is one if it is not all numbers.
    #[default]
    Detect,
    Present,
    Absent,
}

/// How to read a data file.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    header: Header,
    delimiter: Option<u8>,
    label: Option<ColumnName>,
    scale: f64,
    format: Option<Format>,
}

impl From<&DataArgs> for ReadOptions {
    fn from(args: &DataArgs) -> Self {
        let header = match (args.header, args.no_header) {
            (true, _) => Header::Present,
            (false, true) => Header::Absent,
            (false, false) => Header::Detect,
        };
        Self {
            header,
            delimiter: args.delimiter.map(|Delimiter(byte)| byte),
            label: args.label.clone(),
            scale: args.scale.map_or(1.0, |factor| factor.0),
            format: args.format,
        }
    }
}

/// Reads a data file, or CSV from standard input if the path is `-`.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Data> {
    if path == Path::new("-") {
        return match options.format.unwrap_or(Format::Csv) {
            format @ (Format::Csv | Format::Tsv) => {
                csv::read("standard input", std::io::stdin().lock(), &options.for_text(format))
            }
            Format::Npy => Err(Failure::usage("a .npy array cannot be read from standard input; give a file")),
        };
    }
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(InputError::new(&name, "this is a directory")
            .hint("give one .csv, .tsv or .npy file in it")
            .into());
    }
    match format_of(path, options.format)? {
        format @ (Format::Csv | Format::Tsv) => {
            let file = File::open(path).map_err(Failure::file("reading", path))?;
            csv::read(&name, file, &options.for_text(format))
        }
        Format::Npy => npy::read(path, options),
    }
}

/// Reads text that is already in memory.
pub(crate) fn read_embedded(name: &str, text: &'static [u8], options: &ReadOptions) -> Result<Data> {
    csv::read(name, text, &options.for_text(Format::Csv))
}

/// The format that was asked for, or else the one that the name of the file says.
pub(crate) fn format_of(path: &Path, asked: Option<Format>) -> Result<Format> {
    if let Some(format) = asked {
        return Ok(format);
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "csv" | "txt" => Ok(Format::Csv),
        "tsv" => Ok(Format::Tsv),
        "npy" => Ok(Format::Npy),
        _ => {
            let problem = "the name does not say what the format is";
            let error = InputError::new(&path.display().to_string(), problem);
            Err(error.hint("name it .csv, .tsv or .npy, or say --format csv, tsv or npy").into())
        }
    }
}

impl ReadOptions {
    /// The same, with the delimiter that goes with a text format unless another was asked for.
    fn for_text(&self, format: Format) -> Self {
        let usual = if format == Format::Tsv { b'\t' } else { b',' };
        Self { delimiter: Some(self.delimiter.unwrap_or(usual)), ..self.clone() }
    }

    /// The place of the label column, if one was asked for.
    fn label_column(&self, file: &str, names: Option<&[String]>, n_columns: usize) -> Result<Option<usize>> {
        let Some(label) = &self.label else { return Ok(None) };
        if let Some(place) = label.find(names, n_columns) {
            return Ok(Some(place));
        }
        let problem = format!("there is no column \"{}\" among the {n_columns} columns", label.0);
        let error = InputError::new(file, problem);
        Err(match names {
            Some(names) => error.hint(advice::similar_columns(&label.0, names)),
            None => error.hint("without a header, --label takes a number: 1 is the first column, -1 the last"),
        }
        .into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_format_unless_a_flag_does() {
        assert_eq!(format_of(Path::new("a.CSV"), None).unwrap(), Format::Csv);
        assert_eq!(format_of(Path::new("a.npy"), None).unwrap(), Format::Npy);
        assert_eq!(format_of(Path::new("a.npy"), Some(Format::Tsv)).unwrap(), Format::Tsv);
        let failure = format_of(Path::new("points.dat"), None).unwrap_err();
        assert_eq!(failure.to_string(), "points.dat: the name does not say what the format is");
        assert_eq!(failure.hint(), Some("name it .csv, .tsv or .npy, or say --format csv, tsv or npy"));
    }
}
