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
mod header;
mod idx;
mod images;
mod json;
mod libsvm;
mod npy;
mod npy_header;
mod npz;
mod numbers;
mod options;
mod origin;
mod parquet;
mod picture;
mod room;
mod rows;
mod source;
mod wanted;

use std::ops::Range;
use std::path::Path;

use mercer::Points;
use mercer::data::{Scaling, sample_rows};

pub(crate) use format::{check_name, format_of};
pub(crate) use options::ReadOptions;
pub(crate) use picture::{Depth, Picture, read_kind, read_picture};
pub(crate) use rows::{RowSource, StreamedRow};

use self::array::Array;
use self::format::NamedFormat;
use self::options::{Header, Rescale};
use self::origin::{Origin, largest_row, too_large};
use self::room::NoRoom;
use self::source::Bytes;
use crate::args::Format;
use crate::failure::{Failure, InputError, Result};
use crate::output::number;

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
    /// What the columns of the points are called; goes with the model, too.
    pub(crate) names: Option<Vec<String>>,
    /// What was done with columns unasked, for people.
    pub(crate) remark: Option<String>,
    /// Which numbers are not those of the file any more.
    pub(crate) rounded: Option<String>,
    /// Which part of the file this is.
    pub(crate) part: Part,
    /// Where its rows stand there.
    origin: Origin,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    /// The share of the file that has been read with it; 0 if that is not known.
    pub(crate) share: f64,
    /// Whether nothing comes after it.
    pub(crate) is_last: bool,
}

impl Part {
    /// All of it.
    const WHOLE: Self = Self { share: 1.0, is_last: true };
}

impl Data {
    /// Points alone.
    #[cfg(test)]
    pub(crate) fn of_points(name: &str, points: Points) -> Self {
        let (labels, ids, scaling, names, remark, rounded) = (None, None, None, None, None, None);
        let (part, origin) = (Part::WHOLE, Origin::of_text(name));
        Self { name: name.to_owned(), points, labels, ids, scaling, names, remark, rounded, part, origin }
    }

    /// All that was done unasked.
    pub(crate) fn remarks(&self) -> impl Iterator<Item = &String> {
        self.remark.iter().chain(&self.rounded)
    }

    /// The failure that an error of the library about these points is, or about those from row `first` on; a row is named by its place in the
    /// file.
    pub(crate) fn refusal(&self, error: mercer::Error, first: usize) -> Failure {
        let factor = self.scaling.as_ref().and_then(Scaling::common_factor);
        let overflows = matches!(error, mercer::Error::NotFinite { .. });
        let failure = self.origin.refusal(error, first, self.names.as_deref());
        match factor.filter(|_| overflows) {
            // In the file it is finite, or it would have been refused there.
            Some(factor) => failure.advised(format!("--scale {} makes it so: give a smaller factor", number(factor))),
            None => failure,
        }
    }

    /// As [`refusal`](Self::refusal), of a method that numbers the rows of samples and blocks: one that is too large is found anew, as the largest.
    pub(crate) fn refusal_of_some(&self, mut error: mercer::Error) -> Failure {
        if let (Some(row), Some((largest, _))) = (too_large(&mut error), largest_row(&self.points)) {
            *row = largest;
        }
        self.refusal(error, 0)
    }

    /// Names of the points' columns in an output that has other columns `beside` them: their own, or else x1, x2, and so on.
    pub(crate) fn column_names(&self, beside: &[&str]) -> Vec<String> {
        let others = [&self.labels, &self.ids].into_iter().flatten().map(|words| words.name.as_str());
        let taken: Vec<&str> = beside.iter().copied().chain(others).collect();
        match &self.names {
            Some(names) if names.iter().all(|name| !name.is_empty() && !taken.contains(&name.as_str())) => {
                names.clone()
            }
            _ => (1..=self.points.n_features()).map(|column| format!("x{column}")).collect(),
        }
    }
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
    columns: ColumnNames,
    /// That numbers had to be rounded, for people.
    rounded: Option<String>,
}

/// What is known about the names of columns.
#[derive(Clone, Debug, Default)]
struct ColumnNames {
    /// Those of the points, if there are any.
    features: Option<Vec<String>>,
    /// Those that nobody wants.
    passed_over: Vec<String>,
    /// How many of the points' columns have none, where that is why the names of the others do not count.
    n_without: usize,
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
    let origin = Origin::new(path, options);
    let raw = read_raw(path, origin.name(), options)?;
    finish(origin, raw, Part::WHOLE, options)
}

/// As [`read`], as many numbers at a time as the options say; `each` is called for every part of the file, in their order.
pub(crate) fn read_in_batches(
    path: &Path,
    options: &ReadOptions,
    each: &mut dyn FnMut(Data) -> Result<()>,
) -> Result<()> {
    let origin = Origin::new(path, options);
    let mut rows = 0;
    read_parts(path, origin.name(), options, &mut |raw, part| {
        let part_origin = origin.clone().after(rows);
        rows += raw.n_samples;
        each(finish(part_origin, raw, part, options)?)
    })
}

/// The first part that [`read_in_batches`] would give.
pub(crate) fn read_first(path: &Path, options: &ReadOptions) -> Result<Data> {
    let mut first = None;
    let outcome = read_in_batches(path, options, &mut |data| {
        first = Some(data);
        // The only way to end a reader early; nobody gets to see it.
        Err(Failure::usage("one part is enough"))
    });
    match (first, outcome) {
        (Some(data), _) => Ok(data),
        (None, Err(failure)) => Err(failure),
        (None, Ok(())) => unreachable!("a file without rows is refused"),
    }
}

/// As [`Data::refusal_of_some`], for a file of which this is the first part.
pub(crate) fn refusal_in_blocks(path: &Path, options: &ReadOptions, first: &Data, mut error: mercer::Error) -> Failure {
    if let Some(row) = too_large(&mut error) {
        let (mut largest, mut before) = ((*row, 0.0), 0);
        // It has been read before; if it cannot be read again, the row stays the one that was named.
        let _ = read_in_batches(path, options, &mut |part| {
            if let Some((place, length)) = largest_row(&part.points)
                && length > largest.1
            {
                largest = (before + place, length);
            }
            before += part.points.n_samples();
            Ok(())
        });
        *row = largest.0;
    }
    first.refusal(error, 0)
}

/// As [`read`], without rows that hold a value that is not a finite number: for files of numbers, whose readers leave that check to the
/// end. The number of rows left out is beside the data.
pub(crate) fn read_complete(path: &Path, options: &ReadOptions) -> Result<(Data, usize)> {
    let origin = Origin::new(path, options);
    let name = origin.name();
    let raw = read_raw(path, name, options)?;
    let rows: Vec<usize> = raw.values.complete_rows(raw.n_features);
    let left_out = raw.n_samples - rows.len();
    if rows.is_empty() {
        return Err(InputError::new(name, "every row has a missing value").hint(FILL_GAPS).into());
    }
    let pick =
        |labels: Labels| Labels { values: rows.iter().map(|&row| labels.values[row].clone()).collect(), ..labels };
    let raw = Raw {
        values: raw.values.select_rows(raw.n_features, &rows).map_err(NoRoom::reading(name))?,
        n_samples: rows.len(),
        labels: raw.labels.map(pick),
        ids: raw.ids.map(pick),
        ..raw
    };
    Ok((finish(origin, raw, Part::WHOLE, options)?, left_out))
}

/// Reads text that is already in memory.
pub(crate) fn read_embedded(name: &str, text: &'static [u8], options: &ReadOptions) -> Result<Data> {
    let length = Some(text.len() as u64);
    let raw = csv::read(name, text, length, &options.for_text(Format::Csv))?;
    finish(Origin::of_text(name), raw, Part::WHOLE, options)
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
    finish(Origin::of_text(name), raw?, Part::WHOLE, options)
}

/// Reads a whole file.
fn read_raw(path: &Path, name: &str, options: &ReadOptions) -> Result<Raw> {
    let whole = ReadOptions { batch: None, ..options.clone() };
    let mut found = None;
    read_parts(path, name, &whole, &mut |raw, _| {
        found = Some(raw);
        Ok(())
    })?;
    Ok(found.expect("without batches there is one part"))
}

/// Reads a file part by part, where its format allows that, or else as one.
fn read_parts(
    path: &Path,
    name: &str,
    options: &ReadOptions,
    each: &mut dyn FnMut(Raw, Part) -> Result<()>,
) -> Result<()> {
    if path == Path::new("-") {
        return match options.format.unwrap_or(Format::Csv) {
            format @ (Format::Csv | Format::Tsv) => {
                options.check_flags(format)?;
                csv::read_in_batches(name, std::io::stdin(), None, &options.for_text(format), each)
            }
            other => {
                let name = format::name(other);
                Err(Failure::usage(format!("{name} cannot be read from standard input; give a file")))
            }
        };
    }
    if path.is_dir() && options.format.is_none_or(|format| format == Format::Images) {
        return each(images::read_folder(path, name, options)?, Part::WHOLE);
    }
    if path.is_dir() {
        return Err(InputError::new(name, "this is a directory").hint("a folder is read as images only").into());
    }
    let NamedFormat { format, packing } =
        format::of(path, options.format).map_err(|failure| match std::fs::metadata(path) {
            // What is not there has a better reason not to be read than its name.
            Err(error) => Failure::file("reading", path)(error),
            Ok(_) => failure,
        })?;
    options.check_flags(format)?;
    let whole = match format {
        Format::Csv | Format::Tsv => {
            let length =
                std::fs::metadata(path).ok().filter(|_| packing == source::Packing::None).map(|found| found.len());
            let source = source::stream(path, packing)?;
            return csv::read_in_batches(name, source, length, &options.for_text(format), each);
        }
        Format::Parquet => return parquet::read(name, source::open_anywhere(path, name, format)?, options, each),
        Format::Arrow => return arrow::read(name, &source::open_anywhere(path, name, format)?, options, each),
        Format::Npy => npy::read(name, Bytes::open(path, name, packing)?, options),
        Format::Npz => npz::read(name, source::open_anywhere(path, name, format)?, options),
        Format::Idx => idx::read(path, name, Bytes::open(path, name, packing)?, options),
        Format::Libsvm => libsvm::read(name, &Bytes::open(path, name, packing)?, options),
        Format::Images => images::read_list(path, name, options),
    };
    each(whole?, Part::WHOLE)
}

/// Takes the rows that were asked for, checks and scales them.
fn finish(origin: Origin, raw: Raw, part: Part, options: &ReadOptions) -> Result<Data> {
    let Raw { mut values, n_samples, n_features, labels, ids, finite, columns, rounded } = raw;
    let name = origin.name();
    options.check_names(name, &columns)?;
    let range = row_range(name, options, n_samples)?;
    if range != (0..n_samples) {
        values = values.rows(n_features, range.clone());
    }
    let sampled = options.sample.filter(|&size| size < range.len());
    let sampled = sampled.map(|size| sample_rows(range.len(), size, options.seed));
    if let Some(rows) = &sampled {
        values = values.select_rows(n_features, rows).map_err(NoRoom::reading(name))?;
    }
    let n_samples = sampled.as_ref().map_or(range.len(), Vec::len);
    let pick = |labels: Labels| Labels { values: pick_rows(labels.values, &range, sampled.as_deref()), ..labels };
    let (labels, ids) = (labels.map(pick), ids.map(pick));
    let origin = origin.after(range.start).sampled(sampled);
    let name = origin.name();
    // What is not scaled is looked at as points, which remember it.
    if let Finite::Unchecked(columns) = &finite
        && options.rescale != Rescale::None
    {
        check_finite(&origin, &values, columns, options)?;
    }
    let scaling = match options.rescale {
        Rescale::None => None,
        Rescale::By(factor) => Some(Scaling::uniform(factor, n_features)?),
        Rescale::Standardize => Some(values.standardizing(n_features)),
    };
    if scaling.is_some() {
        values = values.into_owned().map_err(NoRoom::reading(name))?;
    }
    let points = values.into_points(n_samples, n_features, scaling.as_ref());
    let mut points = points.map_err(|error| origin.refusal(error, 0, columns.features.as_deref()))?;
    if let Finite::Unchecked(columns) = &finite
        && scaling.is_none()
    {
        points = checked(&origin, points, columns, options)?;
    }
    let (name, remark) = (name.to_owned(), options.remark_on(name, &columns));
    Ok(Data { name, points, labels, ids, scaling, names: columns.features, remark, rounded, part, origin })
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

/// Refuses points with a value that is not finite, as [`check_finite`]; others need not be looked at again.
fn checked(origin: &Origin, points: Points, columns: &[usize], options: &ReadOptions) -> Result<Points> {
    options.pool()?.run(|| points.checked()).map_err(|error| match error {
        mercer::Error::NotFinite { row, column, value } => not_finite(origin, row, columns[column], value),
        other => other.into(),
    })
}

/// Refuses the first value that is not finite, by its place as `NumPy` would index it.
fn check_finite(origin: &Origin, values: &Array, columns: &[usize], options: &ReadOptions) -> Result<()> {
    let found = options.pool()?.run(|| values.as_rows().first_not_finite());
    let Some((index, value)) = found else { return Ok(()) };
    Err(not_finite(origin, index / columns.len(), columns[index % columns.len()], value))
}

/// The failure that a value of one of the rows is.
fn not_finite(origin: &Origin, row: usize, column: usize, value: f64) -> Failure {
    let row = origin.row_in_file(row);
    InputError::new(origin.name(), format!("the value at [{row}, {column}] is {value}")).hint(FILL_GAPS).into()
}

#[cfg(test)]
mod tests;
