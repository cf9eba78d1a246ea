//! The kernel Hebbian algorithm, as Python sees it.

use std::sync::Arc;

use mercer::data::RowsRef;
use mercer::hebbian::{RecordError, Start, excess_relative_error};
use mercer::{Gain, GainRule, GramChoice, KernelHebbianPca, Negative, Precision, Refresh};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{array, array_of_points, matrix, points, vector};
use crate::error::to_python;
use crate::model::Model;
use crate::run::{Ended, Run, detached, run, run_through};
use crate::settings::{KernelSettings, center, memory, precision};
use crate::shared::Shared;

/// What the kernel Hebbian algorithm is asked for, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct HebbianSettings<'py> {
    kernel: KernelSettings<'py>,
    n_components: usize,
    center: bool,
    gain: String,
    /// `None` is found by trying, as is `mu`.
    eta0: Option<f64>,
    tau: Option<f64>,
    mu: Option<f64>,
    xi: f64,
    rho0: f64,
    refresh: String,
    passes: usize,
    /// Instead of passes, if there are some.
    updates: Option<usize>,
    batch_size: Option<usize>,
    record_every: Option<usize>,
    record_error: Option<bool>,
    gram: String,
    precision: Option<String>,
    memory_limit: Option<String>,
    threads: Option<usize>,
    seed: u64,
    negative: String,
    tolerance: Option<f64>,
}

impl HebbianSettings<'_> {
    pub(crate) fn learner(&self) -> PyResult<KernelHebbianPca> {
        let mut settings = KernelHebbianPca::new(self.kernel.choice()?)
            .n_components(self.n_components)
            .center(center(self.center))
            .gain(self.gain.parse::<GainRule>().map_err(to_python)?)
            .eta0(gain(self.eta0))
            .mu(gain(self.mu))
            .xi(self.xi)
            .rho0(self.rho0)
            .refresh(self.refresh.parse::<Refresh>().map_err(to_python)?)
            .passes(self.passes)
            .record_error(match self.record_error {
                None => RecordError::Auto,
                Some(true) => RecordError::Yes,
                Some(false) => RecordError::No,
            })
            .gram(self.gram.parse::<GramChoice>().map_err(to_python)?)
            .memory(memory(self.memory_limit.as_deref())?)
            .seed(self.seed)
            .negative(self.negative.parse::<Negative>().map_err(to_python)?);
        if let Some(tau) = self.tau {
            settings = settings.tau(tau);
        }
        if let Some(updates) = self.updates {
            settings = settings.updates(updates);
        }
        if let Some(batch_size) = self.batch_size {
            settings = settings.batch_size(batch_size);
        }
        if let Some(updates) = self.record_every {
            settings = settings.record_every(updates);
        }
        if let Some(name) = &self.precision {
            settings = settings.precision(precision(name)?);
        }
        if let Some(threads) = self.threads {
            settings = settings.threads(threads);
        }
        if let Some(tolerance) = self.tolerance {
            settings = settings.tolerance(tolerance);
        }
        Ok(settings)
    }
}

fn gain(value: Option<f64>) -> Gain {
    value.map_or(Gain::Auto, Gain::Fixed)
}

/// Why what was learned is not kept.
enum Refused {
    Failed(mercer::Error),
    /// What has no room in the precision of results.
    TooLarge(&'static str),
}

impl From<mercer::Error> for Refused {
    fn from(error: mercer::Error) -> Self {
        Self::Failed(error)
    }
}

/// The model of a learner, if its numbers have room in the precision that results are to have.
fn made_of(learner: &mercer::HebbianLearner, results: Option<Precision>) -> Result<mercer::Model, Refused> {
    let model = learner.model()?;
    if results == Some(Precision::F32) {
        let fits = |value: &f64| (*value as f32).is_finite();
        if !model.eigenvalues().iter().all(fits) {
            return Err(Refused::TooLarge("eigenvalues"));
        }
        let components = model.dual_coefficients();
        if !(0..components.ncols()).all(|j| components.col(j).iter().all(fits)) {
            return Err(Refused::TooLarge("components"));
        }
    }
    Ok(model)
}

/// A run of the kernel Hebbian algorithm, which can go on. Made by `HebbianLearner.fit` and `HebbianLearner.from_bytes`.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct HebbianLearner(Arc<Shared<mercer::HebbianLearner>>);

impl HebbianLearner {
    fn new(learner: mercer::HebbianLearner) -> Self {
        Self(Arc::new(Shared::new(learner)))
    }

    /// Asks the learner; a run that was given up may still have it.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&mercer::HebbianLearner) -> T + Send) -> PyResult<T> {
        self.0.with(py, |learner| question(learner))
    }
}

#[pymethods]
impl HebbianLearner {
    /// Learns from points. `on_partial` is called with what has been learned so far if an exception (Ctrl-C) ends the fit early.
    #[staticmethod]
    #[pyo3(signature = (
        x, settings, *, initial_coefficients=None, initial_model=None, order=None, time_limit=None, progress=None, on_partial=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "all but the first two are named in Python")]
    fn fit(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        settings: HebbianSettings<'_>,
        initial_coefficients: Option<PyReadonlyArray2<'_, f64>>,
        initial_model: Option<&Bound<'_, Model>>,
        order: Option<Vec<usize>>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let (points, settings) = (points(x)?, settings.learner()?);
        let coefficients = initial_coefficients.as_ref().map(matrix);
        let model = initial_model.map(|model| model.get().shared());
        let work = move |watch: &mercer::Watch<'_>| {
            let start = Start {
                coefficients: coefficients.as_ref().map(faer::Mat::as_ref),
                model: model.as_deref(),
                order: order.as_deref(),
            };
            settings.fit_from(&points, &start, watch)
        };
        match run(py, time_limit, progress, work)? {
            Ended::Done(learner) => Ok(Self::new(learner)),
            Ended::Interrupted(error, partial) => {
                if let (Some(learner), Some(keep)) = (partial, on_partial) {
                    keep.call1((Self::new(learner),))?;
                }
                Err(error)
            }
        }
    }

    /// Goes on: `passes` or `updates` more, over more points if some are given, for which `taken` bytes of the budget were. The answer is the model and nothing, or
    /// nothing and what of it is too large for the precision of `results`, if one is given: then everything is as it was. `on_partial` is called with the model
    /// if an exception (Ctrl-C) ends the run early and what it learned until then is there.
    #[pyo3(signature = (
        x, passes, updates=None, *, taken=0, results=None, time_limit=None, progress=None, on_partial=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "all but the first three are named in Python")]
    fn partial_fit(
        &self,
        py: Python<'_>,
        x: Option<&Bound<'_, PyAny>>,
        passes: usize,
        updates: Option<usize>,
        taken: u64,
        results: Option<&str>,
        time_limit: Option<f64>,
        progress: Option<&Bound<'_, PyAny>>,
        on_partial: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Option<Model>, Option<&'static str>)> {
        self.0.check()?;
        let (points, learner) = (x.map(points).transpose()?, Arc::clone(&self.0));
        let results = results.map(precision).transpose()?;
        let work = move |watch: &mercer::Watch<'_>| {
            let mut learner = learner.wait();
            learner.memory_taken(taken);
            let n = learner.points().n_samples() + points.as_ref().map_or(0, mercer::Points::n_samples);
            let updates = updates.unwrap_or_else(|| passes.saturating_mul(n));
            let make = |learner: &mercer::HebbianLearner| {
                // Whoever gave up learning waits for what was learned until then, and its model asks a kernel that is a function.
                let _run = Run::begin();
                made_of(learner, results)
            };
            match learner.learn_and(points.as_ref(), updates, watch, make) {
                Ok(model) => Ok(Ok(model)),
                Err(Refused::TooLarge(what)) => Ok(Err(what)),
                Err(Refused::Failed(error)) => Err(error),
            }
        };
        match run(py, time_limit, progress, work)? {
            Ended::Done(Ok(model)) => Ok((Some(Model::new(model)), None)),
            Ended::Done(Err(what)) => Ok((None, Some(what))),
            Ended::Interrupted(error, partial) => {
                if let (Some(Ok(model)), Some(keep)) = (partial, on_partial) {
                    keep.call1((Model::new(model),))?;
                }
                Err(error)
            }
        }
    }

    /// The learner of a checkpoint's bytes and its points; `kernel` is that of the fit, if it was a function.
    #[staticmethod]
    #[pyo3(signature = (data, x, kernel=None, *, memory_limit=None, threads=None))]
    fn from_bytes(
        py: Python<'_>,
        data: &[u8],
        x: &Bound<'_, PyAny>,
        kernel: Option<KernelSettings<'_>>,
        memory_limit: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let (points, memory) = (points(x)?, memory(memory_limit)?);
        let custom = kernel.map(|kernel| kernel.custom()).transpose()?.flatten();
        detached(py, || mercer::HebbianLearner::from_bytes(data, &points, custom, memory, threads))
            .map(Self::new)
            .map_err(to_python)
    }

    /// The bytes of a checkpoint, from which the run goes on; points are not among them.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, mercer::HebbianLearner::to_bytes)?.map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The model: orthonormal directions inside the learned span, in the order of their variance.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        self.ask(py, mercer::HebbianLearner::model)?.map(Model::new).map_err(to_python)
    }

    /// Scores of the points that were learned from, along the directions of the model.
    fn training_scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let answers =
            self.ask(py, |learner| learner.training_scores().and_then(|scores| Ok((scores, learner.model()?))))?;
        let (scores, model) = answers.map_err(to_python)?;
        array(py, scores.as_ref(), model.precision())
    }

    /// The reconstruction error (38) of the components as updated, or that of a model of the same points.
    #[pyo3(signature = (model=None))]
    fn reconstruction_error(&self, py: Python<'_>, model: Option<&Bound<'_, Model>>) -> PyResult<f64> {
        self.0.check()?;
        let (learner, model) = (Arc::clone(&self.0), model.map(|model| model.get().shared()));
        run_through(py, None, None, move |watch| match model {
            Some(model) => learner.wait().reconstruction_error_of(&model, watch),
            None => learner.wait().reconstruction_error(watch),
        })
    }

    /// How much larger that error is than the model's, relative to it.
    fn excess_relative_error(&self, py: Python<'_>, model: &Bound<'_, Model>) -> PyResult<f64> {
        let smallest = self.reconstruction_error(py, Some(model))?;
        Ok(excess_relative_error(self.reconstruction_error(py, None)?, smallest))
    }

    /// The squared error of the points in feature space.
    fn feature_error(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, mercer::HebbianLearner::feature_error)?.map_err(to_python)
    }

    /// The largest angle between the learned span and that of a model of the same points, in radians.
    fn subspace_angle(&self, py: Python<'_>, model: &Bound<'_, Model>) -> PyResult<f64> {
        let model = model.get().shared();
        self.ask(py, move |learner| learner.subspace_angle(&model))?.map_err(to_python)
    }

    /// The coefficients as updated, one row per component and one column per point.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let coefficients = self.ask(py, mercer::HebbianLearner::coefficients)?;
        array(py, coefficients.as_ref(), Precision::F64)
    }

    /// Adapted log-gains, one per component.
    fn log_gains<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(vector(py, &self.ask(py, |learner| learner.log_gains().to_vec())?, Precision::F64))
    }

    /// The gains of the last update, adapted part included.
    fn gains<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(vector(py, &self.ask(py, mercer::HebbianLearner::gains)?, Precision::F64))
    }

    /// Estimates of the eigenvalues, from the coefficients as they are.
    fn eigenvalue_estimates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(vector(py, &self.ask(py, mercer::HebbianLearner::eigenvalue_estimates)?, Precision::F64))
    }

    /// `(eta0, tau, mu)`, as given or as tuned; `None` for what the gain rule does not have.
    fn gain_parameters(&self, py: Python<'_>) -> PyResult<(f64, Option<f64>, Option<f64>)> {
        let parameters = self.ask(py, mercer::HebbianLearner::gain_parameters)?;
        Ok((parameters.eta0, parameters.tau, parameters.mu))
    }

    /// The state at the end of every pass, as JSON.
    fn history(&self, py: Python<'_>) -> PyResult<String> {
        self.ask(py, |learner| serde_json::to_string(learner.history()))?
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// A copy of the points that have been learned from.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let points = self.ask(py, |learner| learner.points().clone())?;
        array_of_points(py, &points)
    }

    /// The numbers that points are made of: "float32", "float64" or "uint8".
    #[getter]
    fn dtype(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.ask(py, |learner| match learner.points().rows(0..0) {
            RowsRef::F32(_) => "float32",
            RowsRef::F64(_) => "float64",
            RowsRef::U8 { .. } => "uint8",
        })
    }

    /// Updates so far.
    #[getter]
    fn n_updates(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, mercer::HebbianLearner::n_updates)
    }

    /// Whether the last run was stopped from outside before its end.
    #[getter]
    fn was_stopped(&self, py: Python<'_>) -> PyResult<bool> {
        self.ask(py, mercer::HebbianLearner::was_stopped)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<{}>", self.ask(py, |learner| format!("{learner:?}"))?))
    }
}
