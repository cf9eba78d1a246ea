//! The matrix of one sample or code, and its leading pair.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::forms::{contiguous, packed_product};
use crate::eigen::Order;
use crate::eigen::many::{Family, Until, dot, extremes};
use crate::simd::Isa;

/// The product of two matrices, on the calling thread.
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// One matrix, less `x xᵀ` of its sample if it has one; as it is, or as `MᵀM` if it is not symmetric.
pub(super) struct One<'a> {
    d: usize,
    matrix: Matrix<'a>,
    sample: Option<&'a [f64]>,
    isa: Isa,
}

/// How it is kept.
#[derive(Clone, Copy)]
pub(super) enum Matrix<'a> {
    /// The upper triangle of a symmetric one.
    Packed(&'a [f64]),
    /// All of one that is not symmetric.
    Whole(MatRef<'a, f64>),
}

/// The leading singular pair of one matrix, with the sign of the eigenvalue if it is symmetric.
pub(super) struct Leading {
    pub(super) value: f64,
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
}

impl<'a> One<'a> {
    pub(super) fn new(d: usize, matrix: Matrix<'a>, sample: Option<&'a [f64]>) -> Self {
        Self { d, matrix, sample, isa: Isa::detect() }
    }

    /// `M w`, or `Mᵀ w`.
    fn multiply(&self, w: MatRef<'_, f64>, transposed: bool) -> Mat<f64> {
        let mut out = match self.matrix {
            Matrix::Packed(packed) => {
                let mut out = Mat::zeros(w.nrows(), 1);
                let to = out.col_mut(0).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut();
                packed_product(self.isa, packed, contiguous(w, 0), to);
                out
            }
            Matrix::Whole(matrix) => product(if transposed { matrix.transpose() } else { matrix }, w),
        };
        if let Some(sample) = self.sample {
            let along: f64 = sample.iter().zip(w.col(0).iter()).map(|(x, w)| x * w).sum();
            out.col_mut(0).iter_mut().zip(sample).for_each(|(to, x)| *to -= along * x);
        }
        out
    }

    /// The leading pair, from a start vector.
    pub(super) fn leading(&self, start: MatRef<'_, f64>, until: Until) -> Leading {
        let is_symmetric = matches!(self.matrix, Matrix::Packed(_));
        let order = if is_symmetric { Order::Modulus } else { Order::Algebraic };
        let pair = extremes(self, start, order, until);
        let value = pair.values[0];
        let right: Vec<f64> = pair.vectors.col(0).iter().copied().collect();
        if is_symmetric {
            return Leading { value, left: right.clone(), right };
        }
        let mut left: Vec<f64> = self.multiply(pair.vectors.as_ref(), false).col(0).iter().copied().collect();
        // Where nothing was found there is a vector of zeros, whose image has a length.
        let loss = if value.is_nan() { value } else { dot(&left, &left).sqrt() };
        if loss > 0.0 {
            for u in &mut left {
                *u /= loss;
            }
        }
        Leading { value: loss, left, right }
    }
}

impl Family for One<'_> {
    fn dim(&self) -> usize {
        self.d
    }

    fn apply(&self, _: &[usize], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        let once = self.multiply(x, false);
        out.copy_from(&match self.matrix {
            Matrix::Packed(_) => once,
            Matrix::Whole(_) => self.multiply(once.as_ref(), true),
        });
    }
}
