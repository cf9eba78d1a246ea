//! Columns of new points are those of the fit, wherever they stand: real processes.

use mercer::Model;
use serde_json::Value;

use super::support::{Directory, example, npy, numbers};

/// Points with three columns of very different sizes, which no order but the right one explains.
fn table(order: [usize; 3], names: [&str; 3], delimiter: &str) -> String {
    let rows = (0..20).map(|i| {
        let t = f64::from(i) / 7.0;
        let values = [t.sin(), 10.0 + t * t, 100.0 * t.cos()];
        order.map(|column| values[column].to_string()).join(delimiter)
    });
    let header = order.map(|column| names[column]).join(delimiter);
    std::iter::once(header).chain(rows).map(|line| line + "\n").collect()
}

const NAMES: [&str; 3] = ["width", "height", "depth"];

fn fitted(method: &str) -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", table([0, 1, 2], NAMES, ","));
    directory.write("turned.csv", table([2, 0, 1], NAMES, ","));
    directory.run(&format!("fit points.csv {method} -n 2 -o points.mercer --quiet")).done();
    directory
}

#[test]
fn a_table_in_another_order_gets_the_same_scores() {
    for (method, commands) in [
        ("--gamma 1e-3", vec!["transform", "score", "reconstruct"]),
        ("--method autoencoder --epochs 2", vec!["transform", "reconstruct"]),
        ("--gram nystrom --n-landmarks 9 --gamma 1e-3", vec!["transform", "score"]),
        ("--solver hebbian --tolerance 0.9999 --gamma 1e-3", vec!["transform"]),
    ] {
        let directory = fitted(method);
        for command in commands {
            let right = directory.run(&format!("{command} points.mercer points.csv")).done();
            let turned = directory.run(&format!("{command} points.mercer turned.csv")).done();
            assert_eq!(turned.stdout, right.stdout, "{command} {method}");
            assert!(!turned.stderr.contains("warning"), "{}", turned.stderr);
            let wrong = directory.run(&format!("{command} points.mercer turned.csv --by-position")).done();
            assert_ne!(wrong.stdout, right.stdout, "{command} {method}: taken as they stand, as was asked");
        }
    }
}

#[test]
fn every_format_with_names_is_taken_by_them_and_others_by_their_order() {
    let directory = fitted("--gamma 1e-3");
    let right = directory.run("transform points.mercer points.csv").done().stdout;
    directory.write("turned.tsv", table([1, 2, 0], NAMES, "\t"));
    let rows = numbers(&table([2, 0, 1], NAMES, ","));
    assert_eq!(directory.run("transform points.mercer turned.tsv").done().stdout, right);
    let plain: String = table([0, 1, 2], NAMES, ",").lines().skip(1).map(|line| line.to_owned() + "\n").collect();
    directory.write("plain.csv", plain);
    assert_eq!(directory.run("transform points.mercer plain.csv").done().stdout, right, "no names: as they stand");
    let bytes: Vec<u8> = rows.iter().flat_map(|row| [row[1], row[2], row[0]]).flat_map(f64::to_le_bytes).collect();
    directory.write("points.npy", npy("<f8", "(20, 3)", &bytes));
    assert_eq!(directory.run("transform points.mercer points.npy").done().stdout, right);
}

#[test]
fn tables_of_other_programs_are_taken_by_their_names() {
    let directory = Directory::new();
    let files = ["pandas.csv", "pandas.csv.gz", "snappy.parquet", "file.arrow", "stream.arrows"];
    for file in files {
        directory.write(file, example(file));
    }
    let header = directory.read("pandas.csv").lines().next().unwrap().to_owned();
    let names: Vec<&str> = header.split(',').filter(|name| !["id", "half"].contains(name)).collect();
    let turned: Vec<&str> = names.iter().rev().copied().collect();
    directory
        .run(&format!("fit pandas.csv --columns {} --gamma 0.3 -n 3 -o m.mercer --quiet", turned.join(",")))
        .done();
    let right = directory.run(&format!("transform m.mercer pandas.csv --columns {} --by-position", turned.join(",")));
    let right = numbers(&right.done().stdout);
    for file in files {
        let found = numbers(&directory.run(&format!("transform m.mercer {file} --label half --id id")).done().stdout);
        for (found, right) in found.iter().zip(&right) {
            // An id that is a number stands before the scores.
            assert_eq!(&found[found.len() - 3..], right.as_slice(), "{file}");
        }
        assert_eq!(found.len(), right.len(), "{file}");
    }
}

#[test]
fn columns_that_the_model_does_not_have_are_passed_over_and_named() {
    let directory = fitted("--gamma 1e-3");
    let right = directory.run("transform points.mercer points.csv").done().stdout;
    let more: String = table([2, 0, 1], NAMES, ",")
        .lines()
        .enumerate()
        .map(|(i, line)| if i == 0 { format!("name,{line},kind\n") } else { format!("row {i},{line},good\n") })
        .collect();
    directory.write("more.csv", more);
    let outcome = directory.run("transform points.mercer more.csv --record run.json").done();
    assert_eq!(outcome.stdout, right);
    let remark = "more.csv: columns that the model does not have are passed over: \"name\", \"kind\"";
    assert!(outcome.stderr.contains(&format!("warning: {remark}\n")), "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!(record["warnings"], serde_json::json!([remark]));
    let labelled = directory.run("transform points.mercer more.csv --label kind --id name").done();
    assert!(!labelled.stderr.contains("warning"), "{}", labelled.stderr);
    assert!(labelled.stdout.starts_with("name,pc1,pc2,kind\nrow 1,"), "{}", labelled.stdout);
}

#[test]
fn columns_that_are_missing_or_renamed_are_refused_and_nothing_is_written() {
    let directory = fitted("--gamma 1e-3");
    directory.write("Width.csv", table([2, 0, 1], ["Width", "height", "depth"], ","));
    directory.write("other.csv", table([0, 1, 2], ["a", "b", "c"], ","));
    directory.write("few.csv", "width,depth\n1,2\n");
    let before = directory.files();
    for (words, problem, hint) in [
        (
            "Width.csv",
            "Width.csv: there is no column \"width\", which the model has",
            "there is a column \"Width\": give it the name of the fit",
        ),
        (
            "other.csv",
            "other.csv: no column has a name of the model, whose columns are \"width\", \"height\", \"depth\"; here are \"a\", \
             \"b\", \"c\"",
            "if they are the same columns in the same order, say --by-position",
        ),
        ("few.csv", "few.csv: there is no column \"height\", which the model has", "give the columns of the fit"),
        (
            "points.csv --drop depth",
            "points.csv: \"depth\" is a column of the model, but a flag takes it out",
            "see to --label, --id, --drop and --columns",
        ),
        (
            "points.csv --columns width,height",
            "points.csv: \"depth\" is a column of the model, but a flag takes it out",
            "see to --label, --id, --drop and --columns",
        ),
    ] {
        for command in ["transform", "score", "reconstruct"] {
            let outcome = directory.run(&format!("{command} points.mercer {words} -o out.csv --progress none"));
            assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
            assert_eq!(outcome.stderr, format!("error: {problem}\nhint: {hint}\n"));
        }
    }
    assert_eq!(directory.files(), before);
    let right = directory.run("transform points.mercer points.csv").done().stdout;
    assert_eq!(directory.run("transform points.mercer other.csv --by-position").done().stdout, right);
}

#[test]
fn a_flag_that_would_change_nothing_is_refused() {
    let directory = fitted("--gamma 1e-3");
    directory.write("plain.csv", "1,2,3\n");
    let outcome = directory.run("transform points.mercer plain.csv --by-position --progress none");
    assert_eq!(outcome.code, Some(2));
    assert_eq!(outcome.stderr, "error: --by-position has no effect: plain.csv has no names; leave it out\n");
    directory.write("numbers.csv", "1,2,3\n4,5,7\n7,8,8\n");
    directory.run("fit numbers.csv -o numbers.mercer --quiet").done();
    let outcome = directory.run("transform numbers.mercer points.csv --by-position --progress none");
    assert_eq!(outcome.code, Some(2));
    assert_eq!(
        outcome.stderr,
        "error: --by-position has no effect: the model does not know the names of its columns; leave it out\n"
    );
    directory.run("transform numbers.mercer points.csv").done();
}

#[test]
fn the_model_file_tells_the_names_and_info_shows_them() {
    let directory = fitted("--gamma 1e-3");
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    assert_eq!(model.feature_names().unwrap(), NAMES);
    let info = directory.run("info points.mercer").done();
    assert!(info.stdout.starts_with("columns     width, height, depth\n"), "{}", info.stdout);
    let record: Value = serde_json::from_str(&directory.run("info points.mercer --json").done().stdout).unwrap();
    assert_eq!(record["feature_names"], serde_json::json!(NAMES));
    let codes = fitted("--method autoencoder --epochs 2");
    let record: Value = serde_json::from_str(&codes.run("info points.mercer --json").done().stdout).unwrap();
    assert_eq!(record["feature_names"], serde_json::json!(NAMES));
}

#[test]
fn reconstructed_points_have_their_names_and_can_be_read_again() {
    let directory = fitted("--gamma 1e-3");
    directory.run("reconstruct points.mercer turned.csv -o again.csv").done();
    assert!(directory.read("again.csv").starts_with("width,height,depth,feature_error,converged\n"));
    let outcome = directory.run("transform points.mercer again.csv").done();
    assert!(outcome.stderr.contains("are passed over: \"feature_error\", \"converged\""), "{}", outcome.stderr);
}

#[test]
fn a_reference_in_another_order_is_compared_column_by_column() {
    let directory = fitted("--gamma 1e-3");
    // The reference differs from the points a little.
    let shifted = |order: [usize; 3]| table(order, NAMES, ",").replace(".5", ".6");
    directory.write("same.csv", shifted([0, 1, 2]));
    directory.write("other.csv", shifted([2, 0, 1]));
    let compared = |words: &str| -> Vec<Value> {
        let words = format!("denoise-rows points.csv --noise 0.1 -o clean.csv --json {words}");
        let record: Value = serde_json::from_str(&directory.run(&words).done().stdout).unwrap();
        // All but the name of the file.
        record["reference"].as_object().unwrap().values().filter(|value| value.is_number()).cloned().collect()
    };
    let same = compared("--reference same.csv");
    assert!(!same.is_empty());
    assert_eq!(compared("--reference other.csv"), same);
    assert_ne!(compared("--reference other.csv --by-position"), same);
    assert!(directory.read("clean.csv").starts_with("width,height,depth\n"));
    let outcome = directory.run("denoise-rows points.csv --by-position -o clean.csv");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

#[test]
fn a_stream_goes_on_by_the_names_of_its_first_rows() {
    let directory = Directory::new();
    let learn = "stream -n 2 --gamma 1e-3 --learning-rate 0.1 --checkpoint state --resume --emit scores";
    let (right, turned) = (table([0, 1, 2], NAMES, ","), table([2, 0, 1], NAMES, ","));
    let json = |text: &str| -> String {
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let object = |row: Vec<&str>| {
            let fields: Vec<String> = names.iter().zip(row).map(|(name, x)| format!("\"{name}\": {x}")).collect();
            format!("{{{}}}\n", fields.join(", "))
        };
        lines.map(object).collect()
    };
    let scores_of = |second: &str| -> String {
        directory.run_with_input(learn, right.as_bytes()).done();
        let outcome = directory.run_with_input(&format!("{learn} -o points.mercer"), second.as_bytes()).done();
        std::fs::remove_file(directory.path("state")).unwrap();
        outcome.stdout
    };
    let expected = scores_of(&right);
    assert_eq!(scores_of(&turned), expected);
    assert_eq!(scores_of(&json(&turned)), expected, "objects have names, too");
    let plain: String = right.lines().skip(1).map(|line| line.to_owned() + "\n").collect();
    assert_eq!(scores_of(&plain), expected, "no names: as they stand");
    assert_eq!(Model::load(&directory.path("points.mercer")).unwrap().feature_names().unwrap(), NAMES);

    directory.run_with_input(learn, right.as_bytes()).done();
    let before = std::fs::read(directory.path("state")).unwrap();
    let renamed = table([0, 1, 2], ["a", "b", "c"], ",");
    let outcome = directory.run_with_input(learn, renamed.as_bytes());
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("no column has a name of the learner"), "{}", outcome.stderr);
    assert_eq!(std::fs::read(directory.path("state")).unwrap(), before, "nothing was learned");
    let outcome = directory.run_with_input(learn, b"width,height\n1,2\n");
    assert!(outcome.stderr.contains("there is no column \"depth\", which the learner has"), "{}", outcome.stderr);
    let outcome = directory.run_with_input(&format!("{learn} --by-position"), renamed.as_bytes()).done();
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn a_stream_passes_over_what_it_does_not_know_and_says_so_once() {
    let directory = Directory::new();
    let learn = "stream -n 2 --gamma 1e-3 --learning-rate 0.1 --checkpoint state --resume --record run.json";
    directory.run_with_input(learn, table([0, 1, 2], NAMES, ",").as_bytes()).done();
    let more = "{\"depth\": 1, \"height\": 2, \"width\": 3, \"zeal\": 4}\n".repeat(3);
    let outcome = directory.run_with_input(learn, more.as_bytes()).done();
    let remark = "standard input: a column that the learner does not have is passed over: \"zeal\"";
    assert_eq!(outcome.stderr.matches(remark).count(), 1, "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!(record["warnings"], serde_json::json!([remark]));
    assert_eq!(record["n_samples"], 23);
}

#[test]
fn an_output_with_two_columns_of_one_name_is_refused_and_nothing_is_written() {
    let directory = Directory::new();
    let rows = (0..12).map(|i| format!("{i},{},{},{i}\n", f64::from(i).sin(), f64::from(i * i).cos()));
    let rows = rows.collect::<Vec<_>>().concat();
    directory.write("points.csv", format!("pc1,x,y,novel\n{rows}"));
    directory.write("cluster.csv", format!("x1,x,y,cluster\n{rows}"));
    directory.run("fit points.csv --id pc1 --label novel -n 2 -o points.mercer --quiet").done();
    let before = directory.files();
    let refused = |words: &str, name: &str, what: &str| {
        let outcome = directory.run(&format!("{words} --progress none"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}: {}", outcome.stderr);
        let expected = format!("would have two columns called {name:?}: the {what} has a name that another column");
        assert!(outcome.stderr.contains(&expected), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("rename the column in "), "{words}: {}", outcome.stderr);
        assert_eq!(directory.files(), before, "{words}");
    };
    for format in ["csv", "tsv", "parquet", "arrow"] {
        refused(&format!("transform points.mercer points.csv --id pc1 -o out.{format}"), "pc1", "id");
        refused(&format!("score points.mercer points.csv --label novel -o out.{format}"), "novel", "label");
    }
    refused("transform points.mercer points.csv --id pc1", "pc1", "id");
    refused("cluster cluster.csv --label cluster --drop x1 -k 2 -o out.csv", "cluster", "label");
    refused("cluster cluster.csv --labels cluster --drop x1 -k 2 -o out.csv", "cluster", "label");
    // Where scores are one array, columns have names of their own.
    directory.run("transform points.mercer points.csv --id pc1 --label novel -o out.npz --quiet").done();
    let again = "fit out.npz --array scores --id pc1 --label novel -n 1 -o again.mercer --quiet";
    directory.run(again).done();
}

#[test]
fn a_delimiter_at_the_end_of_every_line_makes_no_column() {
    let directory = Directory::new();
    let told = |text: &str| {
        directory.write("x.csv", text);
        let outcome = directory.run("fit x.csv -n 1 -o x.mercer --quiet");
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        outcome.stderr
    };
    let hint = "hint: the last column has no name and no value, as where a delimiter ends every line: leave it out with --drop 3\n";
    for (text, line) in [("a,b,\n1,2,\n3,4,\n", 2), ("1,2,\n3,4,\n5,7,\n", 1)] {
        let expected = format!("error: x.csv, line {line}, column 3: the value is missing\n{hint}");
        assert_eq!(told(text), expected);
        directory.run("fit x.csv --drop 3 -n 1 -o x.mercer --quiet").done();
    }
    let gap = "error: x.csv, line 3, column 3 (c): the value is missing\n\
               hint: every value must be a finite number: fill the gap or remove the row\n";
    assert_eq!(told("a,b,c\n1,2,3\n3,4,\n"), gap);
}
