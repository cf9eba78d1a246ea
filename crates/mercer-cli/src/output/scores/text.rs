//! Scores as text with delimiters.

use faer::MatRef;

use super::{Layout, ScoreSink, number, put};
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::output::OutputFile;

/// Text with a header.
pub(super) struct TextSink<'a> {
    file: OutputFile,
    layout: Layout<'a>,
    delimiter: u8,
}

impl<'a> TextSink<'a> {
    pub(super) fn new(file: OutputFile, layout: Layout<'a>, format: Format) -> Result<Self> {
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        let mut sink = Self { file, layout, delimiter };
        let id = sink.layout.ids.map(|ids| ids.name.clone());
        let label = sink.layout.labels.map(|labels| labels.name.clone());
        let names = sink.layout.names.clone();
        sink.rows(std::iter::once(id.into_iter().chain(names).chain(label)))?;
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

impl ScoreSink for TextSink<'_> {
    fn write(&mut self, first_row: usize, scores: MatRef<'_, f64>) -> Result<()> {
        let (labels, ids) = (self.layout.labels, self.layout.ids);
        self.rows((0..scores.nrows()).map(|i| {
            let id = ids.map(|ids| ids.values[first_row + i].clone());
            let label = labels.map(|labels| labels.values[first_row + i].clone());
            let row = (0..scores.ncols()).map(move |j| number(scores[(i, j)]));
            id.into_iter().chain(row).chain(label)
        }))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}
