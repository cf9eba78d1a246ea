//! What few rows have: residuals see it although hardly any row that is drawn at random has it.

use faer::Mat;
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{Center, Kernel, KernelProduct, Model, Points, Precision, Watch};
use mercer_testkit::generate::Random;

use super::RULES;

/// Rows about zero, and a few in a group far from them, which are the last.
fn with_a_group(n: usize, few: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    let value = |i: usize| if i / 3 < n - few { 0.5 * random.normal() } else { 8.0 + 0.3 * random.normal() };
    Points::from_f64((0..3 * n).map(value).collect::<Vec<_>>(), n, 3).unwrap()
}

/// Rows a few of which lie very far out: `e` to the power of a normal variable.
fn with_tails(n: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    Points::from_f64((0..3 * n).map(|_| (1.5 * random.normal()).exp()).collect::<Vec<_>>(), n, 3).unwrap()
}

/// The largest residual of a model against the exact centred matrix, all rows of it.
fn largest(model: &Model, points: &Points) -> f64 {
    let (scores, values) = (model.transform(points).unwrap(), model.eigenvalues());
    let v = Mat::from_fn(scores.nrows(), scores.ncols(), |i, j| scores[(i, j)] / values[j].sqrt());
    let product = KernelProduct::new(model.kernel().clone()).center(Center::Yes).precision(Precision::F64);
    let (image, _) = product.multiply(points, v.as_ref(), None, &Watch::new()).unwrap();
    let residual = |j: usize| (image.col(j) - values[j] * v.col(j)).norm_l2() / values[0];
    (0..values.len()).map(residual).fold(0.0, f64::max)
}

fn reported(model: &Model) -> f64 {
    model.residuals().iter().copied().fold(0.0, f64::max)
}

#[test]
fn a_small_group_far_from_all_landmarks_is_seen_by_the_residuals() {
    let kernel = Kernel::gaussian(0.05).unwrap();
    for seed in 0..4 {
        let points = with_a_group(2000, 8, seed);
        // None of the landmarks is in the group, as happens in two of three draws.
        let landmarks = Nystrom::new(kernel.clone()).landmarks(Landmarks::Rows((0..1900).step_by(19).collect()));
        for accuracy in [None, Some(1e-3)] {
            let pca = NystromPca::new(landmarks.clone().seed(seed)).n_components(5);
            let model = accuracy.map_or(pca.clone(), |accuracy| pca.accuracy(accuracy)).fit(&points).unwrap();
            let (found, exact) = (reported(&model), largest(&model, &points));
            assert!(exact > 0.05 && (found / exact - 1.0).abs() < 0.05, "{seed}: {found:.1e} for {exact:.1e}");
            assert_eq!(model.converged(), accuracy.is_none());
        }
    }
}

#[test]
fn residuals_are_right_to_a_factor_whatever_chooses_the_landmarks_and_however_heavy_the_tails() {
    for (name, points, gamma) in [("group", with_a_group(2000, 8, 9), 0.2), ("tails", with_tails(2000, 9), 0.02)] {
        for rule in RULES {
            for seed in 0..3 {
                let settings = Nystrom::new(Kernel::gaussian(gamma).unwrap()).landmarks(rule.clone()).n_landmarks(60);
                let model = NystromPca::new(settings.seed(seed)).n_components(4).fit(&points).unwrap();
                let (found, exact) = (reported(&model), largest(&model, &points));
                let what = format!("{name}, {rule}, {seed}: {found:.1e} for {exact:.1e}");
                // What is measured again is off by rounding.
                assert!(found <= 2.0 * exact + 1e-11 && exact <= 2.0 * found + 1e-11, "{what}");
            }
        }
    }
}
