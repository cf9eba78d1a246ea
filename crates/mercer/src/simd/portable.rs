//! Plain arrays: what every machine can run, and what the others are tested against.
//!
//! The loops over a constant number of lanes are vectorised by the compiler for the baseline instruction set.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{ByteLanes, Lanes, Target};

/// No special instructions.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Target for Portable {
    type F32 = F32x4;
    type F64 = F64x2;
    type Bytes = Bytes;
    const IS_FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

macro_rules! array_lanes {
    ($name:ident, $t:ident, $count:literal, $half:expr) => {
        /// A vector as an array.
        #[derive(Clone, Copy)]
        pub(crate) struct $name([$t; $count]);

        impl $name {
            #[inline(always)]
            fn map(self, f: impl Fn($t) -> $t) -> Self {
                Self(self.0.map(f))
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($t, $t) -> $t) -> Self {
                Self(std::array::from_fn(|lane| f(self.0[lane], other.0[lane])))
            }
        }

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.zip(other, |a, b| a - b)
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self.zip(other, |a, b| a / b)
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.map(|a| -a)
            }
        }

        #[expect(unsafe_code, reason = "the trait reads and writes through pointers")]
        impl Lanes for $name {
            type Elem = $t;
            const COUNT: usize = $count;
            const BLOCK_PANELS: usize = 2;
            const BLOCK_COLUMNS: usize = 6;
            const HAS_ROOM_FOR_FORMULA: bool = false;

            #[inline(always)]
            fn splat(x: $t) -> Self {
                Self([x; $count])
            }
            #[inline(always)]
            unsafe fn load(source: *const $t) -> Self {
                // SAFETY: the caller's promise; an array of numbers has their alignment.
                Self(unsafe { source.cast::<[$t; $count]>().read() })
            }
            #[inline(always)]
            unsafe fn load_u16(source: *const u16) -> Self {
                // SAFETY: as above.
                Self(unsafe { source.cast::<[u16; $count]>().read() }.map($t::from))
            }
            #[inline(always)]
            unsafe fn store(self, target: *mut $t) {
                // SAFETY: as above.
                unsafe { target.cast::<[$t; $count]>().write(self.0) }
            }
            #[inline(always)]
            unsafe fn add_to_f64(self, target: *mut f64) {
                // SAFETY: as above.
                let sums = unsafe { &mut *target.cast::<[f64; $count]>() };
                for (sum, x) in sums.iter_mut().zip(self.0) {
                    *sum += f64::from(x);
                }
            }
            #[inline(always)]
            fn interleave(self, other: Self) -> (Self, Self) {
                let (mut first, mut second) = (self, self);
                for lane in 0..$count {
                    let from = if lane % 2 == 0 { &self.0 } else { &other.0 };
                    first.0[lane] = from[lane / 2];
                    second.0[lane] = from[($count + lane) / 2];
                }
                (first, second)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, addend: Self) -> Self {
                // Where the baseline has no such instruction, `f32::mul_add` is a call to a slow library function.
                if Portable::IS_FUSED {
                    Self(std::array::from_fn(|lane| self.0[lane].mul_add(factor.0[lane], addend.0[lane])))
                } else {
                    self * factor + addend
                }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.map($t::abs)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map($t::sqrt)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                self.zip(sign, $t::copysign)
            }
            #[inline(always)]
            fn low_bits_to_exponent(self) -> Self {
                self.map(|x| $t::from_bits(x.to_bits() << ($t::MANTISSA_DIGITS - 1)))
            }
            #[inline(always)]
            fn split_exponent(self) -> (Self, Self) {
                const SHIFT: u32 = $t::MANTISSA_DIGITS - 1;
                let half = $half.to_bits();
                let e = self.map(|x| ((x.to_bits() - half) >> SHIFT) as $t);
                let m = self.map(|x| $t::from_bits(x.to_bits() - (((x.to_bits() - half) >> SHIFT) << SHIFT)));
                (e, m)
            }
        }
    };
}

array_lanes!(F32x4, f32, 4, std::f32::consts::FRAC_1_SQRT_2);
array_lanes!(F64x2, f64, 2, std::f64::consts::FRAC_1_SQRT_2);

/// Four rows of bytes, in pairs of features.
#[derive(Clone, Copy)]
pub(crate) struct Bytes([i32; 4]);

impl ByteLanes for Bytes {
    type Floats = F32x4;
    const GROUP: usize = 2;
    const BIAS: i32 = 0;

    #[inline(always)]
    fn zero() -> Self {
        Self([0; 4])
    }
    #[inline(always)]
    fn splat(x: i32) -> Self {
        Self([x; 4])
    }
    #[inline(always)]
    #[expect(unsafe_code, reason = "the trait reads through a pointer")]
    unsafe fn load(source: *const i32) -> Self {
        // SAFETY: the caller's promise.
        Self(unsafe { source.cast::<[i32; 4]>().read() })
    }
    #[inline(always)]
    fn word(group: &[u8]) -> i32 {
        i32::from(group[0]) | (i32::from(group[1]) << 16)
    }
    #[inline(always)]
    #[expect(unsafe_code, reason = "the trait reads through a pointer")]
    unsafe fn dot(self, rows: *const u8, word: i32) -> Self {
        // SAFETY: the caller's promise: two bytes for each of the four rows.
        let rows = unsafe { rows.cast::<[[u8; 2]; 4]>().read() };
        let (first, second) = (word & 0xffff, word >> 16);
        Self(std::array::from_fn(|lane| {
            self.0[lane] + i32::from(rows[lane][0]) * first + i32::from(rows[lane][1]) * second
        }))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_add(other.0[lane])))
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(std::array::from_fn(|lane| self.0[lane].wrapping_sub(other.0[lane])))
    }
    #[inline(always)]
    fn to_floats(self) -> F32x4 {
        F32x4(self.0.map(|x| x as f32))
    }
}
