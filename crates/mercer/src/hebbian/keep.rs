//! A checkpoint that is kept while a run goes on, and going on from it.

use super::checkpoint::Header;
use super::learner::HebbianLearner;
use super::run::{Ended, Order};
use super::settings::{KernelHebbianPca, Start};
use crate::choices::Gain;
use crate::data::Points;
use crate::error::Result;
use crate::model::{Checkpoint, Prepared, SpeedsFrom, bad};
use crate::record::KernelRecord;
use crate::watch::{Stopwatch, Watch};

/// Where the state of a run is kept, and when that was done last.
#[derive(Clone, Debug)]
pub(super) struct Keeping {
    checkpoint: Checkpoint,
    /// Updates after which it is kept, instead of after a time.
    every: Option<usize>,
    /// Since the state was kept last, or the run began.
    since: Stopwatch,
    /// Updates at that time.
    reached: usize,
    /// Whether this run has kept anything.
    has_kept: bool,
    cost: f64,
}

impl Keeping {
    /// What settings ask for.
    pub(super) fn new(settings: &KernelHebbianPca) -> Option<Self> {
        let (checkpoint, every) = (settings.checkpoint.clone()?, settings.keep_every);
        Some(Self { checkpoint, every, since: Stopwatch::start(), reached: 0, has_kept: false, cost: 0.0 })
    }

    /// A run begins after so many updates.
    pub(super) fn begin(&mut self, updates: usize) {
        (self.since, self.reached, self.has_kept) = (Stopwatch::start(), updates, false);
    }

    /// Whether the state has to be kept after so many updates, at the end of a batch that may end a pass or the run.
    fn is_due(&self, updates: usize, ends_pass: bool, is_last: bool) -> bool {
        if is_last {
            return !self.has_kept || updates != self.reached;
        }
        if let Some(every) = self.every {
            return updates / every > self.reached / every;
        }
        let is_time = self.since.seconds() >= self.checkpoint.least_seconds(self.cost);
        is_time || (ends_pass && !self.has_kept)
    }
}

impl HebbianLearner {
    /// Keeps the state at the end of a batch, if it is asked for and time has come, or if it is the last one. What is put off stays put
    /// off, in the file too: done earlier than in a run that goes through, it would be rounded otherwise.
    pub(super) fn keep(&mut self, is_last: bool) -> Result<()> {
        let (updates, ends_pass) = (self.n_updates(), self.state.position() == 0);
        let Some(keeping) = &self.keeping else { return Ok(()) };
        // A component may be too long for a moment, but nothing is handed out like that.
        if !keeping.is_due(updates, ends_pass, is_last) || updates == 0 || !self.state.small.is_within(self.limit) {
            return Ok(());
        }
        let stopwatch = Stopwatch::start();
        self.save(keeping.checkpoint.path())?;
        if let Some(keeping) = &mut self.keeping {
            (keeping.cost, keeping.since) = (stopwatch.seconds(), Stopwatch::start());
            (keeping.reached, keeping.has_kept) = (updates, true);
        }
        Ok(())
    }

    /// Goes on from the state that an earlier part of the same run kept. Nothing if there is none, or if gains that are found by trying
    /// turn out to diverge: the run then has to begin again, as it would have without an interruption.
    pub(super) fn go_on(
        settings: &KernelHebbianPca,
        points: &Points,
        start: &Start<'_>,
        watch: &Watch<'_>,
        stopwatch: Stopwatch,
    ) -> Result<Option<Self>> {
        let Some(mut learner) = Self::earlier(settings, points, start, watch)? else { return Ok(None) };
        let made = learner.state.small.updates - learner.state.origin;
        let asked = settings.total_updates(points.n_samples());
        if made > asked
            && let Some(checkpoint) = &settings.checkpoint
        {
            learner.prepared.warnings.push(format!(
                "the part of the run that {} is from has made {made} updates, more than the {asked} asked for now: what it has learned is not \
                 taken back",
                checkpoint.path().display()
            ));
        }
        let rest = asked.saturating_sub(made);
        let ended = learner.run(Order::Permutations(rest), learner.parameters, watch, stopwatch)?;
        match ended {
            Ended::Diverged(diverged) if !settings.tunes() => Err(learner.diverged(diverged)),
            ended if learner.has_failed(&ended, watch)? => Ok(None),
            _ => Ok(Some(learner)),
        }
    }

    /// The state that an earlier part of the same run kept, if the run is to go on from one.
    pub(super) fn earlier(
        settings: &KernelHebbianPca,
        points: &Points,
        start: &Start<'_>,
        watch: &Watch<'_>,
    ) -> Result<Option<Self>> {
        settings.checkpoint.iter().try_for_each(Checkpoint::check)?;
        let resumed = settings.checkpoint.as_ref().filter(|checkpoint| checkpoint.resumes());
        let Some(checkpoint) = resumed.filter(|checkpoint| checkpoint.path().exists()) else { return Ok(None) };
        let common = &settings.common;
        let mut learner = Self::resume(checkpoint.path(), points, common.memory, common.threads)?;
        let here = Prepared::new(common, points, SpeedsFrom::WhateverIsCheap, watch)?;
        if let Some(difference) = difference(&learner.header(), settings, start, &here) {
            return Err(bad(checkpoint.path(), format!("the checkpoint belongs to another run ({difference})")));
        }
        learner.settings = settings.clone();
        // What is enough may be said anew: it changes nothing about what is learned. But another end is not what was asked for before.
        if learner.prepared.tolerance.to_bits() != here.tolerance.to_bits() {
            learner.prepared.warnings.push(format!(
                "components are held against a tolerance of {}; the part of the run that {} is from was to be held against {}",
                here.tolerance,
                checkpoint.path().display(),
                learner.prepared.tolerance
            ));
        }
        learner.prepared.tolerance = here.tolerance;
        learner.keeping = Keeping::new(settings);
        learner.resumed_after = Some(Resumed { passes: learner.state.pass(), updates: learner.n_updates() });
        Ok(Some(learner))
    }
}

/// How far an earlier part of a run had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resumed {
    pub(super) passes: usize,
    pub(super) updates: usize,
}

impl KernelHebbianPca {
    /// Whether a gain has to be found by trying.
    pub(super) fn tunes(&self) -> bool {
        self.eta0 == Gain::Auto || (self.rule.adapts() && self.mu == Gain::Auto)
    }
}

/// A gain as people write it.
fn gain(gain: Gain) -> String {
    match gain {
        Gain::Auto => "auto".to_owned(),
        Gain::Fixed(value) => value.to_string(),
    }
}

/// A number, or that it was left open.
fn chosen(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "auto".to_owned(), |number| number.to_string())
}

/// How the start of a run differs from that of the run that a checkpoint belongs to.
fn different_start(there: Option<&str>, here: Option<&str>) -> Option<&'static str> {
    match (there, here) {
        (None, Some(_)) => Some("start: random there, given here"),
        (Some(_), None) => Some("start: given there, random here"),
        (Some(there), Some(here)) if there != here => Some("start: another one there than here"),
        _ => None,
    }
}

/// The first setting in which a run differs from the one that a checkpoint belongs to, in words.
fn difference(there: &Header, here: &KernelHebbianPca, start: &Start<'_>, prepared: &Prepared) -> Option<String> {
    if let Some(difference) = different_start(there.start.as_deref(), start.fingerprint().as_deref()) {
        return Some(difference.to_owned());
    }
    let kernel = KernelRecord::from(&prepared.kernel);
    let pairs = [
        ("kernel", there.kernel.to_string(), kernel.to_string()),
        ("precision", there.precision.to_string(), prepared.precision.to_string()),
        ("center", format!("{:?}", there.center), format!("{:?}", here.common.center)),
        ("negative", there.negative.clone(), here.common.negative.name().to_owned()),
        ("n_components", there.n_components.to_string(), here.n_components.to_string()),
        ("gain", there.rule.to_string(), here.rule.to_string()),
        ("refresh", there.refresh.to_string(), here.refresh.to_string()),
        ("eta0", gain(there.eta0), gain(here.eta0)),
        ("tau", chosen(there.tau), chosen(here.tau)),
        ("mu", gain(there.mu), gain(here.mu)),
        ("xi", there.xi.to_string(), here.xi.to_string()),
        ("rho0", there.rho0.to_string(), here.rho0.to_string()),
        ("batch_size", chosen(there.batch_size), chosen(here.batch_size)),
        // Batches end where the history has an entry.
        ("record_every", chosen(there.record_every), chosen(here.record_every)),
        ("seed", there.seed.to_string(), here.common.seed.to_string()),
    ];
    let differs = pairs.into_iter().find(|(_, there, here)| there != here);
    differs.map(|(name, there, here)| format!("{name}: {there} there, {here} here"))
}
