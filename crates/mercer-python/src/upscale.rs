//! Larger pictures of a kind that is known, as Python sees them.

use mercer::Precision;
use mercer::denoise::Image;
use mercer::upscale::{Upscaler, magnification};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

use crate::convert::{array, matrix, points};
use crate::run::run_through;

/// How larger pictures are asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct UpscaleSettings {
    n_components: Option<usize>,
    bandwidth: Option<f64>,
    threads: Option<usize>,
}

/// Pictures, one per row, made as large as known ones; shapes are height, width and channels.
#[pyfunction]
#[pyo3(signature = (images, small, known, large, settings))]
pub(crate) fn upscale<'py>(
    py: Python<'py>,
    images: PyReadonlyArray2<'py, f64>,
    small: (usize, usize, usize),
    known: &Bound<'py, PyAny>,
    large: (usize, usize, usize),
    settings: UpscaleSettings,
) -> PyResult<Bound<'py, PyAny>> {
    let (images, known) = (matrix(&images), points(known)?);
    let upscaler = settings.n_components.into_iter().fold(Upscaler::new(), Upscaler::n_components);
    let upscaler = settings.bandwidth.into_iter().fold(upscaler, Upscaler::bandwidth);
    let upscaler = settings.threads.into_iter().fold(upscaler, Upscaler::threads);
    let found = run_through(py, None, None, move |watch| {
        // Learning takes long, and this is known before.
        magnification(large, small)?;
        let space = upscaler.learn(&known, large, watch)?;
        let enlarge = |i: usize| {
            let image = Image::new(images.row(i).iter().copied().collect(), small.0, small.1, small.2)?;
            Ok(space.upscale(&image, watch)?.image)
        };
        (0..images.nrows()).map(enlarge).collect::<mercer::Result<Vec<Image>>>()
    })?;
    let width = large.0 * large.1 * large.2;
    let rows = faer::Mat::from_fn(found.len(), width, |i, j| found[i].values()[j]);
    array(py, rows.as_ref(), Precision::F64)
}
