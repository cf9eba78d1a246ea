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
    /// The sum of squared differences from the mean of each column, over the square of its unit.
    scatter: Vec<f64>,
    /// What differences of each column are divided by before they are squared: one, or a power of two where their squares would overflow, or
    /// underflow.
    unit: Vec<f64>,
}

/// The moments of one column.
#[derive(Clone, Copy)]
struct Column {
    mean: f64,
    scatter: f64,
    unit: f64,
}

/// Sums of squares from here on lose nothing that counts to squares that underflow.
const LEAST_SCATTER: f64 = f64::MIN_POSITIVE / f64::EPSILON;
/// Rows that are summed before the sum is added to the total: short sums lose less to rounding.
const BLOCK: usize = 1024;
/// Blocks whose moments are in memory at once, before they are added.
const AT_ONCE: usize = 64;

impl Moments {
    /// The moments of no points with `n_features` coordinates.
    pub fn empty(n_features: usize) -> Self {
        Self { n_samples: 0, mean: vec![0.0; n_features], scatter: vec![0.0; n_features], unit: vec![1.0; n_features] }
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
        // The first block as it is: of a few wide rows a copy would be as large as they are.
        let mut all: Option<Self> = None;
        for_each_block(rows.len().div_ceil(block), of_block, |block: Self| match &mut all {
            Some(all) => all.add(&block),
            None => all = Some(block),
        });
        all.unwrap_or_else(|| Self::empty(n_features))
    }

    /// The means of the columns, to the bit those that [`of`](Self::of) has. Squares take longer than sums, and are left out where means do not depend
    /// on them: those of single-precision numbers, in double precision, neither overflow nor underflow, so that every column has the unit one.
    pub(crate) fn means_of(points: &Points) -> Vec<f64> {
        let d = points.n_features();
        let RowsRef::F32(values) = points.rows(0..points.n_samples()) else { return Self::of(points).mean };
        let blocks: Vec<&[f32]> = values.chunks(BLOCK * d).collect();
        let (mut n_samples, mut all) = (0, vec![0.0; d]);
        let of_block = |index: usize| (blocks[index].len() / d, mean_of(blocks[index], d, f64::from));
        for_each_block(blocks.len(), of_block, |(more, means): (usize, Vec<f64>)| {
            n_samples += more;
            // One for the first block, whose means are taken as they are.
            let share = more as f64 / n_samples as f64;
            all.iter_mut().zip(means).for_each(|(mean, other)| *mean += share * (other - *mean));
        });
        all
    }

    fn of_block<T: Copy>(values: &[T], d: usize, widen: impl Fn(T) -> f64) -> Self {
        let n_samples = values.len() / d;
        let mean = mean_of(values, d, &widen);
        // Two passes over a block that is in the cache anyway: the one-pass formula cancels for data far from zero.
        let mut scatter = vec![0.0; d];
        for row in values.chunks_exact(d) {
            for ((sum, &x), mean) in scatter.iter_mut().zip(row).zip(&mean) {
                let gap = widen(x) - mean;
                *sum += gap * gap;
            }
        }
        let mut block = Self { n_samples, mean, scatter, unit: vec![1.0; d] };
        for j in 0..d {
            if is_held(block.scatter[j]) {
                continue;
            }
            let column = values.iter().skip(j).step_by(d).map(|&x| widen(x));
            // Numbers that are all equal have no squares that could get lost.
            if block.scatter[j] != 0.0 || differ(column.clone()) {
                block.set_column(j, Column::in_own_unit(column, n_samples as f64));
            }
        }
        block
    }

    fn column(&self, j: usize) -> Column {
        Column { mean: self.mean[j], scatter: self.scatter[j], unit: self.unit[j] }
    }

    fn set_column(&mut self, j: usize, column: Column) {
        (self.mean[j], self.scatter[j], self.unit[j]) = (column.mean, column.scatter, column.unit);
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
        if self.n_samples == 0 {
            self.clone_from(other);
            return;
        }
        let total = self.n_samples + other.n_samples;
        let share = other.n_samples as f64 / total as f64;
        for j in 0..self.mean.len() {
            self.set_column(j, self.column(j).plus(other.column(j), self.n_samples as f64, share));
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
        self.scatters().sum::<f64>() / (self.n_samples.max(1) * self.mean.len()) as f64
    }

    /// The mean squared difference from the mean of each column; infinite where that is beyond all numbers.
    pub fn column_variances(&self) -> Vec<f64> {
        self.scatters().map(|scatter| scatter / self.n_samples.max(1) as f64).collect()
    }

    /// The sum of squared differences from the mean of each column.
    fn scatters(&self) -> impl Iterator<Item = f64> {
        self.scatter.iter().zip(&self.unit).map(|(scatter, unit)| scatter * unit * unit)
    }

    /// Mean and variance of each column, both in its unit, and the unit: one unless the variance is beyond all numbers, or too small for one.
    pub(super) fn in_units(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let of_column = move |j: usize| {
            let Column { mean, scatter, unit } = self.column(j);
            (mean / unit, scatter / self.n_samples.max(1) as f64, unit)
        };
        (0..self.mean.len()).map(of_column)
    }

    /// The variance of all values about the mean of all values, as `X.var()` of a `NumPy` array.
    pub fn total_variance(&self) -> f64 {
        let d = self.mean.len() as f64;
        let grand = self.mean.iter().sum::<f64>() / d;
        self.variance() + self.mean.iter().map(|m| (m - grand) * (m - grand)).sum::<f64>() / d
    }
}

impl Column {
    /// The moments of a column whose squares overflow or underflow, in the unit of its largest number.
    fn in_own_unit(column: impl Iterator<Item = f64> + Clone, n: f64) -> Self {
        let largest = column.clone().fold(0.0, |largest: f64, x| x.abs().max(largest));
        let unit = power_of_two(largest).max(f64::MIN_POSITIVE);
        let mean = column.clone().map(|x| x / unit).sum::<f64>() / n;
        let scatter = column.map(|x| (x / unit - mean) * (x / unit - mean)).sum();
        Self { mean: mean * unit, scatter, unit }
    }

    /// The moments of this column of `n` points and of another that has a share of all points.
    fn plus(self, other: Self, n: f64, share: f64) -> Self {
        let sum = self.plus_in(self.unit.max(other.unit), other, n, share);
        if is_held(sum.scatter) {
            return sum;
        }
        let size = self.size().max(other.size()).max(f64::MIN_POSITIVE);
        let in_own_unit = self.plus_in(size, other, n, share);
        // What is zero in the unit of its numbers, too, has lost nothing.
        if in_own_unit.scatter == 0.0 { sum } else { in_own_unit }
    }

    /// The same in a unit that is not below their size.
    fn plus_in(self, unit: f64, other: Self, n: f64, share: f64) -> Self {
        let scatter_of = |column: Self| column.scatter * (column.unit / unit) * (column.unit / unit);
        let gap = other.mean / unit - self.mean / unit;
        // scatter = scatter₁ + scatter₂ + (n₁ n₂ / n) |mean₁ - mean₂|².
        let scatter = scatter_of(self) + (scatter_of(other) + n * share * gap * gap);
        Self { mean: (self.mean / unit + share * gap) * unit, scatter, unit }
    }

    /// The power of two that mean and differences from it are of.
    fn size(self) -> f64 {
        power_of_two(self.mean.abs()).max(power_of_two(self.scatter.sqrt()) * self.unit)
    }
}

/// The mean of each of `d` columns.
fn mean_of<T: Copy>(values: &[T], d: usize, widen: impl Fn(T) -> f64) -> Vec<f64> {
    let mut mean = vec![0.0; d];
    for row in values.chunks_exact(d) {
        for (sum, &x) in mean.iter_mut().zip(row) {
            *sum += widen(x);
        }
    }
    let n_samples = (values.len() / d) as f64;
    for sum in &mut mean {
        *sum /= n_samples;
    }
    mean
}

/// Makes something of each of `n` blocks, in any order and on all threads of the pool that this thread belongs to, if there is one, and takes it in theirs.
fn for_each_block<R: Send>(n: usize, of_block: impl Fn(usize) -> R + Sync, mut take: impl FnMut(R)) {
    for first in (0..n).step_by(AT_ONCE) {
        let some = first..n.min(first + AT_ONCE);
        let made: Vec<R> =
            if is_on_a_pool() { some.into_par_iter().map(&of_block).collect() } else { some.map(&of_block).collect() };
        for block in made {
            take(block);
        }
    }
}

/// Whether a number can hold a sum of squares to all digits.
fn is_held(scatter: f64) -> bool {
    scatter.is_finite() && scatter >= LEAST_SCATTER
}

/// Whether numbers are not all equal.
fn differ(mut numbers: impl Iterator<Item = f64>) -> bool {
    numbers.next().is_some_and(|first| numbers.any(|x| x.partial_cmp(&first).is_some_and(std::cmp::Ordering::is_ne)))
}

/// The largest power of two that is not above a number: zero below all ordinary numbers, and one for what is none.
fn power_of_two(x: f64) -> f64 {
    /// The bits of an exponent.
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    if x.is_finite() { f64::from_bits(x.to_bits() & EXPONENT) } else { 1.0 }
}
