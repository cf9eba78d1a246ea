//! Scores, one row per point and one column per component.

use std::io::Write;

use faer::MatRef;

use super::OutputFile;
use crate::args::Format;
use crate::failure::{Failure, Result};
use crate::input::Labels;

/// Writes scores block by block.
pub(crate) struct ScoreWriter<'a> {
    file: OutputFile,
    format: Format,
    labels: Option<&'a Labels>,
    rows_written: usize,
    /// What is to be written next: the head at first, then one block as text or bytes.
    block: Vec<u8>,
}

impl<'a> ScoreWriter<'a> {
    /// A writer for `n_samples` rows of `n_components` scores. Nothing is written before the first of them.
    ///
    /// Labels become the last column of a text file; an array has no place for them.
    pub(crate) fn new(
        file: OutputFile,
        format: Format,
        (n_samples, n_components): (usize, usize),
        labels: Option<&'a Labels>,
    ) -> Result<Self> {
        let names = (1..=n_components).map(|component| format!("pc{component}")).collect();
        Self::with_columns(file, format, n_samples, names, labels)
    }

    /// As [`new`](Self::new), for columns of other names.
    pub(crate) fn with_columns(
        file: OutputFile,
        format: Format,
        n_samples: usize,
        names: Vec<String>,
        labels: Option<&'a Labels>,
    ) -> Result<Self> {
        let head = match format {
            Format::Npy => npy_head(n_samples, names.len()),
            Format::Csv | Format::Tsv => {
                let label = labels.map(|labels| labels.name.clone());
                rows_as_text(Vec::new(), format, std::iter::once(names.into_iter().chain(label)))?
            }
        };
        Ok(Self { file, format, labels, rows_written: 0, block: head })
    }

    /// Writes the next rows.
    pub(crate) fn write(&mut self, scores: MatRef<'_, f64>) -> Result<()> {
        let mut block = std::mem::take(&mut self.block);
        let rows = (0..scores.nrows()).map(|i| (0..scores.ncols()).map(move |j| scores[(i, j)]));
        self.block = match self.format {
            Format::Csv | Format::Tsv => {
                let label = |i: usize| self.labels.map(|labels| labels.values[self.rows_written + i].clone());
                let rows = rows.enumerate().map(|(i, row)| row.map(number).chain(label(i)));
                rows_as_text(block, self.format, rows)?
            }
            Format::Npy => {
                block.extend(rows.flatten().flat_map(f64::to_le_bytes));
                block
            }
        };
        self.rows_written += scores.nrows();
        self.file.write_all(&self.block).map_err(|error| self.file.failure(error))?;
        self.block.clear();
        Ok(())
    }

    /// Makes the file appear.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.commit()
    }
}

/// Adds lines of fields to `text`, quoted where they must be.
fn rows_as_text<R: Iterator<Item = String>>(
    text: Vec<u8>,
    format: Format,
    rows: impl Iterator<Item = R>,
) -> Result<Vec<u8>> {
    let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(text);
    let failure = |error: String| Failure::usage(format!("cannot write a row: {error}"));
    for row in rows {
        writer.write_record(row).map_err(|error| failure(error.to_string()))?;
    }
    writer.into_inner().map_err(|error| failure(error.to_string()))
}

/// The shortest text that reads back as the same number.
fn number(x: f64) -> String {
    let plain = (1e-5..1e16).contains(&x.abs()) || x == 0.0;
    if plain { x.to_string() } else { format!("{x:e}") }
}

/// The head of a `.npy` file (version 1.0) of doubles in rows.
fn npy_head(rows: usize, columns: usize) -> Vec<u8> {
    const BEFORE_TEXT: usize = 10;
    const ALIGNMENT: usize = 64;
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let length = (BEFORE_TEXT + text.len() + 1).next_multiple_of(ALIGNMENT) - BEFORE_TEXT;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    // Two numbers of at most 20 digits: far from 65536.
    head.extend_from_slice(&(length as u16).to_le_bytes());
    head.extend_from_slice(text.as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use std::fs;

    use faer::mat;

    use super::*;

    fn written(name: &str, format: Format, labels: Option<&Labels>) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        let mut writer = ScoreWriter::new(OutputFile::create(&path).unwrap(), format, (2, 2), labels).unwrap();
        writer.write(mat![[0.5, -1e-20]].as_ref()).unwrap();
        writer.write(mat![[0.1, 0.0]].as_ref()).unwrap();
        writer.finish().unwrap();
        fs::read(&path).unwrap()
    }

    #[test]
    fn text_has_a_header_and_the_label_last() {
        let labels = Labels { name: "kind".to_owned(), values: vec!["a,b".to_owned(), "c".to_owned()] };
        let csv = written("x.csv", Format::Csv, Some(&labels));
        assert_eq!(String::from_utf8(csv).unwrap(), "pc1,pc2,kind\n0.5,-1e-20,\"a,b\"\n0.1,0,c\n");
        let tsv = written("x.tsv", Format::Tsv, None);
        assert_eq!(String::from_utf8(tsv).unwrap(), "pc1\tpc2\n0.5\t-1e-20\n0.1\t0\n");
    }

    #[test]
    fn an_array_has_a_head_that_numpy_reads_and_the_rows_as_doubles() {
        let npy = written("x.npy", Format::Npy, None);
        assert_eq!(npy.len() % 64, 32, "the head is a multiple of 64, the four values take 32 bytes");
        let text = String::from_utf8_lossy(&npy[10..128]);
        assert!(text.starts_with("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }"), "{text}");
        let values: Vec<f64> =
            npy[128..].chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
        assert_eq!(values, [0.5, -1e-20, 0.1, 0.0]);
    }

    #[test]
    fn numbers_read_back_exactly() {
        for x in [0.1, -1.0 / 3.0, 1e300, 5e-324, 0.0, 123_456_789.123_456_78] {
            assert_eq!(number(x).parse::<f64>().unwrap().to_bits(), x.to_bits());
            assert!(number(x).len() < 26, "{}", number(x));
        }
    }
}
