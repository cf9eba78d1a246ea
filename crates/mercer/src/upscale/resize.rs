//! Pictures made larger and smaller by whole factors.

use crate::denoise::Image;
use crate::error::{Error, Result};

/// A picture made larger by a whole factor, by cubic interpolation (Catmull and Rom) between the middles of pixels; beyond the border, the last
/// pixel goes on.
///
/// ```
/// use mercer::denoise::Image;
/// use mercer::upscale::enlarged;
///
/// let slope = Image::new((0..25).map(|at| f64::from(at % 5)).collect(), 5, 5, 1)?;
/// let large = enlarged(&slope, 2)?;
/// assert_eq!((large.height(), large.width()), (10, 10));
/// assert!((large.at(4, 4, 0) - 1.75).abs() < 1e-12, "a slope stays one");
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If the factor is zero.
pub fn enlarged(image: &Image, factor: usize) -> Result<Image> {
    check(factor)?;
    let (height, width, channels) = (image.height(), image.width(), image.channels());
    let (tall, wide) = (height * factor, width * factor);
    let mut rows = vec![0.0; tall * width * channels];
    for row in 0..tall {
        let taps = taps(row, factor, height);
        for at in 0..width * channels {
            rows[row * width * channels + at] =
                taps.iter().map(|&(from, weight)| weight * image.at(from, at / channels, at % channels)).sum();
        }
    }
    let columns: Vec<[(usize, f64); 4]> = (0..wide).map(|column| taps(column, factor, width)).collect();
    let mut values = Vec::with_capacity(tall * wide * channels);
    for row in rows.chunks_exact(width * channels) {
        for taps in &columns {
            for channel in 0..channels {
                values.push(taps.iter().map(|&(from, weight)| weight * row[from * channels + channel]).sum());
            }
        }
    }
    Image::new(values, tall, wide, channels)
}

/// A picture made smaller by a whole factor: means over blocks of pixels.
///
/// ```
/// use mercer::denoise::Image;
/// use mercer::upscale::reduced;
///
/// let small = reduced(&Image::new(vec![0.0, 2.0, 4.0, 6.0], 2, 2, 1)?, 2)?;
/// assert_eq!((small.height(), small.width(), small.at(0, 0, 0)), (1, 1, 3.0));
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If the factor is zero or a side of the picture is not a multiple of it.
pub fn reduced(image: &Image, factor: usize) -> Result<Image> {
    check(factor)?;
    let (height, width, channels) = (image.height(), image.width(), image.channels());
    if !height.is_multiple_of(factor) || !width.is_multiple_of(factor) {
        let requirement = format!("a whole share of both sides of the picture ({width}x{height})");
        return Err(Error::invalid("factor", requirement, factor));
    }
    let mut values = vec![0.0; (height / factor) * (width / factor) * channels];
    let share = 1.0 / (factor * factor) as f64;
    for row in 0..height {
        for column in 0..width {
            for channel in 0..channels {
                let to = ((row / factor) * (width / factor) + column / factor) * channels + channel;
                values[to] += share * image.at(row, column, channel);
            }
        }
    }
    Image::new(values, height / factor, width / factor, channels)
}

fn check(factor: usize) -> Result<()> {
    if factor == 0 { Err(Error::invalid("factor", "at least 1", 0)) } else { Ok(()) }
}

/// The four pixels that a place of the larger picture is made from, and their weights.
fn taps(place: usize, factor: usize, length: usize) -> [(usize, f64); 4] {
    // The middle of the place, in pixels of the smaller picture from the middle of its first.
    let at = (place as f64 + 0.5) / factor as f64 - 0.5;
    let (first, t) = (at.floor(), at - at.floor());
    let weights = [
        0.5 * t * (t * (2.0 - t) - 1.0),
        0.5 * (t * t * (3.0 * t - 5.0) + 2.0),
        0.5 * t * (t * (4.0 - 3.0 * t) + 1.0),
        0.5 * t * t * (t - 1.0),
    ];
    let mut taps = [(0, 0.0); 4];
    for (k, (tap, weight)) in taps.iter_mut().zip(weights).enumerate() {
        let from = first + k as f64 - 1.0;
        *tap = (from.clamp(0.0, (length - 1) as f64) as usize, weight);
    }
    taps
}
