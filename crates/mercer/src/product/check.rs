//! How far a product is from one computed directly in double precision.

use faer::{Mat, MatRef};

use super::KernelProduct;
use crate::choices::Center;
use crate::data::{Points, RowsRef, sample_rows};
use crate::error::Result;
use crate::kernel::Kernel;

/// Where the choice of the rows comes from.
pub(super) const CHECK_SEED: u64 = 0x6d65_7263;

impl KernelProduct {
    /// The largest error of some rows of a product, before centring.
    pub(super) fn measure(
        &self,
        product: &Mat<f64>,
        points: &Points,
        vectors: MatRef<'_, f64>,
        queries: Option<&Points>,
    ) -> Result<Measured> {
        let rows = sample_rows(product.nrows(), self.checked_rows, CHECK_SEED);
        let mut error = 0.0_f64;
        for &row in &rows {
            let values = self.kernel_row(row, points, queries)?;
            for (j, vector) in vectors.col_iter().enumerate() {
                let exact: f64 = values.iter().zip(vector.iter()).map(|(k, v)| k * v).sum();
                error = error.max((product[(row, j)] - exact).abs());
            }
        }
        Ok(Measured { error, rows })
    }

    /// One row of the matrix, directly in double precision.
    fn kernel_row(&self, row: usize, points: &Points, queries: Option<&Points>) -> Result<Vec<f64>> {
        let n = points.n_samples();
        if matches!(self.kernel, Kernel::Precomputed) {
            return Ok(match queries {
                Some(queries) => queries.row(row),
                None => (0..n).zip(points.row(row)).map(|(j, x)| 0.5 * x + 0.5 * entry(points, j, row)).collect(),
            });
        }
        let x = queries.unwrap_or(points).row(row);
        (0..n).map(|j| self.kernel.evaluate(&x, &points.row(j))).collect()
    }
}

/// Rows of a product that were computed directly, and the largest difference.
pub(super) struct Measured {
    pub(super) error: f64,
    pub(super) rows: Vec<usize>,
}

impl Measured {
    /// The error relative to the largest value of the finished product in these rows. Centring subtracts a mean, whose own error is at
    /// most as large again.
    pub(super) fn relative(&self, product: &Mat<f64>, center: Center) -> Option<f64> {
        let values = self.rows.iter().flat_map(|&row| (0..product.ncols()).map(move |j| product[(row, j)].abs()));
        let largest = values.fold(0.0, f64::max);
        let error = if center == Center::Yes { 2.0 * self.error } else { self.error };
        (!self.rows.is_empty()).then_some(if largest > 0.0 { error / largest } else { error })
    }
}

/// One number of the data.
fn entry(points: &Points, row: usize, column: usize) -> f64 {
    match points.rows(row..row + 1) {
        RowsRef::F32(values) => f64::from(values[column]),
        RowsRef::F64(values) => values[column],
        RowsRef::U8 { values, scale } => f64::from(values[column]) * scale,
    }
}
