//! Kernel PCA over expansions.

use mercer::{Center, GramChoice, Kernel, KernelPca, MemoryBudget, Points, Precision, SolverChoice};
use mercer_testkit::reference::sines_of_angles;

use crate::support::in_box;

fn fit(kernel: &Kernel, points: &Points, gram: GramChoice, solver: SolverChoice, center: Center) -> mercer::Model {
    KernelPca::new(kernel.clone())
        .n_components(4)
        .gram(gram)
        .solver(solver)
        .center(center)
        .tolerance(1e-7)
        .fit(points)
        .unwrap()
}

/// Components over an expansion by `method`, with every solver, against those over tiles; and scores of the points and of others.
fn check_fits(kernel: &Kernel, method: &str, points: &Points, queries: &Points) {
    for center in [Center::Yes, Center::No] {
        let exact = fit(kernel, points, GramChoice::Tiled, SolverChoice::Krylov, center);
        for solver in [SolverChoice::Auto, SolverChoice::Krylov, SolverChoice::Lanczos, SolverChoice::Dense] {
            let found = fit(kernel, points, GramChoice::Expansion, solver, center);
            let what = format!("{} {solver} {center:?}", kernel.name());
            let record = found.record();
            assert_eq!(record.gram, "expansion", "{what}: {:?}", record.warnings);
            let expansion = record.expansion.as_ref().unwrap();
            assert_eq!(expansion.method, method, "{what}");
            assert!(expansion.measured_error <= expansion.bound, "{what}: {expansion:?}");
            assert!(expansion.bound <= expansion.tolerance, "{what}: {expansion:?}");
            assert!(found.converged(), "{what}: {:?}", found.residuals());
            for (a, b) in found.eigenvalues().iter().zip(exact.eigenvalues()) {
                assert!((a - b).abs() <= 1e-5 * exact.eigenvalues()[0], "{what}: {a} and {b}");
            }
            let sine = sines_of_angles(found.eigenvectors().as_ref(), exact.eigenvectors().as_ref())[0];
            assert!(sine < 1e-3, "{what}: {sine}");
            // The same points and others, inside the box of the first and outside.
            let again = found.transform(points).unwrap();
            let largest = found.training_scores().norm_max();
            assert!((&again - found.training_scores()).norm_max() <= 1e-4 * largest, "{what}");
            let signs: Vec<f64> = (0..4)
                .map(|j| (found.eigenvectors().col(j).transpose() * exact.eigenvectors().col(j)).signum())
                .collect();
            let (new, expected) = (found.transform(queries).unwrap(), exact.transform(queries).unwrap());
            for j in 0..4 {
                for i in 0..queries.n_samples() {
                    let difference = (signs[j] * new[(i, j)] - expected[(i, j)]).abs();
                    assert!(difference <= 2e-3 * largest, "{what}, row {i}, component {j}: {difference}");
                }
            }
        }
    }
}

#[test]
fn every_solver_finds_over_an_expansion_what_it_finds_over_tiles() {
    // Queries lie inside the box of the points and outside.
    let points = in_box(700, &[1.0, 0.8, 0.5], 1);
    let queries = in_box(40, &[1.3, 1.0, 0.6], 2);
    for (kernel, method) in [
        (Kernel::gaussian(12.0).unwrap(), "grid"),
        (Kernel::gaussian(0.3).unwrap(), "series"),
        (Kernel::matern52(2.0).unwrap(), "grid"),
        (Kernel::polynomial(1.0, 1.0, 3).unwrap(), "polynomial"),
    ] {
        check_fits(&kernel, method, &points, &queries);
    }
}

#[test]
fn every_solver_finds_over_clusters_what_it_finds_over_tiles() {
    // Five heaps in four dimensions, too far apart for one series.
    let heaps = |n: usize, seed: u64| {
        let centers = in_box(5, &[3.0; 4], 11);
        let offsets = in_box(n, &[0.2; 4], seed);
        let rows = (0..n).flat_map(|i| {
            let (center, offset) = (centers.row(i % 5), offsets.row(i));
            (0..4).map(move |j| center[j] + offset[j])
        });
        Points::from_f64(rows.collect::<Vec<_>>(), n, 4).unwrap()
    };
    check_fits(&Kernel::gaussian(0.5).unwrap(), "clusters", &heaps(700, 12), &heaps(40, 13));
}

#[test]
fn a_model_keeps_its_expansion_in_its_file() {
    let points = in_box(600, &[1.0; 2], 3);
    let model =
        fit(&Kernel::gaussian(20.0).unwrap(), &points, GramChoice::Expansion, SolverChoice::Lanczos, Center::Yes);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mercer");
    model.save(&path).unwrap();
    let loaded = mercer::Model::load(&path).unwrap();
    assert_eq!(loaded.record().expansion, model.record().expansion);
    let queries = in_box(30, &[1.1; 2], 4);
    let (a, b) = (model.transform(&queries).unwrap(), loaded.transform(&queries).unwrap());
    assert!(mercer_testkit::same_bits(a.as_ref(), b.as_ref()));
    let novelty = model.novelty(&queries).unwrap();
    assert!((novelty.scores - a).norm_max() < 1e-12);
}

#[test]
fn the_plan_finds_an_expansion_by_itself_where_it_pays() {
    let many = in_box(30_000, &[1.0; 3], 5);
    let pca = KernelPca::new(Kernel::gaussian(50.0).unwrap()).n_components(3).tolerance(1e-5);
    let plan = pca.plan(&many).unwrap();
    assert_eq!((plan.gram.as_str(), plan.method.as_deref()), ("expansion", Some("grid")));
    assert!(plan.reasons.iter().any(|reason| reason.starts_with("expansion by grid")), "{:?}", plan.reasons);
    let told = |reasons: &[String], what: &str| reasons.iter().any(|reason| reason.contains(what));
    assert!(told(&plan.reasons, "times less than by tiles"), "{:?}", plan.reasons);
    // One that does not pay is made where it is asked for, and the plan says so.
    let few = pca.clone().gram(GramChoice::Expansion).plan(&in_box(500, &[1.0; 3], 5)).unwrap();
    assert_eq!(few.gram, "expansion");
    let asked = "as asked for, though 500 points with 3 features cost ";
    assert!(told(&few.reasons, asked) && told(&few.reasons, "times more than by tiles"), "{:?}", few.reasons);
    // In ten dimensions there is none that pays, and a hundred points need none.
    let wide = in_box(30_000, &[1.0; 10], 5);
    assert_eq!(pca.plan(&wide).unwrap().gram, "tiled");
    assert_eq!(pca.plan(&in_box(100, &[1.0; 3], 5)).unwrap().gram, "tiled");
    // A polynomial of few monomials is an eigenproblem of that order.
    let polynomial = KernelPca::new(Kernel::polynomial(1.0, 1.0, 3).unwrap()).n_components(3);
    let plan = polynomial.plan(&many).unwrap();
    assert_eq!((plan.gram.as_str(), plan.solver.as_str(), plan.block), ("expansion", "dense", 20));
}

#[test]
fn the_time_of_a_plan_has_the_rows_that_the_error_is_measured_on() {
    let points = in_box(100_000, &[1.0; 2], 5);
    let pca = KernelPca::new(Kernel::linear()).n_components(2).gram(GramChoice::Expansion).threads(1);
    let plan = pca.plan(&points).unwrap();
    assert_eq!(plan.gram, "expansion");
    // A hundred rows of 100 000 entries, of some nanoseconds each; sums over two coordinates are next to nothing.
    assert!(plan.expected_seconds > 100.0 * 1e5 * 5e-9, "{}", plan.expected_seconds);
}

#[test]
fn a_polynomial_kernel_has_no_more_components_than_monomials() {
    let points = in_box(500, &[1.0; 2], 6);
    let pca = KernelPca::new(Kernel::polynomial(1.0, 1.0, 2).unwrap()).n_components(9).gram(GramChoice::Expansion);
    let model = pca.fit(&points).unwrap();
    // Six monomials, one of them constant.
    assert_eq!(model.n_components(), 5);
    assert!(model.converged(), "{:?}", model.record().warnings);
}

/// So narrow that only a grid will do, which is what takes memory.
fn narrow() -> KernelPca {
    KernelPca::new(Kernel::gaussian(1000.0).unwrap()).n_components(3).tolerance(1e-3).max_passes(3).threads(2)
}

#[test]
fn an_expansion_that_does_not_fit_beside_the_solver_gives_way_to_tiles_and_says_why() {
    let points = in_box(500, &[1.0; 3], 3);
    let asked = narrow().gram(GramChoice::Expansion).solver(SolverChoice::Krylov);
    let plan = asked.plan(&points).unwrap();
    assert_eq!((plan.gram.as_str(), plan.method.as_deref()), ("expansion", Some("grid")));
    // What it takes is enough, and a byte less is not.
    let with = |bytes: u64| asked.clone().memory(MemoryBudget::Bytes(bytes));
    let enough = plan.expected_memory_bytes;
    assert_eq!(with(enough).plan(&points).unwrap().method.as_deref(), Some("grid"));
    let tight = with(enough - 1);
    let plan = tight.plan(&points).unwrap();
    let begins = |texts: &[String], start: &str| texts.iter().any(|text| text.starts_with(start));
    assert!(begins(&plan.reasons, "no expansion, because by grid it would take"), "{:?}", plan.reasons);
    let found = tight.fit(&points).unwrap();
    let record = found.record();
    assert_eq!((record.gram.as_str(), &record.expansion), ("tiled", &None));
    assert!(record.plan.expected_memory_bytes < enough);
    let said = "tiles are computed instead of an expansion: by grid it would take";
    assert!(begins(&record.warnings, said), "{:?}", record.warnings);
}

#[test]
fn without_being_asked_a_plan_says_what_memory_keeps_it_from() {
    let points = in_box(30_000, &[1.0; 3], 4);
    let plan = narrow().plan(&points).unwrap();
    assert_eq!(plan.method.as_deref(), Some("grid"), "{:?}", plan.reasons);
    let budget = plan.expected_memory_bytes - 1;
    let tight = narrow().memory(MemoryBudget::Bytes(budget)).plan(&points).unwrap();
    assert!(tight.method.is_none() && tight.gram != "expansion", "{tight:?}");
    assert!(tight.expected_memory_bytes <= budget);
    assert!(tight.reasons.iter().any(|reason| reason.starts_with("no expansion, because by grid")), "{tight:?}");
}

#[test]
fn a_plan_for_a_shape_says_that_it_leaves_expansions_open() {
    let reasons = |kernel: Kernel, gram: GramChoice, n: usize| {
        KernelPca::new(kernel).gram(gram).plan_shape(n, 3, Precision::F64).unwrap().reasons.join("; ")
    };
    let gaussian = || Kernel::gaussian(1.0).unwrap();
    assert!(reasons(gaussian(), GramChoice::Auto, 100_000).contains("depend on where the points lie"));
    assert!(reasons(gaussian(), GramChoice::Expansion, 1000).contains("depends on where the points lie"));
    for (kernel, gram, n) in [
        (gaussian(), GramChoice::Auto, 1000),
        (gaussian(), GramChoice::Tiled, 100_000),
        (Kernel::cosine(), GramChoice::Auto, 100_000),
    ] {
        assert!(!reasons(kernel, gram, n).contains("where the points lie"));
    }
}

#[test]
fn a_narrow_kernel_with_long_tails_along_a_line_is_planned_without_looking_at_every_grid() {
    // Its narrowest Gaussians would need millions of nodes: no grid that pays, and none that is worth minutes of planning.
    let points =
        Points::from_f64((0..600).map(|i| f64::from(i * i % 601) / 601.0).collect::<Vec<_>>(), 600, 1).unwrap();
    let kernel = Kernel::rational_quadratic(20.0, 1.0).unwrap();
    let fit = |gram| KernelPca::new(kernel.clone()).gram(gram).n_components(4).tolerance(1e-6).fit(&points).unwrap();
    let (expanded, tiled) = (fit(GramChoice::Expansion), fit(GramChoice::Tiled));
    for (found, expected) in expanded.eigenvalues().iter().zip(tiled.eigenvalues()) {
        assert!((found - expected).abs() <= 1e-5 * tiled.eigenvalues()[0], "{found} and {expected}");
    }
}

#[test]
fn a_dense_solver_does_not_take_more_features_than_there_are_points() {
    let (points, kernel) = (in_box(50, &[1.0; 5], 3), Kernel::gaussian(1.4).unwrap());
    let fit = |gram| {
        let settings = KernelPca::new(kernel.clone()).gram(gram).solver(SolverChoice::Dense);
        settings.n_components(3).tolerance(1e-9).fit(&points).unwrap()
    };
    let (expanded, exact) = (fit(GramChoice::Expansion), fit(GramChoice::Tiled));
    let terms = expanded.record().expansion.as_ref().map_or(0, |expansion| expansion.terms);
    assert!(terms > 1024, "{terms} terms");
    for (found, expected) in expanded.eigenvalues().iter().zip(exact.eigenvalues()) {
        assert!((found - expected).abs() <= 1e-7 * exact.eigenvalues()[0], "{found} and {expected}");
    }
}
