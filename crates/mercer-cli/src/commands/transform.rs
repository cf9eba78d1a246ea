//! `mercer transform`: scores of points under a model.

use std::path::Path;

use mercer::AnyModel;
use mercer::autoencoder::Codec;
use serde::Serialize;

use super::blocks::Rows;
use super::session::{Session, threads};
use crate::args::TransformArgs;
use crate::failure::{ExitStatus, Result};
use crate::input::Data;
use crate::output;
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
    let session = Session::start("transform", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.threads);
    session.check_standard_output(&args.output)?;
    let format = output::score_format(&args.output)?;
    let threads = threads(args.threads)?;
    session.check_outputs([args.output.as_path()], &[("data", &args.points), ("model", &args.model)])?;
    let model = session.load_any(&args.model)?;
    let (options, k, known) = match &model {
        AnyModel::KernelPca(model) => (session.query_options(&args.data, model)?, model.n_components(), Some(&**model)),
        AnyModel::Autoencoder(model) => (session.code_options(&args.data, model)?, model.n_components(), None),
    };
    let (points, output, phase) = (args.points.as_path(), args.output.as_path(), "transform");
    let rows = Rows { points, options, output, format, phase, model: known };
    let names = |_: &Data| output::component_names(k);
    let written = rows.write(&mut session, &names, |points, watch| match &model {
        AnyModel::KernelPca(model) => model.transform_watched(points, &threads, watch),
        AnyModel::Autoencoder(model) => model.encode_watched(points, &threads, watch),
    })?;
    let n = written.n_samples;
    if args.output != Path::new("-") {
        session.console.note(&format!("{n} rows of {k} scores written to {}", args.output.display()));
    }
    let body = TransformBody {
        common: session.common(),
        model: args.model.display().to_string(),
        data: written.data,
        output: args.output.display().to_string(),
        n_samples: n,
        n_features: written.n_features,
        n_components: k,
        threads: threads.count(),
    };
    session.finish(ExitStatus::Done, &body, None)
}
