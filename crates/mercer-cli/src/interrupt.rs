//! Ctrl-C and a request to terminate: once to stop with what there is, twice to quit.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::console::Console;
use crate::failure::{ExitStatus, Failure, Result};

/// The wish to stop.
///
/// Until [`wait_for_safe_points`](Self::wait_for_safe_points) there is nothing to save and nothing to clean up, so the
/// first wish ends the process at once: reading a file of many gigabytes has no safe points.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<State>);

#[derive(Debug, Default)]
struct State {
    wish: AtomicBool,
    waits: AtomicBool,
}

/// What a wish to stop leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    /// Nothing is lost.
    QuitWithNothing,
    StopSoon,
    Quit,
}

impl Interrupt {
    /// Listens for Ctrl-C and for a request to terminate. Once per process.
    pub(crate) fn listen(console: Console) -> Result<Self> {
        let interrupt = Self::default();
        let seen = interrupt.clone();
        ctrlc::set_handler(move || {
            // A terminal shows ^C on the line that is there.
            let fresh_line = if console.is_terminal() { "\n" } else { "" };
            match seen.respond() {
                Response::StopSoon => console
                    .note(&format!("{fresh_line}stopping at the next safe point; press Ctrl-C again to quit at once")),
                Response::QuitWithNothing => {
                    console.note(&format!("{fresh_line}interrupted before there was anything to save"));
                    quit();
                }
                Response::Quit => quit(),
            }
        })
        .map_err(|error| Failure::usage(format!("cannot listen for Ctrl-C: {error}")))?;
        Ok(interrupt)
    }

    /// From now on the first wish to stop waits for a safe point of the work.
    pub(crate) fn wait_for_safe_points(&self) {
        self.0.waits.store(true, Ordering::SeqCst);
    }

    /// For [`mercer::Watch::interrupt`].
    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0.wish
    }

    /// Whether somebody wants to stop.
    pub(crate) fn is_set(&self) -> bool {
        self.0.wish.load(Ordering::SeqCst)
    }

    fn respond(&self) -> Response {
        let again = self.0.wish.swap(true, Ordering::SeqCst);
        match (self.0.waits.load(Ordering::SeqCst), again) {
            (false, _) => Response::QuitWithNothing,
            (true, false) => Response::StopSoon,
            (true, true) => Response::Quit,
        }
    }
}

fn quit() -> ! {
    std::process::exit(i32::from(ExitStatus::Interrupted.code()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_stops_and_twice_quits() {
        let interrupt = Interrupt::default();
        interrupt.wait_for_safe_points();
        assert!(!interrupt.is_set());
        assert_eq!(interrupt.respond(), Response::StopSoon);
        assert!(interrupt.is_set() && interrupt.flag().load(Ordering::Relaxed));
        assert_eq!(interrupt.respond(), Response::Quit);
    }

    #[test]
    fn before_there_is_anything_to_save_once_is_enough() {
        assert_eq!(Interrupt::default().respond(), Response::QuitWithNothing);
    }
}
