//! Online learners.

use mercer::online::{Learner, OnlineKernelPca, OnlineLearner as _, Policy, Rule, Schedule};
use mercer::watch::Threads;
use mercer::{Center, Error, Points, Precision, Watch};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{array, matrix, points, vector};
use crate::error::to_python;
use crate::model::Model;
use crate::run::run_through;
use crate::settings::KernelSettings;
use crate::shared::{Shared, called_by_work};

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
pub(crate) struct OnlineLearner {
    /// Taken for some rows at a time, so that it can be asked while it learns.
    learner: Shared<Learner>,
    /// Taken for as long as rows of one call are learned, so that those of two calls do not mix.
    turn: Shared<()>,
}

impl OnlineLearner {
    fn new(learner: Learner) -> Self {
        Self { learner: Shared::new(learner), turn: Shared::new(()) }
    }

    /// Asks the learner.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&Learner) -> T + Send) -> PyResult<T> {
        self.learner.with(py, |learner| question(learner))
    }

    /// Learns from rows, without the interpreter.
    fn learn_detached(&self, rows: &Points) -> PyResult<faer::Mat<f64>> {
        let _turn = self.turn.lock()?;
        let n = rows.n_samples();
        let checked = self.learner.with_detached(|learner| {
            let before = learner.copy_before(rows)?;
            Ok((before, learner.n_seen(), faer::Mat::zeros(n, learner.n_components())))
        })?;
        let (before, n_before, mut outputs) = checked.map_err(to_python)?;
        for first in (0..n).step_by(ROWS_AT_ONCE) {
            let end = n.min(first + ROWS_AT_ONCE);
            let block = self.learner.with_detached(|learner| {
                let block = learner.learn(&rows.slice(first..end));
                if let (Err(_), Some(before)) = (&block, &before) {
                    learner.clone_from(before);
                }
                block
            })?;
            outputs
                .as_mut()
                .subrows_mut(first, end - first)
                .copy_from(block.map_err(|error| to_python(in_call(error, n_before)))?);
            // A handler of the user may ask the learner, too.
            Python::attach(|py| called_by_work(|| py.check_signals()))?;
        }
        Ok(outputs)
    }
}

/// The error of a row that the learner knows by its number in the stream, with its number among those of the call; before them, so many had been
/// learned.
fn in_call(mut error: Error, n_before: usize) -> Error {
    match &mut error {
        // Of a row with itself.
        Error::CustomKernel { row, column, .. } => {
            *row = row.saturating_sub(n_before);
            *column = *row;
        }
        Error::NotFinite { row, .. } | Error::TooLargeToLearn { row, .. } | Error::KernelWithLearned { row, .. } => {
            *row = row.saturating_sub(n_before);
        }
        _ => {}
    }
    error
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
            online = online.start(Points::from_f64(values, start.nrows(), start.ncols()).map_err(to_python)?);
        }
        online.learner().map(Self::new).map_err(to_python)
    }

    /// A learner whose components begin as those of a model.
    #[staticmethod]
    fn from_model(py: Python<'_>, model: PyRef<'_, Model>, learning: LearningSettings) -> PyResult<Self> {
        let model = model.shared();
        let settings = learning.with(OnlineKernelPca::for_model(&model))?;
        let begin = move |watch: &Watch<'_>| settings.learner_from_watched(&model, &Threads::all()?, watch);
        run_through(py, None, None, begin).map(Self::new)
    }

    /// Learns from rows and returns the output that each had at its own update; a bad row is an error, and none of them is learned.
    fn learn<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let rows = points(x)?;
        let outputs = py.detach(|| self.learn_detached(&rows))?;
        array(py, outputs.as_ref(), Precision::F64)
    }

    /// What the components make of rows, without learning from them: their outputs, and the squared distance of each row from
    /// the span of the components.
    fn look<'py>(&self, py: Python<'py>, x: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let rows = points(x)?;
        let (seen, columns) = self.ask(py, |learner| (learner.look_at_rows(&rows), learner.n_components()))?;
        let seen: Vec<mercer::online::Seen> = seen.map_err(to_python)?;
        let outputs = faer::Mat::from_fn(seen.len(), columns, |i, j| seen[i].outputs[j]);
        let novelty: Vec<f64> = seen.iter().map(|seen| seen.novelty).collect();
        Ok((array(py, outputs.as_ref(), Precision::F64)?, vector(py, &novelty, Precision::F64)))
    }

    /// The rows it remembers.
    fn basis<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let basis = self.ask(py, Learner::basis)?;
        let columns = basis.first().map_or(0, Vec::len);
        let rows = faer::Mat::from_fn(basis.len(), columns, |i, j| basis[i][j]);
        array(py, rows.as_ref(), Precision::F64)
    }

    /// The coefficients of every component over those rows: one row per component.
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let coefficients = self.ask(py, Learner::coefficients)?;
        array(py, coefficients.as_ref(), Precision::F64)
    }

    /// The lateral weights of the rule APEX, a lower triangle.
    fn lateral<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let weights = self.ask(py, |learner| learner.lateral().to_vec())?;
        let square = faer::Mat::from_fn(weights.len(), weights.len(), |i, j| weights[i].get(j).copied().unwrap_or(0.0));
        array(py, square.as_ref(), Precision::F64)
    }

    /// For each component, how far it is from what it would be if no row had been given up.
    fn budget_error<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let errors = self.ask(py, Learner::budget_error)?.map_err(to_python)?;
        Ok(vector(py, &errors, Precision::F64))
    }

    /// How far the running mean is from that of the last rows.
    fn mean_drift(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, Learner::mean_drift)?.map_err(to_python)
    }

    /// What should be said about the cost of the budget.
    fn budget_warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, Learner::budget_warnings)
    }

    /// The warning that components explain more than all of the variance, if they do.
    fn excess_warning(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, Learner::excess_warning)
    }

    /// The warning that a component has become short because rows are dropped, if one has.
    fn wear_warning(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.ask(py, Learner::wear_warning)
    }

    /// The mean of the squared outputs of each component.
    fn variances<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let variances = self.ask(py, |learner| learner.variances().to_vec())?;
        Ok(vector(py, &variances, Precision::F64))
    }

    /// The variance of the last rows along the directions of the model, and its share of all.
    fn captured<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let captured = self.ask(py, Learner::captured)?.map_err(to_python)?;
        let ratio = captured.ratio();
        Ok((vector(py, &captured.variances, Precision::F64), vector(py, &ratio, Precision::F64)))
    }

    /// The mean of the squared lengths of the rows' images.
    #[getter]
    fn total_variance(&self, py: Python<'_>) -> PyResult<f64> {
        self.ask(py, Learner::total_variance)
    }

    /// The model of what has been learned so far.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        self.ask(py, Learner::model)?.map(Model::new).map_err(to_python)
    }

    /// The model of what has been learned so far, and the scores under it of rows with these outputs.
    fn model_and_scores<'py>(
        &self,
        py: Python<'py>,
        outputs: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<(Model, Bound<'py, PyAny>)> {
        let outputs = matrix(&outputs);
        let both = |learner: &Learner| -> mercer::Result<(mercer::Model, faer::Mat<f64>)> {
            Ok((learner.model()?, learner.scores_of_outputs(outputs.as_ref())?))
        };
        let (model, scores) = self.ask(py, both)?.map_err(to_python)?;
        Ok((Model::new(model), array(py, scores.as_ref(), Precision::F64)?))
    }

    /// Rows it has learned from.
    #[getter]
    fn n_seen(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_seen)
    }

    /// Rows for which the learning rate had to be made smaller.
    #[getter]
    fn n_shrunk(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_shrunk)
    }

    /// What the learning rate was, and what it was made, at the last of those rows.
    #[getter]
    fn last_shrunk(&self, py: Python<'_>) -> PyResult<Option<(f64, f64)>> {
        self.ask(py, Learner::last_shrunk)
    }

    /// Components that have begun to learn.
    #[getter]
    fn n_started(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_started)
    }

    /// Components that have finished, and stand still while the one after them learns.
    #[getter]
    fn n_finished(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_finished)
    }

    /// Points of the model that components began as.
    #[getter]
    fn n_before(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_before)
    }

    /// Components that are learned.
    #[getter]
    fn n_components(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, Learner::n_components)
    }

    /// Coordinates of a row, once there has been one.
    #[getter]
    fn n_features(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        self.ask(py, Learner::n_features)
    }

    /// The settings that it learns by, as JSON.
    fn settings(&self, py: Python<'_>) -> PyResult<String> {
        let record = self.ask(py, |learner| learner.settings().record())?;
        serde_json::to_string(&record).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The points that components start from, if they were given.
    fn start_points<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let start = self.ask(py, Learner::start_points)?;
        let rows = faer::Mat::from_fn(start.len(), start.first().map_or(0, Vec::len), |i, j| start[i][j]);
        array(py, rows.as_ref(), Precision::F64)
    }

    /// A learner whose components stand still while one more, which starts at `start`, learns what they leave.
    fn next_component(&self, py: Python<'_>, start: &Bound<'_, PyAny>) -> PyResult<Self> {
        let start = points(start)?;
        self.ask(py, |learner| learner.next_component(&start))?.map(Self::new).map_err(to_python)
    }

    /// The whole state; a kernel that is a function is not among it.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.ask(py, Learner::to_bytes)?.map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The learner with this state; `kernel` is the one it learns with, if that is a function.
    #[staticmethod]
    #[pyo3(signature = (data, kernel=None))]
    fn from_bytes(data: &[u8], kernel: Option<KernelSettings<'_>>) -> PyResult<Self> {
        let custom = kernel.map(|kernel| kernel.custom()).transpose()?.flatten();
        Learner::from_bytes(data, custom).map(Self::new).map_err(to_python)
    }

    /// The learner with this state, and the note that was saved with it.
    #[staticmethod]
    fn from_bytes_with_note(data: &[u8]) -> PyResult<(Self, String)> {
        let (learner, note) = Learner::from_bytes_with_note(data, None).map_err(to_python)?;
        Ok((Self::new(learner), note))
    }
}
