//! What holds of every clustering.

use faer::Mat;
use mercer::agreement::variation_of_information;
use mercer::{
    ClusterModel, GainRule, GramChoice, Kernel, KernelHebbianPca, Points, Precision, SolverChoice, SpectralClustering,
};
use mercer_testkit::generate::{clusters, duplicated};
use mercer_testkit::reference::assert_close;
use mercer_testkit::{Format, Textbook};

use super::support::{four_heaps, points_of};

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
fn residuals_of_the_kernel_hebbian_algorithm_are_those_of_the_eigenvectors_that_it_returns() {
    let (points, clustering) = four_heaps();
    let (n, kernel) = (points.n_samples(), Kernel::gaussian(0.5).unwrap());
    let matrix = Mat::from_fn(n, n, |i, j| kernel.evaluate(&points.row(i), &points.row(j)).unwrap());
    let roots: Vec<f64> = matrix.row_iter().map(|row| row.iter().sum::<f64>().sqrt()).collect();
    let normalized = Mat::from_fn(n, n, |i, j| matrix[(i, j)] / (roots[i] * roots[j]));
    for gain in [GainRule::EigenvalueStar, GainRule::Eigenvalue, GainRule::Annealed, GainRule::MetaDescentStar] {
        // Rounding of 600 entries, each with that of squared distances.
        for (precision, rounding) in [(Precision::F64, 1e-11), (Precision::F32, 1e-4)] {
            let rule = KernelHebbianPca::new(Kernel::linear()).gain(gain).passes(4);
            let model = clustering.clone().precision(precision).hebbian(rule).fit(&points).unwrap();
            let (vectors, values, record) = (model.eigenvectors().to_owned(), model.eigenvalues(), model.record());
            let images = &normalized * &vectors;
            let gap = vectors.transpose() * &vectors - Mat::<f64>::identity(values.len(), values.len());
            assert!(gap.norm_max() < rounding, "{gain} {precision}: not orthonormal by {:.1e}", gap.norm_max());
            for (j, (value, said)) in values.iter().zip(&record.residuals).enumerate() {
                let pairs = || images.col(j).iter().zip(vectors.col(j).iter());
                let quotient: f64 = pairs().map(|(image, v)| image * v).sum();
                assert!((value - quotient).abs() < rounding, "{gain} {precision}: {value} instead of {quotient}");
                let residual = pairs().map(|(image, v)| (image - value * v).powi(2)).sum::<f64>().sqrt() / values[0];
                assert!((said - residual).abs() < rounding, "{gain} {precision}: {said:.2e} instead of {residual:.2e}");
            }
            let all = record.residuals.iter().all(|&residual| residual <= record.tolerance);
            assert_eq!(record.converged, all, "{gain} {precision}: {:?}", record.residuals);
        }
    }
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
