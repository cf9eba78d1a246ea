//! The help of every command, word by word.
//!
//! After a change that is meant, write the new texts with `UPDATE_SNAPSHOTS=1 cargo test -p mercer-cli help`.

use std::fs;
use std::path::Path;

use super::support::{Directory, bent_line, mercer};

#[track_caller]
fn check_snapshot(name: &str, words: &[&str]) {
    let output = mercer().args(words).output().unwrap();
    assert!(output.status.success());
    let found = String::from_utf8(output.stdout).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap();
    assert_eq!(found, expected, "the help of {words:?} is not what {name} says");
}

#[test]
fn help_says_what_it_said() {
    check_snapshot("mercer.txt", &["--help"]);
    for command in ["fit", "transform", "info", "demo"] {
        check_snapshot(&format!("{command}.txt"), &[command, "--help"]);
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let outcome = Directory::new().run("--version").done();
    assert_eq!(outcome.stdout, format!("mercer {}\n", env!("CARGO_PKG_VERSION")));
}

/// The lines after `Example` that can be typed.
fn examples(help: &str) -> Vec<String> {
    let after = help.split_once("\nExample").map(|(_, after)| after.to_owned()).unwrap_or_default();
    after.lines().filter_map(|line| line.trim().strip_prefix("mercer ")).map(str::to_owned).collect()
}

#[test]
fn the_examples_in_the_help_can_be_run() {
    let directory = Directory::new();
    let digits = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/digits/digits.csv");
    fs::copy(digits, directory.path("digits.csv")).unwrap();
    fs::copy(directory.path("digits.csv"), directory.path("new.csv")).unwrap();
    directory.write("points.csv", bent_line().replace(",low", ",1").replace(",high", ",2"));
    let pixels: Vec<u8> = (0..30_u8 * 4).map(|i| i.wrapping_mul(37)).collect();
    directory.write("images.npy", super::support::npy("|u1", "(30, 2, 2)", &pixels));
    for (command, at_least) in [("demo", 2), ("fit", 2), ("transform", 1), ("info", 1)] {
        let help = directory.run(&format!("{command} --help")).done().stdout;
        let examples = examples(&help);
        assert!(examples.len() >= at_least, "{command}: {help}");
        for example in examples {
            let outcome = directory.run(&example.replace("/tmp/", ""));
            assert_eq!(outcome.code, Some(0), "mercer {example}: {}", outcome.stderr);
        }
    }
}
