//! Where to look: bandwidths over the distances that the data has.

use crate::data::Points;
use crate::error::{Error, Result, rounded, short};
use crate::kernel::{Kernel, KernelSpec, Pairing, Width, pair_scalars, too_far_apart};
use crate::scalar::Precision;

/// Bandwidths of a grid, at most (unless the data's distances span more than as many octaves).
const MOST: usize = 64;
/// Points whose pairs say what distances there are.
const SAMPLE: usize = 400;
/// The narrowest kernel makes even close points strangers, the widest makes the farthest alike.
const NARROWEST: f64 = 8.0;
const WIDEST: f64 = 1.0 / 16.0;

/// The share of the pairs that are closer than what counts as close.
const CLOSE: f64 = 1e-3;
/// Octaves by which a grid is made longer at an end, at most, and one for the squares of its kernels.
const BEYOND: i32 = 9;
/// Inverse widths of which half the reciprocal, its root and the square of that are ordinary numbers.
const WITHIN: (f64, f64) = (1e-306, 1e306);

/// How many times narrower or wider than the data's distances a bandwidth may be that is asked for: inverse widths are then numbers of single precision too, and
/// so is their product with any scalar.
const REACH: f64 = 1e15;

/// Digits in which bandwidths are told that were computed.
pub(super) const DIGITS: usize = 5;

/// What `gamma` multiplies, over the pairs of a sample: for close pairs, in the middle, and for the farthest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Distances {
    close: f64,
    median: f64,
    farthest: f64,
}

impl Distances {
    /// The distances of a sample of the points.
    ///
    /// # Errors
    ///
    /// If the kernel is not a function of a distance, all points are equal, or they are so far apart or so close that no inverse width is a number.
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
        let farthest = values.iter().copied().fold(0.0, f64::max);
        let (last, middle) = (values.len() - 1, values.len() / 2);
        let [close, median] = [(last as f64 * CLOSE) as usize, middle]
            .map(|place| *values.select_nth_unstable_by(place, f64::total_cmp).1);
        let found = Self { close, median, farthest };
        match found.ends(BEYOND, BEYOND) {
            (low, _) if low < WITHIN.0 => Err(too_far_apart(points)),
            (_, high) if high > WITHIN.1 => Err(Error::TooClose { distance: close }),
            _ => Ok(found),
        }
    }

    /// A typical scalar of a pair, as the kernel's formula has it.
    pub(super) fn unit(&self, kernel: &Kernel) -> f64 {
        if multiplies_root(kernel) { self.median * self.median } else { self.median }
    }

    /// The smallest and the largest inverse width that are worth a look, with some octaves more.
    pub(super) fn ends(&self, wider: i32, narrower: i32) -> (f64, f64) {
        (WIDEST / self.farthest * 2.0_f64.powi(-wider), NARROWEST / self.close * 2.0_f64.powi(narrower))
    }

    /// Inverse widths in increasing order, each `2^(1/m)` times the one before for a whole `m`: so that the squares of
    /// Gaussian kernels are other kernels of the grid. `wider` and `narrower` octaves are added at the ends.
    pub(super) fn gammas(&self, wider: i32, narrower: i32) -> Vec<f64> {
        let (low, high) = self.ends(wider, narrower);
        let octaves = (high / low).log2().max(1.0);
        let steps = ((MOST - 1) as f64 / octaves).floor().clamp(1.0, 8.0);
        let count = (octaves * steps).ceil() as usize;
        let steps = steps as usize;
        (0..=count)
            .map(|j| low * 2.0_f64.powf((j % steps) as f64 / steps as f64) * 2.0_f64.powi((j / steps) as i32))
            .collect()
    }
}

/// A kernel with some width, for those who look for one; a width that it has already is not looked at.
///
/// # Errors
///
/// If there is no such kernel, it has no width, or another parameter does not suit it.
pub(super) fn with_some_width(spec: &KernelSpec, points: &Points) -> Result<Kernel> {
    match spec.clone().width(Width::Auto).resolve_directly(points) {
        // Nobody has given the width that the kernel does not have.
        Err(Error::InvalidParameter { name: "gamma", .. }) if spec.wanted_width().is_none() => {
            Err(Error::UnsuitableKernel {
                what: "a search for a width",
                kernel: spec.resolve_directly(points)?.name().to_owned(),
                reason: "it has no width to tune, as functions of a distance have, such as gaussian and laplacian",
            })
        }
        outcome => outcome,
    }
}

/// Refuses points that no parameter can be found for: fewer than two, numbers that are not finite, and rows that are all equal.
///
/// # Errors
///
/// As said.
pub(super) fn check_points(points: &Points) -> Result<()> {
    let n = points.n_samples();
    if n < 2 {
        return Err(Error::TooFewRows { needed: 2, found: n });
    }
    points.check_finite()?;
    let first = points.row(0);
    if (1..n).all(|row| points.row(row) == first) { Err(Error::NoVariance { n_samples: n }) } else { Ok(()) }
}

/// Refuses bandwidths at which no sum can be made: far beyond the data's distances, or of an inverse width that is no ordinary number. They are called
/// `name`.
///
/// # Errors
///
/// As said.
pub(super) fn check_bandwidths(name: &'static str, bandwidths: &[f64], distances: Option<&Distances>) -> Result<()> {
    bandwidths.iter().try_for_each(|&sigma| Error::require_positive(name, sigma))?;
    let (least, most) = (bandwidth(WITHIN.1), bandwidth(WITHIN.0));
    let own = distances.map(|distances| bandwidth(1.0 / distances.median));
    let (low, high) = own.map_or((least, most), |own| ((own / REACH).max(least), (own * REACH).min(most)));
    let Some(&sigma) = bandwidths.iter().find(|&&sigma| sigma < low || sigma > high) else { return Ok(()) };
    let reason = match own {
        Some(own) => {
            format!("at most {REACH:e} times narrower or wider than the data's distances ({})", rounded(own, DIGITS))
        }
        None => "so that the inverse width is an ordinary number".to_owned(),
    };
    let ends = [low, high].map(|end| rounded(end, DIGITS));
    Err(Error::invalid(name, format!("from {} to {}, {reason}", ends[0], ends[1]), short(sigma)))
}

/// The positive values of `scalar` over pairs of a sample. Where all of its points are equal, others are looked for.
///
/// # Errors
///
/// If all points are equal, or two of them are so far apart that the scalar is no number.
pub(super) fn some_scalars(points: &Points, scalar: impl Fn(&[f64], &[f64]) -> f64) -> Result<Vec<f64>> {
    let n = points.n_samples();
    let finite = |values: Vec<f64>| {
        if values.iter().all(|value| value.is_finite()) { Ok(values) } else { Err(too_far_apart(points)) }
    };
    match pair_scalars(points, SAMPLE, &scalar) {
        Err(Error::NoVariance { .. }) if n > SAMPLE => {}
        outcome => return outcome.and_then(finite),
    }
    let first = points.row(0);
    let others = (1..n).filter(|&row| scalar(&points.row(row), &first) > 0.0).take(SAMPLE - 1);
    let rows: Vec<usize> = std::iter::once(0).chain(others).collect();
    pair_scalars(&points.select(&rows), SAMPLE, &scalar)
        .map_err(|_| Error::NoVariance { n_samples: n })
        .and_then(finite)
}

/// An error of some of the points as one of all of them: a row of a sample is another row there, and no inverse width was given that could be smaller.
pub(super) fn of_all(error: Error, points: &Points) -> Error {
    match error {
        Error::TooFarApart { .. } | Error::TooLarge { precision: Precision::F64, .. } => too_far_apart(points),
        other => other,
    }
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
