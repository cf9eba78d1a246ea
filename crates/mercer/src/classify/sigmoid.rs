//! Sigmoid units, trained point by point.

use faer::{Mat, MatRef};
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::layer::{Layer, sigmoid};
use crate::eigen::many::{add, dot};

/// Units that learn `targets` (zeros and ones, one column per unit) from `inputs`: `w += rate (t - f(u)) x` at every point, in
/// another order in every epoch.
pub(super) fn train(
    inputs: MatRef<'_, f64>,
    targets: MatRef<'_, f64>,
    learning_rate: f64,
    epochs: usize,
    seed: u64,
) -> Layer {
    let (n, p, units) = (inputs.nrows(), inputs.ncols(), targets.ncols());
    // Rows as they are used: next to each other in memory, a one for the bias at the end.
    let rows: Vec<Vec<f64>> =
        (0..n).map(|i| (0..p).map(|j| inputs[(i, j)]).chain(std::iter::once(1.0)).collect()).collect();
    let mut weights = vec![vec![0.0; p + 1]; units];
    let mut order: Vec<usize> = (0..n).collect();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..epochs {
        order.shuffle(&mut random);
        for &i in &order {
            for (unit, weights) in weights.iter_mut().enumerate() {
                let step = learning_rate * (targets[(i, unit)] - sigmoid(dot(weights, &rows[i])));
                add(weights, step, &rows[i]);
            }
        }
    }
    Layer { weights: Mat::from_fn(p + 1, units, |j, unit| weights[unit][j]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unit_learns_a_threshold() {
        let inputs = Mat::from_fn(40, 1, |i, _| i as f64 / 10.0 - 2.0);
        let targets = Mat::from_fn(40, 1, |i, _| f64::from(u8::from(i >= 25)));
        let layer = train(inputs.as_ref(), targets.as_ref(), 0.1, 500, 1);
        let sums = layer.sums(inputs.as_ref());
        let right = (0..40).filter(|&i| (sums[(i, 0)] > 0.0) == (i >= 25)).count();
        assert!(right >= 39, "{right} of 40");
        assert_eq!(layer, train(inputs.as_ref(), targets.as_ref(), 0.1, 500, 1), "the same seed, the same bits");
    }
}
