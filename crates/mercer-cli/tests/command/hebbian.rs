//! `mercer fit --solver hebbian`.

use mercer::hebbian::Start;
use mercer::{GainRule, HebbianLearner, Kernel, KernelHebbianPca, Model, Points, Watch};
use serde_json::Value;

use super::support::{Directory, npy};

const ROWS: usize = 400;

/// Points in a few clusters, deterministic.
fn values(rows: usize) -> Vec<f64> {
    let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
    (0..rows * 4).map(|i| value(i) + ((i / 4) % 3 * (i % 4)) as f64).collect()
}

fn with_points(rows: usize) -> Directory {
    let directory = Directory::new();
    let bytes: Vec<u8> = values(rows).iter().flat_map(|x| x.to_le_bytes()).collect();
    directory.write("points.npy", npy("<f8", &format!("({rows}, 4)"), &bytes));
    directory
}

/// Any residual will do: relative to the first eigenvalue none is above one.
const FIT: &str = "fit points.npy --solver hebbian -n 3 --gamma 0.5 --tolerance 0.9999 -o points.mercer";

fn model(directory: &Directory) -> Model {
    Model::load(&directory.path("points.mercer")).unwrap()
}

/// What the library learns with the same settings.
fn learned(settings: &KernelHebbianPca) -> HebbianLearner {
    let points = Points::from_f64(values(ROWS), ROWS, 4).unwrap();
    settings.fit_from(&points, &Start::default(), &Watch::new()).unwrap()
}

fn settings() -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.5).unwrap()).n_components(3)
}

#[test]
fn the_command_learns_what_the_library_learns() {
    let directory = with_points(ROWS);
    let outcome = directory.run(&format!("{FIT} --json")).done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let learner = learned(&settings());
    assert_eq!(model(&directory).eigenvalues(), learner.model().unwrap().eigenvalues());
    assert_eq!((&record["solver"], &record["passes"]), (&"hebbian".into(), &10.into()));
    let hebbian = &record["hebbian"];
    assert_eq!((&hebbian["gain"], &hebbian["refresh"]), (&"et*".into(), &"pass".into()));
    assert_eq!(hebbian["eta0"].as_f64(), Some(learner.gain_parameters().eta0));
    for name in ["mu", "xi", "rho0"] {
        assert!(hebbian.get(name).is_none(), "{name} of a rule that does not read it");
    }
    assert_eq!(hebbian["updates"], 10 * ROWS);
    assert_eq!(hebbian["history"].as_array().unwrap().len(), 10);
    assert!(hebbian["history"][9]["pass_error"].as_f64() < hebbian["history"][0]["pass_error"].as_f64());
    assert!(outcome.stderr.contains("pass 1 of about 10"), "{}", outcome.stderr);
    let info = directory.run("info points.mercer").done();
    assert!(info.stdout.contains("hebbian solver"), "{}", info.stdout);
    assert!(info.stdout.contains(": converged"), "{}", info.stdout);
    directory.run("transform points.mercer points.npy -o scores.csv").done();
}

#[test]
fn a_run_that_has_not_converged_says_so_saves_its_model_and_ends_with_1() {
    let directory = with_points(ROWS);
    let words = FIT.replace("--tolerance 0.9999", "--tolerance 1e-9");
    let outcome = directory.run(&format!("{words} --checkpoint state --checkpoint-every 1ms --json"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("warning: not converged in 10 passes: points.mercer holds what was learned; largest residual "),
        "{}",
        outcome.stderr
    );
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["converged"], &record["exit_code"]), (&false.into(), &1.into()));
    assert_eq!(record["tolerance"], 1e-9);
    assert!(record["warnings"][0].as_str().unwrap().contains("0 of 3 components converged"), "{record}");
    assert_eq!(model(&directory).n_components(), 3);
    // What is there goes on, and what is enough is said by --tolerance.
    let outcome = directory.run(&format!("{FIT} --passes 12 --checkpoint state --resume --json")).done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["converged"], &record["passes"]), (&true.into(), &12.into()));
    let told = "components are held against a tolerance of 0.9999; the part of the run that state is from was to be held against 0.000000001";
    assert_eq!(record["warnings"], serde_json::json!([told]));
}

#[test]
fn a_residual_just_above_the_tolerance_does_not_look_like_it() {
    let directory = with_points(ROWS);
    let record: Value =
        serde_json::from_str(&directory.run(&format!("{FIT} --passes 1 --json")).done().stdout).unwrap();
    let residuals = record["residuals"].as_array().unwrap();
    let largest = residuals.iter().map(|residual| residual.as_f64().unwrap()).fold(0.0, f64::max);
    let tolerance = 0.9999 * largest;
    let outcome = directory.run(&FIT.replace("--tolerance 0.9999", &format!("--passes 1 --tolerance {tolerance}")));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let (largest, tolerance) = mercer::format_apart(largest, tolerance);
    assert!(largest != tolerance, "{largest}");
    let told = format!("; largest residual {largest}, asked for {tolerance}; ");
    assert!(outcome.stderr.contains(&told), "{}", outcome.stderr);
    let told = format!("{largest} at most, asked for {tolerance}: not converged");
    assert!(outcome.stdout.contains(&told), "{}", outcome.stdout);
}

#[test]
fn a_checkpoint_that_is_farther_than_what_is_asked_for_is_told() {
    let directory = with_points(ROWS);
    let words = FIT.replace("--tolerance 0.9999", "--tolerance 1e-9 --checkpoint state");
    assert_eq!(directory.run(&format!("{words} --passes 2")).code, Some(1));
    let outcome = directory.run(&format!("{words} --passes 1 --resume --json"));
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["passes"], outcome.code), (&2.into(), Some(1)), "{}", outcome.stderr);
    let told = "the part of the run that state is from has made 800 updates, more than the 400 asked for now: what it has learned is not taken back";
    assert!(outcome.stderr.contains(&format!("warning: {told}\n")), "{}", outcome.stderr);
    assert_eq!(record["warnings"][0], told);
}

#[test]
fn every_flag_reaches_the_algorithm() {
    let directory = with_points(ROWS);
    let words = "--gain smd* --eta0 0.2 --tau 300 --mu 0.1 --xi 0.9 --rho0 0.1 --refresh iteration --passes 3 --batch-size 7 \
                 --seed 5 --no-center --gram tiled --threads 1 --precision f64 --memory 1GiB";
    let outcome = directory.run(&format!("{FIT} {words} --json")).done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let settings = settings()
        .gain(GainRule::MetaDescentStar)
        .eta0(0.2)
        .tau(300.0)
        .mu(0.1)
        .xi(0.9)
        .rho0(0.1)
        .refresh(mercer::Refresh::Iteration)
        .passes(3)
        .batch_size(7)
        .seed(5)
        .center(mercer::Center::No);
    let learner = learned(&settings);
    assert_eq!(model(&directory).eigenvalues(), learner.model().unwrap().eigenvalues());
    let log_gains: Vec<f64> =
        record["hebbian"]["log_gains"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    assert_eq!(log_gains, learner.log_gains());
    for (name, value) in [("eta0", 0.2), ("tau", 300.0), ("mu", 0.1), ("xi", 0.9), ("rho0", 0.1)] {
        assert_eq!(record["hebbian"][name], value);
    }
}

#[test]
fn flags_that_mean_nothing_are_refused_before_anything_is_read() {
    let directory = Directory::new();
    for (words, message) in [
        ("--solver hebbian --max-passes 3", "--max-passes is not for --solver hebbian: it makes exactly --passes"),
        ("--solver hebbian --variance 0.9", "--variance is not for --solver hebbian"),
        ("--solver hebbian --mu 0.1", "--mu is not for --gain et*"),
        ("--solver hebbian --gain et --tau 5", "--tau is not for --gain et,"),
        ("--solver hebbian --gain constant --refresh pass", "--refresh is not for --gain constant"),
        ("--solver hebbian --gain t --xi 0.5", "--xi is not for --gain t"),
        ("--passes 5", "--passes is for --solver hebbian only"),
        ("--solver krylov --gain et", "--gain is for --solver hebbian only"),
        ("--solver hebbian --gain adam", "[possible values: constant, t, et*"),
        ("--solver hebbian --eta0 much", "give \"auto\" or a number"),
        ("--solver hebian", "tip: a similar value exists: 'hebbian'"),
    ] {
        let outcome = directory.run(&format!("fit none.npy -o none.mercer {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    let outcome = directory.run("plan none.npy --updates 3");
    assert!(outcome.stderr.contains("--updates is for --solver hebbian only"), "{}", outcome.stderr);
    let outcome = directory.run("plan none.npy --solver hebbian --max-passes 3");
    assert!(outcome.stderr.contains("--max-passes is not for --solver hebbian"), "{}", outcome.stderr);
}

#[test]
fn a_run_starts_from_a_model_and_does_not_make_it_worse() {
    let directory = with_points(ROWS);
    directory.run("fit points.npy -n 3 --gamma 0.5 -o exact.mercer").done();
    directory.run("fit points.npy --rows 0:60 -n 3 --gamma 0.5 -o part.mercer").done();
    let held = |name: &str| Model::load(&directory.path(name)).unwrap().eigenvalues().iter().sum::<f64>();
    let best = held("exact.mercer");
    directory.run(&format!("{FIT} --initial-model exact.mercer")).done();
    assert!((held("points.mercer") - best).abs() < 1e-9 * best, "{} of {best}", held("points.mercer"));
    // From the components of a few points it learns on.
    directory.run(&format!("{FIT} --passes 1 --initial-model part.mercer")).done();
    let warm = held("points.mercer");
    assert!(warm > 0.9 * best && warm <= best * (1.0 + 1e-9), "{warm} of {best}");

    // Scaled points start from components of points that were scaled alike.
    directory.run("fit points.npy --rows 0:60 --standardize -n 3 --gamma 0.5 -o scaled.mercer").done();
    directory.run("fit points.npy --rows 0:60 --scale 0.5 -n 3 --gamma 0.5 -o half.mercer").done();
    directory.run(&format!("{FIT} --scale 0.5 --initial-model half.mercer")).done();
    for (words, message) in [
        (
            "--solver hebbian --initial-model scaled.mercer",
            "error: scaled.mercer was fitted with another --scale or --standardize than is asked for here, or --standardize of other rows: its components are of other points",
        ),
        (
            "--solver hebbian --standardize --initial-model scaled.mercer",
            "error: scaled.mercer was fitted with another --scale or --standardize than is asked for here, or --standardize of other rows: its components are of other points",
        ),
        (
            "--solver hebbian --gamma 0.4 --initial-model exact.mercer",
            "error: --initial-model must be of the kernel that is learned with (gaussian, gamma 0.4): directions of another one mean nothing to it, but it is of gaussian, gamma 0.5",
        ),
        ("--solver krylov --initial-model exact.mercer", "error: --initial-model is for --solver hebbian only"),
        ("--solver hebbian --initial-model nowhere.mercer", "error: reading nowhere.mercer: no such file or directory"),
        (
            "--solver hebbian --columns 1-3 --initial-model exact.mercer",
            "error: points.npy: the data has 3 columns, but the model was fitted on 4",
        ),
    ] {
        let gamma = if words.contains("--gamma") { "" } else { "--gamma 0.5" };
        let outcome = directory.run(&format!("fit points.npy -n 3 {gamma} -o wrong.mercer {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        let said = outcome.stderr.lines().find(|line| line.starts_with("error")).unwrap_or_default();
        assert_eq!(said, message, "{words}");
    }
    assert!(!directory.files().iter().any(|name| name == "wrong.mercer"));
    let before = std::fs::read(directory.path("exact.mercer")).unwrap();
    for replaced in ["-o ./exact.mercer", "-o wrong.mercer --checkpoint exact.mercer"] {
        let words = "fit points.npy -n 3 --gamma 0.5 --solver hebbian --initial-model exact.mercer";
        let outcome = directory.run(&format!("{words} {replaced}"));
        assert_eq!(outcome.code, Some(2), "{replaced}: {}", outcome.stderr);
        let expected = "exact.mercer is the model that the fit begins with: it would be replaced\n";
        assert!(outcome.stderr.ends_with(expected), "{replaced}: {}", outcome.stderr);
        assert!(std::fs::read(directory.path("exact.mercer")).unwrap() == before, "{replaced}");
    }
}

#[test]
fn a_start_goes_with_the_columns_and_with_the_checkpoint_of_its_run() {
    let directory = Directory::new();
    let table = |header: &str| {
        let rows = values(60);
        let lines = rows.chunks(4).map(|row| format!("{},{},{},{}\n", row[0], row[1], row[2], row[3]));
        format!("{header}\n{}", lines.collect::<String>())
    };
    directory.write("ab.csv", table("a,b,c,d"));
    directory.write("ba.csv", table("b,a,c,d"));
    directory.run("fit ab.csv -n 3 --gamma 0.5 -o ab.mercer").done();
    directory.run("fit ab.csv -n 3 --gamma 0.5 --rows 0:30 -o part.mercer").done();
    let fit = |name: &str| {
        format!("fit {name} --solver hebbian -n 3 --gamma 0.5 --tolerance 1e-9 -o out.mercer --initial-model")
    };
    let outcome = directory.run(&format!("{} ab.mercer", fit("ba.csv")));
    let message = "error: column 0 of ba.csv is \"b\", and that of ab.mercer \"a\": a start needs the same columns in the same order; --columns gives them\n";
    assert_eq!((outcome.code, outcome.stderr.ends_with(message)), (Some(2), true), "{}", outcome.stderr);
    // In their order they are the same columns.
    directory
        .run(&format!(
            "{} ab.mercer --columns a,b,c,d --tolerance 0.9999",
            fit("ba.csv").replace("--tolerance 1e-9", "")
        ))
        .done();

    // With --resume the state of the checkpoint wins, so another start is refused.
    let words =
        format!("{} part.mercer --eta0 0.05 --passes 2 --checkpoint state --checkpoint-every 1ms", fit("ab.csv"));
    assert_eq!(directory.run(&words).code, Some(1));
    let more = words.replace("--passes 2", "--passes 3 --resume");
    let outcome = directory.run(&format!("{more} --json"));
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((&record["passes"], &record["resumed_after_passes"]), (&3.into(), &2.into()), "{}", outcome.stderr);
    for (words, difference) in [
        (more.replace("part.mercer", "ab.mercer"), "start: another one there than here"),
        (more.replace("--initial-model part.mercer", ""), "start: given there, random here"),
    ] {
        let outcome = directory.run(&words);
        let message = format!("error: state: the checkpoint belongs to another run ({difference})\n");
        assert_eq!((outcome.code, outcome.stderr.ends_with(&message)), (Some(2), true), "{}", outcome.stderr);
    }
}

#[test]
fn bad_values_and_divergence_are_errors_and_leave_nothing() {
    let directory = with_points(ROWS);
    for (words, message) in [
        ("--eta0 0", "--eta0 must be a positive number, but it is 0"),
        ("--eta0 -1", "--eta0 must be a positive number"),
        ("--gain smd --xi 1.5", "--xi must be between 0 and 1, but it is 1.5"),
        ("--passes 0", "--passes must be at least 1"),
        ("--batch-size 0", "--batch-size must be at least 1"),
        ("--gain constant --eta0 10000", "diverged within"),
        ("--gain constant --eta0 1e300", " at eta0 = 1e300; use a smaller eta0"),
        ("--gain smd --rho0 800", "; there is no smaller value to try: use a smaller rho0, or 0\n"),
    ] {
        let outcome = directory.run(&format!("{FIT} {words} --checkpoint state"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    assert_eq!(directory.files(), ["points.npy"]);
    let outcome = directory.run("fit points.npy --solver hebbian -n 401 -o points.mercer");
    assert_eq!(outcome.code, Some(2));
    let message = "error: --n-components must be between 1 and the number of samples (400), but it is 401\n";
    assert_eq!(outcome.stderr.lines().last().map(|line| format!("{line}\n")).as_deref(), Some(message));
    let equal: Vec<u8> = [1.0_f64, 2.0, 3.0, 4.0].repeat(20).iter().flat_map(|x| x.to_le_bytes()).collect();
    directory.write("equal.npy", npy("<f8", "(20, 4)", &equal));
    let outcome = directory.run("fit equal.npy --solver hebbian -n 2 -o equal.mercer");
    assert_eq!(outcome.code, Some(2));
    let message = "error: equal.npy: all 20 rows are equal to the kernel: there is no variance to explain";
    assert_eq!(outcome.stderr.lines().last(), Some(message));
    assert_eq!(directory.files(), ["equal.npy", "points.npy"]);
}

#[test]
fn a_kernel_without_a_positive_eigenvalue_is_told_from_equal_rows() {
    let directory = Directory::new();
    let minus: Vec<u8> = (0..400).flat_map(|at| (if at % 21 == 0 { -1.0_f64 } else { 0.0 }).to_le_bytes()).collect();
    directory.write("minus.npy", npy("<f8", "(20, 20)", &minus));
    let fit = "fit minus.npy --solver hebbian --kernel precomputed --no-center -n 2 --gain constant -o minus.mercer";
    for (words, message) in [
        ("--eta0 5 --updates 48", "diverged within 48 updates with gain \"constant\" at eta0 = 5; "),
        ("--eta0 5 --updates 49", "diverged within 49 updates with gain \"constant\" at eta0 = 5; "),
        ("--eta0 0.1", "error: the kernel is not positive semi-definite: "),
        ("--eta0 0.1", "\nhint: say that they count as zero: --negative clip\n"),
    ] {
        let outcome = directory.run(&format!("{fit} {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
    assert_eq!(directory.files(), ["minus.npy"]);
}

#[test]
fn a_time_limit_saves_what_was_learned_and_resume_goes_on_to_the_same_bits() {
    let directory = with_points(ROWS);
    let words = format!("{FIT} --passes 5000 --batch-size 16 --checkpoint state --checkpoint-every 1ms");
    let outcome = directory.run(&format!("{words} --eta0 0.05 --time-limit 1s --json"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("out of time: points.mercer holds the best model so far, after "),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("state holds its state: --resume goes on"), "{}", outcome.stderr);
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let before = record["passes"].as_u64().unwrap();
    assert!(model(&directory).n_components() == 3 && record["exit_code"] == 1);

    // As many passes as were begun, and one more.
    let passes = before + 2;
    let words = words.replace("5000", &passes.to_string());
    let outcome = directory.run(&format!("{words} --eta0 0.05 --resume --json")).done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(record["passes"], passes);
    let resumed_after = record["resumed_after_passes"].as_u64().unwrap();
    assert!((1..=before).contains(&resumed_after), "{resumed_after} of {before}");
    let updates = record["hebbian"]["resumed_after_updates"].as_u64().unwrap();
    assert_eq!(updates / ROWS as u64, resumed_after);
    assert!(
        outcome.stderr.contains(&format!("went on after {updates} updates of an earlier run")),
        "{}",
        outcome.stderr
    );
    let whole = learned(&settings().eta0(0.05).batch_size(16).passes(usize::try_from(passes).unwrap()));
    assert_eq!(model(&directory).eigenvalues(), whole.model().unwrap().eigenvalues());
    assert_eq!(directory.files(), ["points.mercer", "points.npy"], "the checkpoint has done its work");
}

#[test]
#[cfg(unix)]
fn a_killed_run_goes_on_to_the_same_bits() {
    let directory = with_points(ROWS);
    let words = format!("{FIT} --eta0 0.05 --batch-size 16 --checkpoint state --checkpoint-every 1ms");
    directory.kill_when_there_is("state", &format!("{words} --passes 100000"));
    assert_eq!(directory.files(), ["points.npy", "state"], "no model yet, and nothing half-written");
    let record: Value =
        serde_json::from_str(&directory.run(&format!("{words} --passes 400 --resume --json")).done().stdout).unwrap();
    assert!(record["hebbian"]["resumed_after_updates"].as_u64().unwrap() >= 1, "{record}");
    let passes = usize::try_from(record["passes"].as_u64().unwrap()).unwrap();
    let whole = learned(&settings().eta0(0.05).batch_size(16).passes(passes));
    assert_eq!(model(&directory).eigenvalues(), whole.model().unwrap().eigenvalues());
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let directory = with_points(ROWS);
    let words = format!("{FIT} --passes 100000 --checkpoint state --time-limit 500ms");
    assert_eq!(directory.run(&format!("{words} --eta0 0.05")).code, Some(1));
    let outcome = directory.run(&format!("{words} --eta0 0.06 --resume"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let message = "the checkpoint belongs to another run (eta0: 0.05 there, 0.06 here)";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    let outcome = directory.run(&format!("{words} --eta0 0.05 --resume").replace("--gamma 0.5", "--gamma 0.7"));
    let message = "the checkpoint belongs to another run (kernel: gaussian, gamma 0.5 there, gaussian, gamma 0.7 here)";
    assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    let outcome = directory.run(&format!("{words} --eta0 0.05 --rows 0:300 --resume"));
    assert!(outcome.stderr.contains("the checkpoint belongs to other points"), "{}", outcome.stderr);
}

#[test]
fn its_plan_says_passes_time_and_memory_and_is_the_one_that_is_carried_out() {
    let directory = with_points(ROWS);
    let flags = "points.npy --solver hebbian -n 3 --gamma 0.5 --gain smd --passes 4 --tolerance 0.9999";
    let fewer = flags.replace("--passes 4", "--updates 900");
    let short = directory.run(&format!("plan {fewer} --json")).done();
    let record: Value = serde_json::from_str(&short.stdout).unwrap();
    assert_eq!(record["plan"]["expected_passes"], 3, "{}", short.stdout);
    let plan = directory.run(&format!("plan {flags}")).done();
    for line in [
        "wanted      3 components\n",
        "method      hebbian solver, tiled matrix in f64, batches of 48 points\n",
        "passes      4\n",
        "why         the kernel Hebbian algorithm with gain smd, as asked for\n",
        "            kernel rows are computed in every pass, because with 4 features that is as fast as reading them\n",
        "            gains are found by trying: a few short runs more\n",
    ] {
        assert!(plan.stdout.contains(line), "{line}{}", plan.stdout);
    }
    let json = |words: &str| -> Value { serde_json::from_str(&directory.run(words).done().stdout).unwrap() };
    let plan = json(&format!("fit {flags} --dry-run --json"));
    let fit = json(&format!("fit {flags} -o points.mercer --json"));
    for key in
        ["solver", "gram", "tile", "block", "precision", "expected_passes", "expected_memory_bytes", "store_bytes"]
    {
        assert_eq!(plan["plan"][key], fit["plan"][key], "{key}");
    }
    assert!(plan["plan"]["expected_seconds"].as_f64().unwrap() > 0.0);
    let outcome = directory.run(&format!("plan {flags} --memory 10KiB"));
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let outcome = directory.run(&format!("plan {flags} --time-limit 0.001ms")).done();
    assert!(outcome.stdout.contains("before it has made all its passes"), "{}", outcome.stdout);
}

#[test]
#[cfg(unix)]
fn a_run_that_is_killed_inside_its_first_pass_goes_on_there() {
    let directory = with_points(ROWS);
    let words = format!("{FIT} --eta0 0.05 --batch-size 16 --record-error no --checkpoint state --keep-every 100");
    // The state after 112 updates is the first that is there.
    directory.kill_when_there_is("state", &format!("{words} --passes 100000"));
    let state = std::fs::read(directory.path("state")).unwrap();
    let plan = directory.run(&format!("{words} --passes 100000 --resume --dry-run")).done();
    assert!(plan.stdout.contains("goes on after "), "{}", plan.stdout);
    let outcome = directory.run(&format!("{words} --passes 100000 --resume --time-limit 1ms --json"));
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let before = record["hebbian"]["resumed_after_updates"].as_u64().unwrap();
    assert!(before >= 100 && before.is_multiple_of(16), "{before}");
    assert_eq!(model(&directory).n_components(), 3, "a model of what there is");
    directory.write("state", state);
    let passes = before / ROWS as u64 + 2;
    let outcome = directory.run(&format!("{words} --passes {passes} --resume --json")).done();
    let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(record["hebbian"]["resumed_after_updates"], before);
    let whole = settings().eta0(0.05).batch_size(16).passes(usize::try_from(passes).unwrap());
    assert_eq!(model(&directory).eigenvalues(), learned(&whole).model().unwrap().eigenvalues());
}

#[test]
fn the_record_has_an_entry_after_every_so_many_updates_and_errors_as_asked_for() {
    let directory = with_points(ROWS);
    let history = |words: &str| -> Vec<(u64, bool)> {
        let outcome = directory.run(&format!("{FIT} --eta0 0.05 {words} --json"));
        let record: Value = serde_json::from_str(&outcome.stdout).unwrap();
        let errors = record["hebbian"]["error_seconds"].as_f64().unwrap();
        let entries = record["hebbian"]["history"].as_array().unwrap().clone();
        let has_error = |entry: &Value| entry["pass_error"].is_number();
        assert_eq!(errors > 0.0, entries.iter().any(has_error), "{words}");
        entries.iter().map(|entry| (entry["updates"].as_u64().unwrap(), has_error(entry))).collect()
    };
    assert_eq!(
        history("--updates 500 --record-every 150 --record-error yes"),
        [150, 300, 400, 450, 500].map(|at| (at, true))
    );
    assert_eq!(
        history("--updates 500 --record-every 150 --record-error no"),
        [150, 300, 400, 450, 500].map(|at| (at, false))
    );
    let auto = [(150, true), (300, false), (400, true), (450, false), (500, false)];
    assert_eq!(history("--updates 500 --record-every 150"), auto);
    let plan = directory.run(&format!("{FIT} --passes 3 --record-error yes --dry-run")).done();
    let told = "the reconstruction error is recorded 3 times, as asked for: half a pass over the matrix each";
    assert!(plan.stdout.contains(told), "{}", plan.stdout);
    for (words, message) in [
        ("--solver hebbian --updates 0", "--updates must be at least 1"),
        ("--solver hebbian --record-every 0", "--record-every must be at least 1"),
        ("--solver hebbian --updates 5 --passes 2", "cannot be used with"),
        ("--solver hebbian --record-error perhaps", "[possible values: auto, yes, no]"),
        ("--solver hebbian --keep-every 5", "--checkpoint <FILE>"),
        ("--solver hebbian --keep-every 5 --checkpoint s --checkpoint-every 1s", "cannot be used with"),
        ("--updates 5", "--updates is for --solver hebbian only"),
        ("--solver krylov --record-error yes", "--record-error is for --solver hebbian only"),
    ] {
        let outcome = directory.run(&format!("fit points.npy -n 3 -o wrong.mercer {words}"));
        assert_eq!(outcome.code, Some(2), "{words}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{words}: {}", outcome.stderr);
    }
}
