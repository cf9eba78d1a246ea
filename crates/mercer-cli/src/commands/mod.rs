//! One file per command: from what was typed to what it means, and then to work.

mod demo;
mod fit;
mod info;
mod learn;
mod transform;

use crate::args::Command;
use crate::failure::{ExitStatus, Result};

/// Does what was asked.
pub(crate) fn run(command: Command) -> Result<ExitStatus> {
    match command {
        Command::Fit(args) => fit::run(&args),
        Command::Transform(args) => transform::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Demo(args) => demo::run(&args),
    }
}
