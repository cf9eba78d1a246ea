//! Which of the widths is taken for the best, and what is said of it.

use mercer::classify::KernelClassifier;
use mercer::kernel::{KernelSpec, Width};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::tune::{Criterion, TuneMethod, Tuning};
use mercer::{KernelHebbianPca, KernelPca, Points, Precision, SpectralClustering};
use mercer_testkit::Format;
use mercer_testkit::generate::{Random, gaussian_cloud};

use crate::support::gaussian;

fn is_at_the_edge(tuning: &Tuning) -> bool {
    tuning.warnings.iter().any(|warning| warning.contains("that was tried: the criterion may be better beyond it"))
}

#[test]
fn a_bump_of_noise_is_not_taken_where_an_end_of_the_scan_is_better() {
    for seed in 0..4 {
        let points = gaussian_cloud(120, 2, seed).points(Format::F64);
        let tuning = gaussian().criterion(Criterion::Reconstruction).tune(&points).unwrap();
        let highest = tuning.values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(tuning.best_value >= highest, "{} is not {highest}", tuning.best_value);
        let is_last = tuning.bandwidths.last().is_some_and(|last| last.to_bits() == tuning.best_bandwidth.to_bits());
        assert_eq!(is_at_the_edge(&tuning), is_last, "{tuning:?}");
        // One component of a round cloud loses half of it, in a kernel so wide that it is linear.
        assert!(tuning.best_value > -0.7, "{tuning:?}");
    }
}

#[test]
fn an_end_of_the_widths_that_were_given_is_told_whatever_their_order() {
    let points = gaussian_cloud(60, 2, 3).points(Format::F64);
    for sigmas in [[0.2, 0.3, 0.1], [50.0, 80.0, 60.0]] {
        let tuning = gaussian().bandwidths(sigmas).tune(&points).unwrap();
        assert!(is_at_the_edge(&tuning), "{tuning:?}");
    }
    for tuner in [gaussian(), gaussian().criterion(Criterion::Median), gaussian().bandwidths([2.0])] {
        assert!(!is_at_the_edge(&tuner.tune(&points).unwrap()));
    }
}

#[test]
fn a_plain_of_copies_is_left_on_its_inner_side() {
    // Three groups of copies: apart they are better than the maximum at which two of them are one.
    let values: Vec<f64> = (0..60).map(|i| [0.0, 1.0, 100.0][i % 3]).collect();
    let tuning = gaussian().tune(&Points::from_f64(values, 60, 1).unwrap()).unwrap();
    assert!(tuning.maxima.len() == 1 && tuning.best_value > tuning.maxima[0].value, "{tuning:?}");
    assert!(tuning.best_bandwidth > 0.05 && tuning.best_bandwidth < 0.5, "{tuning:?}");
}

#[test]
fn groups_far_apart_in_single_precision_are_tuned_as_in_double() {
    // More than are taken in double precision anyway.
    let mut random = Random::new(5);
    let values: Vec<f64> = (0..4400).map(|i| 3000.0 * f64::from(i / 2 % 3) + random.normal()).collect();
    let double = Points::from_f64(values.clone(), 2200, 2).unwrap();
    let rounded: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let single = Points::from_f32(rounded, 2200, 2).unwrap();
    let sigmas = [0.25, 0.5, 1.0, 2.0, 1e4];
    for criterion in [Criterion::Variance, Criterion::EffectiveRank] {
        let tuner = gaussian().criterion(criterion).bandwidths(sigmas);
        let (exact, found) = (tuner.tune(&double).unwrap(), tuner.tune(&single).unwrap());
        let highest = exact.values.iter().copied().fold(0.0, f64::max);
        for (a, b) in exact.values.iter().zip(&found.values) {
            // The points themselves are rounded, by parts in 1e7 of 3000.
            assert!((a - b).abs() < 2e-3 * highest, "{a} and {b} of {highest}");
        }
        assert!(found.warnings.iter().all(|warning| !warning.contains("single precision")), "{found:?}");
        let stubborn = tuner.precision(Precision::F32).tune(&single).unwrap();
        assert!(
            stubborn.warnings.iter().any(|warning| warning.starts_with("single precision changes")),
            "{stubborn:?}"
        );
    }
}

#[test]
fn a_few_rows_that_differ_are_seen_among_thousands_of_copies() {
    let mut values = vec![7.5; 5000];
    let points = |values: &[f64]| Points::from_f64(values.to_vec(), 5000, 1).unwrap();
    let equal = gaussian().bandwidths([1.0, 2.0]).tune(&points(&values)).unwrap_err();
    assert_eq!(equal.to_string(), "all 5000 rows are equal to the kernel: there is no variance to explain");
    (values[1234], values[4321]) = (3.0, 9.0);
    let tuning = gaussian().bandwidths([1.0, 2.0]).tune(&points(&values)).unwrap();
    assert!(tuning.best_value > 0.0);
}

#[test]
fn widths_that_were_given_do_not_hide_an_interval_that_is_too_wide() {
    let points = gaussian_cloud(200, 3, 2).points(Format::F64);
    let sigmas = [0.3, 1.0, 3.0, 9.0];
    let tuning = gaussian().method(TuneMethod::Sampled).bandwidths(sigmas).tolerance(1e-6).tune(&points).unwrap();
    assert!(!tuning.converged && !tuning.warnings.is_empty(), "{tuning:?}");
    // Two widths between which samples cannot decide.
    let flat = [tuning.best_bandwidth, tuning.best_bandwidth * (1.0 + 1e-7)];
    let tuning = gaussian().method(TuneMethod::Sampled).bandwidths(flat).tune(&points).unwrap();
    assert!(!tuning.converged, "{tuning:?}");
    // And two that they can tell apart.
    let tuning = gaussian().method(TuneMethod::Sampled).bandwidths([3.0, 300.0]).tune(&points).unwrap();
    assert!(tuning.converged, "{tuning:?}");
}

#[test]
fn automatic_searches_look_at_all_pairs_where_samples_do_not_tell_enough() {
    let points = gaussian_cloud(10_100, 1, 8).points(Format::F32);
    let tuner = gaussian().bandwidths([0.5, 1.0, 2.0]);
    let exact = tuner.clone().tolerance(1e-4).tune(&points).unwrap();
    assert_eq!((exact.method, exact.converged, exact.n_used), (TuneMethod::Exact, true, 10_100));
    let sampled = tuner.tolerance(0.2).tune(&points).unwrap();
    assert_eq!((sampled.method, sampled.converged), (TuneMethod::Sampled, true), "{sampled:?}");
}

#[test]
fn the_effective_rank_of_very_many_points_is_that_of_some_of_them() {
    let points = gaussian_cloud(10_100, 1, 8).points(Format::F32);
    let tuner = gaussian().criterion(Criterion::EffectiveRank).bandwidths([0.5, 1.0]).tolerance(0.1);
    let some = tuner.clone().seed(3).tune(&points).unwrap();
    assert_eq!((some.method, some.n_used, some.n_samples), (TuneMethod::Sampled, 10_000, 10_100));
    let is_told = |tuning: &Tuning| tuning.warnings.iter().any(|told| told.contains("10000 of the 10100 points"));
    assert!(is_told(&some), "{some:?}");
    let all = tuner.method(TuneMethod::Exact).tune(&points).unwrap();
    assert_eq!((all.method, all.n_used), (TuneMethod::Exact, 10_100));
    assert!(!is_told(&all) && all.values != some.values, "{all:?}");
    for (a, b) in some.values.iter().zip(&all.values) {
        assert!((a / b - 1.0).abs() < 0.01, "{a}, not {b}");
    }
}

#[test]
fn the_tolerance_of_a_search_is_what_was_asked_for_or_what_is_usual() {
    let points = gaussian_cloud(200, 3, 2).points(Format::F64);
    let tolerance = |tuner: mercer::tune::KernelTuner| tuner.tune(&points).unwrap().tolerance;
    assert_eq!(tolerance(gaussian()), Some(1e-8));
    assert_eq!(tolerance(gaussian().tolerance(1e-4)), Some(1e-4));
    assert_eq!(tolerance(gaussian().method(TuneMethod::Sampled).bandwidths([0.5, 2.0, 8.0])), Some(0.01));
    assert_eq!(tolerance(gaussian().criterion(Criterion::Leading)), Some(1e-3));
    assert_eq!(tolerance(gaussian().criterion(Criterion::Reconstruction)), None);
    assert_eq!(tolerance(gaussian().criterion(Criterion::Median)), None);
}

#[test]
fn every_fit_hands_on_what_the_search_for_its_width_has_to_say() {
    // Three groups of copies are best apart: at the narrowest width, and so the search warns of it.
    let values: Vec<f64> = (0..60).map(|i| [0.0, 1.0, 100.0][i % 3]).collect();
    let points = Points::from_f64(values, 60, 1).unwrap();
    let tuning = gaussian().tune(&points).unwrap();
    // Without the advice to say which bandwidths to try, which a fit does not take.
    let without = |warning: &String| warning.replace("; say with `bandwidths` where to look", "");
    let expected: Vec<String> = tuning.warnings.iter().map(|told| format!("gamma auto: {}", without(told))).collect();
    assert!(!expected.is_empty() && tuning.warnings.iter().any(|told| told.contains("`bandwidths`")), "{tuning:?}");
    let kernel = KernelSpec::new("gaussian").width(Width::Auto);
    let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();

    let exact = KernelPca::new(kernel.clone()).n_components(2).fit(&points).unwrap();
    let iterated = KernelHebbianPca::new(kernel.clone()).n_components(2).passes(5).fit(&points).unwrap();
    let landmarks = Nystrom::new(kernel.clone()).landmarks(Landmarks::Uniform).n_landmarks(5);
    let clusters = SpectralClustering::new(kernel.clone(), 3).fit(&points).unwrap();
    let classifier = KernelClassifier::new(kernel).fit(&points, &labels).unwrap();
    for (what, warnings) in [
        ("a fit", exact.record().warnings.clone()),
        ("an iteration", iterated.model().unwrap().record().warnings.clone()),
        ("a map to features", landmarks.map(&points).unwrap().warnings().to_vec()),
        ("landmarks", NystromPca::new(landmarks).fit(&points).unwrap().record().warnings.clone()),
        ("clusters", clusters.record().warnings.clone()),
        ("a classifier", classifier.warnings()),
    ] {
        let missing: Vec<&String> = expected.iter().filter(|&warning| !warnings.contains(warning)).collect();
        assert!(missing.is_empty(), "{what} says {warnings:?}, without {missing:?}");
        assert!(!warnings.iter().any(|told| told.contains("`bandwidths`")), "{what} says {warnings:?}");
    }
    assert_eq!(exact.record().kernel.gamma, Some(tuning.best_gamma));
    assert_eq!(classifier.gammas(), [tuning.best_gamma]);
}
