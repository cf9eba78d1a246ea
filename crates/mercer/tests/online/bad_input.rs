//! What bad settings, rows and rates get.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mercer::kernel::CustomKernel;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Error, Kernel, Points};

use super::support::{plane, refusal, row_major};

#[test]
fn bad_settings_are_refused() {
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap());
    let say = |settings: OnlineKernelPca| refusal(settings.learner());
    assert_eq!(say(settings.clone().n_components(0)), "`n_components` must be at least 1, but it is 0");
    assert_eq!(
        say(settings.clone().rule(Rule::Oja)),
        "`n_components` must be 1 for the rule oja, which finds the first component only, but it is 2, which is the default"
    );
    assert_eq!(say(settings.clone().learning_rate(0.0)), "`learning_rate` must be a positive number, but it is 0");
    assert_eq!(say(settings.clone().beta(-1.0)), "`beta` must be a positive number, but it is -1");
    assert_eq!(say(settings.clone().tau(0.0)), "`tau` must be a positive number, but it is 0");
    assert_eq!(say(settings.clone().forgetting(1.0)), "`forgetting` must be between 0 and 1, but it is 1");
    assert_eq!(
        say(settings.clone().budget(2)),
        "`budget` must be at least one more than the number of components (3), but it is 2"
    );
    assert_eq!(
        say(settings.clone().policy(Policy::Oldest)),
        "`policy` must be left out without a budget, which it is about, but it is oldest"
    );
    assert_eq!(
        say(settings.clone().tau(100.0)),
        "`tau` must be left out with the schedule constant, which does not use it, but it is 100"
    );
    assert_eq!(
        say(settings.clone().tau(100.0).schedule(Schedule::Inverse)),
        "`tau` must be left out with the schedule 1/t, which does not use it, but it is 100"
    );
    assert_eq!(
        say(settings.clone().beta(2.0).rule(Rule::Apex)),
        "`beta` must be left out with the rule apex, which does not use it, but it is 2"
    );
    assert_eq!(say(settings.clone().start(plane(3, 1))), "`start` must be one point per component (2), but it is 3");
    assert_eq!(
        say(OnlineKernelPca::new(Kernel::Precomputed)),
        "online learning does not work with the precomputed kernel: rows that are still to come have no place in a matrix"
    );
    let nothing = Points::from_f64(vec![1.0, 0.0, 0.0, 0.0], 2, 2).unwrap();
    assert_eq!(
        say(OnlineKernelPca::new(Kernel::linear()).start(nothing)),
        "`start` must be points whose kernel with themselves is positive, but it is one with 0 (point 2)"
    );
}

#[test]
fn bad_rows_are_refused_and_the_rows_before_them_are_learned() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learner().unwrap();
    let rows = Points::from_f64(vec![0.0, 1.0, 2.0, f64::NAN], 2, 2).unwrap();
    assert_eq!(refusal(learner.learn(&rows)), "row 1, column 1 is NaN; kernels need finite numbers");
    assert_eq!(learner.n_seen(), 1);
    let wide = Points::from_f64(vec![0.0; 3], 1, 3).unwrap();
    assert_eq!(refusal(learner.learn(&wide)), "the row has 3 columns, but rows of this stream have 2");
    assert_eq!(learner.n_seen(), 1);
}

#[test]
fn a_row_of_another_width_is_refused_or_looked_at_but_never_a_panic() {
    // Nothing was learned from the first call: rows may still have any width.
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learner().unwrap();
    assert!(learner.learn(&Points::from_f64(vec![f64::NAN, 1.0], 1, 2).unwrap()).is_err());
    assert!((learner.look(&[1.0, 2.0, 3.0]).unwrap().novelty - 1.0).abs() < 1e-12);
    assert_eq!(learner.look_at_rows(&plane(2, 1)).unwrap().len(), 2);
    assert_eq!(learner.look_at_rows(&Points::from_f64(vec![0.0; 9], 3, 3).unwrap()).unwrap().len(), 3);
    // A row without a length has a width, too, though nothing is remembered of it.
    let mut learner = OnlineKernelPca::new(Kernel::linear()).center(Center::No).budget(5).learner().unwrap();
    learner.learn_row(&[0.0, 0.0]).unwrap();
    assert_eq!(learner.n_remembered(), 0);
    let text = "the row has 3 columns, but rows of this stream have 2";
    assert_eq!(refusal(learner.look(&[1.0, 2.0, 3.0])), text);
    assert_eq!(refusal(learner.outputs(&Points::from_f64(vec![1.0; 3], 1, 3).unwrap())), text);
    assert_eq!(refusal(learner.check_rows(&Points::from_f64(vec![1.0; 3], 1, 3).unwrap())), text);
    assert_eq!(refusal(learner.learn_row(&[1.0, 2.0, 3.0])), text);
}

#[test]
fn rows_whose_kernel_values_overflow_are_refused_by_their_number_and_nothing_changes() {
    // Beyond the range; within it, but not its square; and one whose kernel with itself is in the range, but for sums of it.
    let cubic = Kernel::polynomial(1.0, 1.0, 3).unwrap();
    for (kernel, huge, smaller_gamma) in
        [(cubic, 1e60, ", or use a smaller gamma"), (Kernel::linear(), 1e160, ""), (Kernel::linear(), 1e153, "")]
    {
        let text = |row: usize| {
            format!("row {row} is too large: its kernel with itself overflows f64; scale the data{smaller_gamma}")
        };
        let mut learner = OnlineKernelPca::new(kernel.clone()).budget(8).learner().unwrap();
        let rows = Points::from_f64(vec![1.0, 2.0, 0.5, 1.0, huge, huge], 3, 2).unwrap();
        assert_eq!(refusal(learner.look_at_rows(&rows)), text(2), "{kernel:?}, before any row");
        learner.learn(&plane(20, 50)).unwrap();
        let before = learner.to_bytes().unwrap();
        assert_eq!(refusal(learner.check_rows(&rows)), text(2), "{kernel:?}");
        assert_eq!(refusal(learner.look_at_rows(&rows)), text(2), "{kernel:?}");
        assert_eq!(refusal(learner.outputs(&rows)), text(2), "{kernel:?}");
        assert_eq!(learner.to_bytes().unwrap(), before);
        assert_eq!(refusal(learner.learn(&rows)), text(22), "{kernel:?}, by its number in the stream");
        assert_eq!(learner.n_seen(), 22);
        let mut same = Learner::from_bytes(&before, None).unwrap();
        same.learn(&rows.slice(0..2)).unwrap();
        assert_eq!(learner.to_bytes().unwrap(), same.to_bytes().unwrap(), "{kernel:?}: it has learned two rows");
    }
}

#[test]
fn rows_that_a_model_could_not_be_used_with_are_refused_and_nothing_changes() {
    let text = |row: usize| {
        format!("row {row} is too large: its squared norm overflows f64; scale the data, or use a smaller gamma")
    };
    for kernel in [
        Kernel::gaussian(0.5).unwrap(),
        Kernel::matern32(0.5).unwrap(),
        Kernel::laplacian(0.5).unwrap(),
        Kernel::sigmoid(0.5, 0.1).unwrap(),
    ] {
        let mut learner = OnlineKernelPca::new(kernel.clone()).learner().unwrap();
        let rows = Points::from_f64(vec![1.0, 2.0, 0.5, 1.0, 1e200, -1e200], 3, 2).unwrap();
        assert_eq!(refusal(learner.look_at_rows(&rows)), text(2), "{kernel:?}, before any row");
        learner.learn(&plane(20, 50)).unwrap();
        assert_eq!(refusal(learner.check_rows(&rows)), text(2), "{kernel:?}");
        assert_eq!(refusal(learner.learn(&rows)), text(22), "{kernel:?}, by its number in the stream");
        let before = learner.to_bytes().unwrap();
        assert_eq!(refusal(learner.learn_row(&rows.row(2))), text(22), "{kernel:?}");
        assert_eq!(learner.to_bytes().unwrap(), before, "{kernel:?}: nothing is learned of it");
    }
    let start = Points::from_f64(vec![1e200, 0.0], 1, 2).unwrap();
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(1).start(start);
    assert_eq!(
        refusal(settings.learner()),
        "`start` must be points whose squared norms do not overflow f64, but it is one with 1e200 (point 1)"
    );
}

#[test]
fn every_row_that_is_learned_can_be_transformed_by_the_model() {
    // Below the limit, about it and above it. One row lies on the other side of the origin, and farther from the middle of all than from there.
    for size in [1e150, 1e152, 3e152, 1e153, 3e153, 6e153, 1e154] {
        let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(1).learner().unwrap();
        let values: Vec<f64> =
            (0..10).map(|i| if i == 3 { -size } else { size * (1.0 - 0.01 * f64::from(i)) }).collect();
        let rows = Points::from_f64(values, 10, 1).unwrap();
        if learner.check_rows(&rows).is_ok() {
            learner.learn(&rows).unwrap();
            assert!(learner.model().unwrap().transform(&rows).is_ok(), "{size:e}");
        } else {
            assert!(size > 1e153, "{size:e} is small enough");
        }
    }
}

/// A learner whose next row makes a component so long that the row after it overflows, though its kernel with itself does not.
fn about_to_overflow() -> (Learner, Points) {
    let start = Points::from_f64(vec![1.0, 0.0], 1, 2).unwrap();
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).center(Center::No).learning_rate(1e4);
    (settings.start(start).learner().unwrap(), Points::from_f64(vec![0.007, 1.0, 0.0, 1e151], 2, 2).unwrap())
}

#[test]
fn a_row_that_overflows_with_a_component_is_told_from_one_that_does_with_itself() {
    let (mut learner, rows) = about_to_overflow();
    assert_eq!(
        refusal(learner.learn(&rows)),
        "row 1 is too large: its inner product with a component overflows f64; scale the data, or use a smaller learning rate"
    );
}

#[test]
fn a_beta_that_makes_a_component_too_long_is_spoken_of() {
    let start = Points::from_f64(vec![1.0, 0.0, 0.0, 1.0], 2, 2).unwrap();
    let settings = OnlineKernelPca::new(Kernel::linear()).center(Center::No).learning_rate(0.1).beta(1e160);
    let mut learner = settings.start(start).learner().unwrap();
    // The second component loses 1e159 of the first.
    learner.learn_row(&[1.0, 1.0]).unwrap();
    assert_eq!(
        refusal(learner.learn_row(&[1.0, 1.0])),
        "row 1 is too large: its inner product with a component overflows f64; scale the data, or use a smaller learning rate or a \
         smaller beta"
    );
}

#[test]
fn there_is_a_copy_wherever_a_row_may_fail_after_others_were_learned() {
    let (mut learner, rows) = about_to_overflow();
    let before = learner.to_bytes().unwrap();
    let copy = learner.copy_before(&rows).unwrap().unwrap();
    assert!(learner.learn(&rows).is_err() && learner.n_seen() == 1, "half of the rows");
    assert_eq!(copy.to_bytes().unwrap(), before);
    // A row by itself leaves all as it was; usual rows do not fail.
    assert!(copy.copy_before(&rows.slice(1..2)).unwrap().is_none());
    assert!(copy.copy_before(&plane(50, 62)).unwrap().is_none());
    // However far rows are whose distances are numbers, kernels of distances do not fail.
    let far = Points::from_f64(vec![1.0, 2.0, 1e150, -1e150, 3.0, 4.0], 3, 2).unwrap();
    for kernel in [Kernel::matern32(0.5).unwrap(), Kernel::matern52(0.5).unwrap(), Kernel::gaussian(0.5).unwrap()] {
        let mut learner = OnlineKernelPca::new(kernel.clone()).budget(8).learner().unwrap();
        learner.learn(&plane(20, 63)).unwrap();
        assert!(learner.copy_before(&far).unwrap().is_none());
        assert!(learner.learn(&far).unwrap().norm_max().is_finite(), "{kernel:?}");
    }
}

#[test]
fn more_components_than_memory_has_room_for_are_refused() {
    for n in [10_000_000, usize::MAX] {
        let error = OnlineKernelPca::new(Kernel::linear()).n_components(n).learner().err().unwrap();
        assert_eq!(error.kind(), mercer::ErrorKind::OverBudget);
        let text = error.to_string();
        assert!(text.starts_with(&format!("what each of {n} components is to each other needs ")), "{text}");
        assert!(text.contains("; ask for at most ") && text.ends_with(" components"), "{text}");
    }
}

#[test]
fn a_budget_that_memory_has_no_room_for_is_refused() {
    let settings = OnlineKernelPca::new(Kernel::linear());
    for budget in [10_000_000, usize::MAX] {
        let error = settings.clone().budget(budget).learner().err().unwrap();
        assert_eq!(error.kind(), mercer::ErrorKind::OverBudget);
        let text = error.to_string();
        // A start point per component, and a row that has come before another goes.
        let rows = budget.saturating_add(3);
        let what =
            format!("what each of {rows} rows in memory is to each other, which the policy project goes by, needs ");
        assert!(text.starts_with(&what), "{text}");
        assert!(text.contains("; ask for a budget of at most "), "{text}");
        assert!(text.ends_with(", or for the policy oldest or smallest"), "{text}");
        for policy in [Policy::Oldest, Policy::Smallest] {
            assert!(settings.clone().budget(budget).policy(policy).learner().is_ok(), "{policy}");
        }
    }
}

#[test]
fn rows_of_any_length_have_an_angle() {
    let learn = |factor: f64| {
        let rows: Vec<f64> = plane(60, 51).rows(0..60).to_f64().iter().map(|x| x * factor).collect();
        let mut learner = OnlineKernelPca::new(Kernel::cosine()).budget(10).learner().unwrap();
        let outputs = learner.learn(&Points::from_f64(rows, 60, 2).unwrap()).unwrap();
        let seen = learner.look(&[3.0 * factor, factor]).unwrap();
        (outputs, seen.novelty)
    };
    let (plain, novelty) = learn(1.0);
    for factor in [1e300, 1e-300] {
        let (outputs, other) = learn(factor);
        assert!((&outputs - &plain).norm_max() < 1e-9 && (novelty - other).abs() < 1e-9, "{factor:e}: {other}");
    }
}

#[test]
fn the_novelty_of_an_indefinite_kernel_is_what_it_is() {
    let kernel = Kernel::sigmoid(0.5, -0.4).unwrap();
    let mut learner = OnlineKernelPca::new(kernel.clone()).n_components(2).center(Center::No).learner().unwrap();
    learner.learn(&plane(80, 52)).unwrap();
    let queries = plane(60, 53);
    let (basis, alpha) = (learner.basis(), learner.coefficients());
    let m = basis.len();
    let gram = faer::Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    let inner = &alpha * &gram * alpha.transpose();
    let determinant = inner[(0, 0)] * inner[(1, 1)] - inner[(0, 1)] * inner[(1, 0)];
    assert!(inner[(0, 0)] > 0.0 && determinant > 0.0, "components with a length: {inner:?}");
    let mut below = 0;
    for (i, seen) in learner.look_at_rows(&queries).unwrap().iter().enumerate() {
        let x = queries.row(i);
        let k = faer::Mat::from_fn(m, 1, |j, _| kernel.evaluate(&basis[j], &x).unwrap());
        let y = &alpha * &k;
        // Cramer's rule.
        let explained = (inner[(1, 1)] * y[(0, 0)] * y[(0, 0)] - 2.0 * inner[(0, 1)] * y[(0, 0)] * y[(1, 0)]
            + inner[(0, 0)] * y[(1, 0)] * y[(1, 0)])
            / determinant;
        let want = kernel.evaluate(&x, &x).unwrap() - explained;
        assert!((seen.novelty - want).abs() < 1e-9, "{} for {want}", seen.novelty);
        below += usize::from(seen.novelty < -1e-6);
    }
    assert!(below > 0, "some rows are beyond the span and have a negative square");
}

#[test]
fn a_row_without_a_length_starts_no_component() {
    // K(x, x) is zero for the first rows: components start from those after them.
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(2).center(Center::No);
    let mut learner = settings.learner().unwrap();
    learner.learn(&Points::from_f64(vec![0.0; 6], 3, 2).unwrap()).unwrap();
    assert_eq!(
        refusal(learner.model()),
        "`n_components` must be at most the number of different rows so far whose kernel with themselves is positive (0), but it is 2"
    );
    let outputs = learner.learn(&plane(50, 6)).unwrap();
    assert!(outputs.norm_max().is_finite());
    assert_eq!(learner.model().unwrap().n_components(), 2);
}

#[test]
fn a_rate_that_would_overshoot_is_made_smaller_and_counted() {
    let settings = OnlineKernelPca::new(Kernel::linear()).n_components(1).center(Center::No).learning_rate(10.0);
    let mut learner = settings.learner().unwrap();
    let outputs = learner.learn(&plane(200, 4)).unwrap();
    assert!(learner.n_shrunk() > 0);
    let (from, to) = learner.last_shrunk().unwrap();
    assert!((from - 10.0).abs() < 1e-12 && to > 0.0 && to < 10.0, "from {from} to {to}");
    let (n, warnings) = (learner.n_shrunk(), learner.warnings());
    let said = format!(
        "the learning rate was made smaller for {n} of 200 rows, which it would have overshot at: last from 10 to "
    );
    assert!(warnings.iter().any(|warning| warning.starts_with(&said)), "{warnings:?}");
    let again = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
    assert_eq!(again.last_shrunk(), Some((from, to)), "it is part of the state");
    assert!(outputs.norm_max() < 100.0, "the outputs explode: {}", outputs.norm_max());
    // At a rate that never overshoots nothing is counted.
    let mut calm = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learning_rate(0.1).learner().unwrap();
    calm.learn(&plane(200, 4)).unwrap();
    assert_eq!((calm.n_shrunk(), calm.last_shrunk()), (0, None));
}

#[test]
fn every_rule_makes_a_rate_smaller_that_would_overshoot() {
    let settings = OnlineKernelPca::new(Kernel::linear()).center(Center::No).learning_rate(10.0);
    let rows = plane(200, 4);
    for (label, settings) in [
        ("simultaneous", settings.clone()),
        ("oja", settings.clone().rule(Rule::Oja).n_components(1)),
        ("apex", settings.clone().rule(Rule::Apex)),
        ("apex in turns", settings.rule(Rule::Apex).rows_per_component(100)),
    ] {
        let mut learner = settings.learner().unwrap();
        let mut before = 0;
        // In turns, the second part is that of the second component.
        for first in [0, 100] {
            let outputs = row_major(&learner.learn(&rows.slice(first..first + 100)).unwrap());
            // A step that overshoots multiplies them again and again.
            assert!(outputs.iter().all(|y| y.abs() < 1e6), "{label}: {outputs:?}");
            let n = learner.n_shrunk();
            assert!(n > before && n <= first + 100, "{label}: {n} after {before}");
            before = n;
        }
        let (from, to) = learner.last_shrunk().unwrap();
        assert!((from - 10.0).abs() < 1e-12 && to > 0.0 && to <= 5.0, "{label}: from {from} to {to}");
    }
}

#[test]
fn an_annealing_time_beyond_all_rows_is_a_constant_rate() {
    // Their product would overflow.
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learning_rate(10.0);
    let mut annealed = settings.clone().schedule(Schedule::Anneal).tau(1e308).learner().unwrap();
    let (mut constant, rows) = (settings.learner().unwrap(), plane(100, 64));
    assert_eq!(annealed.learn(&rows).unwrap(), constant.learn(&rows).unwrap());
    assert_eq!((annealed.n_shrunk(), annealed.last_shrunk()), (constant.n_shrunk(), constant.last_shrunk()));
}

#[test]
fn a_row_without_numbers_is_refused() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learner().unwrap();
    let text = "`x` must be a row of at least one number, but it is empty";
    assert_eq!(refusal(learner.learn_row(&[])), text);
    assert_eq!(refusal(learner.look(&[])), text);
    learner.learn_row(&[1.0, 2.0]).unwrap();
    let text = "the row has 0 columns, but rows of this stream have 2";
    assert_eq!(refusal(learner.learn_row(&[])), text);
    assert_eq!(learner.n_seen(), 1);
}

/// A Gaussian kernel that fails once, at the call at which `left` says so.
#[derive(Debug)]
struct Failing {
    left: Arc<AtomicUsize>,
}

impl CustomKernel for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn fill(&self, rows: &[f64], columns: &[f64], n_features: usize, out: &mut [f64]) -> mercer::Result<()> {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Err(Error::CustomKernelFailed { kernel: "failing".to_owned(), source: "out of order".into() });
        }
        for (x, line) in rows.chunks_exact(n_features).zip(out.chunks_exact_mut(columns.len() / n_features)) {
            for (y, value) in columns.chunks_exact(n_features).zip(line) {
                *value = (-0.5 * x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum::<f64>()).exp();
            }
        }
        Ok(())
    }
}

#[test]
fn a_kernel_that_fails_at_any_call_leaves_what_the_rows_before_it_taught() {
    let left = Arc::new(AtomicUsize::new(0));
    let settings = OnlineKernelPca::new(Kernel::custom(Failing { left: Arc::clone(&left) }));
    // By projection everything is computed anew after 160 rows; a component begins at its start point after 150.
    let (rows, early) = (plane(170, 60), 140);
    let rest = rows.slice(early..170);
    for (label, settings) in [
        ("oldest", settings.clone().budget(5).policy(Policy::Oldest)),
        ("smallest", settings.clone().budget(5).policy(Policy::Smallest)),
        ("project", settings.clone().budget(5)),
        ("turns", settings.rule(Rule::Apex).start(plane(2, 61)).rows_per_component(150)),
    ] {
        let mut before = settings.learner().unwrap();
        before.learn(&rows.slice(0..early)).unwrap();
        // What every row leaves, and how many calls all of them take.
        left.store(usize::MAX, Ordering::Relaxed);
        let mut learner = before.clone();
        let mut states = vec![learner.to_bytes().unwrap()];
        for i in 0..rest.n_samples() {
            learner.learn(&rest.slice(i..i + 1)).unwrap();
            states.push(learner.to_bytes().unwrap());
        }
        let calls = usize::MAX - left.load(Ordering::Relaxed);
        assert!(calls > 2 * rest.n_samples(), "{label}: {calls} calls");
        for call in 1..=calls {
            left.store(call, Ordering::Relaxed);
            let mut learner = before.clone();
            let mut done = 0;
            let outcome = learner.learn_each(&rest, |_| done += 1);
            assert!(matches!(outcome, Err(Error::CustomKernelFailed { .. })), "{label}, call {call}");
            assert_eq!(learner.n_seen(), early + done);
            assert!(
                learner.to_bytes().unwrap() == states[done],
                "{label}, call {call}: half of row {done} was learned"
            );
        }
    }
}

#[test]
fn outputs_whose_scores_overflow_are_told_as_too_large() {
    let rows = Points::from_f64((0..60).map(|i| f64::from(i * i % 101) * 0.02).collect::<Vec<_>>(), 30, 2).unwrap();
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3).learner().unwrap();
    learner.learn(&rows).unwrap();
    // With all signs, so that there are sums that do not cancel.
    let outputs = faer::Mat::from_fn(8, 3, |i, p| if (i >> p) & 1 == 0 { f64::MAX } else { -f64::MAX });
    let error = learner.scores_of_outputs(outputs.as_ref()).unwrap_err().to_string();
    let start = "`outputs` must be small enough for scores under the model, which are sums of them and overflow f64, but it is ";
    assert!(error.starts_with(&format!("{start}{:e} in row ", f64::MAX)), "{error}");
}
