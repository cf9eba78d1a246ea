//! What machines read.

use serde_json::Value;

use super::support::{Directory, bent_line};

/// The keys that every record of a fit promises.
const KEYS: [&str; 19] = [
    "n_samples",
    "n_features",
    "n_components",
    "kernel",
    "gram",
    "solver",
    "precision",
    "eigenvalues",
    "explained_variance_ratio",
    "total_variance",
    "residuals",
    "converged",
    "passes",
    "kernel_entries",
    "seconds",
    "peak_memory_bytes",
    "threads",
    "seed",
    "version",
];

#[track_caller]
fn check_record(text: &str) -> Value {
    let record: Value = serde_json::from_str(text).unwrap();
    for key in KEYS {
        assert!(!record[key].is_null(), "{key} is missing in {text}");
    }
    assert!(record["warnings"].is_array());
    record
}

#[test]
fn the_record_has_all_that_was_promised() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -n 2 -o points.mercer --json --seed 5").done();
    let record = check_record(&outcome.stdout);
    assert_eq!((&record["n_samples"], &record["n_features"]), (&Value::from(12), &Value::from(2)));
    assert_eq!(record["kernel"]["name"], "gaussian");
    assert_eq!(record["eigenvalues"].as_array().unwrap().len(), 2);
    assert_eq!(record["residuals"].as_array().unwrap().len(), 2);
    assert_eq!((&record["converged"], &record["seed"]), (&Value::from(true), &Value::from(5)));
    let seconds = |phase: &str| record["seconds"][phase].as_f64().unwrap();
    assert!(seconds("read") + seconds("fit") <= seconds("total") + 1e-9);
}

#[test]
fn the_record_file_is_what_json_prints() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -o points.mercer --json --record run.json --quiet").done();
    assert_eq!(outcome.stdout, directory.read("run.json"));
    assert_eq!(outcome.stderr, "", "quiet means quiet");
}

#[test]
fn info_prints_the_record_of_the_model() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let fit = directory.run("fit points.csv --label half -n 2 -o points.mercer --json").done();
    let info = directory.run("info points.mercer --json").done();
    let (fit, info) = (check_record(&fit.stdout), check_record(&info.stdout));
    for key in ["eigenvalues", "residuals", "kernel", "version", "plan"] {
        assert_eq!(fit[key], info[key], "{key}");
    }
}
