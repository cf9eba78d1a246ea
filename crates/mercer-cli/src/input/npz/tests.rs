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
    assert!(message.starts_with("x.npz: the .npz file cannot be read: "), "{message}");
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
