//! The memory budget is a promise: a real process stays below budget + data + 200 MB.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::process::Command;

use mercer::kernel::PairFunction;
use mercer::{
    Checkpoint, GainRule, GramChoice, Kernel, KernelHebbianPca, KernelPca, MemoryBudget, Points, SolverChoice, Watch,
};

/// Set in the process that fits; holds the shape, the budget and the gram.
const CHILD: &str = "MERCER_MEMORY_CHILD";
/// What code, threads and the allocator may take on top in these tests. Users are promised 200 MB, for machines with more threads and
/// other allocators; but within that much the budget of a fit that takes seconds could be missing, and nobody would notice.
const SLACK: u64 = 40_000_000;
/// A budget that decides nothing.
const PLENTY: u64 = 1 << 40;

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
    if words[4] == "more-points" {
        let hebbian = KernelHebbianPca::new(Kernel::gaussian(0.5 / d as f64).unwrap()).n_components(k).eta0(0.1);
        let hebbian = hebbian.gram(GramChoice::Tiled).updates(10).memory(MemoryBudget::Bytes(budget));
        let mut learner = hebbian.fit(&points).unwrap();
        let new = Points::from_f32((0..n * d).map(|i| value(i + 7) as f32 / 90.0).collect::<Vec<_>>(), n, d).unwrap();
        learner.learn(Some(&new), 10, &Watch::new()).unwrap();
        println!(
            "needs={} peak={}",
            learner.model().unwrap().record().plan.expected_memory_bytes,
            mercer::peak_memory()
        );
        return;
    }
    if words[4] == "many-learned" {
        many_learned(d, k).memory(MemoryBudget::Bytes(budget)).fit(&points).unwrap();
        println!("peak={}", mercer::peak_memory());
        return;
    }
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
        "many" => pca.max_passes(2),
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

/// What fits may take: the budget, the data, and the slack of these tests.
fn limit(n: usize, d: usize, budget: u64, kind: &str) -> u64 {
    let size = match kind {
        "u8" => 1,
        "f64" => 8,
        _ => 4,
    };
    budget + (n * d * size) as u64 + SLACK
}

#[test]
#[cfg(target_os = "linux")]
fn the_peak_of_a_fit_stays_below_budget_plus_data_plus_slack() {
    const MB: u64 = 1_000_000;
    for (n, d, k, budget, kind) in [
        // Tiles that do not all fit: of numbers, of bytes, in double precision, of a function.
        (6000, 400, 10, 40 * MB, "f32"),
        (8000, 20, 20, 60 * MB, "f32"),
        (12_000, 20, 5, 150 * MB, "f32"),
        (6000, 300, 10, 30 * MB, "u8"),
        (4000, 50, 30, 30 * MB, "f64"),
        (5000, 5, 5, 25 * MB, "custom"),
        // A packed copy of the points does not fit: half of it, and beside what tiles need.
        (4000, 15_000, 5, 120 * MB, "f32"),
        (1500, 20_000, 5, 100 * MB, "f32"),
        // A matrix and its decomposition do not fit, so that another solver is taken.
        (2000, 10, 520, 116 * MB, "many"),
        // Vectors do not fit, so that blocks are narrower.
        (8000, 10, 100, 80 * MB, "f32"),
        // What is found in rounds, and what is written after every pass, comes on top of tiles.
        (8000, 20, 16, 60 * MB, "variance"),
        (8000, 20, 20, 60 * MB, "checkpoint"),
    ] {
        let limit = limit(n, d, budget, kind);
        let peak = peak_of_a_fit(n, d, k, budget, kind);
        assert!(peak <= limit, "{n} x {d} {kind}, budget {budget}: the peak is {peak}, {} over", peak - limit);
        let without = peak_of_a_fit(n, d, k, PLENTY, kind);
        assert!(without > limit, "{n} x {d} {kind} takes {without} without a budget, so this shape shows nothing");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_done_with_less_takes_no_more_than_it_says() {
    // A copy of the given matrix would be noticed, and three matrices more than a decomposition takes.
    for (n, d, k, budget, kind, more) in
        [(5000, 5000, 10, 30_000_000, "precomputed", 100_000_000), (2400, 10, 5, 330_000_000, "dense", 3 * 46_080_000)]
    {
        let (limit, peak) = (limit(n, d, budget, kind), peak_of_a_fit(n, d, k, budget, kind));
        assert!(peak <= limit, "{n} x {d} {kind}, budget {budget}: the peak is {peak}, {} over", peak - limit);
        assert!(peak + more > limit, "{n} x {d} {kind} takes {peak} and could take another {more} unnoticed");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn more_points_for_the_kernel_hebbian_algorithm_take_what_they_say() {
    // Both sets put together take 96 MB, packed as much again beside 48 MB of packed old ones; nothing else is large.
    let (n, d, k) = (1500, 8000, 2);
    let (data, budget) = (2 * n as u64 * d as u64 * 4, 254_000_000);
    let (limit, peak) = (budget + data + SLACK, peak_of_a_fit(n, d, k, budget, "more-points"));
    assert!(peak <= limit, "the peak is {peak}, {} over", peak - limit);
    assert!(peak + 48_000_000 > limit, "another copy of the points would not be noticed: {peak} of {limit}");
}

/// Many components of the kernel Hebbian algorithm, in many small batches.
fn many_learned(d: usize, k: usize) -> KernelHebbianPca {
    let hebbian = KernelHebbianPca::new(Kernel::gaussian(0.5 / d as f64).unwrap()).n_components(k);
    let hebbian = hebbian.gain(GainRule::MetaDescent).eta0(1e-3).mu(1e-6).batch_size(8).updates(136).threads(1);
    hebbian.gram(GramChoice::Tiled)
}

#[test]
#[cfg(target_os = "linux")]
fn many_components_of_the_kernel_hebbian_algorithm_take_what_their_plan_says() {
    // Sixteen batches that are put off would take 84 MB, where all else takes 50.
    let (n, d, k) = (500, 10, 400);
    let points = Points::from_f32(vec![0.5; n * d], n, d).unwrap();
    let needed = many_learned(d, k).plan_record(&points).unwrap().plan.expected_memory_bytes;
    let (limit, peak) = (needed + (n * d * 4) as u64 + SLACK, peak_of_a_fit(n, d, k, needed, "many-learned"));
    assert!(peak <= limit, "the peak is {peak}, {} over what was said", peak - limit);
    assert!(peak > limit / 2, "{peak} is taken and {limit} said: a plan that says anything would pass");
}

#[test]
#[cfg(target_os = "linux")]
fn a_budget_without_slack_is_kept_by_large_fits() {
    // 15 000 points: all tiles take 900 MB, so the budget decides what is kept.
    let budget = 500_000_000;
    let peak = peak_of_a_fit(15_000, 40, 10, budget, "f32");
    assert!(peak <= budget + 15_000 * 40 * 4 + SLACK, "the peak is {peak}");
    assert!(peak > budget / 2, "the peak is {peak}: the store was not filled, so this test shows nothing");
}

#[test]
#[cfg(target_os = "linux")]
fn a_budget_without_slack_is_kept_by_an_expansion() {
    // A grid of fifty nodes along each axis.
    let budget = 60_000_000;
    let peak = peak_of_a_fit(4000, 3, 4, budget, "expansion");
    assert!(peak <= budget + 4000 * 3 * 4 + SLACK, "the peak is {peak}");
    assert!(peak > budget / 3, "the peak is {peak}: the grid is small, so this test shows nothing");
}
