//! Polynomial kernels as what they are: finitely many monomials.
//!
//! **Use it** when `C(p + d, d)` is below the number of points. The product is exact up to rounding.
//!
//! # Method
//!
//! `(γ x·y + c)^p = Σ_k C(p, k) c^{p-k} γ^k (x·y)^k`, and `(x·y)^k` is the inner product of compressed monomials of degree `k`. With a
//! negative constant some weights are negative, which products do not mind; with `c = 0` only degree `p` is left.
//!
//! # References
//!
//! - \[RA\] V. C. Raykar, A. Ankur, "Fast kernel principal component analysis for the polynomial and Gaussian kernels", CMSC878R
//!   project report, University of Maryland. Equations (31)-(34).

use super::{Features, Monomials};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};

/// A polynomial kernel's parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    gamma: f64,
    coef0: f64,
    pub(super) degree: usize,
}

impl Terms {
    /// Of a kernel that is a polynomial of the inner product.
    pub(super) fn of(kernel: &Kernel) -> Option<Self> {
        match kernel {
            Kernel::Linear(_) => Some(Self { gamma: 1.0, coef0: 0.0, degree: 1 }),
            Kernel::Polynomial(polynomial) => Some(Self {
                gamma: kernel.parameter(Parameter::Gamma)?,
                coef0: kernel.parameter(Parameter::Coef0)?,
                degree: polynomial.degree() as usize,
            }),
            _ => None,
        }
    }

    /// Monomials of all degrees, if they can be counted.
    pub(super) fn count(&self, n_features: usize) -> Option<usize> {
        Monomials::count(n_features, self.degree)
    }

    /// The features of points with this many coordinates.
    pub(super) fn features(&self, n_features: usize) -> Result<Features> {
        let monomials = Monomials::new(n_features, self.degree)?;
        let mut binomial = 1.0;
        let mut by_degree = Vec::with_capacity(self.degree + 1);
        for k in 0..=self.degree {
            // The power of zero that stands beside degree p is one.
            by_degree.push(binomial * self.coef0.powi((self.degree - k) as i32));
            binomial *= (self.degree - k) as f64 / (k + 1) as f64;
        }
        Ok(Features::polynomial(monomials, self.gamma.sqrt(), &by_degree))
    }

    /// What rounding leaves of an entry, relative to the largest: as many roundings as multiplications on the way to a monomial, and
    /// as there are terms in a sum that is taken pairwise in vectors.
    pub(super) fn rounding(&self, terms: usize) -> f64 {
        f64::EPSILON * (4.0 * self.degree as f64 + 8.0 + (terms as f64).sqrt())
    }
}

/// `(γ ‖x‖² + |c|)^p` of every point: what no value of the kernel between them exceeds.
pub(super) fn magnitudes(kernel: &Kernel, points: &Points) -> Result<Vec<f64>> {
    let Some(terms) = Terms::of(kernel) else {
        return Err(Error::UnsuitableKernel {
            what: "an expansion",
            kernel: kernel.name().to_owned(),
            reason: "there is one for polynomial kernels and for kernels that fall with the distance",
        });
    };
    let magnitude = |row: usize| {
        let square: f64 = points.row(row).iter().map(|x| x * x).sum();
        (terms.gamma * square + terms.coef0.abs()).powi(terms.degree as i32)
    };
    let all: Vec<f64> = (0..points.n_samples()).map(magnitude).collect();
    match all.iter().position(|value| !value.is_finite()) {
        Some(row) => Err(Error::TooLarge { row, precision: crate::scalar::Precision::F64 }),
        None => Ok(all),
    }
}
