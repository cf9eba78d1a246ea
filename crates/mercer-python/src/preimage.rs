//! Pre-images, as Python sees them.

use std::sync::Arc;

use mercer::Precision;
use mercer::preimage::{Preimage, PreimageMethod};
use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::convert::{array, matrix, points, vector};
use crate::error::to_python;
use crate::model::Model;
use crate::run::run_through;
use crate::settings::memory;

/// How pre-images are asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PreimageSettings {
    method: String,
    max_iterations: Option<usize>,
    tolerance: Option<f64>,
    restarts: Option<usize>,
    neighbors: Option<usize>,
    alpha: Option<f64>,
    /// What learning a ridge may take.
    memory_limit: Option<String>,
    threads: Option<usize>,
}

/// Pre-images, their squared distances in feature space, and whether each has converged.
pub(crate) type Answer<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Pre-images of scores under a model, searched from `start` if that is given.
#[pyfunction]
#[pyo3(signature = (model, scores, settings, *, start=None, progress=None))]
pub(crate) fn preimages<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    scores: PyReadonlyArray2<'py, f64>,
    settings: PreimageSettings,
    start: Option<&Bound<'py, PyAny>>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Answer<'py>> {
    let preimage = Preimage::new(settings.method.parse::<PreimageMethod>().map_err(to_python)?);
    let preimage = settings.max_iterations.into_iter().fold(preimage, Preimage::max_iterations);
    let preimage = settings.tolerance.into_iter().fold(preimage, Preimage::tolerance);
    let preimage = settings.restarts.into_iter().fold(preimage, Preimage::restarts);
    let preimage = settings.neighbors.into_iter().fold(preimage, Preimage::neighbors);
    let preimage = settings.alpha.into_iter().fold(preimage, Preimage::alpha);
    let preimage = preimage.memory(memory(settings.memory_limit.as_deref())?);
    let preimage = settings.threads.into_iter().fold(preimage, Preimage::threads);
    let (model, scores, start) = (model.get().shared(), matrix(&scores), start.map(points).transpose()?);
    let precision = model.precision();
    let of_model = Arc::clone(&model);
    let found = run_through(py, None, progress, move |watch| {
        preimage.prepare(&of_model, watch)?.of_scores(scores.as_ref(), start.as_ref(), watch)
    })?;
    let converged = PyArray1::from_vec(py, found.converged).into_any();
    Ok((array(py, found.points.as_ref(), precision)?, vector(py, &found.feature_error, Precision::F64), converged))
}
