//! A run of the kernel Hebbian algorithm: what it has learned, and how it goes on.

use faer::{Mat, MatRef};

use super::batch::Diverged;
use super::engine::{Engine, Task};
use super::history::HistoryEntry;
use super::schedule::{GainParameters, Schedule};
use super::settings::{KernelHebbianPca, RecordError, Start};
use super::setup::Setup;
use super::start;
use super::state::State;
use super::tune::{LENGTH_LIMIT, Tuned, trial_updates};
use crate::choices::{Gain, Refresh};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom};
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// Up to this many points the reconstruction error is cheap enough to be recorded without being asked for.
const ERROR_UP_TO: usize = 4096;

/// What the kernel Hebbian algorithm has learned so far.
///
/// It can be asked at any time for its coefficients as they are, or for a [`model`](Self::model); it can learn
/// [more](Self::partial_fit), from the same points or from more of them; and it can be [saved](Self::save) and
/// [resumed](Self::resume) to the same bits.
pub struct HebbianLearner {
    pub(super) settings: KernelHebbianPca,
    pub(super) prepared: Prepared,
    pub(super) points: Points,
    pub(super) engine: Box<dyn Engine>,
    pub(super) state: State,
    pub(super) parameters: GainParameters,
    /// Squared lengths above this are divergence.
    pub(super) limit: f64,
    pub(super) history: Vec<HistoryEntry>,
    pub(super) store_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) seconds: f64,
    pub(super) stopped: bool,
}

/// The samples of a run.
#[derive(Clone, Copy)]
enum Order<'a> {
    /// Exactly these.
    Given(&'a [usize]),
    /// This many, from one permutation after another.
    Permutations(usize),
}

impl Order<'_> {
    fn len(self) -> usize {
        match self {
            Self::Given(samples) => samples.len(),
            Self::Permutations(count) => count,
        }
    }

    /// The first `count` of them.
    fn first(self, count: usize) -> Self {
        match self {
            Self::Given(samples) => Self::Given(&samples[..count.min(samples.len())]),
            Self::Permutations(all) => Self::Permutations(count.min(all)),
        }
    }
}

/// How a run ended.
enum Ended {
    Done,
    Stopped,
    Diverged(Diverged),
}

impl HebbianLearner {
    pub(super) fn fit(
        settings: KernelHebbianPca,
        points: &Points,
        start: &Start<'_>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let stopwatch = Stopwatch::start();
        settings.validate()?;
        let prepared = Prepared::new(&settings.common, points, SpeedsFrom::WhateverIsCheap)?;
        let (n, r) = (points.n_samples(), settings.n_components);
        start.validate(r, n)?;
        let Setup { mut engine, store_bytes, memory_bytes } = settings.set_up(&prepared, points)?;
        let context = Context::new(&prepared.threads, watch, Phase::Starting);
        context.check()?;
        let (threads, seed) = (&prepared.threads, settings.common.seed);
        let coefficients = start::coefficients(start, r, points, seed, threads, watch)?;
        let images = engine.start(coefficients.as_ref(), settings.common.center, &context)?;
        require_variance(engine.as_ref(), &prepared)?;
        let (padded, lanes) = engine.geometry();
        let adapts = settings.rule.adapts();
        let mut state = State::new(coefficients.as_ref(), images.as_ref(), adapts, settings.rho0, padded, lanes);
        drop((coefficients, images));
        state.refresh(false, &prepared.threads);
        let longest = state.small.squared_lengths().fold(1.0, f64::max);
        let parameters = GainParameters { eta0: f64::NAN, tau: None, mu: None };
        let mut learner = Self {
            settings,
            prepared,
            points: points.clone(),
            engine,
            state,
            parameters,
            limit: LENGTH_LIMIT * longest,
            history: Vec::new(),
            store_bytes,
            memory_bytes,
            seconds: 0.0,
            stopped: false,
        };
        let order = start.order.map_or(Order::Permutations(n * learner.settings.passes), Order::Given);
        learner.tuned_run(order, watch, stopwatch)?;
        if learner.n_updates() == 0 {
            return Err(Error::Interrupted { phase: Phase::Starting.name() });
        }
        Ok(learner)
    }

    /// Goes on learning: `passes` more passes, over more points if some are given.
    ///
    /// New points enter the expansion with coefficients of zero, so what has been learned stays as it is until the new points are
    /// seen; centring is that of all points from then on. On an error everything stays as it was. Stopped from outside, the
    /// learner keeps what it has learned so far.
    ///
    /// # Errors
    ///
    /// If the new points do not look like the old ones, do not fit the memory budget, or the run diverges.
    pub fn partial_fit(&mut self, new_points: Option<&Points>, passes: usize, watch: &Watch<'_>) -> Result<()> {
        let stopwatch = Stopwatch::start();
        if passes == 0 {
            return Err(Error::invalid("passes", "at least 1", 0));
        }
        if let Some(points) = new_points {
            return self.with_more_points(points, passes, watch, stopwatch);
        }
        let saved = (self.state.duplicate(), self.history.len());
        let order = Order::Permutations(self.points.n_samples() * passes);
        match self.run(order, self.parameters, watch, stopwatch) {
            Ok(Ended::Diverged(diverged)) => {
                self.go_back(&saved);
                Err(self.diverged(diverged))
            }
            Ok(_) => Ok(()),
            Err(error) => {
                self.go_back(&saved);
                Err(error)
            }
        }
    }

    /// Learns from old and new points together.
    fn with_more_points(&mut self, new: &Points, passes: usize, watch: &Watch<'_>, stopwatch: Stopwatch) -> Result<()> {
        if matches!(self.prepared.kernel, Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "learning from more points",
                kernel: "precomputed".to_owned(),
                reason: "the kernel of new points with old ones is not known",
            });
        }
        new.check_finite()?;
        let points = self.points.followed_by(new)?;
        let n = points.n_samples();
        let Setup { mut engine, store_bytes, memory_bytes } = self.settings.set_up(&self.prepared, &points)?;
        let context = Context::new(&self.prepared.threads, watch, Phase::Starting);
        let (old, w) = (&self.state, self.state.w);
        let mut coefficients = Mat::zeros(n, w);
        coefficients.as_mut().subrows_mut(0, old.n).copy_from(old.coefficients(0, w));
        if self.engine.centering().is_some() {
            // Directions do not depend on the mean of the points, which is another one from now on, if coefficients sum to zero;
            // and as long as it is the mean of these points, subtracting a constant from them changes nothing.
            for j in 0..w {
                let mean = old.coefficients(j, 1).col(0).iter().sum::<f64>() / old.n as f64;
                coefficients.col_mut(j).iter_mut().take(old.n).for_each(|x| *x -= mean);
            }
        }
        let images = engine.start(coefficients.as_ref(), self.settings.common.center, &context)?;
        let (padded, lanes) = engine.geometry();
        let (r, upper) = (old.r, old.small.log_gains.clone());
        let mut state = State::new(coefficients.subcols(0, r), images.subcols(0, r), w > r, 0.0, padded, lanes);
        state.put(r, coefficients.subcols(r, w - r), images.subcols(r, w - r));
        state.small.log_gains = upper;
        state.small.updates = old.small.updates;
        (state.origin, state.earlier_passes) = (old.small.updates, old.pass());
        let parameters = GainParameters { tau: self.tau(n), ..self.parameters };
        let entries = self.history.len();
        let before = (
            std::mem::replace(&mut self.state, state),
            std::mem::replace(&mut self.engine, engine),
            std::mem::replace(&mut self.points, points),
            std::mem::replace(&mut self.parameters, parameters),
            std::mem::replace(&mut self.store_bytes, store_bytes),
            std::mem::replace(&mut self.memory_bytes, memory_bytes),
        );
        let ended = self.run(Order::Permutations(n * passes), self.parameters, watch, stopwatch);
        let error = match ended {
            Ok(Ended::Diverged(diverged)) => self.diverged(diverged),
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        (self.state, self.engine, self.points, self.parameters, self.store_bytes, self.memory_bytes) = before;
        self.history.truncate(entries);
        Err(error)
    }

    /// Runs with the gains that were given, or with the largest that do not diverge.
    fn tuned_run(&mut self, order: Order<'_>, watch: &Watch<'_>, stopwatch: Stopwatch) -> Result<()> {
        let adapts = self.settings.rule.adapts();
        let tau = self.tau(self.points.n_samples());
        let mut eta0 = Tuned::from(self.settings.eta0);
        let tunes = self.settings.eta0 == Gain::Auto || (adapts && self.settings.mu == Gain::Auto);
        // There is nothing to come back to if nothing is tuned.
        let saved = if tunes { Some((self.state.duplicate(), 0)) } else { None };
        if adapts && self.settings.eta0 == Gain::Auto {
            let trial = order.first(trial_updates(self.points.n_samples()));
            while let Ended::Diverged(diverged) =
                self.run(trial, GainParameters { eta0: eta0.value(), tau, mu: Some(0.0) }, watch, stopwatch)?
            {
                if !eta0.lower() {
                    return Err(self.diverged(diverged));
                }
                saved.iter().for_each(|saved| self.go_back(saved));
            }
            saved.iter().for_each(|saved| self.go_back(saved));
        }
        let mut mu = Tuned::from(self.settings.mu);
        loop {
            let parameters = GainParameters { eta0: eta0.value(), tau, mu: adapts.then(|| mu.value()) };
            let Ended::Diverged(diverged) = self.run(order, parameters, watch, stopwatch)? else { return Ok(()) };
            // What is tuned last is lowered first.
            let lowered = (adapts && mu.lower()) || eta0.lower();
            let (true, Some(saved)) = (lowered, &saved) else { return Err(self.diverged(diverged)) };
            self.go_back(saved);
        }
    }

    /// The `τ` of the gain rule, if it has one.
    fn tau(&self, n_samples: usize) -> Option<f64> {
        let rule = self.settings.rule;
        rule.uses_tau().then(|| self.settings.tau.unwrap_or_else(|| rule.default_tau(n_samples)))
    }

    fn go_back(&mut self, saved: &(State, usize)) {
        self.state.restore(&saved.0);
        self.history.truncate(saved.1);
    }

    fn diverged(&self, diverged: Diverged) -> Error {
        let GainParameters { eta0, mu, .. } = self.parameters;
        Error::Diverged { rule: self.settings.rule.name(), eta0, mu, updates: diverged.0 }
    }

    /// Runs over the samples, batch by batch.
    fn run(
        &mut self,
        order: Order<'_>,
        parameters: GainParameters,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Ended> {
        self.parameters = parameters;
        self.stopped = false;
        let n = self.points.n_samples();
        let schedule = self.schedule();
        let (batch, threads) = (self.settings.batch(n), self.prepared.threads.clone());
        let mut context = Context::new(&threads, watch, Phase::Solving);
        context.progress.expected_passes = Some((self.state.position() + order.len()).div_ceil(n) + self.state.pass());
        let (mut done, mut permutation) = (0, Vec::new());
        while done < order.len() {
            if watch.is_stopped() {
                return Ok(self.stop(stopwatch));
            }
            let position = self.state.position();
            context.progress.pass = self.state.pass() + 1;
            context.report_fraction(position as f64 / n as f64);
            let until_entry = self.settings.record_every.map_or(n, |every| every - self.state.small.updates % every);
            let count = batch.min(n - position).min(order.len() - done).min(until_entry);
            let samples = match order {
                Order::Given(samples) => &samples[done..done + count],
                Order::Permutations(_) => {
                    if position == 0 || permutation.is_empty() {
                        permutation = start::permutation(n, self.settings.common.seed, self.state.pass());
                    }
                    &permutation[position..position + count]
                }
            };
            let task = Task { schedule: &schedule, samples, limit: self.limit };
            match self.engine.batch(&mut self.state, &task, &context) {
                Ok(Ok(())) => {}
                Ok(Err(diverged)) => return Ok(Ended::Diverged(diverged)),
                Err(Error::Interrupted { .. }) => return Ok(self.stop(stopwatch)),
                Err(error) => return Err(error),
            }
            done += count;
            let at_entry = self.settings.record_every.is_some_and(|every| self.n_updates().is_multiple_of(every));
            if self.state.position() == 0 || at_entry || done == order.len() {
                match self.record(&context, stopwatch) {
                    Err(Error::Interrupted { .. }) => return Ok(self.stop(stopwatch)),
                    outcome => outcome?,
                }
            }
        }
        self.seconds = stopwatch.seconds();
        Ok(Ended::Done)
    }

    fn stop(&mut self, stopwatch: Stopwatch) -> Ended {
        self.stopped = true;
        self.seconds = stopwatch.seconds();
        Ended::Stopped
    }

    pub(super) fn schedule(&self) -> Schedule {
        Schedule {
            rule: self.settings.rule,
            refresh: self.settings.refresh,
            parameters: self.parameters,
            xi: self.settings.xi,
            n_samples: self.points.n_samples(),
        }
    }

    fn record(&mut self, context: &Context<'_>, stopwatch: Stopwatch) -> Result<()> {
        let wanted = match self.settings.record_error {
            RecordError::Auto => self.points.n_samples() <= ERROR_UP_TO,
            RecordError::Yes => true,
            RecordError::No => false,
        };
        let error = if wanted { Some(self.error(context)?) } else { None };
        self.history.push(HistoryEntry {
            passes: self.state.pass(),
            updates: self.n_updates(),
            eigenvalue_estimates: self.eigenvalue_estimates(),
            gains: self.gains(),
            error,
            seconds: stopwatch.seconds(),
        });
        Ok(())
    }

    /// The expansion coefficients as updated, one row per component and one column per point: neither orthonormal nor ordered.
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

    /// Adapted log-gains, one per component; what they started with if the gain rule does not adapt them.
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
        self.engine.entries_computed()
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

/// An error if all points are the same to the kernel.
fn require_variance(engine: &dyn Engine, prepared: &Prepared) -> Result<()> {
    let diagonal = engine.diagonal()?;
    let n = diagonal.len() as f64;
    let trace: f64 = diagonal.iter().sum();
    let total = trace - n * engine.centering().map_or(0.0, |centering| centering.mean);
    // Entries are known to a few units in the last place.
    if total.abs() <= 8.0 * prepared.precision.epsilon() * trace.abs() {
        return Err(Error::NoVariance { n_samples: diagonal.len() });
    }
    Ok(())
}
