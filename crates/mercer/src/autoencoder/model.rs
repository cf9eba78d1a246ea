//! What has been learned: encoder and decoder.

use faer::{Mat, MatRef};
use rayon::prelude::*;

use super::Codec;
use super::choices::{Gradient, Optimizer, Sign, SpanChoice};
use super::fit::{columns, is_one};
use super::info::{HistoryEntry, Info};
use super::more::{Few, Next, go_on};
use super::parameters::Parameters;
use super::train::{AT_ONCE, REPORTED, start_vectors};
use crate::data::{Moments, Points};
use crate::error::{Error, Result};
use crate::model::names;
use crate::watch::{Context, Phase, Threads, Watch};

/// An autoencoder that has been learned, and can learn on.
///
/// Codes, losses and points are in the units of the data; encoder and decoder do not depend on them.
///
/// ```
/// use mercer::autoencoder::{AutoencoderKernelPca, Codec};
/// use mercer::watch::{Threads, Watch};
/// use mercer::Points;
///
/// let points = Points::from_f64((0..200).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 4)?;
/// let mut model = AutoencoderKernelPca::new(2).epochs(1).fit(&points)?;
/// let updates = model.n_updates();
/// model.partial_fit(&points, &Watch::new())?;
/// assert!(model.n_updates() > updates);
/// // A loss bounds how far a point is from what its code is decoded to.
/// let (again, loss) = (model.reconstruct(&points)?, model.losses(&points)?);
/// let squared = |i: usize| (0..4).map(|k| (again[(i, k)] - points.row(i)[k]).powi(2)).sum::<f64>();
/// assert!((0..50).all(|i| squared(i) <= 3.0 * loss[i] + 1e-9));
///
/// // On threads of one's own, with somebody looking on who may stop it.
/// let (threads, watch) = (Threads::new(1)?, Watch::new());
/// let codes = model.encode_watched(&points, &threads, &watch)?;
/// assert_eq!(codes, model.encode(&points)?);
/// assert_eq!(model.decode_watched(codes.as_ref(), Some(&points), &threads, &watch)?.points, again);
/// assert_eq!(model.losses_watched(&points, &threads, &watch)?, loss);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Autoencoder {
    /// For points divided by `scale`.
    parameters: Parameters,
    scale: f64,
    mean: Vec<f64>,
    sign: Sign,
    info: Info,
    /// What the columns of points are called, if they had names.
    feature_names: Option<Vec<String>>,
    threads: Option<usize>,
    /// Rows that came a few at a time since it was learned or read.
    few: Option<Few>,
}

impl Autoencoder {
    pub(super) fn new(parameters: Parameters, scale: f64, mean: Vec<f64>, sign: Sign, info: Info) -> Self {
        Self { parameters, scale, mean, sign, info, feature_names: None, threads: None, few: None }
    }

    /// Sets the number of threads (default: one per processor). Answers do not depend on it.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// The autoencoder of points whose columns have names, as [`Model::with_feature_names`](crate::Model::with_feature_names).
    ///
    /// ```
    /// use mercer::Points;
    /// use mercer::autoencoder::AutoencoderKernelPca;
    ///
    /// let points = Points::from_f64((0..100).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 50, 2)?;
    /// let names = vec!["width".to_owned(), "height".to_owned()];
    /// let model = AutoencoderKernelPca::new(1).epochs(1).fit(&points)?.with_feature_names(names)?;
    /// assert_eq!(model.feature_names().unwrap(), ["width", "height"]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there are not as many names as features, or two are the same.
    pub fn with_feature_names(mut self, names: Vec<String>) -> Result<Self> {
        names::check(&names, self.n_features())?;
        self.feature_names = Some(names);
        Ok(self)
    }

    /// What the columns of points are called, in their order; `None` if they had no names.
    pub fn feature_names(&self) -> Option<&[String]> {
        self.feature_names.as_deref()
    }

    /// What encoder and decoder are made of.
    ///
    /// ```
    /// use mercer::Points;
    /// use mercer::autoencoder::{Autoencoder, AutoencoderKernelPca, Gradient, Optimizer, Sign, SpanChoice};
    ///
    /// let points = Points::from_f64((0..60).map(|i| (f64::from(i) * 0.7).sin()).collect::<Vec<_>>(), 20, 3)?;
    /// let learned = |span| AutoencoderKernelPca::new(2).span(span).epochs(2).learning_rate(1e-3).decay(50.0).fit(&points);
    /// let model: Autoencoder = learned(SpanChoice::Full)?.with_threads(1);
    /// assert_eq!((model.span(), model.sign(), model.span_points()), (SpanChoice::Full, Sign::Nearest, None));
    /// assert_eq!((model.encoder().len(), model.decoder().len()), (2 * 3 * 3, 2 * 3 * 3));
    ///
    /// // What it was learned from: points are divided by the largest norm among them.
    /// let norm = |i: usize| points.row(i).iter().map(|x| x * x).sum::<f64>().sqrt();
    /// assert!((model.scale() - (0..20).map(norm).fold(0.0, f64::max)).abs() < 1e-12);
    /// assert!(model.is_scaled() && model.longest().to_bits() == model.scale().to_bits());
    /// let mean = (0..20).map(|i| points.row(i)[1]).sum::<f64>() / 20.0;
    /// assert!(model.n_samples() == 20 && (model.mean()[1] - mean).abs() < 1e-12);
    ///
    /// // How learning went: an entry for the start and one for each epoch, and a step that was small enough.
    /// assert_eq!((model.history().len(), model.learning_rate(), model.decay()), (3, 1e-3, Some(50.0)));
    /// assert!(model.n_halved() == 0 && !model.diverged() && !model.was_stopped());
    /// assert!(model.converged() && !model.is_stuck() && !model.rate_was_found());
    ///
    /// // What it was asked for.
    /// assert_eq!((model.optimizer(), model.gradient()), (Optimizer::Sgd, Gradient::Functional));
    /// assert_eq!((model.batch_size(), model.tolerance(), model.seed()), (2, 1e-3, 0));
    ///
    /// // Over a span, coefficients are those of points.
    /// let model = learned(SpanChoice::Data)?;
    /// assert_eq!(model.span_points().map(|span| (span.nrows(), span.ncols())), Some((20, 3)));
    /// assert_eq!(model.encoder().len(), 2 * 20);
    /// let few = AutoencoderKernelPca::new(2).span(SpanChoice::Data).landmarks(5).epochs(0).fit(&points)?;
    /// assert_eq!(few.encoder().len(), 2 * 5);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn span(&self) -> SpanChoice {
        self.info.span
    }

    /// Which sign decoded points have.
    pub fn sign(&self) -> Sign {
        self.sign
    }

    /// Rows that have been learned from, held-out ones included.
    pub fn n_samples(&self) -> usize {
        self.info.n_samples
    }

    /// The largest norm of a point learned from, by which points were divided; one if they were not.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Whether points were divided by their largest norm, which may be one.
    pub fn is_scaled(&self) -> bool {
        self.info.divides_by_one || !is_one(self.scale)
    }

    /// The largest norm of a point of the fit, whether points were divided by it or not; of older files one, if they were not.
    pub fn longest(&self) -> f64 {
        self.scale * self.info.square.sqrt()
    }

    /// The mean of the points learned from.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The step of the first update, as given, or as found and then halved as often as [`n_halved`](Self::n_halved) says.
    pub fn learning_rate(&self) -> f64 {
        self.info.learning_rate
    }

    /// Updates after which the step has halved, if it falls.
    pub fn decay(&self) -> Option<f64> {
        self.info.decay
    }

    /// How often the step was halved because an epoch made things worse.
    pub fn n_halved(&self) -> usize {
        self.info.n_halved
    }

    /// Updates so far.
    pub fn n_updates(&self) -> usize {
        self.info.updates
    }

    /// The state at the start and at the end of every epoch.
    pub fn history(&self) -> &[HistoryEntry] {
        &self.info.history
    }

    /// Whether the learning rate was too large: the best there was is what is kept. But samples in an order of one's own, and up to ten more points that are learned
    /// one at a time, are for the iterates that they lead to: those are kept up to ten times the loss of the start, or the mean squared
    /// norm if that is more, and of more than ten samples, in one call or in several, it is said if their loss has grown.
    pub fn diverged(&self) -> bool {
        self.info.diverged
    }

    /// Whether learning was stopped from outside before its end.
    pub fn was_stopped(&self) -> bool {
        self.info.was_stopped
    }

    /// Whether no epoch of the fit made the loss (of rows held out, if there are any) smaller, though something was left to learn: what is kept is what learning started
    /// from. That is not said of samples in an order of one's own with a step that was given, which are for where they lead.
    pub fn is_stuck(&self) -> bool {
        self.info.is_stuck
    }

    /// Whether learning went on to its end, and was not all in vain.
    pub fn converged(&self) -> bool {
        !(self.diverged() || self.was_stopped() || self.is_stuck())
    }

    /// Plain stochastic gradients, or with reduced variance.
    pub fn optimizer(&self) -> Optimizer {
        self.info.optimizer
    }

    /// The gradient that coefficients over a span are moved by.
    pub fn gradient(&self) -> Gradient {
        self.info.gradient
    }

    /// Samples that are averaged in an update.
    pub fn batch_size(&self) -> usize {
        self.info.batch_size
    }

    /// Residual of eigenpairs while learning, relative to the eigenvalue.
    pub fn tolerance(&self) -> f64 {
        self.info.tolerance
    }

    /// Where everything random came from.
    pub fn seed(&self) -> u64 {
        self.info.seed
    }

    /// Whether the step was found by trying.
    pub fn rate_was_found(&self) -> bool {
        self.info.rate_was_found
    }

    /// The encoder, row by row: `k` matrices of `d × d` with full span, one of `k × m` over a span of `m` points.
    pub fn encoder(&self) -> Vec<f64> {
        match &self.parameters {
            Parameters::Full { encoder, .. } => encoder.to_matrices(),
            Parameters::Data { encoder, .. } => self.coefficients(encoder),
        }
    }

    /// The decoder, as [`encoder`](Self::encoder).
    pub fn decoder(&self) -> Vec<f64> {
        match &self.parameters {
            Parameters::Full { decoder, .. } => decoder.to_matrices(),
            Parameters::Data { decoder, .. } => self.coefficients(decoder),
        }
    }

    /// Coefficients over the points themselves, which are `scale` times those of the parameters.
    fn coefficients(&self, of_scaled: &Mat<f64>) -> Vec<f64> {
        let (m, units) = (of_scaled.nrows(), self.scale * self.scale);
        (0..m * of_scaled.ncols()).map(|at| of_scaled[(at % m, at / m)] / units).collect()
    }

    /// The points of the span, one row each; nothing with full span.
    pub fn span_points(&self) -> Option<Mat<f64>> {
        match &self.parameters {
            Parameters::Full { .. } => None,
            Parameters::Data { span, .. } => {
                let points = &span.points;
                Some(Mat::from_fn(points.ncols(), points.nrows(), |i, k| points[(k, i)] * self.scale))
            }
        }
    }

    /// The loss of each point: the spectral norm of `Σ_j code_j B_j − x xᵀ`.
    ///
    /// # Errors
    ///
    /// If the points have another width than those learned from, or hold values that are not finite or whose losses overflow.
    pub fn losses(&self, points: &Points) -> Result<Vec<f64>> {
        self.losses_watched(points, &self.threads()?, &Watch::new())
    }

    /// As [`losses`](Self::losses), with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`losses`](Self::losses), and [`Error::Interrupted`].
    pub fn losses_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Vec<f64>> {
        self.check(points)?;
        let context = Context::new(threads, watch, Phase::Reconstructing);
        let n = points.n_samples();
        let mut losses = Vec::with_capacity(n);
        for first in (0..n).step_by(AT_ONCE) {
            context.check()?;
            context.report_fraction(first as f64 / n as f64);
            let x = columns(points, first, AT_ONCE.min(n - first), self.scale);
            let start = start_vectors(&x);
            losses.extend(self.parameters.losses(x.as_ref(), start.as_ref(), REPORTED, threads));
        }
        for loss in &mut losses {
            *loss *= self.scale * self.scale;
        }
        // Rows may be too large beside those that were learned from, which were looked at then.
        match losses.iter().position(|loss| !loss.is_finite()) {
            Some(row) => Err(Error::CodeOverflow { row }),
            None => Ok(losses),
        }
    }

    /// Learns from more points, in their order: one epoch, with the step that is due. On an error, everything stays as it was. If the run is stopped, the updates until
    /// then are kept, unless they have made things much worse, and [`was_stopped`](Self::was_stopped) says so; [`n_samples`](Self::n_samples) counts the points that
    /// they are of.
    ///
    /// A step that was found by trying is divided by the square of how much longer the points are than those it was found with, and halved while it makes
    /// their loss much larger. If nothing helps the parameters stay as they were, and the model has [diverged](Self::diverged). So it has if the step was given and
    /// ends with a loss of these points of more than 1.02 times what it was before, as a fit that ended there would. The same call again changes nothing then, since
    /// steps fall by the updates that are kept: it takes a fit with a smaller one. But up to ten points that are learned one at a time (batches of one)
    /// are for the iterates of the textbook, which are kept up to ten times the loss that the fit started with, or the points' mean squared norm if that is more. Over
    /// several such calls, with more than ten points in all, the model has diverged if the losses that points had when they came are more than 1.02 times those that
    /// they would have had before the first of these calls, since the fit or since the model was read.
    ///
    /// Points that are not in a span are learned from by what of them lies in it.
    ///
    /// # Errors
    ///
    /// If the points have another width than those before, or hold values that are not finite or whose codes overflow.
    pub fn partial_fit(&mut self, points: &Points, watch: &Watch<'_>) -> Result<()> {
        self.check(points)?;
        let before = self.info.n_samples as f64;
        let Next { parameters, info, few } = go_on(self, points, watch)?;
        let more = info.n_samples - self.info.n_samples;
        if more > 0 {
            let (new, more) = (Moments::of(&points.slice(0..more)), more as f64);
            for (mean, new) in self.mean.iter_mut().zip(new.mean()) {
                *mean = (*mean * before + new * more) / (before + more);
            }
        }
        (self.parameters, self.info, self.few) = (parameters, info, few);
        Ok(())
    }

    pub(super) fn info(&self) -> &Info {
        &self.info
    }

    pub(super) fn few(&self) -> Option<&Few> {
        self.few.as_ref()
    }

    pub(super) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    pub(super) fn threads(&self) -> Result<Threads> {
        self.threads.map_or_else(Threads::all, Threads::new)
    }

    pub(super) fn check(&self, points: &Points) -> Result<()> {
        let (expected, found) = (self.n_features(), points.n_features());
        if expected != found {
            return Err(Error::FeatureMismatch { what: "the data", expected, found });
        }
        points.check_finite()
    }

    /// Codes of points, as [`Codec::encode`], with somebody looking on who may stop it.
    ///
    /// # Errors
    ///
    /// As [`Codec::encode`], and [`Error::Interrupted`].
    pub fn encode_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        self.check(points)?;
        let context = Context::new(threads, watch, Phase::Transforming);
        let (n, units) = (points.n_samples(), self.scale * self.scale);
        let parts = in_chunks(n, self.parameters.chunk(), &context, |first, count| {
            self.parameters.encode(columns(points, first, count, self.scale).as_ref())
        })?;
        let mut codes = Mat::zeros(n, self.n_components());
        for (first, part) in parts {
            for c in 0..part.ncols() {
                for j in 0..part.nrows() {
                    codes[(first + c, j)] = units * part[(j, c)];
                }
            }
        }
        match (0..n).find(|&row| (0..codes.ncols()).any(|j| !codes[(row, j)].is_finite())) {
            Some(row) => Err(Error::CodeOverflow { row }),
            None => Ok(codes),
        }
    }
}

/// Calls `work` for chunks of `n` columns on all threads; what each gives, with its first column.
pub(super) fn in_chunks<R: Send>(
    n: usize,
    chunk: usize,
    context: &Context<'_>,
    work: impl Fn(usize, usize) -> R + Sync,
) -> Result<Vec<(usize, R)>> {
    context.threads.run(|| {
        (0..n.div_ceil(chunk))
            .into_par_iter()
            .map(|part| {
                context.check()?;
                let first = part * chunk;
                context.report_fraction(first as f64 / n as f64);
                Ok((first, work(first, chunk.min(n - first))))
            })
            .collect()
    })
}

/// Refuses codes of another width, or that are not finite.
pub(super) fn check_codes(codes: MatRef<'_, f64>, k: usize) -> Result<()> {
    if codes.ncols() != k {
        return Err(Error::invalid("codes", format!("of {k} columns, one per component"), codes.ncols()));
    }
    for (column, values) in codes.col_iter().enumerate() {
        if let Some((row, &value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            return Err(Error::NotFinite { row, column, value });
        }
    }
    Ok(())
}

impl Codec for Autoencoder {
    fn n_features(&self) -> usize {
        self.parameters.n_features()
    }

    fn n_components(&self) -> usize {
        self.parameters.n_components()
    }

    fn encode(&self, points: &Points) -> Result<Mat<f64>> {
        self.encode_watched(points, &self.threads()?, &Watch::new())
    }

    fn decode(&self, codes: MatRef<'_, f64>, reference: Option<&Points>) -> Result<Mat<f64>> {
        Ok(self.decode_watched(codes, reference, &self.threads()?, &Watch::new())?.points)
    }

    fn reconstruct(&self, points: &Points) -> Result<Mat<f64>> {
        let reference = (self.sign == Sign::Nearest).then_some(points);
        self.decode(self.encode(points)?.as_ref(), reference)
    }
}
