//! Pre-images from distances to neighbours.
//!
//! **Use it** for kernels of a distance: no iteration, no start, `O(n k)` per point to find the neighbours and `O(m² d)` to place it
//! among `m` of them.
//!
//! # Method
//!
//! The inner products `⟨ψ, φ(x_i)⟩` follow from scores alone. If `ψ` were the image of `z`, they would be kernel values `k(z, x_i)`, and the kernel
//! tells the distance: for `k = κ(‖z − x‖²)`, \[KT04\] (7) is `κ(d_i²) = ⟨ψ, φ(x_i)⟩ + (κ(0) − ‖ψ‖²) / 2`. With the `m` nearest points centred in the columns of
//! `C` and `G = CᵀC`, the point with these distances to them, as nearly as can be, is \[KT04\] (11)
//!
//! ```text
//! z = mean − ½ C G⁺ (d² − diag G)
//! ```
//!
//! # Numerics
//!
//! A value that no distance has (`ψ` is not the image of a point) is left out; a point with such a neighbour is reported as not converged. Eigenvalues of
//! `G` below [`DEPENDENT`] of the largest are those of neighbours that depend on others, and those that the rounding of `C` can make are of neighbours that are
//! copies of one point: the point is placed there. What all `d² − diag G` have in common says nothing, because the columns of `C` sum to zero; it is taken away, or
//! the vector of ones, which is an eigenvector whose value is rounding, would make a step of it.

use faer::{Mat, MatRef};

use super::basis::Columns;
use super::fixed_point::Found;
use crate::eigen::{Order, small_eigen, small_product};
use crate::error::Result;
use crate::kernel::{Kernel, Pairing, Parameter};
use crate::model::Model;

const DEPENDENT: f64 = 1e-10;
/// Entries of `C` are off by this many times `m ε` times the longest neighbour, at most: a mean of `m` numbers, and what is left of one without it.
const ROUNDINGS: f64 = 4.0;

/// Inner products of targets with the images of the basis points.
pub(super) struct Targets {
    /// One row per basis point, one column per component: the basis point's score plus the component's product with the mean.
    products: Mat<f64>,
    /// The mean's product with the image of each basis point.
    with_mean: Vec<f64>,
    /// The component's product with the mean, and the sign of its square.
    components: Vec<(f64, f64)>,
    mean: f64,
}

impl Targets {
    /// From the scores of the basis points.
    pub(super) fn new(model: &Model, basis_scores: MatRef<'_, f64>) -> Self {
        let offsets = model.offsets();
        let n = basis_scores.nrows();
        let products = Mat::from_fn(n, basis_scores.ncols(), |i, j| basis_scores[(i, j)] + offsets[j]);
        let (with_mean, mean) = match model.centering() {
            Some(centering) => (centering.column_means.clone(), centering.mean),
            None => (vec![0.0; n], 0.0),
        };
        let components = offsets.iter().zip(model.eigenvalues()).map(|(&o, value)| (o, value.signum())).collect();
        Self { products, with_mean, components, mean }
    }

    /// `⟨ψ, φ(x_i)⟩` for each basis point, and `‖ψ‖²`.
    fn of(&self, scores: &[f64]) -> (Vec<f64>, f64) {
        let mut inner = self.with_mean.clone();
        for (j, score) in scores.iter().enumerate() {
            for (sum, product) in inner.iter_mut().zip(self.products.col(j).iter()) {
                *sum += score * product;
            }
        }
        let square = self.components.iter().zip(scores).map(|(&(o, sign), s)| 2.0 * s * o + sign * s * s).sum::<f64>();
        (inner, self.mean + square)
    }
}

/// Places the point of each column of `scores`.
pub(super) fn place(
    columns: &Columns,
    targets: &Targets,
    scores: MatRef<'_, f64>,
    n_neighbors: usize,
) -> Result<Found> {
    let d = columns.points.nrows();
    let mut found = Found::new(Mat::zeros(d, scores.ncols()).as_ref());
    for c in 0..scores.ncols() {
        let own: Vec<f64> = scores.col(c).iter().copied().collect();
        let (inner, square) = targets.of(&own);
        let (neighbors, distances, is_whole) = nearest(columns, inner, square, n_neighbors);
        let z = among(columns, &neighbors, &distances)?;
        found.z.col_mut(c).iter_mut().zip(&z).for_each(|(to, from)| *to = *from);
        found.converged[c] = is_whole;
        found.iterations[c] = 1;
    }
    Ok(found)
}

/// The nearest basis points, their squared distances, and whether every value was that of a distance.
fn nearest(columns: &Columns, mut inner: Vec<f64>, square: f64, count: usize) -> (Vec<usize>, Vec<f64>, bool) {
    let (kernel, n) = (&columns.kernel, inner.len());
    let count = count.min(n);
    if columns.pairing == Some(Pairing::SquaredDistance) {
        let at_zero = kernel.value(0.0);
        for p in &mut inner {
            *p += 0.5 * (at_zero - square);
        }
        // The larger the value, the nearer the point.
        let order = leading(n, count, |i| -inner[i]);
        let distances: Vec<Option<f64>> = order.iter().map(|&i| distance_of(kernel, inner[i])).collect();
        let is_whole = distances.iter().all(Option::is_some);
        let known: Vec<(usize, f64)> =
            order.iter().copied().zip(distances).filter_map(|(i, d)| Some((i, d?))).collect();
        if known.is_empty() {
            // Beyond the reach of the kernel: the nearest point is the best that can be said.
            return (vec![order[0]], vec![0.0], false);
        }
        let (neighbors, distances) = known.into_iter().unzip();
        return (neighbors, distances, is_whole);
    }
    let own = product_of(kernel, square);
    let all: Vec<f64> = (0..n).map(|i| own + columns.squared_norm(i) - 2.0 * product_of(kernel, inner[i])).collect();
    let order = leading(n, count, |i| all[i]);
    let distances: Vec<f64> = order.iter().map(|&i| all[i].max(0.0)).collect();
    let is_whole = order.iter().all(|&i| all[i] >= 0.0 && all[i].is_finite());
    (order, distances, is_whole)
}

/// The `count` indices with the smallest keys, in their order.
pub(super) fn leading(n: usize, count: usize, key: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    let compare = |a: &usize, b: &usize| key(*a).total_cmp(&key(*b)).then(a.cmp(b));
    if count < n {
        order.select_nth_unstable_by(count, compare);
        order.truncate(count);
    }
    order.sort_unstable_by(compare);
    order
}

/// The squared distance at which a kernel that falls with it has a value; zero above its largest, none where it never comes.
fn distance_of(kernel: &Kernel, value: f64) -> Option<f64> {
    let at_zero = kernel.value(0.0);
    if value >= at_zero {
        return Some(0.0);
    }
    if value.is_nan() || value <= 0.0 {
        return None;
    }
    if let (Kernel::Gaussian(_), Some(gamma)) = (kernel, kernel.parameter(Parameter::Gamma)) {
        return Some(-(value / at_zero).ln() / gamma);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while kernel.value(high) > value {
        (low, high) = (high, 2.0 * high);
        if !high.is_finite() {
            return None;
        }
    }
    loop {
        let middle = 0.5 * (low + high);
        if !(middle > low && middle < high) {
            return Some(middle);
        }
        if kernel.value(middle) > value { low = middle } else { high = middle }
    }
}

/// The inner product at which a polynomial of odd degree, or the linear kernel, has a value.
fn product_of(kernel: &Kernel, value: f64) -> f64 {
    match kernel {
        Kernel::Polynomial(polynomial) => {
            let root = value.abs().powf(1.0 / f64::from(polynomial.degree())).copysign(value);
            let parameter = |parameter| kernel.parameter(parameter).expect("a polynomial has both");
            (root - parameter(Parameter::Coef0)) / parameter(Parameter::Gamma)
        }
        _ => value,
    }
}

/// The point that has these squared distances to these basis points, as nearly as can be within their span.
fn among(columns: &Columns, neighbors: &[usize], distances: &[f64]) -> Result<Vec<f64>> {
    let (d, m) = (columns.points.nrows(), neighbors.len());
    let share = 1.0 / m as f64;
    let mean: Vec<f64> =
        (0..d).map(|k| neighbors.iter().map(|&i| columns.points[(k, i)]).sum::<f64>() * share).collect();
    if m == 1 {
        return Ok(mean);
    }
    let centred = Mat::from_fn(d, m, |k, c| columns.points[(k, neighbors[c])] - mean[k]);
    let gram = small_product(centred.transpose(), centred.as_ref());
    let (values, vectors) = small_eigen(gram.as_ref(), Order::Algebraic)?;
    // -½ G⁺ (d² − diag G), without what is the same in all of it.
    let right: Vec<f64> = (0..m).map(|c| -0.5 * (distances[c] - gram[(c, c)])).collect();
    let common = share * right.iter().sum::<f64>();
    let least = (DEPENDENT * values[0]).max(rounding(columns, neighbors));
    let mut weights = vec![0.0; m];
    for (j, &value) in values.iter().enumerate().filter(|(_, value)| **value > least) {
        let along: f64 = vectors.col(j).iter().zip(&right).map(|(v, r)| v * (r - common)).sum();
        weights.iter_mut().zip(vectors.col(j).iter()).for_each(|(w, v)| *w += along / value * v);
    }
    Ok((0..d).map(|k| mean[k] + (0..m).map(|c| centred[(k, c)] * weights[c]).sum::<f64>()).collect())
}

/// An eigenvalue of `G` that the rounding of `C` can make where all neighbours are copies of one point.
fn rounding(columns: &Columns, neighbors: &[usize]) -> f64 {
    let m = neighbors.len() as f64;
    let longest = neighbors.iter().map(|&i| columns.squared_norm(i)).fold(0.0, f64::max);
    m * (ROUNDINGS * m * f64::EPSILON).powi(2) * longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_a_distance_tells_it() {
        for kernel in [
            Kernel::gaussian(0.7),
            Kernel::matern32(0.9),
            Kernel::matern52(0.9),
            Kernel::exponential(0.5),
            Kernel::rational_quadratic(0.5, 2.0),
        ] {
            let kernel = kernel.expect("in its domain");
            for s in [0.01, 1.0, 3.0] {
                let told = distance_of(&kernel, kernel.value(s)).expect("a value of the kernel");
                assert!((told - s).abs() < 1e-9, "{}: {told} for {s}", kernel.name());
            }
            assert_eq!(distance_of(&kernel, 2.0), Some(0.0));
            assert_eq!(distance_of(&kernel, -0.1), None);
        }
    }

    #[test]
    fn odd_polynomials_tell_the_inner_product() {
        let kernel = Kernel::polynomial(0.5, 1.0, 3).expect("in its domain");
        for s in [-9.0, -2.0, 0.0, 4.0] {
            assert!((product_of(&kernel, kernel.value(s)) - s).abs() < 1e-12);
        }
    }

    #[test]
    fn the_nearest_come_first_and_ties_by_place() {
        let keys = [3.0, 1.0, 2.0, 1.0];
        assert_eq!(leading(4, 3, |i| keys[i]), [1, 3, 2]);
        assert_eq!(leading(4, 9, |i| keys[i]).len(), 4);
    }
}
