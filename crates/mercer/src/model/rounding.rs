//! What single precision, and keeping tiles in 16-bit fixed point, do to the kernel matrix of given points.
//!
//! # Method
//!
//! Residuals of a solver are about the matrix it multiplies with. In single precision that is not quite the kernel's: entries are
//! rounded, relative to what they are made of, and centring takes away what they have in common. Of points far from the origin under
//! an inner product, of copies far from the others under a squared distance, or of a very wide kernel, little but rounding may be left.
//!
//! How much is measured before a fit. The kernel matrix of some rows is made in both precisions: of sampled ones, for which the error and the
//! first eigenvalue grow alike with the number of rows (errors that are independent grow more slowly, so this is on the safe side), and of
//! those farthest from the mean, where squared distances lose most and which a sample would miss. The diagonal, which a fit sets and here is
//! computed, shows what a row loses with its copies.
//!
//! Fixed point rounds every entry by up to half a level, whatever its size, so no row is worse than the others; what counts is how the errors
//! add up. Of `n` rows, errors that are independent have a norm of `2 σ √n`, with `σ` a level over `√12`; errors that many entries share (of a
//! kernel so wide, or so narrow, that its values differ by less than a level) have one in proportion to `n`. A sample of `m` rows cannot
//! tell the two apart, so what it shows is taken times `n / m`, which is right for the second and too much, by `√(n / m)`, for the first: hence
//! more rows. It is never below `2 σ √n`, which a sample may not show where most values are zero. The first eigenvalue grows with `n`, too,
//! but for the part that a row has of its own, the diagonal.

use faer::{Mat, MatRef};
use rayon::prelude::*;

use crate::choices::Center;
use crate::data::{Moments, Points, RowsRef, sample_rows};
use crate::error::{Error, Result};
use crate::gram::{Cross, StoreFormat, square_matrix};
use crate::kernel::Kernel;
use crate::plan::FIXED16_SHARE;
use crate::simd::Isa;
use crate::watch::Context;

/// One row in this many is sampled, within the bounds: a fit of few rows takes milliseconds.
const SHARE: usize = 8;
const FEWEST: usize = 64;
const MOST: usize = 256;
/// The same for fixed point, which is looked at where tiles are many or do not fit the memory, so that there are more rows.
const FIXED_SHARE: usize = 16;
const FIXED_MOST: usize = 1024;
/// One part in so many of the memory budget may go into their coordinates.
const ROOM_SHARE: u64 = 4;
/// Rows that are looked at because they are far from the others.
const FAR: usize = 32;
/// Times the median squared distance of sampled rows from their mean: a row beyond that is not like them.
const UNUSUAL: f64 = 16.0;
/// Far rows are tried at so many sizes, each smaller than the one before: equal rows lose the same digits, by chance none.
const SIZES: usize = 16;
const SMALLER: f64 = 0.983;
/// The same rows for the same points, whatever else is random in a fit.
const SEED: u64 = 0;
/// Rows whose distances one thread takes at a time.
const BLOCK: usize = 256;
/// Steps of the power iteration for a norm, of which one digit is enough.
const STEPS: usize = 12;

/// The norm of what single precision changes in the (centred) kernel matrix, relative to its first eigenvalue: about the residual that an
/// exact solution for the rounded matrix has for the kernel's. Infinite if nothing is left of the matrix, or a value overflows.
///
/// # Errors
///
/// If the run was stopped. Points with which the kernel has no finite value are left to the fit, which names them.
pub(super) fn of_single_precision(
    points: &Points,
    kernel: &Kernel,
    center: Center,
    context: &Context<'_>,
) -> Result<f64> {
    let n = points.n_samples();
    let m = sample_size(n);
    let sampled = sample_rows(n, m, SEED);
    let Some((exact, error)) = in_both(&points.select(&sampled), kernel, context)? else { return Ok(0.0) };
    let part = |matrix: Mat<f64>| norm(as_fitted(matrix, center).as_ref());
    let (first, mut largest) = (part(exact), part(error));

    // The far ones are all there, while what is sampled stands for all rows.
    let weight = n as f64 / m as f64;
    let near = &sampled[..m.min(FAR)];
    let far = farthest(points, FAR.min(n - m), &sampled);
    let rows: Vec<usize> = far.iter().chain(near).copied().collect();
    let some = points.select(&rows);
    for size in 0..if far.is_empty() { 0 } else { SIZES } {
        let some = scaled(&some, SMALLER.powi(size as i32))?;
        let Some((_, error)) = in_both(&some, kernel, context)? else { return Ok(0.0) };
        let squares = |columns: std::ops::Range<usize>| -> f64 {
            columns.map(|j| (0..far.len()).map(|i| error[(i, j)].powi(2)).sum::<f64>()).sum()
        };
        let others = n as f64 / near.len() as f64 * squares(far.len()..rows.len());
        largest = larger(largest, (squares(0..far.len()) + others).sqrt() / weight);
    }
    Ok(match () {
        () if !largest.is_finite() => f64::INFINITY,
        () if largest == 0.0 => 0.0,
        () if first > 0.0 => largest / first,
        () => f64::INFINITY,
    })
}

/// What keeping tiles in 16-bit fixed point changes in a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FixedPoint {
    /// The norm of the change, rather too large than too small.
    norm: f64,
    /// The first eigenvalue, rather too small than too large.
    first: f64,
}

impl FixedPoint {
    /// For matrices of which nobody knows what fixed point would change.
    pub(crate) const UNKNOWN: Self = Self { norm: f64::INFINITY, first: 1.0 };

    /// The change, relative to the first eigenvalue as far as that is known before a fit.
    pub(crate) fn share(self) -> f64 {
        self.share_of(self.first)
    }

    /// The change, relative to the first eigenvalue that a fit has found.
    pub(crate) fn share_of(self, first: f64) -> f64 {
        if first > 0.0 { self.norm / first } else { f64::INFINITY }
    }
}

/// The norm of independent errors of all entries of a matrix of order `n`.
pub(super) fn of_independent_errors(n: usize) -> f64 {
    // Errors are equally likely up to the largest.
    let deviation = StoreFormat::Fixed16.entry_error() / 3.0_f64.sqrt();
    2.0 * deviation * (n as f64).sqrt()
}

/// Whether fixed point can leave a residual within reach at all: the first eigenvalue of entries up to one is at most the number of rows.
pub(super) fn fixed_point_may_do(n: usize, tolerance: f64) -> bool {
    of_independent_errors(n) <= FIXED16_SHARE * tolerance * n as f64
}

/// What fixed point would change in the (centred) kernel matrix, from as many rows as [`of_single_precision`] looks at, and more where there
/// are many; nothing if the kernel has no finite value with them.
///
/// # Errors
///
/// If the run was stopped.
pub(super) fn of_fixed_point(
    points: &Points,
    kernel: &Kernel,
    center: Center,
    budget: u64,
    context: &Context<'_>,
) -> Result<Option<FixedPoint>> {
    let n = points.n_samples();
    // Rows are held as they came and packed in double precision.
    let fit = budget / ROOM_SHARE / (2 * size_of::<f64>() * points.n_features()).max(1) as u64;
    let most = usize::try_from(fit).unwrap_or(FIXED_MOST).clamp(FEWEST.min(n), FIXED_MOST);
    let m = (n / FIXED_SHARE).max(sample_size(n)).min(most);
    let sample = points.select(&sample_rows(n, m, SEED));
    let Some(exact) = in_double(&sample, kernel, context)? else { return Ok(None) };
    let mut error = exact.clone();
    let isa = Isa::detect();
    for j in 0..m {
        let column = error.col_mut(j).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut();
        StoreFormat::Fixed16.round(isa, column);
        column.iter_mut().zip(exact.col(j).iter()).for_each(|(kept, x)| *kept -= x);
    }
    let all = n as f64 / m as f64;
    // Samples differ by about the root of their number.
    let margin = 1.0 + 4.0 / (m as f64).sqrt();
    let norm_of_error = norm(as_fitted(error, center).as_ref());
    let exact = as_fitted(exact, center);
    let first = norm(exact.as_ref());
    let own = (0..m).map(|i| exact[(i, i)]).fold(0.0, f64::max);
    Ok(Some(FixedPoint {
        norm: (margin * all * norm_of_error).max(of_independent_errors(n)),
        first: first.max(all * (first - own)),
    }))
}

/// How many rows are sampled.
fn sample_size(n: usize) -> usize {
    (n / SHARE).clamp(FEWEST, MOST).min(n)
}

/// A matrix as it is fitted.
fn as_fitted(matrix: Mat<f64>, center: Center) -> Mat<f64> {
    match center {
        Center::Yes => centred(matrix.as_ref()),
        Center::No => matrix,
    }
}

/// The larger of two numbers; what is none is larger than any.
fn larger(a: f64, b: f64) -> f64 {
    if a >= b { a } else { b }
}

/// The kernel matrix of some points in double precision, and what single precision changes in it (infinite where it overflows); nothing
/// if it cannot be made.
fn in_both(points: &Points, kernel: &Kernel, context: &Context<'_>) -> Result<Option<(Mat<f64>, Mat<f64>)>> {
    let Some(exact) = in_double(points, kernel, context)? else { return Ok(None) };
    let n = points.n_samples();
    let in_single = || context.threads.run(|| Cross::<f32>::new(points, kernel))?.columns(points, context);
    // In a matrix values on the diagonal are set where their rounding would matter. Here they are computed, and stand for those of a row with
    // its copies, of which a sample has none.
    let error = match in_single() {
        Ok(rounded) => Mat::from_fn(n, n, |i, j| rounded[(i, j)] - exact[(i, j)]),
        Err(error @ Error::Interrupted { .. }) => return Err(error),
        Err(_) => Mat::full(n, n, f64::INFINITY),
    };
    Ok(Some((exact, error)))
}

/// The kernel matrix of some points in double precision, if it can be made.
fn in_double(points: &Points, kernel: &Kernel, context: &Context<'_>) -> Result<Option<Mat<f64>>> {
    match square_matrix(kernel, points, context) {
        Ok(exact) => Ok(Some(exact)),
        Err(error @ Error::Interrupted { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}

/// Points times a factor.
fn scaled(points: &Points, factor: f64) -> Result<Points> {
    let (n, d) = (points.n_samples(), points.n_features());
    Points::from_f64(points.rows(0..n).to_f64().into_iter().map(|x| x * factor).collect::<Vec<_>>(), n, d)
}

/// The `count` rows farthest from the mean of those in the increasing list `sampled`, and not among them, as far as they are farther than
/// sampled ones are.
fn farthest(points: &Points, count: usize, sampled: &[usize]) -> Vec<usize> {
    if count == 0 {
        return Vec::new();
    }
    let n = points.n_samples();
    let sample = points.select(sampled);
    let of_sample = Moments::of(&sample);
    let mut of_rows = squared_distances(sample.rows(0..sampled.len()), of_sample.mean());
    let usual = *of_rows.select_nth_unstable_by(sampled.len() / 2, f64::total_cmp).1;
    let keep = |mut found: Vec<(f64, usize)>| {
        found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.truncate(count);
        found
    };
    let of_block = |block: usize| {
        let first = block * BLOCK;
        let distances = squared_distances(points.rows(first..(first + BLOCK).min(n)), of_sample.mean());
        let all = distances.into_iter().enumerate().map(|(offset, distance)| (distance, first + offset));
        // What is not a number is far.
        let far = all.filter(|(distance, _)| *distance > UNUSUAL * usual || distance.is_nan());
        keep(far.filter(|(_, row)| sampled.binary_search(row).is_err()).collect())
    };
    let found = (0..n.div_ceil(BLOCK)).into_par_iter().map(of_block).reduce(Vec::new, |mut all, more| {
        all.extend(more);
        keep(all)
    });
    found.into_iter().map(|(_, row)| row).collect()
}

/// The squared distance of each row from a place.
fn squared_distances(rows: RowsRef<'_>, from: &[f64]) -> Vec<f64> {
    /// Sums that do not wait for one another.
    const CHAINS: usize = 8;
    fn each<T: Copy>(values: &[T], from: &[f64], as_f64: impl Fn(T) -> f64) -> Vec<f64> {
        let distance = |row: &[T]| {
            let ((row, row_rest), (from, from_rest)) = (row.as_chunks::<CHAINS>(), from.as_chunks::<CHAINS>());
            let mut sums = [0.0; CHAINS];
            for (row, from) in row.iter().zip(from) {
                for ((sum, &x), from) in sums.iter_mut().zip(row).zip(from) {
                    *sum += (as_f64(x) - from).powi(2);
                }
            }
            let rest: f64 = row_rest.iter().zip(from_rest).map(|(&x, from)| (as_f64(x) - from).powi(2)).sum();
            sums.iter().sum::<f64>() + rest
        };
        values.chunks_exact(from.len()).map(distance).collect()
    }
    match rows {
        RowsRef::F32(values) => each(values, from, f64::from),
        RowsRef::F64(values) => each(values, from, |x| x),
        RowsRef::U8 { values, scale } => each(values, from, |x| scale * f64::from(x)),
    }
}

/// The matrix without the means of its rows and columns.
fn centred(matrix: MatRef<'_, f64>) -> Mat<f64> {
    let m = matrix.nrows();
    let means: Vec<f64> = (0..m).map(|j| matrix.col(j).iter().sum::<f64>() / m as f64).collect();
    let mean = means.iter().sum::<f64>() / m as f64;
    Mat::from_fn(m, m, |i, j| matrix[(i, j)] - means[i] - means[j] + mean)
}

/// The largest absolute eigenvalue of a nearly symmetric matrix, from below, to about a digit.
fn norm(matrix: MatRef<'_, f64>) -> f64 {
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let columns: Vec<&[f64]> = (0..matrix.ncols())
        .map(|j| matrix.col(j).try_as_col_major().expect("columns are contiguous").as_slice())
        .collect();
    let Some(longest) = columns.iter().max_by(|a, b| length(a).total_cmp(&length(b))) else { return 0.0 };
    let (mut vector, mut size) = (longest.to_vec(), 0.0);
    for _ in 0..STEPS {
        let before = length(&vector);
        // Zero, or too large for its square, or not a number.
        if before == 0.0 || !before.is_finite() {
            return before;
        }
        let mut image = vec![0.0; vector.len()];
        for (column, x) in columns.iter().zip(&vector) {
            let weight = x / before;
            image.iter_mut().zip(*column).for_each(|(sum, x)| *sum += x * weight);
        }
        size = length(&image);
        vector = image;
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    /// Points around zero, in two dimensions.
    fn cloud(n: usize) -> Vec<f64> {
        (0..2 * n).map(|i| (i as f64 * 0.37).sin() + (i as f64 * 1.93).cos()).collect()
    }

    fn measured(values: Vec<f64>, kernel: &Kernel, center: Center) -> f64 {
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let n = values.len() / 2;
        let single = values.into_iter().map(|x| x as f32).collect::<Vec<_>>();
        let points = Points::from_f32(single, n, 2).expect("pairs");
        of_single_precision(&points, kernel, center, &Context::new(&threads, &watch, Phase::Starting))
            .expect("nobody stops it")
    }

    #[test]
    fn ordinary_points_lose_little_and_those_far_from_the_origin_nearly_all() {
        let far: Vec<f64> = cloud(1000).iter().map(|x| x + 1e4).collect();
        let (linear, gaussian) = (Kernel::linear(), Kernel::gaussian(0.5).expect("positive"));
        assert!(measured(cloud(1000), &linear, Center::Yes) < 1e-6);
        assert!(measured(cloud(1000), &gaussian, Center::Yes) < 1e-6);
        assert!(measured(far.clone(), &linear, Center::Yes) > 1e-2);
        // What all points share counts where it is not taken away, and distances do not see it.
        assert!(measured(far.clone(), &linear, Center::No) < 1e-6);
        assert!(measured(far, &gaussian, Center::Yes) < 1e-4);
    }

    #[test]
    fn a_few_copies_far_from_all_others_are_seen() {
        let mut values = cloud(4000);
        let gaussian = Kernel::gaussian(0.5).expect("positive");
        assert!(measured(values.clone(), &gaussian, Center::Yes) < 1e-6);
        for copy in [100, 2000, 3999] {
            values[2 * copy..2 * copy + 2].copy_from_slice(&[0.3, 3000.7]);
        }
        assert!(measured(values, &gaussian, Center::Yes) > 1e-5);
        // Whatever their digits.
        for place in 0..20 {
            let mut values = cloud(494);
            values.extend([0.3, 3000.7 + 0.37 * f64::from(place)].repeat(6));
            let lost = measured(values, &gaussian, Center::Yes);
            assert!(lost > 1e-5, "place {place}: {lost:e}");
        }
    }

    #[test]
    fn copies_among_the_others_are_seen_where_distances_are_large() {
        // Columns that nobody has scaled: most points are far from one another to the kernel, and none from the mean.
        let values: Vec<f64> = cloud(1200).iter().map(|x| 500.0 + 250.0 * x).collect();
        let narrow = Kernel::gaussian(0.05).expect("positive");
        assert!(measured(values, &narrow, Center::Yes) > 1e-5);
    }

    #[test]
    fn a_kernel_for_which_all_points_are_nearly_one_loses_its_matrix() {
        assert!(measured(cloud(500), &Kernel::gaussian(1e-7).expect("positive"), Center::Yes) > 1e-2);
        assert!(measured(vec![1.0; 200], &Kernel::gaussian(1.0).expect("positive"), Center::Yes) <= 0.0);
        assert!(measured(vec![1e30; 200], &Kernel::linear(), Center::No).is_infinite());
    }

    #[test]
    fn fixed_point_changes_no_more_than_a_sample_says() {
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        let n = 800;
        // Around zero; in two heaps; and each with a copy, so that the first eigenvalue is that of a row and its own.
        let heaps = |i: usize, x: &f64| if i % 4 < 2 { x + 3.0 } else { *x };
        let shapes = [
            cloud(n),
            cloud(n).iter().enumerate().map(|(i, x)| heaps(i, x)).collect(),
            [cloud(n / 2), cloud(n / 2)].concat(),
        ];
        for (values, center) in
            shapes.into_iter().flat_map(|values| [(values.clone(), Center::Yes), (values, Center::No)])
        {
            let points = Points::from_f64(values, n, 2).expect("pairs");
            // From a kernel for which all points are nearly one to one for which each is alone.
            for gamma in [1e-6, 1e-4, 1e-2, 1.0, 30.0, 1e3, 1e5] {
                let kernel = Kernel::gaussian(gamma).expect("positive");
                let told = of_fixed_point(&points, &kernel, center, u64::MAX, &context)
                    .expect("nobody stops it")
                    .expect("finite");
                let exact = square_matrix(&kernel, &points, &context).expect("finite");
                let level = |x: f64| (x * 65535.0).round() / 65535.0;
                let error = Mat::from_fn(n, n, |i, j| level(exact[(i, j)]) - exact[(i, j)]);
                let (first, change) =
                    (norm(as_fitted(exact, center).as_ref()), norm(as_fitted(error, center).as_ref()));
                let truth = change / first;
                assert!(told.share() >= truth, "gamma {gamma}: told {:e}, and it is {truth:e}", told.share());
                assert!(told.share_of(first) >= truth, "gamma {gamma}: found {:e}", told.share_of(first));
                // Not so much more that it would say nothing where kernels are of a usual width.
                if (1e-2..=1.0).contains(&gamma) {
                    assert!(
                        told.share() <= 10.0 * truth,
                        "gamma {gamma}: told {:e}, and it is {truth:e}",
                        told.share()
                    );
                }
            }
        }
    }

    #[test]
    fn fixed_point_is_looked_at_only_where_some_kernel_could_be_kept_in_it() {
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let n = 2000;
        // The largest first eigenvalue that there can be: all points are as good as one.
        let points = Points::from_f64(cloud(n), n, 2).expect("pairs");
        let kernel = Kernel::gaussian(1e-12).expect("positive");
        let told =
            of_fixed_point(&points, &kernel, Center::No, u64::MAX, &Context::new(&threads, &watch, Phase::Starting))
                .expect("nobody stops it")
                .expect("finite")
                .share();
        let tolerance = told / FIXED16_SHARE;
        assert!(told < 1e-6 && fixed_point_may_do(n, tolerance), "{told:e}");
        assert!(!fixed_point_may_do(n, 0.9 * tolerance), "{told:e}");
    }

    #[test]
    fn fixed_point_is_fine_for_usual_kernels_and_not_for_very_wide_or_narrow_ones() {
        let (threads, watch) = (Threads::new(2).expect("two threads"), Watch::new());
        let points = Points::from_f64(cloud(5000), 5000, 2).expect("pairs");
        let share = |gamma: f64| {
            let kernel = Kernel::gaussian(gamma).expect("positive");
            let context = Context::new(&threads, &watch, Phase::Starting);
            of_fixed_point(&points, &kernel, Center::Yes, u64::MAX, &context)
                .expect("nobody stops it")
                .expect("finite")
                .share()
        };
        assert!(share(0.5) < 1e-5, "{:e}", share(0.5));
        assert!(share(1e-5) > 1e-3, "{:e}", share(1e-5));
        assert!(share(1e6) > 1e-5, "{:e}", share(1e6));
    }
}
