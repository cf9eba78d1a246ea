//! Learning from more points than those of the fit.

use std::sync::Arc;

use super::fit::{DIVERGED, FEW, HALVINGS, largest_square, most_of_given, until};
use super::info::{HistoryEntry, Info};
use super::model::Autoencoder;
use super::parameters::Parameters;
use super::start::is_stop;
use super::train::{AT_ONCE, Ended, Progressed, Trainer};
use super::tune;
use crate::data::Points;
use crate::error::Result;
use crate::watch::{Stopwatch, Watch};

/// More points than those of the fit may make the loss of theirs larger by this share of that of no parameters at all, if the step is ours to halve:
/// steps are noisy, and few rows say little.
const GROWN: f64 = 0.1;
/// Whose step an epoch takes, and what it is for: that says how much worse it may make things.
#[derive(Clone, Copy, PartialEq)]
enum Step {
    /// It was found by trying, or is still to be: ours to halve.
    Found,
    /// It was given.
    Given,
    /// It was given for few rows, learned one at a time. They are held against the loss that the fit started with: against their own before, one call after the other
    /// could make it larger.
    Textbook { first_loss: f64 },
}

impl Step {
    /// That of an epoch of a model over these rows, all of which count, however many of them there is time for.
    fn over(rows: &[usize], model: &Autoencoder) -> Self {
        let info = model.info();
        if is_found(info) {
            Self::Found
        } else if info.batch_size == 1 && rows.len() <= FEW {
            let first_loss = info.history.first().map_or(0.0, |entry| entry.loss);
            Self::Textbook { first_loss: first_loss / (model.scale() * model.scale()) }
        } else {
            Self::Given
        }
    }
}

/// Rows that come a few at a time and are learned one by one: of few of them nothing follows, but of all of them together it does.
#[derive(Clone, Debug)]
pub(super) struct Few {
    /// Where the model stood before the first of them.
    began: Arc<Parameters>,
    n_rows: usize,
    /// Sums over the rows: of the losses that they had when they came, of those that they would have had where it began, and of their squared norms.
    losses: f64,
    losses_there: f64,
    squares: f64,
}

impl Few {
    /// Those that a model has seen, and these rows.
    fn with(model: &Autoencoder, trainer: &Trainer<'_>, rows: &[usize], loss: f64) -> Self {
        let mut few = model.few().cloned().unwrap_or_else(|| Self {
            began: Arc::new(model.parameters().clone()),
            n_rows: 0,
            losses: 0.0,
            losses_there: 0.0,
            squares: 0.0,
        });
        let n = rows.len() as f64;
        few.n_rows += rows.len();
        few.losses += n * loss;
        few.losses_there += n * trainer.loss_so_far(&few.began, rows).0;
        few.squares += n * trainer.loss_of_zero(rows);
        few
    }

    /// Whether their losses are much larger than they would have been where it began.
    fn have_grown(&self) -> bool {
        self.n_rows > FEW && self.losses > most_of_given(self.losses_there, self.squares)
    }
}

/// What becomes of a model.
pub(super) struct Next {
    pub(super) parameters: Parameters,
    pub(super) info: Info,
    pub(super) few: Option<Few>,
}

/// One more epoch over new points, in their order, with what a model knows. If that makes things much worse, the model stays as it was. Of a run that was stopped
/// the updates until then are kept, unless they make things much worse; without an update everything stays as it was.
pub(super) fn go_on(model: &Autoencoder, points: &Points, watch: &Watch<'_>) -> Result<Next> {
    let info = model.info();
    let threads = model.threads()?;
    let work = (info.optimizer, info.batch_size, until(info.batch_size, Some(info.tolerance)));
    let rows: Vec<usize> = (0..points.n_samples()).collect();
    let mut trainer = Trainer::new(points, model.scale(), work, rows.clone(), &threads, watch);
    let before = before(model, points)?;
    let step = Step::over(&rows, model);
    let stopwatch = Stopwatch::start();
    let context = trainer.context();
    let mut state = before.clone();
    if state.rate == 0.0 {
        state.rate = match tune::rate(&mut trainer, &before, &rows, &context) {
            Err(error) if is_stop(&error) => return Ok(untouched(model)),
            rate => rate?,
        };
    }
    let Some(start_loss) = trainer.loss(&before.parameters, &rows) else { return Ok(untouched(model)) };
    let is_textbook = matches!(step, Step::Textbook { .. });
    let few = if is_textbook { Some(Few::with(model, &trainer, &rows, start_loss)) } else { model.few().cloned() };
    let (too_much, batch_limit) = (too_much(&trainer, start_loss, &rows, step), trainer.batch_limit(start_loss, &rows));
    let mut info = Info { was_stopped: false, diverged: false, is_stuck: false, ..info.clone() };
    let loss = loop {
        let ended = trainer.epoch(&mut state, &rows, batch_limit, &context)?;
        let loss = if ended == Ended::Diverged { Some(f64::NAN) } else { trainer.loss(&state.parameters, &rows) };
        match loss {
            Some(loss) if loss <= too_much => break loss,
            Some(_) if step == Step::Found && info.n_halved < model.info().n_halved + HALVINGS => {
                state = Progressed { rate: 0.5 * state.rate, ..before.clone() };
                info.n_halved += 1;
            }
            Some(_) => {
                info.diverged = true;
                return Ok(Next { parameters: before.parameters, info, few });
            }
            None => {
                let learned = rows.len().min((state.updates - before.updates).saturating_mul(info.batch_size));
                if !is_worth_keeping(&trainer, &before, &state, &rows[..learned], step) {
                    return Ok(untouched(model));
                }
                info.was_stopped = true;
                info.n_samples += learned;
                (info.updates, info.learning_rate) = (state.updates, state.rate);
                return Ok(Next { parameters: state.parameters, info, few });
            }
        }
    };
    info.diverged = is_textbook && few.as_ref().is_some_and(Few::have_grown);
    info.n_samples += rows.len();
    (info.updates, info.learning_rate) = (state.updates, state.rate);
    let epoch = info.history.last().map_or(0, |entry| entry.epoch) + 1;
    let seconds = info.history.last().map_or(0.0, |entry| entry.seconds) + stopwatch.seconds();
    let (updates, rate, loss) = (state.updates, state.step(), loss * model.scale() * model.scale());
    info.history.push(HistoryEntry { epoch, updates, rate, loss, validation_loss: None, seconds });
    Ok(Next { parameters: state.parameters, info, few })
}

/// A model as it was, of whose run nothing is kept because it was stopped.
fn untouched(model: &Autoencoder) -> Next {
    let info = Info { was_stopped: true, diverged: false, is_stuck: false, ..model.info().clone() };
    Next { parameters: model.parameters().clone(), info, few: model.few().cloned() }
}

/// Whether the step is ours to halve: it was found by trying, or is still to be.
fn is_found(info: &Info) -> bool {
    info.rate_was_found || info.learning_rate == 0.0
}

/// Where a model stands before it learns from these points.
fn before(model: &Autoencoder, points: &Points) -> Result<Progressed> {
    let info = model.info();
    let longer = largest_square(points)? / (model.scale() * model.scale() * info.square);
    Ok(Progressed {
        parameters: model.parameters().clone(),
        updates: info.updates,
        rate: info.learning_rate,
        decay: info.decay,
        square: info.square,
        // A step that was found is one for the rows that it was found with; losses and slopes grow with the square of longer ones.
        divisor: if is_found(info) { longer.max(1.0) } else { 1.0 },
    })
}

/// The loss of some rows from which on learning has made things much worse.
fn too_much(trainer: &Trainer<'_>, start_loss: f64, rows: &[usize], step: Step) -> f64 {
    let of_zero = trainer.loss_of_zero(rows);
    match step {
        Step::Found => start_loss + GROWN * of_zero,
        Step::Given => most_of_given(start_loss, of_zero),
        Step::Textbook { first_loss } => DIVERGED * first_loss.max(of_zero),
    }
}

/// Whether updates of a run that was stopped have not made things much worse, for some of the rows that they are of.
fn is_worth_keeping(
    trainer: &Trainer<'_>,
    before: &Progressed,
    after: &Progressed,
    learned: &[usize],
    step: Step,
) -> bool {
    let some = &learned[..learned.len().min(AT_ONCE)];
    let loss = |state: &Progressed| trainer.loss_so_far(&state.parameters, some).0;
    !some.is_empty() && loss(after) <= too_much(trainer, loss(before), some, step)
}
