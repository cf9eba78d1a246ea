//! Fits of as many components as explain a share of the variance.
#![allow(clippy::unwrap_used)]

use mercer::{Checkpoint, GramChoice, Kernel, KernelPca, Points, SolverChoice};

/// Points whose spectrum falls so slowly that a share takes more components than a fit begins with.
fn points(n: usize, d: usize) -> Points {
    let value = |i: usize, j: usize| ((i * i % 7919 + 31 * j * i) as f64 * 0.618).sin();
    Points::from_f64((0..n * d).map(|at| value(at / d, at % d)).collect::<Vec<_>>(), n, d).unwrap()
}

#[test]
fn where_tiles_are_kept_more_components_are_looked_for_with_blocks_as_narrow_as_if_they_had_been_asked_for() {
    let data = points(2000, 20);
    let pca = KernelPca::new(Kernel::gaussian(0.2).unwrap()).solver(SolverChoice::Krylov).tolerance(1e-4);
    let grown = pca.clone().variance(0.9).fit(&data).unwrap();
    let (k, plan) = (grown.n_components(), &grown.record().plan);
    assert!(k > 60, "{k} components are few");
    assert!(grown.converged() && plan.stored_share >= 1.0 && plan.block < k, "{plan:?}");
    let asked = pca.n_components(k).fit(&data).unwrap();
    for (found, expected) in grown.eigenvalues().iter().zip(asked.eigenvalues()) {
        assert!((found - expected).abs() <= 2e-4 * expected.max(asked.eigenvalues()[0]), "{found} for {expected}");
    }
    let (vectors, narrow) = (grown.record().passes * plan.block, asked.record().passes * asked.record().plan.block);
    assert!(vectors < 4 * narrow, "{vectors} vectors, where {narrow} lead to as many components");
}

#[test]
fn the_plan_of_a_fit_that_grew_says_why_tiles_are_kept_and_nothing_that_held_for_the_first_components_only() {
    let data = points(3000, 20);
    let pca = KernelPca::new(Kernel::gaussian(0.1).unwrap()).variance(0.4).tolerance(1e-4).solver(SolverChoice::Krylov);
    let first = pca.plan(&data).unwrap();
    let told = |reasons: &[String], words: &str| reasons.iter().any(|reason| reason.contains(words));
    assert!(told(&first.reasons, "this is for the first 16 components"), "{:?}", first.reasons);
    let model = pca.fit(&data).unwrap();
    let grown = &model.record().plan;
    assert!(model.n_components() > 16 && told(&grown.reasons, "tiles are kept"), "{:?}", grown.reasons);
    assert!(!told(&grown.reasons, "the first 16 components"), "{:?}", grown.reasons);
    assert_eq!((&grown.gram, grown.store_bytes), (&first.gram, first.store_bytes));
}

#[test]
fn a_fit_that_grew_starts_from_what_it_found_and_says_nothing_of_a_sample() {
    let data = points(4200, 20);
    let pca = KernelPca::new(Kernel::gaussian(0.1).unwrap()).variance(0.6).tolerance(1e-3).gram(GramChoice::Tiled);
    let first = pca.plan(&data).unwrap();
    assert!(first.start_sample > 0 && first.reasons.iter().any(|reason| reason.starts_with("starts from")));
    let model = pca.fit(&data).unwrap();
    let grown = &model.record().plan;
    assert!(model.n_components() > 16 && grown.block > first.block, "{grown:?}");
    assert_eq!(grown.start_sample, first.start_sample);
    assert!(grown.reasons.iter().all(|reason| !reason.starts_with("starts from")), "{:?}", grown.reasons);
}

#[test]
fn a_fit_by_an_expansion_that_grew_is_still_one() {
    let data = points(1500, 2);
    let pca = KernelPca::new(Kernel::matern32(40.0).unwrap()).variance(0.6).tolerance(1e-3);
    let pca = pca.gram(GramChoice::Expansion).solver(SolverChoice::Krylov);
    let (first, model) = (pca.plan(&data).unwrap(), pca.fit(&data).unwrap());
    let grown = &model.record().plan;
    assert!(model.n_components() > 16 && model.converged(), "{} components", model.n_components());
    assert_eq!((grown.gram.as_str(), &grown.method), ("expansion", &first.method));
    assert!(grown.reasons.iter().any(|reason| reason.starts_with("expansion by ")), "{:?}", grown.reasons);
}

#[test]
fn one_decomposition_is_enough_for_every_share() {
    let data = points(300, 20);
    for share in [0.3, 0.9, 0.999] {
        let pca = KernelPca::new(Kernel::gaussian(0.1).unwrap()).variance(share).solver(SolverChoice::Dense);
        let model = pca.fit(&data).unwrap();
        let explained = model.explained_variance_ratio();
        let sum = |count: usize| explained[..count].iter().sum::<f64>();
        assert_eq!((model.record().passes, model.converged()), (1, true), "{share}");
        assert!(sum(explained.len()) >= share && sum(explained.len() - 1) < share, "{share}");
        let (warnings, reasons) = (&model.record().warnings, &model.record().plan.reasons);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(reasons.iter().all(|reason| !reason.contains("the first 16 components")), "{reasons:?}");
    }
}

#[test]
fn a_checkpoint_of_another_fit_is_refused_by_one_that_keeps_none() {
    let (data, folder) = (points(100, 5), tempfile::tempdir().unwrap());
    let path = folder.path().join("fit.checkpoint");
    let checkpoint = Checkpoint::new(&path).every(std::time::Duration::ZERO);
    let pca = KernelPca::new(Kernel::gaussian(0.1).unwrap()).n_components(3).gram(GramChoice::Tiled);
    pca.clone().solver(SolverChoice::Krylov).max_passes(1).checkpoint(checkpoint.clone()).fit(&data).unwrap();
    // So few points are solved by a decomposition.
    let dense = pca.checkpoint(checkpoint.resume(true));
    let refused = dense.fit(&data).unwrap_err().to_string();
    assert!(refused.ends_with("belongs to another run (solver: krylov there, dense here)"), "{refused}");
    std::fs::write(&path, "no checkpoint").unwrap();
    let refused = dense.fit(&data).unwrap_err().to_string();
    assert!(refused.contains("not a Mercer checkpoint"), "{refused}");
    assert!(path.exists());
}
