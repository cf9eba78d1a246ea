//! Rows of numbers that are in memory, laid into a panel side by side.

use super::fetch;
use crate::scalar::Scalar;
use crate::simd::{Isa, Job, Lanes, MOST_LANES, Target};

/// A row for each lane of a panel, where there is one.
pub(crate) type PanelRows<'a, T> = [Option<&'a [T]>; MOST_LANES];

/// Writes rows into a panel, one into each lane; lanes without a row stay as they are. Meanwhile those of `later`, which lie anywhere in
/// memory, are brought nearer.
///
/// # Panics
///
/// If a row is not as long as the panel has columns.
pub(crate) fn lay_rows<T: Scalar>(isa: Isa, rows: &PanelRows<'_, T>, later: &PanelRows<'_, T>, panel: &mut [T]) {
    isa.run(Lay { rows, later, panel });
}

struct Lay<'a, T> {
    rows: &'a PanelRows<'a, T>,
    later: &'a PanelRows<'a, T>,
    panel: &'a mut [T],
}

impl<T: Scalar> Job for Lay<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<G: Target>(self) {
        lay::<T::On<G>>(self.rows, self.later, self.panel);
    }
}

/// As [`lay_rows`], on the instruction set of the caller.
#[inline(always)]
pub(super) fn lay<L: Lanes>(rows: &PanelRows<'_, L::Elem>, later: &PanelRows<'_, L::Elem>, panel: &mut [L::Elem]) {
    let width = panel.len() / L::COUNT;
    assert!(rows.iter().flatten().all(|row| row.len() == width), "an entry for every column");
    let is_full = rows[..L::COUNT].iter().all(Option::is_some);
    let in_squares = if is_full { width / L::COUNT * L::COUNT } else { 0 };
    for first in (0..width).step_by(L::COUNT) {
        for row in later.iter().flatten() {
            fetch(&row[first.min(row.len())..(first + L::COUNT).min(row.len())]);
        }
        if first < in_squares {
            let mut square = [L::constant(0.0); MOST_LANES];
            for (vector, row) in square.iter_mut().zip(&rows[..L::COUNT]) {
                if let Some(row) = row {
                    *vector = L::read(&row[first..]);
                }
            }
            L::transpose(&mut square);
            for (vector, column) in
                square.into_iter().zip(panel[first * L::COUNT..].chunks_exact_mut(L::COUNT)).take(L::COUNT)
            {
                vector.write(column);
            }
        } else {
            for (lane, row) in rows[..L::COUNT].iter().enumerate() {
                let Some(row) = row else { continue };
                for (j, &entry) in row.iter().enumerate().skip(first).take(L::COUNT) {
                    panel[j * L::COUNT + lane] = entry;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Geometry;
    use super::*;

    fn check<T: Scalar>() {
        for isa in Isa::available() {
            let lanes = Geometry::of::<T>(isa).lanes;
            for width in [1, lanes, 3 * lanes, 3 * lanes + 1] {
                let entry = |lane: usize, j: usize| T::from_f64((100 * lane + j) as f64);
                let kept: Vec<Vec<T>> = (0..lanes).map(|lane| (0..width).map(|j| entry(lane, j)).collect()).collect();
                for missing in [None, Some(0), Some(lanes - 1)] {
                    let row = |lane: usize| kept.get(lane).filter(|_| Some(lane) != missing).map(Vec::as_slice);
                    let rows: PanelRows<'_, T> = std::array::from_fn(row);
                    let untouched = T::from_f64(-1.0);
                    let mut panel = vec![untouched; lanes * width];
                    lay_rows(isa, &rows, &[Some(&kept[0][..1]); MOST_LANES], &mut panel);
                    for (at, &found) in panel.iter().enumerate() {
                        let (j, lane) = (at / lanes, at % lanes);
                        let expected = if Some(lane) == missing { untouched } else { entry(lane, j) };
                        assert!(
                            found == expected,
                            "{found} in column {j} of lane {lane} of {width} columns on {isa:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_row_comes_into_its_lane_and_the_others_stay_as_they_are() {
        check::<f32>();
        check::<f64>();
    }
}
