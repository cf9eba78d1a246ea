//! Features over landmarks.

use faer::Mat;
use mercer::nystrom::{FeatureMap, Landmarks, Nystrom, NystromPca};
use mercer::record::KernelRecord;
use mercer::watch::Threads;
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::{array, array_of_points, matrix, points};
use crate::error::to_python;
use crate::run::run_through;
use crate::settings::{KernelSettings, ScalingSettings, center, memory, precision};

/// How landmarks are chosen: by a rule, as rows of the data, or as points.
#[derive(FromPyObject)]
pub(crate) enum LandmarkSettings<'py> {
    Rule(String),
    Rows(Vec<usize>),
    Points(Bound<'py, PyAny>),
}

impl LandmarkSettings<'_> {
    pub(crate) fn choice(&self) -> PyResult<Landmarks> {
        match self {
            Self::Rule(name) => name.parse().map_err(to_python),
            Self::Rows(rows) => Ok(Landmarks::Rows(rows.clone())),
            Self::Points(array) => points(array).map(Landmarks::Given),
        }
    }
}

/// What landmarks are asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MapSettings<'py> {
    kernel: KernelSettings<'py>,
    landmarks: LandmarkSettings<'py>,
    n_landmarks: Option<usize>,
    memory_limit: Option<String>,
    threads: Option<usize>,
    seed: u64,
}

/// What kernel PCA over landmarks is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PcaSettings<'py> {
    kernel: KernelSettings<'py>,
    landmarks: LandmarkSettings<'py>,
    n_landmarks: Option<usize>,
    n_components: usize,
    center: bool,
    accuracy: Option<f64>,
    precision: Option<String>,
    pub(crate) memory_limit: Option<String>,
    pub(crate) threads: Option<usize>,
    seed: u64,
    pub(crate) scaling: Option<ScalingSettings>,
}

impl PcaSettings<'_> {
    pub(crate) fn pca(&self) -> PyResult<NystromPca> {
        let mut nystrom = Nystrom::new(self.kernel.choice()?)
            .landmarks(self.landmarks.choice()?)
            .memory(memory(self.memory_limit.as_deref())?)
            .seed(self.seed);
        if let Some(n_landmarks) = self.n_landmarks {
            nystrom = nystrom.n_landmarks(n_landmarks);
        }
        if let Some(threads) = self.threads {
            nystrom = nystrom.threads(threads);
        }
        if let Some(name) = &self.precision {
            nystrom = nystrom.precision(precision(name)?);
        }
        let mut pca = NystromPca::new(nystrom).n_components(self.n_components).center(center(self.center));
        if let Some(accuracy) = self.accuracy {
            pca = pca.accuracy(accuracy);
        }
        Ok(pca)
    }
}

/// The map that was made: landmarks, the rows of the data that they are if they are rows, what their kernel values are multiplied with,
/// the rank, the kernel's parameters as JSON, and warnings.
type Made<'py> = (Bound<'py, PyAny>, Option<Vec<usize>>, Bound<'py, PyAny>, usize, String, Vec<String>);

/// Chooses landmarks among points.
#[pyfunction]
pub(crate) fn nystrom_map<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    settings: MapSettings<'py>,
) -> PyResult<Made<'py>> {
    let points = points(x)?;
    let mut nystrom = Nystrom::new(settings.kernel.choice()?)
        .landmarks(settings.landmarks.choice()?)
        .memory(memory(settings.memory_limit.as_deref())?)
        .seed(settings.seed);
    if let Some(n_landmarks) = settings.n_landmarks {
        nystrom = nystrom.n_landmarks(n_landmarks);
    }
    if let Some(threads) = settings.threads {
        nystrom = nystrom.threads(threads);
    }
    let map = run_through(py, None, None, move |watch| nystrom.map_watched(&points, watch))?;
    let kernel = serde_json::to_string(&KernelRecord::from(map.kernel()));
    Ok((
        array_of_points(py, map.landmarks())?,
        map.rows().map(<[usize]>::to_vec),
        array(py, map.normalization(), map.precision())?,
        map.rank(),
        kernel.map_err(|error| PyValueError::new_err(error.to_string()))?,
        map.warnings().to_vec(),
    ))
}

/// A map that was made before.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct MapParts<'py> {
    kernel: KernelSettings<'py>,
    landmarks: Bound<'py, PyAny>,
    /// For a precomputed kernel, the columns that landmarks are.
    rows: Option<Vec<usize>>,
    normalization: PyReadonlyArray2<'py, f64>,
    precision: String,
}

impl MapParts<'_> {
    fn map(&self) -> PyResult<FeatureMap> {
        let landmarks = points(&self.landmarks)?;
        let kernel = self.kernel.resolve(&landmarks)?;
        let normalization: Mat<f64> = matrix(&self.normalization);
        let map =
            FeatureMap::from_parts(kernel, landmarks, self.rows.clone(), normalization, precision(&self.precision)?);
        map.map_err(to_python)
    }
}

/// Features of points.
#[pyfunction]
#[pyo3(signature = (x, map, *, threads=None))]
pub(crate) fn nystrom_features<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    map: MapParts<'py>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let (points, map) = (points(x)?, map.map()?);
    let precision = map.precision();
    let features = run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        map.transform_watched(&points, &threads, watch)
    })?;
    array(py, features.as_ref(), precision)
}

/// The trace of what features leave of the kernel matrix of points.
#[pyfunction]
#[pyo3(signature = (x, map, *, threads=None))]
pub(crate) fn nystrom_trace_error<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    map: MapParts<'py>,
    threads: Option<usize>,
) -> PyResult<f64> {
    let (points, map) = (points(x)?, map.map()?);
    run_through(py, None, None, move |watch| {
        let threads = threads.map_or_else(Threads::all, Threads::new)?;
        map.trace_error_watched(&points, &threads, watch)
    })
}
