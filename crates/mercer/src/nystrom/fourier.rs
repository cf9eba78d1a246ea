//! Random Fourier features: the baseline that landmarks are compared with.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef};

use super::factor::SPLIT;
use super::random::Random;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};
use crate::watch::Threads;

/// Features `√(2/m) cos(ωᵀx + b)` of random frequencies and phases, whose inner products are those of a Gaussian kernel on average.
///
/// They do not look at the data: the error of an inner product falls with the root of the number of features, whatever the
/// spectrum. There is no error that is known without computing kernel values, and it can have either sign.
///
/// ```
/// use mercer::nystrom::FourierFeatures;
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0], 2, 1)?;
/// let features = FourierFeatures::new(&Kernel::gaussian(0.5)?, 1, 20_000, 0)?.transform(&points)?;
/// let inner = (&features * features.transpose())[(0, 1)];
/// assert!((inner - (-0.5_f64).exp()).abs() < 0.05);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FourierFeatures {
    /// One column per feature.
    frequencies: Mat<f64>,
    phases: Vec<f64>,
}

/// Rows that are worked on at a time.
const ROWS: usize = 4096;

impl FourierFeatures {
    /// Draws the frequencies of `m` features for a Gaussian kernel of points with `n_features` coordinates.
    ///
    /// # Errors
    ///
    /// If the kernel is another one, or `m` is zero.
    pub fn new(kernel: &Kernel, n_features: usize, m: usize, seed: u64) -> Result<Self> {
        let (Kernel::Gaussian(_), Some(gamma)) = (kernel, kernel.parameter(Parameter::Gamma)) else {
            return Err(Error::UnsuitableKernel {
                what: "random Fourier features",
                kernel: kernel.name().to_owned(),
                reason: "its spectrum is not that of a Gaussian",
            });
        };
        if m == 0 {
            return Err(Error::invalid("n_components", "at least 1", 0));
        }
        let mut random = Random::new(seed);
        let width = (2.0 * gamma).sqrt();
        let frequencies = Mat::from_fn(n_features, m, |_, _| width * random.normal());
        let phases = (0..m).map(|_| std::f64::consts::TAU * random.uniform()).collect();
        Ok(Self { frequencies, phases })
    }

    /// Features of points: one row per point.
    ///
    /// # Errors
    ///
    /// If the points have another width than the frequencies, or hold values that are not finite.
    pub fn transform(&self, points: &Points) -> Result<Mat<f64>> {
        let (expected, found) = (self.frequencies.nrows(), points.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        points.check_finite()?;
        let (n, m) = (points.n_samples(), self.phases.len());
        let (threads, scale) = (Threads::all()?, (2.0 / m as f64).sqrt());
        let mut features = Mat::zeros(n, m);
        for first in (0..n).step_by(ROWS) {
            let rows = first..n.min(first + ROWS);
            let values = points.rows(rows.clone()).to_f64();
            let block = MatRef::from_row_major_slice(&values, rows.len(), found);
            let mut out = features.as_mut().subrows_mut(first, rows.len());
            threads.run(|| matmul(out.as_mut(), Accum::Replace, block, self.frequencies.as_ref(), 1.0, SPLIT));
            for (j, phase) in self.phases.iter().enumerate() {
                out.as_mut().col_mut(j).iter_mut().for_each(|x| *x = scale * (*x + phase).cos());
            }
        }
        Ok(features)
    }
}
