//! The Cholesky factor of the landmarks' kernel matrix, without the landmarks that are combinations of those before them.
//!
//! **Cost**: `m³ / 3`, nearly all of it in matrix products.
//!
//! # Method
//!
//! Left-looking, a panel of columns at a time: what earlier columns explain is subtracted by one product, then the panel is worked
//! off column by column. A pivot is what is left of a landmark's squared length outside the span of those before it; if that is
//! rounding, the landmark is left out.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::{Accum, Mat, MatRef};

use super::pages::Pages;
pub(super) use crate::eigen::SPLIT;
use crate::scalar::Precision;

/// Columns of a panel.
const PANEL: usize = 64;

/// The factor of what is kept.
pub(super) struct Factor {
    /// Landmarks that are kept, in their order.
    pub(super) kept: Vec<usize>,
    /// Lower triangular, of their order.
    pub(super) lower: Pages<f64>,
    /// The most negative pivot relative to its diagonal entry, if one is below zero.
    pub(super) most_negative: Option<f64>,
}

/// A pivot below this share of its diagonal entry is rounding: of the factorisation, in double precision, and of kernel values in the
/// precision of the points, whose error a feature along the pivot carries, divided by the pivot's root.
pub(super) fn smallest_pivot(m: usize, precision: Precision) -> f64 {
    let of_values = match precision {
        Precision::F32 => 8.0 * precision.epsilon(),
        Precision::F64 => 0.0,
    };
    of_values + 10.0 * m as f64 * f64::EPSILON
}

impl Factor {
    /// Factorises a symmetric matrix; on the calling thread's pool.
    pub(super) fn new(matrix: MatRef<'_, f64>, smallest_pivot: f64) -> Self {
        let m = matrix.nrows();
        let (mut lower, mut spare) = (Pages::<f64>::zeros(m, m), Pages::<f64>::zeros(m, PANEL.min(m)));
        let (mut kept, mut most_negative): (Vec<usize>, Option<f64>) = (Vec::new(), None);
        for first in (0..m).step_by(PANEL) {
            let (wide, before) = (PANEL.min(m - first), kept.len());
            let mut panel = spare.as_mut().submatrix_mut(0, 0, m - first, wide);
            panel.copy_from(matrix.submatrix(first, first, m - first, wide));
            let earlier = lower.as_ref().submatrix(first, 0, m - first, before);
            let top = earlier.subrows(0, wide);
            matmul(panel.as_mut(), Accum::Add, earlier, top.transpose(), -1.0, SPLIT);
            for j in 0..wide {
                let (pivot, size) = (panel[(j, j)], matrix[(first + j, first + j)]);
                if pivot.is_nan() || pivot <= smallest_pivot * size.abs() {
                    if pivot < 0.0 && size != 0.0 {
                        let ratio = pivot / size.abs();
                        most_negative = Some(most_negative.map_or(ratio, |lowest| lowest.min(ratio)));
                    }
                    continue;
                }
                let root = pivot.sqrt();
                let column: Vec<f64> = (j..m - first).map(|i| panel[(i, j)] / root).collect();
                for other in j + 1..wide {
                    let factor = column[other - j];
                    let place = panel.as_mut().col_mut(other).subrows_mut(j, m - first - j);
                    place.iter_mut().zip(&column).for_each(|(x, l)| *x -= factor * l);
                }
                let place = lower.as_mut().col_mut(kept.len()).subrows_mut(first + j, m - first - j);
                place.iter_mut().zip(&column).for_each(|(to, from)| *to = *from);
                kept.push(first + j);
            }
        }
        if kept.len() < m {
            lower = of_rows(lower.as_ref(), &kept);
        }
        Self { kept, lower, most_negative }
    }

    /// Landmarks that are kept.
    pub(super) fn rank(&self) -> usize {
        self.kept.len()
    }

    /// `L⁻¹ x`.
    pub(super) fn forward(&self, mut x: Mat<f64>) -> Mat<f64> {
        solve_lower_triangular_in_place(self.lower.as_ref(), x.as_mut(), SPLIT);
        x
    }

    /// `L⁻ᵀ x`.
    pub(super) fn backward(&self, mut x: Mat<f64>) -> Mat<f64> {
        solve_upper_triangular_in_place(self.lower.as_ref().transpose(), x.as_mut(), SPLIT);
        x
    }
}

/// The lower triangle of some rows of a matrix, and as many of its columns.
fn of_rows(matrix: MatRef<'_, f64>, rows: &[usize]) -> Pages<f64> {
    let mut lower = Pages::zeros(rows.len(), rows.len());
    for (j, column) in lower.as_mut().col_iter_mut().enumerate() {
        column.iter_mut().zip(rows).skip(j).for_each(|(to, &row)| *to = matrix[(row, j)]);
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gram(vectors: &Mat<f64>) -> Mat<f64> {
        vectors.transpose() * vectors
    }

    #[test]
    fn the_factor_of_independent_vectors_gives_the_matrix_back() {
        // More than two panels, so that every branch runs.
        let m = 150;
        let vectors =
            Mat::from_fn(m, m, |i, j| ((i * m + j).pow(2) as f64 * 0.7).sin() + if i == j { 9.0 } else { 0.0 });
        let matrix = gram(&vectors);
        let factor = Factor::new(matrix.as_ref(), 1e-13);
        assert_eq!(factor.rank(), m);
        let lower = factor.lower.as_ref();
        assert!((lower * lower.transpose() - &matrix).norm_max() < 1e-12 * matrix.norm_max());
        let identity = factor.forward(lower.to_owned());
        assert!((identity - Mat::<f64>::identity(m, m)).norm_max() < 1e-12);
        let identity = factor.backward(lower.transpose().to_owned());
        assert!((identity - Mat::<f64>::identity(m, m)).norm_max() < 1e-12);
    }

    #[test]
    fn copies_and_combinations_are_left_out_wherever_they_stand() {
        let mut vectors = Mat::from_fn(20, 140, |i, j| ((i * 140 + j).pow(2) as f64 * 0.7).sin());
        // Twenty dimensions: the first twenty vectors are independent, but one of them is a copy.
        for i in 0..20 {
            vectors[(i, 7)] = vectors[(i, 3)];
        }
        let factor = Factor::new(gram(&vectors).as_ref(), 1e-12);
        assert_eq!(factor.rank(), 20);
        assert!(!factor.kept.contains(&7), "{:?}", factor.kept);
        assert_eq!(factor.kept[..8], [0, 1, 2, 3, 4, 5, 6, 8]);
        let (lower, kept) = (factor.lower.as_ref(), &factor.kept);
        let expected = gram(&Mat::from_fn(20, 20, |i, j| vectors[(i, kept[j])]));
        assert!((lower * lower.transpose() - &expected).norm_max() < 1e-12 * expected.norm_max());
    }

    #[test]
    fn an_indefinite_matrix_says_how_far_below_zero_it_goes() {
        let matrix = Mat::from_fn(2, 2, |i, j| if i == j { 1.0 } else { 2.0 });
        let factor = Factor::new(matrix.as_ref(), 1e-12);
        assert_eq!((factor.rank(), factor.most_negative), (1, Some(-3.0)));
    }
}
