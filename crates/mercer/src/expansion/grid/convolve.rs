//! Convolution on the grid, by Fourier transforms.
//!
//! # Method
//!
//! The kernel's Fourier coefficients are real, so two real grids travel as the real and the imaginary part of one complex grid; one grid
//! alone keeps half of its waves. Planes are transformed along their rows, turned over and transformed along their columns; then lines
//! across the planes, which are brought together in a second array, are transformed, multiplied with the coefficients and transformed
//! back. Every line is a transform of its own, so threads share planes and lines without an effect on the result.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use crate::error::Result;
use crate::watch::Context;

/// Numbers that are moved together when axes change places: a cache line of them.
const TOGETHER: usize = 4;

/// Transforms along the axes of one grid, and the factors of its waves.
pub(super) struct Convolution {
    nodes: [usize; 3],
    forward: [Arc<dyn Fft<f64>>; 3],
    inverse: [Arc<dyn Fft<f64>>; 3],
    /// One factor per wave, the first axis innermost and the last outermost.
    factors: Vec<f64>,
}

impl Convolution {
    /// A convolution that multiplies wave `(k₀, k₁, k₂)` with `factor`.
    pub(super) fn new(nodes: [usize; 3], factor: impl Fn([usize; 3]) -> f64 + Sync, context: &Context<'_>) -> Self {
        let mut planner = FftPlanner::new();
        let forward = nodes.map(|n| planner.plan_fft_forward(n));
        let inverse = nodes.map(|n| planner.plan_fft_inverse(n));
        let mut factors = vec![0.0; nodes.iter().product()];
        context.threads.run(|| {
            factors.par_chunks_mut(nodes[0]).enumerate().for_each(|(line, factors)| {
                let (k1, k2) = (line % nodes[1], line / nodes[1]);
                for (k0, value) in factors.iter_mut().enumerate() {
                    *value = factor([k0, k1, k2]);
                }
            });
        });
        Self { nodes, forward, inverse, factors }
    }

    /// Convolves a pair of grids: `plane` writes the planes of both into real and imaginary parts, and the convolved grids are
    /// written to `first` and `second`.
    pub(super) fn run(
        &self,
        plane: impl Fn(usize, &mut [Complex64]) + Sync,
        first: &mut [f64],
        second: Option<&mut [f64]>,
        context: &Context<'_>,
    ) -> Result<()> {
        let [n0, n1, n2] = self.nodes;
        let zero = Complex64::new(0.0, 0.0);
        // Waves of a real grid come in pairs of conjugates along the last axis: one of each is enough.
        let kept = if second.is_some() { n2 } else { n2 / 2 + 1 };
        let mut planes = vec![zero; n0 * n1 * kept];
        let mut lines = vec![zero; n0 * n1 * kept];
        context.threads.run(|| -> Result<()> {
            planes.par_chunks_mut(n1 * kept).enumerate().try_for_each_init(
                || vec![zero; n1 * n2],
                |nodes, (index, waves)| {
                    context.check()?;
                    nodes.fill(zero);
                    plane(index, nodes);
                    self.forward[2].process(nodes);
                    turn(nodes, waves, (n1, n2), kept);
                    self.forward[1].process(waves);
                    Ok::<(), crate::error::Error>(())
                },
            )?;
            // planes[i0][k2][k1] -> lines[k2][k1][i0], a cache line of numbers at a time.
            lines.par_chunks_mut(n0 * n1).enumerate().for_each(|(k2, lines)| {
                for i0 in (0..n0).step_by(TOGETHER) {
                    let count = TOGETHER.min(n0 - i0);
                    for k1 in 0..n1 {
                        for (j, value) in lines[k1 * n0 + i0..][..count].iter_mut().enumerate() {
                            *value = planes[((i0 + j) * kept + k2) * n1 + k1];
                        }
                    }
                }
                self.forward[0].process(lines);
                let factors = &self.factors[k2 * n0 * n1..(k2 + 1) * n0 * n1];
                lines.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                self.inverse[0].process(lines);
            });
            // Some planes back at a time, for the same reason.
            let back = |start: usize, count: usize, nodes: &mut [Complex64], waves: &mut [Complex64]| {
                for at in 0..n1 * kept {
                    for (j, &value) in lines[at * n0 + start..][..count].iter().enumerate() {
                        waves[j * n1 * kept + at] = value;
                    }
                }
                for (nodes, waves) in nodes.chunks_exact_mut(n1 * n2).zip(waves.chunks_exact_mut(n1 * kept)).take(count)
                {
                    self.inverse[1].process(waves);
                    turn_back(waves, nodes, (n1, n2), kept);
                    self.inverse[2].process(nodes);
                }
            };
            let room = || (vec![zero; TOGETHER * n1 * n2], vec![zero; TOGETHER * n1 * kept]);
            let chunk = TOGETHER * n1 * n2;
            let real = |out: &mut [f64], nodes: &[Complex64]| {
                out.iter_mut().zip(nodes).for_each(|(out, value)| *out = value.re);
            };
            match second {
                Some(second) => {
                    first.par_chunks_mut(chunk).zip(second.par_chunks_mut(chunk)).enumerate().for_each_init(
                        room,
                        |(nodes, waves), (index, (first, second))| {
                            back(index * TOGETHER, first.len() / (n1 * n2), nodes, waves);
                            real(first, nodes);
                            second.iter_mut().zip(&*nodes).for_each(|(out, value)| *out = value.im);
                        },
                    );
                }
                None => {
                    first.par_chunks_mut(chunk).enumerate().for_each_init(room, |(nodes, waves), (index, first)| {
                        back(index * TOGETHER, first.len() / (n1 * n2), nodes, waves);
                        real(first, nodes);
                    });
                }
            }
            Ok(())
        })
    }
}

/// Writes the transpose of a matrix of some rows and columns, without the columns from `kept` on.
fn turn(from: &[Complex64], to: &mut [Complex64], (rows, columns): (usize, usize), kept: usize) {
    for i in (0..rows).step_by(TOGETHER) {
        let count = TOGETHER.min(rows - i);
        for j in 0..kept {
            for (k, value) in to[j * rows + i..][..count].iter_mut().enumerate() {
                *value = from[(i + k) * columns + j];
            }
        }
    }
}

/// Writes back the matrix that [`turn`] has turned. Where half of the columns were left out, those that had a partner among them count
/// twice: the real part of a sum over waves is the same.
fn turn_back(from: &[Complex64], to: &mut [Complex64], (rows, columns): (usize, usize), kept: usize) {
    let is_half = kept < columns;
    for (i, row) in to.chunks_exact_mut(columns).enumerate() {
        for (j, value) in row[..kept].iter_mut().enumerate() {
            let has_partner = is_half && j > 0 && 2 * j != columns;
            *value = from[j * rows + i] * if has_partner { 2.0 } else { 1.0 };
        }
        row[kept..].fill(Complex64::new(0.0, 0.0));
    }
}
