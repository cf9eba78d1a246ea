//! Systems with a triangular matrix, and the matrix without a row and column.
//!
//! Right-hand sides stand side by side, one, two or [`WIDTH`](super::factor::WIDTH) of them: row `f` of a system starts at `f · width`. Many fill the lanes of
//! vectors; where there are one or two, vectors run along their rows. Two take little longer than one: what takes time is reading the matrix. Every number
//! goes through the same operations in the same order all ways: below a block of columns they are multiply-adds of vectors, within it products
//! and differences of single numbers.

use super::passes::MOST_LANES;
use crate::simd::{Job, Lanes, Several, Target};

/// Columns that are eliminated together.
const BLOCK: usize = 4;

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
    /// How many there are: one, two or [`WIDTH`](super::factor::WIDTH).
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
            (1, _) => forward_along::<G::F64, 1>(triangle, [z]),
            (2, _) => {
                let (mut first, mut second) = apart(z);
                forward_along::<G::F64, 2>(triangle, [&mut first, &mut second]);
                side_by_side(&first, &second, z);
            }
            (_, 8) => forward_across::<Several<G::F64, 1>>(triangle, z),
            (_, 4) => forward_across::<Several<G::F64, 2>>(triangle, z),
            _ => forward_across::<Several<G::F64, 4>>(triangle, z),
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
            (1, _) => backward_along::<G::F64, 1>(triangle, [z]),
            (2, _) => {
                let (mut first, mut second) = apart(z);
                backward_along::<G::F64, 2>(triangle, [&mut first, &mut second]);
                side_by_side(&first, &second, z);
            }
            (_, 8) => backward_across::<Several<G::F64, 1>, 8>(triangle, z),
            (_, 4) => backward_across::<Several<G::F64, 2>, 4>(triangle, z),
            _ => backward_across::<Several<G::F64, 4>, 2>(triangle, z),
        }
    }
}

/// Two right-hand sides that stand side by side, each by itself.
fn apart(z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    z.chunks_exact(2).map(|row| (row[0], row[1])).unzip()
}

/// And back again.
fn side_by_side(first: &[f64], second: &[f64], z: &mut [f64]) {
    for ((row, a), b) in z.chunks_exact_mut(2).zip(first).zip(second) {
        row.copy_from_slice(&[*a, *b]);
    }
}

// Forward, for every `f`: `z_f ← (k_f − L_f0 z_0 − L_f1 z_1 − …) / L_ff`, the terms from the left.

/// Row by row, all right-hand sides of a row together: a row is a `V`.
#[inline(always)]
fn forward_across<V: Lanes<Elem = f64>>(triangle: Triangle<'_>, z: &mut [f64]) {
    let row = |f: usize| f * V::COUNT;
    let mut g = 0;
    while g < triangle.order {
        let end = triangle.order.min(g + BLOCK);
        if end < g + BLOCK {
            // Fewer columns than a block are the last: there is nothing below them.
            eliminate::<V, 1>(triangle, &mut [z], g, end - g);
        } else {
            eliminate::<V, 1>(triangle, &mut [z], g, BLOCK);
            let (above, below) = z.split_at_mut(row(end));
            // Written out: closures are compiled for the oldest processor, and called.
            let mut minus = [V::splat(0.0); BLOCK];
            for (j, minus) in minus.iter_mut().enumerate() {
                *minus = -V::read(&above[row(g + j)..]);
            }
            let (c0, c1) = (triangle.column(g, end), triangle.column(g + 1, end));
            let (c2, c3) = (triangle.column(g + 2, end), triangle.column(g + 3, end));
            for ((((z, &l0), &l1), &l2), &l3) in below.chunks_exact_mut(V::COUNT).zip(c0).zip(c1).zip(c2).zip(c3) {
                let sum = minus[0].mul_add(V::splat(l0), V::read(z));
                let sum = minus[1].mul_add(V::splat(l1), sum);
                let sum = minus[2].mul_add(V::splat(l2), sum);
                minus[3].mul_add(V::splat(l3), sum).write(z);
            }
        }
        g = end;
    }
}

/// Along the rows of each of `K` right-hand sides, a vector of them at a time.
#[inline(always)]
fn forward_along<L: Lanes<Elem = f64>, const K: usize>(triangle: Triangle<'_>, mut zs: [&mut [f64]; K]) {
    let mut g = 0;
    while g < triangle.order {
        let end = triangle.order.min(g + BLOCK);
        if end < g + BLOCK {
            eliminate::<f64, K>(triangle, &mut zs, g, end - g);
        } else {
            eliminate::<f64, K>(triangle, &mut zs, g, BLOCK);
            subtract_along::<L, K>(triangle, &mut zs, g, end);
        }
        g = end;
    }
}

/// `n` columns of a block from `g` on, within the block. Whole blocks are called with a size that the compiler knows: their numbers then
/// stay in registers.
#[inline(always)]
fn eliminate<V: Lanes<Elem = f64>, const K: usize>(
    triangle: Triangle<'_>,
    zs: &mut [&mut [f64]; K],
    g: usize,
    n: usize,
) {
    let mut blocks = read_blocks::<V, K>(zs, g, n);
    for a in 0..n {
        let l = &triangle.columns[(g + a) * triangle.stride + g..][..n];
        for block in &mut blocks {
            let (above, below) = block[..n].split_at_mut(a + 1);
            above[a] = above[a] / V::splat(l[a]);
            for (z, &l) in below.iter_mut().zip(&l[a + 1..]) {
                *z = *z - above[a] * V::splat(l);
            }
        }
    }
    write_blocks(&blocks, zs, g, n);
}

/// `n` rows from `g` on, of every right-hand side.
#[inline(always)]
fn read_blocks<V: Lanes<Elem = f64>, const K: usize>(zs: &[&mut [f64]; K], g: usize, n: usize) -> [[V; BLOCK]; K] {
    let mut blocks = [[V::splat(0.0); BLOCK]; K];
    for (block, z) in blocks.iter_mut().zip(zs) {
        for (f, row) in block[..n].iter_mut().enumerate() {
            *row = V::read(&z[(g + f) * V::COUNT..]);
        }
    }
    blocks
}

/// And back again.
#[inline(always)]
fn write_blocks<V: Lanes<Elem = f64>, const K: usize>(
    blocks: &[[V; BLOCK]; K],
    zs: &mut [&mut [f64]; K],
    g: usize,
    n: usize,
) {
    for (block, z) in blocks.iter().zip(zs) {
        for (f, row) in block[..n].iter().enumerate() {
            row.write(&mut z[(g + f) * V::COUNT..]);
        }
    }
}

/// `z ← z − Σ_j z_j column_j` below a block of columns, the terms from the left.
#[inline(always)]
#[allow(
    clippy::needless_range_loop,
    reason = "sums and factors that are walked by iterators stay in memory, not in registers"
)]
fn subtract_along<L: Lanes<Elem = f64>, const K: usize>(
    triangle: Triangle<'_>,
    zs: &mut [&mut [f64]; K],
    g: usize,
    end: usize,
) {
    let mut minus = [[L::splat(0.0); BLOCK]; K];
    for (minus, z) in minus.iter_mut().zip(&*zs) {
        for (minus, &z) in minus.iter_mut().zip(&z[g..end]) {
            *minus = L::splat(-z);
        }
    }
    let whole = end + (triangle.order - end) / L::COUNT * L::COUNT;
    let (c0, r0) = triangle.column(g, end).split_at(whole - end);
    let (c1, r1) = triangle.column(g + 1, end).split_at(whole - end);
    let (c2, r2) = triangle.column(g + 2, end).split_at(whole - end);
    let (c3, r3) = triangle.column(g + 3, end).split_at(whole - end);
    let (c0, c1) = (c0.chunks_exact(L::COUNT), c1.chunks_exact(L::COUNT));
    let (c2, c3) = (c2.chunks_exact(L::COUNT), c3.chunks_exact(L::COUNT));
    for (at, (((l0, l1), l2), l3)) in c0.zip(c1).zip(c2).zip(c3).enumerate() {
        let l = [L::read(l0), L::read(l1), L::read(l2), L::read(l3)];
        for k in 0..K {
            let z = &mut zs[k][end + at * L::COUNT..][..L::COUNT];
            less(L::read(z), &minus[k], &l).write(z);
        }
    }
    if !r0.is_empty() {
        let l = [read_short(r0), read_short(r1), read_short(r2), read_short(r3)];
        for (z, minus) in zs.iter_mut().zip(&minus) {
            let rest = &mut z[whole..];
            let mut sums = [0.0; MOST_LANES];
            less(read_short::<L>(rest), minus, &l).write(&mut sums);
            for (z, sum) in rest.iter_mut().zip(sums) {
                *z = sum;
            }
        }
    }
}

/// `z + Σ_j minus_j l_j`, the terms from the left.
#[inline(always)]
fn less<L: Lanes<Elem = f64>>(z: L, minus: &[L; BLOCK], l: &[L; BLOCK]) -> L {
    let sum = minus[0].mul_add(l[0], z);
    let sum = minus[1].mul_add(l[1], sum);
    let sum = minus[2].mul_add(l[2], sum);
    minus[3].mul_add(l[3], sum)
}

// Backward, for every `g`, from the last: `x_g ← (z_g − Σ L_fg x_f) / L_gg`. The sum over the rows below the block of `g` comes first, one for each of as
// many parts as vectors have lanes, of every so many rows, and then their sum; then the rows of the block follow from the bottom.

/// Row by row, all right-hand sides of a row together: a row is a `V`.
#[inline(always)]
fn backward_across<V: Lanes<Elem = f64>, const PARTS: usize>(triangle: Triangle<'_>, z: &mut [f64]) {
    let row = |f: usize| f * V::COUNT;
    let mut end = triangle.order;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let (above, below) = z.split_at_mut(row(end));
        // One by one: the parts of one column fill half the registers.
        for g in start..end {
            let sum = product_across::<V, PARTS>(triangle.column(g, end), below);
            (V::read(&above[row(g)..]) - sum).write(&mut above[row(g)..]);
        }
        if end - start == BLOCK {
            substitute::<V, 1>(triangle, &mut [z], start, BLOCK);
        } else {
            substitute::<V, 1>(triangle, &mut [z], start, end - start);
        }
        end = start;
    }
}

/// Along the rows of each of `K` right-hand sides, a vector of them at a time.
#[inline(always)]
fn backward_along<L: Lanes<Elem = f64>, const K: usize>(triangle: Triangle<'_>, mut zs: [&mut [f64]; K]) {
    let mut end = triangle.order;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        if end - start == BLOCK {
            let columns = [
                triangle.column(start, end),
                triangle.column(start + 1, end),
                triangle.column(start + 2, end),
                triangle.column(start + 3, end),
            ];
            subtract_products::<L, K, BLOCK>(columns, &mut zs, start, end);
            substitute::<f64, K>(triangle, &mut zs, start, BLOCK);
        } else {
            for g in start..end {
                subtract_products::<L, K, 1>([triangle.column(g, end)], &mut zs, g, end);
            }
            substitute::<f64, K>(triangle, &mut zs, start, end - start);
        }
        end = start;
    }
}

/// `n` rows of a block from `g` on, from the bottom, within the block.
#[inline(always)]
fn substitute<V: Lanes<Elem = f64>, const K: usize>(
    triangle: Triangle<'_>,
    zs: &mut [&mut [f64]; K],
    g: usize,
    n: usize,
) {
    let mut blocks = read_blocks::<V, K>(zs, g, n);
    for a in (0..n).rev() {
        for block in &mut blocks {
            let (above, below) = block[..n].split_at_mut(a);
            below[0] = below[0] / V::splat(triangle.columns[(g + a) * triangle.stride + g + a]);
            for (b, z) in above.iter_mut().enumerate() {
                *z = *z - below[0] * V::splat(triangle.columns[(g + b) * triangle.stride + g + a]);
            }
        }
    }
    write_blocks(&blocks, zs, g, n);
}

/// The product of a column with `x`.
#[inline(always)]
fn product_across<V: Lanes<Elem = f64>, const PARTS: usize>(column: &[f64], x: &[f64]) -> V {
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
    let mut sum = parts[0];
    for part in &parts[1..] {
        sum = sum + *part;
    }
    sum
}

/// Takes the products of `columns` with what is below `end` from the rows that start at `start`.
#[inline(always)]
#[allow(
    clippy::needless_range_loop,
    reason = "sums and factors that are walked by iterators stay in memory, not in registers"
)]
fn subtract_products<L: Lanes<Elem = f64>, const K: usize, const COLUMNS: usize>(
    columns: [&[f64]; COLUMNS],
    zs: &mut [&mut [f64]; K],
    start: usize,
    end: usize,
) {
    let mut parts = [[L::splat(0.0); COLUMNS]; K];
    let (n, whole) = (columns[0].len(), columns[0].len() / L::COUNT * L::COUNT);
    let mut at = 0;
    while at < whole {
        let mut l = [L::splat(0.0); COLUMNS];
        for j in 0..COLUMNS {
            l[j] = L::read(&columns[j][at..]);
        }
        for k in 0..K {
            let x = L::read(&zs[k][end + at..]);
            for j in 0..COLUMNS {
                parts[k][j] = x.mul_add(l[j], parts[k][j]);
            }
        }
        at += L::COUNT;
    }
    if whole < n {
        for (parts, z) in parts.iter_mut().zip(&*zs) {
            let x: L = read_short(&z[end + whole..]);
            for (part, column) in parts.iter_mut().zip(columns) {
                *part = x.mul_add(read_short(&column[whole..]), *part);
            }
        }
    }
    for (parts, z) in parts.iter().zip(zs) {
        for (part, z) in parts.iter().zip(&mut z[start..]) {
            let mut lanes = [0.0; MOST_LANES];
            part.write(&mut lanes);
            let mut sum = lanes[0];
            for lane in &lanes[1..L::COUNT] {
                sum += lane;
            }
            *z -= sum;
        }
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
