//! What points may go through before a kernel sees them.

use crate::data::Scaling;
use crate::error::{Error, Result};
use crate::kernel::Kernel;

/// Refuses a scaling for another number of columns, or one that treats columns of a precomputed kernel differently.
pub(crate) fn check_scaling(scaling: &Scaling, kernel: &Kernel, n_features: usize) -> Result<()> {
    let (expected, found) = (n_features, scaling.n_features());
    if expected != found {
        return Err(Error::FeatureMismatch { what: "the scaling", expected, found });
    }
    if matches!(kernel, Kernel::Precomputed) && scaling.common_factor().is_none() {
        return Err(Error::UnsuitableKernel {
            what: "scaling column by column",
            kernel: kernel.name().to_owned(),
            reason: "its columns are points",
        });
    }
    Ok(())
}
