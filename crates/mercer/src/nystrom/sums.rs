//! Sums over rows: what an eigenproblem of the landmarks' order is made of.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;

use super::choose::overflows;
use super::factor::Factor;
use super::limits::Kept;
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
    lower: Mat<T>,
    /// Kernel values of a block of rows, one row per column; those with the landmarks become features.
    values: Mat<T>,
    /// Their products.
    products: Mat<T>,
    /// `Σ f fᵀ`, the lower triangle.
    scatter: Mat<f64>,
    /// `Σ f`.
    pub(super) total: Vec<f64>,
    /// `Σ k(x, x)`.
    pub(super) trace: f64,
    /// The row that has the largest of these by modulus, and it.
    largest: (usize, f64),
    pub(super) n: usize,
    pub(super) probe: Probe<T>,
    pub(super) kept: Kept<T>,
}

impl<'a, T: Element> Sums<'a, T> {
    /// No rows yet, for the points of `cross`: the landmarks that the factor keeps, and the probe's.
    pub(super) fn new(
        kernel: &'a Kernel,
        cross: &'a Cross<T>,
        factor: &Factor,
        probe: Probe<T>,
        kept: Kept<T>,
    ) -> Self {
        let r = factor.rank();
        Self {
            kernel,
            cross,
            lower: Mat::from_fn(r, r, |i, j| T::from_f64(factor.lower[(i, j)])),
            values: Mat::zeros(cross.len(), ROWS),
            products: Mat::zeros(r, r),
            scatter: Mat::zeros(r, r),
            total: vec![0.0; r],
            trace: 0.0,
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
        let (mut features, sampled) = values.split_at_row_mut(self.lower.nrows());
        let (lower, r) = (self.lower.as_ref(), self.lower.nrows());
        let totals: Vec<Vec<f64>> = context.threads.run(|| {
            let chunks = features.as_mut().par_col_chunks_mut(SOLVED);
            let totals = chunks.map(|mut columns| {
                solve_lower_triangular_in_place(lower, columns.as_mut(), Par::Seq);
                // While they are in the cache.
                let mut total = vec![0.0; r];
                for column in columns.as_ref().col_iter() {
                    total.iter_mut().zip(column.iter()).for_each(|(sum, x)| *sum += x.to_f64());
                }
                total
            });
            let totals = totals.collect();
            let features = features.as_ref();
            let wide = r.div_ceil(STRIPS).max(LEAST_STRIP);
            let (products, scatter) = (self.products.as_mut(), self.scatter.as_mut());
            let strips = products.par_col_chunks_mut(wide).zip(scatter.par_col_chunks_mut(wide));
            strips.enumerate().for_each(|(strip, (products, mut scatter))| {
                // From the diagonal down.
                let (first, count) = (strip * wide, products.ncols());
                let mut products = products.subrows_mut(first, r - first);
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
        self.kept.add(first, features, &diagonal);
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

    /// `Σ ‖f‖²`: the trace of what the landmarks explain.
    pub(super) fn explained(&self) -> f64 {
        (0..self.scatter.ncols()).map(|j| self.scatter[(j, j)]).sum()
    }

    /// `Σ (f − c)(f − c)ᵀ` for a centre `c` that is their mean, or `Σ f fᵀ` for none.
    pub(super) fn second_moments(&self, center: Option<&[f64]>) -> Mat<f64> {
        let (r, n) = (self.scatter.nrows(), self.n as f64);
        let away = |i: usize, j: usize| center.map_or(0.0, |center| n * center[i] * center[j]);
        let mut moments = Mat::zeros(r, r);
        each_below(r, |i, j| {
            let sum = self.scatter[(i, j)];
            (moments[(i, j)], moments[(j, i)]) = (sum - away(i, j), sum - away(j, i));
        });
        moments
    }
}
