//! `mercer demo`: kernel PCA of bundled handwritten digits, from nothing to pictures.

use std::fs;
use std::path::{Path, PathBuf};

use faer::MatRef;
use mercer::kernel::{KernelSpec, Width};
use mercer::{KernelPca, Model, RunRecord};

use super::learn::{Limits, complete, learn};
use super::session::Session;
use crate::args::{DataArgs, DemoArgs, Format, ScaleFactor};
use crate::failure::{ExitStatus, Failure, Result};
use crate::input::{self, Data, Labels, ReadOptions};
use crate::output::{self, OutputFile, ScoreWriter, Words};
use crate::picture::{Scatter, ScatterPoint, Scree};
use crate::records;

/// 1797 images of 8 x 8 pixels with grey values 0 to 16; origin and licence are beside the file.
const DIGITS: &[u8] = include_bytes!("../../../../testdata/digits/digits.csv");
const LABEL: &str = "digit";
const WHITE: f64 = 16.0;

/// About two thirds of the median distance (3.07 after scaling): wide enough to join the ways of writing a digit, narrow enough
/// to keep most digits apart.
const BANDWIDTH: f64 = 2.0;
const N_COMPONENTS: usize = 10;

const SCATTER: &str = "scatter.svg";
const SCREE: &str = "scree.svg";
const SCORES: &str = "scores.csv";
const MODEL: &str = "digits.mercer";
const RECORD: &str = "record.json";

/// Runs the command.
pub(super) fn run(args: &DemoArgs) -> Result<ExitStatus> {
    let mut session = Session::start("demo", &args.report, args.progress.progress)?;
    check_place(&args.out, &session)?;
    let (data, labels) = session.timed("read", |_| read_digits())?;

    let spec = KernelSpec::new("gaussian").width(Width::Bandwidth(BANDWIDTH));
    let limits = Limits { n_components: Some(N_COMPONENTS), ..Limits::default() };
    let learned = learn(&KernelPca::new(spec).n_components(N_COMPONENTS), &data, limits, &session)?;
    let model = &learned.model;
    // Not before there is something to put into it: whoever stops the fit finds no empty folder.
    let _folders = NewFolders::make(&args.out)?;
    model.save(&args.out.join(MODEL))?;
    let scores = model.training_scores();
    write_scores(&args.out.join(SCORES), scores.as_ref(), &data)?;
    write_pictures(&args.out, model, scores.as_ref(), &labels)?;

    learned.admit(&args.out.join(MODEL), &session);
    let record = complete(model.record(), &session);
    output::write_text(&args.out.join(RECORD), &records::document("demo", learned.status(), &record)?)?;
    session.wrote(&args.out);
    let table = session.wants_table().then(|| {
        let share = same_label_neighbours(scores.as_ref(), &labels.values);
        format!("{}{}", output::summary(&record), findings(&args.out, &record, share))
    });
    session.finish(learned.status(), &record, table.as_deref())
}

/// Refuses a folder that cannot be made or written to, before the work. It is made for that, and does not stay: the record may go into it.
fn check_place(folder: &Path, session: &Session<'_>) -> Result<()> {
    let _folders = NewFolders::make(folder)?;
    session.check_outputs([folder.join(MODEL).as_path()], &[])
}

/// Folders that were made. Those that are empty when this is dropped go away again.
struct NewFolders(Vec<PathBuf>);

impl NewFolders {
    /// Makes a folder, and those that it is in.
    fn make(folder: &Path) -> Result<Self> {
        let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let made = Self(folder.ancestors().take_while(is_missing).map(Path::to_owned).collect());
        fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
        Ok(made)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        // The innermost first. The system refuses this for a folder that holds something.
        for folder in &self.0 {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn read_digits() -> Result<(Data, Labels)> {
    let args = DataArgs {
        label: Some(crate::args::ColumnName(LABEL.to_owned())),
        scale: Some(ScaleFactor(1.0 / WHITE)),
        ..DataArgs::default()
    };
    let data = input::read_embedded("the bundled digits", DIGITS, &ReadOptions::from(&args))?;
    let labels = data.labels.clone().ok_or_else(|| Failure::usage("the bundled digits have no labels"))?;
    Ok((data, labels))
}

fn write_scores(path: &Path, scores: MatRef<'_, f64>, data: &Data) -> Result<()> {
    let (n, names) = (scores.nrows(), output::component_names(scores.ncols()));
    let mut writer = ScoreWriter::new(OutputFile::create(path)?, Format::Csv, names, Some(n), data)?;
    writer.write(scores, Words::of(data, 0..n))?;
    writer.finish()
}

fn write_pictures(directory: &Path, model: &Model, scores: MatRef<'_, f64>, labels: &Labels) -> Result<()> {
    let record = model.record();
    let shares = model.explained_variance_ratio();
    let subtitle = format!(
        "{} images of 8 × 8 pixels, gaussian kernel with bandwidth {BANDWIDTH} on grey values from 0 to 1",
        record.n_samples
    );
    let scree = Scree {
        title: "Handwritten digits: variance by kernel component",
        subtitle: &subtitle,
        explained_variance_ratio: shares,
    };
    output::write_text(&directory.join(SCREE), &scree.to_svg())?;

    let points: Vec<ScatterPoint<'_>> = labels
        .values
        .iter()
        .enumerate()
        .filter(|_| scores.ncols() >= 2)
        .map(|(i, label)| ScatterPoint { x: scores[(i, 0)], y: scores[(i, 1)], label: Some(label) })
        .collect();
    let axis = |component: usize| {
        let share = shares.get(component - 1).copied().unwrap_or(0.0);
        format!("component {component} ({:.1} % of the variance)", 100.0 * share)
    };
    let scatter = Scatter {
        title: "Handwritten digits: the first two kernel components",
        subtitle: &subtitle,
        axes: (&axis(1), &axis(2)),
        legend: LABEL,
        points: &points,
    };
    output::write_text(&directory.join(SCATTER), &scatter.to_svg())
}

/// The share of points whose nearest other point, by scores, has the same label.
fn same_label_neighbours(scores: MatRef<'_, f64>, labels: &[String]) -> f64 {
    let (n, k) = (scores.nrows(), scores.ncols());
    let rows: Vec<Vec<f64>> = (0..n).map(|i| (0..k).map(|j| scores[(i, j)]).collect()).collect();
    let squared_distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let nearest = |i: usize| {
        let others = (0..n).filter(|&other| other != i).map(|other| (squared_distance(&rows[i], &rows[other]), other));
        others.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, other)| other)
    };
    let same = (0..n).filter(|&i| nearest(i).is_some_and(|other| labels[i] == labels[other])).count();
    same as f64 / n.max(1) as f64
}

/// What the demo found and where it put it.
fn findings(directory: &Path, record: &RunRecord, share: f64) -> String {
    let neighbours = format!(
        "\nBy its {} scores alone, {:.1} % of the digits have a nearest neighbour that is the same digit.\n\nIn {}:\n",
        record.n_components,
        100.0 * share,
        directory.display()
    );
    let scores = format!("scores of all {} digits, with labels", record.n_samples);
    let files = [
        (SCATTER, "the digits by their first two components"),
        (SCREE, "variance explained by each component"),
        (SCORES, &scores),
        (MODEL, "the model, for `mercer info` and `mercer transform`"),
        (RECORD, "the record of the fit, for programs"),
    ];
    files.iter().fold(neighbours, |text, (name, what)| format!("{text}  {name:<14}  {what}\n"))
}

#[cfg(test)]
mod tests {
    use faer::mat;

    use super::*;

    #[test]
    fn the_bundled_digits_are_complete() {
        let (data, labels) = read_digits().unwrap();
        assert_eq!((data.points.n_samples(), data.points.n_features()), (1797, 64));
        let mut kinds = labels.values.clone();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        let values: Vec<f64> = (0..1797).flat_map(|row| data.points.row(row)).collect();
        assert!(values.iter().all(|value| (0.0..=1.0).contains(value)));
    }

    #[test]
    fn neighbours_with_the_same_label_are_counted() {
        let scores = mat![[0.0], [0.1], [5.0], [5.2]];
        let labels = ["a", "a", "b", "a"].map(str::to_owned);
        assert!((same_label_neighbours(scores.as_ref(), &labels) - 0.5).abs() < 1e-12);
        assert!(same_label_neighbours(mat![[0.0]].as_ref(), &labels[..1]).abs() < 1e-12, "alone");
    }
}
