//! The settings of an online learner.

use super::Learner;
use crate::choices::{Center, named};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// How components learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// Each component on its own; with more than one, all of them would find the first.
    Oja,
    /// Components decorrelated by lateral weights, all learning at once.
    Apex,
    /// Components that subtract what those before them explain.
    #[default]
    Simultaneous,
}
named!(Rule, "rule", Oja => "oja", Apex => "apex", Simultaneous => "simultaneous");

/// How the learning rate changes with the number `t` of rows learned.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Policy {
    /// The row whose loss changes the components least is replaced by the best combination of the others.
    #[default]
    Project,
    /// The oldest is dropped.
    Oldest,
    /// The one with the smallest weight is dropped.
    Smallest,
}
named!(Policy, "policy", Project => "project", Oldest => "oldest", Smallest => "smallest");

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
    pub(super) learning_rate: f64,
    pub(super) schedule: Schedule,
    pub(super) tau: f64,
    pub(super) beta: f64,
    pub(super) center: Center,
    pub(super) start: Option<Points>,
    pub(super) budget: Option<usize>,
    pub(super) policy: Policy,
    pub(super) forgetting: Option<f64>,
}

impl OnlineKernelPca {
    /// Two components by the simultaneous rule, centred, with a learning rate of 0.05 and no budget.
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            n_components: 2,
            rule: Rule::default(),
            learning_rate: 0.05,
            schedule: Schedule::default(),
            tau: 1000.0,
            beta: 1.0,
            center: Center::Yes,
            start: None,
            budget: None,
            policy: Policy::default(),
            forgetting: None,
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
    #[must_use]
    pub fn learning_rate(mut self, learning_rate: f64) -> Self {
        self.learning_rate = learning_rate;
        self
    }

    /// Sets how the learning rate changes with time.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Sets the number of rows after which an annealed rate has halved (default 1000).
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = tau;
        self
    }

    /// Sets how much of what earlier components explain the simultaneous rule subtracts (default 1). Below 1, a component can find an
    /// earlier one again.
    #[must_use]
    pub fn beta(mut self, beta: f64) -> Self {
        self.beta = beta;
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
    #[must_use]
    pub fn start(mut self, start: Points) -> Self {
        self.start = Some(start);
        self
    }

    /// Sets the number of rows that are remembered (default: all of them).
    #[must_use]
    pub fn budget(mut self, budget: usize) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Sets what happens to rows that the budget has no room for.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets the share of the running mean that every row replaces, at least (default: `1 / t`, so that all rows count alike).
    #[must_use]
    pub fn forgetting(mut self, share: f64) -> Self {
        self.forgetting = Some(share);
        self
    }

    /// A learner that has seen nothing yet.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, or a start point has no length in feature space.
    pub fn learner(&self) -> Result<Learner> {
        self.validate()?;
        Learner::new(self.clone())
    }

    fn validate(&self) -> Result<()> {
        let p = self.n_components;
        if p == 0 {
            return Err(Error::invalid("n_components", "at least 1", p));
        }
        if self.rule == Rule::Oja && p > 1 {
            return Err(Error::invalid("n_components", "1 for the rule oja, which finds the first component only", p));
        }
        Error::require_positive("learning_rate", self.learning_rate)?;
        Error::require_positive("tau", self.tau)?;
        Error::require_positive("beta", self.beta)?;
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
        Ok(())
    }
}
