//! Keeping to the budget: which row is forgotten, and what is done about it.

use faer::Mat;

use super::block::{Block, ROWS_AHEAD};
use super::factor::Factor;
use super::learner::{Learner, ROUNDED};
use super::memory::Memory;
use super::passes;
use super::settings::{OnlineKernelPca, Policy};
use super::step::Workspace;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// The factor and all inner products are computed anew after this many times as many rows were projected as there are in memory.
const REFRESH_AFTER: usize = 32;
/// And after this many times as many were dropped. With every row that goes a component may get shorter, while the rounding of its inner
/// products stays what it was; as often as this, it costs as much per row as learning does.
const REFRESH_AFTER_DROPS: usize = 1;

/// A squared distance below minus this share of a row's squared length, as far as it is learned from, is more than an inaccuracy.
const NEGATIVE: f64 = 1e-5;
/// And, as rounding reaches further where rows are nearly alike, below minus this share of its squared length as it is.
const ROUNDED_AT_MOST: f64 = 1e-8;
/// A function of the user may compute in single precision.
const ROUNDED_BY_FUNCTIONS: f64 = 1e-5;

impl OnlineKernelPca {
    /// Refuses a row whose squared distance from the span of the rows in memory, `residual`, is clearly negative: projecting would take it for a row
    /// in that span, and what it makes of the components would mean nothing. The squared length of the row is `square`, and `learned_from` as far as it
    /// is learned from.
    pub(super) fn check_residual(&self, residual: f64, square: f64, learned_from: f64) -> Result<()> {
        let rounded = if matches!(self.kernel, Kernel::Custom(_)) { ROUNDED_BY_FUNCTIONS } else { ROUNDED_AT_MOST };
        let slack = (NEGATIVE * learned_from).max(rounded * square.abs());
        if residual >= -slack || self.kernel.is_positive_definite() {
            return Ok(());
        }
        Err(Error::UnsuitableKernel {
            what: "the policy project",
            kernel: self.kernel.name().to_owned(),
            reason: "on these rows it is not positive semi-definite: one is at a negative squared distance from the span of those in memory; use \
                     the policy oldest or smallest, or no budget",
        })
    }
}

impl Memory {
    /// The slot whose loss would change the components and the mean least once a new row is in memory, if that is less than `own`, what it
    /// costs to give up the new row; its squared distance from the span is `residual`, and it is nearest to the combination
    /// `coefficients`. A squared length of the mean counts `of_mean` times one of the components; `weights` is room for a number per slot.
    pub(super) fn cheapest(
        &self,
        own: f64,
        residual: f64,
        coefficients: &[f64],
        of_mean: f64,
        weights: &mut Vec<f64>,
    ) -> Option<usize> {
        let inverse = self.factor.as_ref().expect("the policy keeps a factor").inverse_diagonal();
        passes::weights(self, weights);
        for (weight, mean) in weights.iter_mut().zip(&self.mean) {
            *weight += of_mean * mean * mean;
        }
        let nearness = 1.0 / residual;
        let mut best = (own, None);
        for slot in self.forgettable() {
            // What is lost with a slot is its weight over this: its distance from the span of the others, the new row among them.
            let closeness = inverse[slot] + coefficients[slot] * coefficients[slot] * nearness;
            if weights[slot] < best.0 * closeness {
                best = (weights[slot] / closeness, Some(slot));
            }
        }
        best.1
    }

    /// The slot with the smallest weight: the squared length of its part of all components.
    fn smallest(&self, weights: &mut Vec<f64>) -> usize {
        passes::weights(self, weights);
        let weight = |slot: usize| weights[slot] * self.squares[slot];
        let mut best = (f64::INFINITY, self.len() - 1);
        for slot in self.forgettable() {
            if weight(slot) < best.0 {
                best = (weight(slot), slot);
            }
        }
        best.1
    }

    fn oldest(&self) -> usize {
        self.forgettable().min_by_key(|&slot| self.arrivals[slot]).expect("there are more than the budget")
    }

    /// What the weights of the mean are multiplied by when a row goes, so that it is the mean of what is left.
    ///
    /// A row counts with its weight: those of a mean add up to one. The centre of a [model](super::warm) counts for what the rows leave, which is all
    /// at first. Over its points, which came up to `n_before`, it may have the coefficients of a projection, of any sign and any sum, so each
    /// of them counts with its share of their absolute values.
    fn rest_of_mean(&self, gone: usize, n_before: usize) -> f64 {
        let (mut of_rows, mut rows_left, mut of_centre, mut centre_left) = (0.0, 0.0, 0.0, 0.0);
        for (slot, (weight, arrival)) in self.mean.iter().zip(&self.arrivals).enumerate() {
            let (size, left) = (weight.abs(), if slot == gone { 0.0 } else { weight.abs() });
            if (1..=n_before).contains(arrival) {
                of_centre += size;
                centre_left += left;
            } else {
                of_rows += size;
                rows_left += left;
            }
        }
        let centre = if of_centre > 0.0 { (1.0 - of_rows).max(0.0) * centre_left / of_centre } else { 0.0 };
        let left = rows_left + centre;
        if left > 0.0 { 1.0 / left } else { 0.0 }
    }
}

impl Learner {
    /// Refuses row `i` of a block, whose inner product with the mean is `with_mean`, if the policy projects and it is at a
    /// [negative squared distance](OnlineKernelPca::check_residual) from the rows in memory.
    pub(super) fn check_distance_from_memory(
        &mut self,
        block: &mut Block,
        i: usize,
        square: f64,
        with_mean: f64,
    ) -> Result<()> {
        if self.settings.kernel.is_positive_definite() {
            return Ok(());
        }
        let centred = square - 2.0 * with_mean + self.mean_squared;
        let learned_from = if self.is_centered() { centred.min(square) } else { square };
        let Some(memory) = self.memory.as_mut().filter(|memory| memory.factor.is_some()) else { return Ok(()) };
        if memory.place_of(block.row(i)).is_some() {
            return Ok(());
        }
        let residual = memory.factor.as_ref().map_or(0.0, |factor| block.residual(i, square, factor));
        self.settings.check_residual(residual, square, learned_from)
    }

    /// Forgets a row if there are more than the budget allows: the one that was chosen, if the policy looks ahead. Row `i` of the block
    /// has just been learned.
    pub(super) fn keep_to_budget(
        &mut self,
        chosen: Option<usize>,
        block: &mut Block,
        i: usize,
        work: &mut Workspace,
    ) -> Result<()> {
        let Some(budget) = self.settings.budget else { return Ok(()) };
        let memory = self.memory.as_ref().expect("made before the first row");
        if memory.n_forgettable() > budget {
            let slot = match (self.settings.policy.unwrap_or_default(), chosen) {
                (Policy::Oldest, _) => memory.oldest(),
                (Policy::Project, Some(slot)) => slot,
                (Policy::Project, None) | (Policy::Smallest, _) => memory.smallest(&mut work.weights),
            };
            if self.is_factored() {
                self.project(slot, work);
            } else {
                self.drop_row(slot)?;
            }
            self.given_up += 1;
            block.renew(i, slot, self.memory.as_ref().expect("there are rows"))?;
        }
        self.refresh_if_due()
    }

    /// Computes everything anew if as many rows were given up since the last time as rounding allows.
    fn refresh_if_due(&mut self) -> Result<()> {
        if self.is_refresh_due(0) { self.refresh() } else { Ok(()) }
    }

    /// Whether everything is to be computed anew once so many more rows have been given up.
    fn is_refresh_due(&self, more: usize) -> bool {
        let often = if self.drops_rows() { REFRESH_AFTER_DROPS } else { REFRESH_AFTER };
        self.given_up + more >= often * self.n_remembered()
    }

    /// Whether keeping to the budget after the next row may need kernel values of rows in memory: a step gives up one row at most.
    pub(super) fn may_call_to_keep_to_budget(&self) -> bool {
        self.settings.budget.is_some_and(|budget| {
            let is_full = self.memory.as_ref().is_some_and(|memory| memory.n_forgettable() >= budget);
            (self.drops_rows() && is_full) || self.is_refresh_due(1)
        })
    }

    /// A point was given up before there were rows.
    pub(super) fn keep_factor(&mut self) -> Result<()> {
        self.given_up += 1;
        self.refresh_if_due()
    }

    /// Drops a row, and with it a part of the components: its coefficient times the row. The mean is that of the rows left.
    ///
    /// By the smallest weight, the row less that mean goes. An update has added the row less the mean; were the row alone to go, what was subtracted for it
    /// would stay with the others and add up from row to row, so that rows which stay get weight and new ones never have more: memory would freeze.
    fn drop_row(&mut self, slot: usize) -> Result<()> {
        let n_before = self.n_before();
        let memory = self.memory.as_mut().expect("there are rows");
        let k = memory.kernel_row(&memory.rows.row(slot))?;
        let square = memory.squares[slot];
        let expansions = memory.components.iter().chain(std::iter::once(&memory.mean));
        let mut with_row = Vec::new();
        passes::products(memory.isa, expansions, &k, &mut with_row);
        let mean_with_row = with_row.pop().expect("one for the mean");
        let lost: Vec<f64> = memory.components.iter().map(|component| component[slot]).collect();
        let lost_mean = memory.mean[slot];
        let rest = memory.rest_of_mean(slot, n_before);
        let row_with_mean = (mean_with_row - lost_mean * square) * rest;
        let share = if self.settings.policy == Some(Policy::Smallest) { 1.0 } else { 0.0 };
        let mean_squared =
            (self.mean_squared - 2.0 * lost_mean * mean_with_row + lost_mean * lost_mean * square) * rest * rest;
        let with_mean: Vec<f64> =
            self.with_mean.iter().zip(&with_row).map(|(mean, row)| (mean - lost_mean * row) * rest).collect();
        // With what goes: the row, less the mean or not.
        let with_gone: Vec<f64> = with_row.iter().zip(&with_mean).map(|(row, mean)| row - share * mean).collect();
        let gone_squared = square - share * (2.0 * row_with_mean - mean_squared);
        let p = lost.len();
        self.inner = Mat::from_fn(p, p, |i, j| {
            self.inner[(i, j)] - lost[i] * with_gone[j] - lost[j] * with_gone[i] + lost[i] * lost[j] * gone_squared
        });
        self.with_mean = with_mean
            .iter()
            .zip(&lost)
            .map(|(mean, lost)| mean - lost * (row_with_mean - share * mean_squared))
            .collect();
        self.mean_squared = mean_squared;
        memory.swap_remove(slot);
        memory.mean.iter_mut().for_each(|mean| *mean *= rest);
        for (component, &lost) in memory.components.iter_mut().zip(&lost) {
            component.iter_mut().zip(&memory.mean).for_each(|(coefficient, mean)| *coefficient += share * lost * mean);
        }
        for (component, lost) in lost.iter().enumerate() {
            self.note_loss(component, lost.abs() * gone_squared.max(0.0).sqrt());
        }
        Ok(())
    }

    /// Replaces a row by the best combination of the others.
    pub(super) fn project(&mut self, slot: usize, work: &mut Workspace) {
        let Workspace { coefficients, lost, .. } = work;
        let memory = self.memory.as_mut().expect("there are rows");
        let factor = memory.factor.as_mut().expect("the policy keeps a factor");
        let residual = factor.swap_remove(slot, coefficients);
        lost.clear();
        lost.extend(memory.expansions().map(|expansion| expansion[slot]));
        memory.swap_remove(slot);
        passes::spread(memory, lost, coefficients);
        let lost_mean = lost.pop().expect("one for the mean");
        self.lose(lost, lost_mean, residual);
    }

    /// Computes the factor and all inner products anew, so that rounding does not build up over millions of rows.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.given_up = 0;
        let memory = self.memory.as_mut().expect("there are rows");
        let (m, p) = (memory.len(), memory.components.len());
        let mut images = vec![vec![0.0; m]; p + 1];
        // In the room that the factor has, unless the kernel is a function of the user, which may fail half-way.
        let mut factor = match memory.factor.take_if(|_| memory.rows.is_vectorised()) {
            Some(mut factor) => {
                factor.clear();
                Some(factor)
            }
            None => memory.factor.as_ref().map(Factor::anew),
        };
        let stride = memory.rows.padded_len();
        let (mut values, mut products, mut half) = (vec![0.0; ROWS_AHEAD * stride], Vec::new(), Vec::new());
        for first in (0..m).step_by(ROWS_AHEAD) {
            let rows: Vec<f64> = (first..m.min(first + ROWS_AHEAD)).flat_map(|i| memory.rows.row(i)).collect();
            memory.rows.kernel_rows(&rows, memory.rows.panels(), &mut values, stride)?;
            for (i, k) in (first..m.min(first + ROWS_AHEAD)).zip(values.chunks_exact(stride)) {
                let expansions = memory.components.iter().chain(std::iter::once(&memory.mean));
                passes::products(memory.isa, expansions, k, &mut products);
                for (image, product) in images.iter_mut().zip(&products) {
                    image[i] = *product;
                }
                if let Some(factor) = &mut factor {
                    factor.forward(1, |slot, _| k[slot], &mut half);
                    let residual = memory.squares[i] - half.iter().map(|z| z * z).sum::<f64>();
                    factor.push(&half, residual.max(ROUNDED * memory.squares[i]), &[]);
                }
            }
        }
        if let Some(factor) = &mut factor {
            factor.renew_inverse_diagonal();
        }
        let product = |expansion: &Vec<f64>, image: &[f64]| passes::product(memory.isa, expansion, image);
        self.inner = Mat::from_fn(p, p, |i, j| product(&memory.components[i.max(j)], &images[i.min(j)]));
        self.with_mean = memory.components.iter().map(|component| product(component, &images[p])).collect();
        self.mean_squared = product(&memory.mean, &images[p]);
        memory.factor = factor;
        Ok(())
    }
}
