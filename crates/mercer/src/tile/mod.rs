//! The tile engine: blocks of a kernel matrix, and their products with blocks of vectors.
//!
//! Points are packed once into panels of as many rows as a vector has lanes ([`panels`]). A tile is the kernel of
//! every pair of a block of rows and a block of columns; the kernel function is applied while the inner products are in registers
//! or in the first-level cache ([`floats`], [`bytes`] for 8-bit data). A tile is then multiplied with vectors
//! ([`product`]) while it is in the cache.
//!
//! # Layout of a tile
//!
//! Panels of `lanes` rows one after the other; within a panel column by column, `lanes` numbers each:
//! entry `(i, j)` of a tile with `n` columns is at `(i / lanes) * n * lanes + j * lanes + i % lanes`.

mod bytes;
mod centering;
mod custom;
pub(crate) mod fixed16;
mod floats;
mod gaussian_sums;
mod lay;
mod matrix;
mod panels;
mod powers;
mod product;
mod rows;
mod sums;

use std::ops::Range;

pub(crate) use bytes::{ByteScalarTiles, ByteTiles};
pub(crate) use centering::subtract_terms;
pub(crate) use custom::CustomTiles;
pub(crate) use floats::{FloatTiles, LooseTiles, ScalarTiles};
pub(crate) use gaussian_sums::{Chain, gaussian_sums};
pub(crate) use lay::{PanelRows, lay_rows};
pub(crate) use matrix::MatrixTiles;
pub(crate) use panels::{BytePanels, Packing, Panels};
use product::fetch;
pub(crate) use product::{Side, accumulate, accumulate_while_fetching};
pub(crate) use rows::{RowPanels, can_be_packed};
pub(crate) use sums::{Part, TileSums, kernel_sums};

use crate::error::Result;
use crate::kernel::Pairing;
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Target};

/// Something that tiles of a kernel matrix can be had from.
///
/// Ranges are in padded rows and columns: multiples of [`Geometry::unit`], the last block reaching past the data.
/// Entries outside the data are finite but otherwise arbitrary.
pub(crate) trait TileSource<T: Scalar>: Send + Sync {
    /// Writes one tile into `out`.
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()>;
}

/// How rows are grouped on an instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Rows of a panel.
    pub(crate) lanes: usize,
    /// All blocks are multiples of this, so that register blocks tile them from either side.
    pub(crate) unit: usize,
}

impl Geometry {
    /// The grouping for numbers of type `T`.
    pub(crate) fn of<T: Scalar>(isa: Isa) -> Self {
        struct Ask<T>(std::marker::PhantomData<T>);
        impl<T: Scalar> Job for Ask<T> {
            type Output = Geometry;
            #[inline(always)]
            fn run<G: Target>(self) -> Geometry {
                Geometry::of_lanes::<T::On<G>>()
            }
        }
        isa.run(Ask::<T>(std::marker::PhantomData))
    }

    const fn of_lanes<L: Lanes>() -> Self {
        let rows = L::COUNT * L::BLOCK_PANELS;
        let mut unit = rows;
        while !unit.is_multiple_of(L::BLOCK_COLUMNS) {
            unit += rows;
        }
        Self { lanes: L::COUNT, unit }
    }

    /// `n` rounded up to whole register blocks.
    pub(crate) fn padded(self, n: usize) -> usize {
        n.next_multiple_of(self.unit)
    }

    /// Where entry `(i, j)` of a tile with `n_columns` columns is.
    #[inline]
    pub(crate) fn index(self, i: usize, j: usize, n_columns: usize) -> usize {
        (i / self.lanes * n_columns + j) * self.lanes + i % self.lanes
    }
}

/// What coordinates are multiplied by before they are packed.
#[inline(always)]
fn factor_of(pairing: Pairing, scale: f64) -> f64 {
    match pairing {
        // -|x - y|² = 2 x·y - |x|² - |y|²: with the 2 in the points, the norms' halves are all that is left to subtract.
        Pairing::SquaredDistance => (2.0 * scale).sqrt(),
        Pairing::ManhattanDistance => scale,
        Pairing::InnerProduct | Pairing::Cosine => scale.sqrt(),
    }
}

/// Whether squared distances and inner products of points are finite in a precision if this is the largest squared norm of one as packed.
#[inline(always)]
fn has_room<T: Scalar>(square: f64) -> bool {
    T::from_f64(4.0 * square).to_f64().is_finite()
}

/// Calls a function for each panel of a register block, written out: a loop whose body is long is not unrolled by the compiler, and then the sums
/// are kept in memory.
#[inline(always)]
fn for_each_panel<const PANELS: usize>(mut f: impl FnMut(usize)) {
    const { assert!(PANELS <= 3, "more panels than are written out") };
    if PANELS > 0 {
        f(0);
    }
    if PANELS > 1 {
        f(1);
    }
    if PANELS > 2 {
        f(2);
    }
}

#[cfg(test)]
mod tests;
