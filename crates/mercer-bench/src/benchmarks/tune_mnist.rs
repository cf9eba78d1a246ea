//! How long does it take to find a bandwidth for all of MNIST, and is it right?

use mercer::Watch;
use mercer::kernel::KernelSpec;
use mercer::tune::{KernelTuner, TuneMethod};
use mercer::watch::Threads;

use crate::failure::Result;
use crate::harness::{Contender, alternate};
use crate::points_file::{Digits, Part};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The best bandwidth of a Gaussian kernel for all 60000 digits of MNIST, from bytes: by sampling, until twice its standard error is within \
    1 % of it; and over all pairs, between bandwidths a tenth below and above what sampling found.";

/// Half the width of the interval, relative.
const TOLERANCE: f64 = 0.01;
const SECONDS_BAR: f64 = 5.0;
/// Standard errors that the exact answer may be away.
const ERRORS_LIMIT: f64 = 2.0;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let n = setup.points(60_000, 2000);
    let points = Digits::prepare(setup, Part::Train, n)?.u8.load()?;
    findings.setting("points", n);
    findings.setting("tolerance", TOLERANCE);
    findings.setting("data", if setup.options.quick { "made-up pictures" } else { "MNIST, training part" });
    let threads = Threads::new(setup.options.threads)?;
    let tuner = KernelTuner::new(KernelSpec::new("gaussian"));
    let sampled = tuner.clone().method(TuneMethod::Sampled).tolerance(TOLERANCE);
    let run =
        Contender::timed(format!("sampled/n={n}"), || Ok(sampled.tune_watched(&points, &threads, &Watch::new())?));
    let finished = alternate(vec![run], setup.rounds(3))?;
    findings.timings(&finished);
    let found = finished[0].answer().clone();
    let seconds = Quantity::from(&finished[0]);

    let best = found.best_bandwidth;
    let exact = tuner.method(TuneMethod::Exact).tolerance(1e-4).bandwidths([0.9 * best, best, 1.1 * best]);
    let run = Contender::timed(format!("exact/n={n}"), || Ok(exact.tune_watched(&points, &threads, &Watch::new())?));
    let finished = alternate(vec![run], setup.rounds(1))?;
    findings.timings(&finished);
    let exact = finished[0].answer();
    let errors = (best - exact.best_bandwidth).abs() / found.standard_error;
    findings.check("standard errors between sampled and exact bandwidth", errors, ERRORS_LIMIT)?;
    findings.quantity("sampled bandwidth", best, "");
    findings.quantity("its standard error", found.standard_error, "");
    findings.quantity("exact bandwidth", exact.best_bandwidth, "");
    findings.quantity("pairs that were sampled", found.pairs as f64, "");
    let limit = Quantity::new("five seconds", SECONDS_BAR, "s");
    findings.ratio("sampling to five seconds", seconds, limit, Some(Bar::AtMost(1.0)));
    Ok(())
}
