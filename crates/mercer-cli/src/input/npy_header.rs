//! The header of a `.npy` file: a magic word, a version, a length, and a Python dictionary of three entries.
//!
//! Read by hand: the dictionary has one form, and a general parser of Python literals would trust lengths and shapes
//! before they can be compared with the size of the file.
//!
//! Reference: numpy.lib.format, versions 1.0 to 3.0.

use super::advice;

/// What the bytes after the header are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NpyHeader {
    /// The type of one value.
    pub(super) element: Element,
    /// Whether the bytes of a value are in the other order than this machine's.
    pub(super) swapped: bool,
    /// How the values are laid out.
    pub(super) order: Order,
    /// Length along each axis.
    pub(super) shape: Vec<usize>,
    /// Where in the file the values begin.
    pub(super) data_start: usize,
}

/// The type of one value in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// So many bytes, filled up with zeros.
    Text(usize),
    /// So many characters of four bytes each, filled up with zeros.
    Unicode(usize),
}

impl Element {
    /// Bytes of one value.
    pub(super) const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
            Self::Text(length) => length,
            Self::Unicode(length) => 4 * length,
        }
    }

    /// The name that `NumPy` has for it.
    pub(super) fn name(self) -> String {
        let name = match self {
            Self::Bool => "bool",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::F16 => "float16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::Text(_) | Self::Unicode(_) => "text",
        };
        name.to_owned()
    }
}

/// Which axis runs fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The last: rows follow one another.
    C,
    /// The first.
    Fortran,
}

/// What is wrong with a header, and what to do if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HeaderProblem {
    pub(super) problem: String,
    pub(super) hint: Option<&'static str>,
}

impl HeaderProblem {
    fn new(problem: impl Into<String>) -> Self {
        Self { problem: problem.into(), hint: None }
    }

    fn damaged(what: &str) -> Self {
        Self::new(format!("the header of the .npy file is damaged: {what}"))
    }
}

const MAGIC: &[u8] = b"\x93NUMPY";
const CONVERT: &str = "convert it in NumPy: np.save(\"points.npy\", array.astype(\"float64\"))";

impl NpyHeader {
    /// Reads the header at the beginning of a file of numbers.
    pub(super) fn parse(file: &[u8]) -> Result<Self, HeaderProblem> {
        let header = Self::parse_any(file)?;
        match header.element {
            Element::Text(length) => Err(not_numbers("text", &format!("S{length}"))),
            Element::Unicode(length) => Err(not_numbers("text", &format!("U{length}"))),
            _ => Ok(header),
        }
    }

    /// Reads the header at the beginning of a file of numbers or text.
    pub(super) fn parse_any(file: &[u8]) -> Result<Self, HeaderProblem> {
        let (text, data_start) = header_text(file)?;
        let mut scanner = Scanner { rest: text };
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        scanner.expect(b'{')?;
        while !scanner.accept(b'}') {
            let key = scanner.string()?;
            scanner.expect(b':')?;
            match key {
                b"descr" => descr = Some(scanner.descr()?),
                b"fortran_order" => fortran_order = Some(scanner.boolean()?),
                b"shape" => shape = Some(scanner.tuple()?),
                _ => return Err(HeaderProblem::damaged("it has an unknown entry")),
            }
            if !scanner.accept(b',') {
                scanner.expect(b'}')?;
                break;
            }
        }
        let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran_order, shape) else {
            return Err(HeaderProblem::damaged("an entry is missing"));
        };
        let (element, swapped) = element(descr)?;
        let order = if fortran_order { Order::Fortran } else { Order::C };
        Ok(Self { element, swapped, order, shape, data_start })
    }
}

/// The dictionary's text, and where it ends.
fn header_text(file: &[u8]) -> Result<(&[u8], usize), HeaderProblem> {
    if !file.starts_with(MAGIC) {
        return Err(HeaderProblem::new("the file is not a .npy file"));
    }
    let truncated = || HeaderProblem::new("the file is truncated within its header");
    let (&major, fields) = file.get(6).zip(file.get(8..)).ok_or_else(truncated)?;
    let (length, before) = match (major, fields) {
        (1, &[a, b, ..]) => (usize::from(u16::from_le_bytes([a, b])), 10),
        (2 | 3, &[a, b, c, d, ..]) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
        (1..=3, _) => return Err(truncated()),
        (other, _) => return Err(HeaderProblem::new(format!("version {other} of the .npy format is not known"))),
    };
    let end = before + length;
    file.get(before..end).map(|text| (text, end)).ok_or_else(truncated)
}

/// The element type that a type string such as `<f4` names, and whether its bytes must be swapped.
fn element(descr: &[u8]) -> Result<(Element, bool), HeaderProblem> {
    let refuse = |what: &str| {
        let name = String::from_utf8_lossy(descr);
        Err(not_numbers(what, name.trim_start_matches(['<', '>', '|', '='])))
    };
    let (swapped, name) = match descr {
        [b'<', name @ ..] => (cfg!(target_endian = "big"), name),
        [b'>', name @ ..] => (cfg!(target_endian = "little"), name),
        [b'|' | b'=', name @ ..] | name => (false, name),
    };
    let element = match name {
        b"b1" | b"?" => Element::Bool,
        b"i1" => Element::I8,
        b"i2" => Element::I16,
        b"i4" => Element::I32,
        b"i8" => Element::I64,
        b"u1" => Element::U8,
        b"u2" => Element::U16,
        b"u4" => Element::U32,
        b"u8" => Element::U64,
        b"f2" => Element::F16,
        b"f4" => Element::F32,
        b"f8" => Element::F64,
        [b'O', ..] => return refuse("Python objects, which only Python can read"),
        [b'c', ..] => return refuse("complex numbers"),
        [kind @ (b'U' | b'S'), digits @ ..] => {
            let length = std::str::from_utf8(digits).ok().and_then(|text| text.parse::<u32>().ok());
            match (kind, length.filter(|&length| length > 0)) {
                (b'S', Some(length)) => Element::Text(length as usize),
                (_, Some(length)) => Element::Unicode(length as usize),
                (_, None) => return refuse("text"),
            }
        }
        [b'M' | b'm', ..] => return refuse("dates or times"),
        _ => return refuse("values that are not numbers Mercer knows"),
    };
    Ok((element, swapped && element.size() > 1))
}

fn not_numbers(what: &str, dtype: &str) -> HeaderProblem {
    HeaderProblem { problem: format!("the array holds {what} (dtype {})", advice::shown(dtype)), hint: Some(CONVERT) }
}

/// Reads the pieces of a Python literal.
struct Scanner<'a> {
    rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    fn accept(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), HeaderProblem> {
        if self.accept(byte) {
            Ok(())
        } else {
            Err(HeaderProblem::damaged(&format!("there is no \"{}\" where one belongs", char::from(byte))))
        }
    }

    fn string(&mut self) -> Result<&'a [u8], HeaderProblem> {
        let quote = if self.accept(b'"') { b'"' } else { self.expect(b'\'').map(|()| b'\'')? };
        let end = self.rest.iter().position(|&byte| byte == quote);
        let end = end.ok_or_else(|| HeaderProblem::damaged("a quote is not closed"))?;
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    fn descr(&mut self) -> Result<&'a [u8], HeaderProblem> {
        if self.accept(b'[') {
            let problem = "the array has named fields: it is a table, not a matrix".to_owned();
            return Err(HeaderProblem { problem, hint: Some("save its numeric fields as an ordinary array") });
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool, HeaderProblem> {
        self.rest = self.rest.trim_ascii_start();
        for (word, value) in [(b"True".as_slice(), true), (b"False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(HeaderProblem::damaged("fortran_order is neither True nor False"))
    }

    fn tuple(&mut self) -> Result<Vec<usize>, HeaderProblem> {
        let mut lengths = Vec::new();
        self.expect(b'(')?;
        while !self.accept(b')') {
            lengths.push(self.length()?);
            if !self.accept(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(lengths)
    }

    fn length(&mut self) -> Result<usize, HeaderProblem> {
        self.rest = self.rest.trim_ascii_start();
        let end = self.rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        self.rest = rest;
        let length = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
        length.ok_or_else(|| HeaderProblem::damaged("a length in its shape cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dictionary: &str) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[1, 0]);
        bytes.extend_from_slice(&u16::try_from(dictionary.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(dictionary.as_bytes());
        bytes
    }

    fn problem(bytes: &[u8]) -> String {
        NpyHeader::parse(bytes).unwrap_err().problem
    }

    #[test]
    fn the_header_that_numpy_writes_is_understood() {
        let bytes = file("{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }          \n");
        let header = NpyHeader::parse(&bytes).unwrap();
        assert_eq!((header.element, header.order), (Element::F32, Order::C));
        assert_eq!(header.swapped, cfg!(target_endian = "big"));
        assert_eq!(header.shape, [60000, 784]);
        assert_eq!(header.data_start, bytes.len());
    }

    #[test]
    fn order_of_entries_quotes_and_blanks_do_not_matter() {
        let header = NpyHeader::parse(&file("{\"shape\":(3,),\"fortran_order\":True ,'descr' : '>i2'}")).unwrap();
        assert_eq!((header.element, header.order), (Element::I16, Order::Fortran));
        assert_eq!(header.shape, [3]);
        assert_eq!(
            NpyHeader::parse(&file("{'shape': (), 'fortran_order': False, 'descr': '|u1'}")).unwrap().shape.len(),
            0
        );
    }

    #[test]
    fn longer_headers_of_later_versions_are_understood() {
        let text = b"{'descr': '|b1', 'fortran_order': False, 'shape': (1, 2)}";
        let mut bytes = b"\x93NUMPY\x03\x00".to_vec();
        bytes.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(text);
        assert_eq!(NpyHeader::parse(&bytes).unwrap().element, Element::Bool);
    }

    #[test]
    fn arrays_that_are_not_numbers_are_refused_by_name() {
        let of =
            |descr: &str| problem(&file(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1, 2)}}")));
        assert_eq!(of("'|O'"), "the array holds Python objects, which only Python can read (dtype O)");
        assert_eq!(of("'<c16'"), "the array holds complex numbers (dtype c16)");
        assert_eq!(of("'<U7'"), "the array holds text (dtype U7)");
        assert_eq!(of("'\n?4'"), "the array holds values that are not numbers Mercer knows (dtype \\n?4)");
        assert_eq!(of("[('a', '<f4')]"), "the array has named fields: it is a table, not a matrix");
    }

    #[test]
    fn damaged_headers_are_refused_and_never_panic() {
        let good = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
        for end in 0..good.len() {
            assert!(NpyHeader::parse(&good[..end]).is_err(), "{end} bytes were accepted");
        }
        assert_eq!(problem(b"PK\x03\x04"), "the file is not a .npy file");
        assert_eq!(problem(b"\x93NUMPY\x09\x00\x00\x00"), "version 9 of the .npy format is not known");
        assert_eq!(problem(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"), "the file is truncated within its header");
        let huge = file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999, 1)}");
        assert!(problem(&huge).ends_with("a length in its shape cannot be read"));
        for dictionary in ["", "{", "{}", "{'descr'", "{'descr': 5}", "{'x': 1}", "{'shape': (-1,)}", "[]"] {
            assert!(NpyHeader::parse(&file(dictionary)).is_err(), "{dictionary:?} was accepted");
        }
    }
}
