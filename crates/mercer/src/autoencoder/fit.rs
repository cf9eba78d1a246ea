//! A fit from top to bottom.

use faer::Mat;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::choices::{LearningRate, Optimizer, SpanChoice, StartFrom};
use super::info::{HistoryEntry, Info};
use super::model::Autoencoder;
use super::parameters::Parameters;
use super::settings::{AutoencoderKernelPca, EPOCHS, PATIENCE};
use super::start::{gather, is_stop, span_rows, start};
use super::train::{Ended, Progressed, Trainer};
use super::tune;
use crate::data::{Moments, Points, sample_rows};
use crate::eigen::many::Until;
use crate::error::{Error, Result, bytes_at_least};
use crate::watch::{Context, Stopwatch, Watch};

/// Rows over which the loss of an epoch is computed, at most: their mean is off by a hundredth or so, and the same ones are looked at after every epoch.
const MONITORED: usize = 1000;
/// Residual of eigenpairs while learning from batches, relative to the eigenvalue.
const TOLERANCE: f64 = 1e-3;
/// Products per eigenpair while learning from batches: what they have not told by then is not worth more.
const STEPS: usize = 40;
/// An epoch after which the loss is this many times the best is taken back, if the step is ours to halve; a step that was given and ends with this many times the
/// loss of the start has diverged.
const WORSE: f64 = 1.02;
/// How often the step is halved before learning ends.
pub(super) const HALVINGS: usize = 12;
/// After an epoch whose loss is this many times that of the start, or of no parameters at all, a step that was given has diverged.
pub(super) const DIVERGED: f64 = 10.0;
/// A start whose loss is this share of that of no parameters at all is as good as any: steps can only make it worse.
const PERFECT: f64 = 1e-9;
/// Losses that differ by this share are the same: eigenvectors that are searched for from elsewhere are known to rounding.
const ROUNDING: f64 = 1e-12;

/// Learns from points.
pub(super) fn fit(settings: &AutoencoderKernelPca, points: &Points, watch: &Watch<'_>) -> Result<Autoencoder> {
    let (n, d) = (points.n_samples(), points.n_features());
    settings.validate(n, d)?;
    points.check_finite()?;
    let (scale, square) = scale(settings, points)?;
    check_memory(settings, n, d)?;
    let threads = settings.thread_pool()?;
    let stopwatch = Stopwatch::start();
    let (rows, held_out) = split(settings, n)?;
    let parameters = start(settings, points, &rows, scale, &threads, watch)?;
    let batch_size = settings.batch(n);
    let rate = match settings.learning_rate {
        LearningRate::Fixed(rate) => rate,
        LearningRate::Auto => 0.0,
    };
    let decay = decay(settings, rows.len(), batch_size);
    let state = Progressed { parameters, updates: 0, rate, decay, square, divisor: 1.0 };
    let monitored = sample_rows(rows.len(), MONITORED, settings.seed).into_iter().map(|at| rows[at]).collect();
    let work = (settings.optimizer, batch_size, until(batch_size, settings.tolerance));
    let mut trainer = Trainer::new(points, scale, work, rows, &threads, watch);
    if settings.span == SpanChoice::Data {
        for (place, row) in span_rows(settings, points, &trainer.rows).into_iter().enumerate() {
            trainer.places[row] = Some(place);
        }
    }
    let history = Vec::new();
    let mut run = Run { settings, trainer, state, monitored, held_out, stopwatch, history, n_halved: 0 };
    let outcome = run.go()?;
    let (parameters, info) = run.finish(n, outcome);
    let mean = Moments::of(points).mean().to_vec();
    Ok(Autoencoder::new(parameters, scale, mean, settings.sign, info))
}

/// Updates after which the step has halved: a quarter of all, if nothing else is said. Those of no epochs at all are for others that follow, which there are as many
/// of as if nothing had been said.
fn decay(settings: &AutoencoderKernelPca, n_rows: usize, batch_size: usize) -> Option<f64> {
    let per_epoch = |samples: usize| samples.div_ceil(batch_size) as f64;
    let updates = if let Some(order) = &settings.order {
        order.iter().map(|epoch| per_epoch(epoch.len())).sum()
    } else {
        let epochs = settings.epochs.filter(|&epochs| epochs > 0).unwrap_or(EPOCHS);
        epochs.max(n_epochs(settings)) as f64 * per_epoch(n_rows)
    };
    settings.decay.or(match settings.optimizer {
        Optimizer::Sgd => Some((updates / 4.0).max(1.0)),
        Optimizer::Svrg => None,
    })
}

/// Epochs that are made now.
fn n_epochs(settings: &AutoencoderKernelPca) -> usize {
    let without_order = settings.epochs_now.or(settings.epochs).unwrap_or(EPOCHS);
    settings.order.as_ref().map_or(without_order, Vec::len)
}

/// A run of epochs.
struct Run<'a> {
    settings: &'a AutoencoderKernelPca,
    trainer: Trainer<'a>,
    state: Progressed,
    monitored: Vec<usize>,
    held_out: Vec<usize>,
    stopwatch: Stopwatch,
    history: Vec<HistoryEntry>,
    n_halved: usize,
}

impl Run<'_> {
    /// Looks at the start, finds the step and learns; afterwards the state is what is to be kept.
    fn go(&mut self) -> Result<Ended> {
        let n_epochs = n_epochs(self.settings);
        let mut context = self.trainer.context();
        context.progress.expected_passes = Some(n_epochs);
        let first = self.look_at_start();
        if !(first.loss.is_finite() && first.judged().is_finite()) {
            return Err(Error::invalid("start", "small enough for finite losses", "one whose losses are not"));
        }
        self.history.push(first);
        // A start is a model, too: kernel PCA with a decoder.
        if self.trainer.watch.is_stopped() {
            return Ok(Ended::Stopped);
        }
        if self.settings.learning_rate == LearningRate::Auto && n_epochs > 0 {
            let mut sample = self.trainer.rows.clone();
            sample.shuffle(&mut stream(self.settings.seed, u64::MAX));
            self.state.rate = match tune::rate(&mut self.trainer, &self.state, &sample, &context) {
                Err(error) if is_stop(&error) => return Ok(Ended::Stopped),
                rate => rate?,
            };
        }
        self.history[0].rate = self.state.step();
        self.learn(n_epochs, &mut context)
    }

    /// Epoch after epoch, from the start that has been looked at.
    fn learn(&mut self, n_epochs: usize, context: &mut Context<'_>) -> Result<Ended> {
        let start_loss = self.history[0].loss / self.units();
        let batch_limit = self.trainer.batch_limit(start_loss, &self.monitored);
        let limit = start_loss.max(self.trainer.loss_of_zero(&self.monitored));
        let mut best = (self.history[0].judged(), self.state.parameters.clone());
        let is_ours = self.settings.learning_rate == LearningRate::Auto;
        // Where to go back to from an epoch that was taken back: the best, or the last one where rows held out say which is best.
        let mut last = (is_ours && !self.held_out.is_empty()).then(|| (self.history[0].loss, best.1.clone()));
        let mut waited = 0;
        for epoch in 0..n_epochs {
            context.progress.pass = epoch + 1;
            context.progress.residual = Some(best.0);
            let order = self.order(epoch);
            let ended = self.trainer.epoch(&mut self.state, &order, batch_limit, context)?;
            if ended == Ended::Stopped {
                // What the updates since the last look did, nobody has seen.
                self.state.parameters = best.1;
                return Ok(ended);
            }
            let seen = if ended == Ended::Diverged { None } else { self.look(epoch + 1) };
            let standing = last.as_ref().map_or(best.0, |last| last.0);
            let too_much = if is_ours { WORSE * standing } else { DIVERGED * limit * self.units() };
            let Some(seen) = seen.filter(|seen| seen.loss <= too_much && seen.judged().is_finite()) else {
                if self.trainer.watch.is_stopped() {
                    self.state.parameters = best.1;
                    return Ok(Ended::Stopped);
                }
                if !is_ours || self.n_halved == HALVINGS {
                    self.state.parameters = best.1;
                    return Ok(if is_ours { Ended::Done } else { Ended::Diverged });
                }
                self.state.parameters = last.as_ref().map_or(&best.1, |last| &last.1).clone();
                self.state.rate *= 0.5;
                self.n_halved += 1;
                continue;
            };
            if let Some(last) = &mut last {
                *last = (seen.loss, self.state.parameters.clone());
            }
            let loss = seen.judged();
            self.history.push(seen);
            if loss < best.0 {
                best = (loss, self.state.parameters.clone());
                waited = 0;
            } else {
                waited += 1;
            }
            if !self.held_out.is_empty() && waited >= self.settings.patience.unwrap_or(PATIENCE) {
                break;
            }
        }
        if self.keeps_the_best() {
            self.state.parameters = best.1;
        }
        Ok(if !is_ours && !self.is_of_few() && self.has_grown() { Ended::Diverged } else { Ended::Done })
    }

    /// Whether the best epoch is kept. Samples in an order of one's own, with a step that was given, are for the iterates that they lead to.
    fn keeps_the_best(&self) -> bool {
        self.settings.learning_rate == LearningRate::Auto || self.settings.order.is_none()
    }

    /// Whether there are too few samples in an order of one's own for their losses to tell anything.
    fn is_of_few(&self) -> bool {
        self.settings.order.as_ref().is_some_and(|order| order.iter().map(Vec::len).sum::<usize>() <= FEW)
    }

    /// Whether the loss of the rows learned from is much larger at the end than at the start.
    fn has_grown(&self) -> bool {
        let [first, .., last] = self.history.as_slice() else { return false };
        let of_zero = self.units() * self.trainer.loss_of_zero(&self.monitored);
        last.loss > most_of_given(first.loss, of_zero)
    }

    /// Losses as they are now, in the units of the data; nothing if the run was stopped.
    fn look(&self, epoch: usize) -> Option<HistoryEntry> {
        let loss = self.units() * self.trainer.loss(&self.state.parameters, &self.monitored)?;
        let validation_loss = match self.held_out.as_slice() {
            [] => None,
            rows => Some(self.units() * self.trainer.loss(&self.state.parameters, rows)?),
        };
        Some(self.entry(epoch, loss, validation_loss))
    }

    /// As [`look`](Self::look), at what learning starts from; over some of the rows if the run was stopped before there was time for more.
    fn look_at_start(&self) -> HistoryEntry {
        let loss = |rows: &[usize]| self.units() * self.trainer.loss_so_far(&self.state.parameters, rows).0;
        self.entry(0, loss(&self.monitored), (!self.held_out.is_empty()).then(|| loss(&self.held_out)))
    }

    fn entry(&self, epoch: usize, loss: f64, validation_loss: Option<f64>) -> HistoryEntry {
        let (updates, rate) = (self.state.updates, self.state.step());
        HistoryEntry { epoch, updates, rate, loss, validation_loss, seconds: self.stopwatch.seconds() }
    }

    /// Whether no epoch made the loss smaller: all that is kept is the start, which leaves something to learn.
    fn is_stuck(&self, outcome: Ended) -> bool {
        let [start, later @ ..] = self.history.as_slice() else { return false };
        let was_tried = self.n_halved > 0 || !later.is_empty();
        let is_best = later.iter().all(|entry| entry.judged() >= (1.0 - ROUNDING) * start.judged());
        let leaves_something = start.loss / self.units() > PERFECT * self.trainer.loss_of_zero(&self.monitored);
        outcome == Ended::Done && self.keeps_the_best() && was_tried && is_best && leaves_something
    }

    /// What was learned from `n_samples` rows, and how.
    fn finish(self, n_samples: usize, outcome: Ended) -> (Parameters, Info) {
        let is_stuck = self.is_stuck(outcome);
        let (settings, state) = (self.settings, self.state);
        let info = Info {
            n_samples,
            span: settings.span,
            optimizer: settings.optimizer,
            gradient: settings.gradient,
            learning_rate: state.rate,
            rate_was_found: settings.learning_rate == LearningRate::Auto,
            decay: state.decay,
            updates: state.updates,
            batch_size: self.trainer.batch_size,
            tolerance: self.trainer.until.tolerance,
            seed: settings.seed,
            diverged: outcome == Ended::Diverged,
            was_stopped: outcome == Ended::Stopped,
            is_stuck,
            divides_by_one: settings.scale && is_one(self.trainer.scale),
            square: state.square,
            n_halved: self.n_halved,
            history: self.history,
        };
        (state.parameters, info)
    }

    /// What a loss of points divided by their scale is multiplied with.
    fn units(&self) -> f64 {
        self.trainer.scale * self.trainer.scale
    }

    fn order(&self, epoch: usize) -> Vec<usize> {
        if let Some(order) = &self.settings.order {
            return order[epoch].clone();
        }
        let mut order = self.trainer.rows.clone();
        order.shuffle(&mut stream(self.settings.seed, epoch as u64 + 1));
        order
    }
}

/// Updates of single samples are noise, of which so few tell nothing: with a step that was given, they are for the iterates that they lead to.
pub(super) const FEW: usize = 10;

/// The loss that a step which was given may end with, from the loss that it began with and that of no parameters at all: with more it has diverged.
pub(super) fn most_of_given(start_loss: f64, of_zero: f64) -> f64 {
    WORSE * start_loss + PERFECT * of_zero
}

/// How exact eigenpairs are while learning. What is asked to be more exact than usual may take more steps.
pub(super) fn until(batch_size: usize, tolerance: Option<f64>) -> Until {
    let textbook = batch_size == 1;
    let tolerance = tolerance.unwrap_or(if textbook { 1e-12 } else { TOLERANCE });
    Until { tolerance, max_steps: if textbook || tolerance < TOLERANCE { 300 } else { STEPS } }
}

fn stream(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    random
}

/// The largest norm of a point, or one if points are taken as they are; and the largest squared norm of a point that is divided by it.
fn scale(settings: &AutoencoderKernelPca, points: &Points) -> Result<(f64, f64)> {
    let largest = largest_square(points)?;
    // Codes are squares of points, and kernel values squares of squares, which are never made of points that are divided by their norm.
    let (power, smallest) = if settings.scale { (2, largest) } else { (4, largest * largest) };
    if smallest < f64::MIN_POSITIVE / f64::EPSILON {
        let n_samples = points.n_samples();
        let sizes = (0..n_samples).flat_map(|row| points.row(row)).map(f64::abs);
        let largest = sizes.fold(0.0, f64::max);
        return Err(if largest == 0.0 {
            Error::AllZero { n_samples }
        } else {
            Error::CodeUnderflow { n_samples, largest, power }
        });
    }
    Ok(if settings.scale { (largest.sqrt(), 1.0) } else { (1.0, largest) })
}

/// Whether a scale leaves points as they are.
pub(super) fn is_one(scale: f64) -> bool {
    scale.to_bits() == 1.0_f64.to_bits()
}

/// The largest squared norm of a point.
pub(super) fn largest_square(points: &Points) -> Result<f64> {
    let norm = |row: usize| points.row(row).iter().map(|x| x * x).sum::<f64>();
    let (row, largest) =
        (0..points.n_samples()).map(|row| (row, norm(row))).fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    // Codes are squares of points, and products of codes with forms squares of squares.
    if !(largest * largest).is_finite() {
        return Err(Error::CodeOverflow { row });
    }
    Ok(largest)
}

/// Rows that are learned from, and rows that are held out.
fn split(settings: &AutoencoderKernelPca, n: usize) -> Result<(Vec<usize>, Vec<usize>)> {
    let held = (settings.validation * n as f64).round() as usize;
    if settings.validation > 0.0 && (held == 0 || held == n) {
        let requirement = format!("a share that leaves rows on both sides of {n}");
        return Err(Error::invalid("validation", requirement, settings.validation));
    }
    let held_out = if held == 0 { Vec::new() } else { sample_rows(n, held, settings.seed) };
    let mut is_held = vec![false; n];
    for &row in &held_out {
        is_held[row] = true;
    }
    Ok(((0..n).filter(|&row| !is_held[row]).collect(), held_out))
}

/// Refuses what does not fit the budget, before anything is made, with what would.
fn check_memory(settings: &AutoencoderKernelPca, n: usize, d: usize) -> Result<()> {
    let (k, span) = (settings.n_components, settings.span);
    let m = settings.landmarks.unwrap_or(super::settings::LANDMARKS).min(n);
    let (needed, budget) = (memory_needed(settings, (n, d), span, k, m), settings.memory.bytes());
    if needed <= budget {
        return Ok(());
    }
    let fits = |span, k, m| memory_needed(settings, (n, d), span, k, m) <= budget;
    let ways = [
        ("learn over a span of the data (span = \"data\")", span == SpanChoice::Full && fits(SpanChoice::Data, k, m)),
        ("make the span of fewer points", span == SpanChoice::Data && fits(span, k, 1)),
        ("learn fewer components", fits(span, 1, m)),
    ];
    let ways: Vec<&str> = ways.into_iter().filter_map(|(way, would_do)| would_do.then_some(way)).collect();
    let advice =
        if ways.is_empty() { format!("a budget of {} would do", bytes_at_least(needed)) } else { ways.join(", or ") };
    let what = match span {
        SpanChoice::Full => format!("{k} forms of {d} columns"),
        SpanChoice::Data => format!("a span of {m} points"),
    };
    Err(Error::OverBudget { what, needed, budget, advice })
}

/// Bytes that learning `k` components takes, over a span of `m` points of the data if it is over one.
fn memory_needed(settings: &AutoencoderKernelPca, (n, d): (usize, usize), span: SpanChoice, k: usize, m: usize) -> u64 {
    let product = |factors: &[usize]| factors.iter().fold(8, |all: u64, &one| all.saturating_mul(one as u64));
    // Parameters now and at their best; for reduced variance those of the epoch's start and the mean gradient; with rows held out those to go back to.
    let copies = if settings.optimizer == Optimizer::Svrg { 4 } else { 2 } + usize::from(settings.validation > 0.0);
    let parts = match span {
        SpanChoice::Full => {
            let numbers = match &settings.start {
                StartFrom::Given(given) if !given.is_symmetric(d) => d.saturating_mul(d),
                _ => d.saturating_mul(d.saturating_add(1)) / 2,
            };
            vec![product(&[2, copies, k, numbers])]
        }
        // Beside the coefficients the kernel matrix and its factor, and the points, in single precision, too.
        SpanChoice::Data => {
            vec![product(&[2, copies, k, m]), product(&[2, m, m]), product(&[m, d]), product(&[m, d]) / 2]
        }
    };
    // The eigenvectors of all rows in single precision.
    parts.into_iter().fold(product(&[n, d]) / 2, u64::saturating_add)
}

/// Points as columns, divided by a scale.
pub(super) fn columns(points: &Points, first: usize, count: usize, scale: f64) -> Mat<f64> {
    let rows: Vec<usize> = (first..first + count).collect();
    gather(points, &rows, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_to_be_more_exact_may_take_more_steps_now_and_later() {
        let of = |batch_size, tolerance| {
            let until = until(batch_size, tolerance);
            // What a model remembers is the tolerance, and learning goes on as it began.
            assert_eq!(super::until(batch_size, Some(until.tolerance)).max_steps, until.max_steps);
            (until.tolerance, until.max_steps)
        };
        assert_eq!(of(20, None), (TOLERANCE, STEPS));
        assert_eq!(of(20, Some(1e-10)), (1e-10, 300));
        assert_eq!(of(1, None), (1e-12, 300));
    }
}
