//! What samples and their decoded codes differ by over a span, as operators whose leading eigenpairs are searched for.
//!
//! # Numerics
//!
//! Nearly all the time of learning over a span goes into products with its points. They are made in single precision, which takes half of it, where the
//! rounding of that is far below what eigenpairs have to be known to: a product's error is about `ε √(Σ_i (z_i ‖x_i‖²)²)`, and the eigenvalue is of the size of
//! the sample's squared norm, or a small part of it.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::span::Span;
use crate::eigen::many::{Family, Until, add};
use crate::preimage::WeightedCovariances;

/// The rounding of products, relative to the squared norm of a sample, may be this share of the tolerance: so the tolerance is kept to where an eigenvalue is as small a
/// share of that norm.
const SHARE: f64 = 0.01;

/// The largest squared norm of a point is no more digits from one than this.
const MOST_DIGITS: f64 = 10.0;

/// And weights are no larger than this, which leaves single precision room for their products.
const LARGEST_WEIGHT: f64 = 1e25;

/// `Σ_i z_i x_i x_iᵀ − x xᵀ` for each sample `x`, one column of weights `z` each.
pub(super) struct Residuals<'a> {
    covariances: Covariances<'a>,
    samples: MatRef<'a, f64>,
}

enum Covariances<'a> {
    Double(WeightedCovariances<'a>),
    Single { points: MatRef<'a, f32>, weights: Mat<f32> },
}

impl<'a> Residuals<'a> {
    /// For eigenpairs that are searched for until they are so exact.
    pub(super) fn new(span: &'a Span, weights: MatRef<'a, f64>, samples: MatRef<'a, f64>, until: Until) -> Self {
        let rounds_little = |c: usize| {
            let squares = weights.col(c).iter().zip(span.squares()).map(|(z, square)| (z * square).powi(2));
            let error = f64::from(f32::EPSILON) * squares.sum::<f64>().sqrt();
            error <= SHARE * until.tolerance * samples.col(c).squared_norm_l2()
        };
        // Points as they are may be of any size, but not in single precision, nor may their weights.
        let has_room = span.squares().iter().copied().fold(0.0, f64::max).log10().abs() < MOST_DIGITS
            && weights.norm_max() < LARGEST_WEIGHT;
        let covariances = if has_room && (0..samples.ncols()).all(rounds_little) {
            let weights = Mat::from_fn(weights.nrows(), weights.ncols(), |i, c| weights[(i, c)] as f32);
            Covariances::Single { points: span.single(), weights }
        } else {
            Covariances::Double(WeightedCovariances { points: span.points.as_ref(), weights })
        };
        Self { covariances, samples }
    }
}

impl Family for Residuals<'_> {
    fn dim(&self) -> usize {
        self.samples.nrows()
    }

    fn apply(&self, members: &[usize], x: MatRef<'_, f64>, mut out: MatMut<'_, f64>) {
        match &self.covariances {
            Covariances::Double(covariances) => covariances.apply(members, x, out.as_mut()),
            Covariances::Single { points, weights } => {
                let narrow = Mat::from_fn(x.nrows(), x.ncols(), |i, c| x[(i, c)] as f32);
                let mut along = Mat::zeros(points.ncols(), x.ncols());
                matmul(along.as_mut(), Accum::Replace, points.transpose(), narrow.as_ref(), 1.0, Par::Seq);
                for (c, &member) in members.iter().enumerate() {
                    along.col_mut(c).iter_mut().zip(weights.col(member).iter()).for_each(|(a, w)| *a *= w);
                }
                let mut image = narrow;
                matmul(image.as_mut(), Accum::Replace, *points, along.as_ref(), 1.0, Par::Seq);
                for (to, from) in out.as_mut().col_iter_mut().zip(image.col_iter()) {
                    to.iter_mut().zip(from.iter()).for_each(|(to, from)| *to = f64::from(*from));
                }
            }
        }
        for (c, &member) in members.iter().enumerate() {
            let sample: Vec<f64> = self.samples.col(member).iter().copied().collect();
            let along: f64 = sample.iter().zip(x.col(c).iter()).map(|(s, w)| s * w).sum();
            let column = out.as_mut().col_mut(c).try_as_col_major_mut().expect("columns are contiguous");
            add(column.as_slice_mut(), -along, &sample);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eigen::Order;
    use crate::eigen::many::extremes;

    fn random(n: usize, columns: usize, seed: usize) -> Mat<f64> {
        Mat::from_fn(n, columns, |i, j| ((i * i * 7 + i * j * 5 + 13 * j + 29 * seed) as f64 * 0.9).sin())
    }

    #[test]
    fn single_precision_is_taken_where_it_is_enough_and_finds_the_same_pairs() {
        let (d, m, n) = (60, 90, 5);
        let (span, samples) = (Span::new(random(d, m, 1)), random(d, n, 2));
        let weights = 0.01 * random(m, n, 3);
        let until = |tolerance: f64| Until { tolerance, max_steps: 300 };
        let of = |tolerance| Residuals::new(&span, weights.as_ref(), samples.as_ref(), until(tolerance));
        assert!(matches!(of(1e-3).covariances, Covariances::Single { .. }));
        assert!(matches!(of(1e-9).covariances, Covariances::Double(_)));
        // Weights that cancel leave single precision nothing but rounding.
        let large = 1e7 * random(m, n, 3);
        let cancelled = Residuals::new(&span, large.as_ref(), samples.as_ref(), until(1e-3));
        assert!(matches!(cancelled.covariances, Covariances::Double(_)));
        let far = Span::new(1e8 * random(d, m, 1));
        let tiny = 1e-18 * random(m, n, 3);
        let far_samples = 1e8 * &samples;
        let of_far = Residuals::new(&far, tiny.as_ref(), far_samples.as_ref(), until(1e-3));
        assert!(matches!(of_far.covariances, Covariances::Double(_)));
        let find = |tolerance| extremes(&of(tolerance), samples.as_ref(), Order::Modulus, until(tolerance));
        let (single, double) = (find(1e-3), find(1e-9));
        for c in 0..n {
            assert!((single.values[c] / double.values[c] - 1.0).abs() < 1e-4, "sample {c}");
            let along: f64 = single.vectors.col(c).iter().zip(double.vectors.col(c).iter()).map(|(a, b)| a * b).sum();
            assert!(along.abs() > 1.0 - 1e-3, "sample {c}: {along}");
        }
    }
}
