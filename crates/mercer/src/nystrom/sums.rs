//! Sums over rows: what an eigenproblem of the landmarks' order is made of.
//!
//! # Numerics
//!
//! Products of features are summed up block by block in their own precision, whose rounding would be that of the features' lengths: where points are
//! much alike, more than their variance. So features are taken from a fixed point, the mean of the first block's, which their products are small about if points
//! are alike; what that changes is put right in double precision, and centring changes nothing of it.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::choose::overflows;
use super::limits::Kept;
use super::pages::Pages;
use super::residuals::Probe;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::{Cross, Element, diagonal, each_below};
use crate::kernel::Kernel;
use crate::watch::Context;

/// Rows whose features are in memory at once: twelve times those of which a thread makes kernel values at a time, so that two, three and
/// four threads have the same share.
pub(super) const ROWS: usize = 1152;

/// Columns whose features one thread makes, and strips that the matrix of their products is cut into: work for any number of threads that does
/// not wait for one another, as the steps of a product that is split would.
const SOLVED: usize = ROWS / 4;
const STRIPS: usize = 16;
const LEAST_STRIP: usize = 48;

/// Sums over the features `f = L⁻¹ k(landmarks, x)` of rows.
pub(super) struct Sums<'a, T> {
    kernel: &'a Kernel,
    /// The landmarks, followed by the rows that residuals are measured on: rows are packed once for both.
    cross: &'a Cross<T>,
    /// `L`, in the precision of kernel values.
    lower: Pages<T>,
    /// Kernel values of a block of rows, one row per column; those with the landmarks become features.
    values: Pages<T>,
    /// Their products, a strip of columns each, from the diagonal down.
    products: Vec<Pages<T>>,
    /// The point `c` that features are taken from, in their precision; none yet before the first row.
    reference: Vec<f64>,
    /// `Σ (f − c)(f − c)ᵀ`, the lower triangle.
    scatter: Pages<f64>,
    /// `Σ f`.
    pub(super) total: Vec<f64>,
    /// `Σ k(x, x)`.
    pub(super) trace: f64,
    /// `Σ ‖f‖²`, the trace of what the landmarks explain, once [all rows are added](Self::close).
    pub(super) explained: f64,
    /// The same about the centre, once there are [second moments](Self::second_moments).
    pub(super) varied: f64,
    /// The row that has the largest of these by modulus, and it.
    largest: (usize, f64),
    pub(super) n: usize,
    pub(super) probe: Probe<T>,
    pub(super) kept: Kept<T>,
}

impl<'a, T: Element> Sums<'a, T> {
    /// No rows yet, for the points of `cross`: the landmarks of the factor `lower`, and the probe's.
    pub(super) fn new(
        kernel: &'a Kernel,
        cross: &'a Cross<T>,
        lower: Pages<T>,
        probe: Probe<T>,
        kept: Kept<T>,
    ) -> Self {
        let r = lower.as_ref().nrows();
        let wide = strip(r);
        let strips = (0..r).step_by(wide).map(|first| Pages::zeros(r - first, wide.min(r - first)));
        Self {
            kernel,
            cross,
            lower,
            values: Pages::zeros(cross.len(), ROWS),
            products: strips.collect(),
            reference: Vec::new(),
            scatter: Pages::zeros(r, r),
            total: vec![0.0; r],
            trace: 0.0,
            explained: 0.0,
            varied: 0.0,
            largest: (0, 0.0),
            n: 0,
            probe,
            kept,
        }
    }

    /// Adds rows.
    pub(super) fn add(&mut self, points: &Points, context: &Context<'_>) -> Result<()> {
        for first in (0..points.n_samples()).step_by(ROWS) {
            self.add_block(&points.slice(first..points.n_samples().min(first + ROWS)), context)?;
        }
        Ok(())
    }

    fn add_block(&mut self, points: &Points, context: &Context<'_>) -> Result<()> {
        let (first, count) = (self.n, points.n_samples());
        let diagonal = diagonal(self.kernel, points)?;
        self.note_largest(&diagonal)?;
        let mut values = self.values.as_mut().subcols_mut(0, count);
        let filled = self.cross.fill(points, values.as_mut(), context);
        filled.map_err(|error| error.with_row(|row| first + row))?;
        let lower = self.lower.as_ref();
        let r = lower.nrows();
        let (mut features, sampled) = values.split_at_row_mut(r);
        let slots = self.kept.slots(first, &diagonal, SOLVED);
        let totals = context.threads.run(|| {
            let chunks = features.as_mut().par_col_chunks_mut(SOLVED).zip(slots);
            let totals = chunks.map(|(mut columns, slots)| {
                solve_lower_triangular_in_place(lower, columns.as_mut(), Par::Seq);
                // While they are in the cache.
                slots.keep(columns.as_ref());
                let mut total = vec![0.0; r];
                for column in columns.as_ref().col_iter() {
                    total.iter_mut().zip(column.iter()).for_each(|(sum, x)| *sum += x.to_f64());
                }
                total
            });
            let totals: Vec<Vec<f64>> = totals.collect();
            if self.reference.is_empty() {
                self.reference = mean_of::<T>(&totals, count);
            }
            let reference = &self.reference;
            features.as_mut().par_col_chunks_mut(SOLVED).for_each(|columns| subtract(columns, reference));
            let features = features.as_ref();
            let wide = strip(r);
            let strips = self.scatter.as_mut().par_col_chunks_mut(wide).zip(self.products.par_iter_mut());
            strips.enumerate().for_each(|(strip, (mut scatter, products))| {
                // From the diagonal down.
                let (first, count) = (strip * wide, scatter.ncols());
                let (below, own) = (features.subrows(first, r - first), features.subrows(first, count));
                let one = T::from_f64(1.0);
                matmul(products.as_mut(), Accum::Replace, below, own.transpose(), one, Par::Seq);
                for j in 0..count {
                    let sums = scatter.as_mut().col_mut(j).iter_mut().skip(first + j);
                    sums.zip(products.as_ref().col(j).iter().skip(j)).for_each(|(sum, x)| *sum += x.to_f64());
                }
            });
            totals
        });
        let features = features.as_ref();
        for total in totals {
            self.total.iter_mut().zip(total).for_each(|(sum, part)| *sum += part);
        }
        self.probe.add(sampled.as_ref(), features, context);
        self.trace += diagonal.iter().sum::<f64>();
        self.n += count;
        Ok(())
    }

    /// Takes note of the largest of the next rows' kernel values with themselves, and refuses one that overflows.
    fn note_largest(&mut self, diagonal: &[f64]) -> Result<()> {
        for (i, &value) in diagonal.iter().enumerate() {
            // A polynomial with a negative `coef0` has negative ones.
            if value.is_nan() || value.abs() > self.largest.1.abs() {
                self.largest = (self.n + i, value);
            }
        }
        if overflows(self.largest.1, T::PRECISION) { Err(self.overflow()) } else { Ok(()) }
    }

    /// That sums overflow, told by the row whose kernel with itself is the largest.
    pub(super) fn overflow(&self) -> Error {
        let (kernel, (row, value)) = (self.kernel.name().to_owned(), self.largest);
        Error::KernelOverflow { kernel, row, value, precision: T::PRECISION, n_samples: self.kept.n }
    }

    /// The mean of the features.
    pub(super) fn mean(&self) -> Vec<f64> {
        self.total.iter().map(|sum| sum / self.n as f64).collect()
    }

    /// Takes note of what the landmarks explain of all rows, and refuses sums that have overflowed.
    pub(super) fn close(&mut self) -> Result<()> {
        let scatter = self.scatter.as_ref();
        let about: f64 = (0..scatter.ncols()).map(|j| scatter[(j, j)]).sum();
        // `‖f‖² = ‖f − c‖² + c·(2 f − c)`.
        let rest = self.reference.iter().zip(&self.total).map(|(c, total)| c * (2.0 * total - self.n as f64 * c));
        self.explained = about + rest.sum::<f64>();
        if self.explained.is_finite() { Ok(()) } else { Err(self.overflow()) }
    }

    /// The centre of the features, their mean or zero, less the point that they are taken from.
    pub(super) fn offset(&self, center: Option<&[f64]>) -> Vec<f64> {
        self.reference.iter().enumerate().map(|(i, c)| center.map_or(0.0, |center| center[i]) - c).collect()
    }

    /// `Σ (f − f̄)(f − f̄)ᵀ` for a centre that is their mean `f̄`, or `Σ f fᵀ` for none, in the place of the sums that it is made from.
    pub(super) fn second_moments(&mut self, center: Option<&[f64]>) -> MatRef<'_, f64> {
        let (n, reference) = (self.n as f64, &self.reference);
        let mean: Vec<f64> = self.total.iter().zip(reference).map(|(total, c)| total / n - c).collect();
        let mut moments = self.scatter.as_mut();
        each_below(moments.nrows(), |i, j| {
            let change = match center {
                Some(_) => -mean[i] * mean[j],
                None => mean[i] * reference[j] + reference[i] * mean[j] + reference[i] * reference[j],
            };
            let moment = moments[(i, j)] + n * change;
            (moments[(i, j)], moments[(j, i)]) = (moment, moment);
        });
        self.varied = (0..self.reference.len()).map(|j| moments[(j, j)]).sum();
        self.scatter.as_ref()
    }
}

/// The mean of `count` features with these sums, in their precision.
fn mean_of<T: Element>(totals: &[Vec<f64>], count: usize) -> Vec<f64> {
    let rank = totals.first().map_or(0, Vec::len);
    let mean = |i: usize| totals.iter().map(|total| total[i]).sum::<f64>() / count as f64;
    (0..rank).map(|i| T::from_f64(mean(i)).to_f64()).collect()
}

/// Takes features, one row per column, from a point.
fn subtract<T: Element>(mut features: MatMut<'_, T>, point: &[f64]) {
    for column in features.as_mut().col_iter_mut() {
        column.iter_mut().zip(point).for_each(|(x, c)| *x = T::from_f64(x.to_f64() - c));
    }
}

/// The width of the strips that a matrix of order `r` is cut into.
fn strip(r: usize) -> usize {
    r.div_ceil(STRIPS).max(LEAST_STRIP)
}
