//! From the choice of landmarks to the landmarks.

use faer::Mat;

use super::pool::{Pool, pool_size};
use super::probed::Left;
use super::room;
use super::settings::{Landmarks, Nystrom};
use super::{kmeans, leverage, rpcholesky};
use crate::data::{Points, sample_rows};
use crate::error::{Error, Result};
use crate::gram::{largest_on_diagonal_watched, slab_product};
use crate::kernel::{Kernel, Pairing};
use crate::scalar::Precision;
use crate::watch::Context;

/// Landmarks that were chosen.
pub(super) struct Chosen {
    pub(super) points: Points,
    /// The rows of the data that they are, if they are rows.
    pub(super) rows: Option<Vec<usize>>,
    /// Kernel entries that choosing them took.
    pub(super) entries: u64,
    /// What they leave of the rows that they were chosen from, if that was looked at.
    pub(super) left: Option<Left>,
}

/// The landmarks that the settings ask for, among these points.
pub(super) fn landmarks(
    settings: &Nystrom,
    points: &Points,
    kernel: &Kernel,
    precision: Precision,
    context: &Context<'_>,
) -> Result<Chosen> {
    let n = points.n_samples();
    let (m, seed) = (settings.count(n), settings.seed);
    room::check(settings, n, m, room::row_size(points, kernel, precision))?;
    refuse_overflow(points, kernel, precision, context)?;
    let pool = || Pool::new(points, kernel, precision, pool_size(n, m), seed.wrapping_add(0x9e37), context);
    let rows_of = |pool: &Pool, places: Vec<usize>| -> (Vec<usize>, u64) {
        (places.into_iter().map(|place| pool.rows[place]).collect(), pool.computed())
    };
    let mut left = None;
    let (rows, entries) = match &settings.landmarks {
        Landmarks::Given(landmarks) => return given(landmarks, points, kernel, precision, context),
        Landmarks::KMeans => {
            if matches!(kernel, Kernel::Precomputed) {
                return Err(Error::UnsuitableKernel {
                    what: "landmarks by k-means",
                    kernel: kernel.name().to_owned(),
                    reason: "centres of clusters are no rows of its matrix",
                });
            }
            return Ok(Chosen {
                points: kmeans::choose(&pool()?, m, seed, context)?,
                rows: None,
                entries: 0,
                left: None,
            });
        }
        Landmarks::Rows(rows) => {
            check_rows(rows, n)?;
            (rows.clone(), 0)
        }
        Landmarks::Uniform => (sample_rows(n, m, seed), 0),
        Landmarks::RpCholesky => {
            let pool = pool()?;
            let (places, of_pool) = rpcholesky::choose(&pool, m, seed, context)?;
            left = Some(Left { rows: pool.rows.clone(), left: of_pool });
            rows_of(&pool, places)
        }
        Landmarks::Leverage => {
            let pool = pool()?;
            let places = leverage::choose(&pool, m, seed, context)?;
            rows_of(&pool, places)
        }
    };
    Ok(Chosen { points: points.select(&rows), rows: Some(rows), entries, left })
}

fn given(
    landmarks: &Points,
    points: &Points,
    kernel: &Kernel,
    precision: Precision,
    context: &Context<'_>,
) -> Result<Chosen> {
    if matches!(kernel, Kernel::Precomputed) {
        return Err(Error::UnsuitableKernel {
            what: "landmarks given as points",
            kernel: kernel.name().to_owned(),
            reason: "it knows points by their rows only",
        });
    }
    check_against(landmarks, points, kernel, precision, context)?;
    Ok(Chosen { points: landmarks.clone(), rows: None, entries: 0, left: None })
}

/// Refuses rows that there are not.
pub(super) fn check_rows(rows: &[usize], n: usize) -> Result<()> {
    match rows.iter().find(|&&row| row >= n) {
        Some(row) => Err(Error::invalid("landmarks", format!("rows of the data, below {n}"), row)),
        None => Ok(()),
    }
}

/// Refuses landmarks of another width than the points', or with numbers that are not finite.
pub(super) fn check_given(landmarks: &Points, expected: usize) -> Result<()> {
    let found = landmarks.n_features();
    if expected != found {
        return Err(Error::invalid("landmarks", format!("points of {expected} columns"), format!("{found} columns")));
    }
    landmarks.check_finite().map_err(|error| match error {
        // Rows of the data have numbers, too.
        Error::NotFinite { row, column, value } => {
            Error::invalid("landmarks", "finite", format!("{value} in row {row}, column {column}"))
        }
        other => other,
    })
}

/// As [`check_given`], and refuses those that are too large to be compared with the points.
pub(super) fn check_against(
    landmarks: &Points,
    points: &Points,
    kernel: &Kernel,
    precision: Precision,
    context: &Context<'_>,
) -> Result<()> {
    check_given(landmarks, points.n_features())?;
    // A kernel of one's own is not called for more than its values.
    if kernel.pairing().is_none() || points.n_samples() == 0 {
        return Ok(());
    }
    let (point, one) = (points.select(&[0]), Mat::full(1, 1, 1.0));
    let Err(Error::TooLarge { .. }) = slab_product(kernel, landmarks, &point, one.as_ref(), precision, context) else {
        let overflow =
            |(row, value)| Error::LandmarkOverflow { kernel: kernel.name().to_owned(), row, value, precision };
        return overflowing(landmarks, kernel, precision, context)?.map_or(Ok(()), |place| Err(overflow(place)));
    };
    let size = |x: Vec<f64>| x.into_iter().fold(0.0, |largest: f64, x| x.abs().max(largest));
    let sizes = (0..landmarks.n_samples()).map(|row| (row, size(landmarks.row(row))));
    match sizes.max_by(|a, b| a.1.total_cmp(&b.1)) {
        // Otherwise it is the point that is too large, which will be told of the data.
        Some((row, largest)) if largest > size(point.row(0)) => Err(Error::LandmarkTooLarge { row, precision }),
        _ => Ok(()),
    }
}

/// Refuses points whose kernel values overflow, by the row that has the largest.
fn refuse_overflow(points: &Points, kernel: &Kernel, precision: Precision, context: &Context<'_>) -> Result<()> {
    let Some((row, value)) = overflowing(points, kernel, precision, context)? else { return Ok(()) };
    let (kernel, n_samples) = (kernel.name().to_owned(), points.n_samples());
    Err(Error::KernelOverflow { kernel, row, value, precision, n_samples })
}

/// The row whose kernel with itself is the largest, and that value, if it is too large for the precision.
///
/// The kernel of two rows is no larger than the larger of their own, as long as it is positive semi-definite. A polynomial with a negative `coef0`
/// is not: where only values between rows overflow, the sums over rows tell it.
fn overflowing(
    points: &Points,
    kernel: &Kernel,
    precision: Precision,
    context: &Context<'_>,
) -> Result<Option<(usize, f64)>> {
    // No hyperbolic tangent is larger than one.
    let is_bounded = matches!(kernel, Kernel::Sigmoid(_));
    if is_bounded || kernel.pairing() != Some(Pairing::InnerProduct) {
        return Ok(None);
    }
    let largest = largest_on_diagonal_watched(kernel, points, context)?;
    Ok(largest.filter(|&(_, value)| overflows(value, precision)))
}

/// Whether a kernel value is too large for the precision.
pub(super) fn overflows(value: f64, precision: Precision) -> bool {
    value.is_nan() || value.abs() > precision.largest()
}
