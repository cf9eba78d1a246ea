//! Convolution on the grid, by Fourier transforms.
//!
//! # Method
//!
//! The kernel's Fourier coefficients are real, so two real grids travel as the real and the imaginary part of one complex grid. Planes
//! are transformed along their rows, turned over and transformed along their columns; then lines across the planes, which are brought
//! together in a second array, are transformed, multiplied with the coefficients and transformed back. Every line is a transform of
//! its own, so threads share planes and lines without an effect on the result.

use std::sync::Arc;

use rayon::prelude::*;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use crate::error::Result;
use crate::watch::Context;

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
        let mut planes = vec![zero; n0 * n1 * n2];
        let mut lines = vec![zero; n0 * n1 * n2];
        context.threads.run(|| -> Result<()> {
            planes.par_chunks_mut(n1 * n2).enumerate().try_for_each_init(
                || vec![zero; n1 * n2],
                |turned, (index, nodes)| {
                    context.check()?;
                    plane(index, nodes);
                    self.forward[2].process(nodes);
                    turn(nodes, turned, n1, n2);
                    self.forward[1].process(turned);
                    nodes.copy_from_slice(turned);
                    Ok::<(), crate::error::Error>(())
                },
            )?;
            // planes[i0][k2][k1] -> lines[k2][k1][i0]
            lines.par_chunks_mut(n0 * n1).enumerate().for_each(|(k2, lines)| {
                for (k1, line) in lines.chunks_exact_mut(n0).enumerate() {
                    for (i0, value) in line.iter_mut().enumerate() {
                        *value = planes[(i0 * n2 + k2) * n1 + k1];
                    }
                }
                self.forward[0].process(lines);
                let factors = &self.factors[k2 * n0 * n1..(k2 + 1) * n0 * n1];
                lines.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                self.inverse[0].process(lines);
            });
            let back = |index: usize, nodes: &mut [Complex64], turned: &mut [Complex64]| {
                for (at, value) in turned.iter_mut().enumerate() {
                    *value = lines[at * n0 + index];
                }
                self.inverse[1].process(turned);
                turn(turned, nodes, n2, n1);
                self.inverse[2].process(nodes);
            };
            match second {
                Some(second) => {
                    first.par_chunks_mut(n1 * n2).zip(second.par_chunks_mut(n1 * n2)).enumerate().for_each_init(
                        || (vec![zero; n1 * n2], vec![zero; n1 * n2]),
                        |(nodes, turned), (index, (first, second))| {
                            back(index, nodes, turned);
                            first.iter_mut().zip(&*nodes).for_each(|(out, value)| *out = value.re);
                            second.iter_mut().zip(&*nodes).for_each(|(out, value)| *out = value.im);
                        },
                    );
                }
                None => {
                    first.par_chunks_mut(n1 * n2).enumerate().for_each_init(
                        || (vec![zero; n1 * n2], vec![zero; n1 * n2]),
                        |(nodes, turned), (index, first)| {
                            back(index, nodes, turned);
                            first.iter_mut().zip(&*nodes).for_each(|(out, value)| *out = value.re);
                        },
                    );
                }
            }
            Ok(())
        })
    }
}

/// Writes the transpose of a matrix of `rows` by `columns`.
fn turn(from: &[Complex64], to: &mut [Complex64], rows: usize, columns: usize) {
    for (i, row) in from.chunks_exact(columns).enumerate() {
        for (j, value) in row.iter().enumerate() {
            to[j * rows + i] = *value;
        }
    }
}
