#![no_main]

use mercer_cli::fuzzing::Reader;

// Packed bytes may become 1032 times as many, which is what deflate can do; no more is believed.
libfuzzer_sys::fuzz_target!(|input: &[u8]| mercer_fuzz::check_reader(Reader::Npz, input, 8 * 1032 * input.len()));
