//! The basis points of a model as columns of a matrix, and kernel values of blocks of points against them.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use crate::data::{Moments, Points};
use crate::kernel::{Formula, Kernel, Pairing, with_formula};
use crate::model::Model;

/// Points that are worked on together by one thread.
pub(super) const BLOCK: usize = 64;

/// The basis, in double precision, less its mean if the kernel does not see that: distances then lose no digits to an offset.
pub(super) struct Columns {
    pub(super) kernel: Kernel,
    pub(super) pairing: Option<Pairing>,
    /// One column per point.
    pub(super) points: Mat<f64>,
    squared_norms: Vec<f64>,
    /// What was subtracted from every point.
    pub(super) offset: Vec<f64>,
    /// One row per point, one column per component: coefficients with the centring folded in.
    folded: Mat<f64>,
    /// The centre as a combination of the points' images; zeros if the model is not centred.
    center: Vec<f64>,
}

/// What is made of the scalar of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Kernel,
    Slope,
}

impl Columns {
    pub(super) fn new(model: &Model) -> Self {
        let (basis, kernel) = (model.basis(), model.kernel().clone());
        let pairing = kernel.pairing();
        let offset = if pairing.is_some_and(Pairing::is_translation_invariant) {
            Moments::of(basis).mean().to_vec()
        } else {
            vec![0.0; basis.n_features()]
        };
        let points = columns(basis, &offset);
        let squared_norms = points.col_iter().map(|x| x.iter().map(|x| x * x).sum()).collect();
        let n = basis.n_samples();
        let center = match model.centering() {
            None => vec![0.0; n],
            Some(centering) => centering.weights.clone().unwrap_or_else(|| vec![1.0 / n as f64; n]),
        };
        Self { kernel, pairing, points, squared_norms, offset, folded: model.folded_coefficients(), center }
    }

    pub(super) fn len(&self) -> usize {
        self.points.ncols()
    }

    /// Points as columns in the coordinates of the basis.
    pub(super) fn place(&self, points: &Points) -> Mat<f64> {
        columns(points, &self.offset)
    }

    /// For each point (a column of `scores`), the weights `γ` of its target `Σ γ_i φ(x_i)`.
    pub(super) fn weights(&self, scores: MatRef<'_, f64>) -> Mat<f64> {
        let mut weights = Mat::from_fn(self.len(), scores.ncols(), |i, _| self.center[i]);
        matmul(weights.as_mut(), Accum::Add, self.folded.as_ref(), scores, 1.0, Par::Seq);
        weights
    }

    /// The scalar of every basis point (row) with every column of `z`.
    pub(super) fn scalars(&self, z: MatRef<'_, f64>) -> Mat<f64> {
        let mut scalars = Mat::zeros(self.len(), z.ncols());
        matmul(scalars.as_mut(), Accum::Replace, self.points.transpose(), z, 1.0, Par::Seq);
        for (c, z) in z.col_iter().enumerate() {
            let norm: f64 = z.iter().map(|z| z * z).sum();
            let column = scalars.col_mut(c).iter_mut().zip(&self.squared_norms);
            match self.pairing {
                Some(Pairing::SquaredDistance) => column.for_each(|(s, x)| *s = (x + norm - 2.0 * *s).max(0.0)),
                Some(Pairing::Cosine) => column.for_each(|(s, x)| {
                    let length = (x * norm).sqrt();
                    *s = if length > 0.0 { *s / length } else { 0.0 };
                }),
                _ => {}
            }
        }
        scalars
    }

    /// Makes values or slopes of scalars.
    pub(super) fn map(&self, scalars: &mut Mat<f64>, value: Value) {
        for c in 0..scalars.ncols() {
            let column = scalars.col_mut(c).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut();
            with_formula!(&self.kernel, formula => map(formula, column, value), else unreachable!("the method refused this kernel"));
        }
    }

    /// `Σ_i w_i x_i` for each column of weights.
    pub(super) fn combine(&self, weights: MatRef<'_, f64>) -> Mat<f64> {
        let mut sums = Mat::zeros(self.points.nrows(), weights.ncols());
        matmul(sums.as_mut(), Accum::Replace, self.points.as_ref(), weights, 1.0, Par::Seq);
        sums
    }

    pub(super) fn squared_norm(&self, index: usize) -> f64 {
        self.squared_norms[index]
    }
}

/// In a function of its own: the loop is compiled for each kernel, and not the kernel looked up for each entry.
fn map<F: Formula>(formula: &F, scalars: &mut [f64], value: Value) {
    match value {
        Value::Kernel => scalars.iter_mut().for_each(|s| *s = formula.value(*s)),
        Value::Slope => scalars.iter_mut().for_each(|s| *s = formula.slope(*s)),
    }
}

fn columns(points: &Points, offset: &[f64]) -> Mat<f64> {
    let (n, d) = (points.n_samples(), points.n_features());
    let mut matrix = Mat::zeros(d, n);
    for i in 0..n {
        let row = points.row(i);
        for (k, (x, offset)) in row.iter().zip(offset).enumerate() {
            matrix[(k, i)] = x - offset;
        }
    }
    matrix
}

/// The sum of the products of two columns.
pub(super) fn column_dot(a: MatRef<'_, f64>, b: MatRef<'_, f64>, column: usize) -> f64 {
    a.col(column).iter().zip(b.col(column).iter()).map(|(a, b)| a * b).sum()
}
