//! What each method would be for a problem: terms, bound, cost and memory.

use super::cluster_plan::{self, ClusterPlan};
use super::grid::{GROUP, GridPlan, Repeat};
use super::mixture::Mixture;
use super::near::Near;
use super::polynomial::Terms;
use super::region::{Region, least_radius, radius};
use super::series::{Order, rounding};
use super::{COLUMNS_AT_ONCE, Features, Monomials, Targets, Wanted, costs};
use crate::choices::ExpansionMethod;
use crate::data::Points;
use crate::error::{Result, bytes};
use crate::kernel::{Kernel, Parameter};
use crate::watch::Context;

/// A method that reaches the tolerance, before anything is computed with it.
pub(super) enum Candidate {
    Polynomial { features: Features, bound: f64, cost: f64 },
    Series { center: Vec<f64>, radius: f64, order: Order, terms: usize, cost: f64 },
    Clusters(Box<ClusterPlan>),
    Grid { plan: Box<GridPlan>, mixture: Mixture, near: Option<Near>, region: Region, cost: f64 },
}

impl Candidate {
    /// Bytes that it takes beside points and vectors.
    pub(super) fn bytes(&self, problem: &Problem<'_>) -> u64 {
        let columns = problem.wanted.columns as u64;
        // A block of features per thread, and the sums of chunks.
        let blocks = |terms: usize| 8 * terms as u64 * (64 * columns + 4096);
        let own = 8 * problem.points.n_samples() as u64;
        match self {
            Self::Polynomial { features, .. } => blocks(features.terms()),
            Self::Series { terms, .. } => blocks(*terms),
            Self::Clusters(plan) => {
                let columns = problem.wanted.columns.min(COLUMNS_AT_ONCE);
                cluster_plan::bytes(
                    problem.points.n_samples(),
                    problem.points.n_features(),
                    plan.most_terms,
                    plan.terms,
                    columns,
                )
            }
            Self::Grid { plan, near, .. } => {
                let targets = match problem.wanted.targets {
                    Targets::Known(queries) => 8 * queries.n_samples() as u64,
                    Targets::Sources | Targets::Any => 0,
                };
                // Grids of all vectors, where targets come later.
                let kept = if targets > 0 { 8 * plan.nodes() as u64 * columns } else { 0 };
                // Places and order before and after sorting, and a group of vectors in two orders; cells of neighbours take as much again
                // as places.
                let of_point = 7 + 2 * columns.min(GROUP as u64) + if near.is_some() { 4 } else { 0 };
                plan.bytes(problem.wanted.columns) + kept + of_point * (own + targets)
            }
        }
    }

    pub(super) fn cost(&self) -> f64 {
        match self {
            Self::Polynomial { cost, .. } | Self::Series { cost, .. } | Self::Grid { cost, .. } => *cost,
            Self::Clusters(plan) => plan.cost,
        }
    }
}

/// The problem, in the numbers that costs are made of.
pub(super) struct Problem<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) points: &'a Points,
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) sources: f64,
    pub(super) targets: f64,
    pub(super) columns: f64,
}

impl<'a> Problem<'a> {
    pub(super) fn new(kernel: &'a Kernel, points: &'a Points, wanted: &'a Wanted<'a>) -> Self {
        let sources = points.n_samples() as f64;
        let targets = match wanted.targets {
            Targets::Sources | Targets::Any => sources,
            Targets::Known(queries) => queries.n_samples() as f64,
        };
        Self { kernel, points, wanted, sources, targets, columns: wanted.columns.max(1) as f64 }
    }

    /// Nanoseconds of one thread for a product by tiles.
    pub(super) fn direct_cost(&self) -> f64 {
        let entries = match self.wanted.targets {
            Targets::Sources => 0.5 * self.sources * self.targets,
            _ => self.sources * self.targets,
        };
        costs::tiles(entries, self.sources * self.targets, self.points.n_features(), self.columns)
    }

    /// Nanoseconds of one thread for sums over `terms` features of every point.
    fn feature_cost(&self, terms: usize) -> f64 {
        costs::features(self.sources + self.targets, terms, self.columns)
    }
}

/// A method for the problem, or why it cannot be used.
pub(super) fn candidate(
    problem: &Problem<'_>,
    method: ExpansionMethod,
    context: &Context<'_>,
) -> Result<std::result::Result<Candidate, String>> {
    Ok(match method {
        ExpansionMethod::Auto => Err("not a method".to_owned()),
        ExpansionMethod::Polynomial => polynomial(problem)?,
        ExpansionMethod::Series => series(problem),
        ExpansionMethod::Clusters => ClusterPlan::new(problem)
            .map(|plan| Candidate::Clusters(Box::new(plan)))
            .ok_or_else(|| "the bandwidth is too small for few clusters of few terms".to_owned()),
        ExpansionMethod::Grid => grid(problem, context)?,
    })
}

fn polynomial(problem: &Problem<'_>) -> Result<std::result::Result<Candidate, String>> {
    let d = problem.points.n_features();
    let Some(terms) = Terms::of(problem.kernel) else { return Ok(Err("not a polynomial".to_owned())) };
    let count = terms.count(d).filter(|&count| fits(problem, count));
    let Some(count) = count else {
        return Ok(Err(format!("degree {} in {d} features has too many monomials", terms.degree)));
    };
    let features = terms.features(d)?;
    let bound = terms.rounding(count);
    let cost = problem.feature_cost(features.terms());
    Ok(if bound > problem.wanted.tolerance {
        Err(format!("rounding leaves {bound:.0e}"))
    } else {
        Ok(Candidate::Polynomial { features, bound, cost })
    })
}

fn series(problem: &Problem<'_>) -> std::result::Result<Candidate, String> {
    let (wanted, d) = (problem.wanted, problem.points.n_features());
    let gamma = problem.kernel.parameter(Parameter::Gamma).unwrap_or(1.0);
    let too_small = |radius: f64| {
        let bandwidths = radius * (2.0 * gamma).sqrt();
        format!(
            "the points reach {bandwidths:.1} bandwidths or more from their centre, which takes too many terms for this tolerance"
        )
    };
    let order = |radius: f64| {
        let mut left = wanted.tolerance - rounding(0);
        // More terms round more, and what that leaves may take still more of them.
        for _ in 0..4 {
            let order = Order::for_radius(gamma, radius, left)?;
            let terms = Monomials::count(d, order.terms - 1).filter(|&terms| fits(problem, terms))?;
            if order.bound + rounding(terms) <= wanted.tolerance {
                return Some((order, terms));
            }
            left = wanted.tolerance - rounding(terms);
        }
        None
    };
    // A few points show where there is no need to look at all.
    let least = least_radius(problem.points);
    if order(least).is_none() {
        return Err(too_small(least));
    }
    let region = Region::new(problem.points, wanted.targets, 0.0);
    let center = region.center();
    let own = radius(problem.points, &center);
    let radius = match wanted.targets {
        Targets::Known(queries) => own.max(radius(queries, &center)),
        Targets::Sources | Targets::Any => own,
    };
    let (order, terms) = order(radius).ok_or_else(|| too_small(radius))?;
    Ok(Candidate::Series { center, radius, order, terms, cost: problem.feature_cost(terms) })
}

/// More features than this are slower than tiles for any number of points that they fit beside.
const MOST_FEATURES: usize = 1 << 17;

/// Whether blocks of this many features fit the cache or at least the budget.
fn fits(problem: &Problem<'_>, terms: usize) -> bool {
    let bytes = 8 * terms as u64 * (super::features::BLOCK as u64 * 4 + 66 * problem.columns as u64);
    terms <= MOST_FEATURES && bytes <= problem.wanted.memory
}

fn grid(problem: &Problem<'_>, context: &Context<'_>) -> Result<std::result::Result<Candidate, String>> {
    let (wanted, d) = (problem.wanted, problem.points.n_features());
    if d > 3 {
        return Ok(Err(format!("a grid has at most 3 dimensions, the points have {d}")));
    }
    if problem.sources.max(problem.targets) > f64::from(u32::MAX) {
        return Ok(Err("there are too many points to number".to_owned()));
    }
    let kernel = match problem.kernel {
        // In one dimension the two distances are one.
        Kernel::Laplacian(_) => Kernel::exponential(problem.kernel.parameter(Parameter::Gamma).unwrap_or(1.0))?,
        kernel => kernel.clone(),
    };
    // Images count once in every direction; a tenth of the tolerance is theirs.
    let images = 0.1 * wanted.tolerance;
    let region = Region::new(problem.points, wanted.targets, 0.0);
    let longest = region.differences.iter().copied().fold(0.0, f64::max);
    let natural = reach(&kernel, images / 3.0_f64.powi(d as i32));
    let (mut best, mut refused): (Option<Candidate>, Option<u64>) = (None, None);
    for repeat in repeats(&kernel, natural, longest) {
        context.check()?;
        let region = region.clone().widened(wanted.targets, repeat.margin());
        let (found, too_much) = grid_of(problem, &kernel, repeat, (region, images), context)?;
        refused = refused.into_iter().chain(too_much).min();
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.cost() < best.cost())) {
            best = Some(found);
        }
    }
    Ok(best.ok_or_else(|| {
        if let Some(needed) = refused {
            return no_room(needed, wanted.memory);
        }
        let width = longest * problem.kernel.parameter(Parameter::Gamma).unwrap_or(1.0).sqrt();
        format!("over {width:.0} widths of the kernel, as far as the points extend, no grid that pays is exact enough")
    }))
}

/// Why a method cannot be used for which there is too little memory.
pub(super) fn no_room(needed: u64, left: u64) -> String {
    format!("it takes {} of memory, and {} are left", bytes(needed), bytes(left))
}

/// Ways to make a kernel periodic that are worth trying for points `longest` apart along the longest axis, if it has fallen off at `natural`.
fn repeats(kernel: &Kernel, natural: Option<f64>, longest: f64) -> Vec<Repeat> {
    /// Beyond so many extents a kernel is always better cut off.
    const FAR: f64 = 50.0;
    // A Gaussian that is as wide has few waves, however long its period is.
    if matches!(kernel, Kernel::Gaussian(_)) {
        return natural.map(Repeat::AsItIs).into_iter().collect();
    }
    let as_it_is = natural.filter(|&reach| longest == 0.0 || reach <= FAR * longest).map(Repeat::AsItIs);
    // Cutting it off takes twice the extent at least.
    let is_wide = natural.is_none_or(|reach| reach > longest);
    // Points that are all alike have no extent: half the kernel's height is at a length as good as any.
    let unit = if longest > 0.0 { longest } else { reach(kernel, 0.5).unwrap_or(1.0) };
    let cut_off = [0.5, 1.0, 2.0].into_iter().filter(|_| is_wide).map(|share| Repeat::CutOff(share * unit));
    as_it_is.into_iter().chain(cut_off).collect()
}

/// The cheapest grid for one way to make the kernel periodic, and the least memory that would be too much for one.
fn grid_of(
    problem: &Problem<'_>,
    kernel: &Kernel,
    repeat: Repeat,
    (region, images): (Region, f64),
    context: &Context<'_>,
) -> Result<(Option<Candidate>, Option<u64>)> {
    let wanted = problem.wanted;
    let longest = region.differences.iter().copied().fold(0.0, f64::max);
    let (length, farthest) = match repeat {
        Repeat::AsItIs(reach) => (longest + reach, f64::INFINITY),
        Repeat::CutOff(length) => {
            let farthest = region.differences.iter().map(|x| x * x).sum::<f64>().sqrt();
            // Points that are all alike are at no distance, at which a kernel's corner would not be seen.
            (2.0 * (longest + length), farthest.max(0.1 * length))
        }
    };
    let (mut best, mut too_much): (Option<Candidate>, Option<u64>) = (None, None);
    // Where narrow Gaussians are cut off: the grid grows with the cut, the neighbourhood shrinks.
    let cuts = (0..8).map(|i| (8.0 * 1.6_f64.powi(i) / length).powi(2));
    for cut in cuts {
        context.check()?;
        let Some(mixture) = Mixture::new(kernel, cut, 0.25 * wanted.tolerance, farthest) else { break };
        if mixture.nodes.is_empty() {
            continue;
        }
        let near = (mixture.near > 0.0).then(|| Near::new(kernel, &mixture, problem.points));
        let Some(near) = near.map_or(Some(None), |near| near.map(Some)) else { continue };
        let all = problem.sources + problem.targets;
        let slack = near.as_ref().map_or(0.0, Near::error);
        let plan = GridPlan::new(&mixture, &region, repeat, images, (all, problem.columns), wanted.tolerance - slack);
        let needed = plan.as_ref().map_or(0, |plan| plan.bytes(wanted.columns) + 64 * all as u64);
        if needed > wanted.memory {
            too_much = too_much.into_iter().chain([needed]).min();
        } else if let Some(mut plan) = plan {
            plan.bound += slack;
            let pairs = near.as_ref().map_or(0.0, |near| near.pairs(problem.targets));
            let cost = plan.cost + costs::neighbours(pairs, problem.columns);
            if best.as_ref().is_none_or(|best| cost < best.cost()) {
                best = Some(Candidate::Grid {
                    plan: Box::new(plan),
                    mixture: mixture.clone(),
                    near,
                    region: region.clone(),
                    cost,
                });
            }
        }
        // Smooth kernels are not cut.
        if mixture.near == 0.0 {
            break;
        }
    }
    Ok((best, too_much))
}

/// The distance beyond which a kernel of distances is below `value`; `None` if it never gets there.
fn reach(kernel: &Kernel, value: f64) -> Option<f64> {
    let mut far = 1.0_f64;
    while kernel.value(far * far) > value {
        far *= 2.0;
        if far > 1e150 {
            return None;
        }
    }
    let mut close = 0.0_f64;
    while far - close > 1e-6 * far && far > 1e-150 {
        let middle = 0.5 * (close + far);
        if kernel.value(middle * middle) > value { close = middle } else { far = middle }
    }
    Some(far)
}
