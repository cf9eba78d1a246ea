//! `mercer info`: what a model file holds.

use mercer::AnyModel;

use super::autoencoder;
use super::session::Session;
use crate::args::{InfoArgs, ProgressChoice};
use crate::failure::{ExitStatus, Result};
use crate::output;

/// Runs the command.
pub(super) fn run(args: &InfoArgs) -> Result<ExitStatus> {
    let mut session = Session::start("info", &args.report, ProgressChoice::None)?;
    session.check_outputs(None, &[("model", &args.model)])?;
    match session.load_any(&args.model)? {
        AnyModel::KernelPca(model) => {
            session.finish(ExitStatus::Done, model.record(), Some(&output::summary(model.record())))
        }
        AnyModel::Autoencoder(model) => autoencoder::show(&model, ExitStatus::Done, &session),
    }
}
