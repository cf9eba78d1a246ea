//! Slow and obvious answers in double precision.
//!
//! Nothing here calls the library's arithmetic: formulas are those of the textbooks, loops run over single entries, and
//! eigenvalues come from Jacobi's rotations.

mod autoencoder;
mod cluster;
mod denoise;
mod eigen;
mod hebbian;
mod kernel;
mod nystrom;
mod online;
mod pca;
mod tuning;

use faer::{Mat, MatRef};

pub use autoencoder::{AutoencoderSample, autoencoder_decode, autoencoder_sample, forms_of_span};
pub use cluster::{SpectralReference, spectral_embedding};
pub use denoise::projected_picture;
pub use eigen::{Spectrum, eigen, orthonormalize, sines_of_angles};
pub use hebbian::{HebbianReference, HebbianState, eigenvalue_estimates, reconstruction_error};
pub use kernel::Textbook;
pub use nystrom::nystrom;
pub use online::{ExplicitOnline, PsiNeuron, PsiTogether};
pub use pca::{KernelPcaReference, center, center_queries, kernel_pca};
pub use tuning::variance_of_variances;

/// `a b`, column by column.
///
/// # Panics
///
/// If the shapes do not fit.
#[track_caller]
pub fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    assert_eq!(a.ncols(), b.nrows(), "shapes of a product");
    let mut out = Mat::<f64>::zeros(a.nrows(), b.ncols());
    for j in 0..b.ncols() {
        for k in 0..a.ncols() {
            let factor = b[(k, j)];
            out.col_mut(j).iter_mut().zip(a.col(k).iter()).for_each(|(sum, entry)| *sum += entry * factor);
        }
    }
    out
}

/// The largest absolute entry; zero of an empty matrix.
pub fn largest_entry(a: MatRef<'_, f64>) -> f64 {
    (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)].abs())).fold(0.0, f64::max)
}

/// Fails unless every entry of `found` is as close to `expected` as `tolerance` says.
///
/// # Panics
///
/// If the shapes differ or an entry is too far off; the message names the worst one.
#[track_caller]
pub fn assert_close(
    found: MatRef<'_, f64>,
    expected: MatRef<'_, f64>,
    tolerance: impl Fn(usize, usize) -> f64,
    what: &str,
) {
    assert_eq!((found.nrows(), found.ncols()), (expected.nrows(), expected.ncols()), "shape of {what}");
    for j in 0..found.ncols() {
        for i in 0..found.nrows() {
            let (gap, allowed) = ((found[(i, j)] - expected[(i, j)]).abs(), tolerance(i, j));
            // Written so that NaN fails.
            assert!(
                gap <= allowed,
                "{what}: entry ({i}, {j}) is {:e}, expected {:e}: off by {gap:.1e} > {allowed:.1e}",
                found[(i, j)],
                expected[(i, j)],
            );
        }
    }
}
