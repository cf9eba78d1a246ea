//! What the record of a search has of it: the library's result under the names of all records (docs/records.md).

use mercer::tune::{Criterion, Landscape, Maximum, TuneMethod, Tuning};
use serde::Serialize;

/// The curve of a criterion over bandwidths, and its maxima. Kernel, seconds and warnings stand where all records have them.
#[derive(Serialize)]
pub(super) struct TuningRecord {
    criterion: Criterion,
    method: TuneMethod,
    n_samples: usize,
    n_used: usize,
    bandwidths: Vec<f64>,
    values: Vec<f64>,
    gradients: Vec<f64>,
    standard_errors: Vec<f64>,
    maxima: Vec<Maximum>,
    best_value: f64,
    standard_error: f64,
    /// Absent where nothing decides how narrow the interval must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
    converged: bool,
    passes: usize,
    pairs: u64,
}

impl From<Tuning> for TuningRecord {
    fn from(tuning: Tuning) -> Self {
        Self {
            criterion: tuning.criterion,
            method: tuning.method,
            n_samples: tuning.n_samples,
            n_used: tuning.n_used,
            bandwidths: tuning.bandwidths,
            values: tuning.values,
            gradients: tuning.gradients,
            standard_errors: tuning.standard_errors,
            maxima: tuning.maxima,
            best_value: tuning.best_value,
            standard_error: tuning.standard_error,
            tolerance: tuning.tolerance,
            converged: tuning.converged,
            passes: tuning.passes,
            pairs: tuning.pairs,
        }
    }
}

/// The variances of the leading components at every bandwidth.
#[derive(Serialize)]
pub(super) struct LandscapeRecord {
    bandwidths: Vec<f64>,
    leading_variances: Vec<Vec<f64>>,
    n_used: usize,
}

impl From<Landscape> for LandscapeRecord {
    fn from(found: Landscape) -> Self {
        Self { bandwidths: found.bandwidths, leading_variances: found.variances, n_used: found.n_used }
    }
}
