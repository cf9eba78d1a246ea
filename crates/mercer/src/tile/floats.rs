//! Tiles of points in floating point.
//!
//! # Method
//!
//! A register block of a few panels by a few columns accumulates inner products (or absolute differences) over all
//! features. The kernel function is applied to the sums in their registers where there are registers enough for both, and otherwise strip by
//! strip, while the strip of columns just stored is in the first-level cache. The columns' panels stay there too while all rows go by.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::{Packing, Panels, TileSource, for_each_panel};
use crate::data::Points;
use crate::error::Result;
use crate::kernel::{Formula, Kernel, Pairing, with_formula, with_raw};
use crate::memory::Plain;
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Several, Target};
use crate::watch::Watch;

/// Tiles of the kernel between two sets of packed points, which may be the same.
pub(crate) struct FloatTiles<T> {
    kernel: Kernel,
    rows: Arc<Panels<T>>,
    columns: Arc<Panels<T>>,
    isa: Isa,
}

impl<T: Scalar + Plain> FloatTiles<T> {
    /// The kernel between `rows` and `columns`, both packed for `isa`.
    pub(crate) fn new(kernel: Kernel, rows: Arc<Panels<T>>, columns: Arc<Panels<T>>, isa: Isa) -> Self {
        Self { kernel, rows, columns, isa }
    }
}

impl<T: Scalar + Plain> TileSource<T> for FloatTiles<T> {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let is_diagonal = Arc::ptr_eq(&self.rows, &self.columns) && rows == columns;
        let blocks = (self.rows.block(rows), self.columns.block(columns));
        with_formula!(&self.kernel, formula => {
            fill_between(blocks, self.isa, *formula, is_diagonal, out);
        }, else unreachable!("only kernels with a formula are packed"));
        Ok(())
    }
}

/// Tiles of points that are packed when a tile needs them and forgotten afterwards: slower than [`FloatTiles`], for want of memory
/// for a packed copy. The entries are the same bits.
pub(crate) struct LooseTiles<T> {
    kernel: Kernel,
    rows: Points,
    columns: Points,
    /// Whether rows and columns are the same points.
    is_square: bool,
    packing: Packing,
    isa: Isa,
    /// Panels that no thread is using.
    spare: Mutex<Vec<Panels<T>>>,
}

impl<T: Scalar + Plain> LooseTiles<T> {
    /// The kernel between points and themselves, which [`Panels::check`] has found good.
    pub(crate) fn square(kernel: Kernel, points: &Points, packing: &Packing, isa: Isa) -> Self {
        Self::of(kernel, points, points, true, packing, isa)
    }

    /// The kernel between `rows` and `columns`, of which the columns were found good before.
    ///
    /// # Errors
    ///
    /// If a row is too large for the precision.
    pub(crate) fn between(
        kernel: Kernel,
        rows: &Points,
        columns: &Points,
        packing: &Packing,
        isa: Isa,
    ) -> Result<Self> {
        Panels::<T>::check(rows, packing, isa, &Watch::new())?;
        Ok(Self::of(kernel, rows, columns, false, packing, isa))
    }

    fn of(kernel: Kernel, rows: &Points, columns: &Points, is_square: bool, packing: &Packing, isa: Isa) -> Self {
        let (rows, columns, packing) = (rows.clone(), columns.clone(), packing.clone());
        Self { kernel, rows, columns, is_square, packing, isa, spare: Mutex::new(Vec::new()) }
    }

    /// Panels with some rows of the points in them.
    fn packed(&self, points: &Points, rows: &Range<usize>) -> Panels<T> {
        let spare = self.spare.lock().expect("no thread panics while it holds the list").pop();
        let mut panels = match spare {
            Some(panels) if panels.terms.len() >= rows.len() => panels,
            _ => Panels::room(rows.len(), self.packing.n_packed(points.n_features()), self.isa),
        };
        panels.repack(points, rows.start, rows.len(), &self.packing, self.isa);
        panels
    }
}

impl<T: Scalar + Plain> TileSource<T> for LooseTiles<T> {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let a = self.packed(&self.rows, &rows);
        let b = (!self.is_square || rows != columns).then(|| self.packed(&self.columns, &columns));
        let (n, n_columns) = (rows.len(), columns.len());
        let blocks = (a.block(0..n), b.as_ref().unwrap_or(&a).block(0..n_columns));
        with_formula!(&self.kernel, formula => {
            fill_between(blocks, self.isa, *formula, b.is_none(), out);
        }, else unreachable!("only kernels with a formula are packed"));
        self.spare.lock().expect("no thread panics while it holds the list").extend([a].into_iter().chain(b));
        Ok(())
    }
}

/// Tiles of the scalars that a kernel would be a function of, between packed points and themselves.
pub(crate) struct ScalarTiles<T> {
    pairing: Pairing,
    points: Arc<Panels<T>>,
    isa: Isa,
}

impl<T: Scalar + Plain> ScalarTiles<T> {
    /// The scalars of `points`, packed for `isa` with the scale that they come multiplied with.
    pub(crate) fn new(pairing: Pairing, points: Arc<Panels<T>>, isa: Isa) -> Self {
        Self { pairing, points, isa }
    }
}

impl<T: Scalar + Plain> TileSource<T> for ScalarTiles<T> {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let is_diagonal = rows == columns;
        let blocks = (self.points.block(rows), self.points.block(columns));
        with_raw!(self.pairing, 1.0, formula => {
            fill_between(blocks, self.isa, formula, is_diagonal, out);
        });
        Ok(())
    }
}

/// The kernel between two blocks of panels.
fn fill_between<T: Scalar + Plain, F: Formula>(
    (rows, columns): (Block<'_, T>, Block<'_, T>),
    isa: Isa,
    formula: F,
    is_diagonal: bool,
    out: &mut [T],
) {
    let (n, n_columns) = (rows.terms.len(), columns.terms.len());
    isa.run(Fill { rows, columns, formula, out: &mut *out });
    if is_diagonal {
        // A point's distance to itself is zero, whatever rounding made of |x|² + |x|² - 2 x·x.
        set_diagonal(formula, super::Geometry::of::<T>(isa), n, n_columns, out);
    }
}

fn set_diagonal<T: Scalar, F: Formula>(
    formula: F,
    geometry: super::Geometry,
    n: usize,
    n_columns: usize,
    out: &mut [T],
) {
    if F::PAIRING.is_translation_invariant() {
        let value = T::from_f64(formula.value(0.0_f64));
        for i in 0..n {
            out[geometry.index(i, i, n_columns)] = value;
        }
    }
}

/// Consecutive panels.
struct Block<'a, T> {
    values: &'a [T],
    terms: &'a [T],
    n_features: usize,
}

impl<T: Scalar + Plain> Panels<T> {
    fn block(&self, rows: Range<usize>) -> Block<'_, T> {
        let d = self.n_features;
        Block { values: &self.values[rows.start * d..rows.end * d], terms: &self.terms[rows], n_features: d }
    }
}

/// Fills a tile on some instruction set.
struct Fill<'a, T, F> {
    rows: Block<'a, T>,
    columns: Block<'a, T>,
    formula: F,
    out: &'a mut [T],
}

impl<T: Scalar, F: Formula> Job for Fill<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        match (<T::On<G> as Lanes>::BLOCK_PANELS, <T::On<G> as Lanes>::BLOCK_COLUMNS) {
            (3, 8) => fill::<T::On<G>, F, 3, 8>(self),
            (2, 6) => fill::<T::On<G>, F, 2, 6>(self),
            shape => unreachable!("no register block of shape {shape:?}"),
        }
    }
}

#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn fill<L: Lanes, F: Formula, const PANELS: usize, const COLUMNS: usize>(job: Fill<'_, L::Elem, F>) {
    let Fill { rows, columns, formula, out } = job;
    let (n_rows, n_columns, d) = (rows.terms.len(), columns.terms.len(), rows.n_features);
    assert_eq!(d, columns.n_features, "rows and columns of a tile have the same features");
    assert_eq!(rows.values.len(), n_rows * d);
    assert_eq!(columns.values.len(), n_columns * d);
    assert_eq!(out.len(), n_rows * n_columns);
    assert!(n_rows.is_multiple_of(PANELS * L::COUNT) && n_columns.is_multiple_of(COLUMNS));

    for j in (0..n_columns).step_by(COLUMNS) {
        // Where each column starts: its lane of its panel.
        let y: [_; COLUMNS] = std::array::from_fn(|c| {
            let column = j + c;
            columns.values[column / L::COUNT * L::COUNT * d + column % L::COUNT..].as_ptr()
        });
        for i in (0..n_rows).step_by(PANELS * L::COUNT) {
            let x = rows.values[i * d..].as_ptr();
            // SAFETY: `x` starts PANELS panels and each of `y` lies in one, each of d * COUNT numbers, by the assertions above;
            // j + c < n_columns and i + (m + 1) * COUNT <= n_rows, so terms and tile are in bounds.
            unsafe {
                let mut starts = [L::constant(0.0); COLUMNS];
                for (c, start) in starts.iter_mut().enumerate() {
                    *start = L::splat(*columns.terms.get_unchecked(j + c));
                }
                let sums = accumulate_block::<L, F, PANELS, COLUMNS>(x, &y, d, rows.terms.as_ptr().add(i), &starts);
                let target = out.as_mut_ptr().add(i * n_columns + j * L::COUNT);
                for_each_panel::<PANELS>(
                    #[inline(always)]
                    |m| {
                        let mut panel = Several(sums[m]);
                        if L::HAS_ROOM_FOR_FORMULA {
                            panel = entry(&formula, panel);
                        }
                        panel.store(target.add(m * L::COUNT * n_columns));
                    },
                );
            }
        }
        if L::HAS_ROOM_FOR_FORMULA {
            continue;
        }
        // The kernel function goes over the strip just stored, which is in the first-level cache. Applied to the registers
        // above it would have to share them with the sums, and the compiler spills both.
        for i in (0..n_rows).step_by(L::COUNT) {
            let strip = &mut out[i * n_columns + j * L::COUNT..][..COLUMNS * L::COUNT];
            for entries in strip.chunks_exact_mut(L::COUNT) {
                // SAFETY: a chunk is one vector.
                unsafe { entry(&formula, L::load(entries.as_ptr())).store(entries.as_mut_ptr()) };
            }
        }
    }
}

/// Sums over the features, for a few panels of rows and a few columns.
///
/// # Safety
///
/// `x` must start `PANELS` panels of `d` features, each of `y` must point to a lane in the first feature of such a panel, and
/// `row_starts` to one number per row.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
unsafe fn accumulate_block<L: Lanes, F: Formula, const PANELS: usize, const COLUMNS: usize>(
    x: *const L::Elem,
    y: &[*const L::Elem; COLUMNS],
    d: usize,
    row_starts: *const L::Elem,
    column_starts: &[L; COLUMNS],
) -> [[L; COLUMNS]; PANELS] {
    let panel = d * L::COUNT;
    let mut sums = [[L::constant(0.0); COLUMNS]; PANELS];
    if F::PAIRING == Pairing::SquaredDistance {
        for (m, sums) in sums.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            let row = unsafe { L::load(row_starts.add(m * L::COUNT)) };
            for (sum, &column) in sums.iter_mut().zip(column_starts) {
                *sum = row + column;
            }
        }
    }
    for k in 0..d {
        let at = k * L::COUNT;
        // SAFETY: k < d, so every access is inside its panel.
        unsafe {
            let mut rows = [L::constant(0.0); PANELS];
            for (m, row) in rows.iter_mut().enumerate() {
                *row = L::load(x.add(m * panel + at));
            }
            for c in 0..COLUMNS {
                let column = L::splat(*y[c].add(at));
                for m in 0..PANELS {
                    sums[m][c] = match F::PAIRING {
                        Pairing::ManhattanDistance => sums[m][c] + (rows[m] - column).abs(),
                        _ => rows[m].mul_add(column, sums[m][c]),
                    };
                }
            }
        }
    }
    sums
}

/// The kernel of a pair from what was summed over the features.
#[inline(always)]
fn entry<L: Lanes, F: Formula>(formula: &F, sum: L) -> L {
    match F::PAIRING {
        // The sum is minus the squared distance; rounding must not make it positive.
        Pairing::SquaredDistance => formula.shape_of_negative(sum.min(L::constant(0.0))),
        Pairing::InnerProduct | Pairing::ManhattanDistance | Pairing::Cosine => formula.shape(sum),
    }
}
