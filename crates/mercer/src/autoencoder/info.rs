//! How an autoencoder was learned.

use serde::{Deserialize, Serialize};

use super::choices::{Gradient, Optimizer, SpanChoice};

/// The state at the end of an epoch; the first entry is that of the start.
///
/// ```
/// use mercer::Points;
/// use mercer::autoencoder::AutoencoderKernelPca;
///
/// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
/// let model = AutoencoderKernelPca::new(2).epochs(3).batch_size(10).fit(&points)?;
/// let [start, .., last] = model.history() else { unreachable!("there is an entry for the start and one per epoch") };
/// assert_eq!((start.epoch, start.updates, last.epoch), (0, 0, 3));
/// assert!(last.updates > 0 && last.rate > 0.0);
/// assert!(last.validation_loss.is_none(), "no rows were held out");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// Epochs so far.
    pub epoch: usize,
    /// Updates so far.
    pub updates: usize,
    /// The step of the next update.
    pub rate: f64,
    /// The mean loss over the rows learned from, or over a sample of 1000 of them if there are more; of the start over fewer if the run was stopped there.
    pub loss: f64,
    /// The mean loss over the rows held out, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validation_loss: Option<f64>,
    /// Seconds since learning began.
    pub seconds: f64,
}

impl HistoryEntry {
    /// The loss that decides which epoch is best.
    pub(super) fn judged(&self) -> f64 {
        self.validation_loss.unwrap_or(self.loss)
    }
}

/// How it was learned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "they are fields of the file, of which each says its own")]
pub(super) struct Info {
    pub(super) n_samples: usize,
    pub(super) span: SpanChoice,
    pub(super) optimizer: Optimizer,
    pub(super) gradient: Gradient,
    pub(super) learning_rate: f64,
    /// Whether the rate was found by trying; not known of older files.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) rate_was_found: bool,
    pub(super) decay: Option<f64>,
    pub(super) updates: usize,
    pub(super) batch_size: usize,
    pub(super) tolerance: f64,
    pub(super) seed: u64,
    pub(super) diverged: bool,
    pub(super) was_stopped: bool,
    /// Whether no epoch of the fit made the loss smaller; not known of older files, or known only where every epoch was taken back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_stuck: bool,
    /// Whether points were divided by their largest norm although that is one; not known of older files, where a scale of one says that they were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) divides_by_one: bool,
    /// The largest squared norm of the points of the fit as they were learned from, which a step that was found is for: one, unless they were not divided by their
    /// largest norm; then not known of older files.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub(super) square: f64,
    pub(super) n_halved: usize,
    pub(super) history: Vec<HistoryEntry>,
}

impl Info {
    /// Whether something can have been learned like that, and goes on so.
    pub(super) fn is_possible(&self) -> bool {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        self.batch_size > 0
            && positive(self.tolerance)
            && (self.learning_rate == 0.0 || positive(self.learning_rate))
            && self.decay.is_none_or(positive)
            && positive(self.square)
    }
}

fn one() -> f64 {
    1.0
}

/// Whether it is one to the bit.
fn is_one(square: &f64) -> bool {
    super::fit::is_one(*square)
}
