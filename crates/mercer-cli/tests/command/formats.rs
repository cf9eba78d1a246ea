//! Every format in, every format out, through the real command; and what damaged files of each get.

use super::support::{Directory, example, npy, numbers};

/// Fits a file of `testdata/formats` (with its first `keep` bytes, if that is given) and compares all that comes of it.
#[track_caller]
fn refused(name: &str, keep: Option<usize>, flags: &str, expected: &str) {
    let directory = Directory::new();
    let whole = example(name);
    directory.write(name, &whole[..keep.unwrap_or(whole.len())]);
    let outcome = directory.run(&format!("fit {name} -o out.mercer --record out.json --quiet {flags}"));
    assert_eq!(outcome.stderr, expected);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
    assert_eq!(directory.files(), [name], "something was left behind");
}

#[test]
fn the_same_points_give_the_same_scores_whatever_format_they_come_in() {
    let directory = Directory::new();
    directory.write("pandas.csv", example("pandas.csv"));
    directory.run("fit pandas.csv --label half --id id --gamma 0.3 -n 2 -o x.mercer --quiet").done();
    let expected = directory.run("transform x.mercer pandas.csv --label half --id id").done().stdout;
    assert!(expected.starts_with("id,pc1,pc2,half\nrow 0,"), "{expected}");
    for (name, flags) in [
        ("pandas.csv.gz", "--label half --id id"),
        ("semicolon.csv", "--label half --id id --delimiter ;"),
        ("zstd.parquet", "--label half --id id"),
        ("file.arrow", "--label half --id id"),
        ("stream.arrows", "--label half --id id"),
        ("stored.npz", "--label half --id id"),
        ("deflated.npz", "--label half --id id --array X"),
    ] {
        directory.write(name, example(name));
        let found = directory.run(&format!("transform x.mercer {name} {flags}")).done().stdout;
        assert_eq!(found, expected, "{name}");
    }
    for (name, flags) in [("c_f8.npy", ""), ("big_f8.npy", ""), ("one_based.libsvm", ""), ("zero_based.libsvm", "")] {
        directory.write(name, example(name));
        let found = directory.run(&format!("transform x.mercer {name} {flags}")).done().stdout;
        let label = usize::from(name.ends_with("svm"));
        let found: Vec<Vec<f64>> = numbers(&found).iter().map(|row| row[..row.len() - label].to_vec()).collect();
        assert_eq!(found, numbers(&expected), "{name}");
    }
}

#[test]
fn numbers_that_are_rounded_are_told_once_and_stand_in_the_record() {
    let directory = Directory::new();
    let values: Vec<u8> = [1, 2, (1_u64 << 53) + 1, 5].into_iter().flat_map(u64::to_le_bytes).collect();
    directory.write("x.npy", npy("<u8", "(4, 1)", &values));
    let warning = "x.npy: whole numbers beyond 2^53 are rounded to double precision, such as that at [2, 0]; --id keeps a column as it is";
    directory.run("fit x.npy --kernel linear -n 1 -o x.mercer --quiet").done();
    for words in ["fit x.npy --kernel linear -n 1 -o y.mercer", "transform x.mercer x.npy -o y.csv"] {
        let outcome = directory.run(&format!("{words} --record r.json"));
        assert_eq!(outcome.stderr.matches(&format!("warning: {warning}\n")).count(), 1, "{words}: {}", outcome.stderr);
        let record: serde_json::Value = serde_json::from_str(&directory.read("r.json")).unwrap();
        assert!(words.starts_with("fit") || record["warnings"][0] == warning, "{record}");
    }
}

#[test]
fn scores_are_the_same_in_every_format_they_are_written_in() {
    let directory = Directory::new();
    directory.write("pandas.csv", example("pandas.csv"));
    directory.run("fit pandas.csv --label half --id id --gamma 0.3 -n 3 -o x.mercer --quiet").done();
    directory.run("transform x.mercer pandas.csv --label half --id id -o scores.csv").done();
    // Read back by the command itself: a model of the scores must not depend on the way they were written.
    let fit = |name: &str, flags: &str| {
        let command = format!("fit {name} {flags} --gamma 1 -n 2 -o y.mercer --quiet");
        directory.run(&command).done();
        directory.run(&format!("transform y.mercer {name} {flags}")).done().stdout
    };
    let expected = fit("scores.csv", "--label half --id id");
    assert!(expected.starts_with("id,pc1,pc2,half\nrow 0,"), "{expected}");
    for name in ["scores.tsv", "scores.parquet", "scores.arrow", "scores.npz"] {
        directory.run(&format!("transform x.mercer pandas.csv --label half --id id -o {name}")).done();
        assert_eq!(fit(name, "--label half --id id"), expected, "{name}");
    }
    let outcome =
        directory.run("transform x.mercer pandas.csv --label half --id id -o scores.npy --progress none").done();
    let note = "warning: labels and ids are not written: a .npy array of scores has no place for them\n";
    assert!(outcome.stderr.starts_with(note), "{}", outcome.stderr);
    assert_eq!(numbers(&fit("scores.npy", "")), numbers(&expected));
    directory.run("transform x.mercer pandas.csv --drop half --id id -o scores.libsvm").done();
    let libsvm = numbers(&fit("scores.libsvm", ""));
    assert_eq!(libsvm.iter().map(|row| row[..2].to_vec()).collect::<Vec<_>>(), numbers(&expected));
}

#[test]
fn images_are_fitted_with_their_folders_as_labels() {
    let directory = Directory::new();
    for (folder, name) in [("cats", "0.png"), ("cats", "1.png"), ("dogs", "2.png"), ("dogs", "3.png")] {
        std::fs::create_dir_all(directory.path("images").join(folder)).unwrap();
        directory.write(&format!("images/{folder}/{name}"), example(&format!("images/{folder}/{name}")));
    }
    directory.run("fit images --label folder --scale 1/255 -n 2 -o x.mercer --quiet").done();
    let scores = directory.run("transform x.mercer images --label folder --id file").done().stdout;
    let words = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = scores.lines().map(words).collect();
    assert_eq!(rows[0], ["file", "pc1", "pc2", "folder"]);
    assert_eq!((rows[3][0].as_str(), rows[3][3].as_str()), ("dogs/2.png", "dogs"));
    directory.write("images/cats/color.png", example("color.png"));
    let outcome = directory.run("fit images -o y.mercer --quiet");
    assert_eq!(outcome.code, Some(2));
    let expected = "error: images: cats/color.png is 2 x 2 pixels, but cats/0.png is 3 x 2\n\
                    hint: bring all to one size with --resize 3x2\n";
    assert_eq!(outcome.stderr, expected);
    assert_eq!(directory.files(), ["images", "x.mercer"]);
    directory.run("fit images --resize 3x2 -o y.mercer --quiet").done();
}

#[test]
fn a_nested_parquet_column() {
    let expected = "error: nested.parquet: column 6 (nested) is nested: each value is a list\n\
                    hint: write one plain column for each of its numbers, or leave it out with --drop nested\n";
    refused("nested.parquet", None, "--label half --id id", expected);
}

#[test]
fn a_compression_of_parquet_that_is_not_read() {
    let expected = "error: brotli.parquet: the Parquet file is compressed by Brotli, which is not read\n\
                    hint: write it with snappy, gzip, lz4, zstd or no compression\n";
    refused("brotli.parquet", None, "--label half --id id", expected);
}

#[test]
fn a_text_column_in_parquet() {
    let expected = "error: zstd.parquet: column 1 (id) is text, not numbers\n\
                    hint: if it is a label, take it out with --label id; otherwise leave it out with --drop id\n";
    refused("zstd.parquet", None, "--label half", expected);
}

#[test]
fn an_array_of_objects() {
    let expected = "error: objects.npy: the array holds Python objects, which only Python can read (dtype O)\n\
                    hint: convert it in NumPy: np.save(\"points.npy\", array.astype(\"float64\"))\n";
    refused("objects.npy", None, "", expected);
}

#[test]
fn truncated_files_of_every_kind() {
    let again = "hint: copy or make the file again\n";
    let damaged = format!("error: stored.npz: the .npz file is truncated or damaged\n{again}");
    refused("stored.npz", Some(700), "--array X", &damaged);
    let idx = "error: images-idx3-ubyte: the file is truncated: it holds 14 of the 24 values it announces\n";
    refused("images-idx3-ubyte", Some(30), "", &format!("{idx}{again}"));
    let packed = format!("error: images-idx3-ubyte.gz: the compressed file is truncated\n{again}");
    refused("images-idx3-ubyte.gz", Some(30), "", &packed);
    let csv = format!("error: pandas.csv.gz: the compressed file is truncated\n{again}");
    refused("pandas.csv.gz", Some(100), "--label half --id id", &csv);
}

#[test]
fn truncated_parquet_and_arrow() {
    for (name, what) in [("zstd.parquet", "Parquet"), ("file.arrow", "Arrow")] {
        let directory = Directory::new();
        let whole = example(name);
        directory.write(name, &whole[..whole.len() / 2]);
        let outcome = directory.run(&format!("fit {name} --label half --id id -o out.mercer --progress none"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
        let start = format!("error: {name}: the {what} file is truncated or damaged: ");
        assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
        assert!(outcome.stderr.ends_with("hint: copy or make the file again\n"), "{}", outcome.stderr);
        assert_eq!(directory.files(), [name]);
    }
}

#[test]
fn an_arrow_file_of_a_few_bytes_is_called_truncated() {
    let directory = Directory::new();
    for length in [3, 6, 17] {
        directory.write("x.arrow", &example("file.arrow")[..length]);
        let outcome = directory.run("fit x.arrow -o out.mercer --progress none");
        let expected = format!(
            "error: x.arrow: the Arrow file is truncated: it ends after {length} bytes\nhint: copy or make the file again\n"
        );
        assert_eq!((outcome.code, outcome.stderr), (Some(2), expected));
    }
}

#[test]
fn a_file_that_is_something_else_than_its_name_says() {
    let directory = Directory::new();
    directory.write("x.parquet", "1,2\n3,4\n");
    directory.write("x.arrow", "1,2\n3,4\n");
    directory.write("x.npz", "1,2\n3,4\n");
    directory.write("x.csv", example("zstd.parquet"));
    for (name, expected) in [
        ("x.parquet", "error: x.parquet: the file is not a Parquet file\nhint: say what it is by --format\n"),
        ("x.arrow", "error: x.arrow: the file is not an Arrow file\nhint: say what it is by --format\n"),
        (
            "x.npz",
            "error: x.npz: the file is not an .npz file\nhint: np.savez and np.savez_compressed make such files\n",
        ),
        ("x.csv", "error: x.csv: the file is a Parquet file\nhint: read it with --format parquet\n"),
    ] {
        let outcome = directory.run(&format!("fit {name} -o out.mercer --progress none"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected), "{name}");
    }
    directory.run("fit x.csv --format parquet --label half --id id -o out.mercer --quiet").done();
}

#[test]
fn columns_that_are_not_used_do_not_make_the_first_row_a_header() {
    let directory = Directory::new();
    directory.write("x.csv", "a,1,2\nb,3,4\nc,5,7\nd,1,0\n");
    for flags in ["--columns 2-3", "--columns 2,3", "--drop 1-1", "--drop 1"] {
        let outcome = directory.run(&format!("plan x.csv {flags} --json")).done();
        let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(record["n_samples"], 4, "{flags}");
    }
}

#[test]
fn a_quote_that_is_never_closed_is_refused_with_its_line() {
    let directory = Directory::new();
    directory.write("x.csv", "1,2,a\n2,5,\"a\nb\"\n3,4,\"b\n5,6,c\n7,9,d\n");
    let outcome = directory.run("fit x.csv --label 3 -n 1 -o x.mercer");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let expected =
        "error: x.csv: the quote that opens on line 4 is never closed\nhint: a field that begins with \" ends with \"";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    assert!(!directory.path("x.mercer").exists());
}

#[test]
fn sparse_queries_that_may_be_counted_from_either_number_are_refused() {
    let directory = Directory::new();
    directory.write("zero.libsvm", "1 0:1 1:2 3:4\n1 1:3 2:1\n2 0:2 3:1\n2 2:5\n");
    directory.run("fit zero.libsvm -n 1 -o zero.mercer").done();
    directory.write("new.libsvm", "1 1:2 2:1\n1 2:3\n");
    let outcome = directory.run("transform zero.mercer new.libsvm -o new.csv");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("columns 1 to 2 may be counted from 0 or from 1"), "{}", outcome.stderr);
    directory.run("transform zero.mercer new.libsvm --index-base 0 -o new.csv").done();
}

#[test]
fn flags_for_other_formats_are_refused_on_standard_input_too() {
    let directory = Directory::new();
    let outcome = directory.run_with_input("plan - --array foo", b"1,2\n3,4\n5,7\n");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--array is for .npz files only, but the data is "), "{}", outcome.stderr);
}

#[test]
fn a_column_that_is_left_out_of_sparse_queries_is_counted_all_the_same() {
    let directory = Directory::new();
    directory.write("old.libsvm", "1 1:1 2:2 3:9 4:4\n1 2:3 3:8 4:1\n2 1:2 4:2\n2 3:5 4:7\n");
    directory.run("fit old.libsvm --drop 3 -n 1 -o old.mercer").done();
    // The last column is zero throughout, so that it is not in the file.
    directory.write("new.libsvm", "1 1:1 2:2 3:1\n1 2:3 3:2\n");
    directory.write("dense.csv", "1,2,0\n0,3,0\n");
    directory.run("transform old.mercer new.libsvm --index-base 1 --drop 3 -o sparse.csv").done();
    directory.run("transform old.mercer dense.csv --no-header -o dense_scores.csv").done();
    // Beside its score, a row of the sparse file has its label.
    let scores = |name: &str| -> Vec<f64> { numbers(&directory.read(name)).iter().map(|row| row[0]).collect() };
    assert_eq!(scores("sparse.csv"), scores("dense_scores.csv"));
}

#[cfg(target_os = "linux")]
#[test]
fn images_are_decoded_on_as_many_threads_as_was_asked_for() {
    let directory = Directory::new();
    image::GrayImage::from_fn(4, 4, |x, y| image::Luma([(x * 9 + y * 10) as u8]))
        .save(directory.path("first.png"))
        .unwrap();
    // Who decodes this one waits for somebody to write it.
    assert!(std::process::Command::new("mkfifo").arg(directory.path("second.png")).status().unwrap().success());
    directory.write("list.txt", "first.png\nsecond.png\n");
    let mut child = super::support::mercer()
        .args(["plan", "list.txt", "--format", "images", "--threads", "1", "--quiet"])
        .current_dir(directory.root())
        // A pool that nobody asked for would have as many.
        .env("RAYON_NUM_THREADS", "9")
        .spawn()
        .unwrap();
    let count = || std::fs::read_dir(format!("/proc/{}/task", child.id())).unwrap().count();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while count() < 3 {
        assert!(std::time::Instant::now() < deadline, "it does not begin to read");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // All threads of a pool are started together.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let count = count();
    child.kill().unwrap();
    child.wait().unwrap();
    // The main thread, the one that listens for Ctrl-C, and the one that decodes.
    assert!(count <= 3, "{count} threads");
}
