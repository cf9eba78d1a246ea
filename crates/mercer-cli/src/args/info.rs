//! Arguments of `mercer info`.

use std::path::PathBuf;

use clap::Args;

use super::report::ReportArgs;

/// Arguments of `mercer info`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer info digits.mercer --json")]
pub(crate) struct InfoArgs {
    /// Model that `mercer fit` or `mercer cluster --model` saved
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
