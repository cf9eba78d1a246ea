//! How far a run is, on standard error: a bar on a terminal, plain lines elsewhere.

mod words;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mercer::Center;
use mercer::watch::{Phase, Progress};

use self::words::{Line, describe};
use crate::args::ProgressChoice;
use crate::console::{Console, say};

/// Shows progress.
#[derive(Debug)]
pub(crate) struct Meter {
    style: Style,
    /// Whether the run centres the points in feature space.
    centers: AtomicBool,
    shown: Mutex<Shown>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Silent,
    Bar,
    Plain,
}

#[derive(Debug, Default)]
struct Shown {
    /// The step of the last line.
    step: Option<Step>,
    /// The last line, if it was a plain one.
    text: String,
    /// When it was written.
    when: Option<Instant>,
    /// When the phase began.
    phase_began: Option<Instant>,
    /// Whether a line is there that the next one has to replace.
    occupied: bool,
}

/// What a line is about; a new one gets a new line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Something of the command's own, such as reading.
    Own,
    Library(Phase, usize),
}

/// A bar that changes faster than this cannot be read.
const BETWEEN_UPDATES: Duration = Duration::from_millis(100);
/// The first passes get a plain line each; later ones only if some time has gone by, since single-vector solvers need hundreds.
const PASSES_WITH_A_LINE: usize = 10;
const BETWEEN_LINES: Duration = Duration::from_secs(5);
/// Back to the first column, and forget what is there.
const CLEAR_LINE: &str = "\r\x1b[K";

impl Meter {
    /// A meter of the style that was asked for.
    pub(crate) fn new(console: Console, choice: ProgressChoice) -> Self {
        let style = match choice {
            _ if console.is_quiet() => Style::Silent,
            ProgressChoice::None => Style::Silent,
            ProgressChoice::Bar => Style::Bar,
            ProgressChoice::Auto if console.is_terminal() => Style::Bar,
            ProgressChoice::Plain | ProgressChoice::Auto => Style::Plain,
        };
        Self { style, centers: AtomicBool::new(true), shown: Mutex::default() }
    }

    /// Says from now on nothing of centring, because it is not done.
    pub(crate) fn without_centring(&self) {
        self.centers.store(false, Ordering::Relaxed);
    }

    /// Says what is being done now, without knowing how far it is.
    pub(crate) fn begin(&self, what: &str) {
        let mut shown = self.shown();
        match self.style {
            Style::Silent => return,
            Style::Bar => say(&format!("{CLEAR_LINE}{}", Line::new(what).fitted(columns()))),
            Style::Plain => say(&format!("{what}\n")),
        }
        let now = Some(Instant::now());
        let (step, occupied) = (Some(Step::Own), self.style == Style::Bar);
        *shown = Shown { step, text: String::new(), when: now, phase_began: now, occupied };
    }

    /// Takes note of progress; any thread may call it.
    pub(crate) fn observe(&self, progress: &Progress) {
        if self.style == Style::Silent {
            return;
        }
        let mut shown = self.shown();
        let now = Instant::now();
        let step = step_of(progress);
        let is_new = shown.step != Some(step);
        if !matches!(shown.step, Some(Step::Library(phase, _)) if phase == progress.phase) {
            shown.phase_began = Some(now);
        }
        let quiet_for = |least: Duration| shown.when.is_none_or(|when| now.duration_since(when) >= least);
        let is_due = match self.style {
            Style::Bar => is_new || quiet_for(BETWEEN_UPDATES),
            _ => is_new && (progress.pass <= PASSES_WITH_A_LINE || quiet_for(BETWEEN_LINES)),
        };
        if !is_due {
            return;
        }
        let center = if self.centers.load(Ordering::Relaxed) { Center::Yes } else { Center::No };
        let text = describe(progress, center);
        if self.style == Style::Bar {
            let elapsed = shown.phase_began.map_or(Duration::ZERO, |began| now.duration_since(began));
            let line = Line::new(&text).bar(words::share(progress), elapsed);
            say(&format!("{CLEAR_LINE}{}", line.fitted(columns())));
            shown.occupied = true;
        } else if text != shown.text {
            // Steps that have no words of their own would only repeat the line.
            say(&format!("{text}\n"));
            shown.text = text;
        }
        (shown.step, shown.when) = (Some(step), Some(now));
    }

    /// Leaves the line free for what comes next.
    pub(crate) fn clear(&self) {
        let shown = std::mem::take(&mut *self.shown());
        if shown.occupied {
            say(CLEAR_LINE);
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        // A thread that panicked while holding the lock cannot have left a line in a state that matters.
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Passes over a sample are not worth a line each.
fn step_of(progress: &Progress) -> Step {
    let pass = if progress.phase == Phase::Starting { 0 } else { progress.pass };
    Step::Library(progress.phase, pass)
}

/// Columns of the terminal that standard error is, if it is one.
fn columns() -> usize {
    const USUAL: usize = 80;
    terminal_size::terminal_size_of(std::io::stderr()).map_or(USUAL, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: Progress =
        Progress { phase: Phase::Solving, pass: 3, expected_passes: Some(5), fraction: 0.42, residual: Some(2e-3) };

    fn meter(style: Style) -> Meter {
        Meter { style, centers: AtomicBool::new(true), shown: Mutex::default() }
    }

    fn step_after(meter: &Meter, progress: &Progress) -> Option<Step> {
        meter.observe(progress);
        meter.shown().step
    }

    #[test]
    fn plain_lines_come_once_per_pass_and_rarely_after_many() {
        let meter = meter(Style::Plain);
        for pass in [1, 2, 10] {
            let step = step_after(&meter, &Progress { pass, ..PROGRESS });
            assert_eq!(step, Some(Step::Library(Phase::Solving, pass)));
        }
        let step = step_after(&meter, &Progress { pass: 11, ..PROGRESS });
        assert_eq!(step, Some(Step::Library(Phase::Solving, 10)), "the eleventh came too soon for a line");
    }

    #[test]
    fn passes_over_the_sample_are_one_step() {
        let starting = Progress { phase: Phase::Starting, ..PROGRESS };
        assert_eq!(step_of(&starting), step_of(&Progress { pass: 4, ..starting }));
    }

    #[test]
    fn a_plain_line_is_not_repeated() {
        let meter = meter(Style::Plain);
        let tuning = Progress { phase: Phase::Tuning, pass: 1, residual: None, ..PROGRESS };
        meter.observe(&tuning);
        assert_eq!(meter.shown().text, "tuning");
        // A line that is said replaces the text that is kept.
        let before = meter.shown().text.as_ptr();
        assert_eq!(step_after(&meter, &Progress { pass: 2, ..tuning }), Some(Step::Library(Phase::Tuning, 2)));
        assert_eq!(meter.shown().text.as_ptr(), before, "the second pass said nothing");
        meter.clear();
        assert_eq!(meter.shown().text, "", "after other talk it is said again");
    }

    #[test]
    fn quiet_wins_over_a_wish_for_a_bar() {
        let quiet = Console::new(true);
        assert_eq!(Meter::new(quiet, ProgressChoice::Bar).style, Style::Silent);
        let loud = Console::new(false);
        assert_eq!(Meter::new(loud, ProgressChoice::Bar).style, Style::Bar);
        assert_eq!(Meter::new(loud, ProgressChoice::Plain).style, Style::Plain);
        assert_eq!(Meter::new(loud, ProgressChoice::None).style, Style::Silent);
    }

    #[test]
    fn nothing_is_remembered_in_silence() {
        assert_eq!(step_after(&meter(Style::Silent), &PROGRESS), None);
    }
}
