//! Errors for machines: with `--json` they are a document on standard output.

use serde_json::Value;

use super::support::{Directory, bent_line};

#[track_caller]
fn refused(words: &str, code: i32, kind: &str, command: &str) -> Value {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.write("ragged.csv", "1,2\n3\n");
    let outcome = directory.run(words);
    assert_eq!(outcome.code, Some(code), "{words}: {}", outcome.stderr);
    let record: Value =
        serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{words}: {error}: {}", outcome.stdout));
    assert_eq!((&record["exit_code"], &record["command"]), (&code.into(), &command.into()), "{words}");
    assert_eq!(record["error"]["kind"], kind, "{words}: {record}");
    // The message is the one that people read.
    let message = record["error"]["message"].as_str().unwrap();
    assert!(!message.is_empty() && outcome.stderr.contains(message), "{words}: {message}\n{}", outcome.stderr);
    assert_eq!(directory.files(), ["points.csv", "ragged.csv"], "{words}");
    record
}

#[test]
fn every_kind_of_error_is_a_document_with_its_exit_code() {
    refused("fit none.csv -o m --json", 2, "file", "fit");
    refused("fit points.csv -o m --json", 2, "input", "fit");
    refused("fit points.csv --label half -n 0 -o m --json", 2, "input", "fit");
    refused("fit points.csv --label half -o m --json --memory 1KiB", 3, "over-budget", "fit");
    refused("plan points.csv --json --label half --memory 1KiB", 3, "over-budget", "plan");
    refused("transform none.mercer points.csv -o x.csv --json", 2, "file", "transform");
    refused("score points.csv points.csv -o x.csv --json", 2, "input", "score");
    refused("info points.csv --json", 2, "input", "info");
    refused("compare ragged.csv --json", 2, "input", "compare");
    refused("demo --out points.csv --json", 2, "file", "demo");
}

#[test]
fn a_call_that_cannot_be_understood_is_a_document_too() {
    refused("fit points.csv --json", 2, "usage", "fit");
    refused("fit points.csv -o m --json --kernel gausian", 2, "usage", "fit");
    refused("--json", 2, "usage", "");
    refused("fitt points.csv --json", 2, "usage", "");
}

#[test]
fn hints_come_along() {
    let record = refused("compare ragged.csv --json --no-header", 2, "input", "compare");
    assert!(record["error"]["hint"].as_str().unwrap().contains("every row needs the same columns"));
}

#[test]
fn rows_and_record_do_not_mix_on_standard_output() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o m.mercer --quiet").done();
    for command in ["transform", "score"] {
        let outcome = directory.run(&format!("{command} m.mercer points.csv --label half --json"));
        assert_eq!(outcome.code, Some(2));
        let expected = "error: --json prints where the rows go: give a file with --output, or use --record\n";
        assert_eq!(outcome.stderr, expected);
        let outcome = directory.run(&format!("{command} m.mercer points.csv --label half --record r.json -q")).done();
        assert_eq!(outcome.stdout.lines().count(), 13);
        let record: Value = serde_json::from_str(&directory.read("r.json")).unwrap();
        assert_eq!((&record["command"], &record["n_samples"]), (&command.into(), &12.into()));
    }
}

#[test]
fn a_wrong_number_of_threads_is_refused_everywhere() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o m.mercer --quiet").done();
    for words in ["transform m.mercer points.csv", "score m.mercer points.csv", "compare points.csv", "plan points.csv"]
    {
        let outcome = directory.run(&format!("{words} --label half --threads 0"));
        assert_eq!(outcome.code, Some(2), "{words}");
        assert!(outcome.stderr.ends_with("error: --threads must be at least 1, but it is 0\n"), "{}", outcome.stderr);
    }
}

#[test]
fn a_record_needs_a_place_of_its_own() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let refused = |words: &str, expected: &str| {
        let outcome = directory.run(&format!("fit points.csv --label half {words}"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected));
        assert_eq!(directory.files(), ["points.csv"]);
    };
    let twice = "error: ./x is named for two outputs: give one another name\n";
    refused("-o x --record ./x", twice);
    refused("-o x --record -", "error: --record takes the name of a file; --json prints the record\n");
}
