//! Squared distances between rows and centres.

use std::ops::Range;

use faer::MatRef;
use rayon::prelude::*;

use crate::simd::{Isa, Job, Target};
use crate::watch::Threads;

/// Rows of a chunk: their distances and a few columns fit the first-level cache.
const CHUNK: usize = 1024;

/// Rows, column by column.
pub(super) struct Rows {
    columns: Vec<Vec<f64>>,
    pub(super) n: usize,
    isa: Isa,
}

impl Rows {
    pub(super) fn new(rows: MatRef<'_, f64>) -> Self {
        let columns = rows.col_iter().map(|column| column.iter().copied().collect()).collect();
        Self { columns, n: rows.nrows(), isa: Isa::detect() }
    }

    /// Columns.
    pub(super) fn d(&self) -> usize {
        self.columns.len()
    }

    /// One row.
    pub(super) fn row(&self, i: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[i]).collect()
    }

    /// A number of one row.
    pub(super) fn value(&self, i: usize, j: usize) -> f64 {
        self.columns[j][i]
    }

    /// What `work` finds in each chunk, in order. It is given the rows of the chunk.
    pub(super) fn by_chunks<R: Send>(&self, threads: &Threads, work: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
        let n = self.n;
        threads.run(|| {
            (0..n.div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| work(chunk * CHUNK..n.min((chunk + 1) * CHUNK)))
                .collect()
        })
    }

    /// Squared distances of some rows to a point.
    pub(super) fn squared_distances(&self, rows: &Range<usize>, to: &[f64], out: &mut [f64]) {
        self.isa.run(Distances { columns: &self.columns, rows: rows.clone(), to, out });
    }

    /// The nearest centre of some rows and the squared distance to it; the first of several that are as near.
    pub(super) fn nearest(&self, rows: &Range<usize>, centers: &[Vec<f64>]) -> (Vec<usize>, Vec<f64>) {
        let mut labels = vec![0; rows.len()];
        let mut least = vec![f64::INFINITY; rows.len()];
        let mut distances = vec![0.0; rows.len()];
        for (center, to) in centers.iter().enumerate() {
            self.squared_distances(rows, to, &mut distances);
            for ((label, least), &distance) in labels.iter_mut().zip(&mut least).zip(&distances) {
                if distance < *least {
                    (*label, *least) = (center, distance);
                }
            }
        }
        (labels, least)
    }
}

/// The loop over columns, compiled for every instruction set. Without fused operations its bits are the same on all of them.
struct Distances<'a> {
    columns: &'a [Vec<f64>],
    rows: Range<usize>,
    to: &'a [f64],
    out: &'a mut [f64],
}

impl Job for Distances<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        self.out.fill(0.0);
        for (column, &center) in self.columns.iter().zip(self.to) {
            for (sum, &x) in self.out.iter_mut().zip(&column[self.rows.clone()]) {
                let gap = x - center;
                *sum += gap * gap;
            }
        }
    }
}

/// The nearest of some centres for every row; the first of several that are as near.
///
/// ```
/// use faer::mat;
/// use mercer::kmeans::nearest;
/// use mercer::watch::Threads;
///
/// let (rows, centers) = (mat![[0.0, 1.0], [4.0, 4.0]], mat![[5.0, 5.0], [0.0, 0.0]]);
/// assert_eq!(nearest(rows.as_ref(), centers.as_ref(), &Threads::new(1)?), [1, 0]);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Panics
///
/// If rows and centres differ in columns, or there are no centres.
pub fn nearest(rows: MatRef<'_, f64>, centers: MatRef<'_, f64>, threads: &Threads) -> Vec<usize> {
    assert_eq!(rows.ncols(), centers.ncols(), "rows and centres must have as many columns");
    assert!(centers.nrows() > 0, "there must be a centre");
    let rows = Rows::new(rows);
    let centers: Vec<Vec<f64>> = centers.row_iter().map(|row| row.iter().copied().collect()).collect();
    rows.by_chunks(threads, |chunk| rows.nearest(&chunk, &centers).0).concat()
}
