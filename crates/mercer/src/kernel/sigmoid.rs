//! Sigmoid kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = \tanh(\gamma \langle x, y \rangle + c)$ with $\gamma > 0$ and `coef0` $c$; **not** positive semi-definite in general.
///
/// ```
/// use mercer::kernel::{Kernel, Sigmoid};
///
/// let kernel = Kernel::sigmoid(0.5, -1.0)?;
/// assert_eq!(kernel.value(4.0), 1.0_f64.tanh());
/// // The same by its type.
/// assert_eq!(Kernel::Sigmoid(Sigmoid::new(0.5, -1.0)?).value(4.0), 1.0_f64.tanh());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid {
    gamma: f64,
    coef0: f64,
}

impl Sigmoid {
    /// A sigmoid kernel.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number or `coef0` is not finite.
    pub fn new(gamma: f64, coef0: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Error::require_finite("coef0", coef0)?;
        Ok(Self { gamma, coef0 })
    }

    /// `1 - tanh²`, the derivative of the hyperbolic tangent.
    #[inline(always)]
    fn tanh_slope<L: Lanes>(&self, s: L) -> L {
        let t = self.value(s);
        L::constant(1.0) - t * t
    }
}

impl Formula for Sigmoid {
    const PAIRING: Pairing = Pairing::InnerProduct;
    const UNIT_RANGE: bool = false;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma, Parameter::Coef0];

    fn is_positive_definite(&self) -> bool {
        false
    }
    fn scale(&self) -> f64 {
        self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        (u + L::constant(self.coef0)).tanh()
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.tanh_slope(s) * L::constant(self.gamma)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, parameter: Parameter, s: L) -> L {
        match parameter {
            Parameter::Gamma => self.tanh_slope(s) * s,
            _ => self.tanh_slope(s),
        }
    }
    fn parameter(&self, parameter: Parameter) -> f64 {
        match parameter {
            Parameter::Gamma => self.gamma,
            _ => self.coef0,
        }
    }
}
