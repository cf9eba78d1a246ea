//! Arguments of `mercer completions`.

use clap::Args;
use clap_complete::Shell;

/// Arguments of `mercer completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example, for this shell, until it ends:
  source <(mercer completions bash)

For every bash from now on:
  mkdir -p ~/.local/share/bash-completion/completions
  mercer completions bash > ~/.local/share/bash-completion/completions/mercer")]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: Shell,
}
