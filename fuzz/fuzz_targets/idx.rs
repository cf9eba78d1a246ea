#![no_main]

use mercer_cli::fuzzing::Reader;

// Bytes that are not floats become f64 or f32 (eight-fold at most), standardized ones in place.
libfuzzer_sys::fuzz_target!(|input: &[u8]| mercer_fuzz::check_reader(Reader::Idx, input, 4 * input.len()));
