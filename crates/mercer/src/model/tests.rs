//! Models whose basis points are not their training points, against the same components written over the training points and
//! against explicit vectors.

use faer::Mat;

use super::{BasisKind, KernelPca, Model, Parts};
use crate::data::Points;
use crate::gram::Centering;
use crate::kernel::Kernel;
use crate::watch::{Threads, Watch};

fn points(n: usize, d: usize) -> Points {
    let values: Vec<f64> = (0..n * d).map(|i| ((i * i) as f64 * 0.731).sin() + 0.3 * (i % d) as f64).collect();
    Points::from_f64(values, n, d).expect("n rows of d")
}

/// The same components and centre, written as a model of representatives would be.
fn rewritten(model: &Model) -> Model {
    let n = model.basis().n_samples();
    let centering = model.centering().expect("the points are centred");
    Model::new(Parts {
        kernel: model.kernel().clone(),
        basis: model.basis().clone(),
        basis_kind: BasisKind::Representatives,
        precision: model.precision(),
        coefficients: model.folded_coefficients(),
        centering: Some(Centering::from_weights(vec![1.0 / n as f64; n], centering.column_means.clone())),
        record: model.record().clone(),
    })
}

#[test]
fn the_same_centre_given_by_weights_changes_nothing_that_is_seen() {
    let (train, queries) = (points(40, 3), points(57, 3).slice(40..57));
    for kernel in [Kernel::gaussian(0.4).expect("positive"), Kernel::polynomial(0.5, 1.0, 3).expect("valid")] {
        let model = KernelPca::new(kernel).n_components(4).fit(&train).expect("forty points have four components");
        let other = rewritten(&model);
        let (a, b) = (model.novelty(&queries).expect("finite"), other.novelty(&queries).expect("finite"));
        let scale = model.total_variance();
        assert!((&a.scores - &b.scores).norm_max() < 1e-12 * scale);
        assert!((&model.transform(&queries).expect("finite") - &b.scores).norm_max() < 1e-12 * scale);
        for (x, y) in a.reconstruction_error.iter().zip(&b.reconstruction_error) {
            assert!((x - y).abs() < 1e-12 * scale, "{x} and {y}");
        }
        for (x, y) in a.t_squared.iter().zip(&b.t_squared) {
            assert!((x - y).abs() < 1e-9 * x.max(1.0), "{x} and {y}");
        }
    }
}

#[test]
fn a_model_of_representatives_has_no_rows_of_training_scores() {
    let other = rewritten(&KernelPca::new(Kernel::linear()).n_components(2).fit(&points(10, 3)).expect("ten points"));
    assert_eq!((other.training_scores().nrows(), other.training_scores().ncols()), (0, 2));
    assert_eq!(other.eigenvectors().nrows(), 0);
}

#[test]
fn a_file_keeps_what_the_basis_is_and_the_centre_it_gives() {
    let model = rewritten(&KernelPca::new(Kernel::linear()).n_components(2).fit(&points(10, 3)).expect("ten points"));
    let read = Model::from_bytes(&model.to_bytes().expect("no function"), None).expect("what was written");
    assert_eq!(read.basis_kind(), BasisKind::Representatives);
    assert_eq!(read.centering(), model.centering());
    let queries = points(4, 3);
    let both = [&model, &read].map(|model| model.novelty(&queries).expect("finite"));
    assert_eq!(both[0].reconstruction_error, both[1].reconstruction_error);
    assert!((&both[0].scores - &both[1].scores).norm_max() == 0.0);
}

/// A model over three axis points of a linear kernel: the component and the centre are these vectors.
fn along(direction: [f64; 3], center: [f64; 3], like: &Model) -> Model {
    // Axis points of lengths 2, 4 and 5: coefficients are coordinates over lengths.
    let lengths = [2.0, 4.0, 5.0];
    let axes = Points::from_f64(vec![2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 5.0], 3, 3).expect("three points");
    let weights: Vec<f64> = center.iter().zip(lengths).map(|(x, length)| x / length).collect();
    let column_means = center.iter().zip(lengths).map(|(x, length)| x * length).collect();
    Model::new(Parts {
        kernel: Kernel::linear(),
        basis: axes,
        basis_kind: BasisKind::Representatives,
        precision: like.precision(),
        coefficients: Mat::from_fn(3, 1, |i, _| direction[i] / lengths[i]),
        centering: Some(Centering::from_weights(weights, column_means)),
        record: like.record().clone(),
    })
}

#[test]
fn scores_distances_and_angles_over_other_points_are_those_of_the_vectors() {
    let train = points(30, 3);
    let exact = KernelPca::new(Kernel::linear()).n_components(1).fit(&train).expect("thirty points");
    let (direction, center) = ([0.6, 0.0, 0.8], [0.5, -0.25, 2.0]);
    let model = along(direction, center, &exact);
    let novelty = model.novelty(&train).expect("finite");
    let mut first = [0.0; 3];
    for i in 0..train.n_samples() {
        let x = train.row(i);
        let difference: Vec<f64> = x.iter().zip(center).map(|(a, b)| a - b).collect();
        let score: f64 = difference.iter().zip(direction).map(|(a, b)| a * b).sum();
        let length: f64 = difference.iter().map(|a| a * a).sum();
        assert!((novelty.scores[(i, 0)] - score).abs() < 1e-12);
        assert!((novelty.reconstruction_error[i] - (length - score * score)).abs() < 1e-12);
        let coefficient = exact.folded_coefficients()[(i, 0)];
        first.iter_mut().zip(x).for_each(|(sum, x)| *sum += coefficient * x);
    }
    let cosine: f64 = first.iter().zip(direction).map(|(a, b)| a * b).sum();
    let threads = Threads::new(2).expect("two threads");
    let angle = |a: &Model, b: &Model| a.largest_angle(b, &train, &threads, &Watch::new()).expect("a linear kernel");
    assert!((angle(&model, &exact) - cosine.abs().acos()).abs() < 1e-7);
    assert!((angle(&exact, &model) - angle(&model, &exact)).abs() < 1e-7);
    assert!(angle(&model, &along(direction, [0.0; 3], &exact)) < 1e-7, "a centre is no direction");
}
