//! `mercer tune`: the width of a kernel that suits the data.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use mercer::ErrorKind;
use mercer::kernel::KernelSpec;
use mercer::tune::{Criterion, KernelTuner, Landscape, TuneMethod, Tuning, landscape};
use mercer::watch::Threads;
use serde::Serialize;

use super::learn::watched;
use super::session::{Session, threads};
use crate::args::TuneArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output::summary::{seconds, short};
use crate::output::write_text;
use crate::picture::{Panel, Scan};
use crate::records::Common;

/// Components whose variances are drawn and kept.
const DRAWN: usize = 12;

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
    /// The whole curve.
    tuning: Tuning,
    /// What other criteria found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<Rival>,
    /// The variances of components over bandwidths, with --report.
    #[serde(skip_serializing_if = "Option::is_none")]
    landscape: Option<Landscape>,
}

/// What one of several criteria found.
#[derive(Serialize)]
struct Rival {
    criterion: Criterion,
    /// Why it found nothing; all that follows is absent then.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_bandwidth: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_gamma: Option<f64>,
    seconds: f64,
}

/// Runs the command.
pub(super) fn run(args: &TuneArgs) -> Result<ExitStatus> {
    let mut session = Session::start("tune", &args.report, args.progress.progress)?;
    let threads = threads(args.search.threads)?;
    let pictures = args.report_dir.as_deref().map(Report::new).transpose()?;
    let outputs: Vec<&Path> = pictures.iter().flat_map(Report::files).collect();
    session.check_outputs(outputs, &[("data", &args.points)])?;
    let data = session.read(&args.points, &args.data, args.search.seed)?;
    let tuner = tuner(args);
    let tuning = session.timed("tune", |session| search(&tuner, &data, &threads, session))?;
    let mut compared = Vec::new();
    if args.search.compare {
        for name in Criterion::NAMES {
            let criterion: Criterion = name.parse()?;
            compared.push(rival(args, criterion, &tuning, &data, &threads, &mut session)?);
        }
    }
    for warning in &tuning.warnings {
        session.warn(warning.clone());
    }
    if tuning.maxima.len() > 1 {
        let others: Vec<String> = tuning.maxima.iter().map(|maximum| short(maximum.bandwidth)).collect();
        session.warn(format!("the criterion has {} maxima: at bandwidths {}", others.len(), others.join(", ")));
    }
    let landscape = match &pictures {
        Some(report) => Some(draw(report, args, &tuning, &data, &threads, &mut session)?),
        None => None,
    };
    let status = if tuning.converged { ExitStatus::Done } else { ExitStatus::NotConverged };
    let table = table(&tuning, &compared);
    let body = TuneBody {
        common: session.common(),
        data: data.name.clone(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        seed: args.search.seed,
        best_bandwidth: tuning.best_bandwidth,
        best_gamma: tuning.best_gamma,
        tuning,
        compared,
        landscape,
    };
    if let Some(report) = &pictures {
        write_text(&report.json, &crate::records::document("tune", status, &body)?)?;
        session.console.note(&format!("curve and variances written to {}", report.directory.display()));
    }
    session.finish(status, &body, Some(&table))
}

fn kernel_spec(args: &TuneArgs) -> KernelSpec {
    let spec = KernelSpec::new(&args.kernel);
    let spec = args.degree.into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.into_iter().fold(spec, KernelSpec::alpha)
}

fn tuner(args: &TuneArgs) -> KernelTuner {
    let search = &args.search;
    let tuner = KernelTuner::new(kernel_spec(args)).criterion(search.criterion).method(search.method).seed(search.seed);
    let tuner = search.tolerance.into_iter().fold(tuner, KernelTuner::tolerance);
    let tuner = search.n_components.into_iter().fold(tuner, KernelTuner::n_components);
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

/// What another criterion finds, with its own defaults. That it finds nothing is a finding, too.
fn rival(
    args: &TuneArgs,
    criterion: Criterion,
    own: &Tuning,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<Rival> {
    if criterion == own.criterion {
        let (bandwidth, gamma) = (Some(own.best_bandwidth), Some(own.best_gamma));
        return Ok(Rival {
            criterion,
            error: None,
            best_bandwidth: bandwidth,
            best_gamma: gamma,
            seconds: own.seconds,
        });
    }
    let tuner = KernelTuner::new(kernel_spec(args)).criterion(criterion).seed(args.search.seed);
    session.meter.begin(&format!("{criterion}:"));
    let start = std::time::Instant::now();
    let outcome = session.timed("compare", |session| Ok(search(&tuner, data, threads, session)))?;
    let seconds = start.elapsed().as_secs_f64();
    match outcome {
        Ok(found) => Ok(Rival {
            criterion,
            error: None,
            best_bandwidth: Some(found.best_bandwidth),
            best_gamma: Some(found.best_gamma),
            seconds,
        }),
        Err(Failure::Library(error)) if error.kind() == ErrorKind::Interrupted => Err(Failure::Library(error)),
        Err(failure) => {
            Ok(Rival { criterion, error: Some(failure.to_string()), best_bandwidth: None, best_gamma: None, seconds })
        }
    }
}

/// The files of a report.
struct Report {
    directory: std::path::PathBuf,
    curve: std::path::PathBuf,
    variances: std::path::PathBuf,
    json: std::path::PathBuf,
}

impl Report {
    fn new(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(Failure::file("making", directory))?;
        Ok(Self {
            directory: directory.to_owned(),
            curve: directory.join("criterion.svg"),
            variances: directory.join("variances.svg"),
            json: directory.join("tuning.json"),
        })
    }

    fn files(&self) -> [&Path; 3] {
        [&self.curve, &self.variances, &self.json]
    }
}

/// Letters of a file's name that a picture has room for.
const MOST_LETTERS: usize = 32;

/// The name of a file without its folders, and without its middle if it is long.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST_LETTERS {
        return name;
    }
    let half = (MOST_LETTERS - 1) / 2;
    let (start, end) = (&letters[..half], &letters[letters.len() - half..]);
    start.iter().chain(&['\u{2026}']).chain(end).collect()
}

/// Draws the criterion with its derivative, and the variances of the components.
fn draw(
    report: &Report,
    args: &TuneArgs,
    tuning: &Tuning,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<Landscape> {
    let marks: Vec<f64> = if tuning.maxima.is_empty() {
        vec![tuning.best_bandwidth]
    } else {
        tuning.maxima.iter().map(|maximum| maximum.bandwidth).collect()
    };
    let subtitle = format!(
        "{}: {} points, {}; best bandwidth {}, gamma {}",
        file_name(&data.name),
        tuning.n_samples,
        tuning.method,
        short(tuning.best_bandwidth),
        short(tuning.best_gamma)
    );
    let title = format!("Criterion {} of the {} kernel", tuning.criterion, tuning.kernel);
    let picture = Scan {
        title: &title,
        subtitle: &subtitle,
        bandwidths: &tuning.bandwidths,
        panels: &[
            Panel { name: tuning.criterion.name(), lines: std::slice::from_ref(&tuning.values) },
            Panel { name: "derivative by the bandwidth", lines: std::slice::from_ref(&tuning.gradients) },
        ],
        marks: &marks,
        best: tuning.best_bandwidth,
    };
    write_text(&report.curve, &picture.to_svg())?;

    let found = session.timed("report", |session| {
        let work = |watch: &mercer::Watch<'_>| {
            let spec = kernel_spec(args);
            landscape(&data.points, &spec, &tuning.bandwidths, DRAWN, args.search.seed, threads, watch)
        };
        watched(session, data, None, work).map(|(found, _)| found)
    })?;
    let shown = found.variances.first().map_or(0, Vec::len);
    let lines: Vec<Vec<f64>> =
        (0..shown).map(|component| found.variances.iter().map(|variances| variances[component]).collect()).collect();
    let title = format!("Variance of the first {shown} components, {} kernel", tuning.kernel);
    let subtitle = format!("{subtitle}; variances of {} points", found.n_used);
    let picture = Scan {
        title: &title,
        subtitle: &subtitle,
        bandwidths: &found.bandwidths,
        panels: &[Panel { name: "variance", lines: &lines }],
        marks: &marks,
        best: tuning.best_bandwidth,
    };
    write_text(&report.variances, &picture.to_svg())?;
    Ok(found)
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
    let _ = writeln!(text, "criterion   {}, {}", tuning.criterion, short(tuning.best_value));
    let looked = if tuning.method == TuneMethod::Exact { "all pairs" } else { "samples" };
    let _ = writeln!(
        text,
        "searched    {} bandwidths from {} to {}, {looked} of {} points, {} passes",
        tuning.bandwidths.len(),
        tuning.bandwidths.first().map_or_else(String::new, |&sigma| short(sigma)),
        tuning.bandwidths.last().map_or_else(String::new, |&sigma| short(sigma)),
        tuning.n_used,
        tuning.passes
    );
    let _ = writeln!(text, "time        {}", seconds(tuning.seconds));
    if !compared.is_empty() {
        let _ = writeln!(text, "\n{:<16} {:>12} {:>12} {:>9}", "criterion", "bandwidth", "gamma", "time");
        for rival in compared {
            let time = seconds(rival.seconds);
            let name = rival.criterion.name();
            if let (Some(bandwidth), Some(gamma)) = (rival.best_bandwidth, rival.best_gamma) {
                let _ = writeln!(text, "{name:<16} {:>12} {:>12} {time:>9}", short(bandwidth), short(gamma));
            } else {
                let _ = writeln!(text, "{name:<16} {}", rival.error.as_deref().unwrap_or_default());
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_names_the_file_without_folders_and_without_the_middle_of_a_long_name() {
        assert_eq!(file_name("some/long/way/points.csv"), "points.csv");
        assert_eq!(file_name("standard input"), "standard input");
        let long = file_name(&format!("folder/{}.parquet", "measurements-".repeat(9)));
        assert_eq!(long.chars().count(), MOST_LETTERS - 1);
        assert!(long.starts_with("measurements-me\u{2026}") && long.ends_with("-.parquet"), "{long}");
    }
}
