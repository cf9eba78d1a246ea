//! Scores as arrays of `NumPy`: one in a `.npy` file, several with labels and ids in an `.npz` file.

use std::io::Write;

use faer::MatRef;
use zip::result::ZipError;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::{Layout, ScoreSink, put};
use crate::failure::{Failure, Result};
use crate::input::Labels;
use crate::output::OutputFile;

/// The scores alone.
pub(super) struct NpySink {
    file: OutputFile,
}

impl NpySink {
    pub(super) fn new(mut file: OutputFile, layout: &Layout<'_>) -> Result<Self> {
        put(&mut file, &head("<f8", &format!("({}, {})", layout.n_samples, layout.names.len())))?;
        Ok(Self { file })
    }
}

impl ScoreSink for NpySink {
    fn write(&mut self, _first_row: usize, scores: MatRef<'_, f64>) -> Result<()> {
        put(&mut self.file, &rows_as_bytes(scores))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.file.commit()
    }
}

/// Arrays `scores`, and one each for label and id under the names of their columns.
pub(super) struct NpzSink<'a> {
    // Never asked to go back, so that a pipe will do.
    archive: ZipWriter<StreamWriter<OutputFile>>,
    layout: Layout<'a>,
}

/// The name of the array of scores.
const SCORES: &str = "scores";

impl<'a> NpzSink<'a> {
    pub(super) fn new(file: OutputFile, layout: Layout<'a>) -> Result<Self> {
        let mut sink = Self { archive: ZipWriter::new_stream(file), layout };
        let shape = format!("({}, {})", sink.layout.n_samples, sink.layout.names.len());
        sink.member(SCORES, &head("<f8", &shape))?;
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
    fn words(&mut self, name: &str, words: &Labels) -> Result<()> {
        let longest = words.values.iter().map(|word| word.chars().count()).max().unwrap_or(0).max(1);
        // An array must not take the name of the scores.
        let name = if name == SCORES { format!("{name}_column") } else { name.to_owned() };
        self.member(&name, &head(&format!("<U{longest}"), &format!("({},)", words.values.len())))?;
        for word in &words.values {
            let characters = word.chars().map(u32::from).chain(std::iter::repeat(0)).take(longest);
            let bytes: Vec<u8> = characters.flat_map(u32::to_le_bytes).collect();
            self.put(&bytes)?;
        }
        Ok(())
    }
}

impl ScoreSink for NpzSink<'_> {
    fn write(&mut self, _first_row: usize, scores: MatRef<'_, f64>) -> Result<()> {
        self.put(&rows_as_bytes(scores))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let (labels, ids) = (self.layout.labels, self.layout.ids);
        if let Some(ids) = ids {
            self.words(&ids.name, ids)?;
        }
        // The same column may be both.
        if let Some(labels) = labels.filter(|labels| ids.is_none_or(|ids| ids.name != labels.name)) {
            self.words(&labels.name, labels)?;
        }
        let Self { archive, layout } = *self;
        archive.finish().map_err(|error| failure(&layout, error))?.into_inner().commit()
    }
}

fn failure(layout: &Layout<'_>, error: ZipError) -> Failure {
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
