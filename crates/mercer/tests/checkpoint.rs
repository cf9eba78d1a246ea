//! Checkpoints: a run that was cut off goes on as if nothing had happened, and with nothing but its own state.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use mercer::gram::StoreFormat;
use mercer::watch::Phase;
use mercer::{
    Center, Checkpoint, Error, GramChoice, Kernel, KernelPca, MemoryBudget, Model, Points, SolverChoice, Watch,
};
use mercer_testkit::generate::Random;

const N: usize = 900;

fn data() -> Points {
    let mut random = Random::new(7);
    Points::from_f64((0..N * 4).map(|_| random.normal()).collect::<Vec<_>>(), N, 4).unwrap()
}

fn settings(solver: SolverChoice) -> KernelPca {
    KernelPca::new(Kernel::gaussian(0.2).unwrap()).n_components(5).solver(solver)
}

fn always(path: &Path) -> Checkpoint {
    Checkpoint::new(path).every(Duration::ZERO)
}

fn assert_same(a: &Model, b: &Model) {
    assert_eq!(a.eigenvalues(), b.eigenvalues());
    assert_eq!(a.record().residuals, b.record().residuals);
    assert!((a.training_scores() - b.training_scores()).norm_max() == 0.0);
    assert_eq!(a.record().passes, b.record().passes);
    assert_eq!(a.record().products, b.record().products);
    assert!(a.converged() && b.converged());
}

#[test]
fn a_run_cut_off_after_any_pass_goes_on_to_the_same_bits() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    // A spectrum that falls so slowly that both solvers restart their basis before they are done.
    let kernel = Kernel::gaussian(2.0).unwrap();
    for (solver, cuts) in [(SolverChoice::Krylov, vec![1, 2, 7]), (SolverChoice::Lanczos, vec![1, 9, 10, 37, 61])] {
        for center in [Center::Yes, Center::No] {
            let settings = KernelPca::new(kernel.clone()).n_components(12).solver(solver).center(center);
            let whole = settings.fit(&points).unwrap();
            for &cut in &cuts {
                assert!(cut < whole.record().passes, "{solver}: {cut} passes are no cut");
                always(&path).remove().unwrap();
                settings.clone().max_passes(cut).checkpoint(always(&path)).fit(&points).unwrap();
                let resumed = settings.clone().checkpoint(always(&path).resume(true)).fit(&points).unwrap();
                assert_eq!(resumed.record().resumed_after_passes, Some(cut));
                assert_same(&whole, &resumed);
            }
        }
    }
}

#[test]
fn a_share_of_variance_goes_on_in_the_round_it_was_cut_off_in() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let settings = settings(SolverChoice::Krylov).variance(0.95);
    let whole = settings.fit(&points).unwrap();
    assert!(whole.record().n_components > 16, "one round was enough");
    let (stop, rounds, last) = (AtomicBool::new(false), AtomicUsize::new(1), AtomicUsize::new(0));
    // Stops in the second round: the count of passes begins anew there.
    let observer = |progress: &mercer::watch::Progress| {
        if progress.phase == Phase::Solving && progress.pass > 0 {
            if progress.pass < last.swap(progress.pass, Ordering::Relaxed) {
                rounds.fetch_add(1, Ordering::Relaxed);
            }
            stop.store(rounds.load(Ordering::Relaxed) > 1 && progress.pass == 2, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    let cut = settings.clone().checkpoint(always(&path)).fit_watched(&points, &watch).unwrap();
    assert!(!cut.converged());
    let resumed = settings.clone().checkpoint(always(&path).resume(true)).fit(&points).unwrap();
    assert!(resumed.record().resumed_after_passes.unwrap() > 1);
    assert_eq!(whole.eigenvalues(), resumed.eigenvalues());
}

#[test]
fn a_run_stopped_in_the_middle_of_a_pass_leaves_the_state_before_it() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let stop = AtomicBool::new(false);
    let observer = |progress: &mercer::watch::Progress| {
        if progress.phase == Phase::Solving && progress.pass == 3 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    // So seldom that only the end of the run can have written it.
    let seldom = Checkpoint::new(&path).every(Duration::from_secs(3600));
    let settings = settings(SolverChoice::Krylov);
    let cut = settings.clone().checkpoint(seldom.clone()).fit_watched(&points, &watch).unwrap();
    assert!(!cut.converged());
    let resumed = settings.clone().checkpoint(seldom.resume(true)).fit(&points).unwrap();
    assert!((2..=3).contains(&resumed.record().resumed_after_passes.unwrap()));
    assert_eq!(settings.fit(&points).unwrap().eigenvalues(), resumed.eigenvalues());
}

#[test]
fn without_a_file_the_run_begins_at_the_beginning() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let checkpoint = always(&folder.path().join("none")).resume(true);
    let model = settings(SolverChoice::Krylov).checkpoint(checkpoint.clone()).fit(&points).unwrap();
    assert_eq!(model.record().resumed_after_passes, None);
    assert!(checkpoint.path().exists());
    checkpoint.remove().unwrap();
    assert!(!checkpoint.path().exists());
    checkpoint.remove().unwrap();
}

#[test]
fn a_run_goes_on_with_tiles_in_the_format_it_began_with() {
    let mut random = Random::new(8);
    let values: Vec<f32> = (0..N * 20).map(|_| random.normal() as f32).collect();
    let (points, folder) = (Points::from_f32(values, N, 20).unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let with = |memory| {
        let pca = KernelPca::new(Kernel::gaussian(0.01).unwrap()).n_components(5).gram(GramChoice::Stored);
        pca.solver(SolverChoice::Krylov).tolerance(2e-3).threads(2).memory(MemoryBudget::Bytes(memory))
    };
    let (tight, roomy) = (3 << 20, 1 << 30);
    for (first, second, format) in [(tight, roomy, StoreFormat::Fixed16), (roomy, tight, StoreFormat::Full)] {
        always(&path).remove().unwrap();
        let cut = with(first).max_passes(1).checkpoint(always(&path)).fit(&points).unwrap();
        assert_eq!(cut.record().plan.store_format, format, "{:?}", cut.record().plan.reasons);
        assert_ne!(with(second).plan(&points).unwrap().store_format, format);
        if format == StoreFormat::Fixed16 {
            let refusal = with(second).tolerance(4e-6).checkpoint(always(&path).resume(true)).fit(&points).unwrap_err();
            let refusal = refusal.to_string();
            assert!(
                refusal.starts_with("`tolerance` must be at least ") && refusal.ends_with(", but it is 0.000004"),
                "{refusal}"
            );
            assert!(refusal.contains("a checkpoint with tiles in 16-bit fixed point"), "{refusal}");
        }
        let state = fs::read(&path).unwrap();
        let resumed = with(second).checkpoint(always(&path).resume(true)).fit(&points).unwrap();
        if format == StoreFormat::Fixed16 {
            // Tiles that are made anew are rounded as those that are kept.
            fs::write(&path, state).unwrap();
            let tiled = with(second).gram(GramChoice::Tiled).checkpoint(always(&path).resume(true)).fit(&points);
            assert_eq!(tiled.unwrap().eigenvalues(), resumed.eigenvalues());
        }
        let plan = &resumed.record().plan;
        assert_eq!((plan.store_format, resumed.record().resumed_after_passes), (format, Some(1)));
        assert!(resumed.converged() && plan.expected_memory_bytes <= second, "{plan:?}");
        let is_full = plan.stored_share >= 1.0 || plan.expected_memory_bytes == second;
        assert!(is_full, "as many are kept as there is room for: {plan:?}");
        // Errors of half a level that have nothing to do with one another.
        let least = 2.0 * format.entry_error() / 3.0_f64.sqrt() * (N as f64).sqrt() / resumed.eigenvalues()[0];
        assert!(resumed.residuals().iter().all(|&residual| residual >= least), "{:?}", resumed.residuals());
    }
}

#[test]
fn a_tolerance_may_change_between_the_parts_of_a_run() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let settings = settings(SolverChoice::Krylov);
    settings.clone().tolerance(1e-2).max_passes(1).checkpoint(always(&path)).fit(&points).unwrap();
    let finer = settings.clone().tolerance(1e-10).checkpoint(always(&path).resume(true)).fit(&points).unwrap();
    assert_eq!(finer.eigenvalues(), settings.tolerance(1e-10).fit(&points).unwrap().eigenvalues());
}

/// A checkpoint after one pass, and what resuming from it with other settings or points says after its path.
fn refusal(change: impl Fn(KernelPca) -> KernelPca, points: &Points) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.checkpoint");
    settings(SolverChoice::Krylov).max_passes(1).checkpoint(always(&path)).fit(&data()).unwrap();
    let error = change(settings(SolverChoice::Krylov)).checkpoint(always(&path).resume(true)).fit(points).unwrap_err();
    error.to_string().replace(&format!("{}: ", path.display()), "")
}

#[test]
fn a_checkpoint_of_another_run_is_refused_and_says_in_what_it_differs() {
    let points = data();
    assert_eq!(
        refusal(|settings| settings.seed(1), &points),
        "the checkpoint belongs to another run (seed: 0 there, 1 here)"
    );
    assert_eq!(
        refusal(|settings| settings.n_components(6), &points),
        "the checkpoint belongs to another run (components: 5 components there, 6 components here)"
    );
    assert_eq!(
        refusal(|settings| settings.solver(SolverChoice::Lanczos), &points),
        "the checkpoint belongs to another run (solver: krylov there, lanczos here)"
    );
    assert_eq!(
        refusal(|settings| settings.center(Center::No), &points),
        "the checkpoint belongs to another run (centred: true there, false here)"
    );
    assert_eq!(
        refusal(|settings| settings, &points.slice(0..N - 1)),
        "the checkpoint belongs to another run (shape of the data: (900, 4) there, (899, 4) here)"
    );
    let mut other = points.rows(0..N).to_f64();
    other[17] += 1e-9;
    assert_eq!(
        refusal(|settings| settings, &Points::from_f64(other, N, 4).unwrap()),
        "the checkpoint belongs to another run (the data has other numbers in it)"
    );
    let kernel = |_| KernelPca::new(Kernel::gaussian(0.3).unwrap()).n_components(5).solver(SolverChoice::Krylov);
    assert_eq!(
        refusal(kernel, &points),
        "the checkpoint belongs to another run (kernel: gaussian, gamma 0.2 there, gaussian, gamma 0.3 here)"
    );
}

#[test]
fn a_file_that_is_not_a_whole_checkpoint_is_refused() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let settings = settings(SolverChoice::Krylov);
    settings.clone().max_passes(1).checkpoint(always(&path)).fit(&points).unwrap();
    let whole = fs::read(&path).unwrap();
    let resume = || {
        let resumed = settings.clone().checkpoint(always(&path).resume(true)).fit(&points);
        resumed.unwrap_err().to_string().replace(&format!("{}: ", path.display()), "")
    };

    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(resume().starts_with("not a Mercer checkpoint, or cut short"), "{}", resume());
    let mut altered = whole.clone();
    let middle = whole.len() / 2;
    altered[middle] ^= 1;
    fs::write(&path, &altered).unwrap();
    assert_eq!(resume(), "the file has been altered: its contents do not match its digest");
    fs::write(&path, b"").unwrap();
    assert!(resume().starts_with("not a Mercer checkpoint, or cut short"), "{}", resume());
    settings.fit(&points).unwrap().save(&path).unwrap();
    assert_eq!(resume(), "not a Mercer checkpoint, or cut short (its header has no entry \"mercer-checkpoint\")");
}

#[test]
fn solvers_that_cannot_go_on_say_so() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let checkpoint = always(&folder.path().join("fit.checkpoint"));
    let refused = settings(SolverChoice::Subspace).checkpoint(checkpoint.clone()).fit(&points).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "`solver` must be auto, krylov or lanczos for a fit with a checkpoint, but it is subspace"
    );
    let few = settings(SolverChoice::Auto).checkpoint(checkpoint.clone()).fit(&points.slice(0..100)).unwrap();
    let warning = "no checkpoint is kept: the dense solver has no passes to go on from";
    assert!(few.record().warnings.iter().any(|said| said == warning), "{:?}", few.record().warnings);
    assert!(!checkpoint.path().exists());
}

#[test]
fn a_state_that_does_not_fit_the_budget_is_refused() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let settings = settings(SolverChoice::Krylov).n_components(60).gram(GramChoice::Tiled);
    settings.clone().max_passes(1).checkpoint(always(&path)).fit(&points).unwrap();
    // Enough for narrow blocks, not for those of the checkpoint.
    let needed = settings.plan(&points).unwrap().expected_memory_bytes;
    let tight = settings.memory(MemoryBudget::Bytes(needed - 1_000_000));
    assert!(tight.plan(&points).is_ok(), "the budget is too small even for a new run");
    let refused = tight.checkpoint(always(&path).resume(true)).fit(&points).unwrap_err();
    assert!(matches!(refused, Error::OverBudget { .. }), "{refused}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error_that_names_the_file() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("missing").join("fit.checkpoint");
    let error = settings(SolverChoice::Krylov).checkpoint(always(&path)).fit(&points).unwrap_err();
    assert!(error.to_string().starts_with(&format!("writing {}: ", path.display())), "{error}");
}

#[test]
fn a_file_that_is_there_is_not_overwritten_or_removed() {
    let (points, folder) = (data(), tempfile::tempdir().unwrap());
    let path = folder.path().join("notes.txt");
    fs::write(&path, "precious").unwrap();
    for (solver, n) in [(SolverChoice::Krylov, N), (SolverChoice::Auto, 100)] {
        let refused = settings(solver).checkpoint(always(&path)).fit(&points.slice(0..n)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!(
                "`checkpoint` must be a new file, or one to resume from: nothing is overwritten, but it is {}, which exists",
                path.display()
            )
        );
    }
    let refused = settings(SolverChoice::Krylov).checkpoint(always(&path).resume(true)).fit(&points).unwrap_err();
    assert!(refused.to_string().contains("not a Mercer checkpoint"), "{refused}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
}
