//! Arguments of `mercer report`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `mercer report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, a fit and its page:
  mercer fit digits.csv --label digit -n 5 -o d.mercer --record d.json
  mercer report d.json -o d.html")]
pub(crate) struct PageArgs {
    /// Record that any command wrote with `--record`, or printed with `--json`
    #[arg(value_name = "RECORD")]
    pub(crate) record: PathBuf,
    /// The page; - is standard output [default: the name of the record with .html]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Say nothing but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
