//! Kernel PCA: settings, the fit, and the fitted model.
//!
//! Only this module knows that there is such a thing as kernel PCA.

mod angle;
mod checkpoint;
mod file;
mod finish;
mod fit;
mod fitted;
mod kernel_pca;
mod novelty;
mod start;

pub use checkpoint::Checkpoint;
pub use fitted::Model;
pub use kernel_pca::{KernelChoice, KernelPca};
pub use novelty::Novelty;
