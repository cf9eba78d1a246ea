//! First and second moments of blocks of points, which add.

use rayon::prelude::*;

use super::{Points, RowsRef};
use crate::watch::is_on_a_pool;

/// Count, sums and sum of squares of a block of points.
///
/// Blocks are added in any grouping, so the moments of a data set can be made of those of its parts, on one machine or
/// on many.
///
/// ```
/// use mercer::{Points, data::{Moments, RowsRef}};
///
/// let points = Points::from_f64(vec![1.0, 3.0, 5.0, 7.0], 4, 1)?;
/// let mut moments = Moments::of(&points.slice(0..1));
/// moments.add(&Moments::of(&points.slice(1..4)));
/// assert_eq!(moments.mean(), [4.0]);
/// assert_eq!(moments.variance(), 5.0);
/// assert_eq!(moments.n_samples(), 4);
///
/// // Two columns, from the rows themselves: the mean of all four values is 3.
/// let mut moments = Moments::empty(2);
/// moments.add(&Moments::of_rows(RowsRef::F64(&[1.0, 4.0, 3.0, 4.0]), 2));
/// assert_eq!((moments.column_variances(), moments.total_variance()), (vec![1.0, 0.0], 1.5));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    n_samples: usize,
    /// The mean of each column.
    mean: Vec<f64>,
    /// The sum of squared differences from the mean of each column.
    scatter: Vec<f64>,
}

/// Rows that are summed before the sum is added to the total: short sums lose less to rounding.
const BLOCK: usize = 1024;
/// Blocks whose moments are in memory at once, before they are added.
const AT_ONCE: usize = 64;

impl Moments {
    /// The moments of no points with `n_features` coordinates.
    pub fn empty(n_features: usize) -> Self {
        Self { n_samples: 0, mean: vec![0.0; n_features], scatter: vec![0.0; n_features] }
    }

    /// The moments of a block.
    pub fn of(points: &Points) -> Self {
        Self::of_rows(points.rows(0..points.n_samples()), points.n_features())
    }

    /// The moments of rows of `n_features` coordinates. On a thread of a pool all of its threads help; the bits are the same.
    pub fn of_rows(rows: RowsRef<'_>, n_features: usize) -> Self {
        let block = BLOCK * n_features.max(1);
        let of_block = |index: usize| {
            let end = rows.len().min((index + 1) * block);
            match rows.part(index * block..end) {
                RowsRef::F32(values) => Self::of_block(values, n_features, f64::from),
                RowsRef::F64(values) => Self::of_block(values, n_features, |x| x),
                RowsRef::U8 { values, scale } => Self::of_block(values, n_features, |x| f64::from(x) * scale),
            }
        };
        let n_blocks = rows.len().div_ceil(block);
        let mut all = Self::empty(n_features);
        // Blocks are made in any order, and added in theirs.
        for first in (0..n_blocks).step_by(AT_ONCE) {
            let some = first..n_blocks.min(first + AT_ONCE);
            let blocks: Vec<Self> = if is_on_a_pool() {
                some.into_par_iter().map(of_block).collect()
            } else {
                some.map(of_block).collect()
            };
            for block in &blocks {
                all.add(block);
            }
        }
        all
    }

    fn of_block<T: Copy>(values: &[T], d: usize, widen: impl Fn(T) -> f64) -> Self {
        let n_samples = values.len() / d;
        let mut mean = vec![0.0; d];
        for row in values.chunks_exact(d) {
            for (sum, &x) in mean.iter_mut().zip(row) {
                *sum += widen(x);
            }
        }
        for sum in &mut mean {
            *sum /= n_samples as f64;
        }
        // Two passes over a block that is in the cache anyway: the one-pass formula cancels for data far from zero.
        let mut scatter = vec![0.0; d];
        for row in values.chunks_exact(d) {
            for ((sum, &x), mean) in scatter.iter_mut().zip(row).zip(&mean) {
                let gap = widen(x) - mean;
                *sum += gap * gap;
            }
        }
        Self { n_samples, mean, scatter }
    }

    /// Takes in the moments of another block.
    ///
    /// # Panics
    ///
    /// If the blocks have different numbers of columns.
    #[track_caller]
    pub fn add(&mut self, other: &Self) {
        assert_eq!(self.mean.len(), other.mean.len(), "moments of points of different width");
        if other.n_samples == 0 {
            return;
        }
        let total = self.n_samples + other.n_samples;
        let share = other.n_samples as f64 / total as f64;
        // scatter = scatter₁ + scatter₂ + (n₁ n₂ / n) |mean₁ - mean₂|².
        for (j, (mean, &theirs)) in self.mean.iter_mut().zip(&other.mean).enumerate() {
            let gap = theirs - *mean;
            self.scatter[j] += other.scatter[j] + self.n_samples as f64 * share * gap * gap;
            *mean += share * gap;
        }
        self.n_samples = total;
    }

    /// Number of points.
    pub fn n_samples(&self) -> usize {
        self.n_samples
    }

    /// The mean of each column.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The mean squared difference from the column means, averaged over the columns.
    ///
    /// scikit-learn's `gamma="scale"` uses the variance about the mean of *all* values; see [`total_variance`](Self::total_variance).
    pub fn variance(&self) -> f64 {
        self.scatter.iter().sum::<f64>() / (self.n_samples.max(1) * self.mean.len()) as f64
    }

    /// The mean squared difference from the mean of each column.
    pub fn column_variances(&self) -> Vec<f64> {
        self.scatter.iter().map(|scatter| scatter / self.n_samples.max(1) as f64).collect()
    }

    /// The variance of all values about the mean of all values, as `X.var()` of a `NumPy` array.
    pub fn total_variance(&self) -> f64 {
        let d = self.mean.len() as f64;
        let grand = self.mean.iter().sum::<f64>() / d;
        self.variance() + self.mean.iter().map(|m| (m - grand) * (m - grand)).sum::<f64>() / d
    }
}
