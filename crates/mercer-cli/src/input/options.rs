//! How a data file is to be read, from what was typed.

use mercer::MemoryBudget;
use mercer::data::Scaling;
use mercer::watch::Threads;

use super::advice::Remedy;
use super::wanted::Wanted;
use super::{ColumnNames, format};
use crate::args::{ColumnName, DataArgs, Delimiter, Format, ImageSize, Pixels, QueryArgs, RowRange};
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

impl Rescale {
    /// Numbers that are in memory at once for every column, whatever the number of rows: a shift and a factor, and the moments that they come from.
    pub(super) fn numbers_per_column(self) -> usize {
        match self {
            Self::None => 0,
            Self::By(_) => 2,
            Self::Standardize => 5,
        }
    }
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
    /// Columns that the points must have where the file has names.
    pub(super) wanted: Option<Wanted>,
    /// Whether columns are taken as they stand, whatever their names.
    pub(super) by_position: bool,
    /// Numbers that may be in memory at once where the format allows to take rows as they come (text comes in blocks of its own); `None` is all.
    pub(super) batch: Option<usize>,
    /// Threads that read.
    pub(super) threads: Option<usize>,
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
            wanted: None,
            by_position: false,
            batch: None,
            threads: None,
            dense_limit: MemoryBudget::Auto.bytes(),
            remedy: Remedy::Label,
        }
    }
}

impl From<&QueryArgs> for ReadOptions {
    fn from(args: &QueryArgs) -> Self {
        Self { by_position: args.by_position, seed: args.seed, ..Self::from(&args.data) }
    }
}

impl ReadOptions {
    /// The same, with a seed for the sample of rows.
    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same, on so many threads; all if nothing was asked for.
    pub(crate) fn threads(mut self, threads: Option<usize>) -> Self {
        self.threads = threads;
        self
    }

    /// The threads that read.
    pub(super) fn pool(&self) -> Result<Threads> {
        Ok(self.threads.map_or_else(Threads::all, Threads::new)?)
    }

    /// The same, with so many numbers in memory at once, if rows can be taken as they come: a choice of rows needs to know all of them.
    pub(crate) fn in_batches(mut self, numbers: usize) -> Self {
        self.batch = (self.rows.is_none() && self.sample.is_none()).then_some(numbers);
        self
    }

    /// Whether as many numbers and rows are in memory as may be at once.
    pub(super) fn is_full(&self, numbers: usize, rows: usize) -> bool {
        /// Rows may have labels, which take more than a number does.
        const MOST_ROWS: usize = 1 << 16;
        self.batch.is_some_and(|most| numbers >= most || rows >= MOST_ROWS)
    }

    /// The same, with the number of columns that a sparse file is to have.
    pub(crate) fn n_features(mut self, n_features: usize) -> Self {
        self.n_features = Some(n_features);
        self
    }

    /// The same, with columns taken as they stand, whatever their names.
    pub(crate) fn by_position(mut self, by_position: bool) -> Self {
        self.by_position = by_position;
        self
    }

    /// The same, with the columns that `owner` has, if they have names.
    ///
    /// # Errors
    ///
    /// If they have none, and yet names are not to be looked at.
    pub(crate) fn wanted(mut self, names: Option<&[String]>, owner: &str) -> Result<Self> {
        match names {
            None if self.by_position => Err(Failure::usage(format!(
                "--by-position has no effect: {owner} does not know the names of its columns; leave it out"
            ))),
            Some(names) if !self.by_position => {
                self.wanted = Some(Wanted::new(names, owner));
                Ok(self)
            }
            _ => Ok(self),
        }
    }

    /// The same, with the columns that `owner` has, if they have names, for a command that always looks at them.
    pub(crate) fn named_as(mut self, names: Option<&[String]>, owner: &str) -> Self {
        self.wanted = names.map(|names| Wanted::new(names, owner).without_by_position());
        self
    }

    /// Refuses a wish not to look at names that are not there.
    pub(super) fn check_names(&self, file: &str, columns: &ColumnNames) -> Result<()> {
        if self.by_position && columns.features.is_none() {
            return Err(Failure::usage(format!("--by-position has no effect: {file} has no names; leave it out")));
        }
        Ok(())
    }

    /// What is to be said about columns that nobody wants, or whose names are of no use.
    pub(super) fn remark_on(&self, file: &str, columns: &ColumnNames) -> Option<String> {
        if columns.n_without > 0 {
            return Some(format!(
                "{file}: {} columns have no name, so the names of the others are not used, and columns are taken as they stand; give them names, or \
                 leave them out with --drop",
                columns.n_without
            ));
        }
        let wanted = self.wanted.as_ref().filter(|_| !columns.passed_over.is_empty())?;
        Some(wanted.passing_over(file, &columns.passed_over))
    }

    /// The same, with another limit for sparse files than the memory there is.
    #[cfg(any(fuzzing, test))]
    pub(crate) fn dense_limit(mut self, bytes: u64) -> Self {
        self.dense_limit = bytes;
        self
    }

    /// The same, for new points of a model, which scales them itself.
    ///
    /// A scaling that was asked for again must be the model's own; a model without one (from an older file, or fitted without)
    /// takes points multiplied by `--scale`. Columns are found by their names, if both the model and the file have any.
    pub(crate) fn for_model(self, n_features: usize, names: Option<&[String]>, own: Option<&Scaling>) -> Result<Self> {
        let options = self.n_features(n_features).wanted(names, "the model")?;
        match (&options.rescale, own) {
            (Rescale::None, _) | (Rescale::By(_), None) => Ok(options),
            (Rescale::Standardize, _) => Err(Failure::usage(
                "--standardize belongs to the fit: new points standardized by their own means could not be compared; leave it out",
            )),
            (Rescale::By(factor), Some(own)) => {
                let same = own.common_factor().is_some_and(|common| (common - factor).abs() <= 1e-12 * common);
                if same {
                    return Ok(options.unscaled());
                }
                let does = match own.common_factor() {
                    Some(common) => format!("multiplies its data by {common}"),
                    None => "standardizes its data".to_owned(),
                };
                Err(Failure::usage(format!("the model {does} by itself: leave --scale out")))
            }
        }
    }

    /// What values are multiplied by, if by anything that is the same for all.
    pub(crate) fn factor(&self) -> Option<f64> {
        match self.rescale {
            Rescale::By(factor) => Some(factor),
            Rescale::None | Rescale::Standardize => None,
        }
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
