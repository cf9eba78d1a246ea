//! The scalar of a pair itself, as if it were a kernel: what searches for kernel parameters read tiles of.

use super::formula::{Formula, Pairing, Parameter};
use crate::simd::Lanes;

/// The scalar of a pair times `scale`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<const PAIRING: u8> {
    scale: f64,
}

/// Numbers that stand for pairings, because constants of types can be no more than that.
const PAIRINGS: [Pairing; 4] =
    [Pairing::InnerProduct, Pairing::SquaredDistance, Pairing::ManhattanDistance, Pairing::Cosine];

/// Runs an expression with the raw formula of a pairing.
macro_rules! with_raw {
    ($pairing:expr, $scale:expr, $formula:ident => $body:expr) => {
        match $pairing {
            $crate::kernel::Pairing::InnerProduct => {
                let $formula = $crate::kernel::Raw::<0>::new($scale);
                $body
            }
            $crate::kernel::Pairing::SquaredDistance => {
                let $formula = $crate::kernel::Raw::<1>::new($scale);
                $body
            }
            $crate::kernel::Pairing::ManhattanDistance => {
                let $formula = $crate::kernel::Raw::<2>::new($scale);
                $body
            }
            $crate::kernel::Pairing::Cosine => {
                let $formula = $crate::kernel::Raw::<3>::new($scale);
                $body
            }
        }
    };
}
pub(crate) use with_raw;

impl<const PAIRING: u8> Raw<PAIRING> {
    pub(crate) fn new(scale: f64) -> Self {
        Self { scale }
    }
}

impl<const PAIRING: u8> Formula for Raw<PAIRING> {
    const PAIRING: Pairing = PAIRINGS[PAIRING as usize];
    const UNIT_RANGE: bool = false;
    const PARAMETERS: &'static [Parameter] = &[];

    fn is_positive_definite(&self) -> bool {
        false
    }
    fn scale(&self) -> f64 {
        self.scale
    }
    #[inline(always)]
    fn shape<L: Lanes>(&self, u: L) -> L {
        u
    }
    #[inline(always)]
    fn slope<L: Lanes>(&self, _: L) -> L {
        L::constant(self.scale)
    }
    fn derivative<L: Lanes>(&self, _: Parameter, _: L) -> L {
        L::constant(0.0)
    }
    fn parameter(&self, _: Parameter) -> f64 {
        self.scale
    }
}
