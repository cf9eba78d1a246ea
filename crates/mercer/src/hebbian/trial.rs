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
use super::tune::{Tuned, trial_updates};
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

impl HebbianLearner {
    /// Runs with the gains that were given, or with the largest that do not diverge and leave a given start no worse than it was.
    pub(super) fn tuned_run(&mut self, order: Order<'_>, watch: &Watch<'_>, stopwatch: Stopwatch) -> Result<()> {
        let adapts = self.settings.rule.adapts();
        let tau = self.tau(self.points.n_samples());
        let (mut eta0, mut mu) = (Tuned::from(self.settings.eta0), Tuned::from(self.settings.mu));
        // There is nothing to come back to if nothing is tuned.
        let saved = if self.settings.tunes() { Some((self.state.duplicate(), 0)) } else { None };
        let trial = order.first(trial_updates(self.points.n_samples()));
        // What a trial learns is not worth keeping.
        let keeping = self.keeping.take();
        if self.settings.eta0 == Gain::Auto && (adapts || self.start_standing.is_some()) {
            let without = |eta0| GainParameters { eta0, tau, mu: adapts.then_some(0.0) };
            self.lower_in_trials(trial, saved.as_ref(), &mut eta0, without, watch, stopwatch)?;
        }
        if adapts && self.settings.mu == Gain::Auto {
            let with = |mu| GainParameters { eta0: eta0.value(), tau, mu: Some(mu) };
            self.lower_in_trials(trial, saved.as_ref(), &mut mu, with, watch, stopwatch)?;
        }
        self.keeping = keeping;
        loop {
            let parameters = GainParameters { eta0: eta0.value(), tau, mu: adapts.then(|| mu.value()) };
            let ended = self.run(order, parameters, watch, stopwatch)?;
            let wrong = match self.wrong_with(&ended, watch) {
                // There is no time left to find out.
                Err(Error::Interrupted { .. }) => return Ok(()),
                found => found?,
            };
            let lowered = match &wrong {
                None => return Ok(()),
                // What is tuned last is lowered first.
                Some(Wrong::Diverged(_)) => (adapts && mu.lower()) || eta0.lower(),
                // Either may be to blame.
                Some(Wrong::Worse) => (adapts && mu.lower()) | eta0.lower(),
            };
            match (wrong, lowered, &saved) {
                (_, true, Some(saved)) => self.go_back(saved),
                (Some(Wrong::Diverged(diverged)), ..) => return Err(self.diverged(diverged)),
                // Gains that change nothing: the start is as good as it can be told to be.
                _ => return Ok(()),
            }
        }
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
            let wrong = match self.run(trial, parameters(tuned.value()), watch, stopwatch)? {
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
        let (adapts, GainParameters { tau, .. }) = (self.settings.rule.adapts(), self.parameters);
        let mut eta0 = Tuned::from_value(self.settings.eta0, self.parameters.eta0);
        let mut mu = Tuned::from_value(self.settings.mu, self.parameters.mu.unwrap_or(0.0));
        loop {
            let parameters = GainParameters { eta0: eta0.value(), tau, mu: adapts.then(|| mu.value()) };
            let diverged = match self.run(order, parameters, watch, stopwatch)? {
                Ended::Diverged(diverged) => diverged,
                Ended::Done if self.settings.tunes() && self.is_useless()? => Diverged::grown(self.n_updates()),
                Ended::Done | Ended::Stopped => return Ok(()),
            };
            if !((adapts && mu.lower()) || eta0.lower()) {
                return Err(self.diverged(diverged));
            }
            self.go_back(saved);
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
