//! Text files with delimiters.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder};
use mercer::Points;

use super::numbered_lines::NumberedLines;
use super::{Data, Header, Labels, ReadOptions, UNNAMED_LABEL, advice};
use crate::failure::{Failure, InputError, Place, Result};

/// Reads points from delimited text.
pub(super) fn read(name: &str, source: impl Read, options: &ReadOptions) -> Result<Data> {
    let delimiter = options.delimiter.unwrap_or(b',');
    let mut rows = Rows::new(name, source, delimiter);
    if !rows.advance()? {
        return Err(InputError::new(name, "the file is empty").into());
    }
    if let Some((problem, hint)) = advice::for_foreign_file(rows.record.get(0).unwrap_or_default()) {
        return Err(InputError::new(name, problem).hint(hint).into());
    }
    let mut table = Table::new(name, rows.row(), delimiter, options)?;
    let mut more = if table.names.is_some() { rows.advance()? } else { true };
    while more {
        table.push(rows.row())?;
        more = rows.advance()?;
    }
    table.finish()
}

/// The rows of a file, one after the other in the same memory.
struct Rows<'a, R> {
    file: &'a str,
    reader: csv::Reader<NumberedLines<R>>,
    record: ByteRecord,
}

/// One row, and the line it begins on.
#[derive(Clone, Copy)]
struct Row<'a> {
    record: &'a ByteRecord,
    line: u64,
}

impl<'a, R: Read> Rows<'a, R> {
    fn new(file: &'a str, source: R, delimiter: u8) -> Self {
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            // Rows of different length are our own error, with line and numbers.
            .flexible(true)
            .from_reader(NumberedLines::new(source));
        Self { file, reader, record: ByteRecord::new() }
    }

    /// Goes to the next row; `false` at the end of the file.
    fn advance(&mut self) -> Result<bool> {
        self.reader.read_byte_record(&mut self.record).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(source) => Failure::File { doing: "reading", path: self.file.into(), source },
            other => InputError::new(self.file, format!("{other:?}")).into(),
        })
    }

    fn row(&self) -> Row<'_> {
        let ends_on = self.reader.get_ref().line();
        let line_breaks = memchr::memchr_iter(b'\n', self.record.as_slice()).count();
        Row { record: &self.record, line: ends_on - line_breaks as u64 }
    }
}

/// The rows read so far.
struct Table<'a> {
    file: &'a str,
    delimiter: u8,
    scale: f64,
    /// The header, if there is one.
    names: Option<Vec<String>>,
    n_columns: usize,
    first_line: u64,
    label: Option<usize>,
    labels: Vec<String>,
    values: Vec<f64>,
    n_samples: usize,
}

impl<'a> Table<'a> {
    /// An empty table with the columns of the first row.
    fn new(file: &'a str, first: Row<'_>, delimiter: u8, options: &ReadOptions) -> Result<Self> {
        let n_columns = first.record.len();
        // Before it is known whether there is a header, only a number can name the label column for certain; a column
        // of labels says nothing about the header.
        let numbered_label = options.label.as_ref().and_then(|label| label.find(None, n_columns));
        let is_header = match options.header {
            Header::Present => true,
            Header::Absent => false,
            Header::Detect => first
                .record
                .iter()
                .enumerate()
                .any(|(column, field)| Some(column) != numbered_label && advice::number(field).is_none()),
        };
        let names = is_header.then(|| first.record.iter().map(column_name).collect::<Vec<_>>());
        let label = options.label_column(file, names.as_deref(), n_columns)?;
        if label.is_some() && n_columns == 1 {
            return Err(InputError::new(file, "the label is the only column: there is no data").into());
        }
        Ok(Self {
            file,
            delimiter,
            scale: options.scale,
            names,
            n_columns,
            first_line: first.line,
            label,
            labels: Vec::new(),
            values: Vec::new(),
            n_samples: 0,
        })
    }

    fn push(&mut self, row: Row<'_>) -> Result<()> {
        if row.record.len() != self.n_columns {
            return Err(self.ragged(row).into());
        }
        for (column, field) in row.record.iter().enumerate() {
            if Some(column) == self.label {
                let label = std::str::from_utf8(field)
                    .map_err(|_| self.error(row, column, format!("{} is not UTF-8 text", advice::quoted(field))))?;
                self.labels.push(label.trim().to_owned());
                continue;
            }
            match advice::number(field) {
                Some(value) if value.is_finite() => self.values.push(value * self.scale),
                _ => return Err(self.not_a_number(row, column, field).into()),
            }
        }
        self.n_samples += 1;
        Ok(())
    }

    fn finish(self) -> Result<Data> {
        if self.n_samples == 0 {
            return Err(InputError::new(self.file, "there is a header but no rows")
                .hint("if the first row is data, say --no-header")
                .into());
        }
        let n_features = self.n_columns - usize::from(self.label.is_some());
        let labels = self.label.map(|column| Labels {
            name: self.names.as_ref().map_or_else(|| UNNAMED_LABEL.to_owned(), |names| names[column].clone()),
            values: self.labels,
        });
        let points = Points::from_f64(self.values, self.n_samples, n_features).map_err(Failure::in_data(self.file))?;
        Ok(Data { name: self.file.to_owned(), points, labels })
    }

    fn ragged(&self, row: Row<'_>) -> InputError {
        let columns = |n: usize| if n == 1 { "1 column".to_owned() } else { format!("{n} columns") };
        let problem = format!("{}, but line {} has {}", columns(row.record.len()), self.first_line, self.n_columns);
        InputError::new(self.file, problem)
            .at(Place { line: row.line, ..Place::default() })
            .hint("every row needs the same columns; a field with a delimiter in it needs \"quotes\"")
    }

    fn not_a_number(&self, row: Row<'_>, column: usize, field: &[u8]) -> InputError {
        let shown = advice::quoted(field.trim_ascii());
        let problem = if field.trim_ascii().is_empty() {
            "the value is missing".to_owned()
        } else if advice::number(field).is_some() {
            format!("{shown} is not a finite number")
        } else {
            format!("{shown} is not a number")
        };
        let typed = match &self.names {
            Some(names) if names[column].chars().all(|c| c.is_alphanumeric() || c == '_') => names[column].clone(),
            _ => (column + 1).to_string(),
        };
        self.error(row, column, problem).hint(advice::for_field(field, self.delimiter, &typed, self.n_columns))
    }

    fn error(&self, row: Row<'_>, column: usize, problem: String) -> InputError {
        let column_name = self.names.as_ref().map(|names| names[column].clone());
        InputError::new(self.file, problem).at(Place { line: row.line, column: Some(column + 1), column_name })
    }
}

fn column_name(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ColumnName, DataArgs};

    fn options(label: Option<&str>) -> ReadOptions {
        let label = label.map(|text| ColumnName(text.to_owned()));
        ReadOptions::from(&DataArgs { label, ..DataArgs::default() })
    }

    fn parse(text: &[u8], options: &ReadOptions) -> Result<Data> {
        read("x.csv", text, options)
    }

    fn rows(data: &Data) -> Vec<Vec<f64>> {
        (0..data.points.n_samples()).map(|row| data.points.row(row)).collect()
    }

    /// Message and hint of the refusal.
    fn refusal(text: &[u8], options: &ReadOptions) -> (String, String) {
        let failure = parse(text, options).unwrap_err();
        (failure.to_string(), failure.hint().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_first_row_of_numbers_is_data_and_one_of_words_is_not() {
        let expected = [[1.0, 2.0], [3.0, 4.5]];
        assert_eq!(rows(&parse(b"1,2\n3,4.5\n", &options(None)).unwrap()), expected);
        assert_eq!(rows(&parse(b"a,b\r\n1, 2\r\n3,4.5", &options(None)).unwrap()), expected);
        assert_eq!(
            rows(&parse(b"\xef\xbb\xbf1,2\n\n3,4.5\n\n", &options(None)).unwrap()),
            expected,
            "mark, empty lines"
        );
    }

    #[test]
    fn flags_overrule_what_the_first_row_looks_like() {
        let present = ReadOptions { header: Header::Present, ..options(None) };
        assert_eq!(rows(&parse(b"1,2\n3,4\n", &present).unwrap()), [[3.0, 4.0]]);
        let absent = ReadOptions { header: Header::Absent, ..options(None) };
        assert_eq!(refusal(b"a,b\n1,2\n", &absent).0, "x.csv, line 1, column 1: \"a\" is not a number");
    }

    #[test]
    fn a_label_is_taken_out_by_name() {
        let data = parse(b"w,kind,h\n1,\"big, red\",2\n3,blue,4\n", &options(Some("kind"))).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0]]);
        let labels = data.labels.unwrap();
        assert_eq!((labels.name.as_str(), labels.values), ("kind", vec!["big, red".to_owned(), "blue".to_owned()]));
    }

    #[test]
    fn a_numbered_label_of_words_does_not_make_the_first_row_a_header() {
        let data = parse(b"1,2,red\n3,4,blue\n", &options(Some("-1"))).unwrap();
        assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(data.labels.unwrap().name, "label");
    }

    #[test]
    fn values_are_multiplied_by_the_scale() {
        let scaled = ReadOptions { scale: 0.5, ..options(None) };
        assert_eq!(rows(&parse(b"2,4\n", &scaled).unwrap()), [[1.0, 2.0]]);
    }

    #[test]
    fn empty_and_header_only_files_are_refused() {
        assert_eq!(refusal(b"", &options(None)).0, "x.csv: the file is empty");
        assert_eq!(refusal(b"\n\n", &options(None)).0, "x.csv: the file is empty");
        let (message, hint) = refusal(b"a,b\n", &options(None));
        assert_eq!(message, "x.csv: there is a header but no rows");
        assert_eq!(hint, "if the first row is data, say --no-header");
    }

    #[test]
    fn a_ragged_row_is_named_by_its_line() {
        let (message, hint) = refusal(b"a,b\n1,2\n\n3\n", &options(None));
        assert_eq!(message, "x.csv, line 4: 1 column, but line 1 has 2");
        let quoted = refusal(b"a,b\r\n1,\"2\r\n\"\r\n\r\n\"3\n\n\"\r\n", &options(None)).0;
        assert_eq!(quoted, "x.csv, line 5: 1 column, but line 1 has 2", "line breaks in quotes count, too");
        assert!(hint.starts_with("every row needs the same columns"));
    }

    #[test]
    fn text_gaps_and_infinities_are_named_by_line_and_column() {
        let (message, hint) = refusal(b"w,kind\n1,red\n", &options(None));
        assert_eq!(message, "x.csv, line 2, column 2 (kind): \"red\" is not a number");
        assert!(hint.contains("--label kind"));
        assert_eq!(refusal(b"1,2\n3,\n", &options(None)).0, "x.csv, line 2, column 2: the value is missing");
        let not_finite = refusal(b"1,2\nnan,3\n", &options(None)).0;
        assert_eq!(not_finite, "x.csv, line 2, column 1: \"nan\" is not a finite number");
        let huge = refusal(b"1,1e999\n", &options(None)).0;
        assert_eq!(huge, "x.csv, line 1, column 2: \"1e999\" is not a finite number");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_shown_and_refused() {
        assert_eq!(
            refusal(b"1,\xe9\n2,3\n4,\xe9\n", &options(None)).0,
            "x.csv, line 3, column 2 (\u{fffd}): \"\u{fffd}\" is not a number"
        );
        let label = refusal(b"1,\xe9\n", &options(Some("2"))).0;
        assert_eq!(label, "x.csv, line 1, column 2: \"\u{fffd}\" is not UTF-8 text");
    }

    #[test]
    fn another_delimiter_is_suggested() {
        let (_, hint) = refusal(b"a;b\n1;2\n", &options(None));
        assert_eq!(hint, "the columns seem to be separated by ';': use --delimiter ';'");
    }

    #[test]
    fn a_missing_label_column_lists_the_ones_there_are() {
        let (message, hint) = refusal(b"a,b\n1,2\n", &options(Some("kind")));
        assert_eq!(message, "x.csv: there is no column \"kind\" among the 2 columns");
        assert_eq!(hint, "the columns are \"a\", \"b\"");
        assert!(refusal(b"1,2\n", &options(Some("3"))).1.starts_with("without a header"));
    }

    #[test]
    fn a_label_alone_is_not_data() {
        assert_eq!(refusal(b"1\n2\n", &options(Some("1"))).0, "x.csv: the label is the only column: there is no data");
    }
}
