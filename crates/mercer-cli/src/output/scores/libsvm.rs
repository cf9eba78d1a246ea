//! Scores as libsvm text: the label, or 0 if there is none, and the scores by number.

use std::fmt::Write;

use faer::MatRef;

use super::{ScoreSink, Words, number, put};
use crate::failure::{Failure, Result};
use crate::output::OutputFile;

/// Lines such as `3 1:0.5 2:-0.25`.
pub(super) struct LibsvmSink {
    file: OutputFile,
}

/// Refuses labels that are not numbers, which the format has no place for.
pub(super) fn check_labels(labels: Option<&[String]>) -> Result<()> {
    let wrong = labels.and_then(|labels| labels.iter().find(|label| label.parse::<f64>().is_err()));
    match wrong {
        Some(label) => Err(Failure::usage(format!(
            "labels in a libsvm file are numbers, but \"{label}\" is none: write .csv or .parquet instead"
        ))),
        None => Ok(()),
    }
}

impl LibsvmSink {
    pub(super) fn new(file: OutputFile) -> Self {
        Self { file }
    }
}

impl ScoreSink for LibsvmSink {
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        check_labels(words.labels)?;
        let mut text = String::new();
        for i in 0..scores.nrows() {
            text.push_str(words.labels.map_or("0", |labels| &labels[i]));
            for j in 0..scores.ncols() {
                // Into memory, which does not fail.
                let _ = write!(text, " {}:{}", j + 1, number(scores[(i, j)]));
            }
            text.push('\n');
        }
        put(&mut self.file, text.as_bytes())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}
