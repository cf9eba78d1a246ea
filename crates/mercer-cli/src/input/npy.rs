//! Arrays of `NumPy`.
//!
//! Values in rows, in this machine's byte order, of type f32, f64 or u8, are used where they are in the mapped file.
//! Everything else is converted to a copy: bool to u8, f16 to f32, integers to f64.

use std::fs::File;
use std::path::Path;

use bytemuck::Pod;
use memmap2::Mmap;
use mercer::Points;

use super::mapped::{self, Numbers};
use super::npy_header::{Element, NpyHeader, Order};
use super::{Data, Labels, ReadOptions, UNNAMED_LABEL};
use crate::failure::{Failure, InputError, Result};

/// Reads points from a `.npy` file; an array with more than two axes becomes rows along its first.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Data> {
    let name = path.display().to_string();
    let map = open(path, &name)?;
    let header = NpyHeader::parse(&map).map_err(|found| {
        let error = InputError::new(&name, found.problem);
        found.hint.into_iter().fold(error, InputError::hint)
    })?;
    let (n_samples, n_columns) = matrix_shape(&name, &header.shape)?;
    let end = check_length(&name, &header, map.len(), n_samples * n_columns)?;

    let label = options.label_column(&name, None, n_columns)?;
    if label.is_some() && n_columns == 1 {
        return Err(InputError::new(&name, "the label is the only column: there is no data").into());
    }
    let (array, labels) = match label {
        None => (Array::in_file(map, &header, end), None),
        Some(column) => {
            let (array, values) = Array::in_file(map, &header, end).without_column(n_columns, column);
            (array, Some(Labels { name: UNNAMED_LABEL.to_owned(), values }))
        }
    };
    let n_features = n_columns - usize::from(label.is_some());
    let points = array.into_points(n_samples, n_features, options.scale).map_err(Failure::in_data(&name))?;
    points.check_finite().map_err(|error| not_finite(&name, error))?;
    Ok(Data { name, points, labels })
}

fn open(path: &Path, name: &str) -> Result<Mmap> {
    let file = File::open(path).map_err(Failure::file("reading", path))?;
    let length = file.metadata().map_err(Failure::file("reading", path))?.len();
    // A file of no bytes cannot be mapped.
    if length == 0 {
        return Err(InputError::new(name, "the file is empty").into());
    }
    mapped::map(&file).map_err(Failure::file("reading", path))
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

/// Where the values end, if the file is as long as its header says.
fn check_length(name: &str, header: &NpyHeader, length: usize, n_values: usize) -> Result<usize> {
    let end = n_values.checked_mul(header.element.size()).and_then(|bytes| bytes.checked_add(header.data_start));
    match end {
        Some(end) if end <= length => Ok(end),
        _ => {
            let found = (length - header.data_start) / header.element.size();
            let problem = format!("the file is truncated: it holds {found} of the {n_values} values it announces");
            Err(InputError::new(name, problem).hint("copy or make the file again").into())
        }
    }
}

fn not_finite(name: &str, error: mercer::Error) -> Failure {
    match error {
        mercer::Error::NotFinite { row, column, value } => {
            let problem = format!("the value at [{row}, {column}] is {value}");
            let hint = "every value must be a finite number: fill the gap or remove the row";
            InputError::new(name, problem).hint(hint).into()
        }
        other => Failure::Library(other),
    }
}

/// The values, row by row.
enum Array {
    F32(Numbers<f32>),
    F64(Numbers<f64>),
    U8(Numbers<u8>),
}

impl Array {
    /// The values between the header and `end`.
    fn in_file(map: Mmap, header: &NpyHeader, end: usize) -> Self {
        let start = header.data_start;
        let in_place = header.order == Order::C && !header.swapped;
        match header.element {
            Element::F32 if in_place => Self::F32(Numbers::in_map(map, start, end)),
            Element::F64 if in_place => Self::F64(Numbers::in_map(map, start, end)),
            Element::U8 if in_place => Self::U8(Numbers::in_map(map, start, end)),
            _ => Self::converted(&map[start..end], header),
        }
    }

    fn converted(bytes: &[u8], header: &NpyHeader) -> Self {
        let shape = match header.order {
            Order::C => None,
            Order::Fortran => Some(header.shape.as_slice()),
        };
        let swapped = header.swapped;
        match header.element {
            Element::Bool => Self::U8(decode(bytes, false, shape, |[byte]: [u8; 1]| u8::from(byte != 0))),
            Element::U8 => Self::U8(decode(bytes, false, shape, |[byte]: [u8; 1]| byte)),
            Element::I8 => Self::F64(decode(bytes, false, shape, |b| f64::from(i8::from_ne_bytes(b)))),
            Element::I16 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(i16::from_ne_bytes(b)))),
            Element::I32 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(i32::from_ne_bytes(b)))),
            Element::I64 => Self::F64(decode(bytes, swapped, shape, |b| i64::from_ne_bytes(b) as f64)),
            Element::U16 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(u16::from_ne_bytes(b)))),
            Element::U32 => Self::F64(decode(bytes, swapped, shape, |b| f64::from(u32::from_ne_bytes(b)))),
            Element::U64 => Self::F64(decode(bytes, swapped, shape, |b| u64::from_ne_bytes(b) as f64)),
            Element::F16 => Self::F32(decode(bytes, swapped, shape, |b| half_to_single(u16::from_ne_bytes(b)))),
            Element::F32 => Self::F32(decode(bytes, swapped, shape, f32::from_ne_bytes)),
            Element::F64 => Self::F64(decode(bytes, swapped, shape, f64::from_ne_bytes)),
        }
    }

    /// The other columns, and one column as text.
    fn without_column(self, n_columns: usize, column: usize) -> (Self, Vec<String>) {
        match self {
            Self::F32(values) => {
                let (rest, labels) = take_column(values.as_ref(), n_columns, column);
                (Self::F32(rest), labels)
            }
            Self::F64(values) => {
                let (rest, labels) = take_column(values.as_ref(), n_columns, column);
                (Self::F64(rest), labels)
            }
            Self::U8(values) => {
                let (rest, labels) = take_column(values.as_ref(), n_columns, column);
                (Self::U8(rest), labels)
            }
        }
    }

    /// The points, each value multiplied by `scale`.
    fn into_points(self, n_samples: usize, n_features: usize, scale: f64) -> mercer::Result<Points> {
        // Multiplying by one would copy a mapped file for nothing.
        let unscaled = (scale - 1.0).abs() < f64::EPSILON;
        match self {
            Self::U8(values) => Points::from_u8(values, n_samples, n_features, scale),
            Self::F32(values) if unscaled => Points::from_f32(values, n_samples, n_features),
            Self::F64(values) if unscaled => Points::from_f64(values, n_samples, n_features),
            Self::F32(values) => {
                let scaled: Vec<f32> = values.as_ref().iter().map(|&x| (f64::from(x) * scale) as f32).collect();
                Points::from_f32(scaled, n_samples, n_features)
            }
            Self::F64(values) => {
                let scaled: Vec<f64> = values.as_ref().iter().map(|&x| x * scale).collect();
                Points::from_f64(scaled, n_samples, n_features)
            }
        }
    }
}

/// Converts the values of a file; with a shape, from Fortran order to rows.
fn decode<T: Pod, const SIZE: usize>(
    bytes: &[u8],
    swapped: bool,
    shape: Option<&[usize]>,
    convert: impl Fn([u8; SIZE]) -> T,
) -> Numbers<T> {
    let (values, _) = bytes.as_chunks::<SIZE>();
    let value = |mut bytes: [u8; SIZE]| {
        if swapped {
            bytes.reverse();
        }
        convert(bytes)
    };
    Numbers::Owned(match shape {
        None => values.iter().map(|&bytes| value(bytes)).collect(),
        Some(shape) => fortran_places(shape).map(|place| value(values[place])).collect(),
    })
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

fn take_column<T: Pod + std::fmt::Display>(values: &[T], n_columns: usize, column: usize) -> (Numbers<T>, Vec<String>) {
    let labels = values.iter().skip(column).step_by(n_columns).map(ToString::to_string).collect();
    let rest = values.chunks_exact(n_columns).flat_map(|row| row[..column].iter().chain(&row[column + 1..]));
    (Numbers::Owned(rest.copied().collect()), labels)
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
