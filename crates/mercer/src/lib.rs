//! Kernel PCA that is exact at any size within a memory budget.
pub mod data;
mod error;
pub mod gram;
pub mod kernel;
mod memory;
mod scalar;
pub mod simd;
mod tile;
pub mod watch;
pub use data::Points;
pub use error::{Error, ErrorKind, Result};
pub use kernel::Kernel;
pub use scalar::{Precision, Scalar};
pub use watch::Watch;
