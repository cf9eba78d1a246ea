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

/// How many partial sums [`inner`] has in memory, for so many rows.
pub(crate) fn parts_of_inner(n: usize) -> usize {
    n.div_ceil(chunk_rows(n))
}

/// `xᵀ y`.
pub(crate) fn inner(x: MatRef<'_, f64>, y: MatRef<'_, f64>, threads: &Threads) -> Mat<f64> {
    let (n, rows) = (x.nrows(), chunk_rows(x.nrows()));
    let parts: Vec<Mat<f64>> = threads.run(|| {
        (0..parts_of_inner(n))
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
pub(crate) fn product(x: MatRef<'_, f64>, c: MatRef<'_, f64>, threads: &Threads) -> Mat<f64> {
    let mut y = Mat::zeros(x.nrows(), c.ncols());
    add_product(y.as_mut(), x, c, 1.0, threads);
    y
}

/// Columns of the block of `w` that are kept as new directions: smaller ones are rounding of larger ones.
const DEPENDENT: f64 = 1e-12;
/// The same of columns that have been orthonormal but for rounding: what is left of them was rounding that has been divided by its own length.
const ROUNDED: f64 = 1e-5;
/// Passes of Gram–Schmidt, of which three do.
const MOST_PASSES: usize = 6;

/// An orthonormal basis of what the columns of `w` add to the span of the orthonormal `basis`; at most as many columns as `w`.
///
/// One pass of Gram–Schmidt leaves `ε ‖w‖ / ‖w − basis basisᵀ w‖` of the basis in the rest, a second brings that to rounding, unless
/// dividing by small norms has brought it back in, which a third takes out: it divides by none, because the second leaves out columns shorter than [`ROUNDED`]. Within
/// the block, the eigenvectors of the rest's Gram matrix serve as in Stathopoulos and
/// Wu's SVQB, because they reveal columns that depend on others, which a Cholesky factor breaks down on.
pub(super) fn new_directions(w: Mat<f64>, basis: MatRef<'_, f64>, threads: &Threads) -> Result<Mat<f64>> {
    let along = inner(basis, w.as_ref(), threads);
    rest_directions(w, basis, along, threads)
}

/// As [`new_directions`], with `along = basisᵀ w`, which the caller knows already.
pub(super) fn rest_directions(
    mut w: Mat<f64>,
    basis: MatRef<'_, f64>,
    mut along: Mat<f64>,
    threads: &Threads,
) -> Result<Mat<f64>> {
    let mut shortest = DEPENDENT * largest_norm(w.as_ref());
    for pass in 1..=MOST_PASSES {
        if pass > 1 {
            along = inner(basis, w.as_ref(), threads);
        }
        if basis.ncols() > 0 && w.ncols() > 0 {
            add_product(w.as_mut(), basis, along.as_ref(), -1.0, threads);
        }
        let lengths;
        (w, lengths) = orthonormal_columns(&w, shortest, threads)?;
        // Nothing was divided by a small number: what was orthogonal to rounding still is.
        if pass > 1 && lengths.iter().all(|squared| (0.25..=4.0).contains(squared)) {
            break;
        }
        // From now on the columns have unit length.
        shortest = ROUNDED;
    }
    Ok(w)
}

/// One step of SVQB: `w u s^{-1/2}` with `wᵀ w = u s uᵀ`, without the directions shorter than `shortest`; and `s`, the
/// squared length that each of its columns had.
fn orthonormal_columns(w: &Mat<f64>, shortest: f64, threads: &Threads) -> Result<(Mat<f64>, Vec<f64>)> {
    if w.ncols() == 0 {
        return Ok((w.clone(), Vec::new()));
    }
    let gram = inner(w.as_ref(), w.as_ref(), threads);
    let (values, vectors) = threads.run(|| dense::decompose(gram.as_ref()))?;
    let least = shortest * shortest;
    let kept: Vec<usize> = (0..values.len()).rev().filter(|&j| values[j] > least).collect();
    let transform = Mat::from_fn(vectors.nrows(), kept.len(), |i, j| vectors[(i, kept[j])] / values[kept[j]].sqrt());
    let squared = kept.iter().map(|&j| values[j]).collect();
    Ok((product(w.as_ref(), transform.as_ref(), threads), squared))
}

fn largest_norm(w: MatRef<'_, f64>) -> f64 {
    w.col_iter().map(|column| column.norm_l2()).fold(0.0, f64::max)
}

/// The norm of each column.
pub(super) fn column_norms(x: MatRef<'_, f64>) -> Vec<f64> {
    x.col_iter().map(|column| column.norm_l2()).collect()
}

/// Random numbers between -1 and 1.
pub(crate) fn random(n: usize, columns: usize, seed: u64) -> Mat<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // The top 53 bits, as a whole number of units of 2^-52, less one.
    Mat::from_fn(n, columns, |_, _| (random.next_u64() >> 11) as f64 * (0.5_f64).powi(52) - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest entry of `xᵀ y − identity`, or of `xᵀ y`.
    fn largest(x: MatRef<'_, f64>, y: MatRef<'_, f64>, identity: bool, threads: &Threads) -> f64 {
        let mut product = inner(x, y, threads);
        if identity {
            (0..product.nrows()).for_each(|i| product[(i, i)] -= 1.0);
        }
        product.norm_max()
    }

    #[test]
    fn new_directions_are_orthonormal_however_dependent_the_columns() {
        let threads = Threads::new(2).expect("two threads");
        let n = 3000;
        let none: Mat<f64> = Mat::zeros(n, 0);
        let basis = new_directions(random(n, 20, 1), none.as_ref(), &threads).expect("finite numbers");
        // Sums of n products of numbers of size one over the root of n.
        let rounding = 8.0 * f64::EPSILON * (n as f64).sqrt();
        for size in [1.0, 1e-6, 1e-10] {
            // Mostly within the basis, and each column mostly the first.
            let inside = product(basis.as_ref(), random(20, 6, 2).as_ref(), &threads);
            let (first, others) = (random(n, 1, 3), random(n, 6, 4));
            let w = Mat::from_fn(n, 6, |i, j| inside[(i, j)] + first[(i, 0)] + size * others[(i, j)]);
            let along = inner(basis.as_ref(), w.as_ref(), &threads);
            let found = rest_directions(w.clone(), basis.as_ref(), along, &threads).expect("finite numbers");
            // A Gram matrix tells columns apart down to the root of rounding; below that some count as dependent.
            assert!(
                found.ncols() == 6 || (size < 1e-8 && (1..6).contains(&found.ncols())),
                "{size}: {}",
                found.ncols()
            );
            assert!(largest(found.as_ref(), found.as_ref(), true, &threads) < rounding, "{size}");
            assert!(largest(basis.as_ref(), found.as_ref(), false, &threads) < rounding, "{size}");
            let again = new_directions(w, basis.as_ref(), &threads).expect("finite numbers");
            assert_eq!(found, again, "the same, whoever projects first");
        }
    }

    #[test]
    fn new_directions_are_orthonormal_if_columns_are_copies_of_each_other() {
        let threads = Threads::new(2).expect("two threads");
        let n = 4500;
        let none: Mat<f64> = Mat::zeros(n, 0);
        let rounding = 8.0 * f64::EPSILON * (n as f64).sqrt();
        for (copies, others, noise) in [(13, 3, 0.0), (13, 3, 1e-13), (40, 8, 1e-15), (26, 6, 1e-9)] {
            let (several, errors, factors) = (random(n, others, 6), random(n, copies, 7), random(2, copies, 8));
            // All but one of the rows are the same in every copy, as in the extension of a sample's solution where all but one of the points are.
            let w = Mat::from_fn(n, copies + others, |i, j| match j.checked_sub(copies) {
                Some(other) => several[(i, other)],
                None => factors[(0, j)] + if i == 17 { 1e-3 * factors[(1, j)] } else { 0.0 } + noise * errors[(i, j)],
            });
            let found = new_directions(w, none.as_ref(), &threads).expect("finite numbers");
            let error = largest(found.as_ref(), found.as_ref(), true, &threads);
            assert!(error < rounding, "{copies} copies with errors of {noise}: {error}");
            assert!((others + 2..=copies + others).contains(&found.ncols()), "{copies}, {noise}: {}", found.ncols());
        }
    }

    #[test]
    fn columns_that_add_nothing_give_no_direction() {
        let threads = Threads::new(1).expect("one thread");
        let basis = new_directions(random(100, 5, 1), Mat::zeros(100, 0).as_ref(), &threads).expect("finite numbers");
        let inside = product(basis.as_ref(), random(5, 3, 2).as_ref(), &threads);
        assert_eq!(new_directions(inside, basis.as_ref(), &threads).expect("finite numbers").ncols(), 0);
        assert_eq!(new_directions(Mat::zeros(100, 3), basis.as_ref(), &threads).expect("finite numbers").ncols(), 0);
    }
}
