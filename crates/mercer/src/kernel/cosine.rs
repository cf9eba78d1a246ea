//! Cosine kernel.

use super::formula::{Formula, Pairing, Parameter};
use crate::simd::Lanes;

/// $k(x, y) = \langle x, y \rangle / (\lVert x \rVert \, \lVert y \rVert)$, zero if either point is zero; positive semi-definite.
///
/// ```
/// let kernel = mercer::Kernel::cosine();
/// assert!((kernel.evaluate(&[1.0, 0.0], &[1.0, 1.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-15);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cosine;

impl Formula for Cosine {
    const PAIRING: Pairing = Pairing::Cosine;
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
