//! Repeated stratified cross-validation.

use std::sync::atomic::{AtomicUsize, Ordering};

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;

use super::fitted::Classifier;
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
    // The smallest class, which the advice is for: of another one that is too small it would not be true.
    let smallest = counts.iter().enumerate().min_by_key(|&(_, count)| count);
    if let Some((class, &fewest)) = smallest.filter(|&(_, &count)| count < n_folds) {
        let members = if fewest == 1 { "1 member".to_owned() } else { format!("{fewest} members") };
        // With one fold nothing is left to learn from.
        let advice = match fewest {
            2.. => format!("use at most {fewest} folds"),
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
    let trials = Trials::new(settings, points, labels, (n_folds, repeats), threads)?;
    let trials = trials.all(threads, watch, |fold, context| trials.attempt(fold, context))?;
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

/// The numbers of components among which one was chosen, and the one that was.
///
/// ```
/// use mercer::Points;
/// use mercer::classify::KernelClassifier;
/// use mercer::kernel::{KernelSpec, Width};
/// use mercer::watch::{Threads, Watch};
///
/// // Four groups in the corners of a square, those in opposite corners of one class: that takes the third component.
/// let side = |bit: i32| if bit % 2 == 0 { 3.0 } else { -3.0 };
/// let row = |i: i32| [side(i) + 0.1 * f64::from(i * i % 7), side(i / 2) + 0.1 * f64::from(i * 3 % 8)];
/// let points = Points::from_f64((0..80).flat_map(row).collect::<Vec<_>>(), 80, 2)?;
/// let labels: Vec<usize> = (0..80).map(|i| (i + i / 2) % 2).collect();
/// let classifier = KernelClassifier::new(KernelSpec::new("gaussian").width(Width::Auto));
///
/// let chosen = classifier.choose_n_components(&points, &labels, &[1, 3, 10], 5, &Threads::new(1)?, &Watch::new())?;
/// assert_eq!((chosen.n_components, chosen.tried), (3, vec![1, 3, 10]));
/// assert!(chosen.accuracies[0] < 0.9 && chosen.accuracies[1] == 1.0, "{:?}", chosen.accuracies);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChosenComponents {
    /// The number with the highest accuracy; the smallest of several.
    pub n_components: usize,
    /// Numbers of components that were tried, as they were given.
    pub tried: Vec<usize>,
    /// With each, the share of points whose class was found while they were held out.
    pub accuracies: Vec<f64>,
    /// Seconds that it took.
    pub seconds: f64,
}

pub(super) fn choose(
    settings: &KernelClassifier,
    points: &Points,
    labels: &[usize],
    among: &[usize],
    n_folds: usize,
    (threads, watch): (&Threads, &Watch<'_>),
) -> Result<ChosenComponents> {
    let stopwatch = Stopwatch::start();
    let Some(&most) = among.iter().max().filter(|_| !among.contains(&0)) else {
        return Err(Error::invalid(
            "n_components",
            "at least one number to try, each at least 1",
            format!("{among:?}"),
        ));
    };
    let settings = settings.clone().n_components(most);
    settings.validate(points, labels)?;
    let trials = Trials::new(&settings, points, labels, (n_folds, 1), threads)?;
    let hits = trials.all(threads, watch, |fold, context| trials.hits_among(fold, among, context))?;
    let accuracy = |at: usize| hits.iter().map(|hits| hits[at]).sum::<usize>() as f64 / labels.len() as f64;
    let accuracies: Vec<f64> = (0..among.len()).map(accuracy).collect();
    let best = (0..among.len()).max_by(|&a, &b| accuracies[a].total_cmp(&accuracies[b]).then(among[b].cmp(&among[a])));
    let n_components = best.map_or(most, |best| among[best]);
    Ok(ChosenComponents { n_components, tried: among.to_vec(), accuracies, seconds: stopwatch.seconds() })
}

/// Folds that are to be tried.
struct Trials<'a> {
    /// With what each fit may take of the memory.
    settings: KernelClassifier,
    points: &'a Points,
    labels: &'a [usize],
    n_folds: usize,
    /// The fold of each row, repeat by repeat.
    dealt: Vec<Vec<usize>>,
    /// Whether folds are tried side by side, each on one thread.
    are_side_by_side: bool,
}

/// A fold of a repeat.
struct Fold {
    /// Its place among all of them.
    number: usize,
    /// Rows that are held out.
    held: Vec<usize>,
    /// Rows that are learned from, and their classes.
    kept: Vec<usize>,
    labels: Vec<usize>,
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

impl<'a> Trials<'a> {
    /// Deals the rows.
    fn new(
        settings: &KernelClassifier,
        points: &'a Points,
        labels: &'a [usize],
        (n_folds, repeats): (usize, usize),
        threads: &Threads,
    ) -> Result<Self> {
        let dealt = (0..repeats)
            .map(|repeat| stratified_folds(labels, n_folds, settings.seed.wrapping_add(repeat as u64)))
            .collect::<Result<Vec<_>>>()?;
        let each = side_by_side(labels.len(), threads.count(), settings.memory.bytes());
        let settings = KernelClassifier { memory: each.unwrap_or(settings.memory), ..settings.clone() };
        Ok(Self { settings, points, labels, n_folds, dealt, are_side_by_side: each.is_some() })
    }

    /// What comes out of every fold, in their order.
    fn all<R: Send>(
        &self,
        threads: &Threads,
        watch: &Watch<'_>,
        attempt: impl Fn(&Fold, &Context<'_>) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let context = Context::new(threads, watch, Phase::Classifying);
        let next = AtomicUsize::new(0);
        let mut found: Vec<(usize, R)> = if self.are_side_by_side {
            let work = |_: usize| self.work(&next, &attempt, &Context { threads: &Threads::new(1)?, ..context });
            threads.on_each(work).into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect()
        } else {
            self.work(&next, &attempt, &context)?
        };
        found.sort_unstable_by_key(|(number, _)| *number);
        Ok(found.into_iter().map(|(_, outcome)| outcome).collect())
    }

    /// Takes folds from the `next` on until there are none left. After an error nobody takes another.
    fn work<R>(
        &self,
        next: &AtomicUsize,
        attempt: &impl Fn(&Fold, &Context<'_>) -> Result<R>,
        context: &Context<'_>,
    ) -> Result<Vec<(usize, R)>> {
        let count = self.n_folds * self.dealt.len();
        let mut found = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                return Ok(found);
            }
            context.report_fraction(number as f64 / count as f64);
            match context.check().and_then(|()| attempt(&self.fold(number), context)) {
                Ok(outcome) => found.push((number, outcome)),
                Err(error) => {
                    next.store(count, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    }

    fn fold(&self, number: usize) -> Fold {
        let (folds, fold) = (&self.dealt[number / self.n_folds], number % self.n_folds);
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..self.labels.len()).partition(|&i| folds[i] == fold);
        let labels = kept.iter().map(|&i| self.labels[i]).collect();
        Fold { number, held, kept, labels }
    }

    fn learned(&self, fold: &Fold, context: &Context<'_>) -> Result<Classifier> {
        let (rows, quiet) = (self.points.select(&fold.kept), context.watch.unseen());
        let learned = self.settings.fit_watched(&rows, &fold.labels, context.threads, &quiet);
        learned.map_err(|error| in_a_fold(error, &fold.kept))
    }

    /// Rows that are held out whose class is found.
    fn hits(&self, classifier: &Classifier, fold: &Fold, context: &Context<'_>) -> Result<usize> {
        let (rows, quiet) = (self.points.select(&fold.held), context.watch.unseen());
        let found = classifier.predict_watched(&rows, context.threads, &quiet);
        let found = found.map_err(|error| in_a_fold(error, &fold.held))?;
        Ok(found.iter().zip(&fold.held).filter(|&(&class, &i)| class == self.labels[i]).count())
    }

    fn attempt(&self, fold: &Fold, context: &Context<'_>) -> Result<Trial> {
        let classifier = self.learned(fold, context)?;
        Ok(Trial {
            number: fold.number,
            hits: self.hits(&classifier, fold, context)?,
            held: fold.held.len(),
            gammas: classifier.gammas(),
            n_components: classifier.n_components(),
            converged: classifier.converged(),
            warnings: classifier.warnings(),
        })
    }

    /// The same hits with units on each of several numbers of components, which are computed once.
    fn hits_among(&self, fold: &Fold, among: &[usize], context: &Context<'_>) -> Result<Vec<usize>> {
        let all = self.learned(fold, context)?;
        let own = Context { watch: &context.watch.unseen(), ..*context };
        among
            .iter()
            .map(|&n_components| match self.settings.n_components {
                Some(most) if n_components < most => {
                    self.hits(&all.on_leading(&self.settings, n_components, &fold.labels, &own)?, fold, context)
                }
                _ => self.hits(&all, fold, context),
            })
            .collect()
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
