//! Kernel PCA that is exact at any size within a memory budget.
//!
//! Kernel PCA finds the directions of largest variance of points after a nonlinear map, given only a kernel: a function of
//! two points. It needs eigenvectors of the matrix of all pairs, which for 60 000 points has 3.6 billion entries. This library
//! never holds that matrix unless it fits: it recomputes tiles of it in the cache, or keeps as many as a memory budget allows, and
//! needs few passes over it.
//!
//! ```
//! use mercer::{KernelPca, Points, kernel::{KernelSpec, Width}};
//!
//! # let values: Vec<f32> = (0..400).map(|i| (i as f32 * 0.37).sin()).collect();
//! let points = Points::from_f32(values, 100, 4)?; // 100 rows, 4 columns
//! let kernel = KernelSpec::new("gaussian").width(Width::Median);
//! let model = KernelPca::new(kernel).n_components(3).fit(&points)?;
//!
//! let scores = model.transform(&points)?; // 100 x 3
//! println!("explained: {:?}", model.explained_variance_ratio());
//! println!("residuals: {:?}", model.residuals());
//! # assert_eq!((scores.nrows(), scores.ncols()), (100, 3));
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # One way through
//!
//! ```text
//! points -> kernel -> Gram operator -> eigen-solver -> model -> record
//! ```
//!
//! - [`Points`]: the rows of the data, in the format they came in.
//! - [`Kernel`]: a function of two points; [`kernel::KernelSpec`] for one whose parameters depend on the data.
//! - [`gram`]: the matrix of all pairs as an operator that can be multiplied with blocks of vectors.
//! - [`expansion`]: the same matrix in time proportional to the number of points, to a stated error.
//! - [`eigen`]: leading eigenpairs of such an operator.
//! - [`KernelPca`]: settings; [`Model`]: what a fit gives; [`Plan`]: what a fit will do and cost; [`RunRecord`]: what it did.
//! - [`product`]: products with the kernel matrix, without kernel PCA; [`preimage`]: from scores back to points.
//! - [`tune`]: the width of a kernel from the spectrum; [`classify`]: a layer of linear units on the components.
//! - [`hebbian`]: kernel PCA by iteration over single points, which can be stopped, continued and given more points.
//! - [`nystrom`]: kernel PCA over a few landmarks, an approximation with a stated error.
//! - [`SpectralClustering`]: clusters of any shape, from the same products; [`agreement`]: how far two groupings agree.
//! - [`denoise`]: pictures and rows without noise; [`upscale`]: larger pictures of a kind that is known.
//! - [`autoencoder`]: components of degree 2 that are learned so that points can be reconstructed from their codes.
//! - [`Watch`]: progress, time limits and interruption.
//!
//! # Quality travels with the answer
//!
//! A model says how good it is: a residual per component from products that were made, whether every one reached the
//! tolerance, the exact share of variance, and warnings about what the numbers cannot tell. A fit that was stopped or did not
//! converge is a model that says so, not an error; [`Model::require_converged`] makes it one.
//!
//! # Reproducible
//!
//! The same settings, points and seed give the same bits on any number of threads, unless the memory budget is so
//! tight that what they take decides how wide blocks are. The sign of a component is fixed: its
//! coefficient of largest absolute value is positive.

pub mod agreement;
mod any;
pub mod aside;
pub mod autoencoder;
mod choices;
pub mod classify;
pub mod cluster;
pub mod data;
pub mod denoise;
pub mod eigen;
mod error;
pub mod expansion;
pub mod gram;
pub mod hebbian;
pub mod kernel;
pub mod kmeans;
mod memory;
mod model;
pub mod nystrom;
pub mod online;
pub mod plan;
pub mod preimage;
pub mod product;
pub mod record;
mod scalar;
pub mod simd;
mod tile;
pub mod tune;
pub mod upscale;
pub mod watch;

pub use any::{AnyModel, StateFile};
pub use autoencoder::{Autoencoder, AutoencoderKernelPca};
pub use choices::{
    Center, ExpansionMethod, Gain, GainRule, GramChoice, MemoryBudget, Negative, NegativeScope, Refresh, SolverChoice,
    ZeroComponents,
};
pub use cluster::{ClusterModel, SpectralClustering};
pub use data::Points;
pub use error::{Error, ErrorKind, Result, apart as format_apart, bytes as format_bytes};
pub use hebbian::{HebbianLearner, KernelHebbianPca};
pub use kernel::Kernel;
pub use memory::{peak as peak_memory, reset_peak as reset_peak_memory};
pub use model::{BasisKind, Checkpoint, KernelChoice, KernelPca, Model, Novelty};
pub use plan::Plan;
pub use product::KernelProduct;
pub use record::RunRecord;
pub use scalar::{Precision, Scalar};
pub use watch::Watch;

/// The code blocks of the page on autoencoders are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/autoencoder.md")]
struct AutoencoderPage;

/// The code blocks of the page on pre-images are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/preimages.md")]
struct PreimagesPage;

/// The code blocks of the page on denoising are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/denoising.md")]
struct DenoisingPage;

/// The code blocks of the page on the kernel Hebbian algorithm are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/hebbian.md")]
struct HebbianPage;

/// The code blocks of the page on streams are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/online.md")]
struct OnlinePage;

/// The code blocks of the page on the width of a kernel are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tuning.md")]
struct TuningPage;

/// The code blocks of the page on expansions are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/fast.md")]
struct FastPage;

/// The code blocks of the page on landmarks are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/nystrom.md")]
struct NystromPage;

/// The code blocks of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
