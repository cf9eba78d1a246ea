//! `mercer plan` and `fit --dry-run`.

use serde_json::Value;

use super::support::{Directory, bent_line};

fn directory() -> Directory {
    let directory = Directory::new();
    directory.write("points.csv", bent_line());
    directory
}

#[test]
fn a_plan_says_method_reasons_passes_time_and_memory() {
    let outcome = directory().run("plan points.csv --label half -n 3").done();
    for line in [
        "points      12 of 2 features, 192 B\n",
        "kernel      gaussian, gamma 0.5\n",
        "wanted      3 components to residual 1.0e-9\n",
        "method      dense solver, tiled matrix in f64\n",
        "passes      about 1\n",
        "why         dense solver, because 12 points are few\n",
    ] {
        assert!(outcome.stdout.contains(line), "{line}{}", outcome.stdout);
    }
    assert!(outcome.stdout.contains("\ntime        about ") && outcome.stdout.contains("\nmemory      about "));
}

#[test]
fn a_dry_run_is_the_plan_and_writes_nothing() {
    let directory = directory();
    let lasting = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.starts_with("time") && !line.starts_with("memory"))
            .map(str::to_owned)
            .collect()
    };
    let plan = directory.run("plan points.csv --label half --variance 0.9").done();
    for words in ["", "-o points.mercer"] {
        let dry = directory.run(&format!("fit points.csv --label half --variance 0.9 --dry-run {words}")).done();
        assert_eq!(lasting(&dry.stdout), lasting(&plan.stdout));
    }
    assert_eq!(directory.files(), ["points.csv"]);
}

#[test]
fn the_plan_that_is_shown_is_the_one_that_is_carried_out() {
    let directory = directory();
    let json = |words: &str| -> Value { serde_json::from_str(&directory.run(words).done().stdout).unwrap() };
    let plan = json("plan points.csv --label half -n 3 --solver lanczos --gram tiled --json");
    let fit = json("fit points.csv --label half -n 3 --solver lanczos --gram tiled --json -o points.mercer");
    for key in ["solver", "gram", "block", "max_subspace", "precision", "reasons", "expected_memory_bytes"] {
        assert_eq!(plan["plan"][key], fit["plan"][key], "{key}");
    }
    assert_eq!((&plan["command"], &plan["plan"]["solver"]), (&"plan".into(), &"lanczos".into()));
    assert_eq!(plan["kernel"], fit["kernel"]);
}

#[test]
fn tiles_that_are_kept_in_16_bits_are_called_so_before_the_fit_after_it_and_by_info() {
    let directory = Directory::new();
    let row = |i: usize| (0..30).map(|j| format!("{:.3}", (0.618 * (i * (j + 3)) as f64).sin())).collect::<Vec<_>>();
    let text: String = (0..1200).map(|i| row(i).join(",") + "\n").collect();
    directory.write("wide.csv", text);
    let flags = "wide.csv -n 3 --gamma 0.02 --tolerance 1e-3 --gram stored --memory 8MB";
    for words in [format!("plan {flags}"), format!("fit {flags} -o wide.mercer"), "info wide.mercer".to_owned()] {
        let told = directory.run(&words).done().stdout;
        assert!(told.contains("krylov solver, stored matrix in 16 bits, made in f64"), "{words}: {told}");
    }
}

#[test]
fn limits_that_would_stop_the_fit_are_pointed_out() {
    let directory = directory();
    let words = "plan points.csv --label half --solver power --max-passes 2 --time-limit 0.001ms";
    let outcome = directory.run(words).done();
    assert!(outcome.stdout.contains("warning     --max-passes 2 would stop a fit of about "), "{}", outcome.stdout);
    let told = "warning     --time-limit 0.001ms would stop a fit of about ";
    assert!(outcome.stdout.contains(told), "{}", outcome.stdout);
}

#[test]
fn what_a_fit_would_refuse_a_plan_refuses() {
    let directory = directory();
    let outcome = directory.run("plan points.csv --label half -n 13");
    assert_eq!(outcome.code, Some(2));
    let expected = "error: --n-components must be between 1 and the number of samples (12), but it is 13\n";
    assert!(outcome.stderr.ends_with(expected), "{}", outcome.stderr);
    assert_eq!(directory.run("plan points.csv --label half --memory 1KiB").code, Some(3));
    let outcome = directory.run("plan points.csv --label half --record points.csv");
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (Some(2), "error: points.csv is the data: it would be replaced\n")
    );
}

#[test]
fn a_dry_run_reads_what_the_fit_would_go_on_from_or_start_with() {
    let directory = directory();
    let dry = |words: &str| directory.run(&format!("fit points.csv --label half -n 2 --dry-run {words}"));
    let refused = |words: &str, why: &str| {
        let real = directory.run(&format!("fit points.csv --label half -n 2 {words} -o x.mercer"));
        let dry = dry(words);
        assert_eq!((dry.code, real.code), (Some(2), Some(2)), "{words}: {}", dry.stderr);
        let last = |text: &str| text.lines().find(|line| line.starts_with("error: ")).unwrap_or_default().to_owned();
        assert_eq!(last(&dry.stderr), last(&real.stderr), "{words}");
        assert!(dry.stderr.contains(why), "{words}: {}", dry.stderr);
    };
    refused("--solver power --checkpoint state", "auto, krylov or lanczos for a fit with a checkpoint");
    refused("--solver lanczos --checkpoint points.csv", "points.csv is the data");
    refused("--solver lanczos --checkpoint none/state", "none/state");
    refused("--solver hebbian --initial-model none.mercer", "none.mercer");
    directory.write("state", "not a checkpoint");
    for solver in ["lanczos", "hebbian"] {
        refused(&format!("--solver {solver} --checkpoint state"), "nothing is overwritten");
        refused(&format!("--solver {solver} --checkpoint state --resume"), "not a");
    }
    // A dry run leaves the state, and says where it stands.
    let stands = [
        ("lanczos", "--max-passes 3", "goes on after pass "),
        ("hebbian", "--passes 3 --tolerance 1e-9 --eta0 0.1", "goes on after 36 updates "),
    ];
    for (solver, flags, where_it_stands) in stands {
        let fit = format!("fit points.csv --label half -n 2 --solver {solver} --checkpoint {solver} {flags}");
        directory.run(&format!("{fit} --checkpoint-every 1ms -o x.mercer"));
        let before = std::fs::read(directory.path(solver)).unwrap();
        let outcome = directory.run(&format!("{fit} --resume --dry-run")).done();
        assert!(outcome.stdout.contains(where_it_stands), "{solver}: {}", outcome.stdout);
        assert_eq!(std::fs::read(directory.path(solver)).unwrap(), before);
    }
    directory.run("fit points.csv --label half -n 2 -o start.mercer --quiet").done();
    dry("--solver hebbian --initial-model start.mercer").done();
    refused("--solver hebbian --kernel linear --initial-model start.mercer", "kernel");
}
