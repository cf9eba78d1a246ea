//! AVX2 with FMA: 256-bit vectors.
#![expect(unsafe_code, reason = "intrinsics; reached only through `Isa::run`, which asked the processor")]

#[allow(clippy::wildcard_imports, reason = "the names say where they come from")]
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{ByteLanes, Job, Lanes, Target};

/// AVX2 with FMA: 256-bit vectors.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

impl Target for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type Bytes = Bytes;
    const IS_FUSED: bool = true;
}

/// Runs `job` with the instruction set switched on.
///
/// # Safety
///
/// The processor must have the features named below.
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run<J: Job>(job: J) -> J::Output {
    job.run::<Avx2>()
}

/// 8 lanes of `f32`.
#[derive(Clone, Copy)]
pub(crate) struct F32x8(__m256);

// SAFETY (all intrinsics below): values of this type are made only inside `Isa::run`.
impl Add for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm256_add_ps(self.0, other.0) })
    }
}
impl Sub for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm256_sub_ps(self.0, other.0) })
    }
}
impl Mul for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm256_mul_ps(self.0, other.0) })
    }
}
impl Div for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(unsafe { _mm256_div_ps(self.0, other.0) })
    }
}
impl Neg for F32x8 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(unsafe { _mm256_sub_ps(_mm256_setzero_ps(), self.0) })
    }
}

impl Lanes for F32x8 {
    type Elem = f32;
    const COUNT: usize = 8;
    const BLOCK_PANELS: usize = 2;
    const BLOCK_COLUMNS: usize = 6;
    const HAS_ROOM_FOR_FORMULA: bool = false;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(unsafe { _mm256_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        Self(unsafe { _mm256_loadu_ps(source) })
    }
    #[inline(always)]
    unsafe fn load_u16(source: *const u16) -> Self {
        Self(unsafe { _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_loadu_si128(source.cast()))) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        unsafe { _mm256_storeu_ps(target, self.0) }
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, target: *mut f64) {
        unsafe {
            let low = _mm256_cvtps_pd(_mm256_castps256_ps128(self.0));
            let high = _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(self.0));
            let second = target.add(4);
            _mm256_storeu_pd(target, _mm256_add_pd(_mm256_loadu_pd(target), low));
            _mm256_storeu_pd(second, _mm256_add_pd(_mm256_loadu_pd(second), high));
        }
    }
    #[inline(always)]
    fn four_sums([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        unsafe {
            // Halves of the sums of a, b, c and d side by side, twice.
            let halves = _mm256_hadd_ps(_mm256_hadd_ps(a.0, b.0), _mm256_hadd_ps(c.0, d.0));
            let whole = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
            _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_cvtps_pd(whole));
        }
        sums
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        unsafe {
            // Of each half of 128 bits the first lanes, and the last.
            let (low, high) = (_mm256_unpacklo_ps(self.0, other.0), _mm256_unpackhi_ps(self.0, other.0));
            (Self(_mm256_permute2f128_ps::<0x20>(low, high)), Self(_mm256_permute2f128_ps::<0x31>(low, high)))
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm256_fmadd_ps(self.0, factor.0, addend.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm256_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm256_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm256_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        unsafe {
            let mask = _mm256_set1_ps(-0.0);
            Self(_mm256_or_ps(_mm256_andnot_ps(mask, self.0), _mm256_and_ps(mask, sign.0)))
        }
    }
    #[inline(always)]
    fn low_bits_to_exponent(self) -> Self {
        Self(unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_castps_si256(self.0))) })
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        // Counted from the bits of sqrt(1/2), whole multiples of the exponent's unit are `e`.
        unsafe {
            let bits = _mm256_castps_si256(self.0);
            let above = _mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f35_04f3_u32.cast_signed()));
            let e = _mm256_srli_epi32::<23>(above);
            let m = _mm256_sub_epi32(bits, _mm256_slli_epi32::<23>(e));
            // `e` in the low bits of 2^23 is the number 2^23 + e.
            let e = _mm256_castsi256_ps(_mm256_or_si256(e, _mm256_set1_epi32(0x4b00_0000)));
            let e = _mm256_sub_ps(e, _mm256_set1_ps(8_388_608.0));
            (Self(e), Self(_mm256_castsi256_ps(m)))
        }
    }
}

/// 4 lanes of `f64`.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(__m256d);

// SAFETY (all intrinsics below): values of this type are made only inside `Isa::run`.
impl Add for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm256_add_pd(self.0, other.0) })
    }
}
impl Sub for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm256_sub_pd(self.0, other.0) })
    }
}
impl Mul for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm256_mul_pd(self.0, other.0) })
    }
}
impl Div for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(unsafe { _mm256_div_pd(self.0, other.0) })
    }
}
impl Neg for F64x4 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(unsafe { _mm256_sub_pd(_mm256_setzero_pd(), self.0) })
    }
}

impl Lanes for F64x4 {
    type Elem = f64;
    const COUNT: usize = 4;
    const BLOCK_PANELS: usize = 2;
    const BLOCK_COLUMNS: usize = 6;
    const HAS_ROOM_FOR_FORMULA: bool = false;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self(unsafe { _mm256_set1_pd(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const f64) -> Self {
        Self(unsafe { _mm256_loadu_pd(source) })
    }
    #[inline(always)]
    unsafe fn load_u16(source: *const u16) -> Self {
        Self(unsafe { _mm256_cvtepi32_pd(_mm_cvtepu16_epi32(_mm_loadl_epi64(source.cast()))) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f64) {
        unsafe { _mm256_storeu_pd(target, self.0) }
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, target: *mut f64) {
        unsafe { _mm256_storeu_pd(target, _mm256_add_pd(_mm256_loadu_pd(target), self.0)) }
    }
    #[inline(always)]
    fn four_sums([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        unsafe {
            let (ab, cd) = (_mm256_hadd_pd(a.0, b.0), _mm256_hadd_pd(c.0, d.0));
            let (low, high) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
            _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_add_pd(low, high));
        }
        sums
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        unsafe {
            // Of each half of 128 bits the first lanes, and the last.
            let (low, high) = (_mm256_unpacklo_pd(self.0, other.0), _mm256_unpackhi_pd(self.0, other.0));
            (Self(_mm256_permute2f128_pd::<0x20>(low, high)), Self(_mm256_permute2f128_pd::<0x31>(low, high)))
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm256_fmadd_pd(self.0, factor.0, addend.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm256_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm256_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm256_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        unsafe {
            let mask = _mm256_set1_pd(-0.0);
            Self(_mm256_or_pd(_mm256_andnot_pd(mask, self.0), _mm256_and_pd(mask, sign.0)))
        }
    }
    #[inline(always)]
    fn low_bits_to_exponent(self) -> Self {
        Self(unsafe { _mm256_castsi256_pd(_mm256_slli_epi64::<52>(_mm256_castpd_si256(self.0))) })
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        // Counted from the bits of sqrt(1/2), whole multiples of the exponent's unit are `e`.
        unsafe {
            let bits = _mm256_castpd_si256(self.0);
            let above = _mm256_sub_epi64(bits, _mm256_set1_epi64x(0x3fe6_a09e_667f_3bcd_u64.cast_signed()));
            let e = _mm256_srli_epi64::<52>(above);
            let m = _mm256_sub_epi64(bits, _mm256_slli_epi64::<52>(e));
            // `e` in the low bits of 2^52 is the number 2^52 + e.
            let e = _mm256_castsi256_pd(_mm256_or_si256(e, _mm256_set1_epi64x(0x4330_0000_0000_0000)));
            let e = _mm256_sub_pd(e, _mm256_set1_pd(4_503_599_627_370_496.0));
            (Self(e), Self(_mm256_castsi256_pd(m)))
        }
    }
}

/// Eight rows of bytes, in pairs of features, as 16-bit integers.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(__m256i);

impl ByteLanes for Bytes {
    type Floats = F32x8;
    const GROUP: usize = 2;
    const BIAS: i32 = 0;

    #[inline(always)]
    fn zero() -> Self {
        Self(unsafe { _mm256_setzero_si256() })
    }
    #[inline(always)]
    fn splat(x: i32) -> Self {
        Self(unsafe { _mm256_set1_epi32(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const i32) -> Self {
        Self(unsafe { _mm256_loadu_si256(source.cast()) })
    }
    #[inline(always)]
    fn word(group: &[u8]) -> i32 {
        i32::from(group[0]) | (i32::from(group[1]) << 16)
    }
    #[inline(always)]
    fn words(first: &[u8], second: &[u8], skip: usize, _: usize, words: &mut [i32]) {
        // Two bytes of each of eight rows are one number, so that rows are skipped by a shift.
        let pairs = |panel: &[u8]| u128::from_le_bytes(panel[..16].try_into().expect("sixteen bytes"));
        let skip = 16 * skip as u32;
        let window = (pairs(first) >> skip) | pairs(second).checked_shl(128 - skip).unwrap_or(0);
        let words: &mut [i32; 8] = words.first_chunk_mut().expect("room for a vector");
        unsafe {
            let window = _mm_loadu_si128((&raw const window).cast());
            _mm256_storeu_si256(words.as_mut_ptr().cast(), _mm256_cvtepu8_epi16(window));
        }
    }
    #[inline(always)]
    unsafe fn dot(self, rows: *const u8, word: i32) -> Self {
        unsafe {
            let rows = _mm256_cvtepu8_epi16(_mm_loadu_si128(rows.cast()));
            let products = _mm256_madd_epi16(rows, _mm256_set1_epi32(word));
            Self(_mm256_add_epi32(self.0, products))
        }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm256_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm256_sub_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn to_floats(self) -> F32x8 {
        F32x8(unsafe { _mm256_cvtepi32_ps(self.0) })
    }
}
