//! Gram matrices against the textbook and against the twin.

use faer::Mat;
use mercer::gram::StoreFormat;
use mercer::simd::Isa;
use mercer::{Kernel, Points, Precision};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::{clusters, constant_columns, duplicated, gaussian_cloud, normal_matrix};
use mercer_testkit::operator::{everything, gram, gram_on, loose_gram, room_for};
use mercer_testkit::reference::{assert_close, largest_entry};
use mercer_testkit::{
    Cloud, Expected, Format, Textbook, check_entry_access, check_symmetric_operator, context, same_bits, twin,
};

use super::SETUPS;

/// Sizes below, at and above a register block, one more than a tile, and several tiles.
const SMALL: [usize; 6] = [1, 2, 3, 47, 48, 49];
const LARGE: [usize; 2] = [241, 500];

/// Checks every way of keeping tiles against the textbook.
fn check(textbook: &Textbook, points: &Points, precision: Precision) {
    let (n, kernel) = (points.n_samples(), textbook.to_kernel());
    let exact = Expected::gram(textbook, points, precision);
    // Half a level of fixed point, and the rounding on the way back.
    let level = StoreFormat::Fixed16.entry_error() + precision.epsilon();
    let mut ways = vec![
        (None, exact.clone()),
        (Some(room_for(2, precision, n)), exact.clone()),
        (Some(everything(StoreFormat::Full)), exact.clone()),
    ];
    if kernel.has_unit_range() {
        ways.push((Some(everything(StoreFormat::Fixed16)), exact.loosened(level)));
    }
    let x = normal_matrix(n, 3, 1);
    for (store, expected) in ways {
        let what = format!("{textbook:?} of {points:?} in {precision} with {store:?}");
        let operator = gram(precision, points, &kernel, store).unwrap();
        if store.is_none() {
            check_entry_access(&*operator, &expected);
        }
        if n < LARGE[0] {
            let dense = match store {
                None => check_symmetric_operator(&*operator, expected.one_rounding()),
                Some(_) => apply(&*operator, Mat::identity(n, n).as_ref(), 1),
            };
            expected.check_entries(dense.as_ref(), &what);
        }
        // Twice: the second time from what was stored.
        let product = expected.times(x.as_ref());
        for n_threads in [2, 1] {
            product.check_entries(apply(&*operator, x.as_ref(), n_threads).as_ref(), &what);
        }
    }
}

fn check_all(format: Format, precision: Precision, large: &[usize]) {
    for &n in SMALL.iter().chain(large) {
        let points = gaussian_cloud(n, 5, n as u64).points(format);
        for textbook in &Textbook::ALL {
            check(textbook, &points, precision);
        }
    }
}

#[test]
fn gram_matrices_of_singles_match_the_textbook() {
    check_all(Format::F32, Precision::F32, &LARGE);
}

#[test]
fn gram_matrices_of_doubles_match_the_textbook() {
    check_all(Format::F64, Precision::F64, &LARGE);
}

#[test]
fn gram_matrices_of_bytes_match_the_textbook() {
    check_all(Format::U8, Precision::F32, &LARGE);
}

#[test]
fn gram_matrices_of_doubles_in_single_precision_match_the_textbook() {
    check_all(Format::F64, Precision::F32, &LARGE[..1]);
}

#[test]
fn gram_matrices_of_bytes_in_double_precision_match_the_textbook() {
    check_all(Format::U8, Precision::F64, &LARGE[..1]);
}

#[test]
fn every_instruction_set_keeps_the_operator_contract() {
    let cloud = gaussian_cloud(100, 9, 2);
    for isa in Isa::available() {
        for (format, precision) in SETUPS {
            let points = cloud.points(format);
            for textbook in &Textbook::ALL {
                let operator = gram_on(isa, precision, &points, &textbook.to_kernel(), None).unwrap();
                let expected = Expected::gram(textbook, &points, precision);
                let dense = check_symmetric_operator(&*operator, expected.one_rounding());
                let what = format!("{textbook:?} of {points:?} in {precision} on {isa:?}");
                expected.check_entries(dense.as_ref(), &what);
            }
        }
    }
}

#[test]
fn gram_matrices_match_the_twin_made_of_library_products() {
    for n in [49, 241] {
        let cloud = clusters(n, 16, 5, 3);
        for (format, precision) in SETUPS {
            let points = cloud.points(format);
            for textbook in &Textbook::ALL {
                let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
                let dense = apply(&*operator, Mat::identity(n, n).as_ref(), 2);
                let twin = twin::gram(textbook, &points, precision);
                let tolerance = Expected::gram(textbook, &points, precision).tolerance;
                let what = format!("{textbook:?} of {points:?} in {precision}");
                // Each of the two may be off by the tolerance.
                assert_close(dense.as_ref(), twin.as_ref(), |i, j| 2.0 * tolerance[(i, j)], &what);
            }
        }
    }
}

#[test]
fn points_packed_tile_by_tile_give_the_same_bits_as_a_packed_copy() {
    for n in [1, 49, 241, 500] {
        let cloud = clusters(n, 7, 5, 11);
        let (x, rows) = (normal_matrix(n, 3, 5), [n / 2, 0, n - 1]);
        for (format, precision) in SETUPS {
            let points = cloud.points(format);
            for textbook in &Textbook::ALL {
                let kernel = textbook.to_kernel();
                let (kept, loose) = (
                    gram(precision, &points, &kernel, None).unwrap(),
                    loose_gram(precision, &points, &kernel).unwrap(),
                );
                let what = format!("{textbook:?} of {points:?} in {precision}");
                for n_threads in [1, 2] {
                    let products = [&kept, &loose].map(|gram| apply(&**gram, x.as_ref(), n_threads));
                    assert!(same_bits(products[0].as_ref(), products[1].as_ref()), "{what}");
                }
                let entries = [&kept, &loose].map(|gram| {
                    let mut entries = Mat::zeros(rows.len(), n);
                    gram.rows(&rows, entries.as_mut(), &context(2)).unwrap();
                    entries
                });
                assert!(same_bits(entries[0].as_ref(), entries[1].as_ref()), "rows of {what}");
            }
        }
    }
}

#[test]
fn wide_blocks_of_vectors_are_multiplied_like_narrow_ones() {
    let n = 241;
    let points = gaussian_cloud(n, 3, 4).points(Format::F32);
    let operator = gram(Precision::F32, &points, &Kernel::gaussian(0.3).unwrap(), None).unwrap();
    let x = normal_matrix(n, 40, 5);
    let all = apply(&*operator, x.as_ref(), 2);
    for width in [1, 7, 8, 9, 23, 40] {
        let some = apply(&*operator, x.subcols(0, width), 1);
        assert!(same_bits(some.as_ref(), all.subcols(0, width)), "{width} columns");
    }
}

#[test]
fn rows_are_the_columns_of_the_operator_to_the_bit() {
    let n = 120;
    let cloud = gaussian_cloud(n, 4, 6);
    let rows: Vec<usize> = (0..n).rev().collect();
    for (format, precision) in SETUPS {
        let points = cloud.points(format);
        for textbook in &Textbook::ALL {
            let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
            let dense = apply(&*operator, Mat::identity(n, n).as_ref(), 1);
            let mut read = Mat::zeros(n, n);
            operator.rows(&rows, read.as_mut(), &mercer_testkit::context(2)).unwrap();
            let turned = Mat::from_fn(n, n, |i, j| dense[(rows[i], j)]);
            assert!(same_bits(read.as_ref(), turned.as_ref()), "{textbook:?} of {points:?} in {precision}");
        }
    }
}

#[test]
fn data_far_from_the_origin_lose_nothing_in_single_precision() {
    // The expected error is that of distances about the mean: a hundred times less than what differences of squares near
    // a million would leave.
    let cloud = gaussian_cloud(130, 5, 7).shifted(1000.0);
    for textbook in Textbook::ALL.iter().filter(|textbook| textbook.knows_distances_only()) {
        for format in [Format::F32, Format::F64] {
            check(textbook, &cloud.points(format), Precision::F32);
        }
    }
}

#[test]
fn copies_of_a_point_have_the_same_rows_to_the_bit() {
    let (distinct, n) = (60, 180);
    let cloud = duplicated(distinct, 3, 5, 8);
    for (format, precision) in SETUPS {
        let points = cloud.points(format);
        for textbook in &Textbook::ALL {
            check(textbook, &points, precision);
            let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
            let dense = apply(&*operator, Mat::identity(n, n).as_ref(), 2);
            for i in 0..distinct {
                // Away from the copies themselves, whose distance to themselves is made exact.
                for j in (0..n).filter(|j| j % distinct != i) {
                    let copies = [i, i + distinct, i + 2 * distinct].map(|copy| dense[(copy, j)].to_bits());
                    assert!(
                        copies[0] == copies[1] && copies[1] == copies[2],
                        "{textbook:?} of {points:?} in {precision}"
                    );
                }
            }
        }
    }
}

#[test]
fn constant_columns_and_constant_data_are_points_like_any_other() {
    for (format, precision) in SETUPS {
        for textbook in &Textbook::ALL {
            check(textbook, &constant_columns(60, 4, 9).points(format), precision);
            let points = Cloud::from_fn(50, 3, |_, k| k as f64 - 1.0).points(format);
            check(textbook, &points, precision);
            if textbook.knows_distances_only() {
                let operator = gram(precision, &points, &textbook.to_kernel(), None).unwrap();
                let sums = apply(&*operator, Mat::full(50, 1, 1.0).as_ref(), 1);
                assert!((0..50).all(|i| sums[(i, 0)] == 50.0), "{textbook:?} of {points:?}");
            }
        }
    }
}

#[test]
fn a_precomputed_matrix_is_used_as_it_is() {
    for n in SMALL.into_iter().chain(LARGE) {
        let half = normal_matrix(n, n, 10);
        let given = Mat::from_fn(n, n, |i, j| f64::from((half[(i, j)] + half[(j, i)]) as f32));
        let values: Vec<f64> = (0..n * n).map(|at| given[(at / n, at % n)]).collect();
        let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        for points in [Points::from_f64(values, n, n).unwrap(), Points::from_f32(single, n, n).unwrap()] {
            for precision in [Precision::F32, Precision::F64] {
                for store in [None, Some(room_for(2, precision, n)), Some(everything(StoreFormat::Full))] {
                    let operator = gram(precision, &points, &Kernel::Precomputed, store).unwrap();
                    let one_rounding = precision.epsilon() * largest_entry(given.as_ref());
                    let dense = check_symmetric_operator(&*operator, one_rounding);
                    assert!(same_bits(dense.as_ref(), given.as_ref()), "{n} x {n} in {precision} with {store:?}");
                    let mut rows = Mat::zeros(1, n);
                    operator.rows(&[n - 1], rows.as_mut(), &mercer_testkit::context(1)).unwrap();
                    assert!(same_bits(rows.as_ref(), given.subrows(n - 1, 1)));
                    let diagonal = operator.diagonal().unwrap();
                    assert!((0..n).all(|i| diagonal[i].to_bits() == given[(i, i)].to_bits()));
                }
            }
        }
    }
}

#[test]
fn no_points_have_an_empty_matrix_and_no_vectors_an_empty_product() {
    let none = Points::from_f64(vec![], 0, 3).unwrap();
    let operator = gram(Precision::F64, &none, &Kernel::gaussian(1.0).unwrap(), None).unwrap();
    assert_eq!(apply(&*operator, Mat::zeros(0, 2).as_ref(), 2).nrows(), 0);
    let some = gaussian_cloud(5, 3, 11).points(Format::F64);
    let operator = gram(Precision::F64, &some, &Kernel::gaussian(1.0).unwrap(), None).unwrap();
    assert_eq!(apply(&*operator, Mat::zeros(5, 0).as_ref(), 2).ncols(), 0);
    assert_eq!(operator.entries_computed(), 0);
}
