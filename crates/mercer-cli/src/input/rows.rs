//! Rows that come one after the other: CSV or NDJSON on standard input, one record per line.
//!
//! Lines are taken as they come, however they are cut into pieces. What a row must look like is decided by the header, or by the first row
//! that can be used: of JSON one whose values are numbers and, where rows were learned before, one with their columns. A first line of text in which some
//! fields are numbers is a row, and no header unless it has their names or one that flags name. A row that does not look like that is a complaint with its
//! line, and the rows after it can still be read.

use csv::ByteRecord;
use serde_json::Value;

use super::advice::Remedy;
use super::columns::Selection;
use super::csv::{Rows, Table, Wrong, first_record};
use super::header::is_bad_row;
use super::json::parsed;
use super::{ColumnNames, Header, ReadOptions, advice};
use crate::args::RowFormat;
use crate::failure::{Failure, InputError, Place, Result};

/// What messages call the source.
const NAME: &str = "standard input";
/// What some programs begin a text with.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes that a line may have: a source without line breaks must not fill the memory.
const LONGEST_LINE: usize = 1 << 26;

/// One row, or what is wrong with it, and its line.
pub(crate) struct StreamedRow {
    /// The line, counted from one.
    pub(crate) line: u64,
    pub(crate) values: std::result::Result<Vec<f64>, InputError>,
}

/// Turns bytes into rows.
pub(crate) struct RowSource {
    options: ReadOptions,
    format: Option<RowFormat>,
    /// The width of rows that were learned before.
    width: Option<usize>,
    layout: Option<Layout>,
    /// The beginning of a line whose end has not come yet.
    unfinished: Vec<u8>,
    line: u64,
}

/// What the first row says about all.
enum Layout {
    Text(Table),
    Arrays { n_columns: usize, first_line: u64, selection: Selection },
    Objects { names: Vec<String>, selection: Selection },
}

impl RowSource {
    /// A source of rows in this format, or the one that the first line is in; `width` is that of rows that were learned before.
    pub(crate) fn new(options: ReadOptions, format: Option<RowFormat>, width: Option<usize>) -> Self {
        let options = ReadOptions { remedy: Remedy::Drop, ..options };
        Self { options, format, width, layout: None, unfinished: Vec::new(), line: 0 }
    }

    /// What the columns of rows are called, once the first row has come, if they have names.
    pub(crate) fn names(&self) -> Option<&[String]> {
        self.column_names().and_then(|columns| columns.features.as_deref())
    }

    /// What is to be said of columns that nobody wants, once the first row has come.
    pub(crate) fn remark(&self) -> Option<String> {
        self.column_names().and_then(|columns| self.options.remark_on(NAME, columns))
    }

    fn column_names(&self) -> Option<&ColumnNames> {
        self.layout.as_ref().map(|layout| match layout {
            Layout::Text(table) => table.column_names(),
            Layout::Arrays { selection, .. } | Layout::Objects { selection, .. } => &selection.names,
        })
    }

    /// The rows that these bytes complete.
    ///
    /// # Errors
    ///
    /// If a header or a flag makes it impossible to read any row, or a line does not end.
    pub(crate) fn rows(&mut self, bytes: &[u8]) -> Result<Vec<StreamedRow>> {
        let mut rows = Vec::new();
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end);
            rest = &after[1..];
            let whole = std::mem::take(&mut self.unfinished);
            let row = if whole.is_empty() { self.row(line)? } else { self.row(&[whole.as_slice(), line].concat())? };
            rows.extend(row);
        }
        self.unfinished.extend_from_slice(rest);
        if self.unfinished.len() > LONGEST_LINE {
            let problem = format!("a line of more than {} MiB", LONGEST_LINE >> 20);
            return Err(InputError::new(NAME, problem).at(at(self.line + 1)).hint("every row is a line").into());
        }
        Ok(rows)
    }

    /// The row that the end of the input completes, if its last line has no end.
    ///
    /// # Errors
    ///
    /// As [`rows`](Self::rows).
    pub(crate) fn last_row(&mut self) -> Result<Option<StreamedRow>> {
        let line = std::mem::take(&mut self.unfinished);
        if line.is_empty() { Ok(None) } else { self.row(&line) }
    }

    fn row(&mut self, line: &[u8]) -> Result<Option<StreamedRow>> {
        self.line += 1;
        let line = if self.line == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let Some(layout) = &mut self.layout else { return self.first_row(line) };
        let values = layout.row(line, self.line);
        if values.is_ok() {
            layout.note_numbers();
        }
        Ok(Some(StreamedRow { line: self.line, values }))
    }

    /// Decides what rows look like, unless there is something wrong with this one; a header is none.
    fn first_row(&mut self, line: &[u8]) -> Result<Option<StreamedRow>> {
        let text = line.trim_ascii();
        let format = self.format.unwrap_or(if text.starts_with(b"[") || text.starts_with(b"{") {
            RowFormat::Ndjson
        } else {
            RowFormat::Csv
        });
        self.format = Some(format);
        if format != RowFormat::Ndjson && self.is_bad_row(line, format) {
            self.options.header = Header::Absent;
        }
        let (layout, values) = match self.first_layout(line, format) {
            Ok(layout) if layout.has_header() => {
                self.layout = Some(layout);
                return Ok(None);
            }
            Ok(layout) => {
                let values = layout.row(line, self.line);
                (Some(layout), values)
            }
            // Nobody knows yet what columns there are. But for names and flags, it is the row that is wrong.
            Err(Failure::Input(complaint)) if format == RowFormat::Ndjson || self.options.header == Header::Absent => {
                (None, Err(complaint.at(at(self.line))))
            }
            Err(failure) => return Err(failure),
        };
        if format != RowFormat::Ndjson {
            // A header would have come first.
            self.options.header = Header::Absent;
        }
        let decides = match &values {
            // What is wrong with another width is said by the learner.
            Ok(values) => self.width.is_none_or(|width| width == values.len()),
            Err(_) => false,
        };
        self.layout = layout.filter(|_| decides);
        if let Some(layout) = &mut self.layout {
            layout.note_numbers();
        }
        Ok(Some(StreamedRow { line: self.line, values }))
    }

    /// Whether a first line of text could be a header, but is a row with something wrong in it.
    fn is_bad_row(&self, line: &[u8], format: RowFormat) -> bool {
        is_bad_row(&record(line, self.delimiter(format)), &self.options, self.width)
    }

    /// What separates columns of text.
    fn delimiter(&self, format: RowFormat) -> u8 {
        self.options.text_delimiter(format == RowFormat::Tsv)
    }

    /// What a line says about all rows, if it is the first one.
    fn first_layout(&self, line: &[u8], format: RowFormat) -> Result<Layout> {
        if format == RowFormat::Ndjson {
            self.options.refuse_text_flags()?;
            return json_layout(line.trim_ascii(), self.line, &self.options);
        }
        let delimiter = self.delimiter(format);
        let table = Table::new(NAME, &record(line, delimiter), self.line, delimiter, &self.options)?;
        self.options.check_names(NAME, table.column_names())?;
        Ok(Layout::Text(table))
    }
}

impl Layout {
    fn has_header(&self) -> bool {
        matches!(self, Self::Text(table) if table.has_names())
    }

    /// Takes note that a row could be used: what is said of text in a column depends on it.
    fn note_numbers(&mut self) {
        if let Self::Text(table) = self {
            table.note_numbers();
        }
    }

    /// The row that a line is.
    fn row(&self, text: &[u8], line: u64) -> std::result::Result<Vec<f64>, InputError> {
        match self {
            Self::Text(table) => text_row(table, &record(text, table.delimiter()), line),
            Self::Arrays { .. } | Self::Objects { .. } => json_row(self, text.trim_ascii(), line),
        }
    }
}

/// The fields of a line.
fn record(line: &[u8], delimiter: u8) -> ByteRecord {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if memchr::memchr(b'"', line).is_some() {
        return first_record(line, delimiter).map(|(record, _)| record).unwrap_or_default();
    }
    line.split(|&byte| byte == delimiter).collect()
}

fn text_row(table: &Table, record: &ByteRecord, line: u64) -> std::result::Result<Vec<f64>, InputError> {
    let mut rows = Rows::default();
    match table.push(record, &mut rows) {
        Ok(()) => Ok(rows.into_values()),
        Err(what) => Err(table.complaint(&Wrong::new(record.clone(), what), line)),
    }
}

fn at(line: u64) -> Place {
    Place { line, ..Place::default() }
}

fn json_layout(text: &[u8], line: u64, options: &ReadOptions) -> Result<Layout> {
    match parsed(text, line)? {
        Value::Array(values) => {
            let selection = Selection::new(options, NAME, None, values.len())?;
            options.check_names(NAME, &selection.names)?;
            Ok(Layout::Arrays { n_columns: values.len(), first_line: line, selection })
        }
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let selection = Selection::new(options, NAME, Some(&names), names.len())?;
            Ok(Layout::Objects { names, selection })
        }
        other => Err(not_a_row(&other, line).into()),
    }
}

fn not_a_row(value: &Value, line: u64) -> InputError {
    InputError::new(NAME, format!("{value} is neither an array nor an object")).at(at(line))
}

fn json_row(layout: &Layout, text: &[u8], line: u64) -> std::result::Result<Vec<f64>, InputError> {
    match (layout, parsed(text, line)?) {
        (Layout::Arrays { n_columns, first_line, selection }, Value::Array(values)) => {
            if values.len() != *n_columns {
                let problem = format!("{} numbers, but line {first_line} has {n_columns}", values.len());
                return Err(InputError::new(NAME, problem).at(at(line)));
            }
            let place = |column: usize| Place { line, column: Some(column + 1), column_name: None };
            selection.features.iter().map(|&column| number(&values[column], place(column))).collect()
        }
        (Layout::Objects { names, selection }, Value::Object(fields)) => {
            let place = |name: &str| Place { line, column: None, column_name: Some(name.to_owned()) };
            if let Some(unknown) = fields.keys().find(|name| !names.contains(name)) {
                let problem = format!("{} is not in the first row", advice::quoted(unknown.as_bytes()));
                return Err(InputError::new(NAME, problem).at(at(line)));
            }
            let feature = |&column: &usize| {
                let name = &names[column];
                number(fields.get(name).unwrap_or(&Value::Null), place(name))
            };
            selection.features.iter().map(feature).collect()
        }
        (Layout::Arrays { .. }, Value::Object(_)) => {
            Err(InputError::new(NAME, "this is an object, but the first row is an array").at(at(line)))
        }
        (Layout::Objects { .. }, Value::Array(_)) => {
            Err(InputError::new(NAME, "this is an array, but the first row is an object").at(at(line)))
        }
        (_, other) => Err(not_a_row(&other, line)),
    }
}

fn number(value: &Value, place: Place) -> std::result::Result<f64, InputError> {
    match value.as_f64() {
        Some(number) if number.is_finite() => Ok(number),
        _ if value.is_null() => Err(InputError::new(NAME, "the value is missing").at(place).hint(super::FILL_GAPS)),
        _ => Err(InputError::new(NAME, format!("{value} is not a finite number")).at(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ColumnName, DataArgs};

    fn source(format: Option<RowFormat>) -> RowSource {
        RowSource::new(ReadOptions::from(&DataArgs::default()), format, None)
    }

    fn values(rows: Vec<StreamedRow>) -> Vec<std::result::Result<Vec<f64>, String>> {
        rows.into_iter().map(|row| row.values.map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn rows_do_not_depend_on_how_bytes_come() {
        let text = b"x,y\r\n1,2\r\n\r\n\"3\", 4\n5,6";
        for size in 1..text.len() {
            let mut source = source(None);
            let mut rows = Vec::new();
            for piece in text.chunks(size) {
                rows.extend(source.rows(piece).unwrap());
            }
            rows.extend(source.last_row().unwrap());
            assert_eq!(rows.iter().map(|row| row.line).collect::<Vec<_>>(), [2, 4, 5]);
            assert_eq!(values(rows), [Ok(vec![1.0, 2.0]), Ok(vec![3.0, 4.0]), Ok(vec![5.0, 6.0])], "pieces of {size}");
        }
    }

    #[test]
    fn arrays_and_objects_are_rows() {
        let rows = source(None).rows(b"[1, 2]\n[3, 4.5]\n").unwrap();
        assert_eq!(values(rows), [Ok(vec![1.0, 2.0]), Ok(vec![3.0, 4.5])]);
        let rows = source(None).rows(b"{\"b\": 2, \"a\": 1}\n{\"a\": 3, \"b\": 4}\n").unwrap();
        assert_eq!(values(rows), [Ok(vec![1.0, 2.0]), Ok(vec![3.0, 4.0])], "by name, in alphabetical order");
    }

    #[test]
    fn wanted_columns_are_found_by_name_in_text_and_in_objects() {
        let names = ["b", "a"].map(str::to_owned);
        let wanting = || ReadOptions::from(&DataArgs::default()).wanted(Some(&names), "the learner").unwrap();
        for text in ["a,c,b\n1,7,2\n", "{\"a\": 1, \"b\": 2, \"c\": 7}\n"] {
            let mut source = RowSource::new(wanting(), None, Some(2));
            assert_eq!(values(source.rows(text.as_bytes()).unwrap()), [Ok(vec![2.0, 1.0])]);
            assert_eq!(source.names().unwrap(), names);
            assert!(source.remark().unwrap().ends_with("passed over: \"c\""));
        }
        let mut without = RowSource::new(wanting(), None, Some(2));
        assert_eq!(values(without.rows(b"1,2\n").unwrap()), [Ok(vec![1.0, 2.0])], "as they stand");
        assert_eq!((without.names(), without.remark()), (None, None));
        // An object that lacks one says nothing about the rows after it.
        let mut late = RowSource::new(wanting(), None, Some(2));
        let complaint = "standard input, line 1: there is no column \"b\", which the learner has".to_owned();
        let rows = late.rows(b"{\"a\": 1}\n{\"c\": 7, \"b\": 2, \"a\": 1}\n").unwrap();
        assert_eq!(values(rows), [Err(complaint), Ok(vec![2.0, 1.0])]);
        assert!(late.remark().unwrap().ends_with("passed over: \"c\""));
        let as_they_stand = ReadOptions::from(&DataArgs::default()).by_position(true);
        let error = RowSource::new(as_they_stand, None, None).rows(b"[1, 2]\n").map(|_| ()).unwrap_err().to_string();
        assert_eq!(error, "--by-position has no effect: standard input has no names; leave it out");
    }

    #[test]
    fn a_bad_row_is_a_complaint_with_its_line_and_the_next_one_is_read() {
        let rows = source(None).rows(b"1,2\n3,nan\n4\n5,wide\n6,7\n").unwrap();
        let texts = [
            Ok(vec![1.0, 2.0]),
            Err("standard input, line 2, column 2: \"nan\" is not a finite number".to_owned()),
            Err("standard input, line 3: 1 column, but line 1 has 2".to_owned()),
            Err("standard input, line 4, column 2: \"wide\" is not a number".to_owned()),
            Ok(vec![6.0, 7.0]),
        ];
        assert_eq!(values(rows), texts);
        let text = "{\"a\": 1, \"b\": 2}\n{\"a\": 1}\n{\"a\": 1, \"b\": \"x\"}\n{\"a\": 1, \"c\": 2}\n[1, 2]\nx\n7\n";
        let wrong: Vec<String> = values(source(None).rows(text.as_bytes()).unwrap())
            .into_iter()
            .filter_map(std::result::Result::err)
            .collect();
        assert_eq!(
            wrong,
            [
                "standard input, line 2 (b): the value is missing",
                "standard input, line 3 (b): \"x\" is not a finite number",
                "standard input, line 4: \"c\" is not in the first row",
                "standard input, line 5: this is an array, but the first row is an object",
                "standard input, line 6: \"x\" is not JSON (column 1)",
                "standard input, line 7: 7 is neither an array nor an object",
            ]
        );
    }

    #[test]
    fn a_bad_first_line_of_text_is_no_header() {
        let known = |names: Option<&[String]>| {
            let options = ReadOptions::from(&DataArgs::default()).wanted(names, "the learner").unwrap();
            RowSource::new(options, None, Some(2))
        };
        let (names, good) = (["x", "y"].map(str::to_owned), || Ok(vec![3.0, 4.0]));
        for names in [None, Some(names.as_slice())] {
            let complaint = "standard input, line 1, column 2: \"oops\" is not a number".to_owned();
            assert_eq!(values(known(names).rows(b"7,oops\n3,4\n").unwrap()), [Err(complaint), good()]);
            let mut headed = known(names);
            assert_eq!(values(headed.rows(b"x,y\n3,4\n").unwrap()), [good()]);
            assert_eq!(headed.names().unwrap(), ["x", "y"]);
        }
        // A header of another width would make all rows after it bad ones.
        let found = values(known(None).rows(b"offline\n3,4\n").unwrap());
        assert!(found.len() == 2 && found[0].is_err() && found[1] == good(), "{found:?}");
        // Names may be numbers; other names are those of other columns, and no bad row.
        let years = ["x", "2020"].map(str::to_owned);
        assert_eq!(values(known(Some(years.as_slice())).rows(b"2020,x\n4,3\n").unwrap()), [good()]);
        let error = known(Some(names.as_slice())).rows(b"a,b\n3,4\n").map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no column has a name of the learner"), "{error}");
        // Neither is one where no row has been learned before, unless somebody says so.
        let complaint = "standard input, line 1, column 2: \"oops\" is not a number".to_owned();
        assert_eq!(values(source(None).rows(b"7,oops\n3,4\n").unwrap()), [Err(complaint), good()]);
        for flags in [
            DataArgs { header: true, ..DataArgs::default() },
            DataArgs { columns: ["2020", "x"].map(|name| ColumnName(name.to_owned())).to_vec(), ..DataArgs::default() },
        ] {
            let mut called = RowSource::new(ReadOptions::from(&flags), None, None);
            assert_eq!(values(called.rows(b"2020,x\n3,4\n").unwrap()), [good()]);
            assert_eq!(called.names().unwrap(), ["2020", "x"]);
        }
    }

    #[test]
    fn a_number_out_of_range_is_called_so() {
        let found = values(source(None).rows(b"[1, 2]\n[1e400, 2]\n[1, \n").unwrap());
        let [_, beyond, cut] = found.as_slice() else { panic!("{found:?}") };
        let text = "standard input, line 2: \"[1e400, 2]\" has a number that is out of range (column ";
        assert!(beyond.as_ref().unwrap_err().starts_with(text), "{beyond:?}");
        assert!(cut.as_ref().unwrap_err().contains("is not JSON"), "{cut:?}");
    }

    #[test]
    fn a_bad_first_row_decides_nothing() {
        let complaints = |text: &str, width: Option<usize>| -> Vec<std::result::Result<Vec<f64>, String>> {
            let mut source = RowSource::new(ReadOptions::from(&DataArgs::default()), None, width);
            values(source.rows(text.as_bytes()).unwrap())
        };
        let good = || Ok(vec![3.0, 4.0]);
        let text = "[1,2\n[\"x\"]\n{\"error\": \"offline\"}\n[]\n[3, 4]\n[5]\n";
        let found = complaints(text, None);
        let words = ["is not JSON", "\"x\" is not a finite number", "\"offline\" is not a finite number", "no column"];
        for (line, (row, word)) in found.iter().zip(words).enumerate() {
            let complaint = row.as_ref().unwrap_err();
            assert!(complaint.starts_with(&format!("standard input, line {}", line + 1)), "{complaint}");
            assert!(complaint.contains(word), "{complaint}");
        }
        assert_eq!(found[4..], [good(), Err("standard input, line 6: 1 numbers, but line 5 has 2".to_owned())]);
        // Where rows were learned before, their width is known; the learner refuses another one.
        for text in ["[1]\n[3, 4]\n", "1\n3,4\n"] {
            assert_eq!(complaints(text, Some(2)), [Ok(vec![1.0]), good()], "{text}");
            assert!(complaints(text, None)[1].is_err(), "{text}");
        }
        assert_eq!(complaints("1,nan,7\n3,4\n", Some(2))[1], good());
        assert!(complaints("1\na,b\n3,4\n", Some(2))[1].is_err(), "a header comes first or not at all");
        // Neither does a bad first line of text without a header.
        for text in ["nan,1,2\n3,4\n", "1,,2\n3,4\n", ",5,6\n3,4\n"] {
            let found = complaints(text, None);
            assert!(found[0].is_err() && found[1] == good(), "{text}: {found:?}");
        }
        // A line that begins as JSON does is meant to be JSON.
        assert!(complaints("[1,2\n3,4\n", None)[1].as_ref().unwrap_err().contains("is not JSON"));
    }
}
