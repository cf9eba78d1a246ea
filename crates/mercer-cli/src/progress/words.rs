//! Progress in words, and as one line of a given width.

use std::fmt::Write;
use std::time::Duration;

use mercer::Center;
use mercer::watch::{Phase, Progress};

/// Progress in words, of a run that centres the points in feature space or does not.
pub(super) fn describe(progress: &Progress, center: Center) -> String {
    let mut text = match progress.phase {
        Phase::Starting => "starting from a sample".to_owned(),
        // What new points are centred with comes from the first pass.
        Phase::Solving if progress.pass == 1 && center == Center::Yes => format!("centring, {}", pass(progress)),
        Phase::Solving | Phase::Learning if progress.pass > 0 => pass(progress),
        Phase::Learning if center == Center::Yes => "centring".to_owned(),
        phase => phase.name().to_owned(),
    };
    let residual = progress.residual.filter(|residual| progress.phase == Phase::Solving && residual.is_finite());
    if let Some(residual) = residual {
        let _ = write!(text, ", residual {residual:.0e}");
    }
    text
}

fn pass(progress: &Progress) -> String {
    match progress.expected_passes {
        // An estimate that is already exceeded would only confuse.
        Some(expected) if expected >= progress.pass => format!("pass {} of about {expected}", progress.pass),
        _ => format!("pass {}", progress.pass),
    }
}

/// The share of the phase that is done, as far as that can be told.
pub(super) fn share(progress: &Progress) -> f64 {
    let fraction = progress.fraction.clamp(0.0, 1.0);
    match (progress.phase, progress.expected_passes) {
        (Phase::Solving | Phase::Learning, Some(expected)) if progress.pass > 0 => {
            (progress.pass as f64 - 1.0 + fraction) / expected.max(progress.pass) as f64
        }
        // Passes over the sample, of which nobody knows how many there will be; then the extension to all points, which takes longer.
        (Phase::Starting, _) if progress.pass > 0 => {
            SAMPLE_SHARE * (1.0 - (1.0 - progress.pass as f64 - fraction).exp2())
        }
        (Phase::Starting, _) => SAMPLE_SHARE + (1.0 - SAMPLE_SHARE) * fraction,
        _ => fraction,
    }
}

/// The part of a start from a sample that the sample itself takes, about.
const SAMPLE_SHARE: f64 = 0.1;

/// One line for a terminal: words, perhaps a bar, perhaps the time that is left.
pub(super) struct Line<'a> {
    text: &'a str,
    bar: Option<(f64, Option<Duration>)>,
}

/// Columns of the bar itself, where there is room for it.
const WIDEST_BAR: usize = 30;
const NARROWEST_BAR: usize = 8;
/// Before this, the time that is left is a guess from too little.
const LEAST_ELAPSED: Duration = Duration::from_secs(1);
const LEAST_SHARE: f64 = 0.02;

impl<'a> Line<'a> {
    /// A line of words.
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, bar: None }
    }

    /// With a bar for the share that is done after some time.
    pub(super) fn bar(self, share: f64, elapsed: Duration) -> Self {
        let known = share > LEAST_SHARE && elapsed >= LEAST_ELAPSED;
        let left = known.then(|| elapsed.mul_f64((1.0 - share) / share));
        Self { bar: Some((share, left)), ..self }
    }

    /// The line in fewer than `columns` columns: a full line would wrap, and could not be replaced.
    pub(super) fn fitted(&self, columns: usize) -> String {
        let room = columns.saturating_sub(1);
        let words: String = self.text.chars().take(room).collect();
        let Some((share, left)) = self.bar else { return words };
        let mut after = format!(" {:3.0} %", 100.0 * share);
        if let Some(left) = left {
            let _ = write!(after, ", {} left", time(left));
        }
        // Two blanks and two brackets around the bar.
        let used = words.chars().count() + after.len();
        let width = room.saturating_sub(used + 4).min(WIDEST_BAR);
        if width < NARROWEST_BAR {
            // The numbers say more than the bar, and take less room.
            return if used <= room { words + &after } else { words };
        }
        let done = ((share * width as f64) as usize).min(width);
        let head = usize::from(done < width);
        format!("{words}  [{}{}{}]{after}", "=".repeat(done), ">".repeat(head), " ".repeat(width - done - head))
    }
}

/// A time to come, in the precision that it deserves.
fn time(left: Duration) -> String {
    let seconds = left.as_secs();
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{}:{:02} min", seconds / 60, seconds % 60),
        _ => format!("{}:{:02} h", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRESS: Progress =
        Progress { phase: Phase::Solving, pass: 3, expected_passes: Some(5), fraction: 0.5, residual: Some(2e-3) };

    #[test]
    fn progress_reads_as_a_sentence() {
        let centred = |progress: &Progress| describe(progress, Center::Yes);
        assert_eq!(centred(&PROGRESS), "pass 3 of about 5, residual 2e-3");
        let first = Progress { pass: 1, residual: None, ..PROGRESS };
        assert_eq!(centred(&first), "centring, pass 1 of about 5");
        let transforming = Progress { phase: Phase::Transforming, pass: 0, residual: None, ..PROGRESS };
        assert_eq!(centred(&transforming), "transforming");
        assert_eq!(centred(&Progress { phase: Phase::Starting, ..PROGRESS }), "starting from a sample");
        let learning = Progress { phase: Phase::Learning, residual: None, ..PROGRESS };
        assert_eq!(centred(&learning), "pass 3 of about 5");
        assert_eq!(centred(&Progress { pass: 0, ..learning }), "centring");
        assert_eq!(describe(&first, Center::No), "pass 1 of about 5");
        assert_eq!(describe(&Progress { pass: 0, ..learning }, Center::No), "learning");
    }

    #[test]
    fn what_is_not_known_is_not_said() {
        let late = Progress { pass: 7, residual: Some(f64::NAN), ..PROGRESS };
        assert_eq!(describe(&late, Center::Yes), "pass 7");
        assert_eq!(describe(&Progress { expected_passes: None, ..late }, Center::Yes), "pass 7");
    }

    #[test]
    fn the_share_is_of_all_passes() {
        assert!((share(&PROGRESS) - 0.5).abs() < 1e-12, "two and a half of five");
        let late = Progress { pass: 7, ..PROGRESS };
        assert!((share(&late) - 6.5 / 7.0).abs() < 1e-12);
        let transforming = Progress { phase: Phase::Transforming, fraction: 0.25, ..PROGRESS };
        assert!((share(&transforming) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn the_share_of_a_start_from_a_sample_only_grows() {
        let starting = |pass, fraction| {
            share(&Progress { phase: Phase::Starting, pass, expected_passes: None, fraction, residual: None })
        };
        let passes = (1..6).flat_map(|pass| [0.0, 0.5, 1.0].map(|fraction| starting(pass, fraction)));
        let all: Vec<f64> = passes.chain([0.0, 0.5, 1.0].map(|fraction| starting(0, fraction))).collect();
        assert!(all.is_sorted() && all[0].abs() < 1e-12 && (all[all.len() - 1] - 1.0).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn a_line_never_fills_the_terminal() {
        let line = Line::new("pass 3 of about 5").bar(0.5, Duration::from_secs(90));
        assert_eq!(line.fitted(60), "pass 3 of about 5  [========>        ]  50 %, 1:30 min left");
        assert_eq!(line.fitted(40), "pass 3 of about 5  50 %, 1:30 min left", "no room for a bar");
        assert_eq!(line.fitted(30), "pass 3 of about 5", "nor for its numbers");
        assert_eq!(line.fitted(5), "pass");
        for columns in 1..150 {
            assert!(line.fitted(columns).chars().count() < columns, "{columns}");
        }
        let done = Line::new("x").bar(1.0, Duration::from_secs(3));
        assert_eq!(done.fitted(40), "x  [==================] 100 %, 0 s left");
    }

    #[test]
    fn the_time_left_is_not_guessed_from_nothing() {
        let line = |share, seconds| Line::new("x").bar(share, Duration::from_secs(seconds)).fitted(80);
        assert!(!line(0.01, 100).contains("left") && !line(0.5, 0).contains("left"));
        assert!(line(0.5, 4000).contains("1:06 h left"), "{}", line(0.5, 4000));
    }
}
