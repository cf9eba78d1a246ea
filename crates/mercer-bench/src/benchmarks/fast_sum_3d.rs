//! How long does one product with the kernel matrix of a million points take?
//!
//! The rival is our own tiled product in single precision, whose time is measured at a twentieth of the points and multiplied by
//! the square of what is missing.

use faer::Mat;
use mercer::expansion::{Expansion, Wanted};
use mercer::gram::{KernelGram, SymmetricOperator, slab_product};
use mercer::watch::{Context, Phase, Threads, Watch};
use mercer::{Kernel, Points, Precision};

use crate::cube::{random_cube, skin, whole_cube};
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    One product of the Gaussian kernel matrix of points in three dimensions with a vector, to an error of 1e-6 of the sum of the \
    vector's absolute values: uniform in a cube, two opposite corners among them so that it is the same cube for any number of points, and the colours of skin_segmentation, for bandwidths of 0.05, 0.2 and 1 of the \
    cube's side. Setting up (sorting the points, choosing and tabulating the grid) is timed apart. Tiled products, in single \
    precision, are timed at a twentieth of the points and extrapolated by the square.";

const BANDWIDTHS: [f64; 3] = [0.05, 0.2, 1.0];
const TOLERANCE: f64 = 1e-6;
/// Seconds of one product of a million points.
const SECONDS_BAR: f64 = 2.0;
/// How many times faster than tiles.
const TILES_BAR: f64 = 1000.0;
/// Time per point of the most points to that of a tenth of them.
const GROWTH_BAR: f64 = 1.2;
/// Rows that are computed directly.
const ROWS: usize = 32;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let n = setup.size(1_000_000, 4000);
    findings.setting("points", n);
    findings.setting("bandwidths", BANDWIDTHS.to_vec());
    findings.setting("tolerance", TOLERANCE);
    let threads = Threads::new(setup.options.threads)?;
    let watch = Watch::new();
    let case = Case { setup, context: Context::new(&threads, &watch, Phase::Multiplying) };
    let many = whole_cube(n, 3, 1)?;
    let fewer = whole_cube(n / 10, 3, 2)?;
    let few = whole_cube(n / 20, 3, 3)?;
    for bandwidth in BANDWIDTHS {
        let seconds = case.tiles(&few, bandwidth)?;
        let large = case.product(findings, "uniform", &many, bandwidth)?;
        let small = case.product(findings, "uniform", &fewer, bandwidth)?;
        let factor = (n as f64 / few.n_samples() as f64).powi(2);
        let tiled = Quantity::new(format!("tiled_f32/n={n} (extrapolated)"), seconds * factor, "s");
        findings.quantity(tiled.name.clone(), tiled.value, "s");
        let what = |what: &str| format!("bandwidth {bandwidth}: {what}");
        let bar = Quantity::new("two seconds", SECONDS_BAR, "s");
        findings.ratio(what("a product to two seconds"), large.clone(), bar, Some(Bar::AtMost(1.0)));
        findings.ratio(what("tiles to a product"), tiled, large.clone(), Some(Bar::AtLeast(TILES_BAR)));
        let share = |quantity: &Quantity, n: usize| {
            Quantity::new(format!("{} per million points", quantity.name), quantity.value * 1e6 / n as f64, "s")
        };
        let (most, least) = (share(&large, n), share(&small, n / 10));
        findings.ratio(
            what("time per point, all to a tenth of the points"),
            most,
            least,
            Some(Bar::AtMost(GROWTH_BAR)),
        );
    }
    let colours = if setup.options.quick { random_cube(3000, 3, 4)? } else { skin(setup)? };
    for bandwidth in BANDWIDTHS {
        case.product(findings, "skin_segmentation", &colours, bandwidth)?;
    }
    Ok(())
}

struct Case<'a> {
    setup: &'a Setup,
    context: Context<'a>,
}

fn kernel(bandwidth: f64) -> Result<Kernel> {
    Ok(Kernel::gaussian(0.5 / (bandwidth * bandwidth))?)
}

impl Case<'_> {
    /// Seconds of a product by an expansion, whose error is checked.
    fn product(&self, findings: &mut Findings, data: &str, points: &Points, bandwidth: f64) -> Result<Quantity> {
        let n = points.n_samples();
        let name = |what: &str| format!("{what}/{data},n={n},bandwidth={bandwidth}");
        let kernel = kernel(bandwidth)?;
        let wanted = Wanted { tolerance: TOLERANCE, ..Wanted::default() };
        let start = std::time::Instant::now();
        let expansion = Expansion::new(&kernel, points, &wanted, &self.context)?;
        findings.quantity(name("set_up"), start.elapsed().as_secs_f64(), "s");
        findings.quantity(name(&format!("terms of {}", expansion.method())), expansion.terms() as f64, "");
        let u = Mat::from_fn(n, 1, |i, _| ((i * 7919) % 1009) as f64 / 504.0 - 1.0);
        let mut product = Mat::zeros(n, 1);
        let contender = Contender::timed(name(expansion.method()), || {
            expansion.apply(u.as_ref(), product.as_mut(), &self.context)?;
            Ok(())
        });
        let finished = alternate(vec![contender], self.setup.rounds(5))?;
        findings.timings(&finished);
        let rows: Vec<usize> = (0..ROWS).map(|i| i * (n / ROWS)).collect();
        let sample = points.select(&rows);
        let exact = slab_product(&kernel, &sample, points, u.as_ref(), Precision::F64, &self.context)?;
        let error =
            rows.iter().enumerate().map(|(i, &row)| (product[(row, 0)] - exact[(i, 0)]).abs()).fold(0.0, f64::max);
        let measured = error / u.col(0).norm_l1();
        findings.check(name("error of a product, over the vector's sum"), measured, expansion.bound())?;
        findings.check(name("bound on every entry's error"), expansion.bound(), TOLERANCE)?;
        let entries = expansion.measure(1, &self.context)?;
        findings.check(name("largest error of an entry"), entries, expansion.bound())?;
        Ok(Quantity::new(finished[0].timing.name.clone(), finished[0].best(), "s"))
    }

    /// Seconds of a tiled product.
    fn tiles(&self, points: &Points, bandwidth: f64) -> Result<f64> {
        let gram = KernelGram::<f32>::new(points, &kernel(bandwidth)?, None)?;
        let u = Mat::full(points.n_samples(), 1, 1.0);
        let mut product = Mat::zeros(points.n_samples(), 1);
        let contender = Contender::timed(format!("tiled_f32/n={},bandwidth={bandwidth}", points.n_samples()), || {
            gram.apply(u.as_ref(), product.as_mut(), &self.context)?;
            Ok(())
        });
        Ok(alternate(vec![contender], self.setup.rounds(3))?[0].best())
    }
}
