//! The fitted model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use faer::{Mat, MatRef};

use super::scaling::check_scaling;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};
use crate::expansion::{Compressed, Expansion, Targets, Wanted};
use crate::gram::{Basis, Centering, Slab, slab_product};
use crate::kernel::Kernel;
use crate::memory;
use crate::record::RunRecord;
use crate::scalar::Precision;
use crate::simd::Isa;
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
    slab: OnceLock<PackedSlab>,
    /// The same with what the norm of a point needs, made at the first look for novelty.
    pub(super) norm_slab: OnceLock<PackedSlab>,
}

pub(super) enum PackedSlab {
    F32(Slab<f32>),
    F64(Slab<f64>),
    /// Coefficients brought to an expansion's terms: a new point then costs as many multiply-adds, not as many as there are points.
    Expanded(Arc<Expansion>, Compressed),
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

    /// Scores of new points, in memory that does not grow with their number beyond the scores themselves (and a scaled copy of the
    /// points, if the model scales them and they are not bytes that stay bytes).
    ///
    /// For a precomputed kernel, `queries` holds kernel values: one row per new point, one column per training point.
    ///
    /// # Errors
    ///
    /// If the points have another width than the model, or hold values that are not finite.
    pub fn transform(&self, queries: &Points) -> Result<Mat<f64>> {
        self.transform_watched(queries, &Threads::all()?, &Watch::new())
    }

    /// As [`transform`](Self::transform), on given threads, with somebody looking on who may stop it.
    ///
    /// ```
    /// use std::sync::atomic::AtomicBool;
    ///
    /// use mercer::watch::{Threads, Watch};
    /// use mercer::{Error, Kernel, KernelPca, Points};
    ///
    /// let points = Points::from_f64((0..40).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 20, 2)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.01)?).fit(&points)?;
    /// let threads = Threads::new(2)?;
    /// assert_eq!(model.transform_watched(&points, &threads, &Watch::new())?, model.transform(&points)?);
    /// let stop = AtomicBool::new(true);
    /// let stopped = model.transform_watched(&points, &threads, &Watch::new().interrupt(&stop));
    /// assert!(matches!(stopped, Err(Error::Interrupted { .. })));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform), and [`Error::Interrupted`].
    pub fn transform_watched(&self, queries: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let context = self.context_for(queries, threads, watch)?;
        self.scores(&*self.scaled(queries)?, &context)
    }

    /// Scores of points as the fit would have seen them.
    pub(super) fn scores(&self, scaled: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut scores = self.slab(context)?.product(scaled, context)?;
        self.subtract_offsets(&mut scores);
        Ok(scores)
    }

    /// Scores of the basis points, in double precision whatever the model's.
    pub(crate) fn scores_of_basis(&self, context: &Context<'_>) -> Result<Mat<f64>> {
        let folded = self.folded_coefficients();
        let mut scores =
            slab_product(&self.kernel, &self.basis, &self.basis, folded.as_ref(), Precision::F64, context)?;
        self.subtract_offsets(&mut scores);
        Ok(scores)
    }

    /// The context of a look at new points, if the model can look at them.
    pub(super) fn context_for<'a>(
        &self,
        queries: &Points,
        threads: &'a Threads,
        watch: &'a Watch<'a>,
    ) -> Result<Context<'a>> {
        let (expected, found) = (self.n_features(), queries.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        queries.check_finite()?;
        Ok(Context::new(threads, watch, Phase::Transforming))
    }

    /// Points as the fit would have seen them.
    pub(crate) fn scaled<'a>(&self, queries: &'a Points) -> Result<Cow<'a, Points>> {
        self.scaling.as_ref().map_or(Ok(Cow::Borrowed(queries)), |scaling| scaling.apply(queries).map(Cow::Owned))
    }

    /// What is left of centring when coefficients are folded.
    pub(super) fn subtract_offsets(&self, scores: &mut Mat<f64>) {
        for (j, &offset) in self.offsets().iter().enumerate() {
            scores.col_mut(j).iter_mut().for_each(|score| *score -= offset);
        }
    }

    /// The packed basis; packed when it is first needed.
    pub(super) fn slab(&self, context: &Context<'_>) -> Result<&PackedSlab> {
        if let Some(slab) = self.slab.get() {
            return Ok(slab);
        }
        let isa = Isa::detect();
        let folded = self.folded_coefficients();
        if let Some(expansion) = self.expansion(context)? {
            let compressed = expansion.compress(folded.as_ref(), context)?;
            return Ok(self.slab.get_or_init(|| PackedSlab::Expanded(Arc::new(expansion), compressed)));
        }
        let packed = context.threads.run(|| -> Result<PackedSlab> {
            Ok(match self.precision {
                Precision::F32 => {
                    let basis = self.basis.recognised();
                    PackedSlab::F32(Slab::new(Basis::new(&basis, &self.kernel, isa)?, folded.as_ref()))
                }
                Precision::F64 => {
                    PackedSlab::F64(Slab::new(Basis::new(&self.basis, &self.kernel, isa)?, folded.as_ref()))
                }
            })
        })?;
        Ok(self.slab.get_or_init(|| packed))
    }

    /// The expansion that new points are projected by, if the fit used one and it pays for points that are not known yet.
    fn expansion(&self, context: &Context<'_>) -> Result<Option<Expansion>> {
        let Some(record) = &self.record.expansion else { return Ok(None) };
        let wanted = Wanted {
            method: record.method.parse()?,
            tolerance: record.tolerance,
            targets: Targets::Any,
            columns: self.n_components() + 1,
            memory: memory::available() / 2,
            may_be_tiled: false,
        };
        let expansion = Expansion::new(&self.kernel, &self.basis, &wanted, context)?;
        Ok((!expansion.is_tiled()).then_some(expansion))
    }

    /// Coefficients with the centring of a point's kernel row folded in: subtracting the row's mean from the row is the same as
    /// subtracting the column's mean from each column of coefficients. Components are these combinations of the basis points' images.
    ///
    /// Where the centre is given by weights, only its products with the basis are subtracted from a kernel row, and there is nothing to
    /// fold.
    pub(crate) fn folded_coefficients(&self) -> Mat<f64> {
        let mut folded = self.coefficients.clone();
        if self.centering.as_ref().is_some_and(|centering| centering.weights.is_none()) {
            let n = folded.nrows() as f64;
            for j in 0..folded.ncols() {
                let mean = folded.col(j).iter().sum::<f64>() / n;
                folded.col_mut(j).iter_mut().for_each(|a| *a -= mean);
            }
        }
        folded
    }

    /// What is left of centring: a constant per component, its inner product with the mean.
    pub(crate) fn offsets(&self) -> Vec<f64> {
        let Some(centering) = &self.centering else { return vec![0.0; self.n_components()] };
        let folded = self.folded_coefficients();
        (0..folded.ncols())
            .map(|j| folded.col(j).iter().zip(&centering.column_means).map(|(a, mean)| a * mean).sum())
            .collect()
    }
}

impl PackedSlab {
    /// The product for some queries.
    pub(super) fn product(&self, queries: &Points, context: &Context<'_>) -> Result<Mat<f64>> {
        match self {
            Self::F32(slab) => slab.product(queries, context),
            Self::F64(slab) => slab.product(queries, context),
            Self::Expanded(expansion, compressed) => expansion.product(compressed, queries, context),
        }
    }

    /// The same packed basis with other vectors.
    pub(super) fn with_vectors(&self, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Self> {
        Ok(match self {
            Self::F32(slab) => Self::F32(slab.with_vectors(vectors)),
            Self::F64(slab) => Self::F64(slab.with_vectors(vectors)),
            Self::Expanded(expansion, _) => {
                Self::Expanded(Arc::clone(expansion), expansion.compress(vectors, context)?)
            }
        })
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
