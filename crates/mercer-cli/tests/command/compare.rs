//! `mercer compare`.

use serde_json::Value;

use super::support::{Directory, bent_line};

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory
}

fn record(directory: &Directory, words: &str) -> Value {
    serde_json::from_str(&directory.run(words).done().stdout).unwrap()
}

#[test]
fn all_methods_find_the_same_components() {
    let methods = "dense,tiled/krylov,stored/krylov,tiled/lanczos,stored/subspace,auto";
    let record = record(&directory(), &format!("compare points.csv --label half -n 2 --json --methods {methods}"));
    assert_eq!(record["reference"], "dense");
    let rows = record["methods"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), methods);
    for row in rows {
        assert_eq!((&row["converged"], &row["n_components"]), (&true.into(), &2.into()), "{row}");
        // Residuals of 1e-9 turn components by that over the gaps between eigenvalues, which are not small here.
        assert!(row["largest_angle"].as_f64().unwrap() < 1e-7, "{row}");
        assert!(row["passes"].as_u64().unwrap() > 0 && row["seconds"].as_f64().unwrap() > 0.0, "{row}");
    }
}

#[test]
fn without_a_list_the_usual_methods_are_compared() {
    let record = record(&directory(), "compare points.csv --label half -n 2 --json");
    let rows = record["methods"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["dense", "stored/krylov", "tiled/krylov", "stored/lanczos", "stored/subspace"]);
}

#[test]
fn a_method_that_has_not_converged_is_shown_as_such() {
    let directory = directory();
    let outcome = directory.run("compare points.csv --label half -n 2 --methods dense,power --max-passes 2");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines[0].starts_with("method  ") && lines[1].starts_with("dense "), "{}", outcome.stdout);
    assert!(lines[2].starts_with("power ") && lines[2].ends_with("  not converged"), "{}", outcome.stdout);
    assert_eq!(*lines.last().unwrap(), "angle: the largest, in radians, to the components of dense, the most exact");
}

#[test]
fn a_method_that_does_not_fit_is_a_finding_unless_none_does() {
    let directory = directory();
    let outcome = directory.run("compare points.csv --label half -n 2 --methods dense --memory 1KiB");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the memory budget is 1.0 KiB"), "{}", outcome.stderr);
    let rows: Vec<String> = (0..300).map(|i| format!("{},{}\n", f64::from(i).sin(), f64::from(i * i).cos())).collect();
    directory.write("many.csv", rows.concat());
    let outcome = directory.run("compare many.csv --methods dense,tiled/krylov --memory 1MiB -n 2");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stdout.lines().collect();
    assert!(lines[1].starts_with("dense ") && lines[1].contains("the memory budget is 1.0 MiB"), "{}", outcome.stdout);
    assert!(lines[2].starts_with("tiled/krylov ") && !lines[2].contains("budget"), "{}", outcome.stdout);
}

#[test]
fn bad_data_and_wrong_names_are_errors() {
    let directory = directory();
    let outcome = directory.run("compare points.csv --label half -n 50");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--n-components must be between 1 and"), "{}", outcome.stderr);
    let outcome = directory.run("compare points.csv --methods krilov");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("'krylov'"), "{}", outcome.stderr);
    let outcome = directory.run("compare points.csv --label half --methods dense,krylov,dense");
    assert_eq!(outcome.code, Some(2));
    assert_eq!(outcome.stderr, "error: dense stands twice in --methods: once is enough\n");
}
