//! Sums of powers over a tile of scalars: what all kernels that are wide for the tile are made of.
//!
//! # Method
//!
//! With `x = (s - middle) / half` in [-1, 1], where `middle` and `half` are those of the range of the tile's scalars,
//! $e^{-\gamma s} = e^{-\gamma\, middle} \sum_m (-\gamma\, half)^m x^m / m!$. For `γ half` up to [`WIDEST`] what follows the
//! sixteenth power is below the rounding of single precision, and what follows the twenty-sixth below that of
//! double precision. The sums of two powers cost as much as those of one kernel and its derivative; from there every wide
//! kernel is a combination of so many numbers per row and column, and needs neither an exponential nor the tile.
//!
//! # Numerics
//!
//! Powers are at most one. The largest terms of a combination are the second and the third, and the sum is not less than a
//! thirtieth of them even where all scalars are as large as the largest: at most so many roundings are lost.

use super::Part;
use super::sums::{STRIP, sums_of_lanes};
use crate::scalar::{Precision, Scalar};
use crate::simd::Lanes;

/// Powers that are summed up: an even number.
pub(super) const fn count(precision: Precision) -> usize {
    match precision {
        Precision::F32 => 16,
        Precision::F64 => 26,
    }
}

/// Powers of either precision, with the power zero.
const MOST_FACTORS: usize = count(Precision::F64) + 1;

/// Kernels are wide if `gamma` times half the range of the scalars is at most this: `2.4¹⁶ / 16!` is 6e-8, `2.4²⁶ / 26!` 2e-17.
pub(super) const WIDEST: f64 = 2.4;

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
    columns: Vec<T>,
    /// `x` of a few columns, and the last power of it.
    scaled: Vec<T>,
    strip: Vec<T>,
}

impl<T: Scalar> Powers<T> {
    /// Room for tiles of at most `side` rows and columns.
    pub(super) fn new(side: usize) -> Self {
        let n_sums = count(T::PRECISION) * side;
        let [rows, columns] = [(); 2].map(|()| vec![T::default(); n_sums]);
        let [scaled, strip] = [(); 2].map(|()| vec![T::default(); STRIP * side]);
        Self { side, range: Range { middle: 0.0, half: 1.0 }, inside: (0, 0), rows, columns, scaled, strip }
    }

    /// Sums up the powers of a tile whose scalars have this range; those of rows outside the data must be its middle.
    #[inline(always)]
    pub(super) fn fill<L: Lanes<Elem = T>>(&mut self, tile: &[T], part: Part, range: Range) {
        let (n_rows, n_columns) = part.inside;
        let n_panels = n_rows.div_ceil(L::COUNT);
        assert!(n_columns <= part.n_columns && n_columns.max(n_rows).next_multiple_of(L::COUNT) <= self.side);
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
        let (tile, rows) = (tile.as_ptr(), self.rows.as_mut_ptr());
        let (scaled, strip) = (self.scaled.as_mut_ptr(), self.strip.as_mut_ptr());
        for panel in 0..n_panels {
            // SAFETY: `fill` has compared the sizes of the tile and of the sums; the strips have room for COLUMNS vectors of
            // every panel.
            unsafe {
                let (mut row_odd, mut row_even) = (zero, zero);
                for c in 0..COLUMNS {
                    let place = (panel * COLUMNS + c) * L::COUNT;
                    // An odd power has the sign of x; an even one, its product with x, has none.
                    let (x, first) = if FIRST {
                        let s = L::load(tile.add((panel * part.n_columns + column + c) * L::COUNT));
                        let x = (s - middle) * scale;
                        x.store(scaled.add(place));
                        (x, x)
                    } else {
                        let x = L::load(scaled.add(place));
                        (x, L::load(strip.add(place)) * x)
                    };
                    let second = first.mul_add(x, floor).max(zero);
                    second.store(strip.add(place));
                    (odds[c], evens[c]) = (odds[c] + first, evens[c] + second);
                    (row_odd, row_even) = (row_odd + first, row_even + second);
                }
                let (at_odd, at_even) = (rows.add(odd + panel * L::COUNT), rows.add(even + panel * L::COUNT));
                (L::load(at_odd) + row_odd).store(at_odd);
                (L::load(at_even) + row_even).store(at_even);
            }
        }
        for (c, (odd_sum, even_sum)) in sums_of_lanes(odds).into_iter().zip(sums_of_lanes(evens)).enumerate() {
            self.columns[odd + column + c] = T::from_f64(odd_sum);
            self.columns[even + column + c] = T::from_f64(even_sum);
        }
    }

    /// Adds the sums of the Gaussian kernel of inverse width `gamma` over rows and columns, and those of scalar times kernel.
    #[inline(always)]
    #[expect(unsafe_code, reason = "adds whole vectors")]
    pub(super) fn combine<L: Lanes<Elem = T>>(&self, gamma: f64, rows: [&mut [T]; 2], columns: [&mut [f64]; 2]) {
        let Range { middle, half } = self.range;
        let powers = count(T::PRECISION);
        // e^{-γ middle} (-γ half)^m / m!, from the power zero on; and for the product with s = middle + half x.
        let mut of_value = [(-gamma * middle).exp(); MOST_FACTORS];
        for m in 1..=powers {
            of_value[m] = of_value[m - 1] * -gamma * half / m as f64;
        }
        let mut of_scalar = of_value.map(|factor| middle * factor);
        for m in 1..=powers {
            of_scalar[m] += half * of_value[m - 1];
        }
        let mut factors = [[L::constant(0.0); MOST_FACTORS]; 2];
        for m in 0..=powers {
            (factors[0][m], factors[1][m]) = (L::constant(of_value[m]), L::constant(of_scalar[m]));
        }
        let (n_rows, n_columns) = self.inside;
        let [of_kernel, of_product] = rows;
        for first in (0..n_rows).step_by(L::COUNT) {
            let [kernel, product] = self.combination(&self.rows, first, n_columns, &factors);
            (L::read(&of_kernel[first..]) + kernel).write(&mut of_kernel[first..]);
            (L::read(&of_product[first..]) + product).write(&mut of_product[first..]);
        }
        let [of_kernel, of_product] = columns;
        // Past the last column there are sums of other tiles, which nobody reads.
        for first in (0..n_columns).step_by(L::COUNT) {
            let [kernel, product] = self.combination(&self.columns, first, n_rows, &factors);
            for (target, sums) in [(&mut *of_kernel, kernel), (&mut *of_product, product)] {
                let target = &mut target[first..first + L::COUNT];
                // SAFETY: the slice has as many numbers.
                unsafe { sums.add_to_f64(target.as_mut_ptr()) };
            }
        }
    }

    /// Two combinations of the powers' sums at a vector of rows or columns, each of which has so many pairs.
    #[inline(always)]
    fn combination<L: Lanes<Elem = T>>(
        &self,
        sums: &[T],
        first: usize,
        count_of_pairs: usize,
        factors: &[[L; MOST_FACTORS]; 2],
    ) -> [L; 2] {
        // Small terms first.
        let mut combined = [L::constant(0.0); 2];
        for m in (1..=count(T::PRECISION)).rev() {
            let power = L::read(&sums[(m - 1) * self.side + first..]);
            combined[0] = power.mul_add(factors[0][m], combined[0]);
            combined[1] = power.mul_add(factors[1][m], combined[1]);
        }
        let pairs = L::constant(count_of_pairs as f64);
        [pairs.mul_add(factors[0][0], combined[0]), pairs.mul_add(factors[1][0], combined[1])]
    }
}
