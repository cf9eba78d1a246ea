//! Random Fourier features.

use mercer::Precision;
use mercer::kernel::Parameter;
use mercer::nystrom::FourierFeatures;
use mercer::watch::Threads;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::convert::{array, matrix, points, vector};
use crate::run::run_through;
use crate::settings::{KernelSettings, kernel_for, precision};

/// What random features are asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct FourierSettings<'py> {
    kernel: KernelSettings<'py>,
    n_components: usize,
    threads: Option<usize>,
    seed: u64,
}

/// What was drawn: frequencies, one column per feature, phases, the inverse width of the kernel, and warnings.
type Drawn<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<f64>, Vec<String>);

/// Draws frequencies and phases for points like these.
#[pyfunction]
pub(crate) fn fourier_map<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    settings: FourierSettings<'py>,
) -> PyResult<Drawn<'py>> {
    let (points, kernel) = (points(x)?, settings.kernel.choice()?);
    let (m, threads, seed) = (settings.n_components, settings.threads, settings.seed);
    let (drawn, gamma, said) = run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        let (kernel, said) = kernel_for(kernel, &points, &threads, watch)?;
        let drawn = FourierFeatures::new(&kernel, points.n_features(), m, seed)?;
        Ok((drawn, kernel.parameter(Parameter::Gamma), said))
    })?;
    let (frequencies, phases) = (drawn.frequencies(), drawn.phases());
    Ok((array(py, frequencies, Precision::F64)?, vector(py, phases, Precision::F64), gamma, said))
}

/// Features of points.
#[pyfunction]
#[pyo3(signature = (x, frequencies, phases, *, dtype, threads=None))]
pub(crate) fn fourier_features<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    frequencies: PyReadonlyArray2<'py, f64>,
    phases: PyReadonlyArray1<'py, f64>,
    dtype: &str,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (points, precision) = (points(x)?, precision(dtype)?);
    let (frequencies, phases) = (matrix(&frequencies), phases.as_array().to_vec());
    let features = run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        FourierFeatures::from_parts(frequencies, phases)?.transform_watched(&points, &threads, watch)
    })?;
    array(py, features.as_ref(), precision)
}
