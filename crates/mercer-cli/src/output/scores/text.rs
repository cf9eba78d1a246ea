//! Scores as text with delimiters.

use faer::MatRef;

use super::{Layout, ScoreSink, Words, number, put};
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::output::OutputFile;

/// Text with a header.
pub(super) struct TextSink {
    file: OutputFile,
    delimiter: u8,
}

impl TextSink {
    pub(super) fn new(file: OutputFile, layout: Layout, format: Format) -> Result<Self> {
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        let mut sink = Self { file, delimiter };
        sink.rows(std::iter::once(layout.id.into_iter().chain(layout.names).chain(layout.label)))?;
        Ok(sink)
    }

    /// Writes lines of fields, quoted where they must be.
    fn rows<R: Iterator<Item = String>>(&mut self, rows: impl Iterator<Item = R>) -> Result<()> {
        let mut writer = csv::WriterBuilder::new().delimiter(self.delimiter).from_writer(Vec::new());
        let failure = |error: String| Failure::usage(format!("cannot write a row: {error}"));
        for row in rows {
            writer.write_record(row).map_err(|error| failure(error.to_string()))?;
        }
        let text = writer.into_inner().map_err(|error| failure(error.to_string()))?;
        put(&mut self.file, &text)
    }
}

impl ScoreSink for TextSink {
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        self.rows((0..scores.nrows()).map(|i| {
            let id = words.ids.map(|ids| ids[i].clone());
            let label = words.labels.map(|labels| labels[i].clone());
            let row = (0..scores.ncols()).map(move |j| number(scores[(i, j)]));
            id.into_iter().chain(row).chain(label)
        }))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}
