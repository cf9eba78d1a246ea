#![no_main]

use mercer_cli::fuzzing::{DENSE_LIMIT, Reader};

// A sparse line of a few bytes may ask for a long row; the dense matrix has a limit of its own.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    mercer_fuzz::check_reader(Reader::Libsvm, input, DENSE_LIMIT as usize / 8);
});
