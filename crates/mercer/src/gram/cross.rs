//! Kernel values between two sets of points, as entries: for methods that need the numbers and not a product with them.

use faer::{Mat, MatMut};
use rayon::prelude::*;

use super::{Basis, Element, block_size, diagonal};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::simd::Isa;
use crate::watch::Context;

/// Queries whose kernel values one thread makes at a time.
const QUERIES: usize = 96;

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
        let (unit, lanes) = (geometry.unit, geometry.lanes);
        // Queries are packed where they are used, so that they are still in the cache; all at once only where the points, too, have to be
        // packed anew for them.
        let all =
            if self.basis.meets(queries) { None } else { Some(context.threads.run(|| self.basis.against(queries))?) };
        let height = QUERIES.next_multiple_of(unit);
        let padded_points = geometry.padded(m);
        let width = block_size::<T>(m, self.basis.isa);
        context.threads.run(|| {
            out.par_col_chunks_mut(height).enumerate().try_for_each_init(
                || Buffer::<T>::zeroed(height * width),
                |tile, (chunk, mut out)| {
                    context.check()?;
                    let first = chunk * height;
                    let own;
                    let (tiles, start_row) = if let Some(all) = &all {
                        (all, first)
                    } else {
                        own = self.basis.against(&queries.slice(first..first + out.ncols()))?;
                        (&own, 0)
                    };
                    let rows = start_row..start_row + geometry.padded(out.ncols());
                    for start in (0..padded_points).step_by(width) {
                        let columns = start..padded_points.min(start + width);
                        let tile = &mut tile[..rows.len() * columns.len()];
                        tiles.fill(rows.clone(), columns.clone(), tile)?;
                        let inside = columns.len().min(m.saturating_sub(start));
                        for query in 0..out.ncols() {
                            let panel = query / lanes * columns.len() * lanes + query % lanes;
                            let values = tile[panel..].iter().step_by(lanes).take(inside);
                            let place = out.as_mut().col_mut(query).subrows_mut(start, inside);
                            place.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
                        }
                    }
                    Ok(())
                },
            )
        })
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
    let values = context.threads.run(|| Cross::<f64>::new(points, kernel))?.columns(points, context)?;
    let diagonal = diagonal(kernel, points)?;
    Ok(Mat::from_fn(n, n, |i, j| if i == j { diagonal[i] } else { 0.5 * (values[(i, j)] + values[(j, i)]) }))
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
        for (m, n) in [(1, 1), (7, 100), (250, 97), (193, 5), (0, 3), (3, 0)] {
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
}
