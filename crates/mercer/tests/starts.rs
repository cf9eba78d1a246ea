//! Fits that start from the solution for a sample of the points.
#![allow(clippy::unwrap_used)]

use mercer::{Center, GramChoice, Kernel, KernelPca, Points, SolverChoice};

#[test]
fn a_group_of_points_that_no_sample_holds_has_its_component_all_the_same() {
    // Ten strands of 420 points each and, beyond the reach of the kernel, seven points that are one: their eigenvalue is 7.
    let n = 4207;
    let mut values: Vec<f64> = (0..n).flat_map(|i| [100.0 * (i % 10) as f64 + 0.15 * (i as f64).sin(), 0.0]).collect();
    for copy in 0..7 {
        values[2 * (601 * copy + 1)..][..2].copy_from_slice(&[0.0, 5000.0]);
    }
    let data = Points::from_f64(values, n, 2).unwrap();
    for seed in 0..4 {
        let pca = KernelPca::new(Kernel::gaussian(0.05).unwrap()).n_components(11).center(Center::No).seed(seed);
        let model = pca.gram(GramChoice::Tiled).solver(SolverChoice::Krylov).fit(&data).unwrap();
        assert!(model.record().plan.start_sample > 0 && model.record().converged);
        assert!((model.eigenvalues()[10] - 7.0).abs() < 1e-6, "seed {seed}: {:?}", model.eigenvalues());
    }
}

#[test]
fn starts_from_mixtures_of_what_a_sample_says_lead_to_the_components_of_any_start() {
    let n = 4500;
    let strand = |i: usize, j: usize| (i as f64 * 0.618 * (1.0 + 0.3 * j as f64) + (i % 3) as f64).sin();
    let values: Vec<f32> = (0..16 * n).map(|at| strand(at / 16, at % 16) as f32).collect();
    let data = Points::from_f32(values, n, 16).unwrap();
    let kernel = Kernel::gaussian(0.02).unwrap();
    for center in [Center::Yes, Center::No] {
        let with = |solver: SolverChoice| {
            let pca = KernelPca::new(kernel.clone()).n_components(30).center(center).gram(GramChoice::Stored);
            pca.solver(solver).tolerance(1e-4).fit(&data).unwrap()
        };
        let (model, expected) = (with(SolverChoice::Krylov), with(SolverChoice::Lanczos));
        let plan = &model.record().plan;
        assert!(plan.start_sample > 0 && plan.block < 30 && model.converged(), "{plan:?}");
        for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
            assert!((found - expected).abs() < 1e-5 * model.eigenvalues()[0], "{found} for {expected}");
        }
    }
}

#[test]
fn a_sample_that_sees_few_distinct_points_misleads_nobody() {
    for (n, distinct) in [(4500, 2), (4100, 3)] {
        // All points are equal but for one of each other kind.
        let coordinate = |i: usize, j: usize| if i + 1 < distinct { 5.0 + (i * j) as f64 } else { 1.0 };
        let values: Vec<f64> = (0..16 * n).map(|at| coordinate(at / 16, at % 16)).collect();
        let data = Points::from_f64(values, n, 16).unwrap();
        let pca = KernelPca::new(Kernel::gaussian(0.01).unwrap()).n_components(distinct);
        let expected = pca.clone().gram(GramChoice::Stored).solver(SolverChoice::Lanczos).fit(&data).unwrap();
        for gram in [GramChoice::Tiled, GramChoice::Stored] {
            for wanted in [distinct, 10, 30] {
                let model =
                    pca.clone().gram(gram).solver(SolverChoice::Krylov).n_components(wanted).fit(&data).unwrap();
                let leading = expected.eigenvalues()[0];
                assert_eq!(model.n_components(), distinct - 1, "of {wanted}: {:?}", model.eigenvalues());
                for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
                    assert!((found - expected).abs() < 1e-9 * leading, "{found} for {expected} of {wanted}");
                }
            }
        }
    }
}
