//! Randomly pivoted Cholesky, in blocks and accelerated by rejection.
//!
//! **Cost**: the kernel of the pool's rows with the landmarks, `p m d`, and `p m²` in matrix products, both in the precision of the points.
//! **Memory**: `p m` numbers.
//!
//! # Method
//!
//! A landmark is drawn with a chance in proportion to the diagonal of what the earlier ones leave of the matrix. Drawn one by one that is
//! a matrix-vector product each. Instead a block is drawn from the present diagonal, and gone through in order: the row that was drawn is
//! taken with the ratio of what is left of it now, after those taken from the same block, to what was left when it was drawn. That gives landmarks
//! with exactly the chances of one-by-one drawing (\[ETW24\]), and everything but a matrix of the block's order is products.
//!
//! # Numerics
//!
//! What is left of a row is a difference of numbers that are rounded in the precision of the points, and rounding is all it is once it falls below
//! [`ROUNDING`] units of it. Chances need no more digits than that. The matrix of a block is in double precision.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat};

use super::factor::{Factor, SPLIT};
use super::pool::Pool;
use super::random::{Random, fill_up};
use crate::error::Result;
use crate::gram::Element;
use crate::scalar::Precision;
use crate::watch::Context;

/// Rows drawn at a time: enough for products, few enough that most are taken.
const BLOCK: std::ops::RangeInclusive<usize> = 8..=128;
/// Blocks in a row of which nothing was taken, after which what is left is rounding.
const PATIENCE: usize = 4;
/// What is left is rounding when it is below this many units of rounding of the whole.
const ROUNDING: f64 = 16.0;

/// Places in the pool of `m` landmarks, and what they leave of every row of it; if the rows have fewer dimensions than that in feature space, the
/// others are drawn uniformly.
pub(super) fn choose(pool: &Pool, m: usize, seed: u64, context: &Context<'_>) -> Result<(Vec<usize>, Vec<f64>)> {
    match pool.precision {
        Precision::F32 => choose_in::<f32>(pool, m, seed, context),
        Precision::F64 => choose_in::<f64>(pool, m, seed, context),
    }
}

fn choose_in<T: Element>(pool: &Pool, m: usize, seed: u64, context: &Context<'_>) -> Result<(Vec<usize>, Vec<f64>)> {
    let n = pool.len();
    let mut random = Random::new(seed);
    let mut left: Vec<f64> = pool.diagonal()?.into_iter().map(|value| value.max(0.0)).collect();
    let rounding = ROUNDING * pool.precision.epsilon() * left.iter().sum::<f64>();
    let mut factor = Mat::<T>::zeros(n, m);
    let mut chosen: Vec<usize> = Vec::with_capacity(m);
    let mut fruitless = 0;
    while chosen.len() < m && fruitless < PATIENCE && left.iter().sum::<f64>() > rounding {
        context.check()?;
        context.report_fraction(chosen.len() as f64 / m as f64);
        let k = chosen.len();
        let size = (m / 10).clamp(*BLOCK.start(), *BLOCK.end());
        let proposals = random.draw(&left, size);
        let mut different = proposals.clone();
        different.sort_unstable();
        different.dedup();
        // What earlier landmarks leave of the block.
        let mut block = pool.square(&different, context)?;
        let known = factor.subcols(0, k);
        let rows = Mat::from_fn(different.len(), k, |i, j| known[(different[i], j)].to_f64());
        context.threads.run(|| matmul(block.as_mut(), Accum::Add, rows.as_ref(), rows.transpose(), -1.0, SPLIT));
        let taken = take(&block, &proposals, &different, &left, m - k, &mut random);
        let inner = Mat::from_fn(taken.len(), taken.len(), |i, j| block[(taken[i], taken[j])]);
        // A row may be rounding of the others all the same; it is then not taken.
        let inner = context.threads.run(|| Factor::new(inner.as_ref(), pool.precision.epsilon()));
        let taken: Vec<usize> = inner.kept.iter().map(|&place| different[taken[place]]).collect();
        fruitless = if taken.is_empty() { fruitless + 1 } else { 0 };
        if taken.is_empty() {
            continue;
        }
        let entries = pool.columns(&taken, context)?;
        let mut columns = Mat::<T>::from_fn(n, taken.len(), |i, j| T::from_f64(entries[(i, j)]));
        let rows = Mat::from_fn(taken.len(), k, |i, j| known[(taken[i], j)]);
        let lower = inner.lower.as_ref();
        let lower = Mat::<T>::from_fn(taken.len(), taken.len(), |i, j| T::from_f64(lower[(i, j)]));
        context.threads.run(|| {
            matmul(columns.as_mut(), Accum::Add, known, rows.transpose(), T::from_f64(-1.0), SPLIT);
            solve_lower_triangular_in_place(lower.as_ref(), columns.as_mut().transpose_mut(), SPLIT);
        });
        for column in columns.col_iter() {
            left.iter_mut().zip(column.iter()).for_each(|(left, x)| *left -= x.to_f64().powi(2));
        }
        for left in &mut left {
            *left = left.max(0.0);
        }
        for &place in &taken {
            left[place] = 0.0;
        }
        factor.as_mut().subcols_mut(k, taken.len()).copy_from(&columns);
        chosen.extend(taken);
    }
    Ok((fill_up(chosen, n, m, &mut random), left))
}

/// Which of the different rows of a block are taken, at most `most`, in the order they were drawn.
fn take(
    block: &Mat<f64>,
    proposals: &[usize],
    different: &[usize],
    drawn_with: &[f64],
    most: usize,
    random: &mut Random,
) -> Vec<usize> {
    let mut rest = block.clone();
    let mut taken = Vec::new();
    for proposal in proposals {
        let place = different.binary_search(proposal).expect("every proposal is among the different ones");
        let chance = random.uniform() * drawn_with[*proposal];
        let pivot = rest[(place, place)];
        if taken.len() == most || taken.contains(&place) || pivot <= chance {
            continue;
        }
        let root = pivot.sqrt();
        let column: Vec<f64> = rest.col(place).iter().map(|x| x / root).collect();
        for (j, factor) in column.iter().enumerate() {
            rest.col_mut(j).iter_mut().zip(&column).for_each(|(x, l)| *x -= factor * l);
        }
        taken.push(place);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Points;
    use crate::kernel::Kernel;
    use crate::watch::{Phase, Threads, Watch};

    /// Pairs of landmarks come with the chances of drawing them one after the other, whatever is rejected on the way.
    #[test]
    fn pairs_have_the_chances_of_drawing_one_by_one() {
        let values = vec![1.0, 0.0, 0.9, 0.3, -0.2, 1.1, 1.4, 0.2, 0.1, 0.1];
        let points = Points::from_f64(values, 5, 2).expect("five points");
        let (threads, watch) = (Threads::new(1).expect("a thread"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        let pool = Pool::new(&points, &Kernel::linear(), Precision::F64, 5, 0, &context).expect("five points");
        let k = |i: usize, j: usize| -> f64 { points.row(i).iter().zip(points.row(j)).map(|(a, b)| a * b).sum() };
        let total: f64 = (0..5).map(|i| k(i, i)).sum();
        let runs = 6000;
        let mut counts = [[0_u32; 5]; 5];
        for seed in 0..runs {
            let (chosen, _) = choose(&pool, 2, seed, &context).expect("finite");
            counts[chosen[0]][chosen[1]] += 1;
        }
        for (i, row) in counts.iter().enumerate() {
            let left = |j: usize| k(j, j) - k(i, j).powi(2) / k(i, i);
            let rest: f64 = (0..5).filter(|&j| j != i).map(left).sum();
            for j in (0..5).filter(|&j| j != i) {
                let chance = k(i, i) / total * left(j) / rest;
                let (expected, found) = (chance * runs as f64, f64::from(row[j]));
                // Five standard deviations.
                let allowed = 5.0 * (expected * (1.0 - chance)).sqrt() + 1e-9;
                assert!((found - expected).abs() < allowed, "{i} then {j}: {found} times, expected {expected:.1}");
            }
        }
    }

    #[test]
    fn points_of_two_dimensions_are_filled_up_with_others() {
        let points = Points::from_f64((0..40).map(f64::from).collect::<Vec<_>>(), 20, 2).expect("twenty points");
        let (threads, watch) = (Threads::new(1).expect("a thread"), Watch::new());
        let context = Context::new(&threads, &watch, Phase::Starting);
        let pool = Pool::new(&points, &Kernel::linear(), Precision::F64, 20, 0, &context).expect("twenty points");
        let (mut chosen, left) = choose(&pool, 7, 1, &context).expect("finite");
        assert!(left.iter().all(|&left| left < 1e-9), "two landmarks know all of every row: {left:?}");
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 7);
    }
}
