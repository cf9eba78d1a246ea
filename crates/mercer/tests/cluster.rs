//! Spectral clustering: a stored case, the slow reference, laws, and what it refuses.
#![allow(clippy::unwrap_used, reason = "what cannot be read fails the test")]

use std::path::Path;

use faer::{Mat, MatRef};
use mercer::agreement::{Contingency, variation_of_information};
use mercer::gram::{Normalized, SymmetricOperator};
use mercer::nystrom::{Landmarks, Nystrom};
use mercer::{
    ClusterModel, Error, ErrorKind, GainRule, GramChoice, Kernel, KernelHebbianPca, MemoryBudget, Points, Precision,
    SolverChoice, SpectralClustering, Watch,
};
use mercer_testkit::contract::apply;
use mercer_testkit::generate::{Cloud, circles, clusters, duplicated, gaussian_cloud};
use mercer_testkit::operator::gram;
use mercer_testkit::reference::{assert_close, largest_entry, spectral_embedding};
use mercer_testkit::{Format, Textbook, check_symmetric_operator, context};
use npyz::npz::NpzArchive;

/// An array of the stored case; see `testdata/cluster/README.md`.
fn stored(array: &str) -> Mat<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cluster/njw_vi.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(array).unwrap().unwrap_or_else(|| panic!("no {array}"));
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let order = npy.order();
    let values: Vec<f64> = match npy.dtype().descr().as_str() {
        text if text.contains("i8") => npy.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect(),
        _ => npy.into_vec().unwrap(),
    };
    Mat::from_fn(rows, columns, |i, j| match order {
        npyz::Order::C => values[i * columns + j],
        npyz::Order::Fortran => values[j * rows + i],
    })
}

#[track_caller]
fn check(array: &str, found: MatRef<'_, f64>) {
    let expected = stored(array);
    let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
    assert_close(found, expected.as_ref(), |_, _| slack, array);
}

fn points_of(rows: &Mat<f64>) -> Points {
    let values: Vec<f64> = rows.row_iter().flat_map(|row| row.iter().copied().collect::<Vec<_>>()).collect();
    Points::from_f64(values, rows.nrows(), rows.ncols()).unwrap()
}

/// Inner products of embedded points: what does not depend on signs and rotations.
fn inner(embedding: &Mat<f64>) -> Mat<f64> {
    embedding * embedding.transpose()
}

fn together(labels: &[usize]) -> Mat<f64> {
    Mat::from_fn(labels.len(), labels.len(), |i, j| f64::from(u8::from(labels[i] == labels[j])))
}

#[test]
fn the_stored_case_comes_out_with_every_solver() {
    let points = points_of(&stored("in_Z"));
    let sigma = stored("par_sigma")[(0, 0)];
    let kernel = Kernel::gaussian(0.5 / (sigma * sigma)).unwrap();
    let operator = gram(Precision::F64, &points, &kernel, None).unwrap();
    let unit = Mat::<f64>::identity(24, 24);
    check("out_P", apply(&Normalized::new(&*operator, &context(2)).unwrap(), unit.as_ref(), 2).as_ref());
    for solver in [SolverChoice::Auto, SolverChoice::Dense, SolverChoice::Krylov, SolverChoice::Lanczos] {
        let clustering = SpectralClustering::new(kernel.clone(), 3).solver(solver).tolerance(1e-12);
        let model = clustering.fit(&points).unwrap();
        check("out_embedding_gram", inner(&model.embedding()).as_ref());
        check("out_same_cluster", together(model.labels()).as_ref());
        let five = clustering.n_components(5).fit(&points).unwrap();
        check("out_eigenvalues", Mat::from_fn(5, 1, |i, _| five.eigenvalues()[i]).as_ref());
    }
}

#[test]
fn variation_of_information_of_the_stored_groupings() {
    let grouping = |array: &str| stored(array).col(0).iter().map(|&x| x as i64).collect::<Vec<i64>>();
    let (first, second) = (grouping("in_c1"), grouping("in_c2"));
    let table = Contingency::new(&first, &second).unwrap();
    assert_eq!(table.shape(), (3, 4));
    check("out_confusion", Mat::from_fn(3, 4, |i, j| table.count(i, j) as f64 / 40.0).as_ref());
    let vi = variation_of_information(&first, &second).unwrap();
    check("out_vi", Mat::from_fn(1, 1, |_, _| vi).as_ref());
}

#[test]
fn the_normalised_operator_keeps_the_contract_of_operators() {
    let points = gaussian_cloud(150, 4, 3).points(Format::F64);
    let operator = gram(Precision::F64, &points, &Kernel::gaussian(0.2).unwrap(), None).unwrap();
    let normalized = Normalized::new(&*operator, &context(2)).unwrap();
    check_symmetric_operator(&normalized, 1e-13);
    assert_eq!((normalized.dim(), normalized.degrees().len()), (150, 150));
}

/// Kernels whose rows all have positive sums on any points.
const KERNELS: [Textbook; 5] = [
    Textbook::Gaussian { gamma: 0.3 },
    Textbook::Laplacian { gamma: 0.3 },
    Textbook::Matern52 { gamma: 0.6 },
    Textbook::RationalQuadratic { gamma: 0.4, alpha: 2.0 },
    Textbook::Polynomial { gamma: 0.5, coef0: 1.0, degree: 2 },
];

#[test]
fn the_embedding_of_old_and_new_points_is_that_of_the_slow_reference() {
    let (cloud, new) = (clusters(90, 3, 4, 11), clusters(20, 3, 4, 12));
    let rows = |cloud: &Cloud| (0..cloud.n).map(|i| cloud.row(i).to_vec()).collect::<Vec<_>>();
    for kernel in KERNELS {
        let slow = spectral_embedding(kernel.matrix(&rows(&cloud), &rows(&cloud)).as_ref(), 3);
        let model = SpectralClustering::new(kernel.to_kernel(), 3)
            .solver(SolverChoice::Krylov)
            .tolerance(1e-12)
            .fit(&cloud.points(Format::F64))
            .unwrap();
        for (found, expected) in model.eigenvalues().iter().zip(&slow.eigenvalues) {
            assert!((found - expected).abs() < 1e-11, "{kernel:?}: {found} instead of {expected}");
        }
        assert_close(inner(&model.embedding()).as_ref(), inner(&slow.embedding).as_ref(), |_, _| 1e-8, "old points");
        let embedded = model.embed(&new.points(Format::F64)).unwrap();
        let expected = slow.extend(kernel.matrix(&rows(&new), &rows(&cloud)).as_ref());
        // New against old: signs and rotations of both are the same ones.
        let found = &embedded * model.embedding().transpose();
        assert_close(found.as_ref(), (&expected * slow.embedding.transpose()).as_ref(), |_, _| 1e-8, "new points");
    }
}

#[test]
fn two_rings_come_apart_in_every_format() {
    let cloud = circles(400, 5);
    let truth: Vec<usize> = (0..400).map(|i| i % 2).collect();
    for format in Format::ALL {
        let model = SpectralClustering::new(Kernel::gaussian(4.0).unwrap(), 2).fit(&cloud.points(format)).unwrap();
        assert_eq!(model.labels(), truth, "{format:?}");
        assert_eq!(model.record().cluster_sizes, [200, 200]);
        assert!((model.eigenvalues()[0] - 1.0).abs() < 1e-5, "{format:?}: {:?}", model.eigenvalues());
    }
}

fn four_heaps() -> (Points, SpectralClustering) {
    let points = clusters(600, 5, 4, 7).points(Format::F64);
    (points, SpectralClustering::new(Kernel::gaussian(0.5).unwrap(), 4))
}

fn eigenvector_bits(model: &ClusterModel) -> Vec<u64> {
    model.eigenvectors().col_iter().flat_map(|column| column.iter().map(|x| x.to_bits()).collect::<Vec<_>>()).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (points, clustering) = four_heaps();
    let one = clustering.clone().threads(1).fit(&points).unwrap();
    let three = clustering.threads(3).fit(&points).unwrap();
    assert_eq!(one.labels(), three.labels());
    assert_eq!(eigenvector_bits(&one), eigenvector_bits(&three));
    assert_eq!(one.centers(), three.centers());
}

#[test]
fn training_points_are_predicted_where_they_were_put() {
    let (points, clustering) = four_heaps();
    let model = clustering.fit(&points).unwrap();
    assert_eq!(model.predict(&points).unwrap(), model.labels());
    assert_close(model.embed(&points).unwrap().as_ref(), model.embedding().as_ref(), |_, _| 1e-7, "embedding");
}

#[test]
fn the_order_of_the_points_does_not_matter() {
    let (points, clustering) = four_heaps();
    let order: Vec<usize> = (0..600).map(|i| i * 7 % 600).collect();
    let (straight, mixed) = (clustering.fit(&points).unwrap(), clustering.fit(&points.select(&order)).unwrap());
    let back: Vec<usize> = order.iter().map(|&i| straight.labels()[i]).collect();
    assert!(variation_of_information(&back, mixed.labels()).unwrap() < 1e-15);
}

#[test]
fn grams_and_solvers_agree() {
    let (points, clustering) = four_heaps();
    let expected = clustering.clone().solver(SolverChoice::Dense).fit(&points).unwrap();
    for gram in [GramChoice::Tiled, GramChoice::Stored] {
        for solver in [SolverChoice::Krylov, SolverChoice::Lanczos, SolverChoice::Subspace] {
            let found = clustering.clone().gram(gram).solver(solver).fit(&points).unwrap();
            assert_eq!(found.labels(), expected.labels(), "{gram} {solver}");
            assert!(found.record().converged, "{gram} {solver}: {:?}", found.record().residuals);
        }
    }
}

#[test]
fn a_start_from_a_sample_gives_the_same_eigenvectors() {
    let points = clusters(4200, 4, 5, 2).points(Format::F64);
    let clustering = SpectralClustering::new(Kernel::gaussian(0.4).unwrap(), 5).tolerance(1e-10);
    let model = clustering.clone().fit(&points).unwrap();
    assert!(model.record().plan.as_ref().is_some_and(|plan| plan.start_sample > 0));
    let expected = clustering.solver(SolverChoice::Lanczos).fit(&points).unwrap();
    for (found, expected) in model.eigenvalues().iter().zip(expected.eigenvalues()) {
        assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
    }
    assert_eq!(model.labels(), expected.labels());
}

/// The normalised operator stands on any way of making products: the plan of an expansion is what is run, and what the record says.
#[test]
fn an_expansion_finds_the_clusters_that_tiles_find() {
    let points = clusters(900, 2, 3, 21).points(Format::F64);
    for kernel in [Kernel::gaussian(0.5).unwrap(), Kernel::polynomial(0.1, 1.0, 2).unwrap()] {
        let settings = SpectralClustering::new(kernel, 3).tolerance(1e-7);
        let tiled = settings.clone().gram(GramChoice::Tiled).fit(&points).unwrap();
        let expanded = settings.clone().gram(GramChoice::Expansion).fit(&points).unwrap();
        let record = expanded.record();
        assert_eq!((record.gram.as_str(), record.solver.as_str()), ("expansion", "krylov"), "{:?}", record.warnings);
        let expansion = record.expansion.as_ref().expect("the record says which");
        assert!(expansion.measured_error <= expansion.tolerance && expansion.terms > 0);
        assert!(record.converged && tiled.record().expansion.is_none());
        for (a, b) in expanded.eigenvalues().iter().zip(tiled.eigenvalues()) {
            assert!((a - b).abs() < 1e-6, "{a} instead of {b}");
        }
        assert_eq!(expanded.labels(), tiled.labels());
        let refused = settings.gram(GramChoice::Expansion).solver(SolverChoice::Dense).fit(&points).unwrap_err();
        assert!(refused.to_string().contains("`solver` must be one that needs products only"), "{refused}");
    }
}

#[test]
fn the_kernel_hebbian_algorithm_finds_the_same_clusters() {
    let (points, clustering) = four_heaps();
    let expected = clustering.fit(&points).unwrap();
    let learned = clustering
        .hebbian(KernelHebbianPca::new(Kernel::linear()).gain(GainRule::EigenvalueStar).passes(20))
        .fit(&points)
        .unwrap();
    assert_eq!(learned.record().solver, "hebbian");
    for (found, expected) in learned.eigenvalues().iter().zip(expected.eigenvalues()) {
        assert!((found - expected).abs() < 1e-3, "{found} instead of {expected}");
    }
    assert_eq!(learned.labels(), expected.labels());
    assert_eq!(learned.predict(&points).unwrap(), expected.labels());
}

#[test]
fn eigenvectors_of_the_kernel_hebbian_algorithm_are_held_against_its_tolerance() {
    let (points, clustering) = four_heaps();
    let rule = KernelHebbianPca::new(Kernel::linear()).passes(20);
    let tolerance = |clustering: SpectralClustering| clustering.fit(&points).unwrap().record().tolerance;
    let found = (
        tolerance(clustering.clone().hebbian(rule.clone())),
        tolerance(clustering.clone().hebbian(rule.clone().tolerance(0.3))),
        tolerance(clustering.clone().tolerance(0.02).hebbian(rule)),
        tolerance(clustering),
    );
    assert_eq!(found, (0.01, 0.3, 0.02, 1e-9));
}

#[test]
fn a_given_matrix_is_clustered_and_its_rows_predicted() {
    let cloud = clusters(60, 2, 3, 4);
    let rows: Vec<Vec<f64>> = (0..60).map(|i| cloud.row(i).to_vec()).collect();
    let kernel = Textbook::Gaussian { gamma: 1.0 };
    let matrix = points_of(&kernel.matrix(&rows, &rows));
    let model = SpectralClustering::new(Kernel::Precomputed, 3).fit(&matrix).unwrap();
    let direct = SpectralClustering::new(kernel.to_kernel(), 3).fit(&cloud.points(Format::F64)).unwrap();
    assert_eq!(model.labels(), direct.labels());
    assert_eq!(model.predict(&matrix.slice(10..30)).unwrap(), model.labels()[10..30]);
}

#[test]
fn copies_of_a_point_are_in_one_cluster() {
    let points = duplicated(12, 5, 3, 6).points(Format::F64);
    let model = SpectralClustering::new(Kernel::gaussian(1.0).unwrap(), 4).fit(&points).unwrap();
    for i in 0..12 {
        for copy in 1..5 {
            assert_eq!(model.labels()[i], model.labels()[i + 12 * copy]);
        }
    }
}

#[test]
fn bytes_bring_a_model_back_and_altered_ones_are_refused() {
    let (points, clustering) = four_heaps();
    let model = clustering.fit(&points).unwrap();
    let mut bytes = model.to_bytes().unwrap();
    let again = ClusterModel::from_bytes(&bytes, None).unwrap();
    assert_eq!((again.labels(), again.record()), (model.labels(), model.record()));
    assert_eq!(eigenvector_bits(&again), eigenvector_bits(&model));
    assert_eq!(again.predict(&points).unwrap(), model.labels());
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let error = ClusterModel::from_bytes(&bytes, None).unwrap_err().to_string();
    assert!(error.contains("altered"), "{error}");
    assert!(ClusterModel::from_bytes(b"nothing", None).is_err());
    assert!(ClusterModel::from_bytes(&bytes[..last / 2], None).is_err());
}

#[test]
fn components_without_an_eigenvalue_are_left_out_with_a_warning() {
    // The matrix of a linear kernel in two dimensions has rank two.
    let points = Points::from_f64(vec![1.0, 0.1, 1.0, 0.2, 0.1, 1.0, 0.2, 1.1, 0.5, 0.6], 5, 2).unwrap();
    let model = SpectralClustering::new(Kernel::linear(), 3).fit(&points).unwrap();
    assert_eq!(model.record().n_components, 2);
    assert!(model.record().warnings[0].starts_with("points are embedded with 2 of 3 eigenvectors"));
}

#[test]
fn one_cluster_holds_every_point() {
    let (points, _) = four_heaps();
    let model = SpectralClustering::new(Kernel::gaussian(0.5).unwrap(), 1).fit(&points).unwrap();
    assert_eq!(model.record().cluster_sizes, [600]);
    assert!(model.record().warnings.is_empty());
    assert_eq!(model.predict(&points).unwrap(), vec![0; 600]);
}

#[test]
fn no_cluster_is_empty_where_points_are_embedded_in_one_place() {
    let (points, clustering) = four_heaps();
    // Of unit length, the entries of the first eigenvector are all one.
    let model = clustering.n_components(1).fit(&points).unwrap();
    assert_eq!(model.record().cluster_sizes, [600]);
    let warning = "there are 1 clusters and not 4: no more embedded points are different";
    assert_eq!(model.record().warnings, [warning]);
    let again = ClusterModel::from_bytes(&model.to_bytes().unwrap(), None).unwrap();
    assert_eq!(again.predict(&points).unwrap(), model.labels());
}

#[test]
fn fewer_different_points_than_clusters_are_counted() {
    let points = duplicated(3, 4, 2, 1).points(Format::F64);
    let error = SpectralClustering::new(Kernel::gaussian(1.0).unwrap(), 4).fit(&points).unwrap_err();
    assert!(matches!(error, Error::TooFewDistinct { needed: 4, found: 3 }), "{error}");
    assert_eq!(error.to_string(), "`n_clusters` must be at most the number of different rows, which is 3, but it is 4");
}

#[test]
fn a_point_without_a_degree_is_named() {
    // The third point has nothing to do with the others, nor with itself.
    let matrix = Points::from_f64(vec![1.0, 0.5, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0], 3, 3).unwrap();
    let error = SpectralClustering::new(Kernel::Precomputed, 2).fit(&matrix).unwrap_err();
    assert!(matches!(error, Error::ZeroDegree { row: 2, .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    // A linear kernel of centred points has rows that sum to nothing or less.
    let points = Points::from_f64(vec![-1.0, 0.0, 1.0], 3, 1).unwrap();
    let error = SpectralClustering::new(Kernel::linear(), 2).fit(&points).unwrap_err();
    assert!(matches!(error, Error::ZeroDegree { row: 0, .. }), "{error}");
}

#[test]
fn rows_far_from_all_others_are_counted_in_a_warning() {
    let mut values: Vec<f64> = (0..20).map(|i| f64::from(i % 10) * 0.1 + f64::from(i / 10) * 2.0).collect();
    let clustering = SpectralClustering::new(Kernel::gaussian(1.0).unwrap(), 2);
    let warnings = |values: &[f64]| {
        let points = Points::from_f64(values.to_vec(), values.len(), 1).unwrap();
        clustering.fit(&points).unwrap().record().warnings.clone()
    };
    assert!(warnings(&values).is_empty());
    values.extend([1e3, -1e3]);
    let found = warnings(&values);
    assert!(found.iter().any(|warning| warning.starts_with("2 of 22 rows have nearly no neighbours")), "{found:?}");
}

#[test]
fn a_new_point_that_no_old_one_knows_is_named() {
    let (points, clustering) = four_heaps();
    let model = clustering.fit(&points).unwrap();
    let far = Points::from_f64(vec![0.0, 0.0, 0.0, 0.0, 0.0, 1e3, 0.0, 0.0, 0.0, 0.0], 2, 5).unwrap();
    assert!(matches!(model.predict(&far).unwrap_err(), Error::ZeroDegree { row: 1, degree } if degree == 0.0));
    let narrow = Points::from_f64(vec![0.0; 3], 1, 3).unwrap();
    assert!(matches!(model.predict(&narrow).unwrap_err(), Error::FeatureMismatch { expected: 5, found: 3, .. }));
    let hole = Points::from_f64(vec![0.0, f64::NAN, 0.0, 0.0, 0.0], 1, 5).unwrap();
    assert!(matches!(model.predict(&hole).unwrap_err(), Error::NotFinite { row: 0, column: 1, .. }));
}

#[test]
fn settings_out_of_their_domain_are_named() {
    let (points, _) = four_heaps();
    let new = |k| SpectralClustering::new(Kernel::gaussian(0.5).unwrap(), k);
    let message = |clustering: SpectralClustering| clustering.fit(&points).unwrap_err().to_string();
    for k in [0, 601] {
        let expected = format!("`n_clusters` must be between 1 and the number of samples (600), but it is {k}");
        assert_eq!(message(new(k)), expected);
    }
    assert_eq!(message(new(2).restarts(0)), "`restarts` must be at least 1, but it is 0");
    assert!(message(new(2).n_components(0)).starts_with("`n_components` must be between 1 and"));
    assert!(message(new(2).n_components(601)).starts_with("`n_components` must be between 1 and"));
    let both = new(2).solver(SolverChoice::Krylov).hebbian(KernelHebbianPca::new(Kernel::linear()));
    assert!(message(both).starts_with("`solver` must be left out where"));
    let tiled = new(2).gram(GramChoice::Tiled).hebbian(KernelHebbianPca::new(Kernel::linear()));
    assert!(tiled.fit(&points).unwrap_err().to_string().contains("`gram` must be auto or stored"));
    let passes = new(2).max_passes(3).hebbian(KernelHebbianPca::new(Kernel::linear()));
    assert!(passes.fit(&points).unwrap_err().to_string().contains("`max_passes` must be left out"));
    let hungry = new(2).hebbian(KernelHebbianPca::new(Kernel::linear())).memory(MemoryBudget::Bytes(1_000_000));
    assert!(message(hungry).contains("the solver krylov keeps no matrix"));
    let single = Points::from_f64(vec![1.0], 1, 1).unwrap();
    assert!(new(2).fit(&single).unwrap_err().to_string().starts_with("`n_samples` must be at least 2"));
    let square = SpectralClustering::new(Kernel::Precomputed, 2).fit(&points).unwrap_err();
    assert!(matches!(square, Error::NotSquare { rows: 600, columns: 5 }));
}

#[test]
fn a_run_that_is_stopped_at_once_is_an_error_and_one_out_of_passes_an_answer() {
    let (points, clustering) = four_heaps();
    let stop = std::sync::atomic::AtomicBool::new(true);
    let error = clustering.fit_watched(&points, &Watch::new().interrupt(&stop)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    let model = clustering.solver(SolverChoice::Lanczos).max_passes(5).fit(&points).unwrap();
    assert!(!model.record().converged);
    assert!(model.record().warnings.last().is_some_and(|warning| warning.ends_with("the allowed passes were used up")));
    assert_eq!(model.labels().len(), 600);
}

#[test]
fn over_all_points_as_landmarks_nothing_is_lost() {
    let (points, clustering) = four_heaps();
    let exact = clustering.fit(&points).unwrap();
    let all = (0..points.n_samples()).collect();
    let nystrom = Nystrom::new(exact.kernel().clone()).landmarks(Landmarks::Rows(all));
    let found = clustering.landmarks(nystrom).fit(&points).unwrap();
    assert_eq!(found.labels(), exact.labels());
    for (a, b) in found.eigenvalues().iter().zip(exact.eigenvalues()) {
        assert!((a / b - 1.0).abs() < 1e-8, "{a} and {b}");
    }
    for (a, b) in found.degrees().iter().zip(exact.degrees()) {
        assert!((a / b - 1.0).abs() < 1e-8, "{a} and {b}");
    }
    let record = found.record();
    assert_eq!((record.gram.as_str(), record.solver.as_str(), record.tolerance), ("nystrom", "dense", 1.0));
    // All rows are looked at, so these are exact.
    let nystrom = record.nystrom.as_ref().unwrap();
    assert!(nystrom.relative_trace_error.abs() < 1e-9 && record.converged);
    assert!(record.residuals.iter().all(|&residual| residual < 1e-6), "{:?}", record.residuals);
}

#[test]
fn residuals_over_landmarks_are_those_of_the_exact_matrix() {
    let (points, clustering) = four_heaps();
    let exact = clustering.fit(&points).unwrap();
    let nystrom = Nystrom::new(exact.kernel().clone()).landmarks(Landmarks::Uniform).n_landmarks(30).seed(5);
    let found = clustering.landmarks(nystrom).fit(&points).unwrap();
    let n = points.n_samples();
    assert!(found.record().nystrom.as_ref().unwrap().residual_rows == n.min(64), "{n}");
    // By definition, over all rows: with the exact degree of a row, and those of the landmarks for the others.
    let kernel = exact.kernel();
    let matrix = Mat::from_fn(n, n, |i, j| kernel.evaluate(&points.row(i), &points.row(j)).unwrap());
    let k = found.eigenvalues().len();
    let mut squares = vec![0.0; k];
    for i in 0..n {
        let own: f64 = (0..n).map(|j| matrix[(i, j)]).sum();
        for (c, square) in squares.iter_mut().enumerate() {
            let image: f64 =
                (0..n).map(|j| matrix[(i, j)] * found.eigenvectors()[(j, c)] / (own * found.degrees()[j]).sqrt()).sum();
            *square += (image - found.eigenvalues()[c] * found.eigenvectors()[(i, c)]).powi(2);
        }
    }
    for (square, &said) in squares.iter().zip(&found.record().residuals) {
        let exact = square.sqrt() / found.eigenvalues()[0];
        assert!((said / exact).ln().abs() < 0.7, "{said:.2e} was said, {exact:.2e} it is");
    }
}

#[test]
fn features_that_do_not_fit_are_made_again_and_give_the_same() {
    let points = gaussian_cloud(3000, 3, 4).points(Format::F64);
    let kernel = Kernel::gaussian(0.3).unwrap();
    let fit = |budget: u64| {
        let nystrom = Nystrom::new(kernel.clone()).landmarks(Landmarks::Uniform).n_landmarks(60);
        let clustering = SpectralClustering::new(kernel.clone(), 3).landmarks(nystrom);
        clustering.memory(MemoryBudget::Bytes(budget)).fit(&points).unwrap()
    };
    // Features of 3000 points over 60 landmarks are 1.4 MB.
    let (kept, again) = (fit(64 << 20), fit(2_500_000));
    assert_eq!((kept.record().passes, again.record().passes), (1, 3));
    assert_eq!(kept.labels(), again.labels());
    assert_eq!(kept.eigenvectors(), again.eigenvectors());
}

#[test]
fn what_landmarks_cannot_do_is_refused() {
    let (points, clustering) = four_heaps();
    let kernel = Kernel::gaussian(0.5).unwrap();
    let nystrom = |m: usize| Nystrom::new(kernel.clone()).n_landmarks(m);
    let say = |clustering: &SpectralClustering| clustering.fit(&points).unwrap_err().to_string();
    assert_eq!(
        say(&clustering.clone().landmarks(nystrom(3))),
        "`n_landmarks` must be at least the number of eigenvectors (4), but it is 3"
    );
    assert_eq!(
        say(&clustering.clone().landmarks(nystrom(30)).solver(SolverChoice::Krylov)),
        "`solver` must be left out where eigenvectors are found over landmarks, but it is krylov"
    );
    assert_eq!(
        say(&clustering.clone().landmarks(nystrom(30)).gram(GramChoice::Tiled)),
        "`gram` must be left out where eigenvectors are found over landmarks, but it is tiled"
    );
    // Points that no landmark reaches have no degree over them.
    let far = Points::from_f64((0..40).map(|i| f64::from(i % 20) * 1e3).collect::<Vec<_>>(), 40, 1).unwrap();
    let few = Nystrom::new(kernel.clone()).landmarks(Landmarks::Rows(vec![0, 1, 2]));
    let error = SpectralClustering::new(kernel, 2).landmarks(few).fit(&far).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`n_landmarks` must be larger, or the kernel wider: over these landmarks row 3 has degree 0, where its own is 2, but it is 3"
    );
    let matrix = Points::from_f64(vec![1.0, 0.5, 0.5, 1.0], 2, 2).unwrap();
    let precomputed = SpectralClustering::new(Kernel::Precomputed, 2).landmarks(Nystrom::new(Kernel::Precomputed));
    assert!(matches!(precomputed.fit(&matrix).unwrap_err(), Error::UnsuitableKernel { .. }));
}

#[test]
fn rows_without_a_degree_of_their_own_never_give_residuals_that_are_no_numbers() {
    // Landmarks among the many see nothing of what the one far away has against the others.
    let row = |i: i32| match i {
        0..55 => [1.0, if i % 2 == 0 { 0.8 } else { -0.8 }, 0.0],
        55..59 => [1.0, 0.1 * f64::from(i), 30.0],
        _ => [1.0, 0.5, -30.0],
    };
    let points = Points::from_f64((0..60).flat_map(row).collect::<Vec<_>>(), 60, 3).unwrap();
    let mut refused = 0;
    for seed in 0..20 {
        let nystrom = Nystrom::new(Kernel::linear()).landmarks(Landmarks::Uniform).n_landmarks(4);
        match SpectralClustering::new(Kernel::linear(), 2).landmarks(nystrom).seed(seed).fit(&points) {
            Ok(model) => assert!(model.record().residuals.iter().all(|residual| residual.is_finite()), "seed {seed}"),
            Err(error) => {
                let too_few =
                    error.to_string().starts_with("`n_landmarks` must be larger, or the kernel wider: over these");
                assert!(too_few || matches!(error, Error::ZeroDegree { row: 59, .. }), "seed {seed}: {error}");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn landmarks_keep_to_the_memory_budget() {
    let points = gaussian_cloud(20_000, 8, 4).points(Format::F64);
    let kernel = Kernel::gaussian(0.1).unwrap();
    let nystrom = Nystrom::new(kernel.clone()).landmarks(Landmarks::Uniform).n_landmarks(10);
    let clustering = SpectralClustering::new(kernel, 40).landmarks(nystrom.n_landmarks(50));
    // Forty vectors and their images of 20 000 points are 13 MB.
    let error = clustering.memory(MemoryBudget::Bytes(8 << 20)).fit(&points).unwrap_err();
    assert!(error.to_string().starts_with("40 eigenvectors of 20000 points over landmarks"), "{error}");
}
