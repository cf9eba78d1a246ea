#![no_main]

use mercer_cli::fuzzing::Reader;

// A value takes two bytes of text at least.
libfuzzer_sys::fuzz_target!(|input: &[u8]| mercer_fuzz::check_reader(Reader::Csv, input, input.len() / 2));
