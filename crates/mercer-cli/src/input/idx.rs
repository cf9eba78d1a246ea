//! IDX, the format of the MNIST files: a type, a shape, and numbers with their highest byte first.

use std::path::Path;

use super::array::Array;
use super::npy_header::{Element, NpyHeader, Order};
use super::room::NoRoom;
use super::source::Bytes;
use super::{Labels, MAKE_AGAIN, Raw, ReadOptions, UNNAMED_LABEL, format, npy};
use crate::failure::{Failure, InputError, Result};

/// Reads points from an IDX file; `--label` names an IDX file of labels, beside it or by its path.
pub(super) fn read(path: &Path, name: &str, bytes: Bytes, options: &ReadOptions) -> Result<Raw> {
    let header = header(name, &bytes)?;
    if let [n] = header.shape[..] {
        let problem = format!("there are {n} single numbers, not points");
        let hint = "if these are labels, give the file of the points, and name this one by --label";
        return Err(InputError::new(name, problem).hint(hint).into());
    }
    let without_label = ReadOptions { label: None, ..options.clone() };
    let mut raw = npy::matrix(name, bytes, &header, &without_label)?;
    if let Some(label) = &options.label {
        raw.labels = Some(labels(path, &label.0, raw.n_samples)?);
    }
    Ok(raw)
}

/// The header of an IDX file, as that of an array of `NumPy`.
fn header(name: &str, bytes: &[u8]) -> Result<NpyHeader> {
    let not_idx = || {
        let hint = "an IDX file begins with two zeros, a type and the number of its axes";
        Failure::from(InputError::new(name, "the file is not an IDX file").hint(hint))
    };
    let &[0, 0, kind, axes, ref rest @ ..] = bytes else { return Err(not_idx()) };
    let element = match kind {
        0x08 => Element::U8,
        0x09 => Element::I8,
        0x0b => Element::I16,
        0x0c => Element::I32,
        0x0d => Element::F32,
        0x0e => Element::F64,
        _ => return Err(not_idx()),
    };
    let lengths = rest.get(..4 * usize::from(axes)).ok_or_else(|| {
        Failure::from(InputError::new(name, "the file is truncated within its header").hint(MAKE_AGAIN))
    })?;
    Ok(NpyHeader {
        element,
        swapped: cfg!(target_endian = "little") && element.size() > 1,
        order: Order::C,
        shape: lengths.as_chunks::<4>().0.iter().map(|&bytes| u32::from_be_bytes(bytes) as usize).collect(),
        data_start: 4 + lengths.len(),
    })
}

fn labels(points: &Path, file: &str, n_samples: usize) -> Result<Labels> {
    // By its path as it was typed, or else as a neighbour of the points.
    let typed = Path::new(file).to_owned();
    let path = if typed.exists() { typed } else { points.with_file_name(file) };
    if !path.exists() {
        let problem = format!("there is no file \"{file}\" with labels");
        let hint = "for IDX data, --label takes the name of an IDX file with one label for each point";
        return Err(InputError::new(&points.display().to_string(), problem).hint(hint).into());
    }
    let name = path.display().to_string();
    let packing = format::of(&path, Some(crate::args::Format::Idx))?.packing;
    let bytes = Bytes::open(&path, &name, packing)?;
    let header = header(&name, &bytes)?;
    if header.shape != [n_samples] {
        let problem = format!("labels of shape {:?} for {n_samples} points", header.shape);
        return Err(InputError::new(&name, problem).hint("one label for each point is needed").into());
    }
    let end = npy::check_length(&name, &header, bytes.len(), n_samples)?;
    let values = Array::in_file(bytes, &header, end).map_err(NoRoom::reading(&name))?.column_as_text(1, 0);
    Ok(Labels { name: UNNAMED_LABEL.to_owned(), values })
}

#[cfg(test)]
mod tests;
