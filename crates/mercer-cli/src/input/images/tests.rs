use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::{GrayImage, ImageEncoder, Luma};

use super::*;
use crate::args::DataArgs;

fn folder(sizes: &[(&str, u32, u32)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, width, height) in sizes {
        let image = GrayImage::from_fn(*width, *height, |x, y| Luma([(10 * x + 100 * y) as u8]));
        image.save(directory.path().join(name)).unwrap();
    }
    directory
}

fn read_with(directory: &Path, args: &DataArgs) -> Result<Raw> {
    read_folder(directory, "photos", &ReadOptions::from(args))
}

#[test]
fn an_image_of_another_size_is_refused_by_name_or_resized() {
    let directory = folder(&[("a.png", 2, 2), ("b.bmp", 3, 2), ("notes.pgm", 2, 2)]);
    let failure = read_with(directory.path(), &DataArgs::default()).err().unwrap();
    assert_eq!(failure.to_string(), "photos: b.bmp is 3 x 2 pixels, but a.png is 2 x 2");
    assert_eq!(failure.hint(), Some("bring all to one size with --resize 2x2"));
    let resized = DataArgs { resize: Some("2x2".parse().unwrap()), ..DataArgs::default() };
    let raw = read_with(directory.path(), &resized).unwrap();
    assert_eq!((raw.n_samples, raw.n_features), (3, 4));
    assert_eq!(raw.values.as_rows().to_f64()[..4], [0.0, 10.0, 100.0, 110.0]);
}

/// What a camera writes: one entry, the orientation.
fn exif(orientation: u8) -> Vec<u8> {
    let start = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0";
    start.iter().copied().chain([orientation, 0, 0, 0, 0, 0, 0]).collect()
}

#[test]
fn a_photo_is_turned_as_its_camera_was_held() {
    // Dark on the left; what a turn makes of it.
    let photo = GrayImage::from_fn(16, 8, |x, _| Luma([if x < 8 { 20 } else { 220 }]));
    for (orientation, width, dark_first) in [(1, 16, true), (3, 16, false), (6, 8, true), (8, 8, false)] {
        let directory = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 100);
        encoder.set_exif_metadata(exif(orientation)).unwrap();
        photo.write_with_encoder(encoder).unwrap();
        std::fs::write(directory.path().join("a.jpg"), bytes).unwrap();
        let raw = read_with(directory.path(), &DataArgs::default()).unwrap();
        let values = raw.values.as_rows().to_f64();
        assert_eq!(open(&directory.path().join("a.jpg")).unwrap().width(), width, "{orientation}");
        // At the top left, and at the bottom right.
        let (first, last) = (values[0], values[127]);
        assert_eq!((first < 100.0, last < 100.0), (dark_first, !dark_first), "{orientation}: {first}, {last}");
    }
}

#[test]
fn a_folder_without_images_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("notes.txt"), "1,2\n").unwrap();
    let failure = read_with(directory.path(), &DataArgs::default()).err().unwrap();
    assert_eq!(failure.to_string(), "photos: there are no images in this folder");
}

#[test]
fn images_that_cannot_be_decoded_are_named() {
    let directory = folder(&[("a.png", 2, 2)]);
    let whole = std::fs::read(directory.path().join("a.png")).unwrap();
    std::fs::write(directory.path().join("b.png"), &whole[..whole.len() / 2]).unwrap();
    let message = read_with(directory.path(), &DataArgs::default()).err().unwrap().to_string();
    assert!(message.starts_with("photos: b.png "), "{message}");
    std::fs::write(directory.path().join("b.png"), "hello").unwrap();
    let message = read_with(directory.path(), &DataArgs::default()).err().unwrap().to_string();
    assert!(message.starts_with("photos: b.png cannot be read as an image"), "{message}");
}

#[test]
fn a_list_names_what_is_not_there() {
    let directory = folder(&[("a.png", 2, 2)]);
    let list = directory.path().join("some.list");
    std::fs::write(&list, "a.png\nnone.png\n").unwrap();
    let failure = read_list(&list, "some.list", &ReadOptions::from(&DataArgs::default())).err().unwrap();
    assert!(failure.to_string().ends_with("none.png: no such file or directory"), "{failure}");
}

#[test]
fn only_file_and_folder_are_known_beside_the_pixels() {
    let directory = folder(&[("a.png", 2, 2)]);
    let args = DataArgs { label: Some(crate::args::ColumnName("kind".to_owned())), ..DataArgs::default() };
    let failure = read_with(directory.path(), &args).err().unwrap();
    assert_eq!(failure.to_string(), "photos: images have no column \"kind\"");
    assert_eq!(failure.hint(), Some("--label takes `file` or `folder`"));
}
