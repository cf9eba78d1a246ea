//! The width of a kernel from the spectrum.

use std::io::Write;
use std::path::PathBuf;

use mercer::KernelChoice;
use mercer::aside::AsideFile;
use mercer::kernel::{KernelSpec, Pairing, Parameter, Width};
use mercer::tune::{Criterion, KernelTuner, ParameterBox, TuneMethod};
use mercer::watch::Threads;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

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
    let spec = named(&settings.kernel)?;
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
    let measure = tuning.criterion.measure();
    let mut fields = serde_json::to_value(&tuning).map_err(|error| PyValueError::new_err(error.to_string()))?;
    fields["measure"] = measure.into();
    Ok(fields.to_string())
}

/// Writes a text file that appears complete or not at all.
#[pyfunction]
#[pyo3(signature = (path, text))]
pub(crate) fn write_text(path: PathBuf, text: &str) -> PyResult<()> {
    let write = || {
        let mut file = AsideFile::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.commit()
    };
    // The kind says which exception it is; the message of the system does not say which file.
    write().map_err(|error: std::io::Error| {
        std::io::Error::new(error.kind(), format!("{}: {error}", path.display())).into()
    })
}

/// What a climb in several parameters is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ClimbSettings<'py> {
    kernel: KernelSettings<'py>,
    /// Names with the smallest and the largest value.
    ranges: Vec<(String, f64, f64)>,
    max_steps: usize,
    threads: Option<usize>,
    /// Of the search for a width to start from.
    seed: u64,
}

/// Parameters of a kernel within ranges, as JSON.
#[pyfunction]
#[pyo3(signature = (x, settings))]
pub(crate) fn tune_parameters(py: Python<'_>, x: &Bound<'_, PyAny>, settings: ClimbSettings<'_>) -> PyResult<String> {
    let points = points(x)?;
    let spec = named(&settings.kernel)?;
    let specimen = spec.resolve_without_points().map_err(to_python)?;
    let is_of_distance = specimen.pairing().is_some_and(Pairing::is_translation_invariant);
    let spec = if settings.kernel.has_width() || !is_of_distance { spec } else { spec.width(Width::Auto) };
    let ranges = settings.ranges.iter().map(parameter_box).collect::<PyResult<Vec<_>>>()?;
    // Before the search for a width, which may take long.
    mercer::tune::check_ranges(&specimen, &ranges).map_err(to_python)?;
    let (max_steps, threads, seed) = (settings.max_steps, settings.threads, settings.seed);
    let found = run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        let (start, told) = spec.resolve_told(&points, seed, &threads, watch)?;
        let found = mercer::tune::tune_parameters(&points, &start, &ranges, max_steps, &threads, watch)?;
        Ok((ranges, found, told))
    })?;
    let (ranges, found, told) = found;
    let parameters = ranges.iter().zip(&found.gradient).zip(&found.is_at_bound).map(|((range, slope), is_at_bound)| {
        let value = found.kernel.parameter(range.parameter);
        (range.parameter.name().to_owned(), json!({ "value": value, "slope": slope, "is_at_bound": is_at_bound }))
    });
    Ok(json!({
        "parameters": parameters.collect::<serde_json::Map<_, _>>(),
        "best_value": found.best_value,
        "start_value": found.start_value,
        "steps": found.steps,
        "converged": found.converged,
        "warnings": told,
    })
    .to_string())
}

/// What a climb in one width per feature is asked for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ArdSettings {
    /// Inverse widths to start from; the best common one if there are none.
    gammas: Option<Vec<f64>>,
    max_steps: usize,
    threads: Option<usize>,
    /// Of the search for a width to start from.
    seed: u64,
}

/// One inverse width per feature, as JSON.
#[pyfunction]
#[pyo3(signature = (x, settings))]
pub(crate) fn tune_ard(py: Python<'_>, x: &Bound<'_, PyAny>, settings: ArdSettings) -> PyResult<String> {
    let points = points(x)?;
    let (found, told) = run_through(py, None, None, move |watch| {
        let threads = settings.threads.map_or_else(Threads::all, Threads::new)?;
        let (start, told) = if let Some(gammas) = settings.gammas {
            (gammas, Vec::new())
        } else {
            let spec = KernelSpec::new("gaussian").width(Width::Auto);
            let (kernel, told) = spec.resolve_told(&points, settings.seed, &threads, watch)?;
            let gamma = kernel.parameter(Parameter::Gamma).unwrap_or(1.0);
            (vec![gamma; points.n_features()], told)
        };
        Ok((mercer::tune::tune_ard(&points, &start, settings.max_steps, &threads, watch)?, told))
    })?;
    let at_bound: Vec<usize> = (0..found.gammas.len()).filter(|&feature| found.is_at_bound[feature]).collect();
    Ok(json!({
        "gammas": found.gammas,
        "at_bound": at_bound,
        "warnings": told,
        "best_value": found.best_value,
        "start_value": found.start_value,
        "steps": found.steps,
        "converged": found.converged,
    })
    .to_string())
}

/// A kernel that has a name: those that are functions have no parameters that could be found.
fn named(kernel: &KernelSettings<'_>) -> PyResult<KernelSpec> {
    match kernel.choice()? {
        KernelChoice::Spec(spec) => Ok(spec),
        KernelChoice::Known(_) => {
            Err(PyValueError::new_err("a kernel that is a function has no width that could be found: give its name"))
        }
    }
}

fn parameter_box((name, low, high): &(String, f64, f64)) -> PyResult<ParameterBox> {
    let parameter = [Parameter::Gamma, Parameter::Coef0, Parameter::Alpha]
        .into_iter()
        .find(|parameter| parameter.name() == name)
        .ok_or_else(|| PyValueError::new_err(format!("ranges are of gamma, coef0 and alpha, not of {name:?}")))?;
    Ok(ParameterBox { parameter, low: *low, high: *high })
}
