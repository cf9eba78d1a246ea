//! Tiles of points that are bytes: integers until the kernel function.

use std::sync::Arc;

use faer::Mat;
use mercer_testkit::generate::bytes;
use mercer_testkit::reference::assert_close;
use mercer_testkit::{Textbook, same_bits, to_kernel};

use super::dense;
use crate::Points;
use crate::kernel::{Kernel, Pairing};
use crate::simd::Isa;
use crate::tile::{BytePanels, ByteTiles, Packing};

/// The kernel between two sets of bytes of `d` features.
fn tiles(kernel: &Kernel, rows: &[u8], columns: &[u8], d: usize, scale: f64, isa: Isa) -> Mat<f64> {
    let pairing = kernel.pairing().expect("a kernel with a formula");
    let points = |values: &[u8]| Points::from_u8(values.to_vec(), values.len() / d, d, scale).expect("whole rows");
    // As the columns are packed, so are the rows that come to meet them.
    let packing = Packing::of(pairing, 1.0, &points(columns));
    let pack = |values: &[u8]| Arc::new(BytePanels::pack(&points(values), &packing, isa));
    let tiles = ByteTiles::new(kernel.clone(), pack(rows), pack(columns), isa);
    let shape = (rows.len() / d, columns.len() / d);
    let all = dense(&tiles, shape, isa, (1, 1));
    assert!(
        same_bits(all.as_ref(), dense(&tiles, shape, isa, (2, 3)).as_ref()),
        "{} depends on the tile",
        kernel.name()
    );
    all
}

fn inner_product(x: &[u8], y: &[u8]) -> i64 {
    x.iter().zip(y).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum()
}

fn squared_distance(x: &[u8], y: &[u8]) -> i64 {
    x.iter().zip(y).map(|(&a, &b)| (i64::from(a) - i64::from(b)).pow(2)).sum()
}

/// `f` of every pair of a row and a column.
fn matrix(rows: &[u8], columns: &[u8], d: usize, f: impl Fn(&[u8], &[u8]) -> f64) -> Mat<f64> {
    let (x, y): (Vec<_>, Vec<_>) = (rows.chunks_exact(d).collect(), columns.chunks_exact(d).collect());
    Mat::from_fn(x.len(), y.len(), |i, j| f(x[i], y[j]))
}

#[test]
fn inner_products_of_bytes_are_the_integers_rounded_once() {
    for d in [1, 2, 3, 4, 5, 7, 64, 785] {
        let (rows, columns) = (bytes(37, d, 1), bytes(52, d, 2));
        let expected = matrix(&rows, &columns, d, |x, y| f64::from(inner_product(x, y) as f32));
        for isa in Isa::available() {
            let found = tiles(&Kernel::linear(), &rows, &columns, d, 1.0, isa);
            assert!(same_bits(found.as_ref(), expected.as_ref()), "{d} features on {isa:?}");
        }
    }
}

#[test]
fn squared_distances_of_bytes_are_the_integers_rounded_once() {
    // Below its edge this kernel is 1 - s / 2³¹: a power of two does not round, and the difference from one rounds as s does.
    let gamma = 2.0_f64.powi(-31);
    let kernel = Kernel::epanechnikov(gamma).expect("positive");
    for d in [1, 2, 3, 4, 5, 7, 64, 785] {
        let (rows, columns) = (bytes(37, d, 3), bytes(52, d, 4));
        let expected = matrix(&rows, &columns, d, |x, y| f64::from(1.0 - squared_distance(x, y) as f32 * gamma as f32));
        for isa in Isa::available() {
            let found = tiles(&kernel, &rows, &columns, d, 1.0, isa);
            assert!(same_bits(found.as_ref(), expected.as_ref()), "{d} features on {isa:?}");
        }
    }
}

#[test]
fn zeros_that_are_passed_over_change_no_sum() {
    // Rows in which one byte in `one_in` is left, at places that differ from row to row; all of them zero in the last case.
    let sparse = |n: usize, d: usize, seed: u64, one_in: usize| -> Vec<u8> {
        let stays = |i: usize| (i * 7919 + i / d * 31).is_multiple_of(one_in) && one_in < 1000;
        bytes(n, d, seed).into_iter().enumerate().map(|(i, byte)| if stays(i) { byte | 1 } else { 0 }).collect()
    };
    let gamma = 2.0_f64.powi(-31);
    let kernel = Kernel::epanechnikov(gamma).expect("positive");
    for (d, one_in) in [(1, 2), (4, 3), (65, 2), (65, 17), (784, 5), (784, 101), (64, 1000)] {
        let (rows, columns) = (sparse(37, d, 8, one_in), sparse(52, d, 9, one_in));
        let inner = matrix(&rows, &columns, d, |x, y| f64::from(inner_product(x, y) as f32));
        let apart = matrix(&rows, &columns, d, |x, y| f64::from(1.0 - squared_distance(x, y) as f32 * gamma as f32));
        for isa in Isa::available() {
            let found = tiles(&Kernel::linear(), &rows, &columns, d, 1.0, isa);
            assert!(same_bits(found.as_ref(), inner.as_ref()), "products, {d} features, one in {one_in}, {isa:?}");
            let found = tiles(&kernel, &rows, &columns, d, 1.0, isa);
            assert!(same_bits(found.as_ref(), apart.as_ref()), "distances, {d} features, one in {one_in}, {isa:?}");
        }
    }
}

#[test]
fn every_kernel_of_bytes_matches_the_textbook_with_the_rounding_of_its_function_only() {
    let (d, scale) = (19, 1.0 / 128.0);
    let (rows, columns) = (bytes(37, d, 5), bytes(52, d, 6));
    for textbook in &Textbook::ALL {
        let kernel = to_kernel!(textbook, Kernel);
        let pairing = kernel.pairing().expect("a kernel with a formula");
        if !ByteTiles::suits(pairing, d) {
            continue;
        }
        let scalar = |x: &[u8], y: &[u8]| match pairing {
            Pairing::SquaredDistance => squared_distance(x, y) as f64 * scale * scale,
            _ => inner_product(x, y) as f64 * scale * scale,
        };
        let expected = matrix(&rows, &columns, d, |x, y| textbook.of_scalar(scalar(x, y)));
        // The scalar is an integer that is rounded once, scaled once, and put through the formula.
        let tolerance = matrix(&rows, &columns, d, |x, y| {
            let s = scalar(x, y);
            let spread = textbook.of_scalar(s * (1.0 + 3.0 * f64::from(f32::EPSILON))) - textbook.of_scalar(s);
            spread.abs() + 8.0 * f64::from(f32::EPSILON) * textbook.of_scalar(s).abs().max(1.0)
        });
        for isa in Isa::available() {
            let found = tiles(&kernel, &rows, &columns, d, scale, isa);
            assert_close(
                found.as_ref(),
                expected.as_ref(),
                |i, j| tolerance[(i, j)],
                &format!("{textbook:?} on {isa:?}"),
            );
        }
    }
}

#[test]
fn copies_of_bytes_have_distance_zero_exactly() {
    let d = 31;
    let once = bytes(10, d, 7);
    let twice = [once.clone(), once].concat();
    let kernel = Kernel::exponential(10.0).expect("positive");
    for isa in Isa::available() {
        let found = tiles(&kernel, &twice, &twice, d, 1.0, isa);
        assert!(
            (0..10).all(|i| found[(i, i)] == 1.0 && found[(i, i + 10)] == 1.0 && found[(i + 10, i)] == 1.0),
            "{isa:?}"
        );
    }
}

#[test]
fn the_longest_rows_of_bytes_still_fit_their_integers() {
    let d = 33_000;
    assert!(ByteTiles::suits(Pairing::SquaredDistance, d) && !ByteTiles::suits(Pairing::SquaredDistance, d + 1));
    let rows = [vec![255; d], vec![0; d]].concat();
    let furthest = 255.0 * 255.0 * d as f64;
    let linear = matrix(&rows, &rows, d, |x, y| f64::from(inner_product(x, y) as f32));
    let kernel = Kernel::epanechnikov(0.5 / furthest).expect("positive");
    for isa in Isa::available() {
        assert!(same_bits(tiles(&Kernel::linear(), &rows, &rows, d, 1.0, isa).as_ref(), linear.as_ref()), "{isa:?}");
        let found = tiles(&kernel, &rows, &rows, d, 1.0, isa);
        assert_eq!((found[(0, 0)], found[(1, 1)]), (1.0, 1.0), "{isa:?}");
        assert!((found[(0, 1)] - 0.5).abs() < 1e-6 && (found[(1, 0)] - 0.5).abs() < 1e-6, "{isa:?}");
    }
}

#[test]
fn only_inner_products_and_squared_distances_are_made_of_bytes() {
    assert!(ByteTiles::suits(Pairing::InnerProduct, 784) && ByteTiles::suits(Pairing::SquaredDistance, 784));
    assert!(!ByteTiles::suits(Pairing::ManhattanDistance, 784) && !ByteTiles::suits(Pairing::Cosine, 784));
}
