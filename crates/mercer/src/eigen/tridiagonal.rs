//! One end of the spectrum of a small tridiagonal matrix.
//!
//! **Cost**: `O(m)` per step of a bisection, some fifty steps; far less than a decomposition, of which only one pair is wanted.
//!
//! # Numerics
//!
//! The matrix shifted just beyond an end of its spectrum is definite, so it is factored without pivots and without danger. With
//! off-diagonal entries that are positive, the vector of the upper end has entries of one sign and that of the lower end entries of
//! alternating sign (Perron and Frobenius), so inverse iteration from such a vector cannot miss it.

/// An end of a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Lower,
    Upper,
}

/// Steps of inverse iteration: each gains nearly all digits.
const STEPS: usize = 3;

/// The eigenvalue at one end and its unit eigenvector.
///
/// `diagonal` has `m >= 1` numbers, `beside` at least `m - 1`, which are not negative.
pub(super) fn extreme(diagonal: &[f64], beside: &[f64], end: End) -> (f64, Vec<f64>) {
    // The lower end of T is the upper end of -T; signs of off-diagonal entries do not change the spectrum.
    let sign = if end == End::Upper { 1.0 } else { -1.0 };
    let m = diagonal.len();
    let beside = &beside[..m - 1];
    let size = diagonal.iter().chain(beside).fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if size == 0.0 {
        return (0.0, (0..m).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect());
    }
    // With a largest entry of one nothing below overflows or vanishes.
    let diagonal: Vec<f64> = diagonal.iter().map(|a| sign * a / size).collect();
    let beside: Vec<f64> = beside.iter().map(|b| b / size).collect();
    let value = upper_end(&diagonal, &beside);
    let mut vector = null_vector(&diagonal, &beside, value);
    if end == End::Lower {
        vector.iter_mut().skip(1).step_by(2).for_each(|x| *x = -*x);
    }
    (sign * value * size, vector)
}

/// The largest eigenvalue, by bisection between Gershgorin's bounds.
fn upper_end(diagonal: &[f64], beside: &[f64]) -> f64 {
    let m = diagonal.len();
    let at = |i: usize| if i < m - 1 { beside[i] } else { 0.0 };
    let radius = |i: usize| at(i) + if i > 0 { beside[i - 1] } else { 0.0 };
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (i, &a) in diagonal.iter().enumerate() {
        // The largest diagonal entry is a Rayleigh quotient.
        low = low.max(a);
        high = high.max(a + radius(i));
    }
    loop {
        let middle = low + 0.5 * (high - low);
        if !(middle > low && middle < high) {
            return high;
        }
        if is_beyond(diagonal, beside, middle) { high = middle } else { low = middle }
    }
}

/// Whether `shift` is beyond the largest eigenvalue: whether `shift − T` is positive definite.
fn is_beyond(diagonal: &[f64], beside: &[f64], shift: f64) -> bool {
    let mut pivot = shift - diagonal[0];
    for (a, b) in diagonal[1..].iter().zip(beside) {
        if pivot <= 0.0 {
            return false;
        }
        pivot = shift - a - b * b / pivot;
    }
    pivot > 0.0
}

/// A unit vector that `value − T` nearly annihilates, where `value` is the largest eigenvalue.
fn null_vector(diagonal: &[f64], beside: &[f64], value: f64) -> Vec<f64> {
    let m = diagonal.len();
    // The largest entry is one.
    let least = f64::EPSILON;
    // L D Lᵀ = value − T. Pivots that rounding leaves at zero or below are as good as rounding itself.
    let (mut pivots, mut factors) = (vec![0.0; m], vec![0.0; m]);
    pivots[0] = (value - diagonal[0]).max(least);
    for i in 1..m {
        factors[i] = -beside[i - 1] / pivots[i - 1];
        pivots[i] = (value - diagonal[i] - beside[i - 1] * beside[i - 1] / pivots[i - 1]).max(least);
    }
    let mut x = vec![1.0; m];
    for _ in 0..STEPS {
        for i in 1..m {
            x[i] -= factors[i] * x[i - 1];
        }
        for i in (0..m).rev() {
            x[i] /= pivots[i];
            if i + 1 < m {
                x[i] -= factors[i + 1] * x[i + 1];
            }
        }
        let largest = x.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        for x in &mut x {
            *x /= largest;
        }
    }
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    for x in &mut x {
        *x /= norm;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `‖T x − value x‖∞`.
    fn residual(diagonal: &[f64], beside: &[f64], value: f64, x: &[f64]) -> f64 {
        let m = x.len();
        (0..m)
            .map(|i| {
                let below = if i + 1 < m { beside[i] * x[i + 1] } else { 0.0 };
                let above = if i > 0 { beside[i - 1] * x[i - 1] } else { 0.0 };
                (diagonal[i] * x[i] + below + above - value * x[i]).abs()
            })
            .fold(0.0, f64::max)
    }

    #[test]
    fn two_by_two_has_the_hand_computed_ends() {
        // Eigenvalues 3 and -1, vectors (1, 1) and (1, -1).
        let (value, x) = extreme(&[1.0, 1.0], &[2.0], End::Upper);
        assert!((value - 3.0).abs() < 1e-15 && (x[0] - x[1]).abs() < 1e-15);
        let (value, x) = extreme(&[1.0, 1.0], &[2.0], End::Lower);
        assert!((value + 1.0).abs() < 1e-15 && (x[0] + x[1]).abs() < 1e-15);
        assert_eq!(extreme(&[-4.0], &[], End::Upper), (-4.0, vec![1.0]));
    }

    #[test]
    fn the_second_difference_matrix_has_its_known_ends() {
        let m = 30;
        let (diagonal, beside) = (vec![0.0; m], vec![1.0; m - 1]);
        let known = 2.0 * (std::f64::consts::PI / (m as f64 + 1.0)).cos();
        for (end, expected) in [(End::Upper, known), (End::Lower, -known)] {
            let (value, x) = extreme(&diagonal, &beside, end);
            assert!((value - expected).abs() < 1e-14);
            assert!(residual(&diagonal, &beside, value, &x) < 1e-14);
        }
    }

    #[test]
    fn a_matrix_that_falls_apart_has_an_end_in_one_of_its_parts() {
        let (diagonal, beside) = ([1.0, 2.0, 7.0, 3.0], [0.5, 0.0, 0.25]);
        for end in [End::Upper, End::Lower] {
            let (value, x) = extreme(&diagonal, &beside, end);
            assert!(residual(&diagonal, &beside, value, &x) < 1e-13, "{end:?}: {value}");
        }
        let (value, x) = extreme(&[0.0, 0.0], &[0.0], End::Upper);
        assert!(value.abs() < f64::MIN_POSITIVE);
        assert!((x[0] * x[0] + x[1] * x[1] - 1.0).abs() < 1e-15);
    }
}
