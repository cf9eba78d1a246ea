//! Which method: the cheapest that reaches the tolerance.
//!
//! Costs are predicted from the number of terms that the bound asks for, the shape of the data, and what a step of each method was
//! measured to take ([`costs`](super::costs)).

use super::candidates::{Candidate, Problem, candidate, no_room};
use super::certificate::tile_rounding;
use super::clusters::Clusters;
use super::grid::Grid;
use super::mixture::Mixture;
use super::near::Near;
use super::polynomial::Terms;
use super::region::Cover;
use super::{COLUMNS_AT_ONCE, Engine, Features, Wanted, series};
use crate::choices::ExpansionMethod;
use crate::data::Points;
use crate::error::{Error, Result};
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

/// What an expansion would be and cost, before it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prediction {
    /// The method.
    pub(crate) method: ExpansionMethod,
    /// Its terms.
    pub(crate) terms: usize,
    /// Nanoseconds of one thread for a product with all vectors.
    pub(crate) cost: f64,
    /// The same by tiles.
    pub(crate) direct: f64,
    /// Bytes that it takes beside points and vectors.
    pub(crate) bytes: u64,
}

/// Points from which on an expansion is looked for without anybody asking for one.
pub(crate) const LOOK_FROM_POINTS: usize = 20_000;
/// What it may cost then, as a share of what tiles cost.
const WORTH: f64 = 0.25;

impl Prediction {
    /// Whether it is taken without anybody asking for it.
    pub(crate) fn is_worth_while(&self) -> bool {
        self.cost <= WORTH * self.direct
    }
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
        Candidate::Clusters(plan) => (ExpansionMethod::Clusters, plan.terms),
        Candidate::Grid { plan, .. } => (ExpansionMethod::Grid, plan.nodes()),
    };
    let (cost, direct, bytes) = (best.cost(), problem.direct_cost(), best.bytes(&problem));
    Ok(Ok(Prediction { method, terms, cost, direct, bytes }))
}

/// The method that is wanted or the cheapest, or tiles with the reason why.
pub(super) fn choose(kernel: &Kernel, points: &Points, wanted: &Wanted<'_>, context: &Context<'_>) -> Result<Choice> {
    match pick(&Problem::new(kernel, points, wanted), context)? {
        Ok(best) => build(kernel, points, wanted, best, context),
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
                reasons.push(format!("{method}: {}", no_room(found.bytes(problem), wanted.memory)));
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
    let may_be_tiled = wanted.may_be_tiled && wanted.method == ExpansionMethod::Auto;
    if may_be_tiled
        && best.cost() > problem.direct_cost()
        && tile_rounding(problem.kernel, points, wanted.targets) <= wanted.tolerance
    {
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
        (Grid, kernel) => Mixture::knows(kernel),
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

/// Makes what was chosen.
fn build(
    kernel: &Kernel,
    points: &Points,
    wanted: &Wanted<'_>,
    best: Candidate,
    context: &Context<'_>,
) -> Result<Choice> {
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
            Choice::Fast(Box::new(fast), ExpansionMethod::Series, terms, order.bound + series::rounding(terms))
        }
        Candidate::Clusters(plan) => {
            let Some(clusters) = Clusters::new(&plan, points, context)? else {
                return Ok(Choice::Tiles("clusters: a point lies far from all others".to_owned()));
            };
            // The plan saw a sample of the points; all of them may take more terms.
            let needed = clusters.bytes(wanted.columns.min(COLUMNS_AT_ONCE));
            if needed > wanted.memory {
                return Ok(Choice::Tiles(format!("clusters: {}", no_room(needed, wanted.memory))));
            }
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
