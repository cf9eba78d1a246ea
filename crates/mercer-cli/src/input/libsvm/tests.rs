use super::*;
use crate::args::DataArgs;

fn options(index_base: Option<u8>) -> ReadOptions {
    ReadOptions::from(&DataArgs { index_base, ..DataArgs::default() })
}

fn parse(text: &str, index_base: Option<u8>) -> std::result::Result<(Vec<f64>, usize, Vec<String>), String> {
    let raw = read("x.svm", text.as_bytes(), &options(index_base)).map_err(|failure| failure.to_string())?;
    Ok((raw.values.as_rows().to_f64(), raw.n_features, raw.labels.unwrap().values))
}

#[test]
fn zeros_are_filled_in_and_comments_left_out() {
    let (values, d, labels) = parse("+1 1:0.5 3:2 # first\n\n# a comment\n-1 2:1e2\r\n", None).unwrap();
    assert_eq!((values, d), (vec![0.5, 0.0, 2.0, 0.0, 100.0, 0.0], 3));
    assert_eq!(labels, ["+1", "-1"]);
}

#[test]
fn the_first_column_is_zero_if_there_is_one_or_if_it_is_said() {
    assert_eq!(parse("1 0:5 1:6\n", None).unwrap().0, [5.0, 6.0]);
    assert_eq!(parse("1 1:5 2:6\n", None).unwrap().0, [5.0, 6.0]);
    assert_eq!(parse("1 1:5 2:6\n", Some(0)).unwrap().0, [0.0, 5.0, 6.0]);
    assert_eq!(parse("1 0:5\n", Some(1)).unwrap_err(), "x.svm, line 1: column 0 cannot be, if the first column is 1");
}

#[test]
fn wrong_lines_are_named() {
    for (text, expected) in [
        ("", "x.svm: the file is empty"),
        ("1\n2\n", "x.svm: there are labels but no values"),
        ("1 1:2\n1 2:x\n", "x.svm, line 2: \"2:x\" does not end with a number"),
        ("1 1:2\n\n1 2:nan\n", "x.svm, line 3: \"2:nan\" is not finite"),
        ("1 5\n", "x.svm, line 1: \"5\" is not a column:value pair"),
        ("1 qid:3 1:2\n", "x.svm, line 1: \"qid:3\" says which query the row belongs to, and is no column"),
        ("1 x:3 1:2\n", "x.svm, line 1: \"x:3\" does not begin with the number of a column"),
        ("1 4294967296:1\n", "x.svm, line 1: \"4294967296:1\" has a column beyond 4294967295, the last there can be"),
        ("1 3:1 2:1\n", "x.svm, line 1: column 2 stands after column 3"),
        ("1 3:1 3:1\n", "x.svm, line 1: column 3 stands after column 3"),
        ("1:2 2:3\n", "x.svm, line 1: the line begins with \"1:2\" instead of a label"),
        ("1,2,3\n4,5,6\n", "x.svm, line 1: \"1,2,3\" looks like CSV"),
    ] {
        let message = match parse(text, None) {
            Err(message) => message,
            Ok(_) => parse(text, Some(0)).unwrap_err(),
        };
        assert_eq!(message, expected, "{text:?}");
    }
}

#[test]
fn a_matrix_beyond_the_memory_is_refused_before_it_is_made() {
    let message = parse(&"1 4294967295:1\n".repeat(10_000), None).unwrap_err();
    let expected = "x.svm as a dense matrix of 10000 rows and 4294967295 columns needs 312.5 TiB";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn what_is_known_of_each_column_counts_as_rows_do_if_they_are_scaled() {
    let line = b"1 131072:5\n";
    let refusal = |args: DataArgs| {
        let options = ReadOptions::from(&args).dense_limit(1 << 20);
        read("x.svm", line, &options).err().map(|failure| failure.to_string()).unwrap_or_default()
    };
    assert_eq!(refusal(DataArgs::default()), "", "a row of 1 MiB");
    for (args, needed) in [
        (DataArgs { standardize: true, ..DataArgs::default() }, "6.0 MiB"),
        (DataArgs { scale: Some("0.5".parse().unwrap()), ..DataArgs::default() }, "3.0 MiB"),
    ] {
        let expected = format!("x.svm as a dense matrix of 1 row and 131072 columns, which is scaled, needs {needed}");
        let message = refusal(args);
        assert!(message.starts_with(&expected), "{message}");
    }
}
