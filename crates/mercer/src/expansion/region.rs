//! Where points lie.

use super::Targets;
use crate::data::{Points, sample_rows};

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
        let (low, high) = corners(points);
        let d = low.len();
        let own = |i: usize| high[i] - low[i];
        match targets {
            Targets::Sources => {
                let differences = (0..d).map(own).collect();
                Self { low, high, differences }
            }
            Targets::Any => {
                let differences = (0..d).map(|i| own(i) + reach).collect();
                let (low, high) = (low.iter().map(|x| x - reach).collect(), high.iter().map(|x| x + reach).collect());
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

/// The smallest and largest coordinates.
pub(super) fn corners(points: &Points) -> (Vec<f64>, Vec<f64>) {
    let d = points.n_features();
    let (mut low, mut high) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
    for first in (0..points.n_samples()).step_by(4096) {
        let end = points.n_samples().min(first + 4096);
        for x in points.rows(first..end).to_f64().chunks_exact(d) {
            for (i, &x) in x.iter().enumerate() {
                low[i] = low[i].min(x);
                high[i] = high[i].max(x);
            }
        }
    }
    if points.n_samples() == 0 { (vec![0.0; d], vec![0.0; d]) } else { (low, high) }
}

/// The largest distance of a point from a centre.
pub(super) fn radius(points: &Points, center: &[f64]) -> f64 {
    let mut largest = 0.0_f64;
    for first in (0..points.n_samples()).step_by(4096) {
        let end = points.n_samples().min(first + 4096);
        for x in points.rows(first..end).to_f64().chunks_exact(center.len()) {
            largest = largest.max(squared_distance(x, center));
        }
    }
    largest.sqrt()
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
