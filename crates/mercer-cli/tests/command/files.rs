//! Files that cannot be read or written, a disk that is full, a process that is killed: the old file or none.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::{Directory, bent_line, mercer};

/// A directory with a model, points for it, and a file of scores that must survive.
fn with_old_scores(rows: usize) -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 3 -o points.mercer --quiet").done();
    let line = |i: usize| format!("{},{}\n", (i % 1013) as f64 / 250.0, (i * i % 10_007) as f64 / 1000.0);
    directory.write("many.csv", (0..rows).map(line).collect::<String>());
    directory.write("scores.csv", "old");
    directory
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_scores() {
    let directory = with_old_scores(20_000);
    for name in ["scores.csv", "scores.npy", "scores.npz", "scores.parquet", "scores.arrow", "scores.libsvm"] {
        directory.write(name, "old");
        let before = directory.files();
        let (code, stderr) =
            directory.run_with_small_disk(100, &format!("transform points.mercer many.csv -o {name} --quiet"));
        assert_eq!((code, stderr.as_str()), (Some(2), format!("error: writing {name}: file too large\n").as_str()));
        assert_eq!(directory.read(name), "old");
        assert_eq!(directory.files(), before, "{name}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_model() {
    let directory = with_old_scores(2000);
    directory.write("old.mercer", "old");
    let before = directory.files();
    let (code, stderr) = directory.run_with_small_disk(40, "fit many.csv -n 3 --gamma 0.01 -o old.mercer --quiet");
    assert_eq!((code, stderr.as_str()), (Some(2), "error: writing old.mercer: file too large\n"));
    assert_eq!(directory.read("old.mercer"), "old");
    assert_eq!(directory.files(), before);
}

#[cfg(unix)]
#[test]
fn a_full_temporary_folder_is_called_by_its_name() {
    let directory = with_old_scores(10);
    // Rows of mostly blanks, in more than one block of 8 MiB: what is written may fill a buffer or not, the folder is full all the same.
    let hint =
        "hint: what goes to standard output or a pipe waits there until it is complete; TMPDIR names another folder\n";
    for (rows, blanks) in [(100, 100_000), (9000, 1000)] {
        let line = |i: usize| format!("{},{}{}\n", i % 7, " ".repeat(blanks), i % 5);
        directory.write("wide.csv", (0..rows).map(line).collect::<String>());
        for command in ["transform", "score"] {
            let (code, stderr) = directory.run_with_small_disk(0, &format!("{command} points.mercer wide.csv --quiet"));
            let expected = format!("error: writing {}: file too large\n{hint}", std::env::temp_dir().display());
            assert_eq!((code, stderr), (Some(2), expected), "{rows} rows, {command}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_killed_process_leaves_the_old_scores() {
    let directory = with_old_scores(300_000);
    let mut child = mercer()
        .args(["transform", "points.mercer", "many.csv", "-o", "scores.csv", "--quiet"])
        .current_dir(directory.root())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until the file beside the old one has begun to fill.
    let deadline = Instant::now() + Duration::from_secs(60);
    let is_writing = || {
        let parts = fs::read_dir(directory.root()).unwrap().filter_map(Result::ok);
        parts.into_iter().any(|entry| {
            entry.file_name().to_string_lossy().ends_with(".part")
                && entry.metadata().is_ok_and(|found| found.len() > 0)
        })
    };
    while !is_writing() && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "nothing was written within a minute");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let scores = directory.read("scores.csv");
    if status.success() {
        assert_eq!(scores.lines().count(), 300_001, "it was done before it was killed: then it is complete");
        return;
    }
    assert_eq!(scores, "old");
    // What it was writing is cleared away by the next one that writes the same file, and by nobody else.
    let parts = || directory.files().into_iter().filter(|name| name.contains(".part")).collect::<Vec<_>>();
    let left = parts();
    assert!(left.len() == 1 && left[0].starts_with("scores.csv."), "{left:?}");
    let words = "transform points.mercer points.csv --label half --quiet -o";
    directory.run(&format!("{words} other.csv")).done();
    assert_eq!(parts(), left);
    directory.run(&format!("{words} scores.csv")).done();
    assert!(parts().is_empty() && directory.read("scores.csv").lines().count() == 13);
}

#[test]
fn a_run_clears_away_what_killed_ones_left_of_its_files_and_nothing_else() {
    let directory = with_old_scores(10);
    let left = ["m.mercer.12-0.part", "m.json.12-0.part", "m.checkpoint.12-3.part"];
    let others = ["n.mercer.12-0.part", "m.mercer.12.part", "m.mercer.part"];
    for name in left.iter().chain(&others) {
        directory.write(name, "half");
    }
    let words = "fit points.csv --label half -n 2 --solver lanczos --quiet -o m.mercer --record m.json --checkpoint";
    directory.run(&format!("{words} m.checkpoint")).done();
    let mut expected = vec!["m.json", "m.mercer", "many.csv", "points.csv", "points.mercer", "scores.csv"];
    expected.extend(others);
    expected.sort_unstable();
    assert_eq!(directory.files(), expected);
}

#[test]
fn what_another_run_is_writing_is_not_touched() {
    let directory = with_old_scores(10);
    directory.write("new.csv.12-0.part", "half");
    let other = fs::File::open(directory.path("new.csv.12-0.part")).unwrap();
    other.lock().unwrap();
    directory.run("transform points.mercer points.csv --label half --quiet -o new.csv").done();
    assert_eq!(directory.read("new.csv.12-0.part"), "half");
    drop(other);
    directory.run("transform points.mercer points.csv --label half --quiet -o new.csv").done();
    assert!(!directory.path("new.csv.12-0.part").exists());
}

/// The command as somebody who may not do everything: for the superuser, permissions are no obstacle.
#[cfg(unix)]
fn run_as_anybody(directory: &Directory, words: &str) -> (Option<i32>, String) {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let mut command = mercer();
    // Files that this process makes are its user's.
    if fs::metadata(directory.path("scores.csv")).unwrap().uid() == 0 {
        // Where anybody can reach it.
        let program = directory.path("program");
        if !program.exists() {
            fs::copy(env!("CARGO_BIN_EXE_mercer"), &program).unwrap();
            fs::set_permissions(directory.root(), fs::Permissions::from_mode(0o755)).unwrap();
        }
        command = std::process::Command::new(program);
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.args(words.split_whitespace()).current_dir(directory.root()).output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(unix)]
#[test]
fn a_place_without_permission_is_refused_before_the_work() {
    use std::os::unix::fs::PermissionsExt;
    let directory = with_old_scores(10);
    let folder = directory.path("locked");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    fs::set_permissions(directory.path("many.csv"), fs::Permissions::from_mode(0o000)).unwrap();
    let refused = |words: &str, expected: &str| {
        let (code, stderr) = run_as_anybody(&directory, &format!("{words} --progress none"));
        assert_eq!((code, stderr.as_str()), (Some(2), expected), "{words}");
    };
    let expected = "error: writing locked/scores.csv: permission denied\n";
    refused("transform points.mercer points.csv --label half -o locked/scores.csv", expected);
    refused("transform points.mercer many.csv", "error: reading many.csv: permission denied\n");
    refused("fit points.csv --label half -o locked/m.mercer", "error: writing locked/m.mercer: permission denied\n");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn what_is_replaced_keeps_its_permissions_and_what_a_link_points_to_is_written() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    const NOBODY: u32 = 65534;
    let directory = with_old_scores(10);
    let mode = |name: &str| fs::metadata(directory.path(name)).unwrap().permissions().mode() & 0o777;
    for name in ["scores.csv", "points.mercer", "run.json"] {
        directory.write(name, "old");
        fs::set_permissions(directory.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    // Only the superuser can give files away.
    let is_given_away = chown(directory.path("scores.csv"), Some(NOBODY), Some(NOBODY)).is_ok();
    fs::create_dir(directory.path("elsewhere")).unwrap();
    symlink("elsewhere/linked.csv", directory.path("link.csv")).unwrap();
    directory.run("fit points.csv --label half -n 2 -o points.mercer --quiet --record run.json").done();
    directory.run("transform points.mercer points.csv --label half -o scores.csv --quiet").done();
    directory.run("transform points.mercer points.csv --label half -o link.csv --quiet").done();
    for name in ["scores.csv", "points.mercer", "run.json"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    let owned = fs::metadata(directory.path("scores.csv")).unwrap();
    assert!(!is_given_away || (owned.uid(), owned.gid()) == (NOBODY, NOBODY));
    assert!(fs::symlink_metadata(directory.path("link.csv")).unwrap().is_symlink());
    assert_eq!(directory.read("elsewhere/linked.csv"), directory.read("scores.csv"));
    // A link and what it would be written to are one place.
    fs::remove_file(directory.path("elsewhere/linked.csv")).unwrap();
    let twice = "transform points.mercer points.csv --label half -o link.csv --record elsewhere/linked.csv";
    let outcome = directory.run(twice);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("is named for two outputs"), "{}", outcome.stderr);
}

#[test]
fn a_place_that_is_not_there_is_refused_before_the_work() {
    let directory = with_old_scores(10);
    let before = directory.files();
    for (words, expected) in [
        ("transform points.mercer none.csv -o new.csv", "error: reading none.csv: no such file or directory\n"),
        ("transform points.mercer many.csv -o no/new.csv", "error: writing no/new.csv: no such file or directory\n"),
        ("fit none.parquet -o x.mercer", "error: reading none.parquet: no such file or directory\n"),
        ("fit none.npz -o x.mercer", "error: reading none.npz: no such file or directory\n"),
        ("fit none.list -o x.mercer", "error: reading none.list: no such file or directory\n"),
    ] {
        let outcome = directory.run(&format!("{words} --progress none"));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected), "{words}");
        assert_eq!(directory.files(), before);
    }
}

#[test]
fn a_record_that_cannot_be_written_does_not_hide_that_the_model_was() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let directory = with_old_scores(10);
    for (words, written) in [
        ("fit points.csv --label half -o new.mercer", "new.mercer is"),
        ("transform points.mercer many.csv -o scores.csv", "scores.csv is"),
        ("cluster points.csv --label half -k 2 -o in.csv --model in.mercer", "in.csv, in.mercer are"),
    ] {
        let outcome = directory.run(&format!("{words} --record /dev/full --quiet"));
        let expected = format!(
            "error: writing /dev/full: no space left on device\nhint: {written} written and complete: only the record is missing\n"
        );
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected.as_str()), "{words}");
    }
    assert_ne!(directory.read("scores.csv"), "old");
    let outcome = directory.run("plan points.csv --label half --record /dev/full --quiet");
    assert_eq!(outcome.stderr, "error: writing /dev/full: no space left on device\n");
}
