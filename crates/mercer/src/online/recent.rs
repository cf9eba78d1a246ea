//! The rows that came last, which variances are measured on.
//!
//! The outputs that rows had when they were learned are those of components as they were then. What components as they are now make of
//! rows takes rows again: these are kept for it beside the rows in memory, a fixed number of them whatever the budget is.

use serde::{Deserialize, Serialize};

/// Rows that are kept. A variance of so many normal numbers is known to the root of two over this, 6 %.
const ROWS: usize = 512;

/// The last rows, in a ring.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recent {
    values: Vec<f64>,
    /// Where the next row goes once there are as many as are kept.
    next: usize,
}

impl Recent {
    /// Takes a row, in the place of the oldest if there are enough.
    pub(super) fn push(&mut self, x: &[f64]) {
        if self.values.len() < ROWS * x.len() {
            self.values.extend_from_slice(x);
        } else {
            self.values[self.next * x.len()..][..x.len()].copy_from_slice(x);
            self.next = (self.next + 1) % ROWS;
        }
    }

    /// The rows, one after the other, in no order that means anything.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Rows of so many coordinates that have still to come until there are as many as are kept.
    pub(super) fn n_missing(&self, n_features: usize) -> usize {
        ROWS.saturating_sub(self.values.len() / n_features)
    }

    /// Whether this can be the last rows of a stream of rows with so many coordinates.
    pub(super) fn is_consistent(&self, n_features: usize) -> bool {
        self.values.len().is_multiple_of(n_features)
            && self.values.len() <= ROWS * n_features
            && self.next < ROWS
            && self.values.iter().all(|x| x.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_rows_are_kept_and_no_others() {
        let mut recent = Recent::default();
        for i in 0..1200 {
            assert_eq!(recent.n_missing(2), ROWS.saturating_sub(i as usize));
            recent.push(&[f64::from(i), -f64::from(i)]);
            assert!(recent.is_consistent(2));
        }
        let mut first: Vec<f64> = recent.values().chunks_exact(2).map(|row| row[0]).collect();
        first.sort_by(f64::total_cmp);
        assert_eq!(first, (688..1200).map(f64::from).collect::<Vec<_>>());
        assert!(recent.values().chunks_exact(2).all(|row| row[0] + row[1] == 0.0), "rows are whole");
    }
}
