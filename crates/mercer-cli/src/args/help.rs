//! Arguments of `mercer help`.

use clap::Args;

/// Arguments of `mercer help`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mercer help kernels")]
pub(crate) struct HelpArgs {
    /// A command, or one of the topics `kernels` and `methods`
    #[arg(value_name = "TOPIC")]
    pub(crate) topic: Option<String>,
}
