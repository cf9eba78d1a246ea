//! A cluster model as bytes: safetensors, as a model file.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `basis` | n × d | the clustered points, in their own format; no rows for a precomputed kernel |
//! | `centers` | k × r | centres of the clusters |
//! | `degrees` | n | row sums of the kernel matrix |
//! | `eigenvectors` | r × n | eigenvectors of the normalised matrix, one row each |
//! | `labels` | n | the cluster of each point |

use std::collections::HashMap;
use std::path::Path;

use faer::Mat;
use safetensors::tensor::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::fitted::ClusterModel;
use super::record::ClusterRecord;
use crate::data::{Points, RowsRef};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::model::{Tensor, bad, digest, recorded_kernel, views_of};

const FORMAT_VERSION: u32 = 1;
/// What messages call it.
const NAME: &str = "clusters in memory";
/// The header entry that makes safetensors bytes a cluster model.
const KEY: &str = "mercer-clusters";

#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    byte_scale: Option<f64>,
    record: ClusterRecord,
    /// SHA-256 of this header with an empty digest, and of the tensors.
    digest: String,
}

impl Header {
    fn sorted_json(&self) -> Result<String> {
        let json = serde_json::to_value(self).and_then(|value| serde_json::to_string(&value));
        json.map_err(|error| wrong(format!("the header cannot be written: {error}")))
    }
}

fn wrong(problem: impl Into<String>) -> crate::Error {
    bad(Path::new(NAME), problem)
}

impl ClusterModel {
    /// The model as bytes.
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
        let tensors = self.tensors();
        let header = Header {
            format_version: FORMAT_VERSION,
            byte_scale: self.basis().byte_scale(),
            record: self.record().clone(),
            digest: String::new(),
        };
        let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
        let digest = digest(&header.sorted_json()?, parts);
        let json = Header { digest, ..header }.sorted_json()?;
        let views = views_of(&tensors, Path::new(NAME))?;
        safetensors::serialize(views, Some(HashMap::from([(KEY.to_owned(), json)])))
            .map_err(|error| wrong(error.to_string()))
    }

    /// The model with these bytes, with its kernel if that is a function.
    ///
    /// # Errors
    ///
    /// If the bytes are not a cluster model, were altered, or come from a later version.
    pub fn from_bytes(bytes: &[u8], custom: Option<Kernel>) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|error| wrong(error.to_string()))?;
        let json = metadata.metadata().as_ref().and_then(|entries| entries.get(KEY));
        let json = json.ok_or_else(|| wrong("these are not clusters: the header does not say so"))?;
        let header: Header =
            serde_json::from_str(json).map_err(|error| wrong(format!("the header cannot be read: {error}")))?;
        if header.format_version > FORMAT_VERSION {
            let found = header.format_version;
            return Err(wrong(format!("they have format {found}, but this version reads only up to {FORMAT_VERSION}")));
        }
        let tensors = SafeTensors::deserialize(bytes).map_err(|error| wrong(error.to_string()))?;
        Reader { header, tensors }.model(custom)
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
        vec![
            Tensor { name: "basis", dtype, shape: vec![basis.n_samples(), basis.n_features()], data },
            Tensor::from_f64("centers", vec![centers.nrows(), centers.ncols()], rows),
            Tensor::from_f64("degrees", vec![n], self.degrees().iter().copied()),
            Tensor::from_f64("eigenvectors", vec![vectors.ncols(), n], columns),
            Tensor {
                name: "labels",
                dtype: Dtype::U64,
                shape: vec![n],
                data: self.labels().iter().flat_map(|&label| (label as u64).to_le_bytes()).collect(),
            },
        ]
    }
}

struct Reader<'a> {
    header: Header,
    tensors: SafeTensors<'a>,
}

impl Reader<'_> {
    fn model(self, custom: Option<Kernel>) -> Result<ClusterModel> {
        let mut names: Vec<&str> = self.tensors.names();
        names.sort_unstable();
        let views: Vec<_> =
            names.iter().filter_map(|name| self.tensors.tensor(name).ok().map(|view| (*name, view))).collect();
        let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
        let unsigned = Header { digest: String::new(), ..self.header.clone() };
        if digest(&unsigned.sorted_json()?, parts) != self.header.digest {
            return Err(wrong("they have been altered: their contents do not match their digest"));
        }
        let record = &self.header.record;
        let (n, r, k) = (record.n_samples, record.n_components, record.n_clusters);
        let kernel = match custom {
            Some(custom) => custom,
            None => recorded_kernel(&record.kernel).map_err(|error| wrong(error.to_string()))?,
        };
        let eight = |name: &str, dtype, shape: &[usize]| self.numbers::<8>(name, dtype, shape);
        let degrees: Vec<f64> = eight("degrees", Dtype::F64, &[n])?.map(f64::from_le_bytes).collect();
        let vectors: Vec<f64> = eight("eigenvectors", Dtype::F64, &[r, n])?.map(f64::from_le_bytes).collect();
        let centers: Vec<f64> = eight("centers", Dtype::F64, &[k, r])?.map(f64::from_le_bytes).collect();
        let labels: Vec<usize> =
            eight("labels", Dtype::U64, &[n])?.map(|bytes| u64::from_le_bytes(bytes) as usize).collect();
        if record.eigenvalues.len() != r || labels.iter().any(|&label| label >= k) {
            return Err(wrong("the record does not fit the tensors"));
        }
        let basis = self.basis()?;
        let expected = if matches!(kernel, Kernel::Precomputed) { 0 } else { n };
        if basis.n_samples() != expected {
            return Err(wrong(format!("there are {} basis points instead of {expected}", basis.n_samples())));
        }
        let eigenvectors = Mat::from_fn(n, r, |i, j| vectors[j * n + i]);
        let centers = Mat::from_fn(k, r, |i, j| centers[i * r + j]);
        Ok(ClusterModel::new(kernel, &basis, eigenvectors, degrees, labels, centers, self.header.record))
    }

    fn basis(&self) -> Result<Points> {
        let view = self.tensors.tensor("basis").map_err(|_| wrong("the tensor \"basis\" is missing"))?;
        let &[n, d] = view.shape() else { return Err(wrong("the tensor \"basis\" does not have two dimensions")) };
        let made = match (view.dtype(), self.header.byte_scale) {
            (Dtype::F32, _) => {
                let numbers = self.numbers::<4>("basis", Dtype::F32, &[n, d])?;
                Points::from_f32(numbers.map(f32::from_le_bytes).collect::<Vec<_>>(), n, d)
            }
            (Dtype::F64, _) => {
                let numbers = self.numbers::<8>("basis", Dtype::F64, &[n, d])?;
                Points::from_f64(numbers.map(f64::from_le_bytes).collect::<Vec<_>>(), n, d)
            }
            (Dtype::U8, Some(scale)) => Points::from_u8(view.data().to_vec(), n, d, scale),
            (other, _) => return Err(wrong(format!("the tensor \"basis\" has type {other:?}"))),
        };
        made.map_err(|error| wrong(error.to_string()))
    }

    /// The numbers of a tensor of this type and shape, as bytes.
    fn numbers<const N: usize>(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
    ) -> Result<impl Iterator<Item = [u8; N]> + use<'_, N>> {
        let view = self.tensors.tensor(name).map_err(|_| wrong(format!("the tensor \"{name}\" is missing")))?;
        if view.dtype() != dtype || view.shape() != shape {
            let (found, of) = (view.shape().to_vec(), view.dtype());
            return Err(wrong(format!("the tensor \"{name}\" is {of:?} {found:?} instead of {dtype:?} {shape:?}")));
        }
        let chunks: Vec<[u8; N]> =
            view.data().chunks_exact(N).map(|chunk| chunk.try_into().expect("chunks have N bytes")).collect();
        Ok(chunks.into_iter())
    }
}
