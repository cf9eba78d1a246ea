//! Sigmoid units, trained point by point.

use faer::{Mat, MatRef};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::layer::{Layer, sigmoid};
use crate::eigen::many::{add, dot};
use crate::error::{Error, Result};
use crate::simd::{Isa, Job, Target};
use crate::watch::Context;

/// Units that learn `targets` (zeros and ones, one column per unit) from `inputs`: `w += rate (t - f(u)) x` at every point, in
/// another order in every epoch.
///
/// # Errors
///
/// If weights become so large that they are no numbers, or the run was stopped.
pub(super) fn train(
    inputs: MatRef<'_, f64>,
    targets: MatRef<'_, f64>,
    learning_rate: f64,
    epochs: usize,
    seed: u64,
    context: &Context<'_>,
) -> Result<Layer> {
    let (n, p, units) = (inputs.nrows(), inputs.ncols(), targets.ncols());
    // Rows as they are used: next to each other in memory, a one for the bias at the end.
    let rows: Vec<Vec<f64>> =
        (0..n).map(|i| (0..p).map(|j| inputs[(i, j)]).chain(std::iter::once(1.0)).collect()).collect();
    let mut weights = vec![vec![0.0; p + 1]; units];
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let isa = Isa::detect();
    for _ in 0..epochs {
        context.check()?;
        order.shuffle(&mut random);
        isa.run(Epoch { rows: &rows, targets, order: &order, learning_rate, weights: &mut weights });
    }
    let is_finite = |weights: &Vec<f64>| rows.iter().all(|row| dot(weights, row).is_finite());
    if !weights.iter().all(is_finite) {
        return Err(Error::invalid("learning_rate", "so small that weights and their sums stay finite", learning_rate));
    }
    Ok(Layer { weights: Mat::from_fn(p + 1, units, |j, unit| weights[unit][j]) })
}

/// All rows once, in some order. Bits do not depend on the instruction set: nothing is fused, and sums are added in one order.
struct Epoch<'a> {
    rows: &'a [Vec<f64>],
    targets: MatRef<'a, f64>,
    order: &'a [usize],
    learning_rate: f64,
    weights: &'a mut [Vec<f64>],
}

impl Job for Epoch<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        for &i in self.order {
            for (unit, weights) in self.weights.iter_mut().enumerate() {
                let step = self.learning_rate * (self.targets[(i, unit)] - sigmoid(dot(weights, &self.rows[i])));
                add(weights, step, &self.rows[i]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Phase, Threads, Watch};

    /// A unit that learns a threshold, and what it learns from.
    fn threshold(rate: f64, watch: &Watch<'_>) -> (Mat<f64>, Result<Layer>) {
        let inputs = Mat::from_fn(40, 1, |i, _| i as f64 / 10.0 - 2.0);
        let targets = Mat::from_fn(40, 1, |i, _| f64::from(u8::from(i >= 25)));
        let threads = Threads::new(1).expect("one thread");
        let context = Context::new(&threads, watch, Phase::Classifying);
        let layer = train(inputs.as_ref(), targets.as_ref(), rate, 500, 1, &context);
        (inputs, layer)
    }

    #[test]
    fn weights_that_are_no_numbers_are_refused() {
        let error = threshold(1e308, &Watch::new()).1.expect_err("sums overflow").to_string();
        assert!(error.contains("learning_rate") && error.contains("finite"), "{error}");
    }

    #[test]
    fn training_can_be_stopped() {
        let watch = Watch::new().time_limit(std::time::Duration::ZERO);
        assert!(matches!(threshold(0.1, &watch).1, Err(Error::Interrupted { .. })));
    }

    #[test]
    fn one_unit_learns_a_threshold() {
        let learned = || threshold(0.1, &Watch::new());
        let (inputs, layer) = learned();
        let layer = layer.expect("weights");
        let sums = layer.sums(inputs.as_ref());
        let right = (0..40).filter(|&i| (sums[(i, 0)] > 0.0) == (i >= 25)).count();
        assert!(right >= 39, "{right} of 40");
        assert_eq!(layer, learned().1.expect("weights"), "the same seed, the same bits");
    }
}
