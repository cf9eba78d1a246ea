//! How much noise there is, if nobody says.

use super::image::Image;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::nystrom::Random;

/// The median absolute deviation of normal numbers with standard deviation one.
const MEDIAN_DEVIATION: f64 = 0.674_489_750_196_081_7;
/// What the second difference in both directions does to the standard deviation of independent noise.
const PICTURE_GAIN: f64 = 6.0;

/// The standard deviation of the noise in a picture, from its second differences in both directions.
///
/// Texture that changes from pixel to pixel counts as noise; slopes and edges do not.
///
/// ```
/// use mercer::denoise::{Image, image_noise};
///
/// // A slope has no second differences.
/// let slope = Image::new((0..100).map(|at| f64::from(at % 10)).collect(), 10, 10, 1)?;
/// assert_eq!(image_noise(&slope)?, 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If the picture has fewer than three rows or columns.
pub fn image_noise(image: &Image) -> Result<f64> {
    let Some(levels) = channel_levels(image) else {
        let requirement = "given for a picture of fewer than 3 rows or columns, of which it cannot be told";
        return Err(Error::invalid("noise", requirement, "left out"));
    };
    let squares: f64 = levels.iter().map(|level| level * level).sum();
    Ok((squares / levels.len() as f64).sqrt())
}

/// The standard deviation of the noise in each channel; nothing for a picture of fewer than three rows or columns.
pub(super) fn channel_levels(image: &Image) -> Option<Vec<f64>> {
    let is_large = image.height() >= 3 && image.width() >= 3;
    let of_channel = |channel: usize| level(image, |row, column| image.at(row, column, channel));
    is_large.then(|| (0..image.channels()).map(of_channel).collect())
}

/// The standard deviation of the noise in numbers that are made of the pixels of a picture of at least three rows and columns.
pub(super) fn level(image: &Image, at: impl Fn(usize, usize) -> f64) -> f64 {
    let (height, width) = (image.height(), image.width());
    let mut differences = Vec::with_capacity((height - 2) * (width - 2));
    for row in 1..height - 1 {
        // The second difference down the columns, of which that along the row is taken.
        let down = |column: usize| at(row - 1, column) - 2.0 * at(row, column) + at(row + 1, column);
        differences.extend((1..width - 1).map(|at| (down(at - 1) - 2.0 * down(at) + down(at + 1)).abs()));
    }
    median(&mut differences) / (MEDIAN_DEVIATION * PICTURE_GAIN)
}

/// The standard deviation of the noise in rows that follow one another in time, from their second differences; the root of the mean square over
/// columns.
///
/// ```
/// use mercer::Points;
/// use mercer::denoise::row_noise;
///
/// // An even motion has no second differences.
/// let rows = Points::from_f64((0..60).map(f64::from).collect::<Vec<_>>(), 20, 3)?;
/// assert_eq!(row_noise(&rows)?, 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If there are fewer than three rows.
pub fn row_noise(rows: &Points) -> Result<f64> {
    let (n, d) = (rows.n_samples(), rows.n_features());
    if n < 3 {
        return Err(Error::TooFewRows { needed: 3, found: n });
    }
    let mut differences: Vec<Vec<f64>> = vec![Vec::with_capacity(n - 2); d];
    let (mut first, mut second) = (rows.row(0), rows.row(1));
    for row in 2..n {
        let third = rows.row(row);
        for (k, column) in differences.iter_mut().enumerate() {
            column.push((first[k] - 2.0 * second[k] + third[k]).abs());
        }
        (first, second) = (second, third);
    }
    // The second difference of independent numbers has the variances 1 + 4 + 1.
    let squares = differences.iter_mut().map(|column| (median(column) / MEDIAN_DEVIATION).powi(2) / 6.0);
    Ok((squares.sum::<f64>() / d as f64).sqrt())
}

/// The same numbers with normal noise of this standard deviation: for trying things out.
///
/// ```
/// use mercer::denoise::with_noise;
///
/// let noisy = with_noise(&[0.0; 1000], 2.0, 7);
/// let variance = noisy.iter().map(|x| x * x).sum::<f64>() / 1000.0;
/// assert!((variance / 4.0 - 1.0).abs() < 0.2);
/// assert_eq!(noisy, with_noise(&[0.0; 1000], 2.0, 7));
/// ```
pub fn with_noise(values: &[f64], level: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    values.iter().map(|x| x + level * random.normal()).collect()
}

/// The value in the middle; the upper of two.
fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
