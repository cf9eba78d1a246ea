//! What single precision does to a curve, seen on a sample of the points.
//!
//! Distances within groups that lie far apart are small differences of large numbers. A sample has such distances as all points have them, and
//! its curve is as far off as theirs.

use super::pass::Evaluator;
use super::spectrum::Sums;
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// Points whose curve is computed in both precisions.
const SAMPLE: usize = 256;
const SEED: u64 = 0;

/// A change of this share of the highest value leaves a maximum where it is, to the accuracy that is of use.
pub(super) const MOST: f64 = 1e-4;

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
    let some = points.select(&sample_rows(points.n_samples(), SAMPLE, SEED));
    let curve = |precision: Precision| -> Result<Vec<f64>> {
        let evaluator = context.threads.run(|| Evaluator::new(&some, kernel, unit, precision))?;
        Ok(sums(&evaluator)?.iter().map(Sums::variance).collect())
    };
    let (single, double) = (curve(Precision::F32)?, curve(Precision::F64)?);
    let highest = double.iter().fold(0.0_f64, |highest, value| highest.max(value.abs()));
    let changes = single.iter().zip(&double).map(|(a, b)| (a - b).abs());
    // What is not a number is larger than any.
    let largest = changes.fold(0.0, |largest, change| if largest >= change { largest } else { change });
    Ok(match () {
        () if largest == 0.0 => 0.0,
        () if highest > 0.0 && largest.is_finite() => largest / highest,
        () => f64::INFINITY,
    })
}

/// The precision of kernel values like those of `kernel`: double where single precision would be too coarse.
///
/// # Errors
///
/// As [`of_single_precision`].
pub(super) fn precision(points: &Points, kernel: &Kernel, unit: f64, context: &Context<'_>) -> Result<Precision> {
    if points.precision() == Precision::F64 {
        return Ok(Precision::F64);
    }
    let own = std::slice::from_ref(kernel);
    let change = of_single_precision(points, kernel, unit, context, |evaluator| evaluator.at(own, &[], context))?;
    Ok(if change > MOST { Precision::F64 } else { Precision::F32 })
}
