//! What every kernel must do.

use faer::Mat;
use mercer::Kernel;

use crate::generate::{Cloud, circles, clusters, gaussian_cloud, grid};
use crate::reference::{Textbook, eigen};

/// Checks a kernel against the textbook: values, symmetry, range, derivatives by central differences, and that Gram matrices are
/// positive semi-definite if the kernel says so.
///
/// # Panics
///
/// If the contract is broken.
#[track_caller]
pub fn check_kernel(kernel: &Kernel, textbook: &Textbook) {
    for cloud in [gaussian_cloud(24, 1, 7), gaussian_cloud(24, 3, 8), circles(24, 9), clusters(24, 3, 4, 10), grid(5)] {
        check_gram_of(kernel, textbook, &cloud);
    }
    for s in [0.3, 1.0, 2.5, 7.0] {
        check_derivatives(kernel, textbook, s);
    }
}

#[track_caller]
fn check_gram_of(kernel: &Kernel, textbook: &Textbook, cloud: &Cloud) {
    let name = kernel.name();
    let gram = Mat::from_fn(cloud.n, cloud.n, |i, j| {
        let (x, y) = (cloud.row(i), cloud.row(j));
        let value = kernel.evaluate(x, y).expect("both points have the same coordinates");
        let expected = textbook.value(x, y);
        // The two sum and raise in different orders: a few roundings of the value.
        let slack = 32.0 * f64::EPSILON * expected.abs().max(1.0);
        assert!((value - expected).abs() <= slack, "{name}: {value:e} at points {i} and {j}, not {expected:e}");
        let mirrored = kernel.evaluate(y, x).expect("as above");
        assert_eq!(value.to_bits(), mirrored.to_bits(), "{name} is not symmetric at points {i} and {j}");
        assert!(
            !kernel.has_unit_range() || (0.0..=1.0).contains(&value),
            "{name} claims values between 0 and 1, but has {value}"
        );
        value
    });
    if kernel.is_positive_definite() {
        let values = eigen(gram.as_ref()).values;
        // Jacobi's method and the entries are exact to n ε of the largest eigenvalue.
        let slack = cloud.n as f64 * f64::EPSILON * values[0];
        let lowest = *values.last().expect("the matrix is not empty");
        assert!(lowest >= -slack, "{name} claims to be positive semi-definite, but has the eigenvalue {lowest:e}");
    }
}

/// Step of the central differences: their error is about `step²` from the formula and `ε / step` from rounding, least together here.
const STEP: f64 = 6e-6;

#[track_caller]
fn check_derivatives(kernel: &Kernel, textbook: &Textbook, s: f64) {
    let difference = |f: &dyn Fn(f64) -> f64, at: f64| (f(at + STEP) - f(at - STEP)) / (2.0 * STEP);
    let check = |what: &str, found: f64, expected: f64| {
        // Second derivatives and values of these formulas are below a thousand at the places looked at.
        let slack = 1e3 * STEP * STEP + 1e2 * f64::EPSILON / STEP;
        let size = expected.abs().max(1.0);
        assert!(
            (found - expected).abs() <= slack * size,
            "{}: derivative by {what} at {s} is {found}, central difference {expected}",
            kernel.name()
        );
    };
    check("the pair's scalar", kernel.slope(s), difference(&|t| textbook.of_scalar(t), s));
    for &parameter in kernel.parameters() {
        let at = kernel.parameter(parameter).expect("the kernel lists it");
        let found = kernel.derivative(parameter, s).expect("the kernel lists it");
        check(parameter.name(), found, difference(&|p| textbook.with(parameter, p).of_scalar(s), at));
    }
}
