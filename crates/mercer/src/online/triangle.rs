//! Systems with a triangular matrix, and the matrix without a row and column.
//!
//! Written as plain loops over arrays, which the compiler turns into vectors of the instruction set that the job is run on: over the
//! [`WIDTH`](super::factor::WIDTH) right-hand sides where there are so many, over the rows of the matrix where there is one. Every sum
//! has the same terms in the same order both ways.

use super::factor::Wide;
use crate::simd::{Job, Target};

/// Columns that are eliminated together.
const BLOCK: usize = 4;
/// Sums that a column's product with a solution is made of: one for every so many rows.
const PARTS: usize = 4;

/// A lower triangular matrix: entry `(f, g)` at `g · stride + f`.
#[derive(Clone, Copy)]
pub(super) struct Triangle<'a> {
    pub(super) columns: &'a [f64],
    pub(super) stride: usize,
    pub(super) order: usize,
}

impl Triangle<'_> {
    /// Some rows of a few columns.
    #[inline(always)]
    fn part<const COLUMNS: usize>(&self, first: usize, from: usize) -> [&[f64]; COLUMNS] {
        std::array::from_fn(|j| &self.columns[(first + j) * self.stride..][from..self.order])
    }
}

/// Solves `L z = k`, where `z` is `k` at first and zero before row `first`.
pub(super) struct Forward<'a, Z> {
    pub(super) triangle: Triangle<'a>,
    pub(super) z: &'a mut [Z],
    pub(super) first: usize,
}

impl<Z: Number> Job for Forward<'_, Z> {
    type Output = ();

    /// For every `f`: `z_f ← (k_f − L_f0 z_0 − L_f1 z_1 − …) / L_ff`, the terms from the left.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { triangle, z, first: mut g } = self;
        let Triangle { columns: l, stride, order: m } = triangle;
        while g < m {
            let block = BLOCK.min(m - g);
            for a in g..g + block {
                z[a] = z[a].over(l[a * stride + a]);
                let done = z[a];
                for b in a + 1..g + block {
                    z[b] = z[b].minus(done.times(l[a * stride + b]));
                }
            }
            let (above, below) = z.split_at_mut(g + block);
            if block == BLOCK {
                let done: [Z; BLOCK] = std::array::from_fn(|j| above[g + j]);
                let [c0, c1, c2, c3] = triangle.part(g, g + block);
                for ((((z, &l0), &l1), &l2), &l3) in below.iter_mut().zip(c0).zip(c1).zip(c2).zip(c3) {
                    let sum = z.minus(done[0].times(l0)).minus(done[1].times(l1));
                    *z = sum.minus(done[2].times(l2)).minus(done[3].times(l3));
                }
            }
            g += block;
        }
    }
}

/// Solves `Lᵀ x = z`, where `x` takes the place of `z`.
pub(super) struct Backward<'a, Z> {
    pub(super) triangle: Triangle<'a>,
    pub(super) z: &'a mut [Z],
}

impl<Z: Number> Job for Backward<'_, Z> {
    type Output = ();

    /// For every `g`, from the last: `x_g ← (z_g − Σ L_fg x_f) / L_gg`. The sum over the rows below the block of `g` comes first, in
    /// [`PARTS`]; then the rows of the block follow from the bottom.
    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { triangle, z } = self;
        let Triangle { columns: l, stride, order: m } = triangle;
        let mut end = m;
        while end > 0 {
            let start = end.saturating_sub(BLOCK);
            let (above, below) = z.split_at_mut(end);
            if end - start == BLOCK {
                let sums = products::<Z, BLOCK>(triangle.part(start, end), below);
                for (x, sum) in above[start..].iter_mut().zip(sums) {
                    *x = x.minus(sum);
                }
            } else {
                for g in start..end {
                    let [sum] = products::<Z, 1>(triangle.part(g, end), below);
                    above[g] = above[g].minus(sum);
                }
            }
            for a in (start..end).rev() {
                z[a] = z[a].over(l[a * stride + a]);
                let done = z[a];
                for b in start..a {
                    z[b] = z[b].minus(done.times(l[b * stride + a]));
                }
            }
            end = start;
        }
    }
}

/// The product of each of a few columns with `x`.
#[inline(always)]
fn products<Z: Number, const COLUMNS: usize>(columns: [&[f64]; COLUMNS], x: &[Z]) -> [Z; COLUMNS] {
    let mut parts = [[Z::ZERO; PARTS]; COLUMNS];
    let (groups, rest) = x.as_chunks::<PARTS>();
    for (at, group) in groups.iter().enumerate() {
        for (parts, column) in parts.iter_mut().zip(&columns) {
            let l: &[f64] = &column[at * PARTS..][..PARTS];
            for part in 0..PARTS {
                parts[part] = parts[part].plus(group[part].times(l[part]));
            }
        }
    }
    for (parts, column) in parts.iter_mut().zip(&columns) {
        for ((part, &x), &l) in parts.iter_mut().zip(rest).zip(&column[groups.len() * PARTS..]) {
            *part = part.plus(x.times(l));
        }
    }
    parts.map(|[a, b, c, d]| a.plus(b).plus(c.plus(d)))
}

/// What systems are solved for: one number, or one for each of several right-hand sides.
pub(super) trait Number: Copy {
    const ZERO: Self;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, factor: f64) -> Self;
    fn over(self, divisor: f64) -> Self;
    fn squared(self) -> Self;
}

impl Number for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }

    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self * factor
    }

    #[inline(always)]
    fn over(self, divisor: f64) -> Self {
        self / divisor
    }

    #[inline(always)]
    fn squared(self) -> Self {
        self * self
    }
}

impl Number for Wide {
    const ZERO: Self = [0.0; super::factor::WIDTH];

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        std::array::from_fn(|w| self[w] + other[w])
    }

    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        std::array::from_fn(|w| self[w] - other[w])
    }

    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        self.map(|x| x * factor)
    }

    #[inline(always)]
    fn over(self, divisor: f64) -> Self {
        self.map(|x| x / divisor)
    }

    #[inline(always)]
    fn squared(self) -> Self {
        self.map(|x| x * x)
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
