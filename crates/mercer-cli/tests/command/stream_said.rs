//! What a stream says of what it has learned, and of rows that it cannot use.

use mercer::Model;

use super::stream::rows;
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
    let begun = "3 of 5 components have begun to learn: too few rows have come that differ from one another";
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
fn a_row_that_overflows_goes_by_its_line_alone() {
    let directory = Directory::new();
    let outcome = directory.stream("stream --kernel linear -n 1", "a\n1\n2\n1e200\n");
    assert_eq!(
        outcome.stderr,
        "error: standard input, line 4: the row is too large for the kernel's width: its squared distance or inner product overflows f64; \
         scale the data, or use a smaller gamma\n"
    );
}
