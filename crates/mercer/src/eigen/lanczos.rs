//! Leading eigenpairs by thick-restart Lanczos with full reorthogonalisation.
//!
//! **Use it** when a product with one vector is as cheap per vector as with a block, as it is for fast summation. Where tiles of a
//! kernel matrix are recomputed it needs ten times the passes of [`BlockKrylov`].
//!
//! **Cost** per step: one product with one vector and `O(n m)` for orthogonalisation. **Memory**: `max_subspace` vectors of
//! length `n`.
//!
//! # Method
//!
//! The thick-restart Lanczos method of Wu and Simon is the block method of [`BlockKrylov`] with blocks of one vector; this type is
//! that case. The projected problem is looked at every few steps only, because with one vector a step is cheap and the
//! look is not.

use super::{BlockKrylov, EigenPairs, EigenSolver, Request};
use crate::error::Result;
use crate::gram::SymmetricOperator;
use crate::watch::Context;

/// The Lanczos solver.
///
/// ```
/// use mercer::eigen::{EigenSolver, Lanczos, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = Lanczos::new(2).leading(&gram, &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6 && (pairs.values[1] - 4.0).abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanczos {
    /// Vectors that the basis may hold before it is restarted.
    pub max_subspace: usize,
}

impl Lanczos {
    /// A solver for `n_pairs` pairs; the basis has room for three times as many vectors, and at least 60.
    pub fn new(n_pairs: usize) -> Self {
        Self { max_subspace: (3 * n_pairs).max(60) }
    }
}

/// Steps between two looks at the projected problem.
const CHECK_EVERY: usize = 10;

impl EigenSolver for Lanczos {
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs> {
        let solver = BlockKrylov { block: 1, max_subspace: self.max_subspace, check_every: CHECK_EVERY };
        solver.leading(a, request, context)
    }
}
