//! Arguments of `mercer classify`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mercer::Negative;

use super::data::DataArgs;
use super::fit::{choice, kernel_names};
use super::numbers::{number, whole};
use super::report::{ProgressArgs, ReportArgs};
use super::values::Gamma;

/// Arguments of `mercer classify`.
#[derive(Debug, Args)]
#[command(
    override_usage = "mercer classify [OPTIONS] --label <COLUMN> <DATA>",
    after_help = "\
Example:
  mercer classify digits.csv --label digit --scale 1/16 --sample 400 \\
      --folds 5 --repeats 1"
)]
pub(crate) struct ClassifyArgs {
    /// Points with labels, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; -
    /// is CSV on standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Kernel function
    #[arg(long, value_name = "NAME", default_value = "gaussian", value_parser = kernel_names(), help_heading = "Kernel")]
    pub(crate) kernel: String,
    /// Inverse width: a number, `auto` (see `mercer tune`), `scale` or `median` [default: auto for kernels of a distance, 1 / columns for
    /// others]
    #[arg(long, value_name = "GAMMA", allow_negative_numbers = true, help_heading = "Kernel")]
    pub(crate) gamma: Option<Gamma>,
    /// Width sigma, instead of gamma = 1 / (2 sigma^2), or how it is found, as for --gamma
    #[arg(
        long,
        value_name = "SIGMA",
        conflicts_with = "gamma",
        allow_negative_numbers = true,
        help_heading = "Kernel"
    )]
    pub(crate) bandwidth: Option<Gamma>,
    /// Degree of the polynomial kernel [default: 3]
    #[arg(long, value_name = "DEGREE", value_parser = whole::<u32>, help_heading = "Kernel")]
    pub(crate) degree: Option<u32>,
    /// Constant term of the polynomial and sigmoid kernels [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, help_heading = "Kernel")]
    pub(crate) coef0: Option<f64>,
    /// Tail exponent of the rational quadratic kernel [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, help_heading = "Kernel")]
    pub(crate) alpha: Option<f64>,
    /// What to do with significant negative eigenvalues
    #[arg(
        long, value_name = "CHOICE", default_value = "error", value_parser = choice::<Negative>(Negative::NAMES),
        help_heading = "Kernel"
    )]
    pub(crate) negative: Negative,
    /// A width for each class, found from its own points
    #[arg(long, help_heading = "Kernel")]
    pub(crate) per_class: bool,
    #[command(flatten)]
    pub(crate) layer: LayerArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Flags that say what is on top of the components, and how it is tested.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Classifier and test")]
pub(crate) struct LayerArgs {
    /// The layer on the components: logistic regression, or sigmoid units trained point by point
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub(crate) unit: UnitChoice,
    /// Penalty on the weights of logistic regression [default: 0.1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) penalty: Option<f64>,
    /// Learning rate of sigmoid units [default: 0.1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// How often sigmoid units learn from every point [default: 200]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) epochs: Option<usize>,
    /// Number of components [default: as many as explain 99 % of the variance]
    #[arg(short, long, value_name = "K", value_parser = whole::<usize>, conflicts_with = "variance")]
    pub(crate) n_components: Option<usize>,
    /// As many components as explain this share of the variance
    #[arg(long, value_name = "SHARE", value_parser = number, allow_negative_numbers = true)]
    pub(crate) variance: Option<f64>,
    /// Folds of the cross-validation
    #[arg(long, value_name = "K", value_parser = whole::<usize>, default_value_t = 10)]
    pub(crate) folds: usize,
    /// How often it is done, with other folds
    #[arg(long, value_name = "N", value_parser = whole::<usize>, default_value_t = 5)]
    pub(crate) repeats: usize,
    /// Seed of everything random
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
}

/// The layers there are. (Comments on the variants would become paragraphs of the help.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum UnitChoice {
    #[default]
    Logistic,
    Sigmoid,
}
