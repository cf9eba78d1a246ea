//! Landmarks that are given in a file: `--landmarks FILE`.

use mercer::data::{Moments, Scaling};
use mercer::nystrom::{Landmarks, Nystrom, NystromPca};
use mercer::{ClusterModel, Kernel, Model, Points};
use serde_json::{Value, json};

use super::support::{Directory, npy};

const ROWS: usize = 240;
const GIVEN: usize = 8;

/// Points on a curve, deterministic.
fn values() -> Vec<f64> {
    (0..ROWS).flat_map(|i| [3.0, 5.0, 7.0].map(|step| (i as f64 * 0.1 * step).sin() * step)).collect()
}

/// Some of them.
fn given() -> Vec<f64> {
    values().chunks(3).step_by(ROWS / GIVEN).flatten().copied().collect()
}

fn points(values: Vec<f64>) -> Points {
    let n = values.len() / 3;
    Points::from_f64(values, n, 3).unwrap()
}

/// The data with a column of words, and landmarks: with the same names in another order and one more, and without names.
fn directory() -> Directory {
    let directory = Directory::new();
    let row = |row: &[f64]| format!("{},{},{},point\n", row[0], row[1], row[2]);
    directory.write("points.csv", "a,b,c,kind\n".to_owned() + &values().chunks(3).map(row).collect::<String>());
    let turned = |row: &[f64]| format!("{},{},chosen,{}\n", row[2], row[0], row[1]);
    directory.write("given.csv", "c,a,note,b\n".to_owned() + &given().chunks(3).map(turned).collect::<String>());
    let bytes: Vec<u8> = given().iter().flat_map(|x| x.to_le_bytes()).collect();
    directory.write("given.npy", npy("<f8", &format!("({GIVEN}, 3)"), &bytes));
    directory
}

/// What the library makes of these landmarks.
fn over(landmarks: Points, gamma: f64) -> NystromPca {
    let nystrom = Nystrom::new(Kernel::gaussian(gamma).unwrap()).landmarks(Landmarks::Given(landmarks));
    NystromPca::new(nystrom).n_components(2)
}

const FIT: &str = "fit points.csv --label kind --gram nystrom -n 2 -o points.mercer --json";

/// The record of a fit with these flags, and its model.
#[track_caller]
fn fitted(directory: &Directory, flags: &str) -> (Value, Model) {
    let outcome = directory.run(&format!("{FIT} {flags}")).done();
    (serde_json::from_str(&outcome.stdout).unwrap(), Model::load(&directory.path("points.mercer")).unwrap())
}

#[test]
fn landmarks_of_a_file_are_those_that_the_library_is_given() {
    let directory = directory();
    let expected = over(points(given()), 0.005).fit(&points(values())).unwrap();
    for file in ["given.csv", "given.npy", "./given.csv"] {
        let (record, model) = fitted(&directory, &format!("--gamma 0.005 --landmarks {file}"));
        assert_eq!(model.eigenvalues(), expected.eigenvalues(), "{file}");
        assert_eq!((&record["nystrom"]["landmarks"], &record["nystrom"]["n_landmarks"]), (&json!("given"), &json!(8)));
        assert_eq!(record["warnings"], json!([]), "{file}");
    }
    // Rows are drawn from the data and not from the landmarks.
    let (record, _) = fitted(&directory, "--gamma 0.005 --landmarks given.csv --rows 5:205 --sample 100");
    assert_eq!((&record["n_samples"], &record["nystrom"]["n_landmarks"]), (&json!(100), &json!(8)));
}

#[test]
fn landmarks_of_a_file_are_scaled_as_the_data_are() {
    let directory = directory();
    let half = |values: Vec<f64>| points(values.iter().map(|x| 0.5 * x).collect());
    let expected = over(half(given()), 0.02).fit(&half(values())).unwrap();
    let (_, model) = fitted(&directory, "--gamma 0.02 --scale 1/2 --landmarks given.csv");
    assert_eq!(model.eigenvalues(), expected.eigenvalues());

    // By the means of the data: their own are others.
    let scaling = Scaling::standardizing(&Moments::of(&points(values())));
    let scaled = |values: Vec<f64>| scaling.apply(&points(values)).unwrap();
    let expected = over(scaled(given()), 0.05).fit(&scaled(values())).unwrap();
    let (_, model) = fitted(&directory, "--gamma 0.05 --standardize --landmarks given.npy");
    for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found} and {expected}");
    }
}

#[test]
fn data_that_are_read_block_by_block_have_the_landmarks_of_a_file_too() {
    let directory = directory();
    let expected = over(points(given()), 0.005).fit_blocks(&mut points(values())).unwrap();
    let (_, model) = fitted(&directory, "--gamma 0.005 --blocks --landmarks given.csv");
    assert_eq!(model.eigenvalues(), expected.eigenvalues());
}

#[test]
fn landmarks_can_come_from_standard_input_where_the_data_do_not() {
    let directory = directory();
    let (_, expected) = fitted(&directory, "--gamma 0.005 --landmarks given.csv");
    let table = directory.read("given.csv");
    for flags in ["", "--blocks"] {
        let call = format!("{FIT} --gamma 0.005 --landmarks - {flags}");
        directory.run_with_input(&call, table.as_bytes()).done();
        let model = Model::load(&directory.path("points.mercer")).unwrap();
        for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
            assert!((found / expected - 1.0).abs() < 1e-9, "{call}: {found} and {expected}");
        }
    }
    let flags = "--label kind --gamma 0.005 --gram nystrom --landmarks -";
    directory.run_with_input(&format!("plan points.csv {flags} -n 2"), table.as_bytes()).done();
    directory.run_with_input(&format!("cluster points.csv {flags} -k 2 -o out.csv"), table.as_bytes()).done();
    // What is wrong there is told of it.
    let outcome = directory.run_with_input(&format!("plan points.csv {flags} -n 2"), b"a,b,c\n1,2,3\n1,2\n");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("standard input, line 3"), "{}", outcome.stderr);
    let message = "--landmarks - and the data cannot both come from standard input; give a file for one of them";
    for call in ["fit - -n 2 -o other.mercer", "plan - -n 2", "cluster - -k 2 -o out.csv"] {
        let outcome = directory.run_with_input(&format!("{call} {flags}"), table.as_bytes());
        assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
    }
}

#[test]
fn landmarks_that_are_there_twice_are_left_out_with_a_warning() {
    let directory = directory();
    let (_, expected) = fitted(&directory, "--gamma 0.005 --landmarks given.csv");
    let table = directory.read("given.csv");
    let copies: Vec<&str> = table.split_inclusive('\n').skip(1).take(2).collect();
    directory.write("twice.csv", [table.as_str(), &copies.concat()].concat());
    let (record, model) = fitted(&directory, "--gamma 0.005 --landmarks twice.csv");
    let warning = "2 of 10 landmarks are left out: to rounding in f64, they are combinations of the others";
    assert_eq!(record["warnings"], json!([warning]));
    for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} and {expected}");
    }
}

#[test]
fn landmarks_that_cannot_be_used_are_refused_and_nothing_is_written() {
    let directory = directory();
    directory.write("narrow.csv", "1,2\n3,4\n");
    directory.write("named.csv", "a,b,d\n1,2,3\n");
    directory.write("empty.csv", "a,b,c\n");
    directory.write("hole.csv", "a,b,c\n1,2,3\n1,NaN,3\n");
    let nystrom = |rest: &str| format!("--gram nystrom {rest}");
    for (flags, message) in [
        (nystrom("--landmarks narrow.csv"), "narrow.csv: landmarks need the 3 columns of points.csv, but here are 2"),
        (nystrom("--landmarks named.csv"), "named.csv: there is no column \"c\", which points.csv has"),
        (nystrom("--landmarks empty.csv"), "empty.csv: there is a header but no rows"),
        (nystrom("--landmarks hole.csv"), "hole.csv, line 3"),
        (nystrom("--landmarks missing.csv"), "missing.csv"),
        (nystrom("--landmarks kmean"), "`kmeans` is similar"),
        (
            nystrom("--landmarks given.csv --n-landmarks 3"),
            "--n-landmarks must be left out, or the number of landmarks that are given (8), but it is 3",
        ),
        (nystrom("--landmarks given.csv -n 9"), "between 1 and the number of landmarks (8)"),
        ("--landmarks given.csv".to_owned(), "--landmarks is for --gram nystrom, or with --accuracy, only"),
        (
            "--accuracy 0.1 --landmarks given.csv".to_owned(),
            "--landmarks given.csv is for --gram nystrom: --accuracy alone finds how many it takes",
        ),
    ] {
        for command in ["fit", "plan"] {
            let output = if command == "fit" { "-o points.mercer" } else { "" };
            let call = format!("{command} points.csv --label kind --gamma 0.005 {flags} {output}");
            let outcome = directory.run(&call);
            assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
            assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
        }
    }
    let table = directory.read("given.csv");
    let over = directory.run("fit points.csv --label kind --gram nystrom --landmarks given.csv -o given.csv");
    assert_eq!(over.code, Some(2), "{}", over.stderr);
    assert!(over.stderr.contains("given.csv is the file of landmarks: it would be replaced"), "{}", over.stderr);
    assert_eq!(directory.read("given.csv"), table);
    assert!(!directory.path("points.mercer").exists());
}

#[test]
fn a_plan_and_a_dry_run_say_that_landmarks_are_given() {
    let directory = directory();
    let flags = "points.csv --label kind --gamma 0.005 --gram nystrom --landmarks given.csv -n 2";
    for call in [format!("plan {flags}"), format!("fit {flags} --dry-run"), format!("plan {flags} --blocks")] {
        let said = directory.run(&call).done().stdout;
        assert!(said.contains("nystrom matrix in f64, 8 landmarks\n"), "{call}: {said}");
        assert!(said.contains("why         8 landmarks, as they were given\n"), "{call}: {said}");
    }
}

#[test]
fn clusters_over_landmarks_of_a_file_have_no_other_points() {
    let directory = directory();
    let flags = "--gamma 0.005 --gram nystrom --landmarks given.csv";
    let call = format!("cluster points.csv --label kind -k 2 {flags} --model heaps.mercer -o out.csv --json");
    let record: Value = serde_json::from_str(&directory.run(&call).done().stdout).unwrap();
    assert_eq!((&record["nystrom"]["landmarks"], &record["nystrom"]["n_landmarks"]), (&json!("given"), &json!(8)));
    let model = ClusterModel::load(&directory.path("heaps.mercer")).unwrap();
    assert_eq!((model.basis().n_samples(), model.labels().len()), (GIVEN, ROWS));
    directory.run("transform heaps.mercer points.csv --label kind -o again.csv").done();
    assert_eq!(directory.read("again.csv"), directory.read("out.csv"));
    let shown = directory.run("info heaps.mercer").done().stdout;
    assert!(shown.contains("landmarks   8 as they were given, which miss "), "{shown}");
}

#[test]
fn a_landmark_that_is_too_large_is_told_by_its_own_file_and_line() {
    let directory = directory();
    directory.write("large.csv", "a,b,c\n1,2,3\n1e200,2,3\n0,1,2\n");
    let flags = "points.csv --label kind --gamma 0.005 --gram nystrom --landmarks large.csv";
    for call in [
        format!("fit {flags} -n 2 -o points.mercer"),
        format!("fit {flags} -n 2 --blocks -o points.mercer"),
        format!("fit {flags} -n 2 --dry-run"),
        format!("plan {flags} -n 2"),
        format!("plan {flags} -n 2 --blocks"),
        format!("cluster {flags} -k 2 -o out.csv"),
    ] {
        let outcome = directory.run(&call);
        assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
        let message = "large.csv, line 3: the row is too large for the kernel's width: ";
        assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("; leave it out, scale the data, "), "{call}: {}", outcome.stderr);
    }
    // So is one that only a power makes too large.
    directory.write("large.csv", "a,b,c\n1,2,3\n1e60,2,3\n0,1,2\n");
    for call in [
        format!("fit {flags} -n 2 --kernel polynomial -o points.mercer"),
        format!("fit {flags} -n 2 --kernel polynomial --blocks -o points.mercer"),
        format!("plan {flags} -n 2 --kernel polynomial"),
        format!("cluster {flags} -k 2 --kernel polynomial -o out.csv"),
    ] {
        let outcome = directory.run(&call);
        assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
        let message = "large.csv, line 3: the polynomial kernel of the row with itself is inf, which overflows f64; leave it out, ";
        assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
    }
    // A row of the data is told as one.
    directory.write("far.csv", "a,b,c\n1e200,2,3\n".to_owned() + &"1,2,3\n0,1,2\n".repeat(20));
    let call = "fit far.csv --gamma 0.005 --gram nystrom --landmarks given.csv -n 2 -o far.mercer";
    let outcome = directory.run(call);
    assert!(outcome.stderr.contains("far.csv, line 2: the row is too large"), "{}", outcome.stderr);
}

#[test]
fn landmarks_of_a_file_that_do_not_suffice_are_told_as_such() {
    let directory = directory();
    directory.write("one.csv", "a,b,c\n1,2,3\n");
    directory.write("far.csv", "a,b,c\n1e4,2,3\n1e4,3,4\n1e4,5,9\n");
    let flags = "points.csv --label kind --gamma 0.005 --gram nystrom";
    for (call, message) in [
        (
            format!("cluster {flags} --landmarks one.csv -k 2 -o out.csv"),
            "--landmarks must be at least as many as eigenvectors (2), but it is 1 point",
        ),
        (
            format!("cluster {flags} --landmarks far.csv -k 2 -o out.csv"),
            "--landmarks must be points near every row, or the kernel wider: over these, row 0 has degree 0, where its own is ",
        ),
        (
            format!("fit {flags} --landmarks far.csv -n 2 -o points.mercer"),
            "the 3 landmarks know nothing of the 240 rows: to the kernel, all rows are equally unlike them; give others, or use a wider kernel",
        ),
    ] {
        let outcome = directory.run(&call);
        assert_eq!(outcome.code, Some(2), "{call}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{call}: {}", outcome.stderr);
    }
}
