//! The settings of spectral clustering.

use super::{ClusterModel, fit};
use crate::choices::{Center, GramChoice, MemoryBudget, SolverChoice};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::hebbian::KernelHebbianPca;
use crate::model::{KernelChoice, KernelPca};
use crate::nystrom::Nystrom;
use crate::scalar::Precision;
use crate::watch::Watch;

/// Spectral clustering, as it is asked for.
///
/// ```
/// use mercer::{GramChoice, Kernel, MemoryBudget, Points, Precision, SolverChoice, SpectralClustering, Watch};
///
/// // Two rings: no straight line separates them.
/// let ring = |radius: f64| (0..60).flat_map(move |i| {
///     let angle = f64::from(i) * std::f64::consts::TAU / 60.0;
///     [radius * angle.cos(), radius * angle.sin()]
/// });
/// let points = Points::from_f64(ring(1.0).chain(ring(4.0)).collect::<Vec<_>>(), 120, 2)?;
/// let model = SpectralClustering::new(Kernel::gaussian(4.0)?, 2).fit(&points)?;
/// assert!(model.labels()[..60].iter().all(|&label| label == 0));
/// assert!(model.labels()[60..].iter().all(|&label| label == 1));
///
/// // New points go to the cluster that their neighbours are in.
/// let queries = Points::from_f64(vec![0.0, 1.1, -3.9, 0.1], 2, 2)?;
/// assert_eq!(model.predict(&queries)?, [0, 1]);
///
/// // What the plan would choose can be said.
/// let said = SpectralClustering::new(Kernel::gaussian(4.0)?, 2).n_components(3).restarts(5);
/// let said = said.gram(GramChoice::Stored).solver(SolverChoice::Krylov).precision(Precision::F32).tolerance(1e-4);
/// let said = said.max_passes(100).memory(MemoryBudget::Bytes(64 << 20)).threads(1).seed(3);
/// let model = said.fit_watched(&points, &Watch::new())?;
/// let record = model.record();
/// assert_eq!((record.n_components, record.restarts, record.threads, record.seed), (3, 5, 1, 3));
/// assert_eq!((record.gram.as_str(), record.solver.as_str(), record.precision), ("stored", "krylov", Precision::F32));
/// assert!(record.tolerance == 1e-4 && record.passes <= 100 && record.memory_budget_bytes == 64 << 20);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SpectralClustering {
    /// What is the same in all of kernel PCA.
    pub(super) common: KernelPca,
    pub(super) n_clusters: usize,
    pub(super) n_components: Option<usize>,
    pub(super) restarts: usize,
    pub(super) way: Way,
}

/// How eigenvectors are found.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// By products with the kernel matrix.
    Products,
    /// By the kernel Hebbian algorithm.
    Hebbian(Box<KernelHebbianPca>),
    /// Over landmarks.
    Landmarks(Box<Nystrom>),
}

impl SpectralClustering {
    /// So many clusters, from as many eigenvectors, by ten restarts of k-means; everything else is chosen by the plan.
    pub fn new(kernel: impl Into<KernelChoice>, n_clusters: usize) -> Self {
        Self {
            common: KernelPca::new(kernel).center(Center::No),
            n_clusters,
            n_components: None,
            restarts: 10,
            way: Way::Products,
        }
    }

    /// Sets the number of eigenvectors that points are embedded with (default: as many as clusters).
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = Some(n_components);
        self
    }

    /// Sets how often k-means starts anew (default 10).
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts;
        self
    }

    /// Sets how products with the Gram matrix are made.
    #[must_use]
    pub fn gram(mut self, gram: GramChoice) -> Self {
        self.common = self.common.gram(gram);
        self
    }

    /// Sets how eigenpairs are found.
    #[must_use]
    pub fn solver(mut self, solver: SolverChoice) -> Self {
        self.common = self.common.solver(solver);
        self
    }

    /// Finds eigenvectors by the kernel Hebbian algorithm, with the gains and passes of `settings`.
    ///
    /// It is given the normalised matrix, which is kept in memory as a whole; that has to fit the budget. Kernel, centring, number of
    /// components, precision, seed, threads and memory are those of the clustering; so is the tolerance, if it is set there, and that of
    /// `settings` otherwise. One product more finds the best eigenvectors in the span of what was learned, and measures their residuals.
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, Points, SpectralClustering};
    ///
    /// let points = Points::from_f64(vec![0.0, 0.1, 0.2, 7.0, 7.1], 5, 1)?;
    /// let kernel = Kernel::gaussian(1.0)?;
    /// let learn = KernelHebbianPca::new(kernel.clone()).passes(100);
    /// let model = SpectralClustering::new(kernel, 2).hebbian(learn).fit(&points)?;
    /// assert_eq!(model.labels(), [0, 0, 0, 1, 1]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn hebbian(mut self, settings: KernelHebbianPca) -> Self {
        self.way = Way::Hebbian(Box::new(settings));
        self
    }

    /// Finds eigenvectors over landmarks: an approximation, for more points than products with the whole matrix allow. Residuals against the exact matrix are
    /// measured on some of its rows, and count as converged unless a [tolerance](Self::tolerance) is asked for.
    ///
    /// How landmarks are chosen, and how many, is up to `nystrom` (ten for each eigenvector, but at least a hundred, where it does not say); kernel, precision, seed,
    /// threads and memory are those of the clustering. New points are embedded with the landmarks alone.
    ///
    /// ```
    /// use mercer::nystrom::{Landmarks, Nystrom};
    /// use mercer::{Kernel, Points, SpectralClustering};
    ///
    /// let values = (0..600).map(|i| f64::from(i % 2) * 9.0 + f64::from(i * 7 % 31) * 0.05);
    /// let (points, kernel) = (Points::from_f64(values.collect::<Vec<_>>(), 600, 1)?, Kernel::gaussian(1.0)?);
    /// let nystrom = Nystrom::new(kernel.clone()).landmarks(Landmarks::Uniform).n_landmarks(40);
    /// let model = SpectralClustering::new(kernel, 2).landmarks(nystrom).fit(&points)?;
    /// assert!(model.labels().iter().enumerate().all(|(i, &label)| label == i % 2));
    /// let landmarks = model.record().nystrom.as_ref().expect("there are landmarks");
    /// assert!(landmarks.relative_trace_error < 1e-6 && model.record().residuals[1] < 1e-3);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn landmarks(mut self, nystrom: Nystrom) -> Self {
        self.way = Way::Landmarks(Box::new(nystrom));
        self
    }

    /// Sets the precision of tiles (default: that of the data; single precision for bytes).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.common = self.common.precision(precision);
        self
    }

    /// Sets what the residual of every eigenvector must reach (default 1e-5 in single, 1e-9 in double precision; with
    /// [`hebbian`](Self::hebbian), that of its settings).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.common = self.common.tolerance(tolerance);
        self
    }

    /// Sets the number of passes after which the solver returns what it has (default: one that only a hopeless case reaches).
    #[must_use]
    pub fn max_passes(mut self, max_passes: usize) -> Self {
        self.common = self.common.max_passes(max_passes);
        self
    }

    /// Sets how much memory may be taken beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.common = self.common.memory(memory);
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.common = self.common.threads(threads);
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.common = self.common.seed(seed);
        self
    }

    /// Finds the clusters of the points; for a precomputed kernel `points` is the kernel matrix.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, there are fewer different points than clusters, a point has no positive degree, or nothing
    /// fits the memory budget. Eigenvectors that have not converged are not an error: see [`ClusterRecord::converged`](super::ClusterRecord).
    pub fn fit(&self, points: &Points) -> Result<ClusterModel> {
        self.fit_watched(points, &Watch::new())
    }

    /// As [`fit`](Self::fit), with somebody looking on who may stop it; the clusters of the best eigenvectors so far come back then.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and [`Error::Interrupted`] if the run was stopped before there was anything to return.
    pub fn fit_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<ClusterModel> {
        fit::fit(self, points, watch)
    }

    /// The settings of the eigenvalue problem.
    pub(super) fn eigenproblem(&self) -> KernelPca {
        let common = self.common.clone().n_components(self.n_components.unwrap_or(self.n_clusters));
        let tolerance = match &self.way {
            Way::Hebbian(settings) => settings.tolerance_asked(),
            Way::Products | Way::Landmarks(_) => None,
        };
        match (common.tolerance, tolerance) {
            (None, Some(tolerance)) => common.tolerance(tolerance),
            _ => common,
        }
    }

    /// Checks every setting that is not common to all of kernel PCA.
    pub(super) fn validate(&self, n_samples: usize) -> Result<()> {
        if n_samples < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n_samples });
        }
        if self.n_clusters == 0 || self.n_clusters > n_samples {
            let requirement = format!("between 1 and the number of samples ({n_samples})");
            return Err(Error::invalid("n_clusters", requirement, self.n_clusters));
        }
        if self.restarts == 0 {
            return Err(Error::invalid("restarts", "at least 1", 0));
        }
        let finds = match &self.way {
            Way::Products => return Ok(()),
            Way::Hebbian(_) => "the kernel Hebbian algorithm finds the eigenvectors",
            Way::Landmarks(_) => "eigenvectors are found over landmarks",
        };
        if self.common.solver != SolverChoice::Auto {
            return Err(Error::invalid("solver", format!("left out where {finds}"), self.common.solver));
        }
        let is_hebbian = matches!(self.way, Way::Hebbian(_));
        match self.common.gram {
            GramChoice::Auto => {}
            GramChoice::Stored if is_hebbian => {}
            other if is_hebbian => {
                return Err(Error::invalid("gram", format!("auto or stored where {finds}: it reads rows"), other));
            }
            other => return Err(Error::invalid("gram", format!("left out where {finds}"), other)),
        }
        if let Some(passes) = self.common.max_passes {
            return Err(Error::invalid("max_passes", format!("left out where {finds}"), passes));
        }
        Ok(())
    }
}
