//! `mercer info`, and files that are taken for models.

use serde_json::{Value, json};

use super::support::{Directory, bent_line};

fn with_points() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory
}

#[track_caller]
fn info(directory: &Directory, model: &str) -> (String, Value) {
    let text = directory.run(&format!("info {model}")).done().stdout;
    let record = directory.run(&format!("info {model} --json")).done().stdout;
    (text, serde_json::from_str(&record).unwrap())
}

#[test]
fn what_a_model_does_to_new_points_is_shown() {
    let directory = with_points();
    let words = "points.csv --label half --quiet";
    for (call, name) in [("fit -n 2", "-o"), ("cluster -k 2 -o clusters.csv", "--model")] {
        let (command, flags) = call.split_once(' ').unwrap();
        let make = |more: &str| directory.run(&format!("{command} {words} {flags} {name} m.mercer {more}")).done();
        make("--scale 1/16");
        let (text, record) = info(&directory, "m.mercer");
        assert!(text.contains("\nscaling     every value times 0.0625\n"), "{text}");
        assert_eq!(record["scaling"], json!({"scale": 0.0625}));

        make("--standardize");
        let (text, record) = info(&directory, "m.mercer");
        let expected =
            "\nscaling     each column less a shift of its own, times a factor of its own, as by --standardize\n";
        assert!(text.contains(expected), "{text}");
        // t = 0, 0.25, …, 2.75 and its square.
        let mean = |of: fn(f64) -> f64| (0..12).map(|i| of(f64::from(i) / 4.0)).sum::<f64>() / 12.0;
        let variance = mean(|t| t * t) - mean(|t| t).powi(2);
        let number = |name: &str, column: usize| record["scaling"][name][column].as_f64().unwrap();
        assert!(
            (number("shift", 0) - mean(|t| t)).abs() < 1e-12 && (number("shift", 1) - mean(|t| t * t)).abs() < 1e-12
        );
        assert!((number("factor", 0) - variance.sqrt().recip()).abs() < 1e-12);
        assert_eq!(record["scaling"].as_object().unwrap().len(), 2, "{}", record["scaling"]);

        make("");
        let (text, record) = info(&directory, "m.mercer");
        assert!(!text.contains("scaling") && record["scaling"].is_null(), "{text}");
    }
}

/// What a command that wants a model says of another file.
#[track_caller]
fn refused(directory: &Directory, file: &str, expected: &str) {
    for words in [format!("info {file}"), format!("transform {file} points.csv --label half -o scores.csv")] {
        let outcome = directory.run(&words);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected), "{words}");
    }
    assert!(!directory.path("scores.csv").exists());
}

#[test]
fn the_state_of_a_stream_is_called_what_it_is_and_becomes_a_model_as_it_says() {
    let directory = with_points();
    directory.run_with_input("stream -n 1 --checkpoint state --quiet", b"1,2\n2,3\n4,1\n3,3\n").done();
    let expected = "error: state: this is the state of a stream, which goes on from it, and not a model\n\
                    hint: `mercer stream state` learns on, and -o makes a model of it: mercer stream state -o NEW.mercer < ROWS\n";
    refused(&directory, "state", expected);
    directory.run_with_input("stream state -o NEW.mercer --quiet", b"2,2\n").done();
    directory.run("info NEW.mercer").done();
}

#[test]
fn the_checkpoint_of_a_fit_is_called_what_it_is_and_becomes_a_model_as_it_says() {
    let directory = with_points();
    let checkpoint = |what: &str| {
        format!(
            "error: c: this is the checkpoint of {what}, which goes on from it, and not a model\n\
             hint: the same `mercer fit` as before with --checkpoint c --resume goes on, and saves a model\n"
        )
    };
    for (flags, more, what) in [
        ("--solver lanczos --max-passes 1", "--solver lanczos", "a fit"),
        (
            "--solver hebbian --passes 1 --tolerance 1e-9",
            "--solver hebbian --passes 2 --tolerance 0.9",
            "the kernel Hebbian algorithm",
        ),
    ] {
        let words = "fit points.csv --label half -n 2 -o m.mercer --quiet --checkpoint c";
        let outcome = directory.run(&format!("{words} {flags}"));
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        refused(&directory, "c", &checkpoint(what));
        directory.run(&format!("{words} --resume {more}")).done();
        assert!(!directory.path("c").exists());
    }
}
