//! Pictures and rows without noise, as Python sees them.

use mercer::Precision;
use mercer::denoise::{self, Denoiser, Grid, Image};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::{array, matrix, points};
use crate::error::to_python;
use crate::run::run_through;

/// How denoising is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct DenoiseSettings {
    noise: Option<f64>,
    n_components: Option<usize>,
    bandwidth: Option<f64>,
    threshold: Option<f64>,
    refine: Option<bool>,
    n_landmarks: Option<usize>,
    threads: Option<usize>,
    seed: u64,
}

impl DenoiseSettings {
    fn denoiser(&self) -> Denoiser {
        let denoiser = Denoiser::new().seed(self.seed);
        let denoiser = self.noise.into_iter().fold(denoiser, Denoiser::noise);
        let denoiser = self.n_components.into_iter().fold(denoiser, Denoiser::n_components);
        let denoiser = self.bandwidth.into_iter().fold(denoiser, Denoiser::bandwidth);
        let denoiser = self.threshold.into_iter().fold(denoiser, Denoiser::threshold);
        let denoiser = self.refine.into_iter().fold(denoiser, Denoiser::refine);
        let denoiser = self.n_landmarks.into_iter().fold(denoiser, Denoiser::n_landmarks);
        self.threads.into_iter().fold(denoiser, Denoiser::threads)
    }
}

/// A picture without noise, its channels side by side in every row, and the record as JSON.
#[pyfunction]
#[pyo3(signature = (image, channels, patch_size, stride, settings))]
pub(crate) fn denoise_image<'py>(
    py: Python<'py>,
    image: PyReadonlyArray2<'py, f64>,
    channels: usize,
    patch_size: usize,
    stride: usize,
    settings: DenoiseSettings,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let rows = matrix(&image);
    let (height, columns) = (rows.nrows(), rows.ncols());
    let values = (0..height * columns).map(|at| rows[(at / columns, at % columns)]).collect();
    let image = Image::new(values, height, columns / channels.max(1), channels).map_err(to_python)?;
    let (grid, denoiser) = (Grid::new(patch_size, stride).map_err(to_python)?, settings.denoiser());
    let found = run_through(py, None, None, move |watch| denoiser.image(&image, grid, watch))?;
    let values = found.image.values();
    let rows = faer::Mat::from_fn(height, columns, |i, j| values[i * columns + j]);
    Ok((array(py, rows.as_ref(), Precision::F64)?, json(&found.record)?))
}

/// Rows without noise, in their own precision, and the record as JSON.
#[pyfunction]
#[pyo3(signature = (x, window, settings))]
pub(crate) fn denoise_rows<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    window: usize,
    settings: DenoiseSettings,
) -> PyResult<(Bound<'py, PyAny>, String)> {
    let (rows, denoiser) = (points(x)?, settings.denoiser());
    let precision = if rows.is_bytes() { Precision::F64 } else { rows.precision() };
    let found = run_through(py, None, None, move |watch| denoiser.rows(&rows, window, watch))?;
    Ok((array(py, found.rows.as_ref(), precision)?, json(&found.record)?))
}

/// The ratio of signal to noise of an estimate, in decibel.
#[pyfunction]
pub(crate) fn snr(clean: PyReadonlyArray1<'_, f64>, estimate: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
    denoise::snr(&clean.as_array().to_vec(), &estimate.as_array().to_vec()).map_err(to_python)
}

/// The share of the noise's variance that an estimate is without.
#[pyfunction]
pub(crate) fn noise_removed(
    clean: PyReadonlyArray1<'_, f64>,
    noisy: PyReadonlyArray1<'_, f64>,
    estimate: PyReadonlyArray1<'_, f64>,
) -> PyResult<f64> {
    let [clean, noisy, estimate] = [clean, noisy, estimate].map(|values| values.as_array().to_vec());
    denoise::noise_removed(&clean, &noisy, &estimate).map_err(to_python)
}

fn json(record: &mercer::denoise::DenoiseRecord) -> PyResult<String> {
    serde_json::to_string(record).map_err(|error| PyValueError::new_err(error.to_string()))
}
