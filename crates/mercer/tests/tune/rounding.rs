//! Bandwidths so far from all distances that rounding is all that sums leave of a curve: it is neither a value nor a maximum.

use mercer::kernel::KernelSpec;
use mercer::tune::{Criterion, KernelTuner, Scan, ard_gradient};
use mercer::watch::Threads;
use mercer::{ErrorKind, Points, Precision, Watch};
use mercer_testkit::generate::{clusters, gaussian_cloud};
use mercer_testkit::{Cloud, Format};

use crate::support::gaussian;

/// Kernels that are functions of a distance.
const KERNELS: [&str; 7] =
    ["gaussian", "laplacian", "exponential", "matern32", "matern52", "rational-quadratic", "epanechnikov"];

/// Three groups; their number of points is no multiple of a vector's length.
fn groups() -> Points {
    clusters(149, 4, 3, 5).points(Format::F64)
}

/// Some bandwidths in increasing order, three decades of narrower ones and nine of wider ones.
fn decades_more(usual: &[f64]) -> Vec<f64> {
    let beyond = |end: f64, step: i32| end * 10.0_f64.powf(f64::from(step) / 20.0);
    let narrower = (-60..0).map(|step| beyond(usual[0], step));
    let wider = (1..=180).map(|step| beyond(usual[usual.len() - 1], step));
    narrower.chain(usual.iter().copied()).chain(wider).collect()
}

#[test]
fn twelve_decades_more_have_the_maxima_of_the_usual_bandwidths_and_no_others() {
    let points = groups();
    for name in KERNELS {
        for criterion in [Criterion::Variance, Criterion::EffectiveRank] {
            let tuner = KernelTuner::new(KernelSpec::new(name)).criterion(criterion);
            let usual = tuner.tune(&points).unwrap();
            let found = tuner.bandwidths(decades_more(&usual.bandwidths)).tune(&points).unwrap();
            let about = |maximum: f64| (maximum / usual.best_bandwidth - 1.0).abs();
            assert_eq!(found.maxima.len(), usual.maxima.len(), "{name}, {criterion}: {:?}", found.maxima);
            assert!(about(found.best_bandwidth) < 1e-6, "{name}, {criterion}: {}", found.best_bandwidth);
            for (sigma, &value) in found.bandwidths.iter().zip(&found.values) {
                assert!((0.0..=1.0).contains(&value), "{name}, {criterion} at {sigma:e}: {value:e}");
            }
        }
    }
}

#[test]
fn places_of_a_tile_that_belong_to_no_points_do_not_count_for_the_widest_kernels() {
    let points = groups();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    for precision in [Precision::F32, Precision::F64] {
        let scan = Scan::new(&points, &KernelSpec::new("gaussian"), precision, &threads).unwrap();
        for sigma in [1e14, 4e14, 7e14] {
            let found = scan.at(&[sigma], &threads, &watch).unwrap();
            assert_eq!((found[0].value, found[0].gradient[0]), (0.0, 0.0), "{sigma:e} in {precision}");
        }
    }
}

#[test]
fn widths_per_feature_far_above_all_distances_leave_no_value_either() {
    let cloud = gaussian_cloud(149, 2, 5);
    let close = Cloud::from_fn(149, 2, |i, k| 1e-7 * cloud.row(i)[k]).points(Format::F64);
    let found = ard_gradient(&close, &[1.0, 1.0], &Threads::new(1).unwrap(), &Watch::new()).unwrap();
    assert_eq!((found.value, found.gradient.as_slice()), (0.0, &[0.0, 0.0][..]));
}

#[test]
fn bandwidths_that_no_sum_can_be_made_at_are_refused_with_those_that_are_allowed() {
    let points = groups();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let scan = Scan::new(&points, &KernelSpec::new("gaussian"), Precision::F64, &threads).unwrap();
    for sigma in [1e-200, 1e-154, 1e-30, 1e30, 1e200] {
        for error in [
            gaussian().bandwidths([sigma, 1.0]).tune(&points).unwrap_err(),
            scan.at(&[sigma], &threads, &watch).unwrap_err(),
        ] {
            let message = error.to_string();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{message}");
            assert!(message.contains("bandwidths") && message.contains("distances"), "{message}");
            assert!(!message.contains("gamma"), "{message}");
        }
    }
    // Kernels that are no functions of a distance are bound by what is a number alone.
    let polynomial = KernelTuner::new(KernelSpec::new("polynomial"));
    let message = polynomial.bandwidths([1e200, 1.0]).tune(&points).unwrap_err().to_string();
    assert!(message.contains("bandwidths") && !message.contains("gamma"), "{message}");
}
