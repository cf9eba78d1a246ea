//! A safetensors file: tensors and a header, written aside.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorInfo, TensorView, View};

use super::file::bad;
use crate::aside::AsideFile;
use crate::error::{Error, Result};

/// The header of a file that safetensors reads is at most so long.
const LONGEST_HEADER: usize = 100_000_000;

/// A tensor on its way into a file.
pub(crate) struct Tensor {
    pub(crate) name: &'static str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<u8>,
}

impl Tensor {
    pub(crate) fn from_f64(name: &'static str, shape: Vec<usize>, values: impl Iterator<Item = f64>) -> Self {
        Self { name, dtype: Dtype::F64, shape, data: values.flat_map(f64::to_le_bytes).collect() }
    }
}

/// Tensors as safetensors takes them.
pub(crate) fn views_of<'a>(tensors: &'a [Tensor], path: &Path) -> Result<Vec<(&'static str, TensorView<'a>)>> {
    let view = |tensor: &'a Tensor| TensorView::new(tensor.dtype, tensor.shape.clone(), &tensor.data);
    tensors
        .iter()
        .map(|tensor| view(tensor).map(|view| (tensor.name, view)))
        .collect::<std::result::Result<_, _>>()
        .map_err(|error| bad(path, error.to_string()))
}

/// Writes tensors and a header to a file, aside first, then into its place: the bytes that [`safetensors::serialize`] gives, without taking them
/// into memory together.
pub(crate) fn write_tensors<S: AsRef<str> + Ord + Display, V: View>(
    path: &Path,
    mut tensors: Vec<(S, V)>,
    metadata: HashMap<String, String>,
) -> Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(bad(path, "this is not a file, so it cannot be replaced by one"));
    }
    // The order that safetensors gives them.
    tensors.sort_by(|(a, left), (b, right)| right.dtype().cmp(&left.dtype()).then(a.cmp(b)));
    let header = header(&tensors, metadata).map_err(|problem| bad(path, problem))?;
    let write = || -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, AsideFile::create(path)?);
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        for (_, tensor) in &tensors {
            file.write_all(&tensor.data())?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    };
    write().map_err(|source| Error::Io { doing: "writing", path: path.to_owned(), source })
}

/// What stands before the tensors and says where each of them is, or why that cannot be said.
fn header<S: Display, V: View>(
    tensors: &[(S, V)],
    metadata: HashMap<String, String>,
) -> std::result::Result<Vec<u8>, String> {
    let mut end = 0;
    let place = |(name, tensor): &(S, V)| {
        let start = end;
        end += tensor.data_len();
        let info = TensorInfo { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data_offsets: (start, end) };
        (name.to_string(), info)
    };
    let metadata = Metadata::new(Some(metadata), tensors.iter().map(place).collect()).map_err(|e| e.to_string())?;
    let mut json = serde_json::to_vec(&metadata).map_err(|error| error.to_string())?;
    // Tensors begin where their numbers can be read in place.
    json.resize(json.len().next_multiple_of(size_of::<u64>()), b' ');
    if json.len() > LONGEST_HEADER {
        return Err(format!("its header would have {} bytes, and at most {LONGEST_HEADER} can be read", json.len()));
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_bytes_that_safetensors_gives() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("some.safetensors");
        let bytes =
            |name, dtype, n: usize| Tensor { name, dtype, shape: vec![n], data: vec![7; n * size_of_one(dtype)] };
        let tensors = [
            Tensor::from_f64("b", vec![2, 3], (0..6).map(f64::from)),
            bytes("z", Dtype::U8, 5),
            Tensor::from_f64("a", vec![0], std::iter::empty()),
            bytes("c", Dtype::F32, 4),
        ];
        for text in ["", "x", "a longer text that moves the end of the header"] {
            let metadata = HashMap::from([("mercer".to_owned(), text.to_owned())]);
            let views = || views_of(&tensors, &path).expect("shapes are right");
            write_tensors(&path, views(), metadata.clone()).expect("written");
            let expected = safetensors::serialize(views(), Some(metadata)).expect("serialized");
            assert_eq!(fs::read(&path).expect("there"), expected);
        }
    }

    fn size_of_one(dtype: Dtype) -> usize {
        if dtype == Dtype::U8 { 1 } else { 4 }
    }
}
