//! What holds for every run.

use faer::Mat;
use mercer::autoencoder::{
    Autoencoder, AutoencoderKernelPca, Codec, Given, Gradient, HistoryEntry, LinearPca, Optimizer, Sign, SpanChoice,
    StartFrom,
};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::watch::Threads;
use mercer::{Center, Kernel, KernelPca, Model, Points, Watch};
use mercer_testkit::reference::{autoencoder_decode, autoencoder_sample};

use crate::support::{matrices, mean_squared_error, pictures};

#[test]
fn learning_lowers_the_loss_and_the_error_below_those_of_kernel_pca() {
    let points = pictures(400, 20, 1);
    let held_out = pictures(200, 20, 2);
    let start = AutoencoderKernelPca::new(4).epochs(0).fit(&points).unwrap();
    let before = mean_squared_error(&start.reconstruct(&held_out).unwrap(), &held_out);
    for settings in [
        AutoencoderKernelPca::new(4),
        AutoencoderKernelPca::new(4).optimizer(Optimizer::Svrg),
        AutoencoderKernelPca::new(4).span(SpanChoice::Data),
        AutoencoderKernelPca::new(4).span(SpanChoice::Data).landmarks(150),
    ] {
        let settings = settings.epochs(10).batch_size(20);
        let model = settings.fit(&points).unwrap();
        let (first, last) = (&model.history()[0], model.history().last().unwrap());
        assert!(last.loss < 0.95 * first.loss, "{settings:?}: {} to {}", first.loss, last.loss);
        let after = mean_squared_error(&model.reconstruct(&held_out).unwrap(), &held_out);
        assert!(after < before, "{settings:?}: {before} to {after}");
        assert!(model.learning_rate() > 0.0 && !model.diverged());
    }
}

/// Codes are the scores, but for the kernel's factor, and decoding them is the pre-image by an eigenvector, whatever the model comes from.
#[test]
fn kernel_pca_of_any_kind_is_an_autoencoder_that_has_learned_nothing() {
    let (points, queries, k) = (pictures(90, 40, 11), pictures(25, 40, 12), 4);
    let threads = Threads::new(2).unwrap();
    let kernel = |gamma: f64| Kernel::polynomial(gamma, 0.0, 2).unwrap();
    let exact = |gamma: f64| -> Model {
        KernelPca::new(kernel(gamma)).n_components(k).center(Center::No).tolerance(1e-12).fit(&points).unwrap()
    };
    let landmarks = Nystrom::new(kernel(1.0)).landmarks(Landmarks::Uniform).n_landmarks(50);
    let over_landmarks = NystromPca::new(landmarks).n_components(k).center(Center::No).fit(&points).unwrap();
    for (gamma, model) in [(1.0, exact(1.0)), (0.3, exact(0.3)), (1.0, over_landmarks)] {
        let start = StartFrom::Given(Given::of_model(&model, k, &threads).unwrap());
        let learned = AutoencoderKernelPca::new(k).start(start).epochs(0).fit(&points).unwrap();
        let (codes, scores) = (learned.encode(&queries).unwrap(), model.transform(&queries).unwrap());
        let found = learned.reconstruct(&queries).unwrap();
        let preimage = Preimage::new(PreimageMethod::Polynomial).of_points(&model, &queries, &Watch::new()).unwrap();
        for i in 0..25 {
            for j in 0..k {
                assert!((gamma * codes[(i, j)] - scores[(i, j)]).abs() < 1e-9, "row {i}, component {j}");
            }
            for d in 0..40 {
                assert!((found[(i, d)] - preimage.points[(i, d)]).abs() < 1e-7, "row {i}, pixel {d}");
            }
        }
    }
    // Fewer of the components are those of the smaller model.
    let few = Given::of_model(&exact(1.0), 2, &threads).unwrap();
    assert_eq!(few.encoder[..], Given::of_model(&exact(1.0), k, &threads).unwrap().encoder[..2 * 40 * 40]);
}

#[test]
fn models_that_are_no_quadratic_forms_are_refused_as_a_start() {
    let (points, threads) = (pictures(30, 6, 13), Threads::new(1).unwrap());
    let said = |kernel: Kernel, center: Center, k: usize| -> String {
        let model = KernelPca::new(kernel).n_components(2).center(center).fit(&points).unwrap();
        Given::of_model(&model, k, &threads).unwrap_err().to_string()
    };
    let quadratic = || Kernel::polynomial(1.0, 0.0, 2).unwrap();
    assert!(said(Kernel::polynomial(1.0, 1.0, 2).unwrap(), Center::No, 2).contains("coef0 = 0"));
    assert!(said(Kernel::gaussian(1.0).unwrap(), Center::No, 2).contains("gaussian"));
    assert!(said(quadratic(), Center::Yes, 2).contains("`model` must be not centred"));
    assert!(said(quadratic(), Center::No, 3).contains("between 1 and the components of the model (2)"));
}

#[test]
fn the_plain_gradient_and_a_random_start_learn_too() {
    let points = pictures(200, 12, 3);
    for settings in [
        AutoencoderKernelPca::new(3).span(SpanChoice::Data).gradient(Gradient::Plain),
        AutoencoderKernelPca::new(3).start(StartFrom::Random),
        AutoencoderKernelPca::new(3).start(StartFrom::Random).span(SpanChoice::Data),
    ] {
        let settings = settings.epochs(8).batch_size(10);
        let model = settings.fit(&points).unwrap();
        let (first, last) = (model.history()[0].loss, model.history().last().unwrap().loss);
        assert!(last < first, "{settings:?}: {first} to {last}");
    }
}

/// Losses, codes and decoded points of a fit in batches, in more dimensions than are treated exactly.
#[test]
fn what_is_learned_is_what_the_slow_reference_sees() {
    let points = pictures(60, 40, 5);
    let model = AutoencoderKernelPca::new(3).epochs(2).batch_size(16).fit(&points).unwrap();
    let (a, b) = (matrices(&model.encoder(), 40), matrices(&model.decoder(), 40));
    let (losses, codes) = (model.losses(&points).unwrap(), model.encode(&points).unwrap());
    let decoded = model.decode(codes.as_ref(), Some(&points)).unwrap();
    for i in 0..10 {
        let x = points.row(i);
        let slow = autoencoder_sample(&a, &b, &x);
        assert!((losses[i] - slow.loss).abs() < 1e-9 * (1.0 + slow.loss));
        for j in 0..3 {
            assert!((codes[(i, j)] - slow.codes[j]).abs() < 1e-11);
        }
        let mut expected = autoencoder_decode(&b, &slow.codes);
        if expected.iter().zip(&x).map(|(e, x)| e * x).sum::<f64>() < 0.0 {
            for e in &mut expected {
                *e = -*e;
            }
        }
        for k in 0..40 {
            assert!((decoded[(i, k)] - expected[k]).abs() < 1e-7, "point {i}");
        }
    }
}

#[test]
fn a_batch_of_all_samples_moves_by_the_mean_of_their_gradients() {
    let points = pictures(12, 6, 6);
    let settings = AutoencoderKernelPca::new(2).scale(false);
    let start = settings.clone().epochs(0).fit(&points).unwrap();
    let model = settings.learning_rate(0.1).batch_size(12).order(vec![(0..12).collect()]).fit(&points).unwrap();
    let (a, b) = (matrices(&start.encoder(), 6), matrices(&start.decoder(), 6));
    let samples: Vec<_> = (0..12).map(|i| autoencoder_sample(&a, &b, &points.row(i))).collect();
    for (j, after) in matrices(&model.encoder(), 6).iter().enumerate() {
        let moved = Mat::from_fn(6, 6, |r, s| {
            a[j][(r, s)] - 0.1 / 12.0 * samples.iter().map(|x| x.encoder[j][(r, s)]).sum::<f64>()
        });
        assert!((after - moved).norm_max() < 1e-10);
    }
    for (j, after) in matrices(&model.decoder(), 6).iter().enumerate() {
        let moved = Mat::from_fn(6, 6, |r, s| {
            b[j][(r, s)] - 0.1 / 12.0 * samples.iter().map(|x| x.decoder[j][(r, s)]).sum::<f64>()
        });
        assert!((after - moved).norm_max() < 1e-10);
    }
}

/// Twice as large points have the same forms, four times the codes and losses, and twice the decoded points.
#[test]
fn forms_do_not_depend_on_the_units_of_the_data() {
    let points = pictures(80, 10, 7);
    let values: Vec<f64> = (0..80).flat_map(|i| points.row(i)).map(|x| 2.0 * x).collect();
    let doubled = Points::from_f64(values, 80, 10).unwrap();
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let settings = AutoencoderKernelPca::new(3).span(span).epochs(3).batch_size(16);
        let (one, two) = (settings.fit(&points).unwrap(), settings.fit(&doubled).unwrap());
        let factor = if span == SpanChoice::Full { 1.0 } else { 4.0 };
        let gap = one.encoder().iter().zip(two.encoder()).map(|(a, b)| (a - factor * b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-9, "{span}: {gap:e}");
        let (codes, more) = (one.encode(&points).unwrap(), two.encode(&doubled).unwrap());
        assert!((&more - 4.0 * &codes).norm_max() < 1e-8);
        let losses: f64 = one.losses(&points).unwrap().iter().sum();
        assert!((two.losses(&doubled).unwrap().iter().sum::<f64>() - 4.0 * losses).abs() < 1e-7);
        let decoded = two.decode(more.as_ref(), None).unwrap();
        assert!((decoded - 2.0 * one.decode(codes.as_ref(), None).unwrap()).norm_max() < 1e-6);
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_on_any_number_of_threads() {
    let points = pictures(150, 40, 8);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let settings = AutoencoderKernelPca::new(3).span(span).epochs(2).seed(5).batch_size(50);
        let one = settings.clone().threads(1).fit(&points).unwrap();
        let two = settings.clone().threads(2).fit(&points).unwrap();
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(one.encoder()), bits(two.encoder()), "{span}");
        assert_eq!(bits(one.decoder()), bits(two.decoder()), "{span}");
        assert_ne!(bits(one.decoder()), bits(settings.seed(6).fit(&points).unwrap().decoder()));
    }
}

#[test]
fn rows_held_out_end_learning_and_choose_the_epoch() {
    let points = pictures(60, 16, 9);
    let model = AutoencoderKernelPca::new(6).epochs(60).batch_size(4).validation(0.3).patience(3).fit(&points).unwrap();
    let losses: Vec<f64> = model.history().iter().map(|entry| entry.validation_loss.unwrap()).collect();
    let best = losses.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(losses.len() < 61, "it went on to the end");
    assert_eq!(losses.iter().rposition(|&loss| loss <= best).unwrap() + 3, losses.len() - 1);
    // The losses of all rows: held-out ones at their best.
    assert!(model.losses(&points).unwrap().iter().all(|loss| loss.is_finite()));
}

#[test]
fn the_sign_is_that_of_the_reference_of_the_mean_or_of_the_sum() {
    let points = pictures(50, 10, 10);
    let values: Vec<f64> = (0..50).flat_map(|i| points.row(i)).map(|x| -x).collect();
    let negative = Points::from_f64(values, 50, 10).unwrap();
    let settings = AutoencoderKernelPca::new(3).epochs(1);
    let near = settings.fit(&points).unwrap();
    let codes = near.encode(&points).unwrap();
    assert!((&near.encode(&negative).unwrap() - &codes).norm_max() < 1e-12, "codes do not tell signs");
    let (plus, minus) =
        (near.decode(codes.as_ref(), Some(&points)).unwrap(), near.decode(codes.as_ref(), Some(&negative)).unwrap());
    assert!((&plus + &minus).norm_max() < 1e-7);
    assert!((near.decode(codes.as_ref(), None).unwrap() - &plus).norm_max() < 1e-7, "the mean is positive");
    let of_negative = settings.fit(&negative).unwrap();
    assert!((of_negative.decode(codes.as_ref(), None).unwrap() - &minus).norm_max() < 1e-6, "the mean is negative");
    let sums = settings.sign(Sign::Nonnegative).fit(&negative).unwrap();
    assert!((sums.decode(codes.as_ref(), None).unwrap() - &plus).norm_max() < 1e-6);
}

#[test]
fn negative_forms_decode_to_zero() {
    let points = pictures(5, 6, 11);
    let negative: Vec<f64> = (0..36).map(|at| if at / 6 == at % 6 { -1.0 } else { 0.0 }).collect();
    let identity: Vec<f64> = negative.iter().map(|x| -x).collect();
    let model =
        AutoencoderKernelPca::new(1).start(crate::support::given(&identity, &negative)).epochs(0).fit(&points).unwrap();
    assert!(model.reconstruct(&points).unwrap().norm_max() == 0.0);
    // And learning from there goes the right way, though every extreme eigenvalue is negative.
    let learned = AutoencoderKernelPca::new(1)
        .start(crate::support::given(&identity, &negative))
        .epochs(5)
        .batch_size(1)
        .fit(&points)
        .unwrap();
    assert!(learned.history().last().unwrap().loss < learned.history()[0].loss);
}

#[test]
fn a_rate_that_is_too_large_ends_with_the_best_there_was() {
    let points = pictures(100, 12, 12);
    let model = AutoencoderKernelPca::new(3).learning_rate(1e4).batch_size(10).epochs(5).fit(&points).unwrap();
    assert!(model.diverged());
    let start = AutoencoderKernelPca::new(3).epochs(0).fit(&points).unwrap();
    let mean = |losses: Vec<f64>| losses.iter().sum::<f64>() / 100.0;
    assert!(mean(model.losses(&points).unwrap()) <= mean(start.losses(&points).unwrap()) * (1.0 + 1e-12));
    assert!(model.encoder().iter().all(|x| x.is_finite()));
}

#[test]
fn learning_goes_on_with_more_points() {
    let points = pictures(200, 12, 13);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let mut model =
            AutoencoderKernelPca::new(3).span(span).epochs(1).batch_size(20).fit(&points.slice(0..100)).unwrap();
        let before: f64 = model.losses(&points).unwrap().iter().sum();
        for _ in 0..5 {
            model.partial_fit(&points.slice(100..200), &Watch::new()).unwrap();
        }
        assert_eq!((model.n_updates(), model.n_samples(), model.history().len()), (5 + 25, 600, 2 + 5));
        assert!(model.losses(&points).unwrap().iter().sum::<f64>() < before, "{span}");
    }
}

fn scaled(points: &Points, factor: f64) -> Points {
    let (n, d) = (points.n_samples(), points.n_features());
    Points::from_f64((0..n).flat_map(|i| points.row(i)).map(|x| factor * x).collect::<Vec<_>>(), n, d).unwrap()
}

fn mean_loss(model: &Autoencoder, points: &Points) -> f64 {
    model.losses(points).unwrap().iter().sum::<f64>() / points.n_samples() as f64
}

#[test]
fn more_points_that_are_much_longer_do_not_destroy_what_was_learned() {
    let points = pictures(100, 12, 17);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        for factor in [10.0, 1e3, 1e6] {
            let mut model = AutoencoderKernelPca::new(2).span(span).epochs(2).batch_size(20).fit(&points).unwrap();
            let long = scaled(&points, factor);
            let (before, before_long) = (mean_loss(&model, &points), mean_loss(&model, &long));
            model.partial_fit(&long, &Watch::new()).unwrap();
            assert!(!model.diverged(), "{span}, {factor}");
            assert!(mean_loss(&model, &points) < 1.1 * before, "{span}, {factor}: {before}");
            assert!(mean_loss(&model, &long) < 1.1 * before_long, "{span}, {factor}: {before_long}");
            assert!(model.history().last().unwrap().loss < 1.1 * before_long, "{span}, {factor}");
        }
    }
}

#[test]
fn a_given_rate_that_destroys_the_model_is_taken_back_and_said() {
    let points = pictures(100, 12, 18);
    let fitted = AutoencoderKernelPca::new(2).learning_rate(0.1).epochs(2).batch_size(20).fit(&points).unwrap();
    let mut model = fitted.clone();
    model.partial_fit(&scaled(&points, 1e3), &Watch::new()).unwrap();
    assert!(model.diverged());
    assert_eq!(model.encoder(), fitted.encoder());
    assert_eq!(model.mean(), fitted.mean());
    assert_eq!((model.n_samples(), model.n_updates()), (fitted.n_samples(), fitted.n_updates()));
    // What comes next is learned from as if nothing had been.
    model.partial_fit(&points, &Watch::new()).unwrap();
    assert!(!model.diverged() && model.n_updates() > fitted.n_updates());
    let huge = scaled(&points, 1e100);
    assert!(model.partial_fit(&huge, &Watch::new()).unwrap_err().to_string().contains("is too large"));
}

/// A start that is the best there is: every epoch makes things a little worse.
#[test]
fn a_step_that_was_found_never_ends_worse_than_it_began() {
    for seed in 20..26 {
        let points = pictures(30, 6, seed);
        for validation in [0.0, 0.3] {
            let settings = AutoencoderKernelPca::new(12).epochs(6).batch_size(30).validation(validation);
            let model = settings.fit(&points).unwrap();
            let judged = |entry: &HistoryEntry| entry.validation_loss.unwrap_or(entry.loss);
            let best = model.history().iter().map(judged).fold(f64::INFINITY, f64::min);
            assert!(best <= judged(&model.history()[0]));
            if validation == 0.0 {
                let found = mean_loss(&model, &points);
                assert!(found <= best * (1.0 + 1e-5) + 1e-9, "seed {seed}: {found} is kept, {best} was seen");
            }
        }
    }
}

/// 300 of the digits that come with the project, 8 x 8 pixels each.
fn digits() -> Points {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/digits/digits.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let label = header.iter().position(|&name| name == "digit").unwrap();
    let row = |line: &str| -> Vec<f64> {
        let cells = line.split(',').enumerate().filter(|(at, _)| *at != label);
        cells.map(|(_, cell)| cell.parse::<f64>().unwrap() / 16.0).collect()
    };
    Points::from_f64(text.lines().skip(1).take(300).flat_map(row).collect::<Vec<_>>(), 300, 64).unwrap()
}

#[test]
fn few_rows_are_learned_from_better_than_by_pca_with_settings_left_alone() {
    let points = digits();
    for k in [5, 10] {
        let model = AutoencoderKernelPca::new(k).fit(&points).unwrap();
        let pca = LinearPca::fit(&points, k, Center::Yes).unwrap();
        let error = |found: Mat<f64>| mean_squared_error(&found, &points);
        let (own, linear) = (error(model.reconstruct(&points).unwrap()), error(pca.reconstruct(&points).unwrap()));
        assert!(own < linear, "{k} components: {own}, and {linear} by PCA");
    }
}

#[test]
fn a_run_that_is_stopped_keeps_the_best_that_was_looked_at() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use mercer::watch::{Phase, Progress};
    let points = pictures(300, 20, 14);
    let stop = AtomicBool::new(false);
    let observer = |progress: &Progress| {
        if progress.phase == Phase::Learning && progress.pass == 3 && progress.fraction > 0.5 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    // A step that is found, and one that is given and so large that every update is felt.
    for settings in [AutoencoderKernelPca::new(3), AutoencoderKernelPca::new(3).learning_rate(0.2)] {
        stop.store(false, Ordering::Relaxed);
        let model = settings.epochs(50).batch_size(10).fit_watched(&points, &watch).unwrap();
        assert!(model.was_stopped() && model.n_updates() < 50 * 30);
        assert_eq!(model.history().len(), 3);
        let losses = model.losses(&points).unwrap();
        let own = losses.iter().sum::<f64>() / losses.len() as f64;
        let best = model.history().iter().map(|entry| entry.loss).fold(f64::INFINITY, f64::min);
        assert!((own - best).abs() < 1e-4 * best, "{own}, and the best epoch had {best}");
    }
}

/// Whether a fit is stopped while the step is looked for, or before anything but a start that takes no time.
#[test]
fn a_run_that_is_stopped_before_its_first_epoch_keeps_its_start() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use mercer::watch::{Phase, Progress};
    let points = pictures(300, 20, 21);
    for (start, stopped_at_once) in [(StartFrom::KernelPca, false), (StartFrom::Random, true)] {
        for validation in [0.0, 0.2] {
            let stop = AtomicBool::new(stopped_at_once);
            let observer = |progress: &Progress| {
                if progress.phase == Phase::Learning {
                    stop.store(true, Ordering::Relaxed);
                }
            };
            let watch = Watch::new().interrupt(&stop).observer(&observer);
            let settings = AutoencoderKernelPca::new(3).start(start.clone()).validation(validation);
            let mut model = settings.clone().fit_watched(&points, &watch).unwrap();
            assert!(model.was_stopped() && !model.diverged());
            assert_eq!((model.n_updates(), model.history().len(), model.learning_rate()), (0, 1, 0.0));
            let whole = settings.epochs(0).fit(&points).unwrap();
            assert!(!whole.was_stopped());
            assert_eq!(model.encoder(), whole.encoder());
            if !stopped_at_once {
                assert_eq!(model.history()[0].loss.to_bits(), whole.history()[0].loss.to_bits());
            }
            let first = &model.history()[0];
            assert!(first.loss > 0.0 && first.validation_loss.is_some() == (validation > 0.0), "{first:?}");
            // The step is found when learning goes on.
            model.partial_fit(&points, &Watch::new()).unwrap();
            assert!(!model.was_stopped() && model.n_updates() > 0 && model.learning_rate() > 0.0);
        }
    }
}

#[test]
fn the_decay_that_is_left_out_is_a_quarter_of_all_updates() {
    use std::sync::atomic::AtomicBool;

    let points = pictures(12, 6, 22);
    let settings = AutoencoderKernelPca::new(2).batch_size(2).learning_rate(1e-3);
    assert_eq!(settings.clone().epochs(4).fit(&points).unwrap().decay(), Some(6.0));
    let order = vec![vec![0, 1, 2], vec![3, 4, 5, 6], vec![7]];
    assert_eq!(settings.clone().order(order).fit(&points).unwrap().decay(), Some(1.25));
    // Those to come are some of them.
    let first = settings.clone().epochs(4).epochs_now(1).fit(&points).unwrap();
    assert_eq!((first.n_updates(), first.history().len(), first.decay()), (6, 2, Some(6.0)));
    assert_eq!(settings.clone().epochs_now(1).fit(&points).unwrap().decay(), Some(30.0));
    // After none at all, those to come are as many as if nothing had been said.
    assert_eq!(settings.clone().epochs(0).fit(&points).unwrap().decay(), Some(30.0));
    assert_eq!(settings.clone().epochs(0).epochs_now(1).fit(&points).unwrap().decay(), Some(30.0));
    // However many epochs there are.
    let stop = AtomicBool::new(true);
    let endless = settings
        .start(StartFrom::Random)
        .epochs(usize::MAX)
        .fit_watched(&points, &Watch::new().interrupt(&stop))
        .unwrap();
    assert_eq!(endless.decay(), Some(6.0 * usize::MAX as f64 / 4.0));
}

/// The eigenvalues of a string's matrix crowd at the upper end, so that 300 products of 500 tell none of them to ten digits.
#[test]
fn codes_whose_eigenpair_has_not_converged_are_told() {
    let d = 500;
    let string = |at: usize| if (at / d).abs_diff(at % d) == 1 { 0.5 } else { 0.0 };
    let corner = |at: usize| if at == 0 { 1.0 } else { 0.0 };
    let decoder: Vec<f64> = (0..d * d).map(string).chain((0..d * d).map(corner)).collect();
    let start = StartFrom::Given(Given { encoder: vec![0.0; 2 * d * d], decoder });
    let points = pictures(2, d, 24);
    let model = AutoencoderKernelPca::new(2).start(start).epochs(0).fit(&points).unwrap();
    let codes = Mat::from_fn(3, 2, |i, j| if i == j { 1.0 } else { 0.0 });
    let found = model.decode_watched(codes.as_ref(), None, &Threads::new(2).unwrap(), &Watch::new()).unwrap();
    assert_eq!((found.converged.as_slice(), found.n_not_converged()), ([false, true, true].as_slice(), 1));
    assert!((found.points[(1, 0)].abs() - 1.0).abs() < 1e-12, "the corner is a point");
    assert!((0..d).all(|k| found.points[(2, k)] == 0.0), "nothing is decoded to nothing");
}

#[test]
fn losses_can_be_stopped() {
    use std::sync::atomic::AtomicBool;

    let (points, stop) = (pictures(40, 6, 23), AtomicBool::new(true));
    let model = AutoencoderKernelPca::new(2).epochs(1).fit(&points).unwrap();
    let threads = Threads::new(1).unwrap();
    let stopped = model.losses_watched(&points, &threads, &Watch::new().interrupt(&stop)).unwrap_err();
    assert_eq!(stopped.kind(), mercer::ErrorKind::Interrupted);
    assert_eq!(model.losses_watched(&points, &threads, &Watch::new()).unwrap(), model.losses(&points).unwrap());
}

#[test]
fn rows_of_zeros_single_rows_and_more_components_than_rows_are_learned_from() {
    let mut values: Vec<f64> = (0..10).flat_map(|i| pictures(10, 4, 15).row(i)).collect();
    values[8..16].fill(0.0);
    let with_zeros = Points::from_f64(values, 10, 4).unwrap();
    let one = pictures(1, 4, 16);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        for points in [&with_zeros, &one] {
            let model = AutoencoderKernelPca::new(10).span(span).epochs(3).batch_size(2).fit(points).unwrap();
            assert!(model.losses(points).unwrap().iter().all(|loss| loss.is_finite()));
            assert!(mean_squared_error(&model.reconstruct(points).unwrap(), points) < 0.05, "{span}");
        }
    }
}

#[test]
fn bytes_and_single_precision_are_learned_from() {
    let bytes: Vec<u8> = (0..100 * 9).map(|at| ((at * 37 + at / 9 * 11) % 256) as u8).collect();
    let floats: Vec<f32> = bytes.iter().map(|&x| f32::from(x)).collect();
    let settings = AutoencoderKernelPca::new(3).epochs(2);
    let of_bytes = settings.fit(&Points::from_u8(bytes, 100, 9, 1.0).unwrap()).unwrap();
    let of_floats = settings.fit(&Points::from_f32(floats, 100, 9).unwrap()).unwrap();
    assert_eq!(of_bytes.encoder(), of_floats.encoder());
    assert!(of_bytes.scale() > 255.0);
}
