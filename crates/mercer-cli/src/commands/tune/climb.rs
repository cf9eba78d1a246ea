//! More than a width: several parameters of a kernel, or a width for every column, by gradient.

use std::fmt::Write;
use std::time::Instant;

use mercer::kernel::{Kernel, KernelSpec, Parameter, Width};
use mercer::record::KernelRecord;
use mercer::tune::{ArdTuning, ParameterBox, ParameterTuning, check_ranges, tune_ard, tune_parameters};
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

/// What the record of a climb has of its own.
#[derive(Serialize)]
struct ClimbBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_samples: usize,
    n_features: usize,
    threads: usize,
    /// Of the search for the width to start from.
    seed: u64,
    /// As it was found; without its width if every column has its own.
    kernel: KernelRecord,
    /// With --parameters, in the order of their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Vec<Found>>,
    /// With --per-column, in the order of the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<Vec<ColumnWidth>>,
    best_value: f64,
    start_value: f64,
    steps: usize,
    converged: bool,
}

/// A parameter that was found.
#[derive(Serialize)]
struct Found {
    name: &'static str,
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
    at_bound: bool,
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
        seed: args.search.seed,
        kernel: KernelRecord { gamma: None, ..KernelRecord::from(&kernel_spec(args).resolve_without_points()?) },
        parameters: None,
        columns: None,
        best_value: 0.0,
        start_value: 0.0,
        steps: 0,
        converged: false,
    };
    let start = Instant::now();
    let table = if ranges.is_empty() {
        let (found, told) = session.timed("tune", |session| per_column(args, &data, threads, session))?;
        tell(&mut session, told);
        (body.best_value, body.start_value) = (found.best_value, found.start_value);
        (body.steps, body.converged) = (found.steps, found.converged);
        let columns = columns(&data, &found);
        let held = columns.iter().filter(|column| column.at_bound).count();
        if held > 0 {
            session.warn(format!(
                "{} held at a factor of 10000 from the start: the criterion may be better beyond it",
                if held == 1 {
                    "the inverse width of 1 column is".to_owned()
                } else {
                    format!("the inverse widths of {held} columns are")
                }
            ));
        }
        let table = column_table(&columns, &body, start.elapsed().as_secs_f64());
        body.columns = Some(columns);
        table
    } else {
        let (found, told) = session.timed("tune", |session| several(args, &ranges, &data, threads, session))?;
        tell(&mut session, told);
        (body.best_value, body.start_value) = (found.best_value, found.start_value);
        (body.steps, body.converged) = (found.steps, found.converged);
        body.kernel = KernelRecord::from(&found.kernel);
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

fn max_steps(args: &TuneArgs) -> usize {
    args.climb.max_steps.unwrap_or(mercer::tune::CLIMB_STEPS)
}

/// Tells what the search for the width to start from has to say.
fn tell(session: &mut Session<'_>, warnings: Vec<String>) {
    for warning in warnings {
        session.warn(super::typed(&warning));
    }
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
    ranges.iter().try_for_each(|range| {
        check_ranges(&specimen, std::slice::from_ref(range)).map_err(|error| of_range(range, error))
    })
}

/// What the library says of a range, under the name that it is typed with.
fn of_range(range: &ParameterBox, error: mercer::Error) -> Failure {
    match error {
        mercer::Error::InvalidParameter { requirement, .. } => Failure::usage(format!(
            "--parameters {}={}:{}: give {requirement}",
            range.parameter.name(),
            short(range.low),
            short(range.high)
        )),
        other => other.into(),
    }
}

/// The kernel that a climb starts from, and what the search for its width has to say. That there is none is told without advice: no flag gives one.
fn start(
    spec: &KernelSpec,
    args: &TuneArgs,
    data: &Data,
    threads: &Threads,
    watch: &mercer::Watch<'_>,
) -> mercer::Result<(Kernel, Vec<String>)> {
    spec.resolve_told(&data.points, args.search.seed, threads, watch).map_err(|error| match error {
        mercer::Error::NoMaximum { criterion, low, high, rises, n_sampled, .. } => {
            let advice = "there is no width to climb from";
            mercer::Error::NoMaximum { criterion, low, high, rises, n_sampled, advice }
        }
        other => other,
    })
}

/// Parameters within ranges, from the best width.
fn several(
    args: &TuneArgs,
    ranges: &[ParameterBox],
    data: &Data,
    threads: &Threads,
    session: &Session<'_>,
) -> Result<(ParameterTuning, Vec<String>)> {
    let spec = kernel_spec(args);
    let spec = if is_of_distance(&args.kernel) { spec.width(Width::Auto) } else { spec };
    let climb = |watch: &mercer::Watch<'_>| {
        let (start, told) = start(&spec, args, data, threads, watch)?;
        Ok((tune_parameters(&data.points, &start, ranges, max_steps(args), threads, watch)?, told))
    };
    watched(session, data, None, climb).map(|(found, _)| found)
}

/// A width for every column, from the best common one.
fn per_column(
    args: &TuneArgs,
    data: &Data,
    threads: &Threads,
    session: &Session<'_>,
) -> Result<(ArdTuning, Vec<String>)> {
    let spec = kernel_spec(args).width(Width::Auto);
    let climb = |watch: &mercer::Watch<'_>| {
        let (start, told) = start(&spec, args, data, threads, watch)?;
        let gamma = start.parameter(Parameter::Gamma).expect("other kernels were refused");
        let start = vec![gamma; data.points.n_features()];
        Ok((tune_ard(&data.points, &start, max_steps(args), threads, watch)?, told))
    };
    watched(session, data, None, climb).map(|(found, _)| found)
}

fn parameters(ranges: &[ParameterBox], found: &ParameterTuning) -> Vec<Found> {
    let each = ranges.iter().zip(&found.gradient).zip(&found.is_at_bound);
    let mut parameters: Vec<Found> = each
        .map(|((range, &derivative), &at_bound)| {
            let value = found.kernel.parameter(range.parameter).expect("kernels without it were refused");
            Found { name: range.parameter.name(), value, derivative, at_bound }
        })
        .collect();
    parameters.sort_by_key(|found| found.name);
    parameters
}

fn columns(data: &Data, found: &ArdTuning) -> Vec<ColumnWidth> {
    let name = |at: usize| data.names.as_ref().map(|names| names[at].clone());
    let width = |(at, (&gamma, &at_bound)): (usize, (&f64, &bool))| ColumnWidth {
        name: name(at),
        bandwidth: (0.5 / gamma).sqrt(),
        gamma,
        at_bound,
    };
    found.gammas.iter().zip(&found.is_at_bound).enumerate().map(width).collect()
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

fn parameter_table(parameters: &[Found], body: &ClimbBody, took: f64) -> String {
    let mut text = String::new();
    for found in parameters {
        let end = if found.at_bound { ", at an end of its range" } else { "" };
        let _ = writeln!(text, "{:<11} {}{end}", found.name, short(found.value));
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
        let end = if width.at_bound { " at its limit" } else { "" };
        table.row(&[name, short(width.bandwidth), short(width.gamma)], end);
    }
    format!("{}\n{}", summary(body, took), table.finish())
}
