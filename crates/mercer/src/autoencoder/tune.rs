//! The step that learning begins with, found by trying.
//!
//! # Method
//!
//! From the start, a few batches of a sample are learned with steps that are powers of two, and the loss over part of the sample is compared: up in steps of four
//! while that is better, down while it is not, and one of two at the end. A run that diverges has no loss at all. All trials begin at the same place, so with
//! reduced variance they have one reference.
//!
//! Everything is homogeneous in the points: with points that are `s` times as long, and not divided by their largest norm, steps of `1 / s²` times the length lead
//! along the same way, and of `1 / s⁶` times the length where coefficients over a span, which are `1 / s²` as large themselves, are moved by their own gradient, which
//! is `s⁴` as large.

use super::choices::Gradient;
use super::parameters::Parameters;
use super::train::{Ended, Progressed, Trainer};
use crate::error::Result;
use crate::watch::Context;

/// Samples that are learned from in a trial, at most, and over which losses are compared.
const SAMPLES: usize = 2048;
const COMPARED: usize = 512;
/// Of few rows a trial takes one of so many, so that all trials together take no longer than two or three epochs;
const SHARE: usize = 3;
/// but so many batches, after which steps that differ by two have led to different losses.
const BATCHES: usize = 16;
/// The first step that is tried, for points whose largest norm is one.
const FIRST: f64 = 0.25;
/// Steps are tried from and up to these, for such points.
const RANGE: (f64, f64) = (1e-7, 1e4);
/// What these are divided by for others leaves them numbers.
const MOST_UNIT: f64 = 1e300;

/// The rate with the least loss after a trial.
///
/// # Errors
///
/// If the run was stopped.
pub(super) fn rate(
    trainer: &mut Trainer<'_>,
    start: &Progressed,
    sample: &[usize],
    context: &Context<'_>,
) -> Result<f64> {
    let n_tried = SAMPLES.min((sample.len() / SHARE).max(BATCHES.saturating_mul(trainer.batch_size)));
    let order: Vec<usize> = sample.iter().copied().take(n_tried).collect();
    let compared: Vec<usize> = sample.iter().copied().take(COMPARED).collect();
    let stopped = || context.interrupted();
    let start_loss = trainer.loss(&start.parameters, &compared).ok_or_else(stopped)?;
    let limit = trainer.batch_limit(start_loss, &compared);
    let reference = trainer.reference(&start.parameters)?.ok_or_else(stopped)?;
    let mut trial = |rate: f64| -> Result<f64> {
        let mut state = Progressed { rate, decay: None, ..start.clone() };
        match trainer.updates(&mut state, &order, limit, &reference, context)? {
            Ended::Stopped => Err(stopped()),
            Ended::Diverged => Ok(f64::INFINITY),
            Ended::Done => {
                let loss = trainer.loss(&state.parameters, &compared).ok_or_else(stopped)?;
                Ok(if loss.is_nan() { f64::INFINITY } else { loss })
            }
        }
    };
    let unit = unit(&start.parameters, start.square);
    let first = FIRST / unit;
    let mut best = (first, trial(first)?);
    for factor in [4.0, 0.25] {
        let mut found = false;
        loop {
            let next = best.0 * factor;
            if !(RANGE.0 / unit..=RANGE.1 / unit).contains(&next) {
                break;
            }
            let loss = trial(next)?;
            // While everything diverges, smaller is better.
            if loss < best.1 || (factor < 1.0 && best.1 >= start_loss) {
                best = (next, loss);
                found = true;
            } else {
                break;
            }
        }
        if found {
            break;
        }
    }
    for next in [2.0 * best.0, 0.5 * best.0] {
        let loss = trial(next)?;
        if loss < best.1 {
            best = (next, loss);
        }
    }
    Ok(best.0)
}

/// What steps are divided by that would do for points whose largest norm is one, where its square is this.
fn unit(parameters: &Parameters, square: f64) -> f64 {
    let is_plain = matches!(parameters, Parameters::Data { gradient: Gradient::Plain, .. });
    (if is_plain { square.powi(3) } else { square }).clamp(1.0 / MOST_UNIT, MOST_UNIT)
}
