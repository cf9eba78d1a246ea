//! A single picture: colours of 8 or 16 bits, and transparency apart.

use std::path::Path;

use image::{ColorType, DynamicImage, ImageError};
use mercer::denoise::Image;

use super::images;
use crate::failure::{Failure, InputError, Result};

/// A picture as it was in its file.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// Grey, or red, green and blue, from zero to [`Depth::largest`].
    pub(crate) colors: Image,
    /// How opaque each pixel is, if the file says so.
    pub(crate) alpha: Option<Vec<u16>>,
    pub(crate) depth: Depth,
}

/// Bits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Eight,
    Sixteen,
}

impl Depth {
    /// The number of bits.
    pub(crate) const fn bits(self) -> u8 {
        match self {
            Self::Eight => 8,
            Self::Sixteen => 16,
        }
    }

    /// The number that stands for white.
    pub(crate) const fn largest(self) -> u16 {
        match self {
            Self::Eight => u8::MAX as u16,
            Self::Sixteen => u16::MAX,
        }
    }
}

impl Picture {
    /// The size and the number of channels, in words.
    pub(crate) fn shape(&self) -> String {
        let kind = if self.colors.channels() == 1 { "grey" } else { "color" };
        format!("{}x{} {kind}", self.colors.width(), self.colors.height())
    }
}

/// Reads a picture.
pub(crate) fn read_picture(path: &Path) -> Result<Picture> {
    let name = path.display().to_string();
    if path.is_dir() {
        return Err(InputError::new(&name, "this is a directory").hint("give the name of a picture").into());
    }
    let image = images::open(path).map_err(|error| unreadable(path, error))?;
    from_decoded(&name, &image)
}

/// What can be told of a picture without its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PictureKind {
    pub(crate) depth: Depth,
    pub(crate) channels: usize,
    pub(crate) has_alpha: bool,
}

/// Reads of what kind a picture is, without decoding it.
pub(crate) fn read_kind(path: &Path) -> Result<PictureKind> {
    let color = images::color_of(path).map_err(|error| unreadable(path, error))?;
    PictureKind::of(&path.display().to_string(), color)
}

impl PictureKind {
    fn of(name: &str, color: ColorType) -> Result<Self> {
        let (depth, channels, has_alpha) = match color {
            ColorType::L8 => (Depth::Eight, 1, false),
            ColorType::La8 => (Depth::Eight, 1, true),
            ColorType::Rgb8 => (Depth::Eight, 3, false),
            ColorType::Rgba8 => (Depth::Eight, 3, true),
            ColorType::L16 => (Depth::Sixteen, 1, false),
            ColorType::La16 => (Depth::Sixteen, 1, true),
            ColorType::Rgb16 => (Depth::Sixteen, 3, false),
            ColorType::Rgba16 => (Depth::Sixteen, 3, true),
            other => {
                let problem = format!("pixels of the kind {other:?} cannot be used");
                return Err(InputError::new(name, problem).hint("save it with 8 or 16 bits per channel").into());
            }
        };
        Ok(Self { depth, channels, has_alpha })
    }
}

/// Why a picture could not be read.
fn unreadable(path: &Path, error: ImageError) -> Failure {
    let name = path.display().to_string();
    match error {
        ImageError::IoError(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Failure::file("reading", path)(source)
        }
        ImageError::IoError(_) => InputError::new(&name, "the picture is truncated").hint(super::MAKE_AGAIN).into(),
        other => InputError::new(&name, format!("the file cannot be read as a picture: {other}")).into(),
    }
}

fn from_decoded(name: &str, image: &DynamicImage) -> Result<Picture> {
    let (height, width) = (image.height() as usize, image.width() as usize);
    let PictureKind { depth, channels, has_alpha } = PictureKind::of(name, image.color())?;
    let numbers: Vec<u16> = match depth {
        Depth::Eight => image.as_bytes().iter().map(|&x| u16::from(x)).collect(),
        Depth::Sixteen => image.as_bytes().chunks_exact(2).map(|x| u16::from_ne_bytes([x[0], x[1]])).collect(),
    };
    let per_pixel = channels + usize::from(has_alpha);
    let colors = numbers.chunks_exact(per_pixel).flat_map(|pixel| pixel[..channels].iter().map(|&x| f64::from(x)));
    let alpha = has_alpha.then(|| numbers.chunks_exact(per_pixel).map(|pixel| pixel[channels]).collect());
    let colors = Image::new(colors.collect(), height, width, channels).map_err(Failure::in_data(name))?;
    Ok(Picture { colors, alpha, depth })
}
