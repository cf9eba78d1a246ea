//! Checkpoints: a run goes on from them to the same bits, and from no other run's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mercer::hebbian::Start;
use mercer::watch::Progress;
use mercer::{Checkpoint, Gain, GainRule, HebbianLearner, MemoryBudget, Refresh, Watch};
use mercer_testkit::Format;
use mercer_testkit::generate::clusters;

use crate::support::{N, points, resume, small as settings};

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
        match kept.fit_from(&points, &Start::default(), &watch) {
            Ok(cut) => {
                let updates = cut.n_updates();
                assert!(cut.was_stopped() && updates % N != 0 && updates / N == 2, "{rule} {eta0:?}: {updates}");
            }
            // Cut off with a gain that was about to diverge: there is nothing sound to hand out.
            Err(error) => {
                assert!(eta0 == Gain::Auto || rule.adapts(), "{rule}: {error}");
                assert_eq!(error.kind(), mercer::ErrorKind::Interrupted);
            }
        }
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
fn a_run_that_has_come_farther_than_is_asked_for_says_so() {
    let points = points();
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("state"));
    let run = |passes: usize, resumes: bool| {
        let settings = settings(GainRule::EigenvalueStar).eta0(0.5).passes(passes);
        settings.checkpoint(checkpoint.clone().resume(resumes)).fit(&points).unwrap()
    };
    let two = run(2, false);
    assert!(two.warnings().is_empty(), "{:?}", two.warnings());
    let same = run(2, true);
    assert!(same.warnings().is_empty(), "{:?}", same.warnings());
    let fewer = run(1, true);
    assert_eq!(fewer.coefficients(), two.coefficients());
    let told = format!(
        "the part of the run that {} is from has made {} updates, more than the {N} asked for now: what it has learned is not taken back",
        checkpoint.path().display(),
        2 * N
    );
    assert_eq!(fewer.warnings(), std::slice::from_ref(&told));
    assert!(fewer.model().unwrap().record().warnings.contains(&told));
}

#[test]
fn a_run_is_held_against_its_own_tolerance_after_it_was_resumed() {
    let points = points();
    let learner = settings(GainRule::EigenvalueStar).eta0(0.5).tolerance(0.37).fit(&points).unwrap();
    let tolerance = |learner: &HebbianLearner| learner.model().unwrap().record().tolerance.to_bits();
    assert_eq!(tolerance(&learner), 0.37_f64.to_bits());
    assert_eq!(tolerance(&resume(&learner, &points)), 0.37_f64.to_bits());
    // Another one that is asked for when the run goes on is used, and told.
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
    let settings = settings(GainRule::EigenvalueStar).eta0(0.5).tolerance(0.37);
    settings.clone().passes(2).checkpoint(checkpoint.clone()).fit(&points).unwrap();
    let told = |tolerance: f64| {
        let kept = settings.clone().tolerance(tolerance).checkpoint(checkpoint.clone().resume(true));
        let record = kept.fit(&points).unwrap().model().unwrap().record().clone();
        assert_eq!(record.tolerance.to_bits(), tolerance.to_bits());
        record.warnings.iter().any(|warning| {
            warning.starts_with(&format!("components are held against a tolerance of {tolerance}; "))
                && warning.ends_with("was to be held against 0.37")
        })
    };
    assert!(!told(0.37));
    assert!(told(0.5));
}
