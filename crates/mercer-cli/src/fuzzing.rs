//! A way into the readers for fuzzers, which know no files and no flags. Not part of the command.

mod checkpoint;
mod learner;
mod memory;
mod model;

pub use checkpoint::{points_of_checkpoints, read_checkpoint, use_checkpoint};
pub use learner::{more_memory_of_a_learner, sealed_learner, use_learner};
pub use memory::{Counting, within_memory};
pub use model::{sealed_model, use_model};

use crate::args::{ColumnName, DataArgs};
use crate::failure::Result;
use crate::input::{self, ReadOptions};

/// A reader that takes bytes as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Text with delimiters.
    Csv,
    /// An array of `NumPy`.
    Npy,
    /// Several arrays of `NumPy`.
    Npz,
    /// The format of the MNIST files.
    Idx,
    /// Sparse text.
    Libsvm,
}

/// Dense memory that a sparse file may ask for.
pub const DENSE_LIMIT: u64 = 1 << 20;

/// Reads bytes; the first of them says which flags are given. Rows and columns if they can be read, else the message.
///
/// # Errors
///
/// What the user would be told.
pub fn read(reader: Reader, bytes: &[u8]) -> std::result::Result<(usize, usize), String> {
    let Some((&flags, bytes)) = bytes.split_first() else { return Err(String::new()) };
    let column = |bit: u8, name: &str| (flags & bit != 0).then(|| ColumnName(name.to_owned()));
    let args = DataArgs {
        label: if reader == Reader::Libsvm { None } else { column(1, "-1") },
        id: column(2, "1"),
        drop: column(4, "2").into_iter().collect(),
        standardize: flags & 8 != 0,
        rows: if flags & 16 != 0 { "0:1".parse().ok() } else { None },
        header: flags & 32 != 0 && reader == Reader::Csv,
        delimiter: if flags & 64 != 0 { ";".parse().ok() } else { None },
        ..DataArgs::default()
    };
    let options = ReadOptions::from(&args).dense_limit(DENSE_LIMIT);
    let read = || -> Result<(usize, usize)> {
        let data = input::read_bytes(reader, bytes, &options)?;
        Ok((data.points.n_samples(), data.points.n_features()))
    };
    read().map_err(|failure| format!("{failure}\n{}", failure.hint().unwrap_or_default()))
}

#[cfg(test)]
mod tests;
