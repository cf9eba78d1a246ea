//! `mercer fit --gram nystrom`, and `--accuracy`.

use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{Kernel, Model, Points};
use serde_json::Value;

use super::support::{Directory, npy};

const ROWS: usize = 2400;

/// Points on a curve, deterministic.
fn values() -> Vec<f64> {
    (0..ROWS).flat_map(|i| [3.0, 5.0, 7.0].map(|step| (i as f64 * 0.01 * step).sin())).collect()
}

fn with_points() -> Directory {
    let directory = Directory::new();
    let bytes: Vec<u8> = values().iter().flat_map(|x| x.to_le_bytes()).collect();
    directory.write("points.npy", npy("<f8", &format!("({ROWS}, 3)"), &bytes));
    directory
}

fn model(directory: &Directory) -> Model {
    Model::load(&directory.path("points.mercer")).unwrap()
}

#[test]
fn the_command_learns_what_the_library_learns_and_says_how_good_it_is() {
    let directory = with_points();
    for rule in Landmarks::NAMES {
        let call = format!("fit points.npy --gram nystrom --landmarks {rule} --n-landmarks 40 -n 3 --gamma 0.5 --json");
        let outcome = directory.run(&format!("{call} -o points.mercer")).done();
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let settings = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(rule.parse().unwrap()).n_landmarks(40);
        let points = Points::from_f64(values(), ROWS, 3).unwrap();
        let expected = NystromPca::new(settings).n_components(3).fit(&points).unwrap();
        assert_eq!(model(&directory).eigenvalues(), expected.eigenvalues(), "{rule}");
        assert_eq!((&record["gram"], &record["nystrom"]["landmarks"]), (&"nystrom".into(), &(*rule).into()));
        assert!(record["nystrom"]["relative_trace_error"].as_f64().unwrap() < 0.1, "{rule}");
        assert!(outcome.stderr.contains("an approximation over 40 landmarks"), "{}", outcome.stderr);
    }
    directory.run("transform points.mercer points.npy -o scores.csv").done();
    directory.run("score points.mercer points.npy -o novelty.csv").done();
    assert!(directory.run("info points.mercer").done().stdout.contains("nystrom"));
}

#[test]
fn landmarks_without_an_accuracy_are_not_said_to_have_been_asked_for_a_residual_of_one() {
    let directory = with_points();
    let fit = "fit points.npy --gram nystrom --n-landmarks 40 -n 2 --gamma 0.5 -o points.mercer";
    let said = |call: &str| directory.run(call).done().stdout;
    for text in [said(fit), said("info points.mercer")] {
        let line = text.lines().find(|line| line.starts_with("residual ")).unwrap_or_else(|| panic!("{text}"));
        assert!(line.ends_with(" at most"), "{line}");
    }
    let asked = said(&format!("{fit} --accuracy 0.5"));
    assert!(asked.contains(" at most, asked for 5.0e-1: converged\n"), "{asked}");
}

#[test]
fn an_approximation_is_made_only_if_it_is_allowed_and_only_as_rough_as_that() {
    let directory = with_points();
    let fit = "fit points.npy -n 2 --gamma 0.5 -o points.mercer --json";
    let record = |call: &str| -> Value { serde_json::from_str(&directory.run(call).done().stdout).unwrap() };
    assert_ne!(record(fit)["gram"], "nystrom");
    let allowed = record(&format!("{fit} --accuracy 0.01"));
    assert_eq!(allowed["gram"], "nystrom");
    for residual in allowed["residuals"].as_array().unwrap() {
        assert!(residual.as_f64().unwrap() <= 0.01);
    }
    // A kernel so narrow that every row is a dimension of its own: only the whole matrix will do.
    let narrow = directory.run("fit points.npy -n 2 --gamma 1e6 --accuracy 1e-6 -o points.mercer --json").done();
    assert_ne!(serde_json::from_str::<Value>(&narrow.stdout).unwrap()["gram"], "nystrom");
    assert!(narrow.stderr.contains("the fit is exact"), "{}", narrow.stderr);
}

#[test]
fn flags_that_mean_nothing_together_are_refused() {
    let directory = with_points();
    for (flags, message) in [
        ("--landmarks kmeans", "--landmarks is for --gram nystrom, or with --accuracy, only"),
        ("--n-landmarks 10", "--n-landmarks is for --gram nystrom, or with --accuracy, only"),
        ("--accuracy 0.1 --n-landmarks 10", "--n-landmarks is for --gram nystrom"),
        ("--accuracy 0.1 --gram tiled", "--accuracy allows an approximation"),
        ("--accuracy 7", "--accuracy must be between 0 and 1"),
        ("--gram nystrom --variance 0.9", "--variance is not for an approximation over landmarks"),
        ("--gram nystrom --tolerance 0.1", "--tolerance is not for an approximation"),
        ("--gram nystrom --solver lanczos", "--solver is not for an approximation"),
        ("--gram nystrom --solver hebbian", "--gram nystrom is not for --solver hebbian"),
        ("--gram nystrom --n-landmarks 1", "the number of landmarks (1)"),
        ("--blocks", "--blocks is for --gram nystrom, or with --accuracy, only"),
        ("--accuracy 0.1 --blocks", "--blocks is for --gram nystrom: --accuracy alone tries several"),
        (
            "--gram nystrom --blocks",
            "--blocks is for .csv, .tsv, .parquet and .arrow files, which can be read in parts",
        ),
        ("--gram nystrom --blocks --standardize", "--standardize is not for --blocks"),
        ("--gram nystrom --blocks --sample 9", "--sample is not for --blocks: every row is read"),
        ("--gram nystrom --blocks --rows 0:9", "--rows is not for --blocks: every row is read"),
    ] {
        for call in [format!("fit points.npy {flags} -o points.mercer"), format!("plan points.npy {flags}")] {
            let outcome = directory.run(&call);
            assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
        }
    }
}

#[test]
fn a_plan_says_over_how_many_landmarks_why_and_what_that_takes() {
    let directory = with_points();
    let said = |words: &str| directory.run(&format!("plan points.npy -n 2 --gamma 0.5 {words}")).done().stdout;
    let asked = said("--gram nystrom --landmarks uniform --n-landmarks 60");
    for line in [
        "wanted      2 components\n",
        "method      dense solver, nystrom matrix in f64, 60 landmarks\n",
        "passes      1\n",
        "why         60 landmarks by uniform, as asked for\n",
    ] {
        assert!(asked.contains(line), "{line}{asked}");
    }
    assert!(asked.contains("\ntime        about ") && asked.contains("\nmemory      about "), "{asked}");
    let allowed = said("--accuracy 0.01");
    for line in [
        "wanted      2 components to residual 1.0e-2\n",
        "method      dense solver, nystrom matrix in f64, 100 landmarks\n",
        "why         100 landmarks by rpcholesky, tried first, because an accuracy of 0.01 allows an approximation\n",
        "            an exact fit follows if they do not reach it: krylov solver, stored matrix, about ",
    ] {
        assert!(allowed.contains(line), "{line}{allowed}");
    }
    // Nothing is approximated that is not allowed to be, and nothing that is not worth it.
    assert!(!said("").contains("landmarks"));
    let exact = said("--accuracy 0.01 --rows 0:1999");
    assert!(
        exact.contains("krylov solver, stored matrix") && exact.contains("no landmarks, because 1999 rows"),
        "{exact}"
    );
}

#[test]
fn a_dry_run_over_landmarks_is_the_plan_and_the_fit_keeps_to_it() {
    let directory = with_points();
    directory.write("points.csv", csv("a,b,c", &values(), 3));
    let json = |words: &str| -> Value { serde_json::from_str(&directory.run(words).done().stdout).unwrap() };
    for flags in [
        "points.npy --gram nystrom --n-landmarks 40",
        "points.npy --accuracy 0.01",
        "points.csv --gram nystrom --n-landmarks 40 --blocks",
    ] {
        let (plan, dry) = (
            json(&format!("plan {flags} -n 3 --gamma 0.5 --json")),
            json(&format!("fit {flags} -n 3 --gamma 0.5 --dry-run --json")),
        );
        let fit = json(&format!("fit {flags} -n 3 --gamma 0.5 --json -o points.mercer"));
        assert_eq!(plan["command"], "plan");
        for key in ["gram", "method", "n_landmarks", "solver", "precision", "block", "tile"] {
            assert_eq!(
                (&plan["plan"][key], &dry["plan"][key]),
                (&fit["plan"][key], &fit["plan"][key]),
                "{flags}: {key}"
            );
        }
        assert_eq!((&plan["n_samples"], &plan["kernel"]), (&fit["n_samples"], &fit["kernel"]), "{flags}");
        assert_eq!(fit["plan"]["n_landmarks"], fit["nystrom"]["n_landmarks"], "{flags}");
        assert_eq!(plan["plan"]["expected_passes"], if flags.contains("--blocks") { 2 } else { 1 });
        assert!(plan["plan"]["expected_seconds"].as_f64().unwrap() > 0.0, "{flags}");
    }
}

fn csv(names: &str, rows: &[f64], n_columns: usize) -> String {
    let lines = rows.chunks(n_columns).map(|row| {
        let words: Vec<String> = row.iter().map(f64::to_string).collect();
        words.join(",") + "\n"
    });
    std::iter::once(format!("{names}\n")).chain(lines).collect()
}

#[test]
fn a_file_that_is_read_block_by_block_gives_what_the_library_makes_of_blocks() {
    let directory = Directory::new();
    directory.write("points.csv", csv("a,b,c", &values(), 3));
    let settings = Nystrom::new(Kernel::gaussian(2.0).unwrap()).n_landmarks(40);
    let scaled = values().iter().map(|x| 0.5 * x).collect::<Vec<_>>();
    let expected = NystromPca::new(settings).n_components(3);
    let expected = expected.fit_blocks(&mut Points::from_f64(scaled, ROWS, 3).unwrap()).unwrap();
    let fit =
        "fit points.csv --gram nystrom --blocks --n-landmarks 40 -n 3 --gamma 2 --scale 1/2 -o points.mercer --json";
    let record: Value = serde_json::from_str(&directory.run(fit).done().stdout).unwrap();
    assert_eq!(record["n_samples"], ROWS);
    let found = model(&directory);
    assert_eq!(found.eigenvalues(), expected.eigenvalues());
    // What new points need goes with it: the scale and the names of columns.
    assert_eq!(found.feature_names().unwrap(), ["a", "b", "c"]);
    directory.write("other.csv", csv("c,b,a", &values()[..30], 3));
    directory.run("transform points.mercer other.csv -o scores.csv").done();
}

#[test]
fn a_file_that_is_read_block_by_block_is_not_kept_in_memory() {
    const N: usize = 400_000;
    const D: usize = 40;
    let directory = Directory::new();
    let line = |i: usize| {
        let words: Vec<String> = (0..D).map(|j| format!("{:.6}", ((i * D + j) as f64 * 0.37).sin())).collect();
        words.join(",") + "\n"
    };
    directory.write("points.csv", (0..N).map(line).collect::<String>());
    let peak = |flags: &str| -> u64 {
        let fit = format!("fit points.csv --no-header --gram nystrom --landmarks uniform --n-landmarks 20 {flags}");
        let outcome = directory.run(&format!("{fit} -o points.mercer --json")).done();
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(record["n_samples"], N);
        record["peak_memory_bytes"].as_u64().unwrap()
    };
    let (kept, streamed) = (peak(""), peak("--blocks"));
    let table = (N * D * size_of::<f64>()) as u64;
    // What stays of a block until its memory is used again differs from run to run, by about a fifth of the table.
    assert!(streamed + table / 4 < kept, "{streamed} bytes in blocks, {kept} bytes with the table of {table}");
}

#[test]
fn a_row_that_is_too_large_is_named_by_its_line() {
    let directory = Directory::new();
    // Among few rows, and beyond as many as landmarks are chosen from.
    for (rows, far) in [(300, 200), (15_000, 14_500)] {
        let mut values: Vec<f64> = (0..2 * rows).map(|i| (f64::from(i) * 0.37).sin()).collect();
        values[2 * far] = 1e200;
        directory.write("far.csv", csv("x,y", &values, 2));
        for flags in ["--blocks", "--blocks --landmarks uniform", "", "--landmarks uniform"] {
            let fit = format!("fit far.csv --gram nystrom --n-landmarks 20 --gamma 1 {flags} -o far.mercer");
            let outcome = directory.run(&fit);
            assert_eq!(outcome.code, Some(2), "{fit}: {}", outcome.stderr);
            let text = format!("error: far.csv, line {}: the row is too large for the kernel's width: ", far + 2);
            assert!(outcome.stderr.contains(&text), "{fit}: {}", outcome.stderr);
            assert_eq!(directory.files(), ["far.csv"], "{fit}");
        }
    }
}

#[test]
fn a_bad_row_of_a_late_block_is_named_by_its_line_and_nothing_is_written() {
    let directory = Directory::new();
    let text = "1,2\n3,4\n".repeat(300_000) + "5,x\n";
    directory.write("points.csv", text);
    let outcome = directory.run("fit points.csv --no-header --gram nystrom --blocks -n 2 -o points.mercer");
    assert_eq!(outcome.code, Some(2));
    let said = outcome.stderr;
    assert!(said.contains("points.csv") && said.contains("600001") && said.contains('x'), "{said}");
    assert!(!directory.path("points.mercer").exists());
    let none = directory.run("fit - --gram nystrom --blocks -n 2 -o points.mercer");
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("cannot come from standard input"), "{}", none.stderr);
}
