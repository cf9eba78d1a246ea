//! What the tests share.

use std::path::Path;

use faer::Mat;
use mercer::Points;
use mercer::autoencoder::{Given, StartFrom};
use mercer_testkit::generate::Random;
use npyz::npz::NpzArchive;

/// An array of a stored case: its shape and its numbers, row by row.
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

impl Array {
    pub(crate) fn open(case: &str, name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/autoencoder");
        let mut archive = NpzArchive::open(folder.join(case).with_extension("npz")).unwrap();
        let npy = archive.by_name(name).unwrap().unwrap_or_else(|| panic!("{case} has no {name}"));
        let shape = npy.shape().iter().map(|&size| size as usize).collect();
        assert_eq!(npy.order(), npyz::Order::C);
        let values = if name.ends_with("idx") {
            npy.into_vec::<i64>().unwrap().into_iter().map(|x| x as f64).collect()
        } else {
            npy.into_vec().unwrap()
        };
        Self { shape, values }
    }

    /// The part with this first index.
    pub(crate) fn part(&self, index: usize) -> &[f64] {
        let size = self.values.len() / self.shape[0];
        &self.values[index * size..(index + 1) * size]
    }

    pub(crate) fn points(&self) -> Points {
        Points::from_f64(self.values.clone(), self.shape[0], self.shape[1]).unwrap()
    }
}

pub(crate) fn row(values: &[f64]) -> Points {
    Points::from_f64(values.to_vec(), 1, values.len()).unwrap()
}

pub(crate) fn given(encoder: &[f64], decoder: &[f64]) -> StartFrom {
    StartFrom::Given(Given { encoder: encoder.to_vec(), decoder: decoder.to_vec() })
}

/// Matrices from their numbers, row by row, one after the other.
pub(crate) fn matrices(values: &[f64], d: usize) -> Vec<Mat<f64>> {
    values.chunks_exact(d * d).map(|m| Mat::from_fn(d, d, |r, s| m[r * d + s])).collect()
}

/// Fails unless numbers agree to the tolerance of the cases.
#[track_caller]
pub(crate) fn close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let slack = 1e-8 * expected.iter().fold(0.0_f64, |largest, x| largest.max(x.abs())) + 1e-13;
    for (at, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= slack, "{what}: number {at} is {a:e}, expected {b:e}");
    }
}

/// Pictures of a few blobs: `n` rows of `d` pixels from 0 to 1, some of them zero.
pub(crate) fn pictures(n: usize, d: usize, seed: u64) -> Points {
    let mut random = Random::new(seed);
    let mut values = Vec::with_capacity(n * d);
    for _ in 0..n {
        let (centre, width, height) =
            (random.uniform() * d as f64, 1.0 + 2.0 * random.uniform(), 0.3 + 0.7 * random.uniform());
        let other = random.uniform() * d as f64;
        values.extend((0..d).map(|k| {
            let bump = |at: f64| (-((k as f64 - at) / width).powi(2)).exp();
            height * bump(centre) + 0.4 * bump(other)
        }));
    }
    Points::from_f64(values, n, d).unwrap()
}

/// The mean of `‖x − y‖²` over rows.
pub(crate) fn mean_squared_error(found: &Mat<f64>, points: &Points) -> f64 {
    let square = |i: usize| points.row(i).iter().enumerate().map(|(k, x)| (found[(i, k)] - x).powi(2)).sum::<f64>();
    (0..points.n_samples()).map(square).sum::<f64>() / points.n_samples() as f64
}
