//! Denoising against a slow implementation, and its own promises.

#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

use mercer::denoise::{Denoiser, Grid, Image, image_noise, noise_removed, row_noise, snr};
use mercer::{Error, Points, Watch};
use mercer_testkit::generate::Random;
use mercer_testkit::reference::projected_picture;

/// A picture with slopes, round edges and stripes, from 0 to 1, in every channel somewhat different.
fn scene(height: usize, width: usize, channels: usize) -> Vec<f64> {
    let mut values = Vec::new();
    for row in 0..height {
        for column in 0..width {
            let (x, y) = (column as f64 / width as f64, row as f64 / height as f64);
            let disc = f64::from(u8::from((x - 0.4).hypot(y - 0.5) < 0.3));
            let stripes = f64::from(u8::from(x > 0.75 && (row / 4) % 2 == 0));
            for channel in 0..channels {
                let share = 1.0 - 0.3 * channel as f64;
                values.push(0.2 * x + 0.1 * y + share * (0.4 * disc + 0.3 * stripes));
            }
        }
    }
    values
}

fn with_noise(clean: &[f64], level: f64, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    clean.iter().map(|x| x + level * random.normal()).collect()
}

fn denoised(settings: &Denoiser, image: &Image, grid: Grid) -> Vec<f64> {
    settings.image(image, grid, &Watch::new()).unwrap().image.values().to_vec()
}

#[test]
fn a_projection_is_that_of_the_book() {
    let (height, width) = (9, 12);
    let noisy = with_noise(&scene(height, width, 1), 0.1, 3);
    let lines: Vec<Vec<f64>> = noisy.chunks(width).map(<[f64]>::to_vec).collect();
    let image = Image::new(noisy.clone(), height, width, 1).unwrap();
    for (size, stride, k, bandwidth) in [(4, 2, 3, 1.0), (3, 1, 5, 4.0), (4, 3, 1, 0.7)] {
        let settings = Denoiser::new().n_components(k).bandwidth(bandwidth);
        let found = denoised(&settings, &image, Grid::new(size, stride).unwrap());
        let expected = projected_picture(&lines, size, stride, k, bandwidth).concat();
        // The last step of a pre-image is smaller than 1e-5 of the kernel's width, and steps shrink quickly.
        for (at, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert!((found - expected).abs() < 1e-4 * bandwidth, "pixel {at}: {found} instead of {expected}");
        }
        assert!(snr(&noisy, &found).unwrap() < 60.0, "it does something");
    }
}

#[test]
fn grey_and_colour_pictures_get_better_at_every_noise_level() {
    for (channels, level, gain) in [(1, 0.05, 4.0), (1, 0.15, 5.0), (3, 0.1, 5.0)] {
        let clean = scene(64, 72, channels);
        let noisy = with_noise(&clean, level, 7);
        let image = Image::new(noisy.clone(), 64, 72, channels).unwrap();
        let before = snr(&clean, &noisy).unwrap();
        let once = denoised(&Denoiser::new().refine(false), &image, Grid::default());
        let found = Denoiser::new().image(&image, Grid::default(), &Watch::new()).unwrap();
        let (after_one, after) = (snr(&clean, &once).unwrap(), snr(&clean, found.image.values()).unwrap());
        assert!(after > before + gain, "{channels} channels, noise {level}: {before:.2} dB to {after:.2} dB");
        assert!(after > after_one, "the guide helps: {after_one:.2} dB to {after:.2} dB");
        let record = found.record;
        assert!(record.noise_estimated && (record.noise.unwrap() / level - 1.0).abs() < 0.15, "{record:?}");
        assert!(record.mean_kept_components < 0.5 * record.n_components as f64, "{record:?}");
        assert_eq!((record.n_not_converged, record.refined), (0, true));
        assert!(noise_removed(&clean, &noisy, found.image.values()).unwrap() > 0.6);
    }
}

/// Three channels of a grey picture with noise of which so much of the variance is the same in all, and the picture without noise.
fn grey_as_colour(side: usize, level: f64, common: f64) -> (Vec<f64>, Vec<f64>) {
    let (mut clean, mut noisy, mut random) = (Vec::new(), Vec::new(), Random::new(23));
    for x in scene(side, side, 1) {
        let shared = random.normal();
        for _ in 0..3 {
            clean.push(x);
            noisy.push(x + level * (common.sqrt() * shared + (1.0 - common).sqrt() * random.normal()));
        }
    }
    (clean, noisy)
}

#[test]
fn a_grey_picture_that_is_stored_as_colour_is_denoised_as_well_as_grey() {
    let side = 64;
    let (clean, noisy) = grey_as_colour(side, 0.15, 1.0);
    let colour = Image::new(noisy.clone(), side, side, 3).unwrap();
    let grey = Image::new(noisy.iter().step_by(3).copied().collect(), side, side, 1).unwrap();
    for settings in [Denoiser::new(), Denoiser::new().noise(0.15), Denoiser::new().refine(false)] {
        let of_grey = denoised(&settings, &grey, Grid::default());
        let of_colour = denoised(&settings, &colour, Grid::default());
        let expected = snr(&clean.iter().step_by(3).copied().collect::<Vec<_>>(), &of_grey).unwrap();
        let found = snr(&clean, &of_colour).unwrap();
        // Landmarks and the noise that scores are measured with are others.
        assert!((found - expected).abs() < 0.1, "{settings:?}: {found:.2} dB as colour, {expected:.2} dB as grey");
        for pixel in of_colour.chunks_exact(3) {
            assert!((pixel[0] - pixel[1]).abs().max((pixel[0] - pixel[2]).abs()) < 1e-4, "{pixel:?}");
        }
    }
}

#[test]
fn the_less_of_the_noise_channels_share_the_better_a_picture_gets() {
    let side = 64;
    let after = |common: f64, settings: &Denoiser| {
        let (clean, noisy) = grey_as_colour(side, 0.15, common);
        let found = denoised(settings, &Image::new(noisy, side, side, 3).unwrap(), Grid::default());
        snr(&clean, &found).unwrap()
    };
    for settings in [Denoiser::new(), Denoiser::new().noise(0.15)] {
        let found = [1.0, 0.7, 0.3, 0.0].map(|common| after(common, &settings));
        // From a grey picture to one whose channels are three looks at the same thing.
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{settings:?}: {found:.2?} dB");
        assert!(found[3] - found[0] < 2.0, "{settings:?}: {found:.2?} dB");
    }
}

#[test]
fn brightness_and_contrast_pass_through() {
    let noisy = with_noise(&scene(24, 30, 1), 0.1, 5);
    let image =
        |shift: f64, factor: f64| Image::new(noisy.iter().map(|x| shift + factor * x).collect(), 24, 30, 1).unwrap();
    let plain = denoised(&Denoiser::new(), &image(0.0, 1.0), Grid::default());
    let changed = denoised(&Denoiser::new(), &image(40.0, 200.0), Grid::default());
    for (plain, changed) in plain.iter().zip(&changed) {
        assert!((40.0 + 200.0 * plain - changed).abs() < 1e-6 * 200.0, "{plain} and {changed}");
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let image = Image::new(with_noise(&scene(40, 40, 1), 0.1, 5), 40, 40, 1).unwrap();
    let one = denoised(&Denoiser::new().threads(1), &image, Grid::default());
    let three = denoised(&Denoiser::new().threads(3), &image, Grid::default());
    assert!(one.iter().zip(&three).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
fn what_has_no_noise_is_left_as_it_is() {
    for values in [vec![0.3; 400], (0..400).map(|at| f64::from(at / 20)).collect()] {
        let image = Image::new(values, 20, 20, 1).unwrap();
        let found = Denoiser::new().image(&image, Grid::default(), &Watch::new()).unwrap();
        assert_eq!((found.image, found.record.n_learned_from), (image, 0));
    }
    // Nor is there anything to learn from pixels that are all the same, whatever noise is said to be on them.
    let flat = Image::new(vec![0.3; 400], 20, 20, 1).unwrap();
    assert_eq!(Denoiser::new().noise(0.1).image(&flat, Grid::default(), &Watch::new()).unwrap().image, flat);
    let rows = Points::from_f64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2).unwrap();
    let found = Denoiser::new().rows(&rows, 1, &Watch::new()).unwrap();
    assert_eq!((found.rows[(2, 0)], found.record.noise), (5.0, Some(0.0)));
}

#[test]
fn noise_is_estimated_whatever_the_picture() {
    for level in [0.02, 0.1, 0.4] {
        for (height, width, channels) in [(100, 80, 1), (64, 64, 3)] {
            let noisy = with_noise(&scene(height, width, channels), level, 13);
            let found = image_noise(&Image::new(noisy, height, width, channels).unwrap()).unwrap();
            // A median of thousands of values, up to a tenth of them on edges.
            assert!((found / level - 1.0).abs() < 0.15, "{found} instead of {level}");
        }
        let clean: Vec<f64> = (0..4000).map(|at| (f64::from(at / 4) * 0.02 + f64::from(at % 4)).sin()).collect();
        let rows = Points::from_f64(with_noise(&clean, level, 17), 1000, 4).unwrap();
        let found = row_noise(&rows).unwrap();
        assert!((found / level - 1.0).abs() < 0.05, "{found} instead of {level}");
    }
}

#[test]
fn settings_and_pictures_that_cannot_be_used_are_named() {
    let image = Image::new(with_noise(&scene(6, 9, 1), 0.1, 1), 6, 9, 1).unwrap();
    let message =
        |settings: Denoiser, grid: Grid| settings.image(&image, grid, &Watch::new()).err().unwrap().to_string();
    let small = Grid::new(4, 2).unwrap();
    for (found, expected) in [
        (
            message(Denoiser::new(), Grid::default()),
            "`patch` must be at most the smaller side of the picture (6 pixels), but it is 8",
        ),
        (message(Denoiser::new().noise(-1.0), small), "`noise` must be a number that is not negative, but it is -1"),
        (message(Denoiser::new().bandwidth(0.0), small), "`bandwidth` must be a positive number, but it is 0"),
        (
            message(Denoiser::new().bandwidth(1e-300), small),
            "`bandwidth` must be between 1e-153 and 1e153, so that gamma = 1 / (2 bandwidth²) is a number, but it is 1e-300",
        ),
        (message(Denoiser::new().threshold(f64::NAN), small), "`threshold` must be a positive number, but it is NaN"),
        (message(Denoiser::new().n_landmarks(1), small), "`n_landmarks` must be at least 2, but it is 1"),
        (message(Denoiser::new().threads(0), small), "`threads` must be at least 1, but it is 0"),
        (
            message(Denoiser::new().n_components(99), small),
            "`n_components` must be between 1 and the number of landmarks (8), but it is 99",
        ),
        (
            message(Denoiser::new().n_components(2).noise(0.1), small),
            "`noise` must be left out with a number of components, on which points are projected whatever the noise, but it is given",
        ),
        (Grid::new(1, 1).err().unwrap().to_string(), "`patch` must be at least 2 pixels, but it is 1"),
        (
            Grid::new(4, 5).err().unwrap().to_string(),
            "`stride` must be between 1 and the size of a patch (4), or pixels would be left out, but it is 5",
        ),
    ] {
        assert_eq!(found, expected);
    }
    let square = Image::new(with_noise(&scene(8, 8, 1), 0.1, 1), 8, 8, 1).unwrap();
    let found = Denoiser::new().image(&square, Grid::default(), &Watch::new()).err().unwrap().to_string();
    assert_eq!(
        found,
        "`patch` must be less than the sides of the picture (8 pixels both), or there is one patch, but it is 8"
    );
    let rows = Points::from_f64(with_noise(&scene(9, 4, 1), 0.1, 1), 9, 4).unwrap();
    let found = Denoiser::new().rows(&rows, 9, &Watch::new()).err().unwrap().to_string();
    assert_eq!(
        found,
        "`window` must be at least 1 and less than the number of rows (9), or there is one window, but it is 9"
    );
    assert!(Denoiser::new().rows(&rows, 8, &Watch::new()).is_ok(), "of two windows there are components");
    assert!(matches!(
        Image::new(vec![0.0, f64::NAN, 0.0, 0.0], 2, 2, 1),
        Err(Error::NotFinite { row: 0, column: 1, .. })
    ));
    assert!(matches!(Image::new(vec![0.0; 5], 2, 2, 1), Err(Error::ShapeMismatch { .. })));
    let two = Image::new(vec![0.0, 1.0, 2.0, 4.0], 2, 2, 1).unwrap();
    assert!(image_noise(&two).err().unwrap().to_string().contains("`noise` must be given"));
    assert!(matches!(row_noise(&Points::from_f64(vec![1.0, 2.0], 2, 1).unwrap()), Err(Error::TooFewRows { .. })));
    assert!(snr(&[1.0, 1.0], &[1.0, 2.0]).is_err() && snr(&[1.0, 2.0], &[1.0]).is_err());
    assert!(noise_removed(&[1.0, 2.0], &[1.0, 2.0], &[1.0, 2.0]).is_err());
}

#[test]
fn a_run_can_be_stopped() {
    let stop = std::sync::atomic::AtomicBool::new(true);
    let image = Image::new(with_noise(&scene(20, 20, 1), 0.1, 1), 20, 20, 1).unwrap();
    let outcome = Denoiser::new().image(&image, Grid::default(), &Watch::new().interrupt(&stop));
    assert!(matches!(outcome, Err(Error::Interrupted { .. })));
}
