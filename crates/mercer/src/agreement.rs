//! How far two groupings of the same points agree.
//!
//! | measure | the same grouping | groupings that have nothing to do with each other |
//! |---|---|---|
//! | [`variation_of_information`] | 0 | the sum of both entropies |
//! | [`normalized_mutual_information`] | 1 | 0 |
//! | [`adjusted_rand_index`] | 1 | 0 on average |
//!
//! None of them depends on what groups are called. Logarithms are natural.
//!
//! # Method
//!
//! With `p_ij` the share of the points in group `i` of the first and `j` of the second grouping, and `p_i`, `q_j` its row and
//! column sums: the entropies are `H = − Σ p_i ln p_i`, the mutual information `I = Σ p_ij ln(p_ij / (p_i q_j))`, and
//!
//! ```text
//! VI  = H + H' − 2 I = Σ p_ij (ln(p_i / p_ij) + ln(q_j / p_ij))       (44) of \[GSV07\]
//! NMI = I / ((H + H') / 2)
//! ARI = (Σ C(n_ij) − e) / ((Σ C(n_i) + Σ C(m_j)) / 2 − e),  e = Σ C(n_i) Σ C(m_j) / C(n),  C(n) = n (n − 1) / 2
//! ```
//!
//! The second form of VI is a sum of terms that are not negative, so nothing cancels where groupings agree.
//!
//! # References
//!
//! - \[GSV07\] Günter, Schraudolph, Vishwanathan, *Fast iterative kernel principal component analysis*, JMLR 8.
//! - \[HA85\] Hubert, Arabie, *Comparing partitions*, Journal of Classification 2.

use std::collections::BTreeMap;

use crate::error::{Error, Result};

/// How many points each pair of groups has in common.
///
/// ```
/// use mercer::agreement::Contingency;
///
/// let table = Contingency::new(&["a", "a", "b"], &[1, 2, 2])?;
/// assert_eq!((table.count(0, 0), table.count(0, 1), table.count(1, 0), table.count(1, 1)), (1, 1, 0, 1));
/// assert_eq!(table.shape(), (2, 2));
///
/// let (ln2, ln3) = (2.0_f64.ln(), 3.0_f64.ln());
/// assert!((table.variation_of_information() - 4.0 / 3.0 * ln2).abs() < 1e-14);
/// // The mutual information ln 3 - 4/3 ln 2 over the entropy of either grouping.
/// let share = (ln3 - 4.0 / 3.0 * ln2) / (ln3 - 2.0 / 3.0 * ln2);
/// assert!((table.normalized_mutual_information() - share).abs() < 1e-14);
/// // Each has one pair of points in a group, and not the same one: fewer in common than by chance.
/// assert!((table.adjusted_rand_index() + 0.5).abs() < 1e-14);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contingency {
    n: usize,
    /// Pairs of groups that have points in common.
    cells: BTreeMap<(usize, usize), usize>,
    rows: Vec<usize>,
    columns: Vec<usize>,
}

impl Contingency {
    /// The table of two groupings, each by a name for every point. Groups are numbered in the order of their names.
    ///
    /// # Errors
    ///
    /// If there are no points, or not as many in one grouping as in the other.
    pub fn new<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Result<Self> {
        if first.len() != second.len() {
            let requirement = format!("as many as those they are compared with ({})", first.len());
            return Err(Error::invalid("labels", requirement, second.len()));
        }
        if first.is_empty() {
            return Err(Error::invalid("labels", "at least one", 0));
        }
        let ((i, n_rows), (j, n_columns)) = (numbered(first), numbered(second));
        let mut table =
            Self { n: first.len(), cells: BTreeMap::new(), rows: vec![0; n_rows], columns: vec![0; n_columns] };
        for (i, j) in i.into_iter().zip(j) {
            *table.cells.entry((i, j)).or_default() += 1;
            table.rows[i] += 1;
            table.columns[j] += 1;
        }
        Ok(table)
    }

    /// Points in group `i` of the first and group `j` of the second grouping.
    pub fn count(&self, i: usize, j: usize) -> usize {
        self.cells.get(&(i, j)).copied().unwrap_or(0)
    }

    /// Groups of the first and of the second grouping.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }

    /// The share of the points in each cell that is not empty, in its row and in its column.
    fn shares(&self) -> impl Iterator<Item = (f64, f64, f64)> {
        let share = |count: usize| count as f64 / self.n as f64;
        self.cells.iter().map(move |(&(i, j), &count)| (share(count), share(self.rows[i]), share(self.columns[j])))
    }

    /// The variation of information.
    pub fn variation_of_information(&self) -> f64 {
        self.shares().map(|(cell, row, column)| cell * ((row / cell).ln() + (column / cell).ln())).sum()
    }

    /// The mutual information over the mean of both entropies; one if both groupings have a single group.
    pub fn normalized_mutual_information(&self) -> f64 {
        let entropy = |counts: &[usize]| -> f64 {
            let n = self.n as f64;
            counts.iter().map(|&count| count as f64 / n).map(|share| -share * share.ln()).sum()
        };
        let mean = f64::midpoint(entropy(&self.rows), entropy(&self.columns));
        if mean <= 0.0 {
            return 1.0;
        }
        let mutual: f64 = self.shares().map(|(cell, row, column)| cell * (cell / (row * column)).ln()).sum();
        // Rounding must not leave the range that theory gives.
        (mutual / mean).clamp(0.0, 1.0)
    }

    /// The share of pairs of points that both groupings treat alike, adjusted for chance; one if they cannot differ.
    pub fn adjusted_rand_index(&self) -> f64 {
        let pairs = |count: &usize| *count as f64 * (*count as f64 - 1.0) / 2.0;
        let both: f64 = self.cells.values().map(pairs).sum();
        let (first, second): (f64, f64) = (self.rows.iter().map(pairs).sum(), self.columns.iter().map(pairs).sum());
        let all = pairs(&self.n);
        let expected = if all > 0.0 { first * (second / all) } else { 0.0 };
        let most = f64::midpoint(first, second);
        // All points in one group, or each in its own, in both groupings: there is no other way to group them.
        if most - expected == 0.0 { 1.0 } else { (both - expected) / (most - expected) }
    }
}

/// The number of each name among the different names in order, and how many there are.
fn numbered<T: Ord>(names: &[T]) -> (Vec<usize>, usize) {
    let mut known: BTreeMap<&T, usize> = names.iter().map(|name| (name, 0)).collect();
    for (number, value) in known.values_mut().enumerate() {
        *value = number;
    }
    (names.iter().map(|name| known[name]).collect(), known.len())
}

/// The variation of information of two groupings: a metric, zero for groupings that differ only in names.
///
/// ```
/// use mercer::agreement::variation_of_information;
///
/// assert_eq!(variation_of_information(&[0, 0, 1, 1], &["b", "b", "a", "a"])?, 0.0);
/// // Nothing in common: the entropies of both, ln 2 each.
/// let vi = variation_of_information(&[0, 0, 1, 1], &[0, 1, 0, 1])?;
/// assert!((vi - 2.0 * 2.0_f64.ln()).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// If there are no points, or not as many in one grouping as in the other.
pub fn variation_of_information<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Result<f64> {
    Contingency::new(first, second).map(|table| table.variation_of_information())
}

/// The mutual information of two groupings over the arithmetic mean of their entropies.
///
/// ```
/// use mercer::agreement::normalized_mutual_information;
///
/// assert_eq!(normalized_mutual_information(&[0, 0, 1, 1], &[7, 7, 3, 3])?, 1.0);
/// assert_eq!(normalized_mutual_information(&[0, 0, 1, 1], &[0, 1, 0, 1])?, 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// As [`variation_of_information`].
pub fn normalized_mutual_information<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Result<f64> {
    Contingency::new(first, second).map(|table| table.normalized_mutual_information())
}

/// The adjusted Rand index of two groupings.
///
/// ```
/// use mercer::agreement::adjusted_rand_index;
///
/// assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[1, 1, 0, 0])?, 1.0);
/// // Fewer pairs in common than by chance.
/// assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1])? + 0.5).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
///
/// # Errors
///
/// As [`variation_of_information`].
pub fn adjusted_rand_index<A: Ord, B: Ord>(first: &[A], second: &[B]) -> Result<f64> {
    Contingency::new(first, second).map(|table| table.adjusted_rand_index())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that stops there says where")]
mod tests {
    use super::*;

    /// Six points: {1, 2, 3}, {4, 5, 6} against {1, 2}, {3, 4}, {5, 6}.
    const FIRST: [u8; 6] = [0, 0, 0, 1, 1, 1];
    const SECOND: [char; 6] = ['x', 'x', 'y', 'y', 'z', 'z'];

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-14, "{found} instead of {expected}");
    }

    #[test]
    fn values_computed_by_hand() {
        let (ln2, ln3) = (2.0_f64.ln(), 3.0_f64.ln());
        // H = ln 2, H' = ln 3; shares 1/3, 1/6, 1/6, 1/3, so the joint entropy is 2/3 ln 3 + 1/3 ln 6 = ln 3 + ln 2 / 3.
        let mutual = ln2 + ln3 - (ln3 + ln2 / 3.0);
        close(variation_of_information(&FIRST, &SECOND).unwrap(), ln2 + ln3 - 2.0 * mutual);
        close(normalized_mutual_information(&FIRST, &SECOND).unwrap(), mutual / f64::midpoint(ln2, ln3));
        // Pairs: in common 2, in the groups 6 and 3, of all 15; expected 6 · 3 / 15 = 1.2, at most 4.5.
        close(adjusted_rand_index(&FIRST, &SECOND).unwrap(), (2.0 - 1.2) / (4.5 - 1.2));
    }

    #[test]
    fn nothing_depends_on_names_or_on_which_grouping_comes_first() {
        let renamed = FIRST.map(|group| 9 - group);
        for measure in [Contingency::variation_of_information, Contingency::adjusted_rand_index] {
            let there = measure(&Contingency::new(&FIRST, &SECOND).unwrap());
            close(measure(&Contingency::new(&renamed, &SECOND).unwrap()), there);
            close(measure(&Contingency::new(&SECOND, &FIRST).unwrap()), there);
        }
    }

    #[test]
    fn a_single_group_on_both_sides_is_perfect_agreement() {
        let table = Contingency::new(&[1, 1, 1], &[2, 2, 2]).unwrap();
        close(table.variation_of_information(), 0.0);
        close(table.normalized_mutual_information(), 1.0);
        close(table.adjusted_rand_index(), 1.0);
        // One group says nothing about many.
        let table = Contingency::new(&[1, 1, 1], &[1, 2, 3]).unwrap();
        close(table.variation_of_information(), 3.0_f64.ln());
        close(table.normalized_mutual_information(), 0.0);
        close(table.adjusted_rand_index(), 0.0);
    }

    #[test]
    fn a_point_on_its_own_is_in_agreement_with_itself() {
        let table = Contingency::new(&["a"], &[3]).unwrap();
        assert_eq!((table.shape(), table.count(0, 0)), ((1, 1), 1));
        close(table.adjusted_rand_index(), 1.0);
    }

    #[test]
    fn groupings_of_other_points_are_refused() {
        let error = variation_of_information(&[1, 2], &[1]).unwrap_err().to_string();
        assert_eq!(error, "`labels` must be as many as those they are compared with (2), but it is 1");
        let error = adjusted_rand_index::<u8, u8>(&[], &[]).unwrap_err().to_string();
        assert_eq!(error, "`labels` must be at least one, but it is 0");
    }
}
