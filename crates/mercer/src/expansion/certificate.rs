//! What products are held against: rows computed one entry at a time, in double precision.

use faer::{Mat, MatRef};
use rayon::prelude::*;

use super::Targets;
use super::polynomial::Terms;
use super::region::{Region, radius};
use crate::data::Points;
use crate::error::Result;
use crate::kernel::{Kernel, Parameter};
use crate::watch::Context;

/// Points that are read at a time.
const BLOCK: usize = 4096;

/// `K(queries, points) vectors` by definition, without the tile engine and its rearranged distances: slow, for a few queries.
///
/// ```
/// use faer::Mat;
/// use mercer::expansion::exact_rows;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Multiplying);
/// let sums = exact_rows(&Kernel::linear(), &points, &points, Mat::full(3, 1, 1.0).as_ref(), &context)?;
/// assert_eq!(sums[(2, 0)], 18.0);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If queries and points differ in width, the kernel has no values between points, or the run was stopped.
///
/// # Panics
///
/// If there is not one row of `vectors` per point.
pub fn exact_rows(
    kernel: &Kernel,
    queries: &Points,
    points: &Points,
    vectors: MatRef<'_, f64>,
    context: &Context<'_>,
) -> Result<Mat<f64>> {
    assert_eq!(vectors.nrows(), points.n_samples(), "one row of vectors per point");
    let (n, d, b) = (points.n_samples(), points.n_features(), vectors.ncols());
    let rows: Vec<Result<Vec<f64>>> = context.threads.run(|| {
        (0..queries.n_samples())
            .into_par_iter()
            .map(|row| {
                let x = queries.row(row);
                let mut sums = vec![0.0; b];
                for first in (0..n).step_by(BLOCK) {
                    context.check()?;
                    let end = n.min(first + BLOCK);
                    for (j, y) in points.rows(first..end).to_f64().chunks_exact(d).enumerate() {
                        let value = kernel.evaluate(&x, y)?;
                        sums.iter_mut().enumerate().for_each(|(v, sum)| *sum += value * vectors[(first + j, v)]);
                    }
                }
                Ok(sums)
            })
            .collect()
    });
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(Mat::from_fn(rows.len(), b, |i, j| rows[i][j]))
}

/// What rounding costs an entry that tiles compute in double precision, relative to the largest entry: distances come from norms and inner
/// products about the mean, so their error is in proportion to the points' squared spread.
pub(super) fn tile_rounding(kernel: &Kernel, points: &Points) -> f64 {
    let epsilon = f64::EPSILON;
    let center = Region::new(points, Targets::Sources, 0.0).center();
    // The mean lies somewhere in the box.
    let spread = 4.0 * radius(points, &center).powi(2);
    let gamma = kernel.parameter(Parameter::Gamma).unwrap_or(0.0);
    let of_distances = match kernel {
        Kernel::Gaussian(_) | Kernel::RationalQuadratic(_) => 4.0 * epsilon * gamma * spread,
        Kernel::Matern32(_) | Kernel::Matern52(_) => 20.0 * epsilon * gamma * gamma * spread,
        // A corner turns the error of a square into its root.
        Kernel::Exponential(_) => gamma * (4.0 * epsilon * spread).sqrt(),
        _ => 0.0,
    };
    let degree = Terms::of(kernel).map_or(1.0, |terms| terms.degree as f64);
    (of_distances + 8.0 * epsilon * (points.n_features() as f64 + 8.0) * degree).min(1.0)
}
