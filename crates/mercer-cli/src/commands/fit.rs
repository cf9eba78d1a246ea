//! `mercer fit`: learn components and save them.

use std::path::Path;

use mercer::{Checkpoint, RunRecord, SolverChoice};

use super::learn::{Limits, complete, learn};
use super::nystrom::Flags;
use super::plan::{self, Planned};
use super::session::Session;
use super::settings::{exact_gram, settings};
use super::{autoencoder, hebbian, nystrom};
use crate::args::{CheckpointArgs, DataArgs, FitArgs, FitMethod, FitSolver, HEBBIAN, KernelArgs, MethodName};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output;

/// Runs the command.
pub(super) fn run(args: &FitArgs) -> Result<ExitStatus> {
    let session = Session::start(if args.dry_run { "plan" } else { "fit" }, &args.report, args.progress.progress)?;
    // What a fit would do is told whatever time it would have.
    let limit = args.solve.time_limit.filter(|_| !args.dry_run);
    let mut session = session.on_threads(args.solve.threads).within(limit);
    if args.kernel.no_center {
        session.meter.without_centring();
    }
    check_flags(args)?;
    check_files(args, &session)?;
    if let (FitMethod::Autoencoder, Some(output)) = (args.method, &args.output) {
        return autoencoder::run(args, output, &mut session);
    }
    if args.nystrom.blocks {
        return match &args.output {
            Some(output) if !args.dry_run => nystrom::run_in_blocks(args, output, &mut session),
            _ => plan::show_blocks(args.into(), session),
        };
    }
    let data = session.read(&args.points, &args.data, args.solve.seed)?;
    let output = match &args.output {
        Some(output) if !args.dry_run => output,
        _ => return show_plan(args, &data, session),
    };
    let solver = match args.solver {
        FitSolver::Eigen(solver) => solver,
        FitSolver::Hebbian => return hebbian::run(args, output, &data, &mut session),
    };
    if nystrom::is_allowed(args)
        && let Some(status) = nystrom::run(args, output, &data, &mut session)?
    {
        return Ok(status);
    }
    fit_exactly(args, solver, output, &data, &session)
}

/// Refuses flags that do not go together.
fn check_flags(args: &FitArgs) -> Result<()> {
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a model is not text: give the name of a file with --output"));
    }
    check_standardize(&args.data, &args.kernel)?;
    match args.method {
        FitMethod::Autoencoder => autoencoder::check_flags(args)?,
        FitMethod::KernelPca => {
            hebbian::check_flags(args.solver, &args.solve, &args.hebbian)?;
            autoencoder::refuse_flags(args)?;
        }
    }
    nystrom::check_flags(args.into())?;
    let start = args.initial_model.is_some().then_some("--initial-model");
    hebbian::refuse_others(args.solver, start.into_iter().chain(args.history.given()))
}

/// Refuses places for the model and the checkpoint that cannot be written to, or must not be.
fn check_files(args: &FitArgs, session: &Session<'_>) -> Result<()> {
    let kept = args.checkpoint.checkpoint.as_deref();
    let outputs = || args.output.as_deref().into_iter().chain(kept);
    Session::check_replaceable(outputs())?;
    let start = args.initial_model.as_deref().map(|path| ("model that the fit begins with", path));
    let landmarks = args.nystrom.landmarks.file().map(|path| ("file of landmarks", path));
    let inputs: Vec<(&str, &Path)> =
        [("data", args.points.as_path())].into_iter().chain(start).chain(landmarks).collect();
    session.check_outputs(outputs(), &inputs)
}

/// Shows what a fit of these points would do.
fn show_plan(args: &FitArgs, data: &Data, mut session: Session<'_>) -> Result<ExitStatus> {
    let checkpoint = checkpoint(&args.checkpoint);
    let start = hebbian::start(args, data, &mut session)?;
    let (flags, hebbian, history) = (Flags::from(args), &args.hebbian, args.history);
    let landmarks = flags.landmarks(data, &mut session)?;
    plan::show(&Planned { flags, landmarks, hebbian, history, checkpoint, start }, data, session)
}

/// Learns components of the exact kernel matrix, or of one that is as good as exact, and saves them.
fn fit_exactly(
    args: &FitArgs,
    solver: SolverChoice,
    output: &Path,
    data: &Data,
    session: &Session<'_>,
) -> Result<ExitStatus> {
    let settings = settings(&args.kernel, &args.solve, MethodName::new(exact_gram(args.gram), solver));
    let checkpoint = checkpoint(&args.checkpoint);
    let settings = match &checkpoint {
        Some(checkpoint) => settings.checkpoint(checkpoint.clone()),
        None => settings,
    };
    let learned = learn(&settings, data, Limits::of(&args.solve, session), session)?;
    learned.model.save(output)?;
    session.saved_model(output);
    learned.admit(output, session);
    if let Some(checkpoint) = &checkpoint {
        settle(checkpoint, learned.model.record(), learned.status(), session)?;
    }
    let record = complete(learned.model.record(), session);
    session.finish(learned.status(), &record, Some(&output::summary(&record)))
}

pub(super) fn checkpoint(args: &CheckpointArgs) -> Option<Checkpoint> {
    let path = args.checkpoint.as_ref()?;
    Some(Checkpoint::new(path).every(args.checkpoint_every.0).resume(args.resume))
}

/// A checkpoint that led to what was asked for has done its work; any other stays, and how to go on is said.
pub(super) fn settle(
    checkpoint: &Checkpoint,
    record: &RunRecord,
    status: ExitStatus,
    session: &Session<'_>,
) -> Result<()> {
    if let Some(passes) = record.resumed_after_passes.filter(|_| record.solver != HEBBIAN) {
        session.console.note(&format!("went on after pass {passes} of an earlier run"));
    }
    if record.solver == "dense" {
        // It kept none, and what is there is not its own.
    } else if status == ExitStatus::Done {
        checkpoint.remove()?;
    } else if checkpoint.path().exists() {
        session.console.note(&format!("{} holds its state: --resume goes on", checkpoint.path().display()));
    }
    Ok(())
}

/// Refuses a scaling of columns that are points.
pub(super) fn check_standardize(data: &DataArgs, kernel: &KernelArgs) -> Result<()> {
    if data.standardize && kernel.name() == "precomputed" {
        return Err(Failure::usage("--standardize is not for --kernel precomputed: its columns are points"));
    }
    Ok(())
}
