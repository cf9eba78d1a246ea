//! Matérn kernels of order 3/2 and 5/2.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = (1 + a) e^{-a}$ with $a = \sqrt{3} \gamma \lVert x - y \rVert$ and $\gamma > 0$ (one over the length scale);
/// positive definite in every dimension, once differentiable.
///
/// ```
/// use mercer::kernel::{Kernel, Matern32};
///
/// let kernel = Kernel::matern32(0.5)?;
/// let a = 3.0_f64.sqrt() * 0.5 * 2.0;
/// assert!((kernel.evaluate(&[0.0], &[2.0])? - (1.0 + a) * (-a).exp()).abs() < 1e-15);
/// // The same by its type.
/// assert_eq!(Kernel::Matern32(Matern32::new(0.5)?).value(4.0), kernel.value(4.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matern32 {
    gamma: f64,
}

/// $k(x, y) = (1 + a + a^2/3) e^{-a}$ with $a = \sqrt{5} \gamma \lVert x - y \rVert$ and $\gamma > 0$ (one over the length scale);
/// positive definite in every dimension, twice differentiable.
///
/// ```
/// use mercer::kernel::{Kernel, Matern52};
///
/// let kernel = Kernel::matern52(0.5)?;
/// let a = 5.0_f64.sqrt() * 0.5 * 2.0;
/// let expected = (1.0 + a + a * a / 3.0) * (-a).exp();
/// assert!((kernel.evaluate(&[0.0], &[2.0])? - expected).abs() < 1e-15);
/// // The same by its type.
/// assert_eq!(Kernel::Matern52(Matern52::new(0.5)?).value(4.0), kernel.value(4.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matern52 {
    gamma: f64,
}

impl Matern32 {
    /// A Matérn kernel of order 3/2 and inverse length scale `gamma`.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number.
    pub fn new(gamma: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Ok(Self { gamma })
    }
}

impl Matern52 {
    /// A Matérn kernel of order 5/2 and inverse length scale `gamma`.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number.
    pub fn new(gamma: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Ok(Self { gamma })
    }
}

/// Where `e^-a` is zero in either precision, so that what it multiplies need not grow on: infinity times zero is not a number.
const VANISHED: f64 = 1e3;

/// `a` of the formulas above.
fn scaled_distance<L: Lanes>(order: f64, gamma: f64, s: L) -> L {
    s.sqrt() * L::constant(order.sqrt() * gamma)
}

/// `a` as a factor of `e^-a`. In this order, vectors pass on what is not a number.
#[inline(always)]
fn bounded<L: Lanes>(a: L) -> L {
    L::constant(VANISHED).min(a)
}

impl Formula for Matern32 {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        3.0 * self.gamma * self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        let a = u.sqrt();
        (bounded(a) + L::constant(1.0)) * (-a).exp_nonpositive()
    }
    // dk/da = -a e^-a and da/ds = 3 γ² / (2 a).
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        let a = scaled_distance(3.0, self.gamma, s);
        (-a).exp_nonpositive() * L::constant(-1.5 * self.gamma * self.gamma)
    }
    // da/dγ = a / γ.
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, s: L) -> L {
        let a = scaled_distance(3.0, self.gamma, s);
        let factor = bounded(a);
        factor * factor * (-a).exp_nonpositive() * L::constant(-1.0 / self.gamma)
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.gamma
    }
}

impl Formula for Matern52 {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        5.0 * self.gamma * self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        let a = u.sqrt();
        let factor = bounded(a);
        let polynomial = (factor * factor).mul_add(L::constant(1.0 / 3.0), factor + L::constant(1.0));
        polynomial * (-a).exp_nonpositive()
    }
    // dk/da = -(a + a²) e^-a / 3 and da/ds = 5 γ² / (2 a).
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        let a = scaled_distance(5.0, self.gamma, s);
        (bounded(a) + L::constant(1.0)) * (-a).exp_nonpositive() * L::constant(-5.0 / 6.0 * self.gamma * self.gamma)
    }
    // da/dγ = a / γ.
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, s: L) -> L {
        let a = scaled_distance(5.0, self.gamma, s);
        let factor = bounded(a);
        factor * factor * (factor + L::constant(1.0)) * (-a).exp_nonpositive() * L::constant(-1.0 / (3.0 * self.gamma))
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.gamma
    }
}
