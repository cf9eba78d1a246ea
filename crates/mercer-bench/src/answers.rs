//! How far apart two answers to the same question are.

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::Points;

use crate::failure::{Failure, Result};

/// The Gaussian kernel of two points, in double precision from its formula.
pub(crate) fn gaussian(points: &Points, i: usize, j: usize, gamma: f64) -> f64 {
    let (x, y) = (points.row(i), points.row(j));
    (-gamma * x.iter().zip(&y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
}

/// The inner product of two points, in double precision.
pub(crate) fn inner_product(points: &Points, i: usize, j: usize) -> f64 {
    points.row(i).iter().zip(&points.row(j)).map(|(a, b)| a * b).sum()
}

/// The largest difference of two lists of eigenvalues, each relative to the eigenvalue itself. Infinite if one list is
/// shorter.
pub(crate) fn eigenvalue_difference(found: &[f64], expected: &[f64]) -> f64 {
    largest(found, expected, |_, expected| expected)
}

/// The largest difference of two lists of eigenvalues, relative to the first. Infinite if one list is shorter.
pub(crate) fn eigenvalue_difference_of_first(found: &[f64], expected: &[f64]) -> f64 {
    largest(found, expected, |first, _| first)
}

fn largest(found: &[f64], expected: &[f64], unit: impl Fn(f64, f64) -> f64) -> f64 {
    if found.len() != expected.len() || expected.is_empty() {
        return f64::INFINITY;
    }
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / unit(expected[0], *b).abs());
    differences.fold(0.0, nan_or_max)
}

/// The larger one; a number that is none stays, so that no comparison is passed by it.
pub(crate) fn nan_or_max(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// The sine of the largest angle between one of the first `count` columns of `vectors` and the space that `others`
/// span.
///
/// Single vectors of close eigenvalues may turn within their space, and the last ones out of it; the leading ones must
/// lie in the space of all that the other side found. Columns need not have unit length; those of `others` must be
/// orthogonal.
pub(crate) fn angle_out_of(vectors: MatRef<'_, f64>, others: MatRef<'_, f64>, count: usize) -> f64 {
    let mut worst = 0.0;
    for j in 0..count.min(vectors.ncols()) {
        let mut left = vectors.col(j).to_owned();
        let length = left.norm_l2();
        for other in 0..others.ncols() {
            let direction = others.col(other);
            let share = dot(direction.transpose() * &left, direction.squared_norm_l2());
            for i in 0..left.nrows() {
                left[i] -= share * direction[i];
            }
        }
        worst = nan_or_max(worst, left.norm_l2() / length);
    }
    worst
}

fn dot(product: f64, squared_length: f64) -> f64 {
    if squared_length > 0.0 { product / squared_length } else { 0.0 }
}

/// How far two sets of scores are from being the same up to signs and turns: `‖A Aᵀ − B Bᵀ‖ / ‖A Aᵀ‖`.
pub(crate) fn score_difference(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    let (aa, ab, bb) = (a.transpose() * a, a.transpose() * b, b.transpose() * b);
    let difference = aa.squared_norm_l2() - 2.0 * ab.squared_norm_l2() + bb.squared_norm_l2();
    // Rounding may leave a tiny negative number; nothing else can.
    (difference.max(0.0) / aa.squared_norm_l2()).sqrt()
}

/// Writes a matrix as plain double-precision numbers, row by row.
pub(crate) fn write_matrix(path: &Path, matrix: MatRef<'_, f64>) -> Result<()> {
    let rows = matrix.row_iter().flat_map(|row| row.iter().copied());
    let values: Vec<f64> = rows.collect();
    std::fs::write(path, bytemuck::cast_slice::<f64, u8>(&values)).map_err(Failure::file(path))
}

/// Reads a matrix that was written row by row.
pub(crate) fn read_matrix(path: &Path, columns: usize) -> Result<Mat<f64>> {
    let bytes = std::fs::read(path).map_err(Failure::file(path))?;
    if columns == 0 || !bytes.len().is_multiple_of(8 * columns) {
        let problem = format!("{} bytes are not rows of {columns} numbers", bytes.len());
        return Err(Failure::Data { path: path.to_owned(), problem });
    }
    let values: Vec<f64> = bytes.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
    Ok(Mat::from_fn(values.len() / columns, columns, |i, j| values[i * columns + j]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gaussian_follows_its_formula() {
        // Squared distance 4, so exp(-0.5 * 4).
        let points = Points::from_f64(vec![0.0, 0.0, 0.0, 2.0], 2, 2).unwrap();
        assert!((gaussian(&points, 0, 1, 0.5) - (-2.0_f64).exp()).abs() < 1e-15);
        assert!((inner_product(&points, 1, 1) - 4.0).abs() < 1e-15);
    }

    #[test]
    fn eigenvalues_are_compared_with_their_own_size_or_with_the_first() {
        assert!((eigenvalue_difference(&[10.0, 1.1], &[10.0, 1.0]) - 0.1).abs() < 1e-12);
        assert!((eigenvalue_difference_of_first(&[10.0, 1.1], &[10.0, 1.0]) - 0.01).abs() < 1e-12);
        assert!(eigenvalue_difference(&[1.0], &[1.0, 0.5]).is_infinite());
        assert!(eigenvalue_difference(&[f64::NAN, 1.0], &[1.0, 1.0]).is_nan());
    }

    #[test]
    fn a_vector_is_compared_with_a_space_and_not_with_a_vector() {
        let plane = Mat::from_fn(3, 2, |i, j| if i == j { 2.0 } else { 0.0 });
        let within = Mat::from_fn(3, 1, |i, _| [1.0, -1.0, 0.0][i]);
        let outside = Mat::from_fn(3, 1, |i, _| [3.0, 0.0, 4.0][i]);
        assert!(angle_out_of(within.as_ref(), plane.as_ref(), 1) < 1e-15);
        assert!((angle_out_of(outside.as_ref(), plane.as_ref(), 1) - 0.8).abs() < 1e-15);
    }

    #[test]
    fn scores_are_the_same_up_to_signs_and_turns() {
        let scores = Mat::from_fn(5, 2, |i, j| (i as f64 - 2.0) * (j as f64 + 1.0) + (i * i) as f64);
        let turned = Mat::from_fn(5, 2, |i, j| if j == 0 { -scores[(i, 1)] } else { scores[(i, 0)] });
        assert!(score_difference(scores.as_ref(), turned.as_ref()) < 1e-7);
        let doubled = Mat::from_fn(5, 2, |i, j| 2.0 * scores[(i, j)]);
        assert!((score_difference(scores.as_ref(), doubled.as_ref()) - 3.0).abs() < 1e-7);
    }

    #[test]
    fn a_matrix_comes_back_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores");
        let matrix = Mat::from_fn(3, 2, |i, j| (10 * i + j) as f64);
        write_matrix(&path, matrix.as_ref()).unwrap();
        assert_eq!(read_matrix(&path, 2).unwrap(), matrix);
        assert!(read_matrix(&path, 4).is_err());
    }
}
