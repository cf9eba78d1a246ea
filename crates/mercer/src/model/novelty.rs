//! How unlike the training points a new point is: what the components leave of it, and how far out it lies along them.
//!
//! **Cost**: one pass over the kernel between queries and basis, the same pass that gives their scores; memory does not grow with
//! the number of queries beyond the answers.
//!
//! # Method
//!
//! With `φ` the (centred) feature map and `s` the scores of `x`, Pythagoras gives the part of `φ(x)` outside the span of the
//! components:
//!
//! ```text
//! reconstruction error   ‖φ(x) − Σ s_j u_j‖² = k̃(x, x) − Σ s_j²
//! Hotelling's T²         Σ s_j² / (λ_j / n)
//! k̃(x, x)              = k(x, x) − (2/n) Σ_i k(x, x_i) + mean of the Gram matrix
//! ```
//!
//! The sum over `i` rides along as one more vector in the product that makes the scores. A model whose basis is not its training set
//! has the centre as a combination `Σ w_i φ(b_i)` of its basis points' images, and the terms are `−2 Σ w_i k(x, b_i)` and the squared
//! length of that centre. A component with a negative eigenvalue
//! (kernels that are not positive semi-definite) counts with its sign, as in the indefinite inner product of such a kernel.
//!
//! # Numerics
//!
//! The error is a difference of numbers of the size of `k(x, x)`, so it is known to a few units of rounding of that size, in the
//! precision of the model. For kernels that are positive semi-definite it cannot be negative, and what rounding leaves below zero
//! is returned as zero.

use faer::{Mat, MatRef};

use super::Model;
use super::transform::PackedSlab;
use crate::data::Points;
use crate::eigen::EigenPairs;
use crate::error::{Error, Result};
use crate::gram::{Centering, diagonal};
use crate::kernel::Kernel;
use crate::record::{ControlLimit, ControlLimits};
use crate::watch::{Context, Threads, Watch};

/// Levels at which a fit learns limits.
const LEVELS: [f64; 8] = [0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999];

/// How unlike the training points some points are.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points};
///
/// let values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin()).collect();
/// let points = Points::from_f64(values, 100, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(0.5)?).n_components(5).fit(&points)?;
/// let novelty = model.novelty(&Points::from_f64(vec![0.0, 0.5, 30.0, 30.0], 2, 2)?)?;
/// // The second point is like nothing seen before.
/// assert!(novelty.reconstruction_error[1] > novelty.reconstruction_error[0]);
/// let limits = model.record().control_limits.as_ref().and_then(|limits| limits.at(0.99)).ok_or("no limits")?;
/// assert!(novelty.is_beyond(&limits)[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Novelty {
    /// Scores, as [`Model::transform`] gives them: one row per point, one column per component.
    pub scores: Mat<f64>,
    /// Squared distance in feature space from each point to the span of the components.
    pub reconstruction_error: Vec<f64>,
    /// Squared distance of each point's scores from the centre, each in units of its component's variance.
    pub t_squared: Vec<f64>,
}

impl Novelty {
    /// Whether each point is beyond one of the limits.
    pub fn is_beyond(&self, limit: &ControlLimit) -> Vec<bool> {
        let both = self.reconstruction_error.iter().zip(&self.t_squared);
        both.map(|(error, t_squared)| *error > limit.reconstruction_error || *t_squared > limit.t_squared).collect()
    }
}

impl Model {
    /// Scores of new points and how unlike the training points they are, from one pass.
    ///
    /// ```
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::{Kernel, KernelPca, Points};
    ///
    /// let points = Points::from_f64((0..40).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 2)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.5)?).n_components(3).fit(&points)?;
    /// let novelty = model.novelty(&points)?;
    /// assert!((&novelty.scores - model.transform(&points)?).norm_max() < 1e-12);
    /// let (threads, watch) = (Threads::new(1)?, Watch::new());
    /// assert_eq!(model.novelty_watched(&points, &threads, &watch)?.t_squared, novelty.t_squared);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform); and for a precomputed kernel, whose values do not tell `k(x, x)` of a new point.
    pub fn novelty(&self, queries: &Points) -> Result<Novelty> {
        self.novelty_watched(queries, &Threads::all()?, &Watch::new())
    }

    /// As [`novelty`](Self::novelty), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`novelty`](Self::novelty), and [`Error::Interrupted`].
    pub fn novelty_watched(&self, queries: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Novelty> {
        if matches!(self.kernel(), Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "the novelty of points",
                kernel: self.kernel().name().to_owned(),
                reason: "its values do not tell the kernel of a new point with itself",
            });
        }
        let context = self.context_for(queries, threads, watch)?;
        let queries = &*self.scaled(queries)?;
        let product = self.norm_slab(&context)?.product(queries, &context)?;
        let k = self.n_components();
        let mut scores = product.subcols(0, k).to_owned();
        self.subtract_offsets(&mut scores);
        let mut norms = diagonal(self.kernel(), queries)?;
        if let Some(centering) = self.centering() {
            for (norm, row_mean) in norms.iter_mut().zip(product.col(k).iter()) {
                *norm += centering.mean - 2.0 * row_mean;
            }
        }
        let variances: Vec<f64> = self.eigenvalues().iter().map(|value| value / self.n_samples() as f64).collect();
        let (reconstruction_error, t_squared) = norms
            .iter()
            .enumerate()
            .map(|(i, &norm)| distances(norm, (0..k).map(|j| (scores[(i, j)].powi(2), variances[j])), self.kernel()))
            .unzip();
        Ok(Novelty { scores, reconstruction_error, t_squared })
    }

    /// The packed basis with one more vector, whose product is that of a point with the centre.
    fn norm_slab(&self, context: &Context<'_>) -> Result<&PackedSlab> {
        if let Some(slab) = self.norm_slab.get() {
            return Ok(slab);
        }
        let (folded, k) = (self.folded_coefficients(), self.n_components());
        let share = 1.0 / folded.nrows() as f64;
        let columns = k + usize::from(self.centering().is_some());
        let weights = self.centering().and_then(|centering| centering.weights.as_deref());
        let center = |i: usize| weights.map_or(share, |weights| weights[i]);
        let vectors = Mat::from_fn(folded.nrows(), columns, |i, j| if j < k { folded[(i, j)] } else { center(i) });
        let slab = self.slab(context)?.with_vectors(vectors.as_ref(), context)?;
        Ok(self.norm_slab.get_or_init(|| slab))
    }
}

/// A variance of this share of the largest is none: the model of a stream may have directions along which its last rows do not differ.
const NO_VARIANCE: f64 = 1e-13;

/// Reconstruction error and T² of a point, from its squared norm and, for each component, its squared score and the variance. A component
/// without variance has no unit to measure scores in, and no part in T².
fn distances(norm: f64, components: impl Iterator<Item = (f64, f64)> + Clone, kernel: &Kernel) -> (f64, f64) {
    let least = NO_VARIANCE * components.clone().fold(0.0_f64, |most, (_, variance)| most.max(variance.abs()));
    let (mut explained, mut t_squared) = (0.0, 0.0);
    for (squared_score, variance) in components {
        explained += variance.signum() * squared_score;
        if variance.abs() > least {
            t_squared += squared_score / variance.abs();
        }
    }
    let error = norm - explained;
    (if kernel.is_positive_definite() { error.max(0.0) } else { error }, t_squared)
}

/// Limits from the points that were learned from; none for a precomputed kernel, whose model cannot tell novelty. `scores` are theirs, where
/// pairs need not have converged.
pub(super) fn control_limits(
    kernel: &Kernel,
    points: &Points,
    pairs: &EigenPairs,
    scores: Option<MatRef<'_, f64>>,
    centering: Option<&Centering>,
) -> Result<Option<ControlLimits>> {
    if matches!(kernel, Kernel::Precomputed) {
        return Ok(None);
    }
    let n = points.n_samples();
    let mut norms = diagonal(kernel, points)?;
    if let Some(centering) = centering {
        for (norm, column_mean) in norms.iter_mut().zip(&centering.column_means) {
            *norm += centering.mean - 2.0 * column_mean;
        }
    }
    let component = |i: usize, j: usize| {
        let value = pairs.values[j];
        let squared_score = match scores {
            Some(scores) => scores[(i, j)].powi(2),
            // A training point's score is √|λ| v.
            None => value.abs() * pairs.vectors[(i, j)].powi(2),
        };
        (squared_score, value / n as f64)
    };
    Ok(Some(limits_of(kernel, &norms, pairs.values.len(), component)))
}

/// Limits from the squared norms of some points and, for each of them and each of `k` components, its squared score and the variance.
pub(crate) fn limits_of(
    kernel: &Kernel,
    norms: &[f64],
    k: usize,
    component: impl Fn(usize, usize) -> (f64, f64),
) -> ControlLimits {
    let (mut errors, mut t_squared): (Vec<f64>, Vec<f64>) =
        norms.iter().enumerate().map(|(i, &norm)| distances(norm, (0..k).map(|j| component(i, j)), kernel)).unzip();
    ControlLimits {
        levels: LEVELS.to_vec(),
        reconstruction_error: quantiles(&mut errors),
        t_squared: quantiles(&mut t_squared),
    }
}

/// For each level, the smallest value that at least that share of the values does not exceed.
fn quantiles(values: &mut [f64]) -> Vec<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let n = values.len();
    // Rounding must not push 0.95 · 20 above 19.
    let place = |level: f64| ((level * n as f64 - 1e-9).ceil() as usize).clamp(1, n) - 1;
    LEVELS.iter().map(|&level| values[place(level)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_the_smallest_value_that_the_share_does_not_exceed() {
        let mut values: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        // 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999 of twenty.
        assert_eq!(quantiles(&mut values), [10.0, 15.0, 18.0, 19.0, 20.0, 20.0, 20.0, 20.0]);
        assert_eq!(quantiles(&mut [3.0]), [3.0; LEVELS.len()]);
    }

    #[test]
    fn rounding_below_zero_is_zero_only_where_theory_says_so() {
        let gaussian = Kernel::gaussian(1.0).expect("positive");
        assert_eq!(distances(1.0, [(1.5, 0.5)].into_iter(), &gaussian), (0.0, 3.0));
        let sigmoid = Kernel::sigmoid(1.0, 1.0).expect("finite");
        assert_eq!(distances(1.0, [(1.5, 0.5)].into_iter(), &sigmoid), (-0.5, 3.0));
        assert_eq!(distances(1.0, [(1.5, -0.5)].into_iter(), &sigmoid), (2.5, 3.0), "counts with its sign");
    }

    #[test]
    fn a_component_without_variance_has_no_part_in_t_squared() {
        let gaussian = Kernel::gaussian(1.0).expect("positive");
        assert_eq!(distances(1.0, [(0.5, 0.25), (0.25, 0.0)].into_iter(), &gaussian), (0.25, 2.0));
        assert_eq!(
            distances(1.0, [(0.5, 0.25), (0.25, 1e-15)].into_iter(), &gaussian),
            (0.25, 2.0),
            "but for rounding"
        );
        assert_eq!(distances(1.0, [(0.5, 0.0)].into_iter(), &gaussian), (0.5, 0.0));
    }
}
