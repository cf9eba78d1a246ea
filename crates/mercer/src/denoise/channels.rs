//! How the noise in the channels of a pixel belongs together.
//!
//! The noise of a camera is different in every channel; that of a grey picture which is stored as colour is the same in all of them; what is in between
//! comes about where channels were mixed. Taken for independent, noise that is the same in three channels has three times the variance along grey that
//! it is expected to have, and most of it stays.

use super::image::Image;
use super::noise::{channel_levels, level};
use crate::nystrom::Random;

/// What is left of a channel that the ones before explain, as a share of its variance, is rounding below this.
const EXPLAINED: f64 = 1e-12;

/// The noise of a pixel as combinations of independent numbers: one row of factors for each channel. The mean square of the channels is one.
pub(super) struct Mixing(Vec<Vec<f64>>);

impl Mixing {
    /// That of the noise in a picture, whose level was estimated or given. Noise of a given level is as strong in every channel.
    pub(super) fn of(image: &Image, noise: f64, is_given: bool) -> Self {
        let channels = image.channels();
        let levels = channel_levels(image).unwrap_or_else(|| vec![0.0; channels]);
        let variance = levels.iter().map(|level| level * level).sum::<f64>() / channels as f64;
        // What is found beyond the noise there is said to be is texture, and texture is much the same in all channels.
        let texture = (1.0 - noise * noise / variance).max(0.0);
        let correlation = |a: usize, b: usize| match correlation(image, (a, levels[a]), (b, levels[b])) {
            found if found > 0.0 && texture > 0.0 => ((found - texture) / (1.0 - texture)).max(0.0),
            found => found,
        };
        let correlations: Vec<Vec<f64>> =
            (0..channels).map(|a| (0..a).map(|b| correlation(a, b)).chain([1.0]).collect()).collect();
        let mut factors = factors(&correlations);
        if !is_given {
            for (row, level) in factors.iter_mut().zip(&levels) {
                for factor in row {
                    *factor *= level / noise;
                }
            }
        }
        Self(factors)
    }

    /// Draws noise of this level for the pixels of a patch.
    pub(super) fn draw(&self, noise: f64, random: &mut Random, patch: &mut [f64]) {
        let channels = self.0.len();
        let mut independent = vec![0.0; channels];
        for pixel in patch.chunks_exact_mut(channels) {
            independent.fill_with(|| noise * random.normal());
            for (value, row) in pixel.iter_mut().zip(&self.0) {
                *value = row.iter().zip(&independent).map(|(factor, number)| factor * number).sum();
            }
        }
    }
}

/// The correlation of the noise in two channels with these levels, from the levels of their sum and of their difference \[GK72\].
fn correlation(image: &Image, (a, level_a): (usize, f64), (b, level_b): (usize, f64)) -> f64 {
    let of_both = |sign: f64| {
        level(image, |row, column| image.at(row, column, a) / level_a + sign * image.at(row, column, b) / level_b)
    };
    let squares = if level_a > 0.0 && level_b > 0.0 { [of_both(1.0).powi(2), of_both(-1.0).powi(2)] } else { [0.0; 2] };
    if squares[0] + squares[1] > 0.0 {
        return (squares[0] - squares[1]) / (squares[0] + squares[1]);
    }
    // No noise can be seen: what is the same picture twice would have the same noise.
    let are_equal = image.values().chunks_exact(image.channels()).all(|pixel| pixel[a] - pixel[b] == 0.0);
    f64::from(u8::from(are_equal))
}

/// The factors of Cholesky, row by row, with rows of length one. Correlations that were estimated pair by pair need not be those of any numbers: a
/// channel that the ones before explain more than completely has nothing of its own.
fn factors(correlations: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = Vec::with_capacity(correlations.len());
    for (a, wanted) in correlations.iter().enumerate() {
        let mut row = Vec::with_capacity(a + 1);
        for (b, &correlation) in wanted.iter().enumerate().take(a) {
            let before: f64 = found[b].iter().zip(&row).map(|(x, y): (&f64, &f64)| x * y).sum();
            let own = found[b][b];
            row.push(if own > 0.0 { (correlation - before) / own } else { 0.0 });
        }
        let left = 1.0 - row.iter().map(|x: &f64| x * x).sum::<f64>();
        row.push(if left > EXPLAINED { left.sqrt() } else { 0.0 });
        let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        found.push(row.iter().map(|x| x / length).collect());
    }
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "what cannot be taken fails the test")]
mod tests {
    use super::*;

    const SIDE: usize = 96;

    /// A slope with noise of deviation `levels` in three channels, of which so much of the variance is common to all, and texture that is the same in all.
    fn picture(levels: [f64; 3], common: f64, texture: f64) -> Image {
        let mut random = Random::new(5);
        let mut values = Vec::new();
        for at in 0..SIDE * SIDE {
            let (shared, grey) = (random.normal(), texture * random.normal());
            for level in levels {
                let noise = level * (common.sqrt() * shared + (1.0 - common).sqrt() * random.normal());
                values.push(at as f64 / 100.0 + grey + noise);
            }
        }
        Image::new(values, SIDE, SIDE, 3).unwrap()
    }

    fn covariance(mixing: &Mixing, a: usize, b: usize) -> f64 {
        mixing.0[a].iter().zip(&mixing.0[b]).map(|(x, y)| x * y).sum()
    }

    /// Three standard deviations of a variance that comes from a median of so many second differences, of which one in three counts: each shares pixels with
    /// its neighbours. Relative to the variances themselves.
    const NEAR: f64 = 3.0 * 4.0 / SIDE as f64;

    #[test]
    fn noise_that_channels_share_is_found_at_every_level() {
        for common in [0.0, 0.3, 0.8, 1.0] {
            let noise = (14.0_f64 / 3.0).sqrt();
            let mixing = Mixing::of(&picture([1.0, 2.0, 3.0], common, 0.0), noise, false);
            for (a, b) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
                let share = if a == b { 1.0 } else { common };
                let size = ((a + 1) * (b + 1)) as f64 / (noise * noise);
                let (found, expected) = (covariance(&mixing, a, b), share * size);
                assert!((found - expected).abs() < NEAR * size, "{common}, {a} and {b}: {found} instead of {expected}");
            }
        }
    }

    #[test]
    fn noise_of_a_given_level_is_as_strong_in_every_channel_and_texture_is_none_of_it() {
        for common in [0.0, 0.5, 1.0] {
            let mixing = Mixing::of(&picture([2.0; 3], common, 2.0), 2.0, true);
            for (a, b) in [(0, 1), (0, 2), (1, 2)] {
                let found = covariance(&mixing, a, b);
                assert!((found - common).abs() < NEAR, "{common}, {a} and {b}: {found}");
            }
            assert!((0..3).all(|a| (covariance(&mixing, a, a) - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn channels_in_which_no_noise_is_seen_share_it_if_they_are_equal() {
        let values = (0..400).flat_map(|at| [f64::from(at), f64::from(at), 2.0]).collect();
        let mixing = Mixing::of(&Image::new(values, 20, 20, 3).unwrap(), 5.0, true);
        for (a, b, expected) in [(0, 1, 1.0), (0, 2, 0.0), (1, 2, 0.0)] {
            assert!((covariance(&mixing, a, b) - expected).abs() < 1e-12, "{a} and {b}");
        }
    }

    #[test]
    fn correlations_that_contradict_one_another_give_noise_of_the_right_level() {
        // The first is like both others, which are unlike one another.
        let found = factors(&[vec![1.0], vec![0.9, 1.0], vec![0.9, -0.9, 1.0]]);
        for row in &found {
            assert!((row.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12, "{found:?}");
        }
    }
}
