//! All monomials of some variables up to a degree, in an order in which each is an earlier one times a variable.
//!
//! # Method
//!
//! The list of degree `n` in `d` variables, with the power of the last variable outermost, is that in `d - 1` variables followed by
//! the last variable times the list of degree `n - 1`. So the list of degree `n` is, for one variable after the other, that
//! variable times a prefix of the list of degree `n - 1`: a monomial needs one multiplication, its multinomial coefficient one
//! ratio, and no table holds exponents.
//!
//! # References
//!
//! - \[RA\] V. C. Raykar, A. Ankur, "Fast kernel principal component analysis for the polynomial and Gaussian kernels", CMSC878R
//!   project report, University of Maryland. Equations (27)-(30).

use std::ops::Range;

use crate::error::{Error, Result};

/// More terms than this are never worth while: a product of that many rows costs as much directly.
pub(super) const MAX_TERMS: usize = 1 << 20;

/// The monomials of `d` variables of degree 0 to `p`.
///
/// ```
/// use mercer::expansion::Monomials;
///
/// let monomials = Monomials::new(2, 3)?;
/// assert_eq!(monomials.len(), 10);
/// // Inner products of compressed vectors are powers of inner products.
/// let (a, b) = ([2.0, -1.0], [0.5, 3.0]);
/// let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
/// let compressed = dot(&monomials.compress(3, &a), &monomials.compress(3, &b));
/// assert!((compressed - dot(&a, &b).powi(3)).abs() < 1e-12);
///
/// // Those of degree two are x², xy and y², after the constant, x and y.
/// assert_eq!((monomials.n_variables(), monomials.degree(), monomials.of_degree(2)), (2, 3, 3..6));
/// assert!(!monomials.is_empty() && Monomials::count(2, 3) == Some(10));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Monomials {
    n_variables: usize,
    /// Where each degree starts, and the end.
    starts: Vec<usize>,
    /// Of each monomial from degree 1 on: the monomial it is a multiple of.
    parents: Vec<u32>,
    /// The variable that makes the difference, which is the last one in it.
    variables: Vec<u32>,
    /// The power of that variable.
    powers: Vec<u32>,
}

impl Monomials {
    /// How many monomials of `n_variables` variables there are up to `degree`: `C(degree + n_variables, n_variables)`, or `None` if
    /// they are more than any expansion uses.
    pub fn count(n_variables: usize, degree: usize) -> Option<usize> {
        let (few, many) = (n_variables.min(degree) as u128, n_variables.max(degree) as u128);
        let mut count = 1_u128;
        for i in 1..=few {
            // Exact: a product of i consecutive numbers is divisible by i!.
            count = count.checked_mul(many + i)? / i;
            if count > MAX_TERMS as u128 {
                return None;
            }
        }
        Some(count as usize)
    }

    /// The monomials of `n_variables` variables up to `degree`.
    ///
    /// # Errors
    ///
    /// If they are more than 2²⁰.
    pub fn new(n_variables: usize, degree: usize) -> Result<Self> {
        let Some(count) = Self::count(n_variables, degree) else {
            let requirement = format!("at most {MAX_TERMS} for degree {degree} in {n_variables} variables");
            return Err(Error::invalid("number of monomials", requirement, "larger"));
        };
        let (mut parents, mut variables, mut powers) = (vec![0], vec![0], vec![0]);
        let mut starts = vec![0, 1];
        // prefix[v]: monomials of the present degree in the first v + 1 variables.
        let mut prefix = vec![1; n_variables];
        for n in 1..=degree {
            let first = starts[n - 1];
            let mut longer = Vec::with_capacity(n_variables);
            for (variable, &of_parents) in prefix.iter().enumerate() {
                for parent in first..first + of_parents {
                    let again = n > 1 && variables[parent] as usize == variable;
                    powers.push(if again { powers[parent] + 1 } else { 1 });
                    parents.push(parent as u32);
                    variables.push(variable as u32);
                }
                longer.push(parents.len() - starts[n]);
            }
            prefix = longer;
            starts.push(parents.len());
        }
        debug_assert_eq!(parents.len(), count);
        Ok(Self { n_variables, starts, parents, variables, powers })
    }

    /// Variables.
    pub fn n_variables(&self) -> usize {
        self.n_variables
    }

    /// The largest degree.
    pub fn degree(&self) -> usize {
        self.starts.len() - 2
    }

    /// Monomials of all degrees.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Never: the constant is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Where the monomials of one degree stand among all of them.
    ///
    /// # Panics
    ///
    /// If `degree` is larger than [`degree`](Self::degree).
    #[track_caller]
    pub fn of_degree(&self, degree: usize) -> Range<usize> {
        self.starts[degree]..self.starts[degree + 1]
    }

    /// All monomials of one degree at a point, each times the root of its multinomial coefficient, so that the inner product of two
    /// such vectors is the power of the inner product of the points.
    ///
    /// # Panics
    ///
    /// If `degree` is larger than [`degree`](Self::degree), or the point has not [`n_variables`](Self::n_variables) coordinates.
    #[track_caller]
    pub fn compress(&self, degree: usize, point: &[f64]) -> Vec<f64> {
        assert_eq!(point.len(), self.n_variables, "one coordinate per variable");
        let range = self.of_degree(degree);
        let mut values = vec![1.0];
        for (term, (parent, variable)) in self.steps().skip(1).take(range.end - 1) {
            let coefficient = (self.degree_of(term) as f64 / f64::from(self.powers[term])).sqrt();
            values.push(values[parent] * point[variable] * coefficient);
        }
        values[range].to_vec()
    }

    /// Every monomial with the one it is made from and the variable it is multiplied with.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, (usize, usize))> + '_ {
        let steps = self.parents.iter().zip(&self.variables);
        steps.map(|(&parent, &variable)| (parent as usize, variable as usize)).enumerate()
    }

    /// The power of the variable that a monomial was multiplied with last; the product of these along the way to the constant is
    /// the product of the factorials of all powers.
    pub(super) fn power(&self, term: usize) -> f64 {
        f64::from(self.powers[term])
    }

    /// The degree of a monomial.
    pub(super) fn degree_of(&self, term: usize) -> usize {
        self.starts.partition_point(|&start| start <= term) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monomials_are_as_many_as_the_binomial_coefficient_says() {
        for (d, p, count) in [(1, 5, 6), (2, 3, 10), (3, 4, 35), (8, 2, 45), (5, 0, 1), (784, 2, 308_505)] {
            assert_eq!(Monomials::count(d, p), Some(count), "d = {d}, p = {p}");
        }
        assert_eq!(Monomials::new(8, 3).expect("in its domain").len(), Monomials::count(8, 3).expect("in its domain"));
    }

    #[test]
    fn too_many_monomials_are_refused_without_overflow() {
        assert_eq!(Monomials::count(784, 10), None);
        assert_eq!(Monomials::count(usize::MAX >> 1, usize::MAX >> 1), None);
        assert!(Monomials::new(100, 20).is_err());
    }

    #[test]
    fn the_power_of_the_last_variable_is_outermost() {
        let monomials = Monomials::new(3, 2).expect("in its domain");
        let root = 2.0_f64.sqrt();
        let expected = [4.0, root * 6.0, 9.0, root * 10.0, root * 15.0, 25.0];
        let found = monomials.compress(2, &[2.0, 3.0, 5.0]);
        assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-12), "{found:?}");
    }
}
