//! What a clustering did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use crate::record::{ExpansionRecord, KernelRecord, NystromRecord};
use crate::scalar::Precision;

/// The record of a clustering.
///
/// ```
/// use mercer::{Kernel, Points, SpectralClustering};
///
/// let points = Points::from_f64(vec![0.0, 0.1, 0.2, 7.0, 7.1], 5, 1)?;
/// let model = SpectralClustering::new(Kernel::gaussian(1.0)?, 2).fit(&points)?;
/// assert_eq!(model.record().cluster_sizes, [3, 2]);
/// assert!(model.record().converged);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClusterRecord {
    /// Version of the layout of records.
    pub record_version: u32,
    /// Version of the program that wrote it.
    pub version: String,
    /// Points that were clustered.
    pub n_samples: usize,
    /// Coordinates of each.
    pub n_features: usize,
    /// Clusters.
    pub n_clusters: usize,
    /// Eigenvectors that points are embedded with.
    pub n_components: usize,
    /// The kernel, with all its parameters.
    pub kernel: KernelRecord,
    /// How products with the Gram matrix were made.
    pub gram: String,
    /// How eigenpairs were found.
    pub solver: String,
    /// The precision of tiles.
    pub precision: Precision,
    /// Eigenvalues of the normalised matrix.
    pub eigenvalues: Vec<f64>,
    /// `‖P v − λ v‖ / λ₁` of each eigenvector; over landmarks, as measured on some rows of the exact matrix.
    pub residuals: Vec<f64>,
    /// What the residuals had to reach.
    pub tolerance: f64,
    /// Whether all of them did.
    pub converged: bool,
    /// Products with blocks of vectors: passes over the matrix.
    pub passes: usize,
    /// Products with single vectors.
    pub products: usize,
    /// Entries of the matrix that were computed.
    pub kernel_entries: u64,
    /// The smallest sum of a row of the matrix.
    pub smallest_degree: f64,
    /// The largest one.
    pub largest_degree: f64,
    /// Points in each cluster.
    pub cluster_sizes: Vec<usize>,
    /// The sum of the squared distances of all embedded points from the centres of their clusters.
    pub inertia: f64,
    /// Restarts of k-means; fewer than were asked for if the run was stopped.
    pub restarts: usize,
    /// Rounds of the restart that won.
    pub rounds: usize,
    /// Whether it went on until no point changed its cluster.
    pub kmeans_converged: bool,
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
    /// What was planned, and why; absent where the kernel Hebbian algorithm or landmarks found the eigenvectors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// The expansion that products were made by, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<ExpansionRecord>,
    /// The landmarks that eigenvectors were found over, if they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nystrom: Option<NystromRecord>,
    /// What the user should know about the answer.
    pub warnings: Vec<String>,
}
