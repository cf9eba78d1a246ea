//! `mercer fit`: learn components and save them.

use std::path::Path;

use mercer::kernel::{KernelSpec, Width};
use mercer::{Center, KernelPca, Precision};

use super::learn::{Clock, learn, print_record, save, status_of};
use crate::args::{FitArgs, Gamma, KernelArgs, PrecisionChoice, SolveArgs};
use crate::console::Console;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{self, ReadOptions};
use crate::output::{self, OutputFile};

/// Runs the command.
pub(super) fn run(args: &FitArgs) -> Result<ExitStatus> {
    let console = Console::new(args.quiet);
    check_outputs(args)?;
    let mut clock = Clock::start();
    let data = input::read(&args.points, &ReadOptions::from(&args.data))?;
    clock.data_is_read();

    let limit = args.solve.time_limit.map(|limit| limit.0);
    let model = learn(&settings(&args.kernel, &args.solve), &data, limit, console)?;
    save(&model, &args.output)?;

    let record = clock.complete(model.record());
    if let Some(path) = &args.record {
        output::write_text(path, &output::record_json(&record)?)?;
    }
    console.note(&format!("model saved as {}", args.output.display()));
    print_record(&record, args.json, console)?;
    Ok(status_of(&model))
}

/// Refuses places that cannot be written to, or must not be, before any work is done.
fn check_outputs(args: &FitArgs) -> Result<()> {
    if args.output == Path::new("-") {
        return Err(Failure::usage("a model is not text: give the name of a file with --output"));
    }
    for path in std::iter::once(&args.output).chain(&args.record) {
        if is_same_file(path, &args.points) {
            return Err(Failure::usage(format!("{} is the data: it would be replaced", path.display())));
        }
        // Opened and dropped: nothing is left behind.
        OutputFile::create(path)?;
    }
    Ok(())
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (std::fs::canonicalize(a), std::fs::canonicalize(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// The settings of the fit that the flags mean.
fn settings(kernel: &KernelArgs, solve: &SolveArgs) -> KernelPca {
    let mut settings = KernelPca::new(kernel_spec(kernel))
        .center(if kernel.no_center { Center::No } else { Center::Yes })
        .negative(kernel.negative)
        .gram(solve.gram)
        .solver(solve.solver)
        .seed(solve.seed);
    if let Some(n_components) = solve.n_components {
        settings = settings.n_components(n_components);
    }
    if let Some(share) = solve.variance {
        settings = settings.variance(share);
    }
    if let Some(tolerance) = solve.tolerance {
        settings = settings.tolerance(tolerance);
    }
    if let Some(memory) = solve.memory {
        settings = settings.memory(memory);
    }
    if let Some(threads) = solve.threads {
        settings = settings.threads(threads);
    }
    if let Some(max_passes) = solve.max_passes {
        settings = settings.max_passes(max_passes);
    }
    match solve.precision {
        None => settings,
        Some(PrecisionChoice::F32) => settings.precision(Precision::F32),
        Some(PrecisionChoice::F64) => settings.precision(Precision::F64),
    }
}

fn kernel_spec(args: &KernelArgs) -> KernelSpec {
    let width = match (args.gamma, args.bandwidth) {
        (Some(Gamma::Value(gamma)), _) => Some(Width::Gamma(gamma)),
        (Some(Gamma::Scale), _) => Some(Width::Scale),
        (Some(Gamma::Median), _) => Some(Width::Median),
        (None, Some(sigma)) => Some(Width::Bandwidth(sigma)),
        (None, None) => None,
    };
    let spec = KernelSpec::new(&args.kernel);
    let spec = width.into_iter().fold(spec, KernelSpec::width);
    let spec = args.degree.into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.into_iter().fold(spec, KernelSpec::alpha)
}
