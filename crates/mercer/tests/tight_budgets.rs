//! Fits within budgets that decide how they are made.
#![allow(clippy::unwrap_used)]

use mercer::gram::StoreFormat;
use mercer::{GramChoice, Kernel, KernelPca, MemoryBudget, Points, SolverChoice};

fn points(n: usize, d: usize) -> Points {
    let value = |i: usize, j: usize| (i as f64 * 0.618 * (1.0 + 0.3 * j as f64) + (i % 3) as f64).sin() as f32;
    Points::from_f32((0..n * d).map(|at| value(at / d, at % d)).collect::<Vec<_>>(), n, d).unwrap()
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_budget_that_holds_part_of_the_tiles_gives_the_same_bits_on_one_to_four_threads() {
    let data = points(3000, 16);
    let kernel = Kernel::gaussian(0.02).unwrap();
    let pca = |memory, gram| {
        let pca = KernelPca::new(kernel.clone()).n_components(5).tolerance(1e-3).gram(gram);
        pca.solver(SolverChoice::Krylov).memory(MemoryBudget::Bytes(memory))
    };
    for (memory, gram) in [(12_000_000, GramChoice::Stored), (8_000_000, GramChoice::Tiled)] {
        let fit = |threads: usize| pca(memory, gram).threads(threads).fit(&data).unwrap();
        let expected = fit(1);
        let plan = &expected.record().plan;
        if gram == GramChoice::Stored {
            assert!(plan.store_format == StoreFormat::Fixed16 && (0.1..1.0).contains(&plan.stored_share), "{plan:?}");
        }
        for threads in [2, 4] {
            let model = fit(threads);
            assert_eq!(model.record().plan.block, plan.block, "{threads} threads");
            assert_eq!(bits(model.eigenvalues()), bits(expected.eigenvalues()), "{threads} threads");
        }
    }
}

#[test]
fn tiles_in_fixed_point_are_rounded_whether_there_is_room_for_them_or_not() {
    let data = points(2500, 16);
    let kernel = Kernel::gaussian(0.02).unwrap();
    let fit = |memory: u64| {
        let pca = KernelPca::new(kernel.clone()).n_components(3).tolerance(1e-3).gram(GramChoice::Stored);
        let model = pca.solver(SolverChoice::Lanczos).memory(MemoryBudget::Bytes(memory)).fit(&data).unwrap();
        let plan = &model.record().plan;
        assert_eq!(plan.store_format, StoreFormat::Fixed16, "{plan:?}");
        (plan.stored_share, plan.max_subspace, model)
    };
    let ((few, subspace, small), (more, same, large)) = (fit(8_000_000), fit(10_000_000));
    assert!(few < more && more < 1.0, "{few} and {more} of the tiles");
    assert_eq!(subspace, same);
    assert_eq!(bits(small.eigenvalues()), bits(large.eigenvalues()));
}
