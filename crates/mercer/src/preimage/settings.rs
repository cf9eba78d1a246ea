//! How pre-images are asked for.

use faer::MatRef;

use super::prepared::{PreparedPreimage, Reconstruction};
use crate::choices::{MemoryBudget, named};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pairing, Parameter};
use crate::model::Model;
use crate::watch::{Threads, Watch};

/// How a pre-image is found.
///
/// ```
/// use mercer::preimage::PreimageMethod;
///
/// assert_eq!("fixed-point".parse::<PreimageMethod>()?, PreimageMethod::FixedPoint);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PreimageMethod {
    /// Repeated weighted means of the basis points; gaussian kernel.
    FixedPoint,
    /// From distances to neighbours.
    Distance,
    /// A regression of the points on their scores.
    Ridge,
    /// Descent of the distance in feature space; every kernel that has a derivative.
    Gradient,
    /// The leading eigenvector; polynomial kernel of degree 2 without constant.
    Polynomial,
}
named!(
    PreimageMethod, "method",
    FixedPoint => "fixed-point", Distance => "distance", Ridge => "ridge", Gradient => "gradient", Polynomial => "polynomial"
);

impl PreimageMethod {
    /// Whether it goes step by step, from a start.
    const fn iterates(self) -> bool {
        matches!(self, Self::FixedPoint | Self::Gradient)
    }

    /// The one that suits a kernel: one of its own, else descent, else a regression.
    ///
    /// ```
    /// use mercer::Kernel;
    /// use mercer::preimage::PreimageMethod;
    ///
    /// assert_eq!(PreimageMethod::for_kernel(&Kernel::gaussian(1.0)?), PreimageMethod::FixedPoint);
    /// assert_eq!(PreimageMethod::for_kernel(&Kernel::polynomial(1.0, 0.0, 2)?), PreimageMethod::Polynomial);
    /// assert_eq!(PreimageMethod::for_kernel(&Kernel::polynomial(1.0, 1.0, 2)?), PreimageMethod::Gradient);
    /// assert_eq!(PreimageMethod::for_kernel(&Kernel::laplacian(1.0)?), PreimageMethod::Ridge);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn for_kernel(kernel: &Kernel) -> Self {
        match kernel {
            Kernel::Gaussian(_) => Self::FixedPoint,
            _ if is_quadratic(kernel) => Self::Polynomial,
            _ if has_slope(kernel) => Self::Gradient,
            _ => Self::Ridge,
        }
    }

    /// The names of the settings of [`Preimage`] that are its own; others are refused.
    ///
    /// ```
    /// use mercer::preimage::PreimageMethod;
    ///
    /// assert_eq!(PreimageMethod::Distance.settings(), ["neighbors"]);
    /// ```
    pub const fn settings(self) -> &'static [&'static str] {
        match self {
            Self::FixedPoint | Self::Gradient => &["max_iterations", "tolerance", "restarts"],
            Self::Distance => &["neighbors"],
            Self::Ridge => &["alpha"],
            Self::Polynomial => &[],
        }
    }

    /// Refuses kernels that it does not work with.
    pub(super) fn check_kernel(self, kernel: &Kernel) -> Result<()> {
        let refuse = |what: &'static str, reason: &'static str| {
            Err(Error::UnsuitableKernel { what, kernel: kernel.name().to_owned(), reason })
        };
        if matches!(kernel, Kernel::Precomputed) {
            return refuse("finding pre-images", "there are no points to combine");
        }
        // Descent is advised only where it would not be refused, too.
        let advise =
            |with_slope: &'static str, without: &'static str| if has_slope(kernel) { with_slope } else { without };
        match self {
            Self::FixedPoint if !matches!(kernel, Kernel::Gaussian(_)) => refuse(
                "the fixed point of pre-images",
                advise(
                    "it is that of the gaussian kernel; use gradient",
                    "it is that of the gaussian kernel; use ridge",
                ),
            ),
            Self::Distance if !has_distances(kernel) => refuse(
                "finding pre-images by distances",
                advise(
                    "its values do not tell distances; use gradient or ridge",
                    "its values do not tell distances; use ridge",
                ),
            ),
            Self::Gradient if !has_slope(kernel) => {
                refuse("finding pre-images by descent", "it has no derivative that could be followed; use ridge")
            }
            Self::Polynomial if !is_quadratic(kernel) => refuse(
                "finding pre-images by an eigenvector",
                advise(
                    "it is for the polynomial kernel of degree 2 with coef0 = 0; use gradient",
                    "it is for the polynomial kernel of degree 2 with coef0 = 0; use ridge",
                ),
            ),
            _ => Ok(()),
        }
    }
}

fn has_distances(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Polynomial(polynomial) => !polynomial.degree().is_multiple_of(2),
        Kernel::Linear(_) => true,
        Kernel::Sigmoid(_) | Kernel::Epanechnikov(_) => false,
        other => other.pairing() == Some(Pairing::SquaredDistance),
    }
}

fn has_slope(kernel: &Kernel) -> bool {
    matches!(kernel.pairing(), Some(Pairing::InnerProduct | Pairing::SquaredDistance | Pairing::Cosine))
}

/// Whether it is `(γ x·y)²`.
pub(crate) fn is_quadratic(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Polynomial(polynomial) => polynomial.degree() == 2 && kernel.parameter(Parameter::Coef0) == Some(0.0),
        _ => false,
    }
}

/// Pre-images, as they are asked for.
///
/// ```
/// use mercer::preimage::{Preimage, PreimageMethod};
/// use mercer::{Kernel, KernelPca, MemoryBudget, Points, Watch};
///
/// // A noisy circle, and the nearest points on what four components make of it.
/// let angle = |i: usize| i as f64 * 0.1;
/// let circle = |i: usize| { let r = 1.0 + 0.05 * (i as f64 * 7.3).sin(); [r * angle(i).cos(), r * angle(i).sin()] };
/// let points = Points::from_f64((0..63).flat_map(circle).collect::<Vec<_>>(), 63, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(2.0)?).n_components(4).fit(&points)?;
/// let found = Preimage::new(PreimageMethod::FixedPoint).of_points(&model, &points, &Watch::new())?;
/// assert!(found.converged.iter().all(|&converged| converged));
/// assert!((0..63).all(|i| (found.points[(i, 0)].hypot(found.points[(i, 1)]) - 1.0).abs() < 0.1));
///
/// // Fewer digits take fewer steps; scores are enough, and the search begins at points with near ones.
/// let quick = Preimage::new(PreimageMethod::FixedPoint).tolerance(1e-3).max_iterations(100).restarts(1).threads(1);
/// let rough = quick.of_scores(&model, model.training_scores().as_ref(), &Watch::new())?;
/// assert!(rough.iterations.iter().sum::<usize>() < found.iterations.iter().sum::<usize>());
///
/// // Every method has settings of its own, and refuses others; a regression has to fit its budget.
/// let by_neighbors = |method| Preimage::new(method).neighbors(20).of_points(&model, &points, &Watch::new());
/// assert!(by_neighbors(PreimageMethod::Distance).is_ok() && by_neighbors(PreimageMethod::FixedPoint).is_err());
/// let ridge = Preimage::new(PreimageMethod::Ridge).memory(MemoryBudget::Bytes(1000));
/// assert_eq!(ridge.method(), PreimageMethod::Ridge);
/// assert!(ridge.of_points(&model, &points, &Watch::new()).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Preimage {
    pub(super) method: PreimageMethod,
    max_iterations: Option<usize>,
    tolerance: Option<f64>,
    restarts: Option<usize>,
    neighbors: Option<usize>,
    alpha: Option<f64>,
    memory: MemoryBudget,
    threads: Option<usize>,
}

impl Preimage {
    /// Pre-images by this method, with its defaults.
    pub fn new(method: PreimageMethod) -> Self {
        Self {
            method,
            max_iterations: None,
            tolerance: None,
            restarts: None,
            neighbors: None,
            alpha: None,
            memory: MemoryBudget::Auto,
            threads: None,
        }
    }

    /// Sets after how many steps a point counts as not converged (default 1000); fixed point and gradient only.
    #[must_use]
    pub fn max_iterations(mut self, max_iterations: usize) -> Self {
        self.max_iterations = Some(max_iterations);
        self
    }

    /// Sets how small the last step must be, relative to the kernel's width or to the size of the points (default 1e-10); fixed point
    /// and gradient only.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets how many other starts are tried for points that do not converge: basis points with near scores (default 2); fixed point and
    /// gradient only.
    #[must_use]
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = Some(restarts);
        self
    }

    /// Sets how many neighbours place a point (default 10); distances only.
    #[must_use]
    pub fn neighbors(mut self, neighbors: usize) -> Self {
        self.neighbors = Some(neighbors);
        self
    }

    /// Sets the weight of the ridge (default 1); ridge only.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = Some(alpha);
        self
    }

    /// Sets how much memory learning a ridge may take beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The method.
    pub fn method(&self) -> PreimageMethod {
        self.method
    }

    /// Makes ready for a model: what is the same for all points is done once.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain or does not belong to the method, the kernel does not suit the method, or the run was stopped.
    pub fn prepare<'a>(&self, model: &'a Model, watch: &Watch<'_>) -> Result<PreparedPreimage<'a>> {
        self.validate()?;
        self.method.check_kernel(model.kernel())?;
        let threads = self.threads.map_or_else(Threads::all, Threads::new)?;
        PreparedPreimage::new(self.clone(), model, threads, watch)
    }

    /// Pre-images of scores: one row per point, one column per component.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare), and [`PreparedPreimage::of_scores`].
    pub fn of_scores(&self, model: &Model, scores: MatRef<'_, f64>, watch: &Watch<'_>) -> Result<Reconstruction> {
        self.prepare(model, watch)?.of_scores(scores, None, watch)
    }

    /// What the components keep of points: pre-images of their scores, searched from the points themselves.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare), and [`PreparedPreimage::of_points`].
    pub fn of_points(&self, model: &Model, points: &Points, watch: &Watch<'_>) -> Result<Reconstruction> {
        self.prepare(model, watch)?.of_points(points, watch)
    }

    pub(super) fn steps(&self) -> usize {
        self.max_iterations.unwrap_or(1000)
    }

    pub(super) fn precision(&self) -> f64 {
        self.tolerance.unwrap_or(1e-10)
    }

    pub(super) fn starts(&self) -> usize {
        if self.method.iterates() { 1 + self.restarts.unwrap_or(2) } else { 1 }
    }

    pub(super) fn n_neighbors(&self) -> usize {
        self.neighbors.unwrap_or(10)
    }

    pub(super) fn ridge(&self) -> f64 {
        self.alpha.unwrap_or(1.0)
    }

    pub(super) fn budget(&self) -> MemoryBudget {
        self.memory
    }

    fn validate(&self) -> Result<()> {
        let method = self.method;
        let given = [
            ("max_iterations", self.max_iterations.is_some()),
            ("tolerance", self.tolerance.is_some()),
            ("restarts", self.restarts.is_some()),
            ("neighbors", self.neighbors.is_some()),
            ("alpha", self.alpha.is_some()),
        ];
        if let Some((name, _)) =
            given.into_iter().find(|(name, is_given)| *is_given && !method.settings().contains(name))
        {
            return Err(Error::invalid(
                name,
                format!("left out with the method {method}, which does not read it"),
                "given",
            ));
        }
        if self.max_iterations == Some(0) {
            return Err(Error::invalid("max_iterations", "at least 1", 0));
        }
        if self.neighbors.is_some_and(|neighbors| neighbors < 2) {
            return Err(Error::invalid("neighbors", "at least 2", self.n_neighbors()));
        }
        Error::require_positive("tolerance", self.precision())
    }
}
