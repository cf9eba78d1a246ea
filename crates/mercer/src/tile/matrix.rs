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
    /// Whether what stands above the diagonal is taken from below it, as LAPACK does: the matrix is then symmetric by construction.
    mirror: bool,
}

impl MatrixTiles {
    /// The matrix whose rows are `matrix`.
    pub(crate) fn new(matrix: Points, isa: Isa) -> Self {
        Self { matrix, isa, mirror: false }
    }

    /// The symmetric matrix of which `matrix` holds the lower triangle; what it holds above the diagonal is not read.
    pub(crate) fn symmetric(matrix: Points, isa: Isa) -> Self {
        Self { matrix, isa, mirror: true }
    }
}

impl<T: Scalar> TileSource<T> for MatrixTiles {
    fn fill(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [T]) -> Result<()> {
        let geometry = Geometry::of::<T>(self.isa);
        let n_columns = columns.len();
        let inside = columns.start..columns.end.min(self.matrix.n_features());
        out.fill(T::default());
        for (i, row) in (rows.start..rows.end.min(self.matrix.n_samples())).enumerate() {
            let mut put = |j: usize, value: f64| out[geometry.index(i, j, n_columns)] = T::from_f64(value);
            match self.matrix.rows(row..row + 1) {
                RowsRef::F32(all) => all[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(j, f64::from(x))),
                RowsRef::F64(all) => all[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(j, x)),
                RowsRef::U8 { values, scale } => {
                    values[inside.clone()].iter().enumerate().for_each(|(j, &x)| put(j, f64::from(x) * scale));
                }
            }
        }
        if self.mirror && rows == columns {
            for i in 0..rows.len() {
                for j in 0..i {
                    out[geometry.index(j, i, n_columns)] = out[geometry.index(i, j, n_columns)];
                }
            }
        }
        Ok(())
    }
}
