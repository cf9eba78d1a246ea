//! Rows that are about to be learned, and what can be computed for several of them together.
//!
//! Kernel values of a row with the rows in memory do not depend on what is learned in between, only on which rows are in memory; and
//! when one of them changes, one panel of values is computed anew for the rows still to come. Systems with the factor are solved for
//! several rows ahead as long as the factor stays as it is, and for two at a time while it changes. A row gets the same numbers
//! whatever it was computed together with.

use super::factor::{Factor, PAIR, WIDTH};
use super::memory::Memory;
use crate::error::Result;

/// Rows whose kernel values are computed together: their values for a few hundred rows in memory fit the second-level cache.
pub(super) const ROWS_AHEAD: usize = 32;

/// Rows from which on solving for [`WIDTH`] together is faster than for two at a time.
const WORTH_IT: usize = 6;
/// A factor that has lasted for so many rows is expected to last.
const LASTS: usize = 2 * WIDTH;

/// Rows that are about to be learned.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    rows: Vec<f64>,
    n_features: usize,
    values: Vec<f64>,
    stride: usize,
    solved: Solved,
}

/// Solutions for `width` rows from `first` on, of the factor as it was at `version`.
#[derive(Clone, Debug, Default)]
struct Solved {
    first: usize,
    width: usize,
    version: u64,
    /// Rows that have been solved for with this version.
    rows: usize,
    half: Vec<f64>,
    /// The squared norm of each of them.
    squares: [f64; WIDTH],
    /// Empty until they are asked for.
    combinations: Vec<f64>,
}

impl Block {
    /// Takes rows, one after the other, in the place of those before, and computes their kernel values with the rows in memory.
    pub(super) fn load(&mut self, rows: Vec<f64>, memory: &Memory) -> Result<()> {
        self.n_features = memory.rows.n_features();
        let n = rows.len() / self.n_features;
        // Every row may find a place in memory.
        self.stride = (memory.len() + n).next_multiple_of(memory.rows.lanes());
        self.rows = rows;
        self.values.clear();
        self.values.resize(n * self.stride, 0.0);
        self.solved.width = 0;
        memory.rows.kernel_rows(&self.rows, memory.rows.panels(), &mut self.values, self.stride)
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
        square - solved.squares[i - solved.first]
    }

    /// What the factor gains when row `i` enters it.
    pub(super) fn half(&mut self, i: usize, factor: &Factor) -> impl Iterator<Item = f64> {
        let solved = self.solved(i, factor);
        let point = i - solved.first;
        solved.half.chunks_exact(solved.width).map(move |row| row[point])
    }

    /// Writes the best combination of the rows in memory for row `i`, as long as an expansion.
    pub(super) fn combination(&mut self, i: usize, factor: &Factor, padded_len: usize, out: &mut Vec<f64>) {
        let solved = self.solved(i, factor);
        // Of every row once; how far away it is may be asked more often.
        solved.rows += 1;
        if solved.combinations.is_empty() {
            solved.combinations.extend_from_slice(&solved.half);
            factor.backward(solved.width, &mut solved.combinations);
        }
        out.clear();
        out.resize(padded_len, 0.0);
        factor.by_slot(&solved.combinations, i - solved.first, solved.width, out);
    }

    /// The solved systems that row `i` is among.
    fn solved(&mut self, i: usize, factor: &Factor) -> &mut Solved {
        let (n, version) = (self.len(), factor.version());
        let Self { values, stride, solved, .. } = self;
        let stays = solved.version == version;
        if !(stays && (solved.first..solved.first + solved.width).contains(&i)) {
            // Solutions for rows ahead are of no use if the factor changes again, as it did, or the one before it.
            let width = match n - i {
                1 => 1,
                left if left >= WORTH_IT && solved.rows >= LASTS => WIDTH,
                _ => PAIR,
            };
            let k = |slot: usize, w: usize| if i + w < n { values[(i + w) * *stride + slot] } else { 0.0 };
            factor.forward(width, k, &mut solved.half);
            solved.squares = [0.0; WIDTH];
            for row in solved.half.chunks_exact(width) {
                for (square, z) in solved.squares.iter_mut().zip(row) {
                    *square += z * z;
                }
            }
            solved.combinations.clear();
            solved.rows = if stays { solved.rows } else { 0 };
            (solved.first, solved.width, solved.version) = (i, width, version);
        }
        solved
    }
}
