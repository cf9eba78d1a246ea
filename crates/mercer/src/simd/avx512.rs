//! AVX-512 with VNNI: 512-bit vectors.
#![expect(unsafe_code, reason = "intrinsics; reached only through `Isa::run`, which asked the processor")]

#[allow(clippy::wildcard_imports, reason = "the names say where they come from")]
use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{ByteLanes, Job, Lanes, Target};

/// AVX-512 with VNNI: 512-bit vectors.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

impl Target for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type Bytes = Bytes;
    const IS_FUSED: bool = true;
}

/// Runs `job` with the instruction set switched on.
///
/// # Safety
///
/// The processor must have the features named below.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")]
pub(super) unsafe fn run<J: Job>(job: J) -> J::Output {
    job.run::<Avx512>()
}

/// 16 lanes of `f32`.
#[derive(Clone, Copy)]
pub(crate) struct F32x16(__m512);

// SAFETY (all intrinsics below): values of this type are made only inside `Isa::run`.
impl Add for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_ps(self.0, other.0) })
    }
}
impl Sub for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_ps(self.0, other.0) })
    }
}
impl Mul for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, other.0) })
    }
}
impl Div for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(unsafe { _mm512_div_ps(self.0, other.0) })
    }
}
impl Neg for F32x16 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(unsafe { _mm512_sub_ps(_mm512_setzero_ps(), self.0) })
    }
}

impl Lanes for F32x16 {
    type Elem = f32;
    const COUNT: usize = 16;
    const BLOCK_PANELS: usize = 3;
    const BLOCK_COLUMNS: usize = 8;
    const HAS_ROOM_FOR_FORMULA: bool = true;

    #[inline(always)]
    fn splat(x: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(source) })
    }
    #[inline(always)]
    unsafe fn load_u16(source: *const u16) -> Self {
        Self(unsafe { _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_loadu_si256(source.cast()))) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        unsafe { _mm512_storeu_ps(target, self.0) }
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, target: *mut f64) {
        unsafe {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(self.0));
            let high = _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(self.0));
            let second = target.add(8);
            _mm512_storeu_pd(target, _mm512_add_pd(_mm512_loadu_pd(target), low));
            _mm512_storeu_pd(second, _mm512_add_pd(_mm512_loadu_pd(second), high));
        }
    }
    #[inline(always)]
    fn four_sums(vectors: [Self; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        unsafe {
            let mut halves = [_mm256_setzero_ps(); 4];
            for (half, vector) in halves.iter_mut().zip(vectors) {
                *half = _mm256_add_ps(_mm512_castps512_ps256(vector.0), _mm512_extractf32x8_ps::<1>(vector.0));
            }
            // Halves of the sums of all four side by side, twice.
            let [a, b, c, d] = halves;
            let halves = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
            let whole = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
            _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_cvtps_pd(whole));
        }
        sums
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        unsafe {
            let first = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
            let second = _mm512_add_epi32(first, _mm512_set1_epi32(8));
            (
                Self(_mm512_permutex2var_ps(self.0, first, other.0)),
                Self(_mm512_permutex2var_ps(self.0, second, other.0)),
            )
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(self.0, factor.0, addend.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm512_min_ps(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm512_abs_ps(self.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        unsafe {
            let mask = _mm512_set1_ps(-0.0);
            Self(_mm512_or_ps(_mm512_andnot_ps(mask, self.0), _mm512_and_ps(mask, sign.0)))
        }
    }
    #[inline(always)]
    fn low_bits_to_exponent(self) -> Self {
        Self(unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<23>(_mm512_castps_si512(self.0))) })
    }
    #[inline(always)]
    fn split_power(self) -> (Self, Self) {
        // What is left of a number after it is rounded to a whole one is one instruction.
        unsafe {
            let r = _mm512_reduce_ps::<0>(self.0);
            (Self(_mm512_sub_ps(self.0, r)), Self(r))
        }
    }
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        unsafe {
            let is_normal = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(n.0, _mm512_set1_ps(-127.0));
            Self(_mm512_maskz_scalef_ps(is_normal, self.0, n.0))
        }
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        // Counted from the bits of sqrt(1/2), whole multiples of the exponent's unit are `e`.
        unsafe {
            let bits = _mm512_castps_si512(self.0);
            let above = _mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f35_04f3_u32.cast_signed()));
            let e = _mm512_srli_epi32::<23>(above);
            let m = _mm512_sub_epi32(bits, _mm512_slli_epi32::<23>(e));
            // `e` in the low bits of 2^23 is the number 2^23 + e.
            let e = _mm512_castsi512_ps(_mm512_or_si512(e, _mm512_set1_epi32(0x4b00_0000)));
            let e = _mm512_sub_ps(e, _mm512_set1_ps(8_388_608.0));
            (Self(e), Self(_mm512_castsi512_ps(m)))
        }
    }
}

/// 8 lanes of `f64`.
#[derive(Clone, Copy)]
pub(crate) struct F64x8(__m512d);

// SAFETY (all intrinsics below): values of this type are made only inside `Isa::run`.
impl Add for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_pd(self.0, other.0) })
    }
}
impl Sub for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_pd(self.0, other.0) })
    }
}
impl Mul for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(unsafe { _mm512_mul_pd(self.0, other.0) })
    }
}
impl Div for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        Self(unsafe { _mm512_div_pd(self.0, other.0) })
    }
}
impl Neg for F64x8 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(unsafe { _mm512_sub_pd(_mm512_setzero_pd(), self.0) })
    }
}

impl Lanes for F64x8 {
    type Elem = f64;
    const COUNT: usize = 8;
    const BLOCK_PANELS: usize = 3;
    const BLOCK_COLUMNS: usize = 8;
    const HAS_ROOM_FOR_FORMULA: bool = true;

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self(unsafe { _mm512_set1_pd(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const f64) -> Self {
        Self(unsafe { _mm512_loadu_pd(source) })
    }
    #[inline(always)]
    unsafe fn load_u16(source: *const u16) -> Self {
        Self(unsafe { _mm512_cvtepi32_pd(_mm256_cvtepu16_epi32(_mm_loadu_si128(source.cast()))) })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f64) {
        unsafe { _mm512_storeu_pd(target, self.0) }
    }
    #[inline(always)]
    unsafe fn add_to_f64(self, target: *mut f64) {
        unsafe { _mm512_storeu_pd(target, _mm512_add_pd(_mm512_loadu_pd(target), self.0)) }
    }
    #[inline(always)]
    fn four_sums(vectors: [Self; 4]) -> [f64; 4] {
        let mut sums = [0.0; 4];
        unsafe {
            let mut halves = [_mm256_setzero_pd(); 4];
            for (half, vector) in halves.iter_mut().zip(vectors) {
                *half = _mm256_add_pd(_mm512_castpd512_pd256(vector.0), _mm512_extractf64x4_pd::<1>(vector.0));
            }
            let [a, b, c, d] = halves;
            let (ab, cd) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
            let (low, high) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
            _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_add_pd(low, high));
        }
        sums
    }
    #[inline(always)]
    fn interleave(self, other: Self) -> (Self, Self) {
        unsafe {
            let first = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
            let second = _mm512_add_epi64(first, _mm512_set1_epi64(4));
            (
                Self(_mm512_permutex2var_pd(self.0, first, other.0)),
                Self(_mm512_permutex2var_pd(self.0, second, other.0)),
            )
        }
    }
    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Self(unsafe { _mm512_fmadd_pd(self.0, factor.0, addend.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self(unsafe { _mm512_max_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self(unsafe { _mm512_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(unsafe { _mm512_abs_pd(self.0) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(unsafe { _mm512_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        unsafe {
            let mask = _mm512_set1_pd(-0.0);
            Self(_mm512_or_pd(_mm512_andnot_pd(mask, self.0), _mm512_and_pd(mask, sign.0)))
        }
    }
    #[inline(always)]
    fn low_bits_to_exponent(self) -> Self {
        Self(unsafe { _mm512_castsi512_pd(_mm512_slli_epi64::<52>(_mm512_castpd_si512(self.0))) })
    }
    #[inline(always)]
    fn split_power(self) -> (Self, Self) {
        // What is left of a number after it is rounded to a whole one is one instruction.
        unsafe {
            let r = _mm512_reduce_pd::<0>(self.0);
            (Self(_mm512_sub_pd(self.0, r)), Self(r))
        }
    }
    #[inline(always)]
    fn times_power(self, n: Self) -> Self {
        unsafe {
            let is_normal = _mm512_cmp_pd_mask::<_CMP_GT_OQ>(n.0, _mm512_set1_pd(-1023.0));
            Self(_mm512_maskz_scalef_pd(is_normal, self.0, n.0))
        }
    }
    #[inline(always)]
    fn split_exponent(self) -> (Self, Self) {
        // Counted from the bits of sqrt(1/2), whole multiples of the exponent's unit are `e`.
        unsafe {
            let bits = _mm512_castpd_si512(self.0);
            let above = _mm512_sub_epi64(bits, _mm512_set1_epi64(0x3fe6_a09e_667f_3bcd_u64.cast_signed()));
            let e = _mm512_srli_epi64::<52>(above);
            let m = _mm512_sub_epi64(bits, _mm512_slli_epi64::<52>(e));
            // `e` in the low bits of 2^52 is the number 2^52 + e.
            let e = _mm512_castsi512_pd(_mm512_or_si512(e, _mm512_set1_epi64(0x4330_0000_0000_0000)));
            let e = _mm512_sub_pd(e, _mm512_set1_pd(4_503_599_627_370_496.0));
            (Self(e), Self(_mm512_castsi512_pd(m)))
        }
    }
}

/// Sixteen rows of bytes, in groups of four features.
///
/// The instruction multiplies unsigned with signed bytes, so the second operand is lowered by 128.
#[derive(Clone, Copy)]
pub(crate) struct Bytes(__m512i);

impl ByteLanes for Bytes {
    type Floats = F32x16;
    const GROUP: usize = 4;
    const BIAS: i32 = 128;

    #[inline(always)]
    fn zero() -> Self {
        Self(unsafe { _mm512_setzero_si512() })
    }
    #[inline(always)]
    fn splat(x: i32) -> Self {
        Self(unsafe { _mm512_set1_epi32(x) })
    }
    #[inline(always)]
    unsafe fn load(source: *const i32) -> Self {
        Self(unsafe { _mm512_loadu_si512(source.cast()) })
    }
    #[inline(always)]
    fn word(group: &[u8]) -> i32 {
        // Flipping the top bit of a byte is subtracting 128 from it.
        i32::from_le_bytes([group[0] ^ 0x80, group[1] ^ 0x80, group[2] ^ 0x80, group[3] ^ 0x80])
    }
    #[inline(always)]
    fn words(first: &[u8], second: &[u8], skip: usize, _: usize, words: &mut [i32]) {
        // The rows from `skip` on are moved to the front, and those of the second panel behind them.
        let lane = |lanes: &[u8]| -> [u8; 64] { *lanes.first_chunk().expect("a group of a panel") };
        let (first, second, words) =
            (lane(first), lane(second), words.first_chunk_mut::<16>().expect("room for a vector"));
        unsafe {
            let order = _mm512_add_epi32(
                _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                _mm512_set1_epi32(skip as i32),
            );
            let (first, second) =
                (_mm512_loadu_si512(first.as_ptr().cast()), _mm512_loadu_si512(second.as_ptr().cast()));
            let rows = _mm512_permutex2var_epi32(first, order, second);
            _mm512_storeu_si512(words.as_mut_ptr().cast(), _mm512_xor_si512(rows, _mm512_set1_epi8(-128)));
        }
    }
    #[inline(always)]
    unsafe fn dot(self, rows: *const u8, word: i32) -> Self {
        unsafe {
            let rows = _mm512_loadu_si512(rows.cast());
            Self(_mm512_dpbusd_epi32(self.0, rows, _mm512_set1_epi32(word)))
        }
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(unsafe { _mm512_add_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(unsafe { _mm512_sub_epi32(self.0, other.0) })
    }
    #[inline(always)]
    fn to_floats(self) -> F32x16 {
        F32x16(unsafe { _mm512_cvtepi32_ps(self.0) })
    }
}
