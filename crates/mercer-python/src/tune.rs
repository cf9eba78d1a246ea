//! The width of a kernel from the spectrum.

use mercer::KernelChoice;
use mercer::tune::{Criterion, KernelTuner, TuneMethod};
use mercer::watch::Threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::points;
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::KernelSettings;

/// What a search is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TuneSettings<'py> {
    kernel: KernelSettings<'py>,
    criterion: String,
    bandwidths: Option<Vec<f64>>,
    method: String,
    tolerance: Option<f64>,
    n_components: Option<usize>,
    threads: Option<usize>,
    seed: u64,
}

/// The curve of a criterion over bandwidths and its maxima, as JSON.
#[pyfunction]
#[pyo3(signature = (x, settings))]
pub(crate) fn tune_kernel(py: Python<'_>, x: &Bound<'_, PyAny>, settings: TuneSettings<'_>) -> PyResult<String> {
    let points = points(x)?;
    let KernelChoice::Spec(spec) = settings.kernel.choice()? else {
        return Err(PyValueError::new_err(
            "a kernel that is a function has no width that could be found: give its name",
        ));
    };
    let mut tuner = KernelTuner::new(spec)
        .criterion(settings.criterion.parse::<Criterion>().map_err(to_python)?)
        .method(settings.method.parse::<TuneMethod>().map_err(to_python)?)
        .seed(settings.seed);
    if let Some(bandwidths) = settings.bandwidths {
        tuner = tuner.bandwidths(bandwidths);
    }
    if let Some(tolerance) = settings.tolerance {
        tuner = tuner.tolerance(tolerance);
    }
    if let Some(n_components) = settings.n_components {
        tuner = tuner.n_components(n_components);
    }
    let threads = settings.threads;
    let tuning = run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        tuner.tune_watched(&points, &threads, watch)
    })?;
    serde_json::to_string(&tuning).map_err(|error| PyValueError::new_err(error.to_string()))
}
