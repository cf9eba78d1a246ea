//! Which grid: nodes and window, the cheapest that reaches the tolerance.

use std::cmp::Ordering;

use super::GROUP;
use super::axis::{Axis, Extent, fast_sizes, highest_wave};
use super::convolve::Convolution;
use super::window::{MAX_WIDTH, Window, lanes};
use crate::expansion::mixture::Mixture;
use crate::expansion::{MEASURED, Region, costs};

/// A grid of more nodes than this does not pay.
const MAX_NODES: usize = 1 << 25;
/// Nor does one along a line, with fewer pairs of points than this for each node: a node of a Fourier transform takes that much longer than an entry of a
/// tile. Points count as sources and as targets.
const PAIRS_PER_NODE: f64 = 4.0 * 32.0;
/// Nodes along a line that are looked at in any case.
const ALWAYS: f64 = 131_072.0;
/// What waves that are left out may add up to, as a share of the tolerance.
const LEFT_OUT: f64 = 0.01;

/// A grid and its window, before anything is computed on it.
pub(in super::super) struct GridPlan {
    pub(super) window: Window,
    pub(super) axes: Vec<Axis>,
    pub(in super::super) bound: f64,
    /// Nanoseconds of one thread for a product with all vectors.
    pub(in super::super) cost: f64,
}

impl GridPlan {
    /// The cheapest grid for a mixture, to within `tolerance`; `None` if there is none that pays.
    ///
    /// `reach` is the distance beyond which the kernel may be taken for zero, `points` the number of sources and targets, `columns` that of vectors.
    pub(in super::super) fn new(
        mixture: &Mixture,
        region: &Region,
        reach: f64,
        images: f64,
        (points, columns): (f64, f64),
        tolerance: f64,
    ) -> Option<Self> {
        let left = tolerance - images - mixture.error;
        if left <= 0.0 || region.low.len() > 3 {
            return None;
        }
        let plans =
            (3..=MAX_WIDTH).filter_map(|width| Self::of_width(width, mixture, region, reach, (points, columns), left));
        let mut best = plans.min_by(|a, b| a.cost.partial_cmp(&b.cost).unwrap_or(Ordering::Equal))?;
        best.bound += images + mixture.error;
        Some(best)
    }

    fn of_width(
        width: usize,
        mixture: &Mixture,
        region: &Region,
        reach: f64,
        (points, columns): (f64, f64),
        tolerance: f64,
    ) -> Option<Self> {
        let d = region.low.len();
        let narrowest = mixture.narrowest();
        let share = tolerance / d as f64;
        let extents: Vec<Extent> = (0..d)
            .map(|i| Extent { low: region.low[i], high: region.high[i], difference: region.differences[i] })
            .collect();
        let longest = extents.iter().fold(0.0_f64, |longest, extent| longest.max(extent.difference));
        let period = longest + reach;
        let waves = highest_wave(narrowest, period, share);
        // The same density of nodes along all axes, found along the longest: the first that suffices.
        let least = ((2.0 * waves) as usize).max(lanes(width) + 4);
        let along = (points * points / PAIRS_PER_NODE).max(ALWAYS).min(MAX_NODES as f64);
        if least as f64 > along {
            return None;
        }
        let of_size = |n: usize| -> Option<Self> {
            let oversampling = (n as f64 / (2.0 * waves)).clamp(1.05, 3.0);
            let window = Window::new(width, oversampling);
            let density = n as f64 / period;
            // No need to look closer at a grid that is far too large.
            let least: f64 = extents.iter().map(|extent| ((extent.difference + reach) * density).max(1.0)).product();
            if least > MAX_NODES as f64 {
                return None;
            }
            let axes: Option<Vec<Axis>> = extents
                .iter()
                .map(|&extent| {
                    let own = ((extent.difference + reach) * density).ceil() as usize;
                    let least = own.max(((extent.high - extent.low) * density).ceil() as usize + lanes(width) + 3);
                    let nodes = fast_sizes(least).next()?;
                    Axis::new(extent, reach, nodes, &window, narrowest, LEFT_OUT * share)
                })
                .collect();
            let axes = axes?;
            let nodes = axes.iter().map(|axis| axis.n as f64).product::<f64>();
            if nodes > MAX_NODES as f64 {
                return None;
            }
            let bound = error_of(&axes, mixture);
            let cost = costs::grid(nodes, points, columns, d, (width, lanes(width)));
            Some(Self { window, axes, bound, cost })
        };
        // Errors fall with the number of nodes, so that few sizes have to be looked at closely.
        let sizes: Vec<usize> = fast_sizes(least).take_while(|&n| n <= 4 * least + 64 && n as f64 <= along).collect();
        let first = sizes.partition_point(|&n| of_size(n).is_some_and(|plan| plan.bound > tolerance));
        sizes.get(first).and_then(|&n| of_size(n)).filter(|plan| plan.bound <= tolerance)
    }

    /// Nodes of the grid.
    pub(in super::super) fn nodes(&self) -> usize {
        self.axes.iter().map(|axis| axis.n).product()
    }

    /// Bytes for a product with `columns` vectors at a time, beside the points' places.
    pub(in super::super) fn bytes(&self, columns: usize) -> u64 {
        // Slabs, which overlap by less than themselves, and the convolved grids, with a copy of those that errors are measured on; kept
        // waves twice, with their factors.
        let (group, copied) = (columns.clamp(MEASURED, GROUP) as u64, MEASURED as u64);
        self.nodes() as u64 * (24 * group + 8 * copied) + 20 * Convolution::room(&self.axes) as u64
    }
}

/// The error of every entry: a mixture's is the mean of its Gaussians'.
fn error_of(axes: &[Axis], mixture: &Mixture) -> f64 {
    let of = |s: f64| axes.iter().map(|axis| 1.0 + axis.error(s)).product::<f64>() - 1.0;
    mixture.nodes.iter().map(|&(weight, s)| weight * of(s)).sum()
}
