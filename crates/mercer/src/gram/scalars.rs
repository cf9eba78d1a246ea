//! The scalars of all pairs of points, tile by tile: what every kernel of a family is a function of.

use std::ops::Range;
use std::sync::Arc;

use super::basis::{Packed, pack};
use super::schedule::{Schedule, Tile};
use super::{Element, block_size};
use crate::data::{Moments, Points};
use crate::error::Result;
use crate::kernel::Pairing;
use crate::memory::Buffer;
use crate::scalar::Precision;
use crate::simd::Isa;
use crate::tile::{ByteScalarTiles, Geometry, Packing, ScalarTiles, TileSource};
use crate::watch::{Context, Watch};

/// Points packed for one pairing.
pub(crate) struct PairScalars<T> {
    tiles: Box<dyn TileSource<T>>,
    n: usize,
    block: usize,
    isa: Isa,
    close: Option<Close>,
}

/// What is computed again, as a share of the largest squared distance from the mean: the difference of squares and products has so few digits there that kernels of
/// copies would not be one, and those of a distance are off by the root of that.
const CLOSE: f64 = 1e-8;

/// Squared distances in double precision that are computed from differences of coordinates.
struct Close {
    points: Points,
    scale: f64,
    /// They are those below this.
    limit: f64,
}

impl Close {
    fn of(points: &Points, scale: f64) -> Self {
        let moments = Moments::of(points);
        let from_mean = |row: usize| Pairing::SquaredDistance.of(&points.row(row), moments.mean());
        let farthest = (0..points.n_samples()).map(from_mean).fold(0.0, f64::max);
        Self { points: points.clone(), scale, limit: CLOSE * farthest * scale }
    }

    /// Writes what is close to a tile of some rows and columns, which may go on beyond the last point.
    fn write<T: Element>(&self, tile: &mut [T], geometry: Geometry, rows: &Range<usize>, columns: &Range<usize>) {
        let is_close = |s: &T| s.to_f64() < self.limit;
        if !tile.iter().any(is_close) {
            return;
        }
        let (width, n) = (columns.len(), self.points.n_samples());
        let mut others: Vec<Option<Vec<f64>>> = vec![None; width];
        for row in rows.start..rows.end.min(n) {
            let mut own = None;
            for column in columns.start..columns.end.min(n) {
                let place = geometry.index(row - rows.start, column - columns.start, width);
                if row != column && is_close(&tile[place]) {
                    let own = own.get_or_insert_with(|| self.points.row(row));
                    let other = others[column - columns.start].get_or_insert_with(|| self.points.row(column));
                    tile[place] = T::from_f64(self.scale * Pairing::SquaredDistance.of(own, other));
                }
            }
        }
    }
}

impl<T: Element> PairScalars<T> {
    /// Packs `points`; their scalars come multiplied with `scale`.
    ///
    /// # Errors
    ///
    /// If a point is too large for the precision, or the watch says stop.
    pub(crate) fn new(points: &Points, pairing: Pairing, scale: f64, watch: &Watch<'_>) -> Result<Self> {
        let isa = Isa::detect();
        let packing = Packing::of(pairing, scale, points);
        let tiles: Box<dyn TileSource<T>> = match pack::<T>(points, &packing, isa, watch)? {
            Packed::Floats(panels) => Box::new(ScalarTiles::new(pairing, panels, isa)),
            Packed::Bytes(panels) => {
                T::byte_scalar_tiles(ByteScalarTiles::new(pairing, scale, Arc::clone(&panels), isa))
                    .expect("bytes are packed as bytes only for single precision")
            }
            Packed::Nothing | Packed::Loose => unreachable!("a pairing is always packed"),
        };
        let n = points.n_samples();
        // Single precision is not used where this would be seen.
        let is_repaired = T::PRECISION == Precision::F64 && pairing == Pairing::SquaredDistance;
        let close = is_repaired.then(|| Close::of(points, scale));
        Ok(Self { tiles, n, block: block_size::<T>(n, isa), isa, close })
    }

    /// Blocks of rows.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n.div_ceil(self.block.max(1))
    }

    /// Rows of the largest tile.
    pub(crate) fn block(&self) -> usize {
        self.block
    }

    /// The instruction set that tiles are laid out for.
    pub(crate) fn isa(&self) -> Isa {
        self.isa
    }

    /// The rows of a block that belong to points.
    pub(crate) fn rows(&self, block: usize) -> Range<usize> {
        block * self.block..((block + 1) * self.block).min(self.n)
    }

    /// Visits every tile on and below the diagonal once: `visit(worker, rows, columns, tile, width)`, with the two blocks, the tile,
    /// which may be overwritten, and the number of its columns in memory.
    ///
    /// As with [`Schedule::visit`], no two threads are at the same block, and each block sees its tiles in a fixed order.
    pub(crate) fn visit<W: Send>(
        &self,
        context: &Context<'_>,
        new_worker: impl Fn() -> W + Sync,
        visit: impl Fn(&mut W, usize, usize, &mut [T], usize) + Sync,
    ) -> Result<()> {
        let geometry = Geometry::of::<T>(self.isa);
        let padded = |block: usize| block * self.block..((block + 1) * self.block).min(geometry.padded(self.n));
        // Every entry is used for many kernels, so half as many as there are pairs, times a hundred, is the least it takes.
        let multiply_adds = 50.0 * (self.n as f64).powi(2);
        Schedule::new(self.n_blocks()).visit(
            context,
            multiply_adds,
            || (new_worker(), Buffer::<T>::zeroed(self.block * self.block)),
            |(worker, scratch), Tile { rows, columns, .. }| {
                let (i, j) = (padded(rows), padded(columns));
                let width = j.len();
                let tile = &mut scratch[..i.len() * width];
                self.tiles.fill(i.clone(), j.clone(), tile)?;
                if let Some(close) = &self.close {
                    close.write(tile, geometry, &i, &j);
                }
                visit(worker, rows, columns, tile, width);
                Ok(())
            },
        )
    }
}
