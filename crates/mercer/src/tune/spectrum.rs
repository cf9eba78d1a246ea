//! What sums over a kernel matrix tell of its spectrum.

/// Sums over a kernel matrix, and over its derivatives by some parameters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sums {
    /// Rows of the matrix.
    pub(super) n: usize,
    /// The sum of the diagonal.
    pub(super) trace: f64,
    /// The sum of all entries.
    pub(super) total: f64,
    /// The sum of the squares of all entries.
    pub(super) square: f64,
    /// The sum of the squares of the row sums.
    pub(super) row_square: f64,
    /// The same for each parameter: [`Slopes`].
    pub(super) slopes: Vec<Slopes>,
}

/// Sums over the derivative of a kernel matrix by one parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slopes {
    /// The sum of its diagonal.
    pub(super) trace: f64,
    /// The sum of its entries.
    pub(super) total: f64,
    /// The sum of its entries times those of the matrix.
    pub(super) cross: f64,
    /// The sum of its row sums times those of the matrix.
    pub(super) row_cross: f64,
}

/// A number and its derivative by a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Graded {
    pub(super) value: f64,
    pub(super) slope: f64,
}

/// Roundings that sums may be off by, beside each other: those of many additions, and of kernel values that are powers of others.
const ROUNDINGS: f64 = 64.0;

/// A difference of sums; zero where it is no larger than what rounding leaves of terms of that size. Terms that have overflowed leave no number: they are not
/// taken for rounding.
fn beyond_rounding(difference: f64, terms: f64) -> f64 {
    match () {
        () if !terms.is_finite() => f64::NAN,
        () if difference.abs() <= ROUNDINGS * f64::EPSILON * terms => 0.0,
        () => difference,
    }
}

/// What is never negative but for rounding; unlike `max`, this keeps what is not a number.
fn not_negative(x: f64) -> f64 {
    if x < 0.0 { 0.0 } else { x }
}

impl Sums {
    /// $\lVert G \rVert_F^2$: the sum of the squared eigenvalues of the centred matrix. Of kernels so wide that nothing but rounding is left of it, zero;
    /// of sums that have overflowed, not a number.
    pub(super) fn centered_square(&self) -> f64 {
        let n = self.n as f64;
        let (rows, all) = (2.0 / n * self.row_square, (self.total / n).powi(2));
        not_negative(beyond_rounding(self.square - rows + all, self.square + rows + all))
    }

    /// $\operatorname{tr} G$: the sum of the eigenvalues of the centred matrix; zero where it is rounding.
    pub(super) fn centered_trace(&self) -> f64 {
        let mean = self.total / self.n as f64;
        beyond_rounding(self.trace - mean, self.trace.abs() + mean.abs())
    }

    /// Whether the centred matrix is nothing but rounding: then so are slopes.
    pub(super) fn is_rounding(&self) -> bool {
        self.centered_square() == 0.0
    }

    /// Whether $E$ and its derivatives are numbers: they are not where kernel values, or sums of their squares, have overflowed.
    pub(super) fn is_finite(&self) -> bool {
        self.variance().is_finite() && (0..self.slopes.len()).all(|index| self.variance_slope(index).is_finite())
    }

    /// Half the derivative of [`centered_square`](Self::centered_square): $\langle G, dG \rangle$.
    fn centered_cross(&self, slopes: &Slopes) -> f64 {
        let n = self.n as f64;
        slopes.cross - 2.0 / n * slopes.row_cross + self.total * slopes.total / (n * n)
    }

    /// $E$ of equation (21): the variance of the variances.
    pub(super) fn variance(&self) -> f64 {
        let n = self.n as f64;
        // The mean of squares is not below the square of the mean.
        not_negative(self.centered_square() / n.powi(3) - (self.centered_trace() / (n * n)).powi(2))
    }

    /// The derivative of [`variance`](Self::variance) by a parameter: equation (24), without eigenvectors.
    pub(super) fn variance_slope(&self, parameter: usize) -> f64 {
        if self.is_rounding() {
            return 0.0;
        }
        let (n, slopes) = (self.n as f64, &self.slopes[parameter]);
        let trace_slope = slopes.trace - slopes.total / n;
        2.0 * self.centered_cross(slopes) / n.powi(3) - 2.0 * self.centered_trace() * trace_slope / n.powi(4)
    }

    /// $E$ and its derivative by the first parameter.
    pub(super) fn graded_variance(&self) -> Graded {
        Graded { value: self.variance(), slope: self.variance_slope(0) }
    }

    /// The mean variance of a component among as many as the spectrum effectively has, and its derivative by the first
    /// parameter: $\operatorname{tr} G / l$ over the effective rank $(\operatorname{tr} G)^2 / \lVert G \rVert_F^2$.
    pub(super) fn graded_concentration(&self) -> Graded {
        let (n, slopes) = (self.n as f64, &self.slopes[0]);
        let (square, trace) = (self.centered_square(), self.centered_trace());
        if trace <= 0.0 || self.is_rounding() {
            return Graded { value: 0.0, slope: 0.0 };
        }
        let trace_slope = slopes.trace - slopes.total / n;
        let slope = (2.0 * self.centered_cross(slopes) - square / trace * trace_slope) / (n * trace);
        Graded { value: square / (n * trace), slope }
    }

    /// $E$ of a larger set of `n` points and its derivative by the first parameter, estimated without bias from these, which are
    /// a random sample of them. For kernels of value one between a point and itself.
    ///
    /// $E$ is a combination of means over pairs, triples and quadruples of different points, and each of those is estimated by the
    /// mean over the sample's. Of kernels so wide that nothing but rounding is left of the sample's matrix, it is zero.
    pub(super) fn unbiased_variance(&self, n: usize) -> Graded {
        if self.is_rounding() {
            return Graded { value: 0.0, slope: 0.0 };
        }
        let slopes = &self.slopes[0];
        let m = self.n as f64;
        // Sums over different points, and their derivatives: pairs, squared pairs, pairs with a point in common, pairs without.
        let pairs = (self.total - m, slopes.total);
        let squares = (self.square - m, 2.0 * slopes.cross);
        // Σ (r - 1)² = Σ r² - 2 Σ r + m, of which the squares have both points in common.
        let chains =
            (self.row_square - 2.0 * self.total + m - squares.0, 2.0 * (slopes.row_cross - slopes.total) - squares.1);
        let apart = (
            pairs.0 * pairs.0 - 4.0 * chains.0 - 2.0 * squares.0,
            2.0 * pairs.0 * pairs.1 - 4.0 * chains.1 - 2.0 * squares.1,
        );
        let n = n as f64;
        let falling = |x: f64, factors: usize| (0..factors).fold(1.0, |product, i| product * (x - i as f64));
        let scale = |factors: usize| falling(n, factors) / falling(m, factors);
        let [p2, p3, p4] = [scale(2), scale(3), scale(4)];
        let of = |pairs: f64, squares: f64, chains: f64, apart: f64, ones: f64| {
            let (pairs, squares, chains, apart) = (p2 * pairs, p2 * squares, p3 * chains, p4 * apart);
            let pair_square = apart + 4.0 * chains + 2.0 * squares;
            let square = ones * n + squares;
            let row_square = ones * n + 2.0 * pairs + squares + chains;
            let total_square = ones * n * n + 2.0 * n * pairs + pair_square;
            let centered_square = square - 2.0 / n * row_square + total_square / (n * n);
            // (n - 1 - pairs / n)².
            let trace_square = ones * (n - 1.0).powi(2) - 2.0 * (n - 1.0) / n * pairs + pair_square / (n * n);
            centered_square / n.powi(3) - trace_square / n.powi(4)
        };
        Graded {
            value: of(pairs.0, squares.0, chains.0, apart.0, 1.0),
            slope: of(pairs.1, squares.1, chains.1, apart.1, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(square: f64, row_square: f64) -> Sums {
        let slopes = vec![Slopes { trace: 0.0, total: -1.0, cross: -1.0, row_cross: -2.0 }];
        Sums { n: 4, trace: 4.0, total: 8.0, square, row_square, slopes }
    }

    #[test]
    fn sums_that_have_overflowed_are_not_taken_for_rounding() {
        assert!(sums(6.0, 17.0).is_finite() && sums(6.0, 17.0).variance() > 0.0);
        let inf = f64::INFINITY;
        for over in [sums(inf, 17.0), sums(6.0, inf), sums(inf, inf)] {
            assert!(!over.is_finite() && over.variance().is_nan() && !over.is_rounding(), "{over:?}");
        }
        // A derivative alone can overflow.
        let mut over = sums(6.0, 17.0);
        over.slopes[0].cross = inf;
        assert!(!over.is_finite() && over.variance().is_finite());
    }

    #[test]
    fn what_rounding_leaves_of_the_widest_kernels_is_nothing() {
        // All entries are one, but for rounding: 16 of them, in 4 rows of sum 4.
        let flat = Sums { total: 16.0, ..sums(16.0 + 4e-15, 64.0) };
        assert_eq!((flat.variance(), flat.variance_slope(0)), (0.0, 0.0));
        assert_eq!(flat.unbiased_variance(100), Graded { value: 0.0, slope: 0.0 });
        assert!(flat.is_finite() && flat.is_rounding());
    }
}
