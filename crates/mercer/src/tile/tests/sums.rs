//! Sums of many Gaussian kernels over a tile, beside those that are made one entry at a time.

use mercer_testkit::generate::Random;

use crate::scalar::{Precision, Scalar};
use crate::simd::Isa;
use crate::tile::{Chain, Geometry, Part, TileSums, gaussian_sums};

/// Two chains, each too long for one exponential: from so wide that `gamma` times the largest scalar is a five-hundredth of `far`, to so
/// narrow that it is 83 times `far`.
fn chains() -> Vec<Chain> {
    let starts = [1.0 / 512.0, 1.3 / 512.0];
    starts.into_iter().enumerate().map(|(at, gamma)| Chain { gamma, length: 16, first: 16 * at }).collect()
}

#[track_caller]
fn check<T: Scalar>(isa: Isa, inside: (usize, usize), near: f64, far: f64) {
    let geometry = Geometry::of::<T>(isa);
    let (n, m) = (geometry.padded(inside.0), geometry.padded(inside.1));
    let mut random = Random::new(3);
    let mut scalars: Vec<f64> = (0..inside.0 * inside.1)
        .map(|_| T::from_f64(near + (far - near) * random.uniform().powi(2)).to_f64())
        .collect();
    scalars[0] = T::from_f64(near).to_f64();
    // What lies outside the data is arbitrary.
    let mut tile = vec![T::from_f64(7.5); n * m];
    for i in 0..inside.0 {
        for j in 0..inside.1 {
            tile[geometry.index(i, j, m)] = T::from_f64(scalars[i * inside.1 + j]);
        }
    }
    let chains = chains();
    let mut sums = TileSums::new(32, 2, n.max(m));
    let epsilon = match T::PRECISION {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    // The second time over what the first left behind, which must be nothing.
    for _ in 0..2 {
        gaussian_sums(isa, &mut tile, Part { n_columns: m, inside }, &chains, &mut sums);
        for kernel in 0..32 {
            let chain = chains[kernel / 16];
            let gamma = chain.gamma * f64::from(1_u32 << (kernel % 16));
            for quantity in 0..2 {
                let (mut rows, mut columns) = (vec![0.0; inside.0], vec![0.0; inside.1]);
                sums.take_rows(isa, kernel, quantity, &mut rows);
                sums.take_columns(isa, kernel, quantity, &mut columns);
                let entry = |i: usize, j: usize| {
                    let s = scalars[i * inside.1 + j];
                    (-gamma * s).exp() * if quantity == 0 { 1.0 } else { s }
                };
                let row = |i: usize| (0..inside.1).map(|j| entry(i, j)).sum::<f64>();
                let column = |j: usize| (0..inside.0).map(|i| entry(i, j)).sum::<f64>();
                let all =
                    (0..inside.0).map(|i| (rows[i], row(i))).chain((0..inside.1).map(|j| (columns[j], column(j))));
                // Seven squarings, and a sum of as many numbers of at most one, or as large as the scalars.
                let unit = if quantity == 0 { 1.0 } else { far };
                for (at, (found, expected)) in all.enumerate() {
                    let slack = epsilon * (600.0 * expected + unit * inside.0.max(inside.1) as f64);
                    assert!(
                        (found - expected).abs() <= slack,
                        "{} on {isa:?}, {inside:?}, {near} to {far}: kernel {kernel}, quantity {quantity}, sum {at} is {found}, not {expected}",
                        T::PRECISION
                    );
                }
            }
        }
    }
}

#[test]
fn sums_of_wide_and_narrow_kernels_are_those_of_their_entries() {
    for isa in Isa::available() {
        for inside in [(1, 1), (3, 2), (17, 30), (33, 21)] {
            // Most kernels are wide, half of them are, none is.
            for far in [1e-6, 1.0, 1e4] {
                check::<f32>(isa, inside, 0.0, far);
                check::<f64>(isa, inside, 0.0, far);
            }
            // Far from zero but close to one another, so that kernels are wide though their values are small, or zero.
            for (near, far) in [(0.5, 0.7), (20.0, 20.5), (1000.0, 1001.0)] {
                check::<f32>(isa, inside, near, far);
                check::<f64>(isa, inside, near, far);
            }
        }
    }
}

#[test]
fn a_tile_of_equal_points_has_sums_of_ones() {
    for isa in Isa::available() {
        check::<f32>(isa, (9, 9), 0.0, 0.0);
        check::<f64>(isa, (9, 9), 0.0, 0.0);
    }
}
