//! Spectral clustering without the matrix of all pairs.
//!
//! **Use it** for clusters of any shape: points belong together that a chain of near points joins.
//!
//! **Cost**: that of kernel PCA with as many components as clusters, one product more, and k-means on `n` rows of a few numbers.
//!
//! # Method
//!
//! That of \[NJW02\], as \[GSV07\], section 5.1.4, use it:
//!
//! 1. `P = D^-1/2 K D^-1/2` with the row sums of `K`, the degrees, on the diagonal of `D` ([`Normalized`](crate::gram::Normalized)). `K` is
//!    not centred, and its diagonal is kept (\[NJW02\] set it to zero, \[GSV07\] do not).
//! 2. The leading eigenvectors of `P`, as many as clusters unless another number is asked for: by any solver of kernel PCA, which needs
//!    products with `K` only, by the kernel Hebbian algorithm, or over [landmarks](SpectralClustering::landmarks), an approximation.
//! 3. Each point's row of the eigenvectors is brought to unit length: the embedding.
//! 4. Clusters of the rows by [k-means](crate::kmeans).
//!
//! A new point `x` is embedded by the extension of Nyström: `v_j(x) = Σ_i k(x, x_i) v_j(i) / (λ_j √(d_i d(x)))`, which is what `P v = λ v` says
//! at a training point. Its own degree `d(x) = Σ_i k(x, x_i)` cancels when the row is brought to unit length. The nearest centre
//! is its cluster. Over landmarks, kernel values with those are all that a new point needs.
//!
//! # Numerics
//!
//! The first eigenvector is known: the roots of the degrees, with eigenvalue one; solvers that take start vectors are given it.
//! Eigenvectors whose eigenvalue cannot be told from rounding are left out, with a warning. A point of degree zero, or less, has no
//! row in `P`: that is an error which names it.
//!
//! # References
//!
//! - \[NJW02\] Ng, Jordan, Weiss, *On spectral clustering: analysis and an algorithm*, NIPS 14.
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8.

mod embedding;
mod file;
mod fit;
mod fitted;
mod hebbian;
mod landmarks;
mod record;
mod settings;

pub use embedding::unit_rows;
pub use fitted::ClusterModel;
pub use hebbian::normalized_matrix;
pub use record::ClusterRecord;
pub use settings::SpectralClustering;
