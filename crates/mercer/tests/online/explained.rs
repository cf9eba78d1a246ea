//! What a learner that began as a model says that its components explain.

use mercer::nystrom::{Nystrom, NystromPca};
use mercer::online::{Learner, OnlineKernelPca, OnlineLearner, Policy};

use super::support::{captured, plane};
use super::warm::{K, exact, kernel};

/// Rows that go take a part of the components along, and those that are left do not explain what was lost.
#[test]
fn a_model_that_stands_for_rows_to_come_explains_no_more_than_its_components_still_do() {
    let points = plane(400, 97);
    let landmarks = NystromPca::new(Nystrom::new(kernel()).n_landmarks(50)).n_components(K);
    let model = landmarks.fit(&points).unwrap();
    let best: f64 = exact(&points).explained_variance_ratio().iter().sum();
    for (policy, budget, n) in [(Policy::Oldest, 60, 59), (Policy::Oldest, 50, 30), (Policy::Smallest, 60, 200)] {
        let m = model.basis().n_samples().max(budget);
        let settings = OnlineKernelPca::for_model(&model).budget(m).policy(policy);
        let mut learner = settings.learner_from(&model).unwrap();
        learner.learn(&points.slice(0..n)).unwrap();
        let stated: f64 = learner.captured().unwrap().ratio().iter().sum();
        let held = best * captured(&learner, &points, &kernel());
        assert!(stated < held + 0.1, "{policy}, {n} rows: {stated} is stated, {held} is held");
        // And so it is for a learner that was written and read.
        let again = Learner::from_bytes(&learner.to_bytes().unwrap(), None).unwrap();
        let read: f64 = again.captured().unwrap().ratio().iter().sum();
        assert_eq!(read.to_bits(), stated.to_bits());
    }
}

#[test]
fn a_model_that_stands_for_rows_to_come_explains_no_more_than_there_is() {
    let model = exact(&plane(400, 90));
    // More components than the model has; and some that learn so fast that they lean towards one another.
    let settings = [
        OnlineKernelPca::new(kernel()).n_components(8),
        OnlineKernelPca::new(kernel()).n_components(5).budget(60),
        OnlineKernelPca::new(kernel()).n_components(K).beta(0.1).learning_rate(1.0),
    ];
    for (i, settings) in settings.iter().enumerate() {
        for n in [10, 20, 200] {
            let mut learner = settings.learner_from(&model).unwrap();
            learner.learn(&plane(n, 91)).unwrap();
            let explained: f64 = learner.captured().unwrap().ratio().iter().sum();
            assert!(explained <= 1.0 + 1e-9, "settings {i}, {n} rows: {explained}");
        }
    }
    // As long as components are those of the model, so is what they explain.
    let learner = OnlineKernelPca::new(kernel()).n_components(K).learner_from(&model).unwrap();
    let ratio = learner.captured().unwrap().ratio();
    for (found, expected) in ratio.iter().zip(model.explained_variance_ratio()) {
        assert!((found - expected).abs() < 1e-9, "{ratio:?}");
    }
}
