//! The variance of each component over bandwidths: the landscape of figure 7 of \[NTM\].

use serde::Serialize;

use super::dense::Sample;
use super::grid::{Distances, check_bandwidths, check_points, gamma, with_some_width};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{KernelSpec, Parameter};
use crate::watch::{Context, Phase, Threads, Watch};

/// Points whose matrices are decomposed; more would change the picture little and take long.
const SAMPLE: usize = 300;

/// The variances of the leading components at several bandwidths.
///
/// ```
/// use mercer::{Points, Watch, kernel::KernelSpec, tune::landscape, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 30, 2)?;
/// let widths = [1.0, 10.0];
/// let found = landscape(&points, &KernelSpec::new("gaussian"), &widths, 3, 0, &Threads::new(1)?, &Watch::new())?;
/// assert_eq!((found.bandwidths.as_slice(), found.n_used), (widths.as_slice(), 30));
/// assert!(found.variances.iter().all(|leading| leading.is_sorted_by(|a, b| a >= b)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Landscape {
    /// Bandwidths, in the order they were given.
    pub bandwidths: Vec<f64>,
    /// For each bandwidth the variances $\lambda_i = \mu_i / l$ of the leading components, in decreasing order.
    pub variances: Vec<Vec<f64>>,
    /// Points they were computed from.
    pub n_used: usize,
}

/// The variances of the leading components at some bandwidths, from at most 300 points.
///
/// # Errors
///
/// If no component is asked for, the kernel has no width, a bandwidth is not positive or too far from the data's distances, the points cannot be used or are all equal, or
/// the run was stopped.
///
/// ```
/// use mercer::{Points, Watch, kernel::KernelSpec, tune::landscape, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 17)).collect::<Vec<_>>(), 30, 2)?;
/// let found =
///     landscape(&points, &KernelSpec::new("gaussian"), &[0.01, 5.0, 1e4], 3, 0, &Threads::new(1)?, &Watch::new())?;
/// // Narrow: all alike. Wide: nothing left.
/// assert!(found.variances[0][0] < 1.5 * found.variances[0][2]);
/// assert!(found.variances[2][0] < 1e-3);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn landscape(
    points: &Points,
    kernel: &KernelSpec,
    bandwidths: &[f64],
    n_components: usize,
    seed: u64,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Landscape> {
    if n_components == 0 {
        return Err(Error::invalid("n_components", "at least 1", 0));
    }
    check_points(points)?;
    let kernel = with_some_width(kernel, points)?;
    check_bandwidths("bandwidths", bandwidths, Distances::of(points, &kernel).ok().as_ref())?;
    let context = Context::new(threads, watch, Phase::Tuning);
    let sample = Sample::draw(points, &kernel, SAMPLE, seed)?;
    let all: Vec<usize> = (0..sample.len()).collect();
    let mut variances = Vec::with_capacity(bandwidths.len());
    for (index, &sigma) in bandwidths.iter().enumerate() {
        context.check()?;
        context.report_fraction(index as f64 / bandwidths.len() as f64);
        let kernel = kernel.with(Parameter::Gamma, gamma(sigma))?;
        let spectrum = threads.run(|| sample.spectrum(&kernel, &all))?;
        let m = sample.len() as f64;
        variances.push(spectrum.values.iter().take(n_components).map(|mu| mu / m).collect());
    }
    Ok(Landscape { bandwidths: bandwidths.to_vec(), variances, n_used: sample.len() })
}
