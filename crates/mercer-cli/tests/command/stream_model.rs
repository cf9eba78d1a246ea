//! `mercer stream MODEL` with real processes: components that learn on; and components that learn one after the other.

use mercer::Model;

use super::stream::{refusal, rows};
use super::support::{Directory, bent_line, numbers};

/// Rows with names, as CSV.
fn named(range: std::ops::Range<usize>) -> String {
    format!("x,y,z\n{}", rows(range))
}

/// A directory with a model of 300 standardized rows, and the rows.
fn with_model() -> Directory {
    let directory = Directory::new();
    directory.write("past.csv", named(0..300));
    directory.write("new.csv", named(300..340));
    directory.run("fit past.csv -n 4 --bandwidth 1.5 --standardize -o past.mercer --quiet").done();
    directory
}

/// The largest difference of two tables of as many numbers.
fn apart(one: &str, other: &str) -> f64 {
    let (one, other) = (numbers(one), numbers(other));
    assert_eq!((one.len(), one[0].len()), (other.len(), other[0].len()));
    one.iter().flatten().zip(other.iter().flatten()).fold(0.0, |most, (a, b)| most.max((a - b).abs()))
}

#[test]
fn a_stream_begins_with_the_components_of_a_model() {
    let directory = with_model();
    let transformed = directory.run("transform past.mercer new.csv").done().stdout;
    // At a rate of nearly zero scores are the model's, but for the mean, which takes each of the rows in as one of 301 and more.
    let words = "stream past.mercer --learning-rate 1e-12 --emit scores --record run.json -o still.mercer";
    let outcome = directory.stream(words, &named(300..340)).done();
    assert!(outcome.stderr.contains("beginning with past.mercer, a model of 300 points\n"), "{}", outcome.stderr);
    assert!(apart(&outcome.stdout, &transformed) < 0.02, "{}", apart(&outcome.stdout, &transformed));
    let one =
        directory.stream("stream past.mercer --learning-rate 1e-12 --emit scores", &named(300..301)).done().stdout;
    let first: Vec<f64> = numbers(&transformed)[0].iter().map(|score| score * 300.0 / 301.0).collect();
    for (found, want) in numbers(&one)[0].iter().zip(first) {
        assert!((found - want).abs() < 1e-9, "{found} for {want}");
    }
    let record: serde_json::Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    for (field, want) in [
        ("began_with", serde_json::json!("past.mercer")),
        ("n_before", 300.into()),
        ("n_samples", 40.into()),
        ("n_components", 4.into()),
        ("resumed_after_rows", serde_json::Value::Null),
        ("warnings", serde_json::json!([])),
    ] {
        assert_eq!(record[field], want, "{field}");
    }
    assert!((record["kernel"]["gamma"].as_f64().unwrap() - 1.0 / 4.5).abs() < 1e-12);
    // The model at the end scales and names its columns as the one at the beginning, and has the weight of both.
    let (past, still) = (Model::load(&directory.path("past.mercer")), Model::load(&directory.path("still.mercer")));
    let (past, still) = (past.unwrap(), still.unwrap());
    assert_eq!((still.scaling(), still.feature_names()), (past.scaling(), past.feature_names()));
    assert_eq!((still.n_samples(), still.n_components()), (340, 4));
    let (was, is) = (numbers(&transformed), numbers(&directory.run("transform still.mercer new.csv").done().stdout));
    for p in 0..4 {
        let product = |a: &[Vec<f64>], b: &[Vec<f64>]| a.iter().zip(b).map(|(a, b)| a[p] * b[p]).sum::<f64>();
        let cosine = product(&was, &is).abs() / (product(&was, &was) * product(&is, &is)).sqrt();
        assert!(cosine > 0.97, "component {p}: {cosine}");
    }
    // Columns are found by their names, and others are passed over.
    let straight = named(300..340);
    let turned = straight.lines().map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        format!("{},{},{},{}\n", fields[2], fields[0], if fields[0] == "x" { "more" } else { "7" }, fields[1])
    });
    let outcome = directory.stream(words, &turned.collect::<String>()).done();
    assert!(apart(&outcome.stdout, &transformed) < 0.02);
    let remark = "standard input: a column that the model does not have is passed over: \"more\"";
    assert!(outcome.stderr.contains(remark), "{}", outcome.stderr);
}

#[test]
fn rows_like_those_of_the_model_leave_as_much_variance_explained() {
    let directory = with_model();
    let explained = |words: &str, input: &str| -> f64 {
        let record: serde_json::Value = serde_json::from_str(&directory.stream(words, input).done().stdout).unwrap();
        record["explained_variance_ratio"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).sum()
    };
    // All that the record says of a stream without rows is of the model.
    let before = explained("stream past.mercer --json", "");
    let model = Model::load(&directory.path("past.mercer")).unwrap();
    assert!((before - model.explained_variance_ratio().iter().sum::<f64>()).abs() < 1e-6, "{before}");
    for words in ["stream past.mercer --json", "stream past.mercer --budget 60 --schedule 1/t --json"] {
        let after = explained(words, &named(300..3300));
        assert!(after > before - 0.02, "{words}: {before}, then {after}");
    }
    let table = directory.stream("stream past.mercer", &named(300..310)).done().stdout;
    assert!(
        table.starts_with(
            "begun       as past.mercer, a model of 300 points\nrows        10 of 3 features, 0 bad\nlearning "
        ),
        "{table}"
    );
}

#[test]
fn a_stream_from_a_model_in_parts_is_the_stream_as_a_whole() {
    let directory = with_model();
    for extra in ["--budget 50", "--rule apex --schedule 1/t"] {
        let words = format!("stream past.mercer {extra} --emit scores,novelty --checkpoint");
        let whole = directory.stream(&format!("{words} whole"), &named(300..600)).done().stdout;
        // The same call, again and again: it begins with the model once, and goes on from then on.
        let first = directory.stream(&format!("{words} state --resume"), &named(300..420)).done();
        assert!(first.stderr.contains("beginning with past.mercer"), "{}", first.stderr);
        let second = directory.stream(&format!("{words} state --resume --replay"), &named(300..600)).done();
        assert!(second.stderr.contains("going on after 120 rows\n"), "{}", second.stderr);
        assert_eq!(format!("{}{}", first.stdout, second.stdout.split_once('\n').unwrap().1), whole);
        assert_eq!(directory.read("state"), directory.read("whole"), "the learner is the same, to the bit");
        // By its file alone, too, which knows scaling and names.
        directory.stream(&format!("{words} third"), &named(300..420)).done();
        directory.stream("stream third --checkpoint third", &named(420..600)).done();
        assert_eq!(directory.read("third"), directory.read("whole"));
        for name in ["whole", "state", "third"] {
            std::fs::remove_file(directory.path(name)).unwrap();
        }
    }
}

#[test]
fn a_budget_below_the_basis_of_a_model_is_paid_for_at_once_or_refused() {
    let directory = with_model();
    let record = |budget: usize| -> serde_json::Value {
        let words = format!("stream past.mercer --budget {budget} --json");
        serde_json::from_str(&directory.stream(&words, "").done().stdout).unwrap()
    };
    let cost = |record: &serde_json::Value| {
        record["budget_error"].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).fold(0.0, f64::max)
    };
    let (small, large) = (record(8), record(60));
    // No more than do not depend on one another.
    assert_eq!(small["n_remembered"], 8);
    assert!((20..=60).contains(&large["n_remembered"].as_u64().unwrap()), "{large}");
    assert!(cost(&small) > 0.1 && cost(&large) < 0.1 * cost(&small), "{small} {large}");
    let outcome = directory.stream("stream past.mercer --budget 60 --policy smallest", &named(300..310));
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.starts_with(
            "error: --budget must be at least the number of the model's basis points (300) with the policy smallest"
        ),
        "{}",
        outcome.stderr
    );
}

#[test]
fn flags_that_contradict_a_model_are_refused() {
    let directory = with_model();
    let say = |words: &str| refusal(&directory, words, &named(300..310));
    let gamma = Model::load(&directory.path("past.mercer")).unwrap().record().kernel.gamma.unwrap();
    let own = format!("past.mercer has the gaussian kernel of gamma {gamma}, and its components learn on");
    assert_eq!(say("stream past.mercer --gamma 8"), format!("error: {own}: leave --gamma out"));
    assert_eq!(say("stream past.mercer --bandwidth 8"), format!("error: {own}: leave --bandwidth out"));
    assert_eq!(say("stream past.mercer --kernel laplacian"), format!("error: {own}: leave --kernel out"));
    assert!(say("stream past.mercer --degree 2").contains("degree"));
    assert_eq!(
        say("stream past.mercer --no-center"),
        "error: past.mercer is centred, and its components learn on: leave --no-center out"
    );
    assert_eq!(
        say("stream past.mercer --start past.csv"),
        "error: past.mercer is a model, and its components learn on: leave --start out"
    );
    assert_eq!(
        say("stream past.mercer -n 3"),
        "error: --n-components must be at least those of the model (4), but it is 3"
    );
    assert!(
        say("stream past.mercer --rule apex --rows-per-component 9")
            .starts_with("error: --rows-per-component must be left out")
    );
    assert!(say("stream past.mercer --replay").starts_with("error: --replay is for streams that go on"));
    assert_eq!(say("stream past.mercer -o past.mercer"), "error: past.mercer is the model: it would be replaced");
    assert!(say("stream past.mercer --checkpoint past.mercer").starts_with("error: past.mercer is there already"));
    // What says the same again contradicts nothing; and more components begin at rows.
    directory.stream("stream past.mercer --kernel rbf --bandwidth 1.5 -n 5", &named(300..310)).done();
}

#[test]
fn files_that_are_something_else_than_a_model_of_components_are_refused_by_their_names() {
    let directory = Directory::new();
    let say = |words: &str| refusal(&directory, words, &named(300..310));
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 2 --method autoencoder --epochs 1 -o codes.mercer --quiet").done();
    directory.run("cluster points.csv --labels half -k 2 -o c.csv --model clusters.mercer --quiet").done();
    assert!(
        say("stream codes.mercer")
            .starts_with("error: codes.mercer is an autoencoder (2 codes of 2 features), and a stream needs")
    );
    assert!(
        say("stream clusters.mercer")
            .starts_with("error: clusters.mercer holds clusters (2 of 12 points), and a stream needs")
    );
    let matrix: String = (0..6)
        .map(|i| {
            (0..6).map(|j| format!("{}", 1.0 / f64::from(1 + (i - j) * (i - j)))).collect::<Vec<_>>().join(",") + "\n"
        })
        .collect();
    directory.write("matrix.csv", matrix);
    directory.run("fit matrix.csv --kernel precomputed -n 2 -o given.mercer --quiet").done();
    assert_eq!(
        say("stream given.mercer"),
        "error: online learning does not work with the precomputed kernel: rows that are still to come have no place in a matrix"
    );
    let outcome = directory.stream("stream points.csv", "1,2\n");
    assert_eq!(
        outcome.stderr,
        "error: points.csv: this is neither a model nor the state of a learner\nhint: rows come on standard input: mercer stream < points.csv\n"
    );
    directory.write("torn.mercer", "xx");
    assert!(say("stream torn.mercer").starts_with("error: torn.mercer: not a Mercer model, or cut short"));
}

#[test]
fn rows_that_do_not_fit_a_model_are_refused() {
    let directory = with_model();
    let outcome = directory.stream("stream past.mercer", "1,2\n");
    assert_eq!(
        (outcome.code, outcome.stderr.lines().last()),
        (Some(2), Some("error: standard input, line 1: the row has 2 columns, but rows of this stream have 3"))
    );
    let outcome = directory.stream("stream past.mercer", "a,b,c\n1,2,3\n");
    assert!(
        outcome.stderr.contains("no column has a name of the model, whose columns are \"x\", \"y\", \"z\""),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_checkpoint_goes_on_with_the_model_that_it_began_with() {
    let directory = with_model();
    directory.run("fit past.csv --rows 0:200 -n 4 --bandwidth 1.5 --standardize -o other.mercer --quiet").done();
    directory.stream("stream past.mercer --budget 50 --checkpoint state", &named(300..320)).done();
    directory.stream("stream -n 4 --gamma 0.2 --checkpoint plain", &named(300..320)).done();
    let say = |words: &str| refusal(&directory, words, &named(320..330));
    assert_eq!(
        say("stream other.mercer --budget 50 --checkpoint state --resume"),
        "error: state: the checkpoint belongs to another stream (it did not begin with other.mercer as it is now)"
    );
    assert_eq!(
        say("stream --budget 50 --checkpoint state --resume"),
        "error: state: the checkpoint belongs to another stream (it began with a model of 300 points: name it as MODEL)"
    );
    assert_eq!(
        say("stream past.mercer --checkpoint plain --resume"),
        "error: plain: the checkpoint belongs to another stream (it did not begin with past.mercer as it is now)"
    );
    assert_eq!(
        say("stream past.mercer --budget 60 --checkpoint state --resume"),
        "error: state: the checkpoint belongs to another stream (budget: 50 there, 60 here)"
    );
    directory.stream("stream past.mercer --budget 50 --checkpoint state --resume", &named(320..330)).done();
}

#[test]
fn every_kind_of_model_of_components_can_be_gone_on_from() {
    let directory = Directory::new();
    directory.write("past.csv", named(0..200));
    directory.write("new.csv", named(200..230));
    for (fit, n) in [
        ("fit past.csv -n 2 --gamma 2 --no-center", 200),
        ("fit past.csv -n 2 --gamma 2 --precision f32", 200),
        ("fit past.csv -n 2 --gamma 2 --scale 1/2", 200),
        ("fit past.csv -n 2 --gamma 2 --gram nystrom --n-landmarks 20", 200),
        ("fit past.csv -n 2 --gamma 2 --solver hebbian --tolerance 0.5", 200),
        ("fit past.csv -n 2 --kernel polynomial --degree 2 --gram expansion", 200),
    ] {
        directory.run(&format!("{fit} -o past.mercer --quiet")).done();
        let words = "stream past.mercer --learning-rate 1e-12 --emit scores -o next.mercer";
        let scores = directory.stream(words, &named(200..230)).done().stdout;
        let want = directory.run("transform past.mercer new.csv").done().stdout;
        let size = numbers(&want).iter().flatten().fold(0.0_f64, |most, score| most.max(score.abs()));
        assert!(apart(&scores, &want) < 0.03 * size, "{fit}: {}", apart(&scores, &want));
        // And on from what that stream has learned.
        assert_eq!(Model::load(&directory.path("next.mercer")).unwrap().n_samples(), n + 30, "{fit}");
        directory.stream("stream next.mercer --budget 30 -o third.mercer", &named(230..260)).done();
        assert_eq!(Model::load(&directory.path("third.mercer")).unwrap().n_samples(), n + 60, "{fit}");
    }
}

#[test]
fn components_learn_one_after_the_other() {
    let directory = Directory::new();
    let words = "stream -n 3 --gamma 8 --rule apex --rows-per-component 100 --emit scores";
    let outcome = directory.stream(&format!("{words} --checkpoint whole"), &rows(0..350)).done();
    let scores = numbers(&outcome.stdout);
    for (i, row) in scores.iter().enumerate() {
        // A component has begun once the first row of its turn is learned.
        let begun: Vec<bool> = row.iter().map(|&score| score != 0.0).collect();
        let want: Vec<bool> = (0..3).map(|p| i > 100 * p).collect();
        assert_eq!(begun, want, "row {i}");
    }
    // As the library does it.
    let settings = mercer::online::OnlineKernelPca::new(mercer::Kernel::gaussian(8.0).unwrap()).n_components(3);
    let mut learner = settings.rule(mercer::online::Rule::Apex).rows_per_component(100).learner().unwrap();
    for (line, found) in rows(0..350).lines().zip(&scores) {
        let row: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        assert_eq!(&learner.learn_row(&row).unwrap().outputs, found);
    }
    // In parts, cut within a turn, at its end, and right after it.
    for cut in [50, 100, 101, 200, 320] {
        let words = format!("{words} --checkpoint state --resume");
        let first = directory.stream(&words, &rows(0..cut)).done().stdout;
        let second = directory.stream(&words, &rows(cut..350)).done().stdout;
        assert_eq!(format!("{first}{}", second.split_once('\n').unwrap().1), outcome.stdout, "cut after {cut} rows");
        assert_eq!(directory.read("state"), directory.read("whole"), "cut after {cut} rows");
        std::fs::remove_file(directory.path("state")).unwrap();
    }
    // The record and the table say so, and a stream that ends before the last has begun does, too.
    let words = "stream -n 3 --gamma 8 --rule apex --rows-per-component 100";
    let record: serde_json::Value =
        serde_json::from_str(&directory.stream(&format!("{words} --json"), &rows(0..350)).done().stdout).unwrap();
    assert_eq!((&record["rows_per_component"], &record["n_components"]), (&100.into(), &3.into()));
    let short = directory.stream(&format!("{words} -o short.mercer"), &rows(0..150)).done();
    assert!(
        short.stdout.contains("learning    apex rule, constant rate automatic, 100 rows per component\n"),
        "{}",
        short.stdout
    );
    let said =
        "2 of 3 components have begun to learn: one learns after the other, each from 100 rows, and 150 have come";
    assert!(short.stderr.contains(&format!("warning: {said}\n")), "{}", short.stderr);
    assert_eq!(Model::load(&directory.path("short.mercer")).unwrap().n_components(), 2);
    let other = directory.stream(&format!("{words} --checkpoint whole --resume").replace("100", "90"), &rows(350..360));
    assert!(
        other.stderr.contains("the checkpoint belongs to another stream (rows_per_component: 100 there, 90 here)"),
        "{}",
        other.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_killed_stream_from_a_model_in_mid_turn_loses_only_what_came_after_its_checkpoint() {
    use super::stream::Running;

    let directory = with_model();
    for (words, input) in [
        ("stream past.mercer --budget 50", named(300..700)),
        ("stream -n 3 --gamma 8 --rule apex --rows-per-component 70 --budget 40", named(300..700)),
    ] {
        let kept = format!("{words} --emit novelty --checkpoint state --checkpoint-every 50");
        let mut running = Running::start(&directory, &kept);
        running.say(&input[..=input.match_indices('\n').nth(120).unwrap().0]);
        // 120 answers have come, so the checkpoints after 50 and 100 rows have been written.
        for _ in 0..=120 {
            running.line();
        }
        running.child.kill().unwrap();
        running.child.wait().unwrap();
        let resumed = directory.stream(&format!("{kept} --resume --replay"), &input).done();
        assert!(resumed.stderr.contains("going on after 100 rows\n"), "{}", resumed.stderr);
        directory.stream(&format!("{words} --checkpoint whole"), &input).done();
        assert_eq!(directory.read("state"), directory.read("whole"), "as if nothing had happened, to the bit");
        std::fs::remove_file(directory.path("state")).unwrap();
        std::fs::remove_file(directory.path("whole")).unwrap();
    }
}
