//! The model file: safetensors, with everything that is not a tensor in one JSON string.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `basis` | m × d | basis points, in their own format |
//! | `coefficients` | k × m | expansion coefficients, one row per component |
//! | `column_means` | m | what new points are centred with; absent if the model is not centred |
//! | `weights` | m | the centre as a combination of basis points; absent if it is their mean or the model is not centred |
//! | `factor`, `shift` | d | what new points are scaled with, `(x − shift) · factor`; absent if they are not |
//! | `feature_names` | bytes | a JSON array of the features' names; absent if they have none |
//!
//! The header's entry `mercer` holds [`Header`] as JSON. Nothing in a file is ever executed; a file that does not begin as a
//! model does is refused before its contents are read, and a digest of header and tensors tells an altered file from a whole one.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use faer::Mat;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::container::{Tensor, views_of, write_tensors};
use super::{BasisKind, Model, Parts, names};
use crate::data::{Points, RowsRef, Scaling};
use crate::error::{Error, Result};
use crate::gram::Centering;
use crate::kernel::{Kernel, KernelSpec, Width};
use crate::record::{KernelRecord, RunRecord};
use crate::scalar::Precision;

/// Version of the layout; raised when an older program could misread a newer file.
///
/// 1: the first. 2: with `factor` and `shift`, which a program that reads only 1 would leave out. 3: with basis points that are not the
/// training points, which a program that reads only 2 would centre by their mean. Files are written in the lowest version that tells all.
const FORMAT_VERSION: u32 = 3;
/// What messages call a model that is not in a file.
const IN_MEMORY: &str = "model in memory";
/// The header entry that makes a safetensors file a model.
const KEY: &str = "mercer";

#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    kernel: KernelRecord,
    precision: Precision,
    /// What bytes are multiplied by, if the basis points are bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    byte_scale: Option<f64>,
    /// Whether the basis points stand for the training points instead of being them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    representatives: bool,
    /// The squared length of the centre, which is the mean of all entries of the Gram matrix, if the model is centred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mean: Option<f64>,
    record: RunRecord,
    /// SHA-256 of this header with an empty digest, and of the tensors' names, shapes and bytes in the order of their names.
    digest: String,
}

impl Header {
    /// As JSON with sorted keys: the same model always gives the same bytes.
    fn sorted_json(&self) -> serde_json::Result<String> {
        serde_json::to_value(self).and_then(|value| serde_json::to_string(&value))
    }
}

impl Model {
    /// Writes the model to a file: aside first, then into its place, so that a failure leaves what was there before.
    ///
    /// ```
    /// use mercer::kernel::PairFunction;
    /// use mercer::{Kernel, KernelPca, Model, Points};
    ///
    /// let points = Points::from_f64(vec![0.0, 1.0, 3.0, 7.0], 4, 1)?;
    /// let model = KernelPca::new(Kernel::gaussian(0.1)?).fit(&points)?;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("line.mercer");
    /// model.save(&path)?;
    /// assert_eq!(Model::load(&path)?.transform(&points)?, model.transform(&points)?);
    ///
    /// // A kernel that is a function is only named in the file, and has to be given again.
    /// let product = || Kernel::custom(PairFunction::new("product", |x: &[f64], y: &[f64]| x[0] * y[0]));
    /// let model = KernelPca::new(product()).n_components(1).fit(&points)?;
    /// let again = Model::from_bytes(&model.to_bytes()?, Some(product()))?;
    /// assert_eq!(again.transform(&points)?, model.transform(&points)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the kernel is a function, which cannot be.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.kernel().check_is_no_function("saving a model")?;
        self.with_views(path, |views, metadata| write_tensors(path, views, metadata))
    }

    /// The bytes of the model's file.
    ///
    /// A kernel that is a function is only named in them: [`from_bytes`](Self::from_bytes) has to be given it back.
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

    /// Calls `write` with the tensors and the header of the model's file.
    fn with_views<R>(
        &self,
        path: &Path,
        write: impl FnOnce(Vec<(&str, TensorView<'_>)>, HashMap<String, String>) -> Result<R>,
    ) -> Result<R> {
        let tensors = self.tensors();
        let header = Header {
            format_version: match (self.basis_kind(), self.scaling()) {
                (BasisKind::Representatives, _) => 3,
                (BasisKind::TrainingSet, Some(_)) => 2,
                (BasisKind::TrainingSet, None) => 1,
            },
            kernel: KernelRecord::from(self.kernel()),
            precision: self.precision(),
            byte_scale: self.basis().byte_scale(),
            representatives: self.basis_kind() == BasisKind::Representatives,
            mean: self.centering().map(|centering| centering.mean),
            record: self.record().clone(),
            digest: String::new(),
        };
        let cannot = |error: serde_json::Error| bad(path, format!("the header cannot be written: {error}"));
        let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
        let digest = digest(&header.sorted_json().map_err(cannot)?, parts);
        let json = Header { digest, ..header }.sorted_json().map_err(cannot)?;
        let views = views_of(&tensors, path)?;
        let metadata = HashMap::from([(KEY.to_owned(), json)]);
        write(views, metadata)
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not a model, is damaged, or was written by a later version.
    pub fn load(path: &Path) -> Result<Self> {
        Self::read(path, &read_checked(path, &|why| not_a_model(path, why))?, None)
    }

    /// Reads a model from the bytes of its file, with its kernel if that is a function.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        Self::read(Path::new(IN_MEMORY), bytes, custom)
    }

    pub(crate) fn read(path: &Path, bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| not_a_model(path, &error.to_string()))?;
        let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
        let json = json.ok_or_else(|| not_a_model(path, "its header has no entry \"mercer\""))?;
        let version: VersionOnly =
            serde_json::from_str(json).map_err(|error| bad(path, format!("the header cannot be read: {error}")))?;
        if version.format_version > FORMAT_VERSION {
            return Err(bad(
                path,
                format!(
                    "the file has format {}, but this version reads only up to {FORMAT_VERSION}; use a newer one",
                    version.format_version
                ),
            ));
        }
        let header: Header =
            serde_json::from_str(json).map_err(|error| bad(path, format!("the header cannot be read: {error}")))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| not_a_model(path, &error.to_string()))?;
        Reader { path, header, tensors, custom }.model()
    }

    /// The model's tensors, in the order of their names.
    fn tensors(&self) -> Vec<Tensor> {
        let basis = self.basis();
        let (dtype, data) = match basis.rows(0..basis.n_samples()) {
            RowsRef::F32(values) => (Dtype::F32, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
            RowsRef::F64(values) => (Dtype::F64, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
            RowsRef::U8 { values, .. } => (Dtype::U8, values.to_vec()),
        };
        let shape = vec![basis.n_samples(), basis.n_features()];
        let coefficients = self.dual_coefficients();
        let columns = coefficients.col_iter().flat_map(|column| column.iter().copied());
        let coefficient_shape = vec![coefficients.ncols(), coefficients.nrows()];
        let mut tensors = vec![
            Tensor { name: "basis", dtype, shape, data },
            Tensor::from_f64("coefficients", coefficient_shape, columns),
        ];
        if let Some(centering) = self.centering() {
            let means = &centering.column_means;
            tensors.push(Tensor::from_f64("column_means", vec![means.len()], means.iter().copied()));
            if let Some(weights) = &centering.weights {
                tensors.push(Tensor::from_f64("weights", vec![weights.len()], weights.iter().copied()));
            }
        }
        if let Some(scaling) = self.scaling() {
            let shape = vec![scaling.n_features()];
            tensors.push(Tensor::from_f64("factor", shape.clone(), scaling.factor().iter().copied()));
            tensors.push(Tensor::from_f64("shift", shape, scaling.shift().iter().copied()));
        }
        tensors.extend(names::tensor(self.feature_names()));
        tensors.sort_by_key(|tensor| tensor.name);
        tensors
    }
}

/// What every version of the header has.
#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

/// A file whose header has been read.
struct Reader<'a> {
    path: &'a Path,
    header: Header,
    tensors: SafeTensors<'a>,
    custom: Option<Kernel>,
}

impl Reader<'_> {
    fn model(self) -> Result<Model> {
        let mut names: Vec<&str> = self.tensors.names();
        names.sort_unstable();
        let views: Vec<(&str, TensorView<'_>)> =
            names.iter().filter_map(|name| self.tensors.tensor(name).ok().map(|view| (*name, view))).collect();
        let unsigned = Header { digest: String::new(), ..self.header.clone() };
        let json =
            unsigned.sorted_json().map_err(|error| bad(self.path, format!("the header cannot be read: {error}")))?;
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        if digest(&json, parts) != self.header.digest {
            return Err(bad(self.path, "the file has been altered: its contents do not match its digest"));
        }
        let basis = self.basis()?;
        let kernel = self.kernel()?;
        let n = if matches!(kernel, Kernel::Precomputed) { basis.n_features() } else { basis.n_samples() };
        if n == 0 {
            return Err(bad(self.path, "the model has no basis points"));
        }
        let k = self.header.record.n_components;
        let record = &self.header.record;
        // A learner that sees every row once knows no residuals.
        let residuals = if record.residuals.is_empty() { k } else { record.residuals.len() };
        if [record.eigenvalues.len(), residuals, record.explained_variance_ratio.len()] != [k; 3] {
            return Err(bad(self.path, "the record does not fit the number of components"));
        }
        let values = self.f64_tensor("coefficients", &[k, n])?;
        let coefficients = Mat::from_fn(n, k, |i, j| values[j * n + i]);
        let centering = match self.header.mean {
            Some(mean) => Some(Centering {
                column_means: self.f64_tensor("column_means", &[n])?,
                mean,
                weights: if self.header.representatives { Some(self.f64_tensor("weights", &[n])?) } else { None },
            }),
            None => None,
        };
        let scaling = self.scaling(basis.n_features())?;
        let feature_names = names::read(&self.tensors, basis.n_features(), self.path)?;
        let model = Model::new(Parts {
            kernel,
            basis,
            basis_kind: if self.header.representatives { BasisKind::Representatives } else { BasisKind::TrainingSet },
            precision: self.header.precision,
            coefficients,
            centering,
            record: self.header.record,
        });
        let refused = |error: Error| bad(self.path, error.to_string());
        let model = scaling.into_iter().try_fold(model, Model::with_scaling).map_err(refused)?;
        feature_names.into_iter().try_fold(model, Model::with_feature_names).map_err(refused)
    }

    fn scaling(&self, n_features: usize) -> Result<Option<Scaling>> {
        if !self.tensors.names().iter().any(|name| ["factor", "shift"].contains(name)) {
            return Ok(None);
        }
        let (shift, factor) = (self.f64_tensor("shift", &[n_features])?, self.f64_tensor("factor", &[n_features])?);
        Scaling::new(shift, factor).map(Some).map_err(|error| bad(self.path, error.to_string()))
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>> {
        self.tensors.tensor(name).map_err(|_| bad(self.path, format!("the tensor \"{name}\" is missing")))
    }

    fn basis(&self) -> Result<Points> {
        let view = self.view("basis")?;
        let &[n, d] = view.shape() else {
            return Err(bad(
                self.path,
                format!("the tensor \"basis\" has shape {:?} instead of two numbers", view.shape()),
            ));
        };
        let points = match (view.dtype(), self.header.byte_scale) {
            (Dtype::F32, _) => Points::from_f32(from_bytes(view.data(), f32::from_le_bytes), n, d),
            (Dtype::F64, _) => Points::from_f64(from_bytes(view.data(), f64::from_le_bytes), n, d),
            (Dtype::U8, Some(scale)) => Points::from_u8(view.data().to_vec(), n, d, scale),
            (other, _) => return Err(bad(self.path, format!("the tensor \"basis\" has type {other:?}"))),
        };
        let points = points.map_err(|error| bad(self.path, error.to_string()))?;
        points.check_finite().map_err(|error| bad(self.path, error.to_string()))?;
        Ok(points)
    }

    fn kernel(&self) -> Result<Kernel> {
        if let Some(custom) = &self.custom {
            return Ok(custom.clone());
        }
        recorded_kernel(&self.header.kernel).map_err(|error| bad(self.path, error.to_string()))
    }

    fn f64_tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let view = self.view(name)?;
        if view.dtype() != Dtype::F64 || view.shape() != shape {
            let (found, dtype) = (view.shape(), view.dtype());
            return Err(bad(
                self.path,
                format!("the tensor \"{name}\" is {dtype:?} {found:?} instead of F64 {shape:?}"),
            ));
        }
        let values = from_bytes(view.data(), f64::from_le_bytes);
        if values.iter().any(|x| !x.is_finite()) {
            return Err(bad(self.path, format!("the tensor \"{name}\" holds numbers that are not finite")));
        }
        Ok(values)
    }
}

/// The kernel that a record tells of.
pub(crate) fn recorded_kernel(record: &KernelRecord) -> Result<Kernel> {
    let mut spec = KernelSpec::new(record.name.clone());
    if let Some(gamma) = record.gamma {
        spec = spec.width(Width::Gamma(gamma));
    }
    if let Some(degree) = record.degree {
        spec = spec.degree(degree);
    }
    if let Some(coef0) = record.coef0 {
        spec = spec.coef0(coef0);
    }
    if let Some(alpha) = record.alpha {
        spec = spec.alpha(alpha);
    }
    // All parameters are given, so the points have no part in it.
    let nothing = Points::from_f64(Vec::new(), 0, 1)?;
    spec.resolve(&nothing)
}

pub(super) fn from_bytes<T, const N: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.chunks_exact(N).map(|chunk| convert(chunk.try_into().expect("chunks have N bytes"))).collect()
}

/// The digest of a header and of tensors given by name, shape and bytes.
pub(crate) fn digest<'a, D: AsRef<[u8]>>(
    header: &str,
    parts: impl Iterator<Item = (&'a str, &'a [usize], D)>,
) -> String {
    let mut hasher = Sha256::new();
    hasher.update(header);
    for (name, shape, data) in parts {
        hasher.update(format!("{name}{shape:?}"));
        hasher.update(data);
    }
    hex(hasher)
}

/// A digest in hexadecimal digits.
pub(super) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether the header of a file has an entry, which says what kind of model it holds.
pub(crate) fn has_entry(bytes: &[u8], key: &str) -> bool {
    let Ok((_, metadata)) = SafeTensors::read_metadata(bytes) else { return false };
    metadata.metadata().as_ref().is_some_and(|entries| entries.contains_key(key))
}

/// The bytes of a file that begins as a model does: a foreign file is refused, in the words of the caller, before its contents
/// are taken into memory.
pub(crate) fn read_checked(path: &Path, foreign: &dyn Fn(&str) -> Error) -> Result<Vec<u8>> {
    let io = |source| Error::Io { doing: "reading", path: path.to_owned(), source };
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut start = [0; 9];
    let got = file.read(&mut start).map_err(io)?;
    let header = u64::from_le_bytes(start[..8].try_into().expect("eight bytes"));
    if got < 9 || start[8] != b'{' || header.saturating_add(8) > length {
        return Err(foreign("its first bytes are not those of a safetensors file"));
    }
    let mut bytes = start.to_vec();
    file.read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

/// An error about a file.
pub(crate) fn bad(path: &Path, problem: impl Into<String>) -> Error {
    Error::ModelFile { path: path.to_owned(), problem: problem.into() }
}

fn not_a_model(path: &Path, why: &str) -> Error {
    bad(path, format!("not a Mercer model, or cut short ({why})"))
}
