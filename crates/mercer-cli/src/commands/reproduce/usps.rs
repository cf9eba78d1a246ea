//! The USPS digits.

use mercer::Points;

use super::stage::Stage;
use crate::failure::{Failure, InputError, Result};
use crate::input::Labels;

/// The file in the data folder.
const FILE: &str = "usps.npz";
/// Pixels along a side of a picture.
pub(super) const SIDE: usize = 16;

/// The first `each` pictures of every digit, digit by digit; all pictures if nothing is said.
pub(super) fn digits(stage: &Stage<'_>, each: Option<usize>) -> Result<(Points, Vec<String>)> {
    let data = stage.read(FILE, None)?;
    let wrong = |problem: String| Failure::from(InputError::new(&data.name, problem));
    if data.points.n_features() != SIDE * SIDE {
        let found = data.points.n_features();
        return Err(wrong(format!("pictures have {found} pixels instead of {}", SIDE * SIDE)));
    }
    let labels = data.labels.as_ref().map(|Labels { values, .. }| values.clone()).unwrap_or_default();
    let Some(each) = each else { return Ok((data.points, labels)) };
    let mut chosen = Vec::new();
    for digit in 0..10 {
        let name = digit.to_string();
        let rows = labels.iter().enumerate().filter(|(_, label)| **label == name).map(|(row, _)| row);
        chosen.extend(rows.take(each));
        if chosen.len() != (digit + 1) * each {
            return Err(wrong(format!("there are not {each} pictures of the digit {digit}")));
        }
    }
    let labels = chosen.iter().map(|&row| labels[row].clone()).collect();
    Ok((data.points.select(&chosen), labels))
}
