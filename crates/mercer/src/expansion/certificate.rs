//! What products are held against: rows computed one entry at a time, in double precision.

use faer::{Mat, MatRef};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::polynomial::Terms;
use super::region::{Region, radius, squared_distance};
use super::{Expansion, Prediction, Targets, costs};
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::kernel::{Kernel, Parameter};
use crate::watch::Context;

/// Numbers that are read at a time, for all rows: few enough for the cache.
const BLOCK: usize = 1 << 16;

/// Rows that an error is measured on, if nothing else is said: a few that lie farthest out, the others at random. If one row in twenty were
/// worse than what was measured, so many would all have missed it with a probability of less than 0.8 %.
///
/// ```
/// let missed = 0.95_f64.powi(mercer::expansion::CHECKED_ROWS as i32 - 4);
/// assert!(missed < 0.008);
/// ```
pub const CHECKED_ROWS: usize = 100;

/// One in so many of them is among the rows farthest from the middle of all, where series and grids are worst.
const ONE_IN: usize = 25;

/// Vectors that errors are measured with: unit vectors, and one of signs.
pub(super) const MEASURED: usize = 5;
/// Rows nearest to each of these columns, itself among them, that are measured, too.
const NEIGHBOURS: usize = 8;

impl Expansion {
    /// The largest of two errors, both relative to the largest entry and measured against the kernel in double precision: that of the entries of four
    /// columns in [`CHECKED_ROWS`] rows and in the rows nearest to each of the four; and in the former that of a sum over all points with random signs, for which an
    /// error is divided by the number of points. Few entries say little of points that none of them belongs to, which the sum has all of.
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    pub fn measure(&self, seed: u64, context: &Context<'_>) -> Result<f64> {
        let n = self.points.n_samples();
        let columns = sample_rows(n, MEASURED - 1, seed);
        let checked = checked_rows(&self.points, CHECKED_ROWS, seed.wrapping_add(1));
        // Two of very many points are hardly ever neighbours by chance.
        let near = columns.iter().flat_map(|&column| nearest_rows(&self.points, column, NEIGHBOURS));
        let rows: Vec<usize> = checked.iter().copied().chain(near).collect();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut signs = Mat::zeros(n, 1);
        signs.col_mut(0).iter_mut().for_each(|sign| *sign = if random.next_u32() % 2 == 0 { 1.0 } else { -1.0 });
        let mut vectors = Mat::zeros(n, columns.len() + 1);
        for (j, &column) in columns.iter().enumerate() {
            vectors[(column, j)] = 1.0;
        }
        vectors.col_mut(columns.len()).copy_from(signs.col(0));
        let compressed = self.compress(vectors.as_ref(), context)?;
        let found = self.product(&compressed, &self.points.select(&rows), context)?;
        let mut worst = 0.0_f64;
        // What is no number is no answer.
        let mut see = |error: f64| worst = if error.is_nan() { f64::INFINITY } else { worst.max(error.abs()) };
        for (i, &row) in rows.iter().enumerate() {
            for (j, &column) in columns.iter().enumerate() {
                see(found[(i, j)] - self.kernel.evaluate(&self.points.row(row), &self.points.row(column))?);
            }
        }
        let sums = exact_rows(&self.kernel, &self.points.select(&checked), &self.points, signs.as_ref(), context)?;
        for i in 0..checked.len() {
            see((found[(i, columns.len())] - sums[(i, 0)]) / n as f64);
        }
        Ok(worst / self.scale)
    }
}

impl Prediction {
    /// Nanoseconds of one thread that [`Expansion::measure`] takes for points of this shape: a product with its vectors, where `cost` is that of one with `columns`,
    /// as many passes over the points for the rows farthest out and nearest, and the rows that are computed by definition.
    pub(crate) fn certificate_cost(&self, (n, n_features): (usize, usize), columns: usize) -> f64 {
        let (points, vectors) = (n as f64, MEASURED as f64);
        let product = self.cost * vectors / columns as f64;
        let passes = costs::clusters(points * vectors, n_features, 0);
        product + passes + costs::single_entries(CHECKED_ROWS.min(n) as f64 * points, n_features)
    }
}

/// `count` rows that an error is measured on, in increasing order; all, if there are no more.
pub(crate) fn checked_rows(points: &Points, count: usize, seed: u64) -> Vec<usize> {
    let n = points.n_samples();
    if count >= n {
        return (0..n).collect();
    }
    let mut far = farthest_rows(points, count / ONE_IN);
    far.sort_unstable();
    // A sample of the others, which are numbered as if those were not there.
    let others = sample_rows(n - far.len(), count - far.len(), seed);
    let mut rows: Vec<usize> =
        others.into_iter().map(|row| far.iter().fold(row, |row, &far| row + usize::from(far <= row))).collect();
    rows.extend(far);
    rows.sort_unstable();
    rows
}

/// The `count` rows farthest from the middle of the box of all.
fn farthest_rows(points: &Points, count: usize) -> Vec<usize> {
    let center = Region::new(points, Targets::Sources, 0.0).center();
    first_rows_by(points, count, |x| -squared_distance(x, &center))
}

/// The `count` rows nearest to a row, itself the first of them: where a kernel has a corner, and a sum over a grid is mended.
pub(super) fn nearest_rows(points: &Points, row: usize, count: usize) -> Vec<usize> {
    let place = points.row(row);
    first_rows_by(points, count, |x| squared_distance(x, &place))
}

/// The `count` rows for which `key` is least, and among equal ones the first.
fn first_rows_by(points: &Points, count: usize, key: impl Fn(&[f64]) -> f64) -> Vec<usize> {
    let (n, d) = (points.n_samples(), points.n_features());
    let mut found: Vec<(f64, usize)> = Vec::new();
    for first in (0..n).step_by(4096) {
        let values = points.rows(first..n.min(first + 4096)).to_f64();
        found.extend(values.chunks_exact(d).enumerate().map(|(offset, x)| (key(x), first + offset)));
        found.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        found.truncate(count);
    }
    found.into_iter().map(|(_, row)| row).collect()
}

/// `K(queries, points) vectors` by definition, without the tile engine and its rearranged distances: slow, for a few queries.
///
/// ```
/// use faer::Mat;
/// use mercer::expansion::exact_rows;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let sums = exact_rows(&Kernel::linear(), &points, &points, Mat::full(3, 1, 1.0).as_ref(), &context)?;
/// assert_eq!(sums[(2, 0)], 18.0);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If queries and points differ in width, the kernel has no values between points, or the run was stopped.
///
/// # Panics
///
/// If there is not one row of `vectors` per point.
pub fn exact_rows(
    kernel: &Kernel,
    queries: &Points,
    points: &Points,
    vectors: MatRef<'_, f64>,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    assert_eq!(vectors.nrows(), points.n_samples(), "one row of vectors per point");
    let (n, d, b) = (points.n_samples(), points.n_features(), vectors.ncols());
    let rows: Vec<Vec<f64>> = (0..queries.n_samples()).map(|row| queries.row(row)).collect();
    let mut sums = vec![vec![0.0; b]; rows.len()];
    let block = (BLOCK / d.max(1)).max(1);
    context.threads.run(|| -> Result<()> {
        for first in (0..n).step_by(block) {
            context.check()?;
            let values = points.rows(first..n.min(first + block)).to_f64();
            sums.par_iter_mut().zip(&rows).try_for_each(|(sums, x)| -> Result<()> {
                for (j, y) in values.chunks_exact(d).enumerate() {
                    let value = kernel.evaluate(x, y)?;
                    sums.iter_mut().enumerate().for_each(|(v, sum)| *sum += value * vectors[(first + j, v)]);
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(Mat::from_fn(rows.len(), b, |i, j| sums[i][j]))
}

/// What rounding costs an entry that tiles compute in double precision, relative to the largest entry: distances come from norms and inner
/// products about the mean, so their error is in proportion to the points' squared spread.
pub(super) fn tile_rounding(kernel: &Kernel, points: &Points, targets: Targets<'_>) -> f64 {
    let epsilon = f64::EPSILON;
    let center = Region::new(points, Targets::Sources, 0.0).center();
    // The mean lies somewhere in the box of the points.
    let farthest = match targets {
        Targets::Known(queries) => radius(points, &center).max(radius(queries, &center)),
        Targets::Sources | Targets::Any => radius(points, &center),
    };
    let spread = 4.0 * farthest.powi(2);
    let gamma = kernel.parameter(Parameter::Gamma).unwrap_or(0.0);
    let of_distances = match kernel {
        Kernel::Gaussian(_) | Kernel::RationalQuadratic(_) => 4.0 * epsilon * gamma * spread,
        Kernel::Matern32(_) | Kernel::Matern52(_) => 20.0 * epsilon * gamma * gamma * spread,
        // A corner turns the error of a square into its root.
        Kernel::Exponential(_) => gamma * (4.0 * epsilon * spread).sqrt(),
        _ => 0.0,
    };
    let degree = Terms::of(kernel).map_or(1.0, |terms| terms.degree as f64);
    (of_distances + 8.0 * epsilon * (points.n_features() as f64 + 8.0) * degree).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::ExpansionMethod;

    #[test]
    fn a_certificate_costs_its_rows_whatever_a_product_costs() {
        let cost = |cost: f64, n: usize| {
            let (method, terms, direct, bytes) = (ExpansionMethod::Grid, 100, 1e12, 0);
            Prediction { method, terms, cost, direct, bytes }.certificate_cost((n, 3), 8)
        };
        // A hundred rows of a million entries, each of which takes longer than one of a tile.
        assert!(cost(0.0, 1_000_000) > 1e8);
        assert!((cost(8e9, 1_000_000) - cost(0.0, 1_000_000) - 5e9).abs() < 1.0);
        // There are no more rows than points.
        assert!((cost(0.0, 20) / cost(0.0, 10)) > 3.0 && (cost(0.0, 20_000) / cost(0.0, 10_000)) < 2.1);
    }

    #[test]
    fn the_rows_farthest_out_are_among_those_that_are_checked() {
        let mut values: Vec<f64> = (0..2000).map(|i| f64::from(i % 83) / 83.0).collect();
        values[700] = 9.0;
        values[1999] = -7.0;
        let points = Points::from_f64(values, 1000, 2).expect("pairs");
        for seed in 0..5 {
            let rows = checked_rows(&points, 100, seed);
            assert!(rows.len() == 100 && rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|&row| row < 1000));
            assert!(rows.contains(&350) && rows.contains(&999), "{rows:?}");
        }
        assert_eq!(nearest_rows(&points, 350, 1), [350]);
        assert_eq!(nearest_rows(&points, 0, 3)[0], 0);
        assert!(checked_rows(&points, 0, 1).is_empty());
        assert_eq!(checked_rows(&points, 2000, 1).len(), 1000);
    }
}
