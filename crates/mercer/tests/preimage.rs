//! Pre-images against a stored case, slow formulas, and their own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::data::{Moments, Scaling};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::preimage::{Preimage, PreimageMethod, Reconstruction};
use mercer::{Center, Error, Kernel, KernelPca, Model, Negative, Points, Watch};
use mercer_testkit::generate::Random;
use mercer_testkit::reference::{assert_close, largest_entry};
use npyz::npz::NpzArchive;

fn array(name: &str) -> Mat<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/preimage/preimage.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(name).unwrap().unwrap();
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let values: Vec<f64> = npy.into_vec().unwrap();
    Mat::from_fn(rows, columns, |i, j| values[i * columns + j])
}

fn points(matrix: MatRef<'_, f64>) -> Points {
    let (n, d) = (matrix.nrows(), matrix.ncols());
    Points::from_f64((0..n * d).map(|at| matrix[(at / d, at % d)]).collect::<Vec<_>>(), n, d).unwrap()
}

#[track_caller]
fn close(found: MatRef<'_, f64>, expected: MatRef<'_, f64>, share: f64, what: &str) {
    let slack = share * largest_entry(expected) + 1e-13;
    assert_close(found, expected, |_, _| slack, what);
}

const SIGMA: f64 = 0.8;

fn case_model() -> Model {
    KernelPca::new(Kernel::gaussian(0.5 / (SIGMA * SIGMA)).unwrap())
        .n_components(3)
        .fit(&points(array("in_X").as_ref()))
        .unwrap()
}

#[test]
fn the_stored_case_comes_out_from_its_points_and_from_scores_alone() {
    let (model, queries) = (case_model(), points(array("in_Xtest").as_ref()));
    let method = Preimage::new(PreimageMethod::FixedPoint);
    let from_points = method.of_points(&model, &queries, &Watch::new()).unwrap();
    close(from_points.points.as_ref(), array("out_z").as_ref(), 1e-8, "fixed points");
    assert_eq!(from_points.converged, [true; 3]);
    let scores = model.transform(&queries).unwrap();
    let from_scores = method.of_scores(&model, scores.as_ref(), &Watch::new()).unwrap();
    close(from_scores.points.as_ref(), array("out_z").as_ref(), 1e-8, "fixed points from scores");
}

#[test]
fn a_model_over_all_points_as_landmarks_has_the_same_pre_images() {
    let (x, queries) = (points(array("in_X").as_ref()), points(array("in_Xtest").as_ref()));
    let landmarks = Nystrom::new(Kernel::gaussian(0.5 / (SIGMA * SIGMA)).unwrap())
        .landmarks(Landmarks::Rows((0..x.n_samples()).collect()));
    let over = NystromPca::new(landmarks).n_components(3).fit(&x).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient, PreimageMethod::Distance] {
        let found = |model: &Model| Preimage::new(method).of_points(model, &queries, &Watch::new()).unwrap();
        let (exact, over) = (found(&case_model()), found(&over));
        close(over.points.as_ref(), exact.points.as_ref(), 1e-6, "pre-images");
        for (a, b) in over.feature_error.iter().zip(&exact.feature_error) {
            assert!((a - b).abs() < 1e-7, "{a} and {b} by {method:?}");
        }
    }
}

/// `‖φ(z) − Σ γ_i φ(x_i)‖²` with the stored weights, pair by pair.
#[test]
fn the_reported_error_is_the_distance_in_feature_space() {
    let (x, gamma, z) = (array("in_X"), array("out_gamma"), array("out_z"));
    let k = |a: &[f64], b: &[f64]| {
        let square: f64 = a.iter().zip(b).map(|(p, q)| (p - q) * (p - q)).sum();
        (-square / (2.0 * SIGMA * SIGMA)).exp()
    };
    let row = |m: &Mat<f64>, i: usize| vec![m[(i, 0)], m[(i, 1)]];
    let found = Preimage::new(PreimageMethod::FixedPoint)
        .of_points(&case_model(), &points(array("in_Xtest").as_ref()), &Watch::new())
        .unwrap();
    for q in 0..3 {
        let mut distance = 1.0;
        for i in 0..20 {
            distance -= 2.0 * gamma[(q, i)] * k(&row(&z, q), &row(&x, i));
            for j in 0..20 {
                distance += gamma[(q, i)] * gamma[(q, j)] * k(&row(&x, i), &row(&x, j));
            }
        }
        assert!((found.feature_error[q] - distance).abs() < 1e-9, "{} and {distance}", found.feature_error[q]);
    }
}

/// Points near a circle in five dimensions, and the same without noise.
fn circle(n: usize, noise: f64) -> (Points, Points) {
    let mut random = Random::new(7);
    let mut make = |noise: f64| {
        let values = (0..n).flat_map(|i| {
            let angle = i as f64 * std::f64::consts::TAU / n as f64;
            [angle.cos(), angle.sin(), 0.5 * angle.cos(), -0.3 * angle.sin(), 0.2]
        });
        let values: Vec<f64> = values.map(|x| x + noise * random.normal()).collect();
        Points::from_f64(values, n, 5).unwrap()
    };
    (make(noise), make(0.0))
}

fn mean_squared_error(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}

fn reconstruct(model: &Model, points: &Points, method: PreimageMethod) -> Reconstruction {
    let settings = Preimage::new(method);
    let settings = if method == PreimageMethod::Ridge { settings.alpha(1e-4) } else { settings };
    settings.of_points(model, points, &Watch::new()).unwrap()
}

#[test]
fn every_method_takes_noise_away() {
    let (noisy, clean) = circle(200, 0.1);
    let before = 5.0 * 0.01;
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&noisy).unwrap();
    for method in
        [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Gradient, PreimageMethod::Ridge]
    {
        let found = reconstruct(&model, &noisy, method);
        let error = mean_squared_error(&found.points, &clean);
        assert!(error < 0.7 * before, "{method}: {error}");
        assert_eq!(found.n_not_converged(), 0, "{method}");
        assert!(found.feature_error.iter().all(|&error| (0.0..0.2).contains(&error)), "{method}");
    }
}

/// Along the circle steps shrink slowly; the fixed point is nevertheless as near as the tolerance says.
#[test]
fn a_fixed_point_is_as_near_as_its_tolerance_says() {
    let (noisy, _) = circle(200, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&noisy).unwrap();
    let to = |tolerance: f64| {
        let settings = Preimage::new(PreimageMethod::FixedPoint).tolerance(tolerance).max_iterations(20_000);
        settings.of_points(&model, &noisy, &Watch::new()).unwrap().points
    };
    let exact = to(1e-14);
    for tolerance in [1e-4, 1e-6, 1e-8] {
        let found = to(tolerance);
        let farthest = (0..200).map(|i| (found.row(i) - exact.row(i)).norm_l2()).fold(0.0, f64::max);
        // The kernel has width one.
        assert!(farthest <= tolerance, "{farthest:e} with tolerance {tolerance:e}");
    }
}

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

/// Beside the other cluster, of which scores say next to nothing, descent ends with an error that any point of the right one is below.
#[test]
fn descent_that_ends_above_the_nearest_point_learned_from_starts_there_instead() {
    let (points, model) = two_clusters();
    let scores = model.transform(&points).unwrap();
    let other = Points::from_f64(vec![51.0, 51.0, 51.0, 1.0, 1.0, 1.0], 6, 1).unwrap();
    let prepared = Preimage::new(PreimageMethod::Gradient).prepare(&model, &Watch::new()).unwrap();
    let found = prepared.of_scores(scores.as_ref(), Some(&other), &Watch::new()).unwrap();
    for i in 0..6 {
        let middle = if i < 3 { 0.2 } else { 50.2 };
        assert!((found.points[(i, 0)] - middle).abs() < 1e-6, "point {i}: {}", found.points[(i, 0)]);
        assert!(found.converged[i] && found.feature_error[i] < 0.01, "point {i}: {}", found.feature_error[i]);
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

#[test]
fn descent_and_fixed_point_agree_for_the_gaussian_kernel() {
    let (noisy, _) = circle(60, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.7).unwrap()).n_components(5).fit(&noisy).unwrap();
    let fixed = reconstruct(&model, &noisy, PreimageMethod::FixedPoint);
    let descent = reconstruct(&model, &noisy, PreimageMethod::Gradient);
    assert_eq!(descent.n_not_converged(), 0);
    close(descent.points.as_ref(), fixed.points.as_ref(), 1e-5, "descent");
}

#[test]
fn with_all_components_points_come_back() {
    let (noisy, _) = circle(30, 0.1);
    for kernel in [Kernel::gaussian(0.5), Kernel::matern52(0.5), Kernel::rational_quadratic(0.5, 1.0)] {
        let kernel = kernel.unwrap();
        let model = KernelPca::new(kernel.clone()).n_components(29).fit(&noisy).unwrap();
        for method in [PreimageMethod::Distance, PreimageMethod::Gradient] {
            let found = reconstruct(&model, &noisy, method);
            let error = mean_squared_error(&found.points, &noisy);
            assert!(error < 1e-8, "{} by {method}: {error:e}", kernel.name());
            assert!(found.feature_error.iter().all(|&error| error < 1e-6));
        }
    }
    for kernel in [Kernel::linear(), Kernel::polynomial(1.0, 1.0, 3).unwrap()] {
        let model = KernelPca::new(kernel.clone()).variance(0.999_999_9).fit(&noisy).unwrap();
        let found = reconstruct(&model, &noisy, PreimageMethod::Distance);
        assert!(mean_squared_error(&found.points, &noisy) < 1e-4, "{}", kernel.name());
    }
}

#[test]
fn the_linear_kernel_is_projected_as_pca_projects() {
    let (noisy, _) = circle(80, 0.2);
    let model = KernelPca::new(Kernel::linear()).n_components(2).fit(&noisy).unwrap();
    let found = reconstruct(&model, &noisy, PreimageMethod::Gradient);
    let pca = mercer::autoencoder::LinearPca::fit(&noisy, 2, Center::Yes).unwrap();
    let expected = mercer::autoencoder::Codec::reconstruct(&pca, &noisy).unwrap();
    close(found.points.as_ref(), expected.as_ref(), 1e-7, "projections");
}

#[test]
fn the_eigenvector_is_no_worse_than_descent_and_has_the_sign_of_its_start() {
    let (noisy, _) = circle(40, 0.05);
    let negative = {
        let values: Vec<f64> = (0..40).flat_map(|i| noisy.row(i)).map(|x| -x).collect();
        Points::from_f64(values, 40, 5).unwrap()
    };
    let kernel = Kernel::polynomial(0.7, 0.0, 2).unwrap();
    for center in [Center::Yes, Center::No] {
        let model = KernelPca::new(kernel.clone()).n_components(3).center(center).fit(&noisy).unwrap();
        let exact = reconstruct(&model, &noisy, PreimageMethod::Polynomial);
        let descent = reconstruct(&model, &noisy, PreimageMethod::Gradient);
        for i in 0..40 {
            assert!(exact.feature_error[i] <= descent.feature_error[i] + 1e-9, "point {i}");
        }
        let mirrored = reconstruct(&model, &negative, PreimageMethod::Polynomial);
        let sum = Mat::from_fn(40, 5, |i, k| exact.points[(i, k)] + mirrored.points[(i, k)]);
        assert!(largest_entry(sum.as_ref()) < 1e-7);
    }
}

/// Points of two kinds that have no column in common: what Lanczos' method starts with must not keep it among the columns of one.
#[test]
fn the_eigenvector_is_found_among_columns_that_the_start_does_not_have() {
    let (n, d) = (60, 48);
    let mut random = Random::new(3);
    let values: Vec<f64> = (0..n * d)
        .map(|at| if (at / d) % 2 == usize::from(at % d >= 24) { 0.2 + random.uniform() } else { 0.0 })
        .collect();
    let blocks = Points::from_f64(values, n, d).unwrap();
    let model = KernelPca::new(Kernel::polynomial(1.0, 0.0, 2).unwrap()).n_components(4).fit(&blocks).unwrap();
    // Scores of one kind, searched from points of the other.
    let scores = model.transform(&blocks).unwrap();
    let turned = {
        let rows: Vec<f64> = (0..n).flat_map(|i| blocks.row((i + 1) % n)).collect();
        Points::from_f64(rows, n, d).unwrap()
    };
    let prepared = Preimage::new(PreimageMethod::Polynomial).prepare(&model, &Watch::new()).unwrap();
    let own = prepared.of_scores(scores.as_ref(), Some(&blocks), &Watch::new()).unwrap();
    let other = prepared.of_scores(scores.as_ref(), Some(&turned), &Watch::new()).unwrap();
    let (coefficients, mean) = (model.dual_coefficients(), 1.0 / n as f64);
    let column_mean = |j: usize| coefficients.col(j).iter().sum::<f64>() / n as f64;
    for i in 0..n {
        let weight =
            |at: usize| mean + (0..4).map(|j| scores[(i, j)] * (coefficients[(at, j)] - column_mean(j))).sum::<f64>();
        let mut sum = Mat::<f64>::zeros(d, d);
        for at in 0..n {
            let (x, weight) = (blocks.row(at), weight(at));
            for r in 0..d {
                for s in 0..d {
                    sum[(r, s)] += weight * x[r] * x[s];
                }
            }
        }
        let pairs = sum.self_adjoint_eigen(faer::Side::Lower).unwrap();
        let (value, vector) = (pairs.S()[d - 1], pairs.U().col(d - 1));
        for found in [&own, &other] {
            assert!(found.converged[i], "point {i}");
            for r in 0..d {
                // Up to the sign: the outer product has none.
                let gap = found.points[(i, r)].abs() - value.sqrt() * vector[r].abs();
                assert!(gap.abs() < 1e-6, "point {i}, column {r}: off by {gap:e}");
            }
        }
    }
}

/// The slope of the exponential kernel has a pole at the points learned from, which are where searches start.
#[test]
fn descent_with_the_exponential_kernel_leaves_the_points_learned_from() {
    let mut random = Random::new(5);
    let values: Vec<f64> = (0..80)
        .flat_map(|i| {
            let angle = f64::from(i / 2) * std::f64::consts::PI / 39.0;
            if i % 2 == 0 { [angle.cos(), angle.sin()] } else { [1.0 - angle.cos(), 0.5 - angle.sin()] }
        })
        .map(|x| x + 0.1 * random.normal())
        .collect();
    let moons = Points::from_f64(values.clone(), 80, 2).unwrap();
    let disturbed: Vec<f64> = values.iter().map(|x| x + 0.01 * random.normal()).collect();
    let disturbed = Points::from_f64(disturbed, 80, 2).unwrap();
    let model = KernelPca::new(Kernel::exponential(1.0).unwrap()).n_components(4).fit(&moons).unwrap();
    let scores = model.transform(&moons).unwrap();
    let prepared = Preimage::new(PreimageMethod::Gradient).prepare(&model, &Watch::new()).unwrap();
    let beside = prepared.of_scores(scores.as_ref(), Some(&disturbed), &Watch::new()).unwrap().feature_error;
    for start in [Some(&moons), None] {
        let found = prepared.of_scores(scores.as_ref(), start, &Watch::new()).unwrap();
        assert_eq!(found.n_not_converged(), 0);
        for (i, (here, there)) in found.feature_error.iter().zip(&beside).enumerate() {
            assert!(*here <= there + 1e-3, "point {i}: {here} from the point itself, {there} from beside it");
        }
        let moved = |i: usize| (0..2).any(|k| (found.points[(i, k)] - moons.row(i)[k]).abs() > 1e-3);
        assert!((0..80).filter(|&i| moved(i)).count() > 40, "descent stays where it starts");
    }
}

#[test]
fn scaled_models_give_points_in_the_units_of_their_data() {
    let (noisy, _) = circle(60, 0.05);
    let stretched = {
        let values: Vec<f64> =
            (0..60).flat_map(|i| noisy.row(i)).enumerate().map(|(at, x)| 100.0 + x * (1.0 + (at % 5) as f64)).collect();
        Points::from_f64(values, 60, 5).unwrap()
    };
    let scaling = Scaling::standardizing(&Moments::of(&stretched));
    let fitted = KernelPca::new(Kernel::gaussian(0.2).unwrap())
        .n_components(20)
        .fit(&scaling.apply(&stretched).unwrap())
        .unwrap();
    let model = fitted.with_scaling(scaling).unwrap();
    for method in
        [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Gradient, PreimageMethod::Ridge]
    {
        let found = reconstruct(&model, &stretched, method);
        assert!(mean_squared_error(&found.points, &stretched) < 0.5, "{method}");
        // The fixed point and descent minimise the error in feature space, the others do not.
        let limit = if matches!(method, PreimageMethod::FixedPoint | PreimageMethod::Gradient) { 0.05 } else { 0.5 };
        assert!(found.feature_error.iter().all(|&error| error < limit), "{method}");
    }
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads_or_on_the_other_points() {
    let (noisy, _) = circle(150, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&noisy).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient, PreimageMethod::Distance] {
        let all = Preimage::new(method).threads(2).of_points(&model, &noisy, &Watch::new()).unwrap();
        let again = Preimage::new(method).threads(1).of_points(&model, &noisy, &Watch::new()).unwrap();
        assert!((0..150).all(|i| (0..5).all(|k| all.points[(i, k)].to_bits() == again.points[(i, k)].to_bits())));
        let some = Preimage::new(method).of_points(&model, &noisy.slice(140..150), &Watch::new()).unwrap();
        let tail = Mat::from_fn(10, 5, |i, k| all.points[(140 + i, k)]);
        close(some.points.as_ref(), tail.as_ref(), 1e-9, "a slice");
    }
}

#[test]
fn no_rows_give_no_points_and_scores_far_away_say_so() {
    let (noisy, _) = circle(40, 0.1);
    let model = KernelPca::new(Kernel::gaussian(2.0).unwrap()).n_components(3).fit(&noisy).unwrap();
    for method in
        [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Gradient, PreimageMethod::Ridge]
    {
        let none = Preimage::new(method).of_scores(&model, Mat::zeros(0, 3).as_ref(), &Watch::new()).unwrap();
        assert_eq!((none.points.nrows(), none.points.ncols()), (0, 5));
        // No point has such scores.
        let far = Preimage::new(method).of_scores(&model, Mat::full(1, 3, 1e3).as_ref(), &Watch::new()).unwrap();
        assert!(far.feature_error[0] > 1e5 && far.points[(0, 0)].is_finite(), "{method}");
    }
}

#[test]
fn wrong_calls_are_refused_by_name() {
    let (noisy, _) = circle(30, 0.1);
    let fit = |kernel: Kernel| KernelPca::new(kernel).n_components(2).fit(&noisy).unwrap();
    let gaussian = fit(Kernel::gaussian(0.5).unwrap());
    let refused = |settings: Preimage, model: &Model| settings.prepare(model, &Watch::new()).unwrap_err().to_string();
    assert_eq!(
        refused(Preimage::new(PreimageMethod::Distance).restarts(3), &gaussian),
        "`restarts` must be left out with the method distance, which does not read it, but it is given"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::FixedPoint).neighbors(3), &gaussian),
        "`neighbors` must be left out with the method fixed-point, which does not read it, but it is given"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::FixedPoint), &fit(Kernel::linear())),
        "the fixed point of pre-images does not work with the linear kernel: it is that of the gaussian kernel; use gradient"
    );
    assert_eq!(
        refused(Preimage::new(PreimageMethod::Gradient), &fit(Kernel::laplacian(0.5).unwrap())),
        "finding pre-images by descent does not work with the laplacian kernel: it has no derivative that could be followed; use ridge"
    );
    assert!(
        refused(Preimage::new(PreimageMethod::Distance), &fit(Kernel::polynomial(1.0, 1.0, 2).unwrap()))
            .contains("distances")
    );
    assert!(
        refused(Preimage::new(PreimageMethod::Polynomial), &fit(Kernel::polynomial(1.0, 1.0, 2).unwrap()))
            .contains("coef0 = 0")
    );
    for (settings, name) in [
        (Preimage::new(PreimageMethod::FixedPoint).tolerance(0.0), "tolerance"),
        (Preimage::new(PreimageMethod::FixedPoint).max_iterations(0), "max_iterations"),
        (Preimage::new(PreimageMethod::Distance).neighbors(1), "neighbors"),
        (Preimage::new(PreimageMethod::Ridge).alpha(-1.0), "alpha"),
        (Preimage::new(PreimageMethod::Ridge).threads(0), "threads"),
    ] {
        assert!(refused(settings, &gaussian).contains(&format!("`{name}`")), "{name}");
    }
    let method = Preimage::new(PreimageMethod::FixedPoint);
    let wrong = method.of_scores(&gaussian, Mat::zeros(1, 3).as_ref(), &Watch::new()).unwrap_err();
    assert_eq!(wrong.to_string(), "`scores` must be of 2 columns, one per component, but it is 3");
    let wrong = method.of_scores(&gaussian, Mat::full(1, 2, f64::NAN).as_ref(), &Watch::new()).unwrap_err();
    assert!(matches!(wrong, Error::NotFinite { row: 0, column: 0, .. }));
    let matrix = Points::from_f64(vec![2.0, 1.0, 1.0, 2.0], 2, 2).unwrap();
    let given = KernelPca::new(Kernel::Precomputed).n_components(1).fit(&matrix).unwrap();
    for method in ["fixed-point", "distance", "ridge", "gradient", "polynomial"] {
        let method: PreimageMethod = method.parse().unwrap();
        assert!(refused(Preimage::new(method), &given).contains("precomputed"));
    }
}

#[test]
fn a_run_that_is_stopped_is_an_error() {
    let (noisy, _) = circle(30, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2).fit(&noisy).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch::new().interrupt(&stop);
    let error = Preimage::new(PreimageMethod::FixedPoint).of_points(&model, &noisy, &watch).unwrap_err();
    assert_eq!(error.kind(), mercer::ErrorKind::Interrupted);
}
