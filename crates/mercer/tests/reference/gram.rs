//! Gram matrices, plain and centred.

use faer::Mat;
use mercer::Precision;
use mercer::gram::{Centered, slab_product};
use mercer_testkit::contract::apply;
use mercer_testkit::operator::gram;
use mercer_testkit::reference::{center_queries, kernel_pca};
use mercer_testkit::{context, reference};

use crate::case::Case;

#[test]
fn gram_matrices_are_those_of_the_reference() {
    for case in Case::all() {
        let points = case.points("in_X");
        let operator = gram(Precision::F64, &points, &case.kernel, None).unwrap();
        let unit = Mat::<f64>::identity(points.n_samples(), points.n_samples());
        case.check("out_K", apply(&*operator, unit.as_ref(), 2).as_ref());
        case.check("out_Kc", apply(&Centered::new(&*operator), unit.as_ref(), 2).as_ref());
    }
}

#[test]
fn kernel_rows_of_new_points_centred_with_the_operators_terms_are_those_of_the_reference() {
    for case in Case::all() {
        let (points, queries) = (case.points("in_X"), case.points("in_Xtest"));
        let n = points.n_samples();
        let unit = Mat::<f64>::identity(n, n);
        let precision = Precision::F64;
        let rows = slab_product(&case.kernel, &queries, &points, unit.as_ref(), precision, &context(2)).unwrap();
        let operator = gram(precision, &points, &case.kernel, None).unwrap();
        let terms = Centered::new(&*operator).centering(&context(1)).unwrap();
        let centered = Mat::from_fn(rows.nrows(), n, |i, j| {
            let row_mean = (0..n).map(|k| rows[(i, k)]).sum::<f64>() / n as f64;
            rows[(i, j)] - row_mean - terms.column_means[j] + terms.mean
        });
        case.check("out_Ktest_c", centered.as_ref());
    }
}

#[test]
fn the_testkits_own_kernel_pca_is_that_of_the_reference() {
    for case in Case::all() {
        let gram = case.array("out_K");
        let (lambda, v) = (case.array("out_lam"), case.array("out_V"));
        let found = kernel_pca(gram.as_ref(), lambda.nrows());
        case.check("out_lam", Mat::from_fn(lambda.nrows(), 1, |i, _| found.eigenvalues[i]).as_ref());
        assert!(reference::sines_of_angles(found.eigenvectors.as_ref(), v.as_ref())[0] < 1e-8, "{}", case.name);
        // Scores up to the signs of the directions.
        let stored = case.array("out_proj_test");
        let rows = case.array("out_Ktest_c");
        let scores = found.transform(rows.as_ref());
        let signed = Mat::from_fn(scores.nrows(), scores.ncols(), |i, j| {
            scores[(i, j)] * (scores[(0, j)] * stored[(0, j)]).signum()
        });
        case.check("out_proj_test", signed.as_ref());
        case.check("out_Kc", center_queries(gram.as_ref(), gram.as_ref()).as_ref());
    }
}
