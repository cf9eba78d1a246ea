//! Autoencoder kernel PCA, as Python sees it.

use std::path::PathBuf;
use std::sync::Arc;

use mercer::autoencoder::{Codec, Given, Gradient, LearningRate, Optimizer, Sign, SpanChoice, StartFrom};
use mercer::watch::Threads;
use mercer::{AnyModel, AutoencoderKernelPca, Precision, Watch};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::cluster::ClusterModel;
use crate::convert::{array, matrix, named, points, vector};
use crate::error::to_python;
use crate::model::Model;
use crate::run::{Ended, run, run_through};
use crate::settings::{memory, precision};

/// What an autoencoder is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct AutoencoderSettings<'py> {
    n_components: usize,
    span: String,
    optimizer: String,
    /// `None` is found by trying.
    learning_rate: Option<f64>,
    decay: Option<f64>,
    epochs: Option<usize>,
    /// Of the epochs those that are made now; `None` is all.
    epochs_now: Option<usize>,
    batch_size: Option<usize>,
    /// "kernel-pca", "random" or "given".
    start: String,
    /// The numbers of a start that is given, row by row.
    encoder: Option<PyReadonlyArray1<'py, f64>>,
    decoder: Option<PyReadonlyArray1<'py, f64>>,
    order: Option<Vec<Vec<usize>>>,
    gradient: String,
    sign: String,
    landmarks: Option<usize>,
    validation: f64,
    patience: Option<usize>,
    scale: bool,
    tolerance: Option<f64>,
    memory_limit: Option<String>,
    threads: Option<usize>,
    seed: u64,
}

impl AutoencoderSettings<'_> {
    fn settings(&self) -> PyResult<AutoencoderKernelPca> {
        let numbers = |given: &Option<PyReadonlyArray1<'_, f64>>| -> Vec<f64> {
            given.as_ref().map_or_else(Vec::new, |given| given.as_array().iter().copied().collect())
        };
        let settings = AutoencoderKernelPca::new(self.n_components)
            .span(self.span.parse::<SpanChoice>().map_err(to_python)?)
            .optimizer(self.optimizer.parse::<Optimizer>().map_err(to_python)?)
            .learning_rate(self.learning_rate.map_or(LearningRate::Auto, LearningRate::Fixed))
            .start(match self.start.as_str() {
                "random" => StartFrom::Random,
                "given" => StartFrom::Given(Given { encoder: numbers(&self.encoder), decoder: numbers(&self.decoder) }),
                _ => StartFrom::KernelPca,
            })
            .gradient(self.gradient.parse::<Gradient>().map_err(to_python)?)
            .sign(self.sign.parse::<Sign>().map_err(to_python)?)
            .validation(self.validation)
            .scale(self.scale)
            .memory(memory(self.memory_limit.as_deref())?)
            .seed(self.seed);
        let settings = self.batch_size.into_iter().fold(settings, AutoencoderKernelPca::batch_size);
        let settings = self.decay.into_iter().fold(settings, AutoencoderKernelPca::decay);
        let settings = self.epochs.into_iter().fold(settings, AutoencoderKernelPca::epochs);
        let settings = self.epochs_now.into_iter().fold(settings, AutoencoderKernelPca::epochs_now);
        let settings = self.order.clone().into_iter().fold(settings, AutoencoderKernelPca::order);
        let settings = self.landmarks.into_iter().fold(settings, AutoencoderKernelPca::landmarks);
        let settings = self.patience.into_iter().fold(settings, AutoencoderKernelPca::patience);
        let settings = self.tolerance.into_iter().fold(settings, AutoencoderKernelPca::tolerance);
        Ok(self.threads.into_iter().fold(settings, AutoencoderKernelPca::threads))
    }
}

/// An autoencoder that has been learned; never changes. Made by `fit`, `load`, `from_bytes` and `partial_fit`.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct Autoencoder(Arc<mercer::Autoencoder>);

impl Autoencoder {
    pub(crate) fn new(model: mercer::Autoencoder) -> Self {
        Self(Arc::new(model))
    }

    /// Numbers of a matrix of matrices, in the shape that they have.
    fn shaped<'py>(&self, py: Python<'py>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let (k, d) = (self.0.n_components(), self.0.n_features());
        let flat = PyArray1::from_vec(py, values);
        if self.0.span() == SpanChoice::Full {
            return Ok(flat.reshape([k, d, d])?.into_any());
        }
        let m = flat.len()? / k;
        Ok(flat.reshape([k, m])?.into_any())
    }
}

#[pymethods]
impl Autoencoder {
    /// Learns from points. `on_partial` is called with what has been learned so far if an exception (Ctrl-C) ends the fit early.
    #[staticmethod]
    #[pyo3(signature = (x, settings, *, time_limit=None, progress=None, on_partial=None))]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: AutoencoderSettings<'_>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, settings) = (points(x)?, settings.settings()?);
        finish(run(py, time_limit, progress, move |watch| settings.fit_watched(&points, watch))?, on_partial)
    }

    /// Learns from more points: another autoencoder.
    #[pyo3(signature = (x, *, threads=None, time_limit=None, progress=None, on_partial=None))]
    fn partial_fit(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        threads: Option<usize>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, model) = (points(x)?, Arc::clone(&self.0));
        let work = move |watch: &Watch<'_>| {
            let mut next = (*model).clone();
            if let Some(threads) = threads {
                next = next.with_threads(threads);
            }
            next.partial_fit(&points, watch)?;
            Ok(next)
        };
        finish(run(py, time_limit, progress, work)?, on_partial)
    }

    /// Reads the file of an autoencoder.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| mercer::Autoencoder::load(&path)).map(Self::new).map_err(to_python)
    }

    /// Reads the bytes of the file of an autoencoder.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        py.detach(|| mercer::Autoencoder::from_bytes(data)).map(Self::new).map_err(to_python)
    }

    /// Writes the autoencoder to a file, with the names of its features if there are any.
    #[pyo3(signature = (path, feature_names=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, feature_names: Option<Vec<String>>) -> PyResult<()> {
        let name = mercer::Autoencoder::with_feature_names;
        py.detach(|| named(&*self.0, feature_names, name)?.save(&path)).map_err(to_python)
    }

    /// Names of the features, if the file that the autoencoder comes from has them.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        self.0.feature_names().map(<[String]>::to_vec)
    }

    /// The bytes of its file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.0.to_bytes()).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Codes of points, in the given precision.
    #[pyo3(signature = (x, *, dtype, threads=None, progress=None))]
    fn encode<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        dtype: &str,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (points, model, precision) = (points(x)?, Arc::clone(&self.0), precision(dtype)?);
        let codes = run_through(py, None, progress, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.encode_watched(&points, &threads, watch)
        })?;
        array(py, codes.as_ref(), precision)
    }

    /// Points of codes, in the given precision, and how many of their eigenpairs did not converge; of the two signs that nearer to the row of `reference`, if
    /// there is one.
    #[pyo3(signature = (codes, reference=None, *, dtype, threads=None, progress=None))]
    fn decode<'py>(
        &self,
        py: Python<'py>,
        codes: PyReadonlyArray2<'py, f64>,
        reference: Option<&Bound<'py, PyAny>>,
        dtype: &str,
        threads: Option<usize>,
        progress: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, usize)> {
        let (codes, reference, precision) = (matrix(&codes), reference.map(points).transpose()?, precision(dtype)?);
        let model = Arc::clone(&self.0);
        let decoded = run_through(py, None, progress, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.decode_watched(codes.as_ref(), reference.as_ref(), &threads, watch)
        })?;
        Ok((array(py, decoded.points.as_ref(), precision)?, decoded.n_not_converged()))
    }

    /// The loss of each point.
    #[pyo3(signature = (x, *, threads=None))]
    fn losses<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (points, model) = (points(x)?, Arc::clone(&self.0));
        let losses = run_through(py, None, None, move |watch| {
            let threads = threads.map_or_else(Threads::all, Threads::new)?;
            model.losses_watched(&points, &threads, watch)
        })?;
        Ok(vector(py, &losses, Precision::F64))
    }

    /// The encoder: k x d x d, or k x m over a span.
    fn encoder<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shaped(py, self.0.encoder())
    }

    /// The decoder: k x d x d, or k x m over a span.
    fn decoder<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.shaped(py, self.0.decoder())
    }

    /// The points of the span; `None` with full span.
    fn span_points<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.span_points().map(|points| array(py, points.as_ref(), Precision::F64)).transpose()
    }

    /// The mean of the points learned from.
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.0.mean(), Precision::F64)
    }

    /// The state at the start and after every epoch, as JSON.
    fn history(&self) -> PyResult<String> {
        serde_json::to_string(self.0.history()).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// "full" or "data".
    #[getter]
    fn span(&self) -> &'static str {
        self.0.span().name()
    }

    /// "nearest" or "nonnegative".
    #[getter]
    fn sign(&self) -> &'static str {
        self.0.sign().name()
    }

    /// Coordinates of a point.
    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    /// Numbers of a code.
    #[getter]
    fn n_components(&self) -> usize {
        self.0.n_components()
    }

    /// Updates so far.
    #[getter]
    fn n_updates(&self) -> usize {
        self.0.n_updates()
    }

    /// What points were divided by while they were learned from.
    #[getter]
    fn scale(&self) -> f64 {
        self.0.scale()
    }

    /// Whether points were divided by their largest norm, which may be one.
    #[getter]
    fn is_scaled(&self) -> bool {
        self.0.is_scaled()
    }

    /// The largest norm of a point of the fit.
    #[getter]
    fn longest(&self) -> f64 {
        self.0.longest()
    }

    /// The step of the first update, as given, or as found and halved since.
    #[getter]
    fn learning_rate(&self) -> f64 {
        self.0.learning_rate()
    }

    /// Updates after which the step has halved, if it falls.
    #[getter]
    fn decay(&self) -> Option<f64> {
        self.0.decay()
    }

    /// How often the step was halved because an epoch made things worse.
    #[getter]
    fn n_halved(&self) -> usize {
        self.0.n_halved()
    }

    /// Whether the step was found by trying.
    #[getter]
    fn rate_was_found(&self) -> bool {
        self.0.rate_was_found()
    }

    /// "sgd" or "svrg".
    #[getter]
    fn optimizer(&self) -> &'static str {
        self.0.optimizer().name()
    }

    /// "functional" or "plain".
    #[getter]
    fn gradient(&self) -> &'static str {
        self.0.gradient().name()
    }

    /// Samples that are averaged in an update.
    #[getter]
    fn batch_size(&self) -> usize {
        self.0.batch_size()
    }

    /// Residual of eigenpairs while learning.
    #[getter]
    fn tolerance(&self) -> f64 {
        self.0.tolerance()
    }

    /// Where everything random came from.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Whether a learning rate was too large.
    #[getter]
    fn diverged(&self) -> bool {
        self.0.diverged()
    }

    /// Whether no epoch made the loss smaller.
    #[getter]
    fn is_stuck(&self) -> bool {
        self.0.is_stuck()
    }

    /// Whether learning went on to its end, and was not all in vain.
    #[getter]
    fn converged(&self) -> bool {
        self.0.converged()
    }

    /// Whether learning was stopped from outside before its end.
    #[getter]
    fn was_stopped(&self) -> bool {
        self.0.was_stopped()
    }

    fn __repr__(&self) -> String {
        format!("<mercer autoencoder: {} components of {} features>", self.0.n_components(), self.0.n_features())
    }
}

fn finish(ended: Ended<mercer::Autoencoder>, on_partial: Option<&Bound<'_, PyAny>>) -> PyResult<Autoencoder> {
    match ended {
        Ended::Done(model) => Ok(Autoencoder::new(model)),
        Ended::Interrupted(error, partial) => {
            if let (Some(model), Some(keep)) = (partial, on_partial) {
                keep.call1((Autoencoder::new(model),))?;
            }
            Err(error)
        }
    }
}

/// Whatever a model file holds.
#[pyfunction]
pub(crate) fn load_any(py: Python<'_>, path: PathBuf) -> PyResult<Py<PyAny>> {
    Ok(match py.detach(|| AnyModel::load(&path)).map_err(to_python)? {
        AnyModel::Autoencoder(model) => Autoencoder::new(*model).into_pyobject(py)?.into_any().unbind(),
        AnyModel::KernelPca(model) => Model::new(*model).into_pyobject(py)?.into_any().unbind(),
        AnyModel::Clusters(model) => ClusterModel::new(*model).into_pyobject(py)?.into_any().unbind(),
    })
}
