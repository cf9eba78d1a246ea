//! Linear kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::simd::Lanes;

/// $k(x, y) = \langle x, y \rangle$: kernel PCA with it is ordinary PCA.
///
/// ```
/// assert_eq!(mercer::Kernel::linear().value(3.0), 3.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Linear;

impl Formula for Linear {
    const PAIRING: Pairing = Pairing::InnerProduct;
    const UNIT_RANGE: bool = false;
    const PARAMETERS: &'static [Parameter] = &[];

    fn is_positive_definite(&self) -> bool {
        true
    }
    fn scale(&self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        u
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, _: L) -> L {
        L::constant(1.0)
    }
    #[inline(always)]
    fn derivative<L: Lanes>(&self, _: Parameter, _: L) -> L {
        unreachable!("this kernel has no parameters")
    }
    fn parameter(&self, _: Parameter) -> f64 {
        unreachable!("this kernel has no parameters")
    }
}
