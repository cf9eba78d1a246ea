//! The settings of the kernel Hebbian algorithm.

use faer::MatRef;

use super::learner::HebbianLearner;
use crate::choices::{Center, Gain, GainRule, GramChoice, MemoryBudget, Negative, Refresh, named};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{Checkpoint, KernelChoice, KernelPca, Model};
use crate::scalar::Precision;
use crate::watch::Watch;

/// Kernel PCA by the kernel Hebbian algorithm, as it is asked for.
///
/// Gains are found by trying unless they are given, so nothing has to be set:
///
/// ```
/// use mercer::{Center, GramChoice, HebbianLearner, Kernel, KernelHebbianPca, MemoryBudget, Negative, Points, Precision};
///
/// let values: Vec<f64> = (0..400).map(|i| f64::from(i * i % 97) / 97.0).collect();
/// let points = Points::from_f64(values, 100, 4)?;
/// let mut learner = KernelHebbianPca::new(Kernel::gaussian(1.0)?).n_components(3).passes(20).fit(&points)?;
/// learner.partial_fit(None, 5, &mercer::Watch::new())?; // five more passes
/// assert_eq!(learner.n_updates(), 25 * 100);
/// println!("eta0 = {}", learner.gain_parameters().eta0);
///
/// let model = learner.model()?; // orthonormal, ordered directions inside the learned span
/// assert_eq!(model.n_components(), 3);
///
/// // What would be chosen can be said.
/// let said = KernelHebbianPca::new(Kernel::gaussian(1.0)?).passes(2).center(Center::No).negative(Negative::Clip);
/// let said = said.batch_size(10).gram(GramChoice::Tiled).precision(Precision::F32).tolerance(0.1).seed(3);
/// let learner: HebbianLearner = said.memory(MemoryBudget::Bytes(64 << 20)).threads(1).fit(&points)?;
/// assert_eq!(learner.stored_share(), 0.0, "rows are computed in every pass");
/// let model = learner.model()?;
/// let record = model.record();
/// assert_eq!((record.centered, record.precision, record.tolerance), (false, Precision::F32, 0.1));
/// assert_eq!((record.memory_budget_bytes, record.threads, record.seed), (64 << 20, 1, 3));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelHebbianPca {
    /// What is the same in all of kernel PCA.
    pub(super) common: KernelPca,
    pub(super) n_components: usize,
    pub(super) rule: GainRule,
    pub(super) eta0: Gain,
    pub(super) tau: Option<f64>,
    pub(super) mu: Gain,
    pub(super) xi: f64,
    pub(super) rho0: f64,
    pub(super) refresh: Refresh,
    pub(super) passes: usize,
    pub(super) updates: Option<usize>,
    pub(super) batch_size: Option<usize>,
    pub(super) record_every: Option<usize>,
    pub(super) record_error: RecordError,
    pub(super) checkpoint: Option<Checkpoint>,
    pub(super) keep_every: Option<usize>,
}

/// Whether the history holds the reconstruction error (38), which costs half a pass over the matrix each time. Gains that are tried on
/// the first updates only have no history.
///
/// ```
/// use mercer::hebbian::RecordError;
/// use mercer::{Kernel, KernelHebbianPca, Points};
///
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
/// let points = Points::from_f64(values, 20, 3)?;
/// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).record_error(RecordError::No);
/// let learner = settings.fit(&points)?;
/// assert!(learner.history().iter().all(|entry| entry.error.is_none()));
/// assert_eq!(learner.error_seconds(), 0.0);
/// assert_eq!("yes".parse::<RecordError>()?.name(), "yes");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordError {
    /// Up to 4096 points, at the end of every pass, and inside a pass where the last one is half a pass ago: it never takes more kernel
    /// entries than the updates between.
    #[default]
    Auto,
    /// Every entry does, whatever it costs.
    Yes,
    /// It does not.
    No,
}
named!(RecordError, "record_error", Auto => "auto", Yes => "yes", No => "no");

/// Where a fit starts and what it sees; everything is optional.
///
/// From coefficients or a model that are given, a run with gains that are found by trying never ends worse than it began, to rounding.
///
/// ```
/// use mercer::hebbian::Start;
/// use mercer::{Kernel, KernelHebbianPca, Points, Watch};
///
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
/// let points = Points::from_f64(values, 20, 3)?;
/// let order = [3, 1, 4, 1, 5, 9, 2, 6];
/// let start = Start { order: Some(&order), ..Start::default() };
/// let learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).eta0(0.05).fit_from(&points, &start, &Watch::new())?;
/// assert_eq!(learner.n_updates(), 8);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Start<'a> {
    /// Start coefficients, one row per component and one column per point, instead of random ones.
    pub coefficients: Option<MatRef<'a, f64>>,
    /// A model of the same kernel to start from, instead of random coefficients; its points may be others. Components that it does not
    /// have start at random.
    pub model: Option<&'a Model>,
    /// The samples in the order in which they are learned from: exactly one update each, instead of passes over random
    /// permutations.
    pub order: Option<&'a [usize]>,
}

/// The residual that is enough unless it is said: updates at single points leave a few thousandths for many passes.
const TOLERANCE: f64 = 0.01;

impl KernelHebbianPca {
    /// Two components, the gain `et*`, ten passes, everything that can be chosen automatically.
    pub fn new(kernel: impl Into<KernelChoice>) -> Self {
        Self {
            common: KernelPca::new(kernel).tolerance(TOLERANCE),
            n_components: 2,
            rule: GainRule::default(),
            eta0: Gain::Auto,
            tau: None,
            mu: Gain::Auto,
            xi: 0.99,
            rho0: 0.0,
            refresh: Refresh::default(),
            passes: 10,
            updates: None,
            batch_size: None,
            record_every: None,
            record_error: RecordError::Auto,
            checkpoint: None,
            keep_every: None,
        }
    }

    /// Sets the number of components.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = n_components;
        self.common = self.common.n_components(n_components);
        self
    }

    /// Sets whether the points are centred in feature space (default: they are).
    #[must_use]
    pub fn center(mut self, center: Center) -> Self {
        self.common = self.common.center(center);
        self
    }

    /// Sets the gain rule (default `et*`).
    #[must_use]
    pub fn gain(mut self, rule: GainRule) -> Self {
        self.rule = rule;
        self
    }

    /// Sets the gain (default: the largest that does not diverge and leaves a [start](Start) that is given no worse than it was).
    #[must_use]
    pub fn eta0(mut self, eta0: impl Into<Gain>) -> Self {
        self.eta0 = eta0.into();
        self
    }

    /// Sets the updates after which annealing has halved the gain, for the rules that have such a number (default: the number of
    /// points, three times that where gains are divided by eigenvalues).
    #[must_use]
    pub fn tau(mut self, tau: f64) -> Self {
        self.tau = Some(tau);
        self
    }

    /// Sets the meta-gain, for the rules that adapt their gains (default: the largest that does not diverge). Zero switches adaptation off: the
    /// gains are then those of the rule without it.
    #[must_use]
    pub fn mu(mut self, mu: impl Into<Gain>) -> Self {
        self.mu = mu.into();
        self
    }

    /// Sets how long meta-descent remembers, for the rules that adapt their gains: from 0 to 1 (default 0.99).
    ///
    /// ```
    /// use mercer::{GainRule, Kernel, KernelHebbianPca, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).eta0(0.05).mu(0.01).xi(0.9).rho0(0.5).passes(1);
    /// let adapted = settings.clone().gain(GainRule::MetaDescentStar).fit(&points)?;
    /// assert_eq!((adapted.xi(), adapted.rho0()), (Some(0.9), Some(0.5)));
    /// // Other rules read neither.
    /// let learner = settings.gain(GainRule::EigenvalueStar).fit(&points)?;
    /// assert_eq!((learner.xi(), learner.rho0()), (None, None));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn xi(mut self, xi: f64) -> Self {
        self.xi = xi;
        self
    }

    /// Sets the log-gains at the start, for the rules that adapt their gains (default 0).
    #[must_use]
    pub fn rho0(mut self, rho0: f64) -> Self {
        self.rho0 = rho0;
        self
    }

    /// Sets when eigenvalue estimates are refreshed (default: once per pass).
    #[must_use]
    pub fn refresh(mut self, refresh: Refresh) -> Self {
        self.refresh = refresh;
        self
    }

    /// Sets the number of passes over the points (default 10).
    #[must_use]
    pub fn passes(mut self, passes: usize) -> Self {
        self.passes = passes;
        self
    }

    /// Sets the number of updates, instead of passes: a run that ends in the middle of a pass goes on from there with
    /// [`HebbianLearner::learn`], which is how to look at a model after every so many updates where a pass takes long.
    #[must_use]
    pub fn updates(mut self, updates: usize) -> Self {
        self.updates = Some(updates);
        self
    }

    /// Sets how many updates are computed together (default: a size at which kernel rows come at full speed). The iterates are the
    /// same for every size, up to rounding.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Sets after how many updates the history gets an entry, beside those at the end of every pass.
    #[must_use]
    pub fn record_every(mut self, updates: usize) -> Self {
        self.record_every = Some(updates);
        self
    }

    /// Sets whether the history holds the reconstruction error (default: [where it is cheap](RecordError::Auto)).
    #[must_use]
    pub fn record_error(mut self, record_error: RecordError) -> Self {
        self.record_error = record_error;
        self
    }

    /// Sets whether kernel rows are kept: `tiled` computes them in every pass, `stored` keeps as many as the budget allows (default:
    /// whatever pays).
    #[must_use]
    pub fn gram(mut self, gram: GramChoice) -> Self {
        self.common = self.common.gram(gram);
        self
    }

    /// Sets the precision of kernel rows (default: that of the data; single precision for bytes).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.common = self.common.precision(precision);
        self
    }

    /// Sets how much memory the fit may take beyond the data (default: 70 % of what is available).
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

    /// Sets the residual that components of the finished model are held against (default 0.01, relative to the largest eigenvalue). It does not
    /// change what is learned: a run makes all its passes, and its record says whether they were enough.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.common = self.common.tolerance(tolerance);
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.common = self.common.seed(seed);
        self
    }

    /// Sets what the model does with significant negative eigenvalues (default: they are an error); they can be left out, but not flipped, as
    /// updates never find their directions.
    #[must_use]
    pub fn negative(mut self, negative: Negative) -> Self {
        self.common = self.common.negative(negative);
        self
    }

    /// Keeps the state of the run in a file, so that a run that was cut off can go on to the same bits: after the first pass, whenever
    /// the [time](Checkpoint::every) has come, in the middle of a pass too, and at the end. Keeping it changes no bit of what is
    /// learned. A run with a given order does not go on from a file.
    ///
    /// ```
    /// use mercer::{Checkpoint, Kernel, KernelHebbianPca, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(3);
    /// let folder = tempfile::tempdir()?;
    /// let checkpoint = Checkpoint::new(folder.path().join("run.checkpoint")).every(std::time::Duration::ZERO);
    /// let learner = settings.clone().checkpoint(checkpoint.clone()).fit(&points)?;
    /// assert!(checkpoint.path().exists());
    /// let again = settings.checkpoint(checkpoint.resume(true)).fit(&points)?;
    /// assert_eq!(again.coefficients(), learner.coefficients());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoint = Some(checkpoint);
        self
    }

    /// Sets after how many updates the state is kept, at the end of the batch that reaches them, instead of after a time.
    ///
    /// ```
    /// use mercer::{Checkpoint, HebbianLearner, Kernel, KernelHebbianPca, MemoryBudget, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let folder = tempfile::tempdir()?;
    /// let checkpoint = Checkpoint::new(folder.path().join("run.checkpoint"));
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).eta0(0.1).batch_size(4);
    /// let part = settings.clone().updates(30).checkpoint(checkpoint.clone()).keep_every(10).fit(&points)?;
    /// assert_eq!(part.n_updates(), 30); // one pass and a half
    /// let learner = HebbianLearner::resume(checkpoint.path(), &points, MemoryBudget::Auto, None)?;
    /// assert_eq!(learner.coefficients(), part.coefficients());
    /// let rest = settings.updates(50).checkpoint(checkpoint.resume(true)).keep_every(10).fit(&points)?;
    /// assert_eq!(rest.resumed_after_updates(), Some(30));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn keep_every(mut self, updates: usize) -> Self {
        self.keep_every = Some(updates);
        self
    }

    /// Learns from the points.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the points cannot be used, the coefficients do not fit the memory budget, or a gain that
    /// was given diverges.
    pub fn fit(&self, points: &Points) -> Result<HebbianLearner> {
        self.fit_from(points, &Start::default(), &Watch::new())
    }

    /// As [`fit`](Self::fit), from a given start, in a given order, with somebody looking on who may stop it: what has been learned
    /// so far comes back then.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit); if the start or the order does not fit the points; and [`Error::Interrupted`] if the fit was stopped before
    /// the first update.
    pub fn fit_from(&self, points: &Points, start: &Start<'_>, watch: &Watch<'_>) -> Result<HebbianLearner> {
        HebbianLearner::fit(self.clone(), points, start, watch)
    }

    /// What components are held against.
    pub(crate) fn tolerance_asked(&self) -> Option<f64> {
        self.common.tolerance
    }

    /// The same gains and passes for a matrix that is given, within the seed, threads and memory of `common`.
    pub(crate) fn for_matrix(&self, common: &KernelPca) -> Self {
        Self {
            common: KernelPca { kernel: KernelChoice::Known(Kernel::Precomputed), ..common.clone() },
            ..self.clone()
        }
    }

    /// Updates that a run over so many points makes.
    pub(super) fn total_updates(&self, n_samples: usize) -> usize {
        self.updates.unwrap_or_else(|| self.passes.saturating_mul(n_samples))
    }

    /// Checks every setting that is not common to all of kernel PCA.
    pub(super) fn validate(&self) -> Result<()> {
        if let Gain::Fixed(eta0) = self.eta0 {
            Error::require_positive("eta0", eta0)?;
        }
        if let Gain::Fixed(mu) = self.mu
            && !(mu >= 0.0 && mu.is_finite())
        {
            return Err(Error::invalid("mu", "\"auto\" or a number that is not negative", mu));
        }
        if let Some(tau) = self.tau {
            Error::require_positive("tau", tau)?;
        }
        if !(0.0..=1.0).contains(&self.xi) {
            return Err(Error::invalid("xi", "between 0 and 1", self.xi));
        }
        Error::require_finite("rho0", self.rho0)?;
        if self.common.negative == Negative::Flip {
            let allowed =
                "\"error\" or \"clip\": updates grow towards the largest eigenvalues, never towards negative ones";
            return Err(Error::invalid("negative", allowed, "\"flip\""));
        }
        if self.keep_every.is_some() && self.checkpoint.is_none() {
            return Err(Error::invalid("keep_every", "left out without a checkpoint, which it is for", "given"));
        }
        for (name, value) in [
            ("passes", Some(self.passes)),
            ("updates", self.updates),
            ("batch_size", self.batch_size),
            ("record_every", self.record_every),
            ("keep_every", self.keep_every),
        ] {
            if value == Some(0) {
                return Err(Error::invalid(name, "at least 1", 0));
            }
        }
        Ok(())
    }
}

impl Start<'_> {
    /// Checks start and order against the data.
    pub(super) fn validate(&self, n_components: usize, n_samples: usize) -> Result<()> {
        if let Some(coefficients) = self.coefficients {
            let shape = (coefficients.nrows(), coefficients.ncols());
            if shape != (n_components, n_samples) {
                let requirement =
                    format!("one row per component and one column per sample ({n_components} x {n_samples})");
                return Err(Error::invalid("initial_coefficients", requirement, format!("{} x {}", shape.0, shape.1)));
            }
            for i in 0..shape.0 {
                if let Some(j) = (0..shape.1).find(|&j| !coefficients[(i, j)].is_finite()) {
                    let value = format!("{} at row {i}, column {j}", coefficients[(i, j)]);
                    return Err(Error::invalid("initial_coefficients", "finite numbers", value));
                }
                if coefficients.row(i).iter().all(|&x| x == 0.0) {
                    let requirement = "rows that are not all zero, which would stay zero forever";
                    return Err(Error::invalid("initial_coefficients", requirement, format!("zero in row {i}")));
                }
            }
            if self.model.is_some() {
                let requirement = "left out when a model to start from is given";
                return Err(Error::invalid("initial_coefficients", requirement, "given"));
            }
        }
        if let Some(order) = self.order {
            if order.is_empty() {
                return Err(Error::invalid("order", "at least one sample", "empty"));
            }
            if let Some(at) = order.iter().position(|&sample| sample >= n_samples) {
                let requirement = format!("indices of samples, below {n_samples}");
                return Err(Error::invalid("order", requirement, format!("{} at position {at}", order[at])));
            }
        }
        Ok(())
    }
}
