//! `mercer reconstruct`.

use mercer::autoencoder::{AutoencoderKernelPca, Given, StartFrom};
use mercer::preimage::{Preimage, PreimageMethod};
use mercer::{Model, Points, Watch};
use serde_json::Value;

use super::support::{Directory, bent_line, numbers};

fn fitted() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half -n 3 -o points.mercer --quiet").done();
    directory.write("new.csv", "x,y\n0.1,0\n1,1.1\n");
    directory
}

#[test]
fn the_table_holds_what_the_library_says() {
    let directory = fitted();
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let points = Points::from_f64(vec![0.1, 0.0, 1.0, 1.1], 2, 2).unwrap();
    for method in ["fixed-point", "distance", "gradient", "ridge"] {
        directory.run(&format!("reconstruct points.mercer new.csv -o {method}.csv --method {method}")).done();
        let text = directory.read(&format!("{method}.csv"));
        assert!(text.starts_with("x,y,feature_error,converged\n"), "{text}");
        let method: PreimageMethod = method.parse().unwrap();
        let expected = Preimage::new(method).of_points(&model, &points, &Watch::new()).unwrap();
        for (i, row) in numbers(&text).iter().enumerate() {
            let converged = f64::from(u8::from(expected.converged[i]));
            let wanted = [expected.points[(i, 0)], expected.points[(i, 1)], expected.feature_error[i], converged];
            assert_eq!(row, &wanted, "row {i} by {method}");
        }
    }
}

#[test]
fn the_method_is_chosen_for_the_kernel_and_labels_stay() {
    let directory = fitted();
    let outcome = directory.run("reconstruct points.mercer points.csv --label half -o out.csv --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["method"], &record["n_not_converged"]), (&"fixed-point".into(), &0.into()));
    let text = directory.read("out.csv");
    assert!(text.starts_with("x,y,feature_error,converged,half\n"), "{text}");
    assert_eq!(text.lines().count(), 13);
    directory.run("fit points.csv --label half --kernel linear -o linear.mercer --quiet").done();
    let outcome = directory.run("reconstruct linear.mercer new.csv -o out.csv --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(record["method"], "gradient");
    let quadratic = "fit points.csv --label half --kernel polynomial --degree 2 --coef0 0 -o quadratic.mercer --quiet";
    directory.run(quadratic).done();
    let outcome = directory.run("reconstruct quadratic.mercer new.csv -o out.csv --json").done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(record["method"], "polynomial");
}

#[test]
fn points_that_have_not_converged_end_with_code_one() {
    let directory = fitted();
    let words = "reconstruct points.mercer new.csv -o out.csv --max-iterations 1 --restarts 0 --json";
    let outcome = directory.run(words);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("2 (100.0 %) did not converge"), "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["n_not_converged"], &record["exit_code"]), (&2.into(), &1.into()));
    assert_eq!(directory.read("out.csv").lines().count(), 3, "what there is, is written");
}

#[test]
fn more_neighbours_than_there_are_points_are_said_to_be_all_of_them() {
    let directory = fitted();
    let said = |neighbors: usize| {
        let words = format!("reconstruct points.mercer new.csv -o out.csv --method distance --neighbors {neighbors}");
        directory.run(&words).stderr
    };
    let warning = "warning: --neighbors is 500, but the model has 12 points: all of them are used";
    assert!(said(500).contains(warning), "{}", said(500));
    assert!(!said(12).contains("warning"), "{}", said(12));
}

#[test]
fn settings_that_a_method_does_not_read_are_refused() {
    let directory = fitted();
    for (flags, message) in [
        ("--method distance --restarts 3", "--restarts must be left out with the method distance"),
        ("--method fixed-point --alpha 2", "--alpha must be left out with the method fixed-point"),
        ("--method polynomial", "polynomial kernel of degree 2"),
        ("--method magic", "invalid value 'magic'"),
    ] {
        let outcome = directory.run(&format!("reconstruct points.mercer new.csv -o out.csv {flags}"));
        assert_eq!(outcome.code, Some(2), "{flags}");
        assert!(outcome.stderr.contains(message), "{flags}: {}", outcome.stderr);
        assert!(!directory.files().contains(&"out.csv".to_owned()));
    }
}

#[test]
fn an_autoencoder_is_learned_used_and_shown() {
    let directory = fitted();
    let fit = "fit points.csv --label half --method autoencoder -n 2 --epochs 3 --batch-size 4 -o codes.mercer --json";
    let record: Value = serde_json::from_str(&directory.run(fit).done().stdout).unwrap();
    assert_eq!((&record["n_components"], &record["autoencoder"]["span"]), (&2.into(), &"full".into()));
    assert_eq!(record["autoencoder"]["updates"], 9);
    directory.run("transform codes.mercer points.csv --label half -o codes.csv").done();
    assert!(directory.read("codes.csv").starts_with("pc1,pc2,half\n"));
    directory.run("reconstruct codes.mercer points.csv --label half -o again.csv").done();
    let text = directory.read("again.csv");
    assert!(text.starts_with("x,y,loss,half\n"), "{text}");
    // Three forms are all that two columns have: two lose a little.
    for (row, point) in numbers(&text).iter().zip(numbers(&bent_line())) {
        assert!((row[0] - point[0]).abs() < 0.5 && (row[1] - point[1]).abs() < 0.5, "{row:?} for {point:?}");
    }
    let info = directory.run("info codes.mercer").done().stdout;
    assert!(info.contains("2 quadratic forms, full span"), "{info}");
    directory.run("fit points.csv --label half --method autoencoder --span data --epochs 1 -o span.mercer").done();
    assert!(directory.run("info span.mercer").done().stdout.contains("data span"));
}

/// Eigenvalues that crowd at the upper end, as those of a string do, are not known after as many products as are made.
#[test]
fn codes_whose_eigenpairs_have_not_converged_end_with_code_one() {
    let (directory, d) = (Directory::new(), 500);
    let string = |at: usize| if (at / d).abs_diff(at % d) == 1 { 0.5 } else { 0.0 };
    let corner = |at: usize| if at == 0 { 1.0 } else { 0.0 };
    let given = Given { encoder: (0..d * d).map(corner).collect(), decoder: (0..d * d).map(string).collect() };
    let points =
        Points::from_f64((0..2 * d).map(|at| if at == 0 || at == d + 1 { 1.0 } else { 0.0 }).collect::<Vec<_>>(), 2, d);
    let settings = AutoencoderKernelPca::new(1).start(StartFrom::Given(given)).epochs(0);
    settings.fit(&points.unwrap()).unwrap().save(&directory.path("codes.mercer")).unwrap();
    // The first row has a code; the second has none, and is decoded to nothing.
    let row = |one: usize| (0..d).map(|k| if k == one { "1" } else { "0" }).collect::<Vec<_>>().join(",");
    directory.write("points.csv", format!("{}\n{}\n", row(0), row(1)));
    let outcome = directory.run("reconstruct codes.mercer points.csv -o out.csv --json");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let warning = "1 of 2 codes were decoded by eigenpairs that have not converged";
    assert!(
        outcome.stderr.contains(warning) && outcome.stderr.contains("1 (50.0 %) did not converge"),
        "{}",
        outcome.stderr
    );
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["n_not_converged"], &record["exit_code"]), (&1.into(), &1.into()));
    assert!(record["warnings"][0].as_str().unwrap().starts_with(warning), "{record}");
    assert!(record["mean_loss"].is_f64() && record["mean_error"].is_null(), "{record}");
}

#[test]
fn a_row_that_is_too_large_for_codes_is_told_by_its_line() {
    let directory = fitted();
    directory.run("fit points.csv --label half --method autoencoder --epochs 1 -o codes.mercer --quiet").done();
    directory.write("large.csv", "x,y\n0.1,0\n1e160,1e160\n");
    for command in ["transform", "reconstruct"] {
        let outcome = directory.run(&format!("{command} codes.mercer large.csv -o out.csv"));
        assert_eq!(outcome.code, Some(2), "{command}: {}", outcome.stderr);
        let said = "large.csv, line 3: the row is too large for codes, which are squares of points";
        assert!(outcome.stderr.contains(said), "{command}: {}", outcome.stderr);
        assert!(!directory.files().contains(&"out.csv".to_owned()), "{command}");
    }
}

#[test]
fn flags_of_other_methods_are_refused() {
    let directory = fitted();
    for (flags, message) in [
        ("--method autoencoder --gamma 1", "--gamma is not for --method autoencoder"),
        // The default kernel, too, once it is asked for: it would have no effect.
        ("--method autoencoder --kernel gaussian", "--kernel is not for --method autoencoder"),
        ("--method autoencoder --kernel linear", "--kernel is not for --method autoencoder"),
        ("--method autoencoder --variance 0.9", "--variance is not for --method autoencoder"),
        ("--method autoencoder --scale 2", "--scale is not for --method autoencoder"),
        ("--method autoencoder --passes 3", "--passes is for --solver hebbian only"),
        ("--method autoencoder --dry-run", "--dry-run is not for --method autoencoder"),
        ("--method autoencoder --accuracy 0.1", "--accuracy is not for --method autoencoder"),
        ("--method autoencoder --n-landmarks 5", "--n-landmarks is not for --method autoencoder"),
        ("--epochs 3", "--epochs is for --method autoencoder only"),
        ("--method autoencoder -n 4", "--n-components must be between 1 and 3"),
        ("--method autoencoder --span-points 3", "--span-points is for --span data only"),
        ("--method autoencoder --span full --span-points 3", "--span-points is for --span data only"),
        ("--method autoencoder --gradient plain", "--gradient is for --span data only"),
        (
            "--method autoencoder --span data --span-points 1000",
            "--span-points must be between 1 and the number of rows (12), but it is 1000",
        ),
        ("--method autoencoder --patience 3", "--patience must be left out where no rows are held out"),
    ] {
        let outcome = directory.run(&format!("fit points.csv --label half -o out.mercer {flags}"));
        assert_eq!(outcome.code, Some(2), "{flags}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{flags}: {}", outcome.stderr);
    }
    directory.run("fit points.csv --label half --method autoencoder --epochs 1 -o codes.mercer").done();
    for (words, message) in [
        ("reconstruct codes.mercer new.csv -o out.csv --method ridge", "--method is not for an autoencoder"),
        ("transform codes.mercer new.csv -o out.csv --scale 2", "not for an autoencoder"),
        (
            "score codes.mercer new.csv -o out.csv",
            "codes.mercer is an autoencoder (2 codes of 2 features), and a score needs",
        ),
        ("score codes.mercer new.csv -o out.csv", "`mercer reconstruct` decodes and tells the loss"),
        ("compare codes.mercer", "codes.mercer: this is a model, not data"),
    ] {
        let outcome = directory.run(words);
        assert_eq!(outcome.code, Some(2), "{words}");
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
}

#[test]
fn sizes_beyond_every_memory_end_with_code_three() {
    let directory = fitted();
    let header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 200000), }";
    let mut wide = b"\x93NUMPY\x01\x00".to_vec();
    wide.extend((128_u16 - 10).to_le_bytes());
    wide.extend(header);
    wide.resize(127, b' ');
    wide.push(b'\n');
    wide.extend(1.0_f64.to_le_bytes().repeat(200_000));
    directory.write("wide.npy", &wide);
    let outcome = directory.run("fit wide.npy --method autoencoder -n 30000000 -o out.mercer");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("30000000 forms of 200000 columns needs"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("(--span data)"), "{}", outcome.stderr);
}

#[test]
fn an_autoencoder_that_is_out_of_time_before_its_first_epoch_is_saved() {
    let directory = fitted();
    let fit = "fit points.csv --label half --method autoencoder --start random --time-limit 0.000001 -o start.mercer";
    let outcome = directory.run(fit);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let said = "out of time: start.mercer holds what learning starts from: no epoch was finished";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
    directory.run("transform start.mercer points.csv --label half -o codes.csv").done();
    let record: Value = serde_json::from_str(&directory.run("info start.mercer --json").done().stdout).unwrap();
    assert_eq!((&record["autoencoder"]["was_stopped"], &record["autoencoder"]["updates"]), (&true.into(), &0.into()));
}

#[test]
fn rows_held_out_have_their_loss_shown_and_the_epoch_that_is_kept() {
    let directory = fitted();
    let fit = "fit points.csv --label half -n 2 --method autoencoder --epochs 2";
    let held_out = directory.run(&format!("{fit} --validation 0.3 --seed 3 -o codes.mercer --json")).done().stdout;
    let record: Value = serde_json::from_str(&held_out).unwrap();
    let history = record["autoencoder"]["history"].as_array().unwrap();
    let losses: Vec<f64> = history.iter().map(|entry| entry["validation_loss"].as_f64().unwrap()).collect();
    let best = (0..losses.len()).min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
    let shown = directory.run("info codes.mercer").done().stdout;
    let kept = format!("kept        epoch {}, the best for rows held out\n", history[best]["epoch"]);
    assert!(shown.contains(&kept) && shown.contains("\nepoch      loss  held out  seconds\n"), "{shown}");
    directory.run(&format!("{fit} -o plain.mercer")).done();
    let shown = directory.run("info plain.mercer").done().stdout;
    assert!(shown.contains("\nepoch      loss  seconds\n") && !shown.contains("held out"), "{shown}");
}

#[test]
fn a_rate_that_is_to_be_found_can_be_asked_for_by_name() {
    let directory = fitted();
    let fit = "fit points.csv --label half --method autoencoder --epochs 1";
    let learned = |flag: &str| {
        let outcome = directory.run(&format!("{fit} {flag} -o codes.mercer --json")).done();
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        (record["autoencoder"]["learning_rate"].clone(), record["autoencoder"]["rate_was_found"].clone())
    };
    let by_default = learned("");
    assert_eq!(by_default.1, true);
    assert_eq!(learned("--learning-rate auto"), by_default);
    let outcome = directory.run(&format!("{fit} --learning-rate fast -o codes.mercer"));
    assert!(outcome.code == Some(2) && outcome.stderr.contains("give a number, or auto"), "{}", outcome.stderr);
}

/// Steps of nothing, and rows held out for which every epoch is worse than the start: nothing is taken back.
#[test]
fn learning_that_was_in_vain_ends_with_code_one_and_the_start() {
    let directory = fitted();
    for (flags, whose) in [("--learning-rate 1e-300", "the loss"), ("--validation 0.3", "the loss of rows held out")] {
        let fit = "fit points.csv --label half -n 2 --method autoencoder --epochs 2";
        let outcome = directory.run(&format!("{fit} {flags} -o codes.mercer --json"));
        assert_eq!(outcome.code, Some(1), "{flags}: {}", outcome.stderr);
        let said =
            format!("nothing was learned: no epoch made {whose} smaller; codes.mercer holds what learning starts from");
        assert!(outcome.stderr.contains(&said), "{flags}: {}", outcome.stderr);
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(
            (&record["converged"], &record["autoencoder"]["is_stuck"]),
            (&false.into(), &true.into()),
            "{flags}"
        );
        assert_eq!(record["autoencoder"]["n_halved"], 0, "{flags}");
    }
}

#[test]
fn learning_codes_says_nothing_of_centring() {
    let directory = fitted();
    let fit = "fit points.csv --label half --method autoencoder --epochs 1 --progress plain -o codes.mercer";
    let said = directory.run(fit).done().stderr;
    assert!(said.contains("learning") && !said.contains("centring"), "{said}");
}

#[test]
fn a_rate_that_diverges_ends_with_code_one_and_a_model() {
    let directory = fitted();
    let outcome = directory
        .run("fit points.csv --label half --method autoencoder --learning-rate 1e6 --epochs 3 -o codes.mercer");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("learning diverged"), "{}", outcome.stderr);
    directory.run("info codes.mercer").done();
}
