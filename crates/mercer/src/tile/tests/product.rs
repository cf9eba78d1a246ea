//! Products of tiles with blocks of vectors.

use mercer_testkit::generate::Random;

use crate::memory::Plain;
use crate::scalar::Scalar;
use crate::simd::Isa;
use crate::tile::{Geometry, Side, accumulate};

/// A whole number from -8 to 8: sums of products of a few hundred of them are exact in both precisions.
fn small(random: &mut Random) -> f64 {
    (random.uniform() * 17.0).floor() - 8.0
}

#[track_caller]
fn check<T: Scalar + Plain>(isa: Isa, side: Side, units: (usize, usize), registers: usize) {
    let geometry = Geometry::of::<T>(isa);
    let (n, m) = (units.0 * geometry.unit, units.1 * geometry.unit);
    let width = registers * geometry.lanes;
    let (n_out, n_in) = if side == Side::Rows { (n, m) } else { (m, n) };
    let mut random = Random::new(registers as u64);
    let matrix: Vec<f64> = (0..n * m).map(|_| small(&mut random)).collect();
    let vectors: Vec<f64> = (0..n_in * width).map(|_| small(&mut random)).collect();
    let before: Vec<f64> = (0..n_out * width).map(|_| small(&mut random) + 0.5).collect();

    let mut tile = vec![T::default(); n * m];
    for i in 0..n {
        for j in 0..m {
            tile[geometry.index(i, j, m)] = T::from_f64(matrix[i * m + j]);
        }
    }
    let narrow: Vec<T> = vectors.iter().map(|&x| T::from_f64(x)).collect();
    let mut sums = before.clone();
    accumulate(isa, side, &tile, (n, m), &narrow, width, &mut sums);

    for o in 0..n_out {
        for w in 0..width {
            let product: f64 = (0..n_in)
                .map(|k| {
                    let entry = if side == Side::Rows { matrix[o * m + k] } else { matrix[k * m + o] };
                    entry * vectors[k * width + w]
                })
                .sum();
            let (found, expected) = (sums[o * width + w], before[o * width + w] + product);
            assert!(
                found == expected,
                "{side:?} of a {n} x {m} tile with {width} columns in {} on {isa:?}: ({o}, {w}) is {found}, not {expected}",
                T::PRECISION
            );
        }
    }
}

#[test]
fn both_sides_of_a_tile_are_multiplied_exactly_for_every_remainder_of_registers() {
    for isa in Isa::available() {
        for side in [Side::Rows, Side::Columns] {
            for registers in 1..=7 {
                check::<f32>(isa, side, (1, 1), registers);
                check::<f64>(isa, side, (1, 1), registers);
            }
        }
    }
}

#[test]
fn tiles_that_are_not_square_are_multiplied_exactly() {
    for isa in Isa::available() {
        for side in [Side::Rows, Side::Columns] {
            for units in [(1, 2), (2, 1), (3, 2), (1, 5)] {
                check::<f32>(isa, side, units, 2);
                check::<f64>(isa, side, units, 2);
            }
        }
    }
}

#[test]
fn no_vectors_are_no_work() {
    let isa = Isa::detect();
    let unit = Geometry::of::<f32>(isa).unit;
    accumulate(isa, Side::Rows, &vec![1.0_f32; unit * unit], (unit, unit), &[], 0, &mut []);
}

#[test]
fn sums_beyond_single_precision_are_kept() {
    // 2²⁵ + 1 is not a single-precision number.
    let isa = Isa::detect();
    let geometry = Geometry::of::<f32>(isa);
    let (unit, width) = (geometry.unit, geometry.lanes);
    let mut sums = vec![33_554_432.0; unit * width];
    let mut tile = vec![0.0_f32; unit * unit];
    tile[geometry.index(3, 5, unit)] = 1.0;
    accumulate(isa, Side::Rows, &tile, (unit, unit), &vec![1.0; unit * width], width, &mut sums);
    assert!(sums.iter().enumerate().all(|(at, &sum)| sum == 33_554_432.0 + f64::from(at / width == 3)));
}
