//! Kernels that users bring along.

use std::fmt;

use super::Kernel;
use crate::error::{Error, Result};

/// A kernel of the user's own.
///
/// # Contract
///
/// 1. `fill` is symmetric: exchanging the blocks transposes the result. Wherever a fit meets a block of points with itself, this is
///    looked at ([`Error::AsymmetricKernel`]).
/// 2. The value of a pair does not depend on the blocks it is computed in.
/// 3. `fill` may be called from several threads at once.
///
/// Positive semi-definiteness is not assumed; see [`Negative`](crate::Negative).
///
/// ```
/// use mercer::kernel::{CustomKernel, Kernel};
///
/// /// The smaller of two numbers: the covariance of a random walk.
/// #[derive(Debug)]
/// struct Walk;
///
/// impl CustomKernel for Walk {
///     fn name(&self) -> &str {
///         "walk"
///     }
///     fn fill(&self, rows: &[f64], columns: &[f64], _n_features: usize, out: &mut [f64]) -> mercer::Result<()> {
///         for (line, x) in out.chunks_exact_mut(columns.len()).zip(rows) {
///             line.iter_mut().zip(columns).for_each(|(value, y)| *value = x.min(*y));
///         }
///         Ok(())
///     }
/// }
///
/// assert_eq!(Kernel::custom(Walk).evaluate(&[2.0], &[3.0])?, 2.0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait CustomKernel: fmt::Debug + Send + Sync {
    /// What the kernel is called in records and messages.
    fn name(&self) -> &str;

    /// Writes the kernel of every pair of a row of `rows` and a row of `columns` into `out`, row by row.
    ///
    /// Both blocks hold points of `n_features` coordinates, one after the other.
    ///
    /// # Errors
    ///
    /// Whatever the user's function fails with; it ends the run.
    fn fill(&self, rows: &[f64], columns: &[f64], n_features: usize, out: &mut [f64]) -> Result<()>;
}

/// A custom kernel made of a function of two points.
///
/// ```
/// use mercer::kernel::{Kernel, PairFunction};
///
/// // Counts the coordinates in which two points agree.
/// let agreement = Kernel::custom(PairFunction::new("agreement", |x: &[f64], y: &[f64]| {
///     x.iter().zip(y).filter(|(a, b)| a == b).count() as f64
/// }));
/// assert_eq!(agreement.evaluate(&[1.0, 2.0, 3.0], &[1.0, 5.0, 3.0])?, 2.0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct PairFunction<F> {
    name: String,
    function: F,
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Send + Sync> PairFunction<F> {
    /// A kernel called `name` whose value is `function` of the two points.
    pub fn new(name: impl Into<String>, function: F) -> Self {
        Self { name: name.into(), function }
    }
}

impl<F> fmt::Debug for PairFunction<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: Fn(&[f64], &[f64]) -> f64 + Send + Sync> CustomKernel for PairFunction<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&self, rows: &[f64], columns: &[f64], n_features: usize, out: &mut [f64]) -> Result<()> {
        let n_columns = columns.len() / n_features;
        for (row, line) in rows.chunks_exact(n_features).zip(out.chunks_exact_mut(n_columns)) {
            for (column, value) in columns.chunks_exact(n_features).zip(line) {
                *value = (self.function)(row, column);
            }
        }
        Ok(())
    }
}

impl Kernel {
    /// Refuses a function where a kernel has to be written to a file; `what` is what was asked for.
    pub(crate) fn check_is_no_function(&self, what: &'static str) -> Result<()> {
        match self {
            Self::Custom(custom) => Err(Error::UnsuitableKernel {
                what,
                kernel: custom.name().to_owned(),
                reason: "a function cannot be written to a file",
            }),
            _ => Ok(()),
        }
    }
}
