//! Apache Parquet.

use std::fs::File;
use std::io::{Read, Seek};

use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::ParquetMetaData;

use super::columnar::{BATCH, Columnar, damaged, guarded};
use super::{Part, Raw, ReadOptions};
use crate::failure::{Failure, InputError, Result};

/// Reads points from the columns of a Parquet file, as many numbers at a time as the options say.
pub(super) fn read(
    name: &str,
    file: File,
    options: &ReadOptions,
    each: &mut dyn FnMut(Raw, Part) -> Result<()>,
) -> Result<()> {
    check_magic(name, &file)?;
    let (table, batches) = guarded(name, "Parquet", || {
        let builder =
            ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| damaged(name, "Parquet", error))?;
        let table = Columnar::new(name, builder.schema(), options)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), table.needed().iter().copied());
        check_compression(name, builder.metadata(), &mask)?;
        let batches = builder.with_projection(mask).with_batch_size(BATCH).build();
        Ok((table, batches.map_err(|error| damaged(name, "Parquet", error))?))
    })?;
    table.read("Parquet", batches, each)
}

/// Refuses columns that are packed by what nobody unpacks here; those that are not wanted may be.
fn check_compression(name: &str, metadata: &ParquetMetaData, mask: &ProjectionMask) -> Result<()> {
    let columns = metadata.row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
    for (leaf, column) in columns {
        let packed_by = match column.compression() {
            Compression::BROTLI(_) => "Brotli",
            Compression::LZO => "LZO",
            Compression::UNCOMPRESSED
            | Compression::SNAPPY
            | Compression::GZIP(_)
            | Compression::LZ4
            | Compression::LZ4_RAW
            | Compression::ZSTD(_) => continue,
        };
        if mask.leaf_included(leaf) {
            let problem = format!("the Parquet file is compressed by {packed_by}, which is not read");
            let hint = "write it with snappy, gzip, lz4, zstd or no compression";
            return Err(InputError::new(name, problem).hint(hint).into());
        }
    }
    Ok(())
}

fn check_magic(name: &str, mut file: &File) -> Result<()> {
    let io = |source| Failure::File { doing: "reading", path: name.into(), source };
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(4).read_to_end(&mut start).map_err(io)?;
    file.rewind().map_err(io)?;
    match start.as_slice() {
        [] => Err(InputError::new(name, "the file is empty").into()),
        b"PAR1" => Ok(()),
        b"PARE" => {
            Err(InputError::new(name, "the Parquet file is encrypted").hint("write it without encryption").into())
        }
        _ => Err(InputError::new(name, "the file is not a Parquet file").hint("say what it is by --format").into()),
    }
}
