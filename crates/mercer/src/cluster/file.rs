//! The file of a cluster model: safetensors, as a model's.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `basis` | n × d | the clustered points, in their own format; no rows for a precomputed kernel; m × d where they are landmarks |
//! | `centers` | k × r | centres of the clusters |
//! | `degrees` | n | row sums of the kernel matrix |
//! | `eigenvectors` | r × n | eigenvectors of the normalised matrix, one row each |
//! | `factor`, `shift` | d | what new points are scaled with, `(x − shift) · factor`; absent if they are not |
//! | `feature_names` | bytes | a JSON array of the features' names; absent if they have none |
//! | `labels` | n | the cluster of each point |
//! | `weights` | (r + 1) × m | what kernel values with landmarks are multiplied with; absent where new points are compared with all |
//!
//! The header's entry `mercer-clusters` holds [`Header`] as JSON.

use std::collections::HashMap;
use std::path::Path;

use faer::Mat;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::fitted::ClusterModel;
use super::record::ClusterRecord;
use crate::data::{Points, RowsRef, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::model::{Tensor, bad, digest, has_entry, names, read_checked, recorded_kernel, views_of, write_tensors};

/// Version of the layout; raised when an older program could misread a newer file.
///
/// 1: the first. 2: with `factor` and `shift`, which a program that reads only 1 would leave out. 3: with `weights`, without which landmarks would be
/// taken for all points. Files are written in the lowest version that tells all.
const FORMAT_VERSION: u32 = 3;
/// What messages call clusters that are not in a file.
const IN_MEMORY: &str = "clusters in memory";
/// The header entry that makes a safetensors file a cluster model.
const KEY: &str = "mercer-clusters";

#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    /// What bytes are multiplied by, if the clustered points are bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    byte_scale: Option<f64>,
    record: ClusterRecord,
    /// SHA-256 of this header with an empty digest, and of the tensors' names, shapes and bytes in the order of their names.
    digest: String,
}

/// What every version of the header has.
#[derive(Deserialize)]
struct VersionOnly {
    format_version: u32,
}

impl Header {
    /// As JSON with sorted keys: the same model always gives the same bytes.
    fn sorted_json(&self, path: &Path) -> Result<String> {
        serde_json::to_value(self)
            .and_then(|value| serde_json::to_string(&value))
            .map_err(|error| bad(path, format!("the header cannot be written: {error}")))
    }
}

fn foreign(path: &Path, why: &str) -> Error {
    bad(path, format!("not a Mercer clustering, or cut short ({why})"))
}

impl ClusterModel {
    /// Writes the model to a file: aside first, then into its place, so that a failure leaves what was there before.
    ///
    /// ```
    /// use mercer::{ClusterModel, Kernel, Points, SpectralClustering};
    ///
    /// let points = Points::from_f64(vec![0.0, 0.1, 7.0, 7.1], 4, 1)?;
    /// let model = SpectralClustering::new(Kernel::gaussian(1.0)?, 2).fit(&points)?;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("groups.mercer");
    /// model.with_feature_names(vec!["height".to_owned()])?.save(&path)?;
    ///
    /// let again = ClusterModel::load(&path)?;
    /// assert_eq!(again.labels(), [0, 0, 1, 1]);
    /// assert_eq!(again.feature_names(), Some(&["height".to_owned()][..]));
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
    /// ```
    /// use mercer::{ClusterModel, Kernel, Points, SpectralClustering};
    ///
    /// let points = Points::from_f64(vec![0.0, 0.1, 7.0, 7.1], 4, 1)?;
    /// let model = SpectralClustering::new(Kernel::gaussian(1.0)?, 2).fit(&points)?;
    /// let again = ClusterModel::from_bytes(&model.to_bytes()?, None)?;
    /// assert_eq!(again.predict(&points)?, model.labels());
    /// # Ok::<(), mercer::Error>(())
    /// ```
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
            format_version: match (self.weights(), self.scaling()) {
                (Some(_), _) => 3,
                (None, Some(_)) => 2,
                (None, None) => 1,
            },
            byte_scale: self.basis().byte_scale(),
            record: self.record().clone(),
            digest: String::new(),
        };
        let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
        let digest = digest(&header.sorted_json(path)?, parts);
        let json = Header { digest, ..header }.sorted_json(path)?;
        write(views_of(&tensors, path)?, HashMap::from([(KEY.to_owned(), json)]))
    }

    /// Reads a model from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, holds no clusters, is damaged, or was written by a later version.
    pub fn load(path: &Path) -> Result<Self> {
        Self::read(path, &read_checked(path, &|why| foreign(path, why))?, None)
    }

    /// Reads a model from the bytes of its file, with its kernel if that is a function.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        Self::read(Path::new(IN_MEMORY), bytes, custom)
    }

    /// Whether the header of a file is that of clusters.
    pub(crate) fn is_in(bytes: &[u8]) -> bool {
        has_entry(bytes, KEY)
    }

    pub(crate) fn read(path: &Path, bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        let header = header_of(bytes, path)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| foreign(path, &error.to_string()))?;
        let reader = Reader { path, header, tensors };
        reader.check_digest()?;
        reader.model(custom)
    }

    /// The tensors, in the order of their names.
    fn tensors(&self) -> Vec<Tensor> {
        let basis = self.basis();
        let (dtype, data) = match basis.rows(0..basis.n_samples()) {
            RowsRef::F32(values) => (Dtype::F32, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
            RowsRef::F64(values) => (Dtype::F64, values.iter().flat_map(|x| x.to_le_bytes()).collect()),
            RowsRef::U8 { values, .. } => (Dtype::U8, values.to_vec()),
        };
        let (centers, vectors, n) = (self.centers(), self.eigenvectors(), self.degrees().len());
        let rows = centers.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>());
        let columns = vectors.col_iter().flat_map(|column| column.iter().copied());
        let labels = self.labels().iter().flat_map(|&label| (label as u64).to_le_bytes()).collect();
        let mut tensors = vec![
            Tensor { name: "basis", dtype, shape: vec![basis.n_samples(), basis.n_features()], data },
            Tensor::from_f64("centers", vec![centers.nrows(), centers.ncols()], rows),
            Tensor::from_f64("degrees", vec![n], self.degrees().iter().copied()),
            Tensor::from_f64("eigenvectors", vec![vectors.ncols(), n], columns),
            Tensor { name: "labels", dtype: Dtype::U64, shape: vec![n], data: labels },
        ];
        if let Some(scaling) = self.scaling() {
            let shape = vec![scaling.n_features()];
            tensors.push(Tensor::from_f64("factor", shape.clone(), scaling.factor().iter().copied()));
            tensors.push(Tensor::from_f64("shift", shape, scaling.shift().iter().copied()));
        }
        if let Some(weights) = self.weights() {
            let columns = weights.col_iter().flat_map(|column| column.iter().copied());
            tensors.push(Tensor::from_f64("weights", vec![weights.ncols(), weights.nrows()], columns));
        }
        tensors.extend(names::tensor(self.feature_names()));
        tensors.sort_by_key(|tensor| tensor.name);
        tensors
    }
}

fn header_of(bytes: &[u8], path: &Path) -> Result<Header> {
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| foreign(path, &error.to_string()))?;
    let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
    let json = json.ok_or_else(|| foreign(path, &format!("its header has no entry \"{KEY}\"")))?;
    let unreadable = |error: serde_json::Error| bad(path, format!("the header cannot be read: {error}"));
    let found = serde_json::from_str::<VersionOnly>(json).map_err(unreadable)?.format_version;
    if found > FORMAT_VERSION {
        let problem =
            format!("the file has format {found}, but this version reads only up to {FORMAT_VERSION}; use a newer one");
        return Err(bad(path, problem));
    }
    serde_json::from_str(json).map_err(unreadable)
}

/// A file whose header has been read.
struct Reader<'a> {
    path: &'a Path,
    header: Header,
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn wrong(&self, problem: impl Into<String>) -> Error {
        bad(self.path, problem)
    }

    fn check_digest(&self) -> Result<()> {
        let mut names: Vec<&str> = self.tensors.names();
        names.sort_unstable();
        let views: Vec<_> =
            names.iter().filter_map(|name| self.tensors.tensor(name).ok().map(|view| (*name, view))).collect();
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        let unsigned = Header { digest: String::new(), ..self.header.clone() };
        if digest(&unsigned.sorted_json(self.path)?, parts) != self.header.digest {
            return Err(self.wrong("the file has been altered: its contents do not match its digest"));
        }
        Ok(())
    }

    fn model(self, custom: Option<Kernel>) -> Result<ClusterModel> {
        let record = &self.header.record;
        let (n, r, k) = (record.n_samples, record.n_components, record.n_clusters);
        let kernel = match custom {
            Some(custom) => custom,
            None => recorded_kernel(&record.kernel).map_err(|error| self.wrong(error.to_string()))?,
        };
        let degrees = self.finite("degrees", &[n])?;
        let vectors = self.finite("eigenvectors", &[r, n])?;
        let centers = self.finite("centers", &[k, r])?;
        let labels: Vec<usize> =
            self.numbers("labels", Dtype::U64, &[n])?.map(|bytes| u64::from_le_bytes(bytes) as usize).collect();
        let fits = n > 0 && record.eigenvalues.len() == r && record.cluster_sizes.len() == k;
        if !fits || labels.iter().any(|&label| label >= k) {
            return Err(self.wrong("the record does not fit the tensors"));
        }
        // Both are divided by.
        if degrees.iter().chain(&record.eigenvalues).any(|&number| number.is_nan() || number <= 0.0) {
            return Err(self.wrong("degrees and eigenvalues must be positive"));
        }
        let basis = self.basis()?;
        let is_matrix = matches!(kernel, Kernel::Precomputed);
        let (rows, weights) = (basis.n_samples(), self.weights(r, basis.n_samples())?);
        let expected = match &weights {
            _ if is_matrix => 0,
            Some(_) => rows.max(1),
            None => n,
        };
        if rows != expected || (is_matrix && basis.n_features() != n) {
            return Err(self.wrong(format!("there are {rows} basis points instead of {expected}")));
        }
        let scaling = self.scaling(basis.n_features())?;
        let feature_names = names::read(&self.tensors, basis.n_features(), self.path)?;
        let eigenvectors = Mat::from_fn(n, r, |i, j| vectors[j * n + i]);
        let centers = Mat::from_fn(k, r, |i, j| centers[i * r + j]);
        let refused = |error: Error| bad(self.path, error.to_string());
        let model = ClusterModel::new(kernel, &basis, eigenvectors, degrees, labels, centers, self.header.record);
        let model = weights.into_iter().fold(model, |model, weights| model.over(weights, basis.clone()));
        let model = scaling.into_iter().try_fold(model, ClusterModel::with_scaling).map_err(refused)?;
        feature_names.into_iter().try_fold(model, ClusterModel::with_feature_names).map_err(refused)
    }

    fn scaling(&self, n_features: usize) -> Result<Option<Scaling>> {
        if !self.tensors.names().iter().any(|name| ["factor", "shift"].contains(name)) {
            return Ok(None);
        }
        let (shift, factor) = (self.finite("shift", &[n_features])?, self.finite("factor", &[n_features])?);
        Scaling::new(shift, factor).map(Some).map_err(|error| self.wrong(error.to_string()))
    }

    /// What embeds new points with `m` landmarks along `r` eigenvectors, if there are landmarks.
    fn weights(&self, r: usize, m: usize) -> Result<Option<Mat<f64>>> {
        if !self.tensors.names().contains(&"weights") {
            return Ok(None);
        }
        let weights = self.finite("weights", &[r + 1, m])?;
        Ok(Some(Mat::from_fn(m, r + 1, |i, j| weights[j * m + i])))
    }

    fn basis(&self) -> Result<Points> {
        let view = self.view("basis")?;
        let &[n, d] = view.shape() else { return Err(self.wrong("the tensor \"basis\" does not have two dimensions")) };
        let made = match (view.dtype(), self.header.byte_scale) {
            (Dtype::F32, _) => {
                let numbers = self.numbers("basis", Dtype::F32, &[n, d])?;
                Points::from_f32(numbers.map(f32::from_le_bytes).collect::<Vec<_>>(), n, d)
            }
            (Dtype::F64, _) => {
                let numbers = self.numbers("basis", Dtype::F64, &[n, d])?;
                Points::from_f64(numbers.map(f64::from_le_bytes).collect::<Vec<_>>(), n, d)
            }
            (Dtype::U8, Some(scale)) => Points::from_u8(view.data().to_vec(), n, d, scale),
            (other, _) => return Err(self.wrong(format!("the tensor \"basis\" has type {other:?}"))),
        };
        let points = made.map_err(|error| self.wrong(error.to_string()))?;
        points.check_finite().map_err(|error| self.wrong(error.to_string()))?;
        Ok(points)
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>> {
        self.tensors.tensor(name).map_err(|_| self.wrong(format!("the tensor \"{name}\" is missing")))
    }

    /// The numbers of a tensor of double precision and this shape, all of them finite.
    fn finite(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>> {
        let values: Vec<f64> = self.numbers(name, Dtype::F64, shape)?.map(f64::from_le_bytes).collect();
        if values.iter().any(|x| !x.is_finite()) {
            return Err(self.wrong(format!("the tensor \"{name}\" holds numbers that are not finite")));
        }
        Ok(values)
    }

    /// The numbers of a tensor of this type and shape, as bytes.
    fn numbers<const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<impl Iterator<Item = [u8; N]> + use<'_, N>> {
        let view = self.view(name)?;
        if view.dtype() != dtype || view.shape() != shape {
            let (found, of) = (view.shape().to_vec(), view.dtype());
            return Err(self.wrong(format!("the tensor \"{name}\" is {of:?} {found:?} instead of {dtype:?} {shape:?}")));
        }
        let chunks: Vec<[u8; N]> =
            view.data().chunks_exact(N).map(|chunk| chunk.try_into().expect("chunks have N bytes")).collect();
        Ok(chunks.into_iter())
    }
}
