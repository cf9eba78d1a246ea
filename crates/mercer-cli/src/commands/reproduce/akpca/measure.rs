//! What a way of encoding is worth: errors of reconstruction and denoising, and accuracy of classification.

use faer::Mat;
use mercer::Points;
use mercer::autoencoder::Codec;
use mercer::classify::{LogisticRegression, stratified_folds};
use mercer::watch::Threads;

use super::digits::{Noise, Set, with_noise};
use crate::failure::Result;

/// Deviations of Gaussian noise, and probabilities that a pixel is zero.
pub(super) const GAUSSIAN: [f64; 4] = [0.0, 0.02, 0.04, 0.06];
pub(super) const SPECKLE: [f64; 4] = [0.0, 0.2, 0.3, 0.4];
/// What half the sum of the squared weights of the classifier is multiplied by.
const PENALTY: f64 = 0.1;

/// A way of encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Akpca,
    DataSpan,
    Pca,
    Kpca,
}

impl Method {
    /// In the order of the claim: the smallest error first.
    pub(super) const ALL: [Self; 4] = [Self::Akpca, Self::DataSpan, Self::Pca, Self::Kpca];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Akpca => "AKPCA",
            Self::DataSpan => "DS-AKPCA",
            Self::Pca => "PCA",
            Self::Kpca => "KPCA",
        }
    }
}

/// What was measured of one way of encoding with one number of components.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) set: usize,
    pub(super) method: Method,
    pub(super) k: usize,
    /// Mean squared distances of reconstructed pictures, of those learned from and of others.
    pub(super) training: f64,
    pub(super) held_out: f64,
    /// The same after noise, level by level; empty for numbers of components that the paper does not show.
    pub(super) gaussian: Vec<f64>,
    pub(super) speckle: Vec<f64>,
    /// Shares of pictures whose digit is found, learned from few of each digit and from many.
    pub(super) few: f64,
    pub(super) many: f64,
    /// Seconds of learning.
    pub(super) seconds: f64,
}

/// How pictures are dealt out for classification.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dealt {
    /// Folds of which one is learned from, for a small training set.
    pub(super) few: usize,
    /// Folds of which one is tested on, for a large one.
    pub(super) many: usize,
    /// Folds that are looked at, at most.
    pub(super) looks: usize,
}

/// Everything about a way of encoding.
pub(super) fn measure(
    codec: &dyn Codec,
    set: &Set,
    at: (usize, Method),
    is_denoised: bool,
    dealt: Dealt,
    (threads, seconds): (&Threads, f64),
) -> Result<Entry> {
    // The reference is always the picture that was encoded: nobody has the clean one.
    let error = |seen: &Points, clean: &Points| -> Result<f64> { Ok(distance(&codec.reconstruct(seen)?, clean)) };
    let held_out = error(&set.held_out, &set.held_out)?;
    let denoised = |noise: fn(f64) -> Noise, levels: &[f64]| -> Result<Vec<f64>> {
        let levels = if is_denoised { levels } else { &[] };
        let at = |&level: &f64| -> Result<f64> {
            // No noise is no noise, of whatever kind.
            if level == 0.0 { Ok(held_out) } else { error(&with_noise(&set.held_out, noise(level))?, &set.held_out) }
        };
        levels.iter().map(at).collect()
    };
    let encoded = codec.encode(&set.classified)?;
    Ok(Entry {
        set: at.0,
        method: at.1,
        k: codec.n_components(),
        training: error(&set.learned, &set.learned)?,
        held_out,
        gaussian: denoised(Noise::Gaussian, &GAUSSIAN)?,
        speckle: denoised(Noise::Speckle, &SPECKLE)?,
        few: accuracy(&encoded, &set.labels, dealt.few, false, dealt.looks, threads)?,
        many: accuracy(&encoded, &set.labels, dealt.many, true, dealt.looks, threads)?,
        seconds,
    })
}

/// The mean squared distance between rows.
pub(super) fn distance(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}

/// The accuracy of a classifier of codes over several folds: each is tested on, or with `is_tested` false learned from, and the others are the
/// other part.
fn accuracy(
    codes: &Mat<f64>,
    labels: &[usize],
    folds: usize,
    is_tested: bool,
    looks: usize,
    threads: &Threads,
) -> Result<f64> {
    let dealt = stratified_folds(labels, folds, 1)?;
    let (mut right, mut all) = (0, 0);
    for fold in 0..folds.min(looks) {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&row| dealt[row] == fold);
        let (train, test) = if is_tested { (outside, inside) } else { (inside, outside) };
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
        for is_tested in [false, true] {
            let found = accuracy(&codes, &labels, 5, is_tested, 2, &threads).unwrap();
            assert!((found - 1.0).abs() < 1e-12, "{found}");
        }
    }

    #[test]
    fn the_distance_is_a_mean_over_rows() {
        let points = Points::from_f64(vec![0.0, 0.0, 1.0, 1.0], 2, 2).unwrap();
        let found = Mat::from_fn(2, 2, |i, k| if i == 0 && k == 0 { 2.0 } else { i as f64 });
        assert!((distance(&found, &points) - 2.0).abs() < 1e-12);
    }
}
