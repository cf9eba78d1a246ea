//! Kernel values between two sets of points, as entries: for methods that need the numbers and not a product with them.

use std::ops::Range;

use faer::{Mat, MatMut};
use rayon::prelude::*;

use super::{Basis, Element, block_size, diagonal};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::simd::Isa;
use crate::tile::TileSource;
use crate::watch::Context;

/// Queries whose kernel values one thread makes at a time.
const QUERIES: usize = 96;
/// Chunks of so many queries for each thread, from which on threads have about the same share of them.
const SHARES: usize = 2;

/// Points packed once, whose kernel values with blocks of others are wanted.
pub(crate) struct Cross<T> {
    basis: Basis<T>,
}

impl<T: Element> Cross<T> {
    /// Packs the points; on the calling thread's pool.
    pub(crate) fn new(points: &Points, kernel: &Kernel) -> Result<Self> {
        Ok(Self { basis: Basis::new(points, kernel, Isa::detect())? })
    }

    /// Points that queries are compared with.
    pub(crate) fn len(&self) -> usize {
        self.basis.n_columns()
    }

    /// Writes the kernel values of every query with all points into a column of its own.
    pub(crate) fn fill(&self, queries: &Points, out: MatMut<'_, T>, context: &Context<'_>) -> Result<()> {
        let (n, m) = (queries.n_samples(), self.len());
        assert_eq!((out.nrows(), out.ncols()), (m, n), "a column per query, a row per point");
        if n == 0 || m == 0 {
            return Ok(());
        }
        let geometry = self.basis.geometry();
        // Queries are packed where they are used, so that they are still in the cache; all at once only where the points, too, have to be
        // packed anew for them.
        let all =
            if self.basis.meets(queries) { None } else { Some(context.threads.run(|| self.basis.against(queries))?) };
        let height = QUERIES.next_multiple_of(geometry.unit);
        let width = block_size::<T>(m, self.basis.isa);
        // Of a few queries there is a share for every thread only if they share the points, too.
        let are_few = n.div_ceil(height) < SHARES * context.threads.count();
        let buffer = || Buffer::<T>::zeroed(height * width);
        let outcome: Result<()> = context.threads.run(|| {
            out.par_col_chunks_mut(height).enumerate().try_for_each_init(buffer, |tile, (chunk, mut out)| {
                context.check()?;
                let first = chunk * height;
                let own;
                let (tiles, start_row) = if let Some(all) = &all {
                    (all, first)
                } else {
                    own = self.basis.against(&queries.slice(first..first + out.ncols()))?;
                    (&own, 0)
                };
                let (tiles, rows) = (tiles.as_ref(), start_row..start_row + geometry.padded(out.ncols()));
                if are_few {
                    let blocks = out.par_row_chunks_mut(width).enumerate();
                    return blocks.try_for_each_init(buffer, |tile, (block, out)| {
                        self.write(tiles, rows.clone(), block * width, tile, out)
                    });
                }
                (0..m).step_by(width).try_for_each(|start| {
                    let block = out.as_mut().subrows_mut(start, width.min(m - start));
                    self.write(tiles, rows.clone(), start, tile, block)
                })
            })
        });
        outcome.map_err(|error| match error {
            // The farthest of all queries, whichever a thread has come to first, by its number among all.
            Error::TooLarge { .. } => context.threads.run(|| self.basis.against(queries)).err().unwrap_or(error),
            other => other,
        })
    }

    /// Writes the kernel values of the queries `rows` of `tiles` with the points from `start` on, as many as `out` has rows for; `tile` is where they are made.
    fn write(
        &self,
        tiles: &dyn TileSource<T>,
        rows: Range<usize>,
        start: usize,
        tile: &mut [T],
        mut out: MatMut<'_, T>,
    ) -> Result<()> {
        let geometry = self.basis.geometry();
        let (inside, lanes) = (out.nrows(), geometry.lanes);
        let columns = start..start + geometry.padded(inside);
        let wide = columns.len();
        let tile = &mut tile[..rows.len() * wide];
        tiles.fill(rows, columns, tile)?;
        for query in 0..out.ncols() {
            let panel = query / lanes * wide * lanes + query % lanes;
            let values = tile[panel..].iter().step_by(lanes).take(inside);
            let place = out.as_mut().col_mut(query);
            place.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
        }
        Ok(())
    }

    /// The kernel values of every query with all points, in double precision: a column per query.
    pub(crate) fn columns(&self, queries: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut values = Mat::<T>::zeros(self.len(), queries.n_samples());
        self.fill(queries, values.as_mut(), context)?;
        Ok(Mat::from_fn(values.nrows(), values.ncols(), |i, j| values[(i, j)].to_f64()))
    }
}

/// The kernel matrix of some points in double precision, exactly symmetric.
///
/// A function of the user's is called once for every pair, a row of the lower triangle at a time. For a precomputed kernel the points
/// are the matrix.
pub(crate) fn square_matrix(kernel: &Kernel, points: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
    let n = points.n_samples();
    if let Kernel::Custom(custom) = kernel {
        let (all, d) = (points.rows(0..n).to_f64(), points.n_features());
        let mut matrix = Mat::zeros(n, n);
        let mut line = vec![0.0; n];
        for i in 0..n {
            context.check()?;
            custom.fill(&all[i * d..(i + 1) * d], &all[..(i + 1) * d], d, &mut line[..=i])?;
            for (j, &value) in line[..=i].iter().enumerate() {
                if !value.is_finite() {
                    return Err(Error::CustomKernel { kernel: custom.name().to_owned(), row: i, column: j, value });
                }
                (matrix[(i, j)], matrix[(j, i)]) = (value, value);
            }
        }
        return Ok(matrix);
    }
    let mut matrix = Mat::zeros(n, n);
    context.threads.run(|| Cross::<f64>::new(points, kernel))?.fill(points, matrix.as_mut(), context)?;
    each_below(n, |i, j| {
        let mean = 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
        (matrix[(i, j)], matrix[(j, i)]) = (mean, mean);
    });
    for (i, value) in diagonal(kernel, points)?.into_iter().enumerate() {
        matrix[(i, i)] = value;
    }
    Ok(matrix)
}

/// Calls `visit` with the row and the column of every entry on and below the diagonal of a square matrix, a block after the other: the entries across the
/// diagonal from a block lie together, too.
pub(crate) fn each_below(order: usize, mut visit: impl FnMut(usize, usize)) {
    const BLOCK: usize = 64;
    for left in (0..order).step_by(BLOCK) {
        for top in (left..order).step_by(BLOCK) {
            for j in left..order.min(left + BLOCK) {
                for i in top.max(j)..order.min(top + BLOCK) {
                    visit(i, j);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    #[test]
    fn entries_are_those_of_pairs_whatever_the_sizes() {
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        let kernel = Kernel::gaussian(0.3).expect("positive");
        for (m, n) in [(1, 1), (7, 100), (250, 97), (193, 5), (60, 500), (0, 3), (3, 0)] {
            let values = |count: usize, step: f64| (0..3 * count).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>();
            let points = Points::from_f64(values(m, 0.7), m, 3).expect("m rows");
            let queries = Points::from_f64(values(n, 1.3), n, 3).expect("n rows");
            let found =
                Cross::<f64>::new(&points, &kernel).expect("small").columns(&queries, &context).expect("finite");
            assert_eq!((found.nrows(), found.ncols()), (m, n));
            for i in 0..m {
                for j in 0..n {
                    let expected = kernel.evaluate(&points.row(i), &queries.row(j)).expect("same width");
                    assert!((found[(i, j)] - expected).abs() < 1e-14, "{i}, {j} of {m}, {n}");
                }
            }
        }
    }

    #[test]
    fn a_query_that_is_too_large_is_told_by_its_number_among_all_whatever_the_threads() {
        let watch = Watch::new();
        let kernel = Kernel::gaussian(0.3).expect("positive");
        let points = (0..30).map(|i| f64::from(i).sin()).collect::<Vec<_>>();
        let cross = Cross::<f64>::new(&Points::from_f64(points, 10, 3).expect("ten rows"), &kernel).expect("small");
        // Two of them, neither among the first that a thread takes.
        let mut values = vec![0.5; 1500];
        (values[3 * 130], values[3 * 470]) = (1e200, 3e200);
        let queries = Points::from_f64(values, 500, 3).expect("five hundred rows");
        for count in [1, 2, 3] {
            let threads = Threads::new(count).expect("a few threads");
            let error = cross.columns(&queries, &Context::new(&threads, &watch, Phase::Starting));
            assert!(matches!(error, Err(Error::TooLarge { row: 470, .. })), "{count}: {error:?}");
        }
    }

    #[test]
    fn every_entry_on_and_below_the_diagonal_is_visited_once() {
        for order in [0, 1, 63, 64, 65, 150] {
            let mut visits = Mat::<f64>::zeros(order, order);
            each_below(order, |i, j| visits[(i, j)] += 1.0);
            let expected = Mat::from_fn(order, order, |i, j| if i < j { 0.0 } else { 1.0 });
            assert_eq!(visits, expected, "{order}");
        }
    }
}
