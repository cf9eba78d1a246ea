//! `mercer info`: what a model file holds.

use mercer::Model;

use crate::args::InfoArgs;
use crate::console::print;
use crate::failure::{ExitStatus, Result};
use crate::output;

/// Runs the command.
pub(super) fn run(args: &InfoArgs) -> Result<ExitStatus> {
    let model = Model::load(&args.model)?;
    let record = model.record();
    if args.json {
        print(&output::record_json(record)?)?;
    } else {
        print(&output::summary(record))?;
    }
    Ok(ExitStatus::Done)
}
