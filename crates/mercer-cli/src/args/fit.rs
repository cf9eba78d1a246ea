//! Arguments of `mercer fit`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use mercer::{MemoryBudget, Negative};

use super::autoencoder::{AutoencoderArgs, FitMethod};
use super::data::DataArgs;
use super::hebbian::{FitSolver, HebbianArgs, HistoryArgs, solvers};
use super::numbers::{number, whole};
use super::nystrom::{FitGram, NystromArgs, grams};
use super::report::{ProgressArgs, ReportArgs};
use super::values::{Gamma, TimeLimit};

/// Arguments of `mercer fit`.
#[derive(Debug, Args)]
#[command(
    override_usage = "mercer fit [OPTIONS] --output <MODEL> <DATA>",
    after_help = "\
Example:
  mercer fit points.csv --kernel gaussian --gamma median --n-components 10 \\
      -o points.mercer

Images in a NumPy array, as many components as explain 90 % of the variance, in 2 GiB:
  mercer fit images.npy --scale 1/255 --bandwidth 8 --variance 0.9 \\
      --memory 2GiB -o images.mercer

By iteration, with gains that are found by trying:
  mercer fit points.csv --solver hebbian --gain smd --passes 20 \\
      --tolerance 0.5 -o points.mercer

Over 1000 landmarks, an approximation whose error is part of the record:
  mercer fit images.npy --gram nystrom --n-landmarks 1000 -n 20 -o images.mercer

The same from a file that is larger than memory:
  mercer fit digits.csv --label digit --gram nystrom --blocks -n 20 \\
      --gamma 1e-3 -o digits.mercer

Codes from which points can be reconstructed:
  mercer fit points.csv --method autoencoder --epochs 10 -n 2 -o codes.mercer"
)]
pub(crate) struct FitArgs {
    /// Points, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// What is learned: components in feature space, or an encoder and a decoder
    #[arg(long, value_name = "CHOICE", value_enum, default_value_t, help_heading = "Components and method")]
    pub(crate) method: FitMethod,
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
    pub(crate) history: HistoryArgs,
    /// Model whose components --solver hebbian starts from [default: components at random]
    #[arg(long, value_name = "MODEL", help_heading = "Kernel Hebbian algorithm (--solver hebbian)")]
    pub(crate) initial_model: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) autoencoder: AutoencoderArgs,
    #[command(flatten)]
    pub(crate) nystrom: NystromArgs,
    #[command(flatten)]
    pub(crate) checkpoint: CheckpointArgs,
    /// Where the model goes
    #[arg(short, long, value_name = "MODEL", help_heading = "Output", required_unless_present = "dry_run")]
    pub(crate) output: Option<PathBuf>,
    /// Say what would be done and what it would cost, as `mercer plan` does, and stop
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Flags that let a fit be cut off and go on.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Long fits")]
pub(crate) struct CheckpointArgs {
    /// Keep the state of the fit in a file after passes (with --solver hebbian in the middle of them too), so that it can go on after
    /// a crash; removed when the model is saved and has converged
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,
    /// Go on from the checkpoint, if there is one
    #[arg(long, requires = "checkpoint")]
    pub(crate) resume: bool,
    /// The least time between two states that are kept
    #[arg(long, value_name = "TIME", requires = "checkpoint", default_value = "10s")]
    pub(crate) checkpoint_every: TimeLimit,
}

/// Flags that choose the kernel.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Kernel")]
pub(crate) struct KernelArgs {
    /// Kernel function [default: gaussian]
    #[arg(long, value_name = "NAME", value_parser = kernel_names())]
    kernel: Option<String>,
    /// Inverse width: a number, `auto` (see `mercer tune`), `scale` (1 / (columns x variance)) or `median` (of the
    /// distances) [default: 1 / columns]
    #[arg(long, value_name = "GAMMA", allow_negative_numbers = true)]
    pub(crate) gamma: Option<Gamma>,
    /// Width sigma, instead of gamma = 1 / (2 sigma^2), or how it is found, as for --gamma
    #[arg(long, value_name = "SIGMA", conflicts_with = "gamma", allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<Gamma>,
    /// Degree of the polynomial kernel [default: 3]
    #[arg(long, value_name = "DEGREE", value_parser = whole::<u32>)]
    pub(crate) degree: Option<u32>,
    /// Constant term of the polynomial and sigmoid kernels [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) coef0: Option<f64>,
    /// Tail exponent of the rational quadratic kernel [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Do not centre the points in feature space
    #[arg(long)]
    pub(crate) no_center: bool,
    /// What to do with significant negative eigenvalues
    #[arg(long, value_name = "CHOICE", default_value = "error", value_parser = choice::<Negative>(Negative::NAMES))]
    pub(crate) negative: Negative,
}

impl KernelArgs {
    /// The name of the kernel.
    pub(crate) fn name(&self) -> &str {
        self.kernel.as_deref().unwrap_or("gaussian")
    }

    /// Whether a kernel was named.
    pub(crate) fn is_named(&self) -> bool {
        self.kernel.is_some()
    }
}

/// Flags that say how many components are wanted, how exact, and within which limits.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Components and method")]
pub(crate) struct SolveArgs {
    /// Number of components [default: 2]
    #[arg(short, long, value_name = "K", value_parser = whole::<usize>, conflicts_with = "variance")]
    pub(crate) n_components: Option<usize>,
    /// As many components as explain this share of the variance, such as 0.95
    #[arg(long, value_name = "SHARE", value_parser = number, allow_negative_numbers = true)]
    pub(crate) variance: Option<f64>,
    /// Largest residual of a component, relative to the first eigenvalue [default: 1e-9, 1e-5 in single precision, 0.01 with
    /// --solver hebbian]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Memory to use at most beyond the data, such as 4GiB or 70% (of what is available) [default: 70%]
    #[arg(long, value_name = "SIZE", value_parser = memory)]
    pub(crate) memory: Option<MemoryBudget>,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    /// Precision of the kernel matrix [default: that of the data, or f64 where the tolerance asks for it]
    #[arg(long, value_name = "PRECISION", value_enum)]
    pub(crate) precision: Option<PrecisionChoice>,
    /// Seed of everything random
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Stop after this many passes over the kernel matrix, converged or not
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) max_passes: Option<usize>,
    /// Stop after this time (90, 60s, 5m, 2h), reading included, and keep the best so far
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<TimeLimit>,
}

/// The two precisions, as they are typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PrecisionChoice {
    F32,
    F64,
}

/// The kernels that a command can be asked for, with the short names people type.
pub(super) fn kernel_names() -> impl TypedValueParser<Value = String> {
    let names = mercer::kernel::NAMES.into_iter().chain(["precomputed"]);
    PossibleValuesParser::new(names.map(|name| {
        let value = PossibleValue::new(name);
        match name {
            "gaussian" => value.alias("rbf"),
            "polynomial" => value.alias("poly"),
            _ => value,
        }
    }))
}

/// One of the library's named choices; clap suggests the nearest name for a wrong one.
pub(super) fn choice<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = mercer::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

/// A memory budget. The library names the parameter and repeats the value, which clap has already done.
fn memory(text: &str) -> Result<MemoryBudget, String> {
    text.parse().map_err(|error| match error {
        mercer::Error::InvalidParameter { requirement, .. } => format!("give {requirement}"),
        other => other.to_string(),
    })
}
