//! Gains that are found by trying serve, and gains that do not are told apart from those that do.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mercer::hebbian::Start;
use mercer::watch::Progress;
use mercer::{Error, ErrorKind, GainRule, HebbianLearner, Kernel, KernelHebbianPca, KernelPca, Points, Watch};
use mercer_testkit::generate::{clusters, gaussian_cloud};
use mercer_testkit::{Cloud, Format};

const N: usize = 300;
const R: usize = 6;

fn rules() -> impl Iterator<Item = GainRule> {
    GainRule::NAMES.iter().map(|name| name.parse().unwrap())
}

/// Eigenvalues that fall slowly, as those of pictures do; and groups.
fn data() -> [(&'static str, Points); 2] {
    [("cloud", gaussian_cloud(N, 6, 5).points(Format::F64)), ("groups", clusters(N, 8, 12, 5).points(Format::F64))]
}

fn settings(rule: GainRule) -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.1).unwrap()).n_components(R).gain(rule)
}

fn error(learner: &HebbianLearner) -> f64 {
    learner.reconstruction_error(&Watch::new()).unwrap()
}

/// The squared lengths of the components in feature space.
fn lengths(learner: &HebbianLearner) -> Vec<f64> {
    let (a, images) = (learner.coefficients(), learner.images());
    (0..a.nrows()).map(|i| a.row(i).iter().zip(images.row(i).iter()).map(|(a, k)| a * k).sum()).collect()
}

#[test]
fn with_nothing_set_every_rule_comes_about_as_far_as_the_others() {
    let mut far = Vec::new();
    for (name, points) in data() {
        let exact = KernelPca::new(Kernel::gaussian(0.1).unwrap()).n_components(R).fit(&points).unwrap();
        for seed in 0..4 {
            let learners: Vec<HebbianLearner> =
                rules().map(|rule| settings(rule).seed(seed).fit(&points).unwrap()).collect();
            let mut errors: Vec<f64> = learners.iter().map(error).collect();
            errors.sort_by(f64::total_cmp);
            let smallest = learners[0].reconstruction_error_of(&exact, &Watch::new()).unwrap();
            assert!(errors[0] > smallest * (1.0 - 1e-9), "{} below {smallest}", errors[0]);
            for (learner, rule) in learners.iter().zip(rules()) {
                let parameters = learner.gain_parameters();
                assert!(parameters.eta0 > 0.0 && parameters.eta0 <= 500.0, "{rule}");
                let has = (parameters.mu.is_some(), parameters.tau.is_some());
                assert_eq!(has, (rule.adapts(), rule.uses_tau()), "{rule}");
                // A gain that never falls ends in noise of its own size, and so does one that meta-descent alone lowers, where only small
                // meta-gains serve. Gains that had died left twice the error of the others.
                let falls = !matches!(rule, GainRule::Constant | GainRule::MetaDescentOnly);
                let most = if falls { 1.25 } else { 2.2 };
                let ratio = error(learner) / errors[errors.len() / 2];
                let (log_gains, lengths) = (learner.log_gains(), lengths(learner));
                let found = format!(
                    "{name}, seed {seed}, {rule}: {ratio:.4} of the median, {parameters:?}, {log_gains:.1?}, {lengths:.2?}"
                );
                if ratio > most {
                    far.push(found);
                }
            }
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

/// Every meta-gain of three decades, with a gain that serves without adaptation.
fn meta_gains() -> impl Iterator<Item = f64> {
    [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter()
}

/// A run whose gains die, and after how many updates that is noticed.
fn dying(points: &Points) -> (KernelHebbianPca, f64, usize) {
    for rule in rules().filter(|rule| rule.adapts()) {
        let eta0 = settings(rule).fit(points).unwrap().gain_parameters().eta0;
        for mu in meta_gains() {
            let settings = settings(rule).eta0(eta0).mu(mu);
            if let Err(Error::Diverged { died: true, updates, .. }) = settings.fit(points) {
                return (settings, mu, updates);
            }
        }
    }
    panic!("no gains die here")
}

#[test]
fn whatever_the_meta_gain_a_run_learns_or_says_that_it_has_diverged() {
    for (name, points) in data() {
        let (mut died, mut grown, mut learned) = (0, 0, 0);
        for rule in rules().filter(|rule| rule.adapts()) {
            let eta0 = settings(rule).fit(&points).unwrap().gain_parameters().eta0;
            let without = error(&settings(rule).eta0(eta0).mu(0.0).fit(&points).unwrap());
            for mu in meta_gains() {
                match settings(rule).eta0(eta0).mu(mu).fit(&points) {
                    Err(Error::Diverged { died: true, .. }) => died += 1,
                    Err(Error::Diverged { died: false, .. }) => grown += 1,
                    Err(error) => panic!("{rule}: {error}"),
                    Ok(fitted) => {
                        learned += 1;
                        let ratio = error(&fitted) / without;
                        assert!(ratio < 1.2, "{name}, {rule}, eta0 = {eta0}, mu = {mu}: {ratio} of the error without");
                    }
                }
            }
        }
        assert!(died > 0 && grown > 0 && learned > 0, "{name}: {died} died, {grown} grew, {learned} learned");
    }
}

#[test]
fn gains_that_die_are_an_error_that_says_so_and_are_not_what_is_found() {
    let (_, points) = &data()[0];
    let (settings, mu, updates) = dying(points);
    let error = settings.fit(points).unwrap_err();
    assert_eq!(updates % N, 0, "it is noticed at the end of a pass");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let message = error.to_string();
    assert!(message.contains(&format!("diverged within {updates} updates")), "{message}");
    assert!(message.contains(&format!("and mu = {mu}: it blew up, and its gains then died")), "{message}");
    assert!(message.ends_with("; use smaller values, or \"auto\""), "{message}");
    let found = settings.mu(mercer::Gain::Auto).fit(points).unwrap().gain_parameters();
    // A larger one may serve.
    assert!(found.mu.is_some_and(|found| found.to_bits() != mu.to_bits()), "{found:?}");
}

#[test]
fn a_run_that_is_stopped_hands_out_nothing_that_is_dead() {
    let (_, points) = &data()[0];
    let (settings, _, updates) = dying(points);
    let last = updates / N;
    let stop = AtomicBool::new(false);
    let observer = |progress: &Progress| {
        if progress.pass == last && progress.fraction > 0.8 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch::new().interrupt(&stop).observer(&observer);
    let error = settings.batch_size(10).fit_from(points, &Start::default(), &watch).unwrap_err();
    assert!(matches!(error, Error::Diverged { died: true, updates: seen, .. } if seen < updates), "{error}");
}

#[test]
fn wherever_it_is_stopped_a_run_that_finds_its_gains_is_sound_or_nothing() {
    let (_, points) = &data()[0];
    let (mut sound, mut nothing) = (0, 0);
    for calls in (1..400).step_by(7) {
        let (stop, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let observer = |_: &Progress| {
            if seen.fetch_add(1, Ordering::Relaxed) >= calls {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let watch = Watch::new().interrupt(&stop).observer(&observer);
        let settings = settings(GainRule::MetaDescentOnly).batch_size(20).passes(3);
        match settings.fit_from(points, &Start::default(), &watch) {
            Ok(learner) => {
                sound += 1;
                assert!(lengths(&learner).iter().all(|&length| length <= 10.0), "{calls}: {:?}", lengths(&learner));
                assert!(learner.model().unwrap().n_components() == R);
            }
            Err(error) => {
                nothing += 1;
                assert_eq!(error.kind(), ErrorKind::Interrupted, "{calls}: {error}");
            }
        }
    }
    assert!(sound > 0 && nothing > 0, "{sound} {nothing}");
}

#[test]
fn gains_that_were_found_go_on_down_when_more_passes_need_it() {
    let points = clusters(90, 5, 4, 2).points(Format::F64);
    let mut lowered = 0;
    for (rule, eta0) in [(GainRule::MetaDescentOnly, 0.02), (GainRule::EigenvalueMetaDescent, 0.1)] {
        for seed in 0..4 {
            let settings = KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).gain(rule);
            let settings = settings.eta0(eta0).seed(seed).passes(1).batch_size(25);
            let mut learner = settings.fit(&points).unwrap();
            let (first, before) = (learner.gain_parameters(), learner.coefficients());
            learner.partial_fit(None, 14, &Watch::new()).unwrap();
            let now = learner.gain_parameters();
            assert_eq!((learner.n_updates(), learner.history().len()), (15 * 90, 15), "{rule}, seed {seed}");
            if now == first {
                continue;
            }
            lowered += 1;
            assert!(now.mu < first.mu && now.eta0.to_bits() == first.eta0.to_bits(), "{now:?} after {first:?}");
            // What came before is as it was; with these gains given, the same passes are an error, which changes nothing.
            let mut given = settings.clone().mu(first.mu.unwrap()).fit(&points).unwrap();
            assert_eq!(given.coefficients(), before);
            let error = given.partial_fit(None, 14, &Watch::new()).unwrap_err();
            assert!(matches!(error, Error::Diverged { .. }), "{error}");
            assert_eq!((given.coefficients(), given.gain_parameters()), (before, first));
        }
    }
    assert!(lowered > 0, "no gain had to be lowered");
}

#[test]
fn one_point_far_out_does_not_switch_adaptation_off() {
    // The trial does not see it, and the gain that serves the others is too large for it.
    let normal = gaussian_cloud(2000, 6, 11);
    let far = Cloud::from_fn(2000, 6, |i, k| if i == 1234 { 94.0 } else { normal.row(i)[k] });
    let points = far.points(Format::F64);
    for rule in rules().filter(|rule| rule.adapts()) {
        let learner = KernelHebbianPca::new(Kernel::linear()).gain(rule).fit(&points).unwrap();
        let found = learner.gain_parameters();
        assert!(found.mu.is_some_and(|mu| mu > 1e-10), "{rule}: {found:?}");
        assert!(learner.log_gains().iter().any(|rho| rho.abs() > 1e-3), "{rule}: {:?}", learner.log_gains());
    }
}

#[test]
fn gains_that_are_found_do_not_depend_on_the_unit_of_the_points() {
    let cloud = gaussian_cloud(200, 6, 3);
    let rotated = Cloud::from_fn(200, 6, |i, k| cloud.row(i)[k] * [3.0, 2.0, 1.0, 0.5, 0.4, 0.3][k]);
    for rule in rules() {
        let learned = |unit: f64| {
            let points = Cloud::from_fn(200, 6, |i, k| unit * rotated.row(i)[k]).points(Format::F64);
            KernelHebbianPca::new(Kernel::linear()).gain(rule).seed(2).fit(&points).unwrap()
        };
        let base = learned(1.0);
        for unit in [1e8, 1e-6] {
            let other = learned(unit);
            let (expected, found) = (base.model().unwrap(), other.model().unwrap());
            for (found, expected) in found.eigenvalues().iter().zip(expected.eigenvalues()) {
                let ratio = found / (unit * unit) / expected;
                let (now, then) = (other.gain_parameters(), base.gain_parameters());
                assert!((ratio - 1.0).abs() < 0.02, "{rule}, {unit:e}: {ratio}, {now:?} and {then:?}");
            }
        }
    }
}

#[test]
fn updates_until_divergence_are_counted_from_where_a_learner_went_on() {
    let cloud = gaussian_cloud(60, 4, 3);
    let new = Cloud::from_fn(60, 4, |i, k| 10.0 * cloud.row(59 - i)[k]).points(Format::F64);
    let old = cloud.points(Format::F64);
    let settings = KernelHebbianPca::new(Kernel::linear()).n_components(2).gain(GainRule::Annealed).passes(3);
    let eta0 = settings.fit(&old).unwrap().gain_parameters().eta0;
    // 180 updates, and then at most those of a pass over 120 points.
    let mut learner = settings.eta0(eta0).fit(&old).unwrap();
    let error = learner.partial_fit(Some(&new), 1, &Watch::new()).unwrap_err();
    let Error::Diverged { updates, .. } = error else { panic!("{error}") };
    assert!((1..=120).contains(&updates), "{updates}");
    assert!(error.to_string().contains(&format!("diverged within {updates} updates")), "{error}");
}

#[test]
fn gains_go_on_down_when_new_points_need_it() {
    // Points that are ten times as long in feature space: the gain of the old ones is a hundred times too large.
    let old = gaussian_cloud(60, 4, 3);
    let new = Cloud::from_fn(60, 4, |i, k| 10.0 * old.row(59 - i)[k]);
    let settings = KernelHebbianPca::new(Kernel::linear()).n_components(2).gain(GainRule::Annealed).passes(3);
    let mut learner = settings.fit(&old.points(Format::F64)).unwrap();
    let first = learner.gain_parameters();
    learner.partial_fit(Some(&new.points(Format::F64)), 3, &Watch::new()).unwrap();
    assert!(learner.gain_parameters().eta0 < first.eta0, "{first:?}");
    assert_eq!((learner.n_updates(), learner.history().len()), (3 * 60 + 3 * 120, 6));
    // A gain that was given is not touched, and its divergence changes nothing.
    let mut given = settings.eta0(first.eta0).fit(&old.points(Format::F64)).unwrap();
    let before = given.coefficients();
    let error = given.partial_fit(Some(&new.points(Format::F64)), 3, &Watch::new()).unwrap_err().to_string();
    assert!(error.ends_with("; use a smaller eta0, or \"auto\""), "{error}");
    assert_eq!((given.coefficients(), given.points().n_samples()), (before, 60));
}
