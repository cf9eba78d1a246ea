//! Low rank with a stated error: kernel PCA over a few landmarks instead of all points.
//!
//! **Use it** when an answer that is good to a few digits will do and there are too many points, or too many coordinates, for passes
//! over the whole kernel matrix. **Cost**: `n m d` for the kernel of all points with `m` landmarks, `n m²` for their features, `m³`
//! for the rest. **Memory**: about `5 m²` numbers and a block of rows, however many points there are.
//!
//! # Method
//!
//! With `W` the kernel matrix of the landmarks and `C` that of all points with them, the matrix of all pairs is replaced by
//!
//! ```text
//! K̂ = C W⁺ Cᵀ = F Fᵀ,    F = C L⁻ᵀ,    W = L Lᵀ
//! ```
//!
//! which is the Gram matrix of the points' images projected onto the span of the landmarks' images. A row of `F` is a point in
//! coordinates of that span, so the centred kernel PCA of `K̂` is the ordinary PCA of those rows: an eigenproblem of order `m`
//! for `FᵀF − n f̄ f̄ᵀ`, whose eigenvalues are those of the centred `K̂` and need no scaling. Rows of `F` are made block by block and added up.
//!
//! `K − K̂` is positive semi-definite, so its trace, `Σ k(x, x) − ‖F‖²`, is the sum of all its eigenvalues and bounds its norm. It is
//! known exactly, for the price of the diagonal. Residuals of the components against the *exact* matrix are measured on
//! a random sample of its rows, which are computed: those that landmarks leave the most of have the best chance to be among them.
//!
//! | landmarks | cost beyond the above | |
//! |---|---|---|
//! | [`Landmarks::Uniform`] | none | rows at random |
//! | [`Landmarks::RpCholesky`] | `p m (d + m)` | rows with a chance in proportion to what the earlier ones leave of them |
//! | [`Landmarks::Leverage`] | `p m (d + m)` | rows with a chance in proportion to their approximate ridge leverage |
//! | [`Landmarks::KMeans`] | ten times `p m d` | centres of clusters, which are no rows |
//!
//! where `p` is the number of rows they are chosen from: ten times `m` and at least 10 000, if there are that many.
//!
//! # Numerics
//!
//! Landmarks that are combinations of others, to rounding, are left out of the basis, and the record says how many. Features are made by a
//! triangular solve with each block of `C`, not from `CᵀC`, whose rounding `W⁻¹` would magnify. Sums over rows are in double precision.
//!
//! # References
//!
//! - \[WS01\] The method, with eigenvectors of the landmarks' own matrix extended to all points: [`Extension`].
//! - \[CETW24\] Randomly pivoted Cholesky.
//! - \[ETW24\] Its acceleration by rejection.
//! - \[MM17\] Approximate ridge leverage scores.
//! - \[ZTK08\] Landmarks from k-means.
//! - \[AV07\] The start of k-means.
//! - \[RR07\] Random Fourier features.

mod adaptive;
mod blocks;
mod choose;
mod extension;
mod factor;
mod fourier;
mod kmeans;
mod leverage;
mod limits;
mod map;
mod outcome;
mod pages;
mod pca;
mod plan;
mod pool;
mod probed;
mod random;
mod residuals;
mod room;
mod rpcholesky;
mod settings;
mod steady;
mod sums;

pub use blocks::RowBlocks;
pub use extension::Extension;
pub use fourier::FourierFeatures;
pub use map::FeatureMap;
pub use pca::NystromPca;
pub(crate) use pca::{refuse_indefinite, refuse_precomputed};
pub(crate) use random::Random;
pub(crate) use residuals::sampled_rows;
pub use settings::{Landmarks, Nystrom};
