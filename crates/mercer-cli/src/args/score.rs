//! Arguments of `mercer score`.

use std::path::PathBuf;

use clap::Args;

use super::data::QueryArgs;
use super::numbers::{number, whole};
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer score`.
#[derive(Debug, Args)]
#[command(after_help = "\
For every row: reconstruction_error, the squared distance in feature space from what the components
explain; t_squared, the squared distance along them in units of their variance (Hotelling's T2); and
novel, 1 if either is beyond the limit that the share LEVEL of the training points keeps.

Example:
  mercer score digits.mercer new.csv --label digit --limit 0.99 -o novelty.csv")]
pub(crate) struct ScoreArgs {
    /// Model that `mercer fit` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Points: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Share of the training points that is within the limits: 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995 or 0.999
    /// [default: 0.99]
    #[arg(long, value_name = "LEVEL", value_parser = number, allow_negative_numbers = true)]
    pub(crate) limit: Option<f64>,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) data: QueryArgs,
    /// Where the table goes: .csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm by its name; - is CSV on
    /// standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
