//! One extreme eigenpair of each of many small operators.
//!
//! **Use it** when thousands of matrices of some hundred rows each have to give up one eigenpair: those of an autoencoder's samples, or of
//! codes that are decoded.
//!
//! **Cost** per operator: as many products as it takes Lanczos' method, and `O(d m²)` for keeping `m` vectors of length `d`
//! orthogonal. Operators that have converged are multiplied no more. **Memory**: the vectors of all operators that are being worked on.
//!
//! # Method
//!
//! Lanczos' method with complete orthogonalisation (twice), one process per operator, all in step, so that a family whose products share
//! a matrix makes one matrix product per step for all of them. There are no restarts: at the latest when the vectors span the whole
//! space, the pair is exact. That is how small operators (`d` up to [`EXACT`]) are always treated.
//!
//! # Numerics
//!
//! A pair has converged when `‖A v − λ v‖ ≤ tolerance · |λ|`, by Lanczos' own identity `‖A v − λ v‖ = β |s_m|`, which holds to rounding
//! while the vectors are orthogonal. One whose residual is the rounding of the operator itself has so, too: an eigenvalue of zero is never known better. Where the pair of largest modulus is wanted, the other end of the spectrum must not be able to
//! overtake it.

use faer::{Mat, MatMut, MatRef};

use super::Order;
use super::tridiagonal::{End, extreme};
use crate::simd::{Isa, Job, Target};

/// Symmetric operators of the same order.
pub(crate) trait Family {
    /// The order of every member.
    fn dim(&self) -> usize;

    /// Writes the product of member `members[c]` with column `c` of `x` into column `c` of `out`.
    fn apply(&self, members: &[usize], x: MatRef<'_, f64>, out: MatMut<'_, f64>);
}

/// Up to this order the vectors of a process span the whole space before it is looked at.
pub(crate) const EXACT: usize = 32;

/// When a process ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until {
    /// The residual, relative to the eigenvalue.
    pub(crate) tolerance: f64,
    /// Products per operator, at most.
    pub(crate) max_steps: usize,
}

/// One pair of each member.
pub(crate) struct Extremes {
    pub(crate) values: Vec<f64>,
    /// Unit vectors, one per column.
    pub(crate) vectors: Mat<f64>,
    /// `‖A v − λ v‖`.
    pub(crate) residuals: Vec<f64>,
    /// Whether that is as small as it was asked to be, or as rounding lets it be.
    pub(crate) converged: Vec<bool>,
}

impl Extremes {
    /// Room for the pairs of `n` members of order `d`.
    pub(crate) fn new(d: usize, n: usize) -> Self {
        Self { values: vec![0.0; n], vectors: Mat::zeros(d, n), residuals: vec![0.0; n], converged: vec![false; n] }
    }

    /// Takes the pair of a family that has one member.
    pub(crate) fn take(&mut self, member: usize, only: &Self) {
        self.values[member] = only.values[0];
        self.vectors.col_mut(member).copy_from(only.vectors.col(0));
        self.residuals[member] = only.residuals[0];
        self.converged[member] = only.converged[0];
    }
}

/// What is left of a vector that was made orthogonal is rounding below this share of the operator's size.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Lanczos' process of one member.
struct Process {
    /// Orthonormal vectors, one after the other.
    basis: Vec<f64>,
    diagonal: Vec<f64>,
    beside: Vec<f64>,
}

/// The leading pair of each member, from start vectors in the columns of `start` (a column of zeros starts anywhere).
pub(crate) fn extremes(family: &dyn Family, start: MatRef<'_, f64>, order: Order, until: Until) -> Extremes {
    let (d, n) = (family.dim(), start.ncols());
    let mut found = Extremes::new(d, n);
    let mut processes: Vec<Process> = (0..n).map(|c| Process::new(start.col(c).iter().copied().collect())).collect();
    let mut active: Vec<usize> = (0..n).collect();
    let limit = if d <= EXACT { d } else { until.max_steps.clamp(EXACT, d) };
    let isa = Isa::detect();
    for step in 1..=limit {
        let x = Mat::from_fn(d, active.len(), |i, c| processes[active[c]].last(d)[i]);
        let mut image = Mat::zeros(d, active.len());
        family.apply(&active, x.as_ref(), image.as_mut());
        let mut going_on = Vec::with_capacity(active.len());
        for (c, &member) in active.iter().enumerate() {
            let process = &mut processes[member];
            let is_whole = process.extend(isa, image.col(c).iter().copied().collect(), d);
            let looks = is_whole || step == limit || (d > EXACT && step >= 4 && step.is_multiple_of(2));
            let pair = if looks { process.pair(order, until.tolerance) } else { None };
            let is_as_asked = pair.is_some();
            // The last look takes what there is.
            let pair = pair.or_else(|| (is_whole || step == limit).then(|| process.best(order)));
            match pair {
                None => going_on.push(member),
                Some(ritz) => {
                    found.values[member] = ritz.value;
                    found.residuals[member] = ritz.residual;
                    found.converged[member] = is_as_asked || ritz.residual <= ROUNDING * process.size();
                    process.combine(&ritz.vector, d, found.vectors.as_mut(), member);
                    // Its memory is needed no more.
                    process.basis = Vec::new();
                }
            }
        }
        active = going_on;
        if active.is_empty() {
            break;
        }
    }
    found
}

/// A pair of the projected matrix.
struct Ritz {
    value: f64,
    vector: Vec<f64>,
    residual: f64,
}

impl Process {
    fn new(mut start: Vec<f64>) -> Self {
        if !normalize(&mut start) {
            let d = start.len();
            // Any vector will do for an operator nothing is known of.
            start.iter_mut().enumerate().for_each(|(i, x)| *x = 1.0 + 0.5 * ((i % 7) as f64) / d as f64);
            normalize(&mut start);
        }
        Self { basis: start, diagonal: Vec::new(), beside: Vec::new() }
    }

    fn last(&self, d: usize) -> &[f64] {
        &self.basis[self.basis.len() - d..]
    }

    /// Takes in the product with the last vector; whether the vectors now span an invariant space, or there is no next one.
    fn extend(&mut self, isa: Isa, mut image: Vec<f64>, d: usize) -> bool {
        let (alpha, beta) = isa.run(Orthogonalize { basis: &self.basis, image: &mut image });
        self.diagonal.push(alpha);
        let size = self.size().max(beta);
        let m = self.diagonal.len();
        // What is left is rounding of what was taken away.
        let is_whole = m == d || (beta.is_finite() && beta <= ROUNDING * size);
        // A length that is no number stays, so that no pair is taken for one of an operator whose squares overflow.
        self.beside.push(if is_whole { 0.0 } else { beta });
        let is_at_its_end = is_whole || !beta.is_finite();
        if !is_at_its_end {
            for x in &mut image {
                *x /= beta;
            }
            self.basis.extend_from_slice(&image);
        }
        is_at_its_end
    }

    /// About how large the operator is.
    fn size(&self) -> f64 {
        self.diagonal.iter().chain(&self.beside).fold(0.0, |largest: f64, x| largest.max(x.abs()))
    }

    fn ritz(&self, end: End) -> Ritz {
        let (value, vector) = extreme(&self.diagonal, &self.beside, end);
        let m = self.diagonal.len();
        let residual = self.beside[m - 1] * vector[m - 1].abs();
        Ritz { value, vector, residual }
    }

    fn is_finite(&self) -> bool {
        self.diagonal.iter().chain(&self.beside).all(|x| x.is_finite())
    }

    /// The leading pair, if it has converged.
    fn pair(&self, order: Order, tolerance: f64) -> Option<Ritz> {
        if !self.is_finite() {
            return None;
        }
        let upper = self.ritz(End::Upper);
        let allowed = |ritz: &Ritz| tolerance * ritz.value.abs();
        if order == Order::Algebraic {
            return (upper.residual <= allowed(&upper)).then_some(upper);
        }
        let lower = self.ritz(End::Lower);
        let (first, second) = if upper.value.abs() >= lower.value.abs() { (upper, lower) } else { (lower, upper) };
        let is_safe = second.value.abs() + second.residual <= first.value.abs() || second.residual <= allowed(&first);
        (first.residual <= allowed(&first) && is_safe).then_some(first)
    }

    /// The leading pair, whatever its residual.
    fn best(&self, order: Order) -> Ritz {
        if !self.is_finite() {
            // An operator that is not finite has no spectrum; its caller sees that.
            return Ritz { value: f64::NAN, vector: vec![0.0; self.diagonal.len()], residual: f64::NAN };
        }
        let upper = self.ritz(End::Upper);
        if order == Order::Algebraic {
            return upper;
        }
        let lower = self.ritz(End::Lower);
        if upper.value.abs() >= lower.value.abs() { upper } else { lower }
    }

    /// Writes the vector that has these coordinates.
    fn combine(&self, coordinates: &[f64], d: usize, mut vectors: MatMut<'_, f64>, column: usize) {
        let mut sum = vec![0.0; d];
        for (q, &s) in self.basis.chunks_exact(d).zip(coordinates) {
            add(&mut sum, s, q);
        }
        normalize(&mut sum);
        vectors.as_mut().col_mut(column).iter_mut().zip(&sum).for_each(|(to, from)| *to = *from);
    }
}

/// `image ← image − basis (basisᵀ image)`, twice: once loses orthogonality when what is left is small. Says what lay along the last vector
/// of the basis, and the length of what is left.
struct Orthogonalize<'a> {
    basis: &'a [f64],
    image: &'a mut [f64],
}

impl Job for Orthogonalize<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<G: Target>(self) -> (f64, f64) {
        let Self { basis, image } = self;
        let d = image.len();
        let along_last = dot(&basis[basis.len() - d..], image);
        for _ in 0..2 {
            for q in basis.chunks_exact(d) {
                let factor = dot(q, image);
                add(image, -factor, q);
            }
        }
        (along_last, dot(image, image).sqrt())
    }
}

/// Makes a vector of unit length; whether it had one.
fn normalize(x: &mut [f64]) -> bool {
    let norm = dot(x, x).sqrt();
    if !(norm > 0.0 && norm.is_finite()) {
        return false;
    }
    for x in x {
        *x /= norm;
    }
    true
}

/// Sums in flight: enough for the compiler to use whole registers.
const LANES: usize = 8;

/// The inner product.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in xs.zip(ys) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}

/// `y ← y + factor · x`.
#[inline(always)]
pub(crate) fn add(y: &mut [f64], factor: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

/// A family whose products are counted.
#[cfg(test)]
pub(crate) struct Counted<F> {
    family: F,
    pub(crate) products: std::cell::Cell<usize>,
}

#[cfg(test)]
impl<F> Counted<F> {
    pub(crate) fn new(family: F) -> Self {
        Self { family, products: std::cell::Cell::new(0) }
    }
}

#[cfg(test)]
impl<F: Family> Family for Counted<F> {
    fn dim(&self) -> usize {
        self.family.dim()
    }

    fn apply(&self, members: &[usize], x: MatRef<'_, f64>, out: MatMut<'_, f64>) {
        self.products.set(self.products.get() + members.len());
        self.family.apply(members, x, out);
    }
}

#[cfg(test)]
mod tests {
    use faer::Accum;
    use faer::linalg::matmul::matmul;

    use super::*;
    use crate::eigen::tall::random;

    /// Symmetric matrices with known spectra: member `c` is `Q diag(values_c) Qᵀ`.
    struct Known(Vec<Mat<f64>>);

    impl Family for Known {
        fn dim(&self) -> usize {
            self.0[0].nrows()
        }
        fn apply(&self, members: &[usize], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
            for (c, &member) in members.iter().enumerate() {
                let to = out.as_mut().subcols_mut(c, 1);
                matmul(to, Accum::Replace, self.0[member].as_ref(), x.subcols(c, 1), 1.0, faer::Par::Seq);
            }
        }
    }

    /// A symmetric matrix with these eigenvalues, by reflections of a diagonal one.
    fn with_values(values: &[f64], seed: u64) -> Mat<f64> {
        let d = values.len();
        let mut a = Mat::from_fn(d, d, |i, j| if i == j { values[i] } else { 0.0 });
        for reflection in 0..3 {
            let mut v: Vec<f64> = random(d, 1, seed + reflection).col(0).iter().copied().collect();
            normalize(&mut v);
            let h = Mat::from_fn(d, d, |i, j| f64::from(u8::from(i == j)) - 2.0 * v[i] * v[j]);
            a = &h * &a * &h;
        }
        a
    }

    fn residual(a: &Mat<f64>, value: f64, v: &[f64]) -> f64 {
        let d = v.len();
        (0..d).map(|i| ((0..d).map(|j| a[(i, j)] * v[j]).sum::<f64>() - value * v[i]).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn each_member_gives_the_pair_that_was_asked_for_at_every_order() {
        for d in [1, 2, 3, EXACT, EXACT + 1, 90] {
            let spectrum = |top: f64, bottom: f64| -> Vec<f64> {
                let inner = |i: usize| -0.5 + i as f64 / d as f64;
                (0..d)
                    .map(|i| {
                        if i == 0 {
                            top
                        } else if i == 1 {
                            bottom
                        } else {
                            inner(i)
                        }
                    })
                    .collect()
            };
            let tops = [(3.0, -1.0), (1.0, -3.0), (2.0, 1.9)];
            let family =
                Known(tops.iter().enumerate().map(|(c, &(t, b))| with_values(&spectrum(t, b), c as u64)).collect());
            let start = random(d, tops.len(), 11);
            for order in [Order::Modulus, Order::Algebraic] {
                let until = Until { tolerance: 1e-11, max_steps: 90 };
                let found = extremes(&family, start.as_ref(), order, until);
                for (c, &(top, bottom)) in tops.iter().enumerate() {
                    let bottom = if d == 1 { top } else { bottom };
                    let leads = order == Order::Algebraic || top.abs() >= bottom.abs();
                    let expected = if leads { top } else { bottom };
                    assert!((found.values[c] - expected).abs() < 1e-10, "order {d}, member {c}: {}", found.values[c]);
                    let v: Vec<f64> = found.vectors.col(c).iter().copied().collect();
                    assert!((dot(&v, &v) - 1.0).abs() < 1e-13);
                    assert!(residual(&family.0[c], found.values[c], &v) < 1e-9, "order {d}, member {c}");
                }
            }
        }
    }

    #[test]
    fn an_operator_of_zeros_and_a_start_of_zeros_have_an_answer() {
        let family = Known(vec![Mat::zeros(5, 5)]);
        let until = Until { tolerance: 1e-9, max_steps: 5 };
        let found = extremes(&family, Mat::zeros(5, 1).as_ref(), Order::Modulus, until);
        assert_eq!((found.values[0], found.residuals[0], found.converged[0]), (0.0, 0.0, true));
        assert!((found.vectors.col(0).norm_l2() - 1.0).abs() < 1e-14);
    }

    /// One member of 200 rows whose first eigenvalue stands apart from the others.
    fn one_apart() -> Counted<Known> {
        let values: Vec<f64> = (0..200).map(|i| if i == 0 { 2.0 } else { f64::from(i) / 200.0 }).collect();
        Counted::new(Known(vec![with_values(&values, 5)]))
    }

    #[test]
    fn a_start_near_the_eigenvector_takes_fewer_products() {
        let (family, until) = (one_apart(), Until { tolerance: 1e-10, max_steps: 200 });
        let cold = random(200, 1, 1);
        let found = extremes(&family, cold.as_ref(), Order::Modulus, until);
        let from_anywhere = family.products.replace(0);
        let near = &found.vectors + 1e-6 * &random(200, 1, 2);
        let again = extremes(&family, near.as_ref(), Order::Modulus, until);
        let from_near = family.products.get();
        assert!((again.values[0] - found.values[0]).abs() < 1e-9);
        assert!(from_near < from_anywhere, "{from_near} products, and {from_anywhere} from anywhere");
    }

    /// Eigenvalues that crowd at the upper end, as those of a string do, are told apart by none of the first vectors.
    #[test]
    fn what_has_not_converged_when_the_steps_are_over_is_told() {
        let d = 120;
        let crowded: Vec<f64> = (1..=d).map(|i| (std::f64::consts::PI * i as f64 / (d + 1) as f64).cos()).collect();
        let apart: Vec<f64> = (0..d).map(|i| if i == 0 { 2.0 } else { -(i as f64) / d as f64 }).collect();
        let family = Known(vec![with_values(&crowded, 1), with_values(&apart, 2), Mat::full(d, d, f64::NAN)]);
        let of = |tolerance, max_steps| {
            let until = Until { tolerance, max_steps };
            extremes(&family, random(d, 3, 3).as_ref(), Order::Algebraic, until).converged
        };
        assert_eq!(of(1e-10, 40), [false, true, false]);
        assert_eq!(of(1e-10, d), [true, true, false], "all vectors span everything");
    }

    #[test]
    fn a_loose_tolerance_is_kept_and_takes_fewer_products() {
        let family = one_apart();
        let mut products = Vec::new();
        for tolerance in [1e-2, 1e-10] {
            family.products.set(0);
            let until = Until { tolerance, max_steps: 200 };
            let found = extremes(&family, random(200, 1, 1).as_ref(), Order::Modulus, until);
            assert!(found.residuals[0] <= tolerance * 2.0);
            products.push(family.products.get());
        }
        assert!(products[0] < products[1], "{products:?}");
    }

    #[test]
    fn an_operator_whose_squares_overflow_has_no_pair() {
        for d in [3, EXACT + 8] {
            let values: Vec<f64> = (1..=d).map(|i| i as f64).collect();
            let family = Known(vec![1e200 * &with_values(&values, 7)]);
            let until = Until { tolerance: 1e-3, max_steps: 30 };
            for order in [Order::Modulus, Order::Algebraic] {
                let found = extremes(&family, random(d, 1, 1).as_ref(), order, until);
                assert!(found.values[0].is_nan() && !found.converged[0], "order {d}: {}", found.values[0]);
            }
        }
    }

    #[test]
    fn numbers_that_are_not_finite_end_the_process() {
        let family = Known(vec![Mat::full(40, 40, f64::NAN)]);
        let until = Until { tolerance: 1e-3, max_steps: 30 };
        assert!(extremes(&family, random(40, 1, 1).as_ref(), Order::Modulus, until).values[0].is_nan());
    }
}
