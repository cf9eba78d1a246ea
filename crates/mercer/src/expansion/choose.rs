//! Which method: the cheapest that reaches the tolerance.
//!
//! Costs are predicted in multiply-adds, from the number of terms that the bound asks for and from the shape of the data. The
//! constants count operations; they have not been calibrated by measurements, so near a break-even the choice may be the slower one.
//! It never touches the error, which has a bound whatever the method.

use super::clusters::{ClusterPlan, Clusters};
use super::grid::{Grid, GridPlan};
use super::mixture::Mixture;
use super::near::Near;
use super::polynomial::Terms;
use super::region::{Cover, Region, least_radius, radius};
use super::series::{self, Order};
use super::{Engine, Features, Monomials, Targets, Wanted};
use crate::choices::ExpansionMethod;
use crate::data::Points;
use crate::error::{Error, Result, bytes};
use crate::kernel::{Kernel, Pairing, Parameter};
use crate::watch::Context;

/// An engine and what belongs to it.
pub(super) struct Fast {
    pub(super) engine: Box<dyn Engine>,
    pub(super) cover: Cover,
    /// What is computed directly between neighbours.
    pub(super) near: Option<Near>,
    /// The engine again, if it has explicit features.
    pub(super) features: Option<Features>,
}

/// What is going to be used.
pub(super) enum Choice {
    /// An engine, its method, its terms and its bound.
    Fast(Box<Fast>, ExpansionMethod, usize, f64),
    /// Tiles, and why.
    Tiles(String),
}

/// A method that reaches the tolerance, before anything is computed with it.
enum Candidate {
    Polynomial { features: Features, bound: f64, cost: f64 },
    Series { center: Vec<f64>, radius: f64, order: Order, terms: usize, cost: f64 },
    Clusters(Box<ClusterPlan>),
    Grid { plan: Box<GridPlan>, mixture: Mixture, near: Option<Near>, region: Region, cost: f64 },
}

impl Candidate {
    /// Bytes that it takes beside points and vectors.
    fn bytes(&self, problem: &Problem<'_>) -> u64 {
        let columns = problem.wanted.columns as u64;
        // A block of features per thread, and the sums of chunks.
        let blocks = |terms: usize| 8 * terms as u64 * (64 * columns + 4096);
        let own = 8 * problem.points.n_samples() as u64;
        match self {
            Self::Polynomial { features, .. } => blocks(features.terms()),
            Self::Series { terms, .. } => blocks(*terms),
            // Coordinates in another order, the order, and the nearest centre of each point with its distance.
            Self::Clusters(_) => own * (3 + problem.points.n_features() as u64),
            // Places of three coordinates and an order; cells of neighbours take as much again.
            Self::Grid { plan, near, .. } => {
                plan.bytes(problem.wanted.columns) + if near.is_some() { 9 * own } else { 5 * own }
            }
        }
    }

    fn cost(&self) -> f64 {
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
    fn new(kernel: &'a Kernel, points: &'a Points, wanted: &'a Wanted<'a>) -> Self {
        let sources = points.n_samples() as f64;
        let targets = match wanted.targets {
            Targets::Sources | Targets::Any => sources,
            Targets::Known(queries) => queries.n_samples() as f64,
        };
        Self { kernel, points, wanted, sources, targets, columns: wanted.columns.max(1) as f64 }
    }

    /// Multiply-adds of a product by tiles.
    fn direct_cost(&self) -> f64 {
        let entries = match self.wanted.targets {
            Targets::Sources => 0.5 * self.sources * self.targets,
            _ => self.sources * self.targets,
        };
        entries * (self.points.n_features() as f64 + 24.0) + self.sources * self.targets * self.columns
    }

    /// Multiply-adds of sums over `terms` features of every point.
    fn feature_cost(&self, terms: usize) -> f64 {
        (self.sources + self.targets) * terms as f64 * (self.columns + 3.0)
    }
}

/// What an expansion would be and cost, before it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prediction {
    /// The method.
    pub(crate) method: ExpansionMethod,
    /// Its terms.
    pub(crate) terms: usize,
    /// Multiply-adds of a product with all vectors.
    pub(crate) cost: f64,
    /// The same by tiles.
    pub(crate) direct: f64,
    /// Bytes that it takes beside points and vectors.
    pub(crate) bytes: u64,
}

/// What [`choose`] would come to; why tiles, if it is they.
pub(super) fn predict(
    kernel: &Kernel,
    points: &Points,
    wanted: &Wanted<'_>,
    context: &Context<'_>,
) -> Result<std::result::Result<Prediction, String>> {
    let problem = Problem::new(kernel, points, wanted);
    let best = match pick(&problem, context)? {
        Ok(best) => best,
        Err(reason) => return Ok(Err(reason)),
    };
    let (method, terms) = match &best {
        Candidate::Polynomial { features, .. } => (ExpansionMethod::Polynomial, features.terms()),
        Candidate::Series { terms, .. } => (ExpansionMethod::Series, *terms),
        Candidate::Clusters(_) => (ExpansionMethod::Clusters, 0),
        Candidate::Grid { plan, .. } => (ExpansionMethod::Grid, plan.nodes()),
    };
    let (cost, direct, bytes) = (best.cost(), problem.direct_cost(), best.bytes(&problem));
    Ok(Ok(Prediction { method, terms, cost, direct, bytes }))
}

/// The method that is wanted or the cheapest, or tiles with the reason why.
pub(super) fn choose(kernel: &Kernel, points: &Points, wanted: &Wanted<'_>, context: &Context<'_>) -> Result<Choice> {
    match pick(&Problem::new(kernel, points, wanted), context)? {
        Ok(best) => build(kernel, points, best, context),
        Err(reason) => Ok(Choice::Tiles(reason)),
    }
}

/// The candidate that is wanted or the cheapest, or why tiles are better.
fn pick(problem: &Problem<'_>, context: &Context<'_>) -> Result<std::result::Result<Candidate, String>> {
    let (points, wanted) = (problem.points, problem.wanted);
    let methods = suitable(problem.kernel, points.n_features(), wanted.method)?;
    let mut best: Option<Candidate> = None;
    let mut reasons = Vec::new();
    for method in methods {
        context.check()?;
        match candidate(problem, method, context)? {
            Ok(found) if found.bytes(problem) > wanted.memory => {
                let (needed, left) = (bytes(found.bytes(problem)), bytes(wanted.memory));
                reasons.push(format!("{method}: it takes {needed} of memory, and {left} are left"));
            }
            Ok(found) => {
                if best.as_ref().is_none_or(|best| found.cost() < best.cost()) {
                    best = Some(found);
                }
            }
            Err(reason) => reasons.push(format!("{method}: {reason}")),
        }
    }
    let Some(best) = best else { return Ok(Err(reasons.join("; "))) };
    if wanted.may_be_tiled && wanted.method == ExpansionMethod::Auto && best.cost() > problem.direct_cost() {
        return Ok(Err(format!("for {} points they cost less", points.n_samples())));
    }
    Ok(Ok(best))
}

/// Whether any method knows a kernel.
pub(super) fn knows(kernel: &Kernel, d: usize) -> bool {
    suitable(kernel, d, ExpansionMethod::Auto).is_ok()
}

/// The methods that know a kernel, of those that are wanted.
fn suitable(kernel: &Kernel, d: usize, wanted: ExpansionMethod) -> Result<Vec<ExpansionMethod>> {
    use ExpansionMethod::{Auto, Clusters, Grid, Polynomial, Series};
    let knows = |method: ExpansionMethod| match (method, kernel) {
        (Polynomial, Kernel::Linear(_) | Kernel::Polynomial(_)) | (Series | Clusters, Kernel::Gaussian(_)) => true,
        (Grid, Kernel::Laplacian(_)) => d == 1,
        (Grid, kernel) => Mixture::new(kernel, 1.0, 1e-3).is_some(),
        _ => false,
    };
    let found: Vec<_> = [Polynomial, Series, Clusters, Grid]
        .into_iter()
        .filter(|&method| knows(method) && (wanted == Auto || wanted == method))
        .collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let reason = match (wanted, kernel.pairing()) {
        (_, Some(Pairing::ManhattanDistance)) => "only in one dimension is it a function of the Euclidean distance",
        (Auto, _) => "there is one for polynomial kernels and for kernels that fall with the distance",
        (Polynomial, _) => "method \"polynomial\" is for the linear and polynomial kernels",
        (Series | Clusters, _) => "methods \"series\" and \"clusters\" are for the gaussian kernel",
        (Grid, _) => "method \"grid\" is for the gaussian, matern, exponential and rational-quadratic kernels",
    };
    Err(Error::UnsuitableKernel { what: "an expansion", kernel: kernel.name().to_owned(), reason })
}

/// A method for the problem, or why it cannot be used.
fn candidate(
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
        format!("the points reach {bandwidths:.1} bandwidths or more from their centre, which takes too many terms")
    };
    let order = |radius: f64| {
        let order = Order::for_radius(gamma, radius, wanted.tolerance)?;
        let terms = Monomials::count(d, order.terms - 1).filter(|&terms| fits(problem, terms))?;
        Some((order, terms))
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
    let Some(reach) = reach(&kernel, images / 3.0_f64.powi(d as i32)) else {
        return Ok(Err("the kernel falls too slowly to be repeated periodically".to_owned()));
    };
    let region = Region::new(problem.points, wanted.targets, reach);
    let longest = region.differences.iter().copied().fold(0.0, f64::max);
    let mut best: Option<Candidate> = None;
    // Where narrow Gaussians are cut off: the grid grows with the cut, the neighbourhood shrinks.
    let cuts = (0..8).map(|i| (8.0 * 1.6_f64.powi(i) / (longest + reach)).powi(2));
    for cut in cuts {
        context.check()?;
        let Some(mixture) = Mixture::new(&kernel, cut, 0.25 * wanted.tolerance) else { break };
        if mixture.nodes.is_empty() {
            continue;
        }
        let near = (mixture.near > 0.0).then(|| Near::new(&kernel, &mixture, problem.points));
        let Some(near) = near.map_or(Some(None), |near| near.map(Some)) else { continue };
        let all = problem.sources + problem.targets;
        let slack = near.as_ref().map_or(0.0, Near::error);
        let plan = GridPlan::new(&mixture, &region, reach, images, all, wanted.tolerance - slack);
        if let Some(mut plan) = plan.filter(|plan| plan.bytes(wanted.columns) + 64 * all as u64 <= wanted.memory) {
            plan.bound += slack;
            let pairs = near.as_ref().map_or(0.0, |near| near.pairs(problem.targets));
            let cost = plan.cost * problem.columns + pairs * (40.0 + problem.columns);
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
    Ok(best.ok_or_else(|| {
        let width = longest * problem.kernel.parameter(Parameter::Gamma).unwrap_or(1.0).sqrt();
        format!("the points extend over {width:.0} widths of the kernel, which takes too large a grid")
    }))
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

/// Makes what was chosen.
fn build(kernel: &Kernel, points: &Points, best: Candidate, context: &Context<'_>) -> Result<Choice> {
    let gamma = kernel.parameter(Parameter::Gamma).unwrap_or(1.0);
    let fast = |engine: Box<dyn Engine>, cover: Cover| Fast { engine, cover, near: None, features: None };
    Ok(match best {
        Candidate::Polynomial { features, bound, .. } => {
            let again = Terms::of(kernel).map(|terms| terms.features(points.n_features())).transpose()?;
            let terms = features.terms();
            let fast = Fast { features: again, ..fast(Box::new(features), Cover::Everything) };
            Choice::Fast(Box::new(fast), ExpansionMethod::Polynomial, terms, bound)
        }
        Candidate::Series { center, radius, order, terms, .. } => {
            let features = series::features(gamma, center.clone(), order.terms)?;
            let again = series::features(gamma, center.clone(), order.terms)?;
            let cover = Cover::Ball { center, radius };
            let fast = Fast { features: Some(again), ..fast(Box::new(features), cover) };
            // Rounding is never less than this.
            Choice::Fast(Box::new(fast), ExpansionMethod::Series, terms, order.bound.max(64.0 * f64::EPSILON))
        }
        Candidate::Clusters(plan) => {
            let Some(clusters) = Clusters::new(&plan, points, context)? else {
                return Ok(Choice::Tiles("clusters: a point lies far from all others".to_owned()));
            };
            let (terms, bound) = (clusters.terms(), clusters.bound());
            Choice::Fast(Box::new(fast(Box::new(clusters), Cover::Everything)), ExpansionMethod::Clusters, terms, bound)
        }
        Candidate::Grid { plan, mixture, near, region, .. } => {
            let (terms, bound) = (plan.nodes(), plan.bound);
            let grid = Grid::new(*plan, &mixture, context);
            let cover = Cover::Box { low: region.low, high: region.high };
            let fast = Fast { near, ..fast(Box::new(grid), cover) };
            Choice::Fast(Box::new(fast), ExpansionMethod::Grid, terms, bound)
        }
    })
}
