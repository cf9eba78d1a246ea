//! The Gaussian about one centre, as a truncated series with a bound on what is left out.
//!
//! **Use it** when all points lie within a few bandwidths of their centre: the number of terms needed grows with `(R/σ)^(2d)`.
//!
//! **Cost** of a product with `b` vectors: `(sources + targets) · C(p - 1 + d, d) · (b + 1)` multiply-adds.
//!
//! # Method
//!
//! `e^{-‖x-y‖²/2σ²} = e^{-‖x-c‖²/2σ²} e^{-‖y-c‖²/2σ²} Σ_m ((x-c)·(y-c))^m / (σ^{2m} m!)`, and powers of inner products are inner products
//! of monomials. The sum is cut off after `p` terms; what is left out is bounded in three ways ([`TruncationBound`]). The kernel that is
//! left is an inner product of `C(p - 1 + d, d)` features, so it is positive semi-definite and has no more eigenvalues than that.
//!
//! The bounds hold for each entry, so `|error of K u| ≤ bound · |u|₁`. (\[RA\] multiplies by the number of points instead, which needs
//! `|u_j| ≤ 1`.) Scaling all coordinates by a common factor is part of the ratio `R²/σ²`; scaling each by its own would be
//! another kernel.
//!
//! # References
//!
//! - \[RA\] V. C. Raykar, A. Ankur, "Fast kernel principal component analysis for the polynomial and Gaussian kernels", CMSC878R
//!   project report, University of Maryland. Section 11.

use super::mixture::ln_gamma;
use super::{Features, Monomials};
use crate::error::{Error, Result};

/// How the error of a truncated series is bounded, for points within `R` of the centre, with `ρ = R²/σ²`.
///
/// ```
/// use mercer::expansion::TruncationBound;
///
/// // A unit square about its centre: R² = 1/2; bandwidth 1/2.
/// let ratio = 0.5 / 0.25;
/// assert_eq!(TruncationBound::Printed.terms(ratio, 100.0, 1e-6), Some(17));
/// assert_eq!(TruncationBound::Sharper.terms(ratio, 100.0, 1e-6), Some(16));
/// assert_eq!(TruncationBound::Optimal.terms(ratio, 100.0, 1e-6), Some(15));
/// // The sharper bound is ρᵖ / p!, the printed one larger by a factor of e^ρ.
/// assert!((TruncationBound::Sharper.of(3, 2.0) - 8.0 / 6.0).abs() < 1e-15);
/// assert!((TruncationBound::Printed.of(3, 2.0) - 8.0 / 6.0 * 2.0_f64.exp()).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TruncationBound {
    /// `ρ^p / p! · e^ρ`, as it is printed.
    Printed,
    /// `ρ^p / p!`: the exponential is cancelled by the prefactors.
    Sharper,
    /// The probability that a Poisson variable of mean `ρ` is at least `p`, which is attained.
    Optimal,
}

/// What rounding adds to the error of an entry, whose bound is attained, in a series of so many features: the sum over them is taken pairwise in vectors.
pub(super) fn rounding(features: usize) -> f64 {
    f64::EPSILON * (64.0 + (features as f64).sqrt())
}
/// More terms than this are never asked for.
const MAX_ORDER: usize = 2000;
/// Nor are points farther from a centre, in bandwidths: `e^{-r²/2}`, which their features begin with, is no number of full precision beyond 37.
const MAX_RADIUS: f64 = 35.0;

impl TruncationBound {
    /// The bound on the error of one entry for `terms` terms (powers 0 to `terms - 1`) and `ratio` = `R²/σ²`.
    pub fn of(self, terms: usize, ratio: f64) -> f64 {
        match self {
            Self::Printed => Self::Sharper.of(terms, ratio) * ratio.exp(),
            Self::Sharper => (1..=terms).fold(1.0, |product, m| product * (ratio / m as f64)),
            Self::Optimal => poisson_tail(terms, ratio),
        }
    }

    /// The fewest terms with which `factor` times the bound is at most `tolerance`; `None` if 1999 are not enough.
    ///
    /// `factor` is the sum of the absolute values of the vector that is multiplied.
    pub fn terms(self, ratio: f64, factor: f64, tolerance: f64) -> Option<usize> {
        // Half of a Poisson variable's values lie at its mean or above, so fewer terms than that are never enough.
        let never = self == Self::Optimal && ratio > MAX_ORDER as f64 && factor > 2.0 * tolerance;
        if never { None } else { (1..MAX_ORDER).find(|&terms| factor * self.of(terms, ratio) <= tolerance) }
    }
}

/// Above this mean `e^{-mean}` is no number any more; tails that begin below the mean are then taken for one, which they nearly are.
const LARGEST_MEAN: f64 = 700.0;

/// `P[Poisson(mean) ≥ p]`: beyond the mean summed from its largest term on, so that small tails keep their relative accuracy, and
/// otherwise as one less the head.
fn poisson_tail(p: usize, mean: f64) -> f64 {
    if p == 0 {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    if (p as f64) <= mean {
        if mean > LARGEST_MEAN {
            return 1.0;
        }
        let (mut head, mut term) = (0.0, (-mean).exp());
        for m in 0..p {
            head += term;
            term *= mean / (m + 1) as f64;
        }
        return 1.0 - head;
    }
    let first = (p as f64 * mean.ln() - mean - ln_gamma(p as f64 + 1.0)).exp();
    let (mut sum, mut m, mut last) = (0.0, p, first);
    while last > sum * 1e-17 {
        sum += last;
        m += 1;
        last *= mean / m as f64;
    }
    sum
}

/// A truncated series: its order and what it leaves out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) terms: usize,
    pub(super) bound: f64,
}

impl Order {
    /// The order for points within `radius` of the centre of a Gaussian of inverse width `gamma`.
    pub(super) fn for_radius(gamma: f64, radius: f64, tolerance: f64) -> Option<Self> {
        let ratio = 2.0 * gamma * radius * radius;
        if ratio > MAX_RADIUS * MAX_RADIUS {
            return None;
        }
        let terms = TruncationBound::Optimal.terms(ratio, 1.0, tolerance)?;
        Some(Self { terms, bound: TruncationBound::Optimal.of(terms, ratio) })
    }

    /// The order for sources within `sources` and targets within `targets` of the centre.
    ///
    /// The error at distances `a` and `b` (over σ) is at most `e^{-(a-b)²/2} P[Poisson(a b) ≥ p]`; it is looked for on a grid of both,
    /// and a tenth is added for what lies between its points.
    pub(super) fn for_radii(gamma: f64, sources: f64, targets: f64, tolerance: f64) -> Option<Self> {
        const STEPS: usize = 24;
        let scale = (2.0 * gamma).sqrt();
        let (sources, targets) = (sources * scale, targets * scale);
        if sources.max(targets) > MAX_RADIUS {
            return None;
        }
        let worst = |p: usize| {
            let mut worst = 0.0_f64;
            for i in 1..=STEPS {
                let b = sources * i as f64 / STEPS as f64;
                for j in 1..=2 * STEPS {
                    let a = targets * j as f64 / (2 * STEPS) as f64;
                    let apart = (-0.5 * (a - b) * (a - b)).exp();
                    // The tail is at most one: nothing to find where the prefactor is smaller than what was found.
                    if apart > worst {
                        worst = worst.max(apart * poisson_tail(p, a * b));
                    }
                }
            }
            1.1 * worst
        };
        // What is left out falls with the number of terms: the first that suffices is found by doubling and halving.
        let mut enough = 1;
        while worst(enough) > tolerance {
            enough *= 2;
            if enough > MAX_ORDER {
                return None;
            }
        }
        let mut too_few = enough / 2;
        while too_few + 1 < enough {
            let middle = usize::midpoint(too_few, enough);
            if worst(middle) <= tolerance { enough = middle } else { too_few = middle }
        }
        Some(Self { terms: enough, bound: worst(enough) })
    }
}

/// The features of a Gaussian of inverse width `gamma` about `center`, powers 0 to `terms - 1`.
///
/// # Errors
///
/// If `terms` is zero or there are too many monomials.
pub(super) fn features(gamma: f64, center: Vec<f64>, terms: usize) -> Result<Features> {
    if terms == 0 {
        return Err(Error::invalid("terms", "at least 1", terms));
    }
    let monomials = Monomials::new(center.len(), terms - 1)?;
    Ok(Features::gaussian(monomials, center, (2.0 * gamma).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_of_the_poisson_distribution_are_right_on_both_sides_of_the_mean() {
        // Summed up term by term.
        for mean in [0.3_f64, 2.0, 9.0] {
            for p in [1, 2, 5, 12, 30] {
                let mut term = (-mean).exp();
                let (mut head, mut tail) = (0.0, 0.0);
                for m in 0..200 {
                    if m < p {
                        head += term;
                    } else {
                        tail += term;
                    }
                    term *= mean / f64::from(m + 1);
                }
                let found = TruncationBound::Optimal.of(p as usize, mean);
                assert!((found - tail).abs() <= 1e-12 * tail + 1e-15 * head, "mean {mean}, p {p}: {found} and {tail}");
            }
        }
    }

    #[test]
    fn each_bound_is_sharper_than_the_one_before() {
        for ratio in [0.1, 1.0, 4.0] {
            for terms in 1..30 {
                let [printed, sharper, optimal] =
                    [TruncationBound::Printed, TruncationBound::Sharper, TruncationBound::Optimal]
                        .map(|bound| bound.of(terms, ratio));
                assert!(optimal <= sharper * (1.0 + 1e-12) && sharper <= printed, "ratio {ratio}, terms {terms}");
            }
        }
    }

    #[test]
    fn points_so_far_out_that_their_features_underflow_are_refused() {
        assert!(Order::for_radius(0.5, 34.9, 1e-8).is_some() && Order::for_radius(0.5, 35.1, 1e-8).is_none());
        assert!(Order::for_radii(0.5, 1.0, 34.9, 1e-8).is_some() && Order::for_radii(0.5, 1.0, 35.1, 1e-8).is_none());
    }

    #[test]
    fn two_equal_radii_ask_for_about_as_much_as_one() {
        let one = Order::for_radius(0.5, 2.0, 1e-8).expect("in its domain");
        let two = Order::for_radii(0.5, 2.0, 2.0, 1e-8).expect("in its domain");
        assert!(two.terms >= one.terms && two.terms <= one.terms + 2, "{one:?} and {two:?}");
    }
}
