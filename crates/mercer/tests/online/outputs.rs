//! Outputs of components and scores of the model.

use faer::Mat;
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy, Rule};
use mercer::{Error, Kernel, Points};

use super::support::{refusal, uneven};

fn outputs(learner: &Learner, points: &Points) -> Mat<f64> {
    let seen = learner.look_at_rows(points).unwrap();
    Mat::from_fn(seen.len(), learner.n_components(), |i, p| seen[i].outputs[p])
}

#[test]
fn outputs_of_rows_tell_their_scores_whatever_the_rule() {
    let (points, queries) = (uneven(300, 41), uneven(50, 42));
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.1).unwrap()).n_components(3);
    for (label, settings) in [
        ("simultaneous", settings.clone()),
        ("one", settings.clone().n_components(1).rule(Rule::Oja)),
        ("apex", settings.clone().rule(Rule::Apex)),
        ("in turns", settings.clone().rule(Rule::Apex).rows_per_component(100)),
        ("budget", settings.clone().budget(40)),
        ("dropped", settings.clone().budget(40).policy(Policy::Oldest)),
    ] {
        let mut learner = settings.learner().unwrap();
        learner.learn(&points).unwrap();
        let found = learner.scores_of_outputs(outputs(&learner, &queries).as_ref()).unwrap();
        let expected = learner.model().unwrap().transform(&queries).unwrap();
        assert_eq!((found.nrows(), found.ncols()), (50, expected.ncols()), "{label}");
        let gap = (&found - &expected).norm_max();
        assert!(gap < 1e-9 * (1.0 + expected.norm_max()), "{label}: {gap:e}");
    }
}

#[test]
fn outputs_that_are_too_few_or_not_finite_are_refused() {
    let points = uneven(60, 43);
    let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.1).unwrap()).n_components(2).learner().unwrap();
    assert!(learner.scores_of_outputs(Mat::zeros(1, 2).as_ref()).is_err(), "nothing was learned");
    learner.learn(&points).unwrap();
    let said = refusal(learner.scores_of_outputs(Mat::zeros(1, 3).as_ref()));
    assert_eq!(said, "`outputs` must be of 2 columns, one per component, but it is 3");
    let bad = Mat::from_fn(3, 2, |i, p| if (i, p) == (2, 1) { f64::NAN } else { 0.0 });
    let error = learner.scores_of_outputs(bad.as_ref()).unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 2, column: 1, .. }), "{error}");
}
