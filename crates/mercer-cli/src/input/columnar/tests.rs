use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, StringArray, UInt8Array,
};
use arrow_schema::Field;

use super::*;
use crate::args::DataArgs;

fn table(columns: &[(&str, ArrayRef)], args: &DataArgs) -> std::result::Result<Raw, String> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let take = || -> Result<Raw> {
        let table = Columnar::new("x", &schema, &ReadOptions::from(args))?;
        let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).unwrap().project(table.needed()).unwrap();
        let mut found = None;
        let batches = [batch.clone(), batch].map(Ok::<_, arrow_schema::ArrowError>);
        table.read("Arrow", batches.into_iter(), &mut |raw, _| {
            found = Some(raw);
            Ok(())
        })?;
        Ok(found.unwrap())
    };
    take().map_err(|failure| failure.to_string())
}

#[test]
fn columns_of_several_types_become_rows_in_the_narrowest_format() {
    let x: ArrayRef = Arc::new(Float32Array::from(vec![0.5, 1.5]));
    let y: ArrayRef = Arc::new(Float64Array::from(vec![2.5, 3.5]));
    let n: ArrayRef = Arc::new(Int64Array::from(vec![-7, 1 << 40]));
    let b: ArrayRef = Arc::new(UInt8Array::from(vec![3, 255]));
    let t: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
    let plain = DataArgs::default();
    let raw = table(&[("x", x.clone()), ("n", n)], &plain).unwrap();
    assert_eq!(raw.values.as_rows().to_f64()[..4], [0.5, -7.0, 1.5, (1_u64 << 40) as f64]);
    assert!(matches!(raw.values, Array::F64(_)) && raw.n_samples == 4);
    assert!(matches!(table(&[("x", x.clone())], &plain).unwrap().values, Array::F32(_)));
    assert!(matches!(table(&[("x", x), ("y", y)], &plain).unwrap().values, Array::F64(_)));
    let raw = table(&[("b", b), ("t", t)], &plain).unwrap();
    assert!(matches!(raw.values, Array::U8(_)));
    assert_eq!(raw.values.as_rows().to_f64()[..4], [3.0, 1.0, 255.0, 0.0]);
}

#[test]
fn whole_numbers_that_are_rounded_are_told_with_their_column() {
    let small: ArrayRef = Arc::new(Int64Array::from(vec![-7, 1 << 60]));
    let large: ArrayRef = Arc::new(Int64Array::from(vec![0, (1 << 53) + 1]));
    let columns = [("small", small), ("large", large)];
    let expected = "x: whole numbers beyond 2^53 in column 2 (large) are rounded to double precision; --id keeps a column as it is";
    assert_eq!(table(&columns, &DataArgs::default()).unwrap().rounded.unwrap(), expected);
    let args = DataArgs { id: Some(ColumnName("large".to_owned())), ..DataArgs::default() };
    let raw = table(&columns, &args).unwrap();
    assert_eq!((raw.rounded, raw.ids.unwrap().values[1].as_str()), (None, "9007199254740993"));
}

#[test]
fn missing_and_infinite_values_are_named_by_row_and_column_as_those_of_arrays() {
    let gap: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None]));
    let found = table(&[("a", gap)], &DataArgs::default()).err().unwrap();
    assert_eq!(found, "x: the value at [1, 0] (a) is missing");
    let infinite: ArrayRef = Arc::new(Float64Array::from(vec![f64::INFINITY, 1.0]));
    let found = table(&[("a", infinite)], &DataArgs::default()).err().unwrap();
    assert_eq!(found, "x: the value at [0, 0] (a) is inf");
}

#[test]
fn columns_that_are_not_numbers_are_refused_unless_they_are_not_used() {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let word: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let day: ArrayRef = Arc::new(Date32Array::from(vec![0, 1]));
    let refused = |columns: &[(&str, ArrayRef)]| table(columns, &DataArgs::default()).err().unwrap();
    assert_eq!(refused(&[("x", x.clone()), ("w", word.clone())]), "x: column 2 (w) is text, not numbers");
    assert_eq!(refused(&[("d", day.clone())]), "x: column 1 (d) is Date32, not a plain number");
    let args = DataArgs {
        label: Some(ColumnName("w".to_owned())),
        id: Some(ColumnName("d".to_owned())),
        ..DataArgs::default()
    };
    let raw = table(&[("x", x), ("w", word), ("d", day)], &args).unwrap();
    assert_eq!(raw.labels.unwrap().values, ["a", "", "a", ""]);
    assert_eq!(raw.ids.unwrap().values[..2], ["1970-01-01", "1970-01-02"]);
}

#[test]
fn the_index_that_pandas_adds_is_no_column() {
    let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let raw = table(&[("x", x.clone()), ("__index_level_0__", x)], &DataArgs::default()).unwrap();
    assert_eq!(raw.n_features, 1);
}

#[test]
fn a_reader_that_stops_with_a_panic_is_a_damaged_file() {
    let outcome = guarded::<()>("x.parquet", "Parquet", || panic!("index out of bounds"));
    let expected = "x.parquet: the Parquet file is truncated or damaged: its contents contradict each other";
    assert_eq!(outcome.unwrap_err().to_string(), expected);
}
