//! The eigenpairs of a fit, and what they are measured against.
//!
//! Shares of the variance are of the trace. A kernel that is not positive semi-definite has negative eigenvalues, which diminish the trace: shares of it would be too large, and a
//! few components would seem to explain more than all there is. Then shares are of the sum of what counts, positive eigenvalues where the negative ones count as zero, and absolute values where
//! those lead. That sum is known when all of them have been found.

use super::rounding::{self, FixedPoint};
use crate::eigen::{EigenPairs, Order};
use crate::gram::{Centering, StoreFormat};
use crate::scalar::Precision;

/// Eigenpairs and what they are measured against.
pub(crate) struct Spectrum {
    pub(crate) pairs: EigenPairs,
    /// The trace of the (centred) matrix.
    pub(crate) total: f64,
    pub(super) whole: Whole,
    pub(crate) centering: Option<Centering>,
    /// Why more pairs were not looked for, if there are more and they were wanted.
    pub(crate) cut_short: Option<CutShort>,
}

/// What shares of the variance are of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Whole {
    Trace,
    /// The sum of what counts, where negative eigenvalues diminish the trace.
    Counted(f64),
    /// The same, before all that counts has been found.
    Unknown,
}

/// What ended the search for a share of the variance before it was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutShort {
    /// The watch said stop.
    Stopped,
    /// So many components would not have fitted.
    OverBudget { n_components: usize },
}

impl Spectrum {
    pub(crate) fn new(pairs: EigenPairs, diagonal: &[f64], centering: Option<Centering>) -> Self {
        let trace: f64 = diagonal.iter().sum();
        let n = diagonal.len() as f64;
        let mean = centering.as_ref().map_or(0.0, |centering| centering.mean);
        Self { pairs, total: trace - n * mean, whole: Whole::Trace, centering, cut_short: None }
    }

    /// Eigenvalues below this cannot be told from rounding: entries are known to a few units in the last place, of the size they had
    /// before centring, and such errors move eigenvalues by about that share of the largest eigenvalue before centring.
    /// Tiles kept in fixed point have errors of their own, whose matrix has eigenvalues, too.
    pub(super) fn noise(&self, precision: Precision, kept: StoreFormat) -> f64 {
        let n = self.centering.as_ref().map_or(1.0, |centering| centering.column_means.len() as f64);
        let largest = self.pairs.values.iter().fold(0.0_f64, |m, value| m.max(value.abs()));
        let before = self.centering.as_ref().map_or(0.0, |centering| n * centering.mean.abs());
        let factor = match precision {
            Precision::F32 => 8.0,
            // Double precision is what the algebra of the solver is done in, too, so its rounding counts as well.
            Precision::F64 => 200.0,
        };
        let noise = factor * precision.epsilon() * largest.max(before);
        match kept {
            StoreFormat::Full => noise,
            StoreFormat::Fixed16 => noise.max(rounding::of_independent_errors(self.pairs.vectors.nrows())),
        }
    }

    /// Takes note of negative eigenvalues that diminish the trace. `has_all` says whether all pairs that count were found.
    pub(super) fn count(&mut self, order: Order, has_all: bool) {
        let counted: f64 = self.pairs.values.iter().map(|&value| weight(order, value)).sum();
        self.whole = if has_all { Whole::Counted(counted) } else { Whole::Unknown };
    }

    /// What keeping tiles in a format has changed in the matrix, relative to the first eigenvalue; `change` is what a look at the matrix has told of it.
    pub(super) fn lost_by_keeping(&self, kept: StoreFormat, change: Option<FixedPoint>) -> f64 {
        let first = self.pairs.values.iter().fold(0.0_f64, |m, value| m.max(value.abs()));
        match (kept, change) {
            (StoreFormat::Full, _) => 0.0,
            _ if first == 0.0 => 0.0,
            (StoreFormat::Fixed16, Some(change)) => change.share_of(first),
            // No matrix of such errors has a larger norm.
            (StoreFormat::Fixed16, None) => self.pairs.vectors.nrows() as f64 * kept.entry_error() / first,
        }
    }

    /// How large a negative eigenvalue is beside the largest positive one, if it means something: more than rounding, and more than tiles in fixed point
    /// have of their own.
    pub(super) fn negative_share(
        &self,
        lowest: f64,
        precision: Precision,
        kept: StoreFormat,
        change: Option<FixedPoint>,
    ) -> Option<f64> {
        let largest = self.pairs.values.iter().copied().fold(0.0_f64, f64::max);
        let share = -lowest / largest.max(f64::MIN_POSITIVE);
        let least = significant_negative(precision).max(self.lost_by_keeping(kept, change));
        (share > least && -lowest > self.noise(precision, kept)).then_some(share)
    }

    /// Whether negative eigenvalues were seen that mean something.
    pub(super) fn has_negative(&self, precision: Precision, kept: StoreFormat, change: Option<FixedPoint>) -> bool {
        let lowest = self.pairs.most_negative;
        lowest.is_some_and(|lowest| self.negative_share(lowest, precision, kept, change).is_some())
    }

    /// The share of the variance of each pair. Kernels with negative eigenvalues can have a trace below what a single pair
    /// holds; shares are then of all that was found, if no more is known.
    pub(super) fn shares(&self) -> Vec<f64> {
        let found: f64 = self.pairs.values.iter().map(|value| value.abs()).sum();
        let whole = match self.whole {
            Whole::Counted(whole) => whole,
            Whole::Trace | Whole::Unknown => self.total.max(found),
        };
        self.pairs.values.iter().map(|value| if whole > 0.0 { value.abs() / whole } else { 0.0 }).collect()
    }

    /// What is to be said of pairs that are not known to explain `share`.
    pub(super) fn shortfall(&self, share: f64) -> String {
        let found = self.pairs.values.len();
        if self.whole == Whole::Unknown {
            return format!(
                "{found} components may explain less than the {share} of the variance that was asked for: negative eigenvalues \
                 diminish its total, and not all others were found"
            );
        }
        let explained: f64 = self.shares().iter().sum();
        format!("{found} components explain {explained:.4} of the variance, not the {share} asked for")
    }

    /// The fewest pairs that explain `share`, if these are known to.
    pub(super) fn pairs_for_share(&self, order: Order, share: f64) -> Option<usize> {
        let whole = match self.whole {
            Whole::Trace => self.total,
            Whole::Counted(whole) => whole,
            Whole::Unknown => return None,
        };
        let mut sum = 0.0;
        // Rounding must not make the last component of an exact share miss it.
        let wanted = share * whole * (1.0 - 1e-12);
        self.pairs
            .values
            .iter()
            .position(|&value| {
                sum += weight(order, value);
                sum >= wanted
            })
            .map(|last| last + 1)
    }

    /// How many pairs might do, if eigenvalues go on falling as slowly as the last ones found.
    pub(super) fn guess_for_share(&self, order: Order, share: f64, k: usize) -> usize {
        let weights = || self.pairs.values.iter().map(|&value| weight(order, value));
        let (last, missing) = (weights().next_back().unwrap_or(0.0), share * self.total - weights().sum::<f64>());
        let at_least = match self.whole {
            // All of them are wanted.
            Whole::Unknown => 4 * k,
            _ if last > 0.0 => k + (missing / last).ceil() as usize,
            _ => 2 * k,
        };
        at_least.clamp(k + k / 2 + 1, 4 * k)
    }

    /// Whether the last pair is already rounding, or does not count: there are no more.
    pub(super) fn has_all(&self, order: Order, precision: Precision, kept: StoreFormat) -> bool {
        let noise = self.noise(precision, kept);
        self.pairs.values.last().is_none_or(|&value| weight(order, value) <= noise)
    }

    /// The first `k` pairs only.
    pub(super) fn truncated(mut self, k: usize) -> Self {
        self.pairs.next = self.pairs.values.get(k).copied().or(self.pairs.next);
        self.pairs.values.truncate(k);
        self.pairs.residuals.truncate(k);
        self.pairs.converged = self.pairs.converged.min(k);
        self.pairs.vectors = self.pairs.vectors.subcols(0, k.min(self.pairs.vectors.ncols())).to_owned();
        self
    }

    pub(super) fn nothing() -> Self {
        Self { pairs: EigenPairs::empty(0), total: 0.0, whole: Whole::Trace, centering: None, cut_short: None }
    }
}

/// What an eigenvalue counts for in shares of the variance: by its size where absolute values lead, and otherwise nothing if it is negative.
fn weight(order: Order, value: f64) -> f64 {
    match order {
        Order::Algebraic => value.max(0.0),
        Order::Modulus => value.abs(),
    }
}

/// Negative eigenvalues larger than this share of the largest positive one mean something.
pub(crate) const fn significant_negative(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 5e-3,
        Precision::F64 => 1e-5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The leading of some eigenvalues, whose sum is 3.
    fn leading(values: &[f64]) -> Spectrum {
        let pairs = EigenPairs { values: values.to_vec(), most_negative: Some(-5.0), ..EigenPairs::empty(0) };
        Spectrum::new(pairs, &[1.0, 2.0], None)
    }

    #[test]
    fn shares_are_of_what_counts_where_negative_eigenvalues_diminish_the_trace() {
        let mut spectrum = leading(&[4.0, 3.0, 1.0, -5.0]);
        assert!(spectrum.has_negative(Precision::F64, StoreFormat::Full, None));
        assert_eq!(spectrum.pairs_for_share(Order::Algebraic, 0.8), Some(1), "of the trace");
        spectrum.count(Order::Algebraic, true);
        assert_eq!(spectrum.pairs_for_share(Order::Algebraic, 0.8), Some(2));
        assert_eq!(spectrum.truncated(2).shares(), [0.5, 0.375]);

        let mut spectrum = leading(&[-5.0, 4.0, 3.0, 1.0]);
        spectrum.count(Order::Modulus, true);
        assert_eq!(spectrum.pairs_for_share(Order::Modulus, 0.6), Some(2));
        assert!(!spectrum.has_all(Order::Modulus, Precision::F64, StoreFormat::Full));
    }

    #[test]
    fn a_negative_eigenvalue_means_something_beyond_rounding_and_what_fixed_point_has_changed() {
        let mut spectrum = leading(&[4.0, 3.0]);
        let share = |spectrum: &Spectrum, lowest: f64, kept: StoreFormat, change: Option<FixedPoint>| {
            spectrum.negative_share(lowest, Precision::F64, kept, change)
        };
        assert_eq!(share(&spectrum, -1.0, StoreFormat::Full, None), Some(0.25));
        assert_eq!(share(&spectrum, -1e-5, StoreFormat::Full, None), None);
        assert_eq!(share(&spectrum, -1.0, StoreFormat::Fixed16, Some(FixedPoint::UNKNOWN)), None);
        // Centring has taken away so much that rounding of it is larger than all that is left.
        spectrum.centering = Some(Centering { column_means: vec![1e16; 2], mean: 1e16, weights: None });
        assert_eq!(share(&spectrum, -1.0, StoreFormat::Full, None), None);
    }

    #[test]
    fn no_share_is_known_before_all_that_counts_was_found() {
        let mut spectrum = leading(&[4.0, 3.0]);
        spectrum.count(Order::Algebraic, false);
        assert_eq!(spectrum.pairs_for_share(Order::Algebraic, 0.1), None);
        assert_eq!(spectrum.guess_for_share(Order::Algebraic, 0.1, 2), 8);
        let said = spectrum.shortfall(0.1);
        assert!(said.starts_with("2 components may explain less than the 0.1 of the variance"), "{said}");
        let last_is_negative = leading(&[4.0, -5.0]);
        assert!(last_is_negative.has_all(Order::Algebraic, Precision::F64, StoreFormat::Full));
        assert!(!last_is_negative.has_all(Order::Modulus, Precision::F64, StoreFormat::Full));
    }
}
