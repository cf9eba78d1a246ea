//! Products with kernel matrices and ridge pre-images, against the textbook.
#![allow(clippy::unwrap_used)]

use faer::Mat;
use mercer::kernel::PairFunction;
use mercer::preimage::RidgePreimage;
use mercer::watch::Threads;
use mercer::{Center, ErrorKind, GramChoice, Kernel, KernelProduct, MemoryBudget, Points, Precision, Watch};

fn values(n: usize, d: usize, seed: usize) -> Vec<f64> {
    (0..n * d).map(|i| (((i + seed) * 37) % 101) as f64 / 40.0 - 1.0).collect()
}

fn points(n: usize, d: usize, seed: usize) -> Points {
    Points::from_f64(values(n, d, seed), n, d).unwrap()
}

fn vectors(n: usize, b: usize) -> Mat<f64> {
    Mat::from_fn(n, b, |i, j| ((i * 13 + j * 7) % 17) as f64 / 8.0 - 1.0)
}

/// The matrix by definition.
fn matrix(kernel: &Kernel, x: &Points, y: &Points) -> Mat<f64> {
    Mat::from_fn(x.n_samples(), y.n_samples(), |i, j| kernel.evaluate(&x.row(i), &y.row(j)).unwrap())
}

/// `k - column means - row means + mean`, for rows that need not be the points themselves.
fn centered(k: &Mat<f64>, own: &Mat<f64>) -> Mat<f64> {
    let n = own.nrows() as f64;
    let columns: Vec<f64> = (0..own.ncols()).map(|j| own.col(j).iter().sum::<f64>() / n).collect();
    let mean = columns.iter().sum::<f64>() / n;
    Mat::from_fn(k.nrows(), k.ncols(), |i, j| k[(i, j)] - k.row(i).iter().sum::<f64>() / n - columns[j] + mean)
}

fn custom() -> Kernel {
    Kernel::custom(PairFunction::new("agreement", |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a.min(*b)).sum()))
}

#[test]
fn products_are_those_of_the_matrix_for_points_and_queries_centred_and_not() {
    let (x, q, v) = (points(90, 3, 0), points(25, 3, 5), vectors(90, 4));
    for kernel in [Kernel::gaussian(0.7).unwrap(), Kernel::polynomial(0.5, 1.0, 2).unwrap(), custom()] {
        for (queries, k) in [(None, matrix(&kernel, &x, &x)), (Some(&q), matrix(&kernel, &q, &x))] {
            for center in [Center::No, Center::Yes] {
                let product = KernelProduct::new(kernel.clone()).center(center);
                let (result, record) = product.multiply(&x, v.as_ref(), queries, &Watch::new()).unwrap();
                let k = if center == Center::Yes { centered(&k, &matrix(&kernel, &x, &x)) } else { k.clone() };
                let error = (&result - &k * &v).norm_max();
                // Sums of 90 products of numbers up to about ten, in double precision.
                assert!(error < 1e-11, "{} {center:?}: {error:e}", kernel.name());
                assert!(record.measured_error.unwrap() < 1e-14, "{record:?}");
                assert_eq!((record.n_rows, record.n_vectors), (result.nrows(), 4));
            }
        }
    }
}

#[test]
fn many_vectors_compute_the_matrix_once_if_it_is_kept_and_again_if_it_is_not() {
    let (x, v) = (points(90, 3, 0), vectors(90, 600));
    let kernel = Kernel::gaussian(0.7).unwrap();
    let run =
        |gram| KernelProduct::new(kernel.clone()).gram(gram).multiply(&x, v.as_ref(), None, &Watch::new()).unwrap();
    let (kept, (again, recomputed)) = (run(GramChoice::Auto).1, run(GramChoice::Tiled));
    assert_eq!((kept.gram.as_str(), recomputed.gram.as_str()), ("stored", "tiled"));
    assert_eq!(recomputed.kernel_entries, 3 * kept.kernel_entries);
    assert_eq!(again, run(GramChoice::Stored).0);
    let few = KernelProduct::new(kernel).multiply(&x, v.as_ref().subcols(0, 2), None, &Watch::new()).unwrap().1;
    assert_eq!(few.gram, "tiled", "what is used once is not kept");
}

#[test]
fn a_tolerance_decides_between_the_precisions() {
    let single: Vec<f32> = values(90, 3, 0).into_iter().map(|x| x as f32).collect();
    let (x, v) = (Points::from_f32(single, 90, 3).unwrap(), vectors(90, 2));
    let product = KernelProduct::new(Kernel::gaussian(0.7).unwrap());
    let run = |product: &KernelProduct| product.multiply(&x, v.as_ref(), None, &Watch::new());
    assert_eq!(run(&product).unwrap().1.precision, Precision::F32);
    // Not below what single precision is not tried for, but below what it reaches here: it is tried, and gives way.
    assert_eq!(run(&product.clone().tolerance(1e-12)).unwrap().1.precision, Precision::F64);
    let stubborn = run(&product.clone().tolerance(1e-12).precision(Precision::F32)).unwrap_err();
    let stubborn = stubborn.to_string();
    assert!(stubborn.starts_with("`tolerance` must be at least"), "{stubborn}");
    assert!(stubborn.ends_with(", which is what f32 leaves, but it is 1e-12"), "{stubborn}");
    // All rows are looked at where there are no more than a hundred.
    assert_eq!(run(&product).unwrap().1.checked_rows, 90);
    let unchecked = run(&product.checked_rows(0)).unwrap().1;
    assert_eq!((unchecked.measured_error, unchecked.checked_rows), (None, 0));
}

#[test]
fn wrong_products_are_refused_with_what_is_right() {
    let (x, v) = (points(9, 3, 0), vectors(8, 2));
    let product = KernelProduct::new(Kernel::linear());
    let text = |outcome: mercer::Result<_>| outcome.map(|_: (Mat<f64>, _)| ()).unwrap_err().to_string();
    let watch = Watch::new();
    assert_eq!(
        text(product.multiply(&x, v.as_ref(), None, &watch)),
        "`vectors` must be of 9 rows, one per point, but it is 8"
    );
    let v = vectors(9, 2);
    assert_eq!(
        text(product.multiply(&x, v.as_ref(), Some(&points(4, 2, 0)), &watch)),
        "`queries` must be of 3 columns, as the points are, but it is 2"
    );
    let hole = Points::from_f64(vec![0.0, 1.0, f64::INFINITY], 1, 3).unwrap();
    assert_eq!(
        text(product.multiply(&x, v.as_ref(), Some(&hole), &watch)),
        "`queries` must be finite, but it is inf in row 0, column 2"
    );
    let small = product.clone().memory(MemoryBudget::Bytes(100)).multiply(&x, v.as_ref(), None, &watch).unwrap_err();
    assert_eq!(small.kind(), ErrorKind::OverBudget);
    let mut broken = v.clone();
    broken[(3, 1)] = f64::NAN;
    assert_eq!(
        text(product.multiply(&x, broken.as_ref(), None, &watch)),
        "`vectors` must be finite, but it is NaN in row 3, column 1"
    );
    let crooked = KernelProduct::new(Kernel::Precomputed).multiply(&x, v.as_ref(), None, &watch);
    assert_eq!(text(crooked), "the precomputed matrix must be square, but it has 9 rows and 3 columns");
}

#[test]
fn a_record_names_the_method_in_words_that_can_be_asked_for() {
    let (x, queries, v) = (points(30, 3, 0), points(7, 3, 1), vectors(30, 2));
    let product = KernelProduct::new(Kernel::gaussian(0.4).unwrap());
    for (gram, against, expected) in [
        (GramChoice::Auto, None, ("tiled", "tiled")),
        (GramChoice::Auto, Some(&queries), ("tiled", "tiled")),
        (GramChoice::Stored, None, ("stored", "stored")),
        (GramChoice::Expansion, Some(&queries), ("tiled", "tiled")),
    ] {
        let made = product.clone().gram(gram).multiply(&x, v.as_ref(), against, &Watch::new());
        let (_, record) = made.unwrap();
        assert_eq!((record.gram.as_str(), record.method.as_str()), expected, "{gram}");
    }
}

#[test]
fn ridge_coefficients_solve_their_equation() {
    let (scores, x, alpha) = (points(40, 2, 3), points(40, 5, 0), 0.3);
    for kernel in [Kernel::gaussian(0.5).unwrap(), Kernel::linear(), custom()] {
        // The minimum of coordinates is positive semi-definite for coordinates that are not negative only.
        let scores = if kernel.name() == "agreement" { shifted(&scores, 2.0) } else { scores.clone() };
        let ridge = RidgePreimage::new(kernel.clone()).alpha(alpha);
        let coefficients = ridge.fit(&scores, &x, &Threads::new(2).unwrap(), &Watch::new()).unwrap();
        let mut k = matrix(&kernel, &scores, &scores);
        (0..40).for_each(|i| k[(i, i)] += alpha);
        let back = &k * &coefficients;
        let error =
            (0..40).map(|i| (0..5).map(|j| (back[(i, j)] - x.row(i)[j]).abs()).fold(0.0, f64::max)).fold(0.0, f64::max);
        // The condition number is about 200 / 0.3, so a thousand units in the last place.
        assert!(error < 1e-11, "{}: {error:e}", kernel.name());
    }
}

#[test]
fn ridge_coefficients_of_several_panels_solve_their_equation_on_any_number_of_threads() {
    let (n, d) = (1000, 70);
    let (scores, x) = (points(n, 3, 3), points(n, d, 0));
    let kernel = Kernel::gaussian(0.5).unwrap();
    let ridge = RidgePreimage::new(kernel.clone()).alpha(0.3);
    let fit = |threads| ridge.fit(&scores, &x, &Threads::new(threads).unwrap(), &Watch::new()).unwrap();
    let coefficients = fit(2);
    assert_eq!(coefficients, fit(1));
    let mut k = matrix(&kernel, &scores, &scores);
    (0..n).for_each(|i| k[(i, i)] += 0.3);
    let error = (&k * &coefficients - Mat::from_fn(n, d, |i, j| x.row(i)[j])).norm_max();
    // The condition number is below 1000 / 0.3.
    assert!(error < 1e-10, "{error:e}");
}

#[test]
fn a_ridge_regression_stops_when_it_is_told_to() {
    let (scores, x) = (points(600, 2, 3), points(600, 5, 0));
    let watch = Watch::new().time_limit(std::time::Duration::ZERO);
    let error = RidgePreimage::new(Kernel::linear()).fit(&scores, &x, &Threads::new(1).unwrap(), &watch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

fn shifted(points: &Points, by: f64) -> Points {
    let values: Vec<f64> = (0..points.n_samples()).flat_map(|i| points.row(i)).map(|x| x + by).collect();
    Points::from_f64(values, points.n_samples(), points.n_features()).unwrap()
}

#[test]
fn a_ridge_that_cannot_be_had_says_why() {
    let (scores, x) = (points(40, 2, 3), points(40, 5, 0));
    let (threads, watch) = (Threads::new(1).unwrap(), Watch::new());
    let text = |ridge: RidgePreimage| ridge.fit(&scores, &x, &threads, &watch).unwrap_err().to_string();
    let linear = || RidgePreimage::new(Kernel::linear());
    assert!(
        text(linear().alpha(0.0)).starts_with("`alpha` must be larger, but it is 0:"),
        "{}",
        text(linear().alpha(0.0))
    );
    assert_eq!(text(linear().alpha(-1.0)), "`alpha` must be a number that is not negative, but it is -1");
    assert!(text(linear().memory(MemoryBudget::Bytes(1000))).starts_with("learning pre-images of 40 points needs"));
    assert!(text(RidgePreimage::new(Kernel::Precomputed)).contains("it has no values between scores"));
    let short = linear().fit(&points(39, 2, 0), &x, &threads, &watch).unwrap_err().to_string();
    assert_eq!(short, "`scores` must be as many rows as there are points (40), but it is 39");
}

#[test]
fn the_measured_error_of_a_centred_product_is_that_of_what_is_returned() {
    // Far from the origin, single precision leaves a linear kernel little; centred values are small beside what was summed.
    let values: Vec<f32> = (0..1500).map(|i| 1000.0 + ((i * 37) % 101) as f32 / 50.0).collect();
    let points = Points::from_f32(values, 300, 5).unwrap();
    let vectors = Mat::from_fn(300, 1, |i, _| ((i * 7) % 13) as f64 - 6.0);
    let settings = KernelProduct::new(Kernel::linear()).center(Center::Yes);
    let (rough, record) =
        settings.clone().precision(Precision::F32).multiply(&points, vectors.as_ref(), None, &Watch::new()).unwrap();
    let (exact, _) =
        settings.precision(Precision::F64).multiply(&points, vectors.as_ref(), None, &Watch::new()).unwrap();
    let error = (&rough - &exact).norm_max() / exact.norm_max();
    let claimed = record.measured_error.unwrap();
    assert!(claimed >= 0.3 * error, "claimed {claimed:e}, true {error:e}");
}

#[test]
fn queries_keep_to_the_budget_and_keep_no_tiles() {
    let points = Points::from_f64((0..400).map(f64::from).collect::<Vec<_>>(), 100, 4).unwrap();
    let vectors = Mat::full(100, 1, 1.0);
    let settings = KernelProduct::new(Kernel::linear());
    let refused = |settings: KernelProduct| {
        settings.multiply(&points, vectors.as_ref(), Some(&points), &Watch::new()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(settings.clone().memory(MemoryBudget::Bytes(1))),
        "a product of 100 queries and 100 points with 1 vectors needs 9.4 KiB, but the memory budget is 1 B; a budget of 9.4 KiB \
         would do"
    );
    let more = Points::from_f64((0..428).map(f64::from).collect::<Vec<_>>(), 107, 4).unwrap();
    let vector = Mat::full(107, 1, 1.0);
    let small = settings.clone().memory(MemoryBudget::Bytes(1));
    let error = small.multiply(&more, vector.as_ref(), Some(&more), &Watch::new()).unwrap_err().to_string();
    assert!(error.contains("needs 10.1 KiB,") && error.ends_with("; a budget of 10.1 KiB would do"), "{error}");
    assert_eq!(
        refused(settings.gram(GramChoice::Stored)),
        "`gram` must be auto or tiled with `queries`: no tile is used twice, but it is stored"
    );
}

#[test]
fn an_expansion_is_found_where_an_error_is_allowed_and_it_pays() {
    let n = 20_000;
    // Golden ratios in three directions: spread evenly, no two alike.
    let spread = |i: usize| [0.618_034, 0.754_878, 0.819_173].map(|step| (i as f64 * step).fract());
    let x = Points::from_f64((0..n).flat_map(spread).collect::<Vec<_>>(), n, 3).unwrap();
    let (queries, v) = (x.slice(0..50), vectors(n, 1));
    let plain = KernelProduct::new(Kernel::gaussian(5.0).unwrap());
    let exact = plain.clone().multiply(&x, v.as_ref(), Some(&queries), &Watch::new()).unwrap().0;
    let gram = |product: &KernelProduct| {
        let (found, record) = product.multiply(&x, v.as_ref(), Some(&queries), &Watch::new()).unwrap();
        assert!((found - &exact).norm_max() <= 1e-5 * v.col(0).norm_l1(), "{record:?}");
        record.gram
    };
    // Fifty rows are not worth a grid, and without a tolerance nobody has allowed an error; nor has whoever asks for tiles or a precision.
    let allowed = plain.clone().tolerance(1e-5);
    assert_eq!([gram(&plain), gram(&allowed)].map(|gram| gram == "expansion"), [false, false]);
    let whole = |product: &KernelProduct| {
        let (found, record) = product.multiply(&x, v.as_ref(), None, &Watch::new()).unwrap();
        assert!((found.subrows(0, 50) - &exact).norm_max() <= 1e-5 * v.col(0).norm_l1(), "{record:?}");
        record.gram
    };
    assert_eq!(whole(&allowed), "expansion");
    assert_eq!(whole(&allowed.clone().gram(GramChoice::Tiled)), "tiled");
    assert_eq!(whole(&allowed.precision(Precision::F64)), "tiled");
}

#[test]
fn tiles_that_cannot_promise_the_tolerance_say_so() {
    // Distances of 1e8 bandwidths: their rounding alone is beyond the tolerance.
    let far = Points::from_f64(values(90, 3, 0).iter().map(|x| 1e4 * x).collect::<Vec<_>>(), 90, 3).unwrap();
    let product = KernelProduct::new(Kernel::gaussian(0.5).unwrap()).gram(GramChoice::Expansion).tolerance(1e-10);
    let (_, record) = product.multiply(&far, vectors(90, 1).as_ref(), None, &Watch::new()).unwrap();
    let bound = record.bound.unwrap();
    assert!(record.gram == "tiled" && bound > 1e-10, "{record:?}");
    let said = format!(
        "rounding may take the error to {bound:.1e}, beyond the tolerance 1e-10; what was measured is within it"
    );
    assert!(record.warnings.contains(&said), "{record:?}");
    let (_, record) = product.tolerance(1e-3).multiply(&far, vectors(90, 1).as_ref(), None, &Watch::new()).unwrap();
    assert!(record.warnings.iter().all(|warning| !warning.contains("rounding may take")), "{record:?}");
}

#[test]
fn a_product_that_is_not_finite_is_refused_or_made_in_double_precision() {
    let scaled =
        |size: f64| Points::from_f64(values(60, 2, 0).iter().map(|x| size * x).collect::<Vec<_>>(), 60, 2).unwrap();
    let v = vectors(60, 1);
    let product = KernelProduct::new(Kernel::polynomial(1.0, 1.0, 6).unwrap());
    let error = product.multiply(&scaled(1e60), v.as_ref(), None, &Watch::new()).unwrap_err();
    assert!(error.to_string().contains("overflows f64 in sums over 60 rows"), "{error}");
    // Single precision has no such numbers, double has.
    let single = values(60, 2, 0).iter().map(|&x| 1e8 * x as f32).collect::<Vec<_>>();
    let single = Points::from_f32(single, 60, 2).unwrap();
    let (found, record) = product.multiply(&single, v.as_ref(), None, &Watch::new()).unwrap();
    assert_eq!(record.precision, Precision::F64);
    assert!(found.col(0).iter().all(|value| value.is_finite()) && record.measured_error.unwrap() < 1e-12, "{record:?}");
    let asked = product.precision(Precision::F32).multiply(&single, v.as_ref(), None, &Watch::new()).unwrap_err();
    assert!(asked.to_string().contains("overflows f32 in sums over 60 rows"), "{asked}");
}
