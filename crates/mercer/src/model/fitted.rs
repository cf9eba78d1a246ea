//! The fitted model.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use faer::{Mat, MatRef};

use super::scaling::check_scaling;
use super::transform::PackedSlab;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::gram::Centering;
use crate::kernel::Kernel;
use crate::memory;
use crate::record::RunRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// What the basis points of a model are to it.
///
/// ```
/// use mercer::{BasisKind, Kernel, KernelPca, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0, 3.0], 3, 1)?;
/// let model = KernelPca::new(Kernel::gaussian(1.0)?).n_components(1).fit(&points)?;
/// assert_eq!(model.basis_kind(), BasisKind::TrainingSet);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BasisKind {
    /// The points that were learned from, all of them.
    #[default]
    TrainingSet,
    /// Points that stand for those that were learned from: landmarks, or what a learner remembers.
    Representatives,
}

/// The solver whose components need not be those of eigenvectors.
const HEBBIAN: &str = "hebbian";

/// What a model is made of.
pub(crate) struct Parts {
    pub(crate) kernel: Kernel,
    pub(crate) basis: Points,
    pub(crate) basis_kind: BasisKind,
    pub(crate) precision: Precision,
    /// One column per component: what (centred) kernel values of a point with the basis are multiplied with.
    pub(crate) coefficients: Mat<f64>,
    /// With weights if and only if the basis points are [`BasisKind::Representatives`].
    pub(crate) centering: Option<Centering>,
    pub(crate) record: RunRecord,
}

/// Components in feature space, as combinations of the images of basis points.
///
/// Every way of learning ends in this type, so transforming, saving and plotting exist once.
///
/// ```
/// use mercer::{BasisKind, Kernel, KernelPca, Points, Precision};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 5.0, 5.0], 4, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(0.1)?).n_components(2).fit(&points)?;
/// // What is learned from applies to new points.
/// let scores = model.transform(&Points::from_f64(vec![5.0, 5.0], 1, 2)?)?;
/// assert!((scores[(0, 0)] - model.training_scores()[(3, 0)]).abs() < 1e-9);
///
/// // What it is made of.
/// assert_eq!((model.kernel().name(), model.precision(), model.n_features()), ("gaussian", Precision::F64, 2));
/// assert_eq!((model.basis_kind(), model.basis().row(3), model.n_samples()), (BasisKind::TrainingSet, vec![5.0, 5.0], 4));
/// assert!(model.centering().is_some() && model.scaling().is_none());
/// let (v, alpha, eigenvalues) = (model.eigenvectors(), model.dual_coefficients(), model.eigenvalues());
/// assert!((v[(3, 0)] - alpha[(3, 0)] * eigenvalues[0].sqrt()).abs() < 1e-12);
///
/// // How good it is: shares of the whole variance, and residuals that were computed.
/// assert!((model.explained_variance_ratio()[0] - eigenvalues[0] / model.total_variance()).abs() < 1e-12);
/// assert!(model.residuals().iter().all(|&residual| residual <= model.record().tolerance));
/// assert!(model.converged() && model.require_converged().is_ok());
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Model {
    kernel: Kernel,
    basis: Points,
    basis_kind: BasisKind,
    precision: Precision,
    /// One column per component.
    coefficients: Mat<f64>,
    centering: Option<Centering>,
    /// What new points go through first; the basis has been through it.
    scaling: Option<Scaling>,
    /// What the columns of points are called, if they had names.
    pub(super) feature_names: Option<Vec<String>>,
    record: RunRecord,
    /// Scores of the training points, where coefficients and eigenvalues do not tell them.
    own_scores: Option<Mat<f64>>,
    /// The basis, packed at the first transform.
    pub(super) slab: OnceLock<PackedSlab>,
    /// The same with what the norm of a point needs, made at the first look for novelty.
    pub(super) norm_slab: OnceLock<PackedSlab>,
}

impl Model {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { kernel, basis, basis_kind, precision, coefficients, centering, record } = parts;
        debug_assert!(
            centering
                .as_ref()
                .is_none_or(|centering| { centering.weights.is_some() == (basis_kind == BasisKind::Representatives) }),
            "the centre of representatives is a combination of them"
        );
        Self {
            kernel,
            basis,
            basis_kind,
            precision,
            coefficients,
            centering,
            scaling: None,
            feature_names: None,
            record,
            own_scores: None,
            slab: OnceLock::new(),
            norm_slab: OnceLock::new(),
        }
    }

    /// The model of points that go through a scaling first: the fit has seen scaled points, the transform takes unscaled ones.
    ///
    /// ```
    /// use mercer::{Kernel, KernelPca, Points, data::{Moments, Scaling}};
    ///
    /// let points = Points::from_f64((0..40).map(|i| f64::from(i * i)).collect::<Vec<_>>(), 20, 2)?;
    /// let scaling = Scaling::standardizing(&Moments::of(&points));
    /// let model = KernelPca::new(Kernel::gaussian(0.5)?).fit(&scaling.apply(&points)?)?.with_scaling(scaling)?;
    /// let scores = model.transform(&points)?; // not `&scaling.apply(&points)?`
    /// assert!((scores - model.training_scores()).norm_max() < 1e-8);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the scaling is for another number of columns, or treats columns of a precomputed kernel differently.
    pub fn with_scaling(mut self, scaling: Scaling) -> Result<Self> {
        check_scaling(&scaling, &self.kernel, self.n_features())?;
        self.scaling = Some(scaling);
        Ok(self)
    }

    /// The same model for points that have gone through its scaling already.
    ///
    /// ```
    /// use mercer::{Kernel, KernelPca, Points, data::{Moments, Scaling}};
    ///
    /// let points = Points::from_f64((0..40).map(|i| f64::from(i * i)).collect::<Vec<_>>(), 20, 2)?;
    /// let scaling = Scaling::standardizing(&Moments::of(&points));
    /// let scaled = scaling.apply(&points)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.5)?).fit(&scaled)?.with_scaling(scaling)?;
    /// assert_eq!(model.transform(&points)?, model.without_scaling().transform(&scaled)?);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn without_scaling(mut self) -> Self {
        self.scaling = None;
        self
    }

    pub(crate) fn set_seconds(&mut self, seconds: BTreeMap<String, f64>) {
        self.record.seconds = seconds;
        self.record.peak_memory_bytes = memory::peak();
    }

    /// Takes scores of the training points, for coefficients that need not be those of eigenvectors.
    pub(super) fn set_training_scores(&mut self, scores: Mat<f64>) {
        self.own_scores = Some(scores);
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The points that components are combinations of.
    pub fn basis(&self) -> &Points {
        &self.basis
    }

    /// Whether those are the points that were learned from, or stand for them.
    pub fn basis_kind(&self) -> BasisKind {
        self.basis_kind
    }

    /// The precision of kernel values in [`transform`](Self::transform).
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Points that were learned from.
    pub fn n_samples(&self) -> usize {
        self.record.n_samples
    }

    /// Coordinates of a point.
    pub fn n_features(&self) -> usize {
        self.basis.n_features()
    }

    /// Components.
    pub fn n_components(&self) -> usize {
        self.coefficients.ncols()
    }

    /// Eigenvalues of the (centred) Gram matrix, the variance of a component times the number of samples.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.record.eigenvalues
    }

    /// The share of the total variance that each component explains.
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.record.explained_variance_ratio
    }

    /// The trace of the (centred) Gram matrix: the sum of all its eigenvalues.
    pub fn total_variance(&self) -> f64 {
        self.record.total_variance
    }

    /// `‖K v − λ v‖ / λ₁` of each component.
    pub fn residuals(&self) -> &[f64] {
        &self.record.residuals
    }

    /// Whether every component reached the tolerance, and nothing that was asked for is missing.
    pub fn converged(&self) -> bool {
        self.record.converged
    }

    /// The model, if every component reached the tolerance.
    ///
    /// # Errors
    ///
    /// [`Error::NotConverged`] otherwise.
    pub fn require_converged(self) -> Result<Self> {
        if self.converged() {
            return Ok(self);
        }
        let record = &self.record;
        let tolerance = record.tolerance;
        Err(Error::NotConverged {
            converged: record.residuals.iter().filter(|&&residual| residual <= tolerance).count(),
            found: record.n_components,
            passes: record.passes,
            residual: record.residuals.iter().copied().fold(0.0, f64::max),
            tolerance,
        })
    }

    /// One column per component: what (centred) kernel values of a point are multiplied with; `v / √λ` where the basis points are the
    /// training points.
    pub fn dual_coefficients(&self) -> MatRef<'_, f64> {
        self.coefficients.as_ref()
    }

    /// Eigenvectors of the (centred) Gram matrix, one column per component; a component of eigenvalue zero has zeros.
    ///
    /// They have an entry per training point. A model of [`BasisKind::Representatives`] does not know those, and the matrix has no
    /// rows; there, eigenvectors are the scores of the training points over the roots of the eigenvalues.
    pub fn eigenvectors(&self) -> Mat<f64> {
        let values = self.eigenvalues();
        Mat::from_fn(self.training_rows(), self.n_components(), |i, j| {
            values[j].signum() * self.coefficients[(i, j)] * values[j].abs().sqrt()
        })
    }

    /// What kernel values of new points are centred with; `None` if the model is not centred.
    pub fn centering(&self) -> Option<&Centering> {
        self.centering.as_ref()
    }

    /// What new points go through before the kernel sees them.
    pub fn scaling(&self) -> Option<&Scaling> {
        self.scaling.as_ref()
    }

    /// What the fit did and how good its answer is.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Scores of the points that were learned from: one row per point, one column per component.
    ///
    /// A model of [`BasisKind::Representatives`] does not know those points, and the matrix has no rows:
    /// [`transform`](Self::transform) them.
    ///
    /// Coefficients of eigenvectors give them without a pass. Those of the Hebbian algorithm are of directions that need not have
    /// converged: its model remembers the scores, and one from a file computes them in a pass over the matrix. (A file has neither the matrix of
    /// a precomputed kernel nor a function; there, scores are those that converged directions would have.)
    pub fn training_scores(&self) -> Mat<f64> {
        if let Some(scores) = &self.own_scores {
            return scores.clone();
        }
        if self.record.solver == HEBBIAN
            && let Some(scores) = self.computed_training_scores()
        {
            return scores;
        }
        let values = self.eigenvalues();
        Mat::from_fn(self.training_rows(), self.n_components(), |i, j| self.coefficients[(i, j)] * values[j])
    }

    /// Scores of the training points by a pass over the matrix, if the model has what that takes.
    fn computed_training_scores(&self) -> Option<Mat<f64>> {
        let is_known = !matches!(self.kernel, Kernel::Precomputed | Kernel::Custom(_));
        if self.basis_kind != BasisKind::TrainingSet || !is_known {
            return None;
        }
        let (threads, watch) = (Threads::all().ok()?, Watch::new());
        self.scores(&self.basis, &Context::new(&threads, &watch, Phase::Transforming)).ok()
    }

    /// Training points that coefficients tell of.
    fn training_rows(&self) -> usize {
        match self.basis_kind {
            BasisKind::TrainingSet => self.coefficients.nrows(),
            BasisKind::Representatives => 0,
        }
    }
}

impl Clone for Model {
    /// The same model; what is packed at the first transform, it packs for itself.
    fn clone(&self) -> Self {
        Self {
            kernel: self.kernel.clone(),
            basis: self.basis.clone(),
            basis_kind: self.basis_kind,
            precision: self.precision,
            coefficients: self.coefficients.clone(),
            centering: self.centering.clone(),
            scaling: self.scaling.clone(),
            feature_names: self.feature_names.clone(),
            record: self.record.clone(),
            own_scores: self.own_scores.clone(),
            slab: OnceLock::new(),
            norm_slab: OnceLock::new(),
        }
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} components of {:?}, {} kernel)", self.n_components(), self.basis, self.kernel.name())
    }
}
