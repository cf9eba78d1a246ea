//! Systems with a triangular matrix, and the matrix without a row and column.
//!
//! Right-hand sides stand side by side, one or [`WIDTH`] of them: row `f` of a system starts at `f · width`. Several fill the lanes of
//! vectors; where there is one, the compiler makes vectors of its rows. Every sum has the same terms in the same order both ways.

use super::factor::WIDTH;
use crate::simd::{Job, Lanes, Several, Target};

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
    /// Rows `from` and below of a column.
    #[inline(always)]
    fn column(&self, g: usize, from: usize) -> &[f64] {
        &self.columns[g * self.stride..][from..self.order]
    }
}

/// A system to be solved in place.
pub(super) struct System<'a> {
    pub(super) triangle: Triangle<'a>,
    /// The right-hand sides, which the solutions take the place of.
    pub(super) z: &'a mut [f64],
    /// How many there are: one or [`WIDTH`].
    pub(super) width: usize,
}

/// Solves `L z = k`, where `k` is zero before row `first`.
pub(super) struct Forward<'a> {
    pub(super) system: System<'a>,
    pub(super) first: usize,
}

impl Job for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { system: System { triangle, z, width }, first } = self;
        match (width, <G::F64 as Lanes>::COUNT) {
            (1, _) => forward::<f64>(triangle, z, first),
            (_, 8) => forward::<Several<G::F64, 1>>(triangle, z, first),
            (_, 4) => forward::<Several<G::F64, 2>>(triangle, z, first),
            (_, 2) => forward::<Several<G::F64, 4>>(triangle, z, first),
            _ => forward::<Several<f64, WIDTH>>(triangle, z, first),
        }
    }
}

/// Solves `Lᵀ x = z`.
pub(super) struct Backward<'a>(pub(super) System<'a>);

impl Job for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let System { triangle, z, width } = self.0;
        match (width, <G::F64 as Lanes>::COUNT) {
            (1, _) => backward::<f64>(triangle, z),
            (_, 8) => backward::<Several<G::F64, 1>>(triangle, z),
            (_, 4) => backward::<Several<G::F64, 2>>(triangle, z),
            (_, 2) => backward::<Several<G::F64, 4>>(triangle, z),
            _ => backward::<Several<f64, WIDTH>>(triangle, z),
        }
    }
}

/// For every `f`: `z_f ← (k_f − L_f0 z_0 − L_f1 z_1 − …) / L_ff`, the terms from the left.
#[inline(always)]
fn forward<V: Lanes<Elem = f64>>(triangle: Triangle<'_>, z: &mut [f64], first: usize) {
    let Triangle { columns: l, stride, order: m } = triangle;
    let row = |f: usize| f * V::COUNT;
    let mut g = first;
    while g < m {
        let end = m.min(g + BLOCK);
        for a in g..end {
            let done = V::read(&z[row(a)..]) / V::splat(l[a * stride + a]);
            done.write(&mut z[row(a)..]);
            for b in a + 1..end {
                (V::read(&z[row(b)..]) - done * V::splat(l[a * stride + b])).write(&mut z[row(b)..]);
            }
        }
        // Fewer columns than a block are the last: there is nothing below them.
        if end == g + BLOCK {
            let (above, below) = z.split_at_mut(row(end));
            // Written out: closures are compiled for the oldest processor, and called.
            let mut done = [V::splat(0.0); BLOCK];
            for (j, done) in done.iter_mut().enumerate() {
                *done = V::read(&above[row(g + j)..]);
            }
            let [c0, c1, c2, c3]: [&[f64]; BLOCK] = std::array::from_fn(|j| triangle.column(g + j, end));
            for ((((z, &l0), &l1), &l2), &l3) in below.chunks_exact_mut(V::COUNT).zip(c0).zip(c1).zip(c2).zip(c3) {
                let sum = V::read(z) - done[0] * V::splat(l0) - done[1] * V::splat(l1);
                (sum - done[2] * V::splat(l2) - done[3] * V::splat(l3)).write(z);
            }
        }
        g = end;
    }
}

/// For every `g`, from the last: `x_g ← (z_g − Σ L_fg x_f) / L_gg`. The sum over the rows below the block of `g` comes first, in
/// [`PARTS`]; then the rows of the block follow from the bottom.
#[inline(always)]
fn backward<V: Lanes<Elem = f64>>(triangle: Triangle<'_>, z: &mut [f64]) {
    let Triangle { columns: l, stride, order: m } = triangle;
    let row = |f: usize| f * V::COUNT;
    let mut end = m;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let (above, below) = z.split_at_mut(row(end));
        // Sums of one right-hand side leave registers for several columns.
        if V::COUNT == 1 && end - start == BLOCK {
            let sums = products::<V, BLOCK>(std::array::from_fn(|j| triangle.column(start + j, end)), below);
            for (j, sum) in sums.into_iter().enumerate() {
                (V::read(&above[row(start + j)..]) - sum).write(&mut above[row(start + j)..]);
            }
        } else {
            for g in start..end {
                let [sum] = products::<V, 1>([triangle.column(g, end)], below);
                (V::read(&above[row(g)..]) - sum).write(&mut above[row(g)..]);
            }
        }
        for a in (start..end).rev() {
            let done = V::read(&z[row(a)..]) / V::splat(l[a * stride + a]);
            done.write(&mut z[row(a)..]);
            for b in start..a {
                (V::read(&z[row(b)..]) - done * V::splat(l[b * stride + a])).write(&mut z[row(b)..]);
            }
        }
        end = start;
    }
}

/// The product of each of a few columns with `x`.
#[inline(always)]
fn products<V: Lanes<Elem = f64>, const COLUMNS: usize>(columns: [&[f64]; COLUMNS], x: &[f64]) -> [V; COLUMNS] {
    let mut parts = [[V::splat(0.0); PARTS]; COLUMNS];
    let n = x.len() / V::COUNT;
    let whole = n - n % PARTS;
    let columns = columns.map(|column| &column[..n]);
    for (at, group) in x[..whole * V::COUNT].chunks_exact(PARTS * V::COUNT).enumerate() {
        for (parts, column) in parts.iter_mut().zip(&columns) {
            let l = &column[at * PARTS..][..PARTS];
            for part in 0..PARTS {
                parts[part] = parts[part] + V::read(&group[part * V::COUNT..]) * V::splat(l[part]);
            }
        }
    }
    for (parts, column) in parts.iter_mut().zip(&columns) {
        let rest = x[whole * V::COUNT..].chunks_exact(V::COUNT).zip(&column[whole..]);
        for (part, (x, &l)) in parts.iter_mut().zip(rest) {
            *part = *part + V::read(x) * V::splat(l);
        }
    }
    let mut sums = [V::splat(0.0); COLUMNS];
    for (sum, [a, b, c, d]) in sums.iter_mut().zip(parts) {
        *sum = (a + b) + (c + d);
    }
    sums
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
