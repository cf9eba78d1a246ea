//! What rounding may cost.

use faer::{Mat, MatRef};
use mercer::{Points, Precision};

use crate::reference::{Textbook, assert_close, largest_entry, product};

/// A kernel matrix as it should be, and how far each entry may be from that.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The matrix, in double precision from the textbook formula.
    pub dense: Mat<f64>,
    /// The largest error of each entry.
    pub tolerance: Mat<f64>,
    epsilon: f64,
}

/// Sums of products stay in the tiles' precision within a tile of at most this many rows, and are in double precision across tiles.
const LONGEST_SUM: usize = 240;

impl Expected {
    /// The Gram matrix of points, computed in a precision.
    pub fn gram(kernel: &Textbook, points: &Points, precision: Precision) -> Self {
        Self::between(kernel, points, points, precision)
    }

    /// The kernel of every query with every point.
    pub fn between(kernel: &Textbook, queries: &Points, points: &Points, precision: Precision) -> Self {
        let rows = |points: &Points| -> Vec<Vec<f64>> { (0..points.n_samples()).map(|i| points.row(i)).collect() };
        let (x, y) = (rows(queries), rows(points));
        let origin = mean(&y, points.n_features());
        let epsilon = precision.epsilon();
        Self {
            dense: kernel.matrix(&x, &y),
            tolerance: Mat::from_fn(x.len(), y.len(), |i, j| entry_tolerance(kernel, &x[i], &y[j], &origin, epsilon)),
            epsilon,
        }
    }

    /// The same matrix with every entry allowed to be off by `more`.
    #[must_use]
    pub fn loosened(mut self, more: f64) -> Self {
        for j in 0..self.tolerance.ncols() {
            self.tolerance.col_mut(j).iter_mut().for_each(|tolerance| *tolerance += more);
        }
        self
    }

    /// Some rows of the matrix, in the given order.
    #[must_use]
    pub fn rows(&self, rows: &[usize]) -> Self {
        let pick = |all: &Mat<f64>| Mat::from_fn(rows.len(), all.ncols(), |i, j| all[(rows[i], j)]);
        Self { dense: pick(&self.dense), tolerance: pick(&self.tolerance), epsilon: self.epsilon }
    }

    /// What rounding the largest entry may cost.
    pub fn one_rounding(&self) -> f64 {
        self.epsilon * largest_entry(self.dense.as_ref())
    }

    /// Fails unless `found` is the matrix.
    #[track_caller]
    pub fn check_entries(&self, found: MatRef<'_, f64>, what: &str) {
        assert_close(found, self.dense.as_ref(), |i, j| self.tolerance[(i, j)], what);
    }

    /// The product of the matrix with `x`, and how far it may be off.
    #[must_use]
    pub fn times(&self, x: MatRef<'_, f64>) -> Self {
        // Σ_j (k_ij + δ_ij) x_j with |δ_ij| within the tolerance; x_j is rounded once, and a sum of m terms m times.
        let roundings = (self.dense.ncols().min(LONGEST_SUM) as f64 + 4.0) * self.epsilon;
        let errors = Mat::from_fn(self.dense.nrows(), self.dense.ncols(), |i, j| {
            let allowed = self.tolerance[(i, j)];
            allowed + roundings * (self.dense[(i, j)].abs() + allowed)
        });
        let sizes = Mat::from_fn(x.nrows(), x.ncols(), |i, j| x[(i, j)].abs() + f64::MIN_POSITIVE);
        Self {
            dense: product(self.dense.as_ref(), x),
            tolerance: product(errors.as_ref(), sizes.as_ref()),
            epsilon: self.epsilon,
        }
    }
}

/// The mean of rows of `d` numbers.
pub fn mean(rows: &[Vec<f64>], d: usize) -> Vec<f64> {
    (0..d).map(|k| rows.iter().map(|row| row[k]).sum::<f64>() / rows.len().max(1) as f64).collect()
}

/// How far an entry computed in a precision may be from the textbook's.
///
/// The scalar of the pair is a sum of `d` products, each of coordinates that were rounded once, so it may be off by `d ε` times what is
/// summed up, about the `origin` that points are moved to where only distances count. What that does to the kernel is read off
/// the formula at both ends of the interval; a few roundings of the function itself come on top.
pub fn entry_tolerance(kernel: &Textbook, x: &[f64], y: &[f64], origin: &[f64], epsilon: f64) -> f64 {
    let s = kernel.scalar(x, y);
    let slack = (x.len() as f64 + 8.0) * epsilon * magnitude(kernel, x, y, origin);
    let value = kernel.of_scalar(s);
    let lowest = if kernel.knows_distances_only() { 0.0 } else { f64::NEG_INFINITY };
    let spread = [s - slack, s + slack].map(|end| (kernel.of_scalar(end.max(lowest)) - value).abs());
    let roundings = 8.0
        + match *kernel {
            Textbook::Polynomial { degree, .. } => 2.0 * f64::from(degree),
            Textbook::RationalQuadratic { alpha, .. } => 2.0 * alpha,
            _ => 0.0,
        };
    spread[0].max(spread[1]) + roundings * epsilon * value.abs().max(1.0)
}

/// The size of what is added up to the scalar of a pair.
fn magnitude(kernel: &Textbook, x: &[f64], y: &[f64], origin: &[f64]) -> f64 {
    let about =
        |point: &[f64], power: i32| -> f64 { point.iter().zip(origin).map(|(p, o)| (p - o).abs().powi(power)).sum() };
    let products: f64 = x.iter().zip(y).map(|(p, q)| (p * q).abs()).sum();
    match *kernel {
        Textbook::Linear => products,
        // The constant is rounded too.
        Textbook::Polynomial { gamma, coef0, .. } | Textbook::Sigmoid { gamma, coef0 } => {
            products + coef0.abs() / gamma
        }
        Textbook::Cosine => 1.0,
        Textbook::Laplacian { .. } => about(x, 1) + about(y, 1),
        _ => about(x, 2) + about(y, 2),
    }
}
