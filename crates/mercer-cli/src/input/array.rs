//! A matrix of numbers in the format it came in: what every reader gives before rows, scaling and the library's type.

use std::ops::Range;

use bytemuck::Pod;
use mercer::Points;
use mercer::data::{Moments, RowsRef, Scaling};

use super::numbers::Numbers;
use super::room::{self, Result};

/// The values, row by row.
pub(super) enum Array {
    F32(Numbers<f32>),
    F64(Numbers<f64>),
    U8(Numbers<u8>),
}

/// The same for whatever the values are.
macro_rules! each {
    ($array:expr, $values:ident => $result:expr) => {
        match $array {
            Array::F32($values) => Array::F32($result),
            Array::F64($values) => Array::F64($result),
            Array::U8($values) => Array::U8($result),
        }
    };
}

impl Array {
    /// The values as the library sees them.
    pub(super) fn as_rows(&self) -> RowsRef<'_> {
        match self {
            Self::F32(values) => RowsRef::F32(values.as_ref()),
            Self::F64(values) => RowsRef::F64(values.as_ref()),
            Self::U8(values) => RowsRef::U8 { values: values.as_ref(), scale: 1.0 },
        }
    }

    /// A copy of some columns, in this order.
    pub(super) fn columns(&self, n_columns: usize, columns: &[usize]) -> Result<Self> {
        fn gather<T: Pod>(values: &[T], n_columns: usize, columns: &[usize]) -> Result<Numbers<T>> {
            let rows = values.chunks_exact(n_columns);
            let n = rows.len() * columns.len();
            room::collect(n, rows.flat_map(|row| columns.iter().map(|&column| row[column]))).map(Numbers::Owned)
        }
        Ok(each!(self, values => gather(values.as_ref(), n_columns, columns)?))
    }

    /// One column as text.
    pub(super) fn column_as_text(&self, n_columns: usize, column: usize) -> Vec<String> {
        fn texts<T: ToString>(values: &[T], n_columns: usize, column: usize) -> Vec<String> {
            values.iter().skip(column).step_by(n_columns).map(T::to_string).collect()
        }
        match self {
            Self::F32(values) => texts(values.as_ref(), n_columns, column),
            Self::F64(values) => texts(values.as_ref(), n_columns, column),
            Self::U8(values) => texts(values.as_ref(), n_columns, column),
        }
    }

    /// Only these rows.
    pub(super) fn rows(self, n_columns: usize, rows: Range<usize>) -> Self {
        each!(self, values => values.part(rows.start * n_columns..rows.end * n_columns))
    }

    /// A copy of some rows.
    pub(super) fn select_rows(&self, n_columns: usize, rows: &[usize]) -> Result<Self> {
        fn gather<T: Pod>(values: &[T], d: usize, rows: &[usize]) -> Result<Numbers<T>> {
            let each = rows.iter().flat_map(|&row| values[row * d..(row + 1) * d].iter().copied());
            room::collect(rows.len() * d, each).map(Numbers::Owned)
        }
        Ok(each!(self, values => gather(values.as_ref(), n_columns, rows)?))
    }

    /// Rows whose values are all finite.
    pub(super) fn complete_rows(&self, n_columns: usize) -> Vec<usize> {
        fn complete<T: Copy>(values: &[T], n_columns: usize, is_finite: impl Fn(T) -> bool) -> Vec<usize> {
            let rows = values.chunks_exact(n_columns.max(1)).enumerate();
            rows.filter(|(_, row)| row.iter().all(|&x| is_finite(x))).map(|(at, _)| at).collect()
        }
        match self {
            Self::F32(values) => complete(values.as_ref(), n_columns, f32::is_finite),
            Self::F64(values) => complete(values.as_ref(), n_columns, f64::is_finite),
            Self::U8(values) => complete(values.as_ref(), n_columns, |_| true),
        }
    }

    /// The scaling that gives every column mean 0 and variance 1.
    pub(super) fn standardizing(&self, n_columns: usize) -> Scaling {
        Scaling::standardizing(&Moments::of_rows(self.as_rows(), n_columns))
    }

    /// The same values, ready to be scaled: a copy if they are in a file.
    pub(super) fn into_owned(self) -> Result<Self> {
        Ok(match self {
            Self::F32(values) => Self::F32(values.into_owned()?),
            Self::F64(values) => Self::F64(values.into_owned()?),
            // Bytes keep their factor beside them, or become other numbers.
            bytes @ Self::U8(_) => bytes,
        })
    }

    /// The points, scaled if there is a scaling; in place if the values are not in a file.
    pub(super) fn into_points(
        self,
        n_samples: usize,
        n_features: usize,
        scaling: Option<&Scaling>,
    ) -> mercer::Result<Points> {
        match (self, scaling) {
            (Self::F32(values), None) => Points::from_f32(values, n_samples, n_features),
            (Self::F64(values), None) => Points::from_f64(values, n_samples, n_features),
            (Self::F32(values), Some(scaling)) => {
                let mut values = values.into_vec();
                scaling.apply_to_f32(&mut values);
                Points::from_f32(values, n_samples, n_features)
            }
            (Self::F64(values), Some(scaling)) => {
                let mut values = values.into_vec();
                scaling.apply_to_f64(&mut values);
                Points::from_f64(values, n_samples, n_features)
            }
            (Self::U8(values), scaling) => {
                let points = Points::from_u8(values, n_samples, n_features, 1.0)?;
                scaling.map_or_else(|| Ok(points.clone()), |scaling| scaling.apply(&points))
            }
        }
    }
}
