//! Convolution on the grid, by Fourier transforms.
//!
//! # Method
//!
//! A Gaussian has few waves that matter, often fewer than a quarter of those of the grid along each axis, and nothing is computed
//! for the others. Planes are transformed along their rows, two real rows as the real and the imaginary part of one complex row, and the waves that are kept are turned
//! over and transformed along the columns; then lines across the planes, which are brought together in a second array, are
//! transformed, multiplied with the coefficients, which are real, and transformed back. Of waves that are conjugates of one another along the
//! last axis, one is enough. Every line is a transform of its own, so threads share planes and lines without an effect on
//! the result.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use super::axis::Axis;
use crate::error::{Error, Result};
use crate::watch::Context;

/// Numbers that are moved together when axes change places: a cache line of them.
const TOGETHER: usize = 4;
const ZERO: Complex64 = Complex64::new(0.0, 0.0);

/// Nodes along an axis of the grid, the waves that are kept, and transforms.
struct Side {
    n: usize,
    /// Kept waves from zero on.
    half: usize,
    /// Kept waves with their mirror images.
    kept: usize,
    forward: Arc<dyn Fft<f64>>,
    inverse: Arc<dyn Fft<f64>>,
}

impl Side {
    /// An axis of the points, or one that they do not have.
    fn new(axis: Option<&Axis>, planner: &mut FftPlanner<f64>) -> Self {
        let n = axis.map_or(1, |axis| axis.n);
        let (half, kept) = axis.map_or((1, 1), |axis| (axis.waves, axis.n_kept()));
        Self { n, half, kept, forward: planner.plan_fft_forward(n), inverse: planner.plan_fft_inverse(n) }
    }

    /// The place in a transform of the kept wave that stands at `index` among them.
    fn place(&self, index: usize) -> usize {
        if index < self.half { index } else { self.n - self.kept + index }
    }

    fn room(&self) -> Vec<Complex64> {
        let longest = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        vec![ZERO; longest]
    }
}

/// Transforms along the axes of one grid, and the factors of its waves.
pub(super) struct Convolution {
    /// Outermost first.
    sides: [Side; 3],
    /// One factor per kept wave: the first axis, of which all waves have one, innermost and the last outermost.
    factors: Vec<f64>,
}

/// What a convolution works in, kept from one to the next.
#[derive(Default)]
pub(super) struct Waves {
    planes: Vec<Complex64>,
    lines: Vec<Complex64>,
}

impl Convolution {
    /// A convolution that multiplies waves with factors, zero for those that are not kept. `line` adds those of all waves along the first axis
    /// to zeros, for kept waves of the second and the third: along each axis they are numbered from zero, mirror images included.
    pub(super) fn new(
        axes: [Option<&Axis>; 3],
        line: impl Fn([usize; 2], &mut [f64]) + Sync,
        context: &Context<'_>,
    ) -> Self {
        let mut planner = FftPlanner::new();
        let sides = axes.map(|axis| Side::new(axis, &mut planner));
        let [s0, s1, s2] = &sides;
        let mut factors = vec![0.0; s0.n * s1.kept * s2.half];
        context.threads.run(|| {
            factors.par_chunks_mut(s0.n).enumerate().for_each(|(index, factors)| {
                line([s1.place(index % s1.kept), index / s1.kept], factors);
            });
        });
        Self { sides, factors }
    }

    /// Complex numbers of the arrays that a convolution works in, beside those of threads.
    pub(super) fn room(axes: &[Axis]) -> usize {
        match axes {
            [line] => 2 * line.waves,
            [outer, inner] => 2 * outer.n * inner.waves,
            [outer, middle, inner] => 2 * outer.n * middle.n_kept() * inner.waves,
            _ => 0,
        }
    }

    /// Convolves a grid: `plane` writes its planes, and the convolved grid is written to `out`.
    pub(super) fn run(
        &self,
        plane: impl Fn(usize, &mut [f64]) + Sync,
        out: &mut [f64],
        waves: &mut Waves,
        context: &Context<'_>,
    ) -> Result<()> {
        let [s0, s1, s2] = &self.sides;
        let kept = s2.half * s1.kept;
        let Waves { planes, lines } = waves;
        planes.resize(s0.n * kept, ZERO);
        lines.resize(s0.n * kept, ZERO);
        context.threads.run(|| -> Result<()> {
            planes.par_chunks_mut(kept).enumerate().try_for_each_init(
                || PlaneRoom::new(s1, s2),
                |room, (index, waves)| {
                    context.check()?;
                    plane(index, &mut room.nodes);
                    self.plane_forward(room, waves);
                    Ok::<(), Error>(())
                },
            )?;
            let planes = &*planes;
            lines
                .par_chunks_mut(s1.kept * s0.n)
                .enumerate()
                .for_each_init(|| s0.room(), |room, (k2, lines)| self.convolve_lines(planes, k2, lines, room));
            let lines = &*lines;
            // Some planes back at a time, for the same reason.
            let size = s1.n * s2.n;
            out.par_chunks_mut(TOGETHER * size).enumerate().try_for_each_init(
                || (PlaneRoom::new(s1, s2), vec![ZERO; TOGETHER * kept]),
                |(room, waves), (chunk, out)| {
                    context.check()?;
                    let (start, count) = (chunk * TOGETHER, out.len() / size);
                    for at in 0..kept {
                        for (j, &value) in lines[at * s0.n + start..][..count].iter().enumerate() {
                            waves[j * kept + at] = value;
                        }
                    }
                    for (out, waves) in out.chunks_exact_mut(size).zip(waves.chunks_exact(kept)) {
                        self.plane_back(room, waves, out);
                    }
                    Ok::<(), Error>(())
                },
            )
        })
    }

    /// The kept waves `[k2][k1]` of the plane in the room's nodes.
    fn plane_forward(&self, room: &mut PlaneRoom, waves: &mut [Complex64]) {
        let [_, s1, s2] = &self.sides;
        let (n1, n2) = (s1.n, s2.n);
        // Two rows at a time; where their number is odd, there is one.
        for first in (0..n1).step_by(2) {
            let rows = &room.nodes[first * n2..(first + 2).min(n1) * n2];
            let (one, two) = rows.split_at(n2);
            for (i, value) in room.row.iter_mut().enumerate() {
                *value = Complex64::new(one[i], two.get(i).copied().unwrap_or(0.0));
            }
            s2.forward.process_with_scratch(&mut room.row, &mut room.scratch);
            for k in 0..s2.half {
                // The waves of real rows at k and -k are conjugates, which tells the two rows apart.
                let (here, there) = (room.row[k], room.row[(n2 - k) % n2].conj());
                room.columns[k * n1 + first] = 0.5 * (here + there);
                if let Some(value) = room.columns[k * n1..(k + 1) * n1].get_mut(first + 1) {
                    let twice = here - there;
                    *value = Complex64::new(0.5 * twice.im, -0.5 * twice.re);
                }
            }
        }
        s1.forward.process_with_scratch(&mut room.columns, &mut room.scratch);
        for (waves, column) in waves.chunks_exact_mut(s1.kept).zip(room.columns.chunks_exact(n1)) {
            for (k1, wave) in waves.iter_mut().enumerate() {
                *wave = column[s1.place(k1)];
            }
        }
    }

    /// The lines across the planes at the wave `k2` of the last axis, convolved.
    fn convolve_lines(&self, planes: &[Complex64], k2: usize, lines: &mut [Complex64], room: &mut [Complex64]) {
        let [s0, s1, s2] = &self.sides;
        let kept = s2.half * s1.kept;
        // planes[i0][k2][k1] -> lines[k2][k1][i0], a cache line of numbers at a time.
        for i0 in (0..s0.n).step_by(TOGETHER) {
            let count = TOGETHER.min(s0.n - i0);
            for k1 in 0..s1.kept {
                for (j, value) in lines[k1 * s0.n + i0..][..count].iter_mut().enumerate() {
                    *value = planes[(i0 + j) * kept + k2 * s1.kept + k1];
                }
            }
        }
        s0.forward.process_with_scratch(lines, room);
        let factors = &self.factors[k2 * lines.len()..][..lines.len()];
        lines.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
        s0.inverse.process_with_scratch(lines, room);
    }

    /// The plane of some kept waves.
    fn plane_back(&self, room: &mut PlaneRoom, waves: &[Complex64], out: &mut [f64]) {
        let [_, s1, s2] = &self.sides;
        let (n1, n2) = (s1.n, s2.n);
        room.columns.fill(ZERO);
        for (waves, column) in waves.chunks_exact(s1.kept).zip(room.columns.chunks_exact_mut(n1)) {
            for (k1, &wave) in waves.iter().enumerate() {
                column[s1.place(k1)] = wave;
            }
        }
        s1.inverse.process_with_scratch(&mut room.columns, &mut room.scratch);
        for (pair, rows) in out.chunks_mut(2 * n2).enumerate() {
            room.row.fill(ZERO);
            for k in 0..s2.half {
                let column = &room.columns[k * n1..(k + 1) * n1];
                let (one, two) = (column[2 * pair], column.get(2 * pair + 1).copied().unwrap_or(ZERO));
                // one + i two, and at the mirror image the same of their conjugates.
                room.row[k] = Complex64::new(one.re - two.im, one.im + two.re);
                if k > 0 {
                    room.row[n2 - k] = Complex64::new(one.re + two.im, two.re - one.im);
                }
            }
            s2.inverse.process_with_scratch(&mut room.row, &mut room.scratch);
            let (one, two) = rows.split_at_mut(n2);
            one.iter_mut().zip(&room.row).for_each(|(out, value)| *out = value.re);
            two.iter_mut().zip(&room.row).for_each(|(out, value)| *out = value.im);
        }
    }
}

/// What one thread transforms a plane in.
struct PlaneRoom {
    nodes: Vec<f64>,
    row: Vec<Complex64>,
    /// Waves along rows, turned over.
    columns: Vec<Complex64>,
    scratch: Vec<Complex64>,
}

impl PlaneRoom {
    fn new(s1: &Side, s2: &Side) -> Self {
        let (one, two) = (s1.room(), s2.room());
        Self {
            nodes: vec![0.0; s1.n * s2.n],
            row: vec![ZERO; s2.n],
            columns: vec![ZERO; s2.half * s1.n],
            scratch: if one.len() > two.len() { one } else { two },
        }
    }
}
