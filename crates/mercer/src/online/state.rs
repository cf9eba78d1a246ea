//! The whole state of a learner as bytes, so that a stream that was cut off goes on as if it had not been.
//!
//! A line that says what the bytes are, with a digest of the others; then JSON with every number in full, so what comes back is what
//! went in, to the bit.

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::factor::{Factor, SavedFactor};
use super::learner::Learner;
use super::memory::Memory;
use super::recent::Recent;
use super::settings::{OnlineKernelPca, Policy};
use super::warm::Origin;
use crate::choices::Center;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{digest, recorded_kernel};
use crate::record::KernelRecord;

/// Version of the layout: the last rows are in it since the second; since the third, the points that components start from, when each began, whether
/// they take turns, and what comes from a model. The second is still read: it has nothing of that.
const FORMAT_VERSION: u32 = 3;
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
        let settings = &self.settings;
        let state = State {
            format_version: FORMAT_VERSION,
            note: note.to_owned(),
            settings: SettingsState {
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
            },
            start: settings.start.as_ref().map(|_| self.start_points()),
            scaling: self
                .scaling
                .as_ref()
                .map(|scaling| ScalingState { shift: scaling.shift().to_vec(), factor: scaling.factor().to_vec() }),
            origin: self.origin.clone(),
            memory: self.memory.as_ref().map(|memory| MemoryState {
                n_features: memory.rows.n_features(),
                rows: (0..memory.len()).map(|slot| memory.rows.row(slot)).collect(),
                components: memory.components.iter().map(|component| component[..memory.len()].to_vec()).collect(),
                mean: memory.mean[..memory.len()].to_vec(),
                arrivals: memory.arrivals.clone(),
                squares: memory.squares.clone(),
                factor: memory.factor.as_ref().map(Factor::saved),
            }),
            n_seen: self.n_seen,
            started: self.started,
            finished: self.finished,
            n_since: self.n_since,
            began: self.began.clone(),
            with_mean: self.with_mean.clone(),
            mean_squared: self.mean_squared,
            inner: self.inner.row_iter().map(|row| row.iter().copied().collect()).collect(),
            lateral: self.lateral.clone(),
            variances: self.variances.clone(),
            total_variance: self.total_variance,
            budget_error: self.followed_error.clone(),
            n_shrunk: self.n_shrunk,
            last_shrunk: self.last_shrunk,
            given_up: self.given_up,
            kernel_entries: self.kernel_entries,
            recent: self.recent.clone(),
        };
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
        let wrong = |error: serde_json::Error| unreadable(&error.to_string());
        let VersionOnly { format_version: found } = serde_json::from_str(json).map_err(wrong)?;
        if !(OLDEST_VERSION..=FORMAT_VERSION).contains(&found) {
            return Err(unreadable(&format!(
                "it has format {found}, but this version reads formats {OLDEST_VERSION} to {FORMAT_VERSION}"
            )));
        }
        let mut state: State = serde_json::from_str(json).map_err(wrong)?;
        if found == OLDEST_VERSION {
            state.complete();
        }
        if !state.is_consistent() {
            return Err(unreadable("its parts do not fit together"));
        }
        let saved = &state.settings;
        let mut settings = OnlineKernelPca::new(saved.kernel(custom)?)
            .n_components(saved.n_components)
            .rule(saved.rule.parse()?)
            .schedule(saved.schedule.parse()?)
            .center(if saved.centered { Center::Yes } else { Center::No });
        settings.learning_rate = saved.learning_rate;
        settings.tau = saved.tau;
        settings.beta = saved.beta;
        settings.budget = saved.budget;
        settings.policy = saved.policy.as_deref().map(str::parse).transpose()?;
        settings.forgetting = saved.forgetting;
        settings.rows_per_component = saved.rows_per_component;
        let p = saved.n_components;
        let mut learner = settings.learner()?;
        // Those are in memory already.
        learner.settings.start = match state.start {
            Some(rows) => Some(Points::from_f64(rows.concat(), rows.len(), rows.first().map_or(0, Vec::len))?),
            None => None,
        };
        learner.scaling = match state.scaling {
            Some(ScalingState { shift, factor }) => Some(Scaling::new(shift, factor)?),
            None => None,
        };
        learner.origin = state.origin;
        learner.memory = state.memory.map(|saved| saved.restore(&learner.settings.kernel));
        learner.n_seen = state.n_seen;
        learner.started = state.started;
        learner.finished = state.finished;
        learner.n_since = state.n_since;
        learner.began = state.began;
        learner.with_mean = state.with_mean;
        learner.mean_squared = state.mean_squared;
        learner.inner = Mat::from_fn(p, p, |i, j| state.inner[i][j]);
        learner.lateral = state.lateral;
        learner.variances = state.variances;
        learner.total_variance = state.total_variance;
        learner.followed_error = state.budget_error;
        learner.n_shrunk = state.n_shrunk;
        learner.last_shrunk = state.last_shrunk;
        learner.given_up = state.given_up;
        learner.kernel_entries = state.kernel_entries;
        learner.recent = state.recent;
        Ok((learner, state.note))
    }
}

impl SettingsState {
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
    /// Fills in what the second layout leaves to be known: components count all rows, and start points are those that stay in memory.
    fn complete(&mut self) {
        self.began = vec![0; self.settings.n_components];
        let kept = self.memory.iter().flat_map(|memory| memory.rows.iter().zip(&memory.arrivals));
        let start: Vec<Vec<f64>> = kept.filter(|(_, arrival)| **arrival == 0).map(|(row, _)| row.clone()).collect();
        self.start = (start.len() == self.settings.n_components).then_some(start);
    }

    /// Whether all numbers can be written down.
    fn is_finite(&self) -> bool {
        let expansions = self.memory.iter().flat_map(|memory| memory.components.iter().chain([&memory.mean]));
        let lists = [&self.with_mean, &self.variances, &self.budget_error];
        let mut lists = lists.into_iter().chain(&self.inner).chain(&self.lateral).chain(expansions);
        lists.all(|list| list.iter().all(|x| x.is_finite()))
            && self.mean_squared.is_finite()
            && self.total_variance.is_finite()
    }

    /// Whether rows in memory are expressed by one another, and should be.
    fn has_its_factor(&self) -> bool {
        let settings = &self.settings;
        let projects = settings.policy.as_deref().is_none_or(|policy| policy == Policy::Project.name());
        let factored = settings.budget.is_some() && projects;
        self.memory.as_ref().is_none_or(|memory| memory.factor.is_some() == factored)
    }

    /// Whether rows can have been counted like that.
    fn has_possible_counts(&self) -> bool {
        let before = self.origin.as_ref().map_or(0, |origin| origin.n_samples);
        let counts = [self.n_seen, self.n_since, self.n_shrunk, self.given_up, before];
        counts.iter().all(|&count| count <= LARGEST_COUNT)
            && self.kernel_entries <= LARGEST_COUNT as u64 * 1024
            && self.began.len() == self.settings.n_components
            && self.began.iter().all(|&count| count <= before + self.n_seen)
            && self.memory.iter().flat_map(|memory| &memory.arrivals).all(|&arrival| arrival <= before + self.n_seen)
    }

    /// Whether there are no last rows before the first one, and a memory from then on.
    fn is_new_or_has_rows(&self) -> bool {
        let is_new = self.n_seen == 0 && self.recent.values().is_empty();
        match &self.memory {
            Some(_) => is_new || self.n_seen > 0,
            None => is_new && self.started == 0 && self.origin.is_none(),
        }
    }

    /// Whether points that components start from are of the right number and width, and where they must be found again, in memory.
    fn has_its_start_points(&self) -> bool {
        let Some(start) = &self.start else { return true };
        let is_kept = |point: &Vec<f64>| {
            let memory = self.memory.iter();
            memory.flat_map(|memory| memory.rows.iter().zip(&memory.arrivals)).any(|(row, &at)| at == 0 && row == point)
        };
        start.len() == self.settings.n_components && start.iter().all(is_kept)
    }

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
            && self.has_possible_counts()
            && self.is_new_or_has_rows()
            && self.has_its_start_points()
            && self.has_its_factor()
            && self.memory.as_ref().is_none_or(|memory| memory.is_consistent(p))
            && self.recent.is_consistent(self.memory.as_ref().map_or(1, |memory| memory.n_features))
            && self.scaling.as_ref().is_none_or(|scaling| {
                self.memory.as_ref().is_some_and(|memory| scaling.factor.len() == memory.n_features)
            })
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
            && self.squares.len() == m
            && self.factor.as_ref().is_none_or(|factor| factor.is_consistent(m))
    }

    fn restore(self, kernel: &Kernel) -> Memory {
        let mut memory = Memory::new(kernel.clone(), self.n_features, self.components.len(), false);
        for ((row, &square), &arrival) in self.rows.iter().zip(&self.squares).zip(&self.arrivals) {
            memory.push(row, square, arrival);
        }
        let padded = memory.rows.padded_len();
        memory.components = self.components;
        memory.mean = self.mean;
        memory.expansions().for_each(|expansion| expansion.resize(padded, 0.0));
        memory.factor = self.factor.map(SavedFactor::restore);
        memory
    }
}

fn checksum(json: &str) -> String {
    digest(json, std::iter::empty::<(&str, &[usize], &[u8])>())
}

fn unreadable(why: &str) -> Error {
    Error::invalid("state", "that of an online learner", format!("not readable ({why})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::online::OnlineLearner as _;

    fn bytes(json: &str) -> Vec<u8> {
        format!("{MAGIC} {}\n{json}", checksum(json)).into_bytes()
    }

    #[test]
    fn whole_bytes_of_another_version_or_of_parts_that_do_not_fit_are_refused() {
        let rows =
            crate::Points::from_f64((0..24).map(f64::from).collect::<Vec<_>>(), 12, 2).expect("twelve rows of two");
        let settings = OnlineKernelPca::new(Kernel::gaussian(0.1).expect("positive")).budget(5);
        let mut learner = settings.learner().expect("the settings fit together");
        learner.learn(&rows).expect("finite rows");
        let whole = String::from_utf8(learner.to_bytes().expect("no function")).expect("JSON");
        let (_, json) = whole.split_once('\n').expect("a line before the JSON");
        assert!(Learner::from_bytes(&bytes(json), None).is_ok());
        let say = |from: &str, to: &str| {
            assert!(json.contains(from), "{from}");
            Learner::from_bytes(&bytes(&json.replacen(from, to, 1)), None)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        let refused = |why: &str| format!("`state` must be that of an online learner, but it is not readable ({why})");
        assert_eq!(
            say("\"format_version\":3", "\"format_version\":9"),
            refused("it has format 9, but this version reads formats 2 to 3")
        );
        assert_eq!(say("\"n_components\":2", "\"n_components\":3"), refused("its parts do not fit together"));
        assert_eq!(say("\"started\":2", "\"started\":5"), refused("its parts do not fit together"));
        assert!(say("\"n_seen\"", "\"n_saw\"").contains("unknown field `n_saw`"));
        // A factor that the policy needs and is not there, and one that is there without a use.
        let (from, _) = json.split_once("\"factor\":").expect("there is one");
        let (_, after) = json.split_once("]}},").expect("something comes after the memory");
        let without = format!("{from}\"factor\":null}},{after}");
        let refusal = Learner::from_bytes(&bytes(&without), None).err().map(|error| error.to_string());
        assert_eq!(refusal, Some(refused("its parts do not fit together")), "{without}");
        assert_eq!(say("\"policy\":null", "\"policy\":\"oldest\""), refused("its parts do not fit together"));
    }
}
