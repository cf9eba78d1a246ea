//! `mercer tune`: the width of a kernel that suits the data.

mod climb;
mod record;
mod report;

use std::fmt::Write;
use std::time::Instant;

use mercer::ErrorKind;
use mercer::kernel::{KernelSpec, NAMES, Pairing, Parameter};
use mercer::record::KernelRecord;
use mercer::tune::{Criterion, KernelTuner, Landscape, TuneMethod, Tuning};
use mercer::watch::Threads;
use serde::Serialize;

use self::record::{LandscapeRecord, TuningRecord};
use self::report::{Drawn, Report, draw};
use super::learn::watched;
use super::session::{Session, threads};
use crate::args::TuneArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output::summary::{counted, seconds, short};
use crate::output::table::{Column, Side, Table, terminal_width};
use crate::records::Common;

/// What the record of a search has of its own.
#[derive(Serialize)]
struct TuneBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_features: usize,
    threads: usize,
    seed: u64,
    best_bandwidth: f64,
    best_gamma: f64,
    /// With the width that was found.
    kernel: KernelRecord,
    /// The whole curve.
    tuning: TuningRecord,
    /// What other criteria found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Rival>,
    /// The variances of components over bandwidths, with --report.
    #[serde(skip_serializing_if = "Option::is_none")]
    landscape: Option<LandscapeRecord>,
}

/// What one of several criteria found.
#[derive(Clone, Serialize)]
struct Rival {
    criterion: Criterion,
    /// Why it found nothing; all that follows is absent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_bandwidth: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_gamma: Option<f64>,
    search_seconds: f64,
}

impl Rival {
    /// What a search found.
    fn of(found: &Tuning, search_seconds: f64) -> Self {
        Self {
            criterion: found.criterion,
            problem: None,
            best_bandwidth: Some(found.best_bandwidth),
            best_gamma: Some(found.best_gamma),
            search_seconds,
        }
    }

    /// Why a search found nothing.
    fn without(criterion: Criterion, failure: &Failure, search_seconds: f64) -> Self {
        let problem = Some(typed(&failure.to_string()));
        Self { criterion, problem, best_bandwidth: None, best_gamma: None, search_seconds }
    }
}

/// Whether a failure says something of the data, and nothing of the call: that a criterion has no maximum, say.
fn is_finding(failure: &Failure) -> bool {
    let (Failure::Library(error) | Failure::Data { source: error, .. }) = failure else { return false };
    error.kind() == ErrorKind::InvalidInput && !matches!(error, mercer::Error::InvalidParameter { .. })
}

/// What the record of a comparison has whose own criterion found nothing.
#[derive(Serialize)]
struct ComparedBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_features: usize,
    threads: usize,
    seed: u64,
    compared: Vec<Rival>,
}

/// Runs the command.
pub(super) fn run(args: &TuneArgs) -> Result<ExitStatus> {
    let session = Session::start("tune", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.search.threads);
    let threads = threads(args.search.threads)?;
    if args.climb.per_column || !args.climb.parameters.is_empty() {
        return climb::run(args, session, &threads);
    }
    if args.climb.max_steps.is_some() {
        return Err(Failure::usage("--max-steps belongs to --parameters and --per-column: leave it out"));
    }
    check_kernel(&args.kernel, args.search.criterion, !args.search.bandwidths.is_empty())?;
    let report = args.report_dir.as_deref().map(Report::new);
    match &report {
        Some(report) => report.check(args, &session)?,
        None => session.check_outputs(None, &[("data", &args.points)])?,
    }
    let data = session.read(&args.points, &args.data, args.search.seed)?;
    let (tuner, start) = (tuner(args), Instant::now());
    let outcome = session.timed("tune", |session| Ok(search(&tuner, &data, &threads, session)))?;
    let tuning = match outcome {
        Err(failure) if args.search.compare && is_finding(&failure) => {
            let own = Rival::without(args.search.criterion, &failure, start.elapsed().as_secs_f64());
            return compare_others(args, &own, failure, &data, &threads, &mut session);
        }
        outcome => outcome?,
    };
    let compared = compare(args, &Rival::of(&tuning, tuning.seconds), &data, &threads, &mut session)?;
    tell(&tuning, &mut session);
    let drawn = match &report {
        Some(report) => Some((report, draw(args, &tuning, &data, &threads, &mut session)?)),
        None => None,
    };
    finish(args, tuning, compared, drawn, &data, &threads, &session)
}

/// Tells what a search has to say.
fn tell(tuning: &Tuning, session: &mut Session<'_>) {
    for warning in &tuning.warnings {
        session.warn(typed(warning));
    }
    if tuning.maxima.len() > 1 {
        let others: Vec<String> = tuning.maxima.iter().map(|maximum| short(maximum.bandwidth)).collect();
        session.warn(format!("the criterion has {} maxima: at bandwidths {}", others.len(), others.join(", ")));
    }
}

/// Ends the run with all that was found.
fn finish(
    args: &TuneArgs,
    tuning: Tuning,
    compared: Vec<Rival>,
    drawn: Option<(&Report, (Landscape, Drawn))>,
    data: &Data,
    threads: &Threads,
    session: &Session<'_>,
) -> Result<ExitStatus> {
    let status = if tuning.converged { ExitStatus::Done } else { ExitStatus::NotConverged };
    let table = table(&tuning, &compared);
    let kernel = kernel_spec(args).resolve_without_points()?.with(Parameter::Gamma, tuning.best_gamma)?;
    let (files, landscape) = match drawn {
        Some((report, (landscape, drawn))) => (Some((report, drawn)), Some(LandscapeRecord::from(landscape))),
        None => (None, None),
    };
    let body = TuneBody {
        common: session.common(),
        data: data.name.clone(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        seed: args.search.seed,
        best_bandwidth: tuning.best_bandwidth,
        best_gamma: tuning.best_gamma,
        kernel: KernelRecord::from(&kernel),
        tuning: TuningRecord::from(tuning),
        compared,
        landscape,
    };
    // All is known before the first of the files is written: a run that is stopped leaves none of them.
    if let Some((report, drawn)) = files {
        report.write(&drawn, &crate::records::document("tune", status, &body)?, session)?;
    }
    session.finish_with(status, &body, &table)
}

/// Ends the run of a comparison whose own criterion found nothing, with what the others found.
///
/// # Errors
///
/// That it found nothing, if the others did not either.
fn compare_others(
    args: &TuneArgs,
    own: &Rival,
    failure: Failure,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<ExitStatus> {
    let compared = compare(args, own, data, threads, session)?;
    if compared.iter().all(|rival| rival.problem.is_some()) {
        return Err(failure);
    }
    session.warn(failure.to_string());
    if args.report_dir.is_some() {
        session.warn("--report has no curve to draw: nothing was written there");
    }
    let table = comparison(&compared);
    let body = ComparedBody {
        common: session.common(),
        data: data.name.clone(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        seed: args.search.seed,
        compared,
    };
    session.finish_with(ExitStatus::NotConverged, &body, &table)
}

/// Whether a kernel is a function of a distance, so that the data say where to look for its width.
pub(super) fn is_of_distance(name: &str) -> bool {
    KernelSpec::specimen(name).is_ok_and(|kernel| kernel.pairing().is_some_and(Pairing::is_translation_invariant))
}

/// Refuses kernels that have no width, and those whose width could be anything if nobody says where to look.
fn check_kernel(name: &str, criterion: Criterion, has_bandwidths: bool) -> Result<()> {
    let has_width = KernelSpec::specimen(name).is_ok_and(|kernel| kernel.parameters().contains(&Parameter::Gamma));
    // The variance of the values needs no distances.
    if is_of_distance(name) || (has_width && (has_bandwidths || criterion == Criterion::Scale)) {
        return Ok(());
    }
    let others: Vec<&str> = NAMES.into_iter().filter(|name| is_of_distance(name)).collect();
    let others = others.join(", ");
    Err(Failure::usage(match criterion {
        _ if !has_width => {
            format!("--kernel {name} has no width to tune: it is not a function of a distance, as {others} are")
        }
        Criterion::Median => {
            format!("--criterion median is for kernels of a distance, which are {others}, but --kernel is {name}")
        }
        _ => format!(
            "--kernel {name} is not a function of a distance, as {others} are: say with --bandwidths which widths to try"
        ),
    }))
}

/// What the library has to say, with the parameter's name as it is typed here.
fn typed(told: &str) -> String {
    told.replace("`bandwidths`", "--bandwidths")
}

fn kernel_spec(args: &TuneArgs) -> KernelSpec {
    let spec = KernelSpec::new(&args.kernel);
    let spec = args.degree.into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.into_iter().fold(spec, KernelSpec::alpha)
}

/// The search that was asked for. A flag that it has no use for is refused by the library, but not beside other criteria that have one.
fn tuner(args: &TuneArgs) -> KernelTuner {
    let search = &args.search;
    let searches = !search.compare || !matches!(search.criterion, Criterion::Median | Criterion::Scale);
    let counts = !search.compare || matches!(search.criterion, Criterion::Leading | Criterion::Reconstruction);
    let tuner = KernelTuner::new(kernel_spec(args)).criterion(search.criterion).method(search.method).seed(search.seed);
    let tuner = search.tolerance.filter(|_| searches).into_iter().fold(tuner, KernelTuner::tolerance);
    let tuner = search.n_components.filter(|_| counts).into_iter().fold(tuner, KernelTuner::n_components);
    if searches { over_bandwidths(args, tuner) } else { tuner }
}

/// The search of another criterion, with what of the flags it has a use for: others than the variance choose their points by themselves, but for the effective rank,
/// which takes all if all pairs are asked for.
fn rival_tuner(args: &TuneArgs, criterion: Criterion) -> KernelTuner {
    let search = &args.search;
    let tuner = KernelTuner::new(kernel_spec(args)).criterion(criterion).seed(search.seed);
    if matches!(criterion, Criterion::Median | Criterion::Scale) {
        return tuner;
    }
    let tuner = search.tolerance.into_iter().fold(tuner, KernelTuner::tolerance);
    match criterion {
        Criterion::Variance => over_bandwidths(args, tuner.method(search.method)),
        Criterion::EffectiveRank if search.method == TuneMethod::Exact => {
            over_bandwidths(args, tuner.method(TuneMethod::Exact))
        }
        Criterion::Leading | Criterion::Reconstruction => {
            over_bandwidths(args, search.n_components.into_iter().fold(tuner, KernelTuner::n_components))
        }
        _ => over_bandwidths(args, tuner),
    }
}

/// A search over the bandwidths that were given, if any were.
fn over_bandwidths(args: &TuneArgs, tuner: KernelTuner) -> KernelTuner {
    let search = &args.search;
    if search.bandwidths.is_empty() {
        return tuner;
    }
    // Told and drawn from the narrowest to the widest, each once.
    let mut bandwidths = search.bandwidths.clone();
    bandwidths.sort_by(f64::total_cmp);
    bandwidths.dedup();
    tuner.bandwidths(bandwidths)
}

fn search(tuner: &KernelTuner, data: &Data, threads: &Threads, session: &Session<'_>) -> Result<Tuning> {
    watched(session, data, None, |watch| tuner.tune_watched(&data.points, threads, watch)).map(|(tuning, _)| tuning)
}

/// What every criterion finds, with --compare; `own` is what the one that was asked for has found.
fn compare(
    args: &TuneArgs,
    own: &Rival,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<Vec<Rival>> {
    let names: &[&str] = if args.search.compare { Criterion::NAMES } else { &[] };
    names
        .iter()
        .map(|name| {
            let criterion: Criterion = name.parse()?;
            if criterion == own.criterion { Ok(own.clone()) } else { rival(args, criterion, data, threads, session) }
        })
        .collect()
}

/// What another criterion finds. That it finds nothing is a finding, too.
fn rival(
    args: &TuneArgs,
    criterion: Criterion,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<Rival> {
    let tuner = rival_tuner(args, criterion);
    session.meter.begin(&format!("{criterion}:"));
    let start = Instant::now();
    let outcome = session.timed("compare", |session| Ok(search(&tuner, data, threads, session)))?;
    let search_seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(found) => {
            for warning in &found.warnings {
                session.warn(format!("{criterion}: {}", typed(warning)));
            }
            Ok(Rival::of(&found, search_seconds))
        }
        Err(Failure::Library(error)) if error.kind() == ErrorKind::Interrupted => Err(Failure::Library(error)),
        Err(failure) => Ok(Rival::without(criterion, &failure, search_seconds)),
    }
}

/// The result for people.
fn table(tuning: &Tuning, compared: &[Rival]) -> String {
    let mut text = String::new();
    let interval = match tuning.method {
        TuneMethod::Sampled if tuning.standard_error > 0.0 => format!(" ± {}", short(2.0 * tuning.standard_error)),
        _ => String::new(),
    };
    let _ = writeln!(text, "bandwidth   {}{interval}", short(tuning.best_bandwidth));
    let _ = writeln!(text, "gamma       {}", short(tuning.best_gamma));
    // A width without a search has the value of another criterion, whose name stands beside it.
    let measure = match tuning.criterion {
        Criterion::Variance => String::new(),
        other => format!("{} ", other.measure()),
    };
    let _ = writeln!(text, "criterion   {}, {measure}{}", tuning.criterion, short(tuning.best_value));
    let looked = if tuning.method == TuneMethod::Exact { "all pairs" } else { "samples" };
    let _ = writeln!(
        text,
        "searched    {} from {} to {}, {looked} of {} points, {}",
        counted(tuning.bandwidths.len(), "bandwidth"),
        tuning.bandwidths.first().map_or_else(String::new, |&sigma| short(sigma)),
        tuning.bandwidths.last().map_or_else(String::new, |&sigma| short(sigma)),
        tuning.n_used,
        if tuning.passes == 1 { "1 pass".to_owned() } else { format!("{} passes", tuning.passes) }
    );
    let _ = writeln!(text, "time        {}", seconds(tuning.seconds));
    if !compared.is_empty() {
        text.push('\n');
        text.push_str(&comparison(compared));
    }
    text
}

/// What every criterion found, for people.
fn comparison(compared: &[Rival]) -> String {
    let column = |name, width, rank| Column { name, width, side: Side::Right, rank };
    let columns = [
        Column { side: Side::Left, ..column("criterion", 16, 0) },
        column("bandwidth", 12, 0),
        column("gamma", 12, 1),
        column("time", 9, 0),
    ];
    let mut table = Table::new(&columns, " ", terminal_width());
    for rival in compared {
        let name = rival.criterion.name().to_owned();
        if let (Some(bandwidth), Some(gamma)) = (rival.best_bandwidth, rival.best_gamma) {
            table.row(&[name, short(bandwidth), short(gamma), seconds(rival.search_seconds)], "");
        } else {
            table.row(&[name], &format!(" {}", rival.problem.as_deref().unwrap_or_default()));
        }
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn parsed(words: &str) -> TuneArgs {
        let Command::Tune(args) = Cli::try_parse_from(words.split(' ')).expect("a call").command else {
            panic!("another command")
        };
        *args
    }

    fn own(criterion: Criterion) -> KernelTuner {
        KernelTuner::new(KernelSpec::new("gaussian")).criterion(criterion)
    }

    #[test]
    fn flags_for_other_criteria_do_not_stop_the_one_beside_them() {
        let args = parsed("mercer tune x.csv --compare -n 3");
        assert_eq!(tuner(&args), own(Criterion::Variance));
        assert_eq!(rival_tuner(&args, Criterion::Leading), own(Criterion::Leading).n_components(3));
        let args = parsed("mercer tune x.csv --compare --criterion median --bandwidths 1,2 --tolerance 0.1");
        assert_eq!(tuner(&args), own(Criterion::Median));
        // Alone it is told that it has no use for them.
        assert_eq!(tuner(&parsed("mercer tune x.csv -n 3")), own(Criterion::Variance).n_components(3));
    }

    #[test]
    fn other_criteria_get_the_tolerance_and_the_method_that_were_asked_for() {
        let args = parsed("mercer tune x.csv --compare --criterion reconstruction --method exact --tolerance 1e-4");
        let rank = own(Criterion::EffectiveRank).tolerance(1e-4).method(TuneMethod::Exact);
        assert_eq!(rival_tuner(&args, Criterion::EffectiveRank), rank);
        let variance = own(Criterion::Variance).tolerance(1e-4).method(TuneMethod::Exact);
        assert_eq!(rival_tuner(&args, Criterion::Variance), variance);
        // Of more points than it can take it takes some, which nobody can change.
        assert_eq!(rival_tuner(&args, Criterion::Leading), own(Criterion::Leading).tolerance(1e-4));
        assert_eq!(rival_tuner(&args, Criterion::Median), own(Criterion::Median));
    }

    #[test]
    fn every_kernel_is_tuned_or_refused_by_its_own_name() {
        for name in ["gaussian", "laplacian", "exponential", "matern32"] {
            assert!(check_kernel(name, Criterion::Variance, false).is_ok(), "{name}");
        }
        for name in ["polynomial", "sigmoid"] {
            assert!(check_kernel(name, Criterion::Variance, true).is_ok(), "{name}");
            assert!(check_kernel(name, Criterion::Scale, false).is_ok(), "{name}");
            let message = check_kernel(name, Criterion::Median, false).unwrap_err().to_string();
            assert!(message.ends_with(&format!(", but --kernel is {name}")), "bandwidths would be no help: {message}");
            let message = check_kernel(name, Criterion::Variance, false).unwrap_err().to_string();
            assert!(message.starts_with(&format!("--kernel {name} is not a function of a distance")), "{message}");
            assert!(message.ends_with("say with --bandwidths which widths to try"), "{message}");
        }
        for name in ["linear", "cosine", "precomputed"] {
            for has_bandwidths in [false, true] {
                let message = check_kernel(name, Criterion::Variance, has_bandwidths).unwrap_err().to_string();
                assert!(message.starts_with(&format!("--kernel {name} has no width to tune")), "{message}");
                assert!(message.contains("gaussian") && !message.contains("gamma"), "{message}");
            }
        }
    }
}
