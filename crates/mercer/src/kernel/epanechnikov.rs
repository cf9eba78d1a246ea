//! Epanechnikov kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::error::{Error, Result};
use crate::simd::Lanes;

/// $k(x, y) = \max(0, 1 - \gamma \lVert x - y \rVert^2)$ with $\gamma > 0$; compact support, **not** positive semi-definite in general.
///
/// ```
/// use mercer::kernel::{Epanechnikov, Kernel};
///
/// let kernel = Kernel::epanechnikov(0.25)?;
/// assert_eq!((kernel.value(1.0), kernel.value(9.0)), (0.75, 0.0));
/// // The same by its type.
/// assert_eq!(Kernel::Epanechnikov(Epanechnikov::new(0.25)?).value(1.0), 0.75);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epanechnikov {
    gamma: f64,
}

impl Epanechnikov {
    /// An Epanechnikov kernel of inverse width `gamma`.
    ///
    /// # Errors
    ///
    /// If `gamma` is not a positive number.
    pub fn new(gamma: f64) -> Result<Self> {
        Error::require_positive("gamma", gamma)?;
        Ok(Self { gamma })
    }

    /// One where the kernel is positive, zero where it has been cut off.
    #[inline(always)]
    fn inside<L: Lanes>(&self, s: L) -> L {
        let value = self.value(s);
        // Dividing a positive number by itself: the smallest normal number keeps zero from being divided by zero.
        value / value.max(L::constant(f64::from(f32::MIN_POSITIVE)))
    }
}

impl Formula for Epanechnikov {
    const PAIRING: Pairing = Pairing::SquaredDistance;
    const UNIT_RANGE: bool = true;
    const PARAMETERS: &'static [Parameter] = &[Parameter::Gamma];

    fn is_positive_definite(&self) -> bool {
        false
    }
    fn scale(&self) -> f64 {
        self.gamma
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        (L::constant(1.0) - u).max(L::constant(0.0))
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, s: L) -> L {
        self.inside(s) * L::constant(-self.gamma)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, s: L) -> L {
        -(self.inside(s) * s)
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.gamma
    }
}
