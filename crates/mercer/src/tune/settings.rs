//! The settings of a search for a kernel's width.

use super::result::Tuning;
use super::search;
use crate::choices::named;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::scalar::Precision;
use crate::watch::{Threads, Watch};

/// What makes one width better than another.
///
/// ```
/// use mercer::tune::Criterion;
///
/// assert_eq!("variance".parse::<Criterion>()?, Criterion::Variance);
/// assert!("best".parse::<Criterion>().is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Criterion {
    /// The variance of the components' variances, to be as large as possible: the criterion of \[NTM\].
    #[default]
    Variance,
    /// One over the median of what `gamma` multiplies: no search.
    Median,
    /// One over the number of columns times the variance of all values, as scikit-learn's `"scale"`: no search.
    Scale,
    /// The sum of the leading eigenvalues, to be as large as possible, from at most a thousand points.
    Leading,
    /// The sum of all eigenvalues over the effective rank, to be as large as possible: variance in few components. From at most ten
    /// thousand points, unless the method is [`TuneMethod::Exact`].
    EffectiveRank,
    /// The error of a third of the points, held out by the seed and reconstructed from their leading components, to be as small as possible; from at
    /// most a thousand points, after \[AF14\]. Its values are minus the share of the variance that is lost.
    Reconstruction,
}
named!(
    Criterion, "criterion",
    Variance => "variance", Median => "median", Scale => "scale", Leading => "leading",
    EffectiveRank => "effective-rank", Reconstruction => "reconstruction"
);

impl Criterion {
    /// Whether it gives a width without a search.
    pub(super) const fn is_heuristic(self) -> bool {
        matches!(self, Self::Median | Self::Scale)
    }

    /// What its values are: [`Tuning::values`] of a width without a search are those of [`Criterion::Variance`].
    ///
    /// ```
    /// use mercer::tune::Criterion;
    ///
    /// assert_eq!(Criterion::Median.measure(), Criterion::Variance.measure());
    /// assert_ne!(Criterion::Reconstruction.measure(), Criterion::Variance.measure());
    /// ```
    pub const fn measure(self) -> &'static str {
        match self {
            Self::Variance | Self::Median | Self::Scale => "variance of the variances",
            Self::Leading => "sum of the leading variances",
            Self::EffectiveRank => "variance over effective rank",
            Self::Reconstruction => "minus the share of variance lost",
        }
    }
}

/// Whether every pair of points is looked at.
///
/// ```
/// use mercer::tune::TuneMethod;
///
/// assert_eq!("sampled".parse::<TuneMethod>()?, TuneMethod::Sampled);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TuneMethod {
    /// Exact up to ten thousand points, sampled beyond; exact up to forty thousand where samples do not make the interval narrow enough.
    #[default]
    Auto,
    /// All pairs.
    Exact,
    /// Pairs of random samples, as many as the answer needs.
    Sampled,
}
named!(TuneMethod, "method", Auto => "auto", Exact => "exact", Sampled => "sampled");

/// A search for the width of a kernel, as it is asked for.
///
/// ```
/// use mercer::kernel::KernelSpec;
/// use mercer::tune::{Criterion, KernelTuner, TuneMethod};
/// use mercer::watch::{Threads, Watch};
/// use mercer::{Points, Precision};
///
/// // Three groups of points on a line.
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 20) * 10.0 + f64::from(i % 20) * 0.05).collect();
/// let points = Points::from_f64(values, 60, 1)?;
/// let tuning = KernelTuner::new(KernelSpec::new("gaussian")).tune(&points)?;
/// // Wide enough that points of a group are alike, narrow enough that groups are not.
/// assert!(tuning.best_bandwidth > 1.0 && tuning.best_bandwidth < 20.0, "{}", tuning.best_bandwidth);
///
/// // What would be chosen can be said.
/// let said = KernelTuner::new(KernelSpec::new("gaussian")).criterion(Criterion::Variance).method(TuneMethod::Exact);
/// let said = said.bandwidths([0.5, 2.0, 8.0, 32.0]).tolerance(1e-4).precision(Precision::F64).seed(1);
/// let found = said.tune_watched(&points, &Threads::new(1)?, &Watch::new())?;
/// assert_eq!((found.method, found.bandwidths), (TuneMethod::Exact, vec![0.5, 2.0, 8.0, 32.0]));
/// assert!((found.best_bandwidth / tuning.best_bandwidth - 1.0).abs() < 1e-3);
/// // What has no effect is refused: the variance of all distances counts no components.
/// assert!(said.n_components(2).tune(&points).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTuner {
    pub(super) kernel: KernelSpec,
    pub(super) criterion: Criterion,
    pub(super) method: TuneMethod,
    pub(super) bandwidths: Option<Vec<f64>>,
    pub(super) tolerance: Option<f64>,
    pub(super) precision: Option<Precision>,
    pub(super) n_components: Option<usize>,
    pub(super) seed: u64,
}

impl KernelTuner {
    /// A search for the width of `kernel`; a width that it has already is not looked at.
    pub fn new(kernel: KernelSpec) -> Self {
        Self {
            kernel,
            criterion: Criterion::Variance,
            method: TuneMethod::Auto,
            bandwidths: None,
            tolerance: None,
            precision: None,
            n_components: None,
            seed: 0,
        }
    }

    /// Sets what makes a width better (default: [`Criterion::Variance`]).
    #[must_use]
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = criterion;
        self
    }

    /// Sets whether every pair is looked at (default: up to ten thousand points, and as [`TuneMethod::Auto`] says).
    #[must_use]
    pub fn method(mut self, method: TuneMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the bandwidths that are tried (default: up to 64 over the distances that the data has, and more between them where a maximum could hide; at most 16 for
    /// [`Criterion::Leading`] and [`Criterion::Reconstruction`]), in any order, which the result keeps. Maxima between them are refined.
    #[must_use]
    pub fn bandwidths(mut self, bandwidths: impl Into<Vec<f64>>) -> Self {
        self.bandwidths = Some(bandwidths.into());
        self
    }

    /// Sets how narrow the interval of the best bandwidth must be, relative to it: for an exact search the width of the
    /// bracket that is left (default 1e-8, in single precision 1e-5), for a sampled one twice the standard error (default 0.01). For
    /// [`Criterion::Leading`] the default is 1e-3, for [`Criterion::Reconstruction`] twelve golden sections.
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets the precision of the sums of [`Criterion::Variance`] and [`Criterion::EffectiveRank`] (default: that of the data, single precision for bytes; double precision where single precision
    /// would change the curve of a sample of the points).
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = Some(precision);
        self
    }

    /// Sets how many components [`Criterion::Leading`] and [`Criterion::Reconstruction`] count (default: half the number of
    /// columns, from 1 to 10).
    #[must_use]
    pub fn n_components(mut self, n_components: usize) -> Self {
        self.n_components = Some(n_components);
        self
    }

    /// Sets where samples come from, and which points [`Criterion::Reconstruction`] holds out (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Looks for the best width for these points.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain or has no effect, the points cannot be used or are all equal, the kernel has no width, kernel values overflow
    /// ([`Error::KernelOverflow`]), or the criterion has no maximum over the distances of the data ([`Error::NoMaximum`]).
    pub fn tune(&self, points: &Points) -> Result<Tuning> {
        self.tune_watched(points, &Threads::all()?, &Watch::new())
    }

    /// As [`tune`](Self::tune), on given threads, with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`tune`](Self::tune), and [`Error::Interrupted`] if it was stopped.
    pub fn tune_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Tuning> {
        search::tune(self, points, true, threads, watch)
    }

    /// Checks every setting that does not depend on the points.
    pub(super) fn validate(&self) -> Result<()> {
        if let Some(tolerance) = self.tolerance {
            if !(tolerance > 0.0 && tolerance < 1.0) {
                return Err(Error::invalid("tolerance", "between 0 and 1", tolerance));
            }
            if self.criterion.is_heuristic() {
                return Err(self.useless("tolerance", tolerance));
            }
        }
        if let Some(bandwidths) = &self.bandwidths {
            if bandwidths.is_empty() {
                return Err(Error::invalid("bandwidths", "at least one number", "an empty list"));
            }
            bandwidths.iter().try_for_each(|&sigma| Error::require_positive("bandwidths", sigma))?;
            if self.criterion.is_heuristic() {
                return Err(self.useless("bandwidths", format!("{} numbers", bandwidths.len())));
            }
        }
        if let Some(precision) = self.precision
            && matches!(self.criterion, Criterion::Leading | Criterion::Reconstruction)
        {
            return Err(self.useless("precision", precision));
        }
        match (self.n_components, self.criterion) {
            (Some(0), _) => Err(Error::invalid("n_components", "at least 1", 0)),
            (Some(k), Criterion::Variance | Criterion::Median | Criterion::Scale | Criterion::EffectiveRank) => {
                Err(self.useless("n_components", k))
            }
            _ if self.method == TuneMethod::Sampled && self.criterion != Criterion::Variance => {
                Err(Error::invalid("method", "auto or exact for every criterion but variance", self.method))
            }
            _ => Ok(()),
        }
    }

    fn useless(&self, name: &'static str, value: impl ToString) -> Error {
        Error::invalid(name, format!("left out: the criterion {} has no use for it", self.criterion), value)
    }
}
