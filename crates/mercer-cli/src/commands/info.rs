//! `mercer info`: what a model file holds.

use mercer::{AnyModel, RunRecord};
use serde::Serialize;

use super::session::Session;
use super::{autoencoder, cluster};
use crate::args::{InfoArgs, ProgressChoice};
use crate::failure::{ExitStatus, Result};
use crate::output;
use crate::output::summary::columns;
use crate::records::ScalingRecord;

/// The record of the fit, and what is not in it.
#[derive(Serialize)]
struct InfoBody<'a> {
    #[serde(flatten)]
    record: &'a RunRecord,
    /// Names of the columns; absent if they had none.
    #[serde(skip_serializing_if = "Option::is_none")]
    feature_names: Option<&'a [String]>,
    /// What is done to new points first; absent if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    scaling: Option<ScalingRecord<'a>>,
}

/// Runs the command.
pub(super) fn run(args: &InfoArgs) -> Result<ExitStatus> {
    let mut session = Session::start("info", &args.report, ProgressChoice::None)?;
    session.check_outputs(None, &[("model", &args.model)])?;
    match session.load_any(&args.model)? {
        AnyModel::KernelPca(model) => {
            let (feature_names, scaling) = (model.feature_names(), model.scaling());
            let body = InfoBody { record: model.record(), feature_names, scaling: scaling.map(ScalingRecord::from) };
            let about_columns = columns(feature_names) + &output::summary::scaling(scaling);
            session.finish_with(ExitStatus::Done, &body, &(about_columns + &output::summary(model.record())))
        }
        AnyModel::Autoencoder(model) => autoencoder::show(&model, &session),
        AnyModel::Clusters(model) => cluster::show(&model, &session),
    }
}
