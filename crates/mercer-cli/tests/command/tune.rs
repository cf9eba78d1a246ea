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
    assert!(rows.iter().all(|row| row["best_bandwidth"].as_f64().is_some_and(|sigma| sigma > 0.0)), "{rows:?}");
    // Each is what it is when it is asked for alone.
    for row in rows {
        let words = format!("tune points.csv --label half --criterion {} --json", row["criterion"].as_str().unwrap());
        assert_eq!(record(&directory(), &words)["best_gamma"], row["best_gamma"], "{words}");
    }
    let table = directory().run("tune points.csv --label half --compare").done().stdout;
    assert!(table.contains("effective-rank") && table.starts_with("bandwidth "), "{table}");
}

#[test]
fn criteria_side_by_side_get_the_flags_that_they_have_a_use_for() {
    let directory = directory();
    let words = "tune points.csv --label half --kernel polynomial --bandwidths 1,2,4 --compare --json";
    let found = record(&directory, words);
    for row in found["compared"].as_array().unwrap() {
        // Kernels of inner products have no median distance; every criterion with a search tries what is given.
        let is_refused =
            row["problem"].as_str().is_some_and(|problem| problem.contains("not a function of a distance"));
        assert_eq!(is_refused, row["criterion"] == "median", "{row}");
        let sigma = row["best_bandwidth"].as_f64();
        assert!(is_refused || row["criterion"] == "scale" || sigma.is_some_and(|sigma| sigma <= 4.0), "{row}");
    }
    let leading = |flags: &str| {
        let words = format!("tune points.csv --label half --compare --json --criterion reconstruction {flags}");
        record(&directory, &words)["compared"][3]["best_gamma"].clone()
    };
    assert_ne!(leading("-n 1"), leading("-n 5"), "the number of components changes the sum of the leading variances");
    // The variance counts no components, but others beside it do.
    directory.run("tune points.csv --label half --compare -n 1").done();
}

/// A cloud of rows without structure.
fn cloud(n: u32) -> String {
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let row = |i: u32| [noise(2 * i) + noise(7 * i + 900), noise(2 * i + 1) + noise(5 * i + 400)];
    let rows = (0..n).map(|i| row(i).map(|x| x.to_string()).join(",") + "\n");
    rows.collect()
}

#[test]
fn a_sampled_search_shows_its_interval_and_says_if_it_is_too_wide() {
    let directory = Directory::new();
    directory.write("cloud.csv", cloud(2000));
    let outcome = directory.run("tune cloud.csv --method sampled --tolerance 0.2 --record run.json").done();
    let found: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    let (best, error) = (&found["best_bandwidth"], found["tuning"]["standard_error"].as_f64().unwrap());
    assert!(error > 0.0 && 2.0 * error <= 0.2 * best.as_f64().unwrap(), "{found}");
    assert_eq!((&found["tuning"]["method"], &found["tuning"]["converged"]), (&"sampled".into(), &true.into()));
    assert!(outcome.stdout.lines().next().is_some_and(|line| line.contains(" ± ")), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("samples of "), "{}", outcome.stdout);

    let outcome = directory.run("tune cloud.csv --method sampled --tolerance 1e-6 --record run.json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let found: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    assert_eq!((&found["tuning"]["converged"], &found["exit_code"]), (&false.into(), &1.into()));
    assert!(outcome.stderr.contains("could not be made as narrow as"), "{}", outcome.stderr);
}

#[test]
fn the_record_of_a_climb_says_where_it_began() {
    let directory = directory();
    let width = record(&directory, "tune points.csv --label half --json");
    for flags in ["--per-column", "--parameters gamma=0.001:100"] {
        let found = record(&directory, &format!("tune points.csv --label half {flags} --seed 5 --json"));
        assert_eq!(found["seed"], 5, "{flags}");
        let (start, alone) = (found["start_value"].as_f64().unwrap(), width["tuning"]["best_value"].as_f64().unwrap());
        assert!((start / alone - 1.0).abs() < 1e-6, "{flags}: {start} is not {alone}");
        assert!(found["best_value"].as_f64().unwrap() >= start * (1.0 - 1e-12), "{found}");
    }
}

#[test]
fn the_record_of_a_search_says_how_narrow_its_interval_had_to_be() {
    let directory = directory();
    let tolerance = |flags: &str| {
        record(&directory, &format!("tune points.csv --label half --json {flags}"))["tuning"]["tolerance"].clone()
    };
    assert_eq!(tolerance(""), 1e-8);
    assert_eq!(tolerance("--tolerance 1e-4"), 1e-4);
    assert_eq!(tolerance("--criterion median"), Value::Null);
}

#[test]
fn a_climb_that_was_cut_short_says_so() {
    let directory = directory();
    for flags in ["--per-column", "--kernel rational-quadratic --parameters gamma=0.001:100,alpha=0.5:5"] {
        let words = format!("tune points.csv --label half {flags} --max-steps 1 --record run.json");
        let outcome = directory.run(&words);
        assert_eq!(outcome.code, Some(1), "{flags}: {}", outcome.stderr);
        let found: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        assert_eq!((&found["converged"], &found["steps"]), (&false.into(), &1.into()), "{flags}");
        assert!(outcome.stderr.contains("the climb was stopped after 1 step"), "{flags}: {}", outcome.stderr);
    }
}

#[test]
fn a_climb_tells_what_the_search_for_its_start_has_to_say_and_what_is_held_at_its_limit() {
    let directory = Directory::new();
    // Three groups of copies are best apart: at the narrowest width, of which the search warns.
    directory.write("groups.csv", "0\n1\n100\n".repeat(20));
    for flags in ["--per-column", "--parameters gamma=0.001:100"] {
        directory.run(&format!("tune groups.csv {flags} --record run.json"));
        let found: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
        let said: Vec<&str> = found["warnings"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(said.iter().any(|text| text.starts_with("gamma auto: the best bandwidth ")), "{flags}: {said:?}");
    }
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let rows = (0..80).map(|i| format!("{},{}\n", f64::from(i % 2) * 5.0 + 0.3 * noise(2 * i), 4.0 * noise(2 * i + 1)));
    directory.write("held.csv", rows.collect::<String>());
    let outcome = directory.run("tune held.csv --per-column --record run.json");
    let found: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    let held = found["columns"].as_array().unwrap().iter().filter(|column| column["at_bound"] == true).count();
    assert_eq!(held, 1, "{found}");
    assert!(outcome.stderr.contains("of 1 column is held at a factor of 10000 from the start"), "{}", outcome.stderr);
    assert_eq!(outcome.stdout.matches("at its limit").count(), held, "{}", outcome.stdout);
}

#[test]
fn points_too_far_apart_or_too_close_for_a_width_are_refused() {
    let directory = Directory::new();
    let ordinary = (0..40).map(|i| (i * i % 17).to_string()).collect::<Vec<_>>().join("\n");
    directory.write("far.csv", format!("{ordinary}\n1e200\n"));
    let large = (0..40).map(|i| format!("{}e200", 1 + i * i % 17));
    directory.write("large.csv", large.collect::<Vec<_>>().join("\n"));
    let close = (0..400).map(|i| format!("{i}e-155"));
    directory.write("close.csv", close.collect::<Vec<_>>().join("\n"));
    for (words, message) in [
        ("tune far.csv", "far.csv, line 41: the row is too large"),
        ("tune far.csv --criterion leading", "far.csv, line 41: the row is too large"),
        ("tune far.csv --criterion reconstruction", "far.csv, line 41: the row is too large"),
        ("tune far.csv --criterion median", "far.csv, line 41: the row is too large for a width to be found"),
        ("fit far.csv --gamma auto -o m", "far.csv, line 41: the row is too large"),
        (
            "tune large.csv --criterion scale",
            "large.csv, line 5: the row is too large for a width to be found: its largest number is 1.7e201, and at such distances \
             kernel values or widths are no numbers; multiply the data by 6e-202, standardize it, or leave the row out",
        ),
        ("fit large.csv --gamma median -o m", "multiply the data by 6e-202, standardize it, or leave the row out"),
        ("tune close.csv", "close.csv: points are too close to one another"),
        ("fit close.csv --gamma auto -o m", "close.csv: points are too close to one another"),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    // What the message says helps.
    for flags in ["--scale 6e-202 --criterion median", "--standardize --criterion scale"] {
        directory.run(&format!("tune large.csv {flags}")).done();
    }
}

#[test]
fn pictures_mark_the_best_and_name_what_they_show() {
    let directory = directory();
    let picture = |flags: &str| {
        let outcome = directory.run(&format!("tune points.csv --label half --report out {flags}")).done();
        (directory.read("out/criterion.svg"), directory.read("out/tuning.json"), outcome.stdout)
    };
    // A width without a search: one dot of the criterion that the number belongs to, over round bandwidths.
    let (svg, _, table) = picture("--criterion median");
    assert!(svg.contains(">Variance of the variances, gaussian kernel<"), "{svg}");
    assert!(svg.contains(">variance of the variances") && svg.contains("criterion median: bandwidth"), "{svg}");
    assert_eq!((svg.matches("<circle").count(), svg.matches("<polyline").count()), (2, 0), "{svg}");
    assert!(table.contains("criterion   median, variance of the variances "), "{table}");
    // The best is an end of what was tried, and there is a maximum elsewhere: both are marked, and the best is the wider line.
    let noise = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 8) / f64::from(1 << 24);
    let rows =
        (0..18).map(|i| format!("{},{}\n", [0.0, 5.0, 60.0][i as usize % 3] + 0.2 * noise(i), 0.2 * noise(i + 99)));
    directory.write("scales.csv", rows.collect::<String>());
    let found = record(&directory, "tune scales.csv --json");
    let maxima: Vec<f64> = found["tuning"]["maxima"]
        .as_array()
        .unwrap()
        .iter()
        .map(|maximum| maximum["bandwidth"].as_f64().unwrap())
        .collect();
    let [narrow, wide] = maxima[..] else { panic!("{found}") };
    let is_wide = found["best_bandwidth"].as_f64().unwrap() > 0.99 * wide;
    let (other, edge) = if is_wide { (narrow, 0.97 * wide) } else { (wide, 1.03 * narrow) };
    let list = [0.7 * other, other, 1.4 * other, edge].map(|sigma| sigma.to_string()).join(",");
    directory.run(&format!("tune scales.csv --bandwidths {list} --report out")).done();
    let found: Value = serde_json::from_str(&directory.read("out/tuning.json")).unwrap();
    assert_eq!(found["tuning"]["maxima"].as_array().unwrap().len(), 1, "{found}");
    assert!((found["best_bandwidth"].as_f64().unwrap() / edge - 1.0).abs() < 1e-9, "{found}");
    for name in ["criterion.svg", "variances.svg"] {
        let svg = directory.read(&format!("out/{name}"));
        let marks = |width: &str| svg.matches(&format!("stroke=\"#b3261e\" stroke-width=\"{width}\"")).count();
        assert_eq!((marks("2"), marks("1")), (1, 1), "{name}: {svg}");
    }
}

#[test]
fn what_other_criteria_have_to_say_is_told_under_their_names() {
    let directory = Directory::new();
    // A cloud without structure: an ever wider kernel, which is linear, reconstructs it best.
    directory.write("cloud.csv", cloud(120));
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
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    use std::time::Duration;

    let directory = Directory::new();
    let rows = (0..3000).map(|i| format!("{},{}\n", f64::from(i * 37 % 1009), f64::from(i * i % 997)));
    directory.write("many.csv", rows.collect::<String>());
    let mut child = super::support::mercer()
        .args(["tune", "many.csv", "--report", "tuning", "--progress", "plain"])
        .current_dir(directory.root())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("tuning") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended without a word of tuning: {said}");
    }
    // Components' variances are computed by then, or the curve.
    std::thread::sleep(Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    stderr.read_to_string(&mut said).unwrap();
    let status = child.wait().unwrap();
    let mut files: Vec<String> = std::fs::read_dir(directory.path("tuning"))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect())
        .unwrap_or_default();
    files.sort_unstable();
    // All or nothing: on a fast machine it may have been done before.
    let expected: &[&str] = if status.success() { &["criterion.svg", "tuning.json", "variances.svg"] } else { &[] };
    assert_eq!(files, expected, "{status:?}");
    assert_eq!(directory.path("tuning").exists(), status.success(), "{status:?}");
}

#[test]
fn a_run_that_fails_leaves_no_directory_for_its_report_behind() {
    let directory = directory();
    directory.write("pair.csv", "x\n0\n1\n1\n0\n");
    for (words, left) in [
        ("tune none.csv --report out/tuning", false),
        ("tune pair.csv --report out/tuning", false),
        // A directory that holds the record of the failure, or was there before, stays.
        ("tune pair.csv --report out/tuning --record out/run.json", true),
        ("tune pair.csv --report out/tuning", true),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert_eq!(directory.path("out").exists(), left, "{words}");
        assert!(!directory.path("out/tuning").exists(), "{words}");
    }
    // Before anything is read: a place where none can be made.
    let outcome = directory.run("tune none.csv --report points.csv/tuning");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("error: making points.csv/tuning: "), "{}", outcome.stderr);
}

#[test]
fn criteria_are_compared_where_the_one_that_was_asked_for_finds_nothing() {
    let directory = directory();
    directory.write("pair.csv", "x\n0\n1\n1\n0\n");
    directory.write("equal.csv", "x,y\n1,2\n1,2\n1,2\n");
    let outcome = directory.run("tune pair.csv --compare --report out --record run.json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("pair.csv: the criterion \"variance\" has no maximum"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--report has no curve to draw"), "{}", outcome.stderr);
    assert!(!directory.path("out").exists());
    assert!(outcome.stdout.starts_with("criterion "), "{}", outcome.stdout);
    let record: Value = serde_json::from_str(&directory.read("run.json")).unwrap();
    let rows = record["compared"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["criterion"] == name).unwrap();
    assert!(row("variance")["problem"].as_str().unwrap().contains("has no maximum"), "{record}");
    // The squared distance of the pairs that differ is one.
    assert!((row("median")["best_gamma"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{record}");
    assert_eq!((rows.len(), &record["best_bandwidth"], &record["exit_code"]), (6, &Value::Null, &1.into()));
    // What nothing can be found for is an error, and so is a wrong call.
    for (words, message) in [
        ("tune equal.csv --compare", "equal.csv: all 3 rows are equal"),
        ("tune pair.csv --compare --method sampled", "--method must be exact or auto for fewer than 64 points"),
    ] {
        let outcome = directory.run(words);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
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
    assert_eq!(landscape["leading_variances"].as_array().unwrap().len(), bandwidths);
    // Variances of a component never add up to more than one, the variance of points on a sphere.
    for variances in landscape["leading_variances"].as_array().unwrap() {
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
fn the_variance_of_the_values_gives_a_width_to_kernels_of_inner_products_too() {
    let directory = directory();
    let found = record(&directory, "tune points.csv --label half --kernel polynomial --criterion scale --json");
    directory.run("fit points.csv --label half --kernel polynomial --gamma scale -o m --record fit.json").done();
    let fit: Value = serde_json::from_str(&directory.read("fit.json")).unwrap();
    // A logarithm there and back changes the last digits.
    let ratio = found["best_gamma"].as_f64().unwrap() / fit["kernel"]["gamma"].as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-12, "{ratio}");
    let outcome = directory.run("tune points.csv --label half --kernel sigmoid --criterion median");
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--criterion median is for kernels of a distance"), "{}", outcome.stderr);
}

#[test]
fn several_parameters_are_climbed_in_from_the_best_width() {
    let directory = directory();
    let words = "tune points.csv --label half --kernel rational-quadratic --parameters gamma=0.001:100,alpha=0.5:5";
    let found = record(&directory, &format!("{words} --json"));
    assert_eq!((&found["kernel"]["name"], &found["converged"]), (&"rational-quadratic".into(), &true.into()));
    let [alpha, gamma] = [0, 1].map(|at| &found["parameters"][at]);
    assert_eq!((&alpha["name"], &gamma["name"]), (&"alpha".into(), &"gamma".into()));
    assert_eq!((&alpha["value"], &gamma["value"]), (&found["kernel"]["alpha"], &found["kernel"]["gamma"]));
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
    let rows = (1..50).map(|i| format!("{}\n", 10_000 * i));
    directory.write("large.csv", rows.collect::<String>());
    for (words, message) in [
        ("tune equal.csv", "equal.csv: all 3 rows are equal"),
        ("tune equal.csv --kernel polynomial --bandwidths 1,2", "equal.csv: all 3 rows are equal"),
        ("tune equal.csv --kernel polynomial --parameters gamma=0.1:1", "equal.csv: all 3 rows are equal"),
        ("tune pair.csv", "pair.csv: the criterion \"variance\" has no maximum"),
        ("tune pair.csv", "as when all rows are copies of two points; give bandwidths to try"),
        ("tune pair.csv --per-column", "as when all rows are copies of two points; there is no width to climb from"),
        (
            "tune large.csv --kernel polynomial --degree 20 --bandwidths 1,2",
            "large.csv, line 49: the polynomial kernel of the row with itself is",
        ),
        (
            "tune large.csv --kernel polynomial --degree 20 --parameters gamma=0.5:1",
            "which overflows f64 in sums over 49 rows",
        ),
        // Before the data is read, which is not there.
        (
            "tune none.csv --per-column --max-steps 0",
            "invalid value '0' for '--max-steps <N>': give a whole number from 1 on",
        ),
        (
            "tune none.csv --parameters gamma=0.1:1 --max-steps 0",
            "invalid value '0' for '--max-steps <N>': give a whole number from 1 on",
        ),
        ("tune points.csv --label half --kernel linear", "--kernel linear has no width to tune"),
        (
            "tune points.csv --label half --kernel polynomial",
            "--kernel polynomial is not a function of a distance, as gaussian, laplacian,",
        ),
        ("tune points.csv --label half --parameters gamma", "give a name and a range, such as gamma=0.001:10"),
        ("tune points.csv --label half --parameters gama=1:2", "`gamma` is similar"),
        (
            "tune points.csv --label half --parameters gamma=10:1",
            "--parameters gamma=10:1: give two positive numbers for gamma, the smaller one first",
        ),
        (
            "tune points.csv --label half --kernel polynomial --parameters gamma=1:2,coef0=0.5:-1",
            "--parameters coef0=0.5:-1: give two numbers for coef0, the smaller one first",
        ),
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
        ("tune points.csv --label half --max-steps 5", "--max-steps belongs to --parameters and --per-column"),
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
