//! Arguments of `mercer demo`.

use std::path::PathBuf;

use clap::Args;

use super::report::{ProgressArgs, ReportArgs};

/// Arguments of `mercer demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer demo --out /tmp/mercer-demo

The same fit by hand, in testdata/digits of the source tree:
  mercer fit digits.csv --label digit --scale 1/16 --bandwidth 2 -n 10 \\
      -o digits.mercer")]
pub(crate) struct DemoArgs {
    /// Directory for model, scores, record and pictures; made if it is not there
    #[arg(short, long, value_name = "DIR", default_value = "mercer-demo")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
}
