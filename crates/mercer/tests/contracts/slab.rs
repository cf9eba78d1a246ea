//! Products of new points with old ones.

use faer::Mat;
use mercer::gram::slab_product;
use mercer::{Kernel, Points, Precision};
use mercer_testkit::contract::THREAD_COUNTS;
use mercer_testkit::generate::{gaussian_cloud, normal_matrix};
use mercer_testkit::{Expected, Format, Textbook, context, same_bits};

use super::SETUPS;

fn check(textbook: &Textbook, queries: &Points, points: &Points, precision: Precision) {
    let vectors = normal_matrix(points.n_samples(), 3, 1);
    let product = |n_threads| {
        slab_product(&textbook.to_kernel(), queries, points, vectors.as_ref(), precision, &context(n_threads)).unwrap()
    };
    let found = product(1);
    let what = format!("{textbook:?} of {queries:?} with {points:?} in {precision}");
    let expected = Expected::between(textbook, queries, points, precision).times(vectors.as_ref());
    expected.check_entries(found.as_ref(), &what);
    for n_threads in THREAD_COUNTS {
        assert!(same_bits(product(n_threads).as_ref(), found.as_ref()), "{what} depends on the threads");
    }
}

#[test]
fn new_points_are_multiplied_like_the_textbook_says() {
    for (n_queries, n) in [(1, 1), (1, 100), (47, 49), (241, 3), (130, 250)] {
        for (format, precision) in SETUPS {
            let queries = gaussian_cloud(n_queries, 6, 2).points(format);
            let points = gaussian_cloud(n, 6, 3).points(format);
            for textbook in &Textbook::ALL {
                check(textbook, &queries, &points, precision);
            }
        }
    }
}

#[test]
fn queries_and_points_may_have_different_formats() {
    let (queries, points) = (gaussian_cloud(40, 5, 4), gaussian_cloud(60, 5, 5));
    for of_queries in Format::ALL {
        for of_points in Format::ALL {
            for textbook in &Textbook::ALL {
                check(textbook, &queries.points(of_queries), &points.points(of_points), Precision::F32);
            }
        }
    }
    // Bytes of another scale are other numbers.
    let coarse = Points::from_u8(gaussian_cloud(40, 5, 6).bytes(), 40, 5, 1.0 / 16.0).unwrap();
    for textbook in &Textbook::ALL {
        check(textbook, &coarse, &points.points(Format::U8), Precision::F32);
    }
}

#[test]
fn queries_may_differ_where_all_points_are_the_same() {
    let queries = gaussian_cloud(40, 6, 11);
    let mut points = gaussian_cloud(70, 6, 12);
    for value in [0.0, 0.75, -1.5] {
        // Three columns, or all of them, in which points do not vary: they are not packed.
        for columns in [&[0, 2, 5][..], &[0, 1, 2, 3, 4, 5]] {
            for row in points.values.chunks_exact_mut(6) {
                for &column in columns {
                    row[column] = value;
                }
            }
            for (format, precision) in SETUPS {
                for textbook in &Textbook::ALL {
                    check(textbook, &queries.points(format), &points.points(format), precision);
                }
            }
            check(
                &Textbook::Gaussian { gamma: 0.3 },
                &queries.points(Format::F64),
                &points.points(Format::U8),
                Precision::F32,
            );
        }
        points = gaussian_cloud(70, 6, 12);
    }
}

#[test]
fn points_far_from_the_origin_are_moved_with_their_queries() {
    let queries = gaussian_cloud(40, 4, 7).shifted(1000.0).points(Format::F32);
    let points = gaussian_cloud(70, 4, 8).shifted(1000.0).points(Format::F32);
    for textbook in Textbook::ALL.iter().filter(|textbook| textbook.knows_distances_only()) {
        check(textbook, &queries, &points, Precision::F32);
    }
}

#[test]
fn more_queries_than_are_packed_at_a_time_are_all_answered() {
    let queries = gaussian_cloud(7680 + 7, 2, 9).points(Format::F32);
    let points = gaussian_cloud(10, 2, 10).points(Format::F32);
    check(&Textbook::Gaussian { gamma: 0.3 }, &queries, &points, Precision::F32);
}

#[test]
fn rows_of_a_precomputed_matrix_are_multiplied_as_they_are() {
    let (n_queries, n) = (33, 50);
    let given = normal_matrix(n_queries, n, 11);
    let rows = Points::from_f64((0..n_queries * n).map(|at| given[(at / n, at % n)]).collect::<Vec<_>>(), n_queries, n);
    let square = Points::from_f64(vec![0.0; n * n], n, n).unwrap();
    let unit = Mat::<f64>::identity(n, n);
    let precision = Precision::F64;
    let found =
        slab_product(&Kernel::Precomputed, &rows.unwrap(), &square, unit.as_ref(), precision, &context(2)).unwrap();
    assert!(same_bits(found.as_ref(), given.as_ref()));
}

#[test]
fn no_queries_and_no_vectors_give_empty_products() {
    let (none, some) = (Points::from_f64(vec![], 0, 3).unwrap(), gaussian_cloud(20, 3, 12).points(Format::F64));
    let kernel = Kernel::gaussian(1.0).unwrap();
    let product = |queries: &Points, n_vectors: usize| {
        slab_product(&kernel, queries, &some, Mat::zeros(20, n_vectors).as_ref(), Precision::F64, &context(2)).unwrap()
    };
    assert_eq!((product(&none, 2).nrows(), product(&none, 2).ncols()), (0, 2));
    assert_eq!((product(&some, 0).nrows(), product(&some, 0).ncols()), (20, 0));
}
