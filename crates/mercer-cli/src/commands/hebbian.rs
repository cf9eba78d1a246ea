//! `mercer fit --solver hebbian`: learn by iteration and save what was learned.

use std::path::Path;

use mercer::hebbian::{HistoryEntry, Start};
use mercer::{HebbianLearner, Model, RunRecord, format_apart};
use serde::Serialize;

use super::fit::{checkpoint, settle};
use super::learn::{complete, watched, with_data};
use super::session::Session;
use super::settings::{exact_gram, hebbian_settings, with_history};
use crate::args::{FitArgs, FitSolver, HebbianArgs, SolveArgs};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output;
use crate::output::summary::counted;

/// The record of a fit, and what only the kernel Hebbian algorithm has to say.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    record: &'a RunRecord,
    hebbian: HebbianRecord<'a>,
}

/// What the kernel Hebbian algorithm did.
#[derive(Serialize)]
struct HebbianRecord<'a> {
    gain: &'static str,
    refresh: &'static str,
    eta0: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tau: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mu: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    xi: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rho0: Option<f64>,
    updates: usize,
    /// Those of an earlier part of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_after_updates: Option<usize>,
    /// What the errors in the history took.
    error_seconds: f64,
    log_gains: &'a [f64],
    history: Vec<PassRecord<'a>>,
}

/// How far it was at the end of a pass.
#[derive(Serialize)]
struct PassRecord<'a> {
    passes: usize,
    updates: usize,
    eigenvalue_estimates: &'a [f64],
    gains: &'a [f64],
    pass_error: Option<f64>,
    elapsed: f64,
}

impl<'a> From<&'a HistoryEntry> for PassRecord<'a> {
    fn from(entry: &'a HistoryEntry) -> Self {
        Self {
            passes: entry.passes,
            updates: entry.updates,
            eigenvalue_estimates: &entry.eigenvalue_estimates,
            gains: &entry.gains,
            pass_error: entry.error,
            elapsed: entry.seconds,
        }
    }
}

/// Refuses flags that the solver which was asked for, or its gain rule, does not have.
pub(super) fn check_flags(solver: FitSolver, solve: &SolveArgs, hebbian: &HebbianArgs) -> Result<()> {
    if let FitSolver::Eigen(_) = solver {
        return refuse_flags(hebbian);
    }
    let others = [
        ("--variance", solve.variance.is_some(), "give the number of components with --n-components"),
        ("--max-passes", solve.max_passes.is_some(), "it makes exactly --passes"),
    ];
    if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is not for --solver hebbian: {why}")));
    }
    refuse_unread(hebbian)
}

/// Refuses flags of the kernel Hebbian algorithm where another solver was asked for.
pub(super) fn refuse_flags(args: &HebbianArgs) -> Result<()> {
    refuse(args.given())
}

/// The same for flags beside those, unless they are for the solver.
pub(super) fn refuse_others(solver: FitSolver, given: impl Iterator<Item = &'static str>) -> Result<()> {
    if solver == FitSolver::Hebbian { Ok(()) } else { refuse(given) }
}

fn refuse(mut given: impl Iterator<Item = &'static str>) -> Result<()> {
    match given.next() {
        Some(flag) => Err(Failure::usage(format!("{flag} is for --solver hebbian only"))),
        None => Ok(()),
    }
}

/// Refuses flags that the gain rule does not have.
pub(super) fn refuse_unread(args: &HebbianArgs) -> Result<()> {
    if let Some(flag) = args.unread() {
        let rule = args.gain.unwrap_or_default();
        return Err(Failure::usage(format!("{flag} is not for --gain {rule}, which does not read it")));
    }
    Ok(())
}

/// The model that a run starts from, for points that have the columns of its own and have been scaled alike.
fn initial_model(path: &Path, data: &Data, session: &mut Session<'_>) -> Result<Model> {
    let model = session.load(path, "a start")?;
    if model.scaling() != data.scaling.as_ref() {
        return Err(Failure::usage(format!(
            "{} was fitted with another --scale or --standardize than is asked for here, or --standardize of other rows: its components are of \
             other points",
            path.display()
        )));
    }
    if let (Some(there), Some(here)) = (model.feature_names(), data.names.as_deref())
        && let Some(at) = there.iter().zip(here).position(|(there, here)| there != here)
    {
        return Err(Failure::usage(format!(
            "column {at} of {} is \"{}\", and that of {} \"{}\": a start needs the same columns in the same order; --columns gives them",
            data.name,
            here[at],
            path.display(),
            there[at]
        )));
    }
    Ok(model.without_scaling())
}

/// The model that a run is asked to start from, if it is.
pub(super) fn start(args: &FitArgs, data: &Data, session: &mut Session<'_>) -> Result<Option<Model>> {
    args.initial_model.as_deref().map(|path| initial_model(path, data, session)).transpose()
}

/// Learns, and saves the model of what was learned.
pub(super) fn run(args: &FitArgs, output: &Path, data: &Data, session: &mut Session<'_>) -> Result<ExitStatus> {
    let model = start(args, data, session)?;
    let start = Start { model: model.as_ref(), ..Start::default() };
    let session = &*session;
    let checkpoint = checkpoint(&args.checkpoint);
    let settings = hebbian_settings(&args.kernel, &args.solve, exact_gram(args.gram), &args.hebbian);
    let settings = with_history(settings, args.history);
    let settings = match &checkpoint {
        Some(checkpoint) => settings.checkpoint(checkpoint.clone()),
        None => settings,
    };
    let time = session.time_left(args.solve.time_limit);
    let (learner, _) = watched(session, data, time, |watch| settings.fit_from(&data.points, &start, watch))?;
    let model = with_data(learner.model().map_err(|error| data.refusal(error, 0))?, data)?;
    model.save(output)?;
    session.saved_model(output);
    let status = if model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged };
    admit(&learner, &model, output, session);
    for warning in learner.warnings() {
        session.console.warning(warning);
    }
    if let Some(updates) = learner.resumed_after_updates() {
        session.console.note(&format!("went on after {updates} updates of an earlier run"));
    }
    if let Some(checkpoint) = &checkpoint {
        settle(checkpoint, model.record(), status, session)?;
    }
    let record = complete(model.record(), session);
    let parameters = learner.gain_parameters();
    let hebbian = HebbianRecord {
        gain: args.hebbian.gain.unwrap_or_default().name(),
        refresh: args.hebbian.refresh.unwrap_or_default().name(),
        eta0: parameters.eta0,
        tau: parameters.tau,
        mu: parameters.mu,
        xi: learner.xi(),
        rho0: learner.rho0(),
        updates: learner.n_updates(),
        resumed_after_updates: learner.resumed_after_updates(),
        error_seconds: learner.error_seconds(),
        log_gains: learner.log_gains(),
        history: learner.history().iter().map(PassRecord::from).collect(),
    };
    session.finish(status, &Body { record: &record, hebbian }, Some(&output::summary(&record)))
}

/// Says of a model that is not what was asked for why, where it is, and how far it came.
fn admit(learner: &HebbianLearner, model: &Model, saved_as: &Path, session: &Session<'_>) {
    let (updates, passes) = (learner.n_updates(), learner.n_updates() / learner.points().n_samples());
    if !learner.was_stopped() {
        if !model.converged() {
            let record = model.record();
            let largest = record.residuals.iter().copied().fold(0.0, f64::max);
            let (residual, tolerance) = format_apart(largest, record.tolerance);
            let made = if updates.is_multiple_of(learner.points().n_samples()) {
                counted(passes, "pass")
            } else {
                counted(updates, "update")
            };
            session.console.warning(&format!(
                "not converged in {made}: {} holds what was learned; largest residual {residual}, asked for {tolerance}; more \
                 --passes, or another --tolerance, may do",
                saved_as.display()
            ));
        }
        return;
    }
    let why = if session.interrupt.is_set() { "interrupted" } else { "out of time" };
    session.console.warning(&format!(
        "{why}: {} holds the best model so far, after {} ({})",
        saved_as.display(),
        counted(updates, "update"),
        counted(passes, "complete pass")
    ));
}
