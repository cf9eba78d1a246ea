//! The `mercer` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    mercer_cli::main()
}
