//! Arguments of `mercer cluster`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataArgs;
use super::fit::{KernelArgs, SolveArgs};
use super::hebbian::{FitSolver, HebbianArgs, solvers};
use super::numbers::whole;
use super::nystrom::{FitGram, LandmarkArgs, grams};
use super::report::{ProgressArgs, ReportArgs};
use super::values::ColumnName;

/// Arguments of `mercer cluster`.
#[derive(Debug, Args)]
#[command(
    // Flags that are shared with `fit`, but mean nothing here or something else.
    mut_arg("n_components", |flag| flag.help("Number of eigenvectors [default: the number of clusters]")),
    mut_arg("variance", |flag| flag.hide(true)),
    mut_arg("no_center", |flag| flag.hide(true)),
    mut_arg("negative", |flag| flag.hide(true)),
    after_help = "\
Spectral clustering after Ng, Jordan and Weiss: eigenvectors of the kernel
matrix with its rows and columns over the roots of their sums, each point's
row of them brought to unit length, and k-means.

Example:
  mercer cluster digits.csv --labels digit --scale 1/16 --bandwidth 1.5 \\
      -k 10 -o clusters.csv"
)]
pub(crate) struct ClusterArgs {
    /// Points, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Number of clusters
    #[arg(short = 'k', long, value_name = "K", value_parser = whole::<usize>, help_heading = "Clusters")]
    pub(crate) n_clusters: usize,
    /// Known classes, to compare the clusters with: a column or array as for --label; taken out of the data
    #[arg(
        long,
        value_name = "COLUMN",
        allow_hyphen_values = true,
        conflicts_with = "label",
        help_heading = "Clusters"
    )]
    pub(crate) labels: Option<ColumnName>,
    /// Restarts of k-means
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value_t = 10, help_heading = "Clusters")]
    pub(crate) restarts: usize,
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
    /// How eigenvectors are found
    #[arg(
        long, value_name = "CHOICE", default_value = "auto", value_parser = solvers(),
        help_heading = "Components and method"
    )]
    pub(crate) solver: FitSolver,
    #[command(flatten)]
    pub(crate) hebbian: HebbianArgs,
    #[command(flatten, next_help_heading = "Approximation (--gram nystrom)")]
    pub(crate) landmarks: LandmarkArgs,
    /// Where the number of each row's cluster goes: .csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm by its name; - is CSV on
    /// standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    /// Save the clusters as a model: `mercer transform` tells those of new rows with it
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
