//! `mercer transform`: scores of points under a model.

use std::path::Path;

use mercer::AnyModel;
use mercer::autoencoder::Codec;
use serde::Serialize;

use super::blocks::{in_blocks, warn_of_scales};
use super::session::{Session, threads};
use crate::args::TransformArgs;
use crate::failure::{ExitStatus, Failure, Result};
use crate::output::{self, OutputFile, ScoreWriter};
use crate::records::Common;

/// What the record of a transform has of its own.
#[derive(Serialize)]
struct TransformBody {
    #[serde(flatten)]
    common: Common,
    model: String,
    data: String,
    output: String,
    n_samples: usize,
    n_features: usize,
    n_components: usize,
    threads: usize,
}

/// Runs the command.
pub(super) fn run(args: &TransformArgs) -> Result<ExitStatus> {
    let mut session = Session::start("transform", &args.report, args.progress.progress)?;
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    let threads = threads(args.threads)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points), ("model", &args.model)])?;
    let model = session.load_any(&args.model)?;
    let data = match &model {
        AnyModel::KernelPca(model) => session.read_queries(&args.points, &args.data, model)?,
        AnyModel::Autoencoder(model) => session.read_codes(&args.points, &args.data, model)?,
    };
    if let Some(note) = output::left_out(format, data.labels.as_ref(), data.ids.as_ref()) {
        session.console.note(&note);
    }
    if let AnyModel::KernelPca(model) = &model {
        warn_of_scales(model, &data.points, &mut session);
    }

    session.interrupt.wait_for_safe_points();
    let k = match &model {
        AnyModel::KernelPca(model) => model.n_components(),
        AnyModel::Autoencoder(model) => model.n_components(),
    };
    let n = data.points.n_samples();
    session.timed("transform", |session| {
        let file = OutputFile::create(&args.output)?;
        let mut writer = ScoreWriter::new(file, format, (n, k), data.labels.as_ref())?.ids(data.ids.as_ref());
        in_blocks(session, n, k, |rows, watch| {
            let rows = data.points.slice(rows);
            let scores = match &model {
                AnyModel::KernelPca(model) => model.transform_watched(&rows, &threads, watch),
                AnyModel::Autoencoder(model) => model.encode_watched(&rows, &threads, watch),
            };
            session.meter.clear();
            writer.write(scores.map_err(Failure::in_data(&data.name))?.as_ref())
        })?;
        writer.finish()
    })?;
    if args.output != Path::new("-") {
        session.console.note(&format!("{n} rows of {k} scores written to {}", args.output.display()));
    }
    let body = TransformBody {
        common: session.common(),
        model: args.model.display().to_string(),
        data: data.name.clone(),
        output: args.output.display().to_string(),
        n_samples: n,
        n_features: data.points.n_features(),
        n_components: k,
        threads: threads.count(),
    };
    session.finish(ExitStatus::Done, &body, None)
}
