//! Rows whose features are kept until the components are known: what the limits of novelty are learned from.
//!
//! # Method
//!
//! The centre lies in the span of the landmarks' images, so everything that novelty asks of a row is in its features: its scores are
//! `(f − c)ᵀ u`, and its squared distance from the centre `k(x, x) − 2 fᵀc + ‖c‖²`. Rows are taken at equal distances from the first to the last.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef};

use super::factor::SPLIT;
use super::pages::Pages;
use crate::gram::Element;
use crate::kernel::Kernel;
use crate::model::limits_of;
use crate::record::ControlLimits;
use crate::watch::Context;

/// Rows that are kept, at most.
pub(super) const LIMIT_ROWS: usize = 4096;

/// Features of some rows.
pub(super) struct Kept<T> {
    /// Rows in all.
    pub(super) n: usize,
    /// One column per row.
    features: Pages<T>,
    diagonal: Vec<f64>,
}

/// Where the features of some rows are kept.
pub(super) struct Slots<'a, T> {
    columns: MatMut<'a, T>,
    /// These rows, counted from the first of those that they are among.
    rows: Vec<usize>,
}

impl<T: Element> Slots<'_, T> {
    /// Keeps some of these rows' features, one row per column.
    pub(super) fn keep(self, features: MatRef<'_, T>) {
        for (mut column, row) in self.columns.col_iter_mut().zip(self.rows) {
            column.copy_from(features.col(row));
        }
    }
}

impl<T: Element> Kept<T> {
    /// Room for some of `n` rows with `rank` features each.
    pub(super) fn new(n: usize, rank: usize) -> Self {
        let count = n.min(LIMIT_ROWS);
        Self { n, features: Pages::zeros(rank, count), diagonal: Vec::with_capacity(count) }
    }

    /// Where some of a block of rows are kept, `wide` rows after the other, so that each thread keeps those that it works on: `first` is the number of the
    /// block's first row among all, `diagonal` the kernel values of its rows with themselves.
    pub(super) fn slots(&mut self, first: usize, diagonal: &[f64], wide: usize) -> Vec<Slots<'_, T>> {
        let (start, end) = (self.diagonal.len(), first + diagonal.len());
        let mut left = self.features.as_mut();
        let count = left.ncols();
        left = left.subcols_mut(start, count - start);
        let mut slots = Vec::with_capacity(diagonal.len().div_ceil(wide));
        for from in (first..end).step_by(wide) {
            let mut rows = Vec::new();
            // More rows than were announced are an error that is found elsewhere.
            while self.diagonal.len() < count {
                let row = (self.diagonal.len() as u128 * self.n as u128 / count as u128) as usize;
                if row >= end.min(from + wide) {
                    break;
                }
                self.diagonal.push(diagonal[row - first]);
                rows.push(row - from);
            }
            let (columns, others) = left.split_at_col_mut(rows.len());
            slots.push(Slots { columns, rows });
            left = others;
        }
        slots
    }

    /// The limits for components of these eigenvalues; `vectors` are those of the small problem.
    pub(super) fn limits(
        &self,
        kernel: &Kernel,
        (values, vectors): (&[f64], MatRef<'_, f64>),
        center: Option<&[f64]>,
        context: &Context<'_>,
    ) -> ControlLimits {
        let (k, kept) = (values.len(), self.diagonal.len());
        let center = |a: usize| center.map_or(0.0, |center| center[a]);
        let r = vectors.nrows();
        // The components and, as one more, the centre.
        let directions =
            Mat::<T>::from_fn(r, k + 1, |a, j| T::from_f64(if j < k { vectors[(a, j)] } else { center(a) }));
        let mut products = Mat::<T>::zeros(kept, k + 1);
        let features = self.features.as_ref().subcols(0, kept);
        context.threads.run(|| {
            let one = T::from_f64(1.0);
            matmul(products.as_mut(), Accum::Replace, features.transpose(), directions.as_ref(), one, SPLIT);
        });
        let along = |j: usize| (0..r).map(|a| center(a) * directions[(a, j)].to_f64()).sum::<f64>();
        let shifts: Vec<f64> = (0..=k).map(along).collect();
        let norms: Vec<f64> =
            (0..kept).map(|i| self.diagonal[i] - 2.0 * products[(i, k)].to_f64() + shifts[k]).collect();
        limits_of(kernel, &norms, k, |i, j| {
            let score = products[(i, j)].to_f64() - shifts[j];
            (score * score, values[j] / self.n as f64)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rows_lie_at_equal_distances_however_they_come() {
        for (n, block) in [(10, 3), (4096, 1000), (10_000, 1152), (12_345, 1)] {
            let mut kept = Kept::<f64>::new(n, 1);
            for first in (0..n).step_by(block) {
                let rows: Vec<f64> = (first..n.min(first + block)).map(|row| row as f64).collect();
                let features = MatRef::from_column_major_slice(&rows, 1, rows.len());
                for (chunk, slots) in kept.slots(first, &rows, 288).into_iter().enumerate() {
                    slots.keep(features.subcols(288 * chunk, rows.len().min(288 * (chunk + 1)) - 288 * chunk));
                }
            }
            let count = n.min(LIMIT_ROWS);
            let expected: Vec<f64> = (0..count).map(|place| (place * n / count) as f64).collect();
            assert_eq!(kept.diagonal, expected);
            let features = kept.features.as_ref();
            assert!((0..count).all(|place| features[(0, place)].to_bits() == expected[place].to_bits()));
        }
    }
}
