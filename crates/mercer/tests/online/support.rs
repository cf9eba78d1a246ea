//! What the tests of online learners share.

use faer::Mat;
use faer::linalg::solvers::Solve;
use mercer::online::Learner;
use mercer::{Kernel, Points};
use mercer_testkit::generate::{Format, Random, gaussian_cloud};

/// Points in the plane that spread along its first axis.
pub(super) fn plane(n: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    Points::from_f64((0..2 * n).map(|i| random.normal() * if i % 2 == 0 { 1.0 } else { 0.4 }).collect::<Vec<_>>(), n, 2)
        .unwrap()
}

/// The share of the variance of the centred images that the span of the components holds, relative to the best span.
pub(super) fn captured(learner: &Learner, points: &Points, kernel: &Kernel) -> f64 {
    let (n, p) = (points.n_samples(), learner.coefficients().nrows());
    let (basis, coefficients) = (learner.basis(), learner.coefficients());
    let m = basis.len();
    // Inner products of components and images, from the expansions: outputs of APEX also have lateral weights in them.
    let cross = Mat::from_fn(m, n, |i, t| kernel.evaluate(&basis[i], &points.row(t)).unwrap());
    let inner_products = &coefficients * &cross;
    let mean: Vec<f64> = (0..p).map(|j| inner_products.row(j).iter().sum::<f64>() / n as f64).collect();
    // Orthonormal directions of the span.
    let gram = Mat::from_fn(m, m, |i, j| kernel.evaluate(&basis[i], &basis[j]).unwrap());
    let inner = &coefficients * &gram * coefficients.transpose();
    let inverse = faer::linalg::solvers::Llt::new(inner.as_ref(), faer::Side::Lower).unwrap();
    let mut explained = 0.0;
    for i in 0..n {
        let y = Mat::from_fn(p, 1, |j, _| inner_products[(j, i)] - mean[j]);
        explained += (y.transpose() * inverse.solve(&y))[(0, 0)];
    }
    let best = mercer::KernelPca::new(kernel.clone()).n_components(p).fit(points).unwrap();
    explained / best.eigenvalues().iter().sum::<f64>()
}

/// Points in eight dimensions, of which some spread more than others.
pub(super) fn uneven(n: usize, seed: u64) -> Points {
    let values = gaussian_cloud(n, 8, seed).points(Format::F64).rows(0..n).to_f64();
    let values = values.iter().enumerate().map(|(at, x)| x * [2.0, 1.6, 1.2, 0.9, 0.4, 0.3, 0.2, 0.1][at % 8]);
    Points::from_f64(values.collect::<Vec<_>>(), n, 8).unwrap()
}

pub(super) fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j))).map(|place| matrix[place]).collect()
}

#[track_caller]
pub(super) fn refusal<T>(result: mercer::Result<T>) -> String {
    result.err().unwrap().to_string()
}
