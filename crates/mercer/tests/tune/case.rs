//! The stored case.

use std::path::Path;

use faer::Mat;
use mercer::kernel::{KernelSpec, Parameter, Width};
use mercer::tune::{Ascent, Criterion, StepFactor, landscape};
use mercer::watch::Threads;
use mercer::{KernelPca, Points, Watch};
use mercer_testkit::reference::{assert_close, largest_entry};
use npyz::npz::NpzArchive;

use crate::support::gaussian;

fn array(name: &str) -> Mat<f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/reference/nogayama.npz");
    let mut archive = NpzArchive::open(path).unwrap();
    let npy = archive.by_name(name).unwrap().unwrap_or_else(|| panic!("no {name}"));
    let shape: Vec<usize> = npy.shape().iter().map(|&size| size as usize).collect();
    let (rows, columns) = (shape.first().copied().unwrap_or(1), shape.get(1).copied().unwrap_or(1));
    let order = npy.order();
    let values: Vec<f64> = npy.into_vec().unwrap();
    Mat::from_fn(rows, columns, |i, j| match order {
        npyz::Order::C => values[i * columns + j],
        npyz::Order::Fortran => values[j * rows + i],
    })
}

fn points(name: &str) -> Points {
    let x = array(name);
    let values: Vec<f64> = (0..x.nrows() * x.ncols()).map(|at| x[(at / x.ncols(), at % x.ncols())]).collect();
    Points::from_f64(values, x.nrows(), x.ncols()).unwrap()
}

fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

#[track_caller]
fn check(name: &str, found: &Mat<f64>) {
    let expected = array(name);
    let slack = 1e-8 * largest_entry(expected.as_ref()) + 1e-13;
    assert_close(found.as_ref(), expected.as_ref(), |_, _| slack, name);
}

fn sigmas() -> Vec<f64> {
    array("in_sigmas").col(0).iter().copied().collect()
}

#[test]
fn the_criterion_and_its_derivative_are_those_from_eigenvectors() {
    let tuning = gaussian().bandwidths(sigmas()).tune(&points("in_X")).unwrap();
    check("in_sigmas", &column(&tuning.bandwidths));
    check("out_E", &column(&tuning.values));
    check("out_dE", &column(&tuning.gradients));
    check("out_dE_box", &column(&tuning.gradients.iter().map(|slope| slope / 2.0).collect::<Vec<_>>()));
}

#[test]
fn the_derivatives_of_the_leading_eigenvalues_are_those_of_the_case() {
    // The slope of the sum of the first variances, less that of the sum without the last of them.
    let slopes: Vec<Vec<f64>> = (1..=5)
        .map(|k| {
            let tuner = gaussian().criterion(Criterion::Leading).n_components(k).bandwidths(sigmas());
            tuner.tune(&points("in_X")).unwrap().gradients
        })
        .collect();
    let of = |i: usize, k: usize| 24.0 * (slopes[k][i] - if k > 0 { slopes[k - 1][i] } else { 0.0 });
    check("out_dmu5", &Mat::from_fn(5, 5, of));
}

#[test]
fn the_best_bandwidth_is_found_from_the_given_ones_and_from_none() {
    for tuner in [gaussian().bandwidths(sigmas()), gaussian()] {
        let tuning = tuner.tune(&points("in_X")).unwrap();
        assert_eq!(tuning.maxima.len(), 1);
        check("out_sigma_star", &column(&[tuning.best_bandwidth]));
    }
}

#[test]
fn auto_fits_with_the_best_bandwidth() {
    let spec = KernelSpec::new("rbf").width(Width::Auto);
    let model = KernelPca::new(spec).n_components(4).fit(&points("in_X")).unwrap();
    let sigma = array("out_sigma_star")[(0, 0)];
    let gamma = model.kernel().parameter(Parameter::Gamma).unwrap();
    assert!((gamma - 0.5 / (sigma * sigma)).abs() < 1e-7 * gamma, "gamma is {gamma}");
}

#[test]
fn scores_at_a_bandwidth_are_those_of_the_case() {
    let spec = KernelSpec::new("rbf").width(Width::Bandwidth(1.5));
    let model = KernelPca::new(spec).n_components(4).fit(&points("in_X")).unwrap();
    check("out_lambda_4", &column(&model.eigenvalues().iter().map(|mu| mu / 24.0).collect::<Vec<_>>()));
    for (name, scores) in
        [("out_psi_train", model.training_scores()), ("out_psi_test", model.transform(&points("in_Xtest")).unwrap())]
    {
        let expected = array(name);
        for j in 0..4 {
            // Signs are free; the first training score tells.
            let sign = (array("out_psi_train")[(0, j)] * model.training_scores()[(0, j)]).signum();
            for i in 0..expected.nrows() {
                let gap = (sign * scores[(i, j)] - expected[(i, j)]).abs();
                assert!(gap < 1e-8, "{name}: ({i}, {j}) is off by {gap:.1e}");
            }
        }
    }
}

#[test]
fn the_landscape_has_the_eigenvalues() {
    let spec = KernelSpec::new("gaussian");
    let found = landscape(&points("in_X"), &spec, &sigmas(), 24, 0, &Threads::new(1).unwrap(), &Watch::new()).unwrap();
    let eigenvalues = Mat::from_fn(5, 24, |i, j| 24.0 * found.variances[i][j]);
    check("out_mu", &eigenvalues);
}

#[test]
fn the_published_ascent_takes_the_published_path() {
    let (start, eta) = (array("par_sigma0")[(0, 0)], array("par_eta")[(0, 0)]);
    let ascent = Ascent::new(start, eta).steps(50);
    let full = ascent.run(&points("in_X")).unwrap();
    check("out_ascent_path", &column(&full));
    // The box's factor makes the first step half as long.
    let half = ascent.factor(StepFactor::AlgorithmBox).run(&points("in_X")).unwrap();
    assert!((2.0 * (half[0] - start) - (full[0] - start)).abs() < 1e-12);
    // Until the bandwidth hardly changes: the same path, ended where a step is short enough for the first time.
    let ended = ascent.tolerance(1e-3).run(&points("in_X")).unwrap();
    assert!(ended.len() > 1 && ended.len() < 50, "{} steps", ended.len());
    assert_eq!(ended[..], full[..ended.len()]);
    let is_short = |at: usize| (full[at] - full[at - 1]).abs() <= 1e-3 * full[at];
    assert!(is_short(ended.len() - 1) && (1..ended.len() - 1).all(|at| !is_short(at)));
}
