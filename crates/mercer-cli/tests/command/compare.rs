//! `mercer compare`.

use serde_json::Value;

use super::support::{Directory, bent_line, mercer, npy};

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
    assert_eq!(record["most_exact"], "dense");
    let rows = record["methods"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names.join(","), methods);
    for row in rows {
        assert_eq!((&row["converged"], &row["n_components"]), (&true.into(), &2.into()), "{row}");
        // Residuals of 1e-9 turn components by that over the gaps between eigenvalues, which are not small here.
        assert!(row["largest_angle"].as_f64().unwrap() < 1e-7, "{row}");
        assert!(row["passes"].as_u64().unwrap() > 0 && row["fit_seconds"].as_f64().unwrap() > 0.0, "{row}");
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
    assert!(lines[2].starts_with("power "), "{}", outcome.stdout);
    assert!(lines[2].ends_with("  not converged, 1 of 2 components"), "{}", outcome.stdout);
    assert_eq!(*lines.last().unwrap(), "angle: the largest, in radians, to the components of dense, the most exact");
}

#[test]
fn a_wide_kernel_of_numbers_in_single_precision_is_solved_in_double() {
    let directory = Directory::new();
    let values: Vec<f32> = (0..900).map(|i| ((i * 7919 % 1009) as f32 / 1009.0).sin() * 3.0).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
    directory.write("points.npy", npy("<f4", "(300, 3)", &bytes));
    // Entries differ in their fifth digit: single precision, which has seven, would leave two.
    let words = "points.npy --gamma 1e-5 -n 4 --json";
    let compared = record(&directory, &format!("compare {words} --methods dense"));
    let dense = &compared["methods"][0];
    assert_eq!(dense["converged"], true, "{dense}");
    assert!(dense["largest_residual"].as_f64().unwrap() <= 1e-5, "{dense}");
    let fit = record(&directory, &format!("fit {words} --solver dense -o points.mercer"));
    assert_eq!((&fit["converged"], &fit["precision"]), (&true.into(), &"f64".into()));
}

#[test]
fn a_table_fits_in_a_narrow_terminal_with_its_numbers_whole() {
    let directory = directory();
    let narrow = |words: &str, columns: &str| -> String {
        let output = mercer()
            .args(words.split_whitespace())
            .current_dir(directory.root())
            .env("COLUMNS", columns)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for words in [
        "compare points.csv --label half -n 2",
        "fit points.csv --label half -n 3 -o points.mercer",
        "plan points.csv --label half",
        "info points.mercer",
        "tune points.csv --label half --compare",
    ] {
        let (wide, text) = (narrow(words, "200"), narrow(words, "50"));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{words}:\n{text}");
        let whole: Vec<&str> = wide.split_whitespace().collect();
        for number in text.split_whitespace().filter(|word| word.contains("e-")) {
            assert!(number.parse::<f64>().is_ok() || whole.contains(&number), "{number} of {words} is cut");
        }
    }
    let text = narrow("compare points.csv --label half -n 2 --methods dense,krylov", "50");
    assert!(text.starts_with("method                time  residual     angle\n"), "{text}");
    assert!(text.contains("(no room for passes, memory; --json has all)"), "{text}");
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

#[test]
fn what_the_fits_warn_of_is_said_once_with_the_methods() {
    let directory = directory();
    let words = "compare points.csv --label half -n 2 --methods dense,power,tiled/power --max-passes 2 --json";
    let outcome = directory.run(words);
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let warnings: Vec<&str> = record["warnings"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(warnings.iter().any(|warning| warning.starts_with("power, tiled/power: ")), "{warnings:?}");
    assert!(warnings.iter().all(|warning| !warning.starts_with("dense")), "{warnings:?}");
    for warning in warnings {
        assert_eq!(outcome.stderr.matches(&format!("warning: {warning}\n")).count(), 1, "{}", outcome.stderr);
    }
}

#[test]
fn approximations_show_their_error_against_the_exact_one() {
    let directory = directory();
    // As many landmarks as there are points leave nothing out.
    let all = record(&directory, "compare points.csv --label half -n 2 --json --methods dense,nystrom");
    assert_eq!(all["most_exact"], "dense");
    assert!(all["methods"][1]["largest_angle"].as_f64().unwrap() < 1e-6, "{all}");

    let row = |i| format!("{},{},{}\n", f64::from(i).sin(), f64::from(i * i).cos(), f64::from(i % 97) / 97.0);
    directory.write("many.csv", (0..1500).map(row).collect::<Vec<_>>().concat());
    let words = "compare many.csv -n 3 --gamma 2 --json --methods krylov,nystrom,hebbian --max-passes 30";
    let outcome = directory.run(words);
    let many: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(many["most_exact"], "krylov");
    let rows = many["methods"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(names, ["krylov", "nystrom", "hebbian"]);
    assert_eq!(
        (&rows[1]["gram"], &rows[2]["solver"], &rows[2]["passes"]),
        (&"nystrom".into(), &"hebbian".into(), &30.into())
    );
    for row in &rows[1..] {
        let (angle, residual) = (row["largest_angle"].as_f64().unwrap(), row["largest_residual"].as_f64().unwrap());
        assert!(angle > 1e-8 && angle < 0.5 && residual > 1e-8, "{row}");
    }
}

#[test]
fn flags_that_an_approximation_has_no_use_for_are_refused() {
    let directory = directory();
    for (words, expected) in [
        (
            "--methods dense,hebbian --variance 0.9",
            "error: --variance is not for the method hebbian: give the number of components with --n-components\n",
        ),
        (
            "--methods nystrom --negative clip",
            "error: --negative is not for the method nystrom: it needs a positive semi-definite kernel\n",
        ),
    ] {
        let outcome = directory.run(&format!("compare points.csv --label half {words}"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected), "{words}");
    }
}
