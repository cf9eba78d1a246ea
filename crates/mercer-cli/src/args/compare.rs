//! Arguments of `mercer compare`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataArgs;
use super::fit::{KernelArgs, SolveArgs};
use super::report::{ProgressArgs, ReportArgs};
use super::values::{ComparedMethod, method_names};

/// Arguments of `mercer compare`.
#[derive(Debug, Args)]
#[command(
    // There is no --solver here, so no default of its own either.
    mut_arg("tolerance", |flag| {
        flag.help(
            "Largest residual of a component, relative to the first eigenvalue; nystrom reaches what its landmarks allow [default: 1e-9, \
             1e-5 in single precision, 0.01 for hebbian]",
        )
    }),
    mut_arg("max_passes", |flag| {
        flag.help("Stop after this many passes over the kernel matrix, converged or not; of hebbian as many are made [default: 10]")
    }),
    after_help = "\
Example:
  mercer compare digits.csv --label digit --scale 1/16 -n 5 \\
      --methods tiled/krylov,lanczos,nystrom"
)]
pub(crate) struct CompareArgs {
    /// Points, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Methods, separated by commas: a solver (dense, krylov, lanczos, subspace, power, auto), or tiled/SOLVER,
    /// stored/SOLVER or expansion/SOLVER; approximations are `nystrom` (as many landmarks as `fit --gram nystrom` takes) and
    /// `hebbian` (the kernel Hebbian algorithm) [default: krylov, lanczos and subspace on kept tiles, krylov on recomputed ones;
    /// dense up to 3000 points]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = method_names(), hide_possible_values = true)]
    pub(crate) methods: Vec<ComparedMethod>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) kernel: KernelArgs,
    #[command(flatten)]
    pub(crate) solve: SolveArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
