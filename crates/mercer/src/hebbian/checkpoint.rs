//! The checkpoint file: safetensors as the model file, from which a run goes on to the same bits.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `coefficients`, `images` | n × w | `S` and `S K'`, point by point |
//! | `column_means` | n | what centring subtracts; absent if the run is not centred |
//! | `log_gains`, `eigenvalues`, `gains` | r | `ρ`, `λ`, `η` |
//! | `products`, `squares`, `second_moments` | w × r, r × r | the small matrices; the last two only if eigenvalues are followed |
//!
//! The points are not in the file: they are given again, and a digest tells whether they are the same.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use faer::MatRef;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::batch::Small;
use super::history::HistoryEntry;
use super::learner::HebbianLearner;
use super::schedule::GainParameters;
use super::settings::{KernelHebbianPca, RecordError};
use super::setup::Setup;
use super::state::State;
use crate::choices::{Center, Gain, GainRule, MemoryBudget, Negative, Refresh};
use crate::data::{Points, RowsRef};
use crate::error::{Error, Result};
use crate::gram::Centering;
use crate::kernel::Kernel;
use crate::model::{Prepared, SpeedsFrom, Tensor, bad, digest, read_checked, recorded_kernel, write_aside};
use crate::record::KernelRecord;
use crate::scalar::Precision;

/// Version of the layout.
const FORMAT_VERSION: u32 = 1;
/// The header entry that makes a safetensors file a checkpoint.
const KEY: &str = "mercer-hebbian";

/// What every version of the header has.
#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

/// Everything that is not a tensor.
#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    kernel: KernelRecord,
    precision: Precision,
    center: Center,
    negative: String,
    gram: String,
    n_samples: usize,
    n_components: usize,
    rule: GainRule,
    refresh: Refresh,
    eta0: Gain,
    tau: Option<f64>,
    mu: Gain,
    xi: f64,
    rho0: f64,
    passes: usize,
    batch_size: Option<usize>,
    record_every: Option<usize>,
    record_error: RecordError,
    seed: u64,
    parameters: GainParameters,
    mean: Option<f64>,
    limit: f64,
    updates: usize,
    origin: usize,
    earlier_passes: usize,
    history: Vec<HistoryEntry>,
    seconds: f64,
    stopped: bool,
    points: String,
    /// SHA-256 of this header with an empty digest, and of the tensors.
    digest: String,
}

impl Header {
    fn sorted_json(&self, path: &Path) -> Result<String> {
        serde_json::to_value(self)
            .and_then(|value| serde_json::to_string(&value))
            .map_err(|error| bad(path, format!("the header cannot be written: {error}")))
    }
}

impl HebbianLearner {
    /// Writes a checkpoint, from which [`resume`](Self::resume) goes on to the same bits: aside first, then into its place.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the kernel is a function, which cannot be.
    pub fn save(&self, path: &Path) -> Result<()> {
        if let Kernel::Custom(custom) = &self.prepared.kernel {
            return Err(Error::UnsuitableKernel {
                what: "saving a checkpoint",
                kernel: custom.name().to_owned(),
                reason: "a function cannot be written to a file",
            });
        }
        let tensors = self.tensors();
        let header = self.header();
        let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
        let digest = digest(&header.sorted_json(path)?, parts);
        let json = Header { digest, ..header }.sorted_json(path)?;
        let views: Vec<(&str, TensorView<'_>)> = tensors
            .iter()
            .map(|tensor| {
                TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.data).map(|view| (tensor.name, view))
            })
            .collect::<std::result::Result<_, _>>()
            .map_err(|error| bad(path, error.to_string()))?;
        let metadata = HashMap::from([(KEY.to_owned(), json)]);
        write_aside(path, |aside| {
            safetensors::serialize_to_file(views, Some(metadata), aside).map_err(|error| match error {
                safetensors::SafeTensorError::IoError(source) => {
                    Error::Io { doing: "writing", path: path.to_owned(), source }
                }
                other => bad(path, other.to_string()),
            })
        })
    }

    /// Goes on from a checkpoint: `points` are those that were learned from, all of them in their order.
    ///
    /// Memory and threads are of this machine, not of the one that wrote the file; the iterates depend on neither.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not a checkpoint, is damaged, was written by a later version, or belongs to other points.
    pub fn resume(path: &Path, points: &Points, memory: MemoryBudget, threads: Option<usize>) -> Result<Self> {
        let not_one = |why: &str| bad(path, format!("not a checkpoint, or cut short ({why})"));
        let bytes = read_checked(path, &not_one)?;
        let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|error| not_one(&error.to_string()))?;
        let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
        let json = json.ok_or_else(|| not_one("its header has no entry \"mercer-hebbian\""))?;
        let unreadable = |error: serde_json::Error| bad(path, format!("the header cannot be read: {error}"));
        let VersionOnly { format_version: version } = serde_json::from_str(json).map_err(unreadable)?;
        if version > FORMAT_VERSION {
            let problem = format!(
                "the file has format {version}, but this version reads only up to {FORMAT_VERSION}; use a newer one"
            );
            return Err(bad(path, problem));
        }
        let header: Header = serde_json::from_str(json).map_err(unreadable)?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|error| not_one(&error.to_string()))?;
        Reader { path, header, tensors }.learner(points, memory, threads)
    }

    fn header(&self) -> Header {
        let (settings, common) = (&self.settings, &self.settings.common);
        Header {
            format_version: FORMAT_VERSION,
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
            batch_size: settings.batch_size,
            record_every: settings.record_every,
            record_error: settings.record_error,
            seed: common.seed,
            parameters: self.parameters,
            mean: self.engine.centering().map(|centering| centering.mean),
            limit: self.limit,
            updates: self.state.small.updates,
            origin: self.state.origin,
            earlier_passes: self.state.earlier_passes,
            history: self.history.clone(),
            seconds: self.seconds,
            stopped: self.stopped,
            points: fingerprint(&self.points),
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
            tensor("coefficients", &[*n, *w], &tall(self.state.coefficients(0, *w))),
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
        tensors.sort_by_key(|tensor| tensor.name);
        tensors
    }
}

/// A file whose header has been read.
struct Reader<'a> {
    path: &'a Path,
    header: Header,
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn learner(self, points: &Points, memory: MemoryBudget, threads: Option<usize>) -> Result<HebbianLearner> {
        self.check_digest()?;
        let header = &self.header;
        if header.points != fingerprint(points) {
            return Err(bad(self.path, "the checkpoint belongs to other points, or to these in another order"));
        }
        let settings = self.settings(memory, threads)?;
        settings.validate()?;
        let prepared = Prepared::new(&settings.common, points, SpeedsFrom::WhateverIsCheap)?;
        let Setup { mut engine, store_bytes, memory_bytes } = settings.set_up(&prepared, points)?;
        let (n, r) = (header.n_samples, header.n_components);
        if let Some(mean) = header.mean {
            engine.set_centering(Centering { column_means: self.finite("column_means", &[n])?, mean });
        }
        let adapts = header.rule.adapts();
        let w = if adapts { 2 * r } else { r };
        let (coefficients, images) = (self.finite("coefficients", &[n, w])?, self.finite("images", &[n, w])?);
        let rows = |values| MatRef::from_row_major_slice(values, n, w);
        let (coefficients, images) = (rows(&coefficients), rows(&images));
        let (padded, lanes) = engine.geometry();
        let mut state = State::new(coefficients.subcols(0, r), images.subcols(0, r), adapts, 0.0, padded, lanes);
        state.put(r, coefficients.subcols(r, w - r), images.subcols(r, w - r));
        state.small = self.small(r, w)?;
        (state.origin, state.earlier_passes) = (header.origin, header.earlier_passes);
        if header.origin > header.updates {
            return Err(bad(self.path, "the number of updates is wrong"));
        }
        Ok(HebbianLearner {
            settings,
            prepared,
            points: points.clone(),
            engine,
            state,
            parameters: header.parameters,
            limit: header.limit,
            history: header.history.clone(),
            store_bytes,
            memory_bytes,
            seconds: header.seconds,
            stopped: header.stopped,
        })
    }

    fn check_digest(&self) -> Result<()> {
        let mut names: Vec<&str> = self.tensors.names();
        names.sort_unstable();
        let views: Vec<(&str, TensorView<'_>)> =
            names.iter().filter_map(|name| self.tensors.tensor(name).ok().map(|view| (*name, view))).collect();
        let json = Header { digest: String::new(), ..self.header.clone() }.sorted_json(self.path)?;
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        if digest(&json, parts) == self.header.digest {
            Ok(())
        } else {
            Err(bad(self.path, "the file has been altered: its contents do not match its digest"))
        }
    }

    fn settings(&self, memory: MemoryBudget, threads: Option<usize>) -> Result<KernelHebbianPca> {
        let header = &self.header;
        let kernel = recorded_kernel(&header.kernel).map_err(|error| bad(self.path, error.to_string()))?;
        let mut settings = KernelHebbianPca::new(kernel)
            .n_components(header.n_components)
            .center(header.center)
            .gain(header.rule)
            .refresh(header.refresh)
            .eta0(header.eta0)
            .mu(header.mu)
            .xi(header.xi)
            .rho0(header.rho0)
            .passes(header.passes)
            .record_error(header.record_error)
            .negative(header.negative.parse::<Negative>()?)
            .gram(header.gram.parse()?)
            .precision(header.precision)
            .seed(header.seed)
            .memory(memory);
        settings.tau = header.tau;
        settings.batch_size = header.batch_size;
        settings.record_every = header.record_every;
        Ok(match threads {
            Some(threads) => settings.threads(threads),
            None => settings,
        })
    }

    fn small(&self, r: usize, w: usize) -> Result<Small> {
        let follows = self.header.rule.uses_eigenvalues() && self.header.refresh == Refresh::Iteration;
        let followed = |name| if follows { self.finite(name, &[r, r]) } else { Ok(Vec::new()) };
        Ok(Small {
            log_gains: self.finite("log_gains", &[r])?,
            // Gain rules without estimates have none.
            eigenvalues: self.numbers("eigenvalues", &[r])?,
            gains: self.finite("gains", &[r])?,
            products: self.finite("products", &[w, r])?,
            squares: followed("squares")?,
            images: followed("second_moments")?,
            updates: self.header.updates,
        })
    }

    fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let view = self.tensors.tensor(name);
        let view = view.map_err(|_| bad(self.path, format!("the tensor \"{name}\" is missing")))?;
        if view.dtype() != Dtype::F64 || view.shape() != shape {
            let (found, dtype) = (view.shape(), view.dtype());
            return Err(bad(
                self.path,
                format!("the tensor \"{name}\" is {dtype:?} {found:?} instead of F64 {shape:?}"),
            ));
        }
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("chunks have eight bytes"));
        Ok(view.data().chunks_exact(8).map(number).collect())
    }

    fn finite(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let values = self.numbers(name, shape)?;
        if values.iter().all(|x| x.is_finite()) {
            return Ok(values);
        }
        Err(bad(self.path, format!("the tensor \"{name}\" holds numbers that are not finite")))
    }
}

/// A digest of points: shape, format and every value.
fn fingerprint(points: &Points) -> String {
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
