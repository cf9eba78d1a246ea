//! Damaged files on a stable compiler: the fuzzers' seeds with bytes changed, cut, doubled and put in.
//!
//! `MERCER_FUZZ_SECONDS=600 cargo test -p mercer-cli --release damaged_text` goes on for that long, and checks the memory that is in use:
//! one test at a time, because others would be counted, too.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::*;

mod checkpoint;
mod learner;
mod model;

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

/// What tells one kind of model or checkpoint file from another: its entry, its format, its tensors, and how an autoencoder chooses signs.
fn layout(bytes: &[u8]) -> BTreeSet<String> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let (key, own) = header["__metadata__"].as_object().unwrap().iter().next().unwrap();
    let own: Value = serde_json::from_str(own.as_str().unwrap()).unwrap();
    let tensors = header.as_object().unwrap().keys().filter(|name| *name != "__metadata__").cloned();
    let format = format!("{key} of format {}, sign {}", own["format_version"], own["sign"]);
    tensors.chain([format]).collect()
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

/// What is promised of the memory that reading takes.
#[derive(Clone, Copy)]
enum Promise {
    /// It is checked.
    Checked,
    /// It is not, because other tests of this process take memory meanwhile.
    Unchecked,
}

impl Promise {
    /// Runs something that may take `more` than four times its input.
    fn keep<T>(self, input: &[u8], more: usize, run: impl FnOnce() -> T) -> T {
        match self {
            Self::Checked => within_memory(input, more, run),
            Self::Unchecked => run(),
        }
    }
}

/// Reads the seeds of this name, then damaged ones, for as long as was asked for; `read` says why it refuses an input.
fn torment(name: &str, read: impl Fn(&[u8], &mut Numbers, Promise) -> std::result::Result<(), String>) {
    let seeds = seeds(name);
    assert!(!seeds.is_empty());
    let seconds = std::env::var("MERCER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let deadline = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let promise = if deadline.is_some() { Promise::Checked } else { Promise::Unchecked };
    let mut numbers = Numbers(1);
    let mut tried = 0_u64;
    let mut accepted = 0_u64;
    while deadline.map_or(tried < INPUTS, |deadline| Instant::now() < deadline) {
        let mut bytes = seeds[numbers.next(seeds.len())].clone();
        if tried >= seeds.len() as u64 {
            damage(&mut bytes, &mut numbers);
        }
        match read(&bytes, &mut numbers, promise) {
            Ok(()) => accepted += 1,
            Err(message) => assert!(message.lines().count() <= 2, "{message}"),
        }
        tried += 1;
    }
    assert!(accepted > 0 && accepted < tried, "{accepted} of {tried} inputs were accepted: the test tests nothing");
    if deadline.is_some() {
        crate::console::say(&format!("{name}: {tried} inputs, of which {accepted} were accepted\n"));
    }
}

fn torment_reader(reader: Reader, name: &str) {
    torment(name, |bytes, _, promise| {
        let (rows, columns) = promise.keep(bytes, reader.more_memory(bytes), || read(reader, bytes))?;
        assert!(rows > 0 && columns > 0);
        Ok(())
    });
}

#[test]
fn damaged_text_is_read_or_refused() {
    torment_reader(Reader::Csv, "csv");
}

#[test]
fn damaged_arrays_are_read_or_refused() {
    torment_reader(Reader::Npy, "npy");
}

#[test]
fn damaged_images_are_read_or_refused() {
    torment_reader(Reader::Idx, "idx");
}

#[test]
fn damaged_archives_are_read_or_refused() {
    torment_reader(Reader::Npz, "npz");
}

#[test]
fn damaged_sparse_text_is_read_or_refused() {
    torment_reader(Reader::Libsvm, "libsvm");
}
