//! Arguments of `mercer completions`.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `mercer completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, for this shell only (`bash` keeps it in ~/.local/share/bash-completion/completions/mercer):
  mercer completions bash")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}
