//! Several vectors as one long vector.
//!
//! A formula is a chain of operations that wait for one another. Written over several vectors at once, each operation
//! is offered to the compiler for all of them before the next, so that the processor has independent work.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Lanes;

/// `N` vectors that are operated on in step.
#[derive(Clone, Copy)]
pub(crate) struct Several<L, const N: usize>(pub(crate) [L; N]);

impl<L: Lanes, const N: usize> Several<L, N> {
    // Loops and not the methods of arrays: the compiler may call those instead of writing them out, and they are not compiled with the
    // instruction set of their caller.
    #[inline(always)]
    fn map(mut self, f: impl Fn(L) -> L) -> Self {
        for a in &mut self.0 {
            *a = f(*a);
        }
        self
    }

    #[inline(always)]
    fn split(self, f: impl Fn(L) -> (L, L)) -> (Self, Self) {
        let (mut first, mut second) = (self, self);
        for (i, &a) in self.0.iter().enumerate() {
            (first.0[i], second.0[i]) = f(a);
        }
        (first, second)
    }

    #[inline(always)]
    fn zip(mut self, other: Self, f: impl Fn(L, L) -> L) -> Self {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a = f(*a, b);
        }
        self
    }
}

impl<L: Lanes, const N: usize> Add for Several<L, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl<L: Lanes, const N: usize> Sub for Several<L, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl<L: Lanes, const N: usize> Mul for Several<L, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

impl<L: Lanes, const N: usize> Div for Several<L, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }
}

impl<L: Lanes, const N: usize> Neg for Several<L, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

#[expect(unsafe_code, reason = "the trait reads and writes through pointers")]
impl<L: Lanes, const N: usize> Lanes for Several<L, N> {
    type Elem = L::Elem;
    const COUNT: usize = N * L::COUNT;
    const BLOCK_PANELS: usize = 1;
    const BLOCK_COLUMNS: usize = 1;
    const HAS_ROOM_FOR_FORMULA: bool = false;

    #[inline(always)]
    fn splat(x: L::Elem) -> Self {
        Self([L::splat(x); N])
    }
    #[inline(always)]
    unsafe fn load(source: *const L::Elem) -> Self {
        let mut vectors = Self::constant(0.0);
        for (i, vector) in vectors.0.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *vector = unsafe { L::load(source.add(i * L::COUNT)) };
        }
        vectors
    }
    #[inline(always)]
    unsafe fn load_u16(source: *const u16) -> Self {
        let mut vectors = Self::constant(0.0);
        for (i, vector) in vectors.0.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *vector = unsafe { L::load_u16(source.add(i * L::COUNT)) };
        }
        vectors
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut L::Elem) {
        for (i, vector) in self.0.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { vector.store(target.add(i * L::COUNT)) };
        }
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, target: *mut f64) {
        for (i, vector) in self.0.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { vector.add_to_f64(target.add(i * L::COUNT)) };
        }
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        let (mut first, mut second) = (self, self);
        for i in 0..N {
            let (low, high) = self.0[i].interleave(other.0[i]);
            for (place, vector) in [(2 * i, low), (2 * i + 1, high)] {
                if place < N { first.0[place] = vector } else { second.0[place - N] = vector }
            }
        }
        (first, second)
    }
    #[inline(always)]
    fn mul_add(mut self, factor: Self, addend: Self) -> Self {
        for i in 0..N {
            self.0[i] = self.0[i].mul_add(factor.0[i], addend.0[i]);
        }
        self
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, L::max)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, L::min)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(L::abs)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(L::sqrt)
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        self.zip(sign, L::copysign)
    }
    #[inline(always)]
    fn low_bits_to_exponent(self) -> Self {
        self.map(L::low_bits_to_exponent)
    }
    #[inline(always)]
    fn split_power(self) -> (Self, Self) {
        self.split(L::split_power)
    }
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        self.zip(n, L::times_power)
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        self.split(L::split_exponent)
    }
}
