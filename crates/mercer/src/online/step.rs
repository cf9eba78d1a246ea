//! What happens when a row is learned.

use super::block::Block;
use super::learner::{DEPENDENT, Learner, ROUNDED, Seen};
use super::memory::dot;
use super::passes;
use super::settings::{Policy, Rule, Schedule};
use super::span::Span;
use super::update::{Place, Update};
use crate::choices::Center;
use crate::error::{Error, Result};

/// The learning rate, times the variance of the rows, if none was asked for. Components that have settled lose about half of it, times
/// the share of the variance that they leave, to the noise of single rows; and a component that explains the share `s` of
/// the variance has learned most of it after `1 / (s · AUTOMATIC)` rows.
const AUTOMATIC: f64 = 0.05;

/// What a rate that falls with the number of rows begins at, times the smallest variance of a component, if none was asked for.
const FALLING: f64 = 2.0;

/// What is wanted of a row that is learned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Outputs only: nobody looks at the novelty, which costs more than all else where components are many.
    Outputs,
    /// Outputs and novelty.
    All,
}

/// Room for the numbers of a step, so that no step has to ask for any.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    update: Update,
    /// Inner products of the row with the components, and what components learn from.
    raw: Vec<f64>,
    learned: Vec<f64>,
    span: Span,
    /// The combination of the rows in memory that is nearest to the row.
    pub(super) coefficients: Vec<f64>,
    pub(super) weights: Vec<f64>,
    /// What a row that goes takes with it.
    pub(super) lost: Vec<f64>,
}

impl Learner {
    /// Learns row `i` of a block, the ones before it having been learned.
    pub(super) fn step(&mut self, block: &mut Block, i: usize, answer: Answer) -> Result<Seen> {
        let mut work = std::mem::take(&mut self.work);
        let before = self.may_fail_half_way().then(|| self.clone());
        let mut seen = self.step_in(&mut work, block, i, answer);
        if let (Err(error), Some(before)) = (&mut seen, before) {
            *self = before;
            if let Error::KernelWithLearned { row, .. } = error {
                // Values of rows in memory are asked for because of this one.
                *row = self.n_seen;
            }
        }
        self.work = work;
        seen
    }

    /// Whether a step may fail after it has begun to change the learner: a function of the user is then asked for values of rows in memory, where one
    /// may be dropped, where all is computed anew, and where a component begins at its start point.
    fn may_fail_half_way(&self) -> bool {
        let calls_a_function = self.memory.as_ref().is_some_and(|memory| !memory.rows.is_vectorised());
        calls_a_function && (self.may_call_to_keep_to_budget() || self.settings.rows_per_component.is_some())
    }

    fn step_in(&mut self, work: &mut Workspace, block: &mut Block, i: usize, answer: Answer) -> Result<Seen> {
        let memory = self.memory.as_ref().expect("made before the first row");
        let (k, row) = (block.values(i, memory), self.n_seen);
        let square = self.square(block.row(i), row)?;
        memory.rows.check_row(k, row)?;
        let expansions = memory.components.iter().chain(std::iter::once(&memory.mean));
        passes::products(memory.isa, expansions, k, &mut work.raw);
        let held = memory.len() as u64;
        // The last product is that with the mean, which is not squared.
        let (&with_mean, products) = work.raw.split_last().expect("one for the mean");
        self.check_products(products, row)?;
        self.check_distance_from_memory(block, i, square, with_mean)?;
        // Nothing has changed until here.
        self.kernel_entries += held;
        self.n_seen += 1;
        self.n_since += 1;

        let seen = self.plan(work, square, answer);
        let Workspace { update, coefficients, weights, lost, raw, .. } = work;
        let (place, forgotten) = self.place(block, i, square, update, (&mut *coefficients, weights))?;
        let memory = self.memory.as_mut().expect("made before the first row");
        passes::apply(memory, update, place);
        self.follow(update, place, raw, lost);
        self.start_component(place, block, i, square);
        self.keep_to_budget(forgotten, block, i, work)?;
        self.recent.push(block.row(i));
        self.take_turns()?;
        Ok(seen)
    }

    /// The learning rate at a row whose squared length is `square`.
    fn rate(&self, square: f64, span: &mut Span) -> f64 {
        let t = self.n_since as f64;
        let eta = self.settings.learning_rate.unwrap_or_else(|| AUTOMATIC * self.per_variance(square));
        match self.settings.schedule {
            Schedule::Constant => eta,
            Schedule::Inverse if self.settings.learning_rate.is_none() => eta.min(self.falling_rate(span) / t),
            Schedule::Inverse => eta / t,
            // `η τ / (t + τ)`, whose product could overflow.
            Schedule::Anneal => eta / (1.0 + t / self.settings.annealing_time()),
        }
    }

    /// One over the variance of the rows, or zero if all there is of it is rounding: a sensor that is stuck teaches nothing.
    pub(super) fn per_variance(&self, square: f64) -> f64 {
        let one_over = 1.0 / self.total_variance;
        if self.total_variance > ROUNDED * square.abs() && one_over.is_finite() { one_over } else { 0.0 }
    }

    /// What a rate that falls as one over the number of rows begins at, if it was not asked for: a component that explains the variance `v`
    /// is learned to the end only if this is above `1 / v`. Components that depend on others have none of their own.
    fn falling_rate(&self, span: &mut Span) -> f64 {
        span.follow(&self.inner);
        let least = span.kept().iter().fold(f64::INFINITY, |least, &p| least.min(self.variances[p]));
        if least > 0.0 { FALLING / least } else { f64::INFINITY }
    }

    /// (1) The numbers of the update, from the inner products of the row with the components and the mean.
    fn plan(&mut self, work: &mut Workspace, square: f64, answer: Answer) -> Seen {
        let Workspace { update, raw, learned, span, .. } = work;
        let forgetting = self.share_since(0);
        let share = if self.is_centered() { forgetting.max(self.least_share()) } else { 0.0 };
        let before = raw.pop().expect("one for the mean");
        let mean_squared =
            (1.0 - share).powi(2) * self.mean_squared + 2.0 * share * (1.0 - share) * before + share * share * square;
        let with_mean = (1.0 - share) * before + share * square;
        update.outputs.clone_from(raw);
        if self.is_centered() {
            for (output, offset) in update.outputs.iter_mut().zip(&self.with_mean) {
                *output = (1.0 - share) * (*output - offset);
            }
        }
        // w·m with the new mean.
        for (offset, raw) in self.with_mean.iter_mut().zip(&*raw) {
            *offset = (1.0 - share) * *offset + share * raw;
        }
        self.mean_squared = mean_squared;
        (update.share, update.length_squared, update.centered_with_mean) = if self.is_centered() {
            (share, square - 2.0 * with_mean + mean_squared, with_mean - mean_squared)
        } else {
            (share, square, 0.0)
        };
        self.total_variance += forgetting * (update.length_squared.max(0.0) - self.total_variance);

        let novelty = match answer {
            Answer::Outputs => f64::NAN,
            Answer::All => {
                span.follow(&self.inner);
                self.left(update.length_squared, span.explained(&update.outputs))
            }
        };
        self.learned_outputs(&update.outputs, learned);
        let eta = self.rate_for(learned, square, span);
        for (p, y) in learned.iter().enumerate().take(self.started) {
            self.variances[p] += self.share_since(self.began[p]) * (y * y - self.variances[p]);
        }
        self.learn_lateral(learned, eta);
        let subtracted = match self.settings.rule {
            Rule::Simultaneous => eta * self.settings.beta.unwrap_or(1.0),
            Rule::Oja | Rule::Apex => 0.0,
        };
        update.take.clear();
        update.take.extend(update.outputs.iter().map(|y| subtracted * y));
        let learns = |p: usize| if p < self.finished { 0.0 } else { eta };
        update.keep.clear();
        update.keep.extend(learned.iter().enumerate().map(|(p, y)| 1.0 - learns(p) * y * y));
        update.gain.clear();
        update.gain.extend(learned.iter().enumerate().map(|(p, y)| learns(p) * y));
        Seen { outputs: learned.clone(), novelty }
    }

    /// What a row has of a running mean over the rows since so many had been counted.
    fn share_since(&self, before: usize) -> f64 {
        (1.0 / (self.n_counted() - before) as f64).max(self.settings.forgetting.unwrap_or(0.0))
    }

    /// What a row has of the mean, at least. Where rows are dropped the mean is that of the rows left: were the new ones to count as one of
    /// all rows ever seen, the oldest would soon be nearly all of it, and nothing but rounding would be left of it when they go.
    fn least_share(&self) -> f64 {
        self.settings.budget.filter(|_| self.drops_rows()).map_or(0.0, |budget| 1.0 / budget as f64)
    }

    /// Whether rows leave memory with their part of the components.
    pub(super) fn drops_rows(&self) -> bool {
        self.settings.budget.is_some() && self.settings.policy.unwrap_or_default() != Policy::Project
    }

    /// The learning rate at a row with these outputs: smaller than it should be if a step would overshoot.
    fn rate_for(&mut self, learned: &[f64], square: f64, span: &mut Span) -> f64 {
        let largest = learned[self.finished..].iter().fold(0.0_f64, |m, y| m.max(y * y));
        let eta = self.rate(square, span);
        // Where all outputs are zero no rate overshoots, whatever it is.
        if largest == 0.0 || eta * largest < 2.0 {
            return eta;
        }
        let smaller = 1.0 / largest;
        self.n_shrunk += 1;
        self.last_shrunk = Some((eta, smaller));
        smaller
    }

    /// The outputs that components learn from: with lateral weights, if the rule has them.
    pub(super) fn learned_outputs(&self, outputs: &[f64], learned: &mut Vec<f64>) {
        learned.clear();
        for (p, (y, lateral)) in outputs.iter().zip(&self.lateral).enumerate() {
            // A component that has finished is decorrelated from those before it and needs no help any more.
            let inhibited = self.settings.rule == Rule::Apex && p >= self.finished;
            learned.push(y + if inhibited { dot(lateral, learned) } else { 0.0 });
        }
    }

    fn learn_lateral(&mut self, learned: &[f64], eta: f64) {
        if self.settings.rule == Rule::Apex {
            for (p, lateral) in self.lateral.iter_mut().enumerate().skip(self.finished) {
                let y = learned[p];
                for (a, before) in lateral.iter_mut().zip(learned) {
                    *a -= eta * y * (before + y * *a);
                }
            }
        }
    }

    /// Where the image of the row is, and which slot is to be forgotten for it, if the policy looks ahead. The last argument is room for a
    /// combination of the rows in memory, and for their weights.
    fn place<'w>(
        &mut self,
        block: &mut Block,
        i: usize,
        square: f64,
        update: &Update,
        (coefficients, weights): (&'w mut Vec<f64>, &mut Vec<f64>),
    ) -> Result<(Place<'w>, Option<usize>)> {
        let (arrival, budget) = (self.n_counted(), self.settings.budget);
        // Components have unit length, the rows that of their variance: so the mean counts as one component more. What it has lost stays in it
        // as long as rows do, and is learned as if rows differed in it.
        let of_mean = self.per_variance(square);
        let memory = self.memory.as_mut().expect("made before the first row");
        if let Some(slot) = memory.place_of(block.row(i)) {
            if memory.arrivals[slot] > 0 {
                memory.arrivals[slot] = arrival;
            }
            return Ok((Place::Slot { slot, is_new: false }, None));
        }
        let mut forgotten = None;
        if let Some(factor) = &memory.factor {
            let residual = block.residual(i, square, factor);
            block.combination(i, factor, memory.rows.padded_len(), coefficients);
            // Rows far from the origin, or under a wide kernel, have nearly all of their length in common with every other.
            let learned_from =
                if self.settings.center == Center::Yes { update.length_squared.min(square) } else { square };
            if residual <= (DEPENDENT * learned_from).max(ROUNDED * square) {
                return Ok((Place::Combination { coefficients, residual: residual.max(0.0) }, None));
            }
            if budget.is_some_and(|budget| memory.n_forgettable() >= budget) {
                let gains = update.gain.iter().map(|gain| gain * gain).sum::<f64>();
                let own = gains * (1.0 - update.share).powi(2) + of_mean * update.share * update.share;
                forgotten = memory.cheapest(own * residual, residual, coefficients, of_mean, weights);
                if forgotten.is_none() {
                    return Ok((Place::Combination { coefficients, residual }, None));
                }
            }
            weights.clear();
            weights.extend(block.half(i, factor));
            let factor = memory.factor.as_mut().expect("there is one");
            factor.push(weights, residual, coefficients);
        }
        let slot = memory.push(block.row(i), square, arrival);
        block.has_entered(i, slot, memory)?;
        Ok((Place::Slot { slot, is_new: true }, forgotten))
    }

    /// (3) What is known of inner products after the update.
    fn follow(&mut self, update: &Update, place: Place<'_>, room: &mut Vec<f64>, lost: &mut Vec<f64>) {
        // w·m, whose mean is already the new one, and w·w.
        update.transform(self.with_mean.iter_mut());
        for (offset, gain) in self.with_mean.iter_mut().zip(&update.gain) {
            *offset += gain * update.centered_with_mean;
        }
        update.follow(&mut self.inner, room);
        let followed = self.followed_error.iter_mut().zip(&mut self.unsettled);
        for ((error, unsettled), keep) in followed.zip(&update.keep) {
            if *error > 0.0 {
                *unsettled *= keep.abs().min(1.0);
            }
            *error *= keep.abs();
        }
        if let Place::Combination { residual, .. } = place {
            lost.clear();
            lost.extend(update.gain.iter().map(|gain| gain * (1.0 - update.share)));
            self.lose(lost, update.share, residual);
            self.given_up += 1;
        }
    }

    /// A part orthogonal to all that is left goes: `lost` times it of each component, `lost_mean` times it of the mean, and its squared
    /// length is `residual`.
    pub(super) fn lose(&mut self, lost: &[f64], lost_mean: f64, residual: f64) {
        for (i, a) in lost.iter().enumerate() {
            for (j, b) in lost.iter().enumerate() {
                self.inner[(i, j)] -= a * b * residual;
            }
            self.with_mean[i] -= a * lost_mean * residual;
        }
        for (i, a) in lost.iter().enumerate() {
            self.note_loss(i, a.abs() * residual.sqrt());
        }
        self.mean_squared -= lost_mean * lost_mean * residual;
    }

    /// A part of this length has gone from a component; see [`budget_error`](Self::budget_error).
    pub(super) fn note_loss(&mut self, component: usize, length: f64) {
        let (before, own) = (self.followed_error[component], self.inner[(component, component)].max(0.0).sqrt());
        let after = if self.drops_rows() { before + length } else { (before * before + length * length).sqrt() };
        self.followed_error[component] = after.min(1.0 + own);
    }
}
