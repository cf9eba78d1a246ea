//! Folders and lists of images: one point per image, one column per pixel (or three).

use std::fs;
use std::path::{Path, PathBuf};

use image::{ColorType, DynamicImage, ImageDecoder, ImageError, ImageReader, Limits};
use rayon::prelude::*;

use super::array::Array;
use super::columns::Selection;
use super::numbers::Numbers;
use super::room::{self, NoRoom};
use super::{ColumnNames, Finite, Labels, Raw, ReadOptions, advice};
use crate::args::{Format, ImageSize, Pixels};
use crate::failure::{Failure, InputError, Result};

/// Endings of the images that can be read.
pub(super) const ENDINGS: [&str; 10] = ["png", "jpg", "jpeg", "bmp", "pgm", "ppm", "pnm", "pbm", "pam", "dib"];

/// Images that are decoded before their pixels are taken over.
const AT_ONCE: usize = 256;

/// Memory that decoding one image may take: a thousand times what a data set of points has.
const DECODING_BYTES: u64 = 1 << 30;

/// Reads all images of a folder and of the folders in it, in the order of their names.
pub(super) fn read_folder(folder: &Path, name: &str, options: &ReadOptions) -> Result<Raw> {
    options.check_flags(Format::Images)?;
    let mut files = Vec::new();
    collect(folder, &mut files)?;
    if files.is_empty() {
        let hint = format!("give a file, or a folder with images ({})", ENDINGS[..6].join(", "));
        return Err(InputError::new(name, "there are no images in this folder").hint(hint).into());
    }
    let files = files.into_iter().map(|path| (shown(path.strip_prefix(folder).unwrap_or(&path)), path)).collect();
    Images { name, options, files }.read()
}

/// Reads the images that a file lists, one name per line, as seen from the list's own folder.
pub(super) fn read_list(list: &Path, name: &str, options: &ReadOptions) -> Result<Raw> {
    let bytes = fs::read(list).map_err(Failure::file("reading", list))?;
    let text = String::from_utf8(bytes).map_err(|_| {
        let hint = "a list of images is text: one name per line";
        InputError::new(name, "the file is not UTF-8 text").hint(hint)
    })?;
    let names = text.trim_start_matches('\u{feff}').lines().map(str::trim).filter(|line| !line.is_empty());
    let files: Vec<(String, PathBuf)> =
        names.map(|file| (file.to_owned(), list.with_file_name("").join(file))).collect();
    if files.is_empty() {
        return Err(InputError::new(name, "the file is empty").hint("list one image per line").into());
    }
    Images { name, options, files }.read()
}

/// All images below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failure = |error| Failure::file("reading", folder)(error);
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .map_err(failure)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()
        .map_err(failure)?;
    entries.sort_unstable();
    for path in entries {
        // A link to a folder is not followed: it may lead back here.
        if fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir()) {
            collect(&path, files)?;
        } else if is_image(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_image(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

struct Images<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    /// Each image as it is named in messages and ids, and where it is.
    files: Vec<(String, PathBuf)>,
}

impl Images<'_> {
    fn read(self) -> Result<Raw> {
        let labels = self.words(self.options.label.as_ref().map(|label| label.0.as_str()), "--label")?;
        let ids = self.words(self.options.id.as_ref().map(|id| id.0.as_str()), "--id")?;
        let first = self.decode(0, None)?;
        let size = ImageSize { width: first.width(), height: first.height() };
        let mut values = self.pixels(&first);
        let n_columns = values.len();
        let threads = self.options.pool()?;
        let rest = n_columns.saturating_mul(self.files.len() - 1);
        room::reserve(&mut values, rest).map_err(NoRoom::reading(self.name))?;
        for start in (1..self.files.len()).step_by(AT_ONCE) {
            let end = self.files.len().min(start + AT_ONCE);
            let decode = |index| self.decode(index, Some(size)).map(|image| self.pixels(&image));
            let images = threads.run(|| (start..end).into_par_iter().map(decode).collect::<Vec<Result<Vec<u8>>>>());
            for image in images {
                values.extend(image?);
            }
        }
        let pixels = ReadOptions { label: None, id: None, ..self.options.clone() };
        let selection = Selection::new(&pixels, self.name, None, n_columns)?;
        let array = Array::U8(Numbers::Owned(values));
        let values = if selection.is_all(n_columns) {
            array
        } else {
            array.columns(n_columns, &selection.features).map_err(NoRoom::reading(self.name))?
        };
        let n_features = selection.features.len();
        let (finite, columns) = (Finite::Checked, ColumnNames::default());
        Ok(Raw { values, n_samples: self.files.len(), n_features, labels, ids, finite, columns, rounded: None })
    }

    /// What is known of an image beside its pixels: the `file` and the `folder` that it is in.
    fn words(&self, wanted: Option<&str>, flag: &str) -> Result<Option<Labels>> {
        let Some(wanted) = wanted else { return Ok(None) };
        let word = |(name, path): &(String, PathBuf)| match wanted {
            "file" => Some(name.clone()),
            "folder" => Some(
                path.parent()
                    .and_then(Path::file_name)
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default(),
            ),
            _ => None,
        };
        let values = self.files.iter().map(word).collect::<Option<Vec<_>>>().ok_or_else(|| {
            let problem = format!("images have no column {}", advice::quoted(wanted.as_bytes()));
            InputError::new(self.name, problem).hint(format!("{flag} takes `file` or `folder`"))
        })?;
        Ok(Some(Labels { name: wanted.to_owned(), values }))
    }

    /// An image in the size that was asked for, or else in that of the first one.
    fn decode(&self, index: usize, expected: Option<ImageSize>) -> Result<DynamicImage> {
        let (name, path) = &self.files[index];
        let image = open(path).map_err(|error| self.failure(name, path, error))?;
        let size = ImageSize { width: image.width(), height: image.height() };
        if let Some(wanted) = self.options.resize {
            if size == wanted {
                return Ok(image);
            }
            return Ok(image.resize_exact(wanted.width, wanted.height, image::imageops::FilterType::Triangle));
        }
        match expected.filter(|expected| *expected != size) {
            None => Ok(image),
            Some(expected) => {
                let first = &self.files[0].0;
                let problem = format!("{name} is {size} pixels, but {first} is {expected}");
                let hint = format!("bring all to one size with --resize {}x{}", expected.width, expected.height);
                Err(InputError::new(self.name, problem).hint(hint).into())
            }
        }
    }

    fn pixels(&self, image: &DynamicImage) -> Vec<u8> {
        match self.options.pixels.unwrap_or_default() {
            Pixels::Grey => image.to_luma8().into_raw(),
            Pixels::Color => image.to_rgb8().into_raw(),
        }
    }

    fn failure(&self, name: &str, path: &Path, error: ImageError) -> Failure {
        match error {
            ImageError::IoError(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
                Failure::file("reading", path)(source)
            }
            ImageError::IoError(_) => {
                InputError::new(self.name, format!("{name} is truncated")).hint(super::MAKE_AGAIN).into()
            }
            other => InputError::new(self.name, format!("{name} cannot be read as an image: {other}"))
                .hint("remove it, or give a list of the images to use")
                .into(),
        }
    }
}

/// Decodes a picture, in bounded memory, and turns it as the file says that its camera was held.
pub(super) fn open(path: &Path) -> std::result::Result<DynamicImage, ImageError> {
    let mut decoder = decoder(path)?;
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(image)
}

/// What a pixel of a picture is, which its first bytes tell.
pub(super) fn color_of(path: &Path) -> std::result::Result<ColorType, ImageError> {
    Ok(decoder(path)?.color_type())
}

/// What decodes a picture, in bounded memory.
fn decoder(path: &Path) -> std::result::Result<impl ImageDecoder, ImageError> {
    let mut reader = ImageReader::open(path)?.with_guessed_format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(DECODING_BYTES);
    // Some decoders are given limits when they are made, others afterwards; none counts the pixels that come out.
    reader.limits(limits.clone());
    let mut decoder = reader.into_decoder()?;
    limits.reserve(decoder.total_bytes())?;
    decoder.set_limits(limits)?;
    Ok(decoder)
}

#[cfg(test)]
mod tests;
