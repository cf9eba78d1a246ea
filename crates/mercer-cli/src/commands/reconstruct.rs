//! `mercer reconstruct`: what a model keeps of points, as points.

use std::path::Path;

use faer::Mat;
use mercer::autoencoder::{Autoencoder, Codec, Sign};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{AnyModel, Model};
use serde::Serialize;

use super::blocks::{Rows, Written, scale_of_bytes};
use super::session::{Session, not_for_clusters, threads};
use crate::args::ReconstructArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{Data, ReadOptions};
use crate::output;
use crate::output::summary::{counted, percent, short};
use crate::records::Common;

/// What the record of a reconstruction has of its own.
#[derive(Serialize)]
struct ReconstructBody {
    #[serde(flatten)]
    common: Common,
    model: String,
    data: String,
    output: String,
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    threads: usize,
    /// How points were found: the name of a pre-image method, or `autoencoder`.
    method: &'static str,
    /// Rows whose point was not found.
    n_not_converged: usize,
    #[serde(flatten)]
    measured: Measured,
}

/// How good the points are, over all rows.
#[derive(Serialize)]
#[serde(untagged)]
enum Measured {
    /// By squared distances in feature space.
    Errors { mean_error: f64, largest_error: f64 },
    /// By the losses of an autoencoder.
    Losses { mean_loss: f64, largest_loss: f64 },
}

/// What was found, over all rows so far.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    n_samples: usize,
    n_not_converged: usize,
    /// The mean of the errors, or of the losses.
    mean: f64,
    largest: f64,
}

impl Tally {
    fn add(&mut self, measured: &[f64], n_not_converged: usize) {
        let before = self.mean * self.n_samples as f64;
        self.n_samples += measured.len();
        self.mean = (before + measured.iter().sum::<f64>()) / self.n_samples.max(1) as f64;
        self.largest = measured.iter().copied().fold(self.largest, f64::max);
        self.n_not_converged += n_not_converged;
    }
}

/// Runs the command.
pub(super) fn run(args: &ReconstructArgs) -> Result<ExitStatus> {
    let session = Session::start("reconstruct", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.threads);
    session.check_standard_output(&args.output)?;
    output::score_format(&args.output)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points), ("model", &args.model)])?;
    match session.load_any(&args.model)? {
        AnyModel::KernelPca(model) => of_kernel_pca(args, &model, session),
        AnyModel::Autoencoder(model) => {
            let model = args.threads.into_iter().fold(*model, Autoencoder::with_threads);
            of_autoencoder(args, &model, session)
        }
        AnyModel::Clusters(model) => Err(not_for_clusters(&args.model, &model, "a reconstruction")),
    }
}

fn of_kernel_pca(args: &ReconstructArgs, model: &Model, mut session: Session<'_>) -> Result<ExitStatus> {
    let method = args.method.unwrap_or_else(|| PreimageMethod::for_kernel(model.kernel()));
    let settings = settings(args, method);
    let known = model.basis().n_samples();
    if let Some(asked) = args.neighbors.filter(|&asked| method == PreimageMethod::Distance && asked > known) {
        session.warn(format!("--neighbors is {asked}, but the model has {known} points: all of them are used"));
    }
    let (d, scaling) = (model.n_features(), model.scaling());
    let options = session.query_options(&args.data, d, model.feature_names(), scaling)?;
    let rows = rows(args, options, scale_of_bytes(model.basis(), scaling))?;
    let mut tally = Tally::default();
    let prepared = session.timed("prepare", |session| {
        Ok(settings.prepare(model, &mercer::Watch::new().interrupt(session.interrupt.flag()))?)
    })?;
    let written = rows.write(&mut session, &names(&["feature_error", "converged"]), |points, watch| {
        let found = prepared.of_points(points, watch)?;
        tally.add(&found.feature_error, found.n_not_converged());
        Ok(Mat::from_fn(found.points.nrows(), d + 2, |i, k| match k {
            k if k < d => found.points[(i, k)],
            k if k == d => found.feature_error[i],
            _ => f64::from(u8::from(found.converged[i])),
        }))
    })?;
    finish(args, written, &session, (model.n_components(), Some(method)), tally)
}

fn of_autoencoder(args: &ReconstructArgs, model: &Autoencoder, mut session: Session<'_>) -> Result<ExitStatus> {
    let given = [
        ("--method", args.method.is_some()),
        ("--max-iterations", args.max_iterations.is_some()),
        ("--tolerance", args.tolerance.is_some()),
        ("--restarts", args.restarts.is_some()),
        ("--neighbors", args.neighbors.is_some()),
        ("--alpha", args.alpha.is_some()),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag} is not for an autoencoder, which decodes in its own way")));
    }
    let threads = threads(args.threads)?;
    let rows = rows(args, session.code_options(&args.data, model)?, None)?;
    let d = model.n_features();
    let mut tally = Tally::default();
    let written = rows.write(&mut session, &names(&["loss"]), |points, watch| {
        let reference = (model.sign() == Sign::Nearest).then_some(points);
        let codes = model.encode_watched(points, &threads, watch)?;
        let decoded = model.decode_watched(codes.as_ref(), reference, &threads, watch)?;
        let losses = model.losses_watched(points, &threads, watch)?;
        tally.add(&losses, decoded.n_not_converged());
        Ok(Mat::from_fn(losses.len(), d + 1, |i, k| if k < d { decoded.points[(i, k)] } else { losses[i] }))
    })?;
    if tally.n_not_converged > 0 {
        session.warn(format!(
            "{} of {} codes were decoded by eigenpairs that have not converged: their points have fewer digits",
            tally.n_not_converged, tally.n_samples
        ));
    }
    finish(args, written, &session, (model.n_components(), None), tally)
}

fn settings(args: &ReconstructArgs, method: PreimageMethod) -> Preimage {
    let settings = Preimage::new(method);
    let settings = args.max_iterations.into_iter().fold(settings, Preimage::max_iterations);
    let settings = args.tolerance.into_iter().fold(settings, Preimage::tolerance);
    let settings = args.restarts.into_iter().fold(settings, Preimage::restarts);
    let settings = args.neighbors.into_iter().fold(settings, Preimage::neighbors);
    let settings = args.alpha.into_iter().fold(settings, Preimage::alpha);
    args.threads.into_iter().fold(settings, Preimage::threads)
}

/// The rows that are read, and where points go.
fn rows(args: &ReconstructArgs, options: ReadOptions, byte_scale: Option<f64>) -> Result<Rows<'_>> {
    let format = output::score_format(&args.output)?;
    Ok(Rows { points: &args.points, options, output: &args.output, format, phase: "reconstruct", byte_scale })
}

/// The names of points' columns, and of those beside them.
fn names<'a>(beside: &'a [&'a str]) -> impl Fn(&Data) -> Vec<String> + 'a {
    move |data: &Data| data.column_names(beside).into_iter().chain(beside.iter().map(|&name| name.to_owned())).collect()
}

/// Says what was done; without a method it was an autoencoder that decoded.
fn finish(
    args: &ReconstructArgs,
    written: Written,
    session: &Session<'_>,
    (n_components, method): (usize, Option<PreimageMethod>),
    Tally { n_not_converged, mean, largest, .. }: Tally,
) -> Result<ExitStatus> {
    let n = written.n_samples;
    let (what, measured) = match method {
        Some(_) => ("error", Measured::Errors { mean_error: mean, largest_error: largest }),
        None => ("loss", Measured::Losses { mean_loss: mean, largest_loss: largest }),
    };
    let method = method.map_or("autoencoder", PreimageMethod::name);
    let place =
        if args.output == Path::new("-") { String::new() } else { format!(", written to {}", args.output.display()) };
    let (missed, status) = if n_not_converged > 0 {
        let share = percent(n_not_converged as f64 / n.max(1) as f64);
        (format!("; {n_not_converged} ({share}) did not converge"), ExitStatus::NotConverged)
    } else {
        (String::new(), ExitStatus::Done)
    };
    let points = counted(n, "point");
    session.console.note(&format!("{points} by {method}, mean {what} {}{missed}{place}", short(mean)));
    let body = ReconstructBody {
        common: session.common(),
        model: args.model.display().to_string(),
        data: written.data,
        output: args.output.display().to_string(),
        n_samples: n,
        n_features: written.n_features,
        n_components,
        threads: threads(args.threads)?.count(),
        method,
        n_not_converged,
        measured,
    };
    session.finish(status, &body, None)
}
