//! The Gram matrix by library matrix products: what the tile engine does, without its packing, its registers and its
//! elementary functions.

use faer::traits::{ComplexField, RealField};
use faer::{Mat, MatRef};
use mercer::{Points, Precision};

use crate::reference::Textbook;
use crate::tolerance::mean;

/// The Gram matrix of points in a precision, by faer's product and the standard library's functions.
pub fn gram(kernel: &Textbook, points: &Points, precision: Precision) -> Mat<f64> {
    match precision {
        Precision::F32 => widen(twin::<f32>(kernel, points).as_ref()),
        Precision::F64 => widen(twin::<f64>(kernel, points).as_ref()),
    }
}

/// What the twin needs of a scalar.
trait Real: RealField + Copy + Into<f64> + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> {
    fn round(x: f64) -> Self;
}

impl Real for f32 {
    fn round(x: f64) -> Self {
        x as f32
    }
}

impl Real for f64 {
    fn round(x: f64) -> Self {
        x
    }
}

fn widen<T: Real>(a: MatRef<'_, T>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)].into())
}

fn twin<T: Real + ComplexField>(kernel: &Textbook, points: &Points) -> Mat<T> {
    let (n, d) = (points.n_samples(), points.n_features());
    let rows: Vec<Vec<f64>> = (0..n).map(|i| prepared(kernel, points.row(i))).collect();
    let origin = if kernel.knows_distances_only() { mean(&rows, d) } else { vec![0.0; d] };
    let x = Mat::<T>::from_fn(n, d, |i, k| T::round(rows[i][k] - origin[k]));
    let inner = &x * x.transpose();
    Mat::from_fn(n, n, |i, j| {
        let s: f64 = match kernel {
            Textbook::Laplacian { .. } => (0..d).map(|k| (x[(i, k)] - x[(j, k)]).into().abs()).sum(),
            _ if !kernel.knows_distances_only() => inner[(i, j)].into(),
            _ if i == j => 0.0,
            _ => (inner[(i, i)] + inner[(j, j)] - inner[(i, j)] - inner[(i, j)]).into().max(0.0),
        };
        T::round(kernel.of_scalar(s))
    })
}

/// A point on the unit sphere for the cosine kernel, as it is for the others.
fn prepared(kernel: &Textbook, mut row: Vec<f64>) -> Vec<f64> {
    let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    if matches!(kernel, Textbook::Cosine) && norm > 0.0 {
        for x in &mut row {
            *x /= norm;
        }
    }
    row
}
