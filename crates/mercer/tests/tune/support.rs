//! What the tests have in common.

use faer::Mat;
use mercer::Points;
use mercer::kernel::KernelSpec;
use mercer::tune::{KernelTuner, Tuning};
use mercer_testkit::Cloud;
use mercer_testkit::reference::{Textbook, variance_of_variances};

pub(crate) fn gaussian() -> KernelTuner {
    KernelTuner::new(KernelSpec::new("gaussian"))
}

pub(crate) fn tune(points: &Points) -> Tuning {
    gaussian().tune(points).unwrap()
}

pub(crate) fn rows(cloud: &Cloud) -> Vec<Vec<f64>> {
    (0..cloud.n).map(|i| cloud.row(i).to_vec()).collect()
}

pub(crate) fn gram(textbook: Textbook, cloud: &Cloud) -> Mat<f64> {
    let x = rows(cloud);
    textbook.matrix(&x, &x)
}

/// The criterion from eigenvalues.
pub(crate) fn by_eigenvalues(textbook: Textbook, cloud: &Cloud) -> f64 {
    variance_of_variances(gram(textbook, cloud).as_ref())
}

pub(crate) fn gamma(sigma: f64) -> f64 {
    0.5 / (sigma * sigma)
}

/// Three tight groups at distances 5 and 60: two maxima.
pub(crate) fn two_scales() -> Cloud {
    let noise = mercer_testkit::generate::gaussian_cloud(18, 2, 5);
    Cloud::from_fn(18, 2, |i, k| {
        let center = [[0.0, 0.0], [5.0, 0.0], [60.0, 0.0]][i % 3][k];
        center + 0.1 * noise.row(i)[k]
    })
}
