//! The checkpoint file: safetensors as the model file, from which a run goes on to the same bits.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `coefficients`, `images` | n × w | `S` and `S K'`, point by point |
//! | `column_means` | n | what centring subtracts; absent if the run is not centred |
//! | `log_gains`, `eigenvalues`, `gains` | r | `ρ`, `λ`, `η` |
//! | `products`, `squares`, `second_moments` | w × r, r × r | the small matrices; the last two only if eigenvalues are followed |
//! | `pending_transforms`, `pending_sizes` | m × w × w, m | `T` of batches that have not reached the coefficients, and how many samples each has |
//! | `pending_samples`, `pending_coefficients` | s, s × w | their samples, and `C` sample by sample |
//!
//! Batches are pending in the middle of a pass only, where the file has version 2. Were they done before they are kept, the rest of the
//! pass would be rounded otherwise than in a run that goes through.
//!
//! The points are not in the file: they are given again, and a digest tells whether they are the same.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use faer::MatRef;
use safetensors::tensor::TensorView;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::history::HistoryEntry;
use super::learner::HebbianLearner;
use super::schedule::GainParameters;
use super::settings::RecordError;
use super::state::{Pending, State, by_rows};
use super::trial::Standing;
use crate::choices::{Center, Gain, GainRule, Refresh};
use crate::data::{Points, RowsRef};
use crate::error::Result;
use crate::model::{Tensor, bad, digest, views_of, write_tensors};
use crate::record::KernelRecord;
use crate::scalar::Precision;

/// Version of the layout.
pub(super) const FORMAT_VERSION: u32 = 2;
/// The version without pending batches.
const SETTLED_VERSION: u32 = 1;
/// The header entry that makes a safetensors file a checkpoint.
pub(crate) const KEY: &str = "mercer-hebbian";
/// The name that errors give to a checkpoint that is not in a file.
pub(super) const IN_MEMORY: &str = "checkpoint in memory";

/// Everything that is not a tensor.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) format_version: u32,
    pub(super) kernel: KernelRecord,
    pub(super) precision: Precision,
    pub(super) center: Center,
    pub(super) negative: String,
    pub(super) gram: String,
    pub(super) n_samples: usize,
    pub(super) n_components: usize,
    pub(super) rule: GainRule,
    pub(super) refresh: Refresh,
    pub(super) eta0: Gain,
    pub(super) tau: Option<f64>,
    pub(super) mu: Gain,
    pub(super) xi: f64,
    pub(super) rho0: f64,
    pub(super) passes: usize,
    /// Updates that were asked for instead of passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) updates_asked: Option<usize>,
    pub(super) batch_size: Option<usize>,
    pub(super) record_every: Option<usize>,
    pub(super) record_error: RecordError,
    pub(super) seed: u64,
    /// The residual that is enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tolerance: Option<f64>,
    /// A digest of the start that was given; absent if it was random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<String>,
    pub(super) parameters: GainParameters,
    pub(super) mean: Option<f64>,
    pub(super) limit: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start_standing: Option<Standing>,
    pub(super) updates: usize,
    pub(super) origin: usize,
    pub(super) earlier_passes: usize,
    pub(super) history: Vec<HistoryEntry>,
    pub(super) seconds: f64,
    /// Seconds that errors (38) took; absent if none were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error_seconds: Option<f64>,
    pub(super) stopped: bool,
    pub(super) points: String,
    /// SHA-256 of this header with an empty digest, and of the tensors.
    pub(super) digest: String,
}

impl Header {
    pub(super) fn sorted_json(&self, path: &Path) -> Result<String> {
        serde_json::to_value(self)
            .and_then(|value| serde_json::to_string(&value))
            .map_err(|error| bad(path, format!("the header cannot be written: {error}")))
    }
}

impl HebbianLearner {
    /// Writes a checkpoint, from which [`resume`](Self::resume) goes on to the same bits: aside first, then into its place.
    ///
    /// ```
    /// use mercer::{HebbianLearner, Kernel, KernelHebbianPca, MemoryBudget, Points, Watch};
    ///
    /// let values: Vec<f64> = (0..60).map(|i| f64::from(i * i % 17)).collect();
    /// let points = Points::from_f64(values, 20, 3)?;
    /// let mut learner = KernelHebbianPca::new(Kernel::gaussian(0.01)?).passes(2).fit(&points)?;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("learner.state");
    /// learner.save(&path)?;
    /// let mut again = HebbianLearner::resume(&path, &points, MemoryBudget::Auto, Some(1))?;
    /// // The same without a file.
    /// let mut third = HebbianLearner::from_bytes(&learner.to_bytes()?, &points, None, MemoryBudget::Auto, None)?;
    /// for learner in [&mut learner, &mut again, &mut third] {
    ///     learner.partial_fit(None, 3, &Watch::new())?;
    /// }
    /// assert_eq!((again.coefficients(), third.coefficients()), (learner.coefficients(), learner.coefficients()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the kernel is a function, which cannot be.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.prepared.kernel.check_is_no_function("saving a checkpoint")?;
        self.with_views(path, |views, metadata| write_tensors(path, views, metadata))
    }

    /// The bytes of the checkpoint file. A kernel that is a function is not among them: [`from_bytes`](Self::from_bytes) has to be
    /// given it again.
    ///
    /// # Errors
    ///
    /// If the header cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let path = Path::new(IN_MEMORY);
        self.with_views(path, |views, metadata| {
            safetensors::serialize(views, Some(metadata)).map_err(|error| bad(path, error.to_string()))
        })
    }

    /// Calls `write` with the tensors and the header of the checkpoint.
    fn with_views<R>(
        &self,
        path: &Path,
        write: impl FnOnce(Vec<(&str, TensorView<'_>)>, HashMap<String, String>) -> Result<R>,
    ) -> Result<R> {
        let tensors = self.tensors();
        let header = self.header();
        let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
        let digest = digest(&header.sorted_json(path)?, parts);
        let json = Header { digest, ..header }.sorted_json(path)?;
        let views = views_of(&tensors, path)?;
        write(views, HashMap::from([(KEY.to_owned(), json)]))
    }

    pub(super) fn header(&self) -> Header {
        let (settings, common) = (&self.settings, &self.settings.common);
        Header {
            format_version: if self.state.pending.is_empty() { SETTLED_VERSION } else { FORMAT_VERSION },
            kernel: KernelRecord::from(&self.prepared.kernel),
            precision: self.prepared.precision,
            center: common.center,
            negative: common.negative.name().to_owned(),
            gram: common.gram.name().to_owned(),
            n_samples: self.state.n,
            n_components: settings.n_components,
            rule: settings.rule,
            refresh: settings.refresh,
            eta0: settings.eta0,
            tau: settings.tau,
            mu: settings.mu,
            xi: settings.xi,
            rho0: settings.rho0,
            passes: settings.passes,
            updates_asked: settings.updates,
            batch_size: settings.batch_size,
            record_every: settings.record_every,
            record_error: settings.record_error,
            seed: common.seed,
            tolerance: common.tolerance,
            start: self.start.clone(),
            parameters: self.parameters,
            mean: self.engine.centering().map(|centering| centering.mean),
            limit: self.limit,
            start_standing: self.start_standing,
            updates: self.state.small.updates,
            origin: self.state.origin,
            earlier_passes: self.state.earlier_passes,
            history: self.history.clone(),
            seconds: self.seconds,
            error_seconds: Some(self.error_seconds).filter(|&seconds| seconds > 0.0),
            stopped: self.stopped,
            points: self.points_digest.get_or_init(|| fingerprint(&self.points)).clone(),
            digest: String::new(),
        }
    }

    /// The tensors, in the order of their names.
    fn tensors(&self) -> Vec<Tensor> {
        let State { n, r, w, small, .. } = &self.state;
        let tall = |matrix: MatRef<'_, f64>| -> Vec<f64> {
            (0..*n).flat_map(|j| matrix.row(j).iter().copied().collect::<Vec<_>>()).collect()
        };
        let tensor =
            |name, shape: &[usize], values: &[f64]| Tensor::from_f64(name, shape.to_vec(), values.iter().copied());
        let mut tensors = vec![
            tensor("coefficients", &[*n, *w], &tall(self.state.unsettled())),
            tensor("images", &[*n, *w], &tall(self.state.images(0, *w))),
            tensor("log_gains", &[*r], &small.log_gains),
            tensor("eigenvalues", &[*r], &small.eigenvalues),
            tensor("gains", &[*r], &small.gains),
            tensor("products", &[*w, *r], &small.products),
        ];
        if !small.squares.is_empty() {
            tensors.push(tensor("squares", &[*r, *r], &small.squares));
            tensors.push(tensor("second_moments", &[*r, *r], &small.images));
        }
        if let Some(centering) = self.engine.centering() {
            tensors.push(tensor("column_means", &[*n], &centering.column_means));
        }
        if !self.state.pending.is_empty() {
            tensors.extend(pending_tensors(&self.state.pending, *w));
        }
        tensors.sort_by_key(|tensor| tensor.name);
        tensors
    }
}

/// What batches will do to the coefficients.
fn pending_tensors(pending: &[Pending], w: usize) -> [Tensor; 4] {
    let (m, s) = (pending.len(), pending.iter().map(|batch| batch.samples.len()).sum());
    let transforms = pending.iter().flat_map(|batch| by_rows(batch.transform.as_ref()));
    let sizes = pending.iter().map(|batch| batch.samples.len() as f64);
    let samples = pending.iter().flat_map(|batch| batch.samples.iter().map(|&sample| sample as f64));
    let coefficients = pending.iter().flat_map(|batch| by_rows(batch.coefficients.transpose()));
    [
        Tensor::from_f64("pending_transforms", vec![m, w, w], transforms),
        Tensor::from_f64("pending_sizes", vec![m], sizes),
        Tensor::from_f64("pending_samples", vec![s], samples),
        Tensor::from_f64("pending_coefficients", vec![s, w], coefficients),
    ]
}

/// A digest of points: shape, format and every value.
pub(super) fn fingerprint(points: &Points) -> String {
    let mut hasher = Sha256::new();
    hasher.update(format!("{points:?} {:?}", points.byte_scale()));
    for first in (0..points.n_samples()).step_by(1024) {
        match points.rows(first..points.n_samples().min(first + 1024)) {
            RowsRef::F32(values) => hasher.update(values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            RowsRef::F64(values) => hasher.update(values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>()),
            RowsRef::U8 { values, .. } => hasher.update(values),
        }
    }
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
