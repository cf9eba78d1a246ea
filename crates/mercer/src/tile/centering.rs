//! Subtracting what centring in feature space takes from a tile.

use super::Geometry;
use crate::memory::Plain;
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, Target};

/// `entry (i, j) ← entry − (row_terms[i] + column_terms[j])`, for a tile in the engine's layout.
pub(crate) fn subtract_terms<T: Scalar + Plain>(isa: Isa, tile: &mut [T], row_terms: &[T], column_terms: &[T]) {
    let lanes = Geometry::of::<T>(isa).lanes;
    assert_eq!(tile.len(), row_terms.len() * column_terms.len());
    assert!(row_terms.len().is_multiple_of(lanes), "tiles have whole panels");
    isa.run(Subtract { tile, row_terms, column_terms });
}

struct Subtract<'a, T> {
    tile: &'a mut [T],
    row_terms: &'a [T],
    column_terms: &'a [T],
}

impl<T: Scalar> Job for Subtract<'_, T> {
    type Output = ();

    #[inline(always)]
    #[expect(unsafe_code, reason = "raw loads and stores of whole vectors")]
    fn run<G: Target>(self) {
        let lanes = <T::On<G> as Lanes>::COUNT;
        let panel_len = lanes * self.column_terms.len();
        if panel_len == 0 {
            return;
        }
        for (panel, rows) in self.tile.chunks_exact_mut(panel_len).zip(self.row_terms.chunks_exact(lanes)) {
            // SAFETY: chunks of `lanes` numbers are whole vectors.
            let row = unsafe { <T::On<G> as Lanes>::load(rows.as_ptr()) };
            for (entries, &column) in panel.chunks_exact_mut(lanes).zip(self.column_terms) {
                let term = row + <T::On<G> as Lanes>::splat(column);
                // SAFETY: as above.
                unsafe { (<T::On<G> as Lanes>::load(entries.as_ptr()) - term).store(entries.as_mut_ptr()) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_loses_the_terms_of_its_row_and_column() {
        for isa in Isa::available() {
            let geometry = Geometry::of::<f64>(isa);
            let (rows, columns) = (2 * geometry.unit, 3);
            let row_terms: Vec<f64> = (0..rows).map(|i| i as f64).collect();
            let column_terms = [0.5, 0.25, -8.0];
            let mut tile = vec![100.0; rows * columns];
            subtract_terms(isa, &mut tile, &row_terms, &column_terms);
            for (i, row) in row_terms.iter().enumerate() {
                for (j, column) in column_terms.iter().enumerate() {
                    let expected = 100.0 - (row + column);
                    assert!((tile[geometry.index(i, j, columns)] - expected).abs() < 1e-12, "{isa:?} {i} {j}");
                }
            }
        }
    }
}
