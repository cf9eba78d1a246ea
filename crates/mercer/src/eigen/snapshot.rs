//! The state of a solver between two passes, so that a run that was cut off can go on.

use std::fmt;

use faer::{Mat, MatRef};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// The state of [`BlockKrylov`](super::BlockKrylov) (and so of [`Lanczos`](super::Lanczos)) between two passes.
///
/// A run that goes on from it makes the same passes, to the bit, that the run it was taken from would have made.
///
/// `M` is [`Mat`] for a state that is owned and [`MatRef`] for one that is looked at.
///
/// ```
/// use faer::Mat;
/// use mercer::eigen::{Counts, Snapshot};
///
/// let counts =
///     Counts { passes: 1, width: 1, max_subspace: 3, random_sets: 1, trial_ends: None, most_negative: None, next_look: 2 };
/// let unit = |row: usize| Mat::from_fn(3, 1, |i, _| f64::from(i == row));
/// let state = Snapshot {
///     basis: unit(0),
///     block: unit(1),
///     projected: Mat::full(1, 1, 9.0),
///     coupling: Mat::full(1, 1, 0.5),
///     counts,
/// };
/// assert!(state.is_consistent(3) && !state.is_consistent(4));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<M = Mat<f64>> {
    /// Orthonormal vectors whose images are known, one per column.
    pub basis: M,
    /// Orthonormal vectors to be multiplied in the next pass.
    pub block: M,
    /// `basisᵀ A basis`.
    pub projected: M,
    /// `blockᵀ A basis`.
    pub coupling: M,
    /// Everything that is not a matrix.
    pub counts: Counts,
}

/// What a [`Snapshot`] holds besides matrices.
///
/// ```
/// use mercer::eigen::Counts;
///
/// let counts =
///     Counts { passes: 7, width: 32, max_subspace: 160, random_sets: 1, trial_ends: None, most_negative: None, next_look: 8 };
/// let text = serde_json::to_string(&counts)?;
/// assert_eq!(serde_json::from_str::<Counts>(&text)?, counts);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Passes that were made.
    pub passes: usize,
    /// Vectors of the first block.
    pub width: usize,
    /// Vectors that the basis may hold before it is restarted.
    pub max_subspace: usize,
    /// Sets of random vectors that went into the basis.
    pub random_sets: usize,
    /// The pass at which a result has stood its trial.
    pub trial_ends: Option<usize>,
    /// The most negative eigenvalue that was seen.
    pub most_negative: Option<f64>,
    /// The pass after which the projected problem is looked at again; absent in states of earlier versions, which looked at every one.
    #[serde(default)]
    pub next_look: usize,
}

impl Snapshot {
    /// Whether the matrices fit together and `n`, the order of the operator.
    pub fn is_consistent(&self, n: usize) -> bool {
        let (m, b) = (self.basis.ncols(), self.block.ncols());
        self.basis.nrows() == n
            && self.block.nrows() == n
            && (self.projected.nrows(), self.projected.ncols()) == (m, m)
            && (self.coupling.nrows(), self.coupling.ncols()) == (b, m)
            && self.counts.width >= 1
            && (1..=n).contains(&self.counts.max_subspace)
            && m <= n
            && (1..=n).contains(&(m + b))
            && self.counts.passes >= 1
    }
}

/// Keeps snapshots for a later run, and has the one that an earlier run left.
///
/// A solver asks for an earlier state when it begins and offers its state after every pass. Keeping one is the
/// keeper's decision, except for the last one of a run that was stopped.
///
/// ```
/// use std::cell::RefCell;
///
/// use faer::MatRef;
/// use mercer::eigen::{BlockKrylov, EigenSolver, Keeper, Request, Snapshot};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
///
/// /// Keeps the last state in memory.
/// #[derive(Debug, Default)]
/// struct Memory(RefCell<Option<Snapshot>>);
///
/// impl Keeper for Memory {
///     fn earlier(&self) -> Option<Snapshot> {
///         self.0.take()
///     }
///     fn offer(&self, state: &Snapshot<MatRef<'_, f64>>, _is_last: bool) -> mercer::Result<()> {
///         let own = |matrix: MatRef<'_, f64>| matrix.to_owned();
///         let (basis, block) = (own(state.basis), own(state.block));
///         let (projected, coupling) = (own(state.projected), own(state.coupling));
///         self.0.replace(Some(Snapshot { basis, block, projected, coupling, counts: state.counts }));
///         Ok(())
///     }
/// }
///
/// let memory = Memory::default();
/// let solver = BlockKrylov::new(1, 1);
/// let request = Request { keeper: Some(&memory), ..Request::new(1) };
/// solver.leading(&gram, &Request { max_passes: 1, ..request }, &context)?;
/// let pairs = solver.leading(&gram, &request, &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait Keeper: fmt::Debug {
    /// The state to go on from, if there is one; asked once.
    fn earlier(&self) -> Option<Snapshot>;

    /// Takes note of the state after a pass. `is_last`: the run was stopped and no further pass will be made.
    ///
    /// # Errors
    ///
    /// If the state should be kept and cannot be.
    fn offer(&self, state: &Snapshot<MatRef<'_, f64>>, is_last: bool) -> Result<()>;
}
