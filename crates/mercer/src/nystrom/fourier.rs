//! Random Fourier features: the baseline that landmarks are compared with.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef};
use rayon::prelude::*;

use super::factor::SPLIT;
use super::random::Random;
use super::room::check_features;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// Features `√(2/m) cos(ωᵀx + b)` of random frequencies and phases, whose inner products are those of a Gaussian kernel on average.
///
/// They do not look at the data: the error of an inner product falls with the root of the number of features, whatever the
/// spectrum. There is no error that is known without computing kernel values, and it can have either sign.
///
/// ```
/// use mercer::nystrom::FourierFeatures;
/// use mercer::watch::{Threads, Watch};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0], 2, 1)?;
/// let features = FourierFeatures::new(&Kernel::gaussian(0.5)?, 1, 20_000, 0)?.transform(&points)?;
/// let inner = (&features * features.transpose())[(0, 1)];
/// assert!((inner - (-0.5_f64).exp()).abs() < 0.05);
///
/// // A feature that was not drawn: √2 cos(2x + 1/2).
/// let one = FourierFeatures::from_parts(faer::mat![[2.0]], vec![0.5])?;
/// assert_eq!((one.frequencies()[(0, 0)], one.phases()), (2.0, &[0.5][..]));
/// let features = one.transform_watched(&points, &Threads::new(1)?, &Watch::new())?;
/// assert!((features[(1, 0)] - 2.0_f64.sqrt() * 2.5_f64.cos()).abs() < 1e-12);
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
    /// If the kernel is another one, `m` is zero, or so many frequencies do not fit the memory of the machine.
    pub fn new(kernel: &Kernel, n_features: usize, m: usize, seed: u64) -> Result<Self> {
        let (Kernel::Gaussian(_), Some(gamma)) = (kernel, kernel.parameter(Parameter::Gamma)) else {
            return Err(Error::UnsuitableKernel {
                what: "drawing random Fourier features",
                kernel: kernel.name().to_owned(),
                reason: "its spectrum is not that of a Gaussian",
            });
        };
        if m == 0 {
            return Err(Error::invalid("n_components", "at least 1", 0));
        }
        check_features(
            format!("drawing {m} frequencies of {n_features} coordinates"),
            n_features.saturating_add(1),
            m,
        )?;
        let mut random = Random::new(seed);
        let width = (2.0 * gamma).sqrt();
        let frequencies = Mat::from_fn(n_features, m, |_, _| width * random.normal());
        let phases = (0..m).map(|_| std::f64::consts::TAU * random.uniform()).collect();
        Ok(Self { frequencies, phases })
    }

    /// The features of these frequencies, a column for each, and phases.
    ///
    /// # Errors
    ///
    /// If there is no frequency, or not one phase for each.
    pub fn from_parts(frequencies: Mat<f64>, phases: Vec<f64>) -> Result<Self> {
        let m = frequencies.ncols();
        if m == 0 {
            return Err(Error::invalid("frequencies", "a matrix of at least 1 column", 0));
        }
        if phases.len() != m {
            return Err(Error::invalid("phases", format!("{m} numbers, one per frequency"), phases.len()));
        }
        Ok(Self { frequencies, phases })
    }

    /// The frequencies `ω`, a column for each feature.
    pub fn frequencies(&self) -> MatRef<'_, f64> {
        self.frequencies.as_ref()
    }

    /// The phases `b`, one per feature.
    pub fn phases(&self) -> &[f64] {
        &self.phases
    }

    /// Features of points: one row per point.
    ///
    /// # Errors
    ///
    /// If the points have another width than the frequencies, or hold values that are not finite or so large that their products
    /// with the frequencies overflow, or if so many features do not fit the memory of the machine.
    pub fn transform(&self, points: &Points) -> Result<Mat<f64>> {
        self.transform_watched(points, &Threads::all()?, &Watch::new())
    }

    /// As [`transform`](Self::transform), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`transform`](Self::transform), and [`Error::Interrupted`].
    pub fn transform_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let (expected, found) = (self.frequencies.nrows(), points.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        points.check_finite()?;
        let context = Context::new(threads, watch, Phase::Transforming);
        let (n, m) = (points.n_samples(), self.phases.len());
        check_features(format!("making {m} features of {n} rows"), n, m)?;
        let mut features = Mat::zeros(n, m);
        for first in (0..n).step_by(ROWS) {
            context.check()?;
            let rows = first..n.min(first + ROWS);
            let values = points.rows(rows.clone()).to_f64();
            let block = MatRef::from_row_major_slice(&values, rows.len(), found);
            let out = features.as_mut().subrows_mut(first, rows.len());
            threads.run(|| self.fill(block, out)).map_err(|row| too_large(first + row))?;
            context.report_fraction(rows.end as f64 / n as f64);
        }
        Ok(features)
    }

    /// Features of a block of points, or the row of the first one whose products overflow.
    fn fill(&self, block: MatRef<'_, f64>, mut out: MatMut<'_, f64>) -> std::result::Result<(), usize> {
        matmul(out.as_mut(), Accum::Replace, block, self.frequencies.as_ref(), 1.0, SPLIT);
        let scale = (2.0 / self.phases.len() as f64).sqrt();
        let wrong = out.par_col_iter_mut().zip(self.phases.par_iter()).filter_map(|(column, phase)| {
            let mut wrong = None;
            for (row, x) in column.iter_mut().enumerate() {
                if !x.is_finite() {
                    wrong = wrong.or(Some(row));
                }
                *x = scale * (*x + phase).cos();
            }
            wrong
        });
        wrong.min().map_or(Ok(()), Err)
    }
}

fn too_large(row: usize) -> Error {
    Error::TooLarge { row, precision: Precision::F64 }
}
