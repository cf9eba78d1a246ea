//! Starts that are given, with gains that are found by trying: no run ends worse than it began.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use faer::Mat;
use mercer::hebbian::Start;
use mercer::watch::Progress;
use mercer::{
    Checkpoint, Gain, GainRule, HebbianLearner, Kernel, KernelHebbianPca, KernelPca, Model, Points, Precision, Watch,
};
use mercer_testkit::Format;
use mercer_testkit::generate::clusters;

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

#[test]
fn a_start_that_is_not_exact_becomes_better() {
    let points = points(2 * N, Format::F64);
    let target = exact(&points, 3);
    // Components of half of the points; and those of a run that was short.
    let half = exact(&points.slice(0..N), 3);
    let short = settings(GainRule::EigenvalueStar).passes(1).fit(&points).unwrap().model().unwrap();
    for rule in rules() {
        for (what, model) in [("half", &half), ("short", &short)] {
            let start = Start { model: Some(model), ..Start::default() };
            let settings = settings(rule).passes(10);
            let before = untouched(&settings, &points, &start).0;
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
fn random_starts_get_the_gains_they_always_got() {
    // The coefficients of a random start, given as such: any gain that does not diverge makes them better, so nothing is lowered further.
    let points = points(N, Format::F64);
    for rule in rules() {
        let random = Mat::from_fn(3, N, |i, j| ((i * N + j) as f64 * 12.9898).sin() / 16.0);
        let start = Start { coefficients: Some(random.as_ref()), ..Start::default() };
        let learner = settings(rule).passes(10).fit_from(&points, &start, &Watch::new()).unwrap();
        let GainAndMu { eta0, mu } = GainAndMu::of(&learner);
        let again = settings(rule).passes(10).eta0(eta0).mu(mu).fit_from(&points, &start, &Watch::new()).unwrap();
        assert_eq!(again.coefficients(), learner.coefficients(), "{rule}: trials leave no trace");
        assert!(eta0 > 1e-3, "{rule}: {eta0}");
    }
}

struct GainAndMu {
    eta0: f64,
    mu: Gain,
}

impl GainAndMu {
    fn of(learner: &HebbianLearner) -> Self {
        let parameters = learner.gain_parameters();
        Self { eta0: parameters.eta0, mu: parameters.mu.map_or(Gain::Auto, Gain::Fixed) }
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
