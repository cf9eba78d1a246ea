//! Arguments of `mercer plan`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataArgs;
use super::fit::{KernelArgs, SolveArgs};
use super::hebbian::{FitSolver, HebbianArgs, UpdatesArgs, solvers};
use super::nystrom::{FitGram, NystromArgs, grams};
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer plan digits.csv --label digit --scale 1/16 -n 10 --memory 1GiB

The same where an approximation over landmarks is allowed:
  mercer plan digits.csv --label digit --scale 1/16 -n 10 --accuracy 0.05")]
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
    /// Whether the kernel matrix is kept in memory, recomputed tile by tile in every pass, expanded, or replaced by what landmarks
    /// make of it
    #[arg(
        long, value_name = "CHOICE", default_value = "auto", value_parser = grams(),
        help_heading = "Components and method"
    )]
    pub(crate) gram: FitGram,
    /// How components are found
    #[arg(
        long, value_name = "CHOICE", default_value = "auto", value_parser = solvers(),
        help_heading = "Components and method"
    )]
    pub(crate) solver: FitSolver,
    #[command(flatten)]
    pub(crate) hebbian: HebbianArgs,
    #[command(flatten)]
    pub(crate) length: UpdatesArgs,
    #[command(flatten)]
    pub(crate) nystrom: NystromArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
