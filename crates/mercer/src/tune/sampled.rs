//! The curve from samples, for more points than pairs can be looked at.
//!
//! # Method
//!
//! The points are dealt into blocks at random, and only pairs within a block are looked at. Each block gives an estimate of the
//! curve of all points without bias (`Sums::unbiased_variance`); blocks differ, and from how much they do follows the
//! standard error of their mean. The best bandwidth is where the mean's slope is zero: its standard error is that of the slope
//! there over the curvature (the delta method).
//!
//! Most of an estimate's error comes from which points were seen, little from which pairs: many small blocks are better than few
//! large ones. So blocks are added until the interval is narrow enough; when all points are in a block, blocks grow. From then on the
//! stated error is an upper bound, because blocks that share out all points among them err less than independent ones.
//!
//! **Cost**: `m / n` of a pass for blocks of `m` points if all are used.

use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::grid::gamma;
use super::maxima::Peak;
use super::pass::Evaluator;
use super::search::{Curve, Task, by_position};
use super::spectrum::Graded;
use crate::error::{Error, Result};

/// Points of a block at first: a block's own error from its pairs is then below that from its points.
const FIRST_BLOCK: usize = 256;
/// Blocks at first; fewer would not tell how much they differ.
const FIRST_BLOCKS: usize = 16;
/// Standard errors on either side that make the interval.
const INTERVAL: f64 = 2.0;
/// The half-width of the interval that is asked for if nothing is said.
const TOLERANCE: f64 = 0.01;
/// Distance of the positions that slope and curvature at a maximum are taken from.
const STEP: f64 = 0.02;

/// Blocks of points.
struct Blocks<'a> {
    task: &'a Task<'a>,
    unit: f64,
    /// All rows in random order.
    order: Vec<usize>,
    size: usize,
    evaluators: Vec<Evaluator>,
    pairs: u64,
}

pub(super) fn curve(task: &Task<'_>) -> Result<Curve> {
    if !task.has_unit_diagonal() {
        return Err(Error::UnsuitableKernel {
            what: "sampling pairs",
            kernel: task.kernel.name().to_owned(),
            reason: "its values between a point and itself differ",
        });
    }
    let n = task.points.n_samples();
    let least = 4 * FIRST_BLOCKS;
    if n < least {
        let requirement = format!("exact or auto for fewer than {least} points");
        return Err(Error::invalid("method", requirement, task.settings.method));
    }
    let distances = task.distances()?;
    let unit = distances.as_ref().map_or(1.0, |distances| distances.unit(&task.kernel));
    let mut random = ChaCha8Rng::seed_from_u64(task.settings.seed);
    let order = index::sample(&mut random, n, n).into_vec();
    let size = FIRST_BLOCK.min(n / FIRST_BLOCKS);
    let mut blocks = Blocks { task, unit, order, size, evaluators: Vec::new(), pairs: 0 };
    blocks.deal(FIRST_BLOCKS)?;

    let tolerance = task.settings.tolerance.unwrap_or(TOLERANCE);
    let mut passes = 0;
    let (positions, _, found) = task.scan(distances.as_ref(), &mut |gammas: &[f64]| {
        passes += 1;
        // A slope that could be chance is none: it must not make a maximum of a plain.
        let told = |point: &Estimate| {
            let is_chance = point.mean.slope.abs() <= INTERVAL * point.error.slope;
            Graded { value: point.mean.value, slope: if is_chance { 0.0 } else { point.mean.slope } }
        };
        Ok(blocks.estimate(gammas)?.iter().map(told).collect())
    })?;
    // The highest maximum decides when there are enough blocks; all are then placed with what there is.
    let mut peaks: Vec<(Peak, f64)> = found
        .iter()
        .map(|bracket| (Peak { position: bracket.secant(), value: bracket.low.1.value }, f64::INFINITY))
        .collect();
    let mut converged = false;
    let mut is_complete = false;
    while !peaks.is_empty() {
        for (peak, error) in &mut peaks {
            passes += 1;
            (*peak, *error) = blocks.place(*peak)?;
        }
        let highest = peaks.iter().max_by(|(a, _), (b, _)| a.value.total_cmp(&b.value)).expect("there is one");
        converged = INTERVAL * highest.1 <= tolerance;
        if converged || is_complete {
            break;
        }
        is_complete = !blocks.grow()?;
        task.context.check()?;
    }
    let gammas: Vec<f64> = positions.iter().map(|x| gamma(x.exp())).collect();
    let mut estimates = blocks.estimate(&gammas)?;
    // Without a maximum between bandwidths that were asked for, the best of them must stand out.
    while peaks.is_empty() && !converged {
        converged = stands_out(&estimates);
        if converged || !blocks.grow()? {
            break;
        }
        task.context.check()?;
        passes += 1;
        estimates = blocks.estimate(&gammas)?;
    }
    let warning = match (converged, peaks.is_empty()) {
        (true, _) => None,
        (false, false) => Some(format!(
            "the interval of the bandwidth could not be made as narrow as {tolerance} by sampling; the exact method can"
        )),
        (false, true) => {
            Some("samples do not tell which of the bandwidths is the best; the exact method can".to_owned())
        }
    };
    Ok(Curve {
        positions,
        standard_errors: estimates.iter().map(|point| point.error.value).collect(),
        points: estimates.iter().map(|point| point.mean).collect(),
        peaks,
        n_used: blocks.evaluators.iter().map(Evaluator::n).sum(),
        passes: passes + 1,
        pairs: blocks.pairs,
        converged,
        warnings: warning.into_iter().collect(),
    })
}

/// Whether the highest of some values is so by more than chance.
fn stands_out(estimates: &[Estimate]) -> bool {
    let Some(best) = estimates.iter().max_by(|a, b| a.mean.value.total_cmp(&b.mean.value)) else { return true };
    estimates
        .iter()
        .filter(|other| !std::ptr::eq(*other, best))
        .all(|other| best.mean.value - other.mean.value >= INTERVAL * best.error.value.hypot(other.error.value))
}

/// The mean of the blocks' estimates at one position, and its standard error.
struct Estimate {
    mean: Graded,
    error: Graded,
}

impl Blocks<'_> {
    /// Packs blocks until there are `count` of them.
    fn deal(&mut self, count: usize) -> Result<()> {
        let task = self.task;
        for index in self.evaluators.len()..count {
            let rows = &self.order[index * self.size..(index + 1) * self.size];
            let points = task.points.select(rows);
            let pack = || Evaluator::new(&points, &task.kernel, self.unit, task.precision);
            self.evaluators.push(task.context.threads.run(pack)?);
        }
        Ok(())
    }

    /// Makes more blocks, or larger ones; `false` if that would be no less than looking at a fair part of all pairs.
    fn grow(&mut self) -> Result<bool> {
        let n = self.order.len();
        let (count, most) = (self.evaluators.len(), n / self.size);
        if count < most {
            self.deal((2 * count).min(most))?;
            return Ok(true);
        }
        if n / (2 * self.size) < FIRST_BLOCKS {
            return Ok(false);
        }
        self.size *= 2;
        self.evaluators.clear();
        self.deal(n / self.size)?;
        Ok(true)
    }

    /// The curve at some inverse widths, by the logarithm of the bandwidth.
    fn estimate(&mut self, gammas: &[f64]) -> Result<Vec<Estimate>> {
        let n = self.order.len();
        let mut all: Vec<Vec<Graded>> = vec![Vec::new(); gammas.len()];
        for (index, evaluator) in self.evaluators.iter().enumerate() {
            let mut context = self.task.context;
            context.progress.fraction = index as f64 / self.evaluators.len() as f64;
            let sums = evaluator.at_gammas(&self.task.kernel, gammas, &context)?;
            self.pairs += (evaluator.n() * (evaluator.n() - 1) / 2) as u64;
            for ((found, sums), &gamma) in all.iter_mut().zip(&sums).zip(gammas) {
                found.push(by_position(sums.unbiased_variance(n), gamma));
            }
        }
        Ok(all.iter().map(|found| Estimate::of(found)).collect())
    }

    /// The maximum near a position, and the standard error of where it is.
    fn place(&mut self, peak: Peak) -> Result<(Peak, f64)> {
        let mut position = peak.position;
        let mut error = f64::INFINITY;
        let mut value = peak.value;
        // The secant through both sides; once more if it leads away.
        for _ in 0..4 {
            let around = [position - STEP, position, position + STEP];
            let found = self.estimate(&around.map(|x| gamma(x.exp())))?;
            let curvature = (found[2].mean.slope - found[0].mean.slope) / (2.0 * STEP);
            if curvature >= 0.0 {
                return Ok((Peak { position, value: found[1].mean.value }, f64::INFINITY));
            }
            let step = -found[1].mean.slope / curvature;
            error = found[1].error.slope / -curvature;
            value = found[1].mean.value;
            position += step.clamp(-0.5, 0.5);
            if step.abs() <= 0.1 * STEP {
                break;
            }
        }
        Ok((Peak { position, value }, error))
    }
}

impl Estimate {
    fn of(found: &[Graded]) -> Self {
        let count = found.len() as f64;
        let mean = |of: fn(&Graded) -> f64| found.iter().map(of).sum::<f64>() / count;
        let error = |of: fn(&Graded) -> f64| {
            let center = mean(of);
            let scatter = found.iter().map(|point| (of(point) - center).powi(2)).sum::<f64>();
            (scatter / (count * (count - 1.0))).sqrt()
        };
        let both = |of: &dyn Fn(fn(&Graded) -> f64) -> f64| Graded { value: of(|p| p.value), slope: of(|p| p.slope) };
        Self { mean: both(&mean), error: both(&error) }
    }
}
