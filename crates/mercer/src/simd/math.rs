//! Elementary functions on vectors.
//!
//! Both are a range reduction that is exact in floating point, and a polynomial. The kernel functions need them
//! on half a line only, which saves the checks on the other half.

use super::Lanes;
use crate::scalar::{Precision, Scalar};

/// Coefficients of `(2^r - 1) / r` on `[-1/2, 1/2]`, lowest power first: interpolation at Chebyshev nodes.
/// Relative error of `2^r`: 5.1e-9 with 6 terms, a twelfth of single-precision rounding.
const EXP2_F32: [f64; 6] = [
    0.693_147_188_026_228_8,
    0.240_226_507_605_681_26,
    0.055_503_571_142_190_78,
    0.009_618_082_557_277_852,
    0.001_339_086_336_467_120_6,
    0.000_154_531_629_451_205_64,
];

/// As above for double precision: error 8.5e-18 with 11 terms.
const EXP2_F64: [f64; 11] = [
    std::f64::consts::LN_2,
    0.240_226_506_959_100_97,
    0.055_504_108_664_821_6,
    0.009_618_129_107_606_89,
    0.001_333_355_814_641_7,
    0.000_154_035_304_417_376_84,
    1.525_273_382_968_625_7e-5,
    1.321_544_258_588_905_8e-6,
    1.017_806_253_298_163e-7,
    7.072_586_467_951_43e-9,
    4.454_945_547_842_242e-10,
];

/// `2^t` for `t <= 0`: with `t = n + r`, `n` whole and `|r| <= 1/2`, `2^n 2^r`.
#[inline(always)]
pub(super) fn exp2_nonpositive<L: Lanes>(t: L) -> L {
    let (n, r) = t.split_power();
    let p = match L::Elem::PRECISION {
        Precision::F32 => horner(r, &EXP2_F32),
        Precision::F64 => horner(r, &EXP2_F64),
    };
    r.mul_add(p, L::constant(1.0)).times_power(n)
}

/// `t = n + r`, where no instruction rounds to whole numbers or scales by powers of two.
///
/// Adding `magic`, whose last bit is worth one, rounds `t` to `n` and leaves `n + bias` in the low bits, ready to be moved into the
/// exponent field. At `n = -bias` that field is zero, so the power underflows to exact zero; `t` is kept from going lower.
#[inline(always)]
pub(super) fn split_power<L: Lanes>(t: L) -> (L, L) {
    let (magic, lowest) = match L::Elem::PRECISION {
        Precision::F32 => (12_582_912.0 + 127.0, -127.0),
        Precision::F64 => (6_755_399_441_055_744.0 + 1023.0, -1023.0),
    };
    let magic = L::constant(magic);
    let t = t.max(L::constant(lowest));
    let shifted = t + magic;
    (shifted, t - (shifted - magic))
}

#[inline(always)]
fn horner<L: Lanes, const N: usize>(r: L, coefficients: &[f64; N]) -> L {
    let mut p = L::constant(coefficients[N - 1]);
    for k in (0..N - 1).rev() {
        p = p.mul_add(r, L::constant(coefficients[k]));
    }
    p
}

/// Natural logarithm of `x >= 1`: with `x = 2^e m` and `f = (m - 1) / (m + 1)`,
/// `ln x = e ln 2 + 2 f (1 + f²/3 + f⁴/5 + …)`.
///
/// `|f| <= 0.1716`, so the series loses a factor 0.0294 per term: 5 terms reach 1e-9, 11 terms 1e-17.
#[inline(always)]
pub(super) fn ln_of_at_least_one<L: Lanes>(x: L) -> L {
    let terms: u32 = match L::Elem::PRECISION {
        Precision::F32 => 5,
        Precision::F64 => 11,
    };
    let one = L::constant(1.0);
    let (e, m) = x.split_exponent();
    let f = (m - one) / (m + one);
    let f2 = f * f;
    let mut series = L::constant(1.0 / f64::from(2 * terms - 1));
    for k in (0..terms - 1).rev() {
        series = series.mul_add(f2, L::constant(1.0 / f64::from(2 * k + 1)));
    }
    e.mul_add(L::constant(std::f64::consts::LN_2), (f + f) * series)
}
