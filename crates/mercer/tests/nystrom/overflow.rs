//! Kernel values that are too large for the arithmetic, and whose they are.

use std::sync::atomic::AtomicBool;

use mercer::nystrom::{Landmarks, Nystrom, NystromPca, RowBlocks};
use mercer::{Error, Kernel, Points, Precision, Result, Watch};

use super::RULES;

/// The third power of inner products.
fn cubic() -> Kernel {
    Kernel::polynomial(1.0, 1.0, 3).unwrap()
}

/// Rows of two numbers of about one, but for a row of `large` ones, if there is such a row.
fn rows(n: usize, far: Option<(usize, f64)>) -> Vec<f64> {
    let mut values: Vec<f64> = (0..2 * n).map(|i| (i as f64 * 0.731).sin()).collect();
    if let Some((row, large)) = far {
        values[2 * row..2 * row + 2].fill(large);
    }
    values
}

fn doubles(n: usize, far: Option<(usize, f64)>) -> Points {
    Points::from_f64(rows(n, far), n, 2).unwrap()
}

fn singles(n: usize, far: Option<(usize, f64)>) -> Points {
    Points::from_f32(rows(n, far).into_iter().map(|x| x as f32).collect::<Vec<_>>(), n, 2).unwrap()
}

#[test]
fn a_landmark_whose_kernel_overflows_is_told_as_a_landmark() {
    // Inner products are far from overflowing, their third powers are not.
    let cases = [
        (doubles(60, None), doubles(10, Some((3, 1e60))), Precision::F64),
        (singles(60, None), singles(10, Some((3, 1e10))), Precision::F32),
    ];
    for (x, given, precision) in cases {
        let nystrom = Nystrom::new(cubic()).landmarks(Landmarks::Given(given));
        let pca = NystromPca::new(nystrom.clone());
        let errors = [
            pca.fit(&x).unwrap_err(),
            pca.fit_blocks(&mut x.clone()).unwrap_err(),
            pca.plan_record(&x, &Watch::new()).unwrap_err(),
            nystrom.map(&x).unwrap_err(),
        ];
        for error in errors {
            let Error::LandmarkOverflow { row: 3, precision: found, .. } = &error else { panic!("{error}") };
            assert_eq!(*found, precision);
            assert!(error.to_string().starts_with("the polynomial kernel of landmark 3 with itself is "), "{error}");
        }
    }
}

#[test]
fn a_row_whose_kernel_overflows_is_told_whatever_chooses_the_landmarks() {
    for x in [doubles(60, Some((17, 1e60))), singles(60, Some((17, 1e10)))] {
        for rule in RULES {
            let nystrom = Nystrom::new(cubic()).landmarks(rule).n_landmarks(10);
            let pca = NystromPca::new(nystrom.clone());
            for error in
                [pca.fit(&x).unwrap_err(), pca.fit_blocks(&mut x.clone()).unwrap_err(), nystrom.map(&x).unwrap_err()]
            {
                assert!(matches!(error, Error::KernelOverflow { row: 17, .. }), "{error}");
            }
        }
    }
}

/// The same rows, a thousand at a time.
struct Thousands(Points);

impl RowBlocks for Thousands {
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&Points) -> Result<()>) -> Result<()> {
        let n = self.0.n_samples();
        (0..n).step_by(1000).try_for_each(|first| visit(&self.0.slice(first..n.min(first + 1000))))
    }
}

#[test]
fn in_blocks_the_row_is_told_by_its_number_among_all_whether_it_was_sampled_or_not() {
    // Ten thousand of twelve thousand rows are in the sample that landmarks are chosen from.
    let pca = NystromPca::new(Nystrom::new(cubic()).landmarks(Landmarks::Uniform).n_landmarks(10));
    for far in [900, 3100, 5000, 7300, 9999, 11_000, 11_999] {
        let error = pca.fit_blocks(&mut Thousands(doubles(12_000, Some((far, 1e60))))).unwrap_err();
        assert!(matches!(error, Error::KernelOverflow { row, n_samples: 12_000, .. } if row == far), "{far}: {error}");
    }
}

#[test]
fn a_row_that_is_too_far_away_is_told_by_its_number_among_all_wherever_it_is_met() {
    // Among landmarks, rows that they are chosen from, rows that residuals are measured on, or none of these.
    let kernel = Kernel::gaussian(0.5).unwrap();
    for rule in RULES {
        let pca = NystromPca::new(Nystrom::new(kernel.clone()).landmarks(rule.clone()).n_landmarks(10));
        for far in [90, 5000, 11_999] {
            for x in [doubles(12_000, Some((far, 1e200))), singles(12_000, Some((far, 1e30)))] {
                for error in [pca.fit(&x).unwrap_err(), pca.fit_blocks(&mut Thousands(x.clone())).unwrap_err()] {
                    assert!(matches!(error, Error::TooLarge { row, .. } if row == far), "{rule}, {far}: {error}");
                }
            }
        }
    }
}

#[test]
fn a_landmark_that_is_a_row_and_too_far_away_is_told_as_that_row() {
    let nystrom = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(Landmarks::Rows(vec![3, 11, 2345, 100]));
    let x = doubles(3000, Some((2345, 1e200)));
    for error in [NystromPca::new(nystrom.clone()).fit(&x).unwrap_err(), nystrom.map(&x).unwrap_err()] {
        assert!(matches!(error, Error::TooLarge { row: 2345, .. }), "{error}");
    }
}

#[test]
fn landmarks_of_a_kernel_of_inner_products_are_not_chosen_once_somebody_wants_to_stop() {
    let flag = AtomicBool::new(true);
    // The row would be told, were rows looked at.
    let x = doubles(60, Some((17, 1e60)));
    let error = Nystrom::new(cubic()).n_landmarks(10).map_watched(&x, &Watch::new().interrupt(&flag)).unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error}");
}

#[test]
fn a_large_negative_value_of_a_kernel_overflows_as_a_positive_one_does() {
    // The third power of what is left of an inner product.
    let kernel = Kernel::polynomial(1.0, -1e120, 3).unwrap();
    let error = NystromPca::new(Nystrom::new(kernel).n_landmarks(10)).fit(&doubles(60, None)).unwrap_err();
    assert!(matches!(error, Error::KernelOverflow { value: f64::NEG_INFINITY, .. }), "{error}");
}

#[test]
fn residuals_that_overflow_are_an_error_and_no_number() {
    // Kernel values of 1e27 have room in single precision, their products with features, which are roots of such values, have not.
    let values: Vec<f32> = rows(200, None).into_iter().map(|x| 3e4 * x as f32).collect();
    let x = Points::from_f32(values, 200, 2).unwrap();
    let error = NystromPca::new(Nystrom::new(cubic()).n_landmarks(8)).fit(&x).unwrap_err();
    assert!(matches!(error, Error::KernelOverflow { precision: Precision::F32, .. }), "{error}");
    assert!(error.to_string().contains("which overflows f32 in sums over 200 rows"), "{error}");
}
