//! The record of a product.

use serde::{Deserialize, Serialize};

use crate::record::KernelRecord;
use crate::scalar::Precision;

/// What a product did and how good it is.
///
/// ```
/// use faer::Mat;
/// use mercer::{Kernel, KernelProduct, Points, Watch};
///
/// let points = Points::from_f32(vec![0.0, 0.0, 3.0, 4.0], 2, 2)?;
/// let ones = Mat::full(2, 1, 1.0);
/// let (_, record) =
///     KernelProduct::new(Kernel::gaussian(0.1)?).multiply(&points, ones.as_ref(), None, &Watch::new())?;
/// assert!(record.measured_error.is_some_and(|error| error < 1e-6));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProductRecord {
    /// Rows of the result.
    pub n_rows: usize,
    /// Points that the vectors belong to.
    pub n_samples: usize,
    /// Coordinates of each.
    pub n_features: usize,
    /// Vectors.
    pub n_vectors: usize,
    /// The kernel, with all its parameters.
    pub kernel: KernelRecord,
    /// Whether the points were centred in feature space.
    pub centered: bool,
    /// `tiled`, `stored`, `precomputed` or `expansion`.
    pub gram: String,
    /// How the product was made: `polynomial`, `series`, `clusters` or `grid` of an expansion, otherwise as `gram`.
    pub method: String,
    /// Coefficients that the expansion has; zero for tiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<usize>,
    /// What the measured error of an expansion is at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<f64>,
    /// The precision of tiles.
    pub precision: Precision,
    /// The largest difference, over some rows, from the product computed directly in double precision (twice that with centring,
    /// for the mean that is subtracted), relative
    /// to the largest value there; nothing if no row was looked at. With an expansion it is relative to the sum of the absolute
    /// values of the vector, times the largest value of the kernel.
    pub measured_error: Option<f64>,
    /// Rows that were computed directly.
    pub checked_rows: usize,
    /// Entries of the matrix that were computed.
    pub kernel_entries: u64,
    /// Seconds of the product, without the check.
    pub seconds: f64,
    /// The memory budget.
    pub memory_budget_bytes: u64,
    /// Threads that were used.
    pub threads: usize,
    /// What the user should know.
    #[serde(default)]
    pub warnings: Vec<String>,
}
