//! `mercer info`: what a model file holds.

use mercer::{AnyModel, RunRecord};
use serde::Serialize;

use super::session::Session;
use super::{autoencoder, cluster};
use crate::args::{InfoArgs, ProgressChoice};
use crate::failure::{ExitStatus, Result};
use crate::output;

/// The record of the fit, and what is not in it.
#[derive(Serialize)]
struct InfoBody<'a> {
    #[serde(flatten)]
    record: &'a RunRecord,
    /// Names of the columns; absent if they had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_names: Option<&'a [String]>,
}

/// Runs the command.
pub(super) fn run(args: &InfoArgs) -> Result<ExitStatus> {
    let mut session = Session::start("info", &args.report, ProgressChoice::None)?;
    session.check_outputs(None, &[("model", &args.model)])?;
    match session.load_any(&args.model)? {
        AnyModel::KernelPca(model) => {
            let body = InfoBody { record: model.record(), feature_names: model.feature_names() };
            let columns = output::summary::columns(model.feature_names());
            session.finish_with(ExitStatus::Done, &body, &(columns + &output::summary(model.record())))
        }
        AnyModel::Autoencoder(model) => autoencoder::show(&model, &session),
        AnyModel::Clusters(model) => cluster::show(&model, &session),
    }
}
