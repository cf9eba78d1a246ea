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
use crate::plot::{self, Axis, Panel, Series, Vertical};
use crate::record::{Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    One product with a vector, expansion against tiles in double precision, both set up and multiplied from scratch, for points \
    uniform in a cube of side 1 in 2 to 8 dimensions: polynomial kernels of degree 2 to 4, exactly, and the Gaussian of \
    bandwidth 1 to an error of 1e-6, by the series about one centre. The number of points is doubled until the expansion is \
    faster; the picture shows that number over the dimension. Every error is checked against its bound.";

const DIMENSIONS: std::ops::RangeInclusive<usize> = 2..=8;
const DEGREES: [u32; 3] = [2, 3, 4];
const FIRST: usize = 125;
const LAST: usize = 64_000;
const TOLERANCE: f64 = 1e-6;
/// How quantities that the picture shows are called, after their kernel and dimension.
const BREAK_EVEN: &str = ": break-even";

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let last = setup.size(LAST, 500);
    findings.setting("points", last);
    findings.setting("dimensions", DIMENSIONS.collect::<Vec<_>>());
    findings.setting("degrees", DEGREES.to_vec());
    let threads = Threads::new(setup.options.threads)?;
    let watch = Watch::new();
    let context = Context::new(&threads, &watch, Phase::Multiplying);
    for d in DIMENSIONS {
        for degree in DEGREES {
            let (kernel, method) = (Kernel::polynomial(1.0, 1.0, degree)?, ExpansionMethod::Polynomial);
            let name = format!("polynomial p={degree},d={d}");
            Case { setup, context, name, kernel, method, d }.break_even(findings, last)?;
        }
        let (kernel, method) = (Kernel::gaussian(0.5)?, ExpansionMethod::Series);
        Case { setup, context, name: format!("gaussian d={d}"), kernel, method, d }.break_even(findings, last)?;
    }
    Ok(())
}

/// The break-even over the dimension, one line per kernel, as the record has it.
pub(super) fn picture(findings: &Findings) -> String {
    let mut series: Vec<Series> = Vec::new();
    for quantity in &findings.quantities {
        let Some((kernel, d)) = quantity.name.strip_suffix(BREAK_EVEN).and_then(|name| name.rsplit_once("d=")) else {
            continue;
        };
        let (kernel, Ok(d)) = (kernel.trim_end_matches([',', ' ']), d.parse::<f64>()) else { continue };
        let place = (d, quantity.value);
        match series.iter_mut().find(|line| line.name == kernel) {
            Some(line) => line.places.push(place),
            None => series.push(Series { name: kernel.to_owned(), places: vec![place] }),
        }
    }
    let panel = Panel {
        title: "Points from which on an expansion is faster than tiles".to_owned(),
        x_label: "dimension".to_owned(),
        axis: Axis::Linear,
        vertical: Vertical::PowersOfTen,
        series,
    };
    plot::picture(&[panel], 1)
}

/// A kernel and its expansion in some dimension.
struct Case<'a> {
    setup: &'a Setup,
    context: Context<'a>,
    name: String,
    kernel: Kernel,
    method: ExpansionMethod,
    d: usize,
}

impl Case<'_> {
    /// Doubles the number of points until the expansion is faster than tiles, and still is at twice as many.
    fn break_even(&self, findings: &mut Findings, last: usize) -> Result<()> {
        let name = &self.name;
        let mut faster = None;
        let mut n = FIRST;
        while n <= last {
            let (expansion, tiles) = self.both(findings, n)?;
            let is_faster = expansion.value < tiles.value;
            if is_faster && faster.is_some() {
                break;
            }
            faster = is_faster.then_some((n, expansion, tiles));
            n *= 2;
        }
        if let Some((n, expansion, tiles)) = faster {
            findings.quantity(format!("{name}{BREAK_EVEN}"), n as f64, "points");
            let what = format!("{name}: tiles to expansion at the break-even, {n} points");
            findings.ratio(what, tiles, expansion, None);
        } else {
            findings.note(format!("{name}: tiles are faster up to {last} points"));
        }
        Ok(())
    }

    /// The best times of the expansion and of tiles for `n` points, after a look at the error.
    fn both(&self, findings: &mut Findings, n: usize) -> Result<(Quantity, Quantity)> {
        let Self { setup, context, name, kernel, .. } = self;
        let points = random_cube(n, self.d, 5)?;
        let u = Mat::from_fn(n, 1, |i, _| ((i * 7919) % 1009) as f64 / 504.0 - 1.0);
        let wanted = Wanted { method: self.method, tolerance: TOLERANCE, ..Wanted::default() };
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
        let finished = alternate(vec![fast, direct], setup.rounds(5))?;
        findings.timings(&finished);
        let (product, bound, terms) = finished[0].answer();
        let error = largest_error(kernel, &points, &u, product, context)?;
        findings.check(format!("{name},n={n}: error over the vector's sum"), error, *bound)?;
        let expansion = format!("{name}: expansion of {terms} terms at n={n}");
        let tiles = format!("{name}: tiles at n={n}");
        Ok((Quantity::new(expansion, finished[0].best(), "s"), Quantity::new(tiles, finished[1].best(), "s")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_has_a_line_for_every_kernel_that_broke_even() {
        let mut findings = Findings::default();
        for (name, n) in [("polynomial p=2,d=2", 125.0), ("gaussian d=2", 250.0), ("polynomial p=2,d=3", 500.0)] {
            findings.quantity(format!("{name}{BREAK_EVEN}"), n, "points");
        }
        findings.quantity("something else", 1.0, "s");
        let svg = picture(&findings);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count()), (2, 3));
        assert!(svg.contains(">polynomial p=2</text>") && svg.contains(">gaussian</text>"), "{svg}");
    }
}
