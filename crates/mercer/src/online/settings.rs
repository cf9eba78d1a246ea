//! The settings of an online learner.

use serde::Serialize;

use super::Learner;
use crate::choices::{Center, MemoryBudget, named};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::record::KernelRecord;

/// Bytes for what a component is to another: a number in a square, and one in each of two triangles.
const BYTES_PER_PAIR: u64 = 16;
/// And for what a row in memory is to another where rows are expressed by one another: a number in a square.
const BYTES_PER_PAIR_OF_ROWS: u64 = 8;

/// Components that are learned where nobody says how many.
const USUAL_COMPONENTS: usize = 2;

/// How components learn.
///
/// ```
/// use mercer::Kernel;
/// use mercer::online::{OnlineKernelPca, Rule};
///
/// let settings = OnlineKernelPca::new(Kernel::linear()).rule(Rule::Oja);
/// // On its own, the second component would find the first one again.
/// assert!(settings.clone().n_components(2).learner().is_err());
/// assert!(settings.n_components(1).learner().is_ok());
/// assert_eq!(Rule::default().name(), "simultaneous");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Each component on its own; with more than one, all of them would find the first.
    Oja,
    /// Components decorrelated by lateral weights, all learning at once or [one after the other](OnlineKernelPca::rows_per_component).
    Apex,
    /// Components that subtract what those before them explain.
    #[default]
    Simultaneous,
}
named!(Rule, "rule", Oja => "oja", Apex => "apex", Simultaneous => "simultaneous");

/// How the learning rate changes with the number `t` of rows learned.
///
/// ```
/// use mercer::Kernel;
/// use mercer::online::{OnlineKernelPca, Schedule};
///
/// let settings = OnlineKernelPca::new(Kernel::linear()).tau(500.0);
/// assert!(settings.clone().schedule(Schedule::Anneal).learner().is_ok());
/// // The others have no such time.
/// assert!(settings.schedule("1/t".parse()?).learner().is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schedule {
    /// `η`: follows data that change.
    #[default]
    Constant,
    /// `η / t`.
    Inverse,
    /// `η τ / (t + τ)`: constant at first, then falling.
    Anneal,
}
named!(Schedule, "schedule", Constant => "constant", Inverse => "1/t", Anneal => "anneal");

/// What happens to the rows in memory when there are more than the budget allows.
///
/// ```
/// use mercer::online::{OnlineKernelPca, OnlineLearner, Policy};
/// use mercer::{Kernel, Points};
///
/// let rows = Points::from_f64((0..50).map(f64::from).collect::<Vec<_>>(), 50, 1)?;
/// let settings = OnlineKernelPca::new(Kernel::gaussian(1.0)?).n_components(1).budget(3);
/// let mut learner = settings.policy(Policy::Oldest).learner()?;
/// learner.learn(&rows)?;
/// let mut remembered = learner.basis();
/// remembered.sort_by(|a, b| a[0].total_cmp(&b[0]));
/// assert_eq!(remembered, [[47.0], [48.0], [49.0]]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// The row whose loss changes the components and the running mean least is replaced by the best combination of the others. A kernel that is
    /// not positive semi-definite is refused as soon as a row is at a negative squared distance from them: there is no best one.
    #[default]
    Project,
    /// The oldest is dropped.
    Oldest,
    /// The one with the smallest weight is dropped.
    Smallest,
}
named!(Policy, "policy", Project => "project", Oldest => "oldest", Smallest => "smallest");

/// The settings of a learner, as records have them.
///
/// ```
/// use mercer::Kernel;
/// use mercer::online::OnlineKernelPca;
///
/// let record = OnlineKernelPca::new(Kernel::gaussian(0.5)?).budget(100).record();
/// assert_eq!((record.rule.as_str(), record.kernel.gamma), ("simultaneous", Some(0.5)));
/// assert_eq!((record.budget, record.policy.as_deref()), (Some(100), Some("project")));
/// assert_eq!(record.learning_rate, None, "it follows the rows");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OnlineRecord {
    /// The kernel, with all its parameters.
    pub kernel: KernelRecord,
    /// Whether the running mean is subtracted in feature space.
    pub centered: bool,
    /// How components learn.
    pub rule: String,
    /// The learning rate; none if it follows the rows.
    pub learning_rate: Option<f64>,
    /// How the learning rate changes.
    pub schedule: String,
    /// Rows after which an annealed rate has halved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tau: Option<f64>,
    /// How much the simultaneous rule subtracts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beta: Option<f64>,
    /// Rows that are remembered; none if all are.
    pub budget: Option<usize>,
    /// What happens to the others.
    pub policy: Option<String>,
    /// The share of the running mean that every row replaces, at least.
    pub forgetting: Option<f64>,
    /// Rows that a component learns from before the next one begins; none if all learn at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_component: Option<usize>,
}

/// Online kernel PCA, as it is asked for.
///
/// ```
/// use mercer::online::{OnlineKernelPca, OnlineLearner};
/// use mercer::{Kernel, Points};
///
/// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(2).learning_rate(0.1).budget(20).learner()?;
/// for row in 0..500 {
///     let angle = f64::from(row) * 0.7;
///     learner.learn(&Points::from_f64(vec![angle.cos(), angle.sin()], 1, 2)?)?;
/// }
/// assert_eq!(learner.n_seen(), 500);
/// assert_eq!(learner.n_remembered(), 20);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OnlineKernelPca {
    pub(super) kernel: Kernel,
    pub(super) n_components: usize,
    pub(super) rule: Rule,
    pub(super) learning_rate: Option<f64>,
    pub(super) schedule: Schedule,
    pub(super) tau: Option<f64>,
    pub(super) beta: Option<f64>,
    pub(super) center: Center,
    pub(super) start: Option<Points>,
    pub(super) budget: Option<usize>,
    pub(super) policy: Option<Policy>,
    pub(super) forgetting: Option<f64>,
    pub(super) rows_per_component: Option<usize>,
}

impl OnlineKernelPca {
    /// Two components by the simultaneous rule, centred, with a learning rate that suits the rows, and no budget.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            n_components: USUAL_COMPONENTS,
            rule: Rule::default(),
            learning_rate: None,
            schedule: Schedule::default(),
            tau: None,
            beta: None,
            center: Center::Yes,
            start: None,
            budget: None,
            policy: None,
            forgetting: None,
            rows_per_component: None,
        }
    }

    /// Sets the number of components.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = n_components;
        self
    }

    /// Sets how components learn.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// Sets the learning rate `η`. At a row for which `η y²` reaches 2, where a step would overshoot, the rate is made smaller, and the row
    /// is counted in [`Learner::n_shrunk`].
    ///
    /// By default it follows the rows: 0.05 over their [variance](Learner::total_variance) so far, so that it suits any kernel and any
    /// width; with the schedule `1/t`, two over the smallest [variance](Learner::variances) of a component so far, but `η / t` is never more than
    /// the constant rate would be.
    #[must_use]
    pub fn learning_rate(mut self, learning_rate: f64) -> Self {
        self.learning_rate = Some(learning_rate);
        self
    }

    /// Sets how the learning rate changes with time.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Sets the number of rows after which an annealed rate has halved (default 1000); for [`Schedule::Anneal`] only.
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = Some(tau);
        self
    }

    /// Sets how much of what earlier components explain the simultaneous rule subtracts (default 1). Below 1, a component can find an
    /// earlier one again. The other rules have no such number.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = Some(beta);
        self
    }

    /// Sets whether the running mean is subtracted in feature space (default: it is).
    #[must_use]
    pub fn center(mut self, center: Center) -> Self {
        self.center = center;
        self
    }

    /// Sets the points that components start from, one per component. They stay in memory, beside the budget. Without them, components start from
    /// the first rows that differ.
    ///
    /// ```
    /// use mercer::online::{Learner, OnlineKernelPca};
    /// use mercer::{Kernel, Points};
    ///
    /// let start = Points::from_f64(vec![1.0, 0.0, 0.0, 1.0], 2, 2)?;
    /// let settings = OnlineKernelPca::new(Kernel::linear()).start(start).beta(0.9).forgetting(0.01);
    /// let learner: Learner = settings.learner()?;
    /// assert_eq!(learner.start_points(), [[1.0, 0.0], [0.0, 1.0]]);
    /// assert_eq!((settings.record().beta, settings.record().forgetting), (Some(0.9), Some(0.01)));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn start(mut self, start: Points) -> Self {
        self.start = Some(start);
        self
    }

    /// Sets the number of rows that are remembered (default: all of them). Beside them, whatever the budget is, the last 512 rows are kept, which
    /// [variances](Learner::captured) are measured on; they are part of a learner's bytes and of no model.
    #[must_use]
    pub fn budget(mut self, budget: usize) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Sets what happens to rows that the [budget](Self::budget) has no room for.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the share of the running mean and of the running variances that every row replaces, at least (default: `1 / t`, so that all rows
    /// count alike). Where rows are dropped, one over the [budget](Self::budget) of the mean is replaced at least. Without centring there is no
    /// mean, and a learning rate that was given does not depend on the variances: then it is about [`Learner::variances`] only.
    #[must_use]
    pub fn forgetting(mut self, share: f64) -> Self {
        self.forgetting = Some(share);
        self
    }

    /// Lets components learn one after the other, each from this many rows while those before it stand still; the last one goes on for ever.
    /// For the rule APEX with two components or more. A component begins at its [start point](Self::start) or, if there is none, at the first row
    /// of its turn, and [schedules](Schedule) begin anew with it. Until then its outputs are zero. Once it has finished, they are those of the component alone,
    /// without the lateral part that kept it apart from those before it while it learned. (By default all learn at once.)
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::online::{OnlineKernelPca, Rule};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(3).rule(Rule::Apex);
    /// let mut learner = settings.rows_per_component(100).learner()?;
    /// for row in 0..250 {
    ///     learner.learn_row(&[f64::from(row * 7 % 101) * 0.1])?;
    /// }
    /// // The first two have had their rows; the third is at it.
    /// assert_eq!((learner.n_started(), learner.n_finished()), (3, 2));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn rows_per_component(mut self, rows: usize) -> Self {
        self.rows_per_component = Some(rows);
        self
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// How it is described in records: every setting by name, those that were left out without a value.
    pub fn record(&self) -> OnlineRecord {
        OnlineRecord {
            kernel: KernelRecord::from(&self.kernel),
            centered: self.center == Center::Yes,
            rule: self.rule.name().to_owned(),
            learning_rate: self.learning_rate,
            schedule: self.schedule.name().to_owned(),
            tau: (self.schedule == Schedule::Anneal).then(|| self.annealing_time()),
            beta: (self.rule == Rule::Simultaneous).then(|| self.beta.unwrap_or(1.0)),
            budget: self.budget,
            policy: self.budget.map(|_| self.policy.unwrap_or_default().name().to_owned()),
            forgetting: self.forgetting,
            rows_per_component: self.rows_per_component,
        }
    }

    /// The first setting in which another learner differs, with the two values: `None` if both learn the same from the same rows.
    /// Where components start is not compared.
    ///
    /// ```
    /// use mercer::{Kernel, online::OnlineKernelPca};
    ///
    /// let settings = OnlineKernelPca::new(Kernel::gaussian(0.5)?).budget(20);
    /// assert_eq!(settings.difference(&settings), None);
    /// let other = settings.clone().budget(30);
    /// assert_eq!(settings.difference(&other), Some(("budget", "20".to_owned(), "30".to_owned())));
    /// // The same, said by name.
    /// assert_eq!(settings.difference(&settings.clone().beta(1.0).policy("project".parse()?)), None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn difference(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let [mine, theirs] = [self, other].map(Self::described);
        mine.into_iter().zip(theirs).find(|(a, b)| a != b).map(|((name, a), (_, b))| (name, a, b))
    }

    /// Every setting by name, with its value for people: the one it has by default if none was given.
    fn described(&self) -> [(&'static str, String); 12] {
        fn shown<T: ToString>(value: Option<T>, otherwise: &str) -> String {
            value.map_or_else(|| otherwise.to_owned(), |value| value.to_string())
        }
        [
            ("kernel", in_words(&self.kernel)),
            ("n_components", self.n_components.to_string()),
            ("rule", self.rule.to_string()),
            ("learning_rate", shown(self.learning_rate, "automatic")),
            ("schedule", self.schedule.to_string()),
            ("tau", shown((self.schedule == Schedule::Anneal).then(|| self.annealing_time()), "none")),
            ("beta", shown((self.rule == Rule::Simultaneous).then(|| self.beta.unwrap_or(1.0)), "none")),
            ("center", if self.center == Center::Yes { "yes" } else { "no" }.to_owned()),
            ("budget", shown(self.budget, "none")),
            ("policy", shown(self.budget.map(|_| self.policy.unwrap_or_default()), "none")),
            ("forgetting", shown(self.forgetting, "none")),
            ("rows_per_component", shown(self.rows_per_component, "none")),
        ]
    }

    /// Rows after which an annealed rate has halved.
    pub(super) fn annealing_time(&self) -> f64 {
        self.tau.unwrap_or(1000.0)
    }

    /// A learner that has seen nothing yet.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain or has no effect with the others, a start point has no length in feature space, or there is no memory
    /// for so many components or, where rows are projected, for so large a budget.
    pub fn learner(&self) -> Result<Learner> {
        self.validate()?;
        Learner::new(self.clone())
    }

    pub(super) fn validate(&self) -> Result<()> {
        let p = self.n_components;
        if p == 0 {
            return Err(Error::invalid("n_components", "at least 1", p));
        }
        if self.rule == Rule::Oja && p > 1 {
            // It may be that nobody has given any number.
            let default = if p == USUAL_COMPONENTS { ", which is the default" } else { "" };
            let requirement = "1 for the rule oja, which finds the first component only";
            return Err(Error::invalid("n_components", requirement, format!("{p}{default}")));
        }
        for (name, value) in [("learning_rate", self.learning_rate), ("tau", self.tau), ("beta", self.beta)] {
            value.map_or(Ok(()), |value| Error::require_positive(name, value))?;
        }
        if let (Some(tau), false) = (self.tau, self.schedule == Schedule::Anneal) {
            let requirement = format!("left out with the schedule {}, which does not use it", self.schedule);
            return Err(Error::invalid("tau", requirement, tau));
        }
        if let (Some(beta), false) = (self.beta, self.rule == Rule::Simultaneous) {
            let requirement = format!("left out with the rule {}, which does not use it", self.rule);
            return Err(Error::invalid("beta", requirement, beta));
        }
        if let (Some(policy), None) = (self.policy, self.budget) {
            return Err(Error::invalid("policy", "left out without a budget, which it is about", policy));
        }
        self.validate_turns()?;
        if let Some(share) = self.forgetting
            && !(share > 0.0 && share < 1.0)
        {
            return Err(Error::invalid("forgetting", "between 0 and 1", share));
        }
        if let Some(budget) = self.budget
            && budget < p + 1
        {
            let requirement = format!("at least one more than the number of components ({})", p + 1);
            return Err(Error::invalid("budget", requirement, budget));
        }
        if let Some(start) = &self.start
            && start.n_samples() != p
        {
            return Err(Error::invalid("start", format!("one point per component ({p})"), start.n_samples()));
        }
        if matches!(self.kernel, Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "online learning",
                kernel: self.kernel.name().to_owned(),
                reason: "rows that are still to come have no place in a matrix",
            });
        }
        self.validate_memory()
    }

    /// Rows that can be in memory at once where they are expressed by one another: those of the budget, a start point per component, and a new row
    /// before another goes for it. None where they are not.
    pub(super) fn most_expressed(&self) -> Option<usize> {
        let budget = self.budget.filter(|_| self.policy.unwrap_or_default() == Policy::Project)?;
        Some(budget.saturating_add(self.n_components).saturating_add(1))
    }

    /// Whether there is memory for what each component is to each other: inner products and lateral weights, and the span of them all. And for what
    /// each row in memory is to each other, where rows are projected.
    fn validate_memory(&self) -> Result<()> {
        let (p, room) = (self.n_components as u64, MemoryBudget::Auto.bytes());
        let advice = format!("ask for at most {} components", (room / BYTES_PER_PAIR).isqrt());
        let what = format!("what each of {p} components is to each other");
        let needed = p.saturating_mul(p).saturating_mul(BYTES_PER_PAIR);
        let left = MemoryBudget::Bytes(room).beside(&what, needed, &advice)?;
        let Some(rows) = self.most_expressed() else { return Ok(()) };
        let rows = rows as u64;
        let most = (left.bytes() / BYTES_PER_PAIR_OF_ROWS).isqrt().saturating_sub(p + 1);
        let advice = format!("ask for a budget of at most {most}, or for the policy oldest or smallest");
        let what = format!("what each of {rows} rows in memory is to each other, which the policy project goes by,");
        let needed = rows.saturating_mul(rows).saturating_mul(BYTES_PER_PAIR_OF_ROWS);
        left.beside(&what, needed, &advice).map(drop)
    }

    /// Whether components can learn one after the other.
    fn validate_turns(&self) -> Result<()> {
        let Some(rows) = self.rows_per_component else { return Ok(()) };
        if rows == 0 {
            return Err(Error::invalid("rows_per_component", "at least 1", rows));
        }
        if self.rule != Rule::Apex {
            let requirement = format!("left out with the rule {}, whose components learn at once", self.rule);
            return Err(Error::invalid("rows_per_component", requirement, rows));
        }
        if self.n_components < 2 {
            return Err(Error::invalid("rows_per_component", "left out with a single component", rows));
        }
        Ok(())
    }
}

/// A kernel and its parameters, for a message.
pub(super) fn in_words(kernel: &Kernel) -> String {
    let record = KernelRecord::from(kernel);
    let parameters = [record.gamma, record.degree.map(f64::from), record.coef0, record.alpha];
    let words: Vec<String> =
        std::iter::once(record.name).chain(parameters.iter().flatten().map(f64::to_string)).collect();
    words.join(" ")
}
