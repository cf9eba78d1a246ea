//! Does a width that was found without labels classify?

use std::collections::BTreeMap;
use std::path::Path;

use mercer::Points;
use mercer::classify::{KernelClassifier, Unit};
use mercer::kernel::{KernelSpec, Width};
use mercer_cli::UCI_SETS;
use npyz::npz::NpzArchive;
use serde::Deserialize;

use crate::failure::{Failure, Result};
use crate::harness::{Contender, alternate};
use crate::points_file::PointsFile;
use crate::record::{Findings, Quantity};
use crate::rival::Rival;
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The ten UCI sets of Nogayama, Takahashi and Muramatsu, columns standardised, ten folds (as many as the smallest class has rows, where those are fewer) five times over: kernel PCA with the bandwidth that the \
    criterion finds in every training set (100 components, fewer where there are fewer points) and logistic regression or sigmoid units; the same with the best of 13 \
    bandwidths around it, chosen by accuracy in ten folds; and a support vector machine of scikit-learn with the best of a grid of 7 x 7 values of gamma and C, \
    chosen in the same way. Rows with missing values are left out. Times are for everything, the choice of parameters included.";

const FOLDS: usize = 10;
/// Components at most: enough for every set, and the same for every bandwidth.
const COMPONENTS: usize = 100;

/// What the rival's script answers.
#[derive(Deserialize)]
struct SvmAnswer {
    seconds: f64,
    accuracy: f64,
    versions: BTreeMap<String, String>,
}

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let repeats = setup.size(5, 1);
    let sets = if setup.options.quick { &UCI_SETS[..1] } else { &UCI_SETS[..] };
    findings.setting("points", "ten sets");
    findings.setting("folds", FOLDS);
    findings.setting("repeats", repeats);
    let mut worst: f64 = 0.0;
    let mut misses = 0;
    for name in sets {
        let (points, labels) = if setup.options.quick { made_up() } else { read(&setup.options.data, name)? };
        let folds = folds_of(&labels);
        if folds < FOLDS {
            findings.note(format!("{name}: {folds} folds, because the smallest class has no more rows"));
        }
        let auto = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto)).standardize();
        let auto = auto.n_components(COMPONENTS.min(points.n_samples() * 9 / 10 - 2));
        let run = |unit: Unit| {
            let classifier = auto.clone().unit(unit);
            let (points, labels) = (&points, &labels);
            move || Ok(classifier.cross_validate(points, labels, folds, repeats)?)
        };
        let finished = alternate(
            vec![
                Contender::timed(format!("{name}: auto, logistic"), run(Unit::LOGISTIC)),
                Contender::timed(format!("{name}: auto, sigmoid"), run(Unit::SIGMOID)),
            ],
            setup.rounds(1),
        )?;
        findings.timings(&finished);
        let (logistic, sigmoid) = (finished[0].answer(), finished[1].answer());
        findings.quantity(format!("{name}: accuracy, auto, logistic"), logistic.accuracy, "");
        findings.quantity(format!("{name}: accuracy, auto, sigmoid"), sigmoid.accuracy, "");
        let gammas: Vec<f64> = logistic.gammas.iter().flatten().copied().collect();
        let middle = gammas.iter().sum::<f64>() / gammas.len() as f64;
        let scanned = Contender::timed(format!("{name}: best of 13 bandwidths, logistic"), || {
            let steps = if setup.options.quick { 1 } else { 6 };
            let with = |step: i32| {
                let spec = KernelSpec::new("gaussian").width(Width::Gamma(middle * 2.0_f64.powi(step)));
                KernelClassifier::new(spec).standardize().n_components(COMPONENTS.min(points.n_samples() * 9 / 10 - 2))
            };
            let mut best = (f64::NEG_INFINITY, 0);
            for step in -steps..=steps {
                let found = with(step).seed(99).cross_validate(&points, &labels, folds, 1)?;
                if found.accuracy > best.0 {
                    best = (found.accuracy, step);
                }
            }
            Ok(with(best.1).cross_validate(&points, &labels, folds, repeats)?)
        });
        let finished = alternate(vec![scanned], setup.rounds(1))?;
        findings.timings(&finished);
        findings.quantity(format!("{name}: accuracy, best of 13 bandwidths"), finished[0].answer().accuracy, "");
        // Anybody who always says the most frequent class is right this often; an answer below it is none.
        let most = *logistic.class_counts.iter().max().expect("classes") as f64 / labels.len() as f64;
        findings.check(format!("{name}: the most frequent class beats us by"), most - logistic.accuracy, 0.05)?;
        if setup.options.no_rival {
            continue;
        }
        let svm = svm(setup, name, &points, &labels, repeats)?;
        findings.rival_versions(&svm.versions);
        findings.quantity(format!("{name}: accuracy, support vector machine"), svm.accuracy, "");
        let behind = 100.0 * (svm.accuracy - logistic.accuracy);
        worst = worst.max(behind);
        misses += usize::from(behind > 2.0);
        let best = Quantity::new("support vector machine", svm.seconds, "s");
        let ours = Quantity::new("auto, logistic", logistic.seconds, "s");
        findings.ratio(format!("{name}: time of the support vector machine to ours"), best, ours, None);
    }
    if !setup.options.no_rival {
        findings.quantity("points of accuracy behind the support vector machine, at worst", worst, "%");
        findings.quantity("sets more than two points behind it", misses as f64, "");
    }
    Ok(())
}

fn svm(setup: &Setup, name: &str, points: &Points, labels: &[usize], repeats: usize) -> Result<SvmAnswer> {
    let rows: Vec<f32> = (0..points.n_samples())
        .flat_map(|i| points.row(i).into_iter().chain(std::iter::once(labels[i] as f64)))
        .map(|x| x as f32)
        .collect();
    let file = PointsFile::write_f32(setup.scratch_file(&format!("{name}.f32")), &rows, points.n_features() + 1)?;
    let rival = Rival::new("svm_grid.py", &file).argument("folds", folds_of(labels)).argument("repeats", repeats);
    rival.run(setup).map(|(answer, _)| answer)
}

/// Ten folds, or as many as the smallest class has rows.
fn folds_of(labels: &[usize]) -> usize {
    let counts = labels.iter().fold(BTreeMap::new(), |mut counts: BTreeMap<usize, usize>, &label| {
        *counts.entry(label).or_default() += 1;
        counts
    });
    counts.into_values().fold(FOLDS, usize::min)
}

/// Points and classes of a set, without rows that have missing values.
fn read(data: &Path, name: &str) -> Result<(Points, Vec<usize>)> {
    let path = data.join("uci").join(format!("{name}.npz"));
    let wrong = |problem: &str| Failure::Data { path: path.clone(), problem: problem.to_owned() };
    let mut archive = NpzArchive::open(&path).map_err(Failure::file(&path))?;
    let y = archive.by_name("y").map_err(Failure::file(&path))?.ok_or_else(|| wrong("there is no array y"))?;
    let y = y.into_vec::<i64>().map_err(Failure::file(&path))?;
    let x = archive.by_name("X").map_err(Failure::file(&path))?.ok_or_else(|| wrong("there is no array X"))?;
    let (order, &[n, d]) = (x.order(), x.shape()) else { return Err(wrong("X is not rows of numbers")) };
    let [n, d] = [n, d].map(|size| size as usize);
    let x = x.into_vec::<f64>().map_err(Failure::file(&path))?;
    let place = |row: usize, column: usize| match order {
        npyz::Order::C => row * d + column,
        npyz::Order::Fortran => column * n + row,
    };
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for (i, label) in y.into_iter().enumerate().take(n) {
        let row: Vec<f64> = (0..d).map(|column| x[place(i, column)]).collect();
        if row.iter().all(|x| x.is_finite()) {
            values.extend(row);
            labels.push(usize::try_from(label).map_err(|_| wrong("a class is negative"))?);
        }
    }
    let n = labels.len();
    Ok((Points::from_f64(values, n, d)?, labels))
}

/// Two rings.
fn made_up() -> (Points, Vec<usize>) {
    let values: Vec<f64> = (0..80)
        .flat_map(|i| {
            let (angle, radius) = (f64::from(i) * 2.4, if i % 2 == 0 { 0.5 } else { 3.0 });
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    (Points::from_f64(values, 80, 2).expect("80 rows of 2"), (0..80).map(|i| i % 2).collect())
}
