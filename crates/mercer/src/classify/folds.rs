//! Repeated stratified cross-validation.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

use super::settings::{KernelClassifier, count_classes};
use crate::data::Points;
use crate::error::{Error, Result};
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// How well a classifier did on points that were held out.
///
/// ```
/// use mercer::Points;
/// use mercer::classify::KernelClassifier;
/// use mercer::kernel::{KernelSpec, Width};
///
/// let values: Vec<f64> = (0..40).map(|i| f64::from(i % 20) * 0.1 + if i < 20 { 0.0 } else { 5.0 }).collect();
/// let labels: Vec<usize> = (0..40).map(|i| i / 20).collect();
/// let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Median));
/// let found = classifier.cross_validate(&Points::from_f64(values, 40, 1)?, &labels, 4, 2)?;
/// assert_eq!((found.accuracy, found.class_counts), (1.0, vec![20, 20]));
/// assert_eq!(found.accuracies.len(), 4 * 2, "one per fold and repeat");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CrossValidation {
    /// The share of points whose class was found, over all folds and repeats.
    pub accuracy: f64,
    /// The standard deviation of the accuracy of single folds.
    pub standard_deviation: f64,
    /// The accuracy on each fold, repeat by repeat.
    pub accuracies: Vec<f64>,
    /// The inverse widths that each fold's training points gave: one, or one per class.
    pub gammas: Vec<Vec<f64>>,
    /// Components that each fold's kernels had.
    pub n_components: Vec<Vec<usize>>,
    /// Members of each class.
    pub class_counts: Vec<usize>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Deals rows into folds so that every fold has nearly the same share of each class: the fold of each row.
///
/// # Errors
///
/// If there are fewer than two folds or classes, or a class has fewer members than there are folds.
///
/// ```
/// let labels = [0, 0, 0, 0, 1, 1];
/// let folds = mercer::classify::stratified_folds(&labels, 2, 7)?;
/// assert_eq!((0..6).filter(|&i| folds[i] == 0 && labels[i] == 0).count(), 2);
/// assert_eq!((0..6).filter(|&i| folds[i] == 0 && labels[i] == 1).count(), 1);
/// assert!(mercer::classify::stratified_folds(&labels, 3, 7).is_err());
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn stratified_folds(labels: &[usize], n_folds: usize, seed: u64) -> Result<Vec<usize>> {
    if n_folds < 2 {
        return Err(Error::invalid("folds", "at least 2", n_folds));
    }
    let counts = count_classes(labels.len(), labels)?;
    if let Some(class) = counts.iter().position(|&count| count < n_folds) {
        let members = if counts[class] == 1 { "1 member".to_owned() } else { format!("{} members", counts[class]) };
        // With one fold nothing is left to learn from.
        let advice = match counts.iter().min() {
            Some(&fewest) if fewest >= 2 => format!("use at most {fewest} folds"),
            _ => "leave classes of a single member out".to_owned(),
        };
        let problem = format!("class {class} has {members}, fewer than the {n_folds} folds: {advice}");
        return Err(Error::Labels { problem });
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut folds = vec![0; labels.len()];
    let mut next = 0;
    for class in 0..counts.len() {
        let mut members: Vec<usize> = (0..labels.len()).filter(|&i| labels[i] == class).collect();
        members.shuffle(&mut random);
        // Classes go on where the one before has ended, so that folds are of equal size, too.
        for member in members {
            folds[member] = next % n_folds;
            next += 1;
        }
    }
    Ok(folds)
}

pub(super) fn cross_validate(
    settings: &KernelClassifier,
    points: &Points,
    labels: &[usize],
    (n_folds, repeats): (usize, usize),
    threads: &Threads,
    watch: &Watch<'_>,
) -> Result<CrossValidation> {
    let stopwatch = Stopwatch::start();
    let class_counts = settings.validate(points, labels)?;
    if repeats == 0 {
        return Err(Error::invalid("repeats", "at least 1", 0));
    }
    let context = Context::new(threads, watch, Phase::Classifying);
    let (mut accuracies, mut gammas, mut n_components) = (Vec::new(), Vec::new(), Vec::new());
    let mut right = 0;
    for repeat in 0..repeats {
        let folds = stratified_folds(labels, n_folds, settings.seed.wrapping_add(repeat as u64))?;
        for fold in 0..n_folds {
            context.check()?;
            context.report_fraction((repeat * n_folds + fold) as f64 / (repeats * n_folds) as f64);
            let (held, kept): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&i| folds[i] == fold);
            let own: Vec<usize> = kept.iter().map(|&i| labels[i]).collect();
            let quiet = watch.unseen();
            let classifier = settings.fit_watched(&points.select(&kept), &own, threads, &quiet)?;
            let found = classifier.predict_watched(&points.select(&held), threads, &quiet)?;
            let hits = found.iter().zip(&held).filter(|&(&class, &i)| class == labels[i]).count();
            right += hits;
            accuracies.push(hits as f64 / held.len() as f64);
            gammas.push(classifier.gammas());
            n_components.push(classifier.n_components());
        }
    }
    let accuracy = right as f64 / (repeats * labels.len()) as f64;
    let count = accuracies.len() as f64;
    let mean = accuracies.iter().sum::<f64>() / count;
    let scatter = accuracies.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    Ok(CrossValidation {
        accuracy,
        standard_deviation: (scatter / (count - 1.0).max(1.0)).sqrt(),
        accuracies,
        gammas,
        n_components,
        class_counts,
        seconds: stopwatch.seconds(),
    })
}
