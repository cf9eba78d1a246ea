//! Tiles in the place of an expansion.

use faer::{MatMut, MatRef};

use crate::data::Points;
use crate::error::Result;
use crate::gram::{KernelGram, SymmetricOperator};
use crate::kernel::Kernel;
use crate::watch::Context;

/// What there is to say of tiles that are used in the place of an expansion.
pub(crate) struct TilesInstead {
    /// Why they are.
    pub(crate) warning: String,
    /// What rounding costs an entry, relative to the largest.
    pub(crate) bound: f64,
    /// The largest entry, as far as it is known beforehand.
    pub(crate) scale: f64,
}

/// The kernel matrix of points by tiles.
pub(super) struct Tiles {
    gram: KernelGram<f64>,
    /// Vectors that are multiplied at a time.
    columns: usize,
}

impl Tiles {
    /// For as many vectors at a time as this memory has room for beside the packed points, but one at least.
    pub(super) fn new(kernel: &Kernel, points: &Points, memory: u64, context: &Context<'_>) -> Result<Self> {
        let gram = context.threads.run(|| KernelGram::new(points, kernel, None))?;
        let (n, d) = (points.n_samples() as u64, points.n_features() as u64);
        // A vector in the order of tiles, its sums, and its result.
        let (packed, column) = (8 * n * (d + 1), 24 * n.max(1));
        let columns = (memory.saturating_sub(packed) / column).clamp(1, u64::from(u32::MAX)) as usize;
        Ok(Self { gram, columns })
    }

    pub(super) fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        for first in (0..x.ncols()).step_by(self.columns) {
            let count = self.columns.min(x.ncols() - first);
            self.gram.apply(x.subcols(first, count), out.as_mut().subcols_mut(first, count), context)?;
        }
        Ok(())
    }

    pub(super) fn entries_computed(&self) -> u64 {
        self.gram.entries_computed()
    }
}
