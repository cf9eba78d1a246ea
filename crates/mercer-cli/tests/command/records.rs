//! What machines read.

use std::collections::{BTreeMap, BTreeSet};
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
    directory.run("fit points.csv --label half --standardize -o standardized.mercer --quiet").done();
    directory.run("fit points.csv --label half --scale 2 -o scaled.mercer --quiet").done();
    directory.run("cluster points.csv --label half -k 2 -o first.csv --model clusters.mercer --quiet").done();
    let rows: Vec<String> = (0..300).map(|i| format!("{},{}\n", f64::from(i).sin(), f64::from(i * i).cos())).collect();
    directory.write("many.csv", rows.concat());
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
            "fit points.csv --label half -n 2 --method autoencoder --epochs 2 --validation 0.3 --seed 3 -o codes.mercer",
        ),
        ("expansion", "fit points.csv --label half -n 2 --kernel polynomial --gram expansion -o by_terms.mercer"),
        ("plan", "plan points.csv --label half --variance 0.9 --max-passes 1 --solver lanczos"),
        ("transform", "transform points.mercer points.csv --label half -o scores.csv"),
        ("transform-clusters", "transform clusters.mercer points.csv --label half -o members.csv"),
        ("reconstruct", "reconstruct points.mercer points.csv --label half -o again.csv"),
        ("reconstruct-codes", "reconstruct codes.mercer points.csv --label half -o decoded.csv"),
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
        ("compare-problem", "compare many.csv --methods dense,tiled/krylov --memory 1MiB -n 2"),
        ("tune", "tune points.csv --label half --bandwidths 0.5,1,2,4 --compare --report tuning"),
        (
            "tune-parameters",
            "tune points.csv --label half --kernel rational-quadratic --parameters gamma=0.01:10,alpha=0.5:5",
        ),
        ("tune-per-column", "tune points.csv --label half --per-column"),
        ("classify", "classify points.csv --label half --folds 3 --repeats 1"),
        ("info", "info points.mercer"),
        ("info-standardized", "info standardized.mercer"),
        ("info-scaled", "info scaled.mercer"),
        ("info-autoencoder", "info codes.mercer"),
        ("info-clusters", "info clusters.mercer"),
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
            "error" | "hebbian" | "nystrom" | "autoencoder" | "expansion" => "fit",
            "denoise-rows" => name,
            _ => name.split('-').next().unwrap(),
        };
        assert_eq!(record["command"], command);
        let code = match name {
            "error" => 2,
            "compare-problem" => 1,
            _ => 0,
        };
        assert_eq!(record["exit_code"], code, "{name}: {record}");
        assert_eq!((&record["record_version"], &record["version"]), (&2.into(), &env!("CARGO_PKG_VERSION").into()));
        if name != "error" {
            assert!(record["seconds"]["total"].as_f64().unwrap() > 0.0, "{name}");
            assert!(record["peak_memory_bytes"].as_u64().unwrap() > 0 && record["warnings"].is_array(), "{name}");
            assert!(record["threads"].as_u64().unwrap() > 0, "{name}");
        }
    }
}

/// The type of a value; of a list, as far as its items tell it. `None` for what may stand for any.
fn kind(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(_) => Some("true or false".to_owned()),
        Value::Number(_) => Some("number".to_owned()),
        Value::String(_) => Some("text".to_owned()),
        Value::Object(_) => Some("object".to_owned()),
        Value::Array(items) => {
            let longest = items.iter().filter_map(kind).max_by_key(String::len);
            Some(longest.map_or_else(|| "list".to_owned(), |item| format!("list of {item}")))
        }
    }
}

/// Adds the type of everything that has a name to what is known of that name, and refuses another type.
fn compare_types(value: &Value, whose: &str, known: &mut BTreeMap<String, (String, String)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| compare_types(item, whose, known)),
        Value::Object(entries) => {
            for (name, item) in entries {
                if let Some(found) = kind(item) {
                    let (before, owner) =
                        known.entry(name.clone()).or_insert_with(|| (found.clone(), whose.to_owned()));
                    let is_same = before.starts_with(&found) || found.starts_with(before.as_str());
                    assert!(is_same, "`{name}` is {found} in the record of {whose}, and {before} in that of {owner}");
                    if found.len() > before.len() {
                        *before = found;
                    }
                }
                compare_types(item, whose, known);
            }
        }
        _ => {}
    }
}

#[test]
fn a_name_has_one_type_in_all_records() {
    let mut known = BTreeMap::new();
    for (name, record) in records() {
        compare_types(&record, name, &mut known);
    }
    assert_eq!(known["kernel"].0, "object");
}

/// The section of docs/records.md that a record has of its own, by the beginning of its heading.
fn own_section(name: &str) -> String {
    match name {
        "fit" | "hebbian" | "nystrom" | "expansion" | "demo" | "info" | "info-standardized" | "info-scaled" => {
            "A fit: ".to_owned()
        }
        "autoencoder" | "info-autoencoder" => "An autoencoder: ".to_owned(),
        "plan" => "A plan: ".to_owned(),
        "reconstruct" | "reconstruct-codes" | "score" => "`transform`, ".to_owned(),
        "info-clusters" => "`cluster`".to_owned(),
        "error" => "Errors".to_owned(),
        other => format!("`{}`", other.split('-').next().unwrap()),
    }
}

#[test]
fn every_field_is_described() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/records.md")).unwrap();
    let section = |heading: &str| {
        let found = page.split("\n## ").find(|section| section.starts_with(heading));
        found.unwrap_or_else(|| panic!("docs/records.md has no section {heading}"))
    };
    let (every, several, plan) = (section("Every record"), section("What several records have"), section("A plan: "));
    for (name, record) in records() {
        let own = section(&own_section(name));
        let mut lines = BTreeSet::new();
        shape(&record, "", &mut lines);
        for line in lines {
            let path = line.split(": ").next().unwrap();
            let keys: Vec<&str> = path.split('.').skip(1).map(|part| part.trim_end_matches("[]")).collect();
            for (depth, key) in keys.iter().enumerate() {
                let places = match (depth, keys[0]) {
                    (0, _) => vec![own, every],
                    (_, "seconds") => vec![every],
                    (_, "plan") => vec![plan],
                    (_, "kernel" | "expansion" | "scaling") => vec![several],
                    _ => vec![own],
                };
                let is_described = places.iter().any(|section| section.contains(&format!("`{key}`")));
                assert!(is_described, "docs/records.md does not describe `{path}` of {name} where it should");
            }
        }
    }
}
