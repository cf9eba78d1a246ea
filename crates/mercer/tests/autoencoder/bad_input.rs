//! Wrong calls and bad data: what is said.

use faer::Mat;
use mercer::autoencoder::{AutoencoderKernelPca, Codec, Gradient, LinearPca, Sign, SpanChoice, StartFrom};
use mercer::watch::Threads;
use mercer::{Center, ErrorKind, MemoryBudget, Points, Watch};

use crate::support::{given, pictures};

#[track_caller]
fn refused(settings: &AutoencoderKernelPca, points: &Points) -> String {
    settings.fit(points).unwrap_err().to_string()
}

#[test]
fn more_components_than_there_are_forms_are_refused() {
    let points = pictures(20, 3, 1);
    assert_eq!(
        refused(&AutoencoderKernelPca::new(7), &points),
        "`n_components` must be between 1 and 6, the quadratic forms of 3 columns, but it is 7"
    );
    assert!(refused(&AutoencoderKernelPca::new(0), &points).starts_with("`n_components`"));
}

#[test]
fn points_that_are_all_zero_or_not_finite_are_refused() {
    let zeros = Points::from_f64(vec![0.0; 12], 4, 3).unwrap();
    let message = "all 4 rows are zero: there is nothing to learn a code of";
    assert_eq!(refused(&AutoencoderKernelPca::new(2), &zeros), message);
    let nan = Points::from_f64(vec![1.0, 2.0, f64::NAN, 1.0], 2, 2).unwrap();
    assert_eq!(refused(&AutoencoderKernelPca::new(1), &nan), "row 1, column 0 is NaN; kernels need finite numbers");
    let none = Points::from_f64(Vec::new(), 0, 3).unwrap();
    assert!(refused(&AutoencoderKernelPca::new(1), &none).contains("at least 1 row"));
    let huge = Points::from_f64(vec![1e200, 1.0, 1.0, 1.0], 2, 2).unwrap();
    let message =
        "row 0 is too large for codes, which are squares of points: products of them overflow f64; scale the data";
    assert_eq!(refused(&AutoencoderKernelPca::new(1), &huge), message);
}

#[test]
fn settings_out_of_their_domain_or_without_effect_are_refused_by_name() {
    let points = pictures(20, 4, 2);
    let settings = || AutoencoderKernelPca::new(2);
    for (settings, name) in [
        (settings().batch_size(0), "batch_size"),
        (settings().learning_rate(0.0), "learning_rate"),
        (settings().learning_rate(f64::NAN), "learning_rate"),
        (settings().decay(-1.0), "decay"),
        (settings().tolerance(0.0), "tolerance"),
        (settings().validation(1.0), "validation"),
        (settings().validation(0.001), "validation"),
        (settings().patience(2), "patience"),
        (settings().order(vec![vec![0]]).epochs_now(1), "epochs_now"),
        (settings().validation(0.5).patience(0), "patience"),
        (settings().landmarks(5), "landmarks"),
        (settings().gradient(Gradient::Plain), "gradient"),
        (settings().span(SpanChoice::Data).landmarks(21), "landmarks"),
        (settings().order(vec![vec![20]]), "order"),
        (settings().order(vec![vec![0]]).epochs(2), "epochs"),
        (settings().order(vec![vec![0]]).validation(0.5), "validation"),
        (settings().threads(0), "threads"),
        (settings().start(given(&[0.0; 32], &[0.0; 16])), "start"),
        (settings().start(given(&[0.0; 32], &[f64::INFINITY; 32])), "start"),
        (settings().span(SpanChoice::Data).start(given(&[0.0; 38], &[0.0; 38])), "start"),
        (settings().start(given(&[1e200; 32], &[1e200; 32])), "start"),
        (settings().start(given(&[1e100; 32], &[1e100; 32])).epochs(0), "start"),
    ] {
        let message = refused(&settings, &points);
        assert!(message.starts_with(&format!("`{name}`")), "{name}: {message}");
    }
    assert_eq!(
        refused(&settings().start(given(&[0.0; 5], &[0.0; 5])), &points),
        "`start` must be 2 matrices of 4 x 4, for the encoder and for the decoder, but it is 5 numbers"
    );
    assert_eq!(
        refused(&settings().start(given(&[1e200; 32], &[1e200; 32])), &points),
        "`start` must be small enough for finite losses, but it is one whose losses are not"
    );
}

#[test]
fn what_does_not_fit_the_budget_is_refused_with_what_would() {
    let points = pictures(50, 40, 3);
    let said = |span: SpanChoice, k: usize, budget: u64| {
        let settings = AutoencoderKernelPca::new(k).span(span).start(StartFrom::Random).epochs(0);
        let error = settings.memory(MemoryBudget::Bytes(budget)).fit(&points).err()?;
        assert_eq!(error.kind(), ErrorKind::OverBudget);
        Some(error.to_string().split_once("; ").unwrap().1.to_owned())
    };
    let (over_data, fewer) = ("learn over a span of the data (span = \"data\")", "learn fewer components");
    assert_eq!(said(SpanChoice::Full, 20, 110_000).unwrap(), format!("{over_data}, or {fewer}"));
    assert_eq!(said(SpanChoice::Data, 20, 110_000), None, "what is advised is not refused");
    // A span of all points takes more than there is, too.
    assert_eq!(said(SpanChoice::Full, 20, 100_000).unwrap(), fewer);
    assert_eq!(said(SpanChoice::Full, 1, 100_000), None);
    assert_eq!(said(SpanChoice::Data, 20, 100_000).unwrap(), format!("make the span of fewer points, or {fewer}"));
    assert_eq!(said(SpanChoice::Full, 1, 10_000).unwrap(), "a budget of 33.5 KiB would do");
    assert_eq!(said(SpanChoice::Full, 1, 34_400), None);
}

#[test]
fn sizes_beyond_every_memory_are_refused_instead_of_overflowing() {
    let wide = Points::from_f64(vec![1.0; 200_000], 1, 200_000).unwrap();
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let settings = AutoencoderKernelPca::new(30_000_000).span(span).memory(MemoryBudget::Bytes(1 << 20));
        let error = settings.fit(&wide).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverBudget, "{span}: {error}");
    }
}

#[test]
fn points_whose_squares_underflow_are_too_small_and_not_zero() {
    let small = |size: f64| Points::from_f64(vec![size, 0.0, 0.0, 0.5 * size], 2, 2).unwrap();
    let message = "all 2 rows are too small for codes, which are squares of points: the largest number is 1e-170, and f64 cannot hold its square \
                   to all digits; scale the data";
    assert_eq!(refused(&AutoencoderKernelPca::new(1), &small(1e-170)), message);
    // Without a scaling the kernel, which is a square of squares, must not underflow either.
    assert!(refused(&AutoencoderKernelPca::new(1).scale(false), &small(1e-100)).contains("its fourth power"));
    let model = AutoencoderKernelPca::new(1).fit(&small(1e-100)).unwrap();
    let again = model.reconstruct(&small(1e-100)).unwrap();
    assert!((again[(0, 0)] / 1e-100 - 1.0).abs() < 1e-3, "{again:?}");
}

/// The second row so many times as long as it was.
fn with_second(points: &Points, factor: f64) -> Points {
    let (n, d) = (points.n_samples(), points.n_features());
    let values = (0..n).flat_map(|i| points.row(i).into_iter().map(move |x| if i == 1 { factor * x } else { x }));
    Points::from_f64(values.collect::<Vec<_>>(), n, d).unwrap()
}

#[test]
fn rows_that_are_too_large_for_codes_or_losses_are_refused_by_their_number() {
    let points = pictures(30, 5, 6);
    let slanted: Vec<f64> = (0..50).map(|at| (f64::from(at) * 0.37).sin()).collect();
    let message =
        "row 1 is too large for codes, which are squares of points: products of them overflow f64; scale the data";
    for settings in [
        AutoencoderKernelPca::new(2),
        AutoencoderKernelPca::new(2).span(SpanChoice::Data),
        AutoencoderKernelPca::new(2).start(given(&slanted, &slanted)),
    ] {
        let model = settings.epochs(0).fit(&points).unwrap();
        let huge = with_second(&points, 1e160);
        assert_eq!(model.encode(&huge).unwrap_err().to_string(), message);
        assert_eq!(model.losses(&huge).unwrap_err().to_string(), message);
        assert_eq!(model.reconstruct(&huge).unwrap_err().to_string(), message);
        // Codes are numbers yet, but not the squares of what they make.
        let large = with_second(&points, 1e100);
        assert!(model.encode(&large).is_ok());
        assert_eq!(model.losses(&large).unwrap_err().to_string(), message);
    }
}

/// Twice as large codes are those of points that are the root of two as long, whatever their size.
#[test]
fn codes_of_any_size_are_decoded() {
    let points = pictures(20, 40, 7);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let model = AutoencoderKernelPca::new(3).span(span).epochs(0).fit(&points).unwrap();
        let codes = model.encode(&points).unwrap();
        let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
        let decode = |codes: &Mat<f64>| model.decode_watched(codes.as_ref(), Some(&points), &threads, &watch).unwrap();
        let (own, large) = (decode(&codes), decode(&(1e200 * &codes)));
        assert_eq!((own.n_not_converged(), large.n_not_converged()), (0, 0), "{span}");
        let gap = (1e-100 * &large.points - &own.points).norm_max();
        assert!(gap < 1e-5 * own.points.norm_max(), "{span}: {gap:e}");
    }
}

#[test]
fn other_widths_codes_and_references_are_refused() {
    let points = pictures(20, 4, 4);
    let mut model = AutoencoderKernelPca::new(2).epochs(1).fit(&points).unwrap();
    let narrow = pictures(5, 3, 4);
    let expected = "the data has 3 columns, but the model was fitted on 4";
    assert_eq!(model.encode(&narrow).unwrap_err().to_string(), expected);
    assert_eq!(model.losses(&narrow).unwrap_err().to_string(), expected);
    assert_eq!(model.partial_fit(&narrow, &Watch::new()).unwrap_err().to_string(), expected);
    let wrong = model.decode(Mat::zeros(1, 3).as_ref(), None).unwrap_err();
    assert_eq!(wrong.to_string(), "`codes` must be of 2 columns, one per component, but it is 3");
    let wrong = model.decode(Mat::full(1, 2, f64::NAN).as_ref(), None).unwrap_err();
    assert!(wrong.to_string().contains("row 0, column 0 is NaN"));
    let wrong = model.decode(Mat::zeros(1, 2).as_ref(), Some(&points)).unwrap_err();
    assert_eq!(wrong.to_string(), "`reference` must be one point per code (1), but it is 20");
    let signed = AutoencoderKernelPca::new(2).sign(Sign::Nonnegative).epochs(0).fit(&points).unwrap();
    assert!(
        signed.decode(Mat::zeros(20, 2).as_ref(), Some(&points)).unwrap_err().to_string().starts_with("`reference`")
    );
}

#[test]
fn the_linear_baseline_refuses_as_clearly() {
    let points = pictures(20, 4, 5);
    assert_eq!(
        LinearPca::fit(&points, 5, Center::Yes).unwrap_err().to_string(),
        "`n_components` must be between 1 and the number of columns (4), but it is 5"
    );
    let pca = LinearPca::fit(&points, 2, Center::Yes).unwrap();
    assert!(pca.encode(&pictures(2, 3, 5)).is_err());
    assert!(pca.decode(Mat::zeros(1, 1).as_ref(), None).is_err());
}
