//! Kernels by hand, and what they claim of themselves. Derivatives and definiteness of all of them are in the kernel contract.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]
#![allow(clippy::unwrap_used, reason = "the parameters are in their domain")]

mod far;
mod spec;

use mercer_testkit::generate::grid;
use mercer_testkit::reference::eigen;
use mercer_testkit::{Cloud, Textbook, to_kernel};

use super::*;

fn gram(kernel: &Kernel, cloud: &Cloud) -> faer::Mat<f64> {
    faer::Mat::from_fn(cloud.n, cloud.n, |i, j| kernel.evaluate(cloud.row(i), cloud.row(j)).unwrap())
}

#[test]
fn every_kernel_has_its_hand_computed_value_off_the_diagonal() {
    // x = (1, 2), y = (3, -1): x·y = 1, differences 2 and 3, so |x - y|² = 13, |x - y|₁ = 5, |x|² = 5, |y|² = 10.
    let (x, y) = ([1.0, 2.0], [3.0, -1.0]);
    let cases: [(Kernel, f64); 11] = [
        (Kernel::linear(), 1.0),
        (Kernel::polynomial(2.0, 3.0, 3).unwrap(), 125.0),
        (Kernel::gaussian(0.1).unwrap(), 0.272_531_793_034_012_6), // e^-1.3
        (Kernel::laplacian(0.1).unwrap(), 0.606_530_659_712_633_4), // e^-0.5
        (Kernel::exponential(0.1).unwrap(), 0.697_289_134_204_337_4), // e^-0.360555…
        (Kernel::matern32(0.1).unwrap(), 0.869_967_132_375_203_1), // a = 0.624499…
        (Kernel::matern52(0.1).unwrap(), 0.903_302_862_514_221),   // a = 0.806225…
        (Kernel::rational_quadratic(0.1, 2.0).unwrap(), 0.367_309_458_218_549_1), // 1.65^-2
        (Kernel::epanechnikov(0.05).unwrap(), 0.35),
        (Kernel::cosine(), 0.141_421_356_237_309_5), // 1 / √50
        (Kernel::sigmoid(0.5, -1.0).unwrap(), -0.462_117_157_260_009_75), // tanh(-0.5)
    ];
    for (kernel, expected) in cases {
        let value = kernel.evaluate(&x, &y).unwrap();
        // A few roundings of formulas whose values are at most 125.
        assert!((value - expected).abs() <= 8.0 * f64::EPSILON * expected.abs().max(1.0), "{}: {value}", kernel.name());
    }
}

#[test]
fn distances_of_a_point_to_itself_give_one() {
    for textbook in Textbook::ALL.iter().filter(|textbook| textbook.knows_distances_only()) {
        let kernel = to_kernel!(textbook, Kernel);
        assert_eq!(kernel.evaluate(&[3.0, -7.0], &[3.0, -7.0]).unwrap().to_bits(), 1.0_f64.to_bits(), "{textbook:?}");
    }
}

#[test]
fn epanechnikov_is_flat_beyond_its_edge() {
    let kernel = Kernel::epanechnikov(0.5).unwrap();
    assert_eq!((kernel.value(3.0), kernel.slope(3.0)), (0.0, 0.0));
    assert_eq!((kernel.value(1.0), kernel.slope(1.0)), (0.5, -0.5));
    assert_eq!(kernel.derivative(Parameter::Gamma, 3.0).map(f64::abs), Some(0.0));
}

#[test]
fn the_exponential_kernel_has_a_corner_at_zero() {
    assert_eq!(Kernel::exponential(1.0).unwrap().slope(0.0), f64::NEG_INFINITY);
}

#[test]
fn parameters_that_a_kernel_does_not_have_are_not_invented() {
    let gaussian = Kernel::gaussian(0.5).unwrap();
    assert_eq!((gaussian.parameter(Parameter::Gamma), gaussian.parameter(Parameter::Alpha)), (Some(0.5), None));
    assert_eq!(Kernel::linear().derivative(Parameter::Gamma, 1.0), None);
    let polynomial = Kernel::polynomial(0.25, 2.0, 3).unwrap();
    assert_eq!(
        (polynomial.parameter(Parameter::Gamma), polynomial.parameter(Parameter::Coef0)),
        (Some(0.25), Some(2.0))
    );
    assert_eq!(Kernel::rational_quadratic(0.25, 2.0).unwrap().parameter(Parameter::Alpha), Some(2.0));
}

#[test]
fn kernels_that_do_not_claim_it_are_really_indefinite() {
    let on_a_grid = gram(&Kernel::epanechnikov(0.4).unwrap(), &grid(5));
    assert!(eigen(on_a_grid.as_ref()).values[24] < -0.1);
    // At the origin the sigmoid kernel is tanh(coef0), and an odd power of a negative constant is negative.
    for kernel in [Kernel::sigmoid(1.0, -1.0).unwrap(), Kernel::polynomial(1.0, -1.0, 3).unwrap()] {
        assert!(!kernel.is_positive_definite() && kernel.evaluate(&[0.0], &[0.0]).unwrap() < -0.7);
    }
    let separated = gram(&Kernel::sigmoid(2.0, 0.0).unwrap(), &Cloud::from_fn(2, 1, |i, _| [0.5, 2.0][i]));
    assert!(eigen(separated.as_ref()).values[1] < -0.1);
}

#[test]
fn claims_are_the_known_ones() {
    for (textbook, (name, positive, unit)) in Textbook::ALL.iter().zip([
        ("linear", true, false),
        ("polynomial", true, false),
        ("gaussian", true, true),
        ("laplacian", true, true),
        ("exponential", true, true),
        ("matern32", true, true),
        ("matern52", true, true),
        ("rational-quadratic", true, true),
        ("epanechnikov", false, true),
        ("cosine", true, false),
        ("sigmoid", false, false),
    ]) {
        let kernel = to_kernel!(textbook, Kernel);
        assert_eq!((kernel.name(), kernel.is_positive_definite(), kernel.has_unit_range()), (name, positive, unit));
    }
}

#[test]
fn a_function_of_pairs_is_a_kernel_without_claims() {
    let kernel = Kernel::custom(PairFunction::new("agreement", |x: &[f64], y: &[f64]| {
        x.iter().zip(y).filter(|(a, b)| a == b).count() as f64
    }));
    assert_eq!(kernel.name(), "agreement");
    assert_eq!(kernel.evaluate(&[1.0, 2.0, 3.0], &[1.0, 5.0, 3.0]).unwrap(), 2.0);
    assert_eq!((kernel.pairing(), kernel.parameters()), (None, &[][..]));
    assert!(!kernel.is_positive_definite() && !kernel.has_unit_range());
    assert!(kernel.value(1.0).is_nan() && kernel.slope(1.0).is_nan());
    assert_eq!(format!("{kernel:?}"), "Custom(PairFunction { name: \"agreement\", .. })");
}

#[test]
fn a_block_of_a_pair_function_is_filled_row_by_row() {
    let difference = PairFunction::new("difference", |x: &[f64], y: &[f64]| x[0] - y[0]);
    let mut out = [0.0; 6];
    difference.fill(&[10.0, 20.0], &[1.0, 2.0, 3.0], 1, &mut out).unwrap();
    assert_eq!(out, [9.0, 8.0, 7.0, 19.0, 18.0, 17.0]);
}

#[test]
fn points_that_cannot_be_paired_are_refused() {
    let error = Kernel::linear().evaluate(&[1.0, 2.0], &[1.0]).unwrap_err();
    assert_eq!(error.to_string(), "the second point has 1 columns, but the model was fitted on 2");
    let error = Kernel::Precomputed.evaluate(&[1.0], &[1.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "evaluating a pair of points does not work with the precomputed kernel: its values are given, not computed"
    );
}

#[test]
fn parameters_outside_their_domain_are_refused_by_name_and_value() {
    let positive: [fn(f64) -> Result<Kernel>; 6] = [
        Kernel::gaussian,
        Kernel::laplacian,
        Kernel::exponential,
        Kernel::matern32,
        Kernel::matern52,
        Kernel::epanechnikov,
    ];
    for new in positive {
        for (gamma, text) in [(0.0, "0"), (-1.5, "-1.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
            let message = new(gamma).unwrap_err().to_string();
            assert_eq!(message, format!("`gamma` must be a positive number, but it is {text}"));
        }
    }
    let messages = [
        (Kernel::polynomial(0.0, 1.0, 3), "`gamma` must be a positive number, but it is 0"),
        (Kernel::polynomial(1.0, f64::NAN, 3), "`coef0` must be a finite number, but it is NaN"),
        (Kernel::polynomial(1.0, 1.0, 0), "`degree` must be at least 1, but it is 0"),
        (Kernel::sigmoid(-1.0, 0.0), "`gamma` must be a positive number, but it is -1"),
        (Kernel::sigmoid(1.0, f64::INFINITY), "`coef0` must be a finite number, but it is inf"),
        (Kernel::rational_quadratic(0.0, 1.0), "`gamma` must be a positive number, but it is 0"),
        (Kernel::rational_quadratic(1.0, 0.0), "`alpha` must be a positive number, but it is 0"),
    ];
    for (outcome, expected) in messages {
        assert_eq!(outcome.unwrap_err().to_string(), expected);
    }
}
