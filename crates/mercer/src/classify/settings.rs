//! The settings of a classifier on top of kernel PCA.

use super::fitted::{self, Classifier};
use super::folds::{self, ChosenComponents, CrossValidation};
use crate::choices::{MemoryBudget, Negative};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelSpec, Width};
use crate::watch::{Threads, Watch};

/// The layer that turns scores into classes.
///
/// ```
/// use mercer::classify::Unit;
///
/// assert_eq!(Unit::SIGMOID, Unit::Sigmoid { learning_rate: 0.1, epochs: 200 });
/// assert_ne!(Unit::LOGISTIC, Unit::Logistic { penalty: 10.0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unit {
    /// One sigmoid unit (one per class, if there are more than two), trained point by point.
    Sigmoid {
        /// What a step is multiplied by; 0.1 in \[NTM\].
        learning_rate: f64,
        /// How often every point is learned from.
        epochs: usize,
    },
    /// Multinomial logistic regression.
    Logistic {
        /// What half the sum of the squared weights is multiplied by.
        penalty: f64,
    },
}

impl Unit {
    /// The sigmoid unit as published, with 200 epochs.
    pub const SIGMOID: Self = Self::Sigmoid { learning_rate: 0.1, epochs: 200 };
    /// Logistic regression with a small penalty.
    pub const LOGISTIC: Self = Self::Logistic { penalty: 0.1 };
}

/// Whether classes share a width.
///
/// ```
/// use mercer::Points;
/// use mercer::classify::{KernelClassifier, Widths};
/// use mercer::kernel::{KernelSpec, Width};
///
/// // A narrow heap and a wide one.
/// let values: Vec<f64> = (0..40).map(|i| if i < 20 { f64::from(i) * 0.01 } else { 5.0 + f64::from(i % 20) }).collect();
/// let (points, labels) = (Points::from_f64(values, 40, 1)?, (0..40).map(|i| i / 20).collect::<Vec<_>>());
/// let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Median));
/// assert_eq!(classifier.fit(&points, &labels)?.gammas().len(), 1);
/// let gammas = classifier.widths(Widths::PerClass).fit(&points, &labels)?.gammas();
/// assert!(gammas[0] > 1000.0 * gammas[1]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Widths {
    /// One kernel for all, from all training points.
    #[default]
    Common,
    /// A kernel for each class, from that class's points; one against the rest on components of its own. For widths that are found.
    PerClass,
}

/// A classifier on top of kernel PCA, as it is asked for.
///
/// ```
/// use mercer::classify::{KernelClassifier, Unit};
/// use mercer::kernel::{KernelSpec, Width};
/// use mercer::watch::{Threads, Watch};
/// use mercer::Points;
///
/// // A disc and a ring around it: no line separates them.
/// let ring = |radius: f64| (0..40).flat_map(move |i| [radius * f64::from(i).cos(), radius * f64::from(i).sin()]);
/// let points = Points::from_f64(ring(0.5).chain(ring(3.0)).collect::<Vec<_>>(), 80, 2)?;
/// let labels: Vec<usize> = (0..80).map(|i| i / 40).collect();
///
/// let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto)).unit(Unit::SIGMOID);
/// assert_eq!(classifier.fit(&points, &labels)?.predict(&points)?, labels);
/// assert_eq!(classifier.cross_validate(&points, &labels, 5, 1)?.accuracy, 1.0);
///
/// // As many components as explain half of the variance, or three of them, of columns that have been given the same spread.
/// let plain = KernelClassifier::new(KernelSpec::new("gaussian")).standardize().seed(1);
/// let half = plain.clone().variance(0.5).fit(&points, &labels)?;
/// assert!(half.n_components()[0] < plain.fit(&points, &labels)?.n_components()[0]);
/// let (three, threads, watch) = (plain.n_components(3), Threads::new(1)?, Watch::new());
/// assert_eq!(three.fit_watched(&points, &labels, &threads, &watch)?.n_components(), [3]);
/// let found = three.cross_validate_watched(&points, &labels, 5, 1, &threads, &watch)?;
/// assert_eq!(found.accuracy, three.cross_validate(&points, &labels, 5, 1)?.accuracy);
///
/// // A kernel that is not positive semi-definite: its negative eigenvalues can count as zero.
/// let sigmoid = KernelClassifier::new(KernelSpec::new("sigmoid"));
/// assert!(sigmoid.fit(&points, &labels).is_err());
/// assert!(sigmoid.negative(mercer::Negative::Clip).fit(&points, &labels).is_ok());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelClassifier {
    pub(super) kernel: KernelSpec,
    pub(super) n_components: Option<usize>,
    pub(super) variance: f64,
    pub(super) unit: Unit,
    pub(super) widths: Widths,
    pub(super) negative: Negative,
    pub(super) standardize: bool,
    pub(super) seed: u64,
    /// What each fit may take: a part of what there is where several run side by side.
    pub(super) memory: MemoryBudget,
}

impl KernelClassifier {
    /// A logistic unit on as many components as explain 99 % of the variance.
    pub fn new(kernel: KernelSpec) -> Self {
        Self {
            kernel,
            n_components: None,
            variance: 0.99,
            unit: Unit::LOGISTIC,
            widths: Widths::Common,
            negative: Negative::Error,
            standardize: false,
            seed: 0,
            memory: MemoryBudget::Auto,
        }
    }

    /// Sets the number of components, at most (there are never more than training points less one).
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = Some(n_components);
        self
    }

    /// Sets the share of the variance that the components explain, instead of their number.
    #[must_use]
    pub fn variance(mut self, share: f64) -> Self {
        (self.variance, self.n_components) = (share, None);
        self
    }

    /// Sets the layer on top (default: [`Unit::LOGISTIC`]).
    #[must_use]
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets whether classes share a width (default: they do).
    #[must_use]
    pub fn widths(mut self, widths: Widths) -> Self {
        self.widths = widths;
        self
    }

    /// Sets what is done with significant negative eigenvalues, which the sigmoid kernel has (default: they are an error).
    #[must_use]
    pub fn negative(mut self, negative: Negative) -> Self {
        self.negative = negative;
        self
    }

    /// Gives every column mean 0 and variance 1 before the kernel sees it, by the training points.
    #[must_use]
    pub fn standardize(mut self) -> Self {
        self.standardize = true;
        self
    }

    /// Sets where random numbers come from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Learns from points and the number of the class of each, counted from zero.
    ///
    /// # Errors
    ///
    /// If there is not one label per point, there is only one class, a setting is out of its domain, the kernel is a matrix that is given or has negative eigenvalues that were
    /// not allowed, or the points cannot be used.
    pub fn fit(&self, points: &Points, labels: &[usize]) -> Result<Classifier> {
        self.fit_watched(points, labels, &Threads::all()?, &Watch::new())
    }

    /// As [`fit`](Self::fit), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and [`Error::Interrupted`] if it was stopped.
    pub fn fit_watched(
        &self,
        points: &Points,
        labels: &[usize],
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<Classifier> {
        fitted::fit(self, points, labels, threads, watch)
    }

    /// Accuracy on points that were held out: each fold once, `repeats` times with other folds.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and if a class has fewer members than there are folds.
    pub fn cross_validate(
        &self,
        points: &Points,
        labels: &[usize],
        n_folds: usize,
        repeats: usize,
    ) -> Result<CrossValidation> {
        self.cross_validate_watched(points, labels, n_folds, repeats, &Threads::all()?, &Watch::new())
    }

    /// As [`cross_validate`](Self::cross_validate), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`cross_validate`](Self::cross_validate), and [`Error::Interrupted`] if it was stopped.
    pub fn cross_validate_watched(
        &self,
        points: &Points,
        labels: &[usize],
        n_folds: usize,
        repeats: usize,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<CrossValidation> {
        folds::cross_validate(self, points, labels, (n_folds, repeats), threads, watch)
    }

    /// The number of components, among some, with which most points that were held out are told right: each fold once, with components that are computed once for all numbers. How good a classifier
    /// with so many is, other folds should say.
    ///
    /// # Errors
    ///
    /// As [`cross_validate`](Self::cross_validate), if there is no number or one of them is zero, and [`Error::Interrupted`] if it was stopped.
    pub fn choose_n_components(
        &self,
        points: &Points,
        labels: &[usize],
        among: &[usize],
        n_folds: usize,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<ChosenComponents> {
        folds::choose(self, points, labels, among, n_folds, (threads, watch))
    }

    /// Checks settings and labels, and counts the members of each class.
    pub(super) fn validate(&self, points: &Points, labels: &[usize]) -> Result<Vec<usize>> {
        let kernel = self.kernel.resolve_without_points()?;
        if matches!(kernel, Kernel::Precomputed) {
            return Err(Error::UnsuitableKernel {
                what: "a classifier",
                kernel: kernel.name().to_owned(),
                reason: "it learns from points, and not from a matrix that is given",
            });
        }
        match self.unit {
            Unit::Sigmoid { learning_rate, epochs } => {
                Error::require_positive("learning_rate", learning_rate)?;
                if epochs == 0 {
                    return Err(Error::invalid("epochs", "at least 1", 0));
                }
            }
            Unit::Logistic { penalty } => Error::require_positive("penalty", penalty)?,
        }
        if self.n_components == Some(0) {
            return Err(Error::invalid("n_components", "at least 1", 0));
        }
        if !(self.variance > 0.0 && self.variance <= 1.0) {
            return Err(Error::invalid("variance", "a share above 0 and at most 1", self.variance));
        }
        let is_found = matches!(self.kernel.wanted_width(), Some(Width::Auto | Width::Median | Width::Scale));
        if self.widths == Widths::PerClass && !is_found {
            let width = self.kernel.wanted_width().unwrap_or_default();
            let requirement = format!("common for a kernel of width {width}, which is the same for every class");
            return Err(Error::invalid("widths", requirement, "per class"));
        }
        count_classes(points.n_samples(), labels)
    }
}

/// The members of each class.
pub(super) fn count_classes(n_samples: usize, labels: &[usize]) -> Result<Vec<usize>> {
    if labels.len() != n_samples {
        return Err(Error::Labels { problem: format!("there are {} labels for {n_samples} rows", labels.len()) });
    }
    let n_classes = labels.iter().max().map_or(0, |&largest| largest.saturating_add(1));
    if n_classes > n_samples {
        let problem = format!(
            "the largest class is {}, but there are only {n_samples} rows: number classes from 0",
            n_classes - 1
        );
        return Err(Error::Labels { problem });
    }
    let mut counts = vec![0; n_classes];
    for &label in labels {
        counts[label] += 1;
    }
    if counts.iter().filter(|&&count| count > 0).count() < 2 {
        let problem = "all rows have the same label: a classifier needs at least two classes".to_owned();
        return Err(Error::Labels { problem });
    }
    if let Some(empty) = counts.iter().position(|&count| count == 0) {
        return Err(Error::Labels { problem: format!("class {empty} has no rows, but class {} has", n_classes - 1) });
    }
    Ok(counts)
}
