//! Standard output, standard error, and what happens when nobody reads them.

use std::process::Stdio;

use super::support::{Directory, bent_line, mercer};

#[test]
fn a_reader_that_goes_away_is_success() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o points.mercer").done();
    // More than a pipe holds, so that the command must notice.
    let many: String = std::iter::once("x,y\n".to_owned()).chain((0..20_000).map(|i| format!("{i},1\n"))).collect();
    directory.write("many.csv", many);
    let mut child = mercer()
        .args(["transform", "points.mercer", "many.csv"])
        .current_dir(directory.root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{talk}");
    assert!(!talk.contains("error"), "{talk}");
}

#[test]
fn a_device_that_is_full_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o points.mercer").done();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = mercer().args(["info", "points.mercer"]).current_dir(directory.root()).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(talk, "error: writing to standard output: no space left on device\n");
}

#[test]
fn progress_without_a_terminal_is_one_plain_line_per_step() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -o points.mercer").done();
    assert!(outcome.stderr.lines().count() >= 2, "{}", outcome.stderr);
    assert!(!outcome.stderr.contains(['\r', '\x1b']), "{:?}", outcome.stderr);
    assert_eq!(directory.run("fit points.csv --label half -o points.mercer --quiet").done().stderr, "");
}

#[test]
fn progress_is_shown_as_it_was_asked_for() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let said = |style: &str| {
        let words = format!("fit points.csv --label half -o points.mercer --solver lanczos --progress {style}");
        directory.run(&words).done().stderr
    };
    let plain = said("plain");
    assert!(plain.starts_with("reading points.csv\ncentring, pass 1 of about "), "{plain}");
    assert_eq!(said("auto"), plain, "standard error is no terminal");
    assert_eq!(said("none"), "model saved as points.mercer\n");
    let bar = said("bar");
    assert!(bar.contains("\r\x1b[Kreading points.csv") && bar.contains('['), "{bar:?}");
    assert!(bar.ends_with("\r\x1b[Kmodel saved as points.mercer\n"), "the bar is gone before anything else: {bar:?}");
    assert!(!bar.contains("\x1b[1"), "no colours without a terminal: {bar:?}");
}
