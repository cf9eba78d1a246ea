//! The Cholesky factor of a kernel matrix whose points come and go.
//!
//! **Cost**: `O(m²)` to add a point, to remove one, and to express one by the others; `m` points. Systems are solved for one
//! right-hand side, or for [`WIDTH`] together, which share the reading of the factor; each has the sums it would have alone, in
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

/// Right-hand sides that are solved for together.
pub(super) const WIDTH: usize = 8;

/// A factor of the kernel matrix of the points in memory.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    isa: Isa,
    columns: Vec<f64>,
    stride: usize,
    order: Vec<usize>,
    inverse_diagonal: Vec<f64>,
    /// Changes whenever the points do, so that solutions which were computed ahead are not used after that.
    version: u64,
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

/// What is left of a point outside the span of the others, and how it is expressed by them.
#[derive(Clone, Debug)]
pub(super) struct Projection {
    /// The squared distance from the span.
    pub(super) residual: f64,
    /// The coefficient of each slot.
    pub(super) coefficients: Vec<f64>,
}

impl Default for Factor {
    fn default() -> Self {
        Self {
            isa: Isa::detect(),
            columns: Vec::new(),
            stride: 0,
            order: Vec::new(),
            inverse_diagonal: Vec::new(),
            version: 0,
        }
    }
}

impl Factor {
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

    /// Solves `L z = k` for `width` points, one or [`WIDTH`], whose kernel values with slot `s` are `k(s, point)`; row by row. The squared
    /// norm of `z` is the part of a point that lies in the span.
    pub(super) fn forward(&self, width: usize, k: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let mut z = vec![0.0; self.len() * width];
        for (row, &slot) in z.chunks_exact_mut(width).zip(&self.order) {
            for (point, x) in row.iter_mut().enumerate() {
                *x = k(slot, point);
            }
        }
        self.isa.run(Forward { system: self.system(&mut z, width), first: 0 });
        z
    }

    /// The best combinations of the points in memory for points with `L z = k`, in the order of the factor.
    pub(super) fn backward(&self, width: usize, mut z: Vec<f64>) -> Vec<f64> {
        self.isa.run(Backward(self.system(&mut z, width)));
        z
    }

    /// A solution, by slot.
    pub(super) fn by_slot(&self, solution: impl Iterator<Item = f64>, out: &mut [f64]) {
        for (&slot, x) in self.order.iter().zip(solution) {
            out[slot] = x;
        }
    }

    /// Adds a point with `L z = k`, whose squared distance from the span is `residual` and whose best combination is
    /// `coefficients`; it has the next slot.
    pub(super) fn push(&mut self, z: impl Iterator<Item = f64>, residual: f64, coefficients: &[f64]) {
        let m = self.len();
        if m == self.stride {
            self.grow();
        }
        for (g, z) in z.enumerate() {
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

    /// The point in a slot, expressed by the others.
    pub(super) fn express(&self, slot: usize) -> Projection {
        // The column of K⁻¹ that belongs to the slot: with c its diagonal entry, the others' coefficients are -column / c and
        // the squared distance from their span is 1 / c.
        let first = self.order.iter().position(|&s| s == slot).expect("the slot is in the factor");
        let mut z = vec![0.0; self.len()];
        z[first] = 1.0;
        self.isa.run(Forward { system: self.system(&mut z, 1), first });
        let mut column = vec![0.0; self.len()];
        self.by_slot(self.backward(1, z).into_iter(), &mut column);
        let diagonal = column[slot];
        for x in &mut column {
            *x /= -diagonal;
        }
        column[slot] = 0.0;
        Projection { residual: 1.0 / diagonal, coefficients: column }
    }

    /// Forgets a slot, whose point the others express by `projection`; the last slot takes its number.
    pub(super) fn swap_remove(&mut self, slot: usize, projection: &Projection) {
        // K⁻¹ without a point: the entries lose column² / diagonal = coefficient² / residual.
        for (entry, c) in self.inverse_diagonal.iter_mut().zip(&projection.coefficients) {
            *entry -= c * c / projection.residual;
        }
        self.inverse_diagonal.swap_remove(slot);
        let last = self.len() - 1;
        let f = self.order.iter().position(|&s| s == slot).expect("the slot is in the factor");
        let (order, stride) = (self.len(), self.stride);
        self.isa.run(Remove { columns: &mut self.columns, stride, order, f });
        self.order.remove(f);
        if let Some(moved) = self.order.iter_mut().find(|s| **s == last) {
            *moved = slot;
        }
        self.version += 1;
    }

    /// Computes the diagonal of the inverse from the factor alone.
    pub(super) fn renew_inverse_diagonal(&mut self) {
        for first in (0..self.len()).step_by(WIDTH) {
            let z = self.forward(WIDTH, |slot, w| if slot == first + w { 1.0 } else { 0.0 });
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
        let (m, stride) = (self.len(), (2 * self.stride).max(64));
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

    /// The factor that was saved.
    pub(super) fn restore(self) -> Factor {
        let stride = self.columns.len();
        let mut columns = vec![0.0; stride * stride];
        for (g, column) in self.columns.iter().enumerate() {
            columns[g * stride + g..][..column.len()].copy_from_slice(column);
        }
        Factor { columns, stride, order: self.order, inverse_diagonal: self.inverse_diagonal, ..Factor::default() }
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
            let z = factor.forward(1, |slot, _| kernel(point, points[slot]));
            let residual = kernel(point, point) - z.iter().map(|z| z * z).sum::<f64>();
            let mut coefficients = vec![0.0; m];
            factor.by_slot(factor.backward(1, z.clone()).into_iter(), &mut coefficients);
            factor.push(z.into_iter(), residual, &coefficients);
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
                let projection = factor.express(slot);
                factor.swap_remove(slot, &projection);
                points.swap_remove(slot);
                assert_is_factor_of(&factor, &points);
            }
        }
    }

    #[test]
    fn a_point_is_expressed_by_the_others_with_a_residual_orthogonal_to_them() {
        for isa in Isa::available() {
            let points: Vec<usize> = (0..10).collect();
            let Projection { residual, coefficients } = factor(&points, isa).express(2);
            assert!(coefficients[2] == 0.0);
            let combination = |j: usize| (0..10).map(|i| coefficients[i] * kernel(i, j)).sum::<f64>();
            for j in (0..10).filter(|&j| j != 2) {
                assert!((kernel(2, j) - combination(j)).abs() < 1e-12);
            }
            assert!((kernel(2, 2) - combination(2) - residual).abs() < 1e-12);
        }
    }

    #[test]
    fn a_solution_does_not_depend_on_its_company() {
        for (isa, m) in Isa::available().into_iter().flat_map(|isa| [1, 3, 4, 9, 10, 11].map(|m| (isa, m))) {
            let factor = factor(&(0..m).collect::<Vec<_>>(), isa);
            let k = |w: usize, slot: usize| ((3 * w + 5 * slot) % 7) as f64 - 2.5;
            let z = factor.forward(WIDTH, |slot, w| k(w, slot));
            let together = factor.backward(WIDTH, z.clone());
            for w in 0..WIDTH {
                let alone = factor.forward(1, |slot, _| k(w, slot));
                assert!(z.chunks_exact(WIDTH).zip(&alone).all(|(z, alone)| z[w].to_bits() == alone.to_bits()));
                let alone = factor.backward(1, alone);
                assert!(together.chunks_exact(WIDTH).zip(&alone).all(|(x, alone)| x[w].to_bits() == alone.to_bits()));
            }
        }
    }

    #[test]
    fn a_factor_that_was_saved_is_the_same() {
        let points: Vec<usize> = (0..9).collect();
        let whole = factor(&points, Isa::detect());
        let saved = whole.saved();
        assert!(saved.is_consistent(9) && !saved.is_consistent(8));
        assert_is_factor_of(&saved.restore(), &points);
    }
}
