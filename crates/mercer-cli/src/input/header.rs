//! The first row of a text: names of columns, or numbers.

use csv::ByteRecord;

use super::columns::numbered;
use super::{Header, ReadOptions, advice};
use crate::failure::{InputError, Place, Result};

/// Whether the first row is a header: it says something, and that is not a number. Labels and columns that are not used say
/// nothing about it, nor do missing values; but before the header is known, only a number can name them.
pub(super) fn is_header(first: &ByteRecord, options: &ReadOptions) -> bool {
    match options.header {
        Header::Present => true,
        Header::Absent => false,
        Header::Detect => {
            let says_a_word = |field: &&[u8]| advice::number(field).is_none() && !advice::is_missing(field);
            used_fields(first, options).iter().any(says_a_word)
        }
    }
}

/// Whether the first row of a stream, which may be a header, is a row with something wrong in it: a header has the names of rows that were learned
/// before, or one that flags name, or no number; and where those rows, of so many columns, have no names, it has as many, unless some are left out.
pub(super) fn is_bad_row(first: &ByteRecord, options: &ReadOptions, width: Option<usize>) -> bool {
    // Who wants columns by position says that there are names.
    if options.header != Header::Detect || options.by_position || !is_header(first, options) {
        return false;
    }
    let has_number = used_fields(first, options).iter().any(|field| advice::number(field).is_some());
    let is_whole = options.columns.is_empty() && options.drop.is_empty();
    match &options.wanted {
        Some(wanted) => has_number && !wanted.are_among(first.iter()),
        None if has_number => !has_name_of_flags(first, options),
        None => is_whole && width.is_some_and(|width| width != first.len()),
    }
}

/// Whether flags call a column what a field says that is not a number.
fn has_name_of_flags(first: &ByteRecord, options: &ReadOptions) -> bool {
    let is_named = |field: &[u8]| {
        let mut named = options.columns.iter().chain(&options.drop);
        named.any(|column| column.0.as_bytes() == field.trim_ascii())
    };
    first.iter().any(|field| advice::number(field).is_none() && is_named(field))
}

/// The fields of columns that are used, as far as numbers tell which those are.
fn used_fields<'f>(first: &'f ByteRecord, options: &ReadOptions) -> Vec<&'f [u8]> {
    let apart = options.label.iter().chain(&options.id).filter_map(|column| column.find(None, first.len()));
    let unused: Vec<usize> = apart.chain(numbered(&options.drop, first.len())).collect();
    let used = numbered(&options.columns, first.len());
    let counts = |column: usize| !unused.contains(&column) && (used.is_empty() || used.contains(&column));
    first.iter().enumerate().filter(|(column, _)| counts(*column)).map(|(_, field)| field).collect()
}

/// Refuses a first row of numbers that may be names: those of the model.
pub(super) fn refuse_doubt(file: &str, first: &ByteRecord, line: u64, options: &ReadOptions) -> Result<()> {
    if options.wanted.as_ref().is_none_or(|wanted| !wanted.are_among(first.iter())) {
        return Ok(());
    }
    let problem = "these may be numbers, or the names of the model's columns";
    let place = Place { line, ..Place::default() };
    Err(InputError::new(file, problem).at(place).hint("say --header or --no-header").into())
}

/// The names that a header tells.
pub(super) fn header_names(file: &str, first: &ByteRecord, line: u64) -> Result<Vec<String>> {
    let name = |(column, field)| match std::str::from_utf8(field) {
        Ok(name) if !name.contains('\0') => Ok(name.trim().to_owned()),
        _ => Err(not_text(file, field, Place { line, column: Some(column + 1), column_name: None }).into()),
    };
    first.iter().enumerate().map(name).collect()
}

/// The complaint about a field that is not text.
pub(super) fn not_text(file: &str, field: &[u8], place: Place) -> InputError {
    if field.contains(&0) {
        return advice::nul(file, field.trim_ascii(), place);
    }
    let problem = format!("{} is not UTF-8 text", advice::quoted(field.trim_ascii()));
    InputError::new(file, problem).at(place).hint("save the file as UTF-8")
}
