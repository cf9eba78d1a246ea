//! `mercer completions`: a script that makes a shell complete commands and flags.

use clap::CommandFactory;

use crate::args::{Cli, CompletionsArgs};
use crate::console::print;
use crate::failure::{ExitStatus, Result};

/// Runs the command.
pub(super) fn run(args: &CompletionsArgs) -> Result<ExitStatus> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "mercer", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Done)
}
