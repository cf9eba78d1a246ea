//! A place that most points are near.

use super::{Moments, Points, sample_rows};

/// Rows whose medians stand in for the mean where that is far from nearly all points.
const ROWS: usize = 33;
/// How much farther from most points than their own distance it has to be, squared.
const FAR: f64 = 100.0;

/// Where squared distances are measured from: the mean, unless a few points have drawn it so far from the others that those would lose
/// their digits (a column with 1e30 for what is missing). Then the medians of some rows.
///
/// Distances do not depend on it; the same points give the same place.
pub(crate) fn middle(points: &Points) -> Vec<f64> {
    let mean = Moments::means_of(points);
    let rows: Vec<Vec<f64>> = sample_rows(points.n_samples(), ROWS, 0).into_iter().map(|row| points.row(row)).collect();
    if rows.is_empty() {
        return mean;
    }
    let median = |mut values: Vec<f64>| {
        let half = values.len() / 2;
        *values.select_nth_unstable_by(half, f64::total_cmp).1
    };
    let medians: Vec<f64> = (0..points.n_features()).map(|j| median(rows.iter().map(|row| row[j]).collect())).collect();
    let squared = |x: &[f64]| x.iter().zip(&medians).map(|(x, m)| (x - m).powi(2)).sum::<f64>();
    let usual = median(rows.iter().map(|row| squared(row)).collect());
    // Also where the mean has overflowed.
    if squared(&mean) <= FAR * usual { mean } else { medians }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_mean_unless_a_few_points_have_drawn_it_away() {
        let mut values: Vec<f64> = (0..2000).map(|i| 5.0 + f64::from(i).sin()).collect();
        let of = |values: &[f64]| {
            let points = Points::from_f64(values.to_vec(), 1000, 2).expect("pairs");
            (middle(&points), Moments::of(&points).mean().to_vec())
        };
        let (found, mean) = of(&values);
        assert_eq!(found, mean);
        values[600] = 40.0;
        let (found, mean) = of(&values);
        assert_eq!(found, mean, "an outlier among a thousand does not move the mean far");
        for far in [1e6, 1e30, f64::MAX] {
            values[600] = far;
            let (found, _) = of(&values);
            assert!(found.iter().all(|x| (4.0..6.0).contains(x)), "{far:e}: {found:?}");
        }
    }

    #[test]
    fn equal_points_are_their_own_middle() {
        let points = Points::from_f64(vec![3.0; 8], 4, 2).expect("pairs");
        assert_eq!(middle(&points), [3.0, 3.0]);
        assert_eq!(middle(&Points::from_f64(Vec::<f64>::new(), 0, 2).expect("no rows")).len(), 2);
    }
}
