//! What a run went through.

use serde::{Deserialize, Serialize};

/// The state of a run at the end of a pass, or wherever else it was asked for.
///
/// ```
/// use mercer::{Kernel, KernelHebbianPca, Points};
///
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
/// let points = Points::from_f64(values, 20, 3)?;
/// let learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(4).fit(&points)?;
/// let errors: Vec<f64> = learner.history().iter().filter_map(|entry| entry.error).collect();
/// assert_eq!(errors.len(), 4);
/// assert!(errors[3] < errors[0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Passes that were complete, those before the present points included.
    pub passes: usize,
    /// Updates so far.
    pub updates: usize,
    /// Estimates (20) of the eigenvalues, from the coefficients as they were.
    pub eigenvalue_estimates: Vec<f64>,
    /// The gains of the last update, adapted part included.
    pub gains: Vec<f64>,
    /// The reconstruction error (38), if it was asked for and affordable.
    pub error: Option<f64>,
    /// Seconds since the call began.
    pub seconds: f64,
}
