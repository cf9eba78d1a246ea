//! How an autoencoder is asked for.

use super::choices::{Gradient, LearningRate, Optimizer, Sign, SpanChoice, StartFrom};
use super::model::Autoencoder;
use crate::choices::MemoryBudget;
use crate::data::Points;
use crate::error::{Error, Result};
use crate::watch::{Threads, Watch};

/// Autoencoder kernel PCA, as it is asked for.
///
/// ```
/// use mercer::{MemoryBudget, Points, Watch};
/// use mercer::autoencoder::{AutoencoderKernelPca, Codec};
///
/// // Pictures of four pixels in which the first two go together and the last two.
/// let values: Vec<f64> = (0..200).flat_map(|i| { let a = f64::from(i % 20) / 20.0; [a, a, 1.0 - a, 0.5 - a / 2.0] }).collect();
/// let points = Points::from_f64(values, 200, 4)?;
/// let model = AutoencoderKernelPca::new(2).epochs(5).fit(&points)?;
/// let codes = model.encode(&points)?; // 200 x 2
/// let again = model.reconstruct(&points)?;
/// let error: f64 = (0..200).flat_map(|i| (0..4).map(move |k| (i, k))).map(|(i, k)| (again[(i, k)] - points.row(i)[k]).powi(2)).sum();
/// assert!(error / 200.0 < 0.05);
/// # assert_eq!((codes.nrows(), codes.ncols()), (200, 2));
///
/// // Everything can be said. A quarter of the rows is held out, and learning ends when their loss falls no more.
/// let said = AutoencoderKernelPca::new(2).epochs(4).decay(100.0).validation(0.25).patience(2).scale(false);
/// let said = said.tolerance(1e-2).seed(7).memory(MemoryBudget::Bytes(64 << 20)).threads(1);
/// let model = said.fit(&points)?;
/// assert!(model.history().iter().all(|entry| entry.validation_loss.is_some()));
/// assert_eq!((model.decay(), model.scale()), (Some(100.0), 1.0));
/// // The answer does not depend on threads; samples can be given in an order of one's own.
/// assert_eq!(said.threads(2).fit_watched(&points, &Watch::new())?.encoder(), model.encoder());
/// let order = vec![vec![0, 1, 2], vec![5, 4]];
/// let ordered = AutoencoderKernelPca::new(2).batch_size(1).learning_rate(1e-3).order(order).fit(&points)?;
/// assert_eq!(ordered.n_updates(), 5);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AutoencoderKernelPca {
    pub(super) n_components: usize,
    pub(super) span: SpanChoice,
    pub(super) optimizer: Optimizer,
    pub(super) learning_rate: LearningRate,
    pub(super) decay: Option<f64>,
    pub(super) epochs: Option<usize>,
    pub(super) epochs_now: Option<usize>,
    pub(super) batch_size: Option<usize>,
    pub(super) start: StartFrom,
    pub(super) order: Option<Vec<Vec<usize>>>,
    pub(super) gradient: Gradient,
    pub(super) sign: Sign,
    pub(super) landmarks: Option<usize>,
    pub(super) validation: f64,
    pub(super) patience: Option<usize>,
    pub(super) scale: bool,
    pub(super) tolerance: Option<f64>,
    pub(super) seed: u64,
    pub(super) memory: MemoryBudget,
    pub(super) threads: Option<usize>,
}

/// Epochs, if nothing else is said.
pub(super) const EPOCHS: usize = 20;
/// Updates of an epoch over few rows, and samples of an update over many, if nothing else is said.
const BATCHES: usize = 64;
const BATCH: usize = 128;
/// Points of a span, if nothing else is said and there are more.
pub(super) const LANDMARKS: usize = 4000;
/// Epochs without a smaller loss on rows held out after which learning ends.
pub(super) const PATIENCE: usize = 5;

impl AutoencoderKernelPca {
    /// `n_components` forms of full span, by stochastic gradients in batches from the kernel PCA solution, for 20 epochs.
    pub fn new(n_components: usize) -> Self {
        Self {
            n_components,
            span: SpanChoice::default(),
            optimizer: Optimizer::default(),
            learning_rate: LearningRate::Auto,
            decay: None,
            epochs: None,
            epochs_now: None,
            batch_size: None,
            start: StartFrom::default(),
            order: None,
            gradient: Gradient::default(),
            sign: Sign::default(),
            landmarks: None,
            validation: 0.0,
            patience: None,
            scale: true,
            tolerance: None,
            seed: 0,
            memory: MemoryBudget::Auto,
            threads: None,
        }
    }

    /// Sets what encoder and decoder are made of.
    #[must_use]
    pub fn span(mut self, span: SpanChoice) -> Self {
        self.span = span;
        self
    }

    /// Sets how the objective is descended.
    #[must_use]
    pub fn optimizer(mut self, optimizer: Optimizer) -> Self {
        self.optimizer = optimizer;
        self
    }

    /// Sets the step `η₀` of the first update, for points whose largest norm is one (default: found by trying). The best epoch is kept; one that ends with a
    /// loss of more than 1.02 times that of the start has [diverged](super::Autoencoder::diverged).
    #[must_use]
    pub fn learning_rate(mut self, rate: impl Into<LearningRate>) -> Self {
        self.learning_rate = rate.into();
        self
    }

    /// Sets the number of updates `τ` after which the step `η₀ τ / (τ + t)` has halved (default: a quarter of all updates for stochastic
    /// gradients; a step that stays for reduced variance).
    #[must_use]
    pub fn decay(mut self, updates: f64) -> Self {
        self.decay = Some(updates);
        self
    }

    /// Sets the number of passes over the points (default 20). With zero the start is what is learned, and the step of what is learned later falls as it would over
    /// 20 of them.
    #[must_use]
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.epochs = Some(epochs);
        self
    }

    /// Sets how many of the epochs are made by the fit (default: all). The step falls as it would over all of them, of which
    /// [`partial_fit`](super::Autoencoder::partial_fit) makes more. It is not for samples in an order of one's own.
    ///
    /// ```
    /// use mercer::{Points, Watch};
    /// use mercer::autoencoder::AutoencoderKernelPca;
    ///
    /// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
    /// let settings = AutoencoderKernelPca::new(2).learning_rate(1e-3).epochs(4).batch_size(10);
    /// let mut model = settings.clone().epochs_now(1).fit(&points)?;
    /// assert_eq!((model.n_updates(), model.decay()), (5, settings.fit(&points)?.decay()));
    /// model.partial_fit(&points, &Watch::new())?;
    /// assert_eq!(model.n_updates(), 10);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    #[must_use]
    pub fn epochs_now(mut self, epochs: usize) -> Self {
        self.epochs_now = Some(epochs);
        self
    }

    /// Sets how many samples are averaged in an update (default: one of 64 rows, at least 2 and at most 128). With one sample, and a step and an order that are given, the iterates are those of the textbook.
    #[must_use]
    pub fn batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = Some(batch_size);
        self
    }

    /// Sets where learning starts.
    #[must_use]
    pub fn start(mut self, start: StartFrom) -> Self {
        self.start = start;
        self
    }

    /// Sets the samples of each epoch in the order in which they are learned from, instead of random permutations. With a step that was given, what is kept is
    /// where they have led, and not the best epoch, unless an epoch ends with ten times the loss of the start, or the mean squared norm if that is more; with more than ten samples
    /// and more than 1.02 times the loss the model has [diverged](super::Autoencoder::diverged) all the same.
    #[must_use]
    pub fn order(mut self, epochs: Vec<Vec<usize>>) -> Self {
        self.order = Some(epochs);
        self
    }

    /// Sets which gradient moves the coefficients over a span.
    #[must_use]
    pub fn gradient(mut self, gradient: Gradient) -> Self {
        self.gradient = gradient;
        self
    }

    /// Sets which sign decoded points have.
    #[must_use]
    pub fn sign(mut self, sign: Sign) -> Self {
        self.sign = sign;
        self
    }

    /// Sets how many points, drawn at random, a span is made of (default: all, up to 4000).
    #[must_use]
    pub fn landmarks(mut self, landmarks: usize) -> Self {
        self.landmarks = Some(landmarks);
        self
    }

    /// Sets the share of the rows that is held out, to end when their loss falls no more and to keep what was best for them (default: none).
    #[must_use]
    pub fn validation(mut self, share: f64) -> Self {
        self.validation = share;
        self
    }

    /// Sets after how many epochs without a smaller loss on rows held out learning ends (default 5).
    #[must_use]
    pub fn patience(mut self, epochs: usize) -> Self {
        self.patience = Some(epochs);
        self
    }

    /// Sets whether points are divided by their largest norm while they are learned from (default: they are). What is learned is the same, but for the
    /// meaning of the learning rate.
    #[must_use]
    pub fn scale(mut self, scale: bool) -> Self {
        self.scale = scale;
        self
    }

    /// Sets how exact eigenpairs are while learning, as a residual relative to the eigenvalue (default 1e-12 for batches of one sample, 1e-3 for others).
    #[must_use]
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Sets where everything random comes from (default 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets how much memory learning may take beyond the data (default: 70 % of what is available).
    #[must_use]
    pub fn memory(mut self, memory: MemoryBudget) -> Self {
        self.memory = memory;
        self
    }

    /// Sets the number of threads (default: one per processor). The answer does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Learns from points.
    ///
    /// # Errors
    ///
    /// If a setting is out of its domain or has no effect with the others, points are not finite or all zero, or what is to be learned does not fit the
    /// memory budget.
    pub fn fit(&self, points: &Points) -> Result<Autoencoder> {
        self.fit_watched(points, &Watch::new())
    }

    /// As [`fit`](Self::fit), with somebody looking on who may stop it: what has been learned until then comes back, which is the start if no epoch was
    /// finished.
    ///
    /// # Errors
    ///
    /// As [`fit`](Self::fit), and [`Error::Interrupted`] if there is no start yet.
    pub fn fit_watched(&self, points: &Points, watch: &Watch<'_>) -> Result<Autoencoder> {
        super::fit::fit(self, points, watch)
    }

    pub(super) fn thread_pool(&self) -> Result<Threads> {
        self.threads.map_or_else(Threads::all, Threads::new)
    }

    /// Samples that are averaged in an update.
    pub(super) fn batch(&self, n: usize) -> usize {
        self.batch_size.unwrap_or((n / BATCHES).clamp(2, BATCH))
    }

    /// Checks settings against the shape of the points.
    pub(super) fn validate(&self, n: usize, d: usize) -> Result<()> {
        let k = self.n_components;
        if n == 0 {
            return Err(Error::TooFewRows { needed: 1, found: 0 });
        }
        let dimensions = d.saturating_mul(d.saturating_add(1)) / 2;
        if k == 0 || k > dimensions {
            let requirement = format!("between 1 and {dimensions}, the quadratic forms of {d} columns");
            return Err(Error::invalid("n_components", requirement, k));
        }
        if self.batch_size == Some(0) {
            return Err(Error::invalid("batch_size", "at least 1", 0));
        }
        if let LearningRate::Fixed(rate) = self.learning_rate {
            Error::require_positive("learning_rate", rate)?;
        }
        self.decay.map_or(Ok(()), |decay| Error::require_positive("decay", decay))?;
        self.tolerance.map_or(Ok(()), |tolerance| Error::require_positive("tolerance", tolerance))?;
        if self.span == SpanChoice::Full && self.landmarks.is_some() {
            return Err(Error::invalid(
                "landmarks",
                "left out with span = \"full\", which has none",
                self.landmarks.unwrap_or(0),
            ));
        }
        if self.span == SpanChoice::Full && self.gradient == Gradient::Plain {
            return Err(Error::invalid("gradient", "left out with span = \"full\", which has only one", self.gradient));
        }
        if self.landmarks.is_some_and(|landmarks| landmarks == 0 || landmarks > n) {
            let requirement = format!("between 1 and the number of rows ({n})");
            return Err(Error::invalid("landmarks", requirement, self.landmarks.unwrap_or(0)));
        }
        if !(self.validation >= 0.0 && self.validation < 1.0) {
            return Err(Error::invalid("validation", "a share from 0 up to 1", self.validation));
        }
        if self.patience.is_some() && self.validation == 0.0 {
            return Err(Error::invalid("patience", "left out where no rows are held out", self.patience.unwrap_or(0)));
        }
        if self.patience == Some(0) {
            return Err(Error::invalid("patience", "at least 1", 0));
        }
        self.validate_order(n)
    }

    fn validate_order(&self, n: usize) -> Result<()> {
        let Some(order) = &self.order else { return Ok(()) };
        if self.validation > 0.0 {
            return Err(Error::invalid("validation", "0 where the order of samples is given", self.validation));
        }
        if self.epochs.is_some_and(|epochs| epochs != order.len()) {
            let requirement = format!("as many as the order has ({})", order.len());
            return Err(Error::invalid("epochs", requirement, self.epochs.unwrap_or(0)));
        }
        if let Some(epochs) = self.epochs_now {
            return Err(Error::invalid("epochs_now", "left out where the order of samples is given", epochs));
        }
        match order.iter().flatten().find(|&&sample| sample >= n) {
            Some(sample) => Err(Error::invalid("order", format!("samples from 0 to {}", n - 1), sample)),
            None => Ok(()),
        }
    }
}
