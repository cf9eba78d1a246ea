//! What wrong calls and wrong files get: a message, an exit code, and nothing written.

use super::support::{Directory, bent_line, npy};

/// Fits a file and compares all that comes of it.
#[track_caller]
fn refused(name: &str, contents: &[u8], flags: &str, expected: &str) {
    let directory = Directory::new();
    directory.write(name, contents);
    let outcome = directory.run(&format!("fit {name} -o out.mercer --record out.json --quiet {flags}"));
    assert_eq!(outcome.stderr, expected);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert_eq!(directory.files(), [name], "something was left behind");
}

#[test]
fn an_empty_file() {
    for name in ["x.csv", "x.tsv", "x.npy", "x.npz", "x.idx", "x.libsvm", "x.parquet", "x.arrow"] {
        refused(name, b"", "", &format!("error: {name}: the file is empty\n"));
    }
}

#[test]
fn a_header_without_rows() {
    let expected = "error: x.csv: there is a header but no rows\nhint: if the first row is data, say --no-header\n";
    refused("x.csv", b"a,b\n", "", expected);
}

#[test]
fn a_ragged_row() {
    let expected = "error: x.csv, line 3: 3 columns, but line 1 has 2\n\
                    hint: every row needs the same columns; a field with a delimiter in it needs \"quotes\"\n";
    refused("x.csv", b"a,b\n1,2\n3,4,5\n", "", expected);
}

#[test]
fn text_in_a_column_of_numbers() {
    let expected = "error: x.csv, line 3, column 2 (kind): \"red\" is not a number\n\
                    hint: if the column is a label, take it out with --label kind; otherwise remove or encode it\n";
    refused("x.csv", b"a,kind\n1,2\n3,red\n", "", expected);
}

#[test]
fn values_that_are_missing_or_not_finite() {
    let hint = "hint: every value must be a finite number: fill the gap or remove the row\n";
    refused("x.csv", b"1,2\n3,\n", "", &format!("error: x.csv, line 2, column 2: the value is missing\n{hint}"));
    let not_finite = format!("error: x.csv, line 2, column 1: \"NaN\" is not a finite number\n{hint}");
    refused("x.csv", b"1,2\nNaN,4\n", "", &not_finite);
    let infinite = format!("error: x.csv, line 1, column 2: \"inf\" is not a finite number\n{hint}");
    refused("x.csv", b"1,inf\n3,4\n", "", &infinite);
    let array = npy("<f4", "(2, 1)", &[0, 0, 0, 0, 0, 0, 0xc0, 0x7f]);
    for flags in ["", "--scale 2", "--standardize", "--rows 1:"] {
        refused("x.npy", &array, flags, &format!("error: x.npy: the value at [1, 0] is NaN\n{hint}"));
    }
}

#[test]
fn text_that_is_not_utf8() {
    let expected = "error: x.csv, line 2, column 2: \"\u{fffd}\" is not UTF-8 text\nhint: save the file as UTF-8\n";
    refused("x.csv", b"1,2\n3,\xe9\n", "", expected);
    refused("x.csv", b"\xff\xfe1\x00,\x002\x00", "", "error: x.csv: the file is UTF-16\nhint: save it as UTF-8\n");
}

#[test]
fn bytes_that_no_text_has() {
    let hint = "hint: make the file again; if it is not text, say what it is by --format\n";
    let complaint =
        |place: &str, text: &str| format!("error: {place}: \"{text}\" has a NUL byte, which no text has\n{hint}");
    refused("x.csv", b"a,b\n1,2\n3,4\0\n", "", &complaint("x.csv, line 3", "4\\0"));
    refused("x.libsvm", b"1 1:2\n0 1:\x003\n", "", &complaint("x.libsvm, line 2", "1:\\03"));
    let picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    refused("x.csv", picture, "", &complaint("x.csv, line 3", "\\0\\0\\0"));
    // Where the beginning of the file is long past: in numbers, labels and ids.
    let late = |row: &[u8]| [b"a,b,kind\n", b"1,2,x\n".repeat(2000).as_slice(), row].concat();
    for (row, column, text) in [(b"1,2\0,x\n".as_slice(), "2 (b)", "2\\0"), (b"1,2,y\0\n", "3 (kind)", "y\\0")] {
        refused("x.csv", &late(row), "--label kind", &complaint(&format!("x.csv, line 2002, column {column}"), text));
    }
    let wide = [b"a".repeat(5000).as_slice(), b",b\0\n1,2\n"].concat();
    refused("x.csv", &wide, "", &complaint("x.csv, line 1, column 2", "b\\0"));
    refused("x.csv", b"1\0,\x002\0\n\0", "", "error: x.csv: the file is UTF-16\nhint: save it as UTF-8\n");
}

#[test]
fn a_name_that_says_gzip_and_is_wrong() {
    let begins = |name: &str, what: &str| {
        format!(
            "error: {name}: the name says that the file is compressed by gzip, but {what}\n\
             hint: take .gz off its name, or pack it with gzip\n"
        )
    };
    refused("x.csv.gz", b"a,b\n1,2\n", "", &begins("x.csv.gz", "it begins with \"a,b\""));
    refused("x.libsvm.gz", b"1 1:2\n", "", &begins("x.libsvm.gz", "it begins with \"1 1:2\""));
    let array = npy("|u1", "(2, 2)", &[1, 2, 3, 4]);
    refused("x.npy.gz", &array, "", &begins("x.npy.gz", "the file is a NumPy array"));
    refused(
        "x.idx.gz",
        b"\0\0\x08\x01\0\0\0\x01\x05",
        "",
        &begins("x.idx.gz", "it begins with \"\\0\\0\\u{8}\\u{1}\\0\\0\\0\\u{1}\\u{5}\""),
    );
    refused("x.csv.gz", b"", "", "error: x.csv.gz: the file is empty\n");
    for name in ["x.csv.gz", "x.npy.gz"] {
        let cut = format!("error: {name}: the compressed file is truncated\nhint: copy or make the file again\n");
        refused(name, b"\x1f\x8b\x08\0", "", &cut);
    }
}

#[test]
fn queries_in_a_libsvm_file() {
    let expected = "error: x.libsvm, line 2: \"qid:7\" says which query the row belongs to, and is no column\n\
                    hint: take it out: sed 's/ qid:[^ ]*//' FILE > NEW\n";
    refused("x.libsvm", b"# ranked\n1 qid:7 1:0.5 3:2\n0 qid:8 1:1\n", "", expected);
}

#[test]
fn another_delimiter() {
    let expected = "error: x.csv, line 2, column 1 (a;b): \"1;2\" is not a number\n\
                    hint: the columns seem to be separated by ';': use --delimiter ';'\n";
    refused("x.csv", b"a;b\n1;2\n", "", expected);
    let label = "error: x.csv: there is no column \"b\" among the only column\n\
                 hint: the columns seem to be separated by ';': use --delimiter ';'\n";
    refused("x.csv", b"a;b\n1;2\n", "--label b", label);
    let quoted = "error: x.csv, line 2, column 1 (a;\\\"b\\\"): \"x;\\\"2.5\\\"\" is not a number\n\
                  hint: the columns seem to be separated by ';': use --delimiter ';'\n";
    refused("x.csv", b"\"a\";\"b\"\n\"x\";\"2.5\"\n", "", quoted);
    let tab = "error: x.csv, line 1, column 1: \"1\\t2\" is not a number\n\
               hint: the columns seem to be separated by tab: use --delimiter tab; if the first row is a header, say --header\n";
    refused("x.csv", b"1\t2\n3\t4\n", "--no-header", tab);
}

#[test]
fn another_delimiter_and_decimal_commas_make_ragged_rows() {
    let expected = "error: x.csv, line 3: 2 columns, but line 1 has 3\n\
                    hint: the columns seem to be separated by ';': use --delimiter ';'\n";
    refused(
        "x.csv",
        b"1,5;2,5\n3,5;4,5\n3;4,5\n",
        "",
        "error: x.csv, line 2, column 2 (5;2): \"5;4\" is not a number\n\
         hint: the columns seem to be separated by ';': use --delimiter ';'\n",
    );
    refused("x.csv", b"a,b;c,d\n\n3;4,5\n", "", expected);
}

#[test]
fn lines_are_counted_whatever_ends_them() {
    for end in ["\n", "\r\n", "\r"] {
        let text = ["a,b", "1,2", "3,4", "5,red", "7,8", ""].join(end);
        let expected = "error: x.csv, line 4, column 2 (b): \"red\" is not a number\n\
                        hint: if the column is a label, take it out with --label b; otherwise remove or encode it\n";
        refused("x.csv", text.as_bytes(), "", expected);
    }
    let directory = Directory::new();
    directory.write("old.csv", "a,b\r1,2\r3,5\r4,4\r");
    directory.run("fit old.csv --kernel linear -n 1 -o old.mercer --quiet").done();
}

#[test]
fn what_is_not_text_on_standard_input() {
    let directory = Directory::new();
    let numpy = npy("|u1", "(2, 2)", &[1, 2, 3, 4]);
    for (bytes, expected) in [
        (
            b"\x1f\x8b\x08\0\0\0\0\0".as_slice(),
            "error: standard input: the file is compressed by gzip\n\
             hint: unpack it on the way: gunzip -c FILE | mercer …; or give the file itself\n",
        ),
        (
            numpy.as_slice(),
            "error: standard input: the file is a NumPy array\n\
             hint: only CSV and TSV are read from standard input: give the file itself\n",
        ),
    ] {
        let outcome = directory.run_with_input("fit - -o out.mercer --quiet", bytes);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected));
    }
    assert!(directory.files().is_empty());
}

#[test]
fn a_decimal_comma() {
    let expected = "error: x.csv, line 2, column 1 (a): \"1,5\" is not a number\n\
                    hint: numbers need a decimal dot, not a comma\n";
    refused("x.csv", b"a;b\n1,5;2\n", "--delimiter ;", expected);
    refused("x.csv", b"a,b\n\"1,5\",\"2,5\"\n", "", expected);
}

#[test]
fn separators_of_thousands() {
    let expected = "error: x.csv, line 2, column 1 (a): \"1,000.5\" is not a number\n\
                    hint: thousands separators have to go: 1000.5\n";
    refused("x.csv", b"a,b\n\"1,000.5\",2\n", "", expected);
}

#[test]
fn a_scale_that_is_too_large() {
    let hint = "; kernels need finite numbers\nhint: --scale 1e308 makes it so: give a smaller factor\n";
    let text = format!("error: x.csv, line 2: column \"a\" of the row is -inf{hint}");
    refused("x.csv", b"a,b\n-20,1\n3,4\n", "--scale 1e308", &text);
    let values = [-20.0_f64, 1.0, 3.0, 4.0].map(f64::to_le_bytes).concat();
    let array = format!("error: x.npy: row 0, column 0 is -inf{hint}");
    refused("x.npy", &npy("<f8", "(2, 2)", &values), "--scale 1e308", &array);
}

#[test]
fn columns_that_are_aligned_by_blanks() {
    let expected = "error: x.csv, line 2, column 1 (a     b): \"1.5   2\" is not a number\n\
                    hint: the columns seem to be separated by several blanks, of which every one counts with --delimiter space: put \
                    commas there: awk '{$1=$1; print}' OFS=, FILE > NEW.csv\n";
    refused("x.csv", b"a     b\n1.5   2\n", "", expected);
}

#[test]
fn two_columns_of_one_name() {
    let expected = "error: x.csv: two columns are called \"a\": 1 and 3\nhint: give each column a name of its own\n";
    refused("x.csv", b"a,b,a\n1,2,3\n", "", expected);
}

#[test]
fn a_label_that_is_not_there() {
    let expected =
        "error: x.csv: there is no column \"kind\" among the 2 columns\nhint: the columns are \"a\", \"b\"\n";
    refused("x.csv", b"a,b\n1,2\n", "--label kind", expected);
    let nearest = "error: x.csv: there is no column \"Knid\" among the 2 columns\nhint: there is a column \"kind\"\n";
    refused("x.csv", b"a,kind\n1,2\n", "--label Knid", nearest);
}

#[test]
fn arrays_that_cannot_be_used() {
    let objects = "error: x.npy: the array holds Python objects, which only Python can read (dtype O)\n\
                   hint: convert it in NumPy: np.save(\"points.npy\", array.astype(\"float64\"))\n";
    refused("x.npy", &npy("|O", "(2, 2)", b"\x80\x04pickle"), "", objects);
    let truncated = "error: x.npy: the file is truncated: it holds 3 of the 4 values it announces\n\
                     hint: copy or make the file again\n";
    refused("x.npy", &npy("<f4", "(2, 2)", &[0; 12]), "", truncated);
    let longer = "error: x.npy: the file goes on for 1 byte behind the 4 values it announces\n\
                  hint: if several arrays were written to it, write the one of the points alone; or else make it again\n";
    refused("x.npy", &npy("<f4", "(2, 2)", &[0; 17]), "", longer);
    let flat = "error: x.npy: the array is a list of 3 numbers, not a matrix\n\
                hint: make it a matrix in NumPy: array.reshape(-1, 1) if each number is a point\n";
    refused("x.npy", &npy("|u1", "(3,)", &[1, 2, 3]), "", flat);
    refused("x.npy", b"1,2\n3,4\n", "", "error: x.npy: the file is not a .npy file\n");
}

#[test]
fn a_name_that_says_nothing() {
    let expected = "error: x.dat: the name does not say what the format is\n\
                    hint: say it by --format: csv, tsv, parquet, arrow, npy, npz, idx, libsvm or images\n";
    refused("x.dat", b"1,2\n", "", expected);
}

#[test]
fn too_few_or_equal_points() {
    refused("x.csv", b"1,2\n", "", "error: x.csv: kernel PCA needs at least 2 rows, but there is 1\n");
    let equal = "error: x.csv: all 3 rows are equal to the kernel: there is no variance to explain\n";
    refused("x.csv", b"1,2\n1,2\n1,2\n", "", equal);
}

#[test]
fn settings_out_of_their_domain() {
    let points = b"1,2\n3,4\n5,7\n";
    for (flags, expected) in [
        ("--gamma 0", "error: --gamma must be a positive number, but it is 0\n"),
        ("--gamma -1", "error: --gamma must be a positive number, but it is -1\n"),
        ("--gamma -1e-300", "error: --gamma must be a positive number, but it is -1e-300\n"),
        ("--bandwidth -.5", "error: --bandwidth must be a positive number, but it is -0.5\n"),
        ("--gamma -inf", "error: --gamma must be a positive number, but it is -inf\n"),
        ("--bandwidth 0", "error: --bandwidth must be a positive number, but it is 0\n"),
        (
            "--bandwidth 1e-300",
            "error: --bandwidth must be between 1e-153 and 1e153, so that gamma = 1 / (2 bandwidth²) is a number, but it is 1e-300\n",
        ),
        (
            "--bandwidth 1e200",
            "error: --bandwidth must be between 1e-153 and 1e153, so that gamma = 1 / (2 bandwidth²) is a number, but it is 1e200\n",
        ),
        ("--kernel poly --degree 0", "error: --degree must be at least 1, but it is 0\n"),
        ("-n 0", "error: --n-components must be between 1 and the number of samples (3), but it is 0\n"),
        ("-n 4", "error: --n-components must be between 1 and the number of samples (3), but it is 4\n"),
        ("--variance 1.5", "error: --variance must be a share above 0 and at most 1, but it is 1.5\n"),
        ("--tolerance 0", "error: --tolerance must be between 0 and 1, but it is 0\n"),
        ("--tolerance -1e-4", "error: --tolerance must be between 0 and 1, but it is -0.0001\n"),
        ("--max-passes 0", "error: --max-passes must be at least 1, but it is 0\n"),
        ("--threads 0", "error: --threads must be at least 1, but it is 0\n"),
        ("--threads 100000", "error: --threads must be at most 1024, but it is 100000\n"),
    ] {
        refused("x.csv", points, flags, expected);
    }
}

#[test]
fn negative_values_of_flags_that_are_no_plain_numbers() {
    for (flags, expected) in [
        ("-n -3", "invalid value '-3' for '--n-components <K>': give a whole number that is not negative"),
        ("--threads -2", "invalid value '-2' for '--threads <N>': give a whole number that is not negative"),
        ("--seed -1e3", "invalid value '-1e3' for '--seed <NUMBER>': give a whole number that is not negative"),
        (
            "--kernel poly --degree -1",
            "invalid value '-1' for '--degree <DEGREE>': give a whole number that is not negative",
        ),
        (
            "--scale -1/255",
            "invalid value '-1/255' for '--scale <FACTOR>': give a positive number or a fraction such as 1/255",
        ),
        (
            "--time-limit -10s",
            "invalid value '-10s' for '--time-limit <TIME>': give a time above zero, such as 90s, 1.5m or 2h",
        ),
        (
            "--time-limit 0",
            "invalid value '0' for '--time-limit <TIME>': give a time above zero, such as 90s, 1.5m or 2h",
        ),
        (
            "--checkpoint c --checkpoint-every 0s",
            "invalid value '0s' for '--checkpoint-every <TIME>': give a time above zero, such as 90s, 1.5m or 2h",
        ),
        ("--tolerance abc", "invalid value 'abc' for '--tolerance <NUMBER>': give a number"),
        ("--variance half", "invalid value 'half' for '--variance <SHARE>': give a number"),
        (
            "--rows -1:3",
            "invalid value '-1:3' for '--rows <A:B>': give the first row and the one after the last, such as 0:1000, 500: or :100",
        ),
        ("--sample 0", "invalid value '0' for '--sample <N>': give a whole number from 1 on"),
        ("--sample -2", "invalid value '-2' for '--sample <N>': give a whole number from 1 on"),
        ("--sample 1.5", "invalid value '1.5' for '--sample <N>': give a whole number from 1 on"),
        ("--no-center -1", "unexpected value '-1' for '--no-center' found; no more were expected"),
    ] {
        let directory = Directory::new();
        directory.write("x.csv", "1,2\n3,4\n5,7\n");
        let outcome = directory.run(&format!("fit x.csv -o out.mercer {flags}"));
        assert!(outcome.stderr.starts_with(&format!("error: {expected}\n")), "{flags}: {}", outcome.stderr);
        assert_eq!((outcome.code, directory.files()), (Some(2), vec!["x.csv".to_owned()]), "{flags}");
    }
}

#[test]
fn kernel_values_that_overflow() {
    let directory = Directory::new();
    directory.write("x.csv", "1,0\n0,3000\n0,7000\n");
    for (flags, value, precision) in [("--degree 400", "inf", "f64"), ("--degree 6 --precision f32", "1.38", "f32")] {
        let words = format!("fit x.csv --kernel poly --gamma 1 --coef0 0 {flags} -o x.mercer --quiet");
        let outcome = directory.run(&words);
        let start = format!("error: x.csv, line 3: the polynomial kernel of the row with itself is {value}");
        let end = format!(
            ", which overflows {precision} in sums over 3 rows; scale the data, or use a smaller gamma or degree\n"
        );
        assert_eq!(outcome.code, Some(2), "{flags}");
        assert!(outcome.stderr.starts_with(&start) && outcome.stderr.ends_with(&end), "{}", outcome.stderr);
        assert_eq!(directory.files(), ["x.csv"]);
    }
}

#[test]
fn a_kernel_that_is_not_positive_semi_definite() {
    let directory = Directory::new();
    directory.write("x.csv", "0,0\n1,0\n0,1\n3,3\n");
    let outcome = directory.run("fit x.csv --kernel sigmoid --gamma 1 -n 3 -o x.mercer --quiet");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.starts_with("error: the kernel is not positive semi-definite: "), "{}", outcome.stderr);
    let hint = "hint: say what to do with them: --negative clip or --negative flip\n";
    assert!(outcome.stderr.ends_with(hint), "{}", outcome.stderr);
    directory.run("fit x.csv --kernel sigmoid --gamma 1 -n 3 -o x.mercer --quiet --negative flip").done();
}

#[test]
fn a_budget_that_is_too_small_exits_with_three() {
    let directory = Directory::new();
    directory.write("x.csv", bent_line());
    let outcome = directory.run("fit x.csv --label half -o x.mercer --memory 1KiB");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the memory budget is 1.0 KiB"), "{}", outcome.stderr);
    assert_eq!(directory.files(), ["x.csv"]);
}

#[test]
fn a_time_limit_that_leaves_no_time() {
    let directory = Directory::new();
    directory.write("x.csv", bent_line());
    let outcome = directory.run("fit x.csv --label half -o x.mercer --time-limit 0.000001ms --quiet");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: --time-limit is too short: stopped during "), "{}", outcome.stderr);
    assert_eq!(directory.files(), ["x.csv"]);
}

#[test]
fn files_that_cannot_be_opened() {
    let directory = Directory::new();
    directory.write("x.csv", bent_line());
    for (words, expected) in [
        (
            "fit . -o x.mercer",
            "error: .: there are no images in this folder\n\
             hint: give a file, or a folder with images (png, jpg, jpeg, bmp, pgm, ppm)\n",
        ),
        ("fit . --format csv -o x.mercer", "error: .: this is a directory\nhint: a folder is read as images only\n"),
        ("fit none.csv -o x.mercer", "error: reading none.csv: no such file or directory\n"),
        ("fit nowhere -o x.mercer", "error: reading nowhere: no such file or directory\n"),
        ("fit none.xyz -o x.mercer", "error: reading none.xyz: no such file or directory\n"),
        ("fit none.npy -o x.mercer", "error: reading none.npy: no such file or directory\n"),
        ("fit x.csv -o none/x.mercer", "error: writing none/x.mercer: no such file or directory\n"),
        ("fit x.csv -o x.csv", "error: x.csv is the data: it would be replaced\n"),
        ("fit x.csv -o -", "error: a model is not text: give the name of a file with --output\n"),
        ("info none.mercer", "error: reading none.mercer: no such file or directory\n"),
        ("transform none.mercer x.csv", "error: reading none.mercer: no such file or directory\n"),
    ] {
        let outcome = directory.run(&format!("{words} --quiet"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}");
        assert_eq!(outcome.stderr, expected);
        assert_eq!(directory.files(), ["x.csv"], "{words}");
    }
}

#[test]
fn a_model_file_that_is_cut_or_foreign() {
    let directory = Directory::new();
    directory.write("x.csv", bent_line());
    directory.run("fit x.csv --label half -o x.mercer").done();
    let whole = std::fs::read(directory.path("x.mercer")).unwrap();
    directory.write("cut.mercer", &whole[..whole.len() - 5]);
    for name in ["cut.mercer", "x.csv"] {
        for words in [format!("info {name}"), format!("transform {name} x.csv --label half -o scores.csv")] {
            let outcome = directory.run(&words);
            assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}");
            assert!(outcome.stderr.starts_with(&format!("error: {name}: ")), "{}", outcome.stderr);
            let hint = if words.starts_with("info") {
                "hint: by its name the file holds data; `mercer fit` makes a model of data\n"
            } else {
                "hint: by its name the file holds data: the model is named first, then the data\n"
            };
            assert_eq!(outcome.stderr.ends_with(hint), name == "x.csv", "{}", outcome.stderr);
        }
    }
    assert_eq!(directory.files(), ["cut.mercer", "x.csv", "x.mercer"]);
}

#[test]
fn wrong_flags() {
    let directory = Directory::new();
    for (words, expected) in [
        ("", "Usage: mercer"),
        ("fitt x.csv", "tip: a similar subcommand exists: 'fit'"),
        ("fti x.csv", "tip: a similar subcommand exists: 'fit'"),
        ("fit x.csv", "the following required arguments were not provided"),
        ("fit x.csv -o m --kernal linear", "tip: a similar argument exists: '--kernel'"),
        ("fit x.csv -o m --kernel gausian", "tip: a similar value exists: 'gaussian'"),
        ("fit x.csv -o m --format cvs", "tip: a similar value exists: 'csv'"),
        ("fit x.csv -o m --progress bra", "tip: a similar value exists: 'bar'"),
        ("fit x.csv -o m --precision f23", "tip: a similar value exists: 'f32'"),
        ("fit x.csv -o m --gamma mdian", "give a number, `auto`, `scale` or `median`; `median` is similar"),
        ("fit x.csv -o m --gamma wide", "give a number, `auto`, `scale` or `median`"),
        ("fit x.csv -o m --time-limit soon", "give a time above zero, such as 90s, 1.5m or 2h"),
        ("fit x.csv -o m --memory lots", "a size such as 500MB or 4GiB"),
    ] {
        let outcome = directory.run(words);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}");
        assert!(outcome.stderr.contains(expected), "{words}: {}", outcome.stderr);
    }
}

#[test]
fn a_row_that_the_library_refuses_is_named_by_its_line() {
    let directory = Directory::new();
    let row = |i: usize| format!("{}.{i:013},{}.{i:013}\n", i % 7, i % 5);
    let rows = |range: std::ops::Range<usize>| range.map(row).collect::<String>();
    // A header, an empty line, and a row beyond all numbers in the middle.
    directory.write("x.csv", format!("a,b\n{}\n{}1e200,1\n{}", rows(0..5), rows(5..10), rows(10..20)));
    let said = |words: &str, input: &[u8]| {
        let outcome = directory.run_with_input(&format!("{words} --progress none"), input);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        outcome.stderr.lines().next().unwrap().split(" for the ").next().unwrap().to_owned()
    };
    for words in ["fit x.csv -o x.mercer", "fit x.csv --rows 5: -o x.mercer", "fit x.csv --sample 20 -o x.mercer"] {
        assert_eq!(said(words, b""), "error: x.csv, line 13: the row is too large", "{words}");
    }
    let text = directory.read("x.csv");
    let expected = "error: standard input: data row 11 (counted from 1, without a header) is too large";
    assert_eq!(said("fit - -o x.mercer", text.as_bytes()), expected);

    // In a later part of a file, too, which is read in parts of 8 MiB.
    directory.run("fit x.csv --rows 0:10 -n 2 -o x.mercer --quiet").done();
    directory.write("many.csv", format!("a,b\n{}1e200,1\n", rows(0..300_000)));
    assert_eq!(
        said("transform x.mercer many.csv -o out.csv", b""),
        "error: many.csv, line 300002: the row is too large"
    );
}
