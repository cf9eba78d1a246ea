//! Delimited text in blocks that end where a record ends, so that blocks and pieces of them can be read at the same time.
//!
//! A line break ends a record unless it stands between quotes. Where a block has no quotes, which is the usual case for
//! numbers, its last line break will do; otherwise the block is walked through as the csv crate does. A line break is `\n`, `\r\n`, or,
//! as old programs write it, `\r` alone.

use std::io::{self, Read};

/// Text that is read at once: enough for all threads, little beside the matrix.
const BLOCK: usize = 8 << 20;

/// Why there is no next block.
#[derive(Debug)]
pub(super) enum Problem {
    /// The source cannot be read.
    Io(io::Error),
    /// The quote that opens on this line is never closed.
    OpenQuote(usize),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Blocks of a source, one after the other.
pub(super) struct Blocks<R> {
    source: R,
    delimiter: u8,
    /// The beginning of a record whose end has not been read.
    rest: Vec<u8>,
    block: usize,
    is_first: bool,
    /// Lines of the blocks that were given out.
    lines: usize,
}

impl<R: Read> Blocks<R> {
    pub(super) fn new(source: R, delimiter: u8) -> Self {
        Self::with_size(source, delimiter, BLOCK)
    }

    fn with_size(source: R, delimiter: u8, block: usize) -> Self {
        Self { source, delimiter, rest: Vec::new(), block, is_first: true, lines: 0 }
    }

    /// The next block: whole records, except at the end of a source that stops within one. `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let mut text = std::mem::take(&mut self.rest);
        loop {
            let before = text.len();
            // A record longer than a block: twice as much, so that it is not walked through again and again.
            let wanted = self.block.max(before);
            Read::by_ref(&mut self.source).take(wanted as u64).read_to_end(&mut text)?;
            if std::mem::take(&mut self.is_first) && text.starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len());
            }
            if text.len() - before < wanted {
                // The end of the source; what is left is the last record, whether its line ends or not.
                if let Some(place) = open_quote(&text, self.delimiter) {
                    return Err(Problem::OpenQuote(self.lines + line_breaks(&text[..place]) + 1));
                }
                return Ok((!text.is_empty()).then_some(text));
            }
            let end = last_record_end(&text, self.delimiter);
            if end > 0 {
                self.rest = text.split_off(end);
                self.lines += line_breaks(&text);
                return Ok(Some(text));
            }
        }
    }
}

/// What some programs put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a block into about `n` pieces of whole records.
pub(super) fn pieces(text: &[u8], delimiter: u8, n: usize) -> Vec<&[u8]> {
    let quoted = has_quotes(text).then(|| record_ends(text, delimiter));
    let line_end = if memchr::memchr(b'\n', text).is_some() { b'\n' } else { b'\r' };
    let end_after = |place: usize| match &quoted {
        Some(ends) => ends.get(ends.partition_point(|&end| end < place)).copied().unwrap_or(text.len()),
        None => memchr::memchr(line_end, &text[place..]).map_or(text.len(), |found| place + found + 1),
    };
    let mut pieces = Vec::with_capacity(n);
    let mut start = 0;
    for i in 1..=n {
        let nominal = (text.len() / n * i).max(start);
        let end = if i == n { text.len() } else { end_after(nominal) };
        if end > start {
            pieces.push(&text[start..end]);
            start = end;
        }
    }
    pieces
}

fn has_quotes(text: &[u8]) -> bool {
    memchr::memchr(b'"', text).is_some()
}

/// Lines that end within a text.
pub(super) fn line_breaks(text: &[u8]) -> usize {
    let alone = memchr::memchr_iter(b'\r', text).filter(|&place| text.get(place + 1) != Some(&b'\n')).count();
    memchr::memchr_iter(b'\n', text).count() + alone
}

/// Whether the `\r` at a place is surely a line break of its own: of one at the end nobody knows what follows.
fn is_alone(text: &[u8], place: usize) -> bool {
    text.get(place + 1).is_some_and(|&next| next != b'\n')
}

/// Where the quote opens within which a text ends.
fn open_quote(text: &[u8], delimiter: u8) -> Option<usize> {
    let (mut opened, mut is_open) = (None, false);
    if has_quotes(text) {
        walk(text, delimiter, |place, state, before| {
            if state == State::Quoted && before == State::FieldStart {
                opened = Some(place);
            }
            is_open = state == State::Quoted;
        });
    }
    opened.filter(|_| is_open)
}

/// Where the last whole record of a block ends; 0 if there is none.
fn last_record_end(text: &[u8], delimiter: u8) -> usize {
    if has_quotes(text) {
        record_ends(text, delimiter).last().copied().unwrap_or(0)
    } else {
        let alone = || memchr::memrchr_iter(b'\r', text).find(|&place| is_alone(text, place));
        memchr::memrchr(b'\n', text).or_else(alone).map_or(0, |place| place + 1)
    }
}

/// Within a record, where the reader of it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote between quotes.
    QuoteInQuoted,
}

/// Walks through a text by the rules of the csv crate: a quote opens only at the beginning of a field; between quotes, two of them
/// are one; after a closing quote anything else continues the field without quotes. `see` gets every place with the states after
/// and before it.
fn walk(text: &[u8], delimiter: u8, mut see: impl FnMut(usize, State, State)) {
    let mut state = State::FieldStart;
    for (place, &byte) in text.iter().enumerate() {
        let before = state;
        state = match (state, byte) {
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) | (State::FieldStart | State::QuoteInQuoted, b'"') => State::Quoted,
            (_, b'\n' | b'\r') => State::FieldStart,
            (_, byte) if byte == delimiter => State::FieldStart,
            _ => State::Plain,
        };
        see(place, state, before);
    }
}

/// Where records end.
fn record_ends(text: &[u8], delimiter: u8) -> Vec<usize> {
    let mut ends = Vec::new();
    walk(text, delimiter, |place, state, _| {
        let ends_line = text[place] == b'\n' || (text[place] == b'\r' && is_alone(text, place));
        if state == State::FieldStart && ends_line {
            ends.push(place + 1);
        }
    });
    ends
}

#[cfg(test)]
mod tests {
    use csv::ReaderBuilder;

    use super::*;

    /// Every text of up to six of these characters: all the ways in which quotes, breaks and delimiters can meet.
    fn all_texts() -> impl Iterator<Item = Vec<u8>> {
        const ALPHABET: &[u8] = b"a,\"\n\r";
        (0..=6_u32).flat_map(|length| {
            (0..5_usize.pow(length)).map(move |mut code| {
                let mut text = Vec::new();
                for _ in 0..length {
                    text.push(ALPHABET[code % 5]);
                    code /= 5;
                }
                text
            })
        })
    }

    fn records(text: &[u8]) -> Vec<csv::ByteRecord> {
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        reader.into_byte_records().map(|record| record.unwrap()).collect()
    }

    #[test]
    fn pieces_hold_the_same_records_as_the_whole() {
        for text in all_texts() {
            for n in [2, 3] {
                let found: Vec<csv::ByteRecord> = pieces(&text, b',', n).into_iter().flat_map(records).collect();
                assert_eq!(found, records(&text), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn blocks_hold_the_same_records_as_the_whole() {
        for text in all_texts() {
            let mut blocks = Blocks::with_size(text.as_slice(), b',', 2);
            let mut found = Vec::new();
            let end = loop {
                match blocks.next() {
                    Ok(Some(block)) => found.extend(records(&block)),
                    other => break other,
                }
            };
            if open_quote(&text, b',').is_some() {
                assert!(end.is_err(), "{:?}", String::from_utf8_lossy(&text));
            } else {
                assert_eq!(found, records(&text), "{:?}", String::from_utf8_lossy(&text));
            }
        }
    }

    #[test]
    fn a_quote_that_is_never_closed_is_found_with_its_line() {
        for (text, line) in [("1,\"2\n3,4\n", 1), ("1,2\n\"a\"\"b\",\"c\nd\n", 2), ("a\nb\nc,\"", 3)] {
            let mut blocks = Blocks::with_size(text.as_bytes(), b',', 2);
            let problem = loop {
                match blocks.next() {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("{text:?} was read to its end"),
                    Err(problem) => break problem,
                }
            };
            assert!(matches!(problem, Problem::OpenQuote(found) if found == line), "{problem:?}");
        }
        for closed in ["\"a\"", "a\"b", "\"a\"\"\"\n", "\"a\nb\",2"] {
            assert_eq!(open_quote(closed.as_bytes(), b','), None, "{closed:?}");
        }
    }

    #[test]
    fn lines_of_every_kind_are_counted() {
        for (text, lines) in
            [("a\nb\n", 2), ("a\r\nb\r\n", 2), ("a\rb\rc", 2), ("a\r\rb", 2), ("a\n\rb", 2), ("a\r", 1)]
        {
            assert_eq!(line_breaks(text.as_bytes()), lines, "{text:?}");
        }
    }

    #[test]
    fn text_with_old_line_breaks_is_cut_like_any_other() {
        let text = "1,2\r".repeat(1000);
        let mut blocks = Blocks::with_size(text.as_bytes(), b',', 100);
        let first = blocks.next().unwrap().unwrap();
        assert!(first.len() <= 100 && first.ends_with(b"1,2\r"), "{} bytes", first.len());
        assert_eq!(pieces(text.as_bytes(), b',', 4).len(), 4);
    }

    #[test]
    fn a_byte_order_mark_is_taken_off_once() {
        let mut blocks = Blocks::with_size(b"\xef\xbb\xbf1,2\n\xef\xbb\xbf3,4\n".as_slice(), b',', 7);
        assert_eq!(blocks.next().unwrap().unwrap(), b"1,2\n");
        assert_eq!(blocks.next().unwrap().unwrap(), b"\xef\xbb\xbf3,4\n");
        assert_eq!(blocks.next().unwrap(), None);
    }
}
