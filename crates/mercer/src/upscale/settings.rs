//! What is learned from pictures, and pictures made larger with it.

use super::resize::{enlarged, reduced};
use crate::data::{Moments, Points};
use crate::denoise::Image;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, gamma_of};
use crate::model::{KernelPca, Model};
use crate::preimage::{Preimage, PreimageMethod};
use crate::watch::Watch;

/// Components where nobody says how many, at most.
const COMPONENTS: usize = 150;
/// And one for so many pictures.
const PICTURES_PER_COMPONENT: usize = 4;
/// The width of the kernel in units of how far pictures are from their mean.
const RELATIVE_WIDTH: f64 = 1.0;
/// A pre-image is good enough when its last step is smaller than this share of the kernel's width.
const TOLERANCE: f64 = 1e-6;

/// Larger pictures, as they are asked for.
///
/// ```
/// use mercer::denoise::{Image, snr};
/// use mercer::upscale::{Upscaler, enlarged, reduced};
/// use mercer::{Points, Watch};
///
/// // Discs of all sizes: what a larger one looks like can be told from a small one.
/// let disc = |radius: f64| (0..24 * 24).map(move |at| {
///     f64::from(u8::from(f64::from(at % 24 - 12).hypot(f64::from(at / 24 - 12)) < radius))
/// });
/// let known = Points::from_f64((0..80).flat_map(|i| disc(4.0 + f64::from(i) / 11.0)).collect::<Vec<_>>(), 80, 24 * 24)?;
/// let space = Upscaler::new().learn(&known, (24, 24, 1), &Watch::new())?;
///
/// let wanted = Image::new(disc(7.77).collect(), 24, 24, 1)?;
/// let small = reduced(&wanted, 4)?;
/// let found = space.upscale(&small, &Watch::new())?.image;
/// assert!(snr(wanted.values(), found.values())? > snr(wanted.values(), enlarged(&small, 4)?.values())?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Upscaler {
    n_components: Option<usize>,
    bandwidth: Option<f64>,
    threads: Option<usize>,
}

impl Upscaler {
    /// A component for every four pictures, and 150 at most.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of components.
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = Some(n_components);
        self
    }

    /// Sets the width of the gaussian kernel, in the units of the pictures (default: the root of their total variance).
    #[must_use]
    pub fn bandwidth(mut self, bandwidth: f64) -> Self {
        self.bandwidth = Some(bandwidth);
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Learns what pictures of a kind look like, from rows of numbers as those of an [`Image`] of this height, width and number of channels.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain, the rows are not of this shape, there are too few of them or all are equal, or the run was stopped.
    pub fn learn(
        &self,
        pictures: &Points,
        (height, width, channels): (usize, usize, usize),
        watch: &Watch<'_>,
    ) -> Result<PictureSpace> {
        let (n, expected) = (pictures.n_samples(), height.saturating_mul(width).saturating_mul(channels));
        if pictures.n_features() != expected {
            let requirement = format!("rows of {height} x {width} x {channels} = {expected} numbers");
            return Err(Error::invalid("pictures", requirement, pictures.n_features()));
        }
        if n < 2 {
            return Err(Error::TooFewRows { needed: 2, found: n });
        }
        pictures.check_finite()?;
        let spread = Moments::of(pictures).column_variances().iter().sum::<f64>().sqrt();
        let bandwidth = match self.bandwidth {
            Some(bandwidth) => bandwidth,
            None if spread > 0.0 => RELATIVE_WIDTH * spread,
            None => return Err(Error::NoVariance { n_samples: n }),
        };
        let components = self.n_components.unwrap_or((n / PICTURES_PER_COMPONENT).clamp(1, COMPONENTS));
        let pca = KernelPca::new(Kernel::gaussian(gamma_of(bandwidth)?)?).n_components(components);
        let pca = self.threads.into_iter().fold(pca, KernelPca::threads);
        let model = pca.fit_watched(pictures, watch)?;
        Ok(PictureSpace { model, shape: (height, width, channels), threads: self.threads })
    }
}

/// What pictures of a kind look like.
///
/// ```
/// use mercer::denoise::Image;
/// use mercer::kernel::Parameter;
/// use mercer::{Points, Watch, upscale::Upscaler};
///
/// let known = Points::from_u8((0..160).map(|at| (at * 7 % 50) as u8).collect::<Vec<_>>(), 10, 16, 1.0)?;
/// let space = Upscaler::new().n_components(3).learn(&known, (4, 4, 1), &Watch::new())?;
/// assert_eq!((space.shape(), space.model().n_components()), ((4, 4, 1), 3));
///
/// let space = Upscaler::new().bandwidth(50.0).threads(1).learn(&known, (4, 4, 1), &Watch::new())?;
/// let gamma = space.model().kernel().parameter(Parameter::Gamma);
/// assert!(gamma.is_some_and(|gamma| (gamma * 2.0 * 50.0 * 50.0 - 1.0).abs() < 1e-12));
/// let found = space.upscale(&Image::new(vec![10.0, 20.0, 30.0, 40.0], 2, 2, 1)?, &Watch::new())?;
/// assert_eq!(found.image.values().len(), 16);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct PictureSpace {
    model: Model,
    shape: (usize, usize, usize),
    threads: Option<usize>,
}

/// A larger picture, and how it was found.
///
/// ```
/// use mercer::denoise::Image;
/// use mercer::{Points, Watch, upscale::Upscaler};
///
/// let known = Points::from_u8((0..160).map(|at| (at * 7 % 50) as u8).collect::<Vec<_>>(), 10, 16, 1.0)?;
/// let space = Upscaler::new().learn(&known, (4, 4, 1), &Watch::new())?;
/// let found = space.upscale(&Image::new(vec![10.0, 20.0, 30.0, 40.0], 2, 2, 1)?, &Watch::new())?;
/// assert_eq!((found.image.height(), found.factor), (4, 2));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Upscaled {
    /// The picture.
    pub image: Image,
    /// How many times larger it is.
    pub factor: usize,
    /// Whether its pre-image converged.
    pub converged: bool,
    /// The root of the mean square that the projection differed from the small picture by, before that was added: large for a picture that is brighter or
    /// darker than all known ones. It does not tell whether a picture is of the known kind: one of another kind gets details of the known one all the same.
    pub mismatch: f64,
}

impl PictureSpace {
    /// The components.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Height, width and channels of its pictures.
    pub fn shape(&self) -> (usize, usize, usize) {
        self.shape
    }

    /// Makes a picture as large as those that were learned from.
    ///
    /// # Errors
    ///
    /// If the picture has other channels, or its sides are not the same whole share (a half, a third) of those pictures', or the run was stopped.
    pub fn upscale(&self, small: &Image, watch: &Watch<'_>) -> Result<Upscaled> {
        let factor = magnification(self.shape, (small.height(), small.width(), small.channels()))?;
        let (height, width, channels) = self.shape;
        let start = Points::from_f64(enlarged(small, factor)?.values().to_vec(), 1, height * width * channels)?;
        let preimage = Preimage::new(PreimageMethod::FixedPoint).tolerance(TOLERANCE);
        let preimage = self.threads.into_iter().fold(preimage, Preimage::threads);
        let found = preimage.of_points(&self.model, &start, watch)?;
        let projected = Image::new(found.points.row(0).iter().copied().collect(), height, width, channels)?;
        let again = reduced(&projected, factor)?;
        let missing = differences(small.values(), again.values());
        let mismatch = (missing.iter().map(|x| x * x).sum::<f64>() / missing.len() as f64).sqrt();
        let missing = enlarged(&Image::new(missing, small.height(), small.width(), channels)?, factor)?;
        let values = projected.values().iter().zip(missing.values()).map(|(a, b)| a + b).collect();
        Ok(Upscaled {
            image: Image::new(values, height, width, channels)?,
            factor,
            converged: found.converged[0],
            mismatch,
        })
    }
}

/// How many times larger the known pictures are than a small one; both shapes are height, width and channels.
///
/// ```
/// use mercer::upscale::magnification;
///
/// assert_eq!(magnification((48, 36, 1), (16, 12, 1))?, 3);
/// assert!(magnification((48, 36, 1), (16, 18, 1)).is_err(), "other shares of the sides");
/// assert!(magnification((48, 36, 1), (16, 12, 3)).is_err(), "other channels");
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If their channels differ, or the sides of the small one are not the same whole share (a half, a third) of those of the known ones.
pub fn magnification(
    (height, width, channels): (usize, usize, usize),
    (small_height, small_width, small_channels): (usize, usize, usize),
) -> Result<usize> {
    if small_channels != channels {
        let requirement = format!("of {channels} channels, as those learned from");
        return Err(Error::invalid("image", requirement, small_channels));
    }
    let factor = height.checked_div(small_height).unwrap_or(0);
    if factor < 2 || small_height * factor != height || small_width.checked_mul(factor) != Some(width) {
        let requirement = format!("a half, a third, ... of {width}x{height} pixels along both sides");
        return Err(Error::invalid("image", requirement, format!("{small_width}x{small_height}")));
    }
    Ok(factor)
}

fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
