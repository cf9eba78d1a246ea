//! Points in every format, and moments in any grouping.

#![allow(clippy::float_cmp, reason = "these numbers are exact")]
#![allow(clippy::unwrap_used, reason = "the shapes are right")]

use std::sync::atomic::{AtomicUsize, Ordering};

use mercer_testkit::generate::{Random, gaussian_cloud};

use super::*;
use crate::watch::Threads;

/// The same three points in every format.
fn three_formats() -> [Points; 3] {
    [
        Points::from_f32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap(),
        Points::from_f64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap(),
        Points::from_u8(vec![2, 4, 6, 8, 10, 12], 3, 2, 0.5).unwrap(),
    ]
}

#[test]
fn rows_slices_and_selections_are_the_same_in_every_format() {
    for points in three_formats() {
        assert_eq!((points.n_samples(), points.n_features()), (3, 2));
        assert_eq!(points.row(1), [3.0, 4.0]);
        assert_eq!(points.rows(1..3).to_f64(), [3.0, 4.0, 5.0, 6.0]);
        let slice = points.slice(1..3);
        assert_eq!((slice.n_samples(), slice.row(0), slice.row(1)), (2, vec![3.0, 4.0], vec![5.0, 6.0]));
        // A slice of a slice, and a selection from one, count from its first row.
        assert_eq!(slice.slice(1..2).row(0), [5.0, 6.0]);
        assert_eq!(slice.select(&[1, 0, 1]).rows(0..3).to_f64(), [5.0, 6.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((points.slice(2..2).n_samples(), points.select(&[]).n_samples()), (0, 0));
    }
}

#[test]
fn formats_are_kept_and_described() {
    let [single, double, bytes] = three_formats();
    assert_eq!([&single, &double, &bytes].map(Points::precision), [Precision::F32, Precision::F64, Precision::F32]);
    assert_eq!([&single, &double, &bytes].map(Points::size), [24, 48, 6]);
    assert_eq!([&single, &double, &bytes].map(Points::byte_scale), [None, None, Some(0.5)]);
    assert!(bytes.is_bytes() && bytes.select(&[0]).is_bytes() && !single.is_bytes());
    assert_eq!(format!("{single:?} {double:?} {bytes:?}"), "Points(3 x 2 f32) Points(3 x 2 f64) Points(3 x 2 u8)");
    assert!(matches!(bytes.rows(0..1), RowsRef::U8 { values: [2, 4], scale: 0.5 }));
}

#[test]
fn cloning_and_slicing_share_the_values() {
    let points = Points::from_f64(vec![1.0, 2.0, 3.0, 4.0], 2, 2).unwrap();
    let address = |points: &Points| match points.rows(0..1) {
        RowsRef::F64(values) => values.as_ptr(),
        _ => unreachable!("the points are in double precision"),
    };
    assert_eq!(address(&points), address(&points.clone()));
    assert_eq!(address(&points.slice(1..2)), address(&points).wrapping_add(2));
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let cases = [
        (Points::from_f64(vec![], 3, 0), "the data has 3 rows but no columns"),
        (Points::from_f64(vec![1.0; 5], 2, 3), "2 rows of 3 columns need 6 values, but there are 5"),
        (Points::from_f32(vec![1.0; 7], 2, 3), "2 rows of 3 columns need 6 values, but there are 7"),
        (Points::from_u8(vec![1], 2, 3, 1.0), "2 rows of 3 columns need 6 values, but there are 1"),
        (Points::from_u8(vec![1; 6], 2, 3, 0.0), "`scale` must be a positive number, but it is 0"),
        (Points::from_u8(vec![1; 6], 2, 3, f64::NAN), "`scale` must be a positive number, but it is NaN"),
    ];
    for (outcome, expected) in cases {
        assert_eq!(outcome.unwrap_err().to_string(), expected);
    }
    assert_eq!(Points::from_f64(vec![], 0, 3).unwrap().n_samples(), 0);
    assert!(Points::from_f64(vec![], usize::MAX, 2).is_err(), "a shape beyond all memory");
}

#[test]
#[should_panic(expected = "rows 1..4 of 3")]
fn rows_beyond_the_last_are_a_mistake_of_the_caller() {
    let _ = three_formats()[0].slice(1..4);
}

#[test]
fn the_first_value_that_is_not_finite_is_found_by_row_and_column() {
    // Wide enough that the place lies beyond the first chunk that is looked at.
    let (n, d) = (1000, 7);
    for (row, column, value, text) in
        [(0, 0, f64::NAN, "NaN"), (585, 1, f64::INFINITY, "inf"), (999, 6, f64::NEG_INFINITY, "-inf")]
    {
        let mut values = vec![1.0; n * d];
        values[row * d + column] = value;
        values[n * d - 1] = if row == 999 { value } else { f64::NAN };
        let message = format!("row {row}, column {column} is {text}; kernels need finite numbers");
        let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        assert_eq!(Points::from_f64(values, n, d).unwrap().check_finite().unwrap_err().to_string(), message);
        assert_eq!(Points::from_f32(single, n, d).unwrap().check_finite().unwrap_err().to_string(), message);
    }
}

#[test]
fn threads_find_the_same_first_value_that_is_not_finite() {
    let (n, d) = (3 * ALONE_UP_TO / 10, 10);
    let threads = Threads::new(3).unwrap();
    for first in [0, ALONE_UP_TO - 1, ALONE_UP_TO, 2 * ALONE_UP_TO + 77, n * d - 1] {
        let mut values = vec![1.0_f32; n * d];
        for place in [first, (first + 4096).min(n * d - 1), n * d - 1] {
            values[place] = f32::INFINITY;
        }
        let points = Points::from_f32(values, n, d).unwrap();
        let expected = points.check_finite().unwrap_err().to_string();
        assert!(expected.starts_with(&format!("row {}, column {} is inf", first / d, first % d)), "{expected}");
        assert_eq!(points.check_finite_on(&threads).unwrap_err().to_string(), expected);
    }
    assert!(Points::from_f32(vec![1.0; n * d], n, d).unwrap().check_finite_on(&threads).is_ok());
}

#[test]
fn points_that_were_checked_are_not_looked_at_again() {
    struct Counted(Vec<f32>, Arc<AtomicUsize>);
    impl AsRef<[f32]> for Counted {
        fn as_ref(&self) -> &[f32] {
            self.1.fetch_add(1, Ordering::Relaxed);
            &self.0
        }
    }
    let looks = Arc::new(AtomicUsize::new(0));
    let values = |last: f32| Counted(vec![1.0, 2.0, 3.0, last], Arc::clone(&looks));
    let points = Points::from_f32(values(4.0), 2, 2).unwrap().checked().unwrap();
    let parts = [points.clone(), points.slice(1..2), points.recognised()];
    let before = looks.load(Ordering::Relaxed);
    let threads = Threads::new(2).unwrap();
    assert!(parts.iter().all(|points| points.check_finite().is_ok() && points.check_finite_on(&threads).is_ok()));
    assert_eq!(looks.load(Ordering::Relaxed), before);
    // Beside others that were not, they are.
    let bad = Points::from_f32(values(f32::NAN), 2, 2).unwrap();
    for both in [points.followed_by(&bad), bad.followed_by(&points)] {
        assert!(both.unwrap().check_finite().is_err());
    }
    assert_eq!(bad.checked().unwrap_err().to_string(), "row 1, column 1 is NaN; kernels need finite numbers");
}

#[test]
fn rows_of_a_slice_are_counted_from_its_start_in_messages() {
    let points = Points::from_f64(vec![1.0, 2.0, f64::NAN, 4.0], 4, 1).unwrap();
    let error = points.slice(1..4).check_finite().unwrap_err();
    assert!(matches!(error, Error::NotFinite { row: 1, column: 0, .. }), "{error}");
    assert!(points.slice(0..2).check_finite().is_ok());
}

#[test]
fn huge_and_tiny_numbers_are_finite() {
    for x in [f64::MAX, f64::MIN, f64::MIN_POSITIVE, 5e-324, -0.0] {
        assert!(Points::from_f64(vec![x; 5000], 5000, 1).unwrap().check_finite().is_ok(), "{x}");
    }
    assert!(Points::from_u8(vec![255; 10], 5, 2, 1.0).unwrap().check_finite().is_ok());
}

#[test]
fn moments_have_their_hand_computed_values() {
    // Columns (1, 3) and (10, 30): means 2 and 20, squared deviations 2 and 200.
    let moments = Moments::of(&Points::from_f64(vec![1.0, 10.0, 3.0, 30.0], 2, 2).unwrap());
    assert_eq!((moments.n_samples(), moments.mean()), (2, &[2.0, 20.0][..]));
    assert_eq!(moments.variance(), 202.0 / 4.0);
    // About the mean 11 of all four: 100 + 1 + 64 + 361 = 526.
    assert_eq!(moments.total_variance(), 526.0 / 4.0);
}

#[test]
fn moments_are_the_same_in_every_format() {
    for points in three_formats() {
        let moments = Moments::of(&points);
        assert_eq!((moments.mean(), moments.variance()), (&[3.0, 4.0][..], 8.0 / 3.0));
    }
}

#[test]
fn moments_have_the_same_bits_on_a_pool_and_on_none() {
    let cloud = gaussian_cloud(70_000, 2, 4);
    let points = Points::from_f64(cloud.values, cloud.n, cloud.d).unwrap();
    let alone = Moments::of(&points);
    for n_threads in [1, 3] {
        assert_eq!(Threads::new(n_threads).unwrap().run(|| Moments::of(&points)), alone);
    }
}

#[test]
fn means_alone_have_the_bits_of_those_of_moments() {
    let cloud = gaussian_cloud(70_001, 3, 5);
    // As they are, all equal in the first column, far from zero, and of the largest, the smallest and all sizes that single precision has.
    let changes: [fn(usize, f64) -> f64; 6] = [
        |_, x| x,
        |at, x| if at.is_multiple_of(3) { 0.1 } else { x },
        |_, x| 1e6 + x,
        |_, x| if x > 0.0 { f64::from(f32::MAX) } else { -1e38 },
        |_, x| 1e-44 * x,
        |at, x| x * 10.0_f64.powi((at % 77) as i32 - 40),
    ];
    for change in changes {
        let values: Vec<f64> = cloud.values.iter().enumerate().map(|(at, &x)| change(at, x)).collect();
        let single: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        let formats = [
            Points::from_f32(single, cloud.n, cloud.d).unwrap(),
            Points::from_f64(values.iter().map(|x| x * 1e200).collect::<Vec<_>>(), cloud.n, cloud.d).unwrap(),
            Points::from_u8(values.iter().map(|&x| x as u8).collect::<Vec<_>>(), cloud.n, cloud.d, 1e-300).unwrap(),
        ];
        // All of them, not a whole block, and a single one.
        for points in formats.iter().flat_map(|points| [points.clone(), points.slice(5..900), points.slice(7..8)]) {
            let bits = |means: &[f64]| means.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            let expected = bits(Moments::of(&points).mean());
            assert_eq!(bits(&Moments::means_of(&points)), expected, "{points:?}");
            let threads = Threads::new(3).unwrap();
            assert_eq!(bits(&threads.run(|| Moments::means_of(&points))), expected, "{points:?}");
        }
    }
    let none = Points::from_f32(vec![], 0, 2).unwrap();
    assert_eq!(Moments::means_of(&none), [0.0, 0.0]);
}

#[test]
fn moments_add_in_any_grouping_and_order() {
    let cloud = gaussian_cloud(2500, 3, 1);
    let points = Points::from_f64(cloud.values, cloud.n, cloud.d).unwrap();
    let whole = Moments::of(&points);
    let mut random = Random::new(2);
    for _ in 0..20 {
        let mut cuts: Vec<usize> = (0..5).map(|_| (random.uniform() * 2501.0) as usize).collect();
        cuts.extend([0, 2500]);
        cuts.sort_unstable();
        let mut pieces: Vec<Moments> =
            cuts.windows(2).map(|ends| Moments::of(&points.slice(ends[0]..ends[1]))).collect();
        let turn = random.bits() as usize % pieces.len();
        pieces.rotate_left(turn);
        // From the left, and as a tree.
        let mut left = Moments::empty(3);
        for piece in &pieces {
            left.add(piece);
        }
        while pieces.len() > 1 {
            let last = pieces.pop().unwrap();
            let middle = pieces.len() / 2;
            pieces[middle].add(&last);
        }
        for moments in [&left, &pieces[0]] {
            assert_eq!(moments.n_samples(), 2500);
            assert!((moments.variance() - whole.variance()).abs() < 1e-13, "cuts {cuts:?}");
            assert!(moments.mean().iter().zip(whole.mean()).all(|(a, b)| (a - b).abs() < 1e-14), "cuts {cuts:?}");
        }
    }
}

#[test]
fn a_large_offset_does_not_cancel_the_variance() {
    let cloud = gaussian_cloud(3000, 2, 3);
    let [near, far] =
        [0.0, 1e8].map(|shift| Points::from_f64(cloud.clone().shifted(shift).values, cloud.n, cloud.d).unwrap());
    let (near, far) = (Moments::of(&near), Moments::of(&far));
    // Coordinates near 1e8 are rounded to 1.5e-8, which averages out; squares near 1e16 would have lost everything.
    assert!((near.variance() - far.variance()).abs() < 1e-7, "{} and {}", near.variance(), far.variance());
    assert!(near.mean().iter().zip(far.mean()).all(|(a, b)| (a + 1e8 - b).abs() < 1e-7));
}

#[test]
fn no_points_have_no_moments_and_change_none() {
    let empty = Moments::of(&Points::from_f64(vec![], 0, 2).unwrap());
    assert_eq!((empty.n_samples(), empty.mean(), empty.variance()), (0, &[0.0, 0.0][..], 0.0));
    let mut moments = Moments::of(&three_formats()[1]);
    let before = moments.clone();
    moments.add(&empty);
    assert_eq!(moments, before);
    let mut grown = empty;
    grown.add(&before);
    assert_eq!(grown, before);
}

#[test]
#[should_panic(expected = "moments of points of different width")]
fn moments_of_different_width_do_not_add() {
    Moments::empty(2).add(&Moments::empty(3));
}

#[test]
fn samples_are_sorted_distinct_and_depend_on_the_seed_only() {
    let rows = sample_rows(1000, 100, 1);
    assert!(rows.len() == 100 && rows.is_sorted_by(|a, b| a < b) && rows.iter().all(|&row| row < 1000));
    assert_eq!(rows, sample_rows(1000, 100, 1));
    assert_ne!(rows, sample_rows(1000, 100, 2));
    assert_eq!(sample_rows(3, 3, 1), [0, 1, 2]);
    assert_eq!(sample_rows(3, 10, 1), [0, 1, 2]);
    assert!(sample_rows(3, 0, 1).is_empty() && sample_rows(0, 3, 1).is_empty());
}

#[test]
fn standardized_columns_have_mean_zero_and_variance_one_and_constant_ones_become_zero() {
    let mut random = Random::new(5);
    // A column of 0.1 is constant, but its mean in floating point may not be 0.1.
    let values: Vec<f64> = (0..1000).flat_map(|i| [1e6 + random.normal(), 0.1, f64::from(i) * 3.0]).collect();
    let points = Points::from_f64(values, 1000, 3).unwrap();
    let scaled = Scaling::standardizing(&Moments::of(&points)).apply(&points).unwrap();
    let moments = Moments::of(&scaled);
    for (column, (mean, variance)) in moments.mean().iter().zip(moments.column_variances()).enumerate() {
        // The mean is known to about ε · 1e6, and what is divided by is of order one.
        assert!(mean.abs() < 1e-9, "column {column}: {mean:e}");
        let expected = if column == 1 { 0.0 } else { 1.0 };
        assert!((variance - expected).abs() < 1e-9, "column {column}: {variance}");
    }
}

#[test]
fn columns_whose_squares_overflow_are_standardized_as_any_other() {
    let cloud = gaussian_cloud(3000, 2, 7);
    let standardized = |factor: f64| {
        let values: Vec<f64> = cloud.values.iter().map(|x| factor * x).collect();
        let points = Points::from_f64(values, cloud.n, cloud.d).unwrap();
        let moments = Moments::of(&points);
        assert_eq!(moments.column_variances()[0].is_finite(), factor < 1e150);
        Scaling::standardizing(&moments).apply(&points).unwrap().rows(0..cloud.n).to_f64()
    };
    let ordinary = standardized(1.0);
    for factor in [1e160, 1e200, 1e305] {
        for (x, y) in standardized(factor).into_iter().zip(&ordinary) {
            assert!((x - y).abs() < 1e-12, "{factor:e}: {x} and {y}");
        }
    }
    // Blocks without spread of their own, with means whose difference has no square.
    let halves: Vec<f64> = (0..4096).map(|i| if i < 2048 { -1e160 } else { 1e160 }).collect();
    let points = Points::from_f64(halves, 4096, 1).unwrap();
    let scaled = Scaling::standardizing(&Moments::of(&points)).apply(&points).unwrap();
    assert!((scaled.row(0)[0] + 1.0).abs() < 1e-9 && (scaled.row(4095)[0] - 1.0).abs() < 1e-9);
}

#[test]
fn columns_whose_squares_underflow_are_standardized_as_any_other() {
    let cloud = gaussian_cloud(3000, 2, 7);
    let standardized = |factor: f64| {
        let values: Vec<f64> = cloud.values.iter().map(|x| factor * x).collect();
        let points = Points::from_f64(values, cloud.n, cloud.d).unwrap();
        Scaling::standardizing(&Moments::of(&points)).apply(&points).unwrap().rows(0..cloud.n).to_f64()
    };
    let ordinary = standardized(1.0);
    for factor in [1e-150, 1e-160, 3e-162, 1e-200, 1e-300] {
        for (x, y) in standardized(factor).into_iter().zip(&ordinary) {
            assert!((x - y).abs() < 1e-12, "{factor:e}: {x} and {y}");
        }
    }
    // Blocks without spread of their own, with means whose difference has no square.
    let halves: Vec<f64> = (0..4096).map(|i| if i < 2048 { 0.0 } else { 1e-170 }).collect();
    let points = Points::from_f64(halves, 4096, 1).unwrap();
    let scaled = Scaling::standardizing(&Moments::of(&points)).apply(&points).unwrap();
    assert!((scaled.row(0)[0] + 1.0).abs() < 1e-9 && (scaled.row(4095)[0] - 1.0).abs() < 1e-9);
    // A constant whose mean is rounded by what has no square is constant all the same.
    let points = Points::from_f64(vec![1.1e-144; 3000], 3000, 1).unwrap();
    assert_eq!(Scaling::standardizing(&Moments::of(&points)).factor(), [1.0]);
    // A factor is a number even where the numbers are the smallest that there are.
    let points = Points::from_f64(vec![0.0, 5e-324, 1e-323, 0.0], 4, 1).unwrap();
    assert_eq!(Scaling::standardizing(&Moments::of(&points)).factor(), [f64::MAX]);
}

#[test]
fn columns_whose_squares_are_numbers_keep_their_bits_beside_others() {
    let cloud = gaussian_cloud(3000, 1, 7);
    let alone = Moments::of(&Points::from_f64(cloud.values.clone(), cloud.n, 1).unwrap());
    let beside: Vec<f64> = cloud.values.iter().flat_map(|x| [*x, 1e-170 * x, 5.0]).collect();
    let moments = Moments::of(&Points::from_f64(beside, cloud.n, 3).unwrap());
    assert_eq!((moments.mean()[0], moments.column_variances()[0]), (alone.mean()[0], alone.column_variances()[0]));
    assert_eq!((moments.mean()[2], moments.column_variances()[2]), (5.0, 0.0));
}

#[test]
fn a_scaling_is_the_same_in_every_format_and_keeps_bytes_where_it_can() {
    let by_column = Scaling::new(vec![1.0, 2.0], vec![0.5, 4.0]).unwrap();
    let uniform = Scaling::uniform(0.5, 2).unwrap();
    assert_eq!((by_column.common_factor(), uniform.common_factor()), (None, Some(0.5)));
    for points in three_formats() {
        assert_eq!(by_column.apply(&points).unwrap().rows(0..3).to_f64(), [0.0, 0.0, 1.0, 8.0, 2.0, 16.0]);
        let halved = uniform.apply(&points.slice(1..3)).unwrap();
        assert_eq!(halved.rows(0..2).to_f64(), [1.5, 2.0, 2.5, 3.0]);
        assert_eq!(halved.is_bytes(), points.is_bytes());
    }
}

#[test]
fn a_scaling_that_is_undone_leaves_the_points_as_they_were() {
    let doubles = Points::from_f64(vec![1.5, -2.0, 7.25, 1e3, 0.0, -3.0], 3, 2).unwrap();
    let singles = Points::from_f32(vec![1.5, -2.0, 7.25, 1e3, 0.0, -3.0], 3, 2).unwrap();
    let bytes = Points::from_u8(vec![0, 255, 7, 1, 2, 3], 3, 2, 1.0).unwrap();
    let scaling = Scaling::new(vec![0.3, -5.0], vec![0.1, 3.0]).unwrap();
    for (points, epsilon) in [(&doubles, f64::EPSILON), (&singles, f64::from(f32::EPSILON)), (&bytes, 1e-6)] {
        let back = scaling.undo(&scaling.apply(points).unwrap()).unwrap();
        for row in 0..3 {
            for (x, y) in back.row(row).into_iter().zip(points.row(row)) {
                // Two roundings of numbers no larger than a thousand and five.
                assert!((x - y).abs() <= 2e3 * epsilon, "{x} and {y}");
            }
        }
    }
    let uniform = Scaling::uniform(1.0 / 255.0, 2).unwrap();
    let back = uniform.undo(&uniform.apply(&bytes).unwrap()).unwrap();
    assert!(
        matches!(back.rows(0..3), RowsRef::U8 { values: [0, 255, 7, 1, 2, 3], scale: 1.0 }),
        "bytes come back as bytes"
    );
    assert!(scaling.undo(&Points::from_f64(vec![1.0; 3], 1, 3).unwrap()).is_err());
}

#[test]
fn scalings_out_of_their_domain_are_refused() {
    assert!(Scaling::new(vec![], vec![]).is_err());
    assert!(Scaling::new(vec![0.0], vec![1.0, 1.0]).is_err());
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Scaling::uniform(wrong, 2).is_err(), "{wrong}");
    }
    assert!(Scaling::new(vec![f64::NAN], vec![1.0]).is_err());
    let error = Scaling::uniform(1.0, 3).unwrap().apply(&three_formats()[0]).unwrap_err().to_string();
    assert_eq!(error, "the data has 2 columns, but the model was fitted on 3");
}
