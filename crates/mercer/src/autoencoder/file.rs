//! The file of an autoencoder: safetensors, as a model's.
//!
//! | tensor | shape | meaning |
//! |---|---|---|
//! | `encoder`, `decoder` | k × p | quadratic forms (upper triangles column by column with off-diagonal entries times √2, or all entries), or coefficients over the span |
//! | `mean` | d | the mean of the points learned from |
//! | `span` | m × d | the points of the span; absent with full span |
//! | `feature_names` | bytes | a JSON array of the features' names; absent if they have none |
//!
//! Coefficients and span are those of points divided by `scale`. The header's entry `mercer-autoencoder` holds [`Header`] as JSON.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use faer::{Mat, MatRef};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use super::choices::Sign;
use super::forms::{Forms, Layout};
use super::info::Info;
use super::model::Autoencoder;
use super::parameters::Parameters;
use super::span::Span;
use crate::error::{Error, Result};
use crate::model::{Tensor, bad, digest, has_entry, names, read_checked, views_of, write_tensors};

/// Version of the layout; raised when an older program could misread a newer file.
const FORMAT_VERSION: u32 = 1;
const KEY: &str = "mercer-autoencoder";
const IN_MEMORY: &str = "autoencoder in memory";

#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format_version: u32,
    version: String,
    n_features: usize,
    n_components: usize,
    /// How forms are kept; absent for coefficients over a span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    layout: Option<Layout>,
    scale: f64,
    sign: Sign,
    learned: Info,
    /// SHA-256 of this header with an empty digest, and of the tensors' names, shapes and bytes in the order of their names.
    digest: String,
}

impl Header {
    fn sorted_json(&self, path: &Path) -> Result<String> {
        serde_json::to_value(self)
            .and_then(|value| serde_json::to_string(&value))
            .map_err(|error| bad(path, format!("the header cannot be written: {error}")))
    }
}

impl Autoencoder {
    /// Writes the autoencoder to a file: aside first, then into its place, so that a failure leaves what was there before.
    ///
    /// ```
    /// use mercer::Points;
    /// use mercer::autoencoder::{Autoencoder, AutoencoderKernelPca};
    ///
    /// let points = Points::from_f64((0..100).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 2)?;
    /// let model = AutoencoderKernelPca::new(1).epochs(1).fit(&points)?;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("codes.mercer");
    /// model.save(&path)?;
    /// assert_eq!(Autoencoder::load(&path)?.encoder(), model.encoder());
    /// // The same without a file.
    /// assert_eq!(Autoencoder::from_bytes(&model.to_bytes()?)?.decoder(), model.decoder());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        self.with_views(path, |views, metadata| write_tensors(path, views, metadata))
    }

    /// The bytes of its file.
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

    /// Whether the header of a file is that of an autoencoder.
    pub(crate) fn is_in(bytes: &[u8]) -> bool {
        has_entry(bytes, KEY)
    }

    /// Reads an autoencoder from a file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is not an autoencoder, is damaged, or was written by a later version.
    pub fn load(path: &Path) -> Result<Self> {
        Self::read(path, &read_checked(path, &|why| foreign(path, why))?)
    }

    /// Reads an autoencoder from the bytes of its file.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load).
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(Path::new(IN_MEMORY), bytes)
    }

    fn with_views<R>(
        &self,
        path: &Path,
        write: impl FnOnce(Vec<(&str, TensorView<'_>)>, HashMap<String, String>) -> Result<R>,
    ) -> Result<R> {
        let (encoder, decoder, layout, span) = match self.parameters() {
            Parameters::Full { encoder, decoder } => {
                (encoder.values.as_ref(), decoder.values.as_ref(), Some(encoder.layout), None)
            }
            Parameters::Data { span, encoder, decoder, .. } => {
                (encoder.as_ref(), decoder.as_ref(), None, Some(span.points.as_ref()))
            }
        };
        let mut tensors = vec![
            columns("decoder", decoder),
            columns("encoder", encoder),
            Tensor::from_f64("mean", vec![self.mean().len()], self.mean().iter().copied()),
        ];
        tensors.extend(span.map(|points| columns("span", points)));
        tensors.extend(names::tensor(self.feature_names()));
        tensors.sort_by_key(|tensor| tensor.name);
        let header = Header {
            format_version: FORMAT_VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            n_features: self.parameters().n_features(),
            n_components: self.parameters().n_components(),
            layout,
            scale: self.scale(),
            sign: self.sign(),
            learned: self.info().clone(),
            digest: String::new(),
        };
        write(views_of(&tensors, path)?, signed(header, &tensors, path)?)
    }
}

/// The entries of a file's header, with the digest of everything.
fn signed(header: Header, tensors: &[Tensor], path: &Path) -> Result<HashMap<String, String>> {
    let parts = tensors.iter().map(|tensor| (tensor.name, tensor.shape.as_slice(), tensor.data.as_slice()));
    let digest = digest(&header.sorted_json(path)?, parts);
    Ok(HashMap::from([(KEY.to_owned(), Header { digest, ..header }.sorted_json(path)?)]))
}

/// A matrix as a tensor whose rows are its columns.
fn columns(name: &'static str, matrix: MatRef<'_, f64>) -> Tensor {
    let values = matrix.col_iter().flat_map(|column| column.iter().copied());
    Tensor::from_f64(name, vec![matrix.ncols(), matrix.nrows()], values)
}

fn foreign(path: &Path, why: &str) -> Error {
    bad(path, format!("not a Mercer autoencoder, or cut short ({why})"))
}

fn header_of(bytes: &[u8], path: &Path) -> Result<Header> {
    #[derive(Deserialize)]
    struct VersionOnly {
        format_version: u32,
    }
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

/// The header and the tensors of a file whose digest is right.
fn opened<'a>(bytes: &'a [u8], path: &'a Path) -> Result<(Header, Stored<'a>)> {
    let header = header_of(bytes, path)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| foreign(path, &error.to_string()))?;
    let mut sorted: Vec<&str> = tensors.names();
    sorted.sort_unstable();
    let views: Vec<_> = sorted.iter().filter_map(|name| Some((*name, tensors.tensor(name).ok()?))).collect();
    let unsigned = Header { digest: String::new(), ..header.clone() };
    let parts = views.iter().map(|(name, view)| (*name, view.shape(), view.data()));
    if digest(&unsigned.sorted_json(path)?, parts) != header.digest {
        return Err(bad(path, "the file has been altered: its contents do not match its digest"));
    }
    Ok((header, Stored { tensors, path }))
}

/// The tensors of a file.
struct Stored<'a> {
    tensors: SafeTensors<'a>,
    path: &'a Path,
}

impl Stored<'_> {
    /// Shape and numbers of a tensor.
    fn numbers(&self, name: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let path = self.path;
        let view = self.tensors.tensor(name).map_err(|_| bad(path, format!("the tensor \"{name}\" is missing")))?;
        if view.dtype() != Dtype::F64 {
            return Err(bad(path, format!("the tensor \"{name}\" has type {:?} instead of F64", view.dtype())));
        }
        let chunks = view.data().chunks_exact(8);
        let values: Vec<f64> = chunks.map(|bytes| f64::from_le_bytes(bytes.try_into().expect("eight bytes"))).collect();
        if values.iter().any(|x| !x.is_finite()) {
            return Err(bad(path, format!("the tensor \"{name}\" holds numbers that are not finite")));
        }
        Ok((view.shape().to_vec(), values))
    }

    /// A matrix whose columns are the rows of a tensor of this shape.
    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Mat<f64>> {
        let (found, values) = self.numbers(name)?;
        if found != shape {
            return Err(bad(self.path, format!("the tensor \"{name}\" is {found:?} instead of {shape:?}")));
        }
        Ok(Mat::from_fn(shape[1], shape[0], |i, j| values[j * shape[1] + i]))
    }

    fn parameters(&self, header: &Header) -> Result<Parameters> {
        let (d, k) = (header.n_features, header.n_components);
        if let Some(layout) = header.layout {
            let p = layout.len(d);
            let forms = |name: &str| self.matrix(name, [k, p]).map(|values| Forms::new(layout, d, values));
            return Ok(Parameters::Full { encoder: forms("encoder")?, decoder: forms("decoder")? });
        }
        let (shape, _) = self.numbers("span")?;
        let &[m, _] = shape.as_slice() else { return Err(bad(self.path, "the tensor \"span\" is not a matrix")) };
        if m == 0 {
            return Err(bad(self.path, "the span has no points"));
        }
        Ok(Parameters::Data {
            span: Arc::new(Span::new(self.matrix("span", [m, d])?)),
            encoder: self.matrix("encoder", [k, m])?,
            decoder: self.matrix("decoder", [k, m])?,
            gradient: header.learned.gradient,
        })
    }
}

impl Autoencoder {
    pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Self> {
        let (header, stored) = opened(bytes, path)?;
        let (d, k) = (header.n_features, header.n_components);
        if d == 0 || k == 0 || !(header.scale > 0.0 && header.scale.is_finite()) || !header.learned.is_possible() {
            return Err(bad(path, "its header does not describe an autoencoder"));
        }
        // First of all: no file holds a mean of so many numbers that their squares could not be counted.
        let (_, mean) = stored.numbers("mean")?;
        if mean.len() != d {
            return Err(bad(path, format!("the tensor \"mean\" has {} numbers instead of {d}", mean.len())));
        }
        let parameters = stored.parameters(&header)?;
        let model = Autoencoder::new(parameters, header.scale, mean, header.sign, header.learned);
        match names::read(&stored.tensors, d, path)? {
            Some(names) => model.with_feature_names(names),
            None => Ok(model),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::AutoencoderKernelPca;
    use super::*;
    use crate::data::Points;

    #[test]
    fn a_header_of_more_columns_than_can_be_squared_is_refused() {
        let points = Points::from_f64(vec![1.0, 2.0, 3.0, 5.0], 2, 2).expect("points");
        let model = AutoencoderKernelPca::new(1).epochs(0).fit(&points).expect("a model");
        let path = Path::new(IN_MEMORY);
        let bytes = model.to_bytes().expect("bytes");
        let header = header_of(&bytes, path).expect("a header");
        let header = Header { n_features: 1 << 40, digest: String::new(), ..header };
        let one = |name| Tensor::from_f64(name, vec![1, 1], std::iter::once(1.0));
        let tensors = [one("decoder"), one("encoder"), Tensor::from_f64("mean", vec![1], std::iter::once(1.0))];
        let metadata = signed(header, &tensors, path).expect("entries");
        let bytes = safetensors::serialize(views_of(&tensors, path).expect("views"), Some(metadata)).expect("bytes");
        let said = Autoencoder::from_bytes(&bytes).expect_err("a header that lies").to_string();
        assert!(said.contains("\"mean\" has 1 numbers instead of 1099511627776"), "{said}");
    }
}
