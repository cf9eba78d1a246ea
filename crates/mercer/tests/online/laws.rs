//! What holds for every learner: grouping changes nothing, components capture the variance, what is kept is what it would be anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use faer::Mat;
use mercer::online::{OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Kernel, Points};

use super::support::{captured, plane, row_major, uneven};

#[test]
fn how_rows_are_grouped_changes_nothing() {
    // Some rows come again, so that places in memory are found again, too.
    let fresh = plane(600, 3);
    let order: Vec<usize> = (0..900).map(|i| if i % 3 == 2 { i / 7 } else { i * 2 / 3 }).collect();
    let values: Vec<f64> = order.iter().flat_map(|&i| fresh.row(i)).collect();
    let distinct = order.iter().collect::<std::collections::HashSet<_>>().len();
    let (n, stream) = (order.len(), Points::from_f64(values, order.len(), 2).unwrap());
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2);
    // So narrow that many rows do not depend on one another.
    let narrow = OnlineKernelPca::new(Kernel::gaussian(20.0).unwrap()).n_components(3);
    for (label, remembered, settings) in [
        ("many", 70, narrow.budget(70)),
        ("project", 13, settings.clone().budget(13)),
        ("few", 3, settings.clone().budget(3).learning_rate(0.3)),
        ("oldest", 12, settings.clone().budget(12).policy(Policy::Oldest)),
        ("smallest", 12, settings.clone().budget(12).policy(Policy::Smallest)),
        ("started", 14, settings.clone().budget(12).start(plane(2, 4))),
        ("apex", 13, settings.clone().budget(13).rule(Rule::Apex)),
        ("all", distinct, settings.clone()),
    ] {
        let learn = |size: usize| {
            let mut learner = settings.learner().unwrap();
            let mut outputs = Vec::new();
            for first in (0..n).step_by(size) {
                outputs.extend(row_major(&learner.learn(&stream.slice(first..n.min(first + size))).unwrap()));
            }
            (outputs, learner.to_bytes().unwrap(), learner.n_remembered())
        };
        let one = learn(1);
        assert!([7, 32, 33, n].into_iter().all(|size| learn(size) == one), "{label}");
        assert_eq!(one.2, remembered, "{label}");
    }
}

#[test]
fn one_row_seven_rows_and_ten_thousand_rows_are_the_same() {
    let stream = plane(10_000, 45);
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(2).budget(20);
    let learn = |size: usize| {
        let mut learner = settings.learner().unwrap();
        for first in (0..10_000).step_by(size) {
            learner.learn(&stream.slice(first..10_000.min(first + size))).unwrap();
        }
        learner.to_bytes().unwrap()
    };
    let one = learn(1);
    assert!(learn(7) == one && learn(10_000) == one);
}

#[test]
fn components_capture_nearly_the_variance_of_batch_kernel_pca() {
    let points = plane(400, 8);
    let kernel = Kernel::gaussian(0.5).unwrap();
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(3).schedule(Schedule::Anneal).tau(400.0);
    for (label, settings, least) in [
        ("no budget", settings.clone(), 0.98),
        ("project", settings.clone().budget(30), 0.98),
        ("apex", settings.clone().rule(Rule::Apex), 0.98),
        // A row that is dropped takes its part of the components with it.
        ("smallest", settings.clone().budget(100).policy(Policy::Smallest), 0.5),
    ] {
        let mut learner = settings.learning_rate(0.2).learner().unwrap();
        for _ in 0..10 {
            learner.learn(&points).unwrap();
        }
        let share = captured(&learner, &points, &kernel);
        assert!(share > least && share < 1.0 + 1e-9, "{label}: {share}");
        // Rows come ten times; each is remembered once.
        assert!(learner.n_remembered() <= 400, "{label}: {}", learner.n_remembered());
    }
}

#[test]
fn a_rate_that_falls_by_itself_learns_to_the_end() {
    let kernel = Kernel::gaussian(0.05).unwrap();
    let (rows, probes) = (uneven(20_000, 80), uneven(500, 81));
    for (rule, p) in [(Rule::Oja, 1), (Rule::Simultaneous, 4), (Rule::Apex, 4)] {
        let settings = OnlineKernelPca::new(kernel.clone()).rule(rule).n_components(p).budget(100);
        let share = |settings: OnlineKernelPca| {
            let mut learner = settings.learner().unwrap();
            learner.learn(&rows).unwrap();
            assert_eq!(learner.n_shrunk(), 0, "{rule}");
            captured(&learner, &probes, &kernel)
        };
        let (falling, constant) = (share(settings.clone().schedule(Schedule::Inverse)), share(settings));
        // A constant rate never stops following single rows.
        assert!(falling > 0.95 && falling > constant, "{rule}: {falling}, at a constant rate {constant}");
    }
}

#[test]
fn projecting_keeps_more_of_the_variance_than_dropping_and_says_what_it_lost() {
    let (points, kernel) = (plane(600, 9), Kernel::gaussian(0.5).unwrap());
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).learning_rate(0.05);
    let learn = |settings: OnlineKernelPca| {
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let lost = learner.budget_error().unwrap().iter().fold(0.0_f64, |m, e| m.max(*e));
        (captured(&learner, &points, &kernel), lost)
    };
    let (whole, nothing) = learn(settings.clone());
    let (project, small) = learn(settings.clone().budget(40));
    let (oldest, _) = learn(settings.clone().budget(40).policy(Policy::Oldest));
    assert!(nothing == 0.0 && small > 0.0, "lost: {nothing} without a budget, {small} with one");
    assert!(project > whole - small && project > oldest + 0.02, "{whole} whole, {project} projected, {oldest} dropped");
}

#[test]
fn outputs_move_by_no_more_than_a_step_from_one_row_to_the_next() {
    // Neither signs nor places of components change between two rows: what a row is to them moves by the rate at most, and a little.
    let (points, eta) = (plane(300, 42), 0.05);
    let probes = plane(20, 43);
    for rule in [Rule::Simultaneous, Rule::Apex] {
        let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).rule(rule);
        let mut learner = settings.learning_rate(eta).start(plane(3, 44)).learner().unwrap();
        learner.learn(&points.slice(0..100)).unwrap();
        for i in 100..points.n_samples() {
            let before = learner.outputs(&probes).unwrap();
            learner.learn(&points.slice(i..i + 1)).unwrap();
            let moved = (&learner.outputs(&probes).unwrap() - &before).norm_max();
            // Images and components have lengths of about one; the mean moves by one part in a hundred.
            assert!(moved < 4.0 * eta + 0.04, "{rule}, row {i}: {moved}");
        }
    }
}

#[test]
fn dropping_rows_for_long_leaves_outputs_and_the_mean_in_bounds() {
    let (points, kernel) = (plane(3000, 21), Kernel::gaussian(0.5).unwrap());
    for policy in [Policy::Oldest, Policy::Smallest] {
        for budget in [20, 60] {
            let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).budget(budget).policy(policy);
            let mut learner = settings.learner().unwrap();
            let outputs = learner.learn(&points).unwrap();
            // A kernel of at most one, and components that are not much longer than that.
            assert!(outputs.norm_max() < 4.0, "{policy}, {budget}: {}", outputs.norm_max());
            let mean = learner.mean_coefficients();
            assert!((mean.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{policy}, {budget}");
            assert!(mean.iter().all(|&weight| (0.0..0.5).contains(&weight)), "{policy}, {budget}: {mean:?}");
        }
    }
    // The rows that components started from have gone, and the others have taught them little.
    let slow = OnlineKernelPca::new(kernel).n_components(2).budget(30).policy(Policy::Oldest).learning_rate(0.02);
    let mut learner = slow.learner().unwrap();
    learner.learn(&points.slice(0..60)).unwrap();
    let warnings = learner.model().unwrap().record().warnings.clone();
    assert!(warnings.iter().any(|text| text.starts_with("a component has shrunk to ")), "{warnings:?}");
}

#[test]
fn no_component_is_said_to_wear_away_before_a_row_is_dropped() {
    let (points, kernel) = (plane(400, 3), Kernel::gaussian(0.125).unwrap());
    let settings = OnlineKernelPca::new(kernel).n_components(2).center(Center::No).policy(Policy::Oldest);
    let mut roomy = settings.clone().budget(1000).learner().unwrap();
    let mut tight = settings.budget(8).learner().unwrap();
    let mut is_short = false;
    for i in 0..400 {
        roomy.learn_row(&points.row(i)).unwrap();
        tight.learn_row(&points.row(i)).unwrap();
        let coefficients = roomy.coefficients();
        is_short |= coefficients.row(1).iter().map(|a| a * a).sum::<f64>() < 0.25;
        assert_eq!(roomy.wear_warning(), None, "row {i}");
    }
    assert!(is_short, "the rule itself makes the second one short at first");
    assert!(tight.wear_warning().is_some());
}

#[test]
fn a_learner_follows_data_that_change() {
    let kernel = Kernel::gaussian(0.5).unwrap();
    let before = plane(1000, 10);
    let moved: Vec<f64> = before.rows(0..1000).to_f64().chunks(2).flat_map(|x| [x[1] + 4.0, x[0] - 3.0]).collect();
    let after = Points::from_f64(moved, 1000, 2).unwrap();
    for (rule, p, least) in [(Rule::Simultaneous, 2, 0.9), (Rule::Apex, 2, 0.8), (Rule::Oja, 1, 0.8)] {
        let settings = OnlineKernelPca::new(kernel.clone()).rule(rule).n_components(p).budget(40).learning_rate(0.1);
        let follow = |settings: OnlineKernelPca| {
            let mut learner = settings.learner().unwrap();
            learner.learn(&before).unwrap();
            let (old, new) = (captured(&learner, &before, &kernel), captured(&learner, &after, &kernel));
            assert!(old > least && new < 0.3, "{rule}, before the change: {old}, {new}");
            learner.learn(&after).unwrap();
            captured(&learner, &after, &kernel)
        };
        let (recovered, behind) = (follow(settings.clone().forgetting(0.01)), follow(settings));
        assert!(recovered > least, "{rule}, after the change: {recovered}");
        // A mean of all rows is between the old ones and the new ones, and a component learns the way from it to the new ones.
        assert!(behind < recovered - 0.05, "{rule}, after the change: {recovered}, without forgetting {behind}");
    }
}

#[test]
fn what_is_kept_up_to_date_is_what_it_would_be_if_computed_anew() {
    let (points, kernel) = (plane(500, 12), Kernel::gaussian(0.5).unwrap());
    // With this budget the learner has computed everything anew, 320 removals after the first by projection, and gone on.
    for policy in [Policy::Project, Policy::Oldest, Policy::Smallest] {
        let settings =
            OnlineKernelPca::new(kernel.clone()).n_components(2).budget(10).policy(policy).learning_rate(0.05);
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let (basis, alpha) = (learner.basis(), learner.coefficients());
        let m = basis.len();
        let mean = Mat::from_fn(m, 1, |i, _| learner.mean_coefficients()[i]);
        let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
        let x = [0.3, -0.2];
        let k = Mat::from_fn(m, 1, |i, _| kernel.evaluate(&basis[i], &x).unwrap());
        let outputs = learner.outputs(&Points::from_f64(x.to_vec(), 1, 2).unwrap()).unwrap();
        let want = &alpha * (&k - &gram * &mean);
        for p in 0..2 {
            assert!(
                (outputs[(0, p)] - want[(p, 0)]).abs() < 1e-9,
                "{policy}: {} for {}",
                outputs[(0, p)],
                want[(p, 0)]
            );
        }
        let centered = 1.0 - 2.0 * (k.transpose() * &mean)[(0, 0)] + (mean.transpose() * &gram * &mean)[(0, 0)];
        // The first component, and what the second has of its own, if it has: where rows are dropped, both come to lie in one direction.
        let inner = &alpha * &gram * alpha.transpose();
        let along = inner[(0, 1)] / inner[(0, 0)];
        let (own, rest) = (inner[(1, 1)] - along * inner[(0, 1)], want[(1, 0)] - along * want[(0, 0)]);
        let share = own / inner[(0, 0)].max(inner[(1, 1)]);
        let second = if share > 1e-8 { rest * rest / own } else { 0.0 };
        let distance = centered - want[(0, 0)].powi(2) / inner[(0, 0)] - second;
        // What inner products miss by rounding counts for more the less is a component's own.
        let slack = 1e-9 + if share > 1e-8 { 1e-13 / share } else { 0.0 };
        let looked = learner.look(&x).unwrap().novelty;
        assert!((looked - distance).abs() < slack, "{policy}, share {share:e}: {looked} for {distance}");
        // When the row is learned its own share is in the mean: c = (1 - r) (φ - m).
        let part = 1.0 - if policy == Policy::Project { 1.0 / 501.0 } else { 1.0 / 10.0 };
        let then = learner.learn_row(&x).unwrap().novelty;
        assert!((then - part * part * distance).abs() < slack, "{policy}: {then} for {distance}");
    }
}

#[test]
fn novelty_is_what_the_model_calls_the_reconstruction_error() {
    let (points, queries) = (plane(500, 46), plane(40, 47));
    for (rule, p) in [(Rule::Oja, 1), (Rule::Apex, 4), (Rule::Simultaneous, 4)] {
        for center in [Center::Yes, Center::No] {
            for policy in [None, Some(Policy::Project), Some(Policy::Smallest), Some(Policy::Oldest)] {
                let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(p).rule(rule);
                let settings = settings.center(center).learning_rate(0.05).start(plane(p, 48));
                let settings = policy.into_iter().fold(settings, |settings, policy| settings.budget(60).policy(policy));
                let mut learner = settings.learner().unwrap();
                learner.learn(&points).unwrap();
                let model = learner.model().unwrap();
                assert_eq!(model.n_components(), p, "{rule}, {center:?}, {policy:?}");
                let errors = model.novelty(&queries).unwrap().reconstruction_error;
                for (seen, error) in learner.look_at_rows(&queries).unwrap().iter().zip(errors) {
                    let novelty = seen.novelty;
                    assert!((novelty - error).abs() < 1e-9, "{rule}, {center:?}, {policy:?}: {novelty} for {error}");
                }
            }
        }
    }
}

/// A kernel that counts how often it is evaluated.
fn counting() -> (Kernel, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let kernel = Kernel::custom(mercer::kernel::PairFunction::new("counting", move |x: &[f64], y: &[f64]| {
        counter.fetch_add(1, Ordering::Relaxed);
        (-20.0 * ((x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2))).exp()
    }));
    (kernel, calls)
}

#[test]
fn a_step_evaluates_the_kernel_once_per_row_in_memory() {
    let points = plane(300, 54);
    for (rule, p) in [(Rule::Oja, 1), (Rule::Apex, 4), (Rule::Simultaneous, 1), (Rule::Simultaneous, 8)] {
        let (kernel, calls) = counting();
        let mut learner = OnlineKernelPca::new(kernel).rule(rule).n_components(p).learner().unwrap();
        for i in 0..300 {
            let before = calls.load(Ordering::Relaxed);
            learner.learn_row(&points.row(i)).unwrap();
            // With those in memory, and with itself.
            assert_eq!(calls.load(Ordering::Relaxed) - before, i + 1, "{rule}, {p} components, row {i}");
        }
        assert_eq!(learner.model().unwrap().record().kernel_entries, 300 * 299 / 2, "{rule}, {p} components");
    }
    // With a budget no row costs more than the ones before it: rows that are dropped have their own values taken out, and everything is computed
    // anew as often as the memory has been replaced, by projection a thirty-second as often.
    for (policy, most) in [(Policy::Project, 2), (Policy::Oldest, 4), (Policy::Smallest, 4)] {
        let (kernel, calls) = counting();
        let settings = OnlineKernelPca::new(kernel).n_components(4).budget(20).policy(policy);
        let mut learner = settings.learner().unwrap();
        learner.learn(&points.slice(0..100)).unwrap();
        let mut before = calls.load(Ordering::Relaxed);
        for part in 1..3 {
            learner.learn(&points.slice(100 * part..100 * (part + 1))).unwrap();
            let now = calls.load(Ordering::Relaxed);
            assert!(now - before <= 100 * (most * 21 + 1), "{policy}, part {part}: {}", now - before);
            before = now;
        }
        let entries = learner.model().unwrap().record().kernel_entries;
        assert!(entries <= 300 * 20, "{policy}: {entries}");
    }
}

#[test]
fn outputs_are_the_same_whether_novelty_is_asked_for_or_not() {
    let points = plane(200, 49);
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).budget(20);
    let (mut plain, mut asked) = (settings.learner().unwrap(), settings.learner().unwrap());
    let outputs = plain.learn(&points).unwrap();
    let mut seen = Vec::new();
    asked.learn_each(&points, |each| seen.push(each)).unwrap();
    assert_eq!(row_major(&outputs), seen.iter().flat_map(|each| each.outputs.clone()).collect::<Vec<_>>());
    assert!(seen.iter().all(|each| each.novelty >= 0.0), "every row has one");
    assert_eq!(plain.to_bytes().unwrap(), asked.to_bytes().unwrap());
}

#[test]
fn what_a_row_is_before_it_is_learned_is_what_it_was_at_its_update() {
    let points = plane(400, 7);
    for rule in [Rule::Oja, Rule::Apex, Rule::Simultaneous] {
        let p = if rule == Rule::Oja { 1 } else { 3 };
        let settings = OnlineKernelPca::new(Kernel::gaussian(2.0).unwrap()).rule(rule).n_components(p);
        let mut learner = settings.center(Center::No).learner().unwrap();
        learner.learn(&points.slice(0..399)).unwrap();
        assert_eq!(rule == Rule::Apex, learner.lateral().iter().flatten().any(|a| a.abs() > 1e-3), "{rule}");
        let x = points.row(399);
        let (before, then) = (learner.look(&x).unwrap(), learner.learn_row(&x).unwrap());
        for (a, b) in before.outputs.iter().zip(&then.outputs) {
            assert!((a - b).abs() < 1e-12, "{rule}: {a} and {b}");
        }
        let (a, b) = (before.novelty, then.novelty);
        assert!((a - b).abs() < 1e-12, "{rule}: novelty {a} and {b}");
    }
}

#[test]
fn the_automatic_rate_suits_any_kernel_and_scale() {
    let points = plane(3000, 22);
    let moved = |factor: f64| {
        let values: Vec<f64> = points.rows(0..3000).to_f64().iter().map(|x| factor * x).collect();
        Points::from_f64(values, 3000, 2).unwrap()
    };
    // Outputs scale with the images of the rows, and the rate with one over their square: the same learner at any scale.
    let share = |factor: f64| {
        let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1);
        let mut learner = settings.learner().unwrap();
        learner.learn(&moved(factor)).unwrap();
        assert_eq!(learner.n_shrunk(), 0);
        learner.variances()[0] / learner.total_variance()
    };
    let (small, large) = (share(1e-3), share(1e3));
    assert!((small - large).abs() < 1e-6 && small > 0.7, "{small} and {large}");
    for (label, kernel) in [
        ("wide", Kernel::gaussian(1e-3).unwrap()),
        ("narrow", Kernel::gaussian(0.5).unwrap()),
        ("cubic", Kernel::polynomial(2.0, 1.0, 3).unwrap()),
    ] {
        let mut learner = OnlineKernelPca::new(kernel.clone()).budget(60).learner().unwrap();
        learner.learn(&points).unwrap();
        let captured = captured(&learner, &points, &kernel);
        assert!(captured > 0.9, "{label}: {captured}");
    }
}

#[test]
fn a_custom_kernel_learns_what_its_own_kind_learns() {
    let stream = plane(120, 23);
    let gaussian = |x: &[f64], y: &[f64]| (-0.5 * ((x[0] - y[0]).powi(2) + (x[1] - y[1]).powi(2))).exp();
    let custom = Kernel::custom(mercer::kernel::PairFunction::new("own", gaussian));
    let learn = |kernel: Kernel| {
        let mut learner = OnlineKernelPca::new(kernel).budget(20).learner().unwrap();
        let outputs = learner.learn(&stream).unwrap();
        (outputs, learner.basis())
    };
    let (own, built_in) = (learn(custom), learn(Kernel::gaussian(0.5).unwrap()));
    assert!((&own.0 - &built_in.0).norm_max() < 1e-9);
    assert_eq!(own.1, built_in.1);
}
