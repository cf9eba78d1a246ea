//! What a grid leaves of a kernel near zero, summed up directly between neighbours.
//!
//! # Method
//!
//! Sources are sorted into cells as wide as the neighbourhood, so that those within reach of a target lie in 3ᵈ cells, which are
//! 3ᵈ⁻¹ runs of the sorted order. What is added is a function of the distance alone, smooth from zero to the edge of the neighbourhood:
//! a polynomial, made once.

use std::ops::Range;

use faer::{MatMut, MatRef};
use rayon::prelude::*;

use super::grid::interpolate;
use super::mixture::Mixture;
use super::region::corners;
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::memory::Buffer;
use crate::simd::{Isa, Job, Target};
use crate::watch::Context;

/// Degree of the polynomial.
const DEGREE: usize = 24;
/// Places at which its error is measured.
const CHECKS: u32 = 500;
/// Sources that neighbours are counted for.
const SAMPLE: usize = 256;
/// Targets that are worked on at a time.
const CHUNK: usize = 256;

/// Neighbourhoods of sources.
pub(super) struct Near {
    radius: f64,
    /// By falling power of `2 r / radius - 1`.
    polynomial: Vec<f64>,
    error: f64,
    cells: Cells,
}

/// Sources sorted by cell.
struct Cells {
    low: Vec<f64>,
    width: f64,
    /// Cells along each axis, of three; one along axes that there are not.
    counts: [usize; 3],
    starts: Vec<u32>,
    order: Vec<u32>,
    /// Coordinates, one axis after the other.
    coordinates: [Vec<f64>; 3],
}

impl Near {
    /// The neighbourhoods that the difference between a kernel and a mixture asks for; `None` if there would be too many cells.
    pub(super) fn new(kernel: &Kernel, mixture: &Mixture, points: &Points) -> Option<Self> {
        let radius = mixture.near;
        let rest = |r: f64| kernel.value(r * r) - mixture.value(r * r);
        let mut polynomial = interpolate(DEGREE, |s| rest(0.5 * radius * (s + 1.0)));
        polynomial.reverse();
        let error = (0..=CHECKS)
            .map(|i| f64::from(i) / f64::from(CHECKS))
            .map(|t| (horner(&polynomial, 2.0 * t - 1.0) - rest(radius * t)).abs())
            .fold(0.0, f64::max);
        Some(Self { radius, polynomial, error, cells: Cells::new(points, radius)? })
    }

    /// The largest error of the polynomial.
    pub(super) fn error(&self) -> f64 {
        2.0 * self.error
    }

    /// Pairs that a product with this many targets like the sources looks at.
    pub(super) fn pairs(&self, targets: f64) -> f64 {
        let n = self.cells.order.len();
        let sample = sample_rows(n, SAMPLE, 0);
        let of = |at: usize| {
            let x = [0, 1, 2].map(|axis| self.cells.coordinates[axis].get(at).copied().unwrap_or(0.0));
            self.cells.runs(x).map(|run| run.len() as f64).sum::<f64>()
        };
        let looked_at: f64 = sample.iter().map(|&at| of(at)).sum();
        targets * looked_at / sample.len().max(1) as f64
    }

    /// Adds what neighbours contribute.
    pub(super) fn add(
        &self,
        targets: &Points,
        vectors: MatRef<'_, f64>,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let (n, b, d) = (vectors.nrows(), vectors.ncols(), targets.n_features());
        let isa = Isa::detect();
        // Vectors in the order of the cells, one after the other.
        let mut sorted = Buffer::<f64>::zeroed(n * b);
        for (j, column) in sorted.chunks_exact_mut(n.max(1)).enumerate() {
            for (value, &row) in column.iter_mut().zip(&self.cells.order) {
                *value = vectors[(row as usize, j)];
            }
        }
        context.threads.run(|| {
            out.par_row_chunks_mut(CHUNK).enumerate().try_for_each_init(Vec::new, |scratch, (chunk, mut rows)| {
                context.check()?;
                let first = chunk * CHUNK;
                let x = targets.rows(first..first + rows.nrows()).to_f64();
                for (i, x) in x.chunks_exact(d).enumerate() {
                    let x = [0, 1, 2].map(|axis| x.get(axis).copied().unwrap_or(0.0));
                    for run in self.cells.runs(x) {
                        scratch.clear();
                        scratch.resize(run.len(), 0.0);
                        isa.run(Weights { near: self, x, run: run.clone(), out: scratch });
                        for (j, column) in sorted.chunks_exact(n.max(1)).enumerate() {
                            let sum: f64 = scratch.iter().zip(&column[run.clone()]).map(|(w, u)| w * u).sum();
                            rows[(i, j)] += sum;
                        }
                    }
                }
                Ok(())
            })
        })
    }
}

fn horner(polynomial: &[f64], s: f64) -> f64 {
    polynomial.iter().fold(0.0, |value, coefficient| value * s + coefficient)
}

/// What each source of a run adds, per unit of the vector.
struct Weights<'a> {
    near: &'a Near,
    x: [f64; 3],
    run: Range<usize>,
    out: &'a mut [f64],
}

impl Job for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { near, x, run, out } = self;
        for (axis, coordinates) in near.cells.coordinates.iter().enumerate() {
            if let Some(coordinates) = coordinates.get(run.clone()) {
                for (square, y) in out.iter_mut().zip(coordinates) {
                    let difference = y - x[axis];
                    *square += difference * difference;
                }
            }
        }
        let scale = 2.0 / near.radius;
        for value in out {
            let s = value.sqrt() * scale - 1.0;
            let mut sum = 0.0;
            for coefficient in &near.polynomial {
                sum = sum * s + coefficient;
            }
            *value = if s <= 1.0 { sum } else { 0.0 };
        }
    }
}

/// More cells than this take more time to look through than points.
const MOST_CELLS: f64 = 1.6e7;

impl Cells {
    fn new(points: &Points, width: f64) -> Option<Self> {
        let (n, d) = (points.n_samples(), points.n_features());
        let (low, high) = corners(points);
        let along = |axis: usize| if axis < d { ((high[axis] - low[axis]) / width).floor() + 1.0 } else { 1.0 };
        let sizes = [0, 1, 2].map(along);
        if sizes.iter().product::<f64>() > MOST_CELLS {
            return None;
        }
        let counts = sizes.map(|size| size as usize);
        let mut cells = Self {
            low,
            width,
            counts,
            starts: vec![0; counts.iter().product::<usize>() + 1],
            order: vec![0; n],
            coordinates: [0, 1, 2].map(|axis| if axis < d { vec![0.0; n] } else { Vec::new() }),
        };
        let keys: Vec<u32> = (0..n)
            .map(|row| {
                let x = points.row(row);
                let at = [0, 1, 2].map(|axis| x.get(axis).map_or(0, |&x| cells.cell(axis, x) as usize));
                ((at[0] * counts[1] + at[1]) * counts[2] + at[2]) as u32
            })
            .collect();
        for &key in &keys {
            cells.starts[key as usize + 1] += 1;
        }
        for i in 1..cells.starts.len() {
            cells.starts[i] += cells.starts[i - 1];
        }
        let mut next = cells.starts.clone();
        for (row, &key) in keys.iter().enumerate() {
            let at = &mut next[key as usize];
            cells.order[*at as usize] = row as u32;
            for (axis, x) in points.row(row).into_iter().enumerate() {
                cells.coordinates[axis][*at as usize] = x;
            }
            *at += 1;
        }
        Some(cells)
    }

    /// The cell along an axis, within those that there are.
    fn cell(&self, axis: usize, x: f64) -> i64 {
        (((x - self.low[axis]) / self.width).floor() as i64).clamp(0, self.counts[axis] as i64 - 1)
    }

    /// Runs of the sorted sources in the cells around a point.
    fn runs(&self, x: [f64; 3]) -> impl Iterator<Item = Range<usize>> + '_ {
        let around = [0, 1, 2].map(|axis| {
            if axis >= self.low.len() {
                return 0..1;
            }
            // Points outside the sources' box see the cells that their neighbourhood meets, if any.
            let at = ((x[axis] - self.low[axis]) / self.width).floor();
            let from = (at - 1.0).max(0.0) as usize;
            let to = (at + 2.0).clamp(0.0, self.counts[axis] as f64) as usize;
            from.min(to)..to
        });
        let [planes, rows, columns] = around;
        planes.flat_map(move |plane| rows.clone().map(move |row| (plane, row))).filter_map(move |(plane, row)| {
            if columns.is_empty() {
                return None;
            }
            let first = (plane * self.counts[1] + row) * self.counts[2];
            let run = self.starts[first + columns.start] as usize..self.starts[first + columns.end] as usize;
            (!run.is_empty()).then_some(run)
        })
    }
}
