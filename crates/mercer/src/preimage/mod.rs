//! Pre-images: from scores back to points.
//!
//! A point in feature space is in general the image of no point. Scores `s` stand for `ψ = m + Σ s_j u_j`, with `m` the mean of the images
//! and `u_j` the components; a pre-image is a point `z` whose image is near it.
//!
//! | method | kernels | how | reports as converged |
//! |---|---|---|---|
//! | [`FixedPoint`](PreimageMethod::FixedPoint) | gaussian | repeated weighted means of the basis points \[MSS99\] | the last step was small, and the point is within sight of the basis and below the nearest of its points |
//! | [`Distance`](PreimageMethod::Distance) | those of a distance (not epanechnikov), linear, polynomial of odd degree | distances to neighbours, which the kernel tells, place the point \[KT04\] | every distance was one |
//! | [`Gradient`](PreimageMethod::Gradient) | all with a derivative | descent of the distance in feature space | as a fixed point |
//! | [`Polynomial`](PreimageMethod::Polynomial) | polynomial of degree 2 without constant | leading eigenvector of `Σ γ_i x_i x_iᵀ` | the eigenpair has converged |
//! | [`Ridge`](PreimageMethod::Ridge) | all but precomputed | a regression learned from the basis points \[BWS04\] | always |
//!
//! All of them work on blocks of points with matrix products, on all threads, and every pre-image comes with its squared distance in feature
//! space to what it stands for; one without a finite distance has not converged by any of them. [`Preimage`] is asked, [`PreparedPreimage`] answers; [`RidgePreimage`] is the regression by itself.
//!
//! # References
//!
//! - \[MSS99\] S. Mika, B. Schölkopf, A. Smola, K.-R. Müller, M. Scholz, G. Rätsch, "Kernel PCA and de-noising in feature spaces", Advances in
//!   Neural Information Processing Systems 11 (1999) 536-542.
//! - \[KT04\] J. T. Kwok, I. W. Tsang, "The pre-image problem in kernel methods", IEEE Transactions on Neural Networks 15 (2004) 1517-1525.
//! - \[BWS04\] G. H. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images", Advances in Neural Information Processing
//!   Systems 16 (2004) 449-456.

mod basis;
mod distance;
mod fixed_point;
mod gradient;
mod polynomial;
mod prepared;
mod ridge;
mod settings;

pub(crate) use polynomial::{WeightedCovariances, wave};
pub use prepared::{PreparedPreimage, Reconstruction};
pub use ridge::RidgePreimage;
pub(crate) use settings::is_quadratic;
pub use settings::{Preimage, PreimageMethod};
