//! What kind of error it is, and errors that are made often.

use super::words::short;
use super::{Error, Result};

/// What a caller can do about an [`Error`].
///
/// Complete on purpose (no `non_exhaustive`): the command and the Python package match on it without a catch-all arm, so a
/// new kind cannot be forgotten there.
///
/// ```
/// use mercer::{ErrorKind, Kernel};
///
/// let error = Kernel::gaussian(-1.0).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::InvalidInput);
/// assert_eq!(error.to_string(), "`gamma` must be a positive number, but it is -1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The call or its input was wrong; the same call will fail again.
    InvalidInput,
    /// The answer would not fit the memory budget.
    OverBudget,
    /// The call was right, but the answer did not reach the asked accuracy.
    NotConverged,
    /// The run was stopped from outside.
    Interrupted,
    /// A file could not be read or written.
    Io,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::InvalidParameter { .. }
            | Self::TooFewRows { .. }
            | Self::NoColumns { .. }
            | Self::ShapeMismatch { .. }
            | Self::FeatureMismatch { .. }
            | Self::RowWidth { .. }
            | Self::NotFinite { .. }
            | Self::TooLarge { .. }
            | Self::LandmarkTooLarge { .. }
            | Self::LandmarkOverflow { .. }
            | Self::TooLargeToLearn { .. }
            | Self::TooFarApart { .. }
            | Self::TooClose { .. }
            | Self::CodeOverflow { .. }
            | Self::CodeUnderflow { .. }
            | Self::AllZero { .. }
            | Self::KernelOverflow { .. }
            | Self::KernelUnderflow { .. }
            | Self::NoVariance { .. }
            | Self::BlindLandmarks { .. }
            | Self::VarianceInRounding { .. }
            | Self::NotSquare { .. }
            | Self::NegativeEigenvalues { .. }
            | Self::IndefiniteLandmarks { .. }
            | Self::UnsuitableKernel { .. }
            | Self::ZeroDegree { .. }
            | Self::TooFewDistinct { .. }
            | Self::Decomposition { .. }
            | Self::CustomKernel { .. }
            | Self::KernelWithLearned { .. }
            | Self::AsymmetricKernel { .. }
            | Self::CustomKernelFailed { .. }
            | Self::Singular { .. }
            | Self::Diverged { .. }
            | Self::NoMaximum { .. }
            | Self::Labels { .. }
            | Self::ModelFile { .. } => ErrorKind::InvalidInput,
            Self::OverBudget { .. } => ErrorKind::OverBudget,
            Self::NotConverged { .. } => ErrorKind::NotConverged,
            Self::Interrupted { .. } => ErrorKind::Interrupted,
            Self::Io { .. } => ErrorKind::Io,
        }
    }

    /// An [`Error::InvalidParameter`].
    #[expect(clippy::needless_pass_by_value, reason = "callers pass numbers and strings alike")]
    pub fn invalid(name: &'static str, requirement: impl Into<String>, value: impl ToString) -> Self {
        Self::InvalidParameter { name, requirement: requirement.into(), value: value.to_string() }
    }

    /// The same of rows that have other numbers elsewhere, which `number` gives.
    pub(crate) fn with_row(self, number: impl Fn(usize) -> usize) -> Self {
        match self {
            Self::NotFinite { row, column, value } => Self::NotFinite { row: number(row), column, value },
            Self::TooLarge { row, precision } => Self::TooLarge { row: number(row), precision },
            Self::TooFarApart { row, largest } => Self::TooFarApart { row: number(row), largest },
            Self::KernelOverflow { kernel, row, value, precision, n_samples } => {
                Self::KernelOverflow { kernel, row: number(row), value, precision, n_samples }
            }
            other => other,
        }
    }

    pub(crate) fn require_positive(name: &'static str, value: f64) -> Result<()> {
        if value > 0.0 && value.is_finite() {
            Ok(())
        } else {
            Err(Self::invalid(name, "a positive number", short(value)))
        }
    }

    pub(crate) fn require_finite(name: &'static str, value: f64) -> Result<()> {
        if value.is_finite() { Ok(()) } else { Err(Self::invalid(name, "a finite number", value)) }
    }
}
