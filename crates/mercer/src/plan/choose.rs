//! The choices of a plan, one function each, and the thresholds they rest on.

use super::Task;
use super::memory_need::{self, Need};
use crate::choices::{GramChoice, SolverChoice};
use crate::error::bytes;
use crate::gram::StoreFormat;
use crate::kernel::Kernel;

/// Up to this many points the dense solver is as fast as any other.
pub(super) const DENSE_UP_TO: usize = 128;
/// And up to this many it is taken for kernels that may have negative eigenvalues, because it sees all of them.
pub(super) const DENSE_UP_TO_INDEFINITE: usize = 200;
/// And beyond this share of the spectrum a Krylov basis would be as large as the matrix,
const DENSE_SHARE: usize = 4;
/// or beyond this one, where the matrix fits the cache, so that its decomposition takes no longer than that of the basis.
const DENSE_SHARE_OF_FEW: usize = 6;
/// Up to this many points it does.
const FEW_UP_TO: usize = 400;
/// Below this many features, recomputing a tile is as fast as reading it back from memory, where the points are many.
pub(super) const STORE_FROM_FEATURES: usize = 12;
/// Tiles of bytes are made faster than those of floating-point numbers: where bytes are mostly not zero 1.1 to 1.4 times with AVX2.
pub(super) const STORE_FROM_BYTE_FEATURES: usize = 24;
/// Keeping less than this share of the tiles is not worth the memory.
const MIN_STORED_SHARE: f64 = 0.1;
/// Tiles that take more than this are kept in 16-bit fixed point if they may be: memory that is written to for the first time can take as long as making
/// the tiles, and every pass reads them. Of fewer there is little to save, and their error need not be looked at.
pub(super) const LARGE_STORE: u64 = 1 << 30;
/// Tiles may be kept in 16-bit fixed point where that changes the matrix by at most this share of what the tolerance allows.
pub(crate) const FIXED16_SHARE: f64 = 0.1;
/// Where nobody has measured what it changes, they may from this tolerance on: an entry's error of at most 1/131070 changes an eigenvalue
/// by at most `n / 131070`, which is a tenth of this share of the largest one even if that holds only a twelfth of the variance.
pub(super) const FIXED16_FROM_TOLERANCE: f64 = 1e-3;
/// From this many points on, solving a sample first saves more than it costs.
pub(super) const SAMPLE_FROM: usize = 4000;
/// One point in this many goes into the sample, as far as [`MAX_SAMPLE`].
const SAMPLE_SHARE: usize = 16;
/// A smaller sample says little about the directions of all points.
pub(super) const MIN_SAMPLE: usize = 256;
/// A larger sample costs more than the pass it saves.
pub(super) const MAX_SAMPLE: usize = 4096;
/// Where passes read tiles back, a sample may cost this share of what it saves: a few hundred points say where to go nearly as well as thousands.
const SAVED_SHARE: f64 = 1.0 / 3.0;
/// Passes that a start from a sample saves: on digits random blocks took two more, whatever their width.
const PASSES_SAVED: f64 = 2.0;
/// Vectors multiplied in one pass over stored tiles: a pass then costs in proportion to its width, so it is kept narrow.
const STORED_BLOCK: usize = 16;
/// The same where tiles and basis fit the cache, so that the projected problem, which grows with the block, is what costs.
const SMALL_BLOCK: usize = 16;
/// The same for an expansion, whose cost is in proportion, too, and which is for many points: long vectors are what takes memory.
const EXPANSION_BLOCK: usize = 8;
/// And its start: the extension of a sample is computed by tiles.
const EXPANSION_SAMPLE: usize = 1024;
/// Up to this many points they do.
pub(super) const SMALL_UP_TO: usize = 4000;

/// The solver that was asked for, or the one that suits the task.
pub(super) fn choose_solver(task: &Task<'_>, reasons: &mut Vec<String>) -> SolverChoice {
    let (n, k) = (task.n_samples, task.n_components);
    if task.solver != SolverChoice::Auto {
        return task.solver;
    }
    let dense_fits = Need::dense(task).total() <= task.budget;
    if n <= if task.kernel.is_positive_definite() { DENSE_UP_TO } else { DENSE_UP_TO_INDEFINITE } && dense_fits {
        reasons.push(format!("dense solver, because {n} points are few"));
        return SolverChoice::Dense;
    }
    let (share, name) = if n <= FEW_UP_TO { (DENSE_SHARE_OF_FEW, "a sixth") } else { (DENSE_SHARE, "a quarter") };
    if k * share > n && dense_fits {
        reasons.push(format!("dense solver, because {k} components are more than {name} of the spectrum"));
        return SolverChoice::Dense;
    }
    reasons.push(format!("block Krylov solver, because {k} of {n} components are few"));
    SolverChoice::Krylov
}

/// Whether reading a tile back is faster than making it again.
pub(super) fn worth_storing(task: &Task<'_>, reasons: &mut Vec<String>) -> bool {
    if matches!(task.kernel, Kernel::Precomputed) {
        return false;
    }
    let from = if task.is_bytes { STORE_FROM_BYTE_FEATURES } else { STORE_FROM_FEATURES };
    // Kept tiles of few points are read from the cache, and many passes of few vectors, which they allow, make a small basis.
    let is_small = task.n_samples <= SMALL_UP_TO;
    let worth = is_small || task.n_features >= from || matches!(task.kernel, Kernel::Custom(_));
    if !worth {
        reasons.push(format!(
            "tiles are recomputed, because with {} features that is as fast as reading them",
            task.n_features
        ));
    }
    worth
}

/// The block width that is best without regard to memory.
pub(super) fn first_block(task: &Task<'_>, solver: SolverChoice, stored: bool) -> usize {
    let (n, k) = (task.n_samples, task.n_components);
    // One short of a whole number of registers: the first product carries a column of ones along.
    let whole = |vectors: usize| vectors.next_multiple_of(16) - 1;
    let block = match solver {
        SolverChoice::Lanczos | SolverChoice::Power => 1,
        SolverChoice::Subspace => 2 * k.max(4),
        // A product with an expansion costs in proportion to its vectors.
        _ if task.gram == GramChoice::Expansion => EXPANSION_BLOCK.max(k / 2).next_multiple_of(8) - 1,
        _ if stored && n <= SMALL_UP_TO => whole(SMALL_BLOCK.max(k / 6)),
        // A narrow block for stored tiles, unless even more pairs are wanted than three passes would span.
        _ if stored => whole(STORED_BLOCK.max(k / 3)),
        // A pass that recomputes tiles costs about the same whatever its width: wide blocks need fewest passes.
        _ => whole((2 * k).max(16)),
    };
    block.min(n)
}

/// Tiles that are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) format: StoreFormat,
    pub(crate) bytes: u64,
    /// Of all tiles.
    pub(crate) share: f64,
}

impl Kept {
    pub(super) const NONE: Self = Self { format: StoreFormat::Full, bytes: 0, share: 0.0 };
}

/// Whether tiles may be kept in 16-bit fixed point.
fn may_round(task: &Task<'_>, reasons: &mut Vec<String>) -> bool {
    if !task.kernel.has_unit_range() {
        return false;
    }
    let Some(error) = task.fixed16_error else {
        let may = task.tolerance >= FIXED16_FROM_TOLERANCE;
        if may {
            reasons.push(format!(
                "16-bit fixed point, because a tolerance of {:.1e} permits it for most points, and nothing is known of these",
                task.tolerance
            ));
        }
        return may;
    };
    let may = error <= FIXED16_SHARE * task.tolerance;
    let (word, would) = if may { ("", "changes") } else { ("no ", "would change") };
    if error.is_finite() {
        reasons.push(format!(
            "{word}16-bit fixed point, because it {would} the kernel matrix of these points by {error:.1e} of its first eigenvalue \
             (tolerance {:.1e})",
            task.tolerance
        ));
    }
    may
}

/// Whether tiles take so much as they are that they are kept in 16-bit fixed point if they may be: more than `left` bytes, or very many.
pub(super) fn rounding_pays(task: &Task<'_>, left: u64) -> bool {
    memory_need::store_size(task, StoreFormat::Full) > left.min(LARGE_STORE)
}

/// How tiles are kept within `left` bytes.
pub(super) fn store(task: &Task<'_>, left: u64, reasons: &mut Vec<String>) -> Kept {
    let rounds = rounding_pays(task, left) && may_round(task, reasons);
    let format = if rounds { StoreFormat::Fixed16 } else { StoreFormat::Full };
    let whole = memory_need::store_size(task, format);
    let kept = whole.min(left);
    let share = kept as f64 / whole.max(1) as f64;
    // Whoever asks for stored tiles gets as many as fit, however few.
    if share < MIN_STORED_SHARE && (task.gram == GramChoice::Auto || kept == 0) {
        reasons.push(format!(
            "tiles are recomputed, because keeping them takes {} and only {} are left",
            bytes(whole),
            bytes(left)
        ));
        return Kept::NONE;
    }
    let how = if format == StoreFormat::Fixed16 { " in 16-bit fixed point" } else { "" };
    reasons.push(if share < 1.0 {
        format!(
            "{:.0} % of the tiles are kept{how}, the others recomputed: all of them take {}",
            100.0 * share,
            bytes(whole)
        )
    } else {
        format!("all tiles are kept{how}, because {} fit the memory budget", bytes(whole))
    });
    Kept { format, bytes: kept, share }
}

/// How many points are solved exactly to start from; none if that does not pay or does not fit.
pub(super) fn start_sample(
    task: &Task<'_>,
    solver: SolverChoice,
    block: usize,
    stored_share: f64,
    left: u64,
    reasons: &mut Vec<String>,
) -> usize {
    let n = task.n_samples;
    // A precomputed matrix has no kernel to extend a sample's solution with.
    if n < SAMPLE_FROM || solver != SolverChoice::Krylov || matches!(task.kernel, Kernel::Precomputed) {
        return 0;
    }
    let most = if task.gram == GramChoice::Expansion { EXPANSION_SAMPLE } else { MAX_SAMPLE };
    let vectors = block.max(task.n_components);
    let least = MIN_SAMPLE.max(4 * vectors).min(n / 2);
    let large = (n / SAMPLE_SHARE).clamp(MIN_SAMPLE, most).max(least).min(n / 2);
    let most_worth = most_worth(task, block, vectors, stored_share);
    let sample = if large as f64 <= most_worth { large } else { (SAVED_SHARE * most_worth) as usize };
    // A sample says little of nearly as many directions as it has points. The vectors of the solver come later: until then there is room for it.
    if sample < least.max(2 * vectors) || memory_need::sample_size(task, sample, vectors) > left {
        return 0;
    }
    reasons.push(format!("starts from the solution for {sample} sampled points, which saves a pass or two"));
    sample
}

/// How large a sample may be for a start from it, which is extended for so many vectors, to take no more multiply-adds, counted per point, than the passes
/// it saves.
///
/// Passes over tiles that are read back are cheap, while the sample's solution is extended by tiles that are computed.
fn most_worth(task: &Task<'_>, block: usize, vectors: usize, stored_share: f64) -> f64 {
    let (n, columns) = (task.n_samples as f64, (block + 1) as f64);
    let entry = match task.gram {
        // Passes of an expansion cost what its vectors do; the sample is small, and worth it.
        GramChoice::Expansion => return f64::INFINITY,
        // An exponential takes as long as a product of sixteen coordinates.
        _ => task.n_features as f64 + 16.0,
    };
    let pass = 0.5 * n * (1.0 - stored_share) * entry + n * columns;
    PASSES_SAVED * pass / (entry + (vectors + 1) as f64)
}

/// Passes to the tolerance, from runs on image and sensor data; spectra differ, so this is a guess to a factor of two.
///
/// The constants come from fits of MNIST and of smaller digits, and of points on a sheet, with 5 to 50 components to 4 to 9
/// digits. Block Krylov took 3 to 8 passes and this says 4 to 9, never off by more than one; Lanczos took 40 and 50 where this
/// says 37 and 48.
pub(super) fn expected_passes(
    solver: SolverChoice,
    k: usize,
    block: usize,
    start_sample: usize,
    tolerance: f64,
) -> usize {
    let digits = -tolerance.log10().clamp(-16.0, -1.0);
    let passes = match solver {
        SolverChoice::Krylov => {
            // Each pass adds a block; about k more vectors are needed for every three digits, and some passes until the
            // first block has found its direction and the last one has shown that nothing was missed.
            let vectors = k as f64 * (1.0 + digits / 3.0) + digits * 6.0;
            let around = if start_sample > 0 { 2.0 } else { 3.5 };
            vectors / block as f64 + around
        }
        SolverChoice::Lanczos => 2.0 * k as f64 + 3.0 * digits,
        SolverChoice::Subspace => 4.0 * digits,
        SolverChoice::Power => 30.0 * digits * k as f64,
        SolverChoice::Dense | SolverChoice::Auto => 1.0,
    };
    passes.ceil() as usize
}
