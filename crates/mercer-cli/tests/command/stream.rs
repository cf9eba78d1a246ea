//! `mercer stream` with real processes: rows in, scores out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use mercer::online::OnlineKernelPca;
use mercer::{Kernel, Model, Points};

use super::support::{Directory, Outcome, mercer, numbers};

/// Rows on a bent band, deterministic, as CSV without a header.
pub(super) fn rows(range: std::ops::Range<usize>) -> String {
    let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
    range
        .map(|i| format!("{},{},{}\n", 3.0 * value(i), value(i).powi(2) + value(i + 7), value(i * 3 + 1)))
        .collect::<Vec<_>>()
        .concat()
}

pub(super) const LEARN: &str = "stream -n 3 --gamma 8 --budget 40";

impl Directory {
    pub(super) fn stream(&self, words: &str, input: &str) -> Outcome {
        self.run_with_input(words, input.as_bytes())
    }
}

/// A stream with its ends at hand.
pub(super) struct Running {
    pub(super) child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: BufReader<ChildStdout>,
}

impl Running {
    pub(super) fn start(directory: &Directory, words: &str) -> Self {
        let mut child = mercer()
            .args(words.split_whitespace())
            .current_dir(directory.root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    pub(super) fn say(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
        self.stdin.flush().unwrap();
    }

    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    /// Closes nothing, sends a signal, and waits.
    #[cfg(unix)]
    pub(super) fn signalled(self, name: &str) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
        // Standard input stays open until the end has come.
        let Self { child, stdin, .. } = self;
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }
}

#[test]
fn every_row_is_answered_as_soon_as_it_has_come() {
    let directory = Directory::new();
    let mut running = Running::start(&directory, "stream -n 2 --gamma 8 --emit line,scores,novelty");
    running.say("x,y\n1,2\n");
    assert_eq!(running.line(), "line,pc1,pc2,novelty\n");
    assert!(running.line().starts_with("2,0,0,"));
    // Nothing else comes until the next row does, in two pieces.
    for (i, text) in [(3, "1.5,2.5"), (4, "0.5,1")] {
        running.say(&text[..2]);
        std::thread::sleep(Duration::from_millis(30));
        running.say(&format!("{}\n", &text[2..]));
        assert!(running.line().starts_with(&format!("{i},")));
    }
    drop(running.stdin);
    assert!(running.child.wait().unwrap().success());
}

#[test]
fn answers_do_not_depend_on_the_format_of_the_rows() {
    let directory = Directory::new();
    let words = format!("{LEARN} --emit scores,novelty");
    let csv = directory.stream(&words, &rows(0..300)).done().stdout;
    assert_eq!(numbers(&csv).len(), 300);
    assert_eq!(csv.lines().next(), Some("pc1,pc2,pc3,novelty"));
    let arrays: String = rows(0..300).lines().map(|line| format!("[{line}]\n")).collect::<Vec<_>>().concat();
    assert_eq!(directory.stream(&words, &arrays).done().stdout, csv);
    let objects: String = rows(0..300)
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            format!("{{\"c\": {}, \"a\": {}, \"b\": {}}}\n", fields[2], fields[0], fields[1])
        })
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(directory.stream(&words, &objects).done().stdout, csv);
    let tabs = rows(0..300).replace(',', "\t");
    assert_eq!(directory.stream(&format!("{words} --format tsv"), &tabs).done().stdout, csv);
    let more: String = rows(0..300).lines().map(|line| format!("7,{line}\n")).collect::<Vec<_>>().concat();
    assert_eq!(directory.stream(&format!("{words} --columns 2-4"), &more).done().stdout, csv);
    let json = directory.stream(&format!("{words} --emit-format ndjson"), &rows(0..300)).done().stdout;
    let first: serde_json::Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    let last = numbers(&csv).pop().unwrap();
    assert_eq!(first["scores"][2].as_f64(), Some(last[2]));
    assert_eq!(first["novelty"].as_f64(), Some(last[3]));
}

#[test]
fn the_model_at_the_end_transforms_and_scores() {
    let directory = Directory::new();
    let outcome = directory.stream(&format!("{LEARN} -o rows.mercer"), &rows(0..2000)).done();
    assert!(
        outcome.stdout.starts_with("rows        2000 of 3 features, 0 bad\nlearning    simultaneous rule"),
        "{outcome:?}"
    );
    assert!(outcome.stdout.contains("remembered  40 rows"), "{}", outcome.stdout);
    let model = Model::load(&directory.path("rows.mercer")).unwrap();
    assert_eq!((model.n_components(), model.basis().n_samples(), model.n_samples()), (3, 40, 2000));
    directory.write("new.csv", rows(5000..5020));
    assert_eq!(numbers(&directory.run("transform rows.mercer new.csv").done().stdout).len(), 20);
    let scored = directory.run("score rows.mercer new.csv -o novelty.csv").done();
    assert!(
        scored.stderr.contains("warning: the model of a stream has no control limits, so no row is called novel"),
        "{}",
        scored.stderr
    );
    let info = directory.run("info rows.mercer").done().stdout;
    assert!(info.contains("method      simultaneous rule, rows seen once, in f64"), "{info}");
    assert!(info.contains("residual    unknown: rows were seen once"), "{info}");
    assert!(!info.contains("\ntime  "), "nobody has measured it: {info}");
}

#[test]
fn bad_rows_fail_with_their_line_or_are_left_out() {
    let directory = Directory::new();
    let text = format!("{}3,wide,1\n1,2\n{}1,nan,3\n4,5,6\n", rows(0..5), rows(5..8));
    let outcome = directory.stream(&format!("{LEARN} --emit novelty --checkpoint state"), &text);
    assert_eq!(outcome.code, Some(2));
    assert_eq!(outcome.stdout.lines().count(), 1 + 5, "the rows before it are answered");
    assert_eq!(
        outcome.stderr,
        "error: standard input, line 6, column 2: \"wide\" is not a number\n\
         hint: rows before this one have numbers there: mend it, or leave such rows out with --bad-rows skip; of the 5 rows learned \
         before, the state is in state\n"
    );
    // After a header, nobody knows yet whether the column is of text.
    let outcome = directory.stream(LEARN, "a,b,c\n1,wide,3\n");
    assert!(
        outcome.stderr.contains("hint: if no row has a number there, leave the column out with --drop b"),
        "{}",
        outcome.stderr
    );
    let record = directory.stream(&format!("{LEARN} --bad-rows skip --record run.json"), &text).done();
    assert!(
        record
            .stderr
            .contains("warning: standard input, line 6, column 2: \"wide\" is not a number; the row is left out\n")
    );
    assert!(
        record.stderr.contains("warning: standard input, line 7: 2 columns, but line 1 has 3; the row is left out\n")
    );
    assert!(record.stderr.contains("warning: 3 of 12 rows were left out\n"), "{}", record.stderr);
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!((&record["rows_read"], &record["bad_rows"], &record["n_samples"]), (&12.into(), &3.into(), &9.into()));
}

#[test]
fn a_bad_row_that_ends_a_stream_leaves_what_was_learned_before_it() {
    let directory = Directory::new();
    let text = format!("{}1,nan,3\n{}", rows(0..70), rows(70..90));
    let outcome = directory.stream(&format!("{LEARN} -o rows.mercer"), &text);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr,
        "error: standard input, line 71, column 2: \"nan\" is not a finite number\n\
         hint: every value must be a finite number: fill the gap or remove the row; of the 70 rows learned before, the model is in rows.mercer\n"
    );
    let whole = directory.stream(&format!("{LEARN} -o whole.mercer"), &rows(0..70)).done();
    assert!(whole.stderr.contains("model saved as whole.mercer"), "{}", whole.stderr);
    directory.write("new.csv", rows(5000..5020));
    let scores = |model: &str| directory.run(&format!("transform {model} new.csv")).done().stdout;
    assert_eq!(scores("rows.mercer"), scores("whole.mercer"), "the model of the rows before it");

    // State and model, and a program that reads the error.
    let outcome = directory.stream(&format!("{LEARN} -o both.mercer --checkpoint state --json"), &text);
    let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &record["exit_code"]), (Some(2), &2.into()));
    let hint = record["error"]["hint"].as_str().unwrap();
    let saved = "; of the 70 rows learned before, the state is in state and the model is in both.mercer";
    assert!(hint.ends_with(saved), "{hint}");
    let resumed = directory.stream("stream state --emit novelty", &rows(70..90)).done();
    assert!(resumed.stderr.contains("going on after 70 rows"), "{}", resumed.stderr);

    // A row that the learner and not the reader refuses; one so early that the model has one direction only; and one before which there is none.
    let huge = format!("{}1e200,1e200,1e200\n", rows(0..5));
    let outcome = directory.stream("stream --kernel polynomial --degree 3 -o huge.mercer", &huge);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: standard input, line 6: "), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("the model is in huge.mercer\n"), "{}", outcome.stderr);
    let outcome = directory.stream(&format!("{LEARN} -o early.mercer"), "1,2,3\n1,x,3\n");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.ends_with("of the 1 row learned before, the model is in early.mercer\n"),
        "{}",
        outcome.stderr
    );
    let outcome = directory.stream("stream --kernel linear -o none.mercer", "0,0,0\n1,x,3\n");
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("of the 1 row learned before, the model could not be saved ("),
        "{}",
        outcome.stderr
    );
    // With nowhere to save it there is nothing to say.
    let outcome = directory.stream(LEARN, &text);
    assert!(outcome.code == Some(2) && !outcome.stderr.contains("learned before"), "{}", outcome.stderr);
    assert_eq!(
        directory.files(),
        ["both.mercer", "early.mercer", "huge.mercer", "new.csv", "rows.mercer", "state", "whole.mercer"]
    );
}

#[test]
fn the_model_is_ordered_and_the_record_speaks_of_its_directions() {
    let directory = Directory::new();
    // So few rows and so small a rate that components are as they began.
    let words = "stream -n 3 --gamma 0.5 --learning-rate 0.001 -o rows.mercer --json";
    let record: serde_json::Value = serde_json::from_str(&directory.stream(words, &rows(0..60)).done().stdout).unwrap();
    let list = |name: &str| -> Vec<f64> {
        record[name].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let model = Model::load(&directory.path("rows.mercer")).unwrap();
    let (variances, shares) = (list("variances"), list("explained_variance_ratio"));
    assert!(variances.is_sorted_by(|a, b| a >= b), "{variances:?}");
    for ((variance, share), eigenvalue) in variances.iter().zip(&shares).zip(model.eigenvalues()) {
        assert!(
            (60.0 * variance - eigenvalue).abs() < 1e-12
                && (share * record["total_variance"].as_f64().unwrap() - variance).abs() < 1e-12
        );
    }
    directory.write("rows.csv", rows(0..60));
    let scores = numbers(&directory.run("transform rows.mercer rows.csv").done().stdout);
    for (j, variance) in variances.iter().enumerate() {
        let found = scores.iter().map(|row| row[j] * row[j]).sum::<f64>() / 60.0;
        assert!((found - variance).abs() < 1e-9, "component {j}: {found} for {variance}");
    }
}

/// What is said of a call that is wrong.
pub(super) fn refusal(directory: &Directory, words: &str, input: &str) -> String {
    let outcome = directory.stream(words, input);
    assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
    outcome.stderr.lines().find(|line| line.starts_with("error")).unwrap_or_default().to_owned()
}

#[test]
fn settings_that_are_wrong_are_told_by_their_flags() {
    let directory = Directory::new();
    for (words, message) in [
        (
            "stream --budget 2",
            "error: --budget must be at least one more than the number of components (3), but it is 2",
        ),
        (
            "stream --policy oldest",
            "error: --policy must be left out without a budget, which it is about, but it is oldest",
        ),
        (
            "stream --tau 5",
            "error: --tau must be left out with the schedule constant, which does not use it, but it is 5",
        ),
        (
            "stream --rule oja -n 1 --beta 2",
            "error: --beta must be left out with the rule oja, which does not use it, but it is 2",
        ),
        (
            "stream --rule oja -n 3",
            "error: --n-components must be 1 for the rule oja, which finds the first component only, but it is 3",
        ),
        // The library's default of two is not that of the flag.
        (
            "stream --rule oja -n 2",
            "error: --n-components must be 1 for the rule oja, which finds the first component only, but it is 2",
        ),
        ("stream --learning-rate 0", "error: --learning-rate must be a positive number, but it is 0"),
        (
            "stream --degree 2",
            "error: --degree must be left out: the gaussian kernel has no such parameter, but it is 2",
        ),
        (
            "stream --rows-per-component 5",
            "error: --rows-per-component must be left out with the rule simultaneous, whose components learn at once, but it is 5",
        ),
        ("stream --rule apex --rows-per-component 0", "error: --rows-per-component must be at least 1, but it is 0"),
        (
            "stream --kernel precomputed",
            "error: online learning does not work with the precomputed kernel: rows that are still to come have no place in a matrix",
        ),
    ] {
        assert_eq!(refusal(&directory, words, "1,2\n3,4\n5,6\n"), message, "{words}");
    }
}

#[test]
fn wrong_calls_say_what_is_wrong() {
    let directory = Directory::new();
    for (words, message) in [
        ("stream --emit scores --json", "error: --json prints where the rows go: leave --emit out, or use --record"),
        ("stream --emit scores,line,scores", "error: --emit has scores twice"),
        ("stream --start nowhere.csv", "error: reading nowhere.csv: no such file or directory"),
        (
            "stream --replay",
            "error: --replay is for streams that go on: give the checkpoint of one as MODEL, or --checkpoint with --resume",
        ),
        (
            "stream --gamma median",
            "error: invalid value 'median' for '--gamma <NUMBER>': give a number: rows that are still to come have no width yet; `mercer \
             tune` finds one for a sample of them",
        ),
        ("stream --bandwidth wide", "error: invalid value 'wide' for '--bandwidth <SIGMA>': give a number"),
        ("stream -o -", "error: a model is not text: give the name of a file with --output"),
        ("stream nowhere", "error: reading nowhere: no such file or directory"),
    ] {
        assert_eq!(refusal(&directory, words, "1,2\n3,4\n5,6\n"), message, "{words}");
    }
    let found = refusal(&directory, "stream -o out.mercer", "");
    assert_eq!(found, "error: standard input: there are no rows, so there is no model");
    assert!(directory.files().is_empty(), "{:?}", directory.files());
    assert_eq!(directory.stream("stream --emit scores", "").done().stdout, "", "a stream without rows is none");
}

#[test]
fn fewer_rows_than_components_have_a_model_of_fewer_directions() {
    let directory = Directory::new();
    let few = directory.stream("stream -o few.mercer -n 3", "1,2\n3,5\n").done();
    assert_eq!(Model::load(&directory.path("few.mercer")).unwrap().n_components(), 2);
    assert!(few.stderr.contains("2 of 3 components have begun to learn"), "{}", few.stderr);
}

#[test]
fn components_start_from_the_points_of_a_file() {
    let directory = Directory::new();
    directory.write("start.csv", "0.5,0.1\n-0.2,0.4\n");
    let text = "1,2\n0.3,-0.4\n0.5,0.6\n-1,0.2\n";
    let words = "stream --gamma 0.5 --learning-rate 0.1 --emit scores";
    let found = directory.stream(&format!("{words} --start start.csv"), text).done().stdout;
    let start = Points::from_f64(vec![0.5, 0.1, -0.2, 0.4], 2, 2).unwrap();
    let settings = OnlineKernelPca::new(Kernel::gaussian(0.5).unwrap()).learning_rate(0.1).start(start);
    let mut learner = settings.learner().unwrap();
    for (line, row) in found.lines().skip(1).zip([[1.0, 2.0], [0.3, -0.4], [0.5, 0.6], [-1.0, 0.2]]) {
        let want = learner.learn_row(&row).unwrap().outputs;
        let scores: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        assert_eq!(scores, want);
    }
    assert_ne!(directory.stream(words, text).done().stdout, found, "the first rows are other points");
    // A file of another width, of other columns, of too many points; and a state that has its own.
    directory.write("wide.csv", "1,2,3\n4,5,6\n");
    directory.write("other.csv", "x,z\n1,2\n4,5\n");
    let say = |words: &str, text: &str| refusal(&directory, &format!("stream {words}"), text);
    assert_eq!(
        say("--start wide.csv", text),
        "error: wide.csv: the rows of the stream have 2 columns, but these have 3"
    );
    assert_eq!(
        say("--start other.csv", "x,y\n1,2\n"),
        "error: other.csv: there is no column \"y\", which the stream has"
    );
    assert_eq!(
        say("--start start.csv -n 3", text),
        "error: start.csv: --start must be one point per component (3), but it is 2"
    );
    // A point that has no length in feature space is the beginning of nothing.
    directory.write("nothing.csv", "0.5,0.1\n0,0\n");
    assert_eq!(
        say("--start nothing.csv --kernel linear", text),
        "error: nothing.csv: --start must be points whose kernel with themselves is positive, but it is one with 0 (point 2)"
    );
    assert!(say("--start start.csv -o start.csv", text).contains("start points"));
    assert!(say("--start -", text).contains("give the name of a file with --start"));
    // A stream that goes on has started; the same call goes on.
    let kept = "--gamma 0.5 --checkpoint kept --resume --start";
    directory.stream(&format!("stream {kept} start.csv"), text).done();
    directory.stream(&format!("stream {kept} start.csv"), text).done();
    directory.write("elsewhere.csv", "0.5,0.1\n-0.2,0.5\n");
    assert_eq!(
        say(&format!("{kept} elsewhere.csv"), text),
        "error: --start: the checkpoint belongs to another stream, which began at other points"
    );
    directory.stream("stream --checkpoint state", text).done();
    assert_eq!(
        say("state --start start.csv", text),
        "error: state is a learner with its own settings: leave --start out"
    );
}

#[test]
fn a_file_of_start_points_whose_name_does_not_say_the_format_is_not_told_of_a_flag_for_the_rows() {
    let directory = Directory::new();
    directory.write("h1", "0.5,0.1\n-0.2,0.4\n");
    // Before the first row has come.
    let outcome = directory.stream("stream --start h1", "");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr,
        "error: h1: the name does not say what the format is\n\
         hint: let it end in .csv, .tsv, .parquet, .arrow, .npy, .npz, .idx or .libsvm\n"
    );
}

#[test]
fn points_to_start_from_are_found_by_the_names_of_their_columns() {
    let directory = Directory::new();
    let text = "id,x,y\na,1,2\nb,0.3,-0.4\nc,0.5,0.6\nd,-1,0.2\n";
    let words = "stream --gamma 0.5 --learning-rate 0.1 --drop id --emit scores";
    directory.write("plain.csv", "0.5,0.1\n-0.2,0.4\n");
    let expected = directory.stream(&format!("{words} --start plain.csv"), text).done().stdout;
    // In another order, with a column that the rows do not have, and one that is no number.
    directory.write("turned.csv", "y,name,x,z\n0.1,first,0.5,9\n0.4,second,-0.2,9\n");
    let outcome = directory.stream(&format!("{words} --start turned.csv --record run.json"), text).done();
    assert_eq!(outcome.stdout, expected);
    let remark = "turned.csv: columns that the stream does not have are passed over: \"name\", \"z\"";
    assert!(outcome.stderr.contains(&format!("warning: {remark}\n")), "{}", outcome.stderr);
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!(record["warnings"], serde_json::json!([remark]));
    // Objects have names, too.
    let objects =
        "{\"y\": 2, \"x\": 1}\n{\"x\": 0.3, \"y\": -0.4}\n{\"x\": 0.5, \"y\": 0.6}\n{\"x\": -1, \"y\": 0.2}\n";
    let words = words.replace(" --drop id", "");
    assert_eq!(directory.stream(&format!("{words} --start turned.csv"), objects).done().stdout, expected);
    // By position if that is wanted, and only where there are names to pass over.
    directory.write("swapped.csv", "y,x\n0.5,0.1\n-0.2,0.4\n");
    let swapped = format!("{words} --start swapped.csv --by-position");
    let text = text.lines().map(|line| line[line.find(',').unwrap() + 1..].to_owned() + "\n").collect::<String>();
    assert_eq!(directory.stream(&swapped, &text).done().stdout, expected);
    let outcome = directory.stream(&swapped, "1,2\n3,4\n5,6\n");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--by-position has no effect: the stream does not know the names"),
        "{}",
        outcome.stderr
    );
    // The same call goes on, from the same points and no others, in whatever order they stand; twice the same point, too.
    let kept = "stream --gamma 0.5 --checkpoint kept --resume --start";
    for _ in 0..2 {
        directory.stream(&format!("{kept} turned.csv"), &text).done();
    }
    let outcome = directory.stream(&format!("{kept} swapped.csv"), &text);
    assert!(outcome.stderr.contains("which began at other points"), "{}", outcome.stderr);
    directory.write("twice.csv", "x,y\n0.5,0.1\n0.5,0.1\n");
    for _ in 0..2 {
        directory.stream("stream --gamma 0.5 --checkpoint twice --resume --start twice.csv", &text).done();
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_name_or_number() {
    let directory = Directory::new();
    let words = "stream -n 1 --gamma 8 --emit novelty";
    for text in ["x,y\n1,2\n3,4\n5,7\n", "1,2\n3,4\n5,7\n", "{\"x\": 1, \"y\": 2}\n{\"x\": 3, \"y\": 4}\n"] {
        let plain = directory.stream(words, text).done().stdout;
        assert_eq!(directory.stream(words, &format!("\u{feff}{text}")).done().stdout, plain, "{text}");
    }
    directory.stream("stream -n 1 --gamma 8 -o marked.mercer", "\u{feff}x,y\n1,2\n3,4\n5,7\n").done();
    assert_eq!(Model::load(&directory.path("marked.mercer")).unwrap().feature_names().unwrap(), ["x", "y"]);
}

#[test]
fn the_record_says_what_was_learned_and_how() {
    let directory = Directory::new();
    let words = format!("{LEARN} --schedule anneal --tau 200 --forgetting 0.01 --json");
    let outcome = directory.stream(&words, &rows(0..400)).done();
    let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    for (field, want) in [
        ("command", serde_json::json!("stream")),
        ("rule", "simultaneous".into()),
        ("schedule", "anneal".into()),
        ("tau", 200.0.into()),
        ("beta", 1.0.into()),
        ("budget", 40.into()),
        ("policy", "project".into()),
        ("forgetting", 0.01.into()),
        ("learning_rate", serde_json::Value::Null),
        ("n_samples", 400.into()),
        ("n_features", 3.into()),
        ("n_components", 3.into()),
        ("n_remembered", 40.into()),
        ("interrupted", false.into()),
        ("model", serde_json::Value::Null),
    ] {
        assert_eq!(record[field], want, "{field}: {record}");
    }
    assert_eq!(record["budget_error"].as_array().unwrap().len(), 3);
    let shares: f64 =
        record["explained_variance_ratio"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).sum();
    assert!(shares > 0.1 && shares < 1.0, "{shares}");
}
