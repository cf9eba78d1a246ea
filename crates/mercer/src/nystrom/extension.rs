//! Eigenvectors of the landmarks' own matrix, extended to all points.

use faer::Mat;

use super::map::FeatureMap;
use crate::data::Points;
use crate::eigen::{Order, small_eigen};
use crate::error::{Error, Result};
use crate::gram::{slab_product, square_matrix};
use crate::kernel::Kernel;
use crate::watch::{Context, Phase, Threads, Watch};

/// Approximate eigenpairs of the uncentred kernel matrix of `n` points, from the `m` landmarks' own.
///
/// ```text
/// λ_j = (n / m) λ̂_j,    v_j = √(m / n) / λ̂_j · C v̂_j
/// ```
///
/// so that `Σ λ_j v_j v_jᵀ` over all `m` pairs is `C W⁻¹ Cᵀ`. The vectors are not quite orthonormal, and the pairs are not those of
/// `C W⁻¹ Cᵀ`: [`NystromPca`](super::NystromPca) has those. This is the method as it was first stated (\[WS01\]), for comparison; where it is
/// printed with `√m / n` in the place of `√(m / n)`, vectors of `m = n` landmarks would have the length `1 / √n`.
///
/// ```
/// use mercer::nystrom::{Extension, Landmarks, Nystrom};
/// use mercer::{Kernel, Points};
///
/// // With every point a landmark the pairs are exact: those of a diagonal matrix of 9 and 4.
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0], 2, 2)?;
/// let map = Nystrom::new(Kernel::linear()).landmarks(Landmarks::Rows(vec![0, 1])).map(&points)?;
/// let Extension { eigenvalues, eigenvectors } = map.extend(&points, 2)?;
/// assert!((eigenvalues[0] - 9.0).abs() < 1e-12 && (eigenvalues[1] - 4.0).abs() < 1e-12);
/// assert!((eigenvectors[(1, 1)].abs() - 1.0).abs() < 1e-12 && eigenvectors[(0, 1)].abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Extension {
    /// Eigenvalues, largest first.
    pub eigenvalues: Vec<f64>,
    /// One column per pair, one row per point.
    pub eigenvectors: Mat<f64>,
}

impl FeatureMap {
    /// The leading `k` eigenpairs of the landmarks' matrix, extended to points.
    ///
    /// ```
    /// use mercer::nystrom::{Landmarks, Nystrom};
    /// use mercer::{Kernel, Points};
    ///
    /// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0], 2, 2)?;
    /// let map = Nystrom::new(Kernel::linear()).landmarks(Landmarks::Rows(vec![0, 1])).map(&points)?;
    /// let extension = map.extend(&points, 1)?;
    /// assert!((extension.eigenvalues[0] - 9.0).abs() < 1e-12);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `k` is zero or above the [`rank`](Self::rank), the kernel is precomputed or has a negative eigenvalue among them, or the points cannot be used.
    pub fn extend(&self, points: &Points, k: usize) -> Result<Extension> {
        if k == 0 || k > self.rank() {
            let requirement = format!("between 1 and the rank of the landmarks ({})", self.rank());
            return Err(Error::invalid("n_components", requirement, k));
        }
        if matches!(self.kernel(), Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "extending eigenvectors",
                kernel: self.kernel().name().to_owned(),
                reason: "it knows points by their rows only",
            });
        }
        points.check_finite()?;
        let (threads, watch) = (Threads::all()?, Watch::new());
        let context = Context::new(&threads, &watch, Phase::Transforming);
        let square = square_matrix(self.kernel(), self.landmarks(), &context)?;
        let (values, vectors) = threads.run(|| small_eigen(square.as_ref(), Order::Algebraic))?;
        if let Some(lowest) = values[..k].iter().find(|&&value| value <= 0.0) {
            let ratio = -lowest / values[0].max(f64::MIN_POSITIVE);
            return Err(Error::IndefiniteLandmarks { kernel: self.kernel().name().to_owned(), ratio });
        }
        let ratio = points.n_samples() as f64 / self.n_landmarks() as f64;
        let scaled = Mat::from_fn(vectors.nrows(), k, |i, j| vectors[(i, j)] / (values[j] * ratio.sqrt()));
        let vectors =
            slab_product(self.kernel(), points, self.landmarks(), scaled.as_ref(), self.precision(), &context)?;
        Ok(Extension { eigenvalues: values[..k].iter().map(|value| ratio * value).collect(), eigenvectors: vectors })
    }
}
