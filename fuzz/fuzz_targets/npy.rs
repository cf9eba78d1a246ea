#![no_main]

use mercer_cli::fuzzing::Reader;

libfuzzer_sys::fuzz_target!(|input: &[u8]| mercer_fuzz::check_reader(Reader::Npy, input));
