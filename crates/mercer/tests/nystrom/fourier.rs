//! Random Fourier features.

use faer::Mat;
use mercer::nystrom::FourierFeatures;
use mercer::watch::Threads;
use mercer::{ErrorKind, Points, Watch};

use super::{gaussian, gram, points};

#[test]
fn random_fourier_features_approach_the_kernel_slowly() {
    let (x, kernel) = (points(60, 3), gaussian());
    let exact = gram(&kernel, &x, &x);
    let error = |m: usize| {
        let features = FourierFeatures::new(&kernel, 3, m, 1).unwrap().transform(&x).unwrap();
        (&features * features.transpose() - &exact).norm_l2() / exact.norm_l2()
    };
    let errors = [error(100), error(10_000)];
    // A hundred times as many features, a tenth of the error, give or take.
    assert!(errors[1] < 0.3 * errors[0] && errors[1] < 0.05, "{errors:?}");
}

#[test]
fn random_fourier_features_can_be_put_together_again_on_any_number_of_threads() {
    let x = points(5000, 3);
    let drawn = FourierFeatures::new(&gaussian(), 3, 20, 7).unwrap();
    let again = FourierFeatures::from_parts(drawn.frequencies().to_owned(), drawn.phases().to_vec()).unwrap();
    let expected = drawn.transform(&x).unwrap();
    for n_threads in [1, 2, 3] {
        let threads = Threads::new(n_threads).unwrap();
        assert_eq!(again.transform_watched(&x, &threads, &Watch::new()).unwrap(), expected);
    }
    // The formula, feature by feature.
    let row = x.row(4999);
    for j in 0..20 {
        let angle: f64 = (0..3).map(|c| row[c] * drawn.frequencies()[(c, j)]).sum::<f64>() + drawn.phases()[j];
        assert!((expected[(4999, j)] - 0.1_f64.sqrt() * angle.cos()).abs() < 1e-13);
    }
}

#[test]
fn random_fourier_features_of_a_seed_stay_the_same() {
    // The same numbers stand in python/tests/test_fourier.py.
    let drawn = FourierFeatures::new(&gaussian(), 2, 2, 7).unwrap();
    let frequencies =
        [[0.258_312_220_663_733_7, -0.769_388_477_627_110_2], [-0.203_310_932_371_299_46, 0.217_590_719_651_071_52]];
    let phases = [2.289_995_613_132_320_3, 6.220_180_439_838_433];
    let expected = Mat::from_fn(2, 2, |i, j| frequencies[i][j]);
    assert!((drawn.frequencies() - &expected).norm_max() < 1e-15);
    assert!(drawn.phases().iter().zip(phases).all(|(found, phase)| (found - phase).abs() < 1e-15));
}

#[test]
fn random_fourier_features_refuse_what_has_none() {
    let drawn = FourierFeatures::new(&gaussian(), 2, 5, 0).unwrap();
    let huge = Points::from_f64(vec![0.0, 1.0, 2.0, 1e308, 1e308, 3.0], 3, 2).unwrap();
    let wide = FourierFeatures::from_parts(Mat::from_fn(2, 1, |_, _| 10.0), vec![0.0]).unwrap();
    assert_eq!(
        wide.transform(&huge).unwrap_err().to_string(),
        "row 1 is too large for the kernel's width: its squared distance or inner product overflows f64; scale the data, or use a \
         smaller gamma"
    );
    let stop = std::sync::atomic::AtomicBool::new(true);
    let stopped = drawn.transform_watched(&huge, &Threads::new(1).unwrap(), &Watch::new().interrupt(&stop));
    assert!(stopped.unwrap_err().to_string().contains("transforming"));
    assert!(FourierFeatures::from_parts(Mat::zeros(2, 0), Vec::new()).is_err());
    let too_many = FourierFeatures::new(&gaussian(), 2, usize::MAX, 0).unwrap_err();
    assert!(too_many.to_string().contains("take fewer features"), "{too_many}");
    let error = FourierFeatures::from_parts(Mat::zeros(2, 3), vec![0.0]).unwrap_err();
    assert_eq!(error.to_string(), "`phases` must be 3 numbers, one per frequency, but it is 1");
    assert_eq!(drawn.transform(&points(4, 3)).unwrap_err().kind(), ErrorKind::InvalidInput);
}
