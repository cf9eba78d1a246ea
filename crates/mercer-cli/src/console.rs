//! Talk: everything that is said on standard error, and data on standard output.

use std::io::{self, IsTerminal, Write};

use crate::failure::{Failure, Result};

/// Where notes, warnings and errors go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Console {
    quiet: bool,
    /// Standard error is a terminal that understands control sequences.
    terminal: bool,
    color: bool,
}

impl Console {
    /// The console of this process.
    pub(crate) fn new(quiet: bool) -> Self {
        let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stderr().is_terminal() && !is_dumb;
        Self { quiet, terminal, color: terminal && !is_set("NO_COLOR") }
    }

    /// Whether nothing but errors is wanted.
    pub(crate) fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Whether a line can be overwritten.
    pub(crate) fn is_terminal(self) -> bool {
        self.terminal
    }

    /// Something worth knowing.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            say(&format!("{text}\n"));
        }
    }

    /// Something to worry about.
    pub(crate) fn warning(self, text: &str) {
        if !self.quiet {
            say(&format!("{} {text}\n", self.painted("warning:", "1;33")));
        }
    }

    /// Why the command failed, and what to do about it.
    pub(crate) fn failure(self, failure: &Failure) {
        let problem = format!("{} {failure}\n", self.painted("error:", "1;31"));
        match failure.hint() {
            Some(hint) => say(&format!("{problem}{} {hint}\n", self.painted("hint:", "1;36"))),
            None => say(&problem),
        }
    }

    fn painted(self, word: &str, color: &str) -> String {
        if self.color { format!("\x1b[{color}m{word}\x1b[0m") } else { word.to_owned() }
    }
}

/// Writes to standard error in one piece. If nobody listens there is nobody to tell.
pub(crate) fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Writes what clap has to say: help that was asked for where data go, and what is wrong with a call where talk goes.
pub(crate) fn print_message(message: &clap::Error) -> Result<()> {
    let outcome = message.print().and_then(|()| io::stdout().flush());
    // If nobody listens to a complaint there is nobody to tell.
    if message.use_stderr() { Ok(()) } else { outcome.map_err(Failure::StandardOutput) }
}

/// Writes data to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::StandardOutput)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_painted_only_for_a_terminal_that_wants_it() {
        let plain = Console { quiet: false, terminal: true, color: false };
        assert_eq!(plain.painted("error:", "1;31"), "error:");
        let colored = Console { color: true, ..plain };
        assert_eq!(colored.painted("error:", "1;31"), "\x1b[1;31merror:\x1b[0m");
    }
}
