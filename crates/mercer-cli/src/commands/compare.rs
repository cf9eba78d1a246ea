//! `mercer compare`: several methods on the same data.

use std::fmt::Write;
use std::time::Instant;

use mercer::hebbian::Start;
use mercer::nystrom::Landmarks;
use mercer::watch::{GRACE, Threads};
use mercer::{ErrorKind, GramChoice, Model, Negative, SolverChoice, Watch, format_bytes};
use serde::Serialize;

use super::fit::check_standardize;
use super::learn::{Learned, Limits, learn, learn_by};
use super::session::{Session, threads};
use super::settings::{hebbian_settings, nystrom_settings, settings};
use crate::args::{CompareArgs, ComparedMethod, HebbianArgs, MethodName, NystromArgs, SolveArgs};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output::summary::seconds;
use crate::output::table::{Column, Side, Table, terminal_width};
use crate::records::Common;

/// Up to this many points the dense solver is among the methods that are compared if none are named: it takes seconds.
const DENSE_UP_TO: usize = 3000;

/// What the record of a comparison has of its own.
#[derive(Serialize)]
struct CompareBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_samples: usize,
    n_features: usize,
    threads: usize,
    /// The method with the smallest residual, to which angles are measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    most_exact: Option<String>,
    methods: Vec<MethodRecord>,
}

/// How one method did.
#[derive(Clone, Debug, Serialize)]
struct MethodRecord {
    method: String,
    fit_seconds: f64,
    /// Why there is no model; all that follows is absent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(flatten)]
    result: Option<MethodResult>,
}

/// What a method found.
#[derive(Clone, Debug, Serialize)]
struct MethodResult {
    gram: String,
    solver: String,
    n_components: usize,
    passes: usize,
    kernel_entries: u64,
    /// Bytes by which resident memory rose above what it was before; absent where the system does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_growth_bytes: Option<u64>,
    largest_residual: f64,
    converged: bool,
    explained_variance: f64,
    /// Radians between its components and the reference's; absent if that cannot be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_angle: Option<f64>,
}

/// A method's record, and its model or why there is none.
type Run = (MethodRecord, Result<Model>);

/// Runs the command.
pub(super) fn run(args: &CompareArgs) -> Result<ExitStatus> {
    let session = Session::start("compare", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.solve.threads).within(args.solve.time_limit);
    let threads = threads(args.solve.threads)?;
    session.check_outputs(None, &[("data", &args.points)])?;
    check_standardize(&args.data, &args.kernel)?;
    check_methods(args)?;
    if args.kernel.no_center {
        session.meter.without_centring();
    }
    let data = session.read(&args.points, &args.data, args.solve.seed)?;
    let methods = if args.methods.is_empty() { usual_methods(&data) } else { args.methods.clone() };

    let mut runs: Vec<Run> = Vec::new();
    for &method in &methods {
        session.meter.begin(&format!("{method}:"));
        runs.push(run_one(method, args, &data, &session)?);
        if why_ended(&session, &args.solve).is_some() {
            break;
        }
    }
    // Without any answer, why the first method gave none is why the command fails.
    if runs.iter().all(|(_, outcome)| outcome.is_err()) {
        let first = runs.into_iter().next();
        return Err(first
            .and_then(|(_, outcome)| outcome.err())
            .unwrap_or_else(|| Failure::usage("there are no methods")));
    }
    if let Some(why) = why_ended(&session, &args.solve).filter(|_| runs.len() < methods.len()) {
        session.warn(format!("{why}: the methods that follow were not run"));
    }
    let reference = most_exact(&runs);
    measure_angles(&mut runs, reference, &data, &threads, &args.solve, &mut session)?;

    let most_exact = reference.map(|index| runs[index].0.method.clone());
    for warning in warnings(&runs) {
        session.warn(warning);
    }
    let records: Vec<MethodRecord> = runs.into_iter().map(|(record, _)| record).collect();
    let complete = records.iter().all(|record| record.result.as_ref().is_some_and(|result| result.converged));
    let complete = complete && records.len() == methods.len() && !session.interrupt.is_set();
    let status = if complete { ExitStatus::Done } else { ExitStatus::NotConverged };
    let table = table(&records, most_exact.as_deref(), Limits::of(&args.solve, &session).n_components);
    let body = CompareBody {
        common: session.common(),
        data: data.name.clone(),
        n_samples: data.points.n_samples(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        most_exact,
        methods: records,
    };
    session.finish_with(status, &body, &table)
}

/// Refuses methods that are named twice, and flags that one of them has no use for.
fn check_methods(args: &CompareArgs) -> Result<()> {
    if let Some((_, twice)) = args.methods.iter().enumerate().find(|(i, method)| args.methods[..*i].contains(method)) {
        return Err(Failure::usage(format!("{twice} stands twice in --methods: once is enough")));
    }
    for method in &args.methods {
        let counts = "give the number of components with --n-components";
        let definite = "it needs a positive semi-definite kernel";
        let others = match method {
            ComparedMethod::Eigen(_) => continue,
            ComparedMethod::Hebbian => vec![("--variance", args.solve.variance.is_some(), counts)],
            ComparedMethod::Nystrom => vec![
                ("--variance", args.solve.variance.is_some(), counts),
                ("--negative", args.kernel.negative != Negative::Error, definite),
            ],
        };
        if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
            return Err(Failure::usage(format!("{flag} is not for the method {method}: {why}")));
        }
    }
    Ok(())
}

fn usual_methods(data: &Data) -> Vec<ComparedMethod> {
    let dense = (data.points.n_samples() <= DENSE_UP_TO).then_some((GramChoice::Auto, SolverChoice::Dense));
    let others = [
        (GramChoice::Stored, SolverChoice::Krylov),
        (GramChoice::Tiled, SolverChoice::Krylov),
        (GramChoice::Stored, SolverChoice::Lanczos),
        (GramChoice::Stored, SolverChoice::Subspace),
    ];
    let method = |(gram, solver)| ComparedMethod::Eigen(MethodName::new(gram, solver));
    dense.into_iter().chain(others).map(method).collect()
}

/// Why no further method is run, if that is so.
fn why_ended(session: &Session<'_>, solve: &SolveArgs) -> Option<&'static str> {
    let is_late = session.time_left(solve.time_limit).is_some_and(|left| left.is_zero());
    match (session.interrupt.is_set(), is_late) {
        (true, _) => Some("interrupted"),
        (false, true) => Some("out of time"),
        (false, false) => None,
    }
}

/// Fits with one method. That it does not fit the budget or was stopped is a finding; what is wrong with the data is an error.
fn run_one(method: ComparedMethod, args: &CompareArgs, data: &Data, session: &Session<'_>) -> Result<Run> {
    let before = mercer::reset_peak_memory().then(mercer::peak_memory);
    let start = Instant::now();
    let outcome = learn_with(method, args, data, session);
    let fit_seconds = start.elapsed().as_secs_f64();
    let peak_growth_bytes = before.map(|before| mercer::peak_memory().saturating_sub(before));
    let record = MethodRecord { method: method.to_string(), fit_seconds, problem: None, result: None };
    match outcome {
        Ok(learned) => {
            let result = Some(MethodResult::new(&learned, peak_growth_bytes));
            Ok((MethodRecord { result, ..record }, Ok(learned.model)))
        }
        Err(failure) if is_finding(&failure) => {
            Ok((MethodRecord { problem: Some(failure.to_string()), ..record }, Err(failure)))
        }
        Err(failure) => Err(failure),
    }
}

fn learn_with(method: ComparedMethod, args: &CompareArgs, data: &Data, session: &Session<'_>) -> Result<Learned> {
    let (kernel, solve, limits) = (&args.kernel, &args.solve, Limits::of(&args.solve, session));
    match method {
        ComparedMethod::Eigen(method) => learn(&settings(kernel, solve, method), data, limits, session),
        ComparedMethod::Nystrom => {
            let settings = nystrom_settings(kernel, solve, &NystromArgs::default(), Landmarks::default());
            learn_by(data, limits, session, |watch| settings.fit_watched(&data.points, watch))
        }
        ComparedMethod::Hebbian => {
            let flags = HebbianArgs { passes: solve.max_passes, ..HebbianArgs::default() };
            let settings = hebbian_settings(kernel, solve, GramChoice::Auto, &flags);
            let fit = |watch: &Watch<'_>| settings.fit_from(&data.points, &Start::default(), watch)?.model();
            learn_by(data, limits, session, fit)
        }
    }
}

fn is_finding(failure: &Failure) -> bool {
    match failure {
        Failure::Library(error) => matches!(error.kind(), ErrorKind::OverBudget | ErrorKind::Interrupted),
        Failure::TimeLimit(_) => true,
        _ => false,
    }
}

/// What the fits warn of: each thing once, with the methods that it was said of.
fn warnings(runs: &[Run]) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for (record, outcome) in runs {
        for warning in outcome.iter().flat_map(|model| &model.record().warnings) {
            match said.iter_mut().find(|(text, _)| text == warning) {
                Some((_, methods)) => methods.push(&record.method),
                None => said.push((warning, vec![&record.method])),
            }
        }
    }
    said.into_iter().map(|(text, methods)| format!("{}: {text}", methods.join(", "))).collect()
}

impl MethodResult {
    fn new(learned: &Learned, peak_growth_bytes: Option<u64>) -> Self {
        let record = learned.model.record();
        Self {
            gram: record.gram.clone(),
            solver: record.solver.clone(),
            n_components: record.n_components,
            passes: record.passes,
            kernel_entries: record.kernel_entries,
            peak_growth_bytes,
            largest_residual: record.residuals.iter().copied().fold(0.0, f64::max),
            converged: learned.status() == ExitStatus::Done,
            explained_variance: record.explained_variance_ratio.iter().sum(),
            largest_angle: None,
        }
    }
}

/// The run with the smallest residual: the dense solver, if it ran, among those that rounding cannot tell apart.
fn most_exact(runs: &[Run]) -> Option<usize> {
    // A few units of rounding, however much smaller a residual comes out of a projected problem.
    const ROUNDING: f64 = 1e-13;
    let quality = |index: usize| {
        let result = runs[index].0.result.as_ref()?;
        Some((result.largest_residual.max(ROUNDING), result.solver != SolverChoice::Dense.name()))
    };
    let found = (0..runs.len()).filter_map(|index| quality(index).map(|quality| (quality, index)));
    found.min_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, index)| index)
}

fn measure_angles(
    runs: &mut [Run],
    reference: Option<usize>,
    data: &Data,
    threads: &Threads,
    solve: &SolveArgs,
    session: &mut Session<'_>,
) -> Result<()> {
    let Some(reference) = reference else { return Ok(()) };
    session.meter.begin("measuring angles");
    let interrupt = session.interrupt.clone();
    // When somebody or the clock has ended the fits, this has a moment still: without angles there is little to compare.
    let watch = match (interrupt.is_set(), session.time_left(solve.time_limit)) {
        (true, _) => Watch::new().time_limit(GRACE),
        (false, Some(left)) => Watch::new().interrupt(interrupt.flag()).time_limit(left.max(GRACE)),
        (false, None) => Watch::new().interrupt(interrupt.flag()),
    };
    for index in 0..runs.len() {
        let (Ok(exact), Ok(model)) = (&runs[reference].1, &runs[index].1) else { continue };
        let angle =
            if index == reference { Ok(0.0) } else { exact.largest_angle(model, &data.points, threads, &watch) };
        match angle {
            Ok(angle) => {
                if let Some(result) = &mut runs[index].0.result {
                    result.largest_angle = Some(angle);
                }
            }
            Err(error @ mercer::Error::UnsuitableKernel { .. }) => {
                session.meter.clear();
                session.warn(error.to_string());
                return Ok(());
            }
            Err(mercer::Error::Interrupted { .. }) => {
                session.meter.clear();
                let why = if interrupt.is_set() { "interrupted" } else { "out of time" };
                session.warn(format!("{why}: not all angles were measured"));
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
    }
    session.meter.clear();
    Ok(())
}

/// What a method's numbers do not say: that it is not done, and that it found less than was asked for, which makes them smaller.
fn verdict(result: &MethodResult, wanted: Option<usize>) -> String {
    let few = wanted.filter(|&wanted| result.n_components < wanted);
    let few = few.map(|wanted| format!("{} of {wanted} components", result.n_components));
    let words = [(!result.converged).then(|| "not converged".to_owned()), few];
    let words: Vec<String> = words.into_iter().flatten().collect();
    if words.is_empty() { String::new() } else { format!("  {}", words.join(", ")) }
}

/// The comparison for people.
fn table(records: &[MethodRecord], reference: Option<&str>, wanted: Option<usize>) -> String {
    let column = |name, width, rank| Column { name, width, side: Side::Right, rank };
    let columns = [
        Column { side: Side::Left, ..column("method", 16, 0) },
        column("time", 9, 0),
        column("passes", 7, 2),
        column("memory", 10, 1),
        column("residual", 9, 0),
        column("angle", 9, 0),
    ];
    let mut table = Table::new(&columns, " ", terminal_width());
    for record in records {
        let time = seconds(record.fit_seconds);
        let Some(result) = &record.result else {
            let why = format!(" {}", record.problem.as_deref().unwrap_or_default());
            table.row(&[record.method.clone(), time], &why);
            continue;
        };
        let memory = result.peak_growth_bytes.map_or_else(|| "-".to_owned(), format_bytes);
        let angle = result.largest_angle.map_or_else(|| "-".to_owned(), |angle| format!("{angle:.1e}"));
        let verdict = verdict(result, wanted);
        let residual = format!("{:.1e}", result.largest_residual);
        table.row(&[record.method.clone(), time, result.passes.to_string(), memory, residual, angle], &verdict);
    }
    let mut text = table.finish();
    if let Some(reference) = reference {
        let _ = writeln!(text, "\nangle: the largest, in radians, to the components of {reference}, the most exact");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stops_one_method_is_a_finding_and_what_is_wrong_with_the_call_is_not() {
        let stopped = || mercer::Error::Interrupted { phase: "solving" };
        assert!(is_finding(&Failure::TimeLimit(stopped())) && is_finding(&Failure::from(stopped())));
        assert!(!is_finding(&Failure::usage("--time-limit must be a time, but it is -1")));
    }
}
