//! Several arrays of `NumPy` in one zip file.

use std::io::{Read, Seek};

use super::archive::{Archive, Problem};
use super::array::Array;
use super::npy_header::{Element, NpyHeader};
use super::room::NoRoom;
use super::source::Bytes;
use super::{Labels, MAKE_AGAIN, Raw, ReadOptions, advice, npy, source};
use crate::args::ColumnName;
use crate::failure::{Failure, InputError, Result};

/// Reads points from an array of an `.npz` file, and label and id from others or from columns of it.
pub(super) fn read(name: &str, source: impl Read + Seek, options: &ReadOptions) -> Result<Raw> {
    let mut file = NpzFile::open(name, source)?;
    let label_array = file.array_called(options.label.as_ref());
    let id_array = file.array_called(options.id.as_ref());
    if let (Some(array), true) = (&label_array, label_array == id_array) {
        let problem = format!("array {} cannot be both --label and --id", advice::shown(array));
        return Err(InputError::new(name, problem).into());
    }
    let array = file.points_array(options, [label_array.as_deref(), id_array.as_deref()])?;
    let shown = format!("{name}[{}]", advice::shown(&array));
    let bytes = file.member(&array)?;
    let header = NpyHeader::parse(&bytes).map_err(|found| npy::header_failure(&shown, found))?;
    // What is an array of its own is not a column.
    let columns = ReadOptions {
        label: options.label.clone().filter(|_| label_array.is_none()),
        id: options.id.clone().filter(|_| id_array.is_none()),
        ..options.clone()
    };
    file.check_columns(&columns)?;
    let mut raw = npy::matrix(&shown, Bytes::Memory(bytes), &header, &columns)?;
    if let Some(label) = label_array {
        raw.labels = Some(file.words(label, raw.n_samples, &array)?);
    }
    if let Some(id) = id_array {
        raw.ids = Some(file.words(id, raw.n_samples, &array)?);
    }
    Ok(raw)
}

struct NpzFile<'a, R> {
    name: &'a str,
    length: u64,
    archive: Archive<R>,
    /// Names of the arrays, without their ending.
    arrays: Vec<String>,
}

impl<'a, R: Read + Seek> NpzFile<'a, R> {
    fn open(name: &'a str, mut source: R) -> Result<Self> {
        let mut start = [0; 8];
        let io = |error| Failure::File { doing: "reading", path: name.into(), source: error };
        let length = source.seek(std::io::SeekFrom::End(0)).map_err(io)?;
        if length == 0 {
            return Err(InputError::new(name, "the file is empty").into());
        }
        source.rewind().map_err(io)?;
        let got = source.read(&mut start).map_err(io)?;
        if !start.starts_with(b"PK\x03\x04") && !start.starts_with(b"PK\x05\x06") {
            let error = InputError::new(name, "the file is not an .npz file");
            return Err(match advice::for_foreign_file(&start[..got]) {
                Some((what, _)) => error.hint(what),
                _ => error.hint("np.savez and np.savez_compressed make such files"),
            }
            .into());
        }
        let archive = Archive::open(source, length).map_err(|problem| failure(name, None, length, problem))?;
        let mut arrays: Vec<String> =
            archive.names().filter_map(|file| file.strip_suffix(".npy")).map(str::to_owned).collect();
        arrays.sort_unstable();
        if arrays.is_empty() {
            let problem = "there is no array in the .npz file";
            return Err(InputError::new(name, problem).hint("np.savez and np.savez_compressed make such files").into());
        }
        arrays.dedup();
        Ok(Self { name, length, archive, arrays })
    }

    /// The name of an array, if what was asked for is one.
    fn array_called(&self, wanted: Option<&ColumnName>) -> Option<String> {
        wanted.filter(|wanted| self.arrays.contains(&wanted.0)).map(|wanted| wanted.0.clone())
    }

    /// A label or id that is not an array can only be the number of a column.
    fn check_columns(&self, options: &ReadOptions) -> Result<()> {
        let is_number = |column: &&ColumnName| column.0.parse::<i64>().is_err();
        let Some(wrong) = options.label.iter().chain(&options.id).find(is_number) else { return Ok(()) };
        let problem = format!("there is no array \"{}\"", wrong.0);
        Err(InputError::new(self.name, problem).hint(advice::similar("array", &wrong.0, &self.arrays)).into())
    }

    /// The array that holds the points: the one asked for, or the only one that is not something else.
    fn points_array(&mut self, options: &ReadOptions, taken: [Option<&str>; 2]) -> Result<String> {
        if let Some(wanted) = &options.array {
            if self.arrays.contains(wanted) {
                return Ok(wanted.clone());
            }
            let problem = format!("there is no array \"{wanted}\"");
            let hint = advice::similar("array", wanted, &self.arrays);
            return Err(InputError::new(self.name, problem).hint(hint).into());
        }
        let free: Vec<String> =
            self.arrays.iter().filter(|array| !taken.contains(&Some(array.as_str()))).cloned().collect();
        match free.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(InputError::new(self.name, "no array is left for the points").into()),
            several => {
                const SHOWN: usize = 8;
                let mut shown = Vec::new();
                for array in several.iter().take(SHOWN) {
                    shown.push(self.describe(array)?);
                }
                let more = if several.len() > SHOWN { ", …" } else { "" };
                let problem = format!("the file holds {} arrays: {}{more}", several.len(), shown.join(", "));
                Err(InputError::new(self.name, problem).hint("say which one holds the points with --array NAME").into())
            }
        }
    }

    /// An array's name, shape and type.
    fn describe(&mut self, array: &str) -> Result<String> {
        /// More than the header of any array of numbers.
        const HEADER: u64 = 4096;
        let start = self.archive.beginning(&format!("{array}.npy"), HEADER);
        let start = start.map_err(|problem| failure(self.name, Some(array), self.length, problem))?;
        Ok(match NpyHeader::parse_any(&start) {
            Ok(header) => {
                let shape: Vec<String> = header.shape.iter().map(ToString::to_string).collect();
                let shape = if shape.is_empty() { "a single number".to_owned() } else { shape.join(" x ") };
                format!("{} ({shape}, {})", advice::shown(array), header.element.name())
            }
            Err(_) => advice::shown(array),
        })
    }

    /// The bytes of an array's file.
    fn member(&mut self, array: &str) -> Result<Vec<u8>> {
        let bytes = self.archive.read(&format!("{array}.npy"));
        bytes.map_err(|problem| failure(self.name, Some(array), self.length, problem))
    }

    /// A list of numbers or words, one for each point.
    fn words(&mut self, array: String, n_samples: usize, points: &str) -> Result<Labels> {
        let shown = format!("{}[{}]", self.name, advice::shown(&array));
        let bytes = self.member(&array)?;
        let header = NpyHeader::parse_any(&bytes).map_err(|found| npy::header_failure(&shown, found))?;
        if header.shape.first() != Some(&n_samples) || header.shape[1..].iter().any(|&length| length != 1) {
            let problem =
                format!("labels of shape {:?} for the {n_samples} points of {}", header.shape, advice::shown(points));
            return Err(InputError::new(&shown, problem).hint("one label for each point is needed").into());
        }
        let end = npy::check_length(&shown, &header, bytes.len(), n_samples)?;
        let values = match header.element {
            Element::Text(_) | Element::Unicode(_) => texts(&bytes[header.data_start..end], &header),
            _ => match npy::whole_numbers(&bytes[..end], &header, 1, 0) {
                Some(values) => values,
                None => Array::in_file(Bytes::Memory(bytes), &header, end)
                    .map_err(NoRoom::reading(&shown))?
                    .column_as_text(1, 0),
            },
        };
        Ok(Labels { name: array, values })
    }
}

/// Text of a fixed length, without the zeros that fill it up.
fn texts(bytes: &[u8], header: &NpyHeader) -> Vec<String> {
    let each = bytes.chunks_exact(header.element.size());
    match header.element {
        Element::Unicode(_) => each
            .map(|text| {
                let code = |bytes: &[u8; 4]| {
                    let number = u32::from_ne_bytes(*bytes);
                    if header.swapped { number.swap_bytes() } else { number }
                };
                let characters = text.as_chunks::<4>().0.iter().map(code).filter(|&code| code != 0);
                characters.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
            })
            .collect(),
        _ => each.map(|text| String::from_utf8_lossy(text).trim_end_matches('\0').to_owned()).collect(),
    }
}

/// The failure that a problem of a file, or of one of its arrays, is.
fn failure(name: &str, array: Option<&str>, length: u64, problem: Problem) -> Failure {
    let problem = match (problem, array) {
        (Problem::Io(source), _) => return source::unpacking(name.as_ref(), name, source),
        (Problem::Damaged, _) => "the .npz file is truncated or damaged".to_owned(),
        (Problem::TooManyEntries(entries), _) => {
            format!("the .npz file is damaged: {length} bytes cannot hold the {entries} arrays it announces")
        }
        (Problem::Member(why), Some(array)) => {
            format!("the array {} is damaged: {why}", advice::quoted(array.as_bytes()))
        }
        (Problem::Member(why), None) => format!("the .npz file cannot be read: {}", advice::shown(&why)),
    };
    InputError::new(name, problem).hint(MAKE_AGAIN).into()
}

#[cfg(test)]
mod tests;
