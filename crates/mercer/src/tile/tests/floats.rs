//! Tiles of points in floating point.

use std::sync::Arc;

use faer::Mat;
use mercer_testkit::generate::{Cloud, constant_columns, duplicated, gaussian_cloud};
use mercer_testkit::reference::assert_close;
use mercer_testkit::tolerance::{entry_tolerance, mean};
use mercer_testkit::{Textbook, same_bits, to_kernel};

use super::{dense, points};
use crate::data::Moments;
use crate::error::Error;
use crate::kernel::{Formula, Kernel, Pairing, with_formula};
use crate::memory::Plain;
use crate::scalar::Scalar;
use crate::simd::Isa;
use crate::tile::{FloatTiles, Geometry, Packing, Panels};

fn packing(kernel: &Kernel, columns: &Cloud) -> Packing {
    fn of<F: Formula>(formula: &F, mean: &[f64]) -> Packing {
        Packing::new(F::PAIRING, formula.scale(), mean)
    }
    let moments = Moments::of(&points(columns));
    with_formula!(kernel, formula => of(formula, moments.mean()), else unreachable!("every textbook kernel has a formula"))
}

/// The kernel between two clouds, in tiles of several shapes that must agree to the bit.
fn tiles<T: Scalar + Plain>(textbook: &Textbook, rows: &Cloud, columns: &Cloud, isa: Isa) -> Mat<f64> {
    let kernel = to_kernel!(textbook, Kernel);
    let packing = packing(&kernel, columns);
    let pack = |cloud: &Cloud| Arc::new(Panels::<T>::pack(&points(cloud), &packing, isa).expect("small numbers"));
    let a = pack(rows);
    let b = if rows == columns { Arc::clone(&a) } else { pack(columns) };
    let tiles = FloatTiles::new(kernel, a, b, isa);
    let shape = (rows.n, columns.n);
    let all = dense(&tiles, shape, isa, (1, 1));
    assert!(
        same_bits(all.as_ref(), dense(&tiles, shape, isa, (3, 3)).as_ref()),
        "{textbook:?} depends on the tile on {isa:?}"
    );
    all
}

#[track_caller]
fn check<T: Scalar + Plain>(textbook: &Textbook, rows: &Cloud, columns: &Cloud) {
    let list = |cloud: &Cloud| -> Vec<Vec<f64>> { (0..cloud.n).map(|i| cloud.row(i).to_vec()).collect() };
    let (x, y) = (list(rows), list(columns));
    let (expected, origin) = (textbook.matrix(&x, &y), mean(&y, columns.d));
    let tolerance = |i: usize, j: usize| entry_tolerance(textbook, &x[i], &y[j], &origin, T::PRECISION.epsilon());
    for isa in Isa::available() {
        let found = tiles::<T>(textbook, rows, columns, isa);
        let what = format!("{textbook:?} of {} features in {} on {isa:?}", rows.d, T::PRECISION);
        assert_close(found.as_ref(), expected.as_ref(), tolerance, &what);
    }
}

#[test]
fn every_kernel_between_two_sets_of_points_matches_the_textbook() {
    for textbook in &Textbook::ALL {
        for d in [1, 2, 3, 8, 33] {
            let (rows, columns) = (gaussian_cloud(53, d, 1), gaussian_cloud(70, d, 2));
            check::<f32>(textbook, &rows, &columns);
            check::<f64>(textbook, &rows, &columns);
        }
    }
}

#[test]
fn every_kernel_of_points_with_themselves_matches_the_textbook() {
    let (plain, constant) = (gaussian_cloud(61, 5, 3), constant_columns(50, 4, 4));
    for textbook in &Textbook::ALL {
        for cloud in [&plain, &constant] {
            check::<f32>(textbook, cloud, cloud);
            check::<f64>(textbook, cloud, cloud);
        }
    }
}

/// Packs a cloud for squared distances, and compares with what comes of its numbers one by one.
#[track_caller]
fn check_packed<T: Scalar + Plain>(cloud: &Cloud, isa: Isa) {
    let (scale, offset) = (0.3, Moments::of(&points(cloud)).mean().to_vec());
    let packing = Packing::new(Pairing::SquaredDistance, scale, &offset);
    let panels = Panels::<T>::pack(&points(cloud), &packing, isa).expect("small numbers");
    let (lanes, d) = (Geometry::of::<T>(isa).lanes, cloud.d);
    let bits = |x: T| x.to_f64().to_bits();
    for i in 0..cloud.n {
        let mut sums = [0.0; 4];
        for (k, (x, offset)) in cloud.row(i).iter().zip(&offset).enumerate() {
            let expected = T::from_f64((x - offset) * (2.0 * scale).sqrt());
            let found = panels.values[(i / lanes * d + k) * lanes + i % lanes];
            assert_eq!(bits(found), bits(expected), "row {i}, column {k} of {d} on {isa:?}");
            sums[k % 4] += expected.to_f64() * expected.to_f64();
        }
        let sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        assert_eq!(bits(panels.terms[i]), bits(T::from_f64(-0.5 * sum)), "row {i} of {d} columns on {isa:?}");
    }
    assert!(panels.terms[cloud.n..].iter().all(|term| term.to_f64() == 0.0), "{isa:?}");
}

#[test]
fn points_are_packed_to_the_same_bits_on_every_instruction_set() {
    // Around the numbers of columns that are summed and turned at a time.
    for d in [1, 3, 4, 5, 15, 16, 17, 37] {
        let cloud = gaussian_cloud(21, d, 7);
        for isa in Isa::available() {
            check_packed::<f32>(&cloud, isa);
            check_packed::<f64>(&cloud, isa);
        }
    }
}

#[test]
fn columns_that_do_not_vary_are_left_out_of_what_is_packed_and_not_out_of_norms() {
    // Twenty columns, every third of which is the same in all points.
    let cloud = Cloud::from_fn(19, 20, |i, k| if k % 3 == 1 { 2.5 } else { ((i * 7 + k * 5) % 13) as f64 });
    let packing = Packing::of(Pairing::SquaredDistance, 0.5, &points(&cloud));
    let kept: Vec<usize> = (0..20).filter(|k| k % 3 != 1).collect();
    // A point that differs from the others where they do not from each other.
    let other = Cloud::from_fn(1, 20, |_, k| if k == 4 { 5.5 } else { cloud.row(3)[k] });
    for isa in Isa::available() {
        let lanes = Geometry::of::<f64>(isa).lanes;
        let pack = |cloud: &Cloud| Panels::<f64>::pack(&points(cloud), &packing, isa).expect("small numbers");
        let (all, one) = (pack(&cloud), pack(&other));
        assert_eq!((all.n_features, one.n_features), (kept.len(), kept.len()));
        let offset = packing.offset.as_ref().expect("distances are measured from the middle");
        for (place, &k) in kept.iter().enumerate() {
            let found = all.values[(3 / lanes * kept.len() + place) * lanes + 3 % lanes];
            assert_eq!(found, cloud.row(3)[k] - offset[k], "column {k} on {isa:?}");
            assert_eq!(one.values[place * lanes], found, "column {k} on {isa:?}");
        }
        assert!((all.terms[3] - one.terms[0] - 4.5).abs() < 1e-12, "half of three squared, on {isa:?}");
    }
}

#[test]
fn data_far_from_the_origin_lose_nothing_in_single_precision() {
    // Multiples of 1/64, so that moving them is exact. Without taking off the mean, squared distances would be
    // differences of millions, and wrong in the first digit.
    let near = Cloud::from_fn(60, 4, |i, k| ((i * 37 + k * 101) % 200) as f64 / 64.0);
    let far = near.clone().shifted(1000.0);
    for textbook in Textbook::ALL.iter().filter(|textbook| textbook.knows_distances_only()) {
        check::<f32>(textbook, &far, &far);
        for isa in Isa::available() {
            let [a, b] = [&near, &far].map(|cloud| tiles::<f32>(textbook, cloud, cloud, isa));
            // Both were moved to the same place, up to the rounding of the mean in double precision.
            assert_close(a.as_ref(), b.as_ref(), |_, _| 1e-5, &format!("{textbook:?} of moved points on {isa:?}"));
        }
    }
}

#[test]
fn a_tile_of_points_with_themselves_is_symmetric_to_the_bit_with_an_exact_diagonal() {
    let cloud = duplicated(20, 3, 6, 5);
    for textbook in &Textbook::ALL {
        for isa in Isa::available() {
            for all in [tiles::<f32>(textbook, &cloud, &cloud, isa), tiles::<f64>(textbook, &cloud, &cloud, isa)] {
                assert!(same_bits(all.as_ref(), all.transpose().to_owned().as_ref()), "{textbook:?} on {isa:?}");
                if textbook.knows_distances_only() {
                    assert!(
                        (0..cloud.n).all(|i| all[(i, i)].to_bits() == 1.0_f64.to_bits()),
                        "{textbook:?} on {isa:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn copies_of_a_point_are_never_further_apart_than_rounding() {
    let cloud = duplicated(25, 2, 7, 6);
    for textbook in &Textbook::ALL {
        check::<f32>(textbook, &cloud, &cloud);
        check::<f64>(textbook, &cloud, &cloud);
    }
}

#[test]
fn the_cosine_of_a_zero_point_is_zero() {
    let cloud = Cloud::from_fn(3, 2, |i, k| [[0.0, 0.0], [3.0, 4.0], [4.0, -3.0]][i][k]);
    for isa in Isa::available() {
        let found = tiles::<f64>(&Textbook::Cosine, &cloud, &cloud, isa);
        assert!((0..3).all(|i| found[(0, i)] == 0.0 && found[(i, 0)] == 0.0), "{isa:?}");
        assert!(found[(1, 2)].abs() < 1e-15 && (found[(1, 1)] - 1.0).abs() < 1e-15, "{isa:?}");
    }
}

#[test]
fn distant_points_underflow_to_exact_zero() {
    let cloud = Cloud::from_fn(2, 1, |i, _| [0.0, 1e4][i]);
    for isa in Isa::available() {
        let found = tiles::<f32>(&Textbook::Gaussian { gamma: 1.0 }, &cloud, &cloud, isa);
        assert_eq!((found[(0, 1)], found[(1, 0)], found[(0, 0)]), (0.0, 0.0, 1.0), "{isa:?}");
    }
}

#[test]
fn a_point_too_large_for_the_precision_is_refused_by_its_row() {
    let cloud = Cloud::from_fn(9, 2, |i, _| if i == 6 { 1e30 } else { i as f64 });
    let packing = packing(&Kernel::linear(), &cloud);
    for isa in Isa::available() {
        let error = Panels::<f32>::pack(&points(&cloud), &packing, isa).err().expect("1e60 is beyond single precision");
        assert_eq!(
            error.to_string(),
            "row 6 is too large for the kernel's width: its squared distance or inner product overflows f32; scale the data, or use a smaller gamma"
        );
        assert!(Panels::<f64>::pack(&points(&cloud), &packing, isa).is_ok());
    }
}

#[test]
fn a_row_of_zeros_is_not_what_is_too_large_beside_rows_that_are() {
    // All alike but the first: the middle of the points is where the others are, and it is the first row that is far from there.
    let alike = Cloud::from_fn(7, 2, |i, _| if i == 0 { 0.0 } else { 1e300 });
    let rising = Cloud::from_fn(7, 2, |i, _| 1e300 * i as f64);
    for (cloud, row) in [(alike, 1), (rising, 6)] {
        let packing = Packing::of(Pairing::SquaredDistance, 1.0, &points(&cloud));
        for isa in Isa::available() {
            let error =
                Panels::<f64>::pack(&points(&cloud), &packing, isa).err().expect("1e600 is beyond double precision");
            assert!(matches!(error, Error::TooLarge { row: told, .. } if told == row), "{isa:?}: {error}");
        }
    }
}
