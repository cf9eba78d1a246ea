//! Multinomial logistic regression to its minimum.
//!
//! Minimises $-\sum_i \ln p_{i, y_i} + \frac{\alpha}{2} \lVert W \rVert^2$ with $p = \mathrm{softmax}(W^T x + b)$ (the biases are free) by
//! L-BFGS: the inverse Hessian is represented by the last few steps. The function is convex, so that a line search that halves its step
//! until the function falls enough always ends.
//!
//! # Numerics
//!
//! A penalty above one bends the function more than the data do, and beside it the biases, which have none, would hardly move. Inputs are divided by its root then, and the
//! weights with them in the end: in those coordinates the penalty is one.

use std::collections::VecDeque;

use faer::{Mat, MatRef};

use super::layer::Layer;
use crate::eigen::many::dot;
use crate::eigen::small_product;
use crate::error::Result;
use crate::watch::Context;

/// Steps that the inverse Hessian is made of.
const MEMORY: usize = 10;
/// The gradient at which the minimum is reached, relative to the first one.
const TOLERANCE: f64 = 1e-6;
/// Where rounding lets no step lead down, gradients up to this count as none, relative to the first one.
const ROUNDING: f64 = 1e-3;
/// Values whose relative difference is no larger tell nothing: then the gradient decides whether a step is a good one.
const SAME: f64 = 1e-12;
/// Steps of a regression, at most, where nothing else is said.
pub(super) const MAX_STEPS: usize = 500;

/// The regression of classes (numbers below `n_classes`) on inputs, and whether its minimum was reached within `max_steps`.
///
/// # Errors
///
/// If the run was stopped.
pub(super) fn train(
    inputs: MatRef<'_, f64>,
    classes: &[usize],
    n_classes: usize,
    penalty: f64,
    max_steps: usize,
    context: &Context<'_>,
) -> Result<(Layer, bool)> {
    let p = inputs.ncols();
    let scale = penalty.max(1.0).sqrt();
    let scaled = (scale > 1.0).then(|| Mat::from_fn(inputs.nrows(), p, |i, j| inputs[(i, j)] / scale));
    let inputs = match &scaled {
        Some(scaled) => scaled.as_ref(),
        None => inputs,
    };
    let problem = Problem { inputs, classes, n_classes, penalty: penalty / (scale * scale) };
    let (x, converged) = problem.minimum(max_steps, context)?;
    let weight = |i: usize, j: usize| x[j * (p + 1) + i] / if i < p { scale } else { 1.0 };
    Ok((Layer { weights: Mat::from_fn(p + 1, n_classes, weight) }, converged))
}

struct Problem<'a> {
    inputs: MatRef<'a, f64>,
    classes: &'a [usize],
    n_classes: usize,
    penalty: f64,
}

impl Problem<'_> {
    /// Where the function is smallest, from zeros on, and whether that was reached within `max_steps`.
    ///
    /// # Errors
    ///
    /// If the run was stopped.
    fn minimum(&self, max_steps: usize, context: &Context<'_>) -> Result<(Vec<f64>, bool)> {
        let mut x = vec![0.0; (self.inputs.ncols() + 1) * self.n_classes];
        let (mut value, mut gradient) = self.at(&x);
        let first = norm(&gradient);
        let mut memory: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
        let mut converged = false;
        for step in 0..=max_steps {
            context.check()?;
            converged = norm(&gradient) <= TOLERANCE * first;
            if converged || step == max_steps {
                break;
            }
            let mut direction = two_loops(&memory, &gradient);
            let mut slope = dot(&direction, &gradient);
            if slope >= 0.0 {
                // Rounding has spoilt the memory: the gradient itself always leads down.
                memory.clear();
                direction = gradient.iter().map(|g| -g).collect();
                slope = dot(&direction, &gradient);
            }
            let mut length = if memory.is_empty() { (1.0 / norm(&gradient)).min(1.0) } else { 1.0 };
            let found = (0..50).find_map(|_| {
                let next: Vec<f64> = x.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
                let (at, slopes) = self.at(&next);
                let is_flatter = (at - value).abs() <= SAME * value.abs() && norm(&slopes) < norm(&gradient);
                if at <= value + 1e-4 * length * slope || is_flatter {
                    return Some((next, at, slopes));
                }
                length *= 0.5;
                None
            });
            let Some((next, at, slopes)) = found else {
                // Rounding is all that is left of the slope, if that is small.
                converged = norm(&gradient) <= ROUNDING * first;
                break;
            };
            let step: Vec<f64> = next.iter().zip(&x).map(|(a, b)| a - b).collect();
            let change: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
            let curvature = dot(&step, &change);
            if curvature > 0.0 {
                memory.push_back((step, change, 1.0 / curvature));
                if memory.len() > MEMORY {
                    memory.pop_front();
                }
            }
            (x, value, gradient) = (next, at, slopes);
        }
        Ok((x, converged))
    }

    /// The function and its gradient; weights class by class, the bias last.
    fn at(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let (n, p) = (self.inputs.nrows(), self.inputs.ncols());
        let layer = Layer { weights: Mat::from_fn(p + 1, self.n_classes, |i, j| x[j * (p + 1) + i]) };
        let mut sums = layer.sums(self.inputs);
        let mut value = 0.0;
        for i in 0..n {
            softmax(&mut sums, i);
            let own = &mut sums[(i, self.classes[i])];
            value -= own.max(f64::MIN_POSITIVE).ln();
            *own -= 1.0;
        }
        let slopes = small_product(self.inputs.transpose(), sums.as_ref());
        let mut gradient = vec![0.0; x.len()];
        for j in 0..self.n_classes {
            for i in 0..p {
                let w = x[j * (p + 1) + i];
                value += 0.5 * self.penalty * w * w;
                gradient[j * (p + 1) + i] = slopes[(i, j)] + self.penalty * w;
            }
            gradient[j * (p + 1) + p] = sums.col(j).iter().sum();
        }
        (value, gradient)
    }
}

/// Turns a row of sums into probabilities, where they are.
pub(super) fn softmax(sums: &mut Mat<f64>, row: usize) {
    let largest = (0..sums.ncols()).map(|j| sums[(row, j)]).fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    for j in 0..sums.ncols() {
        let raised = (sums[(row, j)] - largest).exp();
        sums[(row, j)] = raised;
        total += raised;
    }
    for j in 0..sums.ncols() {
        sums[(row, j)] /= total;
    }
}

/// Minus the inverse Hessian times the gradient.
fn two_loops(memory: &VecDeque<(Vec<f64>, Vec<f64>, f64)>, gradient: &[f64]) -> Vec<f64> {
    let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for (step, change, inverse) in memory.iter().rev() {
        let share = inverse * dot(step, &q);
        q.iter_mut().zip(change).for_each(|(q, y)| *q -= share * y);
        shares.push(share);
    }
    if let Some((_, change, inverse)) = memory.back() {
        let scale = 1.0 / (inverse * dot(change, change));
        for q in &mut q {
            *q *= scale;
        }
    }
    for ((step, change, inverse), share) in memory.iter().zip(shares.into_iter().rev()) {
        let other = inverse * dot(change, &q);
        q.iter_mut().zip(step).for_each(|(q, s)| *q += (share - other) * s);
    }
    q
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::watch::{Phase, Threads, Watch};

    /// The regression of the problem below.
    fn regression(max_steps: usize, watch: &Watch<'_>) -> Result<(Layer, bool)> {
        penalized(0.01, max_steps, watch)
    }

    /// The same with another penalty.
    fn penalized(penalty: f64, max_steps: usize, watch: &Watch<'_>) -> Result<(Layer, bool)> {
        let (inputs, classes) = problem();
        let threads = Threads::new(1).expect("one thread");
        train(inputs.as_ref(), &classes, 3, penalty, max_steps, &Context::new(&threads, watch, Phase::Classifying))
    }

    #[test]
    fn a_regression_can_be_stopped() {
        let watch = Watch::new().time_limit(std::time::Duration::ZERO);
        assert!(matches!(regression(500, &watch), Err(Error::Interrupted { .. })));
    }

    fn problem() -> (Mat<f64>, Vec<usize>) {
        let inputs = Mat::from_fn(60, 2, |i, j| ((i * (7 + 4 * j)) % 23) as f64 / 10.0 - 1.0);
        let classes = (0..60).map(|i| usize::from(inputs[(i, 0)] > 0.2) + usize::from(inputs[(i, 1)] > 0.4)).collect();
        (inputs, classes)
    }

    #[test]
    fn the_gradient_is_that_of_the_function() {
        let (inputs, classes) = problem();
        let problem = Problem { inputs: inputs.as_ref(), classes: &classes, n_classes: 3, penalty: 0.7 };
        let x: Vec<f64> = (0..9).map(|i| f64::from(i) * 0.1 - 0.3).collect();
        let (_, gradient) = problem.at(&x);
        for i in 0..9 {
            let moved = |step: f64| {
                let mut x = x.clone();
                x[i] += step;
                problem.at(&x).0
            };
            let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((gradient[i] - numeric).abs() < 1e-6 * (1.0 + numeric.abs()), "{i}: {} not {numeric}", gradient[i]);
        }
    }

    #[test]
    fn the_minimum_has_no_slope_and_separates_the_classes() {
        let (inputs, classes) = problem();
        let (layer, converged) = regression(500, &Watch::new()).expect("nobody stops it");
        assert!(converged);
        let x: Vec<f64> =
            (0..3).flat_map(|j| (0..3).map(move |i| (i, j))).map(|(i, j)| layer.weights[(i, j)]).collect();
        let problem = Problem { inputs: inputs.as_ref(), classes: &classes, n_classes: 3, penalty: 0.01 };
        let first = norm(&problem.at(&[0.0; 9]).1);
        assert!(norm(&problem.at(&x).1) <= 2.0 * TOLERANCE * first);
        let sums = layer.sums(inputs.as_ref());
        let right = (0..60).filter(|&i| (0..3).all(|j| sums[(i, j)] <= sums[(i, classes[i])])).count();
        assert!(right >= 50, "{right} of 60");
    }

    #[test]
    fn however_large_a_penalty_is_biases_find_the_shares_of_the_classes() {
        let (_, classes) = problem();
        for penalty in [1e8, 1e20, 1e200] {
            let (layer, converged) = penalized(penalty, 500, &Watch::new()).expect("nobody stops it");
            assert!(converged, "{penalty:e}");
            let mut shares = Mat::from_fn(1, 3, |_, j| layer.weights[(2, j)]);
            softmax(&mut shares, 0);
            for j in 0..3 {
                let expected = classes.iter().filter(|&&class| class == j).count() as f64 / 60.0;
                assert!((shares[(0, j)] - expected).abs() < 1e-4, "{penalty:e}: {} not {expected}", shares[(0, j)]);
                assert!((0..2).all(|i| layer.weights[(i, j)].abs() < 1e4 / penalty), "{penalty:e}: {layer:?}");
            }
        }
    }

    #[test]
    fn weights_under_the_largest_penalty_are_small_and_not_nothing() {
        // Two classes of one size, so that biases have no slope: the weight of the second is half the sum of the inputs' sizes over the penalty.
        let inputs = Mat::from_fn(40, 1, |i, _| if i % 2 == 0 { -1.0 } else { 1.0 });
        let classes: Vec<usize> = (0..40).map(|i| i % 2).collect();
        let (threads, watch) = (Threads::new(1).expect("one thread"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Classifying);
        for penalty in [1e6, 1e20] {
            let (layer, converged) =
                train(inputs.as_ref(), &classes, 2, penalty, 500, &context).expect("nobody stops it");
            let weight = penalty * layer.weights[(0, 1)];
            assert!(converged && (weight - 20.0).abs() < 1e-2, "{penalty:e}: {layer:?}");
        }
    }

    #[test]
    fn a_penalty_above_one_has_its_own_minimum() {
        let (inputs, classes) = problem();
        let (layer, converged) = penalized(30.0, 500, &Watch::new()).expect("nobody stops it");
        assert!(converged);
        let x: Vec<f64> = (0..9_usize).map(|at| layer.weights[(at % 3, at / 3)]).collect();
        let problem = Problem { inputs: inputs.as_ref(), classes: &classes, n_classes: 3, penalty: 30.0 };
        let first = norm(&problem.at(&[0.0; 9]).1);
        assert!(norm(&problem.at(&x).1) <= 1e-4 * first, "{layer:?}");
    }

    #[test]
    fn a_regression_that_stops_at_its_last_step_says_so() {
        assert!(!regression(3, &Watch::new()).expect("nobody stops it").1);
    }
}
