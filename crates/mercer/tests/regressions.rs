//! One test per bug, named after its symptom.
#![allow(clippy::unwrap_used)]

use faer::Mat;
use mercer::gram::{Centered, EntryAccess, KernelGram, Store, StoreFormat, SymmetricOperator};
use mercer::kernel::{PairFunction, Pairing};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{Center, Kernel, KernelPca, Points, SolverChoice};

fn points(n: usize, d: usize) -> Points {
    Points::from_f64((0..n * d).map(|i| ((i * 37) % 101) as f64 / 10.0).collect::<Vec<_>>(), n, d).unwrap()
}

fn product(gram: &dyn SymmetricOperator) -> Vec<f64> {
    let (threads, watch) = (Threads::new(2).unwrap(), Watch::new());
    let mut out = Mat::zeros(gram.dim(), 1);
    let ones = Mat::full(gram.dim(), 1, 1.0);
    gram.apply(ones.as_ref(), out.as_mut(), &Context::new(&threads, &watch, Phase::Solving)).unwrap();
    out.col(0).iter().copied().collect()
}

#[test]
fn two_products_at_once_fill_one_store_without_disturbing_each_other() {
    for format in [StoreFormat::Full, StoreFormat::Fixed16] {
        let data = points(600, 3);
        let store = Store { budget: 1 << 30, format };
        let kernel = Kernel::gaussian(0.1).unwrap();
        let alone = product(&KernelGram::<f32>::new(&data, &kernel, Some(store)).unwrap());
        let gram = KernelGram::<f32>::new(&data, &kernel, Some(store)).unwrap();
        let results: Vec<Vec<f64>> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| product(&gram))).collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert!(results.iter().all(|result| *result == alone), "{format:?}");
    }
}

#[test]
fn a_kernel_that_panics_does_not_hang_the_run() {
    let kernel = Kernel::custom(PairFunction::new("fragile", |x: &[f64], y: &[f64]| {
        assert!(x[0] < 9.0, "broken");
        x[0] * y[0]
    }));
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        product(&KernelGram::<f64>::new(&points(400, 2), &kernel, None).unwrap());
    }));
    assert!(outcome.is_err());
}

#[test]
fn no_points_can_have_a_store() {
    let store = Store { budget: 1000, format: StoreFormat::Full };
    let gram = KernelGram::<f64>::new(&points(0, 2), &Kernel::linear(), Some(store)).unwrap();
    assert!(product(&gram).is_empty());
}

#[test]
fn fixed_point_is_refused_for_kernels_with_other_values() {
    let store = Store { budget: 1 << 20, format: StoreFormat::Fixed16 };
    let error = KernelGram::<f32>::new(&points(3, 1), &Kernel::linear(), Some(store)).err().unwrap().to_string();
    let expected =
        "keeping tiles in fixed point does not work with the linear kernel: its values are not between 0 and 1";
    assert_eq!(error, expected);
}

#[test]
fn a_precomputed_operator_must_be_square() {
    let error = KernelGram::<f64>::new(&points(3, 2), &Kernel::Precomputed, None).err().unwrap().to_string();
    assert_eq!(error, "the precomputed matrix must be square, but it has 3 rows and 2 columns");
}

#[test]
fn tiles_on_and_off_the_diagonal_read_a_crooked_precomputed_matrix_alike() {
    let n = 130;
    let straight = |i: usize, j: usize| (-((i as f64 - j as f64) / 20.0).powi(2)).exp();
    let fit = |crook: f64| {
        // A power of two, so that the mean of an entry and its mirror image is exact.
        let value =
            |i: usize, j: usize| straight(i, j) + if j > i { crook } else { 0.0 } - if j < i { crook } else { 0.0 };
        let matrix: Vec<f64> = (0..n * n).map(|e| value(e / n, e % n)).collect();
        let data = Points::from_f64(matrix, n, n).unwrap();
        KernelPca::new(Kernel::Precomputed).n_components(3).center(Center::No).fit(&data).unwrap().training_scores()
    };
    assert!((fit(0.25) - fit(0.0)).norm_max() < 1e-12, "{}", (fit(0.25) - fit(0.0)).norm_max());
}

#[test]
fn a_shape_beyond_all_numbers_has_a_message() {
    let error = Points::from_f64(Vec::new(), usize::MAX, 2).unwrap_err().to_string();
    assert!(error.starts_with("18446744073709551615 rows of 2 columns need 36893488147419103230 values"), "{error}");
}

#[test]
fn the_cosine_of_huge_points_is_not_lost_to_overflow() {
    let (x, y) = ([3e200, 4e200], [1e-200, 0.0]);
    assert!((Pairing::Cosine.of(&x, &y) - 0.6).abs() < 1e-15);
    let data = Points::from_f64(vec![3e200, 4e200, 1e-200, 0.0], 2, 2).unwrap();
    let gram = KernelGram::<f64>::new(&data, &Kernel::cosine(), None).unwrap();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let mut row = Mat::zeros(1, 2);
    gram.rows(&[0], row.as_mut(), &Context::new(&threads, &watch, Phase::Solving)).unwrap();
    assert!((row[(0, 1)] - 0.6).abs() < 1e-15, "{}", row[(0, 1)]);
}

/// Points whose kernel with a width of 1e-5 differs from one in the fifth digit.
fn nearly_equal(n: usize) -> Vec<f32> {
    (0..3 * n).map(|i| ((i * 7919 % 1009) as f32 / 1009.0 - 0.5) * 6.0).collect()
}

#[test]
fn the_dense_solver_called_a_wide_kernel_in_single_precision_not_converged() {
    let n = 300;
    let single = Points::from_f32(nearly_equal(n), n, 3).unwrap();
    let double = Points::from_f64(nearly_equal(n).into_iter().map(f64::from).collect::<Vec<_>>(), n, 3).unwrap();
    let settings = KernelPca::new(Kernel::gaussian(1e-5).unwrap()).n_components(4).solver(SolverChoice::Dense);
    let (found, exact) = (settings.fit(&single).unwrap(), settings.fit(&double).unwrap());
    assert!(found.converged(), "{:?}", found.residuals());
    // Each entry is rounded by half a unit in the last place of one, which moves no eigenvalue by more than n times that.
    let rounding = n as f64 * f64::from(f32::EPSILON) / 2.0;
    for (a, b) in found.eigenvalues().iter().zip(exact.eigenvalues()) {
        assert!((a - b).abs() <= rounding, "{a} and {b}");
    }
}

#[test]
fn a_centred_matrix_from_entries_is_that_of_products_and_as_symmetric_as_the_entries() {
    let n = 40;
    let points = Points::from_f64(nearly_equal(n).into_iter().map(f64::from).collect::<Vec<_>>(), n, 3).unwrap();
    let gram = KernelGram::<f64>::new(&points, &Kernel::gaussian(0.3).unwrap(), None).unwrap();
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let context = Context::new(&threads, &watch, Phase::Solving);
    let centered = Centered::new(&gram);
    let (entries, matrix) = (gram.to_dense(&context).unwrap(), centered.to_dense(&context).unwrap());
    let sums = centered.row_sums().unwrap().to_vec();
    let mut products = Mat::zeros(n, n);
    Centered::new(&gram).apply(Mat::identity(n, n).as_ref(), products.as_mut(), &context).unwrap();
    // Sums of n numbers of at most one.
    let rounding = 4.0 * n as f64 * f64::EPSILON;
    assert!((&matrix - &products).norm_max() <= rounding);
    for j in 0..n {
        assert!(matrix.col(j).iter().sum::<f64>().abs() <= n as f64 * rounding, "column {j}");
        for i in (0..j).filter(|&i| entries[(i, j)].to_bits() == entries[(j, i)].to_bits()) {
            assert_eq!(matrix[(i, j)].to_bits(), matrix[(j, i)].to_bits(), "row {i}, column {j}");
        }
    }
    assert_eq!(sums.len(), n, "what new points are centred with is known, too");
}
