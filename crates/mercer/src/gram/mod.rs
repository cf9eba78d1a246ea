//! Gram matrices as operators: what eigen-solvers multiply with.
//!
//! | operator | entries | memory |
//! |---|---|---|
//! | [`KernelGram`] without a store | recomputed tile by tile in every product | the packed points |
//! | [`KernelGram`] with a [`Store`] | kept as far as the store reaches, the others recomputed | up to the budget |
//! | [`KernelGram`] of [`Kernel::Precomputed`](crate::Kernel::Precomputed) | read from the user's matrix | the matrix |
//!
//! [`Centered`] turns any of them into the operator of the points centred in feature space, [`Normalized`] into that of spectral
//! clustering; [`Counted`] counts what was asked of it.

mod basis;
mod centered;
mod counted;
mod cross;
mod kernel_gram;
mod normalized;
mod scalars;
mod schedule;
mod slab;
mod store;

use faer::{Mat, MatMut, MatRef};

pub use basis::PackedCopy;
pub(crate) use basis::{Basis, Element, diagonal, largest_on_diagonal, largest_on_diagonal_watched};
pub use centered::{Centered, Centering};
pub use counted::Counted;
pub(crate) use cross::{Cross, each_below, square_matrix};
pub use kernel_gram::{KernelGram, block_size};
pub use normalized::Normalized;
pub(crate) use normalized::{inverse_roots, scale_rows};
pub(crate) use scalars::PairScalars;
pub(crate) use slab::Slab;
pub use slab::slab_product;
pub use store::{Store, StoreFormat};

use crate::error::Result;
use crate::watch::Context;

/// A symmetric linear map that can only be applied.
///
/// Krylov solvers need no more than this; asking for less keeps them usable with every kind of Gram matrix.
///
/// # Contract
///
/// 1. `apply` is linear and symmetric up to rounding.
/// 2. The same input gives the same bits, whatever the number of threads.
/// 3. When the watch says stop, `apply` returns [`Error::Interrupted`](crate::Error::Interrupted) and `out` is arbitrary.
///
/// ```
/// use faer::{MatMut, MatRef};
/// use mercer::eigen::{BlockKrylov, EigenSolver, Request};
/// use mercer::gram::SymmetricOperator;
/// use mercer::watch::{Context, Phase, Threads, Watch};
///
/// /// The diagonal matrix of 1, 2, …, n.
/// struct Diagonal(usize);
///
/// impl SymmetricOperator for Diagonal {
///     fn dim(&self) -> usize {
///         self.0
///     }
///     fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, _: &Context<'_>) -> mercer::Result<()> {
///         for j in 0..x.ncols() {
///             for i in 0..self.0 {
///                 out[(i, j)] = (i + 1) as f64 * x[(i, j)];
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let pairs = BlockKrylov::new(2, 8).leading(&Diagonal(100), &Request::new(2), &context)?;
/// assert!((pairs.values[0] - 100.0).abs() < 1e-6 && (pairs.values[1] - 99.0).abs() < 1e-6);
/// // Whatever can be applied can be written down.
/// let matrix = Diagonal(3).to_dense(&context)?;
/// assert_eq!((matrix[(2, 2)], matrix[(0, 1)]), (3.0, 0.0));
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait SymmetricOperator: Sync {
    /// Order of the matrix.
    fn dim(&self) -> usize;

    /// Writes the product with `x` into `out`, one column per vector.
    ///
    /// # Errors
    ///
    /// If the run was stopped, or a custom kernel failed.
    ///
    /// # Panics
    ///
    /// If `x` or `out` does not have `self.dim()` rows, or they differ in columns.
    fn apply(&self, x: MatRef<'_, f64>, out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()>;

    /// The matrix: its products with all unit vectors, unless it can be had more exactly.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    fn to_dense(&self, context: &Context<'_>) -> Result<Mat<f64>> {
        let n = self.dim();
        let mut matrix = Mat::zeros(n, n);
        self.apply(Mat::identity(n, n).as_ref(), matrix.as_mut(), context)?;
        Ok(matrix)
    }
}

/// A symmetric matrix whose entries can be read, at a price.
///
/// Pivoted factorisations, dense solvers and iterative learners need this.
///
/// ```
/// use faer::Mat;
/// use mercer::gram::EntryAccess;
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// assert_eq!(gram.diagonal()?, [9.0, 4.0, 0.0]);
/// let mut row = Mat::zeros(1, 3);
/// gram.rows(&[1], row.as_mut(), &context)?;
/// assert_eq!((row[(0, 0)], row[(0, 1)], row[(0, 2)]), (0.0, 4.0, 0.0));
/// assert_eq!(EntryAccess::dim(&gram), 3);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait EntryAccess: Sync {
    /// Order of the matrix.
    fn dim(&self) -> usize;

    /// The diagonal.
    ///
    /// # Errors
    ///
    /// If a custom kernel failed.
    fn diagonal(&self) -> Result<Vec<f64>>;

    /// Writes whole rows into `out`, one below the other.
    ///
    /// # Errors
    ///
    /// If the run was stopped, or a custom kernel failed.
    ///
    /// # Panics
    ///
    /// If a row does not exist, or `out` is not `rows.len()` by `self.dim()`.
    fn rows(&self, rows: &[usize], out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()>;
}

#[track_caller]
fn check_shapes(dim: usize, x: MatRef<'_, f64>, out: &MatMut<'_, f64>) {
    assert_eq!(x.nrows(), dim, "the vectors must have as many rows as the operator");
    assert_eq!(out.nrows(), dim, "the result must have as many rows as the operator");
    assert_eq!(x.ncols(), out.ncols(), "the result must have as many columns as the vectors");
}
