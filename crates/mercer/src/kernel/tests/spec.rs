//! Kernels by name, with parameters that come from the data.

use super::*;
use crate::{ErrorKind, Points};

fn column(values: &[f64]) -> Points {
    Points::from_f64(values.to_vec(), values.len(), 1).unwrap()
}

fn gamma(name: &str, width: Width, points: &Points) -> f64 {
    KernelSpec::new(name).width(width).resolve(points).unwrap().parameter(Parameter::Gamma).unwrap()
}

/// The names of the kernels that have a width.
fn names_with_gamma() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().filter(|name| !["linear", "cosine"].contains(name))
}

#[test]
fn every_name_gives_the_kernel_of_that_name() {
    let points = column(&[0.0, 1.0]);
    for name in NAMES {
        assert_eq!(KernelSpec::new(name).resolve(&points).unwrap().name(), name);
    }
    for (other, name) in [("rbf", "gaussian"), ("poly", "polynomial"), ("precomputed", "precomputed")] {
        assert_eq!(KernelSpec::new(other).resolve(&points).unwrap().name(), name);
    }
}

#[test]
fn left_out_parameters_are_those_of_scikit_learn() {
    let points = Points::from_f64(vec![0.0, 1.0, 2.0, 3.0], 1, 4).unwrap();
    for name in names_with_gamma() {
        let kernel = KernelSpec::new(name).resolve(&points).unwrap();
        assert_eq!(kernel.parameter(Parameter::Gamma), Some(0.25), "{name}");
    }
    // (2/4 + 1)³ = 3.375, tanh(2/4 + 1), (1 + 2/4)^-1.
    assert_eq!(KernelSpec::new("polynomial").resolve(&points).unwrap().value(2.0), 3.375);
    assert_eq!(KernelSpec::new("sigmoid").resolve(&points).unwrap().value(2.0), 1.5_f64.tanh());
    let rational = KernelSpec::new("rational-quadratic").resolve(&points).unwrap();
    assert_eq!(rational.parameter(Parameter::Alpha), Some(1.0));
}

#[test]
fn given_parameters_reach_the_kernel() {
    let points = column(&[0.0, 1.0]);
    let polynomial = KernelSpec::new("poly").width(Width::Gamma(0.5)).coef0(2.0).degree(2).resolve(&points).unwrap();
    assert_eq!(polynomial.value(4.0), 16.0);
    let rational = KernelSpec::new("rational-quadratic").width(Width::Gamma(0.5)).alpha(2.0).resolve(&points).unwrap();
    assert_eq!(rational.parameter(Parameter::Alpha), Some(2.0));
    let sigmoid = KernelSpec::new("sigmoid").coef0(-3.0).resolve(&points).unwrap();
    assert_eq!(sigmoid.parameter(Parameter::Coef0), Some(-3.0));
}

#[test]
fn bandwidth_is_the_standard_deviation_of_the_gaussian() {
    let points = column(&[0.0, 1.0]);
    for name in names_with_gamma() {
        assert_eq!(gamma(name, Width::Bandwidth(2.0), &points), 0.125, "{name}");
    }
}

#[test]
fn scale_is_one_over_features_times_the_variance_of_all_values() {
    // Values 0, 2, 4, 6 about their mean 3: variance 5.
    let points = Points::from_f64(vec![0.0, 2.0, 4.0, 6.0], 2, 2).unwrap();
    for name in names_with_gamma() {
        assert!((gamma(name, Width::Scale, &points) - 0.1).abs() < 1e-16, "{name}");
    }
}

#[test]
fn median_is_one_over_the_middle_of_what_gamma_multiplies() {
    // Distances 1, 2, 3; squared 1, 4, 9.
    let points = column(&[0.0, 1.0, 3.0]);
    for name in ["gaussian", "rational-quadratic", "epanechnikov"] {
        assert_eq!(gamma(name, Width::Median, &points), 0.25, "{name}");
    }
    for name in ["laplacian", "exponential", "matern32", "matern52"] {
        assert_eq!(gamma(name, Width::Median, &points), 0.5, "{name}");
    }
}

#[test]
fn the_median_leaves_out_pairs_of_equal_points() {
    // Eight copies of zero: of the 45 distances 28 are zero, eight are 1, eight 3, and one is 2.
    let mut values = vec![0.0; 8];
    values.extend([1.0, 3.0]);
    assert_eq!(gamma("laplacian", Width::Median, &column(&values)), 0.5);
}

#[test]
fn the_median_of_many_points_comes_from_a_sample_that_is_always_the_same() {
    let values: Vec<f64> = (0..3000).map(|i| f64::from(i) / 3000.0).collect();
    let found = gamma("laplacian", Width::Median, &column(&values));
    assert_eq!(found.to_bits(), gamma("laplacian", Width::Median, &column(&values)).to_bits());
    // The distance of two uniform numbers has median 1 - √½; a sample of a thousand is off by about a hundredth.
    let median = 1.0 - 0.5_f64.sqrt();
    assert!((1.0 / found - median).abs() < 0.03 * median, "{}", 1.0 / found);
}

#[test]
fn points_so_far_apart_or_so_close_that_no_inverse_width_is_a_number() {
    let (far, close) = (column(&[0.0, 1e200, -3e200]), column(&[0.0, 1e-160, 3e-160]));
    for width in [Width::Median, Width::Scale] {
        let spec = KernelSpec::new("gaussian").width(width);
        let error = spec.resolve(&far).unwrap_err();
        assert!(matches!(error, Error::TooFarApart { row: 2, largest: 3e200 }), "{width}: {error}");
        let error = spec.resolve(&close).unwrap_err();
        assert!(matches!(error, Error::TooClose { .. }), "{width}: {error}");
    }
    // Distances themselves are numbers.
    assert_eq!(gamma("laplacian", Width::Median, &far), 1.0 / 3e200);
}

#[test]
fn what_cannot_be_resolved_is_refused_with_a_reason() {
    let (points, equal) = (column(&[0.0, 1.0]), column(&[5.0, 5.0, 5.0]));
    let new = KernelSpec::new;
    let cases = [
        (
            new("guassian").resolve(&points),
            "`kernel` must be one of linear, polynomial, gaussian, laplacian, exponential, matern32, matern52, \
             rational-quadratic, epanechnikov, cosine, sigmoid, precomputed, but it is guassian",
        ),
        (new("gaussian").width(Width::Gamma(0.0)).resolve(&points), "`gamma` must be a positive number, but it is 0"),
        (
            new("gaussian").width(Width::Bandwidth(-2.0)).resolve(&points),
            "`bandwidth` must be a positive number, but it is -2",
        ),
        (new("polynomial").degree(0).resolve(&points), "`degree` must be at least 1, but it is 0"),
        (
            new("gaussian").degree(2).resolve(&points),
            "`degree` must be left out: the gaussian kernel has no such parameter, but it is 2",
        ),
        (
            new("gaussian").coef0(1.0).resolve(&points),
            "`coef0` must be left out: the gaussian kernel has no such parameter, but it is 1",
        ),
        (
            new("sigmoid").alpha(0.5).resolve(&points),
            "`alpha` must be left out: the sigmoid kernel has no such parameter, but it is 0.5",
        ),
        (
            new("gaussian").width(Width::Scale).resolve(&equal),
            "all 3 rows are equal to the kernel: there is no variance to explain",
        ),
        (
            new("gaussian").width(Width::Median).resolve(&equal),
            "all 3 rows are equal to the kernel: there is no variance to explain",
        ),
        (
            new("polynomial").width(Width::Median).resolve(&points),
            "the median distance as width does not work with the polynomial kernel: it is not a function of a distance",
        ),
    ];
    for (outcome, expected) in cases {
        let error = outcome.unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_width_for_a_kernel_without_one_is_refused() {
    let points = column(&[0.0, 1.0]);
    for name in ["linear", "cosine", "precomputed"] {
        let message = KernelSpec::new(name).width(Width::Gamma(0.5)).resolve(&points).unwrap_err().to_string();
        assert!(
            message.starts_with(&format!("`gamma` must be left out: the {name} kernel has no such parameter")),
            "{message}"
        );
    }
}
