//! What the tests of online learners share.

use faer::Mat;
use mercer::Points;
use mercer_testkit::generate::Random;

/// Points in the plane that spread along its first axis.
pub(super) fn plane(n: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    Points::from_f64((0..2 * n).map(|i| random.normal() * if i % 2 == 0 { 1.0 } else { 0.4 }).collect::<Vec<_>>(), n, 2)
        .unwrap()
}

pub(super) fn row_major(matrix: &Mat<f64>) -> Vec<f64> {
    (0..matrix.nrows()).flat_map(|i| (0..matrix.ncols()).map(move |j| (i, j))).map(|place| matrix[place]).collect()
}

#[track_caller]
pub(super) fn refusal<T>(result: mercer::Result<T>) -> String {
    result.err().unwrap().to_string()
}
