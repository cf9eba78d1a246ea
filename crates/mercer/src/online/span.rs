//! The span of the components, and what of a row lies in it.
//!
//! # Method
//!
//! Components as a rule leaves them are not orthonormal, and need not be independent. With `P = w·w` their inner products and
//! `P = R Rᵀ`, a row whose centred image `c` has the inner products `y = w·c` with them has a part of squared length `|R⁻¹ y|²` in their
//! span. `R` is made row by row. A component of which those before it leave a part whose squared length is [`DEPENDENT`] of the longest
//! component's, or less, is left out: it is a combination of them, or has nearly no length, and where that part points rounding has decided; or
//! the square is negative, which a kernel that is not positive semi-definite can make it.
//!
//! **Cost**: `P³ / 6` for `R`, `P² / 2` for a row.

use faer::Mat;

use super::learner::DEPENDENT;
use super::memory::dot;
use super::passes::count;

/// The span of some components.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    kept: Vec<usize>,
    /// `R`, row after row, each up to its diagonal.
    factor: Vec<f64>,
    /// Room for `R⁻¹ y`.
    solution: Vec<f64>,
}

impl Span {
    /// The span of components with these inner products.
    pub(super) fn of(inner: &Mat<f64>) -> Self {
        let mut span = Self::default();
        span.follow(inner);
        span
    }

    /// The components have these inner products now.
    pub(super) fn follow(&mut self, inner: &Mat<f64>) {
        let Self { kept, factor, .. } = self;
        kept.clear();
        factor.clear();
        let longest = (0..inner.nrows()).map(|i| inner[(i, i)]).fold(0.0, f64::max);
        for i in 0..inner.nrows() {
            let (mut own, start) = (inner[(i, i)], factor.len());
            for (g, &j) in kept.iter().enumerate() {
                count(g + 1);
                let (before, row) = factor.split_at(start);
                let other = &before[g * (g + 1) / 2..][..=g];
                let value = (inner[(i, j)] - dot(row, &other[..g])) / other[g];
                own -= value * value;
                factor.push(value);
            }
            if own > DEPENDENT * longest {
                factor.push(own.sqrt());
                kept.push(i);
            } else {
                factor.truncate(start);
            }
        }
    }

    /// Components that are not left out.
    pub(super) fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// `R`, with a row and a column for every component that is not left out.
    pub(super) fn factor(&self) -> Mat<f64> {
        let k = self.kept.len();
        Mat::from_fn(k, k, |i, j| if j <= i { self.factor[i * (i + 1) / 2 + j] } else { 0.0 })
    }

    /// The squared length of the part in the span of a row whose inner products with the components are these.
    pub(super) fn explained(&mut self, outputs: &[f64]) -> f64 {
        let Self { kept, factor, solution } = self;
        solution.clear();
        for (i, &p) in kept.iter().enumerate() {
            let row = &factor[i * (i + 1) / 2..][..=i];
            let value = (outputs[p] - dot(solution, &row[..i])) / row[i];
            solution.push(value);
        }
        dot(solution, solution)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inner products of vectors in the plane, which the span forgets.
    fn inner(vectors: &[[f64; 2]]) -> Mat<f64> {
        Mat::from_fn(vectors.len(), vectors.len(), |i, j| dot(&vectors[i], &vectors[j]))
    }

    #[test]
    fn what_lies_in_the_span_does_not_depend_on_the_vectors_that_span_it() {
        let row = [3.0, 4.0];
        for (vectors, kept, want) in [
            (vec![[1.0, 0.0]], vec![0], 9.0),
            (vec![[0.1, 0.0]], vec![0], 9.0),
            (vec![[1.0, 0.0], [0.8, 0.6]], vec![0, 1], 25.0),
            (vec![[1.0, 0.0], [2.0, 0.0], [1.0, 1.0]], vec![0, 2], 25.0),
            (vec![[0.0, 0.0], [3.0, 4.0]], vec![1], 25.0),
            (vec![[1.0, 0.0], [0.0, 1e-9]], vec![0], 9.0),
            (vec![[0.0, 0.0]], vec![], 0.0),
        ] {
            let mut span = Span::of(&inner(&vectors));
            assert_eq!(span.kept(), kept, "{vectors:?}");
            let outputs: Vec<f64> = vectors.iter().map(|vector| dot(vector, &row)).collect();
            let found = span.explained(&outputs);
            assert!((found - want).abs() < 1e-12 * want.max(1.0), "{vectors:?}: {found}");
            let r = span.factor();
            let again = &r * r.transpose();
            for (a, &i) in kept.iter().enumerate() {
                for (b, &j) in kept.iter().enumerate() {
                    assert!((again[(a, b)] - dot(&vectors[i], &vectors[j])).abs() < 1e-12, "{vectors:?}");
                }
            }
        }
    }

    #[test]
    fn directions_of_a_squared_length_that_is_not_positive_are_left_out() {
        let inner = Mat::from_fn(3, 3, |i, j| if i == j { [1.0, -1.0, 1.0][i] } else { 0.0 });
        let mut span = Span::of(&inner);
        assert_eq!(span.kept(), [0, 2]);
        assert!((span.explained(&[1.0, 5.0, 2.0]) - 5.0).abs() < 1e-15);
    }
}
