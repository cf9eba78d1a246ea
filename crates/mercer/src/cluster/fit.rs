//! The clustering: from points to a model.
//!
//! Reads as the steps do: prepare, normalise, solve, embed, find clusters.

use std::collections::BTreeMap;

use faer::{Mat, MatRef};

use super::embedding::{require_distinct, unit_rows};
use super::fitted::ClusterModel;
use super::record::ClusterRecord;
use super::settings::{SpectralClustering, Way};
use super::{hebbian, landmarks};
use crate::choices::SolverChoice;
use crate::data::Points;
use crate::eigen::{EigenPairs, Outcome, Request};
use crate::error::{Error, Result};
use crate::gram::{Counted, Element, Normalized, Store, diagonal, scale_rows};
use crate::kernel::Kernel;
use crate::kmeans::{KMeans, Partition};
use crate::memory;
use crate::model::{
    KernelPca, PlannedGram, Prepared, SpeedsFrom, Totals, fix_signs, patience, planned_solver, start_from_sample,
};
use crate::plan::Plan;
use crate::record::{ExpansionRecord, KernelRecord, NystromRecord, RECORD_VERSION};
use crate::scalar::Precision;
use crate::watch::{Context, GRACE, Phase, Stopwatch, Watch};

/// A row has nearly no neighbours where its kernel values with all other rows, together, are this share of the one with itself or less.
const ALONE: f64 = 1e-6;

/// Eigenvectors of the normalised matrix, and what they took.
pub(super) struct Solved {
    pub(super) pairs: EigenPairs,
    pub(super) degrees: Vec<f64>,
    pub(super) totals: Totals,
    pub(super) gram: String,
    pub(super) solver: String,
    pub(super) plan: Option<Plan>,
    pub(super) expansion: Option<ExpansionRecord>,
    pub(super) nystrom: Option<NystromRecord>,
    /// The landmarks that new points are compared with, if not with all points.
    pub(super) over: Option<Over>,
}

/// Landmarks, and what embeds new points with them.
pub(super) struct Over {
    pub(super) landmarks: Points,
    /// What kernel values with the landmarks are multiplied with: a column for each eigenvector, and one for the degree.
    pub(super) weights: Mat<f64>,
}

impl Over {
    /// The weights of the leading eigenvectors, as many as have been turned or not, turned with them.
    fn turned(&self, turned: &[bool]) -> Mat<f64> {
        let (m, last, kept) = (self.weights.nrows(), self.weights.ncols() - 1, turned.len());
        Mat::from_fn(m, kept + 1, |i, j| match turned.get(j) {
            None => self.weights[(i, last)],
            Some(true) => -self.weights[(i, j)],
            Some(false) => self.weights[(i, j)],
        })
    }
}

/// Finds clusters.
pub(super) fn fit(settings: &SpectralClustering, points: &Points, watch: &Watch<'_>) -> Result<ClusterModel> {
    let stopwatch = Stopwatch::start();
    settings.validate(points.n_samples())?;
    let problem = settings.eigenproblem();
    let mut prepared = Prepared::new(&problem, points, SpeedsFrom::WhateverIsCheap, watch)?;
    require_distinct(points, settings.n_clusters)?;
    if let Way::Landmarks(asked) = &settings.way {
        prepared.warnings.extend(asked.warning_of_few_rows(points.n_samples()));
        if problem.tolerance.is_none() {
            prepared.tolerance = landmarks::ANY_RESIDUAL;
        }
    }
    let mut seconds = BTreeMap::from([("planning".to_owned(), stopwatch.seconds())]);

    let solving = Stopwatch::start();
    let mut solved = match (&settings.way, prepared.precision) {
        (Way::Hebbian(rule), _) => hebbian::solve(rule, &problem, &prepared, points, watch)?,
        (Way::Landmarks(asked), _) => landmarks::solve(asked, &problem, &prepared, points, watch)?,
        (Way::Products, Precision::F32) => solve::<f32>(&problem, &mut prepared, points, watch)?,
        (Way::Products, Precision::F64) => solve::<f64>(&problem, &mut prepared, points, watch)?,
    };
    let asked = problem.n_components_asked().unwrap_or(solved.pairs.values.len());
    keep_real(&mut solved.pairs, prepared.precision);
    if solved.pairs.values.len() < asked {
        prepared.warnings.push(format!(
            "points are embedded with {} of {asked} eigenvectors: the other eigenvalues cannot be told from rounding in {}",
            solved.pairs.values.len(),
            prepared.precision
        ));
    }
    let turned = fix_signs(&mut solved.pairs.vectors);
    warn_of_rows_alone(&prepared.kernel, points, &solved.degrees, &mut prepared.warnings)?;
    seconds.insert("solving".to_owned(), solving.seconds());

    let clustering = Stopwatch::start();
    let (embedding, without) = unit_rows(solved.pairs.vectors.as_ref());
    if without > 0 {
        prepared.warnings.push(format!("{without} points have no part in the eigenvectors: their cluster is chance"));
    }
    let partition = partition(settings, embedding.as_ref(), &mut prepared, watch)?;
    seconds.insert("clustering".to_owned(), clustering.seconds());
    seconds.insert("total".to_owned(), stopwatch.seconds());

    // Last, as is said where clusters are too few: Python has a class of its own for all three.
    warn_if_cut_short(settings, &partition, watch, &mut prepared.warnings);
    warn_if_not_converged(&solved, &mut prepared.warnings);
    let record = record(settings, points, &prepared, &solved, &partition, seconds);
    let Solved { pairs, degrees, over, .. } = solved;
    let Partition { labels, centers, .. } = partition;
    let model = ClusterModel::new(prepared.kernel, points, pairs.vectors, degrees, labels, centers, record);
    Ok(match over {
        Some(over) => model.over(over.turned(&turned), over.landmarks),
        None => model,
    })
}

/// The clusters of embedded points.
fn partition(
    settings: &SpectralClustering,
    embedding: MatRef<'_, f64>,
    prepared: &mut Prepared,
    watch: &Watch<'_>,
) -> Result<Partition> {
    let (threads, mut last) = (&prepared.threads, None);
    let mut means = |k| {
        let means = KMeans::new(k).restarts(settings.restarts).seed(settings.common.seed);
        match means.fit(embedding, &Context::new(threads, watch, Phase::Clustering)) {
            // Eigenvectors of a run that was stopped are worth a moment of k-means.
            Err(Error::Interrupted { .. }) => {
                let last = last.get_or_insert_with(|| Watch::new().time_limit(GRACE));
                means.fit(embedding, &Context::new(threads, last, Phase::Clustering))
            }
            found => found,
        }
    };
    match means(settings.n_clusters) {
        // Different points may be embedded in one place, as all are by a single eigenvector: no cluster is empty, so there are fewer.
        Err(Error::TooFewDistinct { found, .. }) => {
            let partition = means(found)?;
            prepared.warnings.push(format!(
                "there are {found} clusters and not {}: no more embedded points are different",
                settings.n_clusters
            ));
            Ok(partition)
        }
        partition => partition,
    }
}

/// Says so where k-means did not end as it does by itself.
fn warn_if_cut_short(
    settings: &SpectralClustering,
    partition: &Partition,
    watch: &Watch<'_>,
    warnings: &mut Vec<String>,
) {
    let Partition { rounds, restarts, converged, .. } = partition;
    let why = if watch.is_stopped() { "the run was stopped" } else { "a restart has no more of them" };
    if !converged {
        warnings.push(format!("k-means ended in round {rounds}, while points still changed their clusters: {why}"));
    } else if *restarts < settings.restarts {
        let asked = settings.restarts;
        warnings.push(format!("the clusters are the best of {restarts} of {asked} restarts of k-means: {why}"));
    }
}

fn has_converged(pairs: &EigenPairs) -> bool {
    pairs.outcome == Outcome::Converged && pairs.converged == pairs.values.len()
}

fn warn_if_not_converged(solved: &Solved, warnings: &mut Vec<String>) {
    let pairs = &solved.pairs;
    if has_converged(pairs) {
        return;
    }
    let residual = pairs.residuals.iter().copied().fold(0.0, f64::max);
    let why = match pairs.outcome {
        _ if solved.nystrom.is_some() => "more landmarks would bring it down",
        Outcome::Stopped => "the run was stopped",
        Outcome::OutOfPasses => "the allowed passes were used up",
        Outcome::Converged => "a direct method cannot do better in this precision",
    };
    warnings.push(format!(
        "{} of {} eigenvectors converged; largest residual {residual:.1e}: {why}",
        pairs.converged.min(pairs.values.len()),
        pairs.values.len()
    ));
}

/// Each row that has nothing to do with the others is a cluster of its own to the eigenvectors, which leaves none for those that were looked for.
fn warn_of_rows_alone(kernel: &Kernel, points: &Points, degrees: &[f64], warnings: &mut Vec<String>) -> Result<()> {
    let own = diagonal(kernel, points)?;
    let is_alone = |(own, degree): (&f64, &f64)| (degree - own).abs() <= ALONE * own;
    let alone = own.iter().zip(degrees).filter(|&row| is_alone(row)).count();
    if alone > 0 {
        let n = points.n_samples();
        warnings.push(format!(
            "{alone} of {n} rows have nearly no neighbours: their kernel values with all others together are at most {ALONE} of that with themselves; \
             a wider kernel reaches farther, and rows that lie far from all others may be left out"
        ));
    }
    Ok(())
}

fn record(
    settings: &SpectralClustering,
    points: &Points,
    prepared: &Prepared,
    solved: &Solved,
    partition: &Partition,
    seconds: BTreeMap<String, f64>,
) -> ClusterRecord {
    let (pairs, degrees) = (&solved.pairs, &solved.degrees);
    let mut cluster_sizes = vec![0; partition.centers.nrows()];
    for &label in &partition.labels {
        cluster_sizes[label] += 1;
    }
    ClusterRecord {
        record_version: RECORD_VERSION,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        n_samples: points.n_samples(),
        n_features: points.n_features(),
        n_clusters: cluster_sizes.len(),
        n_components: pairs.values.len(),
        kernel: KernelRecord::from(&prepared.kernel),
        gram: solved.gram.clone(),
        solver: solved.solver.clone(),
        precision: prepared.precision,
        eigenvalues: pairs.values.clone(),
        residuals: pairs.residuals.clone(),
        tolerance: prepared.tolerance,
        converged: has_converged(pairs),
        passes: solved.totals.passes,
        products: solved.totals.products,
        kernel_entries: solved.totals.kernel_entries,
        smallest_degree: degrees.iter().copied().fold(f64::INFINITY, f64::min),
        largest_degree: degrees.iter().copied().fold(0.0, f64::max),
        cluster_sizes,
        inertia: partition.inertia,
        restarts: partition.restarts,
        rounds: partition.rounds,
        kmeans_converged: partition.converged,
        seconds,
        peak_memory_bytes: memory::peak(),
        memory_budget_bytes: prepared.budget,
        threads: prepared.threads.count(),
        seed: settings.common.seed,
        plan: solved.plan.clone(),
        expansion: solved.expansion.clone(),
        nystrom: solved.nystrom.clone(),
        warnings: prepared.warnings.clone(),
    }
}

/// Leading eigenvectors of the normalised matrix, by products with the kernel matrix.
fn solve<T: Element>(
    problem: &KernelPca,
    prepared: &mut Prepared,
    points: &Points,
    watch: &Watch<'_>,
) -> Result<Solved> {
    let problem = &by_products(problem, prepared)?;
    // Where degrees are small, normalising makes errors large.
    prepared.keep_tiles_as_they_are();
    let mut plan = prepared.plan(problem, points)?;
    let threads = prepared.threads.clone();
    let context = |phase| Context::new(&threads, watch, phase);
    let store = (plan.store_bytes > 0).then_some(Store { budget: plan.store_bytes, format: plan.store_format });
    let replan = |prepared: &Prepared| prepared.plan(problem, points);
    let gram =
        PlannedGram::<T>::new(prepared, &mut plan, points, store, problem.seed, replan, &context(Phase::Packing))?;
    context(Phase::Packing).check()?;
    let counted = Counted::new(&gram);
    let normalized = Normalized::new(&counted, &context(Phase::Starting))?;
    let solver: SolverChoice = plan.solver.parse()?;
    let start = match start_from_sample(problem, prepared, &plan, points, &context(Phase::Starting))? {
        Some(vectors) => Some(with_known_vector(vectors, &normalized)),
        None if solver == SolverChoice::Krylov => {
            Some(with_known_vector(Mat::zeros(points.n_samples(), 1), &normalized))
        }
        None => None,
    };
    let k = problem.n_components_asked().unwrap_or(1);
    let request = Request {
        n_pairs: k,
        tolerance: prepared.tolerance,
        max_passes: problem.max_passes.unwrap_or_else(|| patience(solver, k)),
        seed: problem.seed,
        start: start.as_ref().map(Mat::as_ref),
        ..Request::new(k)
    };
    let mut solving = context(Phase::Solving);
    solving.progress.expected_passes = Some(plan.expected_passes);
    let pairs = planned_solver(&plan)?.leading(&normalized, &request, &solving)?;
    let totals =
        Totals { passes: counted.passes(), products: counted.products(), kernel_entries: gram.entries_computed() };
    let degrees = normalized.degrees().to_vec();
    let (name, solver, expansion) = (plan.gram.clone(), plan.solver.clone(), gram.into_record());
    Ok(Solved { pairs, degrees, totals, gram: name, solver, plan: Some(plan), expansion, nystrom: None, over: None })
}

/// The problem for a solver that needs products only, where they are all there is: an expansion has no entries, and the eigenproblem of its features
/// is not that of the normalised matrix.
fn by_products(problem: &KernelPca, prepared: &Prepared) -> Result<KernelPca> {
    match problem.solver {
        SolverChoice::Auto if prepared.is_expanded() => Ok(problem.clone().solver(SolverChoice::Krylov)),
        SolverChoice::Dense if prepared.is_expanded() => {
            let requirement = "one that needs products only with gram = \"expansion\", such as krylov";
            Err(Error::invalid("solver", requirement, problem.solver))
        }
        _ => Ok(problem.clone()),
    }
}

/// Start vectors for the normalised matrix from those for the kernel matrix: each entry over the root of its degree, and in the place
/// of the first one the eigenvector that is known.
fn with_known_vector<A: crate::gram::SymmetricOperator + ?Sized>(
    mut vectors: Mat<f64>,
    normalized: &Normalized<'_, A>,
) -> Mat<f64> {
    scale_rows(vectors.as_mut(), normalized.inverse_roots());
    if vectors.ncols() > 0 {
        vectors.col_mut(0).iter_mut().zip(normalized.degrees()).for_each(|(x, degree)| *x = degree.sqrt());
    }
    vectors
}

/// Keeps the leading pairs whose eigenvalue can be told from rounding.
fn keep_real(pairs: &mut EigenPairs, precision: Precision) {
    let largest = pairs.values.iter().fold(0.0_f64, |m, value| m.max(value.abs()));
    // As in kernel PCA: entries are known to a few units in the last place, and in double precision the solver's own rounding counts.
    let factor = match precision {
        Precision::F32 => 8.0,
        Precision::F64 => 200.0,
    };
    let noise = factor * precision.epsilon() * largest;
    let kept = pairs.values.iter().take_while(|&&value| value > noise).count();
    pairs.values.truncate(kept);
    pairs.residuals.truncate(kept);
    pairs.converged = pairs.converged.min(kept);
    pairs.vectors = pairs.vectors.subcols(0, kept).to_owned();
}
