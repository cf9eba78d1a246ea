//! Pre-images as fixed points of a weighted mean.
//!
//! **Use it** for the gaussian kernel: there is no step to choose, and a step costs two matrix products.
//!
//! # Method
//!
//! The distance `‖φ(z) − ψ‖²` with `ψ = Σ γ_i φ(x_i)` is stationary where (\[MSS99\], equation 10)
//!
//! ```text
//! z = Σ γ_i k(z, x_i) x_i / Σ γ_i k(z, x_i)
//! ```
//!
//! which is iterated from a start. For a block of points the kernel values, times the weights entry by entry, are multiplied with the
//! basis in one product. Points that have converged leave the block.
//!
//! # Numerics
//!
//! The denominator is the inner product of `φ(z)` and `ψ`. Where it vanishes (weights may be negative) the iteration is at its end without an answer, and
//! another start is tried.

use faer::{Mat, MatRef};

use super::basis::{Columns, Value};
use crate::error::Result;
use crate::kernel::Parameter;
use crate::watch::Context;

/// What a block of points came to.
pub(super) struct Found {
    /// One column per point.
    pub(super) z: Mat<f64>,
    pub(super) converged: Vec<bool>,
    pub(super) iterations: Vec<usize>,
}

impl Found {
    pub(super) fn new(start: MatRef<'_, f64>) -> Self {
        let n = start.ncols();
        Self { z: start.to_owned(), converged: vec![false; n], iterations: vec![0; n] }
    }
}

/// When an iteration ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The size of the last step, relative to the kernel's width or the size of the points.
    pub(super) tolerance: f64,
    pub(super) max_steps: usize,
}

/// Iterates from the columns of `start` with the weights in the columns of `weights`.
pub(super) fn fixed_points(
    columns: &Columns,
    weights: MatRef<'_, f64>,
    start: MatRef<'_, f64>,
    limits: Limits,
    context: &Context<'_>,
) -> Result<Found> {
    let gamma = columns.kernel.parameter(Parameter::Gamma).expect("the gaussian kernel has a width");
    let step_limit = limits.tolerance / (2.0 * gamma).sqrt();
    let mut found = Found::new(start);
    let mut active: Vec<usize> = (0..start.ncols()).collect();
    for _ in 0..limits.max_steps {
        if active.is_empty() {
            break;
        }
        context.check()?;
        let z = Mat::from_fn(start.nrows(), active.len(), |k, c| found.z[(k, active[c])]);
        let mut products = columns.scalars(z.as_ref());
        columns.map(&mut products, Value::Kernel);
        let mut sums = vec![0.0; active.len()];
        for (c, &point) in active.iter().enumerate() {
            for (k, weight) in products.col_mut(c).iter_mut().zip(weights.col(point).iter()) {
                *k *= weight;
                sums[c] += *k;
            }
        }
        let means = columns.combine(products.as_ref());
        let mut going_on = Vec::with_capacity(active.len());
        for (c, &point) in active.iter().enumerate() {
            let next: Vec<f64> = means.col(c).iter().map(|x| x / sums[c]).collect();
            if next.iter().any(|x| !x.is_finite()) {
                continue;
            }
            let step = next.iter().zip(z.col(c).iter()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
            found.z.col_mut(point).iter_mut().zip(&next).for_each(|(to, from)| *to = *from);
            found.iterations[point] += 1;
            if step <= step_limit {
                found.converged[point] = true;
            } else {
                going_on.push(point);
            }
        }
        active = going_on;
    }
    Ok(found)
}
