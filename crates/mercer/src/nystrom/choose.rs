//! From the choice of landmarks to the landmarks.

use super::limits::LIMIT_ROWS;
use super::pool::{Pool, pool_size};
use super::settings::{Landmarks, Nystrom};
use super::{kmeans, leverage, rpcholesky};
use crate::data::{Points, sample_rows};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// Landmarks that were chosen.
pub(super) struct Chosen {
    pub(super) points: Points,
    /// The rows of the data that they are, if they are rows.
    pub(super) rows: Option<Vec<usize>>,
    /// Kernel entries that choosing them took.
    pub(super) entries: u64,
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
    check_memory(settings, n, m)?;
    let pool = || Pool::new(points, kernel, precision, pool_size(n, m), seed.wrapping_add(0x9e37), context);
    let rows_of = |pool: &Pool, places: Vec<usize>| -> (Vec<usize>, u64) {
        (places.into_iter().map(|place| pool.rows[place]).collect(), pool.computed())
    };
    let (rows, entries) = match &settings.landmarks {
        Landmarks::Given(landmarks) => return given(landmarks, points, kernel),
        Landmarks::KMeans => {
            if matches!(kernel, Kernel::Precomputed) {
                return Err(Error::UnsuitableKernel {
                    what: "landmarks by k-means",
                    kernel: kernel.name().to_owned(),
                    reason: "centres of clusters are no rows of its matrix",
                });
            }
            return Ok(Chosen { points: kmeans::choose(&pool()?, m, seed, context)?, rows: None, entries: 0 });
        }
        Landmarks::Rows(rows) => {
            if let Some(&row) = rows.iter().find(|&&row| row >= n) {
                return Err(Error::invalid("landmarks", format!("rows of the data, below {n}"), row));
            }
            (rows.clone(), 0)
        }
        Landmarks::Uniform => (sample_rows(n, m, seed), 0),
        Landmarks::RpCholesky => {
            let pool = pool()?;
            let places = rpcholesky::choose(&pool, m, seed, context)?;
            rows_of(&pool, places)
        }
        Landmarks::Leverage => {
            let pool = pool()?;
            let places = leverage::choose(&pool, m, seed, context)?;
            rows_of(&pool, places)
        }
    };
    Ok(Chosen { points: points.select(&rows), rows: Some(rows), entries })
}

fn given(landmarks: &Points, points: &Points, kernel: &Kernel) -> Result<Chosen> {
    let (expected, found) = (points.n_features(), landmarks.n_features());
    if matches!(kernel, Kernel::Precomputed) {
        return Err(Error::UnsuitableKernel {
            what: "landmarks given as points",
            kernel: kernel.name().to_owned(),
            reason: "it knows points by their rows only",
        });
    }
    if expected != found {
        return Err(Error::invalid("landmarks", format!("points of {expected} columns"), format!("{found} columns")));
    }
    landmarks.check_finite()?;
    Ok(Chosen { points: landmarks.clone(), rows: None, entries: 0 })
}

/// Bytes that `m` landmarks take: five matrices of their order, features of some rows, and what choosing them holds.
pub(super) fn memory_need(landmarks: &Landmarks, n: usize, m: usize) -> u64 {
    let (m, pool) = (m as u64, pool_size(n, m) as u64);
    let choosing = match landmarks {
        // Its factor, in double precision at most, and a block of columns.
        Landmarks::RpCholesky => 8 * pool * (m + 256),
        Landmarks::Leverage => 24 * pool * m,
        Landmarks::KMeans => 8 * (1024 * m + 256 * pool),
        Landmarks::Uniform | Landmarks::Given(_) | Landmarks::Rows(_) => 0,
    };
    let features = 8 * m * LIMIT_ROWS.min(n) as u64;
    (40 * m * m + features).max(choosing + 8 * m * m)
}

fn check_memory(settings: &Nystrom, n: usize, m: usize) -> Result<()> {
    let (needed, budget) = (memory_need(&settings.landmarks, n, m), settings.memory.bytes());
    if needed > budget {
        let fits = |m: usize| memory_need(&settings.landmarks, n, m) <= budget;
        let mut most = m;
        while most > 0 && !fits(most) {
            most /= 2;
        }
        return Err(Error::OverBudget {
            what: format!("{m} landmarks by {}", settings.landmarks),
            needed,
            budget,
            advice: if most > 0 { format!("{most} would fit") } else { "give it more".to_owned() },
        });
    }
    Ok(())
}
