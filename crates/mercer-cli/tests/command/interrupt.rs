//! Ctrl-C, requests to terminate, and time limits, with real processes.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mercer::Model;

use super::support::{Directory, mercer, npy};

/// What the command promises: a stop within this time.
const PROMISE: Duration = Duration::from_secs(2);

/// Rows of noise: a flat spectrum, on which slow solvers take minutes.
fn noise(rows: usize, columns: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as f64 / f64::from(1_u32 << 31)).to_le_bytes()
    };
    let bytes: Vec<u8> = (0..rows * columns).flat_map(|_| next()).collect();
    npy("<f8", &format!("({rows}, {columns})"), &bytes)
}

/// A fit of this takes far longer than any test waits for it.
const LONG_FIT: &str = "fit noise.npy --solver power -n 30 --tolerance 1e-12 --gamma 1 -o noise.mercer";

/// A process of the command with its standard error at hand.
struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Running {
    fn start(directory: &Directory, words: &str) -> Self {
        let mut child = mercer()
            .args(words.split_whitespace())
            .current_dir(directory.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, said: String::new() }
    }

    /// Waits until the process says something.
    #[track_caller]
    fn wait_for(&mut self, words: &str) {
        while !self.said.contains(words) {
            let read = self.stderr.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it ended without saying {words:?}: {}", self.said);
        }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }

    /// Waits for the end and returns the exit code, the time since `from`, and everything that was said.
    fn end(mut self, from: Instant) -> (Option<i32>, Duration, String) {
        self.stderr.read_to_string(&mut self.said).unwrap();
        let status = self.child.wait().unwrap();
        (status.code(), from.elapsed(), self.said)
    }
}

fn is_usable(directory: &Directory) {
    let model = Model::load(&directory.path("noise.mercer")).unwrap();
    assert!(!model.converged() && model.n_components() > 0);
    assert!(model.residuals().iter().all(|residual| residual.is_finite()));
    directory.write("few.npy", noise(5, 10));
    directory.run("transform noise.mercer few.npy -o few.csv").done();
    assert_eq!(directory.read("few.csv").lines().count(), 6);
}

fn stopped_fit_saves_the_best_so_far(signal: &str) {
    let directory = Directory::new();
    directory.write("noise.npy", noise(2000, 10));
    let mut running = Running::start(&directory, &format!("{LONG_FIT} --record run.json"));
    running.wait_for("pass 3");
    let from = Instant::now();
    running.signal(signal);
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(1), "{said}");
    assert!(time < PROMISE, "{time:?}");
    assert!(said.contains("stopping at the next safe point"), "{said}");
    assert!(said.contains("model saved as noise.mercer\n"), "{said}");
    assert!(said.contains("interrupted: noise.mercer holds the best model so far; largest residual "), "{said}");
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!((&record["exit_code"], &record["converged"]), (&1.into(), &false.into()));
    // Of those that were asked for, as the record says.
    assert!(said.contains(" of 30 components converged"), "{said}");
    assert!(record["warnings"].to_string().contains(" of 30 components converged"), "{record}");
    is_usable(&directory);
}

#[test]
fn ctrl_c_saves_the_best_model_so_far_within_two_seconds() {
    stopped_fit_saves_the_best_so_far("INT");
}

#[test]
fn a_request_to_terminate_does_what_ctrl_c_does() {
    stopped_fit_saves_the_best_so_far("TERM");
}

#[test]
fn block_solvers_stop_in_the_middle_of_a_pass() {
    for solver in ["krylov", "subspace", "lanczos"] {
        let directory = Directory::new();
        directory.write("noise.npy", noise(4000, 10));
        let words = format!(
            "fit noise.npy --solver {solver} --gram tiled -n 20 --tolerance 1e-14 --gamma 1 -o noise.mercer --progress plain"
        );
        let mut running = Running::start(&directory, &words);
        running.wait_for("pass 2");
        let from = Instant::now();
        running.signal("INT");
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(1), "{solver}: {said}");
        assert!(time < PROMISE, "{solver}: {time:?}");
        is_usable(&directory);
    }
}

/// Without an end, its ten restarts of k-means take far longer than any test waits.
const LONG_CLUSTERING: &str =
    "cluster noise.npy -k 30 --gamma 20 --gram expansion --tolerance 1e-6 -o clusters.csv --progress plain";

#[test]
fn clusters_of_a_run_that_was_stopped_are_not_looked_for_without_end() {
    // While eigenvectors are sought, and while clusters are.
    for words in ["pass 2", "clustering"] {
        let directory = Directory::new();
        directory.write("noise.npy", noise(30_000, 3));
        let mut running = Running::start(&directory, LONG_CLUSTERING);
        running.wait_for(words);
        let from = Instant::now();
        running.signal("INT");
        let (code, time, said) = running.end(from);
        assert!(time < PROMISE, "{words}: {time:?}");
        // A machine that is busy has no clusters within a moment.
        assert!(matches!(code, Some(1 | 130)), "{words}: {said}");
        assert_eq!(directory.files().contains(&"clusters.csv".to_owned()), code == Some(1), "{words}: {said}");
        if code == Some(1) {
            assert_eq!(directory.read("clusters.csv").lines().count(), 30_001);
            assert!(said.contains(": the run was stopped\n"), "{words}: {said}");
        }
    }
}

#[test]
fn a_time_limit_is_for_clusters_too() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(30_000, 3));
    let from = Instant::now();
    let running = Running::start(&directory, &format!("{LONG_CLUSTERING} --time-limit 1s"));
    let (code, time, said) = running.end(from);
    assert!(time < Duration::from_secs(1) + PROMISE, "{time:?}");
    assert!(matches!(code, Some(1 | 2)), "{said}");
}

#[test]
fn an_expansion_stops_while_it_is_set_up() {
    let directory = Directory::new();
    // Nearly all points in one corner, so that one place of the expansion has all the work.
    let mut values: Vec<f64> = (0..3_000_000_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761)) * 5e-12).collect();
    values[..3].fill(1.0);
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    directory.write("heap.npy", npy("<f8", "(1000000, 3)", &bytes));
    // In the middle of what comes first, and later, of clusters and of a grid.
    for (gamma, milliseconds) in [(1e4, 0), (1e4, 2000), (100.0, 1000)] {
        let words = format!("fit heap.npy --gram expansion --gamma {gamma} -n 3 -o heap.mercer --progress plain");
        let mut running = Running::start(&directory, &words);
        running.wait_for("packing");
        std::thread::sleep(Duration::from_millis(milliseconds));
        let from = Instant::now();
        running.signal("INT");
        let (code, time, said) = running.end(from);
        assert!(matches!(code, Some(1 | 130)), "{words}: {said}");
        assert!(time < PROMISE, "{words}, after {milliseconds} ms: {time:?}");
    }
}

#[test]
fn the_kernel_hebbian_algorithm_stops_in_the_middle_of_a_pass() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(8000, 10));
    let words = "fit noise.npy --solver hebbian --gram tiled -n 20 --gamma 1 --eta0 0.1 --passes 10000 -o noise.mercer \
                 --progress plain --checkpoint state --checkpoint-every 1ms";
    let mut running = Running::start(&directory, words);
    running.wait_for("pass 2 of about 10000");
    let from = Instant::now();
    running.signal("INT");
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(1), "{said}");
    assert!(time < PROMISE, "{time:?}");
    assert!(said.contains("interrupted: noise.mercer holds the best model so far, after "), "{said}");
    assert!(said.contains("state holds its state: --resume goes on"), "{said}");
    is_usable(&directory);
}

#[test]
fn a_time_limit_does_the_same() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(2000, 10));
    let from = Instant::now();
    let running = Running::start(&directory, &format!("{LONG_FIT} --time-limit 3s"));
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(1), "{said}");
    assert!(time < Duration::from_secs(3) + PROMISE, "{time:?}");
    assert!(said.contains("out of time: noise.mercer holds the best model so far; largest residual "), "{said}");
    is_usable(&directory);
}

#[test]
fn a_share_of_the_variance_that_was_not_reached_in_time_is_not_done() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(2000, 10));
    let outcome = directory.run("fit noise.npy --variance 0.9999 --gamma 1 --time-limit 3s -o noise.mercer");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("out of time: noise.mercer holds the best model so far"), "{}", outcome.stderr);
    assert!(
        Model::load(&directory.path("noise.mercer")).unwrap().explained_variance_ratio().iter().sum::<f64>() < 0.9999
    );
}

#[test]
fn a_dense_decomposition_is_left_behind() {
    for signal in ["INT", "TERM"] {
        let directory = Directory::new();
        directory.write("noise.npy", noise(3000, 10));
        let mut running = Running::start(&directory, "fit noise.npy --solver dense -n 3 -o noise.mercer");
        running.wait_for("pass 1");
        // The matrix is there within a moment, its eigenvectors are not.
        std::thread::sleep(Duration::from_secs(1));
        let from = Instant::now();
        running.signal(signal);
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(130), "{said}");
        assert!(time < PROMISE, "{time:?}");
        assert!(said.contains("error: stopped during solving, before there was a result"), "{said}");
        assert_eq!(directory.files(), ["noise.npy"]);
    }
}

#[test]
fn a_dense_decomposition_has_no_more_time_than_there_is() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(3000, 10));
    let from = Instant::now();
    let words = "fit noise.npy --solver dense -n 3 -o noise.mercer --time-limit 2s";
    let (code, time, said) = Running::start(&directory, words).end(from);
    assert_eq!(code, Some(2), "{said}");
    assert!(time < Duration::from_secs(2) + PROMISE, "{time:?}");
    assert!(said.contains("error: --time-limit is too short: stopped during solving"), "{said}");
    assert_eq!(directory.files(), ["noise.npy"]);
}

#[test]
fn twice_quits_at_once_and_leaves_nothing() {
    let directory = Directory::new();
    directory.write("some.npy", noise(2000, 10));
    directory.run("fit some.npy -n 3 --gamma 1 -o some.mercer --tolerance 1e-3 --quiet").done();
    directory.write("many.npy", noise(100_000, 10));
    let mut running = Running::start(&directory, "transform some.mercer many.npy --threads 1");
    // Nobody reads on, so it soon waits where there are no safe points.
    let mut stdout = running.child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    running.signal("INT");
    running.wait_for("press Ctrl-C again to quit at once");
    // As `timeout` signals a process and then its group: the same wish, not a second one.
    running.signal("INT");
    std::thread::sleep(Duration::from_millis(600));
    assert!(running.child.try_wait().unwrap().is_none(), "it has quit");
    let from = Instant::now();
    running.signal("INT");
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(130), "{said}");
    assert!(time < PROMISE, "{time:?}");
    assert!(!said.contains("error"), "{said}");
    assert_eq!(directory.files(), ["many.npy", "some.mercer", "some.npy"]);
}

#[test]
fn waiting_for_the_reader_of_a_pipe_ends_at_once() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(50, 10));
    directory.run("fit noise.npy -o noise.mercer --quiet").done();
    assert!(Command::new("mkfifo").arg(directory.path("pipe.csv")).status().unwrap().success());
    for (words, signal) in
        [("transform noise.mercer noise.npy -o pipe.csv", "INT"), ("info noise.mercer --record pipe.csv", "TERM")]
    {
        let running = Running::start(&directory, words);
        std::thread::sleep(Duration::from_secs(1));
        let from = Instant::now();
        running.signal(signal);
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(130), "{words}: {said}");
        assert!(time < PROMISE, "{words}: {time:?}");
        assert_eq!(said, "interrupted before there was anything to save\n", "{words}");
    }
}

#[test]
fn while_reading_there_is_nothing_to_save_and_once_is_enough() {
    let directory = Directory::new();
    for words in ["fit - -o out.mercer", "plan -", "compare -"] {
        // Standard input stays open, so reading never ends.
        let mut running = Running::start(&directory, words);
        running.wait_for("reading standard input");
        std::thread::sleep(Duration::from_millis(100));
        let from = Instant::now();
        running.signal("INT");
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(130), "{words}: {said}");
        assert!(time < PROMISE, "{words}: {time:?}");
        assert!(said.ends_with("interrupted before there was anything to save\n"), "{words}: {said}");
        assert!(directory.files().is_empty(), "{words}");
    }
}

#[test]
fn a_time_limit_ends_a_command_that_is_still_reading() {
    let directory = Directory::new();
    for words in [
        "fit - -o out.mercer",
        "fit - --method autoencoder -o out.mercer",
        "cluster - -k 2 -o out.csv",
        "compare - --methods krylov,power",
    ] {
        // Standard input stays open, so reading never ends.
        let from = Instant::now();
        let mut running = Running::start(&directory, &format!("{words} --time-limit 1500ms --json"));
        let mut record = String::new();
        running.child.stdout.take().unwrap().read_to_string(&mut record).unwrap();
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(2), "{words}: {said}");
        let (limit, text) = (Duration::from_millis(1500), "--time-limit is too short: stopped during reading, ");
        assert!(time >= limit && time < limit + PROMISE, "{words}: {time:?}");
        assert!(said.contains(&format!("error: {text}before there was a result\n")), "{words}: {said}");
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!((&record["error"]["kind"], &record["exit_code"]), (&"usage".into(), &2.into()), "{record}");
        assert!(directory.files().is_empty(), "{words}");
    }
    // What a fit would do is told whatever time it would have.
    let rows = "1,2\n3,4\n0,1\n5,0\n".repeat(10);
    directory.run_with_input("fit - --dry-run --time-limit 0.001ms", rows.as_bytes()).done();
}

#[test]
fn a_stopped_transform_or_score_leaves_the_old_file() {
    let directory = Directory::new();
    directory.write("some.npy", noise(2000, 10));
    directory.run("fit some.npy -n 3 --gamma 1 -o some.mercer --tolerance 1e-3 --quiet").done();
    directory.write("many.npy", noise(400_000, 10));
    directory.write("out.csv", "the old one\n");
    for command in ["transform", "score"] {
        let mut running = Running::start(&directory, &format!("{command} some.mercer many.npy -o out.csv --threads 1"));
        running.wait_for("transforming");
        let from = Instant::now();
        running.signal("INT");
        let (code, time, said) = running.end(from);
        assert_eq!(code, Some(130), "{command}: {said}");
        assert!(time < PROMISE, "{command}: {time:?}");
        assert!(said.contains("error: stopped during transforming"), "{command}: {said}");
        assert_eq!(directory.read("out.csv"), "the old one\n");
        assert_eq!(directory.files(), ["many.npy", "out.csv", "some.mercer", "some.npy"], "{command}");
    }
}

#[test]
fn an_interrupted_demo_leaves_no_empty_folder() {
    let directory = Directory::new();
    let mut running = Running::start(&directory, "demo --progress plain");
    running.wait_for("pass");
    let from = Instant::now();
    running.signal("INT");
    let (code, time, said) = running.end(from);
    assert!(time < PROMISE, "{time:?}");
    // Stopped at once, there is nothing; a moment later the pictures are there.
    assert_eq!(directory.files().is_empty(), code == Some(130), "{said}");
}

#[test]
fn an_interrupted_comparison_shows_the_methods_that_are_done() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(1000, 10));
    let words = "compare noise.npy --methods krylov,power,lanczos -n 10 --gamma 1 --tolerance 1e-12";
    let mut running = Running::start(&directory, words);
    running.wait_for("power:");
    running.wait_for("pass 2");
    let from = Instant::now();
    running.signal("INT");
    let mut table = String::new();
    running.child.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(1), "{said}");
    assert!(time < PROMISE, "{time:?}");
    assert!(said.contains("the methods that follow were not run"), "{said}");
    assert!(table.contains("\nkrylov ") && table.contains("\npower ") && !table.contains("\nlanczos "), "{table}");
}

#[test]
fn a_time_limit_is_for_all_methods_of_a_comparison_together() {
    let directory = Directory::new();
    directory.write("noise.npy", noise(2000, 10));
    let words =
        "compare noise.npy --methods power,tiled/power,lanczos -n 30 --gamma 1 --tolerance 1e-12 --time-limit 3s";
    let from = Instant::now();
    let mut running = Running::start(&directory, words);
    let mut table = String::new();
    running.child.stdout.take().unwrap().read_to_string(&mut table).unwrap();
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(1), "{said}");
    assert!(time < Duration::from_secs(3) + PROMISE, "{time:?}");
    assert!(said.contains("warning: out of time: the methods that follow were not run\n"), "{said}");
    assert!(table.contains("\npower ") && !table.contains("tiled/power") && !table.contains("lanczos"), "{table}");
}

#[test]
fn quitting_while_a_file_is_written_leaves_nothing_of_it() {
    let directory = Directory::new();
    directory.write("some.npy", noise(60, 100));
    directory.run("fit some.npy -n 3 --gamma 0.1 -o some.mercer --quiet").done();
    directory.write("out.csv", "the old one\n");
    // Scores of what has come are written aside while it waits for the rest, where there are no safe points.
    let mut running = Running::start(&directory, "transform some.mercer - -o out.csv --threads 1");
    let mut rows = running.child.stdin.take().unwrap();
    let row = vec!["0.1234567890123456"; 100].join(",") + "\n";
    let text = row.repeat((20 << 20) / row.len());
    rows.write_all(text.as_bytes()).unwrap();
    let parts = || directory.files().into_iter().filter(|name| name.contains(".part")).count();
    let deadline = Instant::now() + Duration::from_secs(60);
    while parts() == 0 {
        assert!(Instant::now() < deadline, "nothing was written within a minute");
        std::thread::sleep(Duration::from_millis(2));
    }
    let from = Instant::now();
    running.signal("INT");
    let (code, time, said) = running.end(from);
    assert_eq!(code, Some(130), "{said}");
    assert!(time < PROMISE, "{time:?}");
    assert!(said.ends_with("interrupted before there was anything to save\n"), "{said}");
    assert_eq!(directory.read("out.csv"), "the old one\n");
    assert_eq!(directory.files(), ["out.csv", "some.mercer", "some.npy"], "{said}");
}
