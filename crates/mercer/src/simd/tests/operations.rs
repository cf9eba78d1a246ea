//! Arithmetic, loads and stores, and the two operations on the bits of the exponent.

use mercer_testkit::generate::Random;

use super::{Isa, Job, Lanes, MOST_LANES, Operation, Several, Target, everywhere, everywhere_on, map, operation};
use crate::scalar::{Precision, Scalar};

operation!(Plus, |a, b, _c| a + b);
operation!(Minus, |a, b, _c| a - b);
operation!(Times, |a, b, _c| a * b);
operation!(Over, |a, b, _c| a / b);
operation!(Negate, |a, _b, _c| -a);
operation!(TimesPlus, |a, b, c| a.mul_add(b, c));
operation!(Larger, |a, b, _c| a.max(b));
operation!(Magnitude, |a, _b, _c| a.abs());
operation!(Root, |a, _b, _c| a.abs().sqrt());
operation!(WithSign, |a, b, _c| a.copysign(b));
operation!(Seven, |_a, _b, _c| L::constant(7.0));
operation!(Exponent, |a, _b, _c| a.split_exponent().0);
operation!(Mantissa, |a, _b, _c| a.split_exponent().1);
operation!(LowBits, |a, _b, _c| a.low_bits_to_exponent());

/// Numbers of all sizes and both signs, zeros among them.
fn triples<T: Scalar>() -> Vec<[T; 3]> {
    let mut random = Random::new(1);
    let mut number = || T::from_f64(random.normal() * 10.0_f64.powf(8.0 * random.uniform() - 4.0));
    let mut all: Vec<[T; 3]> = (0..100).map(|_| [number(), number(), number()]).collect();
    all.extend([[0.0, 1.0, 2.0], [-0.0, 1.0, -0.0], [3.0, -3.0, 0.0], [1.0, 1.0, -1.0]].map(|t| t.map(T::from_f64)));
    all
}

/// Compares with `expected`, computed in double precision and rounded once: all these operations are correctly rounded.
#[track_caller]
fn check_rounded<T: Scalar, O: Operation>(operation: O, expected: impl Fn(f64, f64, f64) -> f64) {
    let arguments = triples::<T>();
    for (isa, found) in everywhere(operation, &arguments) {
        for (found, &[a, b, c]) in found.iter().zip(&arguments) {
            let expected = T::from_f64(expected(a.to_f64(), b.to_f64(), c.to_f64()));
            assert!(*found == expected, "{found} instead of {expected} of {a}, {b}, {c} on {isa:?}");
        }
    }
}

// Rounding a double-precision sum, product, quotient or root of singles to single precision is rounding the exact one:
// double precision has more than twice the digits.
fn check_arithmetic<T: Scalar>() {
    check_rounded::<T, _>(Plus, |a, b, _| a + b);
    check_rounded::<T, _>(Minus, |a, b, _| a - b);
    check_rounded::<T, _>(Times, |a, b, _| a * b);
    check_rounded::<T, _>(Over, |a, b, _| a / b);
    check_rounded::<T, _>(Negate, |a, _, _| -a);
    check_rounded::<T, _>(Larger, |a, b, _| a.max(b));
    check_rounded::<T, _>(Magnitude, |a, _, _| a.abs());
    check_rounded::<T, _>(Root, |a, _, _| a.abs().sqrt());
    check_rounded::<T, _>(WithSign, |a, b, _| a.abs().copysign(b));
    check_rounded::<T, _>(Seven, |_, _, _| 7.0);
}

#[test]
fn arithmetic_is_correctly_rounded_in_single_precision() {
    check_arithmetic::<f32>();
}

#[test]
fn arithmetic_is_correctly_rounded_in_double_precision() {
    check_arithmetic::<f64>();
}

#[test]
fn the_sign_of_zero_is_copied_too() {
    for (isa, found) in everywhere::<f32, _>(WithSign, &[[0.0, -1.0, 0.0], [2.0, -0.0, 0.0]]) {
        assert!(found[0].is_sign_negative() && found[1] == -2.0, "{isa:?}");
    }
}

fn check_multiply_add<T: Scalar>() {
    let arguments = triples::<T>();
    for (isa, found) in everywhere(TimesPlus, &arguments) {
        for (found, &[a, b, c]) in found.iter().zip(&arguments) {
            // One rounding, or one of the product and one of the sum.
            let size = (a.to_f64() * b.to_f64()).abs() + c.to_f64().abs();
            let gap = (found.to_f64() - a.to_f64().mul_add(b.to_f64(), c.to_f64())).abs();
            assert!(gap <= T::PRECISION.epsilon() * size, "{found} of {a} * {b} + {c} on {isa:?}");
        }
    }
}

#[test]
fn multiply_add_multiplies_the_first_two_and_adds_the_third() {
    check_multiply_add::<f32>();
    check_multiply_add::<f64>();
}

/// Loads, and adds to numbers that are already there.
struct AddTo<'a, T> {
    from: &'a [T],
    to: &'a mut [f64],
}

impl<T: Scalar> Job for AddTo<'_, T> {
    type Output = usize;

    #[inline(always)]
    #[expect(unsafe_code, reason = "loads and stores whole vectors")]
    fn run<G: Target>(self) -> usize {
        let count = Several::<T::On<G>, 3>::COUNT;
        assert!(self.from.len() >= count && self.to.len() >= count);
        // SAFETY: both have room for all lanes.
        unsafe { Several::<T::On<G>, 3>::load(self.from.as_ptr()).add_to_f64(self.to.as_mut_ptr()) };
        count
    }
}

fn check_add_to_f64<T: Scalar>() {
    let from: Vec<T> = (0..64).map(|i| T::from_f64(0.1 * f64::from(i) - 2.0)).collect();
    for isa in Isa::available() {
        // Large enough that single precision would drop what is added.
        let mut to = vec![1e10; 64];
        let count = isa.run(AddTo { from: &from, to: &mut to });
        for (i, &sum) in to.iter().enumerate() {
            let added = if i < count { from[i].to_f64() } else { 0.0 };
            assert_eq!(sum.to_bits(), (1e10 + added).to_bits(), "lane {i} of {count} on {isa:?}");
        }
    }
}

#[test]
fn lanes_are_added_to_double_precision_in_their_order_and_nothing_beyond_them() {
    check_add_to_f64::<f32>();
    check_add_to_f64::<f64>();
}

#[test]
fn the_exponent_and_the_mantissa_make_up_the_number() {
    fn check<T: Scalar>(largest: f64) {
        let mut arguments: Vec<T> =
            [1.0, 1.25, std::f64::consts::SQRT_2, 1.5, 2.0, 3.0, 1024.0, 1e10, largest].map(T::from_f64).into();
        let mut random = Random::new(2);
        let digits = largest.log10() - 1.0;
        arguments.extend((0..500).map(|_| T::from_f64(10.0_f64.powf(digits * random.uniform()))));
        let (exponents, mantissas) = (everywhere_on(Exponent, &arguments), everywhere_on(Mantissa, &arguments));
        let root = std::f64::consts::SQRT_2 * (1.0 + T::PRECISION.epsilon());
        for ((isa, e), (_, m)) in exponents.into_iter().zip(mantissas) {
            for ((e, m), x) in e.iter().zip(&m).zip(&arguments) {
                let (e, m, x) = (e.to_f64(), m.to_f64(), x.to_f64());
                assert!(e.fract() == 0.0 && m * e.exp2() == x, "{x} = 2^{e} * {m} on {isa:?}");
                assert!((1.0 / root..=root).contains(&m), "mantissa {m} of {x} on {isa:?}");
            }
        }
    }
    check::<f32>(f64::from(f32::MAX));
    // The factor keeps 2^e from overflowing in the test itself.
    check::<f64>(f64::MAX / 2.0);
}

#[test]
fn single_numbers_are_vectors_of_one_lane() {
    let arguments: Vec<[f64; 3]> = triples();
    for (found, &[a, b, c]) in map::<f64, _>(TimesPlus, &arguments).iter().zip(&arguments) {
        assert_eq!(found.to_bits(), (a * b + c).to_bits());
    }
    for (found, &[a, b, _]) in map::<f64, _>(WithSign, &arguments).iter().zip(&arguments) {
        assert_eq!(found.to_bits(), a.copysign(b).to_bits());
    }
    for x in [1.0, 1.4, 1.5, 3.0, 1e30_f64] {
        let (e, m) = x.split_exponent();
        assert!(e.fract() == 0.0 && m * e.exp2() == x && (0.7..1.5).contains(&m), "{x} = 2^{e} * {m}");
    }
}

#[test]
fn low_bits_become_the_exponent() {
    // The exponent field of 1 is 127 in single and 1023 in double precision.
    for (isa, found) in everywhere_on(LowBits, &[127, 126, 130, 0].map(f32::from_bits)) {
        assert_eq!(found, [1.0, 0.5, 8.0, 0.0], "{isa:?}");
    }
    for (isa, found) in everywhere_on(LowBits, &[1023, 1022, 1026, 0].map(f64::from_bits)) {
        assert_eq!(found, [1.0, 0.5, 8.0, 0.0], "{isa:?}");
    }
}

#[test]
fn lanes_fill_the_register_and_register_blocks_fit() {
    struct Shape;
    impl Job for Shape {
        type Output = Vec<(Precision, usize, usize, usize)>;
        #[inline(always)]
        fn run<G: Target>(self) -> Self::Output {
            fn of<L: Lanes>() -> (Precision, usize, usize, usize) {
                (L::Elem::PRECISION, L::COUNT, L::BLOCK_PANELS, L::BLOCK_COLUMNS)
            }
            vec![of::<G::F32>(), of::<G::F64>()]
        }
    }
    for isa in Isa::available() {
        let (bytes, registers) = match isa.name() {
            "avx512" => (64, 32),
            "avx2" => (32, 16),
            _ => (16, 16),
        };
        for (precision, count, panels, columns) in isa.run(Shape) {
            assert_eq!(count * precision.size(), bytes, "{isa:?}");
            assert!(panels * columns + panels < registers, "{isa:?}");
        }
    }
}

/// Integers of 16 bits, in as many lanes as there are.
struct Integers<'a, T>(&'a [u16], std::marker::PhantomData<T>);

impl<T: Scalar> Job for Integers<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    #[expect(unsafe_code, reason = "loads whole vectors")]
    fn run<G: Target>(self) -> Vec<T> {
        let mut numbers = vec![T::default(); Several::<T::On<G>, 3>::COUNT];
        assert!(self.0.len() >= numbers.len());
        // SAFETY: there are as many integers.
        unsafe { Several::<T::On<G>, 3>::load_u16(self.0.as_ptr()) }.write(&mut numbers);
        numbers
    }
}

fn check_integers<T: Scalar>() {
    // The largest of either half, where a sign would be seen, and as many as three of the widest vectors have lanes.
    let integers: Vec<u16> = (0..48_u16).map(|i| [0, 1, 0x7fff, 0x8000, 0xffff][usize::from(i % 5)] ^ i).collect();
    for isa in Isa::available() {
        let found = isa.run(Integers::<T>(&integers, std::marker::PhantomData));
        for (x, &integer) in found.iter().zip(&integers) {
            assert_eq!(x.to_f64(), f64::from(integer), "on {isa:?}");
        }
    }
}

#[test]
fn integers_are_read_as_the_numbers_they_are() {
    check_integers::<f32>();
    check_integers::<f64>();
}

/// Four vectors with different numbers in all lanes.
struct FourSums<T>(std::marker::PhantomData<T>);

impl<T: Scalar> Job for FourSums<T> {
    type Output = ([f64; 4], [f64; 4]);

    #[inline(always)]
    fn run<G: Target>(self) -> ([f64; 4], [f64; 4]) {
        let count = <T::On<G> as Lanes>::COUNT;
        let lanes =
            |vector: usize| (0..count).map(|lane| T::from_f64((100 * vector + lane * lane) as f64)).collect::<Vec<T>>();
        let found =
            <T::On<G> as Lanes>::four_sums([0, 1, 2, 3].map(|vector| <T::On<G> as Lanes>::read(&lanes(vector))));
        (found, [0, 1, 2, 3].map(|vector| lanes(vector).iter().map(|x| x.to_f64()).sum()))
    }
}

#[test]
fn four_sums_are_those_of_the_lanes() {
    for isa in Isa::available() {
        let (found, expected) = isa.run(FourSums::<f32>(std::marker::PhantomData));
        assert_eq!(found, expected, "single precision on {isa:?}");
        let (found, expected) = isa.run(FourSums::<f64>(std::marker::PhantomData));
        assert_eq!(found, expected, "double precision on {isa:?}");
    }
}

struct Square<T> {
    numbers: Vec<T>,
}

impl<T: Scalar> Job for Square<T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<G: Target>(self) -> Vec<T> {
        transposed::<T::On<G>>(&self.numbers)
    }
}

#[inline(always)]
fn transposed<L: Lanes>(numbers: &[L::Elem]) -> Vec<L::Elem> {
    let mut rows = [L::constant(-1.0); MOST_LANES];
    rows.iter_mut().take(L::COUNT).enumerate().for_each(|(i, row)| *row = L::read(&numbers[i * MOST_LANES..]));
    L::transpose(&mut rows);
    let mut result = vec![L::Elem::default(); L::COUNT * L::COUNT];
    rows.into_iter().zip(result.chunks_exact_mut(L::COUNT)).for_each(|(row, target)| row.write(target));
    result
}

fn check_transposition<T: Scalar>() {
    let number = |i: usize, j: usize| T::from_f64((MOST_LANES * i + j) as f64);
    for isa in Isa::available() {
        let numbers = (0..MOST_LANES * MOST_LANES).map(|at| number(at / MOST_LANES, at % MOST_LANES)).collect();
        let result = isa.run(Square { numbers });
        let lanes = result.len().isqrt();
        assert!(lanes > 1, "{isa:?}");
        for (at, &found) in result.iter().enumerate() {
            assert!(found == number(at % lanes, at / lanes), "{found} in place {at} on {isa:?}");
        }
    }
}

#[test]
fn a_square_of_vectors_is_transposed() {
    check_transposition::<f32>();
    check_transposition::<f64>();
}

/// Two vectors of whole numbers, counted on from the first to the second, by turns.
struct ByTurns<T>(std::marker::PhantomData<T>);

impl<T: Scalar> Job for ByTurns<T> {
    type Output = [Vec<T>; 2];
    #[inline(always)]
    fn run<G: Target>(self) -> [Vec<T>; 2] {
        [by_turns::<T::On<G>>(), by_turns::<Several<T::On<G>, 3>>()]
    }
}

#[inline(always)]
fn by_turns<L: Lanes>() -> Vec<L::Elem> {
    let mut numbers: Vec<L::Elem> = (0..2 * L::COUNT).map(|i| L::Elem::from_f64(i as f64)).collect();
    let (first, second) = L::read(&numbers).interleave(L::read(&numbers[L::COUNT..]));
    first.write(&mut numbers);
    second.write(&mut numbers[L::COUNT..]);
    numbers
}

#[test]
fn lanes_come_by_turns_from_single_vectors_and_several() {
    let check = |found: Vec<f64>, isa: Isa| {
        let count = found.len() / 2;
        let expected: Vec<f64> = (0..2 * count).map(|i| (i / 2 + i % 2 * count) as f64).collect();
        assert_eq!(found, expected, "{count} lanes on {isa:?}");
    };
    for isa in Isa::available() {
        for found in isa.run(ByTurns::<f32>(std::marker::PhantomData)) {
            check(found.into_iter().map(f64::from).collect(), isa);
        }
        for found in isa.run(ByTurns::<f64>(std::marker::PhantomData)) {
            check(found, isa);
        }
    }
}
