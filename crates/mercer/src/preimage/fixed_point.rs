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
//! Steps shrink by a constant factor in the end, which is near one along a line of points: a small step then does not mean that the fixed point is near. With `ρ` the factor
//! of the last two steps, what is still to come is `ρ / (1 − ρ)` of the last one, and is added when the iteration ends.
//!
//! The denominator is the inner product of `φ(z)` and `ψ`. Where it vanishes (weights may be negative) the iteration is at its end without an answer, and
//! another start is tried. So it is where the iteration ends higher up than the basis point whose scores are nearest, which happens from a start in another cluster
//! (`doubt`, of descent).

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

/// The steps that are still to come sum up to this many times the last one, at most.
const FARTHEST: f64 = 100.0;

/// What is still to come, in units of the last step; nothing if steps do not shrink.
fn to_come<'a>(last: &[f64], before: impl Iterator<Item = &'a f64>) -> f64 {
    let (along, squared) = last.iter().zip(before).fold((0.0, 0.0), |(a, s), (x, y)| (a + x * y, s + y * y));
    let ratio: f64 = along / squared;
    if ratio.abs() < 1.0 { (ratio / (1.0 - ratio)).min(FARTHEST) } else { 0.0 }
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
    let mut before = Mat::<f64>::zeros(start.nrows(), start.ncols());
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
                let last: Vec<f64> = next.iter().zip(z.col(c).iter()).map(|(a, b)| a - b).collect();
                let factor = to_come(&last, before.col(point).iter());
                found.z.col_mut(point).iter_mut().zip(&last).for_each(|(to, step)| *to += factor * step);
            } else {
                let steps = next.iter().zip(z.col(c).iter()).map(|(a, b)| a - b);
                before.col_mut(point).iter_mut().zip(steps).for_each(|(to, step)| *to = step);
                going_on.push(point);
            }
        }
        active = going_on;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::to_come;

    #[test]
    fn steps_to_come_are_those_of_a_geometric_series() {
        // Steps 4, 2, then 1, 1/2, ...: as much again as the last one; alternating ones take a third back.
        assert!((to_come(&[2.0, 0.0], [4.0, 0.0].iter()) - 1.0).abs() < 1e-15);
        assert!((to_come(&[-2.0], [4.0].iter()) + 1.0 / 3.0).abs() < 1e-15);
        for (last, before) in [(1.0, 0.0), (2.0, 1.0), (0.0, 0.0), (1.0, f64::NAN)] {
            assert!(to_come(&[last], [before].iter()).abs() < 1e-15, "{last} after {before}");
        }
        assert!((to_come(&[1.0 - 1e-9], [1.0].iter()) - 100.0).abs() < 1e-15);
    }
}
