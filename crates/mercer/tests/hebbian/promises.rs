//! Going on, starting warm, stopping: what a run promises.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use faer::Mat;
use mercer::hebbian::{RecordError, Start};
use mercer::{
    Center, Error, ErrorKind, Gain, GainRule, GramChoice, HebbianLearner, Kernel, KernelHebbianPca, KernelPca, Refresh,
    Watch,
};
use mercer_testkit::Format;
use mercer_testkit::generate::{clusters, gaussian_cloud};

use crate::support::{N, close, points, precomputed, resume, small as settings};

#[test]
fn passes_in_two_calls_are_passes_in_one() {
    for rule in [GainRule::EigenvalueStar, GainRule::MetaDescent] {
        let whole = settings(rule).eta0(0.05).mu(0.01).passes(7).fit(&points()).unwrap();
        let mut parts = settings(rule).eta0(0.05).mu(0.01).passes(4).fit(&points()).unwrap();
        parts.partial_fit(None, 3, &Watch::new()).unwrap();
        assert_eq!(whole.coefficients(), parts.coefficients(), "{rule}");
        assert_eq!(whole.n_updates(), 7 * N);
        assert_eq!(parts.history().len(), 7);
    }
}

#[test]
fn a_run_from_the_exact_model_stays_there() {
    let exact = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).fit(&points()).unwrap();
    let start = Start { model: Some(&exact), ..Start::default() };
    let order = [5];
    let one = Start { order: Some(&order), ..start };
    let first = settings(GainRule::EigenvalueStar).eta0(1e-12).fit_from(&points(), &one, &Watch::new()).unwrap();
    close(first.coefficients().as_ref(), exact.dual_coefficients().transpose(), 1e-9, "start");
    assert!(first.subspace_angle(&exact).unwrap() < 1e-6);
    // The same directions, over other points of the same kind: nearly as good a start.
    let more = clusters(2 * N, 5, 4, 2).points(Format::F64);
    let target = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).fit(&more).unwrap();
    let elsewhere = settings(GainRule::EigenvalueStar).eta0(1e-12).fit_from(&more, &one, &Watch::new()).unwrap();
    let random = settings(GainRule::EigenvalueStar).eta0(1e-12);
    let cold = Start { order: Some(&order), ..Start::default() };
    let random = random.fit_from(&more, &cold, &Watch::new()).unwrap();
    let (warm, cold) = (elsewhere.subspace_angle(&target).unwrap(), random.subspace_angle(&target).unwrap());
    assert!(warm < 0.2 && cold > 1.0, "{warm} {cold}");
}

#[test]
fn new_points_change_nothing_until_they_are_seen_and_are_learned_then() {
    for (center, rule) in [
        (Center::Yes, GainRule::EigenvalueStar),
        (Center::No, GainRule::EigenvalueStar),
        (Center::Yes, GainRule::MetaDescentStar),
    ] {
        let cloud = clusters(2 * N, 5, 4, 2).points(Format::F64);
        let (old, new) = (cloud.slice(0..N), cloud.slice(N..2 * N));
        let settings = settings(rule).center(center).mu(1e-3);
        let mut learner = settings.fit(&old).unwrap();
        let before = learner.model().unwrap();
        learner.partial_fit(Some(&new), 40, &Watch::new()).unwrap();
        assert_eq!(learner.points().n_samples(), 2 * N);
        assert_eq!(learner.n_updates(), 4 * N + 80 * N);
        let exact = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).center(center).fit(&cloud).unwrap();
        let angle = learner.subspace_angle(&exact).unwrap();
        assert!(angle < 0.05, "{center:?} {rule}: {angle}");
        let found = learner.model().unwrap();
        let gap = (found.eigenvalues()[0] - exact.eigenvalues()[0]).abs() / exact.eigenvalues()[0];
        assert!(gap < 1e-3, "{center:?}: {gap}");
        assert_eq!(before.n_samples(), N);
        // A run that continues after that can be resumed as well.
        let mut resumed = resume(&learner, &cloud);
        resumed.partial_fit(None, 1, &Watch::new()).unwrap();
        learner.partial_fit(None, 1, &Watch::new()).unwrap();
        assert_eq!(resumed.coefficients(), learner.coefficients());
    }
}

#[test]
fn directions_are_carried_over_to_more_points_as_they_are() {
    // With a gain that changes nothing, the model of old and new points has the old directions: the scores of any point differ
    // by a constant only, which the new mean accounts for.
    let cloud = clusters(2 * N, 5, 4, 2).points(Format::F64);
    let (old, new) = (cloud.slice(0..N), cloud.slice(N..2 * N));
    let mut learner = settings(GainRule::Annealed).eta0(1e-300).passes(1).fit(&old).unwrap();
    let queries = gaussian_cloud(6, 5, 1).points(Format::F64);
    let gram = |learner: &HebbianLearner| -> Mat<f64> {
        let scores = learner.model().unwrap().transform(&queries).unwrap();
        let differences = Mat::from_fn(5, scores.ncols(), |i, j| scores[(i + 1, j)] - scores[(0, j)]);
        // Rotations inside the span do not change inner products of score differences.
        &differences * differences.transpose()
    };
    let before = gram(&learner);
    learner.partial_fit(Some(&new), 1, &Watch::new()).unwrap();
    close(gram(&learner).as_ref(), before.as_ref(), 1e-8, "score differences");
}

#[test]
fn what_cannot_be_learned_from_is_refused_and_nothing_changes() {
    let mut learner = settings(GainRule::EigenvalueStar).passes(1).fit(&points()).unwrap();
    let before = learner.coefficients();
    let narrow = gaussian_cloud(4, 3, 1).points(Format::F64);
    let error = learner.partial_fit(Some(&narrow), 1, &Watch::new()).unwrap_err().to_string();
    assert_eq!(error, "the new data has 3 columns, but the model was fitted on 5");
    let single = gaussian_cloud(4, 5, 1).points(Format::F32);
    let error = learner.partial_fit(Some(&single), 1, &Watch::new()).unwrap_err().to_string();
    assert_eq!(error, "`new data` must be numbers of the format learned from (f64), but it is f32");
    assert!(learner.partial_fit(None, 0, &Watch::new()).is_err());
    let matrix = precomputed(Mat::<f64>::identity(6, 6).as_ref());
    let given = KernelHebbianPca::new(Kernel::Precomputed).n_components(2).passes(1);
    let mut given = given.fit(&matrix).unwrap();
    let error = given.partial_fit(Some(&matrix), 1, &Watch::new()).unwrap_err().to_string();
    assert!(error.starts_with("learning from more points does not work with the precomputed kernel"), "{error}");
    assert_eq!(learner.coefficients(), before);
}

#[test]
fn a_run_that_diverges_later_leaves_the_learner_as_it_was() {
    let start = Start { order: Some(&[0]), ..Start::default() };
    let mut learner = settings(GainRule::Constant).eta0(8.0).fit_from(&points(), &start, &Watch::new()).unwrap();
    let (before, entries) = (learner.coefficients(), learner.history().len());
    let error = learner.partial_fit(None, 3, &Watch::new()).unwrap_err();
    assert!(matches!(error, Error::Diverged { updates, .. } if updates <= 101), "{error}");
    assert_eq!(learner.coefficients(), before);
    assert_eq!(learner.history().len(), entries);
}

#[test]
fn divergence_names_the_gain_and_is_noticed_within_a_hundred_updates() {
    for rule in GainRule::NAMES.iter().map(|name| name.parse::<GainRule>().unwrap()) {
        let settings = KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap());
        let settings = settings.n_components(3).gain(rule).eta0(500.0).mu(0.5).batch_size(288);
        let many = clusters(400, 5, 4, 2).points(Format::F64);
        let error = settings.fit(&many).unwrap_err();
        let Error::Diverged { rule: name, eta0, mu, updates, died: false, .. } = error else {
            panic!("{rule}: {error}")
        };
        assert_eq!((name, eta0.to_bits()), (rule.name(), 500.0_f64.to_bits()));
        assert!(updates <= 100, "{rule}: {updates}");
        assert_eq!(mu.is_some(), rule.adapts());
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("diverged within {updates} updates")), "{error}");
        assert!(error.to_string().contains("eta0 = 500"), "{error}");
    }
}

#[test]
fn the_gain_over_eigenvalues_does_not_depend_on_the_scale_of_the_kernel() {
    let cloud = gaussian_cloud(N, 4, 9);
    // A dot product whose points have a mean square above one in feature space, and the same times powers of four.
    let learned = |scale: f64| {
        let gram =
            Mat::from_fn(N, N, |i, j| scale * cloud.row(i).iter().zip(cloud.row(j)).map(|(a, b)| a * b).sum::<f64>());
        let settings = KernelHebbianPca::new(Kernel::Precomputed).gain(GainRule::EigenvalueStar).passes(8).seed(7);
        settings.fit(&precomputed(gram.as_ref())).unwrap()
    };
    let base = learned(1.0);
    for scale in [4.0, 256.0, 2.0_f64.powi(40)] {
        let other = learned(scale);
        assert_eq!(other.gain_parameters(), base.gain_parameters(), "{scale}");
        let found = other.coefficients();
        let unscaled = Mat::from_fn(found.nrows(), N, |i, j| scale.sqrt() * found[(i, j)]);
        close(unscaled.as_ref(), base.coefficients().as_ref(), 1e-12, &format!("coefficients, {scale}"));
    }
}

#[test]
fn a_stopped_run_keeps_what_it_has_learned() {
    let stop = AtomicBool::new(false);
    let calls = AtomicUsize::new(0);
    let observer = |_: &mercer::watch::Progress| {
        if calls.fetch_add(1, Ordering::Relaxed) > 20 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    let learner =
        settings(GainRule::Annealed).eta0(0.2).passes(50).fit_from(&points(), &Start::default(), &watch).unwrap();
    assert!(learner.was_stopped());
    assert!(learner.n_updates() > 0 && learner.n_updates() < 50 * N);
    assert!(learner.model().unwrap().record().warnings.iter().any(|warning| warning.contains("stopped")));
    let error = settings(GainRule::Annealed).fit_from(&points(), &Start::default(), &watch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[test]
fn history_is_kept_where_it_was_asked_for() {
    let learner = settings(GainRule::EigenvalueStar).eta0(0.5).passes(2).record_every(40).fit(&points()).unwrap();
    let updates: Vec<usize> = learner.history().iter().map(|entry| entry.updates).collect();
    assert_eq!(updates, [40, 80, 90, 120, 160, 180]);
    let passes: Vec<usize> = learner.history().iter().map(|entry| entry.passes).collect();
    assert_eq!(passes, [0, 0, 1, 1, 1, 2]);
    let last = learner.history().last().unwrap();
    assert_eq!(last.eigenvalue_estimates, learner.eigenvalue_estimates());
    assert_eq!(last.gains, learner.gains());
}

#[test]
fn an_entry_of_the_history_is_the_end_of_a_run_that_ends_there() {
    for rule in [GainRule::Annealed, GainRule::EigenvalueStar, GainRule::MetaDescent] {
        let settings = settings(rule).eta0(0.05).mu(0.01);
        let whole = settings.clone().passes(3).fit(&points()).unwrap();
        assert_eq!(whole.history().len(), 3);
        for (entry, passes) in whole.history().iter().zip(1..) {
            let part = settings.clone().passes(passes).fit(&points()).unwrap();
            assert_eq!((entry.passes, entry.updates), (passes, passes * N), "{rule}");
            assert_eq!(entry.eigenvalue_estimates, part.eigenvalue_estimates(), "{rule}");
            assert_eq!(entry.gains, part.gains(), "{rule}");
            let error = part.reconstruction_error(&Watch::new()).unwrap();
            assert_eq!(entry.error.map(f64::to_bits), Some(error.to_bits()), "{rule}");
        }
    }
}

#[test]
fn memory_beyond_the_data_grows_with_the_points_and_not_with_their_pairs() {
    // From 3000 points on batches have their full size.
    let bytes = |n: usize, refresh: Refresh| {
        let points = gaussian_cloud(n, 5, 1).points(Format::F64);
        let settings = settings(GainRule::MetaDescentStar).refresh(refresh).gram(GramChoice::Tiled);
        settings.threads(1).plan_record(&points).unwrap().plan.expected_memory_bytes as f64
    };
    for refresh in [Refresh::Pass, Refresh::Iteration] {
        let (once, twice, thrice) = (bytes(3000, refresh), bytes(6000, refresh), bytes(9000, refresh));
        assert!(twice < 2.0 * once, "{once} {twice}");
        assert!(((thrice - twice) / (twice - once) - 1.0).abs() < 0.05, "{once} {twice} {thrice}");
    }
}

#[test]
fn centring_and_the_first_scores_take_one_pass_over_half_of_the_matrix() {
    let n = 2000;
    let points = gaussian_cloud(n, 5, 1).points(Format::F64);
    let start = Start { order: Some(&[0]), ..Start::default() };
    let settings = settings(GainRule::EigenvalueStar).eta0(0.1).gram(GramChoice::Tiled).record_error(RecordError::No);
    let learner = settings.fit_from(&points, &start, &Watch::new()).unwrap();
    let share = learner.kernel_entries() as f64 / (n * n) as f64;
    // Tiles on the diagonal are whole, and the one row that is learned from is made on top.
    assert!((0.5..0.7).contains(&share), "{share}");
}

#[test]
fn passes_without_end_do_not_overflow() {
    let start = Start { order: Some(&[3, 1, 4]), ..Start::default() };
    let endless = settings(GainRule::EigenvalueStar).eta0(0.05).passes(usize::MAX);
    let mut learner = endless.fit_from(&points(), &start, &Watch::new()).unwrap();
    assert_eq!(learner.n_updates(), 3);
    for passes in [usize::MAX, usize::MAX / N, usize::MAX / N + 1] {
        let (stop, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
        let observer = |_: &mercer::watch::Progress| {
            if calls.fetch_add(1, Ordering::Relaxed) > 5 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        learner.partial_fit(None, passes, &Watch::new().interrupt(&stop).observer(&observer)).unwrap();
        assert!(learner.was_stopped());
    }
}

#[test]
fn passes_after_a_given_order_go_over_all_points() {
    // One update at every point: coefficients of points that a pass has left out stay what they were.
    let order: Vec<usize> = (0..N + 40).map(|i| i % 7).collect();
    let start = Start { order: Some(&order), ..Start::default() };
    let rule = GainRule::Constant;
    let mut learner = settings(rule).eta0(1e-3).fit_from(&points(), &start, &Watch::new()).unwrap();
    let before = learner.images();
    let all: Vec<usize> = (0..N).collect();
    let rows = learner.coefficients();
    let again = Start { coefficients: Some(rows.as_ref()), order: Some(&all), ..Start::default() };
    let other = settings(rule).eta0(1e-3).fit_from(&points(), &again, &Watch::new()).unwrap();
    learner.partial_fit(None, 1, &Watch::new()).unwrap();
    assert_eq!(learner.n_updates(), 2 * N + 40);
    // To first order in the gain the order of a pass does not matter, and what is left out does.
    let moved = |now: &Mat<f64>| Mat::from_fn(before.nrows(), N, |i, j| now[(i, j)] - before[(i, j)]);
    close(moved(&learner.images()).as_ref(), moved(&other.images()).as_ref(), 0.05, "what a pass changes");
    assert_eq!(learner.history().last().unwrap().passes, 2);
}

#[test]
fn a_run_that_diverges_over_more_points_keeps_its_rows_again() {
    let cloud = gaussian_cloud(60, 14, 3);
    let far = mercer_testkit::Cloud::from_fn(60, 14, |i, k| 10.0 * cloud.row(59 - i)[k]);
    let settings = KernelHebbianPca::new(Kernel::linear()).gain(GainRule::Annealed).passes(3).gram(GramChoice::Stored);
    let old = cloud.points(Format::F64);
    let eta0 = settings.fit(&old).unwrap().gain_parameters().eta0;
    let (mut learner, mut other) =
        (settings.clone().eta0(eta0).fit(&old).unwrap(), settings.clone().eta0(eta0).fit(&old).unwrap());
    let before = learner.kernel_entries();
    assert!(learner.partial_fit(Some(&far.points(Format::F64)), 3, &Watch::new()).is_err());
    assert_eq!((learner.kernel_entries(), learner.stored_share().to_bits()), (before, 1.0_f64.to_bits()));
    for learner in [&mut learner, &mut other] {
        learner.partial_fit(None, 2, &Watch::new()).unwrap();
    }
    assert_eq!(learner.coefficients(), other.coefficients());
    // Rows had been given back: they are computed once more, and kept.
    assert_eq!(learner.kernel_entries(), other.kernel_entries() + 60 * 60);
}

#[test]
fn gains_are_typed_as_auto_or_a_number() {
    assert_eq!("auto".parse::<Gain>().unwrap(), Gain::Auto);
    assert_eq!("2e-1".parse::<Gain>().unwrap(), Gain::Fixed(0.2));
    let error = "fast".parse::<Gain>().unwrap_err().to_string();
    assert_eq!(error, "`gain parameter` must be \"auto\" or a number, but it is \"fast\"");
}
