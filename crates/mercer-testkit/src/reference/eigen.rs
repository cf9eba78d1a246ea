//! Eigenvalues of symmetric matrices and angles between subspaces.

use faer::{Mat, MatRef};

use super::product;

/// All eigenvalues, largest first, and their eigenvectors as columns.
#[derive(Clone, Debug)]
pub struct Spectrum {
    /// The eigenvalues, largest first.
    pub values: Vec<f64>,
    /// Column `j` belongs to eigenvalue `j`.
    pub vectors: Mat<f64>,
}

/// The spectrum of a symmetric matrix by Jacobi's cyclic rotations: each sets one pair of entries off the diagonal to zero.
///
/// The error of an eigenvalue is a few `n ε` of the largest one.
///
/// # Panics
///
/// If the matrix is not square, or fifty sweeps do not make it diagonal (which does not happen).
pub fn eigen(matrix: MatRef<'_, f64>) -> Spectrum {
    let n = matrix.nrows();
    assert_eq!(n, matrix.ncols(), "only square matrices have eigenvalues");
    let mut a = matrix.to_owned();
    let mut v = Mat::<f64>::identity(n, n);
    let size: f64 = (0..n).map(|j| (0..n).map(|i| a[(i, j)] * a[(i, j)]).sum::<f64>()).sum();
    // Below this the entries off the diagonal are the rounding of n rotations each.
    let negligible = (n as f64 * f64::EPSILON).powi(2) * size;
    let mut sweeps = 0;
    while off_diagonal(a.as_ref()) > negligible {
        sweeps += 1;
        assert!(sweeps <= 50, "Jacobi's method converges quadratically");
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut v, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(j, j)].total_cmp(&a[(i, i)]));
    Spectrum {
        values: order.iter().map(|&j| a[(j, j)]).collect(),
        vectors: Mat::from_fn(n, n, |i, j| v[(i, order[j])]),
    }
}

/// The sum of squares off the diagonal.
fn off_diagonal(a: MatRef<'_, f64>) -> f64 {
    let n = a.nrows();
    (0..n).map(|j| (0..n).filter(|&i| i != j).map(|i| a[(i, j)] * a[(i, j)]).sum::<f64>()).sum()
}

/// Turns the plane of coordinates `p` and `q` so that `a[p, q]` becomes zero.
fn rotate(a: &mut Mat<f64>, v: &mut Mat<f64>, p: usize, q: usize) {
    if a[(p, q)] == 0.0 {
        return;
    }
    // tan 2θ = 2 a_pq / (a_pp - a_qq); the smaller root for tan θ.
    let tau = (a[(q, q)] - a[(p, p)]) / (2.0 * a[(p, q)]);
    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
    let t = if tau == 0.0 { 1.0 } else { t };
    let c = 1.0 / (1.0 + t * t).sqrt();
    let s = t * c;
    let n = a.nrows();
    for k in 0..n {
        let (x, y) = (a[(k, p)], a[(k, q)]);
        (a[(k, p)], a[(k, q)]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[(p, k)], a[(q, k)]);
        (a[(p, k)], a[(q, k)]) = (c * x - s * y, s * x + c * y);
        let (x, y) = (v[(k, p)], v[(k, q)]);
        (v[(k, p)], v[(k, q)]) = (c * x - s * y, s * x + c * y);
    }
}

/// An orthonormal basis of the span of the columns, by the Gram-Schmidt process run twice.
///
/// # Panics
///
/// If a column depends on the ones before it.
#[track_caller]
pub fn orthonormalize(columns: MatRef<'_, f64>) -> Mat<f64> {
    let n = columns.nrows();
    let mut q = columns.to_owned();
    for j in 0..q.ncols() {
        let before: f64 = (0..n).map(|i| q[(i, j)] * q[(i, j)]).sum::<f64>().sqrt();
        for _ in 0..2 {
            for k in 0..j {
                let along: f64 = (0..n).map(|i| q[(i, j)] * q[(i, k)]).sum();
                for i in 0..n {
                    q[(i, j)] -= along * q[(i, k)];
                }
            }
        }
        let norm: f64 = (0..n).map(|i| q[(i, j)] * q[(i, j)]).sum::<f64>().sqrt();
        assert!(norm > 1e-10 * before, "column {j} depends on the ones before it");
        for i in 0..n {
            q[(i, j)] /= norm;
        }
    }
    q
}

/// Sines of the principal angles between the spans of two sets of columns, largest first.
///
/// The sines of `span(q)` to `span(p)` are the singular values of `(I - P Pᵀ) Q`, which keep small angles where
/// cosines have lost them. The smaller space is measured against the larger.
#[track_caller]
pub fn sines_of_angles(p: MatRef<'_, f64>, q: MatRef<'_, f64>) -> Vec<f64> {
    let (p, q) = if p.ncols() >= q.ncols() { (p, q) } else { (q, p) };
    let (p, q) = (orthonormalize(p), orthonormalize(q));
    let inside = product(p.as_ref(), product(p.transpose(), q.as_ref()).as_ref());
    let outside = &q - &inside;
    let squares = product(outside.transpose(), outside.as_ref());
    eigen(squares.as_ref()).values.into_iter().map(|square| square.max(0.0).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::normal_matrix;

    #[test]
    fn jacobi_finds_the_hand_computed_spectrum_of_a_two_by_two_matrix() {
        // [[2, 1], [1, 2]] has eigenvalues 3 and 1 with eigenvectors (1, 1) and (1, -1).
        let spectrum = eigen(Mat::from_fn(2, 2, |i, j| if i == j { 2.0 } else { 1.0 }).as_ref());
        assert!((spectrum.values[0] - 3.0).abs() < 1e-15 && (spectrum.values[1] - 1.0).abs() < 1e-15);
        assert!((spectrum.vectors[(0, 0)] - spectrum.vectors[(1, 0)]).abs() < 1e-15);
        assert!((spectrum.vectors[(0, 1)] + spectrum.vectors[(1, 1)]).abs() < 1e-15);
    }

    #[test]
    fn jacobi_reconstructs_a_random_matrix() {
        let n = 12;
        let b = normal_matrix(n, n, 1);
        let a = &b + b.transpose();
        let Spectrum { values, vectors } = eigen(a.as_ref());
        let scaled = Mat::from_fn(n, n, |i, j| vectors[(i, j)] * values[j]);
        let again = product(scaled.as_ref(), vectors.transpose());
        let slack = 10.0 * n as f64 * f64::EPSILON * values[0].abs().max(values[n - 1].abs());
        super::super::assert_close(again.as_ref(), a.as_ref(), |_, _| slack, "V diag(λ) Vᵀ");
        assert!(values.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn the_angle_between_two_lines_is_the_one_put_in() {
        let angle: f64 = 1e-6;
        let p = Mat::from_fn(3, 1, |i, _| [1.0, 0.0, 0.0][i]);
        let q = Mat::from_fn(3, 1, |i, _| [angle.cos(), 0.0, -angle.sin()][i]);
        let sines = sines_of_angles(p.as_ref(), q.as_ref());
        assert!((sines[0] - angle.sin()).abs() < 1e-9 * angle);
    }

    #[test]
    fn bases_of_the_same_space_have_no_angle() {
        let p = normal_matrix(9, 3, 2);
        let q = product(p.as_ref(), normal_matrix(3, 3, 3).as_ref());
        assert!(sines_of_angles(p.as_ref(), q.as_ref())[0] < 1e-13);
    }
}
