//! What is asked for, and what was done.

use serde::{Deserialize, Serialize};

use crate::data::{Moments, Points};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, gamma_of};
use crate::model::Model;
use crate::nystrom::{Landmarks, Nystrom, NystromPca};
use crate::watch::{Threads, Watch};

/// Points that components are learned from, at most.
pub(super) const LEARNED_FROM: usize = 20_000;
/// Points that are worked on at once.
pub(super) const AT_ONCE: usize = 8192;
/// Landmarks where nobody says how many, at least; else so many times the number of coordinates.
const LEAST_LANDMARKS: usize = 300;
const LANDMARKS_PER_FEATURE: usize = 3;
/// How many times the standard deviation of its noise a score must reach to be kept.
const THRESHOLD: f64 = 2.75;

/// Denoising, as it is asked for.
///
/// ```
/// use mercer::denoise::{Denoiser, Grid, Image, snr, with_noise};
/// use mercer::Watch;
///
/// // Stripes, and noise on them.
/// let clean: Vec<f64> = (0..48 * 48).map(|at| f64::from(u8::from(at % 48 / 6 % 2 == 0))).collect();
/// let noisy = with_noise(&clean, 0.173, 0);
///
/// let image = Image::new(noisy.clone(), 48, 48, 1)?;
/// let found = Denoiser::new().noise(0.173).image(&image, Grid::default(), &Watch::new())?;
/// assert!(snr(&clean, found.image.values())? > snr(&clean, &noisy)? + 5.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Denoiser {
    pub(super) noise: Option<f64>,
    n_components: Option<usize>,
    bandwidth: Option<f64>,
    threshold: Option<f64>,
    refine: Option<bool>,
    n_landmarks: Option<usize>,
    threads: Option<usize>,
    pub(super) seed: u64,
}

impl Denoiser {
    /// Scores kept by their size, with the noise level estimated.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the standard deviation of the noise, in the units of the data (default: estimated). Zero leaves everything as it is.
    #[must_use]
    pub fn noise(mut self, noise: f64) -> Self {
        self.noise = Some(noise);
        self
    }

    /// Projects on so many components, and nothing else: no score is set to zero, and the noise level is not asked for.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = Some(n_components);
        self
    }

    /// Sets the width of the gaussian kernel (default: ten times the root of the total variance of a picture's patches, once that of
    /// rows).
    #[must_use]
    pub fn bandwidth(mut self, bandwidth: f64) -> Self {
        self.bandwidth = Some(bandwidth);
        self
    }

    /// Sets how many times the standard deviation of its noise a score must reach to be kept (default 2.75).
    #[must_use]
    pub fn threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// Sets whether it is done once more with the first result as a guide (default: it is).
    #[must_use]
    pub fn refine(mut self, refine: bool) -> Self {
        self.refine = Some(refine);
        self
    }

    /// Sets over how many landmarks components are learned (default: three per coordinate and at least 300).
    #[must_use]
    pub fn n_landmarks(mut self, n_landmarks: usize) -> Self {
        self.n_landmarks = Some(n_landmarks);
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if let Some(noise) = self.noise
            && !(noise >= 0.0 && noise.is_finite())
        {
            return Err(Error::invalid("noise", "a number that is not negative", noise));
        }
        if let Some(bandwidth) = self.bandwidth {
            gamma_of(bandwidth)?;
        }
        if let Some(threshold) = self.threshold {
            Error::require_positive("threshold", threshold)?;
        }
        if self.n_landmarks.is_some_and(|landmarks| landmarks < 2) {
            return Err(Error::invalid("n_landmarks", "at least 2", self.n_landmarks.unwrap_or(0)));
        }
        if self.n_components.is_some() {
            let others = [
                ("noise", self.noise.is_some()),
                ("threshold", self.threshold.is_some()),
                ("refine", self.refine.is_some()),
            ];
            if let Some((name, _)) = others.into_iter().find(|(_, given)| *given) {
                let requirement =
                    "left out with a number of components, on which points are projected whatever the noise";
                return Err(Error::invalid(name, requirement, "given"));
            }
        }
        Ok(())
    }

    /// The level of the noise, if it is asked for: given or estimated.
    pub(super) fn noise_or(&self, estimate: impl FnOnce() -> Result<f64>) -> Result<Option<f64>> {
        if self.only_projects() { Ok(None) } else { self.noise.map_or_else(estimate, Ok).map(Some) }
    }

    /// Whether points are projected and nothing else.
    pub(super) fn only_projects(&self) -> bool {
        self.n_components.is_some()
    }

    pub(super) fn refines(&self) -> bool {
        !self.only_projects() && self.refine.unwrap_or(true)
    }

    pub(super) fn least_score(&self) -> f64 {
        self.threshold.unwrap_or(THRESHOLD)
    }

    pub(super) fn pool(&self) -> Result<Threads> {
        self.threads.map_or_else(Threads::all, Threads::new)
    }

    pub(super) fn n_threads(&self) -> usize {
        self.threads.unwrap_or_else(Threads::available)
    }

    /// The components of points that vary in at most `rank` directions; none if they do not vary at all. `width` is that of the kernel, in units
    /// of how far points are from their mean.
    pub(super) fn learn(&self, points: &Points, rank: usize, width: f64, watch: &Watch<'_>) -> Result<Option<Model>> {
        let (n, d) = (points.n_samples(), points.n_features());
        if n < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n });
        }
        let spread = Moments::of(points).column_variances().iter().sum::<f64>().sqrt();
        if spread == 0.0 {
            return Ok(None);
        }
        let bandwidth = self.bandwidth.unwrap_or(width * spread);
        let landmarks = self.n_landmarks.unwrap_or(LEAST_LANDMARKS.max(LANDMARKS_PER_FEATURE * d)).min(n);
        let components = self.n_components.unwrap_or(rank.min(landmarks).min(n - 1));
        let nystrom = Nystrom::new(Kernel::gaussian(gamma_of(bandwidth)?)?)
            .landmarks(Landmarks::Uniform)
            .n_landmarks(landmarks)
            .threads(self.n_threads())
            .seed(self.seed);
        NystromPca::new(nystrom).n_components(components).fit_watched(points, watch).map(Some)
    }
}

/// What a denoising did.
///
/// ```
/// use mercer::denoise::Denoiser;
/// use mercer::{Points, Watch};
///
/// let rows = Points::from_f64((0..90).map(|i| f64::from(i % 30) / 10.0).collect::<Vec<_>>(), 30, 3)?;
/// let record = Denoiser::new().noise(0.1).rows(&rows, 1, &Watch::new())?.record;
/// assert_eq!((record.n_points, record.n_features, record.noise), (30, 3, Some(0.1)));
///
/// // What would be chosen can be said.
/// let said = Denoiser::new().noise(0.1).bandwidth(2.0).threshold(3.0).refine(false).n_landmarks(3).threads(1).seed(7);
/// let record = said.rows(&rows, 1, &Watch::new())?.record;
/// assert_eq!((record.bandwidth, record.threshold, record.refined), (Some(2.0), Some(3.0), false));
/// assert_eq!((record.n_landmarks, record.threads, record.seed), (3, 1, 7));
/// // A number of components needs no level of noise.
/// let record = Denoiser::new().n_components(2).rows(&rows, 1, &Watch::new())?.record;
/// assert_eq!((record.n_components, record.noise), (2, None));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DenoiseRecord {
    /// Rows, or patches.
    pub n_points: usize,
    /// Numbers of a point.
    pub n_features: usize,
    /// The standard deviation of the noise; absent for a projection, which does not ask for it.
    pub noise: Option<f64>,
    /// Whether it was estimated.
    pub noise_estimated: bool,
    /// Points that components were learned from; zero if there was nothing to do.
    pub n_learned_from: usize,
    /// Landmarks that components are combinations of.
    pub n_landmarks: usize,
    /// Components.
    pub n_components: usize,
    /// The width of the kernel; absent if there was nothing to do.
    pub bandwidth: Option<f64>,
    /// What a score must reach, in standard deviations of its noise; absent for a projection.
    pub threshold: Option<f64>,
    /// Whether it was done once more with the first result as a guide.
    pub refined: bool,
    /// How many scores a point kept, on average.
    pub mean_kept_components: f64,
    /// Points whose pre-image did not converge, over all passes.
    pub n_not_converged: usize,
    /// The threads it ran on.
    pub threads: usize,
    /// Where random numbers came from.
    pub seed: u64,
}
