//! Is the method that is chosen for a product the cheapest?

use faer::Mat;
use mercer::expansion::{Expansion, Wanted};
use mercer::gram::{KernelGram, SymmetricOperator};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{ExpansionMethod, Kernel, Points};

use crate::cube::random_cube;
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    One product of the Gaussian kernel matrix of uniform points in a cube with a vector, to an error of 1e-6 of the sum of its absolute \
    values, by every method that can do it with at most 4e9 terms of all points and by tiles in double precision; and which of them is chosen without being asked for. Setting up is not timed. Products agree \
    with that of tiles within the bounds.";

/// Features, bandwidth over the side of the cube.
const CASES: [(usize, f64); 11] =
    [(1, 0.01), (2, 0.05), (2, 0.5), (3, 0.05), (3, 0.2), (3, 1.0), (4, 0.3), (4, 1.0), (5, 0.7), (6, 1.0), (8, 1.5)];
const TOLERANCE: f64 = 1e-6;
/// Terms times points beyond which a method is not even tried: tens of seconds, where tiles take one.
const MOST_FEATURES: usize = 4_000_000_000;
/// The chosen method's time to the shortest.
const CHOICE_BAR: f64 = 1.5;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let sizes = if setup.options.quick { vec![400] } else { vec![2000, 40_000] };
    findings.setting("points", sizes.clone());
    findings.setting("tolerance", TOLERANCE);
    let (threads, watch) = (Threads::new(setup.options.threads)?, Watch::new());
    let context = Context::new(&threads, &watch, Phase::Multiplying);
    for n in sizes {
        for (d, bandwidth) in CASES {
            case(setup, &random_cube(n, d, 7)?, bandwidth, findings, &context)?;
        }
    }
    Ok(())
}

fn case(setup: &Setup, points: &Points, bandwidth: f64, findings: &mut Findings, context: &Context<'_>) -> Result<()> {
    let (n, d) = (points.n_samples(), points.n_features());
    let label = format!("n={n},d={d},bandwidth={bandwidth}");
    let kernel = Kernel::gaussian(0.5 / (bandwidth * bandwidth))?;
    let wanted = |method: ExpansionMethod| Wanted { method, tolerance: TOLERANCE, ..Wanted::default() };
    let chosen = Expansion::new(&kernel, points, &wanted(ExpansionMethod::Auto), context)?.method();
    let mut engines: Vec<(&'static str, f64, Box<dyn SymmetricOperator>)> =
        vec![("tiled", 0.0, Box::new(KernelGram::<f64>::new(points, &kernel, None)?))];
    for method in [ExpansionMethod::Series, ExpansionMethod::Clusters, ExpansionMethod::Grid] {
        let expansion = Expansion::new(&kernel, points, &wanted(method), context)?;
        if !expansion.is_tiled() && expansion.terms() * n <= MOST_FEATURES {
            engines.push((expansion.method(), expansion.bound(), Box::new(expansion)));
        }
    }
    let u = Mat::from_fn(n, 1, |i, _| ((i * 7919) % 1009) as f64 / 504.0 - 1.0);
    let contenders = engines
        .iter()
        .map(|(method, _, engine)| {
            Contender::timed(format!("{method}/{label}"), || {
                let mut product = Mat::zeros(n, 1);
                engine.apply(u.as_ref(), product.as_mut(), context)?;
                Ok(product)
            })
        })
        .collect();
    let finished = alternate(contenders, setup.rounds(3))?;
    findings.timings(&finished);
    for ((method, bound, _), other) in engines.iter().zip(&finished).skip(1) {
        let error = (other.answer() - finished[0].answer()).norm_max() / u.col(0).norm_l1();
        findings.check(format!("error of a product/{method},{label}"), error, bound.max(1e-15 * n as f64))?;
    }
    let of_chosen = engines.iter().position(|(method, ..)| *method == chosen).unwrap_or(0);
    let best = (0..engines.len()).min_by(|&a, &b| finished[a].best().total_cmp(&finished[b].best())).unwrap_or(0);
    let quantity = |at: usize| Quantity::new(engines[at].0, finished[at].best(), "s");
    let what = format!("{label}: the method that is chosen to the fastest");
    findings.ratio(what, quantity(of_chosen), quantity(best), Some(Bar::AtMost(CHOICE_BAR)));
    Ok(())
}
