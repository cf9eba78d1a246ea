//! How far a run is, on standard error.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercer::watch::{Phase, Progress};

use crate::console::{Console, say};

/// Shows progress: one line that is rewritten on a terminal, one line per pass elsewhere.
pub(crate) struct Meter {
    style: Style,
    shown: Mutex<Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Silent,
    OneLine,
    LinePerPass,
}

#[derive(Debug, Default)]
struct Shown {
    step: Option<(Phase, usize)>,
    when: Option<Instant>,
}

/// A line that changes faster than this cannot be read.
const BETWEEN_UPDATES: Duration = Duration::from_millis(100);

/// Back to the first column, and forget what is there.
const CLEAR_LINE: &str = "\r\x1b[K";

impl Meter {
    pub(crate) fn new(console: Console) -> Self {
        let style = match (console.is_quiet(), console.is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::OneLine,
            (false, false) => Style::LinePerPass,
        };
        Self { style, shown: Mutex::default() }
    }

    /// Takes note of progress; any thread may call it.
    pub(crate) fn observe(&self, progress: &Progress) {
        if self.style == Style::Silent {
            return;
        }
        // A thread that panicked while holding the lock cannot have left a line in a state that matters.
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let step = (progress.phase, progress.pass);
        let is_new = shown.step != Some(step);
        let is_due = shown.when.is_none_or(|when| when.elapsed() >= BETWEEN_UPDATES);
        match self.style {
            Style::OneLine if is_new || is_due => say(&format!("{CLEAR_LINE}{}", describe(progress, true))),
            Style::LinePerPass if is_new => say(&format!("{}\n", describe(progress, false))),
            Style::OneLine | Style::LinePerPass | Style::Silent => return,
        }
        *shown = Shown { step: Some(step), when: Some(Instant::now()) };
    }

    /// Leaves the line free for what comes next.
    pub(crate) fn clear(&self) {
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        if self.style == Style::OneLine && shown.step.is_some() {
            say(CLEAR_LINE);
        }
    }
}

/// Progress in words.
fn describe(progress: &Progress, with_share: bool) -> String {
    let mut text = progress.phase.name().to_owned();
    let mut separator = ": ";
    let mut add = |piece: std::fmt::Arguments<'_>| {
        let _ = write!(text, "{separator}{piece}");
        separator = ", ";
    };
    if progress.pass > 0 {
        match progress.expected_passes {
            // An estimate that is already exceeded would only confuse.
            Some(expected) if expected >= progress.pass => {
                add(format_args!("pass {} of about {expected}", progress.pass));
            }
            _ => add(format_args!("pass {}", progress.pass)),
        }
    }
    if with_share {
        add(format_args!("{:.0} %", 100.0 * progress.fraction));
    }
    if let Some(residual) = progress.residual.filter(|residual| residual.is_finite()) {
        add(format_args!("residual {residual:.1e}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: Progress =
        Progress { phase: Phase::Solving, pass: 3, expected_passes: Some(5), fraction: 0.42, residual: Some(2e-3) };

    #[test]
    fn progress_reads_as_a_sentence() {
        assert_eq!(describe(&PROGRESS, true), "solving: pass 3 of about 5, 42 %, residual 2.0e-3");
        assert_eq!(describe(&PROGRESS, false), "solving: pass 3 of about 5, residual 2.0e-3");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let early = Progress { phase: Phase::Packing, pass: 0, expected_passes: None, residual: None, ..PROGRESS };
        assert_eq!(describe(&early, true), "packing: 42 %");
        assert_eq!(describe(&early, false), "packing");
        let late = Progress { pass: 7, residual: Some(f64::NAN), ..PROGRESS };
        assert_eq!(describe(&late, false), "solving: pass 7");
    }
}
