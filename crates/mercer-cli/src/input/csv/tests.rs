use super::super::{Data, Origin, Part, finish};
use super::*;
use crate::args::{ColumnName, DataArgs, ScaleFactor};

fn options(label: Option<&str>) -> ReadOptions {
    let label = label.map(|text| ColumnName(text.to_owned()));
    ReadOptions::from(&DataArgs { label, ..DataArgs::default() })
}

fn parse(text: &[u8], options: &ReadOptions) -> Result<Data> {
    let raw = read("x.csv", text, Some(text.len() as u64), options)?;
    finish(Origin::of_text("x.csv"), raw, Part::WHOLE, options)
}

fn rows(data: &Data) -> Vec<Vec<f64>> {
    (0..data.points.n_samples()).map(|row| data.points.row(row)).collect()
}

/// Message and hint of the refusal.
fn refusal(text: &[u8], options: &ReadOptions) -> (String, String) {
    let failure = parse(text, options).unwrap_err();
    (failure.to_string(), failure.hint().unwrap_or_default().to_owned())
}

#[test]
fn a_first_row_of_numbers_is_data_and_one_of_words_is_not() {
    let expected = [[1.0, 2.0], [3.0, 4.5]];
    assert_eq!(rows(&parse(b"1,2\n3,4.5\n", &options(None)).unwrap()), expected);
    assert_eq!(rows(&parse(b"a,b\r\n1, 2\r\n3,4.5", &options(None)).unwrap()), expected);
    assert_eq!(rows(&parse(b"\xef\xbb\xbf1,2\n\n3,4.5\n\n", &options(None)).unwrap()), expected, "mark, empty lines");
}

#[test]
fn flags_overrule_what_the_first_row_looks_like() {
    let present = ReadOptions { header: Header::Present, ..options(None) };
    assert_eq!(rows(&parse(b"1,2\n3,4\n", &present).unwrap()), [[3.0, 4.0]]);
    let absent = ReadOptions { header: Header::Absent, ..options(None) };
    assert_eq!(refusal(b"a,b\n1,2\n", &absent).0, "x.csv, line 1, column 1: \"a\" is not a number");
}

#[test]
fn a_label_is_taken_out_by_name() {
    let data = parse(b"w,kind,h\n1,\"big, red\",2\n3,blue,4\n", &options(Some("kind"))).unwrap();
    assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0]]);
    let labels = data.labels.unwrap();
    assert_eq!((labels.name.as_str(), labels.values), ("kind", vec!["big, red".to_owned(), "blue".to_owned()]));
}

#[test]
fn a_numbered_label_of_words_does_not_make_the_first_row_a_header() {
    let data = parse(b"1,2,red\n3,4,blue\n", &options(Some("-1"))).unwrap();
    assert_eq!(rows(&data), [[1.0, 2.0], [3.0, 4.0]]);
    assert_eq!(data.labels.unwrap().name, "label");
}

#[test]
fn values_are_multiplied_by_the_scale() {
    let scaled = ReadOptions::from(&DataArgs { scale: Some(ScaleFactor(0.5)), ..DataArgs::default() });
    assert_eq!(rows(&parse(b"2,4\n", &scaled).unwrap()), [[1.0, 2.0]]);
}

#[test]
fn empty_and_header_only_files_are_refused() {
    assert_eq!(refusal(b"", &options(None)).0, "x.csv: the file is empty");
    assert_eq!(refusal(b"\n\n", &options(None)).0, "x.csv: the file is empty");
    let (message, hint) = refusal(b"a,b\n", &options(None));
    assert_eq!(message, "x.csv: there is a header but no rows");
    assert_eq!(hint, "if the first row is data, say --no-header");
}

#[test]
fn a_ragged_row_is_named_by_its_line() {
    let (message, hint) = refusal(b"a,b\n1,2\n\n3\n", &options(None));
    assert_eq!(message, "x.csv, line 4: 1 column, but line 1 has 2");
    let quoted = refusal(b"a,b\r\n1,\"2\r\n\"\r\n\r\n\"3\n\n\"\r\n", &options(None)).0;
    assert_eq!(quoted, "x.csv, line 5: 1 column, but line 1 has 2", "line breaks in quotes count, too");
    assert!(hint.starts_with("every row needs the same columns"));
}

#[test]
fn text_gaps_and_infinities_are_named_by_line_and_column() {
    let (message, hint) = refusal(b"w,kind\n1,red\n", &options(None));
    assert_eq!(message, "x.csv, line 2, column 2 (kind): \"red\" is not a number");
    assert!(hint.contains("--label kind"));
    assert_eq!(refusal(b"1,2\n3,\n", &options(None)).0, "x.csv, line 2, column 2: the value is missing");
    let not_finite = refusal(b"1,2\nnan,3\n", &options(None)).0;
    assert_eq!(not_finite, "x.csv, line 2, column 1: \"nan\" is not a finite number");
    let huge = refusal(b"1,1e999\n", &options(None)).0;
    assert_eq!(huge, "x.csv, line 1, column 2: \"1e999\" is not a finite number");
}

#[test]
fn bytes_that_are_not_utf8_are_shown_and_refused() {
    for (text, label, place) in [
        (b"1,2\n4,\xe9\n".as_slice(), None, "line 2, column 2"),
        (b"a,\xe9\n2,3\n", None, "line 1, column 2"),
        (b"1,\xe9\n", Some("2"), "line 1, column 2"),
    ] {
        let (message, hint) = refusal(text, &options(label));
        assert_eq!(message, format!("x.csv, {place}: \"\u{fffd}\" is not UTF-8 text"));
        assert_eq!(hint, "save the file as UTF-8");
    }
}

#[test]
fn a_gap_in_the_first_row_does_not_make_it_a_header() {
    let (message, hint) = refusal(b"1,,3\n4,5,6\n", &options(None));
    assert_eq!(message, "x.csv, line 1, column 2: the value is missing");
    assert!(hint.ends_with("if the first row is a header, say --header"), "{hint}");
}

#[test]
fn lines_are_counted_over_many_blocks() {
    // Some 20 MB, so several blocks, with a wrong field near the end.
    let mut text = String::new();
    for i in 0..1_200_000 {
        text.push_str(if i == 1_111_110 { "0.5,none,1\n" } else { "1.25,-3e2,1234\n" });
    }
    let (message, _) = refusal(text.as_bytes(), &options(None));
    assert_eq!(message, "x.csv, line 1111111, column 2: \"none\" is not a number");
    let good = text.replace("none", "0");
    let data = parse(good.as_bytes(), &options(None)).unwrap();
    assert_eq!(data.points.n_samples(), 1_200_000);
    assert_eq!(data.points.row(1_111_110), [0.5, 0.0, 1.0]);
    assert_eq!(data.points.row(1_199_999), [1.25, -300.0, 1234.0]);
}

/// Rows of each part of a text.
fn parts(text: &[u8], options: &ReadOptions) -> Result<Vec<usize>> {
    let mut sizes = Vec::new();
    read_in_batches("x.csv", text, Some(text.len() as u64), options, &mut |raw, _| {
        sizes.push(raw.n_samples);
        Ok(())
    })?;
    Ok(sizes)
}

#[test]
fn a_text_of_several_blocks_comes_in_parts_and_what_is_wrong_has_its_line() {
    let line = "1.25,-3e2,1234\n";
    let mut text = line.repeat(1_200_000);
    let in_parts = options(None).in_batches(1);
    let sizes = parts(text.as_bytes(), &in_parts).unwrap();
    assert!(sizes.len() > 1, "{sizes:?}");
    assert_eq!(sizes.iter().sum::<usize>(), 1_200_000);
    assert_eq!(parts(text.as_bytes(), &options(None)).unwrap(), [1_200_000]);
    text.push_str("1,2\n");
    let message = parts(text.as_bytes(), &in_parts).unwrap_err().to_string();
    assert_eq!(message, "x.csv, line 1200001: 2 columns, but line 1 has 3");
    // Blank lines after the last row are no part.
    let blank = format!("{}{}", line.repeat(10), "\n".repeat(20 << 20));
    assert_eq!(parts(blank.as_bytes(), &in_parts).unwrap(), [10]);
    assert!(parts(b"a,b\n", &in_parts).unwrap_err().to_string().contains("no rows"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let text = "1.25,-3e2,1234\n0,1,2\n".repeat(600_000);
    let read = |threads| rows(&parse(text.as_bytes(), &options(None).threads(Some(threads))).unwrap());
    assert_eq!(read(1), read(3));
    assert!(parse(b"1,2\n", &options(None).threads(Some(0))).is_err());
}

#[test]
fn a_first_row_of_numbers_that_are_names_of_the_model_is_in_doubt() {
    let names = ["0", "1"].map(str::to_owned);
    let wanting = options(None).wanted(Some(&names), "the model").unwrap();
    let (message, hint) = refusal(b"1,0\n5,6\n", &wanting);
    assert_eq!(message, "x.csv, line 1: these may be numbers, or the names of the model's columns");
    assert_eq!(hint, "say --header or --no-header");
    let present = ReadOptions { header: Header::Present, ..wanting.clone() };
    assert_eq!(rows(&parse(b"1,0\n5,6\n", &present).unwrap()), [[6.0, 5.0]]);
    let absent = ReadOptions { header: Header::Absent, ..wanting.clone() };
    assert_eq!(rows(&parse(b"1,0\n5,6\n", &absent).unwrap()), [[1.0, 0.0], [5.0, 6.0]]);
    assert_eq!(rows(&parse(b"7,0\n5,6\n", &wanting).unwrap()), [[7.0, 0.0], [5.0, 6.0]]);
}

#[test]
fn another_delimiter_is_suggested() {
    let (_, hint) = refusal(b"a;b\n1;2\n", &options(None));
    assert_eq!(hint, "the columns seem to be separated by ';': use --delimiter ';'");
    // Some of the columns are text.
    for (text, delimiter) in [(&b"name;a;b\nx;1;2\n"[..], "';'"), (b"day\ta\n2026-11-17\t4\n", "tab")] {
        let (_, hint) = refusal(text, &options(None));
        assert_eq!(hint, format!("the columns seem to be separated by {delimiter}: use --delimiter {delimiter}"));
    }
    // A column of words is one.
    let (_, hint) = refusal(b"kind\ncats; dogs\n", &options(None));
    assert!(hint.starts_with("if the column is a label"), "{hint}");
}

#[test]
fn a_missing_label_column_lists_the_ones_there_are() {
    let (message, hint) = refusal(b"a,b\n1,2\n", &options(Some("kind")));
    assert_eq!(message, "x.csv: there is no column \"kind\" among the 2 columns");
    assert_eq!(hint, "the columns are \"a\", \"b\"");
    assert!(refusal(b"1,2\n", &options(Some("3"))).1.starts_with("without a header"));
}

#[test]
fn a_label_alone_is_not_data() {
    assert_eq!(refusal(b"1\n2\n", &options(Some("1"))).0, "x.csv: the label is the only column: there is no data");
}

#[test]
fn a_column_name_of_several_lines_is_shown_on_one() {
    let (message, _) = refusal(b"a,\"b\nc\"\n1,x\n", &options(None));
    assert_eq!(message, "x.csv, line 3, column 2 (b\\nc): \"x\" is not a number");
}
