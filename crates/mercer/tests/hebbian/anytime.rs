//! Looking at a run after every so many updates: states that are kept inside a pass, models, history, errors.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mercer::hebbian::{HistoryEntry, RecordError, Start};
use mercer::watch::Progress;
use mercer::{Checkpoint, Error, Gain, GainRule, HebbianLearner, KernelHebbianPca, MemoryBudget, Refresh, Watch};

use crate::support::{N, close, points, resume, small};

/// Batches so small that a pass has more of them than are put off at once.
fn settings(rule: GainRule) -> KernelHebbianPca {
    small(rule).batch_size(4).eta0(0.05).mu(0.01)
}

fn in_file(path: &Path) -> HebbianLearner {
    HebbianLearner::resume(path, &points(), MemoryBudget::Auto, None).unwrap()
}

/// History without its times.
fn timeless(learner: &HebbianLearner) -> Vec<HistoryEntry> {
    learner.history().iter().map(|entry| HistoryEntry { seconds: 0.0, ..entry.clone() }).collect()
}

#[track_caller]
fn assert_same(found: &HebbianLearner, expected: &HebbianLearner, what: &str) {
    assert_eq!(found.coefficients(), expected.coefficients(), "{what}");
    assert_eq!(found.images(), expected.images(), "{what}");
    assert_eq!(found.memory_coefficients(), expected.memory_coefficients(), "{what}");
    assert_eq!(found.log_gains(), expected.log_gains(), "{what}");
    assert_eq!(found.gains(), expected.gains(), "{what}");
    assert_eq!(timeless(found), timeless(expected), "{what}");
    assert_eq!(found.n_updates(), expected.n_updates(), "{what}");
}

#[test]
fn a_state_kept_inside_a_pass_goes_on_to_the_bits_of_a_run_that_keeps_nothing() {
    for (rule, refresh, record_every) in [
        (GainRule::EigenvalueStar, Refresh::Pass, None),
        (GainRule::MetaDescent, Refresh::Pass, None),
        (GainRule::MetaDescentStar, Refresh::Iteration, None),
        (GainRule::Eigenvalue, Refresh::PassEigenvalues, Some(35)),
        (GainRule::AnnealedMetaDescent, Refresh::Pass, Some(7)),
    ] {
        let settings = settings(rule).refresh(refresh).passes(3).record_error(RecordError::No);
        let settings = record_every.into_iter().fold(settings, KernelHebbianPca::record_every);
        let whole = settings.fit(&points()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (path, killed) = (folder.path().join("state"), folder.path().join("killed"));
        let checkpoint = Checkpoint::new(&path);
        let kept = settings.clone().checkpoint(checkpoint.clone()).keep_every(10);
        for (pass, share) in [(1, 0.3), (2, 0.05), (2, 0.5), (2, 0.85), (3, 0.8)] {
            // What a process that is killed then would have left, and what one leaves that is stopped.
            let stop = AtomicBool::new(false);
            let observer = |progress: &Progress| {
                let is_time = progress.pass == pass && progress.fraction > share && path.exists();
                if is_time && !stop.swap(true, Ordering::Relaxed) {
                    std::fs::copy(&path, &killed).unwrap();
                }
            };
            let watch = Watch::new().interrupt(&stop).observer(&observer);
            let cut = kept.fit_from(&points(), &Start::default(), &watch).unwrap();
            assert!(cut.was_stopped() && cut.n_updates() % N != 0, "{rule}: {}", cut.n_updates());
            for (file, least) in [(&path, cut.n_updates()), (&killed, cut.n_updates() - 14)] {
                let what = format!("{rule} {refresh} {record_every:?}, pass {pass} at {share}, {}", file.display());
                let updates = in_file(file).n_updates();
                assert!((least..=cut.n_updates()).contains(&updates), "{what}: {updates}");
                let again = Checkpoint::new(file).resume(true);
                let resumed = kept.clone().checkpoint(again).fit(&points()).unwrap();
                assert_eq!(resumed.resumed_after_updates(), Some(updates));
                assert_same(&resumed, &whole, &what);
            }
            checkpoint.remove().unwrap();
        }
    }
}

#[test]
fn states_are_kept_when_so_many_updates_are_reached_and_when_the_time_has_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let seen = Mutex::new(Vec::new());
    let observer = |progress: &Progress| {
        let kept = path.exists().then(|| in_file(&path).n_updates());
        seen.lock().unwrap().push(((progress.fraction * N as f64).round() as usize, kept));
    };
    let watch = Watch::new().observer(&observer);
    let checkpoint = Checkpoint::new(&path).every(Duration::from_secs(3600));
    let settings = settings(GainRule::EigenvalueStar).passes(1).record_error(RecordError::No);
    let settings = settings.checkpoint(checkpoint.clone());
    settings.clone().keep_every(10).fit_from(&points(), &Start::default(), &watch).unwrap();
    // Batches of four reach 10 with the third, 20 with the fifth, 30 with the eighth.
    let expected = |updates: usize| [12, 20, 32, 40, 52, 60, 72, 80].into_iter().rfind(|&kept| kept <= updates);
    let found = seen.lock().unwrap().clone();
    // What was before the first batch is the start.
    let found = &found[found.iter().rposition(|(updates, _)| *updates == 0).unwrap()..];
    assert!(found.len() > 20, "{found:?}");
    for &(updates, kept) in found {
        assert_eq!(kept, expected(updates), "after {updates}");
    }
    assert_eq!(in_file(&path).n_updates(), N, "the last one is kept");
    checkpoint.remove().unwrap();
    // By time, nothing before the first pass is complete: an hour is long.
    seen.lock().unwrap().clear();
    settings.clone().passes(2).fit_from(&points(), &Start::default(), &watch).unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    assert_eq!(seen.iter().filter_map(|(_, kept)| *kept).min(), Some(N));
    checkpoint.remove().unwrap();
    // No time at all: after the first batch.
    let at_once = Checkpoint::new(&path).every(Duration::ZERO);
    let early = settings.checkpoint(at_once).updates(4).fit(&points()).unwrap();
    assert_eq!((early.n_updates(), in_file(&path).n_updates()), (4, 4));
}

#[test]
fn a_run_in_steps_of_updates_has_a_model_at_each_and_goes_on_from_its_checkpoint_to_the_same_bits() {
    for rule in [GainRule::EigenvalueStar, GainRule::MetaDescent] {
        let settings = settings(rule);
        let whole = settings.clone().passes(2).fit(&points()).unwrap();
        let mut learner = settings.clone().updates(25).fit(&points()).unwrap();
        while learner.n_updates() < 2 * N {
            assert_eq!(learner.model().unwrap().n_components(), 3);
            let step = 25.min(2 * N - learner.n_updates());
            let mut resumed = resume(&learner, &points());
            for learner in [&mut learner, &mut resumed] {
                learner.learn(None, step, &Watch::new()).unwrap();
            }
            assert_same(&resumed, &learner, &rule.to_string());
        }
        close(learner.coefficients().as_ref(), whole.coefficients().as_ref(), 1e-10, "coefficients");
        let updates: Vec<usize> = learner.history().iter().map(|entry| entry.updates).collect();
        assert_eq!(updates, [25, 50, 75, 90, 100, 125, 150, 175, 180]);
        assert_eq!(learner.history().last().unwrap().passes, 2);
    }
    let mut learner = settings(GainRule::EigenvalueStar).fit(&points().slice(0..40)).unwrap();
    learner.learn(Some(&points().slice(40..N)), 10, &Watch::new()).unwrap();
    assert_eq!((learner.n_updates(), learner.points().n_samples()), (4 * 40 + 10, N));
    let error = learner.learn(None, 0, &Watch::new()).unwrap_err().to_string();
    assert_eq!(error, "`updates` must be at least 1, but it is 0");
}

#[test]
fn states_at_the_end_of_a_pass_are_of_the_first_version_and_others_of_the_second() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("state"), folder.path().join("copy"));
    let stop = AtomicBool::new(false);
    let observer = |progress: &Progress| stop.store(progress.pass == 2 && progress.fraction > 0.5, Ordering::Relaxed);
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    let kept = settings(GainRule::Annealed).checkpoint(Checkpoint::new(&path));
    let cut = kept.fit_from(&points(), &Start::default(), &watch).unwrap();
    cut.save(&copy).unwrap();
    let version = |path: &Path| {
        let bytes = std::fs::read(path).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        (1..3).find(|version| text.contains(&format!("\\\"format_version\\\":{version}"))).unwrap()
    };
    // What the learner hands out is settled; what the run keeps goes on to the same bits.
    assert_eq!((version(&path), version(&copy)), (2, 1));
    close(in_file(&path).images().as_ref(), in_file(&copy).images().as_ref(), 1e-13, "images");
}

#[test]
fn a_run_with_entries_elsewhere_is_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("state"));
    let settings = settings(GainRule::EigenvalueStar);
    settings.clone().passes(1).checkpoint(checkpoint.clone()).fit(&points()).unwrap();
    let other = settings.record_every(10).checkpoint(checkpoint.resume(true)).fit(&points()).unwrap_err().to_string();
    assert!(other.ends_with("belongs to another run (record_every: auto there, 10 here)"), "{other}");
}

#[test]
fn wrong_numbers_of_updates_are_refused() {
    let settings = settings(GainRule::EigenvalueStar);
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("state"));
    for (settings, message) in [
        (settings.clone().updates(0), "`updates` must be at least 1, but it is 0"),
        (settings.clone().checkpoint(checkpoint).keep_every(0), "`keep_every` must be at least 1, but it is 0"),
        (
            settings.keep_every(5),
            "`keep_every` must be left out without a checkpoint, which it is for, but it is given",
        ),
    ] {
        assert_eq!(settings.fit(&points()).unwrap_err().to_string(), message);
    }
}

#[test]
fn errors_are_recorded_where_they_cost_no_more_than_the_updates_between() {
    let with_error = |record_error: RecordError| -> Vec<usize> {
        let settings = settings(GainRule::EigenvalueStar).passes(2).record_every(9).record_error(record_error);
        let learner = settings.fit(&points()).unwrap();
        assert_eq!(learner.history().len(), 20);
        assert_eq!(learner.error_seconds() > 0.0, record_error != RecordError::No);
        learner.history().iter().filter(|entry| entry.error.is_some()).map(|entry| entry.updates).collect()
    };
    assert_eq!(with_error(RecordError::Auto), [9, 54, 90, 135, 180]);
    assert_eq!(with_error(RecordError::Yes), (1..=20).map(|i| 9 * i).collect::<Vec<_>>());
    assert!(with_error(RecordError::No).is_empty());
    // Steps of a few updates do not pay half a pass each, either.
    let mut learner = settings(GainRule::EigenvalueStar).updates(5).fit(&points()).unwrap();
    for _ in 0..17 {
        learner.learn(None, 5, &Watch::new()).unwrap();
    }
    let errors: Vec<usize> =
        learner.history().iter().filter(|entry| entry.error.is_some()).map(|entry| entry.updates).collect();
    assert_eq!(errors, [5, 50, 90]);
}

#[test]
fn gains_that_are_tried_record_no_errors() {
    let learned = |record_error: RecordError| {
        let settings = small(GainRule::MetaDescentStar).eta0(0.05).mu(Gain::Auto).passes(8);
        settings.record_error(record_error).fit(&points()).unwrap()
    };
    let (with, without) = (learned(RecordError::Yes), learned(RecordError::No));
    assert_eq!(with.coefficients(), without.coefficients());
    let (entries, before) = (with.history().len() as u64, with.kernel_entries());
    with.reconstruction_error(&Watch::new()).unwrap();
    let each = with.kernel_entries() - before;
    assert_eq!(before - without.kernel_entries(), entries * each, "{entries} errors of {each} kernel entries");
}

#[test]
fn a_plan_counts_the_errors_that_were_asked_for() {
    let plan = |record_error: RecordError| {
        let settings = small(GainRule::EigenvalueStar).eta0(0.05).passes(4).record_every(9).record_error(record_error);
        settings.plan_record(&points()).unwrap().plan
    };
    let (yes, no) = (plan(RecordError::Yes), plan(RecordError::No));
    let told = "the reconstruction error is recorded 44 times, as asked for: half a pass over the matrix each";
    assert!(yes.reasons.iter().any(|reason| reason == told), "{:?}", yes.reasons);
    assert!(!no.reasons.iter().any(|reason| reason.contains("error")), "{:?}", no.reasons);
    let halves = small(GainRule::EigenvalueStar).updates(N + 1).plan_record(&points()).unwrap().plan;
    assert_eq!(halves.expected_passes, 2);
}

#[test]
fn more_points_and_their_copy_count_in_the_budget() {
    let (old, new) = (points().slice(0..60), points().slice(60..N));
    let settings = small(GainRule::MetaDescent).eta0(0.05).mu(0.01).gram(mercer::GramChoice::Tiled).threads(1);
    let needs = |points: &mercer::Points| settings.plan_record(points).unwrap().plan.expected_memory_bytes;
    let within = |bytes: u64| settings.clone().memory(MemoryBudget::Bytes(bytes)).fit(&old).unwrap();
    // Enough for all of the points, but not beside what is learned and the points put together.
    let mut learner = within(needs(&points()));
    let before = learner.coefficients();
    let error = learner.partial_fit(Some(&new), 1, &Watch::new()).unwrap_err();
    let Error::OverBudget { needed, ref what, .. } = error else { panic!("{error}") };
    assert_eq!(what, "learning 3 components of 90 points, old and new ones,");
    let joined = points().size();
    assert!(needed >= needs(&points()) + joined, "{needed} for {} and {joined}", needs(&points()));
    assert_eq!(learner.coefficients(), before);
    let mut learner = within(needed);
    learner.partial_fit(Some(&new), 1, &Watch::new()).unwrap();
    assert_eq!(learner.model().unwrap().record().plan.expected_memory_bytes, needed);
    // What the caller has taken is missing; and the copy of the first time stays beside the second.
    let mut learner = within(needed);
    learner.memory_taken(1);
    assert!(matches!(learner.partial_fit(Some(&new), 1, &Watch::new()), Err(Error::OverBudget { .. })));
    let mut plenty = within(1 << 30);
    for times in [1, 2] {
        plenty.partial_fit(Some(&new), 1, &Watch::new()).unwrap();
        let whole = plenty.points().clone();
        let beside = plenty.model().unwrap().record().plan.expected_memory_bytes - needs(&whole);
        let least = whole.size() + if times == 2 { joined } else { 0 };
        assert!(beside >= least, "{beside} beside, where copies take {least}");
    }
    // Entries computed over fewer points are not forgotten.
    assert!(plenty.kernel_entries() > (60 * 60 * 4 + N * N) as u64, "{}", plenty.kernel_entries());
}

/// However far a run has come, over the same points or more: it was not to be taken unless something could be made of it.
#[test]
fn a_run_of_which_nothing_can_be_made_leaves_everything_as_it_was() {
    for rule in [GainRule::EigenvalueStar, GainRule::MetaDescent] {
        let (old, new) = (points().slice(0..N - 8), points().slice(N - 8..N));
        let [mut learner, mut twin] = [(); 2].map(|()| settings(rule).passes(2).fit(&old).unwrap());
        for more in [None, Some(&new)] {
            let what = format!("{rule}, with more points: {}", more.is_some());
            let (entries, updates) = (learner.kernel_entries(), learner.n_updates());
            let refused = learner.learn_and(more, 30, &Watch::new(), |learner| {
                Err::<(), _>(Error::AllZero { n_samples: learner.n_updates() })
            });
            assert!(matches!(refused, Err(Error::AllZero { n_samples }) if n_samples == updates + 30), "{what}");
            assert_same(&learner, &twin, &what);
            assert_eq!(learner.points().n_samples(), N - 8, "{what}");
            assert_eq!(learner.gain_parameters(), twin.gain_parameters(), "{what}");
            assert!(learner.kernel_entries() >= entries, "{what}: entries that were computed are counted");
        }
        for learner in [&mut learner, &mut twin] {
            learner.partial_fit(Some(&new), 2, &Watch::new()).unwrap();
        }
        assert_same(&learner, &twin, &format!("{rule}, gone on"));
    }
}
