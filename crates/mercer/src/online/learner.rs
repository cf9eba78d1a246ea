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
//! at any kernel value again `(3)`, so a step costs `O(m (d + P) + P²)`; with the projecting policy `O(m²)` more, and with the
//! [novelty](Seen::novelty) of the row `P³ / 6`. What does not depend on the rows before is computed for a [`block`](super::block) of rows
//! together.
//!
//! # Notation
//!
//! | here | in \[K01\] | meaning |
//! |---|---|---|
//! | `memory.components[p]` | `η y ψ` | coefficients of `w_p` over the rows in memory |
//! | `memory.mean` | | coefficients of `m` |
//! | `with_mean[p]`, `mean_squared` | | `w_p·m`, `m·m` |
//! | `inner[(p, q)]` | | `w_p·w_q` |
//! | `lateral[p]` | `a^(p)` | lateral weights of the rule APEX |

use faer::Mat;

use super::OnlineLearner;
use super::block::{Block, ROWS_AHEAD};
use super::memory::Memory;
use super::recent::Recent;
use super::settings::OnlineKernelPca;
use super::step::{Answer, Workspace};
use super::warm::Origin;
use crate::choices::Center;
use crate::data::{Points, Scaling};
use crate::error::{Error, Result};

/// A row whose squared distance from the span of the rows in memory is below this share of its squared length, as far as it is learned from
/// (centred, if rows are), is in that span.
pub(super) const DEPENDENT: f64 = 1e-8;
/// And so is one below this share of its squared length as it is: what is left is rounding.
pub(super) const ROUNDED: f64 = 1e-12;

/// An online learner at work.
///
/// ```
/// use mercer::Kernel;
/// use mercer::online::{Learner, OnlineKernelPca, OnlineLearner};
///
/// let mut learner = OnlineKernelPca::new(Kernel::linear()).n_components(1).learner()?;
/// for row in 0..400 {
///     let along = f64::from(row % 20) - 9.5;
///     learner.learn_row(&[along, 0.1 * f64::from(row % 3)])?;
/// }
/// // The first component lies along the axis in which the rows differ most.
/// let (right, left) = (learner.look(&[5.0, 0.0])?.outputs[0], learner.look(&[-5.0, 0.0])?.outputs[0]);
/// assert!((right + left).abs() < 0.1 * (right - left).abs());
/// // It goes on from its bytes as if nothing had happened.
/// let mut again = Learner::from_bytes(&learner.to_bytes()?, None)?;
/// assert_eq!(again.learn_row(&[1.0, 2.0])?, learner.learn_row(&[1.0, 2.0])?);
/// assert_eq!(again.n_seen(), 401);
///
/// // What it is made of: coefficients over rows in memory, of which there are all, as it has no budget.
/// assert_eq!((learner.settings().kernel().name(), learner.n_features()), ("linear", Some(2)));
/// assert_eq!((learner.n_remembered(), learner.coefficients().ncols()), (learner.basis().len(), learner.basis().len()));
/// assert!((learner.mean_coefficients().iter().sum::<f64>() - 1.0).abs() < 1e-9);
///
/// // What it has learned: how much of the variance its only component has, while it learned and as it is.
/// assert_eq!((learner.n_started(), learner.n_finished()), (1, 0));
/// assert!(learner.variances()[0] > 0.9 * learner.total_variance());
/// assert!(learner.captured()?.ratio()[0] > 0.9);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) settings: OnlineKernelPca,
    /// What rows go through first; those in memory have been through it.
    pub(super) scaling: Option<Scaling>,
    /// The model that components began as, if there was one.
    pub(super) origin: Option<Origin>,
    pub(super) memory: Option<Memory>,
    pub(super) n_seen: usize,
    /// Components that have started.
    pub(super) started: usize,
    /// Components that have finished: the first ones, which learn no more.
    pub(super) finished: usize,
    /// Rows learned since the last of them has, those of a [model](Learner::n_before) among them.
    pub(super) n_since: usize,
    pub(super) with_mean: Vec<f64>,
    pub(super) mean_squared: f64,
    pub(super) inner: Mat<f64>,
    pub(super) lateral: Vec<Vec<f64>>,
    /// Rows that had been counted when each component began.
    pub(super) began: Vec<usize>,
    /// The running mean of the squared outputs.
    pub(super) variances: Vec<f64>,
    /// The running mean of the squared lengths of centred rows.
    pub(super) total_variance: f64,
    /// Of each component, the length of what it has lost.
    pub(super) followed_error: Vec<f64>,
    /// Of each component, the share that is left of what it was when it first lost something.
    pub(super) unsettled: Vec<f64>,
    pub(super) n_shrunk: usize,
    pub(super) last_shrunk: Option<(f64, f64)>,
    /// Rows given up since everything was last computed anew.
    pub(super) given_up: usize,
    /// Kernel values of learned rows with those in memory.
    pub(super) kernel_entries: u64,
    pub(super) recent: Recent,
    /// The rows that were learned last, whose room is taken by the next ones.
    block: Block,
    pub(super) work: Workspace,
}

/// What a row was to the components before they learned from it.
///
/// ```
/// use mercer::Kernel;
/// use mercer::online::OnlineKernelPca;
///
/// let mut learner = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(1).learner()?;
/// for row in 0..200 {
///     learner.learn_row(&[f64::from(row % 5) * 0.1])?;
/// }
/// let (usual, strange) = (learner.look(&[0.2])?, learner.look(&[9.0])?);
/// assert_eq!(usual.outputs.len(), 1);
/// assert!(strange.novelty > usual.novelty);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The output of every component.
    pub outputs: Vec<f64>,
    /// The squared distance of the row's centred image from the span of the components as they were, whatever their lengths and the angles
    /// between them: what the [model](Learner::model) calls the [reconstruction error](crate::Novelty::reconstruction_error). With a kernel
    /// that is not positive semi-definite it can be negative. A row that is learned has its share of the mean first, the first one all of it.
    pub novelty: f64,
}

impl Learner {
    pub(super) fn new(settings: OnlineKernelPca) -> Result<Self> {
        let p = settings.n_components;
        let mut learner = Self {
            scaling: None,
            origin: None,
            memory: None,
            n_seen: 0,
            started: 0,
            finished: 0,
            n_since: 0,
            with_mean: vec![0.0; p],
            mean_squared: 0.0,
            inner: Mat::zeros(p, p),
            lateral: (0..p).map(|p| vec![0.0; p]).collect(),
            began: vec![0; p],
            variances: vec![0.0; p],
            total_variance: 0.0,
            followed_error: vec![0.0; p],
            unsettled: vec![1.0; p],
            n_shrunk: 0,
            last_shrunk: None,
            given_up: 0,
            kernel_entries: 0,
            recent: Recent::default(),
            block: Block::default(),
            work: Workspace::default(),
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

    /// Coordinates of a row, once there has been one.
    pub fn n_features(&self) -> Option<usize> {
        self.memory.as_ref().map(|memory| memory.rows.n_features())
    }

    /// Rows in memory, start points included.
    pub fn n_remembered(&self) -> usize {
        self.memory.as_ref().map_or(0, Memory::len)
    }

    /// The rows in memory, one after the other; scaled, if the [model](OnlineKernelPca::learner_from) that components began as scales its points.
    pub fn basis(&self) -> Vec<Vec<f64>> {
        self.memory.as_ref().map_or_else(Vec::new, |memory| (0..memory.len()).map(|i| memory.rows.row(i)).collect())
    }

    /// The points that components start from, if they were [given](OnlineKernelPca::start), in the order of the components.
    pub fn start_points(&self) -> Vec<Vec<f64>> {
        let start = self.settings.start.iter();
        start.flat_map(|points| (0..points.n_samples()).map(|i| points.row(i))).collect()
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
        self.memory.as_ref().map_or(&[], |memory| &memory.mean[..memory.len()])
    }

    /// The lateral weights of the rule APEX: for component `p`, one for each component before it.
    pub fn lateral(&self) -> &[Vec<f64>] {
        &self.lateral
    }

    /// The mean of the squared outputs of each component, over the rows since it began or those not forgotten, each with the output that it had
    /// when it was learned; [`captured`](Self::captured) is about components as they are now.
    pub fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// The mean of the squared lengths of the (centred) rows' images, over all rows or those not forgotten: what the variances of all
    /// components there could be would add up to.
    pub fn total_variance(&self) -> f64 {
        self.total_variance
    }

    /// Rows for which the learning rate had to be made smaller.
    pub fn n_shrunk(&self) -> usize {
        self.n_shrunk
    }

    /// What the learning rate was, and what it was made, at the last of those rows.
    pub fn last_shrunk(&self) -> Option<(f64, f64)> {
        self.last_shrunk
    }

    /// Components that have begun: without start points, each waits for a row unlike those before.
    pub fn n_started(&self) -> usize {
        self.started
    }

    /// Components that have finished, and stand still while the one after them learns: by the rule APEX,
    /// [one after the other](OnlineKernelPca::rows_per_component).
    pub fn n_finished(&self) -> usize {
        self.finished
    }

    /// Learns from one row.
    ///
    /// # Errors
    ///
    /// If the row has no numbers, another width than those before, a number that is not finite, or kernel values or a squared norm that overflow; or if
    /// the policy is `project` and the row is at a negative squared distance from those in memory, which a kernel that is not positive semi-definite
    /// can make it.
    pub fn learn_row(&mut self, x: &[f64]) -> Result<Seen> {
        self.check(x, self.n_seen)?;
        self.prepare(x.len())?;
        let mut block = std::mem::take(&mut self.block);
        let row = self.scaled(x.to_vec());
        let seen = self.load(&mut block, row).and_then(|()| self.step(&mut block, 0, Answer::All));
        self.block = block;
        seen
    }

    /// Learns from rows, and calls `each` with what each row was to the components before they learned from it.
    ///
    /// ```
    /// use mercer::online::OnlineKernelPca;
    /// use mercer::{Kernel, Points};
    ///
    /// let rows = Points::from_f64((0..60).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 3)?;
    /// let settings = OnlineKernelPca::new(Kernel::gaussian(0.5)?);
    /// let (mut together, mut one_by_one) = (settings.learner()?, settings.learner()?);
    /// let mut seen = Vec::new();
    /// together.learn_each(&rows, |row| seen.push(row))?;
    /// for (i, seen) in seen.iter().enumerate() {
    ///     assert_eq!(one_by_one.learn_row(&rows.row(i))?, *seen);
    /// }
    /// assert_eq!(seen.len(), 20);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`learn_row`](Self::learn_row); the rows before the one that is named have then been learned, and `each` has been called for
    /// them.
    pub fn learn_each(&mut self, points: &Points, each: impl FnMut(Seen)) -> Result<()> {
        self.learn_and_answer(points, Answer::All, each)
    }

    fn learn_and_answer(&mut self, points: &Points, answer: Answer, mut each: impl FnMut(Seen)) -> Result<()> {
        let (n, d) = (points.n_samples(), points.n_features());
        self.prepare(d)?;
        for first in (0..n).step_by(self.rows_ahead()) {
            let mut rows = points.rows(first..n.min(first + self.rows_ahead())).to_f64();
            // A row is judged as it comes, before it is scaled; those before a bad one are learned.
            let good = rows.chunks_exact(d).take_while(|row| row.iter().all(|x| x.is_finite())).count();
            let rest = rows.split_off(good * d);
            if good > 0 {
                let rows = self.scaled(rows);
                self.learn_block(rows, answer, &mut each)?;
            }
            if let Some(bad) = rest.get(..d) {
                return self.check(bad, self.n_seen);
            }
        }
        Ok(())
    }

    /// Learns from rows that stand one after the other.
    fn learn_block(&mut self, rows: Vec<f64>, answer: Answer, each: &mut impl FnMut(Seen)) -> Result<()> {
        let mut block = std::mem::take(&mut self.block);
        let outcome = self.learn_rows(&mut block, rows, answer, each);
        self.block = block;
        outcome
    }

    /// Takes rows that are about to be learned.
    fn load(&self, block: &mut Block, rows: Vec<f64>) -> Result<()> {
        block.load(rows, self.memory.as_ref().expect("made before the first row"))
    }

    fn learn_rows(
        &mut self,
        block: &mut Block,
        rows: Vec<f64>,
        answer: Answer,
        each: &mut impl FnMut(Seen),
    ) -> Result<()> {
        self.load(block, rows)?;
        for i in 0..block.len() {
            each(self.step(block, i, answer)?);
        }
        Ok(())
    }

    pub(super) fn is_centered(&self) -> bool {
        self.settings.center == Center::Yes
    }

    pub(super) fn is_factored(&self) -> bool {
        self.settings.most_expressed().is_some()
    }

    /// Rows that are worked on together.
    pub(super) fn rows_ahead(&self) -> usize {
        let together = self.memory.as_ref().is_some_and(|memory| memory.rows.is_vectorised());
        if together { ROWS_AHEAD } else { 1 }
    }

    /// Rows of the right width as the kernel sees them.
    pub(super) fn scaled(&self, mut rows: Vec<f64>) -> Vec<f64> {
        self.scaling.iter().for_each(|scaling| scaling.apply_to_f64(&mut rows));
        rows
    }

    /// Makes a memory for rows of this width, or refuses them if there is one for another.
    fn prepare(&mut self, n_features: usize) -> Result<()> {
        if self.n_features().is_none_or(|width| width != n_features && !self.has_width()) {
            let (kernel, p) = (self.settings.kernel.clone(), self.settings.n_components);
            self.memory = Some(Memory::new(kernel, n_features, p, self.settings.most_expressed()));
        }
        self.check_width(n_features)
    }

    /// Whether rows can have one width only: there have been some, or points to start from.
    pub(super) fn has_width(&self) -> bool {
        self.n_seen > 0 || self.n_remembered() > 0
    }

    fn check_width(&self, found: usize) -> Result<()> {
        match self.n_features() {
            Some(expected) if expected != found => Err(Error::RowWidth { expected, found }),
            _ => Ok(()),
        }
    }

    pub(super) fn check(&self, x: &[f64], row: usize) -> Result<()> {
        if self.has_width() {
            self.check_width(x.len())?;
        } else if x.is_empty() {
            return Err(Error::invalid("x", "a row of at least one number", "empty"));
        }
        match x.iter().position(|value| !value.is_finite()) {
            Some(column) => Err(Error::NotFinite { row, column, value: x[column] }),
            None => Ok(()),
        }
    }
}

impl OnlineLearner for Learner {
    fn n_seen(&self) -> usize {
        self.n_seen
    }

    fn learn(&mut self, points: &Points) -> Result<Mat<f64>> {
        let mut outputs = Mat::zeros(points.n_samples(), self.settings.n_components);
        let mut i = 0;
        self.learn_and_answer(points, Answer::Outputs, |seen| {
            seen.outputs.into_iter().enumerate().for_each(|(p, y)| outputs[(i, p)] = y);
            i += 1;
        })?;
        Ok(outputs)
    }

    fn outputs(&self, points: &Points) -> Result<Mat<f64>> {
        let seen = self.look_at_rows(points)?;
        Ok(Mat::from_fn(seen.len(), self.settings.n_components, |i, p| seen[i].outputs[p]))
    }
}
