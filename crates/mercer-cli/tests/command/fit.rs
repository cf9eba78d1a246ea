//! `mercer fit`.

use mercer::Model;

use super::support::{Directory, bent_line, npy};

#[test]
fn a_linear_kernel_gives_the_variance_that_can_be_computed_by_hand() {
    let directory = Directory::new();
    // Centred at the origin; sums of squares along the axes: 2 * 9 and 2 * 4.
    directory.write("cross.csv", "3,0\n-3,0\n0,2\n0,-2\n");
    directory.run("fit cross.csv --kernel linear -n 2 -o cross.mercer").done();
    let model = Model::load(&directory.path("cross.mercer")).unwrap();
    let expected = [18.0, 8.0];
    for (found, expected) in model.eigenvalues().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{:?}", model.eigenvalues());
    }
    assert!((model.total_variance() - 26.0).abs() < 1e-12);
}

#[test]
fn the_table_is_data_and_the_rest_is_talk() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    let outcome = directory.run("fit points.csv --label half -n 3 -o points.mercer").done();
    assert!(
        outcome.stdout.starts_with("points      12 of 2 features\nkernel      gaussian, gamma 0.5\n"),
        "{outcome:?}"
    );
    assert_eq!(outcome.stdout.lines().filter(|line| line.trim_start().starts_with(['1', '2', '3'])).count(), 3);
    assert!(outcome.stderr.ends_with("model saved as points.mercer\n"), "{}", outcome.stderr);
    assert_eq!(directory.files(), ["points.csv", "points.mercer"]);
}

#[test]
fn text_and_array_of_the_same_points_give_the_same_model() {
    let directory = Directory::new();
    let values = [0.0, 0.5, 1.0, -2.0, 3.25, 4.0, 1.5, 1.0];
    let rows: Vec<String> = values.chunks(2).map(|row| format!("{},{}\n", row[0], row[1])).collect();
    directory.write("a.csv", rows.concat());
    let bytes: Vec<u8> = values.iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    directory.write("a.npy", npy("<f8", "(4, 2)", &bytes));
    directory.run("fit a.csv -n 2 -o csv.mercer").done();
    directory.run("fit a.npy -n 2 -o npy.mercer").done();
    let load = |name| Model::load(&directory.path(name)).unwrap();
    assert_eq!(load("csv.mercer").eigenvalues(), load("npy.mercer").eigenvalues());
    assert_eq!(load("csv.mercer").training_scores(), load("npy.mercer").training_scores());
}

#[test]
fn images_of_bytes_are_flattened_scaled_and_kept_as_bytes() {
    let directory = Directory::new();
    let pixels: Vec<u8> = (0..5 * 2 * 3).map(|i| u8::try_from(i * i % 251).unwrap()).collect();
    directory.write("images.npy", npy("|u1", "(5, 2, 3)", &pixels));
    directory.run("fit images.npy --scale 1/255 --bandwidth 1 -n 2 -o images.mercer").done();
    let model = Model::load(&directory.path("images.mercer")).unwrap();
    assert_eq!((model.n_samples(), model.n_features()), (5, 6));
    assert_eq!(model.basis().byte_scale(), Some(1.0 / 255.0));
}

#[test]
fn a_share_of_the_variance_decides_the_number_of_components() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory.run("fit points.csv --label half --variance 0.9 -o points.mercer").done();
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let shares = model.explained_variance_ratio();
    let all: f64 = shares.iter().sum();
    let last = shares.last().unwrap();
    assert!(all >= 0.9 && all - last < 0.9, "{shares:?}");
}

#[test]
fn every_flag_reaches_the_fit() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory
        .run(
            "fit points.csv --label half --kernel poly --gamma 0.5 --degree 2 --coef0 2 --no-center --n-components 2 \
             --gram tiled --solver lanczos --tolerance 1e-4 --memory 100MiB --threads 1 --precision f32 --seed 7 \
             --max-passes 100 --time-limit 60s --negative clip -o points.mercer --quiet",
        )
        .done();
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let record = model.record();
    assert_eq!(record.kernel.name, "polynomial");
    assert_eq!((record.kernel.gamma, record.kernel.degree, record.kernel.coef0), (Some(0.5), Some(2), Some(2.0)));
    assert_eq!((record.centered, record.n_components), (false, 2));
    assert_eq!((record.gram.as_str(), record.solver.as_str()), ("tiled", "lanczos"));
    assert_eq!((record.tolerance, record.memory_budget_bytes), (1e-4, 100 << 20));
    assert_eq!((record.threads, record.seed), (1, 7));
    assert_eq!(record.precision, mercer::Precision::F32);
}

#[test]
fn stopping_too_early_saves_a_model_and_exits_with_one() {
    let directory = Directory::new();
    let rows: Vec<String> =
        (0..600).map(|i| format!("{},{}\n", (f64::from(i) * 0.7).sin(), (f64::from(i) * 1.3).cos())).collect();
    directory.write("points.csv", rows.concat());
    let outcome = directory.run("fit points.csv -n 5 --solver power --max-passes 2 -o points.mercer");
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("warning: not converged: points.mercer holds the best model so far"),
        "{}",
        outcome.stderr
    );
    assert!(!Model::load(&directory.path("points.mercer")).unwrap().converged());
}

#[test]
fn a_share_that_does_not_fit_the_memory_budget_saves_a_model_and_exits_with_one() {
    let directory = Directory::new();
    // A flat spectrum: half of the variance takes about a quarter of a thousand components.
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let row = |_| format!("{},{},{},{}\n", next(), next(), next(), next());
    directory.write("points.csv", (0..1000).map(row).collect::<String>());
    let words = "fit points.csv --gamma 500 --variance 0.5 --gram tiled --solver krylov --tolerance 1e-4 --threads 1 \
                 -o points.mercer";
    let outcome = directory.run(&format!("{words} --memory 2500KiB"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let model = Model::load(&directory.path("points.mercer")).unwrap();
    let explained: f64 = model.explained_variance_ratio().iter().sum();
    assert!(!model.converged() && explained < 0.5 && model.n_components() >= 16);
    assert!(
        model.residuals().iter().all(|&residual| residual <= model.record().tolerance),
        "what there is has converged"
    );
    let expected = format!(
        "warning: the memory budget is too small: points.mercer holds the best model so far; its {} components explain {explained:.4} of \
         the variance, not the 0.5 asked for\n",
        model.n_components()
    );
    assert!(outcome.stderr.contains(&expected), "{}", outcome.stderr);
    assert!(model.record().warnings.iter().any(|warning| warning.ends_with("would not fit the memory budget")));
}

#[test]
fn all_the_variance_there_is_is_enough() {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    // Two columns: a linear kernel has two components, whatever the share.
    directory.run("fit points.csv --label half --kernel linear --variance 1 -o points.mercer").done();
    assert_eq!(Model::load(&directory.path("points.mercer")).unwrap().n_components(), 2);
}

#[test]
fn an_expansion_is_fitted_recorded_and_used_for_new_points() {
    let directory = Directory::new();
    let rows: Vec<String> = (0..400).map(|i| format!("{},{}\n", (i * 37) % 101, (i * 53) % 97)).collect();
    directory.write("points.csv", rows.concat());
    let fit = "fit points.csv --kernel gaussian --bandwidth 20 -n 3 --tolerance 1e-6 --json";
    let run = |more: &str| directory.run(&format!("{fit} {more}")).done();
    let expanded: serde_json::Value =
        serde_json::from_str(&run("--gram expansion --solver lanczos -o fast.mercer").stdout).unwrap();
    assert_eq!((&expanded["gram"], &expanded["solver"]), (&"expansion".into(), &"lanczos".into()));
    let certificate = &expanded["expansion"];
    assert!(certificate["measured_error"].as_f64() <= certificate["bound"].as_f64(), "{certificate}");
    run("--gram tiled -o tiled.mercer");
    // Inside the box of the points, and far outside, where entries are computed.
    directory.write("new.csv", "30.5,40.25\n77,3\n55,55\n900,-900\n");
    let scores = |name: &str| -> Vec<f64> {
        let text = directory.run(&format!("transform {name} new.csv")).done().stdout;
        text.lines().skip(1).flat_map(|line| line.split(',').map(|score| score.parse::<f64>().unwrap())).collect()
    };
    let (fast, tiled) = (scores("fast.mercer"), scores("tiled.mercer"));
    assert_eq!((fast.len(), tiled.len()), (12, 12));
    let difference = fast.iter().zip(&tiled).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(tiled[..3].iter().all(|score| score.abs() > 1e-3) && fast != tiled, "{tiled:?}");
    assert!(difference < 1e-3, "{difference}");
}
