//! From points to the nodes of a grid, and back.
//!
//! # Method
//!
//! Points are sorted by the plane and row of nodes that their windows begin in, so that one point's nodes are in the cache from the
//! last one's. Planes are cut into slabs whose number depends on the grid only. A slab's points are spread by one thread into a
//! buffer of its own that reaches a window's width beyond the slab, and the buffers are added up in order: results do not depend on
//! the number of threads. Gathering only reads, so it needs no such care.

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use super::window::Window;
use crate::error::Result;
use crate::memory::Buffer;
use crate::simd::{Isa, Job, Target};
use crate::watch::Context;

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

    fn plane(&self) -> usize {
        self.nodes[1] * self.nodes[2]
    }

    /// Planes of a slab's buffer.
    fn slab_planes(&self) -> usize {
        self.slab + self.touched[0] - 1
    }
}

/// Spreads the vectors' values to one grid per vector, which `merged` is called with plane by plane: the grids' planes in the order of
/// the vectors.
pub(super) fn spread(
    isa: Isa,
    window: &Window,
    shape: Shape,
    points: &Sorted,
    vectors: MatRef<'_, f64>,
    context: &Context<'_>,
) -> Result<Vec<Buffer<f64>>> {
    let b = vectors.ncols();
    let columns: Vec<&[f64]> =
        (0..b).map(|j| vectors.col(j).try_as_col_major().map_or(&[][..], |c| c.as_slice())).collect();
    let buffers: Vec<Result<Buffer<f64>>> = context.threads.run(|| {
        (0..shape.n_slabs())
            .into_par_iter()
            .map(|slab| {
                context.check()?;
                let mut buffer = Buffer::zeroed(b * shape.slab_planes() * shape.plane());
                let range = points.slabs[slab]..points.slabs[slab + 1];
                let (places, order) = (&points.places[range.clone()], &points.order[range]);
                let first_plane = slab * shape.slab;
                let job = Spread { window, shape, first_plane, places, order, columns: &columns, buffer: &mut buffer };
                match super::window::lanes(window.width) {
                    4 => isa.run(Lanes::<_, 4>(job)),
                    8 => isa.run(Lanes::<_, 8>(job)),
                    12 => isa.run(Lanes::<_, 12>(job)),
                    _ => isa.run(Lanes::<_, 16>(job)),
                }
                Ok(buffer)
            })
            .collect()
    });
    buffers.into_iter().collect()
}

/// Adds up what the slabs have in one plane of one vector's grid.
pub(super) fn merge_plane(shape: Shape, buffers: &[Buffer<f64>], vector: usize, plane: usize, out: &mut [f64]) {
    out.fill(0.0);
    let last = plane / shape.slab;
    let first = plane.saturating_sub(shape.touched[0] - 1) / shape.slab;
    for (slab, buffer) in buffers.iter().enumerate().take(last + 1).skip(first) {
        let inside = plane - slab * shape.slab;
        let start = (vector * shape.slab_planes() + inside) * shape.plane();
        let part = &buffer[start..start + shape.plane()];
        out.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
}

/// Chunks of points that are gathered at a time.
const CHUNK: usize = 4096;

/// Gathers values at points from one grid per vector (columns of `grids`).
pub(super) fn gather(
    isa: Isa,
    window: &Window,
    shape: Shape,
    points: &Sorted,
    grids: MatRef<'_, f64>,
    out: MatMut<'_, f64>,
    context: &Context<'_>,
) -> Result<()> {
    let b = grids.ncols();
    let columns: Vec<&[f64]> =
        (0..b).map(|j| grids.col(j).try_as_col_major().map_or(&[][..], |c| c.as_slice())).collect();
    let n = points.order.len();
    let mut sorted = Buffer::<f64>::zeroed(n * b);
    context.threads.run(|| {
        sorted.par_chunks_mut(CHUNK * b.max(1)).zip(points.places.par_chunks(CHUNK)).try_for_each(|(values, places)| {
            context.check()?;
            let job = Gather { window, shape, places, columns: &columns, values };
            match super::window::lanes(window.width) {
                4 => isa.run(Lanes::<_, 4>(job)),
                8 => isa.run(Lanes::<_, 8>(job)),
                12 => isa.run(Lanes::<_, 12>(job)),
                _ => isa.run(Lanes::<_, 16>(job)),
            }
            Ok::<(), crate::error::Error>(())
        })
    })?;
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

/// A job for windows of a known number of lanes.
struct Lanes<J, const P: usize>(J);

struct Spread<'a> {
    window: &'a Window,
    shape: Shape,
    first_plane: usize,
    places: &'a [[f64; 3]],
    order: &'a [u32],
    columns: &'a [&'a [f64]],
    buffer: &'a mut [f64],
}

impl<const P: usize> Job for Lanes<Spread<'_>, P> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Spread { window, shape, first_plane, places, order, columns, buffer } = self.0;
        let grid = shape.slab_planes() * shape.plane();
        for (place, &row) in places.iter().zip(order) {
            let (at, weights) = weights::<P>(window, shape, *place);
            let start = ((at[0] - first_plane) * shape.nodes[1] + at[1]) * shape.nodes[2] + at[2];
            for (column, values) in columns.iter().enumerate() {
                let value = values[row as usize];
                let corner = column * grid + start;
                for i in 0..shape.touched[0] {
                    for j in 0..shape.touched[1] {
                        let factor = value * weights[0][i] * weights[1][j];
                        let start = corner + (i * shape.nodes[1] + j) * shape.nodes[2];
                        let nodes = &mut buffer[start..start + P];
                        for (node, weight) in nodes.iter_mut().zip(&weights[2]) {
                            *node += factor * weight;
                        }
                    }
                }
            }
        }
    }
}

struct Gather<'a> {
    window: &'a Window,
    shape: Shape,
    places: &'a [[f64; 3]],
    columns: &'a [&'a [f64]],
    values: &'a mut [f64],
}

impl<const P: usize> Job for Lanes<Gather<'_>, P> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Gather { window, shape, places, columns, values } = self.0;
        for (place, values) in places.iter().zip(values.chunks_exact_mut(columns.len())) {
            let (at, weights) = weights::<P>(window, shape, *place);
            let corner = (at[0] * shape.nodes[1] + at[1]) * shape.nodes[2] + at[2];
            for (value, grid) in values.iter_mut().zip(columns) {
                let mut sums = [0.0; P];
                for i in 0..shape.touched[0] {
                    for j in 0..shape.touched[1] {
                        let factor = weights[0][i] * weights[1][j];
                        let start = corner + (i * shape.nodes[1] + j) * shape.nodes[2];
                        let nodes = &grid[start..start + P];
                        for (sum, node) in sums.iter_mut().zip(nodes) {
                            *sum += factor * node;
                        }
                    }
                }
                *value = sums.iter().zip(&weights[2]).map(|(sum, weight)| sum * weight).sum();
            }
        }
    }
}

/// The first node of a point along each axis, and its window's values there; one node of weight one along axes that there are not.
#[inline(always)]
fn weights<const P: usize>(window: &Window, shape: Shape, place: [f64; 3]) -> ([usize; 3], [[f64; P]; 3]) {
    let mut at = [0; 3];
    let mut weights = [[0.0; P]; 3];
    for axis in 0..3 {
        if shape.touched[axis] > 1 {
            (at[axis], weights[axis]) = window.at::<P>(place[axis]);
        } else {
            weights[axis][0] = 1.0;
        }
    }
    (at, weights)
}
