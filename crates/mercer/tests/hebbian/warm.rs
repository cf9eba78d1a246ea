//! Starts that are given, with gains that are found by trying: no run ends worse than it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use faer::Mat;
use mercer::hebbian::{GainParameters, Start};
use mercer::nystrom::{Nystrom, NystromPca};
use mercer::watch::Progress;
use mercer::{
    Checkpoint, GainRule, HebbianLearner, Kernel, KernelHebbianPca, KernelPca, Model, Points, Precision, Watch,
};
use mercer_testkit::generate::clusters;
use mercer_testkit::reference::{center, reconstruction_error};
use mercer_testkit::{Format, Textbook};

const N: usize = 90;

fn kernel() -> Kernel {
    Kernel::gaussian(0.3).unwrap()
}

fn points(n: usize, format: Format) -> Points {
    clusters(n, 5, 4, 2).points(format)
}

fn settings(rule: GainRule) -> KernelHebbianPca {
    KernelHebbianPca::new(kernel()).n_components(3).gain(rule).passes(4).seed(7)
}

fn rules() -> impl Iterator<Item = GainRule> {
    GainRule::NAMES.iter().map(|name| name.parse().unwrap())
}

/// Error (38), error in feature space, and the variance in the span.
fn standing(learner: &HebbianLearner) -> (f64, f64, f64) {
    let held = learner.model().unwrap().eigenvalues().iter().sum();
    (learner.reconstruction_error(&Watch::new()).unwrap(), learner.feature_error().unwrap(), held)
}

/// The start itself: one update that changes nothing.
fn untouched(settings: &KernelHebbianPca, points: &Points, start: &Start<'_>) -> (f64, f64, f64) {
    let one = Start { order: Some(&[0]), ..*start };
    standing(&settings.clone().eta0(1e-300).mu(0.0).fit_from(points, &one, &Watch::new()).unwrap())
}

#[track_caller]
fn assert_no_worse(settings: &KernelHebbianPca, points: &Points, start: &Start<'_>, slack: f64) -> HebbianLearner {
    let (error, feature, _) = untouched(settings, points, start);
    let learner = settings.fit_from(points, start, &Watch::new()).unwrap();
    let found = standing(&learner);
    assert!(found.0 <= error * (1.0 + slack), "error (38): {} from {error}, {:?}", found.0, learner.gain_parameters());
    assert!(found.1 <= feature * (1.0 + slack), "error in feature space: {} from {feature}", found.1);
    learner
}

fn exact(points: &Points, n_components: usize) -> Model {
    KernelPca::new(kernel()).n_components(n_components).fit(points).unwrap()
}

#[test]
fn the_exact_components_are_left_as_they_are_by_every_rule() {
    let points = points(N, Format::F64);
    let model = exact(&points, 3);
    for rule in rules() {
        let start = Start { model: Some(&model), ..Start::default() };
        let learner = assert_no_worse(&settings(rule), &points, &start, 1e-12);
        assert_eq!(learner.n_updates(), 4 * N, "{rule}");
        let angle = learner.subspace_angle(&model).unwrap();
        assert!(angle < 1e-5, "{rule}: {angle}");
        for (found, expected) in learner.model().unwrap().eigenvalues().iter().zip(model.eigenvalues()) {
            assert!((found - expected).abs() < 1e-9 * expected, "{rule}: {found} for {expected}");
        }
        // As coefficients they are the same start.
        let rows = model.dual_coefficients().transpose().to_owned();
        let given = Start { coefficients: Some(rows.as_ref()), ..Start::default() };
        let same = settings(rule).fit_from(&points, &given, &Watch::new()).unwrap();
        assert_eq!(same.coefficients(), learner.coefficients(), "{rule}");
    }
}

#[test]
fn single_precision_keeps_them_to_its_rounding() {
    let points = points(N, Format::F32);
    let model = exact(&points, 3);
    assert_eq!(model.precision(), Precision::F32);
    for rule in [GainRule::EigenvalueStar, GainRule::MetaDescent] {
        let start = Start { model: Some(&model), ..Start::default() };
        assert_no_worse(&settings(rule), &points, &start, 1e-4);
    }
}

/// Coefficients of a model's directions over points, row by row: its own, or its scores `s` over `s·s`.
fn coefficients_over(model: &Model, points: &Points) -> Mat<f64> {
    if model.n_samples() == points.n_samples() {
        return model.dual_coefficients().transpose().to_owned();
    }
    let scores = model.transform(points).unwrap();
    let square = |j: usize| scores.col(j).iter().map(|s| s * s).sum::<f64>();
    Mat::from_fn(scores.ncols(), scores.nrows(), |j, i| scores[(i, j)] / square(j))
}

/// The error (38) of the exact components.
fn smallest_error(points: &Points, target: &Model) -> f64 {
    let learner = settings(GainRule::Constant).eta0(1e-300).passes(1).fit(points).unwrap();
    learner.reconstruction_error_of(target, &Watch::new()).unwrap()
}

#[test]
fn a_start_that_is_not_exact_becomes_better() {
    let points = points(2 * N, Format::F64);
    let target = exact(&points, 3);
    let rows: Vec<Vec<f64>> = (0..2 * N).map(|i| points.row(i)).collect();
    let matrix = center(Textbook::Gaussian { gamma: 0.3 }.matrix(&rows, &rows).as_ref());
    // Components of half of the points; and those of a run that was short.
    let half = exact(&points.slice(0..N), 3);
    let short = settings(GainRule::EigenvalueStar).passes(1).fit(&points).unwrap().model().unwrap();
    for rule in rules() {
        for (what, model) in [("half", &half), ("short", &short)] {
            let start = Start { model: Some(model), ..Start::default() };
            let settings = settings(rule).passes(10);
            let before = untouched(&settings, &points, &start).0;
            // It is there that the run begins: at the error of these components, not at that of random ones.
            let expected = reconstruction_error(matrix.as_ref(), coefficients_over(model, &points).as_ref());
            assert!((before - expected).abs() < 1e-9 * expected, "{rule}, {what}: {before} instead of {expected}");
            // So a few updates leave it far ahead of a run that begins anywhere.
            let few = settings.clone().updates(30).batch_size(10);
            let smallest = smallest_error(&points, &target);
            let excess = |start: &Start<'_>| {
                few.fit_from(&points, start, &Watch::new()).unwrap().reconstruction_error(&Watch::new()).unwrap()
                    - smallest
            };
            let (warm, cold) = (excess(&start), excess(&Start::default()));
            assert!(warm < 0.5 * cold, "{rule}, {what}: excess {warm} from the model, {cold} from anywhere");
            let learner = assert_no_worse(&settings, &points, &start, 1e-12);
            let smallest = learner.reconstruction_error_of(&target, &Watch::new()).unwrap();
            let after = learner.reconstruction_error(&Watch::new()).unwrap();
            let left = (after - smallest) / (before - smallest);
            // Gains that do not fall end in noise of their own size, which is what they were chosen by.
            let falls = matches!(rule, GainRule::Annealed | GainRule::EigenvalueStar | GainRule::Eigenvalue);
            let most = if falls { 0.9 } else { 1.0 + 1e-9 };
            assert!(left < most, "{rule}, {what}: {left} of the excess is left, {:?}", learner.gain_parameters());
        }
    }
}

#[test]
fn a_model_over_landmarks_is_a_start_too() {
    let points = points(2 * N, Format::F64);
    let target = exact(&points, 3);
    let landmarks = NystromPca::new(Nystrom::new(kernel()).n_landmarks(10)).n_components(3).fit(&points).unwrap();
    let start = Start { model: Some(&landmarks), ..Start::default() };
    let learner = assert_no_worse(&settings(GainRule::EigenvalueStar), &points, &start, 1e-12);
    let random = untouched(&settings(GainRule::EigenvalueStar), &points, &Start::default()).2;
    let (held, possible) = (standing(&learner).2, target.eigenvalues().iter().sum::<f64>());
    assert!(held > 0.99 * possible && random < 0.9 * possible, "{held} and {random} of {possible}");
}

#[test]
fn components_that_a_model_does_not_have_are_learned() {
    let points = points(N, Format::F64);
    let (two, three) = (exact(&points, 2), exact(&points, 3));
    let start = Start { model: Some(&two), ..Start::default() };
    let learner = assert_no_worse(&settings(GainRule::EigenvalueStar).passes(60), &points, &start, 1e-12);
    let found = learner.model().unwrap();
    let (held, possible): (f64, f64) = (found.eigenvalues().iter().sum(), three.eigenvalues().iter().sum());
    assert!(held > 0.99 * possible, "{held} of {possible}");
}

#[test]
fn a_gain_that_was_given_is_used_as_it_is() {
    let points = points(N, Format::F64);
    let model = exact(&points, 3);
    let start = Start { model: Some(&model), ..Start::default() };
    let learner = settings(GainRule::EigenvalueStar).eta0(0.5).fit_from(&points, &start, &Watch::new()).unwrap();
    assert_eq!(learner.gain_parameters().eta0.to_bits(), 0.5_f64.to_bits());
    let before = untouched(&settings(GainRule::EigenvalueStar), &points, &start).0;
    assert!(learner.reconstruction_error(&Watch::new()).unwrap() > before);
}

#[test]
fn a_random_start_that_is_given_gets_the_gains_of_one_that_is_not() {
    // Gains that do not diverge make a random start better, so nothing is lowered further because it was given.
    let points = points(N, Format::F64);
    for rule in rules() {
        for seed in 0..3 {
            let settings = settings(rule).passes(10).seed(seed);
            let random = settings.fit(&points).unwrap();
            let untouched = settings.clone().eta0(1e-300).mu(0.0);
            let one = Start { order: Some(&[0]), ..Start::default() };
            let coefficients = untouched.fit_from(&points, &one, &Watch::new()).unwrap().coefficients();
            let start = Start { coefficients: Some(coefficients.as_ref()), ..Start::default() };
            let given = settings.fit_from(&points, &start, &Watch::new()).unwrap();
            assert_eq!(given.gain_parameters(), random.gain_parameters(), "{rule}, seed {seed}");
            assert_eq!(given.coefficients(), random.coefficients(), "{rule}, seed {seed}");
            // Trials leave no trace: with these gains given, the run is the same.
            let GainParameters { eta0, mu, .. } = given.gain_parameters();
            let again = settings.clone().eta0(eta0).mu(mu.unwrap_or(0.0));
            let again = again.fit_from(&points, &start, &Watch::new()).unwrap();
            assert_eq!(again.coefficients(), given.coefficients(), "{rule}, seed {seed}");
        }
    }
}

#[test]
fn a_run_from_a_model_goes_on_from_its_checkpoint_to_the_same_bits() {
    let points = points(N, Format::F64);
    let model = exact(&points.slice(0..40), 3);
    let start = Start { model: Some(&model), ..Start::default() };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let checkpoint = Checkpoint::new(&path).every(Duration::ZERO);
    let settings = settings(GainRule::EigenvalueStar).passes(6);
    let whole = settings.fit_from(&points, &start, &Watch::new()).unwrap();
    // Cut off in the third pass of the run itself: trials keep nothing.
    let stop = AtomicBool::new(false);
    let observer = |progress: &Progress| {
        if progress.pass == 3 && path.exists() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    let cut = settings.clone().checkpoint(checkpoint.clone()).fit_from(&points, &start, &watch).unwrap();
    assert!(cut.was_stopped() && cut.n_updates() < 6 * N, "{}", cut.n_updates());
    let rest = settings.checkpoint(checkpoint.resume(true)).fit_from(&points, &start, &Watch::new()).unwrap();
    assert!(rest.model().unwrap().record().resumed_after_passes.is_some());
    assert_eq!(rest.gain_parameters(), whole.gain_parameters());
    assert_eq!(rest.coefficients(), whole.coefficients());
}

#[test]
fn a_run_does_not_go_on_from_the_checkpoint_of_one_with_another_start() {
    let points = points(N, Format::F64);
    let (half, whole) = (exact(&points.slice(0..40), 3), exact(&points, 3));
    let rows = half.dual_coefficients().transpose().to_owned();
    let rows = Mat::from_fn(3, N, |i, j| if j < 40 { rows[(i, j)] } else { 0.0 });
    let starts = [
        ("random", Start::default()),
        ("half", Start { model: Some(&half), ..Start::default() }),
        ("whole", Start { model: Some(&whole), ..Start::default() }),
        ("coefficients", Start { coefficients: Some(rows.as_ref()), ..Start::default() }),
    ];
    let settings = settings(GainRule::EigenvalueStar).eta0(0.05).passes(2);
    for (there, of) in &starts {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Checkpoint::new(folder.path().join("state")).every(Duration::ZERO);
        settings.clone().checkpoint(checkpoint.clone()).fit_from(&points, of, &Watch::new()).unwrap();
        for (here, start) in &starts {
            let kept = settings.clone().passes(3).checkpoint(checkpoint.clone().resume(true));
            let outcome = kept.fit_from(&points, start, &Watch::new());
            let expected = match (*there, *here) {
                (there, here) if there == here => {
                    assert_eq!(outcome.unwrap().n_updates(), 3 * N);
                    continue;
                }
                ("random", _) => "start: random there, given here",
                (_, "random") => "start: given there, random here",
                _ => "start: another one there than here",
            };
            let error = outcome.unwrap_err().to_string();
            let expected = format!("the checkpoint belongs to another run ({expected})");
            assert!(error.ends_with(&expected), "{there}, {here}: {error}");
        }
    }
}
