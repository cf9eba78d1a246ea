//! Sums over many kernel matrices in one pass over the pairs of points.
//!
//! **Cost**: `n² d / 2` multiply-adds for the scalars of the pairs, and per bandwidth six operations on `n² / 2` numbers for
//! Gaussian kernels, the formula and its derivatives for others; in single precision a scan of many Gaussian kernels needs them at two
//! bandwidths of an octave in `γ` (`between`). **Memory**: the packed points, and 32 bytes per point and bandwidth, at most (several passes are made if
//! that is more than [`SUMS_BUDGET`]).

use std::sync::Mutex;

use rayon::prelude::*;

use super::between::{Layout, Share};
use super::rounding::Trust;
use super::spectrum::{Slopes, Sums};
use crate::data::Points;
use crate::eigen::many::add;
use crate::error::{Error, Result};
use crate::gram::{Element, PairScalars, largest_on_diagonal};
use crate::kernel::{Kernel, Pairing, Parameter, too_far_apart};
use crate::scalar::Precision;
use crate::tile::{Part, TileSums, gaussian_sums, kernel_sums};
use crate::watch::Context;

/// Bytes of row sums that are kept at a time.
const SUMS_BUDGET: usize = 1 << 29;

/// Points made ready for sums over kernel matrices of one pairing.
pub(super) struct Evaluator {
    points: Points,
    pairing: Pairing,
    /// What a scalar as it comes in tiles is in truth.
    unit: f64,
    scalars: Packed,
    trust: Trust,
}

enum Packed {
    F32(PairScalars<f32>),
    F64(PairScalars<f64>),
}

impl Evaluator {
    /// Packs points for kernels like `kernel`. `unit` is a typical scalar of a pair: with it tiles hold numbers of ordinary size.
    ///
    /// # Errors
    ///
    /// If the kernel is not a function of one scalar, a point is too large, or the run was stopped.
    pub(super) fn new(
        points: &Points,
        kernel: &Kernel,
        unit: f64,
        precision: Precision,
        context: &Context<'_>,
    ) -> Result<Self> {
        context.check()?;
        let Some(pairing) = kernel.pairing() else {
            return Err(Error::UnsuitableKernel {
                what: "a search for parameters",
                kernel: kernel.name().to_owned(),
                reason: "it has none that are known",
            });
        };
        let unit = if pairing.is_translation_invariant() { unit } else { 1.0 };
        let scalars = context.threads.run(|| match precision {
            Precision::F32 => PairScalars::new(points, pairing, 1.0 / unit, context.watch).map(Packed::F32),
            Precision::F64 => PairScalars::new(points, pairing, 1.0 / unit, context.watch).map(Packed::F64),
        })?;
        Ok(Self { points: points.clone(), pairing, unit, scalars, trust: Trust::DIRECT })
    }

    /// Says what single precision and interpolation are right for (default: nothing is interpolated, and nothing is made double). What they are not
    /// right for is computed directly, and in double precision.
    pub(super) fn trusting(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sums of kernels like `kernel` at some inverse widths, with derivatives by the inverse width.
    ///
    /// # Errors
    ///
    /// If an inverse width is not positive, or the run was stopped.
    pub(super) fn at_gammas(&self, kernel: &Kernel, gammas: &[f64], context: &Context<'_>) -> Result<Vec<Sums>> {
        gammas.iter().try_for_each(|&gamma| kernel.with(Parameter::Gamma, gamma).map(drop))?;
        let hard: Vec<f64> = gammas.iter().copied().filter(|&gamma| self.is_hard(gamma)).collect();
        if !hard.is_empty() {
            let double = Self::new(&self.points, kernel, self.unit, Precision::F64, context)?;
            let mut double = double.at_gammas(kernel, &hard, context)?.into_iter();
            let easy: Vec<f64> = gammas.iter().copied().filter(|&gamma| !self.is_hard(gamma)).collect();
            let mut single =
                if easy.is_empty() { Vec::new() } else { self.at_gammas(kernel, &easy, context)? }.into_iter();
            let of = |&gamma: &f64| if self.is_hard(gamma) { double.next() } else { single.next() };
            return Ok(gammas.iter().map(of).map(|sums| sums.expect("one for every width")).collect());
        }
        if !matches!(kernel, Kernel::Gaussian(_)) {
            let kernels: Vec<Kernel> =
                gammas.iter().map(|&gamma| kernel.with(Parameter::Gamma, gamma)).collect::<Result<_>>()?;
            return self.at(&kernels, &[Parameter::Gamma], context);
        }
        let mut sums = Vec::with_capacity(gammas.len());
        for gammas in gammas.chunks(per_pass(self.n(), GAUSSIAN)) {
            sums.extend(match &self.scalars {
                Packed::F32(scalars) => self.gaussian(scalars, gammas, context)?,
                Packed::F64(scalars) => self.gaussian(scalars, gammas, context)?,
            });
        }
        Ok(sums)
    }

    /// Sums of some kernels of this pairing, with derivatives by some parameters, which all of them must have.
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    pub(super) fn at(&self, kernels: &[Kernel], parameters: &[Parameter], context: &Context<'_>) -> Result<Vec<Sums>> {
        let mut sums = Vec::with_capacity(kernels.len());
        for kernels in kernels.chunks(per_pass(self.n(), 1 + parameters.len())) {
            sums.extend(match &self.scalars {
                Packed::F32(scalars) => self.general(scalars, kernels, parameters, context)?,
                Packed::F64(scalars) => self.general(scalars, kernels, parameters, context)?,
            });
        }
        Ok(sums)
    }

    /// As [`at_gammas`](Self::at_gammas), with sums that make numbers.
    ///
    /// # Errors
    ///
    /// As [`at_gammas`](Self::at_gammas), and if kernel values are too large for the arithmetic.
    pub(super) fn finite_at_gammas(&self, kernel: &Kernel, gammas: &[f64], context: &Context<'_>) -> Result<Vec<Sums>> {
        let all = self.at_gammas(kernel, gammas, context)?;
        for (sums, &gamma) in all.iter().zip(gammas) {
            self.check_finite(&kernel.with(Parameter::Gamma, gamma)?, sums)?;
        }
        Ok(all)
    }

    /// The sums of one kernel of this pairing, with derivatives by some parameters, which it must have; they make numbers.
    ///
    /// # Errors
    ///
    /// If kernel values are too large for the arithmetic, or the run was stopped.
    pub(super) fn finite_at(&self, kernel: &Kernel, parameters: &[Parameter], context: &Context<'_>) -> Result<Sums> {
        let sums = self.at(std::slice::from_ref(kernel), parameters, context)?.remove(0);
        self.check_finite(kernel, &sums).map(|()| sums)
    }

    /// Refuses sums of which no number can be made, by the row whose kernel value is the largest.
    fn check_finite(&self, kernel: &Kernel, sums: &Sums) -> Result<()> {
        if sums.is_finite() {
            return Ok(());
        }
        match largest_on_diagonal(kernel, &self.points)? {
            Some((row, value)) if !self.pairing.is_translation_invariant() => {
                let (kernel, precision) = (kernel.name().to_owned(), self.precision());
                Err(Error::KernelOverflow { kernel, row, value, precision, n_samples: self.n() })
            }
            // Values of a kernel of a distance are small; what overflows is the distance that its derivative has as a factor.
            _ => Err(too_far_apart(&self.points)),
        }
    }

    fn precision(&self) -> Precision {
        match self.scalars {
            Packed::F32(_) => Precision::F32,
            Packed::F64(_) => Precision::F64,
        }
    }

    /// Points.
    pub(super) fn n(&self) -> usize {
        self.points.n_samples()
    }

    /// Passes that [`at_gammas`](Self::at_gammas) makes for some inverse widths.
    pub(super) fn passes(&self, kernel: &Kernel, gammas: &[f64]) -> usize {
        let sums = if matches!(kernel, Kernel::Gaussian(_)) { GAUSSIAN } else { 2 };
        let n_hard = gammas.iter().filter(|&&gamma| self.is_hard(gamma)).count();
        let passes = |count: usize| count.div_ceil(per_pass(self.n(), sums));
        passes(n_hard) + passes(gammas.len() - n_hard)
    }

    /// Whether a kernel of this inverse width wants double precision where single precision is used.
    fn is_hard(&self, gamma: f64) -> bool {
        self.precision() == Precision::F32 && !self.trust.takes_single(gamma)
    }

    /// Sums of Gaussian kernels from nodes at inverse widths where interpolation is at its worst, with those; `low` and `high` lie between them.
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    pub(super) fn at_worst(&self, low: f64, high: f64, context: &Context<'_>) -> Result<(Vec<Sums>, Vec<f64>)> {
        let (layout, scaled) = Layout::at_its_worst(low * self.unit, high * self.unit);
        let sums = match &self.scalars {
            Packed::F32(scalars) => self.laid_out(scalars, &layout, context)?,
            Packed::F64(scalars) => self.laid_out(scalars, &layout, context)?,
        };
        Ok((sums, scaled.into_iter().map(|gamma| gamma / self.unit).collect()))
    }

    fn gaussian<T: Element>(
        &self,
        scalars: &PairScalars<T>,
        gammas: &[f64],
        context: &Context<'_>,
    ) -> Result<Vec<Sums>> {
        let scaled: Vec<f64> = gammas.iter().map(|gamma| gamma * self.unit).collect();
        let (low, high) = self.trust.between;
        self.laid_out(scalars, &Layout::new(&scaled, T::PRECISION, (low * self.unit, high * self.unit)), context)
    }

    fn laid_out<T: Element>(
        &self,
        scalars: &PairScalars<T>,
        Layout { chains, blends }: &Layout,
        context: &Context<'_>,
    ) -> Result<Vec<Sums>> {
        let (isa, n_kernels) = (scalars.isa(), chains.n_kernels());
        let rows = row_sums(scalars, (n_kernels, 2), context, |tile, part, sums| {
            gaussian_sums(isa, tile, part, &chains.all, sums);
        })?;
        let (n, unit) = (self.n(), self.unit);
        let sums = |rows: &RowSums, one: &[Share], double: &[Share]| {
            let [kernel, product] = rows.blended(one);
            let [[total, product_total], [square, product_square]] =
                [one, double].map(|blend| rows.blended_total(blend));
            // k² at gamma is k at twice gamma; so is its product with the scalar. The derivative of k is minus that product.
            let slopes = Slopes {
                trace: 0.0,
                total: -unit * product_total,
                cross: -unit * product_square,
                row_cross: -unit * dot(&kernel, &product),
            };
            Sums { n, trace: n as f64, total, square, row_square: dot(&kernel, &kernel), slopes: vec![slopes] }
        };
        Ok(context.threads.run(|| blends.par_iter().map(|(one, double)| sums(&rows, one, double)).collect()))
    }

    fn general<T: Element>(
        &self,
        scalars: &PairScalars<T>,
        kernels: &[Kernel],
        parameters: &[Parameter],
        context: &Context<'_>,
    ) -> Result<Vec<Sums>> {
        let isa = scalars.isa();
        let n_quantities = 1 + parameters.len();
        let rows = row_sums(scalars, (kernels.len(), n_quantities), context, |tile, part, sums| {
            for (place, kernel) in kernels.iter().enumerate() {
                kernel_sums(isa, tile, part, (kernel, place), parameters, self.unit, sums);
            }
        })?;
        Ok(kernels
            .iter()
            .enumerate()
            .map(|(place, kernel)| {
                let (trace, slopes) = self.traces(kernel, parameters);
                let mut sums = rows.of(place, self.n(), trace, &slopes);
                sums.square = rows.squares[place * n_quantities];
                for (index, slopes) in sums.slopes.iter_mut().enumerate() {
                    slopes.cross = rows.squares[place * n_quantities + 1 + index];
                }
                sums
            })
            .collect())
    }

    /// The trace of a kernel matrix, and that of its derivative by each parameter.
    fn traces(&self, kernel: &Kernel, parameters: &[Parameter]) -> (f64, Vec<f64>) {
        let own: Vec<f64> = if self.pairing.is_translation_invariant() {
            vec![0.0]
        } else {
            (0..self.n())
                .map(|row| {
                    let x = self.points.row(row);
                    self.pairing.of(&x, &x)
                })
                .collect()
        };
        let each = if self.pairing.is_translation_invariant() { self.n() as f64 } else { 1.0 };
        let trace = each * own.iter().map(|&s| kernel.value(s)).sum::<f64>();
        let slope = |&p: &Parameter| each * own.iter().map(|&s| kernel.derivative(p, s).unwrap_or(0.0)).sum::<f64>();
        (trace, parameters.iter().map(slope).collect())
    }
}

/// Sums of every row that a Gaussian kernel needs: it and its product with the scalar, at its inverse width and at twice that.
const GAUSSIAN: usize = 4;

/// Kernels that are taken in one pass over the pairs of `n` points, with so many sums of every row.
fn per_pass(n: usize, sums: usize) -> usize {
    (SUMS_BUDGET / (8 * sums * n.max(1))).max(1)
}

/// Row sums of some quantities of some kernels, and their sums over the matrix.
struct RowSums {
    n_quantities: usize,
    /// One vector per kernel and quantity, and its sum.
    rows: Vec<Vec<f64>>,
    totals: Vec<f64>,
    squares: Vec<f64>,
}

impl RowSums {
    fn total(&self, kernel: usize, quantity: usize) -> f64 {
        self.totals[kernel * self.n_quantities + quantity]
    }

    fn row(&self, kernel: usize, quantity: usize) -> &[f64] {
        &self.rows[kernel * self.n_quantities + quantity]
    }

    /// Row sums of a kernel and of scalar times kernel, from those of others.
    fn blended(&self, blend: &[Share]) -> [Vec<f64>; 2] {
        let n = self.rows.first().map_or(0, Vec::len);
        [|share: &Share| share.kernel, |share: &Share| share.product].map(|shares| {
            let mut sums = vec![0.0; n];
            for share in blend {
                for (quantity, factor) in shares(share).into_iter().enumerate().filter(|&(_, factor)| factor != 0.0) {
                    add(&mut sums, factor, self.row(share.place, quantity));
                }
            }
            sums
        })
    }

    /// The sums of those over all rows.
    fn blended_total(&self, blend: &[Share]) -> [f64; 2] {
        [|share: &Share| share.kernel, |share: &Share| share.product].map(|shares| {
            let of = |share: &Share| {
                let [kernel, product] = shares(share);
                kernel * self.total(share.place, 0) + product * self.total(share.place, 1)
            };
            blend.iter().map(of).sum()
        })
    }

    /// Everything but the sums of squares.
    fn of(&self, kernel: usize, n: usize, trace: f64, trace_slopes: &[f64]) -> Sums {
        let of = |quantity: usize| self.row(kernel, quantity);
        let slopes = trace_slopes
            .iter()
            .enumerate()
            .map(|(index, &trace)| Slopes {
                trace,
                total: self.total(kernel, 1 + index),
                cross: 0.0,
                row_cross: dot(of(0), of(1 + index)),
            })
            .collect();
        Sums { n, trace, total: self.total(kernel, 0), square: 0.0, row_square: dot(of(0), of(0)), slopes }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Runs `sum` over every tile and adds up what it finds. The order of all sums is fixed, whatever the number of threads.
fn row_sums<T: Element>(
    scalars: &PairScalars<T>,
    (n_kernels, n_quantities): (usize, usize),
    context: &Context<'_>,
    sum: impl Fn(&mut [T], Part, &mut TileSums<T>) + Sync,
) -> Result<RowSums> {
    let (size, isa) = (n_kernels * n_quantities, scalars.isa());
    // The schedule never lets two threads at the same block, so these locks are never waited for.
    let blocks: Vec<Mutex<Block>> = (0..scalars.n_blocks())
        .map(|block| Mutex::new(Block { rows: vec![0.0; size * scalars.rows(block).len()], squares: vec![0.0; size] }))
        .collect();
    let lock = |block: usize| blocks[block].lock().expect("no thread panics while it holds a block");
    scalars.visit(
        context,
        || TileSums::<T>::new(n_kernels, n_quantities, scalars.block()),
        |sums, rows, columns, tile, n_columns| {
            let inside = (scalars.rows(rows).len(), scalars.rows(columns).len());
            sum(tile, Part { n_columns, inside }, sums);
            let mut target = lock(rows);
            let weight = if rows == columns { 1.0 } else { 2.0 };
            for place in 0..size {
                let (kernel, quantity) = (place / n_quantities, place % n_quantities);
                let own = &mut target.rows[place * inside.0..(place + 1) * inside.0];
                sums.take_rows(isa, kernel, quantity, own);
                target.squares[place] += weight * sums.take_square(kernel, quantity);
            }
            drop(target);
            // On the diagonal, columns are the same sums again.
            let mut target = (rows != columns).then(|| lock(columns));
            for place in 0..size {
                let own = target
                    .as_mut()
                    .map_or(&mut [][..], |target| &mut target.rows[place * inside.1..(place + 1) * inside.1]);
                sums.take_columns(isa, place / n_quantities, place % n_quantities, own);
            }
        },
    )?;
    let mut all = RowSums { n_quantities, rows: vec![Vec::new(); size], totals: Vec::new(), squares: vec![0.0; size] };
    for (index, block) in blocks.into_iter().enumerate() {
        let block = block.into_inner().expect("no thread panicked");
        let n = scalars.rows(index).len();
        for place in 0..size {
            all.rows[place].extend_from_slice(&block.rows[place * n..(place + 1) * n]);
            all.squares[place] += block.squares[place];
        }
    }
    all.totals = all.rows.iter().map(|row| row.iter().sum()).collect();
    Ok(all)
}

/// Sums of one block of rows.
struct Block {
    rows: Vec<f64>,
    squares: Vec<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    #[test]
    fn sums_that_do_not_fit_are_made_in_several_passes_which_are_counted() {
        assert_eq!([1000, 1_000_000, usize::MAX >> 8].map(|n| per_pass(n, GAUSSIAN)), [16_777, 16, 1]);
        let points = Points::from_f64(vec![0.0, 1.0, 3.0], 3, 1).expect("three rows");
        let kernel = Kernel::gaussian(1.0).expect("a width");
        let (threads, watch) = (Threads::new(1).expect("one thread"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Tuning);
        let pack = |precision| Evaluator::new(&points, &kernel, 1.0, precision, &context).expect("ordinary points");
        let evaluator = pack(Precision::F64);
        let most = per_pass(3, GAUSSIAN);
        let passes = |count: usize| evaluator.passes(&kernel, &vec![1.0; count]);
        assert_eq!([1, most, most + 1].map(passes), [1, 1, 2]);
        // What single precision is not trusted with takes a pass of its own.
        let single = pack(Precision::F32).trusting(Trust { between: (1.0, 0.0), single: (0.5, 2.0) });
        assert_eq!([[1.0, 2.0], [0.1, 1.0], [0.1, 3.0]].map(|gammas| single.passes(&kernel, &gammas)), [1, 2, 1]);
    }
}
