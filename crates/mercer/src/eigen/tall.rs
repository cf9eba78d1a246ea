//! Arithmetic on tall matrices: many rows, few columns.
//!
//! Rows are cut into chunks whose number depends on the number of rows only. Threads share the chunks, and sums over
//! chunks are added up in order, so results do not depend on how many threads there are.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::dense;
use crate::error::Result;
use crate::watch::Threads;

/// Chunks have at least this many rows: a chunk of a hundred columns then just fits the second-level cache.
const MIN_ROWS: usize = 1024;
/// And there are at most this many of them, which bounds the memory for partial sums.
const MAX_CHUNKS: usize = 64;

fn chunk_rows(n: usize) -> usize {
    n.div_ceil(MAX_CHUNKS).max(MIN_ROWS)
}

/// `xᵀ y`.
pub(crate) fn inner(x: MatRef<'_, f64>, y: MatRef<'_, f64>, threads: &Threads) -> Mat<f64> {
    let (n, rows) = (x.nrows(), chunk_rows(x.nrows()));
    let parts: Vec<Mat<f64>> = threads.run(|| {
        (0..n.div_ceil(rows))
            .into_par_iter()
            .map(|chunk| {
                let (first, count) = (chunk * rows, rows.min(n - chunk * rows));
                let mut part = Mat::zeros(x.ncols(), y.ncols());
                let (x, y) = (x.subrows(first, count), y.subrows(first, count));
                matmul(part.as_mut(), Accum::Replace, x.transpose(), y, 1.0, Par::Seq);
                part
            })
            .collect()
    });
    parts.into_iter().reduce(|sum, part| sum + part).unwrap_or_else(|| Mat::zeros(x.ncols(), y.ncols()))
}

/// `y ← y + factor · x c`.
pub(super) fn add_product(y: MatMut<'_, f64>, x: MatRef<'_, f64>, c: MatRef<'_, f64>, factor: f64, threads: &Threads) {
    let rows = chunk_rows(x.nrows());
    threads.run(|| {
        y.par_row_chunks_mut(rows).zip(x.par_row_chunks(rows)).for_each(|(y, x)| {
            matmul(y, Accum::Add, x, c, factor, Par::Seq);
        });
    });
}

/// `x c`.
pub(super) fn product(x: MatRef<'_, f64>, c: MatRef<'_, f64>, threads: &Threads) -> Mat<f64> {
    let mut y = Mat::zeros(x.nrows(), c.ncols());
    add_product(y.as_mut(), x, c, 1.0, threads);
    y
}

/// Columns of the block of `w` that are kept as new directions: smaller ones are rounding of larger ones.
const DEPENDENT: f64 = 1e-12;

/// An orthonormal basis of what the columns of `w` add to the span of the orthonormal `basis`; at most as many columns as `w`.
///
/// One pass of Gram–Schmidt leaves `ε ‖w‖ / ‖w − basis basisᵀ w‖` of the basis in the rest, a second brings that to rounding, unless
/// dividing by small norms has brought it back in, which a third takes out. Within the block, the eigenvectors of the rest's Gram matrix serve as in Stathopoulos and
/// Wu's SVQB, because they reveal columns that depend on others, which a Cholesky factor breaks down on.
pub(super) fn new_directions(mut w: Mat<f64>, basis: MatRef<'_, f64>, threads: &Threads) -> Result<Mat<f64>> {
    let mut scale = largest_norm(w.as_ref());
    for _ in 0..3 {
        w = project_out(w, basis, threads);
        w = orthonormal_columns(&w, scale, threads)?;
        // From now on the columns have unit length.
        scale = 1.0;
    }
    Ok(w)
}

fn project_out(mut w: Mat<f64>, basis: MatRef<'_, f64>, threads: &Threads) -> Mat<f64> {
    if basis.ncols() > 0 && w.ncols() > 0 {
        let c = inner(basis, w.as_ref(), threads);
        add_product(w.as_mut(), basis, c.as_ref(), -1.0, threads);
    }
    w
}

/// One step of SVQB: `w u s^{-1/2}` with `wᵀ w = u s uᵀ`, without the directions shorter than [`DEPENDENT`] times `scale`.
fn orthonormal_columns(w: &Mat<f64>, scale: f64, threads: &Threads) -> Result<Mat<f64>> {
    if w.ncols() == 0 {
        return Ok(w.clone());
    }
    let gram = inner(w.as_ref(), w.as_ref(), threads);
    let (values, vectors) = threads.run(|| dense::decompose(gram.as_ref()))?;
    let shortest = (DEPENDENT * scale).powi(2);
    let kept: Vec<usize> = (0..values.len()).rev().filter(|&j| values[j] > shortest).collect();
    let transform = Mat::from_fn(vectors.nrows(), kept.len(), |i, j| vectors[(i, kept[j])] / values[kept[j]].sqrt());
    Ok(product(w.as_ref(), transform.as_ref(), threads))
}

fn largest_norm(w: MatRef<'_, f64>) -> f64 {
    w.col_iter().map(|column| column.norm_l2()).fold(0.0, f64::max)
}

/// The norm of each column.
pub(super) fn column_norms(x: MatRef<'_, f64>) -> Vec<f64> {
    x.col_iter().map(|column| column.norm_l2()).collect()
}

/// Random numbers between -1 and 1.
pub(super) fn random(n: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The top 53 bits, as a whole number of units of 2^-52, less one.
    Mat::from_fn(n, columns, |_, _| (random.next_u64() >> 11) as f64 * (0.5_f64).powi(52) - 1.0)
}
