//! Pictures as PNG or JPEG.

use std::io::Cursor;
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageBuffer, ImageFormat, ImageResult, Luma, LumaA, Pixel, Rgb, Rgba};
use mercer::denoise::Image;

use super::write_bytes;
use crate::failure::{Failure, Result};
use crate::input::{Depth, Picture};

/// Quality of JPEG, where blocks cannot be seen.
const QUALITY: u8 = 95;

/// How a picture is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PictureFormat {
    Png,
    Jpeg,
}

/// The format that a name asks for.
pub(crate) fn picture_format(path: &Path) -> Result<PictureFormat> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "png" => Ok(PictureFormat::Png),
        "jpg" | "jpeg" => Ok(PictureFormat::Jpeg),
        _ => Err(Failure::usage(format!(
            "{} does not say which format to write: a picture's name ends in .png, .jpg or .jpeg",
            path.display()
        ))),
    }
}

/// Refuses a format that cannot hold what a picture has.
pub(crate) fn check_format(format: PictureFormat, picture: &Picture, path: &Path) -> Result<()> {
    let lost = match format {
        PictureFormat::Jpeg if picture.alpha.is_some() => "transparency",
        PictureFormat::Jpeg if picture.depth == Depth::Sixteen => "16 bits",
        PictureFormat::Png | PictureFormat::Jpeg => return Ok(()),
    };
    Err(Failure::usage(format!("{} would lose the picture's {lost}: give a name that ends in .png", path.display())))
}

/// The numbers of a picture as its file holds them: whole, and between black and white.
pub(crate) fn as_written(colors: &Image, depth: Depth) -> Vec<u16> {
    let largest = f64::from(depth.largest());
    colors.values().iter().map(|x| x.round().clamp(0.0, largest) as u16).collect()
}

/// Writes colours with the depth and the transparency of the picture that they were made from.
pub(crate) fn write_picture(path: &Path, format: PictureFormat, colors: &Image, like: &Picture) -> Result<()> {
    let image = encoded(colors, like);
    let mut bytes = Cursor::new(Vec::new());
    let outcome: ImageResult<()> = match format {
        PictureFormat::Png => image.write_to(&mut bytes, ImageFormat::Png),
        // The encoder's own method for images takes the pixels of this one for colours, grey or not.
        PictureFormat::Jpeg => image.write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, QUALITY)),
    };
    outcome.map_err(|error| Failure::usage(format!("{} cannot be written: {error}", path.display())))?;
    write_bytes(path, &bytes.into_inner())
}

fn encoded(colors: &Image, like: &Picture) -> DynamicImage {
    let (size, channels) = ((colors.width() as u32, colors.height() as u32), colors.channels());
    let numbers = as_written(colors, like.depth);
    let numbers = match &like.alpha {
        None => numbers,
        Some(alpha) => numbers
            .chunks_exact(channels)
            .zip(alpha)
            .flat_map(|(pixel, alpha)| pixel.iter().copied().chain([*alpha]).collect::<Vec<_>>())
            .collect(),
    };
    let bytes = || numbers.iter().map(|&x| x as u8).collect();
    match (like.depth, channels, like.alpha.is_some()) {
        (Depth::Eight, 1, false) => DynamicImage::ImageLuma8(buffer::<Luma<u8>>(size, bytes())),
        (Depth::Eight, 1, true) => DynamicImage::ImageLumaA8(buffer::<LumaA<u8>>(size, bytes())),
        (Depth::Eight, _, false) => DynamicImage::ImageRgb8(buffer::<Rgb<u8>>(size, bytes())),
        (Depth::Eight, _, true) => DynamicImage::ImageRgba8(buffer::<Rgba<u8>>(size, bytes())),
        (Depth::Sixteen, 1, false) => DynamicImage::ImageLuma16(buffer::<Luma<u16>>(size, numbers)),
        (Depth::Sixteen, 1, true) => DynamicImage::ImageLumaA16(buffer::<LumaA<u16>>(size, numbers)),
        (Depth::Sixteen, _, false) => DynamicImage::ImageRgb16(buffer::<Rgb<u16>>(size, numbers)),
        (Depth::Sixteen, _, true) => DynamicImage::ImageRgba16(buffer::<Rgba<u16>>(size, numbers)),
    }
}

fn buffer<P: Pixel>((width, height): (u32, u32), numbers: Vec<P::Subpixel>) -> ImageBuffer<P, Vec<P::Subpixel>> {
    ImageBuffer::from_raw(width, height, numbers).expect("a picture has as many numbers as pixels times channels")
}
