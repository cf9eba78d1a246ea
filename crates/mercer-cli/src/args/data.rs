//! How a data file is to be read: the same flags for every command that reads one.

use clap::Args;

use super::numbers::{at_least_one, whole};
use super::values::{ColumnName, Delimiter, Format, ImageSize, Pixels, RowRange, ScaleFactor};

/// Flags that say how to read a data file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading the data")]
pub(crate) struct DataArgs {
    /// What is a label and not data: a column by name or number (from 1; -1 is the last), an array of an .npz file, a file of
    /// IDX labels, or `folder` for images
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) label: Option<ColumnName>,
    /// What names a row, kept beside its scores: a column or array as for --label, or `file` for images
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) id: Option<ColumnName>,
    /// Columns to use, by name or number or as 3-10, in this order [default: all others than label and id]
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) columns: Vec<ColumnName>,
    /// Columns to leave out
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) drop: Vec<ColumnName>,
    /// Rows to use, counted from 0, the last excluded, such as 0:1000 or 500:
    #[arg(long, value_name = "A:B")]
    pub(crate) rows: Option<RowRange>,
    /// As many rows, drawn at random; all of them if there are no more
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) sample: Option<usize>,
    /// Multiply every value by this, such as 1/255; the model remembers it
    #[arg(long, value_name = "FACTOR", conflicts_with = "standardize")]
    pub(crate) scale: Option<ScaleFactor>,
    /// Give every column mean 0 and variance 1; the model remembers how
    #[arg(long)]
    pub(crate) standardize: bool,
    /// The first row is a header, whatever it looks like
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first row is data (without either flag, it is a header if it is not all numbers)
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What separates columns: one character, `tab` or `space`
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<Delimiter>,
    /// Array of an .npz file [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) array: Option<String>,
    /// Number of the first column in a libsvm file [default: 0 if there is a column 0, else 1]
    #[arg(long, value_name = "0|1", value_parser = clap::value_parser!(u8).range(0..=1))]
    pub(crate) index_base: Option<u8>,
    /// What a pixel of an image becomes: one grey value or red, green and blue [default: grey]
    #[arg(long, value_name = "KIND")]
    pub(crate) pixels: Option<Pixels>,
    /// Bring images to this size, such as 32x32 [default: an image of another size is refused]
    #[arg(long, value_name = "WxH")]
    pub(crate) resize: Option<ImageSize>,
    /// Format of the data, if its name does not say it
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}

/// Flags that say how points are read that something learned earlier is applied to.
#[derive(Clone, Debug, Default, Args)]
#[command(
    next_help_heading = "Reading the data",
    // The fit has decided how values are scaled.
    mut_arg("scale", |flag| {
        flag.help("Multiply every value by this, such as 1/255; a model that was fitted with --scale or --standardize does by itself what it needs")
    }),
    mut_arg("standardize", |flag| flag.hide(true))
)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Take columns in the order they stand in, whatever their names [default: by the names of the fit, if there are any]
    #[arg(long)]
    pub(crate) by_position: bool,
    /// Seed of --sample
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>, default_value_t = 0, requires = "sample")]
    pub(crate) seed: u64,
}
