//! What holds for every method: the bound, linearity, symmetry, the same bits on any number of threads.

use faer::Mat;
use mercer::expansion::{Expansion, Targets, TruncationBound, Wanted};
use mercer::{Center, ExpansionMethod, GramChoice, Kernel, KernelProduct, Points, Watch};
use mercer_testkit::contract::apply;
use mercer_testkit::{context, same_bits};

use crate::support::{direct, error, expansion, in_box, vectors};

/// Kernels, boxes and methods that suit each other.
fn problems() -> Vec<(Kernel, Points, ExpansionMethod)> {
    let gaussian = |gamma: f64| Kernel::gaussian(gamma).unwrap();
    let mut all = vec![
        (Kernel::linear(), in_box(300, &[1.0; 5], 1), ExpansionMethod::Polynomial),
        (Kernel::polynomial(0.7, 1.5, 3).unwrap(), in_box(300, &[1.0; 4], 2), ExpansionMethod::Polynomial),
        (Kernel::polynomial(0.7, -0.5, 3).unwrap(), in_box(300, &[2.0; 3], 3), ExpansionMethod::Polynomial),
        (gaussian(0.5), in_box(300, &[1.0, 2.0, 0.5], 4), ExpansionMethod::Series),
        (gaussian(0.2), in_box(300, &[1.0; 6], 5), ExpansionMethod::Series),
        (gaussian(8.0), in_box(300, &[1.0; 2], 6), ExpansionMethod::Clusters),
        (gaussian(4.0), in_box(300, &[1.0; 4], 7), ExpansionMethod::Clusters),
    ];
    // From a bandwidth of the side to a fiftieth of it, in one to three dimensions, with sides of one length and of several.
    for gamma in [0.5, 12.5, 1250.0] {
        for sides in [&[1.0][..], &[1.0, 1.0], &[1.0, 0.1], &[1.0; 3], &[0.3, 1.0, 0.02]] {
            if gamma < 1000.0 || sides.len() < 3 {
                all.push((gaussian(gamma), in_box(400, sides, 8), ExpansionMethod::Grid));
            }
        }
    }
    let grid = |kernel: Kernel, d: usize| (kernel, in_box(400, &vec![1.0; d], 9), ExpansionMethod::Grid);
    for d in [1, 2, 3] {
        all.push(grid(Kernel::matern32(3.0).unwrap(), d));
        all.push(grid(Kernel::matern52(3.0).unwrap(), d));
        all.push(grid(Kernel::exponential(3.0).unwrap(), d));
    }
    all.push(grid(Kernel::laplacian(3.0).unwrap(), 1));
    all.push(grid(Kernel::rational_quadratic(4.0, 12.0).unwrap(), 2));
    // Kernels that fall slowly, and kernels that are wide beside the data: neither vanishes before a period is over.
    for (d, alpha) in [(1, 0.05), (1, 60.0), (2, 0.5), (3, 0.3)] {
        all.push(grid(Kernel::rational_quadratic(4.0, alpha).unwrap(), d));
    }
    all.push((Kernel::rational_quadratic(0.01, 0.3).unwrap(), in_box(400, &[1.0, 0.02], 10), ExpansionMethod::Grid));
    all.push(grid(Kernel::exponential(0.03).unwrap(), 2));
    all
}

#[test]
fn the_error_of_a_product_is_within_the_bound_and_the_bound_within_the_tolerance() {
    for (kernel, points, method) in problems() {
        let u = vectors(points.n_samples(), 3, 11);
        let exact = direct(&kernel, &points, &points, u.as_ref());
        for tolerance in [1e-3, 1e-6, 1e-9] {
            let expansion = expansion(&kernel, &points, method, tolerance);
            let what = format!("{} {method} {tolerance:e} {points:?}", kernel.name());
            assert_eq!(expansion.method(), method.name(), "{what}: {:?}", expansion.warnings());
            let found = apply(&expansion, u.as_ref(), 2);
            let error = error(&found, &exact, u.as_ref()) / expansion.scale();
            assert!(error <= expansion.bound(), "{what}: error {error:e} exceeds bound {:e}", expansion.bound());
            assert!(expansion.bound() <= tolerance, "{what}: bound {:e}", expansion.bound());
        }
    }
}

#[test]
fn an_expansion_is_symmetric_and_gives_the_same_bits_on_any_number_of_threads() {
    for (kernel, points, method) in problems() {
        let expansion = expansion(&kernel, &points, method, 1e-6);
        let u = vectors(points.n_samples(), 3, 12);
        let one = apply(&expansion, u.as_ref(), 1);
        for threads in [2, 3] {
            assert!(
                same_bits(one.as_ref(), apply(&expansion, u.as_ref(), threads).as_ref()),
                "{} {method}",
                kernel.name()
            );
        }
        let across = u.transpose() * &one;
        let size = one.norm_l2() * u.norm_l2();
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            let difference = (across[(i, j)] - across[(j, i)]).abs();
            // A cluster's series is about the centre of the sources, not of the targets.
            let slack = match method {
                ExpansionMethod::Clusters => 2.0 * expansion.bound() * u.col(i).norm_l1() * u.col(j).norm_l1(),
                _ => 1e-13 * size,
            };
            assert!(difference <= slack, "{} {method}: {difference:e}", kernel.name());
        }
    }
}

#[test]
fn many_vectors_give_what_each_gives_alone() {
    for (kernel, points, method) in problems() {
        let expansion = expansion(&kernel, &points, method, 1e-6);
        let u = vectors(points.n_samples(), 19, 13);
        let together = apply(&expansion, u.as_ref(), 2);
        for j in [0, 7, 16, 18] {
            let alone = apply(&expansion, u.subcols(j, 1), 2);
            let difference = (alone - together.subcols(j, 1)).norm_max();
            let size = u.col(j).norm_l1() * expansion.scale();
            assert!(difference <= 1e-14 * size, "{} {method}: {difference:e}", kernel.name());
        }
    }
}

#[test]
fn targets_need_not_be_the_sources() {
    for (kernel, points, method) in problems() {
        let d = points.n_features();
        let queries = in_box(70, &vec![1.4; d], 14);
        let u = vectors(points.n_samples(), 2, 15);
        let exact = direct(&kernel, &queries, &points, u.as_ref());
        for targets in [Targets::Known(&queries), Targets::Any] {
            let wanted = Wanted { method, tolerance: 1e-6, targets, ..Wanted::default() };
            let expansion = Expansion::new(&kernel, &points, &wanted, &context(2)).unwrap();
            let what = format!("{} {method} {targets:?}", kernel.name());
            assert_eq!(expansion.method(), method.name(), "{what}: {:?}", expansion.warnings());
            let compressed = expansion.compress(u.as_ref(), &context(2)).unwrap();
            let found = expansion.product(&compressed, &queries, &context(2)).unwrap();
            let scale = if kernel.has_unit_range() { 1.0 } else { expansion.scale() * 20.0 };
            let error = error(&found, &exact, u.as_ref()) / scale;
            assert!(error <= expansion.bound(), "{what}: error {error:e} exceeds bound {:e}", expansion.bound());
        }
    }
}

#[test]
fn centred_products_with_and_without_queries_are_those_of_tiles() {
    let (points, queries) = (in_box(2500, &[1.0; 3], 16), in_box(2500, &[1.2; 3], 17));
    let u = vectors(2500, 2, 18);
    let kernel = Kernel::gaussian(10.0).unwrap();
    for queries in [None, Some(&queries)] {
        let tiled = KernelProduct::new(kernel.clone()).center(Center::Yes);
        let expanded = tiled.clone().gram(GramChoice::Expansion).tolerance(1e-8);
        let (expected, _) = tiled.multiply(&points, u.as_ref(), queries, &Watch::new()).unwrap();
        let (found, record) = expanded.multiply(&points, u.as_ref(), queries, &Watch::new()).unwrap();
        assert_eq!(record.gram, "expansion");
        assert!(record.bound.unwrap() <= 1e-8 && record.measured_error <= record.bound, "{record:?}");
        assert!(error(&found, &expected, u.as_ref()) <= 1e-8);
    }
}

#[test]
fn the_cheapest_method_is_chosen_and_tiles_are_among_them() {
    let method = |points: &Points, gamma: f64| {
        let kernel = Kernel::gaussian(gamma).unwrap();
        expansion(&kernel, points, ExpansionMethod::Auto, 1e-6).method()
    };
    // All points within half a bandwidth: a few terms about one centre.
    assert_eq!(method(&in_box(3000, &[1.0; 3], 19), 0.1), "series");
    // A bandwidth of a twentieth of the side: in three dimensions a grid.
    assert_eq!(method(&in_box(8000, &[1.0; 3], 19), 200.0), "grid");
    // A bandwidth of a third of the side in eight: nothing but tiles.
    assert_eq!(method(&in_box(300, &[1.0; 8], 19), 5.0), "tiled");
    // A dozen points are summed up sooner than anything else is set up.
    assert_eq!(method(&in_box(12, &[1.0; 3], 19), 200.0), "tiled");
}

#[test]
fn explicit_features_multiply_to_the_kernel_matrix() {
    let points = in_box(60, &[1.0; 3], 20);
    for (kernel, method) in [
        (Kernel::polynomial(0.5, 1.0, 3).unwrap(), ExpansionMethod::Polynomial),
        (Kernel::polynomial(0.5, 0.0, 2).unwrap(), ExpansionMethod::Polynomial),
        (Kernel::gaussian(0.4).unwrap(), ExpansionMethod::Series),
    ] {
        let expansion = expansion(&kernel, &points, method, 1e-10);
        let z = expansion.features(&context(2)).unwrap().unwrap();
        assert_eq!(z.ncols(), expansion.terms());
        let unit = Mat::<f64>::identity(60, 60);
        let exact = direct(&kernel, &points, &points, unit.as_ref());
        assert!((&z * z.transpose() - exact).norm_max() <= 1e-10 * expansion.scale(), "{}", kernel.name());
    }
    // With a negative constant the kernel is no inner product.
    let indefinite = Kernel::polynomial(0.5, -1.0, 3).unwrap();
    let expansion = expansion(&indefinite, &points, ExpansionMethod::Polynomial, 1e-6);
    assert!(expansion.features(&context(1)).unwrap().is_none());
}

#[test]
fn a_bound_that_is_attained_leaves_room_for_rounding() {
    // Two points at the rim of the series' ball, and a tolerance near rounding.
    let points = Points::from_f64(vec![-1.0, 1.0], 2, 1).unwrap();
    let u = Mat::full(2, 1, 1.0);
    let kernel = Kernel::gaussian(0.05).unwrap();
    let exact = direct(&kernel, &points, &points, u.as_ref());
    for exponent in 3..13 {
        let tolerance = 10.0_f64.powi(-exponent);
        let expansion = expansion(&kernel, &points, ExpansionMethod::Series, tolerance);
        let error = error(&apply(&expansion, u.as_ref(), 1), &exact, u.as_ref());
        assert!(
            error <= expansion.bound() && expansion.bound() <= tolerance,
            "{tolerance}: {error} {}",
            expansion.bound()
        );
    }
}

#[test]
fn the_error_of_a_centred_product_is_within_the_bound_of_the_vector_that_was_given() {
    // One point beyond a bandwidth from all others, whose vector is nearly twice as long once it is centred.
    let n = 200;
    let points = Points::from_f64((0..n).map(|i| if i == 0 { 1.0 } else { -1.0 }).collect::<Vec<_>>(), n, 1).unwrap();
    let queries = points.slice(0..20);
    let mut u = Mat::zeros(n, 3);
    u[(0, 0)] = 1.0;
    u.col_mut(1).fill(1.0);
    let kernel = Kernel::gaussian(0.5).unwrap();
    let tiled = KernelProduct::new(kernel).center(Center::Yes).checked_rows(n);
    for terms in 2..12 {
        let tolerance = 2.0001 * TruncationBound::Optimal.of(terms, 1.0) + 1e-12;
        let series = tiled.clone().gram(GramChoice::Expansion).method(ExpansionMethod::Series).tolerance(tolerance);
        for queries in [None, Some(&queries)] {
            let (expected, _) = tiled.multiply(&points, u.as_ref(), queries, &Watch::new()).unwrap();
            let (found, record) = series.multiply(&points, u.as_ref(), queries, &Watch::new()).unwrap();
            assert_eq!(record.gram, "expansion");
            let (bound, measured) = (record.bound.unwrap(), record.measured_error.unwrap());
            let wrong = (found.col(0) - expected.col(0)).norm_max();
            let what = format!("{terms} terms, {}: {wrong:e}, {record:?}", queries.is_some());
            // Rounding of the tiles.
            assert!(wrong <= measured + 1e-13 && measured <= bound && bound <= tolerance, "{what}");
        }
    }
}

#[test]
fn rounding_of_many_terms_is_part_of_the_bound() {
    // Points on the diagonal of a box of twenty features, and so small a tolerance that little else is left of the error.
    let (n, d) = (60, 20);
    let values = (0..n * d).map(|i| 0.1 / (d as f64).sqrt() * (2.0 * (i / d) as f64 / (n - 1) as f64 - 1.0));
    let points = Points::from_f64(values.collect::<Vec<_>>(), n, d).unwrap();
    let (kernel, u) = (Kernel::gaussian(0.5).unwrap(), Mat::identity(n, 20));
    let expansion = expansion(&kernel, &points, ExpansionMethod::Series, 1e-13);
    let exact = direct(&kernel, &points, &points, u.as_ref());
    let wrong = error(&apply(&expansion, u.as_ref(), 1), &exact, u.as_ref());
    assert!(expansion.terms() > 10_000 && expansion.bound() <= 1e-13, "{}", expansion.terms());
    assert!(wrong <= expansion.bound(), "{wrong:e} exceeds {:e}", expansion.bound());
}
