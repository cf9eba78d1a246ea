//! The criterion at bandwidths of one's own, pass by pass.

use super::grid::{Distances, check_bandwidths, check_points, gamma, with_some_width};
use super::pass::Evaluator;
use super::rounding::Trust;
use super::several::Parameters;
use crate::data::Points;
use crate::error::Result;
use crate::kernel::{Kernel, KernelSpec};
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// Octaves beyond the data's distances within which it is seen what interpolation is right for.
const BEYOND: i32 = 4;

/// The criterion of \[NTM\] over bandwidths: points are packed once, and every call is one pass over their pairs.
///
/// [`KernelTuner`](super::KernelTuner) is what to use for a search; this is for a search of one's own.
///
/// ```
/// use mercer::{Points, Precision, Watch, kernel::KernelSpec, tune::Scan, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 30, 2)?;
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let scan = Scan::new(&points, &KernelSpec::new("gaussian"), Precision::F64, &threads)?;
/// let found = scan.at(&[4.0, 4.0 + 1e-6], &threads, &watch)?;
/// let slope = (found[1].value - found[0].value) / 1e-6;
/// assert!((slope - found[0].gradient[0]).abs() < 1e-4 * slope.abs());
/// # Ok::<(), mercer::Error>(())
/// ```
pub struct Scan {
    kernel: Kernel,
    distances: Distances,
    evaluator: Evaluator,
}

impl Scan {
    /// Packs points for kernels like `kernel`, whose width is not looked at.
    ///
    /// # Errors
    ///
    /// If the kernel has no width or is not a function of a distance, or the points cannot be used or are all equal.
    pub fn new(points: &Points, kernel: &KernelSpec, precision: Precision, threads: &Threads) -> Result<Self> {
        check_points(points)?;
        let kernel = with_some_width(kernel, points)?;
        let distances = Distances::of(points, &kernel)?;
        let unit = distances.unit(&kernel);
        let watch = Watch::new();
        let context = Context::new(threads, &watch, Phase::Tuning);
        let evaluator = Evaluator::new(points, &kernel, unit, precision, &context)?;
        let mut trust = Trust::DIRECT;
        if precision == Precision::F32 && matches!(kernel, Kernel::Gaussian(_)) {
            let ends = distances.ends(BEYOND, BEYOND);
            // Single precision was asked for; but nothing is interpolated where that would be wrong.
            trust.between = Trust::of(points, &kernel, unit, ends, &context)?.0.between;
        }
        Ok(Self { kernel, distances, evaluator: evaluator.trusting(trust) })
    }

    /// The variance of the variances at each of some bandwidths, and its derivative by the bandwidth: from one pass, if their row sums fit into
    /// 512 MB.
    ///
    /// # Errors
    ///
    /// If a bandwidth is not positive or too far from the data's distances, or the run was stopped.
    pub fn at(&self, bandwidths: &[f64], threads: &Threads, watch: &Watch<'_>) -> Result<Vec<Parameters>> {
        check_bandwidths("bandwidths", bandwidths, Some(&self.distances))?;
        let gammas: Vec<f64> = bandwidths.iter().copied().map(gamma).collect();
        let context = Context::new(threads, watch, Phase::Tuning);
        let sums = self.evaluator.finite_at_gammas(&self.kernel, &gammas, &context)?;
        // dγ/dσ = -1/σ³.
        let of = |(sums, sigma): (&super::spectrum::Sums, &f64)| Parameters {
            value: sums.variance(),
            gradient: vec![-sums.variance_slope(0) / sigma.powi(3)],
        };
        Ok(sums.iter().zip(bandwidths).map(of).collect())
    }
}

impl std::fmt::Debug for Scan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scan").field("kernel", &self.kernel).field("n", &self.evaluator.n()).finish_non_exhaustive()
    }
}
