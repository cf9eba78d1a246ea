//! Novelty against explicit feature maps, and by its laws.
#![allow(clippy::unwrap_used, reason = "a test that meets a surprise should stop there and say where")]

use mercer::kernel::Kernel;
use mercer::{Center, KernelPca, Model, Negative, Points, Precision};

/// Points on a bent sheet, with no symmetry that could hide a mistake.
fn values(n: usize, d: usize, shift: f64) -> Vec<f64> {
    (0..n * d).map(|i| ((i as f64 * 0.731 + shift).sin() + 0.3 * (i as f64 * 0.119).cos()) * 1.5).collect()
}

fn points(n: usize, d: usize, shift: f64) -> Points {
    Points::from_f64(values(n, d, shift), n, d).unwrap()
}

fn polynomial_features(x: &[f64]) -> Vec<f64> {
    // (x·y + 1)² in two dimensions.
    let root = 2.0_f64.sqrt();
    vec![1.0, root * x[0], root * x[1], x[0] * x[0], root * x[0] * x[1], x[1] * x[1]]
}

/// What the components leave of a point and its T², by vectors of features.
fn explicit(model: &Model, training: &Points, x: &[f64], features: impl Fn(&[f64]) -> Vec<f64>) -> (f64, f64) {
    let n = training.n_samples();
    let mapped: Vec<Vec<f64>> = (0..n).map(|i| features(&training.row(i))).collect();
    let width = mapped[0].len();
    let centered = model.record().centered;
    let mean: Vec<f64> =
        (0..width).map(|f| if centered { mapped.iter().map(|m| m[f]).sum::<f64>() / n as f64 } else { 0.0 }).collect();
    let minus_mean = |m: &[f64]| -> Vec<f64> { m.iter().zip(&mean).map(|(a, b)| a - b).collect() };
    let image = minus_mean(&features(x));
    let mut rest = image.clone();
    let mut t_squared = 0.0;
    for j in 0..model.n_components() {
        let mut direction = vec![0.0; width];
        for (i, row) in mapped.iter().enumerate() {
            let weight = model.dual_coefficients()[(i, j)];
            direction.iter_mut().zip(minus_mean(row)).for_each(|(sum, value)| *sum += weight * value);
        }
        let score: f64 = direction.iter().zip(&image).map(|(a, b)| a * b).sum();
        rest.iter_mut().zip(&direction).for_each(|(r, u)| *r -= score * u);
        t_squared += score * score / (model.eigenvalues()[j] / n as f64);
    }
    (rest.iter().map(|r| r * r).sum(), t_squared)
}

#[track_caller]
fn agrees_with_features(kernel: &Kernel, d: usize, k: usize, features: impl Fn(&[f64]) -> Vec<f64>) {
    let (training, queries) = (points(40, d, 0.0), points(15, d, 2.0));
    for center in [Center::Yes, Center::No] {
        for (precision, tolerance) in [(Precision::F64, 1e-9), (Precision::F32, 1e-3)] {
            let settings = KernelPca::new(kernel.clone()).n_components(k).center(center).precision(precision);
            let model = settings.fit(&training).unwrap();
            let found = model.novelty(&queries).unwrap();
            for i in 0..queries.n_samples() {
                let (error, t_squared) = explicit(&model, &training, &queries.row(i), &features);
                // Both are differences or sums of squares of size k(x, x), which is below 100 here.
                assert!(
                    (found.reconstruction_error[i] - error).abs() < tolerance,
                    "{center:?} {precision}, row {i}: {} and {error}",
                    found.reconstruction_error[i]
                );
                assert!(
                    (found.t_squared[i] - t_squared).abs() < tolerance * (1.0 + t_squared),
                    "{center:?} {precision}, row {i}"
                );
            }
        }
    }
}

#[test]
fn a_linear_kernel_gives_distances_in_the_data_space() {
    agrees_with_features(&Kernel::linear(), 5, 2, <[f64]>::to_vec);
}

#[test]
fn a_polynomial_kernel_gives_distances_in_its_feature_space() {
    agrees_with_features(&Kernel::polynomial(1.0, 1.0, 2).unwrap(), 2, 3, polynomial_features);
}

#[test]
fn scores_are_those_of_transform() {
    let (training, queries) = (points(60, 4, 0.0), points(30, 4, 1.0));
    let model = KernelPca::new(Kernel::gaussian(0.2).unwrap()).n_components(8).fit(&training).unwrap();
    let (novelty, scores) = (model.novelty(&queries).unwrap(), model.transform(&queries).unwrap());
    for i in 0..30 {
        for j in 0..8 {
            assert!((novelty.scores[(i, j)] - scores[(i, j)]).abs() < 1e-12);
        }
    }
}

#[test]
fn over_the_training_points_t_squared_has_mean_k_and_errors_add_up_to_the_unexplained_variance() {
    let training = points(80, 3, 0.0);
    for kernel in [Kernel::gaussian(0.3).unwrap(), Kernel::laplacian(0.4).unwrap(), Kernel::cosine()] {
        let model = KernelPca::new(kernel).n_components(3).fit(&training).unwrap();
        let novelty = model.novelty(&training).unwrap();
        let mean = novelty.t_squared.iter().sum::<f64>() / 80.0;
        assert!((mean - model.n_components() as f64).abs() < 1e-8, "{mean}");
        let left: f64 = novelty.reconstruction_error.iter().sum();
        let unexplained = model.total_variance() - model.eigenvalues().iter().sum::<f64>();
        assert!((left - unexplained).abs() < 1e-8 * (1.0 + model.total_variance()), "{left} and {unexplained}");
    }
}

#[test]
fn more_components_leave_less() {
    let (training, queries) = (points(50, 3, 0.0), points(20, 3, 0.7));
    let errors = |k| {
        let model = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(k).fit(&training).unwrap();
        model.novelty(&queries).unwrap().reconstruction_error
    };
    for (few, many) in errors(2).iter().zip(errors(10)) {
        assert!(many <= few + 1e-10 && many >= 0.0, "{few} and then {many}");
    }
}

#[test]
fn a_point_far_from_all_others_keeps_its_whole_norm() {
    let training = points(50, 3, 0.0);
    let model = KernelPca::new(Kernel::gaussian(1.0).unwrap()).n_components(5).fit(&training).unwrap();
    let far = Points::from_f64(vec![1e3, -1e3, 1e3], 1, 3).unwrap();
    let novelty = model.novelty(&far).unwrap();
    // k(x, x_i) = 0: k̃(x, x) = 1 + mean, of which the scores of a kernel row of zeros are taken off.
    let mean = model.centering().unwrap().mean;
    let scores: f64 = (0..5).map(|j| novelty.scores[(0, j)].powi(2)).sum();
    assert!((novelty.reconstruction_error[0] - (1.0 + mean - scores)).abs() < 1e-10);
    let limit = model.record().control_limits.as_ref().unwrap().at(0.999).unwrap();
    assert_eq!(novelty.is_beyond(&limit), [true]);
}

#[test]
fn limits_hold_for_as_many_training_points_as_they_say() {
    let training = points(200, 3, 0.0);
    for precision in [Precision::F64, Precision::F32] {
        let settings = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(4).precision(precision);
        let model = settings.fit(&training).unwrap();
        let limits = model.record().control_limits.clone().unwrap();
        let novelty = model.novelty(&training).unwrap();
        // In single precision a point on the limit may come out on either side of it.
        let slack = if precision == Precision::F64 { 1e-9 } else { 1e-4 };
        for &level in &limits.levels {
            let limit = limits.at(level).unwrap();
            for (values, bound) in
                [(&novelty.reconstruction_error, limit.reconstruction_error), (&novelty.t_squared, limit.t_squared)]
            {
                let within = values.iter().filter(|&&value| value <= bound * (1.0 + slack) + 1e-12).count();
                let below = values.iter().filter(|&&value| value < bound * (1.0 - slack) - 1e-12).count();
                assert!(within as f64 >= level * 200.0 - 1e-6, "{precision}, {level}: {within} within");
                assert!((below as f64) < level * 200.0, "{precision}, {level}: {below} below");
            }
        }
    }
}

#[test]
fn limits_are_known_only_at_their_levels() {
    let model = KernelPca::new(Kernel::linear()).n_components(1).fit(&points(20, 3, 0.0)).unwrap();
    let limits = model.record().control_limits.as_ref().unwrap();
    assert!(limits.at(0.95).is_some() && limits.at(0.96).is_none());
}

#[test]
fn limits_travel_with_the_file_and_files_without_them_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mercer");
    let model = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).fit(&points(30, 3, 0.0)).unwrap();
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap().record().control_limits, model.record().control_limits);
    // A record as earlier versions wrote it.
    let mut json = serde_json::to_value(model.record()).unwrap();
    assert!(json.as_object_mut().unwrap().remove("control_limits").is_some());
    let old: mercer::RunRecord = serde_json::from_value(json).unwrap();
    assert!(old.control_limits.is_none());
    assert!(!serde_json::to_string(&old).unwrap().contains("control_limits"), "or its digest would change");
}

#[test]
fn a_precomputed_kernel_cannot_tell_novelty_and_says_so() {
    let matrix = Points::from_f64(vec![2.0, 1.0, 0.0, 1.0, 3.0, 1.0, 0.0, 1.0, 2.0], 3, 3).unwrap();
    let model = KernelPca::new(Kernel::Precomputed).n_components(1).fit(&matrix).unwrap();
    assert!(model.record().control_limits.is_none());
    let error = model.novelty(&matrix).unwrap_err().to_string();
    assert!(error.contains("novelty") && error.contains("precomputed"), "{error}");
}

#[test]
fn components_with_negative_eigenvalues_count_with_their_sign() {
    let training = points(30, 2, 0.0);
    let settings = KernelPca::new(Kernel::sigmoid(1.0, 1.0).unwrap()).n_components(30).negative(Negative::Flip);
    let model = settings.fit(&training).unwrap();
    assert!(model.eigenvalues().iter().any(|&value| value < 0.0), "or the test says nothing");
    let novelty = model.novelty(&training).unwrap();
    // All components together reproduce k̃(x, x) exactly, whatever the signs.
    for error in novelty.reconstruction_error {
        assert!(error.abs() < 1e-6, "{error}");
    }
}

#[test]
fn points_of_another_width_or_with_nan_are_refused() {
    let model = KernelPca::new(Kernel::linear()).n_components(1).fit(&points(20, 3, 0.0)).unwrap();
    assert!(model.novelty(&points(5, 2, 0.0)).is_err());
    assert!(model.novelty(&Points::from_f64(vec![0.0, f64::NAN, 1.0], 1, 3).unwrap()).is_err());
}
