//! The memory budget is a promise: a real process stays below budget + data + 200 MB.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::process::Command;

use mercer::kernel::PairFunction;
use mercer::{Checkpoint, GramChoice, Kernel, KernelPca, MemoryBudget, Points, SolverChoice};

/// Set in the process that fits; holds the shape, the budget and the gram.
const CHILD: &str = "MERCER_MEMORY_CHILD";
/// What code, threads and the allocator may take on top.
const SLACK: u64 = 200_000_000;

/// Fits in a process of its own and returns its peak memory.
fn peak_of_a_fit(n: usize, d: usize, k: usize, budget: u64, kind: &str) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process_that_fits", "--nocapture"])
        .env(CHILD, format!("{n} {d} {k} {budget} {kind}"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text.lines().find_map(|line| line.split("peak=").nth(1)).unwrap().trim().parse().unwrap()
}

#[test]
fn child_process_that_fits() {
    let Ok(order) = std::env::var(CHILD) else { return };
    let words: Vec<&str> = order.split(' ').collect();
    let number = |i: usize| words[i].parse::<usize>().unwrap();
    let (n, d, k, budget) = (number(0), number(1), number(2), number(3) as u64);
    let value = |i: usize| ((i * 2_654_435_761) >> 7) % 251;
    let points = match words[4] {
        "u8" => Points::from_u8((0..n * d).map(|i| value(i) as u8).collect::<Vec<_>>(), n, d, 0.01).unwrap(),
        "f64" => Points::from_f64((0..n * d).map(|i| value(i) as f64 / 100.0).collect::<Vec<_>>(), n, d).unwrap(),
        // A diagonal that dominates makes the matrix positive definite.
        "precomputed" => {
            let entry =
                |i: usize| if i / n == i % n { 2.0 * n as f32 } else { 1.0 / (1 + (i / n).abs_diff(i % n)) as f32 };
            Points::from_f32((0..n * n).map(entry).collect::<Vec<_>>(), n, n).unwrap()
        }
        _ => Points::from_f32((0..n * d).map(|i| value(i) as f32 / 100.0).collect::<Vec<_>>(), n, d).unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    let gamma = 0.5 / d as f64;
    let kernel = match words[4] {
        "custom" => {
            Kernel::custom(PairFunction::new("inner", |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(a, b)| a * b).sum()))
        }
        "precomputed" => Kernel::Precomputed,
        // Known to the grid alone, which is what takes memory.
        "expansion" => Kernel::matern32(4.0).unwrap(),
        _ => Kernel::gaussian(gamma).unwrap(),
    };
    let pca = KernelPca::new(kernel).n_components(k).memory(MemoryBudget::Bytes(budget)).tolerance(1e-2).max_passes(4);
    let pca = match words[4] {
        "variance" => pca.variance(0.5),
        "dense" => pca.solver(SolverChoice::Dense),
        "expansion" => pca.gram(GramChoice::Expansion),
        "checkpoint" => pca.checkpoint(Checkpoint::new(folder.path().join("c")).every(std::time::Duration::ZERO)),
        _ => pca,
    };
    let model = pca.fit(&points).unwrap();
    if words[4] == "expansion" {
        assert_eq!(model.record().gram, "expansion", "{:?}", model.record().warnings);
    }
    println!("gram={} share={} peak={}", model.record().gram, model.record().plan.stored_share, mercer::peak_memory());
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_a_fit_stays_below_budget_plus_data_plus_slack() {
    const MB: u64 = 1_000_000;
    for (n, d, k, budget, kind) in [
        (3000, 400, 10, 30 * MB, "f32"),
        (8000, 20, 20, 400 * MB, "f32"),
        (12_000, 20, 5, 150 * MB, "f32"),
        (6000, 300, 10, 100 * MB, "u8"),
        (4000, 50, 30, 200 * MB, "f64"),
        (40_000, 3, 4, 60 * MB, "f32"),
        (1500, 20_000, 5, 200 * MB, "f32"),
        // Half of what a packed copy of the points takes.
        (4000, 15_000, 5, 120 * MB, "f32"),
        (4000, 10, 16, 150 * MB, "variance"),
        (1500, 10, 5, 200 * MB, "dense"),
        (2000, 5, 5, 60 * MB, "custom"),
        (5000, 5000, 10, 40 * MB, "precomputed"),
        (20_000, 10, 20, 120 * MB, "checkpoint"),
    ] {
        let data = (n * d) as u64
            * if kind == "u8" {
                1
            } else if kind == "f64" {
                8
            } else {
                4
            };
        let peak = peak_of_a_fit(n, d, k, budget, kind);
        assert!(
            peak <= budget + data + SLACK,
            "{n} x {d} {kind}, budget {budget}: the peak is {peak}, {} over",
            peak - (budget + data + SLACK)
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_budget_without_slack_is_kept_by_large_fits() {
    // 15 000 points: all tiles take 900 MB, so the budget decides what is kept.
    let budget = 500_000_000;
    let peak = peak_of_a_fit(15_000, 40, 10, budget, "f32");
    assert!(peak <= budget + 15_000 * 40 * 4 + 40_000_000, "the peak is {peak}");
    assert!(peak > budget / 2, "the peak is {peak}: the store was not filled, so this test shows nothing");
}

#[test]
#[cfg(target_os = "linux")]
fn a_budget_without_slack_is_kept_by_an_expansion() {
    // A grid of fifty nodes along each axis.
    let budget = 60_000_000;
    let peak = peak_of_a_fit(4000, 3, 4, budget, "expansion");
    assert!(peak <= budget + 4000 * 3 * 4 + 40_000_000, "the peak is {peak}");
    assert!(peak > budget / 3, "the peak is {peak}: the grid is small, so this test shows nothing");
}
