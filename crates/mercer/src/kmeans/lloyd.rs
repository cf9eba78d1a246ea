//! Rounds of Lloyd's method.

use faer::Mat;

use super::Partition;
use super::distance::Rows;
use crate::error::Result;
use crate::watch::Context;

/// Goes on from these centres until no row changes its cluster, or the run is stopped; `seen` is told of every round.
pub(super) fn run(
    rows: &Rows,
    mut centers: Vec<Vec<f64>>,
    max_rounds: usize,
    context: &Context<'_>,
    seen: impl Fn(usize),
) -> Result<Partition> {
    context.check()?;
    let mut labels = vec![usize::MAX; rows.n];
    let mut converged = false;
    let mut rounds = 0;
    while rounds < max_rounds && !converged {
        // After any round labels and centres are whole.
        if rounds > 0 && context.watch.is_stopped() {
            break;
        }
        rounds += 1;
        let chunks = rows.by_chunks(context.threads, |chunk| rows.nearest(&chunk, &centers));
        let (found, distances): (Vec<_>, Vec<_>) = chunks.into_iter().unzip();
        let (mut found, distances) = (found.concat(), distances.concat());
        fill_empty(&mut found, &distances, centers.len());
        converged = found == labels;
        labels = found;
        means(rows, &labels, &mut centers, context);
        seen(rounds);
    }
    let inertia = inertia(rows, &labels, &centers, context);
    let centers = Mat::from_fn(centers.len(), rows.d(), |i, j| centers[i][j]);
    Ok(Partition { labels, centers, inertia, rounds, converged, restarts: 1 })
}

/// Gives every cluster without rows the row that is farthest from its own centre, out of a cluster that can spare it.
fn fill_empty(labels: &mut [usize], distances: &[f64], k: usize) {
    let mut sizes = vec![0; k];
    for &label in labels.iter() {
        sizes[label] += 1;
    }
    if sizes.iter().all(|&size| size > 0) {
        return;
    }
    let mut farthest: Vec<usize> = (0..labels.len()).collect();
    farthest.sort_by(|&a, &b| distances[b].total_cmp(&distances[a]).then(a.cmp(&b)));
    let mut farthest = farthest.into_iter();
    for empty in (0..k).filter(|&cluster| sizes[cluster] == 0).collect::<Vec<_>>() {
        if let Some(row) = farthest.find(|&row| sizes[labels[row]] > 1) {
            sizes[labels[row]] -= 1;
            sizes[empty] += 1;
            labels[row] = empty;
        }
    }
}

/// Moves every centre to the mean of its rows.
fn means(rows: &Rows, labels: &[usize], centers: &mut [Vec<f64>], context: &Context<'_>) {
    let (k, d) = (centers.len(), rows.d());
    let parts = rows.by_chunks(context.threads, |chunk| {
        let (mut sums, mut counts) = (vec![0.0; k * d], vec![0_usize; k]);
        for i in chunk {
            counts[labels[i]] += 1;
            for (j, sum) in sums[labels[i] * d..][..d].iter_mut().enumerate() {
                *sum += rows.value(i, j);
            }
        }
        (sums, counts)
    });
    let (mut sums, mut counts) = (vec![0.0; k * d], vec![0_usize; k]);
    for (part, count) in &parts {
        sums.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        counts.iter_mut().zip(count).for_each(|(sum, part)| *sum += part);
    }
    for ((center, sums), count) in centers.iter_mut().zip(sums.chunks_exact(d.max(1))).zip(counts) {
        if count > 0 {
            *center = sums.iter().map(|sum| sum / count as f64).collect();
        }
    }
}

fn inertia(rows: &Rows, labels: &[usize], centers: &[Vec<f64>], context: &Context<'_>) -> f64 {
    let parts = rows.by_chunks(context.threads, |chunk| {
        chunk
            .map(|i| centers[labels[i]].iter().enumerate().map(|(j, c)| (rows.value(i, j) - c).powi(2)).sum::<f64>())
            .sum::<f64>()
    });
    parts.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_cluster_takes_the_farthest_row_of_a_cluster_that_can_spare_it() {
        let mut labels = vec![0, 0, 0, 1, 0];
        // Row 3 is farthest of all but alone in its cluster.
        fill_empty(&mut labels, &[0.1, 4.0, 0.2, 9.0, 5.0], 4);
        assert_eq!(labels, [0, 3, 0, 1, 2]);
    }
}
