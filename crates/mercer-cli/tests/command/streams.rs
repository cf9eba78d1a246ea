//! Standard output, standard error, and what happens when nobody reads them.

#[cfg(unix)]
use std::process::Command;
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
fn help_that_a_full_device_does_not_take_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    for words in [["--help"].as_slice(), &["--version"], &["help"], &["help", "fit"], &["fit", "--help"]] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = mercer().args(words).stdout(full).output().unwrap();
        let talk = String::from_utf8(output.stderr).unwrap();
        let expected = "error: writing to standard output: no space left on device\n";
        assert_eq!((output.status.code(), talk.as_str()), (Some(2), expected), "{words:?}");
    }
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

#[test]
fn being_quiet_does_not_withhold_a_table_that_was_asked_for() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -o points.mercer --quiet").done();
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("", ""), "the model is what a fit is for");
    for words in [
        "info points.mercer",
        "plan points.csv --label half",
        "compare points.csv --label half --methods dense,krylov",
        "tune points.csv --label half",
        "classify points.csv --label half --gamma 1 --folds 2",
    ] {
        let outcome = directory.run(&format!("{words} --quiet")).done();
        assert_eq!(outcome.stderr, "", "{words}");
        assert!(outcome.stdout.lines().count() >= 2, "{words}: {}", outcome.stdout);
    }
}

#[cfg(unix)]
#[test]
fn named_pipes_get_rows_and_record_whole() {
    use std::time::{Duration, Instant};

    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o points.mercer --quiet").done();
    let rows = directory.run("transform points.mercer points.csv --label half").done().stdout;
    let readers = ["rows.csv", "run.json"].map(|name| {
        let path = directory.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        std::thread::spawn(move || std::fs::read_to_string(path).unwrap())
    });
    let mut child = mercer()
        .args(["transform", "points.mercer", "points.csv", "--label", "half", "-o", "rows.csv", "--record", "run.json"])
        .current_dir(directory.root())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let from = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if from.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("it waits for readers that have gone");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success());
    let [read, record] = readers.map(|reader| reader.join().unwrap());
    assert_eq!(read, rows);
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["command"], &record["n_samples"]), (&"transform".into(), &12.into()));
}

#[cfg(unix)]
#[test]
fn a_model_does_not_replace_a_pipe() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    assert!(Command::new("mkfifo").arg(directory.path("pipe")).status().unwrap().success());
    for words in ["-o pipe", "-o points.mercer --checkpoint pipe"] {
        let outcome = directory.run(&format!("fit points.csv --label half {words}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}");
        assert_eq!(outcome.stderr, "error: pipe is not a file, so it cannot be replaced by one; give another name\n");
        assert_eq!(directory.files(), ["pipe", "points.csv"]);
    }
}

#[cfg(unix)]
#[test]
fn formats_that_are_read_from_their_end_are_refused_from_a_pipe() {
    let directory = Directory::new();
    for (name, said) in [("one.npz", "an .npz file"), ("one.parquet", "Parquet"), ("one.arrow", "Arrow IPC")] {
        let pipe = directory.path(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // It must not wait for one who never writes.
        let writer = std::thread::spawn(move || std::fs::write(pipe, "PK"));
        let outcome = directory.run(&format!("fit {name} -o points.mercer --quiet"));
        // The pipe may be gone before anything is in it.
        drop(writer.join().unwrap());
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{name}");
        let expected = format!(
            "error: {name}: {said} cannot be read from a pipe or a device\nhint: write it to a file first; CSV, .npy and IDX can come from a pipe\n"
        );
        assert_eq!(outcome.stderr, expected);
    }
}

/// What a terminal shows of a call, and the exit code. `None` where there is no `script`, which runs a command on a terminal of its own.
#[cfg(target_os = "linux")]
fn on_a_terminal(directory: &Directory, words: &str, no_color: Option<&str>) -> Option<(String, Option<i32>)> {
    let call = format!("'{}' {words}", env!("CARGO_BIN_EXE_mercer"));
    let mut script = Command::new("script");
    script.args(["--quiet", "--return", "--command", &call, "/dev/null"]).current_dir(directory.root());
    script.env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm").stdin(Stdio::null());
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    let output = match script.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        other => other.unwrap(),
    };
    Some((String::from_utf8(output.stdout).unwrap(), output.status.code()))
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_a_bar_and_the_colours_that_it_wants() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let wrong = "fit none.csv -o points.mercer";
    let Some((colored, code)) = on_a_terminal(&directory, wrong, None) else { return };
    assert_eq!(code, Some(2), "{colored:?}");
    assert!(colored.contains("\x1b[1;31merror:\x1b[0m reading none.csv"), "{colored:?}");
    let shown = |words: &str, no_color| on_a_terminal(&directory, words, no_color).unwrap().0;
    let plain = shown(wrong, Some("1"));
    assert!(plain.contains("error: reading none.csv") && !plain.contains("\x1b[1"), "{plain:?}");
    assert!(shown(wrong, Some("")).contains("\x1b[1;31merror:"), "an empty value is none");
    let bar = shown("fit points.csv --label half -o points.mercer", Some("1"));
    assert!(bar.contains("\r\x1b[Kreading points.csv"), "{bar:?}");
    assert!(!shown("fit points.csv --label half -o points.mercer --progress plain", None).contains("\x1b[K"));
}
