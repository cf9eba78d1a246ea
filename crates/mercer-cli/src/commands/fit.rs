//! `mercer fit`: learn components and save them.

use std::path::Path;

use super::learn::{Limits, complete, learn};
use super::plan;
use super::session::Session;
use super::settings::settings;
use crate::args::{DataArgs, FitArgs, KernelArgs, MethodName};
use crate::failure::{ExitStatus, Failure, Result};
use crate::output;

/// Runs the command.
pub(super) fn run(args: &FitArgs) -> Result<ExitStatus> {
    let mut session = Session::start(if args.dry_run { "plan" } else { "fit" }, &args.report, args.progress.progress)?;
    if args.output.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a model is not text: give the name of a file with --output"));
    }
    check_standardize(&args.data, &args.kernel)?;
    session.check_outputs(args.output.as_deref(), &[("data", &args.points)])?;
    let data = session.read(&args.points, &args.data, args.solve.seed)?;
    let settings = settings(&args.kernel, &args.solve, MethodName::new(args.method.gram, args.method.solver));
    let output = match &args.output {
        Some(output) if !args.dry_run => output,
        _ => return plan::show(&settings, &args.solve, &data, session),
    };

    let limits = Limits { time: session.time_left(args.solve.time_limit), share: args.solve.variance };
    let learned = learn(&settings, &data, limits, &session)?;
    learned.model.save(output)?;
    session.console.note(&format!("model saved as {}", output.display()));
    learned.admit(output, &session);
    let record = complete(learned.model.record(), &session);
    session.finish(learned.status(), &record, Some(&output::summary(&record)))
}

/// Refuses a scaling of columns that are points.
pub(super) fn check_standardize(data: &DataArgs, kernel: &KernelArgs) -> Result<()> {
    if data.standardize && kernel.kernel == "precomputed" {
        return Err(Failure::usage("--standardize is not for --kernel precomputed: its columns are points"));
    }
    Ok(())
}
