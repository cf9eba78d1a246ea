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
use rayon::prelude::*;

use super::factor::{Factor, SPLIT, smallest_pivot};
use super::pages::Pages;
use crate::data::Points;
use crate::error::Result;
use crate::gram::{Cross, Element, diagonal};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// A factor, and what was added to the diagonal before.
pub(super) struct Steady<T> {
    pub(super) factor: Factor,
    /// Relative to the mean of the diagonal; zero if nothing was.
    pub(super) shift: f64,
    /// Nothing, if the factor keeps no landmark.
    pub(super) made: Option<Made<T>>,
}

/// What features are made with, and what was made to look at them.
pub(super) struct Made<T> {
    /// The landmarks that the factor keeps.
    pub(super) landmarks: Points,
    /// These, followed by the sampled rows.
    pub(super) cross: Cross<T>,
    /// The factor, in the precision of kernel values.
    pub(super) lower: Pages<T>,
    /// Kernel values of the sampled rows with these landmarks, one row per column.
    pub(super) values: Mat<T>,
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
/// Columns that a thread converts at a time.
const COLUMNS: usize = 64;

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
) -> Result<Steady<T>> {
    let m = square.nrows();
    let mean = (0..m).map(|i| square[(i, i)]).sum::<f64>() / m as f64;
    let is_steady = |made: Option<&Made<T>>| -> Result<bool> {
        match made {
            Some(made) if kernel.is_positive_definite() => {
                Ok(made.excess(kernel, sampled, context)? <= allowed(precision))
            }
            _ => Ok(true),
        }
    };
    let (mut smallest, mut shift, mut added): (f64, f64, f64) = (smallest_pivot(m, precision), 0.0, 0.0);
    loop {
        let factor = context.threads.run(|| Factor::new(square.as_ref(), smallest));
        let made = Made::new(&factor, (kernel, landmarks), sampled, context)?;
        if shift >= LARGEST_SHIFT || is_steady(made.as_ref())? {
            return Ok(Steady { factor, shift, made });
        }
        context.check()?;
        shift = if shift > 0.0 { 10.0 * shift } else { first_shift(&square, mean, precision) };
        shift = shift.min(LARGEST_SHIFT);
        for i in 0..m {
            square[(i, i)] += shift * mean - added;
        }
        (smallest, added) = (0.0, shift * mean);
    }
}

/// What is added to the diagonal first, relative to its mean: by an estimate of what rounding adds to the lengths of features.
fn first_shift(square: &Mat<f64>, mean: f64, precision: Precision) -> f64 {
    let m = square.nrows() as f64;
    let squares: f64 = square.col_iter().map(|column| column.iter().map(|x| x * x).sum::<f64>()).sum();
    let of_values = (UNITS * precision.epsilon()).powi(2) * squares / (m * AIM * mean * mean);
    of_values.max(100.0 * f64::EPSILON * m)
}

impl<T: Element> Made<T> {
    /// What features of a factor's landmarks are made with, if it keeps one.
    fn new(
        factor: &Factor,
        (kernel, landmarks): (&Kernel, &Points),
        sampled: &Points,
        context: &Context<'_>,
    ) -> Result<Option<Self>> {
        let r = factor.rank();
        if r == 0 {
            return Ok(None);
        }
        let landmarks = landmarks.select(&factor.kept);
        let both = both(&landmarks, sampled)?;
        let cross = context.threads.run(|| Cross::<T>::new(&both, kernel))?;
        let mut values = Mat::<T>::zeros(cross.len(), sampled.n_samples());
        cross.fill(sampled, values.as_mut(), context)?;
        // Those of the sampled rows with one another are not needed.
        let values = Mat::from_fn(r, values.ncols(), |i, j| values[(i, j)]);
        Ok(Some(Self { landmarks, cross, lower: in_precision(factor, context), values }))
    }

    /// By which share the features of the sampled rows are longer than the rows, all together: zero but for rounding.
    fn excess(&self, kernel: &Kernel, sampled: &Points, context: &Context<'_>) -> Result<f64> {
        let mut features = self.values.clone();
        context.threads.run(|| solve_lower_triangular_in_place(self.lower.as_ref(), features.as_mut(), SPLIT));
        let lengths = diagonal(kernel, sampled)?;
        let longer = features.col_iter().zip(&lengths).map(|(feature, &length)| {
            let found: f64 = feature.iter().map(|x| x.to_f64().powi(2)).sum();
            (found - length).max(0.0)
        });
        let (longer, all) = (longer.sum::<f64>(), lengths.iter().sum::<f64>());
        // Not a number is not steady, either.
        Ok(if longer.is_finite() && all > 0.0 { longer / all } else { f64::INFINITY })
    }
}

/// A factor in the precision of kernel values.
fn in_precision<T: Element>(factor: &Factor, context: &Context<'_>) -> Pages<T> {
    let r = factor.rank();
    let (mut lower, from) = (Pages::zeros(r, r), factor.lower.as_ref());
    context.threads.run(|| {
        lower.as_mut().par_col_chunks_mut(COLUMNS).enumerate().for_each(|(chunk, columns)| {
            for (j, column) in (chunk * COLUMNS..).zip(columns.col_iter_mut()) {
                let below = column.iter_mut().zip(from.col(j).iter()).skip(j);
                below.for_each(|(to, &x)| *to = T::from_f64(x));
            }
        });
    });
    lower
}

/// Points followed by others, which may be kept in another format.
pub(super) fn both(points: &Points, others: &Points) -> Result<Points> {
    points.followed_by(others).or_else(|_| {
        let all = |points: &Points| points.rows(0..points.n_samples()).to_f64();
        let n = points.n_samples() + others.n_samples();
        Points::from_f64([all(points), all(others)].concat(), n, points.n_features())
    })
}
