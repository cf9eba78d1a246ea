//! More than a width: several parameters of a kernel, or a width for every column, by gradient.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

use mercer::kernel::{KernelSpec, Parameter, Width};
use mercer::tune::{ArdTuning, KernelTuner, ParameterBox, ParameterTuning, check_ranges, tune_ard, tune_parameters};
use mercer::watch::Threads;
use serde::Serialize;

use super::super::learn::watched;
use super::super::session::Session;
use super::{is_of_distance, kernel_spec};
use crate::args::TuneArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output::summary::{counted, seconds, short};
use crate::output::table::{Column, Side, Table, terminal_width};
use crate::records::Common;

/// Steps of a climb, at most.
const MOST_STEPS: usize = 500;

/// What the record of a climb has of its own.
#[derive(Serialize)]
struct ClimbBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_samples: usize,
    n_features: usize,
    threads: usize,
    kernel: String,
    /// With --parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<BTreeMap<&'static str, Found>>,
    /// With --per-column, in the order of the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<ColumnWidth>>,
    best_value: f64,
    steps: usize,
    converged: bool,
}

/// A parameter that was found.
#[derive(Serialize)]
struct Found {
    value: f64,
    derivative: f64,
    at_bound: bool,
}

/// The width of one column.
#[derive(Serialize)]
struct ColumnWidth {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    bandwidth: f64,
    gamma: f64,
}

/// Runs the command.
pub(super) fn run(args: &TuneArgs, mut session: Session<'_>, threads: &Threads) -> Result<ExitStatus> {
    let ranges: Vec<ParameterBox> = args.climb.parameters.iter().map(|range| range.0).collect();
    check(&args.kernel, &ranges)?;
    session.check_outputs(None, &[("data", &args.points)])?;
    let data = session.read(&args.points, &args.data, args.search.seed)?;
    let mut body = ClimbBody {
        common: session.common(),
        data: data.name.clone(),
        n_samples: data.points.n_samples(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        kernel: args.kernel.clone(),
        parameters: None,
        columns: None,
        best_value: 0.0,
        steps: 0,
        converged: false,
    };
    let start = Instant::now();
    let table = if ranges.is_empty() {
        let found = session.timed("tune", |session| per_column(args, &data, threads, session))?;
        (body.best_value, body.steps, body.converged) = (found.value, found.steps, found.converged);
        let columns = columns(&data, &found);
        let table = column_table(&columns, &body, start.elapsed().as_secs_f64());
        body.columns = Some(columns);
        table
    } else {
        let found = session.timed("tune", |session| several(args, &ranges, &data, threads, session))?;
        (body.best_value, body.steps, body.converged) = (found.value, found.steps, found.converged);
        let parameters = parameters(&ranges, &found);
        let table = parameter_table(&parameters, &body, start.elapsed().as_secs_f64());
        body.parameters = Some(parameters);
        table
    };
    if !body.converged {
        session.warn(format!("the climb was stopped after {}, before its end", counted(body.steps, "step")));
    }
    body.common = session.common();
    let status = if body.converged { ExitStatus::Done } else { ExitStatus::NotConverged };
    session.finish_with(status, &body, &table)
}

/// Refuses kernels that do not have what is asked for.
fn check(kernel: &str, ranges: &[ParameterBox]) -> Result<()> {
    let specimen = KernelSpec::specimen(kernel)?;
    if ranges.is_empty() && specimen.name() != "gaussian" {
        return Err(Failure::usage(format!("--per-column is for the gaussian kernel, but --kernel is {kernel}")));
    }
    let own = specimen.parameters();
    for (at, range) in ranges.iter().enumerate() {
        let name = range.parameter.name();
        if ranges[..at].iter().any(|other| other.parameter == range.parameter) {
            return Err(Failure::usage(format!("--parameters names {name} twice: give it one range")));
        }
        if !own.contains(&range.parameter) {
            let names: Vec<&str> = own.iter().copied().map(Parameter::name).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(" and ") };
            return Err(Failure::usage(format!(
                "--parameters {name}: the {kernel} kernel has no {name}; it has {has}"
            )));
        }
    }
    if ranges.is_empty() { Ok(()) } else { Ok(check_ranges(&specimen, ranges)?) }
}

/// Parameters within ranges, from the best width.
fn several(
    args: &TuneArgs,
    ranges: &[ParameterBox],
    data: &Data,
    threads: &Threads,
    session: &Session<'_>,
) -> Result<ParameterTuning> {
    let spec = kernel_spec(args);
    let spec = if is_of_distance(&args.kernel) { spec.width(Width::Auto) } else { spec };
    let climb = |watch: &mercer::Watch<'_>| {
        let start = spec.resolve_watched(&data.points, threads, watch)?;
        tune_parameters(&data.points, &start, ranges, MOST_STEPS, threads, watch)
    };
    watched(session, data, None, climb).map(|(found, _)| found)
}

/// A width for every column, from the best common one.
fn per_column(args: &TuneArgs, data: &Data, threads: &Threads, session: &Session<'_>) -> Result<ArdTuning> {
    let tuner = KernelTuner::new(kernel_spec(args)).seed(args.search.seed);
    let climb = |watch: &mercer::Watch<'_>| {
        let start = vec![tuner.tune_watched(&data.points, threads, watch)?.best_gamma; data.points.n_features()];
        tune_ard(&data.points, &start, MOST_STEPS, threads, watch)
    };
    watched(session, data, None, climb).map(|(found, _)| found)
}

fn parameters(ranges: &[ParameterBox], found: &ParameterTuning) -> BTreeMap<&'static str, Found> {
    let each = ranges.iter().zip(&found.gradient).zip(&found.is_at_bound);
    each.map(|((range, &derivative), &at_bound)| {
        let value = found.kernel.parameter(range.parameter).expect("kernels without it were refused");
        (range.parameter.name(), Found { value, derivative, at_bound })
    })
    .collect()
}

fn columns(data: &Data, found: &ArdTuning) -> Vec<ColumnWidth> {
    let name = |at: usize| data.names.as_ref().map(|names| names[at].clone());
    let width = |(at, &gamma): (usize, &f64)| ColumnWidth { name: name(at), bandwidth: (0.5 / gamma).sqrt(), gamma };
    found.gammas.iter().enumerate().map(width).collect()
}

/// How the climb went, for people.
fn summary(body: &ClimbBody, took: f64) -> String {
    format!(
        "criterion   variance, {}\nclimbed     {}, all pairs of {} points\ntime        {}\n",
        short(body.best_value),
        counted(body.steps, "step"),
        body.n_samples,
        seconds(took)
    )
}

fn parameter_table(parameters: &BTreeMap<&'static str, Found>, body: &ClimbBody, took: f64) -> String {
    let mut text = String::new();
    for (name, found) in parameters {
        let end = if found.at_bound { ", at an end of its range" } else { "" };
        let _ = writeln!(text, "{name:<11} {}{end}", short(found.value));
    }
    text + &summary(body, took)
}

fn column_table(widths: &[ColumnWidth], body: &ClimbBody, took: f64) -> String {
    let column = |name, width, rank| Column { name, width, side: Side::Right, rank };
    let columns =
        [Column { side: Side::Left, ..column("column", 16, 0) }, column("bandwidth", 12, 0), column("gamma", 12, 1)];
    let mut table = Table::new(&columns, " ", terminal_width());
    for (at, width) in widths.iter().enumerate() {
        let name = width.name.clone().unwrap_or_else(|| (at + 1).to_string());
        table.row(&[name, short(width.bandwidth), short(width.gamma)], "");
    }
    format!("{}\n{}", summary(body, took), table.finish())
}
