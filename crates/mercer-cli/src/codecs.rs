//! What codes of pictures are worth: noise to take away again, distances, and how well classes are told apart. What `mercer reproduce akpca` and the
//! benchmark of the same experiment measure is measured here.

use faer::Mat;
use mercer::classify::{LogisticRegression, stratified_folds};
use mercer::watch::Threads;
use mercer::{Points, Result};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What half the sum of the squared weights of the classifier is multiplied by.
const PENALTY: f64 = 0.1;

/// Noise on pictures.
#[derive(Clone, Copy, Debug)]
pub enum Noise {
    /// Independent normal numbers of this deviation, for pictures whose largest norm is one.
    Gaussian(f64),
    /// Pixels that are zero with this probability.
    Speckle(f64),
}

/// Pictures with noise, in single precision, the same for the same pictures; `largest` is the norm that noise is relative to.
///
/// # Errors
///
/// If there are no pictures.
pub fn with_noise(points: &Points, noise: Noise, largest: f64) -> Result<Points> {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut uniform = move || ((random.next_u64() >> 11) as f64 + 0.5) * 0.5_f64.powi(53);
    let (n, d) = (points.n_samples(), points.n_features());
    let mut values = Vec::with_capacity(n * d);
    for i in 0..n {
        for x in points.row(i) {
            let value = match noise {
                Noise::Gaussian(deviation) => {
                    let radius = (-2.0 * uniform().ln()).sqrt();
                    x + largest * deviation * radius * (std::f64::consts::TAU * uniform()).cos()
                }
                Noise::Speckle(share) if uniform() < share => 0.0,
                Noise::Speckle(_) => x,
            };
            values.push(value as f32);
        }
    }
    Points::from_f32(values, n, d)
}

/// The mean squared distance between rows.
pub fn distance(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}

/// What each of so many parts of the rows is for; the others are for the other.
#[derive(Clone, Copy, Debug)]
pub enum Folds {
    /// To learn from: few rows.
    LearnedFrom(usize),
    /// To test on, after many rows.
    TestedOn(usize),
}

/// The accuracy of logistic regression on codes: the share of rows whose class is found, over as many folds as are looked at, at most.
///
/// # Errors
///
/// If a class has fewer rows than there are folds, or codes are not finite.
pub fn accuracy(codes: &Mat<f64>, labels: &[usize], folds: Folds, looks: usize, threads: &Threads) -> Result<f64> {
    let (Folds::LearnedFrom(n_folds) | Folds::TestedOn(n_folds)) = folds;
    let dealt = stratified_folds(labels, n_folds, 1)?;
    let (mut right, mut all) = (0, 0);
    for fold in 0..n_folds.min(looks) {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&row| dealt[row] == fold);
        let (train, test) = match folds {
            Folds::LearnedFrom(_) => (inside, outside),
            Folds::TestedOn(_) => (outside, inside),
        };
        let rows = |rows: &[usize]| Mat::from_fn(rows.len(), codes.ncols(), |i, k| codes[(rows[i], k)]);
        let own: Vec<usize> = train.iter().map(|&row| labels[row]).collect();
        let classifier = LogisticRegression::fit(rows(&train).as_ref(), &own, PENALTY, threads)?;
        let found = classifier.predict(rows(&test).as_ref())?;
        right += found.iter().zip(&test).filter(|&(&class, &row)| class == labels[row]).count();
        all += test.len();
    }
    Ok(right as f64 / all.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_that_are_apart_are_found_from_few_and_from_many() {
        let labels: Vec<usize> = (0..60).map(|i| i % 3).collect();
        let codes = Mat::from_fn(60, 2, |i, k| f64::from(u8::from(labels[i] == k)) + 0.01 * (i as f64).sin());
        let threads = Threads::new(1).unwrap();
        for folds in [Folds::LearnedFrom(5), Folds::TestedOn(5)] {
            let found = accuracy(&codes, &labels, folds, 2, &threads).unwrap();
            assert!((found - 1.0).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn the_distance_is_a_mean_over_rows() {
        let points = Points::from_f64(vec![0.0, 0.0, 1.0, 1.0], 2, 2).unwrap();
        let found = Mat::from_fn(2, 2, |i, k| if i == 0 && k == 0 { 2.0 } else { i as f64 });
        assert!((distance(&found, &points) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn noise_is_as_strong_as_it_is_called() {
        let points = Points::from_f64(vec![0.5; 20_000], 100, 200).unwrap();
        for none in [Noise::Gaussian(0.0), Noise::Speckle(0.0)] {
            let same = with_noise(&points, none, 1.0).unwrap();
            assert!((0..100).all(|i| same.row(i) == points.row(i)), "{none:?}");
        }
        let noisy = with_noise(&points, Noise::Gaussian(0.05), 2.0).unwrap();
        let square: f64 = (0..100).flat_map(|i| noisy.row(i)).map(|x| (x - 0.5).powi(2)).sum();
        assert!((square / 20_000.0 / 0.01 - 1.0).abs() < 0.05);
        let noisy = with_noise(&points, Noise::Speckle(0.3), 2.0).unwrap();
        let zeros = (0..100).flat_map(|i| noisy.row(i)).filter(|&x| x == 0.0).count();
        assert!((zeros as f64 / 20_000.0 - 0.3).abs() < 0.02);
    }
}
