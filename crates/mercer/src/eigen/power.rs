//! Leading eigenpairs by power iteration with deflation.
//!
//! **Use it** as a reference, for one or two well separated pairs. It finds eigenvalues of largest modulus one after the other,
//! each in `log(1/tolerance) / log(λ_i / λ_{i+1})` passes.
//!
//! **Cost** per pass: one product with one vector. **Memory**: `n_pairs + 2` vectors of length `n`.
//!
//! # Method
//!
//! `v ← A v / ‖A v‖`, kept orthogonal to the pairs already found. The Rayleigh quotient `vᵀ A v` is the eigenvalue, and
//! `‖A v − λ v‖` the residual; a pair is done when that is small, or when the passes are used up.

use faer::{Col, Mat};

use super::tall;
use super::{
    EigenPairs, EigenSolver, Order, Outcome, Request, count_converged, leading_order, most_negative, relative,
};
use crate::error::{Error, Result};
use crate::gram::SymmetricOperator;
use crate::watch::Context;

/// Pairs are iterated to this share of the tolerance: what is left of one enters the residuals of all that are deflated with it.
const MARGIN: f64 = 0.1;

/// The power iteration solver.
///
/// ```
/// use mercer::eigen::{EigenSolver, PowerIteration, Request};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = PowerIteration.leading(&gram, &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 9.0).abs() < 1e-6 && (pairs.values[1] - 4.0).abs() < 1e-6);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerIteration;

impl EigenSolver for PowerIteration {
    fn leading(&self, a: &dyn SymmetricOperator, request: &Request<'_>, context: &Context<'_>) -> Result<EigenPairs> {
        let n = a.dim();
        let k = request.n_pairs.min(n);
        let mut run = Run { found: Mat::zeros(n, 0), values: Vec::new(), norms: Vec::new(), passes: 0 };
        let mut outcome = Outcome::Converged;
        let mut context = *context;
        // With algebraic order, negative pairs of large modulus come up first: they are deflated but not counted.
        let counts = |values: &[f64]| values.iter().filter(|&&v| request.order == Order::Modulus || v >= 0.0).count();
        while counts(&run.values) < k && run.found.ncols() < n && outcome == Outcome::Converged {
            outcome = run.next_pair(a, request, &mut context)?;
        }
        let order = leading_order(&run.values, request.order);
        let chosen = &order[..k.min(order.len())];
        let values: Vec<f64> = chosen.iter().map(|&i| run.values[i]).collect();
        let residuals = relative(chosen.iter().map(|&i| run.norms[i]).collect(), &values);
        Ok(EigenPairs {
            vectors: Mat::from_fn(n, chosen.len(), |i, j| run.found[(i, chosen[j])]),
            converged: count_converged(&residuals, request.tolerance),
            residuals,
            passes: run.passes,
            outcome,
            next: order.get(k).map(|&i| run.values[i]),
            most_negative: most_negative(&run.values),
            values,
        })
    }
}

struct Run {
    found: Mat<f64>,
    values: Vec<f64>,
    norms: Vec<f64>,
    passes: usize,
}

impl Run {
    /// The absolute value of the leading pair found so far, in the order asked for.
    fn leading(&self, order: Order) -> Option<f64> {
        let counts = self.values.iter().filter(|&&value| order == Order::Modulus || value >= 0.0);
        counts.map(|value| value.abs()).reduce(f64::max)
    }

    /// Iterates until one more pair is found.
    fn next_pair(
        &mut self,
        a: &dyn SymmetricOperator,
        request: &Request<'_>,
        context: &mut Context<'_>,
    ) -> Result<Outcome> {
        let (n, index) = (a.dim(), self.found.ncols());
        let seed = request.seed.wrapping_add(index as u64);
        let mut v = match request.start {
            Some(start) if index < start.ncols() => start.subcols(index, 1).to_owned(),
            _ => tall::random(n, 1, seed),
        };
        v = tall::new_directions(v, self.found.as_ref(), context.threads)?;
        if v.ncols() == 0 {
            v = tall::new_directions(tall::random(n, 1, !seed), self.found.as_ref(), context.threads)?;
        }
        let mut last = None;
        loop {
            let mut image = Mat::zeros(n, 1);
            context.progress.pass = self.passes + 1;
            match a.apply(v.as_ref(), image.as_mut(), context) {
                Ok(()) => self.passes += 1,
                Err(Error::Interrupted { .. }) if last.is_some() || !self.values.is_empty() => {
                    if let Some((vector, lambda, norm)) = last {
                        self.push(&vector, lambda, norm);
                    }
                    return Ok(Outcome::Stopped);
                }
                Err(error) => return Err(error),
            }
            let lambda = tall::inner(v.as_ref(), image.as_ref(), context.threads)[(0, 0)];
            let difference: Col<f64> = image.col(0) - v.col(0) * faer::Scale(lambda);
            let norm = difference.norm_l2();
            // What lies along pairs already found is their own inaccuracy: iterating this one does not make it smaller.
            let along = tall::inner(self.found.as_ref(), difference.as_mat(), context.threads);
            let own = (norm * norm - along.squared_norm_l2()).max(0.0).sqrt();
            let leading = self.leading(request.order).unwrap_or(lambda.abs());
            let next = tall::new_directions(image, self.found.as_ref(), context.threads)?;
            // An image without a direction of its own is rounding: the eigenvalue is zero as far as can be told.
            let outcome = if own <= MARGIN * request.tolerance * leading || next.ncols() == 0 {
                Outcome::Converged
            } else if context.watch.is_stopped() {
                Outcome::Stopped
            } else if self.passes >= request.max_passes {
                Outcome::OutOfPasses
            } else {
                last = Some((std::mem::replace(&mut v, next), lambda, norm));
                continue;
            };
            self.push(&v, lambda, norm);
            return Ok(outcome);
        }
    }

    fn push(&mut self, v: &Mat<f64>, lambda: f64, norm: f64) {
        let index = self.found.ncols();
        self.found = Mat::from_fn(v.nrows(), index + 1, |i, j| if j < index { self.found[(i, j)] } else { v[(i, 0)] });
        self.values.push(lambda);
        self.norms.push(norm);
    }
}
