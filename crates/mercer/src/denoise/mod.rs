//! Denoising of pictures and of rows by kernel PCA.
//!
//! **Use it** on pictures with noise that is alike everywhere, and on measurements of many related quantities (the joints of a
//! body, the channels of a sensor), whose rows fill little of the space they are in. **Cost**: about ten products of all points with the
//! landmarks, in blocks. **Memory**: two numbers per pixel, 20 000 points to learn from, and a block of points.
//!
//! # Method
//!
//! | symbol | |
//! |---|---|
//! | `x` | a point: a row, or a patch of a picture less its mean in every channel |
//! | `σ` | the level of the noise: its standard deviation in every coordinate |
//! | `s_j` | score `j` of a point under kernel PCA with the gaussian kernel |
//! | `τ_j` | standard deviation of what the noise does to `s_j` |
//!
//! 1. Patches are taken on a [`Grid`], with all channels of a pixel: edges are in the same place in all of them, so that what
//!    one channel shows of an edge helps the others.
//! 2. Components are learned from a sample of the points, over landmarks ([`nystrom`](crate::nystrom)).
//! 3. `τ_j` is measured: a part of the sample is given as much noise again, as much of it shared by the channels of a pixel, and its scores are compared.
//! 4. Scores that are not larger than `t τ_j` are taken for noise and set to zero. So the number of components comes from the noise level, for
//!    each point by itself: a flat patch keeps none, one with an edge keeps a few.
//! 5. The pre-image of what is left ([`preimage`](crate::preimage), fixed point \[MSS99\]) is the point without noise; a
//!    pixel is the mean of all patches that cover it.
//!    Rows are taken one by one, or several that follow one another together.
//! 6. Once more, with what came out as a guide: a score `s_j` is multiplied by `g_j² / (g_j² + τ_j²)`, with `g_j` the score of the
//!    guide, which is the best factor for a signal of that size.
//!
//! With a number of components ([`Denoiser::n_components`]), steps 3, 4 and 6 are left out, and a point is projected on them and nothing else:
//! the denoising of \[GSV07\], section 5.1.2. There a picture is cut into parts, and each has components of its own: [`Patchwork`].
//!
//! # Numerics
//!
//! Distances between noisy points are mostly noise: `2 d σ²` where the signal's part may be less. A kernel as narrow as the points are far apart
//! therefore sees neighbours where there are none, and the default for pictures is ten times as wide. Components are then nearly those of the covariance,
//! and keeping scores by their size is the shrinkage of \[DSD11\]. Rows of measurements have less noise and lie on something bent: for them the
//! default is as wide as they are far apart. The noise of a picture is the median absolute deviation \[DJ94\] of its second
//! differences in both directions \[I96\], which does not see slopes and is not moved by the few pixels on edges. What the noise of two channels has in
//! common is found from the same differences of their sum and of their difference \[GK72\]: in a grey picture that is stored as colour it is the same in all
//! three, and what it does to a score is up to three times in variance what independent noise does.
//!
//! # References
//!
//! - \[GSV07\] Image denoising by the kernel Hebbian algorithm, section 5.1.2; motion, section 5.1.5.
//! - \[MSS99\] Kernel PCA and de-noising in feature spaces.
//! - \[DSD11\] Keeping coefficients of patches under PCA by their size.
//! - \[DJ94\] The median absolute deviation as a measure of noise.
//! - \[I96\] The filter that it is taken of.
//! - \[GK72\] Robust correlations from sums and differences.

mod channels;
mod filter;
mod image;
mod noise;
mod passes;
mod patches;
mod patchwork;
mod pictures;
mod quality;
mod rows;
mod settings;

pub use image::Image;
pub use noise::{image_noise, row_noise, with_noise};
pub use patches::Grid;
pub use patchwork::{Part, Patchwork};
pub use pictures::DenoisedImage;
pub use quality::{noise_removed, snr};
pub use rows::DenoisedRows;
pub use settings::{DenoiseRecord, Denoiser};
