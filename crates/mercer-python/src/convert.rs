//! Between NumPy arrays and the library's types: the only place with array code.

use std::borrow::Cow;

use faer::{Mat, MatRef};
use mercer::data::RowsRef;
use mercer::{Points, Precision};
use numpy::ndarray::ArrayView2;
use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::to_python;

/// What was learned, with the names of its features if there are any.
pub(crate) fn named<T: Clone>(
    learned: &T,
    names: Option<Vec<String>>,
    name: fn(T, Vec<String>) -> mercer::Result<T>,
) -> mercer::Result<Cow<'_, T>> {
    match names {
        Some(names) => name(learned.clone(), names).map(Cow::Owned),
        None => Ok(Cow::Borrowed(learned)),
    }
}

/// The memory of a NumPy array, kept alive by a reference to the array.
///
/// Nothing stops other Python threads from writing to the array meanwhile, as with every function that works on arrays
/// without the interpreter; the package says so.
struct Borrowed<T> {
    start: *const T,
    len: usize,
    _array: Py<PyAny>,
}

#[expect(unsafe_code, reason = "reads the array's memory without the interpreter, which is what this type is for")]
mod borrowed {
    use super::Borrowed;

    // SAFETY: the pointer is to plain numbers that the array owns, and is only read.
    unsafe impl<T: Sync> Send for Borrowed<T> {}
    // SAFETY: as above.
    unsafe impl<T: Sync> Sync for Borrowed<T> {}

    impl<T> AsRef<[T]> for Borrowed<T> {
        fn as_ref(&self) -> &[T] {
            // SAFETY: `start` and `len` came from a slice of the array's memory, which the reference keeps alive: NumPy does
            // not move or free the memory of an array that something refers to.
            unsafe { std::slice::from_raw_parts(self.start, self.len) }
        }
    }
}

/// The array's memory, if it holds numbers of this type in C order.
fn borrow<T: Element>(array: &Bound<'_, PyAny>) -> Option<(Borrowed<T>, usize, usize)> {
    let typed: PyReadonlyArray2<'_, T> = array.extract().ok()?;
    let slice = typed.as_slice().ok()?;
    let (start, len) = (slice.as_ptr(), slice.len());
    let (rows, columns) = (typed.shape()[0], typed.shape()[1]);
    Some((Borrowed { start, len, _array: array.clone().unbind() }, rows, columns))
}

/// Points that are the rows of a C-ordered array of `float32`, `float64` or `uint8`, without a copy.
pub(crate) fn points(array: &Bound<'_, PyAny>) -> PyResult<Points> {
    let points = if let Some((values, n, d)) = borrow::<f64>(array) {
        Points::from_f64(values, n, d)
    } else if let Some((values, n, d)) = borrow::<f32>(array) {
        Points::from_f32(values, n, d)
    } else if let Some((values, n, d)) = borrow::<u8>(array) {
        Points::from_u8(values, n, d, 1.0)
    } else {
        return Err(PyTypeError::new_err(
            "points must be a two-dimensional, aligned, C-ordered array of float32, float64 or uint8",
        ));
    };
    points.map_err(to_python)
}

/// A matrix from a two-dimensional array of `float64`, of any layout.
pub(crate) fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Mat<f64> {
    let view: ArrayView2<'_, f64> = array.as_array();
    Mat::from_fn(view.nrows(), view.ncols(), |i, j| view[(i, j)])
}

/// A matrix as a C-ordered array of the given precision.
pub(crate) fn array<'py>(
    py: Python<'py>,
    matrix: MatRef<'_, f64>,
    precision: Precision,
) -> PyResult<Bound<'py, PyAny>> {
    let rows = (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j)));
    let shape = [matrix.nrows(), matrix.ncols()];
    Ok(match precision {
        Precision::F32 => {
            let values: Vec<f32> = rows.map(|place| matrix[place] as f32).collect();
            PyArray1::from_vec(py, values).reshape(shape)?.into_any()
        }
        Precision::F64 => {
            let values: Vec<f64> = rows.map(|place| matrix[place]).collect();
            PyArray1::from_vec(py, values).reshape(shape)?.into_any()
        }
    })
}

/// Numbers as an array of the given precision.
pub(crate) fn vector<'py>(py: Python<'py>, values: &[f64], precision: Precision) -> Bound<'py, PyAny> {
    match precision {
        Precision::F32 => PyArray1::from_iter(py, values.iter().map(|&x| x as f32)).into_any(),
        Precision::F64 => PyArray1::from_slice(py, values).into_any(),
    }
}

/// A copy of points as an array of their own type (bytes with a scale other than one as `float32`).
pub(crate) fn array_of_points<'py>(py: Python<'py>, points: &Points) -> PyResult<Bound<'py, PyAny>> {
    let shape = [points.n_samples(), points.n_features()];
    Ok(match points.rows(0..points.n_samples()) {
        RowsRef::F32(values) => PyArray1::from_slice(py, values).reshape(shape)?.into_any(),
        RowsRef::F64(values) => PyArray1::from_slice(py, values).reshape(shape)?.into_any(),
        RowsRef::U8 { values, scale: 1.0 } => PyArray1::from_slice(py, values).reshape(shape)?.into_any(),
        rows @ RowsRef::U8 { .. } => {
            PyArray1::from_iter(py, rows.to_f64().into_iter().map(|x| x as f32)).reshape(shape)?.into_any()
        }
    })
}

/// Rows of numbers that a kernel is called with, as an array: a copy, because the function may keep it.
pub(crate) fn block<'py>(py: Python<'py>, values: &[f64], columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_slice(py, values).reshape([values.len() / columns.max(1), columns])
}
