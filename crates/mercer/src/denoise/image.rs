//! Pictures as numbers.

use crate::error::{Error, Result};

/// A picture: rows of pixels, each with one number per channel.
///
/// ```
/// use mercer::denoise::Image;
///
/// let image = Image::new(vec![0.0, 0.5, 1.0, 0.25, 0.5, 0.75], 2, 3, 1)?;
/// assert_eq!((image.height(), image.width(), image.channels()), (2, 3, 1));
/// assert_eq!(image.at(1, 0, 0), 0.25);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    values: Vec<f64>,
    height: usize,
    width: usize,
    channels: usize,
}

impl Image {
    /// A picture from its numbers: row by row, pixel by pixel, channel by channel.
    ///
    /// # Errors
    ///
    /// If there are no pixels or channels, the number of values is not their product, or a value is not finite.
    pub fn new(values: Vec<f64>, height: usize, width: usize, channels: usize) -> Result<Self> {
        if height == 0 || width == 0 || channels == 0 {
            let found = format!("{height} x {width} x {channels}");
            return Err(Error::invalid("image", "of at least one pixel and one channel", found));
        }
        let (rows, row) = (height, width.saturating_mul(channels));
        if rows.checked_mul(row) != Some(values.len()) {
            return Err(Error::ShapeMismatch { n_samples: rows, n_features: row, found: values.len() });
        }
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            return Err(Error::NotFinite { row: at / row, column: at % row, value: values[at] });
        }
        Ok(Self { values, height, width, channels })
    }

    /// Rows of pixels.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Pixels in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Numbers of a pixel.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// All numbers: row by row, pixel by pixel, channel by channel.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One number.
    ///
    /// # Panics
    ///
    /// If there is no such row, column or channel.
    #[track_caller]
    pub fn at(&self, row: usize, column: usize, channel: usize) -> f64 {
        assert!(column < self.width && channel < self.channels, "pixel {row}, {column}, channel {channel}");
        self.values[(row * self.width + column) * self.channels + channel]
    }

    /// The same pixels with other numbers.
    pub(super) fn with_values(&self, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), self.values.len());
        Self { values, ..*self }
    }
}
