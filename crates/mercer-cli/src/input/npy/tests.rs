use std::io::Write;
use std::path::PathBuf;

use tempfile::TempDir;

use super::super::{Data, Origin, Part, source::Packing};
use super::*;
use crate::args::{ColumnName, DataArgs, ScaleFactor};
use mercer::Points;
use std::fs::File;
use std::path::Path;

/// A `.npy` file with this header and these bytes.
fn file(descr: &str, fortran: bool, shape: &str, values: &[u8]) -> (TempDir, PathBuf) {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    let mut file = File::create(&path).unwrap();
    file.write_all(b"\x93NUMPY\x01\x00").unwrap();
    file.write_all(&u16::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.write_all(values).unwrap();
    (directory, path)
}

fn options(label: Option<&str>, scale: f64) -> ReadOptions {
    let label = label.map(|text| ColumnName(text.to_owned()));
    ReadOptions::from(&DataArgs { label, scale: Some(ScaleFactor(scale)), ..DataArgs::default() })
}

fn read(path: &Path, options: &ReadOptions) -> Result<Data> {
    let name = path.display().to_string();
    let raw = super::read(&name, Bytes::open(path, &name, Packing::None)?, options)?;
    super::super::finish(Origin::new(path, options), raw, Part::WHOLE, options)
}

fn points(descr: &str, fortran: bool, shape: &str, values: &[u8]) -> Points {
    let (_directory, path) = file(descr, fortran, shape, values);
    read(&path, &options(None, 1.0)).unwrap().points
}

fn refusal(descr: &str, shape: &str, values: &[u8]) -> String {
    let (directory, path) = file(descr, false, shape, values);
    let message = read(&path, &options(None, 1.0)).unwrap_err().to_string();
    message.replace(&format!("{}/", directory.path().display()), "")
}

fn little<const SIZE: usize, T: Copy>(values: &[T], bytes: impl Fn(T) -> [u8; SIZE]) -> Vec<u8> {
    values.iter().flat_map(|&value| bytes(value)).collect()
}

#[test]
fn single_and_double_precision_keep_their_format() {
    let single = points("<f4", false, "(2, 2)", &little(&[1.0, 2.0, 3.0, 4.5], f32::to_le_bytes));
    assert_eq!(single.precision(), mercer::Precision::F32);
    assert_eq!((single.row(0), single.row(1)), (vec![1.0, 2.0], vec![3.0, 4.5]));
    let double = points("<f8", false, "(1, 2)", &little(&[0.1, 0.2], f64::to_le_bytes));
    assert_eq!(double.precision(), mercer::Precision::F64);
    assert_eq!(double.row(0), [0.1, 0.2]);
}

#[test]
fn bytes_stay_bytes_and_images_become_rows() {
    let images = points("|u1", false, "(2, 2, 2)", &[1, 2, 3, 4, 5, 6, 7, 255]);
    assert!(images.is_bytes());
    assert_eq!((images.n_samples(), images.n_features()), (2, 4));
    assert_eq!(images.row(1), [5.0, 6.0, 7.0, 255.0]);
}

#[test]
fn fortran_order_becomes_rows() {
    // np.arange(6).reshape(2, 3) stored column by column.
    let matrix = points("|u1", true, "(2, 3)", &[0, 3, 1, 4, 2, 5]);
    assert_eq!((matrix.row(0), matrix.row(1)), (vec![0.0, 1.0, 2.0], vec![3.0, 4.0, 5.0]));
    // np.arange(12).reshape(2, 3, 2), first axis fastest.
    let images = points("|u1", true, "(2, 3, 2)", &[0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]);
    assert_eq!(images.row(0), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(images.row(1), [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
}

#[test]
fn other_numbers_are_converted() {
    assert_eq!(points("<i4", false, "(1, 2)", &little(&[-5, 70000], i32::to_le_bytes)).row(0), [-5.0, 70000.0]);
    assert_eq!(
        points("<u8", false, "(1, 1)", &little(&[1_u64 << 40], u64::to_le_bytes)).row(0),
        [(1_u64 << 40) as f64]
    );
    assert_eq!(points(">i2", false, "(1, 2)", &little(&[-2, 300], i16::to_be_bytes)).row(0), [-2.0, 300.0]);
    assert_eq!(points(">f4", false, "(1, 1)", &little(&[1.5], f32::to_be_bytes)).row(0), [1.5]);
    assert_eq!(points("|b1", false, "(1, 2)", &[0, 1]).row(0), [0.0, 1.0]);
    assert_eq!(points("|i1", false, "(1, 1)", &[0xff]).row(0), [-1.0]);
}

#[test]
fn half_precision_is_widened_exactly() {
    for (bits, value) in
        [(0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0)]
    {
        assert_eq!(half_to_single(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
    }
    assert!(half_to_single(0x7c00).is_infinite());
    assert!(half_to_single(0x7e00).is_nan());
}

#[test]
fn scale_and_label_apply_to_arrays_too() {
    let (_directory, path) = file("|u1", false, "(2, 3)", &[10, 1, 20, 30, 2, 40]);
    let data = read(&path, &options(Some("2"), 0.5)).unwrap();
    assert!(data.points.is_bytes());
    assert_eq!((data.points.row(0), data.points.row(1)), (vec![5.0, 10.0], vec![15.0, 20.0]));
    assert_eq!(data.labels, Some(Labels { name: "label".to_owned(), values: vec!["1".to_owned(), "2".to_owned()] }));
    let (_directory, path) = file("<f4", false, "(1, 2)", &little(&[2.0, 4.0], f32::to_le_bytes));
    assert_eq!(read(&path, &options(None, 0.25)).unwrap().points.row(0), [0.5, 1.0]);
}

#[test]
fn a_truncated_file_says_how_much_is_there() {
    let message = refusal("<f4", "(2, 2)", &[0; 13]);
    assert_eq!(message, "x.npy: the file is truncated: it holds 3 of the 4 values it announces");
}

#[test]
fn whole_numbers_that_are_rounded_are_told() {
    let big = (1_u64 << 53) + 1;
    let told = |descr: &str, fortran: bool, values: &[u64], drop: &str| {
        let (directory, path) = file(descr, fortran, "(2, 2)", &little(values, u64::to_le_bytes));
        let drop = drop.split_whitespace().map(|column| ColumnName(column.to_owned())).collect();
        let options = ReadOptions::from(&DataArgs { drop, ..DataArgs::default() });
        let rounded = read(&path, &options).unwrap().rounded.unwrap_or_default();
        rounded.replace(&format!("{}/", directory.path().display()), "")
    };
    let expected = |place: &str| {
        format!(
            "x.npy: whole numbers beyond 2^53 are rounded to double precision, such as that at {place}; --id keeps a column as it is"
        )
    };
    assert_eq!(told("<u8", false, &[1, 2, big, 4], ""), expected("[1, 0]"));
    assert_eq!(told("<u8", true, &[1, 2, big, 4], ""), expected("[0, 1]"));
    assert_eq!(told("<i8", false, &[1, 2, 3, big.wrapping_neg()], ""), expected("[1, 1]"));
    assert_eq!(told(">u8", false, &[0, big.swap_bytes(), 0, 0], ""), expected("[0, 1]"));
    assert_eq!(told("<u8", false, &[1, 2, 1 << 60, 4], ""), "", "it is what it was");
    assert_eq!(told("<u8", false, &[1, 2, big, 4], "1"), "", "nobody uses it");
}

#[test]
fn shapes_that_are_no_matrix_are_refused() {
    assert_eq!(refusal("|u1", "(3,)", &[0; 3]), "x.npy: the array is a list of 3 numbers, not a matrix");
    assert_eq!(refusal("|u1", "()", &[0; 1]), "x.npy: the array is a single number");
    assert_eq!(refusal("|u1", "(0, 5)", &[]), "x.npy: the array of shape [0, 5] is empty");
    let huge = refusal("|u1", "(4294967296, 4294967296)", &[]);
    assert_eq!(huge, "x.npy: the shape [4294967296, 4294967296] is larger than any file");
    let large = refusal("<f8", "(4611686018427387904, 1)", &[]);
    assert_eq!(large, "x.npy: the file is truncated: it holds 0 of the 4611686018427387904 values it announces");
}

#[test]
fn a_value_that_is_not_finite_is_named_as_numpy_would_index_it() {
    let message = refusal("<f4", "(2, 2)", &little(&[0.0, 1.0, 2.0, f32::NAN], f32::to_le_bytes));
    assert_eq!(message, "x.npy: the value at [1, 1] is NaN");
}

#[test]
fn an_empty_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    File::create(&path).unwrap();
    assert!(read(&path, &options(None, 1.0)).unwrap_err().to_string().ends_with("x.npy: the file is empty"));
}

#[test]
fn labels_beyond_double_precision_are_exact_in_either_order() {
    let big = 9_007_199_254_740_993_i64;
    for (fortran, values) in [(false, [1, big, 2, -big]), (true, [1, 2, big, -big])] {
        let (_directory, path) = file("<i8", fortran, "(2, 2)", &little(&values, i64::to_le_bytes));
        let data = read(&path, &options(Some("2"), 1.0)).unwrap();
        assert_eq!(data.labels.unwrap().values, ["9007199254740993", "-9007199254740993"]);
        assert_eq!((data.points.row(0), data.points.row(1)), (vec![1.0], vec![2.0]));
    }
    let (_directory, path) = file(">i8", false, "(1, 2)", &[0, 0, 0, 0, 0, 0, 0, 7, 0, 32, 0, 0, 0, 0, 0, 1]);
    let data = read(&path, &options(Some("2"), 1.0)).unwrap();
    assert_eq!(data.labels.unwrap().values, ["9007199254740993"]);
}
