#![no_main]

use mercer_cli::fuzzing::Reader;

// A value takes a byte at least.
libfuzzer_sys::fuzz_target!(|input: &[u8]| mercer_fuzz::check_reader(Reader::Idx, input, input.len()));
