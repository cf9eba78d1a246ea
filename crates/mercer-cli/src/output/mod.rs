//! Files that appear complete or not at all, and what goes into them.

mod aside;
mod scores;
mod summary;

use std::io::Write;
use std::path::Path;

use mercer::RunRecord;

pub(crate) use aside::OutputFile;
pub(crate) use scores::ScoreWriter;
pub(crate) use summary::summary;

use crate::failure::{Failure, Result};

/// A record as text for machines.
pub(crate) fn record_json(record: &RunRecord) -> Result<String> {
    let mut text = serde_json::to_string_pretty(record)
        .map_err(|error| Failure::usage(format!("the record cannot be written as JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

/// Writes a whole text file, aside and renamed.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    let mut file = OutputFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|error| file.failure(error))?;
    file.commit()
}
