//! Products with kernel matrices, and the regression that pre-images are made with.

use mercer::preimage::RidgePreimage;
use mercer::watch::Threads;
use mercer::{KernelProduct, Precision};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::{array, matrix, points};
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::{KernelSettings, center, memory, precision};

/// What a product is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ProductSettings<'py> {
    kernel: KernelSettings<'py>,
    center: bool,
    gram: String,
    method: String,
    precision: Option<String>,
    tolerance: Option<f64>,
    checked_rows: usize,
    memory_limit: Option<String>,
    threads: Option<usize>,
}

/// The product of a kernel matrix with vectors, in the precision of `x`, and its record as JSON.
#[pyfunction]
#[pyo3(signature = (x, vectors, queries, settings))]
pub(crate) fn kernel_product<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    vectors: PyReadonlyArray2<'py, f64>,
    queries: Option<&Bound<'py, PyAny>>,
    settings: ProductSettings<'py>,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let (points, vectors, queries) = (points(x)?, matrix(&vectors), queries.map(points).transpose()?);
    let mut product = KernelProduct::new(settings.kernel.resolve(&points)?)
        .center(center(settings.center))
        .gram(settings.gram.parse().map_err(to_python)?)
        .method(settings.method.parse().map_err(to_python)?)
        .checked_rows(settings.checked_rows)
        .memory(memory(settings.memory_limit.as_deref())?);
    if let Some(name) = &settings.precision {
        product = product.precision(precision(name)?);
    }
    if let Some(tolerance) = settings.tolerance {
        product = product.tolerance(tolerance);
    }
    if let Some(threads) = settings.threads {
        product = product.threads(threads);
    }
    let (result, record) =
        run_through(py, None, None, move |watch| product.multiply(&points, vectors.as_ref(), queries.as_ref(), watch))?;
    let json = serde_json::to_string(&record).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((array(py, result.as_ref(), record.precision)?, json))
}

/// The coefficients that pre-images are made with, from points and their scores.
#[pyfunction]
#[pyo3(signature = (scores, x, kernel, *, alpha, memory_limit=None, threads=None, dtype, time_limit=None))]
#[expect(clippy::too_many_arguments, reason = "all but the first three are named in Python")]
pub(crate) fn ridge_coefficients<'py>(
    py: Python<'py>,
    scores: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    kernel: KernelSettings<'py>,
    alpha: f64,
    memory_limit: Option<&str>,
    threads: Option<usize>,
    dtype: &str,
    time_limit: Option<f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let (scores, points, precision): (_, _, Precision) = (points(scores)?, points(x)?, precision(dtype)?);
    let ridge = RidgePreimage::new(kernel.resolve(&points)?).alpha(alpha).memory(memory(memory_limit)?);
    let coefficients = run_through(py, time_limit, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        ridge.fit(&scores, &points, &threads, watch)
    })?;
    array(py, coefficients.as_ref(), precision)
}
