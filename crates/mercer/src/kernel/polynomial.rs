//! Polynomial kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = (\gamma \langle x, y \rangle + c)^p$ with $\gamma > 0$, `degree` $p \ge 1$ and `coef0` $c$; positive semi-definite for $c \ge 0$.
///
/// ```
/// use mercer::kernel::{Kernel, Polynomial};
///
/// let kernel = Kernel::polynomial(0.5, 1.0, 3)?;
/// assert_eq!(kernel.value(4.0), 27.0);
/// // The same by its type.
/// let cubic = Polynomial::new(0.5, 1.0, 3)?;
/// assert_eq!((cubic.degree(), Kernel::Polynomial(cubic).value(4.0)), (3, 27.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polynomial {
    gamma: f64,
    coef0: f64,
    degree: u32,
}

impl Polynomial {
    /// A polynomial kernel.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number, `coef0` is not finite, or `degree` is zero.
    pub fn new(gamma: f64, coef0: f64, degree: u32) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Error::require_finite("coef0", coef0)?;
        if degree == 0 {
            return Err(Error::invalid("degree", "at least 1", degree));
        }
        Ok(Self { gamma, coef0, degree })
    }

    /// The power that the scaled inner product is raised to.
    pub fn degree(&self) -> u32 {
        self.degree
    }

    #[inline(always)]
    fn base<L: Lanes>(&self, s: L) -> L {
        s.mul_add(L::constant(self.gamma), L::constant(self.coef0))
    }

    /// The derivative of the power with respect to its base.
    #[inline(always)]
    fn power_slope<L: Lanes>(&self, s: L) -> L {
        self.base(s).powi(self.degree - 1) * L::constant(f64::from(self.degree))
    }
}

impl Formula for Polynomial {
    const PAIRING: Pairing = Pairing::InnerProduct;
    const UNIT_RANGE: bool = false;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma, Parameter::Coef0];

    fn is_positive_definite(&self) -> bool {
        self.coef0 >= 0.0
    }
    fn scale(&self) -> f64 {
        self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        (u + L::constant(self.coef0)).powi(self.degree)
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.power_slope(s) * L::constant(self.gamma)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, parameter: Parameter, s: L) -> L {
        match parameter {
            Parameter::Gamma => self.power_slope(s) * s,
            _ => self.power_slope(s),
        }
    }
    fn parameter(&self, parameter: Parameter) -> f64 {
        match parameter {
            Parameter::Gamma => self.gamma,
            _ => self.coef0,
        }
    }
}
