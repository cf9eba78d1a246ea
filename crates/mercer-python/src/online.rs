//! Online learners.

use std::sync::{Mutex, MutexGuard, PoisonError};

use mercer::online::{Learner, OnlineKernelPca, Policy, Rule, Schedule};
use mercer::watch::Threads;
use mercer::{Center, Precision, Watch};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{array, matrix, points, vector};
use crate::error::to_python;
use crate::model::Model;
use crate::run::{detached, run_through};
use crate::settings::KernelSettings;

/// Rows that are learned before signals are looked for.
const ROWS_AT_ONCE: usize = 256;

/// An online learner as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct OnlineSettings<'py> {
    kernel: KernelSettings<'py>,
    center: bool,
    start: Option<PyReadonlyArray2<'py, f64>>,
    learning: LearningSettings,
}

/// How components learn, as the package describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct LearningSettings {
    n_components: Option<usize>,
    rule: String,
    learning_rate: Option<f64>,
    schedule: String,
    tau: Option<f64>,
    beta: Option<f64>,
    budget: Option<usize>,
    policy: Option<String>,
    forgetting: Option<f64>,
    rows_per_component: Option<usize>,
}

impl LearningSettings {
    /// The same settings, with these.
    fn with(&self, online: OnlineKernelPca) -> PyResult<OnlineKernelPca> {
        let online = online
            .rule(self.rule.parse::<Rule>().map_err(to_python)?)
            .schedule(self.schedule.parse::<Schedule>().map_err(to_python)?);
        let online = self.n_components.into_iter().fold(online, OnlineKernelPca::n_components);
        let online = self.learning_rate.into_iter().fold(online, OnlineKernelPca::learning_rate);
        let online = self.tau.into_iter().fold(online, OnlineKernelPca::tau);
        let online = self.beta.into_iter().fold(online, OnlineKernelPca::beta);
        let online = self.budget.into_iter().fold(online, OnlineKernelPca::budget);
        let online = self.forgetting.into_iter().fold(online, OnlineKernelPca::forgetting);
        let online = self.rows_per_component.into_iter().fold(online, OnlineKernelPca::rows_per_component);
        let policy = self.policy.as_deref().map(str::parse::<Policy>).transpose().map_err(to_python)?;
        Ok(policy.into_iter().fold(online, OnlineKernelPca::policy))
    }
}

/// A learner that sees one row at a time.
#[pyclass(frozen, module = "mercer._mercer")]
pub(crate) struct OnlineLearner(Mutex<Learner>);

impl OnlineLearner {
    fn learner(&self) -> MutexGuard<'_, Learner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl OnlineLearner {
    /// A learner for rows like these, which it has not learned from yet.
    #[staticmethod]
    fn create(x: &Bound<'_, PyAny>, settings: OnlineSettings<'_>) -> PyResult<Self> {
        let center = if settings.center { Center::Yes } else { Center::No };
        let online = OnlineKernelPca::new(settings.kernel.resolve(&points(x)?)?).center(center);
        let mut online = settings.learning.with(online)?;
        if let Some(start) = &settings.start {
            let start = matrix(start);
            let values: Vec<f64> = start.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
            online = online.start(mercer::Points::from_f64(values, start.nrows(), start.ncols()).map_err(to_python)?);
        }
        online.learner().map(|learner| Self(Mutex::new(learner))).map_err(to_python)
    }

    /// A learner whose components begin as those of a model.
    #[staticmethod]
    fn from_model(py: Python<'_>, model: PyRef<'_, Model>, learning: LearningSettings) -> PyResult<Self> {
        let model = model.shared();
        let settings = learning.with(OnlineKernelPca::for_model(&model))?;
        let begin = move |watch: &Watch<'_>| settings.learner_from_watched(&model, &Threads::all()?, watch);
        run_through(py, None, None, begin).map(|learner| Self(Mutex::new(learner)))
    }

    /// Learns from rows and returns the output that each had at its own update; a bad row is an error, and none of them is learned.
    fn learn<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = points(x)?;
        let n = rows.n_samples();
        let before = detached(py, || {
            let learner = self.learner();
            learner.check_rows(&rows)?;
            // Other kernels may still fail at a pair of rows.
            Ok((!learner.settings().kernel().is_positive_definite()).then(|| learner.clone()))
        });
        let before = before.map_err(to_python)?;
        let mut outputs = faer::Mat::zeros(n, self.learner().n_components());
        for first in (0..n).step_by(ROWS_AT_ONCE) {
            let end = n.min(first + ROWS_AT_ONCE);
            let block = detached(py, || {
                use mercer::online::OnlineLearner as _;
                self.learner().learn(&rows.slice(first..end))
            });
            let block = block.map_err(|error| {
                if let Some(before) = &before {
                    self.learner().clone_from(before);
                }
                to_python(error)
            })?;
            outputs.as_mut().subrows_mut(first, end - first).copy_from(block);
            py.check_signals()?;
        }
        array(py, outputs.as_ref(), Precision::F64)
    }

    /// What the components make of rows, without learning from them: their outputs, and the squared distance of each row from
    /// the span of the components.
    fn look<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let rows = points(x)?;
        let seen: Vec<mercer::online::Seen> = detached(py, || self.learner().look_at_rows(&rows)).map_err(to_python)?;
        let columns = self.learner().n_components();
        let outputs = faer::Mat::from_fn(seen.len(), columns, |i, j| seen[i].outputs[j]);
        let novelty: Vec<f64> = seen.iter().map(|seen| seen.novelty).collect();
        Ok((array(py, outputs.as_ref(), Precision::F64)?, vector(py, &novelty, Precision::F64)))
    }

    /// The rows it remembers.
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let basis = self.learner().basis();
        let columns = basis.first().map_or(0, Vec::len);
        let rows = faer::Mat::from_fn(basis.len(), columns, |i, j| basis[i][j]);
        array(py, rows.as_ref(), Precision::F64)
    }

    /// The coefficients of every component over those rows: one row per component.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let coefficients = self.learner().coefficients();
        array(py, coefficients.as_ref(), Precision::F64)
    }

    /// The lateral weights of the rule APEX, a lower triangle.
    fn lateral<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let learner = self.learner();
        let weights = learner.lateral();
        let square = faer::Mat::from_fn(weights.len(), weights.len(), |i, j| weights[i].get(j).copied().unwrap_or(0.0));
        array(py, square.as_ref(), Precision::F64)
    }

    /// For each component, how far it is from what it would be if no row had been given up.
    fn budget_error<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let errors = detached(py, || self.learner().budget_error()).map_err(to_python)?;
        Ok(vector(py, &errors, Precision::F64))
    }

    /// How far the running mean is from that of the last rows.
    fn mean_error(&self, py: Python<'_>) -> PyResult<f64> {
        detached(py, || self.learner().mean_error()).map_err(to_python)
    }

    /// What should be said about the cost of the budget.
    fn budget_warnings(&self) -> Vec<String> {
        self.learner().budget_warnings()
    }

    /// The mean of the squared outputs of each component.
    fn variances<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        vector(py, self.learner().variances(), Precision::F64)
    }

    /// The variance of the last rows along the directions of the model, and its share of all.
    fn captured<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let captured = detached(py, || self.learner().captured()).map_err(to_python)?;
        let ratio = captured.ratio();
        Ok((vector(py, &captured.variances, Precision::F64), vector(py, &ratio, Precision::F64)))
    }

    /// The mean of the squared lengths of the rows' images.
    #[getter]
    fn total_variance(&self) -> f64 {
        self.learner().total_variance()
    }

    /// The model of what has been learned so far.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        detached(py, || self.learner().model()).map(Model::new).map_err(to_python)
    }

    /// Rows it has learned from.
    #[getter]
    fn n_seen(&self) -> usize {
        use mercer::online::OnlineLearner as _;
        self.learner().n_seen()
    }

    /// Rows for which the learning rate had to be made smaller.
    #[getter]
    fn n_shrunk(&self) -> usize {
        self.learner().n_shrunk()
    }

    /// What the learning rate was, and what it was made, at the last of those rows.
    #[getter]
    fn last_shrunk(&self) -> Option<(f64, f64)> {
        self.learner().last_shrunk()
    }

    /// Components that have begun to learn.
    #[getter]
    fn n_started(&self) -> usize {
        self.learner().n_started()
    }

    /// Components that have finished, and stand still while the one after them learns.
    #[getter]
    fn n_finished(&self) -> usize {
        self.learner().n_finished()
    }

    /// Points of the model that components began as.
    #[getter]
    fn n_before(&self) -> usize {
        self.learner().n_before()
    }

    /// Components that are learned.
    #[getter]
    fn n_components(&self) -> usize {
        self.learner().n_components()
    }

    /// Coordinates of a row, once there has been one.
    #[getter]
    fn n_features(&self) -> Option<usize> {
        self.learner().n_features()
    }

    /// The settings that it learns by, as JSON.
    fn settings(&self) -> PyResult<String> {
        serde_json::to_string(&self.learner().settings().record())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The points that components start from, if they were given.
    fn start_points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let start = self.learner().start_points();
        let rows = faer::Mat::from_fn(start.len(), start.first().map_or(0, Vec::len), |i, j| start[i][j]);
        array(py, rows.as_ref(), Precision::F64)
    }

    /// A learner whose components stand still while one more, which starts at `start`, learns what they leave.
    fn next_component(&self, start: &Bound<'_, PyAny>) -> PyResult<Self> {
        let next = self.learner().next_component(&points(start)?).map_err(to_python)?;
        Ok(Self(Mutex::new(next)))
    }

    /// The whole state; a kernel that is a function is not among it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.learner().to_bytes().map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The learner with this state; `kernel` is the one it learns with, if that is a function.
    #[staticmethod]
    #[pyo3(signature = (data, kernel=None))]
    fn from_bytes(data: &[u8], kernel: Option<KernelSettings<'_>>) -> PyResult<Self> {
        let custom = kernel.map(|kernel| kernel.custom()).transpose()?.flatten();
        Learner::from_bytes(data, custom).map(|learner| Self(Mutex::new(learner))).map_err(to_python)
    }

    /// The learner with this state, and the note that was saved with it.
    #[staticmethod]
    fn from_bytes_with_note(data: &[u8]) -> PyResult<(Self, String)> {
        let (learner, note) = Learner::from_bytes_with_note(data, None).map_err(to_python)?;
        Ok((Self(Mutex::new(learner)), note))
    }
}
