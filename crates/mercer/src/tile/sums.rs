//! Row sums of many kernels over one tile of scalars.
//!
//! A search for a kernel's parameters asks for little of each kernel matrix: its row sums, and those of its derivative. What is
//! dear, the scalars of the pairs, is the same for all of them; it is read from the cache once per kernel.
//!
//! # Method
//!
//! Gaussian kernels come in chains in which `gamma` doubles: $k_{2\gamma} = k_\gamma^2$, so that only the first of a chain
//! costs an exponential. One chain after the other goes over the tile, which stays in the second-level cache. A strip of a few columns is
//! taken through a whole chain: sums of its columns stay in registers, the chain's sums of rows and the kernel values in the first-level
//! cache.
//!
//! # Numerics
//!
//! Every squaring doubles the relative error of an entry; chains are short enough ([`Chain::LONGEST`]) that what is left is that of
//! a few hundred roundings of either sign. Sums over a tile are of at most a few hundred numbers, in the tile's precision; tiles are
//! added up in double precision. Kernel values below [`negligible`] count as zero: squares of them would be subnormal,
//! which some processors take a hundred times as long for.

use crate::kernel::{Formula, Kernel, Parameter, with_formula};
use crate::scalar::{Precision, Scalar};
use crate::simd::{Isa, Job, Lanes, Target};

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
    /// Kernels of a chain, at most: `2⁷` times the rounding of the first is the error of the last.
    pub(crate) const LONGEST: usize = 8;
}

/// The part of a tile that lies within the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Columns of the tile as it lies in memory.
    pub(crate) n_columns: usize,
    /// Rows and columns that belong to points.
    pub(crate) inside: (usize, usize),
}

/// Sums over one tile: for every kernel some quantities, each for every row and every column.
#[derive(Clone, Debug)]
pub(crate) struct TileSums<T> {
    n_quantities: usize,
    /// Room for the rows and columns of the largest tile.
    side: usize,
    rows: Vec<T>,
    columns: Vec<f64>,
    /// Sums over the whole tile of the kernel times each quantity.
    squares: Vec<f64>,
    /// Kernel values of a strip, and the smallest scalar of each.
    strip: Vec<T>,
    nearest: Vec<f64>,
}

/// Columns that are taken together: two sums of each must fit the registers.
const STRIP: usize = 4;
/// What stands for the scalars of pairs that are none: so far apart that every kernel is zero.
const FAR: f64 = 1e30;

impl<T: Scalar> TileSums<T> {
    /// Room for `n_kernels` kernels with `n_quantities` quantities each, over tiles of at most `side` rows and columns.
    pub(crate) fn new(n_kernels: usize, n_quantities: usize, side: usize) -> Self {
        let n_sums = n_kernels * n_quantities;
        Self {
            n_quantities,
            side,
            rows: vec![T::default(); n_sums * side],
            columns: vec![0.0; n_sums * side],
            squares: vec![0.0; n_sums],
            strip: vec![T::default(); STRIP * side],
            nearest: vec![0.0; side],
        }
    }

    /// Starts a new tile.
    pub(crate) fn clear(&mut self) {
        self.rows.fill(T::default());
        self.columns.fill(0.0);
        self.squares.fill(0.0);
    }

    fn place(&self, kernel: usize, quantity: usize) -> usize {
        kernel * self.n_quantities + quantity
    }

    /// Sums of a quantity, one for each row.
    pub(crate) fn rows(&self, kernel: usize, quantity: usize) -> &[T] {
        let start = self.place(kernel, quantity) * self.side;
        &self.rows[start..start + self.side]
    }

    /// Sums of a quantity, one for each column.
    pub(crate) fn columns(&self, kernel: usize, quantity: usize) -> &[f64] {
        let start = self.place(kernel, quantity) * self.side;
        &self.columns[start..start + self.side]
    }

    /// The sum of the kernel times a quantity.
    pub(crate) fn square(&self, kernel: usize, quantity: usize) -> f64 {
        self.squares[self.place(kernel, quantity)]
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
        for row in n_rows..n_panels * lanes {
            for column in 0..n_columns {
                tile[(row / lanes * part.n_columns + column) * lanes + row % lanes] = T::from_f64(FAR);
            }
        }
        let whole = n_columns - n_columns % STRIP;
        for column in (0..whole).step_by(STRIP) {
            sums.nearest[column] = nearest::<T::On<G>, STRIP>(tile, part, n_panels, column);
        }
        for column in whole..n_columns {
            sums.nearest[column] = nearest::<T::On<G>, 1>(tile, part, n_panels, column);
        }
        for chain in chains {
            for column in (0..whole).step_by(STRIP) {
                strip::<T::On<G>, STRIP>(tile, part, n_panels, column, chain, sums);
            }
            for column in whole..n_columns {
                strip::<T::On<G>, 1>(tile, part, n_panels, column, chain, sums);
            }
        }
    }
}

/// What the raw loads below rely on.
fn check<T>(tile: usize, part: Part, lanes: usize, sums: &TileSums<T>) {
    let (n_rows, n_columns) = part.inside;
    assert!(n_columns <= part.n_columns && n_columns <= sums.side && n_rows.next_multiple_of(lanes) <= sums.side);
    assert!(n_rows.next_multiple_of(lanes) * part.n_columns <= tile);
    assert!(sums.rows.len() == sums.squares.len() * sums.side && sums.strip.len() >= STRIP * sums.side);
}

/// The smallest scalar of a few columns.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads of whole vectors")]
fn nearest<L: Lanes, const COLUMNS: usize>(tile: &[L::Elem], part: Part, n_panels: usize, column: usize) -> f64 {
    const { assert!(L::COUNT <= MOST_LANES) };
    let mut nearest = L::constant(FAR);
    for panel in 0..n_panels {
        let first = (panel * part.n_columns + column) * L::COUNT;
        for c in 0..COLUMNS {
            // SAFETY: `check` has compared the sizes; the column is inside.
            nearest = nearest.min(unsafe { L::load(tile.as_ptr().add(first + c * L::COUNT)) });
        }
    }
    let mut lanes = [0.0; MOST_LANES];
    // SAFETY: there is room for the widest vector.
    unsafe { nearest.add_to_f64(lanes.as_mut_ptr()) };
    lanes[..L::COUNT].iter().copied().fold(f64::INFINITY, f64::min)
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
    let nearest = sums.nearest[column];
    for step in 0..chain.length {
        // Exact: a power of two.
        let gamma = chain.gamma * (1_u64 << step) as f64;
        if gamma * nearest > enough {
            break;
        }
        if step == 0 {
            let factor = L::constant(-gamma * std::f64::consts::LOG2_E);
            let values = sums.strip.as_mut_ptr();
            for panel in 0..n_panels {
                let first = (panel * part.n_columns + column) * L::COUNT;
                for c in 0..COLUMNS {
                    // SAFETY: as above; the strip has room for COLUMNS vectors of every panel.
                    unsafe {
                        let s = L::load(tile.as_ptr().add(first + c * L::COUNT));
                        let k = (s * factor).min(L::constant(0.0)).exp2_nonpositive();
                        k.store(values.add((panel * COLUMNS + c) * L::COUNT));
                    }
                }
            }
        }
        let floor = L::constant(-smallest_value * smallest_value);
        let place = chain.first + step;
        // Known when compiled, so that all sums stay in registers.
        if step == 0 {
            add_strip::<L, COLUMNS, false>(tile, part, n_panels, column, place, floor, sums);
        } else {
            add_strip::<L, COLUMNS, true>(tile, part, n_panels, column, place, floor, sums);
        }
    }
}

/// Squares the strip, if that is wanted, with what is below the floor as zero, and adds it up.
#[inline(always)]
#[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
fn add_strip<L: Lanes, const COLUMNS: usize, const SQUARES: bool>(
    tile: &[L::Elem],
    part: Part,
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
    let (tile, strip, rows) = (tile.as_ptr(), sums.strip.as_mut_ptr(), sums.rows.as_mut_ptr());
    for panel in 0..n_panels {
        // SAFETY: `check` has compared the sizes, and the assertion above those of the kernel's sums.
        unsafe {
            let row = rows.add(first + panel * L::COUNT);
            let (mut row_total, mut row_product) = (L::load(row), L::load(row.add(side)));
            for c in 0..COLUMNS {
                let s = L::load(tile.add((panel * part.n_columns + column + c) * L::COUNT));
                let place = strip.add((panel * COLUMNS + c) * L::COUNT);
                let mut k = L::load(place);
                if SQUARES {
                    k = k.mul_add(k, floor).max(zero);
                    k.store(place);
                }
                row_total = row_total + k;
                row_product = k.mul_add(s, row_product);
                totals[c] = totals[c] + k;
                products[c] = k.mul_add(s, products[c]);
            }
            row_total.store(row);
            row_product.store(row.add(side));
        }
    }
    for (c, (total, product)) in sums_of_lanes(totals).into_iter().zip(sums_of_lanes(products)).enumerate() {
        sums.columns[first + column + c] += total;
        sums.columns[first + side + column + c] += product;
    }
}

/// Sums of any kernel (quantity 0) and of its derivatives by some parameters (the others) over a tile of scalars, which are
/// `unit` each.
pub(crate) fn kernel_sums<T: Scalar>(
    isa: Isa,
    tile: &[T],
    part: Part,
    (kernel, place): (&Kernel, usize),
    parameters: &[Parameter],
    unit: f64,
    sums: &mut TileSums<T>,
) {
    assert_eq!(sums.n_quantities, 1 + parameters.len(), "a kernel and its derivatives");
    with_formula!(kernel, formula => {
        isa.run(KernelJob { tile, part, formula: *formula, place, parameters, unit, sums });
    }, else unreachable!("only kernels with a formula have parameters"));
}

struct KernelJob<'a, T, F> {
    tile: &'a [T],
    part: Part,
    formula: F,
    place: usize,
    parameters: &'a [Parameter],
    unit: f64,
    sums: &'a mut TileSums<T>,
}

/// Quantities of a kernel, at most: itself and a derivative by each parameter that there is.
const MOST_QUANTITIES: usize = 4;

impl<T: Scalar, F: Formula> Job for KernelJob<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
    fn run<G: Target>(self) {
        let Self { tile, part, formula, place, parameters, unit, sums } = self;
        let lanes = <T::On<G> as Lanes>::COUNT;
        let (n_rows, n_columns) = part.inside;
        check(tile.len(), part, lanes, sums);
        let n_quantities = 1 + parameters.len();
        assert!(n_quantities <= MOST_QUANTITIES);
        let first = sums.place(place, 0) * sums.side;
        assert!(first + n_quantities * sums.side <= sums.rows.len());
        let (zero, unit) = (<T::On<G> as Lanes>::constant(0.0), <T::On<G> as Lanes>::constant(unit));
        // Ones for rows of the last panel that belong to points, zeros for the others.
        let full = vec![T::from_f64(1.0); lanes];
        let n_panels = n_rows.div_ceil(lanes);
        let last: Vec<T> = (0..lanes)
            .map(|lane| T::from_f64(f64::from(u8::from((n_panels.max(1) - 1) * lanes + lane < n_rows))))
            .collect();
        for column in 0..n_columns {
            let mut totals = [zero; MOST_QUANTITIES];
            let mut squares = [zero; MOST_QUANTITIES];
            for panel in 0..n_panels {
                let weights = if panel + 1 == n_panels { &last } else { &full };
                // SAFETY: `check` has compared the sizes, the assertions above those of the kernel's sums.
                unsafe {
                    let s =
                        <T::On<G> as Lanes>::load(tile.as_ptr().add((panel * part.n_columns + column) * lanes)) * unit;
                    let weight = <T::On<G> as Lanes>::load(weights.as_ptr());
                    let k = formula.value(s) * weight;
                    for quantity in 0..n_quantities {
                        let q = match quantity {
                            0 => k,
                            _ => formula.derivative(parameters[quantity - 1], s) * weight,
                        };
                        let row = sums.rows.as_mut_ptr().add(first + quantity * sums.side + panel * lanes);
                        (<T::On<G> as Lanes>::load(row) + q).store(row);
                        totals[quantity] = totals[quantity] + q;
                        squares[quantity] = k.mul_add(q, squares[quantity]);
                    }
                }
            }
            for quantity in 0..n_quantities {
                sums.columns[first + quantity * sums.side + column] += total(totals[quantity]);
                sums.squares[place * n_quantities + quantity] += total(squares[quantity]);
            }
        }
    }
}

/// Lanes of the widest vector there is.
const MOST_LANES: usize = 16;

/// The sum of all lanes of each vector, by halves.
#[inline(always)]
#[expect(unsafe_code, reason = "raw stores of whole vectors")]
fn sums_of_lanes<L: Lanes, const COUNT: usize>(vectors: [L; COUNT]) -> [f64; COUNT] {
    const { assert!(L::COUNT <= MOST_LANES && L::COUNT.is_power_of_two() && COUNT <= STRIP) };
    let mut room = [0.0; STRIP * MOST_LANES];
    for (c, vector) in vectors.into_iter().enumerate() {
        // SAFETY: there is room for STRIP of the widest vectors.
        unsafe { vector.add_to_f64(room.as_mut_ptr().add(c * L::COUNT)) };
    }
    let mut width = L::COUNT;
    while width > 1 {
        let half = width / 2;
        for c in 0..COUNT {
            for lane in 0..half {
                room[c * half + lane] = room[c * width + lane] + room[c * width + half + lane];
            }
        }
        width = half;
    }
    std::array::from_fn(|c| room[c])
}

/// The sum of all lanes.
#[inline(always)]
fn total<L: Lanes>(vector: L) -> f64 {
    sums_of_lanes([vector])[0]
}
