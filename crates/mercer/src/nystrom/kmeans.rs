//! Landmarks that are centres of clusters.
//!
//! **Cost**: a kernel of the pool's rows with the centres, `p m d`, for every round.
//!
//! # Method
//!
//! The start is that of k-means++ (\[AV07\]): a row is drawn with a chance in proportion to its squared distance from the nearest centre so
//! far. As in randomly pivoted Cholesky, rows are drawn in blocks and taken with the ratio of their distance now to that when they were
//! drawn, which gives the same chances. Then Lloyd's rounds: every row goes to its nearest centre, every centre to the mean of its rows. A centre
//! without rows stays where it is.
//!
//! This is not [`kmeans`](crate::kmeans): there, few clusters of rows of few columns are what is asked for, so restarts compete and no cluster may be
//! empty. Here, thousands of rough centres of wide rows are, so the start draws blocks, distances come from tiles in the precision of the data, and rounds
//! end early. What is the same, a loop over rounds and a sum, is shorter than what would join them.
//!
//! # Numerics
//!
//! Distances come from the tile engine, by way of the kernel `1 / (1 + s γ)` of the squared distance `s`, which falls with it. Means are
//! summed in double precision in the order of the rows.

use faer::Mat;
use rayon::prelude::*;

use super::pool::Pool;
use super::random::{Random, fill_up};
use crate::data::{Moments, Points};
use crate::error::Result;
use crate::gram::{Cross, Element};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// Rounds after which centres are good enough for landmarks.
const ROUNDS: usize = 10;
/// Rounds end when fewer than one row in this many changes its centre.
const SETTLED: usize = 1000;
/// Rows drawn at a time for the start.
const BLOCK: std::ops::RangeInclusive<usize> = 8..=128;
/// Rows whose distances to all centres are in memory at once.
const ROWS_AT_ONCE: usize = 1024;

/// `m` centres, in the precision of the pool.
pub(super) fn choose(pool: &Pool, m: usize, seed: u64, context: &Context<'_>) -> Result<Points> {
    let centers = match pool.precision {
        Precision::F32 => Clustering::<f32>::new(pool)?.centers(m, seed, context),
        Precision::F64 => Clustering::<f64>::new(pool)?.centers(m, seed, context),
    };
    // Rows are counted in the pool until here.
    centers.map_err(|error| error.with_row(|row| pool.rows[row]))
}

struct Clustering<'a, T> {
    points: &'a Points,
    /// Falls with the squared distance, and is one where that is zero.
    closeness: Kernel,
    scale: f64,
    precision: std::marker::PhantomData<T>,
}

impl<'a, T: Element> Clustering<'a, T> {
    fn new(pool: &'a Pool) -> Result<Self> {
        let points = &pool.points;
        let spread = Moments::of(points).variance() * points.n_features() as f64;
        let scale = if spread > 0.0 && spread.is_finite() { 1.0 / spread } else { 1.0 };
        Ok(Self {
            points,
            closeness: Kernel::rational_quadratic(scale, 1.0)?,
            scale,
            precision: std::marker::PhantomData,
        })
    }

    fn centers(&self, m: usize, seed: u64, context: &Context<'_>) -> Result<Points> {
        let start = self.start(m, &mut Random::new(seed), context)?;
        let (n, d) = (self.points.n_samples(), self.points.n_features());
        let mut centers: Vec<f64> = start.iter().flat_map(|&row| self.points.row(row)).collect();
        let mut labels = vec![usize::MAX; n];
        for round in 0..ROUNDS {
            context.report_fraction(round as f64 / ROUNDS as f64);
            let nearest = self.nearest(&Self::as_points(&centers, d)?, context)?;
            let moved = labels.iter().zip(&nearest).filter(|(before, now)| before != now).count();
            labels = nearest;
            self.move_to_means(&mut centers, &labels, context);
            if moved * SETTLED < n {
                break;
            }
        }
        Self::as_points(&centers, d)
    }

    fn as_points(values: &[f64], d: usize) -> Result<Points> {
        let n = values.len() / d;
        match T::PRECISION {
            Precision::F32 => Points::from_f32(values.iter().map(|&x| x as f32).collect::<Vec<_>>(), n, d),
            Precision::F64 => Points::from_f64(values.to_vec(), n, d),
        }
    }

    /// Squared distances of all rows to some of them: a column for each.
    fn distances(&self, cross: &Cross<T>, to: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let values = cross.columns(to, context)?;
        Ok(Mat::from_fn(values.nrows(), values.ncols(), |i, j| (1.0 / values[(i, j)] - 1.0).max(0.0) / self.scale))
    }

    /// Rows to start from.
    fn start(&self, m: usize, random: &mut Random, context: &Context<'_>) -> Result<Vec<usize>> {
        let n = self.points.n_samples();
        let cross = context.threads.run(|| Cross::<T>::new(self.points, &self.closeness))?;
        let mut chosen = vec![random.below(n)];
        let first = self.distances(&cross, &self.points.select(&chosen), context)?;
        let mut squared: Vec<f64> = first.col(0).iter().copied().collect();
        squared[chosen[0]] = 0.0;
        while chosen.len() < m && squared.iter().any(|&distance| distance > 0.0) {
            context.check()?;
            let size = (m / 10).clamp(*BLOCK.start(), *BLOCK.end());
            let proposals = random.draw(&squared, size);
            let block = self.points.select(&proposals);
            let to_block = self.distances(&cross, &block, context)?;
            let mut taken: Vec<usize> = Vec::new();
            for (place, &row) in proposals.iter().enumerate() {
                let now = taken.iter().fold(squared[row], |least, &other| least.min(to_block[(row, other)]));
                if chosen.len() + taken.len() < m && random.uniform() * squared[row] < now {
                    taken.push(place);
                }
            }
            for &place in &taken {
                squared.iter_mut().zip(to_block.col(place).iter()).for_each(|(least, x)| *least = least.min(*x));
            }
            for &place in &taken {
                squared[proposals[place]] = 0.0;
                chosen.push(proposals[place]);
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(fill_up(chosen, n, m, random))
    }

    /// The nearest centre of every row.
    fn nearest(&self, centers: &Points, context: &Context<'_>) -> Result<Vec<usize>> {
        let cross = context.threads.run(|| Cross::<T>::new(centers, &self.closeness))?;
        let n = self.points.n_samples();
        let mut nearest = Vec::with_capacity(n);
        let mut values = Mat::<T>::zeros(centers.n_samples(), ROWS_AT_ONCE.min(n));
        for first in (0..n).step_by(ROWS_AT_ONCE) {
            let rows = first..n.min(first + ROWS_AT_ONCE);
            let count = rows.len();
            cross
                .fill(&self.points.slice(rows), values.as_mut().subcols_mut(0, count), context)
                .map_err(|error| error.with_row(|row| first + row))?;
            nearest.extend((0..count).map(|column| {
                let closest = |best: (usize, T), (place, &value): (usize, &T)| {
                    if value > best.1 { (place, value) } else { best }
                };
                values.col(column).iter().enumerate().fold((0, T::from_f64(-1.0)), closest).0
            }));
        }
        Ok(nearest)
    }

    /// Every centre goes to the mean of its rows.
    fn move_to_means(&self, centers: &mut [f64], labels: &[usize], context: &Context<'_>) {
        let d = self.points.n_features();
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); centers.len() / d];
        labels.iter().enumerate().for_each(|(row, &label)| members[label].push(row));
        context.threads.run(|| {
            centers.par_chunks_exact_mut(d).zip(members.par_iter()).for_each(|(center, rows)| {
                if rows.is_empty() {
                    return;
                }
                center.fill(0.0);
                for &row in rows {
                    center.iter_mut().zip(self.points.row(row)).for_each(|(sum, x)| *sum += x);
                }
                for sum in center.iter_mut() {
                    *sum /= rows.len() as f64;
                }
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    #[test]
    fn far_clusters_have_a_centre_each_at_their_mean() {
        // Five clusters of twenty, far from the origin and from each other.
        let values: Vec<f64> = (0..100)
            .flat_map(|i| {
                let (cluster, angle) = (f64::from(i / 20), f64::from(i % 20));
                [1000.0 + 50.0 * cluster + angle.sin(), -30.0 * cluster * cluster + angle.cos()]
            })
            .collect();
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        let points = Points::from_f64(values, 100, 2).expect("a hundred points");
        for precision in [Precision::F32, Precision::F64] {
            let pool = Pool::new(&points, &Kernel::linear(), precision, 100, 0, &context).expect("a hundred points");
            for seed in 0..10 {
                let centers = choose(&pool, 5, seed, &context).expect("finite");
                for cluster in 0..5 {
                    let mean = Moments::of(&points.slice(20 * cluster..20 * cluster + 20)).mean().to_vec();
                    let squared =
                        |i: usize| centers.row(i).iter().zip(&mean).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                    let nearest = (0..5).map(squared).fold(f64::INFINITY, f64::min);
                    assert!(nearest < 1e-6, "{precision}, seed {seed}: cluster {cluster} is missed by {nearest}");
                }
            }
        }
    }
}
