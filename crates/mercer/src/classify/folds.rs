//! Repeated stratified cross-validation.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

use super::settings::{KernelClassifier, count_classes};
use crate::choices::MemoryBudget;
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
    /// Whether in every fold all components have converged and every regression has reached its minimum.
    pub converged: bool,
    /// What to be careful about, with the number of folds in which it was said; the first of several that differ by numbers only.
    pub warnings: Vec<String>,
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
    let dealt = (0..repeats)
        .map(|repeat| stratified_folds(labels, n_folds, settings.seed.wrapping_add(repeat as u64)))
        .collect::<Result<Vec<_>>>()?;
    let each = side_by_side(labels.len(), threads.count(), settings.memory.bytes());
    let own = KernelClassifier { memory: each.unwrap_or(settings.memory), ..settings.clone() };
    let trials = Trials { settings: &own, points, labels, n_folds, dealt, next: AtomicUsize::new(0) };
    let context = Context::new(threads, watch, Phase::Classifying);
    let mut trials = if each.is_some() {
        let found = threads.on_each(|_| trials.work(&Context { threads: &Threads::new(1)?, ..context }));
        found.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect()
    } else {
        trials.work(&context)?
    };
    trials.sort_unstable_by_key(|trial| trial.number);
    let accuracies: Vec<f64> = trials.iter().map(|trial| trial.hits as f64 / trial.held as f64).collect();
    let count = accuracies.len() as f64;
    let mean = accuracies.iter().sum::<f64>() / count;
    let scatter = accuracies.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    Ok(CrossValidation {
        accuracy: trials.iter().map(|trial| trial.hits).sum::<usize>() as f64 / (repeats * labels.len()) as f64,
        standard_deviation: (scatter / (count - 1.0).max(1.0)).sqrt(),
        accuracies,
        gammas: trials.iter().map(|trial| trial.gammas.clone()).collect(),
        warnings: in_folds(&trials),
        converged: trials.iter().all(|trial| trial.converged),
        n_components: trials.into_iter().map(|trial| trial.n_components).collect(),
        class_counts,
        seconds: stopwatch.seconds(),
    })
}

/// Rows up to which folds are tried side by side, each on one thread: much of such a fit is too short for threads to share, and units are trained on one.
const SIDE_BY_SIDE: usize = 5000;
/// Bytes that a fit of so few rows takes for each pair of them, at most: a matrix, its eigenvectors, and what the solver needs beside them.
const PER_PAIR: u64 = 32;

/// What each fit may take of a budget where as many run side by side as there are threads; nothing if they do not fit, or are too long for that.
fn side_by_side(n: usize, n_threads: usize, budget: u64) -> Option<MemoryBudget> {
    let each = budget / n_threads.max(1) as u64;
    (n <= SIDE_BY_SIDE && PER_PAIR * (n * n) as u64 <= each).then_some(MemoryBudget::Bytes(each))
}

/// Folds that are still to be tried.
struct Trials<'a> {
    settings: &'a KernelClassifier,
    points: &'a Points,
    labels: &'a [usize],
    n_folds: usize,
    /// The fold of each row, repeat by repeat.
    dealt: Vec<Vec<usize>>,
    /// The first fold that nobody has taken.
    next: AtomicUsize,
}

/// How one fold came out.
struct Trial {
    number: usize,
    hits: usize,
    held: usize,
    gammas: Vec<f64>,
    n_components: Vec<usize>,
    converged: bool,
    warnings: Vec<String>,
}

/// The warnings of all folds: each kind once, with the number of folds that it comes from.
fn in_folds(trials: &[Trial]) -> Vec<String> {
    let mut kinds: Vec<(String, &str, Vec<usize>)> = Vec::new();
    for trial in trials {
        for warning in &trial.warnings {
            let kind: String = warning.chars().filter(|c| !c.is_ascii_digit() && !".-+e".contains(*c)).collect();
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., folds)) if folds.last() == Some(&trial.number) => {}
                Some((.., folds)) => folds.push(trial.number),
                None => kinds.push((kind, warning, vec![trial.number])),
            }
        }
    }
    let all = trials.len();
    kinds.into_iter().map(|(_, warning, folds)| format!("in {} of {all} folds: {warning}", folds.len())).collect()
}

/// The error of a part of the rows: rows that it counts are those of the part, the one that it names is one of all.
fn in_a_fold(error: Error, rows: &[usize]) -> Error {
    match error {
        Error::Labels { problem } => Error::Labels { problem: format!("in a fold, {problem}") },
        other => other.with_row(|row| rows[row]),
    }
}

impl Trials<'_> {
    /// Takes folds until there are none left. After an error nobody takes another.
    fn work(&self, context: &Context<'_>) -> Result<Vec<Trial>> {
        let count = self.n_folds * self.dealt.len();
        let mut trials = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(trials);
            }
            context.report_fraction(number as f64 / count as f64);
            match context.check().and_then(|()| self.attempt(number, context)) {
                Ok(trial) => trials.push(trial),
                Err(error) => {
                    self.next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    }

    fn attempt(&self, number: usize, context: &Context<'_>) -> Result<Trial> {
        let (folds, fold) = (&self.dealt[number / self.n_folds], number % self.n_folds);
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..self.labels.len()).partition(|&i| folds[i] == fold);
        let own: Vec<usize> = kept.iter().map(|&i| self.labels[i]).collect();
        let quiet = context.watch.unseen();
        let learned = self.settings.fit_watched(&self.points.select(&kept), &own, context.threads, &quiet);
        let classifier = learned.map_err(|error| in_a_fold(error, &kept))?;
        let found = classifier.predict_watched(&self.points.select(&held), context.threads, &quiet);
        let found = found.map_err(|error| in_a_fold(error, &held))?;
        Ok(Trial {
            number,
            hits: found.iter().zip(&held).filter(|&(&class, &i)| class == self.labels[i]).count(),
            held: held.len(),
            gammas: classifier.gammas(),
            n_components: classifier.n_components(),
            converged: classifier.converged(),
            warnings: classifier.warnings(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_run_side_by_side_where_all_of_them_fit_into_the_budget() {
        assert_eq!(side_by_side(2310, 2, 1 << 30), Some(MemoryBudget::Bytes(1 << 29)));
        assert_eq!(side_by_side(2310, 8, 1 << 30), None, "not eight of them");
        assert_eq!(side_by_side(20_000, 2, 1 << 50), None, "long enough for threads to share");
    }

    #[test]
    fn warnings_that_differ_by_numbers_only_are_one() {
        let trial = |number: usize, warnings: &[&str]| Trial {
            number,
            hits: 0,
            held: 1,
            gammas: Vec::new(),
            n_components: Vec::new(),
            converged: true,
            warnings: warnings.iter().map(|&warning| warning.to_owned()).collect(),
        };
        let trials = [
            trial(0, &["bandwidth 1.5e-3 is at the edge", "stopped after 500 steps"]),
            trial(1, &[]),
            trial(2, &["bandwidth 0.25 is at the edge", "bandwidth 7 is at the edge"]),
        ];
        let expected = ["in 2 of 3 folds: bandwidth 1.5e-3 is at the edge", "in 1 of 3 folds: stopped after 500 steps"];
        assert_eq!(in_folds(&trials), expected);
    }
}
