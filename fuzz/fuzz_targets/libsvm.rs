#![no_main]

use mercer_cli::fuzzing::{DENSE_LIMIT, Reader};

// A sparse line of a few bytes may ask for a long row; the dense matrix has a limit of its own, and a copy for chosen columns.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    mercer_fuzz::check_reader(Reader::Libsvm, input, 3 * DENSE_LIMIT as usize);
});
