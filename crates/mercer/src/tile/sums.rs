//! Row sums of many kernels over one tile of scalars.
//!
//! A search for a kernel's parameters asks for little of each kernel matrix: its row sums, and those of its derivative. What is
//! dear, the scalars of the pairs, is the same for all of them; it is read from the cache once per kernel. Gaussian kernels have a way of their
//! own ([`gaussian_sums`](super::gaussian_sums)).
//!
//! Sums over a tile are of at most a few hundred numbers, in the tile's precision; tiles are added up in double precision.

use super::powers::Powers;
use crate::kernel::{Formula, Kernel, Parameter, with_formula};
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Target};

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
    pub(super) n_quantities: usize,
    /// Room for the rows and columns of the largest tile.
    pub(super) side: usize,
    pub(super) rows: Vec<T>,
    pub(super) columns: Vec<f64>,
    /// Sums over the whole tile of the kernel times each quantity.
    squares: Vec<f64>,
    /// Kernel values of a strip and its scalars, side by side: in the tile panels lie so far apart that the first-level cache would not hold
    /// a strip of them. And the smallest and the largest scalar of each.
    pub(super) strip: Vec<T>,
    pub(super) scalars: Vec<T>,
    pub(super) nearest: Vec<f64>,
    pub(super) farthest: Vec<f64>,
    pub(super) powers: Powers<T>,
}

/// Columns that are taken together: two sums of each must fit the registers. [`Lanes::four_sums`] is made for as many.
pub(super) const STRIP: usize = 4;

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
            scalars: vec![T::default(); STRIP * side],
            nearest: vec![0.0; side],
            farthest: vec![0.0; side],
            powers: Powers::new(side),
        }
    }

    pub(super) fn place(&self, kernel: usize, quantity: usize) -> usize {
        kernel * self.n_quantities + quantity
    }

    /// Adds the sums of a quantity, one for each row, to `target`, and begins anew.
    pub(crate) fn take_rows(&mut self, isa: Isa, kernel: usize, quantity: usize, target: &mut [f64]) {
        let start = self.place(kernel, quantity) * self.side;
        isa.run(Take { from: &mut self.rows[start..start + self.side], target });
    }

    /// Adds the sums of a quantity, one for each column, to `target`, and begins anew.
    pub(crate) fn take_columns(&mut self, isa: Isa, kernel: usize, quantity: usize, target: &mut [f64]) {
        let start = self.place(kernel, quantity) * self.side;
        isa.run(Take { from: &mut self.columns[start..start + self.side], target });
    }

    /// The sum of the kernel times a quantity, which begins anew.
    pub(crate) fn take_square(&mut self, kernel: usize, quantity: usize) -> f64 {
        let place = self.place(kernel, quantity);
        std::mem::take(&mut self.squares[place])
    }
}

/// Adds numbers to others, as many as there are of those, and begins anew.
struct Take<'a, T> {
    from: &'a mut [T],
    target: &'a mut [f64],
}

impl<T: Scalar> Job for Take<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { from, target } = self;
        for (sum, own) in target.iter_mut().zip(&*from) {
            *sum += own.to_f64();
        }
        from.fill(T::default());
    }
}

/// What the raw loads below rely on.
pub(super) fn check<T>(tile: usize, part: Part, lanes: usize, sums: &TileSums<T>) {
    let (n_rows, n_columns) = part.inside;
    assert!(n_columns <= part.n_columns && n_columns <= sums.side && n_rows.next_multiple_of(lanes) <= sums.side);
    assert!(n_rows.next_multiple_of(lanes) * part.n_columns <= tile);
    assert!(sums.rows.len() == sums.squares.len() * sums.side);
    assert!(sums.strip.len().min(sums.scalars.len()) >= STRIP * sums.side);
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

/// The sum of all lanes of each vector.
#[inline(always)]
pub(super) fn sums_of_lanes<L: Lanes, const COUNT: usize>(vectors: [L; COUNT]) -> [f64; COUNT] {
    const { assert!(0 < COUNT && COUNT <= STRIP) };
    let mut four = [vectors[0]; 4];
    four[..COUNT].copy_from_slice(&vectors);
    let all = L::four_sums(four);
    let mut sums = [0.0; COUNT];
    sums.copy_from_slice(&all[..COUNT]);
    sums
}

/// The sum of all lanes.
#[inline(always)]
fn total<L: Lanes>(vector: L) -> f64 {
    sums_of_lanes([vector])[0]
}
