//! Against eigenvalues by Jacobi's rotations, for every kernel, format and instruction path.

use std::f64::consts::SQRT_2;

use mercer::kernel::{KernelSpec, Parameter};
use mercer::tune::{Criterion, KernelTuner, evaluate};
use mercer::watch::Threads;
use mercer::{Precision, Watch};
use mercer_testkit::generate::{gaussian_cloud, grid};
use mercer_testkit::reference::{Textbook, center, eigen};
use mercer_testkit::{Cloud, Format};

use crate::support::{by_eigenvalues, gamma, gaussian, gram};

const SIGMAS: [f64; 7] = [0.2, 0.5, 1.0, SQRT_2, 2.0, 2.0 * SQRT_2, 9.0];

#[test]
fn gaussian_values_are_those_of_the_eigenvalues() {
    for (n, d) in [(2, 1), (3, 2), (17, 3), (70, 5), (190, 2)] {
        let cloud = gaussian_cloud(n, d, 3);
        let tuning = gaussian().bandwidths(SIGMAS).tune(&cloud.points(Format::F64)).unwrap();
        for (&sigma, &value) in tuning.bandwidths.iter().zip(&tuning.values) {
            let expected = by_eigenvalues(Textbook::Gaussian { gamma: gamma(sigma) }, &cloud);
            // Terms of size l² cancel to l³ E; entries carry a few roundings each, and so do the reference's eigenvalues.
            let slack = 1e-12 * expected + 64.0 * f64::EPSILON / n as f64;
            assert!((value - expected).abs() < slack, "n = {n}, {sigma}: {value:e}, not {expected:e}");
        }
    }
}

#[test]
fn copies_and_tight_groups_far_apart_have_the_values_of_their_eigenvalues() {
    // Half of the points are copies of the others: a kernel of the distance is one between them, not one less the root of a rounding.
    let cloud = gaussian_cloud(30, 7, 3);
    let copies = Cloud::from_fn(60, 7, |i, k| cloud.row(i % 30)[k]);
    // Groups 60 apart, in which points are thousandths apart.
    let groups = Cloud::from_fn(60, 2, |i, k| 60.0 * ((i + k) % 2) as f64 + 1e-3 * cloud.row(i % 30)[k + i / 30]);
    let sigmas = [1e-3, 3e-3, 0.1, 0.3, 1.0];
    for (name, textbook) in
        [("gaussian", Textbook::Gaussian { gamma: 1.0 }), ("exponential", Textbook::Exponential { gamma: 1.0 })]
    {
        for cloud in [&copies, &groups] {
            let tuner = KernelTuner::new(KernelSpec::new(name)).bandwidths(sigmas);
            let tuning = tuner.tune(&cloud.points(Format::F64)).unwrap();
            for (&sigma, &value) in tuning.bandwidths.iter().zip(&tuning.values) {
                let expected = by_eigenvalues(textbook.with(Parameter::Gamma, gamma(sigma)), cloud);
                assert!((value / expected - 1.0).abs() < 1e-10, "{name}, {sigma}: {value:e}, not {expected:e}");
            }
        }
    }
}

#[test]
fn single_precision_and_bytes_are_close_to_that() {
    let cloud = gaussian_cloud(150, 6, 8);
    for format in [Format::F32, Format::U8] {
        let points = cloud.points(format);
        // The same numbers, rounded as the format rounds them.
        let rounded = Cloud::from_fn(150, 6, |i, k| points.row(i)[k]);
        let tuning = gaussian().precision(Precision::F32).bandwidths(SIGMAS).tune(&points).unwrap();
        let exact = gaussian().bandwidths(SIGMAS).tune(&rounded.points(Format::F64)).unwrap();
        for (i, &sigma) in tuning.bandwidths.iter().enumerate() {
            let (found, expected) = (tuning.values[i], exact.values[i]);
            // Rounding of single entries, of either sign, where nearly equal terms cancel.
            let slack = f64::from(f32::EPSILON) / 150.0;
            assert!(
                (found - expected).abs() < 2e-5 * expected + slack,
                "{format:?} {sigma}: {found:e}, not {expected:e}"
            );
            let scale = exact.values[i] / sigma;
            assert!(
                (tuning.gradients[i] - exact.gradients[i]).abs() < 1e-4 * scale + slack / sigma,
                "{format:?} slope at {sigma}"
            );
        }
        assert!((tuning.best_bandwidth / exact.best_bandwidth - 1.0).abs() < 1e-4, "{format:?}");
    }
}

#[test]
fn a_scan_of_many_bandwidths_in_single_precision_is_that_of_the_eigenvalues() {
    let cloud = gaussian_cloud(150, 6, 8);
    let points = cloud.points(Format::F32);
    // The same numbers, rounded as the format rounds them.
    let rounded = Cloud::from_fn(150, 6, |i, k| points.row(i)[k]);
    let grid: Vec<f64> = (0..64).map(|j| 0.3 * 2.0_f64.powf(f64::from(j) / 8.0)).collect();
    let uneven: Vec<f64> = (0..60).map(|j| 0.4 * 1.07_f64.powi(j) * (1.0 + 0.01 * f64::from(j * j % 5))).collect();
    for sigmas in [grid, uneven] {
        let tuning = gaussian().precision(Precision::F32).bandwidths(sigmas.clone()).tune(&points).unwrap();
        let exact = gaussian().bandwidths(sigmas).tune(&rounded.points(Format::F64)).unwrap();
        // As for a few bandwidths, which are not interpolated.
        let slack = f64::from(f32::EPSILON) / 150.0;
        for (i, &sigma) in tuning.bandwidths.iter().enumerate() {
            let (found, expected) = (tuning.values[i], exact.values[i]);
            assert!((found - expected).abs() < 2e-5 * expected + slack, "{sigma}: {found:e}, not {expected:e}");
            let gap = (tuning.gradients[i] - exact.gradients[i]).abs();
            // Slopes between nodes are made of values, with weights that add up to 13 by ln γ, which is 26 by ln σ.
            assert!(gap < 1e-4 * expected / sigma + 26.0 * slack / sigma, "slope at {sigma}: {gap:e}");
        }
        for i in (0..tuning.bandwidths.len()).step_by(21) {
            let sigma = tuning.bandwidths[i];
            let expected = by_eigenvalues(Textbook::Gaussian { gamma: gamma(sigma) }, &rounded);
            assert!((tuning.values[i] - expected).abs() < 2e-5 * expected + slack, "{sigma}: not {expected:e}");
        }
        assert!((tuning.best_bandwidth / exact.best_bandwidth - 1.0).abs() < 1e-4);
    }
}

#[test]
fn every_kernel_has_the_value_and_the_slopes_of_its_eigenvalues() {
    let cloud = gaussian_cloud(41, 3, 11);
    let points = cloud.points(Format::F64);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    for textbook in Textbook::ALL {
        let kernel = textbook.to_kernel();
        let parameters = kernel.parameters();
        let found = evaluate(&points, &kernel, parameters, &threads, &watch);
        let found = found.unwrap_or_else(|error| panic!("{textbook:?}: {error}"));
        let expected = by_eigenvalues(textbook, &cloud);
        assert!(
            (found.value - expected).abs() < 1e-11 * expected.abs(),
            "{textbook:?}: {} not {expected}",
            found.value
        );
        for (&parameter, &slope) in parameters.iter().zip(&found.gradient) {
            let own = kernel.parameter(parameter).unwrap();
            let step = 1e-5 * own.abs().max(0.1);
            let at = |value| by_eigenvalues(textbook.with(parameter, value), &cloud);
            let numeric = (at(own + step) - at(own - step)) / (2.0 * step);
            let slack = 1e-6 * (numeric.abs() + expected.abs());
            assert!((slope - numeric).abs() < slack, "{textbook:?} {parameter:?}: {slope:e}, not {numeric:e}");
        }
    }
}

#[test]
fn repeated_eigenvalues_do_no_harm() {
    // A square grid: its symmetry gives pairs of equal eigenvalues, where derivatives of eigenvectors do not exist.
    let cloud = grid(5);
    let tuning = gaussian().tune(&cloud.points(Format::F64)).unwrap();
    let at = |sigma| by_eigenvalues(Textbook::Gaussian { gamma: gamma(sigma) }, &cloud);
    let best = tuning.best_bandwidth;
    assert!(at(best) >= at(0.99 * best) && at(best) >= at(1.01 * best), "{best} is no maximum");
}

#[test]
fn other_kernels_find_a_maximum_too() {
    let cloud = gaussian_cloud(60, 3, 2);
    for (name, textbook) in [
        ("laplacian", Textbook::Laplacian { gamma: 1.0 }),
        ("exponential", Textbook::Exponential { gamma: 1.0 }),
        ("matern32", Textbook::Matern32 { gamma: 1.0 }),
        ("matern52", Textbook::Matern52 { gamma: 1.0 }),
        ("rational-quadratic", Textbook::RationalQuadratic { gamma: 1.0, alpha: 1.0 }),
    ] {
        let tuning = KernelTuner::new(KernelSpec::new(name)).tune(&cloud.points(Format::F64)).unwrap();
        let at = |gamma| by_eigenvalues(textbook.with(Parameter::Gamma, gamma), &cloud);
        let best = tuning.best_gamma;
        assert!((tuning.best_value - at(best)).abs() < 1e-10 * at(best), "{name}");
        assert!(at(best) >= at(0.98 * best) && at(best) >= at(1.02 * best), "{name}: {best} is no maximum");
    }
}

#[test]
fn the_effective_rank_criterion_is_that_of_the_eigenvalues() {
    let cloud = gaussian_cloud(50, 4, 6);
    let tuner = gaussian().criterion(Criterion::EffectiveRank);
    let tuning = tuner.tune(&cloud.points(Format::F64)).unwrap();
    let at = |gamma| {
        let values = eigen(center(gram(Textbook::Gaussian { gamma }, &cloud).as_ref()).as_ref()).values;
        values.iter().map(|mu| mu * mu).sum::<f64>() / (50.0 * values.iter().sum::<f64>())
    };
    let best = tuning.best_gamma;
    assert!((tuning.best_value - at(best)).abs() < 1e-11 * at(best));
    assert!(at(best) >= at(0.99 * best) && at(best) >= at(1.01 * best));
}

#[test]
fn the_leading_criterion_is_the_sum_of_the_leading_variances_and_has_its_slope() {
    let cloud = gaussian_cloud(40, 3, 9);
    let tuner = gaussian().criterion(Criterion::Leading).n_components(3).bandwidths([0.5, 1.0, 2.0, 4.0]);
    let tuning = tuner.tune(&cloud.points(Format::F64)).unwrap();
    let at = |sigma: f64| {
        let values = eigen(center(gram(Textbook::Gaussian { gamma: gamma(sigma) }, &cloud).as_ref()).as_ref()).values;
        values[..3].iter().sum::<f64>() / 40.0
    };
    for (i, &sigma) in tuning.bandwidths.iter().enumerate() {
        assert!((tuning.values[i] - at(sigma)).abs() < 1e-12, "value at {sigma}");
        let numeric = (at(sigma + 1e-5) - at(sigma - 1e-5)) / 2e-5;
        assert!((tuning.gradients[i] - numeric).abs() < 1e-7, "slope at {sigma}");
    }
    assert!(at(tuning.best_bandwidth) >= at(1.05 * tuning.best_bandwidth));
    assert!(at(tuning.best_bandwidth) >= at(0.95 * tuning.best_bandwidth));
}

#[test]
fn a_precision_that_is_asked_for_is_used() {
    let cloud = gaussian_cloud(64, 3, 4);
    let double = gaussian().precision(Precision::F64).tune(&cloud.points(Format::F32)).unwrap();
    let single = gaussian().precision(Precision::F32).tune(&cloud.points(Format::F32)).unwrap();
    assert!((double.best_bandwidth / single.best_bandwidth - 1.0).abs() < 1e-4);
    assert_ne!(double.values, single.values);
}
