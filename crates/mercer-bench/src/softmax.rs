//! Multinomial logistic regression, to see how well codes tell digits apart.

use faer::Mat;

/// Steps of gradient descent, and the weight of the squared weights.
const STEPS: usize = 300;
const RIDGE: f64 = 1e-4;

/// Probabilities `exp(w_c·x) / Σ exp(w_c·x)` of each class (column) for each row of `x`.
pub(crate) fn probabilities(weights: &Mat<f64>, x: &Mat<f64>) -> Mat<f64> {
    let mut scores = x * weights;
    for i in 0..scores.nrows() {
        let largest = (0..scores.ncols()).map(|c| scores[(i, c)]).fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        for c in 0..scores.ncols() {
            // The largest is taken out first, so that nothing overflows.
            scores[(i, c)] = (scores[(i, c)] - largest).exp();
            sum += scores[(i, c)];
        }
        for c in 0..scores.ncols() {
            scores[(i, c)] /= sum;
        }
    }
    scores
}

/// The share of test rows whose class is found by a classifier learned from the training rows.
pub(crate) fn accuracy(train: (&Mat<f64>, &[u8]), test: (&Mat<f64>, &[u8])) -> f64 {
    let (mean, deviation) = moments(train.0);
    let (x, queries) = (standardized(train.0, &mean, &deviation), standardized(test.0, &mean, &deviation));
    let weights = learn(&x, train.1);
    let found = probabilities(&weights, &queries);
    let right = (0..found.nrows()).filter(|&i| {
        let best = (0..10).max_by(|&a, &b| found[(i, a)].total_cmp(&found[(i, b)]));
        best == Some(usize::from(test.1[i]))
    });
    right.count() as f64 / found.nrows().max(1) as f64
}

/// Accelerated gradient descent of the mean loss.
fn learn(x: &Mat<f64>, labels: &[u8]) -> Mat<f64> {
    let (n, d) = (x.nrows(), x.ncols());
    let mut weights = Mat::zeros(d, 10);
    let mut before = weights.clone();
    // Columns have variance one, so a quarter of their number bounds the curvature.
    let step = 1.0 / (0.5 * d as f64 + RIDGE);
    for t in 0..STEPS {
        let momentum = t as f64 / (t as f64 + 3.0);
        let ahead = Mat::from_fn(d, 10, |k, c| weights[(k, c)] + momentum * (weights[(k, c)] - before[(k, c)]));
        let mut residual = probabilities(&ahead, x);
        for (i, &label) in labels.iter().enumerate() {
            residual[(i, usize::from(label))] -= 1.0;
        }
        let gradient = x.transpose() * &residual;
        before = weights;
        weights =
            Mat::from_fn(d, 10, |k, c| ahead[(k, c)] - step * (gradient[(k, c)] / n as f64 + RIDGE * ahead[(k, c)]));
    }
    weights
}

fn moments(x: &Mat<f64>) -> (Vec<f64>, Vec<f64>) {
    let n = x.nrows() as f64;
    x.col_iter()
        .map(|column| {
            let mean = column.iter().sum::<f64>() / n;
            let variance = column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
        })
        .unzip()
}

/// Columns of mean zero and variance one, and a column of ones.
fn standardized(x: &Mat<f64>, mean: &[f64], deviation: &[f64]) -> Mat<f64> {
    let d = x.ncols();
    Mat::from_fn(x.nrows(), d + 1, |i, k| if k < d { (x[(i, k)] - mean[k]) / deviation[k] } else { 1.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_formula() {
        // Classes 0 and 1 with scores 0 and ln 3.
        let weights = Mat::from_fn(1, 2, |_, c| c as f64 * 3.0_f64.ln());
        let found = probabilities(&weights, &Mat::full(1, 1, 1.0));
        assert!((found[(0, 0)] - 0.25).abs() < 1e-15 && (found[(0, 1)] - 0.75).abs() < 1e-15);
    }

    #[test]
    fn classes_that_are_apart_are_told_apart() {
        let labels: Vec<u8> = (0..100).map(|i| i % 10).collect();
        let x = Mat::from_fn(100, 2, |i, k| {
            let angle = f64::from(labels[i]) * 0.6 + 0.01 * (i as f64).sin();
            if k == 0 { angle.cos() } else { angle.sin() }
        });
        assert!(accuracy((&x, &labels), (&x, &labels)) > 0.95);
    }
}
