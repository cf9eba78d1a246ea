//! The regression that pre-images are made with.

use mercer::Precision;
use mercer::preimage::RidgePreimage;
use mercer::watch::Threads;
use pyo3::prelude::*;

use crate::convert::{array, points};
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::{KernelSettings, kernel_for, memory, precision};

/// Raises if the regression of so many points would not fit the memory budget.
#[pyfunction]
#[pyo3(signature = (n_samples, n_features, memory_limit=None))]
pub(crate) fn check_ridge_memory(n_samples: usize, n_features: usize, memory_limit: Option<&str>) -> PyResult<()> {
    RidgePreimage::check_memory(n_samples, n_features, memory(memory_limit)?).map_err(to_python)
}

/// The coefficients that pre-images are made with, from points and their scores.
#[pyfunction]
#[pyo3(signature = (scores, x, kernel, *, alpha, memory_limit=None, threads=None, dtype, time_limit=None, progress=None))]
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
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (scores, points, precision): (_, _, Precision) = (points(scores)?, points(x)?, precision(dtype)?);
    let (kernel, memory) = (kernel.choice()?, memory(memory_limit)?);
    let coefficients = run_through(py, time_limit, progress, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        let (kernel, _) = kernel_for(kernel, &points, &threads, watch)?;
        let ridge = RidgePreimage::new(kernel).alpha(alpha).memory(memory);
        ridge.fit(&scores, &points, &threads, watch)
    })?;
    array(py, coefficients.as_ref(), precision)
}
