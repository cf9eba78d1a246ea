//! A run of the kernel Hebbian algorithm: what it has learned, and how it goes on.

use std::sync::OnceLock;

use faer::{Mat, MatRef};

use super::engine::Engine;
use super::grow::Amount;
use super::history::HistoryEntry;
use super::keep::{Keeping, Resumed};
use super::run::Order;
use super::schedule::GainParameters;
use super::settings::{KernelHebbianPca, Start};
use super::setup::{Beside, Setup};
use super::start;
use super::state::State;
use super::trial::Standing;
use super::tune::LENGTH_LIMIT;
use crate::choices::{Gain, Refresh};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom};
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// What the kernel Hebbian algorithm has learned so far.
///
/// It can be asked at any time for its coefficients as they are, or for a [`model`](Self::model); it can learn
/// [more](Self::partial_fit), from the same points or from more of them; and it can be [saved](Self::save) and
/// [resumed](Self::resume) to the same bits.
///
/// ```
/// use mercer::{Kernel, KernelHebbianPca, Points, Watch};
///
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
/// let points = Points::from_f64(values, 20, 3)?;
/// let mut learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(2).fit(&points)?;
/// let before = learner.reconstruction_error(&Watch::new())?;
/// learner.partial_fit(None, 20, &Watch::new())?;
/// assert!(learner.reconstruction_error(&Watch::new())? < before);
/// assert_eq!((learner.n_updates(), learner.model()?.n_components()), (22 * 20, 2));
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct HebbianLearner {
    pub(super) settings: KernelHebbianPca,
    pub(super) prepared: Prepared,
    pub(super) points: Points,
    pub(super) engine: Box<dyn Engine>,
    pub(super) state: State,
    pub(super) parameters: GainParameters,
    /// Squared lengths above this are divergence.
    pub(super) limit: f64,
    /// A digest of the start, if it was given.
    pub(super) start: Option<String>,
    /// How good the start was, if it was given and gains are to leave it no worse.
    pub(super) start_standing: Option<Standing>,
    pub(super) history: Vec<HistoryEntry>,
    pub(super) store_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) seconds: f64,
    /// Seconds of the errors in the history.
    pub(super) error_seconds: f64,
    pub(super) stopped: bool,
    pub(super) keeping: Option<Keeping>,
    /// Whether what is done makes a history; not while gains are tried.
    pub(super) records: bool,
    pub(super) resumed_after: Option<Resumed>,
    /// The digest of the points, once a checkpoint has needed it.
    pub(super) points_digest: OnceLock<String>,
    /// Bytes of points that were put together here, and are not the caller's.
    pub(super) own_points: u64,
    /// Bytes of the budget that the caller has taken.
    pub(super) taken: u64,
    /// Kernel entries computed over fewer points than there are now.
    pub(super) earlier_entries: u64,
}

impl HebbianLearner {
    /// A learner that has learned. Between calls its threads rest: it may be kept for long, and a forked process has none of them.
    pub(super) fn fit(
        settings: KernelHebbianPca,
        points: &Points,
        start: &Start<'_>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let learner = Self::fitted(settings, points, start, watch)?;
        learner.prepared.threads.rest();
        Ok(learner)
    }

    fn fitted(settings: KernelHebbianPca, points: &Points, start: &Start<'_>, watch: &Watch<'_>) -> Result<Self> {
        let stopwatch = Stopwatch::start();
        settings.validate()?;
        let prepared = Prepared::new(&settings.common, points, SpeedsFrom::WhateverIsCheap, watch)?;
        let (n, r) = (points.n_samples(), settings.n_components);
        start.validate(r, n)?;
        start.check_model(&prepared.kernel)?;
        if start.order.is_some() && settings.checkpoint.is_some() {
            let requirement =
                "left out when a checkpoint is kept: a run goes on from it with passes over random permutations";
            return Err(Error::invalid("order", requirement, "given"));
        }
        if let Some(learner) = Self::go_on(&settings, points, start, watch, stopwatch)? {
            return Ok(learner);
        }
        let mut learner = Self::at_its_start(settings, prepared, points, start, watch)?;
        if start.is_given() && learner.settings.eta0 == Gain::Auto {
            learner.start_standing = Some(learner.standing(watch)?);
        }
        let order = start.order.map_or(Order::Permutations(learner.settings.total_updates(n)), Order::Given);
        learner.tuned_run(order, watch, stopwatch)?;
        if start.order.is_some() {
            // Whatever comes next goes over all points, not over what an order of another length leaves of a pass.
            learner.state.begin_pass();
        }
        if learner.n_updates() == 0 {
            return Err(Error::Interrupted { phase: Phase::Learning.name() });
        }
        Ok(learner)
    }

    /// A learner that has learned nothing yet.
    fn at_its_start(
        settings: KernelHebbianPca,
        prepared: Prepared,
        points: &Points,
        start: &Start<'_>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let (n, r) = (points.n_samples(), settings.n_components);
        let Setup { mut engine, store_bytes, memory_bytes } = settings.set_up(&prepared, points, Beside::default())?;
        let context = Context::new(&prepared.threads, watch, Phase::Learning);
        context.check()?;
        let (threads, seed) = (&prepared.threads, settings.common.seed);
        let (mut coefficients, given) = start::coefficients(start, r, points, seed, threads, watch)?;
        let mut images = engine.start(coefficients.as_ref(), settings.common.center, &context)?;
        let variance = require_variance(engine.as_ref(), &prepared)?;
        let before = engine.centering().map_or(0.0, |centering| n as f64 * centering.mean.abs());
        let noise = prepared.precision.epsilon() * (variance.abs() + before);
        start::check_given(start, &given, coefficients.as_ref(), images.as_ref(), noise)?;
        start::shorten(&given, variance / n as f64, &mut coefficients, &mut images);
        let (padded, lanes) = engine.geometry();
        let adapts = settings.rule.adapts();
        let mut state = State::new(coefficients.as_ref(), images.as_ref(), adapts, settings.rho0, padded, lanes);
        drop((coefficients, images));
        state.refresh(false, &prepared.threads);
        let longest = state.small.squared_lengths().map(f64::abs).fold(1.0, f64::max);
        let parameters = GainParameters { eta0: f64::NAN, tau: None, mu: None };
        let keeping = Keeping::new(&settings);
        Ok(Self {
            settings,
            prepared,
            points: points.clone(),
            engine,
            state,
            parameters,
            limit: LENGTH_LIMIT * longest,
            start: start.fingerprint(),
            start_standing: None,
            history: Vec::new(),
            store_bytes,
            memory_bytes,
            seconds: 0.0,
            error_seconds: 0.0,
            stopped: false,
            keeping,
            records: true,
            resumed_after: None,
            points_digest: OnceLock::new(),
            own_points: 0,
            taken: 0,
            earlier_entries: 0,
        })
    }

    /// Goes on learning: `passes` more passes, over more points if some are given.
    ///
    /// New points enter the expansion with coefficients of zero, so what has been learned stays as it is until the new points are
    /// seen; centring is that of all points from then on. Gains that were found by trying and do not serve any more are lowered, and these
    /// passes made again. On an error everything stays as it was. Stopped from outside, the learner keeps what it has
    /// learned so far.
    ///
    /// # Errors
    ///
    /// If the new points do not look like the old ones, do not fit the memory budget, or the run diverges with gains that were given.
    pub fn partial_fit(&mut self, new_points: Option<&Points>, passes: usize, watch: &Watch<'_>) -> Result<()> {
        if passes == 0 {
            return Err(Error::invalid("passes", "at least 1", 0));
        }
        self.go_on_for(new_points, Amount::Passes(passes), watch, |_| Ok(()))
    }

    /// As [`partial_fit`](Self::partial_fit), for so many updates, from wherever the pass is. Called again and again, it gives a
    /// [`model`](Self::model), a history and a [checkpoint](Self::save) after every so many updates, where a pass takes long.
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, Points, Watch};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let mut learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).updates(8).fit(&points)?;
    /// learner.learn(None, 8, &Watch::new())?;
    /// assert_eq!((learner.n_updates(), learner.history().len()), (16, 2));
    /// assert!(learner.error_seconds() > 0.0, "the first entry has its error");
    /// assert_eq!(learner.model()?.n_components(), 2);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`partial_fit`](Self::partial_fit).
    pub fn learn(&mut self, new_points: Option<&Points>, updates: usize, watch: &Watch<'_>) -> Result<()> {
        self.learn_and(new_points, updates, watch, |_| Ok(()))
    }

    /// As [`learn`](Self::learn), and makes something of what has been learned then, such as a model: if that fails, everything stays as it was.
    ///
    /// ```
    /// use mercer::{Error, Kernel, KernelHebbianPca, Points, Watch};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let mut learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(2).fit(&points)?;
    /// let before = learner.coefficients();
    /// let refused = learner.learn_and(Some(&points), 40, &Watch::new(), |_| Err::<(), _>(Error::AllZero { n_samples: 40 }));
    /// assert!(refused.is_err() && learner.coefficients() == before && learner.points().n_samples() == 20);
    /// let model = learner.learn_and(Some(&points), 40, &Watch::new(), |learner| learner.model())?;
    /// assert_eq!((model.n_components(), learner.n_updates()), (2, 80));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`partial_fit`](Self::partial_fit), and those of `make`.
    pub fn learn_and<T, E: From<Error>>(
        &mut self,
        new_points: Option<&Points>,
        updates: usize,
        watch: &Watch<'_>,
        make: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if updates == 0 {
            return Err(Error::invalid("updates", "at least 1", 0).into());
        }
        self.go_on_for(new_points, Amount::Updates(updates), watch, make)
    }

    /// Goes on over the same points or more, and makes something of it.
    fn go_on_for<T, E: From<Error>>(
        &mut self,
        new_points: Option<&Points>,
        amount: Amount,
        watch: &Watch<'_>,
        make: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let (stopwatch, _work) = (Stopwatch::start(), self.prepared.threads.at_work()?);
        let (stopped, seconds) = (self.stopped, (self.seconds, self.error_seconds));
        let outcome = match new_points {
            Some(points) => self.with_more_points(points, amount, watch, stopwatch, make),
            None => self.with_these_points(amount, watch, stopwatch, make),
        };
        outcome.inspect_err(|_| {
            self.stopped = stopped;
            (self.seconds, self.error_seconds) = seconds;
        })
    }

    /// Learns on from the points that there are.
    fn with_these_points<T, E: From<Error>>(
        &mut self,
        amount: Amount,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
        make: impl FnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let order = amount.order(self.points.n_samples());
        let saved = (self.state.duplicate(), self.history.len());
        let parameters = self.parameters;
        let outcome = self.go_on_from(&saved, order, watch, stopwatch).map_err(E::from).and_then(|()| make(self));
        outcome.inspect_err(|_| {
            self.go_back(&saved);
            self.parameters = parameters;
        })
    }

    /// Sets how many bytes of the memory budget the caller has taken already, for copies of the points that
    /// [`partial_fit`](Self::partial_fit) will be given (default 0).
    ///
    /// ```
    /// use mercer::{Kernel, KernelHebbianPca, MemoryBudget, Points, Watch};
    ///
    /// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 20, 3)?;
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(2).memory(MemoryBudget::Bytes(64 << 20));
    /// let mut learner = settings.fit(&points)?;
    /// learner.memory_taken(64 << 20);
    /// assert!(learner.partial_fit(Some(&points), 1, &Watch::new()).is_err(), "nothing is left");
    /// learner.memory_taken(0);
    /// learner.partial_fit(Some(&points), 1, &Watch::new())?;
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn memory_taken(&mut self, bytes: u64) {
        self.taken = bytes;
    }

    /// The expansion coefficients as updated, one row per component and one column per point: neither orthonormal nor ordered.
    ///
    /// ```
    /// use mercer::{GainRule, Kernel, KernelHebbianPca, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).gain(GainRule::MetaDescentStar).eta0(0.05).tau(100.0);
    /// let settings = settings.mu(0.01).xi(0.9).rho0(0.5).record_every(10).passes(2).seed(1);
    /// let learner = settings.fit(&points)?;
    ///
    /// // How much longer a component's images are than its coefficients estimates its eigenvalue.
    /// let (a, images) = (learner.coefficients(), learner.images());
    /// assert_eq!((a.nrows(), a.ncols()), (2, 20));
    /// let ratio = images.row(0).norm_l2() / a.row(0).norm_l2();
    /// assert!((learner.eigenvalue_estimates()[0] / ratio - 1.0).abs() < 1e-9);
    ///
    /// // Gains are scheduled, and this rule adapts them; it has a memory for that, and uses estimates once per pass.
    /// let gain = learner.scheduled_gains()[0] * learner.log_gains()[0].exp();
    /// assert!((learner.gains()[0] / gain - 1.0).abs() < 1e-12 && learner.log_gains()[0] != 0.5);
    /// assert!(learner.memory_coefficients().is_some() && learner.refreshed_eigenvalues().is_some());
    /// assert!(!learner.follows_eigenvalues());
    /// let parameters = learner.gain_parameters();
    /// assert_eq!((parameters.eta0, parameters.tau, parameters.mu), (0.05, Some(100.0), Some(0.01)));
    /// assert_eq!((learner.xi(), learner.rho0()), (Some(0.9), Some(0.5)));
    ///
    /// // What it has seen; the same settings lead to the same bits.
    /// assert_eq!((learner.points().n_samples(), learner.kernel().name(), learner.was_stopped()), (20, "gaussian", false));
    /// assert!(learner.history().iter().any(|entry| entry.updates == 10) && learner.kernel_entries() >= 2 * 20 * 20);
    /// assert_eq!(learner.settings().fit(&points)?.coefficients(), a);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn coefficients(&self) -> Mat<f64> {
        self.state.coefficients(0, self.state.r).transpose().to_owned()
    }

    /// What every component gives for every point, `A K'`: one row per component and one column per point.
    pub fn images(&self) -> Mat<f64> {
        self.state.images(0, self.state.r).transpose().to_owned()
    }

    /// The coefficients `B` of meta-descent's memory, if the gain rule has one.
    pub fn memory_coefficients(&self) -> Option<Mat<f64>> {
        let (r, w) = (self.state.r, self.state.w);
        (w > r).then(|| self.state.coefficients(r, w - r).transpose().to_owned())
    }

    /// Adapted log-gains, one per component; zero if the gain rule does not adapt them.
    pub fn log_gains(&self) -> &[f64] {
        &self.state.small.log_gains
    }

    /// The gains of the last update, adapted part included.
    pub fn gains(&self) -> Vec<f64> {
        let small = &self.state.small;
        small.gains.iter().zip(&small.log_gains).map(|(gain, rho)| gain * rho.exp()).collect()
    }

    /// The scheduled part of the gains of the last update.
    pub fn scheduled_gains(&self) -> &[f64] {
        &self.state.small.gains
    }

    /// Estimates `‖K' a‖ / ‖a‖` (20) of the eigenvalues, from the coefficients as they are.
    pub fn eigenvalue_estimates(&self) -> Vec<f64> {
        self.state.eigenvalue_estimates()
    }

    /// The estimates that the last update's gains were made from; `None` if the gain rule uses none.
    pub fn refreshed_eigenvalues(&self) -> Option<&[f64]> {
        self.settings.rule.uses_eigenvalues().then_some(&self.state.small.eigenvalues)
    }

    /// Updates so far.
    pub fn n_updates(&self) -> usize {
        self.state.small.updates
    }

    /// The parameters of the gain rule, as given or as tuned.
    pub fn gain_parameters(&self) -> GainParameters {
        self.parameters
    }

    /// How long meta-descent remembers; `None` if the gain rule does not adapt its gains.
    pub fn xi(&self) -> Option<f64> {
        self.settings.rule.adapts().then_some(self.settings.xi)
    }

    /// The log-gains at the start; `None` if the gain rule does not adapt its gains.
    pub fn rho0(&self) -> Option<f64> {
        self.settings.rule.adapts().then_some(self.settings.rho0)
    }

    /// The state at the end of every pass, and wherever else it was asked for.
    pub fn history(&self) -> &[HistoryEntry] {
        &self.history
    }

    /// The points that have been learned from.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.prepared.kernel
    }

    /// The settings.
    pub fn settings(&self) -> &KernelHebbianPca {
        &self.settings
    }

    /// Whether the last run was stopped from outside before its end.
    pub fn was_stopped(&self) -> bool {
        self.stopped
    }

    /// The share of the kernel rows that there is room to keep between passes.
    pub fn stored_share(&self) -> f64 {
        self.engine.stored_share()
    }

    /// Entries of the kernel matrix computed so far.
    pub fn kernel_entries(&self) -> u64 {
        self.earlier_entries + self.engine.entries_computed()
    }

    /// Seconds that the errors in the history took, of those that learning took in all.
    pub fn error_seconds(&self) -> f64 {
        self.error_seconds
    }

    /// Updates that an earlier part of the run had made, if this one went on from a checkpoint that it was to keep.
    pub fn resumed_after_updates(&self) -> Option<usize> {
        self.resumed_after.map(|resumed| resumed.updates)
    }

    /// What is to be said of the run, whatever becomes of its [`model`](Self::model), whose record has it, too.
    ///
    /// ```
    /// use mercer::{Checkpoint, Kernel, KernelHebbianPca, Points};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let folder = tempfile::tempdir()?;
    /// let checkpoint = Checkpoint::new(folder.path().join("run.checkpoint"));
    /// let settings = KernelHebbianPca::new(Kernel::gaussian(0.01)?).eta0(0.1);
    /// let learner = settings.clone().passes(2).checkpoint(checkpoint.clone()).fit(&points)?;
    /// assert!(learner.warnings().is_empty());
    /// // Two passes are more than one, and nothing is taken back.
    /// let again = settings.passes(1).checkpoint(checkpoint.resume(true)).fit(&points)?;
    /// assert_eq!((again.n_updates(), again.warnings().len()), (40, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn warnings(&self) -> &[String] {
        &self.prepared.warnings
    }

    /// The components' scores of the points, before they are orthonormalised: `A K'` point by point.
    pub(super) fn tall_images(&self) -> MatRef<'_, f64> {
        self.state.images(0, self.state.r)
    }

    /// Whether eigenvalues are followed from update to update.
    pub fn follows_eigenvalues(&self) -> bool {
        self.settings.rule.uses_eigenvalues() && self.settings.refresh == Refresh::Iteration
    }
}

impl std::fmt::Debug for HebbianLearner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (r, rule, updates) = (self.state.r, self.settings.rule, self.n_updates());
        write!(f, "HebbianLearner({r} components of {:?}, gain {rule}, {updates} updates)", self.points)
    }
}

/// The total variance, or an error if all points are the same to the kernel.
fn require_variance(engine: &dyn Engine, prepared: &Prepared) -> Result<f64> {
    let diagonal = engine.diagonal()?;
    let trace: f64 = diagonal.iter().sum();
    let variance = total_variance(engine)?;
    // Entries are known to a few units in the last place.
    if variance.abs() <= 8.0 * prepared.precision.epsilon() * trace.abs() {
        return Err(Error::NoVariance { n_samples: diagonal.len() });
    }
    Ok(variance)
}

/// The trace of the (centred) matrix.
pub(super) fn total_variance(engine: &dyn Engine) -> Result<f64> {
    let diagonal = engine.diagonal()?;
    let mean = engine.centering().map_or(0.0, |centering| centering.mean);
    Ok(diagonal.iter().sum::<f64>() - diagonal.len() as f64 * mean)
}
