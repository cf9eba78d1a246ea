//! Centring in feature space, and counting.

use faer::Mat;
use mercer::gram::{Centered, Centering, Counted, EntryAccess, SymmetricOperator};
use mercer::{Kernel, Precision};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::{gaussian_cloud, normal_matrix};
use mercer_testkit::operator::gram;
use mercer_testkit::reference::{assert_close, center, largest_entry};
use mercer_testkit::{Expected, Format, Textbook, check_symmetric_operator, context};

use super::SETUPS;

#[test]
fn centring_is_double_centring_of_the_matrix() {
    for n in [1, 2, 3, 49, 110] {
        for (format, precision) in SETUPS {
            let points = gaussian_cloud(n, 4, 1).points(format);
            for textbook in &Textbook::ALL {
                let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
                let expected = Expected::gram(textbook, &points, precision);
                // Rounding happens before centring cancels, and H comes in from either side with absolute sums of 2.
                let found = check_symmetric_operator(&Centered::new(&*operator), 4.0 * expected.one_rounding());
                let sums = (n as f64 + 4.0) * expected.one_rounding();
                let slack = 4.0 * (largest_entry(expected.tolerance.as_ref()) + sums);
                let what = format!("centred {textbook:?} of {points:?} in {precision}");
                assert_close(found.as_ref(), center(expected.dense.as_ref()).as_ref(), |_, _| slack, &what);
            }
        }
    }
}

#[test]
fn centring_annihilates_constants_and_leaves_columns_that_sum_to_zero() {
    let n = 200;
    for (format, precision) in SETUPS {
        let points = gaussian_cloud(n, 4, 2).points(format);
        for textbook in &Textbook::ALL {
            let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
            let centered = Centered::new(&*operator);
            let y = apply(&centered, normal_matrix(n, 2, 3).as_ref(), 2);
            // Both happen in double precision, whatever the tiles are in: n roundings of sums of n entries.
            let size = n as f64 * largest_entry(Expected::gram(textbook, &points, precision).dense.as_ref());
            let slack = 8.0 * n as f64 * f64::EPSILON * size;
            for j in 0..2 {
                let sum: f64 = (0..n).map(|i| y[(i, j)]).sum();
                assert!(sum.abs() <= slack * 4.0, "{textbook:?}: a column sums to {sum:e}");
            }
            let constant = apply(&centered, Mat::full(n, 1, 3.0).as_ref(), 2);
            let left = largest_entry(constant.as_ref());
            assert!(left <= slack, "{textbook:?}: {left:e} is left of a constant");
        }
    }
}

#[test]
fn centring_twice_is_centring_once() {
    let n = 90;
    let points = gaussian_cloud(n, 3, 4).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.5).unwrap(), None).unwrap();
    let once = Centered::new(&*operator);
    let twice = Centered::new(&once);
    let x = normal_matrix(n, 3, 5);
    let slack = n as f64 * n as f64 * f64::EPSILON;
    assert_close(
        apply(&twice, x.as_ref(), 1).as_ref(),
        apply(&once, x.as_ref(), 1).as_ref(),
        |_, _| slack,
        "centred twice",
    );
}

#[test]
fn centring_terms_cost_no_product_of_their_own() {
    let n = 60;
    let points = gaussian_cloud(n, 3, 6).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.5).unwrap(), None).unwrap();
    let counted = Counted::new(&*operator);
    let centered = Centered::new(&counted);
    apply(&centered, normal_matrix(n, 4, 7).as_ref(), 2);
    assert_eq!((counted.passes(), counted.products()), (1, 4 + 1), "the first product carries the ones along");
    let Centering { column_means, mean, .. } = centered.centering(&context(1)).unwrap();
    assert_eq!(counted.passes(), 1, "the terms are known from the first product");
    apply(&centered, normal_matrix(n, 4, 8).as_ref(), 2);
    assert_eq!((counted.passes(), counted.products()), (2, 9), "later products carry nothing along");

    let dense = Expected::gram(&Textbook::Gaussian { gamma: 0.5 }, &points, Precision::F64).dense;
    let slack = n as f64 * f64::EPSILON;
    for (j, found) in column_means.iter().enumerate() {
        let expected = (0..n).map(|i| dense[(i, j)]).sum::<f64>() / n as f64;
        assert!((found - expected).abs() <= slack, "mean of column {j}");
    }
    let expected = column_means.iter().sum::<f64>() / n as f64;
    assert!((mean - expected).abs() <= slack);
}

#[test]
fn centring_terms_asked_for_first_cost_one_product_and_are_used_by_the_next() {
    let n = 40;
    let points = gaussian_cloud(n, 3, 9).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.5).unwrap(), None).unwrap();
    let counted = Counted::new(&*operator);
    let centered = Centered::new(&counted);
    let before = centered.centering(&context(1)).unwrap();
    assert_eq!((counted.passes(), counted.products()), (1, 1));
    apply(&centered, normal_matrix(n, 2, 10).as_ref(), 1);
    assert_eq!((counted.passes(), counted.products()), (2, 3));
    assert_eq!(centered.centering(&context(1)).unwrap(), before);
}

#[test]
fn counting_counts_and_changes_nothing() {
    let n = 30;
    let points = gaussian_cloud(n, 3, 11).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.5).unwrap(), None).unwrap();
    let counted = Counted::new(&*operator);
    assert_eq!((counted.passes(), counted.products(), counted.entries()), (0, 0, 0));
    let x = normal_matrix(n, 3, 12);
    let through = apply(&counted, x.as_ref(), 1);
    assert!(mercer_testkit::same_bits(through.as_ref(), apply(&*operator, x.as_ref(), 1).as_ref()));
    assert_eq!(counted.diagonal().unwrap(), operator.diagonal().unwrap());
    counted.rows(&[1, 2], Mat::zeros(2, n).as_mut(), &context(1)).unwrap();
    assert_eq!((counted.passes(), counted.products(), counted.entries()), (1, 3, n + 2 * n));
    assert_eq!(SymmetricOperator::dim(&counted), n);
}

#[test]
fn a_product_that_was_stopped_leaves_no_half_made_centring_terms() {
    let n = 50;
    let points = gaussian_cloud(n, 3, 13).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.5).unwrap(), None).unwrap();
    let centered = Centered::new(&*operator);
    let stop = std::sync::atomic::AtomicBool::new(true);
    let watch = mercer::Watch::new().interrupt(&stop);
    let stopped = mercer::watch::Context::new(context(1).threads, &watch, mercer::watch::Phase::Solving);
    let x = normal_matrix(n, 2, 14);
    assert!(centered.apply(x.as_ref(), Mat::zeros(n, 2).as_mut(), &stopped).is_err());
    assert!(centered.centering(&stopped).is_err());
    let fresh = Centered::new(&*operator);
    let [after, expected] = [&centered, &fresh].map(|operator| apply(operator, x.as_ref(), 1));
    assert!(mercer_testkit::same_bits(after.as_ref(), expected.as_ref()));
}
