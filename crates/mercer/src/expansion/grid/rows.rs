//! The inner loops of spreading and gathering: rows of nodes around each point.
//!
//! # Method
//!
//! A point's window is a product of three windows, so what it adds to the nodes around it, or reads from them, comes in rows of as many
//! nodes as a window has lanes. When values are spread, the products of the two inner windows are made once for all planes and vectors; when they
//! are gathered, a plane's rows are added up before the outer window weighs them. Values of the vectors lie at random places in
//! memory: they are fetched for a number of points ahead, so that the processor waits for many of them at a time and not for each.

use super::spread::Shape;
use super::window::{MAX_WIDTH, Window};
use super::{GROUP, lanes};
use crate::simd::{Isa, Job, Target, fused};

/// Points whose values are fetched ahead.
const AHEAD: usize = 64;

/// A job for windows of `P` lanes that touch `W` nodes along each of three axes; as many as the shape says, if `W` is zero.
struct Rows<J, const P: usize, const W: usize>(J);

/// Runs a job in the version that was compiled for the grid's window.
macro_rules! run_rows {
    ($isa:expr, $window:expr, $shape:expr, $job:expr) => {
        match ($shape.is_cube(), $window.width) {
            (true, 4) => $isa.run(Rows::<_, 4, 4>($job)),
            (true, 5) => $isa.run(Rows::<_, 8, 5>($job)),
            (true, 6) => $isa.run(Rows::<_, 8, 6>($job)),
            (true, 7) => $isa.run(Rows::<_, 8, 7>($job)),
            (true, 8) => $isa.run(Rows::<_, 8, 8>($job)),
            (_, width) => match lanes(width) {
                4 => $isa.run(Rows::<_, 4, 0>($job)),
                8 => $isa.run(Rows::<_, 8, 0>($job)),
                12 => $isa.run(Rows::<_, 12, 0>($job)),
                _ => $isa.run(Rows::<_, 16, 0>($job)),
            },
        }
    };
}

/// Values to be spread to the planes of one slab.
pub(super) struct Spread<'a> {
    pub(super) window: &'a Window,
    pub(super) shape: Shape,
    pub(super) first_plane: usize,
    pub(super) places: &'a [[f64; 3]],
    /// The row of each point.
    pub(super) order: &'a [u32],
    /// Values of at most [`GROUP`] vectors, by row.
    pub(super) columns: &'a [&'a [f64]],
    /// The slab's planes of the vectors' grids, one vector after the other.
    pub(super) grids: &'a mut [f64],
}

impl Spread<'_> {
    pub(super) fn run(self, isa: Isa) {
        run_rows!(isa, self.window, self.shape, self);
    }
}

impl<const P: usize, const W: usize> Job for Rows<Spread<'_>, P, W> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Spread { window, shape, first_plane, places, order, columns, grids } = self.0;
        let ([outer, middle], row, plane) = (touched::<W>(shape), shape.nodes[2], shape.plane());
        let grid = shape.slab_planes() * plane;
        let reach = (outer - 1) * plane + (middle - 1) * row + P;
        let mut ahead = [[0.0; AHEAD]; GROUP];
        for (places, order) in places.chunks(AHEAD).zip(order.chunks(AHEAD)) {
            for (ahead, column) in ahead.iter_mut().zip(columns) {
                ahead.iter_mut().zip(order).for_each(|(value, &row)| *value = column[row as usize]);
            }
            for (point, place) in places.iter().enumerate() {
                let (at, weights) = weights::<G, P>(window, shape, *place);
                let mut inner = [[0.0; P]; MAX_WIDTH];
                for (inner, factor) in inner.iter_mut().zip(&weights[1][..middle]) {
                    inner.iter_mut().zip(&weights[2]).for_each(|(value, weight)| *value = factor * weight);
                }
                let start = (at[0] - first_plane) * plane + at[1] * row + at[2];
                for (column, ahead) in (0..columns.len()).zip(&ahead) {
                    let nodes = &mut grids[column * grid + start..][..reach];
                    for i in 0..outer {
                        let factor = ahead[point] * weights[0][i];
                        for (j, inner) in inner[..middle].iter().enumerate() {
                            let nodes = &mut nodes[i * plane + j * row..][..P];
                            for (node, weight) in nodes.iter_mut().zip(inner) {
                                *node = fused::<G>(factor, *weight, *node);
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Values to be gathered at some points.
pub(super) struct Gather<'a> {
    pub(super) window: &'a Window,
    pub(super) shape: Shape,
    pub(super) places: &'a [[f64; 3]],
    /// One grid per vector.
    pub(super) grids: &'a [&'a [f64]],
    /// One value per point and vector.
    pub(super) values: &'a mut [f64],
}

impl Gather<'_> {
    pub(super) fn run(self, isa: Isa) {
        run_rows!(isa, self.window, self.shape, self);
    }
}

impl<const P: usize, const W: usize> Job for Rows<Gather<'_>, P, W> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Gather { window, shape, places, grids, values } = self.0;
        let ([outer, middle], row, plane) = (touched::<W>(shape), shape.nodes[2], shape.plane());
        let reach = (outer - 1) * plane + (middle - 1) * row + P;
        for (place, values) in places.iter().zip(values.chunks_exact_mut(grids.len())) {
            let (at, weights) = weights::<G, P>(window, shape, *place);
            let start = at[0] * plane + at[1] * row + at[2];
            for (value, grid) in values.iter_mut().zip(grids) {
                let nodes = &grid[start..][..reach];
                let mut sums = [0.0; P];
                for i in 0..outer {
                    let mut of_plane = [0.0; P];
                    for (j, factor) in weights[1][..middle].iter().enumerate() {
                        let nodes = &nodes[i * plane + j * row..][..P];
                        for (sum, node) in of_plane.iter_mut().zip(nodes) {
                            *sum = fused::<G>(*factor, *node, *sum);
                        }
                    }
                    for (sum, part) in sums.iter_mut().zip(of_plane) {
                        *sum = fused::<G>(weights[0][i], part, *sum);
                    }
                }
                *value = sums.iter().zip(&weights[2]).map(|(sum, weight)| sum * weight).sum();
            }
        }
    }
}

/// Nodes that a window touches along the two outer axes.
#[inline(always)]
fn touched<const W: usize>(shape: Shape) -> [usize; 2] {
    if W > 0 { [W, W] } else { [shape.touched[0].max(1), shape.touched[1].clamp(1, MAX_WIDTH)] }
}

/// The first node of a point along each axis, and its window's values there; one node of weight one along axes that there are not.
#[inline(always)]
fn weights<G: Target, const P: usize>(window: &Window, shape: Shape, place: [f64; 3]) -> ([usize; 3], [[f64; P]; 3]) {
    let (mut at, mut weights) = window.along::<G, P, 3>(place);
    for axis in 0..3 {
        if shape.touched[axis] == 1 {
            at[axis] = 0;
            weights[axis] = [0.0; P];
            weights[axis][0] = 1.0;
        }
    }
    (at, weights)
}
