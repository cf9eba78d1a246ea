//! Systems with a triangular matrix, and the matrix without a row and column.
//!
//! Written as plain loops over arrays of [`WIDTH`](super::factor::WIDTH) numbers, one for each right-hand side, which the compiler turns
//! into vectors of the instruction set that the job is run on.

use super::factor::Wide;
use crate::simd::{Job, Target};

/// Columns that are eliminated together.
const BLOCK: usize = 4;

/// A lower triangular matrix: entry `(f, g)` at `g · stride + f`.
#[derive(Clone, Copy)]
pub(super) struct Triangle<'a> {
    pub(super) columns: &'a [f64],
    pub(super) stride: usize,
    pub(super) order: usize,
}

/// Solves `L z = k`, where `z` is `k` at first.
pub(super) struct Forward<'a> {
    pub(super) triangle: Triangle<'a>,
    pub(super) z: &'a mut [Wide],
}

impl Job for Forward<'_> {
    type Output = ();

    /// For every `f`: `z_f ← (k_f − L_f0 z_0 − L_f1 z_1 − …) / L_ff`, the terms from the left.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Triangle { columns: l, stride, order: m } = self.triangle;
        let z = self.z;
        let mut g = 0;
        while g < m {
            let block = BLOCK.min(m - g);
            for a in g..g + block {
                let scale = l[a * stride + a];
                z[a] = z[a].map(|z| z / scale);
                let done = z[a];
                for b in a + 1..g + block {
                    subtract(&mut z[b], l[a * stride + b], &done);
                }
            }
            let (above, below) = z.split_at_mut(g + block);
            let from = g + block;
            if block == BLOCK {
                let done: [Wide; BLOCK] = std::array::from_fn(|j| above[g + j]);
                let columns: [&[f64]; BLOCK] = std::array::from_fn(|j| &l[(g + j) * stride..][from..m]);
                for (f, z) in below.iter_mut().enumerate() {
                    let mut sum = *z;
                    for j in 0..BLOCK {
                        subtract(&mut sum, columns[j][f], &done[j]);
                    }
                    *z = sum;
                }
            }
            g += block;
        }
    }
}

/// Solves `Lᵀ x = z`, where `x` takes the place of `z`.
pub(super) struct Backward<'a> {
    pub(super) triangle: Triangle<'a>,
    pub(super) z: &'a mut [Wide],
}

impl Job for Backward<'_> {
    type Output = ();

    /// For every `g`: `x_g ← (z_g − … − L_(g+2)g x_(g+2) − L_(g+1)g x_(g+1)) / L_gg`, the terms from the bottom.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Triangle { columns: l, stride, order: m } = self.triangle;
        let z = self.z;
        let mut end = m;
        while end > 0 {
            let start = end.saturating_sub(BLOCK);
            let (above, below) = z.split_at_mut(end);
            if end - start == BLOCK {
                let mut sums: [Wide; BLOCK] = std::array::from_fn(|j| above[start + j]);
                let columns: [&[f64]; BLOCK] = std::array::from_fn(|j| &l[(start + j) * stride..][end..m]);
                for (f, x) in below.iter().enumerate().rev() {
                    for j in 0..BLOCK {
                        subtract(&mut sums[j], columns[j][f], x);
                    }
                }
                above[start..].copy_from_slice(&sums);
            } else {
                for g in start..end {
                    for (f, x) in below.iter().enumerate().rev() {
                        subtract(&mut above[g], l[g * stride + end + f], x);
                    }
                }
            }
            for a in (start..end).rev() {
                let scale = l[a * stride + a];
                z[a] = z[a].map(|z| z / scale);
                let done = z[a];
                for b in start..a {
                    subtract(&mut z[b], l[b * stride + a], &done);
                }
            }
            end = start;
        }
    }
}

/// `sum ← sum − l x`.
#[inline(always)]
fn subtract(sum: &mut Wide, l: f64, x: &Wide) {
    for (sum, x) in sum.iter_mut().zip(x) {
        *sum -= l * x;
    }
}

/// Takes row and column `f` out.
pub(super) struct Remove<'a> {
    pub(super) columns: &'a mut [f64],
    pub(super) stride: usize,
    pub(super) order: usize,
    pub(super) f: usize,
}

impl Job for Remove<'_> {
    type Output = ();

    /// The rows below `f` lose column `f` and gain it back as a rank-one update of what is left, by rotations.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { columns: l, stride, order: m, f } = self;
        for g in 0..f {
            l[g * stride..].copy_within(f + 1..m, f);
        }
        let mut update = l[f * stride..][f + 1..m].to_vec();
        for i in f + 1..m {
            // Old column i becomes column i - 1, one row higher.
            let (before, from) = l.split_at_mut(i * stride);
            let (new, old) = (&mut before[(i - 1) * stride..][i - 1..m - 1], &from[i..m]);
            let (first, rest) = update[i - f - 1..].split_first_mut().expect("as many as rows are left");
            let diagonal = old[0].hypot(*first);
            let (c, s) = (old[0] / diagonal, *first / diagonal);
            new[0] = diagonal;
            for ((new, &old), update) in new[1..].iter_mut().zip(&old[1..]).zip(rest) {
                *new = c * old + s * *update;
                *update = c * *update - s * old;
            }
        }
    }
}
