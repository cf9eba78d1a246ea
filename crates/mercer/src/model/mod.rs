//! Kernel PCA: settings, the fit, and the fitted model.
//!
//! Only this module and `hebbian`, which ends in its model, know that there is such a thing as kernel PCA.

mod angle;
mod checkpoint;
mod container;
mod expanded;
mod file;
mod finish;
mod fit;
mod fitted;
mod kernel_pca;
pub(crate) mod names;
mod novelty;
mod planned_gram;
mod prepared;
mod rounding;
mod scaling;
mod solve;
mod spectrum;
mod start;
#[cfg(test)]
mod tests;
mod transform;

pub use checkpoint::Checkpoint;
pub(crate) use checkpoint::{KEY as CHECKPOINT_KEY, Totals};
pub(crate) use container::{Tensor, views_of, write_tensors};
pub(crate) use file::{bad, digest, has_entry, read_checked, recorded_kernel};
pub(crate) use finish::{Finish, fix_signs};
pub(crate) use fit::out_of_range;
pub(crate) use fitted::Parts;
pub use fitted::{BasisKind, Model};
pub use kernel_pca::{KernelChoice, KernelPca};
pub use novelty::Novelty;
pub(crate) use novelty::limits_of;
pub(crate) use planned_gram::PlannedGram;
pub(crate) use prepared::{Prepared, SpeedsFrom};
pub(crate) use scaling::check_scaling;
pub(crate) use solve::{patience, planned_solver};
pub(crate) use spectrum::{Spectrum, significant_negative};
pub(crate) use start::from_sample as start_from_sample;
