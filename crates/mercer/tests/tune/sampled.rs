//! Estimates from samples.

use mercer::tune::{KernelTuner, TuneMethod};
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
fn what_sampling_cannot_reach_is_said() {
    let points = gaussian_cloud(100, 3, 2).points(Format::F64);
    let tuning = sampled(0).tolerance(1e-6).tune(&points).unwrap();
    assert!(!tuning.converged);
    assert!(tuning.warnings.iter().any(|warning| warning.contains("the exact method can")), "{:?}", tuning.warnings);
}
