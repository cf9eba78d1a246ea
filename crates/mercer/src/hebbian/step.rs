//! One update as a small linear map, applied to many columns at once.
//!
//! # Method
//!
//! An update multiplies `S = [A; B]` from the left by
//!
//! ```text
//! M = [ I − D L              0           ]      L  = lt(y yᵀ)
//!     [ −D (L + ξ L')        ξ (I − D L) ]      L' = lt(b yᵀ + y bᵀ)
//! ```
//!
//! with `D` diagonal; without meta-descent only the first block is there. `lt(y yᵀ) v` is `y` times the running sums of `y v`, so a
//! column costs `O(r)`, not `O(r²)`. Rows of the panels below are components, so that the innermost loops run over columns, which
//! are independent of each other.

use crate::simd::{Isa, Job, Target};

/// The numbers that make up `M`.
pub(super) struct Step {
    /// `y = A k'`.
    pub(super) y: Vec<f64>,
    /// `b = B k'`; empty without meta-descent.
    pub(super) b: Vec<f64>,
    /// The diagonal of `D`: gains, adapted ones included.
    pub(super) d: Vec<f64>,
    pub(super) xi: f64,
    /// Running sums, one per column.
    sums: Vec<f64>,
}

impl Step {
    /// Room for `r` components and panels of up to `columns` columns.
    pub(super) fn new(r: usize, adapts: bool, xi: f64, columns: usize) -> Self {
        Self {
            y: vec![0.0; r],
            b: vec![0.0; if adapts { r } else { 0 }],
            d: vec![0.0; r],
            xi,
            sums: vec![0.0; 2 * columns],
        }
    }

    /// `panel ← M panel`, for a panel whose rows are those of `S`.
    pub(super) fn apply(&mut self, isa: Isa, panel: &mut [f64], columns: usize) {
        if self.b.is_empty() {
            self.apply_upper(isa, panel, columns);
        } else {
            isa.run(Stacked { step: self, panel, columns });
        }
    }

    /// `panel ← (I − D L) panel`, for a panel whose rows are those of `A`.
    pub(super) fn apply_upper(&mut self, isa: Isa, panel: &mut [f64], columns: usize) {
        isa.run(Upper { step: self, panel, columns });
    }
}

struct Upper<'a> {
    step: &'a mut Step,
    panel: &'a mut [f64],
    columns: usize,
}

impl Job for Upper<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let sums = &mut self.step.sums[..self.columns];
        sums.fill(0.0);
        for ((row, &y), &d) in self.panel.chunks_exact_mut(self.columns).zip(&self.step.y).zip(&self.step.d) {
            let factor = d * y;
            for (v, sum) in row.iter_mut().zip(sums.iter_mut()) {
                *sum += y * *v;
                *v -= factor * *sum;
            }
        }
    }
}

struct Stacked<'a> {
    step: &'a mut Step,
    panel: &'a mut [f64],
    columns: usize,
}

impl Job for Stacked<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Step { y, b, d, xi, sums } = self.step;
        let (n, xi) = (self.columns, *xi);
        let (upper, lower) = self.panel.split_at_mut(y.len() * n);
        // Sums of y va, and of y vb + b va.
        let (first, second) = sums[..2 * n].split_at_mut(n);
        first.fill(0.0);
        second.fill(0.0);
        for (i, (va, vb)) in upper.chunks_exact_mut(n).zip(lower.chunks_exact_mut(n)).enumerate() {
            let (y, b, d) = (y[i], b[i], d[i]);
            let (dy, mixed, late) = (d * y, d * (y + xi * b), d * xi * y);
            for (((va, vb), first), second) in va.iter_mut().zip(vb).zip(first.iter_mut()).zip(second.iter_mut()) {
                *first += y * *va;
                *second += y * *vb + b * *va;
                *va -= dy * *first;
                *vb = xi * *vb - mixed * *first - late * *second;
            }
        }
    }
}

/// `row ← row + factor · other`.
pub(super) struct AddMultiple<'a> {
    pub(super) row: &'a mut [f64],
    pub(super) other: &'a [f64],
    pub(super) factor: f64,
}

impl Job for AddMultiple<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        for (x, other) in self.row.iter_mut().zip(self.other) {
            *x += self.factor * other;
        }
    }
}

/// `matrix += moved w₁ᵀ + w moved₁ᵀ + square w w₁ᵀ`, where `moved₁` and `w₁` are the first entries, as many as there are columns.
pub(super) struct AddPair<'a> {
    pub(super) matrix: &'a mut [f64],
    pub(super) moved: &'a [f64],
    pub(super) weights: &'a [f64],
    pub(super) square: f64,
    pub(super) columns: usize,
}

impl Job for AddPair<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let (moved_row, weight_row) = (&self.moved[..self.columns], &self.weights[..self.columns]);
        let rows = self.matrix.chunks_exact_mut(self.columns).zip(self.moved).zip(self.weights);
        for ((row, &moved), &weight) in rows {
            let factor = moved + self.square * weight;
            for ((x, &moved_j), &weight_j) in row.iter_mut().zip(moved_row).zip(weight_row) {
                *x += factor * weight_j + weight * moved_j;
            }
        }
    }
}

/// `into ← fromᵀ`, both row by row.
pub(super) struct Transpose<'a> {
    pub(super) from: &'a [f64],
    /// Columns of `from`.
    pub(super) columns: usize,
    pub(super) into: &'a mut [f64],
}

impl Job for Transpose<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let rows = self.from.len() / self.columns;
        for (j, row) in self.into.chunks_exact_mut(rows).enumerate() {
            for (x, from) in row.iter_mut().zip(self.from.chunks_exact(self.columns)) {
                *x = from[j];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;

    /// `M` written out, entry by entry.
    fn matrix(step: &Step) -> Mat<f64> {
        let r = step.y.len();
        let lower = |i: usize, j: usize, value: f64| if j <= i { value } else { 0.0 };
        Mat::from_fn(r + step.b.len(), r + step.b.len(), |row, column| {
            let (i, j) = (row % r, column % r);
            let l = lower(i, j, step.y[i] * step.y[j]);
            let unit = f64::from(u8::from(i == j));
            match (row < r, column < r) {
                (true, true) => unit - step.d[i] * l,
                (true, false) => 0.0,
                (false, true) => {
                    let mixed = lower(i, j, step.b[i] * step.y[j] + step.y[i] * step.b[j]);
                    -step.d[i] * (l + step.xi * mixed)
                }
                (false, false) => step.xi * (unit - step.d[i] * l),
            }
        })
    }

    #[test]
    fn applying_a_step_is_multiplying_by_its_matrix() {
        for adapts in [false, true] {
            for isa in Isa::available() {
                let (r, columns) = (5, 7);
                let value = |at: usize| ((at * 37 + 11) % 19) as f64 / 7.0 - 1.2;
                let mut step = Step::new(r, adapts, 0.9, columns);
                step.y.iter_mut().enumerate().for_each(|(i, y)| *y = value(i));
                step.b.iter_mut().enumerate().for_each(|(i, b)| *b = value(i + 20));
                step.d.iter_mut().enumerate().for_each(|(i, d)| *d = value(i + 40).abs());
                let rows = r + step.b.len();
                let before = Mat::from_fn(rows, columns, |i, j| value(i * columns + j + 3));
                let expected = matrix(&step) * &before;
                let mut panel: Vec<f64> = (0..rows * columns).map(|at| before[(at / columns, at % columns)]).collect();
                step.apply(isa, &mut panel, columns);
                for (at, found) in panel.iter().enumerate() {
                    let expected = expected[(at / columns, at % columns)];
                    assert!((found - expected).abs() < 1e-13, "{isa:?}, {adapts}, entry {at}: {found} {expected}");
                }
            }
        }
    }
}
