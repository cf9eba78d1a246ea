//! `mercer upscale`.

use image::{GrayAlphaImage, GrayImage, ImageBuffer, Luma, RgbImage};
use serde_json::Value;

use super::support::Directory;

/// A disc of some radius in 24 x 18 pixels.
fn disc(radius: f64) -> GrayImage {
    GrayImage::from_fn(24, 18, |x, y| {
        let inside = (f64::from(x) - 12.0).hypot(f64::from(y) - 9.0) < radius;
        Luma([if inside { 210 } else { 40 }])
    })
}

/// Means over blocks of 3 x 3 pixels.
fn small(image: &GrayImage) -> GrayImage {
    GrayImage::from_fn(8, 6, |x, y| {
        let block = (0..9).map(|at| u32::from(image.get_pixel(3 * x + at % 3, 3 * y + at / 3).0[0]));
        Luma([(block.sum::<u32>() / 9) as u8])
    })
}

fn directory() -> Directory {
    let directory = Directory::new();
    for folder in ["known", "true"] {
        std::fs::create_dir(directory.path(folder)).unwrap();
    }
    for i in 0..60 {
        disc(2.0 + f64::from(i) / 9.0).save(directory.path(&format!("known/{i:02}.png"))).unwrap();
    }
    for (name, radius) in [("one", 4.44), ("two", 6.83)] {
        disc(radius).save(directory.path(&format!("true/{name}.png"))).unwrap();
        small(&disc(radius)).save(directory.path(&format!("{name}.png"))).unwrap();
    }
    directory
}

#[test]
fn pictures_of_a_known_kind_get_sharper_than_by_interpolation() {
    let directory = directory();
    let outcome = directory.run("upscale known one.png two.png -o large --reference true --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["n_samples"], &record["height"], &record["width"]), (&60.into(), &18.into(), &24.into()));
    for picture in record["pictures"].as_array().unwrap() {
        let number = |name: &str| picture[name].as_f64().unwrap();
        assert!(number("snr") > number("snr_interpolated") + 1.5, "{record:#}");
        assert_eq!((&picture["magnification"], &picture["converged"]), (&3.into(), &true.into()));
    }
    let large = image::open(directory.path("large/one.png")).unwrap();
    assert_eq!((large.width(), large.height(), large.color()), (24, 18, image::ColorType::L8));
    let outcome = directory.run("upscale known one.png -n 5 --bandwidth 3000 -o large").done();
    assert!(
        outcome.stderr.contains("1 picture of 24 x 18 pixels from 60 known ones, written to large"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn what_cannot_be_made_larger_is_named() {
    let directory = directory();
    std::fs::create_dir(directory.path("mixed")).unwrap();
    disc(3.0).save(directory.path("mixed/a.png")).unwrap();
    GrayImage::new(5, 5).save(directory.path("mixed/b.png")).unwrap();
    GrayImage::new(7, 6).save(directory.path("odd.png")).unwrap();
    RgbImage::new(8, 6).save(directory.path("color.png")).unwrap();
    GrayAlphaImage::new(8, 6).save(directory.path("alpha.png")).unwrap();
    std::fs::create_dir(directory.path("other")).unwrap();
    std::fs::copy(directory.path("one.png"), directory.path("other/one.png")).unwrap();
    for (words, message) in [
        ("mixed one.png -o out", "b.png is 5 x 5 pixels, but a.png is 24 x 18"),
        ("known odd.png -o out", "odd.png: the picture is 7x6, but it must be a half, a third, ... of 24x18 pixels"),
        (
            "known color.png -o out",
            "color.png: the picture is 8x6 color, but known pictures are taken as grey: see --pixels",
        ),
        ("known alpha.png -o out", "alpha.png: the picture has transparency"),
        ("known one.png other/one.png -o out", "out/one.png is named for two outputs"),
        ("known one.png -o out --reference other", "its reference is 8x6 grey, but known pictures are 24x18"),
        ("known one.png -o .", "./one.png is the picture: it would be replaced"),
        ("none one.png -o out", "none"),
        ("known one.png -o out -n 61", "--n-components must be between 1 and the number of samples (60), but it is 61"),
        ("known one.png -o out --bandwidth 0", "--bandwidth must be a positive number, but it is 0"),
        ("known one.png -o out --bandwidth 1e-200", "--bandwidth must be between 1e-153 and 1e153, so that gamma"),
    ] {
        let outcome = directory.run(&format!("upscale {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    assert!(!directory.path("out").exists(), "a folder is left behind");
}

#[test]
fn known_pictures_of_which_something_would_not_be_learned_are_refused_as_small_ones_are() {
    let directory = directory();
    for folder in ["clear", "deep"] {
        std::fs::create_dir(directory.path(folder)).unwrap();
        disc(3.0).save(directory.path(&format!("{folder}/a.png"))).unwrap();
    }
    GrayAlphaImage::new(24, 18).save(directory.path("clear/b.png")).unwrap();
    ImageBuffer::<Luma<u16>, Vec<u16>>::new(24, 18).save(directory.path("deep/b.png")).unwrap();
    for (folder, what) in [("clear", "transparency"), ("deep", "16 bits")] {
        let outcome = directory.run(&format!("upscale {folder} one.png -o out"));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        let message = format!("b.png: the picture has {what}, which is not learned from known pictures");
        assert!(outcome.stderr.contains(&message), "{}", outcome.stderr);
    }
    assert!(!directory.path("out").exists(), "a folder is left behind");
}

#[test]
fn a_wrong_small_picture_is_told_before_anything_is_learned() {
    let directory = directory();
    GrayImage::new(7, 6).save(directory.path("odd.png")).unwrap();
    // What is wrong with the settings is found where learning begins.
    let outcome = directory.run("upscale known one.png odd.png -o out -n 61");
    assert!(outcome.stderr.contains("odd.png: the picture is 7x6, but it must be"), "{}", outcome.stderr);
}

#[test]
fn known_pictures_are_not_replaced() {
    let directory = directory();
    std::fs::copy(directory.path("one.png"), directory.path("07.png")).unwrap();
    let before = std::fs::read(directory.path("known/07.png")).unwrap();
    let names: Vec<String> = (0..20).map(|i| format!("known/{i:02}.png")).collect();
    directory.write("some.list", names.join("\n"));
    for (words, message) in [
        ("known 07.png -o known", "known is in the folder of the known pictures"),
        ("known 07.png -o known/large", "known/large is in the folder of the known pictures"),
        ("some.list 07.png -o known", "known/07.png is a known picture: it would be replaced"),
    ] {
        let outcome = directory.run(&format!("upscale {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    assert_eq!(std::fs::read(directory.path("known/07.png")).unwrap(), before);
    assert!(!directory.path("known/large").exists());
}

#[test]
fn one_wrong_picture_leaves_none() {
    let directory = directory();
    GrayImage::new(7, 6).save(directory.path("odd.png")).unwrap();
    let outcome = directory.run("upscale known one.png odd.png -o deep/large");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(!directory.path("deep").exists(), "something is left behind");
    // A folder that was there stays.
    std::fs::create_dir(directory.path("large")).unwrap();
    assert_eq!(directory.run("upscale known one.png odd.png -o large").code, Some(2));
    assert!(std::fs::read_dir(directory.path("large")).unwrap().next().is_none());
}
