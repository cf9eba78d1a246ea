//! Scores as arrays of `NumPy`: one in a `.npy` file, several with labels and ids in an `.npz` file.

use std::io::Write;

use faer::MatRef;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::{Layout, ScoreSink, Words, put};
use crate::failure::{Failure, Result};
use crate::output::OutputFile;

/// The scores alone.
pub(super) struct NpySink {
    file: OutputFile,
    layout: Layout,
    rows_written: usize,
}

impl NpySink {
    pub(super) fn new(mut file: OutputFile, layout: Layout) -> Result<Self> {
        // Where the number of rows is not known, there is room for any: a head of this kind takes 128 bytes, whatever its numbers.
        put(&mut file, &layout.head(layout.n_samples.unwrap_or(usize::MAX)))?;
        Ok(Self { file, layout, rows_written: 0 })
    }
}

impl Layout {
    /// The head of an array of so many rows of scores.
    fn head(&self, rows: usize) -> Vec<u8> {
        head("<f8", &format!("({rows}, {})", self.names.len()))
    }
}

impl ScoreSink for NpySink {
    fn write(&mut self, scores: MatRef<'_, f64>, _words: Words<'_>) -> Result<()> {
        self.rows_written += scores.nrows();
        put(&mut self.file, &rows_as_bytes(scores))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.layout.n_samples.is_none() {
            let head = self.layout.head(self.rows_written);
            self.file.write_at_start(&head).map_err(|error| self.file.failure(error))?;
        }
        self.file.commit()
    }
}

/// Arrays `scores`, and one each for label and id under the names of their columns.
pub(super) struct NpzSink {
    // Never asked to go back, so that a pipe will do.
    archive: ZipWriter<StreamWriter<OutputFile>>,
    layout: Layout,
    labels: Vec<String>,
    ids: Vec<String>,
}

/// The name of the array of scores.
const SCORES: &str = "scores";

/// The name of the array of a column, which must not be that of the scores.
pub(super) fn array_name(column: &str) -> String {
    if column == SCORES { format!("{column}_column") } else { column.to_owned() }
}

impl NpzSink {
    pub(super) fn new(file: OutputFile, layout: Layout) -> Result<Self> {
        let head = layout.head(layout.n_samples.expect("an archive is begun when the number of rows is known"));
        let archive = ZipWriter::new_stream(file);
        let mut sink = Self { archive, layout, labels: Vec::new(), ids: Vec::new() };
        sink.member(SCORES, &head)?;
        Ok(sink)
    }

    /// Begins an array's file.
    fn member(&mut self, name: &str, head: &[u8]) -> Result<()> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        let started = self.archive.start_file(format!("{name}.npy"), options);
        started.map_err(|error| failure(&self.layout, error))?;
        self.put(head)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.archive.write_all(bytes).map_err(|error| self.layout.failure(error))
    }

    /// An array of text, each filled up with zeros to the length of the longest.
    fn words(&mut self, name: &str, words: &[String]) -> Result<()> {
        let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or(0).max(1);
        self.member(&array_name(name), &head(&format!("<U{longest}"), &format!("({},)", words.len())))?;
        for word in words {
            let characters = word.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            let bytes: Vec<u8> = characters.flat_map(u32::to_le_bytes).collect();
            self.put(&bytes)?;
        }
        Ok(())
    }
}

impl ScoreSink for NpzSink {
    fn write(&mut self, scores: MatRef<'_, f64>, words: Words<'_>) -> Result<()> {
        self.labels.extend_from_slice(words.labels.unwrap_or_default());
        self.ids.extend_from_slice(words.ids.unwrap_or_default());
        self.put(&rows_as_bytes(scores))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let (labels, ids) = (std::mem::take(&mut self.labels), std::mem::take(&mut self.ids));
        let (label, id) = (self.layout.label.clone(), self.layout.id.clone());
        if let Some(id) = &id {
            self.words(id, &ids)?;
        }
        // The same column may be both.
        if let Some(label) = label.filter(|label| id.as_ref() != Some(label)) {
            self.words(&label, &labels)?;
        }
        let Self { archive, layout, .. } = *self;
        archive.finish().map_err(|error| failure(&layout, error))?.into_inner().commit()
    }
}

fn failure(layout: &Layout, error: ZipError) -> Failure {
    match error {
        ZipError::Io(source) => layout.failure(source),
        other => layout.refusal(other),
    }
}

fn rows_as_bytes(scores: MatRef<'_, f64>) -> Vec<u8> {
    let rows = (0..scores.nrows()).flat_map(|i| (0..scores.ncols()).map(move |j| scores[(i, j)]));
    rows.flat_map(f64::to_le_bytes).collect()
}

/// The head of a `.npy` file (version 1.0) of values in rows.
fn head(descr: &str, shape: &str) -> Vec<u8> {
    const BEFORE_TEXT: usize = 10;
    const ALIGNMENT: usize = 64;
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let length = (BEFORE_TEXT + text.len() + 1).next_multiple_of(ALIGNMENT) - BEFORE_TEXT;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    // A few numbers of at most 20 digits: far from 65536.
    head.extend_from_slice(&(length as u16).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head
}
