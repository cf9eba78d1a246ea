//! `mercer help`: a command's own help, or a screen about kernels or methods.

use clap::{CommandFactory, Parser};

use crate::args::{Cli, HelpArgs};
use crate::console::{print, print_message};
use crate::failure::{ExitStatus, Failure, Result};
use crate::spelling::nearest_topic;

const KERNELS: &str = include_str!("kernels.txt");
const METHODS: &str = include_str!("methods.txt");

/// Runs the command.
pub(super) fn run(args: &HelpArgs) -> Result<ExitStatus> {
    match args.topic.as_deref() {
        Some("kernel" | "kernels") => print(KERNELS).map(|()| ExitStatus::Done),
        Some("method" | "methods") => print(METHODS).map(|()| ExitStatus::Done),
        topic => match topic.and_then(similar_topic) {
            Some(near) => Err(Failure::usage(format!("there is no such topic, but there is `mercer help {near}`"))),
            None => from_flags(topic),
        },
    }
}

/// The topic that was probably meant, if it was no command.
fn similar_topic(topic: &str) -> Option<String> {
    if Cli::command().find_subcommand(topic).is_some() {
        return None;
    }
    nearest_topic(topic, &["kernels", "methods"])
}

/// `mercer help fit` is `mercer fit --help`; for what is like no command, clap says so.
fn from_flags(topic: Option<&str>) -> Result<ExitStatus> {
    let words = std::iter::once("mercer").chain(topic).chain(["--help"]);
    let Err(message) = Cli::try_parse_from(words) else { return Ok(ExitStatus::Done) };
    print_message(&message)?;
    Ok(if message.use_stderr() { ExitStatus::BadInput } else { ExitStatus::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A screen: what fits a terminal window of usual size without scrolling.
    const LINES: usize = 40;
    const COLUMNS: usize = 100;

    #[test]
    fn a_topic_is_a_screen() {
        for text in [KERNELS, METHODS] {
            assert!(text.lines().count() <= LINES, "{} lines", text.lines().count());
            for line in text.lines() {
                assert!(line.chars().count() <= COLUMNS, "too wide: {line}");
            }
        }
    }

    #[test]
    fn every_kernel_and_every_choice_is_explained() {
        for name in mercer::kernel::NAMES.iter().chain(&["precomputed"]) {
            assert!(KERNELS.lines().any(|line| line.trim_start().starts_with(name)), "{name} is not explained");
        }
        let choices =
            mercer::GramChoice::NAMES.iter().chain(mercer::SolverChoice::NAMES).chain(&["nystrom", "hebbian"]);
        for name in choices.filter(|&&name| name != "auto") {
            assert!(METHODS.lines().any(|line| line.trim_start().starts_with(name)), "{name} is not explained");
        }
    }
}
