//! Products of a tile with a block of vectors, added to sums in double precision.
//!
//! # Method
//!
//! Vectors are rows of `width` numbers (one per column of the block), so one register holds neighbouring columns.
//! A register block of up to `BLOCK_PANELS` such registers by a few rows of the result runs over the other side of the tile;
//! single entries of the tile are spread over a register. Both sides of a symmetric tile are served by the same loop:
//! only the steps by which the tile is read differ.
//!
//! Within a tile sums are in the tile's precision, across tiles in double precision.

use std::ops::Range;

use super::Geometry;
use crate::memory::Plain;
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Target};

/// Which side of a tile is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// `sums += tile * vectors`: one row of sums per row of the tile.
    Rows,
    /// `sums += tileᵀ * vectors`: one row of sums per column of the tile.
    Columns,
}

/// Adds the product of a tile of `shape` rows and columns with `vectors` to `sums`; both have `width` columns, a multiple of the lanes.
pub(crate) fn accumulate<T: Scalar + Plain>(
    isa: Isa,
    side: Side,
    tile: &[T],
    shape: (usize, usize),
    vectors: &[T],
    width: usize,
    sums: &mut [f64],
) {
    accumulate_while_fetching(isa, side, tile, shape, vectors, width, sums, &[]);
}

/// The same; bytes that will be wanted next are fetched from memory meanwhile.
#[expect(clippy::too_many_arguments, reason = "those of `accumulate`, and one")]
pub(crate) fn accumulate_while_fetching<T: Scalar + Plain>(
    isa: Isa,
    side: Side,
    tile: &[T],
    shape: (usize, usize),
    vectors: &[T],
    width: usize,
    sums: &mut [f64],
    ahead: &[u8],
) {
    let geometry = Geometry::of::<T>(isa);
    let (n_out, n_in) = match side {
        Side::Rows => shape,
        Side::Columns => (shape.1, shape.0),
    };
    assert_eq!(tile.len(), shape.0 * shape.1);
    assert!(shape.0.is_multiple_of(geometry.unit) && shape.1.is_multiple_of(geometry.unit));
    assert!(width.is_multiple_of(geometry.lanes));
    assert!(vectors.len() >= n_in * width);
    assert!(sums.len() >= n_out * width);
    isa.run(Product { side, tile, shape, vectors, width, sums, ahead });
}

struct Product<'a, T> {
    side: Side,
    tile: &'a [T],
    shape: (usize, usize),
    vectors: &'a [T],
    width: usize,
    sums: &'a mut [f64],
    ahead: &'a [u8],
}

impl<T: Scalar> Job for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(mut self) {
        let lanes = <T::On<G> as Lanes>::COUNT;
        let mut left = self.width / lanes;
        let mut column = 0;
        for strips in (1..=left.div_ceil(<T::On<G> as Lanes>::BLOCK_PANELS)).rev() {
            // As even as can be: a strip of one register reads an entry for every multiplication.
            let wide = left.div_ceil(strips);
            match (<T::On<G> as Lanes>::BLOCK_COLUMNS, wide, lanes) {
                (8, 3, _) => strip::<T::On<G>, 3, 8>(&mut self, column),
                (8, 2, _) => strip::<T::On<G>, 2, 8>(&mut self, column),
                // With one register there is room for the rows of a whole panel.
                (8, _, 16) => strip::<T::On<G>, 1, 16>(&mut self, column),
                (8, ..) => strip::<T::On<G>, 1, 8>(&mut self, column),
                (_, 2, _) => strip::<T::On<G>, 2, 6>(&mut self, column),
                _ => strip::<T::On<G>, 1, 6>(&mut self, column),
            }
            left -= wide;
            column += wide * lanes;
        }
    }
}

/// `WIDE` registers of columns, for all rows of the result, `OUT` rows at a time.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn strip<L: Lanes, const WIDE: usize, const OUT: usize>(job: &mut Product<'_, L::Elem>, column: usize) {
    let lanes = L::COUNT;
    let (n_rows, n_columns) = job.shape;
    let vectors = job.vectors[column..].as_ptr();
    let (tile, width) = (job.tile.as_ptr(), job.width);
    let sums = job.sums[column..].as_mut_ptr();
    // All of them with the first strip, a piece with every run: more at once would have to be waited for.
    let ahead = std::mem::take(&mut job.ahead);
    let n_runs = match job.side {
        Side::Rows => n_rows / OUT * (n_columns / lanes),
        Side::Columns => n_columns / OUT * (n_rows / lanes),
    };
    let mut pieces = ahead.chunks(ahead.len().div_ceil(n_runs.max(1)).next_multiple_of(LINE).max(LINE));
    // SAFETY: `accumulate` has checked the lengths. A run reads the entries `starts[o] + k * step` for its k and o < OUT.
    // Rows: OUT lanes of one or two panels, column by column. Columns: OUT columns of one panel after the other, its
    // lanes in turn. As many rows of the vectors and OUT rows of the sums are in bounds.
    unsafe {
        match job.side {
            Side::Rows => {
                for i in (0..n_rows).step_by(OUT) {
                    let starts: [_; OUT] =
                        std::array::from_fn(|o| tile.add((i + o) / lanes * n_columns * lanes + (i + o) % lanes));
                    let mut block = [[L::constant(0.0); OUT]; WIDE];
                    for first in (0..n_columns).step_by(lanes) {
                        fetch(pieces.next().unwrap_or_default());
                        run(&mut block, &starts, first..first + lanes, lanes, vectors, width);
                    }
                    add(&block, sums.add(i * width), width);
                }
            }
            Side::Columns => {
                for j in (0..n_columns).step_by(OUT) {
                    let mut block = [[L::constant(0.0); OUT]; WIDE];
                    for panel in 0..n_rows / lanes {
                        fetch(pieces.next().unwrap_or_default());
                        let starts: [_; OUT] = std::array::from_fn(|o| tile.add((panel * n_columns + j + o) * lanes));
                        run(&mut block, &starts, 0..lanes, 1, vectors.add(panel * lanes * width), width);
                    }
                    add(&block, sums.add(j * width), width);
                }
            }
        }
    }
}

/// Adds outer products of a few tile entries with a piece of a vector row, one for each of some rows.
///
/// # Safety
///
/// See the caller.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
unsafe fn run<L: Lanes, const WIDE: usize, const OUT: usize>(
    block: &mut [[L; OUT]; WIDE],
    starts: &[*const L::Elem; OUT],
    rows: Range<usize>,
    step: usize,
    vectors: *const L::Elem,
    width: usize,
) {
    for k in rows {
        // SAFETY: the caller's promise.
        unsafe {
            let mut row = [L::constant(0.0); WIDE];
            for (w, register) in row.iter_mut().enumerate() {
                *register = L::load(vectors.add(k * width + w * L::COUNT));
            }
            for o in 0..OUT {
                let entry = L::splat(*starts[o].add(k * step));
                for w in 0..WIDE {
                    block[w][o] = row[w].mul_add(entry, block[w][o]);
                }
            }
        }
    }
}

/// Adds a register block to the sums.
///
/// # Safety
///
/// See the caller.
#[inline(always)]
#[expect(unsafe_code, reason = "raw stores of whole vectors")]
unsafe fn add<L: Lanes, const WIDE: usize, const OUT: usize>(block: &[[L; OUT]; WIDE], sums: *mut f64, width: usize) {
    for (w, registers) in block.iter().enumerate() {
        for (o, register) in registers.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { register.add_to_f64(sums.add(o * width + w * L::COUNT)) };
        }
    }
}

/// Asks for numbers to be brought to the second-level cache, and does not wait.
#[inline(always)]
#[expect(unsafe_code, reason = "a hint to the processor")]
pub(crate) fn fetch<T>(numbers: &[T]) {
    for line in numbers.chunks(LINE / size_of::<T>()) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a hint has no effect on what the program computes, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}

/// Bytes that come from memory together.
const LINE: usize = 64;
