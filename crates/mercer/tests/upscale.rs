//! Larger pictures: laws of interpolation, and promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

use mercer::denoise::{Image, snr};
use mercer::upscale::{Upscaler, enlarged, reduced};
use mercer::{Error, Points, Watch};

/// A cross whose arms are at some place, in 12 x 18 pixels and as many channels.
fn cross(across: usize, down: usize, channels: usize) -> Vec<f64> {
    let pixel = |at: usize| {
        let (row, column) = (at / 18, at % 18);
        let light = if row.abs_diff(down) < 2 || column.abs_diff(across) < 2 { 0.9 } else { 0.2 };
        (0..channels).map(move |channel| light / (1.0 + channel as f64))
    };
    (0..12 * 18).flat_map(pixel).collect()
}

/// All crosses but one.
fn known(channels: usize) -> Points {
    let places = (2..16).flat_map(|across| (2..10).map(move |down| (across, down))).filter(|place| *place != (9, 5));
    let values: Vec<f64> = places.flat_map(|(across, down)| cross(across, down, channels)).collect();
    let d = 12 * 18 * channels;
    Points::from_f64(values.clone(), values.len() / d, d).unwrap()
}

#[test]
fn a_known_kind_gets_sharper_than_by_interpolation() {
    for channels in [1, 3] {
        let space = Upscaler::new().learn(&known(channels), (12, 18, channels), &Watch::new()).unwrap();
        let wanted = Image::new(cross(9, 5, channels), 12, 18, channels).unwrap();
        let small = reduced(&wanted, 3).unwrap();
        let found = space.upscale(&small, &Watch::new()).unwrap();
        let (ours, plain) = (found.image.values().to_vec(), enlarged(&small, 3).unwrap());
        let (ours, plain) = (snr(wanted.values(), &ours).unwrap(), snr(wanted.values(), plain.values()).unwrap());
        assert!(ours > plain + 0.5, "{channels} channels: {ours:.2} dB, by interpolation {plain:.2} dB");
        assert_eq!((found.factor, found.converged), (3, true));
    }
}

#[test]
fn a_picture_made_larger_is_the_small_one_when_made_small_again() {
    let space = Upscaler::new().learn(&known(1), (12, 18, 1), &Watch::new()).unwrap();
    let small = reduced(&Image::new(cross(9, 5, 1), 12, 18, 1).unwrap(), 2).unwrap();
    let found = space.upscale(&small, &Watch::new()).unwrap();
    let again = reduced(&found.image, 2).unwrap();
    let gap = snr(small.values(), again.values()).unwrap();
    assert!(gap > 20.0, "{gap:.1} dB");
}

#[test]
fn the_mismatch_is_how_far_the_projection_is_from_the_small_picture() {
    let space = Upscaler::new().learn(&known(1), (12, 18, 1), &Watch::new()).unwrap();
    let mismatch = |brighter: f64| {
        let values = cross(9, 5, 1).iter().map(|x| x + brighter).collect();
        let small = reduced(&Image::new(values, 12, 18, 1).unwrap(), 2).unwrap();
        space.upscale(&small, &Watch::new()).unwrap().mismatch
    };
    // Pixels of this one differ by 0.7.
    let own = mismatch(0.0);
    assert!(own > 0.01 && own < 0.2, "{own}");
    // Pre-images are means of known pictures, nearly, none of which is brighter: what was added to it is missing.
    let brighter = mismatch(1.0);
    assert!((brighter - 1.0).abs() < 0.2, "{brighter}");
}

/// What the guide says of such pictures; were it better, that would have to be said.
#[test]
fn a_picture_of_another_kind_gets_details_of_the_known_one() {
    let space = Upscaler::new().learn(&known(1), (12, 18, 1), &Watch::new()).unwrap();
    let slope: Vec<f64> = (0..12 * 18).map(|at| 0.2 + 0.025 * f64::from(at / 18 + at % 18)).collect();
    let small = reduced(&Image::new(slope.clone(), 12, 18, 1).unwrap(), 2).unwrap();
    let found = snr(&slope, space.upscale(&small, &Watch::new()).unwrap().image.values()).unwrap();
    let plain = snr(&slope, enlarged(&small, 2).unwrap().values()).unwrap();
    assert!(found < plain - 5.0, "{found:.2} dB, by interpolation {plain:.2} dB");
}

#[test]
fn interpolation_keeps_constants_and_slopes_and_interpolates_channels_apart() {
    let flat = Image::new(vec![0.7; 30], 5, 6, 1).unwrap();
    assert!(enlarged(&flat, 3).unwrap().values().iter().all(|x| (x - 0.7).abs() < 1e-12));
    let values: Vec<f64> = (0..64).flat_map(|at| [f64::from(at % 8), 3.0 - 2.0 * f64::from(at / 8)]).collect();
    let large = enlarged(&Image::new(values, 8, 8, 2).unwrap(), 4).unwrap();
    for row in 8..24 {
        for column in 8..24 {
            let (x, y) = ((column as f64 + 0.5) / 4.0 - 0.5, (row as f64 + 0.5) / 4.0 - 0.5);
            assert!((large.at(row, column, 0) - x).abs() < 1e-12);
            assert!((large.at(row, column, 1) - (3.0 - 2.0 * y)).abs() < 1e-12);
        }
    }
    let image = Image::new(cross(4, 4, 3), 12, 18, 3).unwrap();
    assert_eq!(enlarged(&image, 1).unwrap(), image);
    assert_eq!(reduced(&image, 1).unwrap(), image);
}

#[test]
fn wrong_shapes_and_settings_are_named() {
    let watch = Watch::new();
    let message = |outcome: Result<mercer::upscale::PictureSpace, Error>| outcome.err().unwrap().to_string();
    let found = message(Upscaler::new().learn(&known(1), (12, 17, 1), &watch));
    assert_eq!(found, "`pictures` must be rows of 12 x 17 x 1 = 204 numbers, but it is 216");
    let found = message(Upscaler::new().bandwidth(-1.0).learn(&known(1), (12, 18, 1), &watch));
    assert_eq!(found, "`bandwidth` must be a positive number, but it is -1");
    let found = message(Upscaler::new().bandwidth(1e200).learn(&known(1), (12, 18, 1), &watch));
    let expected = "`bandwidth` must be between 1e-153 and 1e153, so that gamma = 1 / (2 bandwidth²) is a number";
    assert_eq!(found, format!("{expected}, but it is 1e200"));
    let found = message(Upscaler::new().n_components(0).learn(&known(1), (12, 18, 1), &watch));
    assert!(found.starts_with("`n_components` must be between 1"), "{found}");
    let equal = Points::from_f64(vec![1.0; 12], 3, 4).unwrap();
    assert!(matches!(Upscaler::new().learn(&equal, (2, 2, 1), &watch), Err(Error::NoVariance { .. })));
    assert!(matches!(Upscaler::new().learn(&equal.slice(0..1), (2, 2, 1), &watch), Err(Error::TooFewRows { .. })));
    let space = Upscaler::new().learn(&known(1), (12, 18, 1), &watch).unwrap();
    for (height, width, channels, expected) in [
        (4, 6, 3, "`image` must be of 1 channels, as those learned from, but it is 3"),
        (5, 6, 1, "`image` must be a half, a third, ... of 18x12 pixels along both sides, but it is 6x5"),
        (12, 18, 1, "`image` must be a half, a third, ... of 18x12 pixels along both sides, but it is 18x12"),
        (24, 36, 1, "`image` must be a half, a third, ... of 18x12 pixels along both sides, but it is 36x24"),
    ] {
        let image = Image::new(vec![0.5; height * width * channels], height, width, channels).unwrap();
        assert_eq!(space.upscale(&image, &watch).err().unwrap().to_string(), expected);
    }
    assert!(reduced(&Image::new(vec![0.0; 6], 2, 3, 1).unwrap(), 2).is_err());
    assert!(enlarged(&Image::new(vec![0.0; 6], 2, 3, 1).unwrap(), 0).is_err());
}
