//! What is kept between products, and what it costs.

use faer::Mat;
use mercer::gram::{Store, StoreFormat};
use mercer::{Kernel, Precision};
use mercer_testkit::contract::{THREAD_COUNTS, apply};
use mercer_testkit::generate::{gaussian_cloud, normal_matrix};
use mercer_testkit::operator::{block_size, everything, gram, room_for};
use mercer_testkit::{Format, Textbook, same_bits};

use super::SETUPS;

const PRECISIONS: [Precision; 2] = [Precision::F32, Precision::F64];

/// Entries on and below the diagonal of a matrix of order `n` in tiles: whole tiles on the diagonal.
fn entries_of_a_pass(n: usize, block: usize) -> u64 {
    let blocks: Vec<usize> = (0..n).step_by(block).map(|start| block.min(n - start)).collect();
    let squares: usize = blocks.iter().map(|rows| rows * rows).sum();
    usize::midpoint(n * n, squares) as u64
}

#[test]
fn stored_tiles_give_the_same_bits_as_computed_ones() {
    for n in [3, 49, 241, 500] {
        for (format, precision) in SETUPS {
            let points = gaussian_cloud(n, 4, 1).points(format);
            let x = normal_matrix(n, 6, 2);
            for textbook in &Textbook::ALL {
                let kernel = textbook.to_kernel();
                let tiled = apply(&*gram(precision, &points, &kernel, None).unwrap(), x.as_ref(), 1);
                for store in [room_for(1, precision, n), room_for(7, precision, n), everything(StoreFormat::Full)] {
                    let operator = gram(precision, &points, &kernel, Some(store)).unwrap();
                    for n_threads in THREAD_COUNTS {
                        let stored = apply(&*operator, x.as_ref(), n_threads);
                        assert!(
                            same_bits(stored.as_ref(), tiled.as_ref()),
                            "{textbook:?} of {points:?} with {store:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_product_from_fixed_point_uses_the_bits_of_the_later_ones() {
    let points = gaussian_cloud(300, 4, 3).points(Format::F32);
    let kernel = Kernel::gaussian(0.2).unwrap();
    let x = normal_matrix(300, 3, 4);
    for precision in PRECISIONS {
        let partial = Store { format: StoreFormat::Fixed16, ..room_for(5, precision, 300) };
        for store in [everything(StoreFormat::Fixed16), partial] {
            let operator = gram(precision, &points, &kernel, Some(store)).unwrap();
            let first = apply(&*operator, x.as_ref(), 2);
            assert!(same_bits(first.as_ref(), apply(&*operator, x.as_ref(), 3).as_ref()), "{store:?} in {precision}");
        }
    }
}

#[test]
fn fixed_point_keeps_the_entries_to_half_a_level() {
    let points = gaussian_cloud(100, 3, 5).points(Format::F64);
    let kernel = Kernel::laplacian(0.4).unwrap();
    let [exact, kept] = [None, Some(everything(StoreFormat::Fixed16))].map(|store| {
        let operator = gram(Precision::F64, &points, &kernel, store).unwrap();
        apply(&*operator, Mat::identity(100, 100).as_ref(), 2)
    });
    let gaps = (0..100).flat_map(|i| (0..100).map(move |j| (i, j))).map(|at| (exact[at] - kept[at]).abs());
    let largest = gaps.fold(0.0, f64::max);
    let half_a_level = StoreFormat::Fixed16.entry_error();
    assert!((0.9 * half_a_level..=half_a_level + f64::EPSILON).contains(&largest), "{largest:e}");
}

#[test]
fn without_a_store_every_product_computes_half_the_matrix() {
    for n in [1, 49, 241, 500] {
        for precision in PRECISIONS {
            let points = gaussian_cloud(n, 2, 6).points(Format::F64);
            let operator = gram(precision, &points, &Kernel::gaussian(1.0).unwrap(), None).unwrap();
            let once = entries_of_a_pass(n, block_size(precision, n));
            for pass in 1..=3 {
                apply(&*operator, normal_matrix(n, 1, 7).as_ref(), 2);
                assert_eq!(operator.entries_computed(), pass * once, "{n} points in {precision}");
            }
            assert_eq!(operator.stored_share(), 0.0);
        }
    }
}

#[test]
fn with_room_for_everything_the_matrix_is_computed_once() {
    for n in [1, 49, 241, 500] {
        for precision in PRECISIONS {
            for format in [StoreFormat::Full, StoreFormat::Fixed16] {
                let points = gaussian_cloud(n, 2, 8).points(Format::F64);
                let kernel = Kernel::gaussian(1.0).unwrap();
                let operator = gram(precision, &points, &kernel, Some(everything(format))).unwrap();
                for _ in 0..3 {
                    apply(&*operator, normal_matrix(n, 2, 9).as_ref(), 3);
                }
                assert_eq!(operator.entries_computed(), entries_of_a_pass(n, block_size(precision, n)));
                assert_eq!(operator.stored_share(), 1.0);
            }
        }
    }
}

#[test]
fn with_room_for_some_tiles_only_the_others_are_computed_again() {
    for precision in PRECISIONS {
        // Whole tiles, an even number of blocks of them: the first tiles of the order are those on the diagonal.
        let block = block_size(precision, 384);
        let n = 384 / block * block;
        let (n_blocks, kept) = ((n / block) as u64, 2);
        assert!(n_blocks.is_multiple_of(2) && block_size(precision, n) == block);
        let points = gaussian_cloud(n, 2, 10).points(Format::F64);
        let store = room_for(kept, precision, n);
        let operator = gram(precision, &points, &Kernel::gaussian(1.0).unwrap(), Some(store)).unwrap();
        let n_tiles = n_blocks * (n_blocks + 1) / 2;
        assert!((operator.stored_share() - kept as f64 / n_tiles as f64).abs() < 1e-15);
        let (once, tile) = (entries_of_a_pass(n, block), (block * block) as u64);
        for pass in 1..=3 {
            apply(&*operator, normal_matrix(n, 1, 11).as_ref(), 2);
            assert_eq!(operator.entries_computed(), pass * once - (pass - 1) * kept as u64 * tile);
        }
    }
}

#[test]
fn rows_cost_their_length() {
    let points = gaussian_cloud(70, 2, 12).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(1.0).unwrap(), None).unwrap();
    operator.rows(&[3, 5, 3], Mat::zeros(3, 70).as_mut(), &mercer_testkit::context(1)).unwrap();
    assert_eq!(operator.entries_computed(), 3 * 70);
    operator.diagonal().unwrap();
    assert_eq!(operator.entries_computed(), 3 * 70);
}

#[test]
fn computing_the_tiles_on_their_own_fills_the_store() {
    let (n, context) = (200, mercer_testkit::context(2));
    let points = gaussian_cloud(n, 2, 13).points(Format::F32);
    let kernel = Kernel::gaussian(1.0).unwrap();
    let once = entries_of_a_pass(n, block_size(Precision::F32, n));
    let full = everything(StoreFormat::Full);
    let operator = mercer::gram::KernelGram::<f32>::new(&points, &kernel, Some(full)).unwrap();
    assert_eq!(operator.compute_tiles(&context).unwrap(), once);
    assert_eq!(operator.compute_tiles(&context).unwrap(), 0);
    let x = normal_matrix(n, 2, 14);
    let tiled = gram(Precision::F32, &points, &kernel, None).unwrap();
    assert!(same_bits(apply(&operator, x.as_ref(), 2).as_ref(), apply(&*tiled, x.as_ref(), 1).as_ref()));
    assert_eq!(operator.entries_computed(), once);
}
