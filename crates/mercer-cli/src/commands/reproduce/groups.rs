//! How much of a value is known from the group it belongs to.

/// The share of the variance of some values that the means of their groups explain.
pub(super) fn explained(values: &[f64], groups: &[usize]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let total: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    let count = groups.iter().max().map_or(0, |&last| last + 1);
    let (mut sums, mut counts) = (vec![0.0; count], vec![0.0; count]);
    for (value, &group) in values.iter().zip(groups) {
        sums[group] += value;
        counts[group] += 1.0;
    }
    let between: f64 = (0..count)
        .filter(|&group| counts[group] > 0.0)
        .map(|group| counts[group] * (sums[group] / counts[group] - mean).powi(2))
        .sum();
    if total > 0.0 { between / total } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_groups_explain_is_between_nothing_and_all() {
        let groups = [0, 0, 1, 1];
        assert!((explained(&[1.0, 1.0, 3.0, 3.0], &groups) - 1.0).abs() < 1e-12);
        assert!(explained(&[1.0, 3.0, 1.0, 3.0], &groups).abs() < 1e-12);
        assert!(explained(&[2.0; 4], &groups).abs() < 1e-12);
        assert!((explained(&[0.0, 4.0, 1.0, 3.0], &[3, 1, 3, 1]) - 0.9).abs() < 1e-12);
    }
}
