//! What no expansion can do.

use faer::Mat;
use mercer::expansion::{Expansion, Wanted};
use mercer::watch::Threads;
use mercer::{
    Center, ErrorKind, ExpansionMethod, GramChoice, Kernel, KernelPca, KernelProduct, MemoryBudget, Points, Precision,
    Watch, ZeroComponents,
};
use mercer_testkit::context;
use mercer_testkit::contract::apply;

use crate::support::{direct, error, expansion, in_box, vectors};

fn refused(kernel: &Kernel, points: &Points, method: ExpansionMethod, tolerance: f64) -> String {
    let wanted = Wanted { method, tolerance, ..Wanted::default() };
    Expansion::new(kernel, points, &wanted, &context(1)).err().unwrap().to_string()
}

#[test]
fn a_bandwidth_far_too_small_falls_back_to_tiles_and_says_so() {
    let points = in_box(200, &[1.0; 3], 1);
    let kernel = Kernel::gaussian(1e9).unwrap();
    let u = vectors(200, 2, 2);
    for method in ["auto", "series", "clusters", "grid"] {
        let method: ExpansionMethod = method.parse().unwrap();
        let product = KernelProduct::new(kernel.clone()).gram(GramChoice::Expansion).method(method);
        let (found, record) = product.multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
        assert_eq!((record.gram.as_str(), record.method.as_str()), ("tiled", "tiled"), "{method}");
        assert_eq!(record.warnings.len(), 2, "{record:?}");
        assert!(record.warnings[0].starts_with("tiles are computed instead of an expansion: "), "{record:?}");
        assert!(record.warnings[1].starts_with("rounding may take the error to "), "{record:?}");
        assert!(record.measured_error <= record.bound, "{record:?}");
        // At this width no point sees another.
        assert!((found - &u).norm_max() < 1e-14);
    }
    let model = KernelPca::new(kernel).n_components(2).gram(GramChoice::Expansion).fit(&points).unwrap();
    assert_eq!(model.record().gram, "tiled");
    assert!(model.record().expansion.is_none());
    assert!(model.record().warnings[0].contains("instead of an expansion"), "{:?}", model.record().warnings);
}

#[test]
fn tiles_in_the_place_of_an_expansion_count_every_entry() {
    let (points, queries) = (in_box(200, &[1.0; 3], 1), in_box(30, &[1.0; 3], 2));
    let u = vectors(200, 2, 2);
    let product = KernelProduct::new(Kernel::gaussian(1e9).unwrap()).gram(GramChoice::Expansion);
    for center in [Center::No, Center::Yes] {
        let product = product.clone().center(center);
        let tiles = product.clone().gram(GramChoice::Tiled).precision(Precision::F64);
        let [record, by_tiles] = [product, tiles].map(|product| {
            let (_, record) = product.multiply(&points, u.as_ref(), Some(&queries), &Watch::new()).unwrap();
            record
        });
        assert_eq!((record.gram.as_str(), record.kernel_entries), ("tiled", by_tiles.kernel_entries), "{center:?}");
        // The mean that centring subtracts is that of the points' own products, which are symmetric.
        let means = if center == Center::Yes { 100 * 200 } else { 0 };
        assert!(record.kernel_entries >= 30 * 200 + means, "{record:?}");
    }
}

#[test]
fn a_tolerance_below_rounding_is_refused() {
    let points = in_box(50, &[1.0; 2], 3);
    let kernel = Kernel::gaussian(1.0).unwrap();
    assert_eq!(
        refused(&kernel, &points, ExpansionMethod::Auto, 1e-17),
        "`tolerance` must be at least 1e-13 for an expansion: less is below rounding, but it is 0.00000000000000001"
    );
    assert_eq!(
        refused(&kernel, &points, ExpansionMethod::Auto, 0.0),
        "`tolerance` must be between 0 and 1, but it is 0"
    );
}

#[test]
fn more_monomials_than_can_be_counted_fall_back_to_tiles() {
    let points = in_box(40, &[1.0; 60], 4);
    let kernel = Kernel::polynomial(0.1, 1.0, 30).unwrap();
    let found = expansion(&kernel, &points, ExpansionMethod::Polynomial, 1e-6);
    assert_eq!(found.method(), "tiled");
    assert!(found.warnings()[0].contains("degree 30 in 60 features has too many monomials"), "{:?}", found.warnings());
    let u = vectors(40, 1, 5);
    let exact = direct(&kernel, &points, &points, u.as_ref());
    assert!(error(&apply(&found, u.as_ref(), 2), &exact, u.as_ref()) <= 1e-12 * found.scale());
}

#[test]
fn points_that_are_all_equal_have_a_constant_matrix() {
    let points = Points::from_f64(vec![0.25; 900], 300, 3).unwrap();
    let u = vectors(300, 1, 6);
    let sum: f64 = u.col(0).iter().sum();
    for (kernel, method, value) in [
        (Kernel::gaussian(3.0).unwrap(), ExpansionMethod::Series, 1.0),
        (Kernel::gaussian(3.0).unwrap(), ExpansionMethod::Clusters, 1.0),
        (Kernel::gaussian(3.0).unwrap(), ExpansionMethod::Grid, 1.0),
        (Kernel::matern52(3.0).unwrap(), ExpansionMethod::Grid, 1.0),
        (Kernel::exponential(3.0).unwrap(), ExpansionMethod::Grid, 1.0),
        (Kernel::rational_quadratic(3.0, 0.2).unwrap(), ExpansionMethod::Grid, 1.0),
        (Kernel::polynomial(1.0, 1.0, 2).unwrap(), ExpansionMethod::Polynomial, 1.1875_f64.powi(2)),
    ] {
        let expansion = expansion(&kernel, &points, method, 1e-6);
        assert!(!expansion.is_tiled(), "{} {method}: {:?}", kernel.name(), expansion.warnings());
        let found = apply(&expansion, u.as_ref(), 2);
        let error = (0..300).map(|i| (found[(i, 0)] - value * sum).abs()).fold(0.0, f64::max);
        assert!(error <= 1e-6 * u.col(0).norm_l1(), "{} {method}: {error:e}", kernel.name());
    }
    let fit = KernelPca::new(Kernel::gaussian(3.0).unwrap()).gram(GramChoice::Expansion).fit(&points);
    assert!(fit.unwrap_err().to_string().contains("all 300 rows are equal to the kernel"));
}

#[test]
fn a_method_that_does_not_know_the_kernel_is_refused() {
    let points = in_box(50, &[1.0; 2], 7);
    for (kernel, method, reason) in [
        (Kernel::gaussian(1.0).unwrap(), ExpansionMethod::Polynomial, "is for the linear and polynomial kernels"),
        (Kernel::linear(), ExpansionMethod::Series, "are for the gaussian kernel"),
        (Kernel::sigmoid(1.0, 0.0).unwrap(), ExpansionMethod::Auto, "there is one for polynomial kernels"),
        (Kernel::laplacian(1.0).unwrap(), ExpansionMethod::Auto, "only in one dimension"),
    ] {
        let message = refused(&kernel, &points, method, 1e-6);
        assert!(message.contains(reason), "{message}");
    }
}

#[test]
fn settings_that_would_be_ignored_are_refused() {
    let points = in_box(50, &[1.0; 2], 8);
    let u = Mat::full(50, 1, 1.0);
    let product = KernelProduct::new(Kernel::gaussian(1.0).unwrap());
    let text =
        |product: KernelProduct| product.multiply(&points, u.as_ref(), None, &Watch::new()).unwrap_err().to_string();
    assert_eq!(
        text(product.clone().method(ExpansionMethod::Grid)),
        "`method` must be left out unless `gram` is \"expansion\", but it is grid"
    );
    assert_eq!(
        text(product.clone().gram(GramChoice::Expansion).precision(Precision::F32)),
        "`precision` must be double with an expansion, which has no other, but it is f32"
    );
    assert!(
        text(product.gram(GramChoice::Expansion).memory(MemoryBudget::Bytes(100)))
            .contains("the memory budget is 100 B")
    );
    let hebbian = mercer::KernelHebbianPca::new(Kernel::gaussian(1.0).unwrap()).gram(GramChoice::Expansion);
    let message = hebbian.fit(&points).err().unwrap().to_string();
    assert!(message.contains("`gram` must be auto, tiled or stored for the Hebbian algorithm"), "{message}");
    drop(Threads::new(1).unwrap());
}

#[test]
fn clusters_that_take_more_memory_than_is_left_give_way_to_tiles_and_say_so() {
    let points = in_box(3000, &[1.0; 4], 21);
    let kernel = Kernel::gaussian(1.0).unwrap();
    let with = |memory: u64| {
        let wanted = Wanted { method: ExpansionMethod::Clusters, columns: 16, memory, ..Wanted::default() };
        Expansion::new(&kernel, &points, &wanted, &context(2)).unwrap()
    };
    let clusters = with(u64::MAX);
    assert_eq!(clusters.method(), "clusters", "{:?}", clusters.warnings());
    // Coordinates in another order and coefficients of sixteen vectors are the least that it takes.
    let least = 8 * (3000 * 4 + 16 * clusters.terms()) as u64;
    let tiles = with(least);
    assert_eq!(tiles.method(), "tiled");
    let warning = tiles.warnings().join("; ");
    assert!(warning.starts_with("tiles are computed instead of an expansion: clusters: it takes "), "{warning}");
    assert!(warning.contains(" of memory, and "), "{warning}");
}

#[test]
fn a_grid_that_only_memory_has_no_room_for_is_not_called_too_large_for_its_points() {
    let points = in_box(600, &[1.0; 3], 22);
    let kernel = Kernel::gaussian(50.0).unwrap();
    let with = |memory: u64| {
        let wanted = Wanted { method: ExpansionMethod::Grid, memory, ..Wanted::default() };
        Expansion::new(&kernel, &points, &wanted, &context(2)).unwrap()
    };
    let grid = with(u64::MAX);
    assert_eq!(grid.method(), "grid", "{:?}", grid.warnings());
    // A number for each node is the least that it takes.
    let tiles = with(8 * grid.terms() as u64);
    assert_eq!(tiles.method(), "tiled");
    let warning = tiles.warnings().join("; ");
    assert!(warning.starts_with("tiles are computed instead of an expansion: grid: it takes "), "{warning}");
    assert!(warning.contains(" of memory, and ") && !warning.contains("widths of the kernel"), "{warning}");
}

#[test]
fn points_that_are_all_equal_are_not_said_to_differ_by_inf_of_the_first_eigenvalue() {
    let points = Points::from_f64(vec![0.25; 900], 300, 3).unwrap();
    let pca = KernelPca::new(Kernel::gaussian(3.0).unwrap()).n_components(2).gram(GramChoice::Expansion);
    let model = pca.zero_components(ZeroComponents::Keep).fit(&points).unwrap();
    let record = model.record();
    assert_eq!((record.gram.as_str(), model.eigenvalues()), ("expansion", &[0.0, 0.0][..]));
    assert!(!record.warnings.iter().any(|warning| warning.contains("first eigenvalue")), "{:?}", record.warnings);
}

#[test]
fn a_series_on_a_line_of_many_bandwidths_is_not_made_of_features_that_underflow() {
    // Points beyond 38 bandwidths have features that are all zero, and products that are none.
    for reach in [30.0, 36.0, 43.0] {
        let points =
            Points::from_f64((0..800).map(|i| reach * (f64::from(i) / 399.5 - 1.0)).collect::<Vec<_>>(), 800, 1);
        let (points, kernel) = (points.unwrap(), Kernel::gaussian(0.5).unwrap());
        let product = KernelProduct::new(kernel.clone()).gram(GramChoice::Expansion).method(ExpansionMethod::Series);
        let u = vectors(800, 1, 3);
        let (found, record) = product.multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
        let wrong = error(&found, &direct(&kernel, &points, &points, u.as_ref()), u.as_ref());
        assert!(wrong <= 1e-6, "{reach}: {wrong}");
        assert_eq!(record.gram, if reach < 35.0 { "expansion" } else { "tiled" }, "{record:?}");
    }
}

#[test]
fn a_kernel_absurdly_narrow_is_told_from_a_grid_at_once() {
    let points = in_box(300, &[1.0; 2], 1);
    let started = std::time::Instant::now();
    for kernel in [Kernel::gaussian(1e20), Kernel::gaussian(1e300), Kernel::rational_quadratic(1e20, 1.0)] {
        let found = expansion(&kernel.unwrap(), &points, ExpansionMethod::Grid, 1e-6);
        assert!(found.is_tiled() || found.bound() <= 1e-6);
    }
    for kernel in [Kernel::gaussian(1e20), Kernel::exponential(1e15), Kernel::matern32(1e15)] {
        let line = in_box(300, &[1.0], 1);
        let found = expansion(&kernel.unwrap(), &line, ExpansionMethod::Grid, 1e-6);
        assert!(found.is_tiled() || found.bound() <= 1e-6);
    }
    // Minutes before; a second even on a machine that is busy.
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn tiles_that_may_round_by_more_than_the_tolerance_are_not_taken_because_they_are_cheap() {
    // Copies of a few points: a corner makes roots of the rounding of squared distances.
    let values: Vec<f64> = (0..60).map(|i| 10.0 + f64::from(i % 6) / 6.0).collect();
    let points = Points::from_f64(values, 60, 1).unwrap();
    let (kernel, u) = (Kernel::exponential(130.0).unwrap(), vectors(60, 1, 9));
    let product = KernelProduct::new(kernel.clone()).gram(GramChoice::Expansion);
    let (_, loose) = product.clone().tolerance(1e-4).multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
    assert!(loose.method == "tiled" && loose.bound.unwrap() > 1e-10, "{loose:?}");
    let (found, tight) = product.tolerance(1e-10).multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
    assert_eq!(tight.method, "grid");
    let wrong = error(&found, &direct(&kernel, &points, &points, u.as_ref()), u.as_ref());
    assert!(wrong <= tight.bound.unwrap() && tight.bound.unwrap() <= 1e-10, "{wrong}: {tight:?}");
}

#[test]
fn one_point_has_a_grid_however_slowly_the_kernel_falls() {
    let points = Points::from_f64(vec![0.3, -0.7], 1, 2).unwrap();
    for alpha in [1e-3, 0.01, 1.0] {
        let kernel = Kernel::rational_quadratic(1e7, alpha).unwrap();
        let found = expansion(&kernel, &points, ExpansionMethod::Grid, 1e-9);
        let sum = apply(&found, Mat::full(1, 1, 2.0).as_ref(), 1)[(0, 0)];
        assert!((sum - 2.0).abs() <= 2e-9, "{alpha}: {sum} by {}", found.method());
    }
}

#[test]
fn a_tolerance_that_centring_takes_below_rounding_is_refused_as_it_was_typed() {
    let points = in_box(60, &[0.1; 2], 1);
    let mut u = Mat::zeros(60, 1);
    u[(0, 0)] = 1.0;
    let product = KernelProduct::new(Kernel::gaussian(0.5).unwrap()).center(Center::Yes).gram(GramChoice::Expansion);
    let run = |tolerance: f64| product.clone().tolerance(tolerance).multiply(&points, u.as_ref(), None, &Watch::new());
    for tolerance in [2e-13, 5e-14] {
        let error = run(tolerance).unwrap_err().to_string();
        assert!(
            error.starts_with("`tolerance` must be at least 4.0e-13 for an expansion and these vectors"),
            "{error}"
        );
        assert!(error.ends_with(&format!(", but it is {tolerance:e}")), "{error}");
    }
    assert!(run(4e-13).is_ok());
}

#[test]
fn tiles_in_the_place_of_an_expansion_keep_to_the_memory_budget() {
    let product = |memory: u64| KernelProduct::new(Kernel::gaussian(1e9).unwrap()).memory(MemoryBudget::Bytes(memory));
    let expanded = |memory: u64| product(memory).gram(GramChoice::Expansion).method(ExpansionMethod::Grid);
    // Room for a few of the vectors at a time, with and without centring: each time the matrix is computed again.
    let (points, u) = (in_box(600, &[1.0; 3], 1), vectors(600, 64, 2));
    for center in [Center::No, Center::Yes] {
        let tiles = product(1_000_000).center(center).gram(GramChoice::Tiled).precision(Precision::F64);
        let run = |product: KernelProduct| product.multiply(&points, u.as_ref(), None, &Watch::new()).unwrap();
        let ((found, record), (expected, by_tiles)) = (run(expanded(1_000_000).center(center)), run(tiles));
        assert_eq!((record.gram.as_str(), found), ("tiled", expected));
        assert_eq!(record.kernel_entries, by_tiles.kernel_entries);
        let roomy = run(expanded(u64::MAX).center(center)).1;
        assert!(record.kernel_entries > roomy.kernel_entries, "{record:?}");
    }
    // 1.632 MB for the product with queries; beside its 0.384 MB, that with the points themselves, whose means are subtracted, takes 1.664 MB.
    let (points, queries, u) = (in_box(4000, &[1.0; 3], 1), in_box(3000, &[1.0; 3], 3), vectors(4000, 16, 2));
    for (center, memory, fits) in
        [(Center::No, 1_650_000, true), (Center::Yes, 1_650_000, false), (Center::Yes, 1_700_000, true)]
    {
        let made = expanded(memory).center(center).multiply(&points, u.as_ref(), Some(&queries), &Watch::new());
        assert_eq!(
            made.err().map(|error| error.kind()),
            (!fits).then_some(ErrorKind::OverBudget),
            "{center:?}, {memory}"
        );
    }
    // Packed points alone are too much.
    let (points, u) = (in_box(600, &[1.0; 200], 1), vectors(600, 1, 2));
    for queries in [None, Some(&points)] {
        let error = expanded(500_000).multiply(&points, u.as_ref(), queries, &Watch::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OverBudget, "{error}");
    }
}

#[test]
fn a_rational_quadratic_kernel_that_is_a_gaussian_to_rounding_has_its_answer_at_once() {
    let (points, u) = (in_box(50, &[1.0; 3], 1), vectors(50, 1, 2));
    for alpha in [1e4, 1e6, 1e8, 1e9, 1e16, 1e300] {
        let kernel = Kernel::rational_quadratic(1.0, alpha).unwrap();
        for tolerance in [1e-3, 1e-10] {
            let found = expansion(&kernel, &points, ExpansionMethod::Grid, tolerance);
            let sums = apply(&found, u.as_ref(), 1);
            let wrong = error(&sums, &direct(&kernel, &points, &points, u.as_ref()), u.as_ref());
            assert!(wrong <= tolerance, "{alpha:e} by {}: {wrong:e}", found.method());
        }
    }
}
