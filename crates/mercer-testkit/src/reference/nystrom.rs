//! Low-rank kernel matrices by the book.

use faer::{Mat, MatRef};

use super::eigen::{Spectrum, eigen};
use super::product;

/// `C W⁺ Cᵀ`: the kernel matrix as landmarks see it, from the kernel values `C` of all points with them and their own matrix `W`.
///
/// Eigenvalues of `W` below `cut` times the largest count as zero.
pub fn nystrom(c: MatRef<'_, f64>, w: MatRef<'_, f64>, cut: f64) -> Mat<f64> {
    let Spectrum { values, vectors } = eigen(w);
    let kept = values.iter().take_while(|&&value| value > cut * values[0]).count();
    let scaled = Mat::from_fn(w.nrows(), kept, |i, j| vectors[(i, j)] / values[j].sqrt());
    let features = product(c, scaled.as_ref());
    product(features.as_ref(), features.transpose())
}
