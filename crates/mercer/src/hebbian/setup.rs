//! What is decided before the first update: memory, the engine, the batch size.

use super::engine::{Engine, TileEngine};
use super::settings::KernelHebbianPca;
use crate::choices::{GramChoice, Refresh};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::gram::{Basis, Element, PackedCopy, block_size};
use crate::kernel::Kernel;
use crate::model::Prepared;
use crate::scalar::Precision;
use crate::simd::Isa;

/// Samples of a batch: enough that what is done once per batch is lost in the kernel rows, few enough that the tile of a block of
/// columns stays in the second-level cache.
const BATCH: usize = 288;
/// The same for few points: the kernel between the samples of a batch costs in proportion to its square, and must be small beside
/// their kernel with all points.
const BATCH_SHARE: usize = 10;
const LEAST_BATCH: usize = 48;
/// Samples of a batch if eigenvalues are followed: inner products of all pairs of rows are computed then, which cost in
/// proportion to the batch.
const FOLLOWED_BATCH: usize = 96;
/// Below this many features, computing a row again is as fast as reading it back.
const STORE_FROM_FEATURES: usize = 12;

/// How a run is set up.
pub(super) struct Setup {
    pub(super) engine: Box<dyn Engine>,
    /// Bytes for rows that are kept.
    pub(super) store_bytes: u64,
    /// Bytes in all, beyond the data.
    pub(super) memory_bytes: u64,
}

impl KernelHebbianPca {
    /// The samples of a batch.
    pub(super) fn batch(&self, n_samples: usize) -> usize {
        let most = if self.follows() { FOLLOWED_BATCH } else { BATCH };
        self.batch_size.unwrap_or((n_samples / BATCH_SHARE).clamp(LEAST_BATCH, most)).min(n_samples)
    }

    fn follows(&self) -> bool {
        self.rule.uses_eigenvalues() && self.refresh == Refresh::Iteration
    }

    /// Packs the points within the memory budget.
    pub(super) fn set_up(&self, prepared: &Prepared, points: &Points) -> Result<Setup> {
        match prepared.precision {
            Precision::F32 => self.set_up_in::<f32>(prepared, points),
            Precision::F64 => self.set_up_in::<f64>(prepared, points),
        }
    }

    fn set_up_in<T: Element>(&self, prepared: &Prepared, points: &Points) -> Result<Setup> {
        let needed = self.needed::<T>(prepared, points);
        if needed > prepared.budget {
            return Err(Error::OverBudget {
                what: format!("{} components of {} points", self.n_components, points.n_samples()),
                needed,
                budget: prepared.budget,
                advice: "ask for fewer components, smaller batches, or a larger budget".to_owned(),
            });
        }
        let wants_store = !matches!(prepared.kernel, Kernel::Precomputed)
            && match self.common.gram {
                GramChoice::Tiled => false,
                GramChoice::Stored => true,
                GramChoice::Auto => points.n_features() >= STORE_FROM_FEATURES,
            };
        let n = points.n_samples() as u64;
        let whole = n * (n + 64) * size_of::<T>() as u64;
        let store_bytes = if wants_store { whole.min(prepared.budget - needed) } else { 0 };
        let engine =
            prepared.threads.run(|| TileEngine::<T>::new(points, &prepared.kernel, store_bytes)).map(Box::new)?;
        Ok(Setup { engine, store_bytes, memory_bytes: needed + store_bytes })
    }

    /// Bytes beyond the data, without rows that are kept.
    fn needed<T: Element>(&self, prepared: &Prepared, points: &Points) -> u64 {
        let (n, d, isa) = (points.n_samples(), points.n_features(), Isa::detect());
        let geometry = crate::tile::Geometry::of::<T>(isa);
        let rows = if self.rule.adapts() { 2 * self.n_components } else { self.n_components };
        let (n64, size) = (geometry.padded(n) as u64, size_of::<T>() as u64);
        let width = (rows + 1).next_multiple_of(geometry.lanes) as u64;
        let batch = (geometry.padded(self.batch(n)) + geometry.unit) as u64;
        let block = block_size::<T>(n, isa) as u64;
        let packed = Basis::<T>::size_of_shape(PackedCopy::Kept, n, d, points.is_bytes(), &prepared.kernel, isa);
        // Coefficients and images, and a copy of both to come back to.
        let state = 4 * 8 * n64 * width;
        // The first product: vectors in the tiles' precision, sums, the centred copy and the result; coefficients as a matrix.
        let product = n64 * width * (size + 8 + 16) + 2 * 8 * n64 * self.n_components as u64;
        let kept = if self.follows() { batch * n64 * size } else { 0 };
        let scratch = prepared.threads.count() as u64 * block * (batch * size + width * 8 + (width + batch) * size);
        let small = 8 * batch * (batch * 3 + 4 * width) + batch * d as u64 * (size + 8);
        packed + state + product + kept + scratch + small
    }
}
