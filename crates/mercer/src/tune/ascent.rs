//! The ascent as it was published, for reproduction: steps of a fixed multiple of the slope.
//!
//! The slope is by the bandwidth itself, so that a good multiple depends on the number of points and the scale of the data.
//! [`KernelTuner`](super::KernelTuner) is what to use.

use super::grid::{DIGITS, Distances, check_bandwidths, check_points, gamma};
use super::pass::Evaluator;
use crate::data::Points;
use crate::error::{Error, Result, rounded};
use crate::kernel::Kernel;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Threads, Watch};

/// Which of the two printed derivatives a step follows; they differ by a factor of two.
///
/// ```
/// use mercer::{Points, tune::{Ascent, StepFactor}};
///
/// let values: Vec<f64> = (0..40).map(|i| (f64::from(i) * 1.3).sin()).collect();
/// let points = Points::from_f64(values, 20, 2)?;
/// // Half the derivative goes as far as half the step.
/// let half = Ascent::new(1.0, 1.0).factor(StepFactor::AlgorithmBox).steps(5).run(&points)?;
/// let whole = Ascent::new(1.0, 0.5).factor(StepFactor::Equation).steps(5).run(&points)?;
/// assert!(half.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-12));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StepFactor {
    /// $2/l^3$, equation (24): the derivative.
    #[default]
    Equation,
    /// $1/l^3$, the algorithm's box: half of it.
    AlgorithmBox,
}

/// Gradient ascent of the Gaussian kernel's bandwidth with a fixed step.
///
/// ```
/// use mercer::watch::{Threads, Watch};
/// use mercer::{Points, tune::Ascent};
///
/// let values: Vec<f64> = (0..40).map(|i| (f64::from(i) * 1.3).sin()).collect();
/// let points = Points::from_f64(values, 20, 2)?;
/// let path = Ascent::new(1.0, 1.0).steps(10).run(&points)?;
/// assert_eq!(path.len(), 10);
///
/// // Until a step changes the bandwidth by less than a thousandth.
/// let path = Ascent::new(1.0, 1.0).tolerance(1e-3).run_watched(&points, &Threads::new(1)?, &Watch::new())?;
/// let [.., before, last] = path.as_slice() else { panic!("there are several steps") };
/// assert!(path.len() < 1000 && (last - before).abs() <= 1e-3 * last);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ascent {
    start: f64,
    eta: f64,
    steps: usize,
    tolerance: f64,
    factor: StepFactor,
}

impl Ascent {
    /// An ascent from bandwidth `start` with steps of `eta` times the derivative, at most 1000 of them.
    pub fn new(start: f64, eta: f64) -> Self {
        Self { start, eta, steps: 1000, tolerance: 0.0, factor: StepFactor::Equation }
    }

    /// Sets the number of steps, at most.
    #[must_use]
    pub fn steps(mut self, steps: usize) -> Self {
        self.steps = steps;
        self
    }

    /// Sets the share of the bandwidth below which a step is the last: published is "until it hardly changes", without a number (default 0: all
    /// steps are made).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets which derivative is meant.
    #[must_use]
    pub fn factor(mut self, factor: StepFactor) -> Self {
        self.factor = factor;
        self
    }

    /// The bandwidth after each step.
    ///
    /// # Errors
    ///
    /// If start or step are out of their domain, the start is too far from the data's distances, the points cannot be used or are all equal, or a step led to a bandwidth that is
    /// none or as far away.
    pub fn run(&self, points: &Points) -> Result<Vec<f64>> {
        self.run_watched(points, &Threads::all()?, &Watch::new())
    }

    /// As [`run`](Self::run), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`Error::Interrupted`] if it was stopped.
    pub fn run_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Vec<f64>> {
        Error::require_positive("start", self.start)?;
        Error::require_positive("eta", self.eta)?;
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(Error::invalid("tolerance", "at least 0 and below 1", self.tolerance));
        }
        check_points(points)?;
        // Its width is that of each step.
        let kernel = Kernel::gaussian(1.0)?;
        let distances = Distances::of(points, &kernel)?;
        check_bandwidths("start", &[self.start], Some(&distances))?;
        let unit = distances.unit(&kernel);
        let mut context = Context::new(threads, watch, Phase::Tuning);
        context.progress.expected_passes = Some(self.steps);
        let evaluator = Evaluator::new(points, &kernel, unit, Precision::F64, &context)?;
        let share = match self.factor {
            StepFactor::Equation => 1.0,
            StepFactor::AlgorithmBox => 0.5,
        };
        let mut sigma = self.start;
        let mut path = Vec::with_capacity(self.steps);
        for step in 0..self.steps {
            context.check()?;
            context.progress.pass = step + 1;
            let slope = evaluator.at_gammas(&kernel, &[gamma(sigma)], &context)?[0].variance_slope(0);
            // dγ/dσ = -1/σ³.
            let change = self.eta * share * -slope / sigma.powi(3);
            sigma += change;
            if check_bandwidths("start", &[sigma], Some(&distances)).is_err() {
                let requirement = format!(
                    "so small that no step leaves the bandwidths that sums can be made at (step {} led to {})",
                    step + 1,
                    rounded(sigma, DIGITS)
                );
                return Err(Error::invalid("eta", requirement, self.eta));
            }
            path.push(sigma);
            if change.abs() <= self.tolerance * sigma {
                break;
            }
        }
        Ok(path)
    }
}
