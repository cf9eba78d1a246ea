//! The Cholesky factor of a kernel matrix whose points come and go.
//!
//! **Cost**: `O(m²)` to add a point, to remove one, and to express one by the others; `m` points. Systems are solved for one
//! right-hand side, or for [`PAIR`] or [`WIDTH`] together, which share the reading of the factor; each has the sums it would have alone, in
//! the same order, so a solution does not depend on what it was computed together with.
//!
//! # Notation
//!
//! | here | meaning |
//! |---|---|
//! | `columns` | `L`, lower triangular, with `K = L Lᵀ`; entry `(f, g)` at `g · stride + f` |
//! | `order[f]` | the slot of the learner's memory that row `f` of `L` belongs to |
//! | `inverse_diagonal[slot]` | the diagonal of `K⁻¹`: one over the squared distance of a point from the span of the others |

use serde::{Deserialize, Serialize};

use super::triangle::{Backward, Forward, Remove, System, Triangle};
use crate::simd::Isa;

/// Right-hand sides that are solved for together where the factor stays as it is.
pub(super) const WIDTH: usize = 8;
/// And where it changes: with 500 points, two take 1.4 times as long as one, and [`WIDTH`] 3.5 times.
pub(super) const PAIR: usize = 2;

/// Rows that there is room for when there are any; room grows by doubling, up to the most rows that there can be.
const LEAST_STRIDE: usize = 64;

/// A factor of the kernel matrix of the points in memory.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    isa: Isa,
    columns: Vec<f64>,
    stride: usize,
    /// Rows up to which room doubles; should there be more after all, it grows by a few at a time.
    most: usize,
    order: Vec<usize>,
    inverse_diagonal: Vec<f64>,
    /// Changes whenever the points do, so that solutions which were computed ahead are not used after that.
    version: u64,
    /// Room for what is computed when a point leaves.
    row: Vec<f64>,
    update: Vec<f64>,
}

/// A factor as it is saved.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SavedFactor {
    /// Column by column, from the diagonal down.
    columns: Vec<Vec<f64>>,
    order: Vec<usize>,
    inverse_diagonal: Vec<f64>,
}

impl Default for Factor {
    fn default() -> Self {
        Self {
            isa: Isa::detect(),
            columns: Vec::new(),
            stride: 0,
            most: 0,
            order: Vec::new(),
            inverse_diagonal: Vec::new(),
            version: 0,
            row: Vec::new(),
            update: Vec::new(),
        }
    }
}

impl Factor {
    /// A factor without points, which gets no more room than for so many.
    pub(super) fn for_at_most(most: usize) -> Self {
        Self { most: most.next_multiple_of(WIDTH).max(LEAST_STRIDE), ..Self::default() }
    }

    /// Another one without points, for as many.
    pub(super) fn anew(&self) -> Self {
        Self { most: self.most, ..Self::default() }
    }

    /// Points in it.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// What changes whenever the points do.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// The diagonal of the inverse of the kernel matrix, by slot.
    pub(super) fn inverse_diagonal(&self) -> &[f64] {
        &self.inverse_diagonal
    }

    /// Forgets all points and keeps the room they had.
    pub(super) fn clear(&mut self) {
        self.order.clear();
        self.inverse_diagonal.clear();
        self.version += 1;
    }

    /// Solves `L z = k` for `width` points, one, [`PAIR`] or [`WIDTH`], whose kernel values with slot `s` are `k(s, point)`; row by row. The squared
    /// norm of `z` is the part of a point that lies in the span.
    pub(super) fn forward(&self, width: usize, k: impl Fn(usize, usize) -> f64, z: &mut Vec<f64>) {
        z.clear();
        for &slot in &self.order {
            z.extend((0..width).map(|point| k(slot, point)));
        }
        self.isa.run(Forward(self.system(z, width)));
    }

    /// The best combinations of the points in memory for points with `L z = k`, in the order of the factor, in the place of `z`.
    pub(super) fn backward(&self, width: usize, z: &mut [f64]) {
        self.isa.run(Backward(self.system(z, width)));
    }

    /// Solution `point` of `width` that stand side by side, by slot.
    pub(super) fn by_slot(&self, solutions: &[f64], point: usize, width: usize, out: &mut [f64]) {
        for (&slot, row) in self.order.iter().zip(solutions.chunks_exact(width)) {
            out[slot] = row[point];
        }
    }

    /// Adds a point with `L z = k`, whose squared distance from the span is `residual` and whose best combination is
    /// `coefficients`; it has the next slot.
    pub(super) fn push(&mut self, z: &[f64], residual: f64, coefficients: &[f64]) {
        let m = self.len();
        if m == self.stride {
            self.grow();
        }
        for (g, &z) in z.iter().enumerate() {
            self.columns[g * self.stride + m] = z;
        }
        self.columns[m * self.stride + m] = residual.sqrt();
        self.order.push(m);
        for (entry, c) in self.inverse_diagonal.iter_mut().zip(coefficients) {
            *entry += c * c / residual;
        }
        self.inverse_diagonal.push(1.0 / residual);
        self.version += 1;
    }

    /// Forgets a slot; the last slot takes its number. Returns the squared distance of its point from the span of the others, and
    /// writes what expresses it by them to `coefficients`, one for each slot there is then.
    pub(super) fn swap_remove(&mut self, slot: usize, coefficients: &mut Vec<f64>) -> f64 {
        let order = self.len();
        let f = self.order.iter().position(|&s| s == slot).expect("the slot is in the factor");
        let (columns, stride, row, update) = (&mut self.columns[..], self.stride, &mut self.row, &mut self.update);
        let distance = self.isa.run(Remove { columns, stride, order, f, row, update });
        self.order.remove(f);
        if let Some(moved) = self.order.iter_mut().find(|s| **s == order - 1) {
            *moved = slot;
        }
        self.inverse_diagonal.swap_remove(slot);
        self.version += 1;
        let mut z = std::mem::take(&mut self.row);
        self.backward(1, &mut z);
        coefficients.clear();
        coefficients.resize(self.len(), 0.0);
        self.by_slot(&z, 0, 1, coefficients);
        self.row = z;
        // K⁻¹ without a point: the entries lose column² / diagonal = coefficient² / residual.
        let residual = distance * distance;
        for (entry, c) in self.inverse_diagonal.iter_mut().zip(coefficients.iter()) {
            *entry -= c * c / residual;
        }
        residual
    }

    /// Computes the diagonal of the inverse from the factor alone.
    pub(super) fn renew_inverse_diagonal(&mut self) {
        let mut z = Vec::new();
        for first in (0..self.len()).step_by(WIDTH) {
            self.forward(WIDTH, |slot, w| if slot == first + w { 1.0 } else { 0.0 }, &mut z);
            for slot in first..self.len().min(first + WIDTH) {
                self.inverse_diagonal[slot] = z.chunks_exact(WIDTH).map(|z| z[slot - first] * z[slot - first]).sum();
            }
        }
    }

    /// The factor as it is saved.
    pub(super) fn saved(&self) -> SavedFactor {
        let m = self.len();
        SavedFactor {
            columns: (0..m).map(|g| self.columns[g * self.stride..][g..m].to_vec()).collect(),
            order: self.order.clone(),
            inverse_diagonal: self.inverse_diagonal.clone(),
        }
    }

    fn system<'a>(&'a self, z: &'a mut [f64], width: usize) -> System<'a> {
        System { triangle: Triangle { columns: &self.columns, stride: self.stride, order: self.len() }, z, width }
    }

    fn grow(&mut self) {
        let m = self.len();
        let stride = if m < self.most { self.most.min((2 * self.stride).max(LEAST_STRIDE)) } else { m + WIDTH };
        let mut columns = vec![0.0; stride * stride];
        for g in 0..m {
            columns[g * stride..][..m].copy_from_slice(&self.columns[g * self.stride..][..m]);
        }
        (self.columns, self.stride) = (columns, stride);
    }
}

impl SavedFactor {
    /// Whether it can be the factor of a matrix of order `m`.
    pub(super) fn is_consistent(&self, m: usize) -> bool {
        let mut slots = self.order.clone();
        slots.sort_unstable();
        slots.into_iter().eq(0..m)
            && self.columns.len() == m
            && self.columns.iter().enumerate().all(|(g, column)| column.len() == m - g && column[0] > 0.0)
            && self.columns.iter().flatten().all(|x| x.is_finite())
            && self.inverse_diagonal.len() == m
    }

    /// The factor that was saved, which gets no more room than for so many points.
    pub(super) fn restore(self, most: usize) -> Factor {
        // Room for one more, which is what a full memory needs: what is saved may ask for no more than it has.
        let stride = (self.columns.len() + 1).next_multiple_of(WIDTH).max(LEAST_STRIDE);
        let mut columns = vec![0.0; stride * stride];
        for (g, column) in self.columns.iter().enumerate() {
            columns[g * stride + g..][..column.len()].copy_from_slice(column);
        }
        let (order, inverse_diagonal) = (self.order, self.inverse_diagonal);
        Factor { columns, stride, order, inverse_diagonal, ..Factor::for_at_most(most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix that is not special in any way.
    fn kernel(i: usize, j: usize) -> f64 {
        let distance = ((i * 7 % 11) as f64 - (j * 7 % 11) as f64).abs();
        (-0.3 * distance).exp() + if i == j { 0.1 } else { 0.0 }
    }

    fn factor(points: &[usize], isa: Isa) -> Factor {
        let mut factor = Factor { isa, ..Factor::default() };
        for (m, &point) in points.iter().enumerate() {
            let mut z = Vec::new();
            factor.forward(1, |slot, _| kernel(point, points[slot]), &mut z);
            let residual = kernel(point, point) - z.iter().map(|z| z * z).sum::<f64>();
            let (mut combination, mut coefficients) = (z.clone(), vec![0.0; m]);
            factor.backward(1, &mut combination);
            factor.by_slot(&combination, 0, 1, &mut coefficients);
            factor.push(&z, residual, &coefficients);
        }
        factor
    }

    fn assert_is_factor_of(factor: &Factor, points: &[usize]) {
        let m = points.len();
        assert_eq!(factor.len(), m);
        let entry = |f: usize, g: usize| if g <= f { factor.columns[g * factor.stride + f] } else { 0.0 };
        for (a, b) in (0..m).flat_map(|a| (0..=a).map(move |b| (a, b))) {
            let product: f64 = (0..m).map(|g| entry(a, g) * entry(b, g)).sum();
            let want = kernel(points[factor.order[a]], points[factor.order[b]]);
            assert!((product - want).abs() < 1e-12, "entry {a}, {b}: {product} instead of {want}");
        }
        let mut renewed = factor.clone();
        renewed.renew_inverse_diagonal();
        for (slot, (kept, new)) in factor.inverse_diagonal.iter().zip(&renewed.inverse_diagonal).enumerate() {
            assert!((kept - new).abs() < 1e-11 * new, "inverse, slot {slot}: {kept} instead of {new}");
        }
    }

    #[test]
    fn adding_and_removing_points_keeps_the_factor() {
        for isa in Isa::available() {
            let mut points: Vec<usize> = (0..11).collect();
            let mut factor = factor(&points, isa);
            assert_is_factor_of(&factor, &points);
            for slot in [3, 0, 6, 2, 6] {
                factor.swap_remove(slot, &mut Vec::new());
                points.swap_remove(slot);
                assert_is_factor_of(&factor, &points);
            }
        }
    }

    #[test]
    fn a_point_that_leaves_is_expressed_by_the_others_with_a_residual_orthogonal_to_them() {
        for (isa, slot) in Isa::available().into_iter().flat_map(|isa| [0, 2, 8, 9].map(|slot| (isa, slot))) {
            let mut points: Vec<usize> = (0..10).collect();
            let (mut factor, mut coefficients) = (factor(&points, isa), Vec::new());
            let residual = factor.swap_remove(slot, &mut coefficients);
            let gone = points.swap_remove(slot);
            let combination =
                |point: usize| points.iter().zip(&coefficients).map(|(&i, c)| c * kernel(i, point)).sum::<f64>();
            for &point in &points {
                assert!((kernel(gone, point) - combination(point)).abs() < 1e-12);
            }
            assert!((kernel(gone, gone) - combination(gone) - residual).abs() < 1e-12);
        }
    }

    #[test]
    fn a_factor_that_was_cleared_is_another_one() {
        let mut factor = factor(&[0, 1, 2], Isa::detect());
        let version = factor.version();
        factor.clear();
        assert_eq!(factor.len(), 0);
        assert!(factor.version() > version, "what was solved before must not be used");
        factor.push(&[], kernel(5, 5), &[]);
        assert_is_factor_of(&factor, &[5]);
    }

    #[test]
    fn a_solution_does_not_depend_on_its_company() {
        for (isa, m) in Isa::available().into_iter().flat_map(|isa| [1, 3, 4, 9, 10, 11, 26].map(|m| (isa, m))) {
            let factor = factor(&(0..m).collect::<Vec<_>>(), isa);
            let k = |w: usize, slot: usize| ((3 * w + 5 * slot) % 7) as f64 - 2.5;
            let mut z = Vec::new();
            factor.forward(WIDTH, |slot, w| k(w, slot), &mut z);
            let mut together = z.clone();
            factor.backward(WIDTH, &mut together);
            let same = |z: &[f64], width: usize, w: usize, alone: &[f64]| {
                z.len() == width * alone.len()
                    && z.chunks_exact(width).zip(alone).all(|(z, alone)| z[w].to_bits() == alone.to_bits())
            };
            for w in 0..WIDTH {
                let (mut alone, mut pair) = (Vec::new(), Vec::new());
                factor.forward(1, |slot, _| k(w, slot), &mut alone);
                factor.forward(PAIR, |slot, other| k((w + other) % WIDTH, slot), &mut pair);
                assert!(same(&z, WIDTH, w, &alone) && same(&pair, PAIR, 0, &alone), "{isa:?}, {m} points");
                factor.backward(1, &mut alone);
                factor.backward(PAIR, &mut pair);
                assert!(same(&together, WIDTH, w, &alone) && same(&pair, PAIR, 0, &alone), "{isa:?}, {m} points");
                factor.forward(PAIR, |slot, other| k((w + other + WIDTH - 1) % WIDTH, slot), &mut pair);
                factor.backward(PAIR, &mut pair);
                assert!(same(&pair, PAIR, 1, &alone), "{isa:?}, {m} points: the second of two");
            }
        }
    }

    #[test]
    fn a_factor_that_was_saved_is_the_same() {
        let points: Vec<usize> = (0..9).collect();
        let whole = factor(&points, Isa::detect());
        let saved = whole.saved();
        assert!(saved.is_consistent(9) && !saved.is_consistent(8));
        assert_is_factor_of(&saved.restore(9), &points);
    }

    #[test]
    fn room_grows_up_to_the_most_points_there_can_be_and_beyond_if_there_are_more() {
        let mut factor = Factor::for_at_most(70);
        let mut strides = Vec::new();
        for m in 0..80 {
            // Points that have nothing to do with one another.
            factor.push(&vec![0.0; m], 1.0, &vec![0.0; m]);
            assert_eq!(factor.columns.len(), factor.stride * factor.stride);
            strides.push(factor.stride);
        }
        strides.dedup();
        assert_eq!(strides, [64, 72, 80]);
        assert!((0..80).all(|g| factor.columns[g * factor.stride + g].to_bits() == 1_f64.to_bits()));
        assert_eq!(factor.anew().most, factor.most);
    }
}
