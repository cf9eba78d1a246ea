//! How good a span is.
//!
//! Equation numbers are those of [GSV07](super).

use super::finish::symmetric;
use super::learner::{HebbianLearner, total_variance};
use super::start;
use crate::eigen::tall::inner;
use crate::eigen::{Order, small_eigen, small_product};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{BasisKind, Model};
use crate::record::KernelRecord;
use crate::watch::{Context, Phase, Watch};

/// How much larger an error is than the smallest possible one, relative to that.
///
/// ```
/// assert_eq!(mercer::hebbian::excess_relative_error(1.5, 1.0), 0.5);
/// ```
pub fn excess_relative_error(error: f64, smallest: f64) -> f64 {
    error / smallest - 1.0
}

impl HebbianLearner {
    /// The reconstruction error (38), `‖K' − (A K')ᵀ A K'‖`, in one pass over the matrix that stores nothing of it.
    ///
    /// It is summed entry by entry, so nothing cancels near the smallest possible error.
    ///
    /// # Errors
    ///
    /// If the pass was stopped, or a custom kernel failed.
    pub fn reconstruction_error(&self, watch: &Watch<'_>) -> Result<f64> {
        let _work = self.prepared.threads.at_work()?;
        self.error(&Context::new(&self.prepared.threads, watch, Phase::Learning))
    }

    pub(super) fn error(&self, context: &Context<'_>) -> Result<f64> {
        self.engine.squared_error(self.tall_images(), context).map(f64::sqrt)
    }

    /// The error (38) of a model of the same points: for an exact model, the smallest that as many components can have.
    ///
    /// # Errors
    ///
    /// As [`reconstruction_error`](Self::reconstruction_error), and if the model is of another kernel or of other points.
    pub fn reconstruction_error_of(&self, model: &Model, watch: &Watch<'_>) -> Result<f64> {
        self.require_same_points(model)?;
        let _work = self.prepared.threads.at_work()?;
        let context = Context::new(&self.prepared.threads, watch, Phase::Learning);
        // Scores of converged eigenvectors are known without a pass, and not rounded by one.
        let is_exact = model.converged() && model.record().solver != "hebbian";
        let scores = if is_exact {
            model.training_scores()
        } else {
            self.engine.product(model.dual_coefficients(), &context)?
        };
        self.engine.squared_error(scores.as_ref(), &context).map(f64::sqrt)
    }

    /// The squared error `‖Φ' − Φ' Wᵀ W‖²` of the points in feature space, with `W = A Φ'`.
    ///
    /// It costs no pass: `tr K' − 2 tr(P Pᵀ) + tr(P Pᵀ A K' Aᵀ)`, with `P = A K'`. The smallest that `r` components can have is the sum of
    /// the other eigenvalues.
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, KernelPca, Points, Watch};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let (kernel, watch) = (Kernel::gaussian(0.01)?, Watch::new());
    /// let exact = KernelPca::new(kernel.clone()).fit(&points)?;
    /// let mut learner = KernelHebbianPca::new(kernel).passes(2).fit(&points)?;
    /// let (error, angle) = (learner.feature_error()?, learner.subspace_angle(&exact)?);
    /// learner.partial_fit(None, 20, &watch)?;
    /// assert!(learner.feature_error()? < error && learner.subspace_angle(&exact)? < angle);
    /// // Nothing is better than the exact components.
    /// assert!(learner.feature_error()? > exact.total_variance() - exact.eigenvalues().iter().sum::<f64>());
    /// assert!(learner.reconstruction_error(&watch)? > learner.reconstruction_error_of(&exact, &watch)?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a custom kernel failed.
    pub fn feature_error(&self) -> Result<f64> {
        let (r, threads) = (self.state.r, &self.prepared.threads);
        let _work = threads.at_work()?;
        let (a, images) = (self.state.coefficients(0, r), self.state.images(0, r));
        let total = total_variance(self.engine.as_ref())?;
        let moments = inner(images, images, threads);
        let lengths = inner(images, a, threads);
        let both: f64 =
            (0..r).flat_map(|i| (0..r).map(move |j| (i, j))).map(|(i, j)| moments[(i, j)] * lengths[(j, i)]).sum();
        Ok(total - 2.0 * (0..r).map(|i| moments[(i, i)]).sum::<f64>() + both)
    }

    /// The largest angle, in radians, between the learned span and the one of a model of the same points, in feature space.
    ///
    /// The model's components must be orthonormal, as those of a converged model are. Angles below about `1e-8` cannot be
    /// told from zero.
    ///
    /// # Errors
    ///
    /// If the model is of another kernel or of other points, or has another number of components than have been learned.
    pub fn subspace_angle(&self, model: &Model) -> Result<f64> {
        self.require_same_points(model)?;
        let _work = self.prepared.threads.at_work()?;
        let ritz = self.ritz()?;
        let (found, expected) = (ritz.values.len(), model.n_components());
        if found != expected {
            let requirement = format!("of as many components as have been learned ({found})");
            return Err(Error::invalid("model", requirement, expected));
        }
        // Cosines are the singular values of the inner products; with K' α known, those are α_modelᵀ K' α.
        let cross = inner(ritz.scores.as_ref(), model.dual_coefficients(), &self.prepared.threads);
        let gram = small_product(cross.transpose(), cross.as_ref());
        let (squares, _) = small_eigen(symmetric(gram.as_ref()).as_ref(), Order::Algebraic)?;
        let smallest = squares.last().copied().unwrap_or(1.0).clamp(0.0, 1.0);
        Ok((1.0 - smallest).sqrt().atan2(smallest.sqrt()))
    }

    /// Refuses a model whose coefficients mean something else here: of another kernel, centred otherwise, or over other points.
    fn require_same_points(&self, model: &Model) -> Result<()> {
        let (there, here) = (KernelRecord::from(model.kernel()), KernelRecord::from(self.kernel()));
        if there != here {
            let requirement = format!("of the kernel that is learned with ({here})");
            return Err(Error::invalid("model", requirement, format!("of {there}")));
        }
        let in_words = |is_centered: bool| if is_centered { "centred" } else { "not centred" };
        let (there, here) = (model.centering().is_some(), self.engine.centering().is_some());
        if there != here {
            let requirement = format!("{} in feature space, as what is learned", in_words(here));
            return Err(Error::invalid("model", requirement, in_words(there)));
        }
        let requirement = || format!("learned from the same {} points", self.state.n);
        let found = model.dual_coefficients().nrows();
        if model.basis_kind() != BasisKind::TrainingSet {
            return Err(Error::invalid("model", requirement(), format!("of {found} points that stand for others")));
        }
        if found != self.state.n {
            return Err(Error::invalid("model", requirement(), format!("learned from {found}")));
        }
        // A model of a precomputed kernel does not keep its matrix.
        let is_known = !matches!(model.kernel(), Kernel::Precomputed);
        if is_known && let Some(row) = start::first_difference(model.basis(), &self.points) {
            return Err(Error::invalid("model", requirement(), format!("learned from another one at row {row}")));
        }
        Ok(())
    }
}
