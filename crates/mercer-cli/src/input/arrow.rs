//! Arrow IPC: files (also called Feather version 2) and streams.

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::columnar::{Columnar, damaged, guarded};
use super::{MAKE_AGAIN, Part, Raw, ReadOptions};
use crate::failure::{Failure, InputError, Result};

/// Reads points from the columns of an Arrow file or stream, as many numbers at a time as the options say.
pub(super) fn read(
    name: &str,
    file: &File,
    options: &ReadOptions,
    each: &mut dyn FnMut(Raw, Part) -> Result<()>,
) -> Result<()> {
    let is_file = starts_as_file(name, file)?;
    let (table, batches) = guarded(name, "Arrow", || {
        // The schema first: which columns are wanted depends on their names.
        let schema = Batches::open(name, file, is_file, None)?.schema();
        let table = Columnar::new(name, &schema, options)?;
        let wanted = Some(table.needed().to_vec());
        Ok((table, Batches::open(name, file, is_file, wanted)?))
    })?;
    table.read("Arrow", batches, each)
}

/// The batches of a file or a stream.
enum Batches {
    File(FileReader<BufReader<File>>),
    Stream(StreamReader<BufReader<File>>),
}

impl Batches {
    /// The batches from the first on, with all columns or those at these places.
    fn open(name: &str, file: &File, is_file: bool, columns: Option<Vec<usize>>) -> Result<Self> {
        let wrong = |error: ArrowError| damaged(name, "Arrow", error);
        let mut file = file.try_clone().map_err(Failure::file("reading", name.as_ref()))?;
        file.rewind().map_err(Failure::file("reading", name.as_ref()))?;
        let reader = BufReader::new(file);
        Ok(if is_file {
            Self::File(FileReader::try_new(reader, columns).map_err(wrong)?)
        } else {
            Self::Stream(StreamReader::try_new(reader, columns).map_err(wrong)?)
        })
    }

    fn schema(&self) -> SchemaRef {
        match self {
            Self::File(reader) => reader.schema(),
            Self::Stream(reader) => reader.schema(),
        }
    }
}

impl Iterator for Batches {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::File(reader) => reader.next(),
            Self::Stream(reader) => reader.next(),
        }
    }
}

/// What a file begins with.
const MAGIC: &[u8] = b"ARROW1";
/// Bytes of a file that has nothing in it: what it begins with, padded to eight, the length of a footer, and the same again.
const SHORTEST: usize = 18;

/// Whether it is a file and not a stream.
fn starts_as_file(name: &str, mut file: &File) -> Result<bool> {
    let mut start = Vec::new();
    let io = |source| Failure::File { doing: "reading", path: name.into(), source };
    Read::by_ref(&mut file).take(SHORTEST as u64).read_to_end(&mut start).map_err(io)?;
    match start.as_slice() {
        [] => Err(InputError::new(name, "the file is empty").into()),
        // The reader would look for the end before the beginning, and say what the system thinks of that.
        short if short.len() < SHORTEST && (short.starts_with(MAGIC) || MAGIC.starts_with(short)) => {
            let problem = format!("the Arrow file is truncated: it ends after {} bytes", short.len());
            Err(InputError::new(name, problem).hint(MAKE_AGAIN).into())
        }
        whole if whole.starts_with(MAGIC) => Ok(true),
        // A stream begins with a continuation marker, or with a length in old ones, which is small.
        [0xff, 0xff, 0xff, 0xff, ..] | [_, _, 0, 0, ..] => Ok(false),
        [b'F', b'E', b'A', b'1', ..] => {
            let hint = "write it anew: pandas and pyarrow make version 2 by default";
            Err(InputError::new(name, "the file is Feather version 1, which is no longer in use").hint(hint).into())
        }
        _ => Err(InputError::new(name, "the file is not an Arrow file").hint("say what it is by --format").into()),
    }
}
