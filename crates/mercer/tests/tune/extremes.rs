//! Bandwidths far below and far above all distances, in single precision: every number that is reported is compared with that of double precision.

use mercer::kernel::{KernelSpec, Parameter};
use mercer::tune::{KernelTuner, ParameterBox, Scan, TuneMethod, Tuning, tune_parameters};
use mercer::watch::Threads;
use mercer::{Kernel, Points, Precision, Watch};
use mercer_testkit::generate::{clusters, gaussian_cloud};
use mercer_testkit::{Cloud, Format};

use crate::support::gaussian;

/// The points in single precision, and the same numbers in double precision.
fn both(cloud: &Cloud) -> (Points, Points) {
    let single = cloud.points(Format::F32);
    let double = Cloud::from_fn(cloud.n, cloud.d, |i, k| single.row(i)[k]).points(Format::F64);
    (single, double)
}

/// So many bandwidths, each the same factor from the next.
fn bandwidths(first: f64, last: f64, count: u32) -> Vec<f64> {
    (0..count).map(|j| first * (last / first).powf(f64::from(j) / f64::from(count - 1))).collect()
}

#[test]
fn slopes_below_all_distances_are_not_those_of_the_interpolation() {
    // In forty dimensions distances are nearly the same: between 4 and 14, most of them near 9.
    let (single, double) = both(&gaussian_cloud(600, 40, 3));
    let sigmas = bandwidths(0.6, 20.0, 64);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let at = |points: &Points, precision: Precision| {
        let scan = Scan::new(points, &KernelSpec::new("gaussian"), precision, &threads).unwrap();
        scan.at(&sigmas, &threads, &watch).unwrap()
    };
    let (found, exact) = (at(&single, Precision::F32), at(&double, Precision::F64));
    let mut n_small = 0;
    for ((a, b), sigma) in found.iter().zip(&exact).zip(&sigmas) {
        assert!((a.value - b.value).abs() < 1e-4 * b.value, "{sigma}: {:e}, not {:e}", a.value, b.value);
        let (slope, expected, flat) = (a.gradient[0], b.gradient[0], b.value / sigma);
        n_small += u32::from(expected.abs() < 1e-4 * flat && expected.abs() > 1e-9 * flat);
        // Of the slope itself, as far down as its terms of either sign do not cancel; at the maximum, where there is none, of the value.
        let scale = if *sigma < 4.0 { expected.abs() + 1e-9 * flat } else { expected.abs() + flat };
        assert!((slope - expected).abs() < 1e-3 * scale, "{sigma}: slope {slope:e}, not {expected:e} ({flat:e})");
    }
    assert!(n_small >= 2, "the test wants slopes that are small beside the value");
}

#[test]
fn the_usual_bandwidths_are_those_of_the_interpolation() {
    // Values differ by less than rounding does, but not by nothing: what is cheap is still in use.
    let (single, _) = both(&gaussian_cloud(400, 3, 4));
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let scan = Scan::new(&single, &KernelSpec::new("gaussian"), Precision::F32, &threads).unwrap();
    let sigmas = bandwidths(0.3, 5.0, 64);
    let all = scan.at(&sigmas, &threads, &watch).unwrap();
    let n_other = (1..63).filter(|&i| {
        let alone = scan.at(&sigmas[i..=i], &threads, &watch).unwrap().remove(0);
        assert!((alone.value / all[i].value - 1.0).abs() < 1e-5, "{}", sigmas[i]);
        alone.value.to_bits() != all[i].value.to_bits()
    });
    assert!(n_other.count() > 40, "most of them are computed directly");
}

/// Most of the usual bandwidths were computed in single precision, and none of those far above all distances, of which it knows nothing.
#[track_caller]
fn assert_single_where_usual(found: &Tuning, exact: &Tuning) {
    let n_single = (5..45).filter(|&i| found.values[i].to_bits() != exact.values[i].to_bits()).count();
    assert!(n_single > 20, "{n_single} of 40 in single precision");
    for (a, b) in found.values[45..].iter().zip(&exact.values[45..]) {
        // Terms of size one cancel to squares of 1e-4 and less; the rounding of double precision is left.
        assert!((a - b).abs() < 1e-4 * b.abs(), "{a:e}, not {b:e}");
    }
}

/// Every value and slope of one result beside those of another, relative to themselves; slopes below a hundredth of the value count as so large, and so does what
/// samples do not know.
#[track_caller]
fn assert_same(found: &Tuning, exact: &Tuning, most: f64) {
    for (i, sigma) in exact.bandwidths.iter().enumerate() {
        let (value, expected) = (found.values[i], exact.values[i]);
        let size = expected.abs().max(exact.standard_errors[i]);
        assert!((value - expected).abs() < most * size, "{sigma}: {value:e}, not {expected:e}");
        let (slope, expected) = (found.gradients[i], exact.gradients[i]);
        let narrower = if i > 0 { exact.gradients[i - 1].abs() } else { 0.0 };
        let scale = expected.abs().max(narrower).max(1e-2 * size / sigma);
        assert!((slope - expected).abs() < most * scale, "{sigma}: slope {slope:e}, not {expected:e}");
    }
}

/// Usual bandwidths for some points, and a few far below and far above all distances.
fn few_extremes(points: &Points) -> Vec<f64> {
    let middle = gaussian().tune(&points.slice(0..300)).unwrap().best_bandwidth;
    let [low, high, far] = [middle / 4.0, 4.0 * middle, 60.0 * middle];
    [bandwidths(0.003, 0.02, 5), bandwidths(low, high, 40), bandwidths(far, 3.0 * far, 5)].concat()
}

/// Clouds in which distances are nearly the same, differ much, and have two scales.
fn clouds(n: usize) -> [Cloud; 3] {
    [gaussian_cloud(n, 30, 5), gaussian_cloud(n, 2, 6), clusters(n, 4, 5, 7)]
}

#[test]
fn exact_searches_report_what_double_precision_does() {
    for cloud in clouds(2100) {
        let (single, double) = both(&cloud);
        let tuner = gaussian().method(TuneMethod::Exact).bandwidths(few_extremes(&single));
        let (found, exact) = (tuner.tune(&single).unwrap(), tuner.tune(&double).unwrap());
        assert_single_where_usual(&found, &exact);
        // As much as single precision may change of a sample, and as much again for all points.
        assert_same(&found, &exact, 2e-3);
        assert_eq!(found.maxima.len(), exact.maxima.len());
        assert!((found.best_bandwidth / exact.best_bandwidth - 1.0).abs() < 1e-4);
    }
}

#[test]
fn sampled_searches_report_what_double_precision_does() {
    for cloud in clouds(3000) {
        let (single, double) = both(&cloud);
        // So little is asked for that the first blocks are enough, in either precision.
        let sampled: KernelTuner = gaussian().method(TuneMethod::Sampled).tolerance(0.9).seed(3);
        let tuner = sampled.bandwidths(few_extremes(&single));
        let (found, exact) = (tuner.tune(&single).unwrap(), tuner.tune(&double).unwrap());
        assert_eq!(found.n_used, exact.n_used);
        assert_single_where_usual(&found, &exact);
        assert_same(&found, &exact, 2e-3);
        assert_eq!(found.maxima.len(), exact.maxima.len(), "{:?} and {:?}", found.maxima, exact.maxima);
    }
}

#[test]
fn few_points_in_single_precision_are_computed_in_double() {
    let (single, double) = both(&gaussian_cloud(150, 6, 8));
    let (found, exact) = (gaussian().tune(&single).unwrap(), gaussian().tune(&double).unwrap());
    assert_same(&found, &exact, 1e-9);
    let asked = gaussian().precision(Precision::F32).tune(&single).unwrap();
    assert_ne!(asked.values, found.values, "a precision that is asked for is used");
}

#[test]
fn values_beyond_single_precision_at_the_end_of_a_range_are_computed_in_double() {
    // More points than are taken in double precision anyway; values of the polynomial up to 4e35, whose squares are no numbers of single precision.
    let (single, double) = both(&Cloud::from_fn(2100, 1, |i, _| 1.0 + 0.09 * (i % 97) as f64));
    let start = Kernel::polynomial(1e-3, 1.0, 12).unwrap();
    let range = [ParameterBox { parameter: Parameter::Gamma, low: 1e-3, high: 10.0 }];
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let climb = |points: &Points| tune_parameters(points, &start, &range, 100, &threads, &watch).unwrap();
    let (found, exact) = (climb(&single), climb(&double));
    assert!(found.converged && found.is_at_bound == [true], "{found:?}");
    assert!((found.best_value / exact.best_value - 1.0).abs() < 1e-9, "{found:?} is not {exact:?}");
    // A search over bandwidths, of which the narrowest has such values at one row, which a sample need not hold.
    let one =
        |format| Cloud::from_fn(2100, 1, |i, _| if i == 1234 { 40.0 } else { 0.01 * (i % 97) as f64 }).points(format);
    let tuner = KernelTuner::new(KernelSpec::new("polynomial").degree(12)).bandwidths([0.7, 1.4]);
    let (found, exact) = (tuner.tune(&one(Format::F32)).unwrap(), tuner.tune(&one(Format::F64)).unwrap());
    for (a, b) in found.values.iter().zip(&exact.values) {
        assert!((a / b - 1.0).abs() < 1e-4, "{a:e} is not {b:e}");
    }
}
