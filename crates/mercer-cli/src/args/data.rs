//! How a data file is to be read: the same flags for every command that reads one.

use clap::Args;

use super::values::{ColumnName, Delimiter, Format, ScaleFactor};

/// Flags that say how to read a data file.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading the data")]
pub(crate) struct DataArgs {
    /// Column that is a label, by name or number (from 1; -1 is the last), taken out of the data
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(crate) label: Option<ColumnName>,
    /// Multiply every value by this, such as 1/255
    #[arg(long, value_name = "FACTOR")]
    pub(crate) scale: Option<ScaleFactor>,
    /// The first row is a header, whatever it looks like
    #[arg(long, conflicts_with = "no_header")]
    pub(crate) header: bool,
    /// The first row is data (without either flag, it is a header if it is not all numbers)
    #[arg(long)]
    pub(crate) no_header: bool,
    /// What separates columns: one character, `tab` or `space`
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) delimiter: Option<Delimiter>,
    /// Format of the data, if its name does not say it
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
}
