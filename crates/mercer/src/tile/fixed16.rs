//! Numbers between zero and one in 16-bit fixed point.
//!
//! Tiles are narrowed once and widened in every pass over them, so it is widening that has to be fast: sixteen bits are loaded, made
//! integers and then numbers in the lanes of the tile's precision, and multiplied once.

use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, MOST_LANES, Target};

/// What one is in fixed point.
pub(crate) const ONE: f64 = 65535.0;

/// Doubles between this and a third more are the whole numbers, whose last bits count from zero.
const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;

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
            // In double precision, where no half of a level is rounded away. Numbers from here on are whole, so that the sum is rounded to the nearest
            // level, which is its last bits: a conversion to integers would have to mind numbers that are none.
            debug_assert!((-0.49 / ONE..=1.0 + 0.49 / ONE).contains(&x.to_f64()), "a level for every number");
            *kept = (x.to_f64() * ONE + WHOLE).to_bits() as u16;
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
        assert_eq!(self.from.len(), self.to.len(), "a number for each that is kept");
        let count = <T::On<G> as Lanes>::COUNT;
        let (from, to) = (self.from.chunks_exact(count), self.to.chunks_exact_mut(count));
        let rest = from.remainder();
        for (kept, x) in from.zip(to) {
            widened::<T::On<G>>(kept).write(x);
        }
        // What does not fill a vector is widened in one all the same: a number must not depend on its place.
        let (mut kept, mut x) = ([0; MOST_LANES], [T::default(); MOST_LANES]);
        kept[..rest.len()].copy_from_slice(rest);
        widened::<T::On<G>>(&kept).write(&mut x);
        let place = self.to.len() - rest.len();
        self.to[place..].copy_from_slice(&x[..rest.len()]);
    }
}

/// The first integers of a slice as numbers, one in each lane.
#[inline(always)]
#[expect(unsafe_code, reason = "reads a whole vector of integers")]
fn widened<L: Lanes>(kept: &[u16]) -> L {
    let kept = &kept[..L::COUNT];
    // SAFETY: there are as many integers.
    let numbers = unsafe { L::load_u16(kept.as_ptr()) };
    numbers * L::constant(1.0 / ONE)
}
