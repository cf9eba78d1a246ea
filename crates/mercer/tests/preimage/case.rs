//! The stored case.

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Kernel, KernelPca, Model, Points, Watch};
use npyz::npz::NpzArchive;

use crate::support::close;

fn array(name: &str) -> Mat<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/preimage/preimage.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(name).unwrap().unwrap();
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let values: Vec<f64> = npy.into_vec().unwrap();
    Mat::from_fn(rows, columns, |i, j| values[i * columns + j])
}

fn points(matrix: MatRef<'_, f64>) -> Points {
    let (n, d) = (matrix.nrows(), matrix.ncols());
    Points::from_f64((0..n * d).map(|at| matrix[(at / d, at % d)]).collect::<Vec<_>>(), n, d).unwrap()
}

const SIGMA: f64 = 0.8;

fn case_model() -> Model {
    KernelPca::new(Kernel::gaussian(0.5 / (SIGMA * SIGMA)).unwrap())
        .n_components(3)
        .fit(&points(array("in_X").as_ref()))
        .unwrap()
}

#[test]
fn the_stored_case_comes_out_from_its_points_and_from_scores_alone() {
    let (model, queries) = (case_model(), points(array("in_Xtest").as_ref()));
    let method = Preimage::new(PreimageMethod::FixedPoint);
    let from_points = method.of_points(&model, &queries, &Watch::new()).unwrap();
    close(from_points.points.as_ref(), array("out_z").as_ref(), 1e-8, "fixed points");
    assert_eq!(from_points.converged, [true; 3]);
    let scores = model.transform(&queries).unwrap();
    let from_scores = method.of_scores(&model, scores.as_ref(), &Watch::new()).unwrap();
    close(from_scores.points.as_ref(), array("out_z").as_ref(), 1e-8, "fixed points from scores");
}

#[test]
fn a_model_over_all_points_as_landmarks_has_the_same_pre_images() {
    let (x, queries) = (points(array("in_X").as_ref()), points(array("in_Xtest").as_ref()));
    let landmarks = Nystrom::new(Kernel::gaussian(0.5 / (SIGMA * SIGMA)).unwrap())
        .landmarks(Landmarks::Rows((0..x.n_samples()).collect()));
    let over = NystromPca::new(landmarks).n_components(3).fit(&x).unwrap();
    for method in [PreimageMethod::FixedPoint, PreimageMethod::Gradient, PreimageMethod::Distance] {
        let found = |model: &Model| Preimage::new(method).of_points(model, &queries, &Watch::new()).unwrap();
        let (exact, over) = (found(&case_model()), found(&over));
        close(over.points.as_ref(), exact.points.as_ref(), 1e-6, "pre-images");
        for (a, b) in over.feature_error.iter().zip(&exact.feature_error) {
            assert!((a - b).abs() < 1e-7, "{a} and {b} by {method:?}");
        }
    }
}

/// `‖φ(z) − Σ γ_i φ(x_i)‖²` with the stored weights, pair by pair.
#[test]
fn the_reported_error_is_the_distance_in_feature_space() {
    let (x, gamma, z) = (array("in_X"), array("out_gamma"), array("out_z"));
    let k = |a: &[f64], b: &[f64]| {
        let square: f64 = a.iter().zip(b).map(|(p, q)| (p - q) * (p - q)).sum();
        (-square / (2.0 * SIGMA * SIGMA)).exp()
    };
    let row = |m: &Mat<f64>, i: usize| vec![m[(i, 0)], m[(i, 1)]];
    let found = Preimage::new(PreimageMethod::FixedPoint)
        .of_points(&case_model(), &points(array("in_Xtest").as_ref()), &Watch::new())
        .unwrap();
    for q in 0..3 {
        let mut distance = 1.0;
        for i in 0..20 {
            distance -= 2.0 * gamma[(q, i)] * k(&row(&z, q), &row(&x, i));
            for j in 0..20 {
                distance += gamma[(q, i)] * gamma[(q, j)] * k(&row(&x, i), &row(&x, j));
            }
        }
        assert!((found.feature_error[q] - distance).abs() < 1e-9, "{} and {distance}", found.feature_error[q]);
    }
}
