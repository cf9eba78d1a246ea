//! Principal component analysis of the points themselves: the linear baseline.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};

use super::Codec;
use super::model::check_codes;
use super::span::SPLIT;
use crate::choices::Center;
use crate::data::{Moments, Points};
use crate::eigen::{Order, small_eigen, small_product};
use crate::error::{Error, Result};
use crate::watch::Threads;

/// Points on the subspace of `k` dimensions that is nearest to the data: `code = A (x − mean)`, `decoded = Aᵀ code + mean`; without centring there is no mean.
///
/// ```
/// use mercer::autoencoder::{Codec, LinearPca};
/// use mercer::{Center, Points};
///
/// let points = Points::from_f64(vec![3.0, 0.0, -3.0, 0.0, 0.0, 1.0, 0.0, -1.0], 4, 2)?;
/// let pca = LinearPca::fit(&points, 1, Center::Yes)?;
/// assert!((pca.reconstruct(&points)?[(0, 0)] - 3.0).abs() < 1e-12);
/// // The first direction is that of the first axis.
/// assert!((pca.components()[(0, 0)].abs() - 1.0).abs() < 1e-12);
/// assert!((pca.variances()[0] - 18.0 / 4.0).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearPca {
    /// One column per component.
    components: Mat<f64>,
    mean: Vec<f64>,
    variances: Vec<f64>,
}

/// Rows that are taken into the covariance at a time.
const ROWS: usize = 4096;

impl LinearPca {
    /// The `n_components` leading components, by a decomposition of the covariance.
    ///
    /// # Errors
    ///
    /// If there are no rows, `n_components` is not between 1 and the number of columns, or a value is not finite.
    pub fn fit(points: &Points, n_components: usize, center: Center) -> Result<Self> {
        let (n, d) = (points.n_samples(), points.n_features());
        if n == 0 {
            return Err(Error::TooFewRows { needed: 1, found: 0 });
        }
        if n_components == 0 || n_components > d {
            return Err(Error::invalid(
                "n_components",
                format!("between 1 and the number of columns ({d})"),
                n_components,
            ));
        }
        points.check_finite()?;
        let mean = if center == Center::Yes { Moments::of(points).mean().to_vec() } else { vec![0.0; d] };
        let threads = Threads::all()?;
        let mut covariance = Mat::zeros(d, d);
        for first in (0..n).step_by(ROWS) {
            let x = centred(points, first, ROWS.min(n - first), &mean);
            threads.run(|| matmul(covariance.as_mut(), Accum::Add, x.transpose(), x.as_ref(), 1.0 / n as f64, SPLIT));
        }
        let (values, vectors) = threads.run(|| small_eigen(covariance.as_ref(), Order::Algebraic))?;
        let components = vectors.subcols(0, n_components).to_owned();
        Ok(Self { components, mean, variances: values[..n_components].to_vec() })
    }

    /// Unit directions, one column each.
    pub fn components(&self) -> MatRef<'_, f64> {
        self.components.as_ref()
    }

    /// The mean of the points along each direction's square: variances, if the points were centred.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }
}

/// Rows less the mean.
fn centred(points: &Points, first: usize, count: usize, mean: &[f64]) -> Mat<f64> {
    let mut x = Mat::zeros(count, mean.len());
    for i in 0..count {
        for (k, (value, mean)) in points.row(first + i).iter().zip(mean).enumerate() {
            x[(i, k)] = value - mean;
        }
    }
    x
}

impl Codec for LinearPca {
    fn n_features(&self) -> usize {
        self.components.nrows()
    }

    fn n_components(&self) -> usize {
        self.components.ncols()
    }

    fn encode(&self, points: &Points) -> Result<Mat<f64>> {
        let (expected, found) = (self.n_features(), points.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        points.check_finite()?;
        Ok(small_product(centred(points, 0, points.n_samples(), &self.mean).as_ref(), self.components.as_ref()))
    }

    /// A linear code tells the sign, so a reference changes nothing.
    fn decode(&self, codes: MatRef<'_, f64>, _reference: Option<&Points>) -> Result<Mat<f64>> {
        check_codes(codes, self.n_components())?;
        let mut points = small_product(codes, self.components.transpose());
        for (k, mean) in self.mean.iter().enumerate() {
            points.col_mut(k).iter_mut().for_each(|x| *x += mean);
        }
        Ok(points)
    }
}
