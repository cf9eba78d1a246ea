//! Row sums of many Gaussian kernels, and of scalar times kernel, over one tile of squared distances.
//!
//! # Method
//!
//! Gaussian kernels come in chains in which `gamma` doubles: $k_{2\gamma} = k_\gamma^2$, so that only the first of a chain
//! costs an exponential. Long chains are cut into pieces, after what is wide and what is zero over the whole tile has been left out. One piece after the other goes over the tile, which stays in the second-level cache. A strip of a few columns is
//! taken through a whole chain: sums of its columns stay in registers, the chain's sums of rows, the strip's scalars (copied, because they lie far apart in the tile) and the kernel values in the first-level
//! cache. Kernels so wide that they are short polynomials over the whole tile come from sums of powers instead
//! ([`powers`]), if there are enough of them.
//!
//! # Numerics
//!
//! Every squaring doubles the relative error of an entry; pieces are short enough ([`Chain::LONGEST`]) that what is left is that of
//! a few hundred roundings of either sign. Kernel values below [`negligible`] count as zero: squares of them would be subnormal,
//! which some processors take a hundred times as long for.

use super::powers::{self, Range, WIDEST};
use super::sums::{Part, STRIP, TileSums, check, sums_of_lanes};
use crate::scalar::{Precision, Scalar};
use crate::simd::{Isa, Job, Lanes, MOST_LANES, Target};

/// Gaussian kernels of inverse widths `gamma`, `2 gamma`, `4 gamma`, and so on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Chain {
    /// The inverse width of the first, for the scalars as they come in tiles.
    pub(crate) gamma: f64,
    /// How many there are.
    pub(crate) length: usize,
    /// The place of the first among the sums.
    pub(crate) first: usize,
}

impl Chain {
    /// Kernels from one exponential, at most: `2⁷` times the rounding of the first is the error of the last.
    pub(crate) const LONGEST: usize = 8;

    /// The inverse width of a kernel of the chain; exact, because it is a power of two times the first.
    fn gamma_at(&self, step: usize) -> f64 {
        // Chains of any length: a power of two has a number of its own from 2^-1022 to 2^1023.
        self.gamma * 2.0_f64.powi(i32::try_from(step).unwrap_or(i32::MAX))
    }

    /// How many of the first kernels have an inverse width of at most `gamma`.
    fn steps_up_to(&self, gamma: f64) -> usize {
        (0..self.length).take_while(|&step| self.gamma_at(step) <= gamma).count()
    }

    /// Some of the chain's kernels, in pieces of nearly the same length, each of which takes one exponential.
    fn pieces(&self, steps: std::ops::Range<usize>) -> impl Iterator<Item = Self> + use<> {
        let (chain, count) = (*self, steps.len().div_ceil(Self::LONGEST));
        (0..count).map(move |piece| {
            let at = |piece: usize| steps.start + steps.len() * piece / count;
            let (first, end) = (at(piece), at(piece + 1));
            Self { gamma: chain.gamma_at(first), length: end - first, first: chain.first + first }
        })
    }
}

/// A shortest range of scalars from which on its reciprocal is a number in either precision.
const LEAST_HALF: f64 = 1e-20;

/// Whether so many kernels are wide for a tile that sums of powers cost less than theirs: a pair of powers is about a kernel.
fn are_powers_cheaper(chains: &[Chain], half: f64, precision: Precision) -> bool {
    half > LEAST_HALF
        && chains.iter().map(|chain| chain.steps_up_to(WIDEST / half)).sum::<usize>() > powers::count(precision) / 2 + 2
}

/// What stands for the scalars of pairs that are none where the nearest is looked for. Kernels can be so wide that they are not zero there: their values are made so.
const FAR: f64 = 1e30;

impl<T: Scalar> TileSums<T> {
    /// Adds the sums of a kernel that is wide for the tile whose powers were summed up last.
    #[inline(always)]
    fn combine_powers<L: Lanes<Elem = T>>(&mut self, gamma: f64, kernel: usize) {
        let (first, side) = (self.place(kernel, 0) * self.side, self.side);
        let (rows, row_products) = self.rows[first..first + 2 * side].split_at_mut(side);
        let (columns, column_products) = self.columns[first..first + 2 * side].split_at_mut(side);
        self.powers.combine::<L>(gamma, [rows, row_products], [columns, column_products]);
    }
}

/// Below this a kernel value is as good as zero, and `gamma` times the scalar from which on it is below.
const fn negligible(precision: Precision) -> (f64, f64) {
    match precision {
        // 2⁻⁵⁰ and 2⁻⁴⁵⁰; their squares are normal numbers.
        Precision::F32 => (8.881_784_197_001_252e-16, 34.6),
        Precision::F64 => (3.438_955_417_601_28e-136, 311.9),
    }
}

/// Sums of Gaussian kernels (quantity 0) and of scalar times kernel (quantity 1) over a tile of squared distances.
///
/// Rows of the tile outside the data are overwritten.
pub(crate) fn gaussian_sums<T: Scalar>(isa: Isa, tile: &mut [T], part: Part, chains: &[Chain], sums: &mut TileSums<T>) {
    assert_eq!(sums.n_quantities, 2, "a kernel and its derivative");
    isa.run(GaussianJob { tile, part, chains, sums });
}

struct GaussianJob<'a, T> {
    tile: &'a mut [T],
    part: Part,
    chains: &'a [Chain],
    sums: &'a mut TileSums<T>,
}

impl<T: Scalar> Job for GaussianJob<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { tile, part, chains, sums } = self;
        let lanes = <T::On<G> as Lanes>::COUNT;
        let (n_rows, n_columns) = part.inside;
        let n_panels = n_rows.div_ceil(lanes);
        check(tile.len(), part, lanes, sums);
        // What does not count must be neither the largest nor the smallest.
        fill_outside(tile, part, lanes, 0.0);
        let far = extremes::<T::On<G>, true>(tile, part, n_panels, &mut sums.farthest);
        fill_outside(tile, part, lanes, FAR);
        let near = extremes::<T::On<G>, false>(tile, part, n_panels, &mut sums.nearest);
        // As the tile's precision has it, so that what does not count is exactly in the middle.
        let middle = T::from_f64(0.5 * (near + far)).to_f64();
        let range = Range { middle, half: (far - middle).max(middle - near) };
        let is_wide = are_powers_cheaper(chains, range.half, T::PRECISION);
        if is_wide {
            fill_outside(tile, part, lanes, range.middle);
            sums.powers.fill::<T::On<G>>(tile, part, range);
            fill_outside(tile, part, lanes, FAR);
        }
        let (_, enough) = negligible(T::PRECISION);
        let whole = n_columns - n_columns % STRIP;
        for chain in chains {
            let wide = if is_wide { chain.steps_up_to(WIDEST / range.half) } else { 0 };
            for step in 0..wide {
                sums.combine_powers::<T::On<G>>(chain.gamma_at(step), chain.first + step);
            }
            // What is zero everywhere adds nothing.
            let end = if near > 0.0 { chain.steps_up_to(enough / near) } else { chain.length };
            for piece in chain.pieces(wide..end.max(wide)) {
                for column in (0..whole).step_by(STRIP) {
                    strip::<T::On<G>, STRIP>(tile, part, n_panels, column, &piece, sums);
                }
                for column in whole..n_columns {
                    strip::<T::On<G>, 1>(tile, part, n_panels, column, &piece, sums);
                }
            }
        }
    }
}

/// Writes `value` to the rows of the last panel that belong to no points.
fn fill_outside<T: Scalar>(tile: &mut [T], part: Part, lanes: usize, value: f64) {
    let (n_rows, n_columns) = part.inside;
    for row in n_rows..n_rows.next_multiple_of(lanes) {
        for column in 0..n_columns {
            tile[(row / lanes * part.n_columns + column) * lanes + row % lanes] = T::from_f64(value);
        }
    }
}

/// Writes the largest scalar of every strip, or the smallest, to its first column's place, and gives that of all.
#[inline(always)]
fn extremes<L: Lanes, const LARGEST: bool>(tile: &[L::Elem], part: Part, n_panels: usize, found: &mut [f64]) -> f64 {
    let n_columns = part.inside.1;
    let whole = n_columns - n_columns % STRIP;
    let mut all = if LARGEST { 0.0 } else { f64::INFINITY };
    let mut keep = |column: usize, own: f64| {
        found[column] = own;
        all = if LARGEST { f64::max(all, own) } else { f64::min(all, own) };
    };
    for column in (0..whole).step_by(STRIP) {
        keep(column, extreme::<L, STRIP, LARGEST>(tile, part, n_panels, column));
    }
    for column in whole..n_columns {
        keep(column, extreme::<L, 1, LARGEST>(tile, part, n_panels, column));
    }
    all
}

/// The largest or smallest scalar of a few columns.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
fn extreme<L: Lanes, const COLUMNS: usize, const LARGEST: bool>(
    tile: &[L::Elem],
    part: Part,
    n_panels: usize,
    column: usize,
) -> f64 {
    const { assert!(L::COUNT <= MOST_LANES) };
    let mut found = L::constant(if LARGEST { 0.0 } else { FAR });
    for panel in 0..n_panels {
        let first = (panel * part.n_columns + column) * L::COUNT;
        for c in 0..COLUMNS {
            // SAFETY: `check` has compared the sizes; the column is inside.
            let s = unsafe { L::load(tile.as_ptr().add(first + c * L::COUNT)) };
            found = if LARGEST { found.max(s) } else { found.min(s) };
        }
    }
    let mut lanes = [0.0; MOST_LANES];
    // SAFETY: there is room for the widest vector.
    unsafe { found.add_to_f64(lanes.as_mut_ptr()) };
    let (lanes, first) = (&lanes[..L::COUNT], lanes[0]);
    lanes.iter().fold(first, |best, &x| if LARGEST { f64::max(best, x) } else { f64::min(best, x) })
}

/// A chain over a few columns.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn strip<L: Lanes, const COLUMNS: usize>(
    tile: &[L::Elem],
    part: Part,
    n_panels: usize,
    column: usize,
    chain: &Chain,
    sums: &mut TileSums<L::Elem>,
) {
    let (smallest_value, enough) = negligible(L::Elem::PRECISION);
    let (nearest, farthest) = (sums.nearest[column], sums.farthest[column]);
    for step in 0..chain.length {
        let gamma = chain.gamma_at(step);
        if gamma * nearest > enough {
            break;
        }
        if step == 0 {
            let factor = L::constant(-gamma * std::f64::consts::LOG2_E);
            let (values, scalars) = (sums.strip.as_mut_ptr(), sums.scalars.as_mut_ptr());
            for panel in 0..n_panels {
                let first = (panel * part.n_columns + column) * L::COUNT;
                for c in 0..COLUMNS {
                    let place = (panel * COLUMNS + c) * L::COUNT;
                    // SAFETY: as above; the strips have room for COLUMNS vectors of every panel.
                    unsafe {
                        let s = L::load(tile.as_ptr().add(first + c * L::COUNT));
                        let k = (s * factor).min(L::constant(0.0)).exp2_nonpositive();
                        s.store(scalars.add(place));
                        k.store(values.add(place));
                    }
                }
            }
            // What belongs to no points must not count, however wide the kernel is.
            for row in part.inside.0..n_panels * L::COUNT {
                for c in 0..COLUMNS {
                    let place = (row / L::COUNT * COLUMNS + c) * L::COUNT + row % L::COUNT;
                    sums.strip[place] = L::Elem::default();
                }
            }
        }
        let floor = L::constant(-smallest_value * smallest_value);
        let place = chain.first + step;
        // Known when compiled, so that all sums stay in registers.
        if step == 0 {
            add_strip::<L, COLUMNS, false, false>(n_panels, column, place, floor, sums);
        } else if gamma * farthest < enough {
            add_strip::<L, COLUMNS, true, false>(n_panels, column, place, floor, sums);
        } else {
            add_strip::<L, COLUMNS, true, true>(n_panels, column, place, floor, sums);
        }
    }
}

/// Squares the strip, if that is wanted, with what is below the floor as zero (if anything can be), and adds it up.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn add_strip<L: Lanes, const COLUMNS: usize, const SQUARES: bool, const HAS_FLOOR: bool>(
    n_panels: usize,
    column: usize,
    kernel: usize,
    floor: L,
    sums: &mut TileSums<L::Elem>,
) {
    let zero = L::constant(0.0);
    let (side, first) = (sums.side, sums.place(kernel, 0) * sums.side);
    assert!(first + 2 * side <= sums.rows.len());
    let mut totals = [zero; COLUMNS];
    let mut products = [zero; COLUMNS];
    let (scalars, strip, rows) = (sums.scalars.as_ptr(), sums.strip.as_mut_ptr(), sums.rows.as_mut_ptr());
    for panel in 0..n_panels {
        // SAFETY: `check` has compared the sizes, and the assertion above those of the kernel's sums.
        unsafe {
            let row = rows.add(first + panel * L::COUNT);
            let (mut row_total, mut row_product) = (zero, zero);
            for c in 0..COLUMNS {
                let place = (panel * COLUMNS + c) * L::COUNT;
                let (s, mut k) = (L::load(scalars.add(place)), L::load(strip.add(place)));
                if SQUARES {
                    k = if HAS_FLOOR { k.mul_add(k, floor).max(zero) } else { k * k };
                    k.store(strip.add(place));
                }
                row_total = row_total + k;
                row_product = k.mul_add(s, row_product);
                totals[c] = totals[c] + k;
                products[c] = k.mul_add(s, products[c]);
            }
            (L::load(row) + row_total).store(row);
            (L::load(row.add(side)) + row_product).store(row.add(side));
        }
    }
    for (c, (total, product)) in sums_of_lanes(totals).into_iter().zip(sums_of_lanes(products)).enumerate() {
        sums.columns[first + column + c] += total;
        sums.columns[first + side + column + c] += product;
    }
}
