//! What a fit keeps in memory beyond the data.

use super::Task;
use crate::choices::SolverChoice;
use crate::eigen::BlockKrylov;
use crate::gram::{Basis, PackedCopy, StoreFormat, block_size};
use crate::scalar::Precision;
use crate::simd::Isa;

/// Bytes by purpose; their sum is the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    packed: u64,
    vectors: u64,
    solver: u64,
    model: u64,
    scratch: u64,
    pub(super) max_subspace: usize,
}

impl Need {
    /// What an iterative solver with blocks of `block` vectors needs, without a store.
    pub(super) fn new(task: &Task<'_>, solver: SolverChoice, block: usize, copy: PackedCopy) -> Self {
        let k = task.n_components;
        let max_subspace = match solver {
            SolverChoice::Lanczos => (3 * k).max(60),
            SolverChoice::Power => k + 1,
            SolverChoice::Subspace => block,
            _ => BlockKrylov::new(k, block).max_subspace,
        }
        .min(task.n_samples);
        Self::with_subspace(task, block, max_subspace, copy)
    }

    /// The same for a basis of at most `max_subspace` vectors.
    pub(super) fn with_subspace(task: &Task<'_>, block: usize, max_subspace: usize, copy: PackedCopy) -> Self {
        let (n, k) = (task.n_samples as u64, task.n_components);
        let width = (block + 1).next_multiple_of(16) as u64;
        Self {
            packed: packed_size(task, copy),
            // Vectors in the tiles' precision and sums in double precision; the centred copy and the product's result.
            vectors: n * width * (task.precision.size() as u64 + 8 + 16),
            // The basis with room for a block; the block, its image, and what orthogonalising makes of it.
            solver: n * 8 * (max_subspace + 7 * block) as u64 + 3 * 8 * (max_subspace as u64).pow(2),
            // Eigenvectors as the solver returns them and as the model keeps them, and one more in between.
            model: 3 * n * 8 * k as u64,
            scratch: scratch_size(task),
            max_subspace,
        }
    }

    /// What the dense solver needs.
    pub(super) fn dense(task: &Task<'_>) -> Self {
        let n = task.n_samples as u64;
        // While the matrix is made: the identity in the tiles' precision, sums, the centred copy, the result, the matrix.
        let making = n * (n + 16) * (task.precision.size() as u64 + 8 + 16 + 8);
        // Afterwards: the matrix, its eigenvectors twice (sorted), and the decomposition's workspace.
        let decomposing = 6 * n * n * 8;
        Self {
            packed: packed_size(task, PackedCopy::Kept),
            vectors: 0,
            // The larger of the two, and one more matrix for what an allocator keeps of the first.
            solver: making.max(decomposing) + n * n * 8,
            model: 3 * n * 8 * task.n_components as u64,
            scratch: scratch_size(task),
            max_subspace: task.n_samples,
        }
    }

    /// The packed copy of the points.
    pub(super) fn packed(&self) -> u64 {
        self.packed
    }

    /// All of it.
    pub(super) fn total(&self) -> u64 {
        self.packed + self.vectors + self.solver + self.model + self.scratch
    }
}

fn packed_size(task: &Task<'_>, copy: PackedCopy) -> u64 {
    let (n, d, isa) = (task.n_samples, task.n_features, Isa::detect());
    match task.precision {
        Precision::F32 => Basis::<f32>::size_of_shape(copy, n, d, task.is_bytes, task.kernel, isa),
        Precision::F64 => Basis::<f64>::size_of_shape(copy, n, d, task.is_bytes, task.kernel, isa),
    }
}

/// What solving a sample and extending its solution takes: the sample itself, packed for its own matrix and for the others', its
/// tiles, its vectors, and those of all points.
pub(super) fn sample_size(task: &Task<'_>, sample: usize, vectors: usize) -> u64 {
    let (m, n, size) = (sample as u64, task.n_samples as u64, task.precision.size() as u64);
    let vectors = 8 * (m * 8 * vectors as u64 + 2 * n * vectors as u64);
    m * task.n_features as u64 * 3 * size + m * m * size + vectors
}

/// A tile per thread, and the points of its rows and columns packed for it.
fn scratch_size(task: &Task<'_>) -> u64 {
    let tile = tile_size(task) as u64;
    let size = task.precision.size() as u64;
    task.threads as u64 * tile * size * (tile + 2 * task.n_features as u64)
}

/// Rows and columns of a tile.
pub(super) fn tile_size(task: &Task<'_>) -> usize {
    match task.precision {
        Precision::F32 => block_size::<f32>(task.n_samples, Isa::detect()),
        Precision::F64 => block_size::<f64>(task.n_samples, Isa::detect()),
    }
}

/// Bytes of all tiles on and below the diagonal.
pub(super) fn store_size(task: &Task<'_>, format: StoreFormat) -> u64 {
    let tile = tile_size(task).max(1);
    let blocks = task.n_samples.div_ceil(tile) as u64;
    blocks * (blocks + 1) / 2 * (tile * tile) as u64 * format.entry_size(task.precision.size()) as u64
}
