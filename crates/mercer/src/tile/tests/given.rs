//! Tiles of given matrices and of the user's functions, and tiles in fixed point.

use std::sync::Arc;

use faer::Mat;
use mercer_testkit::generate::{Cloud, Random, gaussian_cloud, normal_matrix};
use mercer_testkit::same_bits;

use super::{dense, points};
use crate::Points;
use crate::error::{Error, Result};
use crate::kernel::{CustomKernel, PairFunction};
use crate::scalar::Scalar;
use crate::simd::Isa;
use crate::tile::{CustomTiles, Geometry, MatrixTiles, TileSource, fixed16};

#[test]
fn tiles_of_a_given_matrix_are_its_entries_in_every_format() {
    let (n, m) = (55, 67);
    let given = normal_matrix(n, m, 1);
    let values: Vec<f64> = (0..n * m).map(|at| given[(at / m, at % m)]).collect();
    let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let levels: Vec<u8> = (0..n * m).map(|at| (at * 7 % 256) as u8).collect();
    let rounded = Mat::from_fn(n, m, |i, j| f64::from(given[(i, j)] as f32));
    let scaled = Mat::from_fn(n, m, |i, j| f64::from(levels[i * m + j]) * 0.25);
    for isa in Isa::available() {
        let tiles = |matrix: Result<Points>| MatrixTiles::new(matrix.expect("the shape is right"), isa);
        let double = tiles(Points::from_f64(values.clone(), n, m));
        assert!(same_bits(dense::<f64>(&double, (n, m), isa, (1, 2)).as_ref(), given.as_ref()), "{isa:?}");
        assert!(same_bits(dense::<f32>(&double, (n, m), isa, (2, 1)).as_ref(), rounded.as_ref()), "{isa:?}");
        let single = tiles(Points::from_f32(single.clone(), n, m));
        assert!(same_bits(dense::<f64>(&single, (n, m), isa, (1, 1)).as_ref(), rounded.as_ref()), "{isa:?}");
        let bytes = tiles(Points::from_u8(levels.clone(), n, m, 0.25));
        assert!(same_bits(dense::<f32>(&bytes, (n, m), isa, (1, 1)).as_ref(), scaled.as_ref()), "{isa:?}");
    }
}

#[test]
fn tiles_of_a_function_of_pairs_have_rows_first() {
    // Not symmetric, so that a transposed tile would show.
    let kernel: Arc<dyn CustomKernel> = Arc::new(PairFunction::new("first", |x: &[f64], y: &[f64]| x[0] + 10.0 * y[1]));
    let (rows, columns) = (gaussian_cloud(30, 2, 2), gaussian_cloud(41, 2, 3));
    let expected = Mat::from_fn(30, 41, |i, j| rows.row(i)[0] + 10.0 * columns.row(j)[1]);
    for isa in Isa::available() {
        let tiles = CustomTiles::new(Arc::clone(&kernel), points(&rows), points(&columns), isa);
        assert!(same_bits(dense::<f64>(&tiles, (30, 41), isa, (1, 2)).as_ref(), expected.as_ref()), "{isa:?}");
    }
}

#[derive(Debug)]
struct Failing;

impl CustomKernel for Failing {
    fn name(&self) -> &'static str {
        "failing"
    }

    fn fill(&self, _: &[f64], _: &[f64], _: usize, _: &mut [f64]) -> Result<()> {
        Err(Error::invalid("weather", "fair", "foul"))
    }
}

#[test]
fn the_failure_of_a_function_comes_out_of_its_tile() {
    let cloud = points(&gaussian_cloud(3, 2, 4));
    let isa = Isa::detect();
    let unit = Geometry::of::<f32>(isa).unit;
    let tiles = CustomTiles::new(Arc::new(Failing), cloud.clone(), cloud, isa);
    let error = tiles.fill(0..unit, 0..unit, &mut vec![0.0_f32; unit * unit]).expect_err("it always fails");
    assert_eq!(error.to_string(), "`weather` must be fair, but it is foul");
}

#[test]
fn a_value_that_is_not_finite_is_reported_with_its_place_in_the_whole_matrix() {
    let kernel = PairFunction::new("quotient", |x: &[f64], y: &[f64]| x[0] / (y[0] - 60.0));
    let cloud = points(&Cloud::from_fn(70, 1, |i, _| i as f64 + 1.0));
    let isa = Isa::PORTABLE;
    let unit = Geometry::of::<f32>(isa).unit;
    let tiles = CustomTiles::new(Arc::new(kernel), cloud.clone(), cloud, isa);
    let mut out = vec![0.0_f32; unit * unit];
    let error = tiles.fill(unit..2 * unit, 2 * unit..3 * unit, &mut out).expect_err("column 59 divides by zero");
    assert_eq!(error.to_string(), "the quotient kernel of rows 24 and 59 is inf; it must be finite");
}

#[test]
fn a_function_that_is_not_symmetric_is_found_out_on_the_diagonal() {
    let isa = Isa::PORTABLE;
    let unit = Geometry::of::<f32>(isa).unit;
    let cloud = points(&Cloud::from_fn(2 * unit, 1, |i, _| i as f64 + 1.0));
    let fill = |tilt: f64, columns: std::ops::Range<usize>| {
        let kernel = PairFunction::new("tilted", move |x: &[f64], y: &[f64]| x[0] * y[0] + tilt * x[0]);
        let tiles = CustomTiles::new(Arc::new(kernel), cloud.clone(), cloud.clone(), isa);
        tiles.fill(unit..2 * unit, columns, &mut vec![0.0_f32; unit * unit])
    };
    let (row, column) = (unit + 1, unit);
    let (x, y) = (unit as f64 + 2.0, unit as f64 + 1.0);
    let (value, mirrored) = (x * y + x, x * y + y);
    assert_eq!(
        fill(1.0, unit..2 * unit).expect_err("it is not symmetric").to_string(),
        format!(
            "the tilted kernel of rows {row} and {column} is {value}, but of rows {column} and {row} it is {mirrored}; a kernel must be \
             symmetric"
        )
    );
    // Off the diagonal nobody knows, and what rounding in single precision may be is none.
    fill(1.0, 0..unit).expect("there is one value of every pair");
    fill(1e-6, unit..2 * unit).expect("it is symmetric to rounding");
}

#[test]
fn every_level_of_fixed_point_survives_the_way_there_and_back() {
    fn check<T: Scalar>() {
        let levels: Vec<u16> = (0..=u16::MAX).collect();
        for isa in Isa::available() {
            let mut wide = vec![T::default(); levels.len()];
            fixed16::widen(isa, &levels, &mut wide);
            assert!(
                wide.is_sorted() && wide[0].to_f64() == 0.0 && wide[usize::from(u16::MAX)].to_f64() == 1.0,
                "{isa:?}"
            );
            let mut again = vec![0; levels.len()];
            fixed16::narrow(isa, &wide, &mut again);
            assert_eq!(again, levels, "{isa:?}");
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn every_level_of_fixed_point_comes_back_to_rounding_wherever_it_stands() {
    fn check<T: Scalar>() {
        let levels: Vec<u16> = (0..=u16::MAX).collect();
        for isa in Isa::available() {
            let mut wide = vec![T::default(); levels.len()];
            fixed16::widen(isa, &levels, &mut wide);
            for (&level, x) in levels.iter().zip(&wide) {
                let exact = f64::from(level) / fixed16::ONE;
                // The factor is rounded, and the product.
                let rounding = T::PRECISION.epsilon() * exact;
                assert!((x.to_f64() - exact).abs() <= rounding, "{level} became {x} on {isa:?}");
            }
            // Lengths that fill no vector, and some and a part of one.
            for len in 0..40 {
                let first = 12_345;
                let mut some = vec![T::default(); len];
                fixed16::widen(isa, &levels[first..first + len], &mut some);
                assert_eq!(some, wide[first..first + len], "{len} numbers on {isa:?}");
            }
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn fixed_point_rounds_to_the_nearest_level() {
    let (mut random, half_a_level) = (Random::new(5), 0.5 / fixed16::ONE);
    let mut numbers: Vec<f64> = (0..1000).map(|_| random.uniform()).collect();
    numbers.extend([0.0, 1.0, 1e-300, 1.0 - f64::EPSILON, 0.49 / fixed16::ONE, 0.51 / fixed16::ONE]);
    for isa in Isa::available() {
        let mut kept = vec![0; numbers.len()];
        fixed16::narrow(isa, &numbers, &mut kept);
        let mut back = vec![0.0_f64; numbers.len()];
        fixed16::widen(isa, &kept, &mut back);
        for (x, y) in numbers.iter().zip(&back) {
            assert!((x - y).abs() <= half_a_level + f64::EPSILON, "{x} came back as {y} on {isa:?}");
        }
        assert_eq!(kept[numbers.len() - 2..], [0, 1], "{isa:?}");
    }
}
