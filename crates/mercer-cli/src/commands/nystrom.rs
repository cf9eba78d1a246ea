//! `mercer fit --gram nystrom`: learn over landmarks and save what was learned.

use std::path::Path;

use mercer::{GramChoice, Model, Negative, SolverChoice};

use super::learn::{complete, watched, with_data};
use super::session::Session;
use super::settings::nystrom_settings;
use crate::args::{FitArgs, FitGram, FitSolver};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output;

/// Refuses flags that do not go together with landmarks, or with the exact matrix.
pub(super) fn check_flags(args: &FitArgs) -> Result<()> {
    let asked = args.gram == FitGram::Nystrom;
    if asked && args.solver == FitSolver::Hebbian {
        return Err(Failure::usage("--gram nystrom is not for --solver hebbian, which learns from every row"));
    }
    if !asked && args.nystrom.accuracy.is_none() {
        return match args.nystrom.given().next() {
            Some(flag) => Err(Failure::usage(format!("{flag} is for --gram nystrom, or with --accuracy, only"))),
            None => Ok(()),
        };
    }
    let auto = FitGram::Exact(GramChoice::Auto);
    if !asked && (args.gram != auto || args.solver != FitSolver::Eigen(SolverChoice::Auto)) {
        return Err(Failure::usage(
            "--accuracy allows an approximation, but --gram or --solver ask for another method",
        ));
    }
    if !asked && args.nystrom.n_landmarks.is_some() {
        return Err(Failure::usage("--n-landmarks is for --gram nystrom: --accuracy alone finds how many it takes"));
    }
    let others = [
        ("--variance", args.solve.variance.is_some(), "give the number of components with --n-components"),
        ("--tolerance", asked && args.solve.tolerance.is_some(), "say with --accuracy how exact it has to be"),
        ("--max-passes", args.solve.max_passes.is_some(), "it makes one pass"),
        ("--checkpoint", args.checkpoint.checkpoint.is_some(), "it makes one pass"),
        ("--solver", asked && args.solver != FitSolver::Eigen(SolverChoice::Auto), "the small problem has its own"),
        ("--negative", args.kernel.negative != Negative::Error, "it needs a positive semi-definite kernel"),
        ("--dry-run", args.dry_run, "there is no plan of it"),
    ];
    match others.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => {
            Err(Failure::usage(format!("{flag} is not for an approximation over landmarks: {why}")))
        }
        None => Ok(()),
    }
}

/// Whether the user allows an approximation.
pub(super) fn is_allowed(args: &FitArgs) -> bool {
    args.gram == FitGram::Nystrom || args.nystrom.accuracy.is_some()
}

/// Learns over landmarks and saves the model; `None` if landmarks are of no use here, so that an exact fit has to follow.
pub(super) fn run(args: &FitArgs, output: &Path, data: &Data, session: &Session<'_>) -> Result<Option<ExitStatus>> {
    let settings = nystrom_settings(args);
    let time = session.time_left(args.solve.time_limit);
    let (model, _) = watched(session, data, time, |watch| -> mercer::Result<Option<Model>> {
        match args.gram {
            FitGram::Nystrom => settings.fit_watched(&data.points, watch).map(Some),
            FitGram::Exact(_) => settings.fit_to_accuracy(&data.points, watch),
        }
    })?;
    let Some(model) = model else {
        session.console.note("landmarks would not be much fewer than the rows for this accuracy: the fit is exact");
        return Ok(None);
    };
    let model = with_data(model, data)?;
    model.save(output)?;
    session.console.note(&format!("model saved as {}", output.display()));
    let record = complete(model.record(), session);
    if let Some(nystrom) = &record.nystrom {
        session.console.note(&format!(
            "an approximation over {} landmarks ({}): they miss {:.2e} of the trace; largest residual {:.1e}",
            nystrom.n_landmarks,
            nystrom.landmarks,
            nystrom.relative_trace_error,
            record.residuals.iter().copied().fold(0.0, f64::max)
        ));
    }
    let status = if model.converged() { ExitStatus::Done } else { ExitStatus::NotConverged };
    session.finish(status, &record, Some(&output::summary(&record))).map(Some)
}
