//! The Gaussian about many centres: each cluster of sources has a series of its own, and targets out of its reach leave it out.
//!
//! **Use it** in four dimensions and more, where a grid has too many nodes, when the bandwidth is a good part of the clusters'
//! radius.
//!
//! **Cost** of a product with `b` vectors: `(sources + targets · clusters within reach) · terms · (b + 1)` multiply-adds.
//!
//! # Method
//!
//! Centres are found by farthest-point clustering of a sample, and every source goes to the nearest: the radius is at most twice the
//! least possible. A source further than `reach` from a target adds less than the tolerance, so a target leaves out
//! clusters whose centre is further away than `reach` and the cluster's radius. The number of terms of a cluster is the least with
//! which the bound for its own radius and the largest distance of a target that does not leave it out holds. Each entry of the matrix
//! belongs to one cluster, so the error of each is bounded by the larger of the two. The number of clusters is the
//! one with the least predicted cost.
//!
//! # References
//!
//! - \[YDD05\] C. Yang, R. Duraiswami, L. Davis, "Efficient kernel machines using the improved fast Gauss transform", Advances in Neural
//!   Information Processing Systems 17 (2005) 1561-1568.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::choose::Problem;
use super::features::{BLOCK, Scratch};
use super::region::squared_distance;
use super::series::{self, Order};
use super::{Engine, Features, Monomials, Places, Targets};
use crate::data::{Points, sample_rows};
use crate::error::Result;
use crate::kernel::Parameter;
use crate::watch::Context;

/// Sources that centres are chosen from, and targets that neighbours are counted for.
const SAMPLE: usize = 4096;
const TARGET_SAMPLE: usize = 256;
/// Sources that are looked at first, to see whether it is worth while to look at more: a few more than there are clusters.
const FEW: usize = MOST + 44;
/// The most clusters.
const MOST: usize = 256;
/// The most terms of a cluster.
const MOST_TERMS: usize = 1 << 14;
/// Multiply-adds that a cluster costs however few points it has.
const OVERHEAD: f64 = 1e4;
const SEED: u64 = 0x636c_7573;

/// Centres, before sources are given to them.
pub(super) struct ClusterPlan {
    centers: Vec<Vec<f64>>,
    gamma: f64,
    reach: f64,
    tolerance: f64,
    /// Multiply-adds of a product with all vectors.
    pub(super) cost: f64,
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
        let mut best: Option<(usize, f64)> = None;
        let mut count = 2;
        while count <= centers.len() {
            // Sources that are not in the sample may lie a little further out.
            let radius = 1.1 * radii[count - 1];
            if let Some(terms) = order(radius) {
                let within = (radius + reach).powi(2);
                let near: usize = targets
                    .iter()
                    .map(|x| centers[..count].iter().filter(|&center| squared_distance(x, center) <= within).count())
                    .sum();
                let near = near as f64 / targets.len().max(1) as f64;
                let of_terms = (problem.sources + problem.targets * near) * terms as f64 * (problem.columns + 4.0);
                let of_distances = (problem.sources + problem.targets) * (count * (d + 4)) as f64;
                let cost = of_terms + of_distances + OVERHEAD * count as f64;
                if best.is_none_or(|(_, least)| cost < least) {
                    best = Some((count, cost));
                }
            }
            count = (count * 3).div_ceil(2);
        }
        let (count, cost) = best?;
        Some(Self { centers: centers[..count].to_vec(), gamma, reach, tolerance, cost })
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

/// One cluster.
struct Cluster {
    center: Vec<f64>,
    features: Arc<Features>,
    /// Its sources, among those sorted by cluster.
    sources: Range<usize>,
    /// Its coefficients, among those of all.
    terms: Range<usize>,
    /// Targets further away than this leave it out.
    within: f64,
}

/// The engine.
pub(super) struct Clusters {
    all: Vec<Cluster>,
    /// Sources by cluster: their rows and coordinates.
    order: Vec<usize>,
    coordinates: Vec<f64>,
    n_features: usize,
    terms: usize,
    bound: f64,
}

impl Clusters {
    /// Gives the sources to the centres; `None` if one lies so far from all of them that its cluster takes too many terms.
    pub(super) fn new(plan: &ClusterPlan, points: &Points, context: &Context<'_>) -> Result<Option<Self>> {
        let (n, d) = (points.n_samples(), points.n_features());
        let nearest: Vec<(usize, f64)> = context.threads.run(|| {
            (0..n)
                .into_par_iter()
                .with_min_len(1024)
                .map(|row| {
                    let x = points.row(row);
                    let distances = plan.centers.iter().map(|center| squared_distance(&x, center));
                    let closer =
                        |best: (usize, f64), (i, distance)| if distance < best.1 { (i, distance) } else { best };
                    distances.enumerate().fold((0, f64::INFINITY), closer)
                })
                .collect()
        });
        context.check()?;
        let mut members = vec![Vec::new(); plan.centers.len()];
        let mut radii = vec![0.0_f64; plan.centers.len()];
        for (row, &(cluster, distance)) in nearest.iter().enumerate() {
            members[cluster].push(row);
            radii[cluster] = radii[cluster].max(distance.sqrt());
        }
        let mut by_order: BTreeMap<usize, Arc<Features>> = BTreeMap::new();
        let (mut clusters, mut order, mut terms) = (Vec::new(), Vec::with_capacity(n), 0);
        // Leaving out a cluster costs at most the kernel at the reach.
        let mut bound = (-plan.gamma * plan.reach * plan.reach).exp();
        let largest = radii.iter().copied().fold(0.0, f64::max);
        let mut by_radius: BTreeMap<usize, Order> = BTreeMap::new();
        for ((center, rows), radius) in plan.centers.iter().zip(members).zip(radii) {
            // Radii in sixteenths of the largest, rounded up: so many orders have to be found, not one for each cluster.
            let step = if largest > 0.0 { (16.0 * radius / largest).ceil() as usize } else { 0 };
            let radius = largest * step as f64 / 16.0;
            let within = radius + plan.reach;
            let needed = if let Some(known) = by_radius.get(&step) {
                *known
            } else {
                // The plan saw a sample; sources further out ask for more terms than it counted on.
                let found = Order::for_radii(plan.gamma, radius, within, plan.tolerance);
                let few = |order: &Order| Monomials::count(d, order.terms - 1).is_some_and(|n| n <= 4 * MOST_TERMS);
                let Some(found) = found.filter(few) else { return Ok(None) };
                by_radius.insert(step, found);
                found
            };
            let features = if let Some(known) = by_order.get(&needed.terms) {
                Arc::clone(known)
            } else {
                let made = Arc::new(series::features(plan.gamma, vec![0.0; d], needed.terms)?);
                by_order.insert(needed.terms, Arc::clone(&made));
                made
            };
            bound = bound.max(needed.bound);
            let first = order.len();
            order.extend(rows);
            let count = features.terms();
            clusters.push(Cluster {
                center: center.clone(),
                features,
                sources: first..order.len(),
                terms: terms..terms + count,
                within,
            });
            terms += count;
        }
        let coordinates = order.iter().flat_map(|&row| points.row(row)).collect();
        Ok(Some(Self { all: clusters, order, coordinates, n_features: d, terms, bound }))
    }

    pub(super) fn terms(&self) -> usize {
        self.terms
    }

    pub(super) fn bound(&self) -> f64 {
        self.bound.max(64.0 * f64::EPSILON)
    }
}

impl Engine for Clusters {
    fn place(&self, points: &Points, _: &Context<'_>) -> Places {
        Places::Rows(points.clone())
    }

    /// The sources are those that the clusters were made of.
    fn compress(&self, _: &Places, vectors: MatRef<'_, f64>, context: &Context<'_>) -> Result<Mat<f64>> {
        let (d, b) = (self.n_features, vectors.ncols());
        let parts: Vec<Result<Mat<f64>>> = context.threads.run(|| {
            self.all
                .par_iter()
                .map(|cluster| {
                    let mut scratch = cluster.features.scratch();
                    let mut sum = Mat::zeros(cluster.terms.len(), b);
                    let mut values = Mat::zeros(BLOCK, b);
                    for first in cluster.sources.clone().step_by(BLOCK) {
                        context.check()?;
                        let end = cluster.sources.end.min(first + BLOCK);
                        let x = &self.coordinates[first * d..end * d];
                        for (i, &row) in self.order[first..end].iter().enumerate() {
                            values.row_mut(i).copy_from(vectors.row(row));
                        }
                        let z = cluster.features.fill_about(&cluster.center, x, &mut scratch);
                        let u = values.as_ref().subrows(0, end - first);
                        matmul(sum.as_mut(), Accum::Add, z.transpose(), u, 1.0, Par::Seq);
                    }
                    Ok(sum)
                })
                .collect()
        });
        let mut all = Mat::zeros(self.terms, b);
        for (cluster, part) in self.all.iter().zip(parts) {
            all.as_mut().subrows_mut(cluster.terms.start, cluster.terms.len()).copy_from(part?);
        }
        Ok(all)
    }

    fn evaluate(
        &self,
        coefficients: MatRef<'_, f64>,
        places: &Places,
        out: MatMut<'_, f64>,
        context: &Context<'_>,
    ) -> Result<()> {
        let points = places.rows();
        context.threads.run(|| {
            out.par_row_chunks_mut(BLOCK).enumerate().try_for_each_init(BTreeMap::new, |scratch, (block, rows)| {
                context.check()?;
                let first = block * BLOCK;
                let x = points.rows(first..first + rows.nrows()).to_f64();
                self.evaluate_block(coefficients, &x, scratch, rows);
                Ok(())
            })
        })
    }
}

impl Clusters {
    /// The sums of a block of targets over the clusters in their reach, one cluster after the other.
    fn evaluate_block(
        &self,
        coefficients: MatRef<'_, f64>,
        x: &[f64],
        scratch: &mut BTreeMap<usize, Scratch>,
        mut out: MatMut<'_, f64>,
    ) {
        let (d, b) = (self.n_features, coefficients.ncols());
        let (mut inside, mut chosen) = (Vec::new(), Vec::new());
        let mut sums = Mat::zeros(BLOCK, b);
        out.fill(0.0);
        for cluster in self.all.iter().filter(|cluster| !cluster.sources.is_empty()) {
            inside.clear();
            chosen.clear();
            for (row, x) in x.chunks_exact(d).enumerate() {
                if squared_distance(x, &cluster.center) <= cluster.within * cluster.within {
                    inside.push(row);
                    chosen.extend_from_slice(x);
                }
            }
            if inside.is_empty() {
                continue;
            }
            let scratch = scratch.entry(cluster.terms.len()).or_insert_with(|| cluster.features.scratch());
            let z = cluster.features.fill_about(&cluster.center, &chosen, scratch);
            let own = coefficients.subrows(cluster.terms.start, cluster.terms.len());
            let mut part = sums.as_mut().subrows_mut(0, inside.len());
            matmul(part.as_mut(), Accum::Replace, z, own, 1.0, Par::Seq);
            for (from, &row) in inside.iter().enumerate() {
                for j in 0..b {
                    out[(row, j)] += part[(from, j)];
                }
            }
        }
    }
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
