//! `mercer cluster`: spectral clustering of points; what `transform` finds with its model, and what `info` says of it.

use std::fmt::Write;
use std::path::Path;

use faer::Mat;
use mercer::agreement::Contingency;
use mercer::cluster::ClusterRecord;
use mercer::nystrom::Landmarks;
use mercer::{ClusterModel, Error, Negative, SolverChoice, SpectralClustering};
use serde::Serialize;

use super::fit::check_standardize;
use super::hebbian::{refuse_flags, refuse_unread};
use super::landmarks;
use super::learn::watched_by;
use super::session::Session;
use super::settings::{gains, kernel_spec, landmark_settings, precision};
use crate::args::{ClusterArgs, DataArgs, FitGram, FitSolver, Format};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{Data, Labels};
use crate::output::summary::{columns, counted, kernel, percent, scaling, seconds, short};
use crate::output::{self, OutputFile, ScoreWriter, Words};
use crate::records::ScalingRecord;

/// The name of the column of clusters.
pub(super) const COLUMN: &str = "cluster";

/// What the record of a clustering has beside the library's.
#[derive(Serialize)]
struct ClusterBody {
    #[serde(flatten)]
    record: ClusterRecord,
    /// Clusters that were asked for.
    n_clusters_asked: usize,
    data: String,
    output: String,
    /// The file of the model; absent if none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
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
    let mut session = session.on_threads(args.solve.threads).within(args.solve.time_limit);
    session.meter.without_centring();
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    check_flags(args)?;
    check_standardize(&args.data, &args.kernel)?;
    check_files(args, &session)?;
    let flags = DataArgs { label: args.labels.clone().or_else(|| args.data.label.clone()), ..args.data.clone() };
    let data = session.read(&args.points, &flags, args.solve.seed)?;
    session.check_columns(&args.output, format, &[COLUMN.to_owned()], &data)?;

    let chosen = landmarks::chosen(&args.landmarks, (args.points.as_path(), &flags), &data, &mut session)?;
    let settings = settings(args, chosen.landmarks.clone());
    let time = session.time_left(args.solve.time_limit);
    let refusal = |error| chosen.refusal(error, |error| data.refusal(error, 0));
    let (model, was_stopped) = watched_by(&session, refusal, time, |watch| settings.fit_watched(&data.points, watch))?;
    let agreement = match (&args.labels, &data.labels) {
        (Some(_), Some(classes)) => Some(Agreement::new(&model, classes)?),
        _ => None,
    };
    let model = with_data(model, &data)?;
    session.timed("write", |_| write_labels(&model, &data, &args.output, format))?;
    session.wrote(&args.output);
    if let Some(path) = &args.model {
        session.timed("save", |_| Ok(model.save(path)?))?;
        session.saved_model(path);
    }

    let mut record = model.record().clone();
    for warning in &record.warnings {
        session.console.warning(warning);
    }
    record.warnings.extend_from_slice(session.warnings());
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
    let as_asked = !was_stopped && record.converged && record.kmeans_converged && record.n_clusters == args.n_clusters;
    let status = if as_asked { ExitStatus::Done } else { ExitStatus::NotConverged };
    let body = ClusterBody {
        record,
        n_clusters_asked: args.n_clusters,
        data: data.name.clone(),
        output: args.output.display().to_string(),
        model: args.model.as_ref().map(|path| path.display().to_string()),
        agreement,
    };
    session.finish(status, &body, None)
}

/// Refuses a place for a model that cannot hold one, and to write where something is read.
fn check_files(args: &ClusterArgs, session: &Session<'_>) -> Result<()> {
    if args.model.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage("a model is not text: give the name of a file with --model"));
    }
    Session::check_replaceable(args.model.as_deref())?;
    let outputs = [args.output.as_path()].into_iter().chain(args.model.as_deref());
    let landmarks = args.landmarks.file().map(|path| ("file of landmarks", path));
    let inputs: Vec<(&str, &Path)> = [("data", args.points.as_path())].into_iter().chain(landmarks).collect();
    session.check_outputs(outputs, &inputs)
}

/// The model with what new points need: their scaling, and the names of their columns.
fn with_data(model: ClusterModel, data: &Data) -> Result<ClusterModel> {
    let model = data.scaling.iter().cloned().try_fold(model, ClusterModel::with_scaling)?;
    Ok(data.names.iter().cloned().try_fold(model, ClusterModel::with_feature_names)?)
}

fn write_labels(model: &ClusterModel, data: &Data, output: &Path, format: Format) -> Result<()> {
    let (file, n) = (OutputFile::create(output)?, model.labels().len());
    let mut writer = ScoreWriter::new(file, format, vec![COLUMN.to_owned()], Some(n), data)?;
    writer.write(as_column(model.labels()).as_ref(), Words::of(data, 0..n))?;
    writer.finish()
}

fn as_column(labels: &[usize]) -> Mat<f64> {
    Mat::from_fn(labels.len(), 1, |i, _| labels[i] as f64)
}

/// Refuses flags that have no effect on clusters, or with the solver that was asked for.
fn check_flags(args: &ClusterArgs) -> Result<()> {
    let others = [
        ("--variance", args.solve.variance.is_some(), "give the number of eigenvectors with --n-components"),
        ("--no-center", args.kernel.no_center, "the matrix is never centred"),
        ("--negative", args.kernel.negative != Negative::default(), "only the largest eigenvalues count"),
    ];
    if let Some((flag, _, why)) = others.into_iter().find(|(_, given, _)| *given) {
        return Err(Failure::usage(format!("{flag} is not for clusters: {why}")));
    }
    check_landmarks(args)?;
    if args.solver != FitSolver::Hebbian {
        return refuse_flags(&args.hebbian);
    }
    if args.solve.max_passes.is_some() {
        return Err(Failure::usage("--max-passes is not for --solver hebbian: it makes exactly --passes"));
    }
    refuse_unread(&args.hebbian)
}

/// Refuses flags that do not go together with landmarks, or without them.
fn check_landmarks(args: &ClusterArgs) -> Result<()> {
    if args.gram != FitGram::Nystrom {
        return match args.landmarks.given().next() {
            Some(flag) => Err(Failure::usage(format!("{flag} is for --gram nystrom only"))),
            None => Ok(()),
        };
    }
    landmarks::check_source(&args.landmarks, &args.points)?;
    let others = [
        ("--solver hebbian", args.solver == FitSolver::Hebbian, "it learns from every row"),
        (
            "--solver",
            args.solver != FitSolver::Eigen(SolverChoice::Auto),
            "their small problem is decomposed as a whole",
        ),
        ("--max-passes", args.solve.max_passes.is_some(), "they take as many as they take"),
    ];
    match others.into_iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => Err(Failure::usage(format!("{flag} is not for clusters over landmarks: {why}"))),
        None => Ok(()),
    }
}

/// The clustering that the flags mean, over these landmarks if it is over any.
fn settings(args: &ClusterArgs, chosen: Landmarks) -> SpectralClustering {
    let solve = &args.solve;
    let settings =
        SpectralClustering::new(kernel_spec(&args.kernel), args.n_clusters).restarts(args.restarts).seed(solve.seed);
    let settings = match args.gram {
        FitGram::Exact(gram) => settings.gram(gram),
        FitGram::Nystrom => settings.landmarks(landmark_settings(&args.kernel, &args.landmarks, chosen)),
    };
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
    format!("{} points in {}", record.n_samples, in_words(&record.cluster_sizes))
}

/// Clusters and their sizes.
fn in_words(sizes: &[usize]) -> String {
    let each: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    format!("{} of {}", counted(sizes.len(), "cluster"), each.join(", "))
}

/// How many of some new rows belong to each cluster of a model.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Members {
    n_clusters: usize,
    cluster_sizes: Vec<usize>,
}

impl Members {
    /// Clusters to which no rows have been added yet.
    pub(super) fn none_of(model: &ClusterModel) -> Self {
        let n_clusters = model.record().n_clusters;
        Self { n_clusters, cluster_sizes: vec![0; n_clusters] }
    }

    /// Adds the rows of a block, and gives their clusters as a column. A row that belongs nowhere is named by its place in the whole file.
    pub(super) fn add(&mut self, found: mercer::Result<Vec<usize>>) -> mercer::Result<Mat<f64>> {
        let before: usize = self.cluster_sizes.iter().sum();
        let labels = found.map_err(|error| match error {
            Error::ZeroDegree { row, degree } => Error::ZeroDegree { row: before + row, degree },
            other => other,
        })?;
        for &label in &labels {
            self.cluster_sizes[label] += 1;
        }
        Ok(as_column(&labels))
    }

    /// What was found, for people.
    pub(super) fn sentence(&self) -> String {
        let n = self.cluster_sizes.iter().sum();
        format!("{} in {}", counted(n, "row"), in_words(&self.cluster_sizes))
    }
}

/// The record of the clustering, and what is not in it.
#[derive(Serialize)]
struct ShowBody<'a> {
    #[serde(flatten)]
    record: &'a ClusterRecord,
    /// Names of the columns; absent if they had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_names: Option<&'a [String]>,
    /// What is done to new points first; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<ScalingRecord<'a>>,
}

/// Shows clusters to somebody who asked for that.
pub(super) fn show(model: &ClusterModel, session: &Session<'_>) -> Result<ExitStatus> {
    let (record, feature_names) = (model.record(), model.feature_names());
    let body = ShowBody { record, feature_names, scaling: model.scaling().map(ScalingRecord::from) };
    session.finish_with(ExitStatus::Done, &body, &table(model))
}

/// Clusters for people.
fn table(model: &ClusterModel) -> String {
    let record = model.record();
    let largest = record.residuals.iter().copied().fold(0.0, f64::max);
    let time = record.seconds.get("total").copied().unwrap_or(0.0);
    let mut text = columns(model.feature_names()) + &scaling(model.scaling());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<10}  {value}");
    };
    line("points", format!("{} of {}", record.n_samples, counted(record.n_features, "feature")));
    line("clusters", in_words(&record.cluster_sizes));
    line("kernel", kernel(&record.kernel, true));
    line("method", format!("{}, {}, {}", record.gram, record.solver, record.precision));
    if let Some(nystrom) = &record.nystrom {
        let missing = percent(nystrom.relative_trace_error);
        let how = match nystrom.landmarks.as_str() {
            "given" => "as they were given".to_owned(),
            rule => format!("by {rule}"),
        };
        line("landmarks", format!("{} {how}, which miss {missing} of the trace", nystrom.n_landmarks));
    }
    line("embedding", format!("{}, largest residual {largest:.1e}", counted(record.n_components, "eigenvector")));
    line("inertia", short(record.inertia));
    line("time", seconds(time));
    line("memory", format!("{} at most", mercer::format_bytes(record.peak_memory_bytes)));
    for warning in &record.warnings {
        line("warning", warning.clone());
    }
    text
}
