//! The points that a data-span autoencoder is made of, and their kernel matrix.

use std::sync::OnceLock;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt;
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

pub(super) use crate::eigen::SPLIT;
use crate::error::{Error, Result};
use crate::watch::Threads;

/// What is added to the diagonal of the kernel matrix, relative to its mean: points that are there twice, or more points than the
/// feature space has dimensions, make it singular. Ten times more until it can be factored.
const RIDGE: f64 = 1e-13;

/// Points as columns, and the factor of their kernel matrix when it has been asked for.
pub(super) struct Span {
    pub(super) points: Mat<f64>,
    factor: OnceLock<Mat<f64>>,
    single: OnceLock<Mat<f32>>,
    squares: OnceLock<Vec<f64>>,
}

impl Span {
    pub(super) fn new(points: Mat<f64>) -> Self {
        Self { points, factor: OnceLock::new(), single: OnceLock::new(), squares: OnceLock::new() }
    }

    /// The points in single precision.
    pub(super) fn single(&self) -> MatRef<'_, f32> {
        let (d, m) = (self.points.nrows(), self.points.ncols());
        self.single.get_or_init(|| Mat::from_fn(d, m, |k, i| self.points[(k, i)] as f32)).as_ref()
    }

    /// The squared norm of each point.
    pub(super) fn squares(&self) -> &[f64] {
        self.squares.get_or_init(|| self.points.col_iter().map(|x| x.squared_norm_l2()).collect())
    }

    /// `(x_i · x)²` for each point (row) and each column of `x`.
    pub(super) fn kernel(&self, x: MatRef<'_, f64>) -> Mat<f64> {
        let mut kernel = Mat::zeros(self.points.ncols(), x.ncols());
        matmul(kernel.as_mut(), Accum::Replace, self.points.transpose(), x, 1.0, Par::Seq);
        kernel.col_iter_mut().for_each(|column| column.iter_mut().for_each(|s| *s *= *s));
        kernel
    }

    /// The coefficients over the span of the images of samples, or of what of them lies in it: one column each.
    pub(super) fn coordinates(
        &self,
        kernel: &Mat<f64>,
        places: &[Option<usize>],
        threads: &Threads,
    ) -> Result<Mat<f64>> {
        if places.iter().all(Option::is_none) {
            return self.solve(kernel.clone(), threads);
        }
        let outside: Vec<usize> = (0..places.len()).filter(|&c| places[c].is_none()).collect();
        let some = Mat::from_fn(kernel.nrows(), outside.len(), |i, c| kernel[(i, outside[c])]);
        let solved = if outside.is_empty() { some } else { self.solve(some, threads)? };
        let mut all = Mat::zeros(kernel.nrows(), places.len());
        for (c, place) in places.iter().enumerate() {
            if let Some(place) = place {
                all[(*place, c)] = 1.0;
            }
        }
        for (from, &to) in outside.iter().enumerate() {
            all.col_mut(to).copy_from(solved.col(from));
        }
        Ok(all)
    }

    /// `K⁻¹ right`.
    pub(super) fn solve(&self, mut right: Mat<f64>, threads: &Threads) -> Result<Mat<f64>> {
        let factor = if let Some(factor) = self.factor.get() {
            factor
        } else {
            let made = threads.run(|| self.factorize())?;
            self.factor.get_or_init(|| made)
        };
        threads.run(|| {
            let scratch = llt::solve::solve_in_place_scratch::<f64>(factor.nrows(), right.ncols(), SPLIT);
            let mut memory = MemBuffer::new(scratch);
            llt::solve::solve_in_place(factor.as_ref(), right.as_mut(), SPLIT, MemStack::new(&mut memory));
        });
        Ok(right)
    }

    fn factorize(&self) -> Result<Mat<f64>> {
        let m = self.points.ncols();
        let mut kernel = Mat::zeros(m, m);
        matmul(kernel.as_mut(), Accum::Replace, self.points.transpose(), self.points.as_ref(), 1.0, SPLIT);
        kernel.col_iter_mut().for_each(|column| column.iter_mut().for_each(|s| *s *= *s));
        let mean = (0..m).map(|i| kernel[(i, i)]).sum::<f64>() / m as f64;
        let mut ridge = RIDGE * mean;
        let parameters = faer::Spec::default();
        let mut memory = MemBuffer::new(llt::factor::cholesky_in_place_scratch::<f64>(m, SPLIT, parameters));
        while ridge > 0.0 && ridge <= mean {
            let mut factor = kernel.clone();
            (0..m).for_each(|i| factor[(i, i)] += ridge);
            let regularization = llt::factor::LltRegularization::default();
            let stack = MemStack::new(&mut memory);
            if llt::factor::cholesky_in_place(factor.as_mut(), regularization, SPLIT, stack, parameters).is_ok() {
                return Ok(factor);
            }
            ridge *= 10.0;
        }
        Err(Error::Decomposition { order: m })
    }
}

impl std::fmt::Debug for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Span({} x {})", self.points.ncols(), self.points.nrows())
    }
}
