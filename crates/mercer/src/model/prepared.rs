//! Everything that can be decided before the work of a fit begins: kernel, precision, tolerance, budget, plan.

use super::checkpoint::{Identity, Journal};
use super::kernel_pca::KernelChoice;
use super::rounding::{self, FixedPoint};
use super::{KernelPca, expanded};
use crate::choices::{GramChoice, SolverChoice};
use crate::data::Points;
use crate::error::{Error, Result, bytes_at_least, short};
use crate::expansion::{Expansion, Prediction, Wanted};
use crate::gram::{PackedCopy, StoreFormat};
use crate::kernel::Kernel;
use crate::plan::{F32_FLOOR, Filled, Kept, Plan, Speeds, Task, choose_precision, may_keep_rounded};
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
    /// What the precision does to the kernel matrix, relative to its first eigenvalue, as far as it is known.
    pub(crate) rounding: f64,
    /// What keeping tiles in 16-bit fixed point does to it, where that was looked at.
    pub(crate) fixed_point: Option<FixedPoint>,
    /// Why the precision is not the data's own.
    reason: Option<String>,
    /// How products will be made, and by what expansion, if by one.
    pub(super) gram: GramChoice,
    pub(super) prediction: Option<Prediction>,
    /// Bytes that the expansion may take.
    pub(super) room: u64,
    /// Why there is none, where one was asked for or would have paid.
    pub(super) without_expansion: Option<String>,
    /// How an expansion is made; tests put one in its place that does not keep to its bound.
    pub(super) expand: Expand,
    speeds: Speeds,
    /// Seconds that all this took: a fit spends them, too.
    seconds: f64,
}

/// What makes an expansion.
pub(super) type Expand = fn(&Kernel, &Points, &Wanted<'_>, &Context<'_>) -> Result<Expansion>;

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
        let threads = settings.thread_pool()?;
        points.check_finite_on(&threads)?;
        let (kernel, mut warnings) = match &settings.kernel {
            KernelChoice::Known(kernel) => (kernel.clone(), Vec::new()),
            KernelChoice::Spec(spec) => spec.resolve_told(points, settings.seed, &threads, watch)?,
        };
        if matches!(kernel, Kernel::Precomputed) && points.n_features() != n {
            return Err(Error::NotSquare { rows: n, columns: points.n_features() });
        }
        let (mut precision, mut reason) = settings.choose_precision(points.precision());
        let tolerance = effective_tolerance(settings.tolerance, precision, n, &mut warnings);
        let mut rounding = match precision {
            // A function of the user's may take any time, and a matrix is as precise as it was given.
            Precision::F32 if kernel.pairing().is_some() => {
                let context = Context::new(&threads, watch, Phase::Packing);
                threads.run(|| rounding::of_single_precision(points, &kernel, settings.center, &context))?
            }
            _ => 0.0,
        };
        if rounding > tolerance && settings.precision.is_none() {
            reason = Some(too_coarse(rounding, tolerance));
            (precision, rounding) = (Precision::F64, 0.0);
        }
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
            rounding,
            fixed_point: None,
            reason,
            gram: settings.gram,
            prediction: None,
            room: 0,
            without_expansion: None,
            expand: Expansion::new,
            speeds,
            seconds: 0.0,
        };
        prepared.decide(settings, points, watch)?;
        prepared.seconds = stopwatch.seconds();
        Ok(prepared)
    }

    /// Everything that can be decided, the plan, and the points as they will be taken: for bytes where they are such, unless that does not fit
    /// the budget. Numbers can be packed tile by tile, which takes no memory; bytes are packed at once.
    pub(super) fn with_plan(
        settings: &KernelPca,
        points: &Points,
        speeds: SpeedsFrom,
        watch: &Watch<'_>,
    ) -> Result<(Self, Plan, Points)> {
        let planned = |points: Points| {
            let mut prepared = Self::new(settings, &points, speeds, watch)?;
            if prepared.kernel.has_unit_range()
                && rounding::fixed_point_may_do(points.n_samples(), prepared.tolerance)
                && may_keep_rounded(&prepared.task(settings, &points, settings.first_components(points.n_samples())))
            {
                prepared.try_fixed_point(settings, &points, watch)?;
            }
            let plan = prepared.plan(settings, &points)?;
            Ok((prepared, plan, points))
        };
        match planned(points.recognised()) {
            Err(Error::OverBudget { .. }) => planned(points.clone()),
            found => found,
        }
    }

    /// Looks at what keeping tiles in 16-bit fixed point would do.
    fn try_fixed_point(&mut self, settings: &KernelPca, points: &Points, watch: &Watch<'_>) -> Result<()> {
        let stopwatch = Stopwatch::start();
        let threads = self.threads.clone();
        let context = Context::new(&threads, watch, Phase::Packing);
        self.fixed_point =
            threads.run(|| rounding::of_fixed_point(points, &self.kernel, settings.center, self.budget, &context))?;
        self.seconds += stopwatch.seconds();
        Ok(())
    }

    /// Tiles will not be kept in fixed point: for matrices other than the one that it was tried on.
    pub(crate) fn keep_tiles_as_they_are(&mut self) {
        self.fixed_point = Some(FixedPoint::UNKNOWN);
    }

    /// Whether products will be made by an expansion.
    pub(crate) fn is_expanded(&self) -> bool {
        self.gram == GramChoice::Expansion
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
            let needed = self.enough(settings, points, plan.expected_memory_bytes);
            let advice = format!("a budget of {} would do", bytes_at_least(needed));
            return Err(Error::OverBudget { what, needed, budget: self.budget, advice });
        }
        Ok(Plan { expected_seconds: plan.expected_seconds + self.seconds, ..plan })
    }

    /// A budget within which a fit by an expansion stays, from what it takes within a smaller one: with more room, blocks are wider.
    fn enough(&self, settings: &KernelPca, points: &Points, least: u64) -> u64 {
        let n_components = settings.first_components(points.n_samples());
        let mut budget = least;
        for _ in 0..8 {
            let roomy = Self { budget, ..self.clone() };
            let Ok(plan) = roomy.plan_for(settings, points, n_components) else { return budget };
            let needed = roomy.with_expansion(settings, plan, points).expected_memory_bytes;
            if needed <= budget {
                break;
            }
            budget = needed;
        }
        budget
    }

    /// Refuses to go on from products with tiles in fixed point, if these cannot tell residuals of the tolerance.
    fn refuse_coarser_checkpoint(&self, format: StoreFormat) -> Result<()> {
        let change = self.fixed_point.map_or(0.0, FixedPoint::share);
        if format == StoreFormat::Full || change <= self.tolerance {
            return Ok(());
        }
        // Rounded up, so that what is advised is allowed.
        let enough = 1.05 * change;
        let requirement = format!(
            "at least {enough:.1e} for a fit that goes on from a checkpoint with tiles in 16-bit fixed point, which change the kernel matrix of these \
             points by nearly as much (one that begins anew can reach less)"
        );
        Err(Error::invalid("tolerance", requirement, short(self.tolerance)))
    }

    /// The plan for some number of components.
    fn plan_for(&self, settings: &KernelPca, points: &Points, n_components: usize) -> Result<Plan> {
        let plan = Plan::for_fit(&self.task(settings, points, n_components), &self.speeds)?;
        let is_growing = settings.n_components_asked().is_none();
        Ok(plan.because(self.reason.clone()).growing(is_growing, n_components))
    }

    /// The plan for more components beside a store that was filled under `first` and stays.
    pub(super) fn plan_growth(
        &self,
        settings: &KernelPca,
        points: &Points,
        n_components: usize,
        first: &Plan,
    ) -> Result<Plan> {
        let expanded = self.prediction.filter(|_| self.is_expanded()).map(|found| found.bytes);
        let gram = if expanded.is_some() { GramChoice::Expansion } else { GramChoice::Tiled };
        let left = self.budget.saturating_sub(first.store_bytes).saturating_sub(expanded.unwrap_or(0));
        let kept = Kept { format: first.store_format, bytes: first.store_bytes, share: first.stored_share };
        let copy = if first.packs_per_tile { PackedCopy::PerTile } else { PackedCopy::Kept };
        let task = Task { budget: left, gram, ..self.task(settings, points, n_components) };
        let plan = Plan::beside_tiles(&task, &self.speeds, Some(Filled { kept, copy }))?;
        let plan = self.with_expansion(settings, plan, points);
        let mut reasons = first.reasons_that_last();
        for reason in plan.reasons {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
        Ok(Plan {
            gram: first.gram.clone(),
            store_bytes: first.store_bytes,
            stored_share: first.stored_share,
            store_format: first.store_format,
            start_sample: first.start_sample,
            expected_memory_bytes: plan.expected_memory_bytes - plan.store_bytes + first.store_bytes,
            reasons,
            ..plan
        })
    }

    /// The journal of a fit with a checkpoint; a plan that goes on from one takes over its widths.
    pub(super) fn journal(
        &mut self,
        settings: &KernelPca,
        plan: &mut Plan,
        points: &Points,
        watch: &Watch<'_>,
    ) -> Result<Option<Journal>> {
        let Some(checkpoint) = &settings.checkpoint else { return Ok(None) };
        checkpoint.check()?;
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
        // Whatever is there already is that of another fit if this one keeps none, and is refused as such.
        let mut journal = Journal::open(checkpoint, identity)?;
        if plan.solver == SolverChoice::Dense.name() {
            self.warnings.push("no checkpoint is kept: the dense solver has no passes to go on from".to_owned());
            return Ok(None);
        }
        if let Some(earlier) = &journal.earlier {
            let task = self.task(settings, points, earlier.n_pairs);
            let (width, max_subspace) = (earlier.counts.width, earlier.counts.max_subspace);
            *plan = plan.clone().going_on(&task, width, max_subspace, earlier.store_format)?;
            if plan.store_format == StoreFormat::Fixed16 && self.fixed_point.is_none() {
                self.try_fixed_point(settings, points, watch)?;
            }
            self.refuse_coarser_checkpoint(plan.store_format)?;
        }
        journal.store_format = plan.store_format;
        Ok(Some(journal))
    }

    pub(super) fn task(&self, settings: &KernelPca, points: &Points, n_components: usize) -> Task<'_> {
        Task {
            n_samples: points.n_samples(),
            n_features: points.n_features(),
            is_bytes: points.tile_bytes().is_some(),
            kernel: &self.kernel,
            n_components,
            precision: self.precision,
            tolerance: self.tolerance,
            // Both roundings together must leave the tolerance within reach.
            fixed16_error: self.fixed_point.map(|change| {
                let both = self.rounding + change.share();
                if both <= self.tolerance { change.share() } else { both }
            }),
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

/// Why tiles in single precision would not do.
fn too_coarse(rounding: f64, tolerance: f64) -> String {
    let lost = if rounding < 1.0 {
        format!(
            "would change the kernel matrix of these points by {rounding:.1e} of its first eigenvalue (tolerance {tolerance:.1e})"
        )
    } else {
        "would leave little but rounding of the kernel matrix of these points".to_owned()
    };
    format!("double precision, because single precision {lost}")
}

/// More rows or columns than this fit no machine, and their products no integer.
const LARGEST_SIDE: usize = 1 << 30;

/// The plan for points of which only the shape is known.
pub(super) fn plan_shape(
    settings: &KernelPca,
    n_samples: usize,
    n_features: usize,
    precision: Precision,
    is_bytes: bool,
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
    if matches!(kernel, Kernel::Precomputed) && n_features != n_samples {
        return Err(Error::NotSquare { rows: n_samples, columns: n_features });
    }
    let (precision, reason) = settings.choose_precision(precision);
    let threads = settings.threads.unwrap_or_else(Threads::available);
    Threads::check(threads)?;
    let task = Task {
        n_samples,
        n_features,
        is_bytes,
        kernel: &kernel,
        n_components: settings.first_components(n_samples),
        precision,
        tolerance: effective_tolerance(settings.tolerance, precision, n_samples, &mut Vec::new()),
        // Without the points nobody can say.
        fixed16_error: None,
        budget: settings.memory.bytes(),
        threads,
        gram: settings.gram,
        solver: settings.solver,
    };
    let open = expanded::left_open(settings, &kernel, n_samples, n_features);
    let plan = Plan::for_fit(&task, &Speeds::typical(n_features, threads))?.because(reason).because(open);
    Ok(plan.growing(settings.n_components_asked().is_none(), task.n_components))
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
