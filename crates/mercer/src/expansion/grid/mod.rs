//! Gaussians of any bandwidth, and mixtures of them, in up to three dimensions: through a regular grid.
//!
//! **Use it** in one to three dimensions: the cost hardly depends on the bandwidth, and not at all on how many points there are near
//! each.
//!
//! **Cost** of a product with `b` vectors: `(sources + targets) · w^d · b` multiply-adds for a window of `w` nodes, and Fourier
//! transforms of a grid whose nodes per axis grow with the extent over the bandwidth. **Memory**: the places of the points, and three
//! grids per vector of a group of eight.
//!
//! # Method
//!
//! `(1)` The vector's values are spread to the nodes of a periodic grid around each point with a window; `(2)` the grid is transformed,
//! each wave multiplied with the kernel's Fourier coefficient over the square of the window's, and transformed back; `(3)` values are
//! gathered at the targets with the same window. The waves of a Gaussian are few: their coefficients fall as fast as the
//! Gaussian itself, so a grid a little finer than they need leaves room for the window's error. Nodes and window are chosen so
//! that the bound of `axis` holds at the least cost. Kernels that fall slowly, or that are wide beside the data, are cut off beyond the largest difference
//! between points instead of being followed to where they vanish ([`Repeat`], `spectrum`).
//!
//! # References
//!
//! - \[PSN04\] D. Potts, G. Steidl, A. Nieslony, "Fast convolution with radial kernels at nonequispaced knots", Numer. Math. 98 (2004)
//!   329-351.

mod axis;
mod convolve;
mod plan;
mod rows;
mod sort;
mod spectrum;
mod spread;
mod window;

use std::sync::Mutex;

use faer::{Mat, MatMut, MatRef};
use rayon::prelude::*;

use self::axis::Axis;
use self::convolve::{Convolution, Waves};
pub(super) use self::plan::{GridPlan, Repeat};
use self::sort::sort;
pub(super) use self::spread::Sorted;
use self::spread::{Shape, gather, merge_plane, spread};
pub(super) use self::window::interpolate;
use self::window::{Window, lanes};
use super::mixture::Mixture;
use super::{Engine, Places};
use crate::data::Points;
use crate::error::Result;
use crate::memory::Buffer;
use crate::simd::Isa;
use crate::watch::Context;

/// Vectors that are worked on at once.
pub(super) const GROUP: usize = 8;
/// Slabs of a grid, as far as they are not narrower than a window: some for each thread, so that none waits for long.
const SLABS: usize = 20;

/// The engine.
pub(super) struct Grid {
    window: Window,
    axes: Vec<Axis>,
    shape: Shape,
    convolution: Convolution,
    isa: Isa,
    room: Mutex<Option<Room>>,
}

/// What products work in. It is kept from one to the next: touching so much memory for the first time takes as long as a good part of
/// a product.
struct Room {
    slabs: Vec<Buffer<f64>>,
    waves: Waves,
    grids: Buffer<f64>,
    /// Values in the order of the points.
    values: Buffer<f64>,
}

impl Default for Room {
    fn default() -> Self {
        let (slabs, waves) = (Vec::new(), Waves::default());
        Self { slabs, waves, grids: Buffer::zeroed(0), values: Buffer::zeroed(0) }
    }
}

impl Grid {
    pub(super) fn new(plan: GridPlan, mixture: &Mixture, context: &Context<'_>) -> Self {
        let GridPlan { window, axes, .. } = plan;
        let d = axes.len();
        let along = |axis: usize| slot(axis, d).map(|i| &axes[i]);
        let nodes = [0, 1, 2].map(|axis| along(axis).map_or(1, |axis| axis.n));
        let touched = [0, 1, 2].map(|axis| along(axis).map_or(1, |_| window.width));
        let slab = window.width.max(nodes[0].div_ceil(SLABS)).min(nodes[0]);
        let shape = Shape { nodes, touched, slab };
        // One table per axis: coefficients of each Gaussian over the square of the window's response.
        let tables: Vec<Vec<Vec<f64>>> = axes
            .iter()
            .map(|axis| {
                let value = |node: usize, k: usize| axis.coefficient(node, k) / axis.response.factor[k].powi(2);
                let of = |node: usize| {
                    (0..axis.n)
                        .map(|k| match k.min(axis.n - k) {
                            wave if wave < axis.waves => value(node, wave),
                            _ => 0.0,
                        })
                        .collect()
                };
                (0..mixture.nodes.len()).map(of).collect()
            })
            .collect();
        // A line of factors along the first axis, at a wave of the second and one of the third; axes that there are not have one wave.
        let line = |waves: [usize; 2], factors: &mut [f64]| {
            for (node, (weight, _)) in mixture.nodes.iter().enumerate() {
                let of = |axis: usize| slot(axis, d).map_or(1.0, |i| tables[i][node][waves[axis - 1]]);
                let across = weight * of(1) * of(2);
                match slot(0, d) {
                    Some(i) => factors.iter_mut().zip(&tables[i][node]).for_each(|(sum, x)| *sum += across * x),
                    None => factors.iter_mut().for_each(|sum| *sum += across),
                }
            }
        };
        let convolution = Convolution::new([0, 1, 2].map(along), line, context);
        Self { window, axes, shape, convolution, isa: Isa::detect(), room: Mutex::new(None) }
    }

    /// Calls `work` with room to work in: that of the last product, if no other product has it.
    fn with_room<R>(&self, work: impl FnOnce(&mut Room) -> Result<R>) -> Result<R> {
        // A thread that panicked has taken its room with it.
        let kept = || self.room.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut room = kept().take().unwrap_or_default();
        let outcome = work(&mut room);
        *kept() = Some(room);
        outcome
    }

    /// Calls `work` with the first vector of each group, the group's convolved grids, and room for values.
    fn for_groups(
        &self,
        sources: &Sorted,
        vectors: MatRef<'_, f64>,
        context: &Context<'_>,
        mut work: impl FnMut(usize, &[&[f64]], &mut Buffer<f64>) -> Result<()>,
    ) -> Result<()> {
        self.with_room(|room| {
            for first in (0..vectors.ncols()).step_by(GROUP) {
                let count = GROUP.min(vectors.ncols() - first);
                let size = count * self.shape.len();
                if room.grids.len() < size {
                    room.grids = Buffer::zeroed(size);
                }
                let (all, own) = (&mut room.grids[..size], (&mut room.slabs, &mut room.waves));
                self.convolve(sources, vectors.subcols(first, count), all, own, context)?;
                let grids: Vec<&[f64]> = all.chunks_exact(self.shape.len()).collect();
                work(first, &grids, &mut room.values)?;
            }
            Ok(())
        })
    }

    /// A group of vectors, from values at sources to convolved grids, one after the other in `grids`.
    fn convolve(
        &self,
        sources: &Sorted,
        vectors: MatRef<'_, f64>,
        grids: &mut [f64],
        (slabs, waves): (&mut Vec<Buffer<f64>>, &mut Waves),
        context: &Context<'_>,
    ) -> Result<()> {
        // Columns of a view may be strided; those of a copy are not.
        let copy;
        let vectors = if vectors.row_stride() == 1 {
            vectors
        } else {
            copy = vectors.to_owned();
            copy.as_ref()
        };
        let columns: Vec<&[f64]> =
            vectors.col_iter().filter_map(|column| Some(column.try_as_col_major()?.as_slice())).collect();
        spread(self.isa, &self.window, self.shape, sources, &columns, slabs, context)?;
        for (vector, grid) in grids.chunks_exact_mut(self.shape.len()).enumerate() {
            let plane = |index: usize, nodes: &mut [f64]| merge_plane(self.shape, slabs, vector, index, nodes);
            self.convolution.run(plane, grid, waves, context)?;
        }
        Ok(())
    }

    /// Values at targets from convolved grids.
    fn gather(
        &self,
        grids: &[&[f64]],
        targets: &Sorted,
        values: &mut Buffer<f64>,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        gather(self.isa, &self.window, self.shape, targets, grids, values, out, context)
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
        let mut all = Mat::zeros(self.shape.len(), vectors.ncols());
        self.for_groups(places.sorted(), vectors, context, |first, grids, _| {
            for (column, grid) in all.as_mut().subcols_mut(first, grids.len()).col_iter_mut().zip(grids) {
                column.iter_mut().zip(*grid).for_each(|(to, from)| *to = *from);
            }
            Ok(())
        })?;
        Ok(all)
    }

    fn evaluate(
        &self,
        coefficients: MatRef<'_, f64>,
        places: &Places,
        mut out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        self.with_room(|room| {
            for first in (0..out.ncols()).step_by(GROUP) {
                let count = GROUP.min(out.ncols() - first);
                let grids: Vec<&[f64]> = coefficients
                    .subcols(first, count)
                    .col_iter()
                    .filter_map(|column| Some(column.try_as_col_major()?.as_slice()))
                    .collect();
                let out = out.as_mut().subcols_mut(first, count);
                self.gather(&grids, places.sorted(), &mut room.values, out, context)?;
            }
            Ok(())
        })
    }

    /// Without a copy of the grids.
    fn apply(
        &self,
        vectors: MatRef<'_, f64>,
        places: &Places,
        mut out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let places = places.sorted();
        self.for_groups(places, vectors, context, |first, grids, values| {
            self.gather(grids, places, values, out.as_mut().subcols_mut(first, grids.len()), context)
        })
    }
}
