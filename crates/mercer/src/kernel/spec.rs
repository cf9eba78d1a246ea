//! A kernel as it is asked for: by name, with parameters that may depend on the data.

use std::fmt;

use super::{Kernel, Pairing, Parameter};
use crate::data::{Moments, Points, sample_rows};
use crate::error::{Error, Result, short};

/// How the width of a kernel is found.
///
/// ```
/// use mercer::Points;
/// use mercer::kernel::{KernelSpec, Parameter, Width};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// let gamma = |width| {
///     let kernel = KernelSpec::new("gaussian").width(width).resolve(&points)?;
///     Ok::<_, mercer::Error>(kernel.parameter(Parameter::Gamma))
/// };
/// assert_eq!(gamma(Width::OnePerFeature)?, Some(0.5));
/// // The squared distance of the only pair is 25.
/// assert_eq!(gamma(Width::Median)?, Some(1.0 / 25.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Width {
    /// `gamma = 1 / n_features`, as in scikit-learn.
    #[default]
    OnePerFeature,
    /// The given inverse width.
    Gamma(f64),
    /// `gamma = 1 / (2 bandwidth²)`.
    Bandwidth(f64),
    /// `gamma = 1 / (n_features * variance of all values)`, as scikit-learn's `"scale"`.
    Scale,
    /// One over the median of what `gamma` multiplies (squared distance, distance) over pairs of a sample of the points.
    Median,
    /// Where the variances of the components differ most: see [`tune`](crate::tune).
    Auto,
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OnePerFeature => f.write_str("1 / n_features"),
            Self::Gamma(gamma) => gamma.fmt(f),
            Self::Bandwidth(sigma) => write!(f, "1 / (2 · {sigma}²)"),
            Self::Scale => f.write_str("scale"),
            Self::Median => f.write_str("median"),
            Self::Auto => f.write_str("auto"),
        }
    }
}

/// A kernel by name. Only the parameters that the kernel has may be set.
///
/// ```
/// use mercer::{Points, kernel::{KernelSpec, Parameter, Width}};
///
/// let points = Points::from_f64(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// let kernel = KernelSpec::new("rbf").width(Width::Bandwidth(2.0)).resolve(&points)?;
/// assert_eq!(kernel.name(), "gaussian");
/// assert_eq!(kernel.parameter(Parameter::Gamma), Some(0.125));
///
/// // What does not depend on points needs none.
/// let square = KernelSpec::new("polynomial").width(Width::Gamma(2.0)).degree(2).coef0(0.5).resolve_without_points()?;
/// assert_eq!(square.value(1.0), 6.25);
/// let heavy_tailed = KernelSpec::new("rational-quadratic").alpha(2.0).resolve(&points)?;
/// assert_eq!(heavy_tailed.parameter(Parameter::Alpha), Some(2.0));
/// // Which parameters has a kernel?
/// assert_eq!(KernelSpec::specimen("sigmoid")?.parameters(), [Parameter::Gamma, Parameter::Coef0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelSpec {
    name: String,
    width: Option<Width>,
    degree: Option<u32>,
    coef0: Option<f64>,
    alpha: Option<f64>,
}

/// Pairs of at most this many points go into the median distance; its sampling error is then about one per cent.
const MEDIAN_SAMPLE: usize = 1000;
/// The sample is the same for every call: two fits of the same data use the same kernel.
const SAMPLE_SEED: u64 = 0x6d65_7263;

impl KernelSpec {
    /// The kernel called `name`, with default parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), width: None, degree: None, coef0: None, alpha: None }
    }

    /// Sets how `gamma` is found (default: one over the number of features).
    #[must_use]
    pub fn width(mut self, width: Width) -> Self {
        self.width = Some(width);
        self
    }

    /// Sets the degree of a polynomial kernel (default 3).
    #[must_use]
    pub fn degree(mut self, degree: u32) -> Self {
        self.degree = Some(degree);
        self
    }

    /// Sets the constant term of a polynomial or sigmoid kernel (default 1).
    #[must_use]
    pub fn coef0(mut self, coef0: f64) -> Self {
        self.coef0 = Some(coef0);
        self
    }

    /// Sets the tail exponent of a rational quadratic kernel (default 1).
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// The width that was set.
    pub(crate) fn wanted_width(&self) -> Option<Width> {
        self.width
    }

    /// The kernel for these points, if no search is needed to find its width: [`Width::Auto`] counts as one.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve).
    pub(crate) fn resolve_directly(&self, points: &Points) -> Result<Kernel> {
        let gamma = |pairing| self.gamma(pairing, points);
        let coef0 = self.coef0.unwrap_or(1.0);
        let kernel = match self.name.as_str() {
            "linear" => Kernel::linear(),
            "cosine" => Kernel::cosine(),
            "polynomial" | "poly" => {
                Kernel::polynomial(gamma(Pairing::InnerProduct)?, coef0, self.degree.unwrap_or(3))?
            }
            "gaussian" | "rbf" => Kernel::gaussian(gamma(Pairing::SquaredDistance)?)?,
            "laplacian" => Kernel::laplacian(gamma(Pairing::ManhattanDistance)?)?,
            "exponential" => Kernel::exponential(self.distance_gamma(points)?)?,
            "matern32" => Kernel::matern32(self.distance_gamma(points)?)?,
            "matern52" => Kernel::matern52(self.distance_gamma(points)?)?,
            "rational-quadratic" => {
                Kernel::rational_quadratic(gamma(Pairing::SquaredDistance)?, self.alpha.unwrap_or(1.0))?
            }
            "epanechnikov" => Kernel::epanechnikov(gamma(Pairing::SquaredDistance)?)?,
            "sigmoid" => Kernel::sigmoid(gamma(Pairing::InnerProduct)?, coef0)?,
            "precomputed" => Kernel::Precomputed,
            other => {
                let requirement = format!("one of {}, precomputed", super::NAMES.join(", "));
                return Err(Error::invalid("kernel", requirement, other));
            }
        };
        self.refuse_unused(&kernel)?;
        Ok(kernel)
    }

    /// The kernel for points that are not known yet: a width that depends on them is one.
    ///
    /// # Errors
    ///
    /// As [`resolve`](Self::resolve).
    pub fn resolve_without_points(&self) -> Result<Kernel> {
        let width = match self.width {
            Some(Width::Scale | Width::Median | Width::Auto) => Some(Width::Gamma(1.0)),
            width => width,
        };
        Self { width, ..self.clone() }.resolve_directly(&Points::from_f64(Vec::new(), 0, 1)?)
    }

    /// The kernel called `name` with all of its parameters at their defaults and a width of one: for asking what it has.
    ///
    /// # Errors
    ///
    /// If there is no kernel of that name.
    pub fn specimen(name: &str) -> Result<Kernel> {
        Self::new(name).resolve_without_points()
    }

    /// A parameter that would be ignored is a misunderstanding: say so.
    fn refuse_unused(&self, kernel: &Kernel) -> Result<()> {
        let has = |parameter| kernel.parameters().contains(&parameter);
        let refuse = |name, value: String| {
            Err(Error::invalid(name, format!("left out: the {} kernel has no such parameter", kernel.name()), value))
        };
        match (self.width, self.degree, self.coef0, self.alpha) {
            (Some(width), ..) if !has(Parameter::Gamma) => refuse("gamma", width.to_string()),
            (_, Some(degree), ..) if !matches!(kernel, Kernel::Polynomial(_)) => refuse("degree", degree.to_string()),
            (.., Some(coef0), _) if !has(Parameter::Coef0) => refuse("coef0", coef0.to_string()),
            (.., Some(alpha)) if !has(Parameter::Alpha) => refuse("alpha", alpha.to_string()),
            _ => Ok(()),
        }
    }

    /// `gamma` where it multiplies the scalar of the pair itself.
    fn gamma(&self, pairing: Pairing, points: &Points) -> Result<f64> {
        self.gamma_from(points, |x, y| pairing.of(x, y), pairing.is_translation_invariant())
    }

    /// `gamma` where it multiplies the Euclidean distance.
    fn distance_gamma(&self, points: &Points) -> Result<f64> {
        self.gamma_from(points, |x, y| Pairing::SquaredDistance.of(x, y).sqrt(), true)
    }

    fn gamma_from(&self, points: &Points, scalar: impl Fn(&[f64], &[f64]) -> f64, is_distance: bool) -> Result<f64> {
        let d = points.n_features() as f64;
        match self.width.unwrap_or_default() {
            Width::OnePerFeature => Ok(1.0 / d),
            Width::Gamma(gamma) => Ok(gamma),
            Width::Auto => Ok(1.0),
            Width::Bandwidth(sigma) => gamma_of(sigma),
            Width::Scale => {
                let variance = Moments::of(points).total_variance();
                if variance == 0.0 {
                    return Err(Error::NoVariance { n_samples: points.n_samples() });
                }
                one_over(d * variance, points)
            }
            Width::Median if is_distance => {
                let mut values = pair_scalars(points, MEDIAN_SAMPLE, scalar)?;
                let middle = values.len() / 2;
                let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
                one_over(*median, points)
            }
            Width::Median => Err(Error::UnsuitableKernel {
                what: "the median distance as width",
                kernel: self.name.clone(),
                reason: "it is not a function of a distance",
            }),
        }
    }
}

/// The `gamma` of a bandwidth.
///
/// # Errors
///
/// If the bandwidth is not positive, or so small or large that there is none.
pub(crate) fn gamma_of(bandwidth: f64) -> Result<f64> {
    Error::require_positive("bandwidth", bandwidth)?;
    let gamma = 0.5 / (bandwidth * bandwidth);
    if gamma > 0.0 && gamma.is_finite() {
        return Ok(gamma);
    }
    let requirement = "between 1e-153 and 1e153, so that gamma = 1 / (2 bandwidth²) is a number";
    Err(Error::invalid("bandwidth", requirement, short(bandwidth)))
}

/// The inverse width of what `gamma` multiplies.
///
/// # Errors
///
/// If one of the two is beyond all numbers.
fn one_over(scalar: f64, points: &Points) -> Result<f64> {
    let gamma = 1.0 / scalar;
    if !scalar.is_finite() {
        return Err(too_far_apart(points));
    }
    if gamma.is_finite() { Ok(gamma) } else { Err(Error::TooClose { distance: scalar }) }
}

/// Why no width follows from points whose distances overflow: the row with the largest number, or the one that holds what is no number.
pub(crate) fn too_far_apart(points: &Points) -> Error {
    if let Err(error) = points.check_finite() {
        return error;
    }
    let size = |row: usize| points.row(row).into_iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    let sizes = (0..points.n_samples()).map(|row| (row, size(row)));
    let (row, largest) = sizes.max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0))).unwrap_or((0, 0.0));
    Error::TooFarApart { row, largest }
}

/// The positive values of `scalar` over all pairs of `size` sampled points: at least one.
///
/// # Errors
///
/// If there is none.
pub(crate) fn pair_scalars(points: &Points, size: usize, scalar: impl Fn(&[f64], &[f64]) -> f64) -> Result<Vec<f64>> {
    let n = points.n_samples();
    let rows: Vec<Vec<f64>> = sample_rows(n, size, SAMPLE_SEED).into_iter().map(|row| points.row(row)).collect();
    let values: Vec<f64> = rows
        .iter()
        .enumerate()
        .flat_map(|(i, x)| rows[..i].iter().map(move |y| (x, y)))
        .map(|(x, y)| scalar(x, y))
        .filter(|&s| s > 0.0)
        .collect();
    if values.is_empty() { Err(Error::NoVariance { n_samples: n }) } else { Ok(values) }
}
