//! Arguments of `mercer man`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `mercer man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer man --out man1")]
pub(crate) struct ManArgs {
    /// Directory for mercer.1 and one page for every command; made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
