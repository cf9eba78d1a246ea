//! The files inside a zip file, as far as `.npz` files need them.
//!
//! Read by hand: of a damaged file nothing may be believed that was not compared with its length first, and a general reader goes
//! on to other records of the directory, and to what those announce, when the last one is of no use. Members are stored or deflated,
//! and their checksums are compared; encrypted and split archives are refused.
//!
//! Reference: PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3, with the names of its fields.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

/// What is wrong with an archive.
#[derive(Debug)]
pub(super) enum Problem {
    /// The system refused.
    Io(io::Error),
    /// The directory, or a member, is not what it should be.
    Damaged,
    /// More entries are announced than there is room for.
    TooManyEntries(u64),
    /// In words: a member is announced to be larger than its packed bytes can be, is longer than announced, or does not match
    /// its checksum; or it is packed in a way that `NumPy` does not use.
    Member(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // What the unpacking says of bytes that are not packed.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Self::Damaged,
            _ => Self::Io(error),
        }
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// A zip file whose directory has been read.
pub(super) struct Archive<R> {
    source: BufReader<R>,
    members: Vec<Member>,
}

/// An entry of the directory.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    method: u16,
    checksum: u32,
    packed: u64,
    size: u64,
    /// Where its local header begins.
    header: u64,
}

const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
const LONG_END: &[u8; 4] = b"PK\x06\x06";
const LONG_END_PLACE: &[u8; 4] = b"PK\x06\x07";
/// Bytes of these records without what has no fixed length.
const LOCAL_HEADER_LENGTH: u64 = 30;
const ENTRY_LENGTH: usize = 46;
const END_LENGTH: usize = 22;
const LONG_END_LENGTH: usize = 56;
const LONG_END_PLACE_LENGTH: usize = 20;
/// A comment may follow the end record.
const LONGEST_COMMENT: usize = 0xffff;
/// Deflate never packs better than this, so an announced size beyond it is a lie.
const BEST_PACKING: u64 = 1032;

/// Where the directory is, by the record at the end of the file.
struct Directory {
    entries: u64,
    start: u64,
    length: u64,
}

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory.
    pub(super) fn open(mut source: R, length: u64) -> Result<Self> {
        let directory = find_directory(&mut source, length)?;
        if directory.entries.saturating_mul(ENTRY_LENGTH as u64) > directory.length {
            return Err(Problem::TooManyEntries(directory.entries));
        }
        source.seek(SeekFrom::Start(directory.start))?;
        let mut bytes = Vec::new();
        source.by_ref().take(directory.length).read_to_end(&mut bytes)?;
        let mut rest = bytes.as_slice();
        let mut members = Vec::with_capacity(directory.entries as usize);
        for _ in 0..directory.entries {
            members.push(member(&mut rest)?);
        }
        Ok(Self { source: BufReader::new(source), members })
    }

    /// Names of the members, in the order of the directory.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// All bytes of a member.
    pub(super) fn read(&mut self, name: &str) -> Result<Vec<u8>> {
        let member = self.member(name)?;
        if member.size / BEST_PACKING > member.packed {
            return Err(Problem::Member(format!(
                "{} bytes cannot hold the {} it announces",
                member.packed, member.size
            )));
        }
        // Not reserved at once: the announced size of the packed bytes may be a lie as well.
        let mut bytes = Vec::new();
        // One byte more than announced, to see whether there is one.
        self.unpacked(&member)?.take(member.size.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > member.size {
            return Err(Problem::Member(format!("it is longer than the {} bytes it announces", member.size)));
        }
        let mut checksum = Crc::new();
        checksum.update(&bytes);
        if (bytes.len() as u64) < member.size {
            return Err(Problem::Damaged);
        }
        if checksum.sum() != member.checksum {
            return Err(Problem::Member("it does not match its checksum".to_owned()));
        }
        Ok(bytes)
    }

    /// The first bytes of a member, unchecked.
    pub(super) fn beginning(&mut self, name: &str, most: u64) -> Result<Vec<u8>> {
        let member = self.member(name)?;
        let mut bytes = Vec::new();
        self.unpacked(&member)?.take(most.min(member.size)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The last member of that name: whoever adds to an archive writes the newer one behind.
    fn member(&self, name: &str) -> Result<Member> {
        self.members.iter().rfind(|member| member.name == name).cloned().ok_or(Problem::Damaged)
    }

    /// The bytes of a member as they are unpacked.
    fn unpacked(&mut self, member: &Member) -> Result<Box<dyn Read + '_>> {
        let mut header = [0; LOCAL_HEADER_LENGTH as usize];
        self.source.seek(SeekFrom::Start(member.header))?;
        self.source.read_exact(&mut header)?;
        if !header.starts_with(LOCAL_HEADER) {
            return Err(Problem::Damaged);
        }
        // Sizes are those of the directory: a writer that could not go back has left them out here.
        let (name, extra) = (number(&header, 26, 2)?, number(&header, 28, 2)?);
        self.source.seek_relative((name + extra).cast_signed())?;
        let packed = self.source.by_ref().take(member.packed);
        match member.method {
            0 => Ok(Box::new(packed)),
            8 => Ok(Box::new(DeflateDecoder::new(packed))),
            other => Err(Problem::Member(format!("it is packed by method {other}, not stored or deflated"))),
        }
    }
}

/// Finds the directory by the last end record whose comment ends with the file.
fn find_directory(source: &mut (impl Read + Seek), length: u64) -> Result<Directory> {
    let longest = (END_LENGTH + LONGEST_COMMENT + LONG_END_PLACE_LENGTH) as u64;
    let tail_start = length.saturating_sub(longest);
    source.seek(SeekFrom::Start(tail_start))?;
    let mut tail = Vec::new();
    source.take(longest).read_to_end(&mut tail)?;
    let ends_the_file = |place: &usize| {
        number(&tail, place + 20, 2).is_ok_and(|comment| place + END_LENGTH + comment as usize == tail.len())
    };
    let place = memchr::memmem::rfind_iter(&tail, END).find(ends_the_file).ok_or(Problem::Damaged)?;
    let end = &tail[place..];
    // The number is told twice: on this disk, and in all. They are the same unless something is wrong.
    let entries = number(end, 8, 2)?.max(number(end, 10, 2)?);
    let (size, start) = (number(end, 12, 4)?, number(end, 16, 4)?);
    // All ones stand for "see the longer record", whose place stands right before this one.
    let is_long = entries == 0xffff || size == 0xffff_ffff || start == 0xffff_ffff;
    let (directory, before) = match place.checked_sub(LONG_END_PLACE_LENGTH).map(|before| &tail[before..place]) {
        Some(locator) if is_long && locator.starts_with(LONG_END_PLACE) => {
            let place = number(locator, 8, 8)?;
            let mut record = [0; LONG_END_LENGTH];
            source.seek(SeekFrom::Start(place))?;
            source.read_exact(&mut record)?;
            if !record.starts_with(LONG_END) {
                return Err(Problem::Damaged);
            }
            let entries = number(&record, 24, 8)?.max(number(&record, 32, 8)?);
            let (length, start) = (number(&record, 40, 8)?, number(&record, 48, 8)?);
            (Directory { entries, start, length }, place)
        }
        _ => (Directory { entries, start, length: size }, tail_start + place as u64),
    };
    match directory.start.checked_add(directory.length) {
        Some(end) if end <= before => Ok(directory),
        // The numbers of a file that was cut: its entries may be what is too many.
        _ if directory.entries.saturating_mul(ENTRY_LENGTH as u64) > length => {
            Err(Problem::TooManyEntries(directory.entries))
        }
        _ => Err(Problem::Damaged),
    }
}

/// Takes an entry off the directory.
fn member(rest: &mut &[u8]) -> Result<Member> {
    let entry = *rest;
    if !entry.starts_with(ENTRY) {
        return Err(Problem::Damaged);
    }
    let (flags, method) = (number(entry, 8, 2)?, number(entry, 10, 2)? as u16);
    let (name, extra, comment) = (number(entry, 28, 2)?, number(entry, 30, 2)?, number(entry, 32, 2)?);
    let (name_end, extra_end) = (ENTRY_LENGTH + name as usize, ENTRY_LENGTH + (name + extra) as usize);
    let name = entry.get(ENTRY_LENGTH..name_end).ok_or(Problem::Damaged)?;
    let extra = entry.get(name_end..extra_end).ok_or(Problem::Damaged)?;
    *rest = entry.get(extra_end + comment as usize..).ok_or(Problem::Damaged)?;
    let name = String::from_utf8_lossy(name).into_owned();
    if flags & 1 != 0 {
        return Err(Problem::Member(format!("the member {name:?} is encrypted")));
    }
    let short = [number(entry, 24, 4)?, number(entry, 20, 4)?, number(entry, 42, 4)?];
    let [size, packed, header] = long_sizes(short, extra)?;
    Ok(Member { name, method, checksum: number(entry, 16, 4)? as u32, packed, size, header })
}

/// Sizes and place of a member: those that do not fit 32 bits stand in the extra field 1, in this order.
fn long_sizes(short: [u64; 3], mut extra: &[u8]) -> Result<[u64; 3]> {
    const IN_EXTRA: u64 = 0xffff_ffff;
    if !short.contains(&IN_EXTRA) {
        return Ok(short);
    }
    while extra.len() >= 4 {
        let (kind, length) = (number(extra, 0, 2)?, number(extra, 2, 2)? as usize);
        let field = extra.get(4..4 + length).ok_or(Problem::Damaged)?;
        if kind == 1 {
            let mut place = 0;
            let mut sizes = short;
            for size in sizes.iter_mut().filter(|size| **size == IN_EXTRA) {
                *size = number(field, place, 8)?;
                place += 8;
            }
            return Ok(sizes);
        }
        extra = &extra[4 + length..];
    }
    Ok(short)
}

/// A number of `size` bytes, the least significant first.
fn number(bytes: &[u8], offset: usize, size: usize) -> Result<u64> {
    let bytes = bytes.get(offset..offset + size).ok_or(Problem::Damaged)?;
    Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
