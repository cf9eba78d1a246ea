//! Gains that have died: what meta-descent leaves behind after a blow-up.
//!
//! # Method
//!
//! When components grow too fast, (32) of \[GSV07\] lowers their log-gains, by more the more they have grown. That may stop the blow-up before any
//! test of lengths sees it, and with log-gains so low that the component stays for ever where the blow-up has left it: finite, and useless.
//!
//! An update changes a component by its gain times `y²`, relative to its length, so a pass changes it by about its gain times
//! `(A K' K' Aᵀ)ᵢᵢ`. A gain is dead if both
//!
//! 1. meta-descent has taken it below [`FALLEN`] of what the rule alone would give, and
//! 2. with it, as many passes again as there have been (or one, if there has been less) would change the component by less than [`STILL`].
//!
//! A gain that is found by trying has to meet more: a component whose gain has fallen must not be so slow that it stays
//! [long or short](LENGTH_LEFT) where the run ends. Its squared length goes to one at twice the rate at which it changes.
//!
//! Log-gains that fall because a run converges do not meet that: what they fall by is proportional to the gain itself, so gains fall like one
//! over the number of updates, and the change in as many passes again stays the same. A gain that was small from the beginning
//! does not meet it, either.
//!
//! It costs one look at the scores of all points, at the end of every pass.
//!
//! # References
//!
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8. Equation and
//!   algorithm numbers are those of the journal version.

use super::learner::HebbianLearner;

/// The share of the rule's gain below which meta-descent does not go while it learns.
const FALLEN: f64 = 1e-3;
/// The share of a component that is no change: gains that learn were seen to change theirs by 0.17 and more, gains that do not by
/// 0.003 and less.
const STILL: f64 = 1e-2;

/// The share of the rule's gain below which a component is looked at more closely.
const LOWERED: f64 = 0.1;
/// What may be missing to a squared length of one, or too much, after as many passes again.
const LENGTH_LEFT: f64 = 0.3;

impl HebbianLearner {
    /// Whether the gain of any component has died.
    pub(super) fn has_died(&self) -> bool {
        self.adapted().any(|gain| gain.is_dead())
    }

    /// Whether any component will not come to its length with the gain that it is left with.
    pub(super) fn is_stuck(&self) -> bool {
        self.adapted().any(|gain| gain.is_stuck())
    }

    /// The gains that meta-descent has adapted; none if the rule does not adapt any.
    fn adapted(&self) -> impl Iterator<Item = Adapted> + '_ {
        let (small, rho0) = (&self.state.small, self.settings.rho0);
        let passes = (self.n_updates() as f64 / self.points.n_samples() as f64).max(1.0);
        let squares = if self.settings.rule.adapts() { self.state.squared_images() } else { Vec::new() };
        let gains = small.gains.iter().zip(&small.log_gains).map(move |(gain, rho)| (gain * rho.exp(), rho - rho0));
        squares
            .into_iter()
            .zip(gains)
            .zip(small.squared_lengths())
            .map(move |((square, (gain, fallen)), length)| Adapted { fallen, change: gain * square * passes, length })
    }
}

/// What meta-descent has made of the gain of a component.
struct Adapted {
    /// The logarithm of the gain relative to what the rule alone would give.
    fallen: f64,
    /// The share of the component that as many passes again would change.
    change: f64,
    /// The squared length of the component.
    length: f64,
}

impl Adapted {
    fn is_dead(&self) -> bool {
        self.fallen < FALLEN.ln() && self.change < STILL
    }

    fn is_stuck(&self) -> bool {
        let left = (self.length - 1.0).abs() * (-2.0 * self.change).exp();
        self.fallen < LOWERED.ln() && left > LENGTH_LEFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Log-gains, changes and squared lengths in runs of ten passes.
    fn adapted(fallen: f64, change: f64, length: f64) -> Adapted {
        Adapted { fallen, change, length }
    }

    #[test]
    fn a_gain_is_dead_if_it_has_fallen_and_changes_nothing_any_more() {
        assert!(adapted(-18.7, 6.5e-7, 1.94).is_dead());
        assert!(adapted(-9.3, 2.8e-3, 1.22).is_dead());
        // Slow, and as it should be.
        assert!(!adapted(-7.8, 0.17, 1.28).is_dead());
        assert!(!adapted(-1.1, 15.0, 1.19).is_dead());
        // Fallen far from a gain that was enormous: it still does something.
        assert!(!adapted(-9.0, 0.1, 1.0).is_dead());
        // Given as next to nothing, and not fallen.
        assert!(!adapted(0.0, 1e-300, 0.1).is_dead());
    }

    #[test]
    fn a_component_is_stuck_if_it_will_not_come_to_its_length() {
        assert!(adapted(-18.7, 6.5e-7, 1.94).is_stuck());
        assert!(adapted(-6.0, 0.2, 1.9).is_stuck() && adapted(-6.0, 0.2, 0.1).is_stuck());
        // On its way, and there.
        assert!(!adapted(-5.9, 0.52, 0.58).is_stuck());
        assert!(!adapted(-3.8, 0.47, 0.81).is_stuck());
        // Long from noise of a gain that has not fallen.
        assert!(!adapted(-0.5, 20.0, 1.7).is_stuck());
        assert!(!adapted(0.0, 1e-300, 0.1).is_stuck());
    }
}
