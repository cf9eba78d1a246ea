//! What rows are to the components as they are, without learning from them.

use super::block::Block;
use super::learner::{Learner, Seen};
use super::memory::Memory;
use super::passes;
use crate::data::Points;
use crate::error::Result;

impl Learner {
    /// What a row is to the components as they are, without learning from it.
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn look(&self, x: &[f64]) -> Result<Seen> {
        self.check(x, 0)?;
        let Some(memory) = &self.memory else { return self.first_look(x) };
        let mut block = Block::default();
        block.load(x.to_vec(), memory)?;
        self.look_at(memory, &block, 0, 0)
    }

    /// What rows are to the components as they are, without learning from them.
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn look_at_rows(&self, points: &Points) -> Result<Vec<Seen>> {
        let n = points.n_samples();
        let (mut seen, mut block) = (Vec::with_capacity(n), Block::default());
        for first in (0..n).step_by(self.rows_ahead()) {
            let rows = points.rows(first..n.min(first + self.rows_ahead())).to_f64();
            for (i, row) in rows.chunks_exact(points.n_features()).enumerate() {
                self.check(row, first + i)?;
            }
            match &self.memory {
                None => {
                    for row in rows.chunks_exact(points.n_features()) {
                        seen.push(self.first_look(row)?);
                    }
                }
                Some(memory) => {
                    block.load(rows, memory)?;
                    for i in 0..block.len() {
                        seen.push(self.look_at(memory, &block, i, first + i)?);
                    }
                }
            }
        }
        Ok(seen)
    }

    /// What a row is to a learner that has seen none.
    fn first_look(&self, x: &[f64]) -> Result<Seen> {
        let novelty = self.settings.kernel.evaluate(x, x)?;
        Ok(Seen { outputs: vec![0.0; self.settings.n_components], novelty })
    }

    fn look_at(&self, memory: &Memory, block: &Block, i: usize, row: usize) -> Result<Seen> {
        let (raw, length_squared) = self.image(memory, block, i, row)?;
        let novelty = (length_squared - self.explained(&raw)).max(0.0);
        let mut outputs = Vec::with_capacity(raw.len());
        self.learned_outputs(&raw, &mut outputs);
        Ok(Seen { outputs, novelty })
    }

    /// The outputs of row `i` of a block, and the squared length of its centred image.
    pub(super) fn image(&self, memory: &Memory, block: &Block, i: usize, row: usize) -> Result<(Vec<f64>, f64)> {
        let (x, k) = (block.row(i), block.values(i, memory));
        memory.rows.check_row(k, row)?;
        let square = self.settings.kernel.evaluate(x, x)?;
        let mut outputs = Vec::with_capacity(memory.components.len());
        passes::products(memory.isa, memory.components.iter(), k, &mut outputs);
        let mut length_squared = square;
        if self.is_centered() {
            outputs.iter_mut().zip(&self.with_mean).for_each(|(output, offset)| *output -= offset);
            let with_mean = passes::product(memory.isa, &memory.mean, k);
            length_squared = square - 2.0 * with_mean + self.mean_squared;
        }
        Ok((outputs, length_squared))
    }

    /// What components with outputs `y` explain of a squared length: `2 y·y − y (w·w) y`.
    pub(super) fn explained(&self, outputs: &[f64]) -> f64 {
        let row = |i: usize| (0..outputs.len()).map(|j| self.inner[(i, j)] * outputs[j]).sum::<f64>();
        outputs.iter().enumerate().map(|(i, y)| y * (2.0 * y - row(i))).sum()
    }
}
