//! How many clusters, and where: the number with the least predicted cost.

use super::candidates::Problem;
use super::region::squared_distance;
use super::series::Order;
use super::{Monomials, Targets, costs};
use crate::data::{Points, sample_rows};
use crate::kernel::Parameter;

/// Sources that centres are chosen from, and targets that neighbours are counted for.
const SAMPLE: usize = 4096;
const TARGET_SAMPLE: usize = 256;
/// Sources that are looked at first, to see whether it is worth while to look at more: a few more than there are clusters.
const FEW: usize = MOST + 44;
/// The most clusters.
const MOST: usize = 256;
/// The most terms of a cluster.
pub(super) const MOST_TERMS: usize = 1 << 14;
const SEED: u64 = 0x636c_7573;

/// Centres, before sources are given to them.
pub(super) struct ClusterPlan {
    pub(super) centers: Vec<Vec<f64>>,
    pub(super) gamma: f64,
    pub(super) reach: f64,
    pub(super) tolerance: f64,
    /// Terms of all clusters, and the most that one of them has.
    pub(super) terms: usize,
    pub(super) most_terms: usize,
    /// Nanoseconds of one thread for a product with all vectors.
    pub(super) cost: f64,
}

/// Bytes that clusters of `n` points take, with products of `columns` vectors at a time.
pub(super) fn bytes(n: usize, d: usize, most_terms: usize, terms: usize, columns: usize) -> u64 {
    // Coordinates in another order, the order, the nearest centre of each point with its distance, and the members of each cluster, whose
    // lists grow by doubling.
    let points = 8 * n as u64 * (d as u64 + 5);
    // Coefficients, once by cluster and once for all, and a block of features per thread.
    points + 16 * (terms * columns) as u64 + 8 * 4096 * most_terms as u64
}

impl ClusterPlan {
    /// The cheapest number of clusters, if any number will do.
    pub(super) fn new(problem: &Problem<'_>) -> Option<Self> {
        let (points, tolerance) = (problem.points, problem.wanted.tolerance);
        let (d, gamma) = (points.n_features(), problem.kernel.parameter(Parameter::Gamma)?);
        // A little more than needed, so that rounding does not carry the bound beyond the tolerance.
        let reach = ((1.001 / tolerance).ln() / gamma).sqrt();
        let rows = |points: &Points, count: usize| -> Vec<Vec<f64>> {
            sample_rows(points.n_samples(), count, SEED).into_iter().map(|row| points.row(row)).collect()
        };
        let sample = rows(points, SAMPLE);
        let order = |radius: f64| {
            let order = Order::for_radii(gamma, radius, radius + reach, tolerance)?;
            Monomials::count(d, order.terms - 1).filter(|&terms| terms <= MOST_TERMS)
        };
        // With many features clusters of the radius that one of them must have take too many terms already, and looking further takes
        // longer than the first tiles do.
        order(least_radius(&sample))?;
        let targets = match problem.wanted.targets {
            Targets::Known(queries) => rows(queries, TARGET_SAMPLE),
            Targets::Sources | Targets::Any => rows(points, TARGET_SAMPLE),
        };
        let (centers, radii) = farthest_points(&sample, MOST.min(sample.len()));
        let mut best: Option<(usize, usize, f64)> = None;
        // Points that are all alike have one.
        let mut count = centers.len().min(2);
        while (1..=centers.len()).contains(&count) {
            // Sources that are not in the sample may lie a little further out.
            let radius = 1.1 * radii[count - 1];
            if let Some(terms) = order(radius) {
                let within = (radius + reach).powi(2);
                let near: usize = targets
                    .iter()
                    .map(|x| centers[..count].iter().filter(|&center| squared_distance(x, center) <= within).count())
                    .sum();
                let near = near as f64 / targets.len().max(1) as f64;
                let of_terms = costs::features(problem.sources + problem.targets * near, terms, problem.columns);
                let of_distances = costs::clusters((problem.sources + problem.targets) * count as f64, d, count);
                let cost = of_terms + of_distances;
                if best.is_none_or(|(_, _, least)| cost < least) {
                    best = Some((count, terms, cost));
                }
            }
            count = (count * 3).div_ceil(2);
        }
        let (count, most_terms, cost) = best?;
        let terms = count * most_terms;
        Some(Self { centers: centers[..count].to_vec(), gamma, reach, tolerance, terms, most_terms, cost })
    }
}

/// A radius that the largest of [`MOST`] clusters has at least, from a few of the points. Centres that are each the farthest from those
/// before lie no closer to one another than the next one does to them, and of one more than there are clusters two share one.
fn least_radius(points: &[Vec<f64>]) -> f64 {
    let few: Vec<Vec<f64>> = points.iter().step_by((points.len() / FEW).max(1)).cloned().collect();
    let (centers, radii) = farthest_points(&few, MOST);
    if centers.len() < MOST { 0.0 } else { radii.last().map_or(0.0, |apart| 0.5 * apart) }
}

/// Centres, each the point farthest from those before it, and the largest distance that is left after each.
fn farthest_points(points: &[Vec<f64>], count: usize) -> (Vec<Vec<f64>>, Vec<f64>) {
    let (mut centers, mut radii) = (Vec::new(), Vec::new());
    let mut distances = vec![f64::INFINITY; points.len()];
    let mut next = 0;
    for _ in 0..count {
        let Some(center) = points.get(next).cloned() else { break };
        let mut farthest = 0.0_f64;
        for (i, (x, distance)) in points.iter().zip(&mut distances).enumerate() {
            *distance = distance.min(squared_distance(x, &center));
            if *distance > farthest {
                (farthest, next) = (*distance, i);
            }
        }
        centers.push(center);
        radii.push(farthest.sqrt());
        if farthest == 0.0 {
            break;
        }
    }
    (centers, radii)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points on a grid of so many features, each a little off its place.
    fn grid(n: usize, d: usize) -> Vec<Vec<f64>> {
        let coordinate = |i: usize, k: usize| ((i >> k) % 5) as f64 + ((i * 31 + k * 17) % 97) as f64 * 1e-3;
        (0..n).map(|i| (0..d).map(|k| coordinate(i, k)).collect()).collect()
    }

    #[test]
    fn no_clusters_have_a_radius_below_the_least() {
        for d in [2, 4, 12] {
            let points = grid(2000, d);
            let least = least_radius(&points);
            let (centers, radii) = farthest_points(&points, MOST);
            assert!(least > 0.0, "d = {d}");
            assert!(
                centers.len() == MOST && radii.iter().all(|&radius| radius >= least),
                "d = {d}: {least}, {radii:?}"
            );
        }
        assert!(least_radius(&grid(MOST, 4)) <= 0.0, "as many clusters as points have none");
    }
}
