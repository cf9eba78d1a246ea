//! The Cholesky factor of a kernel matrix whose points come and go.
//!
//! **Cost**: `O(m²)` to add a point, to remove one, and to express one by the others; `m` points.
//!
//! # Notation
//!
//! | here | meaning |
//! |---|---|
//! | `rows` | `L`, lower triangular, row by row, with `K = L Lᵀ` |
//! | `order[f]` | the slot of the learner's memory that row `f` of `L` belongs to |

/// A factor of the kernel matrix of the points in memory.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Factor {
    rows: Vec<Vec<f64>>,
    order: Vec<usize>,
}

/// What is left of a point outside the span of the others, and how it is expressed by them.
#[derive(Clone, Debug)]
pub(super) struct Projection {
    /// The squared distance from the span.
    pub(super) residual: f64,
    /// The coefficient of each slot.
    pub(super) coefficients: Vec<f64>,
}

impl Factor {
    /// Solves `L z = k` for a point whose kernel values with the slots are `k`; the squared norm of `z` is the part of the
    /// point that lies in the span.
    pub(super) fn forward(&self, k: &[f64]) -> Vec<f64> {
        let mut z: Vec<f64> = Vec::with_capacity(self.rows.len() + 1);
        for (row, &slot) in self.rows.iter().zip(&self.order) {
            let (last, before) = row.split_last().expect("rows of the factor have a diagonal");
            z.push((k[slot] - dot(before, &z)) / last);
        }
        z
    }

    /// Whether it can be the factor of a matrix of order `m`.
    pub(super) fn is_consistent(&self, m: usize) -> bool {
        let mut slots = self.order.clone();
        slots.sort_unstable();
        slots.into_iter().eq(0..m)
            && self.rows.len() == m
            && self.rows.iter().enumerate().all(|(f, row)| row.len() == f + 1 && row[f] > 0.0)
    }

    /// The best combination of the points in memory for a point with `L z = k`, by slot.
    pub(super) fn backward(&self, mut z: Vec<f64>) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.rows.len()];
        for f in (0..self.rows.len()).rev() {
            let row = &self.rows[f];
            let x = z[f] / row[f];
            coefficients[self.order[f]] = x;
            for (z, l) in z[..f].iter_mut().zip(row) {
                *z -= x * l;
            }
        }
        coefficients
    }

    /// Adds a point with `L z = k` whose squared distance from the span is `residual`; it has the next slot.
    pub(super) fn push(&mut self, mut z: Vec<f64>, residual: f64) {
        z.push(residual.sqrt());
        self.order.push(self.rows.len());
        self.rows.push(z);
    }

    /// The point in a slot, expressed by the others.
    pub(super) fn express(&self, slot: usize) -> Projection {
        // The column of K⁻¹ that belongs to the slot: with c its diagonal entry, the others' coefficients are -column / c and
        // the squared distance from their span is 1 / c.
        let mut unit = vec![0.0; self.rows.len()];
        unit[slot] = 1.0;
        let mut column = self.backward(self.forward(&unit));
        let diagonal = column[slot];
        for x in &mut column {
            *x /= -diagonal;
        }
        column[slot] = 0.0;
        Projection { residual: 1.0 / diagonal, coefficients: column }
    }

    /// Forgets a slot; the last slot takes its number.
    pub(super) fn swap_remove(&mut self, slot: usize) {
        let last = self.rows.len() - 1;
        let f = self.order.iter().position(|&s| s == slot).expect("the slot is in the factor");
        self.rows.remove(f);
        self.order.remove(f);
        if let Some(moved) = self.order.iter_mut().find(|s| **s == last) {
            *moved = slot;
        }
        // The rows below lose column f and gain it back as a rank-one update of what is left, by rotations.
        let mut update: Vec<f64> = self.rows[f..].iter_mut().map(|row| row.remove(f)).collect();
        for i in f..self.rows.len() {
            let (diagonal, u) = (self.rows[i][i], update[i - f]);
            let new = diagonal.hypot(u);
            let (c, s) = (diagonal / new, u / new);
            self.rows[i][i] = new;
            for (below, update) in self.rows[i + 1..].iter_mut().zip(&mut update[i - f + 1..]) {
                let l = below[i];
                below[i] = c * l + s * *update;
                *update = c * *update - s * l;
            }
        }
    }
}

/// An inner product over the shorter of the two, in four chains of sums that need not wait for one another.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len());
    let (x, y) = (&x[..n], &y[..n]);
    let mut sums = [0.0; 4];
    let (x4, y4) = (x.chunks_exact(4), y.chunks_exact(4));
    let rest: f64 = x4.remainder().iter().zip(y4.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in x4.zip(y4) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A positive definite matrix that is not special in any way.
    fn kernel(i: usize, j: usize) -> f64 {
        let distance = ((i * 7 % 11) as f64 - (j * 7 % 11) as f64).abs();
        (-0.3 * distance).exp() + if i == j { 0.1 } else { 0.0 }
    }

    fn factor(points: &[usize]) -> Factor {
        let mut factor = Factor::default();
        for (m, &point) in points.iter().enumerate() {
            let k: Vec<f64> = points[..m].iter().map(|&other| kernel(point, other)).collect();
            let z = factor.forward(&k);
            let residual = kernel(point, point) - z.iter().map(|x| x * x).sum::<f64>();
            factor.push(z, residual);
        }
        factor
    }

    fn assert_is_factor_of(factor: &Factor, points: &[usize]) {
        for (a, row) in factor.rows.iter().enumerate() {
            for (b, column) in factor.rows[..=a].iter().enumerate() {
                let product: f64 = row.iter().zip(column).map(|(x, y)| x * y).sum();
                let want = kernel(points[factor.order[a]], points[factor.order[b]]);
                assert!((product - want).abs() < 1e-12, "entry {a}, {b}: {product} instead of {want}");
            }
        }
    }

    #[test]
    fn adding_and_removing_points_keeps_the_factor() {
        let mut points: Vec<usize> = (0..9).collect();
        let mut factor = factor(&points);
        assert_is_factor_of(&factor, &points);
        for slot in [3, 0, 6, 2] {
            factor.swap_remove(slot);
            points.swap_remove(slot);
            assert_is_factor_of(&factor, &points);
        }
    }

    #[test]
    fn a_point_is_expressed_by_the_others_with_a_residual_orthogonal_to_them() {
        let points: Vec<usize> = (0..7).collect();
        let Projection { residual, coefficients } = factor(&points).express(2);
        assert!(coefficients[2] == 0.0);
        let combination = |j: usize| (0..7).map(|i| coefficients[i] * kernel(i, j)).sum::<f64>();
        for j in (0..7).filter(|&j| j != 2) {
            assert!((kernel(2, j) - combination(j)).abs() < 1e-12);
        }
        assert!((kernel(2, 2) - combination(2) - residual).abs() < 1e-12);
    }
}
