//! `f32` and `f64` as vectors of one lane: what makes a kernel's formula usable on single numbers.

use super::Lanes;

macro_rules! scalar_lanes {
    ($t:ident) => {
        #[expect(unsafe_code, reason = "the trait reads and writes through pointers")]
        impl Lanes for $t {
            type Elem = $t;
            const COUNT: usize = 1;
            const BLOCK_PANELS: usize = 1;
            const BLOCK_COLUMNS: usize = 1;
            const HAS_ROOM_FOR_FORMULA: bool = false;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                x
            }
            #[inline(always)]
            unsafe fn load(source: *const $t) -> Self {
                // SAFETY: the caller's promise.
                unsafe { source.read() }
            }
            #[inline(always)]
            unsafe fn load_u16(source: *const u16) -> Self {
                // SAFETY: the caller's promise.
                unsafe { source.read() }.into()
            }
            #[inline(always)]
            unsafe fn store(self, target: *mut $t) {
                // SAFETY: the caller's promise.
                unsafe { target.write(self) }
            }
            #[inline(always)]
            unsafe fn add_to_f64(self, target: *mut f64) {
                // SAFETY: the caller's promise.
                unsafe { *target += f64::from(self) }
            }
            #[inline(always)]
            fn interleave(self, other: Self) -> (Self, Self) {
                (self, other)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                self * factor + addend
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                $t::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                $t::min(self, other)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $t::abs(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
            #[inline(always)]
            fn low_bits_to_exponent(self) -> Self {
                $t::from_bits(self.to_bits() << ($t::MANTISSA_DIGITS - 1))
            }
            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                let e = (self * $t::sqrt(2.0)).log2().floor();
                (e, self / e.exp2())
            }
            // One number at a time the standard library is as fast and rounds better.
            #[inline(always)]
            fn exp2_nonpositive(self) -> Self {
                $t::exp2(self)
            }
            #[inline(always)]
            fn exp_nonpositive(self) -> Self {
                $t::exp(self)
            }
            #[inline(always)]
            fn ln_of_at_least_one(self) -> Self {
                $t::ln(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                $t::tanh(self)
            }
        }
    };
}

scalar_lanes!(f32);
scalar_lanes!(f64);
