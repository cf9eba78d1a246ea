//! Ctrl-C and a request to terminate: once to stop with what there is, twice to quit.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercer::aside::remove_own;

use crate::console::Console;
use crate::failure::{ExitStatus, Failure, Result};

/// Two wishes within this time are one: `timeout` signals a process, and then the group that it is in.
const AT_ONCE: Duration = Duration::from_millis(300);

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
    /// When somebody first wanted to stop.
    since: Mutex<Option<Instant>>,
    /// Directories in which files are written aside.
    places: Mutex<Vec<PathBuf>>,
}

/// What a wish to stop leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Response {
    /// Nothing is lost.
    QuitWithNothing,
    StopSoon,
    /// The same wish again.
    Nothing,
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
                    seen.quit();
                }
                Response::Nothing => {}
                Response::Quit => seen.quit(),
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

    /// Remembers where files are written aside: whoever quits in the middle of that must not leave them behind.
    pub(crate) fn cleans_up(&self, directory: &Path) {
        let mut places = self.0.places.lock().unwrap_or_else(PoisonError::into_inner);
        if !places.iter().any(|place| place == directory) {
            places.push(directory.to_owned());
        }
    }

    /// Ends the process at once.
    fn quit(&self) -> ! {
        // Nobody holds the lock for longer than a moment; who waits for it all the same would not quit.
        if let Ok(places) = self.0.places.try_lock() {
            places.iter().for_each(|place| remove_own(place));
        }
        std::process::exit(i32::from(ExitStatus::Interrupted.code()))
    }

    fn respond(&self) -> Response {
        self.respond_at(Instant::now())
    }

    fn respond_at(&self, now: Instant) -> Response {
        let again = self.0.wish.swap(true, Ordering::SeqCst);
        let since = *self.0.since.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(now);
        match (self.0.waits.load(Ordering::SeqCst), again) {
            (false, _) => Response::QuitWithNothing,
            (true, false) => Response::StopSoon,
            (true, true) if now.saturating_duration_since(since) < AT_ONCE => Response::Nothing,
            (true, true) => Response::Quit,
        }
    }
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
        // As `timeout` does it.
        assert_eq!(interrupt.respond(), Response::Nothing);
        assert_eq!(interrupt.respond_at(Instant::now() + AT_ONCE), Response::Quit);
    }

    #[test]
    fn before_there_is_anything_to_save_once_is_enough() {
        assert_eq!(Interrupt::default().respond(), Response::QuitWithNothing);
    }
}
