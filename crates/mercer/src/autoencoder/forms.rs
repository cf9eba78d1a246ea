//! Quadratic forms of `d` variables, one column each.
//!
//! # Layout
//!
//! A symmetric matrix is kept as its upper triangle, column by column, with off-diagonal entries times `√2`. Inner products of such
//! columns are those of the matrices, so a step along a gradient is the same in either, and everything costs half. Matrices that are not
//! symmetric (a start that was given may be so) are kept whole, column by column.

use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use crate::simd::{Isa, Job, Lanes, MOST_LANES, Target};
use crate::watch::Threads;

/// Rows of a block that is updated at a time: with the features of a hundred samples it fits the second-level cache.
const ROWS: usize = 2048;

/// How matrices are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Layout {
    /// The upper triangle of a symmetric matrix.
    Packed,
    /// All entries.
    Square,
}

impl Layout {
    /// Numbers of one matrix.
    pub(super) const fn len(self, d: usize) -> usize {
        match self {
            Self::Packed => d * (d + 1) / 2,
            Self::Square => d * d,
        }
    }

    /// The layout that keeps these matrices (row by row, one after the other).
    #[expect(clippy::float_cmp, reason = "a matrix is symmetric or it is not")]
    pub(super) fn of(matrices: &[f64], d: usize) -> Self {
        let is_symmetric = |m: &[f64]| (0..d).all(|r| (0..r).all(|s| m[r * d + s] == m[s * d + r]));
        if matrices.chunks_exact(d * d).all(is_symmetric) { Self::Packed } else { Self::Square }
    }

    /// Writes the entries from `first` on of `left rightᵀ`; for the packed layout both must be the same vector.
    fn features(self, left: &[f64], right: &[f64], first: usize, out: &mut [f64]) {
        let d = right.len();
        let (mut column, mut row) = match self {
            Self::Packed => {
                let mut column = ((((8 * first + 1) as f64).sqrt() - 1.0) / 2.0) as usize;
                // The root is rounded.
                while column * (column + 1) / 2 > first {
                    column -= 1;
                }
                while (column + 1) * (column + 2) / 2 <= first {
                    column += 1;
                }
                (column, first - column * (column + 1) / 2)
            }
            Self::Square => (first / d, first % d),
        };
        let mut done = 0;
        while done < out.len() {
            let height = if self == Self::Packed { column + 1 } else { d };
            let count = (height - row).min(out.len() - done);
            let factor = if self == Self::Packed { SQRT_2 * right[column] } else { right[column] };
            let piece = &mut out[done..done + count];
            piece.iter_mut().zip(&left[row..]).for_each(|(to, x)| *to = factor * x);
            if self == Self::Packed && row + count == height {
                piece[count - 1] = right[column] * right[column];
            }
            done += count;
            (column, row) = (column + 1, 0);
        }
    }
}

/// Matrices of the same order and layout.
#[derive(Clone, Debug)]
pub(super) struct Forms {
    pub(super) layout: Layout,
    d: usize,
    /// One column per matrix.
    pub(super) values: Mat<f64>,
}

impl Forms {
    pub(super) fn new(layout: Layout, d: usize, values: Mat<f64>) -> Self {
        assert_eq!(values.nrows(), layout.len(d), "one row per number of the layout");
        Self { layout, d, values }
    }

    /// From matrices row by row, one after the other.
    pub(super) fn from_matrices(layout: Layout, matrices: &[f64], d: usize) -> Self {
        let k = matrices.len() / (d * d);
        let mut values = Mat::zeros(layout.len(d), k);
        for (j, matrix) in matrices.chunks_exact(d * d).enumerate() {
            let mut at = 0;
            for s in 0..d {
                let height = if layout == Layout::Packed { s + 1 } else { d };
                for r in 0..height {
                    let factor = if layout == Layout::Packed && r != s { SQRT_2 } else { 1.0 };
                    values[(at, j)] = factor * matrix[r * d + s];
                    at += 1;
                }
            }
        }
        Self { layout, d, values }
    }

    /// All matrices row by row, one after the other.
    pub(super) fn to_matrices(&self) -> Vec<f64> {
        (0..self.values.ncols())
            .flat_map(|j| {
                let matrix = self.unpack(self.values.as_ref(), j);
                (0..self.d * self.d).map(move |at| matrix[(at / self.d, at % self.d)])
            })
            .collect()
    }

    pub(super) fn n_features(&self) -> usize {
        self.d
    }

    pub(super) fn n_forms(&self) -> usize {
        self.values.ncols()
    }

    /// The symmetric part of the matrix in a column of numbers of this layout, packed.
    pub(super) fn symmetric_part(&self, values: MatRef<'_, f64>, column: usize) -> Vec<f64> {
        let (d, values) = (self.d, contiguous(values, column));
        match self.layout {
            Layout::Packed => values.to_vec(),
            Layout::Square => {
                let entry = |r: usize, s: usize| FRAC_1_SQRT_2 * (values[s * d + r] + values[r * d + s]);
                (0..d).flat_map(|s| (0..s).map(move |r| entry(r, s)).chain([values[s * d + s]])).collect()
            }
        }
    }

    /// The matrix in a column of numbers of this layout.
    pub(super) fn unpack(&self, values: MatRef<'_, f64>, column: usize) -> Mat<f64> {
        let d = self.d;
        let values = contiguous(values, column);
        let mut matrix = Mat::zeros(d, d);
        match self.layout {
            Layout::Packed => {
                let mut at = 0;
                for s in 0..d {
                    for r in 0..s {
                        let entry = FRAC_1_SQRT_2 * values[at];
                        matrix[(r, s)] = entry;
                        matrix[(s, r)] = entry;
                        at += 1;
                    }
                    matrix[(s, s)] = values[at];
                    at += 1;
                }
            }
            Layout::Square => {
                for (s, column) in values.chunks_exact(d).enumerate() {
                    matrix.col_mut(s).iter_mut().zip(column).for_each(|(to, from)| *to = *from);
                }
            }
        }
        matrix
    }

    /// `leftᵀ F_j right` for each form `j` (row) and each pair of columns.
    pub(super) fn inner(&self, left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
        let mut sums = Mat::zeros(self.n_forms(), right.ncols());
        let p = self.values.nrows();
        for first in (0..p).step_by(ROWS) {
            let rows = ROWS.min(p - first);
            let features = features(self.layout, left, right, first, rows);
            let own = self.values.as_ref().subrows(first, rows);
            matmul(sums.as_mut(), Accum::Add, own.transpose(), features.as_ref(), 1.0, Par::Seq);
        }
        sums
    }

    /// `Σ_j c_j F_j` for each column of coefficients, as columns of this layout.
    pub(super) fn combine(&self, coefficients: MatRef<'_, f64>) -> Mat<f64> {
        let mut sums = Mat::zeros(self.values.nrows(), coefficients.ncols());
        matmul(sums.as_mut(), Accum::Replace, self.values.as_ref(), coefficients, 1.0, Par::Seq);
        sums
    }

    /// Adds `Σ_c weights_jc left_c right_cᵀ` to each form `j`.
    pub(super) fn add_outer(
        &mut self,
        left: MatRef<'_, f64>,
        right: MatRef<'_, f64>,
        weights: MatRef<'_, f64>,
        threads: &Threads,
    ) {
        let layout = self.layout;
        threads.run(|| {
            self.values.as_mut().par_row_chunks_mut(ROWS).enumerate().for_each(|(block, values)| {
                let features = features(layout, left, right, block * ROWS, values.nrows());
                matmul(values, Accum::Add, features.as_ref(), weights.transpose(), 1.0, Par::Seq);
            });
        });
    }

    /// Adds other forms times a factor.
    pub(super) fn add(&mut self, other: &Self, factor: f64) {
        self.values.col_iter_mut().zip(other.values.col_iter()).for_each(|(to, from)| {
            to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to += factor * from);
        });
    }

    /// As many forms that are zero.
    pub(super) fn zeroed(&self) -> Self {
        Self { values: Mat::zeros(self.values.nrows(), self.values.ncols()), ..*self }
    }
}

/// A column as a slice.
pub(super) fn contiguous(values: MatRef<'_, f64>, column: usize) -> &[f64] {
    values.col(column).try_as_col_major().expect("columns are contiguous").as_slice()
}

/// `out ← M x` for a symmetric matrix in packed layout, every number of which is read once.
pub(super) fn packed_product(isa: Isa, packed: &[f64], x: &[f64], out: &mut [f64]) {
    isa.run(PackedProduct { packed, x, out });
}

struct PackedProduct<'a> {
    packed: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

/// Columns of a packed matrix that are gone through together, so that what is added to is read and written once for all of them.
const TOGETHER: usize = 4;

impl Job for PackedProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<G: Target>(self) {
        let Self { packed, x, out } = self;
        let d = x.len();
        let whole = d - d % TOGETHER;
        out.fill(0.0);
        for s in (0..whole).step_by(TOGETHER) {
            columns::<G::F64, TOGETHER>(packed, s, x, out);
        }
        for s in whole..d {
            columns::<G::F64, 1>(packed, s, x, out);
        }
        // Everything off the diagonal came times the root of two, and so did the diagonal.
        for to in out {
            *to *= FRAC_1_SQRT_2;
        }
    }
}

/// What `N` columns from the `s`-th on and, by symmetry, as many rows add to `√2 M x`.
#[inline(always)]
fn columns<L: Lanes<Elem = f64>, const N: usize>(packed: &[f64], s: usize, x: &[f64], out: &mut [f64]) {
    let own: [&[f64]; N] = std::array::from_fn(|c| {
        let first = (s + c) * (s + c + 1) / 2;
        &packed[first..=first + s + c]
    });
    // Above the first of them, in all of them.
    let factors: [L; N] = std::array::from_fn(|c| L::splat(x[s + c]));
    let mut sums = [L::splat(0.0); N];
    let whole = s - s % L::COUNT;
    for at in (0..whole).step_by(L::COUNT) {
        let along = L::read(&x[at..]);
        let mut to = L::read(&out[at..]);
        for c in 0..N {
            let entries = L::read(&own[c][at..]);
            to = entries.mul_add(factors[c], to);
            sums[c] = entries.mul_add(along, sums[c]);
        }
        to.write(&mut out[at..]);
    }
    for c in 0..N {
        let mut lanes = [0.0; MOST_LANES];
        sums[c].write(&mut lanes);
        let mut sum: f64 = lanes.iter().sum();
        // What is left above, the triangle between them, and the diagonal.
        for (r, entry) in own[c].iter().enumerate().take(s + c).skip(whole) {
            out[r] += entry * x[s + c];
            sum += entry * x[r];
        }
        out[s + c] += sum + SQRT_2 * own[c][s + c] * x[s + c];
    }
}

/// Some rows of the features of pairs of columns: one column per pair.
fn features(layout: Layout, left: MatRef<'_, f64>, right: MatRef<'_, f64>, first: usize, rows: usize) -> Mat<f64> {
    let mut features = Mat::zeros(rows, right.ncols());
    for c in 0..right.ncols() {
        let column = |m: MatRef<'_, f64>| m.col(c).iter().copied().collect::<Vec<f64>>();
        let out = features.col_mut(c).try_as_col_major_mut().expect("columns are contiguous").as_slice_mut();
        layout.features(&column(left), &column(right), first, out);
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrices(d: usize, symmetric: bool) -> Vec<f64> {
        let entry = |j: usize, r: usize, s: usize| ((j * 31 + r * 7 + s * 3) as f64 * 0.7).sin();
        (0..2 * d * d)
            .map(|at| {
                let (j, r, s) = (at / (d * d), at / d % d, at % d);
                if symmetric { entry(j, r.min(s), r.max(s)) } else { entry(j, r, s) }
            })
            .collect()
    }

    #[test]
    fn both_layouts_hold_what_they_are_given() {
        for d in [1, 2, 5] {
            for symmetric in [true, false] {
                let given = matrices(d, symmetric);
                let layout = Layout::of(&given, d);
                assert_eq!(layout == Layout::Packed, symmetric || d == 1);
                let back = Forms::from_matrices(layout, &given, d).to_matrices();
                assert!(back.iter().zip(&given).all(|(a, b)| (a - b).abs() < 1e-15), "{back:?}");
            }
        }
    }

    #[test]
    fn inner_products_and_updates_are_those_of_the_matrices_in_every_block() {
        // 70 variables: 2485 packed and 4900 square numbers, so several blocks.
        for (d, symmetric) in [(3, true), (3, false), (70, true), (70, false)] {
            let given = matrices(d, symmetric);
            let mut forms = Forms::from_matrices(Layout::of(&given, d), &given, d);
            let right = Mat::from_fn(d, 3, |i, c| ((i * 5 + c * 11) as f64 * 0.3).cos());
            let left = if symmetric { right.clone() } else { Mat::from_fn(d, 3, |i, c| ((i + 2 * c) as f64).sin()) };
            let by_hand = |matrices: &[f64], j: usize, c: usize| -> f64 {
                let entry = |r: usize, s: usize| matrices[(j * d + r) * d + s];
                (0..d).map(|r| (0..d).map(|s| left[(r, c)] * entry(r, s) * right[(s, c)]).sum::<f64>()).sum()
            };
            let inner = forms.inner(left.as_ref(), right.as_ref());
            for j in 0..2 {
                for c in 0..3 {
                    assert!((inner[(j, c)] - by_hand(&given, j, c)).abs() < 1e-11 * (d * d) as f64);
                }
            }
            let weights = Mat::from_fn(2, 3, |j, c| 0.5 - (j + c) as f64);
            let threads = Threads::new(2).expect("two threads");
            forms.add_outer(left.as_ref(), right.as_ref(), weights.as_ref(), &threads);
            let updated = forms.to_matrices();
            for (at, value) in updated.iter().enumerate() {
                let (j, r, s) = (at / (d * d), at / d % d, at % d);
                let sum: f64 = (0..3).map(|c| weights[(j, c)] * left[(r, c)] * right[(s, c)]).sum();
                assert!((value - given[at] - sum).abs() < 1e-13, "entry ({r}, {s}) of {j}");
            }
        }
    }

    #[test]
    fn products_with_packed_matrices_are_those_of_the_symmetric_part_on_every_instruction_set() {
        for d in [1, 2, 3, 4, 5, 8, 11, 40, 70] {
            for symmetric in [true, false] {
                let given = matrices(d, symmetric);
                let forms = Forms::from_matrices(Layout::of(&given, d), &given, d);
                let packed = forms.symmetric_part(forms.values.as_ref(), 1);
                let x: Vec<f64> = (0..d).map(|i| (i as f64 * 1.3).cos()).collect();
                let entry = |r: usize, s: usize| given[(d + r) * d + s];
                for isa in Isa::available() {
                    let mut out = vec![f64::NAN; d];
                    packed_product(isa, &packed, &x, &mut out);
                    for (r, found) in out.iter().enumerate() {
                        let expected: f64 = (0..d).map(|s| 0.5 * (entry(r, s) + entry(s, r)) * x[s]).sum();
                        assert!((found - expected).abs() < 1e-14 * d as f64, "{}, {d}: row {r}", isa.name());
                    }
                }
            }
        }
    }

    #[test]
    fn a_combination_is_that_of_the_matrices() {
        for symmetric in [true, false] {
            let given = matrices(4, symmetric);
            let forms = Forms::from_matrices(Layout::of(&given, 4), &given, 4);
            let sums = forms.combine(Mat::from_fn(2, 1, |j, _| 2.0 - 3.0 * j as f64).as_ref());
            let matrix = forms.unpack(sums.as_ref(), 0);
            for at in 0..16 {
                let expected = 2.0 * given[at] - given[16 + at];
                assert!((matrix[(at / 4, at % 4)] - expected).abs() < 1e-14);
            }
        }
    }
}
