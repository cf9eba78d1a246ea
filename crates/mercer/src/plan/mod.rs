//! The plan of a fit: what will be done, why, and what it will cost.
//!
//! [`Plan::for_fit`] is the automatic choice of method. It is a pure function of the [`Task`] (shape, kernel, wishes, budget) and
//! of the machine's [`Speeds`]; everything it decides is in the plan that comes out, and in the record of the run.

mod choose;
mod memory_need;
mod speeds;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use self::choose::{FIXED16_SHARE, Kept};
use self::choose::{choose_solver, expected_passes, first_block, rounding_pays, start_sample, store, worth_storing};
use self::memory_need::Need;
pub use self::speeds::Speeds;
use crate::choices::{GramChoice, SolverChoice};
use crate::error::{Error, Result, bytes, bytes_at_least};
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
///     fixed16_error: None,
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
    /// What keeping tiles in 16-bit fixed point changes in the matrix, relative to its first eigenvalue, if that was measured. Tiles that
    /// take more than 1 GiB as they are, or do not all fit, are kept so where it is at most a tenth of the tolerance; without a measurement, where the
    /// tolerance is 1e-3 or more.
    pub fixed16_error: Option<f64>,
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
    /// `tiled`, `stored`, `expansion`, `precomputed` or `nystrom`.
    pub gram: String,
    /// With `gram` = `expansion`: `polynomial`, `series`, `clusters` or `grid`, if the points are known; with `nystrom` how landmarks are
    /// chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// With `gram` = `nystrom`: how many landmarks there are, or are tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_landmarks: Option<usize>,
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

/// Memory is counted for as many threads at least, if it then suffices: widths of blocks and tiles that are kept would depend on how many there are otherwise, and
/// so would results.
const COUNTED_THREADS: usize = 4;

/// How a reason begins that holds for the components that a fit begins with.
const FIRST_ONLY: &str = "this is for the first";

/// A matrix that is made already.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// Its tiles that are kept.
    pub(crate) kept: Kept,
    /// Whether its points are packed.
    pub(crate) copy: PackedCopy,
}

/// Points may be packed once, which is tried first, or tile by tile.
const EITHER_COPY: [PackedCopy; 2] = [PackedCopy::Kept, PackedCopy::PerTile];

impl Task<'_> {
    fn with_more_threads(&self) -> Self {
        Self { threads: self.threads.max(COUNTED_THREADS), ..self.clone() }
    }
}

/// The smallest residual that single precision can tell: entries carry three roundings, and products of them with vectors add about
/// as much again.
pub(crate) const F32_FLOOR: f64 = 8.0 * f32::EPSILON as f64;

impl Plan {
    /// The plan for a task, with estimates from the machine's speeds.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if nothing that answers the question fits, with what would.
    pub fn for_fit(task: &Task<'_>, speeds: &Speeds) -> Result<Self> {
        Self::beside_tiles(task, speeds, None)
    }

    /// As [`for_fit`](Self::for_fit), for a matrix that is made already, whose tiles are kept beside the memory of the task.
    pub(crate) fn beside_tiles(task: &Task<'_>, speeds: &Speeds, filled: Option<Filled>) -> Result<Self> {
        match Self::counting(&task.with_more_threads(), task.threads, speeds, filled) {
            Err(Error::OverBudget { .. }) if task.threads < COUNTED_THREADS => {
                Self::counting(task, task.threads, speeds, filled)
            }
            found => found,
        }
    }

    /// The plan of a task whose memory is counted for its threads, of which there are `threads`.
    fn counting(task: &Task<'_>, threads: usize, speeds: &Speeds, filled: Option<Filled>) -> Result<Self> {
        let (n, k) = (task.n_samples, task.n_components);
        let mut reasons = Vec::new();
        let solver = choose_solver(task, &mut reasons);
        if solver == SolverChoice::Dense {
            return Self::dense(task, speeds, reasons);
        }
        let wants_store = match filled {
            Some(Filled { kept, .. }) => kept.share >= 1.0,
            None => wants_store(task, &mut reasons),
        };
        let widest = first_block(task, solver, wants_store);
        let copies = filled.map_or(EITHER_COPY, |filled| [filled.copy; 2]);
        let (block, copy, need) = widest_fitting(task, solver, widest, copies).map_err(|need| need.refuse(task))?;
        if copy == PackedCopy::PerTile {
            reasons.push(
                "points are packed tile by tile, because a packed copy would not fit the memory budget".to_owned(),
            );
        }
        if block < widest {
            reasons.push(format!("blocks of {block} vectors, because wider ones would not fit the memory budget"));
        }
        let left = task.budget - need.total();
        let kept = match filled {
            Some(Filled { kept, .. }) => kept,
            None if wants_store => store(task, left, &mut reasons),
            None => Kept::NONE,
        };
        let gram = match (task.kernel, kept.bytes > 0) {
            (Kernel::Precomputed, _) => "precomputed",
            _ if task.gram == GramChoice::Expansion => "expansion",
            (_, true) => "stored",
            (_, false) => "tiled",
        };
        let start_sample = match filled {
            // What was found already is the start.
            Some(_) => 0,
            None => start_sample(task, solver, block, kept.share, task.budget - need.packed(), &mut reasons),
        };
        let expected_passes = expected_passes(solver, k, block, start_sample, task.tolerance);
        let speeds = if copy == PackedCopy::PerTile { &speeds.packing_per_tile(task, threads) } else { speeds };
        let expected_seconds = speeds.fit_seconds(task, block, expected_passes, kept, start_sample);
        Ok(Self {
            gram: gram.to_owned(),
            method: None,
            n_landmarks: None,
            solver: solver.name().to_owned(),
            precision: task.precision,
            tile: memory_need::tile_size(task),
            packs_per_tile: copy == PackedCopy::PerTile,
            block: block.min(n),
            max_subspace: need.max_subspace,
            store_bytes: kept.bytes,
            stored_share: kept.share,
            store_format: kept.format,
            start_sample,
            expected_passes,
            expected_seconds,
            expected_memory_bytes: need.total() + kept.bytes,
            reasons,
        })
    }

    /// The plan of a fit beside which `what`, something of this many bytes, is in memory.
    ///
    /// ```
    /// use mercer::{Kernel, KernelPca, Precision};
    ///
    /// let fit = KernelPca::new(Kernel::gaussian(0.1)?).plan_shape(5000, 20, Precision::F64)?;
    /// let both = fit.clone().beside(800_000, "a copy of the points");
    /// assert_eq!(both.expected_memory_bytes, fit.expected_memory_bytes + 800_000);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn beside(mut self, size: u64, what: &str) -> Self {
        if size > 0 {
            self.expected_memory_bytes += size;
            self.reasons.push(format!("{what} takes {} of the memory", bytes(size)));
        }
        self
    }

    /// The same plan, which says so if it is for the first components of a fit that may look for more.
    pub(crate) fn growing(self, is_growing: bool, n_components: usize) -> Self {
        // A decomposition has all of them.
        let may_grow = is_growing && self.solver != SolverChoice::Dense.name();
        self.because(may_grow.then(|| {
            format!("{FIRST_ONLY} {n_components} components: how many explain enough is known when they are found")
        }))
    }

    /// Without the reasons that hold no more when more components are looked for.
    pub(crate) fn reasons_that_last(&self) -> Vec<String> {
        let for_first = ["starts from", FIRST_ONLY, "blocks of ", "points are packed tile by tile"];
        let lasts = |reason: &&String| {
            !for_first.iter().any(|words| reason.starts_with(words)) && !reason.contains(" solver, because ")
        };
        self.reasons.iter().filter(lasts).cloned().collect()
    }

    /// The same plan with one more reason.
    pub(crate) fn because(mut self, reason: Option<String>) -> Self {
        self.reasons.extend(reason);
        self
    }

    /// The plan of a run that goes on with blocks and a basis of an earlier one's widths, and keeps tiles as that did; the store makes
    /// room for them.
    ///
    /// # Errors
    ///
    /// [`Error::OverBudget`] if they do not fit.
    pub(crate) fn going_on(
        mut self,
        task: &Task<'_>,
        block: usize,
        max_subspace: usize,
        format: StoreFormat,
    ) -> Result<Self> {
        let need = |copy| Need::with_subspace(task, block, max_subspace, copy);
        let copy = if need(PackedCopy::Kept).total() > task.budget { PackedCopy::PerTile } else { PackedCopy::Kept };
        let need = need(copy);
        if need.total() > task.budget {
            // The widths are those of the checkpoint: fewer components would not be the same fit.
            return Err(need.refuse_with(task, need.budget_advice()));
        }
        self.packs_per_tile = copy == PackedCopy::PerTile;
        let whole = memory_need::store_size(task, format).max(1);
        let room = task.budget - need.total();
        if format != self.store_format {
            self.store_format = format;
            // As many as fit, whatever those of the other format would take.
            self.store_bytes = if self.store_bytes > 0 { whole } else { 0 };
            let how = if format == StoreFormat::Fixed16 { "in 16-bit fixed point" } else { "as they are" };
            self.reasons.retain(|reason| !reason.contains("fixed point") && !reason.contains("tiles are kept"));
            let verb = if self.store_bytes > 0 { "are kept" } else { "were kept" };
            self.reasons.push(format!("tiles {verb} {how}, as they were before the checkpoint"));
        }
        self.store_bytes = self.store_bytes.min(room).min(whole);
        self.stored_share = self.store_bytes as f64 / whole as f64;
        (self.block, self.max_subspace, self.start_sample) = (block, max_subspace, 0);
        self.expected_memory_bytes = need.total() + self.store_bytes;
        self.reasons.retain(|reason| !["starts from", FIRST_ONLY].iter().any(|words| reason.starts_with(words)));
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
            n_landmarks: None,
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

/// The widest blocks that fit the budget, with a packed copy of the points or without; or what the narrowest need.
fn widest_fitting(
    task: &Task<'_>,
    solver: SolverChoice,
    widest: usize,
    copies: [PackedCopy; 2],
) -> std::result::Result<(usize, PackedCopy, Need), Need> {
    let mut block = widest;
    // The copy goes first, because packing costs less than the passes that narrower blocks add; then the basis shrinks, before the
    // fit is refused: more restarts, same answer.
    loop {
        for copy in copies {
            let need = Need::new(task, solver, block, copy);
            if need.total() <= task.budget {
                return Ok((block, copy, need));
            }
        }
        if block <= 8 {
            return Err(Need::new(task, solver, block, copies[1]));
        }
        block = (block / 2).max(8);
    }
}

/// Whether tiles are to be kept, as far as there is room.
fn wants_store(task: &Task<'_>, reasons: &mut Vec<String>) -> bool {
    match task.gram {
        GramChoice::Tiled | GramChoice::Expansion => false,
        // A precomputed matrix is in memory already.
        GramChoice::Stored => !matches!(task.kernel, Kernel::Precomputed),
        GramChoice::Auto => worth_storing(task, reasons),
    }
}

/// Whether tiles are to be kept and take so much as they are that it matters whether they may be rounded.
pub(crate) fn may_keep_rounded(task: &Task<'_>) -> bool {
    let (mut reasons, counted) = (Vec::new(), task.with_more_threads());
    let solver = choose_solver(&counted, &mut reasons);
    if solver == SolverChoice::Dense || !wants_store(task, &mut reasons) {
        return false;
    }
    let widest = first_block(task, solver, true);
    let fitting = |task: &Task<'_>| widest_fitting(task, solver, widest, EITHER_COPY);
    match fitting(&counted).or_else(|_| fitting(task)) {
        Ok((_, _, need)) => rounding_pays(task, task.budget - need.total()),
        // Nothing fits, and the plan says so.
        Err(_) => false,
    }
}

/// Whether there is a plan within the budget: what [`Plan::for_fit`] asks, without the answer.
fn fits(task: &Task<'_>) -> bool {
    let mut reasons = Vec::new();
    match choose_solver(task, &mut reasons) {
        SolverChoice::Dense => Need::dense(task).total() <= task.budget,
        solver => {
            let widest = first_block(task, solver, wants_store(task, &mut reasons));
            widest_fitting(task, solver, widest, EITHER_COPY).is_ok()
        }
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

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} solver on a {} Gram matrix in {}", self.solver, self.gram, self.precision)?;
        if let Some(m) = self.n_landmarks {
            write!(f, " of {m} landmarks")?;
        } else if self.solver != SolverChoice::Dense.name() {
            write!(f, ", blocks of {} vectors, about {} passes", self.block, self.expected_passes)?;
        }
        writeln!(f, "\nabout {} and {}", format_seconds(self.expected_seconds), bytes(self.expected_memory_bytes))?;
        for reason in &self.reasons {
            writeln!(f, "- {reason}")?;
        }
        Ok(())
    }
}

/// A time as people say it.
pub(crate) fn format_seconds(seconds: f64) -> String {
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
        let fewer = largest_count(task).map(|k| match k {
            1 => "1 component would fit".to_owned(),
            _ => format!("{k} components would fit"),
        });
        self.refuse_with(task, fewer.unwrap_or_else(|| self.budget_advice()))
    }

    fn budget_advice(&self) -> String {
        format!("a budget of {} would do", bytes_at_least(self.total()))
    }

    fn refuse_with(&self, task: &Task<'_>, advice: String) -> Error {
        let (n, k) = (task.n_samples, task.n_components);
        let what = format!("a fit of {n} points with {k} component{}", if k == 1 { "" } else { "s" });
        Error::OverBudget { what, needed: self.total(), budget: task.budget, advice }
    }
}

/// The largest number of components, fewer than the task's, with which it would fit the budget.
fn largest_count(task: &Task<'_>) -> Option<usize> {
    // What is needed grows with the number of components: the last that fits is found by halving.
    let (mut fitting, mut too_many) = (0, task.n_components);
    while fitting + 1 < too_many {
        let middle = fitting + (too_many - fitting) / 2;
        if fits(&Task { n_components: middle, ..task.clone() }) { fitting = middle } else { too_many = middle }
    }
    (fitting > 0).then_some(fitting)
}

#[cfg(test)]
mod tests;
