//! Points made ready for a kernel, in one precision.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use faer::traits::RealField;
use rayon::prelude::*;

use crate::data::{Points, RowsRef};
use crate::error::{Error, Result};
use crate::kernel::{Formula, Kernel, Pairing, with_formula};
use crate::memory::Plain;
use crate::scalar::{Precision, Scalar};
use crate::simd::Isa;
use crate::tile::{
    BytePanels, ByteScalarTiles, ByteTiles, CustomTiles, FloatTiles, Geometry, LooseTiles, MatrixTiles, Packing,
    Panels, TileSource,
};
use crate::watch::{Context, Watch};

/// The scalars that tiles are made of. Sealed, and not to be named outside: `f32` and `f64`.
///
/// ```
/// use mercer::gram::{KernelGram, SymmetricOperator};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// assert_eq!(KernelGram::<f32>::new(&points, &Kernel::linear(), None)?.dim(), 3);
/// assert_eq!(KernelGram::<f64>::new(&points, &Kernel::linear(), None)?.dim(), 3);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait Element: Scalar + ElementOnly + RealField {}

#[expect(private_interfaces, private_bounds, reason = "the trait is sealed: nobody outside can name or call this")]
mod only {
    use super::{ByteScalarTiles, ByteTiles, Plain, Scalar, TileSource};

    /// What the crate needs of an element beyond [`Scalar`].
    pub trait ElementOnly: Plain {
        /// Tiles of bytes, which come in single precision.
        fn byte_tiles(tiles: ByteTiles) -> Option<Box<dyn TileSource<Self>>>
        where
            Self: Scalar;
        /// As above, for the scalars themselves.
        fn byte_scalar_tiles(tiles: ByteScalarTiles) -> Option<Box<dyn TileSource<Self>>>
        where
            Self: Scalar;
    }

    impl ElementOnly for f32 {
        fn byte_tiles(tiles: ByteTiles) -> Option<Box<dyn TileSource<Self>>> {
            Some(Box::new(tiles))
        }
        fn byte_scalar_tiles(tiles: ByteScalarTiles) -> Option<Box<dyn TileSource<Self>>> {
            Some(Box::new(tiles))
        }
    }

    impl ElementOnly for f64 {
        fn byte_tiles(_: ByteTiles) -> Option<Box<dyn TileSource<Self>>> {
            None
        }
        fn byte_scalar_tiles(_: ByteScalarTiles) -> Option<Box<dyn TileSource<Self>>> {
            None
        }
    }
}
use only::ElementOnly;

impl Element for f32 {}
impl Element for f64 {}

/// Whether a copy of the points is kept as tiles need them.
///
/// ```
/// use mercer::gram::{KernelGram, PackedCopy, SymmetricOperator};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f32((0..200).map(|i| (i % 17) as f32).collect::<Vec<_>>(), 20, 10)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let matrix = |copy| {
///     let gram = KernelGram::<f32>::with_copy(copy, &points, &Kernel::gaussian(0.01)?, None)?;
///     gram.to_dense(&Context::new(&threads, &watch, Phase::Solving))
/// };
/// // The second takes hardly any memory beyond the points themselves.
/// assert_eq!(matrix(PackedCopy::Kept)?, matrix(PackedCopy::PerTile)?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackedCopy {
    /// A copy is made once and kept: fast, and as large as the points are in the tiles' precision.
    Kept,
    /// Points are packed for each tile anew: slower, and no memory beyond that of a tile. Bytes and custom kernels are treated as with
    /// [`Kept`](Self::Kept), which takes little or nothing for them. Same bits.
    PerTile,
}

/// Points packed for a kernel: what tiles against themselves or against new points are made from.
pub(crate) struct Basis<T> {
    pub(crate) points: Points,
    pub(crate) kernel: Kernel,
    pub(crate) isa: Isa,
    packing: Option<Packing>,
    packed: Packed<T>,
    /// Points that are packed as bytes, for queries that are none.
    floats: OnceLock<Arc<Panels<T>>>,
}

pub(super) enum Packed<T> {
    Floats(Arc<Panels<T>>),
    Bytes(Arc<BytePanels>),
    /// Packed tile by tile.
    Loose,
    /// Custom kernels read the points themselves, and precomputed ones have none.
    Nothing,
}

impl<T: Element> Basis<T> {
    /// Packs `points` for `kernel`.
    pub(crate) fn new(points: &Points, kernel: &Kernel, isa: Isa) -> Result<Self> {
        Self::with_copy(PackedCopy::Kept, points, kernel, isa, &Watch::new())
    }

    /// Packs `points` for `kernel`, all at once or tile by tile, until the watch says stop.
    pub(crate) fn with_copy(
        copy: PackedCopy,
        points: &Points,
        kernel: &Kernel,
        isa: Isa,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let packing = with_formula!(kernel, formula => Some(formula_packing(formula, points)), else None);
        let packed = match (&packing, copy) {
            (None, _) => Packed::Nothing,
            (Some(packing), PackedCopy::PerTile)
                if can_be_loose::<T>(points.tile_bytes().is_some(), points.n_features(), kernel) =>
            {
                Panels::<T>::check(points, packing, isa, watch)?;
                Packed::Loose
            }
            (Some(packing), _) => pack::<T>(points, packing, isa, watch)?,
        };
        Ok(Self { points: points.clone(), kernel: kernel.clone(), isa, packing, packed, floats: OnceLock::new() })
    }

    /// Bytes that packing `n` points of `d` features takes, beyond what a tile takes while it is made.
    pub(crate) fn size_of_shape(
        copy: PackedCopy,
        n: usize,
        d: usize,
        is_bytes: bool,
        kernel: &Kernel,
        isa: Isa,
    ) -> u64 {
        match kernel.pairing() {
            None => 0,
            Some(_) if copy == PackedCopy::PerTile && can_be_loose::<T>(is_bytes, d, kernel) => 0,
            Some(pairing) if uses_bytes::<T>(is_bytes, d, pairing) => BytePanels::size(n, d, isa),
            Some(_) => Panels::<T>::size(n, d, isa),
        }
    }

    /// Points that queries are compared with: columns of a tile.
    pub(crate) fn n_columns(&self) -> usize {
        match self.kernel {
            Kernel::Precomputed => self.points.n_features(),
            _ => self.points.n_samples(),
        }
    }

    /// How rows are grouped.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry::of::<T>(self.isa)
    }

    /// Tiles of the kernel between the points and themselves.
    pub(crate) fn square(&self) -> Box<dyn TileSource<T>> {
        match &self.packed {
            Packed::Floats(panels) => self.float_tiles(panels, panels),
            Packed::Bytes(panels) => self.byte_tiles(panels, panels),
            Packed::Loose => {
                let packing = self.packing.as_ref().expect("points are packed for kernels that have a packing");
                Box::new(LooseTiles::square(self.kernel.clone(), &self.points, packing, self.isa))
            }
            Packed::Nothing => match &self.kernel {
                Kernel::Custom(custom) => {
                    Box::new(CustomTiles::new(Arc::clone(custom), self.points.clone(), self.points.clone(), self.isa))
                }
                _ => Box::new(MatrixTiles::symmetric(self.points.clone(), self.isa)),
            },
        }
    }

    /// Whether the points as they are packed can be compared with such queries: bytes meet bytes of the same scale only.
    pub(crate) fn meets(&self, queries: &Points) -> bool {
        match &self.packed {
            Packed::Bytes(panels) => queries.in_tile_bytes(panels.scale()).is_some(),
            _ => true,
        }
    }

    /// Tiles of the kernel between `queries` (rows) and the points (columns).
    ///
    /// For a precomputed kernel the queries are rows of kernel values.
    pub(crate) fn against(&self, queries: &Points) -> Result<Box<dyn TileSource<T>>> {
        if queries.n_features() != self.points.n_features() {
            let (expected, found) = (self.points.n_features(), queries.n_features());
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        Ok(match (&self.packed, &self.packing) {
            (Packed::Bytes(panels), Some(packing)) => {
                if let Some(queries) = queries.in_tile_bytes(panels.scale()) {
                    let rows = Arc::new(BytePanels::pack(&queries, packing, self.isa));
                    self.byte_tiles(&rows, panels)
                } else {
                    // Queries between the bytes: the basis has to come out to meet them.
                    let rows = Arc::new(Panels::pack(queries, packing, self.isa)?);
                    self.float_tiles(&rows, self.floats(packing)?)
                }
            }
            (Packed::Floats(panels), Some(packing)) => {
                self.float_tiles(&Arc::new(Panels::pack(queries, packing, self.isa)?), panels)
            }
            (Packed::Loose, Some(packing)) => {
                Box::new(LooseTiles::between(self.kernel.clone(), queries, &self.points, packing, self.isa)?)
            }
            _ => match &self.kernel {
                Kernel::Custom(custom) => {
                    Box::new(CustomTiles::new(Arc::clone(custom), queries.clone(), self.points.clone(), self.isa))
                }
                _ => Box::new(MatrixTiles::new(queries.clone(), self.isa)),
            },
        })
    }

    /// Tiles of the kernel between some of the points and all of them, as [`against`](Self::against), and between some and themselves, as
    /// [`among`](Self::among), where both are made of the same packed points.
    #[expect(clippy::type_complexity, reason = "two of the same, of which the second may not be there")]
    pub(crate) fn against_and_among(
        &self,
        some: &Points,
    ) -> Result<(Box<dyn TileSource<T>>, Option<Box<dyn TileSource<T>>>)> {
        if let (Packed::Floats(all), Some(packing)) = (&self.packed, &self.packing) {
            let some = Arc::new(Panels::pack(some, packing, self.isa)?);
            return Ok((self.float_tiles(&some, all), Some(self.float_tiles(&some, &some))));
        }
        if let (Packed::Bytes(all), Some(packing)) = (&self.packed, &self.packing)
            && let Some(some) = some.in_tile_bytes(all.scale())
        {
            let some = Arc::new(BytePanels::pack(&some, packing, self.isa));
            return Ok((self.byte_tiles(&some, all), Some(self.byte_tiles(&some, &some))));
        }
        Ok((self.against(some)?, None))
    }

    /// Tiles of the kernel between some of the points and themselves: the entries that [`against`](Self::against) has in their
    /// columns, to the bit but for the diagonal.
    pub(crate) fn among(&self, some: &Points) -> Result<Box<dyn TileSource<T>>> {
        Ok(match (&self.packed, &self.packing) {
            (Packed::Bytes(panels), Some(packing)) => {
                let some = some.in_tile_bytes(panels.scale()).expect("some of points that are bytes are bytes");
                let panels = Arc::new(BytePanels::pack(&some, packing, self.isa));
                self.byte_tiles(&panels, &panels)
            }
            (_, Some(packing)) => {
                let panels = Arc::new(Panels::pack(some, packing, self.isa)?);
                self.float_tiles(&panels, &panels)
            }
            (_, None) => match &self.kernel {
                Kernel::Custom(custom) => {
                    Box::new(CustomTiles::new(Arc::clone(custom), some.clone(), some.clone(), self.isa))
                }
                _ => unreachable!("a precomputed matrix has its entries in its rows"),
            },
        })
    }

    /// The points in floating point, where they are packed as bytes: packed when they are first needed.
    fn floats(&self, packing: &Packing) -> Result<&Arc<Panels<T>>> {
        if let Some(panels) = self.floats.get() {
            return Ok(panels);
        }
        let panels = Arc::new(Panels::pack(&self.points, packing, self.isa)?);
        Ok(self.floats.get_or_init(|| panels))
    }

    fn float_tiles(&self, rows: &Arc<Panels<T>>, columns: &Arc<Panels<T>>) -> Box<dyn TileSource<T>> {
        Box::new(FloatTiles::new(self.kernel.clone(), Arc::clone(rows), Arc::clone(columns), self.isa))
    }

    fn byte_tiles(&self, rows: &Arc<BytePanels>, columns: &Arc<BytePanels>) -> Box<dyn TileSource<T>> {
        let tiles = ByteTiles::new(self.kernel.clone(), Arc::clone(rows), Arc::clone(columns), self.isa);
        T::byte_tiles(tiles).expect("bytes are packed as bytes only for single precision")
    }

    /// The kernel of every point with itself.
    pub(crate) fn diagonal(&self) -> Result<Vec<f64>> {
        diagonal(&self.kernel, &self.points)
    }
}

/// The kernel of every point with itself; for a precomputed kernel the points are the matrix.
pub(crate) fn diagonal(kernel: &Kernel, points: &Points) -> Result<Vec<f64>> {
    let mut x = vec![0.0; points.n_features()];
    (0..points.n_samples())
        .map(|row| match (kernel, kernel.pairing()) {
            (kernel, Some(Pairing::SquaredDistance | Pairing::ManhattanDistance)) => Ok(kernel.value(0.0)),
            (Kernel::Precomputed, _) => Ok(match points.rows(row..row + 1) {
                RowsRef::F32(values) => f64::from(values[row]),
                RowsRef::F64(values) => values[row],
                RowsRef::U8 { values, scale } => f64::from(values[row]) * scale,
            }),
            (kernel, _) => {
                points.rows(row..row + 1).copy_to_f64(&mut x);
                kernel.evaluate(&x, &x)
            }
        })
        .collect()
}

/// The row whose kernel with itself has the largest modulus, the last of equal ones, and that value. What is no number is larger than all.
pub(crate) fn largest_on_diagonal(kernel: &Kernel, points: &Points) -> Result<Option<(usize, f64)>> {
    Ok(diagonal(kernel, points)?.into_iter().enumerate().max_by(by_modulus))
}

/// Rows whose kernel with themselves a thread computes between two looks at whether to stop.
const DIAGONAL_ROWS: usize = 1024;

/// As [`largest_on_diagonal`], of points that are no matrix, on all threads, until the watch says stop.
pub(crate) fn largest_on_diagonal_watched(
    kernel: &Kernel,
    points: &Points,
    context: &Context<'_>,
) -> Result<Option<(usize, f64)>> {
    let n = points.n_samples();
    let of_block = |block: usize| -> Result<Option<(usize, f64)>> {
        context.check()?;
        let first = block * DIAGONAL_ROWS;
        let largest = largest_on_diagonal(kernel, &points.slice(first..n.min(first + DIAGONAL_ROWS)))?;
        Ok(largest.map(|(row, value)| (first + row, value)))
    };
    let of_blocks: Result<Vec<Option<(usize, f64)>>> =
        context.threads.run(|| (0..n.div_ceil(DIAGONAL_ROWS)).into_par_iter().map(of_block).collect());
    Ok(of_blocks?.into_iter().flatten().max_by(by_modulus))
}

/// The order of rows by the modulus of a value.
fn by_modulus(a: &(usize, f64), b: &(usize, f64)) -> Ordering {
    a.1.abs().total_cmp(&b.1.abs())
}

fn formula_packing<F: Formula>(formula: &F, points: &Points) -> Packing {
    Packing::of(F::PAIRING, formula.scale(), points)
}

fn uses_bytes<T: Scalar>(is_bytes: bool, n_features: usize, pairing: Pairing) -> bool {
    is_bytes && T::PRECISION == Precision::F32 && ByteTiles::suits(pairing, n_features)
}

/// Whether points can be packed tile by tile. Bytes are packed at once: that takes no more than they do, a quarter of what
/// floating-point numbers take.
fn can_be_loose<T: Scalar>(is_bytes: bool, n_features: usize, kernel: &Kernel) -> bool {
    kernel.pairing().is_some_and(|pairing| !uses_bytes::<T>(is_bytes, n_features, pairing))
}

/// Packs points as bytes or as numbers, until the watch says stop.
pub(super) fn pack<T: Element>(points: &Points, packing: &Packing, isa: Isa, watch: &Watch<'_>) -> Result<Packed<T>> {
    let scale = points.tile_bytes();
    Ok(if let Some(scale) = scale.filter(|_| uses_bytes::<T>(true, points.n_features(), packing.pairing)) {
        // The largest scaled scalar of any pair; twice it must be finite for the kernel function's own arithmetic.
        let largest = 2.0 * scale * scale * packing.scale * 255.0 * 255.0 * points.n_features() as f64;
        if !T::from_f64(largest).to_f64().is_finite() {
            return Err(Error::TooLarge { row: 0, precision: T::PRECISION });
        }
        Packed::Bytes(Arc::new(BytePanels::pack_watched(points, packing, isa, watch)?))
    } else {
        Packed::Floats(Arc::new(Panels::pack_watched(points, packing, isa, watch)?))
    })
}
