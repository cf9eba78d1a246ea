//! Where points lie.

use rayon::prelude::*;

use super::Targets;
use crate::data::{Points, sample_rows};
use crate::watch::is_on_a_pool;

/// A box that holds sources and targets.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
    /// The largest difference between a source and a target along each axis.
    pub(super) differences: Vec<f64>,
}

/// Which targets an engine can answer for.
#[derive(Clone, Debug)]
pub(super) enum Cover {
    /// All.
    Everything,
    /// Those in a box.
    Box {
        /// Its corners.
        low: Vec<f64>,
        high: Vec<f64>,
    },
    /// Those within a distance of a centre.
    Ball {
        /// The centre.
        center: Vec<f64>,
        radius: f64,
    },
}

impl Region {
    /// The box of sources and targets; targets that are not known lie within `reach` of the sources' box.
    pub(super) fn new(points: &Points, targets: Targets<'_>, reach: f64) -> Self {
        Self::near(points, targets).widened(targets, reach)
    }

    /// The same box, where targets that are not known lie within `reach` more of it.
    pub(super) fn widened(mut self, targets: Targets<'_>, reach: f64) -> Self {
        if let Targets::Any = targets {
            self.differences.iter_mut().for_each(|difference| *difference += reach);
            self.low.iter_mut().for_each(|low| *low -= reach);
            self.high.iter_mut().for_each(|high| *high += reach);
        }
        self
    }

    /// The box of sources and targets, where those that are not known lie among the sources.
    fn near(points: &Points, targets: Targets<'_>) -> Self {
        let (low, high) = corners(points);
        let d = low.len();
        let own = |i: usize| high[i] - low[i];
        match targets {
            Targets::Sources | Targets::Any => {
                let differences = (0..d).map(own).collect();
                Self { low, high, differences }
            }
            Targets::Known(queries) => {
                let (from, to) = corners(queries);
                let differences = (0..d).map(|i| (to[i] - low[i]).max(high[i] - from[i]).max(own(i))).collect();
                let low = low.iter().zip(&from).map(|(a, b)| a.min(*b)).collect();
                let high = high.iter().zip(&to).map(|(a, b)| a.max(*b)).collect();
                Self { low, high, differences }
            }
        }
    }

    /// The middle of the box.
    pub(super) fn center(&self) -> Vec<f64> {
        self.low.iter().zip(&self.high).map(|(low, high)| 0.5 * low + 0.5 * high).collect()
    }
}

/// Something found of each block of rows, made one; on all threads of the pool that this thread belongs to, if there is one. For what does not
/// depend on the order of the blocks.
fn over_blocks<R: Send>(
    points: &Points,
    of_block: impl Fn(&[f64]) -> R + Sync,
    both: impl Fn(R, R) -> R + Sync + Send,
) -> Option<R> {
    /// Numbers of a block: in double precision within the first levels of cache, and little enough that its memory is used again.
    const AT_ONCE: usize = 1 << 13;
    let (n, rows) = (points.n_samples(), (AT_ONCE / points.n_features()).max(1));
    let of = |block: usize| of_block(&points.rows(block * rows..n.min((block + 1) * rows)).to_f64());
    let blocks = 0..n.div_ceil(rows);
    if is_on_a_pool() { blocks.into_par_iter().map(of).reduce_with(both) } else { blocks.map(of).reduce(both) }
}

/// The smallest and largest coordinates.
pub(super) fn corners(points: &Points) -> (Vec<f64>, Vec<f64>) {
    let d = points.n_features();
    let of_block = |values: &[f64]| {
        let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        for x in values.chunks_exact(d) {
            low.iter_mut().zip(x).for_each(|(low, &x)| *low = low.min(x));
            high.iter_mut().zip(x).for_each(|(high, &x)| *high = high.max(x));
        }
        (low, high)
    };
    let both = |(mut low, mut high): (Vec<f64>, Vec<f64>), other: (Vec<f64>, Vec<f64>)| {
        low.iter_mut().zip(other.0).for_each(|(low, x)| *low = low.min(x));
        high.iter_mut().zip(other.1).for_each(|(high, x)| *high = high.max(x));
        (low, high)
    };
    over_blocks(points, of_block, both).unwrap_or_else(|| (vec![0.0; d], vec![0.0; d]))
}

/// The largest distance of a point from a centre.
pub(super) fn radius(points: &Points, center: &[f64]) -> f64 {
    let of_block =
        |values: &[f64]| values.chunks_exact(center.len()).map(|x| squared_distance(x, center)).fold(0.0, f64::max);
    over_blocks(points, of_block, f64::max).unwrap_or(0.0).sqrt()
}

/// A distance that some point has at least from any centre, from a few of them: half of the largest to one of them.
pub(super) fn least_radius(points: &Points) -> f64 {
    const FEW: usize = 256;
    let rows = sample_rows(points.n_samples(), FEW, 0);
    let Some((&first, others)) = rows.split_first() else { return 0.0 };
    let first = points.row(first);
    let squares = others.iter().map(|&row| squared_distance(&points.row(row), &first));
    0.5 * squares.fold(0.0, f64::max).sqrt()
}

pub(super) fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    /// Sums that do not wait for one another.
    const CHAINS: usize = 8;
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<CHAINS>(), y.as_chunks::<CHAINS>());
    let mut sums = [0.0; CHAINS];
    for (x, y) in x.iter().zip(y) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += (x - y) * (x - y);
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    sums.iter().sum::<f64>() + rest
}

impl Cover {
    /// The rows of points that are not covered.
    pub(super) fn outside(&self, points: &Points) -> Vec<usize> {
        let is_inside = |x: &[f64]| match self {
            Self::Everything => true,
            Self::Box { low, high } => x.iter().zip(low).zip(high).all(|((x, low), high)| x >= low && x <= high),
            // Rounding of the radius itself must not put a source outside.
            Self::Ball { center, radius } => squared_distance(x, center) <= radius * radius * (1.0 + 1e-12),
        };
        if matches!(self, Self::Everything) {
            return Vec::new();
        }
        (0..points.n_samples()).filter(|&row| !is_inside(&points.row(row))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Threads;

    #[test]
    fn blocks_of_rows_on_any_threads_have_the_same_corners_and_radius() {
        let (n, d) = (5000, 3);
        let mut values: Vec<f32> = (0..n * d).map(|i| (i as f32).sin()).collect();
        // The outermost of all, in the first block, within one, and in the last.
        (values[1], values[6000], values[n * d - 1]) = (7.0, -3.0, 5.0);
        let points = Points::from_f32(values, n, d).expect("threes");
        let (low, high) = corners(&points);
        assert!(low[0] <= -3.0 && high[1] >= 7.0 && high[2] >= 5.0 && low[1] > -1.1, "{low:?} {high:?}");
        let center = [0.0, 6.0, 0.0];
        let slow = (0..n).map(|row| squared_distance(&points.row(row), &center)).fold(0.0, f64::max).sqrt();
        let threads = Threads::new(3).expect("three threads");
        assert_eq!(threads.run(|| corners(&points)), (low, high));
        assert_eq!(
            [radius(&points, &center), threads.run(|| radius(&points, &center))].map(f64::to_bits),
            [slow.to_bits(); 2]
        );
        let none = Points::from_f64(Vec::<f64>::new(), 0, 2).expect("no rows");
        assert_eq!((corners(&none), radius(&none, &[0.0; 2]).to_bits()), ((vec![0.0; 2], vec![0.0; 2]), 0));
    }
}
