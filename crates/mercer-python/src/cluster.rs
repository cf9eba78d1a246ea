//! Spectral clustering and the agreement of groupings, as Python sees them.

use std::path::PathBuf;
use std::sync::Arc;

use mercer::agreement::Contingency;
use mercer::nystrom::Nystrom;
use mercer::watch::Threads;
use mercer::{GramChoice, Precision, SolverChoice, SpectralClustering, Watch};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{array, named, points, vector};
use crate::error::to_python;
use crate::hebbian::HebbianSettings;
use crate::nystrom::LandmarkSettings;
use crate::run::{Ended, run, run_through};
use crate::settings::{KernelSettings, ScalingSettings, memory, precision};

/// What a clustering is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ClusterSettings<'py> {
    kernel: KernelSettings<'py>,
    scaling: Option<ScalingSettings>,
    n_clusters: usize,
    n_components: Option<usize>,
    restarts: usize,
    gram: String,
    /// The landmarks that eigenvectors are found over, if they are.
    landmarks: Option<LandmarkSettings<'py>>,
    n_landmarks: Option<usize>,
    solver: String,
    /// How the kernel Hebbian algorithm learns, if it is to find the eigenvectors.
    hebbian: Option<HebbianSettings<'py>>,
    precision: Option<String>,
    tolerance: Option<f64>,
    memory_limit: Option<String>,
    threads: Option<usize>,
    seed: u64,
}

impl ClusterSettings<'_> {
    /// What is asked for, but for landmarks, which go through the scaling first.
    fn clustering(&self) -> PyResult<SpectralClustering> {
        let mut settings = SpectralClustering::new(self.kernel.choice()?, self.n_clusters)
            .restarts(self.restarts)
            .gram(self.gram.parse::<GramChoice>().map_err(to_python)?)
            .solver(self.solver.parse::<SolverChoice>().map_err(to_python)?)
            .memory(memory(self.memory_limit.as_deref())?)
            .seed(self.seed);
        if let Some(n_components) = self.n_components {
            settings = settings.n_components(n_components);
        }
        if let Some(hebbian) = &self.hebbian {
            settings = settings.hebbian(hebbian.learner()?);
        }
        if let Some(name) = &self.precision {
            settings = settings.precision(precision(name)?);
        }
        if let Some(tolerance) = self.tolerance {
            settings = settings.tolerance(tolerance);
        }
        if let Some(threads) = self.threads {
            settings = settings.threads(threads);
        }
        Ok(settings)
    }

    /// The landmarks that eigenvectors are found over, if they are.
    fn over_landmarks(&self) -> PyResult<Option<Nystrom>> {
        let Some(landmarks) = &self.landmarks else { return Ok(None) };
        let nystrom = Nystrom::new(self.kernel.choice()?).landmarks(landmarks.choice()?);
        Ok(Some(self.n_landmarks.into_iter().fold(nystrom, Nystrom::n_landmarks)))
    }
}

/// Points in clusters. Made by `ClusterModel.fit`, `ClusterModel.load` and `ClusterModel.from_bytes`; never changes.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct ClusterModel(Arc<mercer::ClusterModel>);

impl ClusterModel {
    pub(crate) fn new(model: mercer::ClusterModel) -> Self {
        Self(Arc::new(model))
    }
}

#[pymethods]
impl ClusterModel {
    /// Finds clusters. `on_partial` is called with those of the best eigenvectors so far if an exception (Ctrl-C) ends the run early.
    #[staticmethod]
    #[pyo3(signature = (x, settings, *, time_limit=None, progress=None, on_partial=None))]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: ClusterSettings<'_>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, clustering, landmarks) = (points(x)?, settings.clustering()?, settings.over_landmarks()?);
        let scaling = settings.scaling;
        let work = move |watch: &Watch<'_>| {
            let over =
                |landmarks: Option<Nystrom>| landmarks.into_iter().fold(clustering, SpectralClustering::landmarks);
            let Some(scaling) = scaling else { return over(landmarks).fit_watched(&points, watch) };
            let scaling = scaling.resolve(&points)?;
            // Landmarks that are given go through it with the points.
            let landmarks = landmarks.map(|nystrom| nystrom.scaled_by(&scaling)).transpose()?;
            over(landmarks).fit_watched(&scaling.apply(&points)?, watch)?.with_scaling(scaling)
        };
        match run(py, time_limit, progress, work)? {
            Ended::Done(model) => Ok(Self::new(model)),
            Ended::Interrupted(error, partial) => {
                if let (Some(model), Some(keep)) = (partial, on_partial) {
                    keep.call1((Self::new(model),))?;
                }
                Err(error)
            }
        }
    }

    /// Reads the file of clusters.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| mercer::ClusterModel::load(&path)).map(Self::new).map_err(to_python)
    }

    /// Writes the clusters to a file, with the names of their features if there are any.
    #[pyo3(signature = (path, feature_names=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, feature_names: Option<Vec<String>>) -> PyResult<()> {
        let name = mercer::ClusterModel::with_feature_names;
        py.detach(|| named(&*self.0, feature_names, name)?.save(&path)).map_err(to_python)
    }

    /// Names of the features, if the file that the clusters come from has them.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.0.feature_names().map(<[String]>::to_vec)
    }

    /// Coordinates of a point.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// The precision of kernel values.
    #[getter]
    fn precision(&self) -> &'static str {
        match self.0.record().precision {
            Precision::F32 => "float32",
            Precision::F64 => "float64",
        }
    }

    /// What rows go through first: a factor, "standardize", or nothing.
    #[getter]
    fn scaling(&self) -> Option<ScalingSettings> {
        self.0.scaling().map(Into::into)
    }

    /// Reads what `to_bytes` made; `kernel` is that of the fit, if it was a function.
    #[staticmethod]
    #[pyo3(signature = (data, kernel=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], kernel: Option<KernelSettings<'_>>) -> PyResult<Self> {
        let custom = kernel.map(|kernel| kernel.custom()).transpose()?.flatten();
        py.detach(|| mercer::ClusterModel::from_bytes(data, custom)).map(Self::new).map_err(to_python)
    }

    /// The model as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The clusters of new points.
    #[pyo3(signature = (x, *, threads=None, progress=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (queries, model) = (points(x)?, Arc::clone(&self.0));
        let found = run_through(py, None, progress, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.predict_watched(&queries, &threads, watch)
        })?;
        Ok(numbers(py, &found))
    }

    /// The cluster of each point that was clustered.
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        numbers(py, self.0.labels())
    }

    /// The embedded points, one row each.
    fn embedding<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.embedding().as_ref(), Precision::F64)
    }

    /// The centre of each cluster among the embedded points.
    fn centers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.centers(), Precision::F64)
    }

    /// Row sums of the kernel matrix.
    fn degrees<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.degrees(), Precision::F64)
    }

    /// Eigenvalues of the normalised matrix.
    fn eigenvalues<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.eigenvalues(), Precision::F64)
    }

    /// Unit eigenvectors of the normalised matrix, one per column.
    fn eigenvectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.eigenvectors(), Precision::F64)
    }

    /// The record of the clustering, as JSON.
    fn record(&self) -> PyResult<String> {
        serde_json::to_string(self.0.record()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// Numbers of clusters as an array.
fn numbers<'py>(py: Python<'py>, labels: &[usize]) -> Bound<'py, PyAny> {
    PyArray1::from_iter(py, labels.iter().map(|&label| i32::try_from(label).unwrap_or(i32::MAX))).into_any()
}

/// Variation of information, normalised mutual information and adjusted Rand index of two groupings.
#[pyfunction]
pub(crate) fn agreement(
    first: PyReadonlyArray1<'_, i64>,
    second: PyReadonlyArray1<'_, i64>,
) -> PyResult<(f64, f64, f64)> {
    let (first, second) = (first.as_array().to_vec(), second.as_array().to_vec());
    let table = Contingency::new(&first, &second).map_err(to_python)?;
    Ok((table.variation_of_information(), table.normalized_mutual_information(), table.adjusted_rand_index()))
}
