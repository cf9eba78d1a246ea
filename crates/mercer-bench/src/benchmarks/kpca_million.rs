//! How long does kernel PCA of a million points take, and how much memory?

use mercer::{GramChoice, Kernel, KernelPca, MemoryBudget};

use crate::cube::random_cube;
use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::memory::PeakMark;
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The ten leading centred Gaussian kernel principal components of a million uniform points in a cube, bandwidth 0.2 of its \
    side, to residual 1e-5 within 2 GB beyond the data; the plan finds the expansion by itself. Then scores of as many new points.";

const BANDWIDTH: f64 = 0.2;
const TOLERANCE: f64 = 1e-5;
const SECONDS_BAR: f64 = 60.0;
const MEMORY_BAR: f64 = 2e9;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let n = setup.size(1_000_000, 25_000);
    findings.setting("points", n);
    findings.setting("bandwidth", BANDWIDTH);
    findings.setting("tolerance", TOLERANCE);
    let points = random_cube(n, 3, 1)?;
    let pca = KernelPca::new(Kernel::gaussian(0.5 / (BANDWIDTH * BANDWIDTH))?)
        .n_components(10)
        .tolerance(TOLERANCE)
        .memory(MemoryBudget::Bytes(2_000_000_000))
        .threads(setup.options.threads);
    let contender = Contender::timed(format!("fit/n={n}"), || {
        let mark = PeakMark::set();
        let model = pca.fit(&points)?;
        Ok((model, mark.growth()))
    });
    let finished = alternate(vec![contender], setup.rounds(2))?;
    findings.timings(&finished);
    let (model, growth) = finished[0].answer();
    let record = model.record();
    findings.check(
        "whether the plan took tiles",
        f64::from(u8::from(record.gram != GramChoice::Expansion.name())),
        0.0,
    )?;
    let largest = model.residuals().iter().copied().fold(0.0, f64::max);
    findings.check("largest residual", largest, TOLERANCE)?;
    if let Some(expansion) = &record.expansion {
        findings.check("largest error of an entry that was looked at", expansion.measured_error, expansion.bound)?;
        // What the residual for the kernel's own matrix may be beyond that for the expansion's.
        let share = n as f64 * expansion.bound / model.eigenvalues()[0];
        findings.check("largest change of an eigenvalue by the expansion, over the first", share, TOLERANCE)?;
        findings.quantity(format!("terms of {}", expansion.method), expansion.terms as f64, "");
    }
    findings.quantity("passes", record.passes as f64, "");
    findings.quantity("products", record.products as f64, "");
    let seconds = Quantity::new(format!("fit/n={n}"), finished[0].best(), "s");
    findings.ratio("a fit to a minute", seconds, Quantity::new("a minute", SECONDS_BAR, "s"), Some(Bar::AtMost(1.0)));
    let growth = findings.quantity("peak growth of the fit", *growth as f64, "B");
    let bar = Quantity::new("two gigabytes", MEMORY_BAR, "B");
    findings.ratio("peak memory beyond the data to two gigabytes", growth, bar, Some(Bar::AtMost(1.0)));

    let queries = random_cube(n, 3, 2)?;
    let scores = Contender::timed(format!("transform/n={n}"), || Ok(model.transform(&queries)?));
    let finished = alternate(vec![scores], setup.rounds(2))?;
    findings.timings(&finished);
    Ok(())
}
