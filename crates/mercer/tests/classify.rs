//! Classification by linear units on components.
#![allow(clippy::unwrap_used)]

use mercer::classify::{KernelClassifier, Unit, Widths, stratified_folds};
use mercer::kernel::{KernelSpec, Width};
use mercer::watch::{Threads, Watch};
use mercer::{Error, ErrorKind, Negative, Points, Result};
use mercer_testkit::generate::gaussian_cloud;
use mercer_testkit::{Cloud, Format};

/// A disc and a ring around it, alternating.
fn disc_and_ring(n: usize) -> (Points, Vec<usize>) {
    let noise = gaussian_cloud(n, 2, 9);
    let cloud = Cloud::from_fn(n, 2, |i, k| {
        let angle = i as f64 * 2.4;
        let radius = if i % 2 == 0 { 0.5 } else { 3.0 };
        radius * if k == 0 { angle.cos() } else { angle.sin() } + 0.15 * noise.row(i)[k]
    });
    (cloud.points(Format::F64), (0..n).map(|i| i % 2).collect())
}

/// Four groups, two of them wide and two narrow.
fn four_groups(n: usize) -> (Points, Vec<usize>) {
    let noise = gaussian_cloud(n, 2, 4);
    let cloud = Cloud::from_fn(n, 2, |i, k| {
        let class = i % 4;
        let center = [[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]][class][k];
        center + [0.2, 1.2, 0.2, 1.2][class] * noise.row(i)[k]
    });
    (cloud.points(Format::F64), (0..n).map(|i| i % 4).collect())
}

fn auto() -> KernelClassifier {
    KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto))
}

fn share(found: &[usize], labels: &[usize]) -> f64 {
    found.iter().zip(labels).filter(|(a, b)| a == b).count() as f64 / labels.len() as f64
}

#[test]
fn what_no_line_separates_is_separated_by_every_unit_and_width() {
    let (points, labels) = disc_and_ring(80);
    let linear = KernelClassifier::new(KernelSpec::new("linear")).unit(Unit::SIGMOID);
    assert!(share(&linear.fit(&points, &labels).unwrap().predict(&points).unwrap(), &labels) < 0.8);
    for unit in [Unit::SIGMOID, Unit::LOGISTIC] {
        for widths in [Widths::Common, Widths::PerClass] {
            let classifier = auto().unit(unit).widths(widths).fit(&points, &labels).unwrap();
            assert_eq!(classifier.predict(&points).unwrap(), labels, "{unit:?} {widths:?}");
            assert_eq!(classifier.gammas().len(), if widths == Widths::Common { 1 } else { 2 });
        }
    }
}

#[test]
fn a_first_component_of_negative_eigenvalue_is_learned_from_as_any_other() {
    // Of points on this side of zero the centred kernel is hardly anything but negative.
    let points = Points::from_f64((0..40).map(|i| 2.0 + f64::from(i) / 39.0).collect::<Vec<_>>(), 40, 1).unwrap();
    let labels: Vec<usize> = (0..40).map(|i| i / 20).collect();
    let sigmoid = KernelSpec::new("sigmoid").width(Width::Gamma(1.0)).coef0(0.0);
    let classifier = KernelClassifier::new(sigmoid).n_components(1).unit(Unit::SIGMOID);
    let error = classifier.fit(&points, &labels).unwrap_err();
    assert!(matches!(error, Error::NegativeEigenvalues { can_flip: true, .. }), "{error}");
    let shares = classifier.negative(Negative::Flip).fit(&points, &labels).unwrap().probabilities(&points).unwrap();
    // Scores of another size than one would be learned from a hundred times slower.
    assert!(shares[(0, 0)] > 0.95 && shares[(39, 1)] > 0.95, "{} and {}", shares[(0, 0)], shares[(39, 1)]);
}

#[test]
fn several_classes_are_told_apart_on_points_held_out() {
    let (points, labels) = four_groups(120);
    for unit in [Unit::SIGMOID, Unit::LOGISTIC] {
        for widths in [Widths::Common, Widths::PerClass] {
            let found = auto().unit(unit).widths(widths).cross_validate(&points, &labels, 5, 2).unwrap();
            assert!(found.accuracy > 0.93, "{unit:?} {widths:?}: {}", found.accuracy);
            assert_eq!((found.accuracies.len(), found.class_counts.as_slice()), (10, &[30, 30, 30, 30][..]));
        }
    }
}

#[test]
fn labels_without_a_pattern_are_guessed_no_better_than_by_chance() {
    // Everything that is learned must come from the other folds: a leak would show here.
    let points = gaussian_cloud(200, 5, 77).points(Format::F64);
    let labels: Vec<usize> = (0..200).map(|i| i * 7919 % 101 % 2).collect();
    let found = auto().standardize().cross_validate(&points, &labels, 5, 3).unwrap();
    assert!((found.accuracy - 0.5).abs() < 0.12, "{}", found.accuracy);
}

#[test]
fn shares_of_classes_add_up_to_one() {
    let (points, labels) = four_groups(40);
    for unit in [Unit::SIGMOID, Unit::LOGISTIC] {
        let shares = auto().unit(unit).fit(&points, &labels).unwrap().probabilities(&points).unwrap();
        for i in 0..40 {
            let total: f64 = (0..4).map(|j| shares[(i, j)]).sum();
            assert!((total - 1.0).abs() < 1e-12 && (0..4).all(|j| shares[(i, j)] >= 0.0));
        }
    }
}

#[test]
fn standardizing_is_learned_from_the_training_points() {
    let (points, labels) = disc_and_ring(60);
    // A column a million times larger than the others would drown them.
    let stretched = Cloud::from_fn(60, 3, |i, k| if k < 2 { points.row(i)[k] } else { 1e6 * (i as f64 * 1.7).sin() });
    let stretched = stretched.points(Format::F64);
    let plain = auto().cross_validate(&stretched, &labels, 5, 1).unwrap();
    let scaled = auto().standardize().cross_validate(&stretched, &labels, 5, 1).unwrap();
    assert!(scaled.accuracy > 0.85 && scaled.accuracy > plain.accuracy, "{} {}", scaled.accuracy, plain.accuracy);

    // The same by hand, fold by fold: mean and variance are those of the rows that are not held out.
    let folds = stratified_folds(&labels, 5, 0).unwrap();
    let mut differs = 0.0_f64;
    for fold in 0..5 {
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..60).partition(|&i| folds[i] == fold);
        let own = by_hand(&stretched, &kept);
        let classes: Vec<usize> = kept.iter().map(|&i| labels[i]).collect();
        let classifier = auto().fit(&own.select(&kept), &classes).unwrap();
        let expected: Vec<usize> = held.iter().map(|&i| labels[i]).collect();
        let accuracy = share(&classifier.predict(&own.select(&held)).unwrap(), &expected);
        assert!((scaled.accuracies[fold] - accuracy).abs() < 1e-12, "fold {fold}");
        let (found, gamma) = (scaled.gammas[fold][0], classifier.gammas()[0]);
        assert!((found / gamma - 1.0).abs() < 1e-6, "fold {fold}: {found}, not {gamma}");
        // What rows that are held out would change.
        let all: Vec<usize> = (0..60).collect();
        let leaked = auto().fit(&by_hand(&stretched, &all).select(&kept), &classes).unwrap().gammas()[0];
        differs = differs.max((leaked / gamma - 1.0).abs());
    }
    assert!(differs > 1e-3, "the test would not see a leak: {differs:e}");
}

/// All rows with columns of mean 0 and variance 1 over some of them.
fn by_hand(points: &Points, rows: &[usize]) -> Points {
    let (n, d) = (points.n_samples(), points.n_features());
    let count = rows.len() as f64;
    let mean = |k: usize| rows.iter().map(|&i| points.row(i)[k]).sum::<f64>() / count;
    let deviation = |k: usize| (rows.iter().map(|&i| (points.row(i)[k] - mean(k)).powi(2)).sum::<f64>() / count).sqrt();
    let columns: Vec<(f64, f64)> = (0..d).map(|k| (mean(k), deviation(k))).collect();
    let values = (0..n * d).map(|at| (points.row(at / d)[at % d] - columns[at % d].0) / columns[at % d].1);
    Points::from_f64(values.collect::<Vec<_>>(), n, d).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bits() {
    let (points, labels) = disc_and_ring(40);
    let run = |seed| auto().unit(Unit::SIGMOID).seed(seed).cross_validate(&points, &labels, 4, 2).unwrap();
    assert_eq!((run(3).accuracies, run(3).gammas), (run(3).accuracies, run(3).gammas));
    assert_ne!(run(3).gammas, run(4).gammas);
}

#[test]
fn folds_side_by_side_give_what_folds_one_by_one_give() {
    let (points, labels) = four_groups(80);
    let run = |n: usize| {
        let threads = Threads::new(n).unwrap();
        auto().unit(Unit::SIGMOID).cross_validate_watched(&points, &labels, 4, 3, &threads, &Watch::new()).unwrap()
    };
    let alone = run(1);
    for n in [2, 5] {
        let found = run(n);
        assert_eq!((found.accuracy, &found.accuracies), (alone.accuracy, &alone.accuracies), "{n} threads");
        assert_eq!((&found.gammas, &found.n_components), (&alone.gammas, &alone.n_components), "{n} threads");
    }
}

#[test]
fn numbers_of_components_that_are_tried_together_find_what_each_finds_alone() {
    let (points, labels) = four_groups(80);
    let among = [30, 1, 2, 5];
    for (unit, widths) in [(Unit::SIGMOID, Widths::Common), (Unit::LOGISTIC, Widths::PerClass)] {
        let classifier = auto().unit(unit).widths(widths).seed(3);
        let on = |n: usize| {
            let threads = Threads::new(n).unwrap();
            classifier.choose_n_components(&points, &labels, &among, 4, &threads, &Watch::new()).unwrap()
        };
        let chosen = on(1);
        assert_eq!((&chosen.tried[..], &chosen.accuracies), (&among[..], &on(2).accuracies));
        for (n, accuracy) in among.into_iter().zip(&chosen.accuracies) {
            let alone = classifier.clone().n_components(n).cross_validate(&points, &labels, 4, 1).unwrap().accuracy;
            assert!((accuracy - alone).abs() < 1e-12, "{n} components, {unit:?}: {accuracy}, alone {alone}");
        }
        // The fewest of those that are best.
        let best = chosen.accuracies.iter().copied().fold(0.0, f64::max);
        let are_best = among.into_iter().zip(&chosen.accuracies).filter(|(_, accuracy)| **accuracy >= best);
        assert_eq!(are_best.map(|(n, _)| n).min(), Some(chosen.n_components), "{chosen:?}");
        assert!(best > 0.9, "{chosen:?}");
    }
}

#[test]
fn what_folds_have_to_say_is_said_once_with_their_number() {
    // Three groups of copies: the search for the width warns in every fold.
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let cloud = Cloud::from_fn(60, 1, |i, _| [0.0, 1.0, 100.0][i % 3]);
    let found = auto().cross_validate(&cloud.points(Format::F64), &labels, 5, 2).unwrap();
    let [said] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
    assert!(said.starts_with("in 10 of 10 folds: gamma auto: the best bandwidth "), "{said}");
    let (points, labels) = disc_and_ring(40);
    assert!(auto().cross_validate(&points, &labels, 4, 1).unwrap().warnings.is_empty());
}

#[test]
fn what_the_fits_of_folds_say_of_their_components_is_handed_on() {
    let (points, labels) = disc_and_ring(60);
    let sigmoid = KernelClassifier::new(KernelSpec::new("sigmoid")).negative(Negative::Clip);
    let found = sigmoid.cross_validate(&points, &labels, 5, 2).unwrap();
    let start = "in 10 of 10 folds: the kernel has negative eigenvalues, down to -";
    assert_eq!(found.warnings.iter().filter(|said| said.starts_with(start)).count(), 1, "{:?}", found.warnings);
    // Three points in many copies: two components, and nothing but rounding beside them.
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
    let copies = Cloud::from_fn(60, 1, |i, _| [0.0, 1.0, 3.0][i % 3]).points(Format::F64);
    let gaussian = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Gamma(0.5)));
    let found = gaussian.n_components(10).cross_validate(&copies, &labels, 5, 1).unwrap();
    let start = "in 5 of 5 folds: 2 of 10 components are returned";
    assert!(found.warnings.iter().any(|said| said.starts_with(start)), "{:?}", found.warnings);
}

/// Two classes of the same rows have the same width, and their fits the same to say.
#[test]
fn what_is_the_same_for_several_classes_is_said_once() {
    let labels: Vec<usize> = (0..64).map(|i| i % 2).collect();
    // Two clusters of few points in many copies: a width between the two distances is the best.
    let copies = Cloud::from_fn(64, 1, |i, _| [0.0, 0.1, 0.3, 0.6, 8.0, 8.1, 8.3, 8.6][i / 2 % 8]).points(Format::F64);
    let said = auto().widths(Widths::PerClass).n_components(10).fit(&copies, &labels).unwrap().warnings();
    assert_eq!(said.iter().filter(|said| said.contains(" of 10 components are returned")).count(), 1, "{said:?}");
    assert!((1..said.len()).all(|i| !said[..i].contains(&said[i])), "{said:?}");
}

#[test]
fn a_row_that_a_fold_cannot_use_is_named_as_a_row_of_all() {
    let (points, labels) = disc_and_ring(60);
    // In the first class, whose width is found first.
    let far = Cloud::from_fn(60, 2, |i, k| if i == 36 { 1e200 } else { points.row(i)[k] }).points(Format::F64);
    for (widths, seed) in [(Widths::Common, 0), (Widths::Common, 1), (Widths::PerClass, 0)] {
        let error = auto().widths(widths).seed(seed).cross_validate(&far, &labels, 5, 1).unwrap_err();
        assert!(error.to_string().starts_with("row 36 is too large"), "{error}");
    }
    let (far, labels) = (far.select(&[1, 36, 2, 3, 4, 5, 6, 8]), [1, 0, 0, 1, 0, 1, 0, 0]);
    let error = auto().widths(Widths::PerClass).fit(&far, &labels).unwrap_err();
    assert!(matches!(error, Error::TooFarApart { row: 1, .. }), "{error}");
}

#[test]
fn folds_share_out_every_class_and_differ_by_the_seed() {
    let labels: Vec<usize> = (0..97).map(|i| usize::from(i % 5 == 0)).collect();
    let folds = stratified_folds(&labels, 7, 1).unwrap();
    for class in 0..2 {
        let counts: Vec<usize> =
            (0..7).map(|fold| (0..97).filter(|&i| folds[i] == fold && labels[i] == class).count()).collect();
        assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
    }
    let sizes: Vec<usize> = (0..7).map(|fold| folds.iter().filter(|&&f| f == fold).count()).collect();
    assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1, "{sizes:?}");
    assert_ne!(folds, stratified_folds(&labels, 7, 2).unwrap());
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(outcome: Result<T>, words: &[&str]) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let message = error.to_string();
    assert!(words.iter().all(|word| message.contains(word)), "\"{message}\" does not speak of {words:?}");
}

#[test]
fn labels_with_one_class() {
    let (points, _) = disc_and_ring(20);
    let message = "all rows have the same label: a classifier needs at least two classes";
    assert_eq!(auto().fit(&points, &[0; 20]).unwrap_err().to_string(), message);
    assert_eq!(auto().cross_validate(&points, &[1; 20], 5, 1).unwrap_err().to_string(), message);
}

#[test]
fn fewer_members_than_folds() {
    let (points, _) = disc_and_ring(20);
    let labels: Vec<usize> = (0..20).map(|i| usize::from(i < 3)).collect();
    let error = auto().cross_validate(&points, &labels, 10, 1).unwrap_err();
    assert_eq!(error.to_string(), "class 1 has 3 members, fewer than the 10 folds: use at most 3 folds");
}

#[test]
fn labels_and_settings_that_make_no_sense() {
    let (points, labels) = disc_and_ring(20);
    assert_refused(auto().fit(&points, &labels[1..]), &["19 labels", "20 rows"]);
    assert_refused(auto().fit(&points, &[7_000_000; 20]), &["number classes from 0"]);
    let gaps: Vec<usize> = labels.iter().map(|label| 2 * label).collect();
    assert_refused(auto().fit(&points, &gaps), &["class 1 has no rows"]);
    assert_refused(auto().cross_validate(&points, &labels, 1, 1), &["folds", "at least 2"]);
    assert_refused(auto().cross_validate(&points, &labels, 5, 0), &["repeats", "at least 1"]);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    for among in [&[][..], &[3, 0][..]] {
        let outcome = auto().choose_n_components(&points, &labels, among, 5, &threads, &watch);
        assert_refused(outcome, &["n_components", "at least one number to try, each at least 1"]);
    }
    assert_refused(auto().choose_n_components(&points, &labels, &[2], 1, &threads, &watch), &["folds", "at least 2"]);
    assert_refused(auto().unit(Unit::Logistic { penalty: 0.0 }).fit(&points, &labels), &["penalty", "positive"]);
    let unit = Unit::Sigmoid { learning_rate: 0.1, epochs: 0 };
    assert_refused(auto().unit(unit).fit(&points, &labels), &["epochs"]);
    assert_refused(auto().n_components(0).fit(&points, &labels), &["n_components"]);
    assert_refused(auto().variance(1.5).fit(&points, &labels), &["variance"]);
    let given = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Gamma(0.5)));
    assert_refused(given.widths(Widths::PerClass).fit(&points, &labels), &["widths", "0.5", "every class"]);
    let few: Vec<usize> = (0..20).map(|i| usize::from(i < 2)).collect();
    let outcome = auto().widths(Widths::PerClass).fit(&points, &few);
    assert!(matches!(outcome, Err(Error::Labels { .. })), "{outcome:?}");
    assert_refused(outcome, &["class 1", "2 rows", "at least 3"]);
}

#[test]
fn a_matrix_that_is_given_is_no_kernel_to_classify_with() {
    let (points, labels) = disc_and_ring(20);
    let classifier = KernelClassifier::new(KernelSpec::new("precomputed"));
    let words = ["a classifier does not work with the precomputed kernel", "matrix that is given"];
    assert_refused(classifier.fit(&points, &labels), &words);
    assert_refused(classifier.cross_validate(&points, &labels, 5, 1), &words);
}

#[test]
fn a_class_without_a_best_width_is_named_with_what_would_help() {
    let values: Vec<f64> = (0..30).map(|i| f64::from(if i < 15 { i } else { 40 + i % 2 })).collect();
    let labels: Vec<usize> = (0..30).map(|i| i / 15).collect();
    let points = Points::from_f64(values, 30, 1).unwrap();
    let message = auto().widths(Widths::PerClass).fit(&points, &labels).unwrap_err().to_string();
    assert!(message.starts_with("class 1 has 15 rows to learn from, for which no width is the best"), "{message}");
    assert!(message.ends_with("use one width for all classes"), "{message}");
    assert!(!message.contains("give the kernel a width"), "{message}");
}

#[test]
fn rows_of_a_class_in_a_fold_are_those_that_are_learned_from() {
    let (points, _) = disc_and_ring(20);
    let labels: Vec<usize> = (0..20).map(|i| usize::from(i < 4)).collect();
    let message = auto().widths(Widths::PerClass).cross_validate(&points, &labels, 2, 1).unwrap_err().to_string();
    let expected = "in a fold, class 1 has 2 rows to learn from: a width of its own needs at least 3";
    assert_eq!(message, expected);
}

#[test]
fn a_class_without_a_width_of_its_own_is_named() {
    let values: Vec<f64> = (0..30).map(|i| if i < 15 { f64::from(i) } else { 40.0 }).collect();
    let labels: Vec<usize> = (0..30).map(|i| i / 15).collect();
    let points = Points::from_f64(values, 30, 1).unwrap();
    let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto)).widths(Widths::PerClass);
    let message = classifier.fit(&points, &labels).unwrap_err().to_string();
    assert!(message.contains("class 1 has 15 rows to learn from, which are all equal"), "{message}");
}
