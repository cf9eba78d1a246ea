//! Centring in feature space, as a wrapper around any operator.

use std::sync::OnceLock;

use faer::{Mat, MatMut, MatRef};

use super::{SymmetricOperator, check_shapes};
use crate::error::Result;
use crate::watch::Context;

/// `H A H` with `H = I - 11ᵀ/n`: the operator of the data centred in feature space.
///
/// A wrapper, so that no solver and no Gram matrix knows about centring. The row sums of `A`, which new points are
/// centred with, cost no product of their own: the first product carries a column of ones along.
///
/// ```
/// use faer::Mat;
/// use mercer::gram::{Centered, SymmetricOperator};
/// use mercer::gram::KernelGram;
/// use mercer::watch::{Context, Phase, Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, 0.0, 2.0, 0.0, 0.0], 3, 2)?;
/// let gram = KernelGram::<f64>::new(&points, &Kernel::linear(), None)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let context = Context::new(&threads, &watch, Phase::Solving);
/// let centered = Centered::new(&gram);
/// // Constant vectors are what centring takes out.
/// let mut image = Mat::zeros(3, 1);
/// centered.apply(Mat::full(3, 1, 1.0).as_ref(), image.as_mut(), &context)?;
/// assert!(image.norm_max() < 1e-12);
/// assert_eq!(centered.row_sums(), Some(&[9.0, 4.0, 0.0][..]));
///
/// // With sums that are known already it costs no product to ask what new points are centred with.
/// let again = Centered::with_row_sums(&gram, vec![9.0, 4.0, 0.0]);
/// let centering = again.centering(&context)?;
/// assert_eq!((centering.column_means[0], centering.mean), (3.0, 13.0 / 9.0));
/// assert_eq!(centering, centered.centering(&context)?);
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Centered<'a, A: ?Sized> {
    inner: &'a A,
    row_sums: OnceLock<Vec<f64>>,
}

/// What new points are centred with: a point of feature space, the centre, by its inner products.
///
/// The centre is the mean of the training points' images. A model whose basis points are not its training points has it as some
/// other combination of their images: the closest one to that mean.
///
/// ```
/// let centering = mercer::gram::Centering::from_row_sums(&[9.0, 3.0]);
/// assert_eq!((centering.column_means, centering.mean), (vec![4.5, 1.5], 3.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Centering {
    /// The inner product of each basis point's image with the centre: where basis points are training points, the mean of each
    /// column of the uncentred Gram matrix.
    pub column_means: Vec<f64>,
    /// The squared length of the centre: where basis points are training points, the mean of all entries of that matrix.
    pub mean: f64,
    /// The centre as a combination of the basis points' images; `None` if it is their mean.
    pub weights: Option<Vec<f64>>,
}

impl Centering {
    /// The centring terms from the row sums of a symmetric matrix.
    pub fn from_row_sums(row_sums: &[f64]) -> Self {
        let n = row_sums.len() as f64;
        let column_means: Vec<f64> = row_sums.iter().map(|sum| sum / n).collect();
        let mean = column_means.iter().sum::<f64>() / n;
        Self { column_means, mean, weights: None }
    }

    /// The centring terms for a centre that is the combination of basis points with these weights; `column_means` are the inner
    /// products of the basis points' images with it.
    ///
    /// # Panics
    ///
    /// If there is not one weight per basis point.
    ///
    /// ```
    /// // Two basis points with inner products 2, 1, 1, 2, and the first of them as the centre.
    /// let centering = mercer::gram::Centering::from_weights(vec![1.0, 0.0], vec![2.0, 1.0]);
    /// assert_eq!(centering.mean, 2.0);
    /// ```
    pub fn from_weights(weights: Vec<f64>, column_means: Vec<f64>) -> Self {
        assert_eq!(weights.len(), column_means.len(), "one weight per basis point");
        let mean = weights.iter().zip(&column_means).map(|(weight, mean)| weight * mean).sum();
        Self { column_means, mean, weights: Some(weights) }
    }
}

impl<'a, A: SymmetricOperator + ?Sized> Centered<'a, A> {
    /// Centres `inner`.
    pub fn new(inner: &'a A) -> Self {
        Self { inner, row_sums: OnceLock::new() }
    }

    /// Centres `inner`, whose row sums are known from an earlier product.
    ///
    /// # Panics
    ///
    /// If there is not one sum per row.
    pub fn with_row_sums(inner: &'a A, row_sums: Vec<f64>) -> Self {
        assert_eq!(row_sums.len(), inner.dim(), "one sum per row");
        Self { inner, row_sums: OnceLock::from(row_sums) }
    }

    /// The row sums of the operator that is centred, once a product has been made.
    pub fn row_sums(&self) -> Option<&[f64]> {
        self.row_sums.get().map(Vec::as_slice)
    }

    /// The centring terms; costs a product if none has been made yet.
    ///
    /// # Errors
    ///
    /// As [`SymmetricOperator::apply`].
    pub fn centering(&self, context: &Context<'_>) -> Result<Centering> {
        if let Some(sums) = self.row_sums.get() {
            return Ok(Centering::from_row_sums(sums));
        }
        let n = self.inner.dim();
        let mut sums = Mat::zeros(n, 1);
        self.inner.apply(Mat::full(n, 1, 1.0).as_ref(), sums.as_mut(), context)?;
        Ok(Centering::from_row_sums(self.row_sums.get_or_init(|| sums.col(0).iter().copied().collect())))
    }
}

impl<A: SymmetricOperator + ?Sized> SymmetricOperator for Centered<'_, A> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn apply(&self, x: MatRef<'_, f64>, mut out: MatMut<'_, f64>, context: &Context<'_>) -> Result<()> {
        check_shapes(self.dim(), x, &out);
        let (n, b) = (self.dim(), x.ncols());
        let first = self.row_sums.get().is_none();
        let mut centered = Mat::zeros(n, b + usize::from(first));
        centered.as_mut().subcols_mut(0, b).copy_from(x);
        subtract_column_means(centered.as_mut().subcols_mut(0, b));
        if first {
            centered.col_mut(b).fill(1.0);
            let mut product = Mat::zeros(n, b + 1);
            self.inner.apply(centered.as_ref(), product.as_mut(), context)?;
            let _ = self.row_sums.set(product.col(b).iter().copied().collect());
            out.copy_from(product.as_ref().subcols(0, b));
        } else {
            self.inner.apply(centered.as_ref(), out.as_mut(), context)?;
        }
        subtract_column_means(out);
        Ok(())
    }

    /// `H K H` from the entries of `K`, in double precision.
    ///
    /// Entries of a wide kernel are close to one another, and what centring leaves of them is small: a product with a centred vector in
    /// single precision would round it away.
    fn to_dense(&self, context: &Context<'_>) -> Result<Mat<f64>> {
        let mut matrix = self.inner.to_dense(context)?;
        let sums: Vec<f64> = matrix.col_iter().map(|column| column.iter().sum()).collect();
        let Centering { column_means, mean, .. } = Centering::from_row_sums(&sums);
        let _ = self.row_sums.set(sums);
        for (j, column_mean) in column_means.iter().enumerate() {
            for (x, row_mean) in matrix.col_mut(j).iter_mut().zip(&column_means) {
                // In this order, so that a symmetric matrix stays one to the last bit.
                *x -= (row_mean + column_mean) - mean;
            }
        }
        Ok(matrix)
    }
}

/// `x ← H x`.
fn subtract_column_means(mut x: MatMut<'_, f64>) {
    let n = x.nrows() as f64;
    for j in 0..x.ncols() {
        let mean = x.as_ref().col(j).iter().sum::<f64>() / n;
        x.as_mut().col_mut(j).iter_mut().for_each(|value| *value -= mean);
    }
}
