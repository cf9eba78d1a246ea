use super::choose::{
    DENSE_UP_TO, DENSE_UP_TO_INDEFINITE, FIXED16_FROM_TOLERANCE, FIXED16_SHARE, MAX_SAMPLE, MIN_SAMPLE, SAMPLE_FROM,
    SMALL_UP_TO, STORE_FROM_BYTE_FEATURES, STORE_FROM_FEATURES,
};
use super::*;

const GIB: u64 = 1 << 30;

fn task(kernel: &Kernel) -> Task<'_> {
    Task {
        n_samples: 60_000,
        n_features: 784,
        is_bytes: false,
        kernel,
        n_components: 50,
        precision: Precision::F32,
        tolerance: 1e-4,
        fixed16_error: None,
        budget: 16 * GIB,
        threads: 2,
        gram: GramChoice::Auto,
        solver: SolverChoice::Auto,
    }
}

fn plan(task: &Task<'_>) -> Plan {
    Plan::for_fit(task, &Speeds::typical(task.n_features, task.threads)).expect("fits")
}

fn gaussian() -> Kernel {
    Kernel::gaussian(0.01).expect("positive")
}

#[test]
fn few_points_are_solved_densely_and_one_more_is_not() {
    let kernel = gaussian();
    let with = |n| plan(&Task { n_samples: n, n_components: 2, ..task(&kernel) }).solver;
    assert_eq!((with(DENSE_UP_TO).as_str(), with(DENSE_UP_TO + 1).as_str()), ("dense", "krylov"));
}

#[test]
fn a_few_more_are_if_the_kernel_may_have_negative_eigenvalues() {
    for kernel in [Kernel::sigmoid(0.1, 1.0).expect("positive"), Kernel::Precomputed] {
        let with = |n| plan(&Task { n_samples: n, n_features: n, n_components: 2, ..task(&kernel) }).solver;
        let (last, next) = (with(DENSE_UP_TO_INDEFINITE), with(DENSE_UP_TO_INDEFINITE + 1));
        assert_eq!((last.as_str(), next.as_str()), ("dense", "krylov"), "{}", kernel.name());
    }
}

#[test]
fn more_than_a_quarter_of_the_spectrum_is_solved_densely_if_that_fits() {
    let kernel = gaussian();
    let with = |k, budget| plan(&Task { n_samples: 2000, n_components: k, budget, ..task(&kernel) }).solver;
    assert_eq!(with(500, 16 * GIB), "krylov");
    assert_eq!(with(501, 16 * GIB), "dense");
    assert_eq!(with(501, GIB / 5), "krylov");
    let few = |k| plan(&Task { n_samples: 300, n_components: k, ..task(&kernel) });
    assert_eq!((few(50).solver.as_str(), few(51).solver.as_str()), ("krylov", "dense"));
    assert_eq!(few(51).reasons[0], "dense solver, because 51 components are more than a sixth of the spectrum");
}

#[test]
fn tiles_are_kept_when_they_fit_and_recomputed_when_they_do_not() {
    let kernel = gaussian();
    let with = |budget| plan(&Task { budget, ..task(&kernel) });
    let (large, middle, small) = (with(16 * GIB), with(3 * GIB), with(GIB));
    assert_eq!((large.gram.as_str(), large.stored_share), ("stored", 1.0));
    assert!(middle.gram == "stored" && middle.stored_share < 0.5, "{middle:?}");
    assert_eq!((small.gram.as_str(), small.store_bytes), ("tiled", 0));
    for plan in [large, middle, small] {
        assert!(!plan.reasons.is_empty());
    }
}

#[test]
fn what_a_plan_takes_is_within_the_budget() {
    let kernel = gaussian();
    for n in [1000, 20_000, 200_000] {
        for k in [1, 20, 100] {
            for budget in [GIB / 8, GIB, 16 * GIB] {
                let task = Task { n_samples: n, n_components: k, budget, ..task(&kernel) };
                match Plan::for_fit(&task, &Speeds::typical(784, 2)) {
                    Ok(plan) => assert!(plan.expected_memory_bytes <= budget, "n = {n}, k = {k}: {plan:?}"),
                    Err(error) => assert_eq!(error.kind(), crate::ErrorKind::OverBudget),
                }
            }
        }
    }
}

#[test]
fn recomputed_tiles_get_wide_blocks_and_stored_ones_narrow_blocks() {
    let kernel = gaussian();
    let stored = plan(&task(&kernel));
    let tiled = plan(&Task { gram: GramChoice::Tiled, ..task(&kernel) });
    assert!(tiled.block >= 100, "{}", tiled.block);
    assert!(stored.block <= 32, "{}", stored.block);
    // The column of ones of the first product fills the last register.
    assert!((tiled.block + 1).is_multiple_of(16) && (stored.block + 1).is_multiple_of(16));
}

#[test]
fn few_features_are_not_worth_storing() {
    let kernel = gaussian();
    let with = |d, is_bytes| plan(&Task { n_features: d, is_bytes, ..task(&kernel) }).gram;
    assert_eq!(with(STORE_FROM_FEATURES - 1, false), "tiled");
    assert_eq!(with(STORE_FROM_FEATURES, false), "stored");
    assert_eq!(with(STORE_FROM_BYTE_FEATURES - 1, true), "tiled");
    assert_eq!(with(STORE_FROM_BYTE_FEATURES, true), "stored");
}

/// Where blocks of recomputed tiles, which are wide, would make a basis as large as the matrix.
#[test]
fn few_points_are_worth_storing_whatever_their_features() {
    let kernel = gaussian();
    let with = |n| plan(&Task { n_samples: n, n_features: 3, n_components: 100, ..task(&kernel) });
    let (small, large) = (with(SMALL_UP_TO), with(SMALL_UP_TO + 1));
    assert_eq!((small.gram.as_str(), large.gram.as_str()), ("stored", "tiled"));
    assert!(small.block < 32 && large.block > 100, "{} and {}", small.block, large.block);
}

#[test]
fn without_a_measurement_fixed_point_is_used_only_where_tolerance_and_kernel_permit() {
    let (unit, unbounded) = (gaussian(), Kernel::linear());
    let with = |kernel, tolerance, budget| plan(&Task { tolerance, budget, ..task(kernel) }).store_format;
    let tight = 6 * GIB;
    assert_eq!(with(&unit, FIXED16_FROM_TOLERANCE, tight), StoreFormat::Fixed16);
    assert_eq!(with(&unit, 0.9 * FIXED16_FROM_TOLERANCE, tight), StoreFormat::Full);
    assert_eq!(with(&unbounded, FIXED16_FROM_TOLERANCE, tight), StoreFormat::Full);
    // Few tiles, which fit.
    let of = |n_samples| plan(&Task { n_samples, tolerance: FIXED16_FROM_TOLERANCE, ..task(&unit) }).store_format;
    assert_eq!((of(22_000), of(24_000)), (StoreFormat::Full, StoreFormat::Fixed16), "1 GiB is 23170 points");
}

#[test]
fn what_fixed_point_was_measured_to_change_decides_whether_it_is_used() {
    let kernel = gaussian();
    let with = |error, tolerance, budget| {
        let plan = plan(&Task { fixed16_error: Some(error), tolerance, budget, ..task(&kernel) });
        let reason = plan.reasons.iter().find(|reason| reason.contains("fixed point, because")).cloned();
        (plan.store_format, reason)
    };
    let tight = 6 * GIB;
    for tolerance in [1e-2, 1e-4, 1e-5] {
        assert_eq!(with(FIXED16_SHARE * tolerance, tolerance, tight).0, StoreFormat::Fixed16);
        assert_eq!(with(1.01 * FIXED16_SHARE * tolerance, tolerance, tight).0, StoreFormat::Full);
        // They are many, so that half of them is faster than all, even where all fit.
        assert_eq!(with(FIXED16_SHARE * tolerance, tolerance, 16 * GIB).0, StoreFormat::Fixed16);
        assert_eq!(with(1.01 * FIXED16_SHARE * tolerance, tolerance, 16 * GIB).0, StoreFormat::Full);
    }
    // A few that fit are kept as they are, without a word.
    let few = plan(&Task { n_samples: 20_000, fixed16_error: Some(0.0), ..task(&kernel) });
    assert_eq!(few.store_format, StoreFormat::Full);
    assert!(few.reasons.iter().all(|reason| !reason.contains("fixed point")), "{:?}", few.reasons);
    let (changes, would) = (with(2e-6, 1e-4, tight).1.expect("said"), with(3e-3, 1e-4, tight).1.expect("said"));
    assert!(changes.starts_with("16-bit fixed point, because it changes") && changes.contains("2.0e-6"), "{changes}");
    assert!(would.starts_with("no 16-bit fixed point, because it would change"), "{would}");
}

#[test]
fn only_tiles_that_do_not_all_fit_or_are_many_are_worth_a_measurement() {
    let kernel = gaussian();
    assert!(may_keep_rounded(&Task { budget: 6 * GIB, ..task(&kernel) }));
    assert!(may_keep_rounded(&Task { budget: 16 * GIB, ..task(&kernel) }));
    assert!(may_keep_rounded(&Task { budget: GIB * 3 / 4, n_samples: 20_000, ..task(&kernel) }));
    assert!(!may_keep_rounded(&Task { n_samples: 20_000, ..task(&kernel) }));
    assert!(!may_keep_rounded(&Task { budget: 6 * GIB, gram: GramChoice::Tiled, ..task(&kernel) }));
    assert!(!may_keep_rounded(&Task { budget: 6 * GIB, n_features: 2, ..task(&kernel) }));
    assert!(!may_keep_rounded(&Task { n_samples: 100, n_components: 2, ..task(&kernel) }));
    // What does not fit at all is the plan's to refuse.
    assert!(!may_keep_rounded(&Task { budget: 1, ..task(&kernel) }));
}

#[test]
fn filling_a_store_takes_the_time_of_its_bytes() {
    let kernel = gaussian();
    let (task, speeds) = (task(&kernel), Speeds::typical(784, 2));
    let of = |format| {
        let kept = Kept { format, bytes: memory_need::store_size(&task, format), share: 1.0 };
        (kept.bytes, speeds.fit_seconds(&task, 15, 10, kept, 0))
    };
    let (full, fixed) = (of(StoreFormat::Full), of(StoreFormat::Fixed16));
    assert_eq!(full.0, 2 * fixed.0);
    let saved = fixed.0 as f64 / speeds.first_touch;
    assert!((full.1 - fixed.1 - saved).abs() < 1e-9 * full.1, "{} and {} s", full.1, fixed.1);
}

#[test]
fn a_choice_that_was_made_is_kept() {
    let kernel = gaussian();
    for name in ["dense", "lanczos", "krylov", "subspace", "power"] {
        let task = Task { n_samples: 3000, solver: name.parse().expect("a name"), ..task(&kernel) };
        assert_eq!(plan(&task).solver, name);
    }
    assert_eq!(plan(&Task { gram: GramChoice::Tiled, ..task(&kernel) }).gram, "tiled");
    assert_eq!(plan(&Task { n_features: 2, gram: GramChoice::Stored, ..task(&kernel) }).gram, "stored");
}

#[test]
fn a_precomputed_matrix_is_neither_stored_nor_sampled() {
    let task = Task { n_samples: 8000, n_features: 8000, ..task(&Kernel::Precomputed) };
    let plan = plan(&task);
    assert_eq!((plan.gram.as_str(), plan.start_sample, plan.store_bytes), ("precomputed", 0, 0));
}

#[test]
fn large_problems_start_from_a_sample() {
    let kernel = gaussian();
    let tiled = Task { n_components: 10, gram: GramChoice::Tiled, ..task(&kernel) };
    let with = |n| plan(&Task { n_samples: n, ..tiled.clone() }).start_sample;
    assert_eq!(with(SAMPLE_FROM - 1), 0);
    assert!(with(SAMPLE_FROM) >= MIN_SAMPLE && (1000..=MAX_SAMPLE).contains(&with(1_000_000)));
}

#[test]
fn where_passes_read_tiles_back_a_sample_is_small_or_not_worth_it() {
    let kernel = gaussian();
    let with = |n, d| plan(&Task { n_samples: n, n_features: d, n_components: 10, budget: 64 * GIB, ..task(&kernel) });
    let many_features = with(10_000, 784);
    assert!(many_features.stored_share >= 1.0 && many_features.start_sample == 0, "{many_features:?}");
    let more = plan(&Task { budget: 64 * GIB, ..task(&kernel) });
    assert!(more.stored_share >= 1.0 && (MIN_SAMPLE..=1000).contains(&more.start_sample), "{more:?}");
    // Of more components than a small sample can tell apart it says nothing.
    let many_components = plan(&Task { budget: 64 * GIB, n_components: 300, ..task(&kernel) });
    assert!(many_components.start_sample == 0 || many_components.start_sample >= 4 * 300, "{many_components:?}");
    // Extending a sample by tiles of few features costs little.
    let few_features = with(10_000, 16);
    assert!(few_features.stored_share >= 1.0 && few_features.start_sample > 0, "{few_features:?}");
}

#[test]
fn a_sample_has_twice_as_many_points_as_there_are_vectors_or_there_is_none() {
    let kernel = gaussian();
    for (n_samples, k) in [(4004, 900), (4004, 1001), (5000, 1250), (8000, 300), (40_000, 2000)] {
        for gram in [GramChoice::Tiled, GramChoice::Stored] {
            let task = Task { n_samples, n_features: 3, n_components: k, budget: 64 * GIB, gram, ..task(&kernel) };
            let plan = plan(&Task { solver: SolverChoice::Krylov, ..task });
            assert!(plan.start_sample == 0 || plan.start_sample >= 2 * plan.block.max(k), "{n_samples}, {k}: {plan:?}");
        }
    }
}

#[test]
fn the_budget_is_met_without_a_packed_copy_then_by_narrower_blocks_before_it_is_refused() {
    let kernel = gaussian();
    let tiled = Task { gram: GramChoice::Tiled, ..task(&kernel) };
    let within = |budget| plan(&Task { budget, ..tiled.clone() });
    let wide = plan(&tiled);
    let loose = within(wide.expected_memory_bytes - 1);
    assert!(!wide.packs_per_tile && loose.packs_per_tile && loose.block == wide.block);
    assert!(loose.expected_seconds > wide.expected_seconds);
    assert!(loose.reasons.iter().any(|reason| reason.contains("packed tile by tile")), "{loose:?}");
    let narrow = within(loose.expected_memory_bytes - 1);
    assert!(narrow.block < wide.block);
    assert!(narrow.reasons.iter().any(|reason| reason.contains("wider ones would not fit")), "{narrow:?}");
}

#[test]
fn more_work_takes_longer() {
    let kernel = gaussian();
    let seconds = |n, d| plan(&Task { n_samples: n, n_features: d, ..task(&kernel) }).expected_seconds;
    assert!(seconds(60_000, 784) > 2.0 * seconds(30_000, 784));
    assert!(seconds(60_000, 784) > seconds(60_000, 100));
}

#[test]
fn a_plan_can_be_read() {
    let kernel = gaussian();
    let text = plan(&task(&kernel)).to_string();
    assert!(text.starts_with("krylov solver on a stored Gram matrix in f32, blocks of 15 vectors, about "), "{text}");
    assert!(text.contains("\n- all tiles are kept, because 6.7 GiB fit the memory budget\n"), "{text}");
    for (value, words) in [(0.0001, "1 ms"), (0.5, "500 ms"), (12.34, "12.3 s"), (150.0, "2.5 min"), (7200.0, "2.0 h")]
    {
        assert_eq!(format_seconds(value), words);
    }
}
