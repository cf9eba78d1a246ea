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

use super::cluster_plan::{ClusterPlan, MOST_TERMS, bytes};
use super::features::{BLOCK, Scratch};
use super::region::squared_distance;
use super::series::{self, Order};
use super::{Engine, Features, Monomials, Places};
use crate::data::Points;
use crate::error::Result;
use crate::watch::Context;

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

/// Points that are given to their centres before somebody looks whether to go on.
const AT_ONCE: usize = 1024;

impl Clusters {
    /// Gives the sources to the centres; `None` if one lies so far from all of them that its cluster takes too many terms.
    pub(super) fn new(plan: &ClusterPlan, points: &Points, context: &Context<'_>) -> Result<Option<Self>> {
        let (n, d) = (points.n_samples(), points.n_features());
        let mut members = vec![Vec::new(); plan.centers.len()];
        let mut radii = vec![0.0_f64; plan.centers.len()];
        for (row, (cluster, distance)) in nearest(&plan.centers, points, context)?.into_iter().enumerate() {
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

    /// Bytes that these clusters take, with products of `columns` vectors at a time.
    pub(super) fn bytes(&self, columns: usize) -> u64 {
        let most = self.all.iter().map(|cluster| cluster.terms.len()).max().unwrap_or(0);
        bytes(self.order.len(), self.n_features, most, self.terms, columns)
    }

    pub(super) fn bound(&self) -> f64 {
        self.bound.max(64.0 * f64::EPSILON)
    }
}

/// The nearest centre to every point, and the squared distance from it.
fn nearest(centers: &[Vec<f64>], points: &Points, context: &Context<'_>) -> Result<Vec<(usize, f64)>> {
    context.threads.run(|| -> Result<Vec<(usize, f64)>> {
        (0..points.n_samples())
            .into_par_iter()
            .with_min_len(AT_ONCE)
            .map(|row| {
                if row.is_multiple_of(AT_ONCE) {
                    context.check()?;
                }
                let x = points.row(row);
                let distances = centers.iter().map(|center| squared_distance(&x, center));
                let closer = |best: (usize, f64), (i, distance)| if distance < best.1 { (i, distance) } else { best };
                Ok(distances.enumerate().fold((0, f64::INFINITY), closer))
            })
            .collect()
    })
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
