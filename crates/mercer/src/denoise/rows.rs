//! Rows without noise.

use faer::Mat;

use super::image::Image;
use super::noise::row_noise;
use super::passes::{Subject, without_noise};
use super::patches::Patches;
use super::settings::{DenoiseRecord, Denoiser};
use crate::data::Points;
use crate::error::Result;
use crate::watch::Watch;

/// The width of the kernel in units of how far windows are from their mean.
const RELATIVE_WIDTH: f64 = 1.0;
/// How many times farther than noise alone would make them rows must spread over a component for it to count.
const LEAST_SPREAD: f64 = 1.65;

/// Rows without noise, and what was done.
///
/// ```
/// use mercer::denoise::{Denoiser, noise_removed};
/// use mercer::{Points, Watch};
///
/// // Ten quantities that follow one another round, and noise on them.
/// let clean: Vec<f64> = (0..2000).map(|at| (f64::from(at / 10) * 0.1 + f64::from(at % 10)).sin()).collect();
/// let noise = |at: usize| ((at * 7919 % 1009) as f64 / 1009.0 - 0.5) * 0.5;
/// let noisy: Vec<f64> = clean.iter().enumerate().map(|(at, x)| x + noise(at)).collect();
///
/// let found = Denoiser::new().noise(0.145).rows(&Points::from_f64(noisy.clone(), 200, 10)?, 1, &Watch::new())?;
/// let rows: Vec<f64> = (0..2000).map(|at| found.rows[(at / 10, at % 10)]).collect();
/// assert!(noise_removed(&clean, &noisy, &rows)? > 0.5);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DenoisedRows {
    /// One row for each that was given.
    pub rows: Mat<f64>,
    /// What was done.
    pub record: DenoiseRecord,
}

impl Denoiser {
    /// Takes the noise off rows, `window` of them at a time. With a window of more than one row, or a noise level that is to be estimated, rows
    /// must follow one another in time.
    ///
    /// ```
    /// use mercer::denoise::Denoiser;
    /// use mercer::{Points, Watch};
    ///
    /// let rows = Points::from_f64((0..90).map(|i| f64::from(i % 30) / 10.0).collect::<Vec<_>>(), 30, 3)?;
    /// let found = Denoiser::new().noise(0.0).rows(&rows, 1, &Watch::new())?;
    /// // Without noise there is nothing to take off.
    /// assert!((0..30).all(|i| (0..3).all(|k| found.rows[(i, k)] == rows.row(i)[k])));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, there are too few rows, a value is not finite, or the run was stopped.
    pub fn rows(&self, rows: &Points, window: usize, watch: &Watch<'_>) -> Result<DenoisedRows> {
        self.check()?;
        rows.check_finite()?;
        let (n, d) = (rows.n_samples(), rows.n_features());
        let image = Image::new(rows.rows(0..n).to_f64(), n, 1, d)?;
        let noise = self.noise_or(|| row_noise(rows))?;
        let patches = Patches::windows(&image, window)?;
        // The first component that is learned from as many points of nothing but noise is so many times longer than the noise itself.
        let of_noise = 1.0 + (patches.n_features() as f64 / patches.len() as f64).sqrt();
        let least_spread = LEAST_SPREAD * of_noise;
        let subject = Subject { image: &image, patches, mixing: None, width: RELATIVE_WIDTH, least_spread };
        let (found, record) = without_noise(self, &subject, noise, watch)?;
        Ok(DenoisedRows { rows: Mat::from_fn(n, d, |i, k| found.at(i, 0, k)), record })
    }
}
