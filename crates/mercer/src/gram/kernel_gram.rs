//! The Gram matrix of points under a kernel, as tiles that are recomputed or kept.
//!
//! # Method
//!
//! Every product visits each tile on and below the diagonal once. A tile that is not in the store is computed; while it
//! is in the cache it is multiplied from both sides, for its own place and for its mirror image above the diagonal. Tiles for
//! which the store has room are kept at the first visit, so filling the store costs no pass of its own.
//!
//! **Cost** of a product with `b` vectors: `n² d / 2` multiply-adds and `n² / 2` kernel values for what is not stored, and
//! `n² b` multiply-adds. **Memory**: the packed points, `12 n b` bytes, one tile per thread, and the store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use super::schedule::{Schedule, Tile};
use super::slab::write_rows;
use super::store::TileStore;
use super::{Basis, Element, EntryAccess, PackedCopy, Store, StoreFormat, SymmetricOperator, check_shapes};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::tile::{Side, TileSource, accumulate_while_fetching};
use crate::watch::{Context, Watch};

/// The matrix `K` with `K[i, j] = kernel(point i, point j)`, in tiles of precision `T`.
///
/// ```
/// use faer::Mat;
/// use mercer::gram::{KernelGram, SymmetricOperator};
/// use mercer::simd::Isa;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let ones = Mat::full(2, 1, 1.0);
/// let mut sums = Mat::zeros(2, 1);
/// gram.apply(ones.as_ref(), sums.as_mut(), &context)?;
/// assert_eq!((sums[(0, 0)], sums[(1, 0)]), (0.0, 25.0));
/// // Without a store nothing is kept: another product would compute all four entries again.
/// assert_eq!((gram.entries_computed(), gram.stored_share()), (4, 0.0));
///
/// // Every instruction set of the machine gives this matrix.
/// for isa in Isa::available() {
///     let gram = KernelGram::<f64>::on(isa, &points, &Kernel::linear(), None)?;
///     assert_eq!(gram.compute_tiles(&context)?, 4);
///     assert_eq!(gram.to_dense(&context)?, faer::mat![[0.0, 0.0], [0.0, 25.0]]);
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct KernelGram<T> {
    basis: Basis<T>,
    tiles: Box<dyn TileSource<T>>,
    store: Option<TileStore<T>>,
    n: usize,
    block: usize,
    entries_computed: AtomicU64,
}

/// Rows and columns of a tile: a tile of either precision and the blocks of vectors it meets fit the second-level cache, and
/// the tile is large enough that packing and summing up are lost in it.
const fn target_block(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 240,
        Precision::F64 => 168,
    }
}

/// Small problems are cut into at least this many blocks, so that several threads have work.
const MIN_BLOCKS: usize = 8;

/// Numbers that one thread copies while another would wake up.
const ALONE_UP_TO: usize = 1 << 16;

/// Rows of a tile for `n` points. It depends on nothing else: the same problem gives the same bits on every number of threads.
///
/// ```
/// use mercer::gram::block_size;
/// use mercer::simd::Isa;
///
/// // Doubles take twice the room, so their tiles are smaller; no tile is larger than a small problem.
/// let isa = Isa::detect();
/// assert!(block_size::<f64>(60_000, isa) < block_size::<f32>(60_000, isa));
/// assert!(block_size::<f32>(100, isa) <= 100);
/// ```
pub fn block_size<T: Element>(n: usize, isa: Isa) -> usize {
    let unit = crate::tile::Geometry::of::<T>(isa).unit;
    n.div_ceil(MIN_BLOCKS).min(target_block(T::PRECISION)).next_multiple_of(unit)
}

impl<T: Element> KernelGram<T> {
    /// The Gram matrix of `points`, keeping tiles as far as `store` allows.
    ///
    /// # Errors
    ///
    /// As [`on`](Self::on).
    pub fn new(points: &Points, kernel: &Kernel, store: Option<Store>) -> Result<Self> {
        Self::on(Isa::detect(), points, kernel, store)
    }

    /// As [`new`](Self::new), on a given instruction set.
    ///
    /// # Errors
    ///
    /// If a point is too large for the precision, a precomputed matrix is not square, or tiles of a kernel whose values are not
    /// between 0 and 1 are to be kept in fixed point.
    pub fn on(isa: Isa, points: &Points, kernel: &Kernel, store: Option<Store>) -> Result<Self> {
        Self::made(isa, PackedCopy::Kept, points, kernel, store, &Watch::new())
    }

    /// As [`new`](Self::new), with or without a packed copy of the points.
    ///
    /// # Errors
    ///
    /// As [`on`](Self::on).
    pub fn with_copy(copy: PackedCopy, points: &Points, kernel: &Kernel, store: Option<Store>) -> Result<Self> {
        Self::made(Isa::detect(), copy, points, kernel, store, &Watch::new())
    }

    /// As [`with_copy`](Self::with_copy), on the threads of a run that may be stopped.
    pub(crate) fn watched(
        copy: PackedCopy,
        points: &Points,
        kernel: &Kernel,
        store: Option<Store>,
        context: &Context<'_>,
    ) -> Result<Self> {
        context.threads.run(|| Self::made(Isa::detect(), copy, points, kernel, store, context.watch))
    }

    fn made(
        isa: Isa,
        copy: PackedCopy,
        points: &Points,
        kernel: &Kernel,
        store: Option<Store>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let n = points.n_samples();
        if matches!(kernel, Kernel::Precomputed) && points.n_features() != n {
            return Err(Error::NotSquare { rows: n, columns: points.n_features() });
        }
        if store.is_some_and(|store| store.format == StoreFormat::Fixed16) && !kernel.has_unit_range() {
            return Err(Error::UnsuitableKernel {
                what: "keeping tiles in fixed point",
                kernel: kernel.name().to_owned(),
                reason: "its values are not between 0 and 1",
            });
        }
        let block = block_size::<T>(n, isa);
        let basis = Basis::with_copy(copy, points, kernel, isa, watch)?;
        let tiles = basis.square();
        let n_tiles = Schedule::new(n.div_ceil(block.max(1))).len();
        let store = store.map(|store| TileStore::new(store, block * block, n_tiles, isa));
        Ok(Self { basis, tiles, store, n, block, entries_computed: AtomicU64::new(0) })
    }

    /// Kernel entries computed so far (not those read back from the store).
    pub fn entries_computed(&self) -> u64 {
        self.entries_computed.load(Ordering::Relaxed)
    }

    /// The share of the tiles that the store has room for.
    pub fn stored_share(&self) -> f64 {
        let n_tiles = Schedule::new(self.n_blocks()).len();
        self.store.as_ref().map_or(0.0, |store| store.capacity() as f64 / n_tiles.max(1) as f64)
    }

    /// Computes every tile on and below the diagonal once, filling the store as far as it reaches, and returns the number of
    /// entries it took.
    ///
    /// A product does this on the way; on its own it is what making the matrix costs, and it moves that cost out of the first
    /// product.
    ///
    /// # Errors
    ///
    /// If the run was stopped, or a custom kernel failed.
    pub fn compute_tiles(&self, context: &Context<'_>) -> Result<u64> {
        let before = self.entries_computed();
        Schedule::new(self.n_blocks()).visit(
            context,
            self.multiply_adds(0),
            || Buffer::<T>::zeroed(self.block * self.block),
            |scratch, Tile { place, rows, columns, .. }| {
                let len = self.block_rows(rows).len() * self.block_rows(columns).len();
                self.with_tile(place, rows, columns, &mut scratch[..len], |_| {})
            },
        )?;
        Ok(self.entries_computed() - before)
    }

    /// The packed points.
    pub(crate) fn basis(&self) -> &Basis<T> {
        &self.basis
    }

    /// Rows and columns of a tile.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The sum of `measure` over all tiles, those off the diagonal counted twice; `measure` is given the first row and column of
    /// a tile, its shape, and its entries.
    ///
    /// The order of the sum does not depend on the number of threads.
    pub(crate) fn sum_over_tiles(
        &self,
        context: &Context<'_>,
        measure: impl Fn((usize, usize), (usize, usize), &[T]) -> f64 + Sync,
    ) -> Result<f64> {
        let schedule = Schedule::new(self.n_blocks());
        let sums: Vec<AtomicU64> = (0..schedule.len()).map(|_| AtomicU64::new(0)).collect();
        schedule.visit(
            context,
            self.multiply_adds(1),
            || Buffer::<T>::zeroed(self.block * self.block),
            |scratch, Tile { place, rows, columns, .. }| {
                let (i, j) = (self.block_rows(rows), self.block_rows(columns));
                let weight = if rows == columns { 1.0 } else { 2.0 };
                self.with_tile(place, rows, columns, &mut scratch[..i.len() * j.len()], |tile| {
                    let sum = weight * measure((i.start, j.start), (i.len(), j.len()), tile);
                    sums[place].store(sum.to_bits(), Ordering::Relaxed);
                })
            },
        )?;
        Ok(sums.into_iter().map(|bits| f64::from_bits(bits.into_inner())).sum())
    }

    /// What a visit to every tile takes, about, if each is multiplied with `width` vectors from both sides: to decide how many
    /// threads it is worth.
    fn multiply_adds(&self, width: usize) -> f64 {
        let per_entry = match self.basis.kernel.pairing() {
            // Tiles that will be read back: those in the store, once a first visit has filled it.
            Some(_) if self.entries_computed() > 0 && self.stored_share() >= 1.0 => 1,
            // An exponential takes as long as a product of sixteen coordinates.
            Some(_) => self.basis.points.n_features() + 16,
            None if matches!(self.basis.kernel, Kernel::Precomputed) => 1,
            // A function that somebody else wrote may take any time.
            None => return f64::INFINITY,
        };
        0.5 * (self.n as f64).powi(2) * (per_entry + 2 * width) as f64
    }

    fn n_blocks(&self) -> usize {
        self.n.div_ceil(self.block.max(1))
    }

    /// Padded rows of a block.
    fn block_rows(&self, block: usize) -> std::ops::Range<usize> {
        let start = block * self.block;
        let end = (start + self.block).min(self.basis.geometry().padded(self.n));
        start..end
    }

    /// Calls `with` on a tile, from the store or computed into `scratch`.
    fn with_tile(
        &self,
        place: usize,
        rows: usize,
        columns: usize,
        scratch: &mut [T],
        with: impl FnOnce(&[T]),
    ) -> Result<()> {
        match &self.store {
            Some(store) if store.holds(place) => store.with_tile(place, scratch, with),
            store => {
                self.tiles.fill(self.block_rows(rows), self.block_rows(columns), scratch)?;
                self.entries_computed.fetch_add(self.entries_of(rows, columns), Ordering::Relaxed);
                if let Some(store) = store {
                    store.put(place, scratch);
                }
                with(scratch);
            }
        }
        Ok(())
    }

    /// Entries of a tile that lie within the matrix.
    fn entries_of(&self, rows: usize, columns: usize) -> u64 {
        let inside = |block: usize| (self.n - block * self.block).min(self.block) as u64;
        inside(rows) * inside(columns)
    }

    /// The vectors row by row, in the tiles' precision, padded with zeros to `width` columns and whole blocks.
    fn pack_vectors(&self, x: MatRef<'_, f64>, width: usize) -> Buffer<T> {
        let mut vectors = Buffer::zeroed(self.basis.geometry().padded(self.n) * width);
        let chunk = self.block * width;
        // Few numbers are copied before another thread is awake.
        vectors.par_chunks_mut(chunk).enumerate().with_min_len(ALONE_UP_TO / chunk + 1).for_each(|(block, rows)| {
            for (offset, row) in rows.chunks_exact_mut(width).enumerate() {
                let i = block * self.block + offset;
                if i < x.nrows() {
                    for (j, value) in row.iter_mut().take(x.ncols()).enumerate() {
                        *value = T::from_f64(x[(i, j)]);
                    }
                }
            }
        });
        vectors
    }
}

impl<T: Element> SymmetricOperator for KernelGram<T> {
    fn dim(&self) -> usize {
        self.n
    }

    fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        check_shapes(self.n, x, &out);
        if self.n == 0 || x.ncols() == 0 {
            return Ok(());
        }
        let (isa, geometry) = (self.basis.isa, self.basis.geometry());
        let width = x.ncols().next_multiple_of(geometry.lanes);
        let vectors = context.threads.run(|| self.pack_vectors(x, width));
        let of_block = |block: usize| {
            let rows = self.block_rows(block);
            &vectors[rows.start * width..rows.end * width]
        };
        // The schedule never lets two threads at the same block, so these locks are never waited for.
        let sums: Vec<Mutex<Vec<f64>>> =
            (0..self.n_blocks()).map(|block| Mutex::new(vec![0.0; self.block_rows(block).len() * width])).collect();
        let lock = |block: usize| sums[block].lock().expect("no thread panics while it holds a block");

        let ahead = |next: usize| self.store.as_ref().map_or(&[][..], |store| store.bytes(next));

        Schedule::new(self.n_blocks()).visit(
            context,
            self.multiply_adds(width),
            || Buffer::<T>::zeroed(self.block * self.block),
            |scratch, Tile { place, rows, columns, next }| {
                let shape = (self.block_rows(rows).len(), self.block_rows(columns).len());
                self.with_tile(place, rows, columns, &mut scratch[..shape.0 * shape.1], |tile| {
                    let ahead = ahead(next);
                    let (first, second) = ahead.split_at(if rows == columns { ahead.len() } else { ahead.len() / 2 });
                    let multiply = |side, vectors, sums: &mut [f64], ahead| {
                        accumulate_while_fetching(isa, side, tile, shape, vectors, width, sums, ahead);
                    };
                    multiply(Side::Rows, of_block(columns), &mut lock(rows), first);
                    if rows != columns {
                        multiply(Side::Columns, of_block(rows), &mut lock(columns), second);
                    }
                })
            },
        )?;

        for (block, sums) in sums.into_iter().enumerate() {
            let sums = sums.into_inner().expect("no thread panicked");
            let first = block * self.block;
            let rows = self.block.min(self.n - first);
            write_rows(&sums, width, out.as_mut().subrows_mut(first, rows));
        }
        Ok(())
    }
}

impl<T: Element> EntryAccess for KernelGram<T> {
    fn dim(&self) -> usize {
        self.n
    }

    fn diagonal(&self) -> Result<Vec<f64>> {
        self.basis.diagonal()
    }

    fn rows(&self, rows: &[usize], mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        assert_eq!((out.nrows(), out.ncols()), (rows.len(), self.n), "one line of the result per row asked for");
        let geometry = self.basis.geometry();
        let tiles = context.threads.run(|| self.basis.against(&self.basis.points.select(rows)))?;
        let height = geometry.padded(rows.len());
        let n_blocks = self.n_blocks();
        let computed: Vec<Result<Buffer<T>>> = context.threads.run(|| {
            (0..n_blocks)
                .into_par_iter()
                .map(|block| {
                    context.check()?;
                    let columns = self.block_rows(block);
                    let mut tile = Buffer::zeroed(height * columns.len());
                    tiles.fill(0..height, columns, &mut tile)?;
                    Ok(tile)
                })
                .collect()
        });
        for (block, tile) in computed.into_iter().enumerate() {
            let (tile, columns) = (tile?, self.block_rows(block));
            for j in columns.start..columns.end.min(self.n) {
                for i in 0..rows.len() {
                    out[(i, j)] = tile[geometry.index(i, j - columns.start, columns.len())].to_f64();
                }
            }
        }
        self.entries_computed.fetch_add((rows.len() * self.n) as u64, Ordering::Relaxed);
        // Off the symmetric path a point's distance to itself is rounded; on it, and by definition, it is exact.
        if self.basis.kernel.pairing().is_some_and(crate::kernel::Pairing::is_translation_invariant) {
            let exact = self.basis.kernel.value(0.0);
            rows.iter().enumerate().for_each(|(i, &row)| out[(i, row)] = exact);
        }
        Ok(())
    }
}
