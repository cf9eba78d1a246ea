//! Files that are larger than the memory: an error with exit code 3, not the end of the process by the allocator.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use parquet::arrow::ArrowWriter;

use super::support::{Directory, npy};

/// Address space that processes of this test have, in KiB; what they are to read takes more.
const LIMIT: usize = 256 << 10;

/// Runs the command by a shell that limits its address space.
fn run_in_little_memory(directory: &Directory, words: &str) -> (Option<i32>, String) {
    let script = format!("ulimit -v {LIMIT}; exec \"$0\" {words}");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_mercer")])
        .current_dir(directory.root())
        // Otherwise every thread would take address space for a heap of its own.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Makes a file longer, by zeros that take no room on the disk.
fn stretch(directory: &Directory, name: &str, length: u64) {
    File::options().write(true).open(directory.path(name)).unwrap().set_len(length).unwrap();
}

/// The beginning of an array, stretched to its whole length.
fn sparse_npy(directory: &Directory, name: &str, descr: &str, rows: u64, size: u64) {
    let header = npy(descr, &format!("({rows}, 1000)"), &[]);
    let length = header.len() as u64 + rows * 1000 * size;
    directory.write(name, header);
    stretch(directory, name, length);
}

#[test]
fn what_a_file_holds_is_refused_if_there_is_no_memory_for_it() {
    let directory = Directory::new();
    // The first block says how much room the rest will take.
    directory.write("long.csv", "1,1\n".repeat(3 << 20));
    stretch(&directory, "long.csv", 1 << 30);
    let mut packed = flate2::write::GzEncoder::new(
        File::create(directory.path("packed.csv.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    let block = "1,1\n".repeat(1 << 20);
    (0..12).for_each(|_| packed.write_all(block.as_bytes()).unwrap());
    packed.finish().unwrap();
    let mut packed = flate2::write::GzEncoder::new(
        File::create(directory.path("packed.idx.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    packed.write_all(&[0, 0, 8, 2, 0, 0x14, 0, 0, 0, 0, 0, 0x80]).unwrap();
    let zeros = vec![0; 1 << 20];
    (0..160).for_each(|_| packed.write_all(&zeros).unwrap());
    packed.finish().unwrap();
    sparse_npy(&directory, "mapped.npy", "<f8", 100_000, 8);
    sparse_npy(&directory, "copied.npy", "<f8", 13_750, 8);
    sparse_npy(&directory, "converted.npy", "<i2", 25_000, 2);
    directory.write("wide.libsvm", "1 1:1\n1 20000000:1\n");
    let column: ArrayRef = Arc::new(Float64Array::from_value(1.0, 1 << 20));
    let batch = RecordBatch::try_from_iter((0..16).map(|at| (format!("x{at}"), Arc::clone(&column)))).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(directory.path("long.parquet")).unwrap(), batch.schema(), None).unwrap();
    (0..2).for_each(|_| writer.write(&batch).unwrap());
    writer.close().unwrap();

    let files = [
        "long.csv",
        "packed.csv.gz",
        "packed.idx.gz",
        "mapped.npy",
        "copied.npy --scale 2",
        "copied.npy --drop 1",
        "converted.npy",
        "wide.libsvm",
        "long.parquet",
    ];
    for words in files {
        let (code, said) = run_in_little_memory(&directory, &format!("plan {words} --threads 1 --quiet"));
        assert_eq!(code, Some(3), "{words}: {said}");
        assert!(
            said.contains("memory") && said.contains("hint: `mercer fit --gram nystrom --blocks`"),
            "{words}: {said}"
        );
    }
    // What fits is read as ever.
    directory.write("short.csv", "1,1\n2,3\n4,1\n");
    let (code, said) = run_in_little_memory(&directory, "plan short.csv --threads 1 --quiet");
    assert_eq!(code, Some(0), "{said}");
}
