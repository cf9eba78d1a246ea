//! What the fuzz targets have in common: the allocator that counts, and the promise that is checked.

pub use mercer_cli::fuzzing::within_memory;
use mercer_cli::fuzzing::{Counting, Reader, read};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Puts an input through a reader; a message that is not one line is a message nobody can read.
pub fn check_reader(reader: Reader, input: &[u8]) {
    within_memory(input, reader.more_memory(input), || match read(reader, input) {
        Ok((rows, columns)) => assert!(rows > 0 && columns > 0),
        Err(message) => assert!(message.lines().count() <= 2, "{message}"),
    });
}
