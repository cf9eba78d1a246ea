//! Eigenvectors over landmarks.

use faer::Mat;
use mercer::nystrom::{Landmarks, Nystrom};
use mercer::{ClusterModel, Error, GramChoice, Kernel, MemoryBudget, Points, SolverChoice, SpectralClustering};
use mercer_testkit::Format;
use mercer_testkit::generate::gaussian_cloud;
use mercer_testkit::reference::assert_close;

use super::support::four_heaps;

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
fn new_points_are_compared_with_the_landmarks_alone() {
    let (points, clustering) = four_heaps();
    let nystrom = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(Landmarks::Uniform).n_landmarks(40);
    let model = clustering.landmarks(nystrom).fit(&points).unwrap();
    assert_eq!((model.basis().n_samples(), model.labels().len()), (40, 600));
    assert_eq!(model.predict(&points).unwrap(), model.labels());
    // Rounding grows by one over the root of the smallest eigenvalue that is kept, which is 4 m epsilon of the largest: to 1e-9 for each of 40 terms.
    let embedded = model.embed(&points).unwrap();
    assert_close(embedded.as_ref(), model.embedding().as_ref(), |_, _| 1e-6, "embedding");
    let again = ClusterModel::from_bytes(&model.to_bytes().unwrap(), None).unwrap();
    assert_eq!(again.basis().n_samples(), 40);
    assert_eq!(again.embed(&points).unwrap(), embedded);
    let far = Points::from_f64(vec![1e3, 0.0, 0.0, 0.0, 0.0], 1, 5).unwrap();
    assert!(matches!(model.predict(&far).unwrap_err(), Error::ZeroDegree { row: 0, degree } if degree == 0.0));
}

#[test]
fn eigenvectors_that_are_left_out_are_left_out_for_new_points_too() {
    // The matrix of a linear kernel in two dimensions has rank two.
    let points = Points::from_f64(vec![1.0, 0.1, 1.0, 0.2, 0.1, 1.0, 0.2, 1.1, 0.5, 0.6], 5, 2).unwrap();
    let nystrom = Nystrom::new(Kernel::linear()).landmarks(Landmarks::Rows(vec![0, 2, 4, 1]));
    let model = SpectralClustering::new(Kernel::linear(), 3).landmarks(nystrom).fit(&points).unwrap();
    assert_eq!(model.record().n_components, 2);
    assert_close(model.embed(&points).unwrap().as_ref(), model.embedding().as_ref(), |_, _| 1e-9, "embedding");
}

#[test]
fn choosing_landmarks_counts_among_the_kernel_entries() {
    let (points, clustering) = four_heaps();
    let entries = |rule: Landmarks| {
        let nystrom = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(rule).n_landmarks(40);
        clustering.clone().landmarks(nystrom).fit(&points).unwrap().record().kernel_entries
    };
    // Their own, those of all points with them, and the rows that residuals are measured on.
    assert_eq!(entries(Landmarks::Uniform), 40 * 40 + 600 * 40 + 600 * 64);
    assert!(entries(Landmarks::Leverage) > entries(Landmarks::Uniform));
}

#[test]
fn more_landmarks_than_rows_are_warned_of() {
    let (points, clustering) = four_heaps();
    let nystrom = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(Landmarks::Uniform).n_landmarks(601);
    let model = clustering.landmarks(nystrom).fit(&points).unwrap();
    let warning = "601 landmarks were asked for, but there are only 600 rows: each of them is one";
    assert!(model.record().warnings.iter().any(|found| found == warning), "{:?}", model.record().warnings);
    assert_eq!(model.record().nystrom.as_ref().unwrap().n_landmarks, 600);
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
        "`landmarks` must be points near every row, or the kernel wider: over these, row 3 has degree 0, where its own is 2, but it is 3 \
         points that are not"
    );
    let one = Nystrom::new(Kernel::gaussian(0.5).unwrap()).landmarks(Landmarks::Given(points.slice(0..1)));
    assert_eq!(
        say(&clustering.clone().landmarks(one)),
        "`landmarks` must be at least as many as eigenvectors (4), but it is 1 point"
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
