//! A fit with somebody looking on: what `fit`, `demo` and `compare` have in common.

use std::path::Path;
use std::time::Duration;

use mercer::eigen::count_converged;
use mercer::watch::Progress;
use mercer::{ErrorKind, KernelPca, Model, RunRecord, Watch, format_apart};

use super::session::Session;
use crate::args::SolveArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;

/// Between which limits a fit goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    /// How long it may take.
    pub(super) time: Option<Duration>,
    /// The share of the variance that it is to explain.
    pub(super) share: Option<f64>,
    /// Or the number of components that it is to find.
    pub(super) n_components: Option<usize>,
}

/// Components that are wanted if nothing is said, as of [`KernelPca`].
const USUAL_COMPONENTS: usize = 2;

impl Limits {
    /// What flags say.
    pub(super) fn of(solve: &SolveArgs, session: &Session<'_>) -> Self {
        let n_components = solve.variance.is_none().then(|| solve.n_components.unwrap_or(USUAL_COMPONENTS));
        Self { time: session.time_left(solve.time_limit), share: solve.variance, n_components }
    }
}

/// A share that is reached but for rounding is reached.
const ROUNDING: f64 = 1e-12;

/// A model, and whether somebody or the clock ended its fit.
pub(super) struct Learned {
    /// The model.
    pub(super) model: Model,
    was_stopped: bool,
    /// The share of the variance that was asked for, if the fit ended before it was explained.
    missed: Option<f64>,
    /// Components that were asked for, if it was their number.
    n_asked: Option<usize>,
}

/// Fits with progress on standard error, until it is done, interrupted, or out of time.
pub(super) fn learn(settings: &KernelPca, data: &Data, limits: Limits, session: &Session<'_>) -> Result<Learned> {
    learn_by(data, limits, session, |watch| settings.fit_watched(&data.points, watch))
}

/// As [`learn`], by any method.
pub(super) fn learn_by(
    data: &Data,
    limits: Limits,
    session: &Session<'_>,
    fit: impl FnOnce(&Watch<'_>) -> mercer::Result<Model>,
) -> Result<Learned> {
    let (model, was_stopped) = watched(session, data, limits.time, fit)?;
    let model = with_data(model, data)?;
    let explained: f64 = model.explained_variance_ratio().iter().sum();
    // A fit that has found all there is has converged, whatever the share.
    let missed = limits.share.filter(|share| !model.converged() && explained < share * (1.0 - ROUNDING));
    Ok(Learned { model, was_stopped, missed, n_asked: limits.n_components })
}

/// Does long work with progress on standard error, until it is done, interrupted, or out of time; and whether it was stopped.
pub(super) fn watched<T>(
    session: &Session<'_>,
    data: &Data,
    time: Option<Duration>,
    work: impl FnOnce(&Watch<'_>) -> mercer::Result<T>,
) -> Result<(T, bool)> {
    watched_by(session, |error| data.refusal(error, 0), time, work)
}

/// As [`watched`], for a file of this name whose rows cannot be told.
pub(super) fn watched_in<T>(
    session: &Session<'_>,
    file: &str,
    time: Option<Duration>,
    work: impl FnOnce(&Watch<'_>) -> mercer::Result<T>,
) -> Result<(T, bool)> {
    watched_by(session, Failure::in_data(file), time, work)
}

/// As [`watched`], with the failure that an error about the data is.
pub(super) fn watched_by<T>(
    session: &Session<'_>,
    refusal: impl FnOnce(mercer::Error) -> Failure,
    time: Option<Duration>,
    work: impl FnOnce(&Watch<'_>) -> mercer::Result<T>,
) -> Result<(T, bool)> {
    session.interrupt.wait_for_safe_points();
    let observer = |progress: &Progress| session.meter.observe(progress);
    let mut watch = Watch::new().interrupt(session.interrupt.flag()).observer(&observer);
    if let Some(time) = time {
        watch = watch.time_limit(time);
    }
    let outcome = work(&watch);
    session.meter.clear();
    let was_stopped = watch.is_stopped();
    let result = outcome.map_err(|error| match error.kind() {
        ErrorKind::Interrupted if !session.interrupt.is_set() => Failure::TimeLimit(error),
        _ => refusal(error),
    })?;
    Ok((result, was_stopped))
}

/// The model with what new points need that are to be compared with its data: their scaling, and the names of their columns.
pub(super) fn with_data(model: Model, data: &Data) -> Result<Model> {
    let model = data.scaling.iter().cloned().try_fold(model, Model::with_scaling)?;
    Ok(data.names.iter().cloned().try_fold(model, Model::with_feature_names)?)
}

impl Learned {
    /// How a command ends that has saved this model.
    pub(super) fn status(&self) -> ExitStatus {
        if self.model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged }
    }

    /// Says of a model that is not what was asked for why, where it is, and how good it is.
    pub(super) fn admit(&self, saved_as: &Path, session: &Session<'_>) {
        if self.model.converged() {
            return;
        }
        let record = self.model.record();
        let converged = count_converged(&record.residuals, record.tolerance);
        let why = match (session.interrupt.is_set(), self.was_stopped) {
            (true, _) => "interrupted",
            (false, true) => "out of time",
            (false, false) if self.missed.is_some() && converged == record.n_components => {
                "the memory budget is too small"
            }
            (false, false) => "not converged",
        };
        if let Some(share) = self.missed {
            let explained: f64 = record.explained_variance_ratio.iter().sum();
            session.console.warning(&format!(
                "{why}: {} holds the best model so far; its {} components explain {explained:.4} of the variance, not the {share} asked \
                 for",
                saved_as.display(),
                record.n_components
            ));
            return;
        }
        let largest = record.residuals.iter().copied().fold(0.0, f64::max);
        let (residual, tolerance) = format_apart(largest, record.tolerance);
        session.console.warning(&format!(
            "{why}: {} holds the best model so far; largest residual {residual}, asked for {tolerance}; {converged} of {} \
             components converged",
            saved_as.display(),
            self.n_asked.unwrap_or(record.n_components)
        ));
    }
}

/// The library's record with the command's own times: `fit` is all that the library did, `save` what came after.
pub(super) fn complete(record: &RunRecord, session: &Session<'_>) -> RunRecord {
    let mut record = record.clone();
    let fit = record.seconds.get("total").copied().unwrap_or(0.0);
    let own = session.all_seconds();
    let (read, total) = (own.get("read").copied().unwrap_or(0.0), own.get("total").copied().unwrap_or(0.0));
    record.seconds.extend(own);
    record.seconds.insert("fit".to_owned(), fit);
    record.seconds.insert("save".to_owned(), (total - read - fit).max(0.0));
    record.peak_memory_bytes = record.peak_memory_bytes.max(mercer::peak_memory());
    record
}
