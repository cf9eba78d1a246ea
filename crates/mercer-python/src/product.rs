//! Products with kernel matrices.

use mercer::watch::Threads;
use mercer::{ExpansionMethod, GramChoice, KernelProduct};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::{array, matrix, points};
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::{KernelSettings, center, kernel_for, memory, precision};

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
    /// Whether the error is measured.
    is_checked: bool,
    memory_limit: Option<String>,
    threads: Option<usize>,
}

/// The product of a kernel matrix with vectors, in the precision of `x`, its record as JSON, and what a search for the width has to say.
#[pyfunction]
#[pyo3(signature = (x, vectors, queries, settings))]
pub(crate) fn kernel_product<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    vectors: PyReadonlyArray2<'py, f64>,
    queries: Option<&Bound<'py, PyAny>>,
    settings: ProductSettings<'py>,
) -> PyResult<(Bound<'py, PyAny>, String, Vec<String>)> {
    let (points, vectors, queries) = (points(x)?, matrix(&vectors), queries.map(points).transpose()?);
    let (kernel, gram) = (settings.kernel.choice()?, settings.gram.parse::<GramChoice>().map_err(to_python)?);
    let method = settings.method.parse::<ExpansionMethod>().map_err(to_python)?;
    let memory = memory(settings.memory_limit.as_deref())?;
    let precision = settings.precision.as_deref().map(precision).transpose()?;
    let (center, tolerance, threads) = (center(settings.center), settings.tolerance, settings.threads);
    let is_checked = settings.is_checked;
    let (result, record, said) = run_through(py, None, None, move |watch| {
        let pool = threads.map_or_else(Threads::all, Threads::new)?;
        let (kernel, said) = kernel_for(kernel, &points, &pool, watch)?;
        drop(pool);
        let product = KernelProduct::new(kernel).center(center).gram(gram).method(method).memory(memory);
        let product = if is_checked { product } else { product.checked_rows(0) };
        let product = precision.into_iter().fold(product, KernelProduct::precision);
        let product = tolerance.into_iter().fold(product, KernelProduct::tolerance);
        let product = threads.into_iter().fold(product, KernelProduct::threads);
        let (result, mut record) = product.multiply(&points, vectors.as_ref(), queries.as_ref(), watch)?;
        record.warnings.splice(0..0, said.iter().cloned());
        Ok((result, record, said))
    })?;
    let json = serde_json::to_string(&record).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((array(py, result.as_ref(), record.precision)?, json, said))
}
