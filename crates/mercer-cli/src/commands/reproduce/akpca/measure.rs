//! What a way of encoding is worth: errors of reconstruction and denoising, and accuracy of classification.

use mercer::Points;
use mercer::autoencoder::Codec;
use mercer::watch::Threads;

use super::digits::Set;
use crate::codecs::{Folds, Noise, accuracy, distance, with_noise};
use crate::failure::Result;

/// Deviations of Gaussian noise, and probabilities that a pixel is zero.
pub(super) const GAUSSIAN: [f64; 4] = [0.0, 0.02, 0.04, 0.06];
pub(super) const SPECKLE: [f64; 4] = [0.0, 0.2, 0.3, 0.4];

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
            if level == 0.0 {
                return Ok(held_out);
            }
            error(&with_noise(&set.held_out, noise(level), 1.0)?, &set.held_out)
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
        few: accuracy(&encoded, &set.labels, Folds::LearnedFrom(dealt.few), dealt.looks, threads)?,
        many: accuracy(&encoded, &set.labels, Folds::TestedOn(dealt.many), dealt.looks, threads)?,
        seconds,
    })
}
