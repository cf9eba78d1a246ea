//! Where the bytes of a file come from.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Deref;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use memmap2::Mmap;

use super::MAKE_AGAIN;
use super::advice::{self, GZIP};
use super::format;
use crate::args::Format;
use crate::failure::{Failure, InputError, Result};

/// Whether a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    None,
    Gzip,
}

/// The bytes of a whole file: mapped, or in memory because they had to be unpacked.
pub(super) enum Bytes {
    Map(Mmap),
    Memory(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Memory(bytes) => bytes,
        }
    }
}

impl Bytes {
    /// All bytes of a file that is not empty.
    pub(super) fn open(path: &Path, name: &str, packing: Packing) -> Result<Self> {
        let file = open_file(path)?;
        if packing == Packing::Gzip {
            let mut bytes = Vec::new();
            gunzip(path, name, file)?.read_to_end(&mut bytes).map_err(|error| unpacking(path, name, error))?;
            if bytes.is_empty() {
                return Err(empty(name));
            }
            return Ok(Self::Memory(bytes));
        }
        let metadata = file.metadata().map_err(Failure::file("reading", path))?;
        // A pipe or a device has no length and cannot be mapped.
        if !metadata.is_file() {
            let mut bytes = Vec::new();
            BufReader::new(file).read_to_end(&mut bytes).map_err(|error| unpacking(path, name, error))?;
            return if bytes.is_empty() { Err(empty(name)) } else { Ok(Self::Memory(bytes)) };
        }
        // A file of no bytes cannot be mapped.
        if metadata.len() == 0 {
            return Err(empty(name));
        }
        map(&file).map(Self::Map).map_err(|error| unpacking(path, name, error))
    }
}

/// The bytes of a file one after the other.
pub(super) fn stream(path: &Path, packing: Packing) -> Result<Box<dyn Read + Send>> {
    let file = open_file(path)?;
    Ok(match packing {
        Packing::None => Box::new(file),
        Packing::Gzip => Box::new(gunzip(path, &path.display().to_string(), file)?),
    })
}

/// Opens a file to read.
fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(Failure::file("reading", path))
}

/// Opens a file of a format whose contents are found from its end: no pipe, which can be read in one go only.
pub(super) fn open_anywhere(path: &Path, name: &str, format: Format) -> Result<File> {
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(Failure::file("reading", path))?;
    if metadata.is_file() {
        return Ok(file);
    }
    let problem = format!("{} cannot be read from a pipe or a device", format::name(format));
    Err(InputError::new(name, problem).hint("write it to a file first; CSV, .npy and IDX can come from a pipe").into())
}

/// The failure that an error while unpacking is: of the contents, unless the system says otherwise.
pub(super) fn unpacking(path: &Path, name: &str, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            InputError::new(name, "the compressed file is truncated").hint(MAKE_AGAIN).into()
        }
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            let problem = format!("the file cannot be unpacked: {error}");
            InputError::new(name, problem).hint(MAKE_AGAIN).into()
        }
        io::ErrorKind::OutOfMemory => Failure::NoMemory { file: name.to_owned(), needed: None },
        _ => Failure::file("reading", path)(error),
    }
}

/// The failure that a file without bytes is.
pub(super) fn empty(name: &str) -> Failure {
    InputError::new(name, "the file is empty").into()
}

/// The contents of a packed file, if it begins as one.
fn gunzip(path: &Path, name: &str, file: File) -> Result<MultiGzDecoder<BufReader<File>>> {
    const BUFFER: usize = 1 << 16;
    let mut packed = BufReader::with_capacity(BUFFER, file);
    let beginning = packed.fill_buf().map_err(Failure::file("reading", path))?;
    if beginning.is_empty() {
        return Err(empty(name));
    }
    // A pipe may give a single byte at first.
    let seen = beginning.len().min(GZIP.len());
    if beginning[..seen] != GZIP[..seen] {
        let what = advice::for_foreign_file(beginning).map_or_else(
            || {
                let line = beginning.split(|&byte| byte == b'\n' || byte == b'\r').next().unwrap_or_default();
                format!("it begins with {}", advice::quoted(line))
            },
            |(what, _)| what.to_owned(),
        );
        let problem = format!("the name says that the file is compressed by gzip, but {what}");
        return Err(InputError::new(name, problem).hint("take .gz off its name, or pack it with gzip").into());
    }
    Ok(MultiGzDecoder::new(packed))
}

/// Maps a file that is only read.
#[expect(unsafe_code, reason = "the system call is unsafe: another process could change the file")]
fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the mapping is read-only and private to this process. If somebody else changes the file meanwhile, the values
    // read are theirs (any bit pattern is a number); if somebody shortens it, the system ends this process. Both are the
    // usual contract of memory-mapped input, and neither lets wrong memory be read.
    unsafe { Mmap::map(file) }
}
