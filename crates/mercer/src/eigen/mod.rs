//! Leading eigenpairs of symmetric operators.
//!
//! | solver | passes | for |
//! |---|---|---|
//! | [`Dense`] | 1, with `n` vectors | small matrices, or most of the spectrum |
//! | [`BlockKrylov`] | few, with blocks | large matrices: the default |
//! | [`Lanczos`] | many, with one vector | operators for which a block is no cheaper per vector |
//! | [`SubspaceIteration`] | many, with blocks | reference |
//! | [`PowerIteration`] | very many, with one vector | reference |
//!
//! This module knows nothing of kernels or points: it sees a [`SymmetricOperator`].

mod dense;
mod krylov;
mod lanczos;
mod looks;
pub(crate) mod many;
mod power;
mod snapshot;
mod subspace;
pub(crate) mod tall;
mod tridiagonal;

use std::cmp::Ordering;

use faer::{Mat, MatRef, Par};

pub use dense::Dense;
pub use krylov::BlockKrylov;
pub(crate) use krylov::{seekers, small_product};
pub use lanczos::Lanczos;
pub use power::PowerIteration;
pub use snapshot::{Counts, Keeper, Snapshot};
pub use subspace::SubspaceIteration;

use crate::error::Result;
use crate::gram::SymmetricOperator;
use crate::watch::Context;

/// How factorisations and large products are split, whatever the number of threads: the split decides the rounding.
pub(crate) const SPLIT: Par = Par::Rayon(std::num::NonZero::new(4).expect("4 is not zero"));

/// Which end of the spectrum leads.
///
/// ```
/// use mercer::eigen::{Order, Request};
///
/// let request = Request { order: Order::Modulus, ..Request::new(3) };
/// assert_ne!(request.order, Order::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The largest eigenvalues first.
    #[default]
    Algebraic,
    /// The largest absolute values first.
    Modulus,
}

impl Order {
    /// Compares two eigenvalues: the leading one is less.
    pub(crate) fn compare(self, a: f64, b: f64) -> Ordering {
        match self {
            Self::Algebraic => b.total_cmp(&a),
            Self::Modulus => b.abs().total_cmp(&a.abs()),
        }
    }
}

/// What a solver is asked for.
///
/// ```
/// let request = mercer::eigen::Request { tolerance: 1e-9, ..mercer::eigen::Request::new(5) };
/// assert_eq!((request.n_pairs, request.max_passes), (5, 500));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// How many pairs.
    pub n_pairs: usize,
    /// Which ones.
    pub order: Order,
    /// A pair has converged when `‖A v − λ v‖ <= tolerance · |λ₁|`.
    pub tolerance: f64,
    /// Products with blocks after which the solver gives up.
    pub max_passes: usize,
    /// Where random start vectors come from.
    pub seed: u64,
    /// Vectors to start from instead of random ones.
    pub start: Option<MatRef<'a, f64>>,
    /// Keeps the state between passes. [`BlockKrylov`] and [`Lanczos`] can go on from one; the other solvers never ask.
    pub keeper: Option<&'a dyn Keeper>,
}

impl Request<'_> {
    /// The leading `n_pairs` pairs to residual 1e-6 within 500 passes, from random vectors.
    pub fn new(n_pairs: usize) -> Self {
        Self { n_pairs, order: Order::Algebraic, tolerance: 1e-6, max_passes: 500, seed: 0, start: None, keeper: None }
    }
}

/// Why a solver stopped.
///
/// ```
/// use mercer::eigen::{EigenSolver, Outcome, PowerIteration, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// // One product is not enough for six digits.
/// let request = Request { max_passes: 1, ..Request::new(1) };
/// let pairs = PowerIteration.leading(&gram, &request, &context)?;
/// assert_eq!(pairs.outcome, Outcome::OutOfPasses);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All pairs reached the tolerance.
    Converged,
    /// The allowed passes were used up.
    OutOfPasses,
    /// The watch said stop.
    Stopped,
}

/// Eigenpairs in the order asked for, with the evidence of their quality.
///
/// ```
/// use mercer::eigen::{EigenSolver, Dense, Outcome, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = Dense.leading(&gram, &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6 && (pairs.values[1] - 4.0).abs() < 1e-6);
/// assert_eq!((pairs.outcome, pairs.converged, pairs.passes), (Outcome::Converged, 2, 1));
/// assert!(pairs.residuals.iter().all(|&residual| residual < 1e-12));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EigenPairs {
    /// Eigenvalues.
    pub values: Vec<f64>,
    /// Unit eigenvectors, one per column.
    pub vectors: Mat<f64>,
    /// `‖A v − λ v‖ / |λ₁|` for each pair, from products that were made.
    pub residuals: Vec<f64>,
    /// Leading pairs whose residual met the tolerance.
    pub converged: usize,
    /// Products with blocks.
    pub passes: usize,
    /// Why the solver stopped.
    pub outcome: Outcome,
    /// The next eigenvalue after the returned ones, as far as it is known.
    pub next: Option<f64>,
    /// The most negative eigenvalue that was seen, if any.
    pub most_negative: Option<f64>,
}

/// Computes leading eigenpairs.
///
/// # Contract
///
/// 1. At most `min(n_pairs, n)` pairs come back, in the order asked for, with orthonormal vectors.
/// 2. A run that stops early returns its best pairs and says so in [`EigenPairs::outcome`]; only a run stopped before its first
///    product is an error.
/// 3. The same request gives the same bits, whatever the number of threads.
///
/// ```
/// use mercer::eigen::{BlockKrylov, Dense, EigenSolver, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let solvers: [&dyn EigenSolver; 2] = [&Dense, &BlockKrylov::new(1, 1)];
/// for solver in solvers {
///     let pairs = solver.leading(&gram, &Request::new(1), &context)?;
///     assert!((pairs.values[0] - 9.0).abs() < 1e-6);
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait EigenSolver {
    /// Solves.
    ///
    /// # Errors
    ///
    /// If the operator fails, or the run is stopped before there is anything to return.
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs>;
}

impl EigenPairs {
    /// The pairs of no matrix.
    pub(crate) fn empty(n: usize) -> Self {
        Self {
            values: Vec::new(),
            vectors: Mat::zeros(n, 0),
            residuals: Vec::new(),
            converged: 0,
            passes: 0,
            outcome: Outcome::Converged,
            next: None,
            most_negative: None,
        }
    }
}

/// How many leading residuals meet the tolerance. Those behind the first that does not are not counted: of an eigenvalue that is nearly
/// zero, so is the residual, whatever its vector.
///
/// ```
/// assert_eq!(mercer::eigen::count_converged(&[1e-9, 1e-7, 1e-3, 1e-9], 1e-6), 2);
/// ```
pub fn count_converged(residuals: &[f64], tolerance: f64) -> usize {
    residuals.iter().take_while(|&&residual| residual <= tolerance).count()
}

/// Indices of eigenvalues, leading ones first.
fn leading_order(values: &[f64], order: Order) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..values.len()).collect();
    indices.sort_by(|&a, &b| order.compare(values[a], values[b]));
    indices
}

/// The most negative of some eigenvalues, if there is a negative one.
fn most_negative(values: &[f64]) -> Option<f64> {
    values.iter().copied().filter(|&value| value < 0.0).min_by(f64::total_cmp)
}

/// Eigenvalues and eigenvectors of a small symmetric matrix, leading ones first.
pub(crate) fn small_eigen(matrix: MatRef<'_, f64>, order: Order) -> Result<(Vec<f64>, Mat<f64>)> {
    let (values, vectors) = dense::decompose(matrix)?;
    let sorted = leading_order(&values, order);
    let leading = Mat::from_fn(matrix.nrows(), sorted.len(), |i, j| vectors[(i, sorted[j])]);
    Ok((sorted.iter().map(|&index| values[index]).collect(), leading))
}

/// `‖image − v λ‖ / |λ₁|` for each column, where `image = A v`.
fn column_residuals(mut image: Mat<f64>, vectors: MatRef<'_, f64>, values: &[f64]) -> Vec<f64> {
    for (j, &lambda) in values.iter().enumerate() {
        image.col_mut(j).iter_mut().zip(vectors.col(j).iter()).for_each(|(w, v)| *w -= lambda * v);
    }
    relative(tall::column_norms(image.as_ref()), values)
}

/// Norms relative to the leading eigenvalue; as they are if that is zero.
fn relative(mut norms: Vec<f64>, values: &[f64]) -> Vec<f64> {
    let leading = values.first().map_or(0.0, |value| value.abs());
    if leading > 0.0 {
        for norm in &mut norms {
            *norm /= leading;
        }
    }
    norms
}
