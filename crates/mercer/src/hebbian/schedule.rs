//! The gain of every update.
//!
//! Equation numbers are those of \[GSV07\].

use serde::{Deserialize, Serialize};

use crate::choices::{GainRule, Refresh};

impl GainRule {
    /// Whether stochastic meta-descent adapts the gains.
    pub const fn adapts(self) -> bool {
        matches!(
            self,
            Self::MetaDescentStar
                | Self::MetaDescent
                | Self::MetaDescentOnly
                | Self::AnnealedMetaDescent
                | Self::EigenvalueMetaDescent
        )
    }

    /// Whether the gains are divided by estimates of the eigenvalues.
    pub const fn uses_eigenvalues(self) -> bool {
        matches!(
            self,
            Self::EigenvalueStar
                | Self::Eigenvalue
                | Self::MetaDescentStar
                | Self::MetaDescent
                | Self::EigenvalueMetaDescent
        )
    }

    /// Whether `η₀` is the same for points in any unit: gains are divided by eigenvalues, and not multiplied by their norm.
    pub(super) const fn is_free_of_units(self) -> bool {
        matches!(self, Self::EigenvalueStar | Self::MetaDescentStar | Self::EigenvalueMetaDescent)
    }

    /// Whether the gains depend on `τ`.
    pub const fn uses_tau(self) -> bool {
        matches!(self, Self::Annealed | Self::EigenvalueStar | Self::MetaDescentStar | Self::AnnealedMetaDescent)
    }

    /// The `τ` that is used if none is given: three passes where gains are divided by eigenvalues, else one.
    pub(super) fn default_tau(self, n_samples: usize) -> f64 {
        let passes = if self.uses_eigenvalues() { 3.0 } else { 1.0 };
        passes * n_samples as f64
    }
}

/// The parameters of a gain rule, as a run uses them.
///
/// ```
/// use mercer::{GainRule, Kernel, KernelHebbianPca, Points};
///
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
/// let points = Points::from_f64(values, 20, 3)?;
/// let learner =
///     KernelHebbianPca::new(Kernel::gaussian(0.01)?).gain(GainRule::Annealed).eta0(0.5).fit(&points)?;
/// let parameters = learner.gain_parameters();
/// assert_eq!((parameters.eta0, parameters.mu), (0.5, None));
/// assert!(parameters.tau.is_some());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GainParameters {
    /// The gain, as given or as tuned.
    pub eta0: f64,
    /// Updates after which annealing has halved the gain; `None` if the rule has none.
    pub tau: Option<f64>,
    /// The meta-gain, as given or as tuned; `None` if the rule does not adapt its gains.
    pub mu: Option<f64>,
}

/// Everything that decides the gains of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    pub(super) rule: GainRule,
    pub(super) refresh: Refresh,
    pub(super) parameters: GainParameters,
    pub(super) xi: f64,
    pub(super) n_samples: usize,
}

impl Schedule {
    /// Whether estimates have to be followed from update to update.
    pub(super) fn follows_eigenvalues(&self) -> bool {
        self.rule.uses_eigenvalues() && self.refresh == Refresh::Iteration
    }

    /// Whether update `t` gets new gains; `first` if it is the first of a pass.
    pub(super) fn renews_gains(&self, first: bool) -> bool {
        first || self.refresh != Refresh::Pass || !self.rule.uses_eigenvalues()
    }

    /// The gains of update `t`, counted from one, without the part that is adapted.
    pub(super) fn gains(&self, t: usize, eigenvalues: &[f64], gains: &mut [f64]) {
        let (t, n, eta0) = (t as f64, self.n_samples as f64, self.parameters.eta0);
        let tau = self.parameters.tau.unwrap_or(n);
        let scalar = match self.rule {
            GainRule::Constant | GainRule::MetaDescentOnly | GainRule::EigenvalueMetaDescent => eta0,
            // (9), (19)
            GainRule::Annealed
            | GainRule::AnnealedMetaDescent
            | GainRule::EigenvalueStar
            // A share of the gain: however large τ is, nothing overflows.
            | GainRule::MetaDescentStar => eta0 * (tau / (t + tau)),
            // (22)
            GainRule::Eigenvalue | GainRule::MetaDescent => {
                let norm = eigenvalues.iter().map(|lambda| lambda * lambda).sum::<f64>().sqrt();
                eta0 * norm * n / (t + n)
            }
        };
        if self.rule.uses_eigenvalues() {
            gains.iter_mut().zip(eigenvalues).for_each(|(gain, lambda)| *gain = scalar / lambda);
        } else {
            gains.fill(scalar);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gains(rule: GainRule, t: usize) -> [f64; 2] {
        let parameters = GainParameters { eta0: 2.0, tau: Some(8.0), mu: None };
        let schedule = Schedule { rule, refresh: Refresh::Pass, parameters, xi: 0.99, n_samples: 4 };
        let mut out = [0.0; 2];
        schedule.gains(t, &[4.0, 3.0], &mut out);
        out
    }

    #[test]
    fn a_tau_that_nothing_ends_is_no_annealing() {
        let parameters = GainParameters { eta0: 2.0, tau: Some(1e308), mu: None };
        let schedule =
            Schedule { rule: GainRule::Annealed, refresh: Refresh::Pass, parameters, xi: 0.99, n_samples: 4 };
        let mut gains = [0.0; 2];
        schedule.gains(1000, &[4.0, 3.0], &mut gains);
        assert!(gains.iter().all(|gain| (gain - 2.0).abs() < 1e-15), "{gains:?}");
    }

    #[test]
    fn gains_are_those_of_the_formulas() {
        let same = |found: [f64; 2], expected: [f64; 2]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?} {expected:?}");
        };
        same(gains(GainRule::Constant, 8), [2.0, 2.0]);
        same(gains(GainRule::MetaDescentOnly, 8), [2.0, 2.0]);
        // Half after tau updates.
        same(gains(GainRule::Annealed, 8), [1.0, 1.0]);
        same(gains(GainRule::AnnealedMetaDescent, 8), [1.0, 1.0]);
        same(gains(GainRule::EigenvalueStar, 8), [0.25, 1.0 / 3.0]);
        same(gains(GainRule::MetaDescentStar, 8), [0.25, 1.0 / 3.0]);
        same(gains(GainRule::EigenvalueMetaDescent, 8), [0.5, 2.0 / 3.0]);
        // ‖(4, 3)‖ = 5, and 4 / (4 + 4) = 1/2 after one pass of four.
        same(gains(GainRule::Eigenvalue, 4), [1.25, 5.0 / 3.0]);
        same(gains(GainRule::MetaDescent, 4), [1.25, 5.0 / 3.0]);
    }
}
