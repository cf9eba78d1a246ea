//! What bad input gets: the exact message, and no panic.
#![allow(clippy::unwrap_used)]

use mercer::kernel::{KernelSpec, Width};
use mercer::{ErrorKind, GramChoice, Kernel, KernelPca, MemoryBudget, Points, Precision, SolverChoice};

fn grid(n: usize) -> Points {
    Points::from_f64((0..2 * n).map(|i| ((i * 37) % 101) as f64 / 10.0).collect::<Vec<_>>(), n, 2).unwrap()
}

fn pca() -> KernelPca {
    KernelPca::new(Kernel::gaussian(0.1).unwrap())
}

#[track_caller]
fn message(result: mercer::Result<impl std::fmt::Debug>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn no_rows_and_one_row_are_too_few() {
    assert_eq!(message(pca().fit(&grid(0))), "kernel PCA needs at least 2 rows, but there are 0");
    assert_eq!(message(pca().fit(&grid(1))), "kernel PCA needs at least 2 rows, but there is 1");
}

#[test]
fn two_rows_have_one_component() {
    for solver in SolverChoice::NAMES {
        let model = pca().n_components(2).solver(solver.parse().unwrap()).fit(&grid(2)).unwrap();
        assert_eq!(model.n_components(), 1, "{solver}");
        assert_eq!(
            model.record().warnings,
            ["1 of 2 components are returned: the other eigenvalues cannot be told from rounding in f64"],
            "{solver}"
        );
    }
}

#[test]
fn no_columns_are_refused() {
    assert_eq!(message(Points::from_f64(Vec::new(), 3, 0)), "the data has 3 rows but no columns");
}

#[test]
fn a_shape_that_does_not_fit_the_values_is_refused() {
    assert_eq!(message(Points::from_f32(vec![0.0; 7], 2, 4)), "2 rows of 4 columns need 8 values, but there are 7");
}

#[test]
fn too_many_or_no_components_are_refused_before_any_work() {
    let expected = |k| format!("`n_components` must be between 1 and the number of samples (4), but it is {k}");
    assert_eq!(message(pca().n_components(5).fit(&grid(4))), expected(5));
    assert_eq!(message(pca().n_components(0).fit(&grid(4))), expected(0));
}

#[test]
fn settings_outside_their_domain_are_refused() {
    let data = grid(10);
    assert_eq!(
        message(pca().variance(0.0).fit(&data)),
        "`variance` must be a share above 0 and at most 1, but it is 0"
    );
    assert_eq!(
        message(pca().variance(1.5).fit(&data)),
        "`variance` must be a share above 0 and at most 1, but it is 1.5"
    );
    assert_eq!(message(pca().tolerance(0.0).fit(&data)), "`tolerance` must be between 0 and 1, but it is 0");
    assert_eq!(message(pca().max_passes(0).fit(&data)), "`max_passes` must be at least 1, but it is 0");
    assert_eq!(message(pca().threads(0).fit(&data)), "`threads` must be at least 1, but it is 0");
    assert_eq!(message(pca().threads(100_000).fit(&data)), "`threads` must be at most 1024, but it is 100000");
}

#[test]
fn parameters_of_kernels_outside_their_domain_are_refused() {
    assert_eq!(message(Kernel::gaussian(0.0)), "`gamma` must be a positive number, but it is 0");
    assert_eq!(message(Kernel::laplacian(-1.0)), "`gamma` must be a positive number, but it is -1");
    assert_eq!(message(Kernel::gaussian(f64::NAN)), "`gamma` must be a positive number, but it is NaN");
    assert_eq!(message(Kernel::polynomial(1.0, 1.0, 0)), "`degree` must be at least 1, but it is 0");
    let spec = KernelSpec::new("gaussian").width(Width::Bandwidth(-2.0));
    assert_eq!(message(KernelPca::new(spec).fit(&grid(5))), "`bandwidth` must be a positive number, but it is -2");
}

#[test]
fn values_that_are_not_finite_are_found_with_their_place() {
    for value in [f64::NAN, f64::INFINITY] {
        let mut values = vec![0.5; 30];
        values[17] = value;
        let data = Points::from_f64(values, 10, 3).unwrap();
        let expected = format!("row 5, column 2 is {value}; kernels need finite numbers");
        assert_eq!(message(pca().fit(&data)), expected);
        let model = KernelPca::new(Kernel::linear())
            .fit(&Points::from_f64((0..30).map(f64::from).collect::<Vec<_>>(), 10, 3).unwrap())
            .unwrap();
        assert_eq!(message(model.transform(&data)), expected);
    }
}

#[test]
fn new_points_of_another_width_are_refused() {
    let model = pca().fit(&grid(10)).unwrap();
    let wide = Points::from_f64(vec![0.0; 6], 2, 3).unwrap();
    assert_eq!(message(model.transform(&wide)), "the data has 3 columns, but the model was fitted on 2");
}

#[test]
fn a_precomputed_matrix_must_be_square() {
    let data = Points::from_f64(vec![1.0; 12], 3, 4).unwrap();
    let error = message(KernelPca::new(Kernel::Precomputed).fit(&data));
    assert_eq!(error, "the precomputed matrix must be square, but it has 3 rows and 4 columns");
}

#[test]
fn points_that_are_all_equal_have_no_variance() {
    for solver in ["dense", "krylov"] {
        for precision in [mercer::Precision::F32, mercer::Precision::F64] {
            let data = Points::from_f64(vec![0.1; 40], 20, 2).unwrap();
            let error = message(pca().solver(solver.parse().unwrap()).precision(precision).fit(&data));
            assert_eq!(error, "all 20 rows are equal to the kernel: there is no variance to explain");
        }
    }
}

#[test]
fn constant_columns_change_nothing_for_a_gaussian_kernel() {
    let plain = grid(30);
    let padded: Vec<f64> = (0..30).flat_map(|i| [plain.row(i)[0], 7.0, plain.row(i)[1]]).collect();
    let a = pca().n_components(3).fit(&plain).unwrap();
    let b = pca().n_components(3).fit(&Points::from_f64(padded, 30, 3).unwrap()).unwrap();
    assert!((a.training_scores() - b.training_scores()).norm_max() < 1e-9);
}

#[test]
fn repeated_points_give_as_many_components_as_there_are_different_ones() {
    // Five places, each taken twelve times: four directions after centring.
    for precision in [mercer::Precision::F32, mercer::Precision::F64] {
        let values: Vec<f64> = (0..60).flat_map(|i| [f64::from(i % 5), f64::from((i % 5) * (i % 5))]).collect();
        let data = Points::from_f64(values, 60, 2).unwrap();
        for solver in ["dense", "krylov", "lanczos"] {
            let model = pca().n_components(10).precision(precision).solver(solver.parse().unwrap()).fit(&data).unwrap();
            assert_eq!(model.n_components(), 4, "{solver} in {precision}: {:?}", model.eigenvalues());
            assert!(model.record().warnings[0].starts_with("4 of 10 components are returned"), "{solver}");
        }
    }
}

#[test]
fn huge_and_tiny_scales_are_fitted_or_refused_but_never_turn_into_nan() {
    for exponent in [-30, -10, 10, 30] {
        let scale = 10.0_f32.powi(exponent);
        let values: Vec<f32> = (0..80).map(|i| ((i * 37) % 101) as f32 * scale).collect();
        let data = Points::from_f32(values, 40, 2).unwrap();
        for spec in
            [KernelSpec::new("gaussian").width(Width::Scale), KernelSpec::new("linear"), KernelSpec::new("cosine")]
        {
            match KernelPca::new(spec).n_components(2).fit(&data) {
                Ok(model) => assert!(model.eigenvalues().iter().all(|x| x.is_finite() && *x > 0.0), "1e{exponent}"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "1e{exponent}: {error}"),
            }
        }
    }
}

#[test]
fn kernel_values_that_are_too_small_are_not_called_too_large() {
    let told = |scale: f64| {
        let values: Vec<f64> = (0..120).map(|i| scale * f64::from((i * 37) % 101)).collect();
        let points = Points::from_f64(values, 60, 2).unwrap();
        message(KernelPca::new(Kernel::linear()).n_components(2).fit(&points))
    };
    let start = "the linear kernel of each of the 60 rows with itself is at most ";
    let end = ", and f64 cannot hold squares of such values to all digits; scale the data, or use a larger gamma";
    assert!(told(1e-157).starts_with(start) && told(1e-157).ends_with(end), "{}", told(1e-157));
    // Nor are the rows called equal.
    let vanished = "the linear kernel of each of the 60 rows with itself underflows to zero, and the rows are not all zero; scale the data, or \
                    use a larger gamma";
    assert_eq!(told(1e-170), vanished);
}

#[test]
fn a_point_beyond_the_range_of_the_precision_is_named() {
    let mut values = vec![0.0_f32; 40];
    values[12] = 1e30;
    let data = Points::from_f32(values, 20, 2).unwrap();
    let gaussian = KernelPca::new(Kernel::gaussian(1.0).unwrap()).n_components(1);
    // Nobody has asked for single precision: in double it is not.
    let model = gaussian.fit(&data).unwrap();
    assert_eq!(model.record().precision, Precision::F64);
    assert!((model.eigenvalues()[0] - 1.9).abs() < 1e-12, "{:?}", model.eigenvalues());
    let error = message(gaussian.precision(Precision::F32).fit(&data));
    assert_eq!(
        error,
        "row 6 is too large for the kernel's width: its squared distance or inner product overflows f32; scale the data, or \
         use a smaller gamma"
    );
}

/// Does what the message of a fit within too small a budget advises, and gives back whether that fits.
fn advice_helps(pca: &KernelPca, budget: MemoryBudget, (n, d): (usize, usize)) -> bool {
    let plan = |pca: KernelPca, budget| pca.memory(budget).plan_shape(n, d, Precision::F64);
    let error = plan(pca.clone(), budget).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OverBudget);
    let text = error.to_string();
    let advice = text.rsplit("; ").next().unwrap();
    if let Some(size) = advice.strip_prefix("a budget of ").and_then(|rest| rest.strip_suffix(" would do")) {
        let enough: MemoryBudget = size.replace(' ', "").parse().unwrap();
        return plan(pca.clone(), enough).is_ok();
    }
    let fitting: usize = advice.split(' ').next().unwrap().parse().unwrap();
    assert!(advice.ends_with(if fitting == 1 { " component would fit" } else { " components would fit" }), "{advice}");
    plan(pca.clone().n_components(fitting), budget).is_ok()
        && plan(pca.clone().n_components(fitting + 1), budget).is_err()
}

#[test]
fn a_budget_that_is_too_small_says_what_would_fit() {
    let data = Points::from_f32(vec![0.5; 20_000 * 10], 20_000, 10).unwrap();
    let budget: MemoryBudget = "40MB".parse().unwrap();
    let error = pca().n_components(200).memory(budget).fit(&data).unwrap_err();
    let text = error.to_string();
    assert_eq!(
        text,
        "a fit of 20000 points with 200 components needs 211.8 MiB, but the memory budget is 38.1 MiB; 19 components would fit"
    );
    assert!(advice_helps(&pca().n_components(200), budget, (20_000, 10)));
}

#[test]
fn a_budget_too_small_for_anything_names_one_that_would_do() {
    let data = Points::from_f32(vec![0.5; 20_000 * 10], 20_000, 10).unwrap();
    let error = message(pca().n_components(1).gram(GramChoice::Tiled).memory(MemoryBudget::Bytes(1000)).plan(&data));
    assert_eq!(
        error,
        "a fit of 20000 points with 1 component needs 27.9 MiB, but the memory budget is 1000 B; a budget of 27.9 MiB would do"
    );
}

#[test]
fn what_a_refusal_advises_fits_whatever_the_shape_and_the_solver() {
    for (n, d) in [(100, 4), (150, 30), (700, 3), (3000, 40), (20_000, 10)] {
        for solver in SolverChoice::NAMES {
            for k in [2, 5, 7, 40, 90] {
                let pca = pca().n_components(k).solver(solver.parse().unwrap());
                for budget in [1000, 100_000, 400_000, 3_000_000, 40_000_000] {
                    let budget = MemoryBudget::Bytes(budget);
                    if pca.clone().memory(budget).plan_shape(n, d, Precision::F64).is_err() {
                        assert!(advice_helps(&pca, budget, (n, d)), "{n} x {d}, {k} by {solver} within {budget:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_that_differ_by_less_than_rounding_are_not_called_equal() {
    let far: Vec<f32> = (0..400).map(|i| 1e6 + ((i * 37) % 101) as f32 / 10.0).collect();
    let data = Points::from_f32(far.clone(), 200, 2).unwrap();
    let linear = KernelPca::new(Kernel::linear()).n_components(1);
    // Nobody has asked for single precision.
    let near: Vec<f64> = far.iter().map(|x| f64::from(*x) - 1e6).collect();
    let (found, expected) = (linear.fit(&data).unwrap(), linear.fit(&Points::from_f64(near, 200, 2).unwrap()).unwrap());
    assert_eq!(found.record().precision, Precision::F64);
    assert!((found.eigenvalues()[0] / expected.eigenvalues()[0] - 1.0).abs() < 1e-5);
    assert_eq!(
        message(linear.precision(Precision::F32).fit(&data)),
        "to the kernel all 200 rows are equal but for rounding in f32, so there is no variance that could be told from it; precision f64 \
         may tell it"
    );
    let farther = Points::from_f64(far.iter().map(|x| f64::from(*x) + 1e12).collect::<Vec<_>>(), 200, 2).unwrap();
    assert_eq!(
        message(KernelPca::new(Kernel::linear()).n_components(1).fit(&farther)),
        "to the kernel all 200 rows are equal but for rounding in f64, so there is no variance that could be told from it; subtract the \
         mean of each column first"
    );
}

#[test]
fn names_that_do_not_exist_come_with_those_that_do() {
    let error = message("tield".parse::<GramChoice>());
    assert_eq!(error, "`gram` must be one of auto, tiled, stored, expansion, but it is \"tield\"");
    let error = message("4XB".parse::<MemoryBudget>());
    assert_eq!(
        error,
        "`memory` must be \"auto\", a share such as 50%, or a size such as 500MB or 4GiB, but it is \"4XB\""
    );
    let error = message(KernelPca::new(KernelSpec::new("gausian")).fit(&grid(5)));
    assert_eq!(
        error,
        "`kernel` must be one of linear, polynomial, gaussian, laplacian, exponential, matern32, matern52, rational-quadratic, \
         epanechnikov, cosine, sigmoid, precomputed, but it is gausian"
    );
}

#[test]
fn an_answer_with_fewer_components_than_asked_for_is_not_called_converged() {
    let values: Vec<f64> = (0..2400).map(|i| f64::from((i * 37) % 1009) / 100.0).collect();
    let data = Points::from_f64(values, 1200, 2).unwrap();
    let pca = KernelPca::new(Kernel::gaussian(30.0).unwrap()).n_components(60).solver(SolverChoice::Lanczos);
    let model = pca.max_passes(5).fit(&data).unwrap();
    assert!(model.n_components() < 60 && !model.converged());
    let warnings = model.record().warnings.join("; ");
    assert!(warnings.contains(" of 60 components converged"), "{warnings}");
    assert_eq!(model.require_converged().unwrap_err().kind(), ErrorKind::NotConverged);
}

#[test]
fn bytes_beyond_the_range_of_the_kernel_are_refused() {
    let data = Points::from_u8((0..40).map(|i| (i * 7 % 256) as u8).collect::<Vec<_>>(), 20, 2, 1.0).unwrap();
    let error = message(KernelPca::new(Kernel::gaussian(1e40).unwrap()).precision(Precision::F32).fit(&data));
    assert_eq!(
        error,
        "row 0 is too large for the kernel's width: its squared distance or inner product overflows f32; scale the data, or \
         use a smaller gamma"
    );
}

#[test]
fn a_tolerance_below_rounding_is_raised_and_said_so() {
    let data = Points::from_f32((0..1400).map(|i| ((i * 37) % 101) as f32 / 10.0).collect::<Vec<_>>(), 700, 2).unwrap();
    let model = pca().precision(Precision::F32).tolerance(1e-12).fit(&data).unwrap();
    assert_eq!(model.record().warnings[0], "tolerance 1.0e-12 is below the rounding of f32; 9.5e-7 is used");
    // Where nobody insists on single precision, the tolerance decides.
    let model = pca().tolerance(1e-12).fit(&data).unwrap();
    assert_eq!((model.precision(), model.record().warnings.len()), (Precision::F64, 0));
    let reason = "double precision, because single precision cannot tell residuals of 1.0e-12";
    assert_eq!(model.record().plan.reasons.last().map(String::as_str), Some(reason));
    assert_eq!(pca().tolerance(1e-4).fit(&data).unwrap().precision(), Precision::F32);
}
