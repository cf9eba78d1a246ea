//! The same table from every format, and what is done to it afterwards.

use std::path::PathBuf;

use mercer::{Kernel, KernelPca, Model, Precision};

use super::*;
use crate::args::{ColumnName, DataArgs, Pixels, RowRange, ScaleFactor};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats").join(name)
}

fn column(name: &str) -> ColumnName {
    ColumnName(name.to_owned())
}

fn named() -> DataArgs {
    DataArgs { label: Some(column("half")), id: Some(column("id")), ..DataArgs::default() }
}

fn load(name: &str, args: &DataArgs) -> Data {
    read(&file(name), &ReadOptions::from(args)).unwrap()
}

/// Reads new points for a model.
fn read_queries(path: &Path, options: &ReadOptions, model: &Model) -> Result<Data> {
    let options = options.clone().for_model(model.n_features(), model.feature_names(), model.scaling())?;
    read(path, &options)
}

/// Message and hint of a refusal, without the folder of the file.
fn refusal(name: &str, args: &DataArgs) -> (String, String) {
    let failure = read(&file(name), &ReadOptions::from(args)).unwrap_err();
    let folder = format!("{}/", file("").display().to_string().trim_end_matches('/'));
    (failure.to_string().replace(&folder, ""), failure.hint().unwrap_or_default().to_owned())
}

fn expected() -> Vec<Vec<f64>> {
    let row = |i: u32| {
        let t = f64::from(i) / 4.0;
        vec![t, t * t - 2.0, if i.is_multiple_of(3) { 0.0 } else { 1.0 - t }]
    };
    (0..12).map(row).collect()
}

fn rows(data: &Data) -> Vec<Vec<f64>> {
    (0..data.points.n_samples()).map(|row| data.points.row(row)).collect()
}

#[test]
fn every_format_holds_the_same_table() {
    let semicolon = DataArgs { delimiter: Some(";".parse().unwrap()), ..named() };
    let array = DataArgs { array: Some("X".to_owned()), ..named() };
    for (name, args) in [
        ("pandas.csv", named()),
        ("pandas.csv.gz", named()),
        ("semicolon.csv", semicolon),
        ("zstd.parquet", named()),
        ("snappy.parquet", named()),
        ("gzip.parquet", named()),
        ("lz4.parquet", named()),
        ("uncompressed.parquet", named()),
        ("file.arrow", named()),
        ("lz4.arrow", named()),
        ("stream.arrows", named()),
        ("stored.npz", named()),
        ("deflated.npz", array),
    ] {
        let data = load(name, &args);
        assert_eq!(rows(&data), expected(), "{name}");
        let (labels, ids) = (data.labels.unwrap(), data.ids.unwrap());
        assert_eq!((labels.name.as_str(), ids.name.as_str()), ("half", "id"), "{name}");
        assert_eq!((labels.values[5].as_str(), labels.values[6].as_str()), ("low", "high"), "{name}");
        assert_eq!((ids.values[0].as_str(), ids.values[11].as_str()), ("row 0", "row 11"), "{name}");
    }
}

#[test]
fn arrays_without_names_hold_the_same_numbers_in_their_own_precision() {
    for (name, precision) in [
        ("c_f8.npy", Precision::F64),
        ("fortran_f4.npy", Precision::F32),
        ("big_f8.npy", Precision::F64),
        ("one.npz", Precision::F64),
    ] {
        let data = load(name, &DataArgs::default());
        assert_eq!(rows(&data), expected(), "{name}");
        assert_eq!(data.points.precision(), precision, "{name}");
    }
    assert_eq!(load("snappy.parquet", &named()).points.precision(), Precision::F32);
    assert_eq!(load("zstd.parquet", &named()).points.precision(), Precision::F64);
}

#[test]
fn libsvm_counts_columns_from_zero_or_one_and_keeps_the_label() {
    for name in ["one_based.libsvm", "zero_based.libsvm"] {
        let data = load(name, &DataArgs::default());
        assert_eq!(rows(&data), expected(), "{name}");
        let labels = data.labels.unwrap();
        assert_eq!((labels.values[0].as_str(), labels.values[11].as_str()), ("1", "2"), "{name}");
    }
}

const PIXELS: [[f64; 6]; 4] = [
    [0.0, 11.0, 22.0, 33.0, 44.0, 55.0],
    [66.0, 77.0, 88.0, 99.0, 110.0, 121.0],
    [132.0, 143.0, 154.0, 165.0, 176.0, 187.0],
    [198.0, 209.0, 220.0, 231.0, 242.0, 253.0],
];

#[test]
fn idx_stays_bytes_packed_or_not_with_labels_from_another_file() {
    for name in ["images-idx3-ubyte", "images-idx3-ubyte.gz"] {
        let data = load(name, &DataArgs { label: Some(column("labels-idx1-ubyte")), ..DataArgs::default() });
        assert!(data.points.is_bytes(), "{name}");
        assert_eq!(rows(&data), PIXELS, "{name}");
        assert_eq!(data.labels.unwrap().values, ["7", "8", "7", "9"], "{name}");
    }
    let (message, _) = refusal("images-idx3-ubyte", &DataArgs { label: Some(column("none")), ..DataArgs::default() });
    assert_eq!(message, "images-idx3-ubyte: there is no file \"none\" with labels");
}

#[test]
fn a_folder_of_images_is_read_in_order_with_its_folders_as_labels() {
    let data =
        load("images", &DataArgs { label: Some(column("folder")), id: Some(column("file")), ..DataArgs::default() });
    assert!(data.points.is_bytes());
    assert_eq!(rows(&data), PIXELS);
    assert_eq!(data.labels.unwrap().values, ["cats", "cats", "dogs", "dogs"]);
    assert_eq!(data.ids.unwrap().values, ["cats/0.png", "cats/1.png", "dogs/2.png", "dogs/3.png"]);
}

#[test]
fn a_list_of_images_is_read_as_it_stands() {
    let data = load("images.list", &DataArgs { id: Some(column("file")), ..DataArgs::default() });
    assert_eq!(rows(&data), [PIXELS[3], PIXELS[0]]);
    assert_eq!(data.ids.unwrap().values, ["images/dogs/3.png", "images/cats/0.png"]);
}

#[test]
fn colour_gives_three_columns_per_pixel() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::copy(file("color.png"), directory.path().join("color.png")).unwrap();
    let read_as = |pixels| {
        let args = DataArgs { pixels: Some(pixels), ..DataArgs::default() };
        rows(&read(directory.path(), &ReadOptions::from(&args)).unwrap())
    };
    assert_eq!(read_as(Pixels::Color), [[255.0, 0.0, 0.0, 0.0, 255.0, 0.0, 0.0, 0.0, 255.0, 9.0, 9.0, 9.0]]);
    // Grey weighs the colours by how bright they look.
    let grey = &read_as(Pixels::Grey)[0];
    assert!(grey[1] > grey[0] && grey[0] > grey[2] && (grey[3] - 9.0).abs() < 1e-9, "{grey:?}");
}

#[test]
fn rows_come_before_the_sample_and_take_their_labels_along() {
    let slice = DataArgs { rows: Some(RowRange { start: 4, end: Some(8) }), ..named() };
    let data = load("pandas.csv", &slice);
    assert_eq!(rows(&data), expected()[4..8]);
    assert_eq!(data.ids.unwrap().values, ["row 4", "row 5", "row 6", "row 7"]);
    let data = load("zstd.parquet", &DataArgs { sample: Some(2), ..slice.clone() });
    let ids = data.ids.as_ref().unwrap().values.clone();
    assert_eq!(ids.len(), 2);
    for (id, row) in ids.iter().zip(rows(&data)) {
        let number: usize = id.trim_start_matches("row ").parse().unwrap();
        assert!((4..8).contains(&number));
        assert_eq!(row, expected()[number]);
    }
    let with_seed = |seed| {
        let options = ReadOptions::from(&DataArgs { sample: Some(6), ..named() }).seed(seed);
        read(&file("pandas.csv"), &options).unwrap().ids.unwrap().values
    };
    assert_eq!(with_seed(3), with_seed(3));
    assert!((0..5).any(|seed| with_seed(seed) != with_seed(7)), "the seed has no effect");
    let all = load("pandas.csv", &DataArgs { sample: Some(100), ..named() });
    assert_eq!(rows(&all), expected(), "more than there are is all of them");
}

#[test]
fn rows_that_are_not_there_are_refused() {
    let (message, hint) = refusal("c_f8.npy", &DataArgs { rows: Some("5:20".parse().unwrap()), ..DataArgs::default() });
    assert_eq!(message, "c_f8.npy: --rows 5:20 was asked for, but there are 12 rows");
    assert_eq!(hint, "rows are counted from 0, and the last one is excluded");
}

#[test]
fn a_mapped_array_is_used_where_it_is() {
    let name = file("c_f8.npy");
    let shown = name.display().to_string();
    let bytes = Bytes::open(&name, &shown, source::Packing::None).unwrap();
    let raw = npy::read(&shown, bytes, &ReadOptions::from(&DataArgs::default())).unwrap();
    let Array::F64(values) = raw.values.rows(3, 2..5) else { panic!("another type") };
    assert!(matches!(values, numbers::Numbers::InPlace { .. }), "the file was copied");
}

#[test]
fn columns_are_chosen_and_dropped() {
    let args = DataArgs { columns: vec![column("z"), column("x")], ..DataArgs::default() };
    for name in ["pandas.csv", "zstd.parquet", "file.arrow"] {
        let data = load(name, &args);
        assert_eq!(data.points.row(4), [expected()[4][2], expected()[4][0]], "{name}");
    }
    let args = DataArgs { drop: vec![column("2")], ..DataArgs::default() };
    assert_eq!(load("c_f8.npy", &args).points.row(4), [expected()[4][0], expected()[4][2]]);
}

#[test]
fn a_standardized_model_takes_new_points_as_they_are() {
    let options = ReadOptions::from(&DataArgs { standardize: true, ..named() });
    let data = read(&file("pandas.csv"), &options).unwrap();
    let scaling = data.scaling.clone().unwrap();
    let fitted = KernelPca::new(Kernel::gaussian(0.5).unwrap()).fit(&data.points).unwrap();
    let model = fitted.with_scaling(scaling).unwrap();
    let queries = read_queries(&file("zstd.parquet"), &ReadOptions::from(&named()), &model).unwrap();
    assert_eq!(rows(&queries), expected(), "queries are not scaled by the reader");
    let gap = (model.transform(&queries.points).unwrap() - model.training_scores()).norm_max();
    assert!(gap < 1e-8, "{gap:e}");
    let failure = read_queries(&file("zstd.parquet"), &options, &model).unwrap_err().to_string();
    assert!(failure.starts_with("--standardize belongs to the fit"), "{failure}");
    let scaled = ReadOptions::from(&DataArgs { scale: Some(ScaleFactor(0.5)), ..named() });
    let failure = read_queries(&file("zstd.parquet"), &scaled, &model).unwrap_err().to_string();
    assert_eq!(failure, "the model standardizes its data by itself: leave --scale out");
}

#[test]
fn a_scale_typed_again_must_be_the_models_own() {
    let scaled = |factor| ReadOptions::from(&DataArgs { scale: Some(ScaleFactor(factor)), ..DataArgs::default() });
    let data = read(&file("images-idx3-ubyte"), &scaled(0.5)).unwrap();
    assert_eq!(data.points.byte_scale(), Some(0.5), "bytes stay bytes");
    let fitted = KernelPca::new(Kernel::gaussian(1e-3).unwrap()).fit(&data.points).unwrap();
    let model = fitted.with_scaling(data.scaling.unwrap()).unwrap();
    let queries = read_queries(&file("images-idx3-ubyte"), &scaled(0.5), &model).unwrap();
    assert_eq!(queries.points.byte_scale(), Some(1.0), "not twice");
    let failure = read_queries(&file("images-idx3-ubyte"), &scaled(0.25), &model).unwrap_err().to_string();
    assert_eq!(failure, "the model multiplies its data by 0.5 by itself: leave --scale out");
}

#[test]
fn a_sparse_file_gets_the_columns_that_the_model_has() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.libsvm");
    std::fs::write(&path, "1 1:0.5\n2\n").unwrap();
    let data = load("one_based.libsvm", &DataArgs::default());
    let model = KernelPca::new(Kernel::gaussian(0.5).unwrap()).fit(&data.points).unwrap();
    let args = DataArgs { index_base: Some(1), ..DataArgs::default() };
    let queries = read_queries(&path, &ReadOptions::from(&args), &model).unwrap();
    assert_eq!(rows(&queries), [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]);
    // A column of the last number settles it.
    std::fs::write(&path, "1 1:0.5\n2 3:1\n").unwrap();
    let queries = read_queries(&path, &ReadOptions::from(&DataArgs::default()), &model).unwrap();
    assert_eq!(rows(&queries), [[0.5, 0.0, 0.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn parts_of_a_file_are_the_whole_of_it() {
    let args = named();
    let whole = load("pandas.csv", &args);
    for name in ["pandas.csv", "pandas.csv.gz", "snappy.parquet", "file.arrow", "stream.arrows", "c_f8.npy"] {
        let flags = if name == "c_f8.npy" { DataArgs::default() } else { args.clone() };
        // As few numbers at a time as can be: whatever a reader takes in at once is a part of its own.
        let options = ReadOptions::from(&flags).in_batches(1);
        let (mut values, mut labels, mut last) = (Vec::new(), Vec::new(), None);
        read_in_batches(&file(name), &options, &mut |data| {
            assert!(last.is_none_or(|part: Part| !part.is_last), "{name}: nothing comes after the last part");
            values.extend(rows(&data));
            labels.extend(data.labels.map_or_else(Vec::new, |labels| labels.values));
            last = Some(data.part);
            Ok(())
        })
        .unwrap();
        assert_eq!(values, rows(&whole), "{name}");
        assert!(name == "c_f8.npy" || labels == whole.labels.as_ref().unwrap().values, "{name}");
    }
}

#[test]
fn a_choice_of_rows_is_made_among_all_of_them() {
    let args = DataArgs { rows: Some("2:5".parse().unwrap()), ..named() };
    let options = ReadOptions::from(&args).in_batches(1);
    let mut parts = Vec::new();
    read_in_batches(&file("pandas.csv"), &options, &mut |data| {
        parts.push(rows(&data));
        Ok(())
    })
    .unwrap();
    assert_eq!(parts, [expected()[2..5].to_vec()]);
}

#[test]
fn the_names_of_columns_are_known_where_a_file_has_them() {
    for name in ["pandas.csv", "snappy.parquet", "file.arrow"] {
        let data = load(name, &named());
        let names = data.names.clone().unwrap();
        assert_eq!(names.len(), 3, "{name}: {names:?}");
        assert_eq!(data.column_names(&[]), names);
        assert_eq!(data.column_names(&[&names[1]]), ["x1", "x2", "x3"], "a name that is taken");
    }
    for name in ["c_f8.npy", "one_based.libsvm", "images-idx3-ubyte"] {
        assert_eq!(load(name, &DataArgs::default()).names, None, "{name}");
    }
}

#[test]
fn flags_of_another_format_are_refused() {
    let args = DataArgs { resize: Some("8x8".parse().unwrap()), ..DataArgs::default() };
    assert_eq!(refusal("pandas.csv", &args).0, "--resize is for images only, but the data is CSV");
    let args = DataArgs { delimiter: Some(";".parse().unwrap()), ..DataArgs::default() };
    assert_eq!(
        refusal("c_f8.npy", &args).0,
        "--delimiter is for text with delimiters only, but the data is a .npy array"
    );
}

#[test]
fn several_arrays_are_listed_with_their_shapes() {
    let (message, hint) = refusal("stored.npz", &DataArgs::default());
    let listed = "X (12 x 3, float64), half (12, text), id (12, text)";
    assert_eq!(message, format!("stored.npz: the file holds 3 arrays: {listed}"));
    assert_eq!(hint, "say which one holds the points with --array NAME");
    let (message, hint) = refusal(
        "stored.npz",
        &DataArgs { label: Some(column("halv")), array: Some("X".to_owned()), ..DataArgs::default() },
    );
    assert_eq!(
        (message.as_str(), hint.as_str()),
        ("stored.npz: there is no array \"halv\"", "there is an array \"half\"")
    );
}

#[test]
fn values_that_are_not_finite_are_named_as_they_stand_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("x.npy");
    let mut bytes = b"\x93NUMPY\x01\x00\x40\x00".to_vec();
    bytes.extend(format!("{:<63}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2)}").bytes());
    for value in [1.0, 2.0, 3.0, 4.0, 5.0, f64::INFINITY] {
        bytes.extend(value.to_le_bytes());
    }
    std::fs::write(&path, bytes).unwrap();
    let drop_first = DataArgs { drop: vec![column("1")], rows: Some("1:3".parse().unwrap()), ..DataArgs::default() };
    let message = read(&path, &ReadOptions::from(&drop_first)).unwrap_err().to_string();
    assert!(message.ends_with("x.npy: the value at [2, 1] is inf"), "{message}");
    let before_it = DataArgs { rows: Some("0:2".parse().unwrap()), ..DataArgs::default() };
    assert!(read(&path, &ReadOptions::from(&before_it)).is_ok(), "rows that are not used are not looked at");
}
