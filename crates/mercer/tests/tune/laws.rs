//! What must hold of every search.

use mercer::kernel::{KernelSpec, Parameter, Width};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::tune::{
    CLIMB_STEPS, Criterion, ParameterBox, TuneMethod, ard_gradient, evaluate, tune_ard, tune_parameters,
};
use mercer::watch::Threads;
use mercer::{Kernel, Points, Watch};
use mercer_testkit::generate::{circles, gaussian_cloud};
use mercer_testkit::reference::Textbook;
use mercer_testkit::{Cloud, Format};

use crate::support::{by_eigenvalues, gamma, gaussian, tune, two_scales};

#[test]
fn scaling_the_data_scales_the_bandwidth_and_moving_it_changes_nothing() {
    let cloud = gaussian_cloud(80, 4, 21);
    let own = tune(&cloud.points(Format::F64)).best_bandwidth;
    for factor in [1e-6, 3.0, 1e8] {
        let scaled = Cloud::from_fn(80, 4, |i, k| factor * cloud.row(i)[k]);
        let found = tune(&scaled.points(Format::F64)).best_bandwidth;
        assert!((found / (factor * own) - 1.0).abs() < 1e-6, "{factor}: {found}");
    }
    let moved = tune(&cloud.clone().shifted(1000.0).points(Format::F64)).best_bandwidth;
    assert!((moved / own - 1.0).abs() < 1e-6);
    let single = tune(&cloud.clone().points(Format::F32)).best_bandwidth;
    let moved = tune(&cloud.shifted(1000.0).points(Format::F32)).best_bandwidth;
    assert!((moved / single - 1.0).abs() < 1e-3, "single precision: {moved}, not {single}");
}

#[test]
fn every_copy_of_the_data_counts_as_one_of_the_first() {
    // With all points doubled, all variances stay and as many zeros are added.
    let cloud = circles(40, 2);
    let twice = Cloud::from_fn(80, 2, |i, k| cloud.row(i % 40)[k]);
    let (once, twice) = (tune(&cloud.points(Format::F64)), tune(&twice.points(Format::F64)));
    // E of twice the points: Σλ²/2l - (Σλ/2l)², which is not E/2 but close for a concentrated spectrum.
    assert!((once.best_bandwidth / twice.best_bandwidth - 1.0).abs() < 0.1);
}

#[test]
fn a_narrow_kernel_has_the_value_of_the_identity_and_a_wide_one_none() {
    let points = gaussian_cloud(30, 3, 1).points(Format::F64);
    let tuning = gaussian().bandwidths([1e-3, 1e5]).tune(&points).unwrap();
    let l = 30.0_f64;
    assert!((tuning.values[0] - (l - 1.0) / l.powi(4)).abs() < 1e-15);
    assert!(tuning.values[1].abs() < 1e-15);
}

#[test]
fn both_maxima_of_two_scales_are_found_and_the_higher_one_is_best() {
    let cloud = two_scales();
    let tuning = tune(&cloud.points(Format::F64));
    assert_eq!(tuning.maxima.len(), 2, "{:?}", tuning.maxima);
    let at = |sigma| by_eigenvalues(Textbook::Gaussian { gamma: gamma(sigma) }, &cloud);
    for maximum in &tuning.maxima {
        let sigma = maximum.bandwidth;
        assert!((maximum.value - at(sigma)).abs() < 1e-10 * at(sigma));
        assert!(at(sigma) > at(0.97 * sigma) && at(sigma) > at(1.03 * sigma), "{sigma} is no maximum");
    }
    let highest = tuning.maxima.iter().map(|maximum| maximum.value).fold(0.0, f64::max);
    assert_eq!(tuning.best_value.to_bits(), highest.to_bits());
}

#[test]
fn a_maximum_and_its_dip_between_two_bandwidths_of_a_coarse_grid_are_found() {
    // Three groups of points that are so close that the grid has 38 bandwidths, each the root of two times the one before: 0.57 and 0.80, between which lie
    // a dip at 0.60 and a maximum at 0.72.
    let centers = [0.0, 0.0, 1.0, 1.0, 1.0, 3.2, 3.2, 3.2, 3.2];
    let cloud = Cloud::from_fn(9, 1, |i, _| centers[i] + 1e-4 * i as f64);
    let tuning = tune(&cloud.points(Format::F64));
    let found: Vec<f64> = tuning.maxima.iter().map(|maximum| maximum.bandwidth).collect();
    let [narrow, wide] = found[..] else { panic!("{found:?}") };
    assert!((narrow - 0.18).abs() < 0.005 && (wide - 0.72).abs() < 0.01, "{found:?}");
    let at = |sigma| by_eigenvalues(Textbook::Gaussian { gamma: gamma(sigma) }, &cloud);
    assert!(at(wide) > at(0.95 * wide) && at(wide) > at(1.05 * wide) && at(0.6) < at(0.566), "{found:?}");
    // What was tried in between stands on the curve.
    assert!(tuning.bandwidths.is_sorted() && tuning.bandwidths.len() > 38, "{:?}", tuning.bandwidths);
    assert_eq!(tuning.values.len(), tuning.bandwidths.len());
    // Bandwidths that were given are what is tried.
    let given = gaussian().bandwidths([0.4, 0.566, 0.8]).tune(&cloud.points(Format::F64)).unwrap();
    assert_eq!((given.bandwidths.len(), given.maxima.len()), (3, 0));
}

#[test]
fn results_do_not_depend_on_the_number_of_threads_or_the_order_of_bandwidths() {
    for format in Format::ALL {
        let points = gaussian_cloud(500, 3, 7).points(format);
        let on = |threads| gaussian().tune_watched(&points, &Threads::new(threads).unwrap(), &Watch::new()).unwrap();
        let (one, three) = (on(1), on(3));
        assert_eq!((one.values, one.gradients, one.maxima), (three.values, three.gradients, three.maxima));
        let forth = gaussian().bandwidths([0.5, 1.0, 2.0]).tune(&points).unwrap();
        let back = gaussian().bandwidths([2.0, 0.5, 1.0, 1.0]).tune(&points).unwrap();
        // The result keeps the order they were given in.
        let places = [2, 0, 1, 1];
        assert_eq!(back.bandwidths, places.map(|at| forth.bandwidths[at]));
        assert_eq!(back.values, places.map(|at| forth.values[at]));
        assert_eq!(back.gradients, places.map(|at| forth.gradients[at]));
    }
}

#[test]
fn a_bandwidth_beside_others_has_the_value_it_has_alone() {
    let points = gaussian_cloud(120, 3, 17).points(Format::F64);
    let all = gaussian().tune(&points).unwrap();
    for i in (0..all.bandwidths.len()).step_by(9) {
        let alone = gaussian().bandwidths([all.bandwidths[i]]).tune(&points).unwrap();
        assert!((alone.values[0] - all.values[i]).abs() < 1e-12 * alone.values[0], "{}", all.bandwidths[i]);
        let scale = alone.values[0] / all.bandwidths[i];
        assert!((alone.gradients[0] - all.gradients[i]).abs() < 1e-10 * scale, "{}", all.bandwidths[i]);
    }
}

#[test]
fn constant_columns_change_nothing() {
    let cloud = gaussian_cloud(50, 2, 30);
    let padded = Cloud::from_fn(50, 4, |i, k| if k < 2 { cloud.row(i)[k] } else { 7.5 });
    let (own, padded) = (tune(&cloud.points(Format::F64)), tune(&padded.points(Format::F64)));
    assert!((own.best_bandwidth / padded.best_bandwidth - 1.0).abs() < 1e-9);
}

#[test]
fn heuristics_give_what_the_same_widths_give_to_a_kernel() {
    let points = gaussian_cloud(90, 3, 12).points(Format::F64);
    for (criterion, width) in [(Criterion::Median, Width::Median), (Criterion::Scale, Width::Scale)] {
        let tuning = gaussian().criterion(criterion).tune(&points).unwrap();
        let kernel = KernelSpec::new("gaussian").width(width).resolve(&points).unwrap();
        let expected = kernel.parameter(Parameter::Gamma).unwrap();
        assert!((tuning.best_gamma - expected).abs() < 1e-12 * expected, "{criterion}");
        assert_eq!((tuning.values.len(), tuning.maxima.len()), (1, 0));
    }
}

#[test]
fn heuristics_of_many_points_have_an_estimated_value_that_is_called_so() {
    let points = gaussian_cloud(6000, 2, 12).points(Format::F32);
    let tuning = gaussian().criterion(Criterion::Median).tune(&points).unwrap();
    assert_eq!((tuning.method, tuning.n_used < 6000), (TuneMethod::Sampled, true));
    let exact = gaussian().bandwidths([tuning.best_bandwidth]).tune(&points).unwrap();
    let (gap, error) = ((tuning.values[0] - exact.values[0]).abs(), tuning.standard_errors[0]);
    assert!(error > 0.0 && gap < 4.0 * error && error < 0.1 * exact.values[0], "{gap:e} with standard error {error:e}");
    assert!(tuning.pairs < exact.pairs / 20);
}

#[test]
fn a_seed_is_that_of_the_search_for_a_width_too() {
    let points = gaussian_cloud(12_000, 4, 9).points(Format::F32);
    let spec = KernelSpec::new("gaussian").width(Width::Auto);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let gamma = |seed: u64| {
        let (kernel, _) = spec.resolve_told(&points, seed, &threads, &watch).unwrap();
        kernel.parameter(Parameter::Gamma).unwrap()
    };
    assert!((gamma(1) - gamma(2)).abs() > 0.0 && gamma(1).to_bits() == gamma(1).to_bits());
    let landmarks = Nystrom::new(spec.clone()).landmarks(Landmarks::Uniform).n_landmarks(5).seed(2);
    let found = NystromPca::new(landmarks).n_components(2).fit(&points).unwrap();
    assert_eq!(found.record().kernel.gamma, Some(gamma(2)));
}

#[test]
fn held_out_points_are_reconstructed_better_from_a_good_width() {
    let points = circles(120, 3).points(Format::F64);
    let tuner = gaussian().criterion(Criterion::Reconstruction).n_components(3);
    let tuning = tuner.tune(&points).unwrap();
    let narrow = tuner.clone().bandwidths([tuning.best_bandwidth / 30.0]).tune(&points).unwrap();
    assert!(tuning.best_value > -0.2, "{}", tuning.best_value);
    assert!(narrow.best_value < -0.8, "a narrow kernel knows nothing of points it has not seen: {}", narrow.best_value);
}

#[test]
fn rows_that_come_in_turns_are_not_held_out_in_turns() {
    // Every third row is of the same group: the other two know nothing of it.
    let noise = gaussian_cloud(60, 3, 8);
    let cloud = Cloud::from_fn(60, 3, |i, k| {
        let center = if i % 3 == k { 10.0 } else { 0.0 };
        center + 0.1 * noise.row(i)[k]
    });
    let points = cloud.points(Format::F64);
    let tuner = gaussian().criterion(Criterion::Reconstruction).n_components(2);
    let lost: Vec<f64> = (0..4).map(|seed| -tuner.clone().seed(seed).tune(&points).unwrap().best_value).collect();
    assert!(lost.iter().all(|&lost| lost < 0.1), "{lost:?}");
    // Which rows are held out is for the seed to say.
    assert!(lost.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.0), "{lost:?}");
}

#[test]
fn gradients_of_widths_per_feature_are_those_of_the_eigenvalues() {
    let cloud = gaussian_cloud(25, 3, 40).shifted(5.0);
    let points = cloud.points(Format::F64);
    let gammas = [0.2, 0.5, 0.05];
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let found = ard_gradient(&points, &gammas, &threads, &watch).unwrap();
    let at = |gammas: &[f64]| {
        let scaled = Cloud::from_fn(25, 3, |i, k| cloud.row(i)[k] * gammas[k].sqrt());
        by_eigenvalues(Textbook::Gaussian { gamma: 1.0 }, &scaled)
    };
    assert!((found.value - at(&gammas)).abs() < 1e-12 * found.value);
    for f in 0..3 {
        let moved = |step: f64| {
            let mut gammas = gammas;
            gammas[f] += step;
            at(&gammas)
        };
        let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        assert!((found.gradient[f] - numeric).abs() < 1e-7 * found.value, "feature {f}");
    }
    let climbed = tune_ard(&points, &gammas, 200, &threads, &watch).unwrap();
    assert!(climbed.best_value > found.value);
    assert!((climbed.best_value - at(&climbed.gammas)).abs() < 1e-10 * climbed.best_value);
}

#[test]
fn several_parameters_climb_to_a_place_without_slope_or_to_the_end_of_their_range() {
    let points = gaussian_cloud(60, 2, 33).points(Format::F64);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let range = |parameter, low, high| ParameterBox { parameter, low, high };
    let start = Kernel::rational_quadratic(0.5, 1.0).unwrap();
    let ranges = [range(Parameter::Gamma, 1e-4, 1e3), range(Parameter::Alpha, 0.2, 20.0)];
    let found = tune_parameters(&points, &start, &ranges, 200, &threads, &watch).unwrap();
    assert!(found.converged, "{found:?}");
    let before = evaluate(&points, &start, &[], &threads, &watch).unwrap().value;
    assert!(found.best_value > found.start_value && (found.start_value / before - 1.0).abs() < 1e-12, "{found:?}");
    for ((range, slope), &at_bound) in ranges.iter().zip(&found.gradient).zip(&found.is_at_bound) {
        let own = found.kernel.parameter(range.parameter).unwrap();
        assert!(at_bound || (own * slope).abs() < 1e-5 * found.best_value, "{found:?}");
    }
    // Nothing on a grid over both ranges is better.
    for i in 0..30 {
        for alpha in [0.2, 0.5, 1.0, 2.0, 5.0, 20.0] {
            let kernel = Kernel::rational_quadratic(1e-4 * 1e7_f64.powf(f64::from(i) / 29.0), alpha).unwrap();
            let there = evaluate(&points, &kernel, &[], &threads, &watch).unwrap().value;
            assert!(there <= found.best_value * (1.0 + 1e-9), "{kernel:?} is better than {found:?}");
        }
    }
    // A polynomial kernel only grows.
    let start = Kernel::polynomial(0.1, 1.0, 2).unwrap();
    let ranges = [range(Parameter::Gamma, 0.01, 1.0), range(Parameter::Coef0, 0.5, 2.0)];
    let found = tune_parameters(&points, &start, &ranges, 200, &threads, &watch).unwrap();
    assert!(found.is_at_bound[0] && (found.kernel.parameter(Parameter::Gamma).unwrap() - 1.0).abs() < 1e-6);
}

#[test]
fn a_constant_term_climbs_through_zero() {
    let points = gaussian_cloud(50, 2, 34).shifted(0.7).points(Format::F64);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let ranges = [ParameterBox { parameter: Parameter::Coef0, low: -2.0, high: 3.0 }];
    let values: Vec<(f64, f64)> = (0..=100)
        .map(|i| {
            let coef0 = -2.0 + 0.05 * f64::from(i);
            let kernel = Kernel::sigmoid(0.5, coef0).unwrap();
            (coef0, evaluate(&points, &kernel, &[], &threads, &watch).unwrap().value)
        })
        .collect();
    let best = *values.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
    assert!(best.0 < 0.0, "the test wants a maximum below zero, not at {}", best.0);
    for start in [0.0, 1.0] {
        let start = Kernel::sigmoid(0.5, start).unwrap();
        let found = tune_parameters(&points, &start, &ranges, 100, &threads, &watch).unwrap();
        let coef0 = found.kernel.parameter(Parameter::Coef0).unwrap();
        assert!(found.converged && (coef0 - best.0).abs() <= 0.05, "{found:?}, not {best:?}");
        assert!(found.best_value >= best.1, "{found:?}, not {best:?}");
    }
}

#[test]
fn widths_per_feature_climb_to_a_place_without_slope() {
    // Two features with groups in them, two of noise.
    let noise = gaussian_cloud(90, 4, 41);
    let cloud = Cloud::from_fn(90, 4, |i, k| match k {
        0 => 4.0 * (i % 2) as f64 + 0.3 * noise.row(i)[0],
        1 => 4.0 * (i % 3) as f64 + 0.3 * noise.row(i)[1],
        _ => noise.row(i)[k],
    });
    let points = cloud.points(Format::F64);
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let start = [tune(&points).best_gamma; 4];
    let found = tune_ard(&points, &start, 200, &threads, &watch).unwrap();
    assert!(found.converged && found.steps < 200, "{found:?}");
    let there = ard_gradient(&points, &found.gammas, &threads, &watch).unwrap();
    for (f, gamma) in found.gammas.iter().enumerate() {
        let slope = there.gradient[f] * gamma / there.value;
        let is_at_bound = *gamma <= 1.0001e-4 * start[f];
        assert_eq!(found.is_at_bound[f], is_at_bound, "feature {f}: {found:?}");
        assert!(slope.abs() < 1e-4 || (is_at_bound && slope < 0.0), "feature {f}: {slope} at {found:?}");
    }
    // Noise is ironed out.
    assert!(found.gammas[2].max(found.gammas[3]) < 0.1 * found.gammas[0].max(found.gammas[1]), "{found:?}");
}

#[test]
fn a_column_that_does_not_matter_does_not_keep_a_climb_from_its_end() {
    // Three groups along three of the columns. The slope by the fourth is small everywhere, and its inverse width has far to go: as far as the others' steps lead, it took 766.
    let noise = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let cloud = Cloud::from_fn(60, 4, |i, k| {
        let at = 8 * i + 2 * k + 1;
        noise(at) + noise(64 * 60 + at) - 1.0 + if k == i % 3 { 4.0 } else { 0.0 }
    });
    let points = cloud.points(Format::F64);
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let found = tune_ard(&points, &[tune(&points).best_gamma; 4], CLIMB_STEPS, &threads, &watch).unwrap();
    assert!(found.converged && found.steps <= 100, "{found:?}");
    assert_eq!(found.is_at_bound, [false, false, false, true], "{found:?}");
    // Where those steps ended.
    let there = ard_gradient(&points, &[0.128_512, 0.088_317, 0.141_866, 1.7e-5], &threads, &watch).unwrap();
    assert!(found.best_value > there.value, "{found:?}, not {there:?}");
}

#[test]
fn one_bandwidth_in_a_family_of_gaussians_is_found_by_both_ways_of_climbing() {
    let points = gaussian_cloud(70, 3, 50).points(Format::F64);
    let best = tune(&points).best_gamma;
    let range = [ParameterBox { parameter: Parameter::Gamma, low: best / 50.0, high: best * 50.0 }];
    let start = Kernel::gaussian(best * 3.0).unwrap();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let found = tune_parameters(&points, &start, &range, 500, &threads, &watch).unwrap();
    assert!((found.kernel.parameter(Parameter::Gamma).unwrap() / best - 1.0).abs() < 1e-5, "{found:?}");
}

#[test]
fn auto_is_what_the_search_finds_and_a_model_remembers_it() {
    let points: Points = gaussian_cloud(60, 3, 14).points(Format::F64);
    let spec = KernelSpec::new("gaussian").width(Width::Auto);
    assert_eq!(Width::Auto.to_string(), "auto");
    let model = mercer::KernelPca::new(spec).n_components(2).fit(&points).unwrap();
    let gamma = model.record().kernel.gamma.unwrap();
    assert_eq!(gamma.to_bits(), tune(&points).best_gamma.to_bits());
}
