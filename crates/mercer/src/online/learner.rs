//! One step at a time.
//!
//! # Method
//!
//! With `c = φ − m` the image of a row less the running mean (which has taken the row in), every rule is
//!
//! ```text
//! w_p ← keep_p w_p − take_p Σ_{j<p} y_j w_j + gain_p c
//! ```
//!
//! with numbers that depend on the outputs `y_p = w_p·c` only `(1)`. Coefficients follow by one running sum over the components `(2)`.
//! The inner products that later steps need, `w_p·m`, `m·m` and `w_p·w_q`, follow from the same equation without looking
//! at any kernel value again `(3)`, so a step costs `O(m (d + P) + P²)`; with the projecting policy `O(m²)` more.
//!
//! # Notation
//!
//! | here | in [K01] | meaning |
//! |---|---|---|
//! | `memory.components[p]` | `η y ψ` | coefficients of `w_p` over the rows in memory |
//! | `memory.mean` | | coefficients of `m` |
//! | `with_mean[p]`, `mean_squared` | | `w_p·m`, `m·m` |
//! | `inner[(p, q)]` | | `w_p·w_q` |
//! | `lateral[p]` | `a^(p)` | lateral weights of the rule APEX |

use faer::Mat;

use super::OnlineLearner;
use super::memory::{Memory, dot};
use super::settings::{OnlineKernelPca, Policy, Rule, Schedule};
use super::update::{Place, Update};
use crate::choices::Center;
use crate::data::Points;
use crate::error::{Error, Result};

/// A row whose squared distance from the span of the rows in memory is below this share of its squared length is in that span.
pub(super) const DEPENDENT: f64 = 1e-8;

/// An online learner at work.
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) settings: OnlineKernelPca,
    pub(super) memory: Option<Memory>,
    pub(super) n_seen: usize,
    /// Components that have started.
    pub(super) started: usize,
    /// Components that have finished: the first ones, which learn no more.
    pub(super) finished: usize,
    /// Rows learned since the last of them has.
    pub(super) n_since: usize,
    pub(super) with_mean: Vec<f64>,
    pub(super) mean_squared: f64,
    pub(super) inner: Mat<f64>,
    pub(super) lateral: Vec<Vec<f64>>,
    /// The running mean of the squared outputs.
    pub(super) variances: Vec<f64>,
    pub(super) budget_error: Vec<f64>,
    pub(super) n_shrunk: usize,
    pub(super) removals: usize,
}

/// What a row was to the components before they learned from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The output of every component.
    pub outputs: Vec<f64>,
    /// The squared distance of the row's centred image from the span of the components, as they were.
    pub novelty: f64,
}

impl Learner {
    pub(super) fn new(settings: OnlineKernelPca) -> Result<Self> {
        let p = settings.n_components;
        let mut learner = Self {
            memory: None,
            n_seen: 0,
            started: 0,
            finished: 0,
            n_since: 0,
            with_mean: vec![0.0; p],
            mean_squared: 0.0,
            inner: Mat::zeros(p, p),
            lateral: (0..p).map(|p| vec![0.0; p]).collect(),
            variances: vec![0.0; p],
            budget_error: vec![0.0; p],
            n_shrunk: 0,
            removals: 0,
            settings,
        };
        if let Some(start) = learner.settings.start.clone() {
            learner.start_from(&start)?;
        }
        Ok(learner)
    }

    /// The settings it learns by.
    pub fn settings(&self) -> &OnlineKernelPca {
        &self.settings
    }

    /// Components that are learned.
    pub fn n_components(&self) -> usize {
        self.settings.n_components
    }

    /// Rows in memory, start points included.
    pub fn n_remembered(&self) -> usize {
        self.memory.as_ref().map_or(0, Memory::len)
    }

    /// The rows in memory, one after the other.
    pub fn basis(&self) -> Vec<Vec<f64>> {
        self.memory.as_ref().map_or_else(Vec::new, |memory| (0..memory.len()).map(|i| memory.rows.row(i)).collect())
    }

    /// The coefficients of every component over the rows in memory: one row per component.
    pub fn coefficients(&self) -> Mat<f64> {
        match &self.memory {
            Some(memory) => Mat::from_fn(memory.components.len(), memory.len(), |p, i| memory.components[p][i]),
            None => Mat::zeros(self.settings.n_components, 0),
        }
    }

    /// The coefficients of the running mean over the rows in memory.
    pub fn mean_coefficients(&self) -> &[f64] {
        self.memory.as_ref().map_or(&[], |memory| &memory.mean)
    }

    /// The lateral weights of the rule APEX: for component `p`, one for each component before it.
    pub fn lateral(&self) -> &[Vec<f64>] {
        &self.lateral
    }

    /// The mean of the squared outputs of each component, over all rows or those not forgotten.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// For each component, an estimate of the distance between it and what it would be without a budget: the lengths of what was
    /// lost with rows, decayed as the component itself forgets.
    pub fn budget_error(&self) -> &[f64] {
        &self.budget_error
    }

    /// Rows for which the learning rate had to be made smaller.
    pub fn n_shrunk(&self) -> usize {
        self.n_shrunk
    }

    /// Learns from one row.
    ///
    /// # Errors
    ///
    /// If the row has another width than those before, or a number that is not finite.
    pub fn learn_row(&mut self, x: &[f64]) -> Result<Seen> {
        self.check(x, self.n_seen)?;
        let factored = self.is_factored();
        let (kernel, p) = (self.settings.kernel.clone(), self.settings.n_components);
        let memory = self.memory.get_or_insert_with(|| Memory::new(kernel, x.len(), p, factored));
        let mut k = Vec::new();
        memory.kernel_row(x, &mut k)?;
        let square = self.settings.kernel.evaluate(x, x)?;
        if !square.is_finite() {
            return Err(Error::NotFinite { row: self.n_seen, column: 0, value: square });
        }
        self.n_seen += 1;
        self.n_since += 1;

        let (update, seen) = self.plan(&k, square);
        let slot = self.place(x, &mut k, square);
        self.apply(&update, &k, &slot);
        self.start_component(&slot, &k, square);
        self.keep_to_budget()?;
        Ok(seen)
    }

    /// What a row is to the components as they are, without learning from it.
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row).
    pub fn look(&self, x: &[f64]) -> Result<Seen> {
        self.look_at(x, 0, &mut Vec::new())
    }

    fn look_at(&self, x: &[f64], row: usize, k: &mut Vec<f64>) -> Result<Seen> {
        self.check(x, row)?;
        let p = self.settings.n_components;
        let square = self.settings.kernel.evaluate(x, x)?;
        let Some(memory) = &self.memory else { return Ok(Seen { outputs: vec![0.0; p], novelty: square }) };
        memory.kernel_row(x, k)?;
        let offsets = self.with_mean.iter().map(|&offset| if self.is_centered() { offset } else { 0.0 });
        let outputs: Vec<f64> =
            memory.components.iter().zip(offsets).map(|(component, offset)| dot(component, k) - offset).collect();
        let length_squared =
            if self.is_centered() { square - 2.0 * dot(&memory.mean, k) + self.mean_squared } else { square };
        let novelty = (length_squared - self.explained(&outputs)).max(0.0);
        Ok(Seen { outputs, novelty })
    }

    /// What the span of the components explains of a squared length: `2 y·y − y (w·w) y` for outputs `y`.
    fn explained(&self, outputs: &[f64]) -> f64 {
        let row = |i: usize| (0..outputs.len()).map(|j| self.inner[(i, j)] * outputs[j]).sum::<f64>();
        outputs.iter().enumerate().map(|(i, y)| y * (2.0 * y - row(i))).sum()
    }

    fn is_centered(&self) -> bool {
        self.settings.center == Center::Yes
    }

    pub(super) fn is_factored(&self) -> bool {
        self.settings.budget.is_some() && self.settings.policy == Policy::Project
    }

    pub(super) fn check(&self, x: &[f64], row: usize) -> Result<()> {
        if let Some(memory) = &self.memory
            && memory.rows.n_features() != x.len()
        {
            let expected = memory.rows.n_features();
            return Err(Error::FeatureMismatch { what: "the stream", expected, found: x.len() });
        }
        match x.iter().position(|value| !value.is_finite()) {
            Some(column) => Err(Error::NotFinite { row, column, value: x[column] }),
            None => Ok(()),
        }
    }

    fn rate(&self) -> f64 {
        let (eta, t) = (self.settings.learning_rate, self.n_since as f64);
        match self.settings.schedule {
            Schedule::Constant => eta,
            Schedule::Inverse => eta / t,
            Schedule::Anneal => eta * self.settings.tau / (t + self.settings.tau),
        }
    }

    /// (1) The numbers of the update, from the kernel values of the row.
    fn plan(&mut self, k: &[f64], square: f64) -> (Update, Seen) {
        let memory = self.memory.as_ref().expect("made before the first row");
        let p = self.settings.n_components;
        let share = if self.is_centered() {
            (1.0 / self.n_seen as f64).max(self.settings.forgetting.unwrap_or(0.0))
        } else {
            0.0
        };
        let before = dot(&memory.mean, k);
        let mean_squared =
            (1.0 - share).powi(2) * self.mean_squared + 2.0 * share * (1.0 - share) * before + share * share * square;
        let with_mean = (1.0 - share) * before + share * square;
        let raw: Vec<f64> = memory.components.iter().map(|component| dot(component, k)).collect();
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

        let explained = self.explained(&outputs);
        let learned = self.learned_outputs(&outputs);
        let largest = learned[self.finished..].iter().fold(0.0_f64, |m, y| m.max(y * y));
        let mut eta = self.rate();
        if eta * largest >= 2.0 {
            eta = 1.0 / largest;
            self.n_shrunk += 1;
        }
        let forgetting = (1.0 / self.n_seen as f64).max(self.settings.forgetting.unwrap_or(0.0));
        for (variance, y) in self.variances.iter_mut().zip(&learned) {
            *variance += forgetting * (y * y - *variance);
        }
        let take = match self.settings.rule {
            Rule::Simultaneous => outputs.iter().map(|y| eta * self.settings.beta * y).collect(),
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

    /// Where the image of the row is: a slot of the memory, or a combination of slots.
    fn place(&mut self, x: &[f64], k: &mut Vec<f64>, square: f64) -> Place {
        let arrival = self.n_seen;
        let memory = self.memory.as_mut().expect("made before the first row");
        if let Some(slot) = memory.place_of(x) {
            if memory.arrivals[slot] > 0 {
                memory.arrivals[slot] = arrival;
            }
            return Place::Slot { slot, is_new: false };
        }
        if let Some(factor) = &mut memory.factor {
            let z = factor.forward(k);
            let residual = square - dot(&z, &z);
            if residual <= DEPENDENT * square {
                return Place::Combination(factor.backward(z));
            }
            factor.push(z, residual);
        }
        let slot = memory.push(x, arrival);
        k.push(square);
        Place::Slot { slot, is_new: true }
    }

    /// (2) and (3).
    fn apply(&mut self, update: &Update, k: &[f64], place: &Place) {
        let memory = self.memory.as_mut().expect("made before the first row");
        debug_assert_eq!(k.len(), memory.len());
        if update.share > 0.0 {
            memory.mean.iter_mut().for_each(|mean| *mean *= 1.0 - update.share);
            place.add(&mut memory.mean, update.share);
        }
        // (2) The running sum of y_j w_j over the components before.
        let mut before = vec![0.0; memory.len()];
        let takes = update.take.iter().any(|&take| take != 0.0);
        let numbers = update.keep.iter().zip(&update.take).zip(&update.gain).zip(&update.outputs);
        for (component, (((&keep, &take), &gain), &y)) in memory.components.iter_mut().zip(numbers) {
            if takes {
                for (alpha, before) in component.iter_mut().zip(&mut before) {
                    let old = *alpha;
                    *alpha = keep * old - take * *before;
                    *before += y * old;
                }
            } else {
                for alpha in component.iter_mut() {
                    *alpha *= keep;
                }
            }
            if update.share > 0.0 {
                for (alpha, mean) in component.iter_mut().zip(&memory.mean) {
                    *alpha -= gain * mean;
                }
            }
            place.add(component, gain);
        }
        // (3) The same for w·m, whose mean is already the new one, and for w·w.
        self.with_mean = update.transformed(&self.with_mean);
        for (offset, gain) in self.with_mean.iter_mut().zip(&update.gain) {
            *offset += gain * update.centered_with_mean;
        }
        self.inner = update.inner_after(&self.inner);
        for (error, keep) in self.budget_error.iter_mut().zip(&update.keep) {
            *error *= keep.abs();
        }
    }
}

impl OnlineLearner for Learner {
    fn n_seen(&self) -> usize {
        self.n_seen
    }

    fn learn(&mut self, points: &Points) -> Result<Mat<f64>> {
        let mut outputs = Mat::zeros(points.n_samples(), self.settings.n_components);
        for i in 0..points.n_samples() {
            let seen = self.learn_row(&points.row(i))?;
            seen.outputs.into_iter().enumerate().for_each(|(p, y)| outputs[(i, p)] = y);
        }
        Ok(outputs)
    }

    fn outputs(&self, points: &Points) -> Result<Mat<f64>> {
        let mut outputs = Mat::zeros(points.n_samples(), self.settings.n_components);
        let mut k = Vec::new();
        for i in 0..points.n_samples() {
            let seen = self.look_at(&points.row(i), i, &mut k)?;
            seen.outputs.into_iter().enumerate().for_each(|(p, y)| outputs[(i, p)] = y);
        }
        Ok(outputs)
    }
}
