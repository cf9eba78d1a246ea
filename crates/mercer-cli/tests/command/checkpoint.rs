//! Fits that are killed and go on, with real processes.
#![cfg(unix)]

use mercer::Model;

use super::support::{Directory, npy};

/// Points on a spiral with noise, deterministic.
fn points(rows: usize) -> Vec<u8> {
    let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 1_000_003.0;
    let bytes: Vec<u8> = (0..rows * 5).flat_map(|i| (value(i) + (i % 5) as f64 * value(i / 5)).to_le_bytes()).collect();
    npy("<f8", &format!("({rows}, 5)"), &bytes)
}

/// A fit of many passes, each of which takes a while.
const FIT: &str = "fit points.npy --solver lanczos --gram tiled -n 12 --gamma 4 -o points.mercer";
/// A fit of few passes, each of which takes longer.
const BLOCK_FIT: &str = "fit points.npy --solver krylov --gram tiled -n 12 --gamma 4 -o points.mercer";

#[test]
fn a_killed_fit_goes_on_to_the_same_answer_without_repeating_passes() {
    for (fit, rows) in [(FIT, 2500), (BLOCK_FIT, 5000)] {
        let directory = Directory::new();
        directory.write("points.npy", points(rows));
        directory.run(fit).done();
        let whole = Model::load(&directory.path("points.mercer")).unwrap();
        std::fs::remove_file(directory.path("points.mercer")).unwrap();

        let words = format!("{fit} --checkpoint state --checkpoint-every 1ms");
        directory.kill_when_there_is("state", &words);
        assert!(directory.path("state").exists() && !directory.path("points.mercer").exists(), "{fit}");

        let outcome = directory.run(&format!("{words} --resume --json")).done();
        let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let before = record["resumed_after_passes"].as_u64().unwrap();
        assert!(before >= 1, "{record}");
        // The passes of both parts are those of one run, so none was made twice.
        assert_eq!(record["passes"].as_u64().unwrap(), whole.record().passes as u64, "{fit}");
        let resumed = Model::load(&directory.path("points.mercer")).unwrap();
        assert_eq!(resumed.eigenvalues(), whole.eigenvalues(), "{fit}");
        let said = format!("went on after pass {before} of an earlier run");
        assert!(outcome.stderr.contains(&said), "{}", outcome.stderr);
        assert!(!directory.path("state").exists(), "the checkpoint of a finished fit is removed");
    }
}

#[test]
fn a_fit_that_ran_out_of_passes_says_how_to_go_on() {
    let directory = Directory::new();
    directory.write("points.npy", points(800));
    let outcome = directory.run(&format!("{FIT} --checkpoint state --max-passes 15"));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("state holds its state: --resume goes on"), "{}", outcome.stderr);
    directory.run(&format!("{FIT} --checkpoint state --resume")).done();
    assert!(Model::load(&directory.path("points.mercer")).unwrap().converged());
}

#[test]
fn resume_without_a_checkpoint_flag_is_a_wrong_call() {
    let directory = Directory::new();
    directory.write("points.npy", points(50));
    let outcome = directory.run(&format!("{FIT} --resume"));
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.stderr.contains("--checkpoint <FILE>"), "{}", outcome.stderr);
}

#[test]
fn a_checkpoint_of_other_data_is_refused_and_nothing_is_written() {
    let directory = Directory::new();
    directory.write("points.npy", points(800));
    directory.run(&format!("{FIT} --checkpoint state --max-passes 15"));
    std::fs::remove_file(directory.path("points.mercer")).unwrap();
    directory.write("points.npy", points(801));
    let outcome = directory.run(&format!("{FIT} --checkpoint state --resume"));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("the checkpoint belongs to another run (shape of the data: "),
        "{}",
        outcome.stderr
    );
    assert!(!directory.path("points.mercer").exists());
}
