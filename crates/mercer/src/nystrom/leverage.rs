//! Landmarks by approximate ridge leverage scores.
//!
//! **Cost**: the kernel of the pool's rows with `m` of them, `p m d`, and `p m²` in a triangular solve.
//!
//! # Method
//!
//! The ridge leverage of a row, `(K (K + λ I)⁻¹)_ii`, says how much of it the others cannot tell. With a uniform sample `S` of
//! the rows in the place of all, it is at most
//!
//! ```text
//! (k_ii − k_iS (K_SS + λ I)⁻¹ k_Si) / λ
//! ```
//!
//! (\[MM17\], with one level instead of a recursion). `λ` is what the sample leaves of the trace, over `m`, so that about `m` dimensions
//! stand out of it. Rows are drawn in proportion to that, each at most once.

use faer::Mat;

use super::factor::{Factor, smallest_pivot};
use super::pool::Pool;
use super::random::Random;
use crate::data::sample_rows;
use crate::error::Result;
use crate::watch::Context;

/// Places in the pool of `m` landmarks.
pub(super) fn choose(pool: &Pool, m: usize, seed: u64, context: &Context<'_>) -> Result<Vec<usize>> {
    let mut random = Random::new(seed);
    let scores = leverage(pool, m, seed.wrapping_add(1), context)?;
    Ok(random.draw_different(&scores, m))
}

/// The approximate leverage of every row of the pool.
fn leverage(pool: &Pool, m: usize, seed: u64, context: &Context<'_>) -> Result<Vec<f64>> {
    let sample = sample_rows(pool.len(), m, seed);
    let diagonal = pool.diagonal()?;
    let mut square = pool.square(&sample, context)?;
    let columns = pool.columns(&sample, context)?;
    let cut = smallest_pivot(m, pool.precision);
    let unexplained = |factor: &Factor| -> Vec<f64> {
        let kept = Mat::from_fn(factor.rank(), pool.len(), |i, j| columns[(j, factor.kept[i])]);
        let features = context.threads.run(|| factor.forward(kept));
        let explained = |i: usize| features.col(i).iter().map(|x| x * x).sum::<f64>();
        diagonal.iter().enumerate().map(|(i, whole)| (whole - explained(i)).max(0.0)).collect()
    };
    let plain = context.threads.run(|| Factor::new(square.as_ref(), cut));
    let left: f64 = unexplained(&plain).iter().sum();
    let whole: f64 = diagonal.iter().sum();
    // Where the sample explains everything, every row is as good as any other.
    let ridge = (left / m as f64).max(cut * whole / pool.len() as f64);
    for i in 0..sample.len() {
        square[(i, i)] += ridge;
    }
    context.check()?;
    let ridged = context.threads.run(|| Factor::new(square.as_ref(), cut));
    Ok(unexplained(&ridged).into_iter().map(|value| (value / ridge).min(1.0)).collect())
}
