//! Ctrl-C: once to stop with what there is, twice to quit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;
use crate::failure::{ExitStatus, Failure, Result};

/// The wish to stop.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C and for a request to terminate. Once per process.
    pub(crate) fn listen(console: Console) -> Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&flag);
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::Relaxed) {
                std::process::exit(i32::from(ExitStatus::Interrupted.code()));
            }
            // A terminal shows ^C on the line that is there.
            let fresh_line = if console.is_terminal() { "\n" } else { "" };
            console.note(&format!("{fresh_line}stopping at the next safe point; press Ctrl-C again to quit at once"));
        })
        .map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(Self(flag))
    }

    /// For [`mercer::Watch::interrupt`].
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Whether somebody wants to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
