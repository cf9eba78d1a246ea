//! Running over samples, batch by batch.

use super::batch::Diverged;
use super::engine::Task;
use super::history::HistoryEntry;
use super::learner::HebbianLearner;
use super::schedule::{GainParameters, Schedule};
use super::settings::RecordError;
use super::start;
use super::state::State;
use crate::choices::Gain;
use crate::error::{Error, Result};
use crate::watch::{Context, Phase, Stopwatch, Watch};

/// Up to this many points the reconstruction error is cheap enough to be recorded without being asked for.
pub(super) const ERROR_UP_TO: usize = 4096;

/// The samples of a run.
#[derive(Clone, Copy)]
pub(super) enum Order<'a> {
    /// Exactly these.
    Given(&'a [usize]),
    /// This many, from one permutation after another.
    Permutations(usize),
}

impl Order<'_> {
    /// So many passes over `n` points.
    pub(super) fn passes(passes: usize, n: usize) -> Self {
        Self::Permutations(passes.saturating_mul(n))
    }

    fn len(self) -> usize {
        match self {
            Self::Given(samples) => samples.len(),
            Self::Permutations(count) => count,
        }
    }

    /// The first `count` of them.
    pub(super) fn first(self, count: usize) -> Self {
        match self {
            Self::Given(samples) => Self::Given(&samples[..count.min(samples.len())]),
            Self::Permutations(all) => Self::Permutations(count.min(all)),
        }
    }
}

/// How a run ended.
pub(super) enum Ended {
    Done,
    Stopped,
    Diverged(Diverged),
}

impl HebbianLearner {
    /// The `τ` of the gain rule, if it has one.
    pub(super) fn tau(&self, n_samples: usize) -> Option<f64> {
        let rule = self.settings.rule;
        rule.uses_tau().then(|| self.settings.tau.unwrap_or_else(|| rule.default_tau(n_samples)))
    }

    pub(super) fn go_back(&mut self, saved: &(State, usize)) {
        self.state.restore(&saved.0);
        self.history.truncate(saved.1);
    }

    pub(super) fn diverged(&self, diverged: Diverged) -> Error {
        let GainParameters { eta0, mu, .. } = self.parameters;
        let settings = &self.settings;
        let advice = match (settings.eta0, settings.mu) {
            (Gain::Fixed(_), Gain::Fixed(_)) if settings.rule.adapts() => "use smaller values, or \"auto\"",
            (Gain::Fixed(_), _) => "use a smaller eta0, or \"auto\"",
            (Gain::Auto, Gain::Fixed(_)) if settings.rule.adapts() => "use a smaller mu, or \"auto\"",
            (Gain::Auto, _) if settings.rule.adapts() && settings.rho0 != 0.0 => {
                "there is no smaller value to try: use a smaller rho0, or 0"
            }
            (Gain::Auto, _) if self.start.is_some() => {
                "there is no smaller value to try: are the points, and the start that was given, as they should be?"
            }
            (Gain::Auto, _) => "there is no smaller value to try: are the points as they should be?",
        };
        let Diverged { updates, died } = diverged;
        Error::Diverged { rule: settings.rule.name(), eta0, mu, updates, died, advice }
    }

    /// Runs over the samples, batch by batch.
    pub(super) fn run(
        &mut self,
        order: Order<'_>,
        parameters: GainParameters,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Ended> {
        let updates = self.n_updates();
        self.keeping.iter_mut().for_each(|keeping| keeping.begin(updates));
        let ended = self.run_batches(order, parameters, watch, stopwatch);
        let kept = if let Ok(Ended::Done | Ended::Stopped) = ended { self.keep(true) } else { Ok(()) };
        self.state.settle(&self.prepared.threads);
        kept.and(ended)
    }

    fn run_batches(
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
        let mut context = Context::new(&threads, watch, Phase::Learning);
        let updates = self.state.position().saturating_add(order.len());
        context.progress.expected_passes = Some(updates.div_ceil(n).saturating_add(self.state.pass()));
        let (mut done, mut permutation) = (0, Vec::new());
        while done < order.len() {
            if watch.is_stopped() {
                return Ok(self.stop(stopwatch));
            }
            let position = self.state.position();
            context.progress.pass = self.state.pass() + 1;
            context.report_fraction(position as f64 / n as f64);
            if matches!(order, Order::Permutations(_)) && (position == 0 || permutation.is_empty()) {
                permutation = start::permutation(n, self.settings.common.seed, self.state.pass());
            }
            // What is left of the run, as far as it is of the present pass.
            let left = (order.len() - done).min(n - position);
            let all = match order {
                Order::Given(samples) => &samples[done..done + left],
                Order::Permutations(_) => &permutation[position..position + left],
            };
            let (samples, next) = self.two_batches(all, batch);
            let task = Task { schedule: &schedule, samples, next, limit: self.limit };
            match self.engine.batch(&mut self.state, &task, &context) {
                Ok(Ok(())) => {}
                Ok(Err(diverged)) => return Ok(Ended::Diverged(diverged)),
                Err(Error::Interrupted { .. }) => return Ok(self.stop(stopwatch)),
                Err(error) => return Err(error),
            }
            done += samples.len();
            if (self.state.position() == 0 || done == order.len())
                && let Some(diverged) = self.divergence(done == order.len())
            {
                return Ok(Ended::Diverged(diverged));
            }
            let at_entry = self.settings.record_every.is_some_and(|every| self.n_updates().is_multiple_of(every));
            if self.state.position() == 0 || at_entry || done == order.len() {
                match self.record(&context, stopwatch) {
                    Err(Error::Interrupted { .. }) => return Ok(self.stop(stopwatch)),
                    outcome => outcome?,
                }
            }
            self.keep(false)?;
        }
        self.seconds = stopwatch.seconds();
        Ok(Ended::Done)
    }

    /// The next batch of samples and the one after it: batches end where an entry of the history is made.
    fn two_batches<'s>(&self, samples: &'s [usize], batch: usize) -> (&'s [usize], &'s [usize]) {
        let updates = self.state.small.updates;
        let until_entry = |updates: usize| self.settings.record_every.map_or(batch, |every| every - updates % every);
        let (first, later) = samples.split_at(batch.min(samples.len()).min(until_entry(updates)));
        let next = batch.min(later.len()).min(until_entry(updates + first.len()));
        (first, &later[..next])
    }

    /// What a run that is stopped has come to: nothing is handed out from which it could not have gone on.
    fn stop(&mut self, stopwatch: Stopwatch) -> Ended {
        self.stopped = true;
        self.seconds = stopwatch.seconds();
        self.divergence(true).map_or(Ended::Stopped, Ended::Diverged)
    }

    /// Whether the run has diverged as it stands, between two batches. Lengths are looked at where a run ends; before that a component may
    /// be long for a moment.
    fn divergence(&self, is_end: bool) -> Option<Diverged> {
        let updates = self.n_updates();
        if is_end && !self.state.small.is_within(self.limit) {
            return Some(Diverged::grown(updates));
        }
        self.has_died().then(|| Diverged::died(updates))
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

    /// Whether the next entry of the history gets the error (38).
    fn wants_error(&self) -> bool {
        match self.settings.record_error {
            RecordError::Auto => {
                let n = self.points.n_samples();
                let last = self.history.iter().rev().find(|entry| entry.error.is_some());
                // An error takes half as many kernel entries as a pass.
                let is_time = last.is_none_or(|last| 2 * (self.n_updates() - last.updates) >= n);
                n <= ERROR_UP_TO && (self.state.position() == 0 || is_time)
            }
            RecordError::Yes => true,
            RecordError::No => false,
        }
    }

    /// Makes an entry of the history, unless gains are only tried.
    fn record(&mut self, context: &Context<'_>, stopwatch: Stopwatch) -> Result<()> {
        self.state.settle(context.threads);
        if !self.records {
            return Ok(());
        }
        let begun = Stopwatch::start();
        let error = if self.wants_error() { self.error(context).map(Some) } else { Ok(None) };
        // Stopped here, the entry is there without it: a run that is resumed goes on behind it.
        let (error, outcome) = match error {
            Ok(error) => (error, Ok(())),
            Err(error) => (None, Err(error)),
        };
        if error.is_some() {
            self.error_seconds += begun.seconds();
        }
        self.history.push(HistoryEntry {
            passes: self.state.pass(),
            updates: self.n_updates(),
            eigenvalue_estimates: self.eigenvalue_estimates(),
            gains: self.gains(),
            error,
            seconds: stopwatch.seconds(),
        });
        outcome
    }
}
