//! The fit: from points to a model.
//!
//! Reads as the steps do: prepare (kernel, budget, plan), pack, start, solve, finish.

use std::collections::BTreeMap;

use faer::Mat;

use super::checkpoint::{FileKeeper, Identity, Journal, Totals};
use super::finish::{CutShort, Finish, Spectrum};
use super::kernel_pca::KernelChoice;
use super::planned_gram::PlannedGram;
use super::{KernelPca, Model, expanded, start};
use crate::choices::{Center, Components, GramChoice, Negative, NegativeScope, SolverChoice};
use crate::data::Points;
use crate::eigen::{
    BlockKrylov, Dense, EigenPairs, EigenSolver, Keeper, Lanczos, Order, Outcome, PowerIteration, Request,
    SubspaceIteration,
};
use crate::error::{Error, Result};
use crate::expansion::{Expansion, Prediction};
use crate::gram::{Centered, Centering, Counted, Element, Store, SymmetricOperator, diagonal};
use crate::kernel::{Kernel, Pairing};
use crate::plan::{F32_FLOOR, Plan, Speeds, Task, choose_precision};
use crate::record::KernelRecord;
use crate::scalar::Precision;
use crate::watch::{Context, Phase, Stopwatch, Threads, Watch};

/// Settings and points after everything that can be decided before the work begins.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    pub(crate) kernel: Kernel,
    pub(crate) precision: Precision,
    pub(crate) tolerance: f64,
    pub(crate) budget: u64,
    pub(crate) threads: Threads,
    pub(crate) warnings: Vec<String>,
    /// Why the precision is not the data's own.
    reason: Option<String>,
    /// How products will be made, and by what expansion, if by one.
    pub(super) gram: GramChoice,
    pub(super) prediction: Option<Prediction>,
    /// Bytes that the expansion may take.
    pub(super) room: u64,
    /// Why there is none, where one was asked for or would have paid.
    pub(super) without_expansion: Option<String>,
    speeds: Speeds,
    /// Seconds that all this took: a fit spends them, too.
    seconds: f64,
}

/// Where a plan's estimate of time comes from. Nothing else in a plan depends on it.
#[derive(Clone, Copy)]
pub(crate) enum SpeedsFrom {
    /// A short measurement.
    Measurement,
    /// A short measurement if the fit takes much longer, otherwise a typical machine.
    WhateverIsCheap,
}

/// From this many seconds on that a first pass takes on a typical machine, a measurement takes less than a twentieth of it; before,
/// it may take longer than the fit.
const MEASURE_FROM: f64 = 1.5;

impl Prepared {
    pub(crate) fn new(settings: &KernelPca, points: &Points, speeds: SpeedsFrom, watch: &Watch<'_>) -> Result<Self> {
        let stopwatch = Stopwatch::start();
        let n = points.n_samples();
        settings.validate(n)?;
        points.check_finite()?;
        let threads = settings.thread_pool()?;
        let kernel = match &settings.kernel {
            KernelChoice::Known(kernel) => kernel.clone(),
            KernelChoice::Spec(spec) => spec.resolve_watched(points, &threads, watch)?,
        };
        if matches!(kernel, Kernel::Precomputed) && points.n_features() != n {
            return Err(Error::NotSquare { rows: n, columns: points.n_features() });
        }
        let (precision, reason) = settings.choose_precision(points.precision());
        let mut warnings = Vec::new();
        let tolerance = effective_tolerance(settings.tolerance, precision, n, &mut warnings);
        let typical = Speeds::typical(points.n_features(), threads.count());
        let is_long = kernel.pairing().is_some() && typical.pass_seconds(n, 1, 1.0) >= MEASURE_FROM;
        let speeds = match speeds {
            SpeedsFrom::WhateverIsCheap if !is_long => typical,
            _ => Speeds::measure(points, &kernel, precision, &threads)?,
        };
        let mut prepared = Self {
            kernel,
            precision,
            tolerance,
            budget: settings.memory.bytes(),
            threads,
            warnings,
            reason,
            gram: settings.gram,
            prediction: None,
            room: 0,
            without_expansion: None,
            speeds,
            seconds: 0.0,
        };
        prepared.decide(settings, points, watch)?;
        prepared.seconds = stopwatch.seconds();
        Ok(prepared)
    }

    /// How fast this machine is.
    pub(crate) fn speeds(&self) -> &Speeds {
        &self.speeds
    }

    /// The plan for what the settings ask for.
    pub(crate) fn plan(&self, settings: &KernelPca, points: &Points) -> Result<Plan> {
        let n_components = settings.first_components(points.n_samples());
        let plan = self.with_expansion(settings, self.plan_for(settings, points, n_components)?, points);
        if plan.expected_memory_bytes > self.budget {
            let what = format!("a fit of {} points by an expansion", points.n_samples());
            let advice = format!("a budget of {} would do", crate::error::bytes(plan.expected_memory_bytes));
            let (needed, budget) = (plan.expected_memory_bytes, self.budget);
            return Err(Error::OverBudget { what, needed, budget, advice });
        }
        Ok(Plan { expected_seconds: plan.expected_seconds + self.seconds, ..plan })
    }

    /// The plan for some number of components.
    fn plan_for(&self, settings: &KernelPca, points: &Points, n_components: usize) -> Result<Plan> {
        let plan = Plan::for_fit(&self.task(settings, points, n_components), &self.speeds)?;
        Ok(plan.because(self.reason.clone()))
    }

    /// The plan for more components beside a store that was filled under `first` and stays.
    fn plan_growth(&self, settings: &KernelPca, points: &Points, n_components: usize, first: &Plan) -> Result<Plan> {
        let left = self.budget.saturating_sub(first.store_bytes);
        let task = Task { budget: left, gram: GramChoice::Tiled, ..self.task(settings, points, n_components) };
        let plan = Plan::for_fit(&task, &self.speeds)?;
        Ok(Plan {
            gram: first.gram.clone(),
            store_bytes: first.store_bytes,
            stored_share: first.stored_share,
            store_format: first.store_format,
            expected_memory_bytes: plan.expected_memory_bytes + first.store_bytes,
            ..plan
        })
    }

    /// The journal of a fit with a checkpoint; a plan that goes on from one takes over its widths.
    fn journal(&mut self, settings: &KernelPca, plan: &mut Plan, points: &Points) -> Result<Option<Journal>> {
        let Some(checkpoint) = &settings.checkpoint else { return Ok(None) };
        checkpoint.check()?;
        if plan.solver == SolverChoice::Dense.name() {
            self.warnings.push("no checkpoint is kept: the dense solver has no passes to go on from".to_owned());
            return Ok(None);
        }
        let identity = Identity::new(
            points,
            KernelRecord::from(&self.kernel),
            settings.center,
            self.precision,
            settings.components,
            settings.negative,
            &plan.solver,
            settings.seed,
        );
        let journal = Journal::open(checkpoint, identity)?;
        if let Some(earlier) = &journal.earlier {
            let task = self.task(settings, points, earlier.n_pairs);
            *plan = plan.clone().going_on(&task, earlier.counts.width, earlier.counts.max_subspace)?;
        }
        Ok(Some(journal))
    }

    pub(super) fn task(&self, settings: &KernelPca, points: &Points, n_components: usize) -> Task<'_> {
        Task {
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            is_bytes: points.is_bytes(),
            kernel: &self.kernel,
            n_components,
            precision: self.precision,
            tolerance: self.tolerance,
            budget: self.budget,
            threads: self.threads.count(),
            gram: self.gram,
            // Features have an eigenproblem of their own order; the plan of the general one does not know it.
            solver: if self.has_features(settings, points.n_samples()) {
                SolverChoice::Krylov
            } else {
                settings.solver
            },
        }
    }
}

impl KernelPca {
    /// The precision that was asked for, or the planned one and why it is not the data's own.
    fn choose_precision(&self, data: Precision) -> (Precision, Option<String>) {
        self.precision.map_or_else(|| choose_precision(data, self.tolerance), |precision| (precision, None))
    }
}

/// More rows or columns than this fit no machine, and their products no integer.
const LARGEST_SIDE: usize = 1 << 30;

/// The plan for points of which only the shape is known.
pub(super) fn plan_shape(
    settings: &KernelPca,
    n_samples: usize,
    n_features: usize,
    precision: Precision,
) -> Result<Plan> {
    settings.validate(n_samples)?;
    if n_features == 0 {
        return Err(Error::NoColumns { n_samples });
    }
    for (name, size) in [("n_samples", n_samples), ("n_features", n_features)] {
        if size > LARGEST_SIDE {
            return Err(Error::invalid(name, format!("at most {LARGEST_SIDE}"), size));
        }
    }
    let kernel = match &settings.kernel {
        KernelChoice::Known(kernel) => kernel.clone(),
        KernelChoice::Spec(spec) => spec.resolve_without_points()?,
    };
    let (precision, reason) = settings.choose_precision(precision);
    let threads = match settings.threads {
        Some(0) => return Err(Error::invalid("threads", "at least 1", 0)),
        Some(threads) => threads,
        None => Threads::available(),
    };
    let task = Task {
        n_samples,
        n_features,
        is_bytes: false,
        kernel: &kernel,
        n_components: settings.first_components(n_samples),
        precision,
        tolerance: effective_tolerance(settings.tolerance, precision, n_samples, &mut Vec::new()),
        budget: settings.memory.bytes(),
        threads,
        gram: settings.gram,
        solver: settings.solver,
    };
    let open = expanded::left_open(settings, &kernel, n_samples, n_features);
    Ok(Plan::for_fit(&task, &Speeds::typical(n_features, threads))?.because(reason).because(open))
}

/// The tolerance that will be used: the default, or the wish as far as rounding allows it.
fn effective_tolerance(wish: Option<f64>, precision: Precision, n: usize, warnings: &mut Vec<String>) -> f64 {
    let (default, floor) = match precision {
        Precision::F32 => (1e-5, F32_FLOOR),
        Precision::F64 => (1e-9, 10.0 * precision.epsilon() * (n as f64).sqrt()),
    };
    match wish {
        None => default,
        Some(wish) if wish < floor => {
            warnings.push(format!("tolerance {wish:.1e} is below the rounding of {precision}; {floor:.1e} is used"));
            floor
        }
        Some(wish) => wish,
    }
}

/// Fits a model.
pub(crate) fn fit(settings: &KernelPca, points: &Points, watch: &Watch<'_>) -> Result<Model> {
    let stopwatch = Stopwatch::start();
    let prepared = Prepared::new(settings, points, SpeedsFrom::WhateverIsCheap, watch)?;
    let plan = prepared.plan(settings, points)?;
    let mut seconds = BTreeMap::from([("planning".to_owned(), stopwatch.seconds())]);
    // On the pool from here on: a small fit would otherwise spend most of its time on handing its steps over to other threads.
    let (threads, kernel, precision) = (prepared.threads.clone(), prepared.kernel.clone(), prepared.precision);
    let mut model = threads
        .run(|| match precision {
            Precision::F32 => fit_in::<f32>(settings, prepared, plan, points, watch, &mut seconds),
            Precision::F64 => fit_in::<f64>(settings, prepared, plan, points, watch, &mut seconds),
        })
        .map_err(|error| explain(error, &kernel, precision, points))?;
    seconds.insert("total".to_owned(), stopwatch.seconds());
    model.set_seconds(seconds);
    Ok(model)
}

/// Numbers that are not finite come from kernel values that are too large: by the row that has the largest.
fn explain(error: Error, kernel: &Kernel, precision: Precision, points: &Points) -> Error {
    let largest = match precision {
        Precision::F32 => f64::from(f32::MAX),
        // Images of vectors are squared.
        Precision::F64 => f64::MAX.sqrt(),
    };
    if !matches!((&error, kernel.pairing()), (Error::Decomposition { .. }, Some(Pairing::InnerProduct))) {
        return error;
    }
    let Ok(diagonal) = diagonal(kernel, points) else { return error };
    match diagonal.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((row, value)) if value * points.n_samples() as f64 > largest => {
            let kernel = kernel.name().to_owned();
            Error::KernelOverflow { kernel, row, value, precision, n_samples: points.n_samples() }
        }
        _ => error,
    }
}

fn fit_in<T: Element>(
    settings: &KernelPca,
    mut prepared: Prepared,
    mut plan: Plan,
    points: &Points,
    watch: &Watch<'_>,
    seconds: &mut BTreeMap<String, f64>,
) -> Result<Model> {
    let threads = prepared.threads.clone();
    let context = |phase| Context::new(&threads, watch, phase);
    let journal = prepared.journal(settings, &mut plan, points)?;
    let packing = Stopwatch::start();
    let store = (plan.store_bytes > 0).then_some(Store { budget: plan.store_bytes, format: plan.store_format });
    let gram = PlannedGram::<T>::new(&mut prepared, &mut plan, points, store, settings.seed, &context(Phase::Packing))?;
    context(Phase::Packing).check()?;
    seconds.insert("packing".to_owned(), packing.seconds());

    let starting = Stopwatch::start();
    let start = match journal.as_ref().and_then(|journal| journal.earlier.as_ref()) {
        Some(_) => None,
        None => start::from_sample(settings, &prepared, &plan, points, &context(Phase::Starting))?,
    };
    seconds.insert("starting".to_owned(), starting.seconds());

    let solving = Stopwatch::start();
    let counted = Counted::new(&gram);
    let earlier = journal.as_ref().map_or_else(Totals::default, Journal::totals);
    let totals = || Totals {
        passes: earlier.passes + counted.passes(),
        products: earlier.products + counted.products(),
        kernel_entries: earlier.kernel_entries + gram.entries_computed(),
    };
    let known = journal.as_ref().and_then(|journal| journal.earlier.as_ref()?.row_sums.clone());
    let operator = Operator::new(settings.center, &counted, known);
    let expansion = gram.expansion();
    let run = Run { settings, operator: &operator, expansion, journal: journal.as_ref(), totals: &totals };
    let spectrum = match settings.components {
        Components::Count(k) => {
            let pairs = run.solve(&prepared, &plan, k, start.as_ref(), &context(Phase::Solving))?;
            Spectrum::new(pairs, &gram.diagonal()?, operator.centering(&context(Phase::Solving))?)
        }
        Components::Variance(share) => {
            run.grow(&mut prepared, &mut plan, points, share, start, &gram.diagonal()?, &context)?
        }
    };
    seconds.insert("solving".to_owned(), solving.seconds());
    Finish {
        settings,
        prepared,
        plan,
        points,
        spectrum,
        requested: match settings.components {
            Components::Count(k) => Some(k),
            Components::Variance(_) => None,
        },
        totals: totals(),
        expansion: gram.into_record(),
        resumed_after_passes: journal.as_ref().and_then(|journal| Some(journal.earlier.as_ref()?.totals.passes)),
    }
    .model()
}

/// The matrix whose eigenpairs are wanted: the Gram matrix, centred or as it is.
enum Operator<'a> {
    Centered(Centered<'a, dyn SymmetricOperator + 'a>),
    Plain(&'a (dyn SymmetricOperator + 'a)),
}

impl<'a> Operator<'a> {
    /// The operator over `gram`, whose row sums may be known already.
    fn new(center: Center, gram: &'a (dyn SymmetricOperator + 'a), row_sums: Option<Vec<f64>>) -> Self {
        match (center, row_sums) {
            (Center::Yes, Some(sums)) => Self::Centered(Centered::with_row_sums(gram, sums)),
            (Center::Yes, None) => Self::Centered(Centered::new(gram)),
            (Center::No, _) => Self::Plain(gram),
        }
    }

    fn row_sums(&self) -> Option<&[f64]> {
        match self {
            Self::Centered(centered) => centered.row_sums(),
            Self::Plain(_) => None,
        }
    }

    fn as_dyn(&self) -> &dyn SymmetricOperator {
        match self {
            Self::Centered(centered) => centered,
            Self::Plain(plain) => *plain,
        }
    }

    /// What new points are centred with; known from the first product.
    fn centering(&self, context: &Context<'_>) -> Result<Option<Centering>> {
        match self {
            Self::Centered(centered) => centered.centering(context).map(Some),
            Self::Plain(_) => Ok(None),
        }
    }
}

/// What the calls of a solver have in common.
struct Run<'a> {
    settings: &'a KernelPca,
    operator: &'a Operator<'a>,
    expansion: Option<&'a Expansion>,
    journal: Option<&'a Journal>,
    /// What has been asked of the Gram matrix so far.
    totals: &'a dyn Fn() -> Totals,
}

impl Run<'_> {
    /// The leading `k` pairs, as the plan says.
    fn solve(
        &self,
        prepared: &Prepared,
        plan: &Plan,
        k: usize,
        start: Option<&Mat<f64>>,
        context: &Context<'_>,
    ) -> Result<EigenPairs> {
        let solver: SolverChoice = plan.solver.parse()?;
        let mut context = *context;
        context.progress.expected_passes = Some(plan.expected_passes);
        let row_sums = || self.operator.row_sums();
        let keeper =
            self.journal.map(|journal| FileKeeper { journal, n_pairs: k, totals: self.totals, row_sums: &row_sums });
        let request = Request {
            n_pairs: k,
            order: self.settings.order(),
            tolerance: prepared.tolerance,
            max_passes: self.settings.max_passes.unwrap_or_else(|| patience(solver, k)),
            seed: self.settings.seed,
            start: start.map(Mat::as_ref),
            keeper: keeper.as_ref().map(|keeper| keeper as &dyn Keeper),
        };
        if let (SolverChoice::Dense, Some(expansion)) = (solver, self.expansion)
            && let Some(pairs) = expanded::leading(expansion, self.settings.center, &request, &context)?
        {
            return Ok(pairs);
        }
        planned_solver(plan)?.leading(self.operator.as_dyn(), &request, &context)
    }

    /// The fewest pairs that explain `share` of the variance: more and more of them are found, each time from the last ones.
    #[expect(clippy::too_many_arguments, reason = "one step of `fit_in`, which owns all of them")]
    fn grow<'c>(
        &self,
        prepared: &mut Prepared,
        plan: &mut Plan,
        points: &Points,
        share: f64,
        mut start: Option<Mat<f64>>,
        diagonal: &[f64],
        context: &impl Fn(Phase) -> Context<'c>,
    ) -> Result<Spectrum> {
        let n = points.n_samples();
        let mut found: Option<Spectrum> = None;
        let resumed = self.journal.and_then(|journal| journal.earlier.as_ref());
        let mut k = resumed.map_or(self.settings.first_components(n), |earlier| earlier.n_pairs);
        loop {
            let pairs = match (self.solve(prepared, plan, k, start.as_ref(), &context(Phase::Solving)), &mut found) {
                // Stopped while looking for more: what was found before is the answer.
                (Err(Error::Interrupted { .. }), Some(found)) => {
                    found.cut_short = Some(CutShort::Stopped);
                    break;
                }
                (outcome, _) => outcome?,
            };
            let spectrum = Spectrum::new(pairs, diagonal, self.operator.centering(&context(Phase::Solving))?);
            if let Some(enough) = spectrum.pairs_for_share(share) {
                return Ok(spectrum.truncated(enough));
            }
            let is_last =
                k == n || spectrum.has_all(prepared.precision) || spectrum.pairs.outcome != Outcome::Converged;
            let next = spectrum.guess_for_share(share, k).min(n);
            start = Some(spectrum.pairs.vectors.clone());
            found = Some(spectrum);
            if is_last {
                break;
            }
            k = next;
            match prepared.plan_growth(self.settings, points, k, plan) {
                Ok(next) => *plan = next,
                Err(Error::OverBudget { .. }) => {
                    if let Some(found) = &mut found {
                        found.cut_short = Some(CutShort::OverBudget { n_components: k });
                    }
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let spectrum = found.expect("every way out of the loop has found something");
        prepared.warnings.push(format!(
            "{} components explain {:.4} of the variance, not the {share} asked for",
            spectrum.pairs.values.len(),
            spectrum.explained()
        ));
        Ok(spectrum)
    }
}

/// The solver that a plan names.
pub(crate) fn planned_solver(plan: &Plan) -> Result<Box<dyn EigenSolver>> {
    Ok(match plan.solver.parse()? {
        SolverChoice::Dense => Box::new(Dense),
        SolverChoice::Lanczos => Box::new(Lanczos { max_subspace: plan.max_subspace }),
        SolverChoice::Subspace => Box::new(SubspaceIteration { block: plan.block }),
        SolverChoice::Power => Box::new(PowerIteration),
        SolverChoice::Krylov | SolverChoice::Auto => {
            Box::new(BlockKrylov { block: plan.block, max_subspace: plan.max_subspace, check_every: 1 })
        }
    })
}

/// Passes after which a solver gives up: ten times what a hard case takes.
pub(crate) fn patience(solver: SolverChoice, k: usize) -> usize {
    match solver {
        SolverChoice::Power => 10_000 * k,
        SolverChoice::Lanczos => 100 * k + 2000,
        SolverChoice::Subspace => 2000,
        SolverChoice::Krylov | SolverChoice::Dense | SolverChoice::Auto => 200 + 10 * k,
    }
}

impl KernelPca {
    /// Which eigenvalues lead.
    pub(crate) fn order(&self) -> Order {
        match (self.negative, self.negative_scope) {
            (Negative::Flip, _) | (Negative::Error, NegativeScope::AskedByModulus) => Order::Modulus,
            (Negative::Error | Negative::Clip, _) => Order::Algebraic,
        }
    }
}
