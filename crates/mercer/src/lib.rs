//! Kernel PCA that is exact at any size within a memory budget.
mod choices;
pub mod data;
pub mod eigen;
mod error;
pub mod gram;
pub mod kernel;
mod memory;
mod model;
pub mod plan;
pub mod record;
mod scalar;
pub mod simd;
mod tile;
pub mod watch;

pub use choices::{Center, Components, GramChoice, MemoryBudget, Negative, SolverChoice};
pub use data::Points;
pub use error::{Error, ErrorKind, Result};
pub use kernel::Kernel;
pub use memory::peak as peak_memory;
pub use model::{KernelPca, Model};
pub use plan::Plan;
pub use record::RunRecord;
pub use scalar::{Precision, Scalar};
pub use watch::Watch;
