//! The settings of kernel PCA.

use super::{Checkpoint, Model, Prepared, SpeedsFrom, fit, prepared};
use crate::choices::{
    Center, Components, GramChoice, MemoryBudget, Negative, NegativeScope, SolverChoice, ZeroComponents,
};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelSpec};
use crate::plan::Plan;
use crate::record::{KernelRecord, PlanRecord, RECORD_VERSION};
use crate::scalar::Precision;
use crate::watch::{Threads, Watch};

/// Kernel PCA, as it is asked for.
///
/// ```
/// use mercer::{Kernel, KernelPca, MemoryBudget, Points, Precision};
///
/// // Two rings: no straight line separates them, the first kernel component does.
/// let ring = |radius: f64| (0..40).flat_map(move |i| {
///     let angle = f64::from(i) * std::f64::consts::TAU / 40.0;
///     [radius * angle.cos(), radius * angle.sin()]
/// });
/// let points = Points::from_f64(ring(1.0).chain(ring(5.0)).collect::<Vec<_>>(), 80, 2)?;
///
/// let model = KernelPca::new(Kernel::gaussian(0.2)?).n_components(2).fit(&points)?;
/// let scores = model.training_scores();
/// let inner = (0..40).map(|i| scores[(i, 0)]);
/// let outer = (40..80).map(|i| scores[(i, 0)]);
/// assert!(inner.fold(f64::INFINITY, f64::min) > outer.fold(f64::NEG_INFINITY, f64::max));
///
/// // What would be chosen can be said, and stands in the record.
/// let said = KernelPca::new(Kernel::gaussian(0.2)?).variance(0.9).precision(Precision::F32).tolerance(1e-4);
/// let said = said.memory(MemoryBudget::Bytes(64 << 20)).threads(1).seed(3);
/// let model = said.fit(&points)?;
/// assert!(model.explained_variance_ratio().iter().sum::<f64>() >= 0.9);
/// let record = model.record();
/// assert_eq!((record.precision, record.tolerance, record.threads, record.seed), (Precision::F32, 1e-4, 1, 3));
/// assert_eq!(record.memory_budget_bytes, 64 << 20);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelPca {
    pub(crate) kernel: KernelChoice,
    pub(crate) components: Components,
    pub(crate) center: Center,
    pub(crate) gram: GramChoice,
    pub(crate) solver: SolverChoice,
    pub(crate) precision: Option<Precision>,
    pub(crate) tolerance: Option<f64>,
    pub(crate) max_passes: Option<usize>,
    pub(crate) memory: MemoryBudget,
    pub(crate) threads: Option<usize>,
    pub(crate) seed: u64,
    pub(crate) negative: Negative,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) negative_scope: NegativeScope,
    pub(crate) zero: ZeroComponents,
}

/// A kernel, or what one is made from when the points are known.
///
/// ```
/// use mercer::kernel::{KernelSpec, Width};
/// use mercer::{Kernel, KernelChoice, KernelPca, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0, 3.0, 7.0], 4, 1)?;
/// // Settings take either.
/// let known = KernelPca::new(Kernel::gaussian(0.5)?).fit(&points)?;
/// let from_data = KernelPca::new(KernelSpec::new("gaussian").width(Width::Median)).fit(&points)?;
/// assert_ne!(known.eigenvalues(), from_data.eigenvalues());
/// assert!(matches!(KernelChoice::from(Kernel::linear()), KernelChoice::Known(_)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum KernelChoice {
    /// All parameters are known.
    Known(Kernel),
    /// Parameters may depend on the points.
    Spec(KernelSpec),
}

impl From<Kernel> for KernelChoice {
    fn from(kernel: Kernel) -> Self {
        Self::Known(kernel)
    }
}

impl From<KernelSpec> for KernelChoice {
    fn from(spec: KernelSpec) -> Self {
        Self::Spec(spec)
    }
}

/// Components to look for first when a share of the variance is wanted: enough for most, cheap to have wasted.
const FIRST_GUESS: usize = 16;

/// What a plan says of passes that were made before.
fn going_on(passes: usize) -> String {
    format!("goes on after pass {passes} of an earlier run, which is among those expected")
}

impl KernelPca {
    /// Kernel PCA with two components; everything else is chosen by the plan.
    pub fn new(kernel: impl Into<KernelChoice>) -> Self {
        Self {
            kernel: kernel.into(),
            components: Components::Count(2),
            center: Center::Yes,
            gram: GramChoice::Auto,
            solver: SolverChoice::Auto,
            precision: None,
            tolerance: None,
            max_passes: None,
            memory: MemoryBudget::Auto,
            threads: None,
            seed: 0,
            negative: Negative::Error,
            checkpoint: None,
            negative_scope: NegativeScope::Seen,
            zero: ZeroComponents::Drop,
        }
    }

    /// Sets the number of components.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.components = Components::Count(n_components);
        self
    }

    /// Asks for the fewest components that explain this share of the variance, instead of a number of them.
    ///
    /// Of a kernel whose negative eigenvalues are [clipped or flipped](Self::negative), or an error only among those that were [asked for](Self::negative_scope), it is a share of the sum of the eigenvalues that count, for which all of them are looked for.
    #[must_use]
    pub fn variance(mut self, share: f64) -> Self {
        self.components = Components::Variance(share);
        self
    }

    /// Sets whether the points are centred in feature space (default: they are).
    #[must_use]
    pub fn center(mut self, center: Center) -> Self {
        self.center = center;
        self
    }

    /// Sets how products with the Gram matrix are made.
    #[must_use]
    pub fn gram(mut self, gram: GramChoice) -> Self {
        self.gram = gram;
        self
    }

    /// Sets how eigenpairs are found.
    #[must_use]
    pub fn solver(mut self, solver: SolverChoice) -> Self {
        self.solver = solver;
        self
    }

    /// Sets the precision of tiles (default: that of the data; single precision for bytes).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets what the residual of every component must reach, relative to the first eigenvalue (default 1e-5 in single, 1e-9 in
    /// double precision).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets the number of passes after which the fit returns what it has (default: one that only a hopeless case reaches).
    #[must_use]
    pub fn max_passes(mut self, max_passes: usize) -> Self {
        self.max_passes = Some(max_passes);
        self
    }

    /// Sets how much memory the fit may take beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets what is done with significant negative eigenvalues (default: they are an error).
    #[must_use]
    pub fn negative(mut self, negative: Negative) -> Self {
        self.negative = negative;
        self
    }

    /// Keeps the state of the fit in a file, so that a run that was cut off can go on. For the solvers `krylov` and `lanczos`; the
    /// file stays when the fit is done.
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Sets which negative eigenvalues that is about (default: all that the solver saw).
    #[must_use]
    pub fn negative_scope(mut self, scope: NegativeScope) -> Self {
        self.negative_scope = scope;
        self
    }

    /// Sets what is done with components whose eigenvalue cannot be told from zero (default: they are not returned).
    #[must_use]
    pub fn zero_components(mut self, zero: ZeroComponents) -> Self {
        self.zero = zero;
        self
    }

    /// What [`fit`](Self::fit) would do with points of this shape, at the speed of a typical machine.
    ///
    /// `precision` is that of the points; widths that depend on the points play no part in a plan.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn plan_shape(&self, n_samples: usize, n_features: usize, precision: Precision) -> Result<Plan> {
        prepared::plan_shape(self, n_samples, n_features, precision, false)
    }

    /// As [`plan_shape`](Self::plan_shape), for points whose coordinates are bytes.
    ///
    /// ```
    /// use mercer::{GramChoice, Kernel, KernelPca, Precision};
    ///
    /// let pca = KernelPca::new(Kernel::gaussian(1e-6)?).gram(GramChoice::Tiled);
    /// let plan = pca.plan_bytes(20_000, 784)?;
    /// assert_eq!(plan.precision, Precision::F32);
    /// // Packed bytes take a quarter of the memory that packed numbers of single precision take.
    /// assert!(plan.expected_memory_bytes < pca.plan_shape(20_000, 784, Precision::F32)?.expected_memory_bytes);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn plan_bytes(&self, n_samples: usize, n_features: usize) -> Result<Plan> {
        prepared::plan_shape(self, n_samples, n_features, Precision::F32, true)
    }

    /// What [`fit`](Self::fit) would do with these points, and what it would cost.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), as far as that can be told without fitting.
    pub fn plan(&self, points: &Points) -> Result<Plan> {
        self.plan_watched(points, &Watch::new())
    }

    /// As [`plan`](Self::plan), with somebody looking on who may stop it: the search for a width is part of it.
    ///
    /// ```
    /// use mercer::{Kernel, KernelPca, Points, Watch};
    ///
    /// let points = Points::from_f64((0..80).map(|i| f64::from(i % 9)).collect::<Vec<_>>(), 40, 2)?;
    /// let pca = KernelPca::new(Kernel::gaussian(0.1)?);
    /// assert_eq!(pca.plan_watched(&points, &Watch::new())?.gram, pca.plan(&points)?.gram);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan), and [`Error::Interrupted`](crate::Error::Interrupted) if it was stopped.
    pub fn plan_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<Plan> {
        self.planned(points, watch).map(|(_, plan, _)| plan)
    }

    /// As [`plan`](Self::plan), with everything that was decided before it: the kernel's parameters, tolerance, budget, threads.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan).
    pub fn plan_record(&self, points: &Points) -> Result<PlanRecord> {
        let (prepared, plan, points) = self.planned(points, &Watch::new())?;
        let (n_components, variance) = match self.components {
            Components::Count(k) => (Some(k), None),
            Components::Variance(share) => (None, Some(share)),
        };
        Ok(PlanRecord {
            record_version: RECORD_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            n_components,
            variance,
            kernel: KernelRecord::from(&prepared.kernel),
            centered: self.center == Center::Yes,
            tolerance: prepared.tolerance,
            data_bytes: points.size(),
            memory_budget_bytes: prepared.budget,
            threads: prepared.threads.count(),
            plan,
            warnings: prepared.warnings,
        })
    }

    /// Everything that is decided before a fit, a checkpoint that it goes on from included.
    fn planned(&self, points: &Points, watch: &Watch<'_>) -> Result<(Prepared, Plan, Points)> {
        let (mut prepared, mut plan, points) = Prepared::with_plan(self, points, SpeedsFrom::Measurement, watch)?;
        if let Some(journal) = prepared.journal(self, &mut plan, &points, watch)?
            && journal.earlier.is_some()
        {
            plan.reasons.push(going_on(journal.totals().passes));
        }
        Ok((prepared, plan, points))
    }

    /// Learns the components of the points.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the points cannot be used, nothing fits the memory budget, or the kernel has significant
    /// negative eigenvalues that were not allowed. A fit that has not converged is not an error: see [`Model::converged`].
    pub fn fit(&self, points: &Points) -> Result<Model> {
        self.fit_watched(points, &Watch::new())
    }

    /// As [`fit`](Self::fit), with somebody looking on who may stop it; the best model so far comes back then.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and [`Error::Interrupted`] if the fit was stopped before there was anything to return.
    pub fn fit_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<Model> {
        fit::fit(self, points, watch)
    }

    /// The number of components that is asked for, if it is one.
    pub(crate) fn n_components_asked(&self) -> Option<usize> {
        match self.components {
            Components::Count(k) => Some(k),
            Components::Variance(_) => None,
        }
    }

    /// Components that a plan begins with.
    pub(super) fn first_components(&self, n_samples: usize) -> usize {
        match self.components {
            Components::Count(k) => k,
            Components::Variance(_) => FIRST_GUESS.min(n_samples),
        }
    }

    pub(crate) fn thread_pool(&self) -> Result<Threads> {
        self.threads.map_or_else(Threads::all, Threads::new)
    }

    /// Checks every setting against the data's shape; the only place that does.
    pub(crate) fn validate(&self, n_samples: usize) -> Result<()> {
        if n_samples < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n_samples });
        }
        match self.components {
            Components::Count(k) if k == 0 || k > n_samples => {
                let requirement = format!("between 1 and the number of samples ({n_samples})");
                return Err(Error::invalid("n_components", requirement, k));
            }
            Components::Variance(share) if !(share > 0.0 && share <= 1.0) => {
                return Err(Error::invalid("variance", "a share above 0 and at most 1", share));
            }
            _ => {}
        }
        if let Some(tolerance) = self.tolerance
            && !(tolerance > 0.0 && tolerance < 1.0)
        {
            return Err(Error::invalid("tolerance", "between 0 and 1", tolerance));
        }
        let goes_on = matches!(self.solver, SolverChoice::Auto | SolverChoice::Krylov | SolverChoice::Lanczos);
        if self.checkpoint.is_some() && !goes_on {
            return Err(Error::invalid("solver", "auto, krylov or lanczos for a fit with a checkpoint", self.solver));
        }
        if self.max_passes == Some(0) {
            return Err(Error::invalid("max_passes", "at least 1", 0));
        }
        Ok(())
    }
}
