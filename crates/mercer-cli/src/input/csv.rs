//! Text files with delimiters.
//!
//! The text comes in blocks of whole records; a block is cut into pieces, which are read on all threads while the next block
//! is fetched. Only the numbers are kept. Lines are counted when there is something to complain about.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};
use rayon::prelude::*;

use super::advice::Remedy;
use super::array::Array;
use super::blocks::{Blocks, Problem, line_breaks, pieces};
use super::columns::Selection;
use super::header::{header_names, is_header, not_text, refuse_doubt};
use super::numbers::Numbers;
use super::room::{self, NoRoom};
use super::{ColumnNames, Finite, Header, Labels, Part, Raw, ReadOptions, UNNAMED_ID, UNNAMED_LABEL, advice, source};
use crate::failure::{Failure, InputError, Place, Result};

/// Pieces per thread: a piece that takes longer than the others then matters less.
const PIECES_PER_THREAD: usize = 2;

/// What to do about a quote that is never closed.
const CLOSE_IT: &str = "a field that begins with \" ends with \"; one that stands for itself is written twice";

/// Reads points from delimited text; `length` is the number of its bytes, if that is known.
pub(super) fn read(name: &str, source: impl Read + Send, length: Option<u64>, options: &ReadOptions) -> Result<Raw> {
    let mut found = None;
    let whole = ReadOptions { batch: None, ..options.clone() };
    read_in_batches(name, source, length, &whole, &mut |raw, _| {
        found = Some(raw);
        Ok(())
    })?;
    Ok(found.expect("without batches there is one table"))
}

/// As [`read`], as many numbers at a time as the options say; `each` is called for every part of the table, in their order.
pub(super) fn read_in_batches(
    name: &str,
    source: impl Read + Send,
    length: Option<u64>,
    options: &ReadOptions,
    each: &mut dyn FnMut(Raw, Part) -> Result<()>,
) -> Result<()> {
    let threads = options.pool()?;
    let delimiter = options.delimiter.unwrap_or(b',');
    let mut blocks = Blocks::new(source, delimiter);
    let unreadable = |problem| unreadable(name, problem);
    let mut block = blocks.next().map_err(unreadable)?.ok_or_else(|| source::empty(name))?;
    let (table, mut start) = first_table(name, &block, delimiter, options)?;
    let mut rows = Rows::default();
    let (mut lines_before, mut bytes_before) = (0, 0);
    let (mut is_first, mut is_begun) = (true, false);
    loop {
        let text = &block[start..];
        let (pieces, next) = threads.run(|| rayon::join(|| table.read_pieces(text), || blocks.next()));
        table.gather(pieces, &mut rows, (block.as_slice(), start), lines_before)?;
        if std::mem::take(&mut is_first) && options.batch.is_none() {
            rows.reserve(length, block.len()).map_err(NoRoom::reading(name))?;
        }
        let Some(next) = next.map_err(unreadable)? else { break };
        lines_before += line_breaks(&block) as u64;
        bytes_before += block.len() as u64;
        (block, start) = (next, 0);
        // A block of text at a time: labels take room, too, however few the numbers are.
        if options.batch.is_some() && rows.n_samples > 0 {
            let share = length.map_or(0.0, |length| (bytes_before as f64 / length as f64).min(1.0));
            each(table.finish(std::mem::take(&mut rows))?, Part { share, is_last: false })?;
            is_begun = true;
        }
    }
    drop(block);
    if rows.n_samples == 0 && is_begun {
        // What came after the last batch had no rows: it was the last, which nobody could know.
        return Ok(());
    }
    each(table.finish(rows)?, Part { share: 1.0, is_last: true })
}

/// The failure that a text is whose blocks cannot be had.
fn unreadable(name: &str, problem: Problem) -> Failure {
    match problem {
        Problem::Io(error) => source::unpacking(name.as_ref(), name, error),
        Problem::OpenQuote(line) => {
            InputError::new(name, format!("the quote that opens on line {line} is never closed")).hint(CLOSE_IT).into()
        }
    }
}

/// The columns that the first block of a text tells of, and where its rows begin.
fn first_table(name: &str, block: &[u8], delimiter: u8, options: &ReadOptions) -> Result<(Table, usize)> {
    if let Some(error) = advice::for_foreign_text(name, block) {
        return Err(error.into());
    }
    let (first, after_first) = first_record(block, delimiter).ok_or_else(|| source::empty(name))?;
    let table = Table::new(name, &first, line_of(block, 0), delimiter, options)?;
    let start = if table.has_names() { after_first } else { 0 };
    Ok((table, start))
}

/// The first record of a text, and where the text goes on after it.
pub(super) fn first_record(text: &[u8], delimiter: u8) -> Option<(ByteRecord, usize)> {
    let mut reader = reader(text, delimiter);
    let mut record = ByteRecord::new();
    // From memory nothing can fail, and records of any length are allowed.
    let found = reader.read_byte_record(&mut record).unwrap_or(false);
    found.then(|| (record, reader.position().byte() as usize))
}

fn reader(text: &[u8], delimiter: u8) -> csv::Reader<&[u8]> {
    // Rows of different length are our own error, with line and numbers.
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text)
}

/// The line, counted from one, of the first record at or after a place: empty lines are no records.
fn line_of(text: &[u8], place: usize) -> u64 {
    let breaks = text[place..].iter().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
    // With the first byte of the record, so that it is known what follows the last `\r`.
    let end = (place + breaks + 1).min(text.len());
    1 + line_breaks(&text[..end]) as u64
}

/// The line, counted from one, of a row of a text that has been read before; `None` if it is not there any more.
pub(super) fn line_of_row(source: impl Read, options: &ReadOptions, row: usize) -> Option<u64> {
    let delimiter = options.delimiter.unwrap_or(b',');
    let mut blocks = Blocks::new(source, delimiter);
    let (mut lines_before, mut rows_before, mut is_first) = (0, 0, true);
    while let Some(block) = blocks.next().ok()? {
        let (mut reader, mut record, mut place) = (reader(&block, delimiter), ByteRecord::new(), 0);
        while reader.read_byte_record(&mut record).ok()? {
            let is_header = std::mem::take(&mut is_first) && is_header(&record, options);
            if rows_before == row && !is_header {
                return Some(lines_before + line_of(&block, place));
            }
            rows_before += usize::from(!is_header);
            place = reader.position().byte() as usize;
        }
        lines_before += line_breaks(&block) as u64;
    }
    None
}

/// Rows that have been read.
#[derive(Default)]
pub(super) struct Rows {
    values: Vec<f64>,
    labels: Vec<String>,
    ids: Vec<String>,
    n_samples: usize,
}

impl Rows {
    /// The numbers of all rows, one row after the other.
    pub(super) fn into_values(self) -> Vec<f64> {
        self.values
    }

    fn append(&mut self, mut other: Self) -> room::Result<()> {
        room::grow(&mut self.values, other.values.len())?;
        room::grow(&mut self.labels, other.labels.len())?;
        room::grow(&mut self.ids, other.ids.len())?;
        self.values.append(&mut other.values);
        self.labels.append(&mut other.labels);
        self.ids.append(&mut other.ids);
        self.n_samples += other.n_samples;
        Ok(())
    }

    /// Makes room for the rest of the file, if it is like its first block. A value takes at least two bytes of text, so this is at
    /// most four times the file.
    fn reserve(&mut self, length: Option<u64>, first_block: usize) -> room::Result<()> {
        const MARGIN: f64 = 1.01;
        let Some(length) = length.filter(|&length| length > first_block as u64) else { return Ok(()) };
        let whole = self.values.len() as f64 * length as f64 / first_block as f64;
        let rest = (whole * MARGIN) as usize - self.values.len();
        room::reserve(&mut self.values, rest)
    }
}

/// A row that cannot be used.
pub(super) struct Wrong {
    /// Where in the piece it was looked for.
    offset: usize,
    record: ByteRecord,
    what: What,
}

impl Wrong {
    /// A record and what is wrong with it, wherever it is.
    pub(super) fn new(record: ByteRecord, what: What) -> Self {
        Self { offset: 0, record, what }
    }
}

/// Rows of a piece of text, or the first that is wrong, with the place of the piece.
type Piece = (usize, std::result::Result<Rows, Box<Wrong>>);

pub(super) enum What {
    /// Another number of columns than the first row.
    Ragged,
    /// A field that is not a finite number.
    NotANumber(usize),
    /// A label or id that is not text.
    NotText(usize),
}

/// What is known about the columns from the first row.
pub(super) struct Table {
    file: String,
    delimiter: u8,
    /// The header, if there is one.
    names: Option<Vec<String>>,
    n_columns: usize,
    first: ByteRecord,
    first_line: u64,
    selection: Selection,
    remedy: Remedy,
}

impl Table {
    /// The columns that the first row has.
    pub(super) fn new(file: &str, first: &ByteRecord, line: u64, delimiter: u8, options: &ReadOptions) -> Result<Self> {
        let n_columns = first.len();
        let is_header = is_header(first, options);
        if !is_header && options.header == Header::Detect {
            refuse_doubt(file, first, line, options)?;
        }
        let names = if is_header { Some(header_names(file, first, line)?) } else { None };
        let selection = Selection::new(options, file, names.as_deref(), n_columns)?;
        Ok(Self {
            file: file.to_owned(),
            delimiter,
            names,
            n_columns,
            first: first.clone(),
            first_line: line,
            selection,
            remedy: options.remedy,
        })
    }

    /// Whether the first row is a header.
    pub(super) fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Names of the columns that are read, and of those that nobody wants.
    pub(super) fn column_names(&self) -> &ColumnNames {
        &self.selection.names
    }

    /// What separates columns.
    pub(super) fn delimiter(&self) -> u8 {
        self.delimiter
    }

    /// Reads a text of whole records, in pieces.
    fn read_pieces(&self, text: &[u8]) -> Vec<Piece> {
        let pieces = pieces(text, self.delimiter, PIECES_PER_THREAD * rayon::current_num_threads());
        let place = |piece: &[u8]| piece.as_ptr().addr() - text.as_ptr().addr();
        pieces.into_par_iter().map(|piece| (place(piece), self.read_piece(piece))).collect()
    }

    /// Adds the pieces that a block has been read in, from a place of it on, or complains about the first row that is wrong; so many lines come
    /// before the block.
    fn gather(&self, pieces: Vec<Piece>, rows: &mut Rows, (block, start): (&[u8], usize), lines: u64) -> Result<()> {
        for (place, piece) in pieces {
            match piece {
                Ok(piece) => rows.append(piece).map_err(NoRoom::reading(&self.file))?,
                Err(wrong) => {
                    let line = lines + line_of(block, start + place + wrong.offset);
                    return Err(self.complaint(&wrong, line).into());
                }
            }
        }
        Ok(())
    }

    fn read_piece(&self, text: &[u8]) -> std::result::Result<Rows, Box<Wrong>> {
        let mut reader = reader(text, self.delimiter);
        let mut record = ByteRecord::new();
        let mut rows = Rows::default();
        // From memory nothing can fail, and records of any length are allowed.
        while reader.read_byte_record(&mut record).unwrap_or(false) {
            if let Err(what) = self.push(&record, &mut rows) {
                let offset = record.position().map_or(0, |position| position.byte() as usize);
                return Err(Box::new(Wrong { offset, record, what }));
            }
        }
        Ok(rows)
    }

    pub(super) fn push(&self, record: &ByteRecord, rows: &mut Rows) -> std::result::Result<(), What> {
        if record.len() != self.n_columns {
            return Err(What::Ragged);
        }
        for &column in &self.selection.features {
            match advice::number(&record[column]) {
                Some(value) if value.is_finite() => rows.values.push(value),
                _ => return Err(What::NotANumber(column)),
            }
        }
        let text = |column: usize| match std::str::from_utf8(&record[column]) {
            Ok(text) if !text.contains('\0') => Ok(text.trim().to_owned()),
            _ => Err(What::NotText(column)),
        };
        if let Some(column) = self.selection.label {
            rows.labels.push(text(column)?);
        }
        if let Some(column) = self.selection.id {
            rows.ids.push(text(column)?);
        }
        rows.n_samples += 1;
        Ok(())
    }

    fn finish(&self, rows: Rows) -> Result<Raw> {
        if rows.n_samples == 0 {
            return Err(InputError::new(&self.file, "there is a header but no rows")
                .hint("if the first row is data, say --no-header")
                .into());
        }
        let column = |place: Option<usize>, unnamed: &str, values| {
            let name =
                |place: usize| self.names.as_ref().map_or_else(|| unnamed.to_owned(), |names| names[place].clone());
            place.map(|place| Labels { name: name(place), values })
        };
        Ok(Raw {
            values: Array::F64(Numbers::Owned(rows.values)),
            n_samples: rows.n_samples,
            n_features: self.selection.features.len(),
            labels: column(self.selection.label, UNNAMED_LABEL, rows.labels),
            ids: column(self.selection.id, UNNAMED_ID, rows.ids),
            finite: Finite::Checked,
            columns: self.selection.names.clone(),
            rounded: None,
        })
    }

    /// Takes note that a row of a stream had numbers in all columns that are used.
    pub(super) fn note_numbers(&mut self) {
        self.remedy = Remedy::Skip;
    }

    /// What is wrong with a row, and what to do about it.
    pub(super) fn complaint(&self, wrong: &Wrong, line: u64) -> InputError {
        match wrong.what {
            What::Ragged => self.ragged(&wrong.record, line),
            What::NotANumber(column) => self.not_a_number(line, column, &wrong.record[column]),
            What::NotText(column) => not_text(&self.file, &wrong.record[column], self.place(line, column)),
        }
    }

    fn ragged(&self, record: &ByteRecord, line: u64) -> InputError {
        let columns = |n: usize| if n == 1 { "1 column".to_owned() } else { format!("{n} columns") };
        let problem = format!("{}, but line {} has {}", columns(record.len()), self.first_line, self.n_columns);
        let hint = advice::for_ragged(self.first.as_slice(), record.as_slice(), self.delimiter);
        InputError::new(&self.file, problem).at(Place { line, ..Place::default() }).hint(hint)
    }

    fn not_a_number(&self, line: u64, column: usize, field: &[u8]) -> InputError {
        if std::str::from_utf8(field).is_err() || field.contains(&0) {
            return not_text(&self.file, field, self.place(line, column));
        }
        let shown = advice::quoted(field.trim_ascii());
        let problem = if field.trim_ascii().is_empty() {
            "the value is missing".to_owned()
        } else if advice::number(field).is_some() {
            format!("{shown} is not a finite number")
        } else {
            format!("{shown} is not a number")
        };
        let typed = match &self.names {
            Some(names) if is_plain(&names[column]) => names[column].clone(),
            _ => (column + 1).to_string(),
        };
        if self.is_no_column(column, field) {
            let hint = format!(
                "the last column has no name and no value, as where a delimiter ends every line: leave it out with --drop {typed}"
            );
            return InputError::new(&self.file, problem).at(self.place(line, column)).hint(hint);
        }
        let mut hint = advice::for_field(field, self.delimiter, &typed, self.n_columns, self.remedy);
        if line == self.first_line && advice::number(field).is_none() {
            hint.push_str("; if the first row is a header, say --header");
        }
        InputError::new(&self.file, problem).at(self.place(line, column)).hint(hint)
    }

    /// Whether an empty field is in a last column that is empty on the first line, too: nobody meant there to be one.
    fn is_no_column(&self, column: usize, field: &[u8]) -> bool {
        let is_empty = |field: &[u8]| field.trim_ascii().is_empty();
        let is_last = column > 0 && column + 1 == self.n_columns;
        is_last && is_empty(field) && is_empty(&self.first[column]) && self.remedy != Remedy::Skip
    }

    fn place(&self, line: u64, column: usize) -> Place {
        let name = self.names.as_ref().map(|names| &names[column]).filter(|name| !name.is_empty());
        let column_name = name.map(|name| advice::shown(name));
        Place { line, column: Some(column + 1), column_name }
    }
}

/// Whether a name can be typed in a shell as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
