//! Damaged files on a stable compiler: the fuzzers' seeds with bytes changed, cut, doubled and put in.
//!
//! `MERCER_FUZZ_SECONDS=600 cargo test -p mercer-cli --release damaged_text` goes on for that long, and checks the memory that is in use:
//! one test at a time, because others would be counted, too.

use std::path::Path;
use std::time::{Duration, Instant};

use super::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Inputs of a short run.
const INPUTS: u64 = 3000;

/// Numbers that look random and are the same every time (a multiplicative generator; see the `next` of any textbook).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below.max(1)
    }
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn damage(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    const TELLING: &[u8] = b"\0\xff,;:\"\n\r0123456789.-+eEn '()\x7f\x80";
    for _ in 0..=numbers.next(6) {
        let place = numbers.next(bytes.len());
        match (numbers.next(5), bytes.is_empty()) {
            (0, false) => bytes[place] = TELLING[numbers.next(TELLING.len())],
            (1, false) => bytes[place] ^= 1 << numbers.next(8),
            (2, false) => bytes.truncate(place),
            (3, false) => {
                let end = (place + 1 + numbers.next(16)).min(bytes.len());
                let piece = bytes[place..end].to_vec();
                bytes.splice(place..place, piece);
            }
            _ => bytes.insert(place, TELLING[numbers.next(TELLING.len())]),
        }
    }
}

fn torment(reader: Reader, name: &str) {
    let seeds = seeds(name);
    assert!(!seeds.is_empty());
    let seconds = std::env::var("MERCER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut numbers = Numbers(1);
    let mut tried = 0;
    let mut accepted = 0_u64;
    while deadline.map_or(tried < INPUTS, |deadline| Instant::now() < deadline) {
        let mut bytes = seeds[numbers.next(seeds.len())].clone();
        if tried >= seeds.len() as u64 {
            damage(&mut bytes, &mut numbers);
        }
        let read = || read(reader, &bytes);
        let outcome = match deadline {
            Some(_) => within_memory(&bytes, reader.more_memory(&bytes), read),
            // Other tests of this process take memory meanwhile.
            None => read(),
        };
        match outcome {
            Ok((rows, columns)) => {
                assert!(rows > 0 && columns > 0);
                accepted += 1;
            }
            Err(message) => assert!(message.lines().count() <= 2, "{message}"),
        }
        tried += 1;
    }
    assert!(accepted > 0 && accepted < tried, "{accepted} of {tried} inputs were accepted: the test tests nothing");
}

#[test]
fn damaged_text_is_read_or_refused() {
    torment(Reader::Csv, "csv");
}

#[test]
fn damaged_arrays_are_read_or_refused() {
    torment(Reader::Npy, "npy");
}

#[test]
fn damaged_images_are_read_or_refused() {
    torment(Reader::Idx, "idx");
}

#[test]
fn damaged_archives_are_read_or_refused() {
    torment(Reader::Npz, "npz");
}

#[test]
fn damaged_sparse_text_is_read_or_refused() {
    torment(Reader::Libsvm, "libsvm");
}
