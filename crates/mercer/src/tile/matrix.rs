//! Tiles of a kernel matrix that somebody else computed.

use std::ops::Range;

use super::{Geometry, TileSource};
use crate::data::{Points, RowsRef};
use crate::error::Result;
use crate::scalar::Scalar;
use crate::simd::Isa;

/// Tiles read from a matrix given row by row.
pub(crate) struct MatrixTiles {
    matrix: Points,
    isa: Isa,
    /// Whether each entry is the mean of itself and its mirror image: the matrix is then symmetric by construction.
    symmetric: bool,
}

impl MatrixTiles {
    /// The matrix whose rows are `matrix`.
    pub(crate) fn new(matrix: Points, isa: Isa) -> Self {
        Self { matrix, isa, symmetric: false }
    }

    /// The symmetric part of the square matrix whose rows are `matrix`; the matrix itself, to the bit, if it is symmetric.
    pub(crate) fn symmetric(matrix: Points, isa: Isa) -> Self {
        Self { matrix, isa, symmetric: true }
    }

    /// Calls `put(row, column, value)` for every entry within the matrix, with places counted from the start of the ranges.
    fn entries(&self, rows: &Range<usize>, columns: &Range<usize>, mut put: impl FnMut(usize, usize, f64)) {
        let inside = columns.start..columns.end.min(self.matrix.n_features());
        for (i, row) in (rows.start..rows.end.min(self.matrix.n_samples())).enumerate() {
            match self.matrix.rows(row..row + 1) {
                RowsRef::F32(all) => {
                    all[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(i, j, f64::from(x)));
                }
                RowsRef::F64(all) => all[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(i, j, x)),
                RowsRef::U8 { values, scale } => {
                    values[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(i, j, f64::from(x) * scale));
                }
            }
        }
    }
}

impl<T: Scalar> TileSource<T> for MatrixTiles {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let geometry = Geometry::of::<T>(self.isa);
        let n_columns = columns.len();
        out.fill(T::default());
        if !self.symmetric {
            self.entries(&rows, &columns, |i, j, x| out[geometry.index(i, j, n_columns)] = T::from_f64(x));
            return Ok(());
        }
        let mut mirrored = vec![0.0; rows.len() * n_columns];
        self.entries(&columns, &rows, |j, i, x| mirrored[i * n_columns + j] = x);
        self.entries(&rows, &columns, |i, j, x| {
            // Halves first: the sum of two large entries could overflow. Equal entries stay what they are.
            let mean = 0.5 * x + 0.5 * mirrored[i * n_columns + j];
            out[geometry.index(i, j, n_columns)] = T::from_f64(mean);
        });
        Ok(())
    }
}
