//! Rows that are about to be learned, and what can be computed for several of them together.
//!
//! Kernel values of a row with the rows in memory do not depend on what is learned in between, only on which rows are in memory; and
//! when one of them changes, one panel of values is computed anew for the rows still to come. Systems with the factor are solved for a
//! few rows ahead, and solved again if the factor has changed when a row's turn comes. So a row gets the same numbers whatever it was
//! computed together with.

use super::factor::{Factor, WIDTH, Wide};
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

/// Solutions for the rows from `first` on, of the factor as it was at `version`.
struct Solved {
    first: usize,
    version: u64,
    half: Vec<Wide>,
    squared_norms: Wide,
    combinations: Option<Vec<Wide>>,
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
        square - solved.squared_norms[i - solved.first]
    }

    /// What the factor gains when row `i` enters it.
    pub(super) fn half(&mut self, i: usize, factor: &Factor) -> Vec<f64> {
        let solved = self.solved(i, factor);
        solved.half.iter().map(|z| z[i - solved.first]).collect()
    }

    /// The best combination of the rows in memory for row `i`, as long as an expansion.
    pub(super) fn combination(&mut self, i: usize, factor: &Factor, padded_len: usize) -> Vec<f64> {
        let solved = self.solved(i, factor);
        let combinations = solved.combinations.get_or_insert_with(|| factor.backward(solved.half.clone()));
        let mut coefficients = vec![0.0; padded_len];
        factor.by_slot(combinations, i - solved.first, &mut coefficients);
        coefficients
    }

    fn solved(&mut self, i: usize, factor: &Factor) -> &mut Solved {
        let is_current =
            |solved: &Solved| solved.version == factor.version() && (solved.first..solved.first + WIDTH).contains(&i);
        if !self.solved.as_ref().is_some_and(is_current) {
            let rows = i..self.len().min(i + WIDTH);
            let (values, stride) = (&self.values, self.stride);
            let half = factor.forward(|slot| {
                let mut wide = [0.0; WIDTH];
                for (wide, row) in wide.iter_mut().zip(rows.clone()) {
                    *wide = values[row * stride + slot];
                }
                wide
            });
            let mut squared_norms = [0.0; WIDTH];
            for z in &half {
                for (sum, z) in squared_norms.iter_mut().zip(z) {
                    *sum += z * z;
                }
            }
            self.solved = Some(Solved { first: i, version: factor.version(), half, squared_norms, combinations: None });
        }
        self.solved.as_mut().expect("solved above")
    }
}
