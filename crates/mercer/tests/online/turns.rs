//! Components that learn one after the other: each as if it had been added by hand when its turn came.

use faer::Mat;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Rule, Schedule};
use mercer::{Center, Kernel, Points};

use super::support::{captured, plane, refusal, row_major, uneven};

const P: usize = 3;
const ROWS: usize = 40;

fn settings(center: Center) -> OnlineKernelPca {
    OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).rule(Rule::Apex).center(center).learning_rate(0.1)
}

/// Components over the same rows, whatever their places in memory.
fn apart(one: &Learner, other: &Learner) -> f64 {
    let by_row = |learner: &Learner| {
        let (basis, coefficients) = (learner.basis(), learner.coefficients());
        let mut all: Vec<(Vec<u64>, Vec<f64>)> = basis
            .iter()
            .enumerate()
            .map(|(slot, row)| {
                let bits = row.iter().map(|x| x.to_bits()).collect();
                (bits, coefficients.col(slot).iter().copied().collect())
            })
            .collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    };
    let (one, other) = (by_row(one), by_row(other));
    assert_eq!(one.len(), other.len());
    one.iter().zip(&other).fold(0.0, |most, (a, b)| {
        assert_eq!(a.0, b.0, "the same rows");
        a.1.iter().zip(&b.1).fold(most, |most: f64, (x, y)| most.max((x - y).abs()))
    })
}

#[test]
fn taking_turns_is_adding_components_by_hand() {
    let (start, rows) = (plane(P, 60), plane(P * ROWS + 25, 61));
    for center in [Center::Yes, Center::No] {
        for schedule in [Schedule::Constant, Schedule::Inverse, Schedule::Anneal] {
            let settings = settings(center).schedule(schedule);
            let turns = settings.clone().n_components(P).start(start.clone()).rows_per_component(ROWS);
            let mut learner = turns.learner().unwrap();
            let mut by_hand = settings.rule(Rule::Oja).n_components(1).start(start.slice(0..1)).learner().unwrap();
            for i in 0..rows.n_samples() {
                let turn = (i / ROWS).min(P - 1);
                if turn > 0 && i == turn * ROWS {
                    by_hand = by_hand.next_component(&start.slice(turn..turn + 1)).unwrap();
                }
                assert_eq!((learner.n_started(), learner.n_finished()), (turn + 1, turn), "row {i}");
                let (seen, want) = (learner.learn_row(&rows.row(i)).unwrap(), by_hand.learn_row(&rows.row(i)).unwrap());
                for (p, (y, expected)) in seen.outputs.iter().zip(&want.outputs).enumerate() {
                    assert!((y - expected).abs() < 1e-11, "{center:?}, {schedule}, row {i}: output {p} is {y}");
                }
                assert!(seen.outputs[want.outputs.len()..].iter().all(|&y| y == 0.0), "not begun at row {i}");
                assert!((seen.novelty - want.novelty).abs() < 1e-9, "{center:?}, {schedule}, row {i}");
            }
            assert_eq!((learner.n_started(), learner.n_finished()), (P, P - 1));
            assert!(apart(&learner, &by_hand) < 1e-11, "{center:?}, {schedule}");
            for (own, other) in learner.lateral().iter().flatten().zip(by_hand.lateral().iter().flatten()) {
                assert!((own - other).abs() < 1e-11);
            }
        }
    }
}

#[test]
fn a_component_without_a_start_point_begins_at_the_first_row_of_its_turn() {
    let rows = plane(2 * ROWS + 10, 62);
    let mut learner = settings(Center::No).n_components(2).rows_per_component(ROWS).learner().unwrap();
    let mut by_hand = settings(Center::No).rule(Rule::Oja).n_components(1).start(rows.slice(0..1)).learner().unwrap();
    learner.learn(&rows.slice(0..ROWS)).unwrap();
    by_hand.learn(&rows.slice(1..ROWS)).unwrap();
    assert_eq!((learner.n_started(), learner.n_finished()), (1, 1));
    let waiting = learner.learn_row(&rows.row(ROWS)).unwrap();
    assert!(waiting.outputs[1] == 0.0 && learner.n_started() == 2);
    by_hand = by_hand.next_component(&rows.slice(ROWS..ROWS + 1)).unwrap();
    let rest = rows.slice(ROWS + 1..rows.n_samples());
    let (found, want) = (learner.learn(&rest).unwrap(), by_hand.learn(&rest).unwrap());
    assert!((&found - &want).norm_max() < 1e-11);
}

#[test]
fn rows_that_come_again_let_the_next_component_begin() {
    // Every row of the second and third pass is in memory already.
    let rows = plane(ROWS, 63);
    let mut learner = settings(Center::Yes).n_components(P).rows_per_component(ROWS).learner().unwrap();
    for pass in 0..P {
        assert_eq!(learner.n_finished(), pass);
        learner.learn(&rows).unwrap();
    }
    assert_eq!((learner.n_started(), learner.n_remembered()), (P, ROWS));
}

#[test]
fn a_row_without_a_length_starts_no_component_whose_turn_it_is() {
    let mut learner = OnlineKernelPca::new(Kernel::linear())
        .rule(Rule::Apex)
        .center(Center::No)
        .rows_per_component(5)
        .learner()
        .unwrap();
    learner.learn(&plane(5, 1)).unwrap();
    assert_eq!((learner.n_started(), learner.n_finished()), (1, 1));
    learner.learn(&Points::from_f64(vec![0.0; 20], 10, 2).unwrap()).unwrap();
    assert_eq!(learner.n_started(), 1, "it waits");
    assert_eq!(
        learner.warnings(),
        ["1 of 2 components has begun to learn: one learns after the other, each from 5 rows, and 15 have come"]
    );
    learner.learn(&plane(1, 2)).unwrap();
    assert_eq!(learner.n_started(), 2);
}

#[test]
fn components_one_after_the_other_capture_nearly_what_there_is() {
    let kernel = Kernel::gaussian(0.05).unwrap();
    let (rows, probes) = (uneven(12_000, 64), uneven(500, 65));
    let settings = OnlineKernelPca::new(kernel.clone()).rule(Rule::Apex).n_components(P).budget(100);
    let mut learner = settings.schedule(Schedule::Inverse).rows_per_component(4000).learner().unwrap();
    learner.learn(&rows).unwrap();
    let share = captured(&learner, &probes, &kernel);
    assert!(share > 0.93 && share < 1.0 + 1e-9, "{share}");
    // Each one's variance is that of its own rows, not of those before it began.
    let (variances, outputs) = (learner.variances(), learner.outputs(&probes).unwrap());
    for (p, &variance) in variances.iter().enumerate() {
        let now = outputs.col(p).iter().map(|y| y * y).sum::<f64>() / 500.0;
        assert!((0.75..1.25).contains(&(variance / now)), "component {p}: {variance} for {now}");
    }
}

#[test]
fn a_stream_in_turns_goes_on_from_any_row_to_the_same_bits() {
    let (rows, start) = (plane(100, 66), plane(P, 67));
    for settings in [
        settings(Center::Yes).n_components(P).rows_per_component(30),
        settings(Center::Yes).n_components(P).rows_per_component(30).start(start.clone()).budget(12),
        settings(Center::No).n_components(P).rows_per_component(7).schedule(Schedule::Inverse),
    ] {
        let mut whole = settings.learner().unwrap();
        let outputs = whole.learn(&rows).unwrap();
        for cut in [1, 6, 7, 29, 30, 31, 59, 60, 61, 90, 99] {
            let mut first = settings.learner().unwrap();
            first.learn(&rows.slice(0..cut)).unwrap();
            let mut second = Learner::from_bytes(&first.to_bytes().unwrap(), None).unwrap();
            assert_eq!(second.settings().difference(&settings), None);
            assert_eq!(second.start_points(), first.start_points());
            let rest = second.learn(&rows.slice(cut..100)).unwrap();
            let expected = Mat::from_fn(100 - cut, P, |i, j| outputs[(cut + i, j)]);
            assert_eq!(row_major(&rest), row_major(&expected), "cut after {cut} rows");
            assert_eq!(second.to_bytes().unwrap(), whole.to_bytes().unwrap(), "cut after {cut} rows");
        }
    }
}

#[test]
fn turns_that_cannot_be_taken_are_refused() {
    let say = |settings: OnlineKernelPca| refusal(settings.learner());
    assert_eq!(
        say(settings(Center::Yes).rows_per_component(0)),
        "`rows_per_component` must be at least 1, but it is 0"
    );
    assert_eq!(
        say(settings(Center::Yes).rule(Rule::Simultaneous).rows_per_component(10)),
        "`rows_per_component` must be left out with the rule simultaneous, whose components learn at once, but it is 10"
    );
    assert_eq!(
        say(settings(Center::Yes).n_components(1).rows_per_component(10)),
        "`rows_per_component` must be left out with a single component, but it is 10"
    );
    let mut learner = settings(Center::Yes).rows_per_component(10).learner().unwrap();
    learner.learn(&plane(5, 1)).unwrap();
    assert_eq!(
        refusal(learner.next_component(&plane(1, 2))),
        "`n_components` must be at most the number of components that have begun (1) before one more is added, but it is 2"
    );
    // With one more, the budget of three has no room.
    let mut full = settings(Center::Yes).budget(3).learner().unwrap();
    full.learn(&plane(5, 1)).unwrap();
    assert_eq!(
        refusal(full.next_component(&plane(1, 2))),
        "`budget` must be at least one more than the number of components (4), but it is 3"
    );
}

#[test]
fn a_component_that_is_added_by_hand_is_kept_with_its_start_point() {
    let (start, rows) = (plane(2, 68), plane(30, 69));
    let mut learner = settings(Center::Yes).start(start.clone()).learner().unwrap();
    learner.learn(&rows).unwrap();
    let third = learner.next_component(&rows.slice(3..4)).unwrap();
    let want: Vec<Vec<f64>> = vec![start.row(0), start.row(1), rows.row(3)];
    assert_eq!(third.start_points(), want);
    let again = Learner::from_bytes(&third.to_bytes().unwrap(), None).unwrap();
    assert_eq!(again.start_points(), want);
    // Twice the same point, too, which memory has once.
    let twice = Points::from_f64([start.row(0), start.row(0)].concat(), 2, 2).unwrap();
    let learner = settings(Center::Yes).start(twice).learner().unwrap();
    assert_eq!(Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap().start_points().len(), 2);
}
