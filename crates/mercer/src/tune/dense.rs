//! Small sets of points, whose kernel matrices are decomposed as a whole.

use faer::Mat;

use crate::data::{Points, sample_rows};
use crate::eigen::{Order, small_eigen};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pairing, too_far_apart};

/// Some points and the scalars of their pairs.
pub(super) struct Sample {
    pub(super) points: Vec<Vec<f64>>,
    scalars: Mat<f64>,
}

/// Eigenvalues of a centred kernel matrix in decreasing order, and its eigenvectors.
pub(super) struct Spectrum {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Mat<f64>,
}

impl Sample {
    /// At most `size` of the points.
    pub(super) fn draw(points: &Points, kernel: &Kernel, size: usize, seed: u64) -> Result<Self> {
        let Some(pairing) = kernel.pairing() else {
            return Err(Error::UnsuitableKernel {
                what: "a search for parameters",
                kernel: kernel.name().to_owned(),
                reason: "it has none that are known",
            });
        };
        let rows = sample_rows(points.n_samples(), size, seed);
        let sample = Self::of(rows.into_iter().map(|row| points.row(row)).collect(), pairing);
        let is_finite = (0..sample.len()).all(|j| sample.scalars.col(j).iter().all(|s| s.is_finite()));
        if is_finite { Ok(sample) } else { Err(too_far_apart(points)) }
    }

    fn of(points: Vec<Vec<f64>>, pairing: Pairing) -> Self {
        let m = points.len();
        let mut scalars = Mat::zeros(m, m);
        for i in 0..m {
            for j in 0..=i {
                let s = pairing.of(&points[i], &points[j]);
                scalars[(i, j)] = s;
                scalars[(j, i)] = s;
            }
        }
        Self { points, scalars }
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Kernel values between some of the points and some others.
    pub(super) fn matrix(&self, kernel: &Kernel, rows: &[usize], columns: &[usize]) -> Mat<f64> {
        Mat::from_fn(rows.len(), columns.len(), |i, j| kernel.value(self.scalars[(rows[i], columns[j])]))
    }

    /// The eigenpairs of the centred matrix of some of the points.
    pub(super) fn spectrum(&self, kernel: &Kernel, rows: &[usize]) -> Result<Spectrum> {
        let mut matrix = self.matrix(kernel, rows, rows);
        center(&mut matrix);
        let (values, vectors) = small_eigen(matrix.as_ref(), Order::Algebraic)?;
        Ok(Spectrum { values, vectors })
    }
}

/// Subtracts row and column means from a symmetric matrix, and adds the mean of all.
pub(super) fn center(matrix: &mut Mat<f64>) {
    let m = matrix.nrows();
    let means: Vec<f64> = (0..m).map(|j| matrix.col(j).iter().sum::<f64>() / m as f64).collect();
    let grand = means.iter().sum::<f64>() / m as f64;
    for j in 0..m {
        for i in 0..m {
            matrix[(i, j)] += grand - means[i] - means[j];
        }
    }
}

impl Sample {
    /// Derivatives of the kernel by its inverse width between some of the points.
    pub(super) fn slopes(&self, kernel: &Kernel, rows: &[usize]) -> Mat<f64> {
        Mat::from_fn(rows.len(), rows.len(), |i, j| {
            kernel.derivative(crate::kernel::Parameter::Gamma, self.scalars[(rows[i], rows[j])]).unwrap_or(0.0)
        })
    }
}
