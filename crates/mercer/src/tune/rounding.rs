//! What single precision and interpolation do to a curve, seen on a sample of the points.
//!
//! Distances within groups that lie far apart are small differences of large numbers; kernels much wider than all distances differ from one by little; and between nodes
//! a kernel is as exact as its largest values are (`between`). A sample has such distances as all points have them, and what it estimates for all points
//! (`Sums::unbiased_variance`) is off by as much as their curve is.

use super::between::Layout;
use super::pass::Evaluator;
use super::spectrum::{Graded, Sums};
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::gram::diagonal;
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// Points whose curve is computed in both precisions.
const SAMPLE: usize = 256;
const SEED: u64 = 0;

/// A change of this share of the highest value leaves a maximum where it is, to the accuracy that is of use.
pub(super) const MOST: f64 = 1e-4;
/// So few points take no time in double precision.
pub(super) const FEW: usize = 2000;
/// What single precision may change of a value or a slope, as a share of itself.
const MOST_ROUNDING: f64 = 1e-3;
/// And what interpolation may.
const MOST_BETWEEN: f64 = 1e-5;
/// Slopes by the logarithm of the width below this share of the value count as so large: for single precision, which has noise, and for interpolation, which has none.
const FLAT: (f64, f64) = (1e-2, 1e-12);

/// Inverse widths, from one to another: what interpolation between nodes is right for, and what single precision is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trust {
    pub(super) between: (f64, f64),
    pub(super) single: (f64, f64),
}

const ALL: (f64, f64) = (0.0, f64::INFINITY);
const NONE: (f64, f64) = (f64::INFINITY, 0.0);

impl Trust {
    /// Single precision for all, and no interpolation.
    pub(super) const DIRECT: Self = Self { between: NONE, single: ALL };

    /// Whether single precision is right for an inverse width.
    pub(super) fn takes_single(&self, gamma: f64) -> bool {
        (self.single.0..=self.single.1).contains(&gamma)
    }

    /// What can be trusted between two inverse widths, and the largest change that single precision makes to the criterion, relative to its highest value.
    /// Beyond them nothing is interpolated, and nothing is trusted to single precision.
    ///
    /// # Errors
    ///
    /// If a point is too large, or the run was stopped.
    pub(super) fn of(
        points: &Points,
        kernel: &Kernel,
        unit: f64,
        (low, high): (f64, f64),
        context: &Context<'_>,
    ) -> Result<(Self, f64)> {
        let (n, some) = (points.n_samples(), sample(points));
        let pack = |precision| Evaluator::new(&some, kernel, unit, precision, context);
        let (single, double) = (pack(Precision::F32)?, pack(Precision::F64)?);
        let (between, gammas) = if matches!(kernel, Kernel::Gaussian(_)) {
            let (sums, gammas) = double.at_worst(low, high, context)?;
            (Some(sums), gammas)
        } else {
            (None, Layout::at_its_worst(low, high).1)
        };
        let curve = |sums: &[Sums]| sums.iter().map(|sums| estimate(sums, n)).collect::<Vec<_>>();
        let direct = double.at_gammas(kernel, &gammas, context)?;
        let rounded = single.at_gammas(kernel, &gammas, context)?;
        let change = largest_change(&rounded, &direct);
        let exact = curve(&direct);
        let run = |found: &[Sums], flat: f64, most: f64| {
            let errors = relative_errors(&curve(found), &exact, &gammas, flat);
            longest_run(&gammas, |at| errors[at] <= most)
        };
        let between = between.map_or(NONE, |sums| run(&sums, FLAT.1, MOST_BETWEEN));
        Ok((Self { between, single: run(&rounded, FLAT.0, MOST_ROUNDING) }, change))
    }
}

/// Some of the points.
fn sample(points: &Points) -> Points {
    points.select(&sample_rows(points.n_samples(), SAMPLE, SEED))
}

/// The curve of `n` points, of which the sums are those of a sample, or of all.
fn estimate(sums: &Sums, n: usize) -> Graded {
    if sums.n == n { sums.graded_variance() } else { sums.unbiased_variance(n) }
}

/// How wrong values and slopes of a curve are, relative to themselves. Where a slope changes its sign, the next one tells how large slopes are there; below a share of the value
/// they count as flat.
fn relative_errors(found: &[Graded], exact: &[Graded], gammas: &[f64], flat: f64) -> Vec<f64> {
    let by_log = |at: usize| gammas[at] * exact[at].slope;
    let error = |at: usize| {
        let value = exact[at].value.abs();
        // The next narrower: beyond all distances slopes only become smaller, so that it does not hide them.
        let narrower = if at + 1 < gammas.len() { by_log(at + 1).abs() } else { 0.0 };
        let slope = by_log(at).abs().max(narrower).max(flat * value);
        let value_error = (found[at].value - exact[at].value).abs() / value;
        let slope_error = gammas[at] * (found[at].slope - exact[at].slope).abs() / slope;
        // What is not a number is larger than any.
        if value_error.is_nan() || slope_error.is_nan() { f64::INFINITY } else { value_error.max(slope_error) }
    };
    (0..gammas.len()).map(error).collect()
}

/// The first and the last of the longest run of inverse widths that are right.
fn longest_run(gammas: &[f64], is_right: impl Fn(usize) -> bool) -> (f64, f64) {
    let mut best = 0..0;
    let mut start = 0;
    for at in 0..gammas.len() {
        if !is_right(at) {
            start = at + 1;
        } else if at + 1 - start > best.len() {
            best = start..at + 1;
        }
    }
    if best.is_empty() { NONE } else { (gammas[best.start], gammas[best.end - 1]) }
}

/// The largest change that single precision makes to the variance of the variances of some kernels, relative to the highest; infinite if
/// nothing is left of them. `sums` gives those of the kernels, from points packed for kernels like `kernel`.
///
/// # Errors
///
/// As `sums`, and if a point is too large.
pub(super) fn of_single_precision(
    points: &Points,
    kernel: &Kernel,
    unit: f64,
    context: &Context<'_>,
    sums: impl Fn(&Evaluator) -> Result<Vec<Sums>>,
) -> Result<f64> {
    let some = sample(points);
    let curve =
        |precision: Precision| -> Result<Vec<Sums>> { sums(&Evaluator::new(&some, kernel, unit, precision, context)?) };
    Ok(largest_change(&curve(Precision::F32)?, &curve(Precision::F64)?))
}

fn largest_change(single: &[Sums], double: &[Sums]) -> f64 {
    let highest = double.iter().fold(0.0_f64, |highest, sums| highest.max(sums.variance().abs()));
    let changes = single.iter().zip(double).map(|(a, b)| (a.variance() - b.variance()).abs());
    // What is not a number is larger than any.
    let largest =
        changes.fold(0.0_f64, |largest, change| if largest.is_nan() || largest >= change { largest } else { change });
    match () {
        () if largest == 0.0 => 0.0,
        () if highest > 0.0 && largest.is_finite() => largest / highest,
        () => f64::INFINITY,
    }
}

/// Whether sums of squares of kernel values may be too large for single precision: seen on all points, because one that is large need not be in a sample.
///
/// # Errors
///
/// If a kernel cannot be evaluated.
pub(super) fn leaves_single(points: &Points, kernels: &[Kernel]) -> Result<bool> {
    let n = points.n_samples() as f64;
    // What is not a number is larger than any.
    let fits = |value: f64| n * value * value <= f64::from(f32::MAX);
    for kernel in kernels {
        if !diagonal(kernel, points)?.into_iter().all(fits) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The precision for `kernel` and for some more like it, between which others may be asked for: double for few points, and where single precision would be
/// too coarse for the kernel, or for the highest of them, or overflow.
///
/// # Errors
///
/// As [`of_single_precision`], and if a kernel cannot be evaluated.
pub(super) fn precision(
    points: &Points,
    kernel: &Kernel,
    others: &[Kernel],
    unit: f64,
    context: &Context<'_>,
) -> Result<Precision> {
    if points.precision() == Precision::F64 || points.n_samples() <= FEW {
        return Ok(Precision::F64);
    }
    for kernels in [std::slice::from_ref(kernel), others].into_iter().filter(|kernels| !kernels.is_empty()) {
        let sums = |evaluator: &Evaluator| evaluator.at(kernels, &[], context);
        if leaves_single(points, kernels)? || of_single_precision(points, kernel, unit, context, sums)? > MOST {
            return Ok(Precision::F64);
        }
    }
    Ok(Precision::F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_of_what_is_right_is_trusted() {
        let gammas = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let run = |right: [bool; 6]| longest_run(&gammas, |at| right[at]);
        assert_eq!(run([true, false, true, true, true, false]), (4.0, 16.0));
        assert_eq!(run([true; 6]), (1.0, 32.0));
        assert_eq!(run([false; 6]), NONE);
        assert!(!Trust { between: NONE, single: NONE }.takes_single(1.0) && Trust::DIRECT.takes_single(1e300));
    }

    #[test]
    fn a_slope_is_wrong_beside_itself_or_the_next_narrower_one() {
        let exact = [(1.0, -2.0), (1.5, 1e-9), (1.0, 1.0), (0.1, 1e-6)].map(|(value, slope)| Graded { value, slope });
        let moved = exact.map(|point| Graded { slope: point.slope + 1e-6, ..point });
        let errors = relative_errors(&moved, &exact, &[1.0; 4], 1e-12);
        for (error, expected) in errors.iter().zip([0.5e-6, 1e-6, 1e-6, 1.0]) {
            assert!((error / expected - 1.0).abs() < 1e-6, "{errors:?}");
        }
        assert!(relative_errors(&moved, &exact, &[1.0; 4], 1e-2)[3] < 2e-3);
    }
}
