use super::*;
use crate::args::DataArgs;

fn parse(bytes: &[u8]) -> std::result::Result<Vec<f64>, String> {
    let options = ReadOptions::from(&DataArgs::default());
    let raw = read(Path::new("x.idx"), "x.idx", Bytes::Memory(bytes.to_vec()), &options);
    raw.map(|raw| raw.values.as_rows().to_f64()).map_err(|failure| failure.to_string())
}

#[test]
fn every_type_is_read_with_its_highest_byte_first() {
    let file = |kind: u8, values: &[u8]| {
        let mut bytes = vec![0, 0, kind, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        bytes.extend_from_slice(values);
        parse(&bytes).unwrap()
    };
    assert_eq!(file(0x08, &[1, 255]), [1.0, 255.0]);
    assert_eq!(file(0x09, &[1, 255]), [1.0, -1.0]);
    assert_eq!(file(0x0b, &[1, 0, 255, 254]), [256.0, -2.0]);
    assert_eq!(file(0x0c, &[0, 1, 0, 0, 255, 255, 255, 255]), [65536.0, -1.0]);
    assert_eq!(file(0x0d, &[1.5_f32.to_be_bytes(), (-2.0_f32).to_be_bytes()].concat()), [1.5, -2.0]);
    assert_eq!(file(0x0e, &[1.5_f64.to_be_bytes(), (-2.0_f64).to_be_bytes()].concat()), [1.5, -2.0]);
}

#[test]
fn foreign_and_truncated_files_are_refused() {
    assert_eq!(parse(b"1,2\n"), Err("x.idx: the file is not an IDX file".to_owned()));
    assert_eq!(parse(&[0, 0, 7, 1, 0, 0, 0, 1, 0]), Err("x.idx: the file is not an IDX file".to_owned()));
    assert_eq!(parse(&[0, 0, 8, 3, 0, 0, 0, 1]), Err("x.idx: the file is truncated within its header".to_owned()));
    let truncated = "x.idx: the file is truncated: it holds 3 of the 1000000 values it announces";
    assert_eq!(parse(&[0, 0, 8, 2, 0, 0, 3, 232, 0, 0, 3, 232, 1, 2, 3]), Err(truncated.to_owned()));
    let longer = "x.idx: the file goes on for 1 byte behind the 2 values it announces";
    assert_eq!(parse(&[0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 2, 1, 2, 3]), Err(longer.to_owned()));
    let list = "x.idx: there are 3 single numbers, not points";
    assert_eq!(parse(&[0, 0, 8, 1, 0, 0, 0, 3, 5, 6, 7]), Err(list.to_owned()));
}
