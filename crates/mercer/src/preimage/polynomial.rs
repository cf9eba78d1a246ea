//! Pre-images under the polynomial kernel of degree 2, by an eigenvector.
//!
//! # Method
//!
//! With `k(x, y) = (γ x·y)²` the image of `x` is `γ x xᵀ`, and the target is `γ M` with `M = Σ γ_i x_i x_iᵀ`. The nearest `z zᵀ` to `M` is that of
//! `z = √λ v`, with `λ` the largest eigenvalue of `M` and `v` its unit vector, and `z = 0` if no eigenvalue is positive (\[CHM16\], section 4, with the
//! largest eigenvalue for the leading one). `M` is only multiplied with: `M w = X (γ ∘ (Xᵀ w))`. A little of everything is mixed into the vector that Lanczos'
//! method starts with: from the start alone it would not leave the columns that points like it have. The image does not tell `z` from `−z`; the one
//! nearer to the start is taken, or the one whose coordinates have a sum that is not negative if both are as near.
//!
//! # References
//!
//! - \[CHM16\] J. Cohen, E. Hazan, T. Ma, "Technical report: autoencoder kernel PCA", 2016.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::basis::Columns;
use super::fixed_point::Found;
use crate::eigen::Order;
use crate::eigen::many::{Family, Until, extremes};

/// Residual of an eigenpair, relative to its value, and products after which it is taken as it is.
const UNTIL: Until = Until { tolerance: 1e-10, max_steps: 300 };

/// How much of everything is mixed into a start of unit length.
const MIXED: f64 = 0.02;
/// A cosine that is no larger is rounding: the start tells no sign.
const ROUNDING: f64 = 1e-12;

/// A little of everything: coordinates of a vector that no structure of data follows.
pub(crate) fn wave(coordinate: usize) -> f64 {
    (1.0 + 2.399_963 * coordinate as f64).sin()
}

/// `Σ γ_i x_i x_iᵀ` for each column of weights.
pub(crate) struct WeightedCovariances<'a> {
    /// One column per point.
    pub(crate) points: MatRef<'a, f64>,
    /// One column of weights per member.
    pub(crate) weights: MatRef<'a, f64>,
}

impl Family for WeightedCovariances<'_> {
    fn dim(&self) -> usize {
        self.points.nrows()
    }

    fn apply(&self, members: &[usize], x: MatRef<'_, f64>, out: MatMut<'_, f64>) {
        let mut along = Mat::zeros(self.points.ncols(), x.ncols());
        matmul(along.as_mut(), Accum::Replace, self.points.transpose(), x, 1.0, Par::Seq);
        for (c, &member) in members.iter().enumerate() {
            along.col_mut(c).iter_mut().zip(self.weights.col(member).iter()).for_each(|(a, w)| *a *= w);
        }
        matmul(out, Accum::Replace, self.points, along.as_ref(), 1.0, Par::Seq);
    }
}

/// The nearest points to the targets with these weights; of the two signs the one nearer to the start.
pub(super) fn decode(columns: &Columns, weights: MatRef<'_, f64>, start: MatRef<'_, f64>) -> Found {
    let family = WeightedCovariances { points: columns.points.as_ref(), weights };
    let lengths: Vec<f64> = start.col_iter().map(|x| x.norm_l2()).collect();
    let mixed = Mat::from_fn(start.nrows(), start.ncols(), |k, c| {
        let own = if lengths[c] > 0.0 { start[(k, c)] / lengths[c] } else { 0.0 };
        own + MIXED * wave(k)
    });
    let pairs = extremes(&family, mixed.as_ref(), Order::Algebraic, UNTIL);
    let mut found = Found::new(start);
    for (c, start_length) in lengths.iter().enumerate() {
        let along: f64 = pairs.vectors.col(c).iter().zip(start.col(c).iter()).map(|(v, x)| v * x).sum();
        let decides = if along.abs() > ROUNDING * start_length { along } else { pairs.vectors.col(c).iter().sum() };
        let length = pairs.values[c].max(0.0).sqrt().copysign(decides);
        for k in 0..start.nrows() {
            found.z[(k, c)] = length * pairs.vectors[(k, c)];
        }
        found.converged[c] = pairs.converged[c];
        found.iterations[c] = 1;
    }
    found
}
