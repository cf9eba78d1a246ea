//! Estimates from samples.

use mercer::tune::{KernelTuner, TuneMethod};
use mercer::{Error, Points};
use mercer_testkit::Format;
use mercer_testkit::generate::{clusters, gaussian_cloud};

use crate::support::gaussian;

fn sampled(seed: u64) -> KernelTuner {
    gaussian().method(TuneMethod::Sampled).seed(seed)
}

#[test]
fn values_are_without_bias_and_as_far_off_as_the_standard_error_says() {
    // Many estimates from few points each: their mean comes as close to the truth as their spread allows.
    let points = gaussian_cloud(400, 3, 19).points(Format::F64);
    let sigmas = [0.5, 1.0, 2.0, 4.0];
    let exact = gaussian().bandwidths(sigmas).tune(&points).unwrap();
    let estimates: Vec<_> =
        (0..60).map(|seed| sampled(seed).bandwidths(sigmas).tolerance(0.9).tune(&points).unwrap()).collect();
    for (i, sigma) in sigmas.into_iter().enumerate() {
        let count = estimates.len() as f64;
        let mean = estimates.iter().map(|tuning| tuning.values[i]).sum::<f64>() / count;
        let spread =
            (estimates.iter().map(|tuning| (tuning.values[i] - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let gap = (mean - exact.values[i]).abs();
        assert!(gap < 4.0 * spread / count.sqrt() + 1e-12, "{sigma}: {gap:e} with spread {spread:e}");
        let within = estimates
            .iter()
            .filter(|tuning| (tuning.values[i] - exact.values[i]).abs() <= 3.0 * tuning.standard_errors[i])
            .count();
        assert!(within >= 55, "{sigma}: {within} of 60 within three standard errors");
    }
}

#[test]
fn the_interval_of_the_best_bandwidth_holds_the_exact_one_and_is_as_narrow_as_asked() {
    let points = clusters(6000, 4, 5, 23).points(Format::F32);
    let exact = gaussian().method(TuneMethod::Exact).tune(&points).unwrap();
    let tuning = sampled(1).tolerance(0.02).tune(&points).unwrap();
    assert!(tuning.converged, "{:?}", tuning.warnings);
    assert!(tuning.standard_error > 0.0 && 2.0 * tuning.standard_error <= 0.02 * tuning.best_bandwidth);
    let gap = (tuning.best_bandwidth - exact.best_bandwidth).abs();
    assert!(gap <= 3.0 * tuning.standard_error, "{gap} with standard error {}", tuning.standard_error);
    assert!(tuning.pairs < exact.pairs / 2, "{} pairs of {}", tuning.pairs, exact.pairs);
    assert_eq!(tuning.method, TuneMethod::Sampled);
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let points = gaussian_cloud(2000, 3, 2).points(Format::F32);
    let (a, b, c) = (sampled(7).tune(&points), sampled(7).tune(&points), sampled(8).tune(&points));
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert_eq!((a.best_bandwidth, &a.values), (b.best_bandwidth, &b.values));
    assert_ne!(a.best_bandwidth.to_bits(), c.best_bandwidth.to_bits());
}

#[test]
fn what_rounding_leaves_of_the_widest_kernels_is_no_estimate() {
    let points = gaussian_cloud(2000, 3, 2).points(Format::F64);
    let tuning = sampled(0).bandwidths([1.0, 1e5, 1e8]).tune(&points).unwrap();
    assert!(tuning.values[0] > 0.0 && tuning.standard_errors[0] > 0.0, "{tuning:?}");
    for found in [&tuning.values, &tuning.gradients, &tuning.standard_errors] {
        assert!(found[1..].iter().all(|&x| x == 0.0), "{tuning:?}");
    }
}

#[test]
fn what_sampling_cannot_reach_is_said() {
    let points = gaussian_cloud(100, 3, 2).points(Format::F64);
    let tuning = sampled(0).tolerance(1e-6).tune(&points).unwrap();
    assert!(!tuning.converged);
    assert!(tuning.warnings.iter().any(|warning| warning.contains("the exact method can")), "{:?}", tuning.warnings);
}

#[test]
fn points_that_are_dealt_anew_give_a_narrower_interval_that_is_as_wide_as_it_must_be() {
    // All points are in blocks before the interval is a hundredth wide; from there on it takes several deals.
    let points = clusters(8500, 3, 4, 31).points(Format::F32);
    // Few bandwidths, so that the test does not take long.
    let near = gaussian().tune(&points.slice(0..400)).unwrap().best_bandwidth;
    let sigmas = [0.5, 1.0, 2.0].map(|factor| factor * near);
    let exact = gaussian().method(TuneMethod::Exact).bandwidths(sigmas).tune(&points).unwrap();
    let found: Vec<_> =
        (0..10).map(|seed| sampled(seed).bandwidths(sigmas).tolerance(0.002).tune(&points).unwrap()).collect();
    let mut squares = 0.0;
    for tuning in &found {
        assert!(tuning.converged && 2.0 * tuning.standard_error <= 0.002 * tuning.best_bandwidth, "{tuning:?}");
        assert_eq!(tuning.n_used, 8500, "one deal is not enough for so narrow an interval");
        squares += ((tuning.best_bandwidth - exact.best_bandwidth) / tuning.standard_error).powi(2);
    }
    // Ten squares of Student's t with 15 degrees: 11.5 on average, and outside of these bounds once in seven hundred tries.
    assert!((1.5..45.0).contains(&squares), "errors squared over those stated add up to {squares}: {found:?}");
    assert!(found.iter().map(|tuning| tuning.standard_errors[0]).all(|error| error > 0.0));
}

#[test]
fn that_there_is_no_maximum_is_said_of_all_points_in_blocks_and_as_of_samples() {
    // Copies of two points; of the first sixteen blocks of 256 not all of them.
    let values: Vec<f64> = (0..5000).map(|i| f64::from(i % 2)).collect();
    let error = sampled(0).tune(&Points::from_f64(values, 5000, 1).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NoMaximum { n_sampled: Some(4864), .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("told from chance in samples of 4864 points"), "{message}");
    assert!(message.contains("the exact method looks at all pairs"), "{message}");
}

#[test]
fn two_maxima_that_samples_cannot_tell_apart_are_no_answer() {
    // Three groups of such shares that both maxima are nearly the same height.
    let (mut random, n) = (mercer_testkit::generate::Random::new(12), 2000);
    let places = [[0.0, 0.0], [5.0, 0.0], [60.0, 0.0]];
    let group = |i: usize| if i < 619 { 0 } else { usize::from(i >= 1238) + 1 };
    let values: Vec<f64> = (0..2 * n).map(|at| places[group(at / 2)][at % 2] + 0.1 * random.normal()).collect();
    let points = mercer::Points::from_f64(values, n, 2).unwrap();
    let exact = gaussian().tune(&points).unwrap();
    let heights: Vec<f64> = exact.maxima.iter().map(|maximum| maximum.value).collect();
    assert!(heights.len() == 2 && (heights[0] / heights[1] - 1.0).abs() < 0.005, "{heights:?}");
    let tuning = sampled(1).tolerance(0.1).tune(&points).unwrap();
    assert_eq!(tuning.maxima.len(), 2, "{tuning:?}");
    assert!(!tuning.converged);
    let said = "samples do not tell which of the maxima is the highest; the exact method can";
    assert_eq!(tuning.warnings, [said]);
}

#[test]
fn heavy_tails_are_sampled_as_narrowly_as_asked() {
    // The place of the maximum is known to a few per cent from all points in one deal.
    let (mut random, n) = (mercer_testkit::generate::Random::new(3), 9000);
    let values: Vec<f32> = (0..n).map(|_| random.normal().exp() as f32).collect();
    let points = mercer::Points::from_f32(values, n, 1).unwrap();
    let near = gaussian().tune(&points.slice(0..400)).unwrap().best_bandwidth;
    let sigmas = [0.25, 0.5, 1.0, 2.0, 4.0].map(|factor| factor * near);
    let tuning = sampled(0).bandwidths(sigmas).tune(&points).unwrap();
    assert_eq!((tuning.converged, tuning.n_used), (true, n), "{tuning:?}");
    assert!(2.0 * tuning.standard_error <= 0.01 * tuning.best_bandwidth);
    let exact = gaussian().method(TuneMethod::Exact).bandwidths(sigmas).tune(&points).unwrap();
    let gap = (tuning.best_bandwidth - exact.best_bandwidth).abs();
    assert!(gap <= 3.0 * tuning.standard_error, "{gap} with standard error {}", tuning.standard_error);
}
