//! Arguments of `mercer tune`.

use std::path::PathBuf;

use clap::Args;
use mercer::tune::{Criterion, TuneMethod};

use super::data::DataArgs;
use super::fit::{choice, kernel_names};
use super::numbers::{at_least_one, number, whole};
use super::report::{ProgressArgs, ReportArgs};
use super::values::ParameterRange;

/// Arguments of `mercer tune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer tune digits.csv --label digit --scale 1/16

What other criteria would choose, with pictures of the curve and of the components' variances:
  mercer tune points.csv --compare --report tuning

Several parameters together, each within a range; and a width for every column:
  mercer tune points.csv --kernel rational-quadratic \\
      --parameters gamma=0.001:10,alpha=0.2:20
  mercer tune points.csv --per-column")]
pub(crate) struct TuneArgs {
    /// Points, one per row: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Kernel function
    #[arg(long, value_name = "NAME", default_value = "gaussian", value_parser = kernel_names(), help_heading = "Kernel")]
    pub(crate) kernel: String,
    /// Degree of the polynomial kernel [default: 3]
    #[arg(long, value_name = "DEGREE", value_parser = whole::<u32>, help_heading = "Kernel")]
    pub(crate) degree: Option<u32>,
    /// Constant term of the polynomial and sigmoid kernels [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, help_heading = "Kernel")]
    pub(crate) coef0: Option<f64>,
    /// Tail exponent of the rational quadratic kernel [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, help_heading = "Kernel")]
    pub(crate) alpha: Option<f64>,
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    #[command(flatten)]
    pub(crate) climb: ClimbArgs,
    /// Directory for the curve and the components' variances, as two pictures and JSON; made if it is not there
    #[arg(long = "report", value_name = "DIR", help_heading = "Output")]
    pub(crate) report_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

/// Flags that say what is looked for, and how.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Search")]
pub(crate) struct SearchArgs {
    /// What makes one width better than another
    #[arg(long, value_name = "NAME", default_value = "variance", value_parser = choice::<Criterion>(Criterion::NAMES))]
    pub(crate) criterion: Criterion,
    /// What every criterion would choose, side by side
    #[arg(long)]
    pub(crate) compare: bool,
    /// Bandwidths to try, separated by commas; maxima between them are refined [default: up to 64 over the distances of the
    /// data, and more where a maximum could hide; at most 16 for `leading` and `reconstruction`]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_negative_numbers = true)]
    pub(crate) bandwidths: Vec<f64>,
    /// Whether all pairs of points are looked at; auto does up to 10000 points, and up to 40000 where samples do not tell enough
    #[arg(long, value_name = "CHOICE", default_value = "auto", value_parser = choice::<TuneMethod>(TuneMethod::NAMES))]
    pub(crate) method: TuneMethod,
    /// How narrow the interval of the best bandwidth must be, relative to it [default: 1e-8, 1e-5 in single precision, 0.01 if
    /// pairs are sampled]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Components that the criteria `leading` and `reconstruction` count [default: half the columns, from 1 to 10]
    #[arg(short, long, value_name = "K", value_parser = whole::<usize>)]
    pub(crate) n_components: Option<usize>,
    /// Seed of samples
    #[arg(long, value_name = "SEED", value_parser = whole::<u64>, default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
}

/// What a climb does not take: it has one criterion, looks at all pairs, and ends where there is no slope.
const NOT_FOR_CLIMBS: [&str; 7] =
    ["criterion", "compare", "bandwidths", "method", "tolerance", "n_components", "report_dir"];

/// Flags that ask for more than one width.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "More than a width")]
pub(crate) struct ClimbArgs {
    /// Parameters to climb in together from the best width, each within a range: `gamma`, `coef0` and `alpha`, as the kernel has them
    #[arg(long, value_name = "NAME=LOW:HIGH,...", value_delimiter = ',', conflicts_with_all = NOT_FOR_CLIMBS)]
    pub(crate) parameters: Vec<ParameterRange>,
    /// A width for every column of the gaussian kernel, climbing from the best common one: the wider, the less the column matters
    #[arg(long, conflicts_with_all = NOT_FOR_CLIMBS, conflicts_with = "parameters")]
    pub(crate) per_column: bool,
    /// Steps of such a climb, at most [default: 500]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) max_steps: Option<usize>,
}
