//! What a step costs, counted where the work is done: coefficients that passes go over.

use std::cell::Cell;

use super::{OnlineKernelPca, OnlineLearner, Rule};
use crate::data::Points;
use crate::kernel::Kernel;

thread_local! {
    static HEARD: Cell<usize> = const { Cell::new(0) };
}

/// Somebody goes over so many coefficients, on this thread.
pub(super) fn listen(coefficients: usize) {
    HEARD.with(|heard| heard.set(heard.get() + coefficients));
}

/// What some work goes over.
fn cost_of(work: impl FnOnce()) -> usize {
    HEARD.with(|heard| heard.set(0));
    work();
    HEARD.with(Cell::get)
}

/// Rows that nearly have nothing to do with one another under a narrow kernel.
fn rows(n: usize) -> Points {
    let values: Vec<f64> = (0..2 * n).map(|i| ((i * 7919) % 10_007) as f64 * 0.01).collect();
    Points::from_f64(values, n, 2).expect("whole rows")
}

fn settings(rule: Rule, p: usize) -> OnlineKernelPca {
    OnlineKernelPca::new(Kernel::gaussian(1.0).expect("positive")).rule(rule).n_components(p).learning_rate(0.05)
}

#[test]
fn a_step_goes_over_its_coefficients_a_fixed_number_of_times() {
    // Two passes: inner products with the row, and the update. [K01] would have t of them for the simultaneous rule.
    let points = rows(600);
    for (rule, p) in
        [(Rule::Oja, 1), (Rule::Apex, 2), (Rule::Simultaneous, 2), (Rule::Apex, 8), (Rule::Simultaneous, 8)]
    {
        let mut learner = settings(rule, p).learner().expect("settings fit together");
        for i in 0..points.n_samples() {
            let cost = cost_of(|| drop(learner.learn(&points.slice(i..i + 1)).expect("finite rows")));
            // Every row is remembered; expansions have as many coefficients, rounded up to whole vectors.
            let m = learner.n_remembered();
            assert_eq!(m, i + 1);
            let (least, most) = (m.next_multiple_of(8), 2 * (p + 1) * m.next_multiple_of(8) + 3 * p * p);
            let begins = if i < p { (p + 1) * 8 } else { 0 };
            assert!((least..=most + begins).contains(&cost), "{rule}, {p} components, row {i}: {cost}, not {most}");
        }
    }
}

#[test]
fn what_is_asked_of_a_step_costs_what_it_says() {
    // Novelty takes a factor of the components' inner products, P³ / 6, whatever is in memory.
    let (points, p) = (rows(300), 6);
    let mut learner = settings(Rule::Simultaneous, p).learner().expect("settings fit together");
    learner.learn(&points.slice(0..299)).expect("finite rows");
    let mut other = learner.clone();
    let outputs = cost_of(|| drop(learner.learn(&points.slice(299..300)).expect("finite rows")));
    let all = cost_of(|| drop(other.learn_row(&points.row(299)).expect("finite rows")));
    assert!(all > outputs && all - outputs <= p * p * p, "{outputs} for outputs, {all} for all");
}

#[test]
fn what_is_measured_on_the_last_rows_goes_over_what_it_needs_once() {
    let points = rows(300);
    let mut learner = settings(Rule::Simultaneous, 6).budget(40).learner().expect("settings fit together");
    learner.learn(&points).expect("finite rows");
    let m = learner.memory.as_ref().expect("rows have come").rows.padded_len();
    let mean = cost_of(|| {
        learner.mean_drift().expect("no function");
    });
    assert_eq!(mean, 300 * m, "the mean asks for no component");
    let components = cost_of(|| drop(learner.budget_error().expect("no function")));
    assert!(components >= 300 * 7 * m, "{components}");
    let both = cost_of(|| drop(learner.budget_warnings()));
    assert_eq!(both, components, "the mean is at hand then");
}

#[test]
fn with_a_budget_steps_cost_the_same_for_ever() {
    let points = rows(3000);
    for rule in [Rule::Apex, Rule::Simultaneous] {
        let mut learner = settings(rule, 4).budget(40).learner().expect("settings fit together");
        let mut cost =
            |part: std::ops::Range<usize>| cost_of(|| drop(learner.learn(&points.slice(part)).expect("finite rows")));
        cost(0..1000);
        let (early, late) = (cost(1000..2000), cost(2000..3000));
        // Whether a row takes the place of another depends on the row.
        assert!(late.abs_diff(early) * 10 < early, "{rule}: {early} at first, {late} in the end");
        assert!(late / 1000 < 40 * 4 * 5, "{rule}: {} per row", late / 1000);
    }
}
