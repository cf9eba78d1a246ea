//! What holds whatever the method.

use faer::Mat;
use mercer::data::{Moments, Scaling};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Kernel, KernelPca, Points, Watch};

use crate::support::{circle, close, mean_squared_error, reconstruct};

#[test]
fn scaled_models_give_points_in_the_units_of_their_data() {
    let (noisy, _) = circle(60, 0.05);
    let stretched = {
        let values: Vec<f64> =
            (0..60).flat_map(|i| noisy.row(i)).enumerate().map(|(at, x)| 100.0 + x * (1.0 + (at % 5) as f64)).collect();
        Points::from_f64(values, 60, 5).unwrap()
    };
    let scaling = Scaling::standardizing(&Moments::of(&stretched));
    let fitted = KernelPca::new(Kernel::gaussian(0.2).unwrap())
        .n_components(20)
        .fit(&scaling.apply(&stretched).unwrap())
        .unwrap();
    let model = fitted.with_scaling(scaling).unwrap();
    for method in
        [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Gradient, PreimageMethod::Ridge]
    {
        let found = reconstruct(&model, &stretched, method);
        assert!(mean_squared_error(&found.points, &stretched) < 0.5, "{method}");
        // The fixed point and descent minimise the error in feature space, the others do not.
        let limit = if matches!(method, PreimageMethod::FixedPoint | PreimageMethod::Gradient) { 0.05 } else { 0.5 };
        assert!(found.feature_error.iter().all(|&error| error < limit), "{method}");
    }
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads_or_on_the_other_points() {
    let (noisy, _) = circle(150, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(4).fit(&noisy).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient, PreimageMethod::Distance] {
        let all = Preimage::new(method).threads(2).of_points(&model, &noisy, &Watch::new()).unwrap();
        let again = Preimage::new(method).threads(1).of_points(&model, &noisy, &Watch::new()).unwrap();
        assert!((0..150).all(|i| (0..5).all(|k| all.points[(i, k)].to_bits() == again.points[(i, k)].to_bits())));
        let some = Preimage::new(method).of_points(&model, &noisy.slice(140..150), &Watch::new()).unwrap();
        let tail = Mat::from_fn(10, 5, |i, k| all.points[(140 + i, k)]);
        close(some.points.as_ref(), tail.as_ref(), 1e-9, "a slice");
    }
}

#[test]
fn no_rows_give_no_points_and_scores_far_away_say_so() {
    let (noisy, _) = circle(40, 0.1);
    let model = KernelPca::new(Kernel::gaussian(2.0).unwrap()).n_components(3).fit(&noisy).unwrap();
    for method in
        [PreimageMethod::FixedPoint, PreimageMethod::Distance, PreimageMethod::Gradient, PreimageMethod::Ridge]
    {
        let none = Preimage::new(method).of_scores(&model, Mat::zeros(0, 3).as_ref(), &Watch::new()).unwrap();
        assert_eq!((none.points.nrows(), none.points.ncols()), (0, 5));
        // No point has such scores.
        let far = Preimage::new(method).of_scores(&model, Mat::full(1, 3, 1e3).as_ref(), &Watch::new()).unwrap();
        assert!(far.feature_error[0] > 1e5 && far.points[(0, 0)].is_finite(), "{method}");
    }
}

#[test]
fn a_run_that_is_stopped_is_an_error() {
    let (noisy, _) = circle(30, 0.1);
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2).fit(&noisy).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let watch = Watch::new().interrupt(&stop);
    let error = Preimage::new(PreimageMethod::FixedPoint).of_points(&model, &noisy, &watch).unwrap_err();
    assert_eq!(error.kind(), mercer::ErrorKind::Interrupted);
}
