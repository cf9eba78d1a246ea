//! Arguments of `mercer upscale`.

use std::path::PathBuf;

use clap::Args;

use super::numbers::number;
use super::report::{ProgressArgs, ReportArgs};
use super::values::{ImageSize, Pixels};

/// Arguments of `mercer upscale`.
#[derive(Debug, Args)]
#[command(after_help = "\
Learns from pictures of a kind (faces, digits), all aligned and of one size,
what they look like, and makes small pictures of that kind as large as those:
each is projected on the components of the known ones, and what is then
missing of it is added. A picture of another kind gets details of the known
one, too. Sides must be the same whole share of those of the known pictures.
All have 8 bits and no transparency.

Example:
  mercer upscale known small.png -o large")]
pub(crate) struct UpscaleArgs {
    /// Known pictures of the size that is wanted: a folder, or a .list of files
    #[arg(value_name = "KNOWN")]
    pub(crate) known: PathBuf,
    /// Small pictures: .png, .jpg, .bmp, .pgm, .ppm
    #[arg(value_name = "IMAGE", required = true)]
    pub(crate) images: Vec<PathBuf>,
    /// Number of components [default: one for every four known pictures, and 150 at most]
    #[arg(short, long, value_name = "K")]
    pub(crate) n_components: Option<usize>,
    /// Width of the gaussian kernel, in levels up to 255 [default: the root of the variance]
    #[arg(long, value_name = "NUMBER", value_parser = number, allow_negative_numbers = true)]
    pub(crate) bandwidth: Option<f64>,
    /// What a pixel is: one grey value or red, green and blue [default: grey]
    #[arg(long, value_name = "KIND")]
    pub(crate) pixels: Option<Pixels>,
    /// Bring known pictures to this size, such as 48x48 [default: one of another size is refused]
    #[arg(long, value_name = "WxH")]
    pub(crate) resize: Option<ImageSize>,
    /// Number of threads [default: all processors]
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Folder of true large pictures by the same names, to compare with: gives the ratio of signal to noise
    #[arg(long, value_name = "DIR")]
    pub(crate) reference: Option<PathBuf>,
    /// Directory for the large pictures, as .png by the same names; made if it is not there
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
