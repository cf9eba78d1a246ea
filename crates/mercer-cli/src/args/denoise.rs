//! Arguments of `mercer denoise` and `mercer denoise-rows`.

use std::path::PathBuf;

use clap::Args;

use super::data::DataArgs;
use super::numbers::number;
use super::report::{ProgressArgs, ReportArgs};

/// Flags that say how noise is taken off.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Denoising")]
pub(crate) struct FilterArgs {
    /// Standard deviation of the noise, in the units of the data [default: estimated]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, conflicts_with = "n_components")]
    pub(crate) noise: Option<f64>,
    /// How many times its noise a score must reach to be kept [default: 2.75]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true, conflicts_with = "n_components")]
    pub(crate) threshold: Option<f64>,
    /// Do it once only, and not again with the first result as a guide
    #[arg(long, conflicts_with = "n_components")]
    pub(crate) no_refine: bool,
    /// Project on so many components instead, whatever the noise
    #[arg(short, long, visible_alias = "components", value_name = "K")]
    pub(crate) n_components: Option<usize>,
    /// Width of the gaussian kernel, in the units of the data [default: from the variance of patches or rows]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<f64>,
    /// Landmarks that components are learned over [default: three per number of a point and at least 300]
    #[arg(long, value_name = "N")]
    pub(crate) n_landmarks: Option<usize>,
    /// Seed of random numbers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
}

/// Arguments of `mercer denoise`.
#[derive(Debug, Args)]
#[command(
    override_usage = "mercer denoise [OPTIONS] <IMAGE> <OUT>",
    after_help = "\
Kernel PCA of the patches of a picture: scores that are not larger than noise
are set to zero, and what is left is put together again. Grey or colour (all
channels of a patch together), of 8 or 16 bits. Levels are those of the file:
up to 255, or up to 65535. Transparency is not touched.

Example:
  mercer denoise noisy.png -o clean.png"
)]
pub(crate) struct DenoiseArgs {
    /// Picture: .png, .jpg, .bmp, .pgm, .ppm
    #[arg(value_name = "IMAGE")]
    pub(crate) image: PathBuf,
    /// Where the picture without noise goes, as --output
    #[arg(value_name = "OUT", required_unless_present = "output", conflicts_with = "output")]
    pub(crate) out: Option<PathBuf>,
    /// Pixels along the side of a patch
    #[arg(long, value_name = "PIXELS", default_value_t = 8, help_heading = "Denoising")]
    pub(crate) patch: usize,
    /// Pixels from one patch to the next; 1 is best and slowest
    #[arg(long, value_name = "PIXELS", default_value_t = 2, help_heading = "Denoising")]
    pub(crate) stride: usize,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The same picture without noise, to compare with: gives the ratio of signal to noise
    #[arg(long, value_name = "IMAGE", help_heading = "Denoising")]
    pub(crate) reference: Option<PathBuf>,
    /// Where the picture without noise goes: .png or .jpg by its name
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}

impl DenoiseArgs {
    /// Where the picture goes, whichever way it was said.
    pub(crate) fn output(&self) -> &std::path::Path {
        let output = self.output.as_ref().or(self.out.as_ref());
        output.expect("one of the two is required")
    }
}

/// Arguments of `mercer denoise-rows`.
#[derive(Debug, Args)]
#[command(after_help = "\
Kernel PCA of rows that follow one another in time, such as the frames of a
motion: components that rows spread over no farther than noise does are left
out, scores that are not larger than noise are set to zero, and rows are made
from what is left. Columns should be measured in the same units, or use
--standardize.

Example:
  mercer denoise-rows points.csv --drop half --noise 0.05 -o clean.csv")]
pub(crate) struct DenoiseRowsArgs {
    /// Rows: .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx, .libsvm, a folder or .list of images; - is CSV on
    /// standard input
    #[arg(value_name = "DATA")]
    pub(crate) points: PathBuf,
    /// Rows that are taken together: several tell more of slow motions
    #[arg(long, value_name = "ROWS", default_value_t = 1, help_heading = "Denoising")]
    pub(crate) window: usize,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// The same rows without noise, read in the same way, to compare with: gives the ratio of signal to noise
    #[arg(long, value_name = "DATA", help_heading = "Denoising")]
    pub(crate) reference: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Take the columns of the reference in the order they stand in, whatever their names [default: by the names of DATA]
    #[arg(long, requires = "reference", help_heading = "Reading the data")]
    pub(crate) by_position: bool,
    /// Where the rows go: .csv, .tsv, .parquet, .arrow, .npy, .npz or .libsvm by its name; - is CSV on
    /// standard output
    #[arg(short, long, value_name = "FILE", default_value = "-", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
