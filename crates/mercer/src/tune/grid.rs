//! Where to look: bandwidths over the distances that the data has.

use crate::data::Points;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Pairing, pair_scalars};

/// Bandwidths of a grid, at most (unless the data's distances span more than as many octaves).
const MOST: usize = 64;
/// Points whose pairs say what distances there are.
const SAMPLE: usize = 400;
/// The narrowest kernel makes even close points strangers, the widest makes the farthest alike.
const NARROWEST: f64 = 8.0;
const WIDEST: f64 = 1.0 / 16.0;

/// What `gamma` multiplies, over the pairs of a sample, in increasing order.
#[derive(Clone, Debug)]
pub(super) struct Distances(Vec<f64>);

impl Distances {
    /// The distances of a sample of the points.
    ///
    /// # Errors
    ///
    /// If the kernel is not a function of a distance, or all points are equal.
    pub(super) fn of(points: &Points, kernel: &Kernel) -> Result<Self> {
        let pairing = kernel.pairing().filter(|pairing| pairing.is_translation_invariant());
        let Some(pairing) = pairing else {
            return Err(Error::UnsuitableKernel {
                what: "a width from the spectrum",
                kernel: kernel.name().to_owned(),
                reason: "it is not a function of a distance",
            });
        };
        let root = multiplies_root(kernel);
        let mut values = some_scalars(points, |x, y| {
            let s = pairing.of(x, y);
            if root { s.sqrt() } else { s }
        })?;
        values.sort_by(f64::total_cmp);
        Ok(Self(values))
    }

    /// A typical scalar of a pair, as the kernel's formula has it.
    pub(super) fn unit(&self, kernel: &Kernel) -> f64 {
        let median = self.0[self.0.len() / 2];
        if multiplies_root(kernel) { median * median } else { median }
    }

    /// The value that a share of the pairs stays below.
    fn quantile(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    /// Inverse widths in increasing order, each `2^(1/m)` times the one before for a whole `m`: so that the squares of
    /// Gaussian kernels are other kernels of the grid. `wider` and `narrower` octaves are added at the ends.
    pub(super) fn gammas(&self, wider: i32, narrower: i32) -> Vec<f64> {
        let low = WIDEST / self.0[self.0.len() - 1] * 2.0_f64.powi(-wider);
        let high = NARROWEST / self.quantile(1e-3) * 2.0_f64.powi(narrower);
        let octaves = (high / low).log2().max(1.0);
        let steps = ((MOST - 1) as f64 / octaves).floor().clamp(1.0, 8.0);
        let count = (octaves * steps).ceil() as usize;
        let steps = steps as usize;
        (0..=count)
            .map(|j| low * 2.0_f64.powf((j % steps) as f64 / steps as f64) * 2.0_f64.powi((j / steps) as i32))
            .collect()
    }
}

/// The positive values of `scalar` over pairs of a sample. Where all of its points are equal, others are looked for.
///
/// # Errors
///
/// If all points are equal.
pub(super) fn some_scalars(points: &Points, scalar: impl Fn(&[f64], &[f64]) -> f64) -> Result<Vec<f64>> {
    let n = points.n_samples();
    match pair_scalars(points, SAMPLE, &scalar) {
        Err(Error::NoVariance { .. }) if n > SAMPLE => {}
        outcome => return outcome,
    }
    let first = points.row(0);
    let others = (1..n).filter(|&row| scalar(&points.row(row), &first) > 0.0).take(SAMPLE - 1);
    let rows: Vec<usize> = std::iter::once(0).chain(others).collect();
    pair_scalars(&points.select(&rows), SAMPLE, &scalar).map_err(|_| Error::NoVariance { n_samples: n })
}

/// Whether `gamma` multiplies the distance and not its square.
fn multiplies_root(kernel: &Kernel) -> bool {
    kernel.pairing() == Some(Pairing::SquaredDistance)
        && matches!(kernel, Kernel::Exponential(_) | Kernel::Matern32(_) | Kernel::Matern52(_))
}

/// The bandwidth of an inverse width.
pub(super) fn bandwidth(gamma: f64) -> f64 {
    (0.5 / gamma).sqrt()
}

/// The inverse width of a bandwidth.
pub(super) fn gamma(bandwidth: f64) -> f64 {
    0.5 / (bandwidth * bandwidth)
}
