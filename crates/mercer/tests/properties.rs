//! Properties of Gram operators on data that nobody chose.

use faer::Mat;
use mercer::data::Moments;
use mercer::gram::Centered;
use mercer::{Kernel, Points, Precision};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::{Random, gaussian_cloud, normal_matrix};
use mercer_testkit::operator::gram;
use mercer_testkit::reference::{assert_close, eigen, largest_entry};
use mercer_testkit::{Cloud, Expected, Format, Textbook, same_bits};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// A kernel, and normal points of some number and dimension.
fn problem() -> impl Strategy<Value = (Textbook, Cloud, u64)> {
    (0..Textbook::ALL.len(), 1_usize..60, 1_usize..8, any::<u64>())
        .prop_map(|(kernel, n, d, seed)| (Textbook::ALL[kernel], gaussian_cloud(n, d, seed), seed))
}

fn dense(textbook: &Textbook, points: &Points, precision: Precision) -> Mat<f64> {
    let n = points.n_samples();
    let operator = gram(precision, points, &textbook.to_kernel(), None).expect("normal numbers are small");
    apply(&*operator, Mat::identity(n, n).as_ref(), 2)
}

proptest! {
    // Seeds of failures are kept beside this file.
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("seeds"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn entries_match_the_textbook_on_any_data((textbook, cloud, _) in problem(), format in 0..3_usize) {
        let points = cloud.points(Format::ALL[format]);
        for precision in [Precision::F32, Precision::F64] {
            let expected = Expected::gram(&textbook, &points, precision);
            expected.check_entries(dense(&textbook, &points, precision).as_ref(), &format!("{textbook:?}"));
        }
    }

    #[test]
    fn permuting_the_points_permutes_the_matrix((textbook, cloud, seed) in problem()) {
        let mut random = Random::new(seed);
        let mut order: Vec<usize> = (0..cloud.n).collect();
        (1..cloud.n).rev().for_each(|i| order.swap(i, (random.bits() % (i as u64 + 1)) as usize));
        let points = cloud.points(Format::F64);
        let permuted = dense(&textbook, &points.select(&order), Precision::F64);
        let plain = dense(&textbook, &points, Precision::F64);
        let expected = Mat::from_fn(cloud.n, cloud.n, |i, j| plain[(order[i], order[j])]);
        // The mean that is taken off is summed up in another order.
        let tolerance = Expected::gram(&textbook, &points.select(&order), Precision::F64).tolerance;
        assert_close(permuted.as_ref(), expected.as_ref(), |i, j| 2.0 * tolerance[(i, j)], "the permuted matrix");
    }

    #[test]
    fn moving_all_points_leaves_kernels_of_distances_alone(
        (textbook, cloud, _) in problem(), shift in -1000_i32..1000,
    ) {
        prop_assume!(textbook.knows_distances_only());
        // Multiples of 2⁻²⁰ move without rounding.
        let near = Cloud::from_fn(cloud.n, cloud.d, |i, k| (cloud.row(i)[k] * 1_048_576.0).round() / 1_048_576.0);
        let far = near.clone().shifted(f64::from(shift));
        let [a, b] = [&near, &far].map(|cloud| dense(&textbook, &cloud.points(Format::F64), Precision::F64));
        let slack = Expected::gram(&textbook, &near.points(Format::F64), Precision::F64).tolerance;
        // The mean of the moved points is rounded at their distance from the origin.
        assert_close(a.as_ref(), b.as_ref(), |i, j| 1e3 * slack[(i, j)], "the matrix of the moved points");
    }

    #[test]
    fn centred_matrices_of_positive_kernels_have_no_negative_eigenvalues((textbook, cloud, _) in problem()) {
        let kernel = textbook.to_kernel();
        prop_assume!(kernel.is_positive_definite());
        let points = cloud.points(Format::F64);
        let operator = gram(Precision::F64, &points, &kernel, None).expect("normal numbers are small");
        let n = cloud.n;
        let centered = apply(&Centered::new(&*operator), Mat::identity(n, n).as_ref(), 1);
        let symmetric = Mat::from_fn(n, n, |i, j| 0.5 * (centered[(i, j)] + centered[(j, i)]));
        let Expected { dense, tolerance, .. } = Expected::gram(&textbook, &points, Precision::F64);
        // An error of δ in every entry moves an eigenvalue by at most n δ.
        let errors = largest_entry(tolerance.as_ref()) + 8.0 * f64::EPSILON * largest_entry(dense.as_ref());
        let lowest = eigen(symmetric.as_ref()).values[n - 1];
        prop_assert!(lowest >= -4.0 * n as f64 * errors, "{textbook:?} has {lowest:e}");
    }

    #[test]
    fn cutting_a_product_into_columns_changes_no_bit((textbook, cloud, seed) in problem(), width in 1_usize..20) {
        let operator = gram(Precision::F32, &cloud.points(Format::F32), &textbook.to_kernel(), None)
            .expect("normal numbers are small");
        let x = normal_matrix(cloud.n, width, seed);
        let whole = apply(&*operator, x.as_ref(), 3);
        for j in 0..width {
            prop_assert!(same_bits(apply(&*operator, x.subcols(j, 1), 1).as_ref(), whole.subcols(j, 1)));
        }
    }

    #[test]
    fn moments_do_not_depend_on_the_blocks_they_are_made_of(n in 1_usize..3000, cut in 0.0..1.0_f64, seed in any::<u64>()) {
        let points = gaussian_cloud(n, 2, seed).points(Format::F64);
        let middle = (cut * n as f64) as usize;
        let mut parts = Moments::of(&points.slice(0..middle));
        parts.add(&Moments::of(&points.slice(middle..n)));
        let whole = Moments::of(&points);
        prop_assert!((parts.variance() - whole.variance()).abs() <= 1e-13 * whole.variance().max(1.0));
        prop_assert!((parts.mean()[1] - whole.mean()[1]).abs() <= 1e-14 * n as f64);
    }
}

#[test]
fn a_linear_kernel_of_one_feature_is_the_outer_product() {
    let points = Points::from_f64(vec![1.0, -2.0, 3.0], 3, 1).expect("three rows");
    let operator = gram(Precision::F64, &points, &Kernel::linear(), None).expect("small numbers");
    let found = apply(&*operator, Mat::identity(3, 3).as_ref(), 1);
    let expected = Mat::from_fn(3, 3, |i, j| [1.0, -2.0, 3.0][i] * [1.0, -2.0, 3.0][j]);
    assert!(same_bits(found.as_ref(), expected.as_ref()));
}
