//! `mercer transform`: scores of points under a model, or their clusters.

use std::path::Path;

use mercer::AnyModel;
use mercer::autoencoder::Codec;
use serde::Serialize;

use super::blocks::{Rows, scale_of_bytes};
use super::cluster::{self, Members};
use super::session::{Session, threads};
use crate::args::TransformArgs;
use crate::failure::{ExitStatus, Result};
use crate::input::Data;
use crate::output;
use crate::output::summary::counted;
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
    /// Where rows belong; absent unless the model has clusters.
    #[serde(flatten)]
    members: Option<Members>,
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
    let (options, byte_scale) = match &model {
        AnyModel::KernelPca(model) => {
            let (names, scaling) = (model.feature_names(), model.scaling());
            let options = session.query_options(&args.data, model.n_features(), names, scaling)?;
            (options, scale_of_bytes(model.basis(), scaling))
        }
        AnyModel::Autoencoder(model) => (session.code_options(&args.data, model)?, None),
        AnyModel::Clusters(model) => {
            let (names, scaling) = (model.feature_names(), model.scaling());
            let options = session.query_options(&args.data, model.n_features(), names, scaling)?;
            (options, scale_of_bytes(model.basis(), scaling))
        }
    };
    let (k, mut members) = match &model {
        AnyModel::KernelPca(model) => (model.n_components(), None),
        AnyModel::Autoencoder(model) => (model.n_components(), None),
        AnyModel::Clusters(model) => (model.record().n_components, Some(Members::none_of(model))),
    };
    let (points, output, phase) = (args.points.as_path(), args.output.as_path(), "transform");
    let rows = Rows { points, options, output, format, phase, byte_scale };
    let columns = if members.is_some() { vec![cluster::COLUMN.to_owned()] } else { output::component_names(k) };
    let names = |_: &Data| columns.clone();
    let written = rows.write(&mut session, &names, |points, watch| match &model {
        AnyModel::KernelPca(model) => model.transform_watched(points, &threads, watch),
        AnyModel::Autoencoder(model) => model.encode_watched(points, &threads, watch),
        AnyModel::Clusters(model) => {
            let found = model.predict_watched(points, &threads, watch);
            members.get_or_insert_with(|| Members::none_of(model)).add(found)
        }
    })?;
    let n = written.n_samples;
    if args.output != Path::new("-") {
        let scores = || format!("{} of {}", counted(n, "row"), counted(k, "score"));
        let what = members.as_ref().map_or_else(scores, Members::sentence);
        session.console.note(&format!("{what} written to {}", args.output.display()));
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
        members,
    };
    session.finish(ExitStatus::Done, &body, None)
}
