//! Autoencoder kernel PCA: components of degree 2 that are learned so that *points* can be reconstructed, not their images.
//!
//! **Use it** when codes are to be decoded: compression, denoising. Kernel PCA with the kernel `(x·y)²` encodes a point by quadratic forms and keeps as much
//! as it can of its image `x xᵀ` in Frobenius' norm; the autoencoder does so in the spectral norm, which bounds the error of the decoded point itself
//! (three times the norm, and no smaller constant holds).
//!
//! **Cost** per sample: `O(k d²)` with full span and `O(m d)` per product over a span of `m` points, both in matrix products over batches, and one extreme eigenpair.
//! **Memory**: `k d²` numbers with full span (both matrices, symmetric halves), `k m` over a span, and `m²` for its functional gradient.
//!
//! # Method
//!
//! Encoder and decoder are `k` quadratic forms each (\[CHM16\], section 4):
//!
//! ```text
//! code_j(x) = xᵀ A_j x          minimise  Σ_i ‖ Σ_j code_j(x_i) B_j − x_i x_iᵀ ‖₂            (18)
//! decoded   = √max(λ, 0) v      with (λ, v) the largest eigenpair of the symmetric part of Σ_j code_j B_j
//! ```
//!
//! [`SpanChoice::Data`] restricts the forms to combinations of `x_i x_iᵀ` of some points. The objective is not convex; it is descended by stochastic
//! gradients, plain or with reduced variance, from the kernel PCA solution or a random one. What the report leaves to hand search is found here: the
//! step by [trying](LearningRate::Auto), and when it turns out too long, by halving it. Corrections of the report that matter here: the
//! gradient has the sign of the extreme eigenvalue; the decoder takes the largest eigenvalue, not that of largest modulus; a decoded point is known up to its
//! sign only, which [`Sign`] fixes.
//!
//! Everything is homogeneous in the points: forms do not change when all points are multiplied by a factor, codes and losses change by its square. Learning
//! divides by the largest norm, so that a step means the same for all data; nothing of it is left in what is learned.
//!
//! # References
//!
//! - \[CHM16\] J. Cohen, E. Hazan, T. Ma, "Technical report: autoencoder kernel PCA", 2016.
//! - \[JZ13\] R. Johnson, T. Zhang, "Accelerating stochastic gradient descent using predictive variance reduction", Advances in Neural
//!   Information Processing Systems 26 (2013) 315-323.

mod choices;
mod decode;
mod file;
mod fit;
mod forms;
mod info;
mod matrix;
mod model;
mod more;
mod parameters;
mod pca;
mod residuals;
mod settings;
mod span;
mod start;
mod train;
mod tune;

use faer::{Mat, MatRef};

pub use choices::{Given, Gradient, LearningRate, Optimizer, Sign, SpanChoice, StartFrom};
pub use decode::Decoded;
pub use info::HistoryEntry;
pub use model::Autoencoder;
pub use pca::LinearPca;
pub use settings::AutoencoderKernelPca;

use crate::data::Points;
use crate::error::Result;

/// Something that encodes points and decodes codes.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::{Codec, LinearPca};
///
/// let points = Points::from_f64(vec![0.0, 1.0, 1.0, 3.0, 2.0, 5.0], 3, 2)?; // on a line
/// let pca = LinearPca::fit(&points, 1, mercer::Center::Yes)?;
/// let again = pca.reconstruct(&points)?;
/// assert!((again[(2, 1)] - 5.0).abs() < 1e-12);
/// assert_eq!((pca.n_features(), pca.n_components()), (2, 1));
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait Codec {
    /// Coordinates of a point.
    fn n_features(&self) -> usize;

    /// Numbers of a code.
    fn n_components(&self) -> usize;

    /// Codes of points: one row each.
    ///
    /// # Errors
    ///
    /// If the points have another width than those learned from, or hold values that are not finite or whose codes overflow.
    fn encode(&self, points: &Points) -> Result<Mat<f64>>;

    /// Points of codes: one row each. Where a code does not tell a point's sign, that nearer to its reference is taken.
    ///
    /// # Errors
    ///
    /// If the codes have another width, are not finite, or there is not one reference per code.
    fn decode(&self, codes: MatRef<'_, f64>, reference: Option<&Points>) -> Result<Mat<f64>>;

    /// What is left of points when they are encoded and decoded.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode).
    fn reconstruct(&self, points: &Points) -> Result<Mat<f64>> {
        self.decode(self.encode(points)?.as_ref(), Some(points))
    }
}
