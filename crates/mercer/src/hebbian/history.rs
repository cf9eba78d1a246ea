//! What a run went through.

use serde::{Deserialize, Serialize};

/// The state of a run at the end of a pass, or wherever else it was asked for.
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
