//! How far components are from eigenvectors of the exact matrix, measured on a sample of its rows.
//!
//! # Method
//!
//! With `v` a component's vector over all rows, row `i` of `K v` is `Σ_x k(x_i, x) v_x`, a sum over all rows of products with features:
//! `v = (Fᵀu − f̄ᵀu) / √λ` for the eigenvector `u` of the small problem. So the sums `Σ_x k(x_i, x) f_x` and `Σ_x k(x_i, x)` over all rows, for
//! sampled rows `i`, are all that is needed, and they ride along in the pass that makes the features. Entries of these rows are
//! those of the exact matrix. Of the mean over all rows, which centring subtracts, the part that features explain is known; the rest is
//! taken over the sampled rows. With no more rows than the sample holds, the residual is exact; otherwise its square is an estimate.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::factor::{Factor, SPLIT};
use crate::gram::Element;
use crate::watch::Context;

/// Rows of the exact matrix that are computed for `m` landmarks.
///
/// A residual measured on `s` rows is off by a share of `1 / √(2 s)`: 9 % with the fewest, 4 % with the most. They cost as much as
/// so many landmarks, so that more of them than a quarter of those would be felt.
pub(crate) fn sampled_rows(m: usize) -> usize {
    (m / 4).clamp(64, 256)
}

/// Strips that products with features are cut into, whatever the number of threads.
const STRIPS: usize = 8;

/// Sampled rows of the exact matrix and their products with the features.
pub(super) struct Probe<T> {
    /// Kernel values of these rows with the landmarks, one row per column.
    values: Mat<T>,
    products: Mat<T>,
    /// `Σ_x k(x_i, x) f_x`, one row per sampled row.
    sums: Mat<f64>,
    /// `Σ_x k(x_i, x)`.
    row_sums: Vec<f64>,
}

impl<T: Element> Probe<T> {
    /// No sums yet, for rows with these kernel values with the landmarks: one row per column.
    pub(super) fn new(values: Mat<T>) -> Self {
        let (rank, s) = (values.nrows(), values.ncols());
        Self { values, products: Mat::zeros(s, rank), sums: Mat::zeros(s, rank), row_sums: vec![0.0; s] }
    }

    /// How many rows are sampled.
    pub(super) fn len(&self) -> usize {
        self.row_sums.len()
    }

    /// Adds a block of rows: their kernel values with the sampled rows and their features, one row per column.
    pub(super) fn add(&mut self, values: MatRef<'_, T>, features: MatRef<'_, T>, context: &Context<'_>) {
        let wide = self.products.ncols().div_ceil(STRIPS).max(1);
        context.threads.run(|| {
            let (products, sums) = (self.products.as_mut(), self.sums.as_mut());
            let strips = products.par_col_chunks_mut(wide).zip(sums.par_col_chunks_mut(wide));
            strips.enumerate().for_each(|(strip, (mut products, sums))| {
                let own = features.subrows(strip * wide, products.ncols());
                matmul(products.as_mut(), Accum::Replace, values, own.transpose(), T::from_f64(1.0), Par::Seq);
                for (sums, products) in sums.col_iter_mut().zip(products.as_ref().col_iter()) {
                    sums.iter_mut().zip(products.iter()).for_each(|(sum, x)| *sum += x.to_f64());
                }
            });
        });
        for column in values.col_iter() {
            self.row_sums.iter_mut().zip(column.iter()).for_each(|(sum, x)| *sum += x.to_f64());
        }
    }

    /// `‖K v − λ v‖ / λ₁` of each component, for `n` rows; `vectors` are those of the small problem.
    pub(super) fn residuals(
        &self,
        (values, vectors): (&[f64], MatRef<'_, f64>),
        center: Option<&[f64]>,
        factor: &Factor,
        n: usize,
        context: &Context<'_>,
    ) -> Vec<f64> {
        let s = self.len();
        let own = Mat::from_fn(factor.rank(), s, |i, j| self.values[(i, j)].to_f64());
        let own = context.threads.run(|| factor.forward(own));
        let times_vectors = |rows: MatRef<'_, f64>| {
            let mut product = Mat::zeros(rows.nrows(), vectors.ncols());
            context.threads.run(|| matmul(product.as_mut(), Accum::Replace, rows, vectors, 1.0, SPLIT));
            product
        };
        let (images, own) = (times_vectors(self.sums.as_ref()), times_vectors(own.transpose()));
        let leading = values.first().copied().unwrap_or(1.0);
        let residual = |(j, &value): (usize, &f64)| {
            let along = |center: &[f64]| center.iter().zip(vectors.col(j).iter()).map(|(x, u)| x * u).sum::<f64>();
            let (shift, root) = (center.map_or(0.0, along), value.sqrt());
            // What the exact matrix makes of the vector beyond what the features make of it, `√λ f_i·u`. The mean over all rows
            // of the latter is known; only that of the difference is left to the sample.
            let gap = |i: usize| (images[(i, j)] - self.row_sums[i] * shift) / root - root * own[(i, j)];
            let mean = if center.is_some() { (0..s).map(gap).sum::<f64>() / s as f64 } else { 0.0 };
            let squares: f64 = (0..s).map(|i| (gap(i) - mean).powi(2)).sum();
            (squares * n as f64 / s as f64).sqrt() / leading
        };
        values.iter().enumerate().map(residual).collect()
    }
}
