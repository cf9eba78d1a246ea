//! Exponential kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = \exp(-\gamma \lVert x - y \rVert)$ with $\gamma > 0$, the Matérn kernel of order 1/2; positive definite in every dimension.
///
/// As a function of the distance it has a corner at zero, so its slope in the squared distance is infinite there. In single
/// precision that turns the rounding of squared distances, about 1e-7 of the points' squared spread, into errors of 3e-4 of `gamma` times
/// the spread for points that are nearly equal; use double precision where those matter.
///
/// ```
/// use mercer::kernel::{Exponential, Kernel};
///
/// let kernel = Kernel::exponential(0.5)?;
/// // x = (0, 0), y = (0, 4): distance 4.
/// assert_eq!(kernel.evaluate(&[0.0, 0.0], &[0.0, 4.0])?, (-2.0_f64).exp());
/// // The same by its type.
/// assert_eq!(Kernel::Exponential(Exponential::new(0.5)?).value(16.0), kernel.value(16.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    gamma: f64,
}

impl Exponential {
    /// An exponential kernel of inverse width `gamma`.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number.
    pub fn new(gamma: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Ok(Self { gamma })
    }
}

impl Formula for Exponential {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        self.gamma * self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        (-u.sqrt()).exp_nonpositive()
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.value(s) * L::constant(-0.5 * self.gamma) / s.sqrt()
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, s: L) -> L {
        -(s.sqrt() * self.value(s))
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.gamma
    }
}
