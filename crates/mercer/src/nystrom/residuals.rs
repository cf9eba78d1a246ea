//! How far components are from eigenvectors of the exact matrix, measured on a sample of its rows.
//!
//! # Method
//!
//! With `v` a component's vector over all rows, row `i` of `K v` is `Σ_x k(x_i, x) v_x`, a sum over all rows of products with features:
//! `v = (Fᵀu − f̄ᵀu) / √λ` for the eigenvector `u` of the small problem. So the sums `Σ_x k(x_i, x) f_x` and `Σ_x k(x_i, x)` over all rows, for
//! sampled rows `i`, are all that is needed, and they ride along in the pass that makes the features. Entries of these rows are
//! those of the exact matrix. Of the mean over all rows, which centring subtracts, the part that features explain is known; the rest is
//! taken over the sampled rows. With no more rows than the sample holds, the residual is exact; otherwise its square is an estimate, in which every
//! sampled row counts for as many as it [stands for](super::probed).

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::factor::{Factor, SPLIT};
use crate::choices::Center;
use crate::gram::Element;
use crate::watch::Context;

/// Rows of the exact matrix that are computed for `m` landmarks.
///
/// Half of them are drawn by what landmarks leave of a row. A residual that rows about alike have a part in is measured on the other half, `s` rows, and off by a
/// share of about `1 / √(2 s)`: 12 % with the fewest, 6 % with the most. One that is due to few rows is nearer, as far as these are rows of which the
/// most is left, and farther off where rows differ much in what they add and little in what is left of them. They cost as much as so many
/// landmarks, so that more of them than a quarter of those would be felt.
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
    /// `Σ_x k(x_i, x) (f_x − c)`, one row per sampled row, with the point `c` that features are taken from.
    sums: Mat<f64>,
    /// `Σ_x k(x_i, x)`.
    row_sums: Vec<f64>,
    /// How many rows each of these stands for.
    weights: Vec<f64>,
}

impl<T: Element> Probe<T> {
    /// No sums yet, for rows with these kernel values with the landmarks, one row per column, that stand for so many rows each.
    pub(super) fn new(values: Mat<T>, weights: Vec<f64>) -> Self {
        let (rank, s) = (values.nrows(), values.ncols());
        Self { values, products: Mat::zeros(s, rank), sums: Mat::zeros(s, rank), row_sums: vec![0.0; s], weights }
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

    /// `‖K v − λ v‖ / λ₁` of each component; `vectors` are those of the small problem, and `offset` is the centre of the features, or zero, less the point that
    /// they were taken from.
    pub(super) fn residuals(
        &self,
        (values, vectors): (&[f64], MatRef<'_, f64>),
        (center, offset): (Center, &[f64]),
        factor: &Factor,
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
            let shift: f64 = offset.iter().zip(vectors.col(j).iter()).map(|(x, u)| x * u).sum();
            let root = value.sqrt();
            // What the exact matrix makes of the vector beyond what the features make of it, `√λ f_i·u`. The mean over all rows
            // of the latter is known; only that of the difference is left to the sample.
            let gap = |i: usize| (images[(i, j)] - self.row_sums[i] * shift) / root - root * own[(i, j)];
            let weighted = |of: &dyn Fn(usize) -> f64| (0..s).map(|i| self.weights[i] * of(i)).sum::<f64>();
            let mean = if center == Center::Yes { weighted(&gap) / weighted(&|_| 1.0) } else { 0.0 };
            weighted(&|i| (gap(i) - mean).powi(2)).sqrt() / leading
        };
        values.iter().enumerate().map(residual).collect()
    }
}
