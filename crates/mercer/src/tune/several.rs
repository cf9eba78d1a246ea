//! Several parameters of a kernel at once, by gradient.

use serde::Serialize;

use super::grid::some_scalars;
use super::pass::Evaluator;
use super::rounding;
use super::spectrum::Sums;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};
use crate::watch::{Context, Phase, Threads, Watch};

/// Halvings of a step before it is given up.
const HALVINGS: usize = 30;

/// The variance of the variances at one kernel, and its derivative by each parameter asked for.
///
/// ```
/// use mercer::{Kernel, Points, Watch, kernel::Parameter, tune::evaluate, watch::Threads};
///
/// let points = Points::from_f64((0..40).map(|i| f64::from(i % 7)).collect::<Vec<_>>(), 20, 2)?;
/// let at = |gamma: f64| evaluate(&points, &Kernel::gaussian(gamma)?, &[Parameter::Gamma], &Threads::new(1)?, &Watch::new());
/// let (here, beside) = (at(0.1)?, at(0.1 + 1e-6)?);
/// assert!(((beside.value - here.value) / 1e-6 - here.gradient[0]).abs() < 1e-4 * here.gradient[0].abs());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Parameters {
    /// $E$ of equation (21).
    pub value: f64,
    /// Its derivatives, in the order of the parameters.
    pub gradient: Vec<f64>,
}

/// A parameter and the range that it is looked for in.
///
/// ```
/// use mercer::{Kernel, Points, Watch, kernel::Parameter, tune::{ParameterBox, tune_parameters}, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 11)).collect::<Vec<_>>(), 30, 2)?;
/// let within = |low, high| {
///     let range = ParameterBox { parameter: Parameter::Gamma, low, high };
///     tune_parameters(&points, &Kernel::gaussian(0.1)?, &[range], 200, &Threads::new(1)?, &Watch::new())
/// };
/// assert!(within(1e-4, 10.0).is_ok());
/// // The search cannot start outside its range.
/// assert!(within(0.5, 10.0).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterBox {
    /// The parameter.
    pub parameter: Parameter,
    /// The smallest value; positive.
    pub low: f64,
    /// The largest value.
    pub high: f64,
}

/// Parameters that were found, and how.
///
/// ```
/// use mercer::{Kernel, Points, Watch, kernel::Parameter, tune::{ParameterBox, tune_parameters}, watch::Threads};
///
/// // The polynomial kernel grows with its constant, and so does the criterion: the end of the range is the best.
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 11)).collect::<Vec<_>>(), 30, 2)?;
/// let range = ParameterBox { parameter: Parameter::Coef0, low: 0.1, high: 2.0 };
/// let start = Kernel::polynomial(0.1, 1.0, 2)?;
/// let found = tune_parameters(&points, &start, &[range], 200, &Threads::new(1)?, &Watch::new())?;
/// assert_eq!((found.is_at_bound, found.converged), (vec![true], true));
/// assert!((found.kernel.parameter(Parameter::Coef0).unwrap_or(0.0) - 2.0).abs() < 1e-9);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParameterTuning {
    /// The kernel with the best parameters.
    pub kernel: Kernel,
    /// The criterion there.
    pub value: f64,
    /// Its derivatives by the logarithms of the parameters.
    pub gradient: Vec<f64>,
    /// For each parameter, whether it lies at an end of its range: the criterion may grow beyond.
    pub is_at_bound: Vec<bool>,
    /// Steps that were made.
    pub steps: usize,
    /// Whether no direction within the ranges leads up any more.
    pub converged: bool,
}

/// The variance of the variances of a kernel and its derivatives by some parameters, over all pairs of points.
///
/// # Errors
///
/// If the kernel lacks a parameter, the points cannot be used, or the run was stopped.
///
/// ```
/// use mercer::{Kernel, Points, Watch, kernel::Parameter, tune::evaluate, watch::Threads};
///
/// let points = Points::from_f64((0..40).map(|i| f64::from(i % 7)).collect::<Vec<_>>(), 20, 2)?;
/// let kernel = Kernel::polynomial(0.1, 1.0, 2)?;
/// let found =
///     evaluate(&points, &kernel, &[Parameter::Gamma, Parameter::Coef0], &Threads::new(1)?, &Watch::new())?;
/// assert!(found.value > 0.0 && found.gradient.len() == 2);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn evaluate(
    points: &Points,
    kernel: &Kernel,
    parameters: &[Parameter],
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Parameters> {
    check(points, kernel, parameters)?;
    let context = Context::new(threads, watch, Phase::Tuning);
    let unit = unit(points, kernel)?;
    let precision = rounding::precision(points, kernel, unit, &context)?;
    let evaluator = Evaluator::new(points, kernel, unit, precision)?;
    let sums = evaluator.at(std::slice::from_ref(kernel), parameters, &context)?.remove(0);
    Ok(Parameters { value: sums.variance(), gradient: gradient(&sums, parameters) })
}

/// Climbs from `kernel` to a maximum of the variance of the variances over some of its parameters, each within its range.
///
/// Steps are along the gradient by the logarithms of the parameters, as long as they lead up enough (Armijo's rule); what would
/// leave a range is held at its end. Kernels without bound, such as the polynomial one, have their maximum there, and
/// [`ParameterTuning::is_at_bound`] says so.
///
/// # Errors
///
/// As [`evaluate`], and if a range is empty, not positive, or does not hold the value that the kernel has.
///
/// ```
/// use mercer::{Kernel, Points, Watch, kernel::Parameter, tune::{ParameterBox, tune_parameters}, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 11)).collect::<Vec<_>>(), 30, 2)?;
/// let ranges = [
///     ParameterBox { parameter: Parameter::Gamma, low: 1e-4, high: 10.0 },
///     ParameterBox { parameter: Parameter::Alpha, low: 0.1, high: 10.0 },
/// ];
/// let start = Kernel::rational_quadratic(0.1, 1.0)?;
/// let found = tune_parameters(&points, &start, &ranges, 200, &Threads::new(1)?, &Watch::new())?;
/// assert!(!found.is_at_bound[0]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn tune_parameters(
    points: &Points,
    kernel: &Kernel,
    ranges: &[ParameterBox],
    max_steps: usize,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<ParameterTuning> {
    let parameters: Vec<Parameter> = ranges.iter().map(|range| range.parameter).collect();
    check(points, kernel, &parameters)?;
    for range in ranges {
        let (own, name) = (kernel.parameter(range.parameter).unwrap_or(f64::NAN), range.parameter.name());
        if !(range.low > 0.0 && range.low <= own && own <= range.high && range.high.is_finite()) {
            let requirement = format!("within its range, which must be positive ({} to {})", range.low, range.high);
            return Err(Error::invalid(name, requirement, own));
        }
    }
    let context = Context::new(threads, watch, Phase::Tuning);
    let unit = unit(points, kernel)?;
    let precision = rounding::precision(points, kernel, unit, &context)?;
    let evaluator = Evaluator::new(points, kernel, unit, precision)?;
    let at = |logs: &[f64]| -> Result<(Kernel, f64, Vec<f64>)> {
        let mut kernel = kernel.clone();
        for (range, log) in ranges.iter().zip(logs) {
            kernel = kernel.with(range.parameter, log.exp())?;
        }
        let sums = evaluator.at(std::slice::from_ref(&kernel), &parameters, &context)?.remove(0);
        let gradient = gradient(&sums, &parameters).iter().zip(logs).map(|(slope, log)| slope * log.exp()).collect();
        Ok((kernel, sums.variance(), gradient))
    };
    let clamp = |log: f64, range: &ParameterBox| log.clamp(range.low.ln(), range.high.ln());
    let mut logs: Vec<f64> =
        ranges.iter().map(|range| kernel.parameter(range.parameter).unwrap_or(range.low).ln()).collect();
    let mut now = at(&logs)?;
    let (mut steps, mut converged, mut length) = (0, false, 0.5);
    let tolerance = 1e-6;
    while steps < max_steps && !converged {
        // What is left of the gradient when directions out of the ranges are taken away, relative to the value.
        let scale = now.1.abs().max(f64::MIN_POSITIVE);
        let direction: Vec<f64> = ranges
            .iter()
            .zip(&logs)
            .zip(&now.2)
            .map(|((range, &log), &slope)| clamp(log + slope / scale, range) - log)
            .collect();
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm <= tolerance {
            converged = true;
            break;
        }
        let mut moved = false;
        for _ in 0..HALVINGS {
            let next: Vec<f64> = logs
                .iter()
                .zip(&direction)
                .zip(ranges)
                .map(|((&log, step), range)| clamp(log + length * step / norm, range))
                .collect();
            let gain = next.iter().zip(&logs).zip(&now.2).map(|((a, b), slope)| (a - b) * slope).sum::<f64>();
            let found = at(&next)?;
            if found.1 > now.1 + 1e-4 * gain.max(0.0) {
                (logs, now, moved) = (next, found, true);
                length *= 1.5;
                break;
            }
            length *= 0.5;
        }
        if !moved {
            // Rounding is all that is left of the slope.
            converged = norm <= tolerance.sqrt();
            break;
        }
        steps += 1;
    }
    let is_at_bound = ranges
        .iter()
        .zip(&logs)
        .map(|(range, &log)| log <= range.low.ln() + 1e-9 || log >= range.high.ln() - 1e-9)
        .collect();
    Ok(ParameterTuning { kernel: now.0, value: now.1, gradient: now.2, is_at_bound, steps, converged })
}

fn check(points: &Points, kernel: &Kernel, parameters: &[Parameter]) -> Result<()> {
    if points.n_samples() < 2 {
        return Err(Error::TooFewRows { needed: 2, found: points.n_samples() });
    }
    points.check_finite()?;
    for (index, &parameter) in parameters.iter().enumerate() {
        if parameters[..index].contains(&parameter) {
            return Err(Error::invalid("parameters", "each named once", parameter.name()));
        }
        if !kernel.parameters().contains(&parameter) {
            let requirement = format!("left out: the {} kernel has no such parameter", kernel.name());
            return Err(Error::invalid(parameter.name(), requirement, "asked for"));
        }
    }
    Ok(())
}

/// A typical scalar of a pair; one for kernels of inner products, whose scalars keep their size.
fn unit(points: &Points, kernel: &Kernel) -> Result<f64> {
    let Some(pairing) = kernel.pairing().filter(|pairing| pairing.is_translation_invariant()) else { return Ok(1.0) };
    let mut values = some_scalars(points, |x, y| pairing.of(x, y))?;
    let middle = values.len() / 2;
    Ok(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

fn gradient(sums: &Sums, parameters: &[Parameter]) -> Vec<f64> {
    (0..parameters.len()).map(|index| sums.variance_slope(index)).collect()
}
