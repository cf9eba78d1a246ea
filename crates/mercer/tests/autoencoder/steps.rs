//! Steps that are taken, taken back and kept.

use std::sync::atomic::{AtomicBool, Ordering};

use mercer::autoencoder::{
    Autoencoder, AutoencoderKernelPca, Codec, Given, Gradient, LearningRate, SpanChoice, StartFrom,
};
use mercer::watch::{Phase, Progress};
use mercer::{MemoryBudget, Points, Watch};

use crate::support::pictures;

/// Rows of which the first is so many times as long.
fn with_one_long(rows: usize, columns: usize, seed: u64, factor: f64) -> Points {
    let points = pictures(rows, columns, seed);
    let values = (0..rows).flat_map(|i| points.row(i).into_iter().map(move |x| if i == 0 { factor * x } else { x }));
    Points::from_f64(values.collect::<Vec<_>>(), rows, columns).unwrap()
}

#[test]
fn a_row_that_is_much_longer_than_the_others_is_no_divergence() {
    let points = with_one_long(300, 5, 31, 100.0);
    for span in [SpanChoice::Full, SpanChoice::Data] {
        let settings = AutoencoderKernelPca::new(2).span(span).start(StartFrom::Random).batch_size(1);
        let model = settings.learning_rate(1e-9).epochs(2).fit(&points).unwrap();
        assert!(!model.diverged(), "{span}");
        assert_eq!(model.n_updates(), 600, "{span}");
        let found = AutoencoderKernelPca::new(2).span(span).batch_size(4).epochs(3).fit(&points).unwrap();
        assert!(found.converged() && found.n_updates() > 0, "{span}: {} halvings", found.n_halved());
    }
}

/// The step is found on a third of the rows. Where the row that is much longer than the others is not among them, it is much too large for it, and an epoch makes the
/// loss larger: by so much that it is taken back, or by less.
#[test]
fn learning_that_was_all_in_vain_is_told() {
    let (mut n_taken_back, mut n_left) = (0, 0);
    for factor in [1.0, 100.0] {
        let points = with_one_long(1600, 5, 32, factor);
        for seed in 0..6 {
            let settings = AutoencoderKernelPca::new(2).batch_size(16).seed(seed);
            let start = settings.clone().epochs(0).fit(&points).unwrap();
            assert!(start.converged() && !start.is_stuck(), "nothing was to be learned");
            let model = settings.epochs(1).fit(&points).unwrap();
            let is_vain = model.encoder() == start.encoder();
            assert_eq!((model.is_stuck(), model.converged()), (is_vain, !is_vain), "{factor} times, seed {seed}");
            assert!(!is_vain || factor > 1.0, "seed {seed}");
            n_taken_back += usize::from(is_vain && model.history().len() == 1);
            n_left += usize::from(is_vain && model.history().len() > 1);
        }
    }
    assert!(n_taken_back > 0 && n_left > 0, "{n_taken_back} were taken back, and {n_left} were not");
}

/// Where encoder and decoder are zero, neither is pulled at.
#[test]
fn a_start_that_nothing_moves_is_no_model_that_has_converged() {
    let points = pictures(60, 6, 40);
    for rate in [LearningRate::Auto, LearningRate::Fixed(0.1)] {
        let zeros = Given { encoder: vec![0.0; 2 * 36], decoder: vec![0.0; 2 * 36] };
        let settings = AutoencoderKernelPca::new(2).start(StartFrom::Given(zeros)).learning_rate(rate).epochs(4);
        let model = settings.clone().fit(&points).unwrap();
        assert!(model.is_stuck() && !model.converged() && !model.diverged(), "{rate:?}");
        assert!(model.history().len() > 1 && model.encoder().iter().all(|&x| x == 0.0), "{rate:?}");
        // With samples in an order of one's own and a step that was given, where they lead is what was asked for.
        let ordered = settings.order(vec![(0..20).collect(); 4]).fit(&points).unwrap();
        assert_eq!(ordered.converged(), rate != LearningRate::Auto, "{rate:?}");
    }
}

/// Of ten rows in one call nothing follows, but of a hundred in as many calls it does; and ten times as much as before in each of them is not ten times as much.
#[test]
fn rows_that_come_one_at_a_time_do_not_blow_a_model_up_unnoticed() {
    let points = pictures(100, 10, 40);
    let squares: Vec<f64> = (0..100).map(|i| points.row(i).iter().map(|x| x * x).sum()).collect();
    let largest = squares.iter().copied().fold(0.0, f64::max);
    let loss = |model: &Autoencoder| model.losses(&points).unwrap().iter().sum::<f64>() / 100.0;
    for rate in [0.01, 1.0, 3.0, 30.0] {
        let settings = AutoencoderKernelPca::new(3).learning_rate(rate).batch_size(1).decay(1e9).epochs(0);
        let mut model = settings.fit(&points).unwrap().with_threads(1);
        let start_loss = loss(&model);
        let told: Vec<bool> = (0..100)
            .map(|i| {
                model.partial_fit(&points.slice(i..i + 1), &Watch::new()).unwrap();
                assert_eq!(model.converged(), !model.diverged());
                model.diverged()
            })
            .collect();
        let end_loss = loss(&model);
        if rate < 0.1 {
            assert!(told.iter().all(|&is_told| !is_told), "step {rate}: {told:?}");
            assert!(end_loss < start_loss, "step {rate}: {start_loss} to {end_loss}");
        } else {
            assert!(told[20..].iter().all(|&is_told| is_told), "step {rate}: {told:?}");
            assert!(end_loss < 100.0 * largest, "step {rate}: {start_loss} to {end_loss}");
        }
        if rate < 2.0 {
            assert_eq!(model.n_updates(), 100, "step {rate}: what a row leads to is kept");
        }
    }
}

/// Nothing but the length of a step depends on the units of points that are not divided by their largest norm.
#[test]
fn a_step_is_found_for_points_of_any_size() {
    let points = pictures(120, 8, 41);
    for (span, gradient) in [
        (SpanChoice::Full, Gradient::Functional),
        (SpanChoice::Data, Gradient::Functional),
        (SpanChoice::Data, Gradient::Plain),
    ] {
        let settings = AutoencoderKernelPca::new(2).span(span).gradient(gradient).epochs(5);
        let gain = |model: &Autoencoder| model.history().last().unwrap().loss / model.history()[0].loss;
        let expected = gain(&settings.fit(&points).unwrap());
        for factor in [1e-4, 1.0, 1e4] {
            let sized = {
                let values: Vec<f64> = (0..120).flat_map(|i| points.row(i)).map(|x| factor * x).collect();
                Points::from_f64(values, 120, 8).unwrap()
            };
            let mut model = settings.clone().scale(false).fit(&sized).unwrap();
            let what = format!("{span}, {gradient}, {factor} times");
            assert!((gain(&model) - expected).abs() < 0.005, "{what}: {}, and {expected} if divided", gain(&model));
            assert!(model.converged() && !model.is_scaled(), "{what}");
            let norm = (0..120).map(|i| sized.row(i).iter().map(|x| x * x).sum::<f64>().sqrt()).fold(0.0, f64::max);
            assert!((model.longest() / norm - 1.0).abs() < 1e-12, "{what}: {}, not {norm}", model.longest());
            // More points of this size go on with the step that is due.
            let due = model.history().last().unwrap().rate;
            model.partial_fit(&sized, &Watch::new()).unwrap();
            let rate = model.history().last().unwrap().rate;
            assert!(model.converged() && rate > 0.5 * due && rate < due, "{what}: {rate} after {due}");
        }
    }
}

/// The mean loss of all rows is made of those of both parts, so it tells which epoch they are of.
#[test]
fn the_epoch_that_is_best_for_rows_held_out_is_the_one_that_is_kept() {
    let (points, share) = (pictures(200, 10, 33), 0.5);
    let settings = AutoencoderKernelPca::new(6).validation(share).learning_rate(0.4).decay(1e9);
    let model = settings.batch_size(4).epochs(12).patience(12).fit(&points).unwrap();
    let judged: Vec<f64> = model.history().iter().map(|entry| entry.validation_loss.unwrap()).collect();
    let best = (0..judged.len()).min_by(|&a, &b| judged[a].total_cmp(&judged[b])).unwrap();
    assert!(best + 1 < judged.len(), "the last epoch is the best: {judged:?}");
    let expected = |epoch: usize| (1.0 - share) * model.history()[epoch].loss + share * judged[epoch];
    let found = model.losses(&points).unwrap().iter().sum::<f64>() / 200.0;
    assert!((found - expected(best)).abs() < 1e-4 * found, "{found}, and epoch {best} had {}", expected(best));
    let last = expected(judged.len() - 1);
    assert!((found - last).abs() > 1e-3 * found, "the last epoch had as much: {last}");
}

/// One update of all rows: the loss afterwards is at most quadratic in the step, so that steps which grow by a quarter cannot leap from a loss that has fallen to one that
/// is ten times as large.
#[test]
fn a_given_step_that_ends_worse_than_it_began_is_told_and_the_best_is_kept() {
    let points = pictures(60, 8, 37);
    let settings = |rate: f64| AutoencoderKernelPca::new(2).learning_rate(rate).batch_size(60);
    let start = settings(0.1).epochs(0).fit(&points).unwrap();
    let mut n_grown = 0;
    for power in 0..80 {
        let rate = 0.1 * 1.25_f64.powi(power);
        let model = settings(rate).epochs(1).fit(&points).unwrap();
        let [first, last] = model.history() else { break };
        assert_eq!(model.encoder() == start.encoder(), last.loss >= first.loss, "step {rate}");
        let has_grown = last.loss > 1.02 * first.loss;
        assert_eq!((model.diverged(), model.converged()), (has_grown, last.loss < first.loss), "step {rate}");
        n_grown += usize::from(has_grown);
        // In an order of one's own it leads where it leads, and that is kept, but not without a word.
        let ordered = settings(rate).order(vec![(0..60).collect()]).fit(&points).unwrap();
        let [first, last] = ordered.history() else { break };
        assert_ne!(ordered.encoder(), start.encoder(), "step {rate}");
        assert_eq!(ordered.diverged(), last.loss > 1.02 * first.loss, "step {rate}");
    }
    assert!(n_grown > 0, "no step made the loss larger");
}

/// What a fit of one epoch does, an epoch over the same rows does later: a loss of up to ten times that of no parameters at all was kept without a word.
#[test]
fn more_points_whose_loss_a_given_step_makes_larger_are_taken_back_as_by_a_fit() {
    let points = pictures(60, 8, 37);
    let settings = |rate: f64| AutoencoderKernelPca::new(2).learning_rate(rate).batch_size(60);
    let mut n_grown = 0;
    for power in 0..80 {
        let rate = 0.1 * 1.25_f64.powi(power);
        let fitted = settings(rate).epochs(1).fit(&points).unwrap();
        if fitted.history().len() == 1 {
            break;
        }
        let start = settings(rate).epochs(0).fit(&points).unwrap();
        let mut model = start.clone();
        model.partial_fit(&points, &Watch::new()).unwrap();
        let has_grown = fitted.diverged();
        assert_eq!((model.diverged(), model.converged()), (has_grown, !has_grown), "step {rate}");
        assert_eq!(model.encoder() == start.encoder(), has_grown, "step {rate}");
        assert_eq!((model.n_updates(), model.history().len() - 1), (usize::from(!has_grown), usize::from(!has_grown)));
        n_grown += usize::from(has_grown);
    }
    assert!(n_grown > 0, "no step made the loss larger");
}

/// Ten rows in batches of one lead where an order of one's own leads, to the bit; of one row more the loss is looked at.
#[test]
fn a_few_rows_one_at_a_time_are_for_the_iterates_of_the_textbook() {
    for n in [10, 11] {
        let points = pictures(n, 8, 38);
        let settings = |rate: f64| AutoencoderKernelPca::new(2).learning_rate(rate).batch_size(1).decay(1e9);
        let mut n_grown = 0;
        for power in 0..100 {
            let rate = 0.01 * 1.1_f64.powi(power);
            let ordered = settings(rate).order(vec![(0..n).collect()]).fit(&points).unwrap();
            let [first, last] = ordered.history() else { break };
            let mut model = settings(rate).epochs(0).fit(&points).unwrap();
            model.partial_fit(&points, &Watch::new()).unwrap();
            let has_grown = last.loss > 1.02 * first.loss;
            let is_kept = n == 10 || !has_grown;
            assert_eq!((model.diverged(), model.converged()), (!is_kept, is_kept), "{n} rows, step {rate}");
            assert_eq!(ordered.diverged(), n > 10 && has_grown, "{n} rows, step {rate}");
            assert_eq!(model.encoder() == ordered.encoder(), is_kept, "{n} rows, step {rate}");
            n_grown += usize::from(has_grown);
        }
        assert!(n_grown > 0, "no step made the loss of {n} rows larger");
    }
}

/// The textbook is for a few rows that are given, not for a few that there was time for.
#[test]
fn more_points_that_are_cut_off_after_a_few_rows_are_judged_as_all_of_them_are() {
    let points = pictures(30, 8, 39);
    let few = points.slice(0..5);
    let mut n_grown = 0;
    for power in 0..100 {
        let rate = 0.01 * 1.1_f64.powi(power);
        let settings = AutoencoderKernelPca::new(2).learning_rate(rate).batch_size(1).decay(1e9).epochs(0);
        let start = settings.fit(&points).unwrap();
        let mut textbook = start.clone();
        textbook.partial_fit(&few, &Watch::new()).unwrap();
        if textbook.n_updates() == 0 {
            break;
        }
        let stop = AtomicBool::new(false);
        let observer = |progress: &Progress| {
            if progress.phase == Phase::Learning && progress.fraction > 3.5 / 30.0 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let mut model = start.clone();
        model.partial_fit(&points, &Watch::new().interrupt(&stop).observer(&observer)).unwrap();
        assert!(model.was_stopped() && !model.diverged(), "step {rate}");
        let loss = |model: &Autoencoder| model.losses(&few).unwrap().iter().sum::<f64>();
        let grown = loss(&textbook) / loss(&start);
        // Losses are looked at less exactly while learning than when they are asked for.
        if grown > 1.03 {
            assert_eq!(
                (model.n_updates(), model.encoder() == start.encoder()),
                (0, true),
                "step {rate}: {grown} times"
            );
            n_grown += 1;
        } else if grown < 1.01 {
            assert_eq!((model.n_updates(), model.encoder() == textbook.encoder()), (5, true), "step {rate}");
        }
    }
    assert!(n_grown > 0, "no step made the loss larger");
}

#[test]
fn more_points_that_are_cut_off_count_as_far_as_they_were_learned_from() {
    let points = pictures(400, 12, 34);
    let fitted = AutoencoderKernelPca::new(2).epochs(2).batch_size(20).fit(&points.slice(0..100)).unwrap();
    let more = points.slice(100..400);
    let stop = AtomicBool::new(false);
    let observer = |progress: &Progress| {
        if progress.phase == Phase::Learning && progress.fraction > 0.5 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let mut model = fitted.clone();
    model.partial_fit(&more, &Watch::new().interrupt(&stop).observer(&observer)).unwrap();
    assert!(model.was_stopped() && !model.converged());
    let learned = model.n_samples() - fitted.n_samples();
    assert!(learned > 0 && learned < 300 && learned == 20 * (model.n_updates() - fitted.n_updates()), "{learned}");
    let mean = |k: usize| (0..100 + learned).map(|i| points.row(i)[k]).sum::<f64>() / (100 + learned) as f64;
    assert!((0..12).all(|k| (model.mean()[k] - mean(k)).abs() < 1e-12));
}

/// Whether it has a step, or was itself stopped before one was found.
#[test]
fn more_points_that_are_cut_off_before_the_first_update_leave_everything_as_it_was() {
    let (points, stop) = (pictures(200, 12, 35), AtomicBool::new(true));
    let settings = AutoencoderKernelPca::new(2).start(StartFrom::Random).epochs(2).batch_size(20);
    let watch = Watch::new().interrupt(&stop);
    let without_step = settings.fit_watched(&points, &watch).unwrap();
    assert_eq!(without_step.learning_rate().to_bits(), 0.0_f64.to_bits());
    for fitted in [settings.fit(&points).unwrap(), without_step] {
        let mut untouched = fitted.clone();
        untouched.partial_fit(&pictures(100, 12, 36), &watch).unwrap();
        assert!(untouched.was_stopped() && !untouched.converged() && !untouched.diverged());
        assert_eq!((untouched.encoder(), untouched.decoder()), (fitted.encoder(), fitted.decoder()));
        assert_eq!((untouched.n_samples(), untouched.mean()), (fitted.n_samples(), fitted.mean()));
        assert_eq!((untouched.n_updates(), untouched.history()), (fitted.n_updates(), fitted.history()));
        // And it goes on from there.
        untouched.partial_fit(&points, &Watch::new()).unwrap();
        assert!(untouched.converged() && untouched.n_updates() > fitted.n_updates());
    }
}

#[test]
fn a_span_is_made_of_rows_that_are_not_zero() {
    let values: Vec<f64> = (0..600).map(|at| if at < 3 { 1.0 } else { 0.0 }).collect();
    let points = Points::from_f64(values, 200, 3).unwrap();
    let model = AutoencoderKernelPca::new(1).span(SpanChoice::Data).landmarks(5).epochs(2).fit(&points).unwrap();
    assert_eq!(model.span_points().unwrap().nrows(), 1);
    let decoded = model.reconstruct(&points).unwrap();
    assert!((decoded[(0, 1)] - 1.0).abs() < 0.05 && decoded[(1, 1)].abs() < 1e-9, "{decoded:?}");
}

#[test]
fn forms_that_are_not_symmetric_take_twice_the_memory() {
    let (points, k, d) = (pictures(50, 40, 35), 2, 40);
    let fit = |slant: f64| {
        let matrix = |at: usize| if at % (d * d) == 1 { slant } else { f64::from(u8::from(at.is_multiple_of(d + 1))) };
        let numbers: Vec<f64> = (0..k).flat_map(|_| (0..d * d).map(matrix)).collect();
        let start = StartFrom::Given(Given { encoder: numbers.clone(), decoder: numbers });
        AutoencoderKernelPca::new(k).start(start).epochs(0).memory(MemoryBudget::Bytes(80_000)).fit(&points)
    };
    assert!(fit(0.0).is_ok());
    let said = fit(0.5).unwrap_err().to_string();
    assert!(said.contains("2 forms of 40 columns"), "{said}");
}
