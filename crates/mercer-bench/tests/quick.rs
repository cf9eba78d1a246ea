//! Every benchmark works: run at tiny sizes, without scikit-learn, it writes a complete record.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs a benchmark quickly and returns its record.
fn quick_record(benchmark: &str) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_mercer-bench"))
        .args([benchmark, "--quick", "--no-rival", "--date", "2026-01-02", "--commit", "abc123", "--records"])
        .arg(folder.path())
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.path().join(format!("{benchmark}.json"));
    let text = std::fs::read_to_string(path).expect("the record is there");
    assert!(!text.contains(&*folder.path().to_string_lossy()), "a record must not name folders of the machine");
    serde_json::from_str(&text).expect("the record is JSON")
}

fn list<'a>(record: &'a Value, name: &str) -> &'a [Value] {
    record[name].as_array().unwrap_or_else(|| panic!("`{name}` is no list"))
}

#[track_caller]
fn check_complete(benchmark: &str, rounds: usize, ratios: &[&str]) {
    let record = quick_record(benchmark);
    for (name, expected) in [("benchmark", benchmark), ("date", "2026-01-02"), ("commit", "abc123")] {
        assert_eq!(record[name], expected);
    }
    assert_eq!((&record["schema"], &record["quick"], &record["threads"]), (&1.into(), &true.into(), &2.into()));
    for name in ["cpu", "instruction_set"] {
        assert!(record["machine"][name].as_str().is_some_and(|text| !text.is_empty()), "{name}");
    }
    assert!(record["machine"]["memory_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
    assert!(record["versions"]["mercer"].is_string() && record["versions"]["rustc"].is_string());
    assert!(record["settings"].as_object().is_some_and(|settings| settings.contains_key("points")));
    assert!(!list(&record, "timings").is_empty() && !list(&record, "answers").is_empty());
    for timing in list(&record, "timings") {
        let seconds = list(timing, "seconds");
        assert_eq!(seconds.len(), rounds, "{}", timing["name"]);
        assert!(seconds.iter().all(|seconds| seconds.as_f64().is_some_and(|seconds| seconds > 0.0)), "{timing}");
    }
    for answer in list(&record, "answers") {
        assert!(answer["found"].as_f64() <= answer["limit"].as_f64(), "{answer}");
    }
    let found: Vec<&str> = list(&record, "ratios").iter().filter_map(|ratio| ratio["what"].as_str()).collect();
    assert_eq!(found, ratios);
    for ratio in list(&record, "ratios") {
        // A peak of memory that something earlier in the process has reached does not grow.
        let may_be_zero = ratio["dividend"]["unit"] == "B";
        let is_right = |value: f64| value.is_finite() && (value > 0.0 || (may_be_zero && value >= 0.0));
        assert!(ratio["value"].as_f64().is_some_and(is_right), "{ratio}");
        assert_eq!(ratio["bar"].is_null(), ratio["met"].is_null(), "{ratio}");
    }
}

#[test]
fn tile_floor_writes_a_complete_record() {
    let ratios = [784, 64, 16, 3].map(|d| {
        [format!("d = {d}: Gaussian tiles to bare products"), format!("d = {d}: tiles from bytes to tiles from f32")]
    });
    let ratios = ratios.concat();
    check_complete("tile_floor", 2, &ratios.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn fit_vs_sklearn_without_scikit_learn_writes_a_record_without_ratios() {
    check_complete("fit_vs_sklearn", 2, &[]);
}

#[test]
fn mnist_full_writes_a_complete_record() {
    let ratios = [
        "tiled fit to the floor",
        "passes of the tiled fit",
        "stored to tiled, f32",
        "bytes to f32, tiled",
        "bytes to f32, stored",
    ];
    check_complete("mnist_full", 2, &ratios);
}

#[test]
fn transform_vs_sklearn_without_scikit_learn_says_how_much_memory_it_took() {
    check_complete("transform_vs_sklearn", 2, &["memory of a transform to its kernel matrix"]);
}

#[test]
fn growth_writes_a_complete_record() {
    let ratios = [
        "most to least time per entry, whole fit",
        "most to least time per entry, whole fit per pass",
        "most to least time per entry, passes alone per pass",
        "largest distance of a peak from a line",
    ];
    check_complete("growth", 2, &ratios);
}

/// Which of estimate and measurement is larger differs from run to run, so only the beginnings are known.
#[test]
fn plan_estimates_compares_time_and_memory_of_five_fits() {
    let record = quick_record("plan_estimates");
    let ratios = list(&record, "ratios");
    assert_eq!(ratios.len(), 10);
    for (ratio, what) in ratios.iter().zip(["time", "memory"].iter().cycle()) {
        assert!(ratio["what"].as_str().is_some_and(|text| text.contains(&format!(": {what}, "))), "{ratio}");
        assert!(ratio["value"].as_f64().is_some_and(|value| value >= 1.0), "{ratio}");
    }
    assert_eq!((list(&record, "timings").len(), list(&record, "answers").len()), (5, 5));
}

#[test]
fn start_up_writes_a_complete_record() {
    // The command under test stands beside this program; another package makes it. Tests of the whole workspace have made it before
    // any of them runs; only where this package is tested alone on a fresh checkout it has to be made here.
    let beside = Path::new(env!("CARGO_BIN_EXE_mercer-bench")).with_file_name("mercer");
    if !beside.is_file() {
        let profile: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
        let built = Command::new(env!("CARGO")).args(["build", "--quiet", "-p", "mercer-cli"]).args(profile).status();
        assert!(built.expect("cargo starts").success());
    }
    let ratios = [
        "mercer --version to 20 ms",
        "mercer help kernels to 20 ms",
        "mercer --version to a shell's echo",
        "fit to its first tile to 0.3 s",
    ];
    check_complete("start_up", 2, &ratios);
}

#[test]
fn read_csv_without_rivals_says_how_much_memory_it_took() {
    check_complete(
        "read_csv",
        2,
        &["doubles: memory of ours to the matrix", "grey values: memory of ours to the matrix"],
    );
}

#[test]
fn hebbian_pass_writes_a_complete_record() {
    let kinds = ["f32: a pass to its kernel rows", "u8: a pass to its kernel rows", "kept rows: a pass to making them"];
    let ratios =
        kinds.map(|kind| ["t", "et*", "et", "smd*", "smd"].map(|rule| format!("gain {rule}, {kind}"))).concat();
    let ratios: Vec<&str> = ratios.iter().map(String::as_str).collect();
    check_complete("hebbian_pass", 2, &ratios);
}

#[test]
fn hebbian_vs_kernlab_without_r_writes_a_record_without_ratios() {
    check_complete("hebbian_vs_kernlab", 2, &[]);
}

#[test]
fn hebbian_convergence_writes_a_complete_record() {
    let pairs = ["t to constant", "et* to t", "et to t", "smd to et"];
    let ratios = ["gaussian", "dot"].map(|kernel| pairs.map(|pair| format!("{kernel}: {pair}")));
    check_complete("hebbian_convergence", 1, &ratios.concat().iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn hebbian_convergence_has_a_table_of_all_nine_rules() {
    let record = quick_record("hebbian_convergence");
    let tables = list(&record, "tables");
    assert_eq!(tables.len(), 2);
    for table in tables {
        let names: Vec<&str> = list(table, "rows").iter().filter_map(|row| row["name"].as_str()).collect();
        assert_eq!(names, ["constant", "t", "et*", "et", "smd*", "smd", "s", "ts", "es"], "{}", table["what"]);
        assert!(list(table, "rows").iter().all(|row| list(row, "values").iter().all(Value::is_number)), "{table}");
    }
}

#[test]
fn hebbian_mnist_writes_a_complete_record() {
    let ratios = ["t", "et*", "smd*", "et", "smd"].map(|rule| {
        ["error to the floor", "error to the paper's", "the paper's time to ours"]
            .map(|what| format!("gain {rule}: {what}"))
    });
    check_complete("hebbian_mnist", 2, &ratios.concat().iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn stream_throughput_without_numpy_says_how_flat_time_and_memory_are() {
    let ratios = [
        "rate of the faster of the first and the last tenth to that of the other",
        "memory at the end to memory after the warm-up",
    ];
    check_complete("stream_throughput", 2, &ratios);
}

#[test]
fn a_stream_that_gets_faster_is_not_called_flat() {
    let record = quick_record("stream_throughput");
    let flat = &list(&record, "ratios")[0];
    assert!(flat["value"].as_f64().is_some_and(|value| value >= 1.0), "the larger of the two ratios: {flat}");
    let names: Vec<&str> = list(&record, "quantities").iter().filter_map(|it| it["name"].as_str()).collect();
    let expected: Vec<String> = (1..=2)
        .map(|replay| format!("rows per second, replay {replay} of the warm-up"))
        .chain((1..=10).map(|part| format!("rows per second, part {part} of 10")))
        .collect();
    assert_eq!(names, expected);
}

#[test]
fn stream_quality_writes_a_complete_record_of_every_rule() {
    let rules = ["oja", "apex", "apex, one after the other", "simultaneous"];
    let ratios = rules.map(|rule| {
        ["all", "60"].map(|memory| {
            ["1 epoch", "3 epochs", "10 epochs"].map(|after| format!("{rule}, {memory} rows: captured after {after}"))
        })
    });
    let ratios: Vec<&str> = ratios.as_flattened().as_flattened().iter().map(String::as_str).collect();
    check_complete("stream_quality", 2, &ratios);
}

#[test]
fn fast_sum_3d_writes_a_complete_record() {
    let ratios = ["0.05", "0.2", "1"].map(|bandwidth| {
        ["a product to two seconds", "tiles to a product", "time per point, all to a tenth of the points"]
            .map(|what| format!("bandwidth {bandwidth}: {what}"))
    });
    check_complete("fast_sum_3d", 2, &ratios.concat().iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn kpca_million_writes_a_complete_record() {
    check_complete("kpca_million", 2, &["a fit to a minute", "peak memory beyond the data to two gigabytes"]);
}

#[test]
fn fast_choice_writes_a_complete_record() {
    let cases = [
        (1, 0.01),
        (2, 0.05),
        (2, 0.5),
        (3, 0.05),
        (3, 0.2),
        (3, 1.0),
        (4, 0.3),
        (4, 1.0),
        (5, 0.7),
        (6, 1.0),
        (8, 1.5),
    ];
    let ratios = cases
        .map(|(d, bandwidth)| format!("n=400,d={d},bandwidth={bandwidth}: the method that is chosen to the fastest"));
    check_complete("fast_choice", 2, &ratios.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn fast_vs_direct_says_of_every_kernel_where_it_breaks_even_or_that_it_does_not() {
    let record = quick_record("fast_vs_direct");
    let texts = |list: &[Value], of: fn(&Value) -> &Value| -> Vec<String> {
        list.iter().filter_map(|item| of(item).as_str().map(str::to_owned)).collect()
    };
    let ratios = texts(list(&record, "ratios"), |ratio| &ratio["what"]);
    let notes = texts(list(&record, "notes"), |note| note);
    for d in 2..=8 {
        for kernel in ["polynomial p=2,", "polynomial p=3,", "polynomial p=4,", "gaussian "] {
            let is_ratio =
                |text: &&String| text.starts_with(&format!("{kernel}d={d}: tiles to expansion at the break-even, "));
            let is_note =
                |text: &&String| text.starts_with(&format!("{kernel}d={d}: tiles are faster up to 500 points"));
            let found = ratios.iter().filter(is_ratio).count() + notes.iter().filter(is_note).count();
            assert_eq!(found, 1, "{kernel}d={d}: {ratios:?}, {notes:?}");
        }
    }
    for answer in list(&record, "answers") {
        assert!(answer["found"].as_f64() <= answer["limit"].as_f64(), "{answer}");
    }
    assert!(list(&record, "answers").len() >= 2 * 28);
}

#[test]
fn tune_speed_writes_a_complete_record() {
    check_complete(
        "tune_speed",
        2,
        &[
            "pass with 64 bandwidths to pass with one",
            "whole call to its pass, 64 bandwidths",
            "eigendecomposition per step, by secants, to the search",
            "the published ascent to the search",
        ],
    );
}

#[test]
fn tune_mnist_writes_a_complete_record() {
    check_complete("tune_mnist", 2, &["sampling to five seconds, the slowest seed"]);
}

#[test]
fn tune_tasks_without_scikit_learn_says_how_many_sets_were_measured() {
    check_complete("tune_tasks", 2, &["sets that were measured to all"]);
}

#[test]
fn cluster_usps_without_scikit_learn_says_how_long_the_largest_set_took() {
    check_complete("cluster_usps", 2, &["all of MNIST: time to five minutes"]);
}

#[test]
fn denoise_image_without_a_rival_is_held_against_the_kernel_hebbian_algorithm() {
    check_complete("denoise_image", 2, &["made up: time to 20 s", "made up: error to that of KHA"]);
}

#[test]
fn the_page_of_results_is_what_the_records_say() {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_mercer-bench"))
        .args(["table", "--check"])
        .current_dir(checkout)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn preimage_writes_a_complete_record() {
    let speeds =
        ["fixed-point", "distance", "gradient", "ridge"].map(|method| format!("{method}: points per minute to 10000"));
    let errors = ["fixed-point", "distance", "gradient"].map(|method| format!("error of {method} to that of ridge"));
    let ratios: Vec<&str> = speeds.iter().chain(&errors).map(String::as_str).collect();
    check_complete("preimage", 2, &ratios);
}

#[test]
fn akpca_mnist_writes_a_complete_record() {
    let error = |set: &str, one: &str, other: &str| format!("{set}, k = 3: training error of {one} to that of {other}");
    let ratios = [
        error("short 14x14", "AKPCA", "DS-AKPCA"),
        error("short 14x14", "DS-AKPCA", "PCA"),
        error("short 14x14", "PCA", "KPCA"),
        "long 14x14, k = 3: time of AKPCA to 300 s".to_owned(),
        error("long 14x14", "AKPCA", "PCA"),
        error("long 14x14", "PCA", "KPCA"),
        "short 28x28, k = 3: time of DS-AKPCA to 180 s".to_owned(),
        error("short 28x28", "AKPCA", "DS-AKPCA"),
        error("short 28x28", "DS-AKPCA", "PCA"),
        error("short 28x28", "PCA", "KPCA"),
    ];
    check_complete("akpca_mnist", 1, &ratios.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn what_was_measured_before_a_benchmark_fails_is_kept_apart_from_records() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The short set is measured; the long one has no pictures to learn from.
    let output = Command::new(env!("CARGO_BIN_EXE_mercer-bench"))
        .args(["akpca_mnist", "--quick", "--no-rival", "--points", "0", "--records"])
        .arg(folder.path())
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    assert!(!folder.path().join("akpca_mnist.json").exists());
    let text = std::fs::read_to_string(folder.path().join("akpca_mnist.unfinished.json")).expect("it is kept");
    let record: Value = serde_json::from_str(&text).expect("it is JSON");
    let rows = |table: &Value| list(table, "rows").len();
    assert!(list(&record, "tables").iter().all(|table| rows(table) == 4), "{text}");
    assert!(list(&record, "ratios").len() == 3, "{text}");
}
