//! Pre-images by descent of the distance in feature space.
//!
//! **Use it** for kernels that have a derivative and no method of their own.
//!
//! # Method
//!
//! `E(z) = k(z, z) − 2 Σ γ_i k(z, x_i)` is the distance `‖φ(z) − ψ‖²` up to a constant. With `k = f(s)` and `s` the scalar of a pair,
//!
//! ```text
//! s = ‖z − x‖²     ∇E = −4 Σ γ_i f'(s_i) (z − x_i)
//! s = z·x          ∇E = 2 f'(z·z) z − 2 Σ γ_i f'(s_i) x_i
//! s = cosine       ∇E = −2 Σ γ_i f'(s_i) (x_i/‖x_i‖ − s_i z/‖z‖) / ‖z‖
//! ```
//!
//! Every point has a step of its own: Barzilai and Borwein's, cut to a quarter until Armijo's condition holds. All points of a block
//! are evaluated together, by two matrix products.
//!
//! # Numerics
//!
//! With kernels of an inner product or of its cosine, all slopes may vanish at zero although other points are nearer: those of `(γ x·y)^p` do, whatever the target. A
//! start there is moved by a little of everything. With the linear kernel `E` is convex, and a slope of zero is that of the minimum.
//!
//! Far from all basis points there is no slope that could be followed, or one that leads farther away, and steps come to nothing without a minimum. Whatever ends there,
//! or higher up than the basis point whose scores are nearest, has not converged ([`doubt`]), and another start is tried.

use faer::{Mat, MatRef};

use super::basis::{Columns, Value, column_dot};
use super::fixed_point::{Found, Limits};
use super::polynomial::wave;
use crate::error::Result;
use crate::kernel::{Kernel, Pairing};
use crate::watch::Context;

/// The share of the promised decrease that a step must bring.
const DECREASE: f64 = 1e-4;
/// Values of `E` that differ by this share are not told apart.
const ROUNDING: f64 = 1e-9;
/// How many times longer than the longest basis point a point is that descent with the sigmoid kernel has led away: its values saturate, and it goes on for ever.
const RUN_AWAY: f64 = 10.0;
/// How far a start at zero without a slope is moved, as a share of the spread of the basis.
const MOVED: f64 = 0.02;

/// Value and gradient of `E` for a block of points.
struct Slopes {
    values: Vec<f64>,
    gradients: Mat<f64>,
}

/// Descends from the columns of `start` with the weights in the columns of `weights`.
pub(super) fn descend(
    columns: &Columns,
    weights: MatRef<'_, f64>,
    start: MatRef<'_, f64>,
    limits: Limits,
    context: &Context<'_>,
) -> Result<Found> {
    let (d, n) = (start.nrows(), start.ncols());
    let size = spread(columns);
    let (mut found, at_start) = begin(columns, weights, start, MOVED * size);
    let (mut values, mut gradients) = (at_start.values, at_start.gradients);
    // The first step moves a point by a tenth of the spread of the basis.
    let mut steps: Vec<f64> = (0..n).map(|c| 0.1 * size / gradients.col(c).norm_l2().max(f64::MIN_POSITIVE)).collect();
    let mut active: Vec<usize> = Vec::new();
    for (c, value) in values.iter().enumerate() {
        if gradients.col(c).norm_l2() > 0.0 { active.push(c) } else { found.converged[c] = value.is_finite() }
    }
    for _ in 0..limits.max_steps {
        if active.is_empty() {
            break;
        }
        context.check()?;
        let trial = Mat::from_fn(d, active.len(), |k, c| {
            let point = active[c];
            found.z[(k, point)] - steps[point] * gradients[(k, point)]
        });
        let own = Mat::from_fn(weights.nrows(), active.len(), |i, c| weights[(i, active[c])]);
        let next = evaluate(columns, own.as_ref(), trial.as_ref());
        let mut going_on = Vec::with_capacity(active.len());
        for (c, &point) in active.iter().enumerate() {
            found.iterations[point] += 1;
            let slope: f64 = gradients.col(point).iter().map(|g| g * g).sum();
            let moved = steps[point] * slope.sqrt();
            let is_lower = next.values[c] <= values[point] - DECREASE * steps[point] * slope;
            // Too small a step to be told from none, whether it goes down or not.
            found.converged[point] = moved <= limits.tolerance * size;
            if is_lower {
                let change: f64 =
                    (0..d).map(|k| -gradients[(k, point)] * (next.gradients[(k, c)] - gradients[(k, point)])).sum();
                steps[point] = next_step(steps[point], slope, change);
                values[point] = next.values[c];
                for k in 0..d {
                    found.z[(k, point)] = trial[(k, c)];
                    gradients[(k, point)] = next.gradients[(k, c)];
                }
            } else {
                steps[point] *= 0.25;
            }
            if !found.converged[point] {
                going_on.push(point);
            }
        }
        active = going_on;
    }
    Ok(found)
}

/// Where descent begins, and the slopes there: at `start`, but where that is zero and has no slope, so far away from it.
fn begin(columns: &Columns, weights: MatRef<'_, f64>, start: MatRef<'_, f64>, distance: f64) -> (Found, Slopes) {
    let mut found = Found::new(start);
    let mut slopes = evaluate(columns, weights, start);
    let may_vanish = matches!(columns.pairing, Some(Pairing::InnerProduct | Pairing::Cosine));
    if !may_vanish || matches!(columns.kernel, Kernel::Linear(_)) {
        return (found, slopes);
    }
    let is_zero = |matrix: &Mat<f64>, c: usize| matrix.col(c).iter().all(|x| *x == 0.0);
    let stuck: Vec<usize> =
        (0..start.ncols()).filter(|&c| is_zero(&found.z, c) && is_zero(&slopes.gradients, c)).collect();
    let length = (0..start.nrows()).map(|k| wave(k) * wave(k)).sum::<f64>().sqrt();
    for &c in &stuck {
        found.z.col_mut(c).iter_mut().enumerate().for_each(|(k, x)| *x = distance / length * wave(k));
    }
    if !stuck.is_empty() {
        slopes = evaluate(columns, weights, found.z.as_ref());
    }
    (found, slopes)
}

/// Takes back that points have converged where they have come to an end without a minimum: out of sight of the basis, or higher up than the basis points in the
/// columns of `nearest`.
pub(super) fn doubt(columns: &Columns, weights: MatRef<'_, f64>, nearest: MatRef<'_, f64>, found: &mut Found) {
    let here = evaluate(columns, weights, found.z.as_ref()).values;
    let there = evaluate(columns, weights, nearest).values;
    let is_lost = out_of_sight(columns, found.z.as_ref());
    for (c, converged) in found.converged.iter_mut().enumerate() {
        let is_higher = here[c] > there[c] + ROUNDING * (here[c].abs() + there[c].abs());
        *converged &= !(is_lost[c] || is_higher);
    }
}

/// Whether each column of `z` is where a bounded kernel tells nothing: values of distances that are zero to rounding, or inner products far along the tails of the
/// sigmoid kernel.
fn out_of_sight(columns: &Columns, z: MatRef<'_, f64>) -> Vec<bool> {
    match (&columns.kernel, columns.pairing) {
        (_, Some(Pairing::SquaredDistance)) => {
            let mut values = columns.scalars(z);
            columns.map(&mut values, Value::Kernel);
            let least = f64::EPSILON * columns.kernel.value(0.0);
            values.col_iter().map(|values| values.iter().all(|value| *value <= least)).collect()
        }
        (Kernel::Sigmoid(_), _) => {
            let longest = (0..columns.len()).map(|i| columns.squared_norm(i)).fold(0.0, f64::max);
            let limit = RUN_AWAY * RUN_AWAY * longest;
            z.col_iter().map(|z| z.iter().map(|z| z * z).sum::<f64>() > limit).collect()
        }
        _ => vec![false; z.ncols()],
    }
}

/// The step after one that went down: `s·s / s·y` of Barzilai and Borwein, with `s` the step and `y` the change of the gradient.
fn next_step(step: f64, slope: f64, change: f64) -> f64 {
    let longer = if change > 0.0 { step * slope / change } else { 4.0 * step };
    longer.clamp(0.1 * step, 10.0 * step)
}

/// The root of the mean squared norm of the basis points (less their mean, where the kernel does not see it); one if they are all zero.
fn spread(columns: &Columns) -> f64 {
    let sum: f64 = (0..columns.len()).map(|i| columns.squared_norm(i)).sum();
    let size = (sum / columns.len() as f64).sqrt();
    if size > 0.0 { size } else { 1.0 }
}

fn evaluate(columns: &Columns, weights: MatRef<'_, f64>, z: MatRef<'_, f64>) -> Slopes {
    let scalars = columns.scalars(z);
    let (mut kernel, mut slopes) = (scalars.clone(), scalars.clone());
    columns.map(&mut kernel, Value::Kernel);
    columns.map(&mut slopes, Value::Slope);
    for c in 0..z.ncols() {
        // Slopes of some kernels have a pole where points meet. Without that one term the others tell where to go, and whether it is downwards is seen
        // from the values.
        slopes
            .col_mut(c)
            .iter_mut()
            .zip(weights.col(c).iter())
            .for_each(|(slope, weight)| *slope = if slope.is_finite() { *slope * weight } else { 0.0 });
    }
    let squared: Vec<f64> = z.col_iter().map(|z| z.iter().map(|z| z * z).sum()).collect();
    let mut along = vec![0.0; z.ncols()];
    if columns.pairing == Some(Pairing::Cosine) {
        // Weights become those of x/‖x‖, and what they take along z is kept.
        for (c, along) in along.iter_mut().enumerate() {
            for i in 0..columns.len() {
                *along += slopes[(i, c)] * scalars[(i, c)];
                let length = columns.squared_norm(i).sqrt();
                slopes[(i, c)] = if length > 0.0 { slopes[(i, c)] / length } else { 0.0 };
            }
        }
    }
    let sums = columns.combine(slopes.as_ref());
    let mut values = Vec::with_capacity(z.ncols());
    let mut gradients = Mat::zeros(z.nrows(), z.ncols());
    for c in 0..z.ncols() {
        let norm = squared[c];
        // The kernel of z with itself, and the factors of z and of the sum in the gradient.
        let (own, of_z, of_sum) = match columns.pairing {
            Some(Pairing::SquaredDistance) => {
                (columns.kernel.value(0.0), -4.0 * slopes.col(c).iter().sum::<f64>(), 4.0)
            }
            Some(Pairing::Cosine) if norm > 0.0 => {
                (columns.kernel.value(1.0), 2.0 * along[c] / norm, -2.0 / norm.sqrt())
            }
            Some(Pairing::Cosine) => (columns.kernel.value(0.0), 0.0, 0.0),
            _ => (columns.kernel.value(norm), 2.0 * columns.kernel.slope(norm), -2.0),
        };
        values.push(own - 2.0 * column_dot(kernel.as_ref(), weights, c));
        for k in 0..z.nrows() {
            let gradient = of_z * z[(k, c)] + of_sum * sums[(k, c)];
            // Beyond the numbers there is nowhere to go.
            gradients[(k, c)] = if gradient.is_finite() { gradient } else { 0.0 };
        }
    }
    Slopes { values, gradients }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{Center, Negative};
    use crate::data::Points;
    use crate::model::KernelPca;

    #[test]
    fn gradients_are_those_of_finite_differences_for_every_kernel_with_a_slope() {
        let values: Vec<f64> = (0..60).map(|i| (f64::from(i) * 0.77).sin() + 0.3).collect();
        let points = Points::from_f64(values, 20, 3).expect("60 values");
        let kernels = [
            Kernel::gaussian(0.7),
            Kernel::polynomial(0.5, 1.0, 3),
            Ok(Kernel::linear()),
            Ok(Kernel::cosine()),
            Kernel::matern52(0.8),
            Kernel::matern32(0.8),
            Kernel::rational_quadratic(0.5, 1.5),
            Kernel::exponential(0.4),
        ];
        for kernel in kernels {
            let kernel = kernel.expect("in its domain");
            let model = KernelPca::new(kernel.clone()).n_components(2).fit(&points).expect("20 points");
            let columns = Columns::new(&model);
            let weights = columns.weights(Mat::from_fn(2, 1, |j, _| 0.4 - 0.7 * j as f64).as_ref());
            let z = Mat::from_fn(3, 1, |k, _| 0.3 + 0.4 * k as f64);
            let here = evaluate(&columns, weights.as_ref(), z.as_ref());
            for k in 0..3 {
                let h = 1e-5;
                let moved = |by: f64| {
                    let mut z = z.clone();
                    z[(k, 0)] += by;
                    evaluate(&columns, weights.as_ref(), z.as_ref()).values[0]
                };
                let difference = (moved(h) - moved(-h)) / (2.0 * h);
                let gap = (here.gradients[(k, 0)] - difference).abs();
                assert!(gap < 1e-8 * (1.0 + difference.abs()), "{}: {gap:e}", kernel.name());
            }
        }
    }

    /// All basis points are within one of the origin, with their mean subtracted, too; the second place is more than ten away from each, where the
    /// epanechnikov kernel ends and the others have values of 1e-10 and more.
    #[test]
    fn a_place_is_out_of_sight_where_a_bounded_kernel_tells_nothing() {
        let points = Points::from_f64(vec![0.1, -0.4, 0.7, 1.0], 4, 1).expect("4 values");
        let kernels = [
            (Kernel::gaussian(0.1), [false, false, true]),
            (Kernel::matern52(1.0), [false, false, true]),
            (Kernel::epanechnikov(0.01), [false, true, true]),
            (Kernel::sigmoid(0.5, 0.0), [false, true, true]),
            (Ok(Kernel::linear()), [false; 3]),
            (Ok(Kernel::cosine()), [false; 3]),
        ];
        for (kernel, expected) in kernels {
            let kernel = kernel.expect("in its domain");
            let settings = KernelPca::new(kernel.clone()).n_components(1).center(Center::No).negative(Negative::Clip);
            let columns = Columns::new(&settings.fit(&points).expect("4 points"));
            let z = Mat::from_fn(1, 3, |_, c| [0.5, 13.0, 1000.0][c]);
            assert_eq!(out_of_sight(&columns, z.as_ref()), expected, "{}", kernel.name());
        }
    }
}
