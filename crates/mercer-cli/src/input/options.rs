//! How a data file is to be read, from what was typed.

use mercer::MemoryBudget;

use super::advice::Remedy;
use super::format;
use crate::args::{ColumnName, DataArgs, Delimiter, Format, ImageSize, Pixels, RowRange};
use crate::failure::{Failure, Result};

/// Whether the first row of a text file is a header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Header {
    /// It is one if it is not all numbers.
    #[default]
    Detect,
    Present,
    Absent,
}

/// What is done to the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rescale {
    None,
    By(f64),
    Standardize,
}

/// How to read a data file.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    pub(super) header: Header,
    pub(super) delimiter: Option<u8>,
    pub(super) label: Option<ColumnName>,
    pub(super) id: Option<ColumnName>,
    pub(super) columns: Vec<ColumnName>,
    pub(super) drop: Vec<ColumnName>,
    pub(super) rows: Option<RowRange>,
    pub(super) sample: Option<usize>,
    pub(super) seed: u64,
    pub(super) rescale: Rescale,
    pub(super) array: Option<String>,
    pub(super) index_base: Option<usize>,
    pub(super) pixels: Option<Pixels>,
    pub(super) resize: Option<ImageSize>,
    pub(super) format: Option<Format>,
    /// Columns that the points must have where the file leaves it open: sparse files do not mention trailing zeros.
    pub(super) n_features: Option<usize>,
    /// Bytes that a sparse file may take as a dense matrix.
    pub(super) dense_limit: u64,
    /// What is advised about columns of text.
    pub(super) remedy: Remedy,
}

impl From<&DataArgs> for ReadOptions {
    fn from(args: &DataArgs) -> Self {
        let header = match (args.header, args.no_header) {
            (true, _) => Header::Present,
            (false, true) => Header::Absent,
            (false, false) => Header::Detect,
        };
        let rescale = match (args.scale, args.standardize) {
            (Some(factor), _) => Rescale::By(factor.0),
            (None, true) => Rescale::Standardize,
            (None, false) => Rescale::None,
        };
        Self {
            header,
            delimiter: args.delimiter.map(|Delimiter(byte)| byte),
            label: args.label.clone(),
            id: args.id.clone(),
            columns: args.columns.clone(),
            drop: args.drop.clone(),
            rows: args.rows,
            sample: args.sample,
            seed: 0,
            rescale,
            array: args.array.clone(),
            index_base: args.index_base.map(usize::from),
            pixels: args.pixels,
            resize: args.resize,
            format: args.format,
            n_features: None,
            dense_limit: MemoryBudget::Auto.bytes(),
            remedy: Remedy::Label,
        }
    }
}

impl ReadOptions {
    /// The same, with a seed for the sample of rows.
    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same, with the number of columns that a sparse file is to have.
    pub(crate) fn n_features(mut self, n_features: usize) -> Self {
        self.n_features = Some(n_features);
        self
    }

    /// The same, with another limit for sparse files than the memory there is.
    #[cfg(any(fuzzing, test))]
    pub(crate) fn dense_limit(mut self, bytes: u64) -> Self {
        self.dense_limit = bytes;
        self
    }

    /// The same, with the values as they are.
    pub(super) fn unscaled(mut self) -> Self {
        self.rescale = Rescale::None;
        self
    }

    /// The same, with the delimiter that goes with a text format unless another was asked for.
    pub(super) fn for_text(&self, format: Format) -> Self {
        let usual = if format == Format::Tsv { b'\t' } else { b',' };
        Self { delimiter: Some(self.delimiter.unwrap_or(usual)), ..self.clone() }
    }

    /// The delimiter of lines of text, unless another was asked for.
    pub(super) fn text_delimiter(&self, is_tsv: bool) -> u8 {
        self.delimiter.unwrap_or(if is_tsv { b'\t' } else { b',' })
    }

    /// Refuses flags that mean nothing for lines of JSON.
    pub(super) fn refuse_text_flags(&self) -> Result<()> {
        let flags = [
            ("--header", self.header == Header::Present),
            ("--no-header", self.header == Header::Absent),
            ("--delimiter", self.delimiter.is_some()),
        ];
        match flags.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => {
                Err(Failure::usage(format!("{flag} is for text with delimiters only, but the rows are NDJSON")))
            }
            None => Ok(()),
        }
    }

    /// Refuses flags that mean nothing for a format.
    pub(super) fn check_flags(&self, format: Format) -> Result<()> {
        let is_text = matches!(format, Format::Csv | Format::Tsv);
        let flags = [
            ("--header", self.header == Header::Present && !is_text, "text with delimiters"),
            ("--no-header", self.header == Header::Absent && !is_text, "text with delimiters"),
            ("--delimiter", self.delimiter.is_some() && !is_text, "text with delimiters"),
            ("--array", self.array.is_some() && format != Format::Npz, ".npz files"),
            ("--index-base", self.index_base.is_some() && format != Format::Libsvm, "libsvm files"),
            ("--pixels", self.pixels.is_some() && format != Format::Images, "images"),
            ("--resize", self.resize.is_some() && format != Format::Images, "images"),
        ];
        match flags.into_iter().find(|(_, is_wrong, _)| *is_wrong) {
            Some((flag, _, only)) => {
                Err(Failure::usage(format!("{flag} is for {only} only, but the data is {}", format::name(format))))
            }
            None => Ok(()),
        }
    }
}
