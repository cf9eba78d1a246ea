//! Systems with a triangular matrix, and the matrix without a row and column.
//!
//! Right-hand sides stand side by side, one or [`WIDTH`](super::factor::WIDTH) of them: row `f` of a system starts at `f · width`. Several fill the lanes of
//! vectors; where there is one, vectors run along its rows. Every number goes through the same operations in the same order both
//! ways: below a block of columns they are multiply-adds of vectors, within it products and differences of single numbers.

use std::marker::PhantomData;

use crate::simd::{Job, Lanes, Several, Target};

/// Columns that are eliminated together.
const BLOCK: usize = 4;
/// Lanes of the longest vector there is.
const MOST_LANES: usize = 8;

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
    /// How many there are: one or [`WIDTH`](super::factor::WIDTH).
    pub(super) width: usize,
}

/// Solves `L z = k`.
pub(super) struct Forward<'a>(pub(super) System<'a>);

impl Job for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let System { triangle, z, width } = self.0;
        match (width, <G::F64 as Lanes>::COUNT) {
            (1, _) => forward::<f64, Along<G::F64>>(triangle, z),
            (_, 8) => forward::<Several<G::F64, 1>, Across<8>>(triangle, z),
            (_, 4) => forward::<Several<G::F64, 2>, Across<4>>(triangle, z),
            _ => forward::<Several<G::F64, 4>, Across<2>>(triangle, z),
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
            (1, _) => backward::<f64, Along<G::F64>>(triangle, z),
            (_, 8) => backward::<Several<G::F64, 1>, Across<8>>(triangle, z),
            (_, 4) => backward::<Several<G::F64, 2>, Across<4>>(triangle, z),
            _ => backward::<Several<G::F64, 4>, Across<2>>(triangle, z),
        }
    }
}

/// For every `f`: `z_f ← (k_f − L_f0 z_0 − L_f1 z_1 − …) / L_ff`, the terms from the left.
#[inline(always)]
fn forward<V: Lanes<Elem = f64>, W: Walk<V>>(triangle: Triangle<'_>, z: &mut [f64]) {
    let Triangle { columns: l, stride, order: m } = triangle;
    let row = |f: usize| f * V::COUNT;
    let mut g = 0;
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
            let mut minus = [V::splat(0.0); BLOCK];
            for (j, minus) in minus.iter_mut().enumerate() {
                *minus = -V::read(&above[row(g + j)..]);
            }
            W::add(below, minus, std::array::from_fn(|j| triangle.column(g + j, end)));
        }
        g = end;
    }
}

/// For every `g`, from the last: `x_g ← (z_g − Σ L_fg x_f) / L_gg`. The sum over the rows below the block of `g` comes first; then the
/// rows of the block follow from the bottom.
#[inline(always)]
fn backward<V: Lanes<Elem = f64>, W: Walk<V>>(triangle: Triangle<'_>, z: &mut [f64]) {
    let Triangle { columns: l, stride, order: m } = triangle;
    let row = |f: usize| f * V::COUNT;
    let mut end = m;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let (above, below) = z.split_at_mut(row(end));
        if end - start == BLOCK {
            let sums = W::products::<BLOCK>(std::array::from_fn(|j| triangle.column(start + j, end)), below);
            for (j, sum) in sums.into_iter().enumerate() {
                (V::read(&above[row(start + j)..]) - sum).write(&mut above[row(start + j)..]);
            }
        } else {
            for g in start..end {
                let [sum] = W::products::<1>([triangle.column(g, end)], below);
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

/// How the rows below a block of columns are gone through; a row is a `V`.
trait Walk<V> {
    /// `z ← z + Σ_j factor_j column_j`, the terms from the left.
    fn add(z: &mut [f64], factors: [V; BLOCK], columns: [&[f64]; BLOCK]);

    /// The product of each column with `x`: a sum for each of as many parts as vectors have lanes, of every so many rows; then their sum.
    fn products<const COLUMNS: usize>(columns: [&[f64]; COLUMNS], x: &[f64]) -> [V; COLUMNS];
}

/// Row by row, all right-hand sides of a row together.
struct Across<const PARTS: usize>;

impl<V: Lanes<Elem = f64>, const PARTS: usize> Walk<V> for Across<PARTS> {
    #[inline(always)]
    fn add(z: &mut [f64], factors: [V; BLOCK], columns: [&[f64]; BLOCK]) {
        let [c0, c1, c2, c3] = columns;
        for ((((z, &l0), &l1), &l2), &l3) in z.chunks_exact_mut(V::COUNT).zip(c0).zip(c1).zip(c2).zip(c3) {
            let sum = factors[0].mul_add(V::splat(l0), V::read(z));
            let sum = factors[1].mul_add(V::splat(l1), sum);
            let sum = factors[2].mul_add(V::splat(l2), sum);
            factors[3].mul_add(V::splat(l3), sum).write(z);
        }
    }

    #[inline(always)]
    fn products<const COLUMNS: usize>(columns: [&[f64]; COLUMNS], x: &[f64]) -> [V; COLUMNS] {
        let mut sums = [V::splat(0.0); COLUMNS];
        // One by one: the parts of one column fill half the registers.
        for (sum, column) in sums.iter_mut().zip(columns) {
            let mut parts = [V::splat(0.0); PARTS];
            let (groups, ls) = (x.chunks_exact(PARTS * V::COUNT), column.chunks_exact(PARTS));
            let rest = groups.remainder().chunks_exact(V::COUNT).zip(ls.remainder());
            for (group, l) in groups.zip(ls) {
                for part in 0..PARTS {
                    parts[part] = V::read(&group[part * V::COUNT..]).mul_add(V::splat(l[part]), parts[part]);
                }
            }
            for (part, (x, &l)) in parts.iter_mut().zip(rest) {
                *part = V::read(x).mul_add(V::splat(l), *part);
            }
            *sum = parts[0];
            for part in &parts[1..] {
                *sum = *sum + *part;
            }
        }
        sums
    }
}

/// Along the rows of one right-hand side, a vector of them at a time.
struct Along<L>(PhantomData<L>);

impl<L: Lanes<Elem = f64>> Walk<f64> for Along<L> {
    #[inline(always)]
    fn add(z: &mut [f64], factors: [f64; BLOCK], columns: [&[f64]; BLOCK]) {
        let [c0, c1, c2, c3] = columns;
        let factors = [L::splat(factors[0]), L::splat(factors[1]), L::splat(factors[2]), L::splat(factors[3])];
        let (z, rest) = z.split_at_mut(z.len() - z.len() % L::COUNT);
        let (c0, r0) = c0.split_at(z.len());
        let (c1, r1) = c1.split_at(z.len());
        let (c2, r2) = c2.split_at(z.len());
        let (c3, r3) = c3.split_at(z.len());
        let (c0, c1) = (c0.chunks_exact(L::COUNT), c1.chunks_exact(L::COUNT));
        let (c2, c3) = (c2.chunks_exact(L::COUNT), c3.chunks_exact(L::COUNT));
        for ((((z, l0), l1), l2), l3) in z.chunks_exact_mut(L::COUNT).zip(c0).zip(c1).zip(c2).zip(c3) {
            let sum = factors[0].mul_add(L::read(l0), L::read(z));
            let sum = factors[1].mul_add(L::read(l1), sum);
            let sum = factors[2].mul_add(L::read(l2), sum);
            factors[3].mul_add(L::read(l3), sum).write(z);
        }
        if !rest.is_empty() {
            let sum = factors[0].mul_add(read_short(r0), read_short(rest));
            let sum = factors[1].mul_add(read_short(r1), sum);
            let sum = factors[2].mul_add(read_short(r2), sum);
            let mut whole = [0.0; MOST_LANES];
            factors[3].mul_add(read_short(r3), sum).write(&mut whole);
            for (z, sum) in rest.iter_mut().zip(whole) {
                *z = sum;
            }
        }
    }

    #[inline(always)]
    fn products<const COLUMNS: usize>(columns: [&[f64]; COLUMNS], x: &[f64]) -> [f64; COLUMNS] {
        let mut parts = [L::splat(0.0); COLUMNS];
        let (x, rest) = x.split_at(x.len() - x.len() % L::COUNT);
        for (at, x) in x.chunks_exact(L::COUNT).enumerate() {
            let x = L::read(x);
            for (parts, column) in parts.iter_mut().zip(columns) {
                *parts = x.mul_add(L::read(&column[at * L::COUNT..]), *parts);
            }
        }
        if !rest.is_empty() {
            let last: L = read_short(rest);
            for (parts, column) in parts.iter_mut().zip(columns) {
                *parts = last.mul_add(read_short(&column[x.len()..]), *parts);
            }
        }
        let mut sums = [0.0; COLUMNS];
        for (sum, parts) in sums.iter_mut().zip(parts) {
            let mut lanes = [0.0; MOST_LANES];
            parts.write(&mut lanes);
            *sum = lanes[0];
            for lane in &lanes[1..L::COUNT] {
                *sum += lane;
            }
        }
        sums
    }
}

/// Numbers that do not fill a vector, and zeros.
#[inline(always)]
fn read_short<L: Lanes<Elem = f64>>(source: &[f64]) -> L {
    let mut whole = [0.0; MOST_LANES];
    for (x, &number) in whole.iter_mut().zip(source) {
        *x = number;
    }
    L::read(&whole)
}

/// Takes row and column `f` out.
pub(super) struct Remove<'a> {
    pub(super) columns: &'a mut [f64],
    pub(super) stride: usize,
    pub(super) order: usize,
    pub(super) f: usize,
    /// Becomes the row that was taken out, as it would be at the end: the solution of `L z = k` for its point, with what `L` is now.
    pub(super) row: &'a mut Vec<f64>,
    /// Room for numbers.
    pub(super) update: &'a mut Vec<f64>,
}

impl Job for Remove<'_> {
    /// The last entry of that row: the distance of its point from the span of the others.
    type Output = f64;

    /// The rows below `f` lose column `f` and gain it back as a rank-one update of what is left, by rotations. Row `f` takes part in them: it
    /// ends as the row of a factor in which it is the last.
    #[inline(always)]
    fn run<G: Target>(self) -> f64 {
        let Self { columns: l, stride, order: m, f, row, update } = self;
        row.clear();
        for column in l.chunks_exact_mut(stride).take(f) {
            row.push(column[f]);
            column.copy_within(f + 1..m, f);
        }
        let mut last = l[f * stride + f];
        update.clear();
        update.extend_from_slice(&l[f * stride..][f + 1..m]);
        for i in f + 1..m {
            // Old column i becomes column i - 1, one row higher.
            let (before, from) = l.split_at_mut(i * stride);
            let (new, old) = (&mut before[(i - 1) * stride..][i - 1..m - 1], &from[i..m]);
            let (first, rest) = update[i - f - 1..].split_first_mut().expect("as many as rows are left");
            let diagonal = length(old[0], *first);
            let (c, s) = (old[0] / diagonal, *first / diagonal);
            new[0] = diagonal;
            rotate::<G::F64>(&mut new[1..], &old[1..], rest, c, s);
            row.push(s * last);
            last *= c;
        }
        last
    }
}

/// `new ← c old + s update`, `update ← c update − s old`.
#[inline(always)]
fn rotate<L: Lanes<Elem = f64>>(new: &mut [f64], old: &[f64], update: &mut [f64], c: f64, s: f64) {
    let whole = new.len() - new.len() % L::COUNT;
    let (cs, ss) = (L::splat(c), L::splat(s));
    let (new, last_new) = new.split_at_mut(whole);
    let (update, last_update) = update.split_at_mut(whole);
    let (old, last_old) = old.split_at(whole);
    let olds = old.chunks_exact(L::COUNT);
    for ((new, old), update) in new.chunks_exact_mut(L::COUNT).zip(olds).zip(update.chunks_exact_mut(L::COUNT)) {
        let (o, u) = (L::read(old), L::read(update));
        cs.mul_add(o, ss * u).write(new);
        cs.mul_add(u, -(ss * o)).write(update);
    }
    for ((new, &old), update) in last_new.iter_mut().zip(last_old).zip(last_update) {
        *new = c * old + s * *update;
        *update = c * *update - s * old;
    }
}

/// The root of the sum of two squares; the long way only where a square would be out of range.
#[inline(always)]
fn length(a: f64, b: f64) -> f64 {
    let square = a * a + b * b;
    if (1e-280..1e280).contains(&square) { square.sqrt() } else { a.hypot(b) }
}
