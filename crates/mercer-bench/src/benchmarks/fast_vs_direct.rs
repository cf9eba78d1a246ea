//! From how many points on is an expansion faster than the direct product?
//!
//! As in figures 4 to 9 of Raykar and Ankur's report, carried on from two dimensions to eight.

use faer::Mat;
use mercer::expansion::{Expansion, Wanted};
use mercer::gram::{KernelGram, SymmetricOperator, slab_product};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{ExpansionMethod, Kernel, Points, Precision};

use crate::cube::random_cube;
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::record::{Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    One product with a vector, expansion against tiles in double precision, both set up and multiplied from scratch, for points \
    uniform in a cube of side 1 in 2 to 8 dimensions: polynomial kernels of degree 2 to 4, exactly, and the Gaussian of \
    bandwidth 1 to an error of 1e-6, by the series about one centre. The number of points is doubled until the expansion is \
    faster; every error is checked against its bound.";

const DIMENSIONS: [usize; 4] = [2, 3, 5, 8];
const DEGREES: [u32; 3] = [2, 3, 4];
const FIRST: usize = 125;
const LAST: usize = 64_000;
const TOLERANCE: f64 = 1e-6;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let last = setup.size(LAST, 500);
    findings.setting("points", last);
    findings.setting("dimensions", DIMENSIONS.to_vec());
    findings.setting("degrees", DEGREES.to_vec());
    let threads = Threads::new(setup.options.threads)?;
    let watch = Watch::new();
    let context = Context::new(&threads, &watch, Phase::Multiplying);
    for d in DIMENSIONS {
        for degree in DEGREES {
            let kernel = Kernel::polynomial(1.0, 1.0, degree)?;
            let name = format!("polynomial p={degree},d={d}");
            break_even(setup, findings, &context, &name, &kernel, ExpansionMethod::Polynomial, d, last)?;
        }
        let name = format!("gaussian d={d}");
        break_even(setup, findings, &context, &name, &Kernel::gaussian(0.5)?, ExpansionMethod::Series, d, last)?;
    }
    Ok(())
}

/// Doubles the number of points until the expansion is faster than tiles.
#[expect(clippy::too_many_arguments, reason = "one row of the table")]
fn break_even(
    setup: &Setup,
    findings: &mut Findings,
    context: &Context<'_>,
    name: &str,
    kernel: &Kernel,
    method: ExpansionMethod,
    d: usize,
    last: usize,
) -> Result<()> {
    let mut n = FIRST;
    loop {
        let points = random_cube(n, d, 5)?;
        let u = Mat::from_fn(n, 1, |i, _| ((i * 7919) % 1009) as f64 / 504.0 - 1.0);
        let wanted = Wanted { method, tolerance: TOLERANCE, ..Wanted::default() };
        let (fast, direct) = {
            let fast = Contender::timed(format!("{name},n={n}: expansion"), || {
                let expansion = Expansion::new(kernel, &points, &wanted, context)?;
                let mut product = Mat::zeros(n, 1);
                expansion.apply(u.as_ref(), product.as_mut(), context)?;
                Ok((product, expansion.bound() * expansion.scale(), expansion.terms()))
            });
            let direct = Contender::timed(format!("{name},n={n}: tiles"), || {
                let gram = KernelGram::<f64>::new(&points, kernel, None)?;
                let mut product = Mat::zeros(n, 1);
                gram.apply(u.as_ref(), product.as_mut(), context)?;
                Ok((product, 0.0, 0))
            });
            let mut finished = alternate(vec![fast, direct], setup.rounds(5))?;
            findings.timings(&finished);
            let direct = finished.pop().map(|finished| finished.best());
            (finished.remove(0), direct.unwrap_or(f64::NAN))
        };
        let (product, bound, terms) = fast.answer();
        let error = largest_error(kernel, &points, &u, product, context)?;
        findings.check(format!("{name},n={n}: error over the vector's sum"), error, *bound)?;
        if fast.best() < direct || n >= last {
            let faster = Quantity::new(format!("{name}: tiles at n={n}"), direct, "s");
            let own = Quantity::new(format!("{name}: expansion of {terms} terms at n={n}"), fast.best(), "s");
            findings.quantity(format!("{name}: break-even"), n as f64, "points");
            findings.ratio(format!("{name}: tiles to expansion at the break-even"), faster, own, None);
            return Ok(());
        }
        n *= 2;
    }
}

/// The largest error of some rows, relative to the sum of the vector's absolute values.
fn largest_error(
    kernel: &Kernel,
    points: &Points,
    u: &Mat<f64>,
    product: &Mat<f64>,
    context: &Context<'_>,
) -> Result<f64> {
    let rows: Vec<usize> = (0..points.n_samples()).step_by((points.n_samples() / 100).max(1)).collect();
    let sample = points.select(&rows);
    let exact = slab_product(kernel, &sample, points, u.as_ref(), Precision::F64, context)?;
    let worst = rows.iter().enumerate().map(|(i, &row)| (product[(row, 0)] - exact[(i, 0)]).abs()).fold(0.0, f64::max);
    Ok(worst / u.col(0).norm_l1())
}
