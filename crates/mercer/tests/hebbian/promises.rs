//! Going on, starting warm, stopping, resuming: to the same bits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use faer::Mat;
use mercer::hebbian::Start;
use mercer::watch::Progress;
use mercer::{
    Center, Checkpoint, Error, ErrorKind, Gain, GainRule, HebbianLearner, Kernel, KernelHebbianPca, KernelPca,
    MemoryBudget, Points, Refresh, Watch,
};
use mercer_testkit::Format;
use mercer_testkit::generate::{clusters, gaussian_cloud};

use crate::support::{close, precomputed};

const N: usize = 90;

fn points() -> Points {
    clusters(N, 5, 4, 2).points(Format::F64)
}

fn settings(rule: GainRule) -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).gain(rule).passes(4).seed(7).batch_size(25)
}

fn resume(learner: &HebbianLearner, points: &Points) -> HebbianLearner {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    learner.save(&path).unwrap();
    HebbianLearner::resume(&path, points, MemoryBudget::Auto, None).unwrap()
}

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
fn a_resumed_run_ends_in_the_same_bits() {
    for (rule, refresh) in [
        (GainRule::EigenvalueStar, Refresh::Pass),
        (GainRule::MetaDescentStar, Refresh::Iteration),
        (GainRule::MetaDescentOnly, Refresh::Pass),
        (GainRule::Eigenvalue, Refresh::PassEigenvalues),
    ] {
        let order: Vec<usize> = (0..N + 40).map(|t| (t * 7) % N).collect();
        let start = Start { order: Some(&order), ..Start::default() };
        // In the middle of a pass, and after it.
        let mut learner =
            settings(rule).refresh(refresh).eta0(0.05).mu(0.01).fit_from(&points(), &start, &Watch::new()).unwrap();
        for _ in 0..2 {
            let mut resumed = resume(&learner, &points());
            assert_eq!(resumed.gain_parameters(), learner.gain_parameters());
            assert_eq!(resumed.history(), learner.history());
            resumed.partial_fit(None, 1, &Watch::new()).unwrap();
            learner.partial_fit(None, 1, &Watch::new()).unwrap();
            assert_eq!(resumed.coefficients(), learner.coefficients(), "{rule} {refresh}");
            assert_eq!(resumed.images(), learner.images(), "{rule} {refresh}");
            assert_eq!(resumed.log_gains(), learner.log_gains(), "{rule} {refresh}");
            assert_eq!(resumed.n_updates(), learner.n_updates());
        }
    }
}

#[test]
fn the_bytes_of_a_checkpoint_are_its_file() {
    let points = points();
    let learner = settings(GainRule::MetaDescent).fit(&points).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    learner.save(&path).unwrap();
    let bytes = learner.to_bytes().unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), bytes.len());
    let twin = HebbianLearner::from_bytes(&bytes, &points, None, MemoryBudget::Auto, None).unwrap();
    assert_eq!(twin.coefficients(), learner.coefficients());
    let cut = HebbianLearner::from_bytes(&bytes[..bytes.len() - 1], &points, None, MemoryBudget::Auto, None);
    assert!(cut.unwrap_err().to_string().starts_with("checkpoint in memory: not a checkpoint, or cut short"));
}

#[test]
fn a_run_that_was_cut_off_goes_on_from_its_checkpoint_to_the_same_bits() {
    let points = points();
    for (rule, eta0) in [
        (GainRule::EigenvalueStar, Gain::Fixed(0.5)),
        (GainRule::EigenvalueStar, Gain::Auto),
        (GainRule::Constant, Gain::Auto),
        (GainRule::MetaDescent, Gain::Fixed(0.02)),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
        let settings = settings(rule).eta0(eta0).passes(6);
        let whole = settings.fit(&points).unwrap();
        // Cut off in the middle of the third pass.
        let stop = AtomicBool::new(false);
        let observer = |progress: &Progress| {
            if progress.pass == 3 && progress.fraction > 0.2 {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch::new().interrupt(&stop).observer(&observer);
        let kept = settings.clone().checkpoint(checkpoint.clone());
        let cut = kept.fit_from(&points, &Start::default(), &watch).unwrap();
        assert!(cut.was_stopped() && cut.n_updates() % N != 0 && cut.n_updates() / N == 2, "{}", cut.n_updates());
        let resumed = settings.clone().checkpoint(checkpoint.clone().resume(true)).fit(&points).unwrap();
        assert_eq!(resumed.coefficients(), whole.coefficients(), "{rule} {eta0:?}");
        assert_eq!(resumed.log_gains(), whole.log_gains());
        assert_eq!(resumed.n_updates(), 6 * N);
        if rule == GainRule::EigenvalueStar && eta0 != Gain::Auto {
            let before = resumed.model().unwrap().record().resumed_after_passes;
            assert!(before == Some(1) || before == Some(2), "{before:?}");
        }
        // The state at the end is kept, too: nothing is left to do.
        let again = settings.clone().checkpoint(checkpoint.clone().resume(true)).fit(&points).unwrap();
        assert_eq!(again.coefficients(), whole.coefficients());

        let other = settings.clone().seed(8).checkpoint(checkpoint.resume(true)).fit(&points).unwrap_err().to_string();
        assert!(other.ends_with("the checkpoint belongs to another run (seed: 7 there, 8 here)"), "{other}");
    }
}

#[test]
fn gains_that_diverge_after_a_run_was_resumed_are_lowered_as_they_would_have_been() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
    let mut lowered = 0;
    for (rule, eta0) in [(GainRule::MetaDescentOnly, 0.02), (GainRule::EigenvalueMetaDescent, 0.1)] {
        for seed in 0..4 {
            let settings = settings(rule).eta0(eta0).seed(seed).passes(15);
            let whole = settings.fit(&points).unwrap();
            // The gain that survives one pass need not survive more.
            let short = settings.clone().passes(1).checkpoint(checkpoint.clone()).fit(&points).unwrap();
            let resumed = settings.clone().checkpoint(checkpoint.clone().resume(true)).fit(&points).unwrap();
            assert_eq!(resumed.gain_parameters(), whole.gain_parameters(), "{rule}, seed {seed}");
            assert_eq!(resumed.coefficients(), whole.coefficients(), "{rule}, seed {seed}");
            lowered += usize::from(short.gain_parameters() != whole.gain_parameters());
            checkpoint.remove().unwrap();
        }
    }
    assert!(lowered > 0, "no gain had to be lowered");
}

#[test]
fn a_checkpoint_of_other_points_or_altered_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    settings(GainRule::Annealed).passes(1).fit(&points()).unwrap().save(&path).unwrap();
    let other = clusters(N, 5, 4, 3).points(Format::F64);
    let error = HebbianLearner::resume(&path, &other, MemoryBudget::Auto, None).unwrap_err().to_string();
    assert!(error.ends_with("the checkpoint belongs to other points, or to these in another order"), "{error}");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = HebbianLearner::resume(&path, &points(), MemoryBudget::Auto, None).unwrap_err().to_string();
    assert!(error.ends_with("the file has been altered: its contents do not match its digest"), "{error}");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(HebbianLearner::resume(&path, &points(), MemoryBudget::Auto, None).is_err());
    std::fs::write(&path, "no checkpoint at all").unwrap();
    assert!(HebbianLearner::resume(&path, &points(), MemoryBudget::Auto, None).is_err());
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
        let Error::Diverged { rule: name, eta0, mu, updates } = error else { panic!("{rule}: {error}") };
        assert_eq!((name, eta0.to_bits()), (rule.name(), 500.0_f64.to_bits()));
        assert!(updates <= 100, "{rule}: {updates}");
        assert_eq!(mu.is_some(), rule.adapts());
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(&format!("diverged within {updates} updates")), "{error}");
        assert!(error.to_string().contains("eta0 = 500"), "{error}");
    }
}

#[test]
fn every_rule_finds_gains_that_do_not_diverge_and_comes_close() {
    let exact = KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).fit(&points()).unwrap();
    for rule in GainRule::NAMES.iter().map(|name| name.parse::<GainRule>().unwrap()) {
        let learner = settings(rule).passes(60).fit(&points()).unwrap();
        let parameters = learner.gain_parameters();
        assert!(parameters.eta0 > 0.0 && parameters.eta0 <= 500.0, "{rule}");
        assert_eq!((parameters.mu.is_some(), parameters.tau.is_some()), (rule.adapts(), rule.uses_tau()), "{rule}");
        let smallest = learner.reconstruction_error_of(&exact, &Watch::new()).unwrap();
        let error = learner.reconstruction_error(&Watch::new()).unwrap();
        // What no components at all would leave.
        let nothing = (exact.eigenvalues().iter().map(|x| x * x).sum::<f64>() + smallest * smallest).sqrt();
        let share = (error - smallest) / (nothing - smallest);
        // Gains that are not annealed end in noise of their own size.
        let annealed =
            !matches!(rule, GainRule::Constant | GainRule::MetaDescentOnly | GainRule::EigenvalueMetaDescent);
        assert!((-1e-9..if annealed { 0.1 } else { 1.0 }).contains(&share), "{rule}: {share}, {parameters:?}");
        assert_eq!(learner.history().len(), 60);
        let last = learner.history().last().unwrap();
        assert_eq!(last.error.map(f64::to_bits), Some(error.to_bits()));
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
fn gains_are_typed_as_auto_or_a_number() {
    assert_eq!("auto".parse::<Gain>().unwrap(), Gain::Auto);
    assert_eq!("2e-1".parse::<Gain>().unwrap(), Gain::Fixed(0.2));
    let error = "fast".parse::<Gain>().unwrap_err().to_string();
    assert_eq!(error, "`gain parameter` must be \"auto\" or a number, but it is \"fast\"");
}
