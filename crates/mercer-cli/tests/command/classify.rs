//! `mercer classify`.

use serde_json::{Value, json};

use super::support::Directory;

/// A disc and a ring around it.
fn rings() -> String {
    let rows = (0..60).map(|i| {
        let (angle, radius) = (f64::from(i) * 2.4, if i % 2 == 0 { 0.5 } else { 3.0 });
        format!("{},{},{}\n", radius * angle.cos(), radius * angle.sin(), if i % 2 == 0 { "disc" } else { "ring" })
    });
    std::iter::once("x,y,kind\n".to_owned()).chain(rows).collect()
}

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("rings.csv", rings());
    directory
}

#[test]
fn rings_are_told_apart_by_every_unit() {
    let directory = directory();
    for flags in
        ["", "--unit sigmoid", "--per-class", "--unit sigmoid --per-class --standardize", "--gamma median -n 5"]
    {
        let words = format!("classify rings.csv --label kind --folds 5 --repeats 2 --json {flags}");
        let record: Value = serde_json::from_str(&directory.run(&words).done().stdout).unwrap();
        assert_eq!(record["accuracy"], 1.0, "{flags}");
        assert_eq!(record["classes"], json!(["disc", "ring"]));
        assert_eq!(record["class_counts"], json!([30, 30]));
        assert_eq!(record["accuracies"].as_array().unwrap().len(), 10);
        let widths = if flags.contains("per-class") { 2 } else { 1 };
        assert_eq!(record["gammas"][0].as_array().unwrap().len(), widths, "{flags}");
    }
    let table = directory.run("classify rings.csv --label kind --folds 5 --repeats 1").done().stdout;
    assert!(table.starts_with("accuracy     100"), "{table}");
    assert!(table.contains("\ntest         5 folds, once; 60 rows of 2 classes\n"), "{table}");
}

#[test]
fn the_record_says_what_was_asked_of_the_unit() {
    let directory = directory();
    for (flags, expected) in [
        ("", [json!("logistic"), json!(0.1), Value::Null, Value::Null, json!(false), json!(false)]),
        (
            "--penalty 2 --standardize",
            [json!("logistic"), json!(2.0), Value::Null, Value::Null, json!(true), json!(false)],
        ),
        (
            "--unit sigmoid --epochs 7 --per-class",
            [json!("sigmoid"), Value::Null, json!(0.1), json!(7), json!(false), json!(true)],
        ),
    ] {
        let words = format!("classify rings.csv --label kind --folds 2 --repeats 1 --json {flags}");
        let record: Value = serde_json::from_str(&directory.run(&words).done().stdout).unwrap();
        let found = ["unit", "penalty", "learning_rate", "epochs", "standardized", "per_class"]
            .map(|name| record[name].clone());
        assert_eq!(found, expected, "{flags}");
    }
}

#[test]
fn the_record_says_how_many_components_were_asked_for() {
    let directory = directory();
    for (flags, expected) in [
        ("", [Value::Null, Value::Null]),
        ("-n 4", [json!(4), Value::Null]),
        ("--variance 0.5", [Value::Null, json!(0.5)]),
    ] {
        let words = format!("classify rings.csv --label kind --folds 2 --repeats 1 --json {flags}");
        let record: Value = serde_json::from_str(&directory.run(&words).done().stdout).unwrap();
        assert_eq!(["n_components_asked", "variance_asked"].map(|name| record[name].clone()), expected, "{flags}");
    }
}

#[test]
fn the_width_of_each_class_stands_beside_its_name() {
    let table = directory().run("classify rings.csv --label kind --per-class --folds 5 --repeats 2").done().stdout;
    assert!(table.contains("\ntest         5 folds, 2 times; "), "{table}");
    let gamma = |class: &str| -> f64 {
        let start = format!("             \"{class}\": gamma ");
        let line = table.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{table}"));
        line.split(' ').next().unwrap().parse().unwrap()
    };
    // The ring is six times as wide as the disc, and its width with it.
    let ratio = gamma("disc") / gamma("ring");
    assert!((20.0..60.0).contains(&ratio), "{ratio}: {table}");
}

#[test]
fn regressions_that_stop_before_their_minimum_are_told_and_end_with_1() {
    let directory = Directory::new();
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    // Classes that have nothing to do with the points, and components of very different sizes.
    let rows = (0..60).map(|i| {
        let (x, y) = (noise(2 * i) + noise(7 * i + 900), noise(2 * i + 1) + noise(5 * i + 400));
        format!("{x},{y},{}\n", i % 3)
    });
    directory.write("noise.csv", format!("x,y,kind\n{}", rows.collect::<String>()));
    let words =
        "classify noise.csv --label kind --gamma 0.3 -n 20 --penalty 1e-6 --folds 3 --repeats 1 --record run.json";
    let outcome = directory.run(words);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!((&record["converged"], &record["exit_code"]), (&false.into(), &1.into()));
    assert!(outcome.stderr.contains("the logistic regression was stopped before its minimum"), "{}", outcome.stderr);
}

#[test]
fn standardizing_is_left_to_the_folds() {
    use mercer::Points;
    use mercer::classify::KernelClassifier;
    use mercer::kernel::{KernelSpec, Width};

    let directory = Directory::new();
    let values: Vec<f64> = (0..120).map(|i| f64::from(i * i % 37) + f64::from(i).sin()).collect();
    let labels: Vec<usize> = (0..60).map(|i| i % 2).collect();
    let rows = values.chunks(2).zip(&labels).map(|(row, label)| format!("{},{},{label}\n", row[0], row[1]));
    directory.write("points.csv", format!("x,y,kind\n{}", rows.collect::<String>()));
    let words = "classify points.csv --label kind --standardize --folds 3 --repeats 1 --json";
    let record: Value = serde_json::from_str(&directory.run(words).done().stdout).unwrap();
    let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto)).standardize();
    let found = classifier.cross_validate(&Points::from_f64(values, 60, 2).unwrap(), &labels, 3, 1).unwrap();
    // To the last digit: rows that were scaled before would differ by rounding.
    assert_eq!(record["gammas"], json!(found.gammas));
    assert_eq!(record["accuracies"], json!(found.accuracies));
}

#[test]
fn a_linear_kernel_cannot() {
    let words = "classify rings.csv --label kind --kernel linear --folds 5 --repeats 1 --json";
    let record: Value = serde_json::from_str(&directory().run(words).done().stdout).unwrap();
    assert!(record["accuracy"].as_f64().unwrap() < 0.8);
}

#[test]
fn a_kernel_with_negative_eigenvalues_gets_advice_that_can_be_followed() {
    let directory = directory();
    let words = "classify rings.csv --label kind --kernel sigmoid --folds 3 --repeats 1";
    let outcome = directory.run(&format!("{words} --quiet"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: the kernel is not positive semi-definite: "), "{}", outcome.stderr);
    let hint = "hint: say what to do with them: --negative clip or --negative flip\n";
    assert!(outcome.stderr.ends_with(hint), "{}", outcome.stderr);
    let components = |negative: &str| {
        let outcome = directory.run(&format!("{words} --unit sigmoid -n 39 --json --negative {negative}")).done();
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(record["negative"], negative);
        // What every fold's fit says is said once, to people and in the record.
        let said = "in 3 of 3 folds: the kernel has negative eigenvalues, down to -";
        let is_said = |warning: &Value| warning.as_str().is_some_and(|warning| warning.starts_with(said));
        assert_eq!(record["warnings"].as_array().unwrap().iter().filter(|&warning| is_said(warning)).count(), 1);
        assert_eq!(outcome.stderr.matches(said).count(), 1, "{}", outcome.stderr);
        record["fold_components"][0][0].as_u64().unwrap()
    };
    // About half of the eigenvalues are negative.
    assert!(components("flip") > components("clip"));
}

#[test]
fn what_cannot_be_classified_is_refused_with_the_reason() {
    let directory = directory();
    directory.write("one.csv", "x,y,kind\n1,2,a\n2,1,a\n3,1,a\n");
    directory.write("few.csv", "x,kind\n1,a\n2,a\n3,a\n4,b\n5,b\n6,b\n7,a\n");
    directory.write("copies.csv", format!("x,kind\n{}{}", "7,a\n8,a\n".repeat(10), "1,b\n2,b\n3,b\n".repeat(4)));
    directory.write("single.csv", format!("x,kind\n{}5.5,b\n", "1,a\n2,a\n".repeat(5)));
    for (words, message) in [
        ("classify rings.csv --drop kind", "--label is missing"),
        ("classify one.csv --label kind", "one.csv: all rows have the same label"),
        ("classify few.csv --label kind", "class \"b\" has 3 members, fewer than the 10 folds: use at most 3 folds"),
        (
            "classify single.csv --label kind",
            "class \"b\" has 1 member, fewer than the 10 folds: leave classes of a single member out",
        ),
        ("classify rings.csv --label kind --folds 1", "--folds must be at least 2"),
        ("classify rings.csv --label kind --repeats 0", "--repeats must be at least 1"),
        ("classify rings.csv --label kind --unit sigmoid --penalty 1", "--penalty belongs to --unit logistic"),
        ("classify rings.csv --label kind --epochs 5", "--learning-rate and --epochs belong to --unit sigmoid"),
        ("classify rings.csv --label kind --per-class --gamma 1", "--per-class finds a width for each class"),
        (
            "classify rings.csv --label kind --per-class --kernel linear",
            "--per-class does not work with the linear kernel",
        ),
        (
            "classify rings.csv --label kind --kernel precomputed",
            "--kernel precomputed is a matrix that is given: a classifier learns from points",
        ),
        (
            "classify few.csv --label kind --per-class --folds 2",
            "few.csv: in a fold, class \"a\" has 2 rows to learn from: a width of its own needs at least 3",
        ),
        (
            "classify copies.csv --label kind --per-class --folds 2",
            "copies.csv: in a fold, class \"a\" has 10 rows to learn from, for which no width is the best",
        ),
        ("classify rings.csv --label kind --penalty 0", "--penalty must be a positive number, but it is 0"),
        ("classify rings.csv --label kind -n 3 --variance 0.5", "cannot be used with"),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
}
