//! What happens when a row is learned.

use super::block::Block;
use super::learner::{DEPENDENT, Learner, Seen};
use super::memory::dot;
use super::passes;
use super::settings::{Rule, Schedule};
use super::update::{Place, Update};
use crate::error::Result;

/// The learning rate, times the variance of the rows, if none was asked for. Components that have settled lose about half of it, times
/// the share of the variance that they leave, to the noise of single rows; and a component that explains the share `s` of
/// the variance has learned most of it after `1 / (s · AUTOMATIC)` rows.
const AUTOMATIC: f64 = 0.05;

impl Learner {
    /// Learns row `i` of a block, the ones before it having been learned.
    pub(super) fn step(&mut self, block: &mut Block, i: usize) -> Result<Seen> {
        let memory = self.memory.as_ref().expect("made before the first row");
        memory.rows.check_row(block.values(i, memory), self.n_seen)?;
        let square = self.square(block.row(i), self.n_seen)?;
        self.kernel_entries += memory.len() as u64;
        self.n_seen += 1;
        self.n_since += 1;

        let (update, seen) = self.plan(block, i, square);
        let (place, forgotten) = self.place(block, i, square, &update)?;
        let memory = self.memory.as_mut().expect("made before the first row");
        passes::apply(memory, &update, &place);
        self.follow(&update, &place);
        self.start_component(&place, block, i, square);
        self.keep_to_budget(forgotten, block, i)?;
        Ok(seen)
    }

    fn rate(&self) -> f64 {
        let t = self.n_since as f64;
        let eta = match (self.settings.learning_rate, self.settings.schedule) {
            (Some(eta), _) => eta,
            (None, _) if self.total_variance <= 0.0 => 0.0,
            // Falling as fast as this, the rate has to begin at one over what a component explains, not at a fraction of it.
            (None, Schedule::Inverse) => self.settings.n_components as f64 / self.total_variance,
            (None, Schedule::Constant | Schedule::Anneal) => AUTOMATIC / self.total_variance,
        };
        match self.settings.schedule {
            Schedule::Constant => eta,
            Schedule::Inverse => eta / t,
            Schedule::Anneal => {
                let tau = self.settings.annealing_time();
                eta * tau / (t + tau)
            }
        }
    }

    /// (1) The numbers of the update, from the kernel values of the row.
    fn plan(&mut self, block: &Block, i: usize, square: f64) -> (Update, Seen) {
        let memory = self.memory.as_ref().expect("made before the first row");
        let k = block.values(i, memory);
        let p = self.settings.n_components;
        let forgetting = (1.0 / self.n_seen as f64).max(self.settings.forgetting.unwrap_or(0.0));
        let share = if self.is_centered() { forgetting } else { 0.0 };
        let mut raw = passes::products(memory.isa, memory.components.iter().chain(std::iter::once(&memory.mean)), k);
        let before = raw.pop().expect("one for the mean");
        let mean_squared =
            (1.0 - share).powi(2) * self.mean_squared + 2.0 * share * (1.0 - share) * before + share * share * square;
        let with_mean = (1.0 - share) * before + share * square;
        let outputs: Vec<f64> = if self.is_centered() {
            raw.iter().zip(&self.with_mean).map(|(raw, offset)| (1.0 - share) * (raw - offset)).collect()
        } else {
            raw.clone()
        };
        // w·m with the new mean.
        for (offset, raw) in self.with_mean.iter_mut().zip(&raw) {
            *offset = (1.0 - share) * *offset + share * raw;
        }
        self.mean_squared = mean_squared;
        let (length_squared, centered_with_mean) = if self.is_centered() {
            (square - 2.0 * with_mean + mean_squared, with_mean - mean_squared)
        } else {
            (square, 0.0)
        };
        self.total_variance += forgetting * (length_squared.max(0.0) - self.total_variance);

        let explained = self.explained(&outputs);
        let learned = self.learned_outputs(&outputs);
        let eta = self.rate_for(&learned);
        for (variance, y) in self.variances.iter_mut().zip(&learned) {
            *variance += forgetting * (y * y - *variance);
        }
        let take = match self.settings.rule {
            Rule::Simultaneous => {
                let beta = self.settings.beta.unwrap_or(1.0);
                outputs.iter().map(|y| eta * beta * y).collect()
            }
            Rule::Oja | Rule::Apex => vec![0.0; p],
        };
        self.learn_lateral(&learned, eta);
        let learns = |p: usize| if p < self.finished { 0.0 } else { eta };
        let update = Update {
            keep: learned.iter().enumerate().map(|(p, y)| 1.0 - learns(p) * y * y).collect(),
            gain: learned.iter().enumerate().map(|(p, y)| learns(p) * y).collect(),
            take,
            outputs,
            share,
            length_squared,
            centered_with_mean,
        };
        (update, Seen { outputs: learned, novelty: (length_squared - explained).max(0.0) })
    }

    /// The learning rate at a row with these outputs: smaller than it should be if a step would overshoot.
    fn rate_for(&mut self, learned: &[f64]) -> f64 {
        let largest = learned[self.finished..].iter().fold(0.0_f64, |m, y| m.max(y * y));
        let eta = self.rate();
        if eta * largest < 2.0 {
            return eta;
        }
        self.n_shrunk += 1;
        1.0 / largest
    }

    /// The outputs that components learn from: with lateral weights, if the rule has them.
    fn learned_outputs(&self, outputs: &[f64]) -> Vec<f64> {
        let mut learned: Vec<f64> = Vec::with_capacity(outputs.len());
        for (p, (y, lateral)) in outputs.iter().zip(&self.lateral).enumerate() {
            // A component that has finished is decorrelated from those before it and needs no help any more.
            let inhibited = self.settings.rule == Rule::Apex && p >= self.finished;
            learned.push(y + if inhibited { dot(lateral, &learned) } else { 0.0 });
        }
        learned
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

    /// Where the image of the row is, and which slot is to be forgotten for it, if the policy looks ahead.
    fn place(&mut self, block: &mut Block, i: usize, square: f64, update: &Update) -> Result<(Place, Option<usize>)> {
        let (arrival, budget) = (self.n_seen, self.settings.budget);
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
            let coefficients = block.combination(i, factor, memory.rows.padded_len());
            if residual <= DEPENDENT * square {
                return Ok((Place::Combination { coefficients, residual: residual.max(0.0) }, None));
            }
            if budget.is_some_and(|budget| memory.n_forgettable() >= budget) {
                let own = update.gain.iter().map(|gain| gain * gain).sum::<f64>() * (1.0 - update.share).powi(2);
                forgotten = memory.cheapest(own * residual, residual, &coefficients);
                if forgotten.is_none() {
                    return Ok((Place::Combination { coefficients, residual }, None));
                }
            }
            let half = block.half(i, factor);
            let factor = memory.factor.as_mut().expect("there is one");
            factor.push(half.into_iter(), residual, &coefficients);
        }
        let slot = memory.push(block.row(i), square, arrival);
        block.has_entered(i, slot, memory)?;
        Ok((Place::Slot { slot, is_new: true }, forgotten))
    }

    /// (3) What is known of inner products after the update.
    fn follow(&mut self, update: &Update, place: &Place) {
        // w·m, whose mean is already the new one, and w·w.
        self.with_mean = update.transformed(&self.with_mean);
        for (offset, gain) in self.with_mean.iter_mut().zip(&update.gain) {
            *offset += gain * update.centered_with_mean;
        }
        self.inner = update.inner_after(&self.inner);
        for (error, keep) in self.budget_error.iter_mut().zip(&update.keep) {
            *error *= keep.abs();
        }
        if let Place::Combination { residual, .. } = place {
            let lost: Vec<f64> = update.gain.iter().map(|gain| gain * (1.0 - update.share)).collect();
            self.lose(&lost, update.share, *residual);
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
            self.budget_error[i] += a.abs() * residual.sqrt();
        }
        self.mean_squared -= lost_mean * lost_mean * residual;
    }
}
