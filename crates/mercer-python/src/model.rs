//! The fitted model, as Python sees it.

use std::path::PathBuf;
use std::sync::Arc;

use mercer::data::Scaling;
use mercer::nystrom::NystromPca;
use mercer::watch::Threads;
use mercer::{Points, Precision, Result, Watch};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{array, array_of_points, named, points, vector};
use crate::error::to_python;
use crate::nystrom::PcaSettings;
use crate::run::{Ended, run, run_through};
use crate::settings::{KernelSettings, ScalingSettings, Settings};

/// A fitted model. Made by `Model.fit`, `Model.load` and `Model.from_bytes`; never changes.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct Model(Arc<mercer::Model>);

impl Model {
    pub(crate) fn new(model: mercer::Model) -> Self {
        Self(Arc::new(model))
    }

    /// The library's model.
    pub(crate) fn shared(&self) -> Arc<mercer::Model> {
        Arc::clone(&self.0)
    }
}

/// The model that `fit` learns of the points, or of what a scaling makes of them, which then goes with it.
fn scaled(
    scaling: Option<ScalingSettings>,
    points: &Points,
    fit: impl FnOnce(&Points, Option<&Scaling>) -> Result<mercer::Model>,
) -> Result<mercer::Model> {
    scaled_if_any(scaling, points, |points, scaling| fit(points, scaling).map(Some))
        .map(|model| model.expect("there is one"))
}

/// As [`scaled`], where nothing may be learned.
fn scaled_if_any(
    scaling: Option<ScalingSettings>,
    points: &Points,
    fit: impl FnOnce(&Points, Option<&Scaling>) -> Result<Option<mercer::Model>>,
) -> Result<Option<mercer::Model>> {
    match scaling {
        None => fit(points, None),
        Some(scaling) => {
            let scaling = scaling.resolve(points)?;
            fit(&scaling.apply(points)?, Some(&scaling))?.map(|model| model.with_scaling(scaling)).transpose()
        }
    }
}

#[pymethods]
impl Model {
    /// Fits. `on_partial` is called with the best model so far if an exception (Ctrl-C) ends the fit early.
    #[staticmethod]
    #[pyo3(signature = (x, settings, *, time_limit=None, progress=None, on_partial=None))]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: Settings<'_>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, pca, scaling) = (points(x)?, settings.kernel_pca()?, settings.scaling);
        let work = move |watch: &Watch<'_>| scaled(scaling, &points, |points, _| pca.fit_watched(points, watch));
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

    /// Fits over landmarks.
    #[staticmethod]
    #[pyo3(signature = (x, settings, *, time_limit=None, progress=None))]
    fn fit_nystrom(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: PcaSettings<'_>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, pca, scaling) = (points(x)?, settings.pca()?, settings.scaling);
        let work = move |watch: &Watch<'_>| {
            scaled(scaling, &points, |points, scaling| {
                scaling.into_iter().try_fold(pca, NystromPca::scaled_by)?.fit_watched(points, watch)
            })
        };
        match run(py, time_limit, progress, work)? {
            Ended::Done(model) => Ok(Self::new(model)),
            Ended::Interrupted(error, _) => Err(error),
        }
    }

    /// Fits over as many landmarks as the accuracy takes; `None` if they would not be much fewer than the rows.
    #[staticmethod]
    #[pyo3(signature = (x, settings, *, time_limit=None, progress=None))]
    fn fit_to_accuracy(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: PcaSettings<'_>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Self>> {
        let (points, pca, scaling) = (points(x)?, settings.pca()?, settings.scaling);
        let work =
            move |watch: &Watch<'_>| scaled_if_any(scaling, &points, |points, _| pca.fit_to_accuracy(points, watch));
        match run(py, time_limit, progress, work)? {
            Ended::Done(model) => Ok(model.map(Self::new)),
            Ended::Interrupted(error, _) => Err(error),
        }
    }

    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| mercer::Model::load(&path)).map(Self::new).map_err(to_python)
    }

    /// Reads the bytes of a model file; `kernel` is that of the fit, if it was a function.
    #[staticmethod]
    #[pyo3(signature = (data, kernel=None))]
    fn from_bytes(py: Python<'_>, data: &[u8], kernel: Option<KernelSettings<'_>>) -> PyResult<Self> {
        let custom = kernel.map(|kernel| kernel.custom()).transpose()?.flatten();
        let read: Result<mercer::Model> = py.detach(|| mercer::Model::from_bytes(data, custom));
        read.map(Self::new).map_err(to_python)
    }

    /// Writes the model to a file, with the names of its features if there are any.
    #[pyo3(signature = (path, feature_names=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, feature_names: Option<Vec<String>>) -> PyResult<()> {
        let name = mercer::Model::with_feature_names;
        py.detach(|| named(&*self.0, feature_names, name)?.save(&path)).map_err(to_python)
    }

    /// The bytes of the model's file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Scores of new points.
    #[pyo3(signature = (x, *, threads=None, progress=None))]
    fn transform<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (queries, model, precision) = (points(x)?, Arc::clone(&self.0), self.0.precision());
        let scores = run_through(py, None, progress, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.transform_watched(&queries, &threads, watch)
        })?;
        array(py, scores.as_ref(), precision)
    }

    /// How unlike the training points new points are: reconstruction errors in feature space, and Hotelling's T².
    #[pyo3(signature = (x, *, threads=None, progress=None))]
    fn novelty<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (queries, model, precision) = (points(x)?, Arc::clone(&self.0), self.0.precision());
        let novelty = run_through(py, None, progress, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.novelty_watched(&queries, &threads, watch)
        })?;
        Ok((vector(py, &novelty.reconstruction_error, precision), vector(py, &novelty.t_squared, precision)))
    }

    /// Whether the basis points are the points that were learned from. If not, there are no rows of training scores.
    #[getter]
    fn keeps_training_points(&self) -> bool {
        self.0.basis_kind() == mercer::BasisKind::TrainingSet
    }

    /// Scores of the points that were learned from.
    fn training_scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.training_scores().as_ref(), self.0.precision())
    }

    /// Eigenvalues of the centred kernel matrix.
    fn eigenvalues<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.eigenvalues(), self.0.precision())
    }

    /// Eigenvectors of the centred kernel matrix, one per column.
    fn eigenvectors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.eigenvectors().as_ref(), self.0.precision())
    }

    /// Expansion coefficients of the components, one column per component: eigenvectors over roots of eigenvalues.
    fn dual_coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array(py, self.0.dual_coefficients(), self.0.precision())
    }

    /// The residual of each component, in double precision.
    fn residuals<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.residuals(), Precision::F64)
    }

    /// The share of the variance that each component explains, in double precision.
    fn explained_variance_ratio<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.explained_variance_ratio(), Precision::F64)
    }

    /// A copy of the points that components are combinations of.
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        array_of_points(py, self.0.basis())
    }

    /// How many points those are; none for a precomputed kernel.
    fn basis_size(&self) -> usize {
        self.0.basis().n_samples()
    }

    /// A copy of those points as they were before they were scaled.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.0.scaling() {
            None => array_of_points(py, self.0.basis()),
            Some(scaling) => array_of_points(py, &scaling.undo(self.0.basis()).map_err(to_python)?),
        }
    }

    /// What is done to the columns first: a common factor, "standardize", or nothing.
    #[getter]
    fn scaling(&self) -> Option<ScalingSettings> {
        self.0.scaling().map(Into::into)
    }

    /// The record of the fit, as JSON.
    fn record(&self) -> PyResult<String> {
        serde_json::to_string(self.0.record()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Names of the features, if the file that the model comes from has them.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.0.feature_names().map(<[String]>::to_vec)
    }

    /// Coordinates of a point.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// Whether every component reached the tolerance.
    #[getter]
    fn converged(&self) -> bool {
        self.0.converged()
    }

    /// "float32" or "float64".
    #[getter]
    fn precision(&self) -> &'static str {
        match self.0.precision() {
            Precision::F32 => "float32",
            Precision::F64 => "float64",
        }
    }

    fn __repr__(&self) -> String {
        format!("<mercer model: {} components of {} samples>", self.0.n_components(), self.0.n_samples())
    }
}
