//! First centres, as in k-means++.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

use super::distance::Rows;
use crate::error::{Error, Result};
use crate::watch::Context;

/// `k` rows, each drawn with a chance in proportion to its squared distance from the nearest one before it: of `2 + ln k` such
/// candidates, the one that leaves the smallest sum of squared distances.
pub(super) fn centers(rows: &Rows, k: usize, random: &mut ChaCha8Rng, context: &Context<'_>) -> Result<Vec<Vec<f64>>> {
    let candidates = 2 + (k as f64).ln() as usize;
    let first = ((uniform(random) * rows.n as f64) as usize).min(rows.n - 1);
    let mut chosen = vec![rows.row(first)];
    let mut least = vec![f64::INFINITY; rows.n];
    let mut total = nearer(rows, &chosen[0], &mut least, context);
    while chosen.len() < k {
        context.check()?;
        if total <= 0.0 {
            // Every row is one of those chosen, which differ.
            return Err(Error::TooFewDistinct { needed: k, found: chosen.len() });
        }
        let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        for _ in 0..candidates {
            let candidate = rows.row(draw(&least, total, random));
            let mut distances = least.clone();
            let sum = nearer(rows, &candidate, &mut distances, context);
            if best.as_ref().is_none_or(|(least, ..)| sum < *least) {
                best = Some((sum, candidate, distances));
            }
        }
        let (sum, candidate, distances) = best.expect("there are at least two candidates");
        (total, least) = (sum, distances);
        chosen.push(candidate);
    }
    Ok(chosen)
}

/// Makes `least` the squared distance to `point` where that is nearer, and returns the sum.
fn nearer(rows: &Rows, point: &[f64], least: &mut Vec<f64>, context: &Context<'_>) -> f64 {
    let before = &*least;
    let chunks = rows.by_chunks(context.threads, |chunk| {
        let mut distances = vec![0.0; chunk.len()];
        rows.squared_distances(&chunk, point, &mut distances);
        distances.iter_mut().zip(&before[chunk]).for_each(|(distance, &before)| *distance = distance.min(before));
        distances
    });
    let total = chunks.iter().map(|chunk| chunk.iter().sum::<f64>()).sum();
    *least = chunks.concat();
    total
}

/// A row, drawn with a chance in proportion to its weight.
fn draw(weights: &[f64], total: f64, random: &mut ChaCha8Rng) -> usize {
    let mut left = uniform(random) * total;
    let mut last = 0;
    for (row, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = row;
        if left < weight {
            break;
        }
        left -= weight;
    }
    // Rounding may leave a rest after the last row.
    last
}

/// A number from 0 to below 1.
fn uniform(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * 0.5_f64.powi(53)
}
