//! Pictures without noise.

use super::channels::Mixing;
use super::image::Image;
use super::noise::image_noise;
use super::passes::{Subject, without_noise};
use super::patches::{Grid, Patches};
use super::settings::{DenoiseRecord, Denoiser};
use crate::error::Result;
use crate::watch::Watch;

/// The width of the kernel in units of how far patches are from their mean.
const RELATIVE_WIDTH: f64 = 10.0;

/// A picture without noise, and what was done.
///
/// ```
/// use mercer::denoise::{Denoiser, Grid, Image};
/// use mercer::Watch;
///
/// // A picture without noise is left as it is.
/// let slope = Image::new((0..400).map(|at| f64::from(at % 20)).collect(), 20, 20, 1)?;
/// let found = Denoiser::new().image(&slope, Grid::default(), &Watch::new())?;
/// assert_eq!(found.record.noise, Some(0.0));
/// assert_eq!(found.image, slope);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DenoisedImage {
    /// The picture.
    pub image: Image,
    /// What was done.
    pub record: DenoiseRecord,
}

impl Denoiser {
    /// Takes the noise off a picture, patch by patch.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the picture is smaller than a patch, its noise is to be estimated and cannot be, or the run was
    /// stopped.
    pub fn image(&self, image: &Image, grid: Grid, watch: &Watch<'_>) -> Result<DenoisedImage> {
        self.check()?;
        let patches = Patches::squares(image, grid)?;
        let noise = self.noise_or(|| image_noise(image))?;
        let mixing = noise.filter(|&noise| noise > 0.0).map(|noise| Mixing::of(image, noise, self.noise.is_some()));
        // A patch with a rare edge may be all there is of a component: each patch decides by itself.
        let subject = Subject { image, patches, mixing, width: RELATIVE_WIDTH, least_spread: 0.0 };
        let (image, record) = without_noise(self, &subject, noise, watch)?;
        Ok(DenoisedImage { image, record })
    }
}
