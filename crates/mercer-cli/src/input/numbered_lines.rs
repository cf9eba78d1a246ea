//! Text that remembers which line it is on.
//!
//! The csv reader's own line numbers are those of the place where it went on reading: before empty lines, and before the second
//! half of a carriage return and line feed. Handing it one line at a time makes the number exact: when it returns a row, the
//! last line that it was given is the one on which the row ends.

use std::io::{self, BufRead, BufReader, Read};

/// Hands out at most one line per call of [`read`](Read::read), and counts.
pub(super) struct NumberedLines<R> {
    source: BufReader<R>,
    /// Lines that were handed out whole.
    complete: u64,
    /// Whether the beginning of a further line was handed out.
    within_line: bool,
}

/// Large enough that system calls do not count, small enough for the cache.
const BUFFER: usize = 1 << 16;

impl<R: Read> NumberedLines<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source: BufReader::with_capacity(BUFFER, source), complete: 0, within_line: false }
    }

    /// The line, counted from one, that the last byte handed out belongs to.
    pub(super) fn line(&self) -> u64 {
        self.complete + u64::from(self.within_line)
    }
}

impl<R: Read> Read for NumberedLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let available = self.source.fill_buf()?;
        let room = available.len().min(out.len());
        let (length, complete) = match memchr::memchr(b'\n', &available[..room]) {
            Some(place) => (place + 1, true),
            None => (room, false),
        };
        out[..length].copy_from_slice(&available[..length]);
        self.source.consume(length);
        if complete {
            self.complete += 1;
        }
        if length > 0 {
            self.within_line = !complete;
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_one_at_a_time_and_are_counted() {
        let mut lines = NumberedLines::new(b"ab\r\n\nlong".as_slice());
        let mut out = [0; 3];
        let mut seen = Vec::new();
        loop {
            let n = lines.read(&mut out).unwrap();
            if n == 0 {
                break;
            }
            seen.push((String::from_utf8_lossy(&out[..n]).into_owned(), lines.line()));
        }
        let expected = [("ab\r", 1), ("\n", 1), ("\n", 2), ("lon", 3), ("g", 3)];
        assert_eq!(seen, expected.map(|(text, line)| (text.to_owned(), line)));
    }
}
