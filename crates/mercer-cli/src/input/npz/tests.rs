use std::io::Cursor;

use super::*;
use crate::args::DataArgs;

fn example(name: &str) -> Vec<u8> {
    std::fs::read(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats").join(name)).unwrap()
}

fn refusal(bytes: &[u8]) -> String {
    let args = DataArgs { array: Some("X".to_owned()), ..DataArgs::default() };
    match read("x.npz", Cursor::new(bytes), &ReadOptions::from(&args)) {
        Ok(_) => panic!("it was accepted"),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn a_file_cut_short_anywhere_is_refused() {
    for name in ["stored.npz", "deflated.npz"] {
        let whole = example(name);
        for length in 0..whole.len() {
            let message = refusal(&whole[..length]);
            let expected = ["is empty", "not an .npz file", "truncated", "damaged"];
            assert!(expected.iter().any(|words| message.contains(words)), "{name}, {length} bytes: {message}");
        }
    }
}

#[test]
fn contents_that_do_not_match_their_checksum_are_refused() {
    let mut bytes = example("stored.npz");
    // A byte of the first array's values.
    bytes[300] ^= 1;
    let message = refusal(&bytes);
    assert_eq!(message, "x.npz: the array \"X\" is damaged: it does not match its checksum");
}

#[test]
fn a_size_that_no_packing_could_reach_takes_no_memory() {
    // The size in the central directory, which is what is believed: raised to a terabyte would not fit 32 bits, 4 GB do.
    let mut bytes = example("deflated.npz");
    let place = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    bytes[place + 24..place + 28].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
    let message = refusal(&bytes);
    assert!(message.contains("cannot hold the 4294967280 it announces"), "{message}");
}

#[test]
fn labels_of_another_length_are_refused() {
    let args = DataArgs { label: Some(ColumnName("X".to_owned())), array: Some("X".to_owned()), ..DataArgs::default() };
    let failure = read("x.npz", Cursor::new(example("stored.npz")), &ReadOptions::from(&args)).err().unwrap();
    assert_eq!(failure.to_string(), "x.npz[X]: labels of shape [12, 3] for the 12 points of X");
}

#[test]
fn more_entries_than_there_is_room_for_take_no_memory() {
    let whole = example("stored.npz");
    let place = whole.windows(4).rposition(|window| window == b"PK\x05\x06").unwrap();
    let expected =
        format!("x.npz: the .npz file is damaged: {} bytes cannot hold the 30000 arrays it announces", whole.len());
    for offset in [8, 10] {
        let mut bytes = whole.clone();
        bytes[place + offset..place + offset + 2].copy_from_slice(&30_000_u16.to_le_bytes());
        assert_eq!(refusal(&bytes), expected);
    }
}

/// An archive of one stored member, by hand; `long` says which sizes stand in the extra field.
fn archive(name: &str, contents: &[u8], long: bool) -> Vec<u8> {
    let mut checksum = flate2::Crc::new();
    checksum.update(contents);
    let (length, extra) = (contents.len() as u32, if long { 20_u16 } else { 0 });
    let short = if long { u32::MAX } else { length };
    let mut file = b"PK\x03\x04\x2d\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend_from_slice(&checksum.sum().to_le_bytes());
    file.extend_from_slice(&[short.to_le_bytes(), short.to_le_bytes()].concat());
    file.extend_from_slice(&[(name.len() as u16).to_le_bytes(), 0_u16.to_le_bytes()].concat());
    file.extend_from_slice(name.as_bytes());
    file.extend_from_slice(contents);
    let directory = file.len() as u64;
    file.extend_from_slice(b"PK\x01\x02\x2d\0\x2d\0\0\0\0\0\0\0\0\0");
    file.extend_from_slice(&checksum.sum().to_le_bytes());
    file.extend_from_slice(&[short.to_le_bytes(), short.to_le_bytes()].concat());
    file.extend_from_slice(&[(name.len() as u16).to_le_bytes(), extra.to_le_bytes()].concat());
    file.extend_from_slice(&[0; 14]);
    file.extend_from_slice(name.as_bytes());
    if long {
        file.extend_from_slice(&[1, 0, 16, 0]);
        file.extend_from_slice(&[u64::from(length).to_le_bytes(), u64::from(length).to_le_bytes()].concat());
    }
    let size = file.len() as u64 - directory;
    if long {
        let record = file.len() as u64;
        file.extend_from_slice(b"PK\x06\x06");
        file.extend_from_slice(&[44, 0, 0, 0, 0, 0, 0, 0, 45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend_from_slice(&[1_u64, 1, size, directory].map(u64::to_le_bytes).concat());
        file.extend_from_slice(b"PK\x06\x07\0\0\0\0");
        file.extend_from_slice(&record.to_le_bytes());
        file.extend_from_slice(&1_u32.to_le_bytes());
    }
    file.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    let entries = if long { 0xffff_u16 } else { 1 };
    file.extend_from_slice(&[entries.to_le_bytes(), entries.to_le_bytes()].concat());
    let (size, directory) = if long { (u32::MAX, u32::MAX) } else { (size as u32, directory as u32) };
    file.extend_from_slice(&[size.to_le_bytes(), directory.to_le_bytes(), [0; 4]].concat()[..10]);
    file
}

/// A `.npy` file of three points with two coordinates.
fn points() -> Vec<u8> {
    rows_of_two(&[1, 2, 3, 4, 5, 6])
}

/// A `.npy` file of points with two coordinates, which are these bytes.
fn rows_of_two(values: &[u8]) -> Vec<u8> {
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({}, 2), }}\n", values.len() / 2);
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&(text.len() as u16).to_le_bytes());
    file.extend_from_slice(text.as_bytes());
    file.extend_from_slice(values);
    file
}

#[test]
fn sizes_of_both_lengths_are_understood() {
    for long in [false, true] {
        let bytes = archive("X.npy", &points(), long);
        let raw = read("x.npz", Cursor::new(&bytes), &ReadOptions::from(&DataArgs::default())).unwrap();
        assert_eq!((raw.n_samples, raw.n_features), (3, 2), "long: {long}");
        for length in 0..bytes.len() {
            refusal(&bytes[..length]);
        }
    }
}

#[test]
fn an_end_record_within_an_array_is_not_the_end() {
    let contents = rows_of_two(b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0");
    let bytes = archive("X.npy", &contents, false);
    let raw = read("x.npz", Cursor::new(&bytes), &ReadOptions::from(&DataArgs::default())).unwrap();
    assert_eq!((raw.n_samples, raw.n_features), (11, 2));
}

#[test]
fn bytes_behind_an_array_are_refused() {
    let contents = [points().as_slice(), b"\0\0"].concat();
    let message = refusal(&archive("X.npy", &contents, false));
    assert_eq!(message, "x.npz[X]: the file goes on for 2 bytes behind the 6 values it announces");
}

#[test]
fn an_array_is_not_label_and_id_at_once() {
    let column = || Some(ColumnName("half".to_owned()));
    let args = DataArgs { label: column(), id: column(), array: Some("X".to_owned()), ..DataArgs::default() };
    let failure = read("x.npz", Cursor::new(example("stored.npz")), &ReadOptions::from(&args)).err().unwrap();
    assert_eq!(failure.to_string(), "x.npz: array half cannot be both --label and --id");
}

#[test]
fn whole_numbers_beyond_double_precision_name_rows_exactly() {
    let text = "{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }\n";
    let mut ids = b"\x93NUMPY\x01\x00".to_vec();
    ids.extend_from_slice(&(text.len() as u16).to_le_bytes());
    ids.extend_from_slice(text.as_bytes());
    for id in [9_007_199_254_740_993_u64, 9_007_199_254_740_992, u64::MAX] {
        ids.extend_from_slice(&id.to_le_bytes());
    }
    let mut file = NpzFile::open("x.npz", Cursor::new(archive("ids.npy", &ids, false))).unwrap();
    let labels = file.words("ids".to_owned(), 3, "X").unwrap();
    assert_eq!(labels.values, ["9007199254740993", "9007199254740992", "18446744073709551615"]);
}
