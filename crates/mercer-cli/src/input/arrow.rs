//! Arrow IPC: files (also called Feather version 2) and streams.

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;

use super::columnar::{Columnar, damaged, guarded};
use super::{Raw, ReadOptions};
use crate::failure::{Failure, InputError, Result};

/// Reads points from the columns of an Arrow file or stream.
pub(super) fn read(name: &str, file: &File, options: &ReadOptions) -> Result<Raw> {
    let is_file = starts_as_file(name, file)?;
    guarded(name, "Arrow", || {
        let wrong = |error: ArrowError| damaged(name, "Arrow", error);
        // The schema first: which columns are wanted depends on their names.
        let open = || -> Result<BufReader<File>> {
            let mut file = file.try_clone().map_err(Failure::file("reading", name.as_ref()))?;
            file.rewind().map_err(Failure::file("reading", name.as_ref()))?;
            Ok(BufReader::new(file))
        };
        let schema = if is_file {
            FileReader::try_new(open()?, None).map_err(wrong)?.schema()
        } else {
            StreamReader::try_new(open()?, None).map_err(wrong)?.schema()
        };
        let table = Columnar::new(name, &schema, options)?;
        let wanted = Some(table.needed().to_vec());
        if is_file {
            take(name, table, FileReader::try_new(open()?, wanted).map_err(wrong)?)
        } else {
            take(name, table, StreamReader::try_new(open()?, wanted).map_err(wrong)?)
        }
    })
}

fn take(
    name: &str,
    mut table: Columnar<'_>,
    batches: impl Iterator<Item = std::result::Result<RecordBatch, ArrowError>>,
) -> Result<Raw> {
    for batch in batches {
        table.push(&batch.map_err(|error| damaged(name, "Arrow", error))?)?;
    }
    table.finish()
}

/// Whether it is a file and not a stream.
fn starts_as_file(name: &str, mut file: &File) -> Result<bool> {
    let mut start = Vec::new();
    let io = |source| Failure::File { doing: "reading", path: name.into(), source };
    Read::by_ref(&mut file).take(6).read_to_end(&mut start).map_err(io)?;
    match start.as_slice() {
        [] => Err(InputError::new(name, "the file is empty").into()),
        b"ARROW1" => Ok(true),
        // A stream begins with a continuation marker, or with a length in old ones, which is small.
        [0xff, 0xff, 0xff, 0xff, ..] | [_, _, 0, 0, ..] => Ok(false),
        [b'F', b'E', b'A', b'1', ..] => {
            let hint = "write it anew: pandas and pyarrow make version 2 by default";
            Err(InputError::new(name, "the file is Feather version 1, which is no longer in use").hint(hint).into())
        }
        _ => Err(InputError::new(name, "the file is not an Arrow file").hint("say what it is by --format").into()),
    }
}
