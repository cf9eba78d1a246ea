//! Several parameters of a kernel at once, by gradient.

use serde::Serialize;

use super::climb::{Slope, check_steps, climb};
use super::grid::{check_points, some_scalars};
use super::pass::Evaluator;
use super::rounding;
use super::spectrum::Sums;
use crate::data::Points;
use crate::error::{Error, Result, short};
use crate::kernel::{Kernel, Parameter};
use crate::watch::{Context, Phase, Threads, Watch};

/// The relative slope by all coordinates that counts as none.
const TOLERANCE: f64 = 1e-6;

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
    /// Its derivatives, in the order of the parameters; of a [`Scan`](super::Scan), by the bandwidth.
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
/// assert_eq!(within(1e-4, 10.0)?.is_at_bound, [false]);
/// assert_eq!(within(0.5, 10.0)?.is_at_bound, [true]);
/// // The inverse width is a scale, and has no logarithm at zero.
/// assert!(within(0.0, 10.0).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterBox {
    /// The parameter.
    pub parameter: Parameter,
    /// The smallest value; positive, unless the parameter is [`Parameter::Coef0`].
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
    pub best_value: f64,
    /// The criterion at the start.
    pub start_value: f64,
    /// Its derivatives by the parameters, in the order of their ranges.
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
/// If the kernel lacks a parameter, the points cannot be used or are all equal, kernel values overflow ([`Error::KernelOverflow`]), or the run was stopped.
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
    check_points(points)?;
    check_parameters(kernel, parameters)?;
    let context = Context::new(threads, watch, Phase::Tuning);
    let unit = unit(points, kernel)?;
    let precision = rounding::precision(points, kernel, &[], unit, &context)?;
    let evaluator = Evaluator::new(points, kernel, unit, precision, &context)?;
    let sums = evaluator.finite_at(kernel, parameters, &context)?;
    Ok(Parameters { value: sums.variance(), gradient: gradient(&sums, parameters) })
}

/// Climbs from `kernel` to a maximum of the variance of the variances over some of its parameters, each within its range. A parameter that lies outside
/// starts from the nearest end.
///
/// Steps are along the gradient by the logarithms of the parameters (by `coef0` itself, which may be zero or negative), as long as they lead up enough; what would
/// leave a range is held at its end. Kernels without bound, such as the polynomial one, have their maximum there, and
/// [`ParameterTuning::is_at_bound`] says so. The degree of the polynomial kernel is a whole number and has no slope: it stays as
/// `kernel` has it, and who wants several calls this for each.
///
/// # Errors
///
/// As [`evaluate`], at any place of the climb, and if there is no range, one is empty, not finite or not positive, or no step may be made.
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
    check_ranges(kernel, ranges)?;
    check_steps(max_steps)?;
    check_points(points)?;
    let parameters: Vec<Parameter> = ranges.iter().map(|range| range.parameter).collect();
    let axes: Vec<Axis> = ranges.iter().map(|range| Axis::new(kernel, range)).collect();
    let context = Context::new(threads, watch, Phase::Tuning);
    let unit = unit(points, kernel)?;
    let kernel_at = |place: &[f64]| {
        let mut parameters = axes.iter().zip(place).zip(&parameters);
        parameters.try_fold(kernel.clone(), |kernel, ((axis, &x), &parameter)| kernel.with(parameter, axis.value(x)))
    };
    let start: Vec<f64> = axes.iter().map(|axis| axis.start).collect();
    let ends: Vec<(f64, f64)> = axes.iter().map(|axis| axis.ends).collect();
    let at_corners = corners(&ends).iter().map(|corner| kernel_at(corner)).collect::<Result<Vec<_>>>()?;
    let precision = rounding::precision(points, &kernel_at(&start)?, &at_corners, unit, &context)?;
    let evaluator = Evaluator::new(points, kernel, unit, precision, &context)?;
    let summit = climb(&start, &ends, TOLERANCE, max_steps, |place| {
        let sums = evaluator.finite_at(&kernel_at(place)?, &parameters, &context)?;
        let slopes = gradient(&sums, &parameters).into_iter().zip(&axes).zip(place);
        let gradient = slopes.map(|((slope, axis), &x)| slope * axis.speed(x)).collect();
        Ok(Slope { value: sums.variance(), gradient })
    })?;
    let slopes = summit.there.gradient.iter().zip(&axes).zip(&summit.place);
    let by_parameter = slopes.map(|((slope, axis), &x)| slope / axis.speed(x)).collect();
    Ok(ParameterTuning {
        kernel: kernel_at(&summit.place)?,
        best_value: summit.there.value,
        start_value: summit.start_value,
        gradient: by_parameter,
        is_at_bound: summit.held(&ends),
        steps: summit.steps,
        converged: summit.converged,
    })
}

/// Checks what [`tune_parameters`] would say of some ranges before there are points.
///
/// # Errors
///
/// If there is no range, one is empty, not finite or not positive, or the kernel lacks a parameter.
///
/// ```
/// use mercer::{Kernel, kernel::Parameter, tune::{ParameterBox, check_ranges}};
///
/// let range = ParameterBox { parameter: Parameter::Alpha, low: 0.2, high: 20.0 };
/// assert!(check_ranges(&Kernel::rational_quadratic(1.0, 1.0)?, &[range]).is_ok());
/// assert!(check_ranges(&Kernel::gaussian(1.0)?, &[range]).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn check_ranges(kernel: &Kernel, ranges: &[ParameterBox]) -> Result<()> {
    if ranges.is_empty() {
        return Err(Error::invalid("ranges", "at least one parameter and its range", "none"));
    }
    check_parameters(kernel, &ranges.iter().map(|range| range.parameter).collect::<Vec<_>>())?;
    ranges.iter().try_for_each(|&ParameterBox { parameter, low, high }| {
        let is_scale = parameter != Parameter::Coef0;
        if low.is_finite() && high.is_finite() && low <= high && (!is_scale || low > 0.0) {
            return Ok(());
        }
        let domain = if is_scale { "positive numbers" } else { "numbers" };
        let requirement = format!("two {domain} for {}, the smaller one first", parameter.name());
        Err(Error::invalid("ranges", requirement, format!("{} to {}", short(low), short(high))))
    })
}

/// A parameter as a coordinate of the ascent.
struct Axis {
    range: (f64, f64),
    start: f64,
    ends: (f64, f64),
    /// What one step of the coordinate is, for a parameter that is not a scale and so has no logarithm.
    unit: Option<f64>,
}

impl Axis {
    /// The coordinate of a parameter in a range that was checked.
    fn new(kernel: &Kernel, &ParameterBox { parameter, low, high }: &ParameterBox) -> Self {
        let own = kernel.parameter(parameter).unwrap_or(low).clamp(low, high);
        if parameter != Parameter::Coef0 {
            return Self { range: (low, high), start: own.ln(), ends: (low.ln(), high.ln()), unit: None };
        }
        // Some steps from one end to the other, as in a range of scales that is worth a search.
        let unit = if high > low { 0.25 * (high - low) } else { 1.0 };
        Self { range: (low, high), start: own / unit, ends: (low / unit, high / unit), unit: Some(unit) }
    }

    /// The parameter at a place; at an end of the range, that end to the last digit.
    fn value(&self, x: f64) -> f64 {
        let ((low, high), (first, last)) = (self.range, self.ends);
        match x {
            _ if x <= first => low,
            _ if x >= last => high,
            _ => self.unit.map_or_else(|| x.exp(), |unit| x * unit).clamp(low, high),
        }
    }

    /// The derivative of the parameter by the coordinate.
    fn speed(&self, x: f64) -> f64 {
        self.unit.unwrap_or_else(|| x.exp())
    }
}

/// Every place at which each coordinate is at an end of its range.
fn corners(ends: &[(f64, f64)]) -> Vec<Vec<f64>> {
    ends.iter().fold(vec![Vec::new()], |corners: Vec<Vec<f64>>, &(low, high)| {
        let with = |corner: &[f64], end: f64| -> Vec<f64> { corner.iter().copied().chain([end]).collect() };
        corners.iter().flat_map(|corner| [with(corner, low), with(corner, high)]).collect()
    })
}

fn check_parameters(kernel: &Kernel, parameters: &[Parameter]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_ends_is_a_corner() {
        assert_eq!(corners(&[(1.0, 2.0)]), [[1.0], [2.0]]);
        let found = corners(&[(1.0, 2.0), (3.0, 4.0)]);
        assert_eq!(found, [[1.0, 3.0], [1.0, 4.0], [2.0, 3.0], [2.0, 4.0]]);
    }
}
