//! What the tests share.

use faer::{Mat, MatRef};
use mercer::preimage::{Preimage, PreimageMethod, Reconstruction};
use mercer::{Model, Points, Watch};
use mercer_testkit::generate::Random;
use mercer_testkit::reference::{assert_close, largest_entry};

#[track_caller]
pub(crate) fn close(found: MatRef<'_, f64>, expected: MatRef<'_, f64>, share: f64, what: &str) {
    let slack = share * largest_entry(expected) + 1e-13;
    assert_close(found, expected, |_, _| slack, what);
}

/// Points near a circle in five dimensions, and the same without noise.
pub(crate) fn circle(n: usize, noise: f64) -> (Points, Points) {
    let mut random = Random::new(7);
    let mut make = |noise: f64| {
        let values = (0..n).flat_map(|i| {
            let angle = i as f64 * std::f64::consts::TAU / n as f64;
            [angle.cos(), angle.sin(), 0.5 * angle.cos(), -0.3 * angle.sin(), 0.2]
        });
        let values: Vec<f64> = values.map(|x| x + noise * random.normal()).collect();
        Points::from_f64(values, n, 5).unwrap()
    };
    (make(noise), make(0.0))
}

pub(crate) fn mean_squared_error(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}

pub(crate) fn reconstruct(model: &Model, points: &Points, method: PreimageMethod) -> Reconstruction {
    let settings = Preimage::new(method);
    let settings = if method == PreimageMethod::Ridge { settings.alpha(1e-4) } else { settings };
    settings.of_points(model, points, &Watch::new()).unwrap()
}
