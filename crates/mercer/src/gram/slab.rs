//! Products with a rectangular piece of a kernel matrix: new points against old ones.

use std::sync::Arc;

use faer::{Mat, MatMut, MatRef};
use rayon::prelude::*;

use super::{Basis, Element, block_size};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::tile::{Geometry, Side, accumulate};
use crate::watch::Context;

/// Rows of queries that are packed at a time: their memory stays small however many queries there are.
const QUERIES: usize = 7680;

/// `K(queries, points) vectors`: one row per query, one column per vector, in bounded memory.
///
/// A pure function of blocks: a machine that holds some rows of the data computes its rows of a product with it.
///
/// # Errors
///
/// If queries and points differ in width, a point is too large for the precision, a custom kernel failed, or the run was
/// stopped.
///
/// # Panics
///
/// If there is not one row of `vectors` per point.
///
/// ```
/// use faer::Mat;
/// use mercer::gram::slab_product;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points, Precision};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let queries = Points::from_f64(vec![10.0], 1, 1)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Transforming);
/// let ones = Mat::full(3, 1, 1.0);
/// let sums = slab_product(&Kernel::linear(), &queries, &points, ones.as_ref(), Precision::F64, &context)?;
/// assert_eq!(sums[(0, 0)], 60.0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn slab_product(
    kernel: &Kernel,
    queries: &Points,
    points: &Points,
    vectors: MatRef<'_, f64>,
    precision: Precision,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    match precision {
        Precision::F32 => slab_product_in::<f32>(kernel, queries, points, vectors, context),
        Precision::F64 => slab_product_in::<f64>(kernel, queries, points, vectors, context),
    }
}

fn slab_product_in<T: Element>(
    kernel: &Kernel,
    queries: &Points,
    points: &Points,
    vectors: MatRef<'_, f64>,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    let basis = context.threads.run(|| Basis::<T>::new(points, kernel, Isa::detect()))?;
    Slab::new(basis, vectors).product(queries, context)
}

/// A packed basis and the vectors its columns are multiplied with: made once, used for many blocks of queries.
pub(crate) struct Slab<T> {
    basis: Arc<Basis<T>>,
    vectors: Buffer<T>,
    n_vectors: usize,
    width: usize,
    block: usize,
}

impl<T: Element> Slab<T> {
    pub(crate) fn new(basis: impl Into<Arc<Basis<T>>>, vectors: MatRef<'_, f64>) -> Self {
        let basis = basis.into();
        let n = basis.n_columns();
        assert_eq!(vectors.nrows(), n, "one row of vectors per point");
        let geometry = basis.geometry();
        let width = vectors.ncols().next_multiple_of(geometry.lanes);
        let mut packed = Buffer::zeroed(geometry.padded(n) * width);
        for (i, row) in packed.chunks_exact_mut(width.max(1)).take(n).enumerate() {
            for (j, value) in row.iter_mut().take(vectors.ncols()).enumerate() {
                *value = T::from_f64(vectors[(i, j)]);
            }
        }
        let block = block_size::<T>(n, basis.isa);
        Self { basis, vectors: packed, n_vectors: vectors.ncols(), width, block }
    }

    /// The same basis, shared and not copied, with other vectors.
    pub(crate) fn with_vectors(&self, vectors: MatRef<'_, f64>) -> Self {
        Self::new(Arc::clone(&self.basis), vectors)
    }

    /// The product for a block of queries.
    pub(crate) fn product(&self, queries: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let n = queries.n_samples();
        let mut out = Mat::zeros(n, self.n_vectors);
        for first in (0..n).step_by(QUERIES) {
            let end = n.min(first + QUERIES);
            context.report_fraction(first as f64 / n as f64);
            let rows = out.as_mut().subrows_mut(first, end - first);
            self.add_rows(&queries.slice(first..end), rows, context).map_err(|error| match error {
                // Named among all of them.
                Error::TooLarge { row, precision } => Error::TooLarge { row: row + first, precision },
                other => other,
            })?;
        }
        Ok(out)
    }

    fn add_rows(&self, queries: &Points, out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        let (geometry, n) = (self.basis.geometry(), queries.n_samples());
        let tiles = context.threads.run(|| self.basis.against(queries))?;
        let height = block_size::<T>(n, self.basis.isa);
        let n_blocks = n.div_ceil(height);
        let sums: Vec<Result<Vec<f64>>> = context.threads.run(|| {
            (0..n_blocks)
                .into_par_iter()
                .map_init(
                    || Buffer::<T>::zeroed(height * self.block),
                    |tile, block| {
                        let rows = block * height..((block + 1) * height).min(geometry.padded(n));
                        self.one_block(tiles.as_ref(), rows, geometry, tile, context)
                    },
                )
                .collect()
        });
        let mut out = out;
        for (block, sums) in sums.into_iter().enumerate() {
            let first = block * height;
            let rows = height.min(n - first);
            write_rows(&sums?, self.width, out.as_mut().subrows_mut(first, rows));
        }
        Ok(())
    }

    fn one_block(
        &self,
        tiles: &dyn crate::tile::TileSource<T>,
        rows: std::ops::Range<usize>,
        geometry: Geometry,
        tile: &mut [T],
        context: &Context<'_>,
    ) -> Result<Vec<f64>> {
        let padded = geometry.padded(self.basis.n_columns());
        let mut sums = vec![0.0; rows.len() * self.width];
        for start in (0..padded).step_by(self.block) {
            context.check()?;
            let columns = start..padded.min(start + self.block);
            let shape = (rows.len(), columns.len());
            let tile = &mut tile[..shape.0 * shape.1];
            tiles.fill(rows.clone(), columns.clone(), tile)?;
            let vectors = &self.vectors[columns.start * self.width..columns.end * self.width];
            accumulate(self.basis.isa, Side::Rows, tile, shape, vectors, self.width, &mut sums);
        }
        Ok(sums)
    }
}

/// Copies rows of `width` sums into a block of a matrix.
pub(super) fn write_rows(sums: &[f64], width: usize, mut out: MatMut<'_, f64>) {
    for j in 0..out.ncols() {
        for i in 0..out.nrows() {
            out[(i, j)] = sums[i * width + j];
        }
    }
}
