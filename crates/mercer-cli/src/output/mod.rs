//! Files that appear complete or not at all, and what goes into them.

mod aside;
mod picture;
mod scores;
pub(crate) mod summary;
pub(crate) mod table;

use std::io::Write;
use std::path::Path;

pub(crate) use aside::OutputFile;
pub(crate) use picture::{PictureFormat, as_written, check_format, picture_format, write_picture};
pub(crate) use scores::{
    ScoreWriter, Words, check_columns, component_names, is_open_ended, left_out, number, score_format,
};
pub(crate) use summary::summary;

use crate::failure::Result;

/// Writes a whole text file, aside and renamed.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    write_bytes(path, text.as_bytes())
}

/// Writes a whole file, aside and renamed.
pub(crate) fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(bytes).map_err(|error| file.failure(error))?;
    file.commit()
}
