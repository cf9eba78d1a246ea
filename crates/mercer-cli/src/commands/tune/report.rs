//! The report of a search: the criterion and the variances of the components, as pictures.

use std::fs;
use std::path::{Path, PathBuf};

use mercer::tune::{Landscape, Tuning, landscape};
use mercer::watch::Threads;

use super::super::learn::watched;
use super::super::session::Session;
use super::kernel_spec;
use crate::args::TuneArgs;
use crate::failure::{Failure, Result};
use crate::input::Data;
use crate::output::summary::short;
use crate::output::write_text;
use crate::picture::{Panel, Scan};

/// Components whose variances are drawn and kept.
const DRAWN: usize = 12;

/// The files of a report.
pub(super) struct Report {
    directory: PathBuf,
    curve: PathBuf,
    variances: PathBuf,
    json: PathBuf,
}

impl Report {
    /// A report in a directory.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            curve: directory.join("criterion.svg"),
            variances: directory.join("variances.svg"),
            json: directory.join("tuning.json"),
        }
    }

    /// Refuses a directory that cannot be made or written in, before any work is done. One that was not there is taken away again, so that a run that fails leaves none behind; but not from
    /// under its own record.
    pub(super) fn check(&self, args: &TuneArgs, session: &Session<'_>) -> Result<()> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing: Vec<&Path> = self.directory.ancestors().take_while(is_missing).collect();
        let outcome =
            self.make().and_then(|()| session.check_outputs(self.files(), &[("data", args.points.as_path())]));
        let holds_record = |path: &Path| args.report.record.as_ref().is_some_and(|record| record.starts_with(path));
        for path in missing.into_iter().filter(|path| !holds_record(path)) {
            // What somebody else has put there in the meantime is not taken away.
            let _ = fs::remove_dir(path);
        }
        outcome
    }

    /// Makes the directory, if it is not there.
    fn make(&self) -> Result<()> {
        fs::create_dir_all(&self.directory).map_err(Failure::file("making", &self.directory))
    }

    /// Writes the pictures and the record, and says so.
    pub(super) fn write(&self, drawn: &Drawn, record: &str, session: &Session<'_>) -> Result<()> {
        self.make()?;
        write_text(&self.curve, &drawn.curve)?;
        write_text(&self.variances, &drawn.variances)?;
        write_text(&self.json, record)?;
        session.wrote(&self.directory);
        session.console.note(&format!("curve and variances written to {}", self.directory.display()));
        Ok(())
    }

    /// All of them.
    fn files(&self) -> [&Path; 3] {
        [&self.curve, &self.variances, &self.json]
    }
}

/// Letters of a file's name that a picture has room for.
const MOST_LETTERS: usize = 32;

/// The name of a file without its folders, and without its middle if it is long.
fn file_name(path: &str) -> String {
    let name = Path::new(path).file_name().map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned());
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= MOST_LETTERS {
        return name;
    }
    let half = (MOST_LETTERS - 1) / 2;
    let (start, end) = (&letters[..half], &letters[letters.len() - half..]);
    start.iter().chain(&['\u{2026}']).chain(end).collect()
}

/// Bandwidths that are marked: the maxima, and the best if it is none of them.
fn marks(tuning: &Tuning) -> Vec<f64> {
    let maxima: Vec<f64> = tuning.maxima.iter().map(|maximum| maximum.bandwidth).collect();
    let is_marked = maxima.iter().any(|sigma| sigma.to_bits() == tuning.best_bandwidth.to_bits());
    maxima.into_iter().chain((!is_marked).then_some(tuning.best_bandwidth)).collect()
}

/// Words with a capital letter, as titles begin.
fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The pictures of a report.
pub(super) struct Drawn {
    curve: String,
    variances: String,
}

/// Draws the criterion with its derivative, and the variances of the components.
pub(super) fn draw(
    args: &TuneArgs,
    tuning: &Tuning,
    data: &Data,
    threads: &Threads,
    session: &mut Session<'_>,
) -> Result<(Landscape, Drawn)> {
    let marks = marks(tuning);
    let subtitle = format!(
        "{}: {} points, {}; criterion {}: bandwidth {}, gamma {}",
        file_name(&data.name),
        tuning.n_samples,
        tuning.method,
        tuning.criterion,
        short(tuning.best_bandwidth),
        short(tuning.best_gamma)
    );
    // What is drawn: a width without a search comes with the value that another criterion has there.
    let measure = tuning.criterion.measure();
    let title = format!("{}, {} kernel", capitalized(measure), tuning.kernel);
    let picture = Scan {
        title: &title,
        subtitle: &subtitle,
        bandwidths: &tuning.bandwidths,
        panels: &[
            Panel { name: measure, lines: std::slice::from_ref(&tuning.values) },
            Panel { name: "derivative by the bandwidth", lines: std::slice::from_ref(&tuning.gradients) },
        ],
        marks: &marks,
        best: tuning.best_bandwidth,
    };
    let curve = picture.to_svg();

    let found = session.timed("report", |session| {
        let work = |watch: &mercer::Watch<'_>| {
            let spec = kernel_spec(args);
            landscape(&data.points, &spec, &tuning.bandwidths, DRAWN, args.search.seed, threads, watch)
        };
        watched(session, data, None, work).map(|(found, _)| found)
    })?;
    let shown = found.variances.first().map_or(0, Vec::len);
    let lines: Vec<Vec<f64>> =
        (0..shown).map(|component| found.variances.iter().map(|variances| variances[component]).collect()).collect();
    let title = format!("Variance of the first {shown} components, {} kernel", tuning.kernel);
    // In a line of its own: long names and numbers leave no room for it beside them.
    let subtitle = format!("{subtitle}\nvariances of {} points", found.n_used);
    let picture = Scan {
        title: &title,
        subtitle: &subtitle,
        bandwidths: &found.bandwidths,
        panels: &[Panel { name: "variance", lines: &lines }],
        marks: &marks,
        best: tuning.best_bandwidth,
    };
    let variances = picture.to_svg();
    Ok((found, Drawn { curve, variances }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_names_the_file_without_folders_and_without_the_middle_of_a_long_name() {
        assert_eq!(file_name("some/long/way/points.csv"), "points.csv");
        assert_eq!(file_name("standard input"), "standard input");
        let long = file_name(&format!("folder/{}.parquet", "measurements-".repeat(9)));
        assert_eq!(long.chars().count(), MOST_LETTERS - 1);
        assert!(long.starts_with("measurements-me\u{2026}") && long.ends_with("-.parquet"), "{long}");
    }
}
