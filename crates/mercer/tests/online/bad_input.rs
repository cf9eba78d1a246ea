//! What bad settings, rows and rates get.

use mercer::online::{OnlineKernelPca, OnlineLearner, Policy, Rule, Schedule};
use mercer::{Center, Kernel, Points};

use super::support::{plane, refusal};

#[test]
fn bad_settings_are_refused() {
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap());
    let say = |settings: OnlineKernelPca| refusal(settings.learner());
    assert_eq!(say(settings.clone().n_components(0)), "`n_components` must be at least 1, but it is 0");
    assert_eq!(
        say(settings.clone().rule(Rule::Oja)),
        "`n_components` must be 1 for the rule oja, which finds the first component only, but it is 2"
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
        "`start` must be points whose kernel with themselves is positive, but it is one with 0 (row 1)"
    );
}

#[test]
fn bad_rows_are_refused_and_the_rows_before_them_are_learned() {
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learner().unwrap();
    let rows = Points::from_f64(vec![0.0, 1.0, 2.0, f64::NAN], 2, 2).unwrap();
    assert_eq!(refusal(learner.learn(&rows)), "row 1, column 1 is NaN; kernels need finite numbers");
    assert_eq!(learner.n_seen(), 1);
    let wide = Points::from_f64(vec![0.0; 3], 1, 3).unwrap();
    assert_eq!(refusal(learner.learn(&wide)), "the stream has 3 columns, but the model was fitted on 2");
    assert_eq!(learner.n_seen(), 1);
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
    assert!(outputs.norm_max() < 100.0, "the outputs explode: {}", outputs.norm_max());
    // At a rate that never overshoots nothing is counted.
    let mut calm = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learning_rate(0.1).learner().unwrap();
    calm.learn(&plane(200, 4)).unwrap();
    assert_eq!(calm.n_shrunk(), 0);
}
