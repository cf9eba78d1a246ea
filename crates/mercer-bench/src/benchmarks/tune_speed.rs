//! What does a scan over many bandwidths cost, beside one pass, and beside an eigendecomposition per step?

use faer::{Mat, Side};
use mercer::kernel::KernelSpec;
use mercer::tune::{Ascent, Criterion, KernelTuner, Parameters, Scan, TuneMethod};
use mercer::watch::Threads;
use mercer::{Points, Precision, Watch};

use crate::failure::{Failure, Result};
use crate::harness::{Contender, alternate};
use crate::record::{Bar, Findings, Quantity};
use crate::setup::Setup;
use crate::usps;

/// For the page of results.
pub(super) const QUESTION: &str = "\
    The criterion for the width of a Gaussian kernel on USPS digits, exact. First all 7291 x 256 of the training part in single precision, packed beforehand: a \
    tiled pass that gives value and derivative at 64 bandwidths against one that gives them at one bandwidth; and the whole call with 64 bandwidths, which looks \
    at distances and at what rounding does before its pass. The values must be those of double precision. Then the first hundred of each digit (1000 x 256) in double \
    precision, the whole search for the best bandwidth against two that decompose the centred matrix at every step: one that \
    brackets and takes secants in the logarithm of the bandwidth, which is timed; and the ascent as published, with its step of \
    10000 times the slope from the middle of its range of starts, whose steps to the best bandwidth are counted by sums over pairs \
    (the iterates are the same) and cost what the first's do.";

/// Bandwidths of the scan, `2^(1/8)` apart: a factor of 256 in all.
const BANDWIDTHS: usize = 64;
const SCAN_BAR: f64 = 2.0;
const EIGEN_BAR: f64 = 100.0;
/// The published ascent: its step, the middle of its starts, and when it is given up.
const PUBLISHED_ETA: f64 = 10_000.0;
const PUBLISHED_START: f64 = 10.5;
const PUBLISHED_STEPS: usize = 4000;
/// The best bandwidth of all searches, relative.
const OPTIMUM_LIMIT: f64 = 1e-6;
/// The value at a bandwidth, alone and beside 63 others, in single precision.
const VALUE_LIMIT: f64 = 1e-5;
/// Values in both precisions, relative to the highest; slopes by the logarithm of the bandwidth.
const PRECISION_LIMIT: f64 = 1e-4;

pub(super) fn measure(setup: &Setup, findings: &mut Findings) -> Result<()> {
    findings.setting("bandwidths", BANDWIDTHS);
    scan(setup, findings)?;
    search(setup, findings)
}

fn scan(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let pictures = usps::all(setup, 400)?;
    let n = pictures.len() / usps::PIXELS;
    findings.setting("points", n);
    let points = Points::from_f32(pictures, n, usps::PIXELS)?;
    let threads = Threads::new(setup.options.threads)?;
    let spec = KernelSpec::new("gaussian");
    let tuner = KernelTuner::new(spec.clone()).method(TuneMethod::Exact);
    let center = tuner.clone().criterion(Criterion::Median).tune(&points)?.best_bandwidth;
    let bandwidths: Vec<f64> = (0..BANDWIDTHS).map(|j| center * 2.0_f64.powf((j as f64 - 32.0) / 8.0)).collect();
    let watch = Watch::new();
    let passes = Scan::new(&points, &spec, Precision::F32, &threads)?;
    let finished = alternate(
        vec![
            Contender::timed(format!("pass, one bandwidth/n={n}"), || {
                Ok(passes.at(&bandwidths[32..33], &threads, &watch)?)
            }),
            Contender::timed(format!("pass, {BANDWIDTHS} bandwidths/n={n}"), || {
                Ok(passes.at(&bandwidths, &threads, &watch)?)
            }),
        ],
        setup.rounds(7),
    )?;
    findings.timings(&finished);
    let (one, all) = (finished[0].answer(), finished[1].answer());
    let off = (one[0].value / all[32].value - 1.0).abs();
    findings.check("value at one bandwidth, alone and beside others", off, VALUE_LIMIT)?;
    let double = Scan::new(&points, &spec, Precision::F64, &threads)?.at(&bandwidths, &threads, &watch)?;
    let highest = double.iter().map(|point| point.value).fold(0.0, f64::max);
    let largest = |of: &dyn Fn(&Parameters, f64) -> f64| {
        let pairs = all.iter().zip(&double).zip(&bandwidths);
        pairs.map(|((a, b), &sigma)| (of(a, sigma) - of(b, sigma)).abs() / highest).fold(0.0, f64::max)
    };
    findings.check("values in both precisions", largest(&|point, _| point.value), PRECISION_LIMIT)?;
    let slopes = largest(&|point, sigma| sigma * point.gradient[0]);
    findings.check("slopes in both precisions", slopes, PRECISION_LIMIT)?;
    findings.ratio("pass with 64 bandwidths to pass with one", &finished[1], &finished[0], Some(Bar::AtMost(SCAN_BAR)));
    // Brackets count as found: what is timed is the scan alone, with all that surrounds it.
    let whole = tuner.tolerance(0.99).bandwidths(bandwidths);
    let run = Contender::timed(format!("whole call, {BANDWIDTHS} bandwidths/n={n}"), || {
        Ok(whole.tune_watched(&points, &threads, &watch)?)
    });
    let called = alternate(vec![run], setup.rounds(3))?;
    findings.timings(&called);
    findings.ratio("whole call to its pass, 64 bandwidths", &called[0], &finished[1], None);
    Ok(())
}

fn search(setup: &Setup, findings: &mut Findings) -> Result<()> {
    let each = setup.size(100, 6);
    let pictures: Vec<f64> = usps::first_of_each_digit(setup, each)?.into_iter().map(f64::from).collect();
    let n = 10 * each;
    let points = Points::from_f64(pictures, n, usps::PIXELS)?;
    let threads = Threads::new(setup.options.threads)?;
    let tuner = KernelTuner::new(KernelSpec::new("gaussian"));
    let ours = Contender::timed(format!("search/n={n}"), || {
        let found = tuner.tune_watched(&points, &threads, &Watch::new())?;
        Ok((found.best_bandwidth, found.passes))
    });
    let theirs = Contender::timed(format!("eigendecomposition per step/n={n}"), || by_eigenvectors(&points));
    let finished = alternate(vec![theirs, ours], setup.rounds(2))?;
    findings.timings(&finished);
    let ((theirs, steps), (ours, passes)) = (*finished[0].answer(), *finished[1].answer());
    findings.check("best bandwidth of both searches", (ours / theirs - 1.0).abs(), OPTIMUM_LIMIT)?;
    findings.quantity("best bandwidth", ours, "");
    findings.quantity("steps with an eigendecomposition", steps as f64, "");
    findings.quantity("passes of the search", passes as f64, "");
    let (slow, fast) = (Quantity::from(&finished[0]), Quantity::from(&finished[1]));
    let step = slow.value / steps as f64;
    findings.ratio("eigendecomposition per step, by secants, to the search", slow, fast.clone(), None);
    let ascent = Ascent::new(PUBLISHED_START, PUBLISHED_ETA).steps(PUBLISHED_STEPS);
    let path = ascent.run_watched(&points, &threads, &Watch::new())?;
    let off = |sigma: &f64| (sigma / ours - 1.0).abs();
    // The first step that is there, or the last one, which the check then refuses.
    let taken = path.iter().position(|sigma| off(sigma) <= OPTIMUM_LIMIT).map_or(path.len(), |last| last + 1);
    let end = path.get(taken.saturating_sub(1)).map_or(f64::INFINITY, off);
    findings.check("best bandwidth of the published ascent", end, OPTIMUM_LIMIT)?;
    findings.quantity("steps of the published ascent", taken as f64, "");
    let name = "eigendecomposition per step, as published (steps counted)";
    let published = Quantity::new(name, step * taken as f64, "s");
    findings.ratio("the published ascent to the search", published, fast, Some(Bar::AtLeast(EIGEN_BAR)));
    Ok(())
}

/// The best bandwidth and the steps it took, with derivatives of all eigenvalues from all eigenvectors.
fn by_eigenvectors(points: &Points) -> Result<(f64, usize)> {
    let n = points.n_samples();
    let rows: Vec<Vec<f64>> = (0..n).map(|i| points.row(i)).collect();
    let x = Mat::from_fn(n, points.n_features(), |i, k| rows[i][k]);
    let inner = &x * x.transpose();
    let squared = Mat::from_fn(n, n, |i, j| (inner[(i, i)] + inner[(j, j)] - 2.0 * inner[(i, j)]).max(0.0));
    let mut steps = 0;
    let mut slope = |log: f64| -> Result<f64> {
        steps += 1;
        let sigma = log.exp();
        let mut gram = Mat::from_fn(n, n, |i, j| (-0.5 * squared[(i, j)] / (sigma * sigma)).exp());
        let mut derivative = Mat::from_fn(n, n, |i, j| gram[(i, j)] * squared[(i, j)] / sigma.powi(3));
        center(&mut gram);
        center(&mut derivative);
        let parts = gram.self_adjoint_eigen(Side::Lower).map_err(|_| Failure::WrongAnswer {
            what: "an eigendecomposition failed".to_owned(),
            found: f64::NAN,
            limit: 0.0,
        })?;
        let vectors = parts.U();
        let images = &derivative * vectors;
        let mu: Vec<f64> = parts.S().column_vector().iter().copied().collect();
        let mean = mu.iter().sum::<f64>() / n as f64;
        let dot = |k: usize| vectors.col(k).iter().zip(images.col(k).iter()).map(|(a, b)| a * b).sum::<f64>();
        // Equation (24), by the logarithm of the bandwidth.
        Ok(sigma * 2.0 / (n as f64).powi(3) * (0..n).map(|k| (mu[k] - mean) * dot(k)).sum::<f64>())
    };
    // From the mean distance in the direction of the slope, until it changes sign; then the Illinois method.
    let mean = (0..n).map(|i| squared.col(i).iter().sum::<f64>()).sum::<f64>() / (n * n) as f64;
    let mut a = (mean.sqrt().ln(), 0.0);
    a.1 = slope(a.0)?;
    let mut b = a;
    while b.1 * a.1 >= 0.0 {
        a = b;
        b.0 += 0.3 * a.1.signum();
        b.1 = slope(b.0)?;
    }
    while (b.0 - a.0).abs() > 1e-8 {
        let middle = (a.0 * b.1 - b.0 * a.1) / (b.1 - a.1);
        let found = slope(middle)?;
        if found.abs() < 1e-16 {
            return Ok((middle.exp(), steps));
        }
        if found * b.1 < 0.0 {
            a = b;
        } else {
            a.1 *= 0.5;
        }
        b = (middle, found);
    }
    Ok((b.0.exp(), steps))
}

fn center(matrix: &mut Mat<f64>) {
    let n = matrix.nrows();
    let means: Vec<f64> = (0..n).map(|j| matrix.col(j).iter().sum::<f64>() / n as f64).collect();
    let grand = means.iter().sum::<f64>() / n as f64;
    for j in 0..n {
        for i in 0..n {
            matrix[(i, j)] += grand - means[i] - means[j];
        }
    }
}
