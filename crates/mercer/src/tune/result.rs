//! What a search found.

use serde::Serialize;

use super::settings::{Criterion, TuneMethod};

/// A width at which a criterion has a local maximum.
///
/// ```
/// use mercer::{Points, kernel::KernelSpec, tune::KernelTuner};
///
/// let values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin() * f64::from(i % 7)).collect();
/// let tuning = KernelTuner::new(KernelSpec::new("gaussian")).tune(&Points::from_f64(values, 100, 2)?)?;
/// let maximum = tuning.maxima[0];
/// assert!((maximum.gamma - 0.5 / maximum.bandwidth.powi(2)).abs() < 1e-12 * maximum.gamma);
/// assert_eq!(maximum.standard_error, 0.0, "all pairs were counted");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Maximum {
    /// The width.
    pub bandwidth: f64,
    /// The inverse width, `1 / (2 bandwidth²)`.
    pub gamma: f64,
    /// The criterion there.
    pub value: f64,
    /// The standard error of the bandwidth; zero if nothing was sampled.
    pub standard_error: f64,
}

/// The curve of a criterion over bandwidths, and its maxima.
///
/// ```
/// use mercer::{Points, kernel::KernelSpec, tune::{KernelTuner, TuneMethod}};
///
/// let values: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.7).sin() * f64::from(i % 7)).collect();
/// let points = Points::from_f64(values, 100, 2)?;
/// let tuning = KernelTuner::new(KernelSpec::new("gaussian")).tune(&points)?;
/// assert_eq!((tuning.method, tuning.tolerance), (TuneMethod::Exact, Some(1e-8)));
/// assert_eq!(tuning.bandwidths.len(), tuning.values.len());
/// assert!(tuning.maxima.iter().any(|maximum| maximum.bandwidth == tuning.best_bandwidth));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Tuning {
    /// Name of the kernel.
    pub kernel: String,
    /// What made one width better than another.
    pub criterion: Criterion,
    /// How it was found: [`TuneMethod::Exact`] or [`TuneMethod::Sampled`].
    pub method: TuneMethod,
    /// Points of the data.
    pub n_samples: usize,
    /// Points that were looked at.
    pub n_used: usize,
    /// Bandwidths that were tried: as they were given, or in increasing order.
    pub bandwidths: Vec<f64>,
    /// The criterion at each.
    pub values: Vec<f64>,
    /// Its derivative by the bandwidth at each; NaN (`null` in JSON) where it is not known.
    pub gradients: Vec<f64>,
    /// The standard error of each value; zeros if nothing was sampled.
    pub standard_errors: Vec<f64>,
    /// Local maxima, by increasing bandwidth.
    pub maxima: Vec<Maximum>,
    /// The bandwidth of the highest maximum; one of those tried, if none of the maxima is as good.
    pub best_bandwidth: f64,
    /// Its inverse width.
    pub best_gamma: f64,
    /// The criterion there.
    pub best_value: f64,
    /// The standard error of the best bandwidth; zero if nothing was sampled.
    pub standard_error: f64,
    /// How narrow the interval of the best bandwidth had to be, relative to it: what was asked for, or what the method takes if nothing is said. Nothing for a width
    /// without a search, and for [`Criterion::Reconstruction`] if nothing was asked for.
    pub tolerance: Option<f64>,
    /// Whether the best bandwidth is known as narrowly as was asked.
    pub converged: bool,
    /// Passes over pairs of points.
    pub passes: usize,
    /// Pairs of points that were looked at, each pair once.
    pub pairs: u64,
    /// Seconds that it took.
    pub seconds: f64,
    /// What to be careful about: first, why the best bandwidth is not known as narrowly as was asked, if it is not.
    pub warnings: Vec<String>,
}
