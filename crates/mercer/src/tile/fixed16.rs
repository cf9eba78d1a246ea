//! Numbers between zero and one in 16-bit fixed point.

use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Target};

/// What one is in fixed point.
pub(crate) const ONE: f64 = 65535.0;

/// Rounds numbers between zero and one to fixed point.
pub(crate) fn narrow<T: Scalar>(isa: Isa, from: &[T], to: &mut [u16]) {
    isa.run(Narrow { from, to });
}

/// Turns fixed point back into numbers.
pub(crate) fn widen<T: Scalar>(isa: Isa, from: &[u16], to: &mut [T]) {
    isa.run(Widen { from, to });
}

struct Narrow<'a, T> {
    from: &'a [T],
    to: &'a mut [u16],
}

impl<T: Scalar> Job for Narrow<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<G: Target>(self) {
        for (kept, x) in self.to.iter_mut().zip(self.from) {
            // Through a signed integer: that conversion has an instruction.
            *kept = (x.to_f64() * ONE + 0.5) as i32 as u16;
        }
    }
}

struct Widen<'a, T> {
    from: &'a [u16],
    to: &'a mut [T],
}

impl<T: Scalar> Job for Widen<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<G: Target>(self) {
        for (x, &kept) in self.to.iter_mut().zip(self.from) {
            *x = T::from_f64(f64::from(kept) * (1.0 / ONE));
        }
    }
}
