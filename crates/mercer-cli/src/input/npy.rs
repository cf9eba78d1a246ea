//! Arrays of `NumPy`.
//!
//! Values in rows, in this machine's byte order, of type f32, f64 or u8, are used where they are in the mapped file.
//! Everything else is converted to a copy: bool to u8, f16 to f32, integers to f64.

use bytemuck::Pod;

use super::array::Array;
use super::columns::Selection;
use super::npy_header::{Element, HeaderProblem, NpyHeader, Order};
use super::numbers::{Numbers, is_rounded};
use super::room::{self, NoRoom};
use super::source::Bytes;
use super::{Finite, Labels, MAKE_AGAIN, Raw, ReadOptions, UNNAMED_ID, UNNAMED_LABEL};
use crate::failure::{Failure, InputError, Result};
use crate::output::summary::counted;

/// Reads points from a `.npy` file; an array with more than two axes becomes rows along its first.
pub(super) fn read(name: &str, bytes: Bytes, options: &ReadOptions) -> Result<Raw> {
    let header = NpyHeader::parse(&bytes).map_err(|found| header_failure(name, found))?;
    matrix(name, bytes, &header, options)
}

/// The failure that a header with a problem is.
pub(super) fn header_failure(name: &str, found: HeaderProblem) -> Failure {
    let error = InputError::new(name, found.problem);
    found.hint.into_iter().fold(error, InputError::hint).into()
}

/// The matrix behind a header that describes numbers, without its label and id columns.
pub(super) fn matrix(name: &str, bytes: Bytes, header: &NpyHeader, options: &ReadOptions) -> Result<Raw> {
    let (n_samples, n_columns) = matrix_shape(name, &header.shape)?;
    let end = check_length(name, header, bytes.len(), n_samples * n_columns)?;
    let selection = Selection::new(options, name, None, n_columns)?;
    let exact =
        |column: Option<usize>| column.and_then(|column| whole_numbers(&bytes[..end], header, n_columns, column));
    let (whole_labels, whole_ids) = (exact(selection.label), exact(selection.id));
    let rounded = first_rounded(&bytes[..end], header, n_columns, &selection.features).map(|(row, column)| {
        format!(
            "{name}: whole numbers beyond 2^53 are rounded to double precision, such as that at [{row}, {column}]; --id keeps a column as it is"
        )
    });
    let array = Array::in_file(bytes, header, end).map_err(NoRoom::reading(name))?;
    let text = |column: Option<usize>, exact: Option<Vec<String>>, name: &str| {
        let values = |column| exact.unwrap_or_else(|| array.column_as_text(n_columns, column));
        column.map(|column| Labels { name: name.to_owned(), values: values(column) })
    };
    let labels = text(selection.label, whole_labels, UNNAMED_LABEL);
    let ids = text(selection.id, whole_ids, UNNAMED_ID);
    let values = if selection.is_all(n_columns) {
        array
    } else {
        array.columns(n_columns, &selection.features).map_err(NoRoom::reading(name))?
    };
    let n_features = selection.features.len();
    let (finite, columns) = (Finite::Unchecked(selection.features), selection.names);
    Ok(Raw { values, n_samples, n_features, labels, ids, finite, columns, rounded })
}

/// Rows and columns of the array.
fn matrix_shape(name: &str, shape: &[usize]) -> Result<(usize, usize)> {
    let refuse = |problem: String, hint: &str| Err(InputError::new(name, problem).hint(hint).into());
    let &[n_samples, ref others @ ..] = shape else {
        return refuse("the array is a single number".to_owned(), "save an array with one point per row");
    };
    if others.is_empty() {
        let hint = "make it a matrix in NumPy: array.reshape(-1, 1) if each number is a point";
        return refuse(format!("the array is a list of {n_samples} numbers, not a matrix"), hint);
    }
    let n_columns = others.iter().try_fold(1_usize, |product, &length| product.checked_mul(length));
    match n_columns.filter(|&columns| n_samples.checked_mul(columns).is_some()) {
        Some(n_columns) if n_samples > 0 && n_columns > 0 => Ok((n_samples, n_columns)),
        Some(_) => refuse(format!("the array of shape {shape:?} is empty"), "save an array with one point per row"),
        None => refuse(format!("the shape {shape:?} is larger than any file"), "the file is damaged: make it again"),
    }
}

/// A column of whole numbers of 64 bits as text, digit by digit: as numbers of double precision those beyond 2^53 would be rounded, and
/// two ids become one. `None` for numbers of other types, which are exact as they are.
pub(super) fn whole_numbers(file: &[u8], header: &NpyHeader, n_columns: usize, column: usize) -> Option<Vec<String>> {
    let text: fn([u8; 8]) -> String = match header.element {
        Element::I64 => |bytes| i64::from_ne_bytes(bytes).to_string(),
        Element::U64 => |bytes| u64::from_ne_bytes(bytes).to_string(),
        _ => return None,
    };
    let (values, _) = file[header.data_start..].as_chunks::<8>();
    let value = |place: usize| text(native(values[place], header.swapped));
    Some(match header.order {
        Order::C => (column..values.len()).step_by(n_columns).map(value).collect(),
        Order::Fortran => fortran_places(&header.shape).skip(column).step_by(n_columns).map(value).collect(),
    })
}

/// Row and column of the first whole number of 64 bits in one of these columns that double precision rounds.
fn first_rounded(file: &[u8], header: &NpyHeader, n_columns: usize, columns: &[usize]) -> Option<(usize, usize)> {
    let magnitude: fn([u8; 8]) -> u64 = match header.element {
        Element::I64 => |bytes| i64::from_ne_bytes(bytes).unsigned_abs(),
        Element::U64 => u64::from_ne_bytes,
        _ => return None,
    };
    let mut is_used = vec![false; n_columns];
    for &column in columns {
        is_used[column] = true;
    }
    let (values, _) = file[header.data_start..].as_chunks::<8>();
    let is_lost = |index: usize, place: usize| {
        is_rounded(magnitude(native(values[place], header.swapped))) && is_used[index % n_columns]
    };
    let found = match header.order {
        Order::C => (0..values.len()).find(|&index| is_lost(index, index)),
        Order::Fortran => fortran_places(&header.shape).enumerate().position(|(index, place)| is_lost(index, place)),
    };
    found.map(|index| (index / n_columns, index % n_columns))
}

/// Where the values end, if the file is as long as its header says.
pub(super) fn check_length(name: &str, header: &NpyHeader, length: usize, n_values: usize) -> Result<usize> {
    let end = n_values.checked_mul(header.element.size()).and_then(|bytes| bytes.checked_add(header.data_start));
    match end {
        Some(end) if end == length => Ok(end),
        Some(end) if end < length => {
            let behind = counted(length - end, "byte");
            let problem = format!("the file goes on for {behind} behind the {n_values} values it announces");
            let hint = "if several arrays were written to it, write the one of the points alone; or else make it again";
            Err(InputError::new(name, problem).hint(hint).into())
        }
        _ => {
            let found = length.saturating_sub(header.data_start) / header.element.size();
            let problem = format!("the file is truncated: it holds {found} of the {n_values} values it announces");
            Err(InputError::new(name, problem).hint(MAKE_AGAIN).into())
        }
    }
}

impl Array {
    /// The values between the header and `end`.
    pub(super) fn in_file(bytes: Bytes, header: &NpyHeader, end: usize) -> room::Result<Self> {
        let start = header.data_start;
        let in_place = header.order == Order::C && !header.swapped;
        Ok(match header.element {
            Element::F32 if in_place => Self::F32(Numbers::in_place(bytes, start, end)?),
            Element::F64 if in_place => Self::F64(Numbers::in_place(bytes, start, end)?),
            Element::U8 if in_place => Self::U8(Numbers::in_place(bytes, start, end)?),
            _ => Self::converted(&bytes[start..end], header)?,
        })
    }

    fn converted(bytes: &[u8], header: &NpyHeader) -> room::Result<Self> {
        let shape = match header.order {
            Order::C => None,
            Order::Fortran => Some(header.shape.as_slice()),
        };
        let swapped = header.swapped;
        Ok(match header.element {
            Element::Bool => Self::U8(decode(bytes, false, shape, |[byte]: [u8; 1]| u8::from(byte != 0))?),
            Element::U8 => Self::U8(decode(bytes, false, shape, |[byte]: [u8; 1]| byte)?),
            Element::I8 => Self::F64(decode(bytes, false, shape, |b| f64::from(i8::from_ne_bytes(b)))?),
            Element::I16 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(i16::from_ne_bytes(b)))?),
            Element::I32 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(i32::from_ne_bytes(b)))?),
            Element::I64 => Self::F64(decode(bytes, swapped, shape, |b| i64::from_ne_bytes(b) as f64)?),
            Element::U16 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(u16::from_ne_bytes(b)))?),
            Element::U32 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(u32::from_ne_bytes(b)))?),
            Element::U64 => Self::F64(decode(bytes, swapped, shape, |b| u64::from_ne_bytes(b) as f64)?),
            Element::F16 => Self::F32(decode(bytes, swapped, shape, |b| half_to_single(u16::from_ne_bytes(b)))?),
            Element::F32 => Self::F32(decode(bytes, swapped, shape, f32::from_ne_bytes)?),
            Element::F64 => Self::F64(decode(bytes, swapped, shape, f64::from_ne_bytes)?),
            // No reader asks for the numbers of an array of text.
            Element::Text(_) | Element::Unicode(_) => Self::F64(Numbers::Owned(Vec::new())),
        })
    }
}

/// Converts the values of a file; with a shape, from Fortran order to rows.
fn decode<T: Pod, const SIZE: usize>(
    bytes: &[u8],
    swapped: bool,
    shape: Option<&[usize]>,
    convert: impl Fn([u8; SIZE]) -> T,
) -> room::Result<Numbers<T>> {
    let (values, _) = bytes.as_chunks::<SIZE>();
    let value = |bytes: [u8; SIZE]| convert(native(bytes, swapped));
    let converted = match shape {
        None => room::collect(values.len(), values.iter().map(|&bytes| value(bytes))),
        Some(shape) => room::collect(values.len(), fortran_places(shape).map(|place| value(values[place]))),
    };
    converted.map(Numbers::Owned)
}

/// The bytes of a value in the order of this machine.
fn native<const SIZE: usize>(mut bytes: [u8; SIZE], swapped: bool) -> [u8; SIZE] {
    if swapped {
        bytes.reverse();
    }
    bytes
}

/// For each value in C order, its place in Fortran order.
fn fortran_places(shape: &[usize]) -> impl Iterator<Item = usize> {
    let strides: Vec<usize> = shape
        .iter()
        .scan(1, |stride, &length| {
            let this = *stride;
            *stride *= length;
            Some(this)
        })
        .collect();
    let total: usize = shape.iter().product();
    let shape = shape.to_vec();
    let mut index = vec![0; shape.len()];
    let mut place = 0;
    (0..total).map(move |_| {
        let here = place;
        // The odometer: the last axis turns fastest, and carries to the one before it.
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            place += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            place -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
        here
    })
}

/// An IEEE half-precision number, widened exactly.
fn half_to_single(half: u16) -> f32 {
    let sign = if half >> 15 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(half >> 10 & 0x1f);
    let fraction = f32::from(half & 0x3ff);
    sign * match (exponent, half & 0x3ff) {
        (0, _) => fraction * (-24_f32).exp2(),
        (31, 0) => f32::INFINITY,
        (31, _) => f32::NAN,
        _ => (1024.0 + fraction) * ((exponent - 25) as f32).exp2(),
    }
}

#[cfg(test)]
mod tests;
