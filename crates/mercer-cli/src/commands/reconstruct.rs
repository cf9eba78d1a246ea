//! `mercer reconstruct`: what a model keeps of points, as points.

use std::path::Path;

use faer::Mat;
use mercer::autoencoder::{Autoencoder, Codec, Sign};
use mercer::kernel::Pairing;
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{AnyModel, Kernel, Model};
use serde::Serialize;

use super::blocks::{in_blocks, warn_of_scales};
use super::session::{Session, threads};
use crate::args::ReconstructArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::Data;
use crate::output::summary::{percent, short};
use crate::output::{self, OutputFile, ScoreWriter};
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
    #[serde(flatten)]
    tally: Tally,
}

/// What was found, over all rows.
#[derive(Clone, Debug, Default, Serialize)]
struct Tally {
    /// Rows whose point was not found; absent for an autoencoder.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_not_converged: Option<usize>,
    /// The mean of the last column but one, or of the losses.
    mean_error: f64,
    largest_error: f64,
}

impl Tally {
    fn add(&mut self, errors: &[f64], n: usize) {
        self.mean_error += errors.iter().sum::<f64>() / n.max(1) as f64;
        self.largest_error = errors.iter().copied().fold(self.largest_error, f64::max);
    }
}

/// Runs the command.
pub(super) fn run(args: &ReconstructArgs) -> Result<ExitStatus> {
    let mut session = Session::start("reconstruct", &args.report, args.progress.progress)?;
    session.check_standard_output(&args.output)?;
    output::score_format(&args.output)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points), ("model", &args.model)])?;
    match session.load_any(&args.model)? {
        AnyModel::KernelPca(model) => of_kernel_pca(args, &model, session),
        AnyModel::Autoencoder(model) => {
            let model = args.threads.into_iter().fold(*model, Autoencoder::with_threads);
            of_autoencoder(args, &model, session)
        }
    }
}

fn of_kernel_pca(args: &ReconstructArgs, model: &Model, mut session: Session<'_>) -> Result<ExitStatus> {
    let method = args.method.unwrap_or_else(|| default_method(model.kernel()));
    let settings = settings(args, method);
    let data = session.read_queries(&args.points, &args.data, model)?;
    warn_of_scales(model, &data.points, &mut session);
    session.interrupt.wait_for_safe_points();
    let (n, d) = (data.points.n_samples(), model.n_features());
    let mut tally = Tally { n_not_converged: Some(0), ..Tally::default() };
    session.timed("reconstruct", |session| {
        let prepared = settings.prepare(model, &mercer::Watch::new().interrupt(session.interrupt.flag()))?;
        write(args, &data, session, d, &["feature_error", "converged"], |rows, watch| {
            let found = prepared.of_points(&data.points.slice(rows), watch).map_err(Failure::in_data(&data.name))?;
            tally.add(&found.feature_error, n);
            tally.n_not_converged = tally.n_not_converged.map(|count| count + found.n_not_converged());
            Ok(Mat::from_fn(found.points.nrows(), d + 2, |i, k| match k {
                k if k < d => found.points[(i, k)],
                k if k == d => found.feature_error[i],
                _ => f64::from(u8::from(found.converged[i])),
            }))
        })
    })?;
    finish(args, &data, &session, (model.n_components(), d, method.name()), tally)
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
    let data = session.read_codes(&args.points, &args.data, model)?;
    session.interrupt.wait_for_safe_points();
    let (n, d) = (data.points.n_samples(), model.n_features());
    let mut tally = Tally::default();
    session.timed("reconstruct", |session| {
        write(args, &data, session, d, &["loss"], |rows, watch| {
            let points = data.points.slice(rows);
            let reference = (model.sign() == Sign::Nearest).then_some(&points);
            let decoded = model
                .encode_watched(&points, &threads, watch)
                .and_then(|codes| model.decode_watched(codes.as_ref(), reference, &threads, watch));
            let losses = model.losses(&points)?;
            tally.add(&losses, n);
            let decoded = decoded.map_err(Failure::in_data(&data.name))?;
            Ok(Mat::from_fn(losses.len(), d + 1, |i, k| if k < d { decoded[(i, k)] } else { losses[i] }))
        })
    })?;
    finish(args, &data, &session, (model.n_components(), d, "autoencoder"), tally)
}

/// The method that suits a kernel, if none was asked for.
fn default_method(kernel: &Kernel) -> PreimageMethod {
    match kernel.pairing() {
        _ if matches!(kernel, Kernel::Gaussian(_)) => PreimageMethod::FixedPoint,
        Some(Pairing::InnerProduct | Pairing::SquaredDistance | Pairing::Cosine) => PreimageMethod::Gradient,
        _ => PreimageMethod::Ridge,
    }
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

/// Writes what `work` makes of blocks of rows: points, and columns of these names.
fn write(
    args: &ReconstructArgs,
    data: &Data,
    session: &Session<'_>,
    d: usize,
    beside: &[&str],
    mut work: impl FnMut(std::ops::Range<usize>, &mercer::Watch<'_>) -> Result<Mat<f64>>,
) -> Result<()> {
    let format = output::score_format(&args.output)?;
    if let Some(note) = output::left_out(format, data.labels.as_ref(), data.ids.as_ref()) {
        session.console.note(&note);
    }
    let n = data.points.n_samples();
    let names = (1..=d).map(|k| format!("x{k}")).chain(beside.iter().map(|&name| name.to_owned())).collect();
    let file = OutputFile::create(&args.output)?;
    let mut writer = ScoreWriter::with_columns(file, format, n, names, data.labels.as_ref())?.ids(data.ids.as_ref());
    in_blocks(session, n, d, |rows, watch| {
        let block = work(rows, watch);
        session.meter.clear();
        writer.write(block?.as_ref())
    })?;
    writer.finish()
}

fn finish(
    args: &ReconstructArgs,
    data: &Data,
    session: &Session<'_>,
    (n_components, n_features, method): (usize, usize, &'static str),
    tally: Tally,
) -> Result<ExitStatus> {
    let n = data.points.n_samples();
    let written =
        if args.output == Path::new("-") { String::new() } else { format!(", written to {}", args.output.display()) };
    let missed = match tally.n_not_converged {
        Some(count) if count > 0 => {
            format!("; {count} ({}) did not converge", percent(count as f64 / n.max(1) as f64))
        }
        _ => String::new(),
    };
    session.console.note(&format!("{n} points by {method}, mean error {}{missed}{written}", short(tally.mean_error)));
    let body = ReconstructBody {
        common: session.common(),
        model: args.model.display().to_string(),
        data: data.name.clone(),
        output: args.output.display().to_string(),
        n_samples: n,
        n_features,
        n_components,
        threads: threads(args.threads)?.count(),
        method,
        tally,
    };
    session.finish(ExitStatus::Done, &body, None)
}
