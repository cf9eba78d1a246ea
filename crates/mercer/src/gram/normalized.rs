//! Degree normalisation, as a wrapper around any operator.

use faer::{Mat, MatMut, MatRef};

use super::{SymmetricOperator, check_shapes};
use crate::error::{Error, Result};
use crate::watch::Context;

/// `D^-1/2 A D^-1/2` with the row sums of `A` on the diagonal of `D`: the matrix of spectral clustering.
///
/// A wrapper, so that no solver and no Gram matrix knows about normalisation. The row sums, a point's degrees, come from one product
/// with a vector of ones. The diagonal of `A` stays as it is.
///
/// ```
/// use faer::Mat;
/// use mercer::gram::{KernelGram, Normalized, SymmetricOperator};
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0, 5.0], 3, 1)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::gaussian(1.0)?, None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let normalized = Normalized::new(&gram, &context)?;
/// // The roots of the degrees are an eigenvector of eigenvalue one.
/// let roots = Mat::from_fn(3, 1, |i, _| normalized.degrees()[i].sqrt());
/// let mut image = Mat::zeros(3, 1);
/// normalized.apply(roots.as_ref(), image.as_mut(), &context)?;
/// assert!((image - roots).norm_max() < 1e-12);
///
/// // Degrees that are known already cost no product.
/// let again = Normalized::with_degrees(&gram, normalized.degrees().to_vec())?;
/// assert_eq!(again.inverse_roots(), normalized.inverse_roots());
/// assert!((again.inverse_roots()[1].powi(-2) - again.degrees()[1]).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Normalized<'a, A: ?Sized> {
    inner: &'a A,
    degrees: Vec<f64>,
    inverse_roots: Vec<f64>,
}

impl<'a, A: SymmetricOperator + ?Sized> Normalized<'a, A> {
    /// Normalises `inner`, at the cost of one product with a vector.
    ///
    /// # Errors
    ///
    /// As [`SymmetricOperator::apply`], and [`Error::ZeroDegree`] if a row does not have a positive sum.
    pub fn new(inner: &'a A, context: &Context<'_>) -> Result<Self> {
        let n = inner.dim();
        let mut sums = Mat::zeros(n, 1);
        inner.apply(Mat::full(n, 1, 1.0).as_ref(), sums.as_mut(), context)?;
        Self::with_degrees(inner, sums.col(0).iter().copied().collect())
    }

    /// Normalises `inner`, whose row sums are known from an earlier product.
    ///
    /// # Errors
    ///
    /// [`Error::ZeroDegree`] if one of them is not positive.
    ///
    /// # Panics
    ///
    /// If there is not one sum per row.
    pub fn with_degrees(inner: &'a A, degrees: Vec<f64>) -> Result<Self> {
        assert_eq!(degrees.len(), inner.dim(), "one sum per row");
        let inverse_roots = inverse_roots(&degrees)?;
        Ok(Self { inner, degrees, inverse_roots })
    }

    /// The row sums of the operator that is normalised.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }

    /// One over the roots of the degrees.
    pub fn inverse_roots(&self) -> &[f64] {
        &self.inverse_roots
    }
}

/// `1 / √degree` of every row, if every degree is positive.
pub(crate) fn inverse_roots(degrees: &[f64]) -> Result<Vec<f64>> {
    let root = |(row, &degree): (usize, &f64)| {
        let root = 1.0 / degree.sqrt();
        if degree > 0.0 && root.is_finite() { Ok(root) } else { Err(Error::ZeroDegree { row, degree }) }
    };
    degrees.iter().enumerate().map(root).collect()
}

impl<A: SymmetricOperator + ?Sized> SymmetricOperator for Normalized<'_, A> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        check_shapes(self.dim(), x, &out);
        let mut scaled = x.to_owned();
        scale_rows(scaled.as_mut(), &self.inverse_roots);
        self.inner.apply(scaled.as_ref(), out.as_mut(), context)?;
        scale_rows(out, &self.inverse_roots);
        Ok(())
    }
}

/// Multiplies every row by its factor.
pub(crate) fn scale_rows(mut x: MatMut<'_, f64>, factors: &[f64]) {
    for j in 0..x.ncols() {
        x.as_mut().col_mut(j).iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
    }
}
