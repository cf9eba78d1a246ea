//! The rows that residuals are measured on.
//!
//! # Method
//!
//! A residual is a sum over all rows of squares, and what row `i` adds to it is small where landmarks leave little of the row: with `E` what
//! they leave of the kernel matrix, a positive semi-definite matrix, `(E v)_i² ≤ E_ii · vᵀE v`. Rows drawn at random, all alike, hardly ever
//! meet a small group that no landmark is near, which may be nearly all of the sum. So half of the chance of a row is the same for all, and the
//! other half in proportion to `E_ii = k(x_i, x_i) − ‖f_i‖²`; a row whose chance would be more than one is taken in any case. A square counts as
//! many times as its row's chance goes into one, so that the expected sum is the sum over all rows.
//!
//! What is left of rows is known where pivots have been chosen by it. Otherwise it is computed for a sample of the rows, as large as landmarks are
//! chosen from: over all landmarks, if something rests on an accuracy, and else over every fourth of them, which leave more of every row and cost little.

use faer::Mat;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;

use super::choose::Chosen;
use super::factor::{Factor, SPLIT, smallest_pivot};
use super::pool::pool_size;
use super::random::Random;
use super::residuals::sampled_rows;
use super::sums::ROWS;
use crate::data::{Points, sample_rows};
use crate::error::{Error, Result};
use crate::gram::{Cross, Element, diagonal, square_matrix};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

/// One in so many landmarks says what is left of rows, where nothing rests on it; and at least so many.
const ONE_IN: usize = 4;
const LEAST: usize = 32;

/// Of how many of `m` landmarks it is computed what they leave of rows.
pub(super) fn looked_at(m: usize, is_decisive: bool) -> usize {
    if is_decisive { m } else { (m / ONE_IN).max(LEAST).min(m) }
}

/// Rows, and what landmarks leave of them.
pub(super) struct Left {
    /// Their numbers among the points.
    pub(super) rows: Vec<usize>,
    /// Of the squared length of each.
    pub(super) left: Vec<f64>,
}

/// Rows of the exact matrix that are looked at.
pub(super) struct Probed {
    pub(super) points: Points,
    /// How many rows each of them stands for.
    pub(super) weights: Vec<f64>,
    /// Kernel entries that choosing them took.
    pub(super) entries: u64,
}

/// How rows are chosen.
pub(super) struct Choice<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) precision: Precision,
    pub(super) seed: u64,
    /// Whether a fit counts as converged by what is measured on them.
    pub(super) is_decisive: bool,
    /// All rows, of which the points may be a sample.
    pub(super) n: usize,
}

impl Choice<'_> {
    /// The rows among these points on which residuals over the landmarks are measured.
    ///
    /// # Errors
    ///
    /// If kernel values cannot be computed, or somebody wants to stop.
    pub(super) fn of(&self, points: &Points, chosen: &mut Chosen, context: &Context<'_>) -> Result<Probed> {
        let count = sampled_rows(chosen.points.n_samples());
        if points.n_samples() <= count {
            let weights = vec![self.n as f64 / points.n_samples() as f64; points.n_samples()];
            return Ok(Probed { points: points.clone(), weights, entries: 0 });
        }
        let (known, entries) = match chosen.left.take() {
            Some(known) => (known, 0),
            None => self.left(points, &chosen.points, context)?,
        };
        let all = self.n as f64 / known.rows.len() as f64;
        let (places, weights) = draw(&known.left, count, self.seed);
        let rows: Vec<usize> = places.into_iter().map(|place| known.rows[place]).collect();
        let weights = weights.into_iter().map(|weight| all * weight).collect();
        Ok(Probed { points: points.select(&rows), weights, entries })
    }

    /// What landmarks leave of a sample of the rows, and the kernel entries that it took.
    fn left(&self, points: &Points, landmarks: &Points, context: &Context<'_>) -> Result<(Left, u64)> {
        let m = landmarks.n_samples();
        let count = looked_at(m, self.is_decisive);
        // At equal distances: rows and centres that stand together may be alike.
        let some: Vec<usize> = (0..count).map(|i| i * m / count).collect();
        let some = landmarks.select(&some);
        let rows = sample_rows(points.n_samples(), pool_size(points.n_samples(), m), self.seed.wrapping_add(1));
        let left = match self.precision {
            Precision::F32 => self.left_in::<f32>(points, &rows, &some, context),
            Precision::F64 => self.left_in::<f64>(points, &rows, &some, context),
        };
        let left = match left {
            // The pass over all rows tells of it by its number among all.
            Err(Error::TooLarge { .. }) => vec![0.0; rows.len()],
            left => left?,
        };
        let entries = (count * (count + rows.len())) as u64;
        Ok((Left { rows, left }, entries))
    }

    fn left_in<T: Element>(
        &self,
        points: &Points,
        rows: &[usize],
        landmarks: &Points,
        context: &Context<'_>,
    ) -> Result<Vec<f64>> {
        let square = square_matrix(self.kernel, landmarks, context)?;
        let smallest = smallest_pivot(landmarks.n_samples(), self.precision);
        let factor = context.threads.run(|| Factor::new(square.as_ref(), smallest));
        let (r, lower) = (factor.rank(), factor.lower.as_ref());
        let lower = Mat::<T>::from_fn(r, r, |i, j| T::from_f64(lower[(i, j)]));
        let cross = context.threads.run(|| Cross::<T>::new(&landmarks.select(&factor.kept), self.kernel))?;
        let mut values = Mat::<T>::zeros(r, ROWS.min(rows.len()));
        let mut left = Vec::with_capacity(rows.len());
        for rows in rows.chunks(ROWS) {
            context.check()?;
            let (block, mut features) = (points.select(rows), values.as_mut().subcols_mut(0, rows.len()));
            cross.fill(&block, features.as_mut(), context)?;
            context.threads.run(|| solve_lower_triangular_in_place(lower.as_ref(), features.as_mut(), SPLIT));
            let diagonal = diagonal(self.kernel, &block)?;
            left.extend(diagonal.iter().zip(features.as_ref().col_iter()).map(|(whole, feature)| {
                let explained: f64 = feature.iter().map(|x| x.to_f64().powi(2)).sum();
                whole - explained
            }));
        }
        Ok(left)
    }
}

/// About `count` places, increasing, half of whose chance is in proportion to what is left of them, and how many places each of them stands for.
fn draw(left: &[f64], count: usize, seed: u64) -> (Vec<usize>, Vec<f64>) {
    let chances = chances(left, count);
    let mut random = Random::new(seed);
    // In any order but their own, which may repeat itself as often as rows are taken.
    let mut order: Vec<usize> = (0..left.len()).collect();
    (1..order.len()).for_each(|i| order.swap(i, random.below(i + 1)));
    let (mut sum, mut next) = (0.0, random.uniform());
    let mut places: Vec<usize> = Vec::with_capacity(count);
    for place in order {
        sum += chances[place];
        // No chance is above one, so that no place is passed twice.
        if sum > next {
            places.push(place);
            next += 1.0;
        }
    }
    places.sort_unstable();
    let weights = places.iter().map(|&place| 1.0 / chances[place]).collect();
    (places, weights)
}

/// The chance of every place to be among `count`, which is less than there are.
fn chances(left: &[f64], count: usize) -> Vec<f64> {
    // Rounding may leave less than nothing, and what is no number is told of elsewhere.
    let left: Vec<f64> = left.iter().map(|&left| if left.is_finite() { left.max(0.0) } else { 0.0 }).collect();
    let (even, sum) = (1.0 / left.len() as f64, left.iter().sum::<f64>());
    let of = |left: &f64| if sum > 0.0 && sum.is_finite() { 0.5 * (even + left / sum) } else { even };
    let mut chances: Vec<f64> = left.iter().map(|left| (count as f64 * of(left)).min(1.0)).collect();
    // What is above one is shared by the others until nothing is.
    loop {
        let certain = chances.iter().filter(|&&chance| chance >= 1.0).count();
        let rest: f64 = chances.iter().filter(|&&chance| chance < 1.0).sum();
        let growth = (count.saturating_sub(certain)) as f64 / rest;
        chances.iter_mut().filter(|chance| **chance < 1.0).for_each(|chance| *chance = (*chance * growth).min(1.0));
        if chances.iter().filter(|&&chance| chance >= 1.0).count() == certain {
            return chances;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_sum_over_the_places_drawn_is_that_over_all_on_average() {
        let left: Vec<f64> = (0..300).map(|i| if i % 100 == 7 { 5.0 } else { f64::from(i % 7) * 1e-3 }).collect();
        let values: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i * i % 11) + 40.0 * left[i as usize]).collect();
        let exact: f64 = values.iter().sum();
        let runs = 4000;
        let sums: Vec<f64> = (0..runs)
            .map(|seed| {
                let (places, weights) = draw(&left, 40, seed);
                assert!(places.len() == 40 && places.is_sorted_by(|a, b| a < b));
                // Of these much more is left than of all others together.
                assert!([7, 107, 207].iter().all(|place| places.contains(place)));
                places.iter().zip(&weights).map(|(&place, weight)| weight * values[place]).sum()
            })
            .collect();
        let mean = sums.iter().sum::<f64>() / runs as f64;
        let spread = (sums.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
        // Five standard deviations of the mean.
        assert!((mean - exact).abs() < 5.0 * spread / (runs as f64).sqrt(), "{mean} for {exact}, {spread}");
    }

    #[test]
    fn chances_add_up_to_the_number_of_rows_and_none_is_above_one() {
        let spiked: Vec<f64> = (0..100).map(|i| 10.0_f64.powi(-i)).collect();
        for left in [vec![0.0; 100], vec![1.0; 100], vec![-1.0; 100], vec![f64::NAN; 100], vec![f64::MAX; 100], spiked]
        {
            for count in [1, 50, 99] {
                let chances = chances(&left, count);
                assert!(chances.iter().all(|&chance| chance > 0.0 && chance <= 1.0), "{chances:?}");
                let sum: f64 = chances.iter().sum();
                assert!((sum - count as f64).abs() < 1e-9 * count as f64, "{sum} for {count}");
                assert_eq!(draw(&left, count, 3).0.len(), count);
            }
        }
    }
}
