//! `mercer transform` and `mercer info`.

use mercer::Model;

use super::support::{Directory, bent_line, npy, numbers};

fn fitted() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 3 -o points.mercer --quiet").done();
    directory
}

#[test]
fn scores_of_the_training_points_are_the_training_scores() {
    let directory = fitted();
    directory.run("transform points.mercer points.csv --label half -o scores.csv").done();
    let scores = directory.read("scores.csv");
    assert!(scores.starts_with("pc1,pc2,pc3,half\n"), "{scores}");
    assert!(scores.lines().nth(1).unwrap().ends_with(",low"), "{scores}");
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let expected = model.training_scores();
    let found = numbers(&scores);
    assert_eq!(found.len(), expected.nrows());
    // Both are exact up to the eigenvectors' residuals, which the dense solver leaves at rounding.
    for (i, row) in found.iter().enumerate() {
        for (j, score) in row.iter().enumerate() {
            assert!((score - expected[(i, j)]).abs() < 1e-12, "row {i}, component {j}");
        }
    }
}

#[test]
fn text_and_arrays_hold_the_same_scores() {
    let directory = fitted();
    directory.run("transform points.mercer points.csv --label half -o scores.csv").done();
    directory.run("transform points.mercer points.csv --label half -o scores.npy").done();
    let array = std::fs::read(directory.path("scores.npy")).unwrap();
    let header = String::from_utf8_lossy(&array[10..128]).into_owned();
    assert!(header.contains("'shape': (12, 3)"), "{header}");
    let values: Vec<f64> = array[128..].chunks(8).map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap())).collect();
    assert_eq!(values, numbers(&directory.read("scores.csv")).concat());
}

#[test]
fn points_come_from_standard_input_and_scores_go_to_standard_output() {
    let directory = fitted();
    let piped = directory.run_with_input("transform points.mercer - --label half", bent_line().as_bytes()).done();
    directory.run("transform points.mercer points.csv --label half -o scores.csv").done();
    assert_eq!(piped.stdout, directory.read("scores.csv"));
}

#[test]
fn the_model_remembers_how_its_data_was_scaled() {
    let directory = Directory::new();
    directory.write("images.npy", npy("|u1", "(4, 2)", &[0, 9, 200, 30, 7, 255, 80, 90]));
    directory.run("fit images.npy --scale 1/255 --gamma 2 -n 2 -o images.mercer").done();
    let model = Model::load(&directory.path("images.mercer")).unwrap();
    assert!(model.basis().is_bytes(), "bytes stay bytes");
    let plain = directory.run("transform images.mercer images.npy").done();
    assert!(!plain.stderr.contains("warning"), "{}", plain.stderr);
    let expected = model.training_scores();
    for (i, row) in numbers(&plain.stdout).iter().enumerate() {
        // Single precision, and scores of order one.
        assert!(row.iter().enumerate().all(|(j, score)| (score - expected[(i, j)]).abs() < 1e-5), "row {i}: {row:?}");
    }
    let again = directory.run("transform images.mercer images.npy --scale 1/255").done();
    assert_eq!(again.stdout, plain.stdout, "typed again, it is not applied again");
    let other = directory.run("transform images.mercer images.npy --scale 1/2 --progress none");
    assert_eq!(other.code, Some(2));
    let expected = "error: the model multiplies its data by 0.00392156862745098 by itself: leave --scale out\n";
    assert_eq!(other.stderr, expected);
}

#[test]
fn a_scale_that_the_model_does_not_know_of_is_told() {
    let directory = fitted();
    let told = "warning: the model was fitted without --scale, but these are taken times 0.5: that is right only if its data had been multiplied so before\n";
    for words in ["transform points.mercer points.csv --label half", "score points.mercer points.csv --label half"] {
        let plain = directory.run(words).done();
        assert!(!plain.stderr.contains("--scale"), "{words}: {}", plain.stderr);
        let scaled = directory.run(&format!("{words} --scale 1/2")).done();
        assert!(scaled.stderr.contains(told), "{words}: {}", scaled.stderr);
        assert_ne!(scaled.stdout, plain.stdout, "{words}");
    }
}

#[test]
fn a_standardized_fit_is_standardized_data_fitted() {
    let directory = Directory::new();
    let rows: Vec<[f64; 2]> = (0..9).map(|i| [f64::from(i * i), 1000.0 + f64::from(i)]).collect();
    let csv = |rows: &[[f64; 2]]| rows.iter().map(|[x, y]| format!("{x},{y}\n")).collect::<Vec<_>>().concat();
    directory.write("raw.csv", csv(&rows));
    let mean = |j: usize| rows.iter().map(|row| row[j]).sum::<f64>() / 9.0;
    let deviation = |j: usize| (rows.iter().map(|row| (row[j] - mean(j)).powi(2)).sum::<f64>() / 9.0).sqrt();
    let scaled: Vec<[f64; 2]> = rows.iter().map(|row| [0, 1].map(|j| (row[j] - mean(j)) / deviation(j))).collect();
    directory.write("scaled.csv", csv(&scaled));
    directory.run("fit raw.csv --standardize --gamma 0.5 -n 2 -o raw.mercer").done();
    directory.run("fit scaled.csv --gamma 0.5 -n 2 -o scaled.mercer").done();
    let raw = numbers(&directory.run("transform raw.mercer raw.csv").done().stdout);
    let scaled = numbers(&directory.run("transform scaled.mercer scaled.csv").done().stdout);
    for (a, b) in raw.concat().iter().zip(scaled.concat()) {
        assert!((a - b).abs() < 1e-10, "{a} {b}");
    }
    let outcome = directory.run("fit raw.csv --standardize --kernel precomputed -o x.mercer");
    assert_eq!(outcome.code, Some(2));
    assert_eq!(outcome.stderr, "error: --standardize is not for --kernel precomputed: its columns are points\n");
}

#[test]
fn other_columns_than_at_the_fit_are_refused_and_nothing_is_written() {
    let directory = fitted();
    directory.write("wide.csv", "1,2,3\n");
    let before = directory.files();
    for output in ["scores.csv", "-"] {
        let outcome = directory.run(&format!("transform points.mercer wide.csv -o {output}"));
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(2), ""));
        assert!(
            outcome.stderr.ends_with(
                "error: wide.csv: the data has 3 columns, but the model was fitted on 2\n\
                 hint: give the same columns as at the fit; --label takes one out\n"
            ),
            "{}",
            outcome.stderr
        );
        assert_eq!(directory.files(), before);
    }
}

#[test]
fn points_of_another_width_get_the_advice_of_their_format() {
    let directory = Directory::new();
    let image = |side: usize, i: usize| {
        let pixels = (0..side * side).map(|at| (at * (i + 3) % 251) as u8);
        format!("P5 {side} {side} 255\n").into_bytes().into_iter().chain(pixels).collect::<Vec<u8>>()
    };
    for side in [8, 9] {
        std::fs::create_dir(directory.path(&format!("of{side}"))).unwrap();
        (0..4).for_each(|i| directory.write(&format!("of{side}/{i}.pgm"), image(side, i)));
    }
    directory.write("two.idx", [0, 0, 8, 2, 0, 0, 0, 3, 0, 0, 0, 2, 1, 2, 3, 5, 8, 13]);
    directory.write("three.idx", [0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3]);
    directory.write("three.libsvm", "1 1:2 2:1 3:5\n");
    directory.run("fit of8 -n 2 -o images.mercer --quiet").done();
    directory.run("fit two.idx -n 1 -o two.mercer --quiet").done();
    for (words, hint) in [
        (
            "images.mercer of9",
            "bring the images to the size of those of the fit with --resize WxH, and give --pixels as it was given there",
        ),
        ("two.mercer three.idx", "give points of the same shape as at the fit, or take columns out with --drop"),
        (
            "two.mercer three.libsvm",
            "give the same columns as at the fit, counted alike (--index-base), or take columns out with --drop",
        ),
    ] {
        let outcome = directory.run(&format!("transform {words} --progress none"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.ends_with(&format!("\nhint: {hint}\n")), "{words}: {}", outcome.stderr);
    }
    // What is advised helps.
    directory.run("transform images.mercer of9 --resize 8x8").done();
    directory.run("transform two.mercer three.idx --drop 3").done();
    directory.run("transform two.mercer three.libsvm --drop 3").done();
}

#[test]
fn a_single_row_is_written_as_one() {
    let directory = fitted();
    directory.run("fit points.csv --label half -n 1 -o one.mercer --quiet").done();
    let outcome = directory.run("transform one.mercer points.csv --label half --rows 0:1 -o one.csv --progress none");
    assert_eq!(outcome.done().stderr, "1 row of 1 score written to one.csv\n");
}

#[test]
fn info_shows_what_fit_showed() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let fit = directory.run("fit points.csv --label half -n 3 -o points.mercer").done();
    let info = directory.run("info points.mercer").done();
    // Times and memory of the command itself are only known after the model is saved; the names of columns are news to nobody then.
    let lasting = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.starts_with("time") && !line.starts_with("memory") && !line.starts_with("columns"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(lasting(&info.stdout), lasting(&fit.stdout));
}

#[test]
fn a_name_that_does_not_say_the_format_of_scores_is_told_how_to_end() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -o points.mercer --quiet").done();
    for command in ["transform", "score"] {
        let outcome = directory.run(&format!("{command} points.mercer points.csv --label half -o scores.dat --quiet"));
        let expected = "error: the name scores.dat does not say what format the scores are to have; let it end in .csv, .tsv, .parquet, \
                        .arrow, .npy, .npz or .libsvm\n";
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(2), expected));
    }
    assert_eq!(directory.files(), ["points.csv", "points.mercer"]);
}

#[test]
fn a_sample_of_new_rows_depends_on_the_seed() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 2 -o points.mercer --quiet").done();
    for command in ["transform", "score", "reconstruct"] {
        let rows = |flags: &str| {
            let words =
                format!("{command} points.mercer points.csv --label half --sample 4 -o out.csv --quiet {flags}");
            directory.run(&words).done();
            directory.read("out.csv")
        };
        assert_eq!(rows(""), rows("--seed 0"), "{command}");
        assert!((1..5).any(|seed| rows(&format!("--seed {seed}")) != rows("")), "{command}");
        let outcome = directory.run(&format!("{command} points.mercer points.csv --label half --seed 1 -o out.csv"));
        assert_eq!(outcome.code, Some(2), "a seed of nothing: {}", outcome.stderr);
    }
}

#[test]
fn what_the_output_has_no_place_for_is_said_and_stands_in_the_record() {
    let directory = fitted();
    for (words, lost) in [
        ("transform points.mercer points.csv --label half -o out.npy", "labels"),
        ("score points.mercer points.csv --label half -o out.npy", "labels"),
        ("cluster points.csv --label half -k 2 -o out.npy", "labels"),
        ("denoise-rows points.csv --label half --window 2 -n 1 -o out.npy", "labels"),
    ] {
        let outcome = directory.run(&format!("{words} --json"));
        let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let warning = format!("{lost} are not written: a .npy array of scores has no place for them");
        let warnings = record["warnings"].as_array().unwrap();
        assert!(warnings.contains(&warning.as_str().into()), "{words}: {warnings:?}");
        assert_eq!(outcome.stderr.matches(&format!("warning: {warning}\n")).count(), 1, "{words}: {}", outcome.stderr);
    }
}
