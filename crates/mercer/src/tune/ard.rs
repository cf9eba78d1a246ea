//! One width per feature: $k(x, y) = \exp(-\sum_f \gamma_f (x_f - y_f)^2)$ (automatic relevance determination).
//!
//! # Method
//!
//! The derivative of $E$ by $\gamma_f$ is $-\sum_{ij} w_{ij} (x_{if} - x_{jf})^2$ with
//! $w = k \circ (\tfrac{2}{l^3} G + \tfrac{2 \operatorname{tr} G}{l^5})$, because $dK_{ij}/d\gamma_f = -k_{ij} (x_{if} - x_{jf})^2$. With
//! $G_{ij} = k_{ij} - r_i/l - r_j/l + S/l^2$ all derivatives follow from products of kernel matrices with the points:
//! $\sum_{ij} w_{ij} (x_{if} - x_{jf})^2 = 2 \sum_i (w 1)_i x_{if}^2 - 2 x_f^T w x_f$, and $k \circ k$ is the kernel of twice the $\gamma$.
//!
//! **Cost** of a gradient: three products with as many vectors as there are features, however many those are.

use faer::Mat;
use serde::Serialize;

use super::climb::{Slope, check_steps, climb};
use super::grid::check_points;
use super::spectrum::Sums;
use crate::data::{Moments, Points};
use crate::error::{Error, Result};
use crate::gram::{KernelGram, PackedCopy, SymmetricOperator};
use crate::kernel::Kernel;
use crate::watch::{Context, Phase, Threads, Watch};

/// The variance of the variances and its derivative by the inverse width of each feature.
///
/// ```
/// use mercer::{Points, Watch, tune::ard_gradient, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 11)).collect::<Vec<_>>(), 30, 2)?;
/// let at = |gammas: [f64; 2]| ard_gradient(&points, &gammas, &Threads::new(1)?, &Watch::new());
/// let (here, beside) = (at([0.1, 0.2])?, at([0.1, 0.2 + 1e-6])?);
/// assert!(((beside.value - here.value) / 1e-6 - here.gradient[1]).abs() < 1e-4 * here.gradient[1].abs());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArdGradient {
    /// $E$ of equation (21).
    pub value: f64,
    /// Its derivatives.
    pub gradient: Vec<f64>,
}

/// Inverse widths that were found for each feature.
///
/// ```
/// use mercer::{Points, Watch, tune::tune_ard, watch::Threads};
///
/// let points = Points::from_f64((0..60).map(|i| f64::from(i * i % 11)).collect::<Vec<_>>(), 30, 2)?;
/// let found = tune_ard(&points, &[0.1, 0.1], 100, &Threads::new(1)?, &Watch::new())?;
/// assert!(found.best_value > found.start_value && found.steps > 0);
/// assert_eq!(found.gammas.len(), 2);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ArdTuning {
    /// Inverse width of each feature.
    pub gammas: Vec<f64>,
    /// For each feature, whether its inverse width is held at the end of its range, a factor of ten thousand from the start: the criterion may grow beyond.
    pub is_at_bound: Vec<bool>,
    /// The criterion there.
    pub best_value: f64,
    /// The criterion at the start.
    pub start_value: f64,
    /// Steps that were made.
    pub steps: usize,
    /// Whether no direction leads up any more within a factor of ten thousand of the start.
    pub converged: bool,
}

/// Features' inverse widths stay within this factor of where they start: one that tends to zero would never arrive.
const MOST_FACTOR: f64 = 1e4;
/// The relative slope by all logarithms that counts as none.
const TOLERANCE: f64 = 1e-5;

/// The variance of the variances of the Gaussian kernel with an inverse width per feature, and its gradient.
///
/// # Errors
///
/// If there is not one positive inverse width per feature, the points cannot be used or are all equal, or the run was stopped.
///
/// ```
/// use mercer::{Points, Watch, tune::ard_gradient, watch::Threads};
///
/// // The second feature is constant: its width makes no difference.
/// let values: Vec<f64> = (0..30).flat_map(|i| [f64::from(i % 7), 4.0]).collect();
/// let points = Points::from_f64(values, 30, 2)?;
/// let found = ard_gradient(&points, &[0.1, 0.1], &Threads::new(1)?, &Watch::new())?;
/// assert!(found.gradient[0] != 0.0 && found.gradient[1].abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn ard_gradient(points: &Points, gammas: &[f64], threads: &Threads, watch: &Watch<'_>) -> Result<ArdGradient> {
    check(points, gammas)?;
    let centred = centred_rows(points);
    gradient(&centred, points.n_samples(), gammas, &Context::new(threads, watch, Phase::Tuning))
}

/// Climbs from `start`, one inverse width per feature, to a maximum of the variance of the variances.
///
/// # Errors
///
/// As [`ard_gradient`], and if no step may be made.
///
/// ```
/// use mercer::{Points, Watch, tune::tune_ard, watch::Threads};
///
/// let values: Vec<f64> = (0..40).flat_map(|i| [f64::from(i % 2) * 5.0, f64::from(i * 7 % 13)]).collect();
/// let points = Points::from_f64(values, 40, 2)?;
/// let found = tune_ard(&points, &[0.05, 0.05], 100, &Threads::new(1)?, &Watch::new())?;
/// // The feature with two groups is what one component can explain; the other is ironed out.
/// assert!(found.best_value > found.start_value && found.gammas[0] > found.gammas[1]);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn tune_ard(
    points: &Points,
    start: &[f64],
    max_steps: usize,
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<ArdTuning> {
    check_steps(max_steps)?;
    check(points, start)?;
    let centred = centred_rows(points);
    let context = Context::new(threads, watch, Phase::Tuning);
    let at = |logs: &[f64]| {
        let gammas: Vec<f64> = logs.iter().map(|x| x.exp()).collect();
        let found = gradient(&centred, points.n_samples(), &gammas, &context)?;
        Ok::<_, Error>(Slope {
            value: found.value,
            gradient: found.gradient.iter().zip(&gammas).map(|(slope, gamma)| slope * gamma).collect(),
        })
    };
    let first: Vec<f64> = start.iter().map(|x| x.ln()).collect();
    let range = MOST_FACTOR.ln();
    let ends: Vec<(f64, f64)> = first.iter().map(|x| (x - range, x + range)).collect();
    let summit = climb(&first, &ends, TOLERANCE, max_steps, at)?;
    Ok(ArdTuning {
        is_at_bound: summit.held(&ends),
        gammas: summit.place.iter().map(|x| x.exp()).collect(),
        best_value: summit.there.value,
        start_value: summit.start_value,
        steps: summit.steps,
        converged: summit.converged,
    })
}

fn check(points: &Points, gammas: &[f64]) -> Result<()> {
    if gammas.len() != points.n_features() {
        let requirement = format!("one number per feature ({})", points.n_features());
        return Err(Error::invalid("gammas", requirement, gammas.len()));
    }
    gammas.iter().try_for_each(|&gamma| Error::require_positive("gammas", gamma))?;
    check_points(points)
}

/// The points less their mean, row by row: products with them then lose nothing to a common offset.
fn centred_rows(points: &Points) -> Vec<f64> {
    let moments = Moments::of(points);
    let mean = moments.mean();
    (0..points.n_samples())
        .flat_map(|row| points.row(row).into_iter().zip(mean).map(|(x, mean)| x - mean).collect::<Vec<_>>())
        .collect()
}

fn gradient(centred: &[f64], n: usize, gammas: &[f64], context: &Context<'_>) -> Result<ArdGradient> {
    let d = gammas.len();
    let roots: Vec<f64> = gammas.iter().map(|x| x.sqrt()).collect();
    let scaled: Vec<f64> = centred.chunks_exact(d).flat_map(|row| row.iter().zip(&roots).map(|(x, r)| x * r)).collect();
    let scaled = Points::from_f64(scaled, n, d)?;
    let gram = |gamma| KernelGram::<f64>::watched(PackedCopy::Kept, &scaled, &Kernel::gaussian(gamma)?, None, context);
    let (once, twice) = (gram(1.0)?, gram(2.0)?);
    let product = |gram: &KernelGram<f64>, vectors: Mat<f64>| {
        let mut out = Mat::zeros(n, vectors.ncols());
        gram.apply(vectors.as_ref(), out.as_mut(), context).map(|()| out)
    };
    // A column of ones, then the points.
    let with_ones = Mat::from_fn(n, d + 1, |i, j| if j == 0 { 1.0 } else { centred[i * d + j - 1] });
    let k = product(&once, with_ones.clone())?;
    let k2 = product(&twice, with_ones.clone())?;
    let rows: Vec<f64> = (0..n).map(|i| k[(i, 0)]).collect();
    let weighted = Mat::from_fn(n, d + 1, |i, j| rows[i] * with_ones[(i, j)]);
    let kr = product(&once, weighted)?;

    let l = n as f64;
    let total: f64 = rows.iter().sum();
    let sums = Sums {
        n,
        trace: l,
        total,
        square: (0..n).map(|i| k2[(i, 0)]).sum(),
        row_square: rows.iter().map(|r| r * r).sum(),
        slopes: Vec::new(),
    };
    if sums.is_rounding() {
        return Ok(ArdGradient { value: 0.0, gradient: vec![0.0; d] });
    }
    let (a, b) = (2.0 / l.powi(3), 2.0 * sums.centered_trace() / l.powi(5));
    // W times the column j: a k∘k - a/l (r k + k r) + (a S/l² + b) k.
    let w = |i: usize, j: usize| {
        a * k2[(i, j)] - a / l * (rows[i] * k[(i, j)] + kr[(i, j)]) + (a * total / (l * l) + b) * k[(i, j)]
    };
    let weights: Vec<f64> = (0..n).map(|i| w(i, 0)).collect();
    let gradient = (0..d)
        .map(|f| {
            let x = |i: usize| centred[i * d + f];
            let sum: f64 = (0..n).map(|i| x(i) * (weights[i] * x(i) - w(i, f + 1))).sum();
            -2.0 * sum
        })
        .collect();
    Ok(ArdGradient { value: sums.variance(), gradient })
}
