//! `mercer cluster`: spectral clustering of points.

use std::path::Path;

use faer::Mat;
use mercer::agreement::Contingency;
use mercer::cluster::ClusterRecord;
use mercer::{ClusterModel, Negative, SpectralClustering};
use serde::Serialize;

use super::fit::check_standardize;
use super::hebbian::{refuse_flags, refuse_unread};
use super::learn::watched;
use super::session::Session;
use super::settings::{gains, kernel_spec, precision};
use crate::args::{ClusterArgs, DataArgs, FitSolver};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Labels;
use crate::output::summary::counted;
use crate::output::{self, OutputFile, ScoreWriter, Words};

/// What the record of a clustering has beside the library's.
#[derive(Serialize)]
struct ClusterBody {
    #[serde(flatten)]
    record: ClusterRecord,
    /// Clusters that were asked for.
    n_clusters_asked: usize,
    data: String,
    output: String,
    /// How far the clusters are the known classes; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<Agreement>,
}

/// How far clusters and classes agree.
#[derive(Clone, Copy, Debug, Serialize)]
struct Agreement {
    n_classes: usize,
    variation_of_information: f64,
    normalized_mutual_information: f64,
    adjusted_rand_index: f64,
}

/// Runs the command.
pub(super) fn run(args: &ClusterArgs) -> Result<ExitStatus> {
    let session = Session::start("cluster", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.solve.threads);
    session.meter.without_centring();
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    check_flags(args)?;
    check_standardize(&args.data, &args.kernel)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points)])?;
    let flags = DataArgs { label: args.labels.clone().or_else(|| args.data.label.clone()), ..args.data.clone() };
    let data = session.read(&args.points, &flags, args.solve.seed)?;
    if let Some(note) = output::left_out(format, data.labels.as_ref(), data.ids.as_ref()) {
        session.console.note(&note);
    }

    let settings = settings(args);
    let time = session.time_left(args.solve.time_limit);
    let (model, was_stopped) = watched(&session, &data, time, |watch| settings.fit_watched(&data.points, watch))?;
    let agreement = match (&args.labels, &data.labels) {
        (Some(_), Some(classes)) => Some(Agreement::new(&model, classes)?),
        _ => None,
    };
    session.timed("write", |_| {
        let (file, n) = (OutputFile::create(&args.output)?, model.labels().len());
        let names = vec!["cluster".to_owned()];
        let mut writer = ScoreWriter::new(file, format, names, Some(n), &data)?;
        writer.write(Mat::from_fn(n, 1, |i, _| model.labels()[i] as f64).as_ref(), Words::of(&data, 0..n))?;
        writer.finish()
    })?;

    let mut record = model.record().clone();
    for warning in &record.warnings {
        session.console.warning(warning);
    }
    let written =
        if args.output == Path::new("-") { String::new() } else { format!(", written to {}", args.output.display()) };
    session.console.note(&format!("{}{written}", sentence(&record)));
    if let Some(agreement) = agreement {
        session.console.note(&agreement.sentence());
    }
    record.seconds.insert("fit".to_owned(), record.seconds.get("total").copied().unwrap_or(0.0));
    record.seconds.extend(session.all_seconds());
    record.peak_memory_bytes = record.peak_memory_bytes.max(mercer::peak_memory());
    // A cluster that was asked for and is not there is missing, as a component would be.
    let as_asked = !was_stopped && record.converged && record.n_clusters == args.n_clusters;
    let status = if as_asked { ExitStatus::Done } else { ExitStatus::NotConverged };
    let body = ClusterBody {
        record,
        n_clusters_asked: args.n_clusters,
        data: data.name.clone(),
        output: args.output.display().to_string(),
        agreement,
    };
    session.finish(status, &body, None)
}

/// Refuses flags that have no effect on clusters, or with the solver that was asked for.
fn check_flags(args: &ClusterArgs) -> Result<()> {
    if args.n_clusters < 2 {
        return Err(Failure::usage(format!("--n-clusters must be at least 2, but it is {}", args.n_clusters)));
    }
    let others = [
        ("--variance", args.solve.variance.is_some(), "give the number of eigenvectors with --n-components"),
        ("--no-center", args.kernel.no_center, "the matrix is never centred"),
        ("--negative", args.kernel.negative != Negative::default(), "only the largest eigenvalues count"),
    ];
    if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is not for clusters: {why}")));
    }
    if args.solver != FitSolver::Hebbian {
        return refuse_flags(&args.hebbian);
    }
    if args.solve.max_passes.is_some() {
        return Err(Failure::usage("--max-passes is not for --solver hebbian: it makes exactly --passes"));
    }
    refuse_unread(&args.hebbian)
}

/// The clustering that the flags mean.
fn settings(args: &ClusterArgs) -> SpectralClustering {
    let solve = &args.solve;
    let settings = SpectralClustering::new(kernel_spec(&args.kernel), args.n_clusters)
        .restarts(args.restarts)
        .gram(args.gram.gram)
        .seed(solve.seed);
    let settings = match args.solver {
        FitSolver::Eigen(solver) => settings.solver(solver),
        FitSolver::Hebbian => settings.hebbian(gains(mercer::Kernel::Precomputed, &args.hebbian)),
    };
    let settings = solve.n_components.into_iter().fold(settings, SpectralClustering::n_components);
    let settings = solve.tolerance.into_iter().fold(settings, SpectralClustering::tolerance);
    let settings = solve.memory.into_iter().fold(settings, SpectralClustering::memory);
    let settings = solve.threads.into_iter().fold(settings, SpectralClustering::threads);
    let settings = solve.max_passes.into_iter().fold(settings, SpectralClustering::max_passes);
    solve.precision.map(precision).into_iter().fold(settings, SpectralClustering::precision)
}

impl Agreement {
    fn new(model: &ClusterModel, classes: &Labels) -> Result<Self> {
        let table = Contingency::new(&classes.values, model.labels())?;
        Ok(Self {
            n_classes: table.shape().0,
            variation_of_information: table.variation_of_information(),
            normalized_mutual_information: table.normalized_mutual_information(),
            adjusted_rand_index: table.adjusted_rand_index(),
        })
    }

    fn sentence(&self) -> String {
        format!(
            "against {} known classes: variation of information {:.4}, NMI {:.4}, ARI {:.4}",
            self.n_classes, self.variation_of_information, self.normalized_mutual_information, self.adjusted_rand_index
        )
    }
}

/// What was found, for people.
fn sentence(record: &ClusterRecord) -> String {
    let sizes: Vec<String> = record.cluster_sizes.iter().map(ToString::to_string).collect();
    format!("{} points in {} of {}", record.n_samples, counted(record.n_clusters, "cluster"), sizes.join(", "))
}
