//! Updates in feature space as they are printed, on explicit vectors.

use mercer::online::{OnlineKernelPca, Rule, Schedule};
use mercer::{Center, Kernel, Points};
use mercer_testkit::reference::ExplicitOnline;

use super::support::plane;

/// The feature map of (x·y + 1)² in the plane.
fn features(x: &[f64]) -> Vec<f64> {
    let root = 2.0_f64.sqrt();
    vec![1.0, root * x[0], root * x[1], x[0] * x[0], x[1] * x[1], root * x[0] * x[1]]
}

fn quadratic() -> Kernel {
    Kernel::polynomial(1.0, 1.0, 2).unwrap()
}

fn images(points: &Points) -> Vec<Vec<f64>> {
    (0..points.n_samples()).map(|i| features(&points.row(i))).collect()
}

#[test]
fn every_rule_is_the_update_of_explicit_vectors_and_novelty_their_distance_from_the_span() {
    let (start, stream, probes) = (plane(3, 1), plane(200, 2), plane(5, 3));
    for center in [Center::No, Center::Yes] {
        for (rule, p, beta) in
            [(Rule::Oja, 1, 1.0), (Rule::Apex, 3, 1.0), (Rule::Simultaneous, 3, 1.0), (Rule::Simultaneous, 3, 2.0)]
        {
            let start = start.slice(0..p);
            let settings = OnlineKernelPca::new(quadratic()).n_components(p).rule(rule).center(center);
            let settings = if rule == Rule::Simultaneous { settings.beta(beta) } else { settings };
            let mut learner = settings.learning_rate(0.01).start(start.clone()).learner().unwrap();
            let mut explicit = ExplicitOnline::new(rule, 0.01, beta, &images(&start), center == Center::Yes);
            for i in 0..stream.n_samples() {
                let seen = learner.learn_row(&stream.row(i)).unwrap();
                let (outputs, distance) = explicit.learn(&features(&stream.row(i)));
                for (got, want) in seen.outputs.iter().zip(&outputs) {
                    assert!((got - want).abs() < 1e-9, "{rule}, {center:?}, row {i}: {got} instead of {want}");
                }
                let novelty = seen.novelty;
                assert!((novelty - distance).abs() < 1e-8, "{rule}, {center:?}, row {i}: {novelty} for {distance}");
            }
            let looked = learner.look_at_rows(&probes).unwrap();
            for (seen, phi) in looked.iter().zip(images(&probes)) {
                let distance = explicit.distance(&phi);
                let novelty = seen.novelty;
                assert!((novelty - distance).abs() < 1e-8, "{rule}, {center:?}: {novelty} for {distance}");
            }
        }
    }
}

#[test]
fn schedules_are_the_printed_rates() {
    let (start, stream, tau) = (plane(2, 5), plane(60, 6), 20.0);
    for schedule in [Schedule::Constant, Schedule::Inverse, Schedule::Anneal] {
        let settings = OnlineKernelPca::new(quadratic()).center(Center::No).schedule(schedule).learning_rate(0.02);
        let settings = if schedule == Schedule::Anneal { settings.tau(tau) } else { settings };
        let mut learner = settings.start(start.clone()).learner().unwrap();
        let mut explicit = ExplicitOnline::new(Rule::Simultaneous, 0.02, 1.0, &images(&start), false);
        for i in 0..stream.n_samples() {
            let t = (i + 1) as f64;
            explicit.eta = 0.02
                * match schedule {
                    Schedule::Inverse => 1.0 / t,
                    Schedule::Anneal => tau / (t + tau),
                    _ => 1.0,
                };
            let seen = learner.learn_row(&stream.row(i)).unwrap();
            let (outputs, _) = explicit.learn(&features(&stream.row(i)));
            for (got, want) in seen.outputs.iter().zip(&outputs) {
                assert!((got - want).abs() < 1e-9, "{schedule}, row {i}: {got} instead of {want}");
            }
        }
    }
}

#[test]
fn forgetting_is_the_share_of_mean_and_variance_that_a_row_replaces_at_least() {
    let (rows, kernel) = (plane(30, 8), Kernel::gaussian(0.5).unwrap());
    for forgetting in [None, Some(0.1)] {
        let settings = OnlineKernelPca::new(kernel.clone());
        let mut learner = forgetting.into_iter().fold(settings, OnlineKernelPca::forgetting).learner().unwrap();
        let (mut mean, mut variance): (Vec<f64>, f64) = (Vec::new(), 0.0);
        for i in 0..rows.n_samples() {
            learner.learn_row(&rows.row(i)).unwrap();
            let share = (1.0 / (i + 1) as f64).max(forgetting.unwrap_or(0.0));
            for weight in &mut mean {
                *weight *= 1.0 - share;
            }
            mean.push(share);
            // The row less the mean, which has taken it in.
            let apart: Vec<f64> =
                mean.iter().enumerate().map(|(j, weight)| if j == i { 1.0 - weight } else { -weight }).collect();
            let mut squared = 0.0;
            for (a, x) in apart.iter().enumerate() {
                for (b, y) in apart.iter().enumerate() {
                    squared += x * y * kernel.evaluate(&rows.row(a), &rows.row(b)).unwrap();
                }
            }
            variance += share * (squared - variance);
            let (found, total) = (learner.mean_coefficients(), learner.total_variance());
            assert_eq!(found.len(), i + 1);
            for (got, want) in found.iter().zip(&mean) {
                assert!((got - want).abs() < 1e-12, "{forgetting:?}, row {i}: {got} instead of {want}");
            }
            assert!((total - variance).abs() < 1e-12, "{forgetting:?}, row {i}: {total} instead of {variance}");
        }
    }
}

#[test]
fn components_start_from_the_first_rows_that_differ() {
    let rows = plane(3, 7);
    // The first two rows are one; the third component starts at the last row.
    let order = [0, 0, 1, 0, 1, 2];
    let settings = OnlineKernelPca::new(quadratic()).n_components(3).center(Center::No).learning_rate(0.01);
    let mut learner = settings.learner().unwrap();
    let mut explicit: Option<ExplicitOnline> = None;
    let mut started = Vec::new();
    for i in order {
        let seen = learner.learn_row(&rows.row(i)).unwrap();
        let phi = features(&rows.row(i));
        if let Some(explicit) = &mut explicit {
            let (outputs, distance) = explicit.learn(&phi);
            for (got, want) in seen.outputs.iter().zip(&outputs) {
                assert!((got - want).abs() < 1e-12, "{got} instead of {want}");
            }
            assert!((seen.novelty - distance).abs() < 1e-9);
            assert!(seen.outputs[outputs.len()..].iter().all(|&output| output == 0.0), "not begun");
        }
        if learner.n_started() > started.last().copied().unwrap_or(0) {
            // A component begins at the row that has just been learned.
            let new = ExplicitOnline::new(Rule::Simultaneous, 0.01, 1.0, std::slice::from_ref(&phi), false);
            match &mut explicit {
                Some(explicit) => explicit.start(&phi),
                None => explicit = Some(new),
            }
        }
        started.push(learner.n_started());
    }
    assert_eq!(started, [1, 1, 2, 2, 2, 3]);
}

#[test]
fn novelty_is_a_distance_however_far_from_orthonormal_components_are() {
    // Two components at an angle of a few degrees, and a rate at which they stay there: what their outputs make of them, 2 y·y − y (w·w) y,
    // is far from what is in their span.
    let start = Points::from_f64(vec![1.0, 0.0, 1.0, 0.1], 2, 2).unwrap();
    for rule in [Rule::Apex, Rule::Simultaneous] {
        let settings = OnlineKernelPca::new(Kernel::linear()).n_components(2).rule(rule).center(Center::No);
        let mut learner = settings.learning_rate(1e-12).start(start.clone()).learner().unwrap();
        // They span the plane.
        for i in 0..20 {
            let seen = learner.learn_row(&plane(20, 4).row(i)).unwrap();
            assert!(seen.novelty < 1e-9, "{rule}, row {i}: {}", seen.novelty);
        }
        let one = learner.look(&[3.0, 4.0]).unwrap();
        assert!(one.novelty < 1e-9, "{rule}: {}", one.novelty);
        let y = &one.outputs;
        assert!((y[0] - 3.0).abs() < 1e-6, "{rule}: {y:?}");
    }
}
