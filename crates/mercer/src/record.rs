//! What a run did and how good its answer is: plain data that commands, reports and other languages read.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kernel::{Kernel, Parameter};
use crate::plan::Plan;
use crate::scalar::Precision;

/// Version of the layout of records, [`RunRecord`] among them; raised when a field changes its meaning or goes away.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let model = KernelPca::new(Kernel::linear()).n_components(1).fit(&points)?;
/// assert_eq!(model.record().record_version, mercer::record::RECORD_VERSION);
/// # Ok::<(), mercer::Error>(())
/// ```
pub const RECORD_VERSION: u32 = 2;

/// A kernel's name and parameters.
///
/// ```
/// use mercer::record::KernelRecord;
///
/// let record = KernelRecord::from(&mercer::Kernel::gaussian(0.5)?);
/// assert_eq!((record.name.as_str(), record.gamma, record.degree), ("gaussian", Some(0.5), None));
/// // In words, for a message.
/// assert_eq!(record.to_string(), "gaussian, gamma 0.5");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// Name of the kernel.
    pub name: String,
    /// Inverse width, if the kernel has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gamma: Option<f64>,
    /// Constant term, if the kernel has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coef0: Option<f64>,
    /// Degree, if the kernel has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degree: Option<u32>,
    /// Tail exponent, if the kernel has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<f64>,
}

impl From<&Kernel> for KernelRecord {
    fn from(kernel: &Kernel) -> Self {
        Self {
            name: kernel.name().to_owned(),
            gamma: kernel.parameter(Parameter::Gamma),
            coef0: kernel.parameter(Parameter::Coef0),
            degree: match kernel {
                Kernel::Polynomial(polynomial) => Some(polynomial.degree()),
                _ => None,
            },
            alpha: kernel.parameter(Parameter::Alpha),
        }
    }
}

impl fmt::Display for KernelRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let degree = self.degree.map(f64::from);
        let parameters = [("gamma", self.gamma), ("degree", degree), ("coef0", self.coef0), ("alpha", self.alpha)];
        f.write_str(&self.name)?;
        for (name, value) in parameters {
            if let Some(value) = value {
                write!(f, ", {name} {value}")?;
            }
        }
        Ok(())
    }
}

/// How the kernel matrix was expanded, and how far the expansion is from it.
///
/// ```
/// use mercer::{GramChoice, Kernel, KernelPca, Points};
///
/// let points = Points::from_f64((0..400).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 200, 2)?;
/// let model = KernelPca::new(Kernel::gaussian(0.5)?).gram(GramChoice::Expansion).fit(&points)?;
/// let expansion = model.record().expansion.as_ref().ok_or("tiles were used")?;
/// assert!(expansion.measured_error <= expansion.bound && expansion.bound <= expansion.tolerance);
/// assert!(expansion.terms > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExpansionRecord {
    /// `polynomial`, `series`, `clusters` or `grid`.
    pub method: String,
    /// Coefficients that a vector is brought to.
    pub terms: usize,
    /// What the error of an entry had to be at most, relative to the largest entry.
    pub tolerance: f64,
    /// What it is at most, by theory.
    pub bound: f64,
    /// The largest error of some entries that were computed directly.
    pub measured_error: f64,
    /// Rows that those entries were in; zero in records that do not say.
    #[serde(default)]
    pub checked_rows: usize,
}

impl ExpansionRecord {
    /// Whether what was measured is within what was promised.
    pub(crate) fn holds(&self) -> bool {
        self.measured_error <= self.bound.max(self.tolerance)
    }
}

/// The record of a fit.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points};
///
/// let points = Points::from_f64(vec![0.0, 1.0, 3.0, 4.0], 4, 1)?;
/// let model = KernelPca::new(Kernel::linear()).n_components(1).fit(&points)?;
/// let record = model.record();
/// assert!(record.converged && record.residuals[0] <= record.tolerance);
/// assert!((record.explained_variance_ratio[0] - 1.0).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Version of this layout.
    pub record_version: u32,
    /// Version of the program that wrote it.
    pub version: String,
    /// Points that were learned from.
    pub n_samples: usize,
    /// Coordinates of each.
    pub n_features: usize,
    /// Components that were found.
    pub n_components: usize,
    /// The kernel, with all its parameters.
    pub kernel: KernelRecord,
    /// Whether the points were centred in feature space.
    pub centered: bool,
    /// How products with the Gram matrix were made.
    pub gram: String,
    /// With `gram` = `expansion`: by what method, and how good it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionRecord>,
    /// How eigenpairs were found.
    pub solver: String,
    /// The precision of tiles.
    pub precision: Precision,
    /// Eigenvalues of the (centred) Gram matrix.
    pub eigenvalues: Vec<f64>,
    /// The share of the total variance that each component explains.
    pub explained_variance_ratio: Vec<f64>,
    /// The trace of the (centred) Gram matrix.
    pub total_variance: f64,
    /// `‖K v − λ v‖ / λ₁` of each component; empty if it was learned from rows that were seen once.
    pub residuals: Vec<f64>,
    /// What the residuals had to reach.
    pub tolerance: f64,
    /// Whether all of them did, and nothing that was asked for is missing: a share of the variance that was not reached, although there
    /// is more to be found, is.
    pub converged: bool,
    /// Products with blocks of vectors: passes over the matrix.
    pub passes: usize,
    /// Products with single vectors.
    pub products: usize,
    /// Entries of the matrix that were computed.
    pub kernel_entries: u64,
    /// Passes that earlier parts of this run had made, if it went on from a checkpoint. They are in the counts above, but not in the
    /// seconds below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_after_passes: Option<usize>,
    /// Seconds of each phase, and in all.
    pub seconds: BTreeMap<String, f64>,
    /// The largest amount of memory the process had resident.
    pub peak_memory_bytes: u64,
    /// The memory budget.
    pub memory_budget_bytes: u64,
    /// Threads that were used.
    pub threads: usize,
    /// Where random numbers came from.
    pub seed: u64,
    /// What was planned, and why.
    pub plan: Plan,
    /// What the user should know about the answer.
    pub warnings: Vec<String>,
    /// How far from the components the training points lie; absent in records of earlier versions and of precomputed kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_limits: Option<ControlLimits>,
    /// How good landmarks are as a stand-in for all points; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nystrom: Option<NystromRecord>,
}

/// What landmarks leave of the kernel matrix.
///
/// ```
/// use mercer::nystrom::{Nystrom, NystromPca};
/// use mercer::{Kernel, Points};
///
/// let points = Points::from_f64((0..400).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 200, 2)?;
/// let model = NystromPca::new(Nystrom::new(Kernel::gaussian(0.5)?).n_landmarks(20)).fit(&points)?;
/// let landmarks = model.record().nystrom.as_ref().ok_or("there are landmarks")?;
/// assert_eq!((landmarks.landmarks.as_str(), landmarks.n_landmarks), ("rpcholesky", 20));
/// // The Gaussian kernel of every point with itself is one, and little of that is missing.
/// assert!((landmarks.trace - 200.0).abs() < 1e-9 && landmarks.relative_trace_error < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NystromRecord {
    /// How they were chosen.
    pub landmarks: String,
    /// How many there are.
    pub n_landmarks: usize,
    /// How many of them are not combinations of the others, to rounding.
    pub rank: usize,
    /// The trace of the uncentred kernel matrix.
    pub trace: f64,
    /// The trace of what is missing, which bounds the error of every product with the matrix.
    pub trace_error: f64,
    /// The same as a share of the whole.
    pub relative_trace_error: f64,
    /// Rows of the exact matrix that residuals were measured on.
    pub residual_rows: usize,
}

/// What a fit would do: the record of a plan.
///
/// ```
/// use mercer::{Kernel, KernelPca, Points};
///
/// let points = Points::from_f64(vec![1.0, 2.0, 3.0], 3, 1)?;
/// let record = KernelPca::new(Kernel::linear()).n_components(1).plan_record(&points)?;
/// assert_eq!((record.n_components, record.data_bytes), (Some(1), 24));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Version of this layout, as in [`RunRecord`].
    pub record_version: u32,
    /// Version of the program that wrote it.
    pub version: String,
    /// Points that would be learned from.
    pub n_samples: usize,
    /// Coordinates of each.
    pub n_features: usize,
    /// Components that are wanted; absent if a share of the variance is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_components: Option<usize>,
    /// The share of the variance that is wanted; absent if a number of components is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variance: Option<f64>,
    /// The kernel, with all its parameters.
    pub kernel: KernelRecord,
    /// Whether the points would be centred in feature space.
    pub centered: bool,
    /// What the residuals would have to reach.
    pub tolerance: f64,
    /// Bytes that the points take.
    pub data_bytes: u64,
    /// The memory budget, which is for what comes beyond the data.
    pub memory_budget_bytes: u64,
    /// Threads that would work.
    pub threads: usize,
    /// What would be done, why, and what it would cost.
    pub plan: Plan,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// How far training points lie from what the components explain: limits that new points are held against.
///
/// A limit at level `q` is the smallest value that at least the share `q` of the training points does not exceed.
///
/// ```
/// use mercer::record::ControlLimits;
///
/// let limits =
///     ControlLimits { levels: vec![0.5, 0.99], reconstruction_error: vec![0.1, 0.4], t_squared: vec![2.0, 9.0] };
/// assert_eq!(limits.at(0.99).map(|limit| limit.t_squared), Some(9.0));
/// assert!(limits.at(0.98).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlLimits {
    /// The levels, rising.
    pub levels: Vec<f64>,
    /// Limits of the reconstruction error in feature space, one for each level.
    pub reconstruction_error: Vec<f64>,
    /// Limits of Hotelling's T², one for each level.
    pub t_squared: Vec<f64>,
}

/// The limits at one level.
///
/// ```
/// use mercer::record::ControlLimit;
///
/// let limit = ControlLimit { level: 0.99, reconstruction_error: 0.4, t_squared: 9.0 };
/// assert!(serde_json::to_string(&limit)?.contains("\"t_squared\":9.0"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlLimit {
    /// The share of the training points that is within each limit.
    pub level: f64,
    /// Limit of the reconstruction error in feature space.
    pub reconstruction_error: f64,
    /// Limit of Hotelling's T².
    pub t_squared: f64,
}

impl ControlLimits {
    /// The limits at a level, if they were learned at that level.
    pub fn at(&self, level: f64) -> Option<ControlLimit> {
        let place = self.levels.iter().position(|known| (known - level).abs() < 1e-9)?;
        Some(ControlLimit {
            level,
            reconstruction_error: *self.reconstruction_error.get(place)?,
            t_squared: *self.t_squared.get(place)?,
        })
    }
}
