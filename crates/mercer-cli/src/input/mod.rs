//! Data files: what they hold, and complaints that help.
//!
//! Every reader gives a [`Raw`] table: values in the format of the file, label and id apart. What the flags say about rows and
//! scaling is done once, in [`finish`].

mod advice;
mod archive;
mod array;
mod arrow;
mod blocks;
mod columnar;
mod columns;
mod csv;
mod format;
mod idx;
mod images;
mod libsvm;
mod npy;
mod npy_header;
mod npz;
mod numbers;
mod options;
mod parquet;
mod picture;
mod rows;
mod source;

use std::ops::Range;
use std::path::Path;

use mercer::data::{Scaling, sample_rows};
use mercer::{Model, Points};

pub(crate) use format::format_of;
pub(crate) use options::ReadOptions;
pub(crate) use picture::{Depth, Picture, read_picture};
pub(crate) use rows::{RowSource, StreamedRow};

use self::array::Array;
use self::format::NamedFormat;
use self::options::{Header, Rescale};
use self::source::Bytes;
use crate::args::Format;
use crate::failure::{Failure, InputError, Result};

/// The contents of a data file.
#[derive(Debug)]
pub(crate) struct Data {
    /// The file, as messages name it.
    pub(crate) name: String,
    /// The points, one per row, scaled as was asked.
    pub(crate) points: Points,
    /// The column that was taken out as label.
    pub(crate) labels: Option<Labels>,
    /// The column that names the rows.
    pub(crate) ids: Option<Labels>,
    /// How the points were scaled; goes with the model that is learned from them.
    pub(crate) scaling: Option<Scaling>,
}

/// A word for each point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels {
    /// Name of the column.
    pub(crate) name: String,
    /// One label for each row.
    pub(crate) values: Vec<String>,
}

/// What messages call what is not a file.
const STANDARD_INPUT: &str = "standard input";
/// The name of a label column in a file without names.
const UNNAMED_LABEL: &str = "label";
/// The name of an id column in a file without names.
const UNNAMED_ID: &str = "id";

/// What to do about a file that ends too early.
const MAKE_AGAIN: &str = "copy or make the file again";
/// What to do about a value that no kernel can use.
const FILL_GAPS: &str = "every value must be a finite number: fill the gap or remove the row";

/// A table as a reader found it.
struct Raw {
    values: Array,
    n_samples: usize,
    n_features: usize,
    labels: Option<Labels>,
    ids: Option<Labels>,
    finite: Finite,
}

/// Whether it is known that all values are finite.
enum Finite {
    /// The reader has looked, and would have named the place.
    Checked,
    /// Nobody has looked; the columns' places in the file are for the message.
    Unchecked(Vec<usize>),
}

/// Reads a data file, or CSV from standard input if the path is `-`.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Data> {
    if path == Path::new("-") {
        let name = STANDARD_INPUT;
        return match options.format.unwrap_or(Format::Csv) {
            format @ (Format::Csv | Format::Tsv) => {
                options.check_flags(format)?;
                finish(name, csv::read(name, std::io::stdin(), None, &options.for_text(format))?, options)
            }
            other => {
                let name = format::name(other);
                Err(Failure::usage(format!("{name} cannot be read from standard input; give a file")))
            }
        };
    }
    let name = path.display().to_string();
    let raw = read_raw(path, &name, options)?;
    finish(&name, raw, options)
}

/// As [`read`], without rows that hold a value that is not a finite number: for files of numbers, whose readers leave that check to the
/// end. The number of rows left out is beside the data.
pub(crate) fn read_complete(path: &Path, options: &ReadOptions) -> Result<(Data, usize)> {
    let name = path.display().to_string();
    let raw = read_raw(path, &name, options)?;
    let rows: Vec<usize> = raw.values.complete_rows(raw.n_features);
    let left_out = raw.n_samples - rows.len();
    if rows.is_empty() {
        return Err(InputError::new(&name, "every row has a missing value").hint(FILL_GAPS).into());
    }
    let pick =
        |labels: Labels| Labels { values: rows.iter().map(|&row| labels.values[row].clone()).collect(), ..labels };
    let raw = Raw {
        values: raw.values.select_rows(raw.n_features, &rows),
        n_samples: rows.len(),
        labels: raw.labels.map(pick),
        ids: raw.ids.map(pick),
        ..raw
    };
    Ok((finish(&name, raw, options)?, left_out))
}

/// Reads new points for a model, which scales them itself.
///
/// A scaling that was asked for again must be the model's own; a model without one (from an older file, or fitted without)
/// takes points multiplied by `--scale`.
pub(crate) fn read_queries(path: &Path, options: &ReadOptions, model: &Model) -> Result<Data> {
    let options = options.clone().n_features(model.n_features());
    let own = model.scaling();
    match (&options.rescale, own) {
        (Rescale::None, _) | (Rescale::By(_), None) => read(path, &options),
        (Rescale::Standardize, _) => Err(Failure::usage(
            "--standardize belongs to the fit: new points standardized by their own means could not be compared; leave it out",
        )),
        (Rescale::By(factor), Some(own)) => {
            let same = own.common_factor().is_some_and(|common| (common - factor).abs() <= 1e-12 * common);
            if same {
                return read(path, &options.unscaled());
            }
            let does = match own.common_factor() {
                Some(common) => format!("multiplies its data by {common}"),
                None => "standardizes its data".to_owned(),
            };
            Err(Failure::usage(format!("the model {does} by itself: leave --scale out")))
        }
    }
}

/// Reads text that is already in memory.
pub(crate) fn read_embedded(name: &str, text: &'static [u8], options: &ReadOptions) -> Result<Data> {
    let length = Some(text.len() as u64);
    finish(name, csv::read(name, text, length, &options.for_text(Format::Csv))?, options)
}

/// Reads bytes that a fuzzer made.
#[cfg(any(fuzzing, test))]
pub(crate) fn read_bytes(reader: crate::fuzzing::Reader, bytes: &[u8], options: &ReadOptions) -> Result<Data> {
    use crate::fuzzing::Reader;
    let name = "input";
    let in_memory = || Bytes::Memory(bytes.to_vec());
    let raw = match reader {
        Reader::Csv => csv::read(name, bytes, Some(bytes.len() as u64), &options.for_text(Format::Csv)),
        Reader::Npy => npy::read(name, in_memory(), options),
        Reader::Npz => npz::read(name, std::io::Cursor::new(bytes), options),
        Reader::Idx => idx::read(Path::new(name), name, in_memory(), options),
        Reader::Libsvm => libsvm::read(name, bytes, options),
    };
    finish(name, raw?, options)
}

fn read_raw(path: &Path, name: &str, options: &ReadOptions) -> Result<Raw> {
    if path.is_dir() && options.format.is_none_or(|format| format == Format::Images) {
        return images::read_folder(path, name, options);
    }
    if path.is_dir() {
        return Err(InputError::new(name, "this is a directory").hint("a folder is read as images only").into());
    }
    let NamedFormat { format, packing } = format::of(path, options.format)?;
    options.check_flags(format)?;
    match format {
        Format::Csv | Format::Tsv => {
            let length =
                std::fs::metadata(path).ok().filter(|_| packing == source::Packing::None).map(|found| found.len());
            csv::read(name, source::stream(path, packing)?, length, &options.for_text(format))
        }
        Format::Npy => npy::read(name, Bytes::open(path, name, packing)?, options),
        Format::Npz => npz::read(name, source::open_file(path)?, options),
        Format::Idx => idx::read(path, name, Bytes::open(path, name, packing)?, options),
        Format::Libsvm => libsvm::read(name, &Bytes::open(path, name, packing)?, options),
        Format::Parquet => parquet::read(name, source::open_file(path)?, options),
        Format::Arrow => arrow::read(name, &source::open_file(path)?, options),
        Format::Images => images::read_list(path, name, options),
    }
}

/// Takes the rows that were asked for, checks and scales them.
fn finish(name: &str, raw: Raw, options: &ReadOptions) -> Result<Data> {
    let Raw { mut values, n_samples, n_features, labels, ids, finite } = raw;
    let range = row_range(name, options, n_samples)?;
    if range != (0..n_samples) {
        values = values.rows(n_features, range.clone());
    }
    let sampled = options.sample.filter(|&size| size < range.len()).map(|size| {
        let rows = sample_rows(range.len(), size, options.seed);
        values = values.select_rows(n_features, &rows);
        rows
    });
    let n_samples = sampled.as_ref().map_or(range.len(), Vec::len);
    let row_in_file = |row: usize| range.start + sampled.as_ref().map_or(row, |rows| rows[row]);
    if let Finite::Unchecked(columns) = &finite {
        check_finite(name, &values, columns, row_in_file)?;
    }
    let pick = |labels: Labels| Labels { values: pick_rows(labels.values, &range, sampled.as_deref()), ..labels };
    let (labels, ids) = (labels.map(pick), ids.map(pick));
    let scaling = match options.rescale {
        Rescale::None => None,
        Rescale::By(factor) => Some(Scaling::uniform(factor, n_features)?),
        Rescale::Standardize => Some(values.standardizing(n_features)),
    };
    let points = values.into_points(n_samples, n_features, scaling.as_ref()).map_err(Failure::in_data(name))?;
    Ok(Data { name: name.to_owned(), points, labels, ids, scaling })
}

fn row_range(name: &str, options: &ReadOptions, n_samples: usize) -> Result<Range<usize>> {
    let Some(rows) = options.rows else { return Ok(0..n_samples) };
    let end = rows.end.unwrap_or(n_samples);
    if rows.start >= n_samples || end > n_samples {
        let asked = format!("{}:{}", rows.start, rows.end.map_or(String::new(), |end| end.to_string()));
        let problem = format!("--rows {asked} was asked for, but there are {n_samples} rows");
        return Err(InputError::new(name, problem)
            .hint("rows are counted from 0, and the last one is excluded")
            .into());
    }
    Ok(rows.start..end)
}

fn pick_rows(mut values: Vec<String>, range: &Range<usize>, sampled: Option<&[usize]>) -> Vec<String> {
    values.truncate(range.end);
    values.drain(..range.start);
    match sampled {
        Some(rows) => rows.iter().map(|&row| std::mem::take(&mut values[row])).collect(),
        None => values,
    }
}

/// Refuses the first value that is not finite, by its place as `NumPy` would index it.
fn check_finite(name: &str, values: &Array, columns: &[usize], row_in_file: impl Fn(usize) -> usize) -> Result<()> {
    let Some((index, value)) = values.as_rows().first_not_finite() else { return Ok(()) };
    let (row, column) = (row_in_file(index / columns.len()), columns[index % columns.len()]);
    Err(InputError::new(name, format!("the value at [{row}, {column}] is {value}")).hint(FILL_GAPS).into())
}

#[cfg(test)]
mod tests;
