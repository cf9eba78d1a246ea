//! From points to the nodes of a grid, and back.
//!
//! # Method
//!
//! Points are sorted by the plane and row of nodes that their windows begin in, so that one point's nodes are in the cache from the
//! last one's. Planes are cut into slabs whose number depends on the grid only. A slab's points are spread by one thread into a
//! buffer of its own that reaches a window's width beyond the slab, and the buffers are added up in order: results do not depend on
//! the number of threads. Gathering only reads, so it needs no such care.

use faer::MatMut;
use rayon::prelude::*;

use super::rows::{Gather, Spread};
use super::window::Window;
use crate::error::{Error, Result};
use crate::memory::Buffer;
use crate::simd::Isa;
use crate::watch::Context;

/// Points that are spread or gathered before somebody looks whether to go on.
const CHUNK: usize = 4096;

/// Points in the order of their first nodes.
pub(in super::super) struct Sorted {
    /// Places in nodes along the three axes; zero along axes that there are not.
    pub(super) places: Vec<[f64; 3]>,
    /// The row of each point.
    pub(super) order: Vec<u32>,
    /// And where the point of each row stands.
    pub(super) ranks: Vec<u32>,
    /// Where the points of each slab begin, and the end.
    pub(super) slabs: Vec<usize>,
}

/// The shape of a grid: nodes along the three axes, those that a window touches, and planes of a slab.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) nodes: [usize; 3],
    pub(super) touched: [usize; 3],
    pub(super) slab: usize,
}

impl Shape {
    pub(super) fn len(&self) -> usize {
        self.nodes.iter().product()
    }

    pub(super) fn n_slabs(&self) -> usize {
        self.nodes[0].div_ceil(self.slab)
    }

    /// Nodes of a plane.
    pub(super) fn plane(&self) -> usize {
        self.nodes[1] * self.nodes[2]
    }

    /// Planes of a slab's buffer.
    pub(super) fn slab_planes(&self) -> usize {
        self.slab + self.touched[0] - 1
    }

    /// Whether there are three axes.
    pub(super) fn is_cube(&self) -> bool {
        self.touched.iter().all(|&touched| touched > 1)
    }
}

/// Spreads the vectors' values to one grid per vector, slab by slab.
pub(super) fn spread(
    isa: Isa,
    window: &Window,
    shape: Shape,
    points: &Sorted,
    columns: &[&[f64]],
    slabs: &mut Vec<Buffer<f64>>,
    context: &Context<'_>,
) -> Result<()> {
    let needed = columns.len() * shape.slab_planes() * shape.plane();
    slabs.resize_with(shape.n_slabs(), || Buffer::zeroed(0));
    context.threads.run(|| {
        slabs.par_iter_mut().enumerate().try_for_each(|(slab, buffer)| {
            if buffer.len() < needed {
                *buffer = Buffer::zeroed(needed);
            } else {
                buffer[..needed].fill(0.0);
            }
            let range = points.slabs[slab]..points.slabs[slab + 1];
            let (places, order) = (&points.places[range.clone()], &points.order[range]);
            let (first_plane, grids) = (slab * shape.slab, &mut buffer[..needed]);
            // Most points may lie in one slab, which then takes seconds.
            for (places, order) in places.chunks(CHUNK).zip(order.chunks(CHUNK)) {
                context.check()?;
                let grids = &mut *grids;
                Spread { window, shape, first_plane, places, order, columns, grids }.run(isa);
            }
            Ok::<(), Error>(())
        })
    })
}

/// Adds up what the slabs have in one plane of one vector's grid.
pub(super) fn merge_plane(shape: Shape, slabs: &[Buffer<f64>], vector: usize, plane: usize, out: &mut [f64]) {
    out.fill(0.0);
    let last = plane / shape.slab;
    let first = plane.saturating_sub(shape.touched[0] - 1) / shape.slab;
    for (slab, buffer) in slabs.iter().enumerate().take(last + 1).skip(first) {
        let inside = plane - slab * shape.slab;
        let start = (vector * shape.slab_planes() + inside) * shape.plane();
        let part = &buffer[start..start + shape.plane()];
        out.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
}

/// Gathers values at points from one grid per vector. `room` is where they stand in the points' order.
#[expect(clippy::too_many_arguments, reason = "what a grid has, and what is done with it")]
pub(super) fn gather(
    isa: Isa,
    window: &Window,
    shape: Shape,
    points: &Sorted,
    grids: &[&[f64]],
    room: &mut Buffer<f64>,
    out: MatMut<'_, f64>,
    context: &Context<'_>,
) -> Result<()> {
    let (n, b) = (points.order.len(), grids.len());
    if b == 0 {
        return Ok(());
    }
    if room.len() < n * b {
        *room = Buffer::zeroed(n * b);
    }
    let sorted = &mut room[..n * b];
    context.threads.run(|| {
        sorted.par_chunks_mut(CHUNK * b).zip(points.places.par_chunks(CHUNK)).try_for_each(|(values, places)| {
            context.check()?;
            Gather { window, shape, places, grids, values }.run(isa);
            Ok::<(), Error>(())
        })
    })?;
    let sorted = &*sorted;
    context.threads.run(|| {
        out.par_row_chunks_mut(CHUNK).zip(points.ranks.par_chunks(CHUNK)).for_each(|(mut rows, ranks)| {
            for (i, &rank) in ranks.iter().enumerate() {
                for j in 0..b {
                    rows[(i, j)] = sorted[rank as usize * b + j];
                }
            }
        });
    });
    Ok(())
}
