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
//! large ones. So blocks are added until the interval is narrow enough. When all points are in a block, nothing is left of the first kind of error, but
//! blocks still differ by it: the points are dealt anew, several times, and each deal as a whole is one estimate. Deals differ by the pairs alone, and
//! their mean is known to a fraction of what one deal's blocks would say. Larger blocks in fewer deals would take as many pairs for the same error.
//!
//! The stated error is one of points that were drawn independently. Blocks share out points of which there are `n`: the error of a part of one deal is smaller by the root of the
//! share of points that it leaves out, as far as it comes from points, and the stated one is too large by that.
//!
//! **Cost**: `m / n` of a pass for a deal into blocks of `m` points.

use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::grid::{bandwidth, gamma};
use super::maxima::{Bracket, Peak, brackets};
use super::pass::Evaluator;
use super::search::{Curve, Task, by_position};
use super::spectrum::Graded;
use crate::error::{Error, Result};

/// Points of a block: its own error from its pairs is then below that from its points.
const BLOCK: usize = 256;
/// Blocks at first, and deals; fewer would not tell how much they differ.
const FEWEST: usize = 16;
/// Standard errors on either side that make the interval.
const INTERVAL: f64 = 2.0;
/// The half-width of the interval that is asked for if nothing is said.
const TOLERANCE: f64 = 0.01;
/// Distance of the positions that slope and curvature at a maximum are taken from.
const STEP: f64 = 0.02;
/// So many times as many are all pairs as those of the deals that are made, at least: pairs of small blocks take longer, each. The second holds where
/// all pairs may be looked at instead.
const FEWER_PAIRS: [usize; 2] = [2, 8];

/// Samples of points, in which pairs are looked at.
struct Blocks<'a> {
    task: &'a Task<'a>,
    unit: f64,
    /// Points of a block.
    size: usize,
    sample: Sample,
    pairs: u64,
}

enum Sample {
    /// Blocks of the first deal, each of which is an estimate; with the rows in their order.
    Blocks(Vec<usize>, Vec<Evaluator>),
    /// So many deals, each of which is an estimate.
    Deals(usize),
}

/// A maximum and what is not known of it.
#[derive(Clone, Copy)]
struct Placed {
    peak: Peak,
    /// The standard error of its position; infinite where there seems to be none.
    error: f64,
    /// The standard error of its value.
    value_error: f64,
}

pub(super) fn curve(task: &Task<'_>) -> Result<Curve> {
    check(task)?;
    let mut blocks = Blocks::first(task, task.unit())?;
    let tolerance = task.settings.tolerance.unwrap_or(TOLERANCE);
    let mut passes = 0;
    let (positions, found) = blocks.scan(&mut passes)?;
    let gammas: Vec<f64> = positions.iter().map(|x| gamma(x.exp())).collect();
    let mut maxima: Vec<Placed> = found.iter().map(Placed::guess).collect();
    // The best bandwidth decides when there are enough blocks; all maxima are placed with what there is.
    let (estimates, doubt) = loop {
        for maximum in &mut maxima {
            passes += 1;
            *maximum = blocks.place(*maximum, tolerance)?;
        }
        let mut doubt = doubt_of(&maxima, tolerance);
        if doubt.is_none() || maxima.is_empty() {
            passes += 1;
            let estimates = blocks.estimate(&gammas)?;
            let told: Vec<Graded> = estimates.iter().map(Estimate::told).collect();
            // More blocks may show maxima that fewer have hidden.
            for bracket in brackets(&positions, &told, task.noise()) {
                if !maxima.iter().any(|maximum| bracket.holds(maximum.peak.position)) {
                    passes += 1;
                    maxima.push(blocks.place(Placed::guess(&bracket), tolerance)?);
                }
            }
            doubt = if maxima.is_empty() { doubt_of_best(&estimates) } else { doubt_of(&maxima, tolerance) };
            if doubt.is_none() {
                break (estimates, doubt);
            }
        }
        task.context.check()?;
        if !blocks.grow()? {
            passes += 1;
            break (blocks.estimate(&gammas)?, doubt);
        }
    };
    Ok(Curve {
        positions,
        standard_errors: estimates.iter().map(|point| point.error.value).collect(),
        points: estimates.iter().map(|point| point.mean).collect(),
        peaks: distinct(maxima),
        n_used: blocks.n_used(),
        passes,
        pairs: blocks.pairs,
        tolerance: Some(tolerance),
        converged: doubt.is_none(),
        warnings: doubt.into_iter().collect(),
    })
}

/// Refuses what cannot be sampled.
fn check(task: &Task<'_>) -> Result<()> {
    if !task.has_unit_diagonal() {
        return Err(Error::UnsuitableKernel {
            what: "sampling pairs",
            kernel: task.kernel.name().to_owned(),
            reason: "its values between a point and itself differ",
        });
    }
    let least = 4 * FEWEST;
    if task.points.n_samples() < least {
        let requirement = format!("exact or auto for fewer than {least} points");
        return Err(Error::invalid("method", requirement, task.settings.method));
    }
    Ok(())
}

/// Points from which on a value alone is estimated.
pub(super) const LEAST_FOR_A_VALUE: usize = BLOCK * FEWEST;

/// The curve at one inverse width, from the first blocks.
///
/// # Errors
///
/// If a point is too large, or the run was stopped.
pub(super) fn value(task: &Task<'_>, gamma: f64) -> Result<Curve> {
    let mut blocks = Blocks::first(task, 1.0 / gamma)?;
    let found = blocks.estimate(&[gamma])?.remove(0);
    Ok(Curve {
        positions: vec![bandwidth(gamma).ln()],
        points: vec![found.mean],
        standard_errors: vec![found.error.value],
        n_used: blocks.n_used(),
        passes: 1,
        pairs: blocks.pairs,
        converged: true,
        ..Curve::default()
    })
}

/// Maxima with the standard error of their position, each once. Where the mean of all blocks has none, what a few had was chance.
fn distinct(mut maxima: Vec<Placed>) -> Vec<(Peak, f64)> {
    maxima.retain(|maximum| maximum.error.is_finite());
    maxima.sort_by(|a, b| a.peak.position.total_cmp(&b.peak.position));
    maxima.dedup_by(|a, b| a.peak.position - b.peak.position < STEP);
    maxima.into_iter().map(|maximum| (maximum.peak, maximum.error)).collect()
}

/// What samples leave open about the highest of some maxima: where it is, or that it is the highest.
fn doubt_of(maxima: &[Placed], tolerance: f64) -> Option<String> {
    let highest = maxima.iter().max_by(|a, b| a.peak.value.total_cmp(&b.peak.value))?;
    if INTERVAL * highest.error > tolerance {
        return Some(format!(
            "the interval of the bandwidth could not be made as narrow as {tolerance} by sampling; the exact method can"
        ));
    }
    let is_lower = |other: &Placed| {
        let apart = (highest.peak.position - other.peak.position).abs() >= STEP;
        let errors = highest.value_error.hypot(other.value_error);
        !apart || highest.peak.value - other.peak.value >= INTERVAL * errors
    };
    if maxima.iter().all(is_lower) {
        return None;
    }
    Some("samples do not tell which of the maxima is the highest; the exact method can".to_owned())
}

/// The same of bandwidths without a maximum between them: the best of them must stand out.
fn doubt_of_best(estimates: &[Estimate]) -> Option<String> {
    let best = estimates.iter().max_by(|a, b| a.mean.value.total_cmp(&b.mean.value))?;
    let is_lower =
        |other: &Estimate| best.mean.value - other.mean.value >= INTERVAL * best.error.value.hypot(other.error.value);
    if estimates.iter().all(|other| std::ptr::eq(other, best) || is_lower(other)) {
        return None;
    }
    Some("samples do not tell which of the bandwidths is the best; the exact method can".to_owned())
}

/// All rows in the random order of a deal.
fn order(task: &Task<'_>, deal: usize) -> Vec<usize> {
    let n = task.points.n_samples();
    let mut random = ChaCha8Rng::seed_from_u64(task.settings.seed);
    random.set_stream(deal as u64);
    index::sample(&mut random, n, n).into_vec()
}

/// The mean of some estimates at one position, and its standard error.
struct Estimate {
    mean: Graded,
    error: Graded,
}

impl Placed {
    fn guess(bracket: &Bracket) -> Self {
        let peak = Peak { position: bracket.secant(), value: bracket.low.1.value };
        Self { peak, error: f64::INFINITY, value_error: f64::INFINITY }
    }
}

impl<'a> Blocks<'a> {
    /// As few blocks as tell how much they differ.
    fn first(task: &'a Task<'a>, unit: f64) -> Result<Self> {
        let size = BLOCK.min(task.points.n_samples() / FEWEST);
        let mut blocks = Self { task, unit, size, sample: Sample::Blocks(order(task, 0), Vec::new()), pairs: 0 };
        blocks.add(FEWEST)?;
        Ok(blocks)
    }

    /// Packs blocks of the first deal until there are `count` of them.
    fn add(&mut self, count: usize) -> Result<()> {
        let Sample::Blocks(order, evaluators) = &mut self.sample else { return Ok(()) };
        for index in evaluators.len()..count {
            let rows = &order[index * self.size..(index + 1) * self.size];
            evaluators.push(pack(self.task, rows, self.unit)?);
        }
        Ok(())
    }

    /// Positions and the brackets of the curve there. Slopes that could be chance are none, and few blocks can hide a maximum: before one is said to be missing, all points that one deal has
    /// are looked at.
    ///
    /// # Errors
    ///
    /// [`Error::NoMaximum`] if those do not show one either.
    fn scan(&mut self, passes: &mut usize) -> Result<(Vec<f64>, Vec<Bracket>)> {
        let task = self.task;
        loop {
            let outcome = task.scan(&mut |gammas: &[f64]| {
                *passes += 1;
                Ok(self.estimate(gammas)?.iter().map(Estimate::told).collect())
            });
            match outcome {
                Ok((positions, _, found)) => return Ok((positions, found)),
                Err(Error::NoMaximum { criterion, low, high, rises, advice, .. }) => {
                    task.context.check()?;
                    if !self.grow_in_deal()? {
                        let n_sampled = Some(self.n_used());
                        return Err(Error::NoMaximum { criterion, low, high, rises, n_sampled, advice });
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes more blocks of the first deal; `false` if all points are in one.
    fn grow_in_deal(&mut self) -> Result<bool> {
        let most = self.task.points.n_samples() / self.size;
        match &self.sample {
            Sample::Blocks(_, evaluators) if evaluators.len() < most => {
                let count = (2 * evaluators.len()).min(most);
                self.add(count).map(|()| true)
            }
            _ => Ok(false),
        }
    }

    /// Makes more blocks, or more deals; `false` if that would be no less than looking at a fair part of all pairs.
    fn grow(&mut self) -> Result<bool> {
        if self.grow_in_deal()? {
            return Ok(true);
        }
        let most = self.task.points.n_samples() / self.size;
        let deals = match &self.sample {
            Sample::Blocks(..) => FEWEST,
            Sample::Deals(deals) => 2 * deals,
        };
        if FEWER_PAIRS[usize::from(self.task.may_be_exact())] * deals > most {
            return Ok(false);
        }
        self.sample = Sample::Deals(deals);
        Ok(true)
    }

    /// Points that were looked at.
    fn n_used(&self) -> usize {
        match &self.sample {
            Sample::Blocks(_, evaluators) => evaluators.iter().map(Evaluator::n).sum(),
            Sample::Deals(_) => self.task.points.n_samples(),
        }
    }

    /// The curve at some inverse widths, by the logarithm of the bandwidth.
    fn estimate(&mut self, gammas: &[f64]) -> Result<Vec<Estimate>> {
        let (task, unit) = (self.task, self.unit);
        let n = task.points.n_samples();
        let mut pairs = 0;
        let mut of_block = |evaluator: &Evaluator, done: f64| -> Result<Vec<Graded>> {
            let mut context = task.context;
            context.progress.fraction = done;
            let sums = evaluator.at_gammas(&task.kernel, gammas, &context)?;
            pairs += (evaluator.n() * (evaluator.n() - 1) / 2) as u64;
            Ok(sums.iter().zip(gammas).map(|(sums, &gamma)| by_position(sums.unbiased_variance(n), gamma)).collect())
        };
        let mut all: Vec<Vec<Graded>> = Vec::new();
        match &self.sample {
            Sample::Blocks(_, evaluators) => {
                for (index, evaluator) in evaluators.iter().enumerate() {
                    all.push(of_block(evaluator, index as f64 / evaluators.len() as f64)?);
                }
            }
            Sample::Deals(deals) => {
                // Blocks of nearly equal size that hold every point: no point weighs more than another by more than a part in 256.
                let count = n / self.size;
                for deal in 0..*deals {
                    let order = order(task, deal);
                    let mut mean = vec![Graded { value: 0.0, slope: 0.0 }; gammas.len()];
                    for index in 0..count {
                        let rows = &order[index * n / count..(index + 1) * n / count];
                        let done = (deal as f64 + index as f64 / count as f64) / *deals as f64;
                        let found = of_block(&pack(task, rows, unit)?, done)?;
                        for (mean, found) in mean.iter_mut().zip(found) {
                            mean.value += found.value / count as f64;
                            mean.slope += found.slope / count as f64;
                        }
                    }
                    all.push(mean);
                }
            }
        }
        self.pairs += pairs;
        Ok((0..gammas.len()).map(|at| Estimate::of(&all.iter().map(|found| found[at]).collect::<Vec<_>>())).collect())
    }

    /// The maximum near another one, with the standard errors of where and how high it is.
    fn place(&mut self, near: Placed, tolerance: f64) -> Result<Placed> {
        let mut placed = near;
        // The error of a step is of the order of its square.
        let enough = (0.1 * STEP).min((0.1 * tolerance).sqrt());
        // The secant through both sides; once more if it leads away.
        for _ in 0..4 {
            let position = placed.peak.position;
            let around = [position - STEP, position, position + STEP];
            let found = self.estimate(&around.map(|x| gamma(x.exp())))?;
            let curvature = (found[2].mean.slope - found[0].mean.slope) / (2.0 * STEP);
            placed.peak.value = found[1].mean.value;
            placed.value_error = found[1].error.value;
            if curvature >= 0.0 {
                placed.error = f64::INFINITY;
                break;
            }
            let step = -found[1].mean.slope / curvature;
            placed.error = found[1].error.slope / -curvature;
            placed.peak.position += step.clamp(-0.5, 0.5);
            if step.abs() <= enough {
                break;
            }
        }
        Ok(placed)
    }
}

/// Some of the points, ready for sums over their pairs.
fn pack(task: &Task<'_>, rows: &[usize], unit: f64) -> Result<Evaluator> {
    let points = task.points.select(rows);
    let evaluator = Evaluator::new(&points, &task.kernel, unit, task.precision, &task.context)?;
    Ok(evaluator.trusting(task.trust))
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

    /// Value and slope. A slope that could be chance is none: it must not make a maximum of a plain.
    fn told(&self) -> Graded {
        let is_chance = self.mean.slope.abs() <= INTERVAL * self.error.slope;
        Graded { value: self.mean.value, slope: if is_chance { 0.0 } else { self.mean.slope } }
    }
}
