//! Other criteria, from eigenvectors of a sample.

use super::dense::{Sample, center};
use super::grid::{bandwidth, gamma};
use super::maxima::{Peak, brackets};
use super::search::{Curve, Task, by_position, of_some, too_narrow};
use super::settings::TuneMethod;
use super::spectrum::Graded;
use crate::data::sample_rows;
use crate::eigen::{Order, small_eigen};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Parameter};

/// Points of a sample whose matrices are decomposed at every bandwidth.
const SAMPLE: usize = 1000;
/// Bandwidths that a criterion without derivative is tried at; a grid as fine as that of the others would take minutes.
const COARSE: usize = 16;
/// Steps of a golden section if nothing is said; more than enough for any tolerance that rounding allows otherwise.
const SECTIONS: usize = 12;
const MOST_SECTIONS: usize = 80;

impl Task<'_> {
    /// Components that are counted, of so many points, which are called `what`.
    fn n_components(&self, n: usize, what: &str) -> Result<usize> {
        let most = n - 1;
        match self.settings.n_components {
            Some(k) if k > most => {
                Err(Error::invalid("n_components", format!("at most the number of {what} less one ({most})"), k))
            }
            Some(k) => Ok(k),
            None => Ok((self.points.n_features() / 2).clamp(1, 10).min(most)),
        }
    }

    fn finished(&self, sample: &Sample, curve: Curve) -> (Curve, TuneMethod) {
        let (n, m) = (self.points.n_samples(), sample.len());
        let method = if m < n { TuneMethod::Sampled } else { TuneMethod::Exact };
        let mut warnings = curve.warnings.clone();
        if m < n {
            warnings.push(of_some(m, n));
        }
        let pairs = curve.passes as u64 * (m as u64 * (m as u64 - 1) / 2);
        (Curve { n_used: m, pairs, warnings, ..curve }, method)
    }
}

/// The sum of the leading variances, $\frac1l \sum_{i \le q} \mu_i$, and its derivative $\frac1l \sum v_i^T dG\, v_i$ (equation (28)).
pub(super) fn leading(task: &Task<'_>) -> Result<(Curve, TuneMethod)> {
    let sample = task.sample(SAMPLE)?;
    let k = task.n_components(sample.len(), "points")?;
    let all: Vec<usize> = (0..sample.len()).collect();
    let at = |gamma: f64| -> Result<Graded> {
        task.context.check()?;
        let kernel = task.kernel.with(Parameter::Gamma, gamma)?;
        let mut matrix = sample.matrix(&kernel, &all, &all);
        center(&mut matrix);
        let (values, vectors) = small_eigen(matrix.as_ref(), Order::Algebraic)?;
        let mut slopes = sample.slopes(&kernel, &all);
        center(&mut slopes);
        let m = sample.len() as f64;
        let slope = (0..k)
            .map(|i| {
                let v = vectors.col(i);
                let image = &slopes * v;
                v.iter().zip(image.iter()).map(|(a, b)| a * b).sum::<f64>()
            })
            .sum::<f64>();
        Ok(by_position(Graded { value: values[..k].iter().sum::<f64>() / m, slope: slope / m }, gamma))
    };
    let mut passes = 0;
    let mut several = |gammas: &[f64]| {
        passes += gammas.len();
        gammas.iter().map(|&gamma| at(gamma)).collect::<Result<Vec<_>>>()
    };
    let (positions, points) = coarse(task, &mut several)?;
    let (mut peaks, mut converged) = (Vec::new(), true);
    let tolerance = task.settings.tolerance.unwrap_or(1e-3);
    for bracket in brackets(&positions, &points, 1e-9) {
        let (peak, is_known) =
            bracket.refine(tolerance, |xs| several(&xs.iter().map(|&x| gamma(x.exp())).collect::<Vec<_>>()))?;
        converged &= is_known;
        peaks.push((peak, 0.0));
    }
    let standard_errors = vec![0.0; points.len()];
    let warnings = if converged { Vec::new() } else { vec![too_narrow(tolerance)] };
    let tolerance = Some(tolerance);
    let curve =
        Curve { positions, points, standard_errors, peaks, passes, tolerance, converged, warnings, ..Curve::default() };
    Ok(task.finished(&sample, curve))
}

/// Minus the share of the variance of held-out points that a linear map from their leading components back does not give.
///
/// A third of the sample is held out, by the seed: rows of a file may come in turns. The map is the least-squares one from the others' components, which are uncorrelated, so it
/// needs no system to be solved; with the linear kernel it is that of PCA.
pub(super) fn reconstruction(task: &Task<'_>) -> Result<(Curve, TuneMethod)> {
    let sample = task.sample(SAMPLE)?;
    if sample.len() < 6 {
        return Err(Error::TooFewRows { needed: 6, found: sample.len() });
    }
    let held = sample_rows(sample.len(), sample.len() / 3, task.settings.seed);
    let kept: Vec<usize> = (0..sample.len()).filter(|row| held.binary_search(row).is_err()).collect();
    let k = task.n_components(kept.len(), "points that are not held out")?;
    let mut passes = 0;
    let mut several = |gammas: &[f64]| {
        passes += gammas.len();
        gammas
            .iter()
            .map(|&gamma| {
                task.context.check()?;
                let kernel = task.kernel.with(Parameter::Gamma, gamma)?;
                Ok(Graded { value: -lost_share(&sample, &kernel, &kept, &held, k)?, slope: f64::NAN })
            })
            .collect::<Result<Vec<_>>>()
    };
    let (positions, points) = coarse(task, &mut several)?;
    let mut peaks = Vec::new();
    for i in 1..points.len().saturating_sub(1) {
        if points[i].value > points[i - 1].value && points[i].value >= points[i + 1].value {
            let around = (positions[i - 1], positions[i], positions[i + 1]);
            peaks.push((golden(around, points[i].value, task.settings.tolerance, &mut several)?, 0.0));
        }
    }
    let standard_errors = vec![0.0; points.len()];
    let (tolerance, converged) = (task.settings.tolerance, true);
    let curve = Curve { positions, points, standard_errors, peaks, passes, tolerance, converged, ..Curve::default() };
    Ok(task.finished(&sample, curve))
}

/// The curve at the bandwidths asked for, or at a few over the data's distances.
fn coarse(task: &Task<'_>, at: &mut impl FnMut(&[f64]) -> Result<Vec<Graded>>) -> Result<(Vec<f64>, Vec<Graded>)> {
    let mut gammas = task.gammas(0, 0);
    if task.settings.bandwidths.is_none() {
        let every = gammas.len().div_ceil(COARSE);
        gammas = gammas.into_iter().step_by(every.max(1)).collect();
    }
    let points = at(&gammas)?;
    Ok((gammas.iter().map(|&gamma| bandwidth(gamma).ln()).collect(), points))
}

/// The highest place between two others, by sections in the golden ratio.
fn golden(
    (mut low, mut middle, mut high): (f64, f64, f64),
    mut value: f64,
    tolerance: Option<f64>,
    at: &mut impl FnMut(&[f64]) -> Result<Vec<Graded>>,
) -> Result<Peak> {
    const SHARE: f64 = 0.381_966_011_250_105_15;
    for _ in 0..tolerance.map_or(SECTIONS, |_| MOST_SECTIONS) {
        if tolerance.is_some_and(|tolerance| high - low <= tolerance) {
            break;
        }
        let upper = high - middle > middle - low;
        let next = if upper { middle + SHARE * (high - middle) } else { middle - SHARE * (middle - low) };
        let found = at(&[gamma(next.exp())])?[0].value;
        if found > value {
            (low, high) = if upper { (middle, high) } else { (low, middle) };
            (middle, value) = (next, found);
        } else if upper {
            high = next;
        } else {
            low = next;
        }
    }
    Ok(Peak { position: middle, value })
}

/// The share of the held-out points' variance about the others' mean that `k` components do not give back.
fn lost_share(sample: &Sample, kernel: &Kernel, kept: &[usize], held: &[usize], k: usize) -> Result<f64> {
    let d = sample.points.first().map_or(0, Vec::len);
    let spectrum = sample.spectrum(kernel, kept)?;
    let k = (0..k).take_while(|&i| spectrum.values[i] > 1e-12 * spectrum.values[0].max(f64::MIN_POSITIVE)).count();
    let mean: Vec<f64> =
        (0..d).map(|f| kept.iter().map(|&row| sample.points[row][f]).sum::<f64>() / kept.len() as f64).collect();
    let plain = sample.matrix(kernel, kept, kept);
    let between = sample.matrix(kernel, held, kept);
    let means: Vec<f64> = (0..kept.len()).map(|j| plain.col(j).iter().sum::<f64>() / kept.len() as f64).collect();
    let grand = means.iter().sum::<f64>() / kept.len() as f64;
    // What each component says of each coordinate: Zᵀ X / μ, with Z = V √μ.
    let map: Vec<Vec<f64>> = (0..k)
        .map(|i| {
            let v = spectrum.vectors.col(i);
            (0..d).map(|f| kept.iter().enumerate().map(|(j, &row)| v[j] * sample.points[row][f]).sum::<f64>()).collect()
        })
        .collect();
    let (mut lost, mut all) = (0.0, 0.0);
    for (h, &row) in held.iter().enumerate() {
        let own_mean = (0..kept.len()).map(|j| between[(h, j)]).sum::<f64>() / kept.len() as f64;
        let mut guess = mean.clone();
        for (i, steps) in map.iter().enumerate() {
            let v = spectrum.vectors.col(i);
            // The score over √μ, as the map has V and not Z.
            let score = (0..kept.len()).map(|j| v[j] * (between[(h, j)] - own_mean - means[j] + grand)).sum::<f64>()
                / spectrum.values[i];
            guess.iter_mut().zip(steps).for_each(|(x, step)| *x += score * step);
        }
        for f in 0..d {
            lost += (sample.points[row][f] - guess[f]).powi(2);
            all += (sample.points[row][f] - mean[f]).powi(2);
        }
    }
    if all > 0.0 { Ok(lost / all) } else { Err(Error::NoVariance { n_samples: sample.len() }) }
}
