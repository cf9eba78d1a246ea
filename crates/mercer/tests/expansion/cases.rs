//! Numbers from an independent implementation; see `testdata/reference/README.md`.

use faer::{Mat, MatRef};
use mercer::expansion::{Monomials, TruncationBound, truncated_series};
use mercer::gram::{Centered, SymmetricOperator};
use mercer::{ExpansionMethod, GramChoice, Kernel, KernelPca, KernelProduct, SolverChoice, Watch};
use mercer_testkit::context;
use mercer_testkit::reference::{assert_close, largest_entry};

use crate::support::{array, as_points, expansion};

const CASE: &str = "raykar";

/// Fails unless `found` is the array of that name, to the tolerance of the cases.
#[track_caller]
fn check(name: &str, found: MatRef<'_, f64>) {
    let expected = array(CASE, name);
    let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
    assert_close(found, expected.as_ref(), |_, _| slack, name);
}

fn gaussian() -> Kernel {
    Kernel::gaussian(0.5 / (0.6 * 0.6)).unwrap()
}

#[test]
fn compressed_monomials_are_those_of_the_reference() {
    for (d, points) in [(2, as_points(&array(CASE, "in_X2"))), (3, as_points(&array(CASE, "in_X3")))] {
        let monomials = Monomials::new(d, 4).unwrap();
        for degree in 0..=4 {
            let rows: Vec<Vec<f64>> =
                (0..points.n_samples()).map(|i| monomials.compress(degree, &points.row(i))).collect();
            let found = Mat::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j]);
            check(&format!("out_compress_d{d}_n{degree}"), found.as_ref());
        }
    }
}

#[test]
fn polynomial_products_are_those_of_the_reference() {
    let cases = [("in_X2", 3, 0.5, "out_poly_p3_c05"), ("in_X3", 4, 0.0, "out_poly_p4_c0_d3")];
    for (points, degree, coef0, name) in cases {
        let points = as_points(&array(CASE, points));
        let u = array(CASE, "in_u").subrows(0, points.n_samples()).to_owned();
        let product = KernelProduct::new(Kernel::polynomial(1.0, coef0, degree).unwrap())
            .gram(GramChoice::Expansion)
            .method(ExpansionMethod::Polynomial);
        let (found, record) = product.multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
        check(name, found.as_ref());
        assert_eq!(record.method, "polynomial");
        assert!(record.measured_error <= record.bound && record.bound < Some(1e-13), "{record:?}");
    }
}

#[test]
fn truncated_series_are_those_of_the_reference_and_within_the_bounds() {
    let points = as_points(&array(CASE, "in_X2"));
    let (u, exact) = (array(CASE, "in_u"), array(CASE, "out_gauss_exact"));
    let expected = array(CASE, "out_gauss_v");
    for terms in 1..=12 {
        let found = truncated_series(0.5 / 0.36, &[0.5, 0.5], terms, &points, None, u.as_ref(), &context(2)).unwrap();
        let row = Mat::from_fn(1, found.nrows(), |_, i| found[(i, 0)]);
        let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
        assert_close(row.as_ref(), expected.subrows(terms - 1, 1), |_, _| slack, "out_gauss_v");
        let error = (&found - &exact).norm_max();
        let bound = TruncationBound::Optimal.of(terms, 0.5 / 0.36) * u.col(0).norm_l1();
        assert!(error <= bound, "{terms} terms: {error} exceeds {bound}");
    }
}

#[test]
fn bounds_are_those_of_the_reference() {
    let bounds = [
        ("out_bound_paper", TruncationBound::Printed),
        ("out_bound_tight", TruncationBound::Sharper),
        ("out_bound_optimal", TruncationBound::Optimal),
    ];
    for (name, bound) in bounds {
        let found = Mat::from_fn(12, 1, |i, _| bound.of(i + 1, 0.5 / 0.36));
        check(name, found.as_ref());
    }
}

#[test]
fn numbers_of_terms_are_those_of_the_reference() {
    let case = "raykar_truncation";
    let grid = array(case, "in_grid");
    let bounds = [
        ("out_p_paper", TruncationBound::Printed),
        ("out_p_tight", TruncationBound::Sharper),
        ("out_p_optimal", TruncationBound::Optimal),
    ];
    for (name, bound) in bounds {
        let expected = array(case, name);
        for row in 0..grid.nrows() {
            let (n, sigma) = (grid[(row, 0)], grid[(row, 1)]);
            let terms = bound.terms(0.5 / (sigma * sigma), n, 1e-6);
            assert_eq!(terms, Some(expected[(row, 0)] as usize), "{name}, N = {n}, sigma = {sigma}");
        }
    }
}

#[test]
fn lanczos_over_an_expansion_takes_the_steps_of_the_reference() {
    let points = as_points(&array(CASE, "in_X2"));
    let operator = expansion(&gaussian(), &points, ExpansionMethod::Series, 1e-13);
    let centered = Centered::new(&operator);
    let start = array(CASE, "in_v1");
    let mut basis = vec![&start / start.norm_l2()];
    let (mut alpha, mut beta) = (Vec::new(), Vec::new());
    for step in 0..8 {
        let mut image = Mat::zeros(40, 1);
        centered.apply(basis[step].as_ref(), image.as_mut(), &context(1)).unwrap();
        alpha.push((basis[step].transpose() * &image)[(0, 0)]);
        for _ in 0..2 {
            for v in &basis {
                let along = (v.transpose() * &image)[(0, 0)];
                image -= v * faer::Scale(along);
            }
        }
        beta.push(image.norm_l2());
        basis.push(&image / image.norm_l2());
    }
    check("out_lanczos_alpha", Mat::from_fn(8, 1, |i, _| alpha[i]).as_ref());
    check("out_lanczos_beta", Mat::from_fn(7, 1, |i, _| beta[i]).as_ref());
}

#[test]
fn eigenvalues_of_fits_over_an_expansion_are_those_of_the_reference() {
    let points = as_points(&array(CASE, "in_X2"));
    for solver in [SolverChoice::Lanczos, SolverChoice::Krylov, SolverChoice::Dense, SolverChoice::Auto] {
        let pca =
            KernelPca::new(gaussian()).n_components(4).gram(GramChoice::Expansion).solver(solver).tolerance(1e-10);
        let model = pca.fit(&points).unwrap();
        let found = Mat::from_fn(4, 1, |i, _| model.eigenvalues()[i]);
        check("out_fast_lam", found.as_ref());
    }
}
