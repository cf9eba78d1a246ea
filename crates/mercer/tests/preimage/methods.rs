//! What each method finds, beside the others and beside slow formulas.

use faer::Mat;
use mercer::autoencoder::{Codec, LinearPca};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Center, Kernel, KernelPca, Points, Watch};
use mercer_testkit::generate::Random;
use mercer_testkit::reference::largest_entry;

use crate::support::{circle, close, mean_squared_error, reconstruct};

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

/// More copies of a row than there are neighbours, to the bit or nearly: all distances are the same, and rounding is all that the copies span.
#[test]
fn distances_to_copies_of_a_row_place_a_point_there() {
    let (n, d, copies) = (100, 5, 12);
    for apart in [0.0, 1e-14, 1e-12, 1e-10] {
        let mut random = Random::new(41);
        let row: Vec<f64> = (0..d).map(|_| random.normal()).collect();
        let values: Vec<f64> = (0..n * d)
            .map(|at| if at / d < copies { row[at % d] + apart * random.normal() } else { random.normal() })
            .collect();
        let points = Points::from_f64(values, n, d).unwrap();
        let model = KernelPca::new(Kernel::gaussian(0.2).unwrap()).n_components(8).fit(&points).unwrap();
        let found = reconstruct(&model, &points.slice(0..copies), PreimageMethod::Distance);
        assert_eq!(found.n_not_converged(), 0, "{apart:e} apart");
        // What the components leave of a row moves it by less than a tenth, which copies to the bit have no room for.
        let tolerance = if apart == 0.0 { 1e-12 } else { 0.2 };
        for i in 0..copies {
            let gap = (0..d).map(|k| (found.points[(i, k)] - row[k]).abs()).fold(0.0, f64::max);
            assert!(gap < tolerance, "{apart:e} apart: point {i} is {gap:e} off");
        }
    }
}

/// Columns of zeros and ones: every row is there twelve times or more.
#[test]
fn distances_place_rows_of_binary_columns_among_their_copies() {
    let rows: Vec<u32> = (0..16).flat_map(|row| (0..12 + row).map(move |_| row)).collect();
    let values: Vec<f64> = rows.iter().flat_map(|row| (0..4).map(move |bit| f64::from((row >> bit) & 1))).collect();
    let points = Points::from_f64(values, rows.len(), 4).unwrap();
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&points).unwrap();
    let found = reconstruct(&model, &points, PreimageMethod::Distance);
    assert_eq!(found.n_not_converged(), 0);
    assert!(mean_squared_error(&found.points, &points) < 1e-20, "{:e}", mean_squared_error(&found.points, &points));
}

#[test]
fn the_linear_kernel_is_projected_as_pca_projects_centred_or_not() {
    let (noisy, _) = circle(80, 0.2);
    for center in [Center::Yes, Center::No] {
        let model = KernelPca::new(Kernel::linear()).n_components(2).center(center).fit(&noisy).unwrap();
        let found = reconstruct(&model, &noisy, PreimageMethod::Gradient);
        assert_eq!(found.n_not_converged(), 0, "{center:?}");
        let expected = LinearPca::fit(&noisy, 2, center).unwrap().reconstruct(&noisy).unwrap();
        close(found.points.as_ref(), expected.as_ref(), 1e-7, "projections");
    }
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
