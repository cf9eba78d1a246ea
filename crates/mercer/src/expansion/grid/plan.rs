//! Which grid: nodes and window, the cheapest that reaches the tolerance.

use std::sync::Arc;

use super::GROUP;
use super::axis::{Axis, Extent, fast_sizes};
use super::convolve::Convolution;
use super::spectrum::Spectrum;
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

/// How a kernel is made periodic.
#[derive(Clone, Copy, Debug)]
pub(in super::super) enum Repeat {
    /// As it is, with images so far away that it has fallen off.
    AsItIs(f64),
    /// Cut off over this length to either side of the middle between a difference and its image.
    CutOff(f64),
}

impl Repeat {
    /// How far beyond their box targets may lie that are not known.
    pub(in super::super) fn margin(self) -> f64 {
        let (Self::AsItIs(length) | Self::CutOff(length)) = self;
        length
    }

    /// How far away images are along an axis with differences of up to `difference`.
    fn reach(self, difference: f64) -> f64 {
        match self {
            Self::AsItIs(reach) => reach,
            Self::CutOff(length) => difference + 2.0 * length,
        }
    }
}

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
    /// `images` is what images may add to an entry, or what cutting the kernel off may change; `points` the number of sources and targets, `columns`
    /// that of vectors.
    pub(in super::super) fn new(
        mixture: &Mixture,
        region: &Region,
        repeat: Repeat,
        images: f64,
        (points, columns): (f64, f64),
        tolerance: f64,
    ) -> Option<Self> {
        let left = tolerance - images - mixture.error;
        if left <= 0.0 || region.low.len() > 3 {
            return None;
        }
        let d = region.low.len();
        let extents: Vec<Extent> = (0..d)
            .map(|i| {
                let (low, high, difference) = (region.low[i], region.high[i], region.differences[i]);
                Extent { low, high, difference, reach: repeat.reach(difference) }
            })
            .collect();
        let taper = match repeat {
            Repeat::AsItIs(_) => None,
            // Errors of axes add up to half of what is allowed.
            Repeat::CutOff(_) => Some(0.5 * images / d as f64),
        };
        let spectrum = |difference: f64, period: f64| Spectrum::new(&mixture.nodes, period, difference, taper);
        let spectra: Vec<Arc<Spectrum>> =
            extents.iter().map(|extent| Arc::new(spectrum(extent.difference, extent.period()))).collect();
        let mut best: Option<Self> = None;
        for width in 3..=MAX_WIDTH {
            let beaten = best.as_ref().map_or(f64::INFINITY, |best| best.cost);
            let (axes, counts) = ((&extents[..], &spectra[..]), (points, columns));
            let found = Self::of_width(width, mixture, axes, &spectrum, counts, (left, beaten));
            if let Some(found) = found.filter(|found| found.cost < beaten) {
                best = Some(found);
            }
        }
        let mut best = best?;
        best.bound += images + mixture.error;
        Some(best)
    }

    fn of_width(
        width: usize,
        mixture: &Mixture,
        (extents, spectra): (&[Extent], &[Arc<Spectrum>]),
        spectrum: &impl Fn(f64, f64) -> Spectrum,
        (points, columns): (f64, f64),
        (tolerance, beaten): (f64, f64),
    ) -> Option<Self> {
        let d = extents.len();
        let share = tolerance / d as f64;
        let longest = (0..d).max_by(|&a, &b| extents[a].difference.total_cmp(&extents[b].difference))?;
        let (period, waves) = (extents[longest].period(), spectra[longest].highest_wave(share));
        // The same density of nodes along all axes, found along the longest: the first that suffices.
        let least = ((2.0 * waves) as usize).max(lanes(width) + 4);
        let along = (points * points / PAIRS_PER_NODE).max(ALWAYS).min(MAX_NODES as f64);
        if least as f64 > along {
            return None;
        }
        let cost = |nodes: f64| costs::grid(nodes, points, columns, d, (width, lanes(width)));
        // Nor at one that even with the fewest nodes costs more than another.
        let fewest: f64 = extents.iter().map(|extent| (extent.period() * least as f64 / period).max(1.0)).product();
        if cost(fewest) >= beaten {
            return None;
        }
        let of_size = |n: usize| -> Option<Self> {
            let oversampling = (n as f64 / (2.0 * waves)).clamp(1.05, 3.0);
            let window = Window::new(width, oversampling);
            let density = n as f64 / period;
            // No need to look closer at a grid that is far too large.
            let least: f64 = extents.iter().map(|extent| (extent.period() * density).max(1.0)).product();
            if least > MAX_NODES as f64 {
                return None;
            }
            let axes: Option<Vec<Axis>> = extents
                .iter()
                .zip(spectra)
                .map(|(&extent, least_spectrum)| {
                    let own = (extent.period() * density).ceil() as usize;
                    let least = own.max(((extent.high - extent.low) * density).ceil() as usize + lanes(width) + 3);
                    let nodes = fast_sizes(least).next()?;
                    let of_period = |period: f64| spectrum(extent.difference, period);
                    Axis::new(extent, nodes, &window, least_spectrum, of_period, LEFT_OUT * share)
                })
                .collect();
            let axes = axes?;
            let nodes = axes.iter().map(|axis| axis.n as f64).product::<f64>();
            if nodes > MAX_NODES as f64 {
                return None;
            }
            let bound = error_of(&axes, mixture);
            let waves = 0.5 * Convolution::room(&axes) as f64;
            let cost = cost(nodes) + costs::factors(waves, mixture.nodes.len());
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
    let of = |node: usize| axes.iter().map(|axis| 1.0 + axis.error(node)).product::<f64>() - 1.0;
    mixture.nodes.iter().enumerate().map(|(node, (weight, _))| weight * of(node)).sum()
}
