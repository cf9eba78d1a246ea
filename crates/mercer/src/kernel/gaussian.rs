//! Gaussian kernel.

use std::f64::consts::LOG2_E;

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = \exp(-\gamma \lVert x - y \rVert^2)$ with $\gamma > 0$; positive definite in every dimension.
///
/// ```
/// use mercer::kernel::{Gaussian, Kernel};
///
/// let kernel = Kernel::gaussian(0.5)?;
/// // x = (0, 0), y = (0, 2): squared distance 4.
/// assert!((kernel.value(4.0) - (-2.0_f64).exp()).abs() < 1e-15);
/// // The same by its type.
/// assert_eq!(Kernel::Gaussian(Gaussian::new(0.5)?).value(4.0), kernel.value(4.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    gamma: f64,
}

impl Gaussian {
    /// A Gaussian kernel of inverse width `gamma`.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number.
    pub fn new(gamma: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Ok(Self { gamma })
    }
}

impl Formula for Gaussian {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        self.gamma * LOG2_E
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        self.shape_of_negative(-u)
    }
    #[inline(always)]
    fn shape_of_negative<L: Lanes>(&self, t: L) -> L {
        t.exp2_nonpositive()
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.value(s) * L::constant(-self.gamma)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, s: L) -> L {
        -(s * self.value(s))
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.gamma
    }
}
