//! `mercer score`.

use mercer::{Model, Points};
use serde_json::Value;

use super::support::{Directory, bent_line, numbers};

fn fitted() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 2 -o points.mercer --quiet").done();
    directory.write("new.csv", "x,y\n0,0\n1,1\n100,-100\n");
    directory
}

#[test]
fn the_table_holds_what_the_library_says() {
    let directory = fitted();
    directory.run("score points.mercer new.csv -o out.csv --limit 0.95").done();
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let novelty = model.novelty(&Points::from_f64(vec![0.0, 0.0, 1.0, 1.0, 100.0, -100.0], 3, 2).unwrap()).unwrap();
    let text = directory.read("out.csv");
    assert!(text.starts_with("reconstruction_error,t_squared,novel\n"), "{text}");
    let limit = model.record().control_limits.as_ref().unwrap().at(0.95).unwrap();
    let beyond = novelty.is_beyond(&limit);
    for (i, row) in numbers(&text).iter().enumerate() {
        let expected = [novelty.reconstruction_error[i], novelty.t_squared[i], f64::from(u8::from(beyond[i]))];
        assert_eq!(row, &expected, "row {i}");
    }
    assert!(beyond[2], "a point a hundred away is novel");
}

#[test]
fn the_summary_counts_the_rows_beyond_the_limits() {
    let directory = fitted();
    let outcome = directory.run("score points.mercer new.csv -o out.csv --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let novel = numbers(&directory.read("out.csv")).iter().filter(|row| row[2] > 0.5).count();
    assert_eq!((&record["n_novel"], &record["limit"]["level"]), (&novel.into(), &0.99.into()));
    let sentence = format!("{novel} of 3 rows ");
    let talk = outcome.stderr.lines().last().unwrap();
    assert!(
        talk.starts_with(&sentence) && talk.ends_with("(limits of 99 % of the training points), written to out.csv"),
        "{talk}"
    );
}

#[test]
fn labels_stay_beside_their_rows_and_standard_output_works() {
    let directory = fitted();
    let outcome = directory.run("score points.mercer points.csv --label half").done();
    assert!(outcome.stdout.starts_with("reconstruction_error,t_squared,novel,half\n"), "{}", outcome.stdout);
    assert_eq!(outcome.stdout.lines().count(), 13);
    assert!(outcome.stdout.lines().nth(1).unwrap().ends_with(",low"));
}

#[test]
fn a_level_that_was_not_learned_is_refused_with_those_that_were() {
    let directory = fitted();
    for level in ["0.96", "-1", "1"] {
        let outcome = directory.run(&format!("score points.mercer new.csv -o out.csv --limit {level}"));
        assert_eq!(outcome.code, Some(2));
        let expected = format!(
            "error: --limit must be one of 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999, but it is {level}\n"
        );
        assert_eq!(outcome.stderr, expected);
    }
    assert!(!directory.path("out.csv").exists());
}

#[test]
fn a_model_without_limits_still_scores_and_says_so() {
    let directory = fitted();
    let digits = "../../testdata/models/without_limits.mercer";
    let old = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(digits);
    std::fs::copy(old, directory.path("old.mercer")).unwrap();
    let outcome = directory.run("score old.mercer new.csv -o out.csv").done();
    assert!(outcome.stderr.contains("warning: the model was saved without control limits"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("3 rows; largest reconstruction error "), "{}", outcome.stderr);
    assert!(directory.read("out.csv").starts_with("reconstruction_error,t_squared\n"));
}

#[test]
fn a_level_is_refused_where_the_model_has_no_limits() {
    let directory = fitted();
    let old = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models/without_limits.mercer");
    std::fs::copy(old, directory.path("old.mercer")).unwrap();
    directory.run_with_input("stream -n 1 -o stream.mercer --quiet", b"1,2\n2,3\n4,1\n3,3\n").done();
    for (model, why) in [
        ("old.mercer", "the model was saved without control limits; fit it again to have them"),
        (
            "stream.mercer",
            "the model of a stream has no control limits: rows that were seen once are not there to learn them from",
        ),
    ] {
        // The default is no wish, and asking for it is.
        let outcome = directory.run(&format!("score {model} new.csv -o out.csv --limit 0.99"));
        let expected = format!("error: --limit 0.99 cannot be had from {model}: {why}\n");
        assert_eq!((outcome.code, outcome.stderr), (Some(2), expected));
        assert!(!directory.path("out.csv").exists());
    }
}

#[test]
fn a_precomputed_kernel_is_refused() {
    let directory = Directory::new();
    directory.write("matrix.csv", "2,1,0\n1,3,1\n0,1,2\n");
    directory.run("fit matrix.csv --no-header --kernel precomputed -n 1 -o matrix.mercer").done();
    let outcome = directory.run("score matrix.mercer matrix.csv --no-header -o out.csv");
    assert_eq!(outcome.code, Some(2));
    let expected = "the novelty of points does not work with the precomputed kernel: its values do not tell the kernel of a \
                    new point with itself\n";
    assert!(outcome.stderr.ends_with(expected), "{}", outcome.stderr);
    assert_eq!(directory.files(), ["matrix.csv", "matrix.mercer"]);
}
