//! The whole state of a learner as bytes, so that a stream that was cut off goes on as if it had not been.
//!
//! The bytes are JSON with every number in full, so what comes back is what went in, to the bit.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::factor::Factor;
use super::learner::Learner;
use super::memory::Memory;
use super::settings::OnlineKernelPca;
use crate::choices::Center;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::recorded_kernel;
use crate::record::KernelRecord;

/// Version of the layout.
const FORMAT_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format_version: u32,
    settings: SettingsState,
    memory: Option<MemoryState>,
    n_seen: usize,
    started: usize,
    finished: usize,
    n_since: usize,
    with_mean: Vec<f64>,
    mean_squared: f64,
    inner: Vec<Vec<f64>>,
    lateral: Vec<Vec<f64>>,
    variances: Vec<f64>,
    budget_error: Vec<f64>,
    n_shrunk: usize,
    removals: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsState {
    kernel: KernelRecord,
    n_components: usize,
    rule: String,
    learning_rate: f64,
    schedule: String,
    tau: f64,
    beta: f64,
    centered: bool,
    budget: Option<usize>,
    policy: String,
    forgetting: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryState {
    n_features: usize,
    rows: Vec<Vec<f64>>,
    components: Vec<Vec<f64>>,
    mean: Vec<f64>,
    arrivals: Vec<usize>,
    factor: Option<Factor>,
}

impl Learner {
    /// The whole state of the learner.
    ///
    /// ```
    /// use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// let rows = Points::from_f64((0..40).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 20, 2)?;
    /// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.01)?).budget(5).learner()?;
    /// learner.learn(&rows.slice(0..10))?;
    /// let mut other = Learner::from_bytes(&learner.to_bytes()?)?;
    /// let rest = rows.slice(10..20);
    /// assert_eq!(learner.learn(&rest)?, other.learn(&rest)?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the kernel is a function, which cannot be written down.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if let Kernel::Custom(custom) = &self.settings.kernel {
            return Err(Error::UnsuitableKernel {
                what: "saving a learner",
                kernel: custom.name().to_owned(),
                reason: "a function cannot be written to a file",
            });
        }
        let settings = &self.settings;
        let state = State {
            format_version: FORMAT_VERSION,
            settings: SettingsState {
                kernel: KernelRecord::from(&settings.kernel),
                n_components: settings.n_components,
                rule: settings.rule.name().to_owned(),
                learning_rate: settings.learning_rate,
                schedule: settings.schedule.name().to_owned(),
                tau: settings.tau,
                beta: settings.beta,
                centered: settings.center == Center::Yes,
                budget: settings.budget,
                policy: settings.policy.name().to_owned(),
                forgetting: settings.forgetting,
            },
            memory: self.memory.as_ref().map(|memory| MemoryState {
                n_features: memory.rows.n_features(),
                rows: (0..memory.len()).map(|slot| memory.rows.row(slot)).collect(),
                components: memory.components.clone(),
                mean: memory.mean.clone(),
                arrivals: memory.arrivals.clone(),
                factor: memory.factor.clone(),
            }),
            n_seen: self.n_seen,
            started: self.started,
            finished: self.finished,
            n_since: self.n_since,
            with_mean: self.with_mean.clone(),
            mean_squared: self.mean_squared,
            inner: self.inner.row_iter().map(|row| row.iter().copied().collect()).collect(),
            lateral: self.lateral.clone(),
            variances: self.variances.clone(),
            budget_error: self.budget_error.clone(),
            n_shrunk: self.n_shrunk,
            removals: self.removals,
        };
        serde_json::to_vec(&state).map_err(|error| unreadable(&format!("it cannot be written: {error}")))
    }

    /// The learner that `to_bytes` was called on.
    ///
    /// # Errors
    ///
    /// If the bytes are not the state of a learner, or of one that a later version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let state: State = serde_json::from_slice(bytes).map_err(|error| unreadable(&error.to_string()))?;
        if state.format_version != FORMAT_VERSION {
            let found = state.format_version;
            return Err(unreadable(&format!("it has format {found}, but this version reads format {FORMAT_VERSION}")));
        }
        if !state.is_consistent() {
            return Err(unreadable("its parts do not fit together"));
        }
        let SettingsState { kernel, n_components, rule, learning_rate, schedule, tau, beta, centered, .. } =
            &state.settings;
        let mut settings = OnlineKernelPca::new(recorded_kernel(kernel)?)
            .n_components(*n_components)
            .rule(rule.parse()?)
            .learning_rate(*learning_rate)
            .schedule(schedule.parse()?)
            .tau(*tau)
            .beta(*beta)
            .center(if *centered { Center::Yes } else { Center::No })
            .policy(state.settings.policy.parse()?);
        settings.budget = state.settings.budget;
        settings.forgetting = state.settings.forgetting;
        let mut learner = settings.learner()?;
        learner.memory = state.memory.map(|saved| saved.restore(&learner.settings.kernel));
        learner.n_seen = state.n_seen;
        learner.started = state.started;
        learner.finished = state.finished;
        learner.n_since = state.n_since;
        learner.with_mean = state.with_mean;
        learner.mean_squared = state.mean_squared;
        learner.inner = Mat::from_fn(*n_components, *n_components, |i, j| state.inner[i][j]);
        learner.lateral = state.lateral;
        learner.variances = state.variances;
        learner.budget_error = state.budget_error;
        learner.n_shrunk = state.n_shrunk;
        learner.removals = state.removals;
        Ok(learner)
    }
}

impl State {
    fn is_consistent(&self) -> bool {
        let p = self.settings.n_components;
        let square = |rows: &[Vec<f64>]| rows.len() == p && rows.iter().all(|row| row.len() == p);
        let each = [&self.with_mean, &self.variances, &self.budget_error];
        each.iter().all(|numbers| numbers.len() == p)
            && square(&self.inner)
            && self.lateral.len() == p
            && self.lateral.iter().enumerate().all(|(i, weights)| weights.len() == i)
            && self.started <= p
            && self.finished <= self.started
            && self.memory.as_ref().is_none_or(|memory| memory.is_consistent(p))
    }
}

impl MemoryState {
    fn is_consistent(&self, p: usize) -> bool {
        let m = self.rows.len();
        self.n_features > 0
            && self.rows.iter().all(|row| row.len() == self.n_features && row.iter().all(|x| x.is_finite()))
            && self.components.len() == p
            && self.components.iter().all(|component| component.len() == m)
            && self.mean.len() == m
            && self.arrivals.len() == m
            && self.factor.as_ref().is_none_or(|factor| factor.is_consistent(m))
    }

    fn restore(self, kernel: &Kernel) -> Memory {
        let mut memory = Memory::new(kernel.clone(), self.n_features, self.components.len(), false);
        for (row, &arrival) in self.rows.iter().zip(&self.arrivals) {
            memory.push(row, arrival);
        }
        memory.components = self.components;
        memory.mean = self.mean;
        memory.factor = self.factor;
        memory
    }
}

fn unreadable(why: &str) -> Error {
    Error::invalid("state", "that of an online learner", format!("not readable ({why})"))
}
