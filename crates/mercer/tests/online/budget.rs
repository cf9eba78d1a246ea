//! What a budget costs, as a learner says it and against learners without one.

use faer::Mat;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Kernel, Points};

use mercer_testkit::generate::{Format, gaussian_cloud};

use super::support::{captured, plane, uneven};

/// The distances between the components of two learners of the same rows.
fn distances(one: &Learner, other: &Learner, points: &Points, kernel: &Kernel) -> Vec<f64> {
    let n = points.n_samples();
    let gram = Mat::from_fn(n, n, |i, j| kernel.evaluate(&points.row(i), &points.row(j)).unwrap());
    let over_all = |learner: &Learner| {
        let (basis, coefficients) = (learner.basis(), learner.coefficients());
        let mut all = Mat::<f64>::zeros(coefficients.nrows(), n);
        for (slot, row) in basis.iter().enumerate() {
            let place = (0..n).find(|&i| points.row(i) == *row).unwrap();
            all.col_mut(place).copy_from(coefficients.col(slot));
        }
        all
    };
    let apart = over_all(one) - over_all(other);
    let squares = &apart * &gram * apart.transpose();
    (0..apart.nrows()).map(|p| squares[(p, p)].max(0.0).sqrt()).collect()
}

/// The length of a component.
fn length(learner: &Learner, kernel: &Kernel, component: usize) -> f64 {
    let (basis, alpha) = (learner.basis(), learner.coefficients());
    let gram = Mat::from_fn(basis.len(), basis.len(), |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    (&alpha * &gram * alpha.transpose())[(component, component)].max(0.0).sqrt()
}

#[test]
fn the_error_of_the_budget_is_that_against_a_learner_without_one() {
    let (points, kernel) = (plane(300, 40), Kernel::gaussian(0.5).unwrap());
    for center in [Center::Yes, Center::No] {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).center(center).learning_rate(0.1);
        let mut whole = settings.learner().unwrap();
        whole.learn(&points).unwrap();
        assert_eq!(whole.budget_error().unwrap(), [0.0, 0.0]);
        for (policy, budget) in
            [(Policy::Project, 10), (Policy::Project, 20), (Policy::Oldest, 30), (Policy::Smallest, 30)]
        {
            let mut learner = settings.clone().budget(budget).policy(policy).learner().unwrap();
            learner.learn(&points).unwrap();
            for (p, distance) in distances(&learner, &whole, &points, &kernel).into_iter().enumerate() {
                let estimate = learner.budget_error().unwrap()[p];
                let ratio = estimate / distance;
                assert!(
                    (0.2..5.0).contains(&ratio),
                    "{policy}, {budget} rows, {center:?}, component {p}: {estimate} for {distance}"
                );
            }
        }
    }
}

/// Lengths of dropped parts are added up, as if all pointed the same way: what is said is too much rather than too little. Without centring, as the
/// running mean, which forgets with the rows, moves a component, too.
#[test]
fn what_dropped_parts_have_cost_is_not_understated() {
    let (points, kernel) = (plane(400, 43), Kernel::gaussian(0.5).unwrap());
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(1).center(Center::No).learning_rate(0.1);
    let mut whole = settings.learner().unwrap();
    whole.learn(&points).unwrap();
    for (policy, budget) in
        [(Policy::Oldest, 50), (Policy::Oldest, 100), (Policy::Smallest, 50), (Policy::Smallest, 100)]
    {
        let mut learner = settings.clone().budget(budget).policy(policy).learner().unwrap();
        learner.learn(&points).unwrap();
        let (estimate, distance) =
            (learner.budget_error().unwrap()[0], distances(&learner, &whole, &points, &kernel)[0]);
        let ratio = estimate / distance;
        assert!((1.0..8.0).contains(&ratio), "{policy}, {budget} rows: {estimate} for {distance}");
    }
}

/// What memory has no room for is missing from a component only as far as it has been learned.
#[test]
fn the_error_of_the_budget_is_small_where_little_has_been_learned() {
    let (points, kernel) = (plane(400, 41), Kernel::gaussian(2.0).unwrap());
    for (rate, schedule) in [(0.002, Schedule::Constant), (0.05, Schedule::Inverse)] {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).learning_rate(rate).schedule(schedule);
        let mut whole = settings.learner().unwrap();
        whole.learn(&points).unwrap();
        let mut learner = settings.clone().budget(8).learner().unwrap();
        learner.learn(&points).unwrap();
        let estimates = learner.budget_error().unwrap();
        for (estimate, distance) in estimates.iter().zip(distances(&learner, &whole, &points, &kernel)) {
            let ratio = estimate / distance;
            assert!((0.2..5.0).contains(&ratio), "{schedule:?}: {estimate} for {distance}");
        }
        let again = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
        assert_eq!(again.budget_error().unwrap(), estimates);
    }
}

#[test]
fn a_memory_that_drops_the_smallest_weight_does_not_freeze_at_early_rows() {
    let (n, seeds) = (3000, 44..48);
    let mut shares = Vec::new();
    for points in seeds.flat_map(|seed| [plane(n, seed), uneven(n, seed)]) {
        let kernel = Kernel::gaussian(if points.n_features() == 2 { 0.5 } else { 0.05 }).unwrap();
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).budget(30).policy(Policy::Smallest);
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let places = learner.basis().into_iter().map(|row| (0..n).find(|&i| points.row(i) == row).unwrap());
        let place = places.sum::<usize>() / learner.n_remembered();
        assert!(place > n / 3, "remembered rows are number {place} of {n}, in the mean");
        shares.push(captured(&learner, &points.slice(n - 500..n), &kernel));
    }
    // What was subtracted for dropped rows used to stay with the others: 0.5, at row 400 of 3000.
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    assert!(mean > 0.58, "{mean}: {shares:?}");
}

#[test]
fn rows_that_share_nearly_all_of_their_length_are_not_taken_for_one_another() {
    // Far from the origin under an inner product, and under a kernel so wide that its values differ in the seventh digit.
    let far = {
        let values = plane(200, 41).rows(0..200).to_f64().iter().map(|x| 1000.0 + x).collect::<Vec<_>>();
        Points::from_f64(values, 200, 2).unwrap()
    };
    for (points, kernel) in [(far, Kernel::linear()), (plane(200, 41), Kernel::gaussian(1e-7).unwrap())] {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(2);
        let learned = |settings: OnlineKernelPca| {
            let mut learner = settings.learner().unwrap();
            for _ in 0..5 {
                learner.learn(&points).unwrap();
            }
            learner.captured().unwrap().ratio().iter().sum::<f64>()
        };
        let (whole, small) = (learned(settings.clone()), learned(settings.budget(20)));
        assert!((whole - small).abs() < 1e-3, "{}: {whole} and {small}", kernel.name());
    }
}

#[test]
fn what_a_worn_component_has_lost_does_not_fade() {
    // A rate so small that the few rows in memory cannot keep a component up.
    let (points, kernel) = (plane(1500, 41), Kernel::gaussian(0.5).unwrap());
    let settings = OnlineKernelPca::new(kernel.clone()).rule(Rule::Oja).n_components(1).center(Center::No);
    for policy in [Policy::Oldest, Policy::Smallest] {
        let mut learner = settings.clone().learning_rate(0.01).budget(5).policy(policy).learner().unwrap();
        let mut shortest = f64::INFINITY;
        for i in 0..points.n_samples() {
            learner.learn(&points.slice(i..i + 1)).unwrap();
            let length = length(&learner, &kernel, 0);
            shortest = shortest.min(length);
            // It would have kept its length of one, but for what a step adds.
            let (lost, missing) = (learner.budget_error().unwrap()[0], 1.0 - length);
            assert!(lost >= missing - 0.02, "{policy}, row {i}: {lost} of {missing} missing");
            // The learner follows the square of the length from update to update, to rounding.
            assert!(lost <= 1.0 + length + 1e-6, "{policy}, row {i}: {lost}, length {length}");
        }
        assert!(shortest < 0.5, "{policy}: the component is not worn: {shortest}");
    }
}

#[test]
fn rows_that_come_again_wear_no_component_away() {
    // As many different rows as the budget has room for, again and again: more come than it has room for, and none is dropped.
    let kernel = Kernel::gaussian(0.125).unwrap();
    let settings = OnlineKernelPca::new(kernel.clone()).n_components(2).center(Center::No).policy(Policy::Oldest);
    let mut shortest = f64::INFINITY;
    for seed in 0..8 {
        let (points, mut learner) = (plane(10, seed), settings.clone().budget(10).learner().unwrap());
        for i in 0..300 {
            learner.learn_row(&points.row(i % 10)).unwrap();
            assert_eq!(learner.wear_warning(), None, "seed {seed}, row {i}");
            if i >= 10 {
                shortest = shortest.min(length(&learner, &kernel, 1));
            }
        }
        assert_eq!(learner.n_remembered(), 10);
    }
    assert!(shortest < 0.5, "the rule itself makes the second one short at first: {shortest}");
}

/// The squared distance of the learner's running mean from the mean of these points, over the variance of the points.
fn mean_apart(learner: &Learner, points: &Points, kernel: &Kernel) -> f64 {
    let (basis, weights, n) = (learner.basis(), learner.mean_coefficients(), points.n_samples());
    let rows: Vec<Vec<f64>> = (0..n).map(|i| points.row(i)).collect();
    let over_all = |x: &[f64]| rows.iter().map(|y| kernel.evaluate(x, y).unwrap()).sum::<f64>() / n as f64;
    let of_points = rows.iter().map(|x| over_all(x)).sum::<f64>() / n as f64;
    let both = basis.iter().zip(weights).map(|(x, weight)| weight * over_all(x)).sum::<f64>();
    let mut own = 0.0;
    for (x, a) in basis.iter().zip(weights) {
        own += basis.iter().zip(weights).map(|(y, b)| a * b * kernel.evaluate(x, y).unwrap()).sum::<f64>();
    }
    (of_points - 2.0 * both + own) / (1.0 - of_points)
}

#[test]
fn a_long_stream_does_not_wear_the_mean_away() {
    // One component and a small budget: hardly anything but the mean says which rows are worth remembering.
    let kernel = Kernel::gaussian(0.05).unwrap();
    let probes = gaussian_cloud(500, 8, 77).points(Format::F64);
    for p in [1, 2] {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(p).budget(60);
        let mut learner = settings.learner().unwrap();
        let mut apart = Vec::new();
        for part in 0..5 {
            learner.learn(&gaussian_cloud(12_000, 8, 100 + part).points(Format::F64)).unwrap();
            apart.push(mean_apart(&learner, &probes, &kernel));
        }
        assert!(apart.iter().all(|&apart| apart < 0.02), "{p} components: {apart:?}");
        let share = captured(&learner, &probes, &kernel);
        assert!(share > 0.8, "{p} components: {share}");
        // As it is measured on the last 512 rows.
        let (said, found) = (learner.mean_drift().unwrap(), apart[4].sqrt());
        assert!((said - found).abs() < 0.05, "{p} components: {said} for {found}");
    }
}

#[test]
fn a_mean_that_the_budget_has_no_room_for_is_measured_and_said() {
    let kernel = Kernel::gaussian(0.05).unwrap();
    let probes = gaussian_cloud(500, 8, 77).points(Format::F64);
    let mut learner = OnlineKernelPca::new(kernel.clone()).n_components(1).budget(3).learner().unwrap();
    learner.learn(&gaussian_cloud(3000, 8, 90).points(Format::F64)).unwrap();
    let (said, found) = (learner.mean_drift().unwrap(), mean_apart(&learner, &probes, &kernel).sqrt());
    assert!((said - found).abs() < 0.15 && found > 0.3, "{said} for {found}");
    let warnings = learner.budget_warnings();
    assert!(warnings.iter().any(|text| text.starts_with("the running mean is 0.")), "{warnings:?}");
    // Without centring, and without anything to forget, there is nothing to say.
    for settings in [
        OnlineKernelPca::new(kernel.clone()).n_components(1).budget(3).center(Center::No),
        OnlineKernelPca::new(kernel.clone()).n_components(1),
    ] {
        let mut learner = settings.learner().unwrap();
        learner.learn(&gaussian_cloud(400, 8, 91).points(Format::F64)).unwrap();
        assert!(learner.mean_drift().unwrap() < f64::MIN_POSITIVE);
    }
}

#[test]
fn a_budget_that_is_far_too_small_says_so() {
    let (points, kernel) = (uneven(3000, 82), Kernel::gaussian(0.05).unwrap());
    for schedule in [Schedule::Constant, Schedule::Inverse] {
        let settings = OnlineKernelPca::new(kernel.clone()).n_components(3).schedule(schedule);
        let mut whole = settings.learner().unwrap();
        whole.learn(&points).unwrap();
        for budget in [5, 10, 20] {
            let mut learner = settings.clone().budget(budget).learner().unwrap();
            learner.learn(&points).unwrap();
            let estimates = learner.budget_error().unwrap();
            let apart = distances(&learner, &whole, &points, &kernel);
            let ratios: Vec<f64> = estimates.iter().zip(&apart).map(|(said, found)| said / found).collect();
            assert!(
                ratios.iter().all(|ratio| (0.25..4.0).contains(ratio)),
                "{schedule}, {budget} rows: {estimates:?} for {apart:?}"
            );
            let warned =
                learner.budget_warnings().iter().any(|text| text.starts_with("the budget has moved a component"));
            assert!(warned || apart.iter().all(|&apart| apart < 0.5), "{schedule}, {budget} rows: {apart:?}");
        }
    }
}
