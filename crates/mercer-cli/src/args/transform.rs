//! Arguments of `mercer transform`.

use std::path::PathBuf;

use clap::Args;

use super::data::QueryArgs;
use super::numbers::whole;
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer transform`.
#[derive(Debug, Args)]
#[command(after_help = "\
A model of components gives scores, an autoencoder codes, and clusters the number of each row's cluster.

Example:
  mercer transform digits.mercer new.csv --label digit -o scores.csv")]
pub(crate) struct TransformArgs {
    /// Model that `mercer fit` or `mercer cluster --model` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Points: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) data: QueryArgs,
    /// Where the scores or clusters go: .csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm by its name; - is CSV on
    /// standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
