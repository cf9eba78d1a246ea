//! Tiles of a kernel that the user brought along.

use std::ops::Range;
use std::sync::Arc;

use super::{Geometry, TileSource};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::CustomKernel;
use crate::scalar::Scalar;
use crate::simd::Isa;

/// Tiles filled by the user's function from rows in double precision.
pub(crate) struct CustomTiles {
    kernel: Arc<dyn CustomKernel>,
    rows: Points,
    columns: Points,
    isa: Isa,
}

impl CustomTiles {
    /// The kernel between two sets of points.
    pub(crate) fn new(kernel: Arc<dyn CustomKernel>, rows: Points, columns: Points, isa: Isa) -> Self {
        Self { kernel, rows, columns, isa }
    }
}

impl<T: Scalar> TileSource<T> for CustomTiles {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let geometry = Geometry::of::<T>(self.isa);
        let n_columns = columns.len();
        let inside = |range: &Range<usize>, points: &Points| range.start..range.end.min(points.n_samples());
        let x = self.rows.rows(inside(&rows, &self.rows)).to_f64();
        let y = self.columns.rows(inside(&columns, &self.columns)).to_f64();
        let d = self.rows.n_features();
        let across = y.len() / d;
        let mut values = vec![0.0; x.len() / d * across];
        self.kernel.fill(&x, &y, d, &mut values)?;
        out.fill(T::default());
        for (i, line) in values.chunks_exact(across).enumerate() {
            for (j, &value) in line.iter().enumerate() {
                if !value.is_finite() {
                    let (kernel, row, column) = (self.kernel.name().to_owned(), rows.start + i, columns.start + j);
                    return Err(Error::CustomKernel { kernel, row, column, value });
                }
                out[geometry.index(i, j, n_columns)] = T::from_f64(value);
            }
        }
        if rows == columns && x == y {
            check_symmetry(self.kernel.as_ref(), &values, across, rows.start)
        } else {
            Ok(())
        }
    }
}

/// How much a value and that of the points exchanged may differ, relative to the largest value of a block: more than rounding in single
/// precision, in which a function may compute, makes of them.
const ASYMMETRY: f64 = 1e-4;

/// Refuses values of a block of points with itself, the first of which is row `first` of the matrix, if they are not symmetric.
///
/// Only a tile on the diagonal has both of a pair; elsewhere one stands for the other, and what came out would be neither.
fn check_symmetry(kernel: &dyn CustomKernel, values: &[f64], n: usize, first: usize) -> Result<()> {
    let largest = largest(values);
    for (i, line) in values.chunks_exact(n).enumerate() {
        for (j, &value) in line[..i].iter().enumerate() {
            check_mirrored(kernel, (first + i, first + j), value, values[j * n + i], largest)?;
        }
    }
    Ok(())
}

/// Refuses the value of a pair of points if that of the points exchanged is another; `largest` is what rounding is relative to.
fn check_mirrored(
    kernel: &dyn CustomKernel,
    (row, column): (usize, usize),
    value: f64,
    mirrored: f64,
    largest: f64,
) -> Result<()> {
    if (value - mirrored).abs() <= ASYMMETRY * largest {
        return Ok(());
    }
    Err(Error::AsymmetricKernel { kernel: kernel.name().to_owned(), row, column, value, mirrored })
}

/// The largest absolute value.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| value.abs().max(largest))
}
