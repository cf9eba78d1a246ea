//! Rational quadratic kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = (1 + \gamma \lVert x - y \rVert^2 / \alpha)^{-\alpha}$ with $\gamma, \alpha > 0$: a mixture of Gaussians of all widths, the Gaussian itself for $\alpha \to \infty$; positive definite in every dimension.
///
/// ```
/// use mercer::kernel::{Kernel, RationalQuadratic};
///
/// let kernel = Kernel::rational_quadratic(0.5, 2.0)?;
/// assert!((kernel.value(4.0) - 0.25).abs() < 1e-15);
/// // The same by its type.
/// assert_eq!(Kernel::RationalQuadratic(RationalQuadratic::new(0.5, 2.0)?).value(4.0), kernel.value(4.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RationalQuadratic {
    gamma: f64,
    alpha: f64,
}

impl RationalQuadratic {
    /// A rational quadratic kernel of inverse width `gamma` and tail exponent `alpha`.
    ///
    /// # Errors
    ///
    /// If `gamma` or `alpha` is not a positive number.
    pub fn new(gamma: f64, alpha: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Error::require_positive("alpha", alpha)?;
        Ok(Self { gamma, alpha })
    }

    #[inline(always)]
    fn base<L: Lanes>(&self, s: L) -> L {
        s.mul_add(L::constant(self.gamma / self.alpha), L::constant(1.0))
    }

    #[inline(always)]
    fn log_base<L: Lanes>(&self, s: L) -> L {
        self.base(s).ln_of_at_least_one()
    }
}

impl Formula for RationalQuadratic {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma, Parameter::Alpha];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        self.gamma / self.alpha
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        ((u + L::constant(1.0)).ln_of_at_least_one() * L::constant(-self.alpha)).exp_nonpositive()
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.value(s) * L::constant(-self.gamma) / self.base(s)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, parameter: Parameter, s: L) -> L {
        if parameter == Parameter::Gamma {
            return -(s * self.value(s)) / self.base(s);
        }
        // d/dα of exp(-α ln(1 + γ s/α)).
        let share = s * L::constant(self.gamma / self.alpha) / self.base(s);
        self.value(s) * (share - self.log_base(s))
    }
    fn parameter(&self, parameter: Parameter) -> f64 {
        match parameter {
            Parameter::Gamma => self.gamma,
            _ => self.alpha,
        }
    }
}
