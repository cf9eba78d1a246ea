//! Sparse text, one point per line: a label, then `column:value` for every value that is not zero.
//!
//! Points are dense in this program, so the file is read twice: for its size, which is checked against the memory there is, and
//! for its values.

use super::array::Array;
use super::columns::{self, Selection};
use super::numbers::Numbers;
use super::options::Rescale;
use super::room::{self, NoRoom};
use super::{FILL_GAPS, Finite, Labels, Raw, ReadOptions, UNNAMED_ID, UNNAMED_LABEL, advice};
use crate::failure::{Failure, InputError, Place, Result};
use crate::output::summary::counted;

/// Reads points from libsvm text. The label is always taken out: it is not a column.
pub(super) fn read(name: &str, text: &[u8], options: &ReadOptions) -> Result<Raw> {
    if let Some(error) = advice::for_foreign_text(name, text) {
        return Err(error.into());
    }
    if options.label.is_some() {
        return Err(Failure::usage("--label is not for libsvm files: the label is the first word of each line"));
    }
    let size = Size::of(name, text, options)?;
    let (n, d) = (size.n_samples, size.n_columns);
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    room::reserve(&mut values, n * d).map_err(NoRoom::reading(name))?;
    room::reserve(&mut labels, n).map_err(NoRoom::reading(name))?;
    values.resize(n * d, 0.0);
    for (row, line) in lines(name, text).enumerate() {
        labels.push(line.label()?);
        let values = &mut values[row * d..(row + 1) * d];
        let mut next = 0;
        for entry in line.entries() {
            let (index, value) = entry?;
            // Within the row by the first reading, which has seen the same indices.
            let column = index - size.base;
            if column < next {
                let problem = format!("column {index} stands after column {}", next - 1 + size.base);
                return Err(line.error(problem).hint("each column stands once, in increasing order").into());
            }
            values[column] = value;
            next = column + 1;
        }
    }
    let labels = Some(Labels { name: UNNAMED_LABEL.to_owned(), values: labels });
    let selection = Selection::new(options, name, None, d)?;
    let array = Array::F64(Numbers::Owned(values));
    let ids = selection.id.map(|id| Labels { name: UNNAMED_ID.to_owned(), values: array.column_as_text(d, id) });
    let values = if selection.is_all(d) {
        array
    } else {
        array.columns(d, &selection.features).map_err(NoRoom::reading(name))?
    };
    let (n_features, finite, columns) = (selection.features.len(), Finite::Checked, selection.names);
    Ok(Raw { values, n_samples: n, n_features, labels, ids, finite, columns, rounded: None })
}

/// The line, counted from one, of a row of a text that has been read before; `None` if it is not there any more.
pub(super) fn line_of_row(text: &[u8], row: usize) -> Option<u64> {
    lines("", text).nth(row).map(|line| line.number)
}

/// What the file holds, as a matrix.
struct Size {
    n_samples: usize,
    n_columns: usize,
    /// The number of the first column.
    base: usize,
}

impl Size {
    fn of(name: &str, text: &[u8], options: &ReadOptions) -> Result<Self> {
        let (mut n_samples, mut least, mut most) = (0_usize, usize::MAX, 0);
        for line in lines(name, text) {
            n_samples += 1;
            for entry in line.entries() {
                let (index, _) = entry?;
                if options.index_base.is_some_and(|base| index < base) {
                    let problem = format!("column {index} cannot be, if the first column is 1");
                    return Err(line.error(problem).hint("say --index-base 0").into());
                }
                least = least.min(index);
                most = most.max(index);
            }
        }
        if n_samples == 0 {
            return Err(InputError::new(name, "the file is empty").into());
        }
        // With the columns that flags take out, of which a model knows nothing.
        let wanted = options.n_features.map(|n_features| columns::count_for(options, n_features));
        if least == usize::MAX && wanted.is_none() {
            lines(name, text).try_for_each(|line| line.label().map(drop))?;
            return Err(InputError::new(name, "there are labels but no values").into());
        }
        if let (None, Some(wanted)) = (options.index_base, wanted)
            && (1..usize::MAX).contains(&least)
            && most < wanted
        {
            let problem = format!("columns {least} to {most} may be counted from 0 or from 1");
            let hint = "say --index-base 0 or --index-base 1, as the model's own data was counted";
            return Err(InputError::new(name, problem).hint(hint).into());
        }
        let base = options.index_base.unwrap_or(usize::from(least != 0));
        let found = if least == usize::MAX { 0 } else { most - base + 1 };
        // Trailing zeros are not in the file; a model knows better how many columns there are.
        let n_columns = wanted.map_or(found, |wanted| wanted.max(found));
        // Of a few wide rows, what is known of each column is as large as they are.
        let numbers_per_column = n_samples as u128 + options.rescale.numbers_per_column() as u128;
        let needed = numbers_per_column * n_columns as u128 * size_of::<f64>() as u128;
        let budget = options.dense_limit;
        if needed > u128::from(budget) {
            let scaled = if options.rescale == Rescale::None { "" } else { ", which is scaled," };
            let (rows, columns) = (counted(n_samples, "row"), counted(n_columns, "column"));
            return Err(Failure::Library(mercer::Error::OverBudget {
                what: format!("{name} as a dense matrix of {rows} and {columns}{scaled}"),
                needed: u64::try_from(needed).unwrap_or(u64::MAX),
                budget,
                advice: "take part of its rows into a file of its own, or reduce the columns first".to_owned(),
            }));
        }
        Ok(Self { n_samples, n_columns, base })
    }
}

/// A line that is not empty.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: u64,
    text: &'a [u8],
}

/// The lines that hold a point, without their comments.
fn lines<'a>(file: &'a str, text: &'a [u8]) -> impl Iterator<Item = Line<'a>> {
    text.split(|&byte| byte == b'\n').enumerate().filter_map(move |(index, line)| {
        let end = memchr::memchr(b'#', line).unwrap_or(line.len());
        let text = line[..end].trim_ascii();
        (!text.is_empty()).then_some(Line { file, number: index as u64 + 1, text })
    })
}

impl<'a> Line<'a> {
    fn words(&self) -> impl Iterator<Item = &'a [u8]> {
        self.text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
    }

    /// The first word. Text with commas has no blanks, so a whole line of it would come out as a label.
    fn label(&self) -> Result<String> {
        let word = self.words().next().unwrap_or_default();
        let label = std::str::from_utf8(word).map_err(|_| {
            self.error(format!("{} is not UTF-8 text", advice::quoted(word))).hint("save the file as UTF-8")
        })?;
        if label.contains(':') {
            let problem = format!("the line begins with {} instead of a label", advice::quoted(word));
            return Err(self.error(problem).hint("write 0 where a point has no label").into());
        }
        if label.contains(',') && label.split(',').filter(|part| part.parse::<f64>().is_ok()).count() > 1 {
            let error = self.error(format!("{} looks like CSV", advice::quoted(word)));
            return Err(error.hint("read it with --format csv").into());
        }
        Ok(label.to_owned())
    }

    fn entries(&self) -> impl Iterator<Item = Result<(usize, f64)>> {
        let line = *self;
        self.words().skip(1).map(move |word| line.entry(word))
    }

    fn entry(&self, word: &[u8]) -> Result<(usize, f64)> {
        let shown = || advice::quoted(word);
        if word.starts_with(b"qid:") {
            let problem = format!("{} says which query the row belongs to, and is no column", shown());
            return Err(self.error(problem).hint("take it out: sed 's/ qid:[^ ]*//' FILE > NEW").into());
        }
        let colon = memchr::memchr(b':', word).ok_or_else(|| {
            self.error(format!("{} is not a column:value pair", shown())).hint("an entry looks like 12:0.5")
        })?;
        let (index, value) = (&word[..colon], &word[colon + 1..]);
        // Within 32 bits: more columns than that are no matrix in any memory.
        let column = std::str::from_utf8(index).ok().and_then(|text| text.parse::<u32>().ok());
        let column = column.ok_or_else(|| {
            if !index.is_empty() && index.iter().all(u8::is_ascii_digit) {
                let problem = format!("{} has a column beyond {}, the last there can be", shown(), u32::MAX);
                return self.error(problem).hint("number the columns anew, from 1");
            }
            self.error(format!("{} does not begin with the number of a column", shown()))
                .hint("an entry looks like 12:0.5")
        })?;
        match advice::number(value) {
            Some(value) if value.is_finite() => Ok((column as usize, value)),
            Some(_) => Err(self.error(format!("{} is not finite", shown())).hint(FILL_GAPS).into()),
            None => Err(self
                .error(format!("{} does not end with a number", shown()))
                .hint("an entry looks like 12:0.5")
                .into()),
        }
    }

    fn error(&self, problem: String) -> InputError {
        InputError::new(self.file, problem).at(Place { line: self.number, ..Place::default() })
    }
}

#[cfg(test)]
mod tests;
