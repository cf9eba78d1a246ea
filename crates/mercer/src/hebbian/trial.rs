//! Gains that are found by trying: runs begin again with lower ones until one serves.
//!
//! # Method
//!
//! Algorithm 2 of \[GSV07\] lowers a gain as long as the run [diverges](super::tune) or its gains [die](super::dying). That is enough for a start
//! at random, which any gain that does neither makes better. A start that was given, coefficients or a model, may be good already, and the largest gain that does
//! not diverge then leaves it worse than it was. So from such a start
//!
//! 1. the gain is lowered until a trial of the first updates, without adaptation, leaves components that are no worse than the start;
//! 2. rules that adapt their gains find the meta-gain with the same trial;
//! 3. the whole run has to end no worse than the start, too, or begins again with lower gains.
//!
//! Worse is a larger error in feature space, which costs no pass, or a larger error (38), as far as the history has it by default.
//!
//! Gains that served until now need not serve for ever. When a run goes on and they do not, what was learned is taken back to where it went on
//! from, and gains go on down from where they were.
//!
//! From the exact components every update leads away, so gains go down until that is less than rounding.
//!
//! # References
//!
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8. Equation and
//!   algorithm numbers are those of the journal version.

use serde::{Deserialize, Serialize};

use super::batch::Diverged;
use super::learner::{HebbianLearner, total_variance};
use super::run::{ERROR_UP_TO, Ended, Order};
use super::schedule::GainParameters;
use super::state::State;
use super::tune::{Tuned, Unit, trial_updates};
use crate::choices::Gain;
use crate::error::{Error, Result};
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// Errors of the same components differ by so many units in the last place of the total variance.
const ROUNDING: f64 = 8.0;

/// How good components are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Standing {
    /// The squared error in feature space.
    feature_error: f64,
    /// The error (38), where it is cheap.
    error: Option<f64>,
}

impl Standing {
    /// Whether either error has grown by more than `slack`.
    fn is_worse_than(self, start: Self, slack: f64) -> bool {
        // What is not a number is worse than anything.
        let has_grown = |now: f64, then: f64| now > then + slack || now.is_nan();
        has_grown(self.feature_error, start.feature_error)
            || self.error.zip(start.error).is_some_and(|(now, then)| has_grown(now, then))
    }
}

/// What is wrong with a run, after so many updates.
enum Wrong {
    Diverged(Diverged),
    /// It ended worse than the start it was given.
    Worse,
}

/// Gains on their way down.
struct Gains {
    eta0: Tuned,
    mu: Tuned,
    tau: Option<f64>,
    adapts: bool,
    /// Whether `η₀` is known to serve without adaptation, or as low as it goes.
    serve_without: bool,
}

impl Gains {
    fn parameters(&self) -> GainParameters {
        GainParameters { eta0: self.eta0.value(), tau: self.tau, mu: self.adapts.then(|| self.mu.value()) }
    }

    /// The same without adaptation.
    fn without(&self) -> GainParameters {
        GainParameters { mu: self.adapts.then_some(0.0), ..self.parameters() }
    }
}

/// What has become of gains that did not serve.
#[derive(Clone, Copy)]
enum Lowered {
    Yes,
    /// The gain is a lower one, and the meta-gain to be found anew.
    Anew,
    /// There is nothing lower to try.
    No,
    /// The run was stopped, and is sound as it stands.
    Stopped,
}

impl From<bool> for Lowered {
    fn from(is_lower: bool) -> Self {
        if is_lower { Self::Yes } else { Self::No }
    }
}

impl HebbianLearner {
    /// Runs with the gains that were given, or with the largest that do not diverge and leave a given start no worse than it was.
    pub(super) fn tuned_run(&mut self, order: Order<'_>, watch: &Watch<'_>, stopwatch: Stopwatch) -> Result<()> {
        let adapts = self.settings.rule.adapts();
        let tau = self.tau(self.points.n_samples());
        let mut gains = Gains {
            eta0: Tuned::new(self.settings.eta0, self.unit_of_eta0()?),
            mu: Tuned::new(self.settings.mu, self.unit_of_mu()?),
            tau,
            adapts,
            serve_without: false,
        };
        // There is nothing to come back to if nothing is tuned.
        let saved = if self.settings.tunes() { Some((self.state.duplicate(), 0)) } else { None };
        let trial = order.first(trial_updates(self.points.n_samples()));
        if self.settings.eta0 == Gain::Auto && (adapts || self.start_standing.is_some()) {
            let without = |eta0| GainParameters { eta0, tau, mu: adapts.then_some(0.0) };
            self.lower_in_trials(trial, saved.as_ref(), &mut gains.eta0, without, watch, stopwatch)?;
        }
        self.find_mu(trial, saved.as_ref(), &mut gains, watch, stopwatch)?;
        loop {
            let ended = self.run(order, gains.parameters(), watch, stopwatch)?;
            let wrong = match self.wrong_with(&ended, watch) {
                // There is no time left to find out.
                Err(Error::Interrupted { .. }) => return Ok(()),
                found => found?,
            };
            let lowered = match &wrong {
                None => return Ok(()),
                Some(Wrong::Diverged(_)) => {
                    let fails = |learner: &Self, ended: &Ended| learner.has_failed(ended, watch);
                    self.lower(&mut gains, saved.as_ref(), order, fails, watch, stopwatch)?
                }
                // Either may be to blame.
                Some(Wrong::Worse) => Lowered::from((adapts && gains.mu.lower()) | gains.eta0.lower()),
            };
            match (wrong, lowered) {
                (_, Lowered::Anew) => {
                    self.go_back_if(saved.as_ref());
                    self.find_mu(trial, saved.as_ref(), &mut gains, watch, stopwatch)?;
                }
                (_, Lowered::Yes) => self.go_back_if(saved.as_ref()),
                (Some(Wrong::Diverged(diverged)), Lowered::No) => return Err(self.diverged(diverged)),
                // No time is left, or gains change nothing: the start is as good as it can be told to be.
                (_, Lowered::Stopped | Lowered::No) => return Ok(()),
            }
        }
    }

    /// Finds the meta-gain in trials, if there is one to be found.
    fn find_mu(
        &mut self,
        trial: Order<'_>,
        saved: Option<&(State, usize)>,
        gains: &mut Gains,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<()> {
        if !gains.adapts || gains.mu.is_given() {
            return Ok(());
        }
        let (eta0, tau) = (gains.eta0.value(), gains.tau);
        let with = |mu| GainParameters { eta0, tau, mu: Some(mu) };
        self.lower_in_trials(trial, saved, &mut gains.mu, with, watch, stopwatch)
    }

    /// Lowers what is to blame for a whole run that failed.
    ///
    /// Either gain may be, if both are found by trying: a trial of the first updates need not have seen the point at which `η₀` is too
    /// large, and then no `μ` helps but one that adapts nothing. So the run is tried without adaptation first, and `η₀` lowered until that
    /// serves, from where on `μ` is looked for anew. If it serves as it is, `μ` is to blame.
    fn lower(
        &mut self,
        gains: &mut Gains,
        saved: Option<&(State, usize)>,
        order: Order<'_>,
        fails: impl Fn(&Self, &Ended) -> Result<bool>,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Lowered> {
        if !gains.adapts || gains.mu.is_given() || gains.eta0.is_given() || gains.serve_without {
            // What is tuned last is lowered first.
            return Ok(Lowered::from((gains.adapts && gains.mu.lower()) || gains.eta0.lower()));
        }
        // What is learned without adaptation is not worth keeping.
        let keeping = self.keeping.take();
        let outcome = self.lower_without(gains, saved, order, fails, watch, stopwatch);
        self.keeping = keeping;
        outcome
    }

    /// Lowers `η₀` until the whole run serves without adaptation, or `μ` if it does already.
    fn lower_without(
        &mut self,
        gains: &mut Gains,
        saved: Option<&(State, usize)>,
        order: Order<'_>,
        fails: impl Fn(&Self, &Ended) -> Result<bool>,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Lowered> {
        gains.serve_without = true;
        let mut has_lowered = false;
        loop {
            self.go_back_if(saved);
            let ended = self.run(order, gains.without(), watch, stopwatch)?;
            let failed = match fails(self, &ended) {
                Err(Error::Interrupted { .. }) => return Ok(Lowered::Stopped),
                found => found?,
            };
            match (failed, ended) {
                (false, Ended::Stopped) => return Ok(Lowered::Stopped),
                (false, _) if has_lowered => {
                    gains.mu = Tuned::new(self.settings.mu, self.unit_of_mu()?);
                    return Ok(Lowered::Anew);
                }
                (false, _) => return Ok(Lowered::from(gains.mu.lower())),
                (true, _) if gains.eta0.lower() => has_lowered = true,
                (true, _) => return Ok(Lowered::No),
            }
        }
    }

    /// What `η₀` is tried in.
    fn unit_of_eta0(&self) -> Result<Unit> {
        if self.settings.rule.is_free_of_units() { Ok(Unit::ONE) } else { self.unit_of_mu() }
    }

    /// What `μ` is tried in: an update of log-gains is as large as the squared lengths of points.
    fn unit_of_mu(&self) -> Result<Unit> {
        Ok(Unit::over(total_variance(self.engine.as_ref())? / self.points.n_samples() as f64))
    }

    /// A run whose outcome alone is wanted: what it learns is neither kept in a file nor worth a history.
    fn try_out(
        &mut self,
        order: Order<'_>,
        parameters: GainParameters,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Ended> {
        let keeping = self.keeping.take();
        self.records = false;
        let ended = self.run(order, parameters, watch, stopwatch);
        (self.keeping, self.records) = (keeping, true);
        ended
    }

    /// Lowers a parameter until a trial with it goes well. What trials learn is forgotten.
    fn lower_in_trials(
        &mut self,
        trial: Order<'_>,
        saved: Option<&(State, usize)>,
        tuned: &mut Tuned,
        parameters: impl Fn(f64) -> GainParameters,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<()> {
        loop {
            let wrong = match self.try_out(trial, parameters(tuned.value()), watch, stopwatch)? {
                Ended::Diverged(diverged) => Some(Wrong::Diverged(diverged)),
                Ended::Done if self.is_worse_than_its_start(watch)? => Some(Wrong::Worse),
                Ended::Done | Ended::Stopped => None,
            };
            let goes_on = match wrong {
                None => false,
                Some(wrong) => match (tuned.lower(), wrong) {
                    (true, _) => true,
                    (false, Wrong::Diverged(diverged)) => return Err(self.diverged(diverged)),
                    (false, Wrong::Worse) => false,
                },
            };
            self.go_back_if(saved);
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// What is wrong with a run that ended, if gains were to be found for it.
    fn wrong_with(&self, ended: &Ended, watch: &Watch<'_>) -> Result<Option<Wrong>> {
        Ok(match ended {
            Ended::Diverged(diverged) => Some(Wrong::Diverged(*diverged)),
            Ended::Done if self.settings.tunes() => {
                if self.is_useless()? {
                    Some(Wrong::Diverged(Diverged::grown(self.n_updates())))
                } else if self.settings.mu == Gain::Auto && self.is_stuck() {
                    Some(Wrong::Diverged(Diverged::died(self.n_updates())))
                } else {
                    self.is_worse_than_its_start(watch)?.then_some(Wrong::Worse)
                }
            }
            // A run that is stopped may be on its way down from where the first updates took it; it is sound, or it would not be stopped.
            Ended::Done | Ended::Stopped => None,
        })
    }

    /// Whether the gains that a run was tuned to did not serve it.
    pub(super) fn has_failed(&self, ended: &Ended, watch: &Watch<'_>) -> Result<bool> {
        self.wrong_with(ended, watch).map(|wrong| wrong.is_some())
    }

    /// Whether the components describe the points worse than none at all would: what a blow-up leaves behind.
    fn is_useless(&self) -> Result<bool> {
        let total = total_variance(self.engine.as_ref())?;
        Ok(self.feature_error()? > total)
    }

    /// How good the components are now.
    pub(super) fn standing(&self, watch: &Watch<'_>) -> Result<Standing> {
        let context = Context::new(&self.prepared.threads, watch, Phase::Learning);
        let error = if self.points.n_samples() <= ERROR_UP_TO { Some(self.error(&context)?) } else { None };
        Ok(Standing { feature_error: self.feature_error()?, error })
    }

    /// Whether components are worse than those that were given to start from, if some were.
    fn is_worse_than_its_start(&self, watch: &Watch<'_>) -> Result<bool> {
        let Some(start) = self.start_standing else { return Ok(false) };
        Ok(self.standing(watch)?.is_worse_than(start, self.slack()?))
    }

    /// What errors of the same components may differ by.
    fn slack(&self) -> Result<f64> {
        let total = total_variance(self.engine.as_ref())?;
        Ok(ROUNDING * self.prepared.precision.epsilon() * total.abs())
    }

    /// Goes on with the gains that the run has come to, or lower ones if they were found by trying and do not serve any more. `saved` is
    /// the state to begin again from. A run that is stopped before it has become anything stays there.
    pub(super) fn go_on_from(
        &mut self,
        saved: &(State, usize),
        order: Order<'_>,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<()> {
        let GainParameters { eta0, tau, mu } = self.parameters;
        let mut gains = Gains {
            eta0: Tuned::from_value(self.settings.eta0, eta0, self.unit_of_eta0()?),
            mu: Tuned::from_value(self.settings.mu, mu.unwrap_or(0.0), self.unit_of_mu()?),
            tau,
            adapts: self.settings.rule.adapts(),
            serve_without: false,
        };
        loop {
            let diverged = match self.run(order, gains.parameters(), watch, stopwatch)? {
                Ended::Diverged(diverged) => diverged,
                Ended::Done if self.settings.tunes() && self.is_useless()? => Diverged::grown(self.n_updates()),
                Ended::Done | Ended::Stopped => return Ok(()),
            };
            let fails = |learner: &Self, ended: &Ended| match ended {
                Ended::Diverged(_) => Ok(true),
                Ended::Done => learner.is_useless(),
                Ended::Stopped => Ok(false),
            };
            match self.lower(&mut gains, Some(saved), order, fails, watch, stopwatch)? {
                Lowered::Yes | Lowered::Anew => self.go_back(saved),
                Lowered::Stopped => return Ok(()),
                Lowered::No => {
                    // Whoever lets a learner go on counts from there.
                    let updates = diverged.updates - saved.0.small.updates;
                    return Err(self.diverged(Diverged { updates, ..diverged }));
                }
            }
        }
    }

    fn go_back_if(&mut self, saved: Option<&(State, usize)>) {
        if let Some(saved) = saved {
            self.go_back(saved);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_worse_if_either_error_has_grown_by_more_than_rounding() {
        let standing = |feature_error, error| Standing { feature_error, error };
        let start = standing(1.0, Some(2.0));
        assert!(!start.is_worse_than(start, 0.0));
        assert!(!standing(0.5, Some(2.0)).is_worse_than(start, 0.0));
        assert!(!standing(1.0 + 1e-9, Some(2.0 + 1e-9)).is_worse_than(start, 1e-8));
        assert!(standing(0.5, Some(2.1)).is_worse_than(start, 1e-8));
        assert!(standing(1.1, Some(1.0)).is_worse_than(start, 1e-8));
        assert!(standing(f64::NAN, Some(1.0)).is_worse_than(start, 1e-8));
        // Where the second is not computed, the first decides.
        assert!(!standing(1.0, None).is_worse_than(standing(1.0, None), 0.0));
        assert!(standing(1.1, None).is_worse_than(standing(1.0, None), 0.0));
    }
}
