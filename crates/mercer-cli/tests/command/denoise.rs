//! `mercer denoise` and `mercer denoise-rows`.

use image::{DynamicImage, GrayAlphaImage, GrayImage, ImageBuffer, ImageFormat, Luma, RgbImage, RgbaImage};
use serde_json::Value;

use super::support::{Directory, numbers};

/// A disc on a slope, from 40 to 200.
fn scene(x: u32, y: u32) -> f64 {
    let inside = (f64::from(x) - 20.0).hypot(f64::from(y) - 18.0) < 11.0;
    40.0 + f64::from(x) + if inside { 120.0 } else { 0.0 }
}

/// Noise with standard deviation 12, the same for every place.
fn noise(at: u32) -> f64 {
    mercer::denoise::with_noise(&[0.0], 12.0, u64::from(at))[0]
}

fn level(x: u32, y: u32, channel: u32, noisy: bool) -> u8 {
    let share = 1.0 - 0.2 * f64::from(channel);
    let added = if noisy { noise((y * 48 + x) * 3 + channel) } else { 0.0 };
    (share * scene(x, y) + added).round().clamp(0.0, 255.0) as u8
}

fn grey(noisy: bool) -> GrayImage {
    GrayImage::from_fn(48, 40, |x, y| Luma([level(x, y, 0, noisy)]))
}

fn color(noisy: bool) -> RgbImage {
    RgbImage::from_fn(48, 40, |x, y| image::Rgb([0, 1, 2].map(|channel| level(x, y, channel, noisy))))
}

fn directory() -> Directory {
    let directory = Directory::new();
    for (name, noisy) in [("clean", false), ("noisy", true)] {
        grey(noisy).save(directory.path(&format!("{name}.png"))).unwrap();
        color(noisy).save(directory.path(&format!("{name}-color.png"))).unwrap();
    }
    directory
}

fn record(directory: &Directory, words: &str) -> Value {
    serde_json::from_str(&directory.run(&format!("{words} --json")).done().stdout).unwrap()
}

fn open(directory: &Directory, name: &str) -> DynamicImage {
    image::open(directory.path(name)).unwrap()
}

#[test]
fn pictures_get_better_in_grey_and_in_colour() {
    let directory = directory();
    for kind in ["", "-color"] {
        let words = format!("denoise noisy{kind}.png -o out{kind}.png --reference clean{kind}.png");
        let record = record(&directory, &words);
        let decibel = |name: &str| record["reference"][name].as_f64().unwrap();
        assert!(decibel("snr_after") > decibel("snr_before") + 4.0, "{record:#}");
        assert!(decibel("noise_removed") > 0.6, "{record:#}");
        assert!(
            (record["noise"].as_f64().unwrap() - 12.0).abs() < 2.0 && record["noise_estimated"] == true,
            "{record:#}"
        );
        assert_eq!((&record["height"], &record["width"], &record["bit_depth"]), (&40.into(), &48.into(), &8.into()));
        let (before, after) =
            (open(&directory, &format!("noisy{kind}.png")), open(&directory, &format!("out{kind}.png")));
        assert_eq!((after.width(), after.height(), after.color()), (48, 40, before.color()));
        assert_ne!(before.as_bytes(), after.as_bytes());
    }
    let outcome = directory.run("denoise noisy.png positional.png --reference clean.png").done();
    assert!(
        outcome.stderr.contains("48x40 grey picture, noise 1") && outcome.stderr.contains("dB before"),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        std::fs::read(directory.path("positional.png")).unwrap(),
        std::fs::read(directory.path("out.png")).unwrap()
    );
}

#[test]
fn a_projection_is_on_as_many_components_as_asked_for() {
    let directory = directory();
    let record = record(&directory, "denoise noisy.png -o out.png -n 5 --patch 6 --stride 3 --bandwidth 200");
    assert_eq!((&record["n_components"], &record["mean_kept_components"]), (&5.into(), &5.0.into()));
    assert!(record["noise"].is_null() && record["bandwidth"].as_f64().unwrap() - 200.0 < 1e-9, "{record:#}");
}

#[test]
fn transparency_is_kept_and_sixteen_bits_stay_sixteen() {
    let directory = directory();
    let plain = directory.run("denoise noisy.png -o plain.png").done();
    assert_eq!(plain.code, Some(0));
    let alpha = |x: u32, y: u32| (x * 5 + y) as u8;
    let picture = GrayAlphaImage::from_fn(48, 40, |x, y| image::LumaA([level(x, y, 0, true), alpha(x, y)]));
    picture.save(directory.path("alpha.png")).unwrap();
    directory.run("denoise alpha.png -o out.png").done();
    let (with, without) = (open(&directory, "out.png").to_luma_alpha8(), open(&directory, "plain.png").to_luma8());
    for (with, without) in with.pixels().zip(without.pixels()) {
        assert_eq!(with.0[0], without.0[0]);
    }
    assert!(with.enumerate_pixels().all(|(x, y, pixel)| pixel.0[1] == alpha(x, y)));
    RgbaImage::from_fn(48, 40, |x, y| image::Rgba([0, 1, 2, 3].map(|c| level(x, y, c, true))))
        .save(directory.path("rgba.png"))
        .unwrap();
    directory.run("denoise rgba.png -o out.png").done();
    assert_eq!(open(&directory, "out.png").color(), image::ColorType::Rgba8);

    let deep: ImageBuffer<Luma<u16>, Vec<u16>> =
        ImageBuffer::from_fn(48, 40, |x, y| Luma([u16::from(level(x, y, 0, true)) * 257]));
    deep.save(directory.path("deep.png")).unwrap();
    let record = record(&directory, "denoise deep.png -o out.png");
    assert_eq!(record["bit_depth"], 16);
    let (deep, plain) = (open(&directory, "out.png").to_luma16(), open(&directory, "plain.png").to_luma8());
    for (deep, plain) in deep.pixels().zip(plain.pixels()) {
        // The same picture, which eight bits have rounded.
        assert!((f64::from(deep.0[0]) / 257.0 - f64::from(plain.0[0])).abs() < 0.51);
    }
}

#[test]
fn jpeg_goes_in_and_out() {
    let directory = directory();
    DynamicImage::ImageRgb8(color(true)).save_with_format(directory.path("noisy.jpg"), ImageFormat::Jpeg).unwrap();
    directory.run("denoise noisy.jpg -o out.jpeg --noise 10").done();
    let out = open(&directory, "out.jpeg");
    assert_eq!((out.width(), out.height(), out.color()), (48, 40, image::ColorType::Rgb8));
}

#[test]
fn a_grey_picture_that_is_written_as_jpeg_stays_grey() {
    let directory = directory();
    directory.run("denoise noisy.png -o out.jpg").done();
    let out = open(&directory, "out.jpg");
    assert_eq!((out.width(), out.height(), out.color()), (48, 40, image::ColorType::L8));
    directory.run("denoise noisy.png -o out.png").done();
    let exact = open(&directory, "out.png").to_luma8();
    let mean = out.to_luma8().iter().zip(exact.iter()).map(|(a, b)| f64::from(a.abs_diff(*b))).sum::<f64>() / 1920.0;
    assert!(mean < 3.0, "levels differ by {mean:.1} from those of the same picture as PNG");
}

#[test]
fn what_cannot_be_denoised_is_named_and_leaves_nothing() {
    let directory = directory();
    directory.write("text.png", "no picture");
    let whole = std::fs::read(directory.path("noisy.png")).unwrap();
    directory.write("cut.png", &whole[..whole.len() / 2]);
    GrayImage::new(5, 9).save(directory.path("small.png")).unwrap();
    GrayAlphaImage::new(20, 20).save(directory.path("alpha.png")).unwrap();
    ImageBuffer::<Luma<u16>, Vec<u16>>::new(20, 20).save(directory.path("deep.png")).unwrap();
    GrayImage::new(48, 40).save(directory.path("constant.png")).unwrap();
    GrayImage::from_fn(8, 8, |x, y| Luma([level(x, y, 0, true)])).save(directory.path("one-patch.png")).unwrap();
    for (words, message) in [
        ("small.png -o out.png", "--patch must be at most the smaller side of the picture (5 pixels), but it is 8"),
        (
            "one-patch.png -o out.png",
            "--patch must be less than the sides of the picture (8 pixels both), or there is one patch, but it is 8",
        ),
        ("noisy.png -o out.png --bandwidth 1e-300", "--bandwidth must be between 1e-153 and 1e153, so that gamma"),
        ("noisy.png -o out.gif", "out.gif does not say which format to write"),
        ("noisy.png -o noisy.png", "noisy.png is the picture: it would be replaced"),
        ("none.png -o out.png", "none.png: no such file or directory"),
        ("text.png -o out.png", "text.png: the file cannot be read as a picture"),
        ("cut.png -o out.png", "cut.png: "),
        (". -o out.png", "this is a directory"),
        ("alpha.png -o out.jpg", "out.jpg would lose the picture's transparency"),
        ("deep.png -o out.jpg", "out.jpg would lose the picture's 16 bits"),
        ("noisy.png -o out.png --stride 9", "--stride must be between 1 and the size of a patch (8)"),
        ("noisy.png -o out.png --noise -1", "--noise must be a number that is not negative, but it is -1"),
        ("noisy.png -o out.png -n 3 --noise 4", "cannot be used with"),
        ("noisy.png", "required"),
        ("noisy.png out.png -o out.png", "cannot be used with"),
        ("noisy.png -o out.png --reference constant.png", "--reference must be a signal that is not constant"),
        (
            "noisy.png -o out.png --reference small.png",
            "small.png: the reference is 5x9 grey with 8 bits, but noisy.png is 48x40 grey with 8 bits",
        ),
    ] {
        let outcome = directory.run(&format!("denoise {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    assert!(directory.files().iter().all(|name| !name.starts_with("out")), "{:?}", directory.files());
}

/// Sixty frames of six quantities on a loop, and the same with noise.
fn motion(noisy: bool) -> String {
    let value = |frame: u32, k: u32| {
        let angle = f64::from(frame) / 10.0 + f64::from(k);
        angle.sin() + if noisy { noise(frame * 6 + k) / 60.0 } else { 0.0 }
    };
    let rows = (0..90).map(|frame| {
        let values: Vec<String> = (0..6).map(|k| value(frame, k).to_string()).collect();
        format!("{frame},{}\n", values.join(","))
    });
    std::iter::once("frame,a,b,c,d,e,f\n".to_owned()).chain(rows).collect()
}

fn motions() -> Directory {
    let directory = Directory::new();
    directory.write("clean.csv", motion(false));
    directory.write("noisy.csv", motion(true));
    directory
}

#[test]
fn rows_get_better_and_windows_help() {
    let directory = motions();
    let words = "denoise-rows noisy.csv --id frame --reference clean.csv -o out.csv";
    let one = record(&directory, words);
    let gone = |record: &Value| record["reference"]["noise_removed"].as_f64().unwrap();
    assert!(gone(&one) > 0.3, "{one:#}");
    let table = directory.read("out.csv");
    assert!(table.starts_with("frame,a,b,c,d,e,f\n0,"), "{table}");
    assert_eq!((numbers(&table).len(), &one["n_points"]), (90, &90.into()));
    let five = record(&directory, &format!("{words} --window 5"));
    assert!(gone(&five) > gone(&one), "{five:#}");
    assert_eq!((&five["n_points"], &five["n_features"], &five["window"]), (&86.into(), &30.into(), &5.into()));
    let standard = directory.run("denoise-rows noisy.csv --drop frame --standardize --noise 0.3").done();
    assert_eq!(numbers(&standard.stdout).len(), 90);
    let first = numbers(&standard.stdout)[0][1];
    assert!((first - 1.0_f64.sin()).abs() < 0.5, "in the units of the data: {first}");
}

#[test]
fn pre_images_that_did_not_converge_are_counted_among_those_of_both_passes() {
    let directory = motions();
    // Halfway between two windows, which is all there is beside noise, a kernel as wide as this has a flat top that no search comes to the end of.
    let outcome = directory.run("denoise-rows noisy.csv --id frame --window 89 -o out.csv");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("warning: 4 of 4 pre-images did not converge"), "{}", outcome.stderr);
    let once = directory.run("denoise-rows noisy.csv --id frame --window 89 --no-refine -o out.csv");
    assert!(once.stderr.contains("warning: 2 of 2 pre-images did not converge"), "{}", once.stderr);
}

#[test]
fn rows_that_cannot_be_denoised_are_named_and_leave_nothing() {
    let directory = motions();
    directory.write("short.csv", "1,2\n3,4\n");
    directory.write("other.csv", "1,2\n3,4\n5,6\n7,8\n");
    for (words, message) in [
        ("noisy.csv --window 0", "--window must be at least 1 and less than the number of rows (90)"),
        (
            "noisy.csv --window 90",
            "--window must be at least 1 and less than the number of rows (90), or there is one window, but it is 90",
        ),
        ("noisy.csv --bandwidth 1e-300", "--bandwidth must be between 1e-153 and 1e153, so that gamma"),
        ("short.csv", "short.csv: kernel PCA needs at least 3 rows, but there are 2"),
        ("noisy.csv --sample 10", "--sample is not for denoise-rows"),
        (
            "noisy.csv --reference other.csv",
            "other.csv: the reference has 4 rows of 2 columns, but noisy.csv has 90 of 7",
        ),
        ("noisy.csv -n 0", "--n-components must be between 1 and the number of landmarks (90), but it is 0"),
    ] {
        let outcome = directory.run(&format!("denoise-rows {words} -o out.csv"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
        assert!(!directory.path("out.csv").exists(), "{words}");
    }
}
