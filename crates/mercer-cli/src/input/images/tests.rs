use std::path::Path;

use image::{GrayImage, Luma};

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
