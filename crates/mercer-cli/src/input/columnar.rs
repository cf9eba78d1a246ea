//! Tables that come as batches of columns: Parquet and Arrow.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array as ArrowArray, RecordBatch};
use arrow_schema::{DataType, Schema};

use super::array::Array;
use super::columns::Selection;
use super::numbers::{Numbers, is_rounded};
use super::room::{self, NoRoom};
use super::{FILL_GAPS, Finite, Labels, MAKE_AGAIN, Part, Raw, ReadOptions, advice};
use crate::args::ColumnName;
use crate::failure::{InputError, Result};

/// Rows of a batch: large enough that batches cost nothing, small enough that a block of rows stays in the cache.
pub(super) const BATCH: usize = 1024;

/// The points of a table, growing batch by batch.
pub(super) struct Columnar<'a> {
    file: &'a str,
    names: Vec<String>,
    selection: Selection,
    /// Places in the file of the columns that batches hold, in increasing order.
    needed: Vec<usize>,
    values: Values,
    labels: Vec<String>,
    ids: Vec<String>,
    n_samples: usize,
    /// The place of a column of which values had to be rounded.
    rounded: Option<usize>,
    /// Rows that have been handed out.
    rows_before: usize,
    options: ReadOptions,
}

/// Bytes or single precision if all columns are, otherwise double precision.
enum Values {
    U8(Vec<u8>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl<'a> Columnar<'a> {
    /// An empty table with the columns that the options ask for.
    pub(super) fn new(file: &'a str, schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut options = options.clone();
        if options.columns.is_empty() {
            // pandas writes the index of its rows as a column; it is none.
            options.drop.extend(names.iter().filter(|name| is_pandas_index(name)).cloned().map(ColumnName));
        }
        let selection = Selection::new(&options, file, Some(&names), names.len())?;
        let types = |place: usize| schema.field(place).data_type();
        for &place in &selection.features {
            check_type(file, place, &names[place], types(place))?;
        }
        let words = selection.label.into_iter().chain(selection.id);
        for place in words.clone() {
            if types(place).is_nested() && !matches!(types(place), DataType::Dictionary(..)) {
                return Err(nested(file, place, &advice::shown(&names[place]), types(place)).into());
            }
        }
        let all = |kinds: &[DataType]| selection.features.iter().all(|&place| kinds.contains(types(place)));
        let values = if all(&[DataType::UInt8, DataType::Boolean]) {
            Values::U8(Vec::new())
        } else if all(&[DataType::Float16, DataType::Float32]) {
            Values::F32(Vec::new())
        } else {
            Values::F64(Vec::new())
        };
        let mut needed: Vec<usize> = selection.features.iter().copied().chain(words).collect();
        needed.sort_unstable();
        needed.dedup();
        Ok(Self {
            file,
            names,
            selection,
            needed,
            values,
            labels: Vec::new(),
            ids: Vec::new(),
            n_samples: 0,
            rounded: None,
            rows_before: 0,
            options,
        })
    }

    /// Places in the file of the columns that batches must hold, in this order.
    pub(super) fn needed(&self) -> &[usize] {
        &self.needed
    }

    /// Takes in the next rows.
    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let d = self.selection.features.len();
        let start = self.n_samples * d;
        let end = start + batch.num_rows() * d;
        match &mut self.values {
            Values::U8(values) => resize(values, end),
            Values::F32(values) => resize(values, end),
            Values::F64(values) => resize(values, end),
        }
        .map_err(NoRoom::reading(self.file))?;
        for (column, &place) in self.selection.features.iter().enumerate() {
            let array = column_of(batch, &self.needed, place);
            if let Some(row) =
                (array.null_count() > 0).then(|| (0..array.len()).find(|&row| array.is_null(row))).flatten()
            {
                return Err(self.error(row, place, "missing").into());
            }
            let not_finite = match &mut self.values {
                Values::U8(values) => fill(array, d, &mut values[start + column..], |x| x as u8),
                Values::F32(values) => fill(array, d, &mut values[start + column..], |x| x as f32),
                Values::F64(values) => fill(array, d, &mut values[start + column..], |x| x),
            };
            if let Some((row, value)) = not_finite {
                return Err(self.error(row, place, value).into());
            }
            if self.rounded.is_none() && holds_rounded(array) {
                self.rounded = Some(place);
            }
        }
        if let Some(place) = self.selection.label {
            words(column_of(batch, &self.needed, place), &mut self.labels);
        }
        if let Some(place) = self.selection.id {
            words(column_of(batch, &self.needed, place), &mut self.ids);
        }
        self.n_samples += batch.num_rows();
        Ok(())
    }

    /// The rows since the last call, which are all of them if there was none.
    fn take(&mut self) -> Raw {
        let column =
            |place: Option<usize>, values| place.map(|place| Labels { name: self.names[place].clone(), values });
        let values = match &mut self.values {
            Values::U8(values) => Array::U8(Numbers::Owned(std::mem::take(values))),
            Values::F32(values) => Array::F32(Numbers::Owned(std::mem::take(values))),
            Values::F64(values) => Array::F64(Numbers::Owned(std::mem::take(values))),
        };
        let n_samples = std::mem::take(&mut self.n_samples);
        self.rows_before += n_samples;
        Raw {
            values,
            n_samples,
            n_features: self.selection.features.len(),
            labels: column(self.selection.label, std::mem::take(&mut self.labels)),
            ids: column(self.selection.id, std::mem::take(&mut self.ids)),
            finite: Finite::Checked,
            columns: self.selection.names.clone(),
            rounded: self.rounded.take().map(|place| self.rounding_of(place)),
        }
    }

    /// Takes in batch after batch of a file that is called `what`, and hands out parts of the table in between.
    pub(super) fn read<E: Display>(
        mut self,
        what: &str,
        mut batches: impl Iterator<Item = std::result::Result<RecordBatch, E>>,
        each: &mut dyn FnMut(Raw, Part) -> Result<()>,
    ) -> Result<()> {
        let file = self.file;
        let mut next =
            || guarded(file, what, || Ok(batches.next().transpose().map_err(|error| damaged(file, what, error))?));
        let mut batch = next()?;
        while let Some(found) = batch {
            guarded(file, what, || self.push(&found))?;
            batch = next()?;
            if batch.is_some() && self.options.is_full(self.n_samples * self.selection.features.len(), self.n_samples) {
                each(self.take(), Part { share: 0.0, is_last: false })?;
            }
        }
        if self.n_samples == 0 && self.rows_before == 0 {
            return Err(InputError::new(self.file, "the table has no rows").into());
        }
        each(self.take(), Part { share: 1.0, is_last: true })
    }

    /// That values of a column are not those of the file any more.
    fn rounding_of(&self, place: usize) -> String {
        let (number, name) = (place + 1, advice::shown(&self.names[place]));
        format!(
            "{}: whole numbers beyond 2^53 in column {number} ({name}) are rounded to double precision; --id keeps a column as it is",
            self.file
        )
    }

    /// An error about a value of the batch that is being taken in: in the words of an array's, and by its indices as those.
    fn error(&self, row: usize, place: usize, value: impl Display) -> InputError {
        let (row, name) = (self.rows_before + self.n_samples + row, advice::shown(&self.names[place]));
        let problem = format!("the value at [{row}, {place}] ({name}) is {value}");
        InputError::new(self.file, problem).hint(FILL_GAPS)
    }
}

/// Runs a reader of others' that checks most of what a damaged file can hold, but not all.
pub(super) fn guarded<T>(file: &str, what: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    // What it would say is about its own lines, and of no use to anybody.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(read));
    std::panic::set_hook(hook);
    outcome.unwrap_or_else(|_| Err(damaged(file, what, "its contents contradict each other").into()))
}

/// The error that a file is which cannot be decoded.
pub(super) fn damaged(file: &str, what: &str, why: impl Display) -> InputError {
    // On one line, whatever the bytes that it quotes.
    let why = why.to_string().escape_debug().to_string().replace("\\\"", "\"");
    InputError::new(file, format!("the {what} file is truncated or damaged: {why}")).hint(MAKE_AGAIN)
}

/// Makes a list as long as that, with zeros at its end.
fn resize<T: Clone + Default>(values: &mut Vec<T>, length: usize) -> room::Result<()> {
    room::grow(values, length - values.len())?;
    values.resize(length, T::default());
    Ok(())
}

fn is_pandas_index(name: &str) -> bool {
    name.strip_prefix("__index_level_").is_some_and(|rest| rest.ends_with("__"))
}

fn column_of<'b>(batch: &'b RecordBatch, needed: &[usize], place: usize) -> &'b dyn ArrowArray {
    let index = needed.binary_search(&place).expect("features, label and id are all needed");
    batch.column(index).as_ref()
}

/// Refuses a column that is not made of numbers.
fn check_type(file: &str, place: usize, name: &str, found: &DataType) -> Result<()> {
    let name = advice::shown(name);
    let column = format!("column {} ({name})", place + 1);
    match found {
        found if found.is_numeric() && !is_decimal(found) => Ok(()),
        DataType::Boolean => Ok(()),
        found if found.is_nested() && !matches!(found, DataType::Dictionary(..)) => {
            Err(nested(file, place, &name, found).into())
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            let hint =
                format!("if it is a label, take it out with --label {name}; otherwise leave it out with --drop {name}");
            Err(InputError::new(file, format!("{column} is text, not numbers")).hint(hint).into())
        }
        other => {
            let hint =
                format!("make it a number (float64) where the file is written, or leave it out with --drop {name}");
            Err(InputError::new(file, format!("{column} is {other}, not a plain number")).hint(hint).into())
        }
    }
}

fn is_decimal(found: &DataType) -> bool {
    matches!(
        found,
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..)
    )
}

fn nested(file: &str, place: usize, name: &str, found: &DataType) -> InputError {
    let kind = match found {
        DataType::Struct(_) => "a struct",
        DataType::Map(..) => "a map",
        _ => "a list",
    };
    let hint = format!("write one plain column for each of its numbers, or leave it out with --drop {name}");
    InputError::new(file, format!("column {} ({name}) is nested: each value is {kind}", place + 1)).hint(hint)
}

/// Writes a column of numbers into every `stride`-th place; returns the first value that is not finite.
fn fill<T>(array: &dyn ArrowArray, stride: usize, out: &mut [T], convert: impl Fn(f64) -> T) -> Option<(usize, f64)> {
    let mut not_finite = None;
    let mut put = |row: usize, value: f64| {
        if !value.is_finite() && not_finite.is_none() {
            not_finite = Some((row, value));
        }
        out[row * stride] = convert(value);
    };
    macro_rules! primitive {
        ($kind:ty, $widen:expr) => {
            array.as_primitive::<$kind>().values().iter().enumerate().for_each(|(row, &x)| put(row, $widen(x)))
        };
    }
    match array.data_type() {
        DataType::Boolean => {
            let values = array.as_boolean().values();
            (0..array.len()).for_each(|row| put(row, f64::from(u8::from(values.value(row)))));
        }
        DataType::Int8 => primitive!(Int8Type, f64::from),
        DataType::Int16 => primitive!(Int16Type, f64::from),
        DataType::Int32 => primitive!(Int32Type, f64::from),
        DataType::Int64 => primitive!(Int64Type, |x| x as f64),
        DataType::UInt8 => primitive!(UInt8Type, f64::from),
        DataType::UInt16 => primitive!(UInt16Type, f64::from),
        DataType::UInt32 => primitive!(UInt32Type, f64::from),
        DataType::UInt64 => primitive!(UInt64Type, |x| x as f64),
        DataType::Float16 => primitive!(Float16Type, f64::from),
        DataType::Float32 => primitive!(Float32Type, f64::from),
        DataType::Float64 => primitive!(Float64Type, |x| x),
        other => unreachable!("columns of type {other} were refused"),
    }
    not_finite
}

/// Whether double precision rounds a value of a column.
fn holds_rounded(array: &dyn ArrowArray) -> bool {
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().values().iter().any(|x| is_rounded(x.unsigned_abs())),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().values().iter().any(|&x| is_rounded(x)),
        _ => false,
    }
}

/// Adds a column as text; a missing value is empty text.
fn words(array: &dyn ArrowArray, out: &mut Vec<String>) {
    macro_rules! texts {
        ($values:expr) => {{
            let values = $values;
            out.extend(
                (0..array.len()).map(
                    |row| {
                        if array.is_null(row) { String::new() } else { values.value(row).to_string() }
                    },
                ),
            )
        }};
    }
    match array.data_type() {
        DataType::Utf8 => texts!(array.as_string::<i32>()),
        DataType::LargeUtf8 => texts!(array.as_string::<i64>()),
        DataType::Utf8View => texts!(array.as_string_view()),
        DataType::Boolean => texts!(array.as_boolean()),
        DataType::Int8 => texts!(array.as_primitive::<Int8Type>()),
        DataType::Int16 => texts!(array.as_primitive::<Int16Type>()),
        DataType::Int32 => texts!(array.as_primitive::<Int32Type>()),
        DataType::Int64 => texts!(array.as_primitive::<Int64Type>()),
        DataType::UInt8 => texts!(array.as_primitive::<UInt8Type>()),
        DataType::UInt16 => texts!(array.as_primitive::<UInt16Type>()),
        DataType::UInt32 => texts!(array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => texts!(array.as_primitive::<UInt64Type>()),
        DataType::Float16 => texts!(array.as_primitive::<Float16Type>()),
        DataType::Float32 => texts!(array.as_primitive::<Float32Type>()),
        DataType::Float64 => texts!(array.as_primitive::<Float64Type>()),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let mut entries = Vec::new();
            words(dictionary.values().as_ref(), &mut entries);
            let keys = dictionary.normalized_keys();
            out.extend(keys.into_iter().enumerate().map(|(row, key)| {
                if array.is_null(row) { String::new() } else { entries.get(key).cloned().unwrap_or_default() }
            }));
        }
        // Dates, times, decimals and bytes, as they show themselves.
        _ => out.extend((0..array.len()).map(|row| shown(array, row))),
    }
}

/// A value of a type that has no text of its own, as it shows itself.
fn shown(array: &dyn ArrowArray, row: usize) -> String {
    let text = format!("{:?}", array.slice(row, 1));
    // The type, a bracket, the value.
    let value = text.lines().nth(2).unwrap_or_default().trim().trim_end_matches(',');
    if array.is_null(row) { String::new() } else { value.to_owned() }
}

#[cfg(test)]
mod tests;
