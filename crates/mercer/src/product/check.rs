//! How far a product is from one computed directly in double precision.

use faer::{Mat, MatRef};

use super::KernelProduct;
use crate::choices::Center;
use crate::data::{Points, RowsRef, sample_rows};
use crate::error::{Error, Result};
use crate::expansion::exact_rows;
use crate::gram::largest_on_diagonal;
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::Context;

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
        context: &Context<'_>,
    ) -> Result<Measured> {
        let rows = sample_rows(product.nrows(), self.checked_rows, CHECK_SEED);
        if rows.is_empty() {
            return Ok(Measured { error: 0.0, rows });
        }
        let exact = match self.kernel {
            Kernel::Precomputed => given_rows(&rows, points, vectors, queries),
            _ => exact_rows(&self.kernel, &queries.unwrap_or(points).select(&rows), points, vectors, context)?,
        };
        let error = |(i, &row): (usize, &usize)| {
            let differences = (0..vectors.ncols()).map(|j| (product[(row, j)] - exact[(i, j)]).abs());
            differences.fold(0.0, f64::max)
        };
        Ok(Measured { error: rows.iter().enumerate().map(error).fold(0.0, f64::max), rows })
    }

    /// Why a product is not finite, if it is not: a value of the kernel, by the row that has the largest, or a sum of values.
    pub(super) fn overflow(&self, product: &Mat<f64>, precision: Precision, points: &Points) -> Option<Error> {
        let place = product.col_iter().find_map(|column| column.iter().position(|value| !value.is_finite()))?;
        Some(match largest_on_diagonal(&self.kernel, points).unwrap_or_default() {
            Some((row, value)) if value.abs() * points.n_samples() as f64 > precision.largest() => {
                let kernel = self.kernel.name().to_owned();
                Error::KernelOverflow { kernel, row, value, precision, n_samples: points.n_samples() }
            }
            _ => Error::invalid(
                "vectors",
                "small enough for a finite product",
                format!("too large in row {place} of it"),
            ),
        })
    }
}

/// Some rows of the product of a matrix that is given, of which the symmetric part counts.
fn given_rows(rows: &[usize], points: &Points, vectors: MatRef<'_, f64>, queries: Option<&Points>) -> Mat<f64> {
    let values = |row: usize| -> Vec<f64> {
        match queries {
            Some(queries) => queries.row(row),
            None => {
                points.row(row).into_iter().enumerate().map(|(j, x)| 0.5 * x + 0.5 * entry(points, j, row)).collect()
            }
        }
    };
    let values: Vec<Vec<f64>> = rows.iter().map(|&row| values(row)).collect();
    Mat::from_fn(rows.len(), vectors.ncols(), |i, j| {
        values[i].iter().zip(vectors.col(j).iter()).map(|(k, v)| k * v).sum()
    })
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
