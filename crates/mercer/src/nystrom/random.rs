//! Random numbers and draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The same sequence for a seed on every machine.
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform from zero to one, without one.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (0.5_f64).powi(53)
    }

    /// A whole number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    /// Normal with mean zero and variance one, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// `count` places drawn independently with chances in proportion to `weights`, which are not negative and not all zero.
    pub(super) fn draw(&mut self, weights: &[f64], count: usize) -> Vec<usize> {
        let mut sums = Vec::with_capacity(weights.len());
        let mut sum = 0.0;
        for weight in weights {
            sum += weight;
            sums.push(sum);
        }
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        (0..count)
            .map(|_| {
                let target = self.uniform() * sum;
                sums.partition_point(|&sum| sum <= target).min(last)
            })
            .collect()
    }

    /// `count` different places with chances in proportion to `weights`, those of no weight last, by exponential keys.
    pub(super) fn draw_different(&mut self, weights: &[f64], count: usize) -> Vec<usize> {
        let mut keys: Vec<(f64, f64, usize)> = weights
            .iter()
            .enumerate()
            .map(|(place, &weight)| {
                let waiting = -(1.0 - self.uniform()).ln();
                let key = if weight > 0.0 { waiting / weight } else { f64::INFINITY };
                (key, waiting, place)
            })
            .collect();
        keys.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        keys.into_iter().take(count).map(|(_, _, place)| place).collect()
    }
}

/// `chosen`, filled up with other places below `n` at random until there are `count`.
pub(super) fn fill_up(mut chosen: Vec<usize>, n: usize, count: usize, random: &mut Random) -> Vec<usize> {
    let mut is_free = vec![1.0; n];
    for &place in &chosen {
        is_free[place] = 0.0;
    }
    let missing = count.min(n).saturating_sub(chosen.len());
    chosen.extend(random.draw_different(&is_free, missing));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_their_weights_and_never_take_what_has_none() {
        let mut random = Random::new(1);
        let weights = [0.0, 1.0, 3.0, 0.0];
        let mut counts = [0; 4];
        random.draw(&weights, 40_000).into_iter().for_each(|place| counts[place] += 1);
        assert_eq!((counts[0], counts[3]), (0, 0));
        // Five standard deviations of a share of three quarters of 40 000.
        assert!((f64::from(counts[2]) - 30_000.0).abs() < 5.0 * (40_000.0_f64 * 0.75 * 0.25).sqrt(), "{counts:?}");
    }

    #[test]
    fn different_places_are_different_and_first_come_those_with_weight() {
        let mut random = Random::new(2);
        let found = random.draw_different(&[0.0, 2.0, 0.0, 1.0, 0.5], 4);
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 4);
        assert!(found[..3].iter().all(|place| [1, 3, 4].contains(place)), "{found:?}");
        assert_eq!(fill_up(vec![2], 3, 5, &mut random).len(), 3, "there are no more");
    }
}
