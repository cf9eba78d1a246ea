//! `mercer classify`: how well classes are told apart by kernel PCA and a linear unit.

use std::collections::BTreeSet;
use std::fmt::Write;

use mercer::classify::{CrossValidation, KernelClassifier, Unit, Widths};
use mercer::kernel::{Kernel, KernelSpec, Width};
use mercer::record::KernelRecord;
use serde::Serialize;

use super::learn::watched;
use super::session::{Session, threads};
use super::tune::is_of_distance;
use crate::args::{ClassifyArgs, Gamma, UnitChoice};
use crate::failure::{ExitStatus, Failure, Result};
use crate::output::summary::{percent, seconds, short};
use crate::records::Common;

/// What the record of a cross-validation has of its own.
#[derive(Serialize)]
struct ClassifyBody {
    #[serde(flatten)]
    common: Common,
    data: String,
    n_samples: usize,
    n_features: usize,
    threads: usize,
    seed: u64,
    /// Without its width, of which every fold has its own.
    kernel: KernelRecord,
    /// What was to be done with negative eigenvalues.
    negative: &'static str,
    /// Components that were asked for, if their number was.
    #[serde(skip_serializing_if = "Option::is_none")]
    n_components_asked: Option<usize>,
    /// The share of the variance that they had to explain, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    variance_asked: Option<f64>,
    #[serde(flatten)]
    layer: LayerRecord,
    folds: usize,
    repeats: usize,
    /// Names of the classes, in the order of `class_counts`.
    classes: Vec<String>,
    #[serde(flatten)]
    result: Measured,
}

/// What was asked for: what has no meaning for the unit is absent.
#[derive(Serialize)]
struct LayerRecord {
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epochs: Option<usize>,
    /// Whether columns were given the same spread, by each fold's training rows.
    standardized: bool,
    /// Whether each class has a width of its own.
    per_class: bool,
}

/// What was measured; the seconds are with the others.
#[derive(Serialize)]
struct Measured {
    accuracy: f64,
    standard_deviation: f64,
    accuracies: Vec<f64>,
    gammas: Vec<Vec<f64>>,
    fold_components: Vec<Vec<usize>>,
    class_counts: Vec<usize>,
    converged: bool,
}

/// Runs the command.
pub(super) fn run(args: &ClassifyArgs) -> Result<ExitStatus> {
    let session = Session::start("classify", &args.report, args.progress.progress)?;
    let mut session = session.on_threads(args.layer.threads);
    let threads = threads(args.layer.threads)?;
    session.check_outputs(None, &[("data", &args.points)])?;
    let classifier = classifier(args)?;
    // Means of all rows would tell the training folds of the ones held out: the classifier standardizes by itself.
    let mut reading = args.data.clone();
    reading.standardize = false;
    let data = session.read(&args.points, &reading, args.layer.seed)?;
    let Some(labels) = &data.labels else {
        return Err(Failure::usage("--label is missing: say which column holds the classes"));
    };
    let (classes, numbers) = number(&labels.values);
    let (folds, repeats) = (args.layer.folds, args.layer.repeats);
    let result = session.timed("classify", |session| {
        let work = |watch: &mercer::Watch<'_>| {
            classifier.cross_validate_watched(&data.points, &numbers, folds, repeats, &threads, watch)
        };
        watched(session, &data, None, work).map(|(result, _)| result).map_err(|failure| named(failure, &classes))
    })?;
    for warning in &result.warnings {
        session.warn(warning.clone());
    }
    let table = table(&result, args, &classes);
    let status = if result.converged { ExitStatus::Done } else { ExitStatus::NotConverged };
    let body = ClassifyBody {
        common: session.common(),
        data: data.name.clone(),
        n_samples: data.points.n_samples(),
        n_features: data.points.n_features(),
        threads: threads.count(),
        seed: args.layer.seed,
        kernel: KernelRecord { gamma: None, ..KernelRecord::from(&kernel_spec(args).resolve_without_points()?) },
        negative: args.negative.name(),
        n_components_asked: args.layer.n_components,
        variance_asked: args.layer.variance,
        layer: layer_record(args)?,
        folds,
        repeats,
        classes,
        result: Measured {
            accuracy: result.accuracy,
            standard_deviation: result.standard_deviation,
            accuracies: result.accuracies,
            gammas: result.gammas,
            fold_components: result.n_components,
            class_counts: result.class_counts,
            converged: result.converged,
        },
    };
    session.finish_with(status, &body, &table)
}

fn layer_record(args: &ClassifyArgs) -> Result<LayerRecord> {
    let (penalty, learning_rate, epochs) = match unit(args)? {
        Unit::Logistic { penalty } => (Some(penalty), None, None),
        Unit::Sigmoid { learning_rate, epochs } => (None, Some(learning_rate), Some(epochs)),
        _ => (None, None, None),
    };
    let (standardized, per_class) = (args.data.standardize, args.per_class);
    Ok(LayerRecord { unit: unit_name(args.layer.unit), penalty, learning_rate, epochs, standardized, per_class })
}

const fn unit_name(unit: UnitChoice) -> &'static str {
    match unit {
        UnitChoice::Logistic => "logistic",
        UnitChoice::Sigmoid => "sigmoid",
    }
}

/// The names of the classes, sorted, and the place of each label among them.
pub(super) fn number(labels: &[String]) -> (Vec<String>, Vec<usize>) {
    let names: BTreeSet<&String> = labels.iter().collect();
    let classes: Vec<String> = names.into_iter().cloned().collect();
    let numbers = labels.iter().map(|label| classes.binary_search(label).expect("every label is a class")).collect();
    (classes, numbers)
}

/// What the library says of labels, with the class's name instead of its number.
fn named(failure: Failure, classes: &[String]) -> Failure {
    match failure {
        Failure::Data { file, source: mercer::Error::Labels { problem } } => {
            let problem = with_name(&problem, classes).unwrap_or(problem);
            Failure::Data { file, source: mercer::Error::Labels { problem } }
        }
        other => other,
    }
}

/// A text with the name of the first class that it tells by number, if it does.
fn with_name(text: &str, classes: &[String]) -> Option<String> {
    let (before, after) = text.split_once("class ")?;
    let digits = after.chars().take_while(char::is_ascii_digit).count();
    let name = classes.get(after[..digits].parse::<usize>().ok()?)?;
    Some(format!("{before}class \"{name}\"{}", &after[digits..]))
}

/// The layer on the components that was asked for.
fn unit(args: &ClassifyArgs) -> Result<Unit> {
    let layer = &args.layer;
    match (layer.unit, layer.penalty, layer.learning_rate, layer.epochs) {
        (UnitChoice::Logistic, penalty, None, None) => {
            Ok(penalty.map_or(Unit::LOGISTIC, |penalty| Unit::Logistic { penalty }))
        }
        (UnitChoice::Sigmoid, None, rate, epochs) => Ok(match Unit::SIGMOID {
            Unit::Sigmoid { learning_rate, epochs: usual } => {
                Unit::Sigmoid { learning_rate: rate.unwrap_or(learning_rate), epochs: epochs.unwrap_or(usual) }
            }
            unit => unit,
        }),
        (UnitChoice::Logistic, ..) => {
            Err(Failure::usage("--learning-rate and --epochs belong to --unit sigmoid: leave them out"))
        }
        (UnitChoice::Sigmoid, ..) => Err(Failure::usage("--penalty belongs to --unit logistic: leave it out")),
    }
}

fn classifier(args: &ClassifyArgs) -> Result<KernelClassifier> {
    let layer = &args.layer;
    if matches!(KernelSpec::specimen(&args.kernel)?, Kernel::Precomputed) {
        return Err(Failure::usage(format!(
            "--kernel {} is a matrix that is given: a classifier learns from points",
            args.kernel
        )));
    }
    let unit = unit(args)?;
    let width = width(args);
    if args.per_class && matches!(width, Some(Width::Gamma(_) | Width::Bandwidth(_))) {
        return Err(Failure::usage(
            "--per-class finds a width for each class: leave --gamma and --bandwidth out, or give auto",
        ));
    }
    if args.per_class && !is_of_distance(&args.kernel) {
        return Err(Failure::usage(format!(
            "--per-class does not work with the {} kernel: it has no width to find",
            args.kernel
        )));
    }
    let classifier = KernelClassifier::new(kernel_spec(args))
        .unit(unit)
        .widths(if args.per_class { Widths::PerClass } else { Widths::Common })
        .negative(args.negative)
        .seed(layer.seed);
    let classifier = layer.n_components.into_iter().fold(classifier, KernelClassifier::n_components);
    let classifier = layer.variance.into_iter().fold(classifier, KernelClassifier::variance);
    Ok(if args.data.standardize { classifier.standardize() } else { classifier })
}

/// How the width is found, if anything was said about it.
fn width(args: &ClassifyArgs) -> Option<Width> {
    args.gamma.or(args.bandwidth).map(|width| match width {
        Gamma::Value(gamma) if args.gamma.is_some() => Width::Gamma(gamma),
        Gamma::Value(sigma) => Width::Bandwidth(sigma),
        Gamma::Scale => Width::Scale,
        Gamma::Median => Width::Median,
        Gamma::Auto => Width::Auto,
    })
}

/// The kernel that was asked for.
fn kernel_spec(args: &ClassifyArgs) -> KernelSpec {
    let spec = KernelSpec::new(&args.kernel);
    let spec = match width(args) {
        Some(width) => spec.width(width),
        None if is_of_distance(&args.kernel) => spec.width(Width::Auto),
        None => spec,
    };
    let spec = args.degree.into_iter().fold(spec, KernelSpec::degree);
    let spec = args.coef0.into_iter().fold(spec, KernelSpec::coef0);
    args.alpha.into_iter().fold(spec, KernelSpec::alpha)
}

/// The result for people.
fn table(result: &CrossValidation, args: &ClassifyArgs, classes: &[String]) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "accuracy     {} (standard deviation of a fold {})",
        percent(result.accuracy),
        percent(result.standard_deviation)
    );
    let _ = writeln!(
        text,
        "test         {} folds, {}; {} rows of {} classes",
        args.layer.folds,
        if args.layer.repeats == 1 { "once".to_owned() } else { format!("{} times", args.layer.repeats) },
        result.class_counts.iter().sum::<usize>(),
        classes.len()
    );
    let range = |values: Vec<f64>| {
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), &x| (low.min(x), high.max(x)));
        if (high - low).abs() <= 1e-9 * high { short(low) } else { format!("{} to {}", short(low), short(high)) }
    };
    let gammas: Vec<f64> = result.gammas.iter().flatten().copied().collect();
    let is_per_class = result.gammas.first().is_some_and(|own| own.len() > 1);
    let width = if gammas.is_empty() || is_per_class { String::new() } else { format!(", gamma {}", range(gammas)) };
    let components = range(result.n_components.iter().flatten().map(|&k| k as f64).collect());
    let _ = writeln!(text, "kernel       {}{width}", args.kernel);
    for (class, name) in classes.iter().enumerate().filter(|_| is_per_class) {
        let own = result.gammas.iter().map(|of_fold| of_fold[class]).collect();
        let _ = writeln!(text, "             \"{name}\": gamma {}", range(own));
    }
    let _ = writeln!(text, "components   {components}, {} unit", unit_name(args.layer.unit));
    let _ = writeln!(text, "time         {}", seconds(result.seconds));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_numbered_in_the_order_of_their_names() {
        let words = ["b", "a", "c", "a"].map(str::to_owned);
        assert_eq!(number(&words), (["a", "b", "c"].map(str::to_owned).to_vec(), vec![1, 0, 2, 0]));
    }

    #[test]
    fn a_class_is_called_by_its_name() {
        let classes = ["cat", "dog"].map(str::to_owned);
        let said = |problem: &str| {
            let source = mercer::Error::Labels { problem: problem.to_owned() };
            // Not a class, but the file.
            let failure = named(Failure::Data { file: "class 0.csv".to_owned(), source }, &classes);
            (failure.to_string(), failure.kind())
        };
        let expected = "class 0.csv: class \"dog\" has 2 members, fewer than the 3 folds";
        assert_eq!(said("class 1 has 2 members, fewer than the 3 folds"), (expected.to_owned(), "input"));
        assert_eq!(said("nothing of the kind"), ("class 0.csv: nothing of the kind".to_owned(), "input"));
    }
}
