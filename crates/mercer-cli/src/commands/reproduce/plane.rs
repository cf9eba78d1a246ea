//! Scores over the plane, as small maps.

use mercer::{Model, Points};

use crate::failure::Result;
use crate::picture::Map;

/// Cells along a side of a map.
const CELLS: usize = 36;

/// The middles of the cells of a square about the origin, row by row from the top.
pub(super) fn cells(half_side: f64) -> Result<Points> {
    let place = |cell: usize| half_side * (2.0 * (cell as f64 + 0.5) / CELLS as f64 - 1.0);
    let values: Vec<f64> = (0..CELLS * CELLS).flat_map(|at| [place(at % CELLS), -place(at / CELLS)]).collect();
    Ok(Points::from_f64(values, CELLS * CELLS, 2)?)
}

/// The scores of the first components over the square, one list of cells for each component.
pub(super) fn scores(model: &Model, half_side: f64, n_components: usize) -> Result<Vec<Vec<f64>>> {
    let scores = model.transform(&cells(half_side)?)?;
    Ok((0..n_components.min(scores.ncols())).map(|j| scores.col(j).iter().copied().collect()).collect())
}

/// Maps of cells, each with a caption.
pub(super) fn maps<'a>(values: &'a [Vec<f64>], captions: &'a [String]) -> Vec<Map<'a>> {
    values.iter().zip(captions).map(|(values, caption)| Map { caption, width: CELLS, values }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cell_is_the_upper_left_one() {
        let cells = cells(1.8).unwrap();
        assert_eq!(cells.n_samples(), CELLS * CELLS);
        let close = |row: usize, x: f64, y: f64| {
            let found = cells.row(row);
            assert!((found[0] - x).abs() < 1e-12 && (found[1] - y).abs() < 1e-12, "{found:?}");
        };
        close(0, -1.75, 1.75);
        close(CELLS - 1, 1.75, 1.75);
        close(CELLS * CELLS - 1, 1.75, -1.75);
    }
}
