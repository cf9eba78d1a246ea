//! Rows that are about to be learned, and what can be computed for several of them together.
//!
//! Kernel values of a row with the rows in memory do not depend on what is learned in between, only on which rows are in memory; and
//! when one of them changes, one panel of values is computed anew for the rows still to come. Systems with the factor are solved for a
//! few rows ahead as long as the factor stays as it is, and for one row at a time while it changes. So a row gets the same numbers
//! whatever it was computed together with.

use super::factor::{Factor, WIDTH};
use super::memory::Memory;
use crate::error::Result;

/// Rows whose kernel values are computed together: their values for a few hundred rows in memory fit the second-level cache.
pub(super) const ROWS_AHEAD: usize = 32;

/// Rows that are about to be learned.
pub(super) struct Block {
    rows: Vec<f64>,
    n_features: usize,
    values: Vec<f64>,
    stride: usize,
    solved: Option<Solved>,
}

/// Solutions for `width` rows from `first` on, of the factor as it was at `version`.
struct Solved {
    first: usize,
    width: usize,
    version: u64,
    half: Vec<f64>,
    combinations: Option<Vec<f64>>,
}

impl Solved {
    /// What belongs to row `i` of solutions that stand side by side.
    fn of(&self, i: usize, solutions: &[f64]) -> impl Iterator<Item = f64> {
        solutions.iter().copied().skip(i - self.first).step_by(self.width)
    }
}

impl Block {
    /// Rows, one after the other, and their kernel values with those in memory.
    pub(super) fn new(rows: Vec<f64>, memory: &Memory) -> Result<Self> {
        let n_features = memory.rows.n_features();
        let n = rows.len() / n_features;
        // Every row may find a place in memory.
        let stride = (memory.len() + n).next_multiple_of(memory.rows.lanes());
        let mut block = Self { rows, n_features, values: vec![0.0; n * stride], stride, solved: None };
        memory.rows.kernel_rows(&block.rows, memory.rows.panels(), &mut block.values, stride)?;
        Ok(block)
    }

    /// Rows in the block.
    pub(super) fn len(&self) -> usize {
        self.rows.len() / self.n_features
    }

    pub(super) fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.n_features..][..self.n_features]
    }

    /// The kernel values of a row, as many as expansions have coefficients.
    pub(super) fn values(&self, i: usize, memory: &Memory) -> &[f64] {
        &self.values[i * self.stride..][..memory.rows.padded_len()]
    }

    /// Row `i` itself has found a place: the kernel values of the rows after it with that slot, and its own.
    pub(super) fn has_entered(&mut self, i: usize, slot: usize, memory: &Memory) -> Result<()> {
        self.values[i * self.stride + slot] = memory.squares[slot];
        self.renew(i, slot, memory)
    }

    /// Another row is in a slot now: the kernel values of the rows after `i` with it.
    pub(super) fn renew(&mut self, i: usize, slot: usize, memory: &Memory) -> Result<()> {
        let next = i + 1;
        if next == self.len() || slot >= memory.len() {
            return Ok(());
        }
        let (rows, values) = (&self.rows[next * self.n_features..], &mut self.values[next * self.stride..]);
        memory.rows.kernel_rows(rows, memory.rows.panel_of(slot), values, self.stride)
    }

    /// The squared distance from the span of the rows in memory of row `i`, whose kernel with itself is `square`.
    pub(super) fn residual(&mut self, i: usize, square: f64, factor: &Factor) -> f64 {
        let solved = self.solved(i, factor);
        square - solved.of(i, &solved.half).map(|z| z * z).sum::<f64>()
    }

    /// What the factor gains when row `i` enters it.
    pub(super) fn half(&mut self, i: usize, factor: &Factor) -> Vec<f64> {
        let solved = self.solved(i, factor);
        solved.of(i, &solved.half).collect()
    }

    /// The best combination of the rows in memory for row `i`, as long as an expansion.
    pub(super) fn combination(&mut self, i: usize, factor: &Factor, padded_len: usize) -> Vec<f64> {
        let solved = self.solved(i, factor);
        if solved.combinations.is_none() {
            solved.combinations = Some(factor.backward(solved.width, solved.half.clone()));
        }
        let combinations = solved.combinations.as_ref().expect("made above");
        let mut coefficients = vec![0.0; padded_len];
        factor.by_slot(solved.of(i, combinations), &mut coefficients);
        coefficients
    }

    /// The solved systems that row `i` is among.
    fn solved(&mut self, i: usize, factor: &Factor) -> &mut Solved {
        let version = factor.version();
        let is_current =
            |solved: &Solved| solved.version == version && (solved.first..solved.first + solved.width).contains(&i);
        if !self.solved.as_ref().is_some_and(is_current) {
            // Solutions for rows ahead would be of no use if the factor changed again.
            let stays = self.solved.as_ref().is_some_and(|solved| solved.version == version);
            let width = if stays { WIDTH } else { 1 };
            let (values, stride, n) = (&self.values, self.stride, self.len());
            let half = factor.forward(width, |slot, w| if i + w < n { values[(i + w) * stride + slot] } else { 0.0 });
            self.solved = Some(Solved { first: i, width, version, half, combinations: None });
        }
        self.solved.as_mut().expect("solved above")
    }
}
