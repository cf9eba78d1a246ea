//! Gaussians of any bandwidth, and mixtures of them, in up to three dimensions: through a regular grid.
//!
//! **Use it** in one to three dimensions: the cost hardly depends on the bandwidth, and not at all on how many points there are near
//! each.
//!
//! **Cost** of a product with `b` vectors: `(sources + targets) · w^d · b` multiply-adds for a window of `w` nodes, and Fourier
//! transforms of a grid whose nodes per axis grow with the extent over the bandwidth. **Memory**: the places of the points, and up to
//! ten grids per vector of a group of eight.
//!
//! # Method
//!
//! `(1)` The vector's values are spread to the nodes of a periodic grid around each point with a window; `(2)` the grid is transformed,
//! each wave multiplied with the kernel's Fourier coefficient over the square of the window's, and transformed back; `(3)` values are
//! gathered at the targets with the same window. The waves of a Gaussian are few: their coefficients fall as fast as the
//! Gaussian itself, so a grid a little finer than they need leaves room for the window's error. Nodes and window are chosen so
//! that the bound of `axis` holds at the least cost.
//!
//! # References
//!
//! - \[PSN04\] D. Potts, G. Steidl, A. Nieslony, "Fast convolution with radial kernels at nonequispaced knots", Numer. Math. 98 (2004)
//!   329-351.

mod axis;
mod convolve;
mod spread;
mod window;

use std::cmp::Ordering;

use faer::{Mat, MatMut, MatRef};
use rayon::prelude::*;

use self::axis::{Axis, Extent, fast_sizes, highest_wave};
use self::convolve::Convolution;
pub(super) use self::spread::Sorted;
use self::spread::{Shape, gather, merge_plane, spread};
pub(super) use self::window::interpolate;
use self::window::{MAX_WIDTH, Window, lanes};
use super::mixture::Mixture;
use super::{Engine, Places, Region};
use crate::data::Points;
use crate::error::Result;
use crate::memory::Buffer;
use crate::simd::Isa;
use crate::watch::Context;

/// Vectors that are worked on at once.
const GROUP: usize = 8;
/// A grid of more nodes than this does not pay.
const MAX_NODES: usize = 1 << 25;
/// Multiply-adds that a node costs in the transforms of one vector, with its reading and writing.
const NODE_COST: f64 = 60.0;

/// A grid and its window, before anything is computed on it.
pub(super) struct GridPlan {
    window: Window,
    axes: Vec<Axis>,
    pub(super) bound: f64,
    /// Multiply-adds of a product with one vector.
    pub(super) cost: f64,
}

impl GridPlan {
    /// The cheapest grid for a mixture, to within `tolerance`; `None` if there is none that pays.
    ///
    /// `reach` is the distance beyond which the kernel may be taken for zero, `points` the number of sources and targets.
    pub(super) fn new(
        mixture: &Mixture,
        region: &Region,
        reach: f64,
        images: f64,
        points: f64,
        tolerance: f64,
    ) -> Option<Self> {
        let left = tolerance - images - mixture.error;
        if left <= 0.0 || region.low.len() > 3 {
            return None;
        }
        let plans = (3..=MAX_WIDTH).filter_map(|width| Self::of_width(width, mixture, region, reach, points, left));
        let mut best = plans.min_by(|a, b| a.cost.partial_cmp(&b.cost).unwrap_or(Ordering::Equal))?;
        best.bound += images + mixture.error;
        Some(best)
    }

    fn of_width(
        width: usize,
        mixture: &Mixture,
        region: &Region,
        reach: f64,
        points: f64,
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
        for n in fast_sizes(least).take_while(|&n| n <= 4 * least + 64) {
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
                    Axis::new(extent, reach, nodes, &window, narrowest)
                })
                .collect();
            let axes = axes?;
            if axes.iter().map(|axis| axis.n as f64).product::<f64>() > MAX_NODES as f64 {
                return None;
            }
            let bound = error_of(&axes, mixture);
            if bound <= tolerance {
                let nodes: f64 = axes.iter().map(|axis| axis.n as f64).product();
                let rows = (width as f64).powi(d as i32 - 1);
                // Loads and stores count as much as the multiply-adds between them.
                let per_point = 3.0 * rows * lanes(width) as f64 + (4 * d * lanes(width) * (width + 6)) as f64;
                let waves = nodes.log2().max(1.0) / 20.0;
                return Some(Self { window, axes, bound, cost: points * per_point + NODE_COST * nodes * waves });
            }
        }
        None
    }

    /// Nodes of the grid.
    pub(super) fn nodes(&self) -> usize {
        self.axes.iter().map(|axis| axis.n).product()
    }

    /// Bytes for a product with `columns` vectors at a time, beside the points' places.
    pub(super) fn bytes(&self, columns: usize) -> u64 {
        // Slabs overlap by a window; two complex grids; the convolved grids; the factors.
        self.nodes() as u64 * (24 * columns.min(GROUP) as u64 + 40)
    }
}

/// The error of every entry: a mixture's is the mean of its Gaussians'.
fn error_of(axes: &[Axis], mixture: &Mixture) -> f64 {
    let of = |s: f64| axes.iter().map(|axis| 1.0 + axis.error(s)).product::<f64>() - 1.0;
    mixture.nodes.iter().map(|&(weight, s)| weight * of(s)).sum()
}

/// The engine.
pub(super) struct Grid {
    window: Window,
    axes: Vec<Axis>,
    shape: Shape,
    convolution: Convolution,
    isa: Isa,
}

impl Grid {
    pub(super) fn new(plan: GridPlan, mixture: &Mixture, context: &Context<'_>) -> Self {
        let GridPlan { window, axes, .. } = plan;
        let d = axes.len();
        let along = |axis: usize| slot(axis, d).map(|i| &axes[i]);
        let nodes = [0, 1, 2].map(|axis| along(axis).map_or(1, |axis| axis.n));
        let touched = [0, 1, 2].map(|axis| along(axis).map_or(1, |_| window.width));
        let slab = window.width.max(nodes[0].div_ceil(32)).min(nodes[0]);
        let shape = Shape { nodes, touched, slab };
        // One table per axis: coefficients of each Gaussian over the square of the window's response.
        let tables: Vec<Vec<Vec<f64>>> = axes
            .iter()
            .map(|axis| {
                let value = |s: f64, k: usize| axis.coefficient(s, k) / axis.response.factor[k].powi(2);
                let of = |s: f64| {
                    (0..axis.n)
                        .map(|k| match k.min(axis.n - k) {
                            highest if 2 * highest == axis.n => 0.0,
                            wave => value(s, wave),
                        })
                        .collect()
                };
                mixture.nodes.iter().map(|&(_, s)| of(s)).collect()
            })
            .collect();
        let factor = |k: [usize; 3]| {
            let of =
                |node: usize| (0..3).filter_map(|axis| Some(tables[slot(axis, d)?][node][k[axis]])).product::<f64>();
            mixture.nodes.iter().enumerate().map(|(node, (weight, _))| weight * of(node)).sum()
        };
        let convolution = Convolution::new(nodes, factor, context);
        Self { window, axes, shape, convolution, isa: Isa::detect() }
    }

    /// A group of columns, from values at sources to convolved grids.
    fn compress_group(
        &self,
        sources: &Sorted,
        vectors: MatRef<'_, f64>,
        mut grids: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let buffers = spread(self.isa, &self.window, self.shape, sources, vectors, context)?;
        for pair in (0..vectors.ncols()).step_by(2) {
            let count = 2.min(vectors.ncols() - pair);
            self.convolve_pair(&buffers, pair, grids.as_mut().subcols_mut(pair, count), context)?;
        }
        Ok(())
    }

    fn convolve_pair(
        &self,
        buffers: &[Buffer<f64>],
        pair: usize,
        grids: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let shape = self.shape;
        let count = grids.ncols();
        let plane = |index: usize, nodes: &mut [rustfft::num_complex::Complex64]| {
            let mut part = vec![0.0; nodes.len()];
            merge_plane(shape, buffers, pair, index, &mut part);
            nodes.iter_mut().zip(&part).for_each(|(node, part)| node.re = *part);
            if count > 1 {
                merge_plane(shape, buffers, pair + 1, index, &mut part);
                nodes.iter_mut().zip(&part).for_each(|(node, part)| node.im = *part);
            }
        };
        let (first, second) = grids.split_at_col_mut(1);
        let first = first.col_mut(0).try_as_col_major_mut().expect("columns of a matrix are contiguous").as_slice_mut();
        let mut second = second;
        let second = (count > 1).then(|| {
            second
                .as_mut()
                .col_mut(0)
                .try_as_col_major_mut()
                .expect("columns of a matrix are contiguous")
                .as_slice_mut()
        });
        self.convolution.run(plane, first, second, context)
    }
}

/// Which axis of the points lies along an axis of the grid: the last one innermost, the first one outermost.
fn slot(axis: usize, d: usize) -> Option<usize> {
    match (d, axis) {
        (1, 2) | (2 | 3, 0) => Some(0),
        (2, 2) | (3, 1) => Some(1),
        (3, 2) => Some(2),
        _ => None,
    }
}

impl Engine for Grid {
    /// The points in the order of their cells.
    fn place(&self, points: &Points, context: &Context<'_>) -> Places {
        let (n, d) = (points.n_samples(), points.n_features());
        let width = self.window.width as f64;
        let mut places = vec![[0.0; 3]; n];
        context.threads.run(|| {
            places.par_chunks_mut(8192).enumerate().for_each(|(chunk, places)| {
                let first = chunk * 8192;
                let x = points.rows(first..first + places.len()).to_f64();
                for (place, x) in places.iter_mut().zip(x.chunks_exact(d)) {
                    for (axis, place) in place.iter_mut().enumerate() {
                        if let Some(i) = slot(axis, d) {
                            // Rounding must not carry a point at the border out of the grid.
                            let highest = (self.axes[i].n - lanes(self.window.width)) as f64 + 0.5 * width - 1.0;
                            *place = self.axes[i].place(x[i]).clamp(0.5 * width, highest);
                        }
                    }
                }
            });
        });
        Places::Sorted(sort(&places, self.shape, self.window.width))
    }

    fn compress(&self, places: &Places, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut grids = Mat::zeros(self.shape.len(), vectors.ncols());
        for first in (0..vectors.ncols()).step_by(GROUP) {
            let count = GROUP.min(vectors.ncols() - first);
            // Columns of a view may be strided; a copy of the group is not.
            let group = vectors.subcols(first, count).to_owned();
            let out = grids.as_mut().subcols_mut(first, count);
            self.compress_group(places.sorted(), group.as_ref(), out, context)?;
        }
        Ok(grids)
    }

    fn evaluate(
        &self,
        coefficients: MatRef<'_, f64>,
        places: &Places,
        mut out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        for first in (0..out.ncols()).step_by(GROUP) {
            let count = GROUP.min(out.ncols() - first);
            let grids = coefficients.subcols(first, count);
            let out = out.as_mut().subcols_mut(first, count);
            gather(self.isa, &self.window, self.shape, places.sorted(), grids, out, context)?;
        }
        Ok(())
    }
}

/// Points by plane and row of their first nodes: a counting sort.
fn sort(places: &[[f64; 3]], shape: Shape, width: usize) -> Sorted {
    let cell = |place: f64, touched: usize| {
        if touched > 1 { (place - 0.5 * width as f64).ceil() as usize } else { 0 }
    };
    let key = |place: &[f64; 3]| cell(place[0], shape.touched[0]) * shape.nodes[1] + cell(place[1], shape.touched[1]);
    let mut starts = vec![0_u32; shape.nodes[0] * shape.nodes[1] + 1];
    for place in places {
        starts[key(place) + 1] += 1;
    }
    for i in 1..starts.len() {
        starts[i] += starts[i - 1];
    }
    let slabs = (0..=shape.n_slabs())
        .map(|slab| starts[(slab * shape.slab).min(shape.nodes[0]) * shape.nodes[1]] as usize)
        .collect();
    let mut order = vec![0; places.len()];
    let mut next = starts;
    for (row, place) in places.iter().enumerate() {
        let at = &mut next[key(place)];
        order[*at as usize] = row as u32;
        *at += 1;
    }
    let places = order.iter().map(|&row| places[row as usize]).collect();
    let mut ranks = vec![0; order.len()];
    for (rank, &row) in order.iter().enumerate() {
        ranks[row as usize] = rank as u32;
    }
    Sorted { places, order, ranks, slabs }
}
