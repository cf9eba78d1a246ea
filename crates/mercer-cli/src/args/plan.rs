//! Arguments of `mercer plan`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataArgs;
use super::fit::{KernelArgs, MethodArgs, SolveArgs};
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer plan digits.csv --label digit --scale 1/16 -n 10 --memory 1GiB")]
pub(crate) struct PlanArgs {
    /// Points, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) method: MethodArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
