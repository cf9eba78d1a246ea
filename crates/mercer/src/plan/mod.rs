//! The plan of a fit: what will be done, why, and what it will cost.
//!
//! [`Plan::for_fit`] is the automatic choice of method. It is a pure function of the [`Task`] (shape, kernel, wishes, budget) and
//! of the machine's [`Speeds`]; everything it decides is in the plan that comes out, and in the record of the run.

mod memory_need;
mod speeds;

use std::fmt;

use serde::{Deserialize, Serialize};

use self::memory_need::Need;
pub use self::speeds::Speeds;
use crate::choices::{GramChoice, SolverChoice};
use crate::error::{Error, Result, bytes};
use crate::gram::{PackedCopy, StoreFormat};
use crate::kernel::Kernel;
use crate::scalar::Precision;

/// What a plan is made for.
///
/// ```
/// use mercer::plan::{Plan, Speeds, Task};
/// use mercer::{GramChoice, Kernel, Precision, SolverChoice};
///
/// // Without any data: what would a million points take?
/// let kernel = Kernel::gaussian(0.1)?;
/// let task = Task {
///     n_samples: 1_000_000,
///     n_features: 20,
///     is_bytes: false,
///     kernel: &kernel,
///     n_components: 10,
///     precision: Precision::F32,
///     tolerance: 1e-4,
///     budget: 4 << 30,
///     threads: 8,
///     gram: GramChoice::Auto,
///     solver: SolverChoice::Auto,
/// };
/// let plan = Plan::for_fit(&task, &Speeds::typical(20, 8))?;
/// assert_eq!((plan.gram.as_str(), plan.solver.as_str()), ("tiled", "krylov"));
/// assert!(plan.expected_memory_bytes <= task.budget);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Task<'a> {
    /// Points.
    pub n_samples: usize,
    /// Coordinates of each.
    pub n_features: usize,
    /// Whether the coordinates are bytes.
    pub is_bytes: bool,
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Components that are wanted, or a first guess.
    pub n_components: usize,
    /// The precision of tiles.
    pub precision: Precision,
    /// What residuals have to reach.
    pub tolerance: f64,
    /// Bytes that may be taken beyond the data.
    pub budget: u64,
    /// Threads that will work.
    pub threads: usize,
    /// How products should be made.
    pub gram: GramChoice,
    /// How eigenpairs should be found.
    pub solver: SolverChoice,
}

/// How a fit will be done.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points};
///
/// let points = Points::from_f64((0..300).map(f64::from).collect::<Vec<_>>(), 100, 3)?;
/// let plan = KernelPca::new(Kernel::gaussian(1e-3)?).plan(&points)?;
/// assert_eq!(plan.solver, "dense");
/// assert_eq!(plan.reasons[0], "dense solver, because 100 points are few");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// `tiled`, `stored`, `expansion` or `precomputed`.
    pub gram: String,
    /// With `gram` = `expansion`: `polynomial`, `series`, `clusters` or `grid`, if the points are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// `dense`, `lanczos`, `krylov`, `subspace` or `power`.
    pub solver: String,
    /// The precision of tiles.
    pub precision: Precision,
    /// Rows and columns of a tile.
    pub tile: usize,
    /// Whether points are packed tile by tile, for want of memory for a packed copy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packs_per_tile: bool,
    /// Vectors multiplied in one pass.
    pub block: usize,
    /// Vectors that the solver's basis may hold.
    pub max_subspace: usize,
    /// Bytes for tiles that are kept.
    pub store_bytes: u64,
    /// The share of the tiles that is kept.
    pub stored_share: f64,
    /// How they are kept.
    pub store_format: StoreFormat,
    /// Points that are solved exactly to start from; zero for a random start.
    pub start_sample: usize,
    /// Passes over the matrix that it will probably take.
    pub expected_passes: usize,
    /// Seconds that it will probably take.
    pub expected_seconds: f64,
    /// Bytes that it will take beyond the data.
    pub expected_memory_bytes: u64,
    /// Why, in sentences.
    pub reasons: Vec<String>,
}

/// Up to this many points the dense solver is as fast as any other.
const DENSE_UP_TO: usize = 128;
/// And up to this many it is taken for kernels that may have negative eigenvalues, because it sees all of them.
const DENSE_UP_TO_INDEFINITE: usize = 200;
/// And beyond this share of the spectrum a Krylov basis would be as large as the matrix,
const DENSE_SHARE: usize = 4;
/// or beyond this one, where the matrix fits the cache, so that its decomposition takes no longer than that of the basis.
const DENSE_SHARE_OF_FEW: usize = 6;
/// Up to this many points it does.
const FEW_UP_TO: usize = 400;
/// Below this many features, recomputing a tile is as fast as reading it back from memory.
const STORE_FROM_FEATURES: usize = 12;
/// Bytes are multiplied about twice as fast as floating-point numbers.
const STORE_FROM_BYTE_FEATURES: usize = 24;
/// Keeping less than this share of the tiles is not worth the memory.
const MIN_STORED_SHARE: f64 = 0.1;
/// From this tolerance on, tiles may be kept in 16-bit fixed point: an entry's error of at most 1/131070 changes an eigenvalue
/// by at most `n / 131070`, which is a tenth of this share of the largest one even if that holds only a twelfth of the variance.
const FIXED16_FROM_TOLERANCE: f64 = 1e-3;
/// The smallest residual that single precision can tell: entries carry three roundings, and products of them with vectors add about
/// as much again.
pub(crate) const F32_FLOOR: f64 = 8.0 * f32::EPSILON as f64;
/// From this many points on, solving a sample first saves more than it costs.
const SAMPLE_FROM: usize = 4000;
/// One point in this many goes into the sample, as far as [`MAX_SAMPLE`].
const SAMPLE_SHARE: usize = 16;
/// A smaller sample says little about the directions of all points.
const MIN_SAMPLE: usize = 256;
/// A larger sample costs more than the pass it saves.
const MAX_SAMPLE: usize = 4096;
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
const SMALL_UP_TO: usize = 4000;

impl Plan {
    /// The plan for a task, with estimates from the machine's speeds.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if nothing that answers the question fits, with what would.
    pub fn for_fit(task: &Task<'_>, speeds: &Speeds) -> Result<Self> {
        let (n, k) = (task.n_samples, task.n_components);
        let mut reasons = Vec::new();
        let solver = choose_solver(task, &mut reasons);
        if solver == SolverChoice::Dense {
            return Self::dense(task, speeds, reasons);
        }
        let wants_store = match task.gram {
            GramChoice::Tiled | GramChoice::Expansion => false,
            // A precomputed matrix is in memory already.
            GramChoice::Stored => !matches!(task.kernel, Kernel::Precomputed),
            GramChoice::Auto => worth_storing(task, &mut reasons),
        };
        let widest = first_block(task, solver, wants_store);
        let (block, copy, need) = fitting(task, solver, widest)?;
        if copy == PackedCopy::PerTile {
            reasons.push(
                "points are packed tile by tile, because a packed copy would not fit the memory budget".to_owned(),
            );
        }
        if block < widest {
            reasons.push(format!("blocks of {block} vectors, because wider ones would not fit the memory budget"));
        }
        let left = task.budget - need.total();
        let (store_format, store_bytes, stored_share) =
            if wants_store { store(task, left, &mut reasons) } else { (StoreFormat::Full, 0, 0.0) };
        let gram = match (task.kernel, store_bytes > 0) {
            (Kernel::Precomputed, _) => "precomputed",
            _ if task.gram == GramChoice::Expansion => "expansion",
            (_, true) => "stored",
            (_, false) => "tiled",
        };
        let start_sample = start_sample(task, solver, block, stored_share, task.budget - need.packed(), &mut reasons);
        let expected_passes = expected_passes(solver, k, block, start_sample, task.tolerance);
        let speeds = if copy == PackedCopy::PerTile { &speeds.packing_per_tile(task) } else { speeds };
        let expected_seconds = speeds.fit_seconds(task, block, expected_passes, stored_share, start_sample);
        Ok(Self {
            gram: gram.to_owned(),
            method: None,
            solver: solver.name().to_owned(),
            precision: task.precision,
            tile: memory_need::tile_size(task),
            packs_per_tile: copy == PackedCopy::PerTile,
            block: block.min(n),
            max_subspace: need.max_subspace,
            store_bytes,
            stored_share,
            store_format,
            start_sample,
            expected_passes,
            expected_seconds,
            expected_memory_bytes: need.total() + store_bytes,
            reasons,
        })
    }

    /// The same plan with one more reason.
    pub(crate) fn because(mut self, reason: Option<String>) -> Self {
        self.reasons.extend(reason);
        self
    }

    /// The plan of a run that goes on with blocks and a basis of an earlier one's widths; the store makes room for them.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if they do not fit.
    pub(crate) fn going_on(mut self, task: &Task<'_>, block: usize, max_subspace: usize) -> Result<Self> {
        let need = |copy| Need::with_subspace(task, block, max_subspace, copy);
        let copy = if need(PackedCopy::Kept).total() > task.budget { PackedCopy::PerTile } else { PackedCopy::Kept };
        let need = need(copy);
        if need.total() > task.budget {
            return Err(need.refuse(task));
        }
        self.packs_per_tile = copy == PackedCopy::PerTile;
        self.store_bytes = self.store_bytes.min(task.budget - need.total());
        let whole = memory_need::store_size(task, self.store_format).max(1);
        self.stored_share = (self.store_bytes as f64 / whole as f64).min(1.0);
        (self.block, self.max_subspace, self.start_sample) = (block, max_subspace, 0);
        self.expected_memory_bytes = need.total() + self.store_bytes;
        self.reasons.retain(|reason| !reason.starts_with("starts from"));
        self.reasons.push(format!("goes on from a checkpoint, with its blocks of {block} vectors"));
        Ok(self)
    }

    fn dense(task: &Task<'_>, speeds: &Speeds, reasons: Vec<String>) -> Result<Self> {
        let n = task.n_samples;
        let mut reasons = reasons;
        if task.gram == GramChoice::Stored {
            reasons.push("no tiles are kept, because the dense solver reads each of them once".to_owned());
        }
        let need = Need::dense(task);
        if need.total() > task.budget {
            return Err(need.refuse(task));
        }
        Ok(Self {
            gram: match (task.kernel, task.gram) {
                (Kernel::Precomputed, _) => "precomputed",
                (_, GramChoice::Expansion) => "expansion",
                _ => "tiled",
            }
            .to_owned(),
            method: None,
            solver: SolverChoice::Dense.name().to_owned(),
            precision: task.precision,
            tile: memory_need::tile_size(task),
            packs_per_tile: false,
            block: n,
            max_subspace: n,
            store_bytes: 0,
            stored_share: 0.0,
            store_format: StoreFormat::Full,
            start_sample: 0,
            expected_passes: 1,
            expected_seconds: speeds.dense_seconds(task),
            expected_memory_bytes: need.total(),
            reasons,
        })
    }
}

/// The widest blocks that fit the budget, with a packed copy of the points or without.
///
/// # Errors
///
/// [`Error::OverBudget`] if not even the narrowest do.
fn fitting(task: &Task<'_>, solver: SolverChoice, widest: usize) -> Result<(usize, PackedCopy, Need)> {
    let mut block = widest;
    // The copy goes first, because packing costs less than the passes that narrower blocks add; then the basis shrinks, before the
    // fit is refused: more restarts, same answer.
    loop {
        for copy in [PackedCopy::Kept, PackedCopy::PerTile] {
            let need = Need::new(task, solver, block, copy);
            if need.total() <= task.budget {
                return Ok((block, copy, need));
            }
        }
        if block <= 8 {
            return Err(Need::new(task, solver, block, PackedCopy::PerTile).refuse(task));
        }
        block = (block / 2).max(8);
    }
}

/// The precision of tiles where nobody has chosen one: that of the data, or double if the tolerance asked for is below what single
/// precision can tell; with the reason if it is not the data's own.
///
/// ```
/// use mercer::Precision;
/// use mercer::plan::choose_precision;
///
/// assert_eq!(choose_precision(Precision::F32, Some(1e-4)), (Precision::F32, None));
/// let (precision, reason) = choose_precision(Precision::F32, Some(1e-9));
/// assert_eq!(precision, Precision::F64);
/// assert!(reason.is_some());
/// ```
pub fn choose_precision(data: Precision, tolerance: Option<f64>) -> (Precision, Option<String>) {
    match tolerance {
        // Not a tolerance at all is the caller's to refuse, and zero is as small as can be.
        Some(tolerance) if data == Precision::F32 && (0.0..F32_FLOOR).contains(&tolerance) => {
            let reason = format!("double precision, because single precision cannot tell residuals of {tolerance:.1e}");
            (Precision::F64, Some(reason))
        }
        _ => (data, None),
    }
}

fn choose_solver(task: &Task<'_>, reasons: &mut Vec<String>) -> SolverChoice {
    let (n, k) = (task.n_samples, task.n_components);
    if task.solver != SolverChoice::Auto {
        return task.solver;
    }
    if n <= if task.kernel.is_positive_definite() { DENSE_UP_TO } else { DENSE_UP_TO_INDEFINITE } {
        reasons.push(format!("dense solver, because {n} points are few"));
        return SolverChoice::Dense;
    }
    let (share, name) = if n <= FEW_UP_TO { (DENSE_SHARE_OF_FEW, "a sixth") } else { (DENSE_SHARE, "a quarter") };
    if k * share > n && Need::dense(task).total() <= task.budget {
        reasons.push(format!("dense solver, because {k} components are more than {name} of the spectrum"));
        return SolverChoice::Dense;
    }
    reasons.push(format!("block Krylov solver, because {k} of {n} components are few"));
    SolverChoice::Krylov
}

fn worth_storing(task: &Task<'_>, reasons: &mut Vec<String>) -> bool {
    if matches!(task.kernel, Kernel::Precomputed) {
        return false;
    }
    let from = if task.is_bytes { STORE_FROM_BYTE_FEATURES } else { STORE_FROM_FEATURES };
    let worth = task.n_features >= from || matches!(task.kernel, Kernel::Custom(_));
    if !worth {
        reasons.push(format!(
            "tiles are recomputed, because with {} features that is as fast as reading them",
            task.n_features
        ));
    }
    worth
}

/// The block width that is best without regard to memory.
fn first_block(task: &Task<'_>, solver: SolverChoice, stored: bool) -> usize {
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

/// How tiles are kept within `left` bytes: format, bytes, share of all tiles.
fn store(task: &Task<'_>, left: u64, reasons: &mut Vec<String>) -> (StoreFormat, u64, f64) {
    let full = memory_need::store_size(task, StoreFormat::Full);
    let fixed = memory_need::store_size(task, StoreFormat::Fixed16);
    let may_round = task.kernel.has_unit_range() && task.tolerance >= FIXED16_FROM_TOLERANCE;
    let format = if full > left && may_round { StoreFormat::Fixed16 } else { StoreFormat::Full };
    let whole = if format == StoreFormat::Full { full } else { fixed };
    let kept = whole.min(left);
    let share = kept as f64 / whole.max(1) as f64;
    // Whoever asks for stored tiles gets as many as fit, however few.
    if share < MIN_STORED_SHARE && (task.gram == GramChoice::Auto || kept == 0) {
        reasons.push(format!(
            "tiles are recomputed, because keeping them takes {} and only {} are left",
            bytes(whole),
            bytes(left)
        ));
        return (StoreFormat::Full, 0, 0.0);
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
    (format, kept, share)
}

fn start_sample(
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
    let sample = (n / SAMPLE_SHARE).clamp(MIN_SAMPLE, most).max(4 * block).min(n / 2);
    // The vectors of the solver come later: until then there is room for the sample.
    if memory_need::sample_size(task, sample, block) > left
        || !saves_more_than_it_costs(task, sample, block, stored_share)
    {
        return 0;
    }
    reasons.push(format!("starts from the solution for {sample} sampled points, which saves a pass or two"));
    sample
}

/// Whether a start from a sample takes fewer multiply-adds, counted per point, than the passes it saves.
///
/// Passes over tiles that are read back are cheap, while the sample's solution is extended by tiles that are computed.
fn saves_more_than_it_costs(task: &Task<'_>, sample: usize, block: usize, stored_share: f64) -> bool {
    let (n, m, columns) = (task.n_samples as f64, sample as f64, (block + 1) as f64);
    let entry = match task.gram {
        // Passes of an expansion cost what its vectors do; the sample is small, and worth it.
        GramChoice::Expansion => return true,
        // An exponential takes as long as a product of sixteen coordinates.
        _ => task.n_features as f64 + 16.0,
    };
    let pass = 0.5 * n * (1.0 - stored_share) * entry + n * columns;
    m * (entry + columns) <= PASSES_SAVED * pass
}

/// Passes to the tolerance, from runs on image and sensor data; spectra differ, so this is a guess to a factor of two.
///
/// The constants come from fits of MNIST and of smaller digits, and of points on a sheet, with 5 to 50 components to 4 to 9
/// digits. Block Krylov took 3 to 8 passes and this says 4 to 9, never off by more than one; Lanczos took 40 and 50 where this
/// says 37 and 48.
fn expected_passes(solver: SolverChoice, k: usize, block: usize, start_sample: usize, tolerance: f64) -> usize {
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

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} solver on a {} Gram matrix in {}", self.solver, self.gram, self.precision)?;
        if self.solver != SolverChoice::Dense.name() {
            write!(f, ", blocks of {} vectors, about {} passes", self.block, self.expected_passes)?;
        }
        writeln!(f, "\nabout {} and {}", seconds(self.expected_seconds), bytes(self.expected_memory_bytes))?;
        for reason in &self.reasons {
            writeln!(f, "- {reason}")?;
        }
        Ok(())
    }
}

/// A time as people say it.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 0.95 => format!("{:.0} ms", (s * 1000.0).max(1.0)),
        s if s < 99.5 => format!("{s:.1} s"),
        s if s < 5940.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

impl Need {
    /// The error that says what would fit.
    fn refuse(&self, task: &Task<'_>) -> Error {
        let advice = match Self::largest_count(task) {
            Some(k) if k < task.n_components => format!("{k} components would fit"),
            _ => format!("a budget of {} would do", bytes(self.total())),
        };
        let what = format!("a fit of {} points with {} components", task.n_samples, task.n_components);
        Error::OverBudget { what, needed: self.total(), budget: task.budget, advice }
    }
}

#[cfg(test)]
mod tests;
