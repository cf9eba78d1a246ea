//! The `mercer` command: kernel PCA of files.
//!
//! Data flows one way: what was typed (`args`) → what it means, one file per command (`commands`) → the library →
//! files (`output`, `picture`) and talk (`console`, `progress`). Only [`main`] knows about the process: its arguments
//! and its exit code.

mod args;
mod commands;
mod console;
mod failure;
mod input;
mod interrupt;
mod output;
mod picture;
mod progress;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::console::Console;
use crate::failure::ExitStatus;

/// Runs the command that the process was started with and returns its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => {
            // If nobody listens there is nobody to tell.
            let _ = message.print();
            return ExitCode::from(if message.use_stderr() {
                ExitStatus::BadInput.code()
            } else {
                ExitStatus::Done.code()
            });
        }
    };
    let status = commands::run(cli.command).unwrap_or_else(|failure| {
        if !failure.is_broken_pipe() {
            Console::new(false).failure(&failure);
        }
        failure.status()
    });
    ExitCode::from(status.code())
}
