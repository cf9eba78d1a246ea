//! Angles between models, against explicit feature vectors.
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

use faer::Mat;
use mercer::kernel::Kernel;
use mercer::watch::Threads;
use mercer::{Error, KernelPca, Model, Negative, Points, Precision, SolverChoice, Watch};

fn points(n: usize, d: usize) -> Points {
    let values: Vec<f64> = (0..n * d).map(|i| ((i * i) as f64 * 0.731).sin() * (1.0 + 0.2 * (i % d) as f64)).collect();
    Points::from_f64(values, n, d).unwrap()
}

fn angle(a: &Model, b: &Model, points: &Points) -> mercer::Result<f64> {
    a.largest_angle(b, points, &Threads::new(2).unwrap(), &Watch::new())
}

fn rough(k: usize, passes: usize) -> KernelPca {
    KernelPca::new(Kernel::linear()).n_components(k).solver(SolverChoice::Power).max_passes(passes)
}

/// Components of a linear kernel as vectors of the data space, orthonormalised.
fn directions(model: &Model, points: &Points) -> Mat<f64> {
    let (n, d) = (points.n_samples(), points.n_features());
    let mean: Vec<f64> = (0..d).map(|c| (0..n).map(|i| points.row(i)[c]).sum::<f64>() / n as f64).collect();
    let plain = Mat::from_fn(d, model.n_components(), |c, j| {
        (0..n).map(|i| model.dual_coefficients()[(i, j)] * (points.row(i)[c] - mean[c])).sum::<f64>()
    });
    plain.qr().compute_thin_Q()
}

#[test]
fn the_angle_of_rough_and_exact_components_is_that_of_their_vectors() {
    let points = points(60, 5);
    let exact = rough(2, 100_000).fit(&points).unwrap();
    for passes in [2, 4, 8] {
        let other = rough(2, passes).fit(&points).unwrap();
        let cosines =
            (directions(&exact, &points).transpose() * directions(&other, &points)).singular_values().unwrap();
        let expected = cosines.last().unwrap().min(1.0).acos();
        let found = angle(&exact, &other, &points).unwrap();
        assert!(expected > 1e-3, "{passes} passes give {expected}: too exact to test with");
        // The reference loses digits as the cosine nears one.
        assert!((found - expected).abs() < 1e-12 / expected, "{found} and {expected}");
        assert!((found - angle(&other, &exact, &points).unwrap()).abs() < 1e-9, "the angle has no direction");
    }
}

#[test]
fn a_model_makes_no_angle_with_itself_or_with_more_components() {
    let points = points(80, 4);
    let fit = |k, precision| {
        KernelPca::new(Kernel::gaussian(0.1).unwrap()).n_components(k).precision(precision).fit(&points).unwrap()
    };
    for (precision, limit) in [(Precision::F64, 1e-7), (Precision::F32, 2e-3)] {
        let (three, six) = (fit(3, precision), fit(6, precision));
        for (a, b) in [(&three, &three), (&three, &six), (&six, &three)] {
            let found = angle(a, b, &points).unwrap();
            assert!(found < limit, "{precision}: {found}");
        }
    }
}

#[test]
fn all_solvers_find_the_same_space() {
    let points = points(120, 6);
    let fit = |solver| {
        KernelPca::new(Kernel::gaussian(0.02).unwrap())
            .n_components(4)
            .solver(solver)
            .tolerance(1e-8)
            .fit(&points)
            .unwrap()
    };
    let exact = fit(SolverChoice::Dense);
    for solver in [SolverChoice::Krylov, SolverChoice::Lanczos, SolverChoice::Subspace] {
        let found = angle(&exact, &fit(solver), &points).unwrap();
        assert!(found < 1e-5, "{solver}: {found}");
    }
}

#[test]
fn a_precomputed_matrix_takes_the_place_of_the_points() {
    let matrix = Points::from_f64(vec![4.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0], 3, 3).unwrap();
    let model = KernelPca::new(Kernel::Precomputed).n_components(1).fit(&matrix).unwrap();
    assert!(angle(&model, &model, &matrix).unwrap() < 1e-7);
}

#[test]
fn models_that_cannot_be_compared_are_refused() {
    let points = points(30, 3);
    let fit = |kernel: Kernel| KernelPca::new(kernel).n_components(2).fit(&points).unwrap();
    let (a, b) = (fit(Kernel::linear()), fit(Kernel::gaussian(0.1).unwrap()));
    assert!(matches!(angle(&a, &b, &points), Err(Error::InvalidParameter { name: "kernel", .. })));
    assert!(matches!(angle(&a, &a, &points.slice(0..20)), Err(Error::InvalidParameter { name: "points", .. })));
    let settings = KernelPca::new(Kernel::sigmoid(1.0, 1.0).unwrap()).n_components(30).negative(Negative::Flip);
    let indefinite = settings.fit(&points).unwrap();
    assert!(matches!(angle(&indefinite, &indefinite, &points), Err(Error::UnsuitableKernel { .. })));
}
