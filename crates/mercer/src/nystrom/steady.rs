//! A factor of the landmarks' kernel matrix through which rounding does not grow.
//!
//! # Method
//!
//! Features `f = L⁻¹ k` carry the rounding of kernel values and of `L`, divided by the square roots of the matrix's eigenvalues. Landmarks that are
//! combinations of the others to rounding are left out, but many that are nearly so are enough: features then come out longer than their points, whose squared
//! length `k(x, x)` no projection can exceed. That is measured at sampled rows. Where it happens, a
//! small number is added to the diagonal, ten times more until it does not happen: directions of that squared length and less are then damped, and the
//! others stay what they are, up to the ratio of the two.

use faer::Mat;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;

use super::factor::{Factor, SPLIT, smallest_pivot};
use crate::data::Points;
use crate::error::Result;
use crate::gram::{Cross, Element, diagonal};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// A factor, and what was added to the diagonal before.
pub(super) struct Steady {
    pub(super) factor: Factor,
    /// Relative to the mean of the diagonal; zero if nothing was.
    pub(super) shift: f64,
}

/// The share of squared lengths by which features may be longer than their points.
fn allowed(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 1e-4,
        Precision::F64 => 1e-8,
    }
}

/// What rounding may add to squared lengths, by the estimate that the first shift is made from.
const AIM: f64 = 1e-5;
/// Units in the last place by which kernel values are off.
const UNITS: f64 = 4.0;
/// A shift of this share of the diagonal is no longer small.
const LARGEST_SHIFT: f64 = 1e-2;

/// The factor of the kernel matrix `square` of some landmarks, fit for features in the precision `T` of rows like `sampled`.
///
/// # Errors
///
/// If kernel values cannot be computed, or somebody wants to stop.
pub(super) fn factorise<T: Element>(
    mut square: Mat<f64>,
    (kernel, landmarks): (&Kernel, &Points),
    sampled: &Points,
    precision: Precision,
    context: &Context<'_>,
) -> Result<Steady> {
    let m = square.nrows();
    let factor = context.threads.run(|| Factor::new(square.as_ref(), smallest_pivot(m, precision)));
    let mean = (0..m).map(|i| square[(i, i)]).sum::<f64>() / m as f64;
    let is_steady = |factor: &Factor| -> Result<bool> {
        if factor.rank() == 0 || !kernel.is_positive_definite() {
            return Ok(true);
        }
        Ok(excess::<T>(factor, (kernel, landmarks), sampled, context)? <= allowed(precision))
    };
    if is_steady(&factor)? {
        return Ok(Steady { factor, shift: 0.0 });
    }
    let squares: f64 = square.col_iter().map(|column| column.iter().map(|x| x * x).sum::<f64>()).sum();
    let of_values = (UNITS * precision.epsilon()).powi(2) * squares / (m as f64 * AIM * mean * mean);
    let mut shift = of_values.max(100.0 * f64::EPSILON * m as f64);
    let mut added = 0.0;
    loop {
        context.check()?;
        shift = shift.min(LARGEST_SHIFT);
        for i in 0..m {
            square[(i, i)] += shift * mean - added;
        }
        added = shift * mean;
        let factor = context.threads.run(|| Factor::new(square.as_ref(), 0.0));
        if shift >= LARGEST_SHIFT || is_steady(&factor)? {
            return Ok(Steady { factor, shift });
        }
        shift *= 10.0;
    }
}

/// By which share the features of some rows are longer than the rows, all together: zero but for rounding.
fn excess<T: Element>(
    factor: &Factor,
    (kernel, landmarks): (&Kernel, &Points),
    rows: &Points,
    context: &Context<'_>,
) -> Result<f64> {
    let r = factor.rank();
    let kept = landmarks.select(&factor.kept);
    let cross = context.threads.run(|| Cross::<T>::new(&kept, kernel))?;
    let mut features = Mat::<T>::zeros(r, rows.n_samples());
    cross.fill(rows, features.as_mut(), context)?;
    let lower = Mat::<T>::from_fn(r, r, |i, j| T::from_f64(factor.lower[(i, j)]));
    context.threads.run(|| solve_lower_triangular_in_place(lower.as_ref(), features.as_mut(), SPLIT));
    let lengths = diagonal(kernel, rows)?;
    let longer = features.col_iter().zip(&lengths).map(|(feature, &length)| {
        let found: f64 = feature.iter().map(|x| x.to_f64().powi(2)).sum();
        (found - length).max(0.0)
    });
    let (longer, all) = (longer.sum::<f64>(), lengths.iter().sum::<f64>());
    // Not a number is not steady, either.
    Ok(if longer.is_finite() && all > 0.0 { longer / all } else { f64::INFINITY })
}
