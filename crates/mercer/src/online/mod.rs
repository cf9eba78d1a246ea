//! Learners that see one row at a time, never come back to it, and have an answer at any moment.
//!
//! | rule | update of component `p` at a row with image `φ` and outputs `y` | finds |
//! |---|---|---|
//! | [`Rule::Oja`] | `w += η y (φ − y w)` | the first component |
//! | [`Rule::Apex`] | `ỹ = y + a·(outputs before)`, `w += η ỹ (φ − ỹ w)`, `a −= η ỹ (outputs before + ỹ a)` | one after the other, or all at once |
//! | [`Rule::Simultaneous`] | `w_p += η y_p (φ − β Σ_{j<p} y_j w_j − y_p w_p)` | all at once |
//!
//! The rules are those of Kashima \[K01\] with their errors corrected; the components are kept as combinations of the
//! rows seen, `w_p = Σ_i α_pi φ(x_i)`, so that a step costs one row of kernel values and `O(m P)` operations for `m` rows in
//! memory. A [budget](OnlineKernelPca::budget) bounds `m`, and with it the time and memory of a step, for ever.
//!
//! The outputs of a learner are those of its components as the rule leaves them: component `p` stays component `p`, so that outputs neither
//! change places nor signs from one row to the next. The [model](Learner::model) of what was learned has orthonormal directions in the span of the
//! components instead, in the order of the variance along them, with signs as all models have.
//!
//! - \[K01\] H. Kashima, "On-line kernel principal component analysis", IBM Research Report RT0401, 2001.

mod block;
mod budget;
mod directions;
mod factor;
mod learner;
mod look;
mod lost;
mod memory;
mod model;
mod outputs;
mod passes;
mod recent;
mod settings;
mod span;
mod start;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod triangle;
mod update;
mod warm;
mod warnings;

pub use directions::Captured;
pub use learner::{Learner, Seen};
pub use settings::{OnlineKernelPca, OnlineRecord, Policy, Rule, Schedule};
pub(crate) use state::MAGIC as STATE_MAGIC;

use faer::Mat;

use crate::data::Points;
use crate::error::Result;

/// Something that learns from rows as they come.
///
/// # Contract
///
/// 1. Rows are learned in order, each once; how they are grouped into calls changes nothing, to the bit.
/// 2. A call that fails has learned the rows before the one it fails at, nothing of that one, and none after it.
/// 3. Rows are named by their number in the stream, counted from zero.
///
/// ```
/// use mercer::online::{OnlineKernelPca, OnlineLearner};
/// use mercer::{Kernel, Points};
///
/// let rows = Points::from_f64((0..90).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 30, 3)?;
/// let settings = OnlineKernelPca::new(Kernel::gaussian(0.5)?).n_components(2);
/// let (mut at_once, mut in_parts) = (settings.learner()?, settings.learner()?);
/// at_once.learn(&rows)?;
/// for part in [0..7, 7..8, 8..30] {
///     in_parts.learn(&rows.slice(part))?;
/// }
/// assert_eq!((at_once.n_seen(), at_once.outputs(&rows)?), (30, in_parts.outputs(&rows)?));
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait OnlineLearner {
    /// Rows that have been learned.
    fn n_seen(&self) -> usize;

    /// Learns from rows and returns the outputs that each had at its own update: one row per point, one column per component.
    ///
    /// # Errors
    ///
    /// If the rows have another width than those before, a number that is not finite, or kernel values that overflow.
    fn learn(&mut self, points: &Points) -> Result<Mat<f64>>;

    /// What the components as they are now make of points, without learning from them.
    ///
    /// # Errors
    ///
    /// As [`learn`](Self::learn).
    fn outputs(&self, points: &Points) -> Result<Mat<f64>>;
}
