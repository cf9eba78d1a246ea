//! Leading eigenpairs by block Krylov iteration with thick restarts.
//!
//! **Use it** when products with the operator are what costs, and a product with a block of vectors costs little more than
//! with one: few passes over the matrix do the work of many.
//!
//! **Cost** per pass: one product with `block` vectors, `O(n m block)` for orthogonalisation against the `m` vectors of the
//! basis, and `O(m³)` for the projected problem. **Memory**: `max_subspace + 6 block` vectors of length `n`.
//!
//! # Method
//!
//! The basis starts with one block. Each pass multiplies the last block, projects the image on the basis `(1)`, makes
//! what is left the next block `(2)`, and solves the projected problem `(3)`, unless that would take longer than the pass and
//! probably in vain (`looks`). When the basis is full it is replaced by the best Ritz vectors, which stay in it and are not multiplied again (soft locking), and the iteration goes on with
//! the next block `(4)`. This is the thick restart of \[WS00\], with blocks; with a block of one vector it is that method.
//!
//! # Notation
//!
//! | here | \[WS00\] | shape | meaning |
//! |---|---|---|---|
//! | `basis` | `Q` | n × m | orthonormal vectors whose images are known |
//! | `block` | `q_{m+1}` | n × b | orthonormal vectors whose images are not known yet |
//! | `projected` | `T` | m × m | `basisᵀ A basis` |
//! | `coupling` | `β e_mᵀ` | b × m | `blockᵀ A basis`: zero except for the last block's columns, or after a restart |
//!
//! # Numerics
//!
//! After every pass `A basis = basis projected + block coupling` holds to rounding: the projection is complete (all entries of
//! `projected` are computed, none is assumed to be zero) and orthogonality is kept by two passes of Gram–Schmidt.
//! So for a Ritz vector `v = basis s` with value `θ`, `‖A v − θ v‖ = ‖coupling s‖`, computed from products that were made.
//!
//! A block of `b` vectors sees at most `b` copies of a repeated eigenvalue, and a start that is invariant sees nothing else. So some
//! vectors beside a given start are random, and when the pairs found show a sign of repetition, random vectors are added to the block `(5)`. The pairs have to hold out against them:
//! until the largest of the others has settled below the last wanted one, or for [`TRIAL_VECTORS`] products.
//!
//! # References
//!
//! - \[WS00\] K. Wu, H. Simon, "Thick-restart Lanczos method for large symmetric eigenvalue problems", SIAM J. Matrix Anal. Appl.
//!   22 (2000) 602-616.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::looks::Reached;
use super::tall;
use super::{
    Counts, EigenPairs, EigenSolver, Keeper, Order, Outcome, Request, Snapshot, count_converged, most_negative,
    relative, small_eigen,
};
use crate::error::{Error, Result};
use crate::gram::SymmetricOperator;
use crate::watch::{Context, Threads};

/// Products that a result has to stand after random vectors were added, if nothing settles it before, and the least number of
/// passes in which they are made.
const TRIAL_VECTORS: usize = 100;
const TRIAL_PASSES: usize = 10;
/// The fewest passes in which random vectors can show what they have found.
const SHORTEST_TRIAL: usize = 3;
/// Random vectors beside a start that was given, at most; see [`seekers`].
const MOST_SEEKERS: usize = 8;
/// Eigenvalues closer than this share of the leading one are copies of one, as far as single precision can tell.
const COPIES: f64 = 1e-6;
/// A basis of narrow blocks may have this many vectors.
const NARROW_BASIS: usize = 128;
/// The largest of the other Ritz values has settled when its residual is this small, relative to the leading value.
const SETTLED: f64 = 1e-2;

/// The block Krylov solver.
///
/// ```
/// use mercer::eigen::{EigenSolver, BlockKrylov, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = BlockKrylov::new(2, 2).leading(&gram, &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6 && (pairs.values[1] - 4.0).abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockKrylov {
    /// Vectors multiplied in one pass.
    pub block: usize,
    /// Vectors that the basis may hold before it is restarted.
    pub max_subspace: usize,
    /// Passes between two looks at the projected problem, at least: where the operator is so small that a look takes longer than a pass,
    /// there are more.
    pub check_every: usize,
}

impl BlockKrylov {
    /// A solver for `n_pairs` pairs with blocks of `block` vectors; the basis has room for four blocks, eight narrow ones, or three
    /// times what is wanted.
    pub fn new(n_pairs: usize, block: usize) -> Self {
        let block = block.max(1);
        // Passes with narrow blocks are cheap and many: a restart would cost them more than a longer basis does.
        let blocks = (4 * block).max((8 * block).min(NARROW_BASIS));
        Self { block, max_subspace: blocks.max(3 * n_pairs + 2 * block), check_every: 1 }
    }
}

/// How many vectors of a block are random when the others were given. A start can be blind to a direction (a sample that leaves out
/// a group of points is to all of theirs), and so is everything that grows from it; random vectors are blind to none. Narrow blocks,
/// which take more passes, need fewer.
pub(crate) fn seekers(block: usize) -> usize {
    (block / 4).clamp(2, MOST_SEEKERS)
}

impl EigenSolver for BlockKrylov {
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs> {
        let n = a.dim();
        let k = request.n_pairs.min(n);
        if k == 0 {
            return Ok(EigenPairs::empty(n));
        }
        let mut context = *context;
        let mut state = match request.keeper.and_then(Keeper::earlier) {
            Some(earlier) => State::resume(earlier, request, context.threads),
            None => State::new(self, n, request, context.threads)?,
        };
        let mut best: Option<Ritz> = None;
        let mut outcome = Outcome::OutOfPasses;
        for pass in state.passes + 1..=request.max_passes.max(1) {
            context.progress.pass = pass;
            match state.expand(a, &context) {
                Ok(()) => {}
                // Stopped in the middle of a pass: what the passes before it found is the answer.
                Err(Error::Interrupted { .. }) if state.passes > 0 => {
                    state.offer(request, true)?;
                    outcome = Outcome::Stopped;
                    break;
                }
                Err(error) => return Err(error),
            }
            let stopped = context.watch.is_stopped();
            let is_last = stopped || pass >= request.max_passes;
            // A basis that is smaller than what is wanted need not be looked at.
            let is_time = pass.is_multiple_of(self.check_every) && pass >= state.next_look && state.size >= k;
            let due = is_time || state.is_full() || state.is_invariant;
            if !due {
                // A look that only the end of the run calls for must leave no trace in a run that goes on.
                state.offer(request, is_last)?;
                if !is_last {
                    continue;
                }
            }
            let ritz = state.solve(request.order)?;
            let residuals = ritz.residuals(k);
            context.progress.residual = residuals.iter().copied().reduce(f64::max);
            context.report_fraction(1.0);
            let met = residuals.len() == k && count_converged(&residuals, request.tolerance) == k;
            if met && state.stands(&ritz, k, request) {
                best = Some(ritz);
                outcome = Outcome::Converged;
                break;
            }
            best = Some(if state.is_full() { state.restart(&ritz, k) } else { ritz });
            if due {
                state.next_look = pass + state.reached(&residuals, k, request.tolerance).passes_to_next_look();
                if met && state.trial_ends.is_none() {
                    state.add_random_vectors()?;
                    state.begin_trial();
                }
                state.offer(request, is_last)?;
            }
            if stopped {
                outcome = Outcome::Stopped;
                break;
            }
        }
        let ritz = match best {
            Some(ritz) => ritz,
            // Stopped before the first look, or an earlier run has used up the passes.
            None => state.solve(request.order)?,
        };
        Ok(state.pairs(&ritz, k, outcome, request.tolerance))
    }
}

/// The basis and what is known of its image.
struct State<'a> {
    /// The basis, with room to grow; the first `size` columns are in use.
    room: Mat<f64>,
    size: usize,
    block: Mat<f64>,
    projected: Mat<f64>,
    coupling: Mat<f64>,
    passes: usize,
    max_subspace: usize,
    width: usize,
    seed: u64,
    /// The image of the basis lies within it: there is nothing more to be found from this start.
    is_invariant: bool,
    /// Sets of random vectors that went into the basis: as many copies of an eigenvalue can be seen as they have columns.
    random_sets: usize,
    /// The pass at which a result has stood its trial.
    trial_ends: Option<usize>,
    most_negative: Option<f64>,
    /// The pass after which the projected problem is looked at again.
    next_look: usize,
    threads: &'a Threads,
}

/// Solutions of the projected problem, leading ones first.
struct Ritz {
    values: Vec<f64>,
    /// In terms of the basis at the time; later columns of the basis count as zero.
    vectors: Mat<f64>,
    norms: Vec<f64>,
}

impl Ritz {
    fn residuals(&self, k: usize) -> Vec<f64> {
        relative(self.norms.iter().take(k).copied().collect(), &self.values)
    }
}

impl<'a> State<'a> {
    fn new(solver: &BlockKrylov, n: usize, request: &Request<'_>, threads: &'a Threads) -> Result<Self> {
        let given = request.start.map_or(0, |start| start.ncols().min(n));
        let width = if given == 0 { solver.block } else { solver.block.max(given + seekers(solver.block)) };
        let mut start = tall::random(n, width.min(n), request.seed);
        if let Some(vectors) = request.start {
            start.subcols_mut(0, given).copy_from(vectors.subcols(0, given));
        }
        let none = Mat::zeros(n, 0);
        let mut block = tall::new_directions(start, none.as_ref(), threads)?;
        if block.ncols() == 0 {
            block = tall::new_directions(tall::random(n, solver.block.min(n), request.seed), none.as_ref(), threads)?;
        }
        let width = block.ncols();
        // Twice the pairs and a block are the least that a restart can make progress with.
        let max_subspace = solver.max_subspace.max(2 * request.n_pairs.min(n) + width).min(n);
        // Room that is not touched before it is used: a run that needs few passes never has the rest.
        let mut room = Mat::with_capacity(n, max_subspace + width);
        room.resize_with(n, 0, |_, _| 0.0);
        let mut state = Self {
            room,
            size: 0,
            block,
            projected: Mat::zeros(0, 0),
            coupling: Mat::zeros(0, 0),
            passes: 0,
            max_subspace,
            width,
            seed: request.seed,
            is_invariant: false,
            random_sets: 1,
            trial_ends: None,
            most_negative: None,
            next_look: 0,
            threads,
        };
        // What grows from a given start has to hold out against what grows from the random vectors beside it.
        if given > 0 {
            state.begin_trial();
        }
        Ok(state)
    }

    /// The state that an earlier run left.
    fn resume(earlier: Snapshot, request: &Request<'_>, threads: &'a Threads) -> Self {
        let Snapshot { basis, block, projected, coupling, counts } = earlier;
        let (n, size) = (basis.nrows(), basis.ncols());
        let mut room = basis;
        room.reserve(n, (counts.max_subspace + counts.width).max(size + block.ncols()));
        Self {
            room,
            size,
            block,
            projected,
            coupling,
            passes: counts.passes,
            max_subspace: counts.max_subspace,
            width: counts.width,
            seed: request.seed,
            // An invariant basis is given random vectors at once, so between passes there is always a block.
            is_invariant: false,
            random_sets: counts.random_sets,
            trial_ends: counts.trial_ends,
            most_negative: counts.most_negative,
            next_look: counts.next_look,
            threads,
        }
    }

    /// Offers the state to the request's keeper.
    fn offer(&self, request: &Request<'_>, is_last: bool) -> Result<()> {
        let Some(keeper) = request.keeper else { return Ok(()) };
        let counts = Counts {
            passes: self.passes,
            width: self.width,
            max_subspace: self.max_subspace,
            random_sets: self.random_sets,
            trial_ends: self.trial_ends,
            most_negative: self.most_negative,
            next_look: self.next_look,
        };
        let (block, projected, coupling) = (self.block.as_ref(), self.projected.as_ref(), self.coupling.as_ref());
        keeper.offer(&Snapshot { basis: self.basis(), block, projected, coupling, counts }, is_last)
    }

    fn basis(&self) -> MatRef<'_, f64> {
        self.room.subcols(0, self.size)
    }

    /// Takes the block into the basis and makes the next one from its image.
    fn expand(&mut self, a: &dyn SymmetricOperator, context: &Context<'_>) -> Result<()> {
        let (old, b) = (self.size, self.block.ncols());
        let mut image = Mat::zeros(a.dim(), b);
        a.apply(self.block.as_ref(), image.as_mut(), context)?;
        self.passes += 1;
        self.place_block();
        self.size = old + b;

        // (1) The new columns of basisᵀ A basis; its rows follow by symmetry.
        let columns = tall::inner(self.basis(), image.as_ref(), self.threads);
        let previous = std::mem::replace(&mut self.projected, Mat::zeros(0, 0));
        self.projected = Mat::from_fn(self.size, self.size, |i, j| match (i < old, j < old) {
            (true, true) => previous[(i, j)],
            (true, false) => columns[(i, j - old)],
            (false, true) => columns[(j, i - old)],
            (false, false) => 0.5 * (columns[(i, j - old)] + columns[(j, i - old)]),
        });

        // (2) What the image adds to the basis.
        let next = tall::rest_directions(image.clone(), self.basis(), columns, self.threads)?;
        let tail = tall::inner(next.as_ref(), image.as_ref(), self.threads);
        self.coupling = Mat::from_fn(next.ncols(), self.size, |i, j| if j < old { 0.0 } else { tail[(i, j - old)] });
        self.block = next;
        self.is_invariant = self.block.ncols() == 0;
        if self.is_invariant {
            self.add_random_vectors()?;
        }
        Ok(())
    }

    /// Copies the block to where it will stand in the basis.
    fn place_block(&mut self) {
        let (end, n) = (self.size + self.block.ncols(), self.room.nrows());
        // Within the room, unless sets of random vectors have made the block wider; that is rare, and then room is made.
        if end > self.room.ncols() {
            self.room.resize_with(n, end, |_, _| 0.0);
        }
        self.room.subcols_mut(self.size, self.block.ncols()).copy_from(&self.block);
    }

    /// (5) Adds random vectors to the block; the basis has no coupling to them.
    fn add_random_vectors(&mut self) -> Result<()> {
        let (n, b) = (self.room.nrows(), self.block.ncols());
        let width = self.width.min(n - self.size.min(n));
        let random = tall::random(n, width, self.seed.wrapping_add(1 + self.random_sets as u64));
        // Orthogonal to the basis and to the block, which for the moment stands behind it.
        self.place_block();
        let added = tall::new_directions(random, self.room.subcols(0, self.size + b), self.threads)?;
        let (old_block, old_coupling) = (&self.block, &self.coupling);
        let columns = b + added.ncols();
        self.coupling = Mat::from_fn(columns, self.size, |i, j| if i < b { old_coupling[(i, j)] } else { 0.0 });
        self.block = Mat::from_fn(n, columns, |i, j| if j < b { old_block[(i, j)] } else { added[(i, j - b)] });
        self.random_sets += 1;
        Ok(())
    }

    fn begin_trial(&mut self) {
        self.trial_ends = Some(self.passes + self.trial_length());
    }

    fn trial_length(&self) -> usize {
        TRIAL_PASSES.max(TRIAL_VECTORS / self.width.max(1))
    }

    /// Whether pairs whose residuals are small enough are also the leading ones, as far as can be told.
    fn stands(&mut self, ritz: &Ritz, k: usize, request: &Request<'_>) -> bool {
        let last = ritz.values[k - 1];
        let leading = ritz.values[0].abs();
        if let Some(end) = self.trial_ends {
            // Other Ritz values come from the random vectors, so the first of them heads for the largest eigenvalue left.
            let settled = ritz.values.get(k).zip(ritz.norms.get(k)).is_some_and(|(value, norm)| {
                let gap = match request.order {
                    Order::Algebraic => last - value,
                    Order::Modulus => last.abs() - value.abs(),
                };
                *norm <= SETTLED * leading && gap + request.tolerance * leading >= *norm
            });
            let is_short = self.passes + self.trial_length() < end + SHORTEST_TRIAL;
            if (!settled || is_short) && self.passes < end && self.block.ncols() > 0 {
                return false;
            }
            self.trial_ends = None;
        }
        if self.size == self.room.nrows() {
            return true;
        }
        // A block sees as many copies of an eigenvalue as it has columns; of one that a given start is blind to, as many as random
        // columns.
        let visible = self.random_sets.max(1) * self.width;
        let visible_to_random = seekers(self.width) + self.random_sets.saturating_sub(1) * self.width;
        let group = |distance: f64| largest_group(&ritz.values[..k], distance * leading);
        group(10.0 * request.tolerance) < visible && group(COPIES) < visible_to_random
    }

    fn reached(&self, residuals: &[f64], k: usize, tolerance: f64) -> Reached {
        Reached {
            n: self.room.nrows(),
            size: self.size,
            block: self.block.ncols(),
            n_pairs: k,
            residual: (residuals.len() == k).then(|| residuals.iter().copied().fold(0.0, f64::max)),
            tolerance,
        }
    }

    fn is_full(&self) -> bool {
        self.size + self.block.ncols() > self.max_subspace
    }

    /// (3) The projected problem.
    fn solve(&mut self, order: Order) -> Result<Ritz> {
        let (values, vectors) = self.threads.run(|| small_eigen(self.projected.as_ref(), order))?;
        let norms = tall::column_norms(small_product(self.coupling.as_ref(), vectors.as_ref()).as_ref());
        self.most_negative = self.most_negative.into_iter().chain(most_negative(&values)).min_by(f64::total_cmp);
        Ok(Ritz { values, vectors, norms })
    }

    /// (4) Replaces the basis by the best Ritz vectors, in terms of which the solutions are returned.
    fn restart(&mut self, ritz: &Ritz, k: usize) -> Ritz {
        // Half of the room beyond the wanted pairs is kept, half is left to grow in.
        let spare = (self.max_subspace - k.min(self.max_subspace)).saturating_sub(self.block.ncols()) / 2;
        let kept =
            (k + spare).min(ritz.values.len()).min(self.max_subspace - self.block.ncols().min(self.max_subspace));
        let rotation = ritz.vectors.subcols(0, kept);
        let rotated = tall::product(self.basis(), rotation, self.threads);
        self.room.subcols_mut(0, kept).copy_from(&rotated);
        self.size = kept;
        self.coupling = small_product(self.coupling.as_ref(), rotation);
        let values: Vec<f64> = ritz.values[..kept].to_vec();
        self.projected = Mat::from_fn(kept, kept, |i, j| if i == j { values[i] } else { 0.0 });
        let norms = ritz.norms[..kept].to_vec();
        Ritz { values, vectors: Mat::identity(kept, kept), norms }
    }

    fn pairs(&self, ritz: &Ritz, k: usize, outcome: Outcome, tolerance: f64) -> EigenPairs {
        let k = k.min(ritz.values.len());
        let basis = self.room.subcols(0, ritz.vectors.nrows());
        let residuals = ritz.residuals(k);
        EigenPairs {
            vectors: tall::product(basis, ritz.vectors.subcols(0, k), self.threads),
            converged: count_converged(&residuals, tolerance),
            residuals,
            passes: self.passes,
            outcome,
            next: ritz.values.get(k).copied(),
            most_negative: self.most_negative,
            values: ritz.values[..k].to_vec(),
        }
    }
}

/// A product of small matrices, on this thread: faer's operator would start a pool that outlives the run.
pub(crate) fn small_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut product = Mat::zeros(a.nrows(), b.ncols());
    matmul(product.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    product
}

/// The size of the largest group of eigenvalues that differ by no more than `distance` from one to the next; values that are
/// themselves no larger than that do not count.
fn largest_group(values: &[f64], distance: f64) -> usize {
    let (mut largest, mut size, mut previous) = (0, 0, f64::NAN);
    for &value in values.iter().filter(|value| value.abs() > distance) {
        size = if (value - previous).abs() <= distance { size + 1 } else { 1 };
        largest = largest.max(size);
        previous = value;
    }
    largest
}
