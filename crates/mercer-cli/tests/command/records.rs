//! What machines read.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::{Directory, bent_line};

/// The keys that every record of a fit promises.
const KEYS: [&str; 19] = [
    "n_samples",
    "n_features",
    "n_components",
    "kernel",
    "gram",
    "solver",
    "precision",
    "eigenvalues",
    "explained_variance_ratio",
    "total_variance",
    "residuals",
    "converged",
    "passes",
    "kernel_entries",
    "seconds",
    "peak_memory_bytes",
    "threads",
    "seed",
    "version",
];

#[track_caller]
fn check_record(text: &str) -> Value {
    let record: Value = serde_json::from_str(text).unwrap();
    for key in KEYS {
        assert!(!record[key].is_null(), "{key} is missing in {text}");
    }
    assert!(record["warnings"].is_array());
    record
}

#[test]
fn the_record_has_all_that_was_promised() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -n 2 -o points.mercer --json --seed 5").done();
    let record = check_record(&outcome.stdout);
    assert_eq!((&record["n_samples"], &record["n_features"]), (&Value::from(12), &Value::from(2)));
    assert_eq!(record["kernel"]["name"], "gaussian");
    assert_eq!(record["eigenvalues"].as_array().unwrap().len(), 2);
    assert_eq!(record["residuals"].as_array().unwrap().len(), 2);
    assert_eq!((&record["converged"], &record["seed"]), (&Value::from(true), &Value::from(5)));
    let seconds = |phase: &str| record["seconds"][phase].as_f64().unwrap();
    assert!(seconds("read") + seconds("fit") <= seconds("total") + 1e-9);
}

#[test]
fn the_record_file_is_what_json_prints() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -o points.mercer --json --record run.json --quiet").done();
    assert_eq!(outcome.stdout, directory.read("run.json"));
    assert_eq!(outcome.stderr, "", "quiet means quiet");
}

#[test]
fn info_prints_the_record_of_the_model() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let fit = directory.run("fit points.csv --label half -n 2 -o points.mercer --json").done();
    let info = directory.run("info points.mercer --json").done();
    let (fit, info) = (check_record(&fit.stdout), check_record(&info.stdout));
    for key in ["eigenvalues", "residuals", "kernel", "version", "plan"] {
        assert_eq!(fit[key], info[key], "{key}");
    }
}

/// Every path of a record with the type of what is there; what differs from run to run is left out.
fn shape(value: &Value, path: &str, lines: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "count",
        Value::String(_) => "text",
        Value::Array(items) => {
            if items.is_empty() {
                lines.insert(format!("{path}[]"));
            }
            for item in items {
                shape(item, &format!("{path}[]"), lines);
            }
            return;
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                shape(item, &format!("{path}.{key}"), lines);
            }
            return;
        }
    };
    lines.insert(format!("{path}: {kind}"));
}

/// The record of every command, made by calls that give each of them something to say.
fn records() -> Vec<(&'static str, Value)> {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o points.mercer --quiet").done();
    let picture = image::GrayImage::from_fn(24, 20, |x, y| image::Luma([(x * 7 + y * x * 31 % 40) as u8]));
    picture.save(directory.path("noisy.png")).unwrap();
    image::GrayImage::from_fn(24, 20, |x, _| image::Luma([x as u8 * 7])).save(directory.path("clean.png")).unwrap();
    std::fs::create_dir(directory.path("known")).unwrap();
    for i in 0..8 {
        let known = image::GrayImage::from_fn(24, 20, |x, y| image::Luma([(x * (i + 2) + y * 3) as u8]));
        known.save(directory.path(&format!("known/{i}.png"))).unwrap();
    }
    std::fs::create_dir(directory.path("true")).unwrap();
    picture.save(directory.path("true/small.png")).unwrap();
    image::GrayImage::from_fn(12, 10, |x, y| image::Luma([(x * 9 + y * 7) as u8]))
        .save(directory.path("small.png"))
        .unwrap();
    directory.write("clean.csv", bent_line().replace("0.75,", "0.5,"));
    [
        ("fit", "fit points.csv --label half -n 2 -o again.mercer"),
        (
            "hebbian",
            "fit points.csv --label half -n 2 --solver hebbian --gain smd* --tolerance 0.5 -o by_iteration.mercer",
        ),
        ("nystrom", "fit points.csv --label half -n 2 --gram nystrom --n-landmarks 6 -o over_landmarks.mercer"),
        (
            "autoencoder",
            "fit points.csv --label half -n 2 --method autoencoder --epochs 2 --validation 0.3 -o codes.mercer",
        ),
        ("plan", "plan points.csv --label half --variance 0.9 --max-passes 1 --solver lanczos"),
        ("transform", "transform points.mercer points.csv --label half -o scores.csv"),
        ("reconstruct", "reconstruct points.mercer points.csv --label half -o again.csv"),
        ("score", "score points.mercer points.csv --label half -o novelty.csv"),
        ("cluster", "cluster points.csv --labels half -k 2 -o clusters.csv --model clusters.mercer"),
        ("denoise", "denoise noisy.png -o out.png --reference clean.png"),
        ("denoise-rows", "denoise-rows points.csv --label half --noise 0.1 --reference clean.csv -o rows.csv"),
        ("upscale", "upscale known small.png -o large --reference true"),
        ("reproduce", "reproduce toy-circles --data . --out circles --quick"),
        ("stream", "stream --budget 3 --checkpoint state -o learned.mercer"),
        ("stream-model", "stream learned.mercer --rule apex -o next.mercer"),
        ("stream-turns", "stream --rule apex --rows-per-component 2"),
        ("compare", "compare points.csv --label half --methods dense,krylov"),
        ("tune", "tune points.csv --label half --bandwidths 0.5,1,2,4 --compare --report tuning"),
        (
            "tune-parameters",
            "tune points.csv --label half --kernel rational-quadratic --parameters gamma=0.01:10,alpha=0.5:5",
        ),
        ("tune-per-column", "tune points.csv --label half --per-column"),
        ("classify", "classify points.csv --label half --folds 3 --repeats 1"),
        ("info", "info points.mercer"),
        ("demo", "demo"),
        ("error", "fit none.csv -o x.mercer"),
    ]
    .into_iter()
    .map(|(name, words)| {
        // Only one of them reads it.
        let outcome = directory.run_with_input(&format!("{words} --json"), b"1,2\n2,3\n4,1\n3,3\n");
        (name, serde_json::from_str(&outcome.stdout).unwrap())
    })
    .collect()
}

/// After a change that is meant, write the new shapes with `UPDATE_SNAPSHOTS=1 cargo test -p mercer-cli records`.
#[test]
fn records_have_the_shape_they_had() {
    for (name, record) in records() {
        let mut lines = BTreeSet::new();
        shape(&record, "", &mut lines);
        let found: String = lines.into_iter().map(|line| line + "\n").collect();
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/records/{name}.txt"));
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&path, &found).unwrap();
            continue;
        }
        assert_eq!(found, fs::read_to_string(&path).unwrap(), "the record of {name} is not what its snapshot says");
    }
}

#[test]
fn every_record_says_who_made_it_and_how_it_ended() {
    for (name, record) in records() {
        let command = match name {
            "error" | "hebbian" | "nystrom" | "autoencoder" => "fit",
            "tune-parameters" | "tune-per-column" => "tune",
            "stream-model" | "stream-turns" => "stream",
            _ => name,
        };
        assert_eq!(record["command"], command);
        assert_eq!(record["exit_code"], if name == "error" { 2 } else { 0 }, "{name}");
        assert_eq!((&record["record_version"], &record["version"]), (&1.into(), &env!("CARGO_PKG_VERSION").into()));
        if name != "error" {
            assert!(record["seconds"]["total"].as_f64().unwrap() > 0.0, "{name}");
            assert!(record["peak_memory_bytes"].as_u64().unwrap() > 0 && record["warnings"].is_array(), "{name}");
        }
    }
}

#[test]
fn every_field_is_described() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/records.md")).unwrap();
    for (name, record) in records() {
        let mut lines = BTreeSet::new();
        shape(&record, "", &mut lines);
        for line in lines {
            let path = line.split(": ").next().unwrap();
            for key in path.split('.').map(|part| part.trim_end_matches("[]")).filter(|part| !part.is_empty()) {
                assert!(page.contains(&format!("`{key}`")), "docs/records.md does not describe `{key}` of {name}");
            }
        }
    }
}
