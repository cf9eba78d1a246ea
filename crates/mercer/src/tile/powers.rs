//! Sums of powers over a tile of scalars: what all kernels that are wide for the tile are made of.
//!
//! # Method
//!
//! With `x = (s - middle) / half` in [-1, 1], where `middle` and `half` are those of the range of the tile's scalars,
//! $e^{-\gamma s} = e^{-\gamma\, middle} \sum_m (-\gamma\, half)^m x^m / m!$. For `γ half` up to [`WIDEST`] what follows the
//! twelfth power is below the rounding of single precision, and what follows the twentieth below that of
//! double precision. The sums of two powers cost as much as those of one kernel and its derivative; from there every wide
//! kernel is a combination of a dozen numbers per row and column, and needs neither an exponential nor the tile.
//!
//! # Numerics
//!
//! Powers are at most one. The largest terms of a combination are the first two, and the sum is not less than a third of them: a few
//! roundings are lost.

use super::Part;
use super::sums::{STRIP, sums_of_lanes};
use crate::scalar::{Precision, Scalar};
use crate::simd::Lanes;

/// Powers that are summed up: an even number.
pub(super) const fn count(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 12,
        Precision::F64 => 20,
    }
}

/// Kernels are wide if `gamma` times half the range of the scalars is at most this: `1.2¹² / 12!` is 2e-8, `1.2²⁰ / 20!` 2e-17.
pub(super) const WIDEST: f64 = 1.2;

/// Even powers below this are taken for zero, so that few are subnormal.
const NEGLIGIBLE: f64 = 1e-30;

/// The range of the scalars of a tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) middle: f64,
    pub(super) half: f64,
}

/// Sums of the first powers over the rows and columns of a tile.
#[derive(Clone, Debug)]
pub(super) struct Powers<T> {
    side: usize,
    /// The middle of the scalars' range, and half its length.
    range: Range,
    /// Rows and columns of the tile that belong to points.
    inside: (usize, usize),
    rows: Vec<T>,
    columns: Vec<f64>,
    /// The last power of a few columns.
    strip: Vec<T>,
}

impl<T: Scalar> Powers<T> {
    /// Room for tiles of at most `side` rows and columns.
    pub(super) fn new(side: usize) -> Self {
        let n_sums = count(T::PRECISION) * side;
        let (rows, strip) = (vec![T::default(); n_sums], vec![T::default(); STRIP * side]);
        Self { side, range: Range { middle: 0.0, half: 1.0 }, inside: (0, 0), rows, columns: vec![0.0; n_sums], strip }
    }

    /// Sums up the powers of a tile whose scalars have this range; those of rows outside the data must be its middle.
    #[inline(always)]
    pub(super) fn fill<L: Lanes<Elem = T>>(&mut self, tile: &[T], part: Part, range: Range) {
        let (n_rows, n_columns) = part.inside;
        let n_panels = n_rows.div_ceil(L::COUNT);
        assert!(n_columns <= part.n_columns && n_columns <= self.side && n_panels * L::COUNT <= self.side);
        assert!(n_panels * L::COUNT * part.n_columns <= tile.len());
        (self.range, self.inside) = (range, part.inside);
        self.rows.fill(T::default());
        let whole = n_columns - n_columns % STRIP;
        for column in (0..whole).step_by(STRIP) {
            self.strip::<L, STRIP>(tile, part, n_panels, column);
        }
        for column in whole..n_columns {
            self.strip::<L, 1>(tile, part, n_panels, column);
        }
    }

    #[inline(always)]
    fn strip<L: Lanes<Elem = T>, const COLUMNS: usize>(
        &mut self,
        tile: &[T],
        part: Part,
        n_panels: usize,
        column: usize,
    ) {
        self.two_powers::<L, COLUMNS, true>(tile, part, n_panels, column, 0);
        for pair in 1..count(T::PRECISION) / 2 {
            self.two_powers::<L, COLUMNS, false>(tile, part, n_panels, column, pair);
        }
    }

    /// Sums up powers `2 pair + 1` and `2 pair + 2` of a few columns.
    #[inline(always)]
    #[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
    fn two_powers<L: Lanes<Elem = T>, const COLUMNS: usize, const FIRST: bool>(
        &mut self,
        tile: &[T],
        part: Part,
        n_panels: usize,
        column: usize,
        pair: usize,
    ) {
        let (zero, floor) = (L::constant(0.0), L::constant(-NEGLIGIBLE));
        let (middle, scale) = (L::constant(self.range.middle), L::constant(1.0 / self.range.half));
        let (odd, even) = (2 * pair * self.side, (2 * pair + 1) * self.side);
        let (mut odds, mut evens) = ([zero; COLUMNS], [zero; COLUMNS]);
        let (tile, strip, rows) = (tile.as_ptr(), self.strip.as_mut_ptr(), self.rows.as_mut_ptr());
        for panel in 0..n_panels {
            // SAFETY: `fill` has compared the sizes of the tile and of the sums; the strip has room for COLUMNS vectors of every
            // panel.
            unsafe {
                let (mut row_odd, mut row_even) = (zero, zero);
                for c in 0..COLUMNS {
                    let x = (L::load(tile.add((panel * part.n_columns + column + c) * L::COUNT)) - middle) * scale;
                    let place = strip.add((panel * COLUMNS + c) * L::COUNT);
                    // An odd power has the sign of x; an even one, its product with x, has none.
                    let first = if FIRST { x } else { L::load(place) * x };
                    let second = first.mul_add(x, floor).max(zero);
                    second.store(place);
                    (odds[c], evens[c]) = (odds[c] + first, evens[c] + second);
                    (row_odd, row_even) = (row_odd + first, row_even + second);
                }
                let (at_odd, at_even) = (rows.add(odd + panel * L::COUNT), rows.add(even + panel * L::COUNT));
                (L::load(at_odd) + row_odd).store(at_odd);
                (L::load(at_even) + row_even).store(at_even);
            }
        }
        for (c, (odd_sum, even_sum)) in sums_of_lanes(odds).into_iter().zip(sums_of_lanes(evens)).enumerate() {
            self.columns[odd + column + c] = odd_sum;
            self.columns[even + column + c] = even_sum;
        }
    }

    /// Adds the sums of the Gaussian kernel of inverse width `gamma` over rows and columns, and those of scalar times kernel.
    #[inline(always)]
    pub(super) fn combine<L: Lanes<Elem = T>>(&self, gamma: f64, rows: [&mut [T]; 2], columns: [&mut [f64]; 2]) {
        let Range { middle, half } = self.range;
        let powers = count(T::PRECISION);
        // e^{-γ middle} (-γ half)^m / m!, from the power zero on; and for the product with s = middle + half x.
        let mut of_value = [(-gamma * middle).exp(); count(Precision::F64) + 1];
        for m in 1..=powers {
            of_value[m] = of_value[m - 1] * -gamma * half / m as f64;
        }
        let mut of_scalar = of_value.map(|factor| middle * factor);
        for m in 1..=powers {
            of_scalar[m] += half * of_value[m - 1];
        }
        let (n_rows, n_columns) = self.inside;
        let [of_kernel, of_product] = rows;
        for first in (0..n_rows).step_by(L::COUNT) {
            let (mut kernel, mut product) = (L::constant(0.0), L::constant(0.0));
            for m in (1..=powers).rev() {
                let power = L::read(&self.rows[(m - 1) * self.side + first..]);
                kernel = power.mul_add(L::constant(of_value[m]), kernel);
                product = power.mul_add(L::constant(of_scalar[m]), product);
            }
            let count = n_columns as f64;
            (kernel, product) =
                (kernel + L::constant(count * of_value[0]), product + L::constant(count * of_scalar[0]));
            (L::read(&of_kernel[first..]) + kernel).write(&mut of_kernel[first..]);
            (L::read(&of_product[first..]) + product).write(&mut of_product[first..]);
        }
        let [of_kernel, of_product] = columns;
        of_kernel[..n_columns].iter_mut().for_each(|sum| *sum += n_rows as f64 * of_value[0]);
        of_product[..n_columns].iter_mut().for_each(|sum| *sum += n_rows as f64 * of_scalar[0]);
        for m in (1..=powers).rev() {
            let power = &self.columns[(m - 1) * self.side..][..n_columns];
            for ((kernel, product), power) in of_kernel.iter_mut().zip(of_product.iter_mut()).zip(power) {
                *kernel += of_value[m] * power;
                *product += of_scalar[m] * power;
            }
        }
    }
}
