//! From eigenvectors to points on a sphere.

use std::collections::HashSet;

use faer::{Mat, MatRef};

use crate::data::Points;
use crate::error::{Error, Result};

/// Rows of unit length, and how many had no length to begin with; those stay zero.
///
/// ```
/// use faer::mat;
///
/// let (rows, without) = mercer::cluster::unit_rows(mat![[3.0, 4.0], [0.0, 0.0]].as_ref());
/// assert_eq!((rows, without), (mat![[0.6, 0.8], [0.0, 0.0]], 1));
/// ```
pub fn unit_rows(vectors: MatRef<'_, f64>) -> (Mat<f64>, usize) {
    let (n, r) = (vectors.nrows(), vectors.ncols());
    let lengths: Vec<f64> = (0..n).map(|i| vectors.row(i).iter().map(|x| x * x).sum::<f64>().sqrt()).collect();
    let rows = Mat::from_fn(n, r, |i, j| if lengths[i] > 0.0 { vectors[(i, j)] / lengths[i] } else { 0.0 });
    (rows, lengths.iter().filter(|&&length| length == 0.0).count())
}

/// An error if there are fewer than `needed` different points.
///
/// Equal points get embeddings that differ by rounding, so k-means could not tell.
pub(super) fn require_distinct(points: &Points, needed: usize) -> Result<()> {
    let mut seen = HashSet::new();
    for row in 0..points.n_samples() {
        // Adding zero makes the two zeros one.
        seen.insert(points.row(row).iter().map(|x| (x + 0.0).to_bits()).collect::<Vec<u64>>());
        if seen.len() >= needed {
            return Ok(());
        }
    }
    Err(Error::TooFewDistinct { needed, found: seen.len() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that stops there says where")]
mod tests {
    use faer::mat;

    use super::*;

    #[test]
    fn rows_have_unit_length_and_those_without_any_stay_zero() {
        let (rows, without) = unit_rows(mat![[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]].as_ref());
        assert_eq!((rows, without), (mat![[0.6, 0.8], [0.0, 0.0], [0.0, -1.0]], 1));
    }

    #[test]
    fn the_two_zeros_are_one_point() {
        let points = Points::from_f64(vec![0.0, -0.0, 1.0], 3, 1).unwrap();
        assert!(require_distinct(&points, 2).is_ok());
        assert!(matches!(require_distinct(&points, 3), Err(Error::TooFewDistinct { needed: 3, found: 2 })));
    }
}
