//! What a stream says of what it has learned, and of rows that it cannot use.

use std::ops::Range;

use mercer::Model;

use super::stream::{Running, rows};
use super::support::Directory;

#[test]
fn a_rate_that_was_made_smaller_is_said_with_and_without_a_model() {
    let directory = Directory::new();
    for words in ["", " -o rows.mercer"] {
        let outcome =
            directory.stream(&format!("stream --kernel linear --learning-rate 50{words}"), &rows(0..60)).done();
        assert!(
            outcome.stderr.contains("warning: the learning rate was made smaller for "),
            "{words}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn a_rate_that_is_made_smaller_is_said_when_it_happens() {
    let directory = Directory::new();
    let mut running = Running::start(&directory, "stream --kernel linear --learning-rate 50 --emit novelty");
    running.say(&rows(0..30));
    for _ in 0..=30 {
        running.line();
    }
    // The stream goes on, and has said it.
    running.child.kill().unwrap();
    let said = String::from_utf8(running.child.wait_with_output().unwrap().stderr).unwrap();
    assert!(
        said.starts_with("warning: the learning rate is made smaller where it would overshoot: from 50 to "),
        "{said}"
    );
    // Once.
    let outcome = directory.stream("stream --kernel linear --learning-rate 50", &rows(0..900)).done();
    assert_eq!(outcome.stderr.matches("is made smaller where it would overshoot").count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_component_that_wears_away_is_said_when_it_happens() {
    let directory = Directory::new();
    let call = "stream --n-components 2 --bandwidth 1 --budget 8 --policy oldest --emit novelty";
    let mut running = Running::start(&directory, call);
    running.say(&rows(0..200));
    for _ in 0..=200 {
        running.line();
    }
    // The stream goes on, and has said it.
    running.child.kill().unwrap();
    let said = String::from_utf8(running.child.wait_with_output().unwrap().stderr).unwrap();
    let live = said.lines().filter(|line| line.contains(": a component has shrunk to ")).collect::<Vec<_>>();
    assert_eq!(live.len(), 1, "{said}");
    assert!(
        live[0].starts_with("warning: after ") && live[0].contains(" of unit length, because rows are dropped"),
        "{said}"
    );
    // A budget that projects keeps components.
    let outcome = directory.stream(&call.replace("oldest", "project"), &rows(0..200)).done();
    assert!(!outcome.stderr.contains("has shrunk"), "{}", outcome.stderr);
}

/// A way to write some of the rows.
type Form = fn(Range<usize>) -> String;

/// Rows as JSON arrays.
fn arrays(range: Range<usize>) -> String {
    rows(range).lines().map(|line| format!("[{line}]\n")).collect::<Vec<_>>().concat()
}

/// And as objects.
fn objects(range: Range<usize>) -> String {
    let object = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{{\"a\": {}, \"b\": {}, \"c\": {}}}\n", fields[0], fields[1], fields[2])
    };
    rows(range).lines().map(object).collect::<Vec<_>>().concat()
}

#[test]
fn bad_rows_at_the_beginning_are_left_out_like_any_other() {
    let directory = Directory::new();
    let good = arrays(0..40);
    let words = "stream -n 2 --gamma 8 --format ndjson --bad-rows skip --emit scores";
    let expected = directory.stream(words, &good).done().stdout;
    for bad in ["[1,2\n", "7\n", "[\"x\"]\n", "{\"error\": \"offline\"}\n", "[]\n"] {
        let outcome = directory.stream(words, &format!("{bad}{bad}{good}")).done();
        assert_eq!(outcome.stdout, expected, "{bad}");
        assert!(outcome.stderr.contains("warning: standard input, line 1"), "{bad}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("warning: 2 of 42 rows were left out\n"), "{bad}: {}", outcome.stderr);
        let fatal = directory.stream(&words.replace("skip", "fail"), &format!("{bad}{good}"));
        assert_eq!(fatal.code, Some(2), "{bad}: {}", fatal.stderr);
        assert!(fatal.stderr.starts_with("error: standard input, line 1"), "{bad}: {}", fatal.stderr);
    }
    // A flag that does not fit the rows is not their fault.
    let outcome = directory.stream(&format!("{words} --header"), &good);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

#[test]
fn a_stream_that_goes_on_knows_what_rows_look_like() {
    let directory = Directory::new();
    let words = "stream -n 2 --gamma 8 --bad-rows skip --resume --checkpoint";
    let forms: [(&str, Form, &str); 3] =
        [("objects", objects, "{\"a\": 1, \"c\": 2}\n"), ("arrays", arrays, "[1, 2]\n"), ("text", rows, "1,2\n")];
    for (name, rows, short) in forms {
        directory.stream(&format!("{words} {name}"), &rows(0..40)).done();
        directory.stream(&format!("{words} {name}-whole"), &rows(0..80)).done();
        let outcome = directory.stream(&format!("{words} {name}"), &format!("{short}{}", rows(40..80))).done();
        assert!(outcome.stderr.contains("warning: 1 of 81 rows was left out\n"), "{name}: {}", outcome.stderr);
        let learner = |name: &str| mercer::online::Learner::from_bytes(directory.read(name).as_bytes(), None).unwrap();
        let (parts, whole) = (learner(name), learner(&format!("{name}-whole")));
        assert_eq!(parts.coefficients(), whole.coefficients(), "{name}");
    }
    // So does one that begins with a model.
    let named = format!("a,b,c\n{}", rows(0..60));
    directory.write("points.csv", &named);
    directory.run("fit points.csv -n 2 --gamma 8 -o points.mercer").done();
    let outcome = directory
        .stream("stream points.mercer --bad-rows skip --emit line", &format!("{{\"a\": 1}}\n{}", objects(60..65)))
        .done();
    assert_eq!(outcome.stdout, "line\n2\n3\n4\n5\n6\n");
}

#[test]
fn a_bad_first_row_of_a_stream_that_goes_on_is_left_out_and_counted() {
    let directory = Directory::new();
    for (name, header) in [("plain", ""), ("named", "x,y\n")] {
        let words = format!("stream -n 1 --gamma 1 --checkpoint {name} --resume");
        directory.stream(&words, &format!("{header}1,2\n3,5\n4,4\n")).done();
        let failed = directory.stream(&words, "7,oops\n5,6\n");
        assert_eq!(failed.code, Some(2), "{name}: {}", failed.stderr);
        let complaint = "standard input, line 1, column 2: \"oops\" is not a number";
        assert!(failed.stderr.contains(&format!("error: {complaint}\n")), "{name}: {}", failed.stderr);
        let outcome = directory.stream(&format!("{words} --bad-rows skip --record run.json"), "7,oops\n5,6\n").done();
        let said = format!("warning: {complaint}; the row is left out\n");
        assert!(outcome.stderr.contains(&said), "{name}: {}", outcome.stderr);
        let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        let counts = ["rows_read", "bad_rows", "n_samples"].map(|field| record[field].as_u64().unwrap());
        assert_eq!(counts, [5, 1, 4], "{name}");
        // A header is none of the rows, as before.
        directory.stream(&format!("{words} --record run.json"), "x,y\n6,5\n").done();
        let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        assert_eq!((&record["rows_read"], &record["bad_rows"]), (&6.into(), &1.into()), "{name}");
    }
}

/// All rows after it would be learned wrong: it is no bad row that could be left out.
#[test]
fn a_header_without_known_names_ends_a_stream_that_goes_on_whatever_is_done_about_bad_rows() {
    let directory = Directory::new();
    let words = "stream -n 1 --gamma 1 --checkpoint state --resume --bad-rows skip";
    directory.stream(words, "x,y\n1,2\n3,5\n4,4\n").done();
    let before = directory.read("state");
    for (header, problem) in [
        ("a,b", "no column has a name of the learner, whose columns are \"x\", \"y\"; here are \"a\", \"b\""),
        ("x,b", "there is no column \"y\", which the learner has"),
    ] {
        let failed = directory.stream(words, &format!("{header}\n5,6\n"));
        assert_eq!(failed.code, Some(2), "{header}: {}", failed.stderr);
        assert!(failed.stderr.contains(problem) && failed.stderr.contains("--by-position"), "{}", failed.stderr);
        assert_eq!(directory.read("state"), before, "{header}: nothing was learned");
    }
    // Whoever knows that they are the same columns says so.
    directory.stream(&format!("{words} --by-position --record run.json"), "a,b\n5,6\n").done();
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!((&record["n_samples"], &record["bad_rows"]), (&4.into(), &0.into()));
}

#[test]
fn a_first_line_that_is_half_a_row_is_no_header() {
    let directory = Directory::new();
    let (words, text) = ("stream -n 1 --gamma 1 --emit line", "2024-01-01,2\n1,2\n3,5\n4,4\n");
    let failed = directory.stream(words, text);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    let complaint = "standard input, line 1, column 1: \"2024-01-01\" is not a number";
    assert!(failed.stderr.contains(&format!("error: {complaint}\n")), "{}", failed.stderr);
    assert!(failed.stderr.contains("if the first row is a header, say --header"), "{}", failed.stderr);
    let outcome = directory.stream(&format!("{words} --bad-rows skip"), text).done();
    assert!(outcome.stderr.contains(&format!("warning: {complaint}; the row is left out\n")), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "line\n2\n3\n4\n");
    // One of words is a header, and so is one that somebody calls so.
    for (flags, header) in [("", "x,y"), (" --header", "x,2020"), (" --columns x", "x,2020")] {
        let outcome = directory.stream(&format!("{words}{flags}"), &text.replace("2024-01-01,2", header)).done();
        assert_eq!(outcome.stdout, "line\n2\n3\n4\n", "{header}");
    }
}

#[test]
fn headers_of_files_that_are_joined_are_bad_rows() {
    let directory = Directory::new();
    let text = "x,y\n1,2\n3,5\nx,y\n4,4\na,b,c\n6,1\nb,a\n2,2\n";
    let words = "stream -n 1 --gamma 1 --emit line";
    let outcome = directory.stream(&format!("{words} --bad-rows skip"), text).done();
    assert_eq!(outcome.stdout, "line\n2\n3\n5\n7\n9\n");
    for complaint in [
        "line 4, column 1 (x): \"x\" is not a number",
        "line 6: 3 columns, but line 1 has 2",
        "line 8, column 1 (x): \"b\" is not a number",
    ] {
        let said = format!("warning: standard input, {complaint}; the row is left out\n");
        assert!(outcome.stderr.contains(&said), "{said}: {}", outcome.stderr);
    }
    let failed = directory.stream(words, text);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    assert!(failed.stderr.contains("error: standard input, line 4, column 1 (x): \"x\""), "{}", failed.stderr);
}

#[test]
fn a_field_that_is_named_twice_makes_a_bad_row() {
    let directory = Directory::new();
    let text = "{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 5, \"a\": 4}\n{\"a\": 4, \"b\": 4}\n";
    let words = "stream -n 1 --gamma 1 --emit line";
    let failed = directory.stream(words, text);
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    let complaint = "standard input, line 2: the field \"a\" is there twice";
    assert!(failed.stderr.contains(&format!("error: {complaint}\n")), "{}", failed.stderr);
    let outcome = directory.stream(&format!("{words} --bad-rows skip"), text).done();
    assert!(outcome.stderr.contains(&format!("warning: {complaint}; the row is left out\n")), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "line\n1\n3\n");
}

#[test]
fn wrong_settings_are_refused_before_the_first_row() {
    let directory = Directory::new();
    directory.stream("stream -n 2 --gamma 8 --budget 20 --checkpoint state", &rows(0..30)).done();
    for (words, message) in [
        ("--budget 2", "error: --budget must be at least one more than the number of components (3), but it is 2\n"),
        ("--degree 2", "error: --degree must be left out"),
        ("--learning-rate 0", "error: --learning-rate must be a positive number, but it is 0\n"),
        (
            "-n 2 --gamma 8 --budget 30 --checkpoint state --resume",
            "error: state: the checkpoint belongs to another stream (budget: 20 there, 30 here)\n",
        ),
    ] {
        let outcome = directory.stream(&format!("stream {words}"), "");
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.starts_with(message), "{words}: {}", outcome.stderr);
    }
}

#[test]
fn a_stream_with_fewer_directions_than_components_has_a_model_and_says_so() {
    let directory = Directory::new();
    let warned = |words: &str, input: &str, text: &str, n: usize| {
        let outcome = directory.stream(&format!("{words} -o rows.mercer --record run.json"), input).done();
        assert!(outcome.stderr.contains(&format!("warning: {text}\n")), "{words}: {}", outcome.stderr);
        let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        assert!(record["warnings"].as_array().unwrap().contains(&text.into()), "{record}");
        assert_eq!(record["variances"].as_array().unwrap().len(), n);
        let model = Model::load(&directory.path("rows.mercer")).unwrap();
        assert_eq!(model.n_components(), n, "{words}");
        assert!(model.record().warnings.contains(&text.to_owned()));
    };
    let independent = |n: usize| {
        let verb = if n == 1 { "is" } else { "are" };
        format!(
            "{n} of 5 components {verb} independent: what they all span has no more directions, and so has the model"
        )
    };
    warned("stream --kernel linear -n 5 --no-center", &rows(0..80), &independent(3), 3);
    // Rows that are dropped faster than components learn: they shrink, and soon are all nearly the same.
    let words = "stream --kernel linear -n 5 --no-center --budget 6 --policy oldest -o dropped.mercer";
    let outcome = directory.stream(words, &rows(0..200)).done();
    let n = Model::load(&directory.path("dropped.mercer")).unwrap().n_components();
    assert!(
        (1..=3).contains(&n) && outcome.stderr.contains(&format!("warning: {}\n", independent(n))),
        "{n}: {outcome:?}"
    );
    let begun = "3 of 5 components have begun to learn: too few rows have come that differ from one another and have a positive kernel with \
                 themselves";
    warned("stream -n 5", &rows(0..3).repeat(4), begun, 3);
}

#[test]
fn a_stream_of_one_row_is_spoken_of_as_one() {
    let directory = Directory::new();
    let outcome = directory.stream("stream -n 1", "1\n").done();
    assert!(outcome.stdout.starts_with("rows        1 of 1 feature, 0 bad\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("remembered  1 row\n"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("variance    1 component explains "), "{}", outcome.stdout);
    let outcome = directory.stream("stream", "").done();
    assert!(outcome.stdout.contains("variance    0 components explain 0.0 %\n"), "{}", outcome.stdout);
    let outcome = directory.stream("stream -n 1 --bad-rows skip", "1\nx\n2\n").done();
    assert!(outcome.stderr.contains("warning: 1 of 3 rows was left out\n"), "{}", outcome.stderr);
}

#[test]
fn more_components_than_memory_has_room_for_end_the_stream_before_it_begins() {
    let directory = Directory::new();
    let outcome = directory.stream("stream --n-components 100000000", "1\n2\n");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let text = "error: what each of 100000000 components is to each other needs ";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
}

#[test]
fn a_budget_that_memory_has_no_room_for_ends_the_stream_before_it_begins() {
    let directory = Directory::new();
    let outcome = directory.stream("stream --budget 10000000", "1\n2\n");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let text = "error: what each of 10000003 rows in memory is to each other, which the policy project goes by, needs ";
    assert!(outcome.stderr.starts_with(text), "{}", outcome.stderr);
}

#[test]
fn a_row_that_overflows_once_it_is_scaled_goes_by_its_line_alone() {
    let directory = Directory::new();
    directory.write("past.csv", rows(0..60));
    directory.run("fit past.csv -n 2 --gamma 0.5 --standardize -o past.mercer --quiet").done();
    let outcome = directory.stream("stream past.mercer", "1e308,1e308,1e308\n");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let text = "error: standard input, line 1: the row is too large: its scaled value overflows f64; the model that components began as \
                scales rows, and this one is far from its points\n";
    assert!(outcome.stderr.ends_with(text), "{}", outcome.stderr);
}

#[test]
fn a_row_that_overflows_goes_by_its_line_alone() {
    let directory = Directory::new();
    let outcome = directory.stream("stream --kernel linear -n 1", "a\n1\n2\n1e200\n");
    assert_eq!(
        outcome.stderr,
        "error: standard input, line 4: the row is too large: its kernel with itself overflows f64; scale the data\n"
    );
    let said = "standard input, line 4: the row is too large: its squared norm overflows f64";
    let outcome = directory.stream("stream --gamma 0.5 -n 1", "a\n1\n2\n1e200\n");
    assert!(outcome.code == Some(2) && outcome.stderr.starts_with(&format!("error: {said}")), "{}", outcome.stderr);
    let words = "stream --gamma 0.5 -n 1 --bad-rows skip -o rows.mercer";
    let outcome = directory.stream(words, "a\n1\n2\n1e200\n3\n").done();
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    directory.write("rows.csv", "a\n1\n2\n3\n");
    directory.run("transform rows.mercer rows.csv").done();
}

/// The third row is at a negative squared distance from the first two.
const INDEFINITE: &str = "stream -n 1 --kernel sigmoid --gamma 0.5";

#[test]
fn a_kernel_that_rows_show_to_be_indefinite_ends_a_stream_that_projects() {
    let directory = Directory::new();
    let (words, text) = (format!("{INDEFINITE} --emit line"), "0\n2\n1\n0.5\n");
    let said = "error: standard input, line 3: the policy project does not work with the sigmoid kernel: on these rows it is not positive \
                semi-definite: one is at a negative squared distance from the span of those in memory; use the policy oldest or smallest, or no \
                budget\n";
    // Leaving rows out mends nothing.
    for choice in ["fail", "skip"] {
        let outcome = directory.stream(&format!("{words} --budget 5 --bad-rows {choice}"), text);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), said), "{choice}");
        assert_eq!(outcome.stdout, "line\n1\n2\n", "{choice}");
    }
    // What is advised goes on, and so do rows that are at no such distance.
    for flags in ["", " --budget 5 --policy oldest", " --budget 5 --policy smallest"] {
        assert_eq!(directory.stream(&format!("{words}{flags}"), text).done().stdout, "line\n1\n2\n3\n4\n", "{flags}");
    }
    for coef0 in [0, 1] {
        let outcome = directory.stream(&format!("{words} --budget 5 --coef0 {coef0}"), "1,0,0\n0,1,0\n0,0,1\n").done();
        assert_eq!(outcome.stdout, "line\n1\n2\n3\n", "coef0 {coef0}");
    }
}

#[test]
fn components_that_explain_more_than_there_is_are_spoken_of() {
    let directory = Directory::new();
    let words = INDEFINITE.replace("-n 1", "-n 2 --no-center --learning-rate 1e-9 --record run.json");
    let outcome = directory.stream(&words, "1\n-1\n0\n").done();
    let text = "the components explain 103.4 % of the variance, which is more than there is: the sigmoid kernel is not positive semi-definite, \
                and on these rows it makes variances along other directions negative";
    assert!(outcome.stderr.contains(&format!("warning: {text}\n")), "{}", outcome.stderr);
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!(record["warnings"], serde_json::json!([text]));
}

#[test]
fn the_rule_oja_has_one_component_without_being_told() {
    let directory = Directory::new();
    let words = "stream --rule oja --gamma 0.5 --json";
    let record: serde_json::Value = serde_json::from_str(&directory.stream(words, &rows(0..60)).done().stdout).unwrap();
    assert_eq!(record["n_components"], 1, "{record}");
}
