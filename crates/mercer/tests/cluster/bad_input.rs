//! What is refused, and what is warned of.

use mercer::watch::{Phase, Progress};
use mercer::{
    Error, ErrorKind, GramChoice, Kernel, KernelHebbianPca, MemoryBudget, Points, SolverChoice, SpectralClustering,
    Watch,
};
use mercer_testkit::Format;
use mercer_testkit::generate::duplicated;

use super::support::four_heaps;

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
    assert!(matches!(new(2).fit(&single).unwrap_err(), Error::TooFewRows { needed: 2, found: 1 }));
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
fn a_stop_while_clusters_are_sought_gives_those_so_far() {
    let (points, clustering) = four_heaps();
    // Before the first centres are drawn, and after the first round.
    for after_a_round in [false, true] {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let observer = |progress: &Progress| {
            let is_there = progress.phase == Phase::Clustering && (!after_a_round || progress.fraction > 0.0);
            stop.fetch_or(is_there, std::sync::atomic::Ordering::Relaxed);
        };
        let model = clustering.fit_watched(&points, &Watch::new().interrupt(&stop).observer(&observer)).unwrap();
        let record = model.record();
        assert!(record.converged && record.cluster_sizes.iter().sum::<usize>() == 600);
        assert_eq!(record.n_clusters, 4);
        if after_a_round {
            assert_eq!((record.restarts, record.rounds, record.kmeans_converged), (1, 1, false));
            let said = "k-means ended in round 1, while points still changed their clusters: the run was stopped";
            assert_eq!(record.warnings.last().map(String::as_str), Some(said));
        }
    }
}
