//! What was typed: plain data, checked word by word and no further.

mod data;
mod fit;
mod values;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

pub(crate) use data::DataArgs;
pub(crate) use fit::{FitArgs, KernelArgs, PrecisionChoice, SolveArgs};
pub(crate) use values::{ColumnName, Delimiter, Format, Gamma, ScaleFactor};

/// Kernel PCA of files, exact at any size within a memory budget
#[derive(Debug, Parser)]
#[command(
    name = "mercer",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "\
Example, from nothing to a model and two pictures:
  mercer demo

Exit codes:
  0    done
  1    done, but not converged or interrupted; the model is saved
  2    wrong call or bad input
  3    would not fit the memory budget
  130  interrupted with nothing to save"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One of the things the command can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Learn components from a file and save them as a model
    Fit(Box<FitArgs>),
    /// Scores of points under a model
    Transform(TransformArgs),
    /// What a model file holds
    Info(InfoArgs),
    /// Kernel PCA of bundled handwritten digits, from nothing to pictures
    Demo(DemoArgs),
}

/// Arguments of `mercer transform`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer transform digits.mercer new.csv --label digit --scale 1/16 -o scores.csv")]
pub(crate) struct TransformArgs {
    /// Model that `mercer fit` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Points: .csv, .tsv or .npy; - is CSV on standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Where the scores go: .csv, .tsv or .npy by its name; - is CSV on standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Say nothing but errors
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,
}

/// Arguments of `mercer info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer info digits.mercer --json")]
pub(crate) struct InfoArgs {
    /// Model that `mercer fit` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Print the record of the fit as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `mercer demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer demo --out /tmp/mercer-demo

The same fit by hand, in testdata/digits of the source tree:
  mercer fit digits.csv --label digit --scale 1/16 --bandwidth 2 -n 10 -o digits.mercer")]
pub(crate) struct DemoArgs {
    /// Directory for model, scores, record and pictures; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "mercer-demo")]
    pub(crate) out: PathBuf,
    /// Print the record of the fit as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[cfg(test)]
mod tests;
