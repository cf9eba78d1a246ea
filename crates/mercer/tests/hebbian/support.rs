//! What the tests share.

use faer::{Mat, MatRef};
use mercer::hebbian::Start;
use mercer::{GainRule, HebbianLearner, Kernel, KernelHebbianPca, MemoryBudget, Points, Refresh, Watch};
use mercer_testkit::Format;
use mercer_testkit::generate::clusters;
use mercer_testkit::reference::{HebbianReference, assert_close, largest_entry};

/// Points of the small problem.
pub(crate) const N: usize = 90;

/// A few groups.
pub(crate) fn points() -> Points {
    clusters(N, 5, 4, 2).points(Format::F64)
}

/// Settings for them: few components, a few passes, batches that do not divide a pass.
pub(crate) fn small(rule: GainRule) -> KernelHebbianPca {
    KernelHebbianPca::new(Kernel::gaussian(0.3).unwrap()).n_components(3).gain(rule).passes(4).seed(7).batch_size(25)
}

/// The same run, from its checkpoint.
pub(crate) fn resume(learner: &HebbianLearner, points: &Points) -> HebbianLearner {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.checkpoint");
    learner.save(&path).unwrap();
    HebbianLearner::resume(&path, points, MemoryBudget::Auto, None).unwrap()
}

/// The settings of the library that a reference's are.
pub(crate) fn settings(reference: &HebbianReference, kernel: mercer::Kernel, r: usize) -> KernelHebbianPca {
    KernelHebbianPca::new(kernel)
        .n_components(r)
        .gain(reference.rule.parse::<GainRule>().unwrap())
        .refresh(reference.refresh.parse::<Refresh>().unwrap())
        .eta0(reference.eta0)
        .tau(reference.tau)
        .mu(reference.mu)
        .xi(reference.xi)
        .rho0(reference.rho0)
}

/// Exactly these updates, from exactly these coefficients.
#[track_caller]
pub(crate) fn run(settings: &KernelHebbianPca, points: &Points, a: MatRef<'_, f64>, order: &[usize]) -> HebbianLearner {
    let start = Start { coefficients: Some(a), order: Some(order), ..Start::default() };
    settings.fit_from(points, &start, &Watch::new()).unwrap()
}

/// A square matrix as precomputed points.
pub(crate) fn precomputed(matrix: MatRef<'_, f64>) -> Points {
    let n = matrix.nrows();
    Points::from_f64((0..n * n).map(|at| matrix[(at / n, at % n)]).collect::<Vec<_>>(), n, n).unwrap()
}

pub(crate) fn column(values: &[f64]) -> Mat<f64> {
    Mat::from_fn(values.len(), 1, |i, _| values[i])
}

/// Fails unless `found` is `expected` to `share` of its largest entry.
#[track_caller]
pub(crate) fn close(found: MatRef<'_, f64>, expected: MatRef<'_, f64>, share: f64, what: &str) {
    let slack = share * largest_entry(expected) + 1e-13;
    assert_close(found, expected, |_, _| slack, what);
}
