//! Error measures and the finished model, against the textbook.

use mercer::{Center, GainRule, Kernel, KernelHebbianPca, KernelPca, Negative, Points, Watch};
use mercer_testkit::generate::clusters;
use mercer_testkit::reference::{center, kernel_pca, product, reconstruction_error};
use mercer_testkit::{Format, Textbook};

use crate::support::close;

const N: usize = 70;

fn case() -> (Points, faer::Mat<f64>) {
    let cloud = clusters(N, 4, 3, 6);
    let rows: Vec<Vec<f64>> = (0..N).map(|i| cloud.row(i).to_vec()).collect();
    (cloud.points(Format::F64), Textbook::Gaussian { gamma: 0.4 }.matrix(&rows, &rows))
}

fn settings() -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.4).unwrap()).n_components(3).gain(GainRule::EigenvalueStar).seed(1)
}

#[test]
fn errors_are_those_of_their_definitions() {
    let (points, gram) = case();
    for (mode, matrix) in [(Center::Yes, center(gram.as_ref())), (Center::No, gram.clone())] {
        let learner = settings().center(mode).passes(3).fit(&points).unwrap();
        let a = learner.coefficients();
        let expected = reconstruction_error(matrix.as_ref(), a.as_ref());
        let found = learner.reconstruction_error(&Watch::new()).unwrap();
        assert!((found - expected).abs() < 1e-10 * expected, "{found} {expected}");
        // ‖Φ − Φ Wᵀ W‖² = tr((I − Q) K (I − Q)ᵀ) with Q = K Aᵀ A.
        let q = product(product(matrix.as_ref(), a.transpose().to_owned().as_ref()).as_ref(), a.as_ref());
        let rest = faer::Mat::from_fn(N, N, |i, j| f64::from(u8::from(i == j)) - q[(i, j)]);
        let error = product(product(rest.as_ref(), matrix.as_ref()).as_ref(), rest.transpose().to_owned().as_ref());
        let expected: f64 = (0..N).map(|i| error[(i, i)]).sum();
        let found = learner.feature_error().unwrap();
        assert!((found - expected).abs() < 1e-9 * expected.abs(), "{found} {expected}");
    }
}

#[test]
fn the_error_of_the_exact_model_is_what_the_other_eigenvalues_leave() {
    let (points, gram) = case();
    let exact = KernelPca::new(Kernel::gaussian(0.4).unwrap()).n_components(3).fit(&points).unwrap();
    let learner = settings().passes(1).fit(&points).unwrap();
    let all = kernel_pca(gram.as_ref(), N);
    let expected = all.eigenvalues[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
    let found = learner.reconstruction_error_of(&exact, &Watch::new()).unwrap();
    assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
}

#[test]
fn the_model_has_orthonormal_ordered_directions_inside_the_span() {
    let (points, gram) = case();
    let matrix = center(gram.as_ref());
    let learner = settings().passes(2).fit(&points).unwrap();
    let model = learner.model().unwrap();
    let alpha = model.dual_coefficients().to_owned();
    let images = product(matrix.as_ref(), alpha.as_ref());
    let unit = product(alpha.transpose().to_owned().as_ref(), images.as_ref());
    close(unit.as_ref(), faer::Mat::<f64>::identity(3, 3).as_ref(), 1e-9, "lengths in feature space");
    let moments = product(images.transpose().to_owned().as_ref(), images.as_ref());
    let expected = faer::Mat::from_fn(3, 3, |i, j| if i == j { model.eigenvalues()[i] } else { 0.0 });
    close(moments.as_ref(), expected.as_ref(), 1e-9, "second moments");
    assert!(model.eigenvalues().is_sorted_by(|a, b| a >= b));
    close(learner.training_scores().unwrap().as_ref(), images.as_ref(), 1e-9, "scores of the points");
    close(model.transform(&points).unwrap().as_ref(), images.as_ref(), 1e-9, "transform of the points");
    assert_eq!((model.record().solver.as_str(), model.record().passes), ("hebbian", 2));
    // Inside the span: projecting the directions onto it changes nothing, so the angle to themselves is zero.
    assert!(learner.subspace_angle(&model).unwrap() < 1e-6);
    // A model can be saved and read back like any other.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.mercer");
    model.save(&path).unwrap();
    let again = mercer::Model::load(&path).unwrap();
    assert_eq!(again.dual_coefficients(), model.dual_coefficients());
}

#[test]
fn a_long_run_ends_in_the_exact_model() {
    let (points, _) = case();
    let exact = KernelPca::new(Kernel::gaussian(0.4).unwrap()).n_components(2).fit(&points).unwrap();
    let learner = settings().n_components(2).passes(400).fit(&points).unwrap();
    let model = learner.model().unwrap();
    for (found, expected) in model.eigenvalues().iter().zip(exact.eigenvalues()) {
        assert!((found - expected).abs() < 1e-3 * expected, "{found} {expected}");
    }
    assert!(learner.subspace_angle(&exact).unwrap() < 0.05);
    let estimates = learner.eigenvalue_estimates();
    assert!((estimates[0] - exact.eigenvalues()[0]).abs() < 0.05 * exact.eigenvalues()[0], "{estimates:?}");
}

#[test]
fn a_model_of_other_points_is_no_measure() {
    let (points, _) = case();
    let learner = settings().passes(1).fit(&points).unwrap();
    let other = KernelPca::new(Kernel::gaussian(0.4).unwrap()).n_components(3).fit(&points.slice(0..40)).unwrap();
    let error = learner.subspace_angle(&other).unwrap_err().to_string();
    assert_eq!(error, "`model` must be learned from the same 70 points, but it is learned from 40");
}

/// Fails unless limits are what the novelty of the points themselves is.
#[track_caller]
fn limits_are_those_of(model: &mercer::Model, points: &Points) {
    let novelty = model.novelty(points).unwrap();
    let limits = model.record().control_limits.as_ref().unwrap();
    let n = points.n_samples();
    for (mut of_points, expected) in
        [(novelty.reconstruction_error, &limits.reconstruction_error), (novelty.t_squared, &limits.t_squared)]
    {
        of_points.sort_by(f64::total_cmp);
        for (level, limit) in limits.levels.iter().zip(expected) {
            let found = of_points[((level * n as f64 - 1e-9).ceil() as usize).clamp(1, n) - 1];
            let slack = 1e-9 * model.total_variance().max(1.0);
            assert!((found - limit).abs() <= slack, "{found} and not {limit} at {level}");
        }
    }
}

#[test]
fn limits_of_a_run_that_has_not_converged_are_those_of_its_points() {
    let (points, _) = case();
    let model = settings().passes(1).fit(&points).unwrap().model().unwrap();
    assert!(!model.converged());
    limits_are_those_of(&model, &points);
    // As many components as there are columns leave nothing of any point.
    let model = KernelHebbianPca::new(Kernel::linear()).n_components(4).fit(&points).unwrap().model().unwrap();
    limits_are_those_of(&model, &points);
    let limits = model.record().control_limits.as_ref().unwrap();
    assert!(limits.reconstruction_error.iter().all(|&error| error < 1e-10), "{:?}", limits.reconstruction_error);
}

#[test]
fn training_scores_of_a_run_that_has_not_converged_are_those_of_its_points() {
    let (points, _) = case();
    let learner = settings().passes(1).fit(&points).unwrap();
    let model = learner.model().unwrap();
    let expected = model.transform(&points).unwrap();
    close(model.training_scores().as_ref(), expected.as_ref(), 1e-9, "of the model");
    close(model.clone().training_scores().as_ref(), expected.as_ref(), 1e-9, "of a copy");
    close(learner.training_scores().unwrap().as_ref(), expected.as_ref(), 1e-9, "of the learner");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.mercer");
    model.save(&path).unwrap();
    let again = mercer::Model::load(&path).unwrap();
    close(again.training_scores().as_ref(), expected.as_ref(), 1e-9, "from a file");
}

#[test]
fn the_error_of_a_reference_that_has_not_converged_is_that_of_its_components() {
    let (points, gram) = case();
    for (mode, matrix) in [(Center::Yes, center(gram.as_ref())), (Center::No, gram.clone())] {
        let learner = settings().center(mode).passes(2).fit(&points).unwrap();
        let model = settings().center(mode).passes(1).fit(&points).unwrap().model().unwrap();
        assert!(!model.converged());
        let rows = model.dual_coefficients().transpose().to_owned();
        let expected = reconstruction_error(matrix.as_ref(), rows.as_ref());
        let found = learner.reconstruction_error_of(&model, &Watch::new()).unwrap();
        assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
    }
}

#[test]
fn a_model_of_another_kernel_centring_or_values_is_no_measure() {
    let (points, _) = case();
    let learner = settings().passes(1).fit(&points).unwrap();
    let refused = |model: &mercer::Model, expected: &str| {
        let angle = learner.subspace_angle(model).unwrap_err().to_string();
        let error = learner.reconstruction_error_of(model, &Watch::new()).unwrap_err().to_string();
        assert_eq!((angle.as_str(), error.as_str()), (expected, expected));
    };
    let exact = |gamma: f64| KernelPca::new(Kernel::gaussian(gamma).unwrap()).n_components(3);
    let other = exact(0.5).fit(&points).unwrap();
    refused(
        &other,
        "`model` must be of the kernel that is learned with (gaussian, gamma 0.4), but it is of gaussian, gamma 0.5",
    );
    let other = exact(0.4).center(Center::No).fit(&points).unwrap();
    refused(&other, "`model` must be centred in feature space, as what is learned, but it is not centred");
    let cloud = clusters(N, 4, 3, 6);
    let moved = mercer_testkit::Cloud::from_fn(N, 4, |i, k| cloud.row(i)[k] + f64::from(u8::from(i == 20)));
    let other = exact(0.4).fit(&moved.points(Format::F64)).unwrap();
    refused(&other, "`model` must be learned from the same 70 points, but it is learned from another one at row 20");
    // The same points in single precision are.
    let single = exact(0.4).fit(&cloud.points(Format::F32)).unwrap();
    assert!(learner.subspace_angle(&single).is_ok());
}

#[test]
fn fewer_directions_than_components_that_were_asked_for_are_a_converged_run() {
    let points = mercer_testkit::generate::gaussian_cloud(60, 3, 4).points(Format::F64);
    let settings = KernelHebbianPca::new(Kernel::linear()).n_components(6).passes(300).tolerance(0.05);
    let model = settings.fit(&points).unwrap().model().unwrap();
    assert_eq!(model.n_components(), 3);
    let warnings = &model.record().warnings;
    assert!(model.converged(), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.starts_with("3 of 6 components are returned")), "{warnings:?}");
    assert!(!warnings.iter().any(|warning| warning.contains("converged")), "{warnings:?}");
}

#[test]
fn negative_eigenvalues_inside_the_span_are_told_and_shares_are_those_of_the_exact_model() {
    // Eigenvectors of a matrix that is not positive semi-definite: cosines over a circle.
    let n = 24;
    let wave = |k: usize, i: usize| (2.0 / n as f64).sqrt() * (std::f64::consts::TAU * (k * i) as f64 / n as f64).cos();
    let spectrum = [(1, 5.0), (2, -3.0), (3, 2.0), (4, 0.5)];
    let matrix = faer::Mat::from_fn(n, n, |i, j| {
        spectrum.iter().map(|(k, value)| value * wave(*k, i) * wave(*k, j)).sum::<f64>()
    });
    let points = crate::support::precomputed(matrix.as_ref());
    // As good as untouched: along the first, the negative and the third.
    let rows = faer::Mat::from_fn(3, n, |c, i| wave(c + 1, i) / f64::sqrt([5.0, 3.0, 2.0][c]));
    let start = mercer::hebbian::Start {
        coefficients: Some(rows.as_ref()),
        order: Some(&[0]),
        ..mercer::hebbian::Start::default()
    };
    let learned = |negative: Negative| {
        let settings = KernelHebbianPca::new(Kernel::Precomputed).n_components(3).eta0(1e-12).negative(negative);
        settings.fit_from(&points, &start, &Watch::new()).unwrap().model()
    };
    let error = learned(Negative::Error).unwrap_err();
    assert!(
        matches!(error, mercer::Error::NegativeEigenvalues { ratio, can_flip: false } if (ratio - 0.6).abs() < 1e-6),
        "{error}"
    );
    let model = learned(Negative::Clip).unwrap();
    assert_eq!(model.n_components(), 2);
    assert!((model.eigenvalues()[0] - 5.0).abs() < 1e-9 && (model.eigenvalues()[1] - 2.0).abs() < 1e-9);
    assert!(model.record().warnings.iter().any(|warning| warning.contains("negative eigenvalues, down to -3.000e0")));
    // Two components hold more than the trace, 4.5: shares are of what was found.
    let exact = KernelPca::new(Kernel::Precomputed).n_components(2).negative(Negative::Clip).fit(&points).unwrap();
    for (found, expected) in model.explained_variance_ratio().iter().zip(exact.explained_variance_ratio()) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

#[test]
fn a_kernel_without_a_positive_eigenvalue_diverges_or_is_told_to_be_one() {
    let minus = faer::Mat::from_fn(20, 20, |i, j| if i == j { -1.0 } else { 0.0 });
    let points = crate::support::precomputed(minus.as_ref());
    let settings = KernelHebbianPca::new(Kernel::Precomputed).center(Center::No).gain(GainRule::Constant);
    // Squared lengths go down to -1e300 and then to minus infinity.
    for updates in [48, 49, 150] {
        let error = settings.clone().eta0(5.0).updates(updates).fit(&points).unwrap_err();
        assert!(
            matches!(error, mercer::Error::Diverged { updates: seen, .. } if seen <= updates),
            "{updates}: {error}"
        );
    }
    let learned = |negative| settings.clone().eta0(0.1).passes(1).negative(negative).fit(&points).unwrap().model();
    let error = learned(Negative::Error).unwrap_err();
    assert!(matches!(error, mercer::Error::NegativeEigenvalues { .. }), "{error}");
    let error = learned(Negative::Clip).unwrap_err().to_string();
    let message = "the kernel Hebbian algorithm does not work with the precomputed kernel: what was learned has negative eigenvalues only, and \
                   they count as zero";
    assert_eq!(error, message);
}
