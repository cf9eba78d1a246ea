//! Kernel functions.
//!
//! A kernel is *defined once*, by its formula in a file of its own: a function of one scalar of the pair of points
//! ([`Pairing`]). Entries, diagonals and tiles of a Gram matrix are all computed from that formula.

mod cosine;
mod custom;
mod epanechnikov;
mod exponential;
mod formula;
mod gaussian;
mod laplacian;
mod linear;
mod matern;
mod polynomial;
mod rational_quadratic;
mod raw;
mod sigmoid;
mod spec;

use std::sync::Arc;

pub use cosine::Cosine;
pub use custom::{CustomKernel, PairFunction};
pub use epanechnikov::Epanechnikov;
pub use exponential::Exponential;
pub(crate) use formula::Formula;
pub use formula::{Pairing, Parameter};
pub use gaussian::Gaussian;
pub use laplacian::Laplacian;
pub use linear::Linear;
pub use matern::{Matern32, Matern52};
pub use polynomial::Polynomial;
pub use rational_quadratic::RationalQuadratic;
pub(crate) use raw::{Raw, with_raw};
pub use sigmoid::Sigmoid;
pub use spec::{KernelSpec, Width};
pub(crate) use spec::{gamma_of, pair_scalars, too_far_apart};

use crate::error::{Error, Result};

/// A kernel with all its parameters.
///
/// ```
/// use mercer::kernel::{Kernel, Parameter};
///
/// let kernel = Kernel::gaussian(0.5)?;
/// assert_eq!(kernel.evaluate(&[0.0, 0.0], &[1.0, 1.0])?, (-1.0_f64).exp());
/// assert_eq!(
///     Kernel::gaussian(-1.0).err().map(|error| error.to_string()),
///     Some("`gamma` must be a positive number, but it is -1".to_owned())
/// );
///
/// // What is known of it from theory.
/// assert!(kernel.is_positive_definite() && kernel.has_unit_range());
/// assert!(!Kernel::sigmoid(0.5, -1.0)?.is_positive_definite() && !Kernel::linear().has_unit_range());
/// assert_eq!(kernel.parameters(), [Parameter::Gamma]);
/// // d/ds exp(-γ s) = -γ exp(-γ s)
/// assert!((kernel.slope(2.0) + 0.5 * kernel.value(2.0)).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Kernel {
    /// See [`Linear`].
    Linear(Linear),
    /// See [`Polynomial`].
    Polynomial(Polynomial),
    /// See [`Gaussian`].
    Gaussian(Gaussian),
    /// See [`Laplacian`].
    Laplacian(Laplacian),
    /// See [`Exponential`].
    Exponential(Exponential),
    /// See [`Matern32`].
    Matern32(Matern32),
    /// See [`Matern52`].
    Matern52(Matern52),
    /// See [`RationalQuadratic`].
    RationalQuadratic(RationalQuadratic),
    /// See [`Epanechnikov`].
    Epanechnikov(Epanechnikov),
    /// See [`Cosine`].
    Cosine(Cosine),
    /// See [`Sigmoid`].
    Sigmoid(Sigmoid),
    /// The user's own function.
    Custom(Arc<dyn CustomKernel>),
    /// The points are rows of a kernel matrix that somebody else computed.
    Precomputed,
}

/// Runs an expression with the formula of a kernel, or another for the kernels that have none.
macro_rules! with_formula {
    ($kernel:expr, $formula:ident => $body:expr, else $otherwise:expr) => {
        match $kernel {
            $crate::kernel::Kernel::Linear($formula) => $body,
            $crate::kernel::Kernel::Polynomial($formula) => $body,
            $crate::kernel::Kernel::Gaussian($formula) => $body,
            $crate::kernel::Kernel::Laplacian($formula) => $body,
            $crate::kernel::Kernel::Exponential($formula) => $body,
            $crate::kernel::Kernel::Matern32($formula) => $body,
            $crate::kernel::Kernel::Matern52($formula) => $body,
            $crate::kernel::Kernel::RationalQuadratic($formula) => $body,
            $crate::kernel::Kernel::Epanechnikov($formula) => $body,
            $crate::kernel::Kernel::Cosine($formula) => $body,
            $crate::kernel::Kernel::Sigmoid($formula) => $body,
            $crate::kernel::Kernel::Custom(_) | $crate::kernel::Kernel::Precomputed => $otherwise,
        }
    };
}
pub(crate) use with_formula;

/// Names of the kernels that need nothing but parameters, in the order in which help texts list them.
///
/// ```
/// use mercer::kernel::{KernelSpec, NAMES};
///
/// let points = mercer::Points::from_f64(vec![0.0, 0.5, 1.0, 0.25], 2, 2)?;
/// for name in NAMES {
///     assert_eq!(KernelSpec::new(name).resolve(&points)?.name(), name);
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
pub const NAMES: [&str; 11] = [
    "linear",
    "polynomial",
    "gaussian",
    "laplacian",
    "exponential",
    "matern32",
    "matern52",
    "rational-quadratic",
    "epanechnikov",
    "cosine",
    "sigmoid",
];

/// Other names that are accepted where people type, and the kernels they mean.
///
/// ```
/// use mercer::kernel::{ALIASES, KernelSpec};
///
/// let points = mercer::Points::from_f64(vec![0.0, 0.5, 1.0, 0.25], 2, 2)?;
/// for (alias, name) in ALIASES {
///     assert_eq!(KernelSpec::new(alias).resolve(&points)?.name(), name);
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
pub const ALIASES: [(&str, &str); 2] = [("poly", "polynomial"), ("rbf", "gaussian")];

impl Kernel {
    /// [`Linear`].
    pub const fn linear() -> Self {
        Self::Linear(Linear)
    }

    /// [`Cosine`].
    pub const fn cosine() -> Self {
        Self::Cosine(Cosine)
    }

    /// [`Polynomial`].
    ///
    /// # Errors
    ///
    /// As [`Polynomial::new`].
    pub fn polynomial(gamma: f64, coef0: f64, degree: u32) -> Result<Self> {
        Polynomial::new(gamma, coef0, degree).map(Self::Polynomial)
    }

    /// [`Gaussian`].
    ///
    /// # Errors
    ///
    /// As [`Gaussian::new`].
    pub fn gaussian(gamma: f64) -> Result<Self> {
        Gaussian::new(gamma).map(Self::Gaussian)
    }

    /// [`Laplacian`].
    ///
    /// # Errors
    ///
    /// As [`Laplacian::new`].
    pub fn laplacian(gamma: f64) -> Result<Self> {
        Laplacian::new(gamma).map(Self::Laplacian)
    }

    /// [`Exponential`].
    ///
    /// # Errors
    ///
    /// As [`Exponential::new`].
    pub fn exponential(gamma: f64) -> Result<Self> {
        Exponential::new(gamma).map(Self::Exponential)
    }

    /// [`Matern32`].
    ///
    /// # Errors
    ///
    /// As [`Matern32::new`].
    pub fn matern32(gamma: f64) -> Result<Self> {
        Matern32::new(gamma).map(Self::Matern32)
    }

    /// [`Matern52`].
    ///
    /// # Errors
    ///
    /// As [`Matern52::new`].
    pub fn matern52(gamma: f64) -> Result<Self> {
        Matern52::new(gamma).map(Self::Matern52)
    }

    /// [`RationalQuadratic`].
    ///
    /// # Errors
    ///
    /// As [`RationalQuadratic::new`].
    pub fn rational_quadratic(gamma: f64, alpha: f64) -> Result<Self> {
        RationalQuadratic::new(gamma, alpha).map(Self::RationalQuadratic)
    }

    /// [`Epanechnikov`].
    ///
    /// # Errors
    ///
    /// As [`Epanechnikov::new`].
    pub fn epanechnikov(gamma: f64) -> Result<Self> {
        Epanechnikov::new(gamma).map(Self::Epanechnikov)
    }

    /// [`Sigmoid`].
    ///
    /// # Errors
    ///
    /// As [`Sigmoid::new`].
    pub fn sigmoid(gamma: f64, coef0: f64) -> Result<Self> {
        Sigmoid::new(gamma, coef0).map(Self::Sigmoid)
    }

    /// The user's own kernel.
    pub fn custom(kernel: impl CustomKernel + 'static) -> Self {
        Self::Custom(Arc::new(kernel))
    }

    /// The name that commands, files and records use.
    pub fn name(&self) -> &str {
        match self {
            Self::Linear(_) => "linear",
            Self::Polynomial(_) => "polynomial",
            Self::Gaussian(_) => "gaussian",
            Self::Laplacian(_) => "laplacian",
            Self::Exponential(_) => "exponential",
            Self::Matern32(_) => "matern32",
            Self::Matern52(_) => "matern52",
            Self::RationalQuadratic(_) => "rational-quadratic",
            Self::Epanechnikov(_) => "epanechnikov",
            Self::Cosine(_) => "cosine",
            Self::Sigmoid(_) => "sigmoid",
            Self::Custom(custom) => custom.name(),
            Self::Precomputed => "precomputed",
        }
    }

    /// Which scalar of a pair the kernel depends on; `None` for kernels that are not a function of one scalar.
    pub fn pairing(&self) -> Option<Pairing> {
        fn of<F: Formula>(_: &F) -> Pairing {
            F::PAIRING
        }
        with_formula!(self, formula => Some(of(formula)), else None)
    }

    /// Whether every Gram matrix is positive semi-definite (known from theory, not from the data).
    pub fn is_positive_definite(&self) -> bool {
        with_formula!(self, formula => formula.is_positive_definite(), else false)
    }

    /// Whether all values lie between zero and one.
    pub fn has_unit_range(&self) -> bool {
        fn of<F: Formula>(_: &F) -> bool {
            F::UNIT_RANGE
        }
        with_formula!(self, formula => of(formula), else false)
    }

    /// The parameters that the kernel can be differentiated by.
    pub fn parameters(&self) -> &'static [Parameter] {
        fn of<F: Formula>(_: &F) -> &'static [Parameter] {
            F::PARAMETERS
        }
        with_formula!(self, formula => of(formula), else &[])
    }

    /// The value of one of [`parameters`](Self::parameters), or `None` if the kernel has no such parameter.
    pub fn parameter(&self, parameter: Parameter) -> Option<f64> {
        if !self.parameters().contains(&parameter) {
            return None;
        }
        with_formula!(self, formula => Some(formula.parameter(parameter)), else None)
    }

    /// The same kernel with another value of one of its [`parameters`](Self::parameters).
    ///
    /// ```
    /// use mercer::kernel::{Kernel, Parameter};
    ///
    /// let wider = Kernel::gaussian(0.5)?.with(Parameter::Gamma, 0.125)?;
    /// assert_eq!(wider.parameter(Parameter::Gamma), Some(0.125));
    /// assert!(wider.with(Parameter::Coef0, 1.0).is_err());
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the kernel has no such parameter, or the value is out of its domain.
    pub fn with(&self, parameter: Parameter, value: f64) -> Result<Self> {
        let get = |wanted| {
            let own = self.parameter(wanted).unwrap_or(f64::NAN);
            if wanted == parameter { value } else { own }
        };
        if !self.parameters().contains(&parameter) {
            let requirement = format!("left out: the {} kernel has no such parameter", self.name());
            return Err(Error::invalid(parameter.name(), requirement, value));
        }
        let gamma = get(Parameter::Gamma);
        match self {
            Self::Polynomial(own) => Self::polynomial(gamma, get(Parameter::Coef0), own.degree()),
            Self::Gaussian(_) => Self::gaussian(gamma),
            Self::Laplacian(_) => Self::laplacian(gamma),
            Self::Exponential(_) => Self::exponential(gamma),
            Self::Matern32(_) => Self::matern32(gamma),
            Self::Matern52(_) => Self::matern52(gamma),
            Self::RationalQuadratic(_) => Self::rational_quadratic(gamma, get(Parameter::Alpha)),
            Self::Epanechnikov(_) => Self::epanechnikov(gamma),
            Self::Sigmoid(_) => Self::sigmoid(gamma, get(Parameter::Coef0)),
            Self::Linear(_) | Self::Cosine(_) | Self::Custom(_) | Self::Precomputed => {
                unreachable!("kernels without parameters were refused above")
            }
        }
    }

    /// The kernel's value where the scalar of the pair is `s`; NaN for kernels that are not a function of one scalar.
    pub fn value(&self, s: f64) -> f64 {
        with_formula!(self, formula => formula.value(s), else f64::NAN)
    }

    /// The derivative of [`value`](Self::value) with respect to `s`.
    pub fn slope(&self, s: f64) -> f64 {
        with_formula!(self, formula => formula.slope(s), else f64::NAN)
    }

    /// The derivative of [`value`](Self::value) with respect to a parameter, `None` if the kernel has no such parameter.
    ///
    /// ```
    /// use mercer::kernel::{Kernel, Parameter};
    ///
    /// let kernel = Kernel::gaussian(0.5)?;
    /// // d/dγ exp(-γ s) = -s exp(-γ s)
    /// assert_eq!(kernel.derivative(Parameter::Gamma, 4.0), Some(-4.0 * (-2.0_f64).exp()));
    /// assert_eq!(kernel.derivative(Parameter::Coef0, 4.0), None);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn derivative(&self, parameter: Parameter, s: f64) -> Option<f64> {
        if !self.parameters().contains(&parameter) {
            return None;
        }
        with_formula!(self, formula => Some(formula.derivative(parameter, s)), else None)
    }

    /// The kernel of one pair of points, computed directly in double precision.
    ///
    /// # Errors
    ///
    /// If the points have different lengths, the kernel is precomputed, or the user's function fails.
    pub fn evaluate(&self, x: &[f64], y: &[f64]) -> Result<f64> {
        if x.len() != y.len() {
            return Err(Error::FeatureMismatch { what: "the second point", expected: x.len(), found: y.len() });
        }
        match (self, self.pairing()) {
            (_, Some(pairing)) => Ok(self.value(pairing.of(x, y))),
            (Self::Custom(custom), None) => {
                let mut out = [0.0];
                custom.fill(x, y, x.len(), &mut out)?;
                Ok(out[0])
            }
            (kernel, None) => Err(Error::UnsuitableKernel {
                what: "evaluating a pair of points",
                kernel: kernel.name().to_owned(),
                reason: "its values are given, not computed",
            }),
        }
    }
}

#[cfg(test)]
mod tests;
