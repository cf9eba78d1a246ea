//! `mercer tune`, and widths that are found.

use serde_json::Value;

use super::support::{Directory, bent_line, numbers};

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory
}

fn record(directory: &Directory, words: &str) -> Value {
    serde_json::from_str(&directory.run(words).done().stdout).unwrap()
}

#[test]
fn the_best_bandwidth_is_where_the_criterion_is_highest() {
    let directory = directory();
    let found = record(&directory, "tune points.csv --label half --json");
    let best = found["best_bandwidth"].as_f64().unwrap();
    let tuning = &found["tuning"];
    assert_eq!((&tuning["method"], &tuning["criterion"]), (&"exact".into(), &"variance".into()));
    let highest = tuning["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).fold(0.0, f64::max);
    assert!(tuning["best_value"].as_f64().unwrap() >= highest);
    let list = format!("{},{},{}", 0.9 * best, best, 1.1 * best);
    let around = record(&directory, &format!("tune points.csv --label half --json --bandwidths {list}"));
    let values: Vec<f64> =
        around["tuning"]["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    assert!(values[1] > values[0] && values[1] > values[2], "{values:?}");
}

#[test]
fn gamma_auto_and_bandwidth_auto_fit_with_it() {
    let directory = directory();
    let found = record(&directory, "tune points.csv --label half --json");
    for flag in ["--gamma auto", "--bandwidth auto"] {
        let fit = record(&directory, &format!("fit points.csv --label half {flag} -o points.mercer --json"));
        assert_eq!(fit["kernel"]["gamma"], found["best_gamma"], "{flag}");
    }
    for name in ["median", "scale"] {
        let one = record(&directory, &format!("fit points.csv --label half --gamma {name} -o points.mercer --json"));
        let other =
            record(&directory, &format!("fit points.csv --label half --bandwidth {name} -o points.mercer --json"));
        assert_eq!(one["kernel"]["gamma"], other["kernel"]["gamma"], "{name}");
    }
    directory.run("transform points.mercer points.csv --label half -o scores.csv").done();
    assert_eq!(numbers(&directory.read("scores.csv")).len(), 12);
}

#[test]
fn criteria_stand_side_by_side() {
    let found = record(&directory(), "tune points.csv --label half --compare --json");
    let rows = found["compared"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["criterion"].as_str().unwrap()).collect();
    assert_eq!(names, ["variance", "median", "scale", "leading", "effective-rank", "reconstruction"]);
    assert_eq!(rows[0]["best_gamma"], found["best_gamma"]);
    assert!(rows.iter().all(|row| row["best_bandwidth"].as_f64().is_some() || row["error"].is_string()), "{rows:?}");
    let table = directory().run("tune points.csv --label half --compare").done().stdout;
    assert!(table.contains("effective-rank") && table.starts_with("bandwidth "), "{table}");
}

#[test]
fn what_other_criteria_have_to_say_is_told_under_their_names() {
    let directory = Directory::new();
    // A cloud without structure: an ever wider kernel, which is linear, reconstructs it best.
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let cloud =
        (0..120).map(|i| format!("{},{}\n", noise(2 * i) + noise(7 * i + 900), noise(2 * i + 1) + noise(5 * i + 400)));
    directory.write("cloud.csv", cloud.collect::<String>());
    let outcome = directory.run("tune cloud.csv --compare --record run.json").done();
    let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    let said: Vec<&str> = record["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let is_told =
        |text: &&str| text.starts_with("reconstruction: the best bandwidth ") && text.contains("--bandwidths");
    assert!(said.iter().any(is_told), "{said:?} {}", outcome.stderr);
}

#[test]
fn a_best_bandwidth_at_the_edge_of_what_was_tried_is_told() {
    let directory = directory();
    for (list, which) in [("0.01,0.02,0.03", "widest"), ("30,40,50", "narrowest")] {
        for criterion in ["variance", "reconstruction"] {
            let words =
                format!("tune points.csv --label half --bandwidths {list} --criterion {criterion} --record run.json");
            let outcome = directory.run(&words).done();
            let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
            let best = record["best_bandwidth"].as_f64().unwrap();
            let ends: Vec<f64> = list.split(',').map(|word| word.parse().unwrap()).collect();
            let is_at_the_edge = [ends[0], ends[2]].iter().any(|end| end.to_bits() == best.to_bits());
            let warning = "that was tried: the criterion may be better beyond it; say with --bandwidths where to look";
            let warned =
                record["warnings"].as_array().unwrap().iter().any(|text| text.as_str().unwrap().ends_with(warning));
            assert_eq!(warned, is_at_the_edge, "{criterion} {list}: {}", outcome.stderr);
            if criterion == "variance" {
                assert!(outcome.stderr.contains(&format!("is the {which} that was tried")), "{}", outcome.stderr);
            }
        }
    }
    let outcome = directory.run("tune points.csv --label half").done();
    assert!(!outcome.stderr.contains("that was tried"), "{}", outcome.stderr);
}

#[test]
#[cfg(unix)]
fn a_report_that_was_stopped_is_not_there() {
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let directory = Directory::new();
    let rows = (0..3000).map(|i| format!("{},{}\n", f64::from(i * 37 % 1009), f64::from(i * i % 997)));
    directory.write("many.csv", rows.collect::<String>());
    // When components' variances are computed, which takes longest, the curve has been found.
    let mut child = super::support::mercer()
        .args(["tune", "many.csv", "--report", "tuning", "--progress", "plain"])
        .current_dir(directory.root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let from = Instant::now();
    while !directory.path("tuning").exists() {
        assert!(from.elapsed() < Duration::from_secs(60), "no directory appears");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut files: Vec<String> = std::fs::read_dir(directory.path("tuning"))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    files.sort_unstable();
    // All or nothing: on a fast machine it may have been done before.
    let expected: &[&str] = if status.success() { &["criterion.svg", "tuning.json", "variances.svg"] } else { &[] };
    assert_eq!(files, expected, "{status:?}");
}

#[test]
fn a_report_is_two_pictures_and_a_record() {
    let directory = directory();
    directory.run("tune points.csv --label half --report out/tuning --quiet").done();
    for name in ["criterion.svg", "variances.svg"] {
        let picture = directory.read(&format!("out/tuning/{name}"));
        assert!(picture.starts_with("<svg") && picture.contains("<polyline") && !picture.contains("NaN"), "{name}");
    }
    let record: Value = serde_json::from_str(&directory.read("out/tuning/tuning.json")).unwrap();
    assert_eq!(record["command"], "tune");
    let landscape = &record["landscape"];
    let bandwidths = landscape["bandwidths"].as_array().unwrap().len();
    assert_eq!(landscape["variances"].as_array().unwrap().len(), bandwidths);
    // Variances of a component never add up to more than one, the variance of points on a sphere.
    for variances in landscape["variances"].as_array().unwrap() {
        let sum: f64 = variances.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).sum();
        assert!(sum <= 1.0 + 1e-9, "{sum}");
    }
}

#[test]
fn kernels_of_inner_products_are_tried_at_the_bandwidths_that_are_given() {
    let directory = directory();
    let value = |flags: &str| -> Vec<f64> {
        let words = format!("tune points.csv --label half --bandwidths 1,2,4 --json {flags}");
        let values = record(&directory, &words)["tuning"]["values"].as_array().unwrap().clone();
        values.iter().map(|value| value.as_f64().unwrap()).collect()
    };
    let plain = value("--kernel polynomial");
    assert!(plain.len() == 3 && plain.is_sorted_by(|a, b| a > b), "a narrow one is larger: {plain:?}");
    for flags in ["--kernel polynomial --degree 2", "--kernel polynomial --coef0 0.5", "--kernel sigmoid"] {
        let other = value(flags);
        assert!(plain.iter().zip(&other).all(|(a, b)| (a - b).abs() > 1e-6 * a), "{flags} changes nothing: {other:?}");
    }
}

#[test]
fn several_parameters_are_climbed_in_from_the_best_width() {
    let directory = directory();
    let words = "tune points.csv --label half --kernel rational-quadratic --parameters gamma=0.001:100,alpha=0.5:5";
    let found = record(&directory, &format!("{words} --json"));
    assert_eq!((&found["kernel"], &found["converged"]), (&"rational-quadratic".into(), &true.into()));
    let [gamma, alpha] = ["gamma", "alpha"].map(|name| &found["parameters"][name]);
    assert!((0.001..=100.0).contains(&gamma["value"].as_f64().unwrap()), "{found}");
    assert!((0.5..=5.0).contains(&alpha["value"].as_f64().unwrap()), "{found}");
    // With the tail exponent as it starts, the best width alone is no better.
    let start = record(&directory, "tune points.csv --label half --kernel rational-quadratic --json");
    let (best, alone) = (found["best_value"].as_f64().unwrap(), start["tuning"]["best_value"].as_f64().unwrap());
    assert!(best >= alone * (1.0 - 1e-9), "{best} is less than {alone}");
    let table = directory.run(words).done().stdout;
    assert!(table.starts_with("alpha ") && table.contains("\ngamma ") && table.contains("\nclimbed "), "{table}");
    let grown = "tune points.csv --label half --kernel polynomial --parameters gamma=0.01:1,coef0=0:2";
    let table = directory.run(grown).done().stdout;
    assert!(table.contains("gamma       1, at an end of its range"), "{table}");
}

#[test]
fn a_column_of_noise_gets_a_wide_width() {
    let directory = Directory::new();
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let rows = (0..80).map(|i| format!("{},{}\n", f64::from(i % 2) * 5.0 + 0.3 * noise(2 * i), noise(2 * i + 1)));
    directory.write("points.csv", format!("group,noise\n{}", rows.collect::<String>()));
    let found = record(&directory, "tune points.csv --per-column --json");
    let columns = found["columns"].as_array().unwrap();
    let names: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!((names.as_slice(), &found["converged"]), (&["group", "noise"][..], &true.into()));
    let [group, noise] = [0, 1].map(|at| columns[at]["bandwidth"].as_f64().unwrap());
    assert!(noise > 10.0 * group, "{found}");
    let gamma = columns[0]["gamma"].as_f64().unwrap();
    assert!((gamma - 0.5 / (group * group)).abs() < 1e-12 * gamma);
    let table = directory.run("tune points.csv --per-column").done().stdout;
    assert!(table.contains("\ngroup ") && table.contains("\nnoise "), "{table}");
}

#[test]
fn what_cannot_be_tuned_is_refused_with_the_reason() {
    let directory = directory();
    directory.write("equal.csv", "x,y\n1,2\n1,2\n1,2\n");
    directory.write("pair.csv", "x\n0\n1\n1\n0\n");
    for (words, message) in [
        ("tune equal.csv", "equal.csv: all 3 rows are equal"),
        ("tune pair.csv", "pair.csv: the criterion \"variance\" has no maximum"),
        ("tune points.csv --label half --kernel linear", "--kernel linear has no width to tune"),
        (
            "tune points.csv --label half --kernel polynomial",
            "--kernel polynomial is not a function of a distance, as gaussian, laplacian,",
        ),
        ("tune points.csv --label half --parameters gamma", "give a name and a range, such as gamma=0.001:10"),
        ("tune points.csv --label half --parameters gama=1:2", "`gamma` is similar"),
        ("tune points.csv --label half --parameters gamma=2:1", "between two positive numbers, the smaller one first"),
        (
            "tune points.csv --label half --parameters alpha=1:2",
            "--parameters alpha: the gaussian kernel has no alpha; it has gamma",
        ),
        (
            "tune points.csv --label half --kernel linear --parameters gamma=1:2",
            "the linear kernel has no gamma; it has none",
        ),
        ("tune points.csv --label half --parameters gamma=1:2,gamma=1:3", "--parameters names gamma twice"),
        ("tune points.csv --label half --parameters gamma=1:2 --compare", "cannot be used with"),
        ("tune points.csv --label half --per-column --criterion median", "cannot be used with"),
        ("tune points.csv --label half --per-column --kernel laplacian", "--per-column is for the gaussian kernel"),
        ("tune equal.csv --per-column", "equal.csv: all 3 rows are equal"),
        ("tune points.csv --label half --kernel precomputed", "--kernel precomputed has no width to tune"),
        ("tune points.csv --label half --degree 2", "--degree must be left out"),
        ("tune points.csv --label half --bandwidths 1,-2", "--bandwidths must be a positive number, but it is -2"),
        ("tune points.csv --label half --criterion median --bandwidths 1", "--bandwidths must be left out"),
        ("tune points.csv --label half -n 3", "--n-components must be left out"),
        ("tune points.csv --label half --method sampled", "--method must be exact or auto for fewer than 64 points"),
        ("tune points.csv --label half --criterion best", "possible values: variance, median"),
        ("fit equal.csv --gamma auto -o m", "equal.csv: all 3 rows are equal"),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
}
