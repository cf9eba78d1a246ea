//! All eigenpairs, by a dense decomposition.
//!
//! **Use it** for a few hundred points, or when a good part of the spectrum is wanted.
//!
//! **Cost**: one product with `n` vectors and `O(n³)`. **Memory**: about six matrices of `n²` numbers, and the product's.
//!
//! # Numerics
//!
//! The decomposition is faer's (tridiagonalisation, then divide and conquer). How its work is split depends on the size of the matrix
//! alone and not on how many threads there are, because the split decides the rounding.
//!
//! # Stopping
//!
//! The decomposition has no safe points, and half of it is no answer. A run that is stopped leaves it behind on
//! threads of its own, where it owns the matrix and ends by itself (`Context::run_unless_stopped`).

use faer::diag::Diag;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{self, ComputeEigenvectors};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use super::{
    EigenPairs, EigenSolver, Order, Outcome, Request, SPLIT, column_residuals, count_converged, most_negative,
    small_eigen,
};
use crate::error::{Error, Result};
use crate::gram::SymmetricOperator;
use crate::watch::Context;

/// The dense solver.
///
/// ```
/// use mercer::eigen::{EigenSolver, Dense, Request};
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
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dense;

impl EigenSolver for Dense {
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs> {
        let n = a.dim();
        let k = request.n_pairs.min(n);
        if k == 0 {
            return Ok(EigenPairs::empty(n));
        }
        let mut context = *context;
        context.progress.pass = 1;
        let matrix = a.to_dense(&context)?;
        let order = request.order;
        let solved = if n <= ALONE_UP_TO {
            context.threads.run(|| leading_of(&matrix, k, order))
        } else {
            context.run_unless_stopped(move || leading_of(&matrix, k, order))?
        };
        let (values, leading, image) = solved?;
        let residuals = column_residuals(image, leading.as_ref(), &values[..k]);
        // A direct method cannot be run further: what rounding leaves is the answer.
        Ok(EigenPairs {
            converged: count_converged(&residuals, request.tolerance.max(dense_rounding(n))),
            residuals,
            vectors: leading,
            passes: 1,
            outcome: Outcome::Converged,
            next: values.get(k).copied(),
            most_negative: most_negative(&values),
            values: values[..k].to_vec(),
        })
    }
}

/// All eigenvalues, the `k` leading eigenvectors, and their images.
fn leading_of(matrix: &Mat<f64>, k: usize, order: Order) -> Result<(Vec<f64>, Mat<f64>, Mat<f64>)> {
    let n = matrix.nrows();
    let (values, vectors) = small_eigen(matrix.as_ref(), order)?;
    let leading = vectors.subcols(0, k).to_owned();
    let mut image = Mat::zeros(n, k);
    matmul(image.as_mut(), Accum::Replace, matrix.as_ref(), leading.as_ref(), 1.0, split(n));
    Ok((values, leading, image))
}

/// Residual that a backward stable decomposition may leave, relative to the largest eigenvalue.
fn dense_rounding(n: usize) -> f64 {
    10.0 * (n as f64).sqrt() * f64::EPSILON
}

/// Up to this order a decomposition is done before another thread is awake.
const ALONE_UP_TO: usize = 256;

/// How the work on a matrix of this order is split, whatever the number of threads.
const fn split(order: usize) -> Par {
    if order <= ALONE_UP_TO { Par::Seq } else { SPLIT }
}

/// Eigenvalues in increasing order, and eigenvectors.
///
/// # Errors
///
/// If the matrix holds numbers that are not finite.
pub(super) fn decompose(matrix: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>)> {
    let n = matrix.nrows();
    if matrix.col_iter().any(|column| column.iter().any(|x| !x.is_finite())) {
        return Err(Error::Decomposition { order: n });
    }
    let mut values = Diag::zeros(n);
    let mut vectors = Mat::zeros(n, n);
    let (parameters, split) = (faer::Spec::default(), split(n));
    let scratch = evd::self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, split, parameters);
    let mut memory = MemBuffer::new(scratch);
    let (target, stack) = (Some(vectors.as_mut()), MemStack::new(&mut memory));
    evd::self_adjoint_evd(matrix, values.as_mut(), target, split, stack, parameters)
        .map_err(|_| Error::Decomposition { order: n })?;
    Ok((values.column_vector().iter().copied().collect(), vectors))
}
