//! Arguments of `mercer reconstruct`.

use std::path::PathBuf;

use clap::Args;
use mercer::preimage::PreimageMethod;

use super::data::QueryArgs;
use super::fit::choice;
use super::numbers::{number, whole};
use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer reconstruct`.
#[derive(Debug, Args)]
#[command(after_help = "\
For every row: the point that the components keep of it, under the names of its columns (x1, x2, ...
if they have none); feature_error, the squared distance in feature space between that point and what its
scores stand for; and converged, 1 if the method found what it looks for. An autoencoder's rows have loss instead of the last two: the spectral
norm by which the decoded form misses the row.

Example:
  mercer reconstruct digits.mercer new.csv --label digit \\
      --method distance -o clean.csv")]
pub(crate) struct ReconstructArgs {
    /// Model that `mercer fit` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Points: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// How points are found [default: fixed-point for the gaussian kernel, polynomial where it is exact, gradient where there is one, else
    /// ridge]
    #[arg(long, value_name = "METHOD", value_parser = choice::<PreimageMethod>(PreimageMethod::NAMES))]
    pub(crate) method: Option<PreimageMethod>,
    /// Steps after which a point has not converged, for fixed-point and gradient [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) max_iterations: Option<usize>,
    /// Size of the last step, relative to the kernel's width or the points, for fixed-point and gradient [default: 1e-10]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Other starts for points that do not converge, for fixed-point and gradient [default: 2]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) restarts: Option<usize>,
    /// Neighbours that place a point, for distance [default: 10]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) neighbors: Option<usize>,
    /// Weight of the ridge, for ridge [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N", value_parser = whole::<usize>)]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) data: QueryArgs,
    /// Where the points go: .csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm by its name; - is CSV on
    /// standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
