//! The rows that landmarks are chosen from.

use std::sync::atomic::{AtomicU64, Ordering};

use faer::Mat;

use crate::data::{Points, sample_rows};
use crate::error::{Error, Result};
use crate::gram::{Cross, diagonal, square_matrix};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// Rows to choose from, for each landmark.
const ROWS_PER_LANDMARK: usize = 10;
/// And at least this many, as far as there are.
const LEAST_ROWS: usize = 10_000;

/// How many rows `m` landmarks are chosen from.
pub(super) fn pool_size(n: usize, m: usize) -> usize {
    n.min(ROWS_PER_LANDMARK.saturating_mul(m).max(LEAST_ROWS))
}

/// Some of the points and their kernel.
pub(super) struct Pool {
    /// The rows of the data that these are; increasing.
    pub(super) rows: Vec<usize>,
    pub(super) points: Points,
    pub(super) kernel: Kernel,
    pub(super) precision: Precision,
    entries: Entries,
    computed: AtomicU64,
}

enum Entries {
    F32(Cross<f32>),
    F64(Cross<f64>),
    /// The whole matrix of a precomputed kernel.
    Given(Points),
}

impl Pool {
    /// A random sample of `size` of the points.
    pub(super) fn new(
        points: &Points,
        kernel: &Kernel,
        precision: Precision,
        size: usize,
        seed: u64,
        context: &Context<'_>,
    ) -> Result<Self> {
        let rows = sample_rows(points.n_samples(), size, seed);
        let sample = if rows.len() == points.n_samples() { points.clone() } else { points.select(&rows) };
        // By their numbers among all points.
        let in_points = |error: Error| error.with_row(|row| rows[row]);
        let entries = match (kernel, precision) {
            (Kernel::Precomputed, _) => Entries::Given(points.clone()),
            (_, Precision::F32) => {
                Entries::F32(context.threads.run(|| Cross::new(&sample, kernel)).map_err(in_points)?)
            }
            (_, Precision::F64) => {
                Entries::F64(context.threads.run(|| Cross::new(&sample, kernel)).map_err(in_points)?)
            }
        };
        Ok(Self { rows, points: sample, kernel: kernel.clone(), precision, entries, computed: AtomicU64::new(0) })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Kernel entries that were computed.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    pub(super) fn diagonal(&self) -> Result<Vec<f64>> {
        match &self.entries {
            Entries::Given(matrix) => {
                let all = diagonal(&self.kernel, matrix)?;
                Ok(self.rows.iter().map(|&row| all[row]).collect())
            }
            _ => diagonal(&self.kernel, &self.points),
        }
    }

    /// Kernel values of the pool's rows with some of them: a column for each.
    pub(super) fn columns(&self, places: &[usize], context: &Context<'_>) -> Result<Mat<f64>> {
        self.computed.fetch_add((self.len() * places.len()) as u64, Ordering::Relaxed);
        match &self.entries {
            Entries::F32(cross) => cross.columns(&self.points.select(places), context),
            Entries::F64(cross) => cross.columns(&self.points.select(places), context),
            Entries::Given(matrix) => {
                let lines: Vec<Vec<f64>> = places.iter().map(|&place| matrix.row(self.rows[place])).collect();
                Ok(Mat::from_fn(self.len(), places.len(), |i, j| lines[j][self.rows[i]]))
            }
        }
    }

    /// The kernel matrix of some of the pool's rows.
    pub(super) fn square(&self, places: &[usize], context: &Context<'_>) -> Result<Mat<f64>> {
        if let Entries::Given(matrix) = &self.entries {
            let lines: Vec<Vec<f64>> = places.iter().map(|&place| matrix.row(self.rows[place])).collect();
            let at = |i: usize, j: usize| lines[i][self.rows[places[j]]];
            return Ok(Mat::from_fn(places.len(), places.len(), |i, j| 0.5 * (at(i, j) + at(j, i))));
        }
        self.computed.fetch_add((places.len() * places.len()) as u64, Ordering::Relaxed);
        let square = square_matrix(&self.kernel, &self.points.select(places), context);
        square.map_err(|error| error.with_row(|row| self.rows[places[row]]))
    }
}
