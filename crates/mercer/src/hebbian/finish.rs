//! From coefficients to a model: Rayleigh and Ritz inside the learned span.
//!
//! # Method
//!
//! The rows of `A` span directions `A Φ'` in feature space, which are neither orthonormal nor ordered. Their inner products are
//! `P = A K' Aᵀ`, and the second moments of the points along them `R = A K' K' Aᵀ`. The solutions of `R u = λ P u` with `uᵀ P u = 1` give
//! orthonormal directions `α = Aᵀ u` in the same span, ordered by the variance `λ` along them; no direction in the span has more
//! than the first. It costs no pass over the matrix, because `A K'` is known.
//!
//! # Numerics
//!
//! `P` is decomposed first, and directions of length below [`DEPENDENT`] relative to the longest are dropped: they are rounding of
//! the others. Directions whose squared length is negative are those of a kernel that is not positive semi-definite; they are dropped as well, and
//! the lowest Rayleigh quotient along them is kept, so that it can be told.

use std::collections::BTreeMap;

use faer::{Mat, MatRef};

use super::learner::HebbianLearner;
use crate::choices::Negative;
use crate::eigen::tall::inner;
use crate::eigen::{EigenPairs, Order, Outcome, small_eigen, small_product};
use crate::error::{Error, Result};
use crate::model::{Finish, Model, Spectrum, Totals};
use crate::plan::Plan;

/// Squared lengths below this share of the largest are rounding.
const DEPENDENT: f64 = 1e-13;

/// Orthonormal, ordered directions inside the learned span.
pub(super) struct Ritz {
    /// Variances times the number of points, in decreasing order.
    pub(super) values: Vec<f64>,
    /// Coefficients `α` over the points, one column per direction.
    pub(super) coefficients: Mat<f64>,
    /// Scores `K' α` of the points.
    pub(super) scores: Mat<f64>,
    /// The lowest negative quotient along a direction that was dropped, if there was one.
    lowest: Option<f64>,
}

impl HebbianLearner {
    /// The model of what has been learned so far.
    ///
    /// Its components are not the coefficients as updated, but orthonormal directions inside their span, in the order of their
    /// variance: see [`coefficients`](Self::coefficients) for the former. Its residuals are `‖K' a − λ a‖ / (λ₁ ‖a‖)` for the expansion
    /// coefficients `a` of each direction. They are pessimistic early in a run: coefficients still hold parts of the
    /// random start that the kernel matrix nearly annihilates, which do not show in the scores of any point.
    ///
    /// # Errors
    ///
    /// If the points have no variance in the span, or the kernel has significant negative eigenvalues that were not allowed.
    pub fn model(&self) -> Result<Model> {
        let _work = self.prepared.threads.at_work()?;
        let ritz = self.ritz()?;
        let residuals = ritz.residuals();
        let tolerance = self.prepared.tolerance;
        let converged = residuals.iter().take_while(|&&residual| residual <= tolerance).count();
        let pairs = EigenPairs {
            // The model divides by the root again; its coefficients are α exactly.
            vectors: Mat::from_fn(self.state.n, ritz.values.len(), |i, j| {
                ritz.coefficients[(i, j)] * ritz.values[j].abs().sqrt()
            }),
            converged,
            passes: self.state.pass(),
            outcome: match (self.stopped, converged == ritz.values.len()) {
                (true, _) => Outcome::Stopped,
                (false, true) => Outcome::Converged,
                (false, false) => Outcome::OutOfPasses,
            },
            next: None,
            most_negative: ritz.lowest,
            residuals,
            values: ritz.values,
        };
        let spectrum = Spectrum::new(pairs, self.engine.diagonal()?, self.engine.centering().cloned());
        let (found, asked) = (spectrum.pairs.values.len(), self.settings.n_components);
        let mut prepared = self.prepared.clone();
        let has_all = found < asked && self.has_all(&spectrum);
        if has_all {
            prepared.warnings.push(format!(
                "{found} of {asked} components are returned: the points have no variance beside them that could be told from rounding in {}",
                prepared.precision
            ));
        }
        let mut model = Finish {
            settings: &self.settings.common,
            prepared,
            plan: self.plan(),
            points: &self.points,
            spectrum,
            requested: Some(if has_all { found } else { asked }),
            totals: Totals {
                passes: self.state.pass(),
                products: self.n_updates(),
                kernel_entries: self.kernel_entries(),
            },
            expansion: None,
            resumed_after_passes: self.resumed_after.map(|resumed| resumed.passes),
        }
        .model_with_scores(&ritz.scores)
        .map_err(without_flipping)?;
        model.set_seconds(BTreeMap::from([("total".to_owned(), self.seconds)]));
        Ok(model)
    }

    /// Scores of the points that were learned from, along the directions of the [`model`](Self::model): one row per point.
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(2).fit(&points)?;
    /// assert!((learner.training_scores()? - learner.model()?.training_scores()).norm_max() < 1e-12);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`model`](Self::model).
    pub fn training_scores(&self) -> Result<Mat<f64>> {
        Ok(self.model()?.training_scores())
    }

    pub(super) fn ritz(&self) -> Result<Ritz> {
        let (r, threads) = (self.state.r, &self.prepared.threads);
        let (a, images) = (self.state.coefficients(0, r), self.state.images(0, r));
        let lengths = symmetric(inner(images, a, threads).as_ref());
        let moments = symmetric(inner(images, images, threads).as_ref());
        threads.run(|| {
            let (values, vectors) = small_eigen(lengths.as_ref(), Order::Modulus)?;
            let largest = values.first().map_or(0.0, |value| value.abs());
            let kept: Vec<usize> = (0..values.len()).filter(|&j| values[j] > DEPENDENT * largest).collect();
            let whitened = Mat::from_fn(r, kept.len(), |i, j| vectors[(i, kept[j])] / values[kept[j]].sqrt());
            let quotient = |j: usize| {
                let moment = small_product(moments.as_ref(), vectors.as_ref().subcols(j, 1));
                vectors.col(j).iter().zip(moment.col(0).iter()).map(|(v, m)| v * m).sum::<f64>() / values[j]
            };
            // Where the squared length is rounding, the quotient says nothing.
            let certain = self.prepared.precision.epsilon().sqrt() * largest;
            let negative = (0..values.len()).filter(|&j| values[j] < -certain);
            let lowest = negative.map(quotient).min_by(f64::total_cmp);
            if kept.is_empty() {
                return Err(self.nothing_kept(lowest));
            }
            let projected = symmetric(
                small_product(whitened.transpose(), small_product(moments.as_ref(), whitened.as_ref()).as_ref())
                    .as_ref(),
            );
            let (values, vectors) = small_eigen(projected.as_ref(), Order::Algebraic)?;
            let u = small_product(whitened.as_ref(), vectors.as_ref());
            let (coefficients, scores) = (small_product(a, u.as_ref()), small_product(images, u.as_ref()));
            let mut ritz = Ritz { values, coefficients, scores, lowest };
            if self.engine.centering().is_some() {
                ritz.center();
            }
            ritz.fix_signs();
            Ok(ritz)
        })
    }

    /// What is wrong with a span in which no direction has a positive squared length: that of negative eigenvalues, or of nothing at all.
    fn nothing_kept(&self, lowest: Option<f64>) -> Error {
        match (lowest, self.settings.common.negative) {
            (None, _) => Error::NoVariance { n_samples: self.state.n },
            (Some(_), Negative::Clip) => Error::UnsuitableKernel {
                what: "the kernel Hebbian algorithm",
                kernel: self.prepared.kernel.name().to_owned(),
                reason: "what was learned has negative eigenvalues only, and they count as zero",
            },
            (Some(lowest), Negative::Error | Negative::Flip) => {
                Error::NegativeEigenvalues { ratio: -lowest / f64::MIN_POSITIVE, can_flip: false }
            }
        }
    }

    /// Whether nothing is left beside the directions that were found, so that those that were dropped are missed by nobody.
    fn has_all(&self, spectrum: &Spectrum) -> bool {
        let held: f64 = spectrum.pairs.values.iter().sum();
        (spectrum.total - held).abs() <= self.prepared.precision.epsilon().sqrt() * spectrum.total.abs()
    }

    /// What was done, in the words of a plan.
    fn plan(&self) -> Plan {
        let plan = self.settings.plan_of(&self.prepared, self.state.n, self.store_bytes, self.memory_bytes);
        Plan { stored_share: self.engine.stored_share(), expected_seconds: self.seconds, ..plan }
    }
}

impl Ritz {
    /// A constant in the coefficients is nothing in centred feature space.
    fn center(&mut self) {
        let n = self.coefficients.nrows() as f64;
        for j in 0..self.coefficients.ncols() {
            let mean = self.coefficients.col(j).iter().sum::<f64>() / n;
            self.coefficients.col_mut(j).iter_mut().for_each(|x| *x -= mean);
        }
    }

    /// As the model does: the coefficient of largest absolute value is positive.
    fn fix_signs(&mut self) {
        for j in 0..self.coefficients.ncols() {
            let larger = |m: f64, &x: &f64| if x.abs() > m.abs() { x } else { m };
            if self.coefficients.col(j).iter().fold(0.0, larger) < 0.0 {
                for matrix in [&mut self.coefficients, &mut self.scores] {
                    matrix.col_mut(j).iter_mut().for_each(|x| *x = -*x);
                }
            }
        }
    }

    fn residuals(&self) -> Vec<f64> {
        let leading = self.values.first().map_or(1.0, |value| value.abs()).max(f64::MIN_POSITIVE);
        (0..self.values.len())
            .map(|j| {
                let (mut gap, mut length) = (0.0, 0.0);
                for (a, score) in self.coefficients.col(j).iter().zip(self.scores.col(j).iter()) {
                    gap += (score - self.values[j] * a).powi(2);
                    length += a * a;
                }
                gap.sqrt() / (leading * length.sqrt()).max(f64::MIN_POSITIVE)
            })
            .collect()
    }
}

/// What is wrong, without the advice that updates cannot follow: they never find directions of negative eigenvalues.
fn without_flipping(error: Error) -> Error {
    match error {
        Error::NegativeEigenvalues { ratio, .. } => Error::NegativeEigenvalues { ratio, can_flip: false },
        other => other,
    }
}

/// The symmetric part, which rounding has left nearly everything in.
pub(super) fn symmetric(matrix: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]))
}
