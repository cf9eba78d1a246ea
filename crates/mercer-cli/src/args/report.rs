//! How a command reports: the same flags for every command that has something to report.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Flags that say where the record of a run goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ReportArgs {
    /// Print the record of the run as JSON instead of a table; errors too
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the record of the run to a file as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Say nothing but errors, print nothing but data
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// The flag of commands that can take long.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct ProgressArgs {
    /// How progress is shown on standard error; auto is a bar on a terminal and plain lines elsewhere
    #[arg(long, value_name = "STYLE", value_enum, default_value_t)]
    pub(crate) progress: ProgressChoice,
}

/// How progress is shown. (Comments on the variants would become paragraphs of every command's help.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressChoice {
    #[default]
    Auto,
    Bar,
    Plain,
    None,
}
