//! A classifier that has learned.

use std::sync::Arc;

use faer::{Mat, MatRef};

use super::layer::{Layer, sigmoid};
use super::settings::{KernelClassifier, Unit, Widths};
use super::{logistic, sigmoid as units};
use crate::data::{Moments, Points, Scaling};
use crate::error::{Error, Result};
use crate::kernel::Parameter;
use crate::model::{KernelPca, Model};
use crate::watch::{Context, Phase, Threads, Watch};

/// Points that a class must have for a width of its own.
const LEAST_OF_CLASS: usize = 3;

/// A classifier that has learned from points and their classes.
///
/// ```
/// use mercer::Points;
/// use mercer::classify::KernelClassifier;
/// use mercer::kernel::{KernelSpec, Parameter, Width};
///
/// // Two heaps on a line.
/// let values: Vec<f64> = (0..40).map(|i| f64::from(i % 20) * 0.1 + if i < 20 { 0.0 } else { 5.0 }).collect();
/// let labels: Vec<usize> = (0..40).map(|i| i / 20).collect();
/// let spec = KernelSpec::new("gaussian").width(Width::Median);
/// let points = Points::from_f64(values, 40, 1)?;
/// let classifier = KernelClassifier::new(spec.clone()).fit(&points, &labels)?;
/// let new = Points::from_f64(vec![1.0, 6.0], 2, 1)?;
/// assert_eq!((classifier.n_classes(), classifier.predict(&new)?), (2, vec![0, 1]));
/// let probabilities = classifier.probabilities(&new)?;
/// assert!(probabilities[(0, 0)] > 0.9 && probabilities[(1, 1)] > 0.9);
///
/// // One kernel for both classes, of the width that the points gave it; nothing to be careful about.
/// let gamma = spec.resolve(&points)?.parameter(Parameter::Gamma);
/// assert_eq!(classifier.gammas(), gamma.into_iter().collect::<Vec<_>>());
/// assert!(classifier.n_components().len() == 1 && classifier.converged() && classifier.warnings().is_empty());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Classifier {
    scaling: Option<Scaling>,
    n_classes: usize,
    is_logistic: bool,
    parts: Vec<Part>,
}

/// Components and the units on them.
#[derive(Debug)]
struct Part {
    components: Components,
    /// The classes that units tell from the others.
    units: Vec<usize>,
    /// On the leading components, or on all of them.
    layer: Layer,
    /// Whether the units have reached their minimum, if they look for one.
    is_least: bool,
}

/// What units are trained on.
#[derive(Clone, Debug)]
struct Components {
    /// Shared by units on different numbers of its components.
    model: Arc<Model>,
    /// What scores are multiplied by: the first component then has variance one.
    factor: f64,
    /// What is to be said of its width and of its components.
    warnings: Vec<String>,
}

pub(super) fn fit(
    settings: &KernelClassifier,
    points: &Points,
    labels: &[usize],
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<Classifier> {
    let counts = settings.validate(points, labels)?;
    points.check_finite()?;
    let n_classes = counts.len();
    let scaling = settings.standardize.then(|| Scaling::standardizing(&Moments::of(points)));
    let scaled = scaling.as_ref().map_or_else(|| Ok(points.clone()), |scaling| scaling.apply(points))?;
    let is_logistic = matches!(settings.unit, Unit::Logistic { .. });
    let parts = match settings.widths {
        Widths::Common => {
            // Two classes need one sigmoid unit, which answers for the second of them.
            let units: Vec<usize> = if n_classes == 2 && !is_logistic { vec![1] } else { (0..n_classes).collect() };
            vec![Part::learn(settings, &scaled, &scaled, labels, &units, threads, watch)?]
        }
        Widths::PerClass => {
            if let Some(class) = counts.iter().position(|&count| count < LEAST_OF_CLASS) {
                let has = has(class, counts[class]);
                return Err(Error::Labels {
                    problem: format!("{has}: a width of its own needs at least {LEAST_OF_CLASS}"),
                });
            }
            let mut parts = Vec::with_capacity(n_classes);
            for class in 0..n_classes {
                let members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == class).collect();
                let own = scaled.select(&members);
                let part = Part::learn(settings, &scaled, &own, labels, &[class], threads, watch);
                parts.push(part.map_err(|error| of_class(error, class, &members))?);
            }
            parts
        }
    };
    Ok(Classifier { scaling, n_classes, is_logistic, parts })
}

/// What a class has to learn from: of the rows of a fold, those that are not held out.
fn has(class: usize, count: usize) -> String {
    format!("class {class} has {count} {} to learn from", if count == 1 { "row" } else { "rows" })
}

/// The error of a class for whose rows there is no width, which names it. To a kernel with a width for each class no width can be given: the advice is another.
fn of_class(error: Error, class: usize, members: &[usize]) -> Error {
    let has = has(class, members.len());
    let problem = match error {
        // Only a search for a width says so, and it has seen the rows of the class alone.
        Error::TooFarApart { row, largest } => return Error::TooFarApart { row: members[row], largest },
        Error::NoVariance { n_samples } if n_samples == members.len() => {
            format!("{has}, which are all equal: a width of its own needs rows that differ")
        }
        Error::NoMaximum { criterion, low, high, .. } => format!(
            "{has}, for which no width is the best, as when they are copies of two points: the criterion \"{criterion}\" has no maximum \
             between bandwidths {low:.3e} and {high:.3e}; use one width for all classes"
        ),
        Error::TooClose { .. } => format!("{has}, and {error}"),
        other => return other,
    };
    Error::Labels { problem }
}

impl Part {
    /// Components of all points with the width that `from` gives, and units that tell some classes from the others.
    fn learn(
        settings: &KernelClassifier,
        points: &Points,
        from: &Points,
        labels: &[usize],
        units: &[usize],
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let (kernel, mut warnings) = settings.kernel.resolve_told(from, settings.seed, threads, watch)?;
        let pca = KernelPca::new(kernel).threads(threads.count()).seed(settings.seed).memory(settings.memory);
        let pca = pca.negative(settings.negative);
        let most = points.n_samples().saturating_sub(1).max(1);
        let pca = match settings.n_components {
            Some(k) => pca.n_components(k.min(most)),
            None => pca.variance(settings.variance),
        };
        let model = pca.fit_watched(points, watch)?;
        // Negative eigenvalues that are not left out count with their absolute value, and so does the variance of their scores.
        let first = model.eigenvalues().first().map_or(0.0, |mu| mu.abs() / points.n_samples() as f64);
        let factor = if first > 0.0 { 1.0 / first.sqrt() } else { 1.0 };
        warnings.extend_from_slice(&model.record().warnings);
        let context = Context::new(threads, watch, Phase::Classifying);
        let n = model.n_components();
        let components = Components { model: Arc::new(model), factor, warnings };
        Self::train(settings, components, n, labels, units.to_vec(), &context)
    }

    /// Units on the leading `n` of some components.
    fn train(
        settings: &KernelClassifier,
        components: Components,
        n: usize,
        labels: &[usize],
        units: Vec<usize>,
        context: &Context<'_>,
    ) -> Result<Self> {
        let all = components.model.training_scores();
        let mut scores = all.as_ref().subcols(0, n.min(all.ncols())).to_owned();
        scale(&mut scores, components.factor);
        let (layer, is_least) = train(settings, scores.as_ref(), labels, &units, context)?;
        Ok(Self { components, units, layer, is_least })
    }

    fn sums(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Mat<f64>> {
        let mut scores = self.components.model.transform_watched(points, threads, watch)?;
        scale(&mut scores, self.components.factor);
        Ok(self.layer.sums(scores.as_ref().subcols(0, self.layer.n_inputs())))
    }

    fn warnings(&self) -> Vec<String> {
        let most = logistic::MAX_STEPS;
        let stopped = format!("the logistic regression was stopped before its minimum, after at most {most} steps");
        self.components.warnings.iter().cloned().chain((!self.is_least).then_some(stopped)).collect()
    }
}

/// The units that tell some classes from the others, and whether they have reached their minimum, if they look for one.
fn train(
    settings: &KernelClassifier,
    scores: MatRef<'_, f64>,
    labels: &[usize],
    units: &[usize],
    context: &Context<'_>,
) -> Result<(Layer, bool)> {
    match settings.unit {
        Unit::Sigmoid { learning_rate, epochs } => {
            let targets = Mat::from_fn(labels.len(), units.len(), |i, j| f64::from(u8::from(labels[i] == units[j])));
            let layer = units::train(scores, targets.as_ref(), learning_rate, epochs, settings.seed, context)?;
            Ok((layer, true))
        }
        Unit::Logistic { penalty } if units.len() > 1 => {
            context.threads.run(|| logistic::train(scores, labels, units.len(), penalty, logistic::MAX_STEPS, context))
        }
        Unit::Logistic { penalty } => {
            let own: Vec<usize> = labels.iter().map(|label| usize::from(*label == units[0])).collect();
            context.threads.run(|| logistic::train(scores, &own, 2, penalty, logistic::MAX_STEPS, context))
        }
    }
}

fn scale(scores: &mut Mat<f64>, factor: f64) {
    for j in 0..scores.ncols() {
        scores.col_mut(j).iter_mut().for_each(|score| *score *= factor);
    }
}

impl Classifier {
    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The inverse width of each kernel: one, or one per class; empty for a kernel without a width.
    pub fn gammas(&self) -> Vec<f64> {
        let gamma = |part: &Part| part.components.model.kernel().parameter(Parameter::Gamma);
        self.parts.iter().filter_map(gamma).collect()
    }

    /// Components of each kernel that units are on.
    pub fn n_components(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.layer.n_inputs()).collect()
    }

    /// The same with units on the leading components of each kernel, no more than `n_components`.
    pub(super) fn on_leading(
        &self,
        settings: &KernelClassifier,
        n_components: usize,
        labels: &[usize],
        context: &Context<'_>,
    ) -> Result<Self> {
        let train = |part: &Part| {
            Part::train(settings, part.components.clone(), n_components, labels, part.units.clone(), context)
        };
        let parts = self.parts.iter().map(train).collect::<Result<Vec<_>>>()?;
        Ok(Self { scaling: self.scaling.clone(), n_classes: self.n_classes, is_logistic: self.is_logistic, parts })
    }

    /// What to be careful about: widths that a search is not sure of, what a fit says of its components (not converged, left out as rounding, negative eigenvalues), regressions that
    /// were stopped before their minimum. What is the same for several classes is said once.
    pub fn warnings(&self) -> Vec<String> {
        let mut said: Vec<String> = Vec::new();
        for warning in self.parts.iter().flat_map(Part::warnings) {
            if !said.contains(&warning) {
                said.push(warning);
            }
        }
        said
    }

    /// Whether all components have converged and every regression has reached its minimum; sigmoid units look for none.
    pub fn converged(&self) -> bool {
        self.parts.iter().all(|part| part.is_least && part.components.model.converged())
    }

    /// The share of each class in every point: one row per point, which adds up to one.
    ///
    /// # Errors
    ///
    /// If the points cannot be used.
    pub fn probabilities(&self, points: &Points) -> Result<Mat<f64>> {
        self.probabilities_watched(points, &Threads::all()?, &Watch::new())
    }

    pub(super) fn probabilities_watched(
        &self,
        points: &Points,
        threads: &Threads,
        watch: &Watch<'_>,
    ) -> Result<Mat<f64>> {
        let scaled = self.scaling.as_ref().map_or_else(|| Ok(points.clone()), |scaling| scaling.apply(points))?;
        let n = points.n_samples();
        let mut shares = Mat::zeros(n, self.n_classes);
        for (class, part) in self.parts.iter().enumerate() {
            let mut sums = part.sums(&scaled, threads, watch)?;
            for i in 0..n {
                match (self.parts.len(), sums.ncols(), self.is_logistic) {
                    (1, 1, _) => {
                        let second = sigmoid(sums[(i, 0)]);
                        (shares[(i, 0)], shares[(i, 1)]) = (1.0 - second, second);
                    }
                    (1, _, true) => {
                        logistic::softmax(&mut sums, i);
                        (0..self.n_classes).for_each(|j| shares[(i, j)] = sums[(i, j)]);
                    }
                    (1, units, false) => (0..units).for_each(|j| shares[(i, j)] = sigmoid(sums[(i, j)])),
                    (_, 1, _) => shares[(i, class)] = sigmoid(sums[(i, 0)]),
                    _ => {
                        logistic::softmax(&mut sums, i);
                        shares[(i, class)] = sums[(i, 1)];
                    }
                }
            }
        }
        for i in 0..n {
            let total: f64 = (0..self.n_classes).map(|j| shares[(i, j)]).sum();
            for j in 0..self.n_classes {
                shares[(i, j)] = if total > 0.0 { shares[(i, j)] / total } else { 1.0 / self.n_classes as f64 };
            }
        }
        Ok(shares)
    }

    /// The most likely class of every point.
    ///
    /// # Errors
    ///
    /// If the points cannot be used.
    pub fn predict(&self, points: &Points) -> Result<Vec<usize>> {
        self.predict_watched(points, &Threads::all()?, &Watch::new())
    }

    pub(super) fn predict_watched(&self, points: &Points, threads: &Threads, watch: &Watch<'_>) -> Result<Vec<usize>> {
        let shares = self.probabilities_watched(points, threads, watch)?;
        let best =
            |i: usize| (0..self.n_classes).fold(0, |best, j| if shares[(i, j)] > shares[(i, best)] { j } else { best });
        Ok((0..shares.nrows()).map(best).collect())
    }
}
