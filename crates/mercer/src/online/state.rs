//! The whole state of a learner as bytes, so that a stream that was cut off goes on as if it had not been.
//!
//! A line that says what the bytes are, with a digest of the others; then JSON with every number in full, so what comes back is what
//! went in, to the bit.

mod consistency;
#[cfg(test)]
mod tests;

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::factor::{Factor, SavedFactor};
use super::learner::Learner;
use super::memory::Memory;
use super::recent::Recent;
use super::settings::OnlineKernelPca;
use super::warm::Origin;
use crate::choices::Center;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{digest, recorded_kernel};
use crate::record::KernelRecord;

/// Version of the layout: the last rows are in it since the second; since the third, the points that components start from, when each began, whether
/// they take turns, and what comes from a model; since the fourth, how far components have been learned anew since they first lost something. The
/// second and the third are still read: the second has nothing of that, and the third may have what the fourth has.
const FORMAT_VERSION: u32 = 4;
/// The layout since which start points and the beginnings of components are in it.
const WITH_START: u32 = 3;
/// The oldest layout that is read.
const OLDEST_VERSION: u32 = 2;

/// What counts may be: sums of two of them are far from the end of the range.
pub(super) const LARGEST_COUNT: usize = 1 << 53;

/// What the bytes begin with.
pub(crate) const MAGIC: &str = "mercer learner";

/// What every version begins with.
#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    format_version: u32,
    note: String,
    settings: SettingsState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<Vec<Vec<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scaling: Option<ScalingState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    memory: Option<MemoryState>,
    n_seen: usize,
    started: usize,
    finished: usize,
    n_since: usize,
    #[serde(default)]
    began: Vec<usize>,
    with_mean: Vec<f64>,
    mean_squared: f64,
    inner: Vec<Vec<f64>>,
    lateral: Vec<Vec<f64>>,
    variances: Vec<f64>,
    total_variance: f64,
    budget_error: Vec<f64>,
    #[serde(default)]
    unsettled: Vec<f64>,
    n_shrunk: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_shrunk: Option<(f64, f64)>,
    given_up: usize,
    kernel_entries: u64,
    recent: Recent,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsState {
    kernel: KernelRecord,
    /// Whether the kernel is a function, of which there is nothing here but its name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    kernel_is_function: bool,
    n_components: usize,
    rule: String,
    learning_rate: Option<f64>,
    schedule: String,
    tau: Option<f64>,
    beta: Option<f64>,
    centered: bool,
    budget: Option<usize>,
    policy: Option<String>,
    forgetting: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows_per_component: Option<usize>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScalingState {
    shift: Vec<f64>,
    factor: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MemoryState {
    n_features: usize,
    rows: Vec<Vec<f64>>,
    components: Vec<Vec<f64>>,
    mean: Vec<f64>,
    arrivals: Vec<usize>,
    squares: Vec<f64>,
    factor: Option<SavedFactor>,
}

impl Learner {
    /// The whole state of the learner. A kernel that is a function is not among it: [`from_bytes`](Self::from_bytes) has to be given it again.
    ///
    /// ```
    /// use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
    /// use mercer::{Kernel, Points};
    ///
    /// let rows = Points::from_f64((0..40).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 20, 2)?;
    /// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.01)?).budget(5).learner()?;
    /// learner.learn(&rows.slice(0..10))?;
    /// let mut other = Learner::from_bytes(&learner.to_bytes()?, None)?;
    /// let rest = rows.slice(10..20);
    /// assert_eq!(learner.learn(&rest)?, other.learn(&rest)?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a number in it is not finite.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_bytes_with_note("")
    }

    /// The whole state of the learner, and a note that comes back with it.
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
    ///
    /// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).learner()?;
    /// learner.learn_row(&[0.1, 0.2])?;
    /// let bytes = learner.to_bytes_with_note("up to line 1")?;
    /// let (again, note) = Learner::from_bytes_with_note(&bytes, None)?;
    /// assert_eq!((again.n_seen(), note.as_str()), (1, "up to line 1"));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`to_bytes`](Self::to_bytes).
    pub fn to_bytes_with_note(&self, note: &str) -> Result<Vec<u8>> {
        let state = State::of(self, note);
        if !state.is_finite() {
            return Err(Error::invalid("state", "of finite numbers", "one in which some are not"));
        }
        let json =
            serde_json::to_string(&state).map_err(|error| unreadable(&format!("it cannot be written: {error}")))?;
        Ok(format!("{MAGIC} {}\n{json}", checksum(&json)).into_bytes())
    }

    /// The learner that `to_bytes` was called on; `custom` is its kernel, if that is a function.
    ///
    /// # Errors
    ///
    /// If the bytes are not the state of a learner, have been altered, or were written by a later version; if its kernel is a function and is not
    /// given, or is none and one is given.
    pub fn from_bytes(bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        Self::from_bytes_with_note(bytes, custom).map(|(learner, _)| learner)
    }

    /// The learner that `to_bytes_with_note` was called on, and the note.
    ///
    /// # Errors
    ///
    /// As [`from_bytes`](Self::from_bytes).
    pub fn from_bytes_with_note(bytes: &[u8], custom: Option<Kernel>) -> Result<(Self, String)> {
        let text = std::str::from_utf8(bytes).map_err(|_| unreadable("it is not text"))?;
        let rest = text.strip_prefix(MAGIC).ok_or_else(|| unreadable("it does not begin as one does"))?;
        let (expected, json) = rest.split_once('\n').ok_or_else(|| unreadable("it ends too early"))?;
        if checksum(json) != expected.trim() {
            return Err(unreadable("it has been altered or ends too early: its contents do not match its digest"));
        }
        State::read(json)?.restore(custom)
    }
}

impl SettingsState {
    fn of(settings: &OnlineKernelPca) -> Self {
        Self {
            kernel: KernelRecord::from(&settings.kernel),
            kernel_is_function: matches!(settings.kernel, Kernel::Custom(_)),
            n_components: settings.n_components,
            rule: settings.rule.name().to_owned(),
            learning_rate: settings.learning_rate,
            schedule: settings.schedule.name().to_owned(),
            tau: settings.tau,
            beta: settings.beta,
            centered: settings.center == Center::Yes,
            budget: settings.budget,
            policy: settings.policy.map(|policy| policy.name().to_owned()),
            forgetting: settings.forgetting,
            rows_per_component: settings.rows_per_component,
        }
    }

    /// The settings, but for the points that components start from: those are in memory already.
    fn restore(&self, custom: Option<Kernel>) -> Result<OnlineKernelPca> {
        let mut settings = OnlineKernelPca::new(self.kernel(custom)?)
            .n_components(self.n_components)
            .rule(self.rule.parse()?)
            .schedule(self.schedule.parse()?)
            .center(if self.centered { Center::Yes } else { Center::No });
        settings.learning_rate = self.learning_rate;
        settings.tau = self.tau;
        settings.beta = self.beta;
        settings.budget = self.budget;
        settings.policy = self.policy.as_deref().map(str::parse).transpose()?;
        settings.forgetting = self.forgetting;
        settings.rows_per_component = self.rows_per_component;
        Ok(settings)
    }

    /// The kernel: as it was recorded, or the function that it was.
    fn kernel(&self, custom: Option<Kernel>) -> Result<Kernel> {
        let name = &self.kernel.name;
        match (custom, self.kernel_is_function) {
            (None, false) => recorded_kernel(&self.kernel),
            (Some(custom @ Kernel::Custom(_)), true) => Ok(custom),
            (None, true) => Err(Error::UnsuitableKernel {
                what: "reading a learner by itself",
                kernel: name.clone(),
                reason: "it is a function, which has to be given again",
            }),
            (Some(found), true) => {
                Err(Error::invalid("custom", "a function, as the learner's kernel is", found.name()))
            }
            (Some(found), false) => {
                let requirement = format!("left out: the learner's kernel is {name}, which is no function");
                Err(Error::invalid("custom", requirement, found.name()))
            }
        }
    }
}

impl State {
    fn of(learner: &Learner, note: &str) -> Self {
        let settings = &learner.settings;
        let scaling = learner.scaling.as_ref();
        Self {
            format_version: FORMAT_VERSION,
            note: note.to_owned(),
            settings: SettingsState::of(settings),
            start: settings.start.as_ref().map(|_| learner.start_points()),
            scaling: scaling
                .map(|scaling| ScalingState { shift: scaling.shift().to_vec(), factor: scaling.factor().to_vec() }),
            origin: learner.origin.clone(),
            memory: learner.memory.as_ref().map(MemoryState::of),
            n_seen: learner.n_seen,
            started: learner.started,
            finished: learner.finished,
            n_since: learner.n_since,
            began: learner.began.clone(),
            with_mean: learner.with_mean.clone(),
            mean_squared: learner.mean_squared,
            inner: learner.inner.row_iter().map(|row| row.iter().copied().collect()).collect(),
            lateral: learner.lateral.clone(),
            variances: learner.variances.clone(),
            total_variance: learner.total_variance,
            budget_error: learner.followed_error.clone(),
            unsettled: learner.unsettled.clone(),
            n_shrunk: learner.n_shrunk,
            last_shrunk: learner.last_shrunk,
            given_up: learner.given_up,
            kernel_entries: learner.kernel_entries,
            recent: learner.recent.clone(),
        }
    }

    /// The state that JSON of a version that is known holds, if its parts fit together.
    fn read(json: &str) -> Result<Self> {
        let wrong = |error: serde_json::Error| unreadable(&error.to_string());
        let VersionOnly { format_version: found } = serde_json::from_str(json).map_err(wrong)?;
        if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&found) {
            return Err(unreadable(&format!(
                "it has format {found}, but this version reads formats {OLDEST_VERSION} to {FORMAT_VERSION}"
            )));
        }
        let mut state: Self = serde_json::from_str(json).map_err(wrong)?;
        if found < WITH_START {
            state.complete_start();
        }
        if found < FORMAT_VERSION && state.unsettled.is_empty() {
            state.complete_unsettled();
        }
        if !state.is_consistent() {
            return Err(unreadable("its parts do not fit together"));
        }
        Ok(state)
    }

    /// The learner that this is the state of, and the note beside it.
    fn restore(self, custom: Option<Kernel>) -> Result<(Learner, String)> {
        let p = self.settings.n_components;
        let mut learner = self.settings.restore(custom)?.learner()?;
        learner.settings.start = match self.start {
            Some(rows) => Some(Points::from_f64(rows.concat(), rows.len(), rows.first().map_or(0, Vec::len))?),
            None => None,
        };
        learner.scaling = match self.scaling {
            Some(ScalingState { shift, factor }) => Some(Scaling::new(shift, factor)?),
            None => None,
        };
        learner.origin = self.origin;
        learner.memory = self.memory.map(|saved| saved.restore(&learner.settings));
        learner.n_seen = self.n_seen;
        learner.started = self.started;
        learner.finished = self.finished;
        learner.n_since = self.n_since;
        learner.began = self.began;
        learner.with_mean = self.with_mean;
        learner.mean_squared = self.mean_squared;
        learner.inner = Mat::from_fn(p, p, |i, j| self.inner[i][j]);
        learner.lateral = self.lateral;
        learner.variances = self.variances;
        learner.total_variance = self.total_variance;
        learner.followed_error = self.budget_error;
        learner.unsettled = self.unsettled;
        learner.n_shrunk = self.n_shrunk;
        learner.last_shrunk = self.last_shrunk;
        learner.given_up = self.given_up;
        learner.kernel_entries = self.kernel_entries;
        learner.recent = self.recent;
        Ok((learner, self.note))
    }

    /// Fills in what the second layout leaves to be known: components count all rows, and start points are those that stay in memory.
    fn complete_start(&mut self) {
        self.began = vec![0; self.settings.n_components];
        let kept = self.memory.iter().flat_map(|memory| memory.rows.iter().zip(&memory.arrivals));
        let start: Vec<Vec<f64>> = kept.filter(|(_, arrival)| **arrival == 0).map(|(row, _)| row.clone()).collect();
        self.start = (start.len() == self.settings.n_components).then_some(start);
    }

    /// Fills in what states before the fourth layout may leave out: a component that has lost something counts as settled, which most have by the time
    /// that somebody looks. One that has lost nothing is all that it was, as it would say itself.
    fn complete_unsettled(&mut self) {
        self.unsettled = self.budget_error.iter().map(|&lost| if lost > 0.0 { 0.0 } else { 1.0 }).collect();
    }
}

impl MemoryState {
    fn of(memory: &Memory) -> Self {
        let held = memory.len();
        Self {
            n_features: memory.rows.n_features(),
            rows: (0..held).map(|slot| memory.rows.row(slot)).collect(),
            components: memory.components.iter().map(|component| component[..held].to_vec()).collect(),
            mean: memory.mean[..held].to_vec(),
            arrivals: memory.arrivals.clone(),
            squares: memory.squares.clone(),
            factor: memory.factor.as_ref().map(Factor::saved),
        }
    }

    fn restore(self, settings: &OnlineKernelPca) -> Memory {
        let mut memory = Memory::new(settings.kernel.clone(), self.n_features, self.components.len(), None);
        for ((row, &square), &arrival) in self.rows.iter().zip(&self.squares).zip(&self.arrivals) {
            memory.push(row, square, arrival);
        }
        let padded = memory.rows.padded_len();
        memory.components = self.components;
        memory.mean = self.mean;
        memory.expansions().for_each(|expansion| expansion.resize(padded, 0.0));
        memory.factor = self.factor.zip(settings.most_expressed()).map(|(factor, most)| factor.restore(most));
        memory
    }
}

fn checksum(json: &str) -> String {
    digest(json, std::iter::empty::<(&str, &[usize], &[u8])>())
}

fn unreadable(why: &str) -> Error {
    Error::invalid("state", "that of an online learner", format!("not readable ({why})"))
}
