//! Elementary functions, over the whole of the range they are made for.

use super::{Lanes, Operation, everywhere_on, operation};
use crate::scalar::{Precision, Scalar};

operation!(Exp2, |a, _b, _c| a.exp2_nonpositive());
operation!(Exp, |a, _b, _c| a.exp_nonpositive());
operation!(Ln, |a, _b, _c| a.ln_of_at_least_one());
operation!(Tanh, |a, _b, _c| a.tanh());

#[derive(Clone, Copy)]
struct Power(u32);
impl Operation for Power {
    #[inline(always)]
    fn on<L: Lanes>(self, a: L, _: L, _: L) -> L {
        a.powi(self.0)
    }
}

/// `count` numbers from `from` to `to`, evenly spaced.
fn evenly<T: Scalar>(from: f64, to: f64, count: u32) -> Vec<T> {
    (0..=count).map(|i| T::from_f64(from + (to - from) * f64::from(i) / f64::from(count))).collect()
}

/// Compares with the function in double precision; `allowed(x, y)` is the error in units of the precision's epsilon.
#[track_caller]
fn check<T: Scalar, O: Operation>(
    operation: O,
    arguments: &[T],
    function: impl Fn(f64) -> f64,
    allowed: impl Fn(f64, f64) -> f64,
) {
    for (isa, found) in everywhere_on(operation, arguments) {
        for (found, x) in found.iter().zip(arguments) {
            let expected = function(x.to_f64());
            let gap = (found.to_f64() - expected).abs() / T::PRECISION.epsilon();
            let allowed = allowed(x.to_f64(), expected);
            assert!(gap <= allowed, "{found} instead of {expected:e} at {x}: {gap} > {allowed} ε on {isa:?}");
        }
    }
}

/// The exponent of the smallest normal number.
fn lowest_exponent<T: Scalar>() -> f64 {
    match T::PRECISION {
        Precision::F32 => -126.0,
        Precision::F64 => -1022.0,
    }
}

// The standard library's functions are themselves off by up to one unit in double precision.
fn check_exp2<T: Scalar>() {
    let lowest = lowest_exponent::<T>();
    check::<T, _>(Exp2, &evenly(lowest, 0.0, 20_000), f64::exp2, |_, y| 1.5 * y);
    check::<T, _>(Exp2, &evenly(-1.0, 0.0, 20_000), f64::exp2, |_, y| 1.5 * y);
    // Too close to zero for the argument to matter.
    check::<T, _>(Exp2, &[1e-9, 1e-20, 1e-30].map(|x| T::from_f64(-x)), f64::exp2, |_, y| 1.5 * y);
}

#[test]
fn exp2_is_exact_to_one_and_a_half_units_over_all_normal_results() {
    check_exp2::<f32>();
    check_exp2::<f64>();
}

fn check_exp2_ends<T: Scalar>(least: f64) {
    for (isa, found) in everywhere_on(Exp2, &[0.0, -0.0].map(T::from_f64)) {
        assert!(found.iter().all(|y| y.to_f64().to_bits() == 1.0_f64.to_bits()), "2^0 = {found:?} on {isa:?}");
    }
    for n in 1..=-lowest_exponent::<T>() as i32 {
        for (isa, found) in everywhere_on(Exp2, &[T::from_f64(f64::from(-n))]) {
            assert!(found[0].to_f64() == 2.0_f64.powi(-n), "2^-{n} = {} on {isa:?}", found[0]);
        }
    }
    let lowest = lowest_exponent::<T>();
    let below = [lowest - 0.75, lowest - 1.0, lowest - 2.0, 10.0 * lowest, -1e30, least, f64::NEG_INFINITY];
    for (isa, found) in everywhere_on(Exp2, &below.map(T::from_f64)) {
        assert!(found.iter().all(|y| y.to_f64().to_bits() == 0), "underflow to {found:?} on {isa:?}");
    }
}

#[test]
fn exp2_of_whole_numbers_is_exact_one_at_zero_and_zero_far_below() {
    check_exp2_ends::<f32>(f64::from(f32::MIN));
    check_exp2_ends::<f64>(f64::MIN);
}

#[test]
fn exp_loses_no_more_than_the_rounding_of_its_argument() {
    fn check_exp<T: Scalar>() {
        let lowest = lowest_exponent::<T>() * std::f64::consts::LN_2;
        check::<T, _>(Exp, &evenly(lowest, 0.0, 20_000), f64::exp, |x, y| (2.0 + x.abs()) * y);
        check::<T, _>(Exp, &evenly(-2.0, 0.0, 20_000), f64::exp, |_, y| 2.0 * y.max(0.5));
        for (isa, found) in everywhere_on(Exp, &[0.0, 2.0 * lowest, f64::NEG_INFINITY].map(T::from_f64)) {
            assert_eq!(found.iter().map(|y| y.to_f64()).collect::<Vec<_>>(), [1.0, 0.0, 0.0], "{isa:?}");
        }
    }
    check_exp::<f32>();
    check_exp::<f64>();
}

#[test]
fn logarithm_is_exact_to_a_few_units_from_one_to_the_largest_number() {
    fn check_ln<T: Scalar>(largest: f64) {
        // Next to one the result is relative to x - 1, which is exact.
        check::<T, _>(Ln, &evenly(1.0, 1.4, 20_000), f64::ln, |_, y| 3.0 * y);
        check::<T, _>(Ln, &evenly(1.0, 100.0, 20_000), f64::ln, |_, y| 3.0 * y.max(0.5));
        let wide: Vec<T> = evenly::<f64>(0.0, largest.ln(), 5_000).into_iter().map(|t| T::from_f64(t.exp())).collect();
        check::<T, _>(Ln, &wide[..wide.len() - 1], f64::ln, |_, y| 3.0 * y.max(0.5));
        check::<T, _>(Ln, &[T::from_f64(largest)], f64::ln, |_, y| 3.0 * y);
        for (isa, found) in everywhere_on(Ln, &[T::from_f64(1.0)]) {
            assert!(found[0].to_f64() == 0.0, "{isa:?}");
        }
    }
    check_ln::<f32>(f64::from(f32::MAX));
    check_ln::<f64>(f64::MAX);
}

#[test]
fn hyperbolic_tangent_is_odd_exact_to_a_few_units_and_saturates() {
    fn check_tanh<T: Scalar>() {
        check::<T, _>(Tanh, &evenly(-30.0, 30.0, 20_000), f64::tanh, |_, _| 3.0);
        check::<T, _>(Tanh, &evenly(-1.0, 1.0, 20_000), f64::tanh, |_, _| 2.0);
        let arguments = evenly::<T>(0.0, 25.0, 500);
        let mirrored: Vec<T> = arguments.iter().map(|x| T::from_f64(-x.to_f64())).collect();
        for ((isa, right), (_, left)) in everywhere_on(Tanh, &arguments).iter().zip(&everywhere_on(Tanh, &mirrored)) {
            assert!(right.iter().zip(left).all(|(r, l)| r.to_f64() == -l.to_f64()), "{isa:?}");
        }
        for (isa, found) in everywhere_on(Tanh, &[0.0, 1e6, -1e6, f64::INFINITY].map(T::from_f64)) {
            assert_eq!(found.iter().map(|y| y.to_f64()).collect::<Vec<_>>(), [0.0, 1.0, -1.0, 1.0], "{isa:?}");
        }
    }
    check_tanh::<f32>();
    check_tanh::<f64>();
}

#[test]
fn whole_powers_lose_one_rounding_per_multiplication() {
    fn check_power<T: Scalar>() {
        for exponent in [0, 1, 2, 3, 4, 5, 7, 10, 16] {
            let n = f64::from(exponent);
            check::<T, _>(Power(exponent), &evenly(-3.0, 3.0, 200), |x| x.powi(exponent as i32), |_, y| n * y.abs());
        }
    }
    check_power::<f32>();
    check_power::<f64>();
}

#[test]
fn single_numbers_use_the_same_formulas_as_vectors() {
    for x in [0.1_f64, 0.7, 2.0, 11.0] {
        assert!((Lanes::exp2_nonpositive(-x) - (-x).exp2()).abs() <= f64::EPSILON);
        assert!((Lanes::exp_nonpositive(-x) - (-x).exp()).abs() <= f64::EPSILON);
        assert!(((1.0 + x).ln_of_at_least_one() - (1.0 + x).ln()).abs() <= f64::EPSILON * (1.0 + x));
        assert!((Lanes::tanh(x) - f64::tanh(x)).abs() <= f64::EPSILON);
        assert!((Lanes::powi(x, 5) - f64::powi(x, 5)).abs() <= 5.0 * f64::EPSILON * f64::powi(x, 5));
    }
}
