//! Leading eigenpairs by subspace iteration.
//!
//! **Use it** as a reference: it is the simplest block method. It finds eigenvalues of largest modulus, and needs
//! `log(1/tolerance) / log(λ_k / λ_{b+1})` passes.
//!
//! **Cost** per pass: one product with `block` vectors and `O(n block²)`. **Memory**: four blocks of vectors of length `n`.
//!
//! # Method
//!
//! `x ← orthonormal basis of A x`, with a Rayleigh–Ritz step in between: the projected problem `xᵀ A x` gives values,
//! vectors, and residuals from the image that was just computed.

use super::tall;
use super::{EigenPairs, EigenSolver, Outcome, Request, column_residuals, count_converged, most_negative, small_eigen};
use crate::error::{Error, Result};
use crate::gram::SymmetricOperator;
use crate::watch::Context;
use faer::Mat;

/// The subspace iteration solver.
///
/// ```
/// use mercer::eigen::{EigenSolver, SubspaceIteration, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = SubspaceIteration { block: 3 }.leading(&gram, &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6 && (pairs.values[1] - 4.0).abs() < 1e-6);
/// assert_eq!(SubspaceIteration::new(5).block, 10);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubspaceIteration {
    /// Vectors iterated at once: more than are wanted, because convergence depends on the first eigenvalue left out.
    pub block: usize,
}

impl SubspaceIteration {
    /// A solver for `n_pairs` pairs, with a block of twice as many.
    pub fn new(n_pairs: usize) -> Self {
        Self { block: 2 * n_pairs.max(4) }
    }
}

impl EigenSolver for SubspaceIteration {
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs> {
        let n = a.dim();
        let (k, order) = (request.n_pairs.min(n), request.order);
        if k == 0 {
            return Ok(EigenPairs::empty(n));
        }
        let mut context = *context;
        let width = self.block.max(k).min(n);
        let mut start = tall::random(n, width, request.seed);
        if let Some(given) = request.start {
            let columns = given.ncols().min(width);
            start.subcols_mut(0, columns).copy_from(given.subcols(0, columns));
        }
        let mut x = tall::new_directions(start, Mat::zeros(n, 0).as_ref(), context.threads)?;
        let mut best: Option<EigenPairs> = None;
        for pass in 1..=request.max_passes.max(1) {
            context.progress.pass = pass;
            let mut image = Mat::zeros(n, x.ncols());
            match a.apply(x.as_ref(), image.as_mut(), &context) {
                Ok(()) => {}
                Err(Error::Interrupted { .. }) if best.is_some() => {
                    return Ok(EigenPairs { outcome: Outcome::Stopped, ..best.expect("just checked") });
                }
                Err(error) => return Err(error),
            }
            let projected = tall::inner(x.as_ref(), image.as_ref(), context.threads);
            let (values, rotation) = context.threads.run(|| small_eigen(projected.as_ref(), order))?;
            let k = k.min(values.len());
            let vectors = tall::product(x.as_ref(), rotation.subcols(0, k), context.threads);
            let turned = tall::product(image.as_ref(), rotation.subcols(0, k), context.threads);
            let residuals = column_residuals(turned, vectors.as_ref(), &values[..k]);
            context.progress.residual = residuals.iter().copied().reduce(f64::max);
            context.report_fraction(1.0);
            let converged = count_converged(&residuals, request.tolerance);
            let outcome = match (converged == k, context.watch.is_stopped()) {
                (true, _) => Outcome::Converged,
                (false, true) => Outcome::Stopped,
                (false, false) => Outcome::OutOfPasses,
            };
            best = Some(EigenPairs {
                vectors,
                residuals,
                converged,
                passes: pass,
                outcome,
                next: values.get(k).copied(),
                most_negative: most_negative(&values),
                values: values[..k].to_vec(),
            });
            if outcome != Outcome::OutOfPasses {
                break;
            }
            x = next_block(image, width, request.seed.wrapping_add(pass as u64), &context)?;
        }
        Ok(best.expect("there is at least one pass"))
    }
}

/// An orthonormal basis of the image, filled up with random vectors where the image has fewer directions.
fn next_block(image: Mat<f64>, width: usize, seed: u64, context: &Context<'_>) -> Result<Mat<f64>> {
    let n = image.nrows();
    let next = tall::new_directions(image, Mat::zeros(n, 0).as_ref(), context.threads)?;
    let found = next.ncols();
    if found == width {
        return Ok(next);
    }
    let random = tall::random(n, width - found, seed);
    let added = tall::new_directions(random, next.as_ref(), context.threads)?;
    let columns = found + added.ncols();
    Ok(Mat::from_fn(n, columns, |i, j| if j < found { next[(i, j)] } else { added[(i, j - found)] }))
}
