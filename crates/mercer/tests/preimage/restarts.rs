//! Searches that end where there is nothing, and those that begin elsewhere.

use faer::Mat;
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Kernel, KernelPca, Model, Negative, Points, Watch};
use mercer_testkit::generate::Random;

use crate::support::circle;

/// Two clusters that do not see each other, of three points each, and what one component, which tells the clusters apart, makes of them: by
/// symmetry the fixed point of a cluster is the point in its middle, whatever point of the cluster the scores are of.
fn two_clusters() -> (Points, Model) {
    let points = Points::from_f64(vec![0.0, 0.2, 0.4, 50.0, 50.2, 50.4], 6, 1).unwrap();
    let model = KernelPca::new(Kernel::gaussian(1.0).unwrap()).n_components(1).fit(&points).unwrap();
    (points, model)
}

/// Searches of one step. From an outer point of a cluster it does not reach the fixed point, nor does it from the other outer point, whose
/// scores are the next nearest; the third nearest are those of the middle, which is the fixed point.
#[test]
fn restarts_begin_at_the_next_nearest_points_and_find_what_the_first_start_does_not() {
    let (points, model) = two_clusters();
    let scores = model.transform(&points).unwrap();
    let after = |restarts: usize| {
        let settings = Preimage::new(PreimageMethod::FixedPoint).max_iterations(1).restarts(restarts);
        settings.of_scores(&model, scores.as_ref(), &Watch::new()).unwrap()
    };
    let (none, one, two) = (after(0), after(1), after(2));
    assert_eq!(none.converged, [false, true, false, false, true, false]);
    assert_eq!(one.converged, none.converged);
    assert_eq!(two.converged, [true; 6]);
    assert_eq!(none.iterations, [1; 6]);
    assert_eq!(one.iterations, [2, 1, 2, 2, 1, 2]);
    assert_eq!(two.iterations, [3, 1, 3, 3, 1, 3]);
    for (i, middle) in [0.2, 0.2, 0.2, 50.2, 50.2, 50.2].into_iter().enumerate() {
        assert!((two.points[(i, 0)] - middle).abs() < 1e-9, "point {i}: {}", two.points[(i, 0)]);
        assert!(one.feature_error[i] <= none.feature_error[i], "point {i}");
        if i % 3 != 1 {
            assert!((none.points[(i, 0)] - middle).abs() > 1e-3, "point {i}: {}", none.points[(i, 0)]);
            assert!(two.feature_error[i] < none.feature_error[i] - 1e-5, "point {i}");
        }
    }
}

/// Far from all points every kernel value is zero, and so are the denominator and the slope.
#[test]
fn a_start_from_which_there_is_no_way_needs_a_restart() {
    let (points, gaussian) = two_clusters();
    let fit = |kernel: Kernel| KernelPca::new(kernel).n_components(1).negative(Negative::Clip).fit(&points).unwrap();
    // Three points that each see each other, with values that are concave between them: the middle of a cluster is where its values are largest.
    for (model, method) in [
        (gaussian.clone(), PreimageMethod::FixedPoint),
        (gaussian, PreimageMethod::Gradient),
        (fit(Kernel::matern52(1.0).unwrap()), PreimageMethod::Gradient),
        (fit(Kernel::epanechnikov(1.0).unwrap()), PreimageMethod::Gradient),
    ] {
        let what = format!("{} by {method}", model.kernel().name());
        let scores = model.transform(&points).unwrap();
        let after = |restarts: usize, place: f64| {
            let far = Points::from_f64(vec![place; 6], 6, 1).unwrap();
            let prepared = Preimage::new(method).restarts(restarts).prepare(&model, &Watch::new());
            prepared.unwrap().of_scores(scores.as_ref(), Some(&far), &Watch::new()).unwrap()
        };
        let none = after(0, 1e4);
        assert_eq!(none.n_not_converged(), 6, "{what}");
        for i in 0..6 {
            assert!((none.points[(i, 0)] - 1e4).abs() < 1e-6 && none.feature_error[i] > 1.5, "{what}: point {i}");
        }
        // From nearer the matern52 kernel has a slope of 1e-240, which leads anywhere.
        for one in [after(1, 1e4), after(1, 300.0)] {
            assert_eq!(one.n_not_converged(), 0, "{what}");
            // A step of descent is told from none by its value, which is to the square of a distance: half of the digits.
            let tolerance = if method == PreimageMethod::FixedPoint { 1e-8 } else { 1e-6 };
            for i in 0..6 {
                let middle = if i < 3 { 0.2 } else { 50.2 };
                let gap = (one.points[(i, 0)] - middle).abs();
                assert!(gap < tolerance && one.feature_error[i] < 0.01, "{what}: point {i} is {gap:e} off");
            }
        }
    }
}

/// Beside the other cluster, of which scores say next to nothing, a search ends with an error that any point of the right one is below.
#[test]
fn a_search_that_ends_above_the_nearest_point_learned_from_starts_there_instead() {
    let (points, model) = two_clusters();
    let scores = model.transform(&points).unwrap();
    let other = Points::from_f64(vec![51.0, 51.0, 51.0, 1.0, 1.0, 1.0], 6, 1).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient] {
        let search = |restarts: usize| {
            let prepared = Preimage::new(method).restarts(restarts).prepare(&model, &Watch::new()).unwrap();
            prepared.of_scores(scores.as_ref(), Some(&other), &Watch::new()).unwrap()
        };
        let there = search(0);
        assert_eq!(there.n_not_converged(), 6, "{method}");
        assert!(there.feature_error.iter().all(|&error| error > 1.5), "{method}: {:?}", there.feature_error);
        let found = search(2);
        for i in 0..6 {
            let middle = if i < 3 { 0.2 } else { 50.2 };
            assert!((found.points[(i, 0)] - middle).abs() < 1e-6, "{method}, point {i}: {}", found.points[(i, 0)]);
            let error = found.feature_error[i];
            assert!(found.converged[i] && error < 0.01, "{method}, point {i}: {error}");
        }
    }
}

/// The slopes of such kernels vanish at zero, whatever the target, although every point learned from is nearer to it.
#[test]
fn descent_does_not_stay_at_a_row_of_zeros() {
    let mut random = Random::new(43);
    let points = Points::from_f64((0..200).map(|_| 0.2 + random.uniform()).collect::<Vec<_>>(), 40, 5).unwrap();
    let zeros = Points::from_f64(vec![0.0; 5], 1, 5).unwrap();
    for (name, kernel) in [
        ("degree 2", Kernel::polynomial(0.7, 0.0, 2).unwrap()),
        ("degree 3", Kernel::polynomial(0.7, 0.0, 3).unwrap()),
        ("degree 4", Kernel::polynomial(0.7, 0.0, 4).unwrap()),
        ("cosine", Kernel::cosine()),
    ] {
        let model = KernelPca::new(kernel).n_components(3).fit(&points).unwrap();
        let prepared = Preimage::new(PreimageMethod::Gradient).restarts(0).prepare(&model, &Watch::new()).unwrap();
        let scores = model.transform(&zeros).unwrap();
        let elsewhere = prepared.of_scores(scores.as_ref(), None, &Watch::new()).unwrap();
        let found = prepared.of_points(&zeros, &Watch::new()).unwrap();
        assert!(found.converged[0] && elsewhere.converged[0], "{name}");
        let (here, there) = (found.feature_error[0], elsewhere.feature_error[0]);
        assert!((here - there).abs() < 1e-6, "{name}: {here} from zero, {there} from the nearest point");
        assert!((0..5).any(|k| found.points[(0, k)].abs() > 1e-3), "{name}: {:?}", found.points);
    }
}

/// Where the sigmoid kernel is saturated nothing changes any more, however far the point.
#[test]
fn a_point_that_the_sigmoid_kernel_lets_run_away_has_not_converged() {
    let points = Points::from_f64(vec![0.3, 0.5, 1.0, -0.6, -0.9], 5, 1).unwrap();
    let kernel = Kernel::sigmoid(1.0, 0.0).unwrap();
    let model = KernelPca::new(kernel).n_components(1).negative(Negative::Clip).fit(&points).unwrap();
    let scores = model.transform(&points).unwrap();
    let far = Points::from_f64(vec![1e4; 5], 5, 1).unwrap();
    let prepared = Preimage::new(PreimageMethod::Gradient).restarts(0).prepare(&model, &Watch::new()).unwrap();
    let found = prepared.of_scores(scores.as_ref(), Some(&far), &Watch::new()).unwrap();
    assert_eq!(found.converged, [false; 5]);
    assert!((0..5).all(|i| (found.points[(i, 0)] - 1e4).abs() < 1e-6));
}

/// From the other side of the circle one step is not enough, nor is it from anywhere else: every start is taken.
#[test]
fn every_restart_is_made_and_none_makes_the_error_larger() {
    let (noisy, _) = circle(60, 0.1);
    let opposite = {
        let values: Vec<f64> = (0..60).flat_map(|i| noisy.row((i + 30) % 60)).collect();
        Points::from_f64(values, 60, 5).unwrap()
    };
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&noisy).unwrap();
    let scores = model.transform(&noisy).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient] {
        let after = |restarts: usize| {
            let settings = Preimage::new(method).max_iterations(1).restarts(restarts);
            let prepared = settings.prepare(&model, &Watch::new()).unwrap();
            let found = prepared.of_scores(scores.as_ref(), Some(&opposite), &Watch::new()).unwrap();
            assert_eq!(found.iterations, [restarts + 1; 60], "{method}");
            found.feature_error
        };
        let none = after(0);
        let mut before = none.clone();
        for restarts in [1, 2, 5] {
            let now = after(restarts);
            assert!(now.iter().zip(&before).all(|(now, before)| now <= before), "{method} with {restarts}");
            before = now;
        }
        // The first of them are the points themselves.
        assert!(before.iter().zip(&none).any(|(now, none)| now + 1e-3 < *none), "{method}");
    }
}

#[test]
fn what_has_no_finite_error_has_not_converged() {
    let (_, model) = two_clusters();
    let scores = Mat::from_fn(2, 1, |i, _| if i == 0 { 1e200 } else { 0.1 });
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient] {
        let found = Preimage::new(method).of_scores(&model, scores.as_ref(), &Watch::new()).unwrap();
        assert!(!found.converged[0], "{method:?}: {:?}", found.feature_error);
        assert!(found.feature_error[1].is_finite(), "{method:?}");
    }
}
