//! Epochs of updates.
//!
//! # Method
//!
//! A stochastic gradient step moves by `η₀ τ / (τ + t)` against the mean gradient of a batch. With reduced variance \[JZ13\] an epoch begins with the mean
//! gradient `ḡ` at where it begins, and moves by `η (g − g̃ + ḡ)`, with `g̃` the gradient of the same batch there.
//!
//! The eigenvector that a sample had at its last turn is where Lanczos' method starts at the next: parameters have moved little since. Some of the sample
//! itself, which is the direction that `−x xᵀ` adds, and a little of everything is mixed in, so that no eigenvector is out of reach.

use faer::Mat;

use super::choices::Optimizer;
use super::parameters::{Batch, Parameters, Slopes};
use super::start::gather;
use crate::data::Points;
use crate::eigen::many::Until;
use crate::error::Result;
use crate::preimage::wave;
use crate::watch::{Context, Phase, Threads, Watch};

/// Samples whose losses are computed at a time; then somebody may stop it.
pub(super) const AT_ONCE: usize = 256;
/// How much of the sample, and of everything, is mixed into a start vector.
const MIXED: (f64, f64) = (0.3, 0.02);
/// How many times the loss of parameters that are zero, or of the start, if that is more, the loss of a batch may be before it has diverged.
const DIVERGED: f64 = 100.0;
/// How exact losses are that somebody asks for.
pub(super) const REPORTED: Until = Until { tolerance: 1e-6, max_steps: 300 };
/// How exact losses are that are looked at between epochs. An eigenvalue is off by at most its residual, a ten-thousandth, and by about the square of it where
/// others are not near; the mean over a sample of a thousand rows is off by a hundredth. Steps that make more of it would be half the time of a look.
const LOOKED: Until = Until { tolerance: 1e-4, max_steps: 300 };

/// What an epoch works with.
pub(super) struct Trainer<'a> {
    pub(super) points: &'a Points,
    pub(super) scale: f64,
    pub(super) threads: &'a Threads,
    pub(super) watch: &'a Watch<'a>,
    pub(super) optimizer: Optimizer,
    pub(super) batch_size: usize,
    pub(super) until: Until,
    /// The rows that are learned from.
    pub(super) rows: Vec<usize>,
    /// For each point which one of the span it is.
    pub(super) places: Vec<Option<usize>>,
    /// The eigenvector of each point's last turn, in single precision; empty before the first.
    warm: Vec<f32>,
}

/// Steps and where they have led.
#[derive(Clone, Debug)]
pub(super) struct Progressed {
    pub(super) parameters: Parameters,
    pub(super) updates: usize,
    pub(super) rate: f64,
    /// Updates after which the step has halved; `None` for a step that stays.
    pub(super) decay: Option<f64>,
    /// The largest squared norm of the points that a rate which is found is for.
    pub(super) square: f64,
    /// What steps are divided by: how many times larger the squares of rows are than those that the rate is for.
    pub(super) divisor: f64,
}

/// Where an epoch with reduced variance begins, and the mean gradient there; nothing for plain gradients.
pub(super) struct Reference(Option<(Parameters, Parameters)>);

impl Progressed {
    /// The step of the next update.
    pub(super) fn step(&self) -> f64 {
        let rate = self.rate / self.divisor;
        self.decay.map_or(rate, |tau| rate * tau / (tau + self.updates as f64))
    }
}

/// How an epoch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Done,
    Diverged,
    Stopped,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        points: &'a Points,
        scale: f64,
        (optimizer, batch_size, until): (Optimizer, usize, Until),
        rows: Vec<usize>,
        threads: &'a Threads,
        watch: &'a Watch<'a>,
    ) -> Self {
        let places = vec![None; points.n_samples()];
        Self { points, scale, threads, watch, optimizer, batch_size, until, rows, places, warm: Vec::new() }
    }

    pub(super) fn context(&self) -> Context<'a> {
        Context::new(self.threads, self.watch, Phase::Learning)
    }

    /// Goes through samples once, in the order given; a batch whose loss is more than `limit` times the mean of its squared norms has diverged.
    pub(super) fn epoch(
        &mut self,
        state: &mut Progressed,
        order: &[usize],
        limit: f64,
        context: &Context<'_>,
    ) -> Result<Ended> {
        match self.reference(&state.parameters)? {
            Some(reference) => self.updates(state, order, limit, &reference, context),
            None => Ok(Ended::Stopped),
        }
    }

    /// What an epoch from here on refers to; nothing if the run was stopped.
    pub(super) fn reference(&self, parameters: &Parameters) -> Result<Option<Reference>> {
        if self.optimizer == Optimizer::Sgd {
            return Ok(Some(Reference(None)));
        }
        Ok(self.mean_gradient(parameters)?.map(|mean| Reference(Some((parameters.clone(), mean)))))
    }

    /// As [`epoch`](Self::epoch), with a reference that has been made.
    pub(super) fn updates(
        &mut self,
        state: &mut Progressed,
        order: &[usize],
        limit: f64,
        reference: &Reference,
        context: &Context<'_>,
    ) -> Result<Ended> {
        let n_batches = order.len().div_ceil(self.batch_size);
        for (b, rows) in order.chunks(self.batch_size).enumerate() {
            if self.watch.is_stopped() {
                return Ok(Ended::Stopped);
            }
            context.report_fraction(b as f64 / n_batches as f64);
            let batch = self.batch(rows);
            let slopes = self.slopes(&state.parameters, rows, &batch);
            let loss = mean(&slopes.losses);
            let squares = batch.x.squared_norm_l2() / rows.len() as f64;
            if loss.is_nan() || loss > limit * squares {
                return Ok(Ended::Diverged);
            }
            let rate = state.step();
            if let Some((snapshot, mean_gradient)) = &reference.0 {
                let there = self.slopes(snapshot, rows, &batch);
                state.parameters.step(&batch, &there, -rate, self.threads)?;
                state.parameters.add(mean_gradient, -rate);
            }
            state.parameters.step(&batch, &slopes, rate, self.threads)?;
            state.updates += 1;
            self.remember(rows, &slopes.vectors);
        }
        Ok(Ended::Done)
    }

    /// The mean gradient over all rows; nothing if the run was stopped.
    fn mean_gradient(&self, parameters: &Parameters) -> Result<Option<Parameters>> {
        let mut mean = parameters.zeroed();
        let n = self.rows.len() as f64;
        for rows in self.rows.chunks(AT_ONCE.min(self.batch_size.max(parameters.chunk()))) {
            if self.watch.is_stopped() {
                return Ok(None);
            }
            let batch = self.batch(rows);
            let slopes = self.slopes(parameters, rows, &batch);
            mean.step(&batch, &slopes, -(rows.len() as f64) / n, self.threads)?;
        }
        Ok(Some(mean))
    }

    /// The mean loss over some rows, for points divided by their scale; nothing if the run was stopped.
    pub(super) fn loss(&self, parameters: &Parameters, rows: &[usize]) -> Option<f64> {
        if self.watch.is_stopped() {
            return None;
        }
        let (loss, n_seen) = self.loss_so_far(parameters, rows);
        (n_seen == rows.len()).then_some(loss)
    }

    /// As [`loss`](Self::loss), over the rows that there was time for, which are some even if the run was stopped long ago; and how many they are.
    pub(super) fn loss_so_far(&self, parameters: &Parameters, rows: &[usize]) -> (f64, usize) {
        let (mut sum, mut n_seen) = (0.0, 0);
        for rows in rows.chunks(AT_ONCE) {
            if n_seen > 0 && self.watch.is_stopped() {
                break;
            }
            let batch = self.batch(rows);
            let start = self.starts(rows, &batch.x);
            sum += parameters.losses(batch.x.as_ref(), start.as_ref(), LOOKED, self.threads).iter().sum::<f64>();
            n_seen += rows.len();
        }
        (sum / n_seen.max(1) as f64, n_seen)
    }

    /// The loss of parameters that are zero, which is the mean squared norm.
    pub(super) fn loss_of_zero(&self, rows: &[usize]) -> f64 {
        let square = |row: usize| self.points.row(row).iter().map(|x| (x / self.scale).powi(2)).sum::<f64>();
        rows.iter().map(|&row| square(row)).sum::<f64>() / rows.len().max(1) as f64
    }

    /// What batches are held against: how many times the mean of its squared norms the loss of one may be. Losses grow with the squares of samples, so that of
    /// one that is much longer than the others is much larger than theirs, whatever the step is.
    pub(super) fn batch_limit(&self, start_loss: f64, rows: &[usize]) -> f64 {
        let of_zero = self.loss_of_zero(rows);
        DIVERGED * if of_zero > 0.0 { (start_loss / of_zero).max(1.0) } else { 1.0 }
    }

    fn batch(&self, rows: &[usize]) -> Batch {
        let places = rows.iter().map(|&row| self.places[row]).collect();
        Batch { x: gather(self.points, rows, self.scale), places }
    }

    fn slopes(&self, parameters: &Parameters, rows: &[usize], batch: &Batch) -> Slopes {
        let start = self.starts(rows, &batch.x);
        parameters.slopes(batch.x.as_ref(), start.as_ref(), self.until, self.threads)
    }

    /// Vectors that eigenvectors are searched from.
    fn starts(&self, rows: &[usize], x: &Mat<f64>) -> Mat<f64> {
        let d = x.nrows();
        let mut start = start_vectors(x);
        if !self.warm.is_empty() {
            for (c, &row) in rows.iter().enumerate() {
                let own = &self.warm[row * d..(row + 1) * d];
                start.col_mut(c).iter_mut().zip(own).for_each(|(to, from)| *to += f64::from(*from));
            }
        }
        start
    }

    fn remember(&mut self, rows: &[usize], vectors: &Mat<f64>) {
        let d = vectors.nrows();
        if self.warm.is_empty() {
            self.warm = vec![0.0; self.points.n_samples() * d];
        }
        for (c, &row) in rows.iter().enumerate() {
            let own = &mut self.warm[row * d..(row + 1) * d];
            own.iter_mut().zip(vectors.col(c).iter()).for_each(|(to, from)| *to = *from as f32);
        }
    }
}

/// Start vectors where nothing is known but the samples.
pub(super) fn start_vectors(x: &Mat<f64>) -> Mat<f64> {
    let d = x.nrows();
    let mut start = Mat::zeros(d, x.ncols());
    for c in 0..x.ncols() {
        let length = x.col(c).norm_l2();
        let of_sample = if length > 0.0 { MIXED.0 / length } else { 0.0 };
        for k in 0..d {
            // The wave is the same for all.
            start[(k, c)] = of_sample * x[(k, c)] + MIXED.1 * wave(k);
        }
    }
    start
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::choices::Gradient;
    use super::super::matrix::product;
    use super::super::residuals::Residuals;
    use super::super::span::Span;
    use super::*;
    use crate::eigen::Order;
    use crate::eigen::many::{Counted, extremes};

    /// Parameters hardly move, so that every eigenvector is found again where it was; the samples say little about where that is.
    #[test]
    fn eigenvectors_of_the_last_turn_save_products_at_the_next() {
        let (n, d, m, k) = (30, 48, 60, 2);
        let random = |rows: usize, columns: usize, seed: usize| {
            Mat::from_fn(rows, columns, |i, j| ((i * i * 7 + i * j * 5 + 13 * j + 29 * seed) as f64 * 0.9).sin())
        };
        let x = random(d, n, 1);
        let values: Vec<f64> = (0..n * d).map(|at| x[(at % d, at / d)]).collect();
        let points = Points::from_f64(values, n, d).expect("a number for each place");
        let (span, encoder, decoder) = (Arc::new(Span::new(random(d, m, 2))), random(m, k, 3), random(m, k, 4));
        let codes = product(encoder.transpose(), span.kernel(x.as_ref()).as_ref());
        let weights = product(decoder.as_ref(), codes.as_ref());
        let (threads, watch) = (Threads::new(1).expect("one thread"), Watch::new());
        let (rows, until) = ((0..n).collect::<Vec<_>>(), Until { tolerance: 1e-6, max_steps: 300 });
        let work = (Optimizer::Sgd, 10, until);
        let mut trainer = Trainer::new(&points, 1.0, work, rows.clone(), &threads, &watch);
        let n_products = |trainer: &Trainer<'_>| {
            let counted = Counted::new(Residuals::new(&span, weights.as_ref(), x.as_ref(), until));
            extremes(&counted, trainer.starts(&rows, &x).as_ref(), Order::Modulus, until);
            counted.products.get()
        };
        let before = n_products(&trainer);
        let parameters = Parameters::Data { span: Arc::clone(&span), encoder, decoder, gradient: Gradient::Plain };
        let mut state = Progressed { parameters, updates: 0, rate: 1e-300, decay: None, square: 1.0, divisor: 1.0 };
        let context = trainer.context();
        let ended = trainer.updates(&mut state, &rows, f64::INFINITY, &Reference(None), &context);
        assert_eq!(ended.expect("nothing fails"), Ended::Done);
        let after = n_products(&trainer);
        assert!(after < before, "{after} products, and {before} without the vectors of the last turn");
    }
}
